/* tools/sim_json.c — what collshim-sim says, as one JSON object. man/collshim-sim.1 documents the
 * form, which stays: keys may come, none goes or changes its meaning. Times are picoseconds. */
#include "tools/sim_request.h"

#include "trace/json.h"

#include <inttypes.h>

void
cs_sim_json_begin(struct cs_sim_json *json, const struct cs_sim_call *call)
{
	const struct cs_coll_info *coll = &cs_colls[call->coll];
	fprintf(json->out, "{\"collshim\": \"" CS_VERSION "\", \"collective\": \"%s\", "
			   "\"ranks\": %d, \"nodes\": %d, \"ppn\": %d, \"placement\": "
			   "\"%s\",\n \"bytes\": %zu, "
			   "\"distribution\": \"%s\", \"root\": ", coll->name, call->ranks,
		call->nodes, call->ppn, call->is_cyclic ? "cyclic" : "block", call->bytes,
		cs_distribution_names[call->distribution]);
	if (coll->rooted)
		fprintf(json->out, "%d", call->root);
	else
		fputs("null", json->out);
	fputs(",\n \"results\": [", json->out);
}

void
cs_sim_json_open(const struct cs_sim_options *request, const struct cs_algorithm *algorithm,
		 const size_t *params, int model)
{
	FILE *out = request->json->out;
	char text[CS_MODEL_TEXT];
	bool is_first = true;
	fputs(request->json->results++ ? ",\n  {\"model\": " : "\n  {\"model\": ", out);
	cs_json_string(out, request->models[model].name);
	fputs(", \"parameters\": ", out);
	cs_json_string(out, cs_model_text(text, &request->models[model]));
	fprintf(out, ",\n   \"algorithm\": \"%s\", \"values\": {", algorithm->name);
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (cs_tool_has_effect(algorithm, i)) {
			fprintf(out, "%s\"%s\": %zu", is_first ? "" : ", ",
				algorithm->params[i].name, params[i]);
			is_first = false;
		}
	putc('}', out);
}

void
cs_sim_json_result(struct cs_sim_json *json, const struct cs_sim_result *result)
{
	fprintf(json->out, ",\n   \"time_ps\": %" PRId64 ", \"rounds\": %" PRIu32
			   ", \"messages\": %" PRIu64 ", \"inter_messages\": %" PRIu64,
		result->time, result->rounds, result->messages, result->inter_messages);
	fprintf(json->out, ", \"bytes\": %" PRIu64 ", \"inter_bytes\": %" PRIu64,
		result->bytes, result->inter_bytes);
}

void
cs_sim_json_text(struct cs_sim_json *json, const char *name, const char *text)
{
	fprintf(json->out, ",\n   \"%s\": ", name);
	cs_json_string(json->out, text);
}

void
cs_sim_json_time(struct cs_sim_json *json, const char *name, double picoseconds)
{
	fprintf(json->out, ", \"%s_ps\": %.0f", name, picoseconds);
}

void
cs_sim_json_close(struct cs_sim_json *json)
{
	putc('}', json->out);
}

void
cs_sim_json_end(struct cs_sim_json *json)
{
	fputs("]}\n", json->out);
}
