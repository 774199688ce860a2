#include "bench.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

/* All cases in the order in which they are measured; NULL without memory. */
static struct bench_case *
list_cases(const struct bench_options *options, int *count)
{
	size_t most = (size_t)CS_COLL_COUNT * (size_t)options->size_count *
		      ((size_t)options->root_count + BENCH_DISTRIBUTIONS);
	struct bench_case *cases = calloc(most, sizeof *cases);
	if (!cases)
		return NULL;
	int used = 0;
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++) {
		if (!options->has_coll[coll])
			continue;
		int sizes = coll == CS_BARRIER ? 1 : options->size_count;
		int roots = cs_colls[coll].rooted ? options->root_count : 1;
		for (int s = 0; s < sizes; s++)
			for (int r = 0; r < roots; r++)
				for (enum bench_distribution d = 0; d < BENCH_DISTRIBUTIONS; d++)
					if (bench_is_irregular(coll) ? options->has_distribution[d] : d == 0)
						cases[used++] = (struct bench_case){
							.coll = coll,
							.size = coll == CS_BARRIER ? 0 : options->sizes[s],
							.root = options->roots[r],
							.distribution = d,
						};
	}
	*count = used;
	return cases;
}

/* The JSON so far. False on all ranks if rank 0 cannot write it. */
static bool
save(const struct bench_options *options, const struct bench_world *world, const struct bench_result *results, int done,
     int count)
{
	int is_written = 1;
	if (world->rank == 0 && options->json) {
		is_written = bench_write_json(options, world, results, done, done == count);
		if (!is_written)
			fprintf(stderr, "collshim-bench: %s cannot be written: %m\n", options->json);
	}
	PMPI_Bcast(&is_written, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return is_written;
}

/* Exit code. */
static int
measure_all(const struct bench_options *options, const struct bench_world *world)
{
	int count = 0;
	struct bench_case *cases = list_cases(options, &count);
	struct bench_result *results = calloc((size_t)count, sizeof *results);
	int has_memory = cases && results, have_all;
	PMPI_Allreduce(&has_memory, &have_all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	bool speaks = world->rank == 0, has_table = !options->json || strcmp(options->json, "-") != 0;
	int code = 0;
	if (!have_all) {
		if (speaks)
			fprintf(stderr, "collshim-bench: no memory for %d cases\n", count);
		code = 1;
	}
	if (code == 0 && !save(options, world, results, 0, count)) /* better now than after an hour */
		code = 1;
	if (speaks && has_table && code == 0)
		bench_print_head(stdout, options, world);
	for (int i = 0; i < count && code == 0; i++) {
		if (speaks && !options->is_quiet)
			bench_progress(&cases[i], i, count);
		if (!bench_measure(&results[i], &cases[i], options, world)) {
			code = 1;
			break;
		}
		if (speaks && has_table)
			bench_print_result(stdout, &results[i]);
		code = !save(options, world, results, i + 1, count);
	}
	free(cases);
	free(results);
	return code;
}

int
main(int argc, char **argv)
{
	struct bench_options options;
	struct bench_world world;
	char complaint[256] = "";
	int code = 0;
	MPI_Init(&argc, &argv);
	bench_world_look(&world);
	bool speaks = world.rank == 0;
	if (bench_options_read(&options, argc, argv, world.ranks, complaint) != CS_OK) {
		if (speaks)
			fprintf(stderr, "collshim-bench: %s (--help shows what is known)\n", complaint);
		code = 2;
	} else if (options.wants_help) {
		if (speaks)
			bench_options_help(stdout);
	} else if (options.wants_version) {
		if (speaks)
			printf("collshim-bench %s (%s)\n", CS_VERSION, world.mpi);
	} else {
		code = measure_all(&options, &world);
	}
	MPI_Finalize();
	return code;
}
