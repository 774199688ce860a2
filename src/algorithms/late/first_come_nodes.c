/* late/first_come_nodes.c — broadcast to nodes in the order of their leaders' arrival. */
#include "algorithms/late/first_come_nodes.h"

#include "algorithms/node/rounds.h"
#include "algorithms/plans/knomial.h"
#include "algorithms/node/bcast.h"
#include "shm/arrive.h"

enum role { UNKNOWN, LEADER, READER };

struct nodes {
	struct cs_first_come *bcast; /* NULL: no messages */
	const size_t *params;
	struct cs_first_come_nodes_how how;
	enum role role;
	int leader; /* local rank; -1: not known */
	uint64_t number;
	size_t chunk;
	bool posts; /* there are others on the node */
	bool is_open, is_read, is_passed_on;
	struct cs_post post;
	struct cs_node_reader reader;
};

static struct nodes *
nodes_of(struct cs_op *op)
{
	return CS_OP_STATE(struct nodes, op);
}

static bool
is_root_node(const struct cs_op *op)
{
	return op->team->shape.node == op->team->shape.node_of[op->call.root];
}

/* --- the tree of nodes, counted from the root's ----------------------------------------------- */

static int
place_of(const struct cs_op *op)
{
	const struct cs_shape *shape = &op->team->shape;
	return (shape->node - shape->node_of[op->call.root] + shape->nodes) % shape->nodes;
}

static int
children_of(const struct cs_op *op, int radix)
{
	int nodes = op->team->shape.nodes, place = place_of(op), count = 0;
	for (int64_t weight = cs_knomial_weight(place, nodes, radix) / radix; weight;
	     weight /= radix)
		for (int64_t i = 1; i < radix && place + i * weight < nodes; i++)
			count++;
	return count;
}

static int
parent_of(const struct cs_op *op, int radix)
{
	const struct cs_shape *shape = &op->team->shape;
	int place = place_of(op);
	int64_t weight = cs_knomial_weight(place, shape->nodes, radix);
	int parent = place - (int)(place % (weight * radix));
	return (parent + shape->node_of[op->call.root]) % shape->nodes;
}

/* --- messages --------------------------------------------------------------------------------- */

/* Tells the node's possible senders: the root, or all ranks of the parent node. */
static void
tell(struct cs_op *op, struct nodes *nodes)
{
	const struct cs_shape *shape = &op->team->shape;
	int parent = nodes->how.is_tree ? parent_of(op, 1 + (int)nodes->params[CS_FIRST_COME_K])
					: shape->node_of[op->call.root];
	if (parent == shape->node_of[op->call.root])
		cs_first_come_tell(nodes->bcast, op->call.root);
	for (int p = shape->first[parent]; parent != shape->node_of[op->call.root] &&
	     p < shape->first[parent + 1]; p++)
		cs_first_come_tell(nodes->bcast, shape->order[p]);
}

static void
begin_messages(struct cs_op *op)
{
	struct nodes *nodes = nodes_of(op);
	const struct cs_shape *shape = &op->team->shape;
	bool is_root = shape->rank == op->call.root, is_leader = nodes->role == LEADER;
	int expected = is_root ? shape->nodes - 1 : 0;
	if (nodes->how.is_tree)
		expected = children_of(op, 1 + (int)nodes->params[CS_FIRST_COME_K]);
	/* In a tree all ranks of a node are told, but on the root's the root alone. */
	if (!is_leader && (!nodes->how.is_tree || !expected || is_root_node(op)))
		return;
	nodes->bcast = cs_first_come_make(op, nodes->number, shape->nodes - 1, shape->ppn_max);
	cs_first_come_take_params(nodes->bcast, nodes->params);
	nodes->bcast->chunk = nodes->chunk;
	nodes->bcast->is_root = is_root;
	nodes->bcast->is_idle = !is_leader;
	nodes->bcast->is_split = !nodes->how.is_tree;
	nodes->bcast->expected = expected;
	if (is_leader && !is_root)
		tell(op, nodes);
	cs_first_come_start(nodes->bcast);
}

/* Phase: chooses the node's leader by ticket, and begins messages. */
static enum cs_status
come(struct cs_op *op)
{
	struct nodes *nodes = nodes_of(op);
	int self = op->team->shape.local;
	if (nodes->role == UNKNOWN) {
		if (!cs_node_try_line(&op->node) || !cs_arrive_is_open(&op->node, 0))
			return CS_AGAIN;
		nodes->role = cs_arrive_ticket(&op->node, 0) ? READER : LEADER;
		if (nodes->role == LEADER)
			cs_arrive_tell(&op->node, 0, 0, self);
	}
	begin_messages(op);
	return CS_OK;
}

/* --- the node --------------------------------------------------------------------------------- */

/* Opens the leader's post once the vector's size is known. If that exceeds the call's, the line
 * says one byte more than the call's, which each reader compares with its own. */
