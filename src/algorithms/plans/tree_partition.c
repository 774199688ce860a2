#include "algorithms/plans/tree_partition.h"

void
cs_partition_even(struct cs_partition *partition, int fanout)
{
	partition->fanout = fanout;
	partition->tabled = 0;
}

/* End time of a part of `count` that gives `cut` members to a child. */
static uint64_t
ends(const struct cs_partition_times *times, const uint64_t *t, int count, int cut)
{
	uint64_t child = times->message + t[cut], rest = times->gap + t[count - cut];
	return (uint64_t)cut * times->block + (child > rest ? child : rest);
}

/* The recurrence t(1) = 0, t(n) = min over c of  c block + max(message + t(c), gap + t(n - c)).
 * While the child is the first to end, a larger c is no worse, for t grows by a block or more per
 * member; after that it only costs. So the best c is at the point where this turns, or just before
 * it, and that point only moves up as n grows. */
void
cs_partition_split(struct cs_partition *partition, int count,
		   const struct cs_partition_times *times)
{
	uint64_t t[CS_PARTITION_MOST + 1] = { 0 };
	partition->fanout = 1;
	partition->tabled = count < CS_PARTITION_MOST ? count : CS_PARTITION_MOST;
	for (int n = 2, turn = 1; n <= partition->tabled; n++) {
		while (turn + 1 < n && times->message + t[turn] < times->gap + t[n - turn])
			turn++;
		bool is_before = turn > 1 && ends(times, t, n, turn - 1) <= ends(times, t, n, turn);
		partition->table[n] = (uint16_t)(is_before ? turn - 1 : turn);
		t[n] = ends(times, t, n, partition->table[n]);
	}
}

/* In ps, 18 minutes: sums of all blocks of a table stay in 64 bits */
#define LONGEST_BLOCK (UINT64_C(1) << 50)

static uint64_t
block_ps(const struct cs_problem *problem, uint64_t byte_ps)
{
	uint64_t mean = cs_problem_total(problem) / (uint64_t)problem->ranks,
		 more = mean ? mean - 1 : 0;
	return byte_ps && more > LONGEST_BLOCK / byte_ps ? LONGEST_BLOCK : more * byte_ps;
}

void
cs_partition_split_by(struct cs_partition *partition, const struct cs_problem *problem)
{
	const size_t *params = problem->params;
	uint64_t latency = params[CS_CUTS_LATENCY], overhead = params[CS_CUTS_OVERHEAD],
		 gap = params[CS_CUTS_GAP];
	struct cs_partition_times times = { .message = 1000 * (latency + 2 * overhead),
					    .gap = 1000 * (gap > overhead ? gap : overhead),
					    .block = block_ps(problem, params[CS_CUTS_BYTE]) };
	cs_partition_split(partition, problem->ranks, &times);
}

/* The next child's share of the rest in this step. */
static int
even_share(const struct cs_partition *partition, struct cs_subtree *part)
{
	int left = part->left ? part->left : partition->fanout;
	left = left < part->count ? left : part->count - 1;
	part->left = left - 1;
	return part->count / (left + 1);
}

struct cs_subtree
cs_subtree_cut(const struct cs_partition *partition, struct cs_subtree *part)
{
	int given = part->count <= partition->tabled ? partition->table[part->count]
						     : even_share(partition, part);
	part->count -= given;
	return (struct cs_subtree){ .first = part->first + part->count, .count = given,
				    .parent = part->first, .index = part->cut++,
				    .depth = part->depth + 1 };
}

struct cs_subtree
cs_subtree_of(const struct cs_partition *partition, int count, int member)
{
	struct cs_subtree part = { .count = count };
	while (part.first != member) {
		struct cs_subtree child = cs_subtree_cut(partition, &part);
		if (child.first <= member)
			part = child;
	}
	return part;
}
