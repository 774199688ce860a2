/* late/dynamic_leader.h — reductions in which the last arriver of a node leads (seed 002,
 * 3.7.1, dynamic leader selection): who is early leaves its vector behind and waits for nobody.
 *
 *   on a node       each rank puts its vector out, and climbs the combining tree of shm/arrive.h;
 *                   the last one comes out at the top with the node's sum
 *   between nodes   a k-nomial tree; the last arriver of a node sends to a rank of the parent node
 *                   that is known, which takes what its children bring together with its own vector
 *
 *   node 0   0 1 2 [3]        [ ]: waits for what the child nodes' last arrivers send, whoever
 *                ^             they are, and then climbs; all others leave
 *   node 1   4 5 6  7          the one of them that comes last sends
 *
 * In a reduce that rank is the root on the root's node, and else the last rank of a node, so that
 * what comes from the nodes behind is its own vector's right operand: the order of ranks is kept
 * where the operation needs it (the top of the tree is node 0 then, whose last arriver sends the
 * result to the root). An allreduce goes down again, from the last arriver of node 0 to the same
 * ranks of all nodes. Where operands meet depends on nobody's being late.
 *
 * A vector is cut in parts, up to eight in a slot, and each rank comes first to another one: so
 * those who come at the same time share the work (the seed's parallel locking, without locks). Who
 * is early waits for others only where a vector has more rounds than the ring has slots, or than
 * CS_ARRIVE_ROUNDS; and who sends, until the MPI has its message.
 *
 * With verbs a leader writes into the memory of the node above, with a counter behind the data
 * (wire/rma_window.h), and whoever leads that one takes it, or the root, with the sum of its node:
 * nobody receives, and no other rank is known beforehand. Nobody waits for ever: of the earliest
 * round in which ranks are held up all slots were free before, as there are twice as many as parts,
 * and nodes without children are held up by nothing else.
 *
 * By the MPI there is no control message either. With `control` a reduce does as the seed's (fig.
 * 3.14), for comparison: the last arriver of a node tells all ranks of the child nodes who it is,
 * and takes what they send; one of those who are told needs that, the node's own last arriver, and
 * the others hear it in some later call (algorithms/late/posted_receives.h). The root is known, and
 * tells nobody.  */
#ifndef CS_ALGORITHMS_LATE_DYNAMIC_LEADER_H
#define CS_ALGORITHMS_LATE_DYNAMIC_LEADER_H

#include "algorithms/op.h"

struct cs_dynamic_leader_params {
	size_t segment; /* bytes of a part, at least, where there are several */
	size_t radix;   /* of the tree of nodes, 2 or more */
	bool control;   /* of a reduce: leaders tell who they are */
	bool window;    /* leaders write into nodes' memory, where there is a window */
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

/* Begins a reduce or an allreduce. False: an element of it fits into no slot with the
 * head that a message has, on all ranks alike, and nothing has been begun. */
bool cs_dynamic_leader(struct cs_op *op, const struct cs_dynamic_leader_params *params);

#endif
