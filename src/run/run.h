/* run/run.h — algorithm selection for one call on one communicator: choose, run, count. No MPI
 * here.
 *
 * A selection belongs to a communicator (comm/). Its choices are cached by intervals of bytes, so
 * that a repeated call costs a comparison or two. One thread at a time uses a selection (MPI 4.0,
 * 6.14: a communicator's collectives are not called concurrently). */
#ifndef CS_RUN_RUN_H
#define CS_RUN_RUN_H

#include "algorithms/op.h"
#include "run/flat.h"
#include "select/select.h"
#include "trace/report.h"

#define CS_CHOICES 12 /* cached intervals per collective */

/* The order of operands that a call's reduction operation requires. */
enum cs_order {
	CS_ORDER_KEPT,  /* rank order: not commutative */
	CS_ORDER_NONE,  /* no reduction */
	CS_ORDER_FREE,  /* any order: commutative */
	CS_ORDER_EXACT, /* any order, with the same bits: commutative and exact, as on integers */
	CS_ORDER_UNKNOWN, /* of no choice: for cs_selection_find */
};

struct cs_class_trial;

struct cs_cached_choice {
	size_t low, last; /* bytes for which it holds, both included */
	enum cs_order order;
	int skew; /* as in cs_facts; 0: any */
	bool goes_to_host; /* and is not on trial: the call need not be looked at */
	bool is_quick; /* for cs_selection_find */
	struct cs_choice choice;
	/* Calls until cs_selection_try is asked; below 0 after each while the host is on trial. The
	 * class has had until - left calls, the same number on all ranks. */
	int64_t left, until;
	struct cs_class_trial *trial; /* NULL: none */
	int inner_params; /* the first so many choice.params are of the algorithm between nodes */
	struct cs_report_row **rows; /* by size bin; owned; NULL until a call is counted */
};

struct cs_selection {
	const struct cs_selector *selector; /* not owned */
	struct cs_team *team; /* not owned; NULL: everything goes to the host */
	struct cs_facts facts; /* coll, bytes, skew and is_commutative are filled per call */
	/* Imbalance measured in this run. Not used for inexact reductions (CS_ORDER_KEPT and
	 * CS_ORDER_FREE), whose result must have the same bits in every run: these use
	 * facts.imbalance. */
	enum cs_balance measured;
	uint32_t left; /* bit per collective: cs_selection_leave was called */
	/* This rank counts its calls (trace/report.h); it writes its arrivals to a file
	 * (comm/teams/recording.h). */
	bool is_reporting, is_recording;
	bool is_telling; /* a report is wanted: each rank records its arrivals (shm/arrived.h) */
	bool is_sampling; /* some calls' times are kept (trace/samples.h) */
	/* Calls read the clock: always, if a report or arrivals are wanted (CS_TIMED_ALL), or the
	 * call under way, which is on trial (CS_TIMED_ON_TRIAL). Or the entry under way is that of
	 * a non-blocking call (CS_TIMED_NOT_BLOCKING), which is not run to its end either. */
	unsigned char is_timed;
	/* The class of the last call that cs_selection_try was asked for; NULL: not measured. With
	 * CS_OP_ON_TRIAL it is the call under way: a call may never end, if its error handler jumps
	 * out of it. */
	struct cs_class_trial *on_trial;
	struct cs_class_trial *trials;   /* owned; NULL: nothing is tried (run/trial.h) */
	int trial_count;
	bool is_learning; /* verdicts are kept for later jobs (select/learnt.h) */
	uint32_t host_only; /* bit per collective: the host, whatever the size and the operation */
	struct cs_cached_choices {
		size_t used; /* bytes of `cached` that are choices */
		struct cs_cached_choice cached[CS_CHOICES];
	} cached_choices[CS_COLL_COUNT];
	struct cs_cached_choices *nonblocking; /* by collective; owned; NULL: no such call yet */
};

/* Are messages of non-blocking calls progressed whenever the MPI waits for anything? Else such
 * calls are made by the host on several nodes. */
extern bool cs_messages_progress;

enum { CS_TIMED_ALL = 1, CS_TIMED_ON_TRIAL = 2, CS_TIMED_NOT_BLOCKING = 4 };

struct cs_cached_choice *cs_selection_choose_slow(struct cs_selection *selection, enum cs_coll coll,
						  size_t bytes, int skew, enum cs_order order);

/* The end of the choices, by bytes: their number would be multiplied in each call. */
static inline struct cs_cached_choice *
cs_cached_choices_end(struct cs_cached_choices *cached_choices)
{
	return (struct cs_cached_choice *)((char *)cached_choices->cached + cached_choices->used);
}

/* The cached choice for a call; NULL: none. */
static inline struct cs_cached_choice *
cs_cached_choices_find(struct cs_cached_choices *cached_choices, size_t bytes, int skew,
		       enum cs_order order)
{
	struct cs_cached_choice *cached = cached_choices->cached,
				*end = cs_cached_choices_end(cached_choices);
	if (bytes == CS_BYTES_UNKNOWN && cached_choices->used)
		return cached; /* one for all */
	for (; cached < end; cached++)
		if (cached->low <= bytes && bytes <= cached->last &&
		    cached->order == order &&
		    (!cached->skew || cached->skew == skew))
			return cached;
	return NULL;
}

/* Returns the choice for this call, never NULL; it is the selection's. ->choice.algorithm is NULL
 * for the host. `skew` as in cs_facts. */
