/* shm/pool.h — nodes of former teams, kept for the next team of the same processes.
 *
 * Making a segment costs milliseconds (its pages are committed and zeroed), and programs make and
 * free communicators of the same ranks over and over. A node may be used again when each of its
 * processes has left the former team, which is what each of them finds in its own pool. Nothing in
 * it is made anew: the next team goes on with the numbers of its calls.
 *
 *   every process: cs_pool_offer -> names --all to all-->
 *                  cs_pool_take of the first that all have offered, or of none
 *
 * Processes free their communicators in any order, and so have other nodes idle. Threads that make
 * teams of the same processes at the same time each offer other nodes, first of all those that they
 * have put here themselves: then it is likely that the threads that belong together in all
 * processes offer the same ones.
 *
 * What one process has closed is of no use to the others any more. They learn it from the
 * segment. */
#ifndef CS_SHM_POOL_H
#define CS_SHM_POOL_H

#include "shm/node.h"

#include <stdbool.h>

#define CS_POOL_IDLE 16 /* idle nodes kept per process, and no more than */
#define CS_POOL_BYTES ((size_t)64 << 20) /* of segments, */
#define CS_POOL_LEAST 4 /* but so many in any case */

/* Marks a segment as closed, for the others' pools, and closes it. */
void cs_pool_close(struct cs_segment *segment);

/* Moves a node into the pool. Where it is full those go that came first. Returns the bytes of
 * segments that were closed, and the sum of their charges: the node's own, too, where it may not be
 * kept, another process has closed it, there is no memory, or nobody knows whose it is (its key is
 * 0). */
size_t cs_pool_put(struct cs_node *node, bool may_keep, uint64_t *charge);
/* The names of up to CS_POOL_IDLE idle nodes with that key, the last one first, and zeros. They
 * wait for this thread's cs_pool_take. A name is of one node after so many calls; no process has it
 * for another one. */
void cs_pool_offer(uint64_t key, uint64_t names[CS_POOL_IDLE]);
/* Ends what cs_pool_offer has begun: moves the node of that name, which it has told, out of the
 * pool. 0: none. */
void cs_pool_take(uint64_t name, struct cs_node *node);
/* Is there an idle one of whatever processes? */
bool cs_pool_has_idle(void);
/* Closes idle nodes, the first ones first, until `bytes` or more are free; or those that another
 * process has closed. Returns their bytes, and the sum of their charges. */
size_t cs_pool_evict(size_t bytes, uint64_t *charge);
size_t cs_pool_evict_dropped(uint64_t *charge);

#endif
