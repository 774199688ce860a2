/* shm/arrive.h — arrival order of a node's ranks in a call, and a combining tree that ranks climb
 * as they arrive.
 *
 *   for each line 4 sets of words, which the rounds of its call use in turn:
 *
 *   | tickets | tops | their holders | a line for each inner node of a tree over local ranks |
 *
 * Ticket. Each rank draws one when it arrives: 0 is the first, locals - 1 the last (seed 002,
 * 3.7.1: the last arriver of a node leads a reduction; 3.7.2: the first one a broadcast).
 *
 * Combining tree. Each rank climbs from its own leaf. At an inner node the first of the two that
 * meet there leaves; the second one has both operands, combines them and climbs on. So the last
 * arriver reaches the top after at most ceil(log2 locals) combinations, without a lock. The tree
 * does not depend on the order of arrival, and operands are in rank order, so a result has the same
 * bits in each run, also of an operation that is not commutative:
 *
 *   local   0   1   2   3   4        an inner node is named by the first local rank of its right
 *            \ /     \ /    |        half: 1, 3, then 2, then 4
 *             1       3     |
 *              \     /      |
 *                 2         |
 *                    \     /
 *                       4
 *
 * The eight parts of a round have a tree each, whose words share the inner nodes' lines.
 *
 * Words need no reset: each holds the number of its call and round, so a word of another round, or
 * of a call that went wrong, is not taken for it. They may be written by a rank that has the call's
 * line (cs_node_try_line): so an early rank may be 64 calls ahead. Memory is touched when it is
 * used: that of later rounds not before a call has so many. */
#ifndef CS_SHM_ARRIVE_H
#define CS_SHM_ARRIVE_H

#include "shm/node.h"

#define CS_ARRIVE_PARTS 8  /* of a round, at most */
#define CS_ARRIVE_ROUNDS 4 /* that an early rank may be ahead in a call */

/* Bytes of all sets for so many local ranks, in whole pages. */
size_t cs_arrive_bytes(int locals);

/* May the words of this round be written? To be asked before each round, after the call's own line
 * was taken. Each rank that is done with round r, whatever it did in it, calls cs_node_done(op, r +
 * 1): round r + CS_ARRIVE_ROUNDS waits for that of all others. If false, op->awaited is set. */
bool cs_arrive_is_open(struct cs_node_op *op, uint64_t round);

/* Draws this rank's ticket of the round. (No fetch-and-add: its base would be the sum of all calls
 * before, also of those that went wrong.) */
int cs_arrive_ticket(struct cs_node_op *op, uint64_t round);

/* The inner node of that span above local rank `local`; spans are 2, 4, 8 and so on. 0: there is
 * none, since its right half has no ranks. */
static inline int
cs_arrive_inner(int local, int span, int locals)
{
	int middle = (local & ~(span - 1)) + span / 2;
	return middle < locals ? middle : 0;
}

/* Arrives at an inner node of a part's tree, with an operand that local rank `holder` has. Returns
 * -1 if it is the first; else the local rank that has the other operand, with acquire order. */
int cs_arrive_meet(struct cs_node_op *op, uint64_t round, int part, int inner,
		   int holder);
/* Has the other rank arrived at the inner node? Then this one will be the second. */
bool cs_arrive_is_second(struct cs_node_op *op, uint64_t round,
			 int part, int inner);

/* Chain over the local ranks in a part, whose links are made one after the other, by any rank that
 * holds the chain meanwhile. Returns the links made: `wanted`; or fewer, and this rank holds the
 * chain until cs_arrive_link says how many there are then; or -1: another rank holds the chain, and
 * op->awaited is set. Not in a part with cs_arrive_tell, nor after the first CS_ARRIVE_ROUNDS
 * rounds. */
int cs_arrive_hold(struct cs_node_op *op, uint64_t round, int part, int wanted);
void cs_arrive_link(struct cs_node_op *op, uint64_t round, int part, int links);

/* Publishes that a part is complete, and that local rank `holder` has it. Once for each part and
 * round. */
void cs_arrive_tell(struct cs_node_op *op, uint64_t round,
		    int part, int holder);
/* The local rank that has the complete part; -1: not yet, and op->awaited is set. */
int cs_arrive_holder(struct cs_node_op *op, uint64_t round,
		     int part);

#endif
