/* Broadcast by multicast over the fake fabric: several ranks of the real ib and the real algorithm
 * in one thread. Each rank is a coroutine that gives way where it would wait (struct cs_host,
 * progress), and the next one is drawn; datagrams are lost, come twice and in another order. What
 * must hold: every rank has every byte, whatever happened, and nothing hangs. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "algorithms/op.h"
#include "coll/call.h"
#include "fake_verbs.h"
#include "ib/ib.h"
#include "wire/multicast.h"
#include "wire/wire.h"

#include <errno.h>
#include <ucontext.h>

#define MOST_RANKS 9
#define STACK (256 << 10)
#define MOST_SWITCHES 4000000
#define MTU 256
#define ROOM (MTU - 64) /* bytes of a piece */
#define WINDOW ((size_t)CS_MULTICAST_WINDOW * ROOM)
#define MOST_BYTES (3 * WINDOW + 2 * ROOM)
#define GUARD 64
#define FILL 0x5a

/* --- ranks as coroutines ---------------------------------------------------------------------- */

struct message {
	struct message *next;
	uint64_t tag;
	size_t bytes;
	char data[];
};

struct rank {
	int number;
	ucontext_t context;
	char *stack;
	bool is_done;
	struct cs_ib *ib;
	struct cs_wire host_wire, *wire;
	struct cs_team team;
	struct cs_op_memory *idle;
	struct cs_call call;
	bool is_truncated;
	char buffer[MOST_BYTES + GUARD];
	struct cs_multicast *multicast;
	struct message *came[MOST_RANKS]; /* by the host's wire, by peer */
};

static struct {
	int ranks, now; /* -1: none runs */
	uint64_t seed, draws;
	unsigned shuffle;
	size_t patience;
	ucontext_t scheduler;
	void (*job)(struct rank *rank);
	struct rank *rank[MOST_RANKS];
	struct cs_verbs verbs;
	union ibv_gid group; /* of the last attach */
	uint32_t qkey;
	const int *node_of;
	bool is_opening;
	struct ibv_context *kept;
} world;

static uint32_t
draw(uint32_t bound)
{
	world.draws = world.draws * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(world.draws >> 33) % bound;
}

static void
give_way(void)
{
	if (world.now >= 0)
		swapcontext(&world.rank[world.now]->context, &world.scheduler);
}

static void __attribute__((noreturn))
end(const char *why)
{
	fprintf(stderr, "the job ended: %s (seed %llu)\n", why, (unsigned long long)world.seed);
	abort();
}

static struct cs_wire *
wire_of(void *group)
{
	return ((struct rank *)group)->wire;
}

static const struct cs_host host = { .progress = give_way, .abort = end, .wire = wire_of };

static void
enter(void)
{
	world.job(world.rank[world.now]);
	world.rank[world.now]->is_done = true;
	swapcontext(&world.rank[world.now]->context, &world.scheduler);
}

/* Every rank does the job, interleaved at random. */
static void
all(void (*job)(struct rank *rank))
{
	volatile int switches = 0, left = world.ranks; /* cmocka's jumps */
	world.job = job;
	for (int i = 0; i < world.ranks; i++) {
		struct rank *rank = world.rank[i];
		rank->is_done = false;
		getcontext(&rank->context);
		rank->context.uc_stack.ss_sp = rank->stack;
		rank->context.uc_stack.ss_size = STACK;
		rank->context.uc_link = NULL;
		makecontext(&rank->context, enter, 0);
	}
	while (left) {
		world.now = (int)draw((uint32_t)world.ranks);
		if (world.rank[world.now]->is_done)
			continue;
		swapcontext(&world.scheduler, &world.rank[world.now]->context);
		left -= world.rank[world.now]->is_done;
		world.now = -1;
		if (++switches == MOST_SWITCHES)
			fail_msg("it hangs; seed %llu", (unsigned long long)world.seed);
	}
	world.now = -1;
}

