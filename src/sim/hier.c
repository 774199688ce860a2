/* sim/hier.c — puts what the ranks of nodes do for each other, and the leaders' plans, into a
 * simulator. */
#include "sim/hier.h"

#include "plan/build.h"
#include "plan/walk.h"

#include <stdlib.h>

/* Nodes that do the same have one count; see class_of. */
enum { CLASSES = 4 };

struct state {
	struct cs_sim *sim;
	struct cs_sim_call *call;
	const struct cs_sim_hier *hier;
	int *leaders; /* by node */
	struct cs_counted_node counted[CLASSES];
	size_t *shares; /* with overlap: bytes that each flag of this node's leader stands for */
	size_t share_count;
};

/* --- what a node does ------------------------------------------------------------------------- */

static const struct cs_problem *
seen_by(void *call, int rank)
{
	return cs_sim_call_seen_by(call, rank);
}

static const struct cs_algorithm *
composing(enum cs_coll coll)
{
	const struct cs_algorithm *algorithm;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++)
		if (algorithm->coll == coll && algorithm->composes)
			return algorithm;
	return NULL;
}

/* With blocks of one size nodes differ by the root, and in a scan by who is first. */
static int
class_of(const struct cs_sim_call *call, int node)
{
	const struct cs_coll_info *info = &cs_colls[call->coll];
	bool is_roots = info->rooted && node == call->node_of[call->root];
	return 2 * is_roots + (cs_coll_is_scan(info) && node == 0);
}

static enum cs_status
count_anew(struct cs_sim_call *call, const struct cs_sim_hier *hier, int node,
	   struct cs_counted_node *counted)
{
	const struct cs_counted_call counts = { .algorithm = composing(call->coll),
						.between = hier->plan,
						.between_params = hier->params,
						.read_all = hier->whole,
						.seen_by = seen_by, .context = call };
	*counted = (struct cs_counted_node){ 0 };
	return counts.algorithm ? cs_counted_init(counted, &counts, node) : CS_UNSUPPORTED;
}

enum cs_status
cs_hier_count(struct cs_sim_call *call, const struct cs_sim_hier *hier,
	      struct cs_counted_node *first)
{
	return count_anew(call, hier, 0, first);
}

/* The node's count; with blocks of several sizes each node has one of its own, which is the only
 * one at a time. */
static enum cs_status
count_node(struct state *state, int node, const struct cs_counted_node **counted)
{
	struct cs_sim_call *call = state->call;
	bool is_alike = call->distribution == CS_REGULAR;
	struct cs_counted_node *own = &state->counted[is_alike ? class_of(call, node) : 0];
	*counted = own;
	if (own->ranks && is_alike)
		return CS_OK;
	cs_counted_fini(own);
	return count_anew(call, state->hier, node, own);
}

/* --- the leaders' plan ------------------------------------------------------------------------ */

/* `counted`: of a node that does the same. */
static enum cs_status
build_plan(struct state *state, int node, const struct cs_problem *counted, struct cs_plan *plan)
{
	struct cs_problem problem = *counted;
	struct cs_builder builder;
	problem.rank = node;
	cs_builder_init(&builder, &problem, plan);
	state->hier->plan->build(&builder);
	return cs_builder_finish(&builder);
}

static enum cs_status
add_plan(struct state *state, int node, const struct cs_problem *problem)
{
	struct cs_plan plan;
	enum cs_status status = build_plan(state, node, problem, &plan);
	if (status == CS_OK)
		status = cs_sim_add_among(state->sim, state->leaders[node], &plan, state->leaders);
	cs_plan_fini(&plan);
	return status;
}

/* --- overlap ---------------------------------------------------------------------------------- */

/* A leader's plan with copies out in between. */
struct overlap {
	struct state *state;
	int leader;
	const struct cs_plan *plan;
	size_t *received; /* by request: bytes that came to their place */
	size_t next;      /* the first step that is not added yet */
	size_t left;      /* of the result: nobody has been told of it */
	size_t arrived;   /* in this round */
	size_t pending;   /* told of, and not copied out by the leader */
};

/* The plan's steps before `end`. */
static enum cs_status
add_until(struct overlap *overlap, size_t end)
{
	struct cs_plan part = *overlap->plan;
	part.steps += overlap->next;
	part.count = end - overlap->next;
	overlap->next = end;
	return cs_sim_add_among(overlap->state->sim, overlap->leader, &part,
				overlap->state->leaders);
}

