/* Alltoall, node pairs (seed 002, 2.3.1: node-contiguous blocks; 3.7.3: several ranks of a node
 * statically assigned to the other nodes, senders and receivers apart): one message between every
 * two nodes each way.
 *
 *   nodes A = { 0 1 }, B = { 2 3 }; blocks (of: to). For A rank 0 sends and rank 1 hears, for B 2
 *   and 3
 *
 *   gather     1 -> 0: 1:2 1:3            3 -> 2: 3:0 3:1            on the node 0 -> 1: 0:1, ...
 *   exchange   0 -> 3: 0:2 0:3 1:2 1:3    2 -> 1: 2:0 2:1 3:0 3:1
 *   scatter    3 -> 2: 0:2 1:2            1 -> 0: 2:0 3:0
 *
 * The rank with place (d - 1) modulo `senders` sends to the node d further on, and the one with
 * that place from the end receives from it: with senders up to half a node no rank does both.
 *
 * Cost: 1 round between nodes, one more if one node has several ranks, two more if two have (one
 * node: 1 in all). A rank that sends for its node of n to W ranks, and receives from V, sends and
 * receives p - 1 + (n - 1) (W + V) blocks. Refused without node_of. For small and medium blocks:
 * nodes of n make n^2 messages into one. A sender copies n W blocks: few senders have long plans.
 *
 * Not for alltoallv and alltoallw: the length of a message between two nodes is a sum over n^2
 * blocks, of which its sender and its receiver each know n, and so is the place of each block in
 * it. A rank builds a plan from its own sizes, so the node's rows and columns would have to be
 * exchanged before it (seed 002, 2.3.1: ExchangeCntData), and it would serve only calls in which
 * all of them are the same. For these, hier:* have the tables in the node's memory, and deal the
 * other nodes to `lanes` senders (hier/node_alltoall.c). */
#include "algorithms/plans/node_ranks.h"
#include "algorithms/plans/pairs.h"

struct state {
	struct cs_builder *builder;
	struct cs_node_ranks nodes;
	int node, place, size; /* this rank's, and its node's */
	size_t bytes, senders;
	struct cs_place saved; /* in place */
};

typedef struct cs_place block_place(const struct state *state, int rank);

/* The node that is `distance` further on. */
static int
node_at(const struct cs_node_ranks *nodes, int node, int distance)
{
	return (node + distance) % nodes->nodes;
}

static int
senders_of(const struct cs_node_ranks *nodes, int node, size_t senders)
{
	int size = cs_node_size(nodes, node);
	return senders && senders < (size_t)size ? (int)senders : size;
}

/* Place in `node` of the rank that sends to the node `distance` further on, and of the one that
 * receives from it. */
static int
sender_place(const struct state *state, int node, int distance)
{
	return (distance - 1) % senders_of(&state->nodes, node, state->senders);
}

static int
hearer_place(const struct state *state, int node, int distance)
{
	return cs_node_size(&state->nodes, node) - 1 - sender_place(state, node, distance);
}

/* Number of ranks of other nodes that the `index`th sender or receiver of a node serves. */
static uint64_t
load_of(const struct cs_node_ranks *nodes, int node, int index, size_t senders)
{
	uint64_t load = 0;
	int step = senders_of(nodes, node, senders);
	for (int distance = index + 1; index < step && distance < nodes->nodes; distance += step)
		load += (uint64_t)cs_node_size(nodes, node_at(nodes, node, distance));
	return load;
}

static struct cs_place
input_of(const struct state *state, int rank)
{
	const struct cs_problem *problem = state->builder->problem;
	int distance = (rank - problem->rank + problem->ranks) % problem->ranks;
	if (problem->is_in_place)
		return cs_plus(state->saved, (size_t)(distance - 1) * state->bytes);
	return cs_pairs_in(problem, rank);
}

static struct cs_place
output_of(const struct state *state, int rank)
{
	return cs_pairs_out(state->builder->problem, rank);
}

/* Are the blocks of a node's ranks one after another? */
static bool
are_in_a_row(const struct state *state, int node, block_place *place_of)
{
	int size = cs_node_size(&state->nodes, node);
	struct cs_place first = place_of(state, cs_node_rank(&state->nodes, node, 0));
	for (int place = 1; place < size; place++) {
		struct cs_place next = place_of(state, cs_node_rank(&state->nodes, node, place));
		if (next.at != first.at + (size_t)place * state->bytes)
			return false;
	}
	return true;
}

