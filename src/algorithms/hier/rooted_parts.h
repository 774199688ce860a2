/* hier/rooted_parts.h — what gather(v) (rooted_gather.c) and scatter(v) over several nodes
 * (rooted_hier.c, which has the rest) share. */
#ifndef CS_ALGORITHMS_HIER_ROOTED_PARTS_H
#define CS_ALGORITHMS_HIER_ROOTED_PARTS_H

#include "algorithms/hier/between.h"
#include "algorithms/hier/hier.h"
#include "algorithms/node/rounds.h"
#include "algorithms/hier/rooted.h"

struct cs_rooted {
	struct cs_hier hier;
	int root_node, root_local;
	bool is_root, is_root_node, is_leader;
	bool shares_sizes; /* all of them are known everywhere */
	bool may_be_put;   /* small blocks are put out, and their ranks have left */
	size_t chunk;      /* bytes of a block in a round */
	size_t room;       /* of all blocks in a round, as far as all ranks know alike */
	size_t *sizes;     /* by position: all of them at the root's node, at least the own node's
			    * elsewhere */
	size_t moved;      /* bytes of the own block that are moved */
	size_t *bytes, *at; /* of a round, by node */
	size_t own_at;     /* of the own piece in the area */
	char *shared;      /* a table of sizes by position, in the area */
	uint64_t agreed;   /* rounds, as the root's node has told the leaders */
	bool is_cut;       /* somebody sends more than the root expects */
};

static inline struct cs_rooted *
cs_rooted_of(struct cs_op *op)
{
	return CS_OP_STATE(struct cs_rooted, op);
}

void cs_rooted_init(struct cs_op *op);
/* Offsets of a round's pieces in the area: all nodes' at the root's, elsewhere the own node's at
 * the front; own_at is the own piece's. Nodes whose sizes are not known have 0 in the leaders'
 * arrays: whatever the last call left there would make another problem of this one, and a plan of
 * its own. */
void cs_rooted_lay_out(struct cs_op *op, struct cs_hier_round *round);
size_t cs_rooted_table_bytes(const struct cs_op *op);
uint64_t cs_rooted_most_rounds(const struct cs_op *op, const struct cs_rooted *rooted,
			       const size_t *sizes);
/* Where bytes[] and at[] of sizes by position lie, node by node. */
void cs_rooted_lay_out_sizes(const struct cs_op *op, const struct cs_rooted *rooted);
/* Sizes known everywhere, or in the table: the rounds are known, in steps behind `step`. */
void cs_rooted_begin_rounds(struct cs_op *op, uint64_t rounds, uint64_t step, size_t each);
void cs_rooted_equal_sizes(struct cs_op *op, size_t each);
/* The root writes the sizes of all blocks as it knows them into the area. */
bool cs_rooted_open_table(struct cs_op *op, const struct cs_blocks *blocks);
enum cs_status cs_rooted_between_sizes(struct cs_op *op);
/* The host's collective, whatever plan serves the call: what is agreed on is small. */
void cs_rooted_by_host(struct cs_op *op,
		       void (*between)(struct cs_op *op, struct cs_rooted *rooted));
/* A leader's: the root's node tells the others how many rounds there are, of all sizes by position,
 * and waits for none of them. */
void cs_rooted_tell_rounds(struct cs_op *op, const size_t *sizes);
bool cs_rooted_is_root_of_node(struct cs_op *op, int local);

#endif
