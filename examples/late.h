/* examples/late.h — lets the ranks of an example come late to its collectives, as collshim-bench
 * does (--imbalance PATTERN; trace/imbalance.h has the patterns). Without a pattern it does
 * nothing. */
#ifndef EXAMPLES_LATE_H
#define EXAMPLES_LATE_H

#include "base/clock.h"
#include "trace/imbalance.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define LATE_OPTION 'I' /* the same letter in all of them */

struct late {
	struct cs_imbalance imbalance;
	struct cs_imbalance_job job;
	int *node_of;
	int rank;
	uint64_t call;
};

/* Collective over all ranks: reads the pattern, NULL: none. 0, or -1 after a line on rank 0's
 * stderr. */
static inline int
late_begin(struct late *late, const char *program, const char *pattern)
{
	char complaint[300] = "";
	MPI_Comm node;
	int lowest;
	*late = (struct late){ .imbalance.kind = CS_IMBALANCE_NONE };
	if (pattern == NULL)
		return 0;
	MPI_Comm_rank(MPI_COMM_WORLD, &late->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &late->job.ranks);
	int is_right = cs_imbalance_read(pattern, &late->imbalance, complaint,
					 sizeof complaint) == CS_OK &&
		       cs_imbalance_fits(&late->imbalance, late->job.ranks, complaint,
					 sizeof complaint) == CS_OK;
	if (is_right && late->imbalance.kind == CS_IMBALANCE_FILE) {
		is_right = 0;
		snprintf(complaint, sizeof complaint, "recorded arrivals are for collshim-bench");
	}
	late->node_of = malloc((size_t)late->job.ranks * sizeof *late->node_of);
	if (!is_right || late->node_of == NULL) {
		if (late->rank == 0)
			fprintf(stderr, "%s: -I: %s\n", program, complaint);
		late->imbalance.kind = CS_IMBALANCE_NONE;
		return -1;
	}
	/* Nodes are numbered by their lowest rank. */
	MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
	MPI_Allreduce(&late->rank, &lowest, 1, MPI_INT, MPI_MIN, node);
	MPI_Comm_free(&node);
	MPI_Allgather(&lowest, 1, MPI_INT, late->node_of, 1, MPI_INT, MPI_COMM_WORLD);
	for (int rank = 0; rank < late->job.ranks; rank++)
		late->node_of[rank] = late->node_of[rank] == rank
				      ? late->job.nodes++ : late->node_of[late->node_of[rank]];
	late->job.node_of = late->node_of;
	return 0;
}

/* Before each collective: comes as late to it as the pattern says, by sleeping. */
static inline void
late_come(struct late *late)
{
	if (late->imbalance.kind != CS_IMBALANCE_NONE)
		cs_imbalance_come_at(cs_clock_ns() +
				     (uint64_t)cs_imbalance_delay(&late->imbalance, &late->job,
								  late->call++, late->rank));
}

static inline void
late_end(struct late *late)
{
	free(late->node_of);
}

#endif
