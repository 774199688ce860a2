/* patterns/exchange.h — rounds on one node: everybody publishes chunks of its data, everybody takes
 * what it needs.
 *
 *   rank 0   post 0  post 1 | get 0            | get 1
 *   rank 1           post 0  post 1 | get 0    | get 1
 *
 * A rank posts as far ahead as its ring has free slots, and gets round r only after it has posted
 * round r; so an oversubscribed node changes ranks a few times per call and not per round, and
 * nobody can wait in a circle. */
#ifndef CS_ALGORITHMS_PATTERNS_EXCHANGE_H
#define CS_ALGORITHMS_PATTERNS_EXCHANGE_H

#include "algorithms/op.h"
#include "shm/post.h"

#include <string.h>

/* Of a set of local ranks that lies in the state; a larger one lies in the operation's memory */
#define CS_EXCHANGE_WORDS 4

/* The state of the script. */
struct cs_exchange {
	struct cs_post post; /* what this rank puts out; no rounds: nothing */
	uint64_t takes;      /* rounds of others */
	/* Writes round r of the own data to `slot` (slot_bytes long). NULL: others read it where it
	 * is. */
	void (*fill)(struct cs_op *op, const struct cs_exchange *exchange, uint64_t round,
		     char *slot);
	/* Uses what round r of a local rank brings, which is there; line: of step 1. */
	void (*get)(struct cs_op *op, const struct cs_exchange *exchange, uint64_t round, int local,
		    const struct cs_line *line);
	const char *own; /* the own block, where there is one for all */
	size_t head;     /* bytes before each piece, which say how long its block is: 0, or of a
			  * word */
	/* Where it stands. */
	cs_phase *const *again; /* the first phase of each round */
	uint64_t taken;
	bool is_open; /* the pending ones of this round are noted */
	uint64_t *pending, few[CS_EXCHANGE_WORDS]; /* a bit for each local rank */
};

/* An exchange with pieces of `chunk` bytes, of which nothing is put out and nothing is taken so
 * far. */
struct cs_exchange *cs_exchange_init(struct cs_op *op, size_t chunk,
				     void (*get)(struct cs_op *op,
						 const struct cs_exchange *exchange, uint64_t round,
						 int local, const struct cs_line *line));

/* Puts out a block of `bytes` for all others: in the line itself if is_inline, where it is if
 * is_single_copy (cs_node_offer has been told), else copied. shares: rounds lie side by side in a
 * slot. */
void cs_exchange_put_block(struct cs_op *op, const char *block, size_t bytes, bool is_inline,
			   bool is_single_copy, bool shares);

/* Puts out call->send, a block for each other local rank, of which the largest has `most` bytes:
 * where they are if is_single_copy, else copied, with heads of `head` bytes. (One node: ranks are
 * local ranks.) */
void cs_exchange_put_blocks(struct cs_op *op, size_t most, size_t head, bool is_single_copy);
/* Do so many readers' places fit into a slot? */
static inline bool
cs_exchange_may_single_copy_blocks(const struct cs_team *team)
{
	return (size_t)team->node.shape.size * sizeof(struct cs_remote) <=
	       team->node.shape.slot_bytes;
}

/* Begins the call on the node and goes on with the script, an exchange of which the state is in the
 * operation. `first`: of its phases the first of each round. */
void cs_exchange_start(struct cs_op *op, cs_phase *const *script, int first);

/* Phases. */
enum cs_status cs_exchange_open(struct cs_op *op); /* takes the own line, and memory for an only
						    * round */
enum cs_status cs_exchange_post(struct cs_op *op); /* the own rounds, as far as there is room */
/* A round of others: of each other local rank whose block of call->recv is not over yet. Who is
 * there first is served first: a late rank holds up only its own block. */
enum cs_status cs_exchange_get(struct cs_op *op);
enum cs_status cs_exchange_next(struct cs_op *op); /* says how far it is, and goes on with the next
						    * round */
enum cs_status cs_exchange_be_read(struct cs_op *op); /* until nobody reads our memory any more */

/* For who only posts: open, post, be_read. */
extern cs_phase *const cs_exchange_post_only[];

/* Of a block that another rank says is so long, and that is expected to be so long: what is to be
 * taken. A longer one is told. */
static inline size_t
cs_exchange_lesser(struct cs_call *call, size_t sent, size_t expected)
{
	if (sent > expected)
		call->truncated = sent;
	return sent < expected ? sent : expected;
}

/* memcpy for what is mostly short. Of no bytes the pointers may be null. */
static inline void
cs_copy(void *to, const void *from, size_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes == 4)
		memcpy(to, from, 4);
	else if (bytes)
		memcpy(to, from, bytes);
}

/* The same into the program's result, from where it need not be in the cache afterwards. */
static inline void
cs_copy_result(struct cs_op *op, char *to, const char *from, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (bytes < CS_COPY_LONG)
		cs_copy(to, from, bytes);
	else
		cs_copy_large(&team->node.results[call->coll][cs_copy_choice_size(call->bytes)], to,
			      from, bytes);
}

/* Blocks below this size are copied in and out wherever copies decide. The owner of a block that is
 * read by single copy has to wait for its readers; an MPI copies such a block and lets the sender
 * go on. */
