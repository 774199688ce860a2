/* hier/rooted_parts.h — shared by gather(v) (rooted_gather.c) and scatter(v) over several nodes
 * (rooted_hier.c, which also has the shared functions). */
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
	bool shares_sizes; /* the leaders share all sizes */
	bool may_be_put;   /* small blocks may be posted by ranks that then leave */
	size_t chunk;      /* bytes of a block in a round, at most */
	size_t room;       /* bytes of all blocks in a round, at most: the same on all ranks */
	size_t each;       /* bytes of all blocks, which are of one size if `sizes` is NULL */
	size_t *sizes;     /* by position: all at the root's node, at least the own node's
			    * elsewhere */
	size_t moved;      /* bytes of the own block that are moved */
	size_t *bytes, *at; /* of a round, by node */
	size_t own_at;     /* offset of the own piece in the area */
	char *shared;      /* a table of sizes by position, in the area */
	uint64_t agreed;   /* rounds, as the root's node has told the leaders */
	bool is_cut;       /* a rank sends more than the root expects */
};

static inline struct cs_rooted *
cs_rooted_of(struct cs_op *op)
{
	return CS_OP_STATE(struct cs_rooted, op);
}

static inline size_t
cs_rooted_size(const struct cs_rooted *rooted, int position)
{
	return rooted->sizes ? rooted->sizes[position] : rooted->each;
}

/* `sizes_known`: all blocks are as long as the call says. */
void cs_rooted_init(struct cs_op *op, bool sizes_known);
/* Starts with up to so many senders; if sizes are known, the rounds, too. */
void cs_rooted_start(struct cs_op *op, const struct cs_hier_kind *kind, size_t senders,
		     cs_phase *const *script, int first);
/* Lays a round's pieces out in the area: all nodes' at the root's, elsewhere the own node's at the
 * front. Nodes of unknown sizes have 0 in the leaders' arrays: the last call's values would make
 * another problem of this one, with a plan of its own. */
void cs_rooted_lay_out(struct cs_op *op, struct cs_hier_round *round);
size_t cs_rooted_table_bytes(const struct cs_op *op);
uint64_t cs_rooted_most_rounds(const struct cs_op *op, const struct cs_rooted *rooted,
			       const size_t *sizes);
/* Fills in bytes[] and at[] for the table of sizes, node by node. */
void cs_rooted_lay_out_sizes(const struct cs_op *op, const struct cs_rooted *rooted);
/* Starts `rounds` rounds behind `step`; very many have one sender. `each`: bytes of a block, at
 * most, as all ranks know. */
void cs_rooted_begin_rounds(struct cs_op *op, uint64_t rounds, uint64_t step, size_t each);
/* Takes the table in the area; the root writes all blocks' sizes to it. False: no memory yet. */
bool cs_rooted_open_table(struct cs_op *op, const struct cs_blocks *blocks);
enum cs_status cs_rooted_between_sizes(struct cs_op *op);
/* Runs a small collective by the host, even if a plan serves the call. */
void cs_rooted_by_host(struct cs_op *op,
		       void (*between)(struct cs_op *op, struct cs_rooted *rooted));
/* Broadcasts, among leaders, the number of rounds; the root's node computes it from all sizes by
 * position, and waits for no other node. */
void cs_rooted_tell_rounds(struct cs_op *op, const size_t *sizes);
bool cs_rooted_is_root_of_node(struct cs_op *op, int local);

#endif
