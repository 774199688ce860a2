/* collshim-info — what the library can do and would do here. Needs no MPI. */
#include "algorithms/algorithm.h"
#include "base/parse.h"
#include "base/settings.h"
#include "coll/coll.h"
#include "select/select.h"

#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#ifndef CS_VERSION
#error "the build says which version this is"
#endif

enum { DONE = 0, WRONG_FILE = 1, WRONG_USE = 2 };

static const char usage[] =
	"usage: collshim-info                     everything below but --check and --explain\n"
	"       collshim-info --settings          COLLSHIM_* variables: meaning, default, value here\n"
	"       collshim-info --limits            limits of the tuning: meaning, value, origin\n"
	"       collshim-info --algorithms        algorithms: what they need, their parameters\n"
	"       collshim-info --tuning            tuning files and blocks that are in force here\n"
	"       collshim-info --check FILE        lists the errors of a tuning file; exit 1 if there are any\n"
	"       collshim-info --explain CALL      which algorithm would serve CALL, and why not another\n"
	"       collshim-info --version | --help\n"
	"\n"
	"CALL is a collective with its size, as allgather:8K, bcast:1M, barrier, alltoallv, and is asked with\n"
	"  --ranks R           ranks of the communicator (default: one per core of this machine)\n"
	"  --ppn P             ranks on each node (default: all on one node)\n"
	"  --nodes N           nodes (default: as many as --ranks and --ppn make)\n"
	"  --mpi mpich|openmpi only blocks for this MPI, or for any (default: blocks for every MPI)\n"
	"  --cyclic            ranks of a node do not follow each other\n"
	"  --non-commutative   the operation of a reduction must keep the order of ranks\n";

/* What was asked for on the command line. */
struct request {
	const char *check, *explain, *mpi;
	size_t ranks, ppn, nodes; /* 0: not given */
	bool is_cyclic, is_non_commutative;
	bool shows_settings, shows_limits, shows_algorithms, shows_tuning;
	bool modifies; /* an option was given that only --explain takes */
};

static int __attribute__((format(printf, 1, 2)))
wrong_use(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("collshim-info: ", stderr);
	vfprintf(stderr, format, arguments);
	fputs("\nTry: collshim-info --help\n", stderr);
	va_end(arguments);
	return WRONG_USE;
}

/* ---- what there is ------------------------------------------------------------------------------------------ */

static void
print_needs(const struct cs_needs *needs)
{
	const char *phrases[] = {
		needs->several_per_node ? "a node with two ranks or more" : NULL,
		needs->one_node ? "a single node" : NULL,
		needs->several_nodes ? "several nodes" : NULL,
		needs->commutative ? "a commutative operation" : NULL,
		needs->block_if_not_commutative
			? "for non-commutative operations, ranks of a node that follow each other"
			: NULL,
	};
	bool any = false;
	for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++) {
		if (!phrases[i])
			continue;
		printf("%s%s", any ? "; " : "      needs: ", phrases[i]);
		any = true;
	}
	puts(any ? "" : "      needs: nothing");
}

static void
print_algorithms(void)
{
	enum cs_coll last = CS_COLL_COUNT;
	const struct cs_algorithm *algorithm;
	for (int number = 0; (algorithm = cs_algorithm_at(number)); number++) {
		if (algorithm->coll != last)
			printf("  %s (bytes: %s)\n    host: the MPI underneath, always possible\n",
			       cs_colls[algorithm->coll].name, cs_colls[algorithm->coll].bytes_meaning);
		last = algorithm->coll;
		printf("    %s: %s\n", algorithm->name, algorithm->summary);
		print_needs(&algorithm->needs);
		for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
			const struct cs_param *param = &algorithm->params[i];
			char value[CS_NUMBER_TEXT], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
			printf("      %s: %s; default %s, %s to %s\n", param->name, param->meaning,
			       cs_bytes_text(value, param->fallback), cs_bytes_text(low, param->low),
			       cs_bytes_text(high, param->high));
		}
	}
}

static void
print_all(const struct request *request, const struct cs_settings *settings,
	  const struct cs_selector *selector, const struct cs_machine *machine)
{
	bool shows_all = !request->shows_settings && !request->shows_limits && !request->shows_algorithms &&
			 !request->shows_tuning;
	if (shows_all)
		printf("collshim %s\nmachine: host %s, %zu core%s, cpu %s\n", CS_VERSION, machine->host,
		       machine->cores, machine->cores == 1 ? "" : "s",
		       *machine->cpu ? machine->cpu : "not known");
	if (shows_all || request->shows_settings) {
		puts("settings:");
		cs_settings_print(stdout, settings);
	}
	if (shows_all || request->shows_limits) {
		puts("limits:");
		cs_selector_print_limits(selector, stdout);
	}
	if (shows_all || request->shows_algorithms) {
		puts("algorithms:");
		print_algorithms();
	}
	if (shows_all || request->shows_tuning) {
		puts("tuning, first file first:");
		cs_selector_print_sources(selector, stdout);
	}
}

