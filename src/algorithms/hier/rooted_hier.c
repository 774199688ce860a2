/* hier/rooted_hier.c — gather(v) and scatter(v) over several nodes.
 *
 * A round moves up to `chunk` bytes of every block; the area holds the pieces node by node, at the
 * root's node all of them, elsewhere the own node's at the front. If only the root knows all sizes:
 *   gatherv   each rank publishes its own (seed 002: SharedCnts); the root's leader broadcasts the
 *             number of rounds. A rank with a small block posts it with its size and leaves; its
 *             leader copies the block
 *   scatterv  the root writes all sizes into the area; its leader scatters them between nodes
 *             first, and broadcasts the number of rounds
 * If the plan between nodes needs all sizes on each node (needs.all_sizes), the leaders share
 * them. */
#include "algorithms/hier/rooted_parts.h"

void
cs_rooted_init(struct cs_op *op, bool sizes_known)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	struct cs_rooted *rooted = cs_rooted_of(op);
	rooted->root_node = shape->node_of[op->call.root];
	rooted->root_local = shape->local_of[op->call.root];
	rooted->is_root = shape->rank == op->call.root;
	rooted->is_root_node = shape->node == rooted->root_node;
	rooted->is_leader = cs_team_is_leader(team);
	rooted->shares_sizes = op->between && op->between->needs.all_sizes;
	rooted->chunk = cs_chunks_per_part(team->node.shape.area_bytes, (size_t)shape->ranks);
	rooted->each = op->call.bytes;
	rooted->sizes = sizes_known ? NULL
				    : cs_op_memory(op, CS_OP_COPY, (size_t)shape->ranks *
						   sizeof *rooted->sizes);
	rooted->bytes = cs_op_nodes(op);
	rooted->at = rooted->bytes + shape->nodes;
	rooted->is_cut = rooted->may_be_put = false;
}

/* Bytes of a node's pieces of a round; *before: of those before the own one, if that is there. */
static size_t
pieces_of(const struct cs_op *op, const struct cs_rooted *rooted, int node, uint64_t index,
	  size_t *before)
{
	const struct cs_shape *shape = &op->team->shape;
	size_t bytes = 0, each = cs_chunks_bytes(rooted->each, rooted->chunk, index);
	*before = (size_t)shape->local * each;
	if (!rooted->sizes)
		return (size_t)cs_team_node_size(op->team, node) * each;
	for (int p = shape->first[node]; p < shape->first[node + 1]; p++) {
		if (p == shape->position[shape->rank])
			*before = bytes;
		bytes += cs_chunks_bytes(rooted->sizes[p], rooted->chunk, index);
	}
	return bytes;
}

void
cs_rooted_lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	const struct cs_shape *shape = &op->team->shape;
	bool knows_all = rooted->is_root_node || rooted->shares_sizes;
	size_t offset = 0, before = 0;
	for (int n = 0; n < shape->nodes; n++) {
		rooted->at[n] = rooted->is_root_node ? offset : 0;
		rooted->bytes[n] = knows_all || n == shape->node
				   ? pieces_of(op, rooted, n, round->index, &before) : 0;
		if (n == shape->node)
			rooted->own_at = rooted->at[n] + before;
		offset += rooted->bytes[n];
	}
	round->room = rooted->room;
	round->at = round->index * rooted->chunk;
}

/* --- sizes ------------------------------------------------------------------------------------ */

size_t
cs_rooted_table_bytes(const struct cs_op *op)
{
	return (size_t)op->team->shape.ranks * sizeof(size_t);
}

uint64_t
cs_rooted_most_rounds(const struct cs_op *op, const struct cs_rooted *rooted, const size_t *sizes)
{
	uint64_t most = 0;
	for (int p = 0; p < op->team->shape.ranks; p++) {
		uint64_t rounds = cs_chunks_rounds(sizes[p], rooted->chunk);
		most = rounds > most ? rounds : most;
	}
	return most;
}

void
cs_rooted_lay_out_sizes(const struct cs_op *op, const struct cs_rooted *rooted)
{
	const struct cs_shape *shape = &op->team->shape;
	for (int n = 0; n < shape->nodes; n++) {
		rooted->bytes[n] = (size_t)(shape->first[n + 1] - shape->first[n]) * sizeof(size_t);
		rooted->at[n] = (size_t)shape->first[n] * sizeof(size_t);
	}
}

/* Bytes that a plan of senders has beside the data at most: packed parts begin at lines. */
static size_t
gaps(const struct cs_op *op)
{
	return 64 * ((size_t)op->team->shape.nodes + 1);
}