/* --- the host's wire: what is sent is there at once ------------------------------------------- */

static struct rank *
of_host(struct cs_wire *wire)
{
	return (struct rank *)(void *)((char *)wire - offsetof(struct rank, host_wire));
}

/* A receive, in its request; a send is over at once. */
struct pending {
	void *to; /* NULL: a send */
	size_t bytes;
	int peer;
	uint64_t tag;
};

static void
host_send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag,
	  const void *from, size_t bytes)
{
	struct message *message = malloc(sizeof *message + bytes),
		       **last = &world.rank[peer]->came[wire->rank];
	*message = (struct message){ .tag = tag, .bytes = bytes };
	if (bytes)
		memcpy(message->data, from, bytes);
	while (*last)
		last = &(*last)->next;
	*last = message;
	memset(request->host, 0, sizeof(struct pending));
	request->told = 0;
}

static void
host_recv(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	  size_t bytes)
{
	struct pending pending = { .to = to, .bytes = bytes, .peer = peer, .tag = tag };
	memcpy(request->host, &pending, sizeof pending);
	request->told = 0;
}

/* Of one tag only one is under way between two ranks. */
static bool
host_test(struct cs_wire *wire, struct cs_request *request)
{
	struct pending pending;
	memcpy(&pending, request->host, sizeof pending);
	if (!pending.to)
		return true;
	struct message **link = &of_host(wire)->came[pending.peer], *message;
	while (*link && (*link)->tag != pending.tag)
		link = &(*link)->next;
	message = *link;
	if (!message)
		return false;
	request->told = message->bytes > pending.bytes ? CS_TOLD_MORE : 0;
	if (message->bytes)
		memcpy(pending.to, message->data, message->bytes < pending.bytes
		       ? message->bytes : pending.bytes);
	*link = message->next;
	free(message);
	return true;
}

/* --- the table of verbs, with eyes ------------------------------------------------------------ */

static int
attach_seen(struct ibv_qp *qp, const union ibv_gid *group, uint16_t lid)
{
	world.group = *group;
	return fake_verbs()->attach_mcast(qp, group, lid);
}

static int
modify_seen(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
	if (mask & IBV_QP_QKEY)
		world.qkey = attributes->qkey;
	return fake_verbs()->modify_qp(qp, attributes, mask);
}

/* ib opens the device to look at it and again to use it, and the fake takes each opening for
 * another machine: a rank keeps the first one. */
static int
close_kept(struct ibv_context *context)
{
	if (!world.is_opening)
		return fake_verbs()->close_device(context);
	world.kept = context;
	return 0;
}

static struct ibv_context *
open_kept(struct ibv_device *device)
{
	struct ibv_context *context = world.kept ? world.kept : fake_verbs()->open_device(device);
	world.kept = NULL;
	return context;
}

/* Datagrams that came in one order are seen in another. */
static int
poll_shuffled(struct ibv_cq *cq, int room, struct ibv_wc *wcs)
{
	int count = fake_verbs()->poll_cq(cq, room, wcs);
	for (int i = 0; i < count; i++)
		if (wcs[i].status || wcs[i].opcode != IBV_WC_RECV)
			return count;
	for (int i = count - 1; i > 0; i--) {
		if (draw(100) >= world.shuffle)
			continue;
		int other = (int)draw((uint32_t)i + 1);
		struct ibv_wc swapped = wcs[i];
		wcs[i] = wcs[other];
		wcs[other] = swapped;
	}
	return count;
}

/* --- a world ---------------------------------------------------------------------------------- */

