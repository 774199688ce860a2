/* shm/post.h — what a rank puts out for the others of its node in one call, in rounds, and where
 * they find it. There are five ways, which are one table (post.c); a line says which.
 *
 *   inline       in the line itself: one cache line carries flag and data      a reader's round 0
 *   small        in the call's small slot                                      a reader's round 0
 *   piece        in a piece of a slot of the ring, which several calls share   a reader's round 0
 *   ring         in slots of the ring, each for one round or for several       a round at a time
 *   single copy  where it is: readers copy it from its owner's memory          all of it in round 0
 *
 * It is one block for all readers, or a block for each: these lie side by side, `stride` apart; by
 * single copy they are a struct cs_remote each, in a slot. */
#ifndef CS_SHM_POST_H
#define CS_SHM_POST_H

#include "shm/node_slots.h"

/* In word[0] of a line, but of blocks that are inline for all by their size: their lines are all
 * data. */
enum cs_post_way { CS_POST_RING, CS_POST_SINGLE_COPY, CS_POST_INLINE, CS_POST_SMALL, CS_POST_PIECE,
		   CS_POST_WAYS };

#define CS_LINE_ROOM (4 * sizeof(uint64_t)) /* bytes of a line behind word[0] */

/* Where a block is in its owner's memory. */
struct cs_remote {
	uint64_t address, bytes;
};

/* The post of one rank in one operation. */
struct cs_post {
	enum cs_post_way way;
	uint64_t rounds; /* CS_USES_UNKNOWN: not known, or read by their owner, too */
	uint64_t last;   /* step until which an only round is in use; 0: 1 */
	size_t bytes;  /* that the line says */
	size_t chunk;  /* of a block in a round */
	size_t pieces; /* rounds that share a slot of the ring, side by side; 0: one */
	size_t span;   /* bytes of an only round */
	size_t stride; /* from one reader's block to the next; 0: it is one for all */
	uint64_t address; /* by single copy, of one block for all; 0: each has its own */
	/* Where it stands. */
	uint64_t posted, number; /* rounds; of its slot, for the line */
	struct cs_line *line;
	char *only, *slot; /* memory of an only round; of the last round */
};

/* Chooses the transport of a block: the first of those that the caller allows, in the order of the
 * table above but for single copy, which comes second, and of a piece only if all goes in one round
 * and `span` bytes are little beside a slot; else the ring. */
static inline enum cs_post_way
cs_post_choose(const struct cs_node_op *op, size_t span, uint64_t rounds, bool is_inline,
	       bool is_single_copy, bool is_small)
{
	if (is_inline)
		return CS_POST_INLINE;
	if (is_single_copy)
		return CS_POST_SINGLE_COPY;
	if (is_small)
		return CS_POST_SMALL;
	return rounds == 1 && cs_node_is_cut(op, span) ? CS_POST_PIECE : CS_POST_RING;
}

/* Reserves memory for all rounds, after the call has begun; others may begin on the node before it
 * is over only if `is_left` is said. */
void cs_post_reserve(struct cs_node_op *op, struct cs_post *post, bool is_left);

/* Takes the own line, and memory for an only round. False: there is none yet, and what is missing
 * is noted. */
bool cs_post_open(struct cs_node_op *op, struct cs_post *post);

/* Memory for the next round: all of a slot, or what the way has. NULL: there is none yet, and what
 * is missing is noted. */
char *cs_post_room(struct cs_node_op *op, struct cs_post *post);

/* The same for who numbers the steps itself: the memory is in use until all are done with
 * `step`. */
char *cs_post_room_until(struct cs_node_op *op, struct cs_post *post, uint64_t step);
static inline void
cs_post_publish_step(struct cs_node_op *op, struct cs_post *post, uint64_t step)
{
	post->posted++;
	cs_node_publish(op, post->line, step);
}

/* Publishes that the next round is there. */
static inline void
cs_post_publish(struct cs_node_op *op, struct cs_post *post)
{
	cs_post_publish_step(op, post, post->posted + 1);
}

/* Pieces of so many bytes that fit side by side into a slot. Small pieces leave early, and whole
 * slots are used in turn: of memory that is less than a core's own cache, each line would have to
 * be fetched from the other's (EPYC, where the cores do not share a complex: bcast of 1 MiB 28 us
 * instead of 58). */
static inline size_t
cs_piece_room(size_t chunk)
{
	return (chunk + 63) & ~(size_t)63;
}
static inline size_t
cs_post_pieces(const struct cs_node *node, size_t chunk)
{
	size_t pieces = node->shape.slot_bytes / cs_piece_room(chunk);
	return pieces ? pieces : 1;
}

/* --- a reader --------------------------------------------------------------------------------- */

/* Is all of it there with the first round? */
static inline bool
cs_post_is_single_copy(const struct cs_line *line)
{
	return line->word[0] == CS_POST_SINGLE_COPY;
}

/* A round of local rank `local`, which its line says is there, in slots: of `pieces` that share
 * one; 0: none do. */
static inline const char *
cs_post_find(struct cs_node_op *op, int local, const struct cs_line *line, uint64_t round,
	     size_t chunk, size_t pieces)
{
	if (!round || !pieces)
		return cs_node_slot_of(op, local, line->slot, round);
	/* What is cut from a slot is a call's only round: here an offset could only come from a
	 * rank that sees another size. */
	uint64_t first = line->slot % CS_PIECE_UNIT;
	return cs_node_slot_of(op, local, first, round / pieces) + round % pieces *
	       cs_piece_room(chunk);
}

/* By single copy, of blocks of their own: where that of reader `reader` is. */
static inline const struct cs_remote *
cs_post_remote(struct cs_node_op *op, int local, const struct cs_line *line, int reader)
{
	return (const struct cs_remote *)(const void *)cs_node_slot_of(op, local, line->slot, 0) +
	       reader;
}

/* The stride that a peer has published, kept inside a slot: of pieces of at most `chunk` bytes
 * behind a head. */
#define CS_MOST_HEAD 8
static inline size_t
cs_post_stride(size_t chunk, const struct cs_line *line)
{
	size_t most = chunk + CS_MOST_HEAD;
	return line->word[2] < most ? line->word[2] : most;
}

#endif
