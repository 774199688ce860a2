/* What proves plans, against plans that are wrong: every kind of fault is found, and named with its
 * rank. */
#include "unit.h"

#include "plan/build.h"
#include "plan/verify.h"

#define BYTES 16
#define MOST 3

typedef void build_function(struct cs_builder *builder);

/* The plans of all ranks of `call`; `spoil`, if any, has them before they are verified. */
static bool
verify(const struct cs_problem *call, build_function *build, void (*spoil)(struct cs_plan *plans),
       struct cs_verdict *verdict)
{
	struct cs_problem problems[MOST];
	struct cs_plan plans[MOST];
	for (int rank = 0; rank < call->ranks; rank++) {
		struct cs_builder builder;
		problems[rank] = *call;
		problems[rank].rank = rank;
		cs_builder_init(&builder, &problems[rank], &plans[rank]);
		build(&builder);
		assert_int_equal(cs_builder_finish(&builder), CS_OK);
	}
	if (spoil)
		spoil(plans);
	bool is_good = cs_plans_verify(problems, plans, verdict);
	for (int rank = 0; rank < call->ranks; rank++)
		cs_plan_fini(&plans[rank]);
	return is_good;
}

/* --- good ones -------------------------------------------------------------------------------- */

static void
send_whole(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_send(builder, 1, cs_in(0), BYTES);
	else if (builder->problem->rank == 1)
		cs_build_recv(builder, 0, cs_out(0), BYTES);
}

static void
pass_on(struct cs_builder *builder)
{
	int self = builder->problem->rank;
	if (self)
		cs_build_wait(builder, cs_build_recv(builder, self - 1, cs_out(0), BYTES));
	if (self + 1 < builder->problem->ranks)
		cs_build_send(builder, self + 1, self ? cs_out(0) : cs_in(0), BYTES);
}

static void
exchange(struct cs_builder *builder)
{
	int self = builder->problem->rank;
	cs_build_keep_own(builder);
	cs_build_sendrecv(builder, !self, cs_in(0), BYTES, !self, cs_build_block(builder, !self),
			  BYTES);
}

/* Rank 0's element first, as an operation that is not commutative needs it. */
static void
reduce_pair(struct cs_builder *builder)
{
	if (builder->problem->rank) {
		cs_build_send(builder, 0, cs_in(0), BYTES);
		return;
	}
	struct cs_place tmp = cs_build_tmp(builder, BYTES);
	cs_build_wait(builder, cs_build_recv(builder, 1, tmp, BYTES));
	cs_build_reduce(builder, cs_out(0), cs_in(0), tmp, BYTES);
}

static void
meet(struct cs_builder *builder)
{
	int self = builder->problem->rank, heard = cs_build_hear(builder, !self);
	cs_build_signal(builder, !self);
	cs_build_wait(builder, heard);
}

/* By bytes, of which two are under way at a time; half the vector goes in turns. */
static void
pass_on_in_turns(struct cs_builder *builder)
{
	int self = builder->problem->rank, requests[2];
	struct cs_place data = self ? cs_out(0) : cs_in(0);
	for (size_t at = 0; at < 2; at++)
		requests[at] = self ? cs_build_recv(builder, 0, cs_plus(data, at), 1) :
				      cs_build_send(builder, 1, cs_plus(data, at), 1);
	cs_build_repeat(builder, BYTES / 4, 2, 1);
	for (size_t at = 2; at < 4; at++) {
		cs_build_wait(builder, requests[at % 2]);
		requests[at % 2] = self ? cs_build_recv(builder, 0, cs_plus(data, at), 1) :
					  cs_build_send(builder, 1, cs_plus(data, at), 1);
	}
	cs_build_repeated(builder);
	for (size_t at = 2 + BYTES / 2; at < BYTES; at++)
		if (self)
			cs_build_recv(builder, 0, cs_plus(data, at), 1);
		else
			cs_build_send(builder, 1, cs_plus(data, at), 1);
}

static const struct cs_problem bcast = { .coll = CS_BCAST, .ranks = 2, .unit = 1, .bytes = BYTES };
static const struct cs_problem bcast_of_three = { .coll = CS_BCAST, .ranks = 3, .unit = 1,
						  .bytes = BYTES };