/* ---- explain ------------------------------------------------------------------------------------------------ */

static int
read_call(const char *text, struct cs_facts *facts)
{
	char name[64];
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), text);
	facts->coll = cs_coll_by_name(name);
	if (facts->coll == CS_COLL_COUNT) {
		fprintf(stderr, "collshim-info: %s is no collective; known:", name);
		for (int i = 0; i < CS_COLL_COUNT; i++)
			fprintf(stderr, "%s %s", i ? "," : "", cs_colls[i].name);
		fputc('\n', stderr);
		return WRONG_USE;
	}
	if (!cs_colls[facts->coll].bytes_agreed) {
		facts->bytes = CS_BYTES_UNKNOWN;
		if (colon)
			return wrong_use("not all ranks know the size of a call of %s; ask for --explain %s", name,
					 name);
		return DONE;
	}
	facts->bytes = 0;
	if (!colon && facts->coll != CS_BARRIER)
		return wrong_use("a call of %s has a size; ask for --explain %s:8K (%s)", name, name,
				 cs_colls[facts->coll].bytes_meaning);
	if (colon && (cs_parse_bytes(colon + 1, &facts->bytes) != CS_OK || facts->bytes == CS_INF))
		return wrong_use("\"%s\" is no size; expected a number of bytes as 8, 64K or 1M", colon + 1);
	if (facts->coll == CS_BARRIER && facts->bytes)
		return wrong_use("a barrier has no size; ask for --explain barrier");
	return DONE;
}

/* Nodes are filled one after the other when --ppn is given, and evenly when it is not. */
static int
spread(const struct request *request, size_t cores, struct cs_facts *facts)
{
	size_t ranks = request->ranks, ppn = request->ppn, nodes = request->nodes;
	if (!ranks)
		ranks = ppn ? ppn * (nodes ? nodes : 1) : nodes > cores ? nodes : cores;
	if (!ppn && !nodes)
		nodes = 1;
	if (ppn > ranks)
		return wrong_use("--ppn %zu is more than --ranks %zu", ppn, ranks);
	if (ppn && !nodes)
		nodes = (ranks + ppn - 1) / ppn;
	if (nodes > ranks)
		return wrong_use("%zu ranks do not fill %zu nodes", ranks, nodes);
	size_t most = ppn ? ppn : (ranks + nodes - 1) / nodes;
	size_t rest = ppn ? (nodes - 1) * ppn : 0; /* ranks on all nodes but the last */
	if (ppn && (rest >= ranks || ranks - rest > ppn))
		return wrong_use("%zu ranks are not on %zu nodes with %zu on each", ranks, nodes, ppn);
	if (ranks > INT_MAX)
		return wrong_use("more than %d ranks", INT_MAX);
	facts->ranks = (int)ranks;
	facts->nodes = (int)nodes;
	facts->ppn_max = (int)most;
	facts->ppn_min = (int)(ppn ? ranks - rest : ranks / nodes);
	return DONE;
}

static int
explain(const struct request *request, const struct cs_selector *selector, size_t cores)
{
	struct cs_facts facts = {
		.is_block_placed = !request->is_cyclic,
		.is_commutative = !request->is_non_commutative,
	};
	int wrong = read_call(request->explain, &facts);
	if (!wrong)
		wrong = spread(request, cores, &facts);
	if (wrong)
		return wrong;
	if (request->is_non_commutative && !cs_colls[facts.coll].reduces)
		return wrong_use("--non-commutative: %s has no operation", cs_colls[facts.coll].name);
	facts.is_block_placed |= facts.nodes == 1 || facts.ppn_max == 1;
	cs_selector_explain(selector, &facts, stdout);
	return DONE;
}

/* ---- check -------------------------------------------------------------------------------------------------- */

static int
check(const char *path)
{
	int errors = cs_tuning_check(path, stdout);
	if (errors == 0)
		printf("%s: no errors\n", path);
	return errors == 0 ? DONE : WRONG_FILE;
}

/* ---- arguments ---------------------------------------------------------------------------------------------- */

enum {
	OPTION_SETTINGS = 256, OPTION_LIMITS, OPTION_ALGORITHMS, OPTION_TUNING, OPTION_CHECK, OPTION_EXPLAIN,
	OPTION_VERSION, OPTION_HELP, OPTION_RANKS, OPTION_PPN, OPTION_NODES, OPTION_MPI, OPTION_CYCLIC,
	OPTION_NON_COMMUTATIVE,
};

