/* The player (sim/play.h): virtual ranks step the library's own phases in simulated time. Results
 * are what arithmetic says, times are those of the model's closed forms, the same in each run, and
 * a rank that does not see what it waits for is found out. */
#include "unit.h"

#include "sim/play.h"

#define MOST_RANKS 64

/* A message takes 10 + 100 + 20 and 3 a byte behind the first, a copied byte 2, a reduced one 5, a
 * flag 7. */
static const struct cs_model plain = {
	.name = "plain",
	.level = { { .L = 100, .o_send = 10, .o_recv = 20, .G = 3000, .f = 1 },
		   { .L = 100, .o_send = 10, .o_recv = 20, .G = 3000, .f = 1 } },
	.copy = 2000, .reduce = 5000, .flag = 7,
};

struct played {
	int64_t ends[MOST_RANKS];
	struct cs_sim_result result;
	struct cs_play_counts counts;
	enum cs_status status;
	const char *why;
};

static const char *zero; /* name of a parameter that is 0; NULL: all are as by default */
static size_t cma_min;

static void
play(enum cs_coll coll, const char *name, const struct cs_sim_call *shape, bool moves, int deaf,
     const struct cs_model *model, const int64_t *starts, struct played *played)
{
	struct cs_sim_call call = *shape;
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(coll, name);
	size_t params[CS_MAX_PARAMS] = { 0 };
	struct cs_sim *sim;
	assert_non_null(algorithm);
	memset(played, 0, sizeof *played);
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		params[i] = !strcmp("cma_min", algorithm->params[i].name) ? cma_min
			    : zero && !strcmp(zero, algorithm->params[i].name) ? 0
			    : algorithm->params[i].role != CS_ROLE_SENDERS || shape->ppn < 3
			    ? algorithm->params[i].fallback : (size_t)shape->ppn - 1;
	const struct cs_play_options options = { .params = params, .moves = moves, .deaf = deaf };
	call.coll = coll;
	call.is_commutative = true;
	assert_int_equal(cs_sim_call_init(&call), CS_OK);
	played->status = cs_play_create(&sim, &call, algorithm, &options, 0, &played->why);
	/* The second call of a team finds what the first one has left. */
	for (int run = 0; run < 2 && played->status == CS_OK; run++) {
		played->status = cs_sim_run(sim, model, starts, NULL, &played->result);
		int wrong = played->status == CS_OK ? cs_play_wrong_rank(sim) : -1;
		if (wrong >= 0)
			fail_msg("%s:%s, %dx%d%s, root %d, %zu bytes: rank %d has a wrong result",
				 cs_colls[coll].name, name, call.nodes, call.ppn,
				 call.is_cyclic ? " cyclic" : "", call.root, call.bytes, wrong);
	}
	for (int rank = 0; played->status == CS_OK && rank < call.ranks; rank++)
		played->ends[rank] = cs_sim_end_of(sim, rank);
	if (played->status == CS_OK)
		played->counts = cs_play_counts(sim);
	cs_sim_destroy(sim);
	cs_sim_call_fini(&call);
}

/* --- results ---------------------------------------------------------------------------------- */

static size_t
bytes_for(enum cs_coll coll, size_t bytes, int ranks)
{
	size_t parts = cs_coll_is_scattered(&cs_colls[coll]) ? (size_t)ranks : 1;
	return coll == CS_BARRIER ? 0 : bytes * parts;
}

static bool
can(const struct cs_algorithm *algorithm, const struct cs_sim_call *call)
{
	struct cs_facts facts = { .coll = algorithm->coll, .bytes = call->bytes,
				  .ranks = call->nodes * call->ppn, .nodes = call->nodes,
				  .ppn_min = call->ppn, .ppn_max = call->ppn,
				  .is_block_placed = !call->is_cyclic, .is_commutative = true };
	return !cs_algorithm_unmet(algorithm, &facts) && !cs_play_unmet(algorithm);
}

