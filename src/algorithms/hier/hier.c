/* hier/hier.c — phases of collectives over several nodes. */
#include "algorithms/hier/hier.h"

#include "algorithms/hier/between.h"

void
cs_hier_set_lanes(struct cs_op *op, int first, int lanes)
{
	struct cs_hier *hier = cs_hier_of(op);
	hier->first_lane = first;
	hier->lanes = lanes;
	hier->drives = op->team->lane >= first && op->team->lane < first + lanes;
}

void
cs_hier_start(struct cs_op *op, const struct cs_hier_kind *kind, int lanes, cs_phase *const *script,
	      int first)
{
	struct cs_hier *hier = cs_hier_of(op);
	hier->kind = kind;
	hier->line = NULL;
	hier->step = 0;
	cs_hier_set_lanes(op, 0, lanes);
	hier->needs_line = true;
	hier->round = 0;
	hier->next = hier->area = 0;
	hier->is_laid_out = false;
	hier->by_tree = 0;
	op->under_way = CS_UNDER_WAY_NOTHING;
	hier->again = script + first;
	cs_op_start(op, script);
	if (op->node.extras & CS_OP_NONBLOCKING)
		cs_node_reserve_area(&op->node,
				     (uint64_t)((kind->areas ? kind->areas : 1) * (1 + kind->lag)));
}

void
cs_hier_start_by_lanes(struct cs_op *op, const struct cs_hier_kind *kind, size_t bytes,
		       size_t wanted)
{
	bool is_worth_lanes = bytes >= op->team->node.facts.of[CS_LANES_BYTES];
	cs_hier_start(op, kind, is_worth_lanes ? cs_team_lanes(op->team, wanted) : 1,
		      cs_hier_script, CS_HIER_SCRIPT_ROUND);
}

enum cs_status
cs_hier_open(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (hier->needs_line && !(hier->line = cs_node_try_line(&op->node)))
		return CS_AGAIN;
	return CS_OK;
}

unsigned
cs_hier_grow(struct cs_op *op, struct cs_tree *tree)
{
	(void)op, (void)tree;
	return CS_HIER_MEET | CS_HIER_HEAR;
}

/* Plants the tree of a round, if the node has levels. */
static void
plant(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_shape *shape = &op->team->shape;
	if (!hier->kind->grow || hier->lanes > 1 || shape->levels.count < 2)
		return;
	hier->tree = cs_op_memory(op, CS_OP_TREE, sizeof *hier->tree);
	cs_tree_begin(hier->tree, &shape->levels, CS_TREE_ALIKE, shape->local,
		      op->team->lane_local[hier->first_lane], 0);
	hier->by_tree = hier->kind->grow(op, hier->tree);
}

/* Lays the round out, and takes its slots of the area. */
enum cs_status
cs_hier_begin_round(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_hier_kind *kind = hier->kind;
	struct cs_hier_round *round = cs_hier_now(hier);
	if (!cs_hier_is_brought(hier))
		return CS_OK;
	if (!hier->is_laid_out) {
		round->index = hier->round;
		round->here = hier->step + 1;
		round->arrived = hier->step + 2;
		if (kind->lay_out)
			kind->lay_out(op, round);
		hier->is_laid_out = true;
	}
	for (; hier->area < kind->areas; hier->area++)
		if (!(round->area[hier->area] = cs_node_try_area(&op->node, round->room)))
			return CS_AGAIN;
	round->turn = cs_node_area_turn(&op->node);
	plant(op);
	hier->area = 0;
	hier->is_laid_out = false;
	return CS_OK;
}

enum cs_status
cs_hier_bring(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	return cs_hier_is_brought(hier) ? hier->kind->bring(op) : CS_OK;
}

void
cs_hier_is_here(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (!(hier->by_tree & CS_HIER_MEET) && (hier->lanes > 1 || !hier->drives))
		cs_node_publish(&op->node, hier->line, cs_hier_now(hier)->here);
}

