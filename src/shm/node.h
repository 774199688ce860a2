/* shm/node.h — how the processes of one node talk: lines, rings and an area in one segment.
 *
 *   per local rank                                              | shared by the node
 *   | done | lines: one per call, 64 calls in turn | ring: S slots |  area: A slots, 64 small slots
 *     writer: that rank only                                       writer: as the algorithm says
 *
 * Every call of the team has a number, the same on all ranks, since all of them make the same calls
 * in the same order (MPI 4.0, 6.14). A process publishes in a call by writing its line: `seq` last,
 * = call << 22 | step. It is done with what others published in steps up to k of that call when its
 * `done` word says call << 22 | k, with the whole call when `done` is one below (call + 1) << 22,
 * and has left it when it is that. A line or slot is written again only when all local ranks are
 * done with what it held; so nobody waits for a slow reader until 64 calls or S slots later.
 *
 * A line also says which call it is of (coll/call.h: cs_call_signature). Ranks that make different
 * calls are the program's error; who meets a line of another call, or waits for one of a rank that
 * has left the call, waits for nothing more in it, takes lines without data for the rest, and says
 * so in op->outcome. On several nodes the job ends instead: all take slots of the area alike, or
 * not at all.
 *
 * Small messages travel in the line itself (one transfer of a cache line carries flag and data).
 * What is read from shared memory is checked before it is used as a size or an index. */
#ifndef CS_SHM_NODE_H
#define CS_SHM_NODE_H

#include "base/wait.h"
#include "coll/call.h"
#include "shm/copy.h"
#include "shm/copy_choice.h"
#include "shm/node_memory.h"
#include "shm/segment.h"
#include "wire/host.h"

#include <stdbool.h>

/* Outcome of an operation; all zero: success. */
struct cs_outcome {
	unsigned bits;
	size_t truncated;    /* bytes of a peer's block that is longer than its room; 0: none is */
	const char *refused; /* with CS_OUTCOME_REFUSED or CS_OUTCOME_LEFT: why, or NULL */
};
enum {
	CS_OUTCOME_MORE = CS_TOLD_MORE, /* a message between nodes was longer than its room */
	CS_OUTCOME_LESS = CS_TOLD_LESS, /* a broadcast was shorter than expected; it goes on */
	CS_OUTCOME_MISMATCH = 4, /* other ranks make another call, or a shorter reduction */
	CS_OUTCOME_LONGER = 8,   /* other ranks have more elements of a reduction */
	CS_OUTCOME_STOPPED = 12, /* either: nothing more is waited for */
	CS_OUTCOME_REFUSED = 16, /* a plan was refused, and the host served between the nodes */
	CS_OUTCOME_LEFT = 32,    /* the host is to make the whole call */
	CS_OUTCOME_ERROR = 64    /* the call returns an error, which comm/ knows */
};

/* The two kinds of area slots, each taken in turn. */
enum cs_area_kind { CS_AREA_LARGE_SLOTS, CS_AREA_SMALL_SLOTS };

struct cs_node_shape {
	int local, size; /* own local rank; local ranks */
	size_t slots, slot_bytes;
	size_t area_slots, area_bytes; /* 0 for a team on one node */
	size_t spin, yields;
	enum cs_switch streams; /* large copies past the cache: shm/copy.h */
};

/* Slots that are used in turn. */
struct cs_slots {
	uint64_t count, next; /* how many there are; how many have been taken */
	uint64_t until[CS_MAX_SLOTS]; /* the done value that frees the slot for other operations */
	uint64_t step[CS_MAX_SLOTS];  /* the one that frees it for the operation that has reserved
				       * it */
};

/* What an operation has reserved of them, at its start and in the order of numbers: so the oldest
 * one has all that it needs, and none waits for what a younger one holds. It uses them in turn. */
struct cs_slot_range {
	uint64_t first; /* slot */
	uint64_t count; /* slots; 0: none are reserved */
	uint64_t uses;  /* that there will be, or CS_USES_UNKNOWN */
	uint64_t next;  /* uses so far */
	uint64_t done;  /* uses that this rank is done with: of an area */
	uint64_t after; /* the done value from which on any of them may be written; 0: each has its
			 * own */
};
#define CS_USES_UNKNOWN UINT64_MAX

struct cs_node_op;

