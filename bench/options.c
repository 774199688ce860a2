#include "bench.h"

#include "base/nearest.h"
#include "base/parse.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#define MOST_IN_A_ROW 1000000 /* as the texts say, too */

enum {
	OPT_ROOT = 256,
	OPT_DISTRIBUTION,
	OPT_CASES,
	OPT_FROM_FIRST,
	OPT_IMBALANCE,
	OPT_SEED,
	OPT_PERMUTE,
	OPT_OVERLAP,
	OPT_INTERVAL,
	OPT_COMPUTE,
	OPT_SVG,
	OPT_LOGGP,
	OPT_WIRE,
	OPT_NODE,
	OPT_COPY_OUT,
	OPT_REPEAT,
	OPT_ROWS,
	OPT_THROUGHPUT,
	OPT_THROUGHPUT_ROOTED,
	OPT_PER_RANK_MAX,
	OPT_ROTATE_BUFFERS,
	OPT_MEMORY,
	OPT_LIMIT,
	OPT_BANDWIDTH,
	OPT_LINE_LATENCY,
	OPT_JSON,
	OPT_QUIET,
	OPT_HELP,
	OPT_VERSION,
};

static const struct option long_options[] = {
	{ "collectives", required_argument, NULL, 'c' },
	{ "sizes", required_argument, NULL, 's' },
	{ "time", required_argument, NULL, 't' },
	{ "root", required_argument, NULL, OPT_ROOT },
	{ "distribution", required_argument, NULL, OPT_DISTRIBUTION },
	{ "cases", required_argument, NULL, OPT_CASES },
	{ "from-first", no_argument, NULL, OPT_FROM_FIRST },
	{ "imbalance", required_argument, NULL, OPT_IMBALANCE },
	{ "seed", required_argument, NULL, OPT_SEED },
	{ "permute", no_argument, NULL, OPT_PERMUTE },
	{ "overlap", no_argument, NULL, OPT_OVERLAP },
	{ "interval", required_argument, NULL, OPT_INTERVAL },
	{ "compute", required_argument, NULL, OPT_COMPUTE },
	{ "svg", required_argument, NULL, OPT_SVG },
	{ "loggp", no_argument, NULL, OPT_LOGGP },
	{ "wire", required_argument, NULL, OPT_WIRE },
	{ "node", no_argument, NULL, OPT_NODE },
	{ "copy-out", no_argument, NULL, OPT_COPY_OUT },
	{ "repeat", required_argument, NULL, OPT_REPEAT },
	{ "rows", required_argument, NULL, OPT_ROWS },
	{ "throughput", required_argument, NULL, OPT_THROUGHPUT },
	{ "throughput-rooted", required_argument, NULL, OPT_THROUGHPUT_ROOTED },
	{ "per-rank-max", no_argument, NULL, OPT_PER_RANK_MAX },
	{ "rotate-buffers", required_argument, NULL, OPT_ROTATE_BUFFERS },
	{ "memory", required_argument, NULL, OPT_MEMORY },
	{ "limit", required_argument, NULL, OPT_LIMIT },
	{ "bandwidth", required_argument, NULL, OPT_BANDWIDTH },
	{ "line-latency", required_argument, NULL, OPT_LINE_LATENCY },
	{ "json", required_argument, NULL, OPT_JSON },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "help", no_argument, NULL, OPT_HELP },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ NULL, 0, NULL, 0 },
};

