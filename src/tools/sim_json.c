/* tools/sim_json.c — results of collshim-sim as one JSON object, which man/collshim-sim.1 tells. */
#include "tools/sim_request.h"

#include "trace/json.h"

#include <inttypes.h>
#include <stdio.h>

void
cs_sim_json_begin(const struct cs_sim_options *request, const struct cs_sim_call *call,
		  const size_t *params)
{
	const struct cs_algorithm *algorithm = request->algorithm;
	bool is_played = cs_tool_is_played(request, algorithm);
	printf("{\"version\":1,\"simulated\":true,\"collective\":");
	cs_json_string(stdout, cs_colls[call->coll].name);
	printf(",\"algorithm\":");
	cs_json_string(stdout, algorithm->name);
	printf(",\"played\":%s,\"parameters\":{", is_played ? "true" : "false");
	for (int i = 0, before = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (cs_tool_has_effect(algorithm, i, is_played))
			printf("%s\"%s\":%zu", before++ ? "," : "", algorithm->params[i].name,
			       params[i]);
	printf("},\"nodes\":%d,\"ppn\":%d,\"cyclic\":%s,\"bytes\":%zu,\"results\":[", call->nodes,
	       call->ppn, call->is_cyclic ? "true" : "false", call->bytes);
}

/* The model, behind the results before. */
static void
begin_result(const struct cs_model *model, bool is_first)
{
	char text[CS_MODEL_TEXT];
	printf("%s\n{\"model\":", is_first ? "" : ",");
	cs_json_string(stdout, model->name);
	printf(",\"model_parameters\":");
	cs_json_string(stdout, cs_model_text(text, model));
}

void
cs_sim_json_result(const struct cs_sim *sim, const struct cs_sim_options *request,
		   const struct cs_model *model, const struct cs_sim_result *result, bool is_first)
{
	begin_result(model, is_first);
	printf(",\"time_ps\":%" PRId64 ",\"time_between_nodes_ps\":%" PRId64
	       ",\"messages\":%" PRIu64 ",\"messages_between_nodes\":%" PRIu64
	       ",\"bytes\":%" PRIu64 ",\"bytes_between_nodes\":%" PRIu64, result->time,
	       result->inter_time, result->messages, result->inter_messages, result->bytes,
	       result->inter_bytes);
	if (request->group_nodes)
		printf(",\"messages_between_groups\":%" PRIu64 ",\"bytes_between_groups\":%" PRIu64,
		       result->global_messages, result->global_bytes);
	if (cs_tool_is_played(request, request->algorithm)) {
		struct cs_play_counts counts = cs_play_counts(sim);
		printf(",\"bytes_copied\":%" PRIu64 ",\"bytes_reduced\":%" PRIu64
		       ",\"lines_published\":%" PRIu64 ",\"lines_read\":%" PRIu64, counts.copied,
		       counts.reduced, counts.published, counts.heard);
	}
	putchar('}');
}

void
cs_sim_json_late(const struct cs_sim_options *request, const struct cs_model *model, int arrivals,
		 const struct cs_imbalance_times *times, bool is_first)
{
	begin_result(model, is_first);
	printf(",\"arrivals\":");
	cs_json_string(stdout, request->arrivals_texts[arrivals]);
	printf(",\"seed\":%" PRIu64 ",\"calls\":%d,\"roots_turn\":%s,\"mean_ps\":%.0f,"
	       "\"bound_ps\":%.0f,\"after_last_ps\":%.0f,\"last_exit_ps\":%.0f,\"spread_ps\":%.0f}",
	       request->arrivals[arrivals].seed, request->call_count,
	       request->turns_root ? "true" : "false", times->mean, times->bound,
	       times->after_last, times->last_exit, times->spread);
}

void
cs_sim_json_end(void)
{
	puts("]}");
}
