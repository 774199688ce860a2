/* collshim-sim — how long would an algorithm take on so many nodes? Simulated, never measured. Needs no MPI. */
#include "algorithms/algorithm.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "plan/build.h"
#include "sim/hier.h"
#include "tools/terminal.h"
#include "tools/words.h"

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { DONE = 0, CANNOT = 1, WRONG_USE = 2 };

#define MOST_MODELS 16

static const char usage[] =
	"usage: collshim-sim COLLECTIVE:ALGORITHM [NAME=VALUE...] [OPTIONS]   simulated time, messages, bytes\n"
	"       collshim-sim COLLECTIVE --compare [OPTIONS]                   of all algorithms that can serve it\n"
	"       collshim-sim --list                                           what can be simulated, and the models\n"
	"       collshim-sim --version | --help\n"
	"\n"
	"  NAME=VALUE           a parameter of the algorithm, as segment=64K: see --list; also behind it, as\n"
	"                       bcast:chain:segment=64K:window=2\n"
	"  --nodes N            nodes (default: 1)\n"
	"  --ppn P              ranks on each node (default: 1)\n"
	"  --cyclic             ranks are dealt out to the nodes in turn (default: a node's ranks follow each other)\n"
	"  --bytes B            size of the call, as 8, 64K or 1M (default: 8); what it counts: see --list\n"
	"  --distribution NAME  blocks of several sizes, made from B: regular, broadcast, spike, half, decreasing or\n"
	"                       geometric (default: regular)\n"
	"  --root R             of rooted collectives (default: 0)\n"
	"  --non-commutative    the operation of a reduction must keep the order of ranks\n"
	"  --overlap            hierarchical allgather(v): what a round has brought is copied out of a node's memory while\n"
	"                       the next round's messages are under way (default: all of it at the end)\n"
	"  --eager SIZE         algorithms without hierarchy: messages up to SIZE are copied into buffers and out of them,\n"
	"                       inside a node all are (default: none)\n"
	"  --model MODEL        hdr-like, 10gbe-like, mt25204, mt23108, cx6-hdr, \"hdr-like,L=2e-6\" or\n"
	"                       \"L=1e-6,o=3e-7,G=4e-11\"; given several times: a result for each (default: hdr-like)\n"
	"  --memory M           most bytes that plans and messages may take (default: 1G)\n"
	"  --verbose            also, on stderr: of one algorithm the simulated time in picoseconds, with each model; how\n"
	"                       long the simulation took, and how much memory\n";

struct request {
	struct cs_sim_call call; /* what it is, not what is made from that */
	const char *what;
	const struct cs_algorithm *algorithm; /* NULL: compare */
	char **words;                         /* NAME=VALUE */
	int word_count;
	size_t memory;
	size_t eager;
	bool compares, lists, is_verbose, has_root, has_bytes, overlaps;
	int model_count;
	struct cs_model models[MOST_MODELS];
};

static int __attribute__((format(printf, 1, 2)))
wrong_use(const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	fputs("collshim-sim: ", stderr);
	vfprintf(stderr, format, arguments);
	fputs("\nTry: collshim-sim --help\n", stderr);
	va_end(arguments);
	return WRONG_USE;
}

/* ---- what there is ------------------------------------------------------------------------------------------ */

static bool
is_plan(const struct cs_algorithm *algorithm)
{
	return algorithm->build || algorithm->inner;
}

/* Of the node part only what decides who reduces is simulated. */
static bool
has_effect(const struct cs_algorithm *algorithm, int param)
{
	int of_plan = 0;
	if (!algorithm->inner)
		return true;
	while (of_plan < CS_MAX_PARAMS && algorithm->inner->params[of_plan].name)
		of_plan++;
	if (algorithm->params[param].is_within_nodes)
		return false;
	return param < of_plan || !strcmp(algorithm->params[param].name, "read_all");
}

static const char *
bytes_meaning(enum cs_coll coll)
{
	if (cs_sim_call_has_sizes(coll) && coll != CS_REDUCE_SCATTER)
		return "bytes of one rank's block, before --distribution";
	return cs_colls[coll].bytes_meaning;
}

static void
list_params(const struct cs_algorithm *algorithm)
{
	char value[CS_NUMBER_TEXT], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
		const struct cs_param *param = &algorithm->params[i];
		if (has_effect(algorithm, i))
			printf("    %s: %s; default %s, %s to %s\n", param->name, param->meaning,
			       cs_bytes_text(value, param->fallback), cs_bytes_text(low, param->low),
			       cs_bytes_text(high, param->high));
	}
}

