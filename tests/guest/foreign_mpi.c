/* An MPI with handles of its own (FOREIGN_WORLD), which says of itself what $FOREIGN_VERSION holds,
 * as wrappers around another MPI and libraries of the standard ABI do. As a real one it ends the
 * program when it gets a handle that it does not know. With $FOREIGN_ABI it has that major version
 * of the standard ABI. */
#include "foreign.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

static int
check(const char *name, struct foreign_comm *comm)
{
	if (comm == FOREIGN_WORLD)
		return 0;
	printf("FAILED %s: invalid communicator %p\n", name, (void *)comm);
	exit(7);
}

/* Whatever else a module may ask for by its PMPI name: nothing that an MPI of this kind should be
 * asked. */
#define OTHER(name)                                                                                \
	int PMPI_##name(void);                                                                     \
	int PMPI_##name(void)                                                                      \
	{                                                                                          \
		printf("FAILED PMPI_" #name " was called\n");                                      \
		exit(8);                                                                           \
	}
#define Initialized Unused_Initialized
#define Finalized Unused_Finalized
#define Get_library_version Unused_Get_library_version
#define Comm_rank Unused_Comm_rank
#define Comm_size Unused_Comm_size
#define Barrier Unused_Barrier
#define P(name) OTHER(name)
#include "comm/host/pmpi.def"
#undef Initialized
#undef Finalized
#undef Get_library_version
#undef Comm_rank
#undef Comm_size
#undef Barrier

int PMPI_Get_library_version(char *text, int *length);
int
PMPI_Get_library_version(char *text, int *length)
{
	const char *version = getenv("FOREIGN_VERSION");
	*length = sprintf(text, "%s", version != NULL ? version : "");
	return 0;
}

int MPI_Get_library_version(char *text, int *length);
int
MPI_Get_library_version(char *text, int *length)
{
	return PMPI_Get_library_version(text, length);
}

int PMPI_Abi_get_version(int *major, int *minor);
int
PMPI_Abi_get_version(int *major, int *minor)
{
	const char *version = getenv("FOREIGN_ABI");
	*major = version != NULL ? atoi(version) : -1;
	*minor = 0;
	return 0;
}

int PMPI_Init(int *argc, char ***argv);
int
PMPI_Init(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	return 0;
}

int
MPI_Init(int *argc, char ***argv)
{
	return PMPI_Init(argc, argv);
}

static int
is_so(int *flag, int value)
{
	*flag = value;
	return 0;
}

int PMPI_Initialized(int *flag);
int
PMPI_Initialized(int *flag)
{
	return is_so(flag, 1);
}

int PMPI_Finalized(int *flag);
int
PMPI_Finalized(int *flag)
{
	return is_so(flag, 0);
}

/* Neither is the handle of another MPI: 0x100 is the standard ABI's MPI_COMM_NULL. */
int PMPI_Comm_get_parent(struct foreign_comm **comm);
int
PMPI_Comm_get_parent(struct foreign_comm **comm)
{
	*comm = (struct foreign_comm *)0x100;
	return 0;
}

struct foreign_comm *PMPI_Comm_f2c(int comm);
struct foreign_comm *
PMPI_Comm_f2c(int comm)
{
	return comm == 0 ? FOREIGN_WORLD : NULL;
}

int PMPI_Comm_rank(struct foreign_comm *comm, int *rank);
int
PMPI_Comm_rank(struct foreign_comm *comm, int *rank)
{
	return check("PMPI_Comm_rank", comm) || is_so(rank, 0);
}

int PMPI_Comm_size(struct foreign_comm *comm, int *size);
int
PMPI_Comm_size(struct foreign_comm *comm, int *size)
{
	return check("PMPI_Comm_size", comm) || is_so(size, 1);
}

int PMPI_Barrier(struct foreign_comm *comm);
int
PMPI_Barrier(struct foreign_comm *comm)
{
	return check("PMPI_Barrier", comm);
}

int
MPI_Barrier(struct foreign_comm *comm)
{
	return check("MPI_Barrier", comm);
}
