/* collshim-info — what the library can do and would do here. Needs no MPI. */
#include "algorithms/algorithm.h"
#include "base/parse.h"
#include "base/settings.h"
#include "coll/coll.h"
#include "select/select.h"
#include "tools/doctor.h"
#include "tools/draw.h"
#include "tools/info_json.h"
#include "tools/learnt.h"
#include "tools/stuck.h"
#include "tools/terminal.h"
#include "tools/words.h"

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
	"usage: collshim-info                     this machine, what is set, which tuning is in "
	"force\n"
	"       collshim-info --all               the four lists that follow\n"
	"       collshim-info --settings          COLLSHIM_* variables: meaning, default, value "
	"here\n"
	"       collshim-info --limits            limits of the tuning: meaning, value, origin\n"
	"       collshim-info --algorithms        algorithms: what they need, their parameters\n"
	"       collshim-info --tuning            tuning files and blocks that are in force here\n"
	"       collshim-info --check FILE        lists the errors of a tuning file; exit 1 if "
	"there are any\n"
	"       collshim-info --learnt [FILE]     rules that jobs have learnt\n"
	"       collshim-info --explain CALL      which algorithm would serve CALL, and why not "
	"another\n"
	"       collshim-info --draw C:A [P=V...] what each rank does in collective C by algorithm "
	"A, with parameters\n"
	"       collshim-info --doctor            what would be used on this node, why not more, "
	"and what to do;\n"
	"                                         exit 1 if there is a problem\n"
	"       collshim-info --stuck PID|JOB     in which collectives a process, those that it "
	"started, or those of a\n"
	"                                         job on this machine hang; exit 3: in none\n"
	"       --json with --algorithms, --explain or --doctor: for programs\n"
	"       collshim-info --version | --help\n"
	"\n"
	"CALL is a collective with its size, as allgather:8K, bcast:1M, barrier, alltoallv, or for "
	"a non-blocking\n"
	"call iallgather:8K, ibarrier, and is asked with\n"
	"  --ranks R           ranks of the communicator (default: what --ppn and --nodes make, "
	"else one per core)\n"
	"  --ppn P             ranks on each node (default: spread evenly over --nodes)\n"
	"  --nodes N           nodes (default: as many as --ranks and --ppn make, else 1)\n"
	"  --mpi mpich|openmpi only blocks for this MPI, or for any (default: blocks for every "
	"MPI)\n"
	"  --cyclic            ranks of a node do not follow each other\n"
	"  --non-commutative   the operation of a reduction must keep the order of ranks\n"
	"  --wire host|ib      what plans between nodes send by (default: host)\n"
	"  --skew S            allgatherv, reduce_scatter: the largest block is S times the mean "
	"(default: 1)\n"
	"  --imbalance C       how far apart ranks come: balanced (default), moderate or strong\n"
	"  --all               also rows that do not fit, algorithms that cannot serve, and why\n"
	"\n"
	"--draw takes all of these but --mpi, --wire, --skew, --imbalance and --all (default: 8\n"
	"ranks),\n"
	"256 at most, parameters behind the algorithm, too, as "
	"bcast:chain:segment=8K:window=2, and\n"
	"  --bytes N           bytes of a block, or of the vector (default: 1K)\n"
	"  --root R            the root (default: 0)\n"
	"  --svg FILE          a time line instead of a table, written to FILE (- for standard "
	"output)\n";

/* Options of the command line. */
struct request {
	const char *check, *explain, *mpi, *svg;
	char *draw;
	size_t ranks, ppn, nodes, skew; /* 0: not given */
	int wire;                 /* 0: not given */
	enum cs_balance imbalance;
	bool has_imbalance, has_all;
	size_t bytes, root;
	char *const *words;       /* behind the options */
	int word_count;
	bool is_cyclic, is_non_commutative, has_bytes, has_root;
	bool shows_settings, shows_limits, shows_algorithms, shows_tuning, is_doctor, is_json;
	bool modifies;            /* an option was given that only --explain and --draw take */
};

/* One line, whatever the arguments had in them. */
static int __attribute__((format(printf, 1, 2)))
wrong_use(const char *format, ...)
{
	char text[2048];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	cs_printable_make(text, false);
	fprintf(stderr, "collshim-info: %s\nTry: collshim-info --help\n", text);
	return WRONG_USE;
}

/* ---- lists ----------------------------------------------------------------------------------- */

