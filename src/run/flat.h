/* run/flat.h — calls by flat algorithms: one plan between all ranks of a team. */
#ifndef CS_RUN_FLAT_H
#define CS_RUN_FLAT_H

#include "algorithms/op.h"

/* Begins the call, and sets the script that finishes it. `params` are the values of the algorithm's
 * parameters, the caller's, and must last as long as the operation. Ends the job if memory is
 * out. */
void cs_flat_start(struct cs_op *op, const struct cs_algorithm *algorithm, const size_t *params);

#endif
