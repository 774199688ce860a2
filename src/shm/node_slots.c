/* shm/node_slots.c hands out the slots of a rank's ring and of the node's area. */
#include "shm/node_parts.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#define POPULATED_AT_ONCE ((size_t)64 << 10) /* bytes of a slot */

/* Before the first `bytes` of a slot of ours are used for the first time: maps their pages and has them zeroed, all at once. One
 * by one, as they are written and read, each takes 2 us of every rank; and a kernel maps pages around one that is read only if
 * they have been written. Where it cannot, they come one by one. */
static void
populate(struct cs_node_op *op, uint64_t number, size_t bytes)
{
	struct cs_node *node = op->node;
	size_t done = node->slot_populated[number];
	if (done >= bytes)
		return;
	bytes = cs_round_up(bytes, POPULATED_AT_ONCE);
	bytes = bytes < node->shape.slot_bytes ? bytes : node->shape.slot_bytes;
	uintptr_t slot = (uintptr_t)cs_node_slot_of(op, node->shape.local, number, 0);
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (slot + done) / page * page;
	int saved = errno;
	madvise((void *)from, slot + bytes - from, MADV_POPULATE_WRITE);
	errno = saved;
	node->slot_populated[number] = bytes;
}

/* Takes the next slot, `bytes` of which will be used. False: it is in use, and that was not to be waited for. */
static bool
take_slot(struct cs_node_op *op, uint64_t step, bool may_wait, size_t bytes)
{
	struct cs_node *node = op->node;
	uint64_t number = node->slot_next % node->shape.slots;
	uint64_t tag = node->slot_until[number];
	if (number == node->shared_slot)
		node->shared_slot = CS_SLOT_SMALL; /* taken whole now: no more pieces from it */
	if (node->done_floor < tag) {
		if (!may_wait && !cs_node_are_done(op, tag))
			return false;
		if (may_wait)
			cs_node_all_done_slow(op, tag);
	}
	populate(op, number, bytes);
	node->slot_until[number] = cs_node_tag(op, step);
	node->slot_next++;
	return true;
}

void *
cs_node_slot(struct cs_node_op *op, uint64_t step, bool may_wait)
{
	struct cs_node *node = op->node;
	uint64_t number = cs_node_slot_number(op);
	if (!take_slot(op, step, may_wait, node->shape.slot_bytes))
		return NULL;
	return cs_node_slot_of(op, node->shape.local, number, 0);
}

static char *
cut(struct cs_node_op *op, uint64_t step, bool may_wait, size_t bytes, uint64_t *number)
{
	struct cs_node *node = op->node;
	size_t size = cs_round_up(bytes, LINE);
	if (node->shared_slot == CS_SLOT_SMALL || node->shared_used + size > node->shape.slot_bytes) {
		uint64_t slot = cs_node_slot_number(op);
		if (!take_slot(op, step, may_wait, size))
			return NULL;
		node->shared_slot = slot;
		node->shared_used = 0;
	}
	populate(op, node->shared_slot, node->shared_used + size);
	/* A slot is free again when its last piece is. */
	node->slot_until[node->shared_slot] = cs_node_tag(op, step);
	*number = node->shared_used * CS_PIECE_UNIT + node->shared_slot;
	char *piece = cs_node_slot_of(op, node->shape.local, *number, 0);
	node->shared_used += size;
	return piece;
}

char *
cs_node_cut(struct cs_node_op *op, uint64_t step, size_t bytes, uint64_t *number)
{
	return cut(op, step, true, bytes, number);
}

char *
cs_node_try_cut(struct cs_node_op *op, uint64_t step, size_t bytes, uint64_t *number)
{
	return cut(op, step, false, bytes, number);
}

static enum cs_area_kind
kind_of(size_t bytes)
{
	return bytes <= CS_AREA_SMALL ? CS_AREA_SMALL_SLOTS : CS_AREA_LARGE_SLOTS;
}

void
cs_node_area_wait(struct cs_node_op *op, enum cs_area_kind kind, uint64_t target)
{
	struct cs_node *node = op->node;
	uint64_t floor = UINT64_MAX;
	for (int local = 0; local < node->shape.size; local++) {
		_Atomic uint64_t *done = &cs_node_rank(node, local)->area_done[kind];
		cs_node_wait(op, local, done, target);
		uint64_t value = atomic_load_explicit(done, memory_order_acquire);
		if (value < floor)
			floor = value;
	}
	node->areas[kind].floor = floor;
}

static uint64_t
area_floor(const struct cs_node_op *op, enum cs_area_kind kind)
{
	struct cs_node *node = op->node;
	uint64_t floor = UINT64_MAX;
	for (int local = 0; local < node->shape.size; local++) {
		uint64_t value =
			atomic_load_explicit(&cs_node_rank(node, local)->area_done[kind], memory_order_acquire);
		if (value < floor)
			floor = value;
	}
	return floor;
}

char *
cs_node_try_area(struct cs_node_op *op, size_t bytes)
{
	enum cs_area_kind kind = kind_of(bytes);
	struct cs_area *area = &op->node->areas[kind];
	uint64_t number = area->next;
	if (number >= area->floor + area->slots) {
		area->floor = area_floor(op, kind);
		if (number >= area->floor + area->slots) {
			op->awaited = (struct cs_awaited){ .local = CS_AWAITS_AREA, .area = (int)kind,
							   .tag = number - area->slots + 1 };
			return NULL;
		}
	}
	area->next++;
	return area->base + number % area->slots * area->stride;
}

char *
cs_node_area(struct cs_node_op *op, size_t bytes)
{
	char *area;
	while (!(area = cs_node_try_area(op, bytes)))
		cs_node_wait_awaited(op);
	return area;
}

_Atomic uint64_t *
cs_node_area_flags(const struct cs_node *node, char *area)
{
	return (_Atomic uint64_t *)(void *)(area + cs_round_up(node->shape.area_bytes, CS_APART) + LINE);
}

void
cs_node_area_done(struct cs_node_op *op, size_t bytes, uint64_t count)
{
	struct cs_node *node = op->node;
	_Atomic uint64_t *word = &node->self->area_done[kind_of(bytes)];
	uint64_t done = atomic_load_explicit(word, memory_order_relaxed);
	cs_node_store(node, word, done + count);
}
