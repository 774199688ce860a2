/* shm/node_slots.h — the slots of a rank's ring and of the node's area, for calls of shm/node.h.
 *
 * A blocking operation takes slots as it goes: no other begins on the team before it is over. One
 * that others may overtake reserves what it will use at its start. */
#ifndef CS_SHM_NODE_SLOTS_H
#define CS_SHM_NODE_SLOTS_H

#include "shm/node.h"

/* Returns the error number for which pages of this process's slots could not be mapped before they
 * were written, so that they come one by one; 0: there was none. */
int cs_node_populate_error(void);

/* --- own ring --------------------------------------------------------------------------------- */

/* Call this before a call's first slot is chosen, of which `bytes` are to be written: where nobody
 * has touched that much of the next one, the ring goes on at its front if that is free. Memory that
 * nobody has touched costs some ten times what a copy into it does; so a ring grows only when its
 * owner would have to wait. */
void cs_node_stay_warm(struct cs_node_op *op, size_t bytes);

/* Reserves slots of the own ring for so many uses, at the operation's start; CS_USES_UNKNOWN: the
 * whole ring. An operation must do so that others may begin before it is over. */
void cs_node_reserve(struct cs_node_op *op, uint64_t uses);

/* Next slot of the own ring, of those that are reserved, if any are; free until all are done with
 * step `step` of this call. `bytes` of it are mapped at once if they have not been (cs_post_room
 * knows them). With `may_wait` false: NULL instead of waiting, and what is missing is noted. The
 * slot number that others need is cs_node_slot_number() before the first of a call. */
void *cs_node_slot(struct cs_node_op *op, uint64_t step, size_t bytes, bool may_wait);
static inline uint64_t
cs_node_slot_number(const struct cs_node_op *op)
{
	const struct cs_node *node = op->node;
	return op->ring.count ? op->ring.first : node->ring.next % node->ring.count;
}
/* Call this before taking slots in a call in which all ranks wait for all; `bytes`: what this rank
 * will write to them. On an oversubscribed node a long call begins at the ring's front again: the
 * ring then stays in the cache, which is worth more than a slot that is free, since a rank that is
 * not done with the slot needs the core first in any case. */
static inline void
cs_node_rewind(struct cs_node_op *op, size_t bytes)
{
	struct cs_node *node = op->node;
	if (node->is_oversubscribed && bytes >= node->shape.slot_bytes)
		node->ring.next = 0;
}
/* The last slot taken stays in use until all are done with step `step`, too. */
void cs_node_slot_until(struct cs_node_op *op, uint64_t step);
/* Slot number `first + k` of another rank's ring, or its small slot; both numbers may come from
 * shared memory. */
static inline char *
cs_node_slot_of(struct cs_node_op *op, int local, uint64_t first, uint64_t k)
{
	struct cs_node *node = op->node;
	if (first >= CS_SLOT_TINY)
		return first == CS_SLOT_TINY
		       ? cs_node_rank(node, local)->tiny[op->number % CS_LINES]
		       : cs_node_rank(node, local)->small[op->number % CS_LINES];
	uint64_t slot = first % CS_PIECE_UNIT + k,
		 offset = first / CS_PIECE_UNIT % node->shape.slot_bytes;
	return (char *)cs_node_rank(node, local) + sizeof(struct cs_rank_head) +
	       slot % node->shape.slots * node->slot_stride + offset;
}

/* A piece of `bytes` (at most a quarter of a slot) for a call's only round: several calls share a
 * slot, so that many are in flight. Waits if it must. *number is what goes into line->slot: the
 * slot, and the offset in it times CS_PIECE_UNIT. */
char *cs_node_cut(struct cs_node_op *op, uint64_t step, size_t bytes, uint64_t *number);
/* The same of an operation that may not wait, at its start; returns the number. Then its memory, as
 * soon as that may be written: NULL: not yet, and what is missing is noted. */
uint64_t cs_node_reserve_cut(struct cs_node_op *op, uint64_t step, size_t bytes);
char *cs_node_try_cut(struct cs_node_op *op, uint64_t number);
static inline bool
cs_node_is_cut(const struct cs_node_op *op, size_t bytes)
{
	const struct cs_node *node = op->node;
	return bytes <= node->shape.slot_bytes / 4;
}

/* Small slot for `bytes` (at most CS_SMALL) of one call. */
static inline uint64_t
cs_node_small_slot(size_t bytes)
{
	return bytes <= CS_TINY ? CS_SLOT_TINY : CS_SLOT_SMALL;
}

/* Memory of this call's CS_SLOT_SMALL or CS_SLOT_TINY: free once cs_node_line has returned. Its
 * pages, and those of some that follow it, are mapped if they have not been. */
#define CS_SMALL_MAPPED 16 /* small slots at once; of tiny ones all are */
void cs_node_map_small(struct cs_node *node, unsigned bit);
static inline char *
cs_node_small(struct cs_node_op *op, uint64_t slot)
{
	struct cs_node *node = op->node;
	uint64_t number = op->number % CS_LINES;
	unsigned bit = slot == CS_SLOT_TINY ? CS_LINES / CS_SMALL_MAPPED
					    : (unsigned)number / CS_SMALL_MAPPED;
	if (__builtin_expect(!(node->small_mapped & 1u << bit), 0))
		cs_node_map_small(node, bit);
	return slot == CS_SLOT_TINY ? node->self->tiny[number] : node->self->small[number];
}

/* Gives the pages of the own ring back though others have the segment mapped, if all are done with
 * what is in it. For a node without a call under way. */
void cs_node_give_back(struct cs_node *node);

/* --- the area (several nodes) ----------------------------------------------------------------- */

/* Reserves so many slots of each kind of the node's area, at the operation's start and alike on all
 * local ranks: as many as it uses at a time. As cs_node_reserve. */
void cs_node_reserve_area(struct cs_node_op *op, uint64_t count);

/* Next slot of the node's area for `bytes` (at most area_bytes), of those that are reserved, if any
 * are; a small one if that does: all local ranks ask for the same ones in the same order, with the
 * same number or with any above CS_AREA_SMALL. Waits until all are done with what it held. */
char *cs_node_area(struct cs_node_op *op, size_t bytes);
/* The same without waiting: NULL if it must, and what is missing is noted. */
char *cs_node_try_area(struct cs_node_op *op, size_t bytes);
/* CS_AREA_FLAGS words behind an area slot that is not small, which nobody writes but as flags. A
 * flag is up when it is cs_node_area_turn() or more, asked right after the slot was taken: it grows
 * from use to use, so flags need no clearing. */
_Atomic uint64_t *cs_node_area_flags(const struct cs_node *node, char *area);
/* Is it up? Local rank `local` raises it; what is missing is noted. */
static inline bool
cs_node_is_flag_up(struct cs_node_op *op, int local, _Atomic uint64_t *flag, uint64_t turn)
{
	if (atomic_load_explicit(flag, memory_order_acquire) >= turn)
		return true;
	op->awaited = (struct cs_awaited){ .local = CS_AWAITS_FLAG, .of = local, .flag = flag,
					   .tag = turn };
	return false;
}
static inline uint64_t
cs_node_area_turn(const struct cs_node_op *op)
{
	return cs_node_tag(op, op->area[CS_AREA_LARGE_SLOTS].next);
}
/* Done with the oldest `count` slots taken for so many bytes and not yet given back. */
void cs_node_area_done(struct cs_node_op *op, size_t bytes, uint64_t count);

#endif
