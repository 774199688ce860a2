/* Rendezvous, and non-blocking calls of ranks that compute, against times computed by hand: o_s
 * 300, L 2000, o_r 200 ps, 3 ps for each byte but the first; a word of a rendezvous takes 300 of
 * its sender and comes 2021 later. */
#include "unit.h"

#include "sim/sim.h"

#define RANKS 3
#define LARGE 1000    /* 2997 ps */
#define END { -1 }

static const struct cs_model model = {
	.level = { { .L = 2000, .o_send = 300, .o_recv = 200, .g = 500, .G = 3000, .f = 1 },
		   { .L = 2000, .o_send = 300, .o_recv = 200, .g = 500, .G = 3000, .f = 1 } },
	.copy = 1000, .flag = 100,
};

/* A step of a rank: a message's, whose request it is then, or one inside the node. */
struct line {
	int rank, kind, peer;
	uint64_t amount;
	int request;
};

struct setting {
	int64_t rndv, rts, look;
	struct cs_sim_compute compute;
	int64_t starts[RANKS];
	int node_less; /* rank 2's node is 2 less this */
};

static void
expect(const struct line *lines, const struct setting *setting, const int64_t ends[RANKS])
{
	const int node_of[RANKS] = { 0, 1, 2 - setting->node_less };
	struct cs_sim *sim;
	struct cs_sim_result result;
	struct cs_model used = model;
	used.rndv = setting->rndv;
	used.rts = setting->rts;
	used.look = setting->look;
	assert_int_equal(cs_sim_create(&sim, RANKS, node_of, 0), CS_OK);
	for (; lines->rank >= 0; lines++)
		if (lines->kind <= CS_STEP_WAIT)
			cs_sim_add_message(sim, lines->rank, (enum cs_step_kind)lines->kind,
					   lines->peer, lines->amount, lines->request);
		else
			cs_sim_add_step(sim, lines->rank, (enum cs_node_step)lines->kind,
					lines->peer, lines->amount);
	assert_int_equal(cs_sim_added(sim), CS_OK);
	cs_sim_set_compute(sim, &setting->compute);
	for (int twice = 0; twice < 2; twice++) {
		if (cs_sim_run(sim, &used, setting->starts, NULL, &result) != CS_OK)
			fail_msg("%s", result.text);
		for (int rank = 0; rank < RANKS; rank++)
			if (cs_sim_end_of(sim, rank) != ends[rank])
				fail_msg("rank %d ends at %lld, expected %lld", rank,
					 (long long)cs_sim_end_of(sim, rank),
					 (long long)ends[rank]);
	}
	cs_sim_destroy(sim);
}

/* One message, from rank 0 to rank 1. */
static const struct line large[] = {
	{ 0, CS_STEP_SEND, 1, LARGE, 0 }, { 0, CS_STEP_WAIT, 0, 0, 0 },
	{ 1, CS_STEP_RECV, 0, LARGE, 0 }, { 1, CS_STEP_WAIT, 0, 0, 0 }, END,
};

TEST(large_messages_leave_at_once_without_rendezvous)
{
	expect(large, &(struct setting){ .starts = { 0, 10000 } },
	       (int64_t[]){ 3297, 10200, 0 });
	expect(large, &(struct setting){ .rndv = LARGE, .starts = { 0, 10000 } },
	       (int64_t[]){ 3297, 10200, 0 });
}

TEST(data_leave_when_the_receiver_is_there)
{
	/* 10000 + 300 + 2021 is the sender told, 300 later it sends. */
	expect(large, &(struct setting){ .rndv = LARGE - 1, .starts = { 0, 10000 } },
	       (int64_t[]){ 15618, 17818, 0 });
	/* Who comes last has been told. */
	expect(large, &(struct setting){ .rndv = 100, .starts = { 10000, 0 } },
	       (int64_t[]){ 13297, 15497, 0 });
	/* It is told at 2321, on its way into the call. */
	expect(large, &(struct setting){ .rndv = 100, .starts = { 2000, 0 } },
	       (int64_t[]){ 5618, 7818, 0 });
}

TEST(a_receiver_may_have_to_be_asked)
{
	expect(large, &(struct setting){ .rndv = 100, .rts = 1, .starts = { 0, 10000 } },
	       (int64_t[]){ 15618, 17818, 0 });
	/* Asked at 10300 + 2021, says so 300 + 2021 later; 300 + 2997. */
	expect(large, &(struct setting){ .rndv = 100, .rts = 1, .starts = { 10000, 0 } },
	       (int64_t[]){ 17939, 20139, 0 });
}