static const struct option options[] = {
	{ "settings", no_argument, NULL, OPTION_SETTINGS },
	{ "limits", no_argument, NULL, OPTION_LIMITS },
	{ "algorithms", no_argument, NULL, OPTION_ALGORITHMS },
	{ "tuning", no_argument, NULL, OPTION_TUNING },
	{ "check", required_argument, NULL, OPTION_CHECK },
	{ "explain", required_argument, NULL, OPTION_EXPLAIN },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "ranks", required_argument, NULL, OPTION_RANKS },
	{ "ppn", required_argument, NULL, OPTION_PPN },
	{ "nodes", required_argument, NULL, OPTION_NODES },
	{ "mpi", required_argument, NULL, OPTION_MPI },
	{ "cyclic", no_argument, NULL, OPTION_CYCLIC },
	{ "non-commutative", no_argument, NULL, OPTION_NON_COMMUTATIVE },
	{ NULL, 0, NULL, 0 },
};

static int
read_count(const char *name, const char *text, size_t *count)
{
	if (cs_parse_bytes(text, count) == CS_OK && *count > 0 && *count <= INT_MAX)
		return DONE;
	return wrong_use("--%s %s: expected a number from 1 to %d", name, text, INT_MAX);
}

/* DONE, WRONG_USE, or -1 when --help or --version has been answered. */
static int
read_arguments(int argc, char **argv, struct request *request)
{
	int wrong = DONE, option;
	while (!wrong && (option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		request->modifies |= option >= OPTION_RANKS;
		switch (option) {
		case OPTION_SETTINGS: request->shows_settings = true; break;
		case OPTION_LIMITS: request->shows_limits = true; break;
		case OPTION_ALGORITHMS: request->shows_algorithms = true; break;
		case OPTION_TUNING: request->shows_tuning = true; break;
		case OPTION_CHECK: request->check = optarg; break;
		case OPTION_EXPLAIN: request->explain = optarg; break;
		case OPTION_RANKS: wrong = read_count("ranks", optarg, &request->ranks); break;
		case OPTION_PPN: wrong = read_count("ppn", optarg, &request->ppn); break;
		case OPTION_NODES: wrong = read_count("nodes", optarg, &request->nodes); break;
		case OPTION_CYCLIC: request->is_cyclic = true; break;
		case OPTION_NON_COMMUTATIVE: request->is_non_commutative = true; break;
		case OPTION_MPI:
			request->mpi = optarg;
			if (strcmp(optarg, "mpich") && strcmp(optarg, "openmpi"))
				wrong = wrong_use("--mpi %s: expected mpich or openmpi", optarg);
			break;
		case OPTION_VERSION:
			puts("collshim " CS_VERSION);
			return -1;
		case OPTION_HELP:
		case 'h':
			fputs(usage, stdout);
			return -1;
		default: /* getopt_long has said what */
			fputs("Try: collshim-info --help\n", stderr);
			return WRONG_USE;
		}
	}
	if (wrong)
		return wrong;
	bool shows = request->shows_settings || request->shows_limits || request->shows_algorithms ||
		     request->shows_tuning;
	if (optind < argc)
		return wrong_use("unexpected argument %s", argv[optind]);
	if (shows + !!request->check + !!request->explain > 1)
		return wrong_use("--check, --explain and lists cannot be asked for together");
	if (request->modifies && !request->explain)
		return wrong_use("--ranks, --ppn, --nodes, --mpi, --cyclic and --non-commutative belong to --explain");
	return DONE;
}

int
main(int argc, char **argv)
{
	struct request request = { 0 };
	int wrong = read_arguments(argc, argv, &request);
	if (wrong)
		return wrong < 0 ? DONE : wrong;
	if (request.check)
		return check(request.check);
	struct cs_settings settings;
	struct cs_machine machine = { .mpi = request.mpi };
	struct cs_selector *selector;
	cs_settings_read(&settings);
	cs_machine_read(&machine);
	if (cs_selector_create(&selector, &settings, &machine) != CS_OK) {
		fputs("collshim-info: out of memory\n", stderr);
		return WRONG_FILE;
	}
	if (request.explain)
		wrong = explain(&request, selector, machine.cores);
	else
		print_all(&request, &settings, selector, &machine);
	cs_selector_destroy(selector);
	if (fflush(stdout) || ferror(stdout)) {
		perror("collshim-info: standard output");
		return WRONG_FILE;
	}
	return wrong;
}
