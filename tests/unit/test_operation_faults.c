/* The cases of test_operations.c see what it would mean if operations did something wrong: each
 * such fault is planted into some cases, which go wrong then, and are right without it. */
#include "operation_run.h"

#include <stdlib.h>

#define MOST_STEPS 400000

struct planted {
	const char *what;
	enum fault fault;
	bool several_nodes;
	int under_way;
	bool is_starving;
	int calls; /* more than by chance */
	size_t most_bytes;
	int least; /* cases that go wrong */
	int cases; /* on one node many calls are plans, which ask for no done word */
	bool refuses;
	/* NULL: any; else of calls of this one only, on two nodes of three ranks; several
	 * senders: on seven of two. */
	const char *name;
	enum cs_coll coll;
};

static const struct planted faults[] = {
	{ "a done word too early", DONE_TOO_EARLY, false, 1, false, 12, 0, 2, 60, false },
	{ "a done word of the area too early", AREA_DONE_TOO_EARLY, true, 1, false, 12, 0, 2, 20,
	  false },
	{ "slots of the area taken out of order", WINDOW_OUT_OF_ORDER, true, 1, false, 12, 0, 2, 20,
	  false },
	{ "the tag of another operation's messages", TAG_REUSED, true, 3, false, 12, 0, 2, 20,
	  false },
	{ "an old line taken for a new one", OLD_LINE, false, 1, false, 12, 0, 2, 20, false },
	{ "a rank taken for served that is not", PENDING_LOST, false, 1, false, 12, 0, 2, 20,
	  false },
	{ "a slot of the ring taken too early", SLOT_TOO_EARLY, false, 1, true, 12, 0, 2, 20,
	  false },
	{ "a plan refused by one rank alone", REFUSED_BY_ONE, true, 1, false, 12, 0, 2, 20, true },
	{ "a segment sent before it is there", OLD_LINE, true, 1, false, 4, 2000, 2, 20, false,
	  "hier:opportunistic", CS_ALLTOALL },
	{ "a segment sent before it is there", OLD_LINE, true, 1, false, 4, 2000, 2, 20, false,
	  "hier:opportunistic", CS_ALLTOALLV },
	{ "two first arrivers of a node", TICKET_LOST, true, 1, false, 4, 2000, 2, 20, false,
	  "hier:dynamic", CS_BCAST },
	{ "a last arriver that nobody is", TICKET_LOST, true, 1, false, 4, 2000, 2, 20, false,
	  "hier:dynamic", CS_REDUCE },
	{ "a counter that grows before its data is there", COUNTER_TOO_EARLY, true, 1, false, 4,
	  2000, 2, 20, false, "hier:dynamic", CS_REDUCE },
	{ "a counter that grows before its data is there", COUNTER_TOO_EARLY, true, 1, false, 4,
	  1000, 2, 20, false, "hier:dynamic", CS_BCAST },
	{ "a counter that grows before its data is there", COUNTER_TOO_EARLY, true, 1, false, 4,
	  150, 2, 20, false, "hier:opportunistic", CS_ALLTOALL },
	{ "a counter that grows before its data is there", COUNTER_TOO_EARLY, true, 1, false, 4,
	  150, 2, 20, false, "hier:opportunistic", CS_ALLTOALLV },
	{ "a sender that does not wait for the others", SENDER_DEAF, true, 1, false, 4, 2000, 2, 20,
	  false, "hier:bruck", CS_ALLGATHER },
};

/* What a fault brings may also be a size for which the job ends: of rounds, or of memory that no
 * machine has, which AddressSanitizer is to refuse as malloc does. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool
goes_wrong(struct run *run, const struct setting *setting)
{
	jmp_buf after_end;
	if (setjmp(after_end)) {
		world_after_end = NULL;
		return true;
	}
	world_after_end = setting->fault != NONE ? &after_end : NULL;
	run_setting(run, setting);
	world_after_end = NULL;
	return *run->failure != 0;
}

/* How many of the cases of the first seeds go wrong. */
static int
wrong_cases(const struct planted *planted, enum fault fault)
{
	enum { MOST_CALLS = 64 };
	const struct cs_algorithm *called[MOST_CALLS];
	int wrong = 0;
	struct run *run = calloc(1, sizeof *run);
	assert_non_null(run);
	for (uint64_t seed = 1; seed <= (uint64_t)planted->cases; seed++) {
		struct setting setting = setting_of(seed, planted->several_nodes,
						    planted->under_way);
		setting.calls += planted->calls;
		setting.is_starving = planted->is_starving;
		setting.most_bytes = planted->most_bytes;
		setting.fault = fault;
		setting.senders = planted->fault == SENDER_DEAF ? 2 : 0;
		setting.refuses = planted->refuses;
		setting.most_steps = MOST_STEPS;
		if (planted->name) {
			assert_true(setting.calls <= MOST_CALLS);
			for (int call = 0; call < setting.calls; call++)
				called[call] = cs_algorithm_by_name(planted->coll, planted->name);
			setting.algorithms = called;
			int nodes = setting.senders ? 7 : 2, size = setting.senders ? 2 : 3;
			for (int node = 0; node <= nodes; node++)
				setting.sizes[node] = node < nodes ? size : 0;
			setting.cyclic = false;
		}
		wrong += goes_wrong(run, &setting);
		run_clear(run);
	}
	free(run);
	return wrong;
}

