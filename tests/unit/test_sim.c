/* The simulator against the closed forms of seed 000, chapters 4 and 5: equal to the picosecond,
 * since all parameters are whole picoseconds here. Where a form of the paper is a bound, or counts
 * otherwise, the test says so. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "algorithms/plans/tree_partition.h"
#include "plan/build.h"
#include "plan/verify.h"
#include "plan/walk.h"
#include "select/predict.h"
#include "shm/node_slots.h"
#include "sim/hier.h"
#include "sim/match.h"

#include <limits.h>
#include <malloc.h>
#include <sys/resource.h>
#include <time.h>

typedef void build_function(struct cs_builder *builder);

/* g > o_s > o_r and o_s + L + o_r > g, as the forms want it. One byte takes 3 ps. */
static const struct cs_model plain = {
	.name = "plain",
	.level = { { .L = 2000, .o_send = 300, .o_recv = 200, .g = 500, .G = 3000, .f = 1 },
		   { .L = 2000, .o_send = 300, .o_recv = 200, .g = 500, .G = 3000, .f = 1 } },
};

static struct cs_model
plain_with_f(int64_t f)
{
	struct cs_model model = plain;
	model.level[CS_INTER].f = model.level[CS_INTRA].f = f;
	return model;
}

/* Of a row of sends those after the first take so much, still more than o_r, as the forms want it;
 * 0: as the first. */
static const int64_t some_o_mins[] = { 0, 210 };

/* n o_s(n) and n o_r(n): o(n) = min + (max - min) / n. */
static int64_t
row_of_sends(const struct cs_loggp *cost, int64_t n)
{
	return cost->o_send + (n - 1) * cs_loggp_further(cost->o_send, cost->o_send_min);
}

static int64_t
row_of_receives(const struct cs_loggp *cost, int64_t n)
{
	return cost->o_recv + (n - 1) * cs_loggp_further(cost->o_recv, cost->o_recv_min);
}

static int64_t
max(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* --- running plans ---------------------------------------------------------------------------- */

static struct cs_sim *
stage(build_function *build, const struct cs_problem *call, const int *node_of)
{
	struct cs_sim *sim;
	struct cs_problem problem = *call;
	assert_int_equal(cs_sim_create(&sim, call->ranks, node_of, 0), CS_OK);
	for (problem.rank = 0; problem.rank < call->ranks; problem.rank++) {
		struct cs_builder builder;
		struct cs_plan plan;
		cs_builder_init(&builder, &problem, &plan);
		build(&builder);
		assert_int_equal(cs_builder_finish(&builder), CS_OK);
		assert_int_equal(cs_sim_add(sim, &plan), CS_OK);
		cs_plan_fini(&plan);
	}
	return sim;
}

static int64_t
time_of(build_function *build, int p, size_t bytes, size_t k, const struct cs_model *model)
{
	const size_t params[2] = { k };
	struct cs_problem call = { .coll = CS_BCAST, .ranks = p, .unit = 1, .bytes = bytes,
				   .params = params };
	struct cs_sim *sim = stage(build, &call, NULL);
	struct cs_sim_result result;
	enum cs_status status = cs_sim_run(sim, model, NULL, NULL, &result);
	cs_sim_destroy(sim);
	if (status != CS_OK)
		fail_msg("%d ranks, %zu bytes: %s", p, bytes, result.text);
	return result.time;
}

static void
expect(const char *what, int p, size_t s, int64_t got, int64_t expected)
{
	if (got != expected)
		fail_msg("%s, %d ranks, %zu bytes: %lld ps, expected %lld", what, p, s,
			 (long long)got, (long long)expected);
}

static const size_t some_sizes[] = { 1, 2, 8, 100, 1000 };

/* --- plans that are not algorithms ------------------------------------------------------------ */

static void
linear_scatter(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	for (int peer = 1; !problem->rank && peer < problem->ranks; peer++)
		cs_build_send(builder, peer, cs_in(0), problem->bytes);
	if (problem->rank)
		cs_build_recv(builder, 0, cs_out(0), problem->bytes);
}

static void
linear_gather(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	for (int peer = 1; !problem->rank && peer < problem->ranks; peer++)
		cs_build_recv(builder, peer, cs_out(0), problem->bytes);
	if (problem->rank)
		cs_build_send(builder, 0, cs_in(0), problem->bytes);
}

/* Scatter, k of (k + 1) parts given away in each step, for (k + 1)^i ranks; k = 1 is recursive
 * splitting. */
static void
n_way_tree(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int k = (int)problem->params[0], part = 1;
	while (part < problem->ranks && problem->rank / part % (k + 1) == 0)
		part *= k + 1;
	if (problem->rank) {
		int parent = problem->rank - problem->rank / part % (k + 1) * part;
		cs_build_wait(builder, cs_build_recv(builder, parent, cs_tmp(0),
						     (size_t)part * problem->bytes));
	}
	for (part /= k + 1; part; part /= k + 1)
		for (int child = 1; child <= k; child++)
			cs_build_send(builder, problem->rank + child * part, cs_tmp(0),
				      (size_t)part * problem->bytes);
}

static void
modified_ring(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank,
	    *requests = calloc((size_t)p, sizeof *requests);
	for (int round = 1; round < p; round++)
		requests[round] = cs_build_recv(builder, (self + p - round) % p, cs_out(0),
						problem->bytes);
	for (int round = 1; round < p; round++)
		cs_build_send(builder, (self + round) % p, cs_in(0), problem->bytes);
	for (int round = 1; round < p; round++)
		cs_build_wait(builder, requests[round]);
	free(requests);
}

static void
neighbor_exchange(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank, side = self % 2 ? -1 : 1;
	for (int round = 0; round < p / 2; round++, side = -side) {
		int peer = (self + side + p) % p;
		size_t bytes = (round ? 2 : 1) * problem->bytes;
		cs_build_sendrecv(builder, peer, cs_tmp(0), bytes, peer, cs_out(0), bytes);
	}
}

static void
recursive_doubling(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	for (int distance = 1; distance < problem->ranks; distance *= 2) {
		int peer = problem->rank ^ distance;
		size_t bytes = (size_t)distance * problem->bytes;
		cs_build_sendrecv(builder, peer, cs_tmp(0), bytes, peer, cs_out(0), bytes);
	}
}

/* k messages in each round, always of `bytes`: as many rounds and messages as Bruck's, not its
 * sizes. */
static void
bruck(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank, k = (int)problem->params[0];
	for (int distance = 1; distance < p; distance *= k + 1) {
		int requests[16];
		for (int i = 1; i <= k; i++)
			requests[i] = cs_build_recv(builder, (self + i * distance) % p, cs_out(0),
						    problem->bytes);
		for (int i = 1; i <= k; i++)
			cs_build_send(builder, (self + p - i * distance % p) % p, cs_tmp(0),
				      problem->bytes);
		for (int i = 1; i <= k; i++)
			cs_build_wait(builder, requests[i]);
		cs_build_wait_all(builder);
	}
}

/* params: messages, picoseconds between two of them if a byte is copied in one. */
static void
ping_pong(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	bool is_sender = problem->rank == 0;
	int reply = is_sender ? cs_build_recv(builder, 1, cs_out(0), problem->bytes) : 0;
	for (size_t i = 0; i < problem->params[0]; i++) {
		if (is_sender && i)
			cs_build_copy(builder, cs_tmp(0), cs_in(0), problem->params[1]);
		if (is_sender)
			cs_build_send(builder, 1, cs_in(0), problem->bytes);
		else
			cs_build_wait(builder,
				      cs_build_recv(builder, 0, cs_out(0), problem->bytes));
	}
	if (is_sender)
		cs_build_wait(builder, reply);
	else
		cs_build_send(builder, 0, cs_in(0), problem->bytes);
}

/* --- closed forms ----------------------------------------------------------------------------- */

/* Seed 000, figure 4.2: three messages of one sender take o_s + 2 g + L + o_r. */
TEST(three_messages_take_the_time_of_the_paper_s_figure)
{
	struct cs_model model = plain;
	model.level[CS_INTER] = (struct cs_loggp){ .L = 20, .g = 10, .o_send = 5, .o_recv = 6,
						   .f = 1 };
	expect("figure 4.2", 4, 1, time_of(linear_scatter, 4, 1, 0, &model), 5 + 2 * 10 + 20 + 6);
}

/* 4.3.3: PRTT(n, d, s) = 2 (L + 2 o + (s - 1) G) + (n - 1) max{o + d, g + (s - 1) G}, with one
 * o. */
TEST(ping_pongs_take_prtt)
{
	struct cs_model model = plain;
	struct cs_loggp *cost = &model.level[CS_INTER];
	cost->o_recv = cost->o_send;
	model.copy = 1000;
	for (size_t n = 1; n <= 4; n++)
		for (size_t d = 0; d <= 4000; d += 500)
			for (size_t i = 0; i < COUNT(some_sizes); i++) {
				const size_t params[2] = { n, d };
				int64_t s = (int64_t)some_sizes[i], bytes = (s - 1) * 3,
					o = cost->o_send;
				struct cs_problem call = { .coll = CS_BCAST, .ranks = 2, .unit = 1,
							   .params = params,
							   .bytes = some_sizes[i] };
				struct cs_sim_result result;
				struct cs_sim *sim = stage(ping_pong, &call, NULL);
				assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result),
						 CS_OK);
				expect("PRTT", 2, some_sizes[i], cs_sim_end_of(sim, 0),
				       2 * (cost->L + 2 * o + bytes) +
					       ((int64_t)n - 1) *
					       max(o + (int64_t)d, cost->g + bytes));
				assert_int_equal(result.messages, n + 1);
				assert_int_equal(result.rounds, 2);
				cs_sim_destroy(sim);
			}
}

/* 5.1.2, LogGP: o_s + (P - 1) (max{o_s, g} + (s - 1) G) + L + o_r. The paper counts a gap after the
 * last message too, which nobody waits for: P - 1 messages have P - 2 gaps between them, as its
 * figure 4.2 counts. */
TEST(linear_scatter_takes_a_gap_between_two_messages)
{
	const struct cs_loggp *cost = &plain.level[CS_INTER];
	for (int p = 2; p <= 40; p++)
		for (size_t i = 0; i < COUNT(some_sizes); i++) {
			int64_t bytes = ((int64_t)some_sizes[i] - 1) * 3, paper;
			int64_t got = time_of(linear_scatter, p, some_sizes[i], 0, &plain);
			paper = cost->o_send + (p - 1) * (max(cost->o_send, cost->g) + bytes) +
				cost->L + cost->o_recv;
			expect("linear scatter", p, some_sizes[i], got,
			       paper - max(cost->o_send, cost->g));
		}
}

/* 5.1.2, LogfP: (P - 1) o_s(P - 1) + L + o_r(1) up to f messages, then
 * o_s(P - 1) + L + o_r(1) + max{(P - 2) o_s(P - 1), (P - 1 - f) g}. The port's first message leaves
 * after o_s(1), though: the gaps begin there. */
TEST(linear_scatter_sends_f_messages_without_a_gap)
{
	for (int64_t f = 1; f <= 8; f++)
		for (size_t i = 0; i < COUNT(some_o_mins); i++)
			for (int p = 2; p <= 40; p++) {
				struct cs_model model = plain_with_f(f);
				struct cs_loggp *cost = &model.level[CS_INTER];
				cost->o_send_min = some_o_mins[i];
				int64_t sends = row_of_sends(cost, p - 1), expected =
					cost->L + cost->o_recv +
					(p - 1 <= f ? sends : max(sends, cost->o_send +
								  (p - 1 - f) * cost->g));
				expect("linear scatter, LogfP", p, 1,
				       time_of(linear_scatter, p, 1, 0, &model), expected);
			}
}

