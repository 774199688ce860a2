/* shm/node_slots.c — allocates slots of a rank's ring and of the node's area. */
#include "shm/node_parts.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* Error of MADV_POPULATE_WRITE, which maps and zeroes pages of a slot at once before they are first
 * used, and is not tried again after an error. Without it each page takes 2 us of every rank when
 * it is first written or read; a kernel maps pages around one that is read only if they have been
 * written. */
static _Atomic int populate_error;

int
cs_node_populate_error(void)
{
	return atomic_load_explicit(&populate_error, memory_order_relaxed);
}

static void
map(uintptr_t from, size_t bytes)
{
	if (bytes && !cs_node_populate_error() &&
	    madvise((void *)from, bytes, MADV_POPULATE_WRITE) && errno != EINTR)
		atomic_store(&populate_error, errno);
}

/* Maps the first `bytes` of a slot of `most` bytes, of which *populated are mapped. If all ranks
 * map it, each begins with its part of the pages: so these are in the memory of all NUMA domains,
 * and not in that of the rank that came first. */
static __attribute__((noinline)) void
populate_slow(const struct cs_node *node, const char *slot, size_t *populated, size_t bytes,
	      size_t most, bool by_all)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE),
		  from = ((uintptr_t)slot + *populated) / page * page;
	bytes = cs_round_up(bytes, cs_facts_mapped(&node->facts, page));
	bytes = bytes < most ? bytes : most;
	int saved = errno;
	size_t all = (uintptr_t)slot + bytes - from,
	       part = by_all ? all / (size_t)node->shape.size / page * page : 0;
	*populated = bytes;
	map(from + (size_t)node->shape.local * part, part);
	map(from, all);
	errno = saved;
}

static inline void
populate(const struct cs_node *node, const char *slot, size_t *populated, size_t bytes,
	 size_t most, bool by_all)
{
	if (*populated < bytes && *populated < most)
		populate_slow(node, slot, populated, bytes, most, by_all);
}

/* Maps the first `bytes` of a slot of the own ring. */
static void
populate_slot(struct cs_node_op *op, uint64_t number, size_t bytes)
{
	struct cs_node *node = op->node;
	populate(node, cs_node_slot_of(op, node->shape.local, number, 0),
		 &node->slot_populated[number], bytes, node->shape.slot_bytes, false);
}

void
cs_node_map_small(struct cs_node *node, unsigned bit)
{
	struct cs_rank_head *self = node->self;
	size_t populated = 0, most = CS_SMALL_MAPPED * CS_SMALL;
	char *first = self->small[(size_t)__builtin_ctz(bit) * CS_SMALL_MAPPED % CS_LINES];
	if (bit == CS_TINY_BIT) {
		first = self->tiny[0];
		most = sizeof self->tiny;
	} else if (bit == CS_FEW_BIT) {
		first = self->few[0];
		most = sizeof self->few;
	}
	populate(node, first, &populated, most, most, false);
	node->small_mapped |= bit;
}

/* May memory be written that is free from done value `tag` on? Not while an operation that has it
 * is under way here: this rank may read it, too, which the others' done words do not show. */
static bool
is_free(struct cs_node_op *op, uint64_t tag, bool may_wait)
{
	const struct cs_node *node = op->node;
	uint64_t owner = tag >> CS_STEP_BITS;
	if (node->under_way > 1 && tag == cs_node_has_read(owner) && owner < op->number &&
	    owner >= node->oldest) {
		op->awaited = (struct cs_awaited){ .local = CS_AWAITS_ALL, .tag = tag };
		return false;
	}
	if (node->done_floor >= tag)
		return true;
	if (!may_wait)
		return cs_node_are_done(op, tag);
	cs_node_all_done_slow(op, tag);
	return true;
}

/* --- slots, whether of a ring or of an area --------------------------------------------------- */

/* Reserves a slot. Returns the done value that frees it if an operation that has it may be under
 * way, else 0. (The operation that reserved it last may be over without having used it, so that an
 * older one's data is still in it.) */
