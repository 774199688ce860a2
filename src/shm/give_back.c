/* shm/give_back.c — frees pages of a node in which no call is under way. */
#include "shm/node_parts.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Frees the whole pages in [from, to), though others have them mapped. */
static void
free_pages(const char *from, const char *to)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
		  first = ((uintptr_t)from + page - 1) / page * page,
		  end = (uintptr_t)to / page * page;
	if (first < end)
		madvise((void *)first, end - first, MADV_REMOVE);
}

/* Has this rank left its last call, and has each other one read all of that and of those before? */
static bool
is_idle(struct cs_node *node)
{
	if (atomic_load(&node->self->done) != (node->calls + 1) << CS_STEP_BITS)
		return false;
	for (int local = 0; local < node->shape.size; local++)
		if (local != node->shape.local &&
		    atomic_load(&cs_node_rank(node, local)->done) < cs_node_has_read(node->calls))
			return false;
	return true;
}

size_t
cs_node_give_back(struct cs_node *node)
{
	struct cs_rank_head *self = node->self;
	size_t bytes = (size_t)__builtin_popcount(node->small_mapped) * CS_SMALL_MAPPED * CS_SMALL;
	for (uint64_t slot = 0; slot < node->ring.count; slot++)
		bytes += node->slot_populated[slot];
	if (!bytes || !is_idle(node))
		return 0;
	int saved = errno;
	free_pages(self->small[0], (const char *)(&self->few + 1));
	free_pages((const char *)(self + 1),
		   (const char *)(self + 1) + node->ring.count * node->slot_stride);
	errno = saved;
	node->small_mapped = 0;
	node->shared_slot = CS_SLOT_SMALL;
	memset(node->slot_populated, 0, sizeof node->slot_populated);
	return bytes;
}
