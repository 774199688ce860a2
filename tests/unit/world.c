/* world.c makes the nodes of virtual ranks, and is the MPI between them. */
#include "world.h"

#include <stdlib.h>

jmp_buf *world_after_end;

static void __attribute__((noreturn))
end(const char *why)
{
	if (world_after_end)
		longjmp(*world_after_end, 1);
	fail_msg("the job ended: %s", why);
	abort();
}

/* --- messages --------------------------------------------------------------------------------------------------------- */

struct message {
	struct message *next;
	bool is_sent, is_direct; /* or it is a receive that was posted */
	int group, from, to;
	uint64_t tag;
	struct cs_request *request; /* of a receive */
	char *data;                 /* of a send: a copy; of a receive: where it goes */
	size_t bytes;
	_Atomic uint64_t *flag;
	uint64_t value;
};

static struct seat *
seat_of(struct cs_wire *wire)
{
	return (struct seat *)(void *)((char *)wire - offsetof(struct seat, wire));
}

static void
post(struct seat *seat, struct message message)
{
	struct message *new = malloc(sizeof *new), **end = &seat->world->messages;
	assert_non_null(new);
	*new = message;
	new->group = seat->group;
	while (*end)
		end = &(*end)->next;
	*end = new;
}

static struct message
sending(struct seat *seat, int peer, uint64_t tag, const void *from, size_t bytes, bool is_direct)
{
	char *copy = malloc(bytes + 1);
	assert_non_null(copy);
	memcpy(copy, from, bytes);
	return (struct message){ .is_sent = true, .is_direct = is_direct, .from = seat->rank, .to = peer, .tag = tag,
				 .data = copy, .bytes = bytes };
}

static void
send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from, size_t bytes)
{
	request->own[0] = 0;
	post(seat_of(wire), sending(seat_of(wire), peer, tag, bytes ? from : "", bytes, false));
}

static void
send_direct(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from, size_t bytes)
{
	request->own[0] = 0;
	post(seat_of(wire), sending(seat_of(wire), peer, tag, bytes ? from : "", bytes, true));
}

static void
receive(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to, size_t bytes)
{
	request->own[0] = 1;
	post(seat_of(wire), (struct message){ .from = peer, .to = seat_of(wire)->rank, .tag = tag, .request = request,
					      .data = to, .bytes = bytes });
}

static void
receive_direct(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to, size_t bytes,
	       _Atomic uint64_t *flag, uint64_t value)
{
	request->own[0] = 1;
	post(seat_of(wire), (struct message){ .is_direct = true, .from = peer, .to = seat_of(wire)->rank, .tag = tag,
					      .request = request, .data = to, .bytes = bytes, .flag = flag, .value = value });
}

static bool
is_alike(const struct message *a, const struct message *b)
{
	return a->group == b->group && a->from == b->from && a->to == b->to && a->is_direct == b->is_direct && a->tag == b->tag;
}

/* Of the messages of that kind the one that was posted as the k-th. */
static struct message **
find_alike(struct world *world, const struct message *like, bool is_sent, int k)
{
	struct message **at = &world->messages;
	for (; *at; at = &(*at)->next)
		if ((*at)->is_sent == is_sent && is_alike(*at, like) && k-- == 0)
			break;
	return at;
}

static void
unlink_message(struct message **at)
{
	struct message *gone = *at;
	*at = gone->next;
	if (gone->is_sent)
		free(gone->data);
	free(gone);
}

/* The k-th receive of a kind matches the k-th message, whichever is asked for first; chance says when. */
static bool
test(struct cs_wire *wire, struct cs_request *request)
{
	struct world *world = seat_of(wire)->world;
	if (random_below(&world->random, 3) == 0)
		return false;
	request->told = 0;
	if (!request->own[0])
		return true;
	struct message **at = &world->messages;
	while (*at && (*at)->request != request)
		at = &(*at)->next;
	assert_non_null(*at);
	struct message like = **at;
	int before = 0;
	while (*find_alike(world, &like, false, before) != *at)
		before++;
	struct message *sent = *find_alike(world, &like, true, before);
	if (!sent)
		return false;
	size_t bytes = sent->bytes < like.bytes ? sent->bytes : like.bytes;
	request->told = sent->bytes > like.bytes ? CS_TOLD_MORE : sent->bytes < like.bytes ? CS_TOLD_LESS : 0;
	memcpy(like.data, sent->data, bytes);
	if (like.flag)
		atomic_store(like.flag, like.value);
	unlink_message(at);
	unlink_message(find_alike(world, &like, true, before));
	return true;
}

