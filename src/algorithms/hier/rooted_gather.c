/* hier/rooted_gather.c — gather(v) over several nodes (hier/rooted_hier.c). */
#include "algorithms/hier/rooted_parts.h"

static void
gather_table(struct cs_op *op, struct cs_rooted *rooted)
{
	cs_between_gatherv(op, rooted->sizes, rooted->bytes, rooted->at, rooted->root_node);
}

static void
bcast_sizes(struct cs_op *op, struct cs_rooted *rooted)
{
	cs_between_bcast(op, rooted->sizes, cs_rooted_table_bytes(op), rooted->root_node);
}

static cs_phase *const has_left[] = { NULL };

/* Does this rank post its block in the call's small slot, for the leader to copy, and leave? */
static bool
puts_out(struct cs_op *op)
{
	const struct cs_rooted *rooted = cs_rooted_of(op);
	return rooted->may_be_put && !rooted->is_root && !rooted->is_leader &&
	       op->call.bytes <= CS_SMALL &&
	       op->call.bytes * (size_t)op->team->shape.locals <
		       op->team->node.facts.of[CS_EAGER_BYTES];
}

/* Sizes, step 1: each rank's own in its line; 2, of the root: all expected ones in the area. */
static enum cs_status
gather_bring_sizes(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	struct cs_line *line = rooted->hier.line;
	if (!cs_rooted_open_table(op, &op->call.recv))
		return CS_AGAIN;
	cs_line_say(&op->node, line, op->call.bytes);
	line->word[1] = puts_out(op);
	if (line->word[1])
		cs_copy_in(op, cs_node_small(&op->node, CS_SLOT_SMALL), op->call.send.base,
			   op->call.bytes);
	cs_node_publish(&op->node, line, rooted->is_root ? 2 : 1);
	if (!line->word[1])
		return CS_OK;
	cs_node_end(&op->node);
	op->phase = has_left;
	return CS_OK;
}

/* Waits, as a leader, for the lines of its node, which say whether blocks are posted. */
static enum cs_status
gather_meet_lines(struct cs_op *op)
{
	return cs_rooted_of(op)->is_leader ? cs_hier_look_all(op, 1, NULL) : CS_OK;
}

static bool
is_put_out(struct cs_op *op, int local)
{
	const struct cs_rooted *rooted = cs_rooted_of(op);
	return rooted->may_be_put && local != op->team->shape.local &&
	       cs_node_look(&op->node, local, 1)->word[1];
}

/* Copies posted blocks to the area, in place of their ranks. */
static void
bring_for_others(struct cs_op *op, const struct cs_hier_round *round)
{
	const struct cs_rooted *rooted = cs_rooted_of(op);
	const struct cs_shape *shape = &op->team->shape;
	char *to = round->area[0] + rooted->at[shape->node];
	for (int local = 0; rooted->may_be_put && local < shape->locals; local++) {
		size_t size = cs_rooted_size(rooted, shape->first[shape->node] + local),
		       piece = cs_chunks_bytes(size, rooted->chunk, round->index);
		if (is_put_out(op, local)) {
			/* Never more than a small slot has, even if the line is wrong. */
			size_t said = cs_line_bytes(cs_node_look(&op->node, local, 1)),
			       put = said < CS_SMALL ? said : CS_SMALL,
			       left = put > round->at ? put - round->at : 0;
			cs_copy_in(op, to,
				   cs_node_slot_of(&op->node, local, CS_SLOT_SMALL, 0) + round->at,
				   piece < left ? piece : left);
		}
		to += piece;
	}
}

/* Waits for the sizes that this rank needs: its node's, at a leader if all are shared, else at the
 * root and on other nodes; also the root's, on its node. */
static enum cs_status
gather_meet_sizes(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
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
		memcpy(rooted->sizes, rooted->shared, cs_rooted_table_bytes(op));
	for (int local = 0; needs_node && local < shape->locals; local++) {
		size_t sent = cs_line_bytes(cs_node_look(&op->node, local, 1));
		if (rooted->is_root && !rooted->shares_sizes)
			cs_rounds_lesser(op, sent, sizes[local]);
		else
			sizes[local] = sent;
	}
	if (rooted->is_leader && rooted->shares_sizes) {
		cs_rooted_lay_out_sizes(op, rooted);
		cs_rooted_by_host(op, gather_table);
	} else if (rooted->is_leader) {
		cs_rooted_tell_rounds(op, rooted->sizes);
	}
	return CS_OK;
}

/* Clips all sizes, at the root's node, to those that the root expects, and broadcasts them to the
 * leaders. */
static enum cs_status
gather_clip_sizes(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	const size_t *expected = (const size_t *)(const void *)rooted->shared;
	if (!rooted->is_leader || !rooted->shares_sizes)
		return CS_OK;
	for (int p = 0; rooted->is_root_node && p < op->team->shape.ranks; p++) {
		rooted->is_cut = rooted->is_cut || rooted->sizes[p] > expected[p];
		rooted->sizes[p] = rooted->sizes[p] < expected[p] ? rooted->sizes[p] : expected[p];
	}
	cs_rooted_by_host(op, bcast_sizes);
	return CS_OK;
}

