/* hier/overlap.c — allgather between the memories of nodes. */
#include "algorithms/hier/overlap.h"

#include "algorithms/node/rounds.h"

#include <string.h>

/* State of Bruck's steps between nodes, with k ports: with the parts of `have` nodes each node
 * receives those of the next ones from the nodes have, 2 have .. k have above, and sends its own
 * first ones to the nodes as far below. A port is one driver's. In the area a node's own part comes
 * first, then the next node's, and so on: each message is then contiguous, for any number of
 * nodes. */
struct state {
	struct cs_hier hier;
	struct cs_wire *wire; /* NULL: no driver */
	int ports, port;      /* the own one, of a driver */
	struct cs_request *receives, *sends; /* by step */
	size_t chunk;   /* bytes of a block in a round, at most */
	size_t *before; /* by place: bytes of all parts in places before it; nodes + 1 */
	int step, have; /* between nodes: the step at hand; nodes whose parts are there before it */
	bool is_sent;   /* in this step */
	int next;       /* ports whose messages have come in it */
	int ready, last; /* place and number of the parts to be copied out next */
};

static struct state *
state_of(struct cs_op *op)
{
	return CS_OP_STATE(struct state, op);
}

static int
node_at(const struct cs_op *op, int place)
{
	const struct cs_shape *shape = &op->team->shape;
	return (shape->node + place) % shape->nodes;
}

static size_t
piece_of(struct cs_op *op, int rank)
{
	const struct state *state = state_of(op);
	return cs_chunks_bytes(cs_blocks_bytes(&op->call.recv, rank), state->chunk,
			      state->hier.round);
}

static void
lay_out(struct cs_op *op, struct cs_hier_round *round)
{
	const struct cs_shape *shape = &op->team->shape;
	size_t *before = state_of(op)->before, at = 0;
	for (int place = 0; place < shape->nodes; place++) {
		int node = node_at(op, place);
		before[place] = at;
		for (int p = shape->first[node]; p < shape->first[node + 1]; p++)
			at += piece_of(op, shape->order[p]);
	}
	before[shape->nodes] = at;
	round->room = CS_OVERLAP_ROOM;
}

static char *
area_of(struct cs_op *op)
{
	return cs_hier_now(&state_of(op)->hier)->area[0];
}

static void
copy_in(struct cs_op *op)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	struct cs_call *call = &op->call;
	const char *own = call->send.base ? call->send.base
					  : cs_blocks_at(&call->recv, shape->rank);
	size_t at = 0;
	for (int p = shape->first[shape->node]; shape->order[p] != shape->rank; p++)
		at += piece_of(op, shape->order[p]);
	cs_copy_in(op, area_of(op) + at, own + state->hier.round * state->chunk,
		   piece_of(op, shape->rank));
}

/* Copies the blocks of `count` nodes out, from `place` on. */
static void
copy_out(struct cs_op *op, int place, int count)
{
	const struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	struct cs_call *call = &op->call;
	const char *from = area_of(op) + state->before[place];
	for (int end = place + count; place < end; place++) {
		int node = node_at(op, place);
		for (int p = shape->first[node]; p < shape->first[node + 1]; p++) {
			int rank = shape->order[p];
			size_t bytes = piece_of(op, rank);
			if (rank != shape->rank || call->send.base)
				cs_copy_result(op, cs_blocks_at(&call->recv, rank) +
					       state->hier.round * state->chunk, from, bytes);
			from += bytes;
		}
	}
}

/* Number of parts that come, `distance` above, from there. */
static int
coming(const struct cs_op *op, int have, int distance)
{
	int rest = op->team->shape.nodes - distance;
	return have < rest ? have : rest;
}

/* The next step's `have`. */
static int
grown(const struct state *state, int have)
{
	return have * (state->ports + 1);
}

static size_t
bytes_of(const struct state *state, int place, int count)
{
	return state->before[place + count] - state->before[place];
}

/* Flag of a port in a step. */
static int
flag_of(const struct state *state, int step, int port)
{
	return step * state->ports + port;
}

/* Posts all receives of the own port, so that no sender waits for a receiver that is busy with an
 * earlier step. */
static void
start_receives(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	int step = 0, nodes = op->team->shape.nodes;
	for (int have = 1; have < nodes; step++, have = grown(state, have)) {
		int distance = (state->port + 1) * have;
		size_t bytes = distance < nodes
			       ? bytes_of(state, distance, coming(op, have, distance)) : 0;
		if (bytes)
			state->wire->recv_direct(
				state->wire, &state->receives[step],
				cs_overlap_peer(op, node_at(op, distance), state->port), op->tag,
				round->area[0] + state->before[distance], bytes,
				cs_overlap_flag(op, round, flag_of(state, step, state->port)),
				round->turn);
	}
}

static enum cs_status
bring(struct cs_op *op)
{
	struct state *state = state_of(op);
	if (state->wire)
		start_receives(op);
	copy_in(op);
	cs_node_publish(&op->node, state->hier.line, cs_hier_now(&state->hier)->here);
	state->step = 0;
	state->have = state->last = 1;
	state->ready = state->next = 0;
	state->is_sent = false;
	return CS_OK;
}

static const struct cs_hier_kind kind = { .areas = 1, .lay_out = lay_out, .bring = bring };

static enum cs_status
meet(struct cs_op *op)
{
	return cs_hier_look_all(op, cs_hier_now(&state_of(op)->hier)->here, NULL);
}

