/* shm/copy.h: which way large copies into shared memory take, from what they took; and that they
 * copy. */
#include "unit.h"

#include "shm/copy.h"

#define SETTLE (1 << 20)
#define PIECE (128 << 10)
#define USE (SETTLE / PIECE) /* pieces */

/* A machine on which a copy takes so many nanoseconds per KiB, each way; a cached one to a line
 * that was streamed last: `turn`, for `ring` bytes after the change; a streamed one after a cached
 * one: `burst`, 0: as any. */
struct machine {
	uint64_t cached, streamed, turn, burst;
	size_t ring, since; /* bytes put cached since the last streamed one */
};

/* So many pieces; returns how many went past the cache. */
static int
put_pieces(struct cs_copy_policy *policy, int count, struct machine machine)
{
	int streamed = 0;
	for (int i = 0; i < count; i++) {
		uint64_t took = machine.since < machine.ring ? machine.turn : machine.cached;
		if (cs_copy_policy_next(policy, PIECE) == CS_COPY_STREAMED) {
			took = machine.burst && machine.since ? machine.burst : machine.streamed;
			machine.since = 0;
			streamed++;
		} else {
			machine.since += PIECE;
		}
		cs_copy_policy_note(policy, PIECE, took * PIECE / 1024);
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
	assert_int_equal(policy.trial.serving, CS_COPY_CACHED);
}

TEST(far_cores_go_past_it_as_soon_as_memory_is_known)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	/* Nothing was tried in memory that is new to all, then one use of six. */
	assert_int_equal(put_pieces(&policy, 6 * USE - 1, far_cores), USE);
	assert_int_equal(policy.trial.serving, CS_COPY_CACHED);
	put_pieces(&policy, 1, far_cores);
	assert_int_equal(policy.trial.serving, CS_COPY_STREAMED);
	assert_in_range(put_pieces(&policy, 10000, far_cores), 9800, 10000);
}

/* Cached copies are slow as long as the ring remembers the streamed ones, then fast. */
TEST(cached_puts_get_the_time_they_need)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, 100, far_cores);
	assert_int_equal(policy.trial.serving, CS_COPY_STREAMED);
	struct machine machine = { .cached = 35, .streamed = 40, .turn = 160, .ring = SETTLE };
	put_pieces(&policy, (512 << 20) / PIECE, machine);
	assert_int_equal(policy.trial.serving, CS_COPY_CACHED);
	put_pieces(&policy, 10000, (struct machine){ .cached = 35, .streamed = 40 });
	assert_int_equal(policy.trial.changes, 2);
}

/* What streaming costs the readers must be paid for. */
TEST(less_than_twice_is_not_enough)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	assert_in_range(put_pieces(&policy, 10000, between), USE, 400);
	assert_int_equal(policy.trial.changes, 0);
}

/* A short copy's reader waits for its first line. */
TEST(less_than_four_times_is_not_enough_for_short_ones)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_SHORT_ONES, SETTLE);
	put_pieces(&policy, 10000, (struct machine){ .cached = 140, .streamed = 40 });
	assert_int_equal(policy.trial.changes, 0);
	assert_in_range(put_pieces(&policy, 20000,
				   (struct machine){ .cached = 200, .streamed = 40 }), 10000,
			20000);
	assert_int_equal(policy.trial.serving, CS_COPY_STREAMED);
	assert_int_equal(cs_copy_kind(CS_COPY_LONG - 1), CS_COPY_SHORT_ONES);
	assert_int_equal(cs_copy_kind(CS_COPY_LONG), CS_COPY_LONG_ONES);
}

/* Ranks that are moved: away from each other it shows in each use, together in the next trial. */
TEST(both_ways_and_back)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, 10000, near_cores);
	put_pieces(&policy, 12 * USE, far_cores);
	assert_int_equal(policy.trial.serving, CS_COPY_STREAMED);
	put_pieces(&policy, 10000, far_cores);
	put_pieces(&policy, 300000, near_cores);
	assert_int_equal(policy.trial.serving, CS_COPY_CACHED);
	assert_int_equal(policy.trial.changes, 2);
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
	assert_int_equal(policy.trial.serving, CS_COPY_STREAMED);
}

/* A rank that loses its core in the middle of a copy. */
TEST(what_happens_now_and_then_says_nothing)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	for (int i = 0; i < 1000; i++) {
		put_pieces(&policy, 1, (struct machine){ .cached = 100000, .streamed = 100000 });
		put_pieces(&policy, 7, near_cores);
		assert_int_equal(policy.trial.serving, CS_COPY_CACHED);
	}
}

/* In 4 GiB some windows; two at most where cached ones are beyond hope. */
TEST(trials_become_rare)
{
	int pieces = (int)(((size_t)4 << 30) / PIECE);
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	assert_in_range(put_pieces(&policy, pieces, near_cores), 10 * USE, 50 * USE);

	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_LONG_ONES, SETTLE);
	put_pieces(&policy, 6 * USE, far_cores);
	assert_in_range(pieces - put_pieces(&policy, pieces, far_cores), USE, 10 * USE);
}

/* Results that fit into the cache, results that do not, and what lies between: 1.3 times is too
 * little. */
TEST(results_go_past_a_cache_that_does_not_hold_them)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_RESULTS, SETTLE);
	put_pieces(&policy, 10000, (struct machine){ .cached = 21, .streamed = 38 });
	put_pieces(&policy, 10000, (struct machine){ .cached = 50, .streamed = 38 });
	assert_int_equal(policy.trial.changes, 0);
	assert_in_range(put_pieces(&policy, 20000,
				   (struct machine){ .cached = 65, .streamed = 38 }), 10000, 20000);
	assert_int_equal(policy.trial.serving, CS_COPY_STREAMED);
	/* They become fewer: a trial of cached ones, which take long until the cache has them
	 * again. */
	struct machine fewer = { .cached = 21, .streamed = 38, .turn = 65, .ring = SETTLE };
	put_pieces(&policy, ((size_t)1 << 30) / PIECE, fewer);
	assert_int_equal(policy.trial.serving, CS_COPY_CACHED);
}

/* Memory takes the first in at once, but not a row of them. */
TEST(a_burst_decides_nothing)
{
	struct cs_copy_policy policy;
	cs_copy_policy_init(&policy, CS_SWITCH_AUTO, CS_COPY_RESULTS, SETTLE);
	assert_in_range(put_pieces(&policy, 20000, (struct machine){ .cached = 40, .streamed = 45,
								     .burst = 25 }), USE, 400);
	assert_int_equal(policy.trial.changes, 0);
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

/* Each way, all alignments against a line at both ends. */
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
			cs_copy_policy_init(&policy, switches[s], cs_copy_kind(sizes[i]), 1);
			for (size_t shift = 0; shift < EDGE; shift += 1 + shift % 7) {
				memset(to, 0xA5, MOST + 2 * EDGE);
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
