/* node/tree.h — the tree of a small call on one node: each rank's children are the leaders of the
 * groups below the groups that it leads (algorithms/levels.h), up to the root, which leads the
 * node.
 *
 *   collect   each rank waits for its children, packs their blocks behind its own, by place, and
 *             publishes them
 *   tell      each rank waits for its parent's step, and publishes what it got for its children
 *
 * p ranks read p - 1 lines in a collect, and p - 1 in a tell, and no rank more than the children of
 * one rank (with flat rounds: p (p - 1), and p - 1). As in Open MPI's coll/xhc and MPICH's
 * release_gather. */
#ifndef CS_ALGORITHMS_NODE_TREE_H
#define CS_ALGORITHMS_NODE_TREE_H

#include "algorithms/levels.h"
#include "algorithms/op.h"

/* Sizes as a line tells them, and comparison: ranks of wrong programs differ in them. */
enum cs_tree_sizes {
	CS_TREE_ALIKE,  /* the signature has the size; a rank that finds another one stops, and so
			 * do all that read its lines (cs_node_look_alike) */
	CS_TREE_BLOCKS, /* the largest block of the subtree, and the distance of blocks */
	CS_TREE_VECTOR, /* the root's, as flat broadcasts tell it */
};

/* One rank's place in the tree, and how far it has come; filled in by cs_tree_begin. */
struct cs_tree {
	const struct cs_levels *levels;
	enum cs_tree_sizes sizes;
	int root, self;     /* places */
	int first, end;     /* places of the own subtree */
	int parent;         /* place; -1: this is the root */
	int level, next;    /* of the next child */
	struct cs_line *line; /* own; NULL: not taken */
	const char *own;    /* block or vector to be collected */
	char *all;          /* of the root: room for all blocks, by place, or for the sum */
	char *room;         /* own blocks, to be posted */
	const struct cs_reduction *fold; /* each rank adds its children's vectors to its own, in any
					  * order; NULL: blocks are packed */
	size_t each;        /* bytes of the own block; told to others: of each block */
	size_t most;        /* CS_TREE_BLOCKS: bytes of the largest block so far */
	const char *told;   /* data, valid until cs_node_end; NULL: none */
	size_t stride;      /* bytes from one block to the next of it */
};

/* Begins at the leaves with blocks of `each` bytes; `root`: a local rank. */
void cs_tree_begin(struct cs_tree *tree, const struct cs_levels *levels, enum cs_tree_sizes sizes,
		   int self, int root, size_t each);

/* The child at hand, a place, and its subtree [*first, *end); -1: there are no more. tree->next =
 * *end moves to the next one. */
int cs_tree_child(struct cs_tree *tree, int *first, int *end);

/* Has the rank children? */
static inline bool
cs_tree_is_leaf(const struct cs_tree *tree)
{
	return tree->end - tree->first == 1;
}

/* Do the blocks of all ranks, of `each` bytes, fit into a rank's small slot? */
static inline bool
cs_tree_fits(const struct cs_levels *levels, size_t each)
{
	return each * (size_t)levels->size <= CS_SMALL;
}

/* Parts of phases, which never wait: false, with op->node.awaited set, means not yet. */

/* Packs the blocks of the own subtree by place, tree->own among them, or adds them up, and
 * publishes them in `step`; the root's, of all ranks, go to tree->all. Longer blocks are cut;
 * tree->most tells of them. After its end it may be called again. */
bool cs_tree_collect(struct cs_op *op, struct cs_tree *tree, uint64_t step);
/* Adds up the vectors that the root has collected, in rank order, into `out`. */
void cs_tree_reduce(struct cs_op *op, const struct cs_tree *tree, char *out);
/* Replaces them by the results of a scan, or an exscan, which has none for the first rank. */
void cs_tree_scan(struct cs_op *op, const struct cs_tree *tree);

/* Parts of all blocks that a rank tells: of all ranks, or those of its subtree; or one vector. */
enum cs_tree_part { CS_TREE_ONE, CS_TREE_ALL, CS_TREE_SUBTREE };

/* Publishes in `step`, for the children, what the root has at `from`, by place, and the others get
 * as tree->told, with tree->stride and tree->most as the root has them. A stopped operation, and a
 * vector above CS_SMALL, of a root that disagrees, have no data. */
bool cs_tree_tell(struct cs_op *op, struct cs_tree *tree, uint64_t step, enum cs_tree_part part,
		  const char *from);

#endif
