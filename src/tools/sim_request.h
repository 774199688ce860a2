/* tools/sim_request.h — what collshim-sim is asked for, and the parts of its answer. Private to
 * collshim-sim.
 *
 *   collshim-sim.c reads the arguments -> sim_known.c algorithm and parameters -> sim_stage.c plans
 *   of all ranks
 *                                      -> sim_results.c runs them with each model, and prints; with
 *                                         late ranks sim_arrivals.c, as JSON sim_json.c
 *   sim_picture.c: waits of the ranks, and a picture; sim_node.c: prices of one node */
#ifndef CS_TOOLS_SIM_REQUEST_H
#define CS_TOOLS_SIM_REQUEST_H

#include "algorithms/algorithm.h"
#include "sim/call.h"
#include "sim/model.h"
#include "sim/play.h"
#include "sim/sim.h"
#include "topo/node_model.h"
#include "trace/imbalance.h"

#include <stdbool.h>
#include <stddef.h>

/* Results of such functions, and the command's exit codes. */
enum { CS_TOOL_DONE = 0, CS_TOOL_CANNOT = 1, CS_TOOL_WRONG_USE = 2 };

#define CS_REQUEST_MODELS 16
#define CS_REQUEST_ARRIVALS 16
#define CS_REQUEST_CALLS 10000

struct cs_sim_options {
	struct cs_sim_call call; /* what it is, not what is made from that */
	const char *what;
	const struct cs_algorithm *algorithm; /* NULL: compare */
	char **words;                         /* NAME=VALUE */
	int word_count;
	size_t memory;
	size_t eager;
	int group_nodes, group_first; /* of a group of nodes, 0: none; of the first one */
	int64_t taper;   /* of a group's link, in 1 / CS_SIM_TAPER */
	bool compares, lists, is_verbose, has_root, has_bytes, overlaps, plays,
		is_alike;
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
	const char *node_model; /* a kind or a tuning file: prices of one node, no simulation */
	struct cs_node_groups levels; /* 0 packages: the kind's */
	bool is_json;
	const char *svg; /* a file for a picture; NULL: none */
};

/* Says on stderr what is wrong with the arguments; returns CS_TOOL_WRONG_USE. */
int cs_tool_wrong_use(const char *format, ...) __attribute__((format(printf, 1, 2)));

bool cs_tool_is_plan(const struct cs_algorithm *algorithm);
/* Are its phases played: as asked for, or since it is no plan? */
bool cs_tool_is_played(const struct cs_sim_options *request, const struct cs_algorithm *algorithm);
/* Does the parameter change what is simulated? In the node part of a plan only parameters that
 * decide which rank reduces do. */
bool cs_tool_has_effect(const struct cs_algorithm *algorithm, int param, bool is_played);
const char *cs_tool_bytes_meaning(enum cs_coll coll);
int cs_tool_list(void);
/* "2x8x8": packages, groups, ranks of a group. False: it is none, or has more than 1024 ranks. */
bool cs_tool_read_levels(const char *text, struct cs_node_groups *levels);
/* Prints the prices of collectives by a node model; returns an exit code. */
int cs_tool_node(const struct cs_sim_options *request);
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

/* Texts and units of results. */
#define CS_TIME_TEXT 32
const char *cs_tool_time_text(char text[CS_TIME_TEXT], double picoseconds);
void cs_tool_print_title(const struct cs_sim_call *call, const struct cs_model *model);
void cs_tool_print_groups(const struct cs_sim_options *request);
void cs_tool_print_algorithm(const struct cs_sim_options *request, const size_t *params);
/* WRONG_USE: *why tells why there is no time with this model; CANNOT: the plans are wrong, which
 * has been said. `starts`, `watch`: as in cs_sim_run. */
int cs_request_run(struct cs_sim *sim, const struct cs_algorithm *algorithm,
		   const struct cs_model *model, const int64_t *starts,
		   const struct cs_sim_watch *watch, struct cs_sim_result *result,
		   const char **why);

/* Waits of the ranks (sim_picture.c): a watch for a run; false: no memory. Its context is to be
 * freed. */
bool cs_tool_watch_waits(struct cs_sim_watch *watch, int ranks);
/* Says on stderr how long each rank waited in the last run, and begins anew. */
void cs_tool_say_waits(const struct cs_sim_watch *watch, const struct cs_sim *sim, int ranks,
		       const char *model);
/* Writes request->svg, with the first model; returns an exit code. */
int cs_tool_draw(const struct cs_sim_options *request, struct cs_sim_call *call,
		 const size_t *params);

/* JSON (sim_json.c): the call, then each result, then its end. */
void cs_sim_json_begin(const struct cs_sim_options *request, const struct cs_sim_call *call,
		       const size_t *params);
void cs_sim_json_result(const struct cs_sim *sim, const struct cs_sim_options *request,
			const struct cs_model *model, const struct cs_sim_result *result,
			bool is_first);
void cs_sim_json_late(const struct cs_sim_options *request, const struct cs_model *model,
		      int arrivals, const struct cs_imbalance_times *times, bool is_first);
void cs_sim_json_end(void);

/* Calls to which ranks come late, by one algorithm. Arrivals that it loads belong to
 * request->arrivals. */
int cs_request_arrivals(struct cs_sim_options *request, const struct cs_sim_call *call);
/* Simulates and prints: one algorithm, or all that can serve the call. */
int cs_request_simulate(const struct cs_sim_options *request, struct cs_sim_call *call);
int cs_request_compare(const struct cs_sim_options *request, struct cs_sim_call *call);

#endif
