/* plans/tree_partition.h — trees given by cuts of a row of members into parts (seed 000, 5.1.3).
 *
 * A part is consecutive members; the first has, or collects, the blocks of all of them. It cuts off
 * the end of its part for a child, which does the same there, and goes on with the rest, until only
 * itself is left:
 *
 *   8 members:  0 1 2 3 4 5 6 7 -> 0 1 2 3 | 4 5 6 7 -> 0 1 | 2 3 | 4 5 | 6 7 -> 0|1|2|3|4|5|6|7
 *
 * Members are ranks counted from the root on, or nodes (plans/tree_scatter.h).
 *
 * A Bine partition has the head of a part not at its beginning but at about a third of it
 * (plans/bine.h): it keeps the half that it is in, and the head of the other one mirrors it. The
 * row then begins so many ranks before the root, cs_partition_head. */
#ifndef CS_ALGORITHMS_PLANS_TREE_PARTITION_H
#define CS_ALGORITHMS_PLANS_TREE_PARTITION_H

#include "algorithms/algorithm.h"
#include "coll/problem.h"

#include <limits.h>

#define CS_PARTITION_MOST 2048    /* cs_partition_split: larger parts are halved */
#define CS_PARTITION_FLAT INT_MAX /* as fanout: all are children of the first */

struct cs_partition {
	int fanout; /* children per step: what is left is cut into fanout + 1 parts as equal as can
		     * be */
	int tabled; /* parts of up to so many members: the child gets table[members] */
	uint16_t table[CS_PARTITION_MOST + 1];
	bool is_bine; /* cut in two around a head in the middle; fanout and table are not used */
};

struct cs_partition_times { /* in any unit */
	uint64_t message;  /* until a short one has arrived */
	uint64_t gap;      /* from one message of a member to the next */
	uint64_t block;    /* more for each block in a message */
};

struct cs_subtree {
	int first, count;
	int head;   /* the member that has, or collects, the blocks: the first but in Bine ones */
	int parent; /* the head of the part that it was cut from */
	int index;  /* number among the parent's children */
	int depth;  /* ancestors */
	int cut;    /* children so far */
	int left;   /* children still to come in this step; 0: a step begins */
};

void cs_partition_even(struct cs_partition *partition, int fanout);
/* The best cuts in the LogGP model for parts of up to `count`. */
void cs_partition_split(struct cs_partition *partition, int count,
			const struct cs_partition_times *times);

/* The same for the ranks of a problem, with blocks of its mean size, by parameters. */
void cs_partition_split_by(struct cs_partition *partition, const struct cs_problem *problem);
enum { CS_CUTS_LATENCY, CS_CUTS_OVERHEAD, CS_CUTS_GAP, CS_CUTS_BYTE };
#define CS_PARTITION_SPLIT_PARAMS \
	[CS_CUTS_LATENCY] = { "latency_ns", "time that a message is on its way (L)", 1000, 0, \
			      1000000000 }, \
	[CS_CUTS_OVERHEAD] = { "overhead_ns", "time that starting, or receiving, a message takes " \
					      "its rank (o)", 300, 0, \
				1000000000 }, \
	[CS_CUTS_GAP] = { "gap_ns", "time from one message of a rank to the next (g)", 400, 0, \
			  1000000000 }, \
	[CS_CUTS_BYTE] = { "byte_ps", "time that a byte takes on a link, in 1/1000 ns (G)", 100, \
			   0, 1000000 }

void cs_partition_bine(struct cs_partition *partition);
/* The member at the top of the tree, of `count` members. */
int cs_partition_head(const struct cs_partition *partition, int count);

/* Cut the next child's part from `part`, which has two members or more: from its end, but in a Bine
 * one the half without its head. */
struct cs_subtree cs_subtree_cut(const struct cs_partition *partition, struct cs_subtree *part);
/* The part whose head is `member`, of `count` members in all. */
struct cs_subtree cs_subtree_of(const struct cs_partition *partition, int count, int member);
/* The part whose head is the problem's rank, with the root at the top; *start: the rank that is
 * member 0. */
struct cs_subtree cs_subtree_of_rank(const struct cs_partition *partition,
				     const struct cs_problem *problem, int *start);

#endif