enum cs_status
cs_hier_look_all(struct cs_op *op, uint64_t step, bool (*waits_for)(struct cs_op *op, int local))
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_node_shape *shape = &op->team->node.shape;
	for (; hier->next < shape->size; hier->next++)
		if (hier->next != shape->local && (!waits_for || waits_for(op, hier->next)) &&
		    !cs_node_look(&op->node, hier->next, step))
			return CS_AGAIN;
	hier->next = 0;
	return CS_OK;
}

enum cs_status
cs_hier_meet(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (!cs_hier_is_brought(hier))
		return CS_OK;
	bool by_tree = hier->by_tree & CS_HIER_MEET;
	if (by_tree && !cs_tree_collect(op, hier->tree, cs_hier_now(hier)->here))
		return CS_AGAIN;
	if (!hier->drives)
		return CS_OK;
	if (!by_tree &&
	    cs_hier_look_all(op, cs_hier_now(hier)->here, hier->kind->waits_for) == CS_AGAIN)
		return CS_AGAIN;
	if (!op->between && !cs_between_is_turn(op))
		return CS_AGAIN;
	op->under_way = CS_UNDER_WAY_NOTHING; /* if there is nothing to move */
	hier->kind->between(op, cs_hier_now(hier));
	return cs_plans_have_begun(op);
}

enum cs_status
cs_hier_between(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	return cs_hier_is_brought(hier) && hier->drives ? cs_between_go(op) : CS_OK;
}

enum cs_status
cs_hier_tell(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (!cs_hier_is_brought(hier))
		return CS_OK;
	if (hier->drives && hier->line) {
		if (hier->kind->tell)
			hier->kind->tell(op, hier->line);
		if (!(hier->by_tree & CS_HIER_HEAR))
			cs_node_publish(&op->node, hier->line, cs_hier_now(hier)->arrived);
	}
	return CS_OK;
}

/* Takes the lanes' parts of the round, in order. */
static enum cs_status
take_lanes(struct cs_op *op, const struct cs_hier_round *round)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_hier_kind *kind = hier->kind;
	for (; hier->next < hier->lanes; hier->next++) {
		uint64_t step = round->arrived;
		int lane = hier->first_lane + hier->next;
		int local = kind->source ? kind->source(op, round, lane, &step)
					 : op->team->lane_local[lane];
		const struct cs_line *line = hier->line;
		if (local != op->team->node.shape.local &&
		    !(line = cs_node_look(&op->node, local, step)))
			return CS_AGAIN;
		if (kind->take_lane)
			kind->take_lane(op, round, hier->next, line);
	}
	hier->next = 0;
	return CS_OK;
}

/* Hears along the tree, with a small vector. */
static bool
hear(struct cs_op *op, const struct cs_hier_round *round)
{
	struct cs_tree *tree = cs_hier_of(op)->tree;
	bool has_data = tree->stride && tree->stride <= CS_SMALL;
	return cs_tree_tell(op, tree, round->arrived, CS_TREE_ONE,
			    has_data ? round->area[0] : NULL);
}

enum cs_status
cs_hier_take(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_hier_kind *kind = hier->kind;
	const struct cs_hier_round *round = cs_hier_taken(hier);
	if (!round || (kind->takes && !kind->takes(op)))
		return CS_OK;
	if (hier->by_tree & CS_HIER_HEAR ? !hear(op, round) : take_lanes(op, round) == CS_AGAIN)
		return CS_AGAIN;
	if (kind->take)
		kind->take(op, round);
	return CS_OK;
}

enum cs_status
cs_hier_next(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_hier_round *taken = cs_hier_taken(hier);
	if (cs_hier_is_brought(hier))
		hier->step = cs_hier_now(hier)->arrived;
	if (taken && hier->kind->areas)
		cs_node_area_done(&op->node, taken->room, (uint64_t)hier->kind->areas);
	if (++hier->round < hier->rounds + (uint64_t)hier->kind->lag)
		op->phase = hier->again;
	else
		cs_node_end(&op->node);
	return CS_OK;
}

cs_phase *const cs_hier_script[] = { cs_hier_open, CS_HIER_ROUND_PHASES, NULL };
