/* Readers of one rank's memory by single copy at the same time: counted in calls of up to 192
 * virtual ranks, each on a stack of its own, of which each copy lasts until all others have had
 * their turn. */
#include "unit.h"
#include "virtual_node.h"

#include "operation_fiber.h"

#include <stdlib.h>

#define BYTES ((size_t)64 << 10)

static struct {
	struct virtual_node virtual;
	struct fiber *fibers[VIRTUAL_MOST];
	int now;                    /* the rank whose turn it is */
	int readers[VIRTUAL_MOST];  /* of each rank */
	int most;                   /* at one rank, at any time */
	bool is_over[VIRTUAL_MOST]; /* calls of ranks, whose memory is the program's again */
	int refused;                /* rank whose memory others cannot read; -1: none */
	unsigned copies, rounds;    /* of all; turns of all in which any was made */
} node = { .refused = -1 };

/* A rank that waits. */
int __wrap_sched_yield(void);
int
__wrap_sched_yield(void)
{
	fiber_yield();
	return 0;
}

static void
told(struct cs_node_op *op, int local, uint64_t step)
{
	(void)op, (void)local, (void)step;
}

static bool
work(struct cs_node_op *op, bool reduces, size_t bytes)
{
	(void)op, (void)reduces, (void)bytes;
	return false;
}

static void
read_it(struct cs_node_op *op, int local, void *to, uint64_t remote, size_t bytes)
{
	(void)op, (void)to, (void)remote;
	assert_true(bytes);
	assert_false(node.is_over[local]);
	if (++node.readers[local] > node.most)
		node.most = node.readers[local];
	node.copies++;
	fiber_yield();
	node.readers[local]--;
}

static const struct cs_node_watch watch = { .told = told, .work = work, .read = read_it };

static void
go_on(void *context)
{
	struct cs_op *op = context;
	while (cs_op_step(op) == CS_AGAIN)
		fiber_yield();
}

static void
add(void *out, const void *left, const void *right, size_t count)
{
	(void)out, (void)left, (void)right, (void)count;
}

/* All ranks make a call, whose data is read by single copy; `late`: a rank that comes when the
 * others can do nothing more; -1: none. */
static void
call(enum cs_coll coll, int ranks, int root, int readers, int late)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(coll, "hier:host");
	size_t params[CS_MAX_PARAMS], each = BYTES / (size_t)ranks;
	char *data = calloc(2, BYTES);
	bool is_scattered = coll == CS_REDUCE_SCATTER_BLOCK;
	size_t count = each * (is_scattered ? (size_t)ranks : 1);
	int left = ranks;
	virtual_make(&node.virtual, "1x1x1024", ranks, 4096, &watch);
	virtual_params(params, algorithm);
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		if (!strcmp(algorithm->params[i].name, "cma_min"))
			params[i] = 1;
	memset(node.readers, 0, sizeof node.readers);
	memset(node.is_over, 0, sizeof node.is_over);
	node.most = 0;
	node.copies = node.rounds = 0;
	for (int rank = 0; rank < ranks; rank++) {
		struct cs_call made = { .coll = coll, .bytes = count, .root = root, .count = count,
					.send = { .base = data, .each = each },
					.recv = { .base = data + BYTES, .each = each },
					.reduction = { .unit = 1, .kernel = add } };
		node.virtual.teams[rank].has_cma = true;
		node.virtual.teams[rank].node.readers = readers;
		node.virtual.teams[rank].node.backoff_until = rank == node.refused ? UINT64_MAX : 0;
		virtual_begin(&node.virtual, rank, algorithm, params, &made);
		node.fibers[rank] = fiber_make(go_on, &node.virtual.ops[rank]);
	}
	for (bool is_late = late >= 0; left;) {
		unsigned before = node.copies;
		int before_left = left;
		for (int rank = 0; rank < ranks; rank++) {
			if (node.is_over[rank] || (is_late && rank == late) ||
			    fiber_resume(node.fibers[rank]))
				continue;
			node.is_over[rank] = true;
			assert_int_equal(node.readers[rank], 0);
			left--;
		}
		node.rounds += node.copies > before;
		is_late = is_late && (node.copies > before || left < before_left);
	}
	for (int rank = 0; rank < ranks; rank++) {
		fiber_drop(node.fibers[rank]);
		virtual_end(&node.virtual, rank);
	}
	virtual_drop(&node.virtual);
	free(data);
}

