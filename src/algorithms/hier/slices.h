/* hier/slices.h — vectors of a node's ranks, all in their slots from the start of a non-blocking
 * call on, and cut into slices, of which each is worked on by any rank that is there.
 *
 *   post     each rank's whole vector is in its own slots, and a rank may compute for long
 *   work     ranks that find the operands there claim slice after slice (self-scheduling): those
 *            that come to their tests and waits share the work, and the last one does what is left
 *   take     each rank copies its results out of the slots
 *
 * No rank waits for a step of another one that has posted its vector: a claimed slice is made
 * within a step. The order of operands, and so the bits, do not depend on which rank makes a
 * slice. */
#ifndef CS_ALGORITHMS_HIER_SLICES_H
#define CS_ALGORITHMS_HIER_SLICES_H

#include "algorithms/hier/vector.h"
#include "shm/arrive.h"

#define CS_SLICES (CS_ARRIVE_ROUNDS * CS_ARRIVE_PARTS) /* most of a call */

/* In the state of a script. */
struct cs_slices {
	struct cs_vector vector; /* the own one */
	size_t per_slot;         /* elements */
	int each, count;         /* slices of a slot, of the call */
};

/* Slice of the vectors: its elements, and bytes of the vector before it; its slot, and bytes
 * there before it. */
struct cs_sliced {
	size_t count, at, offset;
	uint64_t slot;
};

/* Is it a non-blocking call on one node, whose vectors fit into the ranks' slots? */
bool cs_slices_fit(const struct cs_op *op);

/* Cuts the vector, after the call has begun; is_posted: reserves slots for the own one. */
void cs_slices_init(struct cs_op *op, struct cs_slices *slices, bool is_posted);

struct cs_sliced cs_slices_at(const struct cs_op *op, const struct cs_slices *slices, int slice);

/* Memory of a slice in the slots of a local rank whose vector has been posted. */
char *cs_slices_of(struct cs_op *op, const struct cs_sliced *slice, int local);

/* Words of a slice, of shm/arrive.h. */
static inline uint64_t
cs_slices_round(int slice)
{
	return (uint64_t)slice / CS_ARRIVE_PARTS;
}
static inline int
cs_slices_part(int slice)
{
	return slice % CS_ARRIVE_PARTS;
}

#endif
