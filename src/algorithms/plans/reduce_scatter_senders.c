#include "algorithms/plans/reduce_scatter_senders.h"

#include "algorithms/plans/cyclic_sum.h"
#include "algorithms/plans/node_ranks.h"
#include "algorithms/plans/pieces.h"
#include "algorithms/plans/reduce_scatter_pairwise.h"

#include <stdlib.h>

/* --- places and shares ------------------------------------------------------------------------ */

/* Place 0 of a node adds, places 1, 2 .. send; a place's share of the vector is the blocks of the
 * nodes to which it sends, place 0's of its own node. Round 0 stands for the own node. A rank that
 * is alone has place 0 and all rounds. */
struct layout {
	const struct cs_problem *problem;
	struct cs_node_ranks nodes;
	struct cs_pieces pieces;
	size_t *bytes; /* by node: of its ranks' blocks */
};

static bool
lay_out(struct layout *layout, const struct cs_problem *problem)
{
	*layout = (struct layout){ .problem = problem };
	if (!cs_node_ranks_init(&layout->nodes, problem))
		return false;
	layout->bytes = calloc((size_t)layout->nodes.nodes, sizeof *layout->bytes);
	if (!layout->bytes || cs_pieces_of_blocks(&layout->pieces, problem) != CS_OK) {
		free(layout->bytes);
		cs_node_ranks_fini(&layout->nodes);
		return false;
	}
	for (int rank = 0; rank < problem->ranks; rank++)
		layout->bytes[layout->nodes.node_of[rank]] +=
			cs_pieces_bytes(&layout->pieces, rank, 1);
	return true;
}

static void
clear(struct layout *layout)
{
	free(layout->bytes);
	cs_pieces_fini(&layout->pieces);
	cs_node_ranks_fini(&layout->nodes);
}

/* Is every rank the only one of its node? */
static bool
is_alone(const struct layout *layout)
{
	return layout->nodes.nodes == layout->problem->ranks;
}

static bool
is_block_placed(const struct layout *layout)
{
	for (int i = 0; i < layout->problem->ranks; i++)
		if (layout->nodes.ranks[i] != i)
			return false;
	return true;
}

static int
senders_of(const struct layout *layout, int node)
{
	int others = cs_node_size(&layout->nodes, node) - 1;
	return (size_t)others < layout->problem->params[CS_REDUCE_SCATTER_SENDERS]
	       ? others : (int)layout->problem->params[CS_REDUCE_SCATTER_SENDERS];
}

/* Places that have a share. */
static int
owners_of(const struct layout *layout, int node)
{
	return senders_of(layout, node) + 1;
}

static int
sender_of(const struct layout *layout, int node, int round)
{
	int senders = senders_of(layout, node);
	return cs_node_rank(&layout->nodes, node, senders ? 1 + (round - 1) % senders : 0);
}

/* Step between the rounds of a place, the first of which is its number. */
static int
step_of(const struct layout *layout, int node, int place)
{
	int senders = senders_of(layout, node);
	return !senders ? 1 : place ? senders : layout->nodes.nodes;
}

static int
node_at(const struct layout *layout, int node, int distance)
{
	int nodes = layout->nodes.nodes;
	return (node + distance + nodes) % nodes;
}

static size_t
share_bytes(const struct layout *layout, int node, int place)
{
	size_t bytes = 0;
	int step = step_of(layout, node, place);
	for (int round = place; round < layout->nodes.nodes; round += step)
		bytes += layout->bytes[node_at(layout, node, round)];
	return bytes;
}

/* --- a rank ----------------------------------------------------------------------------------- */

struct part {
	struct cs_builder *builder;
	struct layout layout;
	int node, place, size; /* own; ranks of the node */
	struct cs_place packed; /* input in the order of places, and of rounds in each */
	struct cs_place share;  /* the own share, after the copy-in the node's sum of it */
	struct cs_cyclic_sum sum; /* place 0 */
};

static int
mate(const struct part *part, int place)
{
	return cs_node_rank(&part->layout.nodes, part->node, place);
}

