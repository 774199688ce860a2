/* shm/node_parts.h — what the files of shm/node.h share among themselves: node.c (layout and life),
 * node_wait.c (waiting for other ranks), node_slots.c (rings and areas), single_copy.c (reading
 * other ranks' memory). */
#ifndef CS_SHM_NODE_PARTS_H
#define CS_SHM_NODE_PARTS_H

#include "shm/node_slots.h"

#define LINE CS_CACHE_LINE

static inline size_t
cs_round_up(size_t value, size_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* Has `local` the same one core? */
static inline bool
cs_node_is_same_core(struct cs_node *node, int local)
{
	return node->only_cpu >= 0 && node->only_cpu == cs_node_rank(node, local)->only_cpu;
}

/* Waits until all local ranks are done with `target` area slots of that kind. */
void cs_node_area_wait(struct cs_node_op *op, enum cs_area_kind kind, uint64_t target);

/* Gives other ranks what they ask for just now of the memory that is offered to them; did anybody
 * ask? */
bool cs_node_help(struct cs_node *node);

#endif
