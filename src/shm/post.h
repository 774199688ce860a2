/* shm/post.h — data that a rank publishes for the others of its node in one call, in rounds. There
 * are five ways, in one table (post.c); the line says which.
 *
 *   inline       in the line itself: one cache line carries flag and data      a reader's round 0
 *   small        in the call's small slot                                      a reader's round 0
 *   piece        in a piece of a slot of the ring, which several calls share   a reader's round 0
 *   ring         in slots of the ring, each for one round or for several       a round at a time
 *   single copy  in the owner's memory, from which readers copy it             all of it in round 0
 *
 * The data is one block for all readers, or a block for each, side by side, `stride` bytes apart;
 * by single copy each is a struct cs_remote, in a slot. */
#ifndef CS_SHM_POST_H
#define CS_SHM_POST_H

#include "shm/node_slots.h"
#include "shm/shared.h"

/* Way, in word[0] of a line; but a line with CS_POST_INLINE is all data, which readers know by the
 * size. */
enum cs_post_way { CS_POST_RING, CS_POST_SINGLE_COPY, CS_POST_INLINE, CS_POST_SMALL, CS_POST_PIECE,
		   CS_POST_WAYS };

#define CS_LINE_ROOM (4 * sizeof(uint64_t)) /* bytes of a line behind word[0] */

/* Block in its owner's memory, for single copy. */
struct cs_remote {
	uint64_t address, bytes;
};

/* The post of one rank in one operation. */
struct cs_post {
	enum cs_post_way way;
	uint64_t rounds; /* CS_USES_UNKNOWN: not known, or read by the owner, too */
	uint64_t last;   /* step until which a single round is in use; 0: step 1 */
	size_t bytes;  /* for the line */
	size_t chunk;  /* bytes of a block in a round */
	size_t pieces; /* rounds that share a slot of the ring, side by side; 0: one */
	size_t span;   /* bytes of a single round */
	size_t stride; /* bytes from one reader's block to the next; 0: one for all; by single copy
			* of one for all the fan-out of their tree (algorithms/node/bcast.h) */
	uint64_t address; /* single copy: of one block for all; 0: each has its own */
	/* Progress: */
	uint64_t posted, number; /* rounds published; slot number for the line */
	struct cs_line *line;
	char *only, *slot; /* memory of a single round; of the last round */
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

/* Reserves memory for all rounds, after the call has begun. `is_left`: others may begin on the node
 * before the call is over. */
void cs_post_reserve(struct cs_node_op *op, struct cs_post *post, bool is_left);

/* Takes the own line, and memory for a single round. False: not free yet, and op->awaited is
 * set. */
bool cs_post_open(struct cs_node_op *op, struct cs_post *post);

/* Returns memory for the next round: a slot, a part of it, or the way's own. NULL: not free yet,
 * and op->awaited is set. */
char *cs_post_room(struct cs_node_op *op, struct cs_post *post);

/* cs_post_room and cs_post_publish for callers that number the steps themselves: the memory is in
 * use until all are done with `step`. */
char *cs_post_room_until(struct cs_node_op *op, struct cs_post *post, uint64_t step);
static inline void
cs_post_publish_step(struct cs_node_op *op, struct cs_post *post, uint64_t step)
{
	post->posted++;
	cs_node_publish(op, post->line, step);
}

/* Publishes the next round. */
static inline void
cs_post_publish(struct cs_node_op *op, struct cs_post *post)
{
	cs_post_publish_step(op, post, post->posted + 1);
}

/* Number of pieces of `chunk` bytes that fit side by side into a slot. So small pieces are
 * published early, but all of a slot is used: memory smaller than a core's own cache would have
 * each line fetched from the other core's (EPYC, cores that do not share a complex: bcast of 1 MiB
 * 28 us instead of 58). */
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

/* Is the data to be read by single copy, all with the first round? */
static inline bool
cs_post_is_single_copy(const struct cs_line *line)
{
	return line->word[0] == CS_POST_SINGLE_COPY;
}

/* The place of a block in memory that ranks have in common, in the last words of a line: told with
 * one for all by single copy, and of results over several nodes. */
static inline void
cs_post_say_place(struct cs_line *line, struct cs_shared_place place)
{
	line->word[3] = place.file;
	line->word[4] = place.at;
}
/* Is the block where it is to go, since both are the same memory? The report counts it. */
static inline bool
cs_post_is_there(const struct cs_line *line, const void *to, size_t bytes)
{
	bool is_there = line->word[3] && cs_shared_is_same(cs_shared_find(to, bytes),
							   line->word[3], line->word[4]);
	if (is_there)
		cs_shared_count();
	return is_there;
}

/* Address, in slots, of a round that local rank `local` has published; `pieces` rounds share a
 * slot, 0: none do. */
static inline const char *
cs_post_find(struct cs_node_op *op, int local, const struct cs_line *line, uint64_t round,
	     size_t chunk, size_t pieces)
{
	if (!round || !pieces)
		return cs_node_slot_of(op, local, line->slot, round);
	/* Without the offset: pieces cut from a slot are single rounds, so an offset here could
	 * only be of a rank with another size. */
	uint64_t first = line->slot % CS_PIECE_UNIT;
	return cs_node_slot_of(op, local, first, round / pieces) + round % pieces *
	       cs_piece_room(chunk);
}

/* Block of reader `reader`, if each has its own, by single copy. */
static inline const struct cs_remote *
cs_post_remote(struct cs_node_op *op, int local, const struct cs_line *line, int reader)
{
	return (const struct cs_remote *)(const void *)cs_node_slot_of(op, local, line->slot, 0) +
	       reader;
}

/* Stride that a peer has published, limited to a piece of `chunk` bytes behind a head, so that it
 * is inside a slot. */
#define CS_MOST_HEAD 8
static inline size_t
cs_post_stride(size_t chunk, const struct cs_line *line)
{
	size_t most = chunk + CS_MOST_HEAD;
	return line->word[2] < most ? line->word[2] : most;
}

#endif