static void
begin(uint64_t seed)
{
	fake_reset();
	fake_seed(seed);
	fake_roce(0);
	struct fake_port *port = &fake.devices[0].ports[0];
	port->attributes.active_mtu = IBV_MTU_256;
	/* An address that this machine has, so that the group can be joined: all of 127.0.0.0/8
	 * is. */
	for (unsigned i = 2; i < 4; i++)
		port->gids[i].gid.raw[12] = 127;
	world.seed = world.draws = seed;
	world.now = -1;
	world.shuffle = 0;
	world.patience = 10000;
	world.node_of = NULL;
	world.verbs = *fake_verbs();
	world.verbs.attach_mcast = attach_seen;
	world.verbs.modify_qp = modify_seen;
	world.verbs.poll_cq = poll_shuffled;
	world.verbs.close_device = close_kept;
	world.verbs.open_device = open_kept;
}

/* Each rank is alone on its node. */
static struct cs_node_head heads[MOST_RANKS];
static struct cs_rank_head selves[MOST_RANKS];

static void
open_rank(int number, int ranks)
{
	struct rank *rank = calloc(1, sizeof *rank);
	int own[MOST_RANKS];
	bool is_same_node[MOST_RANKS];
	char why[256] = "";
	assert_non_null(rank);
	rank->number = number;
	rank->stack = malloc(STACK);
	struct cs_ib_options options = { .slots = 4, .slot_bytes = 256, .memory = 16 << 20,
					 .cache = 1 << 20, .timeout = 14, .world_rank = number,
					 .world_size = ranks, .host = &host };
	world.is_opening = true;
	if (cs_ib_open(&rank->ib, &world.verbs, &options, why, sizeof why) != CS_OK)
		fail_msg("%s", why);
	world.is_opening = false;
	rank->host_wire = (struct cs_wire){ .rank = number, .ranks = ranks, .send = host_send,
					    .recv = host_recv, .test = host_test };
	for (int i = 0; i < ranks; i++) {
		own[i] = i;
		is_same_node[i] = i == number ||
				  (world.node_of && world.node_of[i] == world.node_of[number]);
	}
	struct cs_ib_group group = { .rank = number, .ranks = ranks, .world = own,
				     .is_same_node = is_same_node, .host = &rank->host_wire };
	rank->wire = cs_ib_wire_open(rank->ib, &group);
	assert_non_null(rank->wire);
	rank->team = (struct cs_team){ .shape = { .rank = number, .ranks = ranks, .nodes = ranks },
				       .node = { .head = &heads[number],
						 .self = &selves[number] },
				       .host = &host, .everyone = rank };
	world.rank[number] = rank;
}

static void
open_world(int ranks)
{
	world.ranks = ranks;
	for (int i = 0; i < ranks; i++)
		open_rank(i, ranks);
}

static struct cs_ib_counters
counted(void)
{
	struct cs_ib_counters sum = { .multicast = 0 };
	for (int i = 0; i < world.ranks; i++) {
		struct cs_ib_counters own;
		cs_ib_count(world.rank[i]->ib, &own);
		sum.multicast += own.multicast;
		sum.heard += own.heard;
		sum.strange += own.strange;
		sum.resent += own.resent;
		sum.connections += own.connections;
		sum.refused += own.refused;
	}
	return sum;
}

static void
part(struct rank *rank)
{
	cs_ib_wire_close(rank->wire);
	cs_ib_close(rank->ib);
}

static void
close_world(void)
{
	struct cs_ib_counters counters = counted();
	if (counters.refused || (world.ranks > 1 && !counters.connections && !world.node_of))
		fail_msg("%llu connections, %llu refused; seed %llu",
			 (unsigned long long)counters.connections,
			 (unsigned long long)counters.refused, (unsigned long long)world.seed);
	all(part);
	for (int i = 0; i < world.ranks; i++) {
		cs_plans_fini(&world.rank[i]->team.flat_plans);
		cs_op_memory_free(&world.rank[i]->idle);
		free(world.rank[i]->stack);
		free(world.rank[i]);
	}
	if (fake_leaks(stderr) || fake_counted()->misuses)
		fail_msg("something was left behind or misused; seed %llu",
			 (unsigned long long)world.seed);
}

/* --- broadcasts ------------------------------------------------------------------------------- */

