/* world_host.c has the host's collectives of a world: each is a meeting of a group's ranks. A rank
 * waits for those whose data it needs and for no others, as MPI allows; all have to say the same of
 * root, sizes and operation, and to take the same form. */
#include "world_parts.h"

#include <stdlib.h>

enum kind { BARRIER, BCAST, ALLGATHERV, GATHERV, SCATTERV, ALLTOALLV, ALLREDUCE, REDUCE, EXSCAN,
	    REDUCE_SCATTER, MAX };

static const char *const names[] = { "barrier", "bcast", "allgatherv", "gatherv", "scatterv",
				     "alltoallv",
				     "allreduce", "reduce", "exscan", "reduce_scatter", "max" };

/* What one rank brings. Of what is no block for or from a rank, number 0 is all. */
struct guest {
	char *in, *out;
	size_t bytes[WORLD_MOST], at[WORLD_MOST], recv_bytes[WORLD_MOST], recv_at[WORLD_MOST];
	char *copy; /* of what it brings, from when it was first read; its blocks lie at: */
	size_t copy_at[WORLD_MOST];
	bool is_here;
};

struct meeting {
	struct meeting *next;
	enum kind kind;
	int group, members, here, left;
	uint64_t number;
	bool is_blocking;
	int root;
	size_t count; /* of elements */
	struct cs_reduction reduction;
	struct guest guests[WORLD_MOST];
};

static bool
is_reduction(enum kind kind)
{
	return kind >= ALLREDUCE && kind <= REDUCE_SCATTER;
}

/* Does the guest bring this block? */
static bool
brings(const struct meeting *meeting, int guest, int block)
{
	bool is_root = guest == meeting->root;
	switch (meeting->kind) {
	case BARRIER:
		return false;
	case BCAST:
		return is_root && block == 0;
	case ALLGATHERV:
		return block == guest;
	case GATHERV:
		return !is_root && block == guest;
	case SCATTERV:
		return is_root && block != guest;
	case ALLTOALLV:
		return true;
	default:
		return block == 0;
	}
}

/* A block that a guest gets: the one of that number that `from` brings. */
struct piece {
	char *to;
	size_t bytes;
	int from, block;
};

/* Of what is not added up. Returns how many. */
static int
pieces_of(const struct meeting *meeting, int self, struct piece *pieces)
{
	const struct guest *guest = &meeting->guests[self];
	bool is_root = self == meeting->root;
	int count = 0;
	for (int from = 0; from < meeting->members; from++) {
		bool is_from_root = from == meeting->root;
		if (meeting->kind == ALLTOALLV)
			pieces[count++] = (struct piece){ guest->out + guest->recv_at[from],
							  guest->recv_bytes[from], from, self };
		if (from == self)
			continue;
		if (meeting->kind == BCAST && is_from_root)
			pieces[count++] = (struct piece){ guest->out, guest->bytes[0], from, 0 };
		if (meeting->kind == ALLGATHERV || (meeting->kind == GATHERV && is_root))
			pieces[count++] = (struct piece){ guest->out + guest->at[from],
							  guest->bytes[from], from, from };
		if (meeting->kind == SCATTERV && is_from_root)
			pieces[count++] = (struct piece){ guest->out + guest->at[self],
							  guest->bytes[self], from, self };
	}
	return count;
}

/* What is still to come is something else until it has. */
static void
spoil_results(const struct meeting *meeting, int self)
{
	struct piece pieces[WORLD_MOST];
	const struct guest *guest = &meeting->guests[self];
	int count = pieces_of(meeting, self, pieces);
	for (int i = 0; i < count; i++)
		if (pieces[i].bytes)
			memset(pieces[i].to, 0xa5, pieces[i].bytes);
	if (meeting->kind == REDUCE && self == meeting->root)
		memset(guest->out, 0xa5, meeting->count * meeting->reduction.unit);
}

/* --- meeting ---------------------------------------------------------------------------------- */

static struct meeting *
meeting_of(struct seat *seat, const struct meeting *like)
{
	struct world *world = seat->world;
	struct meeting *meeting = world->meetings_under_way;
	uint64_t number = seat->meetings++;
	while (meeting && !(meeting->group == seat->group && meeting->number == number))
		meeting = meeting->next;
	if (!meeting) {
		meeting = calloc(1, sizeof *meeting);
		assert_non_null(meeting);
		*meeting = *like;
		meeting->next = world->meetings_under_way;
		meeting->group = seat->group;
		meeting->members = meeting->left = members_of(world, seat->group);
		meeting->number = number;
		world->meetings_under_way = meeting;
	}
	return meeting;
}