/* While rank 0 waits for what comes from rank 2 it sends to rank 1, which is ready before. */
TEST(who_waits_for_something_else_sends_what_is_held)
{
	static const struct line lines[] = {
		{ 0, CS_STEP_SEND, 1, LARGE, 0 }, { 0, CS_STEP_RECV, 2, 1, 1 },
		{ 0, CS_STEP_WAIT, 0, 0, 1 }, { 0, CS_STEP_WAIT, 0, 0, 0 },
		{ 1, CS_STEP_RECV, 0, LARGE, 0 }, { 1, CS_STEP_WAIT, 0, 0, 0 },
		{ 2, CS_STEP_SEND, 0, 1, 0 }, { 2, CS_STEP_WAIT, 0, 0, 0 }, END,
	};
	/* Told at 12321. Rank 2's byte comes at 22300, and 200. */
	expect(lines, &(struct setting){ .rndv = 100, .starts = { 0, 10000, 20000 } },
	       (int64_t[]){ 22500, 17818, 20300 });
}

/* ... and though it is known from the begin that 900 bytes to its own node have left at 2997. */
TEST(who_waits_for_the_rest_of_a_message_sends_what_is_held)
{
	static const struct line lines[] = {
		{ 0, CS_STEP_SEND, 2, 900, 0 }, { 0, CS_STEP_SEND, 1, LARGE, 1 },
		{ 0, CS_STEP_WAIT, 0, 0, 0 }, { 0, CS_STEP_WAIT, 0, 0, 1 },
		{ 1, CS_STEP_RECV, 0, LARGE, 0 }, { 1, CS_STEP_WAIT, 0, 0, 0 },
		{ 2, CS_STEP_RECV, 0, 900, 0 }, { 2, CS_STEP_WAIT, 0, 0, 0 }, END,
	};
	expect(lines, &(struct setting){ .rndv = 950, .node_less = 2 },
	       (int64_t[]){ 5618, 7818, 5197 });
}

/* Two messages of a pair keep their order, though the second begins when both may leave and the
 * first, of a rank that computes, is only due; a small one overtakes them. */
TEST(messages_of_a_pair_meet_in_order)
{
	static const struct line lines[] = {
		{ 0, CS_STEP_SEND, 1, LARGE, 0 }, { 0, CS_NODE_COPY, 0, 5000, 0 },
		{ 0, CS_STEP_SEND, 1, 2 * LARGE, 1 }, { 0, CS_STEP_SEND, 1, 1, 2 },
		{ 0, CS_STEP_WAIT, 0, 0, 0 }, { 0, CS_STEP_WAIT, 0, 0, 1 },
		{ 1, CS_STEP_RECV, 0, LARGE, 0 }, { 1, CS_STEP_RECV, 0, 2 * LARGE, 1 },
		{ 1, CS_STEP_RECV, 0, 1, 2 }, { 1, CS_STEP_WAIT, 0, 0, 2 },
		{ 1, CS_STEP_WAIT, 0, 0, 0 }, { 1, CS_STEP_WAIT, 0, 0, 1 }, END,
	};
	/* The byte leaves at 5300, the first data at 5600 or a gap later, 5800, and the second at
	 * 5800 + 2997 + 500 for 5997. */
	expect(lines, &(struct setting){ .rndv = 100 },
	       (int64_t[]){ 15294, 17294 + 200, 0 });
}

/* A byte from rank 0 to rank 1 and on to rank 2. */
static const struct line chain[] = {
	{ 0, CS_STEP_SEND, 1, 1, 0 }, { 0, CS_STEP_WAIT, 0, 0, 0 },
	{ 1, CS_STEP_RECV, 0, 1, 0 }, { 1, CS_STEP_WAIT, 0, 0, 0 },
	{ 1, CS_STEP_SEND, 2, 1, 1 }, { 1, CS_STEP_WAIT, 0, 0, 1 },
	{ 2, CS_STEP_RECV, 1, 1, 0 }, { 2, CS_STEP_WAIT, 0, 0, 0 }, END,
};

TEST(a_call_that_nobody_looks_at_goes_on_at_the_wait)
{
	expect(chain, &(struct setting){ .compute = { .time = 10000 } },
	       (int64_t[]){ 10300, 10500, 12700 });
}

TEST(a_look_does_what_has_come)
{
	/* Each costs 10. Rank 1 looks at 10 and at 2520, and sends until 3020; rank 2 at 5030. */
	expect(chain, &(struct setting){ .look = 10, .compute = { 10000, 5, 0 } },
	       (int64_t[]){ 10300, 10520, 10230 });
	/* One look, half-way. */
	expect(chain, &(struct setting){ .look = 10, .compute = { 10000, 1, 0 } },
	       (int64_t[]){ 10300, 10510, 10210 });
}