static int
list(void)
{
	enum cs_coll last = CS_COLL_COUNT;
	const struct cs_algorithm *algorithm;
	char text[CS_MODEL_TEXT];
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++) {
		if (!is_plan(algorithm))
			continue;
		if (algorithm->coll != last)
			printf("%s (bytes: %s)\n", cs_colls[algorithm->coll].name, bytes_meaning(algorithm->coll));
		last = algorithm->coll;
		printf("  %s:%s: %s\n", cs_colls[algorithm->coll].name, algorithm->name, algorithm->summary);
		list_params(algorithm);
	}
	puts("models (seconds, and seconds per byte)");
	for (const struct cs_model *model = cs_models; *model->name; model++)
		printf("  %s: %s\n    %s\n", model->name, model->origin, cs_model_text(text, model));
	return DONE;
}

/* Names of the collective's algorithms that are plans, on stderr. */
static void
offer(enum cs_coll coll)
{
	const char *before = "expected one of ";
	const struct cs_algorithm *algorithm;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++)
		if (algorithm->coll == coll && is_plan(algorithm)) {
			fprintf(stderr, "%s%s:%s", before, cs_colls[coll].name, algorithm->name);
			before = ", ";
		}
	fprintf(stderr, "%s\nTry: collshim-sim --list\n", *before == 'e' ? "this collective has no plan yet" : "");
}

static int
find_coll(const char *name, enum cs_coll *coll)
{
	struct cs_nearest nearest = { .word = name };
	*coll = cs_coll_by_name(name);
	if (*coll != CS_COLL_COUNT)
		return DONE;
	fprintf(stderr, "collshim-sim: %s is no collective; expected one of", name);
	for (int i = 0; i < CS_COLL_COUNT; i++) {
		cs_nearest_try(&nearest, cs_colls[i].name);
		fprintf(stderr, "%s %s", i ? "," : "", cs_colls[i].name);
	}
	fprintf(stderr, nearest.best ? " (did you mean %s?)\n" : "\n", nearest.best);
	return WRONG_USE;
}

static int
find_algorithm(struct request *request)
{
	char name[64];
	const char *what = request->what, *colon = strchr(what, ':');
	size_t length = colon ? (size_t)(colon - what) : strlen(what);
	snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : sizeof name), what);
	if (find_coll(name, &request->call.coll) != DONE)
		return WRONG_USE;
	if (request->compares && colon)
		return wrong_use("%s: --compare takes a collective, here %s, and tries all its algorithms", what, name);
	if (request->compares)
		return DONE;
	const struct cs_algorithm *algorithm = colon ? cs_algorithm_by_name(request->call.coll, colon + 1) : NULL;
	request->algorithm = algorithm;
	if (algorithm && is_plan(algorithm))
		return DONE;
	fprintf(stderr, "collshim-sim: %s: %s; ", what,
		!colon      ? "names no algorithm"
		: algorithm ? "is no plan, so it cannot be simulated"
			    : "no such algorithm");
	offer(request->call.coll);
	return WRONG_USE;
}

/* ---- parameters --------------------------------------------------------------------------------------------- */

static void
set_fallbacks(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm)
{
	for (int i = 0; i < CS_MAX_PARAMS; i++)
		params[i] = algorithm->params[i].name ? algorithm->params[i].fallback : 0;
}

static int
refuse_param(const struct cs_algorithm *algorithm, const char *word)
{
	char names[200] = "", full[80];
	size_t length = strcspn(word, "=");
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (has_effect(algorithm, i))
			snprintf(names + strlen(names), sizeof names - strlen(names), " %s", algorithm->params[i].name);
	snprintf(full, sizeof full, "%s:%s", cs_colls[algorithm->coll].name, algorithm->name);
	if (!*names)
		return wrong_use("%s: %s has no parameters", word, full);
	if (!length || !word[length])
		return wrong_use("%s: expected NAME=VALUE; %s has%s", word, full, names);
	return wrong_use("%s: \"%.*s\" is no parameter of %s, which has%s", word, (int)length, word, full, names);
}

static int
set_param(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm, const char *word)
{
	char low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	size_t length = strcspn(word, "="), value;
	for (int i = 0; word[length] && i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
		const struct cs_param *param = &algorithm->params[i];
		if (strncmp(param->name, word, length) != 0 || param->name[length])
			continue;
		if (!has_effect(algorithm, i))
			return wrong_use("%s: has no effect, as %s", word,
					 param->is_within_nodes ? "one rank of each node is between nodes"
								: "node steps are simulated in one piece, by one leader");
		if (cs_parse_bytes(word + length + 1, &value) != CS_OK || value < param->low || value > param->high)
			return wrong_use("%s: expected a number from %s to %s", word, cs_bytes_text(low, param->low),
					 cs_bytes_text(high, param->high));
		params[i] = value;
		return DONE;
	}
	return refuse_param(algorithm, word);
}

