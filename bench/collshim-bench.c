#include "bench.h"

#include "base/parse.h"
#include "base/printable.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The case with each of its lengths of rows. */
static int
add_rows(struct bench_case *cases, const struct bench_case *what,
	 const struct bench_options *options)
{
	int count = bench_row_count(options, what->coll);
	for (int n = 0; n < count; n++) {
		cases[n] = *what;
		cases[n].row = bench_row(options, what->coll, n);
	}
	return count;
}

/* Adds the cases of --cases, once for each root. */
static int
add_named(struct bench_case *cases, const struct bench_options *options)
{
	int used = 0;
	for (int i = 0; i < options->case_count; i++) {
		for (int r = 0;
		     r < (cs_colls[options->cases[i].coll].rooted ? options->root_count : 1); r++) {
			struct bench_case what = options->cases[i];
			what.root = options->roots[r];
			used += add_rows(cases + used, &what, options);
		}
	}
	return used;
}

/* Adds the cases of a collective: all sizes, roots, distributions and rows. */
static int
add_all_of(struct bench_case *cases, const struct bench_options *options, enum cs_coll coll)
{
	int used = 0;
	int sizes = coll == CS_BARRIER ? 1 : options->size_count;
	int roots = cs_colls[coll].rooted ? options->root_count : 1;
	for (int s = 0; s < sizes; s++)
		for (int r = 0; r < roots; r++)
			for (enum bench_distribution d = 0; d < BENCH_DISTRIBUTIONS; d++) {
				struct bench_case what = {
					.coll = coll,
					.size = coll == CS_BARRIER ? 0 : options->sizes[s],
					.root = options->roots[r],
					.distribution = d,
				};
				if (bench_is_irregular(coll) ? options->has_distribution[d]
							     : d == 0)
					used += add_rows(cases + used, &what, options);
			}
	return used;
}

/* All cases in the order in which they are measured; NULL without memory. */
static struct bench_case *
list_cases(const struct bench_options *options, int *count)
{
	size_t most = (size_t)CS_COLL_COUNT * (size_t)options->size_count *
		      ((size_t)options->root_count + BENCH_DISTRIBUTIONS);
	if (options->case_count)
		most = (size_t)options->case_count * (size_t)options->root_count;
	struct bench_case *cases = calloc(most * BENCH_MAX_ROWS, sizeof *cases);
	if (!cases)
		return NULL;
	*count = add_named(cases, options);
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT && !options->case_count; coll++)
		if (options->has_coll[coll])
			*count += add_all_of(cases + *count, options, coll);
	return cases;
}

