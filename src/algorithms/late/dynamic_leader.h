/* late/dynamic_leader.h — reduce and allreduce led by each node's last arriver (seed 002, 3.7.1,
 * dynamic leader selection): an early rank leaves its vector behind and waits for nobody.
 *
 *   on a node       each rank puts its vector out, and climbs the combining tree of shm/arrive.h;
 *                   the last one comes out at the top with the node's sum
 *   between nodes   a k-nomial tree; the last arriver of a node sends to a fixed rank of the parent
 *                   node, the taker, which reduces the children's messages with its own vector
 *
 *   node 0   0 1 2 [3]        [ ]: waits for the messages of the child nodes' last arrivers,
 *                ^             any of their ranks, and then climbs; all others leave
 *   node 1   4 5 6  7          the last arriver of these sends
 *
 * In a reduce the taker is the root on the root's node, and else the last rank of a node, so that
 * messages from the nodes behind are its own vector's right operands: rank order is kept if the
 * operation is not commutative (then node 0 is the top of the tree, its last rank the taker, and
 * its last arriver sends the result to the root). An allreduce goes down again, from the last
 * arriver of node 0 to the takers of all nodes. The order of operands does not depend on arrival.
 *
 * A vector is cut into parts, up to eight in a slot, and each rank comes first to another one: so
 * ranks that come at the same time share the work (the seed's parallel locking, without locks). An
 * early rank waits for others only if a vector has more rounds than the ring has slots, or than
 * CS_ARRIVE_ROUNDS; a sender also until the MPI has its message.
 *
 * With verbs a leader writes into the memory of the node above, with a counter behind the data
 * (wire/rma_window.h), and the leader there, or the root, reduces it with its node's sum: no rank
 * receives, and no other rank is known beforehand. No deadlock: there are twice as many slots as
 * parts, so all slots of the earliest round that ranks wait in were free before, and nodes without
 * children wait for nothing else.
 *
 * With the MPI's messages there is no control message either. With `control` a reduce does as the
 * seed's (fig. 3.14), for comparison: a node's last arriver sends its rank to all ranks of the
 * child nodes, and receives from them; only the last arriver there needs this word, and the others
 * receive it in a later call (algorithms/late/posted_receives.h). The root is known, and sends no
 * word. */
#ifndef CS_ALGORITHMS_LATE_DYNAMIC_LEADER_H
#define CS_ALGORITHMS_LATE_DYNAMIC_LEADER_H

#include "algorithms/op.h"

struct cs_dynamic_leader_params {
	size_t segment; /* bytes of a part, at least, if there are several */
	size_t radix;   /* of the tree of nodes, 2 or more */
	bool control;   /* reduce only: leaders send their rank to the nodes below */
	bool window;    /* leaders write into nodes' memory, if there is a window */
};

#define CS_DYNAMIC_LEADER_SEGMENT \
	{ "segment", "bytes of a part of a long vector, at least; parts are reduced side by side", \
	  16 << 10, 256, 64 << 20 }
#define CS_DYNAMIC_LEADER_RADIX \
	{ "radix", "base of the tree of nodes: radix - 1 children at a time", 2, 2, 64 }
#define CS_DYNAMIC_LEADER_CONTROL \
	{ "control", "1: the last arriver of a node tells the ranks of the nodes below who it " \
		     "is, and takes what they send, as the seed's do, for comparison", 0, 0, 1 }
#define CS_DYNAMIC_LEADER_WINDOW \
	{ "window", "1: leaders write into the memory of other nodes, where verbs can (with " \
		    "control 0); 0: they send messages of the MPI's", 1, 0, 1 }

/* Begins a reduce or an allreduce. False, on all ranks alike: no slot has room for a message's head
 * and an element; nothing has been begun. */
bool cs_dynamic_leader(struct cs_op *op, const struct cs_dynamic_leader_params *params);

#endif
