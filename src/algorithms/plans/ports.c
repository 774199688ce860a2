/* plans/ports.c — cost of rounds in which a rank sends several messages at once. */
#include "algorithms/plans/ports.h"

/* Equal blocks: each rank sends and receives all but one, and every round counts. */
void
cs_ports_cost(const struct cs_problem *problem, size_t k, struct cs_cost *cost)
{
	size_t bytes = cs_problem_size(problem, 0);
	*cost = (struct cs_cost){ .bytes = ((uint64_t)problem->ranks - 1) * bytes };
	for (size_t n = 1; n < (size_t)problem->ranks && bytes; n *= k + 1)
		cost->rounds++;
	for (int rank = 1; rank < problem->ranks; rank++)
		if (cs_problem_size(problem, rank) != bytes)
			*cost = CS_PRICE_NONE;
}
