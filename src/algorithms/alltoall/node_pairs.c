/* Alltoall, node pairs (seed 002, 2.3.1: node-contiguous blocks; 3.7.3: several ranks of a node statically assigned to
 * the other nodes, senders and receivers apart): one message between every two nodes each way.
 *
 *   nodes A = { 0 1 }, B = { 2 3 }; blocks (of: to). For A rank 0 sends and rank 1 hears, for B 2 and 3
 *
 *   gather     1 -> 0: 1:2 1:3            3 -> 2: 3:0 3:1            and on the node 0 -> 1: 0:1,  1 -> 0: 1:0, ...
 *   exchange   0 -> 3: 0:2 0:3 1:2 1:3    2 -> 1: 2:0 2:1 3:0 3:1
 *   scatter    3 -> 2: 0:2 1:2            1 -> 0: 2:0 3:0
 *
 * The node d further on is sent to by the rank with place (d - 1) modulo `senders` of its node, and heard by the one
 * with that place from the end: with senders up to half a node no rank does both.
 *
 * Price: 1 round between nodes, one more if one node has several ranks, two more if two have (one node: 1 in all).
 * Where a rank sends for its node of n to W ranks and hears V, it sends and receives p - 1 + (n - 1) (W + V) blocks.
 * Refused where node_of is not known. For small and medium blocks: nodes of n make n^2 messages into one. A sender
 * copies n W blocks: few senders have long plans.
 *
 * Not for alltoallv and alltoallw: the length of a message between two nodes is a sum over n^2 blocks, of which its
 * sender and its hearer each know n, and so is the place of each block in it. A plan is what a rank makes of what it
 * knows, so the node's rows and columns would have to be exchanged before it (seed 002, 2.3.1: ExchangeCntData), and it
 * would serve only calls in which all of them are the same. There hier:* do what this does: they have those tables in the
 * node's memory, and deal the other nodes to `lanes` senders (patterns/transpose.c). */
#include "algorithms/patterns/node_ranks.h"
#include "algorithms/patterns/pairs.h"

struct work {
	struct cs_builder *builder;
	struct cs_node_ranks nodes;
	int node, place, size; /* this rank's, and its node's */
	size_t bytes, senders;
	struct cs_place saved; /* in place */
};

typedef struct cs_place block_place(const struct work *work, int rank);

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

/* The place in `node` of the rank that sends to the node `distance` further on; of the one that hears it. */
static int
sender_place(const struct work *work, int node, int distance)
{
	return (distance - 1) % senders_of(&work->nodes, node, work->senders);
}

static int
hearer_place(const struct work *work, int node, int distance)
{
	return cs_node_size(&work->nodes, node) - 1 - sender_place(work, node, distance);
}

/* Ranks of other nodes that the `index`th sender or hearer of a node deals with. */
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
input_of(const struct work *work, int rank)
{
	const struct cs_problem *problem = work->builder->problem;
	int distance = (rank - problem->rank + problem->ranks) % problem->ranks;
	if (problem->is_in_place)
		return cs_plus(work->saved, (size_t)(distance - 1) * work->bytes);
	return cs_pairs_in(problem, rank);
}

static struct cs_place
output_of(const struct work *work, int rank)
{
	return cs_pairs_out(work->builder->problem, rank);
}

/* Are the blocks of a node's ranks one after another? */
static bool
are_in_a_row(const struct work *work, int node, block_place *place_of)
{
	int size = cs_node_size(&work->nodes, node);
	struct cs_place first = place_of(work, cs_node_rank(&work->nodes, node, 0));
	for (int place = 1; place < size; place++) {
		struct cs_place next = place_of(work, cs_node_rank(&work->nodes, node, place));
		if (next.at != first.at + (size_t)place * work->bytes)
			return false;
	}
	return true;
}

/* Own blocks for a node into a row. */
static void
copy_row(const struct work *work, struct cs_place to, int node)
{
	for (int place = 0; place < cs_node_size(&work->nodes, node); place++)
		cs_build_copy(work->builder, cs_plus(to, (size_t)place * work->bytes),
			      input_of(work, cs_node_rank(&work->nodes, node, place)), work->bytes);
}