/* With as many steps. */
TEST(wrong_interleavings_are_seen)
{
	for (size_t i = 0; i < COUNT(faults); i++) {
		int right = wrong_cases(&faults[i], NONE),
		    wrong = wrong_cases(&faults[i], faults[i].fault);
		if (right)
			fail_msg("%d of %d cases go wrong without a fault", right, faults[i].cases);
		print_message("%s: %d of %d\n", faults[i].what, wrong, faults[i].cases);
		if (wrong < faults[i].least)
			fail_msg("%s is seen in %d of %d cases", faults[i].what, wrong,
				 faults[i].cases);
	}
}

/* What the leaders of two nodes say of a collective of the host's. */
struct said_of_one {
	enum cs_coll coll;
	int root;
	size_t bytes[2];
	bool blocks;
};

static void
nothing_to_wait_for(void)
{
}

static void
keep_left(void *out, const void *left, const void *right, size_t count)
{
	(void)right;
	memmove(out, left, count);
}

static void
make_collective(struct world *world, int node, const struct said_of_one *one)
{
	static char buffers[2][64];
	static struct cs_request requests[2];
	struct seat *seat = &world->leaders[2 * node];
	const struct cs_host *host = world->teams[0].host;
	const struct cs_reduction sum = { .unit = 1, .kernel = keep_left };
	const size_t at[] = { 0, 32 };
	struct cs_request *request = one->blocks ? NULL : &requests[node];
	if (one->coll == CS_BCAST)
		host->bcast(seat, buffers[node], one->bytes[0], one->root, request);
	else if (one->coll == CS_ALLGATHERV)
		host->allgatherv(seat, buffers[node], one->bytes, at, request);
	else if (one->coll == CS_GATHERV)
		host->gatherv(seat, buffers[node], one->bytes, at, one->root, request);
	else
		host->allreduce(seat, buffers[node], one->bytes[0], &sum, request);
	while (request && node && !*world->failure && !host->test(request))
		;
}

static bool
is_seen(const struct said_of_one *first, const struct said_of_one *second)
{
	static const struct setting setting = {
		.sizes = { 2, 2 }, .shape = { .slots = 2, .slot_bytes = 4096, .area_slots = 2,
					      .area_bytes = 4096 },
	};
	struct world world;
	world_make(&world, setting.sizes, false, 1, &setting.shape, 1);
	world.wait = nothing_to_wait_for;
	make_collective(&world, 0, first);
	make_collective(&world, 1, second);
	bool is_wrong = *world.failure;
	world_clear(&world);
	return is_wrong;
}

TEST(leaders_that_disagree_are_seen)
{
	static const struct {
		struct said_of_one first, second;
		bool is_wrong;
	} cases[] = {
		{ { CS_BCAST, 0, { 8 }, true }, { CS_BCAST, 0, { 8 }, true }, false },
		{ { CS_BCAST, 0, { 8 }, true }, { CS_BCAST, 1, { 8 }, true }, true },
		{ { CS_BCAST, 0, { 8 }, true }, { CS_BCAST, 0, { 9 }, true }, true },
		{ { CS_BCAST, 0, { 8 }, true }, { CS_BCAST, 0, { 8 }, false }, true },
		{ { CS_ALLGATHERV, 0, { 3, 5 }, false }, { CS_ALLGATHERV, 0, { 3, 5 }, false },
		  false },
		{ { CS_ALLGATHERV, 0, { 3, 5 }, false }, { CS_ALLGATHERV, 0, { 4, 5 }, false },
		  true },
		{ { CS_GATHERV, 1, { 3, 0 }, false }, { CS_GATHERV, 1, { 3, 5 }, false }, false },
		{ { CS_GATHERV, 1, { 2, 0 }, false }, { CS_GATHERV, 1, { 3, 5 }, false }, true },
		{ { CS_ALLREDUCE, 0, { 8 }, false }, { CS_ALLREDUCE, 0, { 7 }, false }, true },
		{ { CS_BCAST, 0, { 8 }, false }, { CS_ALLREDUCE, 0, { 8 }, false }, true },
		{ { CS_ALLREDUCE, 0, { 8 }, false }, { CS_GATHERV, 0, { 2, 0 }, false }, true },
	};
	for (size_t i = 0; i < COUNT(cases); i++)
		if (is_seen(&cases[i].first, &cases[i].second) != cases[i].is_wrong)
			fail_msg("case %zu is %sseen", i, cases[i].is_wrong ? "not " : "");
}

RUN_TESTS(NULL, NULL)
