/* virtual_node.c makes the ranks of a node and begins their calls. */
#include "virtual_node.h"

#include "unit.h"

#include "base/fake_levels.h"

#include <stdlib.h>

static void
take_nothing(void)
{
}

static const struct cs_host quiet = { .progress = take_nothing };

void
virtual_levels(struct cs_levels *levels, const char *text, int ranks, int *package, int *cache)
{
	assert_true(cs_fake_levels_are(text));
	for (int local = 0; local < ranks; local++)
		cs_fake_levels_of(text, local, &package[local], &cache[local]);
	assert_true(cs_levels_init(levels, ranks, package, cache));
}

void
virtual_make(struct virtual_node *node, const char *levels, int ranks, size_t slot_bytes,
	     const struct cs_node_watch *watch)
{
	/* A wait lets others go on at each turn, and never sleeps. */
	struct cs_node_shape shape = { .size = ranks, .slots = 2, .slot_bytes = slot_bytes,
				       .spin = 1, .yields = SIZE_MAX };
	size_t bytes = cs_node_bytes(&shape);
	*node = (struct virtual_node){ .ranks = ranks, .first = { 0, ranks } };
	for (int rank = 0; rank < ranks; rank++)
		node->order[rank] = rank;
	node->teams = calloc((size_t)ranks, sizeof *node->teams);
	node->ops = calloc((size_t)ranks, sizeof *node->ops);
	node->memory = aligned_alloc(CS_SEGMENT_HEADER, (bytes / CS_SEGMENT_HEADER + 1) *
				     CS_SEGMENT_HEADER);
	memset(node->memory, 0, bytes);
	for (int rank = 0; rank < ranks; rank++) {
		struct cs_team *team = &node->teams[rank];
		struct cs_segment segment = { .bytes = bytes, .fd = -1, .base = node->memory };
		shape.local = rank;
		cs_node_init(&team->node, &shape, &segment, &quiet);
		cs_node_init_own(&team->node);
		team->node.watch = watch;
		team->shape = (struct cs_shape){ .rank = rank, .ranks = ranks, .nodes = 1,
						 .local = rank, .locals = ranks,
						 .ppn_min = ranks, .ppn_max = ranks,
						 .is_block_placed = true, .order = node->order,
						 .position = node->order, .first = node->first };
		team->lane = rank ? CS_LANES : 0;
		team->idle = &node->idle;
		virtual_levels(&team->shape.levels, levels, ranks, node->package, node->cache);
	}
}

void
virtual_drop(struct virtual_node *node)
{
	for (int rank = 0; rank < node->ranks; rank++)
		cs_levels_fini(&node->teams[rank].shape.levels);
	cs_op_memory_free(&node->idle);
	free(node->teams);
	free(node->ops);
	free(node->memory);
}

void
virtual_params(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm)
{
	assert_non_null(algorithm);
	for (int i = 0; i < CS_MAX_PARAMS; i++)
		params[i] = algorithm->params[i].fallback;
}

void
virtual_begin(struct virtual_node *node, int rank, const struct cs_algorithm *algorithm,
	      const size_t *params, const struct cs_call *call)
{
	struct cs_op *op = &node->ops[rank];
	op->call = *call;
	op->node.outcome = (struct cs_outcome){ 0 };
	cs_op_join(op, &node->teams[rank], cs_call_signature(call->coll, 0));
	op->node.extras = CS_NODE_WATCHED;
	algorithm->run(op, params);
}

void
virtual_end(struct virtual_node *node, int rank)
{
	cs_node_op_fini(&node->ops[rank].node);
	cs_op_fini(&node->ops[rank]);
}
