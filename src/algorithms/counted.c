/* algorithms/counted.c — runs the phases of a node's virtual ranks and notes their work. */
#include "algorithms/counted.h"

#include "algorithms/op.h"
#include "base/cpu.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a slot, of an area and of parameters that are sizes, with no memory behind them; some
 * calls multiply sizes by the number of blocks before they compare */
#define EVERYTHING ((size_t)1 << 58)
/* Addresses of the program's buffers, never accessed */
#define INPUT ((char *)((uintptr_t)1 << 60))
#define OUTPUT ((char *)((uintptr_t)1 << 61))

/* One of the virtual ranks. */
struct rank {
	struct cs_team team; /* where an operation finds its rank */
	struct cs_op op;
	struct cs_op_memory *idle;
	struct node *node;
	size_t *rows[2]; /* alltoall(v,w): bytes to each rank, and from each */
	uint64_t *steps; /* that it has published */
	size_t published, room;
	bool is_over;
};

struct node {
	const struct cs_counted_call *call;
	struct cs_counted_node *counted;
	enum cs_status status;
	struct rank *ranks; /* by local rank */
	void *memory;       /* the node's */
	uint64_t *heard;    /* by reader and peer: the last step seen */
	struct cs_shape shape; /* but for fields of one rank */
	size_t *sizes;      /* of all ranks' own blocks; elements if reduced */
	size_t *none;       /* offsets, which do not matter */
	bool is_rooted;
};

/* --- notes ------------------------------------------------------------------------------------ */

static struct rank *
rank_of(struct cs_node_op *op)
{
	const struct cs_op *whole =
		(struct cs_op *)(void *)((char *)op - offsetof(struct cs_op, node));
	return (struct rank *)(void *)((char *)whole->team - offsetof(struct rank, team));
}

/* Double the room of an array of `count`; NULL: no memory. */
static void *
grow(struct node *node, void *array, size_t count, size_t each)
{
	void *larger = realloc(array, 2 * (count ? count : 4) * each);
	if (!larger)
		node->status = CS_NO_MEMORY;
	return larger;
}

static void
note(struct rank *rank, enum cs_counted_kind kind, int peer, uint64_t amount)
{
	struct cs_counted_rank *counted = &rank->node->counted->ranks[rank->team.shape.local];
	bool is_work = kind == CS_COUNTED_COPY || kind == CS_COUNTED_REDUCE;
	struct cs_counted_step *last = counted->count ? &counted->steps[counted->count - 1] : NULL;
	if (is_work && (!amount || (last && last->kind == kind))) {
		if (amount)
			last->amount += amount;
		return;
	}
	if (counted->count == counted->room) {
		void *steps = grow(rank->node, counted->steps, counted->room, sizeof *last);
		if (!steps)
			return;
		counted->steps = steps;
		counted->room = 2 * (counted->room ? counted->room : 4);
	}
	counted->steps[counted->count++] = (struct cs_counted_step){ amount, peer, kind };
}

static bool
note_work(struct cs_node_op *op, bool reduces, size_t bytes)
{
	note(rank_of(op), reduces ? CS_COUNTED_REDUCE : CS_COUNTED_COPY, -1, bytes);
	return false;
}

static bool
copy_array(const size_t **array, int count)
{
	size_t bytes = (size_t)count * sizeof **array, *copy = *array ? malloc(bytes) : NULL;
	bool is_good = !*array || copy;
	if (copy)
		memcpy(copy, *array, bytes);
	*array = copy;
	return is_good;
}

static void
note_between(struct cs_node_op *op, const struct cs_problem *problem)
{
	struct rank *rank = rank_of(op);
	struct cs_counted_node *counted = rank->node->counted;
	size_t count = counted->betweens;
	struct cs_problem *all = realloc(counted->between, (count + 1) * sizeof *all);
	if (!all) {
		rank->node->status = CS_NO_MEMORY;
		return;
	}
	counted->between = all;
	all[count] = *problem;
	bool is_good = copy_array(&all[count].sizes, problem->ranks);
	is_good = copy_array(&all[count].at, problem->ranks) && is_good;
	is_good = copy_array(&all[count].recv_sizes, problem->ranks) && is_good;
	is_good = copy_array(&all[count].recv_at, problem->ranks) && is_good;
	counted->betweens++;
	note(rank, CS_COUNTED_BETWEEN, -1, count);
	if (!is_good)
		rank->node->status = CS_NO_MEMORY;
}

