/* patterns/exchange.h — rounds on one node: everybody publishes chunks of its data, everybody takes what it needs.
 *
 *   rank 0   post 0  post 1 | get 0            | get 1
 *   rank 1           post 0  post 1 | get 0    | get 1
 *
 * A rank posts as far ahead as its ring has free slots, and gets round r only after it has posted round r; so an
 * oversubscribed node changes ranks a few times per call and not per round, and nobody can wait in a circle. */
#ifndef CS_ALGORITHMS_PATTERNS_EXCHANGE_H
#define CS_ALGORITHMS_PATTERNS_EXCHANGE_H

#include "algorithms/op.h"

#include <string.h>

#define CS_EXCHANGE_WORDS 4 /* of a set of local ranks that lies in the state; a larger one lies in the operation's memory */

/* The state of the script. */
struct cs_exchange {
	uint64_t fills, takes; /* rounds of own data, and of others' */
	size_t bytes; /* goes into the own line */
	size_t chunk; /* bytes per round, meaning as the algorithm needs it */
	bool is_inline; /* the one round of own data fits into the line itself (CS_INLINE), which then has no words */
	bool is_small; /* it fits into the small slot (CS_SMALL) */
	bool is_direct; /* others read our memory by single copy: not over before all are done */
	bool is_open;   /* the pending ones of this round are noted */
	size_t stride;  /* from one rank's piece to the next in a slot; goes into word[2] of the own line */
	size_t span;    /* bytes of the own data in a slot if it is one round; 0: whole slots */
	uint64_t address; /* goes into word[1] of the own line */
	size_t pieces;    /* rounds that share a slot, side by side (cs_pieces); 0: one */
	/* Writes round r of the own data to `slot` (slot_bytes long). NULL: others read it where it is, at `address`. */
	void (*fill)(struct cs_op *op, const struct cs_exchange *exchange, uint64_t round, char *slot);
	/* Uses what round r of a local rank brings, which is there; line: of step 1. */
	void (*get)(struct cs_op *op, const struct cs_exchange *exchange, uint64_t round, int local, const struct cs_line *line);
	/* Where it stands. */
	bool is_cut; /* an only round lies in a piece of a slot */
	uint64_t slot_number; /* for the own line */
	cs_phase *const *again; /* the first phase of each round */
	uint64_t filled, taken;
	struct cs_line *line;
	char *only; /* memory of an only round that is less than a slot */
	char *slot;
	uint64_t *pending, few[CS_EXCHANGE_WORDS]; /* a bit for each local rank */
};

/* Begins the call on the node and goes on with the script, an exchange of which the state is in the operation. `first`:
 * of its phases the first of each round. */
void cs_exchange_start(struct cs_op *op, cs_phase *const *script, int first);

/* Phases. */
enum cs_status cs_exchange_open(struct cs_op *op); /* takes the own line, and memory for an only round */
enum cs_status cs_exchange_post(struct cs_op *op); /* the own rounds, as far as there is room */
/* A round of others: of each other local rank whose block of call->recv is not over yet. Who is there first is served
 * first: a late rank holds up only its own block. */
enum cs_status cs_exchange_get(struct cs_op *op);
enum cs_status cs_exchange_next(struct cs_op *op); /* says how far it is, and goes on with the next round */
enum cs_status cs_exchange_be_read(struct cs_op *op); /* until nobody reads our memory any more */

/* For who only posts: open, post, be_read. */
extern cs_phase *const cs_exchange_post_only[];

/* Of a block that another rank says is so long, and that is expected to be so long: what is to be taken. A longer one is told. */
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
	if (bytes < CS_PUT_LONG)
		cs_copy(to, from, bytes);
	else
		cs_put_large(&team->node.results[call->coll][cs_reach_size(call->bytes)], to, from, bytes);
}

/* Blocks below this size are copied in and out wherever copies decide. The owner of a block that is read by single copy has to
 * wait for its readers; an MPI copies such a block and lets the sender go on. */
#define CS_COPIES_WORTH (64 << 10)

