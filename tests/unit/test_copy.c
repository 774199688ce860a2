/* shm/copy.h: which way large copies into shared memory take, from what they took; and that they
 * copy. */
#include "unit.h"

#include "shm/copy.h"

#define SETTLE (1 << 20)
#define PIECE (128 << 10)

/* A machine on which a copy takes so many nanoseconds per KiB, each way; a cached one to a line
 * that was streamed last: `turn`, for `ring` bytes after the change; a streamed one among cached
 * ones: `burst`, 0: as any. */
struct machine {
	uint64_t cached, streamed, turn, burst;
	size_t ring, since; /* bytes put cached since the last streamed one */
};

static void
put_piece(struct cs_copy_policy *policy, struct machine *machine)
{
	size_t trial = cs_copy_policy_trial(policy, PIECE), rest = PIECE - trial;
	assert_true(trial <= PIECE);
	if (trial)
		cs_copy_policy_note(policy, CS_COPY_STREAMED, trial,
				    (machine->burst ? machine->burst : machine->streamed) * trial /
				    1024);
	if (policy->way == CS_COPY_STREAMED) {
		   machine->since = 0;
		cs_copy_policy_note(policy, CS_COPY_STREAMED, rest,
				    machine->streamed * rest / 1024);
	} else {
		uint64_t took = machine->since < machine->ring ? machine->turn : machine->cached;
		machine->since += rest;
		cs_copy_policy_note(policy, CS_COPY_CACHED, rest, took * rest / 1024);
	}
}

/* So many pieces; returns how many went past the cache. */
static int
put_pieces(struct cs_copy_policy *policy, int count, struct machine machine)
{
	int streamed = 0;
	for (int i = 0; i < count; i++) {
		put_piece(policy, &machine);
		streamed += policy->way == CS_COPY_STREAMED;
	}
	return streamed;
}

static const struct machine near_cores = { .cached = 40, .streamed = 40 },
			    far_cores = { .cached = 400, .streamed = 40 },
				    between = { .cached = 70, .streamed = 40 };

TEST(near_cores_stay_in_the_cache)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, 10000, near_cores);
	assert_int_equal(policy.way, CS_COPY_CACHED);
}

TEST(far_cores_go_past_it_as_soon_as_memory_is_known)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, SETTLE / PIECE - 1, far_cores);
	assert_int_equal(policy.way, CS_COPY_CACHED); /* nothing was tried in memory that is new to
						       * all */
	put_pieces(&policy, 1, far_cores);
	assert_int_equal(policy.way, CS_COPY_STREAMED);
	assert_in_range(put_pieces(&policy, 10000, far_cores), 9800, 10000);
}

/* Cached copies are slow as long as the ring remembers the streamed ones, then fast. */
TEST(cached_puts_get_the_time_they_need)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, 100, far_cores);
	assert_int_equal(policy.way, CS_COPY_STREAMED);
	struct machine machine = { .cached = 35, .streamed = 40, .turn = 160, .ring = SETTLE };
	put_pieces(&policy, (256 << 20) / PIECE, machine);
	assert_int_equal(policy.way, CS_COPY_CACHED);
	assert_int_equal(put_pieces(&policy, 10000,
				    (struct machine){ .cached = 35, .streamed = 40 }), 0);
}

/* What streaming costs the readers must be paid for. */
TEST(less_than_twice_is_not_enough)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	assert_int_equal(put_pieces(&policy, 10000, between), 0);
}

/* A short copy's reader waits for its first line. */
TEST(less_than_four_times_is_not_enough_for_short_ones)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_SHORT_ONES, SETTLE);
	assert_int_equal(put_pieces(&policy, 10000,
				    (struct machine){ .cached = 140, .streamed = 40 }), 0);
	assert_in_range(put_pieces(&policy, 10000,
				   (struct machine){ .cached = 200, .streamed = 40 }), 5000, 10000);
	assert_int_equal(policy.way, CS_COPY_STREAMED);
	assert_int_equal(cs_copy_kind(CS_COPY_LONG - 1), CS_COPY_SHORT_ONES);
	assert_int_equal(cs_copy_kind(CS_COPY_LONG), CS_COPY_LONG_ONES);
}

/* Ranks that are moved: away from each other it shows in each put, together in the next trial, 128
 * MiB off at most. */
TEST(both_ways_and_back)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, 10000, near_cores);
	put_pieces(&policy, 8, far_cores);
	assert_int_equal(policy.way, CS_COPY_STREAMED);
	put_pieces(&policy, 10000, far_cores);
	put_pieces(&policy, (256 << 20) / PIECE, near_cores);
	assert_int_equal(put_pieces(&policy, 10000, near_cores), 0);
}

/* Of what a rank copies, some is read by ranks that share a cache with it and some by others. */
TEST(the_mean_of_near_and_far_counts)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	for (int i = 0; i < 1000; i++) {
		put_pieces(&policy, 1, near_cores);
		put_pieces(&policy, 1, far_cores);
	}
	assert_int_equal(policy.way, CS_COPY_STREAMED);
}

/* A rank that loses its core in the middle of a copy. */
TEST(what_happens_now_and_then_says_nothing)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	for (int i = 0; i < 1000; i++) {
		put_pieces(&policy, 1, (struct machine){ .cached = 100000, .streamed = 100000 });
		put_pieces(&policy, 7, near_cores);
		assert_int_equal(policy.way, CS_COPY_CACHED);
	}
}

