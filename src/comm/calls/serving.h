/* comm/calls/serving.h — one collective call of the program from its entry to its return, while
 * comm/ looks at it, serves it, or leaves it to the host. It lies on the entry's stack: what
 * belongs to the call being made is here and in its operation, and nowhere else. */
#ifndef CS_COMM_CALLS_SERVING_H
#define CS_COMM_CALLS_SERVING_H

#include "algorithms/op.h"
#include "comm/teams/comm.h"

struct cs_serving {
	struct cs_comm *communicator;    /* NULL: we have no say in this communicator */
	struct cs_cached_choice *cached; /* what select said; NULL: it was not asked, because: */
	const char *unasked;
	size_t bytes;             /* as select counts them, where there is an answer */
	int result;               /* of a served call, with CS_OUTCOME_ERROR: MPI_ERR_TRUNCATE or
				   * MPI_ERR_OTHER */
	struct cs_op op;
	struct cs_type types[2];  /* of input and output, for types that are not in the table */
};

enum { CS_INPUT, CS_OUTPUT }; /* which of the call's types, packed buffers and halves of its
			       * sizes */

/* Begins a call on a communicator of this cs_comm, which may be NULL. */
static inline void
cs_serving_init(struct cs_serving *serving, struct cs_comm *communicator)
{
	serving->communicator = communicator;
	serving->op.node.outcome.bits = 0;
	serving->op.node.outcome.truncated = 0;
	serving->op.node.extras = 0;
}

void cs_serving_fini_slow(struct cs_serving *serving);

/* Ends it: its memory is kept for the next call. */
static inline void
cs_serving_fini(struct cs_serving *serving)
{
	if (__builtin_expect(serving->op.node.extras & CS_OP_MEMORY, 0))
		cs_serving_fini_slow(serving);
}

const struct cs_type *cs_serving_type_slow(struct cs_serving *serving, MPI_Datatype handle,
					   int which);

/* What a datatype is, or NULL if we do not serve it. What is not in the table of types is looked at
 * anew in each call, and is valid until the next look for the same side. */
static inline const struct cs_type *
cs_serving_type(struct cs_serving *serving, MPI_Datatype handle, int which)
{
	if (__builtin_expect(serving->communicator->known_type->handle == handle, 1))
		return serving->communicator->known_type;
	return cs_serving_type_slow(serving, handle, which);
}

/* When a call arrived that is timed and left to the host. */
uint64_t cs_serving_arrived(const struct cs_serving *serving);
/* Counts a call of that size that the host did, with that result, by what was noted while it was
 * looked at, and records it. `root`: its rank, or anything. */
void cs_serving_end_host(struct cs_serving *serving, enum cs_coll coll, int root, size_t bytes,
			 uint64_t arrived_ns, int result);

#endif
