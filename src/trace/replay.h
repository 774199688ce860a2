/* trace/replay.h — arrivals that a job has recorded (docs/arrivals.md) as a pattern of lateness
 * (seed 002, 3.8). */
#ifndef CS_TRACE_REPLAY_H
#define CS_TRACE_REPLAY_H

#include "trace/imbalance.h"

/* Loads the files of all ranks that imbalance->path names (the rank for %r, or behind it and a
 * dot). Takes the calls that all ranks have recorded on the first communicator of all `ranks`
 * ranks: a delay is an arrival, on rank 0's clock, behind the first one of that call. CS_BAD_INPUT:
 * `complaint` says which file is missing, is none, ends early, or is of another job, of other
 * ranks, or of clocks that cannot be compared; CS_NO_MEMORY likewise. imbalance->recorded is the
 * caller's to free. */
CS_CHECKED enum cs_status cs_replay_load(struct cs_imbalance *imbalance, int ranks,
					 char *complaint, size_t room);

#endif
