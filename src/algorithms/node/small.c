/* node/small.c — memory of small blocks that do not fit into a line. */
#include "algorithms/node/small.h"

bool
cs_small_fits_slot(struct cs_op *op, size_t bytes, size_t single_copy_from)
{
	return bytes <= CS_SMALL && (!single_copy_from || bytes < single_copy_from) &&
	       (cs_is_small(op, bytes) || cs_node_is_cut(&op->node, bytes));
}

char *
cs_small_room(struct cs_op *op, struct cs_line *line, size_t bytes)
{
	line->word[2] = 0;
	if (cs_is_small(op, bytes)) {
		line->word[0] = CS_POST_SMALL;
		line->slot = cs_node_small_slot(&op->node, bytes);
		return cs_node_small(&op->node, line->slot);
	}
	line->word[0] = CS_POST_PIECE;
	return cs_node_cut(&op->node, 1, bytes, &line->slot);
}

void
cs_small_post_copied(struct cs_op *op, struct cs_line *line, const char *block, size_t bytes)
{
	cs_copy_in(op, cs_small_room(op, line, bytes), block, bytes);
	cs_node_publish(&op->node, line, 1);
}