void
bench_options_help(FILE *out)
{
	fputs("usage: mpirun ... [LD_PRELOAD=libcollshim.so] collshim-bench.MPI [options]\n"
	      "\n"
	      "Times each collective through MPI_X (ours, if a library is preloaded) and through "
	      "PMPI_X (the MPI's), by\n"
	      "turns in one run, checks every result, and prints both times and the ratio MPI / "
	      "ours.\n"
	      "\n"
	      "  -c, --collectives LIST   comma separated; default: all of them\n"
	      "  -s, --sizes LIST         bytes with K, M, G; default 8,1K,8K,64K,1M\n"
	      "  --root LIST              of 0 (default), a rank, last, rotate: for the rooted "
	      "collectives\n"
	      "  --distribution LIST      of regular (default), broadcast, spike, half, "
	      "decreasing, geometric, or all:\n"
	      "                           for the collectives with counts per rank, all with the "
	      "same total\n"
	      "  --cases LIST             of COLLECTIVE:SIZE or COLLECTIVE:SIZE:DISTRIBUTION, in "
	      "place of these (not --root)\n"
	      "  --from-first             the first 1000 calls of a case through MPI_X: time of "
	      "the 1st, means of 2 to 10, 11 to\n"
	      "                           100, 101 to 300 and 301 to 1000, page faults, shared "
	      "memory that was touched; and the sum\n"
	      "                           of calls 2 to 300, ours and then the MPI's through "
	      "PMPI_X, with the ratio. The first case\n"
	      "                           is the job's first collective, each other one has a "
	      "communicator of its own\n"
	      "  --imbalance PATTERN      ranks come late to each call: none, uniform:500us, "
	      "late:RANK:2ms, turning:2ms (another rank\n"
	      "                           in each call), exponential:300us (mean), first-node or "
	      "last-node (all of its ranks, by\n"
	      "                           2ms or as in first-node:1ms), file:PATH (as recorded "
	      "with COLLSHIM_ARRIVALS=PATH). The mean time in the call, "
	      "the bound that data set for it,\n"
	      "                           time after the last arrival and to the last exit, for "
	      "the MPI and ours by turns with the same\n"
	      "                           delays. Roots turn, if no --root is given. Up to 8 "
	      "times\n"
	      "  --seed N                 of random patterns and orders; default 1\n"
	      "  --permute                a communicator of all ranks in a random order, but 0, in "
	      "place of MPI_COMM_WORLD\n"
	      "  --overlap                non-blocking calls that are computed over, bound by a "
	      "core and by memory: time in the start,\n"
	      "                           the tests and the wait, and how much of the blocking "
	      "call's time the computation has\n"
	      "                           won, for the MPI and ours by turns. For the MPI with its "
	      "own progress run it in a job with\n"
	      "                           MPICH_ASYNC_PROGRESS=1\n"
	      "  --interval LIST          of --overlap: bytes between tests, 0 (no tests), one (in "
	      "the middle); default\n"
	      "                           0,one,1K,2K,4K,8K\n"
	      "  --compute FACTOR         of --overlap: computes for that many times the MPI's "
	      "blocking call; default 1\n"
	      "  --svg FILE               curves by size, ours and the MPI's, a picture for each "
	      "collective (by collshim-report)\n"
	      "  --loggp                  no collectives: what a message costs, between nodes and "
	      "within one, in LogGP's\n"
	      "                           parameters; rates of copies and sums, and a flag's "
	      "latency, on a node\n"
	      "  --wire host|ib           of --loggp: between nodes over the MPI's messages "
	      "(host, the default), or direct\n"
	      "                           verbs as the library's plans (ib)\n"
	      "  --node                   no collectives: facts of the node of ranks 0 and 1, as "
	      "limits of a tuning file,\n"
	      "                           and its node model by all of its ranks\n"
	      "  --copy-out               no collectives: ways of a result from a node's shared "
	      "memory to each rank, by size\n"
	      "  -t, --time SECONDS       to spend on a case, about; default 0.5\n"
	      "  --repeat N               rounds in that time, the MPI and ours once in each; "
	      "default 5\n"
	      "  --rows LIST              each case with rows of each of these many calls after "
	      "one barrier; 1 is a single\n"
	      "                           call. A row's time is divided by its calls, and goes "
	      "from the first rank's entry\n"
	      "                           to the last rank's exit; slow calls have shorter rows "
	      "(down to 4). Default 1\n"
	      "  --throughput K           the same as --rows K\n"
	      "  --throughput-rooted K    rows of K calls, and no others, for the rooted "
	      "collectives\n"
	      "  --per-rank-max           a call's time is always the longest of the ranks' own "
	      "times. Default: a single\n"
	      "                           call's goes from the last rank's entry to the last "
	      "rank's exit, where all ranks\n"
	      "                           share one clock, but for rooted collectives of more "
	      "ranks than cores\n"
	      "  --rotate-buffers N       change between N sets of buffers from call to call; "
	      "default 2\n"
	      "  --memory BYTES           of buffers per rank; a case that needs more is left out; "
	      "default 256M\n"
	      "  --limit SECONDS          a case whose least number of calls needs more is left "
	      "out (--from-first: a part of the\n"
	      "                           calls); default 60\n"
	      "  --bandwidth GB/S         of one core's copies, for the column 'bound'; default: "
	      "measured\n"
	      "  --line-latency NS        of a cache line from core to core, for the bound; "
	      "default: measured\n"
	      "  --json FILE              all numbers; - is stdout instead of the table\n"
	      "  --quiet                  no progress on stderr\n"
	      "  --help, --version\n"
	      "\n"
	      "A size is: bytes of one rank's block (allgather, gather, scatter), of one block "
	      "from one rank to one other\n"
	      "(alltoall), of the mean block (the v- and w-collectives), of the whole vector "
	      "(bcast, and the reductions).\n"
	      "Exit code: 0; 1 if a result was wrong or a file could not be written; 2 for wrong "
	      "arguments;\n3 without the verbs that --wire asks for.\n", out);
}

