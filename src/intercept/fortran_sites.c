/* intercept/fortran_sites.c — notes where the program calls a Fortran name, for the report's call
 * sites: the C entry, which counts the call, returns to a Fortran layer, the MPI's or ours. Only
 * where a report is wanted. */
#include "intercept/entry.h"

#include "comm/engine.h"
#include "intercept/word_lists.h"
#include "trace/report.h"

static void *inner[CS_CALL_COUNT]; /* NULL: the next function of that name */

static __attribute__((noinline)) void *
enter(int call, const void *caller, const char *frame)
{
	cs_report_enter(caller, frame);
	return inner[call] ? inner[call] : cs_engine.door->next[call];
}

static __attribute__((noinline)) long
leave(const char *frame, long result)
{
	cs_report_leave(frame);
	return result;
}

#define NOTE(symbol, n) \
	static long note_##symbol(PARAMS_##n) \
	{ \
		const char *frame = __builtin_frame_address(0); \
		void *to = enter(CS_CALL_##symbol, __builtin_return_address(0), frame); \
		return leave(frame, ((long (*)(PARAMS_##n))to)(WORDS_##n)); \
	}
#define FCALL(symbol, n) NOTE(symbol, n)
#define FPLAIN(symbol, n) NOTE(symbol, n)
#include "intercept/calls.def"

void
cs_fortran_note_callers(void **entries)
{
#define FCALL(symbol, n) \
	inner[CS_CALL_##symbol] = entries[CS_CALL_##symbol]; \
	entries[CS_CALL_##symbol] = (void *)note_##symbol;
#define FPLAIN(symbol, n) FCALL(symbol, n)
#include "intercept/calls.def"
}
