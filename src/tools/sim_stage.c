/* tools/sim_stage.c — puts the steps of all ranks into a simulator, as far as memory allows. */
#include "tools/sim_request.h"

#include "base/parse.h"
#include "plan/build.h"
#include "plan/walk.h"
#include "sim/hier.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static enum cs_status
build(struct cs_sim_call *call, const struct cs_algorithm *algorithm, int rank,
      struct cs_plan *plan)
{
	struct cs_builder builder;
	cs_builder_init(&builder, cs_sim_call_seen_by(call, rank), plan);
	algorithm->build(&builder);
	return cs_builder_finish(&builder);
}

/* Bytes that the plans of all ranks take, judged by the smallest of three that are not the root's,
 * nor all first on their node, where one may do the work of all. */
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

/* Copies that follow each other as one: of tens of thousands, as each block has its own, some
 * dozens are left. */
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

/* Rank 0's plan for all: in a call of this room each rank's blocks are rank 0's, counted from it,
 * with several sizes, too. */
static enum cs_status
add_turned(struct cs_sim *sim, struct cs_sim_call *call, const struct cs_algorithm *algorithm)
{
	struct cs_plan built, plan = { .count = 0 };
	enum cs_status status = build(call, algorithm, 0, &built);
	if (status == CS_OK)
		status = cs_plan_unroll(&built, &plan);
	cs_plan_fini(&built);
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
add_flat(struct cs_sim *sim, struct cs_sim_call *call, const struct cs_algorithm *algorithm,
	 size_t guessed, const struct cs_sim_options *request)
{
	int simulated = request->is_alike ? call->ppn : call->ranks;
	enum cs_status status = guessed > request->memory ? CS_NO_MEMORY : CS_OK;
	if (status == CS_OK && algorithm->is_turned && !request->is_alike)
		return add_turned(sim, call, algorithm);
	for (int rank = 0; status == CS_OK && rank < simulated; rank++) {
		struct cs_plan plan;
		status = build(call, algorithm, rank, &plan);
		if (status == CS_OK)
			status = cs_sim_add(sim, &plan);
		cs_plan_fini(&plan);
	}
	return status;
}

/* The rank of node 0 for which the other one stands in that node. */
static int
back_at_0(const struct cs_sim_call *call, int rank, int node, enum cs_sim_alike alike)
{
	if (alike == CS_ALIKE_XOR)
		return rank ^ (node * call->ppn);
	return (rank + (call->nodes - node) * call->ppn) % call->ranks;
}

/* Do two ranks do the same, one on node 0 and one on that node? Copies only all together. */
static bool
is_twin(const struct cs_sim_call *call, const struct cs_plan *at_0, const struct cs_plan *there,
	int node, enum cs_sim_alike alike)
{
	struct cs_walk walks[] = { { .plan = at_0 }, { .plan = there } };
	struct cs_step steps[2];
	bool are_left[2];
	size_t copied[2] = { 0 };
	do {
		for (int i = 0; i < 2; i++)
			while ((are_left[i] = cs_walk_next(&walks[i], &steps[i])) &&
			       steps[i].kind == CS_STEP_COPY)
				copied[i] += steps[i].bytes;
		if (are_left[0] != are_left[1])
			return false;
		bool is_message = are_left[0] && steps[0].kind <= CS_STEP_RECV;
		if (are_left[0] && (steps[0].kind != steps[1].kind ||
				    (steps[0].kind != CS_STEP_WAIT &&
				     steps[0].bytes != steps[1].bytes)))
			return false;
		if (is_message && steps[0].peer != back_at_0(call, steps[1].peer, node, alike))
			return false;
	} while (are_left[0]);
	return copied[0] == copied[1];
}

/* Are the nodes alike, by the first and the last rank of some? */
static bool
are_alike(struct cs_sim_call *call, const struct cs_algorithm *algorithm, enum cs_sim_alike alike)
{
	const int nodes[] = { 1, call->nodes / 2, call->nodes - 1 };
	bool are_so = alike == CS_ALIKE_TURNED ||
		      (!(call->nodes & (call->nodes - 1)) && !(call->ppn & (call->ppn - 1)));
	for (int i = 0; are_so && i < 6; i++) {
		struct cs_plan plans[2] = { { .count = 0 } };
		int node = nodes[i / 2], local = i % 2 * (call->ppn - 1);
		are_so = build(call, algorithm, local, &plans[0]) == CS_OK &&
			 build(call, algorithm, node * call->ppn + local, &plans[1]) == CS_OK &&
			 is_twin(call, &plans[0], &plans[1], node, alike);
		cs_plan_fini(&plans[0]);
		cs_plan_fini(&plans[1]);
	}
	return are_so;
}

static size_t
whole_of(const struct cs_algorithm *algorithm, const size_t *params)
{
	int param = cs_algorithm_role(algorithm, CS_ROLE_READ_ALL);
	return param < 0 ? 0 : params[param];
}

static enum cs_sim_alike
alike_by(struct cs_sim_call *call, const struct cs_algorithm *algorithm)
{
	return are_alike(call, algorithm, CS_ALIKE_TURNED) ? CS_ALIKE_TURNED
	       : are_alike(call, algorithm, CS_ALIKE_XOR)  ? CS_ALIKE_XOR : CS_ALIKE_NOT;
}

/* How nodes are alike: by the plan between them, if the algorithm is hierarchical. */
static enum cs_sim_alike
how_alike(struct cs_sim_call *call, const struct cs_algorithm *algorithm)
{
	const struct cs_algorithm *plan = algorithm->inner;
	enum cs_sim_alike alike = CS_ALIKE_NOT;
	if (!plan)
		return algorithm->build ? alike_by(call, algorithm) : CS_ALIKE_NOT;
	struct cs_sim_call leaders = { .coll = plan->coll, .nodes = call->nodes, .ppn = 1,
				       .bytes = call->bytes,
				       .is_commutative = call->is_commutative };
	if (cs_sim_call_init(&leaders) == CS_OK) {
		leaders.problem.params = call->problem.params;
		alike = alike_by(&leaders, plan);
	}
	cs_sim_call_fini(&leaders);
	return alike;
}

static enum cs_status
add_hier(struct cs_sim *sim, struct cs_sim_call *call, const struct cs_algorithm *algorithm,
	 const size_t *params, bool overlaps)
{
	const struct cs_sim_hier hier = { .plan = algorithm->inner, .params = params,
				      .whole = whole_of(algorithm, params), .overlaps = overlaps };
	return cs_hier_add(sim, call, &hier);
}

static void
say_too_large(char reason[CS_REASON_TEXT], size_t guessed, size_t allowed)
{
	char memory[CS_NUMBER_TEXT], some[40] = "";
	if (guessed > allowed && guessed < SIZE_MAX / 2) /* more: no plan was small enough to be
							  * looked at */
		snprintf(some, sizeof some, " some %.2g GiB and", (double)guessed / (1 << 30));
	snprintf(reason, CS_REASON_TEXT, "too large: steps take%s more than --memory %s", some,
		 cs_bytes_text(memory, allowed));
}

static const char *
unmet(const struct cs_sim_call *call, const struct cs_algorithm *algorithm)
{
	struct cs_facts facts = { .coll = call->coll, .bytes = call->bytes, .ranks = call->ranks,
				  .nodes = call->nodes, .ppn_min = call->ppn, .ppn_max = call->ppn,
				  .is_block_placed = !call->is_cyclic || call->nodes == 1 ||
				  call->ppn == 1, .is_commutative = call->problem.is_commutative,
				  .wire = CS_WIRE_HOST };
	return cs_algorithm_unmet(algorithm, &facts);
}

/* The simulator with the request's groups, if it is one. */
static struct cs_sim *
grouped(struct cs_sim *sim, const struct cs_sim_options *request, char reason[CS_REASON_TEXT])
{
	if (!sim || cs_sim_set_groups(sim, request->group_nodes, request->group_first,
				      request->taper) == CS_OK)
		return sim;
	say_too_large(reason, 0, request->memory);
	cs_sim_destroy(sim);
	return NULL;
}

static struct cs_sim *
play(const struct cs_sim_options *request, struct cs_sim_call *call,
     const struct cs_algorithm *algorithm, const size_t *params, enum cs_sim_alike alike,
     char reason[CS_REASON_TEXT])
{
	const struct cs_play_options options = { .params = params, .deaf = -1, .alike = alike };
	struct cs_sim *sim;
	const char *why;
	enum cs_status status = cs_play_create(&sim, call, algorithm, &options, request->memory,
					       &why);
	if (status == CS_NO_MEMORY)
		say_too_large(reason, 0, request->memory);
	else if (status != CS_OK)
		snprintf(reason, CS_REASON_TEXT, "%s", why);
	return grouped(sim, request, reason);
}

struct cs_sim *
cs_request_stage(const struct cs_sim_options *request, struct cs_sim_call *call,
		 const struct cs_algorithm *algorithm, const size_t *params,
		 char reason[CS_REASON_TEXT])
{
	struct cs_sim *sim;
	const char *need = unmet(call, algorithm);
	if (need) {
		snprintf(reason, CS_REASON_TEXT, "cannot serve: %s", need);
		return NULL;
	}
	enum cs_sim_alike alike = CS_ALIKE_NOT;
	call->problem.params = params;
	if (request->is_alike && call->nodes > 1)
		alike = how_alike(call, algorithm);
	if (request->is_alike && call->nodes > 1 && !alike) {
		snprintf(reason, CS_REASON_TEXT, "its nodes are not alike");
		return NULL;
	}
	if (cs_tool_is_played(request, algorithm))
		return play(request, call, algorithm, params, alike, reason);
	size_t guessed = 0;
	enum cs_status status = cs_sim_create(&sim, call->ranks, call->node_of, request->memory);
	if (status == CS_OK) {
		cs_sim_join_work(sim);
		cs_sim_copy_messages(sim, request->eager);
		cs_sim_set_alike(sim, alike, call->ppn);
		guessed = algorithm->inner ? 0 : guess(sim, call, algorithm);
		guessed /= request->is_alike ? (size_t)call->nodes : 1;
		status = algorithm->inner
			 ? add_hier(sim, call, algorithm, params, request->overlaps)
			 : add_flat(sim, call, algorithm, guessed, request);
	}
	if (status == CS_OK)
		return grouped(sim, request, reason);
	if (status == CS_NO_MEMORY)
		say_too_large(reason, guessed, request->memory);
	else
		snprintf(reason, CS_REASON_TEXT,
			 status == CS_UNSUPPORTED ? "refuses this call" : "a step of its plan "
									  "cannot be");
	cs_sim_destroy(sim);
	return NULL;
}