const char *
bench_root_name(int root)
{
	static char number[16];
	if (root == BENCH_ROOT_LAST)
		return "last";
	if (root == BENCH_ROOT_ROTATE)
		return "rotate";
	snprintf(number, sizeof number, "%d", root);
	return number;
}

int
bench_row_count(const struct bench_options *options, enum cs_coll coll)
{
	return cs_colls[coll].rooted && options->row_rooted ? 1 : options->row_count;
}

int
bench_row(const struct bench_options *options, enum cs_coll coll, int n)
{
	return cs_colls[coll].rooted && options->row_rooted ? options->row_rooted
							    : options->rows[n];
}

/* --- one value -------------------------------------------------------------------------------- */

static enum cs_status
read_int(const char *text, int low, int high, int *value)
{
	char *end;
	long read = strtol(text, &end, 10);
	if (end == text || *end || read < low || read > high)
		return CS_BAD_INPUT;
	*value = (int)read;
	return CS_OK;
}

static enum cs_status
read_real(const char *text, double low, double high, double *value)
{
	char *end;
	double read = strtod(text, &end);
	if (end == text || *end || !(read >= low && read <= high))
		return CS_BAD_INPUT;
	*value = read;
	return CS_OK;
}

/* Context of the functions below that read a list's word. CS_BAD_INPUT: complaint filled in. */
struct reading {
	struct bench_options *options;
	int ranks;
	char *complaint; /* [256] */
};

static enum cs_status
add_coll(struct reading *reading, const char *word)
{
	if (!strcmp(word, "all")) {
		for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
			reading->options->has_coll[coll] = true;
		return CS_OK;
	}
	enum cs_coll coll = cs_coll_by_name(word);
	if (coll < CS_COLL_COUNT) {
		reading->options->has_coll[coll] = true;
		return CS_OK;
	}
	struct cs_nearest nearest = { .word = word };
	for (coll = 0; coll < CS_COLL_COUNT; coll++)
		cs_nearest_try(&nearest, cs_colls[coll].name);
	snprintf(reading->complaint, 256, "-c: no collective is called '%s'%s%s%s", word,
		 nearest.best ? " (did you mean '" : "", nearest.best ? nearest.best : "",
		 nearest.best ? "'?)" : "");
	return CS_BAD_INPUT;
}

