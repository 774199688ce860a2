/* Broadcast by the network's multicast, made reliable by the tree (seed 000, 6.7 and [Sie06] there;
 * seed 003, [35]).
 *
 *   p = 4, root 0, pieces a b c; rank 2 has not received b
 *
 *   multicast     0 => 1 2 3   a b c, once, to all       1: abc   2: a.c   3: abc
 *   told     3 -> 2 -> 0, 1 -> 0   "I miss ...": a rank when its children in the tree have said so
 *   repair   0 -> 2   b; then what its children miss, from 2
 *
 * A rank waits for pieces for a bounded number of polls, `patience`, then for its children's words;
 * its own word to the parent has the bits of missing pieces. A parent that misses pieces itself
 * gets them from its own parent first. So words go up and repairs down the tree, and both end
 * whatever was lost: time decides which pieces are sent twice, never which are received. When the
 * root's children have sent their words, no rank waits for pieces of this window any more, and the
 * next one (pieces for which every rank has room) is multicast.
 *
 * All ranks have the same size, by the standard. If the program is wrong nothing hangs: words have
 * the child's size, pieces the root's, and if a rank does not know the root's (it received no
 * piece), or would wait for windows that do not come, its parent sends it the bytes that are
 * served.
 *
 * Cost: the message once over each link, whatever p; ceil(log2 p) small messages up per window;
 * most ranks are leaves, which wait for none. Large messages, many ranks, a network without loss.
 * Each rank must have come within the patience, or the pieces that it missed go by the tree as in
 * binomial. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/between.h"
#include "algorithms/hier/message.h"
#include "algorithms/plan_cache.h"
#include "wire/multicast.h"

#include <string.h>

#define MOST_CHILDREN 32
#define MOST_RANGES (CS_MULTICAST_WINDOW / 2)
/* Divisor of the patience once the window's last piece is here: missing pieces are late by little,
 * if at all. */
#define LATE 64

/* Word of a child to its parent after each window. */
struct told {
	uint64_t missing; /* a bit for each piece of the window */
	uint64_t bytes;   /* of the whole message by the child's call */
};

/* Word of a parent before its first repair. */
struct verdict {
	uint64_t served; /* bytes that the parent has, or will have */
	uint64_t total;  /* of the root */
};

/* In the operation's memory. */
struct broadcast {
	const struct cs_call *call;
	struct cs_outcome *outcome;
	struct cs_wire *wire;
	struct cs_multicast *multicast;
	uint64_t tag;
	size_t patience;
	uint32_t number;
	int parent; /* -1: the root */
	int child[MOST_CHILDREN], children;
	uint64_t served; /* bytes that come here */
	uint64_t total;  /* the root's bytes; UINT64_MAX: not known yet */
	/* The window at hand: */
	uint32_t window, sent; /* its number; pieces of it that the root has multicast */
	uint64_t missing, seen;
	size_t idle; /* looks in a row that found no piece */
	bool is_with_us[MOST_CHILDREN]; /* has that child this window too? */
	int repaired; /* children that have all they missed */
	struct told own, told[MOST_CHILDREN];
	struct verdict verdict;
	/* Words of children; other messages that have been begun. */
	int heard, begun, waited;
	struct cs_request hears[MOST_CHILDREN], requests[MOST_CHILDREN];
};
_Static_assert(MOST_CHILDREN >= MOST_RANGES, "requests for all ranges of a window");
_Static_assert(CS_MULTICAST_WINDOW == 64, "a word has a bit for each piece");

static uint64_t
window_bytes(const struct broadcast *broadcast)
{
	return (uint64_t)CS_MULTICAST_WINDOW * broadcast->multicast->room;
}

/* Number of windows: at least one, so that a message of no bytes is agreed on too. */
static uint64_t
windows(const struct broadcast *broadcast, uint64_t bytes)
{
	return bytes ? (bytes - 1) / window_bytes(broadcast) + 1 : 1;
}

static inline uint64_t
lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static struct broadcast *
broadcast_of(struct cs_op *op)
{
	return *CS_OP_STATE(struct broadcast *, op);
}

/* Bits of the pieces that a message of so many bytes has in the window at hand. */
static uint64_t
all_pieces(const struct broadcast *broadcast, uint64_t bytes)
{
	uint64_t first = broadcast->window * window_bytes(broadcast);
	uint64_t left = bytes > first ? bytes - first : 0, room = broadcast->multicast->room;
	uint64_t pieces = (left + room - 1) / room;
	return pieces >= CS_MULTICAST_WINDOW ? UINT64_MAX : (UINT64_C(1) << pieces) - 1;
}

