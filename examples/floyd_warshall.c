/* examples/floyd_warshall.c — all shortest paths of a directed graph, by Floyd and Warshall.
 *
 * An ordinary MPI program. Each rank holds a block of rows of the distance matrix; in step k the
 * owner of row k broadcasts it, and every rank tries the way over vertex k for its own rows: one
 * MPI_Bcast of 4n bytes a step.
 *
 *   mpirun -n 4 floyd_warshall [-n VERTICES] [-s SEED] [-d DEGREE] [-g FILE] [-i ITERATIONS] [-c]
 *                            [-I PATTERN]
 *
 *   -n  vertices of a random graph (default 600)     -d  its edges per vertex (default 8)
 *   -s  its seed (default 1)                         -i  solve it so many times (default 1)
 *   -g  read the graph: a line "VERTICES EDGES", then a line "FROM TO WEIGHT" for each edge,
 *       vertices from 0 (towns.graph is one)
 *   -c  check against one rank's own plain solution
 *   -I  ranks come late to each MPI_Bcast: uniform:500us, late:RANK:2ms, turning:2ms, ...
 *
 * All output is the same for every number of ranks, but for the line that begins with "time". */
#include "late.h"

#include <mpi.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FAR = 1 << 29, MAX_VERTICES = 40000 };

struct options {
	int vertices;
	int degree;
	int iterations;
	uint64_t seed;
	const char *file;
	int is_checked;
	const char *late; /* a pattern, or NULL */
};

static int rank, ranks;
static struct late late;

/* Rows [first_row(r), first_row(r + 1)) belong to rank r. */
static int
first_row(int n, int of_rank)
{
	return (int)((int64_t)n * of_rank / ranks);
}

static int
owner(int n, int row)
{
	int r = (int)((int64_t)row * ranks / n);
	while (row >= first_row(n, r + 1))
		r++;
	return r;
}

/* splitmix64: every rank can make any row by itself. */
static uint64_t
random_word(uint64_t x)
{
	x += 0x9e3779b97f4a7c15;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
	return x ^ (x >> 31);
}

static void
random_row(const struct options *options, int row, int *distances)
{
	int n = options->vertices;
	for (int j = 0; j < n; j++)
		distances[j] = j == row ? 0 : FAR;
	for (int edge = 0; edge < options->degree; edge++) {
		uint64_t word = random_word(options->seed * 1000003 + (uint64_t)row * 1009 +
					    (uint64_t)edge);
		int to = (int)(word % (uint64_t)n);
		int weight = 1 + (int)((word >> 40) % 1000);
		if (to != row && weight < distances[to])
			distances[to] = weight;
	}
}

/* Rank 0 reads; returns NULL after a line on stderr if the file is not a graph. */
static int *
read_graph(const char *path, int *vertices)
{
	long n, edges, from, to, weight;
	int *distances = NULL;
	FILE *file = fopen(path, "r");
	if (file == NULL) {
		perror(path);
		return NULL;
	}
	if (fscanf(file, "%ld %ld", &n, &edges) != 2 || n < 1 || n > MAX_VERTICES || edges < 0) {
		fprintf(stderr, "%s: the first line must be VERTICES (1 to %d) and EDGES\n", path,
			MAX_VERTICES);
		goto close_file;
	}
	distances = malloc((size_t)n * (size_t)n * sizeof *distances);
	if (distances == NULL) {
		fprintf(stderr, "%s: no memory for %ld x %ld distances\n", path, n, n);
		goto close_file;
	}
	for (long i = 0; i < n * n; i++)
		distances[i] = i % (n + 1) == 0 ? 0 : FAR;
	for (long edge = 0; edge < edges; edge++) {
		int fields = fscanf(file, "%ld %ld %ld", &from, &to, &weight);
		if (fields != 3 || from < 0 || from >= n || to < 0 || to >= n || weight < 0 ||
		    weight > 10000) {
			fprintf(stderr, "%s: edge %ld of %ld: expected FROM TO WEIGHT, ", path,
				edge + 1, edges);
			fprintf(stderr, "vertices 0 to %ld, weight 0 to 10000\n", n - 1);
			free(distances);
			distances = NULL;
			goto close_file;
		}
		if (weight < distances[from * n + to])
			distances[from * n + to] = (int)weight;
	}
	*vertices = (int)n;

close_file:
	fclose(file);
	return distances;
}

