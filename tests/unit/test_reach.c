/* shm/reach.h: which way large blocks take, from what was measured; and when it is measured. */
#include "unit.h"

#include "shm/reach.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define SOON 40 /* calls, within which the first trial is over */

/* What a call takes on some machine, in nanoseconds; `first`: more that the first call after a change takes. */
struct machine {
	uint64_t staged, direct, first;
};

struct owner {
	struct cs_reach reach;
	_Atomic uint32_t pace[CS_REACH_WAYS];
	enum cs_reach_way last;
	int direct; /* calls */
};

#define BYTES (64 << 10)

static void
make_calls(struct owner *owner, int calls, struct machine machine)
{
	for (int i = 0; i < calls; i++) {
		struct cs_reach *reach = &owner->reach;
		if (cs_reach_is_on_trial(reach))
			cs_reach_judge(reach, owner->pace[CS_REACH_STAGED], owner->pace[CS_REACH_DIRECT]);
		enum cs_reach_way way = cs_reach_next(reach);
		uint64_t took = way == CS_REACH_DIRECT ? machine.direct : machine.staged;
		if (cs_reach_is_timed(reach))
			cs_reach_note(&owner->pace[way], BYTES, took + (way != owner->last ? machine.first : 0));
		owner->last = way;
		owner->direct += way == CS_REACH_DIRECT;
	}
}

static const struct machine direct_wins = { .staged = 7300, .direct = 3300 };
static const struct machine staged_wins = { .staged = 3000, .direct = 6000 };
static const struct machine staged_wins_by_far = { .staged = 3000, .direct = 60000 };
static const struct machine much_alike = { .staged = 5000, .direct = 4800 };

static void
what_takes_less_is_found_in_the_first_trial(void **state)
{
	struct owner owner = { .reach = { .trial = CS_REACH_CALLS } };
	make_calls(&owner, SOON, direct_wins);
	assert_int_equal(owner.reach.way, CS_REACH_DIRECT);
	make_calls(&owner, 10000, direct_wins);
	assert_int_equal(owner.reach.way, CS_REACH_DIRECT);
	assert_true(owner.direct > 9900);
}

static void
what_takes_more_is_not_kept(void **state)
{
	struct owner owner = { .reach = { .trial = CS_REACH_CALLS } };
	make_calls(&owner, 10000, staged_wins);
	assert_int_equal(owner.reach.way, CS_REACH_STAGED);
	assert_in_range(owner.direct, CS_REACH_CALLS, 10 * CS_REACH_CALLS);
}

/* Such a trial ends early. */
static void
what_takes_much_more_is_given_up_at_once(void **state)
{
	struct owner owner = { .reach = { .trial = CS_REACH_CALLS } };
	make_calls(&owner, SOON, staged_wins_by_far);
	assert_in_range(owner.direct, 2, CS_REACH_CALLS - 1);
}

/* A twentieth is not worth a change. */
static void
what_is_much_alike_stays_as_it_was(void **state)
{
	struct owner owner = { .reach = { .trial = CS_REACH_CALLS } };
	make_calls(&owner, 10000, much_alike);
	assert_int_equal(owner.reach.way, CS_REACH_STAGED);
	make_calls(&owner, 40000, direct_wins);
	assert_int_equal(owner.reach.way, CS_REACH_DIRECT);
	make_calls(&owner, 40000, (struct machine){ .staged = 4800, .direct = 5000 });
	assert_int_equal(owner.reach.way, CS_REACH_DIRECT);
}

/* Cores may come to share a cache, or not, while a job runs. */
static void
a_change_of_the_machine_is_noticed(void **state)
{
	struct owner owner = { .reach = { .trial = CS_REACH_CALLS } };
	make_calls(&owner, 10000, direct_wins);
	make_calls(&owner, 40000, staged_wins);
	assert_int_equal(owner.reach.way, CS_REACH_STAGED);
	make_calls(&owner, 40000, direct_wins);
	assert_int_equal(owner.reach.way, CS_REACH_DIRECT);
}

/* The first call of a way is not timed: it finds the caches as the other way left them. */
static void
the_price_of_the_change_does_not_count(void **state)
{
	struct owner owner = { .reach = { .trial = CS_REACH_CALLS } };
	make_calls(&owner, SOON, (struct machine){ .staged = 7300, .direct = 3300, .first = 100000 });
	assert_int_equal(owner.reach.way, CS_REACH_DIRECT);
}

/* One call of each way in four is disturbed. */
static void
what_disturbs_does_not_decide(void **state)
{
	for (int quiet = 0; quiet < 2; quiet++) {
		struct owner owner = { .reach = { .trial = CS_REACH_CALLS } };
		struct machine machine = quiet ? direct_wins : staged_wins;
		for (int i = 0; i < 2000; i++) {
			struct machine disturbed = machine;
			disturbed.staged *= i % 4 == 0 ? 50 : 1;
			disturbed.direct *= i % 4 == 2 ? 50 : 1;
			make_calls(&owner, 1, disturbed);
		}
		assert_int_equal(owner.reach.way, quiet ? CS_REACH_DIRECT : CS_REACH_STAGED);
	}
}