static unsigned char
byte_of(size_t at, int root, unsigned number)
{
	return (unsigned char)(at * 31 + at / 251 + (size_t)root * 7 + number * 13);
}

static void
find_multicast(struct rank *rank)
{
	struct cs_wire *wire = wire_of(rank);
	rank->multicast = wire->multicast(wire, rank->team.tags++);
}

static void
run_bcast(struct rank *rank)
{
	extern const struct cs_algorithm cs_algorithm_bcast_multicast;
	struct cs_op op = { .call = rank->call };
	cs_op_join(&op, &rank->team, cs_call_signature(CS_BCAST, (unsigned)op.call.root));
	rank->team.idle = &rank->idle;
	cs_algorithm_bcast_multicast.run(&op, &world.patience);
	cs_op_finish(&op);
	rank->is_truncated = op.node.outcome.bits & CS_OUTCOME_TRUNCATED;
	assert_int_equal(op.node.outcome.bits & (CS_OUTCOME_MORE | CS_OUTCOME_LESS), 0);
	cs_op_fini(&op);
}

/* The connections of the binomial tree from rank 0, which the agreement uses. */
static void
connect_all(struct rank *rank)
{
	struct cs_wire *wire = wire_of(rank);
	struct cs_request all[8];
	char words[2] = "";
	int requests = 0;
	for (int mask = 1; mask < wire->ranks; mask *= 2) {
		if (wire->rank % (2 * mask) == mask)
			wire->send(wire, &all[requests++], wire->rank - mask, 0, words, 1);
		else if (wire->rank % (2 * mask) == 0 && wire->rank + mask < wire->ranks)
			wire->recv(wire, &all[requests++], wire->rank + mask, 0, words + 1, 1);
	}
	for (int i = 0; i < requests; i++)
		wire->wait(wire, &all[i]);
}

static void
prepare(struct rank *rank, int root, size_t bytes, unsigned number)
{
	assert_true(bytes <= MOST_BYTES);
	memset(rank->buffer, FILL, sizeof rank->buffer);
	for (size_t i = 0; rank->number == root && i < bytes; i++)
		rank->buffer[i] = (char)byte_of(i, root, number);
	rank->call = (struct cs_call){ .coll = CS_BCAST, .root = root, .bytes = bytes,
				       .recv = { .base = rank->buffer } };
}

/* The first `bytes` are the root's, the rest is as it was. */
static void
check(const struct rank *rank, int root, size_t bytes, unsigned number)
{
	for (size_t i = 0; i < sizeof rank->buffer; i++) {
		unsigned char wanted = i < bytes ? byte_of(i, root, number) : FILL;
		if ((unsigned char)rank->buffer[i] != wanted)
			fail_msg("p=%d root %d, %zu bytes: rank %d has %02x at %zu instead of "
				 "%02x; seed %llu", world.ranks, root, bytes, rank->number,
				 (unsigned char)rank->buffer[i], i, wanted,
				 (unsigned long long)world.seed);
	}
}

static void
bcast(int root, size_t bytes, unsigned number)
{
	for (int i = 0; i < world.ranks; i++)
		prepare(world.rank[i], root, bytes, number);
	all(run_bcast);
	for (int i = 0; i < world.ranks; i++) {
		check(world.rank[i], root, bytes, number);
		assert_false(world.rank[i]->is_truncated);
	}
}

static const size_t sizes[] = { 0, 1, ROOM - 1, ROOM, ROOM + 1, 10 * ROOM + 5, WINDOW, WINDOW + 1,
				MOST_BYTES };

TEST(every_rank_gets_every_byte_and_nothing_is_sent_twice)
{
	static const int ranks[] = { 1, 2, 3, 5, 8, 9 };
	for (size_t k = 0; k < COUNT(ranks); k++) {
		begin(100 + k);
		open_world(ranks[k]);
		all(find_multicast);
		uint64_t trials = counted().multicast, pieces = 0;
		for (size_t i = 0; i < COUNT(sizes); i++) {
			bcast((int)i % ranks[k], sizes[i], (unsigned)i);
			pieces += (sizes[i] + ROOM - 1) / ROOM;
		}
		struct cs_ib_counters counters = counted();
		assert_int_equal(counters.multicast - trials, pieces);
		assert_int_equal(counters.resent, 0);
		assert_true(counters.heard >= pieces * (uint64_t)(ranks[k] - 1));
		close_world();
	}
}

