/* select/predict.c — computes the time of each plan by a model, and compares it with the host's. */
#include "select/predict.h"

#include "plan/build.h"
#include "sim/count.h"
#include "sim/hier.h"

#include <pthread.h>
#include <stdlib.h>

#define MOST_NODES 4096
/* Limits of plans that are counted, all ranks together: milliseconds (a ring among 180 ranks; trees
 * among all 1024). */
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

/* Vectors have whole elements in the simulator. */
static size_t
simulated_bytes(const struct cs_facts *facts, size_t bytes)
{
	const struct cs_coll_info *coll = &cs_colls[facts->coll];
	size_t blocks = cs_coll_is_scattered(coll) ? (size_t)facts->ranks : 1,
	       unit = coll->reduces ? CS_CALL_UNIT : 1;
	return (bytes + blocks * unit - 1) / (blocks * unit) * blocks * unit;
}

/* False: no memory. The caller calls cs_sim_call_fini in any case. */
static bool
make_call(struct cs_sim_call *call, const struct cs_facts *facts, size_t bytes)
{
	*call = (struct cs_sim_call){ .coll = facts->coll, .nodes = facts->nodes,
				      .ppn = facts->ppn_max,
				      .bytes = simulated_bytes(facts, bytes),
				      .is_commutative = facts->is_commutative };
	return cs_sim_call_init(call) == CS_OK;
}

/* Vectors up to that many bytes one rank of a node reduces alone. */
static size_t
read_all_of(const struct cs_algorithm *algorithm)
{
	int role = cs_algorithm_role(algorithm, CS_ROLE_READ_ALL);
	return role < 0 ? 0 : algorithm->params[role].fallback;
}

/* Problem of the plan between nodes, as the first node's leader has it; valid as long as `first`.
 * Blocks are of one size, as formulas have it; in place is what a root's call is, and it is asked
 * for other ranks too. */
static struct cs_problem
problem_between(const struct cs_algorithm *plan, const struct cs_counted_node *first)
{
	struct cs_problem problem = first->between[0];
	problem.coll = plan->coll;
	problem.is_in_place = problem.is_in_place && !cs_colls[plan->coll].rooted;
	problem.bytes = cs_problem_size(&problem, 0);
	return problem;
}

/* Counts the steps of the rank's part of the plan. False: the plan cannot be built. */
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
	const struct cs_sim_hier hier = { .plan = plan, .params = params,
				      .whole = read_all_of(algorithm) };
	struct cs_builder builder = { .refused = NULL };
	struct cs_step_counts counts = { 0 };
	struct cs_counted_node first = { 0 };
	struct cs_sim_call call;
	struct cs_plan none;
	if (!plan->build || facts->bytes == CS_BYTES_UNKNOWN)
		return NULL;
	bool is_known = make_call(&call, facts, facts->bytes);
	if (is_known && algorithm->inner)
		is_known = cs_hier_count(&call, &hier, &first) == CS_OK && first.betweens;
	if (is_known) {
		struct cs_problem problem = algorithm->inner ? problem_between(plan, &first)
							     : *cs_sim_call_seen_by(&call, 0);
		problem.params = params;
		cs_builder_init(&builder, &problem, &none);
		builder.counts = &counts;
		plan->build(&builder);
		if (cs_builder_finish(&builder) != CS_UNSUPPORTED)
			builder.refused = NULL;
	}
	cs_counted_fini(&first);
	cs_sim_call_fini(&call);
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
	size_t bytes; /* of the vector, or a block */
	bool is_commutative, is_in_place, is_known; /* false: too much to count, or refused */
	struct cs_cost cost;
};

