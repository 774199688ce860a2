/* tools/sim_results.c — simulates one algorithm, or all of a collective, with each model, and
 * prints the results. */
#include "tools/sim_request.h"

#include "base/parse.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const char *
cs_tool_time_text(char text[CS_TIME_TEXT], double picoseconds)
{
	static const struct {
		double picoseconds;
		const char *name;
	} units[] = { { 1e12, "s" }, { 1e9, "ms" }, { 1e6, "us" }, { 1e3, "ns" } };
	int unit = 0;
	while (unit < 3 && picoseconds < units[unit].picoseconds)
		unit++;
	double value = picoseconds / units[unit].picoseconds;
	snprintf(text, CS_TIME_TEXT, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value,
		 units[unit].name);
	return text;
}

void
cs_tool_print_title(const struct cs_sim_call *call, const struct cs_model *model)
{
	char text[CS_MODEL_TEXT];
	bool is_logfp = model->level[CS_INTER].f > 1 || model->level[CS_INTRA].f > 1;
	printf("simulated, not measured: %s, parameters %s%s%s%s\n  %s\n",
	       is_logfp ? "LogGP with LogfP's f" : "LogGP", model->name, model->origin ? " (" : "",
	       model->origin ? model->origin : "", model->origin ? ")" : "",
	       cs_model_text(text, model));
	printf("%s, %d rank%s: %d node%s, %d on each%s", cs_colls[call->coll].name, call->ranks,
	       call->ranks == 1 ? "" : "s", call->nodes, call->nodes == 1 ? "" : "s", call->ppn,
	       call->is_cyclic ? " in turn" : "");
	if (call->coll != CS_BARRIER)
		printf("; %zu %s", call->bytes, cs_tool_bytes_meaning(call->coll));
	if (call->distribution)
		printf(" %s: %zu in all", cs_distribution_names[call->distribution], call->total);
	if (cs_colls[call->coll].rooted)
		printf("; root %d", call->root);
	putchar('\n');
}

void
cs_tool_print_groups(const struct cs_sim_options *request)
{
	if (!request->group_nodes)
		return;
	printf("groups of %d node%s", request->group_nodes, request->group_nodes == 1 ? "" : "s");
	if (request->group_first < request->group_nodes)
		printf(", the first of %d", request->group_first);
	printf(", links tapered %g to 1\n", (double)request->taper / CS_SIM_TAPER);
}

void
cs_tool_print_algorithm(const struct cs_sim_options *request, const size_t *params)
{
	char size[CS_NUMBER_TEXT];
	const struct cs_param *known = request->algorithm->params;
	printf("  %-22s %s:%s", "algorithm", cs_colls[request->call.coll].name,
	       request->algorithm->name);
	for (int i = 0; i < CS_MAX_PARAMS && known[i].name; i++)
		if (cs_tool_has_effect(request->algorithm, i,
				       cs_tool_is_played(request, request->algorithm)))
			printf(":%s=%s", known[i].name, cs_bytes_text(size, params[i]));
	puts(request->overlaps ? ", copies out overlap messages" :
	     !request->is_alike ? "" : request->plays ? ", a row of nodes for all"
						       : ", node 0 for all");
	if (request->eager)
		printf("  %-22s up to %s, inside a node all\n", "messages copied",
		       cs_bytes_text(size, request->eager));
}

/* The part of the call's time in which a node has messages to or from others. */
static double
share_of(const struct cs_sim_result *result)
{
	return result->time ? (double)result->inter_time / (double)result->time : 0;
}

static void
print_one(const struct cs_sim_options *request, const size_t *params,
	  const struct cs_sim_result *result)
{
	char text[CS_TIME_TEXT];
	cs_tool_print_algorithm(request, params);
	printf("  %-22s %s\n", "simulated time", cs_tool_time_text(text, (double)result->time));
	if (request->call.nodes > 1) /* means of nodes */
		printf("  %-22s %.0f %%, inside %.0f %%\n", "  between nodes",
		       100 * share_of(result), 100 - 100 * share_of(result));
	if (!cs_tool_is_played(request, request->algorithm)) /* or they would lead over lines */
		printf("  %-22s %" PRIu32 "\n", "rounds", result->rounds);
	printf("  %-22s %" PRIu64 "\n", "messages", result->messages);
	printf("  %-22s %" PRIu64 "\n", "  between nodes", result->inter_messages);
	if (request->group_nodes)
		printf("  %-22s %" PRIu64 "\n", "  between groups", result->global_messages);
	printf("  %-22s %" PRIu64 "\n", "bytes", result->bytes);
	printf("  %-22s %" PRIu64 "\n", "  between nodes", result->inter_bytes);
	if (request->group_nodes)
		printf("  %-22s %" PRIu64 "\n", "  between groups", result->global_bytes);
}