/* Note a published step: the rank's flag goes up once for each. */
static void
note_published(struct rank *rank, uint64_t step)
{
	if (rank->published == rank->room) {
		void *steps = grow(rank->node, rank->steps, rank->room, sizeof *rank->steps);
		if (!steps)
			return;
		rank->steps = steps;
		rank->room = 2 * (rank->room ? rank->room : 4);
	}
	rank->steps[rank->published++] = step;
	note(rank, CS_COUNTED_PUBLISH, -1, rank->published);
}

/* Note the wait for a published step, as times that the flag went up. */
static void
note_awaited(struct rank *rank, int local, uint64_t step)
{
	const struct rank *other = &rank->node->ranks[local];
	size_t times = other->published;
	while (times > 1 && other->steps[times - 2] >= step)
		times--;
	note(rank, CS_COUNTED_AWAIT, local, times);
}

static void
note_step(struct cs_node_op *op, int local, uint64_t step)
{
	struct rank *rank = rank_of(op);
	int self = rank->team.shape.local;
	uint64_t *heard = &rank->node->heard[self * rank->team.shape.locals + local];
	if (step <= *heard)
		return;
	*heard = step;
	if (local == self)
		note_published(rank, step);
	else
		note_awaited(rank, local, step);
}

static const struct cs_node_watch watch = { .told = note_step, .work = note_work,
					    .between = note_between };

/* --- the host: sizes that are handed round ---------------------------------------------------- */

/* All ranks' sizes, by position: the result of each collective of this host. */
static void
fill_table(const struct node *node, void *buffer)
{
	size_t *table = buffer;
	for (int position = 0; position < node->shape.ranks; position++)
		table[position] = node->sizes[node->shape.order[position]];
}

/* Maximum over nodes: of rounds if there is a root, 1 if any block has bytes; else of lengths,
 * which are equal on all nodes. */
static unsigned
max(void *leaders, uint64_t *values, size_t count, struct cs_request *request)
{
	const struct node *node = leaders;
	(void)request;
	for (int rank = 0; node->is_rooted && rank < node->shape.ranks; rank++)
		for (size_t i = 0; i < count; i++)
			values[i] |= node->sizes[rank] != 0;
	return 0;
}

static unsigned
bcast(void *leaders, void *buffer, size_t bytes, int root, struct cs_request *request)
{
	(void)root, (void)request;
	if (bytes == sizeof(uint64_t))
		return max(leaders, buffer, 1, request); /* rounds, and no table */
	fill_table(leaders, buffer);
	return 0;
}

static unsigned
gatherv(void *leaders, void *buffer, const size_t *bytes, const size_t *at, int root,
	struct cs_request *request)
{
	(void)bytes, (void)at, (void)root, (void)request;
	fill_table(leaders, buffer);
	return 0;
}

static const struct cs_host tables = { .bcast = bcast, .gatherv = gatherv, .max = max };

/* --- ranks ------------------------------------------------------------------------------------ */

/* Fill in the shape from the problem's node_of. */
static enum cs_status
place_ranks(struct node *node, const struct cs_problem *problem, int own)
{
	size_t ranks = (size_t)problem->ranks;
	struct cs_shape *shape = &node->shape;
	int *arrays = calloc(4 * ranks + 1, sizeof *arrays), nodes = 0, next = 0;
	*shape = (struct cs_shape){ .local_of = arrays };
	if (!arrays)
		return CS_NO_MEMORY;
	for (size_t rank = 0; rank < ranks; rank++)
		nodes = problem->node_of[rank] >= nodes ? problem->node_of[rank] + 1 : nodes;
	if (own >= nodes || (size_t)nodes > ranks)
		return CS_UNSUPPORTED;
	*shape = (struct cs_shape){ .ranks = problem->ranks, .nodes = nodes, .node = own,
				    .local_of = arrays, .order = arrays + ranks,
				    .position = arrays + 2 * ranks, .first = arrays + 3 * ranks,
				    .ppn_min = problem->ranks, .is_block_placed = true };
	for (size_t rank = 0; rank < ranks; rank++)
		shape->local_of[rank] = shape->first[problem->node_of[rank]]++;
	for (int n = 0; n < nodes; n++) {
		int locals = shape->first[n];
		shape->first[n] = next;
		next += locals;
		shape->ppn_min = locals < shape->ppn_min ? locals : shape->ppn_min;
		shape->ppn_max = locals > shape->ppn_max ? locals : shape->ppn_max;
	}
	shape->first[nodes] = next;
	for (int rank = 0; rank < problem->ranks; rank++) {
		int position = shape->first[problem->node_of[rank]] + shape->local_of[rank];
		shape->position[rank] = position;
		shape->order[position] = rank;
		shape->is_block_placed = shape->is_block_placed && position == rank;
	}
	shape->locals = shape->first[own + 1] - shape->first[own];
	return CS_OK;
}