/* Step 3 of a leader: publishes the agreed sizes or rounds. */
static enum cs_status
gather_take_sizes(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	struct cs_node_op *node = &op->node;
	if (rooted->is_leader) {
		if (rooted->shares_sizes)
			memcpy(rooted->shared, rooted->sizes, cs_rooted_table_bytes(op));
		rooted->hier.line->word[2] = rooted->shares_sizes ? rooted->is_cut : rooted->agreed;
		cs_node_publish(node, rooted->hier.line, 3);
	}
	const struct cs_line *line = cs_node_look(node, cs_team_leader(op->team), 3);
	if (!line)
		return CS_AGAIN;
	uint64_t rounds = line->word[2];
	if (rooted->shares_sizes) {
		if (rounds && rooted->is_root)
			op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
		memcpy(rooted->sizes, rooted->shared, cs_rooted_table_bytes(op));
		rounds = cs_rooted_most_rounds(op, rooted, rooted->sizes);
	}
	cs_node_area_done(node, cs_rooted_table_bytes(op), 1);
	cs_rooted_begin_rounds(op, rounds, 3, SIZE_MAX);
	return CS_OK;
}

/* The root's own block stays with it, so that the leader need not wait for it in each call. */
static enum cs_status
gather_bring(struct cs_op *op)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	const struct cs_hier_round *round = cs_hier_now(&rooted->hier);
	if (rooted->is_root)
		return CS_OK;
	cs_copy_in(op, round->area[0] + rooted->own_at, op->call.send.base + round->at,
		   cs_chunks_bytes(rooted->moved, rooted->chunk, round->index));
	cs_hier_is_here(op);
	return CS_OK;
}

static bool
gather_waits_for(struct cs_op *op, int local)
{
	return !cs_rooted_is_root_of_node(op, local) && !is_put_out(op, local);
}

/* The root's own node is flat: nobody waits for the root. */
static unsigned
gather_grow(struct cs_op *op, struct cs_tree *tree)
{
	const struct cs_rooted *rooted = cs_rooted_of(op);
	(void)tree;
	return rooted->is_root_node || rooted->may_be_put ? 0 : CS_HIER_MEET;
}

static void
gather_between(struct cs_op *op, struct cs_hier_round *round)
{
	struct cs_rooted *rooted = cs_rooted_of(op);
	bring_for_others(op, round);
	cs_between_gatherv(op, round->area[0], rooted->bytes, rooted->at, rooted->root_node);
}

static void
gather_tell(struct cs_op *op, struct cs_line *line)
{
	line->word[1] = op->node.outcome.bits & CS_OUTCOME_MORE;
}

static bool
gather_takes(struct cs_op *op)
{
	return cs_rooted_of(op)->is_root;
}

static void
gather_take_lane(struct cs_op *op, const struct cs_hier_round *round, int lane,
		 const struct cs_line *line)
{
	(void)round, (void)lane;
	if (line->word[1])
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
}

static void
gather_take(struct cs_op *op, const struct cs_hier_round *round)
{
	const struct cs_rooted *rooted = cs_rooted_of(op);
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &op->team->shape;
	const char *from = round->area[0];
	for (int p = 0; p < shape->ranks; p++) {
		int rank = shape->order[p];
		size_t piece = cs_chunks_bytes(cs_rooted_size(rooted, p), rooted->chunk,
					       round->index);
		char *to = cs_blocks_at(&call->recv, rank) + round->at;
		if (rank != shape->rank)
			cs_copy_result(op, to, from, piece);
		else if (call->send.base)
			cs_copy_result(op, to, call->send.base + round->at, piece);
		from += piece;
	}
}

static const struct cs_hier_kind gather_hier =
	{ .areas = 1, .lay_out = cs_rooted_lay_out, .bring = gather_bring,
						 .waits_for = gather_waits_for,
						 .grow = gather_grow, .between = gather_between,
						 .tell = gather_tell,
						 .takes = gather_takes,
						 .take_lane = gather_take_lane,
						 .take = gather_take };

static cs_phase *const gatherv_script[] = {
	cs_hier_open, gather_bring_sizes, gather_meet_sizes, cs_rooted_between_sizes,
	gather_clip_sizes, cs_rooted_between_sizes, gather_take_sizes, gather_meet_lines,
	CS_HIER_ROUND_PHASES, NULL };
#define GATHERV_ROUND 8
#define GATHERV_SLOTS 2 /* of the area: a rank that has left does not know the rounds */

__attribute__((noinline)) void
cs_rooted_gather_hier(struct cs_op *op, bool sizes_known, size_t senders)
{
	cs_rooted_init(op, sizes_known);
	if (sizes_known) {
		cs_rooted_start(op, &gather_hier, senders, cs_hier_script, CS_HIER_SCRIPT_ROUND);
	} else {
		cs_rooted_start(op, &gather_hier, senders, gatherv_script, GATHERV_ROUND);
		/* A sender stays, and all of them send what is in the area. */
		cs_rooted_of(op)->may_be_put = !cs_hier_has_senders(op);
		if (cs_rooted_of(op)->may_be_put && !(op->node.extras & CS_OP_NONBLOCKING))
			cs_node_reserve_area(&op->node, GATHERV_SLOTS);
	}
}
