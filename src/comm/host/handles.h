/* comm/host/handles.h — MPI handles as words, without an mpi.h: the door has none, and a module has
 * to check that the MPI in use has the handles of the mpi.h that it was built with. */
#ifndef CS_COMM_HOST_HANDLES_H
#define CS_COMM_HOST_HANDLES_H

#include <stdbool.h>
#include <stdint.h>

enum cs_handles {
	CS_HANDLES_NUMBERS,   /* ints: MPICH and its derivatives, by their common ABI */
	CS_HANDLES_ADDRESSES, /* of the MPI's own structures: Open MPI */
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
#define CS_ABI_MOST 4095 /* largest constant */

/* False if the handle is certainly no communicator, or no operation that a program made. With
 * CS_HANDLES_ADDRESSES, the MPI's null handles are not recognised. */
bool cs_handle_is_comm(enum cs_handles kind, uintptr_t handle);
bool cs_handle_is_op(enum cs_handles kind, uintptr_t handle);

/* Has the MPI handles of this kind? Asked once it is initialised. A call with an unknown handle
 * would end the program, so the MPI is called for one: MPI_Comm_f2c(0), which is MPI_COMM_WORLD
 * (`world`) in Open MPI, or else MPI_Comm_get_parent, which is null or a spawned process's
 * parent. */
bool cs_handles_fit(enum cs_handles kind, uintptr_t world, void *(*lookup)(const char *name));

#endif
