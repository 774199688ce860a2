/* Messages over verbs arrive as they were sent, whatever their size and order. */
#include "ib_traffic.h"

#include "ib/internal.h"

static int
set_up(void **state)
{
	fake_reset();
	world.random = first_seed();
	return 0;
}

/* Around every threshold of a slot of that size and of the device's longest message. */
static size_t
thresholds(size_t *sizes, size_t slot_bytes, size_t most)
{
	const size_t around[] = { 8, 136, slot_bytes - 24, slot_bytes - 40, 2 * (slot_bytes - 40),
				  5 * slot_bytes, most, 3 * most };
	size_t count = 0;
	sizes[count++] = 0;
	for (size_t i = 0; i < COUNT(around); i++)
		for (size_t k = 0; k < 3; k++)
			sizes[count++] = around[i] + k - 1;
	return count;
}

static int
some_groups(struct world_group *groups, int size)
{
	int count = 1 + (int)random_below(&world.random, WORLD_GROUPS);
	for (int g = 0; g < count; g++) {
		int members[WORLD_MOST],
		    ranks = 2 + (int)random_below(&world.random, (uint32_t)size - 1);
		int first = (int)random_below(&world.random, (uint32_t)size);
		int step = size == 4 || random_below(&world.random, 2) ? 1 : size - 1;
		for (int i = 0; i < ranks; i++)
			members[i] = (first + i * step) % size;
		world_group_open(&groups[g], members, ranks);
	}
	return count;
}

enum { EVERY = 1000 };

struct case_of {
	bool polls_flags, is_torn, is_uneven;
	unsigned reg_mr_fails; /* the nth, from 1; EVERY */
};

/* Returns whether all went well; what not is printed, with the seed, unless `may_fail`. */
static bool
run_case(const struct case_of *this, uint64_t seed, bool may_fail)
{
	static const size_t slots[] = { 1, 2, 3, 4, 8, 16 }, slot_bytes[] = { 128, 192, 256, 1024 };
	static struct traffic traffic;
	struct cs_ib_options options[WORLD_MOST];
	struct world_group groups[WORLD_GROUPS];
	size_t sizes[64];
	fake_reset();
	fake_seed(seed);
	fake.is_torn = this->is_torn;
	world.random = seed;
	fake.devices[0].ports[0].attributes.max_msg_sz = 4096;
	if (random_below(&world.random, 2))
		fake_roce(0);
	int size = 2 + (int)random_below(&world.random, WORLD_MOST - 1);
	size_t least = SIZE_MAX;
	for (int i = 0; i < size; i++) {
		options[i] = world_options();
		options[i].polls_flags = this->polls_flags;
		bool is_own = i == 0 || this->is_uneven;
		options[i].slots = is_own ? slots[random_below(&world.random, COUNT(slots))]
					  : options[0].slots;
		options[i].slot_bytes =
			is_own ? slot_bytes[random_below(&world.random, COUNT(slot_bytes))] :
						 options[0].slot_bytes;
		least = options[i].slot_bytes < least ? options[i].slot_bytes : least;
	}
	world_open(size, options, true);
	if (this->reg_mr_fails)
		fake_fail("reg_mr", this->reg_mr_fails % EVERY, ENOMEM);
	int group_count = some_groups(groups, size);
	size_t count = thresholds(sizes, least, 4096);
	traffic_draw(&traffic, groups, group_count, 1 + (int)random_below(&world.random, 120),
		     sizes, count, random_below(&world.random, 4));
	bool is_well = traffic_run(&traffic);
	if (!is_well && !may_fail)
		print_error("seed %llu: message %d (%zu bytes): %s\n", (unsigned long long)seed,
			    traffic.trouble_at, traffic.messages[traffic.trouble_at].bytes,
			    traffic.trouble);
	if (!is_well)
		return false;
	for (int i = 0; i < traffic.count; i++) {
		const struct traffic_message *message = &traffic.messages[i];
		assert_int_equal(cs_ib_wire_way(groups[message->group].wires[message->from],
						message->to), CS_IB_BY_VERBS);
	}
	for (int g = 0; g < group_count; g++)
		world_group_close(&groups[g]);
	world_close();
	if (world.lines)
		print_error("seed %llu: said: %s", (unsigned long long)seed, world.said);
	return world.lines == 0;
}

static void
run_cases(const struct case_of *this, int count)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < count; i++)
		if (!run_case(this, seed + (uint64_t)i, false))
			fail_msg("replay with TEST_SEED=%llu",
				 (unsigned long long)(seed + (uint64_t)i));
}

TEST(test_all_arrives_by_completions)
{
	run_cases(&(struct case_of){ 0 }, 150);
}

TEST(test_all_arrives_by_flags)
{
	run_cases(&(struct case_of){ .polls_flags = true }, 150);
}

TEST(test_completions_do_not_mind_torn_writes)
{
	run_cases(&(struct case_of){ .is_torn = true }, 150);
}

TEST(test_processes_may_have_other_slots)
{
	run_cases(&(struct case_of){ .is_uneven = true }, 100);
}

TEST(test_what_cannot_be_registered_goes_in_fragments)
{
	run_cases(&(struct case_of){ .reg_mr_fails = EVERY }, 60);
	run_cases(&(struct case_of){ .reg_mr_fails = EVERY, .polls_flags = true }, 60);
	/* On one side, of one message. */
	for (unsigned nth = 1; nth <= 6; nth++)
		run_cases(&(struct case_of){ .reg_mr_fails = nth }, 10);
}

RUN_EACH_TEST(set_up, NULL)
