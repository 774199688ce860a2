/* examples/ft.c — the heat of a periodic box after some time, by 3-d Fourier transforms, as kernel
 * FT of the NAS parallel benchmarks does it (Bailey et al., RNR-94-007, 2.3.2).
 *
 * An ordinary MPI program. The box is cut into slabs of planes; a transform goes over two of the
 * dimensions of each plane, exchanges blocks between all ranks by one MPI_Alltoall, and goes over
 * the third. The random state is transformed once; in each iteration what it has become by then is
 * transformed back, and a checksum of 1,024 elements is summed up by an MPI_Reduce.
 *
 *   mpirun -n 4 ft [-C S|W] [-i ITERATIONS] [-c] [-I PATTERN]
 *
 *   -C  class: S, 64 x 64 x 64 (default), or W, 128 x 128 x 32
 *   -i  iterations (default 6, as NAS has)
 *   -c  check: the inverse of the transform is the state, it conserves the sum of squares, and the
 *       first checksum is the published one
 *   -I  ranks come late to each collective: uniform:500us, late:RANK:2ms, turning:2ms, ...
 *
 * The number of ranks must divide the second and the third dimension. All output is the same for
 * every number of ranks, but for the line that begins with "time": checksums are printed to ten
 * digits, since sums of several ranks are rounded elsewhere. */
#include "fft.h"
#include "late.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct class {
	char name;
	int nx, ny, nz;
	double real, imaginary; /* of the first iteration's checksum, as published with NPB 3 */
} classes[] = { { 'S', 64, 64, 64, 5.546087004964e+02, 4.845363331978e+02 },
		{ 'W', 128, 128, 32, 5.673612178944e+02, 5.293246849175e+02 } };

static const double alpha = 1e-6;

static int rank, ranks;
static struct late late;

struct box {
	int nx, ny, nz;
	int planes, rows; /* of this rank: planes z of a slab, rows y of a turned slab */
	size_t cells;     /* nx * ny * planes, and nx * rows * nz */
	number *roots;    /* of unity, of the longest dimension */
	number *line;     /* one line */
	number *packed;   /* what goes to other ranks, and comes from them */
	int longest;
};

/* --- random numbers: x -> 5^13 x mod 2^46 (RNR-94-007, 2.2) ----------------------------------- */

static const uint64_t modulus = (uint64_t)1 << 46, multiplier = 1220703125, seed = 314159265;

static uint64_t
multiply(uint64_t a, uint64_t b)
{
	return a * b & (modulus - 1); /* the lower 46 bits of 64 are right */
}

/* The state `steps` steps behind the seed. */
static uint64_t
jump(uint64_t steps)
{
	uint64_t factor = multiplier, state = seed;
	for (; steps; steps >>= 1) {
		if (steps & 1)
			state = multiply(state, factor);
		factor = multiply(factor, factor);
	}
	return state;
}

