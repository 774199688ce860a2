/* intercept/profile.c — collshim-profile.so: times MPI calls that are no collectives
 * (trace/profile.h).
 *
 * Frequent short calls, as MPI_Iprobe in a loop, are sampled: a thread times one of `stride` calls
 * of a name on average, at random distances so that no rhythm of the program is met, and counts it
 * for all since the last timed one. A name's stride grows while timing has taken more than a
 * SHARE-th of the thread's time, for calls that are short beside what timing one costs. A call that
 * the MPI makes of another one within is part of that.
 *
 * Waits and tests for requests of non-blocking collectives are a kind of their own: their requests'
 * handles are kept from the start to the end. */
#include "base/clock.h"
#include "base/hash.h"
#include "intercept/lookup.h"
#include "intercept/word_lists.h"
#include "trace/profile.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define SHARE 100
#define SHORT 50           /* times the cost of timing it: a call that may be sampled */
#define MOST_STRIDE 4096
#define FREE 1000          /* timed calls of a thread that are none of its share */
#define UNTIMED_NS 2       /* of a call that is only counted */

enum call {
#define PROFILED(name, lower, UPPER, arguments, kind, requests) CALL_##name,
#include "intercept/profile.def"
	CALLS
};

enum { STARTED = CS_REPORT_MPI_KINDS };
#define CS_REPORT_STARTED STARTED
static const unsigned char kinds[2 * CALLS] = {
#define PROFILED(name, lower, UPPER, arguments, kind, requests) \
	[CALL_##name] = CS_REPORT_##kind, [CALLS + CALL_##name] = CS_REPORT_NONBLOCKING,
#include "intercept/profile.def"
};

enum requests { NONE, ONE, MANY, START };
static const unsigned char requests_of[CALLS] = {
#define PROFILED(name, lower, UPPER, arguments, kind, requests) [CALL_##name] = requests,
#include "intercept/profile.def"
};

void *cs_door_mpi; /* lookup.h's; not known here */

static cs_profile_sink *_Atomic sink;
static _Atomic uint64_t cost_ns, timed, counted;

/* One thread's. */
struct timer {
	char *frame; /* of the outermost call under way; one deeper in the stack is within it */
	uint64_t begun, spent; /* ns: first timed call; what timing has cost since */
	uint64_t random;
	struct {
		uint32_t left, length, stride;
		uint64_t duration; /* of the last timed one */
	} gaps[2 * CALLS]; /* the latter half: of calls for non-blocking collectives */
};
static _Thread_local __attribute__((tls_model("initial-exec"))) struct timer timer;

/* --- requests of non-blocking collectives ----------------------------------------------------- */

#define SLOTS 4096 /* a power of two; requests beyond it are taken for point-to-point ones */
#define PROBES 16

static _Atomic uint64_t slots[SLOTS]; /* keys; 0: free */
static _Atomic uint32_t outstanding;
static size_t request_bytes; /* in C; a Fortran request is an INTEGER */

/* The words of a call, and in which language it was made. */
struct words {
	const long *word;
	int count;
	bool is_fortran;
};

/* A handle's value, which no request of the other language shares. */
static uint64_t
key_of(const struct words *words, const char *requests, size_t index)
{
	uint64_t value = 0;
	size_t bytes = words->is_fortran ? sizeof(int) : request_bytes;
	memcpy(&value, requests + index * bytes, bytes);
	return value << 1 | words->is_fortran;
}

static _Atomic uint64_t *
slot_of(uint64_t key, uint64_t wanted)
{
	for (uint64_t i = 0; i < PROBES; i++) {
		_Atomic uint64_t *slot =
			&slots[((key * UINT64_C(0x9e3779b97f4a7c15) >> 32) + i) % SLOTS];
		if (atomic_load_explicit(slot, memory_order_relaxed) == wanted)
			return slot;
	}
	return NULL;
}

static void
keep_request(const struct words *words)
{
	const char *request = (const char *)words->word[words->count - 1];
	uint64_t key = request ? key_of(words, request, 0) : 0, none = 0;
	_Atomic uint64_t *slot = key > 1 && !slot_of(key, key) ? slot_of(key, 0) : NULL;
	if (slot && atomic_compare_exchange_strong(slot, &none, key))
		atomic_fetch_add(&outstanding, 1);
}

#define HELD 16

/* Requests of a wait or test that are of non-blocking collectives. */
struct held {
	int count;
	struct {
		const char *request;
		uint64_t key;
	} of[HELD];
};

static void
find_held(struct held *held, const struct words *words, bool are_many)
{
	long count = are_many ? words->is_fortran ? *(const int *)words->word[0] : words->word[0]
			      : 1;
	const char *requests = (const char *)words->word[are_many];
	size_t bytes = words->is_fortran ? sizeof(int) : request_bytes;
	for (int i = 0; requests && i < (int)count && held->count < HELD; i++) {
		uint64_t key = key_of(words, requests, (size_t)i);
		if (key > 1 && slot_of(key, key)) {
			held->of[held->count].request = requests + (size_t)i * bytes;
			held->of[held->count++].key = key;
		}
	}
}

/* Forgets those that are over: their handles have changed. */
static void
drop_held(const struct held *held, const struct words *words)
{
	for (int i = 0; i < held->count; i++) {
		uint64_t key = held->of[i].key;
		_Atomic uint64_t *slot = slot_of(key, key);
		if (key_of(words, held->of[i].request, 0) != key && slot &&
		    atomic_compare_exchange_strong(slot, &key, 0))
			atomic_fetch_sub(&outstanding, 1);
	}
}

/* --- times ------------------------------------------------------------------------------------ */

struct timing {
	uint64_t start; /* 0: not timed */
	int gap;        /* its call's, or one of non-blocking collectives' */
	bool is_outermost;
	struct held held;
};

static inline __attribute__((always_inline)) void
begin(enum call call, struct timing *timing, const struct words *words)
{
	char *frame = __builtin_frame_address(0);
	timing->start = 0;
	timing->held.count = 0;
	/* A frame that an exception or longjmp has left behind is no deeper than a later call. */
	timing->is_outermost = (!timer.frame || frame >= timer.frame) &&
			       atomic_load_explicit(&sink, memory_order_relaxed);
	if (!timing->is_outermost)
		return;
	timer.frame = frame;
	if (kinds[call] == STARTED)
		return;
	timing->gap = (int)call;
	if (requests_of[call] != NONE && outstanding) {
		find_held(&timing->held, words, requests_of[call] == MANY);
		timing->gap += timing->held.count ? CALLS : 0;
	}
	if (timer.gaps[timing->gap].left > 1)
		timer.gaps[timing->gap].left--;
	else
		timing->start = cs_clock_ns();
}

static uint64_t
random_number(void)
{
	uint64_t word = cs_hash_mix(timer.random);
	timer.random += CS_HASH_GOLDEN;
	return word;
}

/* The distance to the next timed call of that name and kind. */
static void
plan_next(int gap, uint64_t duration, uint64_t now)
{
	uint64_t cost = atomic_load_explicit(&cost_ns, memory_order_relaxed);
	uint64_t allowed = (now - timer.begun) / SHARE + FREE * cost;
	uint32_t stride = timer.gaps[gap].stride ? timer.gaps[gap].stride : 1;
	timer.spent += cost;
	timer.gaps[gap].duration = duration;
	if (timer.spent > allowed && duration < SHORT * cost && stride < MOST_STRIDE)
		stride *= 2;
	else if (timer.spent < allowed / 2 && stride > 1)
		stride /= 2;
	timer.gaps[gap].stride = stride;
	timer.gaps[gap].length = stride == 1 ? 1
				  : (uint32_t)(1 + random_number() % (2 * stride - 1));
	timer.gaps[gap].left = timer.gaps[gap].length;
}

static void
note(int gap, uint64_t start)
{
	uint64_t now = cs_clock_ns(), duration = now - start;
	uint32_t calls = timer.gaps[gap].length ? timer.gaps[gap].length : 1;
	cs_profile_sink *to = atomic_load_explicit(&sink, memory_order_acquire);
	if (!timer.begun) {
		timer.begun = start;
		timer.random = start ^ (uintptr_t)&timer;
	}
	if (to)
		to(kinds[gap], calls, duration * calls);
	atomic_fetch_add_explicit(&timed, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&counted, calls, memory_order_relaxed);
	plan_next(gap, duration, now);
}

static inline __attribute__((always_inline)) void
end(enum call call, const struct timing *timing, const struct words *words)
{
	if (!timing->is_outermost)
		return;
	timer.frame = NULL;
	if (timing->start)
		note(timing->gap, timing->start);
	if (requests_of[call] == START)
		keep_request(words);
	else if (timing->held.count)
		drop_held(&timing->held, words);
}

/* Counts this thread's calls since the last timed ones. */
static void
count_rest(cs_profile_sink *to)
{
	for (int gap = 0; gap < 2 * CALLS; gap++) {
		uint32_t calls = timer.gaps[gap].length - timer.gaps[gap].left;
		if (calls)
			to(kinds[gap], calls, timer.gaps[gap].duration * calls);
		timer.gaps[gap].left = timer.gaps[gap].length;
	}
}

/* --- the interface to a module ---------------------------------------------------------------- */

static void
hear_nothing(enum cs_report_mpi_kind kind, uint64_t calls, uint64_t nanoseconds)
{
	static _Atomic uint64_t sums[2];
	atomic_fetch_add_explicit(&sums[0], calls, memory_order_relaxed);
	atomic_fetch_add_explicit(&sums[1], nanoseconds, memory_order_relaxed);
}

/* The shortest of a few rows: what timing a call takes, undisturbed. */
static uint64_t
measure_cost(void)
{
	enum { ROWS = 5, CALLS_OF_ROW = 100 };
	uint64_t best = UINT64_MAX;
	struct timer before = timer;
	for (int row = 0; row < ROWS; row++) {
		uint64_t start = cs_clock_ns();
		for (int i = 0; i < CALLS_OF_ROW; i++) {
			struct timing timing;
			timer.gaps[CALL_Send].left = 0;
			begin(CALL_Send, &timing, NULL);
			end(CALL_Send, &timing, NULL);
		}
		uint64_t taken = (cs_clock_ns() - start) / CALLS_OF_ROW;
		best = taken < best ? taken : best;
	}
	timer = before;
	return best ? best : 1;
}

__attribute__((visibility("default"))) cs_profile_attach_fn collshim_profile_attach;

void
collshim_profile_attach(cs_profile_sink *to, size_t bytes)
{
	request_bytes = bytes;
	if (to && !cost_ns) {
		atomic_store(&sink, hear_nothing);
		cost_ns = measure_cost();
		timed = counted = 0;
	}
	cs_profile_sink *before = atomic_exchange(&sink, to);
	if (!to && before)
		count_rest(before);
}

__attribute__((visibility("default"))) cs_profile_cost_fn collshim_profile_cost;

uint64_t
collshim_profile_cost(void)
{
	return timed * cost_ns + (counted - timed) * UNTIMED_NS;
}

/* --- MPI's names ------------------------------------------------------------------------------ */

/* No such function in the process: without us the program would not have linked. 16 is "other
 * error" or near it in every MPI. */
static long
missing(void)
{
	return 16;
}

static void *
find(void *_Atomic *target, const char *name, void *caller)
{
	int saved = errno;
	void *scope = cs_lookup_object(caller), *found = cs_lookup_next(name, scope, true);
	if (scope)
		dlclose(scope);
	dlerror(); /* a failed search is not for the application to see */
	if (!found)
		found = (void *)missing;
	atomic_store_explicit(target, found, memory_order_release);
	errno = saved;
	return found;
}

/* Fortran has ierror as well, and for a file's name its length. */
#define MORE_1 3
#define MORE_2 4
#define MORE_3 5
#define MORE_4 6
#define MORE_5 7
#define MORE_6 8
#define MORE_7 9
#define MORE_8 10
#define MORE_9 11
#define MORE_10 12
#define MORE_11 13
#define MORE_12 14

#define EXPORT(symbol, call, n, is_fortran) EXPORT_N(symbol, call, n, is_fortran)
#define EXPORT_N(symbol, call, n, is_fortran)                                                      \
	__attribute__((visibility("default"))) long symbol(PARAMS_##n);                            \
	long symbol(PARAMS_##n)                                                                    \
	{                                                                                          \
		static void *_Atomic target;                                                       \
		void *to = atomic_load_explicit(&target, memory_order_acquire);                    \
		if (!to)                                                                           \
			to = find(&target, #symbol, __builtin_return_address(0));                  \
		long word[] = { WORDS_##n };                                                       \
		struct words words = { word, n - 2 * is_fortran, is_fortran };                     \
		struct timing timing;                                                              \
		begin(call, &timing, &words);                                                      \
		long result = ((long (*)(PARAMS_##n))to)(WORDS_##n);                               \
		end(call, &timing, &words);                                                        \
		return result;                                                                     \
	}
#define PROFILED(name, lower, UPPER, n, kind, requests)                                            \
	EXPORT(MPI_##name, CALL_##name, n, false)                                                  \
	EXPORT(mpi_##lower##_, CALL_##name, MORE_##n, true)                                        \
	EXPORT(mpi_##lower##__, CALL_##name, MORE_##n, true)                                       \
	EXPORT(mpi_##lower##_f08_, CALL_##name, MORE_##n, true)                                    \
	EXPORT(mpi_##lower##_f08ts_, CALL_##name, MORE_##n, true)
#include "intercept/profile.def"
