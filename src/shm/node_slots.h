/* shm/node_slots.h — slots of a rank's ring and of the node's area, for calls of shm/node.h.
 *
 * A blocking operation takes slots one by one: no other begins on the team before it is over. An
 * operation that others may overtake reserves its slots at its start. */
#ifndef CS_SHM_NODE_SLOTS_H
#define CS_SHM_NODE_SLOTS_H

#include "shm/node.h"

/* Returns the errno of the failure to map pages of this process's slots in advance, after which
 * they are mapped one by one; 0: none. */
int cs_node_populate_error(void);

/* --- own ring --------------------------------------------------------------------------------- */

/* Moves the ring to its front, if that is free and fewer than `bytes` of the next slot are mapped.
 * To be called before a call's first slot is chosen, of which `bytes` are to be written. The first
 * write to a page takes some ten times as long as a copy into it; so a ring grows only if its owner
 * would have to wait. */
void cs_node_stay_warm(struct cs_node_op *op, size_t bytes);

/* Reserves slots of the own ring for so many uses, at the operation's start; CS_USES_UNKNOWN: the
 * whole ring. Necessary if others may begin before the operation is over. */
void cs_node_reserve(struct cs_node_op *op, uint64_t uses);

/* Returns the next slot of the own ring, a reserved one if any are; it is in use until all are done
 * with step `step` of this call. Its first `bytes` are mapped at once if they were not. With
 * `may_wait` false it returns NULL instead of waiting, and sets op->awaited. The slot number for
 * others is cs_node_slot_number() before the first slot of a call. */
void *cs_node_slot(struct cs_node_op *op, uint64_t step, size_t bytes, bool may_wait);
static inline uint64_t
cs_node_slot_number(const struct cs_node_op *op)
{
	const struct cs_node *node = op->node;
	return op->ring.count ? op->ring.first : node->ring.next % node->ring.count;
}
/* Keeps the last slot taken in use until all are done with step `step`, too. */
void cs_node_slot_until(struct cs_node_op *op, uint64_t step);
static inline char *
cs_node_small_of(struct cs_rank_head *head, uint64_t slot, uint64_t number)
{
	return slot == CS_SLOT_TINY ? head->tiny[number % CS_LINES]
	       : slot == CS_SLOT_FEW ? head->few[number % CS_FEW] : head->small[number % CS_LINES];
}
/* Slot number `first + k` of a rank's ring, or its small slot (CS_SLOT_SMALL, _TINY or _FEW); both
 * numbers may come from shared memory. */
static inline char *
cs_node_slot_of(struct cs_node_op *op, int local, uint64_t first, uint64_t k)
{
	struct cs_node *node = op->node;
	if (first >= CS_SLOT_FEW)
		return cs_node_small_of(cs_node_rank(node, local), first, op->number);
	uint64_t slot = first % CS_PIECE_UNIT + k,
		 offset = first / CS_PIECE_UNIT % node->shape.slot_bytes;
	return (char *)cs_node_rank(node, local) + sizeof(struct cs_rank_head) +
	       slot % node->shape.slots * node->slot_stride + offset;
}

/* Returns a piece of `bytes` (at most a quarter of a slot) for a call's only round: several calls
 * share a slot, so that many may be under way. Waits if necessary. *number, for line->slot: the
 * slot, plus the offset in it times CS_PIECE_UNIT. */
char *cs_node_cut(struct cs_node_op *op, uint64_t step, size_t bytes, uint64_t *number);
/* cs_node_cut for an operation that may not wait: the first reserves a piece at the operation's
 * start and returns the number; the second returns its memory, or NULL, with op->awaited set, while
 * it may not be written. */
uint64_t cs_node_reserve_cut(struct cs_node_op *op, uint64_t step, size_t bytes);
char *cs_node_try_cut(struct cs_node_op *op, uint64_t number);
static inline bool
cs_node_is_cut(const struct cs_node_op *op, size_t bytes)
{
	const struct cs_node *node = op->node;
	return bytes <= node->shape.slot_bytes / 4;
}

