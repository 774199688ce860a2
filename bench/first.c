#include "bench.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* The first call, those up to the 10th, the 100th, BENCH_SOON and the last. */
static const int part_ends[BENCH_PARTS] = { 1, 10, 100, BENCH_SOON, 1000 };

/* --- what this process has touched ------------------------------------------------------------ */

struct touched {
	double shared, ours; /* bytes of shared mappings, and of those that bear the library's name;
			      * below 0: not known */
};

/* "7f00-7f10 rw-s 0 00:01 1234 /memfd:name": does the mapping belong to several processes? False,
 * too, if the line is none that begins a mapping. */
static bool
begins_mapping(const char *line, bool *is_shared)
{
	unsigned long start, end;
	char access[5];
	if (sscanf(line, "%lx-%lx %4s ", &start, &end, access) != 3)
		return false;
	*is_shared = access[3] == 's';
	return true;
}

static struct touched
look_at_memory(void)
{
	struct touched touched = { -1, -1 };
	FILE *file = fopen("/proc/self/smaps", "re");
	if (!file)
		return touched;
	char line[512], kind[32];
	double kilobytes;
	bool is_shared = false, is_ours = false;
	touched = (struct touched){ 0, 0 };
	while (fgets(line, sizeof line, file)) {
		if (begins_mapping(line, &is_shared)) {
			is_ours = strstr(line, "/memfd:collshim") || strstr(line, "/collshim-");
			continue;
		}
		if (!is_shared || sscanf(line, "%31[^:]: %lf kB", kind, &kilobytes) != 2)
			continue;
		/* Pages of hugetlbfs are no part of Rss. */
		if (strcmp(kind, "Rss") != 0 && strcmp(kind, "Shared_Hugetlb") != 0 &&
		    strcmp(kind, "Private_Hugetlb") != 0)
			continue;
		touched.shared += kilobytes * 1024;
		touched.ours += is_ours ? kilobytes * 1024 : 0;
	}
	fclose(file);
	return touched;
}

/* --- calls from the first one on -------------------------------------------------------------- */

/* A part as this rank has seen it. */
struct seen {
	int64_t in, out;
	double minor, major; /* page faults */
};

static struct seen
run_part(const struct bench_operation *op, enum bench_side side, int from, int to)
{
	struct rusage before, after;
	struct seen seen;
	PMPI_Barrier(MPI_COMM_WORLD);
	getrusage(RUSAGE_SELF, &before);
	seen.in = bench_now();
	for (int n = from; n <= to; n++)
		bench_operation_call(op, side, n - 1);
	seen.out = bench_now();
	getrusage(RUSAGE_SELF, &after);
	seen.minor = (double)(after.ru_minflt - before.ru_minflt);
	seen.major = (double)(after.ru_majflt - before.ru_majflt);
	return seen;
}

/* Rank 0 decides for all: would the next part take too long, if a call takes what it took in this
 * one? */
static bool
goes_on(const struct seen *seen, int calls, int next_calls, double limit)
{
	int goes = (double)(seen->out - seen->in) * 1e-9 / calls * next_calls <= limit;
	PMPI_Bcast(&goes, 1, MPI_INT, 0, MPI_COMM_WORLD);
	return goes;
}

/* At rank 0: least and most, and the mean, over the ranks. */
static double
least_of(double mine)
{
	double least = 0;
	PMPI_Reduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
	return least;
}

static struct bench_spread
spread_of(double mine, int ranks)
{
	struct bench_spread spread = { 0, 0 };
	PMPI_Reduce(&mine, &spread.most, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
	PMPI_Reduce(&mine, &spread.mean, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	spread.mean /= ranks;
	return spread;
}

/* Microseconds are exact in a double as long as a machine runs: nanoseconds since its boot. */
static void
gather_part(struct bench_part *part, const struct seen *seen, int ranks)
{
	int calls = part->to - part->from + 1;
	double first_in = least_of((double)seen->in), last_out = -least_of(-(double)seen->out);
	part->seconds = (last_out - first_in) * 1e-9 / calls;
	part->own_seconds = spread_of((double)(seen->out - seen->in) * 1e-9 / calls, ranks).most;
	part->minor = spread_of(seen->minor, ranks);
	part->major = spread_of(seen->major, ranks);
	part->is_there = true;
}

static struct bench_spread
spread_of_growth(double before, double after, int ranks)
{
	double known = least_of(before < 0 || after < 0 ? -1 : 0);
	struct bench_spread spread = spread_of(after - before, ranks);
	return known < 0 ? (struct bench_spread){ -1, -1 } : spread;
}

/* Makes the calls of one side, of so many parts at most; gathers and counts these. */
static int
run_parts(struct bench_part *parts, int most, const struct bench_operation *op,
	  enum bench_side side, double limit)
{
	struct seen seen[BENCH_PARTS];
	int count = 0;
	for (bool goes = true; count < most && goes; count++) {
		struct bench_part *part = &parts[count];
		part->from = count ? part_ends[count - 1] + 1 : 1;
		part->to = part_ends[count];
		seen[count] = run_part(op, side, part->from, part->to);
		goes = count + 1 < most && goes_on(&seen[count], part->to - part->from + 1,
						   part_ends[count + 1] - part->to, limit);
	}
	for (int i = 0; i < count; i++)
		gather_part(&parts[i], &seen[i], op->ranks);
	return count;
}

/* Adds up calls 2 to BENCH_SOON, if they were made. */
static void
add_up(struct bench_first *first, const struct bench_part *parts, enum bench_side side)
{
	for (int i = 1; parts[BENCH_PARTS - 2].is_there && i < BENCH_PARTS - 1; i++) {
		int calls = parts[i].to - parts[i].from + 1;
		first->soon[side] += parts[i].seconds * calls;
		first->soon_own[side] += parts[i].own_seconds * calls;
	}
}

bool
bench_first_measure(struct bench_first *first, const struct bench_case *what, bool is_first,
		    const struct bench_options *options, int rank, int ranks)
{
	struct bench_part hosts[BENCH_PARTS] = { { .is_there = false } };
	MPI_Comm ours, host;
	memset(first, 0, sizeof *first);
	first->what = *what;
	struct bench_operation *op = bench_prepare(what, options, rank, ranks, first->skipped);
	if (!op)
		return true;
	first->bytes = op->bytes;
	if (!is_first) {
		PMPI_Comm_dup(MPI_COMM_WORLD, &ours);
		op->comm = &ours;
	}
	struct touched before = look_at_memory();
	int parts = run_parts(first->parts, BENCH_PARTS, op, BENCH_OURS, options->limit);
	struct touched after = look_at_memory();
	first->shared = spread_of_growth(before.shared, after.shared, ranks);
	first->ours = spread_of_growth(before.ours, after.ours, ranks);
	bool is_right = bench_check(op, BENCH_OURS, first->parts[parts - 1].to, false);
	PMPI_Comm_dup(MPI_COMM_WORLD, &host);
	op->comm = &host;
	run_parts(hosts, parts < BENCH_PARTS ? parts : BENCH_PARTS - 1, op, BENCH_HOST,
		  options->limit);
	PMPI_Comm_free(&host);
	add_up(first, first->parts, BENCH_OURS);
	add_up(first, hosts, BENCH_HOST);
	bench_operation_destroy(op);
	return is_right;
}