/* Bytes of the table of sizes that ranks of the largest node publish; 0: none. */
static size_t
table_bytes(const struct node *node, const struct cs_coll_info *info)
{
	size_t ranks = (size_t)node->shape.ranks, ppn = (size_t)node->shape.ppn_max;
	return info->sizes == CS_SIZES_AT_ROOT	 ? ranks * sizeof(size_t)
	       : info->sizes == CS_SIZES_BY_PAIR ? 2 * ppn * ranks * sizeof(size_t) : 0;
}

/* Give slots room for everything, and no pages to populate. */
static void
make_vast(struct cs_node *node)
{
	node->shape.slot_bytes = node->shape.area_bytes = EVERYTHING;
	for (size_t slot = 0; slot < CS_MAX_SLOTS; slot++)
		node->slot_populated[slot] = node->areas[CS_AREA_LARGE_SLOTS].populated[slot] =
			node->areas[CS_AREA_SMALL_SLOTS].populated[slot] = SIZE_MAX;
}

/* Allocate the node's memory, as large as lines and tables need. */
static enum cs_status
take_memory(struct node *node, const struct cs_coll_info *info)
{
	size_t locals = (size_t)node->shape.locals, table = table_bytes(node, info);
	struct cs_node_shape shape = { .size = node->shape.locals, .slots = 2,
				       .slot_bytes = CS_CACHE_LINE, .area_slots = 4, .area_bytes =
				       table ? table : CS_CACHE_LINE, .streams = CS_SWITCH_OFF };
	size_t bytes = (cs_node_bytes(&shape) + CS_CACHE_LINE * 4 - 1) / 4096 * 4096 + 4096;
	node->heard = calloc(locals * locals, sizeof *node->heard);
	node->ranks = calloc(locals, sizeof *node->ranks);
	node->memory = aligned_alloc(4096, bytes);
	if (!node->heard || !node->ranks || !node->memory)
		return CS_NO_MEMORY;
	for (int local = 0; local < node->shape.locals; local++) {
		struct cs_node *own = &node->ranks[local].team.node;
		struct cs_segment segment = { .bytes = bytes, .fd = -1, .base = node->memory };
		shape.local = local;
		cs_node_init(own, &shape, &segment, &tables);
		memset(own->self, 0, offsetof(struct cs_rank_head, small));
		atomic_store(&own->self->done, own->done_floor);
		memset(own->head, 0, sizeof *own->head);
		own->watch = &watch;
		own->nodes = node->shape.nodes;
		make_vast(own);
	}
	return CS_OK;
}

/* Fill the arrays that all ranks share. */
static enum cs_status
take_sizes(struct node *node, const struct cs_problem *problem)
{
	size_t ranks = (size_t)problem->ranks;
	node->sizes = calloc(2 * ranks, sizeof *node->sizes);
	if (!node->sizes)
		return CS_NO_MEMORY;
	node->none = node->sizes + ranks;
	node->is_rooted = cs_colls[problem->coll].rooted;
	for (int rank = 0; rank < problem->ranks; rank++)
		node->sizes[rank] = cs_problem_size(problem, rank) / problem->unit;
	return CS_OK;
}

static struct cs_blocks
blocks(const struct rank *rank, char *base, const struct cs_problem *problem, const size_t *sizes)
{
	bool are_equal = cs_colls[problem->coll].sizes == CS_SIZES_EQUAL;
	return (struct cs_blocks){ base, problem->bytes, are_equal ? NULL : sizes,
				   are_equal ? NULL : rank->node->none };
}

