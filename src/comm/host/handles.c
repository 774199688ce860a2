/* comm/host/handles.c — checks MPI handles as words, without an mpi.h. */
#include "comm/host/handles.h"

/* Fields of MPICH's handles: the kind in bits 26 to 29, the storage class in the top two (0: null;
 * 1: built in). */
enum { MPICH_COMM = 1, MPICH_OP = 6, MPICH_BUILTIN = 1 };

static unsigned
mpich_kind(uintptr_t handle)
{
	return (unsigned)handle >> 26 & 15;
}

static unsigned
mpich_class(uintptr_t handle)
{
	return (unsigned)handle >> 30;
}

bool
cs_handle_is_comm(enum cs_handles kind, uintptr_t handle)
{
	switch (kind) {
	case CS_HANDLES_NUMBERS:
		return mpich_kind(handle) == MPICH_COMM && mpich_class(handle) != 0 &&
		       (mpich_class(handle) != MPICH_BUILTIN || handle == CS_MPICH_COMM_WORLD ||
			handle == CS_MPICH_COMM_SELF);
	case CS_HANDLES_ADDRESSES: return handle != 0;
	case CS_HANDLES_STANDARD:
		return handle > CS_ABI_MOST || handle == CS_ABI_COMM_WORLD ||
		       handle == CS_ABI_COMM_SELF;
	}
	return false;
}

bool
cs_handle_is_op(enum cs_handles kind, uintptr_t handle)
{
	switch (kind) {
	case CS_HANDLES_NUMBERS: return mpich_kind(handle) == MPICH_OP && mpich_class(handle) != 0;
	case CS_HANDLES_ADDRESSES: return handle != 0;
	case CS_HANDLES_STANDARD: return handle > CS_ABI_MOST;
	}
	return false;
}

bool
cs_handles_fit(enum cs_handles kind, uintptr_t world, void *(*lookup)(const char *name))
{
	uintptr_t (*from_fortran)(int) = (uintptr_t(*)(int))lookup("PMPI_Comm_f2c");
	int (*get_parent)(uintptr_t *) = (int (*)(uintptr_t *))lookup("PMPI_Comm_get_parent");
	uintptr_t parent = 0; /* an int fills half of it */
	if (kind == CS_HANDLES_ADDRESSES)
		return from_fortran && from_fortran(0) == world;
	if (!get_parent || get_parent(&parent))
		return false;
	if (kind == CS_HANDLES_STANDARD)
		return parent == CS_ABI_COMM_NULL || parent > CS_ABI_MOST;
	return !(parent >> 32) && mpich_kind(parent) == MPICH_COMM;
}