static bool
open_post(struct cs_op *op, struct nodes *nodes)
{
	struct cs_post *post = &nodes->post;
	size_t bytes = nodes->bcast->bytes, room = op->call.bytes;
	if (nodes->is_open)
		return true;
	if (nodes->bcast->source < 0)
		return false;
	post->bytes = bytes <= room ? bytes : room + 1;
	if (post->way == CS_POST_INLINE && post->bytes > CS_INLINE) {
		post->way = CS_POST_SMALL;
		post->number = CS_SLOT_SMALL;
	}
	nodes->is_open = cs_post_open(&op->node, post);
	return nodes->is_open;
}

/* Posts pieces that are here while the ring has room. True: all are posted. */
static bool
post_pieces(struct cs_op *op, struct nodes *nodes)
{
	struct cs_post *post = &nodes->post;
	if (!nodes->posts)
		return true;
	if (!open_post(op, nodes))
		return false;
	while (post->posted < post->rounds && cs_first_come_has(nodes->bcast, post->posted)) {
		char *room = cs_post_room(&op->node, post);
		if (!room)
			return false;
		cs_copy_in(op, room, nodes->bcast->base + post->posted * post->chunk,
			   cs_chunks_bytes(op->call.bytes, post->chunk, post->posted));
		cs_post_publish(&op->node, post);
	}
	return post->posted == post->rounds;
}

/* Phase of a leader: passes on and posts. After its messages it waits for the node. */
static enum cs_status
lead(struct cs_op *op, struct nodes *nodes)
{
	nodes->is_passed_on = nodes->is_passed_on || cs_first_come_go(op, nodes->bcast);
	bool is_posted = post_pieces(op, nodes);
	if (!nodes->is_passed_on)
		op->node.awaited.local = CS_AWAITS_MESSAGE;
	return nodes->is_passed_on && is_posted ? CS_OK : CS_AGAIN;
}

static enum cs_status
read_pieces(struct cs_op *op, struct nodes *nodes)
{
	if (nodes->leader < 0)
		nodes->leader = cs_arrive_holder(&op->node, 0, 0);
	nodes->reader.from = nodes->leader;
	nodes->is_read = nodes->is_read ||
			 (nodes->leader >= 0 && cs_node_bcast_read(op, &nodes->reader));
	if (nodes->bcast && !nodes->is_passed_on) {
		nodes->is_passed_on = cs_first_come_go(op, nodes->bcast);
		if (!nodes->is_passed_on)
			op->node.awaited.local = CS_AWAITS_MESSAGE;
	}
	return nodes->is_read && (!nodes->bcast || nodes->is_passed_on) ? CS_OK : CS_AGAIN;
}

static enum cs_status
go(struct cs_op *op)
{
	struct nodes *nodes = nodes_of(op);
	return nodes->role == LEADER ? lead(op, nodes) : read_pieces(op, nodes);
}

static enum cs_status
end(struct cs_op *op)
{
	struct nodes *nodes = nodes_of(op);
	if (nodes->role == LEADER)
		cs_first_come_end(op, nodes->bcast);
	cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const script[] = { come, go, end, NULL };

/* Reserves the post's memory, on each rank that may lead its node. */
static void
prepare_post(struct cs_op *op, struct nodes *nodes)
{
	struct cs_post *post = &nodes->post;
	size_t bytes = op->call.bytes;
	uint64_t rounds = cs_chunks_rounds(bytes, nodes->chunk);
	post->chunk = nodes->chunk;
	post->rounds = rounds;
	post->bytes = post->span = bytes;
	post->pieces = rounds > 1 ? cs_post_pieces(&op->team->node, nodes->chunk) : 0;
	post->way = bytes <= CS_INLINE	    ? CS_POST_INLINE
		    : cs_is_small(op, bytes) ? CS_POST_SMALL
		    : rounds == 1 && cs_node_is_cut(&op->node, bytes) ? CS_POST_PIECE
									  : CS_POST_RING;
	cs_post_reserve(&op->node, post, op->node.extras & CS_OP_NONBLOCKING);
}

void
cs_first_come_nodes(struct cs_op *op, struct cs_first_come_nodes_how how, const size_t *params)
{
	struct cs_team *team = op->team;
	const struct cs_shape *shape = &team->shape;
	struct nodes *nodes = nodes_of(op);
	size_t slot = team->node.shape.slot_bytes, chunk = params[CS_FIRST_COME_CHUNK];
	*nodes = (struct nodes){ .params = params, .how = how, .leader = -1,
				 .number = cs_first_come_number(op), .chunk = chunk < slot
				 ? chunk : slot, .posts = shape->locals > 1 };
	nodes->reader.chunk = nodes->chunk;
	if (is_root_node(op))
		nodes->leader = shape->local_of[op->call.root];
	else if (!how.is_dynamic)
		nodes->leader = cs_team_leader(team);
	if (nodes->leader >= 0)
		nodes->role = nodes->leader == shape->local ? LEADER : READER;
	cs_node_expect(&op->node, cs_chunks_rounds(op->call.bytes, nodes->chunk), 1);
	cs_op_start(op, script);
	if (nodes->role != READER && nodes->posts)
		prepare_post(op, nodes);
}
