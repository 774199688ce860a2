/* patterns/rooted_hier.c — gather(v) and scatter(v) over several nodes.
 *
 * A round moves up to `chunk` bytes of every block; the area holds the pieces node by node, at the
 * root's node all of them, elsewhere the own node's at the front. Where only the root knows the
 * sizes:
 *   gatherv   each rank publishes its own (seed 002: SharedCnts); the leaders agree on the number
 *             of rounds. Who has little puts it out with that and leaves; its leader copies it
 *   scatterv  the root writes all sizes into the area; its leader scatters them between nodes first
 * A plan between nodes may need all sizes on all of them (needs.all_sizes); then the leaders share
 * them all. */
#include "algorithms/patterns/rooted.h"

#include "algorithms/between.h"
#include "algorithms/patterns/node_rounds.h"
#include "algorithms/patterns/hier.h"

struct rooted {
	struct cs_hier hier;
	int root_node, root_local;
	bool is_root, is_root_node, is_leader;
	bool shares_sizes; /* all of them are known everywhere */
	bool may_be_put;   /* small blocks are put out, and their ranks have left */
	size_t chunk;      /* bytes of a block in a round */
	size_t room;       /* of all blocks in a round, as far as all ranks know alike */
	size_t *sizes;     /* by position: all of them at the root's node, at least the own node's
			    * elsewhere */
	size_t moved;      /* bytes of the own block that are moved */
	size_t *bytes, *at; /* of a round, by node */
	size_t own_at;     /* of the own piece in the area */
	char *shared;      /* a table of sizes by position, in the area */
	uint64_t agreed;   /* by the leaders: rounds */
	bool is_cut;       /* somebody sends more than the root expects */
};

static struct rooted *
rooted_of(struct cs_op *op)
{
	return CS_OP_STATE(struct rooted, op);
}

static void
init(struct cs_op *op)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	struct rooted *rooted = rooted_of(op);
	rooted->root_node = shape->node_of[op->call.root];
	rooted->root_local = shape->local_of[op->call.root];
	rooted->is_root = shape->rank == op->call.root;
	rooted->is_root_node = shape->node == rooted->root_node;
	rooted->is_leader = cs_team_is_leader(team);
	rooted->shares_sizes = op->between && op->between->needs.all_sizes;
	rooted->chunk = cs_chunk_per_part(team->node.shape.area_bytes, (size_t)shape->ranks);
	rooted->sizes = cs_op_memory(op, CS_OP_COPY, (size_t)shape->ranks * sizeof *rooted->sizes);
	rooted->bytes = cs_op_nodes(op);
	rooted->at = rooted->bytes + shape->nodes;
	rooted->is_cut = rooted->may_be_put = false;
}

/* Offsets of a round's pieces in the area: all nodes' at the root's, elsewhere the own node's at
 * the front; own_at is the own piece's. Nodes whose sizes are not known have 0 in the leaders'
 * arrays: whatever the last call left there would make another problem of this one, and a plan of
 * its own. */
static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	struct rooted *rooted = rooted_of(op);
	const struct cs_shape *shape = &op->team->shape;
	int own = shape->position[shape->rank];
	bool knows_all = rooted->is_root_node || rooted->shares_sizes;
	size_t offset = 0;
	for (int n = 0; n < shape->nodes; n++) {
		rooted->at[n] = rooted->is_root_node ? offset : 0;
		rooted->bytes[n] = 0;
		for (int p = shape->first[n]; (knows_all || n == shape->node) &&
		     p < shape->first[n + 1]; p++) {
			if (p == own)
				rooted->own_at = rooted->at[n] + rooted->bytes[n];
			rooted->bytes[n] += cs_chunk_bytes(rooted->sizes[p], rooted->chunk,
							   round->index);
		}
		offset += rooted->bytes[n];
	}
	round->room = rooted->room;
	round->at = round->index * rooted->chunk;
}

