/* wire/rma_window.h — memory of a node that ranks of other nodes write to: who sends asks nobody,
 * and whoever of the node needs it takes it (seed 002, 3.7.1).
 *
 *   any rank of node 0   put(1, message 7)  == data, then a counter ==>  memory of node 1
 *   any rank of node 1   has_come(0, 7)? .. reads at(0, 7) .. give_back(0, 7)
 *                                           memory of node 0  <== a counter ==
 *
 * At most CS_WINDOW_SLOTS messages are under way from one node to another, each in a slot of its
 * own that is reused once it was given back. The caller numbers the messages of a pair of nodes,
 * alike on all ranks of both. Numbers have no gaps. Exactly one rank of the sending node puts each
 * message; exactly one rank of the receiving node gives it back, after its last reader. One rank
 * may put a message in parts; parts arrive in order, and the message has come with its last part.
 *
 *   by other node | arrived: counters by slot | given back, of the own messages | slots | */
#ifndef CS_WIRE_WINDOW_H
#define CS_WIRE_WINDOW_H

#include "wire/request.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More than twice the messages that an operation has under way between two nodes in one round:
 * late/dynamic_leader.h says what for. */
#define CS_WINDOW_SLOTS 16

/* Location of a part of a message, and the number of parts put before it. */
struct cs_rma_part {
	size_t at; /* bytes from the beginning of the slot */
	uint32_t before;
	bool is_last;
};

struct cs_rma_window {
	size_t room; /* bytes of a message, at most; whole lines of the cache */
	int nodes, node;
	char *memory; /* of the own node */
	uint64_t *sent, *received; /* by node: messages of all operations that were begun; who
				    * numbers them counts */
	/* Starts a message, or a part of one, whose slot is free (cs_rma_may_put). `from` lies in
	 * the node's segment; `part` NULL: all of it. Does not block. */
	void (*put)(struct cs_rma_window *window, struct cs_request *request, int node,
		    uint64_t number, const struct cs_rma_part *part, const void *from,
		    size_t bytes);
	/* Has it left? Progresses. Not asked again once it has. */
	bool (*test)(struct cs_rma_window *window, struct cs_request *request);
	/* Frees a message's slot for the node that it is of. Does not block. False: not now, ask
	 * again. */
	bool (*give_back)(struct cs_rma_window *window, int node, uint64_t number);
};

/* The memory for each other node begins with two rows of counters. */
#define CS_WINDOW_COUNTERS (2 * CS_WINDOW_SLOTS * sizeof(uint64_t))
enum cs_rma_row { CS_WINDOW_ARRIVED, CS_WINDOW_FREED };

static inline size_t
cs_rma_stride(size_t room)
{
	return CS_WINDOW_COUNTERS + CS_WINDOW_SLOTS * room;
}
static inline size_t
cs_rma_bytes(int nodes, size_t room)
{
	return (size_t)nodes * cs_rma_stride(room);
}
/* Offset of a counter in a node's memory; `other`: the other node. */
static inline size_t
cs_rma_counter_at(const struct cs_rma_window *window, int other, enum cs_rma_row row,
		     uint64_t number)
{
	return (size_t)other * cs_rma_stride(window->room) +
	       ((size_t)row * CS_WINDOW_SLOTS + number % CS_WINDOW_SLOTS) * sizeof(uint64_t);
}
static inline size_t
cs_rma_slot_at(const struct cs_rma_window *window, int other, uint64_t number)
{
	return (size_t)other * cs_rma_stride(window->room) + CS_WINDOW_COUNTERS +
	       number % CS_WINDOW_SLOTS * window->room;
}

/* A counter counts the messages that its slot has had, and in its lowest bits the parts of the next
 * one that are there. */
#define CS_WINDOW_PART_BITS 16
#define CS_WINDOW_MESSAGE (UINT64_C(1) << CS_WINDOW_PART_BITS)