/* Bytes that the own port sends in the step at hand. */
static size_t
sent_bytes(struct cs_op *op)
{
	const struct state *state = state_of(op);
	int distance = (state->port + 1) * state->have;
	return state->wire && distance < op->team->shape.nodes
	       ? bytes_of(state, 0, coming(op, state->have, distance)) : 0;
}

static void
send(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_shape *shape = &op->team->shape;
	size_t bytes = sent_bytes(op);
	if (!bytes)
		return;
	int below = (shape->node - (state->port + 1) * state->have + shape->nodes) % shape->nodes;
	state->wire->send_direct(state->wire, &state->sends[state->step],
				 cs_overlap_peer(op, below, state->port), op->tag, area_of(op),
				 bytes);
}

/* Have the messages of all ports come in this step? The own one first, which others wait for. */
static bool
have_all_come(struct cs_op *op)
{
	struct state *state = state_of(op);
	const struct cs_hier_round *round = cs_hier_now(&state->hier);
	for (; state->next < state->ports; state->next++) {
		int port = state->wire ? (state->port + state->next) % state->ports : state->next,
		    distance = (port + 1) * state->have;
		if (distance >= op->team->shape.nodes)
			continue;
		struct cs_wire *wire = port == state->port ? state->wire : NULL;
		bool has_bytes = bytes_of(state, distance, coming(op, state->have, distance));
		if (!cs_overlap_has_come(op, port, wire,
					 has_bytes ? &state->receives[state->step] : NULL, round,
					 flag_of(state, state->step, port)))
			return false;
	}
	state->next = 0;
	return true;
}

/* Makes one step; copies the parts of the last one out while its own are on their way. */
static enum cs_status
step_between(struct cs_op *op)
{
	struct state *state = state_of(op);
	int rest = op->team->shape.nodes - state->have, all = state->have * state->ports;
	if (!state->is_sent) {
		send(op);
		copy_out(op, state->ready, state->last);
		state->is_sent = true;
	}
	if (!have_all_come(op))
		return CS_AGAIN;
	state->ready = state->have;
	state->last = all < rest ? all : rest;
	return CS_OK;
}

static enum cs_status
between(struct cs_op *op)
{
	struct state *state = state_of(op);
	for (; state->have < op->team->shape.nodes;
	     state->step++, state->have = grown(state, state->have)) {
		if (step_between(op) == CS_AGAIN)
			return CS_AGAIN;
		state->is_sent = false;
	}
	copy_out(op, state->ready, state->last);
	state->step = 0;
	state->have = 1;
	return CS_OK;
}

/* Waits until the messages have left. */
static enum cs_status
leave(struct cs_op *op)
{
	struct state *state = state_of(op);
	for (; state->wire && state->have < op->team->shape.nodes;
	     state->step++, state->have = grown(state, state->have))
		if (sent_bytes(op) &&
		    !cs_message_is_over(op, state->wire, &state->sends[state->step]))
			return CS_AGAIN;
	return CS_OK;
}

static cs_phase *const script[] = { cs_hier_open, cs_hier_begin_round, cs_hier_bring, meet, between,
				    leave, cs_hier_next, NULL };

struct cs_wire *
cs_overlap_wire(const struct cs_op *op)
{
	const struct cs_team *team = op->team;
	if (!cs_hier_has_senders(op))
		return cs_team_is_leader(team) ? team->host->wire(team->leaders) : NULL;
	return op->senders.self >= 0 ? team->host->wire(team->everyone) : NULL;
}

/* Ports, at most `wanted`, none of which is without a message, and for which there are flags. */
static int
ports_for(const struct cs_op *op, int wanted)
{
	int nodes = op->team->shape.nodes, ports = wanted < nodes ? wanted : nodes - 1, flags;
	do {
		flags = 0;
		for (int have = 1; have < nodes; have *= ports + 1)
			flags += ports;
	} while (flags > CS_AREA_FLAGS && --ports);
	return ports;
}

void
cs_overlap_allgather(struct cs_op *op, size_t wire_chunk, size_t wanted)
{
	struct cs_team *team = op->team;
	size_t area = team->node.shape.area_bytes, limit = wire_chunk < area ? wire_chunk : area;
	struct state *state = state_of(op);
	*state = (struct state){ .before = cs_op_nodes(op),
				 .chunk = cs_chunks_per_part(limit, (size_t)team->shape.ranks) };
	if (!state->chunk)
		state->chunk = 1; /* the area has room for more than a byte of each rank */
	state->hier.rounds = cs_chunks_rounds(
		cs_blocks_largest(&op->call.recv, team->shape.ranks, -1), state->chunk);
	cs_node_expect(&op->node, state->hier.rounds, 2);
	const struct cs_hier_senders senders =
		{ .count = ports_for(op, cs_hier_most_senders(op, wanted)), .never_meet = true };
	state->ports = senders.count;
	cs_hier_start_by_senders(op, &kind, &senders, script, 1);
	state->wire = cs_overlap_wire(op);
	state->port = cs_hier_has_senders(op) ? op->senders.self : 0;
	if (state->wire) {
		state->receives =
			cs_op_memory(op, CS_OP_REQUESTS,
				     2 * CS_OVERLAP_MOST * sizeof *state->receives);
		state->sends = state->receives + CS_OVERLAP_MOST;
	}
}

int
cs_overlap_children(int place, int nodes, int children[CS_OVERLAP_MOST])
{
	int count = 0;
	for (unsigned bit = 1; !((unsigned)place & bit) && bit < (unsigned)(nodes - place);
	     bit *= 2)
		children[count++] = place + (int)bit;
	return count;
}
