/* Broadcast by the network's multicast, made reliable by the tree (seed 000, 6.7 and [Sie06] there; seed 003, [35]).
 *
 *   p = 4, root 0, pieces a b c; rank 2 has not received b
 *
 *   cast     0 => 1 2 3   a b c, once, to all       1: abc   2: a.c   3: abc
 *   told     3 -> 2 -> 0, 1 -> 0   "I miss ...": each rank when all of its children in the binomial tree have said so
 *   repair   0 -> 2   b; then what its children miss, from 2
 *
 * A rank waits for pieces for a bounded number of polls, `patience`, then for its children's words; those go to the parent
 * with the bits of what is missing. A parent that misses something itself has it from its own parent first. So words go
 * up and repairs down, each along the tree only, and both end whatever was lost: time decides what is sent twice,
 * never what is received. When the root's children have told, no rank waits for pieces of this window any more, and the
 * next one (a window is what every rank has room for) is cast.
 *
 * All ranks have the same size, by the standard. If the program is wrong nothing hangs: words name the teller's size,
 * pieces the root's, and where a rank cannot know that (it received no piece), or would wait for windows that do not come,
 * its parent tells it how much is served.
 *
 * Price: the message once over each link, whatever p; ceil(log2 p) small messages up per window; most ranks are leaves,
 * which wait for none. Large messages, many ranks, a network without loss. Each rank must have come within the patience,
 * or what it missed goes by the tree as in binomial. */
#include "algorithms/algorithm.h"
#include "algorithms/plans.h"
#include "algorithms/op.h"
#include "base/wait.h"
#include "wire/cast.h"
#include "wire/wire.h"

#include <string.h>

#define MOST_CHILDREN 32
#define MOST_RANGES (CS_CAST_WINDOW / 2)
#define POLLS 64
/* Once the window's last piece is here, what is missing is late at most by a little: by this part of the patience. */
#define LATE 64

/* What a child tells its parent after each window. */
struct told {
	uint64_t missing; /* a bit for each piece of the window */
	uint64_t bytes;   /* of the whole message, as it expects it */
};

/* What a parent says before its first repair. */
struct verdict {
	uint64_t served; /* bytes that it has, or will have */
	uint64_t total;  /* of the root */
};

struct broadcast {
	const struct cs_host *host;
	struct cs_call *call;
	struct cs_wire *wire;
	uint64_t tag;
	struct cs_cast *cast;
	uint32_t number;
	int parent; /* -1: the root */
	int child[MOST_CHILDREN], children;
	struct told told[MOST_CHILDREN];
	struct cs_request hears[MOST_CHILDREN]; /* of that */
	struct cs_request requests[MOST_RANGES];
	uint64_t served; /* bytes that come here */
	uint64_t total;  /* the root's bytes; UINT64_MAX: not known yet */
	/* Of the window at hand: */
	uint32_t window;
	uint64_t missing;
	bool is_with_us[MOST_CHILDREN]; /* has that child this window too? */
};
_Static_assert(CS_CAST_WINDOW == 64, "a word has a bit for each piece");

static uint64_t
window_bytes(const struct broadcast *broadcast)
{
	return (uint64_t)CS_CAST_WINDOW * broadcast->cast->room;
}

/* At least one, so that a message of no bytes is agreed on too. */
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

/* Bits of the pieces that a message of so many bytes has in the window at hand. */
static uint64_t
all_pieces(const struct broadcast *broadcast, uint64_t bytes)
{
	uint64_t first = broadcast->window * window_bytes(broadcast);
	uint64_t left = bytes > first ? bytes - first : 0, room = broadcast->cast->room;
	uint64_t pieces = (left + room - 1) / room;
	return pieces >= CS_CAST_WINDOW ? UINT64_MAX : (UINT64_C(1) << pieces) - 1;
}

static bool
is_root(const struct broadcast *broadcast)
{
	return broadcast->parent < 0;
}

/* The program's ranks disagree about the size if the root has more; then this rank reports it. */
static void
learn_total(struct broadcast *broadcast, uint64_t total)
{
	broadcast->total = total;
	if (total > broadcast->call->bytes)
		broadcast->call->truncated = total;
}

static struct cs_wait
new_wait(const struct broadcast *broadcast)
{
	return (struct cs_wait){ .eager = POLLS, .polls = POLLS, .yields = CS_WAIT_AWAKE,
				 .progress = broadcast->host->progress };
}

/* --- cast --------------------------------------------------------------------------------------------------------- */