/* 5.2.3: gather is scatter with o_r for o_s in what repeats. */
TEST(linear_gather_is_held_up_by_its_receiver)
{
	const struct cs_loggp *cost = &plain.level[CS_INTER];
	for (int p = 2; p <= 40; p++)
		for (size_t i = 0; i < COUNT(some_sizes); i++) {
			int64_t bytes = ((int64_t)some_sizes[i] - 1) * 3;
			expect("linear gather", p, some_sizes[i],
			       time_of(linear_gather, p, some_sizes[i], 0, &plain), cost->o_send +
			       cost->L + bytes + (p - 2) * max(cost->o_recv, cost->g + bytes) +
				       cost->o_recv);
		}
}

/* 5.1.3, recursive splitting (k = 1) and n-way tree, (k + 1)^i ranks: i (o_s + (k - 1) g + L + o_r)
 * + (P - 1) (s - 1) G. The paper counts an item of s bytes as s - 1 gaps wherever it is; a message
 * of m items has m s - 1 of them, so k i messages on the way make ((P - 1) s - k i) G. */
TEST(trees_take_their_depth_times_k_messages)
{
	const struct cs_loggp *cost = &plain.level[CS_INTER];
	for (int k = 1; k <= 4; k++)
		for (int p = k + 1, i = 1; p <= 700; p *= k + 1, i++)
			for (size_t n = 0; n < COUNT(some_sizes); n++) {
				int64_t bytes = ((p - 1) * (int64_t)some_sizes[n] - k * i) * 3;
				expect("n-way tree", p, some_sizes[n],
				       time_of(n_way_tree, p, some_sizes[n], (size_t)k, &plain),
				       i * (cost->o_send + (k - 1) * cost->g + cost->L +
					    cost->o_recv) + bytes);
			}
}

/* LogfP, k <= f: i (k o_s(k) + L + o_r(1)). The paper ignores sizes: G is 0 here. */
TEST(trees_of_f_messages_take_no_gap)
{
	for (int k = 1; k <= 4; k++)
		for (int p = k + 1, i = 1; p <= 700; p *= k + 1, i++) {
			struct cs_model model = plain_with_f(k);
			struct cs_loggp *cost = &model.level[CS_INTER];
			cost->G = 0;
			cost->o_send_min = some_o_mins[p % 2];
			expect("n-way tree, LogfP", p, 1,
			       time_of(n_way_tree, p, 1, (size_t)k, &model),
			       i * (row_of_sends(cost, k) + cost->L + cost->o_recv));
		}
}

/* When relative rank r of a binomial tree has the data: its parent is r without its lowest one,
 * which has sent to all higher ones before. */
static int64_t
binomial_time(int p, int r, int64_t bytes, const struct cs_loggp *cost)
{
	int low = r & -r, before = 0;
	if (!r)
		return 0;
	int parent = r - low, first = parent ? parent & -parent : p;
	for (int mask = 1; mask < first && parent + mask < p; mask *= 2)
		before += mask > low;
	return binomial_time(p, parent, bytes, cost) + cost->o_send +
	       before * max(cost->o_send, cost->g + bytes) + bytes + cost->L + cost->o_recv;
}

/* 5.1.3 counts ceil(log2 P) (o_s + L + o_r) for one element: exact for powers of two, else the most
 * that it takes. */
TEST(binomial_broadcast_takes_its_deepest_path)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_BCAST, "binomial");
	const struct cs_loggp *cost = &plain.level[CS_INTER];
	assert_non_null(algorithm);
	for (int p = 1; p <= 130; p++)
		for (size_t i = 0; i < COUNT(some_sizes); i++) {
			int64_t bytes = ((int64_t)some_sizes[i] - 1) * 3, expected = 0, depth = 0;
			int64_t got = time_of(algorithm->build, p, some_sizes[i], 0, &plain);
			for (int r = 0; r < p; r++)
				expected = max(expected, binomial_time(p, r, bytes, cost));
			expect("bcast:binomial", p, some_sizes[i], got, expected);
			while (1 << depth < p)
				depth++;
			assert_true(got <= depth * (cost->o_send + cost->L + cost->o_recv + bytes));
		}
}

/* --- closed forms of algorithms: one more is one more line ------------------------------------ */

static bool
any(int p)
{
	return true;
}

static bool
power_of_two(int p)
{
	return !(p & (p - 1));
}

/* 5.3.2: (P - 1) (o_s + L + o_r + (s - 1) G). */
static int64_t
ring_form(int p, int64_t s, const struct cs_loggp *cost)
{
	return (p - 1) * (cost->o_send + cost->L + cost->o_recv + (s - 1) * cost->G / 1000);
}

/* 5.1.2: the gaps of the root's messages, and the way of the last. */
static int64_t
linear_form(int p, int64_t s, const struct cs_loggp *cost)
{
	return p < 2 ? 0 : ring_form(2, s, cost) + (p - 2) * (cost->g + (s - 1) * cost->G / 1000);
}

/* 5.1.3: log2 P (o_s + L + o_r + (s - 1) G). */
static int64_t
binomial_form(int p, int64_t s, const struct cs_loggp *cost)
{
	int64_t depth = 0;
	while (1 << depth < p)
		depth++;
	return depth * (cost->o_send + cost->L + cost->o_recv + (s - 1) * cost->G / 1000);
}

static bool
even(int p)
{
	return p == 1 || p % 2 == 0;
}

/* `rounds` messages one after another, with all blocks but one in them. */
static int64_t
growing_form(int64_t rounds, int p, int64_t s, const struct cs_loggp *cost)
{
	return rounds * (cost->o_send + cost->L + cost->o_recv) + ((p - 1) * s - rounds) *
	       (cost->G / 1000);
}

/* 5.1.3, 5.2.2, 5.3.2: the data doubles in each of log2 P rounds. */
static int64_t
doubling_form(int p, int64_t s, const struct cs_loggp *cost)
{
	int64_t depth = 0;
	while (1 << depth < p)
		depth++;
	return growing_form(depth, p, s, cost);
}

/* 5.3.2: P / 2 exchanges, two blocks in each but the first. */
static int64_t
neighbor_form(int p, int64_t s, const struct cs_loggp *cost)
{
	return growing_form(p / 2, p, s, cost);
}

static const struct closed_form {
	enum cs_coll coll;
	const char *name;
	bool (*holds)(int p);
	int64_t (*time)(int p, int64_t s, const struct cs_loggp *cost);
} closed_forms[] = {
	{ CS_ALLGATHER, "bruck", power_of_two, doubling_form },
	{ CS_ALLGATHER, "neighbor", even, neighbor_form },
	{ CS_ALLGATHER, "recursive-doubling", power_of_two, doubling_form },
	{ CS_ALLGATHER, "ring", any, ring_form },
	{ CS_ALLGATHERV, "ring", any, ring_form },
	{ CS_ALLGATHER, "direct-ring", any, linear_form },
	{ CS_ALLTOALL, "scattered", any, linear_form },
	{ CS_BCAST, "linear", any, linear_form },
	{ CS_GATHER, "linear", any, linear_form },
	{ CS_SCATTER, "linear", any, linear_form },
	{ CS_BCAST, "binomial", power_of_two, binomial_form },
	{ CS_GATHER, "binomial", power_of_two, doubling_form },
	{ CS_SCATTER, "binomial", power_of_two, doubling_form },
};

static const size_t *fallbacks_of(const struct cs_algorithm *algorithm);

/* What the plans take, and what is told from the cost without them. */
TEST(algorithms_take_their_closed_forms)
{
	const struct cs_loggp *cost = &plain.level[CS_INTER];
	for (size_t f = 0; f < COUNT(closed_forms); f++) {
		const struct closed_form *form = &closed_forms[f];
		const struct cs_algorithm *algorithm = cs_algorithm_by_name(form->coll, form->name);
		if (!algorithm)
			fail_msg("no %s:%s", cs_colls[form->coll].name, form->name);
		for (int p = 1; p <= 64; p++)
			for (size_t i = 0; i < COUNT(some_sizes) && form->holds(p); i++) {
				struct cs_problem call = { .coll = form->coll, .ranks = p,
							   .unit = 1, .bytes = some_sizes[i],
							   .is_commutative = true,
							   .params = fallbacks_of(algorithm) };
				int64_t expected = form->time(p, (int64_t)some_sizes[i], cost);
				struct cs_sim *sim = stage(algorithm->build, &call, NULL);
				struct cs_sim_result result;
				struct cs_load load;
				assert_int_equal(cs_sim_run(sim, &plain, NULL, NULL, &result),
						 CS_OK);
				cs_sim_destroy(sim);
				expect(form->name, p, some_sizes[i], result.time, expected);
				assert_true(cs_predict_load(algorithm, &call, &load));
				assert_int_equal(load.rounds, result.rounds);
				expect(form->name, p, some_sizes[i], cs_model_cost(&plain, &load),
				       expected);
			}
	}
}

/* --- what is told without the simulator ------------------------------------------------------- */

/* False: it refuses. */
static bool
told_and_simulated(const struct cs_algorithm *algorithm, int p, size_t bytes,
		   const struct cs_model *model, int64_t *told, int64_t *simulated)
{
	struct cs_problem call = { .coll = algorithm->coll, .ranks = p,
				   .unit = cs_colls[algorithm->coll].reduces ? 8 : 1,
				   .bytes = bytes, .is_commutative = true,
				   .params = fallbacks_of(algorithm) };
	size_t sizes[64];
	struct cs_load load;
	for (int rank = 0; rank < p; rank++)
		sizes[rank] = bytes;
	if (algorithm->coll == CS_ALLTOALLV || algorithm->coll == CS_ALLTOALLW)
		call.sizes = call.recv_sizes = sizes;
	if (!cs_predict_load(algorithm, &call, &load))
		return false;
	*told = cs_model_cost(model, &load);
	struct cs_sim_result result;
	struct cs_sim *sim = stage(algorithm->build, &call, NULL);
	assert_int_equal(cs_sim_run(sim, model, NULL, NULL, &result), CS_OK);
	cs_sim_destroy(sim);
	*simulated = result.time;
	return true;
}

/* Where no closed form is exact: pipelines are told too short, as what follows the first segment
 * down a long chain is missing; reductions and copies that overlap with messages too long. The
 * order of algorithms is that of the simulator if they are farther apart than that. */
#define LEAST_TOLD 0.55
#define MOST_TOLD 1.4

TEST(what_is_told_is_near_what_is_simulated)
{
	static const int some_ranks[] = { 2, 3, 8, 13, 32, 61 };
	static const size_t sizes[] = { 8, 1024, 65536, 1048576 };
	static const char *const models[] = {
		"L=1e-6,o=3e-7,g=1e-7,G=4e-11,copy=1e-10,reduce=1.5e-10",
		"L=5e-6,os=5e-7,or=1e-6,g=3e-6,G=8e-10,copy=1e-10,reduce=1.5e-10"
	};
	unsigned count = 0;
	const struct cs_algorithm *algorithm;
	for (int row = 0; (algorithm = cs_algorithm_at(row)); row++)
		for (size_t i = 0; algorithm->build &&
		     i < COUNT(some_ranks) * COUNT(sizes) * COUNT(models); i++) {
			int p = some_ranks[i % COUNT(some_ranks)];
			size_t bytes = sizes[i / COUNT(some_ranks) % COUNT(sizes)];
			const char *text = models[i / COUNT(some_ranks) / COUNT(sizes)];
			struct cs_model model;
			char complaint[200];
			int64_t told, simulated;
			assert_int_equal(cs_model_read(text, &model, complaint, sizeof complaint),
					 CS_OK);
			if (!told_and_simulated(algorithm, p, bytes, &model, &told, &simulated))
				continue;
			double ratio = (double)told / (double)simulated;
			if (ratio < LEAST_TOLD || ratio > MOST_TOLD)
				fail_msg("%s:%s, %d ranks, %zu bytes: told %lld ps, simulated "
					 "%lld, by %s", cs_colls[algorithm->coll].name,
					 algorithm->name, p, bytes, (long long)told,
					 (long long)simulated, text);
			count++;
		}
	assert_true(count > 2000);
}