#define CS_SMALL_MAPPED 16 /* small slots mapped at once; of tiny ones all are */
#define CS_SMALL_BIT(number) (1u << (number) % CS_LINES / CS_SMALL_MAPPED)
#define CS_TINY_BIT (1u << CS_LINES / CS_SMALL_MAPPED)
#define CS_FEW_BIT (CS_TINY_BIT << 1)

/* May this call use one of the few slots that go round first? If all are done with the call of 16
 * calls ago, and no older one is under way here. Done words are not looked at for that if the slot
 * of the call's number has been touched. */
static inline bool
cs_node_few_suffice(struct cs_node_op *op)
{
	const struct cs_node *node = op->node;
	uint64_t tag = cs_node_has_read(op->number - CS_FEW);
	return (!node->under_way || node->oldest == op->number) &&
	       (node->done_floor >= tag || (!(node->small_mapped & CS_SMALL_BIT(op->number)) &&
					    cs_node_is_done(op, tag)));
}

/* Small slot for `bytes` (at most CS_SMALL) of one call. */
static inline uint64_t
cs_node_small_slot(struct cs_node_op *op, size_t bytes)
{
	return bytes <= CS_TINY ? CS_SLOT_TINY
	       : cs_node_few_suffice(op) ? CS_SLOT_FEW : CS_SLOT_SMALL;
}

/* Memory of this call's small slot, of any kind: free once cs_node_line has returned. Its pages,
 * and those of some that follow it, are mapped if they have not been. */
void cs_node_map_small(struct cs_node *node, unsigned bit);
static inline char *
cs_node_small(struct cs_node_op *op, uint64_t slot)
{
	struct cs_node *node = op->node;
	unsigned bit = slot == CS_SLOT_TINY ? CS_TINY_BIT
		       : slot == CS_SLOT_FEW ? CS_FEW_BIT : CS_SMALL_BIT(op->number);
	if (__builtin_expect(!(node->small_mapped & bit), 0))
		cs_node_map_small(node, bit);
	return cs_node_small_of(node->self, slot, op->number);
}

/* Frees the pages of the own ring and small slots, though others have the segment mapped; never
 * waits. Returns the bytes that were touched; 0: none were, a call is under way here, or another
 * rank has not read all of the last one. Not while another thread may begin a call on the node, nor
 * with a registration of its memory. */
size_t cs_node_give_back(struct cs_node *node);

/* --- the area (several nodes) ----------------------------------------------------------------- */

/* Reserves so many slots of each kind of the node's area, at the operation's start and alike on all
 * local ranks: as many as it uses at a time. Necessary as cs_node_reserve is. */
void cs_node_reserve_area(struct cs_node_op *op, uint64_t count);

/* Returns the next slot of the node's area for `bytes` (at most area_bytes), a reserved one if any
 * are; a small one if `bytes` fit. All local ranks must ask for the same slots in the same order:
 * with the same number of bytes, or any above CS_AREA_SMALL. Waits until all are done with its
 * former data. */
char *cs_node_area(struct cs_node_op *op, size_t bytes);
/* cs_node_area without waiting: NULL, with op->awaited set, if it would wait. */
char *cs_node_try_area(struct cs_node_op *op, size_t bytes);
/* The CS_AREA_FLAGS words behind a large area slot. A flag is up when it is at least
 * cs_node_area_turn() right after the slot was taken: turns grow from use to use, so flags need no
 * clearing. */
_Atomic uint64_t *cs_node_area_flags(const struct cs_node *node, char *area);
/* Is the flag up? Local rank `local` raises it. If false, op->awaited is set. */
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
/* Releases the oldest `count` slots that were taken for `bytes` and not yet released. */
void cs_node_area_done(struct cs_node_op *op, size_t bytes, uint64_t count);

#endif
