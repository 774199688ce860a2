/* operation_call.h — calls of virtual ranks: their buffers, what is in them, and what the
 * collective's definition says of the results. */
#ifndef CS_TESTS_OPERATION_CALL_H
#define CS_TESTS_OPERATION_CALL_H

#include "world.h"

#include "algorithms/algorithm.h"

#define CALL_UNIT 2           /* bytes of an element of a reduction */
#define CALL_MOST 196608      /* bytes of a block or of a vector that chance wants */
#define CALL_ROOM (2 << 20)   /* that there can be */

/* One call, the same on all ranks. */
struct spec {
	const struct cs_algorithm *algorithm;
	const struct cs_algorithm *runs; /* the same, or in its place what refuses some plans */
	enum cs_coll coll;
	int salt; /* tells its data from other calls' */
	int root;
	bool in_place, is_commutative;
	bool is_blocking; /* a rank begins no other one before it is over */
	size_t params[CS_MAX_PARAMS + 1]; /* the last one is operation_refuse.c's */
	int inner; /* of them the algorithm's between nodes */
	size_t each; /* bytes of a block, or of the vector */
	size_t wrong_each; /* of a broadcast, which rank `wrong` has in their place; 0: all agree */
	int wrong;
	size_t gap;  /* bytes between blocks of v-calls */
	size_t sizes[WORLD_MOST][WORLD_MOST]; /* from, to: of v-calls */
};

/* One rank's part in it. */
struct part {
	struct cs_op op;
	char *send, *recv;
	size_t send_bytes, recv_bytes;
	size_t arrays[4][WORLD_MOST];
	bool is_over, is_refused, is_left;
	uint64_t digest; /* of both buffers when it began */
};

/* Bytes that one rank's operation copies by shm/put, as it does those of some KiB, and that it
 * reduces. */
struct call_counted {
	const struct world *world;
	uint64_t copied, reduced;
};
/* Of the rank whose turn it is; NULL: nothing is counted. The MPI's own sums are not. */
extern struct call_counted *call_counting;

static inline bool
call_is_v(enum cs_coll coll)
{
	return coll == CS_ALLGATHERV || coll == CS_GATHERV || coll == CS_SCATTERV ||
	       coll == CS_ALLTOALLV || coll == CS_ALLTOALLW;
}

/* Makes the buffers, and part->op.call. */
void call_make(const struct world *world, const struct spec *spec, int rank, struct part *part);
/* What is wrong with the result, or with what else was written; NULL: nothing. */
const char *call_wrong(const struct world *world, const struct spec *spec, int rank,
		       const struct part *part);
/* The program uses its buffers for something else. */
void call_spoil(struct part *part);
void call_free(struct part *part);

#endif