/* --- sizes ------------------------------------------------------------------------------------ */

static size_t
table_bytes(const struct cs_op *op)
{
	return (size_t)op->team->shape.ranks * sizeof(size_t);
}

static uint64_t
most_rounds(const struct cs_op *op, const struct rooted *rooted, const size_t *sizes)
{
	uint64_t most = 0;
	for (int p = 0; p < op->team->shape.ranks; p++) {
		uint64_t rounds = cs_rounds(sizes[p], rooted->chunk);
		most = rounds > most ? rounds : most;
	}
	return most;
}

/* Where bytes[] and at[] of sizes by position lie, node by node. */
static void
lay_out_sizes(const struct cs_op *op, const struct rooted *rooted)
{
	const struct cs_shape *shape = &op->team->shape;
	for (int n = 0; n < shape->nodes; n++) {
		rooted->bytes[n] = (size_t)(shape->first[n + 1] - shape->first[n]) * sizeof(size_t);
		rooted->at[n] = (size_t)shape->first[n] * sizeof(size_t);
	}
}

/* Sizes known everywhere, or in the table: the rounds are known, in steps behind `step`. */
static void
begin_rounds(struct cs_op *op, uint64_t rounds, uint64_t step, size_t each)
{
	struct rooted *rooted = rooted_of(op);
	rooted->hier.rounds = rounds;
	rooted->hier.step = step;
	rooted->moved = rooted->sizes[op->team->shape.position[op->team->shape.rank]];
	rooted->room = (each < rooted->chunk ? each : rooted->chunk) *
		       (size_t)op->team->shape.ranks;
	cs_node_expect(&op->node, rounds, 2);
}

static void
equal_sizes(struct cs_op *op, size_t each)
{
	struct rooted *rooted = rooted_of(op);
	for (int p = 0; p < op->team->shape.ranks; p++)
		rooted->sizes[p] = each;
	begin_rounds(op, cs_rounds(each, rooted->chunk), 0, each);
}

/* The root writes the sizes of all blocks as it knows them into the area. */
static bool
open_table(struct cs_op *op, const struct cs_blocks *blocks)
{
	struct rooted *rooted = rooted_of(op);
	const struct cs_shape *shape = &op->team->shape;
	rooted->shared = cs_node_try_area(&op->node, table_bytes(op));
	if (!rooted->shared)
		return false;
	size_t *shared = (size_t *)(void *)rooted->shared;
	for (int p = 0; rooted->is_root && p < shape->ranks; p++)
		shared[p] = cs_blocks_bytes(blocks, shape->order[p]);
	return true;
}

static enum cs_status
between_sizes(struct cs_op *op)
{
	return rooted_of(op)->is_leader ? cs_between_go(op) : CS_OK;
}

/* The host's collective, whatever plan serves the call: what is agreed on is small. */
static void
by_host(struct cs_op *op, void (*between)(struct cs_op *op, struct rooted *rooted))
{
	const struct cs_algorithm *plan = op->between;
	op->between = NULL;
	between(op, rooted_of(op));
	op->between = plan;
}

static void
gather_table(struct cs_op *op, struct rooted *rooted)
{
	cs_between_gatherv(op, rooted->sizes, rooted->bytes, rooted->at, rooted->root_node);
}

static void
bcast_sizes(struct cs_op *op, struct rooted *rooted)
{
	cs_between_bcast(op, rooted->sizes, table_bytes(op), rooted->root_node);
}

static void
bcast_table(struct cs_op *op, struct rooted *rooted)
{
	cs_between_bcast(op, rooted->shared, table_bytes(op), rooted->root_node);
}

static bool
is_root_of_node(struct cs_op *op, int local)
{
	const struct rooted *rooted = rooted_of(op);
	return rooted->is_root_node && local == rooted->root_local;
}

/* --- gather ----------------------------------------------------------------------------------- */

