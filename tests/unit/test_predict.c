/* What the site's model makes of plans and of the host, with the algorithms that are built in. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "select/predict.h"

/* o > g, and a byte costs so little that messages of 8 cost their start-up. */
#define CLUSTER "L=1e-6,o=3e-7,g=1e-7,G=4e-11,copy=1e-10,flag=1e-7"
#define MOST_ALGORITHMS 512

/* The host takes `host_ps` for everything between 2 and 1024 nodes of so many ranks each. */
struct site {
	struct cs_site_model model;
	struct cs_host_cost costs[2 * CS_COLL_COUNT];
	struct cs_point point;
};

static const struct cs_site_model *
make_site(struct site *site, const char *parameters, int ppn, int64_t host_ps)
{
	char complaint[200];
	*site = (struct site){ .point = { SIZE_MAX / 2, host_ps } };
	site->model.wire = CS_WIRE_HOST;
	site->model.hosts = site->costs;
	site->model.host_count = COUNT(site->costs);
	assert_int_equal(cs_model_read(parameters, &site->model.model, complaint, sizeof complaint),
			 CS_OK);
	for (int i = 0; i < 2 * CS_COLL_COUNT; i++) {
		int nodes = i % 2 ? 1024 : 2;
		site->costs[i] = (struct cs_host_cost){ (enum cs_coll)(i / 2), nodes * ppn, nodes,
							&site->point, 1 };
	}
	return &site->model;
}

static struct cs_facts
facts_of(enum cs_coll coll, size_t bytes, int nodes, int ppn)
{
	return (struct cs_facts){ coll, bytes, nodes * ppn, nodes, ppn, ppn, true, true, 1,
				  CS_WIRE_HOST };
}

static struct cs_prediction
predict(const struct cs_site_model *model, const struct cs_facts *facts)
{
	struct cs_prediction prediction;
	assert_true(cs_predict(model, facts, NULL, &prediction));
	return prediction;
}

/* As if there were this algorithm only. */
static struct cs_prediction
predict_of(const struct cs_site_model *model, const struct cs_facts *facts, const char *name)
{
	const struct cs_algorithm *excluded[MOST_ALGORITHMS + 1] = { NULL }, *algorithm;
	struct cs_prediction prediction;
	int count = 0;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++) {
		assert_true(count < MOST_ALGORITHMS);
		if (algorithm->coll != facts->coll || strcmp(algorithm->name, name) != 0)
			excluded[count++] = algorithm;
	}
	assert_true(cs_predict(model, facts, excluded, &prediction));
	assert_non_null(prediction.best);
	assert_string_equal(prediction.best->name, name);
	return prediction;
}

/* One round of p - 1 messages is not one message's time: the processor starts one after another. */
TEST(every_message_of_a_rank_is_charged)
{
	static const struct {
		enum cs_coll coll;
		const char *flood; /* one round of p - 1 messages */
		int64_t each;      /* what every further one costs */
	} cases[] = { { CS_SCATTER, "linear", 300000 }, { CS_GATHER, "linear", 300000 },
		      { CS_BCAST, "linear", 300000 },
		      { CS_ALLGATHER, "direct-ring", 600000 },
		      { CS_ALLTOALL, "scattered", 600000 } };
	struct site site;
	const struct cs_site_model *model = make_site(&site, CLUSTER, 1, 20000000);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_facts facts = facts_of(cases[i].coll, 8, 128, 1);
		int64_t flood = predict_of(model, &facts, cases[i].flood).ps;
		/* The copy of the own block is not hidden everywhere. */
		assert_in_range(flood, 1600280 + 126 * cases[i].each,
				1600280 + 126 * cases[i].each + 800);
		struct cs_prediction best = predict(model, &facts);
		assert_string_not_equal(best.best->name, cases[i].flood);
		assert_in_range(best.ps, 1600280, flood / 2);
	}
}

/* A port that needs a gap holds messages up as a processor does. */
TEST(gaps_are_charged)
{
	struct site site;
	const struct cs_site_model *model = make_site(&site, "L=1e-6,o=1e-7,g=3e-6,G=1e-9", 1, 1);
	struct cs_facts facts = facts_of(CS_SCATTER, 64, 16, 1);
	assert_int_equal(predict_of(model, &facts, "linear").ps,
			 1200000 + 63000 + 14 * (3000000 + 63000));
	/* f in a row need none. */
	model = make_site(&site, "L=1e-6,o=1e-7,g=3e-6,G=1e-9,f=4", 1, 1);
	assert_int_equal(predict_of(model, &facts, "linear").ps,
			 1200000 + 63000 + 11 * 3000000 + 14 * 63000);
}

