/* shm/node.h — communication of the processes of one node: lines, rings and an area in one segment.
 *
 *   per local rank                                              | shared by the node
 *   | done | lines: one per call, 64 calls in turn | ring: S slots |  area: A slots, 64 small slots
 *     writer: that rank only                                       writer: as the algorithm says
 *
 * Every call of the team has a number, the same on all ranks, since all of them make the same calls
 * in the same order (MPI 4.0, 6.14). A process publishes data in a call by writing its line: `seq`
 * last, = call << 22 | step. Its `done` word is call << 22 | k when it has read all data of steps
 * up to k of that call, ((call + 1) << 22) - 1 when it has read all of the call, and (call + 1) <<
 * 22 when it has left the call. A line or slot is written again only when all local ranks have read
 * its data; so no rank waits for a slow reader until 64 calls or S slots later.
 *
 * A line also has its call's signature (coll/call.h: cs_call_signature). Ranks that make different
 * calls are the program's error: a rank that finds a line of another call, or waits for a line of
 * a rank that has left the call, sets op->outcome, and waits for nothing more in it; all further
 * lines are without data. With several nodes the job ends instead, since all ranks must take the
 * same slots of the area.
 *
 * Small messages are in the line itself (one cache line for flag and data). Values from shared
 * memory are checked before they are used as sizes or indexes. */
#ifndef CS_SHM_NODE_H
#define CS_SHM_NODE_H

#include "base/wait.h"
#include "coll/call.h"
#include "shm/copy.h"
#include "shm/copy_choice.h"
#include "shm/node_memory.h"
#include "shm/node_watch.h"
#include "shm/segment.h"
#include "wire/host.h"

#include <stdbool.h>

/* Outcome of an operation; all zero: success. */
struct cs_outcome {
	unsigned bits;
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
	CS_OUTCOME_ERROR = 64,   /* the call returns an error, which comm/ knows */
	CS_OUTCOME_TRUNCATED = 128 /* a peer's block is longer than its room */
};

/* Kinds of area slots, each taken in turn. */
enum cs_area_kind { CS_AREA_LARGE_SLOTS, CS_AREA_SMALL_SLOTS };

struct cs_node_shape {
	int local, size; /* own local rank; local ranks */
	bool has_table;  /* on one node, too */
	size_t slots, slot_bytes;
	size_t area_slots, area_bytes; /* 0 for a team on one node */
	size_t spin, yields;
	enum cs_switch streams; /* non-temporal stores: shm/copy.h */
	size_t cow; /* bytes from which results are mapped (shm/cow.h); 0: none are */
	struct cs_node_facts facts; /* as given; 0: measured, or the usual ones */
};

/* Slots that are used in turn. */
struct cs_slots {
	uint64_t count, next; /* slots; slots taken so far */
	uint64_t until[CS_MAX_SLOTS]; /* done value that frees the slot for other operations */
	uint64_t step[CS_MAX_SLOTS];  /* done value that frees it for the one that has reserved
				       * it */
};

/* Slots that an operation has reserved, and uses in turn. Operations reserve at their start, in the
 * order of numbers: so the oldest one has all that it needs, and none waits for slots of a younger
 * one. */
struct cs_slot_range {
	uint64_t first; /* slot */
	uint64_t count; /* slots; 0: none are reserved */
	uint64_t uses;  /* in all, or CS_USES_UNKNOWN */
	uint64_t next;  /* uses so far */
	uint64_t done;  /* area: uses that this rank is done with */
	uint64_t after; /* done value that frees all of the slots; 0: each has its own */
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
	void *table; /* CS_NODE_TABLE bytes, by local rank 0 before the first call; NULL: none */
	struct cs_node_facts facts;
	bool is_readable; /* single copy works between all local ranks, as agreed */
	int readers; /* most of one rank's memory at once, by single copy; 0: any number */
	uint64_t key; /* of processes and shape, for shm/pool.h; 0: not known */
	int64_t only_cpu; /* the only CPU this process may use; -1: several */
	int same_core[CS_MAX_SAME_CORE], same_core_count; /* other local ranks with that only CPU */