TEST(a_network_that_does_not_return_own_datagrams_is_fine)
{
	begin(7);
	fake.hears_itself = false;
	open_world(4);
	for (size_t i = 0; i < COUNT(sizes); i++)
		bcast((int)i % 4, sizes[i], (unsigned)i);
	assert_int_equal(counted().resent, 0);
	close_world();
}

/* Broadcast after broadcast with nothing between them, so that those of quick roots overtake
 * others. */
#define IN_A_ROW 6
static struct {
	int root[IN_A_ROW];
	size_t bytes[IN_A_ROW];
	bool is_wrong;
} row;

static void
run_row(struct rank *rank)
{
	for (unsigned i = 0; i < IN_A_ROW; i++) {
		prepare(rank, row.root[i], row.bytes[i], i);
		run_bcast(rank);
		for (size_t k = 0; k < sizeof rank->buffer; k++)
			if ((unsigned char)rank->buffer[k] !=
			    (k < row.bytes[i] ? byte_of(k, row.root[i], i) : FILL))
				row.is_wrong = true;
	}
}

TEST(whatever_is_lost_doubled_or_swapped_every_byte_arrives)
{
	uint64_t first = 1, count = 60;
	if (getenv("CAST_SEED"))
		first = strtoull(getenv("CAST_SEED"), NULL, 10), count = 1;
	uint64_t resent = 0, strange = 0;
	for (uint64_t seed = first; seed < first + count; seed++) {
		begin(seed);
		open_world((int)(2 + draw(MOST_RANKS - 1)));
		all(find_multicast);
		for (int i = 0; i < world.ranks; i++)
			assert_non_null(world.rank[i]->multicast);
		fake.loss = draw(3) ? draw(30) : draw(101);
		fake.twice = draw(2) ? draw(50) : 0;
		world.shuffle = draw(2) ? draw(100) : 0;
		world.patience = draw(2) ? draw(200) : 10000;
		for (int i = 0; i < IN_A_ROW; i++) {
			row.root[i] = draw(2) ? 0 : (int)draw((uint32_t)world.ranks);
			row.bytes[i] = draw(4) ? draw(2 * ROOM) : draw(MOST_BYTES + 1);
		}
		row.is_wrong = false;
		all(run_row);
		if (row.is_wrong)
			fail_msg("p=%d, loss %u%%, twice %u%%: a wrong byte; replay: "
				 "CAST_SEED=%llu", world.ranks, fake.loss, fake.twice,
				 (unsigned long long)seed);
		resent += counted().resent;
		strange += counted().strange;
		close_world();
	}
	/* Else this test would test nothing. */
	if (count > 1) {
		assert_true(resent > 100);
		assert_true(strange > 100);
	}
}

/* The numbers of the pieces of a broadcast that are there, as bits. */
static unsigned
pieces_there(struct cs_multicast *multicast, uint32_t broadcast)
{
	struct cs_multicast_piece piece;
	unsigned bits = 0;
	for (int i = 0; i < 1000; i++)
		if (multicast->take(multicast, broadcast, &piece))
			bits |= 1u << piece.piece;
	return bits;
}

/* A rank may be done with a broadcast, and multicast the next one, while another still waits for a
 * piece of the first. */