static enum cs_status
add_size(struct reading *reading, const char *word)
{
	struct bench_options *options = reading->options;
	size_t size;
	if (cs_parse_bytes(word, &size) != CS_OK || size == CS_INF) {
		snprintf(reading->complaint, 256, "-s: '%s' is not a size such as 8, 4K or 1M",
			 word);
		return CS_BAD_INPUT;
	}
	if (options->size_count == BENCH_MAX_SIZES) {
		snprintf(reading->complaint, 256, "-s: more than %d sizes", BENCH_MAX_SIZES);
		return CS_BAD_INPUT;
	}
	options->sizes[options->size_count++] = size;
	return CS_OK;
}

static enum cs_status
add_root(struct reading *reading, const char *word)
{
	struct bench_options *options = reading->options;
	int root;
	if (!strcmp(word, "last")) {
		root = BENCH_ROOT_LAST;
	} else if (!strcmp(word, "rotate")) {
		root = BENCH_ROOT_ROTATE;
	} else if (read_int(word, 0, reading->ranks - 1, &root) != CS_OK) {
		snprintf(reading->complaint, 256, "--root: '%s' is not last, rotate or a rank from "
						  "0 to %d", word,
			 reading->ranks - 1);
		return CS_BAD_INPUT;
	}
	if (options->root_count == BENCH_MAX_ROOTS) {
		snprintf(reading->complaint, 256, "--root: more than %d", BENCH_MAX_ROOTS);
		return CS_BAD_INPUT;
	}
	options->roots[options->root_count++] = root;
	return CS_OK;
}

static enum cs_status
add_distribution(struct reading *reading, const char *word)
{
	bool is_all = !strcmp(word, "all"), is_found = false;
	for (enum bench_distribution k = 0; k < BENCH_DISTRIBUTIONS; k++) {
		if (!is_all && strcmp(word, bench_distribution_names[k]))
			continue;
		reading->options->has_distribution[k] = is_found = true;
	}
	if (is_found)
		return CS_OK;
	snprintf(reading->complaint, 256,
		 "--distribution: '%s' is not regular, broadcast, spike, half, decreasing, "
		 "geometric or all", word);
	return CS_BAD_INPUT;
}

static bool
find_distribution(const char *word, enum bench_distribution *found)
{
	for (*found = 0; *found < BENCH_DISTRIBUTIONS; ++*found)
		if (!strcmp(word, bench_distribution_names[*found]))
			return true;
	return false;
}

static enum cs_status
add_row(struct reading *reading, const char *word)
{
	struct bench_options *options = reading->options;
	int row;
	if (read_int(word, 1, MOST_IN_A_ROW, &row) != CS_OK) {
		snprintf(reading->complaint, 256, "--rows: '%s' is not a number of calls from 1 to "
						  "%d", word, MOST_IN_A_ROW);
		return CS_BAD_INPUT;
	}
	if (options->row_count == BENCH_MAX_ROWS) {
		snprintf(reading->complaint, 256, "--rows: more than %d", BENCH_MAX_ROWS);
		return CS_BAD_INPUT;
	}
	options->rows[options->row_count++] = row;
	return CS_OK;
}

/* "allgather:8K", "allgatherv:1K:spike", "barrier". */
static enum cs_status
add_case(struct reading *reading, const char *word)
{
	struct bench_options *options = reading->options;
	struct bench_case what = { .distribution = BENCH_REGULAR };
	char text[64], *rest = text;
	snprintf(text, sizeof text, "%s", word);
	const char *name = strsep(&rest, ":"), *size = strsep(&rest, ":"),
		   *distribution = strsep(&rest, ":");
	what.coll = cs_coll_by_name(name);
	bool is_right = what.coll < CS_COLL_COUNT && !rest && (!size == (what.coll == CS_BARRIER));
	if (is_right && size)
		is_right = cs_parse_bytes(size, &what.size) == CS_OK && what.size < CS_INF;
	if (is_right && distribution)
		is_right = bench_is_irregular(what.coll) &&
			   find_distribution(distribution, &what.distribution);
	if (!is_right) {
		snprintf(reading->complaint, 256, "--cases: '%s' is not COLLECTIVE:SIZE, as "
						  "allgather:8K, "
			 "COLLECTIVE:SIZE:DISTRIBUTION, as allgatherv:1K:spike, or barrier", word);
		return CS_BAD_INPUT;
	}
	if (options->case_count == BENCH_MAX_CASES) {
		snprintf(reading->complaint, 256, "--cases: more than %d", BENCH_MAX_CASES);
		return CS_BAD_INPUT;
	}
	options->cases[options->case_count++] = what;
	return CS_OK;
}

