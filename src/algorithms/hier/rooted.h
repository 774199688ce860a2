/* hier/rooted.h — gather(v) and scatter(v), on one node and over several. */
#ifndef CS_ALGORITHMS_HIER_ROOTED_H
#define CS_ALGORITHMS_HIER_ROOTED_H

#include "algorithms/op.h"

/* Begin a call. `sizes_known`: all ranks know all blocks' sizes (gather, scatter); else only the
 * root does, and each rank its own. On one node, blocks of `single_copy_from` bytes or more (0: as
 * measured, shm/copy_choice.h) are read by single copy. Over several nodes up to `senders` ranks of
 * each drive the plan. */
void cs_rooted_gather(struct cs_op *op, bool sizes_known, size_t single_copy_from,
			size_t senders);
void cs_rooted_scatter(struct cs_op *op, bool sizes_known, size_t single_copy_from,
			 size_t senders);
/* Begin a call over several nodes (hier/rooted_gather.c, rooted_hier.c). */
void cs_rooted_gather_hier(struct cs_op *op, bool sizes_known, size_t senders);
void cs_rooted_scatter_hier(struct cs_op *op, bool sizes_known, size_t senders);
/* Make a call of small blocks at once. False: not of this size, or several nodes. */
bool cs_rooted_gather_fast(struct cs_op *op, size_t single_copy_from);
bool cs_rooted_scatter_fast(struct cs_op *op, size_t single_copy_from);

#endif