TEST(pieces_of_a_later_broadcast_are_kept_and_of_an_earlier_one_dropped)
{
	static const char data[2 * ROOM];
	begin(6);
	open_world(2);
	all(find_multicast);
	struct cs_multicast *from = world.rank[0]->multicast, *to = world.rank[1]->multicast;
	assert_true(from->send(from, 3, 0, data, sizeof data));
	assert_true(from->send(from, 2, 1, data, sizeof data));
	assert_true(from->send(from, 1, 0, data, sizeof data));
	assert_true(from->send(from, 2, 0, data, 1));
	assert_true(from->send(from, 3, 1, data, sizeof data));
	assert_int_equal(pieces_there(to, 1), 1);
	assert_int_equal(pieces_there(to, 2), 3);
	assert_int_equal(pieces_there(to, 3), 3);
	assert_true(from->send(from, 3, 0, data, sizeof data));
	assert_int_equal(pieces_there(to, 4), 0);
	assert_int_equal(pieces_there(to, 4), 0);
	close_world();
}

TEST(ranks_of_a_node_are_repaired_over_the_hosts_wire)
{
	static const int node_of[] = { 0, 0, 1, 1, 2, 2 };
	begin(8);
	world.node_of = node_of;
	open_world(6);
	all(find_multicast);
	fake.loss = 40;
	for (size_t i = 0; i < COUNT(sizes); i++)
		bcast((int)i % 6, sizes[i], (unsigned)i);
	assert_true(counted().resent > 10);
	close_world();
}

TEST(a_network_that_loses_everything_is_replaced_by_the_tree)
{
	begin(9);
	open_world(5);
	all(find_multicast);
	uint64_t before = counted().heard;
	fake.loss = 100;
	world.patience = 20;
	for (size_t i = 0; i < COUNT(sizes); i++)
		bcast((int)i % 5, sizes[i], (unsigned)i);
	assert_int_equal(counted().heard, before);
	assert_true(counted().resent > 0);
	close_world();
}

/* The first send of the n-th queue pair from here on that multicasts fails: the queue pair is in
 * error then. */
static int fail_in; /* multicasts until it does; 0: never */

static int
post_failing(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	if (qp->qp_type == IBV_QPT_UD && fail_in && !--fail_in)
		fake_complete_with(qp->qp_num, 1, IBV_WC_LOC_QP_OP_ERR);
	return fake_verbs()->post_send(qp, wr, bad);
}

TEST(a_root_whose_queue_pair_fails_reaches_all_by_the_tree)
{
	struct said said;
	begin(10);
	world.verbs.post_send = post_failing;
	world.patience = 50;
	open_world(4);
	all(find_multicast);
	bcast(1, 40 * ROOM, 0);
	said_begin(&said);
	fail_in = 30;
	bcast(1, MOST_BYTES, 1);
	bcast(1, 40 * ROOM, 2);
	assert_contains(said_end(&said), "multicast by fake0 failed");
	uint64_t before = counted().multicast;
	bcast(1, 40 * ROOM, 3);
	assert_int_equal(counted().multicast, before);
	bcast(2, 40 * ROOM, 4); /* who can, still does; rank 1 hears nothing */
	assert_int_equal(counted().multicast, before + 40);
	close_world();
}

/* --- strangers -------------------------------------------------------------------------------- */

/* Rubbish; of a piece's length: one of another job that has drawn the same address and key, and
 * fits but for the nonce. */
static void
intrude(struct ibv_qp *qp, struct ibv_ah *ah, struct ibv_mr *mr, unsigned char *memory,
	size_t bytes, uint32_t broadcast)
{
	const struct {
		uint64_t nonce, total;
		uint32_t broadcast, piece;
	} header = { .nonce = 1, .total = 20 * ROOM, .broadcast = broadcast, .piece = draw(20) };
	struct ibv_sge where = { .addr = (uintptr_t)memory, .length = (uint32_t)bytes,
				 .lkey = mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &where, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { .ah = ah, .remote_qpn = 0xffffff,
					     .remote_qkey = world.qkey } }, *bad;
	struct ibv_wc wc;
	for (size_t i = 0; i < bytes; i++)
		memory[i] = (unsigned char)draw(256);
	if (bytes == sizeof header + ROOM)
		memcpy(memory, &header, sizeof header);
	assert_int_equal(world.verbs.post_send(qp, &wr, &bad), 0);
	while (!world.verbs.poll_cq(qp->send_cq, 1, &wc))
		fake_progress(1);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
}