/* Work of the ranks, which a player counts. */
static void
print_played(const struct cs_sim *sim)
{
	struct cs_play_counts counts = cs_play_counts(sim);
	printf("  %-22s %" PRIu64 "\n", "bytes copied", counts.copied);
	printf("  %-22s %" PRIu64 "\n", "bytes reduced", counts.reduced);
	printf("  %-22s %" PRIu64 "\n", "lines published", counts.published);
	printf("  %-22s %" PRIu64 "\n", "lines read", counts.heard);
}

int
cs_request_run(struct cs_sim *sim, const struct cs_algorithm *algorithm,
	       const struct cs_model *model, const int64_t *starts,
	       const struct cs_sim_watch *watch, struct cs_sim_result *result, const char **why)
{
	static const char *const texts[] = {
		[CS_NO_MEMORY] = "messages under way do not fit into --memory",
		[CS_UNSUPPORTED] = "the simulated time is above 26 days",
	};
	enum cs_status status = cs_sim_run(sim, model, starts, watch, result);
	if (status == CS_OK)
		return CS_TOOL_DONE;
	if (status != CS_BAD_INPUT) {
		*why = texts[status];
		return CS_TOOL_WRONG_USE;
	}
	if (result->is_unlike) {
		*why = result->text;
		return CS_TOOL_WRONG_USE;
	}
	fprintf(stderr, "collshim-sim: %s:%s: %s\n", cs_colls[algorithm->coll].name,
		algorithm->name, result->text);
	return CS_TOOL_CANNOT;
}

/* Runs the call as a non-blocking one, and prints what it costs ranks that compute meanwhile. */
static int
simulate_computing(struct cs_sim *sim, const struct cs_sim_options *request, int model,
		   int64_t blocking, const char **why)
{
	char text[CS_TIME_TEXT];
	struct cs_sim_result result;
	struct cs_sim_compute compute = request->compute;
	double sum = 0;
	if (request->compute_factor > 0)
		compute.time = (int64_t)((double)blocking * request->compute_factor + 0.5);
	cs_sim_set_compute(sim, &compute);
	int wrong = cs_request_run(sim, request->algorithm, &request->models[model], NULL, NULL,
				   &result, why);
	cs_sim_set_compute(sim, &(struct cs_sim_compute){ 0 });
	if (wrong)
		return wrong;
	int ranks = request->call.nodes * request->call.ppn;
	for (int rank = 0; rank < ranks; rank++)
		sum += (double)(cs_sim_end_of(sim, rank) - compute.time) / ranks;
	printf("  %-22s %s, ", "computation", cs_tool_time_text(text, (double)compute.time));
	printf(compute.looks == CS_SIM_ALWAYS ? "a thread looks always" : "looks %" PRIu32,
	       compute.looks);
	if (compute.poll)
		printf(", stays %s at most", cs_tool_time_text(text, (double)compute.poll));
	printf("\n  %-22s %s\n", "overhead left",
	       cs_tool_time_text(text, (double)(result.time - compute.time)));
	printf("  %-22s %s\n", "  mean of all ranks", cs_tool_time_text(text, sum));
	if (request->is_verbose)
		fprintf(stderr, "collshim-sim: %s: overhead exactly %" PRId64 " ps, mean %.0f ps\n",
			request->models[model].name, result.time - compute.time, sum);
	return CS_TOOL_DONE;
}

int
cs_request_simulate(const struct cs_sim_options *request, struct cs_sim_call *call)
{
	size_t params[CS_MAX_PARAMS];
	char reason[CS_REASON_TEXT];
	const char *why;
	struct cs_sim_result result;
	int wrong = cs_request_params(params, request->algorithm, request);
	if (wrong)
		return wrong;
	struct cs_sim *sim = cs_request_stage(request, call, request->algorithm, params, reason);
	if (!sim)
		return cs_tool_wrong_use("%s: %s", request->what, reason);
	bool is_played = cs_tool_is_played(request, request->algorithm);
	struct cs_sim_watch watch = { .context = NULL };
	bool watches = request->is_verbose && !is_played && !request->is_alike &&
		       cs_tool_watch_waits(&watch, call->ranks);
	if (request->is_json)
		cs_sim_json_begin(request, call, params);
	for (int i = 0; !wrong && i < request->model_count; i++) {
		wrong = cs_request_run(sim, request->algorithm, &request->models[i], NULL,
				       watches ? &watch : NULL, &result, &why);
		if (!wrong && request->is_json) {
			cs_sim_json_result(sim, request, &request->models[i], &result, !i);
		} else if (!wrong) {
			cs_tool_print_title(call, &request->models[i]);
			cs_tool_print_groups(request);
			print_one(request, params, &result);
			if (is_played)
				print_played(sim);
		}
		if (!wrong && watches)
			cs_tool_say_waits(&watch, sim, call->ranks, request->models[i].name);
		if (!wrong && (request->compute.time || request->compute_factor > 0))
			wrong = simulate_computing(sim, request, i, result.time, &why);
		if (wrong == CS_TOOL_WRONG_USE)
			fprintf(stderr, "collshim-sim: %s: %s\n", request->what, why);
		if (wrong)
			break;
		if (request->is_verbose)
			fprintf(stderr, "collshim-sim: %s: simulated time exactly %" PRId64 " ps\n",
				request->models[i].name, result.time);
		if (request->is_verbose)
			fprintf(stderr, "collshim-sim: %s: between nodes exactly %" PRId64 " ps\n",
				request->models[i].name, result.inter_time);
		if (request->is_verbose && request->group_nodes)
			fprintf(stderr, "collshim-sim: %s: between groups exactly %" PRIu64
				" bytes\n", request->models[i].name, result.global_bytes);
	}
	if (request->is_json)
		cs_sim_json_end();
	free(watch.context);
	cs_sim_destroy(sim);
	return wrong || !request->svg ? wrong : cs_tool_draw(request, call, params);
}