struct cs_node {
	struct cs_node_shape shape;
	struct cs_segment segment;
	const struct cs_host *host;
	struct cs_node_head *head;
	char *ranks;       /* rank heads and rings, rank_stride apart */
	size_t rank_stride, slot_stride;
	struct cs_rank_head *self;
	void *table; /* CS_NODE_TABLE bytes, behind the areas, that local rank 0 fills before all
		      * meet; NULL: one node */
	bool is_oversubscribed; /* more local ranks than cores they may use */
	bool is_readable; /* single copies work between all local ranks, as they have agreed */
	uint64_t key; /* of its processes and shape, for shm/pool.h; 0: not known */
	int64_t only_cpu; /* the one this process may use; -1: it has several */
	int same_core[CS_MAX_SAME_CORE], same_core_count; /* local ranks that may use that one only,
							   * too, as far as there is room for
							   * them */

	/* Private to this process. */
	/* With CS_NODE_WATCHED: is told what an operation publishes (`local` is the own one), and
	 * what it has found published. */
	void (*told)(struct cs_node_op *op, int local, uint64_t step);
	const int *rank_of; /* local rank -> the communicator's; NULL: the same number */
	int all_ranks, nodes; /* of the communicator */
	uint64_t calls;            /* number of the call that was begun last */
	struct cs_sample {
		uint64_t at; /* number of the call that tells next; UINT64_MAX: none */
		void (*tell)(void *user, struct cs_node_op *op);
		void *user;
		uint64_t waited_ns; /* for others, beyond polls */
	} sample;
	struct cs_node_op *offering; /* operations under way that let others read memory of ours */
	uint64_t done_floor;       /* all local ranks' done words are at least this */
	struct cs_slots ring;      /* this rank's, since it last began at the ring's front */
	size_t slot_populated[CS_MAX_SLOTS]; /* bytes at its front that have been mapped */
	/* How large copies into the segment are made, by enum cs_coll */
	struct cs_copy_policy copies_in[CS_COPY_RESULTS][CS_COPY_PATTERNS];
	/* And those into the program's memory, by cs_copy_choice_size */
	struct cs_copy_policy results[CS_COPY_PATTERNS][CS_COPY_CHOICE_SIZES];
	/* How others come by large blocks of ours */
	struct cs_copy_choice choice[CS_COPY_PATTERNS][CS_COPY_CHOICE_SIZES];
	struct cs_readable readable; /* blocks that were read by single copy */
	uint64_t backoff_until,
		backoff_for; /* once asked for help, we offer nothing before that call; that
				      * was for so many calls */
	unsigned short_gets; /* since the last one that was measured */
	unsigned small_mapped;     /* bits of CS_SMALL_MAPPED own small slots, then of tiny ones */
	uint64_t shared_slot;      /* slot that single pieces are cut from; CS_SLOT_SMALL: none */
	size_t shared_used;        /* bytes of it that are taken */
	uint64_t shared_after;     /* the done value from which on it may be written */
	struct cs_area {
		char *base;
		size_t stride;
		uint64_t floor; /* all local ranks' area_done are at least this */
		struct cs_slots slots; /* the same on all local ranks */
		size_t populated[CS_MAX_SLOTS]; /* bytes at its front, mapped here */
	} areas[2]; /* by enum cs_area_kind */
	char *arrivals; /* words of who comes when (shm/arrive.h), in the segment */
	/* Operations that go on with scripts: they have the numbers from `oldest` to `calls`. The
	 * done words tell of the oldest one; what the others have done is said when their turn has
	 * come, and so are some of them over already. */
	unsigned under_way;
	uint64_t oldest;
	struct cs_later {
		uint64_t done, area_done[2]; /* to be said; 0: nothing */
		bool is_over;
	} later[CS_LINES]; /* by number */
};

/* The part of an operation that is on the node, from its begin to its end. Several may be under way
 * on one node. */
