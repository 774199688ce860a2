#include "algorithms/plans/node_ranks.h"

#include <stdint.h>
#include <stdlib.h>

/* The smallest and the largest number of a node. */
struct range {
	int low, high;
};

static struct range
range_of(const int *node_of, int ranks)
{
	struct range range = { node_of[0], node_of[0] };
	for (int rank = 1; rank < ranks; rank++) {
		range.low = node_of[rank] < range.low ? node_of[rank] : range.low;
		range.high = node_of[rank] > range.high ? node_of[rank] : range.high;
	}
	return range;
}

/* Counting sort, of time O(p), for numbers that lie close, as they mostly do. */
static bool
sort_by_counting(const int *node_of, int ranks, int start, struct range range, int *order)
{
	size_t count = (size_t)((int64_t)range.high - range.low) + 1;
	int *next = calloc(count + 1, sizeof *next); /* by node: where its next rank goes */
	if (!next)
		return false;
	for (int rank = 0; rank < ranks; rank++)
		next[node_of[rank] - range.low + 1]++;
	for (size_t node = 1; node < count; node++)
		next[node] += next[node - 1];
	for (int rank = start; rank < ranks; rank++)
		order[next[node_of[rank] - range.low]++] = rank;
	for (int rank = 0; rank < start; rank++)
		order[next[node_of[rank] - range.low]++] = rank;
	free(next);
	return true;
}

struct seat {
	int node, relative, rank;
};

static int
compare(const void *a, const void *b)
{
	const struct seat *left = a, *right = b;
	return left->node != right->node ? (left->node > right->node) - (left->node < right->node)
					 : (left->relative > right->relative) -
						 (left->relative < right->relative);
}

static bool
sort_any(const int *node_of, int ranks, int start, int *order)
{
	struct seat *seats = malloc((size_t)ranks * sizeof *seats);
	if (!seats)
		return false;
	for (int rank = 0; rank < ranks; rank++)
		seats[rank] = (struct seat){ node_of[rank], rank < start
					     ? rank + (ranks - start) : rank - start, rank };
	qsort(seats, (size_t)ranks, sizeof *seats, compare);
	for (int i = 0; i < ranks; i++)
		order[i] = seats[i].rank;
	free(seats);
	return true;
}

bool
cs_node_ranks_sort(const int *node_of, int ranks, int start, int *order)
{
	struct range range = range_of(node_of, ranks);
	if ((int64_t)range.high - range.low <= 4 * (int64_t)ranks)
		return sort_by_counting(node_of, ranks, start, range, order);
	return sort_any(node_of, ranks, start, order);
}

bool
cs_node_ranks_init(struct cs_node_ranks *nodes, const struct cs_problem *problem)
{
	size_t p = (size_t)problem->ranks;
	int *memory = malloc((4 * p + 1) * sizeof *memory);
	if (!memory)
		return false;
	*nodes = (struct cs_node_ranks){ .node_of = memory, .place_of = memory + p,
					 .ranks = memory + 2 * p, .first = memory + 3 * p };
	for (int rank = 0; !problem->node_of && rank < problem->ranks; rank++)
		nodes->ranks[rank] = rank;
	if (problem->node_of &&
	    !cs_node_ranks_sort(problem->node_of, problem->ranks, 0, nodes->ranks)) {
		cs_node_ranks_fini(nodes);
		return false;
	}
	for (int i = 0, last = 0; i < problem->ranks; i++) {
		int rank = nodes->ranks[i], node = problem->node_of ? problem->node_of[rank] : rank;
		if (!i || node != last)
			nodes->first[nodes->nodes++] = i;
		last = node;
		nodes->node_of[rank] = nodes->nodes - 1;
		nodes->place_of[rank] = i - nodes->first[nodes->nodes - 1];
	}
	nodes->first[nodes->nodes] = problem->ranks;
	return true;
}

void
cs_node_ranks_fini(struct cs_node_ranks *nodes)
{
	free(nodes->node_of);
	*nodes = (struct cs_node_ranks){ 0 };
}
