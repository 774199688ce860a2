/* node/rounds.h — rounds on one node: each rank publishes chunks of its data, and copies those that
 * it needs.
 *
 *   rank 0   post 0  post 1 | get 0            | get 1
 *   rank 1           post 0  post 1 | get 0    | get 1
 *
 * A rank posts as far ahead as its ring has free slots, and gets round r only after it has posted
 * round r; so an oversubscribed node changes ranks a few times per call and not per round, and no
 * ranks wait in a circle. */
#ifndef CS_ALGORITHMS_NODE_ROUNDS_H
#define CS_ALGORITHMS_NODE_ROUNDS_H

#include "algorithms/node/chunks.h"
#include "algorithms/node/copies.h"

/* Words of a set of local ranks in the state; a larger one is in the operation's memory */
#define CS_EXCHANGE_WORDS 4

/* The state of the script. */
struct cs_rounds {
	struct cs_post post; /* of this rank; no rounds: none */
	uint64_t takes;      /* rounds of others */
	/* Write round r of the own data to `slot` (slot_bytes long). NULL: others read it where it
	 * is. */
	void (*fill)(struct cs_op *op, const struct cs_rounds *exchange, uint64_t round,
		     char *slot);
	/* Use the published round r of a local rank; line: of step 1. */
	void (*get)(struct cs_op *op, const struct cs_rounds *exchange, uint64_t round, int local,
		    const struct cs_line *line);
	const char *own; /* the own block, where there is one for all */
	size_t head;     /* bytes before each piece, for the size of its block: 0, or a word's */
	/* Progress. */
	cs_phase *const *again; /* the first phase of each round */
	uint64_t taken;
	bool is_open; /* the pending ones of this round are noted */
	uint64_t *pending, few[CS_EXCHANGE_WORDS]; /* a bit for each local rank */
};

/* Begin an exchange with pieces of `chunk` bytes, so far without a post and without rounds of
 * others. */
struct cs_rounds *cs_rounds_init(struct cs_op *op, size_t chunk,
				     void (*get)(struct cs_op *op,
						 const struct cs_rounds *exchange, uint64_t round,
						 int local, const struct cs_line *line));

/* Post a block of `bytes` for all others: in the line itself if is_inline, where it is if
 * is_single_copy (after cs_node_offer), else copied. shares: rounds lie side by side in a slot. */
void cs_rounds_put_block(struct cs_op *op, const char *block, size_t bytes, bool is_inline,
			   bool is_single_copy, bool shares);

/* Post call->send, a block for each other local rank, of which the largest has `most` bytes: where
 * they are if is_single_copy, else copied, with heads of `head` bytes. */
void cs_rounds_put_blocks(struct cs_op *op, size_t most, size_t head, bool is_single_copy);
/* Bytes from one block to the next, which lie as close as they fit, so that small calls share
 * memory and many are in flight: blocks of at most `most` bytes, behind heads of `head`. */
static inline size_t
cs_rounds_stride(const struct cs_op *op, size_t most, size_t head)
{
	bool is_packed = !head && most * (size_t)op->team->node.shape.size <= CS_SMALL;
	return is_packed ? most : (most + head + 63) & ~(size_t)63;
}
/* Do places for all readers (struct cs_remote) fit into a slot? */
static inline bool
cs_rounds_may_single_copy_blocks(const struct cs_team *team)
{
	return (size_t)team->node.shape.size * sizeof(struct cs_remote) <=
	       team->node.shape.slot_bytes;
}

/* Begin the call on the node and continue with the script, an exchange with the operation's state.
 * `first`: index of the first phase of each round. */
void cs_rounds_start(struct cs_op *op, cs_phase *const *script, int first);

/* Phases. */
enum cs_status cs_rounds_open(struct cs_op *op); /* take the own line, and memory for an only
						  * round */
enum cs_status cs_rounds_post(struct cs_op *op); /* post own rounds, as far as there is room */
/* Get a round of each other local rank whose block of call->recv is not over yet. First come, first
 * served: a late rank delays only its own block. */
enum cs_status cs_rounds_get(struct cs_op *op);
enum cs_status cs_rounds_next(struct cs_op *op); /* publish the progress, and continue with the next
						  * round */
enum cs_status cs_rounds_be_read(struct cs_op *op); /* wait until no rank reads our memory */

/* Script of a rank that only posts: open, post, be_read. */
extern cs_phase *const cs_rounds_post_only[];

/* Bytes to copy of a block of `sent` bytes if `expected` are expected. A longer one is noted as
 * truncated. */
static inline size_t
cs_rounds_lesser(struct cs_op *op, size_t sent, size_t expected)
{
	if (sent > expected)
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
	return sent < expected ? sent : expected;
}

#endif