static uint64_t
reserve_slot(struct cs_node_op *op, struct cs_slots *slots, uint64_t number)
{
	const struct cs_node *node = op->node;
	uint64_t until = slots->until[number], owner = until >> CS_STEP_BITS;
	bool is_in_use = until == cs_node_has_read(owner) && node->under_way &&
			 owner >= node->oldest;
	if (!is_in_use)
		slots->step[number] = until;
	slots->until[number] = cs_node_has_read(op->number);
	return is_in_use ? until : 0;
}

static struct cs_slot_range
reserve(struct cs_node_op *op, struct cs_slots *slots, uint64_t uses, uint64_t count)
{
	struct cs_slot_range window = { .first = slots->next % slots->count, .uses = uses,
					 .count = count < slots->count ? count : slots->count };
	for (uint64_t k = 0; k < window.count; k++) {
		uint64_t after = reserve_slot(op, slots, (window.first + k) % slots->count);
		window.after = after > window.after ? after : window.after;
	}
	slots->next += window.count;
	return window;
}

/* Returns the slot of the next use; *tag: the done value from which on it may be written. */
static uint64_t
next_of(const struct cs_slots *slots, const struct cs_slot_range *window, uint64_t *tag)
{
	uint64_t number = (window->first + window->next % window->count) % slots->count;
	*tag = slots->step[number];
	if (window->next < window->count && window->after > *tag)
		*tag = window->after;
	return number;
}

/* Marks the slot as in use until `tag`: for other operations, too, if this was its last use and no
 * other one has reserved it meanwhile. */
static void
use_until(struct cs_slots *slots, const struct cs_slot_range *window, uint64_t number,
	  uint64_t tag)
{
	bool is_last = window->uses != CS_USES_UNKNOWN &&
		       window->next + window->count > window->uses;
	slots->step[number] = tag;
	if (is_last && slots->until[number] >> CS_STEP_BITS == tag >> CS_STEP_BITS)
		slots->until[number] = tag;
}

/* --- the own ring ----------------------------------------------------------------------------- */

void
cs_node_stay_warm(struct cs_node_op *op, size_t bytes)
{
	struct cs_node *node = op->node;
	uint64_t number = node->ring.next % node->ring.count;
	size_t most = node->shape.slot_bytes;
	if (node->slot_populated[number] < (bytes < most ? bytes : most) && number &&
	    is_free(op, node->ring.until[0], false))
		node->ring.next = 0;
}

/* Takes the next slot for an operation without reserved ones. NULL: it is in use, and `may_wait` is
 * false. */
static void *
take_slot(struct cs_node_op *op, uint64_t step, size_t bytes, bool may_wait)
{
	struct cs_node *node = op->node;
	uint64_t number = cs_node_slot_number(op);
	if (number == node->shared_slot)
		node->shared_slot = CS_SLOT_SMALL; /* taken whole now: no more pieces from it */
	if (!is_free(op, node->ring.until[number], may_wait))
		return NULL;
	populate_slot(op, number, bytes);
	node->ring.until[number] = cs_node_tag(op, step);
	node->ring.next++;
	return cs_node_slot_of(op, node->shape.local, number, 0);
}

void
cs_node_reserve(struct cs_node_op *op, uint64_t uses)
{
	struct cs_node *node = op->node;
	op->ring = reserve(op, &node->ring, uses, uses);
	if ((node->shared_slot + node->ring.count - op->ring.first) % node->ring.count <
	    op->ring.count)
		node->shared_slot = CS_SLOT_SMALL;
}

void *
cs_node_slot(struct cs_node_op *op, uint64_t step, size_t bytes, bool may_wait)
{
	struct cs_node *node = op->node;
	uint64_t tag;
	if (!op->ring.count)
		return take_slot(op, step, bytes, may_wait);
	uint64_t number = next_of(&node->ring, &op->ring, &tag);
	if (!is_free(op, tag, may_wait))
		return NULL;
	populate_slot(op, number, bytes);
	op->ring.next++;
	use_until(&node->ring, &op->ring, number, cs_node_tag(op, step));
	return cs_node_slot_of(op, node->shape.local, number, 0);
}

void
cs_node_slot_until(struct cs_node_op *op, uint64_t step)
{
	struct cs_slots *ring = &op->node->ring;
	uint64_t tag = cs_node_tag(op, step);
	if (!op->ring.count)
		ring->until[(ring->next - 1) % ring->count] = tag;
	else
		use_until(ring, &op->ring, (op->ring.first + (op->ring.next - 1) % op->ring.count) %
			  ring->count, tag);
}