static void
print_needs(const struct cs_needs *needs)
{
	bool any = false;
	for (const struct cs_need *need = cs_need_names; need->name; need++) {
		if (!need->phrase || !cs_has_need(needs, need))
			continue;
		printf("%s%s", any ? "; " : "      needs: ", need->phrase);
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
			printf("  %s (bytes: %s)\n    host: the MPI itself, always possible\n",
			       cs_colls[algorithm->coll].name,
			       cs_colls[algorithm->coll].bytes_meaning);
		last = algorithm->coll;
		printf("    %s: %s\n", algorithm->name, algorithm->summary);
		print_needs(&algorithm->needs);
		for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
			const struct cs_param *param = &algorithm->params[i];
			char value[CS_NUMBER_TEXT], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
			printf("      %s: %s; default %s, %s to %s\n", param->name, param->meaning,
			       cs_bytes_text(value, param->fallback),
			       cs_bytes_text(low, param->low), cs_bytes_text(high, param->high));
		}
	}
}

static void
print_all(const struct request *request, const struct cs_settings *settings,
	  const struct cs_selector *selector, const struct cs_machine *machine)
{
	bool shows_all = request->has_all,
	     is_short = !shows_all && !request->shows_settings && !request->shows_limits &&
			!request->shows_algorithms && !request->shows_tuning;
	if (shows_all || is_short)
		printf("collshim %s\nmachine: host %s, %zu core%s, cpu %s\n", CS_VERSION,
		       machine->host, machine->cores, machine->cores == 1 ? "" : "s",
		       *machine->cpu ? machine->cpu : "not known");
	if (is_short) {
		puts("variables that are set:");
		if (!cs_settings_print_set(stdout, settings))
			puts("  none");
	}
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
	if (shows_all || is_short || request->shows_tuning) {
		puts("tuning, first file first:");
		cs_selector_print_sources(selector, stdout);
	}
	if (is_short)
		puts("more: --explain allreduce:8K (which algorithm serves a call, and why),\n"
		     "      --doctor (what would be used on this node, and why not more),\n"
		     "      --settings, --limits, --algorithms, --tuning, or --all of these");
}

/* ---- explain --------------------------------------------------------------------------------- */

static int
read_call(const char *text, struct cs_facts *facts)
{
	char name[64];
	const char *colon = strchr(text, ':');
	size_t length = colon ? (size_t)(colon - text) : strlen(text);
	snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name),
		 text);
	facts->is_nonblocking = *name == 'i';
	facts->coll = cs_coll_by_name(name + facts->is_nonblocking);
	if (facts->coll == CS_COLL_COUNT) {
		fprintf(stderr, "collshim-info: %s is no collective; known:", name);
		for (int i = 0; i < CS_COLL_COUNT; i++)
			fprintf(stderr, "%s %s", i ? "," : "", cs_colls[i].name);
		fputs(", each also as ibcast\n", stderr);
		return WRONG_USE;
	}
	if (!cs_colls[facts->coll].bytes_agreed) {
		facts->bytes = CS_BYTES_UNKNOWN;
		if (colon)
			return wrong_use("not all ranks know the size of a call of %s; ask for "
					 "--explain %s", name, name);
		return DONE;
	}
	facts->bytes = 0;
	if (!colon && facts->coll != CS_BARRIER)
		return wrong_use("a call of %s has a size; ask for --explain %s:8K (%s)", name,
				 name, cs_colls[facts->coll].bytes_meaning);
	if (colon && (cs_parse_bytes(colon + 1, &facts->bytes) != CS_OK || facts->bytes == CS_INF))
		return wrong_use("\"%s\" is no size; expected a number of bytes as 8, 64K or 1M",
				 colon + 1);
	if (facts->coll == CS_BARRIER && facts->bytes)
		return wrong_use("a barrier has no size; ask for --explain %s", name);
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
		return wrong_use("%zu ranks are not on %zu nodes with %zu on each", ranks, nodes,
				 ppn);
	if (ranks > INT_MAX)
		return wrong_use("more than %d ranks", INT_MAX);
	facts->ranks = (int)ranks;
	facts->nodes = (int)nodes;
	facts->ppn_max = (int)most;
	facts->ppn_min = (int)(ppn ? ranks - rest : ranks / nodes);
	return DONE;
}

static void
explain_order(const struct cs_settings *settings, const struct cs_facts *facts)
{
	if (settings->is_reproducible && cs_colls[facts->coll].reduces)
		printf("but COLLSHIM_REPRODUCIBLE is set: that is for integers, logical values "
		       "and bytes; all else %s, whatever is chosen\n", facts->is_nonblocking
		       ? "stays with the MPI" : "is reduced\n  in the order of ranks");
}