static void
without_readers_nothing_is_judged(void **state)
{
	struct cs_reach reach = { .trial = CS_REACH_CALLS };
	int direct = 0;
	for (int i = 0; i < 10000; i++) {
		if (cs_reach_is_on_trial(&reach))
			cs_reach_judge(&reach, i % 2 ? 5000 : 0, i % 2 ? 0 : 5000);
		direct += cs_reach_next(&reach) == CS_REACH_DIRECT;
	}
	assert_int_equal(reach.way, CS_REACH_STAGED);
	assert_in_range(direct, CS_REACH_CALLS, 10 * CS_REACH_CALLS);
}

static void
trials_become_rare(void **state)
{
	struct owner owner = { .reach = { .trial = CS_REACH_CALLS } };
	make_calls(&owner, 100000, staged_wins);
	int before = owner.direct;
	make_calls(&owner, 160000, staged_wins);
	assert_in_range(owner.direct - before, 8 * CS_REACH_CALLS, 11 * CS_REACH_CALLS);
}

static void
sizes_are_told_apart(void **state)
{
	static const size_t first[CS_REACH_SIZES] = { CS_REACH_LEAST, 32 << 10, 128 << 10, 512 << 10, 2 << 20 };
	for (int size = 0; size < CS_REACH_SIZES; size++) {
		assert_int_equal(cs_reach_size(first[size]), size);
		if (size)
			assert_int_equal(cs_reach_size(first[size] - 1), size - 1);
	}
	assert_int_equal(cs_reach_size(SIZE_MAX), CS_REACH_SIZES - 1);
}

static void
a_pace_is_a_time_a_byte(void **state)
{
	_Atomic uint32_t pace = 0;
	cs_reach_note(&pace, 1000, 250);
	assert_in_range(pace, 250, 251); /* picoseconds */
	cs_reach_note(&pace, 1000, 1000000000000);
	assert_in_range(pace, 251, 4 * 251);
	cs_reach_note(&pace, 1, 1000000000000);
	for (int i = 0; i < 100; i++)
		cs_reach_note(&pace, 1, 1000000000000);
	assert_int_equal(pace, UINT32_MAX);
	cs_reach_note(&pace, 1 << 30, 0);
	assert_true(pace > 0);
}

static void
memory_is_readable_or_not(void **state)
{
	struct cs_readable readable = { .next = 0 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	assert_int_equal(mprotect(memory + 3 * page, page, PROT_NONE), 0);
	if (!cs_reach_may_read(&readable, memory, page))
		leave_out("no process may read the memory of another here");
	assert_false(cs_reach_may_read(&readable, memory, page + 1));
	errno = EBUSY; /* the program's */
	assert_false(cs_reach_may_read(&readable, memory + page, page + 1));
	assert_int_equal(errno, EBUSY);
	assert_true(cs_reach_may_read(&readable, memory + 2 * page + 1, page - 1));
	assert_false(cs_reach_may_read(&readable, memory + 2 * page, page + 1));
	assert_false(cs_reach_may_read(&readable, memory + page - 1, 2));
	assert_false(cs_reach_may_read(&readable, memory, 0));
	munmap(memory, 4 * page);
}

/* What was tried lately is not tried again. */
static void
known_memory_is_not_tried_again(void **state)
{
	struct cs_readable readable = { .next = 0 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (1 + CS_READABLE_KNOWN) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	if (!cs_reach_may_read(&readable, memory, page))
		leave_out("no process may read the memory of another here");
	assert_int_equal(munmap(memory, page), 0);
	assert_true(cs_reach_may_read(&readable, memory + 1, page - 1));
	for (size_t i = 1; i <= CS_READABLE_KNOWN; i++)
		assert_true(cs_reach_may_read(&readable, memory + i * page, page));
	assert_false(cs_reach_may_read(&readable, memory + 1, page - 1));
	munmap(memory + page, CS_READABLE_KNOWN * page);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_takes_less_is_found_in_the_first_trial),
		cmocka_unit_test(what_takes_more_is_not_kept),
		cmocka_unit_test(what_takes_much_more_is_given_up_at_once),
		cmocka_unit_test(what_is_much_alike_stays_as_it_was),
		cmocka_unit_test(a_change_of_the_machine_is_noticed),
		cmocka_unit_test(the_price_of_the_change_does_not_count),
		cmocka_unit_test(what_disturbs_does_not_decide),
		cmocka_unit_test(without_readers_nothing_is_judged),
		cmocka_unit_test(trials_become_rare),
		cmocka_unit_test(sizes_are_told_apart),
		cmocka_unit_test(a_pace_is_a_time_a_byte),
		cmocka_unit_test(memory_is_readable_or_not),
		cmocka_unit_test(known_memory_is_not_tried_again),
	};
	return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