/* Is a piece of `size` bytes to be cut from the current shared slot? Its mapped bytes are used
 * first; further ones only if the next slot is in use. */
static bool
has_room(struct cs_node_op *op, size_t size)
{
	struct cs_node *node = op->node;
	uint64_t slot = node->shared_slot;
	size_t end = node->shared_used + size;
	bool fits = slot != CS_SLOT_SMALL && end <= node->shape.slot_bytes;
	if (fits && end <= node->slot_populated[slot])
		return true;
	cs_node_stay_warm(op, size);
	return fits && !is_free(op, node->ring.until[node->ring.next % node->ring.count], false);
}

uint64_t
cs_node_reserve_cut(struct cs_node_op *op, uint64_t step, size_t bytes)
{
	struct cs_node *node = op->node;
	size_t size = cs_round_up(bytes, LINE);
	if (!has_room(op, size)) {
		uint64_t slot = node->ring.next++ % node->ring.count,
			 after = reserve_slot(op, &node->ring, slot);
		node->shared_slot = slot;
		node->shared_after = after ? after : node->ring.step[slot];
		node->shared_used = 0;
	}
	uint64_t number = node->shared_used * CS_PIECE_UNIT + node->shared_slot;
	node->ring.until[node->shared_slot] = cs_node_has_read(op->number);
	node->shared_used += size;
	populate_slot(op, node->shared_slot, node->shared_used);
	op->ring = (struct cs_slot_range){ .first = node->shared_slot, .uses = node->shared_used,
					    .next = step, .after = node->shared_after };
	return number;
}

char *
cs_node_try_cut(struct cs_node_op *op, uint64_t number)
{
	uint64_t *until = &op->node->ring.until[op->ring.first];
	if (!is_free(op, op->ring.after, false))
		return NULL;
	/* The slot is free when its last piece is. */
	if (*until == cs_node_has_read(op->number))
		*until = cs_node_tag(op, op->ring.next);
	return cs_node_slot_of(op, op->node->shape.local, number, 0);
}

char *
cs_node_cut(struct cs_node_op *op, uint64_t step, size_t bytes, uint64_t *number)
{
	*number = cs_node_reserve_cut(op, step, bytes);
	is_free(op, op->ring.after, true);
	return cs_node_try_cut(op, *number);
}

/* --- the area --------------------------------------------------------------------------------- */

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
			atomic_load_explicit(&cs_node_rank(node, local)->area_done[kind],
					     memory_order_acquire);
		if (value < floor)
			floor = value;
	}
	return floor;
}

/* Are all local ranks done with the area's first `count` slots, and with half of the touched ones,
 * so that a rank that goes ahead does not wait for each slot in turn? */
static bool
is_front_free(const struct cs_node_op *op, enum cs_area_kind kind, uint64_t count)
{
	struct cs_area *area = &op->node->areas[kind];
	uint64_t until = 0, half = (area->touched + 1) / 2;
	for (uint64_t slot = 0; slot < half || slot < count; slot++)
		until = area->slots.until[slot] > until ? area->slots.until[slot] : until;
	if (area->floor < until)
		area->floor = area_floor(op, kind);
	return area->floor >= until;
}

/* Goes back to the area's front if the next `count` slots have some that were never taken, and the
 * front is free. Ranks see done words at different times: the first rank to ask chooses for all. A
 * choice's word is written again 64 choices later: at least two of these went back to the front,
 * and before the second all local ranks were done with what the first had taken there. */
static void
choose_slots(struct cs_node_op *op, enum cs_area_kind kind, uint64_t count)
{
	struct cs_area *area = &op->node->areas[kind];
	struct cs_slots *slots = &area->slots;
	uint64_t next = slots->next % slots->count;
	if (__builtin_expect(area->touched == slots->count || next + count <= area->touched, 1))
		return;
	if (next && count <= area->touched) {
		_Atomic uint64_t *word =
			&op->node->head->choices[kind][area->choices++ % CS_MAX_SLOTS];
		uint64_t seen = atomic_load_explicit(word, memory_order_acquire);
		if (seen >> 1 != area->choices) {
			uint64_t mine = area->choices << 1 | is_front_free(op, kind, count);
			seen = atomic_compare_exchange_strong(word, &seen, mine) ? mine : seen;
		}
		if (seen & 1)
			slots->next = next = 0;
	}
	uint64_t end = next + count < slots->count ? next + count : slots->count;
	area->touched = end > area->touched ? end : area->touched;
}

