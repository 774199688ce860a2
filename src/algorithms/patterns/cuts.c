#include "algorithms/patterns/cuts.h"

void
cs_cuts_even(struct cs_cuts *cuts, int fanout)
{
	cuts->fanout = fanout;
	cuts->tabled = 0;
}

/* When a part of `count` ends that gives `cut` members to a child. */
static uint64_t
ends(const struct cs_cuts_times *times, const uint64_t *t, int count, int cut)
{
	uint64_t child = times->message + t[cut], rest = times->gap + t[count - cut];
	return (uint64_t)cut * times->block + (child > rest ? child : rest);
}

/* t(1) = 0, t(n) = min over c of  c block + max(message + t(c), gap + t(n - c)). While the child is the first to end, a
 * larger c is no worse, for t grows by a block or more per member; after that it only costs. So the best c is at the
 * point where this turns, or just before it, and that point only moves up as n grows. */
void
cs_cuts_split(struct cs_cuts *cuts, int count, const struct cs_cuts_times *times)
{
	uint64_t t[CS_CUTS_MOST + 1] = { 0 };
	cuts->fanout = 1;
	cuts->tabled = count < CS_CUTS_MOST ? count : CS_CUTS_MOST;
	for (int n = 2, turn = 1; n <= cuts->tabled; n++) {
		while (turn + 1 < n && times->message + t[turn] < times->gap + t[n - turn])
			turn++;
		bool is_before = turn > 1 && ends(times, t, n, turn - 1) <= ends(times, t, n, turn);
		cuts->table[n] = (uint16_t)(is_before ? turn - 1 : turn);
		t[n] = ends(times, t, n, cuts->table[n]);
	}
}

#define LONGEST_BLOCK (UINT64_C(1) << 50) /* in ps, 18 minutes: sums of all blocks of a table stay in 64 bits */

static uint64_t
block_ps(const struct cs_problem *problem, uint64_t byte_ps)
{
	uint64_t mean = cs_problem_total(problem) / (uint64_t)problem->ranks, more = mean ? mean - 1 : 0;
	return byte_ps && more > LONGEST_BLOCK / byte_ps ? LONGEST_BLOCK : more * byte_ps;
}

void
cs_cuts_split_by(struct cs_cuts *cuts, const struct cs_problem *problem)
{
	const size_t *params = problem->params;
	uint64_t latency = params[CS_CUTS_LATENCY], overhead = params[CS_CUTS_OVERHEAD], gap = params[CS_CUTS_GAP];
	struct cs_cuts_times times = { .message = 1000 * (latency + 2 * overhead),
				       .gap = 1000 * (gap > overhead ? gap : overhead),
				       .block = block_ps(problem, params[CS_CUTS_BYTE]) };
	cs_cuts_split(cuts, problem->ranks, &times);
}

/* Of what is left, the share of the next child of this step. */
static int
even_share(const struct cs_cuts *cuts, struct cs_part *part)
{
	int left = part->left ? part->left : cuts->fanout;
	left = left < part->count ? left : part->count - 1;
	part->left = left - 1;
	return part->count / (left + 1);
}

struct cs_part
cs_part_cut(const struct cs_cuts *cuts, struct cs_part *part)
{
	int given = part->count <= cuts->tabled ? cuts->table[part->count] : even_share(cuts, part);
	part->count -= given;
	return (struct cs_part){ .first = part->first + part->count, .count = given, .parent = part->first,
				 .index = part->cut++, .depth = part->depth + 1 };
}

struct cs_part
cs_part_of(const struct cs_cuts *cuts, int count, int member)
{
	struct cs_part part = { .count = count };
	while (part.first != member) {
		struct cs_part child = cs_part_cut(cuts, &part);
		if (child.first <= member)
			part = child;
	}
	return part;
}