/* Gives each rank its rows of a matrix that rank 0 has. */
static void
deal_rows(const int *matrix, int n, int *mine)
{
	int *counts = malloc((size_t)ranks * sizeof *counts);
	int *starts = malloc((size_t)ranks * sizeof *starts);
	MPI_Datatype row;
	MPI_Type_contiguous(n, MPI_INT, &row);
	MPI_Type_commit(&row);
	for (int r = 0; r < ranks; r++) {
		starts[r] = first_row(n, r);
		counts[r] = first_row(n, r + 1) - starts[r];
	}
	MPI_Scatterv(matrix, counts, starts, row, mine, counts[rank], row, 0, MPI_COMM_WORLD);
	MPI_Type_free(&row);
	free(counts);
	free(starts);
}

static void
relax(int *restrict mine, int rows, int n, int k, const int *restrict row_k)
{
	for (int i = 0; i < rows; i++) {
		int *row = mine + (size_t)i * (size_t)n;
		int to_k = row[k];
		if (to_k >= FAR)
			continue;
		for (int j = 0; j < n; j++) {
			int over_k = to_k + row_k[j];
			row[j] = over_k < row[j] ? over_k : row[j];
		}
	}
}

static void
solve(int *mine, int n, int *row_k)
{
	int first = first_row(n, rank);
	int rows = first_row(n, rank + 1) - first;
	for (int k = 0; k < n; k++) {
		int root = owner(n, k);
		if (root == rank)
			memcpy(row_k, mine + (size_t)(k - first) * (size_t)n,
			       (size_t)n * sizeof *row_k);
		late_come(&late);
		MPI_Bcast(row_k, n, MPI_INT, root, MPI_COMM_WORLD);
		relax(mine, rows, n, k, row_k);
	}
}