/* cs_node_offer of all of these blocks, of which some are not empty. What lies between blocks may be anything. */
bool cs_exchange_offer(struct cs_op *op, const struct cs_blocks *blocks);

/* By copies: should others read blocks of ours, of at most `bytes`, where they are? `from`: the parameter cma_min. */
static inline bool
cs_copies_reach(struct cs_op *op, size_t from, size_t bytes, const struct cs_reach_cost *cost)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (!team->has_cma)
		return false;
	return from ? bytes >= from
		    : bytes >= CS_COPIES_WORTH && cs_node_reach_by_copies(&op->node, call->coll, bytes, cost);
}
/* The readers' part of it, out of a slot: `bytes` of a block, all or a piece of it. */
static inline void
cs_copy_out(struct cs_op *op, size_t block, char *to, const char *from, size_t bytes)
{
	struct cs_call *call = &op->call;
	if (block < CS_COPIES_WORTH)
		cs_copy_result(op, to, from, bytes);
	else
		cs_node_get_staged(&op->node, call->coll, block, to, from, bytes);
}

/* Where all wait for all: by calls, which cs_exchange_run ends; or, where ranks share cores, by copies, from `crowded` bytes on. */
static inline bool
cs_exchange_reaches(struct cs_op *op, size_t from, size_t bytes, size_t crowded,
		    const struct cs_reach_cost *cost)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (team->node.is_crowded)
		return (from || bytes >= crowded) && cs_copies_reach(op, from, bytes, cost);
	if (!team->has_cma)
		return false;
	return from ? bytes >= from : bytes >= CS_REACH_LEAST && cs_node_reach_by_calls(&op->node, call->coll, bytes);
}
/* The readers' part of it: out of a slot, and a whole block in its owner's memory. */
static inline void
cs_exchange_get_staged(struct cs_op *op, size_t block, char *to, const char *from, size_t bytes)
{
	struct cs_team *team = op->team;
	if (team->node.is_crowded)
		cs_copy_out(op, block, to, from, bytes);
	else
		cs_copy_result(op, to, from, bytes);
}
static inline void
cs_exchange_read(struct cs_op *op, int local, char *to, uint64_t remote, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (team->node.is_crowded)
		cs_node_get_direct(&op->node, call->coll, local, to, remote, bytes);
	else
		cs_node_read(&op->node, local, to, remote, bytes);
}

static inline uint64_t
cs_rounds(size_t bytes, size_t chunk)
{
	return bytes <= chunk ? bytes != 0 : (bytes + chunk - 1) / chunk; /* a division is dear to a small call */
}

/* Bytes of round r of a block. */
static inline size_t
cs_piece(size_t bytes, size_t chunk, uint64_t round)
{
	size_t from = round * chunk;
	return from >= bytes ? 0 : bytes - from < chunk ? bytes - from : chunk;
}

/* Chunk that lets `parts` pieces share one slot of `bytes`; a multiple of 64 where that is possible. */
static inline size_t
cs_share(size_t bytes, size_t parts)
{
	size_t chunk = bytes / parts;
	return chunk >= 64 ? chunk & ~(size_t)63 : chunk;
}

/* A round's part of every block where they are not of one size: up to `most` (bytes, elements) from `at` on. */
struct cs_window {
	size_t at, most;
};

static inline size_t
cs_window_piece(size_t size, struct cs_window window)
{
	size_t rest = size > window.at ? size - window.at : 0;
	return rest < window.most ? rest : window.most;
}

/* The most of a block, from `at` on, in a round in which all pieces together have at most `room`, at least the share that is
 * each one's: blocks below theirs leave room for the others. `sizes`: by rank; NULL: all are alike. */
size_t cs_window_fair(const size_t *sizes, int ranks, size_t at, size_t room);

_Static_assert(CS_PUT_PATTERNS >= CS_COLL_COUNT, "each collective has its own way of large copies");

