/* tools/sim_request.h — what collshim-sim is asked for, and the parts of its answer. Private to
 * collshim-sim.
 *
 *   collshim-sim.c reads the arguments -> sim_known.c algorithm and parameters -> sim_stage.c plans
 *   of all ranks
 *                                      -> sim_results.c runs them with each model, and prints; with
 *                                         late ranks sim_arrivals.c
 *   sim_json.c: the answer as JSON
 *   sim_sketches.c: what the simulator alone has */
#ifndef CS_TOOLS_SIM_REQUEST_H
#define CS_TOOLS_SIM_REQUEST_H

#include "algorithms/algorithm.h"
#include "sim/call.h"
#include "sim/model.h"
#include "sim/sim.h"
#include "sim/sketch.h"
#include "trace/imbalance.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Results of such functions, and the command's exit codes. */
enum { CS_TOOL_DONE = 0, CS_TOOL_CANNOT = 1, CS_TOOL_WRONG_USE = 2 };

#define CS_REQUEST_MODELS 16
#define CS_REQUEST_ARRIVALS 16
#define CS_REQUEST_CALLS 10000

/* JSON that is being written. */
struct cs_sim_json {
	FILE *out;
	int results;
};

struct cs_sim_options {
	struct cs_sim_call call; /* what it is, not what is made from that */
	const char *what;
	const struct cs_algorithm *algorithm; /* NULL: compare */
	char **words;                         /* NAME=VALUE */
	int word_count;
	size_t memory;
	size_t eager;
	bool compares, lists, is_verbose, has_root, has_bytes, overlaps;
	int model_count;
	struct cs_model models[CS_REQUEST_MODELS];
	int arrivals_count; /* 0: all ranks come at once, and that is not asked about */
	struct cs_imbalance arrivals[CS_REQUEST_ARRIVALS];
	const char *arrivals_texts[CS_REQUEST_ARRIVALS];
	uint64_t seed;
	int call_count;
	bool turns_root;
	struct cs_sim_compute compute; /* with a time, or with a factor of the blocking call's */
	double compute_factor;
	bool is_json;
	struct cs_sim_json *json; /* NULL: text is printed */
};

/* Says on stderr what is wrong with the arguments; returns CS_TOOL_WRONG_USE. */
int cs_tool_wrong_use(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool cs_tool_is_plan(const struct cs_algorithm *algorithm);
/* Does the parameter change what is simulated? In the node part only parameters that decide which
 * rank reduces are simulated. */
bool cs_tool_has_effect(const struct cs_algorithm *algorithm, int param);
const char *cs_tool_bytes_meaning(enum cs_coll coll);
int cs_tool_list(void);
/* Number i of what the simulator alone has, NULL behind the last; and by name, or NULL. */
const struct cs_algorithm *cs_tool_sketch_at(size_t i);
const struct cs_algorithm *cs_tool_sketch_by_name(enum cs_coll coll, const char *name);
/* Is it one of these? *sketch with the values of its parameters then. */
bool cs_tool_is_sketch(const struct cs_algorithm *algorithm, const size_t *params,
		       struct cs_sketch *sketch);
/* Names of the collective's algorithms that are plans, on stderr. */
void cs_tool_offer(enum cs_coll coll);
void cs_tool_fallbacks(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm);

/* Fills in the collective, and the algorithm unless all are compared, from what was asked. */
int cs_request_find(struct cs_sim_options *request);
int cs_request_params(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm,
		      const struct cs_sim_options *request);

/* Room for what went wrong: "refuses this call", "too large: ..". */
#define CS_REASON_TEXT 120

/* A simulator with the steps of all ranks. NULL: `reason` tells. */
struct cs_sim *cs_request_stage(const struct cs_sim_options *request, struct cs_sim_call *call,
				const struct cs_algorithm *algorithm, const size_t *params,
				char reason[CS_REASON_TEXT]);

/* The object of --json: begin; for each result open, result or others, close; end. */
void cs_sim_json_begin(struct cs_sim_json *json, const struct cs_sim_call *call);
void cs_sim_json_open(const struct cs_sim_options *request, const struct cs_algorithm *algorithm,
		      const size_t *params, int model);
void cs_sim_json_result(struct cs_sim_json *json, const struct cs_sim_result *result);
void cs_sim_json_text(struct cs_sim_json *json, const char *name, const char *text);
/* "NAME_ps". */
void cs_sim_json_time(struct cs_sim_json *json, const char *name, double picoseconds);
void cs_sim_json_close(struct cs_sim_json *json);
void cs_sim_json_end(struct cs_sim_json *json);

/* Texts and units of results. */
#define CS_TIME_TEXT 32
const char *cs_tool_time_text(char text[CS_TIME_TEXT], double picoseconds);
void cs_tool_print_title(const struct cs_sim_call *call, const struct cs_model *model);
void cs_tool_print_algorithm(const struct cs_sim_options *request, const size_t *params);
/* WRONG_USE: *why tells why there is no time with this model; CANNOT: the plans are wrong, which
 * has been said. `starts`: as in cs_sim_run. */
int cs_request_run(struct cs_sim *sim, const struct cs_algorithm *algorithm,
		   const struct cs_model *model, const int64_t *starts,
		   struct cs_sim_result *result, const char **why);

/* Calls to which ranks come late, by one algorithm. Arrivals that it loads belong to
 * request->arrivals. */
int cs_request_arrivals(struct cs_sim_options *request, const struct cs_sim_call *call);
/* Simulates and prints: one algorithm, or all that can serve the call. */
int cs_request_simulate(const struct cs_sim_options *request, struct cs_sim_call *call);
int cs_request_compare(const struct cs_sim_options *request, struct cs_sim_call *call);

#endif