static int
explain(const struct request *request, const struct cs_selector *selector,
	const struct cs_settings *settings, size_t cores)
{
	struct cs_facts facts = {
		.is_block_placed = !request->is_cyclic,
		.is_commutative = !request->is_non_commutative,
		.skew = request->skew ? cs_skew_of(request->skew) : 1,
		.wire = request->wire ? request->wire : CS_WIRE_HOST,
		.imbalance = request->imbalance,
		.has_progress = !request->mpi || strcmp(request->mpi, "mpich"),
		.by_thread = settings->progress == CS_PROGRESS_THREAD &&
			     request->wire == CS_WIRE_IB,
	};
	int wrong = read_call(request->explain, &facts);
	wrong = wrong ? wrong : spread(request, cores, &facts);
	if (wrong)
		return wrong;
	if (request->is_non_commutative && !cs_colls[facts.coll].reduces)
		return wrong_use("--non-commutative: %s has no operation",
				 cs_colls[facts.coll].name);
	if (request->skew && !cs_colls[facts.coll].has_skew)
		return wrong_use("--skew: %s has blocks of one size, or not all ranks know them",
				 cs_colls[facts.coll].name);
	facts.is_block_placed |= facts.nodes == 1 || facts.ppn_max == 1;
	if (facts.nodes == 1)
		facts.wire = CS_WIRE_HOST; /* there is none */
	struct cs_override overrides[CS_OVERRIDES];
	int count = cs_tools_overrides(&facts, settings, request->mpi, overrides);
	if (request->is_json) {
		cs_info_json_explain(stdout, selector, &facts, request->mpi, overrides, count);
		return DONE;
	}
	cs_selector_explain(selector, &facts, stdout);
	explain_order(settings, &facts);
	for (int i = 0; i < count; i++)
		printf("   but %s\n", overrides[i].text);
	cs_selector_explain_why(selector, &facts, request->has_all, stdout);
	if (!facts.is_nonblocking && (!settings->is_adaptive || settings->is_reproducible))
		puts("no live choice: COLLSHIM_ADAPT=off, or COLLSHIM_REPRODUCIBLE=1");
	return DONE;
}

/* ---- draw ------------------------------------------------------------------------------------ */

/* Parameters may stand behind the algorithm, as in forcing variables, or as words of their own, or
 * both. */
static char **
all_words(const struct request *request, int *count)
{
	char **words = calloc(cs_tools_most_words(request->draw) + (size_t)request->word_count + 1,
			      sizeof *words);
	if (!words)
		return NULL;
	*count = cs_tools_cut(request->draw, words);
	for (int i = 0; i < request->word_count; i++)
		words[(*count)++] = request->words[i];
	return words;
}

static int
draw_words(const struct request *request, char *const *words, int word_count)
{
	char complaint[CS_DRAW_COMPLAINT];
	struct cs_draw_request asked = {
		.what = request->draw, .ppn = request->ppn, .is_cyclic = request->is_cyclic,
		.has_bytes = request->has_bytes, .bytes = request->bytes,
		.has_root = request->has_root, .root = request->root,
		.svg = request->svg, .words = words, .word_count = word_count, .text = stdout,
	};
	int wrong = spread(request, CS_DRAW_RANKS, &asked.facts);
	if (wrong)
		return wrong;
	asked.facts.is_commutative = !request->is_non_commutative;
	asked.facts.wire = CS_WIRE_HOST;
	asked.facts.is_block_placed = !request->is_cyclic || asked.facts.nodes == 1 ||
				      asked.facts.ppn_max == 1;
	wrong = cs_tools_draw(&asked, complaint);
	if (wrong == WRONG_USE)
		return wrong_use("%s", complaint);
	if (wrong)
		fprintf(stderr, "collshim-info: %s\n", complaint);
	return wrong;
}

static int
draw(const struct request *request)
{
	int count = 0;
	char **words = all_words(request, &count);
	if (!words) {
		fputs("collshim-info: out of memory\n", stderr);
		return WRONG_FILE;
	}
	int wrong = draw_words(request, words, count);
	free(words);
	return wrong;
}

/* ---- check ----------------------------------------------------------------------------------- */

static int
check(const char *path)
{
	int errors = cs_tuning_check(path, stdout);
	if (errors == 0)
		printf("%s: no errors\n", path);
	return errors == 0 ? DONE : WRONG_FILE;
}

