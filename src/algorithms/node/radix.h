/* node/radix.h — long reductions on a node of several caches, by slices with a radix for each level
 * (algorithms/levels.h): caches, packages, the node.
 *
 *   up     each rank reduces a slice, first that of its cache's members, one of so many as these
 *          are; then a slice of its package, of the sums of the package's caches; then one of the
 *          node, of the packages' sums
 *   down   the same back: each rank gets the sums of its package's slice from the node, of its
 *          cache's from the package, and all from its mates (in a reduce only those with the root
 *          in their group, and all the root; in a reduce_scatter none, whose slices of the node
 *          are the ranks' blocks)
 *
 * n bytes cross the border of each part of a group but one: in an allreduce 2 n (caches - packages)
 * between caches of a package and 2 n (packages - 1) between packages, where flat slices have
 * 2 n (p - ranks of the package) between packages alone (Li, Hoefler, Snir 2013, "tiled"; EXT_MPI's
 * radices). Operands are added in any order: for integers only. */
#ifndef CS_ALGORITHMS_NODE_RADIX_H
#define CS_ALGORITHMS_NODE_RADIX_H

#include "algorithms/op.h"

/* Can a vector of elements of `unit` bytes be reduced so? Equal on all ranks. */
bool cs_radix_fits(const struct cs_team *team, size_t unit);

/* Starts an allreduce, a reduce of call->root, or a reduce_scatter(_block). */
void cs_radix_start(struct cs_op *op);

#endif
