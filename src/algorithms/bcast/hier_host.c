/* Broadcast, hierarchical (seed 002, 2.3.1): the root writes into its node's memory, the leaders
 * broadcast from and into it with the host's own collective, each rank copies out.
 *
 *   root node   root: user -> area      leader: area =host bcast=> area of the other nodes
 *   each node   everybody: area -> user, chunk k while chunk k+1 is on its way
 *
 * One node: the root's ring instead of the area, up to 64 small calls or all slots in flight. Cost
 * there: two copies of the data and one flag; messages of 48 bytes and less one cache line per
 * reader; large ones are read where they are if that is measured to take less (shm/copy_choice.h).
 * Wins wherever ranks share a node. */
#include "algorithms/algorithm.h"
#include "algorithms/hier/between.h"
#include "algorithms/node/rounds.h"
#include "algorithms/hier/hier.h"
#include "algorithms/late/node_barriers.h"
#include "algorithms/node/bcast.h"
#include "algorithms/node/rank_order.h"
#include "algorithms/node/small.h"

#define LEAST_PIECE (4 << 10) /* bytes, as of other chunks */

/* Bytes of a piece, which fits into a slot. */
static size_t
piece_of(const struct cs_team *team, size_t wanted)
{
	size_t slot = team->node.shape.slot_bytes;
	if (!wanted)
		wanted = cs_node_bcast_piece(&team->node);
	else if (wanted < LEAST_PIECE)
		wanted = LEAST_PIECE;
	return wanted < slot ? wanted : slot;
}

/* Do the others read the message where it is? */
static bool
is_read(struct cs_op *op, size_t single_copy_from)
{
	struct cs_call *call = &op->call;
	const struct cs_copy_cost cost = { .reader = -1, .copies_in = 1, .copies_out = 1,
					   .readers = (unsigned)op->team->shape.ranks - 1,
					   .turns = cs_node_bcast_turns(&op->team->node) };
	bool is_shared = cs_op_may_single_copy(op) &&
			 cs_shared_find(call->recv.base, call->bytes).file;
	return (cs_single_copy_by_copies(op, single_copy_from, call->bytes, &cost) || is_shared) &&
	       cs_node_offer(&op->node, call->recv.base, call->bytes);
}

static __attribute__((noinline)) void
node_root(struct cs_op *op, size_t wanted_chunk, size_t single_copy_from)
{
	struct cs_call *call = &op->call;
	bool is_inline = call->bytes <= CS_INLINE;
	size_t chunk = piece_of(op->team, wanted_chunk);
	/* Many non-blocking ones share a slot, rather than that pieces follow each other. */
	bool is_piece = op->node.extras & CS_OP_NONBLOCKING && chunk < call->bytes &&
			cs_node_is_cut(&op->node, call->bytes);
	struct cs_rounds *exchange = cs_rounds_init(op, is_piece ? call->bytes : chunk, NULL);
	cs_rounds_put_block(op, call->recv.base, call->bytes, is_inline, !is_inline &&
			      is_read(op, single_copy_from), true);
	if (exchange->post.way == CS_POST_SINGLE_COPY)
		exchange->post.stride = cs_node_bcast_fan(&op->team->node);
	cs_rounds_start(op, cs_rounds_post_only, 0);
}

static void
root_fast(struct cs_op *op)
{
	struct cs_call *call = &op->call;
	struct cs_node_at at = cs_op_at(op);
	cs_at_begin(at);
	struct cs_line *line = cs_at_line(at);
	cs_at_say(at, line, call->bytes);
	cs_small_post(op, at, line, call->recv.base, call->bytes);
	cs_at_end(at);
}

static enum cs_status
read_rounds(struct cs_op *op)
{
	if (!cs_node_bcast_read(op, CS_OP_STATE(struct cs_node_reader, op)))
		return CS_AGAIN;
	cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const bcast_reader[] = { read_rounds, NULL };

static void
open_reader(struct cs_op *op, size_t wanted_chunk)
{
	*CS_OP_STATE(struct cs_node_reader, op) =
		(struct cs_node_reader){ .from = op->call.root, .passes_on = true,
					 .chunk = piece_of(op->team, wanted_chunk) };
}

/* Read on one node, where local ranks are ranks. */
static void
node_reader(struct cs_op *op, size_t wanted_chunk)
{
	open_reader(op, wanted_chunk);
	cs_op_start(op, bcast_reader);
}

/* Wait for a message that is not small, after the call has begun. */
static __attribute__((noinline)) void
reader_wait(struct cs_op *op, size_t wanted_chunk)
{
	op->node.area[0].count = op->node.area[1].count = 0; /* for cs_node_end */
	open_reader(op, wanted_chunk);
	cs_op_wait_in(op, read_rounds);
}

static void
reader_fast(struct cs_op *op, size_t wanted_chunk)
{
	struct cs_call *call = &op->call;
	struct cs_node_at at = cs_op_at(op);
	cs_at_begin(at);
	const struct cs_line *line = cs_at_await(at, call->root, 1);
	size_t sent = cs_line_bytes(line);
	if (!cs_small_is(line, sent)) {
		reader_wait(op, wanted_chunk);
		return;
	}
	cs_copy(call->recv.base, cs_small_find(op, call->root, line, sent),
		cs_node_bcast_limit(op, line));
	cs_at_end(at);
}

/* --- several nodes: `lanes` ranks of each node broadcast their part of a large piece each ----- */

struct several {
	struct cs_hier hier;
	size_t chunk; /* bytes of a round */
	int root_node, root_local;
	bool is_root, is_root_node;
	bool is_by_host; /* the copy-out */
};

static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	size_t chunk = CS_OP_STATE(struct several, op)->chunk;
	round->at = round->index * chunk;
	round->room = round->count = cs_chunks_bytes(op->call.bytes, chunk, round->index);
}