static double
next_random(uint64_t *state)
{
	*state = multiply(*state, multiplier);
	return (double)*state / (double)modulus;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void
transform_line(const struct box *box, number *line, int n, int direction)
{
	fft_line(line, n, direction, box->roots, box->longest);
}

/* Lines of n elements, `step` apart, of which `count` begin at neighbouring elements. */
static void
transform_lines(const struct box *box, number *from, int n, size_t step, int count, int direction)
{
	for (int line = 0; line < count; line++) {
		for (int i = 0; i < n; i++)
			box->line[i] = from[(size_t)line + (size_t)i * step];
		transform_line(box, box->line, n, direction);
		for (int i = 0; i < n; i++)
			from[(size_t)line + (size_t)i * step] = box->line[i];
	}
}

/* --- the box ---------------------------------------------------------------------------------- */

/* A slab [z][y][x] becomes a turned one [y][z][x], or the other way. */
static void
turn(const struct box *box, number *cells, int to_rows)
{
	size_t nx = (size_t)box->nx, rows = (size_t)box->rows, planes = (size_t)box->planes;
	size_t block = rows * planes * nx;
	/* Blocks are [y][z][x] on their way. */
	number *out = box->packed, *in = box->packed + box->cells;
	for (size_t other = 0; other < (size_t)ranks; other++)
		for (size_t y = 0; y < rows; y++)
			for (size_t z = 0; z < planes; z++) {
				size_t slab = (z * (size_t)box->ny + other * rows + y) * nx;
				size_t turned = (y * (size_t)box->nz + other * planes + z) * nx;
				memcpy(out + other * block + (y * planes + z) * nx,
				       cells + (to_rows ? slab : turned), nx * sizeof *cells);
			}
	late_come(&late);
	MPI_Alltoall(out, (int)(2 * block), MPI_DOUBLE, in, (int)(2 * block), MPI_DOUBLE,
		     MPI_COMM_WORLD);
	for (size_t other = 0; other < (size_t)ranks; other++)
		for (size_t y = 0; y < rows; y++)
			for (size_t z = 0; z < planes; z++) {
				size_t slab = (z * (size_t)box->ny + other * rows + y) * nx;
				size_t turned = (y * (size_t)box->nz + other * planes + z) * nx;
				memcpy(cells + (to_rows ? turned : slab),
				       in + other * block + (y * planes + z) * nx,
				       nx * sizeof *cells);
			}
}

static void
transform_planes(const struct box *box, number *slab, int direction)
{
	size_t plane = (size_t)box->nx * (size_t)box->ny;
	for (size_t z = 0; z < (size_t)box->planes; z++) {
		for (int y = 0; y < box->ny; y++)
			transform_line(box, slab + z * plane + (size_t)y * (size_t)box->nx, box->nx,
				       direction);
		transform_lines(box, slab + z * plane, box->ny, (size_t)box->nx, box->nx,
				direction);
	}
}

static void
transform_columns(const struct box *box, number *turned, int direction)
{
	size_t row = (size_t)box->nx * (size_t)box->nz;
	for (size_t y = 0; y < (size_t)box->rows; y++)
		transform_lines(box, turned + y * row, box->nz, (size_t)box->nx, box->nx,
				direction);
}

/* A slab becomes its transform, turned. */
static void
transform(const struct box *box, number *cells)
{
	transform_planes(box, cells, 1);
	turn(box, cells, 1);
	transform_columns(box, cells, 1);
}

/* The turned transform of a slab becomes that, but for the division by the number of cells. */
static void
transform_back(const struct box *box, number *cells)
{
	transform_columns(box, cells, -1);
	turn(box, cells, 0);
	transform_planes(box, cells, -1);
}

/* The state at the beginning, a slab; the same for every number of ranks. */
static void
fill(const struct box *box, number *slab)
{
	size_t plane = (size_t)box->nx * (size_t)box->ny;
	for (size_t z = 0; z < (size_t)box->planes; z++) {
		uint64_t global = (uint64_t)rank * (uint64_t)box->planes + z;
		uint64_t state = jump(2 * plane * global);
		for (size_t i = 0; i < plane; i++) {
			double real = next_random(&state), imaginary = next_random(&state);
			slab[z * plane + i] = real + imaginary * I;
		}
	}
}

/* What frequencies have become after so much time: each falls by the square of its number. */
static void
evolve(const struct box *box, const number *turned, number *evolved, int time)
{
	size_t at = 0;
	for (int row = 0; row < box->rows; row++) {
		int y = rank * box->rows + row, ky = y < box->ny / 2 ? y : y - box->ny;
		for (int z = 0; z < box->nz; z++) {
			int kz = z < box->nz / 2 ? z : z - box->nz;
			for (int x = 0; x < box->nx; x++, at++) {
				int kx = x < box->nx / 2 ? x : x - box->nx;
				double squares = (double)kx * kx + (double)ky * ky +
						 (double)kz * kz;
				evolved[at] = turned[at] *
					      exp(-4 * alpha * M_PI * M_PI * squares * time);
			}
		}
	}
}

/* Of 1,024 elements, on rank 0. */
static number
checksum(const struct box *box, const number *slab)
{
	double mine[2] = { 0, 0 }, all[2] = { 0, 0 };
	number sum = 0;
	for (int j = 1; j <= 1024; j++) {
		int x = j % box->nx, y = 3 * j % box->ny, z = 5 * j % box->nz;
		if (z / box->planes == rank)
			sum += slab[((size_t)(z % box->planes) * (size_t)box->ny + (size_t)y) *
				    (size_t)box->nx + (size_t)x];
	}
	mine[0] = creal(sum);
	mine[1] = cimag(sum);
	late_come(&late);
	MPI_Reduce(mine, all, 2, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	double cells = (double)box->nx * box->ny * box->nz;
	return all[0] / cells + all[1] / cells * I;
}

/* --- checks ----------------------------------------------------------------------------------- */

/* By how much the transform's inverse differs from the state at most, and by which part of itself
 * the sum of squares of the transform from that of the state (Parseval). */
static void
check(const struct box *box, const number *turned, number *scratch, double found[2])
{
	double cells = (double)box->nx * box->ny * box->nz, most = 0, sums[2] = { 0, 0 }, all[2];
	number *state = box->packed; /* which the transform needs no more */
	memcpy(scratch, turned, box->cells * sizeof *scratch);
	for (size_t i = 0; i < box->cells; i++)
		sums[0] += creal(turned[i] * conj(turned[i]));
	transform_back(box, scratch);
	fill(box, state);
	for (size_t i = 0; i < box->cells; i++) {
		double off = cabs(scratch[i] / cells - state[i]);
		most = off > most ? off : most;
		sums[1] += creal(state[i] * conj(state[i]));
	}
	MPI_Allreduce(&most, &found[0], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	MPI_Allreduce(sums, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	found[1] = fabs(all[0] / cells / all[1] - 1);
}

/* --- the run ---------------------------------------------------------------------------------- */

static const char *
verdict(int is_right)
{
	return is_right ? "right" : "wrong";
}

/* Prints a line for each iteration; the number of what is wrong, on rank 0 at least. */
static int
run(const struct box *box, const struct class *class, number *state, number *evolved,
    int iterations, int is_checked)
{
	number first = 0, published = class->real + class->imaginary * I;
	int wrong = 0;
	fill(box, state);
	MPI_Barrier(MPI_COMM_WORLD);
	double seconds = -MPI_Wtime();
	transform(box, state);
	for (int iteration = 1; iteration <= iterations; iteration++) {
		evolve(box, state, evolved, iteration);
		transform_back(box, evolved);
		number sum = checksum(box, evolved);
		first = iteration == 1 ? sum : first;
		if (rank == 0)
			printf("iteration %d checksum %.10g %.10g\n", iteration, creal(sum),
			       cimag(sum));
	}
	MPI_Barrier(MPI_COMM_WORLD);
	seconds += MPI_Wtime();
	if (is_checked) {
		double found[2];
		check(box, state, evolved, found);
		int is_published = rank != 0 || cabs(first / published - 1) < 1e-12;
		wrong = !(found[0] < 1e-12) + !(found[1] < 1e-12) + !is_published;
		if (rank == 0)
			printf("inverse %s\nsum of squares %s\nfirst checksum %s\n",
			       verdict(found[0] < 1e-12), verdict(found[1] < 1e-12),
			       verdict(is_published));
	}
	if (rank == 0)
		printf("time %.6f s\n", seconds);
	return wrong;
}

static int
make(struct box *box)
{
	box->planes = box->nz / ranks;
	box->rows = box->ny / ranks;
	box->cells = (size_t)box->nx * (size_t)box->ny * (size_t)box->planes;
	box->longest = box->nx > box->ny ? box->nx : box->ny;
	box->longest = box->longest > box->nz ? box->longest : box->nz;
	box->roots = malloc((size_t)box->longest * sizeof *box->roots);
	box->line = malloc((size_t)box->longest * sizeof *box->line);
	box->packed = malloc(2 * box->cells * sizeof *box->packed);
	if (box->roots == NULL || box->line == NULL || box->packed == NULL)
		return 0;
	fft_roots(box->roots, box->longest);
	return 1;
}

static int
parse(int argc, char **argv, const struct class **class, int *iterations, int *is_checked,
      const char **pattern)
{
	static const char usage[] = "options are -C S|W -i ITERATIONS -c -I PATTERN";
	const char *wanted = NULL;
	char *end;
	int option;
	opterr = 0;
	while (wanted == NULL && (option = getopt(argc, argv, "C:i:cI:")) != -1) {
		switch (option) {
		case 'C':
			*class = NULL;
			for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
				if (optarg[0] == classes[i].name && optarg[1] == '\0')
					*class = &classes[i];
			wanted = *class == NULL ? "-C: class S or W" : NULL;
			break;
		case 'i':
			*iterations = (int)strtol(optarg, &end, 10);
			if (end == optarg || *end != '\0' || *iterations < 1 ||
			    *iterations > 100000)
				wanted = "-i: iterations, 1 to 100000";
			break;
		case 'c':
			*is_checked = 1;
			break;
		case LATE_OPTION:
			*pattern = optarg;
			break;
		default:
			wanted = usage;
		}
	}
	if (wanted == NULL && optind < argc)
		wanted = usage;
	if (wanted != NULL && rank == 0)
		fprintf(stderr, "ft: %s\n", wanted);
	return wanted == NULL;
}

int
main(int argc, char **argv)
{
	const struct class *class = &classes[0];
	const char *pattern = NULL;
	int iterations = 6, is_checked = 0, result = 2;
	struct box box = { 0 };
	number *state = NULL, *evolved = NULL;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!parse(argc, argv, &class, &iterations, &is_checked, &pattern) ||
	    late_begin(&late, "ft", pattern) != 0)
		goto finalize;
	box = (struct box){ .nx = class->nx, .ny = class->ny, .nz = class->nz };
	if (box.ny % ranks || box.nz % ranks) {
		if (rank == 0)
			fprintf(stderr, "ft: %d ranks: expected a number that divides %d and %d\n",
				ranks, box.ny, box.nz);
		goto finalize;
	}
	int has_memory = make(&box);
	state = malloc(box.cells * sizeof *state);
	evolved = malloc(box.cells * sizeof *evolved);
	has_memory = has_memory && state != NULL && evolved != NULL;
	MPI_Allreduce(MPI_IN_PLACE, &has_memory, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!has_memory) {
		if (rank == 0)
			fprintf(stderr, "ft: no memory for class %c on %d ranks\n", class->name,
				ranks);
		goto free_all;
	}
	if (rank == 0)
		printf("class %c, %d x %d x %d\n", class->name, box.nx, box.ny, box.nz);
	result = run(&box, class, state, evolved, iterations, is_checked) != 0;

free_all:
	free(state);
	free(evolved);
	free(box.roots);
	free(box.line);
	free(box.packed);
finalize:
	late_end(&late);
	MPI_Finalize();
	return result;
}
