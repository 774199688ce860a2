/* trace/samples.c puts samples of all ranks together. */
#include "trace/samples.h"

#include "coll/coll.h"

#include <stdlib.h>

static int
compare(const void *left, const void *right)
{
	const struct cs_sampled_call *a = left, *b = right;
	if (a->comm != b->comm)
		return a->comm < b->comm ? -1 : 1;
	if (a->call != b->call)
		return a->call < b->call ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

/* Are these all ranks' of one call? */
static bool
are_whole(const struct cs_sampled_call *call, size_t count)
{
	if (count != (size_t)call->size || call->coll < 0 || call->coll >= CS_COLL_COUNT)
		return false;
	for (size_t i = 0; i < count; i++)
		if (call[i].rank != (int32_t)i || call[i].size != call->size ||
		    call[i].coll != call->coll ||
		    (cs_colls[call->coll].rooted && call[i].root != call->root))
			return false;
	return true;
}

static uint64_t
waited(const struct cs_sampled_call *call, int rank)
{
	const struct cs_coll_info *coll = &cs_colls[call->coll];
	const struct cs_sampled_call *own = &call[rank];
	int64_t last = own->arrived_ns;
	for (int other = 0; other < call->size; other++)
		if (cs_coll_depends_on(coll, rank, call->root, other) &&
		    call[other].arrived_ns > last)
			last = call[other].arrived_ns;
	/* The clocks are not so well together that this could not be after it left. */
	last = last < own->left_ns ? last : own->left_ns;
	return last > own->arrived_ns ? (uint64_t)(last - own->arrived_ns) : 0;
}

void
cs_samples_tell(struct cs_sampled_call *samples, size_t count,
		void (*tell)(void *user, uint64_t row, uint64_t took_ns, uint64_t waited_ns),
		void *user)
{
	if (count)
		qsort(samples, count, sizeof *samples, compare);
	for (size_t first = 0, end; first < count; first = end) {
		const struct cs_sampled_call *call = &samples[first];
		for (end = first; end < count && samples[end].comm == call->comm &&
				  samples[end].call == call->call; end++)
			;
		if (!are_whole(call, end - first))
			continue;
		for (int rank = 0; rank < call->size; rank++)
			if ((uint32_t)call[rank].row && call[rank].left_ns >= call[rank].arrived_ns)
				tell(user, call[rank].row,
				     (uint64_t)(call[rank].left_ns - call[rank].arrived_ns),
				     waited(call, rank));
	}
}
