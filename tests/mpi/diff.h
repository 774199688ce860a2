/* tests/mpi/diff.h — the differential test: every call once by MPI_X and once by PMPI_X, results
 * compared.
 *
 * With the library preloaded MPI_X is the library's and PMPI_X is the host's. Everything a case
 * does follows from (seed, case), so that one case can be replayed alone; nothing is carried from
 * one case to the next.
 *
 *   case -> communicator, 1..20 calls -> each call: two sets of buffers with the same bytes
 *           set HOST is given to PMPI_X, set OURS to MPI_X; set FIRST keeps what they held before
 *
 *   | guard | lowest byte of any block ... highest byte of any block | guard | compared whole,
 *   gaps included */
#ifndef DIFF_H
#define DIFF_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- random numbers: splitmix64; the same on every rank that starts from the same numbers ---- */

struct rng {
	uint64_t state;
};

static inline uint64_t
rng_mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static inline uint64_t
rng_next(struct rng *rng)
{
	return rng_mix(rng->state += UINT64_C(0x9e3779b97f4a7c15));
}

static inline struct rng
rng_from(uint64_t a, uint64_t b, uint64_t c)
{
	return (struct rng){rng_mix(rng_mix(rng_mix(a + 1) + b + 1) + c + 1)};
}

static inline int
rng_below(struct rng *rng, long n)
{
	return n <= 1 ? 0 : (int)(rng_next(rng) % (uint64_t)n);
}

static inline int
rng_between(struct rng *rng, long low, long high)
{
	return (int)low + rng_below(rng, high - low + 1);
}

static inline bool
rng_chance(struct rng *rng, int percent)
{
	return rng_below(rng, 100) < percent;
}

void rng_fill(struct rng *rng, void *bytes, size_t n);
void rng_permute(struct rng *rng, int *order, int n); /* order[0..n) becomes a permutation */

/* ---- types.c: datatypes ---- */

enum kind { K_INT, K_UINT, K_FORTRAN_INT, K_MULTI, K_FLOAT, K_COMPLEX, K_BOOL, K_LOGICAL, K_BYTE,
	    K_CHAR, K_PAIR };

struct basic {
	MPI_Datatype type;
	const char *name;
	enum kind kind;
	size_t size, extent, align;
	/* K_PAIR: how the value and its index look */
	enum kind value_kind, index_kind;
	size_t value_size, index_offset, index_size;
};

extern struct basic basics[];
extern int basic_count;
void basics_init(void);

/* A signature: a few basic elements; a block of a call is a whole number of units. */
#define UNIT_MAX 5
struct unit {
	int elements;
	const struct basic *basic[UNIT_MAX];
	size_t bytes, align;
	bool is_mixed;
	char text[120];
};
void unit_make(struct unit *unit, struct rng *rng);

/* One MPI datatype whose signature is `units` units, in some layout. */
struct layout {
	MPI_Datatype type;
	bool is_owned;
	int units;
	MPI_Aint extent, true_lb, true_extent;
	char text[200];
};
/* `capacity`: how many instances at distance `extent` may have to lie in one buffer without
 * overlap. */
void layout_make(struct layout *layout, const struct unit *unit, int units, long capacity,
		 struct rng *rng);
/* The same without gaps (for units that are not mixed). */
void layout_make_plain(struct layout *layout, const struct unit *unit, int units);
void layout_make_empty(struct layout *layout, const struct unit *unit, struct rng *rng);
void layout_describe(struct layout *layout); /* fills the extents from the type */
void layout_free(struct layout *layout);

/* ---- the collectives ---- */

enum coll {
	ALLGATHER, ALLGATHERV, ALLREDUCE, ALLTOALL, ALLTOALLV, ALLTOALLW, BARRIER, BCAST, EXSCAN,
		GATHER, GATHERV, REDUCE,
	REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, SCATTER, SCATTERV, COLL_COUNT
};

/* ---- ops.c: reductions ---- */

enum comparison { CMP_BYTES, CMP_VALUES, CMP_PAIRS, CMP_NEAR };

struct reduction {
	MPI_Op op;
	bool is_op_owned, is_product;
	struct layout layout;
	const struct basic *basic; /* predefined type, or NULL */
	enum comparison comparison;
	int values; /* which values are put in: ops.c */
	int user;   /* user op, or -1 */
	char text[260];
};
void reduction_make(struct reduction *reduction, enum coll coll, struct rng *rng);
void reduction_free(struct reduction *reduction);
/* Has the library a loop of its own for it? Else non-blocking calls with it are the host's. */
bool reduction_has_kernel(const struct reduction *reduction);
/* Values for `count` elements at `base`, as rank `rank` contributes them. */
void reduction_fill(const struct reduction *reduction, void *base, long count, uint64_t seed,
		    int rank);