/* Takes one piece, if any is there. A second copy changes nothing. */
static bool
take(struct broadcast *broadcast, uint64_t *seen)
{
	struct cs_cast_piece piece;
	if (!broadcast->cast->take(broadcast->cast, broadcast->number, &piece))
		return false;
	if (is_root(broadcast))
		return true;
	learn_total(broadcast, piece.total);
	uint64_t bit = UINT64_C(1) << piece.piece % CS_CAST_WINDOW;
	if (piece.piece / CS_CAST_WINDOW != broadcast->window)
		return true;
	*seen |= bit;
	if (broadcast->missing & bit) {
		size_t at = (size_t)piece.piece * broadcast->cast->room;
		memcpy(broadcast->call->recv.base + at, piece.data, lesser(piece.bytes, broadcast->served - at));
		broadcast->missing &= ~bit;
	}
	return true;
}

static void
cast_window(struct broadcast *broadcast)
{
	uint64_t pieces = all_pieces(broadcast, broadcast->served), unused = 0;
	uint32_t first = broadcast->window * CS_CAST_WINDOW;
	for (uint32_t i = 0; i < CS_CAST_WINDOW && pieces >> i & 1; i++) {
		struct cs_wait wait = new_wait(broadcast);
		while (!broadcast->cast->send(broadcast->cast, broadcast->number, first + i, broadcast->call->recv.base,
					      broadcast->served))
			cs_wait_turn(&wait);
	}
	while (take(broadcast, &unused))
		; /* own pieces come back on some networks, and would fill our slots */
}

static void
listen(struct broadcast *broadcast, size_t patience)
{
	uint64_t pieces = all_pieces(broadcast, broadcast->served), seen = 0, last = pieces ^ pieces >> 1;
	struct cs_wait wait = new_wait(broadcast);
	broadcast->missing = pieces;
	while (broadcast->missing && wait.turn < (seen & last ? patience / LATE : patience)) {
		if (take(broadcast, &seen))
			cs_wait_anew(&wait);
		else
			cs_wait_turn(&wait);
	}
}

/* --- told --------------------------------------------------------------------------------------------------------- */

/* Does that child take part in the window at hand? */
static bool
is_with_us(const struct broadcast *broadcast, int child)
{
	return broadcast->window == 0 ||
	       windows(broadcast, lesser(broadcast->told[child].bytes, broadcast->served)) > broadcast->window;
}

static void
ask_children(struct broadcast *broadcast)
{
	for (int i = 0; i < broadcast->children; i++) {
		broadcast->is_with_us[i] = is_with_us(broadcast, i);
		broadcast->told[i].missing = 0;
		if (broadcast->is_with_us[i])
			broadcast->wire->recv(broadcast->wire, &broadcast->hears[i], broadcast->child[i], broadcast->tag,
					      &broadcast->told[i], sizeof broadcast->told[i]);
	}
}

static void
await_children(struct broadcast *broadcast)
{
	for (int i = 0; i < broadcast->children; i++)
		if (broadcast->is_with_us[i])
			broadcast->wire->wait(broadcast->wire, &broadcast->hears[i]);
}

static void
say(struct broadcast *broadcast, int peer, const void *words, size_t bytes)
{
	struct cs_request request;
	broadcast->wire->send(broadcast->wire, &request, peer, broadcast->tag, words, bytes);
	broadcast->wire->wait(broadcast->wire, &request);
}

/* Does a rank that has told this of the first window need its parent's verdict? */
static bool
needs_verdict(const struct broadcast *broadcast, const struct told *told)
{
	return told->missing || !told->bytes || windows(broadcast, told->bytes) > 1;
}

static void
hear_verdict(struct broadcast *broadcast)
{
	struct verdict verdict;
	struct cs_request request;
	broadcast->wire->recv(broadcast->wire, &request, broadcast->parent, broadcast->tag, &verdict, sizeof verdict);
	broadcast->wire->wait(broadcast->wire, &request);
	broadcast->served = lesser(broadcast->served, verdict.served);
	learn_total(broadcast, verdict.total);
}

/* From the parent, if this rank needs it, and to the children that do. */
static void
pass_verdict(struct broadcast *broadcast, const struct told *own)
{
	if (!is_root(broadcast) && needs_verdict(broadcast, own))
		hear_verdict(broadcast);
	struct verdict verdict = { .served = broadcast->served, .total = broadcast->total };
	for (int i = 0; i < broadcast->children; i++)
		if (needs_verdict(broadcast, &broadcast->told[i]))
			say(broadcast, broadcast->child[i], &verdict, sizeof verdict);
}

/* --- repair ------------------------------------------------------------------------------------------------------- */

/* The next run of bits from *bit on: its bytes, and where they begin; false: no more. */
static bool
next_range(const struct broadcast *broadcast, uint64_t bits, unsigned *bit, uint64_t limit, uint64_t *at, uint64_t *bytes)
{
	uint64_t room = broadcast->cast->room, end;
	while (*bit < CS_CAST_WINDOW && !(bits >> *bit & 1))
		++*bit;
	if (*bit == CS_CAST_WINDOW)
		return false;
	*at = broadcast->window * window_bytes(broadcast) + *bit * room;
	while (*bit < CS_CAST_WINDOW && bits >> *bit & 1)
		++*bit;
	end = lesser(broadcast->window * window_bytes(broadcast) + *bit * room, limit);
	*bytes = end > *at ? end - *at : 0;
	return true;
}