/* --- multicast: of a piece for each rank chance says whether it is lost, comes once or twice, and when ----------------------- */

#define PIECE 96 /* bytes: long calls have several windows */

struct datagram {
	struct datagram *next;
	int to;
	uint32_t broadcast, piece;
	uint64_t total;
	size_t bytes;
	char data[PIECE];
};

static struct seat *
seat_with(struct cs_cast *cast)
{
	return (struct seat *)(void *)((char *)cast - offsetof(struct seat, cast));
}

static bool
cast_piece(struct cs_cast *cast, uint32_t broadcast, uint32_t piece, const char *data, uint64_t total)
{
	struct seat *seat = seat_with(cast);
	struct world *world = seat->world;
	if (random_below(&world->random, 4) == 0)
		return false;
	for (int to = 0; to < world->ranks; to++)
		for (uint64_t times = random_below(&world->random, 4) % 3; to != seat->rank && times; times--) {
			struct datagram *new = malloc(sizeof *new), **end = &world->datagrams;
			size_t at = (size_t)piece * PIECE, left = (size_t)total - at;
			assert_non_null(new);
			*new = (struct datagram){ .to = to, .broadcast = broadcast, .piece = piece, .total = total,
						  .bytes = left < PIECE ? left : PIECE };
			memcpy(new->data, data + at, new->bytes);
			while (*end)
				end = &(*end)->next;
			*end = new;
		}
	return true;
}

static bool
take_piece(struct cs_cast *cast, uint32_t broadcast, struct cs_cast_piece *piece)
{
	struct seat *seat = seat_with(cast);
	struct world *world = seat->world;
	free(seat->looked_at);
	seat->looked_at = NULL;
	for (struct datagram **at = &world->datagrams, *found; (found = *at);) {
		if (found->to != seat->rank || found->broadcast > broadcast || random_below(&world->random, 3) == 0) {
			at = &found->next;
			continue;
		}
		*at = found->next;
		seat->looked_at = found;
		if (found->broadcast == broadcast)
			break;
		free(found);
		seat->looked_at = NULL;
	}
	if (seat->looked_at)
		*piece = (struct cs_cast_piece){ .piece = seat->looked_at->piece, .total = seat->looked_at->total,
						 .data = seat->looked_at->data, .bytes = seat->looked_at->bytes };
	return seat->looked_at != NULL;
}

static void
count_resent(struct cs_cast *cast, uint32_t pieces)
{
	(void)cast, (void)pieces;
}

static struct cs_cast *
cast_of(struct cs_wire *wire, uint64_t tag)
{
	(void)tag;
	return &seat_of(wire)->cast;
}

static struct cs_wire *
wire_of(void *group)
{
	return &((struct seat *)group)->wire;
}

/* --- collectives: a meeting of a group's ranks, whose data the last one moves ----------------------------------------------- */

enum kind { BARRIER, BCAST, ALLGATHERV, GATHERV, SCATTERV, ALLTOALLV, ALLREDUCE, REDUCE, EXSCAN, REDUCE_SCATTER, MAX };

struct guest {
	char *in, *out;
	size_t bytes[WORLD_MOST], at[WORLD_MOST], recv_bytes[WORLD_MOST], recv_at[WORLD_MOST];
	struct cs_request *request;
	bool is_here;
};

struct meeting {
	struct meeting *next;
	enum kind kind;
	int group, members, here, left;
	uint64_t number;
	int root;
	size_t count;
	struct cs_reduction reduction;
	bool is_over;
	struct guest guests[WORLD_MOST];
};

static int
members_of(const struct world *world, int group)
{
	return group ? world->nodes : world->ranks;
}

