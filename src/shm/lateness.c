/* shm/lateness.c — writes and reads stamps of arrival times. */
#include "shm/lateness.h"

#include "base/clock.h"

static struct cs_stamp *
stamp_of(struct cs_node *node, int local, uint64_t sample)
{
	return &cs_node_rank(node, local)->stamps[sample % CS_STAMPS];
}

void
cs_lateness_stamp(struct cs_node_op *op, uint64_t sample)
{
	struct cs_node *node = op->node;
	struct cs_stamp *stamp = stamp_of(node, node->shape.local, sample);
	/* Seqlock: a reader that sees the same number before and after has read a whole stamp. */
	atomic_store_explicit(&stamp->number, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&stamp->came_ns, cs_clock_ns(), memory_order_relaxed);
	atomic_store_explicit(&stamp->waited_ns, node->sample.waited_ns, memory_order_relaxed);
	atomic_store_explicit(&stamp->number, op->number, memory_order_release);
}

static bool
read_stamp(struct cs_stamp *stamp, uint64_t number, uint64_t *came, uint64_t *waited)
{
	if (atomic_load_explicit(&stamp->number, memory_order_acquire) != number)
		return false;
	*came = atomic_load_explicit(&stamp->came_ns, memory_order_relaxed);
	*waited = atomic_load_explicit(&stamp->waited_ns, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit(&stamp->number, memory_order_relaxed) == number;
}

bool
cs_lateness_read(struct cs_node *node, uint64_t sample, uint64_t number,
		 struct cs_lateness *lateness)
{
	uint64_t locals = (uint64_t)node->shape.size;
	uint64_t first = UINT64_MAX, last = 0, sum = 0, waited = 0;
	for (int local = 0; local < node->shape.size; local++) {
		uint64_t came, has_waited;
		if (!read_stamp(stamp_of(node, local, sample), number, &came, &has_waited))
			return false;
		first = came < first ? came : first;
		last = came > last ? came : last;
		sum += came / locals; /* so that the sum cannot overflow */
		waited += has_waited / locals;
	}
	uint64_t mean = sum > first ? sum : first;
	*lateness = (struct cs_lateness){ .apart_ns = last - (mean < last ? mean : last),
					  .waited_ns = waited };
	return true;
}

void
cs_lateness_sample(struct cs_node *node, void (*tell)(void *user, struct cs_node_op *op),
		   void *user)
{
	node->sample.at = tell ? node->calls + CS_SAMPLE : UINT64_MAX;
	node->sample.tell = tell;
	node->sample.user = user;
	node->sample.waited_ns = 0;
}

void
cs_node_sample(struct cs_node_op *op)
{
	op->node->sample.tell(op->node->sample.user, op);
}