static bool
is_root(const struct broadcast *broadcast)
{
	return broadcast->parent < 0;
}

/* Note the root's size, and truncation if it is more than this rank's. */
static void
learn_total(struct broadcast *broadcast, uint64_t total)
{
	broadcast->total = total;
	if (total > broadcast->call->bytes)
		broadcast->outcome->bits |= CS_OUTCOME_TRUNCATED;
}

static struct cs_request *
next_request(struct broadcast *broadcast)
{
	return &broadcast->requests[broadcast->begun++];
}

/* Phase: wait for the messages that were begun, but for children's words. */
static enum cs_status
be_done(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	if (cs_messages_are_over(op, broadcast->wire, broadcast->requests, broadcast->begun,
				 &broadcast->waited) == CS_AGAIN)
		return CS_AGAIN;
	broadcast->begun = broadcast->waited = 0;
	return CS_OK;
}

/* Poll again: nothing announces a piece, or room for one. */
static enum cs_status
look_again(struct cs_op *op)
{
	op->node.awaited.local = CS_AWAITS_PIECE;
	return CS_AGAIN;
}

/* --- multicast -------------------------------------------------------------------------------- */

/* Take one piece, if any is there. A second copy changes nothing. */
static bool
take(struct broadcast *broadcast)
{
	struct cs_multicast_piece piece;
	if (!broadcast->multicast->take(broadcast->multicast, broadcast->number, &piece))
		return false;
	if (is_root(broadcast))
		return true;
	learn_total(broadcast, piece.total);
	uint64_t bit = UINT64_C(1) << piece.piece % CS_MULTICAST_WINDOW;
	if (piece.piece / CS_MULTICAST_WINDOW != broadcast->window)
		return true;
	broadcast->seen |= bit;
	if (broadcast->missing & bit) {
		size_t at = (size_t)piece.piece * broadcast->multicast->room;
		memcpy(broadcast->call->recv.base + at, piece.data,
		       lesser(piece.bytes, broadcast->served - at));
		broadcast->missing &= ~bit;
	}
	return true;
}

/* Phase: keep multicasts in their order on all ranks, so that none drops pieces of one under
 * way. */
static enum cs_status
begin(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	if (broadcast->multicast->over + 1 == broadcast->number)
		return CS_OK;
	op->node.awaited.local = CS_AWAITS_MESSAGE;
	return CS_AGAIN;
}

static enum cs_status
multicast(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	uint64_t pieces = is_root(broadcast) ? all_pieces(broadcast, broadcast->served) : 0;
	uint32_t first = broadcast->window * CS_MULTICAST_WINDOW;
	for (; broadcast->sent < CS_MULTICAST_WINDOW && pieces >> broadcast->sent & 1;
	     broadcast->sent++)
		if (!broadcast->multicast->send(broadcast->multicast, broadcast->number,
						first + broadcast->sent, broadcast->call->recv.base,
						broadcast->served))
			return look_again(op);
	while (is_root(broadcast) && take(broadcast))
		; /* own pieces come back on some networks, and would fill our slots */
	return CS_OK;
}

static enum cs_status
listen(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	uint64_t pieces = all_pieces(broadcast, broadcast->served), last = pieces ^ pieces >> 1;
	while (broadcast->missing && take(broadcast))
		broadcast->idle = 0;
	size_t patience = broadcast->seen & last ? broadcast->patience / LATE : broadcast->patience;
	return broadcast->missing && broadcast->idle++ < patience ? look_again(op) : CS_OK;
}

/* --- words and verdicts ----------------------------------------------------------------------- */

/* Does that child take part in the window at hand? */
static bool
is_with_us(const struct broadcast *broadcast, int child)
{
	return broadcast->window == 0 ||
	       windows(broadcast, lesser(broadcast->told[child].bytes, broadcast->served)) >
	       broadcast->window;
}

/* Open a window, and receive the children's words on it. */
static enum cs_status
ask_children(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	broadcast->missing = is_root(broadcast) ? 0 : all_pieces(broadcast, broadcast->served);
	broadcast->seen = broadcast->idle = broadcast->sent = 0;
	broadcast->heard = broadcast->repaired = 0;
	for (int i = 0; i < broadcast->children; i++) {
		broadcast->is_with_us[i] = is_with_us(broadcast, i);
		broadcast->told[i].missing = 0;
		if (broadcast->is_with_us[i])
			broadcast->wire->recv(broadcast->wire, &broadcast->hears[i],
					      broadcast->child[i], broadcast->tag,
					      &broadcast->told[i], sizeof broadcast->told[i]);
	}
	return CS_OK;
}