struct cs_node_op {
	struct cs_node *node;
	uint64_t number;     /* of the call, from cs_node_begin on */
	uint64_t signature;       /* of the call; of a reduction with its bytes */
	struct cs_outcome outcome;
	unsigned extras;     /* what there is to be done when it ends: CS_NODE_ bits, and those
			      * above */
	/* What it could not go on without (cs_node_look and the like): step `tag` of the line of a
	 * local rank; or that all are done with `tag`, where the rank is CS_AWAITS_ALL; or with so
	 * many slots of an area (CS_AWAITS_AREA); or something that does not come through the
	 * node's memory (CS_AWAITS_MESSAGE), or may never come, and is looked for so many times
	 * (CS_AWAITS_PIECE); or that a flag is `tag` or more (CS_AWAITS_FLAG). */
	struct cs_awaited {
		int local;
		int of; /* enum cs_area_kind; the local rank that raises the flag */
		uint64_t tag;
		_Atomic uint64_t *flag;
	} awaited;
	struct cs_slot_range ring, area[2]; /* by enum cs_area_kind */
	/* With CS_NODE_OFFERS: others may ask for what lies in [from, to). */
	struct cs_offer {
		uintptr_t from, to;
	} offer;
	struct cs_node_op *next_offering;
	/* With CS_NODE_TIMED. */
	struct cs_timed {
		_Atomic uint32_t *ps_per_byte;
		size_t bytes;
		uint64_t start;
	} timed;
};
enum { CS_AWAITS_ALL = -1, CS_AWAITS_AREA = -2, CS_AWAITS_MESSAGE = -3, CS_AWAITS_FLAG = -4,
       CS_AWAITS_PIECE = -5 };
enum { CS_NODE_OFFERS = 1, CS_NODE_TIMED = 2, CS_NODE_EXTRAS = 3 };
/* Besides: it is a virtual rank's, whose steps are counted and which moves no bytes
 * (algorithms/counted.h). */
enum { CS_NODE_WATCHED = CS_NODE_EXTRAS + 1 };
static inline bool
cs_node_is_watched(const struct cs_node_op *op)
{
	return __builtin_expect(op->extras & CS_NODE_WATCHED, 0);
}

static inline void
cs_node_op_init(struct cs_node_op *op, struct cs_node *node, uint64_t signature)
{
	op->node = node;
	op->signature = signature;
	op->outcome = (struct cs_outcome){ 0 };
	op->extras = 0;
}

/* Ends it: says what a timed call took, and takes back what it has offered to others, who are done
 * with it. */
void cs_node_op_fini_slow(struct cs_node_op *op);
static inline void
cs_node_op_fini(struct cs_node_op *op)
{
	if (__builtin_expect(op->extras & CS_NODE_EXTRAS, 0))
		cs_node_op_fini_slow(op);
}

/* Bytes of a segment for this shape (header included), and of one rank's own share [from, from +
 * bytes), of which the first `least` are used by any call. What belongs to no rank, the area and
 * the words of who comes when, is local rank 0's share too. */
size_t cs_node_bytes(const struct cs_node_shape *shape);
void cs_node_share(const struct cs_node_shape *shape, int local, size_t *from, size_t *bytes,
		   size_t *least);
void cs_node_common_share(const struct cs_node_shape *shape, size_t *from, size_t *bytes);

/* Takes an attached and committed segment over. cs_node_init_own writes what others read before the
 * first call; all local ranks must have armed (a host barrier) before cs_node_init_others, which
 * learns whether the node is oversubscribed. */
void cs_node_init(struct cs_node *node, const struct cs_node_shape *shape,
		  struct cs_segment *segment, const struct cs_host *host);
void cs_node_init_own(struct cs_node *node);
void cs_node_init_others(struct cs_node *node);

/* Waiting: polls, then yields, then sleeps; the host MPI is progressed meanwhile. */
void cs_node_wait_slow(struct cs_node_op *op, int local, _Atomic uint64_t *word, uint64_t target);
/* `local`: whose word it is. */
static inline void
cs_node_wait(struct cs_node_op *op, int local, _Atomic uint64_t *word, uint64_t target)
{
	if (__builtin_expect(atomic_load_explicit(word, memory_order_acquire) < target, 0))
		cs_node_wait_slow(op, local, word, target);
}

static inline void
cs_node_store(struct cs_node *node, _Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
	/* A sleeper missed here wakes by its own time-out (a millisecond); no fence for that. */
	if (__builtin_expect(atomic_load_explicit(&node->head->sleepers, memory_order_relaxed), 0))
		cs_wait_wake(word);
}

static inline struct cs_rank_head *
cs_node_rank(struct cs_node *node, int local)
{
	return (struct cs_rank_head *)(node->ranks + (size_t)local * node->rank_stride);
}

/* An operation and its node, for the instructions of a small call: whoever holds a team knows where
 * its node is without a load. */
struct cs_node_at {
	struct cs_node_op *op;
	struct cs_node *node;
};
static inline struct cs_node_at
cs_node_at(struct cs_node_op *op)
{
	return (struct cs_node_at){ op, op->node };
}
static inline uint64_t
cs_at_tag(struct cs_node_at at, uint64_t step)
{
	return at.op->number << CS_STEP_BITS | step;
}
static inline uint64_t
cs_node_tag(const struct cs_node_op *op, uint64_t step)
{
	return op->number << CS_STEP_BITS | step;
}