/* First 4 MiB, in the end 128 MiB apart; of 64K where copies are cached, of two pieces where they
 * are streamed and cached ones are beyond hope. */
TEST(trials_become_rare)
{
	const size_t all = (size_t)4 << 30;
	struct cs_copy_policy policy;
	size_t tried = 0;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	for (size_t bytes = 0; bytes < all; bytes += PIECE) {
		size_t trial = cs_copy_policy_trial(&policy, PIECE);
		tried += trial;
		assert_true(trial == 0 || trial == 64 << 10);
		cs_copy_policy_note(&policy, CS_COPY_CACHED, PIECE, 40 * PIECE / 1024);
	}
	assert_in_range(tried, 10 * (64 << 10), 40 * (64 << 10));

	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, SETTLE / PIECE, far_cores);
	int pieces = (int)(all / PIECE), cached = pieces - put_pieces(&policy, pieces, far_cores);
	assert_in_range(cached, 10, 90);
}

/* Results that fit into the cache, results that do not, and what lies between: 1.3 times is too
 * little. */
TEST(results_go_past_a_cache_that_does_not_hold_them)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_RESULTS, SETTLE);
	assert_int_equal(put_pieces(&policy, 10000,
				    (struct machine){ .cached = 21, .streamed = 38 }), 0);
	assert_int_equal(put_pieces(&policy, 10000,
				    (struct machine){ .cached = 50, .streamed = 38 }), 0);
	assert_in_range(put_pieces(&policy, 20000,
				   (struct machine){ .cached = 65, .streamed = 38 }), 15000, 20000);
	assert_int_equal(policy.way, CS_COPY_STREAMED);
	/* They become fewer: a trial of cached ones, which take long until the cache has them
	 * again. */
	struct machine fewer = { .cached = 21, .streamed = 38, .turn = 65, .ring = SETTLE };
	put_pieces(&policy, ((size_t)1 << 30) / PIECE, fewer);
	assert_int_equal(policy.way, CS_COPY_CACHED);
}

/* Memory takes the few of a trial in at once, but not a row of them. */
TEST(a_trial_that_does_not_hold_is_taken_back)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_RESULTS, SETTLE);
	assert_in_range(put_pieces(&policy, 20000, (struct machine){ .cached = 40, .streamed = 45,
								     .burst = 25 }), 16, 300);
	assert_int_equal(policy.way, CS_COPY_CACHED);
}

/* In the end 512 MiB apart, as the cached ones of a trial take twice the time. */
TEST(trials_of_results_become_rarer)
{
	struct cs_copy_policy policy;
	struct machine beyond = { .cached = 70, .streamed = 38 };
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_RESULTS, SETTLE);
	put_pieces(&policy, (int)(((size_t)4 << 30) / PIECE), beyond);
	int pieces = (int)(((size_t)8 << 30) / PIECE),
	    cached = pieces - put_pieces(&policy, pieces, beyond);
	assert_in_range(cached, 10 * (SETTLE / PIECE), 17 * 3 * (SETTLE / PIECE) / 2);
}

TEST(forced_is_forced)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_ON, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, 10000, near_cores);
	assert_int_equal(policy.way, CS_COPY_STREAMED);
	cs_copy_policy_init(&policy, CS_SWITCH_OFF, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, 10000, far_cores);
	assert_int_equal(policy.way, CS_COPY_CACHED);
}

/* Each way, all alignments against a line at both ends, the trial's seam among them. */
TEST(every_byte_arrives_and_no_other)
{
	enum { MOST = 300 << 10, EDGE = 64 };
	unsigned char *from = malloc(MOST + 2 * EDGE), *to = malloc(MOST + 2 * EDGE);
	assert_non_null(from);
	assert_non_null(to);
	for (size_t i = 0; i < MOST + 2 * EDGE; i++)
		from[i] = (unsigned char)(i * 7 + i / 251);
	const enum cs_switch switches[] = { CS_SWITCH_ON, CS_SWITCH_OFF, CS_SWITCH_AUTO };
	const size_t sizes[] = { CS_COPY_LEAST, CS_COPY_LEAST + 1, CS_COPY_LONG - 1, CS_COPY_LONG,
				 (64 << 10) - 1, 64 << 10, (64 << 10) + 1, 100001, 256 << 10,
				 MOST };
	for (size_t s = 0; s < 3; s++) {
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
			struct cs_copy_policy policy;
			cs_copy_policy_init(&policy, switches[s], cs_copy_kind(sizes[i]), 0);
			for (size_t shift = 0; shift < EDGE; shift += 1 + shift % 7) {
				memset(to, 0xA5, MOST + 2 * EDGE);
				policy.try_at = policy.bytes; /* a trial in each */
				cs_copy_large(&policy, to + shift, from + (shift * 5) % EDGE,
					      sizes[i]);
				assert_memory_equal(to + shift, from + (shift * 5) % EDGE,
						    sizes[i]);
				for (size_t k = 0; k < shift; k++)
					assert_int_equal(to[k], 0xA5);
				for (size_t k = shift + sizes[i]; k < shift + sizes[i] + EDGE; k++)
					assert_int_equal(to[k], 0xA5);
			}
		}
	}
	free(from);
	free(to);
}

RUN_TESTS(NULL, NULL)
