/* comm/host/flavour.c — recognises the MPI, and sets its differences from others. */
#include "comm/host/flavour.h"

#include <assert.h>
#include <limits.h>
#include <mpi.h>
#include <string.h>

/* Kind of the mpi.h's handles, by their size and type. */
#define HANDLES                                                                                    \
	(sizeof(MPI_Comm) == sizeof(int) ? CS_HANDLES_NUMBERS                                      \
	 : __builtin_types_compatible_p(MPI_Comm, struct MPI_ABI_Comm *) ? CS_HANDLES_STANDARD     \
								    : CS_HANDLES_ADDRESSES)
#define SAME(kind, ours, theirs)                                                                   \
	static_assert(__builtin_choose_expr(HANDLES == (kind),                                     \
					    (uintptr_t)(ours) == (uintptr_t)(theirs), true),       \
		      #theirs)
SAME(CS_HANDLES_NUMBERS, CS_MPICH_COMM_WORLD, MPI_COMM_WORLD);
SAME(CS_HANDLES_NUMBERS, CS_MPICH_COMM_SELF, MPI_COMM_SELF);
SAME(CS_HANDLES_NUMBERS, CS_MPICH_UINT64_T, MPI_UINT64_T);
SAME(CS_HANDLES_NUMBERS, CS_MPICH_MIN, MPI_MIN);
#ifndef __clang__ /* a pointer made of a number is no constant in clang */
SAME(CS_HANDLES_NUMBERS, CS_MPICH_STATUS_IGNORE, MPI_STATUS_IGNORE);
SAME(CS_HANDLES_STANDARD, CS_ABI_COMM_NULL, MPI_COMM_NULL);
SAME(CS_HANDLES_STANDARD, CS_ABI_COMM_WORLD, MPI_COMM_WORLD);
SAME(CS_HANDLES_STANDARD, CS_ABI_COMM_SELF, MPI_COMM_SELF);
SAME(CS_HANDLES_STANDARD, CS_ABI_UINT64_T, MPI_UINT64_T);
SAME(CS_HANDLES_STANDARD, CS_ABI_MIN, MPI_MIN);
SAME(CS_HANDLES_STANDARD, CS_ABI_STATUS_IGNORE, MPI_STATUS_IGNORE);
#endif

struct cs_flavour cs_flavour;

static const struct cs_flavour open_mpi = {
	.name = "openmpi",
	.handles = HANDLES,
	.most_comms = INT_MAX,
	.yields_in_waits = true,
	.may_hang_in_idup = true,
	.follows_stale_handles = true,
	.takes_aliases = true,
	.compares_own_blocks = true,
};

static const struct cs_flavour mpich = {
	.name = "mpich",
	.handles = HANDLES,
	.most_comms = 256, /* of 2048 context ids: most are for the program */
	.takes_idle_in_place = true,
	.checks_idle_result = true,
	.tells_of_less = true,
};

/* Is it MPICH 5.0, whose MPI_Comm_split_type over UCX puts each rank on a node of its own (seen
 * with 5.0.2; its issue 7814)? */
static bool
is_mpich_5_0(const char *library)
{
	static const char name[] = "MPICH Version:";
	if (strncmp(library, name, strlen(name)) != 0)
		return false;
	const char *version = library + strlen(name);
	return strncmp(version + strspn(version, " \t"), "5.0.", 4) == 0;
}

void
cs_flavour_learn(const char *library)
{
	const char *text = library ? library : "";
	/* The first name is the MPI's: the text after it may describe how it was built. */
	const char *one = strstr(text, "Open MPI"), *other = strstr(text, "MPICH");
	cs_flavour = one && (!other || one < other) ? open_mpi : mpich;
	cs_flavour.splits_type_wrongly = is_mpich_5_0(text);
}
