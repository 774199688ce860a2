/* comm/calls/serve_flat.h — what serve_move.c and serve_vector.c share: one buffer of elements as
 * contiguous bytes. */
#ifndef CS_COMM_CALLS_SERVE_FLAT_H
#define CS_COMM_CALLS_SERVE_FLAT_H

#include "comm/calls/serve_common.h"

struct cs_flat {
	void *user;
	MPI_Count count;
	size_t bytes;
	const struct cs_type *type;
};

/* Null or MPI_IN_PLACE, for so much. MPI_BOTTOM is null too, but only derived types that begin
 * elsewhere make sense of it. What may be MPI_IN_PLACE does not come here; MPICH takes others where
 * nothing is to be sent or received. */
bool cs_flat_look_special(const void *buffer, size_t bytes, const struct cs_type *type);

/* `count` elements, the input's or the output's (CS_INPUT, CS_OUTPUT). False if the host should see
 * this (null type, negative count, a null buffer that is to be touched, MPI_IN_PLACE in the wrong
 * place). */
static inline bool
cs_flat_look_at(struct cs_serving *serving, const struct cs_side *side, MPI_Count count, int which,
		struct cs_flat *flat)
{
	flat->type = cs_serving_type(serving, side->type, which);
	if (!flat->type || !cs_serve_bytes(flat->type, count, &flat->bytes))
		return false;
	flat->user = side->buffer;
	flat->count = count;
	return cs_serve_is_memory(side->buffer) ||
	       cs_flat_look_special(side->buffer, flat->bytes, flat->type);
}

static inline bool
cs_flat_look(struct cs_serving *serving, const struct cs_side *side, int which,
	     struct cs_flat *flat)
{
	return cs_flat_look_at(serving, side, side->count, which, flat);
}

/* What of the program's data is put into packed memory: of a call in place only this rank's own
 * block (but of an alltoall all). */
enum cs_filled { CS_NONE, CS_OWN, CS_ALL };

char *cs_flat_pack(struct cs_serving *serving, const struct cs_flat *flat, int which,
		   enum cs_filled filled);

/* Contiguous bytes of the data: the program's own memory, or packed memory `which`. */
static inline char *
cs_flat_open(struct cs_serving *serving, const struct cs_flat *flat, int which,
	     enum cs_filled filled)
{
	if (__builtin_expect(flat->type->is_contiguous, 1))
		return flat->user;
	return cs_flat_pack(serving, flat, which, filled);
}

static inline void
cs_flat_close(struct cs_serving *serving, const struct cs_flat *flat, const char *bytes)
{
	if (__builtin_expect(!flat->type->is_contiguous, 0))
		cs_serve_unpack(serving, flat->type, flat->user, flat->count, bytes);
}

static inline bool
cs_serve_has_root(const struct cs_serving *serving, int root)
{
	const struct cs_comm *communicator = serving->communicator;
	return root >= 0 && root < communicator->size;
}

/* These two are cheap tests for possible aliasing, made in each call; cs_flat_is_refused() does the
 * rest. Does the block `one` begin within the memory of all blocks? */
static inline bool
cs_side_is_among(const struct cs_side *one, const struct cs_side *all, size_t bytes)
{
	return __builtin_expect((uintptr_t)one->buffer - (uintptr_t)all->buffer < bytes, 0);
}

/* Do both begin at one address, or is `one` the block that is `at` bytes into `all`? */
static inline bool
cs_side_is_at(const struct cs_side *one, const struct cs_side *all, size_t at)
{
	uintptr_t from = (uintptr_t)all->buffer, here = (uintptr_t)one->buffer;
	return __builtin_expect(here == from || here == from + at, 0);
}

/* What is sent and what is received begin at one address: the own block and its place on the other
 * side, `at` bytes into it, or the buffers. The former is wrong. MPICH (4.0.2) refuses it where the
 * types are the same; it counts blocks by the data they hold, so what it says of types with gaps is
 * not relied on. Open MPI does not look and mostly gets on with it, so there are programs that do
 * it, perhaps on some ranks only (the root). The latter can be right, on one rank only, too: a
 * root's own data in front of all blocks that it gathers. Only for the host? Else *flat, the side
 * of one block or either of an alltoall, is made a copy if needed; in place it is empty. */
bool cs_flat_is_refused(struct cs_serving *serving, const struct cs_side *one,
			const struct cs_side *all, size_t at, struct cs_flat *flat, int which);

#endif
