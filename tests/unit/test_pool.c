/* shm/pool.h: whose idle segments are, how many of them stay, and what they are when they go. */
#include "unit.h"

#include "shm/pool.h"

#define BYTES ((size_t)8 << 10)

static const int64_t pair[] = { 11, 12 }, other_pair[] = { 11, 13 };

/* Shared by `pids`, and noted. */
static struct cs_segment
made(size_t bytes, const int64_t *pids)
{
	struct cs_segment segment = { .fd = -1 };
	assert_int_equal(cs_segment_create(&segment, bytes, CS_SHM_AUTO), CS_OK);
	cs_segment_seal(&segment);
	segment.charge = segment.bytes / 4;
	cs_pool_remember(&segment, pids, 2);
	return segment;
}

static size_t
evict(void)
{
	uint64_t charge = 7;
	size_t bytes = cs_pool_evict(false, &charge);
	assert_int_equal(charge, bytes / 4);
	assert_false(cs_pool_has_idle());
	return bytes;
}

static void
a_segment_is_for_its_own_processes_and_size(void **state)
{
	struct cs_segment segment = made(BYTES, pair), taken = { .fd = -1 };
	struct cs_segment_ticket ticket = { .bytes = 0 };
	void *base = segment.base;
	assert_false(cs_pool_offer(pair, 2, BYTES, &ticket)); /* in use */
	assert_true(cs_pool_put(&segment));
	assert_null(segment.base);
	assert_false(cs_pool_offer(other_pair, 2, BYTES, &ticket));
	assert_false(cs_pool_offer(pair, 1, BYTES, &ticket));
	assert_false(cs_pool_offer(pair, 2, 2 * BYTES, &ticket));
	assert_true(cs_pool_offer(pair, 2, BYTES - 1, &ticket)); /* as many pages */
	assert_int_equal(ticket.bytes, BYTES);
	assert_true(cs_pool_take(&ticket, &taken));
	assert_ptr_equal(taken.base, base);
	assert_false(cs_pool_take(&ticket, &segment));
	assert_false(cs_pool_offer(pair, 2, BYTES, &ticket));
	cs_pool_forget(&taken);
	assert_false(cs_pool_put(&taken)); /* nobody knows whose it is */
	cs_segment_close(&taken);
}

static void
a_few_stay_and_their_bytes_are_told_when_they_go(void **state)
{
	struct cs_segment idle[CS_POOL_IDLE], more = made(4 * BYTES, pair), taken = { .fd = -1 };
	struct cs_segment_ticket ticket;
	for (int i = 0; i < CS_POOL_IDLE; i++) {
		idle[i] = made(BYTES, i ? pair : other_pair);
		assert_true(cs_pool_put(&idle[i]));
	}
	assert_false(cs_pool_put(&more));
	assert_non_null(more.base);
	/* For one that is in use again another one has room. */
	assert_true(cs_pool_offer(other_pair, 2, BYTES, &ticket));
	assert_true(cs_pool_take(&ticket, &taken));
	assert_true(cs_pool_put(&more));
	assert_false(cs_pool_put(&taken));
	assert_int_equal(evict(), (CS_POOL_IDLE - 1 + 4) * BYTES);
	assert_int_equal(evict(), 0);
	assert_false(cs_pool_offer(pair, 2, BYTES, &ticket));
	/* What was in use is as it was. */
	memset((char *)taken.base + CS_SEGMENT_HEADER, 1, taken.bytes - CS_SEGMENT_HEADER);
	assert_true(cs_pool_put(&taken));
	assert_int_equal(evict(), BYTES);
}

/* Two processes' views of one segment: what one has closed is of no use to the other. */
static void
what_another_process_has_closed_goes_as_well(void **state)
{
	struct cs_segment mine = { .fd = -1 }, theirs = { .fd = -1 }, other = made(BYTES, other_pair);
	struct cs_segment_ticket ticket;
	uint64_t charge;
	assert_int_equal(cs_segment_create(&mine, BYTES, CS_SHM_AUTO), CS_OK);
	assert_int_equal(cs_segment_attach(&theirs, &mine.ticket), CS_OK);
	cs_segment_seal(&mine);
	cs_segment_seal(&theirs);
	mine.charge = 5;
	cs_pool_remember(&mine, pair, 2);
	assert_true(cs_pool_put(&mine));
	assert_true(cs_pool_put(&other));
	assert_int_equal(cs_pool_evict(true, &charge), 0);
	((struct cs_segment_head *)theirs.base)->is_dropped = 1;
	assert_int_equal(cs_pool_evict(true, &charge), BYTES);
	assert_int_equal(charge, 5);
	assert_false(cs_pool_offer(pair, 2, BYTES, &ticket));
	assert_true(cs_pool_offer(other_pair, 2, BYTES, &ticket));
	cs_segment_close(&theirs);
	evict();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_segment_is_for_its_own_processes_and_size),
		cmocka_unit_test(a_few_stay_and_their_bytes_are_told_when_they_go),
		cmocka_unit_test(what_another_process_has_closed_goes_as_well),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