/* By how much it grows, and what it is then. */
struct cs_rma_growth {
	uint64_t by, to;
};
static inline struct cs_rma_growth
cs_rma_growth(uint64_t number, const struct cs_rma_part *part)
{
	uint64_t messages = number / CS_WINDOW_SLOTS * CS_WINDOW_MESSAGE, before = part
			    ? part->before : 0;
	if (part && !part->is_last)
		return (struct cs_rma_growth){ 1, messages + before + 1 };
	return (struct cs_rma_growth){ CS_WINDOW_MESSAGE - before, messages + CS_WINDOW_MESSAGE };
}

static inline uint64_t
cs_rma_count(const struct cs_rma_window *window, int other, enum cs_rma_row row, uint64_t number)
{
	const char *at = window->memory + cs_rma_counter_at(window, other, row, number);
	return atomic_load_explicit((const _Atomic uint64_t *)(const void *)at,
				    memory_order_acquire);
}
/* Messages. */
static inline uint64_t
cs_rma_counted(const struct cs_rma_window *window, int other, enum cs_rma_row row, uint64_t number)
{
	return cs_rma_count(window, other, row, number) / CS_WINDOW_MESSAGE;
}

/* Lets a counter of the own node grow: of messages that its ranks have put there for each other,
 * who number them as those of other nodes (sent[node]). */
static inline void
cs_rma_count_here(struct cs_rma_window *window, enum cs_rma_row row, uint64_t number)
{
	char *at = window->memory + cs_rma_counter_at(window, window->node, row, number);
	atomic_fetch_add_explicit((_Atomic uint64_t *)(void *)at, CS_WINDOW_MESSAGE,
				  memory_order_acq_rel);
}

/* Is the slot of the own node's message number `number` to `node` free? */
static inline bool
cs_rma_may_put(const struct cs_rma_window *window, int node, uint64_t number)
{
	return cs_rma_counted(window, node, CS_WINDOW_FREED, number) >=
	       number / CS_WINDOW_SLOTS;
}
/* Is that message of another node there? */
static inline bool
cs_rma_has_come(const struct cs_rma_window *window, int node, uint64_t number)
{
	return cs_rma_counted(window, node, CS_WINDOW_ARRIVED, number) >
	       number / CS_WINDOW_SLOTS;
}
/* Number of parts of the message that have come; CS_WINDOW_ALL: all. */
#define CS_WINDOW_ALL UINT32_MAX
static inline uint32_t
cs_rma_parts(const struct cs_rma_window *window, int node, uint64_t number)
{
	uint64_t count = cs_rma_count(window, node, CS_WINDOW_ARRIVED, number),
		 messages = count / CS_WINDOW_MESSAGE, before = number / CS_WINDOW_SLOTS;
	return messages > before ? CS_WINDOW_ALL
	       : messages == before ? (uint32_t)(count % CS_WINDOW_MESSAGE) : 0;
}
static inline const char *
cs_rma_message(const struct cs_rma_window *window, int node, uint64_t number)
{
	return window->memory + cs_rma_slot_at(window, node, number);
}
/* Have all messages from 0 to before `end` been counted? */
static inline bool
cs_rma_are_counted(const struct cs_rma_window *window, int other, enum cs_rma_row row, uint64_t end)
{
	for (uint64_t slot = 0; slot < CS_WINDOW_SLOTS; slot++)
		if (cs_rma_counted(window, other, row, slot) <
		    (end + CS_WINDOW_SLOTS - 1 - slot) / CS_WINDOW_SLOTS)
			return false;
	return true;
}
/* Is all there that others will write: what they send, and what they give back? */
static inline bool
cs_rma_is_quiet(const struct cs_rma_window *window)
{
	for (int node = 0; node < window->nodes; node++)
		if (node != window->node &&
		    (!cs_rma_are_counted(window, node, CS_WINDOW_FREED, window->sent[node]) ||
		     !cs_rma_are_counted(window, node, CS_WINDOW_ARRIVED, window->received[node])))
			return false;
	return true;
}

#endif
