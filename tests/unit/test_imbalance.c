/* Patterns of lateness, and what data dependencies allow, on examples that a hand can reckon. */
#include "unit.h"

#include "base/clock.h"
#include "trace/imbalance.h"

#define RANKS 6

static const int nodes_of_two[RANKS] = { 0, 0, 1, 1, 2, 2 };
static const struct cs_imbalance_job job = { .ranks = RANKS, .nodes = 3,
					     .node_of = nodes_of_two };

static struct cs_imbalance
pattern(const char *text)
{
	char complaint[300];
	struct cs_imbalance imbalance;
	if (cs_imbalance_read(text, &imbalance, complaint, sizeof complaint) != CS_OK)
		fail_msg("%s", complaint);
	return imbalance;
}

static void
expect_delays(const char *text, uint64_t call, const int64_t expected[RANKS])
{
	struct cs_imbalance imbalance = pattern(text);
	for (int rank = 0; rank < RANKS; rank++) {
		int64_t delay = cs_imbalance_delay(&imbalance, &job, call, rank);
		if (delay != expected[rank])
			fail_msg("%s, call %llu, rank %d: %lld ns, expected %lld", text,
				 (unsigned long long)call, rank, (long long)delay,
				 (long long)expected[rank]);
	}
}

TEST(patterns_say_who_is_late_and_by_how_much)
{
	(void)state;
	expect_delays("none", 3, (int64_t[RANKS]){ 0 });
	expect_delays("late:4:2ms", 0, (int64_t[RANKS]){ 0, 0, 0, 0, 2000000, 0 });
	expect_delays("late:0:1.5us", 9, (int64_t[RANKS]){ 1500 });
	expect_delays("first-node", 1, (int64_t[RANKS]){ 2000000, 2000000 });
	expect_delays("last-node:7ns", 1, (int64_t[RANKS]){ 0, 0, 0, 0, 7, 7 });
	expect_delays("turning:1s", 0, (int64_t[RANKS]){ 0, 1000000000 });
	expect_delays("turning:1s", 5, (int64_t[RANKS]){ 1000000000 });
	expect_delays("turning:1s", 6, (int64_t[RANKS]){ 0, 0, 1000000000 });
}

/* Each rank is late as often as any, behind each root as often as any. */
TEST(turning_comes_round_to_all_pairs_of_root_and_late)
{
	struct cs_imbalance imbalance = pattern("turning:2ms");
	int seen[RANKS][RANKS] = { { 0 } };
	(void)state;
	for (uint64_t call = 0; call < RANKS * RANKS; call++)
		for (int rank = 0; rank < RANKS; rank++)
			seen[call % RANKS][rank] +=
				cs_imbalance_delay(&imbalance, &job, call, rank) > 0;
	for (int root = 0; root < RANKS; root++)
		for (int rank = 0; rank < RANKS; rank++)
			assert_int_equal(seen[root][rank], 1);
}

TEST(random_delays_are_the_same_for_the_same_seed)
{
	const char *const texts[] = { "uniform:500us", "exponential:300us" };
	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct cs_imbalance one = pattern(texts[i]), same = one, other = one;
		int differing = 0;
		other.seed = 2;
		for (uint64_t call = 0; call < 50; call++)
			for (int rank = 0; rank < RANKS; rank++) {
				int64_t delay = cs_imbalance_delay(&one, &job, call, rank);
				assert_int_equal(delay,
						 cs_imbalance_delay(&same, &job, call, rank));
				differing += delay != cs_imbalance_delay(&other, &job, call, rank);
			}
		assert_true(differing > 290);
	}
	/* These are what the first release gave: a pattern does not change between two. */
	struct cs_imbalance uniform = pattern("uniform:500us"), tail = pattern("exponential:300us");
	assert_int_equal(cs_imbalance_delay(&uniform, &job, 0, 0), 346756);
	assert_int_equal(cs_imbalance_delay(&tail, &job, 0, 0), 109795);
}

