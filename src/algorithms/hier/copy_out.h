/* hier/copy_out.h — copy-out of an allgather or a broadcast over several nodes: ways from the
 * node's area to the ranks' results (seed 002, 2.3.3).
 *
 *   copy     each rank copies out of the area
 *   host     the MPI broadcasts on the node
 *   hybrid   a piece comes once into each cache's part of the node (else package's), to the ring of
 *            one rank of it, along a tree of these ranks (node/relay.h); its mates copy it out
 *            there. Ranks in the cache of the one that has filled the area copy out of that.
 *   by size  the hybrid from a size on that the node model gives (algorithms/levels.h), else copy
 *
 * The hybrid's data goes through rings and not from a result to the next by single copy, which
 * takes the kernel's time for each page and reader: by the model `epyc`, 1 MiB to 7 mates 277 us,
 * with three of them at a time, where a ring that is read while it is filled costs the copy of its
 * last piece. So nobody waits for readers at the end, and it serves where single copy is
 * refused. */
#ifndef CS_ALGORITHMS_HIER_COPY_OUT_H
#define CS_ALGORITHMS_HIER_COPY_OUT_H

#include "algorithms/algorithm.h"
#include "algorithms/op.h"
#include "shm/post.h"

/* Parameter. */
#define CS_COPY_OUT \
	{ "out", "copy-out over several nodes: 0: each rank copies; 1: the MPI broadcasts on the " \
		 "node; 2: hybrid, once for each cache; 3: 0 or 2, by size and the node model", \
	  CS_OUT_BY_SIZE, 0, CS_OUT_WAYS - 1, .role = CS_ROLE_COPY_OUT }

/* Is the copy-out the MPI's broadcast? Not in a non-blocking call, and not if the node's
 * communicator was refused: the same on all ranks. */
static inline bool
cs_copy_out_is_by_host(const struct cs_op *op, size_t out)
{
	return out == CS_OUT_HOST && op->team->has_locals &&
	       !(op->node.extras & (CS_OP_NONBLOCKING | CS_NODE_WATCHED));
}

/* Broadcasts `bytes` from `from` of local rank `root`, whose data is there, to `to` of all. */
void cs_copy_out_by_host(struct cs_op *op, int root, char *from, char *to, size_t bytes);

/* A rank's part of the hybrid. But for `bytes` all local ranks have the same above the line. */
struct cs_hybrid {
	int home;             /* local rank that fills the area, or leads those that do */
	size_t least;         /* bytes, as `home` tells them, from which it is the copy-out */
	size_t bytes;         /* of the call, as this rank has them; others: nothing is passed on */
	bool is_decided;
	/* --- */
	int from;             /* local rank whose ring is read; -1: the area */
	bool is_read;         /* other ranks read the own ring */
	bool is_there;        /* the result is, without this rank's copy; others read the area */
	bool has_come;        /* the round, to the area */
	size_t told;          /* bytes of the call, as the node's home has them */
	uint64_t piece, read; /* next one of the round; of the call */
	struct cs_post post;
};

/* After the start: the copy-out may be the hybrid, if `out` and the node's levels want it, in a
 * call that is not non-blocking and has no senders. A round has at most `limit` bytes, the same on
 * all local ranks; local rank `home` fills the area, or leads those that do. The call's `bytes`
 * decide as `home` has told them, in its line's bytes or along the tree, so that ranks of a wrong
 * program, which differ in them, decide alike. */
void cs_copy_out_begin(struct cs_op *op, size_t out, size_t bytes, size_t limit, int home);

struct cs_hier_round;
/* Part of a phase: decides, when the first round has come. */
enum cs_status cs_copy_out_decide(struct cs_op *op, const struct cs_hier_round *round);
/* Part of a phase: passes on and takes a round that has come. */
enum cs_status cs_copy_out_take(struct cs_op *op, const struct cs_hier_round *round);

#endif
