/* node/small.h — blocks of at most CS_SMALL bytes in a blocking call on one node, posted and read
 * straight on the flags, for the `fast` of an algorithm. A block lies in the line, in the small
 * slot, or in a piece of a slot, as it does by the algorithm's script: some ranks of a call may run
 * `fast`, and others the script. */
#ifndef CS_ALGORITHMS_NODE_SMALL_H
#define CS_ALGORITHMS_NODE_SMALL_H

#include "algorithms/node/rounds.h"

/* May a block of so many bytes go this way? `single_copy_from`: the parameter cma_min. */
bool cs_small_fits_slot(struct cs_op *op, size_t bytes, size_t single_copy_from);
static inline bool
cs_small_fits(struct cs_op *op, size_t bytes, size_t single_copy_from)
{
	return bytes <= CS_INLINE || cs_small_fits_slot(op, bytes, single_copy_from);
}

/* Return memory of this call for `bytes` that fit, and name it in the line; waits if it must. */
char *cs_small_room(struct cs_op *op, struct cs_line *line, size_t bytes);

/* Post a block in step 1; the line is the own one. copied: not in the line, however short. */
void cs_small_post_copied(struct cs_op *op, struct cs_line *line, const char *block, size_t bytes);
static inline void
cs_small_post(struct cs_op *op, struct cs_node_at at, struct cs_line *line, const char *block,
	      size_t bytes)
{
	if (bytes > CS_INLINE) {
		cs_small_post_copied(op, line, block, bytes);
		return;
	}
	cs_copy(line->data, block, bytes);
	cs_at_publish(at, line, 1);
}

/* Post call->send in step 1, a block for each other rank, as cs_rounds_put_blocks does without
 * single copy if `stride` * ranks bytes fit: blocks of at most `most` bytes, behind heads of
 * `head`, cs_rounds_stride apart. */
static inline __attribute__((always_inline)) void
cs_small_post_blocks(struct cs_op *op, struct cs_node_at at, size_t most, size_t head,
		     size_t stride)
{
	const struct cs_blocks *blocks = &op->call.send;
	int ranks = op->team->shape.ranks, self = op->team->shape.rank;
	struct cs_line *line = cs_at_line(at);
	cs_at_say(at, line, most);
	char *to = cs_small_room(op, line, stride * (size_t)ranks);
	line->word[2] = stride;
	for (int rank = 0; rank < ranks; rank++, to += stride) {
		uint64_t bytes = cs_blocks_bytes(blocks, rank);
		if (rank == self)
			continue;
		memcpy(to, &bytes, head);
		cs_copy(to + head, cs_blocks_at(blocks, rank), bytes);
	}
	cs_at_publish(at, line, 1);
}

/* Did a block come this way? The line is of step 1; `sent`: bytes of the block by its sender. */
static inline bool
cs_small_is(const struct cs_line *line, size_t sent)
{
	return sent <= CS_INLINE || line->word[0] == CS_POST_SMALL ||
	       line->word[0] == CS_POST_PIECE;
}

/* Address of such a block. */
static inline const char *
cs_small_find(struct cs_op *op, int local, const struct cs_line *line, size_t sent)
{
	return sent <= CS_INLINE ? (const char *)line->data
				 : cs_node_slot_of(&op->node, local, line->slot, 0);
}

#endif
