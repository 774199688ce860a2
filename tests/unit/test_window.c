/* Windows over verbs on the fake fabric: what a rank of one node writes is read whole by any rank
 * of the other, whoever puts and whoever takes; slots are used again only when they were given
 * back; and where a window cannot be, all ranks learn why. Writes arrive in pieces, out of order,
 * as long as a counter does not promise otherwise. */
#include "ib_world.h"
#include "operation_fiber.h"

#include "ib/rma_window.h"

#include <stdlib.h>
#include <sys/mman.h>

#define ROOM 256
#define MESSAGES (3 * CS_WINDOW_SLOTS + 5) /* from each node to each other one */
#define MOST_TURNS 2000000

static const int shapes[][5] = { { 1, 1 }, { 2, 2 }, { 1, 3 }, { 3, 1 }, { 2, 1, 2 },
				 { 1, 1, 1, 1, 1 } };

/* Ranks are placed in blocks. */
static struct {
	int nodes, ranks, first[WORLD_MOST + 1], node_of[WORLD_MOST];
	int order[WORLD_MOST];
	char *memory[WORLD_MOST]; /* by node */
	size_t bytes;
	struct world_group group;
	struct cs_rma_window *windows[WORLD_MOST]; /* by rank */
	const char *whys[WORLD_MOST];
	uint64_t seed;
} test;

static int
set_up(void **state)
{
	fake_reset();
	world.random = first_seed();
	return 0;
}

static void
give_way(void)
{
	if (fiber_is_inside())
		fiber_yield();
}

static void
make(const int *sizes, const struct cs_ib_options *options, uint64_t seed)
{
	memset(&test, 0, sizeof test);
	test.seed = seed;
	for (; test.nodes < 5 && sizes[test.nodes]; test.nodes++) {
		for (int i = 0; i < sizes[test.nodes]; i++, test.ranks++) {
			test.node_of[test.ranks] = test.nodes;
			test.order[test.ranks] = test.ranks;
		}
		test.first[test.nodes + 1] = test.ranks;
	}
	test.bytes = (cs_rma_bytes(test.nodes, ROOM) + 4095) / 4096 * 4096;
	for (int node = 0; node < test.nodes; node++) {
		test.memory[node] = mmap(NULL, test.bytes, PROT_READ | PROT_WRITE,
					 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(test.memory[node], MAP_FAILED);
	}
	world.give_way = give_way;
	world_open(test.ranks, options, false);
	world_group_open(&test.group, test.order, test.ranks);
}

static void
open_one(void *context)
{
	int rank = *(int *)context, node = test.node_of[rank];
	const struct cs_ib_window_group group = {
		.nodes = test.nodes, .node = node, .local = rank - test.first[node],
		.first = test.first, .order = test.order, .memory = test.memory[node],
		.room = ROOM,
	};
	test.windows[rank] = cs_ib_window_open(test.group.wires[rank], 0, &group,
					       &test.whys[rank]);
}

static void
close_one(void *context)
{
	cs_ib_window_close(test.windows[*(int *)context], true);
}

/* All ranks do it, in a drawn order of steps. */
static void
do_all(void (*what)(void *context))
{
	struct fiber *fibers[WORLD_MOST];
	int left = test.ranks;
	for (int rank = 0; rank < test.ranks; rank++)
		fibers[rank] = fiber_make(what, &test.order[rank]);
	for (int turn = 0; left; turn++) {
		int rank = (int)random_below(&world.random, (uint32_t)test.ranks);
		if (turn == MOST_TURNS)
			fail_msg("it hangs; seed %llu", (unsigned long long)test.seed);
		world_progress();
		if (!fibers[rank] || fiber_resume(fibers[rank]))
			continue;
		fiber_drop(fibers[rank]);
		fibers[rank] = NULL;
		left--;
	}
}

static void
clear(void)
{
	world_group_close(&test.group);
	world_close();
	for (int node = 0; node < test.nodes; node++)
		munmap(test.memory[node], test.bytes);
	world.give_way = NULL;
}

static bool
are_open(void)
{
	int open = 0;
	for (int rank = 0; rank < test.ranks; rank++)
		open += test.windows[rank] != NULL;
	return open == test.ranks;
}

/* --- traffic ---------------------------------------------------------------------------------- */

/* Of one direction between two nodes. Every third message is put in two parts. */
struct direction {
	uint64_t put, taken; /* messages so far */
	struct cs_request requests[MESSAGES], first_parts[MESSAGES];
	bool is_first_under_way[MESSAGES], has_second[MESSAGES];
	int half_seen; /* messages of which a rank saw the first part alone */
	int by[MESSAGES]; /* rank that has put it */
	bool has_left[MESSAGES];
};
static struct direction directions[WORLD_MOST][WORLD_MOST];
static int halves_seen; /* in all */

static size_t
bytes_of(uint64_t number)
{
	return number % 7 == 0 ? 0 : number % 5 == 0 ? ROOM : number * 37 % ROOM;
}

static size_t
half_of(uint64_t number)
{
	return number % 3 == 0 ? bytes_of(number) / 2 : 0;
}

static unsigned char
byte_of(int from, int to, uint64_t number, size_t at)
{
	return (unsigned char)(1 + from * 11 + to * 5 + (int)number * 29 + (int)at * 3);
}

static int
rank_of(int node)
{
	int count = test.first[node + 1] - test.first[node];
	return test.first[node] + (int)random_below(&world.random, (uint32_t)count);
}

static void
put_next(int from, int to)
{
	struct direction *direction = &directions[from][to];
	uint64_t number = direction->put;
	int rank = rank_of(from);
	if (number == MESSAGES || !cs_rma_may_put(test.windows[rank], to, number))
		return;
	if (number >= CS_WINDOW_SLOTS)
		assert_true(direction->taken + CS_WINDOW_SLOTS > number);
	/* Of each its own memory: it is read until the put has left. */
	char *data = world.arenas[rank] + ((size_t)to * MESSAGES + number) * ROOM;
	for (size_t at = 0; at < ROOM; at++)
		data[at] = (char)byte_of(from, to, number, at);
	struct cs_rma_window *window = test.windows[rank];
	size_t half = half_of(number);
	const struct cs_rma_part first = { .at = 0 };
	direction->by[number] = rank;
	direction->put++;
	direction->is_first_under_way[number] = half > 0;
	direction->has_second[number] = !half;
	if (half)
		window->put(window, &direction->first_parts[number], to, number, &first, data,
			    half);
	else
		window->put(window, &direction->requests[number], to, number, NULL, data,
			    bytes_of(number));
}

/* The second part of what was put last, by the same rank. */
static void
put_rest(int from, int to)
{
	struct direction *direction = &directions[from][to];
	for (uint64_t number = 0; number < direction->put; number++) {
		int rank = direction->by[number];
		struct cs_rma_window *window = test.windows[rank];
		size_t half = half_of(number);
		const struct cs_rma_part rest = { .at = half, .before = 1, .is_last = true };
		if (direction->has_second[number] || random_below(&world.random, 4))
			continue;
		direction->has_second[number] = true;
		window->put(window, &direction->requests[number], to, number, &rest,
			    world.arenas[rank] + ((size_t)to * MESSAGES + number) * ROOM + half,
			    bytes_of(number) - half);
	}
}

/* False: it is not what was put. */
static bool
is_right(const char *data, int from, int to, uint64_t number, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++)
		if ((unsigned char)data[at] != byte_of(from, to, number, at))
			return false;
	return true;
}

