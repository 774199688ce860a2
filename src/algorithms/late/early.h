/* late/early.h — state and memory layout of an alltoall that sends early ranks' data before late
 * ranks come (alltoall/opportunistic.c).
 *
 *   area 0   | segments to node 0 | segments to node 1 ...    by local rank, a stride apart
 *   area 1   | log | from node 0 | from node 1 ...            as they come, without gaps
 *   segment  | head | sizes of the blocks, if they differ | pieces of the blocks, by local rank
 *
 * In the first rounds, if there is a window (wire/rma_window.h), a node sends another one message
 * per round, in parts. Each rank reads it for itself: there is neither a log nor a hearer, and
 * area 1 is for joined segments.
 *
 * Steps of a round: number of own segments that are here, the nearest node's above the own one
 * first, the own node's last; then number of lines of the own log. */
#ifndef CS_ALGORITHMS_LATE_EARLY_H
#define CS_ALGORITHMS_LATE_EARLY_H

#include "algorithms/hier/message.h"
#include "algorithms/node/rounds.h"
#include "algorithms/late/fragments.h"
#include "algorithms/hier/hier.h"
#include "wire/rma_window.h"

#include <string.h>

/* Head of a segment, a word. */
struct cs_early_head {
	uint32_t bytes; /* of the segment, with its head */
	uint16_t first, count; /* local rank of its sender; in a message's first: its segments */
};

/* A line of the log: a segment that has come. */
struct cs_early_line {
	uint32_t position, at; /* of its sender in the order; words into the area, or
				* CS_EARLY_NOWHERE: damaged, since ranks disagree about sizes */
};
#define CS_EARLY_NOWHERE UINT32_MAX

/* A node that this rank sends to. */
struct cs_early_to {
	int node, rank, left; /* left: segments still to be sent in this round */
	struct cs_rma_part part; /* the next one of this round's message to the node */
	struct cs_region_segment *segments;
	size_t largest; /* block to the node, once all segments of the first round are here */
};

/* A node that this rank receives from, as its hearer. */
struct cs_early_from {
	int node, rank, left;
	size_t at; /* bytes that have come in this round */
	struct cs_request request;
};

/* Progress of reading a node's message in the window in this round. */
struct cs_early_read {
	size_t at; /* bytes read */
	uint32_t parts; /* read */
	int left; /* segments that have not come */
};

struct cs_early {
	struct cs_hier hier;
	struct cs_wire *wire;
	struct cs_rma_window *window; /* NULL: none */
	uint64_t windowed;      /* rounds by the window, the first ones */
	size_t first, chunk;    /* bytes of a block in a round by the window, in another one; at
				 * most */
	size_t piece;           /* bytes of a block in this round, at most */
	size_t least;           /* bytes of a run that might grow, to be sent */
	bool has_sizes;         /* sizes differ: segments have them */
	bool is_barred;         /* nothing is sent before all of the node are here */
	struct cs_early_to *receivers;
	struct cs_early_from *senders;
	struct cs_request *sends;
	char *packed; /* copies of segments that are sent together and have gaps */
	size_t *out_at;  /* by node: offset of the segments to it in the area */
	size_t *largest; /* by node: the largest block that comes from it */
	size_t *sent, *received; /* by node: the number of the first message in the window */
	struct cs_early_read *reads; /* by node */
	int freed;               /* messages given back, by round and then by node */
	bool has_read, is_last_reader;
	int *log_at;     /* by local rank: first line of its log */
	int *taken;      /* by local rank: lines of its log that have been taken in this round */
	bool *is_taken;  /* by local rank: its segment for this node */
	int receiver_count, sender_count;
	int begun, waited; /* sends of this round: begun; over */
	int logged;        /* lines of the own log */
	unsigned idle;
};

static inline struct cs_early *
cs_early_of(struct cs_op *op)
{
	return CS_OP_STATE(struct cs_early, op);
}

/* Is this round by the window? */
static inline bool
cs_early_is_windowed(const struct cs_early *state)
{
	return state->hier.round < state->windowed;
}

/* Offset of this round's pieces in their blocks. */
static inline size_t
cs_early_begin(const struct cs_early *state)
{
	uint64_t round = state->hier.round;
	return cs_early_is_windowed(state)
	       ? round * state->first
	       : state->windowed * state->first + (round - state->windowed) * state->chunk;
}