	/* Private to this process. */
	const struct cs_node_watch *watch; /* with CS_NODE_WATCHED */
	const int *rank_of; /* local rank -> the communicator's; NULL: the same number */
	int all_ranks, nodes; /* of the communicator */
	uint64_t calls;            /* number of the last call begun */
	struct cs_sample {
		uint64_t at; /* number of the next sampled call; UINT64_MAX: none */
		void (*tell)(void *user, struct cs_node_op *op);
		void *user;
		uint64_t waited_ns; /* ns of waiting for others, beyond polls */
	} sample;
	struct cs_node_op *offering; /* operations under way that offer memory to others */
	uint64_t done_floor;       /* all local ranks' done words are at least this */
	struct cs_slots ring;      /* this rank's slots, since it last began at the front */
	size_t slot_populated[CS_MAX_SLOTS]; /* bytes of each slot mapped, from its front */
	/* Policies for large copies into the segment, by enum cs_coll */
	struct cs_copy_policy copies_in[CS_COPY_RESULTS][CS_COPY_PATTERNS];
	/* and into the program's memory, by cs_copy_choice_size */
	struct cs_copy_policy results[CS_COPY_PATTERNS][CS_COPY_CHOICE_SIZES];
	/* Choices of how others read large blocks of ours */
	struct cs_copy_choice choice[CS_COPY_PATTERNS][CS_COPY_CHOICE_SIZES];
	struct cs_readable readable; /* blocks that others can read */
	uint64_t backoff_until, backoff_for; /* nothing is offered before that call, after a request
					      * for help; calls of that pause */
	unsigned short_gets; /* since the last measured one */
	unsigned small_mapped;     /* CS_SMALL_BIT and the like of what is mapped */
	uint64_t shared_slot;      /* slot that pieces are cut from; CS_SLOT_SMALL: none */
	size_t shared_used;        /* bytes of it in use */
	uint64_t shared_after;     /* done value from which on it may be written */
	struct cs_area {
		char *base;
		size_t stride;
		uint64_t floor; /* all local ranks' area_done are at least this */
		struct cs_slots slots; /* as the next line, the same on all local ranks */
		uint64_t touched, choices; /* slots taken so far, from the front; choices made */
		size_t populated[CS_MAX_SLOTS]; /* bytes of each slot mapped here, from its front */
	} areas[2]; /* by enum cs_area_kind */
	char *arrivals; /* words of shm/arrive.h, in the segment */
	/* Operations that continue by scripts: numbers from `oldest` to `calls`, some of them over.
	 * Done words are those of the oldest one; `later` keeps the others' until they are. */
	unsigned under_way;
	uint64_t oldest;
	struct cs_later {
		uint64_t done, area_done[2]; /* to be stored; 0: nothing */
		bool is_over;
	} later[CS_LINES]; /* by number */
};

/* Operation's part on the node, from its begin to its end. Several may be under way on one node. */
struct cs_node_op {
	struct cs_node *node;
	uint64_t number;     /* of the call, from cs_node_begin on */
	uint64_t signature;       /* of the call; for a reduction with its bytes */
	struct cs_outcome outcome;
	unsigned extras;     /* work at its end: CS_NODE_ bits, and higher ones of the callers */
	/* Condition that the operation waits for, set by cs_node_look and the like: step `tag` in
	 * the line of local rank `local`; or all done words >= `tag` (CS_AWAITS_ALL); all area_done
	 * words >= `tag` (CS_AWAITS_AREA); a message from outside of the node's memory
	 * (CS_AWAITS_MESSAGE), or one that may never come, and is polled for so many times
	 * (CS_AWAITS_PIECE); or a flag >= `tag` (CS_AWAITS_FLAG). */
	struct cs_awaited {
		int local;
		int of; /* enum cs_area_kind; or the local rank that raises the flag */
		uint64_t tag;
		_Atomic uint64_t *flag;
	} awaited;
	struct cs_slot_range ring, area[2]; /* by enum cs_area_kind */
	/* With CS_NODE_OFFERS: others may read memory in [from, to). */
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
/* Operation of a virtual rank, whose steps and work are noted (struct cs_node_watch): for counts,
 * which move no bytes (algorithms/counted.h), and in simulated time (sim/play.h). */
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

/* Ends the operation: notes the time of a timed call, and withdraws memory offered to others, which
 * must be done with it. */
void cs_node_op_fini_slow(struct cs_node_op *op);
static inline void
cs_node_op_fini(struct cs_node_op *op)
{
	if (__builtin_expect(op->extras & CS_NODE_EXTRAS, 0))
		cs_node_op_fini_slow(op);
}

/* Bytes of a segment for this shape (header included), and one rank's own share [from, from +
 * bytes), of which the first `least` bytes are used by any call; and its part (or none) of the
 * common share: the area and the words of shm/arrive.h. */
size_t cs_node_bytes(const struct cs_node_shape *shape);
void cs_node_share(const struct cs_node_shape *shape, int local, size_t *from, size_t *bytes,
		   size_t *least);
void cs_node_common_share(const struct cs_node_shape *shape, int local, size_t *at, size_t *bytes);

/* Initialise a node with a committed segment, which it then owns. cs_node_init_own writes words
 * that others read before the first call; all local ranks must have called it before
 * cs_node_init_others, which finds whether ranks share cores. */
void cs_node_init(struct cs_node *node, const struct cs_node_shape *shape,
		  struct cs_segment *segment, const struct cs_host *host);
void cs_node_init_own(struct cs_node *node);
void cs_node_init_others(struct cs_node *node);

/* Waits until *word >= target: polls, then yields, then sleeps; the host MPI is progressed
 * meanwhile. */
void cs_node_wait_slow(struct cs_node_op *op, int local, _Atomic uint64_t *word, uint64_t target);
/* `local`: the rank whose word it is. */
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
	/* Without a fence: a sleeper missed here wakes after its time-out (a millisecond). */
	if (__builtin_expect(atomic_load_explicit(&node->head->sleepers, memory_order_relaxed), 0))
		cs_wait_wake(word);
}

