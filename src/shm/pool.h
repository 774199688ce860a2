/* shm/pool.h — pool of former teams' nodes, for the next team of the same processes.
 *
 * Making a segment takes milliseconds (its pages are committed and zeroed), and programs make and
 * free communicators of the same ranks over and over. A node may be reused when each of its
 * processes has left the former team, and so has the node in its pool. Nothing in it is initialised
 * again: the next team continues the call numbers.
 *
 *   every process: cs_pool_offer -> names --all to all-->
 *                  cs_pool_take of the first name that all have offered, or of 0
 *
 * Processes free communicators in any order, so their idle nodes differ. Threads that make teams of
 * the same processes at the same time offer different nodes, at first those that they have put here
 * themselves: so corresponding threads of all processes likely offer the same ones.
 *
 * A node that one process has closed cannot be reused by the others, which find a mark in the
 * segment. */
#ifndef CS_SHM_POOL_H
#define CS_SHM_POOL_H

#include "shm/node.h"

#include <stdbool.h>

#define CS_POOL_IDLE 16 /* most idle nodes kept per process, and */
#define CS_POOL_BYTES ((size_t)64 << 20) /* most bytes of their segments, */
#define CS_POOL_LEAST 4 /* but at least so many nodes */

/* Marks a segment as closed, for the others' pools, and closes it. */
void cs_pool_close(struct cs_segment *segment);

/* Moves a node into the pool, and closes the oldest ones if it is full. Returns the bytes of closed
 * segments; *charge: the sum of their charges. The node itself is closed if it may not be kept,
 * another process has closed it, there is no memory, or its key is 0. */
size_t cs_pool_put(struct cs_node *node, bool may_keep, uint64_t *charge);
/* Fills `names` with those of up to CS_POOL_IDLE idle nodes with that key, the last one first, and
 * zeros. The nodes are held for this thread until cs_pool_take. A name stands for one node and its
 * number of calls, in all processes. */
void cs_pool_offer(uint64_t key, uint64_t names[CS_POOL_IDLE]);
/* Ends this thread's cs_pool_offer: moves the offered node of that name out of the pool to *node,
 * and releases the others. 0: none is moved. */
void cs_pool_take(uint64_t name, struct cs_node *node);
/* Is there an idle node, of any processes? */
bool cs_pool_has_idle(void);
/* Close idle nodes, but those offered: the oldest ones, until `bytes` or more are freed; or those
 * that another process has closed. Return the bytes of their segments; *charge: the sum of their
 * charges. */
size_t cs_pool_evict(size_t bytes, uint64_t *charge);
size_t cs_pool_evict_dropped(uint64_t *charge);

#endif
