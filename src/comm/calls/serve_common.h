/* comm/calls/serve_common.h — functions for serve_move.c, serve_vector.c and serve_reduce.c. */
#ifndef CS_COMM_CALLS_SERVE_COMMON_H
#define CS_COMM_CALLS_SERVE_COMMON_H

#include "comm/host/flavour.h"
#include "comm/calls/choose.h"
#include "comm/calls/serve.h"
#include "comm/types/types.h"

/* Runs the operation's call by the chosen algorithm, and notes errors. `signature`:
 * cs_call_signature; for a reduction, with the bytes in its lower bits. False: the plan was
 * refused, on all ranks; nothing was written, and the host is to do the call. */
bool cs_serve_run(struct cs_serving *serving, uint64_t signature);
static inline uint64_t
cs_serve_reduction_signature(const struct cs_call *call)
{
	return cs_call_signature(call->coll, cs_call_detail(call->reduction.kind, call->root)) |
	       call->bytes;
}

/* Returns four arrays of one size_t per rank, for the sizes and places of a v-call's blocks. They
 * are the communicator's, for the call until it returns; a non-blocking call has its own. Ends the
 * job if there is no memory. */
size_t *cs_serve_sizes_slow(struct cs_serving *serving);
static inline size_t *
cs_serve_sizes(struct cs_serving *serving)
{
	size_t *sizes = serving->communicator->sizes; /* NULL in a non-blocking call's entry */
	return __builtin_expect(sizes != NULL, 1) ? sizes : cs_serve_sizes_slow(serving);
}

/* Postpones work on the results of a non-blocking call whose operation goes on: `finish` is called
 * with a copy of the `bytes` at `results` once it is over. False: it is over, or blocking. */
bool cs_serve_postpone(struct cs_serving *serving,
		       void (*finish)(struct cs_serving *serving, void *results),
		       const void *results, size_t bytes);

/* Keeps a derived type until the call is over, since the program may free it before
 * (MPI 4.0, 6.12): the handle becomes a duplicate, which cs_serve_drop_type frees. */
void cs_serve_keep_type(struct cs_type *type);
void cs_serve_drop_type(struct cs_type *type);

/* Notes the errors of an operation that is over. */
void cs_serve_note_wrong(struct cs_serving *serving);

/* Memory for packed data of a side (CS_INPUT, CS_OUTPUT), until the call ends. Ends the job if
 * there is none (the others are waiting already). */
char *cs_serve_packed(struct cs_serving *serving, int which, size_t bytes);
/* Bytes of `count` elements. False if count < 0, or on overflow. */
static inline bool
cs_serve_bytes(const struct cs_type *type, MPI_Count count, size_t *bytes)
{
	return count >= 0 && !__builtin_mul_overflow((size_t)count, type->size, bytes);
}

static inline MPI_Count
cs_serve_count_at(const struct cs_vector_args *vector, int rank)
{
	return vector->is_large ? ((const MPI_Count *)vector->counts)[rank]
				: ((const int *)vector->counts)[rank];
}

/* Is the buffer neither null nor MPI_IN_PLACE, which is 1 or -1? One comparison, since each call
 * makes it. */
static inline bool
cs_serve_is_memory(const void *buffer)
{
	return __builtin_expect((uintptr_t)buffer + 1 > 2, 1);
}

/* cs_type_pack and cs_type_unpack, timed for the report as part of the chosen algorithm. They end
 * the job if the host refuses: the call cannot be undone. */
void cs_serve_pack(struct cs_serving *serving, const struct cs_type *type, const void *user,
		   MPI_Count count, char *packed);
void cs_serve_unpack(struct cs_serving *serving, const struct cs_type *type, void *user,
		     MPI_Count count, const char *packed);

#endif
