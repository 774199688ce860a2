/* coll/call.h — one call, as bytes. comm/ makes it from MPI's arguments: derived types are packed
 * before and unpacked after, so every algorithm sees contiguous blocks only. All pointers are the
 * application's or comm/'s scratch memory and are valid during the call. */
#ifndef CS_COLL_CALL_H
#define CS_COLL_CALL_H

#include "coll/coll.h"
#include "wire/host.h"

#include <stdbool.h>
#include <stddef.h>

/* Blocks by rank: block r is at base + at[r], bytes[r] long; with bytes == NULL all are `each`
 * long, one after another. */
struct cs_blocks {
	char *base;
	size_t each;
	const size_t *bytes, *at;
};

static inline size_t
cs_blocks_bytes(const struct cs_blocks *blocks, int rank)
{
	return blocks->bytes ? blocks->bytes[rank] : blocks->each;
}

static inline char *
cs_blocks_at(const struct cs_blocks *blocks, int rank)
{
	return blocks->base + (blocks->bytes ? blocks->at[rank] : (size_t)rank * blocks->each);
}

/* The largest of the first `ranks` blocks but that of rank `but`, if they are of several sizes. */
static inline size_t
cs_blocks_largest(const struct cs_blocks *blocks, int ranks, int but)
{
	size_t most = blocks->bytes ? 0 : blocks->each;
	for (int rank = 0; blocks->bytes && rank < ranks; rank++)
		if (rank != but && blocks->bytes[rank] > most)
			most = blocks->bytes[rank];
	return most;
}

/* The signature of the collective (cs_colls) says what goes in, here as `send`, and what comes
 * out, as `recv`:
 *
 *   CS_OWN_BLOCK   base, `bytes` long (reduce_scatter(_block): the own one of `counts`)
 *   CS_ALL_BLOCKS  blocks by rank
 *   CS_VECTOR      base; `count` elements, or of a bcast `bytes`, and in recv at the root, too
 *
 * In place: an own block whose base is NULL is where it is among all blocks (allgather(v),
 * gather(v), scatter(v)); alltoall(v,w) and reductions have the same memory twice. If this rank
 * receives nothing recv.base is NULL. */
struct cs_call {
	enum cs_coll coll;
	int root;
	size_t bytes;  /* own block or whole vector, as above */
	size_t count;  /* reductions: elements of the whole vector */
	struct cs_blocks send, recv;
	const size_t *counts; /* reduce_scatter: elements for each rank; NULL: count / ranks each */
	struct cs_reduction reduction;
	bool is_commutative; /* the operation; reductions */
};

/* Signature check of a call, equal on all ranks, in the upper 16 bits of a word: the collective (5
 * bits), and 11 bits of a root, or of what cs_call_detail makes of a reduction. Each line of a call
 * carries it (shm/node.h). */
#define CS_SIGNATURE_SHIFT 48
#define CS_SIGNATURE_DETAIL 0x7ffu
static inline uint64_t
cs_call_signature(enum cs_coll coll, unsigned detail)
{
	return ((uint64_t)coll + 1) << (CS_SIGNATURE_SHIFT + 11) |
	       (uint64_t)(detail & CS_SIGNATURE_DETAIL) << CS_SIGNATURE_SHIFT;
}
/* The collective in a signature's 16 bits. CS_COLL_COUNT and above: no signature. */
static inline enum cs_coll
cs_call_coll(uint64_t signature)
{
	return (enum cs_coll)((signature >> 11 & 31) - 1);
}
static inline unsigned
cs_call_detail(unsigned kind, int root)
{
	return (unsigned)(((uint64_t)kind << 32 | (unsigned)root) * 0x9e3779b97f4a7c15 >> 53);
}

/* Is an alltoall(v,w) in place? One memory alone does not say so: blocks are counted from the
 * lowest, so those to be sent and those received may be counted from the same address without
 * having one in common. */
static inline bool
cs_call_is_in_place(const struct cs_call *call)
{
	return call->send.base == call->recv.base && call->send.at == call->recv.at;
}

/* Sets these three members and clears all others, one by one, because clearing it all at once
 * compiles to a loop. */
static inline void
cs_call_init(struct cs_call *call, enum cs_coll coll, int root, size_t bytes)
{
	call->coll = coll;
	call->root = root;
	call->bytes = bytes;
	call->count = 0;
	call->send = (struct cs_blocks){ 0 };
	call->recv = (struct cs_blocks){ 0 };
	call->counts = NULL;
	call->reduction = (struct cs_reduction){ 0 };
	call->is_commutative = false;
}

#endif
