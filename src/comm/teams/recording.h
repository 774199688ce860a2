/* comm/teams/recording.h — records when this rank arrives at its collectives and when it leaves
 * them (COLLSHIM_ARRIVALS; trace/arrivals_file.h is the file), and, while a report is wanted of a
 * job on several nodes, keeps some calls in memory (trace/samples.h).
 *
 *   MPI_Init       all ranks that record: who has one clock (a node), how far nodes' clocks are
 *                  apart; the file is made
 *   a call         one record when it is left
 *   MPI_Finalize   how far the clocks are apart by now; the end of the file; what was kept goes to
 *                  rank 0
 *
 * Without the variables nothing of this happens, and no clock is read. Not recorded are calls on
 * communicators of one rank, between two groups, and with processes outside of MPI_COMM_WORLD. */
#ifndef CS_COMM_TEAMS_RECORDING_H
#define CS_COMM_TEAMS_RECORDING_H

#include "comm/teams/comm.h"

/* Gets what a recording needs. Before the agreement of the ranks, which says whether all can. */
bool cs_recording_prepare(void);
/* Makes this rank's file, and brings the clocks together where `is_agreed`: all ranks of
 * MPI_COMM_WORLD are here. What goes wrong is told, and the job goes on. */
void cs_recording_open(bool is_agreed);
/* Ends it, if there is one; with the clocks, all ranks that have opened it so. The report learns
 * how long was waited in the calls that were kept. */
void cs_recording_close(void);

/* Are some calls kept: on all ranks, which are on several nodes? */
bool cs_recording_keeps(void);
/* Keeps a timed call that a team has served. Any thread may. */
void cs_recording_keep(struct cs_comm *communicator, const struct cs_op *op);

/* Records a call on the communicator, which all of its ranks have made. `root`: its rank, or -1;
 * `bytes` as the report counts them. Any thread may. */
void cs_recording_add(struct cs_comm *communicator, enum cs_coll coll, int root, size_t bytes,
		      bool is_deferred, uint64_t arrived_ns, uint64_t left_ns);

#endif