/* Bytes of a node's small blocks that a leader copies, which its ranks would copy side by side. */
#define LEADER_COPIES ((size_t)32 << 10)

static cs_phase *const has_left[] = { NULL };

/* A block in the call's small slot: nothing more is needed of its rank. */
static bool
puts_out(const struct cs_op *op)
{
	const struct rooted *rooted = rooted_of((struct cs_op *)(uintptr_t)op);
	return !rooted->is_root && !rooted->is_leader && op->call.bytes <= CS_SMALL &&
	       op->call.bytes * (size_t)op->team->shape.locals <= LEADER_COPIES;
}

/* Sizes, step 1: everybody's own in its line; 2, of the root: all of them in the area. */
static enum cs_status
gather_bring_sizes(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	struct cs_line *line = rooted->hier.line;
	if (!open_table(op, &op->call.recv))
		return CS_AGAIN;
	cs_line_say(&op->node, line, op->call.bytes);
	line->word[1] = puts_out(op);
	if (line->word[1])
		cs_copy_in(op, cs_node_small(&op->node), op->call.send.base, op->call.bytes);
	cs_node_publish(&op->node, line, rooted->is_root ? 2 : 1);
	if (!line->word[1])
		return CS_OK;
	cs_node_end(&op->node);
	op->phase = has_left;
	return CS_OK;
}

/* A leader sees who of its node has put a block out. */
static enum cs_status
gather_meet_lines(struct cs_op *op)
{
	return rooted_of(op)->is_leader ? cs_hier_look_all(op, 1, NULL) : CS_OK;
}

static bool
is_put_out(struct cs_op *op, int local)
{
	const struct rooted *rooted = rooted_of(op);
	return rooted->may_be_put && local != op->team->shape.local &&
	       cs_node_look(&op->node, local, 1)->word[1];
}

/* Copies what is put out to where its ranks would have. */
static void
bring_for_others(struct cs_op *op, const struct cs_hier_round *round)
{
	const struct rooted *rooted = rooted_of(op);
	const struct cs_shape *shape = &op->team->shape;
	char *to = round->area[0] + rooted->at[shape->node];
	for (int local = 0; rooted->may_be_put && local < shape->locals; local++) {
		size_t size = rooted->sizes[shape->first[shape->node] + local],
		       piece = cs_chunk_bytes(size, rooted->chunk, round->index);
		if (is_put_out(op, local)) {
			size_t put = cs_line_bytes(cs_node_look(&op->node, local, 1)),
			       left = put > round->at ? put - round->at : 0;
			cs_copy_in(op, to,
				   cs_node_slot_of(&op->node, local, CS_SLOT_SMALL, 0) + round->at,
				   piece < left ? piece : left);
		}
		to += piece;
	}
}

/* Whose sizes does this rank need: a leader that shares them all, and who is not at the root's
 * node, those of its node. */
static enum cs_status
gather_meet_sizes(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	const struct cs_shape *shape = &op->team->shape;
	size_t *sizes = rooted->sizes + shape->first[shape->node];
	bool needs_root = rooted->is_root_node && (rooted->is_leader || !rooted->shares_sizes);
	bool needs_node = rooted->shares_sizes ? rooted->is_leader : !rooted->is_root_node ||
			  rooted->is_root;
	if (needs_root && !cs_node_look(&op->node, rooted->root_local, 2))
		return CS_AGAIN;
	if (needs_node && cs_hier_look_all(op, 1, NULL) == CS_AGAIN)
		return CS_AGAIN;
	if (rooted->is_leader && !cs_between_is_turn(op))
		return CS_AGAIN;
	if (rooted->is_root_node && !rooted->shares_sizes)
		memcpy(rooted->sizes, rooted->shared, table_bytes(op));
	for (int local = 0; needs_node && local < shape->locals; local++) {
		size_t sent = cs_line_bytes(cs_node_look(&op->node, local, 1));
		if (rooted->is_root && !rooted->shares_sizes)
			cs_exchange_lesser(&op->call, sent, sizes[local]);
		else
			sizes[local] = sent;
	}
	if (rooted->is_leader && rooted->shares_sizes) {
		lay_out_sizes(op, rooted);
		by_host(op, gather_table);
	} else if (rooted->is_leader) {
		rooted->agreed = rooted->is_root_node ? most_rounds(op, rooted, rooted->sizes) : 0;
		cs_between_max(op, &rooted->agreed);
	}
	return CS_OK;
}

