/* hier/overlap.h — messages between nodes straight from and into their shared memory; copy-out
 * while the next transfer runs (seed 004).
 *
 *   leader         send k ----> | wait k | flag k up | send k+1 ----> | copy out k | wait k+1 ...
 *   other ranks                            flag k up:   copy out k                            ...
 *
 * Over verbs the leader's messages are single RDMA writes from one node's segment into another's,
 * and the flag is raised by the leader when the write's completion has come, or by the device
 * (COLLSHIM_IB_ARRIVAL=flag). Over the host's wire the same algorithm runs by messages. With
 * several senders (hier/hier.h) each has messages and flags of its own, and connections that are
 * made when first used: any rank writes into any node's segment. */
#ifndef CS_ALGORITHMS_HIER_OVERLAP_H
#define CS_ALGORITHMS_HIER_OVERLAP_H

#include "algorithms/hier/message.h"
#include "algorithms/hier/hier.h"

#define CS_OVERLAP_CHUNK \
	{ "wire_chunk", "bytes of all blocks per round between nodes", 4 << 20, 4 << 10, 64 << 20 }

/* Begins an allgather(v), sizes from call->recv. `wire_chunk`: bytes of all blocks in a round. */
void cs_overlap_allgather(struct cs_op *op, size_t wire_chunk, size_t senders);

/* This rank's messages between nodes: the wire of a driver, else NULL. After the start. */
struct cs_wire *cs_overlap_wire(const struct cs_op *op);
/* A node's driver in the group of that wire. */
static inline int
cs_overlap_peer(const struct cs_op *op, int node, int driver)
{
	return cs_hier_has_senders(op) ? op->senders.rank_of(&op->senders, node, driver) : node;
}

/* Drivers that take the pieces, a round each, in turn: the one of a round, and its wire; NULL:
 * another rank's. */
static inline int
cs_overlap_driver(const struct cs_op *op, const struct cs_hier_round *round)
{
	return cs_hier_has_senders(op) ? (int)(round->index % (uint64_t)op->senders.count) : 0;
}
static inline struct cs_wire *
cs_overlap_wire_in_turn(const struct cs_op *op, struct cs_wire *wire,
			const struct cs_hier_round *round)
{
	return !cs_hier_has_senders(op) || cs_overlap_driver(op, round) == op->senders.self
	       ? wire : NULL;
}

/* Steps between nodes, or children in a tree of nodes, at most: log2 of an int */
#define CS_OVERLAP_MOST 32

/* Children in the binomial tree of nodes, by places counted from the root's node: they differ from
 * their parent in one bit below its lowest. The nearest first, with the fewest nodes below it.
 * Returns their number. */
int cs_overlap_children(int place, int nodes, int children[CS_OVERLAP_MOST]);
static inline int
cs_overlap_parent(int place)
{
	return place & (place - 1);
}

/* Room of a round (hier/hier.h): small slots of the area would have no flags. */
#define CS_OVERLAP_ROOM SIZE_MAX

static inline _Atomic uint64_t *
cs_overlap_flag(struct cs_op *op, const struct cs_hier_round *round, int flag)
{
	return cs_node_area_flags(&op->team->node, round->area[0]) + flag;
}

/* Has the message of a flag come? Its driver, with `wire` and perhaps `request`, raises the flag
 * when the request is over; other ranks, with neither, look at it. */
static inline bool
cs_overlap_has_come(struct cs_op *op, int driver, struct cs_wire *wire, struct cs_request *request,
		    const struct cs_hier_round *round, int flag)
{
	_Atomic uint64_t *word = cs_overlap_flag(op, round, flag);
	if (!wire)
		return cs_node_is_flag_up(&op->node, cs_hier_driver(op, driver), word, round->turn);
	if (request && !cs_message_is_over(op, wire, request))
		return false;
	cs_node_store(op->node.node, word, round->turn);
	return true;
}

#endif