/* --- seed 001, equation 1 --------------------------------------------------------------------- */

/* Blocks of rank `rank` as segments of at most B = params[0] bytes, one at least. */
static int
segments(const struct cs_problem *problem, int rank)
{
	size_t count = (problem->sizes[rank] + problem->params[0] - 1) / problem->params[0];
	return count ? (int)count : 1;
}

/* The pipelined ring of 2.2, round by round as the paper has it: rank i stands for as many ranks of
 * a linear ring as it has segments, and what these hand to each other is no message. Here all
 * segments have one byte. */
static void
ring_of_segments(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	int p = problem->ranks, self = problem->rank, right = (self + 1) % p, all = 0;
	for (int rank = 0; rank < p; rank++)
		all += segments(problem, rank);
	int sends = all - segments(problem, right), recvs = all - segments(problem, self);
	for (int round = 0; round < sends || round < recvs; round++)
		cs_build_sendrecv(builder, right, cs_in(0), round < sends, (self + p - 1) % p,
				  cs_out(0), round < recvs);
}

/* A message takes as long as its sender's port is busy with it: a round is one unit, and no rank
 * runs ahead. */
static const struct cs_model ported =
	{ .name = "ported", .level = { { .L = 1000, .g = 1000, .f = 1 },
								     { .L = 1000, .g = 1000,
								       .f = 1 } } };

/* r = b - min b_i rounds. */
TEST(a_ring_of_segments_takes_the_rounds_of_equation_1)
{
	for (enum cs_distribution d = 0; d < CS_DISTRIBUTIONS; d++)
		for (int p = 2; p <= 33; p++)
			for (size_t segment = 64; segment <= 1024; segment *= 2) {
				struct cs_sim_call call = { .coll = CS_ALLGATHERV, .nodes = p,
							    .ppn = 1, .bytes = 1024,
							    .distribution = d };
				int all = 0, fewest = INT32_MAX;
				struct cs_sim_result result;
				assert_int_equal(cs_sim_call_init(&call), CS_OK);
				call.problem.params = &segment;
				for (int rank = 0; rank < p; rank++) {
					int count = segments(&call.problem, rank);
					all += count;
					fewest = count < fewest ? count : fewest;
				}
				struct cs_sim *sim = stage(ring_of_segments, &call.problem, NULL);
				assert_int_equal(cs_sim_run(sim, &ported, NULL, NULL, &result),
						 CS_OK);
				expect(cs_distribution_names[d], p, segment, result.time,
				       (all - fewest) * 1000);
				cs_sim_destroy(sim);
				cs_sim_call_fini(&call);
			}
}

/* --- seed 001, 2.3 and 2.4, by the algorithms themselves -------------------------------------- */

#define SEGMENT 64 /* the smallest that the rings take */
#define MOST_RING 40

/* Rounds of an allgatherv by `name` of blocks of so many segments, all of them whole. */
static int
rounds_of(const char *name, int p, const int *counts)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_ALLGATHERV, name);
	const size_t params[CS_MAX_PARAMS] = { SEGMENT, 1, 64 };
	size_t sizes[MOST_RING];
	struct cs_problem call = { .coll = CS_ALLGATHERV, .ranks = p, .unit = 1, .sizes = sizes,
				   .params = params };
	struct cs_sim_result result;
	assert_non_null(algorithm);
	for (int rank = 0; rank < p; rank++)
		sizes[rank] = (size_t)counts[rank] * SEGMENT;
	struct cs_sim *sim = stage(algorithm->build, &call, NULL);
	assert_int_equal(cs_sim_run(sim, &ported, NULL, NULL, &result), CS_OK);
	cs_sim_destroy(sim);
	assert_int_equal(result.time % 1000, 0);
	return (int)(result.time / 1000);
}

/* `full` of the p ranks have data, `least` segments and up to two more, the others none: one after
 * another by rank, or as far from each other as can be. Returns all segments. */
static int
fill_counts(int *counts, int p, int full, int least, bool is_spread)
{
	int all = 0;
	memset(counts, 0, (size_t)p * sizeof *counts);
	for (int j = 0; j < full; j++) {
		counts[is_spread ? j * p / full : j] = least + j % 3;
		all += least + j % 3;
	}
	return all;
}

/* Equation 1 is a bound for the algorithm, which sends nothing for an empty block; from below so is
 * what the rank with the fewest segments has to receive. */
TEST(a_pipelined_ring_takes_no_more_rounds_than_equation_1)
{
	int reached = 0, below = 0;
	for (enum cs_distribution d = 0; d < CS_DISTRIBUTIONS; d++)
		for (int p = 2; p <= 33; p++) {
			int counts[MOST_RING], all = 0, most = 0, fewest = INT32_MAX;
			for (int rank = 0; rank < p; rank++) {
				size_t bytes = cs_distribution_size(d, 1024, (size_t)p,
								    (size_t)rank);
				counts[rank] = (int)((bytes + SEGMENT - 1) / SEGMENT);
				all += counts[rank] ? counts[rank] : 1;
				most += counts[rank];
				fewest = counts[rank] < fewest ? counts[rank] : fewest;
			}
			int got = rounds_of("pipelined-ring", p, counts),
			    bound = all - (fewest ? fewest : 1);
			if (got > bound || got < most - fewest)
				fail_msg("%s, %d ranks: %d rounds, not from %d to %d",
					 cs_distribution_names[d], p, got, most - fewest, bound);
			reached += got == bound;
			below += got < bound;
		}
	assert_true(reached > 32); /* regular, at least */
	assert_true(below > 0);
}

/* 2.3: empty ranks at equal distances save rounds, b - z - 1 + floor(z / (p - z)) are left; b - z
 * is the number of real segments. Exact only where p - z divides z: else some rank comes after
 * ceil(z / (p - z)) empty ones, and it is the longest such row that counts (the paper's z_0 is that
 * of any rank, so the largest of them all), one round more. With 9 ranks, 4 of them empty, and 160
 * segments: 160 rounds, not 159. And each rank with data needs more segments than there are empty
 * ones before it, which the paper says; otherwise the form is a bound from below. */
TEST(rings_with_empty_ranks_at_equal_distances_take_the_rounds_of_the_form)
{
	int counts[MOST_RING], exact = 0, one_more = 0;
	for (int p = 2; p <= 24; p++)
		for (int full = 1; full < p; full++) {
			int z = p - full, longest = (z + full - 1) / full;
			for (int least = longest > 2 ? longest - 2 : 1; least <= longest + 3;
			     least++) {
				int all = fill_counts(counts, p, full, least, false),
				    form = all - 1 + z / full;
				int got = rounds_of("equidistant-ring", p, counts);
				fill_counts(counts, p, full, least, true);
				if (rounds_of("pipelined-ring", p, counts) != got)
					fail_msg("%d ranks, %d with data: the order matters", p,
						 full);
				if (least <= longest ? got < form : got != form + (z % full != 0))
					fail_msg("%d ranks, %d with data, %d segments and more: %d "
						 "rounds, form %d", p, full, least, got, form);
				exact += got == form;
				one_more += got == form + 1;
			}
		}
	assert_true(exact > 100 && one_more > 100);
}

/* And all of them in a row save nothing. */
TEST(a_ring_with_all_empty_ranks_in_a_row_waits_for_them)
{
	int counts[MOST_RING];
	for (int p = 2; p <= 33; p++)
		for (int full = 1; full < p; full++) {
			int all = fill_counts(counts, p, full, 3, false);
			expect("pipelined-ring", p, (size_t)full,
			       rounds_of("pipelined-ring", p, counts), all - 1 + p - full);
		}
}

/* The cases of docs/simulation.md; "half" makes every second block empty, the first one full. */
TEST(half_full_takes_128_160_and_480_rounds)
{
	static const int cases[][3] = { { 8, 128, 128 }, { 9, 160, 159 }, { 30, 480, 480 } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		int p = cases[i][0], counts[MOST_RING], all = 0, empty = 0;
		for (int rank = 0; rank < p; rank++) {
			counts[rank] = (int)cs_distribution_size(CS_HALF, 1024, (size_t)p,
								 (size_t)rank) / SEGMENT;
			all += counts[rank];
			empty += !counts[rank];
		}
		assert_int_equal(all - 1 + empty / (p - empty), cases[i][2]);
		assert_int_equal(rounds_of("equidistant-ring", p, counts), cases[i][1]);
	}
}

/* The longest message of the ranks' plans, and the shortest. */
static size_t
longest_message(const struct cs_algorithm *algorithm, const struct cs_problem *call,
		size_t *shortest)
{
	struct cs_problem problem = *call;
	size_t longest = 0;
	*shortest = SIZE_MAX;
	for (problem.rank = 0; problem.rank < call->ranks; problem.rank++) {
		struct cs_builder builder;
		struct cs_plan plan;
		cs_builder_init(&builder, &problem, &plan);
		algorithm->build(&builder);
		assert_int_equal(cs_builder_finish(&builder), CS_OK);
		for (size_t i = 0; i < plan.count; i++)
			if (plan.steps[i].kind == CS_STEP_SEND) {
				size_t bytes = plan.steps[i].bytes;
				longest = bytes > longest ? bytes : longest;
				*shortest = bytes < *shortest ? bytes : *shortest;
			}
		cs_plan_fini(&plan);
	}
	return longest;
}

/* 2.4, equation 2: B = sqrt(m a / b / ((p + z) / 2 - 1 + floor(z / (p - z)))), in whole bytes; a /
 * b is `startup`. One rank with data only: a pipeline of p - 1 links, m / B + p - 2 rounds. */
TEST(rings_choose_the_block_of_equation_2)
{
	static const char *const names[] = { "pipelined-ring", "equidistant-ring", "node-ring" };
	const size_t params[CS_MAX_PARAMS] = { 0, 1024, 4 };
	for (size_t i = 0; i < COUNT(names); i++)
		for (uint64_t p = 3; p <= 33; p++)
			for (uint64_t full = 1; full < p; full++) {
				size_t sizes[MOST_RING] = { 0 };
				struct cs_problem call = { .coll = CS_ALLGATHERV, .ranks = (int)p,
							   .unit = 1, .sizes = sizes,
							   .params = params };
				uint64_t z = p - full, total = full << 20;
				uint64_t twice = full == 1 ? 2 * (p - 2) : p + z - 2 + 2 *
						 (z / full);
				for (uint64_t rank = 0; rank < full; rank++)
					sizes[rank] = 1 << 20;
				size_t shortest, block = longest_message(
					cs_algorithm_by_name(CS_ALLGATHERV, names[i]), &call,
					&shortest);
				uint64_t square = 2 * total * params[1] / twice;
				if (block * block > square || (block + 1) * (block + 1) <= square)
					fail_msg("%s, %llu of %llu ranks with data: %zu bytes",
						 names[i], (unsigned long long)full,
						 (unsigned long long)p, block);
			}
}