static inline struct cs_rank_head *
cs_node_rank(struct cs_node *node, int local)
{
	return (struct cs_rank_head *)(node->ranks + (size_t)local * node->rank_stride);
}

/* Operation with its node, which saves a load in small calls whose node's address is known. */
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
/* Are they? Does not wait. */
bool cs_node_is_done(struct cs_node_op *op, uint64_t tag);

/* --- a call ----------------------------------------------------------------------------------- */

/* Calls the sampler (cs_lateness_sample) at the begin of a call. */
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

/* May an operation begin that continues by a script? Finished ones count until all older ones are
 * over: each has its line, and its place in `later`. */
static inline bool
cs_node_may_begin(const struct cs_node *node)
{
	return node->under_way < CS_LINES - 1;
}
/* The same of one that may not wait, which leaves room for a blocking one behind it: have all local
 * ranks read this rank's line of 64 calls ago, too? */
bool cs_node_may_begin_now(struct cs_node *node);

/* Marks an operation as continuing after its function returns: others may begin before it is over,
 * while cs_node_may_begin allows it. cs_node_over marks its end. */
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

/* Stores `value` in this rank's done word as soon as the operation is the oldest one. */
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

/* The done word of a rank that reads nothing more in a call, but has not left it. */
static inline uint64_t
cs_node_has_read(uint64_t call)
{
	return (call << CS_STEP_BITS) + CS_LAST_STEP;
}

/* Publishes that this rank reads nothing more in this call; it may still publish lines. */
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

/* Releases the reserved area slots. */
void cs_node_area_end(struct cs_node_op *op);

/* Leaves the call: nothing more is read or published. */
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

/* Ends the job if so many rounds, of `each` steps, would exceed the steps of a call. To be called
 * first if a round moves little of a block. (128 ranks on a node, a scatterv: one block of 2.1
 * GB.) */
_Noreturn void cs_node_too_many(struct cs_node_op *op, uint64_t rounds);
static inline void
cs_node_expect(struct cs_node_op *op, uint64_t rounds, uint64_t each)
{
	if (__builtin_expect(rounds > CS_MOST_STEPS / each, 0))
		cs_node_too_many(op, rounds);
}

/* Publishes that this rank has read all data of steps up to `step` of this call. */
static inline void
cs_node_done(struct cs_node_op *op, uint64_t step)
{
	cs_node_say_done(op, cs_node_tag(op, step));
}

/* Own line of this call, to be filled; waits until all are done with the call that used it 64 calls
 * ago. */
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

/* Adds the bytes of a message, fewer than 2^48, to the signature in the line. Not for reductions,
 * whose signature has them. */
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
/* Bytes of a line of this call, in fewer instructions; of a line without data, a number above any
 * size. */
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
	if (cs_node_is_watched(op))
		op->node->watch->told(op, op->node->shape.local, step);
	cs_at_publish(cs_node_at(op), line, step);
}

/* Waits until `local` has published step `step` of this call (step 1 is the first); returns its
 * line. If that never happens, or the line is of another call, returns a line of zeros: without
 * data, of slot 0. */
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

/* --- the same without waiting, for operations that continue by scripts ------------------------
 *
 * Each returns at once. If the result is "not yet" (NULL, false), op->awaited is the condition that
 * is missing: a caller that has nothing else to do waits with cs_node_wait_awaited, and tries
 * again. */