/* Waits until all local ranks' done words are at least `tag`. */
void cs_node_all_done_slow(struct cs_node_op *op, uint64_t tag);
/* The same without waiting: are they? */
bool cs_node_is_done(struct cs_node_op *op, uint64_t tag);

/* --- a call ----------------------------------------------------------------------------------- */

/* Tells whoever takes samples that the call has begun. */
void cs_node_sample(struct cs_node_op *op);

static inline void
cs_at_begin(struct cs_node_at at)
{
	at.op->number = ++at.node->calls;
	if (__builtin_expect(at.op->number == at.node->sample.at, 0))
		cs_node_sample(at.op);
}
static inline void
cs_node_begin(struct cs_node_op *op)
{
	cs_at_begin(cs_node_at(op));
	op->ring.count = op->area[0].count = op->area[1].count = 0;
	op->area[0].next = op->area[1].next = op->area[0].done = op->area[1].done = 0;
}

/* May an operation begin that goes on? Those that are over count as long as an older one is not:
 * each of them has its line, and its place in `later`. */
static inline bool
cs_node_may_begin(const struct cs_node *node)
{
	return node->under_way < CS_LINES - 1;
}

/* The operation goes on when the function that has begun it returns: others may begin before it is
 * over, as long as cs_node_may_begin says so. Then it is over. */
void cs_node_go_on_slow(struct cs_node_op *op);
static inline void
cs_node_go_on(struct cs_node_op *op)
{
	if (__builtin_expect(op->node->under_way != 0, 0))
		cs_node_go_on_slow(op);
	else
		op->node->oldest = op->number;
	op->node->under_way++;
}
void cs_node_over_slow(struct cs_node_op *op);
static inline void
cs_node_over(struct cs_node_op *op)
{
	if (__builtin_expect(op->node->under_way != 1, 0))
		cs_node_over_slow(op);
	else
		op->node->under_way = 0;
}

/* Says that this operation's done word is `value`, as soon as it is the oldest one. */
void cs_node_say_later(struct cs_node_op *op, uint64_t value);
static inline void
cs_node_say_done(struct cs_node_op *op, uint64_t value)
{
	struct cs_node *node = op->node;
	if (__builtin_expect(node->under_way > 1 && op->number != node->oldest, 0))
		cs_node_say_later(op, value);
	else
		cs_node_store(node, &node->self->done, value);
}

/* The done word of who reads nothing more in a call, less than of who has left it. */
static inline uint64_t
cs_node_has_read(uint64_t call)
{
	return (call << CS_STEP_BITS) + (((uint64_t)1 << CS_STEP_BITS) - 1);
}

/* Nothing more is read in this call; lines of it are still to be published. */
static inline void
cs_at_end_reading(struct cs_node_at at)
{
	cs_node_store(at.node, &at.node->self->done, cs_node_has_read(at.op->number));
}
static inline void
cs_node_end_reading(struct cs_node_op *op)
{
	cs_node_say_done(op, cs_node_has_read(op->number));
}

/* The area slots that were reserved are not used any more. */
void cs_node_area_end(struct cs_node_op *op);

/* Nor is anything published. */
static inline void
cs_at_end(struct cs_node_at at)
{
	cs_node_store(at.node, &at.node->self->done, (at.op->number + 1) << CS_STEP_BITS);
}
static inline void
cs_node_end(struct cs_node_op *op)
{
	if (op->area[0].count | op->area[1].count)
		cs_node_area_end(op);
	cs_node_say_done(op, (op->number + 1) << CS_STEP_BITS);
}

/* Asked where a round moves little of a block, before the first of so many, with `each` steps in
 * it: ends the job if the steps would run into the next call's numbers. (128 ranks on a node, a
 * scatterv: one block of 2.1 GB.) */
_Noreturn void cs_node_too_many(struct cs_node_op *op, uint64_t rounds);
static inline void
cs_node_expect(struct cs_node_op *op, uint64_t rounds, uint64_t each)
{
	if (__builtin_expect(rounds > CS_MOST_STEPS / each, 0))
		cs_node_too_many(op, rounds);
}

/* Done with everything that was published in steps up to `step` of this call. */
static inline void
cs_node_done(struct cs_node_op *op, uint64_t step)
{
	cs_node_say_done(op, cs_node_tag(op, step));
}

