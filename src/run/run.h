/* run/run.h — one call on one communicator: choose, run, count. No MPI here.
 *
 * A selection belongs to a communicator (comm/). Its choices are cached by intervals of bytes, so
 * that a call that was seen before costs a comparison or two. One thread at a time uses a selection
 * (MPI 4.0, 6.14: a communicator's collectives are not called concurrently). */
#ifndef CS_RUN_RUN_H
#define CS_RUN_RUN_H

#include "algorithms/op.h"
#include "run/flat.h"
#include "select/select.h"
#include "trace/report.h"

#define CS_CHOICES 8 /* cached intervals per collective */

/* What a call's operation asks for. */
enum cs_order {
	CS_ORDER_KEPT,  /* it does not commute */
	CS_ORDER_NONE,  /* there is no operation */
	CS_ORDER_FREE,  /* it commutes */
	CS_ORDER_EXACT, /* and gives the same bits in any order, as of integers */
};

struct cs_cached_choice {
	size_t low, last; /* bytes for which it holds, both included */
	enum cs_order order;
	int skew; /* 0: for all */
	struct cs_choice choice;
	int inner_params; /* how many of choice.params are those of the algorithm between nodes */
	struct cs_report_row **rows; /* by size bin; NULL while the report is off */
};

struct cs_selection {
	const struct cs_selector *selector;
	struct cs_team *team; /* NULL: everything goes to the host */
	struct cs_facts facts; /* coll, bytes and is_commutative are filled per call */
	/* As measured in the run: but for operations whose order can be seen, since a sum of
	 * floating-point numbers has the same bits in every run. Those have that of the facts. */
	enum cs_balance measured;
	uint32_t left; /* bit per collective: cs_selection_leave */
	bool is_reporting, is_recording;
	bool is_telling; /* a rank is reporting: all say when they come (shm/arrived.h) */
	bool is_sampling; /* and on several nodes they keep some calls (trace/samples.h) */
	bool is_timed; /* one of the three: calls take the way that reads the clock */
	uint32_t host_only; /* bit per collective: the host, whatever the size and the operation */
	struct cs_cached_choices {
		int count;
		struct cs_cached_choice cached[CS_CHOICES];
	} cached_choices[CS_COLL_COUNT];
};

struct cs_cached_choice *cs_selection_choose_slow(struct cs_selection *selection, enum cs_coll coll,
						  size_t bytes, int skew, enum cs_order order);

/* What serves this call; never NULL, ->choice.algorithm NULL means the host. `skew` as in
 * cs_facts. */
static inline struct cs_cached_choice *
cs_selection_choose(struct cs_selection *selection, enum cs_coll coll, size_t bytes, int skew,
		    enum cs_order order)
{
	struct cs_cached_choices *cached_choices = &selection->cached_choices[coll];
	if (bytes == CS_BYTES_UNKNOWN && cached_choices->count)
		return &cached_choices->cached[0]; /* one for all */
	for (int i = 0; i < cached_choices->count; i++) {
		struct cs_cached_choice *cached = &cached_choices->cached[i];
		if (cached->low <= bytes && bytes <= cached->last &&
		    cached->order == order &&
		    (!cached->skew || cached->skew == skew))
			return cached;
	}
	return cs_selection_choose_slow(selection, coll, bytes, skew, order);
}

/* What is known already of calls of this size (of blocks of one size, so without skew), or NULL. A
 * commutative operation's cached choice is taken: another one's needs are stricter, so where that
 * goes to the host, this does too. */
static inline struct cs_cached_choice *
cs_selection_find(struct cs_selection *selection, enum cs_coll coll, size_t bytes)
{
	struct cs_cached_choice *cached = selection->cached_choices[coll].cached;
	for (int left = selection->cached_choices[coll].count; left > 0; left--, cached++)
		if (cached->low <= bytes && bytes <= cached->last && cached->order != CS_ORDER_KEPT)
			return cached;
	return NULL;
}

/* Runs the call by the choice's algorithm (which is not the host), with times in op->arrived_ns and
 * op->left_ns, and counts it where a report is wanted. */
void cs_selection_run_timed(struct cs_selection *selection, struct cs_cached_choice *cached,
			    struct cs_op *op, size_t bytes);
/* All but a small call. */
void cs_selection_begin(struct cs_cached_choice *cached, struct cs_op *op);
static inline void
cs_selection_run_quietly(struct cs_cached_choice *cached, struct cs_op *op)
{
	const struct cs_algorithm *algorithm = cached->choice.algorithm;
	if (!algorithm->fast || !cs_op_is_alone(op) ||
	    !algorithm->fast(op, cached->choice.params))
		cs_selection_begin(cached, op);
}
/* Afterwards, where CS_OP_GOES_ON is in op->node.extras, cs_op_finish is to be called; then
 * op->node.wrong says what was wrong, and cs_node_op_fini is to be called. */
static inline void
cs_selection_run(struct cs_selection *selection, struct cs_cached_choice *cached, struct cs_op *op,
		 size_t bytes)
{
	if (__builtin_expect(selection->is_timed, 0))
		cs_selection_run_timed(selection, cached, op, bytes);
	else
		cs_selection_run_quietly(cached, op);
}

/* Counts a call that the host did. */
void cs_selection_count(struct cs_selection *selection, struct cs_cached_choice *cached,
			enum cs_coll coll, size_t bytes, uint64_t nanoseconds);

/* Adds time outside of the algorithm to what calls by that cached choice have taken. */
void cs_selection_spend(struct cs_cached_choice *cached, size_t bytes, uint64_t nanoseconds);

/* Leaves a collective to the host, whatever size and operation are. Before anything is chosen. */
void cs_selection_leave(struct cs_selection *selection, enum cs_coll coll, const char *reason);

/* Chooses anew from the next call on, since the ranks have agreed on another imbalance. *selection
 * may be serving a call. */
void cs_selection_take_imbalance(struct cs_selection *selection, enum cs_balance imbalance);

void cs_selection_fini(struct cs_selection *selection);

#endif