void
cs_rooted_begin_rounds(struct cs_op *op, uint64_t rounds, uint64_t step, size_t each)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	rooted->hier.rounds = rounds;
	rooted->hier.step = step;
	rooted->moved = cs_rooted_size(rooted, op->team->shape.position[op->team->shape.rank]);
	rooted->room = (each < rooted->chunk ? each : rooted->chunk) *
		       (size_t)op->team->shape.ranks;
	cs_hier_limit_senders(op, step + rounds);
	if (cs_hier_has_senders(op))
		op->senders.room = rooted->room += gaps(op);
	cs_node_expect(&op->node, rounds, 2);
}

void
cs_rooted_start(struct cs_op *op, const struct cs_hier_kind *kind, size_t wanted,
		cs_phase *const *script, int first)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	size_t each = op->call.bytes, ranks = (size_t)op->team->shape.ranks,
	       area = op->team->node.shape.area_bytes, gap = gaps(op);
	size_t chunk = area > gap ? cs_chunks_per_part(area - gap, ranks) : 0;
	struct cs_hier_senders senders = { .memory = area, .are_heard = !kind->source };
	senders.count = chunk ? cs_hier_senders(op, wanted, gap, 0) : 1;
	if (senders.count > 1)
		rooted->chunk = chunk;
	cs_hier_start_by_senders(op, kind, &senders, script, first);
	if (!rooted->sizes)
		cs_rooted_begin_rounds(op, cs_chunks_rounds(each, rooted->chunk), 0, each);
}

bool
cs_rooted_open_table(struct cs_op *op, const struct cs_blocks *blocks)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	const struct cs_shape *shape = &op->team->shape;
	rooted->shared = cs_node_try_area(&op->node, cs_rooted_table_bytes(op));
	if (!rooted->shared)
		return false;
	size_t *shared = (size_t *)(void *)rooted->shared;
	for (int p = 0; rooted->is_root && p < shape->ranks; p++)
		shared[p] = cs_blocks_bytes(blocks, shape->order[p]);
	return true;
}

enum cs_status
cs_rooted_between_sizes(struct cs_op *op)
{
	return cs_rooted_of(op)->is_leader ? cs_between_go(op) : CS_OK;
}

void
cs_rooted_by_host(struct cs_op *op, void (*between)(struct cs_op *op, struct cs_rooted *rooted))
{
	const struct cs_algorithm *plan = op->between;
	op->between = NULL;
	between(op, cs_rooted_of(op));
	op->between = plan;
}

static void
bcast_rounds(struct cs_op *op, struct cs_rooted *rooted)
{
	cs_between_bcast(op, &rooted->agreed, sizeof rooted->agreed, rooted->root_node);
}

void
cs_rooted_tell_rounds(struct cs_op *op, const size_t *sizes)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	rooted->agreed = rooted->is_root_node ? cs_rooted_most_rounds(op, rooted, sizes) : 0;
	cs_rooted_by_host(op, bcast_rounds);
}

static void
bcast_table(struct cs_op *op, struct cs_rooted *rooted)
{
	cs_between_bcast(op, rooted->shared, cs_rooted_table_bytes(op), rooted->root_node);
}

bool
cs_rooted_is_root_of_node(struct cs_op *op, int local)
{
	const struct cs_rooted *rooted = cs_rooted_of(op);
	return rooted->is_root_node && local == rooted->root_local;
}

/* --- scatter ---------------------------------------------------------------------------------- */

/* Takes the line; its bytes report to the node a block longer than expected. */
static enum cs_status
scatter_open(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	if (cs_hier_open(op) == CS_AGAIN)
		return CS_AGAIN;
	cs_line_say(&op->node, rooted->hier.line, rooted->is_root && op->call.coll == CS_SCATTER
		    ? op->call.bytes : 0);
	return CS_OK;
}

/* Sizes, step 1 of the root: all sizes in the area. */
static enum cs_status
scatter_bring_sizes(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	if (!cs_rooted_open_table(op, &op->call.send))
		return CS_AGAIN;
	if (rooted->is_root)
		cs_node_publish(&op->node, rooted->hier.line, 1);
	return CS_OK;
}

static void
scatter_table(struct cs_op *op, struct cs_rooted *rooted)
{
	cs_between_scatterv(op, rooted->shared, rooted->bytes, rooted->at, rooted->root_node);
}

static enum cs_status
scatter_meet_sizes(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	if (!rooted->is_leader)
		return CS_OK;
	if (rooted->is_root_node && !cs_node_look(&op->node, rooted->root_local, 1))
		return CS_AGAIN;
	if (!cs_between_is_turn(op))
		return CS_AGAIN;
	cs_rooted_lay_out_sizes(op, rooted);
	if (rooted->shares_sizes)
		cs_rooted_by_host(op, bcast_table);
	else if (cs_hier_has_senders(op)) /* the leader is alone here */
		cs_rooted_by_host(op, scatter_table);
	else
		scatter_table(op, rooted);
	return cs_plans_have_begun(op);
}

