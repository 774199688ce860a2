/* Virtual ranks of one node come to calls in every order (up to six of them) and in random ones (up
 * to 17), and climb as chance wants: what they make together is the same each time. */
#include "world.h"

#include "shm/arrive.h"
#include "shm/node_slots.h"

#define TEXT 128

/* One rank in one call of some rounds: it climbs the tree of one part after the other. */
struct climber {
	struct cs_node_op op;
	uint64_t round;
	int part, span; /* 0: it has not come to this part */
	bool is_open, is_out, has_told;
	char made[CS_ARRIVE_PARTS][TEXT]; /* of this round: what the node can read of it */
};

struct node {
	struct world world;
	struct climber climbers[WORLD_MOST];
	int parts;
	uint64_t rounds;
	int tops[CS_ARRIVE_PARTS];    /* how many have come out, of all rounds */
	char sums[CS_ARRIVE_PARTS][TEXT];
	int last; /* who came out last */
};

static void
make_node(struct node *node, int ranks)
{
	const struct cs_node_shape shape = { .slots = 2, .slot_bytes = 4096, .spin = 1,
					     .yields = SIZE_MAX, .streams = CS_SWITCH_OFF };
	int sizes[] = { ranks, 0 };
	*node = (struct node){ .parts = 1, .rounds = 1 };
	world_make(&node->world, sizes, false, 1, &shape, 1);
}

static struct cs_node *
node_of(struct node *node, int rank)
{
	return &node->world.teams[rank].node;
}

static void
begin(struct node *node, int rank)
{
	struct climber *climber = &node->climbers[rank];
	*climber = (struct climber){ .round = 0 };
	cs_node_op_init(&climber->op, node_of(node, rank), 0);
	cs_node_begin(&climber->op);
}

/* "((0 1) (2 3))": what a sum of these ranks has to be, whoever made it. */
static void
spell(char *to, int from, int span, int ranks)
{
	char left[TEXT], right[TEXT];
	int middle = from + span / 2;
	if (span == 1) {
		snprintf(to, TEXT, "%d", from);
	} else if (middle >= ranks) {
		spell(to, from, span / 2, ranks);
	} else {
		spell(left, from, span / 2, ranks);
		spell(right, middle, span / 2, ranks);
		snprintf(to, TEXT, "(%.60s%.60s)", left, right);
	}
}

static int
whole(int ranks)
{
	int span = 1;
	while (span < ranks)
		span *= 2;
	return span;
}

/* Goes to the next inner node of the part. True: it leaves the part. */
static bool
climb(struct node *node, int rank)
{
	struct climber *own = &node->climbers[rank];
	int ranks = node->world.ranks, part = own->part;
	while (own->span < whole(ranks)) {
		own->span *= 2;
		int inner = cs_arrive_inner(rank, own->span, ranks);
		if (!inner)
			continue;
		bool is_second = cs_arrive_is_second(&own->op, own->round, part,
						     inner);
		int other = cs_arrive_meet(&own->op, own->round, part, inner, rank);
		assert_true((other >= 0) == is_second);
		if (other < 0)
			return true;
		char both[TEXT];
		const char *left = node->climbers[rank < inner ? rank : other].made[part],
			   *right = node->climbers[rank < inner ? other : rank].made[part];
		snprintf(both, sizeof both, "(%.60s%.60s)", left, right);
		memcpy(own->made[part], both, TEXT);
		return false;
	}
	assert_int_equal(cs_arrive_holder(&own->op, own->round, part), -1);
	cs_arrive_tell(&own->op, own->round, part, rank);
	assert_int_equal(cs_arrive_holder(&own->op, own->round, part), rank);
	node->tops[part]++;
	node->last = rank;
	memcpy(node->sums[part], own->made[part], TEXT);
	return true;
}

/* One step of one rank. False: it cannot go on. */
static bool
step(struct node *node, int rank)
{
	struct climber *own = &node->climbers[rank];
	if (!own->is_open) {
		own->is_open = cs_node_try_line(&own->op) &&
			       cs_arrive_is_open(&own->op, own->round);
		return own->is_open;
	}
	if (!own->span) {
		own->span = 1;
		snprintf(own->made[own->part], TEXT, "%d", rank);
		return true;
	}
	if (!climb(node, rank))
		return true;
	own->span = 0;
	if (++own->part < node->parts)
		return true;
	cs_node_done(&own->op, ++own->round);
	own->part = 0;
	own->is_open = false;
	own->is_out = own->round == node->rounds;
	if (own->is_out)
		cs_node_end(&own->op);
	return true;
}

