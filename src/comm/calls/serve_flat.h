/* comm/calls/serve_flat.h — one buffer of elements as contiguous bytes, for serve_move.c and
 * serve_vector.c. */
#ifndef CS_COMM_CALLS_SERVE_FLAT_H
#define CS_COMM_CALLS_SERVE_FLAT_H

#include "comm/calls/serve_common.h"

struct cs_flat {
	void *user;
	MPI_Count count;
	size_t bytes;
	const struct cs_type *type;
};

/* Is a buffer of null or MPI_IN_PLACE valid for so many bytes? MPI_BOTTOM is null, too, but only
 * derived types that begin elsewhere can use it. Arguments that may be MPI_IN_PLACE are not passed
 * here; MPICH accepts it in others if nothing is sent or received. */
bool cs_flat_look_special(const void *buffer, size_t bytes, const struct cs_type *type);

/* Fills *flat for `count` elements of a side (CS_INPUT, CS_OUTPUT). False if the call is for the
 * host (null type, negative count, a null buffer of some bytes, MPI_IN_PLACE in the wrong
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

/* Part of the program's data to be packed: nothing, this rank's own block (of a call in place, but
 * an alltoall), or all. */
enum cs_filled { CS_NONE, CS_OWN, CS_ALL };

char *cs_flat_pack(struct cs_serving *serving, const struct cs_flat *flat, int which,
		   enum cs_filled filled);

/* Contiguous bytes of the data: the program's own memory, or packed memory of side `which`. */
static inline char *
cs_flat_open(struct cs_serving *serving, const struct cs_flat *flat, int which,
	     enum cs_filled filled)
{
	if (__builtin_expect(flat->type->is_contiguous, 1))
		return flat->user;
	return cs_flat_pack(serving, flat, which, filled);
}

void cs_flat_unpack(struct cs_serving *serving, const struct cs_flat *flat, const char *bytes);
static inline void
cs_flat_close(struct cs_serving *serving, const struct cs_flat *flat, const char *bytes)
{
	if (__builtin_expect(!flat->type->is_contiguous, 0))
		cs_flat_unpack(serving, flat, bytes);
}

static inline bool
cs_serve_has_root(const struct cs_serving *serving, int root)
{
	const struct cs_comm *communicator = serving->communicator;
	return root >= 0 && root < communicator->size;
}

/* Does the block `one` begin within the memory of all blocks? This test and the next are cheap,
 * made in each call; cs_flat_is_refused() does the rest. */
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

/* Is a call with aliased sides only for the host? Either the own block is also its place on the
 * other side, `at` bytes into it, or both buffers begin at one address. The former is an error.
 * MPICH (4.0.2) refuses it if the types are the same; it counts blocks by their data, so its answer
 * for types with gaps is not relied on. Open MPI does not check and mostly works, so there are
 * programs that do it, perhaps on some ranks only (the root). The latter can be right, on one rank
 * only, too: a root's own data in front of all blocks that it gathers. If false, *flat (the side of
 * one block, or either of an alltoall; empty in place) is made a copy if necessary. */
bool cs_flat_is_refused(struct cs_serving *serving, const struct cs_side *one,
			const struct cs_side *all, size_t at, struct cs_flat *flat, int which);

#endif