/* Late ranks, so that each is once the last of its node. */
static void
be_late(int64_t *starts, int ranks, int turn)
{
	for (int rank = 0; rank < ranks; rank++)
		starts[rank] = (rank * 7 + turn * 5) % ranks * 900;
}

/* True: it was played. */
static bool
expect_right(const struct cs_algorithm *algorithm, struct cs_sim_call *call, size_t bytes, int turn)
{
	struct played moved, counted;
	int64_t starts[MOST_RANKS];
	int ranks = call->nodes * call->ppn;
	call->coll = algorithm->coll;
	call->root = cs_colls[call->coll].rooted ? turn * 3 % ranks : 0;
	call->bytes = bytes_for(call->coll, bytes, ranks);
	call->distribution = cs_sim_call_has_sizes(call->coll)
			     ? (enum cs_distribution)(turn % CS_DISTRIBUTIONS) : CS_REGULAR;
	if (!can(algorithm, call))
		return false;
	be_late(starts, ranks, turn);
	/* Two thirds by rendezvous. */
	struct cs_model model = cs_models[turn % 2];
	model.rndv = turn % 3 ? 500 : 0;
	model.rts = turn % 3 == 2;
	play(call->coll, algorithm->name, call, true, -1, &model, starts, &moved);
	if (moved.status != CS_OK)
		fail_msg("%s:%s, %dx%d, %zu bytes: %s", cs_colls[call->coll].name, algorithm->name,
			 call->nodes, call->ppn, call->bytes, moved.result.text);
	/* Whether data is moved or not decides nothing. */
	play(call->coll, algorithm->name, call, false, -1, &model, starts, &counted);
	if (counted.status != CS_OK)
		fail_msg("%s:%s, %dx%d, %zu bytes, unmoved: %s", cs_colls[call->coll].name,
			 algorithm->name, call->nodes, call->ppn, call->bytes,
			 counted.result.text);
	assert_memory_equal(moved.ends, counted.ends, (size_t)ranks * sizeof *moved.ends);
	assert_memory_equal(&moved.counts, &counted.counts, sizeof moved.counts);
	assert_int_equal(moved.result.bytes, counted.result.bytes);
	return true;
}

TEST(each_algorithm_is_right_whoever_is_late_and_takes_as_long_without_data)
{
	static const size_t sizes[] = { 8, 1000 / 8 * 8, 20000, 160000 };
	struct cs_sim_call shapes[] = { { .nodes = 1, .ppn = 3 }, { .nodes = 2, .ppn = 2 },
					{ .nodes = 5, .ppn = 3 },
					{ .nodes = 3, .ppn = 4, .is_cyclic = true } };
	int turn = 0, played = 0;
	(void)state;
	for (int i = 0; cs_algorithm_at(i); i++)
		for (size_t shape = 0; shape < COUNT(shapes); shape++, turn++) {
			struct cs_sim_call call = shapes[shape];
			played += expect_right(cs_algorithm_at(i), &call,
					       sizes[(size_t)turn % COUNT(sizes)], turn);
		}
	assert_true(played > 200);
}

TEST(messages_shorter_than_their_room_are_no_rendezvous)
{
	const struct { enum cs_coll coll; const char *name; size_t bytes; int ppn; } cases[] = {
		{ CS_ALLTOALL, "hier:opportunistic", 64, 3 },
		{ CS_GATHERV, "hier:aggregated", 3000, 8 },
		{ CS_SCATTERV, "hier:aggregated", 3000, 8 },
	};
	struct cs_model model = cs_models[0];
	model.rndv = 500;
	(void)state;
	zero = "rma";
	for (size_t i = 0; i < COUNT(cases); i++) {
		const struct cs_sim_call call = { .nodes = 8, .ppn = cases[i].ppn,
						  .bytes = cases[i].bytes };
		struct played played;
		play(cases[i].coll, cases[i].name, &call, true, -1, &model, NULL, &played);
		if (played.status != CS_OK)
			fail_msg("%s: %s", cases[i].name, played.result.text);
	}
	zero = NULL;
}