/* Copy a row of sent or received sizes; NULL: no memory. */
static size_t *
keep_row(struct rank *rank, int which, const size_t *sizes)
{
	size_t bytes = (size_t)rank->team.shape.ranks * sizeof *sizes;
	rank->rows[which] = malloc(bytes);
	if (rank->rows[which])
		memcpy(rank->rows[which], sizes, bytes);
	return rank->rows[which];
}

/* The call as comm/ would make it of a rank's arguments. */
static enum cs_status
make_call(struct rank *rank, const struct cs_problem *problem)
{
	const struct cs_coll_info *info = &cs_colls[problem->coll];
	struct cs_call *call = &rank->op.call;
	const size_t *out = rank->node->sizes, *in = out;
	int self = problem->rank;
	bool is_scattered = cs_coll_is_scattered(info);
	bool brings = cs_flow_reaches(info->in, self, problem->root) ||
		      problem->coll == CS_BCAST;
	bool takes = cs_flow_reaches(info->out, self, problem->root) ||
		     problem->coll == CS_BCAST;
	if (info->sizes == CS_SIZES_BY_PAIR) {
		out = keep_row(rank, 0, problem->sizes);
		in = keep_row(rank, 1, problem->recv_sizes);
		if (!out || !in)
			return CS_NO_MEMORY;
	}
	cs_call_init(call, problem->coll, info->rooted ? problem->root : -1, is_scattered
		     ? cs_problem_total(problem) : cs_coll_has_blocks(info)
		     ? cs_problem_size(problem, self) : problem->bytes);
	call->count = info->reduces ? call->bytes / problem->unit : 0;
	call->reduction.unit = problem->unit;
	call->is_commutative = problem->is_commutative;
	call->counts = is_scattered && info->sizes != CS_SIZES_EQUAL ? rank->node->sizes : NULL;
	if (brings)
		call->send = info->in.what == CS_ALL_BLOCKS
			     ? blocks(rank, INPUT, problem, out) : (struct cs_blocks){ INPUT };
	if (takes)
		call->recv = info->out.what == CS_ALL_BLOCKS
			     ? blocks(rank, OUTPUT, problem, in) : (struct cs_blocks){ OUTPUT };
	return CS_OK;
}

/* Allocate what phases will ask for: in cs_op_memory a failure ends the job. */
static bool
take_working_memory(struct rank *rank, const struct cs_coll_info *info)
{
	size_t nodes = (size_t)rank->team.shape.nodes, ranks = (size_t)rank->team.shape.ranks,
	       copy = table_bytes(rank->node, info);
	if (cs_coll_is_scattered(info) && rank->op.call.bytes <= rank->node->call->read_all)
		copy = rank->op.call.bytes;
	if (info->rooted && copy < ranks * sizeof(size_t))
		copy = ranks * sizeof(size_t);
	return cs_op_memory_of(&rank->op, &rank->idle, CS_OP_NODES, 4 * nodes * sizeof(size_t)) &&
	       cs_op_memory_of(&rank->op, &rank->idle, CS_OP_COPY, copy);
}

static enum cs_status
begin(struct node *node, int local)
{
	struct rank *rank = &node->ranks[local];
	struct cs_team *team = &rank->team;
	int self = node->shape.order[node->shape.first[node->shape.node] + local];
	const struct cs_counted_call *call = node->call;
	const struct cs_problem *problem = call->seen_by(call->context, self);
	const struct cs_algorithm *algorithm = call->algorithm;
	size_t params[CS_MAX_PARAMS];
	rank->node = node;
	team->shape = node->shape;
	team->shape.rank = self;
	team->shape.local = local;
	/* Read only: no code writes to a team's shape. */
	memcpy(&team->shape.node_of, &problem->node_of, sizeof team->shape.node_of);
	team->host = &tables;
	team->leaders = node;
	team->lanes = team->most_lanes = team->domains = 1;
	team->lane = local ? CS_LANES : 0;
	team->idle = &rank->idle;
	cs_op_join(&rank->op, team, cs_call_signature(problem->coll, 0));
	rank->op.between = call->between;
	rank->op.between_params = call->between_params;
	enum cs_status status = make_call(rank, problem);
	if (status != CS_OK)
		return status;
	if (!take_working_memory(rank, &cs_colls[problem->coll]))
		return CS_NO_MEMORY;
	rank->op.node.extras |= CS_NODE_WATCHED;
	for (int i = 0; i < CS_MAX_PARAMS; i++)
		params[i] = algorithm->params[i].role == CS_ROLE_READ_ALL ? call->read_all
			    /* one sender; a switch, not a size */
			    : algorithm->params[i].role == CS_ROLE_SENDERS ||
			      algorithm->params[i].high == 1 ? algorithm->params[i].fallback
							     : EVERYTHING;
	algorithm->run(&rank->op, params);
	rank->is_over = !(rank->op.node.extras & CS_OP_GOES_ON);
	return CS_OK;
}

