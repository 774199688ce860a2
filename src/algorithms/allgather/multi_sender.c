/* Allgather, multi-sender Bruck (seed 002, 2.3.2): Bruck between nodes, each of a node's k messages
 * sent by another of its ranks.
 *
 *   9 nodes of 2 ranks, k = 2, node 0's work buffers:
 *
 *                    gather     exchange, share       exchange, share
 *   rank 0 of it     0          0 1 .    0 1 2        0 1 2  3 4 5  . . .    0 1 2  3 4 5  6 7 8
 *   rank 1           0          0 . 2    0 1 2        0 1 2  . . .  6 7 8    0 1 2  3 4 5  6 7 8
 *   from node                   1 and 2               3 and 6
 *
 * Ranks of a node first send their blocks to each other. With n nodes' blocks on each rank, rank j
 * of a node sends them all to the node (j + 1) n below, to the rank j there, receives those of the
 * node (j + 1) n above, and shares them with the others of its node. All have (k + 1) n nodes'
 * blocks then; in the last round only as many as are missing come. The paper's senders work in one
 * buffer in the node's memory; here each rank has its own, and sharing is messages within the node.
 * Blocks are in it node by node from the own node on, and are copied to OUT at the end.
 *
 * k is the number of the smallest node's ranks, or the parameter; if it is more than a node's
 * ranks, these take turns. Without node_of each rank is a node, and k = 1 by default: this is
 * Bruck.
 *
 * Cost: 1 + 2 ceil(log_(k+1) nodes) rounds, every other one between nodes; each rank receives each
 * block once. For small and middle blocks where one sender does not fill the node's link. */
#include "algorithms/algorithm.h"
#include "algorithms/plans/node_ranks.h"
#include "algorithms/plans/packed_blocks.h"
#include "algorithms/plans/ports.h"

#include <stdlib.h>

struct layout {
	const struct cs_problem *problem;
	struct cs_node_ranks nodes;
	int ports;      /* k, but not more than there are other nodes */
	size_t *before; /* by node: bytes of the blocks of all nodes before it; one more */
};

static int
smallest_node(const struct cs_node_ranks *nodes)
{
	int smallest = cs_node_size(nodes, 0);
	for (int node = 1; node < nodes->nodes; node++)
		if (cs_node_size(nodes, node) < smallest)
			smallest = cs_node_size(nodes, node);
	return smallest;
}

/* Parameters. */
enum { K };

static bool
lay(struct layout *layout, const struct cs_problem *problem)
{
	struct cs_node_ranks *nodes = &layout->nodes;
	if (!cs_node_ranks_init(nodes, problem))
		return false;
	layout->problem = problem;
	layout->ports = problem->params[K] ? (int)problem->params[K] : smallest_node(nodes);
	if (layout->ports >= nodes->nodes)
		layout->ports = nodes->nodes - 1;
	layout->before = calloc((size_t)nodes->nodes + 1, sizeof *layout->before);
	if (!layout->before) {
		cs_node_ranks_fini(nodes);
		return false;
	}
	for (int node = 0; node < nodes->nodes; node++) {
		layout->before[node + 1] = layout->before[node];
		for (int place = 0; place < cs_node_size(nodes, node); place++)
			layout->before[node + 1] +=
				cs_problem_size(problem, cs_node_rank(nodes, node, place));
	}
	return true;
}

static void
drop(struct layout *layout)
{
	free(layout->before);
	cs_node_ranks_fini(&layout->nodes);
}

/* Bytes of all blocks of `count` nodes from `first` on, modulo nodes. */
static size_t
bytes_of(const struct layout *layout, int first, int count)
{
	int nodes = layout->nodes.nodes, end = first + count;
	if (end <= nodes)
		return layout->before[end] - layout->before[first];
	return layout->before[nodes] - layout->before[first] + layout->before[end - nodes];
}

/* The rank of the node that sends and receives at this port. */
static int
carrier(const struct layout *layout, int node, int port)
{
	return cs_node_rank(&layout->nodes, node, port % cs_node_size(&layout->nodes, node));
}

/* --- one port in one round -------------------------------------------------------------------- */

struct hop {
	int distance, blocks; /* up to the node from which `blocks` nodes' blocks come */
	int port;
};

/* Set `hop` to the next port of the round in which all have the blocks of n nodes; at first
 * hop->port is -1. */
static bool
next(const struct layout *layout, int n, struct hop *hop)
{
	hop->port++;
	hop->distance = n * (hop->port + 1);
	hop->blocks = hop->port < layout->ports
		      ? cs_ports_blocks(layout->nodes.nodes, n, hop->distance) : 0;
	return hop->blocks > 0;
}

#define FOR_EACH_HOP(hop, layout, n) for (struct hop hop = { .port = -1 }; next(layout, n, &hop);)

/* --- steps ------------------------------------------------------------------------------------ */

struct state {
	const struct layout *layout;
	struct cs_builder *builder;
	struct cs_place buffer; /* blocks node by node, from the own node on */
	int self, node;
};

