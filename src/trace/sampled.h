/* trace/sampled.h — a profile samples frequent short collectives (cs_report_call). */
#ifndef CS_TRACE_SAMPLED_H
#define CS_TRACE_SAMPLED_H

#include <stdint.h>

/* Begins to sample, after cs_report_begin and before the first call. */
void cs_sampled_begin(void);
/* Brings the times of all calls into their rows, after the last one. Returns the ns that timing and
 * counting took on this rank. */
uint64_t cs_sampled_end(void);

#endif