/* Copy the blocks of a node's ranks, consecutive ranks at once; returns their bytes. */
static size_t
pack_node(struct part *part, int node, struct cs_place to)
{
	const struct cs_node_ranks *nodes = &part->layout.nodes;
	const struct cs_pieces *pieces = &part->layout.pieces;
	size_t done = 0;
	for (int first = nodes->first[node], next; first < nodes->first[node + 1]; first = next) {
		int rank = nodes->ranks[first];
		for (next = first + 1; next < nodes->first[node + 1] &&
		     nodes->ranks[next] == rank + next - first;)
			next++;
		size_t bytes = cs_pieces_bytes(pieces, rank, next - first);
		cs_build_copy(part->builder, cs_plus(to, done),
			      cs_in(cs_pieces_before(pieces, rank)), bytes);
		done += bytes;
	}
	return done;
}

static void
pack(struct part *part)
{
	const struct layout *layout = &part->layout;
	size_t at = 0;
	part->packed = cs_build_tmp(part->builder,
				    cs_pieces_before(&layout->pieces, layout->problem->ranks));
	for (int place = 0; place < owners_of(layout, part->node); place++) {
		int step = step_of(layout, part->node, place);
		if (place == part->place)
			part->share = cs_plus(part->packed, at);
		for (int round = place; round < layout->nodes.nodes; round += step)
			at += pack_node(part, node_at(layout, part->node, round),
					cs_plus(part->packed, at));
	}
}

/* Place of the own share as a rank of the node has it. */
static struct cs_place
share_from(const struct part *part, struct cs_place come, int place, size_t bytes)
{
	if (place == part->place)
		return part->share;
	return cs_plus(come, (size_t)(place < part->place ? place : place - 1) * bytes);
}

/* Send all shares to their places, and sum the own one in the order of ranks. */
static void
copy_in(struct part *part)
{
	struct cs_builder *builder = part->builder;
	const struct layout *layout = &part->layout;
	int owners = owners_of(layout, part->node);
	size_t bytes = part->place < owners ? share_bytes(layout, part->node, part->place)
					    : 0, at = 0;
	struct cs_place come = cs_build_tmp(builder, (size_t)(part->size - 1) * bytes);
	for (int place = 0; place < part->size; place++)
		if (place != part->place)
			cs_build_recv(builder, mate(part, place),
				      share_from(part, come, place, bytes), bytes);
	for (int place = 0; place < owners; place++) {
		size_t give = share_bytes(layout, part->node, place);
		if (place != part->place)
			cs_build_send(builder, mate(part, place), cs_plus(part->packed, at), give);
		at += give;
	}
	cs_build_wait_all(builder);
	struct cs_place sum = share_from(part, come, 0, bytes);
	for (int place = 1; place < part->size; place++)
		cs_build_reduce(builder, sum, sum, share_from(part, come, place, bytes), bytes);
	part->share = sum;
}

struct requests {
	int recv, send;
};

/* Exchange with the nodes `round` above and below; `given` is this node's sum for the one above. */
static struct requests
exchange(struct part *part, int round, struct cs_place given, struct cs_place to)
{
	const struct layout *layout = &part->layout;
	int above = node_at(layout, part->node, round), below = node_at(layout, part->node, -round);
	return (struct requests){
		cs_build_recv(part->builder, sender_of(layout, below, round), to,
			      layout->bytes[part->node]),
		cs_build_send(part->builder, sender_of(layout, above, round), given,
			      layout->bytes[above]),
	};
}