/* Own blocks for a node to the rank that serves it. */
static void
send_row(const struct work *work, int server, int node)
{
	size_t bytes = (size_t)cs_node_size(&work->nodes, node) * work->bytes;
	struct cs_place row = input_of(work, cs_node_rank(&work->nodes, node, 0));
	if (!are_in_a_row(work, node, input_of)) {
		row = cs_build_tmp(work->builder, bytes);
		copy_row(work, row, node);
	}
	cs_build_send(work->builder, cs_node_rank(&work->nodes, work->node, server), row, bytes);
}

/* The blocks of all ranks of this node for another: by rank here, then by rank there. */
static size_t
collect_rows(const struct work *work, struct cs_place to, int node)
{
	size_t bytes = (size_t)cs_node_size(&work->nodes, node) * work->bytes;
	for (int place = 0; place < work->size; place++) {
		struct cs_place row = cs_plus(to, (size_t)place * bytes);
		if (place == work->place)
			copy_row(work, row, node);
		else
			cs_build_recv(work->builder, cs_node_rank(&work->nodes, work->node, place), row, bytes);
	}
	return (size_t)work->size * bytes;
}

static void
exchange_on_node(const struct work *work)
{
	for (int i = 1; i < work->size; i++) {
		int to = cs_node_rank(&work->nodes, work->node, (work->place + i) % work->size);
		int from = cs_node_rank(&work->nodes, work->node, (work->place + work->size - i) % work->size);
		cs_build_recv(work->builder, from, output_of(work, from), work->bytes);
		cs_build_send(work->builder, to, input_of(work, to), work->bytes);
	}
}

static void
gather(const struct work *work, struct cs_place collected)
{
	exchange_on_node(work);
	for (int distance = 1; distance < work->nodes.nodes; distance++) {
		int node = node_at(&work->nodes, work->node, distance);
		int server = sender_place(work, work->node, distance);
		if (server == work->place)
			collected = cs_plus(collected, collect_rows(work, collected, node));
		else
			send_row(work, server, node);
	}
	cs_pairs_keep_own(work->builder);
	cs_build_wait_all(work->builder);
}

static void
exchange(const struct work *work, struct cs_place collected, struct cs_place heard)
{
	for (int distance = 1; distance < work->nodes.nodes; distance++) {
		int node = node_at(&work->nodes, work->node, distance), back = work->nodes.nodes - distance;
		size_t bytes = (size_t)work->size * (size_t)cs_node_size(&work->nodes, node) * work->bytes;
		if (hearer_place(work, work->node, distance) == work->place) {
			int from = cs_node_rank(&work->nodes, node, sender_place(work, node, back));
			cs_build_recv(work->builder, from, heard, bytes);
			heard = cs_plus(heard, bytes);
		}
		if (sender_place(work, work->node, distance) == work->place) {
			int to = cs_node_rank(&work->nodes, node, hearer_place(work, node, back));
			cs_build_send(work->builder, to, collected, bytes);
			collected = cs_plus(collected, bytes);
		}
	}
	cs_build_wait_all(work->builder);
}

/* The blocks for the rank with that place, out of a message heard from a node, into a row. */
static struct cs_place
copy_column(const struct work *work, struct cs_place heard, int node, int place)
{
	size_t ranks = (size_t)cs_node_size(&work->nodes, node);
	struct cs_place column = cs_build_tmp(work->builder, ranks * work->bytes);
	for (size_t i = 0; i < ranks; i++)
		cs_build_copy(work->builder, cs_plus(column, i * work->bytes),
			      cs_plus(heard, (i * (size_t)work->size + (size_t)place) * work->bytes), work->bytes);
	return column;
}

/* Blocks from the ranks of a node, `step` apart, to where they belong. */
static void
keep_column(const struct work *work, struct cs_place blocks, size_t step, int node)
{
	for (int i = 0; i < cs_node_size(&work->nodes, node); i++)
		cs_build_copy(work->builder, output_of(work, cs_node_rank(&work->nodes, node, i)),
			      cs_plus(blocks, (size_t)i * step), work->bytes);
}

