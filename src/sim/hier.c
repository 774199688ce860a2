/* sim/hier.c — writes the steps that the ranks of a node do for each other. */
#include "sim/hier.h"

#include "plan/build.h"
#include "plan/walk.h"

#include <stdlib.h>

enum { SEND, SEND_AT, RECV, RECV_AT, ARRAYS };

struct work {
	struct cs_sim *sim;
	const struct cs_sim_call *call;
	const struct cs_hier *hier;
	const struct cs_coll_info *info; /* the call's */
	int *leaders;           /* by node */
	size_t *arrays[ARRAYS]; /* of the plan's problem, by node */
	bool is_sliced;         /* all ranks of a node reduce */
	bool is_scan, is_chain; /* of a scan: each adds to what the rank before it has */
	size_t *shares;         /* with overlap: bytes that each flag of this node's leader stands for */
	size_t share_count;
};

static bool
is_root(const struct work *work, int rank)
{
	return rank == work->call->root;
}

static int
root_node(const struct work *work)
{
	return work->call->node_of[work->call->root];
}

/* A root's own block stays with it where it gathers blocks. */
static bool
brings(const struct work *work, int rank)
{
	const struct cs_coll_info *info = work->info;
	bool is_gathered = info->in.what == CS_OWN_BLOCK && info->out.who == CS_ROOT;
	return is_root(work, rank) ? !is_gathered : info->in.who != CS_ROOT;
}

/* Of a vector: what this rank reduces for its node. */
static size_t
slice_of(const struct work *work, int local)
{
	size_t units = work->call->total / CS_CALL_UNIT, ppn = (size_t)work->call->ppn, self = (size_t)local;
	return (units * (self + 1) / ppn - units * self / ppn) * CS_CALL_UNIT;
}

static size_t
bytes_in(const struct work *work, int rank, int local)
{
	const struct cs_sim_call *call = work->call;
	if (work->info->in.what == CS_OWN_BLOCK)
		return call->dealt[rank];
	if (!work->info->reduces || work->info->out.what != CS_VECTOR)
		return call->total;
	/* What a rank reduces itself it reads in its own memory: its slice, or the leader all. */
	return work->is_sliced ? call->total - slice_of(work, local) : local ? call->total : 0;
}

static size_t
bytes_out(const struct work *work, int rank)
{
	const struct cs_sim_call *call = work->call;
	if (!cs_flow_reaches(work->info->out, rank, call->root))
		return 0;
	return work->info->out.what == CS_OWN_BLOCK ? call->dealt[rank] : call->total;
}

/* --- the leaders' plan -------------------------------------------------------------------------------------------- */

