/* shm/measure.h — measurement of the facts of a node (shm/node_facts.h): the least of several
 * attempts, since disturbances only make times longer. 0: not known. */
#ifndef CS_SHM_MEASURE_H
#define CS_SHM_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CS_MEASURE_MOST 1000000 /* of any fact, as in a tuning file */

/* Some ten us for each attempt. */
uint32_t cs_measure_copy_rate(unsigned attempts);
uint32_t cs_measure_page_ns(unsigned attempts);
uint32_t cs_measure_call_ns(unsigned attempts);

/* Time of a hop between two ranks, which call it together (`is_second` on one): ball[0] and
 * ball[1], a cache line each, are 0 before. If they share cores it is the mean, else the least mean
 * of CS_MEASURE_TRIPS round trips. Each returns after `most_ns` in any case, the second one always
 * 0. */
#define CS_MEASURE_TRIPS 8
uint32_t cs_measure_hop_ns(_Atomic uint32_t *const ball[2], bool is_second, bool shares_cores,
			   unsigned attempts, uint64_t most_ns);

#endif