static enum cs_status
bring(struct cs_op *op)
{
	struct several *several = CS_OP_STATE(struct several, op);
	const struct cs_hier_round *round = cs_hier_now(&several->hier);
	struct cs_line *line = several->hier.line;
	if (line && !round->index)
		cs_line_say(&op->node, line, op->call.bytes);
	if (several->is_root) {
		cs_copy_in(op, round->area[0], op->call.recv.base + round->at, round->count);
		cs_node_publish(&op->node, line, round->here);
	}
	return CS_OK;
}

static bool
is_root_here(struct cs_op *op, int local)
{
	const struct several *several = CS_OP_STATE(struct several, op);
	return several->is_root_node && local == several->root_local;
}

static void
between(struct cs_op *op, struct cs_hier_round *round)
{
	const struct several *several = CS_OP_STATE(struct several, op);
	size_t first = 0, part = round->count;
	if (!cs_hier_has_senders(op))
		part = cs_slice(round->count, 1, several->hier.lanes, op->team->lane, &first);
	if (part)
		cs_between_bcast(op, round->area[0] + first, part, several->root_node);
}

/* Note in the line's bytes, for the node, that more or less came than expected. */
static void
tell(struct cs_op *op, struct cs_line *line)
{
	const struct several *several = CS_OP_STATE(struct several, op);
	size_t bytes = op->call.bytes;
	if (several->is_root)
		return;
	if (op->node.outcome.bits & CS_OUTCOME_MORE)
		bytes++;
	else if (op->node.outcome.bits & CS_OUTCOME_LESS)
		bytes--;
	cs_line_say(&op->node, line, bytes);
	if (several->hier.by_tree)
		several->hier.tree->stride = bytes;
}

static int
source(struct cs_op *op, const struct cs_hier_round *round, int lane, uint64_t *step)
{
	const struct several *several = CS_OP_STATE(struct several, op);
	if (!several->is_root_node)
		return cs_hier_driver(op, lane);
	*step = round->here;
	return several->root_local;
}

static bool
takes(struct cs_op *op)
{
	const struct several *several = CS_OP_STATE(struct several, op);
	return several->is_by_host || !several->is_root;
}

static void
take_lane(struct cs_op *op, const struct cs_hier_round *round, int lane, const struct cs_line *line)
{
	const struct several *several = CS_OP_STATE(struct several, op);
	size_t first = 0, part = round->count; /* at the root's node it is there as a whole */
	bool is_last = lane + 1 == several->hier.lanes;
	if (!several->is_root_node && !cs_hier_has_senders(op))
		part = cs_slice(round->count, 1, several->hier.lanes, lane, &first);
	cs_node_bcast_compare(&op->node, &op->call, cs_line_bytes(line));
	if ((several->is_root_node || cs_hier_has_senders(op)) && !is_last)
		return;
	if (several->is_by_host || cs_hier_writes(op))
		return;
	bool is_there = several->is_root_node && cs_hier_is_shared(op, line);
	if (several->hier.hybrid)
		several->hier.hybrid->is_there = is_there;
	else if (!is_there)
		cs_copy_result(op, op->call.recv.base + round->at + first,
			       round->area[0] + first, part);
	if (is_there && round->index + 1 == several->hier.rounds)
		cs_shared_count();
}

static void
take_part(struct cs_op *op, const struct cs_hier_round *round, const char *from, size_t at,
	  size_t bytes)
{
	cs_copy_result(op, op->call.recv.base + round->at + at, from, bytes);
}

static void
compare(struct cs_op *op, const struct cs_line *line)
{
	cs_node_bcast_compare(&op->node, &op->call, cs_line_bytes(line));
}

static void
write_round(struct cs_op *op, const struct cs_hier_round *round)
{
	cs_hier_write(op, round->at, round->area[0], round->count);
}

/* On nodes but the root's all hear along the tree, and small data comes along it. */
static unsigned
grow(struct cs_op *op, struct cs_tree *tree)
{
	const struct several *several = CS_OP_STATE(struct several, op);
	tree->sizes = CS_TREE_VECTOR;
	tree->each = tree->stride = op->call.bytes;
	return several->is_root_node || several->is_by_host ? 0 : CS_HIER_HEAR;
}

