/* One call of pairs with gaps (MPI_DOUBLE_INT: 12 bytes in 16), for a rule whose range ends between
 * the two sizes. */
#include "check.h"

#define PAIRS 220

int
main(int argc, char **argv)
{
	struct {
		double value;
		int where;
	} mine[PAIRS], best[PAIRS];
	int size;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < PAIRS; i++) {
		mine[i].value = (check_rank + i) % size;
		mine[i].where = check_rank;
	}
	MPI_Allreduce(mine, best, PAIRS, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
	for (int i = 0; i < PAIRS; i++)
		CHECK((int)best[i].value == size - 1 && (best[i].where + i) % size == size - 1,
		      "element %d: %g of rank %d", i, best[i].value, best[i].where);
	return check_finish("pair_size");
}