#define CS_COPIES_WORTH (64 << 10)

/* cs_node_offer of all of these blocks, of which some are not empty. What lies between blocks may
 * be anything. */
bool cs_exchange_offer(struct cs_op *op, const struct cs_blocks *blocks);

/* By copies: should others read blocks of ours, of at most `bytes`, where they are? `from`: the
 * parameter cma_min. */
static inline bool
cs_single_copy_by_copies(struct cs_op *op, size_t from, size_t bytes,
			 const struct cs_copy_cost *cost)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (!team->has_cma)
			 return false;
	return from ? bytes >= from
		    : bytes >= CS_COPIES_WORTH &&
			    cs_node_single_copy_by_copies(&op->node, call->coll, bytes, cost);
}
/* The readers' part of it, out of a slot: `bytes` of a block, all or a piece of it. */
static inline void
cs_copy_out(struct cs_op *op, size_t block, char *to, const char *from, size_t bytes)
{
	struct cs_call *call = &op->call;
	if (block < CS_COPIES_WORTH)
		cs_copy_result(op, to, from, bytes);
	else
		cs_node_get_copied_in(&op->node, call->coll, block, to, from, bytes);
}

/* Where all wait for all: by calls, which end with the operation; or, where ranks share cores, by
 * copies, from `oversubscribed` bytes on. */
static inline bool
cs_exchange_is_single_copy(struct cs_op *op, size_t from, size_t bytes, size_t oversubscribed,
			   const struct cs_copy_cost *cost)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (team->node.is_oversubscribed)
		return (from || bytes >= oversubscribed) &&
		       cs_single_copy_by_copies(op, from, bytes, cost);
	if (!team->has_cma)
		return false;
	return from ? bytes >= from : bytes >= CS_COPY_CHOICE_LEAST &&
	       cs_node_single_copy_by_calls(&op->node, call->coll, bytes);
}
/* The readers' part of it: out of a slot, and a whole block in its owner's memory. */
static inline void
cs_exchange_get_copied_in(struct cs_op *op, size_t block, char *to, const char *from, size_t bytes)
{
	struct cs_team *team = op->team;
	if (team->node.is_oversubscribed)
		cs_copy_out(op, block, to, from, bytes);
	else
		cs_copy_result(op, to, from, bytes);
}
static inline void
cs_exchange_read(struct cs_op *op, int local, char *to, uint64_t remote, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (team->node.is_oversubscribed)
		cs_node_get_single_copy(&op->node, call->coll, local, to, remote, bytes);
	else
		cs_node_read(&op->node, local, to, remote, bytes);
}

static inline uint64_t
cs_rounds(size_t bytes, size_t chunk)
{
	/* A division is dear to a small call */
	return bytes <= chunk ? bytes != 0 : (bytes + chunk - 1) / chunk;
}

/* Bytes of round r of a block. */
static inline size_t
cs_chunk_bytes(size_t bytes, size_t chunk, uint64_t round)
{
	size_t from = round * chunk;
	return from >= bytes ? 0 : bytes - from < chunk ? bytes - from : chunk;
}

/* Chunk that lets `parts` pieces share one slot of `bytes`; a multiple of 64 where that is
 * possible. */
static inline size_t
cs_chunk_per_part(size_t bytes, size_t parts)
{
	size_t chunk = bytes / parts;
	return chunk >= 64 ? chunk & ~(size_t)63 : chunk;
}

/* A round's part of every block where they are not of one size: up to `most` (bytes, elements) from
 * `at` on. */
struct cs_window {
	size_t at, most;
};

static inline size_t
cs_window_bytes(size_t size, struct cs_window window)
{
	size_t rest = size > window.at ? size - window.at : 0;
	return rest < window.most ? rest : window.most;
}

/* The most of a block, from `at` on, in a round in which all pieces together have at most `room`,
 * at least the share that is each one's: blocks below theirs leave room for the others. `sizes`: by
 * rank; NULL: all are alike. */
size_t cs_window_fair(const size_t *sizes, int ranks, size_t at, size_t room);

_Static_assert(CS_COPY_PATTERNS >= CS_COLL_COUNT, "each collective has its own way of large "
						  "copies");

/* The same into the node's memory, where other ranks read it next. */
static inline void
cs_copy_in(struct cs_op *op, char *to, const char *from, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (bytes < CS_COPY_LEAST)
		cs_copy(to, from, bytes);
	else
		cs_copy_large(&team->node.copies_in[cs_copy_kind(bytes)][call->coll], to, from,
			      bytes);
}

/* Do so many bytes travel in the small slot? A root's calls follow each other without a wait: from
 * these on their pieces are rather cut from the ring, which is larger than a core's own cache, so
 * that their lines are no longer in the reader's when they are written again (a Xeon, bcast of 2000
 * B in a row: 0.39 us, of 2500 B 0.24). */
#define CS_ROOTED_SMALL 511
static inline bool
cs_is_small(struct cs_op *op, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	return bytes <= (cs_colls[call->coll].rooted && !team->node.is_oversubscribed
			 ? CS_ROOTED_SMALL : CS_SMALL);
}

#endif