static const struct cs_problem allgather = { .coll = CS_ALLGATHER, .ranks = 2, .unit = 1,
					     .bytes = BYTES };
static const struct cs_problem alltoall = { .coll = CS_ALLTOALL, .ranks = 2, .unit = 1,
					    .bytes = BYTES };
static const struct cs_problem scatter = { .coll = CS_SCATTER, .ranks = 2, .unit = 1,
					   .bytes = BYTES };
static const struct cs_problem reduce = { .coll = CS_REDUCE, .ranks = 2, .unit = 8,
					  .bytes = BYTES };
static const struct cs_problem barrier = { .coll = CS_BARRIER, .ranks = 2, .unit = 1 };

TEST(good_plans_pass_and_are_counted)
{
	static const struct {
		const struct cs_problem *call;
		build_function *build;
		unsigned messages, bytes, most_bytes, rounds;
	} cases[] = {
		{ &bcast, send_whole, 1, BYTES, BYTES, 1 },
		{ &bcast_of_three, pass_on, 2, 2 * BYTES, BYTES, 2 },
		{ &bcast, pass_on_in_turns, BYTES, BYTES, BYTES, 1 },
		{ &allgather, exchange, 2, 2 * BYTES, BYTES, 1 },
		{ &reduce, reduce_pair, 1, BYTES, BYTES, 1 },
		{ &barrier, meet, 2, 0, 0, 1 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_verdict verdict;
		if (!verify(cases[i].call, cases[i].build, NULL, &verdict))
			fail_msg("good plan %zu: %s", i, verdict.text);
		assert_string_equal(verdict.text, "");
		assert_int_equal(verdict.messages, cases[i].messages);
		assert_int_equal(verdict.bytes, cases[i].bytes);
		assert_int_equal(verdict.most_bytes, cases[i].most_bytes);
		assert_int_equal(verdict.rounds, cases[i].rounds);
	}
}

/* --- results that are not right --------------------------------------------------------------- */

static void
nothing(struct cs_builder *builder)
{
}

static void
send_half(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_send(builder, 1, cs_in(0), BYTES / 2);
	else
		cs_build_recv(builder, 0, cs_out(0), BYTES / 2);
}

static void
swap_halves(struct cs_builder *builder)
{
	for (size_t half = 0; half < 2; half++)
		if (builder->problem->rank == 0)
			cs_build_send(builder, 1, cs_in(half * BYTES / 2), BYTES / 2);
		else
			cs_build_recv(builder, 0, cs_out((1 - half) * BYTES / 2), BYTES / 2);
}

static void
exchange_into_the_wrong_block(struct cs_builder *builder)
{
	int self = builder->problem->rank;
	cs_build_copy(builder, cs_build_block(builder, !self), cs_in(0), BYTES);
	cs_build_sendrecv(builder, !self, cs_in(0), BYTES, !self, cs_build_block(builder, self),
			  BYTES);
}

/* Block 0 to everybody: rank 1 has block 0 in place of its own. */
static void
scatter_block_0(struct cs_builder *builder)
{
	if (builder->problem->rank) {
		cs_build_recv(builder, 0, cs_out(0), BYTES);
		return;
	}
	cs_build_copy(builder, cs_out(0), cs_in(0), BYTES);
	cs_build_send(builder, 1, cs_in(0), BYTES);
}

static void
alltoall_of_block_0(struct cs_builder *builder)
{
	int self = builder->problem->rank;
	size_t own = (size_t)self * BYTES, other = BYTES - own;
	cs_build_copy(builder, cs_out(own), cs_in(own), BYTES);
	cs_build_sendrecv(builder, !self, cs_in(0), BYTES, !self, cs_out(other), BYTES);
}

static void
reduce_in_the_wrong_order(struct cs_builder *builder)
{
	if (builder->problem->rank) {
		cs_build_send(builder, 0, cs_in(0), BYTES);
		return;
	}
	struct cs_place tmp = cs_build_tmp(builder, BYTES);
	cs_build_wait(builder, cs_build_recv(builder, 1, tmp, BYTES));
	cs_build_reduce(builder, cs_out(0), tmp, cs_in(0), BYTES);
}

static void
reduce_own_alone(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_copy(builder, cs_out(0), cs_in(0), BYTES);
}

/* Rank 1 leaves before rank 0 has come. */
static void
signal_one_way(struct cs_builder *builder)
{
	if (builder->problem->rank)
		cs_build_signal(builder, 0);
	else
		cs_build_hear(builder, 1);
}

/* Block 0, block 1 and the gap between them. */
static void
gather_over_the_gap(struct cs_builder *builder)
{
	exchange(builder);
	cs_build_copy(builder, cs_out(BYTES), cs_in(0), 4);
}

/* --- steps that may not be -------------------------------------------------------------------- */

static void
receive_past_the_end(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_send(builder, 1, cs_in(0), BYTES);
	else
		cs_build_recv(builder, 0, cs_out(1), BYTES);
}

static void
send_past_the_end(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_send(builder, 1, cs_in(BYTES - 1), 2);
	else
		cs_build_recv(builder, 0, cs_out(0), 2);
}

static void
copy_past_tmp(struct cs_builder *builder)
{
	if (builder->problem->rank)
		return;
	cs_build_tmp(builder, BYTES);
	cs_build_copy(builder, cs_tmp(64), cs_in(0), 1);
}

static void
write_input(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_copy(builder, cs_in(0), cs_in(BYTES / 2), BYTES / 2);
}

static void
send_what_was_never_written(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_send(builder, 1, cs_build_tmp(builder, BYTES), BYTES);
	else
		cs_build_recv(builder, 0, cs_out(0), BYTES);
}

/* Half of it was. */
static void
copy_what_was_never_written(struct cs_builder *builder)
{
	if (builder->problem->rank)
		return;
	struct cs_place tmp = cs_build_tmp(builder, BYTES);
	cs_build_copy(builder, tmp, cs_in(0), BYTES / 2);
	cs_build_copy(builder, cs_plus(tmp, BYTES), tmp, BYTES);
}

static void
hand_on_too_early(struct cs_builder *builder)
{
	int self = builder->problem->rank;
	if (self)
		cs_build_recv(builder, self - 1, cs_out(0), BYTES);
	if (self + 1 < builder->problem->ranks)
		cs_build_send(builder, self + 1, self ? cs_out(0) : cs_in(0), BYTES);
}

/* Received over bytes that are there already, so that only the message under way forbids it. */
static void
read_while_it_comes(struct cs_builder *builder)
{
	int self = builder->problem->rank;
	cs_build_copy(builder, cs_build_block(builder, !self), cs_in(0), BYTES);
	cs_build_recv(builder, !self, cs_build_block(builder, !self), BYTES);
	cs_build_copy(builder, cs_build_block(builder, self),
		      cs_plus(cs_build_block(builder, !self), BYTES - 1), 1);
	cs_build_send(builder, !self, cs_in(0), BYTES);
}

static void
receive_twice_into_the_same(struct cs_builder *builder)
{
	for (int i = 0; i < 2; i++)
		if (builder->problem->rank == 0)
			cs_build_send(builder, 1, cs_in(0), BYTES);
		else
			cs_build_recv(builder, 0, cs_out(0), BYTES);
}

static void
overwrite_what_goes(struct cs_builder *builder)
{
	int self = builder->problem->rank;
	cs_build_keep_own(builder);
	cs_build_recv(builder, !self, cs_build_block(builder, !self), BYTES);
	cs_build_send(builder, !self, cs_build_block(builder, self), BYTES);
	cs_build_copy(builder, cs_build_block(builder, self), cs_in(1), 1);
}

static void
copy_onto_itself(struct cs_builder *builder)
{
	exchange(builder);
	cs_build_copy(builder, cs_out(0), cs_out(1), 2);
}

static void
reduce_half_an_element(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_reduce(builder, cs_out(0), cs_in(0), cs_in(8), 4);
}

static void
reduce_onto_half_an_operand(struct cs_builder *builder)
{
	if (builder->problem->rank)
		return;
	struct cs_place tmp = cs_build_tmp(builder, 2 * BYTES);
	cs_build_copy(builder, tmp, cs_in(0), BYTES);
	cs_build_reduce(builder, cs_plus(tmp, 4), cs_in(0), tmp, 8);
}

static void
reduce_in_a_bcast(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_reduce(builder, cs_build_tmp(builder, BYTES), cs_in(0), cs_in(0), 8);
}

/* --- messages without another half ------------------------------------------------------------ */

static void
send_more_than_is_expected(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_send(builder, 1, cs_in(0), BYTES);
	else
		cs_build_recv(builder, 0, cs_out(0), BYTES - 1);
}

static void
send_twice(struct cs_builder *builder)
{
	send_whole(builder);
	if (builder->problem->rank == 0)
		cs_build_send(builder, 1, cs_in(0), BYTES);
}

static void
receive_from_nobody(struct cs_builder *builder)
{
	if (builder->problem->rank == 1)
		cs_build_recv(builder, 0, cs_out(0), BYTES);
}

static void
receive_from_the_wrong_one(struct cs_builder *builder)
{
	if (builder->problem->rank == 2)
		cs_build_recv(builder, 1, cs_out(0), BYTES);
	send_whole(builder);
	if (builder->problem->rank == 0)
		cs_build_send(builder, 2, cs_in(0), BYTES);
}

/* Ends where sends are buffered, and nowhere else. */
static void
send_before_receiving(struct cs_builder *builder)
{
	int self = builder->problem->rank;
	cs_build_keep_own(builder);
	cs_build_wait(builder, cs_build_send(builder, !self, cs_in(0), BYTES));
	cs_build_recv(builder, !self, cs_build_block(builder, !self), BYTES);
}

static void
send_to_myself(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_send(builder, 0, cs_in(0), BYTES);
}

static void
send_to_rank_2_of_2(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_send(builder, 2, cs_in(0), BYTES);
}

/* --- what no builder writes ------------------------------------------------------------------- */

static void
leave_out_the_last_wait(struct cs_plan *plans)
{
	plans[1].count--;
}

static void
wait_twice(struct cs_plan *plans)
{
	struct cs_plan *plan = &plans[1];
	plan->steps = realloc(plan->steps, (plan->count + 1) * sizeof *plan->steps);
	assert_non_null(plan->steps);
	plan->steps[plan->count] = plan->steps[plan->count - 1];
	plan->count++;
}

static void
use_a_request_twice(struct cs_plan *plans)
{
	plans[0].steps[1].request = plans[0].steps[0].request;
}

static void
use_a_request_too_many(struct cs_plan *plans)
{
	plans[0].steps[0].request = plans[0].requests;
}

static void
do_what_there_is_not(struct cs_plan *plans)
{
	plans[0].steps[0].kind = CS_STEP_KINDS;
}

static void
read_what_memory_there_is_not(struct cs_plan *plans)
{
	plans[0].steps[0].from = CS_MEMORIES;
}

static const size_t apart[] = { 0, BYTES + 8 };
static const struct cs_problem allgather_apart = { .coll = CS_ALLGATHER, .ranks = 2, .unit = 1,
						   .bytes = BYTES, .at = apart };

static const struct fault {
	const char *name;
	const struct cs_problem *call;
	build_function *build;
	void (*spoil)(struct cs_plan *plans);
	const char *expected;
} faults[] = {
	{ "no step at all", &bcast, nothing, NULL, "rank 1: byte 0 of the block from rank 0 is "
						   "never written" },
	{ "half a vector", &bcast, send_half, NULL, "rank 1: byte 8 of the block from rank 0 is "
						    "never written" },
	{ "halves swapped", &bcast, swap_halves, NULL, "rank 1: byte 0 of the block from rank 0 is "
						       "wrong" },
	{ "blocks swapped", &allgather, exchange_into_the_wrong_block, NULL,
	  "rank 0: byte 0 of the block from rank 0 is wrong" },
	{ "another's block", &scatter, scatter_block_0, NULL, "rank 1: byte 0 of the block from "
							      "rank 0 is wrong" },
	{ "block for another", &alltoall, alltoall_of_block_0, NULL, "rank 1: byte 0 of the block "
								     "from rank 0 is wrong" },
	{ "operands swapped", &reduce, reduce_in_the_wrong_order, NULL,
	  "rank 0: element 0 of the result is wrong" },
	{ "operand left out", &reduce, reduce_own_alone, NULL, "rank 0: element 0 of the result is "
							       "wrong" },
	{ "left too early", &barrier, signal_one_way, NULL, "rank 1 leaves before it knows that "
							    "rank 0 has come" },
	{ "gap written", &allgather_apart, gather_over_the_gap, NULL,
	  "rank 0: 36 bytes written, blocks have 32" },
	{ "received past the end", &bcast, receive_past_the_end, NULL,
	  "rank 1 step 0 (recv, peer 0, 16 bytes): outside the result" },
	{ "sent past the end", &bcast, send_past_the_end, NULL, "rank 0 step 0 (send, peer 1, 2 "
								"bytes): outside the input" },
	{ "copied past the end", &bcast, copy_past_tmp, NULL, "rank 0 step 0 (copy, peer -1, 1 "
							      "bytes): outside CS_TMP" },
	{ "input written", &bcast, write_input, NULL, "rank 0 step 0 (copy, peer -1, 8 bytes): "
						      "writes input" },
	{ "sent unwritten", &bcast, send_what_was_never_written, NULL,
	  "rank 0 step 0 (send, peer 1, 16 bytes): reads what was never written" },
	{ "copied unwritten", &bcast, copy_what_was_never_written, NULL,
	  "rank 0 step 1 (copy, peer -1, 16 bytes): reads what was never written" },
	{ "handed on too early", &bcast_of_three, hand_on_too_early, NULL,
	  "rank 1 step 1 (send, peer 2, 16 bytes): touches what is being received" },
	{ "read while it comes", &allgather, read_while_it_comes, NULL,
	  "rank 0 step 2 (copy, peer -1, 1 bytes): touches what is being received" },
	{ "two into one place", &bcast, receive_twice_into_the_same, NULL,
	  "rank 1 step 1 (recv, peer 0, 16 bytes): touches what is being received" },
	{ "written while it goes", &allgather, overwrite_what_goes, NULL,
	  "rank 0 step 3 (copy, peer -1, 1 bytes): writes what is being sent" },
	{ "onto itself", &allgather, copy_onto_itself, NULL, "rank 1 step 5 (copy, peer -1, 2 "
							     "bytes): copies onto itself" },
	{ "half an element", &reduce, reduce_half_an_element, NULL,
	  "rank 0 step 0 (reduce, peer -1, 4 bytes): not a whole number of elements" },
	{ "onto an operand", &reduce, reduce_onto_half_an_operand, NULL,
	  "rank 0 step 1 (reduce, peer -1, 8 bytes): the result overlaps an operand" },
	{ "no operation", &bcast, reduce_in_a_bcast, NULL,
	  "rank 0 step 0 (reduce, peer -1, 8 bytes): not a whole number of elements" },
	{ "sizes differ", &bcast, send_more_than_is_expected, NULL,
	  "rank 0 sends 16 bytes to rank 1, which expects 15 (message 0 between them)" },
	{ "one send too many", &bcast, send_twice, NULL, "rank 0 step 3 (wait, peer -1, 0 bytes): "
							 "waits for ever" },
	{ "one receive too many", &bcast, receive_from_nobody, NULL,
	  "rank 1 step 1 (wait, peer -1, 0 bytes): waits for ever" },
	{ "wrong peer", &bcast_of_three, receive_from_the_wrong_one, NULL,
	  "rank 0 step 3 (wait, peer -1, 0 bytes): waits for ever" },
	{ "all send first", &allgather, send_before_receiving, NULL,
	  "rank 0 step 2 (wait, peer -1, 0 bytes): waits for ever" },
	{ "to itself", &bcast, send_to_myself, NULL, "rank 0 step 0 (send, peer 0, 16 bytes): no "
						     "such peer" },
	{ "to nobody", &bcast, send_to_rank_2_of_2, NULL, "rank 0 step 0 (send, peer 2, 16 bytes): "
							  "no such peer" },
	{ "a wait left out", &bcast, send_whole, leave_out_the_last_wait,
	  "rank 1: request 0 is never waited for" },
	{ "a wait too many", &bcast, send_whole, wait_twice,
	  "rank 1 step 2 (wait, peer -1, 0 bytes): waits for a request that was not started" },
	{ "request in use", &bcast, send_twice, use_a_request_twice,
	  "rank 0 step 1 (send, peer 1, 16 bytes): request number not free" },
	{ "request too large", &bcast, send_whole, use_a_request_too_many,
	  "rank 0 step 0 (send, peer 1, 16 bytes): request number not free" },
	{ "no such step", &bcast, send_whole, do_what_there_is_not, "rank 0 step 0 (?, peer 1, 16 "
								    "bytes): no such step" },
	{ "no such memory", &bcast, send_whole, read_what_memory_there_is_not,
	  "rank 0 step 0 (send, peer 1, 16 bytes): no such memory" },
};

/* The loop of pass_on_in_turns, at rank 1. */
static struct cs_step *
loop_of(struct cs_plan *plans)
{
	struct cs_step *step = plans[1].steps;
	while (step->kind != CS_STEP_REPEAT)
		step++;
	return step;
}

static void
go_on_too_far(struct cs_plan *plans)
{
	loop_of(plans)->bytes = BYTES / 2;
}

static void
stay_in_place(struct cs_plan *plans)
{
	loop_of(plans)->bytes = 0;
}

static void
turn_once_less(struct cs_plan *plans)
{
	loop_of(plans)->times--;
}

static void
leave_out_a_step(struct cs_plan *plans)
{
	loop_of(plans)->length--;
}

static void
never_turn(struct cs_plan *plans)
{
	loop_of(plans)->times = 0;
}

static void
repeat_nothing(struct cs_plan *plans)
{
	loop_of(plans)->length = 0;
}

static void
begin_before_the_plan(struct cs_plan *plans)
{
	loop_of(plans)->length = 7;
}

static void
loop_in_a_loop(struct cs_plan *plans)
{
	struct cs_step *inner = loop_of(plans);
	inner[1] = *inner;
	inner[1].length = 2;
}

static const struct fault in_loops[] = {
	{ "too far on", &bcast, pass_on_in_turns, go_on_too_far,
	  "rank 1 step 11 (recv, peer 0, 1 bytes): outside the result" },
	{ "in one place", &bcast, pass_on_in_turns, stay_in_place, "rank 1: byte 2 of the block "
								   "from rank 0 is wrong" },
	{ "a turn too few", &bcast, pass_on_in_turns, turn_once_less,
	  "rank 0 step 30 (wait, peer -1, 0 bytes): waits for ever" },
	{ "a step too few", &bcast, pass_on_in_turns, leave_out_a_step,
	  "rank 1 step 6 (recv, peer 0, 1 bytes): request number not free" },
	{ "no turn", &bcast, pass_on_in_turns, never_turn, "rank 1: a loop that cannot be" },
	{ "no step", &bcast, pass_on_in_turns, repeat_nothing, "rank 1: a loop that cannot be" },
	{ "too long", &bcast, pass_on_in_turns, begin_before_the_plan,
	  "rank 1: a loop that cannot be" },
	{ "one in another", &bcast, pass_on_in_turns, loop_in_a_loop,
	  "rank 1: a loop that cannot be" },
};

static int
count_unfound(const struct fault *list, size_t count)
{
	int wrong = 0;
	for (size_t i = 0; i < count; i++) {
		struct cs_verdict verdict;
		bool passes = verify(list[i].call, list[i].build, list[i].spoil, &verdict);
		if (!passes && !strcmp(verdict.text, list[i].expected))
			continue;
		print_error("%s: %s\"%s\", expected \"%s\"\n", list[i].name,
			    passes ? "passes: " : "", verdict.text, list[i].expected);
		wrong++;
	}
	return wrong;
}

TEST(each_fault_is_found_and_named)
{
	assert_int_equal(count_unfound(faults, COUNT(faults)), 0);
	assert_int_equal(count_unfound(in_loops, COUNT(in_loops)), 0);
}

RUN_TESTS(NULL, NULL)