static int
set_params(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm, const struct request *request)
{
	int wrong = DONE;
	set_fallbacks(params, algorithm);
	for (int i = 0; i < request->word_count && !wrong; i++)
		if (cs_tools_is_again(request->words, i))
			wrong = wrong_use("%s: expected each parameter once", request->words[i]);
		else
			wrong = set_param(params, algorithm, request->words[i]);
	return wrong;
}

/* ---- plans -------------------------------------------------------------------------------------------------- */

/* Room for what went wrong: "refuses this call", "too large: ..". */
#define REASON 120

static enum cs_status
build(struct cs_sim_call *call, const struct cs_algorithm *algorithm, int rank, struct cs_plan *plan)
{
	struct cs_builder builder;
	cs_builder_init(&builder, cs_sim_call_seen_by(call, rank), plan);
	algorithm->build(&builder);
	return cs_builder_finish(&builder);
}

/* Bytes that the plans of all ranks take, judged by the smallest of three that are not the root's, nor all first on their
 * node, where one may do the work of all. */
static size_t
guess(const struct cs_sim *sim, struct cs_sim_call *call, const struct cs_algorithm *algorithm)
{
	size_t smallest = SIZE_MAX / (size_t)call->ranks;
	for (long long i = 1; i <= 3; i++) {
		struct cs_plan plan;
		int rank = (int)((call->root + i * call->ranks / 4 + i) % call->ranks);
		enum cs_status status = build(call, algorithm, rank, &plan);
		size_t memory = status == CS_NO_MEMORY ? smallest : 0;
		if (status == CS_OK)
			memory = cs_sim_plan_memory(sim, &plan);
		smallest = memory < smallest ? memory : smallest;
		cs_plan_fini(&plan);
	}
	return smallest * (size_t)call->ranks;
}

/* Copies that follow each other as one: of tens of thousands, as each block has its own, some dozens are left. */
static void
join_copies(struct cs_plan *plan)
{
	size_t count = 0;
	for (size_t i = 0; i < plan->count; i++) {
		struct cs_step *last = count ? &plan->steps[count - 1] : NULL;
		if (last && last->kind == CS_STEP_COPY && plan->steps[i].kind == CS_STEP_COPY)
			last->bytes += plan->steps[i].bytes;
		else
			plan->steps[count++] = plan->steps[i];
	}
	plan->count = count;
}

/* Rank 0's plan for all: in a call of this room each rank's blocks are rank 0's, counted from it, with several sizes, too. */
static enum cs_status
add_turned(struct cs_sim *sim, struct cs_sim_call *call, const struct cs_algorithm *algorithm)
{
	struct cs_plan plan;
	enum cs_status status = build(call, algorithm, 0, &plan);
	if (status == CS_OK)
		join_copies(&plan);
	for (; status == CS_OK && plan.rank < call->ranks; plan.rank++) {
		status = cs_sim_add(sim, &plan);
		for (size_t i = 0; i < plan.count; i++)
			if (plan.steps[i].peer >= 0)
				plan.steps[i].peer = (plan.steps[i].peer + 1) % call->ranks;
	}
	cs_plan_fini(&plan);
	return status;
}

static enum cs_status
add_flat(struct cs_sim *sim, struct cs_sim_call *call, const struct cs_algorithm *algorithm, size_t guessed,
	 size_t memory)
{
	enum cs_status status = guessed > memory ? CS_NO_MEMORY : CS_OK;
	if (status == CS_OK && algorithm->is_turned)
		return add_turned(sim, call, algorithm);
	for (int rank = 0; status == CS_OK && rank < call->ranks; rank++) {
		struct cs_plan plan;
		status = build(call, algorithm, rank, &plan);
		if (status == CS_OK)
			status = cs_sim_add(sim, &plan);
		cs_plan_fini(&plan);
	}
	return status;
}

static size_t
whole_of(const struct cs_algorithm *algorithm, const size_t *params)
{
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (!strcmp(algorithm->params[i].name, "read_all"))
			return params[i];
	return 0;
}

static enum cs_status
add_hier(struct cs_sim *sim, const struct cs_sim_call *call, const struct cs_algorithm *algorithm, const size_t *params,
	 bool overlaps)
{
	const struct cs_hier hier = { .inner = algorithm->inner->coll, .build = algorithm->inner->build,
				      .params = params, .whole = whole_of(algorithm, params),
				      .overlaps = overlaps };
	return cs_hier_add(sim, call, &hier);
}

