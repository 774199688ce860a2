/* node/copies.h — copies between ranks of a node: into the node's memory and out of it, or straight
 * from the owner's memory. */
#ifndef CS_ALGORITHMS_NODE_COPIES_H
#define CS_ALGORITHMS_NODE_COPIES_H

#include "algorithms/counted.h"
#include "algorithms/op.h"
#include "shm/post.h"

#include <string.h>

/* memcpy for mostly short data. The pointers may be null if `bytes` is 0. */
static inline void
cs_copy(void *to, const void *from, size_t bytes)
{
	if (bytes == 8)
		memcpy(to, from, 8);
	else if (bytes == 4)
		memcpy(to, from, 4);
	else if (bytes)
		memcpy(to, from, bytes);
}

/* The same of data that no other rank reads, in a script. */
static inline void
cs_copy_own(struct cs_op *op, char *to, const char *from, size_t bytes)
{
	if (!cs_node_is_watched(&op->node) || cs_counted_work(op, CS_COUNTED_COPY, bytes))
		cs_copy(to, from, bytes);
}

/* The same into the program's result, which need not be in the cache afterwards. */
static inline void
cs_copy_result(struct cs_op *op, char *to, const char *from, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (bytes < CS_COPY_LONG)
		cs_copy_own(op, to, from, bytes);
	else if (!cs_node_is_watched(&op->node) || cs_counted_work(op, CS_COUNTED_COPY, bytes))
		cs_copy_large(&team->node.results[call->coll][cs_copy_choice_size(call->bytes)], to,
			      from, bytes);
}

/* cs_node_offer of all of these blocks, of which some are not empty. Gaps between blocks may be
 * anything. */
bool cs_copies_offer(struct cs_op *op, const struct cs_blocks *blocks);

/* Should others read blocks of ours, of at most `bytes`, where they are? Decided by copies, and not
 * below the limit eager_bytes: the owner of a block that is read by single copy has to wait for its
 * readers. `from`: the parameter cma_min. */
static inline bool
cs_single_copy_by_copies(struct cs_op *op, size_t from, size_t bytes,
			 const struct cs_copy_cost *cost)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (!cs_op_may_single_copy(op))
		return false;
	return from ? bytes >= from
		    : bytes >= team->node.facts.of[CS_EAGER_BYTES] &&
			      cs_node_single_copy_by_copies(&op->node, call->coll, bytes, cost);
}
/* The readers' copy out of a slot: `bytes` of a block of `block` bytes. */
static inline void
cs_copy_out(struct cs_op *op, size_t block, char *to, const char *from, size_t bytes)
{
	struct cs_call *call = &op->call;
	if (block < op->team->node.facts.of[CS_EAGER_BYTES] || cs_node_is_watched(&op->node))
		cs_copy_result(op, to, from, bytes);
	else
		cs_node_get_copied_in(&op->node, call->coll, block, to, from, bytes);
}

/* Single copy if all wait for all, in `calls` calls of a rank: decided by calls, which end with the
 * operation. */
static inline bool
cs_single_copy_by_calls(struct cs_op *op, size_t from, size_t bytes, size_t calls)
{
	struct cs_team *team = op->team;
	if (!cs_op_may_single_copy(op))
		return false;
	return from ? bytes >= from
		    : bytes >= cs_facts_single_copy(&team->node.facts, calls) &&
			      cs_node_single_copy_by_calls(&op->node, op->call.coll, bytes);
}

_Static_assert(CS_COPY_PATTERNS >= CS_COLL_COUNT, "each collective has its own way of large "
						  "copies");

/* Copy into the node's memory, where other ranks read next. */
static inline void
cs_copy_in(struct cs_op *op, char *to, const char *from, size_t bytes)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (bytes < CS_COPY_LEAST)
		cs_copy_own(op, to, from, bytes);
	else if (!cs_node_is_watched(&op->node) || cs_counted_work(op, CS_COUNTED_COPY, bytes))
		cs_copy_large(&team->node.copies_in[cs_copy_kind(bytes)][call->coll], to, from,
			      bytes);
}

/* Do so many bytes travel in the small slot? A root's calls follow each other without a wait: above
 * the limit rooted_small pieces are cut from the ring, which is larger than a core's own cache, so
 * that their lines have left the reader's cache when they are written again (a Xeon, bcast of 2000
 * B in a row: 0.39 us, of 2500 B 0.24). */
static inline bool
cs_is_small(struct cs_op *op, size_t bytes)
{
	return bytes <= (cs_colls[op->call.coll].rooted ? op->team->node.facts.of[CS_ROOTED_SMALL]
							: CS_SMALL);
}

#endif
