/* late/dynamic_parts.h — state and functions shared by dynamic_leader.c (on a node),
 * dynamic_messages.c (between nodes) and dynamic_rma.c (the same by a window). */
#ifndef CS_ALGORITHMS_LATE_DYNAMIC_PARTS_H
#define CS_ALGORITHMS_LATE_DYNAMIC_PARTS_H

#include "algorithms/late/dynamic_leader.h"
#include "shm/arrive.h"
#include "shm/post.h"
#include "wire/rma_window.h"
#include "wire/wire.h"

/* Bytes of a message's head, before each part in a slot; parts are aligned to cache lines. */
#define CS_DYNAMIC_HEAD CS_CACHE_LINE

/* Head of a message from any source. */
struct cs_dynamic_head {
	uint64_t node; /* of the sender */
};

/* A node that messages go to or come from by a window. */
struct cs_dynamic_neighbour {
	int node;
	uint64_t sent, received; /* number of the call's first message */
};

/* The state of the script. */
struct cs_dynamic {
	struct cs_post post;
	size_t per_part, stride; /* elements of a part; bytes from one to the next in a slot */
	int parts;
	uint64_t rounds, ahead; /* of the call; most that may be under way on this rank */
	uint64_t came, over;     /* rounds that it has come to, and that it is done with */
	int next;                /* part to come to, counted from this rank's first one */
	int taken;               /* parts of round `over` that it has taken */
	int heard;               /* local rank whose line is looked at next */
	bool is_open;            /* round `came` has its memory */
	int opened;              /* parts of round `came` with receives */
	bool is_expecting;       /* receives of round `over` have been started */
	unsigned made[CS_ARRIVE_ROUNDS]; /* parts that are in the result already, a bit each */
	/* Over several nodes. */
	int top, radix;
	int parent;       /* rank that receives this node's sum; -1: this is the tree's top; with
			   * `control`, the rank in the parent leader's word */
	bool tells;       /* with `control`: this node's last arriver sends its rank down */
	bool is_told;     /* with `control`: the parent node's does */
	uint64_t posted; /* place of the first part's posted receive */
	bool leads_nodes; /* the last arriver reduces the child nodes' messages */
	bool takes_nodes; /* this rank, the root, reduces them with its node's sum */
	bool is_summed;   /* takes_nodes: the part at hand is in the result */
	bool is_leading;  /* as the last arriver, in the part at hand */
	bool has_reduced; /* is_leading: the child nodes' messages are reduced */
	int children;     /* nodes */
	bool brings;      /* this rank reduces the children's messages before it climbs */
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

/* Does such a part exist? An empty vector has one empty part. */
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

/* Places this node in the tree, and reserves memory for messages. */
void cs_dynamic_join(struct cs_op *op, struct cs_dynamic *state,
		     const struct cs_dynamic_leader_params *params);

/* Node of child i, in ascending order from the top; a child's subtree is a range of nodes. -1: no
 * more. */
int cs_dynamic_child(const struct cs_op *op, const struct cs_dynamic *state, int i);
/* The taker: the rank of a node that its children send to. */
int cs_dynamic_taker(const struct cs_op *op, const struct cs_dynamic *state, int node);

/* With `control`, sends all ranks of the child nodes a word: this rank leads in a part. */
void cs_dynamic_tell_children(struct cs_op *op, uint64_t round, int part);
/* Posts the receive of the parent leader's word. False: its place is in use, ask again. */
bool cs_dynamic_hear_parent(struct cs_op *op, uint64_t round, int part);
/* Is the rank that receives this node's sum known? */
bool cs_dynamic_has_parent(struct cs_op *op, uint64_t round, int part);

/* Posts the receive of a part, into inbox `child`; inbox `children` is for messages down or to the
 * root. */
void cs_dynamic_receive(struct cs_op *op, uint64_t round, int part, int child, bool is_down);
/* Has the message of an inbox come? */
bool cs_dynamic_has_come(struct cs_op *op, uint64_t round, int part, int child);
/* Data of a child's message, once all have come; if none names the child, those of any. */
const char *cs_dynamic_message(struct cs_op *op, uint64_t round, int part, int child);
/* Gives a message's memory back, after its last use. False: not now, ask again. */
bool cs_dynamic_give_back(struct cs_op *op, uint64_t round, int part, int child);
/* Index of an inbox and of its request. Any child's message may come to a child's inbox. */
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

/* May a part's message be sent to the node of rank `peer`, or to all child nodes? */
bool cs_dynamic_may_send(struct cs_op *op, uint64_t round, int part, int peer);
bool cs_dynamic_may_send_down(struct cs_op *op, uint64_t round, int part);
/* Sends the own memory of a part to rank `peer`, as the part's message i. */
void cs_dynamic_send(struct cs_op *op, uint64_t round, int part, int i, int peer, bool is_down);
/* Sends the own memory of a part to the takers of all child nodes. */
void cs_dynamic_send_down(struct cs_op *op, uint64_t round, int part);
/* Have the messages of `parts` parts of a round left, from `part` on? */
bool cs_dynamic_have_left(struct cs_op *op, uint64_t round, int part, int parts);

/* --- the same by a window (dynamic_rma.c) -------------------------------------------------- */

/* Takes the numbers of the call's messages; `neighbours` has room for children + 2. */
void cs_dynamic_rma_join(struct cs_op *op, struct cs_dynamic *state, int parent);
bool cs_dynamic_rma_has_come(struct cs_op *op, uint64_t round, int part, int child);
const char *cs_dynamic_rma_message(struct cs_op *op, uint64_t round, int part, int child);
bool cs_dynamic_rma_give_back(struct cs_op *op, uint64_t round, int part, int child);
bool cs_dynamic_rma_may_put(struct cs_op *op, uint64_t round, int part, int node);
void cs_dynamic_rma_put(struct cs_op *op, struct cs_request *request, uint64_t round, int part,
			   int node);

#endif
