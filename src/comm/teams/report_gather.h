/* comm/teams/report_gather.h — brings the counts of all ranks to rank 0 at MPI_Finalize, over the
 * recording's private communicator (comm/teams/recording.h). */
#ifndef CS_COMM_TEAMS_REPORT_GATHER_H
#define CS_COMM_TEAMS_REPORT_GATHER_H

#include "trace/samples.h"

#include <mpi.h>
#include <stdbool.h>

struct cs_gathering {
	MPI_Comm comm; /* of all ranks, in the order of MPI_COMM_WORLD */
	/* Calls kept by this rank, by rank 0's clock, with its struct cs_report_row in `row`; at
	 * most kept_most on any rank. */
	struct cs_sampled_call *kept;
	size_t kept_count, kept_most;
	int node;         /* of this rank */
	bool is_first;    /* the first rank of its node */
	bool is_one_node; /* of all ranks: waiting times of served calls are counted already */
};

/* Collective over gathering->comm. Without memory a rank sends nothing; if rank 0 has none, or the
 * MPI fails, its report is of rank 0 alone, and says so. */
void cs_report_gather(const struct cs_gathering *gathering);

/* Waits for a request that the MPI gave with `result`, politely; true: MPI_SUCCESS. */
bool cs_gather_finish(int result, MPI_Request *request);
/* Allgather of `bytes` from each rank. */
bool cs_gather_words(const void *own, size_t bytes, void *all, MPI_Comm comm);

#endif