static void
finish(struct node *node, int rank)
{
	while (!node->climbers[rank].is_out)
		assert_true(step(node, rank));
}

static void
expect_sums(struct node *node, int times)
{
	char right[TEXT];
	spell(right, 0, whole(node->world.ranks), node->world.ranks);
	for (int part = 0; part < node->parts; part++) {
		assert_int_equal(node->tops[part], times);
		assert_string_equal(node->sums[part], right);
	}
}

/* --- every order ------------------------------------------------------------------------------ */

static int
come_in_order(struct node *node, const int *order)
{
	int ranks = node->world.ranks;
	memset(node->tops, 0, sizeof node->tops);
	for (int rank = 0; rank < ranks; rank++)
		begin(node, rank);
	for (int i = 0; i < ranks; i++) {
		struct climber *own = &node->climbers[order[i]];
		assert_non_null(cs_node_try_line(&own->op));
		assert_true(cs_arrive_is_open(&own->op, 0));
		assert_int_equal(cs_arrive_ticket(&own->op, 0), i);
		assert_int_equal(node->tops[0], 0);
		finish(node, order[i]);
	}
	assert_int_equal(node->last, order[ranks - 1]);
	expect_sums(node, 1);
	return 1;
}

static int
permute(struct node *node, int *order, int from)
{
	int ranks = node->world.ranks, count = 0;
	if (from == ranks)
		return come_in_order(node, order);
	for (int i = from; i < ranks; i++) {
		int swapped = order[from];
		order[from] = order[i];
		order[i] = swapped;
		count += permute(node, order, from + 1);
		order[i] = order[from];
		order[from] = swapped;
	}
	return count;
}

TEST(the_last_of_every_order_comes_out_with_the_same)
{
	static const int orders[] = { 0, 1, 2, 6, 24, 120, 720 };
	for (int ranks = 2; ranks <= 6; ranks++) {
		struct node node;
		int order[] = { 0, 1, 2, 3, 4, 5 };
		make_node(&node, ranks);
		assert_int_equal(permute(&node, order, 0), orders[ranks]);
		world_clear(&node.world);
	}
}

/* --- random ones ------------------------------------------------------------------------------ */

static void
step_all(struct node *node, uint64_t *random)
{
	int ranks = node->world.ranks, out = 0;
	while (out < ranks) {
		int rank = (int)random_below(random, (uint32_t)ranks);
		if (!node->climbers[rank].is_out)
			out += step(node, rank) && node->climbers[rank].is_out;
	}
}

TEST(parts_and_rounds_do_not_meet_each_other)
{
	uint64_t seed = first_seed(), random = seed;
	for (int ranks = 2; ranks <= WORLD_MOST; ranks++) {
		struct node node;
		make_node(&node, ranks);
		for (int call = 0; call < 150; call++) {
			memset(node.tops, 0, sizeof node.tops);
			node.parts = 1 + (int)random_below(&random, CS_ARRIVE_PARTS);
			node.rounds = 1 + random_below(&random, 5);
			for (int rank = 0; rank < ranks; rank++)
				begin(&node, rank);
			step_all(&node, &random);
			expect_sums(&node, (int)node.rounds);
		}
		world_clear(&node.world);
	}
}

/* Of more rounds than a word can tell apart. */
TEST(rounds_without_end_are_told_apart)
{
	uint64_t random = first_seed();
	struct node node;
	make_node(&node, 3);
	node.rounds = 1000;
	for (int rank = 0; rank < 3; rank++)
		begin(&node, rank);
	step_all(&node, &random);
	expect_sums(&node, 1000);
	world_clear(&node.world);
}

/* --- one that is early, and calls that went wrong --------------------------------------------- */