static void
share(struct overlap *overlap, size_t bytes)
{
	struct state *state = overlap->state;
	if (bytes > overlap->left)
		bytes = overlap->left;
	if (!bytes)
		return;
	cs_sim_add_step(state->sim, overlap->leader, CS_NODE_PUBLISH, 0, 0);
	state->shares[state->share_count++] = bytes;
	overlap->left -= bytes;
	overlap->pending += bytes;
}

static void
copy_pending(struct overlap *overlap)
{
	cs_sim_add_step(overlap->state->sim, overlap->leader, CS_NODE_COPY, 0, overlap->pending);
	overlap->pending = 0;
}

static enum cs_status
add_waited(struct overlap *overlap, size_t at)
{
	const struct cs_plan *plan = overlap->plan;
	bool is_last = at + 1 == plan->count || plan->steps[at + 1].kind != CS_STEP_WAIT;
	enum cs_status status = CS_OK;
	if (overlap->pending) { /* this round's messages are under way, and those of the next one
				 * are not */
		status = add_until(overlap, at);
		copy_pending(overlap);
	}
	overlap->arrived += overlap->received[plan->steps[at].request];
	if (status == CS_OK && is_last && overlap->arrived) {
		status = add_until(overlap, at + 1);
		share(overlap, overlap->arrived);
		overlap->arrived = 0;
	}
	return status;
}

static enum cs_status
add_rounds(struct overlap *overlap)
{
	const struct cs_plan *plan = overlap->plan;
	enum cs_status status = CS_OK;
	for (size_t i = 0; status == CS_OK && i < plan->count; i++) {
		const struct cs_step *step = &plan->steps[i];
		if (step->kind == CS_STEP_SEND || step->kind == CS_STEP_RECV)
			overlap->received[step->request] =
				step->kind == CS_STEP_RECV && step->to == CS_OUT ? step->bytes : 0;
		else if (step->kind == CS_STEP_WAIT)
			status = add_waited(overlap, i);
	}
	return status == CS_OK ? add_until(overlap, plan->count) : status;
}

/* The leader's steps from the moment at which its node's blocks are together. */
static enum cs_status
add_overlapped(struct state *state, int node, const struct cs_problem *problem)
{
	struct cs_plan built, plan = { .count = 0 };
	struct overlap overlap = { .state = state, .leader = state->leaders[node], .plan = &plan,
				   .left = state->call->total };
	enum cs_status status = build_plan(state, node, problem, &built);
	if (status == CS_OK)
		status = cs_plan_unroll(&built, &plan);
	cs_plan_fini(&built);
	free(state->shares);
	state->share_count = 0;
	/* Its node's, a round each, the rest */
	state->shares = calloc(plan.count + 2, sizeof *state->shares);
	overlap.received = calloc((size_t)plan.requests + 1, sizeof *overlap.received);
	if (status == CS_OK && (!state->shares || !overlap.received))
		status = CS_NO_MEMORY;
	if (status == CS_OK) {
		share(&overlap, problem->sizes[node]);
		status = add_rounds(&overlap);
	}
	if (status == CS_OK) {
		share(&overlap, overlap.left);
		copy_pending(&overlap);
	}
	free(overlap.received);
	cs_plan_fini(&plan);
	return status;
}

static void
take_shares(const struct state *state, int node, int rank)
{
	for (size_t i = 0; i < state->share_count; i++) {
		cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT, state->leaders[node], i + 1);
		cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, state->shares[i]);
	}
}

/* --- all together ----------------------------------------------------------------------------- */

static void
add_step(struct cs_sim *sim, const int *ranks, int local, const struct cs_counted_step *step)
{
	static const enum cs_node_step kinds[] = { [CS_COUNTED_COPY] = CS_NODE_COPY,
						   [CS_COUNTED_REDUCE] = CS_NODE_REDUCE,
						   [CS_COUNTED_PUBLISH] = CS_NODE_PUBLISH,
						   [CS_COUNTED_AWAIT] = CS_NODE_AWAIT };
	int peer = step->kind == CS_COUNTED_AWAIT ? ranks[step->peer] : 0;
	cs_sim_add_step(sim, ranks[local], kinds[step->kind], peer, step->amount);
}

