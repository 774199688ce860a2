/* intercept/entry.c — where MPI calls arrive. Each asks comm/ to serve it and otherwise goes on to
 * the next MPI_X in the link chain with the arguments it came with. */
#include "intercept/entry.h"

#include "base/clock.h"
#include "base/log.h"
#include "comm/engine.h"
#include "comm/enter.h"
#include "comm/host/pmpi.h"
#include "comm/calls/choose.h"
#include "comm/calls/serve.h"
#include "comm/teams/shared_window.h"
#include "comm/types/types.h"
#include "intercept/persistent_entry.h"
#include "trace/report.h"

#include <assert.h>
#include <limits.h>

#if MPI_VERSION >= 4
/* MPICH 4.2 has requests that are not const. */
#if MPI_VERSION == 4
#define LATER(name, arguments)
#endif
#define LARGE(name, arguments)                                                                     \
	static_assert(__builtin_types_compatible_p(__typeof__(MPI_##name), \
						   __typeof__(cs_entry_##name)), "MPI_" #name);
#include "intercept/calls.def"
#endif

/* The next function of the same name. Measured (`size`) and timed only while a report is wanted, or
 * arrivals are recorded; else a plain jump. */
#define NEXT(name) ((__typeof__(&cs_entry_##name))cs_engine.door->next[CS_CALL_##name])
#define HOST(name, coll, root, size, ...) \
	do {                                                                                       \
		cs_serving_fini(serving);                                                          \
		if (__builtin_expect(!communicator || !communicator->seat->selection.is_timed, 1)) \
			return NEXT(name)(__VA_ARGS__);                                            \
		uint64_t arrived_ns = cs_serving_arrived(serving, coll, (size));                   \
		if (serving->op.node.outcome.bits & CS_OUTCOME_ERROR) \
			return cs_serve_end(serving, __builtin_return_address(0)); \
		int code = NEXT(name)(__VA_ARGS__);                                                \
		cs_serving_end_host(serving, coll, root, arrived_ns, code, \
				    __builtin_return_address(0)); \
		return code;                                                                       \
	} while (0)
#define NO_ROOT (-1)

/* The same of what is never served. */
#define LEFT(name, coll, size, ...)                                                                \
	do {                                                                                       \
		struct cs_comm *communicator = cs_comm_enter(comm); \
		if (!communicator || !communicator->seat->selection.is_reporting) \
			return NEXT(name)(__VA_ARGS__);                                            \
		size_t bytes = (size);                                                             \
		struct cs_report_row *row = cs_comm_left_row(coll, bytes); \
		uint64_t start = cs_report_call(row, bytes, false); \
		int code = NEXT(name)(__VA_ARGS__);                                                \
		if (start) \
			cs_report_called(row, cs_report_caller(__builtin_return_address(0)), \
					 start, cs_clock_ns()); \
		return code;                                                                       \
	} while (0)

/* Begins a collective call. */
#define ENTER(comm)                                                                                \
	struct cs_serving one_call, *serving = &one_call;                                          \
	struct cs_comm *communicator = cs_comm_enter(comm); \
	cs_serving_init(serving, communicator)

/* Begins a non-blocking one. */
#define BEGIN(comm) \
	struct cs_comm *communicator = cs_comm_enter(comm); \
	struct cs_serving *serving = cs_icall_new(communicator); \
	if (serving) \
		serving->caller = __builtin_return_address(0)

/* The host's non-blocking call. */
#define HANDED_ON(name, coll, size, ...) \
	do { \
		bool is_reporting = communicator && \
				    communicator->seat->selection.is_reporting; \
		size_t bytes = is_reporting ? (size) : 0; \
		struct cs_report_row *row = \
			is_reporting ? cs_icall_host_row(communicator, serving, coll, bytes) \
			: NULL; \
		if (serving) \
			cs_icall_drop(serving); \
		if (!is_reporting) \
			return NEXT(name)(__VA_ARGS__); \
		uint64_t start = cs_report_call(row, bytes, false); \
		int code = NEXT(name)(__VA_ARGS__); \
		if (start) \
			cs_report_called(row, cs_report_caller(__builtin_return_address(0)), \
					 start, cs_clock_ns()); \
		return code; \
	} while (0)

#define PARAMETER CS_C
#define IS_LARGE false
#define NAME(name) name
PERSISTENT(Barrier, BARRIER, CS_BARRIER, 0, cs_serve_barrier(serving))
#include "intercept/entry_calls.h"

int
cs_entry_Barrier(MPI_Comm comm)
{
	ENTER(comm);
	if (cs_choose_may_serve(serving) && !cs_choose_always_host(serving, CS_BARRIER) &&
	    cs_serve_barrier(serving))
		return cs_serve_result(serving);
	HOST(Barrier, CS_BARRIER, NO_ROOT, 0, comm);
}

int
cs_entry_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
	BEGIN(comm);
	if (serving && request && cs_serve_barrier(serving))
		return cs_icall_request(serving, request);
	HANDED_ON(Ibarrier, CS_BARRIER, 0, comm, request);
}

#define PARAMETER CS_C_LARGE
#define IS_LARGE true
#define NAME(name) name##_c
#include "intercept/entry_calls.h"

/* The host takes the handle away where it has freed the communicator, whatever it returns. */
#define FREE(name)                                                                                 \
	int cs_entry_##name(MPI_Comm *comm)                                                        \
	{                                                                                          \
		struct cs_freeing *freeing = cs_comm_freeing(comm ? *comm : MPI_COMM_NULL);      \
		int result = NEXT(name)(comm);                                                     \
		cs_comm_freed(freeing, comm && *comm == MPI_COMM_NULL);                          \
		return result;                                                                     \
	}
FREE(Comm_free)
FREE(Comm_disconnect)
#undef FREE

int
cs_entry_Comm_idup(MPI_Comm comm, MPI_Comm *copy, MPI_Request *request)
{
	cs_comm_duplicating();
	return NEXT(Comm_idup)(comm, copy, request);
}

#ifndef CS_STANDARD_ABI
int
cs_entry_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *memory,
			     MPI_Win *win)
{
	int result = NEXT(Win_allocate_shared)(size, unit, info, comm, memory, win);
	if (result == MPI_SUCCESS)
		cs_shared_window_add(comm, *win);
	return result;
}
#endif

void
cs_entry_after_init(void)
{
	cs_engine_agree();
}

int
cs_entry_Init(int *argc, char ***argv)
{
	int result = NEXT(Init)(argc, argv);
	if (result == MPI_SUCCESS)
		cs_engine_agree();
	return result;
}

int
cs_entry_Init_thread(int *argc, char ***argv, int required, int *provided)
{
	int result = NEXT(Init_thread)(argc, argv, required, provided);
	if (result == MPI_SUCCESS)
		cs_engine_agree();
	return result;
}

__attribute__((visibility("default"))) cs_module_open_fn cs_module_open;

const struct cs_module *
cs_module_open(const struct cs_door *door)
{
	static struct cs_module module = {
		.abi = CS_MODULE_ABI,
		.version = CS_VERSION,
#ifdef CS_STANDARD_ABI
#define WINDOW(name, arguments)
#endif
#define CALL(name, arguments) .entries[CS_CALL_##name] = (void *)cs_entry_##name,
#define LARGE(name, arguments) .entries[CS_CALL_##name] = (void *)cs_entry_##name,
#include "intercept/calls.def"
	};
	cs_engine_load(door);
	cs_requests_leave(module.entries);
	cs_persistent_leave(module.entries);
#define MPIX(name, lower, UPPER, shape) \
	module.entries[CS_CALL_MPIX_##name##_init] = (void *)cs_entry_##name##_init;
	CS_SERVED(MPIX)
	MPIX(Barrier, barrier, BARRIER, BARRIER)
	bool is_ordered = cs_settings_is_reproducible();
	if (is_ordered) {
#define ORDERED(name, lower, UPPER, shape) \
		module.entries[CS_CALL_##name] = (void *)cs_entry_ordered_##name; \
		module.entries[CS_CALL_##name##_c] = (void *)cs_entry_ordered_##name##_c;
		CS_REDUCTIONS(ORDERED)
	}
	cs_fortran_entries(module.entries, is_ordered);
	if (cs_settings_wants_report()) {
		cs_fortran_count(module.entries);
		cs_fortran_note_callers(module.entries);
	} else {
#define NOT_COUNTED(name, lower, UPPER, shape) \
	module.entries[CS_CALL_##name] = module.entries[CS_CALL_##name##_c] = NULL;
		CS_NEIGHBORS(NOT_COUNTED)
	}
	return &module;
}