static struct meeting *
meet(struct seat *seat, enum kind kind, struct cs_request *request, struct guest guest)
{
	struct world *world = seat->world;
	struct meeting *meeting = world->meetings_under_way;
	if (!request)
		fail_msg("a collective between leaders would wait");
	uint64_t number = seat->meetings++;
	while (meeting && !(meeting->group == seat->group && meeting->number == number))
		meeting = meeting->next;
	if (!meeting) {
		meeting = calloc(1, sizeof *meeting);
		assert_non_null(meeting);
		*meeting = (struct meeting){ .next = world->meetings_under_way, .kind = kind, .group = seat->group,
					     .members = members_of(world, seat->group), .number = number };
		meeting->left = meeting->members;
		world->meetings_under_way = meeting;
	}
	if (meeting->kind != kind)
		end("two collectives meet each other");
	guest.request = request;
	guest.is_here = true;
	meeting->guests[seat->rank] = guest;
	meeting->here++;
	request->own[0] = (uint64_t)(uintptr_t)meeting;
	request->own[1] = (uint64_t)(uintptr_t)world;
	return meeting;
}

static struct guest
guest_with(const struct seat *seat, void *in, void *out, const size_t *bytes, const size_t *at)
{
	struct guest guest = { .in = in, .out = out };
	int members = members_of(seat->world, seat->group);
	for (int i = 0; i < members; i++) {
		guest.bytes[i] = bytes ? bytes[i] : 0;
		guest.at[i] = at ? at[i] : 0;
	}
	return guest;
}

static void
copy(char *to, const char *from, size_t bytes)
{
	if (bytes)
		memmove(to, from, bytes);
}

/* sum of the first `count` guests' vectors, in order. */
static char *
sum_of(const struct meeting *meeting, int guests)
{
	size_t bytes = meeting->count * meeting->reduction.unit;
	char *sum = malloc(bytes + 1);
	assert_non_null(sum);
	copy(sum, meeting->guests[guests - 1].in, bytes);
	for (int i = guests - 2; i >= 0; i--)
		meeting->reduction.kernel(sum, meeting->guests[i].in, sum, meeting->count);
	return sum;
}

static void
reduce_all(struct meeting *meeting)
{
	char *sums[WORLD_MOST];
	size_t unit = meeting->reduction.unit, before = 0;
	bool is_scan = meeting->kind == EXSCAN;
	for (int i = 0; i < meeting->members; i++)
		sums[i] = is_scan && i ? sum_of(meeting, i) : is_scan ? NULL : sum_of(meeting, meeting->members);
	for (int i = 0; i < meeting->members; i++) {
		const struct guest *guest = &meeting->guests[i];
		size_t count = meeting->count, at = 0;
		if (meeting->kind == REDUCE_SCATTER) {
			count = guest->bytes[i];
			at = before;
			before += count;
		}
		if (sums[i] && (meeting->kind != REDUCE || i == meeting->root))
			copy(guest->out, sums[i] + at * unit, count * unit);
		free(sums[i]);
	}
}

static void
move_blocks(struct meeting *meeting)
{
	for (int to = 0; to < meeting->members; to++) {
		struct guest *receiver = &meeting->guests[to];
		for (int from = 0; from < meeting->members; from++) {
			struct guest *sender = &meeting->guests[from];
			bool is_self = to == from;
			if (meeting->kind == BCAST && from == meeting->root && !is_self)
				copy(receiver->out, sender->out, sender->bytes[0]);
			if (meeting->kind == ALLGATHERV && !is_self)
				copy(receiver->out + receiver->at[from], sender->out + sender->at[from], sender->bytes[from]);
			if (meeting->kind == GATHERV && to == meeting->root && !is_self)
				copy(receiver->out + receiver->at[from], sender->out + sender->at[from], sender->bytes[from]);
			if (meeting->kind == SCATTERV && from == meeting->root && !is_self)
				copy(receiver->out + receiver->at[to], sender->out + sender->at[to], sender->bytes[to]);
			if (meeting->kind == ALLTOALLV)
				copy(receiver->out + receiver->recv_at[from], sender->in + sender->at[to], sender->bytes[to]);
		}
	}
}