TEST(a_thread_needs_no_looks)
{
	expect(chain, &(struct setting){ .compute = { 10000, CS_SIM_ALWAYS, 0 } },
	       (int64_t[]){ 10000, 10000, 10000 });
	expect(chain, &(struct setting){ .compute = { 4000, CS_SIM_ALWAYS, 0 } },
	       (int64_t[]){ 4000, 4000, 5000 });
}

TEST(a_sender_that_computes_does_not_meet_its_receiver)
{
	/* The sender learns at the wait what it was told at 2321, ... */
	expect(large, &(struct setting){ .rndv = 100, .compute = { .time = 10000 } },
	       (int64_t[]){ 13297, 15497, 10000 });
	/* ... or at the look at 5000; the data are at the receiver for its last look at 10300. */
	expect(large, &(struct setting){ .rndv = 100, .compute = { 10000, 3, 0 } },
	       (int64_t[]){ 10300, 10500, 10000 });
	expect(large, &(struct setting){ .rndv = 100, .compute = { 10000, CS_SIM_ALWAYS, 0 } },
	       (int64_t[]){ 10000, 10000, 10000 });
	/* Asked at 2321 the receiver says so at its look at 5000, as it has computed all the time;
	 * the sender, at 7321, learns it at the wait. */
	expect(large, &(struct setting){ .rndv = 100, .rts = 1, .compute = { 10000, 3, 0 } },
	       (int64_t[]){ 10300 + 300 + 2997, 10300 + 300 + 2997 + 2000 + 200, 10000 });
}

/* It is told at 2321 while it copies; the next look is the wait, at 15000. */
TEST(the_begin_of_a_call_ends_with_no_look)
{
	static const struct line lines[] = {
		{ 0, CS_STEP_SEND, 1, LARGE, 0 }, { 0, CS_NODE_COPY, 0, 5000, 0 },
		{ 0, CS_STEP_WAIT, 0, 0, 0 }, { 1, CS_STEP_RECV, 0, LARGE, 0 },
		{ 1, CS_STEP_WAIT, 0, 0, 0 }, END,
	};
	expect(lines, &(struct setting){ .rndv = 100, .compute = { .time = 10000 } },
	       (int64_t[]){ 18297, 20497, 10000 });
}

TEST(a_sender_may_stay_for_its_receiver)
{
	/* Until 2321, and 300. */
	expect(large, &(struct setting){ .rndv = 100, .compute = { 10000, 0, 5000 } },
	       (int64_t[]){ 12621, 10500, 10000 });
	/* In vain. */
	expect(large, &(struct setting){ .rndv = 100, .compute = { 10000, 0, 1000 } },
	       (int64_t[]){ 14297, 16497, 10000 });
}

TEST(flags_are_seen_at_looks)
{
	static const struct line lines[] = {
		{ 1, CS_NODE_COPY, 0, 1000, 0 }, { 1, CS_NODE_PUBLISH, 0, 0, 0 },
		{ 2, CS_NODE_AWAIT, 1, 1, 0 }, END,
	};
	expect(lines, &(struct setting){ .compute = { 10000, 3, 0 }, .node_less = 1 },
	       (int64_t[]){ 10000, 11000, 10100 });
	expect(lines, &(struct setting){ .compute = { .time = 500 }, .node_less = 1 },
	       (int64_t[]){ 500, 1500, 1100 });
}

TEST(their_keys_are_told_where_they_are_set)
{
	char text[CS_MODEL_TEXT], complaint[300];
	struct cs_model read;
	assert_null(strstr(cs_model_text(text, &cs_models[0]), "rndv"));
	assert_int_equal(cs_model_read("hdr-like,look=2e-6,rndv=255,rts=1", &read, complaint,
				       sizeof complaint), CS_OK);
	assert_int_equal(read.look, 2000000);
	assert_contains(cs_model_text(text, &read), "flag=1e-07,look=2e-06,rndv=255,rts=1");
	assert_int_equal(cs_model_read("rts=2", &read, complaint, sizeof complaint), CS_BAD_INPUT);
	assert_contains(complaint, "0 or 1");
	assert_int_equal(cs_model_read("rndv=0.5", &read, complaint, sizeof complaint),
			 CS_BAD_INPUT);
}

int
main(void)
{
	return run_all(NULL, NULL);
}