static void
say_too_large(char reason[REASON], size_t guessed, size_t allowed)
{
	char memory[CS_NUMBER_TEXT], some[40] = "";
	if (guessed > allowed && guessed < SIZE_MAX / 2) /* more: no plan was small enough to be looked at */
		snprintf(some, sizeof some, " some %.2g GiB and", (double)guessed / (1 << 30));
	snprintf(reason, REASON, "too large: steps take%s more than --memory %s", some, cs_bytes_text(memory, allowed));
}

static const char *
unmet(const struct cs_sim_call *call, const struct cs_algorithm *algorithm)
{
	struct cs_facts facts = { .coll = call->coll, .bytes = call->bytes, .ranks = call->ranks, .nodes = call->nodes,
				  .ppn_min = call->ppn, .ppn_max = call->ppn,
				  .is_block_placed = !call->is_cyclic || call->nodes == 1 || call->ppn == 1,
				  .is_commutative = call->problem.is_commutative, .wire = CS_WIRE_HOST };
	return cs_algorithm_unmet(algorithm, &facts);
}

/* A simulator with the steps of all ranks. NULL: `reason` tells. */
static struct cs_sim *
stage(const struct request *request, struct cs_sim_call *call, const struct cs_algorithm *algorithm,
      const size_t *params, char reason[REASON])
{
	struct cs_sim *sim;
	const char *need = unmet(call, algorithm);
	if (need) {
		snprintf(reason, REASON, "cannot serve: %s", need);
		return NULL;
	}
	size_t guessed = 0;
	enum cs_status status = cs_sim_create(&sim, call->ranks, call->node_of, request->memory);
	if (status == CS_OK) {
		cs_sim_join_work(sim);
		cs_sim_copy_messages(sim, request->eager);
		call->problem.params = params;
		guessed = algorithm->inner ? 0 : guess(sim, call, algorithm);
		status = algorithm->inner ? add_hier(sim, call, algorithm, params, request->overlaps)
					  : add_flat(sim, call, algorithm, guessed, request->memory);
	}
	if (status == CS_OK)
		return sim;
	if (status == CS_NO_MEMORY)
		say_too_large(reason, guessed, request->memory);
	else
		snprintf(reason, REASON,
			 status == CS_UNSUPPORTED ? "refuses this call" : "a step of its plan cannot be");
	cs_sim_destroy(sim);
	return NULL;
}

/* ---- results ------------------------------------------------------------------------------------------------ */

#define TIME_TEXT 32

static const char *
time_text(char text[TIME_TEXT], int64_t picoseconds)
{
	static const struct {
		double picoseconds;
		const char *name;
	} units[] = { { 1e12, "s" }, { 1e9, "ms" }, { 1e6, "us" }, { 1e3, "ns" } };
	int unit = 0;
	while (unit < 3 && (double)picoseconds < units[unit].picoseconds)
		unit++;
	double value = (double)picoseconds / units[unit].picoseconds;
	snprintf(text, TIME_TEXT, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[unit].name);
	return text;
}

static void
print_title(const struct cs_sim_call *call, const struct cs_model *model)
{
	char text[CS_MODEL_TEXT];
	bool is_logfp = model->level[CS_INTER].f > 1 || model->level[CS_INTRA].f > 1;
	printf("simulated, not measured: %s, parameters %s%s%s%s\n  %s\n", is_logfp ? "LogGP with LogfP's f" : "LogGP",
	       model->name, model->origin ? " (" : "", model->origin ? model->origin : "", model->origin ? ")" : "",
	       cs_model_text(text, model));
	printf("%s, %d rank%s: %d node%s, %d on each%s", cs_colls[call->coll].name, call->ranks,
	       call->ranks == 1 ? "" : "s", call->nodes, call->nodes == 1 ? "" : "s", call->ppn,
	       call->is_cyclic ? " in turn" : "");
	if (call->coll != CS_BARRIER)
		printf("; %zu %s", call->bytes, bytes_meaning(call->coll));
	if (call->distribution)
		printf(" %s: %zu in all", cs_distribution_names[call->distribution], call->total);
	if (cs_colls[call->coll].rooted)
		printf("; root %d", call->root);
	putchar('\n');
}

