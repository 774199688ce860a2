#include "many_plans.h"

#include "algorithms/algorithm.h"
#include "plan/build.h"
#include "plan/execute.h"
#include "unit.h"

enum { MOST_WORDS = 300, MOST_TURNS = 400000 };

static const struct {
	enum cs_coll coll;
	const char *name;
} choices[] = {
	{ CS_ALLGATHER, "bruck" }, { CS_ALLGATHER, "recursive-doubling" }, { CS_ALLGATHER, "ring" },
	{ CS_ALLREDUCE, "rabenseifner" }, { CS_ALLREDUCE, "recursive-doubling" },
		{ CS_ALLREDUCE, "ring" },
	{ CS_ALLTOALL, "bruck" }, { CS_ALLTOALL, "pairwise" }, { CS_ALLTOALL, "scattered" },
	{ CS_BCAST, "binomial" }, { CS_BCAST, "chain" }, { CS_BCAST, "scatter-allgather" },
	{ CS_REDUCE, "binomial" },
};

/* One plan, of all ranks. */
struct work {
	struct cs_problem problem;
	const struct cs_algorithm *algorithm;
	size_t params[CS_MAX_PARAMS], words; /* 8 bytes each, of a block or the vector */
	uint64_t salt;
	struct actor {
		struct cs_plan plan;
		struct cs_run run;
		uint64_t *in, *out;
		char *tmp;
		struct cs_request *requests;
		bool is_over;
	} actors[MANY_RANKS];
};

static uint64_t
word_of(const struct work *work, int from, int to, size_t i)
{
	return (work->salt * 1000003 + (uint64_t)from * 1009 + (uint64_t)to * 31 + i) *
	       UINT64_C(0x9e3779b97f4a7c15);
}

static void
add_up(void *out, const void *a, const void *b, size_t count)
{
	uint64_t *to = out;
	const uint64_t *one = a, *other = b;
	for (size_t i = 0; i < count; i++)
		to[i] = one[i] + other[i];
}

static const struct cs_reduction sum = { .unit = sizeof(uint64_t), .kernel = add_up };

static void
draw_work(struct work *work, const struct many_plans *many, uint64_t *random)
{
	static const size_t sizes[] = { 0, 1, 5, 29, 30, MOST_WORDS };
	size_t which = random_below(random, COUNT(choices));
	*work = (struct work){ .salt = random_below(random, 1 << 20),
			       .words = sizes[random_below(random, COUNT(sizes))] };
	work->algorithm = cs_algorithm_by_name(choices[which].coll, choices[which].name);
	assert_non_null(work->algorithm);
	for (int i = 0; i < CS_MAX_PARAMS && work->algorithm->params[i].name; i++) {
		const struct cs_param *param = &work->algorithm->params[i];
		work->params[i] = strcmp(param->name, "segment") ||
				  param->low > 64 ? param->fallback : 64;
	}
	work->problem = (struct cs_problem){ .coll = choices[which].coll, .ranks = many->ranks,
					     .unit = sizeof(uint64_t),
					     .root = (int)random_below(random,
								       (uint32_t)many->ranks),
					     .bytes = work->words * sizeof(uint64_t),
					     .is_commutative = true };
}

/* False: it refuses this problem. */
static bool
make_actor(struct work *work, const struct many_plans *many, int rank, uint64_t tag)
{
	struct actor *actor = &work->actors[rank];
	struct cs_problem problem = work->problem;
	struct cs_builder builder;
	size_t words = work->words * (size_t)many->ranks + 1;
	problem.rank = rank;
	problem.params = work->params;
	cs_builder_init(&builder, &problem, &actor->plan);
	work->algorithm->build(&builder);
	if (cs_builder_finish(&builder) != CS_OK)
		return false;
	actor->in = calloc(words, sizeof *actor->in);
	actor->out = calloc(words, sizeof *actor->out);
	actor->tmp = calloc(1, actor->plan.tmp_bytes + 1);
	actor->requests = malloc(((size_t)actor->plan.requests + 1) * sizeof *actor->requests);
	assert_true(actor->in && actor->out && actor->tmp && actor->requests);
	memset(actor->requests, 0xee, ((size_t)actor->plan.requests + 1) * sizeof *actor->requests);
	for (size_t i = 0; i + 1 < words; i++)
		actor->in[i] = problem.coll == CS_ALLTOALL
			       ? word_of(work, rank, (int)(i / work->words), i % work->words) :
							     word_of(work, rank, 0, i);
	if (problem.coll == CS_BCAST && rank == problem.root)
		memcpy(actor->out, actor->in, words * sizeof *actor->in);
	actor->run = (struct cs_run){ .plan = &actor->plan, .wire = many->wires[rank],
				      .requests = actor->requests, .tag = tag, .reduction = &sum,
				      .memory = { (char *)actor->in, (char *)actor->out,
						  actor->tmp } };
	if (problem.coll == CS_BCAST)
		actor->run.memory[CS_IN] = (char *)actor->out;
	return true;
}