/* A sender: pass received sums on to place 0, while the next exchange begins. */
static void
relay(struct part *part)
{
	struct cs_builder *builder = part->builder;
	const struct layout *layout = &part->layout;
	int nodes = layout->nodes.nodes, step = step_of(layout, part->node, part->place), turn = 0;
	size_t bytes = layout->bytes[part->node];
	struct cs_place given = part->share,
			come[2] = { cs_build_tmp(builder, bytes), cs_build_tmp(builder, bytes) };
	int handed[2] = { CS_NO_REQUEST, CS_NO_REQUEST };
	for (int round = part->place; round < nodes; round += step, turn = !turn) {
		builder->note = (uint32_t)round;
		cs_build_wait(builder, handed[turn]);
		struct requests requests = exchange(part, round, given, come[turn]);
		cs_build_wait(builder, requests.recv);
		cs_build_wait(builder, requests.send);
		handed[turn] = cs_build_send(builder, mate(part, 0), come[turn], bytes);
		given = cs_plus(given, layout->bytes[node_at(layout, part->node, round)]);
	}
}

/* Place 0: receive from the node's sender, or exchange if there is no other rank on the node. */
static struct requests
begin_round(struct part *part, int round, struct cs_place given)
{
	struct cs_place to = cs_cyclic_sum_room(&part->sum, round);
	part->builder->note = (uint32_t)round;
	if (part->size == 1)
		return exchange(part, round, given, to);
	return (struct requests){
		cs_build_recv(part->builder, sender_of(&part->layout, part->node, round), to,
			      part->sum.bytes),
		CS_NO_REQUEST,
	};
}

static void
add_rounds(struct part *part, struct cs_place into)
{
	struct cs_builder *builder = part->builder;
	const struct layout *layout = &part->layout;
	int nodes = layout->nodes.nodes;
	struct requests requests = { CS_NO_REQUEST, CS_NO_REQUEST };
	struct cs_place given = part->share;
	cs_cyclic_sum_begin(&part->sum, builder, part->node, nodes, part->share, into,
			    layout->bytes[part->node], 2);
	for (int round = 1; round <= nodes; round++) {
		cs_build_wait(builder, requests.recv);
		cs_build_wait(builder, requests.send);
		given = cs_plus(given, layout->bytes[node_at(layout, part->node, round - 1)]);
		if (round < nodes)
			requests = begin_round(part, round, given);
		if (round > 1)
			cs_cyclic_sum_add(&part->sum, round - 1);
	}
	cs_cyclic_sum_end(&part->sum);
}

static void
copy_out(struct part *part)
{
	struct cs_builder *builder = part->builder;
	const struct cs_pieces *pieces = &part->layout.pieces;
	size_t own = cs_pieces_bytes(pieces, builder->problem->rank, 1), at = own;
	if (part->place) {
		cs_build_recv(builder, mate(part, 0), cs_out(0), own);
		return;
	}
	for (int place = 1; place < part->size; place++) {
		size_t bytes = cs_pieces_bytes(pieces, mate(part, place), 1);
		cs_build_send(builder, mate(part, place), cs_plus(part->share, at), bytes);
		at += bytes;
	}
	cs_build_copy(builder, cs_out(0), part->share, own);
}

static void
act(struct part *part)
{
	const struct layout *layout = &part->layout;
	int rank = layout->problem->rank;
	part->node = layout->nodes.node_of[rank];
	part->place = layout->nodes.place_of[rank];
	part->size = cs_node_size(&layout->nodes, part->node);
	pack(part);
	if (part->size == 1) {
		add_rounds(part, cs_out(0));
		return;
	}
	copy_in(part);
	if (!part->place)
		add_rounds(part, part->share);
	else if (part->place < owners_of(layout, part->node))
		relay(part);
	part->builder->note = (uint32_t)layout->nodes.nodes;
	copy_out(part);
}

void
cs_reduce_scatter_senders_build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct part part = { .builder = builder };
	if (!problem->node_of) {
		cs_reduce_scatter_pairwise_build(builder);
		return;
	}
	if (!lay_out(&part.layout, problem)) {
		cs_build_no_memory(builder);
		return;
	}
	if (is_alone(&part.layout))
		cs_reduce_scatter_pairwise_build(builder);
	else if (!problem->is_commutative && !is_block_placed(&part.layout))
		cs_build_refuse(builder, CS_NOT_IN_ORDER);
	else
		act(&part);
	clear(&part.layout);
}
