/* sim/sketch_tree.c — the k-nomial tree of nodes of a sketch. */
#include "sim/sketch_tree.h"

static int
from_root(const struct cs_sketch_state *state, int node)
{
	int away = node - state->root_node;
	return away < 0 ? away + state->call->nodes : away;
}

static int
node_at(const struct cs_sketch_state *state, int64_t away)
{
	return (int)((away + state->root_node) % state->call->nodes);
}

int
cs_sketch_parent(const struct cs_sketch_state *state, int node)
{
	int64_t base = (int64_t)state->sketch->degree + 1, away = from_root(state, node), step = 1;
	if (!away)
		return -1;
	while (away % (step * base) == 0)
		step *= base;
	return node_at(state, away - away % (step * base));
}

int
cs_sketch_children(const struct cs_sketch_state *state, int node, int *children)
{
	int64_t base = (int64_t)state->sketch->degree + 1, away = from_root(state, node);
	int count = 0;
	for (int64_t step = 1; step < state->call->nodes && (!away || away % (step * base) == 0);
	     step *= base)
		for (int64_t digit = 1; digit < base && away + digit * step < state->call->nodes;
		     digit++)
			children[count++] = node_at(state, away + digit * step);
	return count;
}

int
cs_sketch_leader(const struct cs_sketch_state *state, int node)
{
	return node == state->root_node ? state->call->root
					: cs_sim_call_rank(state->call, node, 0);
}
