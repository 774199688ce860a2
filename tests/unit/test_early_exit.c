/* A rank that owes nothing more and needs nothing more leaves, though others have not come: of long
 * blocks and vectors, too, as far as slots allow. */
#include "operation_run.h"

#include <stdlib.h>

#define TURNS 200

static bool has_windows; /* nodes, for what comes from others (wire/rma_window.h) */

/* Only this rank has turns. */
static void
let_go_on(struct run *run, int rank)
{
	for (int other = 0; other < run->world.ranks; other++)
		run->is_starved[other] = other != rank;
	for (int turn = 0; turn < TURNS && !run->over[rank]; turn++) {
		run->quiet = 0;
		run_turn(run);
	}
	if (*run->failure)
		run_say_failure(run);
}

static struct run *
make_run(enum cs_coll coll, const char *name, const int *sizes, size_t each)
{
	static const struct cs_algorithm *algorithm; /* the run keeps where it is */
	algorithm = cs_algorithm_by_name(coll, name);
	struct setting setting = { .seed = 1, .may_be_left = true, .lanes = 1, .calls = 1,
				   .under_way = 1, .is_starving = true, .each = each,
				   .algorithms = &algorithm,
				   .shape = { .slots = 4, .slot_bytes = 8192, .area_slots = 4,
					      .area_bytes = 32 << 10, .spin = 1,
					      .yields = SIZE_MAX, .streams = CS_SWITCH_OFF } };
	struct run *run = calloc(1, sizeof *run);
	assert_non_null(run);
	assert_non_null(algorithm);
	memcpy(setting.sizes, sizes, WORLD_MOST * sizeof *sizes);
	run_make(run, &setting);
	run->world.has_windows = has_windows;
	return run;
}

/* Those that were held back come, and all is right. */
static void
finish(struct run *run)
{
	run->setting.is_starving = false;
	for (long turn = 0; !run_is_over(run) && !*run->failure; turn++) {
		if (turn > 1000000)
			run_fail(run, "; no end");
		run_turn(run);
	}
	run_end(run);
	if (*run->failure)
		run_say_failure(run);
	run_clear(run);
	free(run);
}

/* So many ranks at least leave before those come that are waited for, and then all is right. */
static void
expect_early(enum cs_coll coll, const char *name, const int *sizes, size_t each, bool is_root,
	     int count)
{
	struct run *run = make_run(coll, name, sizes, each);
	int early = 0;
	for (int rank = run->world.ranks - 1; rank >= 0; rank--) {
		if ((rank == 0) != is_root)
			continue;
		let_go_on(run, rank);
		early += run->over[rank];
	}
	if (early < count)
		fail_msg("%s %s, %zu bytes: %d ranks leave at once, and not %d",
			 cs_colls[coll].name, name, each, early, count);
	finish(run);
}

/* Rank 0 is the root. 30000 bytes are four slots. */
TEST(ranks_of_one_node_leave_early)
{
	static const int node[WORLD_MOST] = { 5 };
	static const size_t bytes[] = { 40, 600, 2000, 8000, 30000 };
	for (size_t i = 0; i < COUNT(bytes); i++) {
		expect_early(CS_GATHER, "hier:host", node, bytes[i], false, 4);
		expect_early(CS_REDUCE, "hier:dynamic", node, bytes[i], false, 4);
		expect_early(CS_BCAST, "hier:host", node, bytes[i], true, 1);
	}
	/* A root's ring has the blocks of all. */
	expect_early(CS_SCATTER, "hier:host", node, 40, true, 1);
	expect_early(CS_SCATTER, "hier:host", node, 2000, true, 1);
	expect_early(CS_SCATTER, "hier:host", node, 6000, true, 1);
}

/* On several nodes those that drive nothing. */
TEST(ranks_of_several_nodes_leave_early)
{
	static const int nodes[WORLD_MOST] = { 3, 3 };
	/* A round of a gather has 5461 of each: an operation that is stepped has one area slot. */
	static const size_t bytes[] = { 40, 600, 2000, 5000 };
	for (size_t i = 0; i < COUNT(bytes); i++) {
		expect_early(CS_GATHER, "hier:host", nodes, bytes[i], false, 4);
		/* Who sends to the root leaves when the MPI has the message. */
		expect_early(CS_REDUCE, "hier:dynamic", nodes, bytes[i], false, 4);
	}
	/* Where nodes have windows nobody has to come for the root's words, nor for what the last
	 * one of a node sends. */
	has_windows = true;
	expect_early(CS_BCAST, "hier:dynamic", nodes, 40, true, 1);
	expect_early(CS_BCAST, "hier:dynamic", nodes, 1900, true, 1);
	expect_early(CS_BCAST, "hier:dynamic", nodes, 15000, true, 1); /* eight slots */
	for (size_t i = 0; i < COUNT(bytes); i++)
		expect_early(CS_REDUCE, "hier:dynamic", nodes, bytes[i], false, 5);
	has_windows = false;
	expect_early(CS_BCAST, "hier:dynamic", nodes, 40, true, 0);
}