static void
agree(struct world *world, const struct meeting *meeting, const struct meeting *own, int rank)
{
	const struct cs_reduction *a = &meeting->reduction, *b = &own->reduction;
	const char *name = names[meeting->kind];
	if (own->kind != meeting->kind)
		world_fail(world, "rank %d of group %d makes a %s where others make a %s", rank,
			   meeting->group, names[own->kind], name);
	else if (own->root != meeting->root)
		world_fail(world, "rank %d of group %d has root %d in a %s, others %d", rank,
			   meeting->group, own->root, name, meeting->root);
	else if (own->count != meeting->count || a->unit != b->unit || a->kernel != b->kernel)
		world_fail(world, "rank %d of group %d has %zu elements in a %s, others %zu, or "
				  "another operation", rank,
			   meeting->group, own->count, name, meeting->count);
	else if (own->is_blocking != meeting->is_blocking)
		world_fail(world, "rank %d of group %d takes another form of %s than others", rank,
			   meeting->group, name);
}

static void
take_copy(const struct meeting *meeting, int self)
{
	struct guest *guest = (struct guest *)&meeting->guests[self];
	size_t bytes = 0;
	if (guest->copy)
		return;
	for (int block = 0; block < meeting->members; block++)
		if (brings(meeting, self, block)) {
			guest->copy_at[block] = bytes;
			bytes += guest->bytes[block];
		}
	guest->copy = malloc(bytes + 1);
	assert_non_null(guest->copy);
	for (int block = 0; block < meeting->members; block++)
		if (brings(meeting, self, block) && guest->bytes[block])
			memcpy(guest->copy + guest->copy_at[block], guest->in + guest->at[block],
			       guest->bytes[block]);
}

/* Is all there that this guest needs? */
static bool
is_ready(const struct meeting *meeting, int self)
{
	const struct guest *root = &meeting->guests[meeting->root];
	if (meeting->kind == BCAST || meeting->kind == SCATTERV)
		return root->is_here;
	if (meeting->kind == GATHERV || meeting->kind == REDUCE)
		return self != meeting->root || meeting->here == meeting->members;
	for (int before = 0; meeting->kind == EXSCAN && before < self; before++)
		if (!meeting->guests[before].is_here)
			return false;
	return meeting->kind == EXSCAN || meeting->here == meeting->members;
}

/* Sum of the first `guests` ones' vectors, in order. */
static void
add_up(const struct meeting *meeting, int guests, char *sum)
{
	memcpy(sum, meeting->guests[guests - 1].copy, meeting->count * meeting->reduction.unit);
	for (int i = guests - 2; i >= 0; i--)
		meeting->reduction.kernel(sum, meeting->guests[i].copy, sum, meeting->count);
}

static void
deliver_sum(const struct meeting *meeting, int self)
{
	const struct guest *guest = &meeting->guests[self];
	size_t unit = meeting->reduction.unit, first = 0, count = meeting->count;
	int guests = meeting->kind == EXSCAN ? self : meeting->members;
	if (!guests || !count || (meeting->kind == REDUCE && self != meeting->root))
		return;
	char *sum = malloc(count * unit);
	assert_non_null(sum);
	add_up(meeting, guests, sum);
	if (meeting->kind == REDUCE_SCATTER) {
		count = guest->recv_bytes[self];
		for (int before = 0; before < self; before++)
			first += guest->recv_bytes[before];
	}
	memcpy(guest->out, sum + first * unit, count * unit);
	free(sum);
}

static void
deliver_max(const struct meeting *meeting, int self)
{
	for (size_t at = 0; at < meeting->count; at++) {
		uint64_t most = 0, value;
		for (int i = 0; i < meeting->members; i++) {
			memcpy(&value, meeting->guests[i].copy + at * sizeof value, sizeof value);
			most = value > most ? value : most;
		}
		memcpy(meeting->guests[self].out + at * sizeof most, &most, sizeof most);
	}
}

static void
deliver_blocks(struct world *world, const struct meeting *meeting, int self)
{
	struct piece pieces[WORLD_MOST];
	int count = pieces_of(meeting, self, pieces);
	for (int i = 0; i < count; i++) {
		const struct piece *piece = &pieces[i];
		const struct guest *from = &meeting->guests[piece->from];
		size_t bytes = from->bytes[piece->block];
		if (bytes != piece->bytes)
			world_fail(world, "in a %s of group %d rank %d sends %zu bytes and rank %d "
					  "expects %zu",
				   names[meeting->kind], meeting->group, piece->from, bytes, self,
				   piece->bytes);
		bytes = bytes < piece->bytes ? bytes : piece->bytes;
		if (bytes)
			memcpy(piece->to, from->copy + from->copy_at[piece->block], bytes);
	}
}