static void
print_one(const struct request *request, const size_t *params, const struct cs_sim_result *result)
{
	char text[TIME_TEXT], size[CS_NUMBER_TEXT];
	const struct cs_param *known = request->algorithm->params;
	printf("  %-22s %s:%s", "algorithm", cs_colls[request->call.coll].name, request->algorithm->name);
	for (int i = 0; i < CS_MAX_PARAMS && known[i].name; i++)
		if (has_effect(request->algorithm, i))
			printf(":%s=%s", known[i].name, cs_bytes_text(size, params[i]));
	puts(request->overlaps ? ", copies out overlap messages" : "");
	if (request->eager)
		printf("  %-22s up to %s, inside a node all\n", "messages copied", cs_bytes_text(size, request->eager));
	printf("  %-22s %s\n", "simulated time", time_text(text, result->time));
	printf("  %-22s %" PRIu32 "\n", "rounds", result->rounds);
	printf("  %-22s %" PRIu64 "\n", "messages", result->messages);
	printf("  %-22s %" PRIu64 "\n", "  between nodes", result->inter_messages);
	printf("  %-22s %" PRIu64 "\n", "bytes", result->bytes);
	printf("  %-22s %" PRIu64 "\n", "  between nodes", result->inter_bytes);
}

/* WRONG_USE: *why tells why there is no time with this model; CANNOT: the plans are wrong, which has been said. */
static int
run(struct cs_sim *sim, const struct cs_algorithm *algorithm, const struct cs_model *model,
    struct cs_sim_result *result, const char **why)
{
	static const char *const texts[] = {
		[CS_NO_MEMORY] = "messages under way do not fit into --memory",
		[CS_UNSUPPORTED] = "the simulated time is above 26 days",
	};
	enum cs_status status = cs_sim_run(sim, model, NULL, NULL, result);
	if (status == CS_OK)
		return DONE;
	if (status != CS_BAD_INPUT) {
		*why = texts[status];
		return WRONG_USE;
	}
	fprintf(stderr, "collshim-sim: %s:%s: %s\n", cs_colls[algorithm->coll].name, algorithm->name, result->text);
	return CANNOT;
}

static int
simulate_one(const struct request *request, struct cs_sim_call *call)
{
	size_t params[CS_MAX_PARAMS];
	char reason[REASON];
	const char *why;
	struct cs_sim_result result;
	int wrong = set_params(params, request->algorithm, request);
	if (wrong)
		return wrong;
	struct cs_sim *sim = stage(request, call, request->algorithm, params, reason);
	if (!sim)
		return wrong_use("%s: %s", request->what, reason);
	for (int i = 0; !wrong && i < request->model_count; i++) {
		wrong = run(sim, request->algorithm, &request->models[i], &result, &why);
		if (wrong == WRONG_USE)
			fprintf(stderr, "collshim-sim: %s: %s\n", request->what, why);
		if (wrong)
			break;
		print_title(call, &request->models[i]);
		print_one(request, params, &result);
		if (request->is_verbose)
			fprintf(stderr, "collshim-sim: %s: simulated time exactly %" PRId64 " ps\n",
				request->models[i].name, result.time);
	}
	cs_sim_destroy(sim);
	return wrong;
}

/* ---- compare ------------------------------------------------------------------------------------------------ */

/* Of the table: the algorithm, its result with each model, or why there is none. */
struct row {
	const struct cs_algorithm *algorithm;
	char reason[REASON];          /* with no model; empty: see there */
	const char *why[MOST_MODELS]; /* with this one; NULL: there is one */
	struct cs_sim_result results[MOST_MODELS];
};

static int
fill_row(struct row *row, const struct request *request, struct cs_sim_call *call)
{
	size_t params[CS_MAX_PARAMS];
	int wrong = DONE;
	set_fallbacks(params, row->algorithm);
	struct cs_sim *sim = stage(request, call, row->algorithm, params, row->reason);
	for (int i = 0; sim && wrong != CANNOT && i < request->model_count; i++)
		wrong = run(sim, row->algorithm, &request->models[i], &row->results[i], &row->why[i]);
	cs_sim_destroy(sim);
	return wrong == CANNOT ? CANNOT : DONE;
}

/* NULL: nothing is missing. */
static const char *
missing(const struct row *row, int model)
{
	return *row->reason ? row->reason : row->why[model];
}

static bool
is_behind(const struct row *a, const struct row *b, int model)
{
	if (missing(a, model) || missing(b, model))
		return missing(a, model) && !missing(b, model);
	return a->results[model].time > b->results[model].time;
}

/* Fastest first, those without a result last; else in the order of their names. */
static void
sort(struct row *rows, size_t count, int model)
{
	for (size_t i = 1; i < count; i++)
		for (size_t at = i; at && is_behind(&rows[at - 1], &rows[at], model); at--) {
			struct row moved = rows[at];
			rows[at] = rows[at - 1];
			rows[at - 1] = moved;
		}
}