/* Who has left, a bit each, when one rank has not come, and no other can do anything more. Then it
 * comes, and all is right. */
static unsigned
who_leaves(enum cs_coll coll, const char *name, const int *sizes, size_t each, int missing)
{
	struct run *run = make_run(coll, name, sizes, each);
	unsigned left = 0, before = 1;
	while (left != before) {
		before = left;
		/* What one has done another may have waited for. */
		for (int i = 0; i < run->world.ranks * run->world.ranks; i++) {
			int rank = i % run->world.ranks;
			if (rank != missing)
				let_go_on(run, rank);
			left |= (unsigned)(run->over[rank] > 0) << rank;
		}
	}
	finish(run);
	return left;
}

#define NODE_0 0x07u
#define LAST_RANKS (1u << 2 | 1u << 5)

/* Ranks 0 to 2 on one node, 3 to 5 on another; rank 0 is the root. `stay`: those who carry others'
 * data, or what is chosen for another reason than to leave. */
static const struct {
	enum cs_coll coll;
	const char *name;
	unsigned stay;
} on_two_nodes[] = {
	/* Their leader brings what all of a node have. */
	{ CS_GATHER, "hier:host", 1u << 3 },
	{ CS_GATHERV, "hier:host", 1u << 3 },
	{ CS_REDUCE, "hier:host", 1u << 3 },
	/* What came from a node, its last rank adds to its own node's if it is not the last; where
	 * nodes have windows, of two of them the root does. */
	{ CS_REDUCE, "hier:dynamic", LAST_RANKS },
	{ CS_BCAST, "hier:host", 0 },
	{ CS_BCAST, "hier:dynamic", 0 },
	{ CS_SCATTER, "hier:host", 0 },
	{ CS_SCATTERV, "hier:host", 0 },
	/* Their leader brings the sums of a node, which ranks behind it need. */
	{ CS_SCAN, "hier:host", 1u << 0 | 1u << 3 },
	{ CS_EXSCAN, "hier:host", 1u << 0 | 1u << 3 },
}, on_one_node[] = {
	{ CS_GATHER, "hier:host", 0 },   { CS_GATHERV, "hier:host", 0 },
	{ CS_REDUCE, "hier:host", 0 },   { CS_REDUCE, "hier:dynamic", 0 },
	{ CS_BCAST, "hier:host", 0 },    { CS_BCAST, "hier:dynamic", 0 },
	{ CS_SCATTER, "hier:host", 0 },  { CS_SCATTERV, "hier:host", 0 },
	{ CS_SCAN, "hier:host", 0 },     { CS_EXSCAN, "hier:host", 0 },
};

/* Who need not wait for that rank: its data does not reach them, nor do they carry any of it. */
static unsigned
independent_of(enum cs_coll coll, int ranks, int missing)
{
	unsigned others = ((1u << ranks) - 1) & ~(1u << missing);
	switch (coll) {
	case CS_REDUCE:
	case CS_GATHER:
	case CS_GATHERV: return others & ~1u;
	case CS_SCAN:
	case CS_EXSCAN: return others & ((1u << missing) - 1);
	default: return missing ? others : 0;
	}
}

