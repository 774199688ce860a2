#include "algorithms/patterns/node_ranks.h"

#include <stdlib.h>

struct seat {
	int node, rank;
};

static int
compare(const void *a, const void *b)
{
	const struct seat *left = a, *right = b;
	return left->node != right->node ? (left->node > right->node) - (left->node < right->node)
					 : (left->rank > right->rank) - (left->rank < right->rank);
}

bool
cs_node_ranks_init(struct cs_node_ranks *nodes, const struct cs_problem *problem)
{
	size_t p = (size_t)problem->ranks;
	struct seat *seats = malloc(p * sizeof *seats);
	int *memory = malloc((4 * p + 1) * sizeof *memory);
	if (!seats || !memory) {
		free(seats);
		free(memory);
		return false;
	}
	*nodes = (struct cs_node_ranks){ .node_of = memory, .place_of = memory + p, .ranks = memory + 2 * p,
					 .first = memory + 3 * p };
	for (int rank = 0; rank < problem->ranks; rank++)
		seats[rank] = (struct seat){ problem->node_of ? problem->node_of[rank] : rank, rank };
	qsort(seats, p, sizeof *seats, compare);
	for (int i = 0; i < problem->ranks; i++) {
		if (!i || seats[i].node != seats[i - 1].node)
			nodes->first[nodes->nodes++] = i;
		nodes->ranks[i] = seats[i].rank;
		nodes->node_of[seats[i].rank] = nodes->nodes - 1;
		nodes->place_of[seats[i].rank] = i - nodes->first[nodes->nodes - 1];
	}
	nodes->first[nodes->nodes] = problem->ranks;
	free(seats);
	return true;
}

void
cs_node_ranks_fini(struct cs_node_ranks *nodes)
{
	free(nodes->node_of);
	*nodes = (struct cs_node_ranks){ 0 };
}