/* Copy the own blocks for a node into a row. */
static void
copy_row(const struct state *state, struct cs_place to, int node)
{
	for (int place = 0; place < cs_node_size(&state->nodes, node); place++)
		cs_build_copy(state->builder, cs_plus(to, (size_t)place * state->bytes),
			      input_of(state, cs_node_rank(&state->nodes, node, place)),
			      state->bytes);
}

/* Send the own blocks for a node to the rank that serves it. */
static void
send_row(const struct state *state, int server, int node)
{
	size_t bytes = (size_t)cs_node_size(&state->nodes, node) * state->bytes;
	struct cs_place row = input_of(state, cs_node_rank(&state->nodes, node, 0));
	if (!are_in_a_row(state, node, input_of)) {
		row = cs_build_tmp(state->builder, bytes);
		copy_row(state, row, node);
	}
	cs_build_send(state->builder, cs_node_rank(&state->nodes, state->node, server), row, bytes);
}

/* Collect the blocks of all ranks of this node for another: by rank here, then by rank there. */
static size_t
collect_rows(const struct state *state, struct cs_place to, int node)
{
	size_t bytes = (size_t)cs_node_size(&state->nodes, node) * state->bytes;
	for (int place = 0; place < state->size; place++) {
		struct cs_place row = cs_plus(to, (size_t)place * bytes);
		if (place == state->place)
			copy_row(state, row, node);
		else
			cs_build_recv(state->builder,
				      cs_node_rank(&state->nodes, state->node, place), row, bytes);
	}
	return (size_t)state->size * bytes;
}

static void
exchange_on_node(const struct state *state)
{
	for (int i = 1; i < state->size; i++) {
		int to = cs_node_rank(&state->nodes, state->node, (state->place + i) % state->size);
		int from = cs_node_rank(&state->nodes, state->node,
					(state->place + state->size - i) % state->size);
		cs_build_recv(state->builder, from, output_of(state, from), state->bytes);
		cs_build_send(state->builder, to, input_of(state, to), state->bytes);
	}
}

static void
gather(const struct state *state, struct cs_place collected)
{
	exchange_on_node(state);
	for (int distance = 1; distance < state->nodes.nodes; distance++) {
		int node = node_at(&state->nodes, state->node, distance);
		int server = sender_place(state, state->node, distance);
		if (server == state->place)
			collected = cs_plus(collected, collect_rows(state, collected, node));
		else
			send_row(state, server, node);
	}
	cs_pairs_keep_own(state->builder);
	cs_build_wait_all(state->builder);
}

static void
exchange(const struct state *state, struct cs_place collected, struct cs_place heard)
{
	for (int distance = 1; distance < state->nodes.nodes; distance++) {
		int node = node_at(&state->nodes, state->node, distance),
		    back = state->nodes.nodes - distance;
		size_t bytes = (size_t)state->size * (size_t)cs_node_size(&state->nodes, node) *
			       state->bytes;
		if (hearer_place(state, state->node, distance) == state->place) {
			int from = cs_node_rank(&state->nodes, node,
						sender_place(state, node, back));
			cs_build_recv(state->builder, from, heard, bytes);
			heard = cs_plus(heard, bytes);
		}
		if (sender_place(state, state->node, distance) == state->place) {
			int to = cs_node_rank(&state->nodes, node, hearer_place(state, node, back));
			cs_build_send(state->builder, to, collected, bytes);
			collected = cs_plus(collected, bytes);
		}
	}
	cs_build_wait_all(state->builder);
}

/* Copy the blocks for the rank with that place out of a node's message into a row. */
static struct cs_place
copy_column(const struct state *state, struct cs_place heard, int node, int place)
{
	size_t ranks = (size_t)cs_node_size(&state->nodes, node);
	struct cs_place column = cs_build_tmp(state->builder, ranks * state->bytes);
	for (size_t i = 0; i < ranks; i++)
		cs_build_copy(state->builder, cs_plus(column, i * state->bytes),
			      cs_plus(heard, (i * (size_t)state->size + (size_t)place) *
				      state->bytes), state->bytes);
	return column;
}

/* Copy the blocks from a node's ranks, `step` apart, to their places in OUT. */
static void
keep_column(const struct state *state, struct cs_place blocks, size_t step, int node)
{
	for (int i = 0; i < cs_node_size(&state->nodes, node); i++)
		cs_build_copy(state->builder,
			      output_of(state, cs_node_rank(&state->nodes, node, i)),
			      cs_plus(blocks, (size_t)i * step), state->bytes);
}