static struct counted kept[KEPT];
static int kept_next;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/* Blocks are of one size, and parameters have their fallbacks. */
static struct counted
count(const struct cs_algorithm *plan, const struct cs_problem *problem)
{
	struct counted counted = { .plan = plan, .ranks = problem->ranks,
				   .bytes = cs_problem_size(problem, 0),
				   .is_commutative = problem->is_commutative,
				   .is_in_place = problem->is_in_place };
	struct cs_count all;
	pthread_mutex_lock(&kept_lock);
	for (int i = 0; i < KEPT; i++)
		if (kept[i].plan == plan && kept[i].ranks == counted.ranks &&
		    kept[i].bytes == counted.bytes &&
		    kept[i].is_commutative == counted.is_commutative &&
		    kept[i].is_in_place == counted.is_in_place) {
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
 * What their ranks do for each other does not depend on the plan between them. It is kept, too, and
 * told apart by all that it depends on. */

struct on_node {
	enum cs_coll coll;
	int nodes, ppn;
	bool is_commutative, is_known;
	size_t bytes, read_all;
	int64_t copy, reduce, bus, flag;
	int64_t time; /* ps */
	struct cs_counted_node first; /* without steps */
};

static struct on_node kept_nodes[KEPT];
static int kept_nodes_next;
static pthread_mutex_t kept_nodes_lock = PTHREAD_MUTEX_INITIALIZER; /* before kept_lock */

static bool
are_alike(const struct on_node *one, const struct on_node *other)
{
	return one->coll == other->coll && one->nodes == other->nodes && one->ppn == other->ppn &&
	       one->is_commutative == other->is_commutative && one->bytes == other->bytes &&
	       one->read_all == other->read_all && one->copy == other->copy &&
	       one->reduce == other->reduce && one->bus == other->bus && one->flag == other->flag;
}

static void
count_on_node(struct on_node *wanted, struct cs_sim_call *call, const struct cs_model *model,
	      const struct cs_sim_hier *hier)
{
	enum cs_status status = cs_hier_time_on_node(call, hier, model, &wanted->time,
						     &wanted->first);
	cs_counted_drop_steps(&wanted->first);
	wanted->is_known = status == CS_OK && wanted->first.betweens;
}

/* NULL: it cannot be told. Valid while the lock is held. */
static const struct on_node *
find_on_node(const struct cs_model *model, struct cs_sim_call *call, const struct cs_sim_hier *hier)
{
	struct on_node wanted = { .coll = call->coll, .nodes = call->nodes, .ppn = call->ppn,
				  .is_commutative = call->is_commutative, .bytes = call->bytes,
				  .read_all = hier->whole, .copy = model->copy,
				  .reduce = model->reduce, .bus = model->bus,
				  .flag = model->flag };
	int i = 0;
	while (i < KEPT && !are_alike(&kept_nodes[i], &wanted))
		i++;
	if (i == KEPT) {
		count_on_node(&wanted, call, model, hier);
		i = kept_nodes_next++ % KEPT;
		cs_counted_fini(&kept_nodes[i].first);
		kept_nodes[i] = wanted;
	}
	return kept_nodes[i].is_known ? &kept_nodes[i] : NULL;
}

static uint64_t
shifted(uint64_t bytes, unsigned by)
{
	return bytes > (uint64_t)INT64_MAX >> by ? INT64_MAX : bytes << by;
}

/* A call, and for the simulator one of fewer bytes, by a power of two: plans in segments have as
 * many steps. */
struct asked {
	const struct cs_site_model *model;
	struct cs_sim_call call;
	unsigned by; /* the power */
};

/* Predicted time of a plan. False: it does not serve this call. */
static bool
plan_time(const struct asked *asked, const struct cs_algorithm *plan,
	  const struct cs_problem *problem, double *time)
{
	struct cs_load load;
	if (!cs_predict_load(plan, problem, &load))
		return false;
	load.sent_bytes = shifted(load.sent_bytes, asked->by);
	load.received_bytes = shifted(load.received_bytes, asked->by);
	load.copied = shifted(load.copied, asked->by);
	load.hidden = shifted(load.hidden, asked->by);
	load.reduced = shifted(load.reduced, asked->by);
	*time = (double)cs_model_cost(&asked->model->model, &load);
	return true;
}

/* Predicted time of a plan between nodes and of the steps within nodes. */
static bool
composed_time(struct asked *asked, const struct cs_algorithm *algorithm, const size_t *params,
	      double *time)
{
	const struct cs_sim_hier hier = { .plan = algorithm->inner, .params = params,
				      .whole = read_all_of(algorithm) };
	bool is_known = false;
	pthread_mutex_lock(&kept_nodes_lock);
	const struct on_node *node = find_on_node(&asked->model->model, &asked->call, &hier);
	if (node) {
		struct cs_problem problem = problem_between(algorithm->inner, &node->first);
		problem.params = params;
		is_known = plan_time(asked, algorithm->inner, &problem, time);
		*time += (double)node->time * (double)((uint64_t)1 << asked->by);
	}
	pthread_mutex_unlock(&kept_nodes_lock);
	return is_known;
}

/* With the fallbacks of the plan's parameters; a composed algorithm has them first. False: it does
 * not serve this call. */
static bool
time_of(struct asked *asked, const struct cs_algorithm *algorithm, double *time)
{
	const struct cs_algorithm *plan = algorithm->inner ? algorithm->inner : algorithm;
	size_t params[CS_MAX_PARAMS] = { 0 };
	for (int i = 0; i < CS_MAX_PARAMS && plan->params[i].name; i++)
		params[i] = plan->params[i].fallback;
	if (algorithm->inner)
		return composed_time(asked, algorithm, params, time);
	struct cs_problem problem = *cs_sim_call_seen_by(&asked->call, 0);
	problem.params = params;
	problem.node_of = NULL;
	return plan_time(asked, plan, &problem, time);
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
	if (facts->is_nonblocking && !facts->has_progress && !facts->by_thread)
		return CS_NOT_WITH_MESSAGES;
	struct bracket bracket = bracket_of(model, facts);
	if (!bracket.below || !bracket.above)
		return "the MPI's cost was not measured with as many ranks per node, on fewer and "
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
	struct asked asked = { .model = model };
	while (bytes >> asked.by > MOST_COUNTED)
		asked.by++;
	bool can_ask = make_call(&asked.call, facts, bytes >> asked.by);
	for (int i = 0; can_ask && (algorithm = cs_algorithm_at(i)); i++) {
		const struct cs_algorithm *plan = algorithm->inner ? algorithm->inner : algorithm;
		if (algorithm->coll != facts->coll || !plan->build ||
		    is_among(excluded, algorithm) || cs_algorithm_unmet(algorithm, facts))
			continue;
		double time;
		if (time_of(&asked, algorithm, &time) && (!cheapest || time < best)) {
			cheapest = algorithm;
			best = time;
		}
	}
	cs_sim_call_fini(&asked.call);
	bool is_won = cheapest && best * (1000 + (double)model->fit_error) < host * 1000;
	cs_use_init(&prediction->use, is_won ? cheapest : NULL);
	prediction->best = cheapest;
	prediction->ps = (int64_t)best;
	prediction->host_ps = (int64_t)host;
	prediction->low = bytes;
	prediction->high = bytes && bytes < (size_t)1 << 62 ? 2 * bytes : bytes ? CS_INF : 1;
	return true;
}
