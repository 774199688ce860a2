/* intercept/persistent_entry.h — the entry of MPI_X_init, for entry_calls.h, which has PARAMETER,
 * IS_LARGE and NAME set. */
#ifndef CS_INTERCEPT_PERSISTENT_ENTRY_H
#define CS_INTERCEPT_PERSISTENT_ENTRY_H

#include "comm/calls/persistent.h"

#define CS_INIT_CAT(a, b) a##b
#define CS_INIT_ENTRY(name) CS_INIT_CAT(cs_entry_, name)
#define CS_INIT_CALL(name) CS_INIT_CAT(CS_CALL_, name)
#define CS_INIT_SERVE(name) CS_INIT_CAT(serve_, name)
#define CS_INIT_REPLAY(name) CS_INIT_CAT(replay_, name)

/* Fields of struct cs_kept. */
#define CS_KEEP(kind) kept.CS_NAME(kind) = CS_NAME(kind)
#define CS_KEPT(kind) kept->CS_NAME(kind)

/* An MPI that has MPIX_X_init only (Open MPI 4) is called by that name, whose calls come here. */
#define PERSISTENT(Name, shape, number, size, serve) \
	static bool CS_INIT_SERVE(NAME(Name))(struct cs_serving *serving, \
					      CS_ARGS_##shape(PARAMETER)) \
	{ \
		return serve; \
	} \
	/* A count that was an int is one again. */ \
	_Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wconversion\"") \
	static bool CS_INIT_REPLAY(NAME(Name))(struct cs_serving *serving, \
					       const struct cs_kept *kept) \
	{ \
		return CS_INIT_SERVE(NAME(Name))(serving, CS_ARGS_##shape(CS_KEPT)); \
	} \
	_Pragma("GCC diagnostic pop") \
	int CS_INIT_ENTRY(NAME(Name##_init))(CS_ARGS_##shape(PARAMETER), MPI_Info info, \
					     MPI_Request *request) \
	{ \
		void *next = cs_engine.door->next[CS_INIT_CALL(NAME(Name##_init))]; \
		if (!next) \
			next = cs_engine.door->next[CS_CALL_MPIX_##Name##_init]; \
		int result = ((__typeof__(&CS_INIT_ENTRY(NAME(Name##_init))))next)( \
			CS_ARGS_##shape(CS_NAME), info, request); \
		if (result != MPI_SUCCESS || !request) \
			return result; \
		struct cs_comm *communicator = cs_comm_enter(comm); \
		struct cs_kept kept = { .coll = number, .is_large = IS_LARGE, \
					.caller = __builtin_return_address(0) }; \
		(void)(CS_ARGS_##shape(CS_KEEP)); \
		if (communicator && communicator->seat->selection.is_reporting) \
			kept.bytes = size; \
		cs_persistent_make(communicator, &kept, CS_INIT_REPLAY(NAME(Name)), request); \
		return result; \
	}

#endif