/* 2.3: "roughly even sized blocks of size at most B": as many of them, none longer than another
 * one by more than a byte. */
TEST(even_segments_are_as_many_and_alike)
{
	static const char *const names[] = { "pipelined-ring", "equidistant-ring", "node-ring" };
	for (size_t i = 0; i < COUNT(names); i++)
		for (size_t bytes = 1; bytes < 2000; bytes += 37) {
			const struct cs_algorithm *algorithm =
				cs_algorithm_by_name(CS_ALLGATHERV, names[i]);
			size_t params[CS_MAX_PARAMS] = { SEGMENT, 1, 4, 0 };
			size_t sizes[5] = { bytes, 0, bytes, bytes, bytes }, shortest;
			struct cs_problem call = { .coll = CS_ALLGATHERV, .ranks = 5, .unit = 1,
						   .sizes = sizes, .params = params };
			uint64_t messages[2];
			for (int even = 0; even < 2; even++) {
				struct cs_sim_result result;
				params[3] = (size_t)even;
				struct cs_sim *sim = stage(algorithm->build, &call, NULL);
				assert_int_equal(cs_sim_run(sim, &ported, NULL, NULL, &result),
						 CS_OK);
				cs_sim_destroy(sim);
				messages[even] = result.messages;
			}
			assert_int_equal(messages[0], messages[1]);
			size_t longest = longest_message(algorithm, &call, &shortest);
			assert_true(longest <= SEGMENT && longest - shortest <= 1);
		}
}

/* 2.3: what leaves a node comes from a rank with data, if the node has one, so that it leaves in
 * the first round. */
TEST(a_node_ring_leaves_each_node_from_a_rank_with_data)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_ALLGATHERV, "node-ring");
	const size_t params[CS_MAX_PARAMS] = { SEGMENT, 1, 4 };
	enum { NODES = 4, RANKS = 12 };
	/* Bit r: rank r has data */
	for (unsigned full = 1; full < 1u << RANKS; full = full * 3 + 1) {
		size_t sizes[RANKS];
		int node_of[RANKS], left[NODES] = { 0 };
		for (int rank = 0; rank < RANKS; rank++) {
			sizes[rank] = full >> rank & 1 ? 2 * SEGMENT : 0;
			node_of[rank] = rank % NODES;
		}
		for (int rank = 0; rank < RANKS; rank++) {
			struct cs_problem problem = { .coll = CS_ALLGATHERV, .ranks = RANKS,
						      .rank = rank, .unit = 1, .sizes = sizes,
						      .params = params, .node_of = node_of };
			int node = node_of[rank];
			struct cs_builder builder;
			struct cs_plan plan;
			bool leaves = false;
			cs_builder_init(&builder, &problem, &plan);
			algorithm->build(&builder);
			assert_int_equal(cs_builder_finish(&builder), CS_OK);
			for (size_t i = 0; i < plan.count; i++)
				leaves = leaves || (plan.steps[i].kind == CS_STEP_SEND &&
						    node_of[plan.steps[i].peer] != node);
			if (leaves && !sizes[rank] && (full >> node & 0x111))
				fail_msg("ranks with data %#x: rank %d has none and sends to "
					 "another node", full, rank);
			left[node] += leaves;
			cs_plan_fini(&plan);
		}
		for (int node = 0; node < NODES; node++)
			assert_true(left[node] <= 1);
	}
}

/* Seed 001, 3: what all have together, from the base size c; rounding takes less than a byte of
 * each block. */
TEST(distributions_have_the_totals_of_the_paper)
{
	enum { C = 1 << 20 };
	for (int p = 2; p <= 1024; p *= 2) {
		const double totals[CS_DISTRIBUTIONS] = {
			[CS_REGULAR] = (double)p * C,    [CS_BROADCAST] = C,
				[CS_SPIKE] = C,
			[CS_HALF] = (double)p * C,       [CS_DECREASING] = (double)p * C,
			[CS_GEOMETRIC] = (double)p * C,
		};
		for (enum cs_distribution d = 0; d < CS_DISTRIBUTIONS; d++) {
			double total = 0, last_row = 0;
			for (int rank = 0; rank < p; rank++)
				total += (double)cs_distribution_size(d, C, (size_t)p,
								      (size_t)rank);
			/* The rows of 1, 2, 4 .. ranks of the geometric curve leave one rank
			 * over. */
			if (d == CS_GEOMETRIC)
				last_row = (double)cs_distribution_size(d, C, (size_t)p,
									(size_t)p - 1);
			assert_true(total - last_row <= totals[d] &&
				    total - last_row > totals[d] - p);
		}
	}
}

/* 5.3.2, modified ring: o_s + o_r + (P - 1) (s - 1) G + max{(P - 2) g + L, (P - 2) (o_s + o_r)}.
 * Exact for one byte; with more the second part is a bound, since the bytes go while the processor
 * works, so only the first is compared. */
TEST(modified_ring_overlaps_its_messages)
{
	struct cs_model small = plain;
	small.level[CS_INTER].L = 100;
	small.level[CS_INTER].g = 310;
	for (int p = 2; p <= 40; p++) {
		const struct cs_loggp *cost = &small.level[CS_INTER];
		int64_t o = cost->o_send + cost->o_recv;
		expect("modified ring, small L", p, 1, time_of(modified_ring, p, 1, 0, &small),
		       o + max((p - 2) * cost->g + cost->L, (p - 2) * o));
		cost = &plain.level[CS_INTER];
		for (size_t i = 0; i < COUNT(some_sizes); i++) {
			int64_t bytes = ((int64_t)some_sizes[i] - 1) * 3,
				network = (p - 2) * cost->g + cost->L;
			if (network >= (p - 2) * o)
				expect("modified ring", p, some_sizes[i],
				       time_of(modified_ring, p, some_sizes[i], 0, &plain),
				       o + (p - 1) * bytes + network);
		}
	}
}

/* n messages of each rank at once, LogfP (5.3.2): o_s(n) + o_r(n) + max{(n - 1) o_s(n) + L,
 * (n - 1) (o_s(n) + o_r(n))} up to f of them, then (n - f) g in place of the first (n - 1) o_s(n).
 * Here this is in the sum of both, as the processor may hold up the last message longer than the
 * gaps do, and these begin after o_s(1). */
static int64_t
logfp_exchange(const struct cs_loggp *cost, int64_t n)
{
	int64_t sends = row_of_sends(cost, n);
	int64_t last = n <= cost->f ? sends : max(sends, cost->o_send + (n - cost->f) * cost->g);
	return max(last + cost->L + cost->o_recv, sends + row_of_receives(cost, n));
}

/* Few messages are bound by L. A receiver that waits for each of them needs o_r(1) for the last, so
 * o_r(n) differs from it only where the processor is the bound, with another L. */
static struct cs_model
plain_logfp(int64_t f, int64_t o_min, bool is_long)
{
	struct cs_model model = plain_with_f(f);
	struct cs_loggp *cost = &model.level[CS_INTER];
	cost->o_send_min = o_min;
	if (!is_long) {
		cost->o_recv_min = o_min ? 60 : 0;
		cost->L = 0;
	}
	return model;
}

/* Modified ring: P - 1 messages, P - 1 <= f and P - 1 > f. */
TEST(modified_ring_sends_f_messages_without_a_gap)
{
	for (int64_t f = 1; f <= 40; f += 3)
		for (size_t i = 0; i < COUNT(some_o_mins); i++)
			for (int p = 2; p <= 40; p++) {
				struct cs_model model = plain_logfp(f, some_o_mins[i], true);
				expect("modified ring, LogfP", p, 1,
				       time_of(modified_ring, p, 1, 0, &model),
				       logfp_exchange(&model.level[CS_INTER], p - 1));
				model = plain_logfp(p - 1, some_o_mins[i], false);
				expect("modified ring, LogfP, L = 0", p, 1,
				       time_of(modified_ring, p, 1, 0, &model),
				       logfp_exchange(&model.level[CS_INTER], p - 1));
			}
}

/* Bruck, k <= f: ceil(log_{k+1} P) rounds of k messages. */
TEST(bruck_of_f_messages_takes_no_gap)
{
	for (int k = 1; k <= 12; k++)
		for (int p = k + 1, rounds = 1; p <= 200; p *= k + 1, rounds++)
			for (int i = 0; i < 4; i++) {
				/* Short rounds follow each other within g: more than f in a row. */
				struct cs_model model = plain_logfp(i / 2 ? k : 200,
								    some_o_mins[i % 2], i / 2);
				expect("Bruck, LogfP", p, 1,
				       time_of(bruck, p, 1, (size_t)k, &model),
				       rounds * logfp_exchange(&model.level[CS_INTER], k));
			}
}

/* 5.3.2, neighbour exchange: P / 2 (o_s + L + o_r) + (P - 1) (s - 1) G; recursive doubling: log2 P
 * of them. Bytes as in trees: a byte less in each message, not in each block. */
TEST(exchanges_take_their_rounds)
{
	const struct cs_loggp *cost = &plain.level[CS_INTER];
	int64_t round = cost->o_send + cost->L + cost->o_recv;
	for (size_t i = 0; i < COUNT(some_sizes); i++) {
		int64_t s = (int64_t)some_sizes[i];
		for (int p = 2; p <= 40; p += 2)
			expect("neighbour exchange", p, some_sizes[i],
			       time_of(neighbor_exchange, p, some_sizes[i], 0, &plain),
			       p / 2 * round + ((p - 1) * s - p / 2) * 3);
		for (int p = 2, rounds = 1; p <= 512; p *= 2, rounds++)
			expect("recursive doubling", p, some_sizes[i],
			       time_of(recursive_doubling, p, some_sizes[i], 0, &plain),
			       rounds * round + ((p - 1) * s - rounds) * 3);
	}
}

/* 5.3.2, Bruck: ceil(log_{k+1} P) (o_s + o_r + max{(k - 1) g + L, (k - 1) (o_s + o_r)}), for (k +
 * 1)^i ranks and one byte: the paper counts the same s in all rounds, whose messages do grow. */
TEST(bruck_takes_k_messages_in_a_round)
{
	const struct cs_loggp *cost = &plain.level[CS_INTER];
	for (int k = 1; k <= 12; k++)
		for (int p = k + 1, rounds = 1; p <= 200; p *= k + 1, rounds++) {
			int64_t o = cost->o_send + cost->o_recv;
			expect("Bruck", p, 1, time_of(bruck, p, 1, (size_t)k, &plain),
			       rounds * (o + max((k - 1) * cost->g + cost->L, (k - 1) * o)));
		}
}

/* --- 5.1.3, splitting for LogGP --------------------------------------------------------------- */

#define MOST_SPLIT 200

static uint64_t
end_of_cut(const struct cs_partition_times *times, const uint64_t *t, int n, int cut)
{
	uint64_t child = times->message + t[cut], rest = times->gap + t[n - cut];
	return (uint64_t)cut * times->block + (child > rest ? child : rest);
}

/* t(1) = 0, t(n) = min over all c of c block + max(message + t(c), gap + t(n - c)): each c is
 * tried. */
static void
split_by_force(const struct cs_partition_times *times, uint64_t t[MOST_SPLIT + 1])
{
	t[0] = t[1] = 0;
	for (int n = 2; n <= MOST_SPLIT; n++) {
		t[n] = UINT64_MAX;
		for (int cut = 1; cut < n; cut++)
			if (end_of_cut(times, t, n, cut) < t[n])
				t[n] = end_of_cut(times, t, n, cut);
	}
}