bool world_is_moving;

static void
move(struct meeting *meeting)
{
	uint64_t most = 0;
	world_is_moving = true;
	if (meeting->kind >= ALLREDUCE && meeting->kind <= REDUCE_SCATTER)
		reduce_all(meeting);
	else
		move_blocks(meeting);
	for (int i = 0; meeting->kind == MAX && i < meeting->members; i++)
		most = *(uint64_t *)(void *)meeting->guests[i].out > most ? *(uint64_t *)(void *)meeting->guests[i].out : most;
	for (int i = 0; meeting->kind == MAX && i < meeting->members; i++)
		*(uint64_t *)(void *)meeting->guests[i].out = most;
	meeting->is_over = true;
	world_is_moving = false;
}

static bool
test_meeting(struct cs_request *request)
{
	struct meeting *meeting = (struct meeting *)(uintptr_t)request->own[0];
	struct world *world = (struct world *)(uintptr_t)request->own[1];
	if (meeting->here < meeting->members || random_below(&world->random, 3) == 0)
		return false;
	if (!meeting->is_over)
		move(meeting);
	request->told = 0;
	if (--meeting->left)
		return true;
	struct meeting **at = &world->meetings_under_way;
	while (*at != meeting)
		at = &(*at)->next;
	*at = meeting->next;
	free(meeting);
	return true;
}

static unsigned
barrier(void *group, struct cs_request *request)
{
	struct seat *seat = group;
	meet(seat, BARRIER, request, guest_with(seat, NULL, NULL, NULL, NULL));
	return 0;
}

static unsigned
bcast(void *group, void *buffer, size_t bytes, int root, struct cs_request *request)
{
	struct seat *seat = group;
	struct guest guest = guest_with(seat, buffer, buffer, NULL, NULL);
	guest.bytes[0] = bytes;
	meet(seat, BCAST, request, guest)->root = root;
	return 0;
}

static unsigned
allgatherv(void *group, void *buffer, const size_t *bytes, const size_t *at, struct cs_request *request)
{
	struct seat *seat = group;
	meet(seat, ALLGATHERV, request, guest_with(seat, buffer, buffer, bytes, at));
	return 0;
}

static unsigned
gatherv(void *group, void *buffer, const size_t *bytes, const size_t *at, int root, struct cs_request *request)
{
	struct seat *seat = group;
	meet(seat, GATHERV, request, guest_with(seat, buffer, buffer, bytes, at))->root = root;
	return 0;
}

static unsigned
scatterv(void *group, void *buffer, const size_t *bytes, const size_t *at, int root, struct cs_request *request)
{
	struct seat *seat = group;
	meet(seat, SCATTERV, request, guest_with(seat, buffer, buffer, bytes, at))->root = root;
	return 0;
}

static unsigned
alltoallv(void *group, const void *in, const size_t *send_bytes, const size_t *send_at, void *recv, const size_t *recv_bytes,
	  const size_t *recv_at, struct cs_request *request)
{
	struct seat *seat = group;
	struct guest guest = guest_with(seat, (void *)(uintptr_t)in, recv, send_bytes, send_at);
	memcpy(guest.recv_bytes, recv_bytes, (size_t)members_of(seat->world, seat->group) * sizeof *recv_bytes);
	memcpy(guest.recv_at, recv_at, (size_t)members_of(seat->world, seat->group) * sizeof *recv_at);
	meet(seat, ALLTOALLV, request, guest);
	return 0;
}

static void
meet_to_reduce(struct seat *seat, enum kind kind, struct cs_request *request, struct guest guest, size_t count,
	       const struct cs_reduction *reduction, int root)
{
	struct meeting *meeting = meet(seat, kind, request, guest);
	meeting->count = count;
	meeting->reduction = *reduction;
	meeting->root = root;
}

static unsigned
allreduce(void *group, void *buffer, size_t count, const struct cs_reduction *reduction, struct cs_request *request)
{
	struct seat *seat = group;
	meet_to_reduce(seat, ALLREDUCE, request, guest_with(seat, buffer, buffer, NULL, NULL), count, reduction, 0);
	return 0;
}

