/* Broadcast of Patarasuk and Yuan (seed 002, 3.2 and 3.9.2): each rank signals the root when it
 * comes, and the root hands the vector out to those that have (late/first_come.h). A late rank
 * delays the root alone, which stays until all have come.
 *
 * Cost: if all come at once, the binomial tree after a word of each rank to the root, which is busy
 * with them: for few ranks, or ranks that come at very different times. */
#include "algorithms/algorithm.h"
#include "algorithms/late/first_come.h"

struct state {
	struct cs_first_come *bcast;
};

static enum cs_status
hand_out(struct cs_op *op)
{
	if (cs_first_come_go(op, CS_OP_STATE(struct state, op)->bcast))
		return CS_OK;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return CS_AGAIN;
}

/* End on the node, where no rank has anything to read. */
static enum cs_status
end(struct cs_op *op)
{
	cs_first_come_end(op, CS_OP_STATE(struct state, op)->bcast);
	if (op->team->node.self) /* there is no memory if each node has one rank */
		cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const script[] = { hand_out, end, NULL };

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	int others = team->shape.ranks - 1;
	struct cs_first_come *bcast = cs_first_come_make(op, cs_first_come_number(op), others, 1);
	CS_OP_STATE(struct state, op)->bcast = bcast;
	cs_first_come_take_params(bcast, params);
	bcast->is_root = team->shape.rank == op->call.root;
	bcast->is_split = true;
	bcast->expected = bcast->is_root ? others : 0;
	if (!bcast->is_root)
		cs_first_come_tell(bcast, op->call.root);
	cs_first_come_start(bcast);
	cs_op_start(op, script);
}

const struct cs_algorithm cs_algorithm_bcast_patarasuk_yuan = {
	.colls = CS_SET(CS_BCAST),
	.name = "patarasuk-yuan",
	.summary = "ranks say to the root that they are there, and it splits those who are",
	.needs = { .several_nodes = true, .everyone = true },
	.params = { CS_FIRST_COME_PARAMS },
	.run = run,
};
