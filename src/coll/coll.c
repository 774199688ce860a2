#include "coll/coll.h"

#include <string.h>

static const char block[] = "bytes of one rank's block";
static const char vector[] = "bytes of the whole vector";
static const char unknown[] = "not known to all ranks: rules cannot depend on it";

/* Which sizes are equal everywhere: MPI 4.0, 6.4 to 6.11 (type signatures of the blocks must match at all
 * ranks); 6.5 gatherv, 6.6 scatterv: only the root has all counts; 6.8 alltoallv/w: pairwise; 6.11 scans. */
const struct cs_coll_info cs_colls[CS_COLL_COUNT] = {
	[CS_ALLGATHER] = { "allgather", "COLLSHIM_ALLGATHER", true, false, false, block },
	[CS_ALLGATHERV] = { "allgatherv", "COLLSHIM_ALLGATHERV", true, false, false,
			    "mean bytes of a rank's block (total / ranks)", true },
	[CS_ALLREDUCE] = { "allreduce", "COLLSHIM_ALLREDUCE", true, false, true, vector },
	[CS_ALLTOALL] = { "alltoall", "COLLSHIM_ALLTOALL", true, false, false,
			  "bytes of one block (from one rank to one other)" },
	[CS_ALLTOALLV] = { "alltoallv", "COLLSHIM_ALLTOALLV", false, false, false, unknown },
	[CS_ALLTOALLW] = { "alltoallw", "COLLSHIM_ALLTOALLW", false, false, false, unknown },
	[CS_BARRIER] = { "barrier", "COLLSHIM_BARRIER", true, false, false, "always 0" },
	[CS_BCAST] = { "bcast", "COLLSHIM_BCAST", true, true, false, vector },
	[CS_EXSCAN] = { "exscan", "COLLSHIM_EXSCAN", true, false, true, vector },
	[CS_GATHER] = { "gather", "COLLSHIM_GATHER", true, true, false, block },
	[CS_GATHERV] = { "gatherv", "COLLSHIM_GATHERV", false, true, false, unknown },
	[CS_REDUCE] = { "reduce", "COLLSHIM_REDUCE", true, true, true, vector },
	[CS_REDUCE_SCATTER] = { "reduce_scatter", "COLLSHIM_REDUCE_SCATTER", true, false, true, vector, true },
	[CS_REDUCE_SCATTER_BLOCK] = { "reduce_scatter_block", "COLLSHIM_REDUCE_SCATTER_BLOCK", true, false,
				      true, vector },
	[CS_SCAN] = { "scan", "COLLSHIM_SCAN", true, false, true, vector },
	[CS_SCATTER] = { "scatter", "COLLSHIM_SCATTER", true, true, false, block },
	[CS_SCATTERV] = { "scatterv", "COLLSHIM_SCATTERV", false, true, false, unknown },
};

enum cs_coll
cs_coll_by_name(const char *name)
{
	enum cs_coll coll = 0;
	while (coll < CS_COLL_COUNT && strcmp(cs_colls[coll].name, name))
		coll++;
	return coll;
}

const char *
cs_coll_name(int coll)
{
	static const char *const left[] = { "neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall",
					    "neighbor_alltoallv", "neighbor_alltoallw" };
	_Static_assert(sizeof left / sizeof *left == CS_LEFT_END - CS_NEIGHBOR_ALLGATHER, "a name for each");
	if (coll >= 0 && coll < CS_COLL_COUNT)
		return cs_colls[coll].name;
	return coll > CS_COLL_COUNT && coll < CS_LEFT_END ? left[coll - CS_NEIGHBOR_ALLGATHER] : "other";
}