/* Own line of this call, free to be filled (all are done with the call that used it 64 calls
 * ago). */
static inline struct cs_line *
cs_at_line(struct cs_node_at at)
{
	uint64_t tag = ((at.op->number - CS_LINES + 1) << CS_STEP_BITS) - 1;
	if (__builtin_expect(at.node->done_floor < tag, 0))
		cs_node_all_done_slow(at.op, tag);
	struct cs_line *line = &at.node->self->lines[at.op->number % CS_LINES];
	line->said = at.op->signature;
	return line;
}
static inline struct cs_line *
cs_node_line(struct cs_node_op *op)
{
	return cs_at_line(cs_node_at(op));
}

/* Not of reductions, whose lines say the bytes anyway. No message has 2^48 of them. */
static inline void
cs_at_say(struct cs_node_at at, struct cs_line *line, uint64_t bytes)
{
	line->said = at.op->signature | bytes;
}
static inline void
cs_line_say(const struct cs_node_op *op, struct cs_line *line, uint64_t bytes)
{
	line->said = op->signature | bytes;
}
static inline uint64_t
cs_line_bytes(const struct cs_line *line)
{
	return line->said << (64 - CS_SIGNATURE_SHIFT) >> (64 - CS_SIGNATURE_SHIFT);
}
/* The same of a line of this call, for less; of one without data, more than there can be. */
static inline uint64_t
cs_line_bytes_here(const struct cs_node_op *op, const struct cs_line *line)
{
	return line->said ^ op->signature;
}

static inline void
cs_at_publish(struct cs_node_at at, struct cs_line *line, uint64_t step)
{
	cs_node_store(at.node, &line->seq, cs_at_tag(at, step));
}
static inline void
cs_node_publish(struct cs_node_op *op, struct cs_line *line, uint64_t step)
{
	cs_at_publish(cs_node_at(op), line, step);
	if (cs_node_is_watched(op))
		op->node->told(op, op->node->shape.local, step);
}

/* Waits until `local` has published step `step` of this call (step 1 is the first); returns its
 * line. One that never comes, or is another call's, is without data, copied in and out, and of a
 * slot that there is. */
const struct cs_line *cs_node_await_slow(struct cs_node_op *op, int local, uint64_t step);
static inline const struct cs_line *
cs_at_await(struct cs_node_at at, int local, uint64_t step)
{
	const struct cs_line *line = &cs_node_rank(at.node, local)->lines[at.op->number % CS_LINES];
	if (__builtin_expect(atomic_load_explicit(&line->seq, memory_order_acquire) <
			     cs_at_tag(at, step) ||
				     (line->said ^ at.op->signature) >> CS_SIGNATURE_SHIFT, 0))
		return cs_node_await_slow(at.op, local, step);
	return line;
}
static inline const struct cs_line *
cs_node_await(struct cs_node_op *op, int local, uint64_t step)
{
	return cs_at_await(cs_node_at(op), local, step);
}

/* --- the same without waiting: what an operation does that may be left and taken up -----------
 *
 * Each returns at once. What says "not yet" (NULL, false) has noted in op->awaited what is missing:
 * who has nothing else to do waits for that with cs_node_wait_awaited, and asks again. */

/* The line of step `step` of local rank `local`, as cs_node_await returns it; NULL: not published
 * yet. */
const struct cs_line *cs_node_look_slow(struct cs_node_op *op, int local, uint64_t step);
static inline const struct cs_line *
cs_node_look(struct cs_node_op *op, int local, uint64_t step)
{
	struct cs_node *node = op->node;
	const struct cs_line *line = &cs_node_rank(node, local)->lines[op->number % CS_LINES];
	if (__builtin_expect(atomic_load_explicit(&line->seq, memory_order_acquire) <
			     cs_node_tag(op, step) ||
				     (line->said ^ op->signature) >> CS_SIGNATURE_SHIFT, 0))
		return cs_node_look_slow(op, local, step);
	if (cs_node_is_watched(op))
		node->told(op, local, step);
	return line;
}

/* Are all local ranks' done words at least `tag`? */
bool cs_node_are_done_slow(struct cs_node_op *op, uint64_t tag);
static inline bool
cs_node_are_done(struct cs_node_op *op, uint64_t tag)
{
	return op->node->done_floor >= tag || cs_node_are_done_slow(op, tag);
}

