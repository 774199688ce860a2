/* Preloaded behind the library: the third MPI_Reduce by its PMPI name, which only leaders of nodes
 * make, is not made but fails. BROKEN_WIRE: "failure", MPI_ERR_OTHER without a word of a
 * truncation; "truncation", as later MPICH hands one down its trees; "status", as it tells a root
 * that gathers. "lanes": none of these, but the first communicator of lanes beyond the first four
 * (of color 4 or more) that MPI_Comm_split makes is refused, on rank 4 alone. The library asks
 * the MPI itself for its functions, so what stands in the way is dlsym. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))
#define CODE 0x5a5a5a /* no code of any MPI's */

static int
is(const char *what)
{
	const char *wanted = getenv("BROKEN_WIRE");
	return wanted && strcmp(wanted, what) == 0;
}

static int
reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
       MPI_Comm comm)
{
	static int calls;
	if (++calls != 3 || is("lanes"))
		return PMPI_Reduce(send, recv, count, type, op, root, comm);
	return is("failure") ? MPI_ERR_OTHER : is("status") ? MPI_ERR_IN_STATUS : CODE;
}

static int
comm_split(MPI_Comm comm, int color, int key, MPI_Comm *made)
{
	static int calls;
	int rank, result = PMPI_Comm_split(comm, color, key, made);
	PMPI_Comm_rank(comm, &rank);
	if (result != MPI_SUCCESS || !is("lanes") || color < 4 || rank != 4 || ++calls != 1)
		return result;
	PMPI_Comm_free(made);
	return MPI_ERR_OTHER;
}

static int
error_class(int code, int *class)
{
	if (code != CODE)
		return PMPI_Error_class(code, class);
	*class = MPI_ERR_IN_STATUS;
	return MPI_SUCCESS;
}

static int
error_string(int code, char *text, int *length)
{
	if (code != CODE)
		return PMPI_Error_string(code, text, length);
	strcpy(text, "See the MPI_ERROR field in MPI_Status for the error code, error stack:\n"
		     "MPIR_Reduce_intra_binomial(135): Failure during collective");
	*length = (int)strlen(text);
	return MPI_SUCCESS;
}

static void *
find(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5" };
	for (size_t i = 0; !next && i < sizeof versions / sizeof *versions; i++)
		next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	return next(handle, name);
}

EXPORT void *
dlsym(void *restrict handle, const char *restrict name)
{
	if (strcmp(name, "PMPI_Reduce") == 0)
		return (void *)reduce;
	if (strcmp(name, "PMPI_Comm_split") == 0)
		return (void *)comm_split;
	if (strcmp(name, "PMPI_Error_class") == 0)
		return (void *)error_class;
	if (strcmp(name, "PMPI_Error_string") == 0)
		return (void *)error_string;
	return find(handle, name);
}
