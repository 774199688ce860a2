/* A rank that cannot open the leader's file of results takes the round as usual (hier/hier.c): once
 * it has begun, it does so to the end. */
#include "unit.h"
#include "virtual_node.h"

#include "algorithms/hier/hier.h"
#include "shm/cow.h"

static int opens, taken;

/* Fails first, as if the process had no descriptor left. */
int __wrap_cs_cow_attach(int64_t pid, struct cs_cow_told told, size_t bytes);
int
__wrap_cs_cow_attach(int64_t pid, struct cs_cow_told told, size_t bytes)
{
	(void)pid, (void)told, (void)bytes;
	return opens++ ? 0 : -1;
}

static void
take_lane(struct cs_op *op, const struct cs_hier_round *round, int lane, const struct cs_line *line)
{
	(void)op, (void)round, (void)line;
	assert_int_equal(lane, taken++);
}

static const struct cs_hier_kind kind = { .shares = true, .take_lane = take_lane };

static struct cs_line *
begin(struct virtual_node *node, int rank)
{
	struct cs_op *op = &node->ops[rank];
	node->teams[rank].lane_local[1] = 1;
	cs_op_join(op, &node->teams[rank], cs_call_signature(CS_BCAST, 0));
	cs_node_begin(&op->node);
	return cs_node_line(&op->node);
}

TEST(a_file_that_cannot_be_opened_is_not_tried_again)
{
	enum { LANES = 2, SELF = LANES };
	struct virtual_node node;
	struct cs_line *line[LANES];
	virtual_make(&node, "1x1x1024", LANES + 1, 4096, NULL);
	for (int lane = 0; lane < LANES; lane++)
		line[lane] = begin(&node, lane);
	begin(&node, SELF);
	struct cs_op *op = &node.ops[SELF];
	*cs_hier_of(op) = (struct cs_hier){ .kind = &kind, .rounds = 1, .lanes = LANES, .cow = -1,
					    .is_led = true, .last = { { .arrived = 2 } } };
	line[0]->word[1] = 1; /* a file */
	cs_node_publish(&node.ops[0].node, line[0], 2);
	assert_int_equal(cs_hier_take(op), CS_AGAIN);
	assert_int_equal(taken, 1);
	cs_node_publish(&node.ops[1].node, line[1], 2);
	assert_int_equal(cs_hier_take(op), CS_OK);
	assert_int_equal(taken, LANES);
	assert_int_equal(opens, 1);
	for (int rank = 0; rank < node.ranks; rank++)
		virtual_end(&node, rank);
	virtual_drop(&node);
}

RUN_TESTS(NULL, NULL)
