/* sim/hier.c — writes the steps that the ranks of a node do for each other. */
#include "sim/hier.h"

#include "plan/build.h"
#include "plan/walk.h"

#include <stdlib.h>

enum { SEND, SEND_AT, RECV, RECV_AT, ARRAYS };

struct state {
	struct cs_sim *sim;
	const struct cs_sim_call *call;
	const struct cs_hier *hier;
	const struct cs_coll_info *info; /* the call's */
	int *leaders;           /* by node */
	size_t *arrays[ARRAYS]; /* of the plan's problem, by node */
	bool is_sliced;         /* all ranks of a node reduce */
	bool is_scan, is_chain; /* of a scan: each adds to what the rank before it has */
	size_t *shares;         /* with overlap: bytes that each flag of this node's leader stands
				 * for */
	size_t share_count;
};

static bool
is_root(const struct state *state, int rank)
{
	return rank == state->call->root;
}

static int
root_node(const struct state *state)
{
	return state->call->node_of[state->call->root];
}

/* A root's own block stays with it where it gathers blocks. */
static bool
brings(const struct state *state, int rank)
{
	const struct cs_coll_info *info = state->info;
	bool is_gathered = info->in.what == CS_OWN_BLOCK && info->out.who == CS_ROOT;
	return is_root(state, rank) ? !is_gathered : info->in.who != CS_ROOT;
}

/* Of a vector: what this rank reduces for its node. */
static size_t
slice_of(const struct state *state, int local)
{
	size_t units = state->call->total / CS_CALL_UNIT, ppn = (size_t)state->call->ppn,
	       self = (size_t)local;
	return (units * (self + 1) / ppn - units * self / ppn) * CS_CALL_UNIT;
}

static size_t
bytes_in(const struct state *state, int rank, int local)
{
	const struct cs_sim_call *call = state->call;
	if (state->info->in.what == CS_OWN_BLOCK)
		return call->dealt[rank];
	if (!state->info->reduces || state->info->out.what != CS_VECTOR)
		return call->total;
	/* What a rank reduces itself it reads in its own memory: its slice, or the leader all. */
	return state->is_sliced ? call->total - slice_of(state, local) : local ? call->total : 0;
}

static size_t
bytes_out(const struct state *state, int rank)
{
	const struct cs_sim_call *call = state->call;
	if (!cs_flow_reaches(state->info->out, rank, call->root))
		return 0;
	return state->info->out.what == CS_OWN_BLOCK ? call->dealt[rank] : call->total;
}

/* --- the leaders' plan ------------------------------------------------------------------------ */

static size_t
between(const struct cs_sim_call *call, int from, int to)
{
	size_t bytes = 0;
	for (int i = 0; i < call->ppn; i++)
		for (int k = 0; k < call->ppn; k++)
			bytes += cs_sim_call_pair(call, cs_sim_call_rank(call, from, i),
						  cs_sim_call_rank(call, to, k));
	return bytes;
}

static size_t
on_node(const struct cs_sim_call *call, int node)
{
	size_t bytes = 0;
	for (int i = 0; i < call->ppn; i++)
		bytes += call->dealt[cs_sim_call_rank(call, node, i)];
	return bytes;
}

static void
place(const size_t *sizes, size_t *at, int count)
{
	size_t next = 0;
	for (int i = 0; i < count; next += sizes[i++])
		at[i] = next;
}

static void
fill_pairs(struct state *state, int node)
{
	for (int other = 0; other < state->call->nodes; other++) {
		state->arrays[SEND][other] = between(state->call, node, other);
		state->arrays[RECV][other] = between(state->call, other, node);
	}
	place(state->arrays[SEND], state->arrays[SEND_AT], state->call->nodes);
	place(state->arrays[RECV], state->arrays[RECV_AT], state->call->nodes);
}