/* Bytes of a piece in this round, at most. */
static inline size_t
cs_early_most(const struct cs_early *state)
{
	return cs_early_is_windowed(state) ? state->first : state->chunk;
}

/* Bytes of this round's piece of a block of `bytes`. */
static inline size_t
cs_early_piece(const struct cs_early *state, size_t bytes)
{
	size_t begin = cs_early_begin(state), most = cs_early_most(state);
	size_t left = bytes > begin ? bytes - begin : 0;
	return left < most ? left : most;
}

/* Number of rounds for blocks of `bytes`, at most. */
static inline uint64_t
cs_early_rounds(const struct cs_early *state, size_t bytes)
{
	size_t first = state->windowed * state->first;
	return bytes <= first ? cs_chunks_rounds(bytes, state->first ? state->first : 1)
	       : state->windowed + cs_chunks_rounds(bytes - first, state->chunk);
}

/* Number of nodes from one to another, upwards; it selects the local ranks that send and hear. */
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

/* Rounds bytes up to whole words. */
static inline size_t
cs_early_words(size_t bytes)
{
	size_t word = sizeof(struct cs_early_head);
	return (bytes + word - 1) & ~(word - 1);
}

/* Bytes before the pieces of a segment for a node of `ranks`. */
static inline size_t
cs_early_head_bytes(const struct cs_early *state, int ranks)
{
	size_t sizes = state->has_sizes ? (size_t)ranks * sizeof(uint64_t) : 0;
	return sizeof(struct cs_early_head) + sizes;
}

/* Bytes of a segment for a node of `ranks`, at most. */
static inline size_t
cs_early_stride(const struct cs_early *state, int ranks)
{
	return cs_early_words(cs_early_head_bytes(state, ranks) + (size_t)ranks * state->piece);
}

/* A local rank's segment for a node. */
static inline char *
cs_early_segment(struct cs_op *op, int node, int local)
{
	struct cs_early *state = cs_early_of(op);
	return cs_hier_now(&state->hier)->area[0] + state->out_at[node] +
	       (size_t)local * cs_early_stride(state, cs_early_size(op, node));
}

/* Offset of segments from a node in area 1, behind the log. */
static inline size_t
cs_early_in_at(struct cs_op *op, int node)
{
	const struct cs_shape *shape = &op->team->shape;
	return (size_t)shape->ranks * sizeof(struct cs_early_line) +
	       (size_t)shape->first[node] * cs_early_stride(cs_early_of(op), shape->locals);
}

/* Log of a local rank: its lines of this round. */
static inline struct cs_early_line *
cs_early_log(struct cs_op *op, int local)
{
	struct cs_early *state = cs_early_of(op);
	char *area = cs_hier_now(&state->hier)->area[1];
	return (struct cs_early_line *)(void *)area + state->log_at[local];
}

/* Step of the segment for a node. */
static inline uint64_t
cs_early_step(struct cs_op *op, int node)
{
	const struct cs_shape *shape = &op->team->shape;
	int distance = cs_early_distance(shape, shape->node, node);
	return cs_hier_now(&cs_early_of(op)->hier)->here +
	       (uint64_t)((distance ? distance : shape->nodes) - 1);
}

/* Step of a log's first `lines` lines. */
static inline uint64_t
cs_early_log_step(struct cs_op *op, int lines)
{
	return cs_early_step(op, op->team->shape.node) + (uint64_t)lines;
}

/* Does a pair of nodes with this largest block exchange anything in this round? */
static inline bool
cs_early_is_in_round(const struct cs_early *state, size_t largest)
{
	return !state->hier.round || cs_early_begin(state) < largest;
}

/* Largest block size in a segment; 0: it has no sizes. */
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

/* Number of lines of a local rank's log in this round. The first round has all, since the largest
 * block is not known before. */
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

/* Posts the receive of a node's next message. */
void cs_early_hear(struct cs_op *op, struct cs_early_from *from);
/* Progress without blocking. True: this round needs no more of the kind. */
bool cs_early_send_on(struct cs_op *op);
bool cs_early_hear_on(struct cs_op *op);
bool cs_early_take_own(struct cs_op *op);    /* copies local ranks' pieces for this one */
bool cs_early_take_others(struct cs_op *op); /* copies other nodes' pieces that have come */
bool cs_early_give_back(struct cs_op *op);   /* gives the window's messages back */

#endif