static enum cs_status
add_pattern(struct reading *reading, const char *text)
{
	struct bench_options *options = reading->options;
	struct bench_pattern *pattern = &options->patterns[options->pattern_count];
	char complaint[220];
	if (options->pattern_count == BENCH_MAX_PATTERNS) {
		snprintf(reading->complaint, 256, "--imbalance: more than %d", BENCH_MAX_PATTERNS);
		return CS_BAD_INPUT;
	}
	enum cs_status status = cs_imbalance_read(text, &pattern->imbalance, complaint,
						  sizeof complaint);
	if (status == CS_OK)
		status = cs_imbalance_fits(&pattern->imbalance, reading->ranks, complaint,
					   sizeof complaint);
	if (status != CS_OK) {
		snprintf(reading->complaint, 256, "--imbalance: %s", complaint);
		return status;
	}
	pattern->text = text;
	options->pattern_count++;
	return CS_OK;
}

static enum cs_status
add_interval(struct reading *reading, const char *word)
{
	struct bench_options *options = reading->options;
	size_t interval = BENCH_ONE_TEST;
	if (strcmp(word, "one") != 0 &&
	    (cs_parse_bytes(word, &interval) != CS_OK || interval == CS_INF)) {
		snprintf(reading->complaint, 256, "--interval: '%s' is not 0, one or bytes such as "
						  "4K", word);
		return CS_BAD_INPUT;
	}
	if (options->interval_count == BENCH_MAX_INTERVALS) {
		snprintf(reading->complaint, 256, "--interval: more than %d", BENCH_MAX_INTERVALS);
		return CS_BAD_INPUT;
	}
	options->intervals[options->interval_count++] = interval;
	return CS_OK;
}

static enum cs_status
read_seed(struct reading *reading, const char *text)
{
	char *end;
	reading->options->seed = strtoull(text, &end, 10);
	if (*text >= '0' && *text <= '9' && !*end)
		return CS_OK;
	snprintf(reading->complaint, 256, "--seed: '%s' is not a whole number", text);
	return CS_BAD_INPUT;
}

static enum cs_status
read_list(struct reading *reading, const char *list,
	  enum cs_status (*add)(struct reading *, const char *))
{
	char word[64];
	for (const char *at = list;; at++) {
		size_t length = strcspn(at, ",");
		snprintf(word, sizeof word, "%.*s", (int)length, at);
		enum cs_status status = add(reading, word);
		if (status != CS_OK)
			return status;
		at += length;
		if (!*at)
			return CS_OK;
	}
}

/* --- all of them ------------------------------------------------------------------------------ */