/* With overlap what follows on the leaders' messages is done in shares, by all of the node. */
static enum cs_status
add_rank(struct state *state, int node, int local, const struct cs_counted_node *counted,
	 const int *ranks)
{
	const struct cs_counted_rank *rank = &counted->ranks[local];
	enum cs_status status = CS_OK;
	for (size_t i = 0; status == CS_OK && i < rank->count; i++) {
		const struct cs_counted_step *step = &rank->steps[i];
		bool is_between = step->kind == CS_COUNTED_BETWEEN;
		if (state->hier->overlaps && is_between)
			return add_overlapped(state, node, &counted->between[step->amount]);
		if (state->hier->overlaps && step->kind == CS_COUNTED_AWAIT && local) {
			take_shares(state, node, ranks[local]);
			return CS_OK;
		}
		if (is_between)
			status = add_plan(state, node, &counted->between[step->amount]);
		else
			add_step(state->sim, ranks, local, step);
	}
	return status;
}

static enum cs_status
add_node(struct state *state, int node, int *ranks)
{
	const struct cs_counted_node *counted;
	enum cs_status status = count_node(state, node, &counted);
	for (int local = 0; local < state->call->ppn; local++)
		ranks[local] = cs_sim_call_rank(state->call, node, local);
	for (int local = 0; status == CS_OK && local < state->call->ppn; local++)
		status = add_rank(state, node, local, counted, ranks);
	return status;
}

static void
clear(struct state *state)
{
	for (int i = 0; i < CLASSES; i++)
		cs_counted_fini(&state->counted[i]);
	free(state->leaders);
	free(state->shares);
}

enum cs_status
cs_hier_add(struct cs_sim *sim, struct cs_sim_call *call, const struct cs_sim_hier *hier)
{
	struct state state = { .sim = sim, .call = call, .hier = hier };
	if (hier->overlaps && call->coll != CS_ALLGATHER && call->coll != CS_ALLGATHERV)
		return CS_UNSUPPORTED;
	int *ranks = calloc((size_t)call->ppn, sizeof *ranks);
	state.leaders = calloc((size_t)call->nodes, sizeof *state.leaders);
	enum cs_status status = ranks && state.leaders ? CS_OK : CS_NO_MEMORY;
	for (int node = 0; status == CS_OK && node < call->nodes; node++)
		state.leaders[node] = cs_sim_call_rank(call, node, 0);
	for (int node = 0; status == CS_OK && node < call->nodes; node++)
		status = add_node(&state, node, ranks);
	if (status == CS_OK)
		status = cs_sim_added(sim);
	free(ranks);
	clear(&state);
	return status;
}

/* Time of a node's steps, as if messages between nodes took no time. */
static enum cs_status
time_node(const struct cs_counted_node *counted, const int *ranks, const struct cs_model *model,
	  int64_t *time)
{
	struct cs_sim *sim;
	struct cs_sim_result result = { .time = 0 };
	int *node_of = calloc((size_t)counted->locals, sizeof *node_of);
	enum cs_status status = node_of ? cs_sim_create(&sim, counted->locals, node_of, 0)
					: CS_NO_MEMORY;
	free(node_of);
	if (status != CS_OK)
		return status;
	for (int local = 0; local < counted->locals; local++)
		for (size_t i = 0; i < counted->ranks[local].count; i++)
			if (counted->ranks[local].steps[i].kind != CS_COUNTED_BETWEEN)
				add_step(sim, ranks, local, &counted->ranks[local].steps[i]);
	status = cs_sim_added(sim);
	if (status == CS_OK)
		status = cs_sim_run(sim, model, NULL, NULL, &result);
	*time = result.time;
	cs_sim_destroy(sim);
	return status;
}

enum cs_status
cs_hier_time_on_node(struct cs_sim_call *call, const struct cs_sim_hier *hier,
		     const struct cs_model *model, int64_t *time,
		     struct cs_counted_node *first)
{
	struct state state = { .call = call, .hier = hier };
	bool is_known[CLASSES] = { false };
	int *ranks = calloc((size_t)call->ppn, sizeof *ranks);
	enum cs_status status = ranks ? CS_OK : CS_NO_MEMORY;
	*time = 0;
	for (int local = 0; ranks && local < call->ppn; local++)
		ranks[local] = local;
	for (int node = 0; status == CS_OK && node < call->nodes; node++) {
		const struct cs_counted_node *counted;
		int64_t own = 0;
		int class = class_of(call, node);
		if (is_known[class])
			continue;
		is_known[class] = true;
		status = count_node(&state, node, &counted);
		if (status == CS_OK)
			status = time_node(counted, ranks, model, &own);
		*time = own > *time ? own : *time;
	}
	*first = state.counted[class_of(call, 0)];
	state.counted[class_of(call, 0)] = (struct cs_counted_node){ 0 };
	free(ranks);
	clear(&state);
	return status;
}