static void
free_work(struct work *work, int ranks)
{
	for (int rank = 0; rank < ranks; rank++) {
		struct actor *actor = &work->actors[rank];
		cs_plan_fini(&actor->plan);
		free(actor->in);
		free(actor->out);
		free(actor->tmp);
		free(actor->requests);
	}
}

static uint64_t
expected(const struct work *work, int rank, size_t i)
{
	const struct cs_problem *problem = &work->problem;
	int block = work->words ? (int)(i / work->words) : 0;
	uint64_t all = 0;
	switch (problem->coll) {
	case CS_BCAST: return word_of(work, problem->root, 0, i);
	case CS_ALLGATHER: return word_of(work, block, 0, i % work->words);
	case CS_ALLTOALL: return word_of(work, block, rank, i % work->words);
	default:
		for (int from = 0; from < problem->ranks; from++)
			all += word_of(work, from, 0, i);
		return all;
	}
}

static bool
is_right(const struct work *work, int rank)
{
	const struct cs_problem *problem = &work->problem;
	bool has_blocks = problem->coll == CS_ALLGATHER || problem->coll == CS_ALLTOALL;
	if (problem->coll == CS_REDUCE && rank != problem->root)
		return true;
	for (size_t i = 0; i < work->words * (has_blocks ? (size_t)problem->ranks : 1); i++)
		if (work->actors[rank].out[i] != expected(work, rank, i))
			return false;
	return true;
}

static const char *
step_all(struct work *works, const struct many_plans *many, uint64_t *random)
{
	int left = many->plans * many->ranks;
	for (int turns = 0; left; turns++) {
		struct work *work = &works[random_below(random, (uint32_t)many->plans)];
		struct actor *actor = &work->actors[random_below(random, (uint32_t)many->ranks)];
		if (turns == MOST_TURNS)
			return "no end";
		if (many->turn)
			many->turn();
		if (actor->is_over || cs_run_progress(&actor->run) == CS_AGAIN)
			continue;
		actor->is_over = true;
		left--;
	}
	for (int i = 0; i < many->plans; i++)
		for (int rank = 0; rank < many->ranks; rank++) {
			if (works[i].actors[rank].run.told)
				return "another size came than was expected";
			if (!is_right(&works[i], rank))
				return "a wrong result";
		}
	return NULL;
}

const char *
many_plans_run(struct many_plans *many, uint64_t *random)
{
	static struct work works[MANY_PLANS];
	size_t used = 0;
	for (int i = 0; i < many->plans; i++) {
		bool is_built = false;
		while (!is_built) {
			draw_work(&works[i], many, random);
			is_built = true;
			for (int rank = 0; rank < many->ranks && is_built; rank++)
				is_built = make_actor(&works[i], many, rank,
						      many->first_tag +
						      (many->has_one_tag ? 0 : (uint64_t)i));
			if (!is_built)
				free_work(&works[i], many->ranks);
		}
		used += (size_t)snprintf(many->names + used, sizeof many->names - used,
					 " %s:%s of %zu words,",
					 cs_colls[works[i].problem.coll].name,
					 works[i].algorithm->name, works[i].words);
	}
	const char *trouble = step_all(works, many, random);
	for (int i = 0; i < many->plans; i++)
		free_work(&works[i], many->ranks);
	return trouble;
}
