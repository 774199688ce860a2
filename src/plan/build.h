/* plan/build.h — how an algorithm writes its steps.
 *
 * An algorithm's build() is called with a builder for one rank and calls these functions in the
 * order in which the rank is to act. Nothing fails in between: the first trouble (no memory, a
 * refusal) is kept, everything after it does nothing, and cs_builder_finish tells it.
 *
 * Messages of no bytes are left out on both sides (sizes agree on both); for a message that only
 * says "now" there is cs_build_signal and cs_build_hear. */
#ifndef CS_PLAN_BUILD_H
#define CS_PLAN_BUILD_H

#include "coll/problem.h"
#include "plan/plan.h"
#include "plan/senders.h"

#define CS_NO_REQUEST (-1)

/* The counts of what one rank does, without the steps. */
struct cs_step_counts {
	uint64_t sent, received;             /* messages */
	uint64_t sent_bytes, received_bytes;
	uint64_t copied, reduced;            /* bytes */
	uint64_t hidden;                     /* of those copied: while messages are under way */
};

/* A part of a plan for which there is no memory as a whole: the steps from number `first` on, as
 * many as there is room for. A loop is in one part, or there is no memory. */
struct cs_part {
	struct cs_step *steps; /* the caller's, `room` of them */
	size_t room, first;
	/* Results of counting. */
	size_t count, all; /* steps of the part; of the plan */
	size_t spare;      /* bytes of the plan's largest REDUCE step */
	bool is_full;
};

struct cs_builder {
	const struct cs_problem *problem; /* problem->rank is the rank that is built for */
	uint32_t note;                    /* goes into every step: set it to the round */
	int port;                         /* of the steps that are added: several senders share
					   * a plan by ports (plan/senders.h). 0 at first */
	size_t most;                      /* steps; one more is NO_MEMORY. 0: as many as fit. Set
					   * before build() */
	struct cs_step_counts *counts;    /* set before build(): steps are counted here and none is
					   * kept */
	struct cs_part *part;             /* set before build(): only those of the part are kept,
					   * and are the plan's steps, which are not to be freed */
	/* private */
	struct cs_plan *plan;
	size_t room;
	struct cs_step counted;           /* the last one that is not kept */
	struct cs_step loop;              /* the REPEAT to come; times 0: none */
	size_t loop_start;                /* its first step */
	int loop_requests;                /* under way before it */
	int *free_requests; /* stack of numbers that were waited for */
	int free_count, free_room;
	enum cs_status status;
	const char *refused; /* UNSUPPORTED: why */
	uint32_t told[CS_SENDERS_MOST]; /* by sender: how often it has told so far */
};

/* `plan` is ready after cs_builder_finish. */
void cs_builder_init(struct cs_builder *builder, const struct cs_problem *problem,
		     struct cs_plan *plan);
/* Waits for all requests still under way, and ends the plan. Not CS_OK: the plan is empty;
 * NO_MEMORY, or UNSUPPORTED if build() refused, which it does on all ranks of a problem or on none:
 * builder->refused says why. */
CS_CHECKED enum cs_status cs_builder_finish(struct cs_builder *builder);
/* For an algorithm that finds that it cannot serve this problem: by what all ranks know alike, so
 * that the host does the call on all of them. `why` is a static phrase ("the number of blocks is
 * odd"), for the report. */
void cs_build_refuse(struct cs_builder *builder, const char *why);
/* For an algorithm that finds no memory to work with while it builds. */
void cs_build_no_memory(struct cs_builder *builder);

/* --- places ----------------------------------------------------------------------------------- */

static inline struct cs_place
cs_in(size_t at)
{
	return (struct cs_place){ CS_IN, at };
}
static inline struct cs_place
cs_out(size_t at)
{
	return (struct cs_place){ CS_OUT, at };
}
static inline struct cs_place
cs_tmp(size_t at)
{
	return (struct cs_place){ CS_TMP, at };
}
static inline struct cs_place
cs_plus(struct cs_place place, size_t bytes)
{
	return (struct cs_place){ place.memory, place.at + bytes };
}
/* Takes `bytes` of CS_TMP, 64-byte aligned. */
struct cs_place cs_build_tmp(struct cs_builder *builder, size_t bytes);

/* --- steps ------------------------------------------------------------------------------------ */

/* Start a message; the result is what cs_build_wait takes, CS_NO_REQUEST for a message of no
 * bytes. Until the wait, data to send must stay as it is, and memory to receive into must not be
 * touched. */