static unsigned
reduce(void *group, const void *in, void *out, size_t count, const struct cs_reduction *reduction, int root,
       struct cs_request *request)
{
	struct seat *seat = group;
	meet_to_reduce(seat, REDUCE, request, guest_with(seat, (void *)(uintptr_t)in, out, NULL, NULL), count, reduction, root);
	return 0;
}

static unsigned
exscan(void *group, void *buffer, size_t count, const struct cs_reduction *reduction, struct cs_request *request)
{
	struct seat *seat = group;
	meet_to_reduce(seat, EXSCAN, request, guest_with(seat, buffer, buffer, NULL, NULL), count, reduction, 0);
	return 0;
}

static unsigned
reduce_scatter(void *group, void *buffer, const size_t *counts, const struct cs_reduction *reduction, struct cs_request *request)
{
	struct seat *seat = group;
	size_t count = 0;
	for (int i = 0; i < members_of(seat->world, seat->group); i++)
		count += counts[i];
	meet_to_reduce(seat, REDUCE_SCATTER, request, guest_with(seat, buffer, buffer, counts, NULL), count, reduction, 0);
	return 0;
}

static unsigned
max(void *group, uint64_t *value, struct cs_request *request)
{
	struct seat *seat = group;
	meet(seat, MAX, request, guest_with(seat, value, value, NULL, NULL));
	return 0;
}

static void
progress(void)
{
}

static const struct cs_host host = { .progress = progress, .abort = end, .wire = wire_of, .barrier = barrier, .bcast = bcast,
				     .allgatherv = allgatherv, .gatherv = gatherv, .scatterv = scatterv, .alltoallv = alltoallv,
				     .allreduce = allreduce, .reduce = reduce, .exscan = exscan,
				     .reduce_scatter = reduce_scatter, .max = max, .test = test_meeting };

/* --- nodes ------------------------------------------------------------------------------------------------------------ */

static void
take_seat(struct world *world, struct seat *seat, int group, int rank)
{
	*seat = (struct seat){ .world = world, .group = group, .rank = rank };
	seat->wire = (struct cs_wire){ .rank = rank, .ranks = members_of(world, group), .send = send, .recv = receive,
				       .send_direct = send_direct, .recv_direct = receive_direct, .test = test,
				       .cast = cast_of };
	seat->cast = (struct cs_cast){ .room = PIECE, .send = cast_piece, .take = take_piece, .resent = count_resent };
}

static void
place_ranks(struct world *world, const int *sizes, bool cyclic)
{
	int left[WORLD_MOST] = { 0 }, used[WORLD_MOST] = { 0 };
	world->nodes = world->ranks = 0;
	for (; sizes[world->nodes]; world->nodes++)
		world->ranks += left[world->nodes] = sizes[world->nodes];
	assert_in_range(world->ranks, 1, WORLD_MOST);
	for (int rank = 0, node = 0; rank < world->ranks; rank++) {
		while (!left[node])
			node = (node + 1) % world->nodes;
		world->node_of[rank] = node;
		world->local_of[rank] = used[node]++;
		left[node]--;
		node = cyclic ? (node + 1) % world->nodes : node;
	}
	world->is_block_placed = true;
	int next = 0;
	for (int node = 0; node < world->nodes; node++) {
		world->first[node] = next;
		for (int rank = 0; rank < world->ranks; rank++)
			if (world->node_of[rank] == node) {
				world->order[next] = rank;
				world->position[rank] = next++;
			}
	}
	world->first[world->nodes] = next;
	for (int rank = 0; rank < world->ranks; rank++)
		world->is_block_placed = world->is_block_placed && world->order[rank] == rank;
}

static struct cs_shape
shape_of(struct world *world, const int *sizes, int rank)
{
	struct cs_shape shape = { .rank = rank, .ranks = world->ranks, .nodes = world->nodes, .node = world->node_of[rank],
				  .local = world->local_of[rank], .locals = sizes[world->node_of[rank]],
				  .ppn_min = WORLD_MOST, .is_block_placed = world->is_block_placed,
				  .node_of = world->node_of, .local_of = world->local_of, .first = world->first,
				  .order = world->order, .position = world->position };
	for (int node = 0; node < world->nodes; node++) {
		shape.ppn_min = sizes[node] < shape.ppn_min ? sizes[node] : shape.ppn_min;
		shape.ppn_max = sizes[node] > shape.ppn_max ? sizes[node] : shape.ppn_max;
	}
	return shape;
}