/* The plan's problem at a node's leader: nodes are its ranks. */
static struct cs_problem
problem_of(struct state *state, int node)
{
	const struct cs_sim_call *call = state->call;
	enum cs_coll coll = state->hier->inner;
	const struct cs_coll_info *info = &cs_colls[coll];
	bool is_rooted = info->rooted;
	struct cs_problem problem = { .coll = coll, .ranks = call->nodes, .rank = node,
				      .root = is_rooted ? root_node(state) : 0,
				      .unit = call->problem.unit,
				      .is_commutative = call->problem.is_commutative,
				      .params = state->hier->params };
	if (!cs_coll_has_blocks(info)) {
		problem.bytes = call->bytes;
		problem.is_in_place = info->reduces && !is_rooted;
		return problem;
	}
	if (info->sizes == CS_SIZES_BY_PAIR) {
		fill_pairs(state, node);
		problem.recv_sizes = state->arrays[RECV];
		problem.recv_at = state->arrays[RECV_AT];
		/* On all nodes the same: what passes between two depends on how far they are
		 * apart. */
		for (int other = 0; other < call->nodes; other++)
			if (other != node && state->arrays[SEND][other] > problem.bytes)
				problem.bytes = state->arrays[SEND][other];
	}
	problem.sizes = state->arrays[SEND];
	problem.at = info->reduces ? NULL : state->arrays[SEND_AT];
	problem.is_in_place = is_rooted ? node == problem.root : info->in.what == CS_OWN_BLOCK;
	return problem;
}

static enum cs_status
build_plan(struct state *state, int node, struct cs_plan *plan)
{
	struct cs_problem problem = problem_of(state, node);
	struct cs_builder builder;
	cs_builder_init(&builder, &problem, plan);
	state->hier->build(&builder);
	return cs_builder_finish(&builder);
}

static enum cs_status
add_plan(struct state *state, int node)
{
	struct cs_plan plan;
	enum cs_status status = build_plan(state, node, &plan);
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
add_overlapped(struct state *state, int node)
{
	struct cs_plan built, plan = { .count = 0 };
	struct overlap overlap = { .state = state, .leader = state->leaders[node], .plan = &plan,
				   .left = state->call->total };
	enum cs_status status = build_plan(state, node, &built);
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
		share(&overlap, on_node(state->call, node));
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

/* --- steps on a node -------------------------------------------------------------------------- */

static void
add_slice(const struct state *state, int node, int local)
{
	const struct cs_sim_call *call = state->call;
	size_t slice = slice_of(state, local);
	int rank = cs_sim_call_rank(call, node, local);
	cs_sim_add_step(state->sim, rank, CS_NODE_PUBLISH, 0, 0);
	for (int other = 0; other < call->ppn; other++) {
		if (other == local)
			continue;
		cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT,
				cs_sim_call_rank(call, node, other), 1);
		cs_sim_add_step(state->sim, rank, CS_NODE_REDUCE, 0, slice);
	}
}

static void
collect(const struct state *state, int node)
{
	const struct cs_sim_call *call = state->call;
	bool reduces = state->info->reduces && !state->is_sliced;
	for (int local = 1; local < call->ppn; local++) {
		int rank = cs_sim_call_rank(call, node, local);
		if (!brings(state, rank))
			continue;
		cs_sim_add_step(state->sim, state->leaders[node], CS_NODE_AWAIT, rank,
				state->is_sliced ? 2 : 1);
		if (reduces)
			cs_sim_add_step(state->sim, state->leaders[node], CS_NODE_REDUCE, 0,
					call->total);
	}
}

/* Of the root's data its node's ranks take it as soon as the root has brought it. */
static void
await_data(const struct state *state, int node, int rank)
{
	int leader = state->leaders[node];
	bool is_straight = state->info->in.who == CS_ROOT && node == root_node(state);
	if (is_straight && !is_root(state, rank))
		cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT, state->call->root, 1);
	else if (!is_straight)
		cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT, leader, state->is_sliced ? 2 : 1);
}

/* What the rank reduces of its node's vectors before the leaders' plan. */
static void
add_node_prefix(const struct state *state, int node, int local)
{
	const struct cs_sim_call *call = state->call;
	int rank = cs_sim_call_rank(call, node, local), last = call->ppn - 1;
	for (int other = state->is_chain && local ? local - 1 : 0; other < local; other++) {
		cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT,
				cs_sim_call_rank(call, node, other), 1);
		cs_sim_add_step(state->sim, rank, CS_NODE_REDUCE, 0, call->total);
	}
	if (state->is_chain && local == last)
		cs_sim_add_step(state->sim, rank, CS_NODE_PUBLISH, 0, 0);
	if (state->is_chain && !local)
		cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT, cs_sim_call_rank(call, node, last),
				2);
	for (int other = 1; !state->is_chain && !local && other <= last; other++) {
		cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT,
				cs_sim_call_rank(call, node, other), 1);
		cs_sim_add_step(state->sim, rank, CS_NODE_REDUCE, 0, call->total);
	}
}