/* Own line of this call, as cs_node_line; NULL: a rank is not done with what it held. */
static inline struct cs_line *
cs_node_try_line(struct cs_node_op *op)
{
	if (!cs_node_are_done(op, ((op->number - CS_LINES + 1) << CS_STEP_BITS) - 1))
		return NULL;
	struct cs_line *line = &op->node->self->lines[op->number % CS_LINES];
	line->said = op->signature;
	return line;
}

/* Waits until what op->awaited says has come, or never will: the next look then tells. */
void cs_node_wait_awaited(struct cs_node_op *op);

/* Will `local` never publish that step, because it makes another call? Then this is told, as a wait
 * for it would (above). For who waits for messages as well, and so not for a line: asked now and
 * then. */
void cs_node_notice(struct cs_node_op *op, int local, uint64_t step);

/* The same of a reduction: a vector of another size is one of another call. */
const struct cs_line *cs_node_unlike(struct cs_node_op *op, int local, const struct cs_line *line);
static inline const struct cs_line *
cs_node_await_alike(struct cs_node_op *op, int local, uint64_t step)
{
	const struct cs_line *line = cs_node_await(op, local, step);
	return __builtin_expect(line->said == op->signature, 1) ? line
								: cs_node_unlike(op, local, line);
}

static inline const struct cs_line *
cs_node_look_alike(struct cs_node_op *op, int local, uint64_t step)
{
	const struct cs_line *line = cs_node_look(op, local, step);
	return !line || __builtin_expect(line->said == op->signature, 1)
	       ? line : cs_node_unlike(op, local, line);
}

/* --- memory of the program that others read --------------------------------------------------- */

/* Waits until all others are done with this call, and so with memory of ours that they read by
 * single copy. */
static inline void
cs_node_all_done(struct cs_node_op *op)
{
	struct cs_node *node = op->node;
	uint64_t tag = cs_node_has_read(op->number);
	if (node->done_floor < tag)
		cs_node_all_done_slow(op, tag);
}

/* Single copy: `bytes` at `remote` in the memory of local rank `local` to `to`. Only where the team
 * has agreed that it works (cs_node_probe_cma), and of memory that `local` has offered in this
 * call, in which it waits until all are done (cs_node_all_done). What the kernel refuses comes by
 * another way: into memory of ours first, or, if it may not be read at all, by the help of
 * `local`. */
void cs_node_read(struct cs_node_op *op, int local, void *to, uint64_t remote, size_t bytes);

/* Offers `bytes` at `memory` to be read by single copy in the call that begins next. False: others
 * cannot read it, as far as one can tell, or had to ask for help lately. */
bool cs_node_offer(struct cs_node_op *op, const void *memory, size_t bytes);

/* Should others read blocks of ours, of at most `bytes` >= CS_COPY_CHOICE_LEAST, where they are? Of
 * a call of `pattern`, an enum cs_coll; shm/copy_choice.h. Asked once in each call; and by calls
 * all local ranks ask. */
bool cs_node_single_copy_by_calls(struct cs_node_op *op, unsigned pattern, size_t bytes);

/* How many copies a large block takes. Staged: the owner puts `copies_in` blocks and its readers
 * get `copies_out` of them, one after the other or side by side. Direct: the readers read
 * `copies_out` blocks. */
struct cs_copy_cost {
	int reader; /* local rank; -1: all */
	unsigned copies_in, copies_out;
	bool is_side_by_side;
};
bool cs_node_single_copy_by_copies(struct cs_node_op *op, unsigned pattern, size_t bytes,
				   const struct cs_copy_cost *cost);
/* The readers' copies then: a whole block as cs_node_read does, and `bytes` of one out of another
 * rank's slot. */
void cs_node_get_single_copy(struct cs_node_op *op, unsigned pattern, int local, void *to,
			     uint64_t remote, size_t bytes);
void cs_node_get_copied_in(struct cs_node_op *op, unsigned pattern, size_t block, void *to,
			   const void *from, size_t bytes);

/* Can this process read the memory of all others of the node? After cs_node_init_others. */
bool cs_node_probe_cma(struct cs_node *node);
/* Is it so for all local ranks? Takes a call of its own. */
bool cs_node_agree(struct cs_node *node, bool is_so);
/* May the next team of the same processes take this node over, with its call numbers? Yes while
 * less than half of all numbers are used and no rank has been seen in another call than the others
 * (which is told once for each node). Processes may differ in the answer. */
bool cs_node_may_go_on(const struct cs_node *node);

#endif