/* The cheapest plan is taken if it wins by more than what the model may be wrong by. */
TEST(a_plan_must_win_by_more_than_the_models_error)
{
	struct site site;
	struct cs_facts facts = facts_of(CS_BCAST, 8, 64, 1);
	int64_t best = predict(make_site(&site, CLUSTER, 1, 1), &facts).ps;
	struct cs_site_model *model = &site.model;
	site.point.ps = best * 11 / 10; /* the host takes a tenth longer */
	model->fit_error = 90;
	assert_non_null(predict(model, &facts).use.algorithm);
	model->fit_error = 110;
	struct cs_prediction prediction = predict(model, &facts);
	assert_null(prediction.use.algorithm);
	assert_non_null(prediction.best);
	assert_int_equal(prediction.ps, best);
}

/* What hier:binomial takes beyond the plan between the nodes. */
static int64_t
on_the_node(const char *more, int ppn, size_t bytes)
{
	char parameters[200];
	struct site site;
	struct cs_facts facts = facts_of(CS_BCAST, bytes, 8, ppn);
	snprintf(parameters, sizeof parameters, "L=1e-6,o=3e-7%s", more);
	int64_t time = predict_of(make_site(&site, parameters, ppn, 1), &facts, "hier:binomial").ps;
	return time - 3 * 1600000; /* 8 nodes: 3 rounds */
}

/* The plan between the nodes is one and the same, which costs nothing here: what is left is the
 * node's. */
static int64_t
of_the_node(enum cs_coll coll, const char *name, size_t bytes, int ppn)
{
	struct site site;
	struct cs_facts facts = facts_of(coll, bytes, 8, ppn);
	return predict_of(make_site(&site, "copy=1e-10", ppn, 1), &facts, name).ps;
}

/* Each rank adds up its slice, and does not copy its own: once out, and all but a slice in. */
TEST(a_rank_does_not_copy_what_it_reduces_itself)
{
	assert_int_equal(of_the_node(CS_BCAST, "hier:binomial", 4096, 4), 2 * 4096 * 100);
	assert_int_equal(of_the_node(CS_ALLREDUCE, "hier:recursive-doubling", 4096, 4),
			 (2 * 4096 - 1024) * 100);
	assert_int_equal(of_the_node(CS_ALLREDUCE, "hier:recursive-doubling", 4096, 16),
			 (2 * 4096 - 256) * 100);
	assert_int_equal(of_the_node(CS_REDUCE, "hier:binomial", 4096, 4), (2 * 4096 - 1024) * 100);
}

/* A root that gathers takes all blocks when the others of its node have brought theirs; one that
 * scatters brings them all, and then each takes its own. */
TEST(gathering_takes_a_node_as_long_as_scattering)
{
	const int64_t plan = 4; /* its copy of what the root's node has for itself */
	assert_int_equal(of_the_node(CS_SCATTER, "hier:linear", 4096, 4),
			 (32 + 1 + plan) * 4096 * 100);
	assert_int_equal(of_the_node(CS_GATHER, "hier:linear", 4096, 4),
			 (1 + 32 + plan) * 4096 * 100);
}

/* bcast: in and out of the node's memory, twice the vector. */
TEST(a_nodes_copies_take_their_memorys_time)
{
	assert_int_equal(on_the_node("", 4, 4096), 0);
	assert_int_equal(on_the_node(",copy=1e-10", 4, 4096), 2 * 4096 * 100);
	/* All but the root copy out at a time: the bus, when that takes longer. */
	assert_int_equal(on_the_node(",bus=2e-11", 4, 4096), (1 + 3) * 4096 * 20);
	assert_int_equal(on_the_node(",copy=1e-10,bus=2e-11", 4, 4096), 2 * 4096 * 100);
	assert_int_equal(on_the_node(",copy=1e-10,bus=2e-11", 8, 4096),
			 4096 * 100 + 7 * 4096 * 20);
}

static int64_t
flags_of_a_barrier(int ppn)
{
	struct site site;
	struct cs_facts facts = facts_of(CS_BARRIER, 0, 8, ppn);
	return predict_of(make_site(&site, "flag=1e-7", ppn, 1), &facts, "hier:dissemination").ps;
}

TEST(a_nodes_flags_are_charged)
{
	assert_int_equal(on_the_node(",flag=1e-7", 4, 8), 100000); /* the root's */
	assert_int_equal(on_the_node(",flag=1e-7", 16, 8), 100000);
	/* The leader awaits one of each other rank, and each rank the leader's. */
	assert_int_equal(flags_of_a_barrier(4), 4 * 100000);
	assert_int_equal(flags_of_a_barrier(16), 16 * 100000);
}

/* Between nodes of 4 ranks, 16 blocks go from each to each. */
TEST(alltoall_between_nodes_carries_the_blocks_of_all_pairs)
{
	struct site site;
	const struct cs_site_model *model = make_site(&site, "L=1e-6,G=1e-9", 4, 1);
	struct cs_facts facts = facts_of(CS_ALLTOALL, 128, 8, 4);
	assert_int_equal(predict_of(model, &facts, "hier:pairwise").ps,
			 7 * (1000000 + (16 * 128 - 1) * 1000));
}