static void
print_row(const struct row *row, int model, int64_t best)
{
	char name[64], text[TIME_TEXT];
	const struct cs_sim_result *result = &row->results[model];
	snprintf(name, sizeof name, "%s:%s", cs_colls[row->algorithm->coll].name, row->algorithm->name);
	if (missing(row, model))
		printf("  %-40s %s\n", name, missing(row, model));
	else
		printf("  %-40s %14s %8.3g %8" PRIu32 " %12" PRIu64 " %16" PRIu64 " %16" PRIu64 "\n", name,
		       time_text(text, result->time), best ? (double)result->time / (double)best : 1.0, result->rounds,
		       result->messages, result->bytes, result->inter_bytes);
}

static void
print_table(const struct request *request, const struct cs_sim_call *call, struct row *rows, size_t count, int model)
{
	sort(rows, count, model);
	print_title(call, &request->models[model]);
	printf("  %-40s %14s %8s %8s %12s %16s %16s\n", "algorithm", "simulated time", "ratio", "rounds", "messages",
	       "bytes", "between nodes");
	for (size_t i = 0; i < count; i++)
		print_row(&rows[i], model, rows[0].results[model].time);
}

static int
compare(const struct request *request, struct cs_sim_call *call)
{
	size_t count = 0;
	int wrong = DONE;
	const struct cs_algorithm *algorithm;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++)
		count += algorithm->coll == call->coll && is_plan(algorithm);
	if (!count) {
		fprintf(stderr, "collshim-sim: %s: ", cs_colls[call->coll].name);
		offer(call->coll);
		return WRONG_USE;
	}
	struct row *rows = calloc(count, sizeof *rows);
	if (!rows) {
		fputs("collshim-sim: out of memory\n", stderr);
		return CANNOT;
	}
	count = 0;
	for (int i = 0; !wrong && (algorithm = cs_algorithm_at(i)); i++)
		if (algorithm->coll == call->coll && is_plan(algorithm)) {
			rows[count].algorithm = algorithm;
			wrong = fill_row(&rows[count++], request, call);
		}
	for (int model = 0; !wrong && model < request->model_count; model++)
		print_table(request, call, rows, count, model);
	free(rows);
	return wrong;
}

/* ---- arguments ---------------------------------------------------------------------------------------------- */

enum {
	OPTION_COMPARE = 256, OPTION_LIST, OPTION_VERSION, OPTION_HELP, OPTION_NODES, OPTION_PPN, OPTION_CYCLIC,
	OPTION_BYTES, OPTION_DISTRIBUTION, OPTION_ROOT, OPTION_NON_COMMUTATIVE, OPTION_MODEL, OPTION_MEMORY,
	OPTION_VERBOSE, OPTION_OVERLAP, OPTION_EAGER,
};

static const struct option options[] = {
	{ "compare", no_argument, NULL, OPTION_COMPARE },
	{ "list", no_argument, NULL, OPTION_LIST },
	{ "version", no_argument, NULL, OPTION_VERSION },
	{ "help", no_argument, NULL, OPTION_HELP },
	{ "nodes", required_argument, NULL, OPTION_NODES },
	{ "ppn", required_argument, NULL, OPTION_PPN },
	{ "cyclic", no_argument, NULL, OPTION_CYCLIC },
	{ "bytes", required_argument, NULL, OPTION_BYTES },
	{ "distribution", required_argument, NULL, OPTION_DISTRIBUTION },
	{ "root", required_argument, NULL, OPTION_ROOT },
	{ "non-commutative", no_argument, NULL, OPTION_NON_COMMUTATIVE },
	{ "overlap", no_argument, NULL, OPTION_OVERLAP },
	{ "eager", required_argument, NULL, OPTION_EAGER },
	{ "model", required_argument, NULL, OPTION_MODEL },
	{ "memory", required_argument, NULL, OPTION_MEMORY },
	{ "verbose", no_argument, NULL, OPTION_VERBOSE },
	{ NULL, 0, NULL, 0 },
};

static int
read_number(const char *name, const char *text, size_t low, size_t high, size_t *number)
{
	char low_text[CS_NUMBER_TEXT], high_text[CS_NUMBER_TEXT];
	if (cs_parse_bytes(text, number) == CS_OK && *number >= low && *number <= high)
		return DONE;
	return wrong_use("--%s %s: expected a number from %s to %s", name, text, cs_bytes_text(low_text, low),
			 cs_bytes_text(high_text, high));
}

static int
read_count(const char *name, const char *text, size_t low, size_t high, int *count)
{
	size_t number = low;
	int wrong = read_number(name, text, low, high, &number);
	*count = (int)number;
	return wrong;
}