static enum cs_status
hear_children(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	for (; broadcast->heard < broadcast->children; broadcast->heard++)
		if (broadcast->is_with_us[broadcast->heard] &&
		    !cs_message_is_over(op, broadcast->wire, &broadcast->hears[broadcast->heard]))
			return CS_AGAIN;
	return CS_OK;
}

static void
say(struct broadcast *broadcast, int peer, const void *words, size_t bytes)
{
	broadcast->wire->send(broadcast->wire, next_request(broadcast), peer, broadcast->tag, words,
			      bytes);
}

static enum cs_status
tell_parent(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	while (broadcast->missing && take(broadcast))
		; /* pieces that came meanwhile */
	broadcast->own = (struct told){ .missing = broadcast->missing,
					.bytes = broadcast->call->bytes };
	if (!is_root(broadcast))
		say(broadcast, broadcast->parent, &broadcast->own, sizeof broadcast->own);
	return CS_OK;
}

/* Does a rank with this word on the first window need its parent's verdict? */
static bool
needs_verdict(const struct broadcast *broadcast, const struct told *told)
{
	return told->missing || !told->bytes || windows(broadcast, told->bytes) > 1;
}

/* Does this rank get the parent's verdict, in the first window? */
static bool
hears_verdict(const struct broadcast *broadcast)
{
	return broadcast->window == 0 && !is_root(broadcast) &&
	       needs_verdict(broadcast, &broadcast->own);
}

static enum cs_status
hear_verdict(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	if (hears_verdict(broadcast))
		broadcast->wire->recv(broadcast->wire, next_request(broadcast), broadcast->parent,
				      broadcast->tag, &broadcast->verdict,
				      sizeof broadcast->verdict);
	return CS_OK;
}

/* Send the verdict to the children that need it. */
static enum cs_status
pass_verdict(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	if (hears_verdict(broadcast)) {
		broadcast->served = lesser(broadcast->served, broadcast->verdict.served);
		learn_total(broadcast, broadcast->verdict.total);
	}
	broadcast->verdict = (struct verdict){ .served = broadcast->served,
					       .total = broadcast->total };
	for (int i = 0; broadcast->window == 0 && i < broadcast->children; i++)
		if (needs_verdict(broadcast, &broadcast->told[i]))
			say(broadcast, broadcast->child[i], &broadcast->verdict,
			    sizeof broadcast->verdict);
	return CS_OK;
}

/* --- repair ----------------------------------------------------------------------------------- */

/* The next run of bits from *bit on: its bytes, and where they begin; false: no more. */
static bool
next_range(const struct broadcast *broadcast, uint64_t bits, unsigned *bit, uint64_t limit,
	   uint64_t *at, uint64_t *bytes)
{
	uint64_t room = broadcast->multicast->room, end;
	while (*bit < CS_MULTICAST_WINDOW && !(bits >> *bit & 1))
		++*bit;
	if (*bit == CS_MULTICAST_WINDOW)
		return false;
	*at = broadcast->window * window_bytes(broadcast) + *bit * room;
	while (*bit < CS_MULTICAST_WINDOW && bits >> *bit & 1)
		++*bit;
	end = lesser(broadcast->window * window_bytes(broadcast) + *bit * room, limit);
	*bytes = end > *at ? end - *at : 0;
	return true;
}

/* Receive the missing pieces from the parent, which has the list, as far as bytes are served. */
static enum cs_status
be_repaired(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	struct cs_wire *wire = broadcast->wire;
	uint64_t at, length;
	for (unsigned bit = 0;
	     next_range(broadcast, broadcast->own.missing, &bit, broadcast->served, &at, &length);)
		wire->recv(wire, next_request(broadcast), broadcast->parent, broadcast->tag,
			   broadcast->call->recv.base + at, length);
	return CS_OK;
}

static void
begin_repair(struct broadcast *broadcast, int child)
{
	struct cs_wire *wire = broadcast->wire;
	const struct told *told = &broadcast->told[child];
	uint64_t at, length, limit = lesser(told->bytes, broadcast->served);
	for (unsigned bit = 0; next_range(broadcast, told->missing, &bit, limit, &at, &length);)
		wire->send(wire, next_request(broadcast), broadcast->child[child], broadcast->tag,
			   broadcast->call->recv.base + at, length);
	broadcast->multicast->resent(broadcast->multicast,
				     (uint32_t)__builtin_popcountll(told->missing));
}