TEST(random_delays_have_their_mean_and_their_ends)
{
	struct cs_imbalance uniform = pattern("uniform:500us"), tail = pattern("exponential:300us");
	double sum = 0, sum_of_tail = 0, above_two_means = 0;
	int64_t least = INT64_MAX, most = 0;
	const int calls = 20000;
	(void)state;
	for (uint64_t call = 0; call < (uint64_t)calls; call++) {
		int64_t delay = cs_imbalance_delay(&uniform, &job, call, 1);
		int64_t far = cs_imbalance_delay(&tail, &job, call, 1);
		assert_true(delay >= 0 && delay <= 500000 && far >= 0);
		sum += (double)delay;
		sum_of_tail += (double)far;
		above_two_means += far > 600000;
		least = delay < least ? delay : least;
		most = delay > most ? delay : most;
	}
	assert_true(sum / calls > 245e3 && sum / calls < 255e3);
	assert_true(least < 1000 && most > 499000);
	assert_true(sum_of_tail / calls > 291e3 && sum_of_tail / calls < 309e3);
	assert_true(above_two_means / calls > 0.125 && above_two_means / calls < 0.146); /* e^-2 */
}

TEST(bad_patterns_are_answered)
{
	const char *const texts[] = { "", "uniform", "uniform:", "uniform:500", "uniform:500us:1",
				      "uniform:-1us", "uniform:101s", "uniform:nanus", "late:2ms",
				      "late:1", "late:x:2ms", "late:-1:2ms", "late:1:2ms:",
				      "turning", "none:1us", "file", "file:", "first-node:", "node",
				      "exponential",
				      "uniform:999999999999999999999999999999999999999999999us" };
	(void)state;
	for (size_t i = 0; i < COUNT(texts); i++) {
		char complaint[400] = "";
		struct cs_imbalance imbalance = { .late = 42 };
		if (cs_imbalance_read(texts[i], &imbalance, complaint, sizeof complaint) !=
		    CS_BAD_INPUT)
			fail_msg("'%s' was read", texts[i]);
		assert_contains(complaint, "is not none, uniform:500us, late:RANK:2ms");
		assert_int_equal(imbalance.late, 42);
	}
	char complaint[400] = "";
	struct cs_imbalance late = pattern("late:6:2ms");
	assert_int_equal(cs_imbalance_fits(&late, 7, complaint, sizeof complaint), CS_OK);
	assert_int_equal(cs_imbalance_fits(&late, 6, complaint, sizeof complaint), CS_BAD_INPUT);
	assert_string_equal(complaint, "late:6: expected a rank from 0 to 5");
}

/* --- the bound -------------------------------------------------------------------------------- */

static const int64_t arrivals[RANKS] = { 30, 10, 50, 0, 20, 40 };

static void
expect_earliest(const struct cs_dependence *dependence, const int64_t expected[RANKS])
{
	int64_t earliest[RANKS];
	cs_imbalance_earliest(dependence, arrivals, earliest);
	for (int rank = 0; rank < RANKS; rank++)
		if (earliest[rank] != expected[rank])
			fail_msg("%s, root %d, rank %d: %lld, expected %lld",
				 cs_colls[dependence->coll].name, dependence->root, rank,
				 (long long)earliest[rank], (long long)expected[rank]);
}

