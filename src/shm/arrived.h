/* shm/arrived.h — when the ranks of a node came to the calls of a team, while a report is wanted.
 *
 *   rank's head | .. | 64 words, one for each of its last operations: time << 8 | turn |
 *
 * A rank writes its word before it begins the operation; who has got something that depends on
 * that rank finds it. A word of another operation says so by its turn. */
#ifndef CS_SHM_ARRIVED_H
#define CS_SHM_ARRIVED_H

#include "shm/node.h"

/* Bits of a word that say which of the operations with this place it is of; what is above them is
 * nanoseconds, and comes round in two years. */
#define CS_TURN_BITS 8

static inline uint64_t
cs_arrived_turn(uint64_t operation)
{
	return operation / CS_LINES & ((1u << CS_TURN_BITS) - 1);
}

/* Writes when this rank came, by cs_clock_ns. `operation`: its number, the same on all ranks. */
static inline void
cs_arrived_say(struct cs_node *node, uint64_t operation, uint64_t at_ns)
{
	atomic_store_explicit(&node->self->arrived[operation % CS_LINES],
			      at_ns << CS_TURN_BITS | cs_arrived_turn(operation),
			      memory_order_relaxed);
}

/* How long after `since_ns` a local rank came, in nanoseconds; below 0: before. False: it does not
 * say, or not any more. */
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
