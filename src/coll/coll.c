/* coll/coll.c — has the table of collectives with their signatures. */
#include "coll/coll.h"

#include <string.h>

#define BLOCK "bytes of one rank's block"
#define VECTOR "bytes of the whole vector"
#define UNKNOWN "not known to all ranks: rules cannot depend on it"

#define ROW(COLL, label, in_what, in_who, out_what, out_who, size, sums, leaders, meaning)        \
	[CS_##COLL] = {                                                                            \
		.name = label, .nonblocking = "i" label, .persistent = label "_init",              \
		.variable = "COLLSHIM_" #COLL, .nonblocking_variable = "COLLSHIM_I" #COLL,         \
		.bytes_meaning = meaning,                                                          \
		.in = { CS_##in_what, CS_##in_who }, .out = { CS_##out_what, CS_##out_who },       \
		.sizes = CS_SIZES_##size, .sum = CS_SUM_##sums, .between = CS_##leaders,           \
		.bytes_agreed = CS_SIZES_##size <= CS_SIZES_KNOWN,                                 \
		.has_skew = CS_SIZES_##size == CS_SIZES_KNOWN,                                     \
		.rooted = CS_##in_who == CS_ROOT || CS_##out_who == CS_ROOT,                       \
		.reduces = CS_SUM_##sums != CS_SUM_NONE,                                           \
	}

/* The signature of each collective: what goes in, and at which ranks, and what comes out;
 * who knows the sizes of blocks, whose vectors are summed, what is left to do between nodes, and
 * what the call's size counts. */
const struct cs_coll_info cs_colls[CS_COLL_COUNT] = {
	ROW(ALLGATHER, "allgather", OWN_BLOCK, EACH, ALL_BLOCKS, EACH,
	    EQUAL, NONE, ALLGATHER, BLOCK),
	ROW(ALLGATHERV, "allgatherv", OWN_BLOCK, EACH, ALL_BLOCKS, EACH,
	    KNOWN, NONE, ALLGATHERV, "mean bytes of a rank's block (total / ranks)"),
	ROW(ALLREDUCE, "allreduce", VECTOR, EACH, VECTOR, EACH,
	    EQUAL, ALL, ALLREDUCE, VECTOR),
	ROW(ALLTOALL, "alltoall", ALL_BLOCKS, EACH, ALL_BLOCKS, EACH,
	    EQUAL, NONE, ALLTOALLV, "bytes of one block (from one rank to one other)"),
	ROW(ALLTOALLV, "alltoallv", ALL_BLOCKS, EACH, ALL_BLOCKS, EACH,
	    BY_PAIR, NONE, ALLTOALLV, UNKNOWN),
	ROW(ALLTOALLW, "alltoallw", ALL_BLOCKS, EACH, ALL_BLOCKS, EACH,
	    BY_PAIR, NONE, ALLTOALLV, UNKNOWN),
	ROW(BARRIER, "barrier", NO_DATA, EACH, NO_DATA, EACH,
	    EQUAL, NONE, BARRIER, "always 0"),
	ROW(BCAST, "bcast", VECTOR, ROOT, VECTOR, NOT_ROOT,
	    EQUAL, NONE, BCAST, VECTOR),
	ROW(EXSCAN, "exscan", VECTOR, EACH, VECTOR, NOT_FIRST,
	    EQUAL, BEFORE_OWN, EXSCAN, VECTOR),
	ROW(GATHER, "gather", OWN_BLOCK, EACH, ALL_BLOCKS, ROOT,
	    EQUAL, NONE, GATHERV, BLOCK),
	ROW(GATHERV, "gatherv", OWN_BLOCK, EACH, ALL_BLOCKS, ROOT,
	    AT_ROOT, NONE, GATHERV, UNKNOWN),
	ROW(REDUCE, "reduce", VECTOR, EACH, VECTOR, ROOT,
	    EQUAL, ALL, REDUCE, VECTOR),
	ROW(REDUCE_SCATTER, "reduce_scatter", VECTOR, EACH, OWN_BLOCK, EACH,
	    KNOWN, ALL, REDUCE_SCATTER, VECTOR),
	ROW(REDUCE_SCATTER_BLOCK, "reduce_scatter_block", VECTOR, EACH, OWN_BLOCK, EACH,
	    EQUAL, ALL, REDUCE_SCATTER, VECTOR),
	ROW(SCAN, "scan", VECTOR, EACH, VECTOR, EACH,
	    EQUAL, UP_TO_OWN, EXSCAN, VECTOR),
	ROW(SCATTER, "scatter", ALL_BLOCKS, ROOT, OWN_BLOCK, EACH,
	    EQUAL, NONE, SCATTERV, BLOCK),
	ROW(SCATTERV, "scatterv", ALL_BLOCKS, ROOT, OWN_BLOCK, EACH,
	    AT_ROOT, NONE, SCATTERV, UNKNOWN),
};

enum cs_coll
cs_coll_by_name(const char *name)
{
	enum cs_coll coll = 0;
	while (coll < CS_COLL_COUNT && strcmp(cs_colls[coll].name, name))
		coll++;
	return coll;
}

const char *const cs_balance_names[CS_BALANCES + 1] = { "balanced", "moderate", "strong",
							    NULL };

enum cs_balance
cs_balance_by_name(const char *name)
{
	enum cs_balance imbalance = CS_BALANCED;
	while (imbalance < CS_BALANCES && strcmp(cs_balance_names[imbalance], name))
		imbalance++;
	return imbalance;
}

const char *
cs_coll_name(int coll)
{
	static const char *const left[] = { "neighbor_allgather", "neighbor_allgatherv",
					    "neighbor_alltoall",
					    "neighbor_alltoallv", "neighbor_alltoallw" };
	_Static_assert(sizeof left / sizeof *left == CS_LEFT_END - CS_NEIGHBOR_ALLGATHER,
		       "a name for each");
	if (coll >= 0 && coll < CS_COLL_COUNT)
		return cs_colls[coll].name;
	if (coll >= CS_NONBLOCKING && coll < CS_NONBLOCKING + CS_COLL_COUNT)
		return cs_colls[coll - CS_NONBLOCKING].nonblocking;
	if (coll >= CS_PERSISTENT && coll < CS_PERSISTENT + CS_COLL_COUNT)
		return cs_colls[coll - CS_PERSISTENT].persistent;
	return coll > CS_COLL_COUNT && coll < CS_LEFT_END ? left[coll - CS_NEIGHBOR_ALLGATHER]
							  : "other";
}