/* False: it is not what was put. */
static bool
take_next(int from, int to)
{
	struct direction *direction = &directions[from][to];
	uint64_t number = direction->taken;
	struct cs_rma_window *window = test.windows[rank_of(to)];
	uint32_t parts = number < MESSAGES ? cs_rma_parts(window, from, number) : 0;
	if (!parts)
		return true;
	assert_true(number < direction->put);
	const char *data = cs_rma_message(window, from, number);
	if (parts != CS_WINDOW_ALL) {
		assert_int_equal(parts, 1);
		direction->half_seen++;
		return is_right(data, from, to, number, half_of(number));
	}
	assert_true(cs_rma_has_come(window, from, number));
	if (!is_right(data, from, to, number, bytes_of(number)))
		return false;
	memset(test.memory[to] + cs_rma_slot_at(window, from, number), 0, ROOM);
	direction->taken += window->give_back(window, from, number);
	return true;
}

static bool
have_left(int from, int to)
{
	struct direction *direction = &directions[from][to];
	bool have = direction->put == MESSAGES && direction->taken == MESSAGES;
	for (uint64_t number = 0; number < direction->put; number++) {
		struct cs_rma_window *window = test.windows[direction->by[number]];
		if (direction->is_first_under_way[number] &&
		    window->test(window, &direction->first_parts[number]))
			direction->is_first_under_way[number] = false;
		have = have && !direction->is_first_under_way[number];
		bool is_put = direction->has_second[number];
		if (is_put && !direction->has_left[number] && random_below(&world.random, 4) == 0)
			direction->has_left[number] =
				window->test(window, &direction->requests[number]);
		have = have && direction->has_left[number];
	}
	return have;
}

/* False: what has come was not what was put. */
static bool
talk(void)
{
	memset(directions, 0, sizeof directions);
	for (int rank = 0; rank < test.ranks; rank++)
		for (int node = 0; node < test.nodes; node++)
			if (node != test.node_of[rank])
				test.windows[rank]->sent[node] =
					test.windows[rank]->received[node] = MESSAGES;
	for (int turn = 0, left = 1; left; turn++) {
		if (turn == MOST_TURNS)
			fail_msg("it hangs; seed %llu", (unsigned long long)test.seed);
		left = 0;
		for (int from = 0; from < test.nodes; from++)
			for (int to = 0; to < test.nodes; to++) {
				if (from == to)
					continue;
				if (random_below(&world.random, 2))
					put_next(from, to);
				put_rest(from, to);
				if (random_below(&world.random, 2) && !take_next(from, to))
					return false;
				left += !have_left(from, to);
			}
		world_progress();
	}
	for (int from = 0; from < test.nodes; from++)
		halves_seen += directions[from][from ? 0 : test.nodes - 1].half_seen;
	return true;
}