/* What it has brought stays as it is until it is over. (In place, results may have come.) */
static void
check_input(struct world *world, const struct meeting *meeting, int self)
{
	const struct guest *guest = &meeting->guests[self];
	for (int block = 0; guest->in != guest->out && block < meeting->members; block++)
		if (brings(meeting, self, block) && guest->bytes[block] &&
		    memcmp(guest->copy + guest->copy_at[block], guest->in + guest->at[block],
			   guest->bytes[block]))
			world_fail(world, "in a %s of group %d the input of rank %d has changed",
				   names[meeting->kind], meeting->group, self);
}

static void
drop_meeting(struct meeting **at)
{
	struct meeting *gone = *at;
	*at = gone->next;
	for (int i = 0; i < gone->members; i++)
		free(gone->guests[i].copy);
	free(gone);
}

/* The guest's part is over, if it may be; chance says when. */
static bool
try_end(struct world *world, struct meeting *meeting, int self)
{
	if (*world->failure || !is_ready(meeting, self) || random_below(&world->random, 3) == 0)
		return false;
	for (int i = 0; i < meeting->members; i++)
		if (meeting->guests[i].is_here)
			take_copy(meeting, i);
	check_input(world, meeting, self);
	world->is_moving = true;
	if (is_reduction(meeting->kind))
		deliver_sum(meeting, self);
	else if (meeting->kind == MAX)
		deliver_max(meeting, self);
	else
		deliver_blocks(world, meeting, self);
	world->is_moving = false;
	world->moves++;
	if (--meeting->left)
		return true;
	struct meeting **at = &world->meetings_under_way;
	while (*at != meeting)
		at = &(*at)->next;
	drop_meeting(at);
	return true;
}

static unsigned
meet(struct seat *seat, struct meeting like, struct guest guest, struct cs_request *request)
{
	struct world *world = seat->world;
	like.is_blocking = !request;
	struct meeting *meeting = meeting_of(seat, &like);
	agree(world, meeting, &like, seat->rank);
	guest.is_here = true;
	meeting->guests[seat->rank] = guest;
	meeting->here++;
	if (request) {
		request->own[0] = (uint64_t)(uintptr_t)meeting;
		request->own[1] = (uint64_t)(uintptr_t)seat;
	}
	/* What they have brought may be for different collectives: nothing is read or written. */
	if (*world->failure) {
		if (!request)
			world_wait(world);
		return 0;
	}
	spoil_results(meeting, seat->rank);
	while (!request && !try_end(world, meeting, seat->rank))
		world_wait(world);
	return 0;
}

static bool
test(struct cs_request *request)
{
	struct seat *seat = (struct seat *)(uintptr_t)request->own[1];
	request->told = 0;
	return try_end(seat->world, (struct meeting *)(uintptr_t)request->own[0], seat->rank);
}

/* --- the functions ---------------------------------------------------------------------------- */

static struct guest
guest_with(const struct seat *seat, void *in, void *out, const size_t *bytes, const size_t *at)
{
	struct guest guest = { .in = (char *)in, .out = out };
	int members = members_of(seat->world, seat->group);
	for (int i = 0; i < members; i++) {
		guest.bytes[i] = bytes ? bytes[i] : 0;
		guest.at[i] = at ? at[i] : 0;
	}
	return guest;
}

static unsigned
barrier(void *group, struct cs_request *request)
{
	return meet(group, (struct meeting){ .kind = BARRIER }, (struct guest){ 0 }, request);
}

static unsigned
bcast(void *group, void *buffer, size_t bytes, int root, struct cs_request *request)
{
	struct guest guest = { .in = buffer, .out = buffer, .bytes = { bytes } };
	return meet(group, (struct meeting){ .kind = BCAST, .root = root }, guest, request);
}

static unsigned
allgatherv(void *group, void *buffer, const size_t *bytes, const size_t *at,
	   struct cs_request *request)
{
	return meet(group, (struct meeting){ .kind = ALLGATHERV },
		    guest_with(group, buffer, buffer, bytes, at), request);
}

static unsigned
gatherv(void *group, void *buffer, const size_t *bytes, const size_t *at, int root,
	struct cs_request *request)
{
	struct guest guest = guest_with(group, buffer, buffer, bytes, at);
	return meet(group, (struct meeting){ .kind = GATHERV, .root = root }, guest, request);
}

static unsigned
scatterv(void *group, void *buffer, const size_t *bytes, const size_t *at, int root,
	 struct cs_request *request)
{
	struct guest guest = guest_with(group, buffer, buffer, bytes, at);
	return meet(group, (struct meeting){ .kind = SCATTERV, .root = root }, guest, request);
}

