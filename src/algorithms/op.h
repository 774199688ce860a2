/* algorithms/op.h — one collective call of this rank as an object, from its start to its end.
 *
 * All state of a call is here, so that several may be under way on one team. A blocking call has
 * its operation on the stack. */
#ifndef CS_ALGORITHMS_OP_H
#define CS_ALGORITHMS_OP_H

#include "algorithms/team.h"
#include "base/status.h"
#include "coll/call.h"
#include "plan/execute.h"
#include "plan/senders.h"
#include "wire/request.h"

#include <stddef.h>

#define CS_OP_STATE_BYTES 512

struct cs_op;
struct cs_report_row;
/* A phase of an operation, which does what can be done now. CS_OK: it is over, and the script goes
 * on; CS_AGAIN: op->node.awaited has to come first. A phase never waits, so that an operation can
 * be left at any of its phases and continued later. */
typedef enum cs_status cs_phase(struct cs_op *op);

struct cs_op {
	struct cs_team *team;
	struct cs_call call;
	struct cs_node_op node; /* its part in the node's memory */
	/* The algorithm between nodes and its parameters; NULL: the host's collectives. */
	const struct cs_algorithm *between;
	const size_t *between_params;
	struct cs_op_memory *memory; /* with CS_OP_MEMORY in node.extras */
	uint64_t tag; /* of its messages between ranks and between nodes (wire/wire.h) */
	/* With CS_OP_GOES_ON in node.extras: the phase at hand, of a script that ends with NULL. */
	cs_phase *const *phase;
	cs_phase *const *then; /* with CS_OP_THEN: the script that follows */
	/* Begun by its phases between ranks or nodes, if it may not wait (CS_OP_NONBLOCKING). */
	enum { CS_UNDER_WAY_NOTHING, CS_UNDER_WAY_HOST, CS_UNDER_WAY_PLAN,
	       CS_UNDER_WAY_LATER } under_way;
	struct cs_request request; /* of the host's collective */
	struct cs_run run;         /* of `plan`, a copy of one of `plans` */
	struct cs_plan plan;
	uint64_t plan_number;
	struct cs_plans *plans;
	/* With CS_OP_TIMED in node.extras: times by cs_clock_ns, the part of them in which the rank
	 * waited for others (CS_REPORT_NOT_KNOWN), and the row of the report that counts it, or
	 * NULL. */
	uint64_t arrived_ns, left_ns, waited_ns;
	struct cs_report_row *row;
	struct cs_senders senders; /* with CS_OP_SENDERS in node.extras */
	/* The state of its phases: CS_OP_STATE. */
	_Alignas(max_align_t) unsigned char state[CS_OP_STATE_BYTES];
};

/* The state of an operation's phases, of one type for all of them; filled in at the script's
 * start. */
#define CS_OP_STATE(type, op) \
	(__extension__({ \
		_Static_assert(sizeof(type) <= CS_OP_STATE_BYTES, \
			       "the state of a script fits into an operation"); \
		(type *)(void *)(op)->state; \
	}))

/* Bits of node.extras: a script goes on; none of its phases may wait; it has memory; it is timed;
 * another script follows; its time is for a trial (run/trial.h); no other thread may step the
 * communicator's non-blocking calls meanwhile (comm/calls/icall.h); several ranks of the node drive
 * its plan; it has made lanes, so that no other call's time is like its own. */
enum {
	CS_OP_GOES_ON = 2 * CS_NODE_WATCHED,
	CS_OP_NONBLOCKING = 2 * CS_OP_GOES_ON,
	CS_OP_MEMORY = 2 * CS_OP_NONBLOCKING,
	CS_OP_TIMED = 2 * CS_OP_MEMORY,
	CS_OP_THEN = 2 * CS_OP_TIMED,
	CS_OP_ON_TRIAL = 2 * CS_OP_THEN,
	CS_OP_BUSY = 2 * CS_OP_ON_TRIAL,
	CS_OP_SENDERS = 2 * CS_OP_BUSY,
	CS_OP_MADE_LANES = 2 * CS_OP_SENDERS
};
static inline void
cs_op_note(struct cs_op *op, unsigned told)
{
	op->node.outcome.bits |= told;
}

/* Note the arrival, if it was not noted before. */
static inline void
cs_op_arrive(struct cs_op *op, uint64_t now_ns)
{
	if (!(op->node.extras & CS_OP_TIMED))
		op->arrived_ns = now_ns;
	op->node.extras |= CS_OP_TIMED;
}

static inline void
cs_op_refuse(struct cs_op *op, const char *why)
{
	op->node.outcome.refused = why;
	op->node.outcome.bits |= CS_OUTCOME_REFUSED;
}

/* Is no other operation of the rank under way on its node? Only then may an algorithm's `fast` run:
 * its done word says that all earlier operations are over. Called before the operation begins. */
static inline bool
cs_op_is_alone(const struct cs_op *op)
{
	return __builtin_expect(op->team->node.under_way == 0, 1);
}

/* May local ranks read each other's memory? Not in a non-blocking call: its end on the owner's side
 * would have to wait for the readers. */
static inline bool
cs_op_may_single_copy(const struct cs_op *op)
{
	return op->team->has_cma && !(op->node.extras & CS_OP_NONBLOCKING);
}