static void
make_team(struct world *world, const int *sizes, int rank, const struct cs_node_shape *like)
{
	struct cs_team *team = &world->teams[rank];
	int node = world->node_of[rank];
	struct cs_node_shape own = *like;
	own.local = world->local_of[rank];
	own.size = sizes[node];
	own.area_slots = world->nodes > 1 ? own.area_slots : 0;
	size_t bytes = cs_node_bytes(&own);
	if (!world->memory[node]) {
		world->memory[node] = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
		assert_non_null(world->memory[node]);
		memset(world->memory[node], 0, bytes);
	}
	struct cs_segment segment = { .bytes = bytes, .fd = -1, .base = world->memory[node] };
	team->shape = shape_of(world, sizes, rank);
	cs_node_init(&team->node, &own, &segment, &host);
	cs_node_arm(&team->node);
	team->node.nodes = world->nodes;
	team->host = &host;
	team->lanes = world->lanes;
	team->domains = 1;
	team->lane = CS_LANES;
	for (int lane = 0; lane < world->lanes; lane++) {
		team->lane_local[lane] = cs_lanes_local(lane, node, world->lanes);
		if (team->lane_local[lane] == own.local)
			team->lane = lane;
	}
	take_seat(world, &world->everyone[rank], 0, rank);
	team->everyone = &world->everyone[rank];
	if (world->nodes > 1 && team->lane < CS_LANES) {
		take_seat(world, &world->leaders[rank], 1 + team->lane, node);
		team->leaders = &world->leaders[rank];
	}
	team->idle = &world->idle[rank];
}

void
world_make(struct world *world, const int *sizes, bool cyclic, int lanes, const struct cs_node_shape *shape, uint64_t seed)
{
	memset(world, 0, sizeof *world);
	world->random = seed;
	place_ranks(world, sizes, cyclic);
	world->lanes = lanes;
	for (int node = 0; node < world->nodes; node++)
		world->lanes = sizes[node] < world->lanes ? sizes[node] : world->lanes;
	world->teams = calloc((size_t)world->ranks, sizeof *world->teams);
	assert_non_null(world->teams);
	for (int rank = 0; rank < world->ranks; rank++)
		make_team(world, sizes, rank, shape);
}

void
world_say(const struct world *world)
{
	for (const struct message *m = world->messages; m; m = m->next)
		print_error("group %d: %s from %d to %d, tag %llu, %zu bytes\n", m->group, m->is_sent ? "sent" : "awaited", m->from,
			    m->to, (unsigned long long)m->tag, m->bytes);
	for (const struct meeting *m = world->meetings_under_way; m; m = m->next)
		print_error("group %d: collective %d, %d of %d here\n", m->group, m->kind, m->here, m->members);
}

int
world_left(const struct world *world)
{
	int left = 0;
	for (const struct message *message = world->messages; message; message = message->next)
		left++;
	for (const struct meeting *meeting = world->meetings_under_way; meeting; meeting = meeting->next)
		left++;
	return left;
}

void
world_clear(struct world *world)
{
	while (world->messages)
		unlink_message(&world->messages);
	while (world->meetings_under_way) {
		struct meeting *gone = world->meetings_under_way;
		world->meetings_under_way = gone->next;
		free(gone);
	}
	while (world->datagrams) {
		struct datagram *gone = world->datagrams;
		world->datagrams = gone->next;
		free(gone);
	}
	for (int rank = 0; rank < world->ranks; rank++) {
		free(world->everyone[rank].looked_at);
		cs_plans_fini(&world->teams[rank].lane_plans);
		cs_plans_fini(&world->teams[rank].flat_plans);
		cs_op_memory_free(&world->idle[rank]);
	}
	for (int node = 0; node < world->nodes; node++)
		free(world->memory[node]);
	free(world->teams);
}