static int
read_distribution(const char *text, struct request *request)
{
	for (enum cs_distribution i = 0; i < CS_DISTRIBUTIONS; i++)
		if (!strcmp(text, cs_distribution_names[i])) {
			request->call.distribution = i;
			return DONE;
		}
	return wrong_use("--distribution %s: expected regular, broadcast, spike, half, decreasing or geometric", text);
}

static int
read_model(const char *text, struct request *request)
{
	char complaint[300];
	if (request->model_count == MOST_MODELS)
		return wrong_use("--model %s: expected at most %d models", text, MOST_MODELS);
	if (cs_model_read(text, &request->models[request->model_count], complaint, sizeof complaint) != CS_OK)
		return wrong_use("--model %s: %s", text, complaint);
	request->model_count++;
	return DONE;
}

static int
check_bytes(struct request *request)
{
	struct cs_sim_call *call = &request->call;
	const struct cs_coll_info *info = &cs_colls[call->coll];
	bool is_scattered = call->coll == CS_REDUCE_SCATTER || call->coll == CS_REDUCE_SCATTER_BLOCK;
	size_t parts = is_scattered ? (size_t)call->nodes * (size_t)call->ppn : 1;
	if (call->coll == CS_BARRIER && request->has_bytes && call->bytes)
		return wrong_use("--bytes %zu: a barrier has no size", call->bytes);
	if (!request->has_bytes)
		call->bytes = call->coll == CS_BARRIER ? 0 : CS_CALL_UNIT * parts;
	if (info->reduces && call->bytes % (CS_CALL_UNIT * parts))
		return wrong_use("--bytes %zu: expected a multiple of %zu for %s, elements have %d bytes", call->bytes,
				 CS_CALL_UNIT * parts, info->name, CS_CALL_UNIT);
	return DONE;
}

/* How an algorithm's data moves is asked of one algorithm that moves it so. */
static int
check_way(const struct request *request)
{
	bool is_allgather = request->call.coll == CS_ALLGATHER || request->call.coll == CS_ALLGATHERV;
	bool is_hier = request->algorithm && request->algorithm->inner;
	if (request->overlaps && !(is_hier && is_allgather))
		return wrong_use("--overlap: expected a hierarchical allgather or allgatherv, as allgather:hier:ring");
	if (request->eager && (is_hier || !request->algorithm))
		return wrong_use("--eager: expected one algorithm without hierarchy, as allgather:recursive-doubling");
	return DONE;
}

static int
check_call(struct request *request)
{
	const struct cs_sim_call *call = &request->call;
	const struct cs_coll_info *info = &cs_colls[call->coll];
	long long ranks = (long long)call->nodes * call->ppn;
	if (ranks > INT_MAX)
		return wrong_use("%d nodes of %d ranks: expected at most %d ranks", call->nodes, call->ppn, INT_MAX);
	if (request->has_root && !info->rooted)
		return wrong_use("--root: %s has no root", info->name);
	if (call->bytes > ((size_t)1 << 60) / (size_t)ranks)
		return wrong_use("--bytes %zu: too much for %lld ranks", call->bytes, ranks);
	if (call->root >= ranks)
		return wrong_use("--root %d: expected a rank from 0 to %lld", call->root, ranks - 1);
	if (call->distribution && !cs_sim_call_has_sizes(call->coll))
		return wrong_use("--distribution: all blocks of %s have one size; expected a collective as %sv",
				 info->name, call->coll == CS_ALLTOALL ? "alltoall" : "allgather");
	if (!call->is_commutative && !info->reduces)
		return wrong_use("--non-commutative: %s has no operation", info->name);
	return check_bytes(request);
}

static int
read_words(int argc, char **argv, struct request *request)
{
	for (int i = optind; i < argc; i++) {
		if (strchr(argv[i], '=') && !cs_tools_params(argv[i])) {
			request->words[request->word_count++] = argv[i];
		} else if (request->what) {
			return wrong_use("unexpected argument %s; expected one COLLECTIVE:ALGORITHM and NAME=VALUE",
					 argv[i]);
		} else {
			request->what = argv[i];
			request->word_count += cs_tools_cut(argv[i], request->words + request->word_count);
		}
	}
	if (!request->what == !request->lists)
		return wrong_use("expected COLLECTIVE:ALGORITHM, COLLECTIVE --compare or --list");
	if (request->word_count && (request->lists || request->compares))
		return wrong_use("%s belongs to one algorithm, not to %s", request->words[0],
				 request->lists ? "--list" : "--compare");
	return DONE;
}

