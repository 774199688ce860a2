/* plans/reduce_scatter_senders.h — reduce_scatter between nodes that have several senders each
 * and a rank that adds (seed 002, 2.3.2, multi-sender reduce-scatter).
 *
 *   node A:   a0 adds, a1 and a2 send        4 nodes A B C D, "C" = all blocks of C's ranks
 *
 *   copy-in       a1 gets B and D, a2 gets C, a0 gets A of all ranks of the node, and sums them
 *   exchange 1    a1:  sum of B -> B,   from D: D's sum of A -> a0
 *   exchange 2    a2:  sum of C -> C,   from C: C's sum of A -> a0          while a0 adds D's
 *   exchange 3    a1:  sum of D -> D,   from B: B's sum of A -> a0          while a0 adds C's
 *   copy-out      a0 gives each rank its block
 *
 * Exchange k is with the nodes k above and k below, as in plans/reduce_scatter_pairwise.h, and one
 * sender after the other has its turn, so that s of them run side by side. The paper's senders
 * share a buffer with the reducer and mark a flag; here a message in the node is both. The only
 * rank of a node sends and adds; if each node has one rank, or node_of is NULL, this is pairwise
 * exchange.
 *
 * The order of ranks is kept where the ranks of each node are consecutive, and numbers of nodes
 * rise with them; else operations that are not commutative are refused.
 *
 * CS_TMP: a copy of the input, with all blocks of a sender together, and what the senders get in
 * the copy-in. */
#ifndef CS_ALGORITHMS_PLANS_REDUCE_SCATTER_SENDERS_H
#define CS_ALGORITHMS_PLANS_REDUCE_SCATTER_SENDERS_H

#include "algorithms/algorithm.h"
#include "plan/build.h"

enum { CS_REDUCE_SCATTER_SENDERS };
#define CS_REDUCE_SCATTER_SENDERS_PARAMS \
	{ [CS_REDUCE_SCATTER_SENDERS] = \
	  { "senders", "most ranks of a node that send to other nodes; one more adds", 64, 1, \
	    1 << 20, true } }

void cs_reduce_scatter_senders_build(struct cs_builder *builder);

#endif