static struct cs_ib_options
options_of(bool polls_flags)
{
	struct cs_ib_options options = world_options();
	options.polls_flags = polls_flags;
	return options;
}

static void
talk_in_all_shapes(bool polls_flags, bool is_torn, int times)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < times * (int)COUNT(shapes); i++) {
		struct cs_ib_options options = options_of(polls_flags);
		fake_reset();
		fake_seed(seed + (uint64_t)i);
		world.random = seed + (uint64_t)i;
		fake.is_torn = is_torn;
		fake.devices[0].ports[0].attributes.max_msg_sz = 512;
		make(shapes[i % (int)COUNT(shapes)], &options, seed + (uint64_t)i);
		do_all(open_one);
		assert_true(are_open());
		if (!talk())
			fail_msg("other bytes came; TEST_SEED=%llu",
				 (unsigned long long)(seed + (uint64_t)i));
		do_all(close_one);
		clear();
	}
}

TEST(what_any_rank_puts_any_rank_finds)
{
	halves_seen = 0;
	talk_in_all_shapes(false, true, 40);
	assert_true(halves_seen > 0);
}

TEST(with_flags_there_are_no_atomics)
{
	talk_in_all_shapes(true, false, 20);
	assert_int_equal(fake_counted()->posted[IBV_WR_ATOMIC_FETCH_AND_ADD], 0);
}

/* The tests would see a counter that overtakes its data: a write of its own may, on this fabric. */
static const char *
talk_on_trust(const void *argument)
{
	struct cs_ib_options options = options_of(true);
	uint64_t seed = *(const uint64_t *)argument;
	fake_seed(seed);
	world.random = seed;
	make(shapes[1], &options, seed);
	do_all(open_one);
	fake.is_torn = true;
	return talk() ? NULL : "other bytes came";
}

TEST(a_counter_before_its_data_is_seen)
{
	int wrong = 0;
	for (uint64_t seed = 1; seed <= 10; seed++)
		wrong += !world_apart_is_well(talk_on_trust, &seed);
	assert_true(wrong > 5);
}

/* --- where there is none ---------------------------------------------------------------------- */

static void
close_all_unused(void)
{
	for (int rank = 0; rank < test.ranks; rank++)
		cs_ib_window_close(test.windows[rank], false);
	clear();
}

TEST(without_atomics_all_ranks_know_why)
{
	for (int polls_flags = 0; polls_flags < 2; polls_flags++) {
		struct cs_ib_options options = options_of(polls_flags);
		fake_reset();
		fake.devices[0].attributes.atomic_cap = IBV_ATOMIC_NONE;
		make(shapes[1], &options, 1);
		do_all(open_one);
		assert_int_equal(are_open(), polls_flags);
		for (int rank = 0; rank < test.ranks && !polls_flags; rank++)
			assert_string_equal(test.whys[rank],
					    "the device has no atomic operations");
		close_all_unused();
	}
}

TEST(memory_that_is_refused_to_one_rank_is_told_to_the_others)
{
	struct cs_ib_options options = options_of(false);
	int refused = 0, told = 0;
	make(shapes[1], &options, 1);
	fake_fail("reg_mr", 5, ENOMEM);
	do_all(open_one);
	assert_false(are_open());
	for (int rank = 0; rank < test.ranks; rank++) {
		const char *why = test.whys[rank];
		refused += why && !strcmp(why, "the device refused to register memory for them");
		told += why && !strcmp(why, "another rank's memory for them was refused");
	}
	assert_int_equal(refused, 1);
	assert_true(told > 0);
	close_all_unused();
}

/* Others write to a rank's memory until what they send has come, and what they give back. */
TEST(a_window_is_closed_when_nobody_will_write_there)
{
	struct cs_ib_options options = options_of(false);
	struct cs_request request;
	make(shapes[0], &options, 1);
	do_all(open_one);
	struct cs_rma_window *sender = test.windows[0], *taker = test.windows[1];
	assert_true(cs_rma_is_quiet(sender) && cs_rma_is_quiet(taker));
	sender->sent[1] = taker->received[0] = 1;
	assert_false(cs_rma_is_quiet(sender));
	assert_false(cs_rma_is_quiet(taker));
	sender->put(sender, &request, 1, 0, NULL, world.arenas[0], 8);
	while (!sender->test(sender, &request) || !cs_rma_has_come(taker, 0, 0))
		world_progress();
	assert_false(cs_rma_is_quiet(sender));
	assert_true(cs_rma_is_quiet(taker));
	assert_true(taker->give_back(taker, 0, 0));
	do_all(close_one);
	clear();
}

RUN_EACH_TEST(set_up, NULL)
