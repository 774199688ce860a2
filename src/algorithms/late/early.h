/* late/early.h — the state of an alltoall that sends what early ranks have brought before
 * late ones come, and where its data is (alltoall/opportunistic.c).
 *
 *   area 0   | segments to node 0 | segments to node 1 ...    by local rank, a stride apart
 *   area 1   | log | from node 0 | from node 1 ...            as they come, without gaps
 *   segment  | head | sizes of the blocks, where they differ | pieces of the blocks, by local rank
 *
 * In the first rounds, where there is a window (wire/rma_window.h), what goes from one node to
 * another in a round is one message, and what is sent at once a part of it. Each rank reads it for
 * itself: there is neither a log nor a hearer, and area 1 is for what is joined.
 *
 * Steps of a round: so many of the own segments are here, the nearest node's above the own one
 * first, the own node's last; then so many lines of the own log are. */
#ifndef CS_ALGORITHMS_LATE_EARLY_H
#define CS_ALGORITHMS_LATE_EARLY_H

#include "algorithms/hier/message.h"
#include "algorithms/node/rounds.h"
#include "algorithms/late/fragments.h"
#include "algorithms/hier/hier.h"
#include "wire/rma_window.h"

#include <string.h>

/* The first word of a segment; of the first one of a message `count` is the message's. */
struct cs_early_head {
	uint32_t bytes; /* of the segment, with this */
	uint16_t first, count; /* local rank that has brought it; segments of the message */
};

/* A line of the log: what has come from the rank with that position lies so many words into the
 * area; CS_EARLY_NOWHERE: it has come damaged, as what ranks that disagree about sizes send. */
struct cs_early_line {
	uint32_t position, at;
};
#define CS_EARLY_NOWHERE UINT32_MAX

/* A node that this rank sends to. */
struct cs_early_to {
	int node, rank, left; /* left: segments still to be sent in this round */
	struct cs_rma_part part; /* of the message to it in this round: the next one */
	struct cs_region_segment *segments;
	size_t largest; /* block to it, when all segments of the first round are here */
};

/* A node that this rank hears. */
struct cs_early_from {
	int node, rank, left;
	size_t at; /* bytes that have come in this round */
	struct cs_request request;
};

/* What has been read in this round of a node's message in the window. */
struct cs_early_read {
	size_t at;
	uint32_t parts;
	int left; /* segments that have not come */
};

struct cs_early {
	struct cs_hier hier;
	struct cs_wire *wire;
	struct cs_rma_window *window; /* NULL: none */
	uint64_t windowed;      /* so many rounds go by it */
	size_t first, chunk;    /* bytes of a block in a round, at most: in one of these, and in one
				 * of the others */
	size_t piece;           /* and in this one */
	size_t least;
	bool has_sizes;         /* blocks are not of one size: segments say theirs */
	bool is_barred;         /* nothing is sent before all of the node are here */
	struct cs_early_to *receivers;
	struct cs_early_from *senders;
	struct cs_request *sends;
	char *packed; /* segments that are sent together and do not lie so */
	size_t *out_at;  /* by node: where the segments to it begin in the area */
	size_t *largest; /* by node: the largest block that comes from it */
	size_t *sent, *received; /* by node: the number of the first message in the window */
	struct cs_early_read *reads; /* by node */
	int freed;               /* of nodes: their messages have been given back */
	bool has_read, is_last_reader;
	int *log_at;     /* by local rank: where its log begins */
	int *taken;      /* by local rank: lines of its log that have been taken in this round */
	bool *is_taken;  /* by local rank: its own segment for this node */
	int receiver_count, sender_count;
	int begun, waited; /* messages sent in this round, and of them over */
	int logged;        /* lines of the own log */
	unsigned idle;
};

static inline struct cs_early *
cs_early_of(struct cs_op *op)
{
	return CS_OP_STATE(struct cs_early, op);
}

/* Does a round go by the window? */
static inline bool
cs_early_is_windowed(const struct cs_early *state)
{
	return state->hier.round < state->windowed;
}

/* Where this round's pieces begin in their blocks. */
static inline size_t
cs_early_begin(const struct cs_early *state)
{
	uint64_t round = state->hier.round;
	return cs_early_is_windowed(state)
	       ? round * state->first
	       : state->windowed * state->first + (round - state->windowed) * state->chunk;
}

/* The most bytes of one. */
static inline size_t
cs_early_most(const struct cs_early *state)
{
	return cs_early_is_windowed(state) ? state->first : state->chunk;
}

/* Of a block of so many bytes. */
static inline size_t
cs_early_piece(const struct cs_early *state, size_t bytes)
{
	size_t begin = cs_early_begin(state), most = cs_early_most(state);
	size_t left = bytes > begin ? bytes - begin : 0;
	return left < most ? left : most;
}

/* Rounds of blocks of so many bytes, at most. */
static inline uint64_t
cs_early_rounds(const struct cs_early *state, size_t bytes)
{
	size_t first = state->windowed * state->first;
	return bytes <= first ? cs_chunks_rounds(bytes, state->first ? state->first : 1)
	       : state->windowed + cs_chunks_rounds(bytes - first, state->chunk);
}