TEST(a_model_is_silent_of_uneven_blocks)
{
	struct site site;
	const struct cs_site_model *model = make_site(&site, CLUSTER, 1, 20000000);
	struct cs_facts facts = facts_of(CS_ALLGATHERV, 8, 16, 1);
	struct cs_prediction prediction;
	assert_null(cs_predict_not(model, &facts));
	assert_true(cs_predict(model, &facts, NULL, &prediction));
	facts.skew = 2;
	assert_string_equal(cs_predict_not(model, &facts), "it is for blocks of one size");
	assert_false(cs_predict(model, &facts, NULL, &prediction));
}

TEST(a_model_is_silent_of_ranks_dealt_round_the_nodes)
{
	struct site site;
	const struct cs_site_model *model = make_site(&site, CLUSTER, 4, 20000000);
	struct cs_facts facts = facts_of(CS_ALLGATHER, 8, 16, 4);
	struct cs_prediction prediction;
	assert_null(cs_predict_not(model, &facts));
	facts.is_block_placed = false;
	assert_string_equal(cs_predict_not(model, &facts), "it is for block placement");
	assert_false(cs_predict(model, &facts, NULL, &prediction));
}

/* Sizes that nobody has still get an answer, and soon: steps are not counted one by one. */
TEST(any_size_is_answered)
{
	struct site site;
	const struct cs_site_model *model = make_site(&site, CLUSTER, 1, 20000000);
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int bit = 0; bit < 63; bit += 31) {
			struct cs_facts facts = facts_of((enum cs_coll)coll, (size_t)1 << bit, 16,
							 1);
			struct cs_prediction prediction;
			assert_true(cs_predict(model, &facts, NULL, &prediction));
			assert_true(!prediction.best || prediction.ps > 0);
		}
	struct cs_facts one = facts_of(CS_BCAST, (size_t)1 << 30, 16, 1),
			two = facts_of(CS_BCAST, (size_t)1 << 31, 16, 1);
	int64_t once = predict_of(model, &one, "linear").ps,
		twice = predict_of(model, &two, "linear").ps;
	assert_in_range(twice, 2 * once - once / 100, 2 * once);
}

/* What an algorithm has no formula for is counted from its plans, blocks of one size or a vector;
 * asked again, it is the same. */
TEST(plans_without_a_formula_are_counted)
{
	static const struct {
		enum cs_coll coll;
		const char *name;
		int ranks;
		uint64_t rounds, bytes; /* of 160 bytes a block, or a vector */
	} cases[] = {
		{ CS_GATHER, "binomial", 64, 6, 63 * 160 },
		{ CS_GATHER, "linear", 1000, 1, 999 * 160 },
		{ CS_ALLGATHER, "recursive-doubling", 8, 3, 7 * 160 },
		{ CS_ALLGATHER, "gather-bcast", 8, 6, 3 * 8 * 160 },
		{ CS_ALLREDUCE, "rabenseifner", 16, 8, 2 * 15 * 160 / 16 },
		{ CS_BARRIER, "binomial", 1024, 20, 0 },
	};
	for (int turn = 0; turn < 2; turn++)
		for (size_t i = 0; i < COUNT(cases); i++) {
			const struct cs_algorithm *algorithm =
				cs_algorithm_by_name(cases[i].coll, cases[i].name);
			size_t params[CS_MAX_PARAMS] = { 0 };
			assert_non_null(algorithm);
			assert_null(algorithm->cost);
			for (int k = 0; k < CS_MAX_PARAMS && algorithm->params[k].name; k++)
				params[k] = algorithm->params[k].fallback;
			struct cs_problem problem =
				{ .coll = cases[i].coll, .ranks = cases[i].ranks, .unit = 1,
						      .bytes = cases[i].coll == CS_BARRIER
						      ? 0 : 160, .is_commutative = true,
						      .params = params };
			struct cs_load load;
			assert_true(cs_predict_load(algorithm, &problem, &load));
			assert_int_equal(load.rounds, cases[i].rounds);
			assert_int_equal(load.sent_bytes > load.received_bytes
					 ? load.sent_bytes : load.received_bytes, cases[i].bytes);
		}
}

/* Of that many ranks a model knows formulas only, so that it is soon done. */
TEST(among_thousands_of_ranks_a_plan_needs_a_formula)
{
	const struct cs_algorithm *without = cs_algorithm_by_name(CS_GATHER, "binomial"),
				  *with = cs_algorithm_by_name(CS_BCAST, "binomial");
	const size_t params[CS_MAX_PARAMS] = { 0 };
	struct cs_problem problem = { .coll = CS_GATHER, .ranks = 4096, .unit = 1, .bytes = 8,
				      .params = params };
	struct cs_load load;
	assert_false(cs_predict_load(without, &problem, &load));
	problem.coll = CS_BCAST;
	assert_true(cs_predict_load(with, &problem, &load));
	assert_int_equal(load.rounds, 12);
}

RUN_TESTS(NULL, NULL)
