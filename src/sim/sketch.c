/* sim/sketch.c — makes simulators of sketches, and of alltoall by fragments. */
#include "sim/sketch.h"

#include <stdlib.h>

/* --- alltoall --------------------------------------------------------------------------------- */

static void
add_fragments(struct cs_sketch_state *state)
{
	const struct cs_sim_call *call = state->call;
	uint64_t all = call->bytes * (uint64_t)call->ranks;
	int *rank_of = calloc((size_t)call->ranks, sizeof *rank_of);
	if (!rank_of)
		return;
	for (int node = 0; node < call->nodes; node++)
		for (int local = 0; local < call->ppn; local++)
			rank_of[node * call->ppn + local] = cs_sim_call_rank(call, node, local);
	cs_sim_add_exchange(state->sim, &(struct cs_exchange_shape){
		.nodes = call->nodes, .ppn = call->ppn, .rank_of = rank_of,
		.segment = call->bytes * (uint64_t)call->ppn,
		.least = (uint32_t)state->sketch->least, .waits = state->sketch->waits });
	for (int rank = 0; rank < call->ranks; rank++) {
		cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, all);
		cs_sim_add_step(state->sim, rank, CS_NODE_EXCHANGE, 0, 0);
		cs_sim_add_step(state->sim, rank, CS_NODE_COPY, 0, all);
	}
	free(rank_of);
}

/* --- all of them ------------------------------------------------------------------------------ */

/* Is there such a sketch of the collective? */
static bool
is_of(enum cs_coll coll, enum cs_sketch_kind kind)
{
	switch (kind) {
	case CS_SKETCH_BARRIERS:
	case CS_SKETCH_STATIC:
	case CS_SKETCH_DYNAMIC: return coll == CS_BCAST || coll == CS_REDUCE;
	case CS_SKETCH_HALF_DYNAMIC: return coll == CS_REDUCE;
	case CS_SKETCH_FRAGMENTS: return coll == CS_ALLTOALL;
	default: return coll == CS_BCAST;
	}
}

static bool
can_serve(const struct cs_sim_call *call, const struct cs_sketch *sketch)
{
	return is_of(call->coll, sketch->kind) && call->bytes && sketch->degree >= 1 &&
	       sketch->degree <= CS_SKETCH_MOST_DEGREE &&
	       (sketch->kind != CS_SKETCH_FRAGMENTS || call->ppn <= 64);
}

static int
roles_of(const struct cs_sketch_state *state)
{
	switch (state->call->coll) {
	case CS_REDUCE: return cs_sketch_reduce_roles(state);
	case CS_BCAST: return cs_sketch_bcast_roles(state);
	default: return 0;
	}
}

static enum cs_status
create(struct cs_sketch_state *state, size_t budget)
{
	const struct cs_sim_call *call = state->call;
	int actors = call->ranks + call->nodes * state->roles;
	int *node_of = calloc((size_t)actors, sizeof *node_of);
	state->tops = calloc((size_t)call->nodes, sizeof *state->tops);
	if (!node_of || !state->tops) {
		free(node_of);
		return CS_NO_MEMORY;
	}
	for (int actor = 0; actor < actors; actor++)
		node_of[actor] = actor < call->ranks ? call->node_of[actor]
						     : (actor - call->ranks) / state->roles;
	enum cs_status status = cs_sim_create(&state->sim, actors, node_of, budget);
	free(node_of);
	for (int actor = call->ranks; status == CS_OK && actor < actors; actor++)
		cs_sim_make_role(state->sim, actor);
	return status;
}

enum cs_status
cs_sketch_create(struct cs_sim **sim, const struct cs_sim_call *call,
		 const struct cs_sketch *sketch, size_t budget)
{
	struct cs_sketch_state state = { .call = call, .sketch = sketch };
	*sim = NULL;
	if (!can_serve(call, sketch))
		return CS_UNSUPPORTED;
	state.root_node = call->node_of[call->root];
	state.roles = roles_of(&state);
	enum cs_status status = create(&state, budget);
	if (status == CS_OK) {
		switch (call->coll) {
		case CS_REDUCE: cs_sketch_reduce(&state); break;
		case CS_BCAST: cs_sketch_bcast(&state); break;
		default: add_fragments(&state); break;
		}
		status = cs_sim_added(state.sim);
	}
	free(state.tops);
	if (status != CS_OK)
		cs_sim_destroy(state.sim);
	else
		*sim = state.sim;
	return status;
}
