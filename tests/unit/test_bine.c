/* Negabinary trees and butterflies against the paper's definitions (De Sensi et al., SC '25), and
 * what crosses groups of nodes in the simulator against closed forms. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "algorithms/plans/bine.h"
#include "algorithms/plans/tree_partition.h"
#include "plan/build.h"
#include "sim/sim.h"

#define MOST_STEPS 10

/* Value of a negabinary number, digit by digit. */
static int64_t
value_of(uint32_t digits)
{
	int64_t value = 0, weight = 1;
	for (; digits; digits >>= 1, weight *= -2)
		value += digits & 1 ? weight : 0;
	return value;
}

static int
modulo(int64_t value, int size)
{
	return (int)((value % size + size) % size);
}

TEST(digits_and_distances_are_negabinary)
{
	for (int step = 0; step < 30; step++)
		assert_int_equal(cs_bine_distance(step), value_of((2u << step) - 1));
	for (int size = 1; size <= 1 << MOST_STEPS; size *= 2)
		for (int number = -size; number < size; number++)
			assert_int_equal(modulo(value_of(cs_bine_digits(size, number)), size),
					 modulo(number, size));
}

/* Partners come back to each other, differ in the key's bit of their step and in none below, and
 * all steps together reach everybody once. */
TEST(a_butterfly_reaches_everybody_once)
{
	for (int steps = 0; steps <= MOST_STEPS; steps++) {
		int size = 1 << steps;
		for (int number = 0; number < size; number++) {
			bool is_reached[1 << MOST_STEPS] = { false };
			for (int step = 0; step < steps; step++) {
				int partner = cs_bine_partner(size, number, step);
				int other = cs_bine_key(size, number) ^ cs_bine_key(size, partner);
				assert_int_equal(cs_bine_partner(size, partner, step), number);
				assert_int_equal(other & ((2 << step) - 1), 1 << step);
			}
			for (int way = 0; way < size; way++) {
				int at = number;
				for (int step = 0; step < steps; step++)
					if (way >> step & 1)
						at = cs_bine_partner(size, at, step);
				assert_false(is_reached[at]);
				is_reached[at] = true;
			}
		}
	}
}

/* A rank's parent has the last digits that are equal turned: so many are left when it is
 * reached. */
TEST(a_tree_is_the_papers_for_powers_of_two)
{
	struct cs_partition partition;
	cs_partition_bine(&partition);
	for (int steps = 1; steps <= MOST_STEPS; steps++) {
		int size = 1 << steps, head = cs_partition_head(&partition, size);
		for (int rank = 1; rank < size; rank++) {
			uint32_t digits = cs_bine_digits(size, rank);
			int equal = 1;
			while (equal < steps && (digits >> equal & 1) == (digits & 1))
				equal++;
			struct cs_subtree part =
				cs_subtree_of(&partition, size, (head + rank) % size);
			assert_int_equal(modulo(part.parent - head, size), modulo(
				value_of(digits ^ ((1u << equal) - 1)), size));
			assert_int_equal(part.count, 1 << (equal - 1));
		}
	}
}

TEST(a_tree_of_any_number_of_ranks_is_as_flat)
{
	struct cs_partition partition;
	cs_partition_bine(&partition);
	for (int ranks = 1; ranks <= 300; ranks++) {
		bool is_reached[300] = { false };
		struct cs_subtree parts[300] = { { .count = ranks,
						   .head = cs_partition_head(&partition, ranks) } };
		int count = 1, most = 0;
		for (int i = 0; i < count; i++) {
			int depth = 0;
			is_reached[parts[i].head] = true;
			for (struct cs_subtree rest = parts[i]; rest.count > 1; depth++)
				parts[count++] = cs_subtree_cut(&partition, &rest);
			most = depth > most ? depth : most;
		}
		assert_int_equal(count, ranks);
		assert_true(1 << most < 2 * ranks);
		for (int rank = 0; rank < ranks; rank++)
			assert_true(is_reached[rank]);
	}
}

/* --- groups ----------------------------------------------------------------------------------- */

static const struct cs_model model = {
	.level = { { .L = 2000, .o_send = 300, .o_recv = 200, .g = 500, .G = 3000, .f = 1 },
		   { .L = 2000, .o_send = 300, .o_recv = 200, .g = 500, .G = 3000, .f = 1 } },
};

