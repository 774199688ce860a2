#include "algorithms/patterns/handout.h"

#include "algorithms/patterns/node_ranks.h"

#include <stdlib.h>
#include <string.h>

/* --- groups ------------------------------------------------------------------------------------------------------- */

/* The ranks in the order of the tree. Without nodes there are no arrays: position i is rank root + i, a group. */
struct row {
	int groups;
	int ranks, root;
	int *order; /* position -> rank */
	int *first; /* by group: the position of its head; one more at the end */
};

static int
rank_at(const struct row *row, int position)
{
	return row->order ? row->order[position] : (int)(((long long)row->root + position) % row->ranks);
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

/* The root's node first: its ranks, from `order + at` on, to the front. */
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
	int root_node = node_of[row->root], at = 0, count = 0;
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
row_init(struct row *row, const struct cs_problem *problem, int senders)
{
	size_t p = (size_t)problem->ranks;
	*row = (struct row){ .groups = problem->ranks, .ranks = problem->ranks, .root = problem->root };
	if (!senders || !problem->node_of)
		return true;
	row->order = malloc((2 * p + 1) * sizeof *row->order);
	if (!row->order || !cs_node_ranks_sort(problem->node_of, problem->ranks, problem->root, row->order))
		return false;
	row->first = row->order + p;
	group_all(row, problem->node_of);
	return true;
}

/* Which rank of a group takes the messages to, or from, its child of that index. */
static int
sender_of(const struct row *row, int group, int index, int senders)
{
	int size = size_of(row, group), most = senders < size ? senders : size;
	return most > 1 ? index % most : 0;
}

/* --- what a head deals with --------------------------------------------------------------------------------------- */

/* The blocks of a child's part, or of another rank of the own group: [position, position + count). */
struct parcel {
	int position, count;
	int to; /* the child's head, or that rank; gather: from */
	int by; /* the rank of the own group that has it last before `to`; gather: first after it */
	size_t bytes;
	struct cs_place place;
	bool is_packed; /* root: in CS_TMP */
	int request;
};

struct handout {
	struct cs_builder *builder;
	const struct cs_problem *problem;
	const struct cs_cuts *cuts;
	int senders;
	struct row row;
	struct cs_part part; /* of groups; the own group is its first one */
	int self, head;
	int outside;         /* whom the head gets its part from, or sends it to */
	size_t own, bytes;   /* own block, all of the part */
	enum cs_memory memory; /* where the program has, or wants, the blocks */
	size_t *before;      /* by position: bytes of the blocks before, one more at the end; NULL with blocks of one size */
	size_t *at;          /* by rank: of its block in the program's memory; NULL: one after another, or not the root */
	struct parcel *parcels; /* children first, in the order in which they are cut off */
	int parcel_count;
};

static void
find_part(struct handout *handout)
{
	const struct row *row = &handout->row;
	int position = 0, group = 0;
	while (rank_at(row, position) != handout->self)
		position++;
	while (first_of(row, group + 1) <= position)
		group++;
	handout->part = cs_part_of(handout->cuts, row->groups, group);
	handout->head = rank_at(row, first_of(row, group));
	int parent = handout->part.parent;
	int sender = sender_of(row, parent, handout->part.index, handout->senders);
	handout->outside = rank_at(row, first_of(row, parent) + sender);
}

/* Only what is needed, since in a simulation each of many ranks does this. False: no memory. */
static bool
measure(struct handout *handout)
{
	const struct cs_problem *problem = handout->problem;
	size_t p = (size_t)problem->ranks, sum = 0;
	if (!problem->sizes)
		return true;
	handout->before = malloc((p + 1) * sizeof *handout->before);
	if (!handout->before)
		return false;
	for (int i = 0; i < problem->ranks; i++) {
		handout->before[i] = sum;
		sum += problem->sizes[rank_at(&handout->row, i)];
	}
	handout->before[p] = sum;
	if (handout->self != problem->root || problem->at)
		return true;
	handout->at = malloc(p * sizeof *handout->at);
	if (!handout->at)
		return false;
	sum = 0;
	for (int rank = 0; rank < problem->ranks; rank++) {
		handout->at[rank] = sum;
		sum += problem->sizes[rank];
	}
	return true;
}

/* Bytes of the blocks before that position. */
static size_t
before(const struct handout *handout, int position)
{
	return handout->before ? handout->before[position] : (size_t)position * handout->problem->bytes;
}

/* At the root: where the program has, or wants, the rank's block. */
static size_t
at_of(const struct handout *handout, int rank)
{
	return handout->at ? handout->at[rank] : cs_problem_at(handout->problem, rank);
}

static void
add_parcel(struct handout *handout, int position, int count, int by)
{
	handout->parcels[handout->parcel_count++] =
		(struct parcel){ .position = position, .count = count, .to = rank_at(&handout->row, position), .by = by,
				 .bytes = before(handout, position + count) - before(handout, position),
				 .request = CS_NO_REQUEST };
}

static void
list_parcels(struct handout *handout)
{
	const struct row *row = &handout->row;
	int own = handout->part.first, first = first_of(row, own);
	struct cs_part rest = handout->part;
	while (rest.count > 1) {
		struct cs_part child = cs_part_cut(handout->cuts, &rest);
		int position = first_of(row, child.first);
		int sender = sender_of(row, own, child.index, handout->senders);
		add_parcel(handout, position, first_of(row, child.first + child.count) - position,
			   rank_at(row, first + sender));
	}
	for (int i = 1; i < size_of(row, own); i++)
		add_parcel(handout, first + i, 1, handout->head);
	int end = first_of(row, own + handout->part.count);
	handout->bytes = before(handout, end) - before(handout, first);
}

static void
fini(struct handout *handout)
{
	free(handout->row.order);
	free(handout->before);
	free(handout->at);
	free(handout->parcels);
}

/* False: no memory, the builder knows. */
static bool
init(struct handout *handout, struct cs_builder *builder, const struct cs_cuts *cuts, int senders)
{
	const struct cs_problem *problem = builder->problem;
	size_t p = (size_t)problem->ranks;
	bool is_scatter = problem->coll == CS_SCATTER || problem->coll == CS_SCATTERV;
	*handout = (struct handout){ .builder = builder, .problem = problem, .cuts = cuts, .senders = senders,
				     .self = problem->rank, .memory = is_scatter ? CS_IN : CS_OUT,
				     .own = cs_problem_size(problem, problem->rank) };
	handout->parcels = malloc(p * sizeof *handout->parcels);
	if (!handout->parcels || !row_init(&handout->row, problem, senders) || !measure(handout)) {
		cs_build_no_memory(builder);
		fini(handout);
		return false;
	}
	find_part(handout);
	list_parcels(handout);
	return true;
}

/* --- where the blocks are ----------------------------------------------------------------------------------------- */

/* The first blocks from *position on that are one run in the program's memory: their bytes, 0 if there are no more. */
static size_t
next_run(const struct handout *handout, int *position, int end, size_t *at)
{
	size_t bytes = 0;
	for (; *position < end; ++*position) {
		int rank = rank_at(&handout->row, *position);
		size_t size = cs_problem_size(handout->problem, rank);
		if (bytes && size && at_of(handout, rank) != *at + bytes)
			break;
		*at = bytes ? *at : at_of(handout, rank);
		bytes += size;
	}
	return bytes;
}

static void
place_at_root(struct handout *handout, struct parcel *parcel)
{
	int position = parcel->position;
	size_t at = 0;
	parcel->is_packed = next_run(handout, &position, parcel->position + parcel->count, &at) < parcel->bytes;
	parcel->place = parcel->is_packed ? cs_build_tmp(handout->builder, parcel->bytes)
					  : (struct cs_place){ handout->memory, at };
}

/* Root: from the program's memory to the parcel's place, or back. */
static void
repack(struct handout *handout, const struct parcel *parcel, bool is_back)
{
	int position = parcel->position, end = position + parcel->count;
	size_t at = 0, done = 0;
	for (size_t bytes; parcel->is_packed && (bytes = next_run(handout, &position, end, &at)) != 0; done += bytes) {
		struct cs_place program = { handout->memory, at }, packed = cs_plus(parcel->place, done);
		cs_build_copy(handout->builder, is_back ? program : packed, is_back ? packed : program, bytes);
	}
}

/* Head: its part from `base` on. */
static struct cs_place
place_in(const struct handout *handout, const struct parcel *parcel, struct cs_place base)
{
	size_t first = before(handout, first_of(&handout->row, handout->part.first));
	return cs_plus(base, before(handout, parcel->position) - first);
}

/* --- messages ----------------------------------------------------------------------------------------------------- */

static int
peer_of(const struct handout *handout, const struct parcel *parcel)
{
	return parcel->by == handout->self ? parcel->to : parcel->by;
}

/* Does this rank, which is not the head, pass the parcel on? */
static bool
is_passed(const struct handout *handout, const struct parcel *parcel)
{
	return parcel->by == handout->self;
}

static void
scatter_from_root(struct handout *handout)
{
	struct cs_builder *builder = handout->builder;
	for (int i = 0; i < handout->parcel_count; i++) {
		struct parcel *parcel = &handout->parcels[i];
		place_at_root(handout, parcel);
		repack(handout, parcel, false);
		cs_build_send(builder, peer_of(handout, parcel), parcel->place, parcel->bytes);
	}
	if (!handout->problem->is_in_place)
		cs_build_copy(builder, cs_out(0), cs_in(at_of(handout, handout->self)), handout->own);
}

static void
scatter_from_head(struct handout *handout)
{
	struct cs_builder *builder = handout->builder;
	struct cs_place base = handout->bytes > handout->own ? cs_build_tmp(builder, handout->bytes) : cs_out(0);
	cs_build_wait(builder, cs_build_recv(builder, handout->outside, base, handout->bytes));
	builder->note++;
	for (int i = 0; i < handout->parcel_count; i++) {
		const struct parcel *parcel = &handout->parcels[i];
		cs_build_send(builder, peer_of(handout, parcel), place_in(handout, parcel, base), parcel->bytes);
	}
	cs_build_copy(builder, cs_out(0), base, handout->own);
}

static void
scatter_through(struct handout *handout)
{
	struct cs_builder *builder = handout->builder;
	for (int i = 0; i < handout->parcel_count; i++) {
		struct parcel *parcel = &handout->parcels[i];
		if (!is_passed(handout, parcel) && parcel->to != handout->self)
			continue;
		parcel->place = is_passed(handout, parcel) ? cs_build_tmp(builder, parcel->bytes) : cs_out(0);
		parcel->request = cs_build_recv(builder, handout->head, parcel->place, parcel->bytes);
	}
	for (int i = 0; i < handout->parcel_count; i++) {
		struct parcel *parcel = &handout->parcels[i];
		cs_build_wait(builder, parcel->request);
		if (is_passed(handout, parcel))
			cs_build_send(builder, parcel->to, parcel->place, parcel->bytes);
	}
}

/* Gather takes the parcels from the last to the first: small parts are there first. */

static void
gather_to_root(struct handout *handout)
{
	struct cs_builder *builder = handout->builder;
	for (int i = handout->parcel_count; i-- > 0;) {
		struct parcel *parcel = &handout->parcels[i];
		place_at_root(handout, parcel);
		parcel->request = cs_build_recv(builder, peer_of(handout, parcel), parcel->place, parcel->bytes);
	}
	cs_build_keep_own(builder);
	for (int i = handout->parcel_count; i-- > 0;) {
		cs_build_wait(builder, handout->parcels[i].request);
		repack(handout, &handout->parcels[i], true);
	}
}

static void
gather_to_head(struct handout *handout)
{
	struct cs_builder *builder = handout->builder;
	struct cs_place base = handout->bytes > handout->own ? cs_build_tmp(builder, handout->bytes) : cs_in(0);
	builder->note++;
	for (int i = handout->parcel_count; i-- > 0;) {
		const struct parcel *parcel = &handout->parcels[i];
		cs_build_recv(builder, peer_of(handout, parcel), place_in(handout, parcel, base), parcel->bytes);
	}
	cs_build_copy(builder, base, cs_in(0), handout->own);
	cs_build_wait_all(builder);
	builder->note--;
	cs_build_send(builder, handout->outside, base, handout->bytes);
}

static void
gather_through(struct handout *handout)
{
	struct cs_builder *builder = handout->builder;
	for (int i = handout->parcel_count; i-- > 0;) {
		struct parcel *parcel = &handout->parcels[i];
		if (!is_passed(handout, parcel))
			continue;
		parcel->place = cs_build_tmp(builder, parcel->bytes);
		parcel->request = cs_build_recv(builder, parcel->to, parcel->place, parcel->bytes);
	}
	cs_build_send(builder, handout->head, cs_in(0), handout->own);
	for (int i = handout->parcel_count; i-- > 0;) {
		struct parcel *parcel = &handout->parcels[i];
		if (!is_passed(handout, parcel))
			continue;
		cs_build_wait(builder, parcel->request);
		cs_build_send(builder, handout->head, parcel->place, parcel->bytes);
	}
}

struct roles {
	void (*root)(struct handout *handout);
	void (*head)(struct handout *handout);
	void (*other)(struct handout *handout);
};

/* note: messages of parts between the root and here. */
static void
play(const struct roles *roles, struct cs_builder *builder, const struct cs_cuts *cuts, int senders)
{
	struct handout handout;
	if (!init(&handout, builder, cuts, senders))
		return;
	bool is_root = handout.self == builder->problem->root, is_head = handout.self == handout.head;
	int depth = handout.part.depth;
	builder->note = (uint32_t)(is_head && !is_root ? depth - 1 : depth);
	(is_root ? roles->root : is_head ? roles->head : roles->other)(&handout);
	fini(&handout);
}

void
cs_handout_scatter(struct cs_builder *builder, const struct cs_cuts *cuts, int senders)
{
	static const struct roles roles = { scatter_from_root, scatter_from_head, scatter_through };
	play(&roles, builder, cuts, senders);
}

void
cs_handout_gather(struct cs_builder *builder, const struct cs_cuts *cuts, int senders)
{
	static const struct roles roles = { gather_to_root, gather_to_head, gather_through };
	play(&roles, builder, cuts, senders);
}