/* Blocks and vectors that fit into the slots of a call. */
TEST(nobody_waits_for_whom_it_does_not_need)
{
	static const int node[WORLD_MOST] = { 5 }, nodes[WORLD_MOST] = { 3, 3 };
	static const size_t bytes[] = { 40, 600, 2000 };
	for (size_t i = 0; i < COUNT(bytes) * COUNT(on_one_node) * 5; i++) {
		size_t row = i / 5 % COUNT(on_one_node), each = bytes[i / 5 / COUNT(on_one_node)];
		int missing = (int)(i % 5);
		enum cs_coll coll = on_one_node[row].coll;
		unsigned wanted = independent_of(coll, 5, missing);
		unsigned left = who_leaves(coll, on_one_node[row].name, node, each, missing);
		if (wanted & ~left)
			fail_msg("one node, %s %s, %zu bytes: of %#x that need not wait for rank "
				 "%d, only %#x leave", cs_colls[coll].name, on_one_node[row].name,
				 each, wanted, missing, left);
	}
	for (size_t i = 0; i < 2 * COUNT(bytes) * COUNT(on_two_nodes) * 6; i++) {
		size_t row = i / 6 % COUNT(on_two_nodes),
		       each = bytes[i / 6 / COUNT(on_two_nodes) % COUNT(bytes)];
		int missing = (int)(i % 6);
		enum cs_coll coll = on_two_nodes[row].coll;
		unsigned stay = on_two_nodes[row].stay;
		has_windows = i / 6 / COUNT(on_two_nodes) / COUNT(bytes);
		unsigned wanted = independent_of(coll, 6, missing) &
				  ~(has_windows && stay == LAST_RANKS ? 0 : stay);
		/* What a node gets comes by its leader; in a scan when that has all of its own. */
		if (missing == 3 && !strcmp(on_two_nodes[row].name, "hier:host"))
			wanted &= coll == CS_BCAST || coll == CS_SCATTER || coll == CS_SCATTERV
				  ? NODE_0 : ~0u;
		if (coll == CS_SCAN || coll == CS_EXSCAN)
			wanted &= NODE_0;
		unsigned left = who_leaves(coll, on_two_nodes[row].name, nodes, each, missing);
		if (wanted & ~left)
			fail_msg("two nodes%s, %s %s, %zu bytes: of %#x that need not wait for "
				 "rank %d, only %#x leave", has_windows ? " with windows" : "",
				 cs_colls[coll].name, on_two_nodes[row].name, each, wanted,
				 missing, left);
	}
	has_windows = false;
}

/* One rank takes its first step and then no other: the others are over without it. Blocks and
 * vectors that fit into the slots of a rank, four of 8192 bytes. */
TEST(a_rank_that_has_begun_holds_up_nobody)
{
	static const struct {
		enum cs_coll coll;
		size_t most; /* bytes of a block, of five, or of the vector */
	} colls[] = {
		{ CS_BCAST, 32768 },	    { CS_GATHER, 32768 },    { CS_GATHERV, 32768 },
		{ CS_ALLGATHER, 32768 },    { CS_ALLGATHERV, 32768 }, { CS_SCATTER, 6368 },
		{ CS_SCATTERV, 6368 },	    { CS_ALLTOALL, 6400 },   { CS_ALLTOALLV, 6400 },
		{ CS_ALLTOALLW, 6400 },	    { CS_REDUCE, 32768 },    { CS_ALLREDUCE, 32768 },
		{ CS_SCAN, 32768 },	    { CS_EXSCAN, 32768 },    { CS_REDUCE_SCATTER, 6144 },
		{ CS_REDUCE_SCATTER_BLOCK, 6144 }, { CS_BARRIER, 8 },
	};
	static const size_t sizes[] = { 40, 600, 2000, 8192, 8194, 20000, 32768 };
	static const int few[WORLD_MOST] = { 5 }, many[WORLD_MOST] = { 17 };
	for (size_t i = 0; i < COUNT(colls) * COUNT(sizes); i++) {
		enum cs_coll coll = colls[i / COUNT(sizes)].coll;
		size_t each = sizes[i % COUNT(sizes)];
		bool is_for_many = coll == CS_BARRIER || coll == CS_SCAN;
		int ranks = is_for_many ? many[0] : few[0], absent = (int)i % 3 * (ranks - 1) / 2;
		if (each > colls[i / COUNT(sizes)].most)
			each = colls[i / COUNT(sizes)].most;
		struct run *run =
			make_run(coll, "hier:host", is_for_many ? many : few, each);
		let_go_on(run, absent);
		for (int k = 0; k < ranks * ranks; k++)
			if (k % ranks != absent)
				let_go_on(run, k % ranks);
		for (int rank = 0; rank < ranks; rank++)
			if (rank != absent && !run->over[rank])
				fail_msg("%s, %zu bytes: rank %d waits for a step of rank %d",
					 cs_colls[coll].name, each, rank, absent);
		finish(run);
	}
}

RUN_TESTS(NULL, NULL)
