/* shm/arrived.h — arrival times of a node's ranks in a team's calls, while a report is wanted.
 *
 *   rank's head | .. | 64 words, one for each of its last operations: time << 8 | turn |
 *
 * A rank writes its word before it begins the operation, so that each rank that has data of it
 * finds the word. The turn in a word shows whether it is of another operation. */
#ifndef CS_SHM_ARRIVED_H
#define CS_SHM_ARRIVED_H

#include "shm/node.h"

/* Bits of the turn, which tells operations with one place apart. The bits above are nanoseconds,
 * and wrap around in two years. */
#define CS_TURN_BITS 8

static inline uint64_t
cs_arrived_turn(uint64_t operation)
{
	return operation / CS_LINES & ((1u << CS_TURN_BITS) - 1);
}

/* Writes this rank's arrival time (cs_clock_ns). `operation`: its number, the same on all ranks. */
static inline void
cs_arrived_say(struct cs_node *node, uint64_t operation, uint64_t at_ns)
{
	atomic_store_explicit(&node->self->arrived[operation % CS_LINES],
			      at_ns << CS_TURN_BITS | cs_arrived_turn(operation),
			      memory_order_relaxed);
}

/* Sets *after_ns to a local rank's arrival, in nanoseconds after `since_ns`; below 0: before.
 * False: not written, or overwritten. */
static inline bool
cs_arrived_after(struct cs_node *node, int local, uint64_t operation, uint64_t since_ns,
		 int64_t *after_ns)
{
	uint64_t word = atomic_load_explicit(
		&cs_node_rank(node, local)->arrived[operation % CS_LINES], memory_order_relaxed);
	if ((word & ((1u << CS_TURN_BITS) - 1)) != cs_arrived_turn(operation) || !word)
		return false;
	*after_ns = (int64_t)((word >> CS_TURN_BITS << CS_TURN_BITS) - (since_ns << CS_TURN_BITS)) /
		    (1 << CS_TURN_BITS);
	return true;
}

#endif
