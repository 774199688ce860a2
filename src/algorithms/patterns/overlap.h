/* patterns/overlap.h — between nodes straight from and into their shared memory; copy-out while the next transfer runs
 * (seed 004).
 *
 *   leader         send k ----> | wait k | flag k up | send k+1 ----> | copy out k | wait k+1 ...
 *   other ranks                            flag k up:   copy out k                            ...
 *
 * Over verbs the leader's messages are single RDMA writes from one node's segment into another's, and the flag is raised
 * by the leader when the write's completion has come, or by the device (COLLSHIM_IB_ARRIVAL=flag). Over the host's wire
 * the same algorithm runs by messages. */
#ifndef CS_ALGORITHMS_PATTERNS_OVERLAP_H
#define CS_ALGORITHMS_PATTERNS_OVERLAP_H

#include "algorithms/message.h"

#define CS_OVERLAP_CHUNK                                                                             \
	{ "wire_chunk", "bytes of all blocks per round between nodes", 4 << 20, 4 << 10, 64 << 20 }

/* Allgather and allgatherv, sizes from call->recv. */
void cs_overlap_spread(struct cs_op *op, size_t wire_chunk);

#define CS_OVERLAP_MOST 32 /* steps between nodes, or children in a tree of them: log2 of their number, which is an int */

/* The binomial tree of nodes, by places counted from the root's node: children of a place differ from it in one bit below its
 * lowest. The nearest first, which is the one with the fewest nodes below it. Returns how many. */
int cs_overlap_children(int place, int nodes, int children[CS_OVERLAP_MOST]);
static inline int
cs_overlap_parent(int place)
{
	return place & (place - 1);
}

/* A use of an area slot, with its flags. */
struct cs_stage {
	char *area;
	_Atomic uint64_t *flags;
	uint64_t turn;
};

/* False: there is none yet. */
static inline bool
cs_stage_take(struct cs_op *op, struct cs_stage *stage)
{
	char *area = cs_node_try_area(&op->node, SIZE_MAX); /* small slots have no flags */
	if (!area)
		return false;
	*stage = (struct cs_stage){ area, cs_node_area_flags(op->node.node, area), cs_node_area_turn(&op->node) };
	return true;
}

/* Done with the oldest `count` of them. */
static inline void
cs_stage_done(struct cs_op *op, uint64_t count)
{
	cs_node_area_done(&op->node, SIZE_MAX, count);
}

/* The leader has a message: everybody on the node may know. */
static inline void
cs_stage_raise(struct cs_op *op, const struct cs_stage *stage, int flag)
{
	cs_node_store(op->node.node, &stage->flags[flag], stage->turn);
}

static inline bool
cs_stage_is_up(struct cs_op *op, const struct cs_stage *stage, int flag)
{
	return cs_node_is_flag_up(&op->node, cs_team_leader(op->team), &stage->flags[flag], stage->turn);
}

/* Begins such a call on the node, which holds so many slots of the area at a time. */
static inline void
cs_stage_start(struct cs_op *op, uint64_t slots, cs_phase *const *script)
{
	cs_op_start(op, script);
	if (op->node.extras & CS_OP_NONBLOCKING)
		cs_node_reserve_area(&op->node, slots);
}

/* Waits, as a phase, for step `step` of all other local ranks, from local rank *next on. */
static inline enum cs_status
cs_stage_meet(struct cs_op *op, int *next, uint64_t step)
{
	const struct cs_node_shape *shape = &op->team->node.shape;
	for (; *next < shape->size; ++*next)
		if (*next != shape->local && !cs_node_look(&op->node, *next, step))
			return CS_AGAIN;
	*next = 0;
	return CS_OK;
}

#endif
