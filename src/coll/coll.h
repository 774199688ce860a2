/* coll/coll.h — the collectives by name, and what all ranks of one call know about it. */
#ifndef CS_COLL_COLL_H
#define CS_COLL_COLL_H

#include "base/wire_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_coll {
	CS_ALLGATHER,
	CS_ALLGATHERV,
	CS_ALLREDUCE,
	CS_ALLTOALL,
	CS_ALLTOALLV,
	CS_ALLTOALLW,
	CS_BARRIER,
	CS_BCAST,
	CS_EXSCAN,
	CS_GATHER,
	CS_GATHERV,
	CS_REDUCE,
	CS_REDUCE_SCATTER,
	CS_REDUCE_SCATTER_BLOCK,
	CS_SCAN,
	CS_SCATTER,
	CS_SCATTERV,
	CS_COLL_COUNT,
};

/* A set of collectives has a bit for each. */
#define CS_SET(coll) (UINT32_C(1) << (coll))

/* Collectives that are never served, and are counted if a report is wanted. */
enum cs_left {
	CS_NEIGHBOR_ALLGATHER = CS_COLL_COUNT + 1,
	CS_NEIGHBOR_ALLGATHERV,
	CS_NEIGHBOR_ALLTOALL,
	CS_NEIGHBOR_ALLTOALLV,
	CS_NEIGHBOR_ALLTOALLW,
	CS_LEFT_END,
};
/* Added to a collective's number: its non-blocking or persistent form, in the report. */
enum { CS_NONBLOCKING = 64, CS_PERSISTENT = 2 * CS_NONBLOCKING };

/* Kind of a rank's input to a call, or of its output. */
enum cs_data {
	CS_NO_DATA,
	CS_OWN_BLOCK,  /* one block, this rank's */
	CS_ALL_BLOCKS, /* a block for, or from, each rank */
	CS_VECTOR,     /* what a broadcast sends and reductions add up, undivided */
};

/* Ranks that have such data. */
enum cs_who {
	CS_EACH,
	CS_ROOT,
	CS_NOT_ROOT,
	CS_NOT_FIRST, /* all but rank 0 */
};

struct cs_flow {
	enum cs_data what;
	enum cs_who who;
};

/* Ranks that know the sizes of blocks (MPI 4.0, 6.4 to 6.11: type signatures must match). */
enum cs_sizes {
	CS_SIZES_EQUAL,   /* all: there is one size */
	CS_SIZES_KNOWN,   /* all know all of them */
	CS_SIZES_AT_ROOT, /* the root knows all, another rank its own */
	CS_SIZES_BY_PAIR, /* a rank knows those of the blocks that it sends and receives */
};

/* Ranks whose vectors a result is the sum of. */
enum cs_sum {
	CS_SUM_NONE, /* the collective has no operation */
	CS_SUM_ALL,
	CS_SUM_UP_TO_OWN,
	CS_SUM_BEFORE_OWN,
};

struct cs_coll_info {
	const char *name;     /* "allgather": in variables, tuning files, reports */
	const char *nonblocking; /* "iallgather": in reports */
	const char *persistent;  /* "allgather_init" */
	const char *variable; /* "COLLSHIM_ALLGATHER" */
	const char *nonblocking_variable; /* "COLLSHIM_IALLGATHER" */
	struct cs_flow in, out;
	enum cs_sizes sizes;
	enum cs_sum sum;
	enum cs_coll between;      /* what hierarchical algorithms have the leaders of nodes do */
	const char *bytes_meaning; /* what "bytes" counts: "bytes of one rank's block" */
	/* Facts that follow from the members above. */
	bool bytes_agreed; /* all ranks know the size; else no rule may depend on it */
	bool has_skew;     /* blocks of several sizes, all of which all ranks know */
	bool rooted;
	bool reduces;
};

extern const struct cs_coll_info cs_colls[CS_COLL_COUNT];

/* Is there anything in that flow for the rank? `root` is looked at where there is one. */
static inline bool
cs_flow_reaches(struct cs_flow flow, int rank, int root)
{
	bool is_left_out = (flow.who == CS_ROOT && rank != root) ||
			   (flow.who == CS_NOT_ROOT && rank == root) ||
			   (flow.who == CS_NOT_FIRST && rank == 0);
	return flow.what != CS_NO_DATA && !is_left_out;
}

/* Are there blocks at all, or is what moves a vector, or nothing? */
static inline bool
cs_coll_has_blocks(const struct cs_coll_info *coll)
{
	return (coll->in.what != CS_NO_DATA && coll->in.what != CS_VECTOR) ||
	       (coll->out.what != CS_NO_DATA && coll->out.what != CS_VECTOR);
}

/* A sum of all ranks' vectors whose blocks go to their ranks. */
static inline bool
cs_coll_is_scattered(const struct cs_coll_info *coll)
{
	return coll->reduces && coll->out.what == CS_OWN_BLOCK;
}

/* Has each rank a result of its own, the sum of ranks up to it? */
static inline bool
cs_coll_is_scan(const struct cs_coll_info *coll)
{
	return coll->sum == CS_SUM_UP_TO_OWN || coll->sum == CS_SUM_BEFORE_OWN;
}