static void
take_told(struct cs_op *op, const struct cs_hier_round *round)
{
	const struct cs_hier *hier = cs_hier_of(op);
	const struct cs_tree *tree = hier->tree;
	cs_node_bcast_compare(&op->node, &op->call, tree->stride);
	if (tree->told)
		cs_copy_result(op, op->call.recv.base, tree->told,
			       tree->stride < round->count ? tree->stride : round->count);
	else
		cs_copy_result(op, op->call.recv.base, round->area[0], round->count);
}

/* The MPI broadcasts on the node, from the root's memory, or from a leader's area. */
static void
take(struct cs_op *op, const struct cs_hier_round *round)
{
	const struct several *several = CS_OP_STATE(struct several, op);
	char *to = op->call.recv.base + round->at;
	if (cs_hier_of(op)->by_tree & CS_HIER_HEAR)
		take_told(op, round);
	else if (several->is_by_host)
		cs_copy_out_by_host(op, several->is_root_node ? several->root_local
							      : cs_team_leader(op->team),
				    several->is_root ? to : round->area[0], to, round->count);
}

static const struct cs_hier_kind bcast_hier = { .areas = 1, .lay_out = lay_out, .bring = bring,
						.waits_for = is_root_here, .grow = grow,
						.between = between, .tell = tell, .source = source,
						.takes = takes, .take_lane = take_lane,
						.take = take, .take_part = take_part,
						.shares = true, .compare = compare,
						.write = write_round };

static __attribute__((noinline)) void
several_nodes(struct cs_op *op, size_t chunk, size_t wanted_lanes, size_t wanted_senders,
	      size_t out)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	const struct cs_shape *shape = &team->shape;
	struct several *several = CS_OP_STATE(struct several, op);
	several->chunk = chunk < team->node.shape.area_bytes ? chunk : team->node.shape.area_bytes;
	several->root_node = shape->node_of[call->root];
	several->root_local = shape->local_of[call->root];
	several->is_root = shape->rank == call->root;
	several->is_root_node = shape->node == several->root_node;
	several->is_by_host = cs_copy_out_is_by_host(op, out);
	several->hier.rounds = cs_chunks_rounds(call->bytes, several->chunk);
	cs_node_expect(&op->node, several->hier.rounds, 3);
	const struct cs_hier_senders senders =
		{ .count = cs_hier_senders(op, several->is_by_host ? 1 : wanted_senders, 0, 0),
		  .are_heard = true, .never_meet = true };
	if (senders.count > 1)
		cs_hier_start_by_senders(op, &bcast_hier, &senders, cs_hier_script,
					 CS_HIER_SCRIPT_ROUND);
	else
		cs_hier_start_by_lanes(op, &bcast_hier, call->bytes, wanted_lanes);
	if (!several->is_by_host)
		cs_hier_share(op, call->recv.base, call->bytes, !several->is_root_node);
	cs_copy_out_begin(op, out, call->bytes, several->chunk,
			  several->is_root_node ? several->root_local : cs_team_leader(team));
	several->hier.needs_line = several->is_root || several->hier.drives;
}

/* Parameters. */
enum { CHUNK, WIRE_CHUNK, LANES, CMA_MIN, BARRIER, SENDERS, OUT };

static bool
fast(struct cs_op *op, const size_t *params)
{
	if (params[BARRIER] || op->team->shape.nodes > 1 ||
	    !cs_small_fits(op, op->call.bytes, params[CMA_MIN]))
		return false;
	if (op->team->shape.rank == op->call.root)
		root_fast(op);
	else
		reader_fast(op, params[CHUNK]);
	return true;
}

static void
run(struct cs_op *op, const size_t *params)
{
	struct cs_team *team = op->team;
	struct cs_call *call = &op->call;
	if (team->shape.nodes > 1)
		several_nodes(op, params[WIRE_CHUNK], params[LANES], params[SENDERS], params[OUT]);
	else if (team->shape.rank == call->root)
		node_root(op, params[CHUNK], params[CMA_MIN]);
	else
		node_reader(op, params[CHUNK]);
	if (params[BARRIER])
		cs_node_barriers(op);
}

const struct cs_algorithm cs_algorithm_bcast_hier_host = {
	.colls = CS_SET(CS_BCAST),
	.name = "hier:host",
	.summary = "root -> node memory -> (host bcast between leaders) -> all",
	.needs = { .several_per_node = true },
	.params = { [CHUNK] = { "chunk",
				"bytes per pipelined piece on one node; 0: by the node's "
				"facts", 0, 0, 64 << 20 },
		    [WIRE_CHUNK] = { "wire_chunk", "bytes per piece between nodes", 1 << 20,
				     4 << 10, 64 << 20 },
		    [LANES] = { "lanes", "ranks of a node that drive the wire with large "
					 "messages; " CS_LANES_ZERO, 2, 0,
				CS_LANES },
		    [CMA_MIN] = CS_CMA_MIN, [BARRIER] = CS_NODE_BARRIERS,
		    [SENDERS] = CS_HIER_SENDERS, [OUT] = CS_COPY_OUT },
	.composes = true,
	.fast = fast,
	.run = run,
};