static void
expect_most(enum cs_coll coll, int ranks, int root, int readers, int late, int wanted)
{
	call(coll, ranks, root, readers, late);
	if (node.most != wanted || !node.copies)
		fail_msg("%s, %d ranks, root %d, %d late: %d readers, not %d; %u copies",
			 cs_colls[coll].name, ranks, root, late, node.most, wanted, node.copies);
}

static int
least(int one, int other)
{
	return one < other ? one : other;
}

/* Numbers of ranks: all up to 24, and some up to 192. */
static int
next(int ranks)
{
	return ranks < 24 ? ranks + 1 : ranks + 56;
}

/* Ranks come one by one, and find the first one there: not limited, all go on from there together,
 * from rank to rank. */
TEST(ranks_that_read_all_others_spread)
{
	static const enum cs_coll colls[] = { CS_ALLGATHER, CS_ALLTOALL };
	for (size_t i = 0; i < sizeof colls / sizeof *colls; i++) {
		for (int ranks = 2; ranks <= VIRTUAL_MOST; ranks = next(ranks)) {
			expect_most(colls[i], ranks, 0, 3, -1, least(3, ranks - 1));
			assert_int_equal(node.copies, ranks * (ranks - 1));
			assert_in_range(node.rounds, ranks - 1, ranks + 4);
		}
		expect_most(colls[i], 192, 0, 0, -1, 191); /* not limited */
	}
}

/* By the order alone: each rank's first is the next one. */
TEST(reductions_begin_with_the_next_rank)
{
	for (int ranks = 3; ranks <= VIRTUAL_MOST; ranks = next(ranks)) {
		expect_most(CS_REDUCE_SCATTER_BLOCK, ranks, 0, 0, -1, 2);
		call(CS_ALLREDUCE, ranks, 0, 3, -1);
		assert_in_range(node.most, 1, 3);
	}
}

/* All others wait for it. */
TEST(a_late_rank_has_no_more_readers_at_once)
{
	for (int ranks = 2; ranks <= VIRTUAL_MOST; ranks = next(ranks)) {
		expect_most(CS_ALLGATHER, ranks, 0, 3, ranks / 2, least(3, ranks - 1));
		expect_most(CS_ALLTOALL, ranks, 0, 3, ranks - 1, least(3, ranks - 1));
	}
	expect_most(CS_ALLGATHER, 24, 0, 0, 5, 23); /* not limited */
}

TEST(a_root_has_no_more_readers_at_once)
{
	for (int ranks = 2; ranks <= VIRTUAL_MOST; ranks = next(ranks)) {
		expect_most(CS_SCATTER, ranks, ranks / 3, 3, -1, least(3, ranks - 1));
		expect_most(CS_GATHER, ranks, ranks / 3, 3, -1, 1);
	}
}

/* Each rank reads once, from one that has it: as many copies follow each other as the tree has
 * rows, and not as all ranks by turns. */
TEST(a_broadcast_is_read_along_a_tree)
{
	static const int fans[] = { 1, 3, 7 };
	for (size_t i = 0; i < sizeof fans / sizeof *fans; i++)
		for (int ranks = 2; ranks <= VIRTUAL_MOST; ranks = next(ranks)) {
			int fan = fans[i], rows = 0;
			for (int reached = 1, row = 1; reached < ranks; rows++)
				reached += row = ranks - 1 > fan ? row * fan : ranks;
			expect_most(CS_BCAST, ranks, ranks / 3, fan, -1, least(fan, ranks - 1));
			assert_int_equal(node.copies, ranks - 1);
			assert_in_range(node.rounds, rows, 2 * rows);
		}
	expect_most(CS_BCAST, 192, 0, 0, -1, 191); /* not limited */
}

/* Its children read the root's memory. */
TEST(a_root_waits_for_all_that_may_read_it)
{
	for (node.refused = 1; node.refused < 24; node.refused++) {
		call(CS_BCAST, 24, 0, 3, -1);
		assert_int_equal(node.copies, 23);
	}
	node.refused = -1;
}

RUN_TESTS(NULL, NULL)