static enum cs_status
repair(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	for (; broadcast->repaired < broadcast->children; broadcast->repaired++) {
		if (!broadcast->begun)
			begin_repair(broadcast, broadcast->repaired);
		if (be_done(op) == CS_AGAIN)
			return CS_AGAIN;
	}
	return CS_OK;
}

/* --- script ----------------------------------------------------------------------------------- */

static enum cs_status next_window(struct cs_op *op);
static cs_phase *const script[] = { begin, ask_children, multicast, listen, hear_children,
				    tell_parent, be_done, hear_verdict, be_done, pass_verdict,
				    be_done, be_repaired, be_done, repair, next_window, NULL };
#define SCRIPT_WINDOW 1 /* its first phase of a window */

/* End on the node, where no rank has anything to read. */
static enum cs_status
end(struct cs_op *op)
{
	if (op->team->node.self) /* virtual ranks have none, if each node has one */
		cs_node_end(&op->node);
	return CS_OK;
}

static enum cs_status
next_window(struct cs_op *op)
{
	struct broadcast *broadcast = broadcast_of(op);
	if (++broadcast->window < windows(broadcast, broadcast->served)) {
		op->phase = script + SCRIPT_WINDOW;
		return CS_OK;
	}
	broadcast->multicast->over++;
	return end(op);
}

static void
describe(struct broadcast *broadcast, int root)
{
	int p = broadcast->wire->ranks, rank = broadcast->wire->rank,
	    relative = (rank - root + p) % p, mask = 1;
	while (mask < p && !(relative & mask))
		mask *= 2;
	broadcast->parent = relative ? (rank - mask + p) % p : -1;
	for (mask /= 2; mask; mask /= 2)
		if (relative + mask < p)
			broadcast->child[broadcast->children++] = (rank + mask) % p;
}

/* Run the binomial plan if there is no multicast, on all ranks alike. */
static enum cs_status
begin_plan(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_algorithm *plan = cs_algorithm_by_name(CS_BCAST, "binomial");
	struct cs_problem problem = { .coll = CS_BCAST, .ranks = team->shape.ranks,
				      .rank = team->shape.rank, .root = call->root, .unit = 1,
				      .bytes = call->bytes, .is_commutative = true,
				      .node_of = team->shape.node_of };
	op->under_way = CS_UNDER_WAY_NOTHING;
	if (!cs_plans_start(op, &team->flat_plans, team->everyone, plan, &problem, call->recv.base,
			    call->recv.base, NULL))
		op->node.outcome.bits |= CS_OUTCOME_LEFT;
	return cs_plans_have_begun(op);
}

/* Parameters. */
enum { PATIENCE };

static cs_phase *const script_of_plan[] = { begin_plan, cs_between_go, end, NULL };

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_wire *wire = team->host->wire(team->everyone);
	struct cs_multicast *multicast = wire->multicast ? wire->multicast(wire, op->tag) : NULL;
	if (!multicast) {
		cs_op_start(op, script_of_plan);
		return;
	}
	struct broadcast *broadcast = cs_op_memory(op, CS_OP_SCRATCH, sizeof *broadcast);
	memset(broadcast, 0, offsetof(struct broadcast, hears));
	*CS_OP_STATE(struct broadcast *, op) = broadcast;
	broadcast->call = call;
	broadcast->outcome = &op->node.outcome;
	broadcast->wire = wire;
	broadcast->tag = op->tag;
	broadcast->multicast = multicast;
	broadcast->patience = params[PATIENCE];
	broadcast->number = ++multicast->broadcasts;
	broadcast->served = call->bytes;
	broadcast->total = UINT64_MAX;
	describe(broadcast, call->root);
	if (is_root(broadcast))
		broadcast->total = call->bytes;
	cs_op_start(op, script);
}

const struct cs_algorithm cs_algorithm_bcast_multicast = {
	.colls = CS_SET(CS_BCAST),
	.name = "multicast",
	.summary = "multicast of unreliable datagrams, what is lost from the parent in a binomial "
		   "tree",
	.needs = { .verbs = true },
	.params = { [PATIENCE] = { "patience",
			    "polls without a piece before it is asked for",
			    10000, 0, 1000000000 } },
	.run = run,
};
