/* examples/matvec.c — dense matrix-vector products whose results go to one rank after another.
 *
 * An ordinary MPI program. Each rank holds a block of columns of the n x n matrix A and its part of
 * x; in step i it multiplies them, and the partial vectors are summed onto rank i mod p: one
 * MPI_Reduce of 4n bytes a step, with a root that rotates.
 *
 *   mpirun -n 4 matvec [-n SIZE] [-i ITERATIONS] [-c] [-I PATTERN]
 *
 *   -n  rows and columns (default 512)     -i  products (default 1000)
 *   -c  check each product against a formula
 *   -I  ranks come late to each MPI_Reduce: uniform:500us, late:RANK:2ms, turning:2ms, ...
 *
 * The elements are small whole numbers, so that all sums are exact in float whatever their order:
 * the output is the same for every number of ranks and equal to that of matvec_f, but for the line
 * that begins with "time". */
#include "late.h"

#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { MAX_SIZE = 100000 };

static const int64_t modulus = 1000000007;

static int rank, ranks;
static struct late late;

static float
matrix_element(int row, int column)
{
	return (float)((row * 7 + column * 13) % 9 - 4);
}

static float
vector_element(int column, int step)
{
	return (float)((column * 5 + step * 3) % 7 - 3);
}

/* y += A x for our columns; A is kept by rows of our columns. */
static void
multiply(const float *restrict a, const float *restrict x, int n, int columns, float *restrict y)
{
	for (int row = 0; row < n; row++) {
		const float *mine = a + (size_t)row * (size_t)columns;
		float sum = 0;
		for (int j = 0; j < columns; j++)
			sum += mine[j] * x[j];
		y[row] = sum;
	}
}

static int64_t
digest(const float *y, int n)
{
	int64_t sum = 0;
	for (int row = 0; row < n; row++) {
		int64_t value = ((int64_t)y[row] % modulus + modulus) % modulus;
		sum = (sum + value * (row % 9973 + 1)) % modulus;
	}
	return sum;
}

/* How many elements differ from the product worked out here alone. */
static int
count_wrong(const float *y, int n, int step)
{
	int wrong = 0;
	for (int row = 0; row < n; row++) {
		int64_t sum = 0;
		for (int column = 0; column < n; column++)
			sum += (int64_t)(matrix_element(row, column) *
					 vector_element(column, step));
		wrong += y[row] != (float)sum;
	}
	return wrong;
}

static int
parse_number(const char *text, int high)
{
	char *end;
	long value = strtol(text, &end, 10);
	return end != text && *end == '\0' && value >= 1 && value <= high ? (int)value : -1;
}

static int
parse(int argc, char **argv, int *n, int *iterations, int *is_checked,
      const char **pattern)
{
	const char *wanted = NULL;
	int option;
	opterr = 0;
	while (wanted == NULL && (option = getopt(argc, argv, "n:i:cI:")) != -1) {
		switch (option) {
		case 'n':
			*n = parse_number(optarg, MAX_SIZE);
			wanted = *n < 0 ? "-n: rows and columns, 1 to 100000" : NULL;
			break;
		case 'i':
			*iterations = parse_number(optarg, 100000000);
			wanted = *iterations < 0 ? "-i: iterations, 1 to 100000000" : NULL;
			break;
		case 'c':
			*is_checked = 1;
			break;
		case LATE_OPTION:
			*pattern = optarg;
			break;
		default:
			wanted = "options are -n SIZE -i ITERATIONS -c -I PATTERN";
		}
	}
	if (wanted == NULL && optind < argc)
		wanted = "options are -n SIZE -i ITERATIONS -c -I PATTERN";
	if (wanted != NULL && rank == 0)
		fprintf(stderr, "matvec: %s\n", wanted);
	return wanted == NULL;
}

int
main(int argc, char **argv)
{
	int n = 512, iterations = 1000, is_checked = 0, result = 2, wrong = 0;
	const char *pattern = NULL;
	float *a = NULL, *x = NULL, *partial = NULL, *y = NULL;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!parse(argc, argv, &n, &iterations, &is_checked, &pattern) ||
	    late_begin(&late, "matvec", pattern) != 0)
		goto finalize;

	int first = (int)((int64_t)n * rank / ranks);
	int columns = (int)((int64_t)n * (rank + 1) / ranks) - first;
	a = malloc(((size_t)n * (size_t)columns + 1) * sizeof *a);
	x = malloc(((size_t)columns + 1) * sizeof *x);
	partial = malloc((size_t)n * sizeof *partial);
	y = malloc((size_t)n * sizeof *y);
	int has_memory = a != NULL && x != NULL && partial != NULL && y != NULL;
	MPI_Allreduce(MPI_IN_PLACE, &has_memory, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!has_memory) {
		if (rank == 0)
			fprintf(stderr, "matvec: no memory for %d x %d numbers on %d ranks\n", n, n,
				ranks);
		goto free_all;
	}
	for (int row = 0; row < n; row++) {
		for (int j = 0; j < columns; j++)
			a[(size_t)row * (size_t)columns + (size_t)j] =
				matrix_element(row, first + j);
	}

	int64_t mine = 0, total = 0;
	MPI_Barrier(MPI_COMM_WORLD);
	double seconds = -MPI_Wtime();
	for (int step = 0; step < iterations; step++) {
		int root = step % ranks;
		for (int j = 0; j < columns; j++)
			x[j] = vector_element(first + j, step % 1000);
		multiply(a, x, n, columns, partial);
		late_come(&late);
		MPI_Reduce(partial, y, n, MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
		if (rank == root) {
			mine = (mine + digest(y, n) * (step % 9973 + 1)) % modulus;
			wrong += is_checked ? count_wrong(y, n, step % 1000) : 0;
		}
	}
	MPI_Barrier(MPI_COMM_WORLD);
	seconds += MPI_Wtime();

	MPI_Reduce(&mine, &total, 1, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0) {
		printf("size %d\nproducts %d\nchecksum %lld\n", n, iterations,
		       (long long)(total % modulus));
		if (is_checked)
			printf("wrong elements %d\n", wrong);
		printf("time %.6f s\n", seconds);
	}
	result = wrong != 0;

free_all:
	free(a);
	free(x);
	free(partial);
	free(y);
finalize:
	late_end(&late);
	MPI_Finalize();
	return result;
}
