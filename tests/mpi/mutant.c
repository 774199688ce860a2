/* Preloaded in place of the library: a library with one fault, named by MUTANT. The differential
 * test must find each of them; otherwise it would find nothing in the real one either. */
#include <dlfcn.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

static int
is(const char *name)
{
	const char *wanted = getenv("MUTANT");
	return wanted && strcmp(wanted, name) == 0;
}

static int
rank_in(MPI_Comm comm)
{
	int rank, is_inter = 0;
	PMPI_Comm_test_inter(comm, &is_inter);
	PMPI_Comm_rank(comm, &rank);
	return is_inter ? -1 : rank;
}

#define EXPORT __attribute__((visibility("default")))

/* one bit of the last byte, on the last rank only */
EXPORT int
MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
	int code = PMPI_Allreduce(send, recv, count, type, op, comm), size;
	PMPI_Comm_size(comm, &size);
	if (is("bit") && type == MPI_INT && count > 0 && size > 1 && rank_in(comm) == size - 1)
		((int *)recv)[count - 1] ^= 1;
	/* within every error bound, but not the same on all ranks */
	if (is("ulp") && type == MPI_DOUBLE && op == MPI_SUM && count > 0 && rank_in(comm) == 1)
		((double *)recv)[0] = nextafter(((double *)recv)[0], 1e300);
	/* the same on all ranks, but not the same when the call is made again */
	static unsigned calls;
	if (is("unsteady") && type == MPI_DOUBLE && op == MPI_SUM && count > 0 &&
	    rank_in(comm) >= 0 && calls++ % 2)
		((double *)recv)[0] = nextafter(((double *)recv)[0], 1e300);
	return code;
}

/* a byte before the receive buffer */
EXPORT int
MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
	      MPI_Datatype recv_type, MPI_Comm comm)
{
	int code = PMPI_Allgather(send, send_count, send_type, recv, recv_count, recv_type, comm);
	if (is("guard") && recv != MPI_BOTTOM && recv_count > 0)
		((char *)recv)[-1] ^= 1;
	return code;
}

/* the send buffer */
EXPORT int
MPI_Gather(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
	   MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	int code = PMPI_Gather(send, send_count, send_type, recv, recv_count, recv_type, root,
			       comm);
	if (is("send") && send != MPI_IN_PLACE && send != MPI_BOTTOM && send_count > 0 &&
	    rank_in(comm) >= 0)
		((char *)send)[0] ^= 1;
	return code;
}

/* a non-commutative operation in the order of other ranks */
EXPORT int
MPI_Reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op, int root,
	   MPI_Comm comm)
{
	int is_commutative = 1, rank = rank_in(comm), size;
	if (op != MPI_OP_NULL)
		PMPI_Op_commutative(op, &is_commutative);
	if (!is("order") || is_commutative || rank < 0)
		return PMPI_Reduce(send, recv, count, type, op, root, comm);
	MPI_Comm reversed;
	PMPI_Comm_size(comm, &size);
	PMPI_Comm_split(comm, 0, -rank, &reversed);
	int code = PMPI_Reduce(send, recv, count, type, op, size - 1 - root, reversed);
	PMPI_Comm_free(&reversed);
	return code;
}

/* a call that does nothing on odd ranks */
EXPORT int
MPI_Scatter(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
	    MPI_Datatype recv_type, int root, MPI_Comm comm)
{
	int rank = rank_in(comm);
	if (!is("stale") || rank < 0 || rank % 2 == 0 || recv_count == 0 || rank == root)
		return PMPI_Scatter(send, send_count, send_type, recv, recv_count, recv_type, root,
				    comm);
	MPI_Aint lb, extent, true_lb, true_extent;
	PMPI_Type_get_extent(recv_type, &lb, &extent);
	PMPI_Type_get_true_extent(recv_type, &true_lb, &true_extent);
	char *elsewhere = malloc((size_t)(extent * recv_count + true_extent));
	int code = PMPI_Scatter(send, send_count, send_type, elsewhere - true_lb, recv_count,
				recv_type, root, comm);
	free(elsewhere);
	return code;
}

/* an error where there is none */
EXPORT int
MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv, int recv_count,
	     MPI_Datatype recv_type, MPI_Comm comm)
{
	int code = PMPI_Alltoall(send, send_count, send_type, recv, recv_count, recv_type, comm);
	return is("class") ? MPI_ERR_OTHER : code;
}

/* the gap in the middle of a strided type */
EXPORT int
MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
	int code = PMPI_Bcast(buffer, count, type, root, comm), size;
	MPI_Aint lb, extent, true_lb, true_extent;
	PMPI_Type_size(type, &size);
	PMPI_Type_get_extent(type, &lb, &extent);
	PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
	if (is("gap") && buffer != MPI_BOTTOM && count > 1 && true_lb == 0 && lb == 0 &&
	    extent > true_extent && true_extent == size)
		((char *)buffer)[true_extent] ^= 1;
	return code;
}