static enum cs_status
add_scan_rank(struct state *state, int node, int local)
{
	const struct cs_sim_call *call = state->call;
	int rank = cs_sim_call_rank(call, node, local);
	bool is_inclusive = state->info->sum == CS_SUM_UP_TO_OWN;
	enum cs_status status = CS_OK;
	if (call->ppn > 1) {
		cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, call->total);
		cs_sim_add_step(state->sim, rank, CS_NODE_PUBLISH, 0, 0);
		if (!local && is_inclusive && state->is_chain)
			cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, call->total);
		add_node_prefix(state, node, local);
	}
	if (!local) {
		status = add_plan(state, node);
		cs_sim_add_step(state->sim, rank, CS_NODE_PUBLISH, 0, 0);
	} else if (node) {
		cs_sim_add_step(state->sim, rank, CS_NODE_AWAIT, state->leaders[node], 2);
	}
	/* A node's first rank has no other operand there than its own, which an exscan leaves
	 * out. */
	if (!local && (is_inclusive ? !state->is_chain : node > 0))
		cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, call->total);
	if (node && (local || is_inclusive))
		cs_sim_add_step(state->sim, rank, CS_NODE_REDUCE, 0, call->total);
	return status;
}

static enum cs_status
add_rank(struct state *state, int node, int local)
{
	int rank = cs_sim_call_rank(state->call, node, local);
	bool is_leader = local == 0;
	enum cs_status status = CS_OK;
	if (brings(state, rank))
		cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, bytes_in(state, rank, local));
	if (state->is_sliced)
		add_slice(state, node, local);
	if (brings(state, rank) && (!is_leader || state->info->in.who == CS_ROOT))
		cs_sim_add_step(state->sim, rank, CS_NODE_PUBLISH, 0, 0);
	if (state->hier->overlaps && !is_leader) {
		take_shares(state, node, rank);
		return CS_OK;
	}
	if (is_leader)
		collect(state, node);
	if (state->hier->overlaps)
		return add_overlapped(state, node);
	if (is_leader) {
		status = add_plan(state, node);
		cs_sim_add_step(state->sim, rank, CS_NODE_PUBLISH, 0, 0);
	} else if (state->info->out.who != CS_ROOT || is_root(state, rank)) {
		await_data(state, node, rank);
	}
	cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, bytes_out(state, rank));
	return status;
}

static enum cs_status
begin(struct state *state)
{
	const struct cs_sim_call *call = state->call;
	size_t nodes = (size_t)call->nodes;
	bool is_good = (state->leaders = calloc(nodes, sizeof *state->leaders)) != NULL;
	for (int i = 0; i < ARRAYS; i++)
		is_good = is_good && (state->arrays[i] = calloc(nodes, sizeof *state->arrays[i]));
	if (!is_good)
		return CS_NO_MEMORY;
	for (int node = 0; node < call->nodes; node++) {
		state->leaders[node] = cs_sim_call_rank(call, node, 0);
		state->arrays[SEND][node] = on_node(call, node);
	}
	place(state->arrays[SEND], state->arrays[SEND_AT], call->nodes);
	return CS_OK;
}

enum cs_status
cs_hier_add(struct cs_sim *sim, const struct cs_sim_call *call, const struct cs_hier *hier)
{
	struct state state = { .sim = sim, .call = call, .hier = hier,
			       .info = &cs_colls[call->coll] };
	if (hier->overlaps && call->coll != CS_ALLGATHER && call->coll != CS_ALLGATHERV)
		return CS_UNSUPPORTED;
	state.is_scan = cs_coll_is_scan(state.info);
	state.is_chain = state.is_scan && call->ppn > 1 &&
			 call->bytes > hier->whole / (size_t)(call->ppn - 1);
	state.is_sliced = state.info->reduces && !state.is_scan && call->bytes > hier->whole;
	enum cs_status status = begin(&state);
	for (int node = 0; status == CS_OK && node < call->nodes; node++)
		for (int local = 0; status == CS_OK && local < call->ppn; local++)
			status = (state.is_scan ? add_scan_rank : add_rank)(&state, node, local);
	if (status == CS_OK)
		status = cs_sim_added(sim);
	free(state.leaders);
	free(state.shares);
	for (int i = 0; i < ARRAYS; i++)
		free(state.arrays[i]);
	return status;
}