static int
compare_with_plain(const struct options *options, const int *graph, const int *mine, int n)
{
	int differences = 0;
	size_t cells = (size_t)n * (size_t)n;
	int *plain = malloc(cells * sizeof *plain);
	int first = first_row(n, rank);
	int rows = first_row(n, rank + 1) - first;
	int *mine_as_dealt = malloc(((size_t)rows * (size_t)n + 1) * sizeof *mine_as_dealt);
	if (rank == 0) {
		if (graph != NULL)
			memcpy(plain, graph, cells * sizeof *plain);
		for (int i = 0; graph == NULL && i < n; i++)
			random_row(options, i, plain + (size_t)i * (size_t)n);
		for (int k = 0; k < n; k++) {
			const int *row_k = plain + (size_t)k * (size_t)n;
			for (int i = 0; i < n; i++) {
				int *row = plain + (size_t)i * (size_t)n;
				for (int j = 0; j < n; j++) {
					if (row[k] + row_k[j] < row[j])
						row[j] = row[k] + row_k[j];
				}
			}
		}
	}
	deal_rows(plain, n, mine_as_dealt);
	for (size_t i = 0; i < (size_t)rows * (size_t)n; i++)
		differences += (mine[i] < FAR ? mine[i] : FAR) != mine_as_dealt[i];
	MPI_Allreduce(MPI_IN_PLACE, &differences, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	free(plain);
	free(mine_as_dealt);
	return differences;
}

/* Sums that do not depend on who holds which row: reachable pairs, farthest pair, and a weighted
 * sum modulo 2^64. */
static void
summarize(const int *mine, int n)
{
	int first = first_row(n, rank);
	int rows = first_row(n, rank + 1) - first;
	uint64_t sums[2] = { 0, 0 }, totals[2];
	int farthest = 0, farthest_of_all;
	for (int i = 0; i < rows; i++) {
		for (int j = 0; j < n; j++) {
			int distance = mine[(size_t)i * (size_t)n + (size_t)j];
			if (distance >= FAR)
				continue;
			sums[0]++;
			sums[1] += (uint64_t)distance *
				   random_word((uint64_t)(first + i) * (uint64_t)n + (uint64_t)j);
			farthest = distance > farthest ? distance : farthest;
		}
	}
	MPI_Reduce(sums, totals, 2, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Reduce(&farthest, &farthest_of_all, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
	if (rank == 0) {
		printf("vertices %d\nreachable pairs %" PRIu64 "\n", n, totals[0]);
		printf("farthest pair %d\nchecksum %016" PRIx64 "\n", farthest_of_all, totals[1]);
	}
}

/* A whole number from low to high, or -1. */
static long
parse_number(const char *text, long low, long high)
{
	char *end;
	long value = strtol(text, &end, 10);
	return end != text && *end == '\0' && value >= low && value <= high ? value : -1;
}

static int
parse(int argc, char **argv, struct options *options)
{
	const char *wanted = NULL;
	long value = 0;
	int option;
	opterr = 0;
	while (wanted == NULL && (option = getopt(argc, argv, "n:s:d:g:i:cI:")) != -1) {
		switch (option) {
		case 'n':
			options->vertices = (int)(value = parse_number(optarg, 1, MAX_VERTICES));
			wanted = value < 0 ? "-n: vertices, 1 to 40000" : NULL;
			break;
		case 'd':
			options->degree = (int)(value = parse_number(optarg, 0, 1000));
			wanted = value < 0 ? "-d: edges per vertex, 0 to 1000" : NULL;
			break;
		case 'i':
			options->iterations = (int)(value = parse_number(optarg, 1, 1000000));
			wanted = value < 0 ? "-i: iterations, 1 to 1000000" : NULL;
			break;
		case 's':
			options->seed = (uint64_t)(value = parse_number(optarg, 0, 1000000000));
			wanted = value < 0 ? "-s: seed, 0 to 1000000000" : NULL;
			break;
		case 'g':
			options->file = optarg;
			break;
		case 'c':
			options->is_checked = 1;
			break;
		case LATE_OPTION:
			options->late = optarg;
			break;
		default:
			wanted = "options are -n VERTICES -s SEED -d DEGREE -g FILE -i ITERATIONS "
				 "-c -I PATTERN";
		}
	}
	if (wanted == NULL && optind < argc)
		wanted = "options are -n VERTICES -s SEED -d DEGREE -g FILE -i ITERATIONS -c "
			 "-I PATTERN";
	if (wanted != NULL && rank == 0)
		fprintf(stderr, "floyd_warshall: %s\n", wanted);
	return wanted == NULL;
}

int
main(int argc, char **argv)
{
	struct options options = { .vertices = 600, .degree = 8, .iterations = 1, .seed = 1 };
	int result = 2, differences = 0;
	int *graph = NULL, *mine = NULL, *row_k = NULL;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	if (!parse(argc, argv, &options) ||
	    late_begin(&late, "floyd_warshall", options.late) != 0)
		goto finalize;
	int n = options.vertices;
	if (options.file != NULL) {
		if (rank == 0 && (graph = read_graph(options.file, &n)) == NULL)
			n = 0;
		MPI_Bcast(&n, 1, MPI_INT, 0, MPI_COMM_WORLD);
		if (n == 0)
			goto finalize;
	}
	int first = first_row(n, rank);
	int rows = first_row(n, rank + 1) - first;
	mine = malloc(((size_t)rows * (size_t)n + 1) * sizeof *mine);
	row_k = malloc((size_t)n * sizeof *row_k);
	int has_memory = mine != NULL && row_k != NULL;
	MPI_Allreduce(MPI_IN_PLACE, &has_memory, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!has_memory) {
		if (rank == 0)
			fprintf(stderr, "floyd_warshall: no memory for %d vertices on %d ranks\n",
				n, ranks);
		goto free_all;
	}
	double seconds = 0;
	for (int i = 0; i < options.iterations; i++) {
		if (options.file != NULL)
			deal_rows(graph, n, mine);
		for (int row = 0; options.file == NULL && row < rows; row++)
			random_row(&options, first + row, mine + (size_t)row * (size_t)n);
		MPI_Barrier(MPI_COMM_WORLD);
		seconds -= MPI_Wtime();
		solve(mine, n, row_k);
		MPI_Barrier(MPI_COMM_WORLD);
		seconds += MPI_Wtime();
	}
	summarize(mine, n);
	if (options.is_checked) {
		differences = compare_with_plain(&options, graph, mine, n);
		if (rank == 0)
			printf("differences from the plain solution %d\n", differences);
	}
	if (rank == 0)
		printf("time %.6f s\n", seconds);
	result = differences != 0;

free_all:
	free(graph);
	free(mine);
	free(row_k);
finalize:
	late_end(&late);
	MPI_Finalize();
	return result;
}
