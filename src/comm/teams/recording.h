/* comm/teams/recording.h — records when this rank arrives at its collectives and when it leaves
 * them (COLLSHIM_ARRIVALS; trace/arrivals_file.h is the file), and, while a report is wanted, keeps
 * some calls in memory (trace/samples.h) and brings the counts of all ranks to rank 0.
 *
 *   MPI_Init       ranks with one clock (a node) are found, and the offsets between nodes' clocks
 *                  measured, by all ranks that record; the file is made
 *   a call         one record when it is left
 *   MPI_Finalize   the offsets again; the end of the file; kept calls and counts are sent to rank 0
 *
 * Without the variables nothing of this happens, and no clock is read. Calls on communicators of
 * one rank, intercommunicators, and communicators with processes outside of MPI_COMM_WORLD are not
 * recorded. */
#ifndef CS_COMM_TEAMS_RECORDING_H
#define CS_COMM_TEAMS_RECORDING_H

#include "comm/teams/comm.h"

/* Allocates memory for the clocks, before the ranks agree on whether all can record. False: not
 * wanted, or no memory. */
bool cs_recording_prepare(void);
/* Makes this rank's file, and synchronises the clocks if `is_agreed`: all ranks of MPI_COMM_WORLD
 * are here. Failures are logged, and the job goes on. */
void cs_recording_open(bool is_agreed);
/* Ends the recording, if there is one; collective if the clocks were synchronised. Merges the
 * counts of all ranks in rank 0's report, with the waiting times of the kept calls, if all ranks
 * want a report and have agreed on it at MPI_Init. */
void cs_recording_close(void);

/* Are some calls kept? The same on all ranks. */
bool cs_recording_keeps(void);
/* Has this process room for more of them? */
bool cs_recording_has_room(void);
/* Keeps a timed call: op's times, collective, root and row of the report. `call`: its number, the
 * same on all ranks. Thread-safe. */
void cs_recording_keep(struct cs_comm *communicator, uint64_t call, const struct cs_op *op,
		       bool is_deferred);

/* Records a call that all ranks of the communicator have made. `root`: its rank, unused if the
 * collective has none; `bytes`: as the report counts them; times: of cs_clock_ns. Thread-safe. */
void cs_recording_add(struct cs_comm *communicator, enum cs_coll coll, int root, size_t bytes,
		      bool is_deferred, uint64_t arrived_ns, uint64_t left_ns);

#endif