/* The same into the node's memory, where other ranks read it next. */
static inline void
cs_copy_in(struct cs_op *op, char *to, const char *from, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (bytes < CS_PUT_LEAST)
		cs_copy(to, from, bytes);
	else
		cs_put_large(&team->node.puts[cs_put_kind(bytes)][call->coll], to, from, bytes);
}

/* Where a block is in its owner's memory. */
struct cs_far {
	uint64_t address, bytes;
};

/* Marks of a line in word[0]. */
#define CS_MARK_STAGED 0 /* the data is in the slots */
#define CS_MARK_DIRECT 1 /* the data is in the publisher's memory: word[1] has the address, or the slot a struct cs_far for
			  * each local rank */
#define CS_MARK_INLINE 2 /* the data is in the line behind the mark, cs_line_bytes for each local rank */
#define CS_LINE_ROOM (4 * sizeof(uint64_t)) /* bytes of a line behind the mark */

/* Do so many bytes travel in the small slot? A root's calls follow each other without a wait: from these on their pieces are
 * rather cut from the ring, which is larger than a core's own cache, so that their lines are no longer in the reader's when they
 * are written again (a Xeon, bcast of 2000 B in a row: 0.39 us, of 2500 B 0.24). */
#define CS_ROOTED_SMALL 511
static inline bool
cs_is_small(struct cs_op *op, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	return bytes <= (cs_colls[call->coll].rooted && !team->node.is_crowded ? CS_ROOTED_SMALL : CS_SMALL);
}

/* Lays pieces for `parts` ranks, each a head of `head` bytes and at most `most` or a chunk, side by side: as close as they
 * fit, so that small calls share memory and many are in flight. chunk must be set. */
static inline void
cs_exchange_lay(struct cs_op *op, struct cs_exchange *exchange, size_t most, size_t head, size_t parts)
{
	size_t close = (most + head + 63) & ~(size_t)63;
	exchange->is_small = most + head <= cs_share(CS_SMALL, parts) &&
			     cs_is_small(op, (most + head) * parts);
	exchange->stride = exchange->is_small ? cs_share(CS_SMALL, parts)
			   : most < exchange->chunk && close < exchange->chunk + head ? close
										      : exchange->chunk + head;
	exchange->span = exchange->stride * parts;
}

#define CS_MOST_HEAD 8

/* The stride that a peer has published, kept inside a slot. */
static inline size_t
cs_exchange_stride(size_t chunk, const struct cs_line *line)
{
	size_t most = chunk + CS_MOST_HEAD;
	return line->word[2] < most ? line->word[2] : most;
}

/* Pieces of so many bytes that fit side by side into a slot. Small pieces leave early, and whole slots are used in turn: of
 * memory that is less than a core's own cache, each line would have to be fetched from the other's (EPYC, where the cores do
 * not share a complex: bcast of 1 MiB 28 us instead of 58). */
static inline size_t
cs_piece_room(size_t chunk)
{
	return (chunk + 63) & ~(size_t)63;
}
static inline size_t
cs_pieces(const struct cs_team *team, size_t chunk)
{
	size_t pieces = team->node.shape.slot_bytes / cs_piece_room(chunk);
	return pieces ? pieces : 1;
}

/* Round `round`'s piece, where they share slots; `line` says that it is there. */
static inline const char *
cs_exchange_piece(struct cs_op *op, int local, uint64_t round, size_t chunk, const struct cs_line *line)
{
	struct cs_team *team = op->team;
	if (!round)
		return cs_node_slot_of(&op->node, local, line->slot, 0);
	/* What is cut from a slot is a call's only round: here an offset could only come from a rank that sees another size. */
	size_t pieces = cs_pieces(team, chunk);
	uint64_t first = line->slot % CS_PIECE_UNIT;
	return cs_node_slot_of(&op->node, local, first, round / pieces) + round % pieces * cs_piece_room(chunk);
}

/* Chunk `round` of what `local` published in this call with its line, which says that it is there. */
static inline const char *
cs_exchange_peer(struct cs_op *op, int local, uint64_t round, const struct cs_line *line)
{
	return cs_node_slot_of(&op->node, local, line->slot, round);
}

#endif