static enum cs_status
read_number(struct reading *reading, int option, const char *text)
{
	struct bench_options *options = reading->options;
	double number;
	enum cs_status status = CS_BAD_INPUT;
	const char *expected = "";
	switch (option) {
	case 't':
		status = read_real(text, 0.001, 1e6, &options->seconds);
		expected = "-t: seconds, 0.001 or more";
		break;
	case OPT_LIMIT:
		status = read_real(text, 0.001, 1e6, &options->limit);
		expected = "--limit: seconds, 0.001 or more";
		break;
	case OPT_COMPUTE:
		status = read_real(text, 0.01, 1000, &options->compute);
		expected = "--compute: from 0.01 to 1000 times the blocking call";
		break;
	case OPT_REPEAT:
		status = read_int(text, 1, BENCH_MAX_ROUNDS, &options->rounds);
		expected = "--repeat: from 1 to 101 rounds";
		break;
	case OPT_THROUGHPUT:
		status = read_int(text, 1, MOST_IN_A_ROW, &options->rows[0]);
		options->row_count = 1;
		options->row_rooted = 0;
		expected = "--throughput: calls in a row, from 1 to 1000000";
		break;
	case OPT_THROUGHPUT_ROOTED:
		status = read_int(text, 1, MOST_IN_A_ROW, &options->row_rooted);
		expected = "--throughput-rooted: calls in a row, from 1 to 1000000";
		break;
	case OPT_ROTATE_BUFFERS:
		status = read_int(text, 1, BENCH_MAX_BUFFERS, &options->buffers);
		expected = "--rotate-buffers: from 1 to 16 sets";
		break;
	case OPT_MEMORY:
		status = cs_parse_bytes(text, &options->memory);
		expected = "--memory: bytes such as 256M";
		break;
	case OPT_BANDWIDTH:
		status = read_real(text, 1e-3, 1e6, &number);
		if (status == CS_OK)
			options->bandwidth = number * 1e9;
		expected = "--bandwidth: GB/s of one core, 0.001 or more";
		break;
	case OPT_LINE_LATENCY:
		status = read_real(text, 0, 1e9, &number);
		if (status == CS_OK)
			options->line_seconds = number * 1e-9;
		expected = "--line-latency: nanoseconds";
		break;
	}
	if (status != CS_OK)
		snprintf(reading->complaint, 256, "%s, not '%s'", expected, text);
	return status;
}

static enum cs_status
read_option(struct reading *reading, int option, char **argv)
{
	struct bench_options *options = reading->options;
	switch (option) {
	case 'c':
		return read_list(reading, optarg, add_coll);
	case 's':
		return read_list(reading, optarg, add_size);
	case OPT_ROOT:
		return read_list(reading, optarg, add_root);
	case OPT_DISTRIBUTION:
		return read_list(reading, optarg, add_distribution);
	case OPT_ROWS:
		options->row_count = 0;
		return read_list(reading, optarg, add_row);
	case OPT_CASES:
		return read_list(reading, optarg, add_case);
	case OPT_IMBALANCE:
		return add_pattern(reading, optarg);
	case OPT_SEED:
		return read_seed(reading, optarg);
	case OPT_PERMUTE:
		options->permutes = true;
		return CS_OK;
	case OPT_OVERLAP:
		options->wants_overlap = true;
		return CS_OK;
	case OPT_INTERVAL:
		return read_list(reading, optarg, add_interval);
	case OPT_SVG:
		options->svg = optarg;
		return CS_OK;
	case OPT_FROM_FIRST:
		options->wants_first = true;
		return CS_OK;
	case OPT_LOGGP:
		options->wants_loggp = true;
		return CS_OK;
	case OPT_WIRE:
		options->wire = optarg;
		options->wants_verbs = !strcmp(optarg, "ib");
		if (options->wants_verbs || !strcmp(optarg, "host"))
			return CS_OK;
		snprintf(reading->complaint, 256, "--wire %s: expected host or ib", optarg);
		return CS_BAD_INPUT;
	case OPT_COPY_OUT:
		options->wants_copy_out = true;
		return CS_OK;
	case OPT_NODE:
		options->wants_facts = true;
		return CS_OK;
	case OPT_PER_RANK_MAX:
		options->is_per_rank_max = true;
		return CS_OK;
	case OPT_JSON:
		options->json = optarg;
		return CS_OK;
	case OPT_QUIET:
		options->is_quiet = true;
		return CS_OK;
	case OPT_HELP:
		options->wants_help = true;
		return CS_OK;
	case OPT_VERSION:
		options->wants_version = true;
		return CS_OK;
	case ':':
		snprintf(reading->complaint, 256, "%s needs a value", argv[optind - 1]);
		return CS_BAD_INPUT;
	case '?':
		if (optopt && optopt < 256)
			snprintf(reading->complaint, 256, "no such option: -%c", optopt);
		else if (optopt)
			snprintf(reading->complaint, 256, "%s takes no value", argv[optind - 1]);
		else
			snprintf(reading->complaint, 256, "no such option: %s", argv[optind - 1]);
		return CS_BAD_INPUT;
	default:
		return read_number(reading, option, optarg);
	}
}