TEST(opportunistic_messages_meet_late_receivers)
{
	const size_t sizes[] = { 8, 1000, 100000 };
	struct cs_model model = cs_models[0];
	(void)state;
	zero = "rma";
	for (int turn = 0; turn < 12; turn++) {
		struct cs_sim_call call = { .nodes = 2 + turn % 4, .ppn = 3,
					    .bytes = sizes[turn % 3] };
		struct played played;
		int64_t starts[MOST_RANKS];
		model.rndv = 1 + turn % 2 * 499;
		model.rts = turn / 2 % 2;
		be_late(starts, call.nodes * call.ppn, turn);
		play(CS_ALLTOALL, "hier:opportunistic", &call, true, -1, &model, starts, &played);
		if (played.status != CS_OK)
			fail_msg("turn %d: %s", turn, played.result.text);
	}
	zero = NULL;
}

/* --- times ------------------------------------------------------------------------------------ */

static void
expect_ends(enum cs_coll coll, const char *name, struct cs_sim_call call, const int64_t *starts,
	    const int64_t *expected)
{
	struct played played;
	play(coll, name, &call, true, -1, &plain, starts, &played);
	if (played.status != CS_OK)
		fail_msg("%s:%s: %s", cs_colls[coll].name, name, played.result.text);
	for (int rank = 0; rank < call.nodes * call.ppn; rank++)
		if (played.ends[rank] != expected[rank])
			fail_msg("%s:%s: rank %d ends at %lld, expected %lld", cs_colls[coll].name,
				 name, rank, (long long)played.ends[rank],
				 (long long)expected[rank]);
}

/* Flags on a node, LogGP between nodes. */
TEST(a_barrier_takes_its_closed_form)
{
	const int64_t one = 100 + 10 + 20;
	(void)state;
	/* Each looks at the other's line. */
	expect_ends(CS_BARRIER, "hier:host", (struct cs_sim_call){ .nodes = 1, .ppn = 2 }, NULL,
		    (int64_t[]){ 7, 7 });
	expect_ends(CS_BARRIER, "hier:host", (struct cs_sim_call){ .nodes = 1, .ppn = 3 },
		    (int64_t[]){ 0, 1000, 0 }, (int64_t[]){ 1014, 1014, 1007 });
	/* The leader (node 1's is its second rank) looks at the other's line, exchanges an empty
	 * message, and the other one looks at its line. */
	expect_ends(CS_BARRIER, "hier:dissemination", (struct cs_sim_call){ .nodes = 2, .ppn = 2 },
		    NULL, (int64_t[]){ 7 + one, 7 + one + 7, 7 + one + 7, 7 + one });
	/* The MPI's is by the same plan. */
	expect_ends(CS_BARRIER, "hier:host", (struct cs_sim_call){ .nodes = 2, .ppn = 2 }, NULL,
		    (int64_t[]){ 7 + one, 7 + one + 7, 7 + one + 7, 7 + one });
	/* Node 0 waits for the rank that comes last, which finds its message there. */
	expect_ends(CS_BARRIER, "hier:dissemination", (struct cs_sim_call){ .nodes = 2, .ppn = 2 },
		    (int64_t[]){ 0, 0, 0, 500 },
		    (int64_t[]){ 507 + one, 507 + one + 7, 507 + 30 + 7, 507 + 30 });
}

