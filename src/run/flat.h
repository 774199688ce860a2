/* run/flat.h — a call by an algorithm that is a plan between all ranks of a team. */
#ifndef CS_RUN_FLAT_H
#define CS_RUN_FLAT_H

#include "algorithms/op.h"

/* Begins it, and goes on with a script. `params`: the algorithm's values, which stay as long as the
 * operation. Ends the job if memory is out. */
void cs_flat_start(struct cs_op *op, const struct cs_algorithm *algorithm, const size_t *params);

#endif
