/* intercept/module_abi.h — interface between the door and a module.
 *
 *   libcollshim.so (door)                      collshim-mpich.so | -openmpi.so | -abi.so (module)
 *     finds the MPI of this process
 *     dlopens the module that fits    ------->  cs_module_open(door): before MPI_Init, no MPI calls
 *     slots[call] = module->entries[call]       but MPI_Get_library_version and MPI_Initialized
 *     app's MPI_X jumps through the slot ---->  entries[call]
 *                                               defers by calling door->next[call]
 *
 * The two are built together; another version on either side means that every call is forwarded. */
#ifndef CS_INTERCEPT_MODULE_ABI_H
#define CS_INTERCEPT_MODULE_ABI_H

#include <stddef.h>
#include <stdint.h>

#define CS_MODULE_ABI 1

/* Ends a line that says that nothing is served, where COLLSHIM_REPORT asks for a report. */
#define CS_NO_REPORT ", and there will be no report"

enum cs_call_id {
#define CALL(name, arguments) CS_CALL_##name,
#define LARGE(name, arguments) CS_CALL_##name,
#define FCALL(symbol, arguments) CS_CALL_##symbol,
#define FPLAIN(symbol, arguments) CS_CALL_##symbol,
#include "intercept/calls.def"
	CS_CALL_COUNT
};

/* The door's side. All of it stays valid for the life of the process. */
struct cs_door {
	uint32_t abi;        /* CS_MODULE_ABI */
	const char *version; /* of collshim */
	const char *library; /* what the MPI says of itself (MPI_Get_library_version) */
	/* By call id: the next function of that name in the process (the MPI's, or that of a tool
	 * preloaded below us); NULL while there is none. */
	void *const *next;
	/* A symbol of the MPI that was found, e.g. "PMPI_Comm_rank"; NULL if it has none. Any
	 * thread. */
	void *(*lookup)(const char *name);
	/* Every different definition of a symbol in the process, at most `room` of them; returns
	 * their number. Slow (walks all loaded objects). */
	size_t (*lookup_all)(const char *name, void **found, size_t room);
	/* set: calls of this id go to `entry` from now on. restore: they go to next again;
	 * CS_CALL_COUNT or -1 means all. Not from within cs_module_open. */
	void (*set)(int call, void *entry);
	void (*restore)(int call);
};

/* The module's side. */
struct cs_module {
	uint32_t abi;
	const char *version;
	void *entries[CS_CALL_COUNT]; /* NULL: forward this call */
};

/* The only symbol that a module exports. NULL: forward everything, without a word (the module said
 * why, if there is something to say). */
#define CS_MODULE_OPEN "cs_module_open"
typedef const struct cs_module *cs_module_open_fn(const struct cs_door *door);

#endif
