/* select/predict.h — the cheapest algorithm by a measured LogGP model (sim/model.h) against the
 * host's measured cost. Private to select.
 *
 *   plan's rounds, its busiest rank's messages --model--> time between nodes
 *     + copies, flags and reductions on a node
 *   host's cost, measured at some sizes and numbers of nodes  --interpolated--> time of the host
 *
 * The model speaks only of what lies between measurements: several nodes with equally many ranks
 * each, a number of nodes between two for which the host was measured with as many ranks per node,
 * blocks of one size that all ranks know. It is asked at powers of two, so that one answer holds up
 * to the next. */
#ifndef CS_SELECT_PREDICT_H
#define CS_SELECT_PREDICT_H

#include "coll/problem.h"
#include "select/tuning.h"

struct cs_prediction {
	struct cs_use use;      /* algorithm NULL: the host is cheapest */
	int64_t ps, host_ps;    /* of the best plan, whether it is taken or not, and of the host */
	const struct cs_algorithm *best;
	size_t low, high;       /* bytes for which it is the same */
};

/* Predicts the cheapest algorithm. False: the model does not cover the call. `excluded`: algorithms
 * that may not be used, ended by NULL; or NULL. A plan is taken only if it wins by more than the
 * model's own error. Depends on nothing but its arguments. */
bool cs_predict(const struct cs_site_model *model, const struct cs_facts *facts,
		const struct cs_algorithm *const *excluded, struct cs_prediction *prediction);

/* Load of the plan, for the model: rounds by its cost, which is counted where there is no formula,
 * and the counts of the root or of one of two other ranks, the one with the most messages. (In
 * plans without a root others may do more than rank 0: one who has to turn blocks round, or the
 * last one of an odd number.) Steps are counted, not kept. False: the plan refuses the problem, or
 * it has no formula and there are too many ranks to count. */
bool cs_predict_load(const struct cs_algorithm *plan, const struct cs_problem *problem,
		     struct cs_load *load);

/* Why the algorithm's plan, or the one between nodes, refuses such a call with blocks of one size,
 * ranks placed node by node, and the first rank of what is not known as its root; NULL: it does
 * not, there is none, or that cannot be told (no size, no memory). */
const char *cs_predict_refusal(const struct cs_algorithm *algorithm, const struct cs_facts *facts,
			       const size_t *params);

/* The phrase that says why not: "several nodes only" and the like; static. After cs_predict gave
 * false. */
const char *cs_predict_not(const struct cs_site_model *model, const struct cs_facts *facts);

#endif
