/* sim/sketch_tree.h — parameters of a sketch (sim/sketch.h), the state in which its steps are made,
 * and its k-nomial tree of nodes. */
#ifndef CS_SIM_SKETCH_TREE_H
#define CS_SIM_SKETCH_TREE_H

#include "sim/call.h"
#include "sim/sim.h"

enum cs_sketch_kind {
	CS_SKETCH_BARRIERS, CS_SKETCH_STATIC, CS_SKETCH_DYNAMIC, CS_SKETCH_HALF_DYNAMIC,
	CS_SKETCH_PATARASUK, CS_SKETCH_PATARASUK_BARRIERS, CS_SKETCH_PATARASUK_STATIC,
	CS_SKETCH_PATARASUK_DYNAMIC, CS_SKETCH_FRAGMENTS,
};

struct cs_sketch {
	enum cs_sketch_kind kind;
	size_t degree; /* k: messages of a node in each step of the tree; 1: binomial, 64 at most */
	bool control;
	size_t group;  /* PATARASUK: served at once */
	bool splits;
	size_t least;  /* FRAGMENTS: segments of a message that could grow */
	bool waits;    /* FRAGMENTS: nothing leaves before all of a node have come */
};

struct cs_sketch_state {
	struct cs_sim *sim;
	const struct cs_sim_call *call;
	const struct cs_sketch *sketch;
	int root_node;
	int roles; /* of each node */
	int *tops; /* by node: the actor that speaks for it */
};

#define CS_SKETCH_ID_BYTES 8 /* of a message that tells who leads */

/* Nodes in a k-nomial tree, counted from the root's. The parent's number, -1 for the root's node;
 * the children's to `children`, with the largest subtree last, and how many these are. */
int cs_sketch_parent(const struct cs_sketch_state *state, int node);
int cs_sketch_children(const struct cs_sketch_state *state, int node, int *children);
#define CS_SKETCH_MOST_DEGREE 64
#define CS_SKETCH_MOST_CHILDREN 512 /* of 2^20 nodes with that degree, and more */

/* The rank that leads where that is fixed. */
int cs_sketch_leader(const struct cs_sketch_state *state, int node);
static inline int
cs_sketch_role(const struct cs_sketch_state *state, int node, int number)
{
	return state->call->ranks + node * state->roles + number;
}

int cs_sketch_reduce_roles(const struct cs_sketch_state *state);
void cs_sketch_reduce(struct cs_sketch_state *state);
int cs_sketch_bcast_roles(const struct cs_sketch_state *state);
void cs_sketch_bcast(struct cs_sketch_state *state);

#endif
