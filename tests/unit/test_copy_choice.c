/* shm/copy_choice.h: which way large blocks take, from what was measured; and when it is
 * measured. */
#include "unit.h"

#include "shm/copy_choice.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define SOON 40 /* calls, within which the first trial is over */

/* What a call takes on some machine, in nanoseconds; `first`: more that the first call after a
 * change takes. */
struct machine {
	uint64_t copied_in, single_copy, first;
};

struct owner {
	struct cs_copy_choice choice;
	_Atomic uint32_t ps_per_byte[CS_COPY_CHOICES];
	enum cs_copy_protocol last;
	int single_copy; /* calls */
};

#define BYTES (64 << 10)

static void
make_calls(struct owner *owner, int calls, struct machine machine)
{
	for (int i = 0; i < calls; i++) {
		struct cs_copy_choice *choice = &owner->choice;
		if (choice->trial.is_over) {
			const struct cs_trial_times times = {
				.way = { owner->ps_per_byte[CS_COPY_IN_COPY_OUT],
					 owner->ps_per_byte[CS_SINGLE_COPY] } };
			cs_trial_judge(&choice->trial, choice->calls, &times);
		}
		enum cs_copy_protocol way = cs_copy_choice_next(choice);
		uint64_t took = way == CS_SINGLE_COPY ? machine.single_copy : machine.copied_in;
		if (cs_copy_choice_is_timed(choice))
			cs_copy_choice_note(&owner->ps_per_byte[way], BYTES,
					    took + (way != owner->last ? machine.first : 0));
		owner->last = way;
		owner->single_copy += way == CS_SINGLE_COPY;
	}
}

static const struct machine single_copy_wins = { .copied_in = 7300, .single_copy = 3300 };
static const struct machine copied_in_wins = { .copied_in = 3000, .single_copy = 6000 };
static const struct machine copied_in_wins_by_far = { .copied_in = 3000, .single_copy = 60000 };
static const struct machine much_alike = { .copied_in = 5000, .single_copy = 4800 };

TEST(what_takes_less_is_found_in_the_first_trial)
{
	struct owner owner = { .single_copy = 0 };
	make_calls(&owner, SOON, single_copy_wins);
	assert_int_equal(owner.choice.trial.serving, CS_SINGLE_COPY);
	make_calls(&owner, 10000, single_copy_wins);
	assert_int_equal(owner.choice.trial.serving, CS_SINGLE_COPY);
	assert_true(owner.single_copy > 9900);
}

TEST(what_takes_more_is_not_kept)
{
	struct owner owner = { .single_copy = 0 };
	make_calls(&owner, 10000, copied_in_wins);
	assert_int_equal(owner.choice.trial.serving, CS_COPY_IN_COPY_OUT);
	assert_in_range(owner.single_copy, 10, 60);
}

/* Such a way is not tried again soon. */
TEST(what_takes_much_more_is_given_up_at_once)
{
	struct owner owner = { .single_copy = 0 };
	make_calls(&owner, 100, copied_in_wins_by_far);
	assert_in_range(owner.single_copy, 2, 4);
}

/* A twentieth is not worth a change. */
TEST(what_is_much_alike_stays_as_it_was)
{
	struct owner owner = { .single_copy = 0 };
	make_calls(&owner, 10000, much_alike);
	assert_int_equal(owner.choice.trial.serving, CS_COPY_IN_COPY_OUT);
	make_calls(&owner, 40000, single_copy_wins);
	assert_int_equal(owner.choice.trial.serving, CS_SINGLE_COPY);
	make_calls(&owner, 40000, (struct machine){ .copied_in = 4800, .single_copy = 5000 });
	assert_int_equal(owner.choice.trial.serving, CS_SINGLE_COPY);
}

/* Cores may come to share a cache, or not, while a job runs. */
TEST(a_change_of_the_machine_is_noticed)
{
	struct owner owner = { .single_copy = 0 };
	make_calls(&owner, 10000, single_copy_wins);
	make_calls(&owner, 40000, copied_in_wins);
	assert_int_equal(owner.choice.trial.serving, CS_COPY_IN_COPY_OUT);
	make_calls(&owner, 40000, single_copy_wins);
	assert_int_equal(owner.choice.trial.serving, CS_SINGLE_COPY);
}

/* The first call of a way is not timed: it finds the caches as the other way left them. */
TEST(the_cost_of_the_change_does_not_count)
{
	struct owner owner = { .single_copy = 0 };
	make_calls(&owner, SOON,
		   (struct machine){ .copied_in = 7300, .single_copy = 3300, .first = 100000 });
	assert_int_equal(owner.choice.trial.serving, CS_SINGLE_COPY);
}