/* DONE, WRONG_USE, or -1 when --help or --version has been answered. */
static int
read_option(int option, struct request *request)
{
	struct cs_sim_call *call = &request->call;
	switch (option) {
	case OPTION_COMPARE: request->compares = true; break;
	case OPTION_LIST: request->lists = true; break;
	case OPTION_NODES: return read_count("nodes", optarg, 1, 1 << 20, &call->nodes);
	case OPTION_PPN: return read_count("ppn", optarg, 1, 1 << 12, &call->ppn);
	case OPTION_CYCLIC: call->is_cyclic = true; break;
	case OPTION_BYTES:
		request->has_bytes = true;
		return read_number("bytes", optarg, 0, (size_t)1 << 40, &call->bytes);
	case OPTION_DISTRIBUTION: return read_distribution(optarg, request);
	case OPTION_ROOT:
		request->has_root = true;
		return read_count("root", optarg, 0, INT_MAX, &call->root);
	case OPTION_NON_COMMUTATIVE: call->is_commutative = false; break;
	case OPTION_OVERLAP: request->overlaps = true; break;
	case OPTION_EAGER: return read_number("eager", optarg, 1, (size_t)1 << 40, &request->eager);
	case OPTION_MODEL: return read_model(optarg, request);
	case OPTION_MEMORY: return read_number("memory", optarg, 1 << 20, (size_t)1 << 40, &request->memory);
	case OPTION_VERBOSE: request->is_verbose = true; break;
	case OPTION_VERSION:
		puts("collshim " CS_VERSION);
		return -1;
	case OPTION_HELP:
	case 'h':
		fputs(usage, stdout);
		return -1;
	default: /* getopt_long has said what */
		fputs("Try: collshim-sim --help\n", stderr);
		return WRONG_USE;
	}
	return DONE;
}

static int
read_arguments(int argc, char **argv, struct request *request)
{
	int wrong = DONE, option;
	while (!wrong && (option = getopt_long(argc, argv, "h", options, NULL)) != -1)
		wrong = read_option(option, request);
	if (!wrong)
		wrong = read_words(argc, argv, request);
	if (wrong || request->lists)
		return wrong;
	wrong = find_algorithm(request);
	if (!wrong)
		wrong = check_way(request);
	return wrong ? wrong : check_call(request);
}

/* A single plan may be larger than anything; malloc shall say so, not the machine. (The sanitizer's own memory is more.) */
static void
limit_memory(size_t bytes)
{
#ifndef __SANITIZE_ADDRESS__
	struct rlimit limit;
	rlim_t wanted = 3 * (rlim_t)bytes + (256 << 20);
	if (getrlimit(RLIMIT_DATA, &limit) == 0 && (limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur > wanted)) {
		limit.rlim_cur = wanted;
		setrlimit(RLIMIT_DATA, &limit);
	}
#endif
	/* Large plans come and go, one for each rank: memory is kept for the next one, or the kernel clears it each time. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

static void
say_cost(const struct timespec *start)
{
	struct timespec end;
	struct rusage usage_now;
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &usage_now);
	fprintf(stderr, "collshim-sim: the simulation took %.2f s and %ld MiB at most\n",
		(double)(end.tv_sec - start->tv_sec) + 1e-9 * (double)(end.tv_nsec - start->tv_nsec),
		usage_now.ru_maxrss / 1024);
}

static int
simulate(const struct request *request)
{
	struct cs_sim_call call = request->call;
	struct timespec start;
	int wrong = CANNOT;
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (cs_sim_call_init(&call) != CS_OK)
		fputs("collshim-sim: out of memory\n", stderr);
	else
		wrong = request->compares ? compare(request, &call) : simulate_one(request, &call);
	cs_sim_call_fini(&call);
	if (request->is_verbose && !wrong)
		say_cost(&start);
	return wrong;
}

int
main(int argc, char **argv)
{
	struct request request = { .call = { .nodes = 1, .ppn = 1, .is_commutative = true },
				   .memory = (size_t)1 << 30 };
	cs_tools_print_printably();
	size_t most_words = (size_t)argc + 1;
	for (int i = 1; i < argc; i++)
		most_words += cs_tools_most_words(argv[i]);
	request.words = calloc(most_words, sizeof *request.words);
	int wrong = request.words ? read_arguments(argc, argv, &request) : CANNOT;
	if (!request.model_count)
		request.models[request.model_count++] = cs_models[0];
	if (!wrong) {
		limit_memory(request.memory);
		wrong = request.lists ? list() : simulate(&request);
	}
	free(request.words);
	if (fflush(stdout) || ferror(stdout)) {
		perror("collshim-sim: standard output");
		return CANNOT;
	}
	return wrong < 0 ? DONE : wrong;
}
