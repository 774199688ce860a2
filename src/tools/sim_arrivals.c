/* tools/sim_arrivals.c — simulates calls to which ranks come late, and prints what they spend in
 * them. */
#include "tools/sim_request.h"

#include "trace/replay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* Settings that several calls have in common. */
struct late {
	const struct cs_sim_options *request;
	const size_t *params;
	struct cs_sim_call call; /* with the root that is its turn */
	int64_t *starts, *ends, *earliest;
	struct cs_imbalance_times sums[CS_REQUEST_MODELS][CS_REQUEST_ARRIVALS]; /* ps */
};

/* Roots turn over the lowest ranks of nodes at equal distances, so that trees of ranks fit nodes
 * with each of them as well as with rank 0. */
static int
root_of(const struct late *late, int number)
{
	const struct cs_sim_call *call = &late->request->call;
	if (!late->request->turns_root)
		return call->root;
	int64_t node = (int64_t)call->nodes * number / late->request->call_count;
	return cs_sim_call_rank(call, (int)(node % call->nodes), 0);
}

static bool
has_pair(const void *context, int from, int to)
{
	return cs_sim_call_pair(context, from, to) > 0;
}

static struct cs_dependence
dependence_of(const struct cs_sim_call *call)
{
	bool is_by_pair = cs_colls[call->coll].sizes == CS_SIZES_BY_PAIR;
	return (struct cs_dependence){ .coll = call->coll, .ranks = call->ranks,
				       .root = call->root, .is_empty = call->total == 0,
				       .sizes = cs_sim_call_has_sizes(call->coll) && !is_by_pair
				       ? call->dealt : NULL,
				       .has_pair = is_by_pair ? has_pair : NULL, .context = call };
}

static void
add_times(struct cs_imbalance_times *sum, const struct cs_imbalance_times *times, int calls)
{
	sum->mean += times->mean / calls;
	sum->bound += times->bound / calls;
	sum->after_last += times->after_last / calls;
	sum->last_exit += times->last_exit / calls;
	sum->spread += times->spread / calls;
}

static int
run(struct late *late, struct cs_sim *sim, int number, int model, int arrivals)
{
	const struct cs_sim_options *request = late->request;
	const struct cs_sim_call *call = &late->call;
	struct cs_imbalance_job job = { .ranks = call->ranks, .nodes = call->nodes,
					.node_of = call->node_of };
	struct cs_dependence dependence = dependence_of(call);
	struct cs_sim_result result;
	struct cs_imbalance_times times;
	for (int rank = 0; rank < call->ranks; rank++)
		late->starts[rank] = 1000 * cs_imbalance_delay(&request->arrivals[arrivals], &job,
							       (uint64_t)number, rank);
	const char *why = NULL;
	int wrong = cs_request_run(sim, request->algorithm, &request->models[model],
				   late->starts, NULL, &result, &why);
	if (wrong == CS_TOOL_WRONG_USE)
		fprintf(stderr, "collshim-sim: %s: %s\n", request->what, why);
	if (wrong)
		return wrong;
	for (int rank = 0; rank < call->ranks; rank++)
		late->ends[rank] = cs_sim_end_of(sim, rank);
	cs_imbalance_measure(&dependence, late->starts, late->ends, late->earliest, &times);
	add_times(&late->sums[model][arrivals], &times, request->call_count);
	return CS_TOOL_DONE;
}

/* The calls of that number, with all models and patterns. */
static int
simulate(struct late *late, int number)
{
	const struct cs_sim_options *request = late->request;
	char reason[CS_REASON_TEXT];
	int wrong = CS_TOOL_DONE;
	late->call = request->call;
	late->call.root = root_of(late, number);
	if (cs_sim_call_init(&late->call) != CS_OK) {
		cs_sim_call_fini(&late->call);
		fputs("collshim-sim: out of memory\n", stderr);
		return CS_TOOL_CANNOT;
	}
	struct cs_sim *sim = cs_request_stage(request, &late->call, request->algorithm,
					      late->params, reason);
	if (!sim)
		wrong = cs_tool_wrong_use("%s: %s", request->what, reason);
	for (int model = 0; !wrong && model < request->model_count; model++)
		for (int i = 0; !wrong && i < request->arrivals_count; i++)
			wrong = run(late, sim, number, model, i);
	cs_sim_destroy(sim);
	cs_sim_call_fini(&late->call);
	return wrong;
}