int cs_build_send(struct cs_builder *builder, int peer, struct cs_place from, size_t bytes);
int cs_build_recv(struct cs_builder *builder, int peer, struct cs_place to, size_t bytes);
/* Messages without bytes. */
int cs_build_signal(struct cs_builder *builder, int peer);
int cs_build_hear(struct cs_builder *builder, int peer);

/* Waits for the request; CS_NO_REQUEST: does nothing. Wait for each request once. */
void cs_build_wait(struct cs_builder *builder, int request);
/* Waits for all requests under way. */
void cs_build_wait_all(struct cs_builder *builder);

/* Copies `bytes` bytes; nothing if 0, or from a place to itself. */
void cs_build_copy(struct cs_builder *builder, struct cs_place to, struct cs_place from,
		   size_t bytes);
/* to = left op right; whole elements. */
void cs_build_reduce(struct cs_builder *builder, struct cs_place to, struct cs_place left,
		     struct cs_place right, size_t bytes);

/* Sends and receives at once, and waits for both. */
void cs_build_sendrecv(struct cs_builder *builder, int to_peer, struct cs_place from,
		       size_t send_bytes, int from_peer, struct cs_place to, size_t recv_bytes);

/* --- several senders --------------------------------------------------------------------------
 *
 * Steps of two ports may be those of two processes, which do not wait for each other but here.
 * Without senders (problem->senders) nothing is added. Not within a loop. */

struct cs_ticket {
	int sender;
	uint32_t times;
};
/* From here on others may see all that the port's process has done and waited for. Each process
 * tells at most senders->most times. */
struct cs_ticket cs_build_tell(struct cs_builder *builder, int port);
/* From here on the port's process sees what was told. */
void cs_build_hear_of(struct cs_builder *builder, int port, struct cs_ticket told);
/* From here on the first ports' processes, of so many ports, see it. */
void cs_build_ports_hear_of(struct cs_builder *builder, int ports, struct cs_ticket told);
/* From here on all see what each has done and waited for. */
void cs_build_meet(struct cs_builder *builder);
/* Senders; 1 without. */
static inline int
cs_build_senders(const struct cs_builder *builder)
{
	return builder->problem->senders ? builder->problem->senders->count : 1;
}

/* --- loops ------------------------------------------------------------------------------------ */

/* Loop: steps added from here up to cs_build_repeated run `times` times, at least once. Each time
 * places in CS_IN and CS_OUT are `stride` bytes further, those in CS_TMP are the same, and notes
 * have grown by `rounds`. A request may be started in one turn and waited for in the next if all
 * turns find and leave the same numbers under way: this is so if a message starts behind the wait
 * that gives its number back. Loops do not nest. */
void cs_build_repeat(struct cs_builder *builder, size_t times, size_t stride, uint32_t rounds);
void cs_build_repeated(struct cs_builder *builder);

/* A vector of `segments` segments of `each` bytes, of which the last may be shorter.
 * `write(context, index)` writes what is done for one of them: the same for all that have `window`
 * segments before them and as many whole ones behind them, but for places in CS_IN and CS_OUT,
 * which move on with the segment, and for those in CS_TMP and requests, which come round each
 * `window` segments. However many there are, the plan has no more steps than some windows. Notes
 * are the segments' numbers. */
struct cs_segments {
	size_t total, each, window; /* bytes, bytes, segments */
	void (*write)(void *context, size_t index);
	void *context;
};
void cs_build_segments(struct cs_builder *builder, const struct cs_segments *segments);

/* --- what many algorithms begin with ---------------------------------------------------------- */

/* Returns the place of block `rank` in OUT (allgather, gather). */
struct cs_place cs_build_block(const struct cs_builder *builder, int rank);
/* Own block where it can be sent from: IN, or in place OUT (allgather, gather). */
struct cs_place cs_build_own(const struct cs_builder *builder);
/* Own block into OUT, unless it is in place (allgather, gather). */
void cs_build_keep_own(struct cs_builder *builder);
/* Are blocks [first, first + count) one after another in the program's memory (problem->at)? */
bool cs_build_is_run(const struct cs_builder *builder, int first, int count);
/* Bytes of blocks [first, first + count), indices modulo ranks. */
size_t cs_build_run_bytes(const struct cs_builder *builder, int first, int count);

#endif
