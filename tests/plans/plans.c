/* Every algorithm that is a plan, proven (plan/verify.h) for many ranks, sizes, roots, and its cost
 * compared.
 *
 *   plans [--only COLL[:NAME]] [--ranks P] [--seed S] [--case N]      no argument: everything
 *
 * A failure prints the words that replay it. */
#include "algorithms/algorithm.h"
#include "base/parse.h"
#include "plan/build.h"
#include "plan/verify.h"
#include "sim/count.h"

#include <inttypes.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CASES 12 /* for each number of ranks and set of parameters */
#define MOST_RANKS 100

static const char *only;
static int only_ranks, only_case = -1;
static unsigned failures, proven, formulas, refused;
static uint64_t seed = 1;

static uint64_t
rnd(uint64_t *state)
{
	uint64_t x = (*state += 0x9e3779b97f4a7c15u);
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

struct problem_set {
	struct cs_problem of[MOST_RANKS];
	size_t sizes[MOST_RANKS], at[MOST_RANKS];
	size_t send[MOST_RANKS][MOST_RANKS], recv[MOST_RANKS][MOST_RANKS];
	size_t send_at[MOST_RANKS][MOST_RANKS], recv_at[MOST_RANKS][MOST_RANKS];
	int node_of[MOST_RANKS];
	char text[160];
};

static bool
has_sizes(enum cs_coll coll)
{
	return coll == CS_ALLGATHERV || coll == CS_GATHERV || coll == CS_SCATTERV ||
	       coll == CS_REDUCE_SCATTER;
}

static bool
has_matrix(enum cs_coll coll)
{
	return coll == CS_ALLTOALLV || coll == CS_ALLTOALLW;
}

/* One block after another, or with holes, or in another order. */
static void
place(uint64_t *state, const size_t *sizes, size_t *at, int ranks, int kind)
{
	size_t next = 0;
	for (int i = 0; i < ranks; i++) {
		int rank = kind == 2 ? ranks - 1 - i : i;
		at[rank] = next;
		next += sizes[rank] + (kind ? rnd(state) % 3 * 8 : 0);
	}
}

static size_t
some_size(uint64_t *state, int kind, int rank, int ranks)
{
	switch (kind % 6) {
	case 0: return 8;                                        /* all alike */
	case 1: return rnd(state) % 9 * 8;                       /* some empty */
	/* Only one: "broadcast" of seed 001 */
	case 2: return rank == ranks / 2 ? 960 : 0;
	case 3: return rank == ranks - 1 ? 800 : 8;              /* "spike" */
	case 4: return (size_t)8 << (ranks - 1 - rank < 7 ? ranks - 1 - rank : 7); /* geometric */
	default: return rnd(state) % 4 ? rnd(state) % 100 * 8 : 0;
	}
}

static void
make_problems(struct problem_set *set, const struct cs_algorithm *algorithm, int ranks, int number,
	      const size_t *params)
{
	uint64_t state = seed * 1000003 + (uint64_t)ranks * 101 + (uint64_t)number;
	static const size_t blocks[] = { 8, 0, 64, 8, 1024, 4104 };
	enum cs_coll coll = algorithm->coll;
	size_t bytes = blocks[number % 6];
	int root = number % 3 == 0 ? 0 : (int)(rnd(&state) % (uint64_t)ranks);
	int order = number / 2 % 3;
	bool in_place = number % 4 == 3, is_commutative = !cs_colls[coll].reduces ||
							  number % 3 != 1;
	size_t unit = cs_colls[coll].reduces ? (number % 7 == 6 ? 24 : 8) : 1;
	if (cs_colls[coll].reduces)
		bytes = bytes / 8 * unit;
	bool is_v = has_sizes(coll) ||
		    ((coll == CS_ALLGATHER || coll == CS_GATHER || coll == CS_SCATTER) &&
		     number >= CASES / 2);
	for (int rank = 0; rank < ranks; rank++)
		set->sizes[rank] = is_v ? some_size(&state, number, rank, ranks) / 8 *
				   (unit > 1 ? unit : 8) : bytes;
	if (coll == CS_REDUCE_SCATTER && number == 0)
		for (int rank = 0; rank < ranks; rank++)
			set->sizes[rank] = unit;
	for (int from = 0; from < ranks; from++)
		for (int to = 0; to < ranks; to++)
			set->send[from][to] = set->recv[to][from] =
				some_size(&state, number, (from + to) % ranks, ranks);
	place(&state, set->sizes, set->at, ranks, order);
	int nodes = 1 + (int)(rnd(&state) % (uint64_t)ranks);
	for (int rank = 0; rank < ranks; rank++) {
		set->node_of[rank] = number % 4 == 0   ? rank * nodes / ranks
				     : number % 4 == 1 ? rank % nodes
						       : (int)(rnd(&state) % (uint64_t)nodes) *
							       (number & 4 ? 1000 : 3) - 1;
		place(&state, set->send[rank], set->send_at[rank], ranks, order);
		place(&state, set->recv[rank], set->recv_at[rank], ranks, order);
	}
	for (int rank = 0; rank < ranks; rank++) {
		struct cs_problem *problem = &set->of[rank];
		*problem = (struct cs_problem){ .coll = coll, .ranks = ranks, .rank = rank,
						.root = root, .unit = unit, .bytes = bytes,
						.params = params, .is_commutative = is_commutative,
						.node_of = number % 4 == 3 ? NULL : set->node_of };
		problem->is_in_place = in_place && (!cs_colls[coll].rooted || rank == root) &&
				       coll != CS_BCAST && coll != CS_BARRIER &&
				       coll != CS_REDUCE_SCATTER && coll != CS_REDUCE_SCATTER_BLOCK;
		if (is_v)
			problem->sizes = set->sizes;
		if ((is_v && coll != CS_REDUCE_SCATTER) || has_matrix(coll))
			problem->at = order ? set->at : NULL;
		if (has_matrix(coll)) {
			problem->sizes = set->send[rank];
			problem->recv_sizes = set->recv[rank];
			problem->at = set->send_at[rank];
			problem->recv_at = set->recv_at[rank];
			/* In place both directions have the same sizes and places (MPI 4.0,
			 * 6.8). */
			if (problem->is_in_place) {
				for (int to = 0; to < ranks; to++)
					set->send[rank][to] = set->recv[rank][to] =
						8 + (size_t)(rank + to) % 5 * 8;
				place(&state, set->send[rank], set->send_at[rank], ranks, order);
				problem->recv_at = problem->at;
			}
		}
	}
	size_t largest = 0;
	for (int i = 0; has_matrix(coll) && i < ranks * ranks; i++)
		if (i / ranks != i % ranks && set->send[i / ranks][i % ranks] > largest)
			largest = set->send[i / ranks][i % ranks];
	for (int rank = 0; has_matrix(coll) && rank < ranks; rank++)
		set->of[rank].bytes = largest;
	snprintf(set->text, sizeof set->text, "--only %s:%s --ranks %d --case %d --seed %" PRIu64,
		 cs_colls[coll].name, algorithm->name, ranks, number, seed);
}

static void
fail(const struct problem_set *set, const size_t *params, const char *what)
{
	printf("FAILED %s (params %zu %zu): %s\n", set->text, params[0], params[1], what);
	failures++;
}

/* Where a rank knows only its own row and column of a matrix of sizes, the dearest rank's cost is
 * that of all. */
static void
cost_all(const struct cs_algorithm *algorithm, const struct problem_set *set, int ranks,
	 struct cs_cost *cost)
{
	*cost = (struct cs_cost){ 0 };
	for (int rank = 0; algorithm->cost && rank < (has_matrix(algorithm->coll) ? ranks : 1);
	     rank++) {
		struct cs_cost own = { 0 };
		algorithm->cost(&set->of[rank], &own);
		cost->rounds = own.rounds > cost->rounds ? own.rounds : cost->rounds;
		cost->bytes = own.bytes > cost->bytes ? own.bytes : cost->bytes;
	}
}

/* What is counted in the simulator, against the proof: two programs. Of a matrix of sizes no rank's
 * problem is that of all. */
static void
hold_count(const struct cs_algorithm *algorithm, const struct problem_set *set,
	   const size_t *params, const struct cs_verdict *verdict)
{
	struct cs_count count;
	char text[200];
	if (has_matrix(algorithm->coll))
		return;
	enum cs_status status = cs_count_plans(algorithm->build, &set->of[0], SIZE_MAX, &count);
	struct cs_cost cost = { 0 };
	if (algorithm->cost)
		algorithm->cost(&set->of[0], &cost);
	if (status == CS_OK && count.rounds == verdict->rounds &&
	    count.bytes == verdict->most_bytes && (!cost.reduced || cost.reduced == count.reduced))
		return;
	snprintf(text, sizeof text,
		 "counted: %" PRIu64 " rounds, %" PRIu64 " bytes, %" PRIu64 " reduced (formula: "
									    "%" PRIu64
		 "); plans: %u, %" PRIu64, count.rounds, count.bytes, count.reduced, cost.reduced,
		 verdict->rounds, verdict->most_bytes);
	fail(set, params, text);
}

/* Empty blocks of a matrix that no single rank knows may make chains shorter than the cost says. */
static bool
has_empty(const struct problem_set *set, int ranks)
{
	for (int from = 0; from < ranks; from++)
		for (int to = 0; to < ranks; to++)
			if (from != to && !set->send[from][to])
				return true;
	return false;
}

/* What a simulation asks of a plan: the next step from *at on, copies that follow each other as
 * one. */
static bool
next_step(const struct cs_plan *plan, size_t *at, struct cs_step *step)
{
	if (*at >= plan->count)
		return false;
	*step = plan->steps[(*at)++];
	if (step->peer >= 0)
		step->peer = (step->peer + plan->ranks - plan->rank) % plan->ranks;
	while (step->kind == CS_STEP_COPY && *at < plan->count &&
	       plan->steps[*at].kind == CS_STEP_COPY)
		step->bytes += plan->steps[(*at)++].bytes;
	return true;
}

static bool
is_turn_of(const struct cs_plan *a, const struct cs_plan *b)
{
	struct cs_step of_a, of_b;
	size_t at_a = 0, at_b = 0;
	while (next_step(a, &at_a, &of_a)) {
		if (!next_step(b, &at_b, &of_b) || of_a.kind != of_b.kind ||
		    of_a.peer != of_b.peer || of_a.bytes != of_b.bytes ||
		    of_a.request != of_b.request)
			return false;
	}
	return at_b == b->count && a->requests == b->requests;
}

static bool
is_of_one_size(const struct problem_set *set, int ranks)
{
	for (int i = 0; has_matrix(set->of[0].coll) && i < ranks * ranks; i++)
		if (set->send[i / ranks][i % ranks] != set->send[0][0])
			return false;
	return has_matrix(set->of[0].coll) || !set->of[0].sizes;
}

/* What an algorithm says of its plans (is_turned). */
static void
compare_turned(const struct problem_set *set, const struct cs_plan *plans, int ranks,
	       const size_t *params)
{
	for (int rank = 1; rank < ranks && is_of_one_size(set, ranks); rank++)
		if (!is_turn_of(&plans[0], &plans[rank])) {
			fail(set, params, "a rank's plan is not that of rank 0, counted from it");
			return;
		}
}

/* Nobody writes to IN, so what goes from there to a place in OUT need not go there again. */
static bool
copies_twice(const struct cs_problem *problem, const struct cs_plan *plan)
{
	for (size_t i = 0; !problem->is_in_place && i < plan->count; i++) {
		const struct cs_step *one = &plan->steps[i];
		if (one->kind != CS_STEP_COPY || one->from != CS_IN || one->to != CS_OUT)
			continue;
		for (size_t k = i + 1; k < plan->count; k++) {
			const struct cs_step *other = &plan->steps[k];
			if (other->kind == CS_STEP_COPY && other->from == CS_IN &&
			    other->to == CS_OUT && other->from_at == one->from_at &&
			    other->to_at == one->to_at && other->bytes == one->bytes)
				return true;
		}
	}
	return false;
}

static void
prove(const struct cs_algorithm *algorithm, int ranks, int number, const size_t *params)
{
	static struct problem_set set;
	static struct cs_plan plans[MOST_RANKS];
	make_problems(&set, algorithm, ranks, number, params);
	enum cs_status first = CS_OK;
	for (int rank = 0; rank < ranks; rank++) {
		struct cs_builder builder;
		cs_builder_init(&builder, &set.of[rank], &plans[rank]);
		algorithm->build(&builder);
		enum cs_status status = cs_builder_finish(&builder);
		if (rank == 0)
			first = status;
		if (status != first || (status != CS_OK && status != CS_UNSUPPORTED))
			fail(&set, params, "not refused or built by all ranks alike");
	}
	struct cs_verdict verdict;
	struct cs_cost cost;
	char text[200];
	if (first != CS_OK) {
		refused++;
	} else if (!cs_plans_verify(set.of, plans, &verdict)) {
		fail(&set, params, verdict.text);
	} else {
		proven++;
		if (algorithm->is_turned)
			compare_turned(&set, plans, ranks, params);
		for (int rank = 0; rank < ranks; rank++)
			if (copies_twice(&set.of[rank], &plans[rank])) {
				snprintf(text, sizeof text, "rank %d copies the same from IN to "
							    "OUT twice", rank);
				fail(&set, params, text);
			}
		hold_count(algorithm, &set, params, &verdict);
		cost_all(algorithm, &set, ranks, &cost);
		bool may_be_shorter = has_matrix(algorithm->coll) && has_empty(&set, ranks);
		bool is_formula = algorithm->cost && cost.rounds != CS_PRICE_NONE.rounds;
		formulas += is_formula;
		if (is_formula &&
		    ((may_be_shorter ? cost.rounds < verdict.rounds
				     : cost.rounds != verdict.rounds) ||
		     cost.bytes != verdict.most_bytes)) {
			snprintf(text, sizeof text,
				 "price: %" PRIu64 " rounds, %" PRIu64 " bytes; plans: %u, "
								       "%" PRIu64,
				 cost.rounds, cost.bytes, verdict.rounds, verdict.most_bytes);
			fail(&set, params, text);
		}
	}
	for (int rank = 0; rank < ranks; rank++)
		cs_plan_fini(&plans[rank]);
}

static void
prove_cases(const struct cs_algorithm *algorithm, int ranks, const size_t *params)
{
	for (int number = 0; number < CASES; number++)
		if (only_case < 0 || number == only_case)
			prove(algorithm, ranks, number, params);
}

/* Parameters: as they are, each at its smallest and at some more than that, and several all at
 * their smallest. */
static void
prove_for(const struct cs_algorithm *algorithm, int ranks)
{
	for (int variant = 0; variant < 1 + 2 * CS_MAX_PARAMS; variant++) {
		size_t params[CS_MAX_PARAMS] = { 0 };
		int changed = (variant - 1) / 2;
		if (variant && (changed >= CS_MAX_PARAMS || !algorithm->params[changed].name))
			break;
		for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
			params[i] = algorithm->params[i].fallback;
		if (variant)
			params[changed] = algorithm->params[changed].low +
					  (size_t)((variant - 1) % 2) *
				(algorithm->params[changed].high - algorithm->params[changed].low >
				 2 ? 3 : 1);
		if (variant && params[changed] > algorithm->params[changed].high)
			continue;
		prove_cases(algorithm, ranks, params);
	}
	if (algorithm->params[0].name && algorithm->params[1].name) {
		size_t params[CS_MAX_PARAMS] = { 0 };
		for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
			params[i] = algorithm->params[i].low;
		prove_cases(algorithm, ranks, params);
	}
}

/* All numbers of ranks up to 17, and some beyond with other bits, factors and remainders. */
static bool
is_proven_for(int ranks)
{
	static const int more[] = { 24, 27, 31, 32, 33, 61, 64, 97, 100 };
	for (size_t i = 0; i < sizeof more / sizeof *more; i++)
		if (ranks == more[i])
			return true;
	return ranks <= 17;
}

int
main(int argc, char **argv)
{
	/* Freed memory is kept: else most of the time goes into its pages. */
	mallopt(M_MMAP_THRESHOLD, 32 << 20);
	mallopt(M_TRIM_THRESHOLD, INT_MAX);
	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--only"))
			only = argv[i + 1];
		else if (!strcmp(argv[i], "--ranks"))
			only_ranks = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--case"))
			only_case = atoi(argv[i + 1]);
		else if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 10);
		else
			return 2;
	}
	unsigned algorithms = 0;
	const struct cs_algorithm *algorithm;
	for (int row = 0; (algorithm = cs_algorithm_at(row)); row++) {
		char name[100];
		snprintf(name, sizeof name, "%s:%s", cs_colls[algorithm->coll].name,
			 algorithm->name);
		if (!algorithm->build ||
		    (only && strcmp(only, name) != 0 &&
		     strcmp(only, cs_colls[algorithm->coll].name) != 0))
			continue;
		unsigned before = failures;
		algorithms++;
		bool has_power = algorithm->needs.power_of_two;
		for (int ranks = 1; ranks <= MOST_RANKS; ranks++)
			if ((only_ranks ? ranks == only_ranks : is_proven_for(ranks)) &&
			    !(has_power && ranks & (ranks - 1)))
				prove_for(algorithm, ranks);
		printf("%-40s %s\n", name, failures == before ? "ok" : "FAILED");
		fflush(stdout);
	}
	printf("%u algorithms, %u problems proven, %u with a formula, %u refused, %u failed; seed "
	       "%" PRIu64 "\n", algorithms, proven, formulas, refused, failures, seed);
	if (!algorithms)
		printf("FAILED no algorithm of that name\n");
	return failures || !algorithms;
}
