/* comm/host/handles.h — what the handles of MPIs are, in words and without an mpi.h: the door has
 * none, and a module has to look whether the MPI that it meets has those of the mpi.h that it
 * was made with. */
#ifndef CS_COMM_HOST_HANDLES_H
#define CS_COMM_HOST_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

enum cs_handles {
	CS_HANDLES_NUMBERS,   /* ints: MPICH and its kin, by their common ABI */
	CS_HANDLES_ADDRESSES, /* of what only the MPI knows: Open MPI */
	CS_HANDLES_STANDARD,  /* small constants, and else addresses: the standard ABI */
};

/* flavour.c compares these with each module's mpi.h. */
#define CS_MPICH_COMM_WORLD 0x44000000
#define CS_MPICH_COMM_SELF 0x44000001
#define CS_MPICH_UINT64_T 0x4c00083e
#define CS_MPICH_MIN 0x58000002
#define CS_MPICH_STATUS_IGNORE 1

#define CS_ABI_COMM_NULL 0x100
#define CS_ABI_COMM_WORLD 0x101
#define CS_ABI_COMM_SELF 0x102
#define CS_ABI_UINT64_T 0x259
#define CS_ABI_MIN 0x22
#define CS_ABI_STATUS_IGNORE 0
#define CS_ABI_MOST 4095 /* of the constants */

/* False for what is certainly no communicator, or no operation that a program made. Null handles
 * are not told from others where handles are addresses. */
bool cs_handle_is_comm(enum cs_handles kind, uintptr_t handle);
bool cs_handle_is_op(enum cs_handles kind, uintptr_t handle);

/* Has the MPI, once it is initialised, handles of this kind? A call with one that it does not
 * know would end the program, so it is asked for one: that of MPI_COMM_WORLD, which is `world`,
 * or the null one, in whose place a process that was spawned hears of its parents. */
bool cs_handles_fit(enum cs_handles kind, uintptr_t world, void *(*lookup)(const char *name));

#endif