TEST(cuts_are_as_good_as_the_best_of_all)
{
	uint64_t seed = first_seed(), t[MOST_SPLIT + 1];
	struct cs_partition cuts;
	for (int i = 0; i < 300; i++) {
		const uint32_t orders[] = { 1, 10, 1000, 100000 };
		struct cs_partition_times times = { .message = random_below(&seed, 3000),
						    .gap = random_below(&seed, 3000),
						    .block = random_below(&seed, orders[i % 4]) };
		split_by_force(&times, t);
		cs_partition_split(&cuts, MOST_SPLIT, &times);
		assert_int_equal(cuts.tabled, MOST_SPLIT);
		for (int n = 2; n <= MOST_SPLIT; n++)
			if (cuts.table[n] < 1 || cuts.table[n] >= n ||
			    end_of_cut(&times, t, n, cuts.table[n]) != t[n])
				fail_msg("message %llu, gap %llu, block %llu: %d members cut at %d "
					 "are not the best", (unsigned long long)times.message,
					 (unsigned long long)times.gap,
					 (unsigned long long)times.block, n, cuts.table[n]);
	}
}

/* As long as the paper says, L' = L + 2 o for a message: the algorithm, simulated with the costs
 * that it was told. With g above L' the form counts a gap behind the last message, too, which
 * nobody waits for. */
TEST(split_scatter_takes_the_best_time_there_is)
{
	static const size_t costs[][3] = { { 2000, 300, 500 }, { 1000, 0, 100 }, { 100, 400, 500 },
					   { 0, 700, 800 },
					   /* L, o, g in ns */
					   { 900, 300, 300 }, { 500, 20, 540 }, { 900, 600, 300 } };
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_SCATTER, "split");
	for (size_t i = 0; i < COUNT(costs); i++) {
		const int64_t L = (int64_t)costs[i][0] * 1000, o = (int64_t)costs[i][1] * 1000,
			      g = (int64_t)costs[i][2] * 1000;
		const struct cs_partition_times times = { .message = (uint64_t)(L + 2 * o),
							  .gap = (uint64_t)max(g, o) };
		const struct cs_model model =
			{ .level = { { .L = L, .o_send = o, .o_recv = o, .g = g, .f = 1 } } };
		const size_t params[CS_MAX_PARAMS] = { costs[i][0], costs[i][1], costs[i][2], 0 };
		uint64_t t[MOST_SPLIT + 1];
		split_by_force(&times, t);
		for (int p = 2; p <= MOST_SPLIT; p += p < 40 ? 1 : 23) {
			struct cs_problem call = { .coll = CS_SCATTER, .ranks = p, .unit = 1,
						   .bytes = 8, .params = params };
			struct cs_sim *sim = stage(algorithm->build, &call, NULL);
			struct cs_sim_result result;
			assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
			cs_sim_destroy(sim);
			expect("scatter:split", p, i, result.time, (int64_t)t[p]);
		}
	}
}

/* --- what ranks of a node share --------------------------------------------------------------- */

/* Ranks 0 and 1 send to 2 and 3. */
static void
two_pairs(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	if (problem->rank < 2)
		cs_build_send(builder, problem->rank + 2, cs_in(0), problem->bytes);
	else
		cs_build_recv(builder, problem->rank - 2, cs_out(0), problem->bytes);
}

static void
copy_once(struct cs_builder *builder)
{
	cs_build_copy(builder, cs_out(0), cs_in(0), builder->problem->bytes);
}

TEST(a_card_serves_one_message_after_the_other)
{
	static const int node_of[] = { 0, 0, 1, 1 };
	struct cs_model model = plain;
	struct cs_problem call = { .coll = CS_BCAST, .ranks = 4, .unit = 1, .bytes = 1001 };
	struct cs_sim *sim = stage(two_pairs, &call, node_of);
	struct cs_sim_result result;
	int64_t alone = 300 + 2000 + 3000 + 200;
	assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
	assert_int_equal(result.time, alone);
	/* As fast as a port: the second waits for all of the first, and for the card's gap. */
	model.nic_G = 3000;
	model.nic_g = 50;
	assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
	assert_int_equal(cs_sim_end_of(sim, 2), alone);
	assert_int_equal(cs_sim_end_of(sim, 3), alone + 3050);
	assert_int_equal(cs_sim_end_of(sim, 1), 300 + 3050 + 3000);
	/* Three times as fast: the second begins 1050 later. */
	model.nic_G = 1000;
	assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
	assert_int_equal(cs_sim_end_of(sim, 2), alone);
	assert_int_equal(cs_sim_end_of(sim, 3), alone + 1050);
	assert_int_equal(result.inter_messages, 2);
	assert_int_equal(result.inter_bytes, 2002);
	cs_sim_destroy(sim);
}

/* Ranks 0 and 1, each on a node of its own, send to 2 and 3 on a third: only the card that receives
 * has two of them. */
TEST(a_card_receives_one_message_after_the_other)
{
	static const int node_of[] = { 0, 1, 2, 2 };
	struct cs_model model = plain;
	struct cs_problem call = { .coll = CS_BCAST, .ranks = 4, .unit = 1, .bytes = 1001 };
	struct cs_sim *sim = stage(two_pairs, &call, node_of);
	struct cs_sim_result result;
	int64_t alone = 300 + 2000 + 3000 + 200;
	model.nic_G = 1000;
	for (int64_t gap = 0; gap <= 700; gap += 350) {
		model.nic_g = gap;
		assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
		assert_int_equal(cs_sim_end_of(sim, 2), alone);
		assert_int_equal(cs_sim_end_of(sim, 3), alone + 1000 + gap);
	}
	cs_sim_destroy(sim);
}

TEST(a_bus_serves_one_copy_after_the_other)
{
	static const int node_of[] = { 0, 0, 0, 1 };
	struct cs_model model = plain;
	struct cs_problem call = { .coll = CS_BCAST, .ranks = 4, .unit = 1, .bytes = 1000 };
	struct cs_sim *sim = stage(copy_once, &call, node_of);
	struct cs_sim_result result;
	model.copy = 2000;
	model.bus = 1000;
	assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
	assert_int_equal(cs_sim_end_of(sim, 0), 2000);
	assert_int_equal(cs_sim_end_of(sim, 1), 2000);
	assert_int_equal(cs_sim_end_of(sim, 2), 3000);
	assert_int_equal(cs_sim_end_of(sim, 3), 2000);
	assert_int_equal(result.messages, 0);
	cs_sim_destroy(sim);
}

TEST(messages_inside_a_node_cost_their_own)
{
	static const int node_of[] = { 0, 1, 0, 2 };
	struct cs_model model = plain;
	struct cs_problem call = { .coll = CS_BCAST, .ranks = 4, .unit = 1, .bytes = 101 };
	struct cs_sim *sim = stage(two_pairs, &call, node_of);
	struct cs_sim_result result;
	model.level[CS_INTRA] = (struct cs_loggp){ .L = 10, .o_send = 20, .o_recv = 30, .g = 40,
						   .G = 1000, .f = 1 };
	assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
	assert_int_equal(cs_sim_end_of(sim, 2), 20 + 10 + 100 + 30);
	assert_int_equal(cs_sim_end_of(sim, 3), 300 + 2000 + 300 + 200);
	assert_int_equal(result.messages, 2);
	assert_int_equal(result.inter_messages, 1);
	assert_int_equal(result.bytes, 202);
	assert_int_equal(result.inter_bytes, 101);
	model.bus = 2000; /* slower than the message: its last byte comes when the bus has had time
			   * for all */
	assert_int_equal(cs_sim_run(sim, &model, NULL, NULL, &result), CS_OK);
	assert_int_equal(cs_sim_end_of(sim, 2), 20 + 202 + 10 + 30);
	cs_sim_destroy(sim);
}

/* --- messages --------------------------------------------------------------------------------- */

/* Rank 0 sends 8, 0 and 24 bytes; rank 1 waits for the last first. params[0]: what it expects in
 * the last. */
static void
three_in_order(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	if (problem->rank == 0) {
		cs_build_send(builder, 1, cs_in(0), 8);
		cs_build_signal(builder, 1);
		cs_build_send(builder, 1, cs_in(0), 24);
		return;
	}
	int first = cs_build_recv(builder, 0, cs_out(0), 8), second = cs_build_hear(builder, 0);
	int third = cs_build_recv(builder, 0, cs_out(8), problem->params[0]);
	cs_build_wait(builder, third);
	cs_build_wait(builder, second);
	cs_build_wait(builder, first);
}

TEST(messages_of_a_pair_match_in_their_order)
{
	size_t params[] = { 24 };
	struct cs_problem call = { .coll = CS_BCAST, .ranks = 2, .unit = 1, .params = params };
	struct cs_sim_result result;
	struct cs_sim *sim = stage(three_in_order, &call, NULL);
	assert_int_equal(cs_sim_run(sim, &plain, NULL, NULL, &result), CS_OK);
	/* The third is injected two gaps and 7 bytes after the first; the others are taken after
	 * it. */
	assert_int_equal(result.time, 300 + 2 * 500 + 7 * 3 + 23 * 3 + 2000 + 3 * 200);
	assert_int_equal(result.messages, 3);
	assert_int_equal(result.bytes, 32);
	assert_int_equal(result.rounds, 1);
	/* The receiver comes when all has arrived. */
	assert_int_equal(cs_sim_run(sim, &plain, (const int64_t[]){ 0, 100000 }, NULL, &result),
			 CS_OK);
	assert_int_equal(result.time, 100000 + 3 * 200);
	cs_sim_destroy(sim);
	params[0] = 16;
	sim = stage(three_in_order, &call, NULL);
	assert_int_equal(cs_sim_run(sim, &plain, NULL, NULL, &result), CS_BAD_INPUT);
	assert_string_equal(result.text, "rank 0 sends 24 bytes to rank 1, which expects 16");
	cs_sim_destroy(sim);
}

static void
signal_once(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_signal(builder, 1);
	else if (builder->problem->rank == 1)
		cs_build_hear(builder, 0);
}

TEST(signals_take_a_message_s_time_and_no_bytes)
{
	struct cs_problem call = { .coll = CS_BARRIER, .ranks = 3, .unit = 1 };
	struct cs_sim *sim = stage(signal_once, &call, NULL);
	struct cs_sim_result result;
	assert_int_equal(cs_sim_run(sim, &plain, NULL, NULL, &result), CS_OK);
	assert_int_equal(result.time, 300 + 2000 + 200);
	assert_int_equal(cs_sim_end_of(sim, 0), 300);
	assert_int_equal(cs_sim_end_of(sim, 2), 0);
	assert_int_equal(result.messages, 1);
	assert_int_equal(result.bytes, 0);
	assert_int_equal(result.rounds, 1);
	cs_sim_destroy(sim);
}

static void
hear_first(struct cs_builder *builder)
{
	int other = 1 - builder->problem->rank;
	cs_build_wait(builder, cs_build_hear(builder, other));
	cs_build_signal(builder, other);
}

static void
signal_only(struct cs_builder *builder)
{
	if (builder->problem->rank == 0)
		cs_build_signal(builder, 1);
}

