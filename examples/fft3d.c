/* examples/fft3d.c — 3-d Fourier transforms of a cube, by planes in a window (T. Hoefler and A.
 * Lumsdaine, "Optimizing non-blocking collective operations for InfiniBand", IV.E).
 *
 * An ordinary MPI program. Each rank has a slab of planes [z][y][x]. A plane is transformed in two
 * dimensions and exchanged by an MPI_Ialltoall of its own, with which the next planes are
 * transformed; then come the lines of the third dimension, of all that has arrived.
 *
 *   mpirun -n 4 fft3d [-b] [-n EDGE] [-w WINDOW] [-i TRANSFORMS]
 *
 *   -b  blocking: MPI_Alltoall        -w  planes under way at once (default 4)
 *   -n  cells of an edge (default 64), a power of two that the number of ranks divides
 *   -i  transforms (default 4)
 *
 * The state is a sum of three waves, so that all cells of the transform are known. All output but
 * lines that begin with "time" is the same with -b and without. */
#include "fft.h"
#include "kernel.h"

static struct kernel kernel;
static struct kernel_option options[] = {
	{ 'n', 4, 1024, 64 }, { 'w', 1, 64, 4 }, { 'i', 1, 100000, 4 }, { 0 } };
static size_t n, planes; /* edge; planes z, and later rows y, of a rank */
static number *roots, *line;

static const struct {
	size_t x, y, z;
	double height;
} waves[] = { { 1, 2, 3, 1 }, { 0, 3, 1, -2 }, { 2, 0, 0, 0.5 } };
#define WAVES (sizeof waves / sizeof *waves)

static void
fill(number *slab)
{
	for (size_t i = 0; i < planes * n * n; i++) {
		size_t x = i % n, y = i / n % n, z = i / n / n + (size_t)kernel.rank * planes;
		slab[i] = 0;
		for (size_t k = 0; k < WAVES; k++) {
			size_t turns = waves[k].x * x + waves[k].y * y + waves[k].z * z;
			slab[i] += waves[k].height * conj(roots[turns % n]);
		}
	}
}

/* Transforms a plane in x and y. */
static void
transform_plane(number *plane)
{
	for (size_t y = 0; y < n; y++)
		fft_line(plane + y * n, (int)n, 1, roots, (int)n);
	for (size_t x = 0; x < n; x++) {
		for (size_t y = 0; y < n; y++)
			line[y] = plane[y * n + x];
		fft_line(line, (int)n, 1, roots, (int)n);
		for (size_t y = 0; y < n; y++)
			plane[y * n + x] = line[y];
	}
}

/* Puts each rank's plane `plane` where it belongs: [y][x][z]. */
static void
take_plane(const number *arrived, number *turned, size_t plane)
{
	for (size_t from = 0; from < (size_t)kernel.ranks; from++)
		for (size_t i = 0; i < planes * n; i++)
			turned[i * n + from * planes + plane] = arrived[from * planes * n + i];
}

/* slab becomes scratch, and its transform turned; `arrived` has `window` planes. */
static void
transform(number *slab, number *turned, number *arrived, MPI_Request *requests, size_t window)
{
	int block = (int)(2 * planes * n); /* rows y of a plane, for one rank */
	for (size_t z = 0; z < planes + window; z++) {
		number *in = arrived + z % window * n * n;
		if (z >= window && z - window < planes) {
			KERNEL_TIMED(&kernel, MPI_Wait(&requests[z % window], MPI_STATUS_IGNORE));
			take_plane(in, turned, z - window);
		}
		if (z >= planes)
			continue;
		number *plane = slab + z * n * n;
		transform_plane(plane);
		if (kernel.is_blocking)
			KERNEL_TIMED(&kernel, MPI_Alltoall(plane, block, MPI_DOUBLE, in, block,
							   MPI_DOUBLE, MPI_COMM_WORLD));
		else
			KERNEL_TIMED(&kernel, MPI_Ialltoall(plane, block, MPI_DOUBLE, in, block,
							    MPI_DOUBLE, MPI_COMM_WORLD,
							    &requests[z % window]));
	}
	for (size_t i = 0; i < planes * n; i++)
		fft_line(turned + i * n, (int)n, 1, roots, (int)n);
}

/* By how much a cell differs from what is known, at most, in parts of the highest. */
static double
most_off(const number *turned)
{
	double most = 0, cells = (double)(n * n * n);
	for (size_t i = 0; i < planes * n * n; i++) {
		size_t z = i % n, x = i / n % n, y = i / n / n + (size_t)kernel.rank * planes;
		double known = 0;
		for (size_t k = 0; k < WAVES; k++)
			if (waves[k].x == x && waves[k].y == y && waves[k].z == z)
				known += waves[k].height;
		most = fmax(most, cabs(turned[i] / cells - known));
	}
	return most;
}

int
main(int argc, char **argv)
{
	int is_right = kernel_begin(&kernel, "fft3d", argc, argv, options) == 0;
	n = (size_t)options[0].value;
	if (is_right && ((n & (n - 1)) || n % (size_t)kernel.ranks)) {
		if (kernel.rank == 0)
			fprintf(stderr, "fft3d: -n: a power of two that %d ranks divide\n",
				kernel.ranks);
		is_right = 0;
	}
	if (!is_right) {
		MPI_Finalize();
		return 2;
	}
	planes = n / (size_t)kernel.ranks;
	size_t window = (size_t)options[1].value, cells = planes * n * n;
	number *slab = kernel_allocate(&kernel, cells * sizeof *slab),
	       *turned = kernel_allocate(&kernel, cells * sizeof *turned),
	       *arrived = kernel_allocate(&kernel, window * n * n * sizeof *arrived);
	MPI_Request *requests = kernel_allocate(&kernel, window * sizeof *requests);
	roots = kernel_allocate(&kernel, n * sizeof *roots);
	line = kernel_allocate(&kernel, n * sizeof *line);
	fft_roots(roots, (int)n);
	for (size_t slot = 0; slot < window; slot++)
		requests[slot] = MPI_REQUEST_NULL;
	double off = 0;
	for (int i = 0; i < options[2].value; i++) {
		fill(slab);
		MPI_Barrier(MPI_COMM_WORLD);
		kernel.seconds -= MPI_Wtime();
		transform(slab, turned, arrived, requests, window);
		kernel.seconds += MPI_Wtime();
		off = fmax(off, most_off(turned));
	}
	if (kernel.rank == 0)
		printf("%d transforms of %zu x %zu x %zu cells\n", options[2].value, n, n, n);
	kernel_verdict(&kernel, "transform", off < 1e-12);
	free(slab);
	free(turned);
	free(arrived);
	free(requests);
	free(roots);
	free(line);
	return kernel_end(&kernel);
}