void
cs_node_reserve_area(struct cs_node_op *op, uint64_t count)
{
	for (enum cs_area_kind kind = 0; kind <= CS_AREA_SMALL_SLOTS; kind++) {
		choose_slots(op, kind, count);
		op->area[kind] = reserve(op, &op->node->areas[kind].slots, CS_USES_UNKNOWN, count);
	}
}

char *
cs_node_try_area(struct cs_node_op *op, size_t bytes)
{
	enum cs_area_kind kind = kind_of(bytes);
	struct cs_area *area = &op->node->areas[kind];
	struct cs_slot_range *window = &op->area[kind];
	if (!window->count)
		choose_slots(op, kind, 1);
	uint64_t number = area->slots.next % area->slots.count, tag = area->slots.until[number];
	if (window->count)
		number = next_of(&area->slots, window, &tag);
	if (area->floor < tag && (area->floor = area_floor(op, kind)) < tag) {
		op->awaited = (struct cs_awaited){ .local = CS_AWAITS_AREA, .of = (int)kind,
						   .tag = tag };
		return NULL;
	}
	char *slot = area->base + number * area->stride;
	populate(op->node, slot, &area->populated[number], bytes,
		 kind == CS_AREA_SMALL_SLOTS ? CS_AREA_SMALL : op->node->shape.area_bytes, true);
	window->next++;
	if (window->count) {
		use_until(&area->slots, window, number, cs_node_tag(op, window->next));
	} else {
		area->slots.until[number] = cs_node_tag(op, window->next);
		area->slots.next++;
	}
	return slot;
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
	return (_Atomic uint64_t *)(void *)(area + cs_round_up(node->shape.area_bytes, CS_APART) +
					    LINE);
}

/* Stores `value` in this rank's area_done word as soon as the operation is the oldest one. */
static void
say_area_done(struct cs_node_op *op, enum cs_area_kind kind, uint64_t value)
{
	struct cs_node *node = op->node;
	if (node->under_way > 1 && op->number != node->oldest)
		node->later[op->number % CS_LINES].area_done[kind] = value;
	else
		cs_node_store(node, &node->self->area_done[kind], value);
}

void
cs_node_area_done(struct cs_node_op *op, size_t bytes, uint64_t count)
{
	enum cs_area_kind kind = kind_of(bytes);
	op->area[kind].done += count;
	say_area_done(op, kind, cs_node_tag(op, op->area[kind].done));
}

void
cs_node_area_end(struct cs_node_op *op)
{
	for (enum cs_area_kind kind = 0; kind <= CS_AREA_SMALL_SLOTS; kind++)
		if (op->area[kind].count)
			say_area_done(op, kind, (op->number + 1) << CS_STEP_BITS);
}

/* --- several operations under way ------------------------------------------------------------- */

void
cs_node_go_on_slow(struct cs_node_op *op)
{
	op->node->later[op->number % CS_LINES] = (struct cs_later){ .is_over = false };
}

void
cs_node_say_later(struct cs_node_op *op, uint64_t value)
{
	struct cs_later *later = &op->node->later[op->number % CS_LINES];
	later->done = value > later->done ? value : later->done;
}

/* Stores the done words of an operation that has become the oldest one. */
static void
say_now(struct cs_node *node, const struct cs_later *later)
{
	for (enum cs_area_kind kind = 0; kind <= CS_AREA_SMALL_SLOTS; kind++)
		if (later->area_done[kind])
			cs_node_store(node, &node->self->area_done[kind], later->area_done[kind]);
	if (later->done)
		cs_node_store(node, &node->self->done, later->done);
}

void
cs_node_over_slow(struct cs_node_op *op)
{
	struct cs_node *node = op->node;
	if (op->number != node->oldest) {
		node->later[op->number % CS_LINES].is_over = true;
		return;
	}
	const struct cs_later *later;
	do {
		later = &node->later[++node->oldest % CS_LINES];
		if (--node->under_way)
			say_now(node, later);
	} while (node->under_way && later->is_over);
}
