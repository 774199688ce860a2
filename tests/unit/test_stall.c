/* Reports of a call that hangs, by the words of a node's ranks: whichever rank writes them, and
 * whatever the others do. Six ranks of a node in one process. */
#include "unit.h"

#include "shm/stall.h"

#define RANKS 6
#define NOW UINT64_C(100000000000)
#define SECOND UINT64_C(1000000000)

static struct cs_node nodes[RANKS];
static const struct cs_host host;
static const int rank_of[RANKS] = { 3, 5, 7, 8, 20, 21 };
static char text[4096];

static int
begin(void **state)
{
	(void)state;
	static char *memory;
	struct cs_node_shape shape = { .size = RANKS, .slots = 2, .slot_bytes = 4096 };
	size_t bytes = cs_node_bytes(&shape);
	free(memory);
	memory = aligned_alloc(4096, cs_segment_round(bytes));
	assert_non_null(memory);
	memset(memory, 0, bytes);
	for (int local = 0; local < RANKS; local++) {
		struct cs_segment segment = { .base = memory, .fd = -1 };
		shape.local = local;
		cs_node_init(&nodes[local], &shape, &segment, &host);
		cs_node_init_own(&nodes[local]);
		nodes[local].rank_of = rank_of;
		nodes[local].nodes = 1;
		nodes[local].self->pid = 1000 + local;
	}
	return 0;
}

/* Make one rank leave so many calls. */
static void
pass(int local, int calls)
{
	for (int i = 0; i < calls; i++) {
		struct cs_node_op op;
		cs_node_op_init(&op, &nodes[local], cs_call_signature(CS_BARRIER, 0));
		cs_node_begin(&op);
		cs_node_end(&op);
	}
}

static struct cs_stall
stall_of(int local, uint64_t seconds)
{
	return (struct cs_stall){ .number = nodes[local].calls + 1, .seen_ns = NOW,
				  .since_ns = NOW - seconds * SECOND, .call = 7, .coll = CS_REDUCE,
				  .root = 5, .bytes = 4096, .size = 24, .name = "grid" };
}

static struct cs_stall
wait_in(int local, uint64_t seconds)
{
	struct cs_stall stall = stall_of(local, seconds);
	cs_stall_publish(&nodes[local], &stall);
	return stall;
}

static const char *
told(int local, const struct cs_stall *stall)
{
	FILE *out = fmemopen(text, sizeof text, "w");
	cs_stall_write(out, &nodes[local], stall, ", MPI_INT, MPI_SUM");
	fclose(out);
	return text;
}

/* The lines below the headline. */
static const char *
ranks_told(int local, const struct cs_stall *stall)
{
	return strchr(told(local, stall), '\n') + 1;
}

TEST(a_rank_that_waits_is_told_with_its_call)
{
	struct cs_stall stall = wait_in(0, 61);
	assert_contains(told(0, &stall), "stalled for 61 s: MPI_Reduce on grid (24 ranks), call 7, "
					 "root 5, 4096 bytes, MPI_INT, MPI_SUM, on ");
	stall.coll = CS_NONBLOCKING + CS_BARRIER;
	stall.root = -1;
	stall.bytes = 0;
	*stall.name = '\0';
	stall.since_ns = NOW - SECOND / 4;
	assert_contains(told(0, &stall), "stalled for 0.2 s: MPI_Ibarrier on a communicator (24 "
					 "ranks), call 7, MPI_INT");
}

TEST(each_rank_is_in_one_line_by_what_it_does)
{
	pass(0, 3), pass(1, 3), pass(2, 3), pass(3, 4), pass(4, 1);
	struct cs_stall stall = wait_in(0, 61), elsewhere = stall_of(4, 30);
	wait_in(1, 60);
	/* Local rank 2 has published something, and is busy. */
	struct cs_node_op op;
	cs_node_op_init(&op, &nodes[2], cs_call_signature(CS_REDUCE, 0));
	cs_node_begin(&op);
	cs_node_publish(&op, cs_node_line(&op), 1);
	elsewhere.number = 0;
	elsewhere.coll = CS_BCAST;
	snprintf(elsewhere.site, sizeof elsewhere.site, "app+0x12d1");
	cs_stall_publish(&nodes[4], &elsewhere);
	const char *expected =
		"  waiting in it: ranks 3,5\n"
		"  at work in it: rank 7 (process 1002)\n"
		"  over with it: rank 8 (process 1003)\n"
		"  in another call: rank 20 (process 1004): MPI_Bcast on grid (24 ranks), call 7, "
		"at app+0x12d1, for 30 s\n"
		"  not there: rank 21 (process 1005), 3 calls behind\n";
	assert_string_equal(ranks_told(0, &stall), expected);
	assert_string_equal(ranks_told(1, &stall), expected);
}

TEST(a_wait_that_is_over_is_none)
{
	struct cs_stall stall = wait_in(0, 61), old = stall_of(1, 60), found;
	old.seen_ns = NOW - CS_STALL_FRESH_NS;
	cs_stall_publish(&nodes[1], &old);
	assert_false(cs_stall_look(&nodes[0], 1, NOW, &found));
	assert_false(cs_stall_look(&nodes[0], 2, NOW, &found));
	assert_true(cs_stall_look(&nodes[1], 0, NOW, &found));
	assert_memory_equal(&found, &stall, sizeof stall);
	assert_string_equal(ranks_told(0, &stall),
			    "  waiting in it: rank 3\n"
			    "  not there: ranks 5,7,8,20,21 (processes 1001, 1002, 1003, 1004, "
			    "1005)\n");
	/* One whose writer was killed. */
	atomic_fetch_add(&nodes[0].self->stall.version, 1);
	assert_false(cs_stall_look(&nodes[1], 0, NOW, &found));
	cs_stall_publish(&nodes[0], &stall);
	assert_true(cs_stall_look(&nodes[1], 0, NOW, &found));
}

TEST(who_waits_for_other_nodes_is_told_apart)
{
	struct cs_stall stall = stall_of(1, 60);
	stall.whom = -1;
	cs_stall_publish(&nodes[1], &stall);
	for (int local = 0; local < RANKS; local++)
		nodes[local].nodes = 2;
	for (int local = 2; local < RANKS; local++)
		wait_in(local, 60);
	assert_string_equal(ranks_told(1, &stall),
			    "  waiting in it: ranks 7,8,20,21\n"
			    "  waiting in it for other nodes: rank 5\n"
			    "  not there: rank 3 (process 1000)\n");
}

TEST(rows_of_ranks_are_short)
{
	static const int cyclic[RANKS] = { 1, 5, 9, 13, 14, 15 };
	struct cs_stall stall = wait_in(0, 60);
	nodes[0].rank_of = cyclic;
	for (int local = 1; local < RANKS; local++)
		wait_in(local, 60);
	assert_string_equal(ranks_told(0, &stall), "  waiting in it: ranks 1-13:4,14,15\n");
}

TEST(a_call_is_told_once)
{
	assert_true(cs_stall_is_mine(&nodes[0], 70));
	assert_false(cs_stall_is_mine(&nodes[1], 70));
	assert_false(cs_stall_is_mine(&nodes[1], 69));
	assert_true(cs_stall_is_mine(&nodes[1], 71));
	assert_true(cs_stall_key(&nodes[0], 70) == cs_stall_key(&nodes[1], 70));
	assert_false(cs_stall_key(&nodes[0], 70) == cs_stall_key(&nodes[0], 71));
}

RUN_EACH_TEST(begin, NULL)