static enum cs_status
scatter_agree(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	if (!rooted->is_leader)
		return CS_OK;
	cs_rooted_tell_rounds(op, (const size_t *)(const void *)rooted->shared);
	return CS_OK;
}

/* Cuts the own block's size to the expected one, and reports a longer block. */
static void
scatter_know_sizes(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	size_t sent = rooted->moved;
	if (op->call.recv.base && sent > op->call.bytes)
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
	rooted->moved = sent < op->call.bytes ? sent : op->call.bytes;
}

/* Step 3 of a leader: rounds, and at least the own node's sizes in the area. */
static enum cs_status
scatter_take_sizes(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	struct cs_node_op *node = &op->node;
	const struct cs_shape *shape = &op->team->shape;
	bool knows_all = rooted->is_root_node || rooted->shares_sizes;
	int first = knows_all ? 0 : shape->first[shape->node];
	int last = knows_all ? shape->ranks : shape->first[shape->node + 1];
	if (rooted->is_leader) {
		rooted->hier.line->word[2] = rooted->agreed;
		cs_node_publish(node, rooted->hier.line, 3);
	}
	const struct cs_line *line = cs_node_look(node, cs_team_leader(op->team), 3);
	if (!line)
		return CS_AGAIN;
	memcpy(rooted->sizes + first, (size_t *)(void *)rooted->shared + first,
	       (size_t)(last - first) * sizeof(size_t));
	cs_node_area_done(node, cs_rooted_table_bytes(op), 1);
	cs_rooted_begin_rounds(op, line->word[2], 3, SIZE_MAX);
	scatter_know_sizes(op);
	return CS_OK;
}

static enum cs_status
scatter_bring(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	const struct cs_hier_round *round = cs_hier_now(&rooted->hier);
	const struct cs_shape *shape = &op->team->shape;
	char *to = round->area[0];
	if (!rooted->is_root)
		return CS_OK;
	for (int p = 0; p < shape->ranks; p++) {
		size_t piece = cs_chunks_bytes(cs_rooted_size(rooted, p), rooted->chunk,
					       round->index);
		cs_copy_in(op, to, cs_blocks_at(&op->call.send, shape->order[p]) + round->at,
			   piece);
		to += piece;
	}
	cs_node_publish(&op->node, rooted->hier.line, round->here);
	return CS_OK;
}

static void
scatter_between(struct cs_op *op, struct cs_hier_round *round)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	cs_between_scatterv(op, round->area[0], rooted->bytes, rooted->at, rooted->root_node);
}

static void
scatter_tell(struct cs_op *op, struct cs_line *line)
{
	if (!cs_rooted_of(op)->is_root_node && (op->node.outcome.bits & CS_OUTCOME_MORE))
		cs_line_say(&op->node, line, op->call.bytes + 1);
}

static int
scatter_source(struct cs_op *op, const struct cs_hier_round *round, int lane, uint64_t *step)
{
	const struct cs_rooted *rooted = cs_rooted_of(op);
	(void)lane;
	if (!rooted->is_root_node)
		return cs_team_leader(op->team);
	*step = round->here;
	return rooted->root_local;
}

static void
scatter_take_lane(struct cs_op *op, const struct cs_hier_round *round, int lane,
		  const struct cs_line *line)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	(void)lane;
	if (cs_line_bytes(line) > op->call.bytes)
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
	if (op->call.recv.base)
		cs_copy_result(op, op->call.recv.base + round->at, round->area[0] + rooted->own_at,
			       cs_chunks_bytes(rooted->moved, rooted->chunk, round->index));
}

static const struct cs_hier_kind scatter_hier =
	{ .areas = 1, .lay_out = cs_rooted_lay_out, .bring = scatter_bring,
						  .waits_for = cs_rooted_is_root_of_node,
						  .between = scatter_between, .tell = scatter_tell,
						  .source = scatter_source,
						  .take_lane = scatter_take_lane };

static cs_phase *const scatter_script[] = { scatter_open, CS_HIER_ROUND_PHASES, NULL };
#define SCATTER_ROUND 1
static cs_phase *const scatterv_script[] = {
	scatter_open, scatter_bring_sizes, scatter_meet_sizes, cs_rooted_between_sizes,
	scatter_agree, cs_rooted_between_sizes, scatter_take_sizes, CS_HIER_ROUND_PHASES, NULL };
#define SCATTERV_ROUND 7

__attribute__((noinline)) void
cs_rooted_scatter_hier(struct cs_op *op, bool sizes_known, size_t senders)
{
	cs_rooted_init(op, sizes_known);
	if (sizes_known) {
		cs_rooted_start(op, &scatter_hier, senders, scatter_script, SCATTER_ROUND);
		scatter_know_sizes(op);
	} else {
		cs_rooted_start(op, &scatter_hier, senders, scatterv_script, SCATTERV_ROUND);
	}
}