/* The JSON and pictures so far. False on all ranks if rank 0 cannot write it. */
static bool
save(const struct bench_options *options, const struct bench_world *world,
     const struct bench_findings *findings)
{
	int is_written = 1;
	if (!options->json && !options->svg)
		return true;
	if (world->rank == 0) {
		if (options->json && !bench_write_json(options, world, findings)) {
			fprintf(stderr, "collshim-bench: %s cannot be written: %m\n",
				options->json);
			is_written = 0;
		}
		if (is_written && options->svg)
			is_written = bench_write_svg(options, world, findings);
	}
	/* Ranks that poll under SCHED_RR leave the kernel's own threads a twentieth of the time,
	 * and a file waits for those (seen: 1 s for each, 4 ranks on 2 cores). */
	bench_gather_quietly();
	PMPI_Bcast(&is_written, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return is_written;
}

static void
tell_progress(const struct bench_case *next, int done, int all)
{
	char bytes[CS_NUMBER_TEXT], text[96], row[32] = "";
	if (next->row > 1)
		snprintf(row, sizeof row, " in rows of %d", next->row);
	snprintf(text, sizeof text, "%s %s%s", cs_colls[next->coll].name,
		 cs_bytes_text(bytes, next->size), row);
	bench_progress(text, done, all);
}

/* Exit code. */
static int
measure_network(const struct bench_options *options, const struct bench_world *world)
{
	static struct bench_network network;
	struct bench_findings findings = { .network = &network };
	if (!save(options, world, &findings))
		return 1;
	if (!options->is_quiet)
		bench_tell_busy(world);
	int code = bench_network_measure(&network, options, world);
	if (code)
		return code;
	if (world->rank == 0 && (!options->json || strcmp(options->json, "-") != 0))
		bench_print_network(stdout, &network, world);
	findings.is_complete = true;
	return !save(options, world, &findings);
}

/* Kinds of findings of a case; each is found once for each of its variants. */
struct kind {
	size_t bytes; /* of one */
	void (*head)(FILE *, const struct bench_options *, const struct bench_world *);
	bool (*measure)(void *, const struct bench_case *, int variant,
			const struct bench_options *, const struct bench_world *);
	void (*print)(FILE *, const void *);
};

static bool
measure_case(void *found, const struct bench_case *what, int variant,
	     const struct bench_options *options, const struct bench_world *world)
{
	(void)variant;
	return bench_measure(found, what, options, world);
}

static void
print_case(FILE *out, const void *found)
{
	bench_print_result(out, found);
}

static bool
measure_late(void *found, const struct bench_case *what, int variant,
	     const struct bench_options *options, const struct bench_world *world)
{
	return bench_late_measure(found, what, &options->patterns[variant], options, world);
}

static void
print_late(FILE *out, const void *found)
{
	bench_print_late(out, found);
}

static bool
measure_overlap(void *found, const struct bench_case *what, int variant,
		const struct bench_options *options, const struct bench_world *world)
{
	return bench_overlap_measure(found, what, (enum bench_work)variant, options, world);
}

static void
print_overlap(FILE *out, const void *found)
{
	bench_print_overlap(out, found);
}

static const struct kind
	plain = { sizeof(struct bench_result), bench_print_head, measure_case, print_case },
	late = { sizeof(struct bench_late), bench_print_late_head, measure_late, print_late },
	overlap = { sizeof(struct bench_overlap), bench_print_overlap_head, measure_overlap,
		    print_overlap };

/* Exit code. */
static int
measure_all(const struct kind *kind, int variants, const struct bench_options *options,
	    const struct bench_world *world)
{
	int count = 0, code = 0;
	struct bench_case *cases = list_cases(options, &count);
	int all = count * variants;
	char *found = calloc((size_t)all + 1, kind->bytes);
	struct bench_findings findings = { .results = kind == &plain ? (void *)found : NULL,
					   .lates = kind == &late ? (void *)found : NULL,
					   .overlaps = kind == &overlap ? (void *)found : NULL };
	int has_memory = cases && found, have_all;
	PMPI_Allreduce(&has_memory, &have_all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	bool speaks = world->rank == 0, has_table = !options->json || strcmp(options->json, "-") !=
						    0;
	if (!have_all) {
		if (speaks)
			fprintf(stderr, "collshim-bench: no memory for %d cases\n", all);
		code = 1;
	}
	if (code == 0 && !save(options, world, &findings)) /* better now than after an hour */
		code = 1;
	if (!options->is_quiet && code == 0)
		bench_tell_busy(world);
	if (speaks && has_table && code == 0)
		kind->head(stdout, options, world);
	for (int i = 0; i < all && code == 0; i++) {
		const struct bench_case *what = &cases[i / variants];
		void *one = found + (size_t)i * kind->bytes;
		if (speaks && !options->is_quiet)
			tell_progress(what, i, all);
		if (!kind->measure(one, what, i % variants, options, world)) {
			code = 1;
			break;
		}
		if (speaks && has_table)
			kind->print(stdout, one);
		findings.count = i + 1;
		findings.is_complete = i + 1 == all;
		code = !save(options, world, &findings);
	}
	free(cases);
	free(found);
	return code;
}

/* Exit code. Nothing but what the first call needs is done with the MPI before it: what the job
 * looks like is asked behind that. */
static int
measure_first(const struct bench_options *options, int rank, int ranks, double init_seconds)
{
	int count = 0, code = 0;
	struct bench_case *cases = list_cases(options, &count);
	struct bench_first *firsts = calloc((size_t)count, sizeof *firsts);
	struct bench_findings findings = { .firsts = firsts };
	struct bench_world world;
	int has_memory = cases && firsts, have_all;
	PMPI_Allreduce(&has_memory, &have_all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!have_all) {
		if (rank == 0)
			fprintf(stderr, "collshim-bench: no memory for %d cases\n", count);
		code = 1;
	}
	bool has_table = rank == 0 && (!options->json || strcmp(options->json, "-") != 0);
	for (int i = 0; i < count && code == 0; i++) {
		if (!bench_first_measure(&firsts[i], &cases[i], i == 0, options, rank, ranks)) {
			code = 1;
			break;
		}
		if (i == 0) {
			bench_world_look(&world);
			PMPI_Reduce(&init_seconds, &findings.init_seconds, 1, MPI_DOUBLE, MPI_MAX,
				    0, MPI_COMM_WORLD);
			if (has_table)
				bench_print_first_head(stdout, options, &world,
						       findings.init_seconds);
		}
		if (has_table)
			bench_print_first(stdout, &firsts[i], options->is_per_rank_max ||
					  !world.has_one_clock);
		findings.count = i + 1;
		findings.is_complete = i + 1 == count;
		code = !save(options, &world, &findings);
	}
	free(cases);
	free(firsts);
	return code;
}

int
main(int argc, char **argv)
{
	static struct bench_options options;
	struct bench_world world;
	char complaint[256] = "";
	int code = 0;
	/* Variables and paths are shown as they are, but not to a terminal that would obey them. */
	FILE *out = cs_printable_stream(STDOUT_FILENO),
	     *errors = cs_printable_stream(STDERR_FILENO);
	stdout = out ? out : stdout;
	stderr = errors ? errors : stderr;
	int rank, ranks;
	int64_t start = bench_now();
	MPI_Init(&argc, &argv);
	double init_seconds = (double)(bench_now() - start) * 1e-9;
	PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
	bool speaks = rank == 0,
	     is_right = bench_options_read(&options, argc, argv, ranks, complaint) == CS_OK;
	bool is_first = is_right && options.wants_first && !options.wants_help &&
			!options.wants_version;
	if (!is_first)
		bench_world_look(&world);
	if (is_right && options.permutes)
		bench_world_permute(&world, options.seed);
	if (!is_right) {
		if (speaks)
			fprintf(stderr, "collshim-bench: %s (--help shows what is known)\n",
				complaint);
		code = 2;
	} else if (is_first) {
		code = measure_first(&options, rank, ranks, init_seconds);
	} else if (options.wants_help) {
		if (speaks)
			bench_options_help(stdout);
	} else if (options.wants_version) {
		if (speaks)
			printf("collshim-bench %s (%s)\n", CS_VERSION, world.mpi);
	} else if (options.wants_loggp) {
		code = measure_network(&options, &world);
	} else if (options.wants_facts) {
		bench_facts_print(&world);
	} else if (options.wants_copy_out) {
		bench_copy_out_print(&world);
	} else if (options.pattern_count && !bench_late_load(&options, &world, complaint)) {
		if (speaks)
			fprintf(stderr, "collshim-bench: --imbalance: %s\n", complaint);
		code = 2;
	} else if (options.pattern_count) {
		code = measure_all(&late, options.pattern_count, &options, &world);
	} else {
		code = options.wants_overlap
		       ? measure_all(&overlap, BENCH_WORKS, &options, &world)
		       : measure_all(&plain, 1, &options, &world);
	}
	bench_late_unload(&options);
	MPI_Finalize();
	return code;
}