/* What each rank has is at the root's node; what is moved of it, which is not more than the root
 * expects, goes back. */
static enum cs_status
gather_clip_sizes(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	const size_t *expected = (const size_t *)(const void *)rooted->shared;
	if (!rooted->is_leader || !rooted->shares_sizes)
		return CS_OK;
	for (int p = 0; rooted->is_root_node && p < op->team->shape.ranks; p++) {
		rooted->is_cut = rooted->is_cut || rooted->sizes[p] > expected[p];
		rooted->sizes[p] = rooted->sizes[p] < expected[p] ? rooted->sizes[p] : expected[p];
	}
	by_host(op, bcast_sizes);
	return CS_OK;
}

/* Step 3 of a leader: what it has agreed on. */
static enum cs_status
gather_take_sizes(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	struct cs_node_op *node = &op->node;
	if (rooted->is_leader) {
		if (rooted->shares_sizes)
			memcpy(rooted->shared, rooted->sizes, table_bytes(op));
		rooted->hier.line->word[0] = rooted->shares_sizes ? rooted->is_cut : rooted->agreed;
		cs_node_publish(node, rooted->hier.line, 3);
	}
	const struct cs_line *line = cs_node_look(node, cs_team_leader(op->team), 3);
	if (!line)
		return CS_AGAIN;
	uint64_t rounds = line->word[0];
	if (rooted->shares_sizes) {
		if (rounds && rooted->is_root)
			op->call.truncated = op->call.bytes + 1;
		memcpy(rooted->sizes, rooted->shared, table_bytes(op));
		rounds = most_rounds(op, rooted, rooted->sizes);
	}
	cs_node_area_done(node, table_bytes(op), 1);
	begin_rounds(op, rounds, 3, SIZE_MAX);
	return CS_OK;
}

/* The root's own block stays with it, so that the leader need not wait for it in each call. */
static enum cs_status
gather_bring(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	const struct cs_hier_round *round = cs_hier_now(&rooted->hier);
	if (rooted->is_root)
		return CS_OK;
	cs_copy_in(op, round->area[0] + rooted->own_at, op->call.send.base + round->at,
		   cs_chunk_bytes(rooted->moved, rooted->chunk, round->index));
	cs_hier_is_here(op);
	return CS_OK;
}

static bool
gather_waits_for(struct cs_op *op, int local)
{
	return !is_root_of_node(op, local) && !is_put_out(op, local);
}

static void
gather_between(struct cs_op *op, struct cs_hier_round *round)
{
	struct rooted *rooted = rooted_of(op);
	bring_for_others(op, round);
	cs_between_gatherv(op, round->area[0], rooted->bytes, rooted->at, rooted->root_node);
}

static void
gather_tell(struct cs_op *op, struct cs_line *line)
{
	line->word[1] = op->node.extras & CS_OP_MORE;
}

static bool
gather_takes(struct cs_op *op)
{
	return rooted_of(op)->is_root;
}

static void
gather_take_lane(struct cs_op *op, const struct cs_hier_round *round, int lane,
		 const struct cs_line *line)
{
	(void)round, (void)lane;
	if (line->word[1])
		op->call.truncated = op->call.bytes + 1;
}