static unsigned
alltoallv(void *group, const void *in, const size_t *send_bytes, const size_t *send_at, void *recv,
	  const size_t *recv_bytes, const size_t *recv_at, struct cs_request *request)
{
	struct seat *seat = group;
	struct guest guest = guest_with(seat, (void *)(uintptr_t)in, recv, send_bytes, send_at);
	memcpy(guest.recv_bytes, recv_bytes,
	       (size_t)members_of(seat->world, seat->group) * sizeof *recv_bytes);
	memcpy(guest.recv_at, recv_at, (size_t)members_of(seat->world, seat->group) *
	       sizeof *recv_at);
	return meet(seat, (struct meeting){ .kind = ALLTOALLV }, guest, request);
}

static struct meeting
sum_like(enum kind kind, size_t count, const struct cs_reduction *reduction, int root)
{
	return (struct meeting){ .kind = kind, .count = count, .reduction = *reduction,
				 .root = root };
}

static unsigned
allreduce(void *group, void *buffer, size_t count, const struct cs_reduction *reduction,
	  struct cs_request *request)
{
	struct guest guest = { .in = buffer, .out = buffer, .bytes = { count * reduction->unit } };
	return meet(group, sum_like(ALLREDUCE, count, reduction, 0), guest, request);
}

static unsigned
reduce(void *group, const void *in, void *out, size_t count, const struct cs_reduction *reduction,
       int root, struct cs_request *request)
{
	struct guest guest = { .in = (char *)(uintptr_t)in, .out = out,
			       .bytes = { count * reduction->unit } };
	return meet(group, sum_like(REDUCE, count, reduction, root), guest, request);
}

static unsigned
exscan(void *group, void *buffer, size_t count, const struct cs_reduction *reduction,
       struct cs_request *request)
{
	struct guest guest = { .in = buffer, .out = buffer, .bytes = { count * reduction->unit } };
	return meet(group, sum_like(EXSCAN, count, reduction, 0), guest, request);
}

static unsigned
reduce_scatter(void *group, const void *in, void *out, const size_t *counts,
	       const struct cs_reduction *reduction, struct cs_request *request)
{
	struct seat *seat = group;
	struct guest guest = { .in = (char *)in, .out = out };
	size_t count = 0;
	for (int i = 0; i < members_of(seat->world, seat->group); i++)
		count += guest.recv_bytes[i] = counts[i];
	guest.bytes[0] = count * reduction->unit;
	return meet(seat, sum_like(REDUCE_SCATTER, count, reduction, 0), guest, request);
}

static unsigned
max(void *group, uint64_t *values, size_t count, struct cs_request *request)
{
	struct guest guest = { .in = (char *)values, .out = (char *)values,
			       .bytes = { count * sizeof *values } };
	return meet(group, (struct meeting){ .kind = MAX, .count = count }, guest, request);
}

/* All have to ask for as many. */
static void
make_lanes(void *everyone, int lanes)
{
	struct seat *seat = everyone;
	struct world *world = seat->world;
	struct cs_team *team = &world->teams[seat->rank];
	meet(seat, (struct meeting){ .kind = BARRIER, .root = lanes }, (struct guest){ 0 }, NULL);
	if (world->refuses_lanes) {
		team->most_lanes = team->lanes;
		return;
	}
	world->lanes_made++;
	team->lanes = lanes;
	if (team->lane < lanes)
		team->leaders = &world->leaders[seat->rank];
}

static struct cs_wire *
wire_of(void *group)
{
	return &((struct seat *)group)->wire;
}

void (*world_progress)(void);

static void
progress(void)
{
	if (world_progress)
		world_progress();
}

jmp_buf *world_after_end;

static void __attribute__((noreturn))
end(const char *why)
{
	if (world_after_end)
		longjmp(*world_after_end, 1);
	fail_msg("the job ended: %s", why);
	abort();
}

const struct cs_host world_host = { .progress = progress, .abort = end, .wire = wire_of,
				    .make_lanes = make_lanes,
				    .messages = wire_of, .window = world_window_of,
				    .barrier = barrier, .bcast = bcast, .allgatherv = allgatherv,
				    .gatherv = gatherv, .scatterv = scatterv,
				    .alltoallv = alltoallv, .allreduce = allreduce,
				    .reduce = reduce, .exscan = exscan,
				    .reduce_scatter = reduce_scatter, .max = max, .test = test };

int
world_meetings(const struct world *world, bool says)
{
	int count = 0;
	for (const struct meeting *m = world->meetings_under_way; m; m = m->next, count++)
		if (says)
			print_error("group %d: %s, %d of %d here\n", m->group, names[m->kind],
				    m->here, m->members);
	return count;
}

void
world_drop_meetings(struct world *world)
{
	while (world->meetings_under_way)
		drop_meeting(&world->meetings_under_way);
}