/* Ranks whose arrival a rank has to wait for, since its data comes from them. */
enum cs_depends {
	CS_DEPENDS_ALL,
	CS_DEPENDS_ROOT,     /* the root's */
	CS_DEPENDS_AT_ROOT,  /* at the root all, at the others nobody's */
	CS_DEPENDS_UP_TO,    /* those of the ranks below its own */
};
static inline enum cs_depends
cs_coll_depends(const struct cs_coll_info *coll)
{
	return coll->out.who == CS_ROOT	? CS_DEPENDS_AT_ROOT
	       : coll->in.who == CS_ROOT ? CS_DEPENDS_ROOT
	       : cs_coll_is_scan(coll)	? CS_DEPENDS_UP_TO
					: CS_DEPENDS_ALL;
}
/* Does `rank` need the arrival of `other`? */
static inline bool
cs_coll_depends_on(const struct cs_coll_info *coll, int rank, int root, int other)
{
	switch (cs_coll_depends(coll)) {
	case CS_DEPENDS_ROOT: return other == root;
	case CS_DEPENDS_AT_ROOT: return rank == root;
	case CS_DEPENDS_UP_TO: return other < rank;
	default: return true;
	}
}

/* The collective of that name (lower case, as in cs_colls), or CS_COLL_COUNT. */
enum cs_coll cs_coll_by_name(const char *name);

/* Name of an enum cs_coll, also with CS_NONBLOCKING ("ibcast"), or an enum cs_left; "other" for any
 * other number. */
const char *cs_coll_name(int coll);

/* cs_facts.bytes where the size is not equal on all ranks (bytes_agreed is false). */
#define CS_BYTES_UNKNOWN SIZE_MAX

/* Skew of the blocks: the largest over the mean, as 1 (below 1.5), 2 (below 3), 4, ... `mean` may
 * be 0. */
static inline int
cs_skew(const size_t *blocks, int count, size_t mean)
{
	size_t most = 0;
	int skew = 1;
	for (int i = 0; i < count; i++)
		most = blocks[i] > most ? blocks[i] : most;
	/* In integers: a program may trap on inexact floating point. */
	while (mean && (unsigned __int128)most * 2 >= (unsigned __int128)mean * 3 * (unsigned)skew)
		skew *= 2;
	return skew;
}

/* cs_skew for a largest block of `ratio` means, 2^24 at most. */
static inline int
cs_skew_of(size_t ratio)
{
	ratio = ratio < (size_t)1 << 24 ? ratio : (size_t)1 << 24;
	return cs_skew(&ratio, 1, 1);
}

/* Placement of ranks on several nodes of which some has more than one rank; on others they are
 * always block placed. */
enum cs_placement {
	CS_PLACEMENT_EITHER, /* of a rule: it does not ask */
	CS_PLACEMENT_BLOCK,  /* ranks of a node are consecutive */
	CS_PLACEMENT_CYCLIC, /* or not: dealt round the nodes in turn, or mixed */
};

/* Form of a call: MPI_Bcast, or MPI_Ibcast. */
enum cs_form {
	CS_FORM_EITHER, /* of a rule: it does not ask */
	CS_FORM_BLOCKING,
	CS_FORM_NONBLOCKING,
};

/* Imbalance of arrivals at a team's calls, as it was measured and agreed (algorithms/epoch.h); by
 * rising lateness. */
enum cs_balance { CS_BALANCED, CS_MODERATE, CS_STRONG, CS_BALANCES };
extern const char *const cs_balance_names[CS_BALANCES + 1]; /* ended by NULL */

/* CS_BALANCES: no such name. */
enum cs_balance cs_balance_by_name(const char *name);

/* Is `imbalance` in the set? A bit for each name; 0: any. */
static inline bool
cs_balance_fits(unsigned set, enum cs_balance imbalance)
{
	return !set || (set >> imbalance & 1);
}

/* Equal on every rank of the call: by the standard, or agreed when the team was made. Choice may
 * depend on these only (the type system's guard against deadlock by local facts). */
struct cs_facts {
	enum cs_coll coll;
	size_t bytes; /* by cs_colls[coll].bytes_meaning */
	int ranks;
	int nodes;
	int ppn_min, ppn_max;     /* ranks per node, smallest and largest */
	bool is_block_placed;     /* ranks of a node are consecutive */
	bool is_commutative;      /* reductions: the operation; others: true */
	int skew;                 /* cs_skew of the blocks where has_skew; else 1 */
	/* Wire between nodes of the team's plans, CS_WIRE_HOST or CS_WIRE_IB: agreed when the
	 * team is made, since a process without a device would choose another algorithm than its
	 * peers. */
	int wire;
	enum cs_balance imbalance; /* as agreed last */
	bool is_nonblocking;
	/* Messages of non-blocking calls are progressed whenever the MPI waits for anything; not
	 * looked at if the call is blocking. */
	bool has_progress;
	/* Otherwise: on several nodes a thread that makes no call of the MPI steps them, as agreed
	 * when the team is made. */
	bool by_thread;
};

static inline enum cs_placement
cs_placement_of(const struct cs_facts *facts)
{
	return facts->is_block_placed ? CS_PLACEMENT_BLOCK : CS_PLACEMENT_CYCLIC;
}

static inline enum cs_form
cs_form_of(const struct cs_facts *facts)
{
	return facts->is_nonblocking ? CS_FORM_NONBLOCKING : CS_FORM_BLOCKING;
}

/* Value of the key `nonblocking` of a rule that asks. */
static inline const char *
cs_form_word(enum cs_form form)
{
	return form == CS_FORM_NONBLOCKING ? "yes" : "no";
}

#endif
