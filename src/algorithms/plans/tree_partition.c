#include "algorithms/plans/tree_partition.h"

#include "algorithms/plans/bine.h"

void
cs_partition_even(struct cs_partition *partition, int fanout)
{
	partition->fanout = fanout;
	partition->tabled = 0;
	partition->is_bine = false;
}

void
cs_partition_bine(struct cs_partition *partition)
{
	partition->is_bine = true;
}

int
cs_partition_head(const struct cs_partition *partition, int count)
{
	return partition->is_bine ? cs_bine_head(count) : 0;
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
	partition->is_bine = false;
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

/* Cut at the middle, the lower half the larger one. The child's head is as far from the cut as the
 * own one, or at the end of a half that is shorter. */
static struct cs_subtree
cut_bine(struct cs_subtree *part)
{
	int first = part->first, count = part->count, upper = count / 2, lower = count - upper;
	int middle = first + lower, mirror = 2 * middle - 1 - part->head;
	bool is_lower = part->head < middle;
	part->first = is_lower ? first : middle;
	part->count = is_lower ? lower : upper;
	return (struct cs_subtree){ .first = is_lower ? middle : first,
				    .count = is_lower ? upper : lower,
				    .head = mirror < first + count ? mirror : first + count - 1 };
}

struct cs_subtree
cs_subtree_cut(const struct cs_partition *partition, struct cs_subtree *part)
{
	struct cs_subtree child;
	if (partition->is_bine) {
		child = cut_bine(part);
	} else {
		int given = part->count <= partition->tabled ? partition->table[part->count]
							     : even_share(partition, part);
		part->count -= given;
		child = (struct cs_subtree){ .first = part->first + part->count, .count = given,
					     .head = part->first + part->count };
	}
	child.parent = part->head;
	child.index = part->cut++;
	child.depth = part->depth + 1;
	return child;
}

struct cs_subtree
cs_subtree_of(const struct cs_partition *partition, int count, int member)
{
	int head = cs_partition_head(partition, count);
	struct cs_subtree part = { .count = count, .head = head, .parent = head };
	while (part.head != member) {
		struct cs_subtree child = cs_subtree_cut(partition, &part);
		if (child.first <= member && member < child.first + child.count)
			part = child;
	}
	return part;
}

struct cs_subtree
cs_subtree_of_rank(const struct cs_partition *partition, const struct cs_problem *problem,
		   int *start)
{
	int p = problem->ranks;
	*start = (problem->root - cs_partition_head(partition, p) + p) % p;
	return cs_subtree_of(partition, p, (problem->rank - *start + p) % p);
}