static struct cs_sim_result
simulate(const char *name, struct cs_problem problem, int group, int first)
{
	struct cs_sim *sim;
	struct cs_sim_result result;
	size_t params[CS_MAX_PARAMS] = { 0 };
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(problem.coll, name);
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		params[i] = algorithm->params[i].fallback;
	problem.params = params;
	problem.is_commutative = true;
	assert_int_equal(cs_sim_create(&sim, problem.ranks, NULL, 0), CS_OK);
	for (problem.rank = 0; problem.rank < problem.ranks; problem.rank++) {
		struct cs_builder builder;
		struct cs_plan plan;
		cs_builder_init(&builder, &problem, &plan);
		algorithm->build(&builder);
		assert_int_equal(cs_builder_finish(&builder), CS_OK);
		assert_int_equal(cs_sim_add(sim, &plan), CS_OK);
		cs_plan_fini(&plan);
	}
	assert_int_equal(cs_sim_set_groups(sim, group, first, 2 * CS_SIM_TAPER), CS_OK);
	assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
	cs_sim_destroy(sim);
	return result;
}

/* Pairs of a group's even numbers with partners outside of it, at an odd distance upwards or
 * downwards. */
static int
pairs_across(int distance, int group)
{
	int away = distance < 0 ? -distance : distance;
	return away >= group ? group / 2 : (away + (distance < 0 ? 1 : -1)) / 2;
}

TEST(bytes_between_groups_are_those_of_closed_forms)
{
	enum { P = 64, BYTES = 8 };
	struct cs_problem ring = { .coll = CS_ALLGATHER, .ranks = P, .unit = 1, .bytes = BYTES },
			  linear = { .coll = CS_BCAST, .ranks = P, .unit = 1, .bytes = BYTES },
			  butterfly = { .coll = CS_ALLREDUCE, .ranks = P, .unit = BYTES,
					.bytes = BYTES };
	for (int group = 2; group < P; group *= 2) {
		uint64_t binary = 0, bine = 0;
		for (int step = 0; 1 << step < P; step++) {
			binary += 1 << step >= group ? P : 0;
			bine += (uint64_t)(2 * P / group *
					   pairs_across(cs_bine_distance(step), group));
		}
		assert_int_equal(simulate("ring", ring, group, group).global_bytes,
				 BYTES * (P - 1) * (P / group));
		assert_int_equal(simulate("linear", linear, group, group).global_bytes,
				 BYTES * (P - group));
		assert_int_equal(simulate("linear", linear, group, 1).global_messages, P - 1);
		assert_int_equal(simulate("recursive-doubling", butterfly, group,
					  group).global_bytes, BYTES * binary);
		struct cs_sim_result result = simulate("bine", butterfly, group, group);
		assert_int_equal(result.global_bytes, BYTES * bine);
		assert_int_equal(result.global_messages, bine);
	}
	assert_int_equal(simulate("ring", ring, 0, 0).global_messages, 0);
	assert_int_equal(simulate("ring", ring, P, P).global_messages, 0);
}

/* Two ranks of a group send 100 bytes each to two of another: the link, half as fast as the two
 * ports, takes 3 ps for a byte of both, so the second message's end comes after 600 ps of it. */
TEST(messages_of_a_group_share_its_link)
{
	enum { SENDERS = 2, BYTES = 100 };
	struct cs_sim *sim;
	struct cs_sim_result result;
	const int64_t alone = 300 + (BYTES - 1) * 3 + 2000 + 200;
	assert_int_equal(cs_sim_create(&sim, 2 * SENDERS, NULL, 0), CS_OK);
	for (int i = 0; i < SENDERS; i++) {
		cs_sim_add_message(sim, i, CS_STEP_SEND, SENDERS + i, BYTES, 0);
		cs_sim_add_message(sim, i, CS_STEP_WAIT, 0, 0, 0);
		cs_sim_add_message(sim, SENDERS + i, CS_STEP_RECV, i, BYTES, 0);
		cs_sim_add_message(sim, SENDERS + i, CS_STEP_WAIT, 0, 0, 0);
	}
	const struct {
		int nodes;
		int64_t taper, first, second;
	} cases[] = {
		{ 0, CS_SIM_TAPER, alone, alone },
		{ 4, 8 * CS_SIM_TAPER, alone, alone }, /* one group: nothing passes a link */
		{ 2, 2 * CS_SIM_TAPER, 300 + 300 + 2200, 300 + 600 + 2200 },
		{ 2, 4 * CS_SIM_TAPER, 300 + 600 + 2200, 300 + 1200 + 2200 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		assert_int_equal(cs_sim_set_groups(sim, cases[i].nodes, cases[i].nodes,
						   cases[i].taper), CS_OK);
		assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
		assert_int_equal(cs_sim_end_of(sim, SENDERS), cases[i].first);
		assert_int_equal(cs_sim_end_of(sim, SENDERS + 1), cases[i].second);
		assert_int_equal(result.global_bytes, cases[i].nodes == 2 ? SENDERS * BYTES : 0);
	}
	cs_sim_destroy(sim);
}

int
main(void)
{
	return run_all(NULL, NULL);
}
