/* late/dynamic_parts.h — what the files of late/dynamic_leader.h share: dynamic_leader.c
 * (on a node), dynamic_messages.c (between nodes), dynamic_rma.c (the same by a window). */
#ifndef CS_ALGORITHMS_LATE_DYNAMIC_PARTS_H
#define CS_ALGORITHMS_LATE_DYNAMIC_PARTS_H

#include "algorithms/late/dynamic_leader.h"
#include "shm/arrive.h"
#include "shm/post.h"
#include "wire/rma_window.h"
#include "wire/wire.h"

/* Bytes before each part in a slot: what its message begins with. The part begins with a line. */
#define CS_DYNAMIC_HEAD CS_CACHE_LINE

/* What a message from any source begins with. */
struct cs_dynamic_head {
	uint64_t node; /* it is from */
};

/* A node that messages go to or come from by a window: their first numbers. */
struct cs_dynamic_neighbour {
	int node;
	uint64_t sent, received;
};

/* The state of the script. */
struct cs_dynamic {
	struct cs_post post;
	size_t per_part, stride; /* elements of a part; bytes from one to the next in a slot */
	int parts;
	uint64_t rounds, ahead; /* of the call; that this rank may have come to and not be done
				 * with */
	uint64_t came, over;     /* rounds that it has come to, and that it is done with */
	int next;                /* part that it comes to, counted from its first one */
	int taken;               /* parts that it has taken of round `over` */
	int heard;               /* local rank whose line is looked at next */
	bool is_open;            /* the round at hand: its memory is there */
	int opened;              /* parts of it for whose messages there are receives */
	bool is_expecting;       /* round `over`: receives have been started */
	unsigned made[CS_ARRIVE_ROUNDS]; /* parts that are in the result already, a bit each */
	/* Over several nodes. */
	int top, radix;
	int parent;       /* rank that takes this node's sum; -1: this is the tree's top; with words
			   * it is whoever has told */
	bool tells;       /* with `control`: this node's last arriver says who it is */
	bool is_told;     /* and the parent node's does */
	uint64_t posted; /* of the first part; places of posted receives */
	bool leads_nodes; /* what the child nodes send is the last arriver's to take */
	bool takes_nodes; /* it is this rank's, the root's, with the sum of its node */
	bool is_summed;   /* which is in the result, in the part at hand */
	bool is_leading;  /* as the last arriver, in the part at hand */
	bool has_reduced; /* and has what the child nodes have sent */
	int children;     /* nodes */
	bool brings;      /* what they send is this rank's to take */
	int received, freed; /* messages of the part at hand; those given back */
	int fan;          /* most messages that a rank sends of a part */
	uint64_t number;  /* of the first message */
	struct cs_wire *wire;
	struct cs_request *requests;
	unsigned char *is_sending; /* by request of a send */
	char *inbox;
	struct cs_rma_window *window; /* instead of the wire and the inbox; NULL: none */
	struct cs_dynamic_neighbour *neighbours;
	int neighbour_count;
};

static inline struct cs_dynamic *
cs_dynamic_of(struct cs_op *op)
{
	return CS_OP_STATE(struct cs_dynamic, op);
}

static inline bool
cs_dynamic_is_to_all(const struct cs_op *op)
{
	return !cs_colls[op->call.coll].rooted;
}

static inline bool
cs_dynamic_is_root(const struct cs_op *op)
{
	return op->call.root == op->team->shape.rank;
}

static inline size_t
cs_dynamic_first(const struct cs_dynamic *state, uint64_t round, int part)
{
	return (round * (uint64_t)state->parts + (uint64_t)part) * state->per_part;
}

static inline size_t
cs_dynamic_count(const struct cs_op *op, const struct cs_dynamic *state, uint64_t round, int part)
{
	size_t first = cs_dynamic_first(state, round, part), all = op->call.count;
	return first >= all ? 0 : all - first < state->per_part ? all - first : state->per_part;
}

static inline size_t
cs_dynamic_bytes(const struct cs_op *op, const struct cs_dynamic *state, uint64_t round, int part)
{
	return cs_dynamic_count(op, state, round, part) * op->call.reduction.unit;
}

/* Is there such a part? A vector of no elements has one, of nothing. */
static inline bool
cs_dynamic_is_part(const struct cs_op *op, const struct cs_dynamic *state, uint64_t round, int part)
{
	return (round == 0 && part == 0) || cs_dynamic_count(op, state, round, part);
}

