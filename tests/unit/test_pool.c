/* shm/pool.h: whose idle nodes are, which of them are told, how many stay, and what they are when
 * they go. */
#include "unit.h"

#include "shm/pool.h"

#include <pthread.h>

static struct cs_node
made(size_t bytes, uint64_t key)
{
	struct cs_node node = { .key = key };
	assert_int_equal(cs_segment_create(&node.segment, bytes, CS_SHM_AUTO), CS_OK);
	cs_segment_seal(&node.segment);
	node.segment.charge = node.segment.bytes / 4;
	return node;
}

/* Both: the bytes that were closed, whose charge is told, too. */
static size_t
put(struct cs_node *node)
{
	uint64_t charge = 7;
	size_t bytes = cs_pool_put(node, true, &charge);
	assert_int_equal(charge, bytes / 4);
	return bytes;
}

static size_t
evict(size_t least)
{
	uint64_t charge = 7;
	size_t bytes = cs_pool_evict(least, &charge);
	assert_int_equal(charge, bytes / 4);
	return bytes;
}

#define BYTES ((size_t)64 << 10) /* whole pages of any machine */
#define MINE 11
#define OTHER 13

static int
offered(uint64_t key, uint64_t names[CS_POOL_IDLE])
{
	int count = 0;
	cs_pool_offer(key, names);
	while (count < CS_POOL_IDLE && names[count])
		count++;
	return count;
}

TEST(a_node_is_for_its_own_processes_and_has_a_name_of_its_own)
{
	struct cs_node node = made(BYTES, MINE), other = made(BYTES, OTHER), taken = { .calls = 0 };
	uint64_t names[CS_POOL_IDLE], again[CS_POOL_IDLE];
	void *base = node.segment.base;
	node.calls = 7;
	assert_int_equal(put(&node), 0);
	assert_null(node.segment.base);
	assert_int_equal(put(&other), 0);
	assert_int_equal(offered(0, names), 0);
	assert_int_equal(offered(MINE, names), 1);
	assert_int_equal(offered(MINE, again), 0); /* it waits */
	cs_pool_take(0, NULL);
	assert_int_equal(offered(MINE, again), 1);
	assert_true(names[0] == again[0]);
	cs_pool_take(names[0], &taken);
	assert_ptr_equal(taken.segment.base, base);
	assert_int_equal(taken.calls, 7);
	assert_int_equal(offered(MINE, again), 0);
	/* A process that has made another number of calls with it has another name for it. */
	taken.calls++;
	assert_int_equal(put(&taken), 0);
	assert_int_equal(offered(MINE, again), 1);
	assert_true(names[0] != again[0]);
	cs_pool_take(0, NULL);
	/* Nobody knows whose it is. */
	node = made(BYTES, 0);
	assert_int_equal(put(&node), BYTES);
	assert_int_equal(evict(SIZE_MAX), 2 * BYTES);
}

static void *
offer_elsewhere(void *names)
{
	cs_pool_offer(MINE, names);
	cs_pool_take(0, NULL);
	return NULL;
}

static void *
put_and_offer(void *names)
{
	struct cs_node node = made(BYTES, MINE);
	assert_int_equal(put(&node), 0);
	return offer_elsewhere(names);
}

TEST(threads_offer_what_they_have_put_and_else_what_others_have)
{
	uint64_t names[CS_POOL_IDLE], theirs[CS_POOL_IDLE];
	pthread_t thread;
	struct cs_node node = made(BYTES, MINE);
	assert_int_equal(put(&node), 0);
	assert_int_equal(pthread_create(&thread, NULL, offer_elsewhere, theirs), 0);
	pthread_join(thread, NULL);
	assert_true(theirs[0] != 0 && theirs[1] == 0);
	assert_int_equal(offered(MINE, names), 1);
	assert_true(names[0] == theirs[0]);
	assert_int_equal(pthread_create(&thread, NULL, put_and_offer, theirs), 0);
	pthread_join(thread, NULL);
	assert_true(theirs[0] != names[0] && theirs[1] == 0);
	cs_pool_take(0, NULL);
	assert_int_equal(evict(SIZE_MAX), 2 * BYTES);
}

TEST(the_first_go_where_there_are_too_many)
{
	uint64_t names[CS_POOL_IDLE], first[CS_POOL_IDLE];
	struct cs_node node = made(2 * BYTES, MINE);
	assert_int_equal(put(&node), 0);
	assert_int_equal(offered(MINE, first), 1);
	cs_pool_take(0, NULL);
	for (int i = 1; i < CS_POOL_IDLE; i++) {
		node = made(BYTES, MINE);
		assert_int_equal(put(&node), 0);
	}
	assert_int_equal(offered(MINE, names), CS_POOL_IDLE);
	assert_true(names[CS_POOL_IDLE - 1] == first[0]);
	cs_pool_take(0, NULL);
	node = made(BYTES, MINE);
	assert_int_equal(put(&node), 2 * BYTES);
	/* By bytes, too, but some stay in any case. */
	for (int i = 0; i < 2 * CS_POOL_LEAST; i++) {
		node = made(CS_POOL_BYTES / 2, OTHER);
		put(&node);
	}
	assert_int_equal(offered(OTHER, names), CS_POOL_LEAST);
	/* What is offered stays. */
	assert_int_equal(evict(SIZE_MAX), 0);
	cs_pool_take(0, NULL);
	assert_int_equal(evict(1), CS_POOL_BYTES / 2);
	assert_int_equal(evict(SIZE_MAX), (CS_POOL_LEAST - 1) * (CS_POOL_BYTES / 2));
}

/* Two processes' views of one segment: what one has closed is of no use to the other. */
TEST(what_another_process_has_closed_goes_as_well)
{
	struct cs_node mine = { .key = MINE }, theirs = { .key = MINE }, other = made(BYTES, OTHER);
	uint64_t names[CS_POOL_IDLE], charge;
	for (int has_put = 0; has_put < 2; has_put++) {
		assert_int_equal(cs_segment_create(&mine.segment, BYTES, CS_SHM_AUTO), CS_OK);
		assert_int_equal(cs_segment_attach(&theirs.segment, &mine.segment.handle), CS_OK);
		cs_segment_seal(&mine.segment);
		cs_segment_seal(&theirs.segment);
		mine.segment.charge = 5;
		if (has_put) {
			assert_int_equal(put(&mine), 0);
			assert_int_equal(put(&other), 0);
			assert_int_equal(cs_pool_evict_dropped(&charge), 0);
		}
		assert_int_equal(cs_pool_put(&theirs, false, &charge), BYTES);
		assert_int_equal(charge, 0);
		size_t closed = has_put ? cs_pool_evict_dropped(&charge)
					: cs_pool_put(&mine, true, &charge);
		assert_int_equal(closed, BYTES);
		assert_int_equal(charge, 5);
		assert_int_equal(offered(MINE, names), 0);
	}
	assert_true(cs_pool_has_idle());
	assert_int_equal(evict(SIZE_MAX), BYTES);
	assert_false(cs_pool_has_idle());
}

RUN_TESTS(NULL, NULL)