TEST(datagrams_of_strangers_change_nothing)
{
	static const size_t lengths[] = { 0, 1, 23, 24, 25, 100, 24 + ROOM, 24 + ROOM, 24 + ROOM,
					  MTU };
	static _Alignas(64 << 10) unsigned char memory[64 << 10]; /* whole pages of any machine */
	begin(11);
	open_world(4);
	all(find_multicast);
	struct ibv_device **list = fake_verbs()->get_device_list(NULL);
	struct ibv_context *context = fake_verbs()->open_device(list[0]);
	struct ibv_pd *pd = fake_verbs()->alloc_pd(context);
	struct ibv_cq *cq = fake_verbs()->create_cq(context, 16);
	struct ibv_mr *mr = fake_verbs()->reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_qp_init_attr attributes = { .send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UD,
					       .cap = { .max_send_wr = 4, .max_send_sge = 1 } };
	struct ibv_qp *qp = fake_verbs()->create_qp(pd, &attributes);
	struct ibv_qp_attr to = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 1 };
	assert_non_null(qp);
	fake_verbs()->modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				IBV_QP_QKEY);
	to.qp_state = IBV_QPS_RTR;
	fake_verbs()->modify_qp(qp, &to, IBV_QP_STATE);
	to.qp_state = IBV_QPS_RTS;
	assert_int_equal(fake_verbs()->modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	struct ibv_ah_attr where = { .is_global = 1, .port_num = 1,
				     .grh = { .dgid = world.group, .sgid_index = 3 } };
	struct ibv_ah *ah = fake_verbs()->create_ah(pd, &where);
	assert_non_null(ah);
	uint64_t before = counted().strange;
	for (unsigned i = 0; i < 10; i++) {
		for (size_t k = 0; k < COUNT(lengths); k++)
			intrude(qp, ah, mr, memory, lengths[k], i + 1);
		bcast((int)i % 4, 20 * ROOM, i);
	}
	/* Late ones of our own are dropped too */
	assert_true(counted().strange - before >= 10 * COUNT(lengths) * 4);
	assert_int_equal(counted().resent, 0);
	fake_verbs()->destroy_ah(ah);
	fake_verbs()->destroy_qp(qp);
	fake_verbs()->dereg_mr(mr);
	fake_verbs()->destroy_cq(cq);
	fake_verbs()->dealloc_pd(pd);
	fake_verbs()->close_device(context);
	fake_verbs()->free_device_list(list);
	close_world();
}

/* --- where there is no multicast -------------------------------------------------------------- */

/* All ranks find none, and broadcast all the same. */
static void
there_is_none(const char *why)
{
	struct said said;
	said_begin(&said);
	open_world(5);
	all(find_multicast);
	fake.loss = 0;
	for (size_t i = 0; i < COUNT(sizes); i++)
		bcast((int)i % 5, sizes[i], (unsigned)i);
	said_end(&said);
	for (int i = 0; i < world.ranks; i++)
		assert_null(world.rank[i]->multicast);
	if (why) {
		assert_contains(said.text, why);
		assert_int_equal(count_lines(said.text), 1);
	}
	uint64_t before = counted().multicast;
	bcast(0, 10 * ROOM, 77);
	assert_int_equal(counted().multicast, before); /* not tried again */
	close_world();
}

TEST(infiniband_proper_has_none)
{
	begin(12);
	fake_reset();
	fake.devices[0].ports[0].attributes.active_mtu = IBV_MTU_256;
	there_is_none("fake0 for 5 ranks: an InfiniBand group is joined at the subnet manager");
}

TEST(without_an_ipv4_address_there_is_none)
{
	begin(13);
	fake.devices[0].ports[0].gid_count = 2;
	there_is_none(NULL);
}