/* Index of the first differing element or -1. CMP_NEAR: against the inputs of `ranks` ranks, whose
 * element `first + i` is compared with element i. */
long reduction_differ(const struct reduction *reduction, const void *host, const void *ours,
		      long count, uint64_t seed, int ranks, long first);
/* Set by a user function that was handed something impossible; read and cleared by the caller. */
extern const char *user_op_complaint;

/* ---- comms.c: communicators ---- */

#define COMM_SLOTS 10
struct comm {
	MPI_Comm comm; /* MPI_COMM_NULL where this rank is not a member */
	int rank, size, remote; /* remote: size of the remote group; 0 for an intracommunicator */
	long generation;
	bool is_owned;
	bool is_first_alone; /* rank 0 (of either group) has its node to itself, and another has
			      * not */
	char text[120];
};
extern struct comm comms[COMM_SLOTS];
void comms_init(uint64_t seed);
struct comm *comms_get(int slot, long number); /* collective over MPI_COMM_WORLD */
void comms_free(void);

/* ---- calls.c, invoke.c, compare.c: calls ---- */

extern const char *const coll_names[COLL_COUNT];

enum { HOST, OURS, FIRST, SETS };

struct side {
	bool is_used, is_in_place, is_bottom;
	int blocks;
	struct layout *layouts; /* one, or one per block (alltoallw) */
	int layout_count;
	MPI_Datatype bottom_types[SETS], *bottom_lists[SETS];
	/* what is passed */
	void *buffer[SETS];
	int count, *counts, *displs;
	MPI_Count *counts_c;
	MPI_Aint *displs_c;
	MPI_Datatype type[SETS], *types[SETS];
	/* what lies behind it */
	unsigned char *alloc[SETS];
	size_t bytes, zero; /* size of alloc, and where in it the address of `buffer` is */
	long reduce_count;  /* elements of a reduction at `zero` */
};

struct call {
	enum coll coll;
	struct comm *comm;
	int root;
	bool is_root, is_large_form, is_far_root, is_nothing_typed, is_sent_plain, is_all_plain,
	     may_be_bottom;
	uint64_t seed;
	struct unit unit;
	int per; /* units in one element of every rank's type, or 0: as each likes */
	struct side send, recv;
	struct reduction reduction;
	bool has_reduction;
	long reduce_first; /* number of the first element in the receive buffer among the reduced
			    * ones */
	int error[SETS];
	MPI_Request request; /* of call_begin or call_make_request */
	bool is_begun, is_persistent; /* made by call_begin; by call_make_request */
	bool is_empty; /* no rank has anything to move */
};

struct limits {
	long bytes;          /* per rank and call */
	bool is_coll_wanted[COLL_COUNT];
};

void call_make(struct call *call, struct comm *comm, uint64_t seed, const struct limits *limits);
/* Other data for the same arguments. */
void call_refill(struct call *call, uint64_t seed);
/* The set OURS or FIRST by MPI_Ix, or a request for it by MPI_X_init. */
void call_begin(struct call *call, int set);
void call_make_request(struct call *call, int set);
void call_free_request(struct call *call);
/* Starts those of `calls` whose indices are in which[0..count), by one function. */
void calls_start(struct call *calls, int count, const int *which);
int call_invoke(struct call *call, int set); /* set OURS and FIRST: MPI_X; HOST: PMPI_X */
/* true if all is well; else prints what differs after `prefix`, at most one line, and the call's
 * description. */
bool call_compare(struct call *call, const char *prefix);
/* After call_compare, on every rank: is the result (CMP_NEAR) the same when the call is made again
 * in the same way, and the same on all ranks? */
bool call_repeat(struct call *call, const char *prefix);
/* Whose answer is right? The same data moved by point-to-point messages, compared with both; for a
 * replay. Every rank of the communicator takes part. */
bool call_judge(struct call *call, const char *prefix);
void call_describe(const struct call *call);
void call_free(struct call *call);
/* Debugging of the test itself: no block of a receive buffer overlaps another, no gap was
 * written. */
bool call_selfcheck(struct call *call, const char *prefix);

#endif
