/* An answer of our own for the calls that move data: every block as one point-to-point message with
 * the very arguments of the call. Slow and plain; it decides who is right when the host and the
 * library differ. */
#include "diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TAG 31

struct block {
	void *at;
	int count;
	MPI_Datatype type;
	bool is_there;
};

/* Block `b` of a side, in the buffers of set FIRST. */
static struct block
block_of(const struct side *side, int b)
{
	if (!side->is_used)
		return (struct block){0};
	/* MPI_BOTTOM's types have the address built in; here the plain layout and the buffer's
	 * address will do */
	const struct layout *layout = &side->layouts[side->layout_count == 1 ? 0 : b];
	char *base = (char *)side->alloc[FIRST] + side->zero;
	if (side->layout_count > 1 && side->is_bottom)
		return (struct block){0}; /* displacements went into the types */
	long at = side->layout_count > 1 ? side->displs[b] : side->displs[b] * layout->extent;
	return (struct block){base + at, side->counts[b], layout->type, true};
}

/* What this rank sends to rank `to`; in place it lies where it would be received. */
static struct block
outgoing(const struct call *call, int to)
{
	int me = call->comm->rank;
	bool in_place = call->send.is_in_place;
	switch (call->coll) {
	case ALLGATHER:
	case ALLGATHERV:
	case GATHER:
	case GATHERV:
		if (call->coll >= GATHER && to != call->root)
			return (struct block){0};
		return in_place ? (struct block){0} : block_of(&call->send, 0);
	case ALLTOALL:
	case ALLTOALLV:
	case ALLTOALLW:
		return block_of(in_place ? &call->recv : &call->send, to);
	case SCATTER:
	case SCATTERV:
		return call->is_root && !(call->recv.is_in_place && to == me)
		       ? block_of(&call->send, to)
		       : (struct block){0};
	case BCAST:
		return call->is_root && to != me ? block_of(&call->recv, 0) : (struct block){0};
	default:
		return (struct block){0};
	}
}

static struct block
incoming(const struct call *call, int from)
{
	int me = call->comm->rank;
	bool is_own = from == me && call->send.is_in_place;
	switch (call->coll) {
	case ALLGATHER:
	case ALLGATHERV:
	case GATHER:
	case GATHERV:
		return is_own || !call->recv.is_used ? (struct block){0}
						     : block_of(&call->recv, from);
	case ALLTOALL:
	case ALLTOALLV:
	case ALLTOALLW:
		return block_of(&call->recv, from);
	case SCATTER:
	case SCATTERV:
		return from == call->root && !call->recv.is_in_place
		       ? block_of(&call->recv, 0) : (struct block){0};
	case BCAST:
		return from == call->root && me != from ? block_of(&call->recv, 0)
							: (struct block){0};
	default:
		return (struct block){0};
	}
}

static bool
is_judged(const struct call *call)
{
	/* allgathers in place: the own block is sent from where it lies, which outgoing() leaves
	 * out */
	bool is_gathered = call->coll == ALLGATHER || call->coll == ALLGATHERV;
	bool is_in_place = call->send.is_in_place && (is_gathered || call->coll == ALLTOALL ||
						      call->coll == ALLTOALLV ||
						      call->coll == ALLTOALLW);
	/* A long double's padding: see compare.c */
	return !call->has_reduction && call->unit.align < 16 &&
		 !call->comm->remote && call->coll != BARRIER && call->coll != ALLTOALLW &&
		!is_in_place;
}

bool
call_judge(struct call *call, const char *prefix)
{
	if (!is_judged(call))
		return true;
	int n = call->comm->size, pending = 0;
	MPI_Request *requests = malloc(2 * (size_t)n * sizeof(MPI_Request));
	for (int i = 0; i < n; i++) {
		struct block block = incoming(call, i);
		if (block.is_there)
			PMPI_Irecv(block.at, block.count, block.type, i, TAG, call->comm->comm,
				   &requests[pending++]);
	}
	for (int i = 0; i < n; i++) {
		struct block block = outgoing(call, i);
		if (block.is_there)
			PMPI_Isend(block.at, block.count, block.type, i, TAG, call->comm->comm,
				   &requests[pending++]);
	}
	for (int i = 0; i < pending; i++)
		PMPI_Wait(&requests[i], MPI_STATUS_IGNORE);
	free(requests);
	const struct side *recv = &call->recv;
	if (!recv->is_used)
		return true;
	bool is_good = true;
	for (int set = HOST; set <= OURS; set++) {
		if (memcmp(recv->alloc[set], recv->alloc[FIRST], recv->bytes) == 0)
			continue;
		fprintf(stderr, "%s MPI_%s: %s differs from point-to-point messages\n", prefix,
			coll_names[call->coll], set == HOST ? "the host" : "MPI_X");
		is_good = false;
	}
	return is_good;
}
