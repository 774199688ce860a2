#include "algorithms/late/node_barriers.h"

#include "shm/arrive.h"

/* Parts of the call's first round. */
enum { BEFORE, BEHIND };

/* Climbs the tree without data; the last arriver tells the others. */
static void
come(struct cs_op *op, int part)
{
	const struct cs_node_shape *shape = &op->team->node.shape;
	for (int span = 2; span / 2 < shape->size; span *= 2) {
		int inner = cs_arrive_inner(shape->local, span, shape->size);
		if (inner && cs_arrive_meet(&op->node, 0, part, inner, shape->local) < 0)
			return;
	}
	cs_arrive_tell(&op->node, 0, part, shape->local);
}

static enum cs_status
come_before(struct cs_op *op)
{
	if (!cs_node_try_line(&op->node)) /* its words are used */
		return CS_AGAIN;
	come(op, BEFORE);
	return CS_OK;
}

static enum cs_status
wait_before(struct cs_op *op)
{
	return cs_arrive_holder(&op->node, 0, BEFORE) < 0 ? CS_AGAIN : CS_OK;
}

/* Comes to the second barrier. The call has ended on the node, but its words are no other call's
 * yet, since all wait here. */
static enum cs_status
come_behind(struct cs_op *op)
{
	come(op, BEHIND);
	return CS_OK;
}

static enum cs_status
wait_behind(struct cs_op *op)
{
	bool comes = op->node.wrong < CS_WRONG_CALL;
	return comes && cs_arrive_holder(&op->node, 0, BEHIND) < 0 ? CS_AGAIN : CS_OK;
}

static cs_phase *const behind[] = { come_behind, wait_behind, NULL };

/* Goes on with the script between the barriers, and then with the second barrier. */
static enum cs_status
enter(struct cs_op *op)
{
	op->phase = op->then;
	op->then = behind;
	op->node.extras |= CS_OP_THEN;
	return CS_OK;
}

static cs_phase *const before[] = { come_before, wait_before, enter, NULL };

void
cs_node_barriers(struct cs_op *op)
{
	op->then = op->phase;
	op->phase = before;
}