/* Makes an operation one of a team's: gives it its tag, and its part on the node. Its call, outcome
 * and extras are the caller's, who sets both to 0 before: data may have been packed since. */
static inline void
cs_op_join(struct cs_op *op, struct cs_team *team, uint64_t signature)
{
	op->team = team;
	op->tag = team->tags++;
	op->node.node = &team->node;
	op->node.signature = signature;
}

/* The operation on its node, for the cs_at_ functions of small calls. */
static inline struct cs_node_at
cs_op_at(struct cs_op *op)
{
	return (struct cs_node_at){ &op->node, &op->team->node };
}

/* Begin the call on the node, and continue with a script, from its first phase. */
static inline void
cs_op_start(struct cs_op *op, cs_phase *const *script)
{
	cs_node_begin(&op->node);
	op->phase = script;
	op->node.extras |= CS_OP_GOES_ON;
	cs_node_go_on(&op->node);
}

/* A call that takes its number and moves nothing on the node: the host makes it. */
static inline void
cs_op_pass(struct cs_op *op)
{
	cs_node_begin(&op->node);
	cs_node_go_on(&op->node);
	cs_node_end(&op->node);
	cs_node_over(&op->node);
}

/* Continue with the script that follows. */
enum cs_status cs_op_step_then(struct cs_op *op);

/* Do what can be done now. CS_OK: the operation is over; CS_AGAIN: see cs_phase. A phase that is
 * not followed by the next one sets op->phase. */
static inline enum cs_status
cs_op_step(struct cs_op *op)
{
	for (cs_phase *now; (now = *op->phase);) {
		op->phase++;
		if (now(op) != CS_AGAIN)
			continue;
		op->phase--;
		return CS_AGAIN;
	}
	if (__builtin_expect(op->node.extras & CS_OP_THEN, 0))
		return cs_op_step_then(op);
	op->node.extras &= ~(unsigned)CS_OP_GOES_ON;
	cs_node_over(&op->node);
	return CS_OK;
}

/* Wait until a phase is over that waits for the node's memory alone: for a small blocking call
 * (fast) with phases of a script. */
static inline void
cs_op_wait_in(struct cs_op *op, cs_phase *phase)
{
	while (__builtin_expect(phase(op) == CS_AGAIN, 0))
		cs_node_wait_awaited(&op->node);
}

/* Step the operation until it is over: a blocking call. */
void cs_op_finish(struct cs_op *op);

/* Uses of an operation's memory. */
enum cs_op_use {
	CS_OP_SCRATCH, /* node/rank_order; a script's state */
	CS_OP_COPY,    /* an algorithm's copy of its input, sizes of others */
	CS_OP_REMOTE,  /* data out of other ranks' memory */
	CS_OP_PART,    /* of leaders: results beside a buffer that they still read */
	CS_OP_PLAN,    /* CS_TMP of a plan */
	CS_OP_NODES,   /* cs_op_nodes */
	CS_OP_REQUESTS, /* of messages between nodes */
	CS_OP_TREE, /* of a node's meeting (hier/hier.h) */
	CS_OP_HYBRID, /* hier/copy_out.h */
	CS_OP_PENDING, /* local ranks from which something has to come */
	CS_OP_INPUT, CS_OP_OUTPUT, /* packed data (comm/) */
	CS_OP_SIZES,   /* sizes of a non-blocking v-call's blocks (comm/) */
	CS_OP_USES
};

/* Return at least `bytes` of memory, on lines of its own, which is the operation's until it asks
 * again for the same use, or ends. `idle`: memory that operations left when they ended; that of the
 * first use counts. NULL if memory is out. */
void *cs_op_memory_of(struct cs_op *op, struct cs_op_memory **idle, enum cs_op_use use,
		      size_t bytes);
_Noreturn void cs_op_no_memory(const struct cs_op *op, size_t bytes);
/* The same with the team's idle memory; ends the job if memory is out (a call cannot be undone). */
static inline void *
cs_op_memory(struct cs_op *op, enum cs_op_use use, size_t bytes)
{
	void *memory = cs_op_memory_of(op, op->team->idle, use, bytes);
	if (__builtin_expect(!memory, 0))
		cs_op_no_memory(op, bytes);
	return memory;
}

/* A copy of memory of the node's, until the operation's end; the same on all its ranks. */
const void *cs_op_keep(struct cs_op *op, const void *from, size_t bytes);

/* Four arrays of one size_t for each node, for the leaders' v-collectives. */
static inline size_t *
cs_op_nodes(struct cs_op *op)
{
	return cs_op_memory(op, CS_OP_NODES, 4 * (size_t)op->team->shape.nodes * sizeof(size_t));
}

/* End its memory: leave it in `idle`, but for large buffers, which are freed. */
void cs_op_give_back(struct cs_op *op, struct cs_op_memory **idle);
static inline void
cs_op_fini(struct cs_op *op)
{
	if (__builtin_expect(op->node.extras & CS_OP_MEMORY, 0))
		cs_op_give_back(op, op->team->idle);
}

/* Free the memory that operations have left; none may be under way. */
void cs_op_memory_free(struct cs_op_memory **idle);

#endif