TEST(who_waits_for_whom_follows_from_the_collective)
{
	static const enum cs_coll all_for_all[] = {
		CS_ALLGATHER, CS_ALLGATHERV, CS_ALLREDUCE, CS_ALLTOALL, CS_ALLTOALLV, CS_ALLTOALLW,
		CS_BARRIER, CS_REDUCE_SCATTER, CS_REDUCE_SCATTER_BLOCK };
	static const enum cs_coll to_root[] = { CS_REDUCE, CS_GATHER, CS_GATHERV },
				  from_root[] = { CS_BCAST, CS_SCATTER, CS_SCATTERV },
				  prefix[] = { CS_SCAN, CS_EXSCAN };
	const int64_t all[RANKS] = { 50, 50, 50, 50, 50, 50 },
		      root[RANKS] = { 30, 10, 50, 50, 20, 40 },
		      others[RANKS] = { 40, 40, 50, 40, 40, 40 },
		      below[RANKS] = { 30, 30, 50, 50, 50, 50 };
	(void)state;
	for (size_t i = 0; i < COUNT(all_for_all); i++)
		expect_earliest(&(struct cs_dependence){ .coll = all_for_all[i], .ranks = RANKS },
				all);
	for (size_t i = 0; i < COUNT(to_root); i++)
		expect_earliest(&(struct cs_dependence){ .coll = to_root[i], .ranks = RANKS,
							 .root = 3 }, root);
	for (size_t i = 0; i < COUNT(from_root); i++)
		expect_earliest(&(struct cs_dependence){ .coll = from_root[i], .ranks = RANKS,
							 .root = 5 }, others);
	for (size_t i = 0; i < COUNT(prefix); i++)
		expect_earliest(&(struct cs_dependence){ .coll = prefix[i], .ranks = RANKS },
				below);
}

static bool
goes_to_the_next(const void *context, int from, int to)
{
	return to == (from + *(const int *)context) % RANKS;
}

TEST(nobody_waits_for_blocks_without_bytes)
{
	const size_t sizes[RANKS] = { 8, 8, 0, 8, 8, 0 };
	const int one = 1;
	(void)state;
	/* The last one brings nothing. */
	expect_earliest(&(struct cs_dependence){ .coll = CS_ALLGATHERV, .ranks = RANKS,
						 .sizes = sizes },
			(int64_t[RANKS]){ 30, 30, 50, 30, 30, 40 });
	expect_earliest(&(struct cs_dependence){ .coll = CS_GATHERV, .ranks = RANKS,
						 .sizes = sizes, .root = 3 },
			(int64_t[RANKS]){ 30, 10, 50, 30, 20, 40 });
	/* And here gets nothing. */
	expect_earliest(&(struct cs_dependence){ .coll = CS_SCATTERV, .ranks = RANKS,
						 .sizes = sizes, .root = 0 },
			(int64_t[RANKS]){ 30, 30, 50, 30, 30, 40 });
	expect_earliest(&(struct cs_dependence){ .coll = CS_REDUCE_SCATTER, .ranks = RANKS,
						 .sizes = sizes },
			(int64_t[RANKS]){ 50, 50, 50, 50, 50, 40 });
	expect_earliest(&(struct cs_dependence){ .coll = CS_ALLTOALLV, .ranks = RANKS,
						 .has_pair = goes_to_the_next, .context = &one },
			(int64_t[RANKS]){ 40, 30, 50, 50, 20, 40 });
	expect_earliest(&(struct cs_dependence){ .coll = CS_ALLREDUCE, .ranks = RANKS,
						 .is_empty = true }, arrivals);
	expect_earliest(&(struct cs_dependence){ .coll = CS_BARRIER, .ranks = RANKS,
						 .is_empty = true },
			(int64_t[RANKS]){ 50, 50, 50, 50, 50, 50 });
}

TEST(measures_of_a_call)
{
	const int64_t exits[RANKS] = { 33, 12, 60, 52, 21, 41 };
	struct cs_dependence reduce = { .coll = CS_REDUCE, .ranks = RANKS, .root = 3 };
	struct cs_imbalance_times times;
	int64_t earliest[RANKS];
	(void)state;
	cs_imbalance_measure(&reduce, arrivals, exits, earliest, &times);
	assert_true(times.mean == (3 + 2 + 10 + 52 + 1 + 1) / 6.0);
	assert_true(times.bound == 50 / 6.0);
	assert_true(times.after_last == 10 && times.last_exit == 60 && times.spread == 50);
}

TEST(nobody_comes_before_his_time)
{
	(void)state;
	for (uint64_t late = 0; late <= 400000; late += 100000) {
		uint64_t at = cs_clock_ns() + late;
		cs_imbalance_come_at(at);
		assert_true(cs_clock_ns() >= at);
	}
}

RUN_TESTS(NULL, NULL)
