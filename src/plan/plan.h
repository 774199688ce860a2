/* plan/plan.h — schedule of one rank in a collective, as a list of steps.
 *
 *   send  peer 3  IN + 0     8192   request 0     started, not finished: goes on in later steps
 *   recv  peer 1  OUT + 8192 8192      request 1
 *   wait  request 1
 *   copy  ...                                          done when the next step begins
 *   repeat the 4 before it, 1000 times in all      each time so many bytes further in IN and OUT
 *
 * A plan is made for a rank and a problem (plan/build.h) and depends on nothing else: places are a
 * memory and an offset, so one plan serves all calls of its shape. It is run on a wire
 * (plan/execute.h), verified for all ranks together (plan/verify.h), timed by the simulator (sim/)
 * and drawn (plan/draw.h). (Seed 003, III: schedules.) plan/walk.h iterates over the steps as
 * executed, with loops expanded.
 *
 * Messages between two ranks match in the order in which they are started, on both sides. */
#ifndef CS_PLAN_PLAN_H
#define CS_PLAN_PLAN_H

#include "base/status.h"

#include <stddef.h>
#include <stdint.h>

enum cs_memory {
	CS_IN,  /* the program's input */
	CS_OUT, /* the program's result */
	CS_TMP, /* the plan's own; its contents do not outlive a run */
	CS_MEMORIES,
};

struct cs_place {
	enum cs_memory memory;
	size_t at; /* bytes */
};

enum cs_step_kind {
	CS_STEP_SEND,   /* `bytes` at `from` to `peer` */
	CS_STEP_RECV,   /* `bytes` from `peer` to `to`; exactly as many */
	CS_STEP_WAIT,   /* until `request` is finished; its number may then be used again */
	CS_STEP_COPY,   /* to = from; they do not overlap */
	CS_STEP_REDUCE, /* to = from op with, element by element, in this order; `to` may be one of
			 * the two */
	CS_STEP_REPEAT, /* the `length` steps before it again, `times` times in all; each time
			 * places in CS_IN and CS_OUT are `bytes` further, and `note` is added to
			 * their notes. Loops do not nest */
	/* With several senders (plan/senders.h); they stand in no loop. */
	CS_STEP_TELL,   /* others may see what was done so far; for the `bytes`-th time */
	CS_STEP_HEAR,   /* until sender `peer` has told `bytes` times */
	CS_STEP_KINDS,
};

struct cs_step {
	uint8_t kind;
	uint8_t to, from, with; /* enum cs_memory */
	int32_t request;        /* SEND, RECV, WAIT */
	int32_t peer;           /* SEND, RECV */
	uint32_t note;          /* for drawings: the round, as the algorithm counts */
	size_t bytes;
	union {
		size_t to_at;
		size_t times; /* REPEAT: at least one */
	};
	union {
		size_t from_at;
		size_t length; /* REPEAT */
	};
	size_t with_at;
};

struct cs_plan {
	int rank, ranks;
	struct cs_step *steps;
	size_t count;
	int requests;     /* most under way at a time: request < requests */
	size_t tmp_bytes; /* size of CS_TMP */
};

void cs_plan_fini(struct cs_plan *plan);

#endif