static size_t
between(const struct cs_sim_call *call, int from, int to)
{
	size_t bytes = 0;
	for (int i = 0; i < call->ppn; i++)
		for (int k = 0; k < call->ppn; k++)
			bytes += cs_sim_call_pair(call, cs_sim_call_rank(call, from, i), cs_sim_call_rank(call, to, k));
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
fill_pairs(struct work *work, int node)
{
	for (int other = 0; other < work->call->nodes; other++) {
		work->arrays[SEND][other] = between(work->call, node, other);
		work->arrays[RECV][other] = between(work->call, other, node);
	}
	place(work->arrays[SEND], work->arrays[SEND_AT], work->call->nodes);
	place(work->arrays[RECV], work->arrays[RECV_AT], work->call->nodes);
}

/* The plan's problem at a node's leader: nodes are its ranks. */
static struct cs_problem
problem_of(struct work *work, int node)
{
	const struct cs_sim_call *call = work->call;
	enum cs_coll coll = work->hier->inner;
	const struct cs_coll_info *info = &cs_colls[coll];
	bool is_rooted = info->rooted;
	struct cs_problem problem = { .coll = coll, .ranks = call->nodes, .rank = node,
				      .root = is_rooted ? root_node(work) : 0, .unit = call->problem.unit,
				      .is_commutative = call->problem.is_commutative, .params = work->hier->params };
	if (!cs_coll_has_blocks(info)) {
		problem.bytes = call->bytes;
		problem.is_in_place = info->reduces && !is_rooted;
		return problem;
	}
	if (info->sizes == CS_SIZES_BY_PAIR) {
		fill_pairs(work, node);
		problem.recv_sizes = work->arrays[RECV];
		problem.recv_at = work->arrays[RECV_AT];
		/* On all nodes the same: what passes between two depends on how far they are apart. */
		for (int other = 0; other < call->nodes; other++)
			if (other != node && work->arrays[SEND][other] > problem.bytes)
				problem.bytes = work->arrays[SEND][other];
	}
	problem.sizes = work->arrays[SEND];
	problem.at = info->reduces ? NULL : work->arrays[SEND_AT];
	problem.is_in_place = is_rooted ? node == problem.root : info->in.what == CS_OWN_BLOCK;
	return problem;
}

static enum cs_status
build_plan(struct work *work, int node, struct cs_plan *plan)
{
	struct cs_problem problem = problem_of(work, node);
	struct cs_builder builder;
	cs_builder_init(&builder, &problem, plan);
	work->hier->build(&builder);
	return cs_builder_finish(&builder);
}

static enum cs_status
add_plan(struct work *work, int node)
{
	struct cs_plan plan;
	enum cs_status status = build_plan(work, node, &plan);
	if (status == CS_OK)
		status = cs_sim_add_among(work->sim, work->leaders[node], &plan, work->leaders);
	cs_plan_fini(&plan);
	return status;
}

/* --- overlap ------------------------------------------------------------------------------------------------------ */

/* A leader's plan with copies out in between. */
struct overlap {
	struct work *work;
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
	return cs_sim_add_among(overlap->work->sim, overlap->leader, &part, overlap->work->leaders);
}

static void
share(struct overlap *overlap, size_t bytes)
{
	struct work *work = overlap->work;
	if (bytes > overlap->left)
		bytes = overlap->left;
	if (!bytes)
		return;
	cs_sim_add_step(work->sim, overlap->leader, CS_NODE_PUBLISH, 0, 0);
	work->shares[work->share_count++] = bytes;
	overlap->left -= bytes;
	overlap->pending += bytes;
}

static void
copy_pending(struct overlap *overlap)
{
	cs_sim_add_step(overlap->work->sim, overlap->leader, CS_NODE_COPY, 0, overlap->pending);
	overlap->pending = 0;
}

static enum cs_status
add_waited(struct overlap *overlap, size_t at)
{
	const struct cs_plan *plan = overlap->plan;
	bool is_last = at + 1 == plan->count || plan->steps[at + 1].kind != CS_STEP_WAIT;
	enum cs_status status = CS_OK;
	if (overlap->pending) { /* this round's messages are under way, and those of the next one are not */
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
add_overlapped(struct work *work, int node)
{
	struct cs_plan built, plan = { .count = 0 };
	struct overlap overlap = { .work = work, .leader = work->leaders[node], .plan = &plan,
				   .left = work->call->total };
	enum cs_status status = build_plan(work, node, &built);
	if (status == CS_OK)
		status = cs_plan_unroll(&built, &plan);
	cs_plan_fini(&built);
	free(work->shares);
	work->share_count = 0;
	work->shares = calloc(plan.count + 2, sizeof *work->shares); /* its node's, a round each, the rest */
	overlap.received = calloc((size_t)plan.requests + 1, sizeof *overlap.received);
	if (status == CS_OK && (!work->shares || !overlap.received))
		status = CS_NO_MEMORY;
	if (status == CS_OK) {
		share(&overlap, on_node(work->call, node));
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
take_shares(const struct work *work, int node, int rank)
{
	for (size_t i = 0; i < work->share_count; i++) {
		cs_sim_add_step(work->sim, rank, CS_NODE_AWAIT, work->leaders[node], i + 1);
		cs_sim_add_step(work->sim, rank, CS_NODE_COPY, 0, work->shares[i]);
	}
}

/* --- steps on a node ---------------------------------------------------------------------------------------------- */

static void
add_slice(const struct work *work, int node, int local)
{
	const struct cs_sim_call *call = work->call;
	size_t slice = slice_of(work, local);
	int rank = cs_sim_call_rank(call, node, local);
	cs_sim_add_step(work->sim, rank, CS_NODE_PUBLISH, 0, 0);
	for (int other = 0; other < call->ppn; other++) {
		if (other == local)
			continue;
		cs_sim_add_step(work->sim, rank, CS_NODE_AWAIT, cs_sim_call_rank(call, node, other), 1);
		cs_sim_add_step(work->sim, rank, CS_NODE_REDUCE, 0, slice);
	}
}

static void
collect(const struct work *work, int node)
{
	const struct cs_sim_call *call = work->call;
	bool reduces = work->info->reduces && !work->is_sliced;
	for (int local = 1; local < call->ppn; local++) {
		int rank = cs_sim_call_rank(call, node, local);
		if (!brings(work, rank))
			continue;
		cs_sim_add_step(work->sim, work->leaders[node], CS_NODE_AWAIT, rank, work->is_sliced ? 2 : 1);
		if (reduces)
			cs_sim_add_step(work->sim, work->leaders[node], CS_NODE_REDUCE, 0, call->total);
	}
}

/* Of the root's data its node's ranks take it as soon as the root has brought it. */
static void
await_data(const struct work *work, int node, int rank)
{
	int leader = work->leaders[node];
	bool is_straight = work->info->in.who == CS_ROOT && node == root_node(work);
	if (is_straight && !is_root(work, rank))
		cs_sim_add_step(work->sim, rank, CS_NODE_AWAIT, work->call->root, 1);
	else if (!is_straight)
		cs_sim_add_step(work->sim, rank, CS_NODE_AWAIT, leader, work->is_sliced ? 2 : 1);
}

/* What the rank reduces of its node's vectors before the leaders' plan. */
static void
add_node_prefix(const struct work *work, int node, int local)
{
	const struct cs_sim_call *call = work->call;
	int rank = cs_sim_call_rank(call, node, local), last = call->ppn - 1;
	for (int other = work->is_chain && local ? local - 1 : 0; other < local; other++) {
		cs_sim_add_step(work->sim, rank, CS_NODE_AWAIT, cs_sim_call_rank(call, node, other), 1);
		cs_sim_add_step(work->sim, rank, CS_NODE_REDUCE, 0, call->total);
	}
	if (work->is_chain && local == last)
		cs_sim_add_step(work->sim, rank, CS_NODE_PUBLISH, 0, 0);
	if (work->is_chain && !local)
		cs_sim_add_step(work->sim, rank, CS_NODE_AWAIT, cs_sim_call_rank(call, node, last), 2);
	for (int other = 1; !work->is_chain && !local && other <= last; other++) {
		cs_sim_add_step(work->sim, rank, CS_NODE_AWAIT, cs_sim_call_rank(call, node, other), 1);
		cs_sim_add_step(work->sim, rank, CS_NODE_REDUCE, 0, call->total);
	}
}

static enum cs_status
add_scan_rank(struct work *work, int node, int local)
{
	const struct cs_sim_call *call = work->call;
	int rank = cs_sim_call_rank(call, node, local);
	bool is_inclusive = work->info->sum == CS_SUM_UP_TO_OWN;
	enum cs_status status = CS_OK;
	if (call->ppn > 1) {
		cs_sim_add_step(work->sim, rank, CS_NODE_COPY, 0, call->total);
		cs_sim_add_step(work->sim, rank, CS_NODE_PUBLISH, 0, 0);
		if (!local && is_inclusive && work->is_chain)
			cs_sim_add_step(work->sim, rank, CS_NODE_COPY, 0, call->total);
		add_node_prefix(work, node, local);
	}
	if (!local) {
		status = add_plan(work, node);
		cs_sim_add_step(work->sim, rank, CS_NODE_PUBLISH, 0, 0);
	} else if (node) {
		cs_sim_add_step(work->sim, rank, CS_NODE_AWAIT, work->leaders[node], 2);
	}
	/* A node's first rank has no other operand there than its own, which an exscan leaves out. */
	if (!local && (is_inclusive ? !work->is_chain : node > 0))
		cs_sim_add_step(work->sim, rank, CS_NODE_COPY, 0, call->total);
	if (node && (local || is_inclusive))
		cs_sim_add_step(work->sim, rank, CS_NODE_REDUCE, 0, call->total);
	return status;
}

static enum cs_status
add_rank(struct work *work, int node, int local)
{
	int rank = cs_sim_call_rank(work->call, node, local);
	bool is_leader = local == 0;
	enum cs_status status = CS_OK;
	if (brings(work, rank))
		cs_sim_add_step(work->sim, rank, CS_NODE_COPY, 0, bytes_in(work, rank, local));
	if (work->is_sliced)
		add_slice(work, node, local);
	if (brings(work, rank) && (!is_leader || work->info->in.who == CS_ROOT))
		cs_sim_add_step(work->sim, rank, CS_NODE_PUBLISH, 0, 0);
	if (work->hier->overlaps && !is_leader) {
		take_shares(work, node, rank);
		return CS_OK;
	}
	if (is_leader)
		collect(work, node);
	if (work->hier->overlaps)
		return add_overlapped(work, node);
	if (is_leader) {
		status = add_plan(work, node);
		cs_sim_add_step(work->sim, rank, CS_NODE_PUBLISH, 0, 0);
	} else if (work->info->out.who != CS_ROOT || is_root(work, rank)) {
		await_data(work, node, rank);
	}
	cs_sim_add_step(work->sim, rank, CS_NODE_COPY, 0, bytes_out(work, rank));
	return status;
}

static enum cs_status
begin(struct work *work)
{
	const struct cs_sim_call *call = work->call;
	size_t nodes = (size_t)call->nodes;
	bool is_good = (work->leaders = calloc(nodes, sizeof *work->leaders)) != NULL;
	for (int i = 0; i < ARRAYS; i++)
		is_good = is_good && (work->arrays[i] = calloc(nodes, sizeof *work->arrays[i]));
	if (!is_good)
		return CS_NO_MEMORY;
	for (int node = 0; node < call->nodes; node++) {
		work->leaders[node] = cs_sim_call_rank(call, node, 0);
		work->arrays[SEND][node] = on_node(call, node);
	}
	place(work->arrays[SEND], work->arrays[SEND_AT], call->nodes);
	return CS_OK;
}

enum cs_status
cs_hier_add(struct cs_sim *sim, const struct cs_sim_call *call, const struct cs_hier *hier)
{
	struct work work = { .sim = sim, .call = call, .hier = hier,
			     .info = &cs_colls[call->coll] };
	if (hier->overlaps && call->coll != CS_ALLGATHER && call->coll != CS_ALLGATHERV)
		return CS_UNSUPPORTED;
	work.is_scan = cs_coll_is_scan(work.info);
	work.is_chain = work.is_scan && call->ppn > 1 && call->bytes > hier->whole / (size_t)(call->ppn - 1);
	work.is_sliced = work.info->reduces && !work.is_scan && call->bytes > hier->whole;
	enum cs_status status = begin(&work);
	for (int node = 0; status == CS_OK && node < call->nodes; node++)
		for (int local = 0; status == CS_OK && local < call->ppn; local++)
			status = (work.is_scan ? add_scan_rank : add_rank)(&work, node, local);
	if (status == CS_OK)
		status = cs_sim_added(sim);
	free(work.leaders);
	free(work.shares);
	for (int i = 0; i < ARRAYS; i++)
		free(work.arrays[i]);
	return status;
}
