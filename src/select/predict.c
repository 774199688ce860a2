/* select/predict.c — computes the time of each plan by a model, and compares it with the host's. */
#include "select/predict.h"

#include "plan/build.h"
#include "sim/count.h"
#include "sim/hier.h"

#include <pthread.h>
#include <stdlib.h>

#define MOST_NODES 4096 /* sizes and places by node lie on the stack */
/* Of plans that are counted, all ranks together: milliseconds (a ring among 180 ranks; trees among
 * all 1024). */
#define MOST_STEPS_COUNTED ((size_t)1 << 17)
#define MOST_RANKS_COUNTED 1024
#define KEPT 256 /* costs that were counted */
#define MOST_COUNTED ((size_t)1 << 30)

/* ---- the host -------------------------------------------------------------------------------- */

/* Linear between two measured sizes; the first one's time below it, in proportion above the last
 * (of no bytes alone: for all). */
static double
cost_at(const struct cs_host_cost *cost, size_t bytes)
{
	const struct cs_point *points = cost->points;
	size_t i = 0;
	if (bytes <= points[0].bytes)
		return (double)points[0].ps;
	while (i + 1 < cost->count && points[i + 1].bytes < bytes)
		i++;
	if (i + 1 == cost->count && !points[i].bytes)
		return (double)points[i].ps;
	if (i + 1 == cost->count)
		return (double)points[i].ps * ((double)bytes / (double)points[i].bytes);
	double part = (double)(bytes - points[i].bytes) /
		      (double)(points[i + 1].bytes - points[i].bytes);
	return (double)points[i].ps + part * (double)(points[i + 1].ps - points[i].ps);
}

struct bracket {
	const struct cs_host_cost *below, *above; /* nodes <= and >= those of the call; the same if
						   * equal */
};

static struct bracket
bracket_of(const struct cs_site_model *model, const struct cs_facts *facts)
{
	struct bracket bracket = { NULL, NULL };
	for (size_t i = 0; i < model->host_count; i++) {
		const struct cs_host_cost *cost = &model->hosts[i];
		if (cost->coll != facts->coll || cost->ranks != cost->nodes * facts->ppn_max)
			continue;
		if (cost->nodes <= facts->nodes &&
		    (!bracket.below || cost->nodes > bracket.below->nodes))
			bracket.below = cost;
		if (cost->nodes >= facts->nodes &&
		    (!bracket.above || cost->nodes < bracket.above->nodes))
			bracket.above = cost;
	}
	return bracket;
}