/* Who sends and who hears: nodes are counted upwards from the own one. */
static inline int
cs_early_distance(const struct cs_shape *shape, int from, int to)
{
	return (to - from + shape->nodes) % shape->nodes;
}

static inline int
cs_early_size(const struct cs_op *op, int node)
{
	return cs_team_node_size(op->team, node);
}

static inline int
cs_early_sender(const struct cs_op *op, int from, int to)
{
	return (cs_early_distance(&op->team->shape, from, to) - 1) % cs_early_size(op, from);
}

static inline int
cs_early_hearer(const struct cs_op *op, int from, int to)
{
	int size = cs_early_size(op, to);
	return size - 1 - (cs_early_distance(&op->team->shape, from, to) - 1) % size;
}

static inline int
cs_early_rank(const struct cs_op *op, int node, int local)
{
	const struct cs_shape *shape = &op->team->shape;
	return shape->order[shape->first[node] + local];
}

/* Rounds up. */
static inline size_t
cs_early_words(size_t bytes)
{
	size_t word = sizeof(struct cs_early_head);
	return (bytes + word - 1) & ~(word - 1);
}

/* Bytes before the pieces of a segment for so many ranks. */
static inline size_t
cs_early_head_bytes(const struct cs_early *state, int ranks)
{
	size_t sizes = state->has_sizes ? (size_t)ranks * sizeof(uint64_t) : 0;
	return sizeof(struct cs_early_head) + sizes;
}

/* The most bytes of a segment for so many ranks. */
static inline size_t
cs_early_stride(const struct cs_early *state, int ranks)
{
	return cs_early_words(cs_early_head_bytes(state, ranks) + (size_t)ranks * state->piece);
}

/* What a local rank has for a node. */
static inline char *
cs_early_segment(struct cs_op *op, int node, int local)
{
	struct cs_early *state = cs_early_of(op);
	return cs_hier_now(&state->hier)->area[0] + state->out_at[node] +
	       (size_t)local * cs_early_stride(state, cs_early_size(op, node));
}

/* Where what comes from a node begins, behind the log. */
static inline size_t
cs_early_in_at(struct cs_op *op, int node)
{
	const struct cs_shape *shape = &op->team->shape;
	return (size_t)shape->ranks * sizeof(struct cs_early_line) +
	       (size_t)shape->first[node] * cs_early_stride(cs_early_of(op), shape->locals);
}

/* The log of a local rank: its lines of this round. */
static inline struct cs_early_line *
cs_early_log(struct cs_op *op, int local)
{
	struct cs_early *state = cs_early_of(op);
	char *area = cs_hier_now(&state->hier)->area[1];
	return (struct cs_early_line *)(void *)area + state->log_at[local];
}

/* The step of the own segment for a node. */
static inline uint64_t
cs_early_step(struct cs_op *op, int node)
{
	const struct cs_shape *shape = &op->team->shape;
	int distance = cs_early_distance(shape, shape->node, node);
	return cs_hier_now(&cs_early_of(op)->hier)->here +
	       (uint64_t)((distance ? distance : shape->nodes) - 1);
}

/* The step of so many lines of the own log. */
static inline uint64_t
cs_early_log_step(struct cs_op *op, int lines)
{
	return cs_early_step(op, op->team->shape.node) + (uint64_t)lines;
}

/* Has the pair of nodes whose largest block that is something to say in this round? */
static inline bool
cs_early_is_in_round(const struct cs_early *state, size_t largest)
{
	return !state->hier.round || cs_early_begin(state) < largest;
}

/* The largest of the blocks of which a segment says the sizes; 0: it says none. */
static inline size_t
cs_early_largest(const struct cs_early *state, const char *segment, int ranks)
{
	uint64_t largest = 0, bytes;
	for (int local = 0; state->has_sizes && local < ranks; local++) {
		const char *size = segment + sizeof(struct cs_early_head) +
				   (size_t)local * sizeof bytes;
		memcpy(&bytes, size, sizeof bytes);
		largest = bytes > largest ? bytes : largest;
	}
	return largest;
}

/* Lines of that local rank's log in this round. In the first one there are all, and what is the
 * largest block is not known before. */
static inline int
cs_early_lines(struct cs_op *op, int local)
{
	struct cs_early *state = cs_early_of(op);
	const struct cs_shape *shape = &op->team->shape;
	int lines = 0;
	for (int distance = shape->locals - local; distance < shape->nodes;
	     distance += shape->locals) {
		int node = (shape->node - distance + shape->nodes) % shape->nodes;
		if (cs_early_is_in_round(state, state->largest[node]))
			lines += cs_early_size(op, node);
	}
	return lines;
}

/* Posts the receive of that node's next message. */
void cs_early_hear(struct cs_op *op, struct cs_early_from *from);
/* Each does what can be done now. True: nothing more of the kind is to be done in this round. */
bool cs_early_send_on(struct cs_op *op);
bool cs_early_hear_on(struct cs_op *op);
bool cs_early_take_own(struct cs_op *op);    /* what local ranks have for this one */
bool cs_early_take_others(struct cs_op *op); /* what has come from other nodes */
bool cs_early_give_back(struct cs_op *op);   /* what was read in the window */

#endif