static void
gather_node(struct state *state)
{
	const struct cs_problem *problem = state->layout->problem;
	const struct cs_node_ranks *nodes = &state->layout->nodes;
	struct cs_place place = state->buffer;
	for (int i = 0; i < cs_node_size(nodes, state->node); i++) {
		int rank = cs_node_rank(nodes, state->node, i);
		size_t bytes = cs_problem_size(problem, rank);
		if (rank == state->self)
			cs_build_copy(state->builder, place, cs_build_own(state->builder), bytes);
		else
			cs_build_recv(state->builder, rank, place, bytes);
		place = cs_plus(place, bytes);
	}
	for (int i = 0; i < cs_node_size(nodes, state->node); i++)
		if (cs_node_rank(nodes, state->node, i) != state->self)
			cs_build_send(state->builder, cs_node_rank(nodes, state->node, i),
				      cs_build_own(state->builder),
				      cs_problem_size(problem, state->self));
	cs_build_wait_all(state->builder);
}

static void
start_receives(struct state *state, int n, int *requests)
{
	const struct layout *layout = state->layout;
	FOR_EACH_HOP(hop, layout, n) {
		int from = (state->node + hop.distance) % layout->nodes.nodes;
		int rank = carrier(layout, state->node, hop.port);
		int peer = rank == state->self ? carrier(layout, from, hop.port) : rank;
		requests[hop.port] = cs_build_recv(state->builder, peer,
						   cs_plus(state->buffer,
							   bytes_of(layout, state->node,
								    hop.distance)),
						   bytes_of(layout, from, hop.blocks));
	}
}

static void
start_sends(struct state *state, int n)
{
	const struct layout *layout = state->layout;
	int nodes = layout->nodes.nodes;
	FOR_EACH_HOP(hop, layout, n) {
		int to = (state->node - hop.distance + nodes) % nodes;
		if (carrier(layout, state->node, hop.port) == state->self)
			cs_build_send(state->builder, carrier(layout, to, hop.port), state->buffer,
				      bytes_of(layout, state->node, hop.blocks));
	}
}

/* Send received blocks to the others of the node. */
static void
share(struct state *state, int n, const int *requests)
{
	const struct layout *layout = state->layout;
	const struct cs_node_ranks *nodes = &layout->nodes;
	FOR_EACH_HOP(hop, layout, n)
		if (carrier(layout, state->node, hop.port) == state->self)
			cs_build_wait(state->builder, requests[hop.port]);
	FOR_EACH_HOP(hop, layout, n) {
		struct cs_place place =
			cs_plus(state->buffer, bytes_of(layout, state->node, hop.distance));
		size_t bytes = bytes_of(layout, (state->node + hop.distance) % nodes->nodes,
					hop.blocks);
		bool is_mine = carrier(layout, state->node, hop.port) == state->self;
		for (int i = 0; is_mine && i < cs_node_size(nodes, state->node); i++)
			if (cs_node_rank(nodes, state->node, i) != state->self)
				cs_build_send(state->builder, cs_node_rank(nodes, state->node, i),
					      place, bytes);
	}
}

/* Copy blocks to their places, those of consecutive ranks together. */
static void
copy_out(struct state *state)
{
	const struct cs_node_ranks *nodes = &state->layout->nodes;
	struct cs_place place = state->buffer;
	int p = state->layout->problem->ranks, at = nodes->first[state->node];
	for (int done = 0, count; done < p; done += count) {
		int first = nodes->ranks[at], rank = first;
		for (count = 0; done + count < p && nodes->ranks[at] == rank; count++) {
			at = at + 1 < p ? at + 1 : 0;
			rank = rank + 1 < p ? rank + 1 : 0;
		}
		cs_packed_unpack(state->builder, place, first, count);
		place = cs_plus(place, cs_build_run_bytes(state->builder, first, count));
	}
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct layout layout;
	int *requests = malloc((size_t)problem->ranks * sizeof *requests); /* by port */
	if (!requests || !lay(&layout, problem)) {
		free(requests);
		cs_build_no_memory(builder);
		return;
	}
	struct state state = { .layout = &layout, .builder = builder, .self = problem->rank,
			       .node = layout.nodes.node_of[problem->rank],
			       .buffer = cs_build_tmp(builder, cs_problem_total(problem)) };
	gather_node(&state);
	for (int n = 1; n < layout.nodes.nodes; n *= layout.ports + 1) {
		builder->note++;
		start_receives(&state, n, requests);
		start_sends(&state, n);
		share(&state, n, requests);
		cs_build_wait_all(builder);
	}
	copy_out(&state);
	drop(&layout);
	free(requests);
}

const struct cs_algorithm cs_algorithm_allgather_multi_sender = {
	.colls = CS_SET(CS_ALLGATHER),
	.name = "multi-sender",
	.summary = "Bruck between nodes, several ranks of a node sending at once",
	.params = { [K] = { "k",
			    "messages that a node sends at once; 0: as the smallest node has ranks",
			    0, 0, 64 } },
	.build = build,
	.alone = "bruck",
};