/* One call of each way in four is disturbed. */
TEST(what_disturbs_does_not_decide)
{
	for (int quiet = 0; quiet < 2; quiet++) {
		struct owner owner = { .single_copy = 0 };
		struct machine machine = quiet ? single_copy_wins : copied_in_wins;
		for (int i = 0; i < 2000; i++) {
			struct machine disturbed = machine;
			disturbed.copied_in *= i % 4 == 0 ? 50 : 1;
			disturbed.single_copy *= i % 4 == 2 ? 50 : 1;
			make_calls(&owner, 1, disturbed);
		}
		assert_int_equal(owner.choice.trial.serving,
				 quiet ? CS_SINGLE_COPY : CS_COPY_IN_COPY_OUT);
	}
}

TEST(without_readers_nothing_is_judged)
{
	struct cs_copy_choice choice = { .calls = 0 };
	int single_copy = 0;
	for (int i = 0; i < 10000; i++) {
		if (choice.trial.is_over)
			cs_trial_judge(&choice.trial, choice.calls, &(struct cs_trial_times){
				.way = { i % 2 ? 5000 : 0, i % 2 ? 0 : 5000 } });
		single_copy += cs_copy_choice_next(&choice) == CS_SINGLE_COPY;
	}
	assert_int_equal(choice.trial.serving, CS_COPY_IN_COPY_OUT);
	assert_in_range(single_copy, 10, 60);
}

TEST(trials_become_rare)
{
	struct owner owner = { .single_copy = 0 };
	make_calls(&owner, 100000, copied_in_wins);
	int before = owner.single_copy;
	make_calls(&owner, 160000, copied_in_wins);
	assert_in_range(owner.single_copy - before, 40, 60);
}

TEST(sizes_are_told_apart)
{
	static const size_t first[CS_COPY_CHOICE_SIZES] =
		{ 1, 32 << 10, 128 << 10, 512 << 10, 2 << 20 };
	for (int size = 0; size < CS_COPY_CHOICE_SIZES; size++) {
		assert_int_equal(cs_copy_choice_size(first[size]), size);
		if (size)
			assert_int_equal(cs_copy_choice_size(first[size] - 1), size - 1);
	}
	assert_int_equal(cs_copy_choice_size(SIZE_MAX), CS_COPY_CHOICE_SIZES - 1);
}

TEST(picoseconds_per_byte_are_a_time_a_byte)
{
	_Atomic uint32_t ps_per_byte = 0;
	cs_copy_choice_note(&ps_per_byte, 1000, 250);
	assert_in_range(ps_per_byte, 250, 251); /* picoseconds */
	cs_copy_choice_note(&ps_per_byte, 1000, 1000000000000);
	assert_in_range(ps_per_byte, 251, 4 * 251);
	cs_copy_choice_note(&ps_per_byte, 1, 1000000000000);
	for (int i = 0; i < 100; i++)
		cs_copy_choice_note(&ps_per_byte, 1, 1000000000000);
	assert_int_equal(ps_per_byte, UINT32_MAX);
	cs_copy_choice_note(&ps_per_byte, 1 << 30, 0);
	assert_true(ps_per_byte > 0);
}

TEST(memory_is_readable_or_not)
{
	struct cs_readable readable = { .next = 0 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	assert_int_equal(mprotect(memory + 3 * page, page, PROT_NONE), 0);
	if (!cs_single_copy_may_read(&readable, memory, page))
		leave_out("no process may read the memory of another here");
	assert_false(cs_single_copy_may_read(&readable, memory, page + 1));
	errno = EBUSY; /* the program's */
	assert_false(cs_single_copy_may_read(&readable, memory + page, page + 1));
	assert_int_equal(errno, EBUSY);
	assert_true(cs_single_copy_may_read(&readable, memory + 2 * page + 1, page - 1));
	assert_false(cs_single_copy_may_read(&readable, memory + 2 * page, page + 1));
	assert_false(cs_single_copy_may_read(&readable, memory + page - 1, 2));
	assert_false(cs_single_copy_may_read(&readable, memory, 0));
	munmap(memory, 4 * page);
}

/* What was tried lately is not tried again. */
TEST(known_memory_is_not_tried_again)
{
	struct cs_readable readable = { .next = 0 };
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, (1 + CS_READABLE_KNOWN) * page, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	if (!cs_single_copy_may_read(&readable, memory, page))
		leave_out("no process may read the memory of another here");
	assert_int_equal(munmap(memory, page), 0);
	assert_true(cs_single_copy_may_read(&readable, memory + 1, page - 1));
	for (size_t i = 1; i <= CS_READABLE_KNOWN; i++)
		assert_true(cs_single_copy_may_read(&readable, memory + i * page, page));
	assert_false(cs_single_copy_may_read(&readable, memory + 1, page - 1));
	munmap(memory + page, CS_READABLE_KNOWN * page);
}

RUN_TESTS(NULL, NULL)