/* A call of 50, 3 for each page, and 11 more for each rank that reads there already. */
TEST(single_copies_take_their_closed_form)
{
	struct cs_model model = plain;
	const struct cs_sim_call call = { .nodes = 1, .ppn = 3, .bytes = 8192 };
	const int64_t first = 7 + 50 + 2 * 3 + 8192 * 2, second = first + 2 * 11;
	struct played played;
	(void)state;
	model.cma = 50;
	model.cma_page = 3;
	model.cma_crowd = 11;
	cma_min = 8192;
	play(CS_BCAST, "hier:host", &call, true, -1, &model, NULL, &played);
	cma_min = 0;
	assert_int_equal(played.status, CS_OK);
	assert_int_equal(played.ends[1], first);
	assert_int_equal(played.ends[2], second);
	assert_int_equal(played.ends[0], second + 7); /* it waits for its readers */
	assert_int_equal(played.counts.copied, 2 * 8192);
}

TEST(single_copies_are_right)
{
	static const enum cs_coll colls[] = { CS_ALLGATHER, CS_ALLTOALL, CS_BCAST, CS_GATHER,
					      CS_SCATTER, CS_ALLREDUCE, CS_REDUCE,
					      CS_REDUCE_SCATTER, CS_ALLTOALLV };
	struct cs_model model = cs_models[0];
	(void)state;
	model.cma = 700000;
	cma_min = 1000;
	for (size_t i = 0; i < COUNT(colls); i++) {
		const struct cs_sim_call call = { .nodes = 1, .ppn = 3, .bytes = 48000 };
		struct played played;
		play(colls[i], "hier:host", &call, true, -1, &model, NULL, &played);
		if (played.status != CS_OK)
			fail_msg("%s: %s", cs_colls[colls[i]].name, played.result.text);
	}
	cma_min = 0;
}

/* On a node of more than 16 ranks three read one's memory at a time, as a page's copy takes twice
 * what each further reader adds to it: so a bcast goes along a tree, 0 - 1 - 5 - 16. */
TEST(so_many_read_one_memory_at_a_time_as_in_the_library)
{
	struct cs_model model = plain;
	const struct cs_sim_call call = { .nodes = 1, .ppn = 17, .bytes = 8192 };
	const int64_t alone = 7 + 50 + 2 * 3 + 8192 * 2, crowd = 2 * 4096;
	struct played played;
	(void)state;
	model.cma = 50;
	model.cma_page = 3;
	model.cma_crowd = 4096;
	cma_min = 8192;
	play(CS_BCAST, "hier:host", &call, true, -1, &model, NULL, &played);
	cma_min = 0;
	assert_int_equal(played.status, CS_OK);
	assert_int_equal(played.ends[16], 3 * alone + crowd);
	assert_int_equal(played.counts.copied, 16 * 8192);
}

/* --- faults ----------------------------------------------------------------------------------- */

TEST(a_rank_that_does_not_hear_is_found_out)
{
	struct played played;
	const struct cs_sim_call call = { .nodes = 2, .ppn = 3 };
	(void)state;
	play(CS_BARRIER, "hier:dissemination", &call, true, 3, &plain, NULL, &played);
	assert_int_equal(played.status, CS_BAD_INPUT);
	assert_string_equal(played.result.text, "rank 3 waits for ever for a line of its node");
}

TEST(what_cannot_be_played_says_so)
{
	struct played played;
	const struct cs_sim_call call = { .nodes = 2, .ppn = 2, .bytes = 8 };
	(void)state;
	play(CS_BCAST, "multicast", &call, false, -1, &plain, NULL, &played);
	assert_int_equal(played.status, CS_UNSUPPORTED);
	assert_non_null(strstr(played.why, "multicast"));
	play(CS_BCAST, "binomial", &call, false, -1, &plain, NULL, &played);
	assert_int_equal(played.status, CS_UNSUPPORTED);
	/* As the library, whose rounds would be of no element. */
	const struct cs_sim_call many = { .nodes = 2048, .ppn = 32, .bytes = 2 << 20 };
	play(CS_REDUCE_SCATTER, "hier:pairwise", &many, false, -1, &plain, NULL, &played);
	assert_int_equal(played.status, CS_UNSUPPORTED);
	assert_non_null(strstr(played.why, "no room for an element"));
}

RUN_TESTS(NULL, NULL)