/* What this rank misses, from its parent, which knows the list, and as many bytes are served. */
static void
be_repaired(struct broadcast *broadcast, uint64_t missing)
{
	struct cs_wire *wire = broadcast->wire;
	uint64_t at, length;
	int count = 0;
	for (unsigned bit = 0; next_range(broadcast, missing, &bit, broadcast->served, &at, &length);)
		wire->recv(wire, &broadcast->requests[count++], broadcast->parent, broadcast->tag,
			   broadcast->call->recv.base + at, length);
	for (int i = 0; i < count; i++)
		wire->wait(wire, &broadcast->requests[i]);
}

static void
repair(struct broadcast *broadcast, int child)
{
	struct cs_wire *wire = broadcast->wire;
	const struct told *told = &broadcast->told[child];
	uint64_t at, length, limit = lesser(told->bytes, broadcast->served);
	int count = 0;
	for (unsigned bit = 0; next_range(broadcast, told->missing, &bit, limit, &at, &length);)
		wire->send(wire, &broadcast->requests[count++], broadcast->child[child], broadcast->tag,
			   broadcast->call->recv.base + at, length);
	for (int i = 0; i < count; i++)
		wire->wait(wire, &broadcast->requests[i]);
	broadcast->cast->resent(broadcast->cast, (uint32_t)__builtin_popcountll(told->missing));
}

/* --- all ---------------------------------------------------------------------------------------------------------- */

static void
describe(struct broadcast *broadcast, int root)
{
	int p = broadcast->wire->ranks, rank = broadcast->wire->rank, relative = (rank - root + p) % p, mask = 1;
	while (mask < p && !(relative & mask))
		mask *= 2;
	broadcast->parent = relative ? (rank - mask + p) % p : -1;
	for (mask /= 2; mask; mask /= 2)
		if (relative + mask < p)
			broadcast->child[broadcast->children++] = (rank + mask) % p;
}

static void
run_window(struct broadcast *broadcast, size_t patience)
{
	uint64_t unused = 0;
	ask_children(broadcast);
	if (is_root(broadcast))
		cast_window(broadcast);
	else
		listen(broadcast, patience);
	await_children(broadcast);
	while (broadcast->missing && take(broadcast, &unused))
		; /* what came meanwhile */
	struct told own = { .missing = broadcast->missing, .bytes = broadcast->call->bytes };
	if (!is_root(broadcast))
		say(broadcast, broadcast->parent, &own, sizeof own);
	if (broadcast->window == 0)
		pass_verdict(broadcast, &own);
	if (own.missing)
		be_repaired(broadcast, own.missing);
	for (int i = 0; i < broadcast->children; i++)
		if (broadcast->told[i].missing)
			repair(broadcast, i);
}

/* Without multicast, on all ranks alike. */
static void
run_plan(struct cs_op *op)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_problem problem = { .coll = CS_BCAST, .ranks = team->shape.ranks, .rank = team->shape.rank, .root = call->root,
				      .unit = 1, .bytes = call->bytes, .is_commutative = true, .node_of = team->shape.node_of };
	cs_op_note(op, cs_plans_run(op, &team->flat_plans, team->everyone, cs_algorithm_by_name(CS_BCAST, "binomial"), &problem,
				    call->recv.base, call->recv.base, NULL));
}

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	struct cs_wire *wire = team->host->wire(team->everyone);
	struct cs_cast *cast = wire->cast ? wire->cast(wire, op->tag) : NULL;
	if (!cast) {
		run_plan(op);
		return;
	}
	struct broadcast broadcast = { .host = team->host, .call = call, .wire = wire, .tag = op->tag, .cast = cast,
				       .number = ++cast->broadcasts, .served = call->bytes, .total = UINT64_MAX };
	describe(&broadcast, call->root);
	if (is_root(&broadcast))
		broadcast.total = call->bytes;
	for (; broadcast.window < windows(&broadcast, broadcast.served); broadcast.window++)
		run_window(&broadcast, params[0]);
}

const struct cs_algorithm cs_algorithm_bcast_multicast = {
	.colls = CS_SET(CS_BCAST),
	.name = "multicast",
	.summary = "multicast of unreliable datagrams, what is lost from the parent in a binomial tree",
	.needs = { .verbs = true },
	.params = { { "patience", "polls without a piece before it is asked for", 10000, 0, 1000000000 } },
	.run = run,
};
