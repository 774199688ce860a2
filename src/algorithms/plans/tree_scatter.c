#include "algorithms/plans/tree_scatter.h"

#include "algorithms/plans/node_ranks.h"

#include <stdlib.h>
#include <string.h>

/* --- groups ----------------------------------------------------------------------------------- */

/* The ranks in the order of the tree. Without nodes there are no arrays: position i is rank start +
 * i, a group, and `start` the root, unless the tree's head is not its first member. */
struct row {
	int groups;
	int ranks, start;
	int *order; /* position -> rank */
	int *first; /* by group: the position of its head; one more at the end */
};

static int
rank_at(const struct row *row, int position)
{
	return row->order ? row->order[position]
			  : (int)(((long long)row->start + position) % row->ranks);
}

static int
first_of(const struct row *row, int group)
{
	return row->first ? row->first[group] : group;
}

static int
size_of(const struct row *row, int group)
{
	return first_of(row, group + 1) - first_of(row, group);
}

/* Move the ranks of the root's node, from `order + at` on, to the front. */
static void
put_first(int *order, int at, int count, int *spare)
{
	memcpy(spare, order + at, (size_t)count * sizeof *order);
	memmove(order + count, order, (size_t)at * sizeof *order);
	memcpy(order, spare, (size_t)count * sizeof *order);
}

static void
group_all(struct row *row, const int *node_of)
{
	int root_node = node_of[row->start], at = 0, count = 0;
	while (node_of[row->order[at]] != root_node)
		at++;
	while (at + count < row->ranks && node_of[row->order[at + count]] == root_node)
		count++;
	put_first(row->order, at, count, row->first);
	row->groups = 0;
	for (int i = 0, last = 0; i < row->ranks; i++) {
		int node = node_of[row->order[i]];
		if (!i || node != last)
			row->first[row->groups++] = i;
		last = node;
	}
	row->first[row->groups] = row->ranks;
}

/* False: no memory. */
static bool
row_init(struct row *row, const struct cs_problem *problem, const struct cs_partition *partition,
	 int senders)
{
	size_t p = (size_t)problem->ranks;
	int head = cs_partition_head(partition, problem->ranks);
	*row = (struct row){ .groups = problem->ranks, .ranks = problem->ranks,
			     .start = problem->root - head +
				      (problem->root < head ? problem->ranks : 0) };
	if (!senders || !problem->node_of)
		return true;
	row->order = malloc((2 * p + 1) * sizeof *row->order);
	if (!row->order ||
	    !cs_node_ranks_sort(problem->node_of, problem->ranks, problem->root, row->order))
		return false;
	row->first = row->order + p;
	group_all(row, problem->node_of);
	return true;
}

/* Place of the rank of a group that sends to, or receives from, its child of that index. */
static int
sender_of(const struct row *row, int group, int index, int senders)
{
	int size = size_of(row, group), most = senders < size ? senders : size;
	return most > 1 ? index % most : 0;
}

/* --- messages of a group's head --------------------------------------------------------------- */

/* The blocks of a child's part, or of another rank of the own group: [position, position +
 * count). */
struct message {
	int position, count;
	int to; /* the child's head, or that rank; gather: from */
	int by; /* the rank of the own group that has it last before `to`; gather: first after it */
	size_t bytes;
	struct cs_place place;
	bool is_packed; /* root: in CS_TMP */
	int request;
};

struct walk {
	struct cs_builder *builder;
	const struct cs_problem *problem;
	const struct cs_partition *partition;
	int senders;
	struct row row;
	struct cs_subtree part; /* of groups; the own group is its head */
	int self, head;
	int outside;         /* peer from which the head gets its part, or to which it sends it */
	size_t own, bytes;   /* own block, all of the part */
	size_t own_at;       /* the own block's offset in it */
	enum cs_memory memory; /* of the program's blocks */
	size_t *before;      /* by position: bytes of the blocks before, one more at the end; NULL
			      * with blocks of one size */
	size_t *at;          /* by rank: of its block in the program's memory; NULL: one after
			      * another, or not the root */
	struct message *messages; /* children first, in the order in which they are cut off */
	int message_count;
};

