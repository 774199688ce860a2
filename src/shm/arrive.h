/* shm/arrive.h — who of a node comes when in a call, and what those who come make together.
 *
 *   for each line 4 sets of words, which the rounds of its call use in turn:
 *
 *   | tickets | tops | who holds them | a line for each inner node of a tree over local ranks |
 *
 * Ticket. Each rank that comes draws one: 0 is the first, locals - 1 the last (seed 002, 3.7.1: the
 * last arriver of a node leads a reduction; 3.7.2: the first one a broadcast).
 *
 * Combining tree. Each rank climbs from its own leaf. At an inner node the first of the two that
 * meet there leaves; the second one has both operands, makes one of them and climbs on. So the last
 * arriver comes out at the top with ceil(log2 locals) operands made behind it, and no lock. Which
 * operands meet where does not depend on who is late, and they are in rank order, so a sum has the
 * same bits in each run, of an operation that is not commutative too:
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
 * Words need no reset, and what a call that went wrong, or another round, has left in them is of
 * another number: each says of which call and round it is. They may be written by who has the
 * call's line (cs_node_try_line): so an early rank may be 64 calls ahead. Memory is touched when it
 * is used: that of later rounds not before there is such a call. */
#ifndef CS_SHM_ARRIVE_H
#define CS_SHM_ARRIVE_H

#include "shm/node.h"

#define CS_ARRIVE_PARTS 8  /* of a round, at most */
#define CS_ARRIVE_ROUNDS 4 /* of a call that an early rank may be ahead */

/* Bytes of all sets for so many local ranks. */
size_t cs_arrive_bytes(int locals);

/* May the words of this round be written? To be asked before each round by who has the call's own
 * line. Who is done with round r, whatever it did in it, says cs_node_done(op, r + 1): round r +
 * CS_ARRIVE_ROUNDS waits for that, of all others. False: what is missing is noted. */
bool cs_arrive_is_open(struct cs_node_op *op, uint64_t round);

/* Draws this rank's ticket of the round. (No fetch-and-add: its base would be what all calls before
 * have added, those that went wrong as well.) */
int cs_arrive_ticket(struct cs_node_op *op, uint64_t round);

/* The inner node that local rank `local` climbs to from one of half the span; spans are 2, 4, 8 and
 * so on. 0: there is none of that span above it, since nobody is on its right half. */
static inline int
cs_arrive_inner(int local, int span, int locals)
{
	int middle = (local & ~(span - 1)) + span / 2;
	return middle < locals ? middle : 0;
}

/* Comes to an inner node of a part's tree. -1: as the first, and what this rank has for it stays
 * with `holder`, a local rank; else with whom the other operand is. What the other one has written
 * before it came is seen then. */
int cs_arrive_meet(struct cs_node_op *op, uint64_t round, int part, int inner,
		   int holder);
/* Has the other one come there? Then this rank will be the second. */
bool cs_arrive_is_second(struct cs_node_op *op, uint64_t round,
			 int part, int inner);

/* Tells all of the node that a part is made, and that it is with local rank `holder`. Once for each
 * part and round. */
void cs_arrive_tell(struct cs_node_op *op, uint64_t round,
		    int part, int holder);
/* With whom it is; -1: it is not made, and what is missing is noted. */
int cs_arrive_holder(struct cs_node_op *op, uint64_t round,
		     int part);

#endif