/* The line of local rank `local` with step `step`, as cs_node_await returns it; NULL: not published
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
		node->watch->told(op, local, step);
	return line;
}

/* Are all local ranks' done words at least `tag`? */
bool cs_node_are_done_slow(struct cs_node_op *op, uint64_t tag);
static inline bool
cs_node_are_done(struct cs_node_op *op, uint64_t tag)
{
	return op->node->done_floor >= tag || cs_node_are_done_slow(op, tag);
}

/* Own line of this call, as cs_node_line; NULL: a rank is not done with its former data. */
static inline struct cs_line *
cs_node_try_line(struct cs_node_op *op)
{
	if (!cs_node_are_done(op, ((op->number - CS_LINES + 1) << CS_STEP_BITS) - 1))
		return NULL;
	struct cs_line *line = &op->node->self->lines[op->number % CS_LINES];
	line->said = op->signature;
	return line;
}

/* Waits until the condition in op->awaited holds, or never will, as the next cs_node_look finds. */
void cs_node_wait_awaited(struct cs_node_op *op);

/* Sets op->wrong if `local` will never publish that step, because it makes another call. To be
 * called now and then by a rank that waits for messages, and so for no line. */
void cs_node_notice(struct cs_node_op *op, int local, uint64_t step);

/* Lines of a reduction: in these, a vector of another size is one of another call. */
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

/* Waits until all others have read all of this call, memory of ours by single copy included. */
static inline void
cs_node_all_done(struct cs_node_op *op)
{
	struct cs_node *node = op->node;
	uint64_t tag = cs_node_has_read(op->number);
	if (node->done_floor < tag)
		cs_node_all_done_slow(op, tag);
}

/* Copies `bytes` at `remote` in the memory of local rank `local` to `to` (single copy). Only if the
 * team has agreed that it works (cs_node_probe_cma), and of memory that `local` has offered in this
 * call, in which it waits until all are done (cs_node_all_done). If the kernel refuses, the data is
 * read into shared memory first, or, if it cannot be read at all, copied there by `local`. Waits
 * while node->readers others read there: is it crowded, with op->awaited the end of a turn? */
void cs_node_read(struct cs_node_op *op, int local, void *to, uint64_t remote, size_t bytes);
bool cs_node_is_crowded(struct cs_node_op *op, int local);

/* Offers `bytes` at `memory` to be read by single copy in the call that begins next. False: others
 * likely cannot read it, or have asked for help lately. */
bool cs_node_offer(struct cs_node_op *op, const void *memory, size_t bytes);

/* Should others read blocks of ours, of at most `bytes`, by single copy (shm/copy_choice.h)?
 * `pattern`: an enum cs_coll. To be called once in each call, by all local ranks. */
bool cs_node_single_copy_by_calls(struct cs_node_op *op, unsigned pattern, size_t bytes);

/* Number of copies of a large block, for the choice by copies, of each owner. If each rank has a
 * core, the busiest owner copies `copies_in` blocks into slots while the busiest reader copies
 * `copies_out` out of them. If they share cores, a block is copied in once and `readers` times out,
 * one after the other. Single copy: the owner waits for its readers, too, and `turns` of a tree of
 * readers follow each other. */
struct cs_copy_cost {
	int reader; /* local rank; -1: all */
	unsigned copies_in, copies_out, readers, turns; /* turns 0: all read at once */
};
bool cs_node_single_copy_by_copies(struct cs_node_op *op, unsigned pattern, size_t bytes,
				   const struct cs_copy_cost *cost);
/* The readers' copies, measured: of a whole block, or of `bytes` of one out of a rank's slot. */
void cs_node_get_single_copy(struct cs_node_op *op, unsigned pattern, int local, void *to,
			     uint64_t remote, size_t bytes);
void cs_node_get_copied_in(struct cs_node_op *op, unsigned pattern, size_t block, void *to,
			   const void *from, size_t bytes);

/* Can this process read the memory of all others of the node? After cs_node_init_others. */
bool cs_node_probe_cma(struct cs_node *node);
/* Have all local ranks the same word, below 2^48? Collective on the node; uses a call number. */
bool cs_node_agree(struct cs_node *node, uint64_t word);
/* May the next team of the same processes reuse this node, with its call numbers? Yes if less than
 * half of all numbers are used and no mismatch of calls was reported (once for each node).
 * Processes may differ in the answer. */
bool cs_node_may_go_on(const struct cs_node *node);

#endif