static void
gather_take(struct cs_op *op, const struct cs_hier_round *round)
{
	const struct rooted *rooted = rooted_of(op);
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &op->team->shape;
	const char *from = round->area[0];
	for (int p = 0; p < shape->ranks; p++) {
		int rank = shape->order[p];
		size_t piece = cs_chunk_bytes(rooted->sizes[p], rooted->chunk, round->index);
		char *to = cs_blocks_at(&call->recv, rank) + round->at;
		if (rank != shape->rank)
			cs_copy_result(op, to, from, piece);
		else if (call->send.base)
			cs_copy_result(op, to, call->send.base + round->at, piece);
		from += piece;
	}
}

static const struct cs_hier_kind gather_hier =
	{ .areas = 1, .lay_out = lay_out, .bring = gather_bring,
						 .waits_for = gather_waits_for,
						 .between = gather_between, .tell = gather_tell,
						 .takes = gather_takes,
						 .take_lane = gather_take_lane,
						 .take = gather_take };

static cs_phase *const gatherv_script[] = { cs_hier_open,      gather_bring_sizes,
					    gather_meet_sizes, between_sizes, gather_clip_sizes,
					    between_sizes,      gather_take_sizes,
					    gather_meet_lines,  CS_HIER_ROUND_PHASES, NULL };
#define GATHERV_ROUND 8
#define GATHERV_SLOTS 2 /* of the area: who has left does not know how many rounds there are */

__attribute__((noinline)) void
cs_rooted_gather_hier(struct cs_op *op, bool sizes_known)
{
	init(op);
	if (sizes_known) {
		cs_hier_start(op, &gather_hier, 1, cs_hier_script, CS_HIER_SCRIPT_ROUND);
		equal_sizes(op, op->call.bytes);
	} else {
		cs_hier_start(op, &gather_hier, 1, gatherv_script, GATHERV_ROUND);
		rooted_of(op)->may_be_put = true;
		if (!(op->node.extras & CS_OP_NONBLOCKING))
			cs_node_reserve_area(&op->node, GATHERV_SLOTS);
	}
}

/* --- scatter ---------------------------------------------------------------------------------- */

/* The line's bytes tell the node of more than was expected. */
static enum cs_status
scatter_open(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	if (cs_hier_open(op) == CS_AGAIN)
		return CS_AGAIN;
	cs_line_say(&op->node, rooted->hier.line, rooted->is_root && op->call.coll == CS_SCATTER
		    ? op->call.bytes : 0);
	return CS_OK;
}

/* Sizes, step 1 of the root: all of them in the area. */
static enum cs_status
scatter_bring_sizes(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	if (!open_table(op, &op->call.send))
		return CS_AGAIN;
	if (rooted->is_root)
		cs_node_publish(&op->node, rooted->hier.line, 1);
	return CS_OK;
}

static enum cs_status
scatter_meet_sizes(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	if (!rooted->is_leader)
		return CS_OK;
	if (rooted->is_root_node && !cs_node_look(&op->node, rooted->root_local, 1))
		return CS_AGAIN;
	if (!cs_between_is_turn(op))
		return CS_AGAIN;
	lay_out_sizes(op, rooted);
	if (rooted->shares_sizes)
		by_host(op, bcast_table);
	else
		cs_between_scatterv(op, rooted->shared, rooted->bytes, rooted->at,
				    rooted->root_node);
	return cs_plans_have_begun(op);
}

static enum cs_status
scatter_agree(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	if (!rooted->is_leader)
		return CS_OK;
	rooted->agreed =
		rooted->is_root_node
		? most_rounds(op, rooted, (const size_t *)(const void *)rooted->shared) : 0;
	cs_between_max(op, &rooted->agreed);
	return CS_OK;
}

/* What the own block has, and what of it is wanted. */
static void
scatter_know_sizes(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	size_t sent = rooted->moved;
	if (op->call.recv.base && sent > op->call.bytes)
		op->call.truncated = sent;
	rooted->moved = sent < op->call.bytes ? sent : op->call.bytes;
}