/* ---- doctor ---------------------------------------------------------------------------------- */

static int
doctor(bool is_json)
{
	int problems = cs_tools_doctor(stdout, is_json);
	if (problems < 0)
		fputs("collshim-info: out of memory\n", stderr);
	return problems ? WRONG_FILE : DONE;
}

/* ---- arguments ------------------------------------------------------------------------------- */

enum {
	OPTION_SETTINGS = 256, OPTION_LIMITS, OPTION_ALGORITHMS, OPTION_TUNING, OPTION_CHECK,
		OPTION_EXPLAIN,
	OPTION_DRAW, OPTION_VERSION, OPTION_HELP, OPTION_RANKS, OPTION_PPN, OPTION_NODES,
	OPTION_MPI, OPTION_CYCLIC, OPTION_NON_COMMUTATIVE, OPTION_SKEW, OPTION_BYTES, OPTION_ROOT,
	OPTION_SVG, OPTION_WIRE, OPTION_IMBALANCE, OPTION_DOCTOR, OPTION_JSON, OPTION_ALL,
};

static const struct option options[] = {
	{ "settings", no_argument, NULL, OPTION_SETTINGS },
	{ "limits", no_argument, NULL, OPTION_LIMITS },
	{ "algorithms", no_argument, NULL, OPTION_ALGORITHMS },
	{ "tuning", no_argument, NULL, OPTION_TUNING },
	{ "check", required_argument, NULL, OPTION_CHECK },
	{ "explain", required_argument, NULL, OPTION_EXPLAIN },
	{ "draw", required_argument, NULL, OPTION_DRAW },
	{ "doctor", no_argument, NULL, OPTION_DOCTOR },
	{ "json", no_argument, NULL, OPTION_JSON },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "ranks", required_argument, NULL, OPTION_RANKS },
	{ "ppn", required_argument, NULL, OPTION_PPN },
	{ "nodes", required_argument, NULL, OPTION_NODES },
	{ "mpi", required_argument, NULL, OPTION_MPI },
	{ "cyclic", no_argument, NULL, OPTION_CYCLIC },
	{ "non-commutative", no_argument, NULL, OPTION_NON_COMMUTATIVE },
	{ "skew", required_argument, NULL, OPTION_SKEW },
	{ "wire", required_argument, NULL, OPTION_WIRE },
	{ "imbalance", required_argument, NULL, OPTION_IMBALANCE },
	{ "all", no_argument, NULL, OPTION_ALL },
	{ "bytes", required_argument, NULL, OPTION_BYTES },
	{ "root", required_argument, NULL, OPTION_ROOT },
	{ "svg", required_argument, NULL, OPTION_SVG },
	{ NULL, 0, NULL, 0 },
};

static int
read_count(const char *name, const char *text, size_t *count)
{
	if (cs_parse_bytes(text, count) == CS_OK && *count > 0 && *count <= INT_MAX)
		return DONE;
	return wrong_use("--%s %s: expected a number from 1 to %d", name, text, INT_MAX);
}

static int
read_number(const char *name, const char *text, bool *is_given, size_t *number)
{
	*is_given = true;
	if (cs_parse_bytes(text, number) == CS_OK && *number != CS_INF)
		return DONE;
	return wrong_use("--%s %s: expected a number as 0, 8 or 64K", name, text);
}

static int
read_wire(const char *text, int *wire)
{
	*wire = !strcmp(text, "host") ? CS_WIRE_HOST : !strcmp(text, "ib") ? CS_WIRE_IB : 0;
	return *wire ? DONE : wrong_use("--wire %s: expected host or ib", text);
}

static int
read_imbalance(const char *text, struct request *request)
{
	request->has_imbalance = true;
	request->imbalance = cs_balance_by_name(text);
	return request->imbalance < CS_BALANCES
	       ? DONE : wrong_use("--imbalance %s: expected balanced, moderate or strong", text);
}