static void
find_part(struct walk *walk)
{
	const struct row *row = &walk->row;
	int position = 0, group = 0;
	while (rank_at(row, position) != walk->self)
		position++;
	while (first_of(row, group + 1) <= position)
		group++;
	walk->part = cs_subtree_of(walk->partition, row->groups, group);
	walk->head = rank_at(row, first_of(row, group));
	int parent = walk->part.parent;
	int sender = sender_of(row, parent, walk->part.index, walk->senders);
	walk->outside = rank_at(row, first_of(row, parent) + sender);
}

/* Sum up sizes as far as needed, since in a simulation each of many ranks does. False: no
 * memory. */
static bool
measure(struct walk *walk)
{
	const struct cs_problem *problem = walk->problem;
	size_t p = (size_t)problem->ranks, sum = 0;
	if (!problem->sizes)
		return true;
	walk->before = malloc((p + 1) * sizeof *walk->before);
	if (!walk->before)
		return false;
	for (int i = 0; i < problem->ranks; i++) {
		walk->before[i] = sum;
		sum += problem->sizes[rank_at(&walk->row, i)];
	}
	walk->before[p] = sum;
	if (walk->self != problem->root || problem->at)
		return true;
	walk->at = malloc(p * sizeof *walk->at);
	if (!walk->at)
		return false;
	sum = 0;
	for (int rank = 0; rank < problem->ranks; rank++) {
		walk->at[rank] = sum;
		sum += problem->sizes[rank];
	}
	return true;
}

/* Bytes of the blocks before that position. */
static size_t
before(const struct walk *walk, int position)
{
	return walk->before ? walk->before[position] : (size_t)position * walk->problem->bytes;
}

/* At the root: offset of the rank's block in the program's memory. */
static size_t
at_of(const struct walk *walk, int rank)
{
	return walk->at ? walk->at[rank] : cs_problem_at(walk->problem, rank);
}

static void
add_message(struct walk *walk, int position, int count, int head, int by)
{
	walk->messages[walk->message_count++] =
	     (struct message){ .position = position, .count = count,
			       .to = rank_at(&walk->row, head), .by = by,
			       .bytes = before(walk, position + count) - before(walk, position),
			       .request = CS_NO_REQUEST };
}

static void
list_messages(struct walk *walk)
{
	const struct row *row = &walk->row;
	int own = walk->part.head, first = first_of(row, own);
	struct cs_subtree rest = walk->part;
	while (rest.count > 1) {
		struct cs_subtree child = cs_subtree_cut(walk->partition, &rest);
		int position = first_of(row, child.first);
		int sender = sender_of(row, own, child.index, walk->senders);
		add_message(walk, position, first_of(row, child.first + child.count) - position,
			    first_of(row, child.head), rank_at(row, first + sender));
	}
	for (int i = 1; i < size_of(row, own); i++)
		add_message(walk, first + i, 1, first + i, walk->head);
	first = first_of(row, walk->part.first);
	int end = first_of(row, walk->part.first + walk->part.count);
	walk->bytes = before(walk, end) - before(walk, first);
	walk->own_at = before(walk, first_of(row, own)) - before(walk, first);
}

static void
fini(struct walk *walk)
{
	free(walk->row.order);
	free(walk->before);
	free(walk->at);
	free(walk->messages);
}

/* False: no memory, the builder knows. */
static bool
init(struct walk *walk, struct cs_builder *builder, const struct cs_partition *partition,
     int senders)
{
	const struct cs_problem *problem = builder->problem;
	size_t p = (size_t)problem->ranks;
	bool is_scatter = problem->coll == CS_SCATTER || problem->coll == CS_SCATTERV;
	*walk = (struct walk){ .builder = builder, .problem = problem, .partition = partition,
			       .senders = senders, .self = problem->rank,
			       .memory = is_scatter ? CS_IN : CS_OUT,
			       .own = cs_problem_size(problem, problem->rank) };
	walk->messages = malloc(p * sizeof *walk->messages);
	if (!walk->messages || !row_init(&walk->row, problem, partition, senders) ||
	    !measure(walk)) {
		cs_build_no_memory(builder);
		fini(walk);
		return false;
	}
	find_part(walk);
	list_messages(walk);
	return true;
}

