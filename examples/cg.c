/* examples/cg.c — pipelined conjugate gradients (P. Ghysels and W. Vanroose, "Hiding global
 * synchronization latency in the preconditioned conjugate gradient algorithm", 2014, algorithm 3).
 *
 * An ordinary MPI program. It solves the five-point equation of Poisson on a square, of which each
 * rank has a block of rows. The two scalar products of an iteration are summed up by an
 * MPI_Iallreduce while the matrix is applied, with an exchange of rows between neighbours.
 *
 *   mpirun -n 4 cg [-b] [-n EDGE] [-i ITERATIONS]
 *
 *   -b  blocking: MPI_Allreduce       -n  cells of an edge (default 128)
 *   -i  iterations at most (default 400); it ends when the residual is 1e-7 of the first
 *
 * The solution is known. All output but lines that begin with "time" is the same with -b and
 * without, and for every number of ranks. */
#include "kernel.h"

#include <math.h>
#include <stddef.h>

static struct kernel kernel;
static struct kernel_option options[] = {
	{ 'n', 2, 8192, 128 }, { 'i', 1, 1000000, 400 }, { 0 } };
static size_t n, first, rows; /* edge; this rank's rows: vectors have one more on either side */

enum { X, B, R, W, Q, P, S, Z, VECTORS };
static double *vectors[VECTORS];

/* The first cell of the rank's own. */
static double *
own(int vector)
{
	return vectors[vector] + n;
}

/* to = A from, whose outer rows are filled in here. */
static void
apply(int to, int from)
{
	double *v = vectors[from], *result = own(to);
	int above = kernel.rank > 0 ? kernel.rank - 1 : MPI_PROC_NULL,
	    below = kernel.rank + 1 < kernel.ranks ? kernel.rank + 1 : MPI_PROC_NULL;
	MPI_Sendrecv(v + n, (int)n, MPI_DOUBLE, above, 0, v + (rows + 1) * n, (int)n, MPI_DOUBLE,
		     below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(v + rows * n, (int)n, MPI_DOUBLE, below, 1, v, (int)n, MPI_DOUBLE, above, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (size_t row = 1; row <= rows; row++)
		for (size_t x = 0; x < n; x++) {
			const double *cell = v + row * n + x;
			double sides = (x > 0 ? cell[-1] : 0) + (x + 1 < n ? cell[1] : 0);
			*result++ = 4 * *cell - sides - cell[-(ptrdiff_t)n] - cell[n];
		}
}

static double
product(int one, int other)
{
	double sum = 0;
	for (size_t i = 0; i < rows * n; i++)
		sum += own(one)[i] * own(other)[i];
	return sum;
}

/* to = from + factor * to, or to += factor * from. */
static void
add(int to, double factor, int from, int scales_old)
{
	double *a = own(to);
	const double *b = own(from);
	for (size_t i = 0; i < rows * n; i++)
		a[i] = scales_old ? b[i] + factor * a[i] : a[i] + factor * b[i];
}

/* A smooth bump with a ripple. */
static double
known(size_t cell)
{
	double x = (double)(cell % n + 1) / (double)(n + 1),
	       y = (double)(cell / n + first + 1) / (double)(n + 1);
	return x * (1 - x) * y * (1 - y) * (16 + sin(9 * x + 4 * y));
}

static void
solve(int iterations)
{
	double old_gamma = 1, old_alpha = 1, first_gamma = 0;
	memcpy(own(R), own(B), rows * n * sizeof(double)); /* x is 0 */
	apply(W, R);
	for (int i = 0; i < iterations; i++) {
		double mine[2] = { product(R, R), product(W, R) }, sums[2];
		MPI_Request request = MPI_REQUEST_NULL;
		if (kernel.is_blocking)
			KERNEL_TIMED(&kernel, MPI_Allreduce(mine, sums, 2, MPI_DOUBLE, MPI_SUM,
							    MPI_COMM_WORLD));
		else
			KERNEL_TIMED(&kernel, MPI_Iallreduce(mine, sums, 2, MPI_DOUBLE, MPI_SUM,
							     MPI_COMM_WORLD, &request));
		apply(Q, W);
		KERNEL_TIMED(&kernel, MPI_Wait(&request, MPI_STATUS_IGNORE));
		double gamma = sums[0], delta = sums[1], beta = i ? gamma / old_gamma : 0;
		double alpha = gamma / (delta - (i ? beta * gamma / old_alpha : 0));
		if (i == 0)
			first_gamma = gamma;
		if (gamma <= 1e-14 * first_gamma) /* from here on the recurrences drift */
			break;
		add(Z, beta, Q, 1);
		add(S, beta, W, 1);
		add(P, beta, R, 1);
		add(X, alpha, P, 0);
		add(R, -alpha, S, 0);
		add(W, -alpha, Z, 0);
		old_gamma = gamma;
		old_alpha = alpha;
	}
}

int
main(int argc, char **argv)
{
	if (kernel_begin(&kernel, "cg", argc, argv, options) != 0) {
		MPI_Finalize();
		return 2;
	}
	n = (size_t)options[0].value;
	first = n * (size_t)kernel.rank / (size_t)kernel.ranks;
	rows = n * (size_t)(kernel.rank + 1) / (size_t)kernel.ranks - first;
	for (int i = 0; i < VECTORS; i++)
		vectors[i] = kernel_allocate(&kernel, (rows + 2) * n * sizeof(double));
	for (size_t i = 0; i < rows * n; i++)
		own(X)[i] = known(i);
	apply(B, X);
	memset(own(X), 0, rows * n * sizeof(double));
	MPI_Barrier(MPI_COMM_WORLD);
	kernel.seconds = -MPI_Wtime();
	solve(options[1].value);
	kernel.seconds += MPI_Wtime();

	double off = 0, sums[2];
	for (size_t i = 0; i < rows * n; i++)
		off = fmax(off, fabs(own(X)[i] - known(i)));
	apply(Q, X);
	add(Q, -1, B, 0);
	sums[0] = product(Q, Q);
	sums[1] = product(B, B);
	MPI_Allreduce(MPI_IN_PLACE, sums, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (kernel.rank == 0)
		printf("%zu x %zu cells\n", n, n);
	kernel_verdict(&kernel, "solution", off < 1e-6);
	/* The pipelined recurrences attain so much: the condition is proportional to n^2. */
	kernel_verdict(&kernel, "residual",
		       sqrt(sums[0] / sums[1]) < fmax(1e-6, 2e-11 * (double)(n * n)));
	for (int i = 0; i < VECTORS; i++)
		free(vectors[i]);
	return kernel_end(&kernel);
}