TEST(plans_that_hang_or_do_not_match_are_told)
{
	struct cs_problem call = { .coll = CS_BARRIER, .ranks = 2, .unit = 1 };
	struct cs_sim_result result;
	struct cs_sim *sim = stage(hear_first, &call, NULL);
	assert_int_equal(cs_sim_run(sim, &plain, NULL, NULL, &result), CS_BAD_INPUT);
	assert_string_equal(result.text, "rank 0 waits for ever in step 1 (wait, request 0)");
	cs_sim_destroy(sim);
	sim = stage(signal_only, &call, NULL);
	assert_int_equal(cs_sim_run(sim, &plain, NULL, NULL, &result), CS_BAD_INPUT);
	assert_string_equal(result.text, "rank 0 sends to rank 1 what that never receives");
	cs_sim_destroy(sim);
}

TEST(what_cannot_be_is_refused)
{
	struct cs_sim *sim;
	struct cs_step step = { .kind = CS_STEP_SEND, .peer = 2, .request = 0 };
	struct cs_plan plan = { .rank = 0, .ranks = 2, .steps = &step, .count = 1, .requests = 1 };
	assert_int_equal(cs_sim_create(&sim, 2, (const int[]){ 0, 2 }, 0), CS_BAD_INPUT);
	assert_null(sim);
	assert_int_equal(cs_sim_create(&sim, 2, NULL, 16), CS_NO_MEMORY);
	assert_int_equal(cs_sim_create(&sim, 2, NULL, 0), CS_OK);
	assert_int_equal(cs_sim_add(sim, &plan), CS_BAD_INPUT);
	/* The first trouble is kept. */
	step = (struct cs_step){ .kind = CS_STEP_COPY, .bytes = 8 };
	assert_int_equal(cs_sim_add(sim, &plan), CS_BAD_INPUT);
	assert_int_equal(cs_sim_added(sim), CS_BAD_INPUT);
	cs_sim_destroy(sim);
	const struct cs_step wrong[] = { { .kind = CS_STEP_WAIT, .request = 1 },
					 { .kind = CS_STEP_KINDS } };
	for (size_t i = 0; i < COUNT(wrong); i++) {
		assert_int_equal(cs_sim_create(&sim, 2, NULL, 0), CS_OK);
		step = wrong[i];
		assert_int_equal(cs_sim_add(sim, &plan), CS_BAD_INPUT);
		cs_sim_destroy(sim);
	}
	assert_int_equal(cs_sim_create(&sim, 2, NULL, 0), CS_OK);
	cs_sim_add_step(sim, 0, CS_NODE_AWAIT, 1, 1); /* on another node */
	assert_int_equal(cs_sim_added(sim), CS_BAD_INPUT);
	cs_sim_destroy(sim);
}

TEST(times_that_leave_the_range_are_told)
{
	struct cs_problem call = { .coll = CS_BARRIER, .ranks = 3, .unit = 1 };
	struct cs_sim *sim = stage(signal_once, &call, NULL);
	struct cs_sim_result result;
	const int64_t starts[] = { INT64_MAX / 4 - 1000, 0, 0 };
	assert_int_equal(cs_sim_run(sim, &plain, starts, NULL, &result), CS_UNSUPPORTED);
	assert_int_equal(cs_sim_run(sim, &plain, NULL, NULL, &result), CS_OK);
	cs_sim_destroy(sim);
}

TEST(a_budget_is_kept)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_ALLGATHER, "ring");
	struct cs_problem call = { .coll = CS_ALLGATHER, .ranks = 64, .unit = 1, .bytes = 8 };
	struct cs_sim *sim;
	enum cs_status status;
	assert_int_equal(cs_sim_create(&sim, 64, NULL, 100000), CS_OK);
	do {
		struct cs_builder builder;
		struct cs_plan plan;
		cs_builder_init(&builder, &call, &plan);
		algorithm->build(&builder);
		assert_int_equal(cs_builder_finish(&builder), CS_OK);
		status = cs_sim_add(sim, &plan);
		cs_plan_fini(&plan);
	} while (status == CS_OK && ++call.rank < 64);
	assert_int_equal(status, CS_NO_MEMORY);
	assert_in_range(call.rank, 10, 25);
	cs_sim_destroy(sim);
}

/* Against an array of queues. */
TEST(halves_are_found_again)
{
	enum { RANKS = 40, ROUNDS = 200000 };
	/* How many, negative: messages; number of the first */
	static int waiting[RANKS][RANKS], first[RANKS][RANKS];
	struct cs_match match = { 0 };
	size_t left = SIZE_MAX / 2;
	uint64_t seed = first_seed();
	memset(waiting, 0, sizeof waiting);
	memset(first, 0, sizeof first);
	for (int i = 0; i < ROUNDS; i++) {
		int to = (int)random_below(&seed, RANKS), from = (int)random_below(&seed, RANKS);
		bool is_receive = random_below(&seed, 2);
		int *count = &waiting[to][from], sign = is_receive ? 1 : -1;
		struct cs_half half;
		if (cs_match_take(&match, to, from, !is_receive, &half)) {
			assert_true(*count * sign < 0);
			assert_int_equal(half.bytes, first[to][from]++);
			*count += sign;
			continue;
		}
		assert_true(*count * sign >= 0);
		half = (struct cs_half){ .request = is_receive ? i : -1,
					 .bytes = (uint64_t)(first[to][from] + abs(*count)) };
		assert_true(cs_match_put(&match, to, from, &half, &left));
		*count += sign;
	}
	cs_match_fini(&match);
}

/* --- hierarchical algorithms ------------------------------------------------------------------ */

static void
no_steps(struct cs_builder *builder)
{
}

/* A model in which only the node costs, or all. */
static const struct cs_model node_model = {
	.name = "node",
	.level = { { .L = 2000, .o_send = 300, .o_recv = 200, .g = 500, .G = 3000, .f = 1 },
		   { .f = 1 } },
	.copy = 1000, .reduce = 2000, .flag = 70,
};

static int64_t
hier_time_of(const struct cs_sim_hier *hier, enum cs_coll coll, int nodes, int ppn, int root,
	     size_t bytes)
{
	struct cs_sim_call call = { .coll = coll, .nodes = nodes, .ppn = ppn, .root = root,
				    .bytes = bytes, .is_commutative = true };
	struct cs_sim_result result;
	struct cs_sim *sim;
	assert_int_equal(cs_sim_call_init(&call), CS_OK);
	assert_int_equal(cs_sim_create(&sim, call.ranks, call.node_of, 0), CS_OK);
	assert_int_equal(cs_hier_add(sim, &call, hier), CS_OK);
	if (cs_sim_run(sim, &node_model, NULL, NULL, &result) != CS_OK)
		fail_msg("%s: %s", cs_colls[coll].name, result.text);
	cs_sim_destroy(sim);
	cs_sim_call_fini(&call);
	return result.time;
}

static int64_t
hier_time(enum cs_coll coll, build_function *build, int nodes, int ppn, int root, size_t bytes,
	  size_t whole)
{
	const struct cs_algorithm plan = { .coll = cs_colls[coll].between, .build = build };
	const struct cs_sim_hier hier = { .plan = &plan, .whole = whole };
	return hier_time_of(&hier, coll, nodes, ppn, root, bytes);
}

static int64_t
overlapped(const char *name, int nodes, int ppn, size_t bytes)
{
	const size_t params[CS_MAX_PARAMS] = { 1 };
	const struct cs_sim_hier hier = { .plan = cs_algorithm_by_name(CS_ALLGATHER, name),
				      .params = params, .overlaps = true };
	return hier_time_of(&hier, CS_ALLGATHER, nodes, ppn, 0, bytes);
}

/* m ranks on a node, s bytes; without a plan in between. The leader awaits m - 1 flags, one after
 * another. */
TEST(nodes_take_their_copies_and_flags)
{
	/* Slices of whole cache lines; a chain has one piece. */
	enum { NODES = 3, S = CS_CACHE_LINE * 840, SHORT = 8 * 504 };
	for (int m = 2; m <= 8; m++) {
		int64_t flag = 70, collect = (m - 1) * flag, p = NODES * m;
		int64_t slice = S / m;
		expect("allgather", m, S,
		       hier_time(CS_ALLGATHER, no_steps, NODES, m, 0, S, 0),
		       S + collect + flag + p * S);
		expect("alltoall", m, S,
		       hier_time(CS_ALLTOALL, no_steps, NODES, m, 0, S, 0),
		       p * S + collect + flag + p * S);
		expect("barrier", m, 0, hier_time(CS_BARRIER, no_steps, NODES, m, 0, 0,
						  0), collect + flag);
		/* The root's node: copy in, one flag, copy out. Other nodes do not wait, as there
		 * is no plan. */
		for (int root = 0; root < m; root++)
			expect("bcast", m, S,
			       hier_time(CS_BCAST, no_steps, NODES, m, root, S, 0),
			       S + flag + S);
		expect("scatter", m, S,
		       hier_time(CS_SCATTER, no_steps, NODES, m, 1, S, 0),
		       p * S + flag + S);
		expect("gather, root leads", m, S,
		       hier_time(CS_GATHER, no_steps, NODES, m, 0, S, 0),
		       S + collect + p * S);
		/* The leader does not await the root's block, which stays with it. */
		expect("gather", m, S,
		       hier_time(CS_GATHER, no_steps, NODES, m, 1, S, 0),
		       S + collect + p * S);
		/* Small vectors are the leader's work, of large ones everybody has a slice, which
		 * stays with it. */
		expect("allreduce, whole", m, S,
		       hier_time(CS_ALLREDUCE, no_steps, NODES, m, 0, S, S),
		       S + (m - 1) * (flag + 2 * S) + flag + S);
		expect("allreduce", m, S,
		       hier_time(CS_ALLREDUCE, no_steps, NODES, m, 0, S, S - 8),
		       S - slice + (m - 1) * (flag + 2 * slice) + collect + flag + S);
		expect("reduce", m, S, hier_time(CS_REDUCE, no_steps, NODES, m, 1, S, 0),
		       S - slice + (m - 1) * (flag + 2 * slice) + collect + flag + S);
		/* The leader adds up what all have; then each what came before it on its node, and
		 * what came before its node. Or the node's ranks add in a chain, where each copies
		 * what came before it out. */
		expect("scan", m, S, hier_time(CS_SCAN, no_steps, NODES, m, 0, S,
					       (size_t)S * (size_t)(m - 1)),
		       S + (m - 1) * (flag + 2 * S) + flag + (m - 1) * 2 * S + 2 * S);
		expect("exscan, a chain", m, SHORT,
		       hier_time(CS_EXSCAN, no_steps, NODES, m, 0, SHORT, 0),
		       SHORT + (m - 1) * (flag + 3 * SHORT) + flag + flag + 2 * SHORT);
		if (S / 8 % p == 0)
			expect("reduce_scatter", m, S,
			       hier_time(CS_REDUCE_SCATTER, no_steps, NODES, m,
					 0, S, 0),
			       S + (m - 1) * (flag + 2 * slice) + collect + S / NODES + flag +
				       S / p);
	}
	/* Their slots have no memory that could be asked for. */
	assert_int_equal(cs_node_populate_error(), 0);
}

/* With a plan: its closed form in the middle, of blocks as large as a node's. */
TEST(plans_run_among_leaders)
{
	const struct cs_loggp *cost = &node_model.level[CS_INTER];
	const struct cs_algorithm *ring = cs_algorithm_by_name(CS_ALLGATHER, "ring");
	const struct cs_algorithm *binomial = cs_algorithm_by_name(CS_BCAST, "binomial");
	for (int nodes = 2; nodes <= 16; nodes *= 2)
		for (int m = 2; m <= 8; m++) {
			const int64_t s = 40, flag = 70;
			expect("allgather:hier:ring", nodes * m, (size_t)s,
			       hier_time(CS_ALLGATHER, ring->build, nodes, m, 0,
					 (size_t)s, 0),
			       s + (m - 1) * flag + ring_form(nodes, m * s, cost) + flag + nodes *
			       m * s);
			expect("bcast:hier:binomial", nodes * m, (size_t)s,
			       hier_time(CS_BCAST, binomial->build, nodes, m, 1,
					 (size_t)s, 0),
			       s + flag + binomial_form(nodes, s, cost) + flag + s);
		}
}