/* Step 3 of a leader: rounds, and at least the own node's sizes in the area. */
static enum cs_status
scatter_take_sizes(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	struct cs_node_op *node = &op->node;
	const struct cs_shape *shape = &op->team->shape;
	bool knows_all = rooted->is_root_node || rooted->shares_sizes;
	int first = knows_all ? 0 : shape->first[shape->node];
	int last = knows_all ? shape->ranks : shape->first[shape->node + 1];
	if (rooted->is_leader) {
		rooted->hier.line->word[0] = rooted->agreed;
		cs_node_publish(node, rooted->hier.line, 3);
	}
	const struct cs_line *line = cs_node_look(node, cs_team_leader(op->team), 3);
	if (!line)
		return CS_AGAIN;
	memcpy(rooted->sizes + first, (size_t *)(void *)rooted->shared + first,
	       (size_t)(last - first) * sizeof(size_t));
	cs_node_area_done(node, table_bytes(op), 1);
	begin_rounds(op, line->word[0], 3, SIZE_MAX);
	scatter_know_sizes(op);
	return CS_OK;
}

static enum cs_status
scatter_bring(struct cs_op *op)
{
	struct rooted *rooted = rooted_of(op);
	const struct cs_hier_round *round = cs_hier_now(&rooted->hier);
	const struct cs_shape *shape = &op->team->shape;
	char *to = round->area[0];
	if (!rooted->is_root)
		return CS_OK;
	for (int p = 0; p < shape->ranks; p++) {
		size_t piece = cs_chunk_bytes(rooted->sizes[p], rooted->chunk, round->index);
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
	struct rooted *rooted = rooted_of(op);
	cs_between_scatterv(op, round->area[0], rooted->bytes, rooted->at, rooted->root_node);
}

static void
scatter_tell(struct cs_op *op, struct cs_line *line)
{
	if (!rooted_of(op)->is_root_node && (op->node.extras & CS_OP_MORE))
		cs_line_say(&op->node, line, op->call.bytes + 1);
}

static int
scatter_source(struct cs_op *op, const struct cs_hier_round *round, int lane, uint64_t *step)
{
	const struct rooted *rooted = rooted_of(op);
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
	struct rooted *rooted = rooted_of(op);
	(void)lane;
	if (cs_line_bytes(line) > op->call.bytes)
		op->call.truncated = cs_line_bytes(line);
	if (op->call.recv.base)
		cs_copy_result(op, op->call.recv.base + round->at, round->area[0] + rooted->own_at,
			       cs_chunk_bytes(rooted->moved, rooted->chunk, round->index));
}

static const struct cs_hier_kind scatter_hier =
	{ .areas = 1, .lay_out = lay_out, .bring = scatter_bring,
						  .waits_for = is_root_of_node,
						  .between = scatter_between, .tell = scatter_tell,
						  .source = scatter_source,
						  .take_lane = scatter_take_lane };

static cs_phase *const scatter_script[] = { scatter_open, CS_HIER_ROUND_PHASES, NULL };
#define SCATTER_ROUND 1
static cs_phase *const scatterv_script[] = { scatter_open,  scatter_bring_sizes, scatter_meet_sizes,
					     between_sizes, scatter_agree, between_sizes,
					     scatter_take_sizes, CS_HIER_ROUND_PHASES, NULL };
#define SCATTERV_ROUND 7

__attribute__((noinline)) void
cs_rooted_scatter_hier(struct cs_op *op, bool sizes_known)
{
	init(op);
	if (sizes_known) {
		cs_hier_start(op, &scatter_hier, 1, scatter_script, SCATTER_ROUND);
		equal_sizes(op, op->call.bytes);
		scatter_know_sizes(op);
	} else {
		cs_hier_start(op, &scatter_hier, 1, scatterv_script, SCATTERV_ROUND);
	}
}
