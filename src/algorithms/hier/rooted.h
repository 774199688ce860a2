/* hier/rooted.h — gather(v) and scatter(v): blocks to and from one rank. */
#ifndef CS_ALGORITHMS_HIER_ROOTED_H
#define CS_ALGORITHMS_HIER_ROOTED_H

#include "algorithms/op.h"

/* `sizes_known`: all ranks know all blocks' sizes (gather, scatter); else only the root does, and
 * each rank its own. On one node, blocks of `single_copy_from` bytes or more (0: as measured,
 * shm/copy_choice.h) are read from their owner's memory. */
void cs_rooted_gather(struct cs_op *op, bool sizes_known, size_t single_copy_from);
void cs_rooted_scatter(struct cs_op *op, bool sizes_known, size_t single_copy_from);
/* The same over several nodes (hier/rooted_gather.c, rooted_hier.c). */
void cs_rooted_gather_hier(struct cs_op *op, bool sizes_known);
void cs_rooted_scatter_hier(struct cs_op *op, bool sizes_known);
/* The same of small blocks on one node, at once. False: not of this size, or several nodes. */
bool cs_rooted_gather_fast(struct cs_op *op, size_t single_copy_from);
bool cs_rooted_scatter_fast(struct cs_op *op, size_t single_copy_from);

#endif