/* Copies take a third of the network's time: all are hidden but those of the last round. */
TEST(copies_overlap_with_the_next_round)
{
	const struct cs_loggp *cost = &node_model.level[CS_INTER];
	const int64_t s = 400, flag = 70;
	for (int m = 2; m <= 8; m++) {
		int64_t begin = s + (m - 1) * flag;
		for (int nodes = 2; nodes <= 16; nodes *= 2) {
			expect("ring", nodes * m, (size_t)s,
			       overlapped("ring", nodes, m, (size_t)s),
			       begin + ring_form(nodes, m * s, cost) + flag + m * s);
			expect("doubling", nodes * m, (size_t)s,
			       overlapped("recursive-doubling", nodes, m, (size_t)s), begin +
			       doubling_form(nodes, m * s, cost) + flag + nodes / 2 * m * s);
		}
	}
}

/* What is turned round at the end (Bruck) cannot be taken earlier: no gain but that of the node's
 * own blocks. */
TEST(what_is_not_in_its_place_is_copied_at_the_end)
{
	const size_t params[CS_MAX_PARAMS] = { 1 };
	const struct cs_sim_hier hier = { .plan = cs_algorithm_by_name(CS_ALLGATHER, "bruck"),
				      .params = params };
	for (int nodes = 3; nodes <= 9; nodes++) {
		int64_t at_end = hier_time_of(&hier, CS_ALLGATHER, nodes, 2, 0, 4000);
		int64_t time = overlapped("bruck", nodes, 2, 4000);
		assert_true(time <= at_end);
		assert_true(time >= at_end - 2 * 4000); /* the node's own blocks */
	}
}

/* Nodes that are no power of two: dissemination takes log2 n rounds, rounded up, and gains too. */
TEST(any_number_of_nodes_overlaps)
{
	const struct cs_algorithm *plan = cs_algorithm_by_name(CS_ALLGATHER, "dissemination");
	for (int nodes = 3; nodes <= 33; nodes++) {
		int64_t at_end = hier_time(CS_ALLGATHER, plan->build, nodes, 2, 0,
					   4000, 0);
		int64_t time = overlapped("dissemination", nodes, 2, 4000);
		/* All but what the last round brought: half of the nodes or less. */
		int64_t gain = (int64_t)(nodes / 2) * 2 * 4000 - 8 * 70;
		if (time > at_end - gain)
			fail_msg("%d nodes: %lld with overlap, %lld without", nodes,
				 (long long)time, (long long)at_end);
	}
}

TEST(only_gathers_to_all_overlap)
{
	struct cs_sim_call call = { .coll = CS_BCAST, .nodes = 2, .ppn = 2, .bytes = 8,
				    .is_commutative = true };
	const struct cs_sim_hier hier = { .plan = cs_algorithm_by_name(CS_BCAST, "binomial"),
				      .overlaps = true };
	struct cs_sim *sim;
	assert_int_equal(cs_sim_call_init(&call), CS_OK);
	assert_int_equal(cs_sim_create(&sim, call.ranks, call.node_of, 0), CS_OK);
	assert_int_equal(cs_hier_add(sim, &call, &hier), CS_UNSUPPORTED);
	cs_sim_destroy(sim);
	cs_sim_call_fini(&call);
}

/* --- messages through buffers ----------------------------------------------------------------- */

/* Two ranks exchange `bytes`, with copies of messages up to `most`. */
static int64_t
exchange_time(bool is_intra, size_t bytes, size_t most, const struct cs_model *model)
{
	const int same[] = { 0, 0 };
	struct cs_sim_call call = { .coll = CS_ALLGATHER, .nodes = 2, .ppn = 1, .bytes = bytes,
				    .is_commutative = true };
	struct cs_sim_result result;
	struct cs_sim *sim;
	assert_int_equal(cs_sim_call_init(&call), CS_OK);
	assert_int_equal(cs_sim_create(&sim, 2, is_intra ? same : NULL, 0), CS_OK);
	cs_sim_copy_messages(sim, most);
	for (int rank = 0; rank < 2; rank++) {
		struct cs_builder builder;
		struct cs_plan plan;
		cs_builder_init(&builder, cs_sim_call_seen_by(&call, rank), &plan);
		cs_algorithm_by_name(CS_ALLGATHER, "ring")->build(&builder);
		assert_int_equal(cs_builder_finish(&builder), CS_OK);
		assert_int_equal(cs_sim_add(sim, &plan), CS_OK);
		cs_plan_fini(&plan);
	}
	assert_int_equal(cs_sim_run(sim, model, NULL, NULL, &result), CS_OK);
	cs_sim_destroy(sim);
	cs_sim_call_fini(&call);
	return result.time;
}

TEST(messages_are_copied_in_and_out)
{
	struct cs_model model = node_model;
	const int64_t s = 5000;
	const int64_t uncopied = exchange_time(false, (size_t)s, 0, &model);
	assert_int_equal(exchange_time(false, (size_t)s, (size_t)s - 1, &model), uncopied);
	assert_int_equal(exchange_time(false, (size_t)s, (size_t)s, &model), uncopied + 2 * s);
	/* Inside a node all are, and are nothing but that: no intra.G. The own block is copied
	 * while the flag is under way. */
	model.level[CS_INTRA] = (struct cs_loggp){ .L = 2000, .o_send = 300, .o_recv = 200,
						   .G = 9000, .f = 1 };
	assert_int_equal(exchange_time(true, (size_t)s, 1, &model), 3 * s + 300 + 200);
	/* Two ranks with three copies each, one after another on the bus; the messages do not need
	 * it. */
	model.bus = 1000;
	assert_int_equal(exchange_time(true, (size_t)s, 1, &model), 6 * s);
}

static void
await_each_other(struct cs_sim *sim, int rank)
{
	cs_sim_add_step(sim, rank, CS_NODE_AWAIT, 1 - rank, 1);
	cs_sim_add_step(sim, rank, CS_NODE_PUBLISH, 0, 0);
}

TEST(flags_that_nobody_sets_are_told)
{
	static const int node_of[] = { 0, 0 };
	struct cs_sim *sim;
	struct cs_sim_result result;
	assert_int_equal(cs_sim_create(&sim, 2, node_of, 0), CS_OK);
	await_each_other(sim, 0);
	await_each_other(sim, 1);
	assert_int_equal(cs_sim_added(sim), CS_OK);
	assert_int_equal(cs_sim_run(sim, &node_model, NULL, NULL, &result), CS_BAD_INPUT);
	assert_string_equal(result.text, "rank 0 waits for ever in step 0 (await, request 0)");
	cs_sim_destroy(sim);
}

static void
copy_thrice(struct cs_builder *builder)
{
	for (size_t i = 0; i < 3; i++)
		cs_build_copy(builder, cs_out(100 * i), cs_in(200 * i), 100);
	cs_build_reduce(builder, cs_out(0), cs_in(0), cs_out(0), 8);
	cs_build_copy(builder, cs_out(0), cs_in(8), 8);
}

TEST(joined_work_takes_less_memory_and_the_same_time)
{
	struct cs_problem call = { .coll = CS_BCAST, .ranks = 1, .unit = 1 };
	struct cs_builder builder;
	struct cs_plan plan;
	struct cs_sim *sim;
	struct cs_sim_result result;
	cs_builder_init(&builder, &call, &plan);
	copy_thrice(&builder);
	assert_int_equal(cs_builder_finish(&builder), CS_OK);
	assert_int_equal(cs_sim_create(&sim, 1, NULL, 0), CS_OK);
	assert_int_equal(cs_sim_plan_memory(sim, &plan), 5 * 16);
	cs_sim_join_work(sim);
	assert_int_equal(cs_sim_plan_memory(sim, &plan), 3 * 16);
	assert_int_equal(cs_sim_add(sim, &plan), CS_OK);
	assert_int_equal(cs_sim_run(sim, &node_model, NULL, NULL, &result), CS_OK);
	assert_int_equal(result.time, 300 + 2 * 8 + 8);
	cs_sim_destroy(sim);
	cs_plan_fini(&plan);
}

static void
send_in_turns(struct cs_builder *builder)
{
	int self = builder->problem->rank;
	cs_build_copy(builder, cs_out(0), cs_in(0), 100);
	cs_build_repeat(builder, 1000, 100, 1);
	cs_build_copy(builder, cs_out(100), cs_in(100), 100);
	if (self)
		cs_build_wait(builder, cs_build_recv(builder, 0, cs_out(0), 100));
	else
		cs_build_wait(builder, cs_build_send(builder, 1, cs_in(0), 100));
	cs_build_copy(builder, cs_out(200), cs_in(200), 100);
	cs_build_repeated(builder);
}

/* In as many bytes of memory, with copies as they are, joined, and with those of messages. */
TEST(a_loop_takes_as_long_as_its_steps_would_one_by_one)
{
	for (int kind = 0; kind < 4; kind++) {
		struct cs_problem call = { .coll = CS_BCAST, .ranks = 2, .unit = 1 };
		struct cs_sim *sims[2];
		struct cs_sim_result results[2];
		for (int is_unrolled = 0; is_unrolled < 2; is_unrolled++) {
			assert_int_equal(cs_sim_create(&sims[is_unrolled], 2, NULL, 0), CS_OK);
			if (kind & 1)
				cs_sim_join_work(sims[is_unrolled]);
			cs_sim_copy_messages(sims[is_unrolled], kind & 2 ? 1000 : 0);
		}
		for (call.rank = 0; call.rank < 2; call.rank++) {
			struct cs_builder builder;
			struct cs_plan plan, unrolled;
			cs_builder_init(&builder, &call, &plan);
			send_in_turns(&builder);
			assert_int_equal(cs_builder_finish(&builder), CS_OK);
			assert_int_equal(plan.count, 6);
			assert_int_equal(cs_plan_unroll(&plan, &unrolled), CS_OK);
			assert_int_equal(unrolled.count, 4001);
			assert_int_equal(cs_sim_plan_memory(sims[0], &plan),
					 cs_sim_plan_memory(sims[1], &unrolled));
			assert_int_equal(cs_sim_add(sims[0], &plan), CS_OK);
			assert_int_equal(cs_sim_add(sims[1], &unrolled), CS_OK);
			cs_plan_fini(&plan);
			cs_plan_fini(&unrolled);
		}
		for (int is_unrolled = 0; is_unrolled < 2; is_unrolled++) {
			assert_int_equal(cs_sim_run(sims[is_unrolled], &node_model, NULL, NULL,
						    &results[is_unrolled]), CS_OK);
			cs_sim_destroy(sims[is_unrolled]);
		}
		assert_int_equal(results[0].messages, 1000);
		assert_int_equal(results[0].time, results[1].time);
		assert_memory_equal(&results[0], &results[1], sizeof *results);
	}
}

/* --- whole algorithms ------------------------------------------------------------------------- */

static const size_t *
fallbacks_of(const struct cs_algorithm *algorithm)
{
	static size_t params[CS_MAX_PARAMS];
	for (int i = 0; i < CS_MAX_PARAMS; i++)
		params[i] = algorithm->params[i].name ? algorithm->params[i].fallback : 0;
	return params;
}