/* Row of the table: the algorithm, its result with each model, or why there is none. */
struct row {
	const struct cs_algorithm *algorithm;
	char reason[CS_REASON_TEXT];          /* with no model; empty: see there */
	const char *why[CS_REQUEST_MODELS]; /* with this one; NULL: there is one */
	struct cs_sim_result results[CS_REQUEST_MODELS];
};

static int
fill_row(struct row *row, const struct cs_sim_options *request, struct cs_sim_call *call)
{
	size_t params[CS_MAX_PARAMS];
	int wrong = CS_TOOL_DONE;
	cs_tool_fallbacks(params, row->algorithm);
	struct cs_sim *sim = cs_request_stage(request, call, row->algorithm, params, row->reason);
	for (int i = 0; sim && wrong != CS_TOOL_CANNOT && i < request->model_count; i++)
		wrong = cs_request_run(sim, row->algorithm, &request->models[i], NULL, NULL,
				       &row->results[i], &row->why[i]);
	cs_sim_destroy(sim);
	return wrong == CS_TOOL_CANNOT ? CS_TOOL_CANNOT : CS_TOOL_DONE;
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
print_row(const struct row *row, int model, int64_t best, bool has_groups)
{
	char name[64], text[CS_TIME_TEXT];
	const struct cs_sim_result *result = &row->results[model];
	snprintf(name, sizeof name, "%s:%s", cs_colls[row->algorithm->coll].name,
		 row->algorithm->name);
	if (missing(row, model))
		printf("  %-40s %s\n", name, missing(row, model));
	else
		printf("  %-40s %14s %8.3g "
		       "%8" PRIu32 " %12" PRIu64 " %16" PRIu64 " %16" PRIu64, name,
		       cs_tool_time_text(text, (double)result->time),
		       best ? (double)result->time / (double)best : 1.0, result->rounds,
		       result->messages, result->bytes, result->inter_bytes);
	if (!missing(row, model) && has_groups)
		printf(" %16" PRIu64, result->global_bytes);
	if (!missing(row, model))
		putchar('\n');
}

static void
print_table(const struct cs_sim_options *request, const struct cs_sim_call *call, struct row *rows,
	    size_t count, int model)
{
	sort(rows, count, model);
	cs_tool_print_title(call, &request->models[model]);
	cs_tool_print_groups(request);
	printf("  %-40s %14s %8s %8s %12s %16s %16s", "algorithm", "simulated time", "ratio",
	       "rounds", "messages", "bytes", "between nodes");
	puts(request->group_nodes ? "   between groups" : "");
	for (size_t i = 0; i < count; i++)
		print_row(&rows[i], model, rows[0].results[model].time,
			  request->group_nodes > 0);
}

int
cs_request_compare(const struct cs_sim_options *request, struct cs_sim_call *call)
{
	size_t count = 0;
	int wrong = CS_TOOL_DONE;
	const struct cs_algorithm *algorithm;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++)
		count += algorithm->coll == call->coll && cs_tool_is_plan(algorithm);
	if (!count) {
		fprintf(stderr, "collshim-sim: %s: ", cs_colls[call->coll].name);
		cs_tool_offer(call->coll);
		return CS_TOOL_WRONG_USE;
	}
	struct row *rows = calloc(count, sizeof *rows);
	if (!rows) {
		fputs("collshim-sim: out of memory\n", stderr);
		return CS_TOOL_CANNOT;
	}
	count = 0;
	for (int i = 0; !wrong && (algorithm = cs_algorithm_at(i)); i++)
		if (algorithm->coll == call->coll && cs_tool_is_plan(algorithm)) {
			rows[count].algorithm = algorithm;
			wrong = fill_row(&rows[count++], request, call);
		}
	for (int model = 0; !wrong && model < request->model_count; model++)
		print_table(request, call, rows, count, model);
	free(rows);
	return wrong;
}
