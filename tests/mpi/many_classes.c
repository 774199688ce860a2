/* many_classes.c — more classes of calls of one collective than a communicator keeps choices for:
 * the last one gives its place to another one before, in and after a window of its trial. */
#include "check.h"

#define CLASSES 12 /* CS_CHOICES (run/run.h) */
#define MOST (1 << 15)

static double doubles[MOST], double_sums[MOST];
static int ints[MOST], int_sums[MOST];
static int size;

/* An allreduce of a class of its own: by sizes, of integers and of doubles. */
static void
call(int class, int number, MPI_Comm comm)
{
	int count = 2 << class / 2 * 2, last = count - 1,
	    sum = size * number + size * (size - 1) / 2;
	if (class % 2) {
		ints[last] = check_rank + number;
		MPI_Allreduce(ints, int_sums, count, MPI_INT, MPI_SUM, comm);
		CHECK(int_sums[last] == sum, "%d integers: %d, not %d", count, int_sums[last], sum);
	} else {
		doubles[last] = check_rank + number;
		MPI_Allreduce(doubles, double_sums, count, MPI_DOUBLE, MPI_SUM, comm);
		CHECK(double_sums[last] == sum, "%d doubles: %g, not %d", count, double_sums[last],
		      sum);
	}
}

int
main(int argc, char **argv)
{
	int rank;
	check_begin(&argc, &argv, &rank, &size);
	for (int calls = 0; calls < 120; calls++) {
		MPI_Comm comm;
		MPI_Comm_dup(MPI_COMM_WORLD, &comm);
		for (int class = 0; class < CLASSES; class++)
			call(class, class, comm);
		for (int number = 0; number < calls; number++)
			call(CLASSES - 1, number, comm);
		for (int number = 0; number < 100; number++)
			call(CLASSES, number, comm);
		MPI_Comm_free(&comm);
	}
	return check_finish("many_classes");
}