/* False: it refuses. */
static bool
build_all(const struct cs_algorithm *algorithm, int p, struct cs_problem *problems,
	  struct cs_plan *plans)
{
	bool is_good = true;
	static int node_of[64];
	for (int rank = 0; rank < p; rank++) {
		struct cs_builder builder;
		node_of[rank] = rank / 4;
		problems[rank] = (struct cs_problem){ .coll = algorithm->coll, .ranks = p,
						      .rank = rank, .root = p / 2,
						      .unit = cs_colls[algorithm->coll].reduces
						      ? 8 : 1, .bytes = 4096,
						      .is_commutative = true,
						      .params = fallbacks_of(algorithm),
						      .node_of = node_of };
		cs_builder_init(&builder, &problems[rank], &plans[rank]);
		algorithm->build(&builder);
		is_good = cs_builder_finish(&builder) == CS_OK && is_good;
	}
	return is_good;
}

/* Two independent programs count the same messages, bytes and rounds; the same simulation twice,
 * and again in the same simulator, gives the same ends. */
TEST(algorithms_run_as_they_are_proven_and_always_alike)
{
	static const int some_ranks[] = { 1, 2, 3, 7, 16, 21, 33 };
	uint64_t seed = first_seed();
	const struct cs_algorithm *algorithm;
	for (int row = 0; (algorithm = cs_algorithm_at(row)); row++)
		for (size_t i = 0; algorithm->build && i < COUNT(some_ranks); i++) {
			struct cs_problem problems[64];
			struct cs_plan plans[64];
			struct cs_verdict verdict;
			struct cs_sim *sims[2];
			struct cs_sim_result results[2], again;
			int64_t starts[64];
			int p = some_ranks[i];
			bool is_built = build_all(algorithm, p, problems, plans);
			for (int rank = 0; rank < p; rank++)
				starts[rank] = (int64_t)random_below(&seed, 3) * 1000000;
			for (int copy = 0; is_built && copy < 2; copy++) {
				assert_int_equal(cs_sim_create(&sims[copy], p, problems[0].node_of,
							       0), CS_OK);
				for (int rank = 0; rank < p; rank++)
					assert_int_equal(cs_sim_add(sims[copy], &plans[rank]),
							 CS_OK);
				if (cs_sim_run(sims[copy], &cs_models[0], starts, NULL,
					       &results[copy]) != CS_OK)
					fail_msg("%s:%s, %d ranks: %s",
						 cs_colls[algorithm->coll].name, algorithm->name, p,
						 results[copy].text);
			}
			if (is_built) {
				assert_true(cs_plans_verify(problems, plans, &verdict));
				assert_int_equal(results[0].messages, verdict.messages);
				assert_int_equal(results[0].bytes, verdict.bytes);
				assert_int_equal(results[0].rounds, verdict.rounds);
				assert_memory_equal(&results[0], &results[1], sizeof results[0]);
				assert_int_equal(cs_sim_run(sims[0], &cs_models[0], starts, NULL,
							    &again), CS_OK);
				assert_memory_equal(&results[0], &again, sizeof again);
				for (int rank = 0; rank < p; rank++)
					assert_int_equal(cs_sim_end_of(sims[0], rank),
							 cs_sim_end_of(sims[1], rank));
				cs_sim_destroy(sims[0]);
				cs_sim_destroy(sims[1]);
			}
			for (int rank = 0; rank < p; rank++)
				cs_plan_fini(&plans[rank]);
		}
}

struct seen {
	size_t next[33];
	int64_t end[33], waited[33];
};

static void
see(void *context, const struct cs_sim_seen *step)
{
	struct seen *seen = context;
	assert_int_equal(step->step, seen->next[step->rank]++);
	assert_int_equal(step->start, seen->end[step->rank]);
	assert_true(step->waited >= 0 && step->end - step->start >= step->waited);
	assert_true(!step->waited || step->kind == CS_STEP_WAIT);
	seen->end[step->rank] = step->end;
	seen->waited[step->rank] += step->waited;
}

/* Also through the bus and the card of "hdr-like". */
TEST(a_watcher_sees_each_step_once_and_without_gaps)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_ALLGATHER, "ring");
	struct cs_problem call = { .coll = CS_ALLGATHER, .ranks = 33, .unit = 1, .bytes = 5000 };
	int node_of[33];
	for (int rank = 0; rank < 33; rank++)
		node_of[rank] = rank / 8;
	struct cs_sim *sim = stage(algorithm->build, &call, node_of);
	struct seen seen = { 0 };
	struct cs_sim_watch watch = { see, &seen };
	struct cs_sim_result result;
	assert_int_equal(cs_sim_run(sim, &cs_models[0], NULL, &watch, &result), CS_OK);
	for (int rank = 0; rank < 33; rank++) {
		assert_int_equal(seen.next[rank], 1 + 4 * 32);
		assert_int_equal(seen.end[rank], cs_sim_end_of(sim, rank));
	}
	cs_sim_destroy(sim);
}

TEST(late_ranks_delay_those_who_need_them)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_BCAST, "binomial");
	struct cs_problem call = { .coll = CS_BCAST, .ranks = 4, .unit = 1, .bytes = 1 };
	struct cs_sim *sim = stage(algorithm->build, &call, NULL);
	struct cs_sim_result result;
	assert_int_equal(cs_sim_run(sim, &plain, (const int64_t[]){ 0, 0, 50000, 0 }, NULL,
				    &result), CS_OK);
	assert_int_equal(cs_sim_end_of(sim, 1), 300 + 500 + 2000 + 200);
	assert_int_equal(cs_sim_end_of(sim, 2), 50000 + 200 + 300);
	assert_int_equal(cs_sim_end_of(sim, 3), 50000 + 200 + 300 + 2000 + 200);
	cs_sim_destroy(sim);
}

TEST(many_ranks_fit)
{
	enum { RANKS = 32768 };
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(CS_BCAST, "binomial");
	static int node_of[RANKS];
	struct cs_problem call = { .coll = CS_BCAST, .ranks = RANKS, .unit = 1, .bytes = 1 };
	struct cs_sim_result result;
	struct rusage before, after;
	struct timespec start, end;
	for (int rank = 0; rank < RANKS; rank++)
		node_of[rank] = rank / 32;
	getrusage(RUSAGE_SELF, &before);
	clock_gettime(CLOCK_MONOTONIC, &start);
	struct cs_sim *sim = stage(algorithm->build, &call, node_of);
	assert_int_equal(cs_sim_run(sim, &cs_models[0], NULL, NULL, &result), CS_OK);
	clock_gettime(CLOCK_MONOTONIC, &end);
	getrusage(RUSAGE_SELF, &after);
	assert_int_equal(result.messages, RANKS - 1);
	assert_int_equal(result.rounds, 15);
	assert_int_equal(cs_sim_run(sim, &plain, NULL, NULL, &result), CS_OK);
	assert_int_equal(result.time, 15 * (300 + 2000 + 200));
	print_message("bcast:binomial on %d ranks: %.2f s, %ld MiB more\n", RANKS,
		      (double)(end.tv_sec - start.tv_sec) + 1e-9 *
		      (double)(end.tv_nsec - start.tv_nsec),
		      (after.ru_maxrss - before.ru_maxrss) / 1024);
	cs_sim_destroy(sim);
}

/* --- models ----------------------------------------------------------------------------------- */

TEST(models_are_read_as_they_are_written)
{
	char text[CS_MODEL_TEXT], complaint[300];
	for (const struct cs_model *model = cs_models; *model->name; model++) {
		struct cs_model by_name, by_text;
		memset(&by_text, 0, sizeof by_text);
		assert_int_equal(cs_model_read(model->name, &by_name, complaint, sizeof complaint),
				 CS_OK);
		assert_int_equal(cs_model_read(cs_model_text(text, model), &by_text, complaint,
					       sizeof complaint),
				 CS_OK);
		assert_memory_equal(&by_name, model, sizeof *model);
		assert_string_equal(by_text.name, "given");
		assert_memory_equal(by_text.level, model->level,
				    sizeof *model - offsetof(struct cs_model, level));
	}
}

TEST(a_model_may_be_given_in_parts)
{
	char complaint[300];
	struct cs_model model;
	assert_int_equal(cs_model_read("L=1e-6,o=3e-7,or=1e-7,G=4e-11", &model, complaint,
				       sizeof complaint), CS_OK);
	assert_int_equal(model.level[CS_INTER].L, 1000000);
	assert_int_equal(model.level[CS_INTER].o_send, 300000);
	assert_int_equal(model.level[CS_INTER].o_recv, 100000);
	assert_int_equal(model.level[CS_INTER].G, 40000);
	assert_int_equal(model.level[CS_INTER].f, 1);
	assert_int_equal(model.nic_g | model.nic_G | model.bus | model.copy, 0);
	assert_memory_equal(&model.level[CS_INTRA], &model.level[CS_INTER],
			    sizeof model.level[CS_INTRA]);
	assert_int_equal(cs_model_read("hdr-like,intra.L=2e-7,f=4,bus=0", &model, complaint,
				       sizeof complaint), CS_OK);
	assert_int_equal(model.level[CS_INTRA].L, 200000);
	assert_int_equal(model.level[CS_INTER].L, cs_models[0].level[CS_INTER].L);
	assert_int_equal(model.level[CS_INTER].f, 4);
	assert_int_equal(model.bus, 0);
	assert_int_equal(model.copy, cs_models[0].copy);
	char text[CS_MODEL_TEXT];
	assert_int_equal(cs_model_read("o=3e-7,osmin=1e-7,intra.ormin=2e-7", &model, complaint,
				       sizeof complaint), CS_OK);
	assert_int_equal(model.level[CS_INTER].o_send_min, 100000);
	assert_int_equal(model.level[CS_INTRA].o_recv_min, 200000);
	assert_contains(cs_model_text(text, &model), "or=3e-07,osmin=1e-07,g=0");
}

TEST(wrong_models_are_refused_with_what_was_expected)
{
	static const char *const cases[][2] = {
		{ "hdr-lik", "\"hdr-lik\" is no model; expected KEY=VALUE or one of hdr-like "
			     "10gbe-like mt25204 "
			     "mt23108 cx6-hdr (did you mean hdr-like?)" },
		{ "", "expected a model" },
		{ "hdr-like,L", "\"L\": expected a built-in model first" },
		{ "L=1e-6,hdr-like", "\"hdr-like\": expected a built-in model first" },
		{ "hdr-like,l=1", "\"l\" is no key; expected one of L, o" },
		{ "hdr-like,intra.copy=1", "\"intra.copy\" is no key" },
		{ "L=", "L=: expected seconds from 0 to 1" },
		{ "L=-1", "L=-1: expected seconds" },
		{ "L=1us", "L=1us: expected seconds" },
		{ "L=nan", "L=nan: expected seconds" },
		{ "G=1", "G=1: expected seconds per byte" },
		{ "f=0", "f=0: expected a count" },
		{ "f=1.5", "f=1.5: expected a count" },
		{ "L=\n1", "L=?1: expected seconds" },
		{ "hdr-like,", "\"\": expected a built-in model first" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		char complaint[300] = "";
		struct cs_model model = plain;
		assert_int_equal(cs_model_read(cases[i][0], &model, complaint, sizeof complaint),
				 CS_BAD_INPUT);
		assert_contains(complaint, cases[i][1]);
		assert_memory_equal(&model, &plain, sizeof model);
	}
}

int
main(void)
{
	mallopt(M_MMAP_THRESHOLD, 32 << 20); /* freed memory is kept, with its pages */
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	return run_all(NULL, NULL);
}
