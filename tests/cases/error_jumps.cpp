/* Error handlers that do not return: an exception, or a jump, out of a collective that failed. What the handler hears is printed
 * by rank 0, and compared with what it hears without the library. */
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
extern "C" {
#include "case.h"
}

#include <csetjmp>

enum { WRONG_CALLS = 9 };

static jmp_buf back;
static int heard, heard_class;

extern "C" {
static void
on_error(MPI_Comm *comm, int *code, ...)
{
	(void)comm;
	heard++;
	MPI_Error_class(*code, &heard_class);
	if (is("throw"))
		throw *code;
	if (is("jump"))
		longjmp(back, 1);
}
}

static void
call_wrongly(int which, MPI_Comm comm)
{
	static int in[64], out[4096];
	switch (which) {
	case 0: MPI_Bcast(in, 1, MPI_INT, size + 5, comm); break;
	case 1: MPI_Bcast(in, -1, MPI_INT, 0, comm); break;
	case 2: MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, comm); break;
	case 3: MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, comm); break;
	case 4: MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_BAND, comm); break;
	case 5: MPI_Scatter(in, 1, MPI_INT, out, -4, MPI_INT, size, comm); break;
	case 6: MPI_Alltoall(in, -2, MPI_INT, out, 1, MPI_INT, comm); break;
	case 7: MPI_Gather(in, 1, MPI_INT, out, 1, MPI_INT, -9, comm); break;
	case 8: MPI_Allgather(in, 1, MPI_DATATYPE_NULL, out, 1, MPI_INT, comm); break;
	}
}

static void
wrong_calls(int phase, MPI_Comm comm)
{
	for (volatile int which = 0; which < WRONG_CALLS; which = which + 1) {
		heard = heard_class = 0;
		if (setjmp(back) == 0) {
			try {
				call_wrongly(which, comm);
			} catch (int) {
			}
		}
		if (rank == 0)
			printf("phase %d, call %d: heard %d times, class %d\n", phase, which, heard, heard_class);
		use(comm, 5);
	}
}

/* Receivers expect half of what the root sends: each hears of it once. */
static void
short_receivers(int phase, MPI_Comm comm)
{
	int count = phase ? 20000 : 16, *data = (int *)room(2 * (size_t)count * sizeof(int));
	heard = 0;
	MPI_Bcast(data, rank == 0 ? 2 * count : count, MPI_INT, 0, comm);
	CHECK(heard == (rank != 0), "the handler was called %d times", heard);
	free(data);
}

int
main(int argc, char **argv)
{
	MPI_Errhandler handler;
	MPI_Comm comm;
	begin(&argc, &argv);
	MPI_Comm_create_errhandler(on_error, &handler);
	MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &comm);
	MPI_Comm_set_errhandler(comm, handler);
	MPI_Errhandler_free(&handler); /* the communicator keeps it */
	for (int phase = 0; phase < 2; phase++) {
		if (is("short"))
			short_receivers(phase, comm);
		else
			wrong_calls(phase, comm);
		for (int turn = 0; turn < 30; turn++)
			use(comm, 10 + 100 * turn);
	}
	MPI_Comm_free(&comm);
	return end();
}