static double
host_time(struct bracket bracket, int nodes, size_t bytes)
{
	double below = cost_at(bracket.below, bytes), above = cost_at(bracket.above, bytes);
	if (bracket.below->nodes == bracket.above->nodes)
		return below;
	double part = (double)(nodes - bracket.below->nodes) /
		      (double)(bracket.above->nodes - bracket.below->nodes);
	return below + part * (above - below);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* The problem that a plan between all ranks is made for, or between nodes: then `sizes` and `at`
 * have room for as many as there are, else `sizes` is NULL. */
static struct cs_problem
problem_of(const struct cs_algorithm *plan, const struct cs_facts *facts, size_t bytes,
	   size_t *sizes, size_t *at)
{
	bool is_between = sizes != NULL;
	size_t ppn = is_between ? (size_t)facts->ppn_max : 1;
	struct cs_problem problem = { .coll = plan->coll, .ranks = is_between
				      ? facts->nodes : facts->ranks, .unit = 1, .bytes = bytes,
				      .is_commutative = facts->is_commutative };
	const struct cs_coll_info *coll = &cs_colls[facts->coll];
	if (cs_coll_is_scattered(coll))
		problem.bytes = (bytes + (size_t)problem.ranks - 1) / (size_t)problem.ranks;
	else if (cs_coll_has_blocks(coll))
		problem.bytes = (coll->in.what == coll->out.what ? ppn * ppn : ppn) * bytes;
	for (int node = 0; is_between && node < facts->nodes; node++) {
		sizes[node] = problem.bytes;
		at[node] = (size_t)node * problem.bytes;
	}
	if (is_between && cs_coll_has_blocks(coll)) {
		problem.sizes = problem.recv_sizes = sizes;
		problem.at = problem.recv_at = at;
	}
	return problem;
}

/* What the rank does in its part of the plan: false where there is none. */
static bool
count_rank(const struct cs_algorithm *plan, const struct cs_problem *problem, int rank,
	   struct cs_step_counts *counts)
{
	struct cs_problem own = *problem;
	struct cs_builder builder;
	struct cs_plan none;
	own.rank = rank;
	*counts = (struct cs_step_counts){ 0 };
	cs_builder_init(&builder, &own, &none);
	builder.counts = counts;
	plan->build(&builder);
	return cs_builder_finish(&builder) == CS_OK;
}

const char *
cs_predict_refusal(const struct cs_algorithm *algorithm, const struct cs_facts *facts,
		   const size_t *params)
{
	const struct cs_algorithm *plan = algorithm->inner ? algorithm->inner : algorithm;
	if (!plan->build || facts->bytes == CS_BYTES_UNKNOWN)
		return NULL;
	size_t nodes = (size_t)facts->nodes, ranks = (size_t)facts->ranks;
	size_t *sizes = calloc(2 * nodes, sizeof *sizes);
	int *node_of = calloc(ranks, sizeof *node_of);
	struct cs_builder builder = { .refused = NULL };
	struct cs_step_counts counts = { 0 };
	struct cs_plan none;
	if (sizes && node_of) {
		struct cs_problem problem = problem_of(plan, facts, facts->bytes, algorithm->inner
						       ? sizes : NULL, sizes + nodes);
		for (size_t rank = 0; rank < ranks; rank++)
			node_of[rank] = (int)rank / facts->ppn_max;
		problem.node_of = algorithm->inner ? NULL : node_of;
		problem.params = params;
		cs_builder_init(&builder, &problem, &none);
		builder.counts = &counts;
		plan->build(&builder);
		if (cs_builder_finish(&builder) != CS_UNSUPPORTED)
			builder.refused = NULL;
	}
	free(sizes);
	free(node_of);
	return builder.refused;
}

static bool
does_more(const struct cs_step_counts *one, const struct cs_step_counts *other)
{
	uint64_t messages = one->sent + one->received, others = other->sent + other->received;
	return messages > others ||
	       (messages == others && one->copied + one->reduced > other->copied + other->reduced);
}

/* --- counted costs ---
 *
 * They are kept for the process, as each communicator asks for the same. */

struct counted {
	const struct cs_algorithm *plan;
	int ranks;
	size_t bytes;
	bool is_commutative, is_known; /* false: too much to count, or refused */
	struct cs_cost cost;
};

static struct counted kept[KEPT];
static int kept_next;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/* Blocks are of one size, and parameters have their fallbacks. */
static struct counted
count(const struct cs_algorithm *plan, const struct cs_problem *problem)
{
	struct counted counted = { .plan = plan, .ranks = problem->ranks, .bytes = problem->bytes,
				   .is_commutative = problem->is_commutative };
	struct cs_count all;
	pthread_mutex_lock(&kept_lock);
	for (int i = 0; i < KEPT; i++)
		if (kept[i].plan == plan && kept[i].ranks == problem->ranks &&
		    kept[i].bytes == problem->bytes &&
		    kept[i].is_commutative == problem->is_commutative) {
			counted = kept[i];
			pthread_mutex_unlock(&kept_lock);
			return counted;
		}
	counted.is_known = problem->ranks <= MOST_RANKS_COUNTED &&
			   cs_count_plans(plan->build, problem, MOST_STEPS_COUNTED, &all) == CS_OK;
	if (counted.is_known)
		counted.cost = (struct cs_cost){ all.rounds, all.bytes, all.reduced };
	kept[kept_next++ % KEPT] = counted;
	pthread_mutex_unlock(&kept_lock);
	return counted;
}

/* By the formula, or counted. False: neither is to be had, or the plan refuses. */
static bool
price_of(const struct cs_algorithm *plan, const struct cs_problem *problem, struct cs_cost *cost)
{
	if (plan->cost) {
		plan->cost(problem, cost);
		if (cost->rounds != CS_PRICE_NONE.rounds)
			return true;
	}
	struct counted counted = count(plan, problem);
	*cost = counted.cost;
	return counted.is_known;
}

bool
cs_predict_load(const struct cs_algorithm *plan, const struct cs_problem *problem,
		struct cs_load *load)
{
	struct cs_cost cost = { 0 };
	struct cs_step_counts counts, other;
	int p = problem->ranks, some[] = { p / 2, p - 1 }; /* from the root */
	if (!count_rank(plan, problem, problem->root, &counts))
		return false;
	for (size_t i = 0; i < sizeof some / sizeof *some; i++) {
		if (!count_rank(plan, problem, (problem->root + some[i]) % p, &other))
			return false;
		if (does_more(&other, &counts))
			counts = other;
	}
	if (!price_of(plan, problem, &cost))
		return false;
	*load = (struct cs_load){ cost.rounds, counts.sent, counts.received, counts.sent_bytes,
				  counts.received_bytes, counts.copied, counts.hidden,
				  counts.reduced };
	/* Copies are made beside a chain. */
	if (cost.reduced > counts.reduced) {
		load->reduced = cost.reduced;
		load->copied = load->hidden = 0;
	}
	uint64_t *most = load->sent_bytes > load->received_bytes
			 ? &load->sent_bytes : &load->received_bytes;
	*most = cost.bytes > *most ? cost.bytes : *most;
	return true;
}

/* --- on nodes ---
 *
 * What their ranks do for each other does not depend on the plan between them. Times are kept, too,
 * and told apart by all that they depend on. */

struct on_node {
	enum cs_coll coll;
	int nodes, ppn;
	bool is_commutative, is_known;
	size_t bytes, read_all;
	int64_t copy, reduce, bus, flag;
	int64_t time; /* ps */
};

static struct on_node kept_nodes[KEPT];
static int kept_nodes_next;

static bool
are_alike(const struct on_node *one, const struct on_node *other)
{
	return one->coll == other->coll && one->nodes == other->nodes && one->ppn == other->ppn &&
	       one->is_commutative == other->is_commutative && one->bytes == other->bytes &&
	       one->read_all == other->read_all && one->copy == other->copy &&
	       one->reduce == other->reduce && one->bus == other->bus && one->flag == other->flag;
}

/* Vectors have whole elements in the simulator. */
static size_t
simulated_bytes(const struct cs_facts *facts, size_t bytes)
{
	const struct cs_coll_info *coll = &cs_colls[facts->coll];
	size_t blocks = cs_coll_is_scattered(coll) ? (size_t)facts->ranks : 1,
	       unit = coll->reduces ? CS_CALL_UNIT : 1;
	return (bytes + blocks * unit - 1) / (blocks * unit) * blocks * unit;
}

static void
count_on_node(struct on_node *wanted, const struct cs_model *model,
	      const struct cs_algorithm *algorithm, const size_t *params)
{
	struct cs_sim_call call = { .coll = wanted->coll, .nodes = wanted->nodes,
				    .ppn = wanted->ppn, .bytes = wanted->bytes,
				    .is_commutative = wanted->is_commutative };
	const struct cs_hier hier = { .plan = algorithm->inner, .params = params,
				      .whole = wanted->read_all };
	enum cs_status status = cs_sim_call_init(&call);
	if (status == CS_OK)
		status = cs_hier_time_on_node(&call, &hier, model, &wanted->time);
	wanted->is_known = status == CS_OK;
	cs_sim_call_fini(&call);
}

/* False: it cannot be told. */
static bool
node_time(const struct cs_model *model, const struct cs_algorithm *algorithm,
	  const struct cs_facts *facts, size_t bytes, const size_t *params, int64_t *time)
{
	int read_all = cs_algorithm_role(algorithm, CS_ROLE_READ_ALL);
	struct on_node wanted = { .coll = facts->coll, .nodes = facts->nodes,
				  .ppn = facts->ppn_max, .is_commutative = facts->is_commutative,
				  .bytes = simulated_bytes(facts, bytes), .read_all = read_all < 0
				  ? 0 : algorithm->params[read_all].fallback, .copy = model->copy,
				  .reduce = model->reduce, .bus = model->bus,
				  .flag = model->flag };
	int i = 0;
	pthread_mutex_lock(&kept_lock);
	while (i < KEPT && !are_alike(&kept_nodes[i], &wanted))
		i++;
	if (i == KEPT) {
		count_on_node(&wanted, model, algorithm, params);
		i = kept_nodes_next++ % KEPT;
		kept_nodes[i] = wanted;
	}
	*time = kept_nodes[i].time;
	bool is_known = kept_nodes[i].is_known;
	pthread_mutex_unlock(&kept_lock);
	return is_known;
}

static uint64_t
shifted(uint64_t bytes, unsigned by)
{
	return bytes > (uint64_t)INT64_MAX >> by ? INT64_MAX : bytes << by;
}

/* Fallbacks of the plan's parameters; a composed algorithm has them first. Above MOST_COUNTED bytes
 * in proportion: plans in segments have as many steps. False: the plan does not serve this call. */
static bool
plan_time(const struct cs_site_model *model, const struct cs_algorithm *algorithm,
	  const struct cs_facts *facts, size_t bytes, double *time)
{
	size_t sizes[MOST_NODES], at[MOST_NODES], params[CS_MAX_PARAMS] = { 0 };
	const struct cs_algorithm *plan = algorithm->inner ? algorithm->inner : algorithm;
	unsigned by = 0;
	while (bytes >> by > MOST_COUNTED)
		by++;
	for (int i = 0; i < CS_MAX_PARAMS && plan->params[i].name; i++)
		params[i] = plan->params[i].fallback;
	struct cs_problem problem = problem_of(plan, facts, bytes >> by,
					       algorithm->inner ? sizes : NULL, at);
	struct cs_load load;
	problem.params = params;
	if (!cs_predict_load(plan, &problem, &load))
		return false;
	load.sent_bytes = shifted(load.sent_bytes, by);
	load.received_bytes = shifted(load.received_bytes, by);
	load.copied = shifted(load.copied, by);
	load.hidden = shifted(load.hidden, by);
	load.reduced = shifted(load.reduced, by);
	*time = (double)cs_model_cost(&model->model, &load);
	if (!algorithm->inner)
		return true;
	int64_t on_node;
	bool is_known = node_time(&model->model, algorithm, facts, bytes >> by, params, &on_node);
	*time += (double)on_node * (double)((uint64_t)1 << by);
	return is_known;
}

static bool
is_among(const struct cs_algorithm *const *list, const struct cs_algorithm *algorithm)
{
	while (list && *list)
		if (*list++ == algorithm)
			return true;
	return false;
}

/* ---- both ------------------------------------------------------------------------------------ */

const char *
cs_predict_not(const struct cs_site_model *model, const struct cs_facts *facts)
{
	if (facts->bytes == CS_BYTES_UNKNOWN)
		return "not all ranks know the size";
	if (facts->nodes < 2 || facts->nodes > MOST_NODES)
		return "it is for several nodes";
	if (facts->wire != model->wire)
		return model->wire == CS_WIRE_IB ? "it is of messages by verbs"
						 : "it is of messages by MPI, and these go by "
						   "verbs";
	if (facts->ppn_min != facts->ppn_max)
		return "it is for equally many ranks on each node";
	if (!facts->is_block_placed)
		return "it is for block placement";
	if (facts->skew > 1)
		return "it is for blocks of one size";
	struct bracket bracket = bracket_of(model, facts);
	if (!bracket.below || !bracket.above)
		return "the host's cost was not measured with as many ranks per node, on fewer and "
		       "on more nodes";
	return NULL;
}

bool
cs_predict(const struct cs_site_model *model, const struct cs_facts *facts,
	   const struct cs_algorithm *const *excluded, struct cs_prediction *prediction)
{
	if (cs_predict_not(model, facts))
		return false;
	size_t bytes = facts->bytes ? (size_t)1 << (63 - __builtin_clzll(facts->bytes)) : 0;
	double host = host_time(bracket_of(model, facts), facts->nodes, bytes), best = 0;
	const struct cs_algorithm *algorithm, *cheapest = NULL;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++) {
		const struct cs_algorithm *plan = algorithm->inner ? algorithm->inner : algorithm;
		if (algorithm->coll != facts->coll || !plan->build ||
		    is_among(excluded, algorithm) || cs_algorithm_unmet(algorithm, facts))
			continue;
		double time;
		if (plan_time(model, algorithm, facts, bytes, &time) &&
		    (!cheapest || time < best)) {
			cheapest = algorithm;
			best = time;
		}
	}
	bool is_won = cheapest && best * (1000 + (double)model->fit_error) < host * 1000;
	cs_use_init(&prediction->use, is_won ? cheapest : NULL);
	prediction->best = cheapest;
	prediction->ps = (int64_t)best;
	prediction->host_ps = (int64_t)host;
	prediction->low = bytes;
	prediction->high = bytes && bytes < (size_t)1 << 62 ? 2 * bytes : bytes ? CS_INF : 1;
	return true;
}