/* Step all ranks to the end; they wait for each other only. */
static enum cs_status
step_all(struct node *node)
{
	enum cs_status status = CS_OK;
	int left = 0;
	for (int local = 0; status == CS_OK && local < node->shape.locals; local++) {
		status = begin(node, local);
		left += status == CS_OK && !node->ranks[local].is_over;
	}
	for (int moved = 1; status == CS_OK && left && moved;) {
		moved = 0;
		for (int local = 0; local < node->shape.locals; local++) {
			struct rank *rank = &node->ranks[local];
			size_t before = node->counted->ranks[local].count;
			if (rank->is_over)
				continue;
			rank->is_over = cs_op_step(&rank->op) == CS_OK;
			left -= rank->is_over;
			moved += rank->is_over || node->counted->ranks[local].count > before;
		}
		status = node->status != CS_OK ? node->status
			 : left && !moved      ? CS_UNSUPPORTED : CS_OK;
	}
	return status != CS_OK ? status : node->status;
}

static void
clear(struct node *node)
{
	for (int local = 0; node->ranks && local < node->shape.locals; local++) {
		struct rank *rank = &node->ranks[local];
		if (rank->op.node.extras & CS_OP_MEMORY)
			cs_op_give_back(&rank->op, &rank->idle);
		cs_op_memory_free(&rank->idle);
		free(rank->rows[0]);
		free(rank->rows[1]);
		free(rank->steps);
	}
	free(node->ranks);
	free(node->heard);
	free(node->memory);
	free(node->sizes);
	free(node->shape.local_of);
}

enum cs_status
cs_counted_init(struct cs_counted_node *counted, const struct cs_counted_call *call, int own)
{
	const struct cs_problem *problem = call->seen_by(call->context, 0);
	const struct cs_coll_info *info = &cs_colls[problem->coll];
	/* Sizes are then exchanged by the host's collectives, not by the plan. */
	struct cs_algorithm between = *call->between;
	struct cs_counted_call with_sizes = *call;
	struct node node = { .call = &with_sizes, .counted = counted };
	between.needs.all_sizes = between.needs.largest = true;
	with_sizes.between = &between;
	*counted = (struct cs_counted_node){ 0 };
	enum cs_status status = place_ranks(&node, problem, own);
	if (status == CS_OK)
		status = take_sizes(&node, problem);
	if (status == CS_OK)
		status = take_memory(&node, info);
	if (status == CS_OK) {
		counted->locals = node.shape.locals;
		counted->ranks = calloc((size_t)node.shape.locals, sizeof *counted->ranks);
		status = counted->ranks ? step_all(&node) : CS_NO_MEMORY;
	}
	clear(&node);
	return status;
}

void
cs_counted_drop_steps(struct cs_counted_node *counted)
{
	for (int local = 0; counted->ranks && local < counted->locals; local++)
		free(counted->ranks[local].steps);
	free(counted->ranks);
	counted->ranks = NULL;
	counted->locals = 0;
}

void
cs_counted_fini(struct cs_counted_node *counted)
{
	cs_counted_drop_steps(counted);
	for (size_t i = 0; i < counted->betweens; i++) {
		free((void *)(uintptr_t)counted->between[i].sizes);
		free((void *)(uintptr_t)counted->between[i].at);
		free((void *)(uintptr_t)counted->between[i].recv_sizes);
		free((void *)(uintptr_t)counted->between[i].recv_at);
	}
	free(counted->between);
	*counted = (struct cs_counted_node){ 0 };
}