/* A local rank's memory of a part. */
static inline char *
cs_dynamic_part(struct cs_op *op, int local, uint64_t round, int part)
{
	const struct cs_dynamic *state = cs_dynamic_of(op);
	const struct cs_line *line = local == op->team->node.shape.local
				     ? state->post.line : cs_node_look_alike(&op->node, local, 1);
	return cs_node_slot_of(&op->node, local, line->slot, round) +
	       (size_t)part * state->stride + CS_DYNAMIC_HEAD;
}

static inline char *
cs_dynamic_own_part(struct cs_op *op, uint64_t round, int part)
{
	return cs_dynamic_part(op, op->team->node.shape.local, round, part);
}

/* --- between nodes (dynamic_messages.c) ------------------------------------------------------- */

/* Places this node in the tree, and takes memory for messages. */
void cs_dynamic_join(struct cs_op *op, struct cs_dynamic *state,
		     const struct cs_dynamic_leader_params *params);

/* The child number i, of ascending numbers, each of which has a row of nodes under it; -1: there
 * are no more. */
int cs_dynamic_child(const struct cs_op *op, const struct cs_dynamic *state, int i);
/* The rank that takes what a node's children send. */
int cs_dynamic_taker(const struct cs_op *op, const struct cs_dynamic *state, int node);

/* With `control`. Tells the ranks of all child nodes that this one leads in a part. */
void cs_dynamic_tell_children(struct cs_op *op, uint64_t round, int part);
/* Begins to hear who leads the parent node; false: not yet. */
bool cs_dynamic_hear_parent(struct cs_op *op, uint64_t round, int part);
/* Is it known who takes this node's sum? */
bool cs_dynamic_has_parent(struct cs_op *op, uint64_t round, int part);

/* Starts to receive a part, into an inbox of the child's number, or of the number behind them for
 * what comes down or to the root. */
void cs_dynamic_receive(struct cs_op *op, uint64_t round, int part, int child, bool is_down);
/* Has it come? */
bool cs_dynamic_has_come(struct cs_op *op, uint64_t round, int part, int child);
/* Its data, when all of the children's have come; of a child that nobody's message names, any
 * one's. */
const char *cs_dynamic_message(struct cs_op *op, uint64_t round, int part, int child);
/* It is not read any more. False: that cannot be said now. */
bool cs_dynamic_give_back(struct cs_op *op, uint64_t round, int part, int child);
/* Where it is received. Of several children's it is not known whose it will be. */
static inline int
cs_dynamic_receive_at(const struct cs_dynamic *state, int part, int child)
{
	return part * (state->children + 1) + child;
}
static inline char *
cs_dynamic_inbox(const struct cs_dynamic *state, int part, int child)
{
	return state->inbox + (size_t)cs_dynamic_receive_at(state, part, child) * state->stride;
}

/* May the own node's message of a part to the node of that rank be sent, or those to all child
 * nodes? */
bool cs_dynamic_may_send(struct cs_op *op, uint64_t round, int part, int peer);
bool cs_dynamic_may_send_down(struct cs_op *op, uint64_t round, int part);
/* Sends what is in the own memory of a part, as the i-th message of it. */
void cs_dynamic_send(struct cs_op *op, uint64_t round, int part, int i, int peer, bool is_down);
/* The same to the takers of all child nodes. */
void cs_dynamic_send_down(struct cs_op *op, uint64_t round, int part);
/* Have the messages of these parts of a round left, from `part` on? */
bool cs_dynamic_have_left(struct cs_op *op, uint64_t round, int part, int parts);

/* --- the same by a window (dynamic_rma.c) -------------------------------------------------- */

/* Takes numbers for the messages of the call; there is room for two neighbours more than
 * children. */
void cs_dynamic_rma_join(struct cs_op *op, struct cs_dynamic *state, int parent);
bool cs_dynamic_rma_has_come(struct cs_op *op, uint64_t round, int part, int child);
const char *cs_dynamic_rma_message(struct cs_op *op, uint64_t round, int part, int child);
bool cs_dynamic_rma_give_back(struct cs_op *op, uint64_t round, int part, int child);
bool cs_dynamic_rma_may_put(struct cs_op *op, uint64_t round, int part, int node);
void cs_dynamic_rma_put(struct cs_op *op, struct cs_request *request, uint64_t round, int part,
			   int node);

#endif
