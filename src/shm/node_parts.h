/* shm/node_parts.h — internal functions of the files of shm/node.h: node.c (layout and
 * initialisation), node_wait.c (waiting for other ranks), node_slots.c (rings and areas),
 * give_back.c (freeing their pages), single_copy.c (reading other ranks' memory). */
#ifndef CS_SHM_NODE_PARTS_H
#define CS_SHM_NODE_PARTS_H

#include "shm/node_slots.h"

#define LINE CS_CACHE_LINE

static inline size_t
cs_round_up(size_t value, size_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* Has `local` the same only core? */
static inline bool
cs_node_is_same_core(struct cs_node *node, int local)
{
	return node->only_cpu >= 0 && node->only_cpu == cs_node_rank(node, local)->only_cpu;
}

/* Waits until all local ranks' area_done words of that kind are at least `target`. */
void cs_node_area_wait(struct cs_node_op *op, enum cs_area_kind kind, uint64_t target);

/* Answers requests for help: copies pieces of offered memory for other ranks. Was there a
 * request? */
bool cs_node_help(struct cs_node *node);

#endif