/* --- places of blocks ------------------------------------------------------------------------- */

/* Bytes of the first blocks from *position on that are one run in the program's memory; 0: no
 * more. */
static size_t
next_run(const struct walk *walk, int *position, int end, size_t *at)
{
	size_t bytes = 0;
	for (; *position < end; ++*position) {
		int rank = rank_at(&walk->row, *position);
		size_t size = cs_problem_size(walk->problem, rank);
		if (bytes && size && at_of(walk, rank) != *at + bytes)
			break;
		*at = bytes ? *at : at_of(walk, rank);
		bytes += size;
	}
	return bytes;
}

static void
place_at_root(struct walk *walk, struct message *message)
{
	int position = message->position;
	size_t at = 0;
	message->is_packed = next_run(walk, &position, message->position + message->count, &at) <
			     message->bytes;
	message->place = message->is_packed ? cs_build_tmp(walk->builder, message->bytes)
					    : (struct cs_place){ walk->memory, at };
}

/* Root: copy from the program's memory to the message's place, or back. */
static void
repack(struct walk *walk, const struct message *message, bool is_back)
{
	int position = message->position, end = position + message->count;
	size_t at = 0, done = 0;
	for (size_t bytes; message->is_packed && (bytes = next_run(walk, &position, end, &at)) != 0;
	     done += bytes) {
		struct cs_place program = { walk->memory, at },
				packed = cs_plus(message->place, done);
		cs_build_copy(walk->builder, is_back ? program : packed, is_back ? packed : program,
			      bytes);
	}
}

/* Head: place of a message in its part, which begins at `base`. */
static struct cs_place
place_in(const struct walk *walk, const struct message *message, struct cs_place base)
{
	size_t first = before(walk, first_of(&walk->row, walk->part.first));
	return cs_plus(base, before(walk, message->position) - first);
}

/* --- messages --------------------------------------------------------------------------------- */

static int
peer_of(const struct walk *walk, const struct message *message)
{
	return message->by == walk->self ? message->to : message->by;
}

/* Does this rank, which is not the head, pass the message on? */
static bool
is_passed(const struct walk *walk, const struct message *message)
{
	return message->by == walk->self;
}

/* Ports of a head: each child's message has one, the same at the child; the own block is port
 * 0's. */
static int
ports_of(const struct walk *walk)
{
	return walk->message_count ? walk->message_count : 1;
}

static void
scatter_from_root(struct walk *walk)
{
	struct cs_builder *builder = walk->builder;
	for (int i = 0; i < walk->message_count; i++) {
		struct message *message = &walk->messages[i];
		builder->port = i;
		place_at_root(walk, message);
		repack(walk, message, false);
		cs_build_send(builder, peer_of(walk, message), message->place, message->bytes);
	}
	builder->port = 0;
	if (!walk->problem->is_in_place)
		cs_build_copy(builder, cs_out(0), cs_in(at_of(walk, walk->self)), walk->own);
}

static void
scatter_from_head(struct walk *walk)
{
	struct cs_builder *builder = walk->builder;
	struct cs_place base = walk->bytes > walk->own ? cs_build_tmp(builder, walk->bytes)
						       : cs_out(0);
	builder->port = walk->part.index;
	cs_build_wait(builder, cs_build_recv(builder, walk->outside, base, walk->bytes));
	cs_build_ports_hear_of(builder, ports_of(walk), cs_build_tell(builder, builder->port));
	builder->note++;
	for (int i = 0; i < walk->message_count; i++) {
		const struct message *message = &walk->messages[i];
		builder->port = i;
		cs_build_send(builder, peer_of(walk, message), place_in(walk, message, base),
			      message->bytes);
	}
	builder->port = 0;
	cs_build_copy(builder, cs_out(0), cs_plus(base, walk->own_at), walk->own);
}

