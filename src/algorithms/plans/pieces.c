#include "algorithms/plans/pieces.h"

#include <stdlib.h>

struct cs_pieces
cs_pieces_of_vector(const struct cs_problem *problem, int count)
{
	size_t elements = problem->bytes / problem->unit;
	return (struct cs_pieces){ .each = elements / (size_t)count * problem->unit,
				   .unit = problem->unit,
				   .longer = (int)(elements % (size_t)count) };
}

enum cs_status
cs_pieces_of_blocks(struct cs_pieces *pieces, const struct cs_problem *problem)
{
	*pieces = (struct cs_pieces){ .each = problem->bytes, .unit = problem->unit };
	if (!problem->sizes)
		return CS_OK;
	pieces->before = malloc(((size_t)problem->ranks + 1) * sizeof *pieces->before);
	if (!pieces->before)
		return CS_NO_MEMORY;
	pieces->before[0] = 0;
	for (int rank = 0; rank < problem->ranks; rank++)
		pieces->before[rank + 1] = pieces->before[rank] + problem->sizes[rank];
	return CS_OK;
}

void
cs_pieces_fini(struct cs_pieces *pieces)
{
	free(pieces->before);
	pieces->before = NULL;
}
