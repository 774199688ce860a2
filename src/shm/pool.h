/* shm/pool.h — segments of former teams, kept for the next team of the same processes.
 *
 * Making a segment costs milliseconds (its pages are committed and zeroed), and programs make and free communicators of
 * the same ranks over and over. A segment may be used again when each of its processes has left the former team, which is
 * what each of them finds in its own pool. */
#ifndef CS_SHM_POOL_H
#define CS_SHM_POOL_H

#include "shm/segment.h"

#include <stdbool.h>

#define CS_POOL_IDLE 4 /* idle segments kept per process */

/* Notes whose an attached segment is (copied). Without memory nothing is noted and the segment is never pooled. */
void cs_pool_remember(const struct cs_segment *segment, const int64_t *pids, int count);
/* Before it is closed; the others learn it from the segment. */
void cs_pool_forget(const struct cs_segment *segment);

/* Moves a segment into the pool; false (and the caller keeps it) if it is unknown or the pool is full. */
bool cs_pool_put(struct cs_segment *segment);
/* An idle segment of just these processes and this size: its ticket. */
bool cs_pool_offer(const int64_t *pids, int count, size_t bytes, struct cs_segment_ticket *ticket);
/* Moves the idle segment of that ticket out of the pool; false if it is not there. */
bool cs_pool_take(const struct cs_segment_ticket *ticket, struct cs_segment *segment);
/* Is there an idle one of whatever processes? */
bool cs_pool_has_idle(void);
/* Closes all idle segments, or only those that another process has closed; returns their bytes, and the sum of their charges. */
size_t cs_pool_evict(bool only_dropped, uint64_t *charge);

#endif