static void
scatter_through(struct walk *walk)
{
	struct cs_builder *builder = walk->builder;
	for (int i = 0; i < walk->message_count; i++) {
		struct message *message = &walk->messages[i];
		if (!is_passed(walk, message) && message->to != walk->self)
			continue;
		message->place = is_passed(walk, message) ? cs_build_tmp(builder, message->bytes)
							  : cs_out(0);
		message->request = cs_build_recv(builder, walk->head, message->place,
						 message->bytes);
	}
	for (int i = 0; i < walk->message_count; i++) {
		struct message *message = &walk->messages[i];
		cs_build_wait(builder, message->request);
		if (is_passed(walk, message))
			cs_build_send(builder, message->to, message->place, message->bytes);
	}
}

/* Gather takes the messages from the last to the first: small parts are there first. */

static void
gather_to_root(struct walk *walk)
{
	struct cs_builder *builder = walk->builder;
	for (int i = walk->message_count; i-- > 0;) {
		struct message *message = &walk->messages[i];
		builder->port = i;
		place_at_root(walk, message);
		message->request = cs_build_recv(builder, peer_of(walk, message), message->place,
						 message->bytes);
	}
	builder->port = 0;
	cs_build_keep_own(builder);
	for (int i = walk->message_count; i-- > 0;) {
		builder->port = i;
		cs_build_wait(builder, walk->messages[i].request);
		repack(walk, &walk->messages[i], true);
	}
}

static void
gather_to_head(struct walk *walk)
{
	struct cs_builder *builder = walk->builder;
	struct cs_place base = walk->bytes > walk->own ? cs_build_tmp(builder, walk->bytes)
						       : cs_in(0);
	builder->note++;
	for (int i = walk->message_count; i-- > 0;) {
		const struct message *message = &walk->messages[i];
		builder->port = i;
		cs_build_recv(builder, peer_of(walk, message), place_in(walk, message, base),
			      message->bytes);
	}
	builder->port = 0;
	cs_build_copy(builder, cs_plus(base, walk->own_at), cs_in(0), walk->own);
	cs_build_wait_all(builder);
	for (int port = 0; walk->message_count && port < ports_of(walk) &&
	     port < cs_build_senders(builder); port++)
		cs_build_hear_of(builder, walk->part.index, cs_build_tell(builder, port));
	builder->port = walk->part.index;
	builder->note--;
	cs_build_send(builder, walk->outside, base, walk->bytes);
}

static void
gather_through(struct walk *walk)
{
	struct cs_builder *builder = walk->builder;
	for (int i = walk->message_count; i-- > 0;) {
		struct message *message = &walk->messages[i];
		if (!is_passed(walk, message))
			continue;
		message->place = cs_build_tmp(builder, message->bytes);
		message->request = cs_build_recv(builder, message->to, message->place,
						 message->bytes);
	}
	cs_build_send(builder, walk->head, cs_in(0), walk->own);
	for (int i = walk->message_count; i-- > 0;) {
		struct message *message = &walk->messages[i];
		if (!is_passed(walk, message))
			continue;
		cs_build_wait(builder, message->request);
		cs_build_send(builder, walk->head, message->place, message->bytes);
	}
}

struct roles {
	void (*root)(struct walk *walk);
	void (*head)(struct walk *walk);
	void (*other)(struct walk *walk);
};

/* Build a rank's plan by its role. builder->note: messages of parts from the root to this rank. */
static void
play(const struct roles *roles, struct cs_builder *builder, const struct cs_partition *partition,
     int senders)
{
	struct walk walk;
	if (!init(&walk, builder, partition, senders))
		return;
	bool is_root = walk.self == builder->problem->root, is_head = walk.self == walk.head;
	int depth = walk.part.depth;
	builder->note = (uint32_t)(is_head && !is_root ? depth - 1 : depth);
	(is_root ? roles->root : is_head ? roles->head : roles->other)(&walk);
	fini(&walk);
}

void
cs_tree_scatter(struct cs_builder *builder, const struct cs_partition *partition, int senders)
{
	static const struct roles roles = { scatter_from_root, scatter_from_head, scatter_through };
	play(&roles, builder, partition, senders);
}

void
cs_tree_gather(struct cs_builder *builder, const struct cs_partition *partition, int senders)
{
	static const struct roles roles = { gather_to_root, gather_to_head, gather_through };
	play(&roles, builder, partition, senders);
}