static void
fill_defaults(struct bench_options *options, struct reading *reading)
{
	bool has_coll = false, has_distribution = false;
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		has_coll |= options->has_coll[coll];
	for (enum bench_distribution k = 0; k < BENCH_DISTRIBUTIONS; k++)
		has_distribution |= options->has_distribution[k];
	if (!has_coll)
		(void)!add_coll(reading, "all");
	if (options->size_count == 0)
		(void)!read_list(reading, "8,1K,8K,64K,1M", add_size);
	if (options->root_count == 0)
		(void)!add_root(reading, options->pattern_count ? "rotate" : "0");
	if (options->interval_count == 0)
		(void)!read_list(reading, "0,one,1K,2K,4K,8K", add_interval);
	if (options->row_count == 0)
		(void)!add_row(reading, "1");
	if (!has_distribution)
		options->has_distribution[BENCH_REGULAR] = true;
}

enum cs_status
bench_options_read(struct bench_options *options, int argc, char **argv, int ranks,
		   char complaint[256])
{
	*options = (struct bench_options){ .seconds = 0.5,
					   .limit = 60,
					   .rounds = 5,
					   .buffers = 2,
					   .line_seconds = -1,
					   .compute = 1,
					   .seed = CS_IMBALANCE_SEED,
					   .memory = (size_t)256 << 20 };
	struct reading reading = { options, ranks, complaint };
	int option;
	opterr = 0; /* every rank would say it */
	while ((option = getopt_long(argc, argv, ":c:s:t:", long_options, NULL)) != -1) {
		enum cs_status status = read_option(&reading, option, argv);
		if (status != CS_OK)
			return status;
	}
	if (optind < argc) {
		snprintf(complaint, 256, "an argument that belongs to no option: %s", argv[optind]);
		return CS_BAD_INPUT;
	}
	if (options->wants_first &&
	    (options->wants_loggp || options->row_count || options->row_rooted)) {
		snprintf(complaint, 256, "--from-first: not with --loggp, and not with rows of a "
					 "length");
		return CS_BAD_INPUT;
	}
	if (options->pattern_count && (options->wants_loggp || options->wants_first ||
				       options->row_count || options->row_rooted)) {
		snprintf(complaint, 256, "--imbalance: not with --loggp or --from-first, and not "
					 "with rows of a length");
		return CS_BAD_INPUT;
	}
	if (options->wants_overlap &&
	    (options->wants_loggp || options->wants_first || options->pattern_count ||
	     options->row_count || options->row_rooted)) {
		snprintf(complaint, 256, "--overlap: not with --loggp, --from-first or "
					 "--imbalance, and not with rows of a length");
		return CS_BAD_INPUT;
	}
	if (!options->wants_overlap && options->interval_count) {
		snprintf(complaint, 256, "--interval is of --overlap");
		return CS_BAD_INPUT;
	}
	if (options->svg &&
	    (options->wants_loggp || options->wants_first || options->wants_facts ||
	     options->wants_copy_out)) {
		snprintf(complaint, 256, "--svg: not with --loggp, --from-first, --node or "
					 "--copy-out, which have no times of collectives");
		return CS_BAD_INPUT;
	}
	if (options->permutes && (options->wants_loggp || options->wants_first ||
				  options->wants_overlap || options->pattern_count ||
				  options->wants_facts || options->wants_copy_out)) {
		snprintf(complaint, 256, "--permute: not with --loggp, --from-first, --overlap, "
					 "--imbalance, --node or --copy-out");
		return CS_BAD_INPUT;
	}
	if (options->wire && !options->wants_loggp) {
		snprintf(complaint, 256, "--wire is of --loggp");
		return CS_BAD_INPUT;
	}
	fill_defaults(options, &reading);
	for (int i = 0; i < options->pattern_count; i++)
		options->patterns[i].imbalance.seed = options->seed;
	return CS_OK;
}
