/* tools/sim_request.h — what collshim-sim is asked for, and the parts of its answer. Private to
 * collshim-sim.
 *
 *   collshim-sim.c reads the arguments -> sim_known.c algorithm and parameters -> sim_stage.c plans
 *   of all ranks
 *                                      -> sim_results.c runs them with each model, and prints */
#ifndef CS_TOOLS_SIM_REQUEST_H
#define CS_TOOLS_SIM_REQUEST_H

#include "algorithms/algorithm.h"
#include "sim/call.h"
#include "sim/model.h"
#include "sim/sim.h"

#include <stdbool.h>
#include <stddef.h>

/* What such functions return, and the command's exit codes. */
enum { CS_TOOL_DONE = 0, CS_TOOL_CANNOT = 1, CS_TOOL_WRONG_USE = 2 };

#define CS_REQUEST_MODELS 16

struct cs_request {
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
};

/* Says on stderr what is wrong with the arguments; returns CS_TOOL_WRONG_USE. */
int cs_tool_wrong_use(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool cs_tool_is_plan(const struct cs_algorithm *algorithm);
/* Does the parameter change what is simulated? Of the node part only what decides who reduces is
 * simulated. */
bool cs_tool_has_effect(const struct cs_algorithm *algorithm, int param);
const char *cs_tool_bytes_meaning(enum cs_coll coll);
int cs_tool_list(void);
/* Names of the collective's algorithms that are plans, on stderr. */
void cs_tool_offer(enum cs_coll coll);
void cs_tool_fallbacks(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm);

/* Fills in the collective, and the algorithm unless all are compared, from what was asked. */
int cs_request_find(struct cs_request *request);
int cs_request_params(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm,
		      const struct cs_request *request);

/* Room for what went wrong: "refuses this call", "too large: ..". */
#define CS_REASON_TEXT 120

/* A simulator with the steps of all ranks. NULL: `reason` tells. */
struct cs_sim *cs_request_stage(const struct cs_request *request, struct cs_sim_call *call,
				const struct cs_algorithm *algorithm, const size_t *params,
				char reason[CS_REASON_TEXT]);

/* Simulates and prints: one algorithm, or all that can serve the call. */
int cs_request_simulate(const struct cs_request *request, struct cs_sim_call *call);
int cs_request_compare(const struct cs_request *request, struct cs_sim_call *call);

#endif
