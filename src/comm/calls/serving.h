/* comm/calls/serving.h — state of one collective call of the program, from its entry to its return.
 * It lies on the entry's stack; all state of the call is here and in its operation. */
#ifndef CS_COMM_CALLS_SERVING_H
#define CS_COMM_CALLS_SERVING_H

#include "algorithms/op.h"
#include "comm/teams/comm.h"

struct cs_serving {
	struct cs_comm *communicator;    /* NULL: the call is the host's */
	struct cs_cached_choice *cached; /* select's choice; NULL: not asked, because: */
	const char *unasked;
	size_t bytes;             /* as select counts them, if there is a choice */
	int result;               /* with CS_OUTCOME_ERROR: MPI_ERR_TRUNCATE or MPI_ERR_OTHER */
	const void *caller; /* of a call that is not blocking: its return address */
	struct cs_op op;
	struct cs_type types[2];  /* of input and output, if not in the table */
	/* Called when the operation of a non-blocking call is over; NULL: nothing is left to do.
	 * `results`: memory of its own, freed then. */
	void (*finish)(struct cs_serving *serving, void *results);
	void *results;
};

/* Is the call non-blocking, and has its operation not ended? */
static inline bool
cs_serving_goes_on(const struct cs_serving *serving)
{
	unsigned both = CS_OP_NONBLOCKING | CS_OP_GOES_ON;
	return (serving->op.node.extras & both) == both;
}

enum { CS_INPUT, CS_OUTPUT }; /* indexes types, packed buffers and halves of the sizes */

/* Begins a call on a communicator of this cs_comm, which may be NULL. */
static inline void
cs_serving_init(struct cs_serving *serving, struct cs_comm *communicator)
{
	serving->communicator = communicator;
	serving->op.node.outcome.bits = 0;
	serving->op.node.extras = 0;
}

void cs_serving_fini_slow(struct cs_serving *serving);

/* Ends the call; its memory is kept for the next one. */
static inline void
cs_serving_fini(struct cs_serving *serving)
{
	if (__builtin_expect(serving->op.node.extras & (CS_OP_MEMORY | CS_OP_BUSY), 0))
		cs_serving_fini_slow(serving);
}

const struct cs_type *cs_serving_type_slow(struct cs_serving *serving, MPI_Datatype handle,
					   int which);

/* Description of a datatype, or NULL if it is not served. If not predefined, it is made anew in
 * each call, and is valid until the next one for the same side (`which`). */
static inline const struct cs_type *
cs_serving_type(struct cs_serving *serving, MPI_Datatype handle, int which)
{
	if (__builtin_expect(serving->communicator->known_type->handle == handle, 1))
		return serving->communicator->known_type;
	return cs_serving_type_slow(serving, handle, which);
}

/* Counts a call that is left to the host, with the reason noted in *serving. Returns its arrival
 * time (cs_clock_ns); 0: as cs_report_call, or it ended here with an error. */
uint64_t cs_serving_arrived(struct cs_serving *serving, enum cs_coll coll, size_t bytes);
/* Ends a call that the host did, which arrived at arrived_ns (or 0), and records it if it
 * succeeded. `root`: unused if the collective has none; `caller`: a return address. */
void cs_serving_end_host(struct cs_serving *serving, enum cs_coll coll, int root,
			 uint64_t arrived_ns, int result, const void *caller);

#endif
