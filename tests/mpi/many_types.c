/* Hundreds of living derived types. MPICH 4.0.2 leaves a field of those beyond the first few
 * hundred as its memory was, where their elements are without gaps and do not begin at 0; its
 * MPI_Pack then cuts the length down to a multiple of it (5 bytes to 4). Messages with such types
 * are right, so the program never sees it, and must not through us. */
#include "check.h"

#include <string.h>

#define TYPES 1200
#define LENGTH 5

int
main(int argc, char **argv)
{
	static MPI_Datatype types[TYPES];
	int rank, length = 1, at = 1;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	check_rank = rank;
	for (int i = 0; i < TYPES; i++) {
		MPI_Type_indexed(1, &length, &at, MPI_CHAR, &types[i]);
		MPI_Type_commit(&types[i]);
	}
	for (int i = 0; i < TYPES; i++) {
		char sent[LENGTH + 1], got[LENGTH + 2] = "";
		for (int k = 0; k <= LENGTH; k++)
			sent[k] = k < LENGTH ? (char)('a' + (i + k) % 26) : '\0';
		if (rank == 0)
			memcpy(got + 1, sent, sizeof sent);
		MPI_Bcast(got, LENGTH, types[i], 0, MPI_COMM_WORLD);
		CHECK(!memcmp(got + 1, sent, sizeof sent), "bcast with type %d: %s instead of %s",
		      i, got + 1, sent);
	}
	for (int i = 0; i < TYPES; i++)
		MPI_Type_free(&types[i]);
	return check_finish("many_types");
}