/* A message heard from a node, to the ranks of this one. */
static void
hand_out(const struct work *work, struct cs_place heard, int node)
{
	size_t bytes = (size_t)cs_node_size(&work->nodes, node) * work->bytes;
	for (int place = 0; place < work->size; place++)
		if (place != work->place)
			cs_build_send(work->builder, cs_node_rank(&work->nodes, work->node, place),
				      copy_column(work, heard, node, place), bytes);
	keep_column(work, cs_plus(heard, (size_t)work->place * work->bytes), (size_t)work->size * work->bytes, node);
}

/* Does the message for a node's blocks need a place from which they are copied one by one? */
static bool
is_loose(const struct work *work, int distance)
{
	return hearer_place(work, work->node, distance) != work->place &&
	       !are_in_a_row(work, node_at(&work->nodes, work->node, distance), output_of);
}

static void
scatter(const struct work *work, struct cs_place heard)
{
	size_t loose_bytes = 0, at = 0;
	for (int distance = 1; distance < work->nodes.nodes; distance++)
		if (is_loose(work, distance))
			loose_bytes += (size_t)cs_node_size(&work->nodes, node_at(&work->nodes, work->node, distance)) *
				       work->bytes;
	struct cs_place loose = cs_build_tmp(work->builder, loose_bytes);
	for (int distance = 1; distance < work->nodes.nodes; distance++) {
		int node = node_at(&work->nodes, work->node, distance);
		int hearer = hearer_place(work, work->node, distance);
		size_t bytes = (size_t)cs_node_size(&work->nodes, node) * work->bytes;
		struct cs_place to = output_of(work, cs_node_rank(&work->nodes, node, 0));
		if (hearer == work->place) {
			hand_out(work, heard, node);
			heard = cs_plus(heard, (size_t)work->size * bytes);
			continue;
		}
		if (is_loose(work, distance)) {
			to = cs_plus(loose, at);
			at += bytes;
		}
		cs_build_recv(work->builder, cs_node_rank(&work->nodes, work->node, hearer), to, bytes);
	}
	cs_build_wait_all(work->builder);
	for (int distance = 1; distance < work->nodes.nodes; distance++) {
		int node = node_at(&work->nodes, work->node, distance);
		if (!is_loose(work, distance))
			continue;
		keep_column(work, loose, work->bytes, node);
		loose = cs_plus(loose, (size_t)cs_node_size(&work->nodes, node) * work->bytes);
	}
}

static void
build_steps(struct work *work)
{
	struct cs_builder *builder = work->builder;
	int self = builder->problem->rank;
	work->node = work->nodes.node_of[self];
	work->place = work->nodes.place_of[self];
	work->size = cs_node_size(&work->nodes, work->node);
	size_t node_bytes = (size_t)work->size * work->bytes;
	if (builder->problem->is_in_place)
		work->saved = cs_pairs_save(builder);
	struct cs_place collected = cs_build_tmp(
		builder, load_of(&work->nodes, work->node, work->place, work->senders) * node_bytes);
	struct cs_place heard = cs_build_tmp(
		builder, load_of(&work->nodes, work->node, work->size - 1 - work->place, work->senders) * node_bytes);
	gather(work, collected);
	builder->note++;
	exchange(work, collected, heard);
	builder->note++;
	scatter(work, heard);
}

static void
build(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	struct work work = { .builder = builder, .bytes = problem->bytes, .senders = problem->params[0] };
	if (!problem->node_of) {
		cs_build_refuse(builder, "nothing is known of nodes");
		return;
	}
	if (!cs_node_ranks_init(&work.nodes, problem)) {
		cs_build_no_memory(builder);
		return;
	}
	build_steps(&work);
	cs_node_ranks_fini(&work.nodes);
}

const struct cs_algorithm cs_algorithm_alltoall_node_pairs = {
	.colls = CS_SET(CS_ALLTOALL),
	.name = "node-pairs",
	.summary = "one message between every two nodes, several senders per node",
	.needs = { .several_per_node = true },
	.params = { { "senders", "ranks of a node that send to other nodes, and that hear them (0: all)", 0, 0,
		      1 << 20 } },
	.build = build,
};