static void
print_times(const struct late *late, int model, int arrivals)
{
	const struct cs_imbalance_times *times = &late->sums[model][arrivals];
	const struct cs_sim_options *request = late->request;
	char text[CS_TIME_TEXT];
	printf("  %-22s %s, seed %" PRIu64 ", mean of %d call%s%s\n", "arrivals",
	       request->arrivals_texts[arrivals], request->arrivals[arrivals].seed,
	       request->call_count, request->call_count == 1 ? "" : "s",
	       request->turns_root ? ", roots turn" : "");
	printf("  %-22s %s\n", "mean time in the call", cs_tool_time_text(text, times->mean));
	printf("  %-22s %s\n", "  bound of the data", cs_tool_time_text(text, times->bound));
	printf("  %-22s %s\n", "after last arrival", cs_tool_time_text(text, times->after_last));
	printf("  %-22s %s\n", "last exit", cs_tool_time_text(text, times->last_exit));
	printf("  %-22s %s\n", "last - first arrival", cs_tool_time_text(text, times->spread));
	if (request->is_verbose)
		fprintf(stderr, "collshim-sim: %s: %s: mean %.0f ps, bound %.0f ps, after last "
				"%.0f ps, last exit %.0f ps\n", request->models[model].name,
			request->arrivals_texts[arrivals], times->mean, times->bound,
			times->after_last, times->last_exit);
}

static void
print_json(const struct late *late)
{
	const struct cs_sim_options *request = late->request;
	cs_sim_json_begin(request, &late->call, late->params);
	for (int model = 0; model < request->model_count; model++)
		for (int i = 0; i < request->arrivals_count; i++)
			cs_sim_json_late(request, &request->models[model], i,
					 &late->sums[model][i], !model && !i);
	cs_sim_json_end();
}

/* Loads recorded arrivals, if the request names some. */
static int
load(struct cs_sim_options *request, int ranks)
{
	char complaint[300];
	for (int i = 0; i < request->arrivals_count; i++)
		if (request->arrivals[i].kind == CS_IMBALANCE_FILE &&
		    cs_replay_load(&request->arrivals[i], ranks, complaint, sizeof complaint) !=
			    CS_OK)
			return cs_tool_wrong_use("--arrivals: %s", complaint);
	return CS_TOOL_DONE;
}

int
cs_request_arrivals(struct cs_sim_options *request, const struct cs_sim_call *call)
{
	size_t params[CS_MAX_PARAMS], ranks = (size_t)call->ranks;
	int wrong = cs_request_params(params, request->algorithm, request);
	if (wrong || (wrong = load(request, call->ranks)))
		return wrong;
	struct late *late = calloc(1, sizeof *late);
	int64_t *memory = calloc(3 * ranks, sizeof *memory);
	if (!late || !memory) {
		fputs("collshim-sim: out of memory\n", stderr);
		wrong = CS_TOOL_CANNOT;
	} else {
		*late = (struct late){ .request = request, .params = params, .starts = memory,
				       .ends = memory + ranks, .earliest = memory + 2 * ranks };
	}
	for (int number = 0; !wrong && number < request->call_count; number++)
		wrong = simulate(late, number);
	if (!wrong && request->is_json)
		print_json(late);
	for (int model = 0; !wrong && !request->is_json && model < request->model_count; model++) {
		cs_tool_print_title(call, &request->models[model]);
		cs_tool_print_groups(request);
		cs_tool_print_algorithm(request, params);
		for (int i = 0; i < request->arrivals_count; i++)
			print_times(late, model, i);
	}
	free(memory);
	free(late);
	return wrong;
}