TEST(roce_v1_has_none)
{
	begin(14);
	for (unsigned i = 0; i < 4; i++)
		fake.devices[0].ports[0].gids[i].gid_type = IBV_GID_TYPE_ROCE_V1;
	there_is_none(NULL);
}

TEST(an_interface_that_is_not_here_cannot_join)
{
	begin(15);
	for (unsigned i = 2; i < 4; i++)
		/* RFC 5737 */
		memcpy(fake.devices[0].ports[0].gids[i].gid.raw + 12, (uint8_t[]){ 192, 0, 2, 1 },
		       4);
	there_is_none(NULL);
}

/* Each of the verbs that make a queue pair of the group, at each rank: the others learn it. */
TEST(one_rank_that_is_refused_is_enough)
{
	static const char *const verbs[] = { "attach_mcast", "create_ah", "reg_mr", "create_cq",
					     "create_qp", "modify_qp" };
	for (size_t i = 0; i < COUNT(verbs); i++)
		for (unsigned nth = 1; nth <= 5; nth++) {
			begin(16 + 10 * i + nth);
			open_world(5);
			all(connect_all); /* first: that needs the same verbs */
			fake_fail(verbs[i], nth, ENOMEM);
			all(find_multicast);
			for (int k = 0; k < world.ranks; k++)
				assert_null(world.rank[k]->multicast);
			fake.loss = 100;
			bcast(1, 10 * ROOM, 1);
			bcast(0, WINDOW + 1, 2);
			close_world();
		}
}

TEST(a_trial_that_fails_is_told_to_all)
{
	begin(17);
	fake.loss = 100;
	there_is_none(NULL);
}

TEST(a_trial_with_some_loss_goes_well)
{
	begin(18);
	fake.loss = 40;
	open_world(8);
	all(find_multicast);
	for (int i = 0; i < world.ranks; i++)
		assert_non_null(world.rank[i]->multicast);
	close_world();
}

/* --- programs whose ranks disagree ------------------------------------------------------------ */

static void
check_cut(const struct rank *rank, size_t total)
{
	size_t bytes = rank->call.bytes;
	if (!rank->is_truncated == (bytes < total))
		fail_msg("rank %d with %zu bytes of %zu: truncated %d; seed %llu", rank->number,
			 bytes, total, rank->is_truncated, (unsigned long long)world.seed);
	for (size_t at = bytes; at < sizeof rank->buffer; at++)
		if ((unsigned char)rank->buffer[at] != FILL)
			fail_msg("rank %d: a byte at %zu, behind its %zu; seed %llu", rank->number,
				 at, bytes, (unsigned long long)world.seed);
}

/* Each rank expects another size. Who expects less than the root sends reports it; nobody gets a
 * byte more than it has room for, and nothing hangs: the next broadcast is right. */
TEST(ranks_that_disagree_about_the_size_end_and_report_it)
{
	static const size_t some[] = { 0, 1, ROOM, 5 * ROOM, WINDOW, WINDOW + 1, 2 * WINDOW + 7,
				       MOST_BYTES };
	for (uint64_t seed = 1; seed <= 40; seed++) {
		begin(1000 + seed);
		world.patience = draw(2) ? 30 : 10000;
		open_world((int)(2 + draw(MOST_RANKS - 1)));
		all(find_multicast);
		fake.loss = draw(2) ? draw(60) : 0;
		for (unsigned k = 0; k < 3; k++) {
			int root = (int)draw((uint32_t)world.ranks);
			for (int i = 0; i < world.ranks; i++)
				prepare(world.rank[i], root, some[draw(COUNT(some))], k);
			size_t total = world.rank[root]->call.bytes;
			all(run_bcast);
			for (int i = 0; i < world.ranks; i++)
				check_cut(world.rank[i], total);
			bcast(root, 5 * ROOM, k);
		}
		close_world();
	}
}

RUN_TESTS(NULL, NULL)
