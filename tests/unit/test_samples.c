/* Tests trace/samples.h: how long was waited in calls whose records are together. */
#include "unit.h"

#include "coll/coll.h"
#include "trace/samples.h"

#include <string.h>

enum { RANKS = 4, MOST = 16 };

static struct told {
	int count;
	uint64_t rows[MOST], took[MOST], waited[MOST];
} told;

static void
tell(void *user, uint64_t row, uint64_t took_ns, uint64_t waited_ns)
{
	struct told *to = user;
	assert_true(to->count < MOST);
	to->rows[to->count] = row;
	to->took[to->count] = took_ns;
	to->waited[to->count++] = waited_ns;
}

/* Rank r comes at 100, 400, 200, 300 and all leave at 1000; rows are 1 + rank. */
static void
fill(struct cs_sampled_call *samples, enum cs_coll coll, int root)
{
	static const int64_t arrived[RANKS] = { 100, 400, 200, 300 };
	for (int rank = 0; rank < RANKS; rank++)
		samples[rank] = (struct cs_sampled_call){
			.comm = 7, .call = 3, .arrived_ns = arrived[rank], .left_ns = 1000,
			.row = 1 + (uint64_t)rank, .rank = rank, .size = RANKS, .root = root,
			.coll = coll,
		};
}

static void
expect(enum cs_coll coll, int root, const uint64_t waited[RANKS])
{
	struct cs_sampled_call samples[RANKS];
	static const uint64_t took[RANKS] = { 900, 600, 800, 700 };
	fill(samples, coll, root);
	told.count = 0;
	cs_samples_tell(samples, RANKS, tell, &told);
	assert_int_equal(told.count, RANKS);
	for (int rank = 0; rank < RANKS; rank++) {
		assert_int_equal(told.rows[rank], 1 + rank);
		assert_int_equal(told.took[rank], took[rank]);
		assert_int_equal(told.waited[rank], waited[rank]);
	}
}

TEST(a_rank_waits_for_those_that_it_depends_on)
{
	(void)state;
	expect(CS_ALLREDUCE, 0, (const uint64_t[]){ 300, 0, 200, 100 });
	expect(CS_BARRIER, 0, (const uint64_t[]){ 300, 0, 200, 100 });
	expect(CS_BCAST, 1, (const uint64_t[]){ 300, 0, 200, 100 });
	expect(CS_BCAST, 3, (const uint64_t[]){ 200, 0, 100, 0 });
	expect(CS_REDUCE, 0, (const uint64_t[]){ 300, 0, 0, 0 });
	expect(CS_SCAN, 0, (const uint64_t[]){ 0, 0, 200, 100 });
}

TEST(what_is_not_whole_is_left_out)
{
	struct cs_sampled_call samples[3 * RANKS];
	(void)state;
	/* Two calls whole, in no order, and of a third one a rank is missing. */
	fill(samples, CS_ALLREDUCE, 0);
	memcpy(samples + RANKS, samples, RANKS * sizeof *samples);
	memcpy(samples + 2 * RANKS, samples, (RANKS - 1) * sizeof *samples);
	for (int i = 0; i < RANKS; i++) {
		samples[RANKS + i].call = 1;
		samples[RANKS + i].row = i == 2 ? 9 : 0;
		samples[i].row = i == 0 ? 8 : 0;
		samples[2 * RANKS + i].call = 2;
	}
	struct cs_sampled_call first = samples[0];
	samples[0] = samples[6];
	samples[6] = first;
	told.count = 0;
	cs_samples_tell(samples, 3 * RANKS - 1, tell, &told);
	assert_int_equal(told.count, 2);
	assert_int_equal(told.rows[0], 9);
	assert_int_equal(told.waited[0], 200);
	assert_int_equal(told.rows[1], 8);
	assert_int_equal(told.waited[1], 300);
	/* Ranks that do not say the same of a call. */
	fill(samples, CS_BCAST, 1);
	samples[2].root = 0;
	told.count = 0;
	cs_samples_tell(samples, RANKS, tell, &told);
	fill(samples, CS_BCAST, 1);
	samples[2].coll = CS_REDUCE;
	cs_samples_tell(samples, RANKS, tell, &told);
	cs_samples_tell(samples, 0, tell, &told);
	assert_int_equal(told.count, 0);
}

TEST(nobody_waits_longer_than_it_was_there)
{
	struct cs_sampled_call samples[RANKS];
	(void)state;
	fill(samples, CS_ALLREDUCE, 0);
	/* Clocks apart: the last one came when the first had left already. */
	samples[1].arrived_ns = 5000;
	samples[1].left_ns = 5600;
	samples[2].left_ns = 150; /* before it came */
	told.count = 0;
	cs_samples_tell(samples, RANKS, tell, &told);
	assert_int_equal(told.count, 3);
	assert_int_equal(told.waited[0], 900);
	assert_int_equal(told.took[0], 900);
	assert_int_equal(told.waited[1], 0);
	assert_int_equal(told.rows[2], 4);
}

TEST(calls_are_sampled_whichever_their_period)
{
	(void)state;
	for (uint64_t call = 0; call < CS_SAMPLES_FIRST; call++)
		assert_true(cs_samples_want(call));
	for (uint64_t period = 2; period <= 16; period++) {
		unsigned met = 0;
		for (uint64_t call = CS_SAMPLES_FIRST; call < 64 * CS_SAMPLES_EVERY; call++)
			if (cs_samples_want(call))
				met |= 1u << call % period;
		assert_int_equal(met, (1u << period) - 1);
	}
}

RUN_TESTS(NULL, NULL)