static inline struct cs_cached_choice *
cs_selection_choose(struct cs_selection *selection, enum cs_coll coll, size_t bytes, int skew,
		    enum cs_order order)
{
	struct cs_cached_choice *cached =
		cs_cached_choices_find(&selection->cached_choices[coll], bytes, skew, order);
	return cached ? cached : cs_selection_choose_slow(selection, coll, bytes, skew, order);
}

/* The same for a non-blocking call. Such choices depend on nothing that is measured in the run, so
 * that they may be made before older calls have begun, and open no wire. NULL if memory is out. */
struct cs_cached_choice *cs_selection_choose_nonblocking(struct cs_selection *selection,
							 enum cs_coll coll, size_t bytes, int skew,
							 enum cs_order order);

/* Finds a cached choice for calls of this size (of blocks of one size, so without skew) and order;
 * NULL: none. With CS_ORDER_UNKNOWN, one that goes to the host is for any operation: choices
 * for non-commutative ones, whose needs are stricter, and of the host by what was measured for one
 * class are not looked at. */
static inline struct cs_cached_choice *
cs_selection_find(struct cs_selection *selection, enum cs_coll coll, size_t bytes,
		  enum cs_order order)
{
	struct cs_cached_choice *cached = selection->cached_choices[coll].cached,
				*end = cs_cached_choices_end(&selection->cached_choices[coll]);
	for (; cached < end; cached++)
		if (cached->low <= bytes && bytes <= cached->last &&
		    (cached->order == order || (cached->is_quick && order == CS_ORDER_UNKNOWN)))
			return cached;
	return NULL;
}

/* Calls of the class so far, with the one under way. */
static inline uint64_t
cs_class_calls(const struct cs_cached_choice *cached)
{
	return (uint64_t)(cached->until - cached->left);
}

/* The choice for a class's call after which `left` is below 0: it may be another one than `cached`,
 * to try it. Sets selection->on_trial if the call is to be measured (cs_trials_note). `root`: -1 if
 * the collective has none. */
struct cs_cached_choice *cs_selection_try(struct cs_selection *selection,
					  struct cs_cached_choice *cached, int root);

/* Opens the wire that the choice's algorithm sends by. All ranks call it in the same call. Returns
 * why there is none, NULL if it is open or not needed. */
const char *cs_selection_open(struct cs_selection *selection, const struct cs_choice *choice);
/* Sets inner_params. */
void cs_selection_compose(struct cs_cached_choice *cached);

/* Sets *after_ns to the arrival, after `start_ns`, of the last rank of the node that this one
 * depends on; 0 or less if all came before. False: this rank depends on ranks of other nodes only,
 * or a time is not known. Ranks write their arrivals while selection->is_telling or in a call on
 * trial. */
bool cs_selection_last_came(const struct cs_op *op, uint64_t start_ns, int64_t *after_ns);

/* Runs the call by the choice's algorithm (which is not the host) to its end, with times in
 * op->arrived_ns and op->left_ns, and counts it if a report is wanted. */
void cs_selection_run_timed(struct cs_selection *selection, struct cs_cached_choice *cached,
			    struct cs_op *op, size_t bytes);
/* Starts the algorithm's `run` or plan, for calls that its `fast` has not served. */
void cs_selection_run_slow(const struct cs_cached_choice *cached, struct cs_op *op);
static inline void
cs_selection_run_quietly(struct cs_cached_choice *cached, struct cs_op *op)
{
	const struct cs_algorithm *algorithm = cached->choice.algorithm;
	if (!algorithm->fast || !cs_op_is_alone(op) ||
	    !algorithm->fast(op, cached->choice.params))
		cs_selection_run_slow(cached, op);
}
/* Runs or starts the call by the choice's algorithm, which is not the host. If op->node.extras has
 * CS_OP_GOES_ON afterwards, the caller calls cs_op_finish. Then op->node.outcome says how the call
 * went, and the caller calls cs_node_op_fini. */
static inline void
cs_selection_run(struct cs_selection *selection, struct cs_cached_choice *cached, struct cs_op *op,
		 size_t bytes)
{
	if (__builtin_expect(selection->is_timed, 0))
		cs_selection_run_timed(selection, cached, op, bytes);
	else
		cs_selection_run_quietly(cached, op);
}

/* The report's row of such calls by a choice, in words if a rule made it. `form`: 0,
 * CS_NONBLOCKING or CS_PERSISTENT. */
struct cs_report_row *cs_selection_row(const struct cs_selector *selector, int form,
				       const struct cs_choice *choice, enum cs_coll coll,
				       size_t bytes);

/* The same of a cached choice, which remembers it; NULL without memory. */
struct cs_report_row *cs_selection_cached_row(const struct cs_selection *selection,
					      struct cs_cached_choice *cached, enum cs_coll coll,
					      size_t bytes);

/* Adds time outside of the algorithm to the reported time of calls by that choice. */
void cs_selection_spend(const struct cs_selection *selection, struct cs_cached_choice *cached,
			size_t bytes, uint64_t nanoseconds);

/* Leaves a collective to the host, whatever the size and the operation. Call it before the first
 * choice. `reason` is static. */
void cs_selection_leave(struct cs_selection *selection, enum cs_coll coll, const char *reason);

/* Sets the imbalance that the ranks have agreed on, and drops the cached choices but those of
 * inexact reductions: the next calls choose anew. *selection may be serving a call. */
void cs_selection_take_imbalance(struct cs_selection *selection, enum cs_balance imbalance);

/* Tells the report how many calls the classes on trial have had. */
void cs_selection_tell(const struct cs_selection *selection);

/* Frees the rows' tables. */
void cs_selection_fini(struct cs_selection *selection);

#endif