TEST(an_early_rank_is_as_many_calls_ahead_as_there_are_lines)
{
	struct node node;
	make_node(&node, 3);
	for (int call = 0; call < CS_LINES; call++) {
		begin(&node, 1);
		finish(&node, 1);
	}
	begin(&node, 1);
	assert_false(step(&node, 1));
	assert_int_equal(node.climbers[1].op.awaited.local, CS_AWAITS_ALL);
	/* The others make the first call: then it goes on. */
	snprintf(node.climbers[1].made[0], TEXT, "1");
	for (int rank = 0; rank < 3; rank += 2) {
		begin(&node, rank);
		finish(&node, rank);
	}
	assert_int_equal(node.last, 2);
	expect_sums(&node, 1);
	finish(&node, 1);
	world_clear(&node.world);
}

/* In a call of many rounds it is as many rounds ahead. */
TEST(an_early_rank_waits_in_a_long_call)
{
	struct node node;
	make_node(&node, 2);
	node.rounds = CS_ARRIVE_ROUNDS + 1;
	begin(&node, 0);
	begin(&node, 1);
	while (step(&node, 0))
		;
	assert_int_equal(node.climbers[0].round, CS_ARRIVE_ROUNDS);
	while (node.climbers[1].round < 1)
		step(&node, 1);
	finish(&node, 0);
	finish(&node, 1);
	expect_sums(&node, CS_ARRIVE_ROUNDS + 1);
	world_clear(&node.world);
}

/* One rank has made another call in the place of each: what the others left does not matter. */
TEST(words_of_a_call_that_went_wrong_are_nobodys)
{
	struct node node;
	make_node(&node, 2);
	for (int call = 0; call < CS_LINES; call++) {
		begin(&node, 0);
		assert_int_equal(cs_arrive_ticket(&node.climbers[0].op,
						  0), 0);
		finish(&node, 0);
		cs_node_op_init(&node.climbers[1].op, node_of(&node, 1), 0);
		cs_node_begin(&node.climbers[1].op);
		cs_node_end(&node.climbers[1].op);
	}
	for (int call = 0; call < CS_LINES; call++)
		come_in_order(&node, (const int[]){ call % 2, 1 - call % 2 });
	world_clear(&node.world);
}

/* Who takes the words of another call for its own has nobody to meet. */
TEST(a_set_of_the_wrong_call_is_seen)
{
	struct node node;
	make_node(&node, 2);
	begin(&node, 0);
	begin(&node, 1);
	finish(&node, 0);
	node.climbers[1].op.number += CS_LINES;
	node.climbers[1].is_open = true; /* it does not ask */
	while (!node.climbers[1].is_out && node.climbers[1].round == 0)
		step(&node, 1);
	assert_int_equal(node.tops[0], 0); /* nobody has made it */
	world_clear(&node.world);
}

/* Links are made one after the other, by one rank at a time; which one, does not matter. */
TEST(a_chain_is_held_by_one_rank)
{
	struct node node;
	make_node(&node, 3);
	for (int call = 0; call < 2 * CS_LINES; call++) {
		struct cs_node_op *op[3];
		for (int rank = 0; rank < 3; rank++) {
			begin(&node, rank);
			op[rank] = &node.climbers[rank].op;
		}
		int first = call % 2;
		assert_int_equal(cs_arrive_hold(op[0], 3, 7, 0), 0); /* nothing to make */
		assert_int_equal(cs_arrive_hold(op[first], 3, 7, 2), 0);
		assert_int_equal(cs_arrive_hold(op[2], 3, 7, 2), -1);
		assert_int_equal(op[2]->awaited.local, CS_AWAITS_FLAG);
		assert_true(atomic_load(op[2]->awaited.flag) < op[2]->awaited.tag);
		cs_arrive_link(op[first], 3, 7, 1);
		assert_true(atomic_load(op[2]->awaited.flag) >= op[2]->awaited.tag);
		assert_int_equal(cs_arrive_hold(op[1 - first], 3, 7, 1), 1); /* it is made */
		assert_int_equal(cs_arrive_hold(op[2], 3, 7, 4), 1);
		assert_int_equal(cs_arrive_hold(op[1 - first], 3, 7, 1), 1); /* also while held */
		cs_arrive_link(op[2], 3, 7, 4);
		assert_int_equal(cs_arrive_hold(op[first], 3, 7, 2), 2);
		for (int rank = 0; rank < 3; rank++)
			cs_node_end(op[rank]);
	}
	world_clear(&node.world);
}

RUN_TESTS(NULL, NULL)