/* Send the blocks of a node's message to the ranks of this one. */
static void
hand_out(const struct state *state, struct cs_place heard, int node)
{
	size_t bytes = (size_t)cs_node_size(&state->nodes, node) * state->bytes;
	for (int place = 0; place < state->size; place++)
		if (place != state->place)
			cs_build_send(state->builder,
				      cs_node_rank(&state->nodes, state->node, place),
				      copy_column(state, heard, node, place), bytes);
	keep_column(state, cs_plus(heard, (size_t)state->place * state->bytes),
		    (size_t)state->size * state->bytes, node);
}

/* Do a node's blocks need a place in CS_TMP from which they are copied one by one? */
static bool
is_loose(const struct state *state, int distance)
{
	return hearer_place(state, state->node, distance) != state->place &&
	       !are_in_a_row(state, node_at(&state->nodes, state->node, distance), output_of);
}

static void
scatter(const struct state *state, struct cs_place heard)
{
	size_t loose_bytes = 0, at = 0;
	for (int distance = 1; distance < state->nodes.nodes; distance++)
		if (is_loose(state, distance))
			loose_bytes += (size_t)cs_node_size(&state->nodes,
							    node_at(&state->nodes, state->node,
								    distance)) *
				       state->bytes;
	struct cs_place loose = cs_build_tmp(state->builder, loose_bytes);
	for (int distance = 1; distance < state->nodes.nodes; distance++) {
		int node = node_at(&state->nodes, state->node, distance);
		int hearer = hearer_place(state, state->node, distance);
		size_t bytes = (size_t)cs_node_size(&state->nodes, node) * state->bytes;
		struct cs_place to = output_of(state, cs_node_rank(&state->nodes, node, 0));
		if (hearer == state->place) {
			hand_out(state, heard, node);
			heard = cs_plus(heard, (size_t)state->size * bytes);
			continue;
		}
		if (is_loose(state, distance)) {
			to = cs_plus(loose, at);
			at += bytes;
		}
		cs_build_recv(state->builder, cs_node_rank(&state->nodes, state->node, hearer), to,
			      bytes);
	}
	cs_build_wait_all(state->builder);
	for (int distance = 1; distance < state->nodes.nodes; distance++) {
		int node = node_at(&state->nodes, state->node, distance);
		if (!is_loose(state, distance))
			continue;
		keep_column(state, loose, state->bytes, node);
		loose = cs_plus(loose, (size_t)cs_node_size(&state->nodes, node) * state->bytes);
	}
}

static void
build_steps(struct state *state)
{
	struct cs_builder *builder = state->builder;
	int self = builder->problem->rank;
	state->node = state->nodes.node_of[self];
	state->place = state->nodes.place_of[self];
	state->size = cs_node_size(&state->nodes, state->node);
	size_t node_bytes = (size_t)state->size * state->bytes;
	if (builder->problem->is_in_place)
		state->saved = cs_pairs_save(builder);
	struct cs_place collected = cs_build_tmp(
		builder, load_of(&state->nodes, state->node, state->place, state->senders) *
		node_bytes);
	struct cs_place heard = cs_build_tmp(
		builder, load_of(&state->nodes, state->node, state->size - 1 - state->place,
				 state->senders) * node_bytes);
	gather(state, collected);
	builder->note++;
	exchange(state, collected, heard);
	builder->note++;
	scatter(state, heard);
}

/* Parameters. */
enum { SENDERS };

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct state state = { .builder = builder, .bytes = problem->bytes,
			       .senders = problem->params[SENDERS] };
	if (!problem->node_of) {
		cs_build_refuse(builder, "nothing is known of nodes");
		return;
	}
	if (!cs_node_ranks_init(&state.nodes, problem)) {
		cs_build_no_memory(builder);
		return;
	}
	build_steps(&state);
	cs_node_ranks_fini(&state.nodes);
}

const struct cs_algorithm cs_algorithm_alltoall_node_pairs = {
	.colls = CS_SET(CS_ALLTOALL),
	.name = "node-pairs",
	.summary = "one message between every two nodes, several senders per node",
	.needs = { .several_per_node = true },
	.params = { [SENDERS] = { "senders",
			    "ranks of a node that send to other nodes, and that hear them (0: all)",
			    0, 0, 1 << 20 } },
	.build = build,
};