/* Do the options that were given go together? */
static int
check_request(const struct request *request)
{
	bool shows = request->shows_settings || request->shows_limits ||
		     request->shows_algorithms || request->shows_tuning;
	if (request->word_count && !request->draw)
		return wrong_use("unexpected argument %s", request->words[0]);
	if (shows + !!request->check + !!request->explain + !!request->draw + request->is_doctor >
	    1)
		return wrong_use("--check, --explain, --draw, --doctor and lists cannot be asked "
				 "for together");
	if (request->modifies && !request->explain && !request->draw)
		return wrong_use("--ranks, --ppn, --nodes, --mpi, --cyclic and --non-commutative "
				 "belong to --explain, --draw");
	if ((request->has_bytes || request->has_root || request->svg) && !request->draw)
		return wrong_use("--bytes, --root and --svg belong to --draw");
	if (request->skew && !request->explain)
		return wrong_use("--skew belongs to --explain");
	if (request->wire && !request->explain)
		return wrong_use("--wire belongs to --explain");
	if (request->has_all && !request->explain &&
	    (shows || request->check || request->draw || request->is_doctor || request->is_json))
		return wrong_use("--all belongs to --explain, or is asked for alone");
	if (request->has_imbalance && !request->explain)
		return wrong_use("--imbalance belongs to --explain");
	if (request->is_json &&
	    (request->shows_settings || request->shows_limits || request->shows_tuning ||
	     !(request->shows_algorithms || request->explain || request->is_doctor)))
		return wrong_use("--json belongs to --algorithms, --explain and --doctor");
	if (request->mpi && request->draw)
		return wrong_use("--mpi belongs to --explain: a drawing is the same for every MPI");
	return DONE;
}

/* DONE, WRONG_USE, or -1 when --help or --version has been answered. */
static int
read_arguments(int argc, char **argv, struct request *request)
{
	int wrong = DONE, option;
	while (!wrong && (option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		request->modifies |= option >= OPTION_RANKS && option <= OPTION_NON_COMMUTATIVE;
		switch (option) {
		case OPTION_SETTINGS: request->shows_settings = true; break;
		case OPTION_LIMITS: request->shows_limits = true; break;
		case OPTION_ALGORITHMS: request->shows_algorithms = true; break;
		case OPTION_TUNING: request->shows_tuning = true; break;
		case OPTION_DOCTOR: request->is_doctor = true; break;
		case OPTION_JSON: request->is_json = true; break;
		case OPTION_CHECK: request->check = optarg; break;
		case OPTION_EXPLAIN: request->explain = optarg; break;
		case OPTION_RANKS: wrong = read_count("ranks", optarg, &request->ranks); break;
		case OPTION_PPN: wrong = read_count("ppn", optarg, &request->ppn); break;
		case OPTION_NODES: wrong = read_count("nodes", optarg, &request->nodes); break;
		case OPTION_CYCLIC: request->is_cyclic = true; break;
		case OPTION_NON_COMMUTATIVE: request->is_non_commutative = true; break;
		case OPTION_SKEW: wrong = read_count("skew", optarg, &request->skew); break;
		case OPTION_WIRE: wrong = read_wire(optarg, &request->wire); break;
		case OPTION_ALL: request->has_all = true; break;
		case OPTION_IMBALANCE: wrong = read_imbalance(optarg, request); break;
		case OPTION_DRAW: request->draw = optarg; break;
		case OPTION_BYTES: wrong = read_number("bytes", optarg, &request->has_bytes,
						       &request->bytes); break;
		case OPTION_ROOT: wrong = read_number("root", optarg, &request->has_root,
						      &request->root); break;
		case OPTION_SVG: request->svg = optarg; break;
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
	request->words = argv + optind;
	request->word_count = argc - optind;
	return check_request(request);
}

/* A full disk is not silence. */
static int
finish(int status)
{
	if (fflush(stdout) || ferror(stdout)) {
		perror("collshim-info: standard output");
		return WRONG_FILE;
	}
	return status;
}

int
main(int argc, char **argv)
{
	cs_tools_print_printably();
	struct request request = { 0 };
	if (argc > 1 && !strcmp(argv[1], "--learnt"))
		return finish(cs_tools_learnt(argc - 1, argv + 1));
	if (argc > 1 && !strcmp(argv[1], "--stuck"))
		return finish(cs_tools_stuck(argc - 1, argv + 1));
	int wrong = read_arguments(argc, argv, &request);
	if (wrong)
		return wrong < 0 ? finish(DONE) : wrong;
	if (request.check)
		return finish(check(request.check));
	if (request.draw)
		return finish(draw(&request));
	if (request.is_doctor)
		return finish(doctor(request.is_json));
	if (request.is_json && !request.explain) {
		cs_info_json_algorithms(stdout);
		return finish(DONE);
	}
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
		wrong = explain(&request, selector, &settings, machine.cores);
	else
		print_all(&request, &settings, selector, &machine);
	cs_selector_destroy(selector);
	return finish(wrong);
}
