/* An operation takes its vector for one thing: of each six ints five are summed and one is a
 * maximum, and the type says nothing of it. The standard lets an MPI call it for any part of a
 * vector (MPI 4.0, 6.9.5); programs have it all the same, for vectors so short that no MPI cuts
 * them. */
#include "case.h"

static void
sum_five_and_take_the_larger_sixth(void *in, void *inout, int *count, MPI_Datatype *type)
{
	int *from = in, *to = inout;
	(void)type;
	for (int i = 0; i < *count; i++)
		to[i] = i % 6 < 5 ? from[i] + to[i] : from[i] > to[i] ? from[i] : to[i];
}

static void
check(const int *result, int count)
{
	for (int i = 0; i < count; i++)
		CHECK(result[i] == (i % 6 < 5 ? size * (size - 1) / 2 + size * i : size - 1 + i),
		      "%d at %d", result[i], i);
}

int
main(int argc, char **argv)
{
	enum { COUNT = 6 };
	int in[COUNT], out[COUNT];
	MPI_Op op;
	begin(&argc, &argv);
	MPI_Op_create(sum_five_and_take_the_larger_sixth, 1, &op);
	for (int turn = 0; turn < 8; turn++) {
		for (int i = 0; i < COUNT; i++)
			in[i] = out[i] = rank + i;
		MPI_Allreduce(is("in_place") ? MPI_IN_PLACE : in, out, COUNT, MPI_INT, op,
			      MPI_COMM_WORLD);
		check(out, COUNT);
		MPI_Reduce(in, out, COUNT, MPI_INT, op, turn % size, MPI_COMM_WORLD);
		if (rank == turn % size)
			check(out, COUNT);
	}
	MPI_Op_free(&op);
	return end();
}
