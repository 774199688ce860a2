/* algorithms/algorithm.h — what an algorithm is. One more = one file + one line in algorithms.def.
 *
 * The line ALGORITHM(bcast, binomial) names algorithms/bcast/binomial.c, which defines
 * `const struct cs_algorithm cs_algorithm_bcast_binomial`, for all collectives of its set. The
 * table has a row for each of these, with the same name. */
#ifndef CS_ALGORITHMS_ALGORITHM_H
#define CS_ALGORITHMS_ALGORITHM_H

#include "base/status.h"
#include "coll/coll.h"

#include <stdint.h>

struct cs_builder;
struct cs_op;
struct cs_problem;

#define CS_MAX_PARAMS 8 /* of a composed one; others have up to 5 */

/* What a parameter is for, where others than its algorithm ask. */
enum cs_role {
	CS_ROLE_OWN,      /* nobody does */
	CS_ROLE_READ_ALL, /* vectors up to this are reduced without being cut: so are the
			   * simulator's */
	CS_ROLE_DOUBLING, /* the order of a sum depends on it; 0: it is that of the ranks */
};

/* A parameter a user may set after the name ("hier:host:chunk=64K") or in a rule's `with`. Bytes or
 * a count. */
struct cs_param {
	const char *name;
	const char *meaning;
	size_t fallback, low, high; /* value used if not given; smallest and largest allowed */
	bool is_within_nodes; /* of a plan: counts ranks of a node, and has no effect where each
			       * node has one, as between nodes */
	enum cs_role role;
};

/* What must hold before an algorithm may be asked for; all from cs_facts. Whoever adds one says in
 * algorithm.c (add_needs) what it is among the leaders of nodes. */
struct cs_needs {
	bool several_per_node;       /* some node has two ranks or more */
	bool block_if_not_commutative; /* a non-commutative op only with block placement */
	bool block_placed;           /* block placement, whatever the operation */
	bool one_node;               /* serves a single node only */
	bool several_nodes;          /* there is something between nodes */
	bool power_of_two;           /* as many ranks */
	bool power_of_two_nodes;
	bool commutative;            /* no other operation */
	bool verbs;                  /* plans send by verbs */
	bool everyone;               /* with run: messages between all ranks (team->everyone is
				      * open, over several nodes) */
	bool all_sizes; /* of CS_SIZES_AT_ROOT: other ranks must know sizes, so all learn them */
	bool largest;   /* of CS_SIZES_BY_PAIR: all must know the largest block, so they agree */
};

/* What the plans of all ranks cost. */
struct cs_cost {
	uint64_t rounds; /* messages in the longest chain in which each waits for the one before */
	uint64_t bytes;  /* the most that one rank sends or receives, the larger of the two */
	/* Of bytes that are reduced one after the other on the longest chain, if they are more than
	 * what a rank reduces; else 0. */
	uint64_t reduced;
};

/* The formula is not for this problem: it is to be counted. */
#define CS_PRICE_NONE ((struct cs_cost){ .rounds = UINT64_MAX, .bytes = UINT64_MAX })

struct cs_algorithm {
	uint32_t colls;      /* a set: what it is for */
	enum cs_coll coll;   /* of them the one that this row is about; the table fills it in */
	const char *name;    /* "hier:host" */
	const char *summary; /* one line for collshim-info */
	struct cs_needs needs;
	struct cs_param params[CS_MAX_PARAMS]; /* ended by name == NULL */
	/* Begins an operation, and goes on with a script (cs_op_go_on). `params` has this
	 * algorithm's values in order; they stay as long as the operation. By contract it cannot
	 * fail softly: once it returns the call will be done (transport failures end the job
	 * through the host's abort). */
	void (*run)(struct cs_op *op, const size_t *params);
	/* With run: a small call at once, straight on the flags; may wait. For blocking calls while
	 * nothing else is under way on the team. False: not of this size, and nothing has been
	 * begun. NULL: there is no such way. */
	bool (*fast)(struct cs_op *op, const size_t *params);
	/* With run: between nodes it leaves cs_colls[coll].between to the host. Each algorithm of
	 * that collective that is a plan and runs among leaders may stand there instead:
	 * "hier:host" then also makes "hier:ring". */
	bool composes;
	const struct cs_algorithm *inner; /* of those: the plan; its parameters come first, this
					   * one's own behind them */
	/* Instead of run, for algorithms between equal ranks: writes the steps of
	 * builder->problem->rank. For any number of ranks, root and sizes; cs_build_refuse where
	 * the algorithm itself cannot: the host serves then. */
	void (*build)(struct cs_builder *builder);
	/* With build: where a rank's problem is rank 0's with ranks counted from it (blocks of one
	 * size, to begin with), so is its plan, but for places and for how many copies stand where
	 * copies follow each other. The simulator builds one. */
	bool is_turned;
	/* With build, where that is a formula: the cost for all ranks together (problem->rank does
	 * not matter), where build does not refuse; or CS_PRICE_NONE. A test holds it against the
	 * plans. Else it is counted from the plans of all ranks (sim/count.h), as far as they are
	 * few: among many a model only knows of algorithms that have a formula. Alltoallv and
	 * alltoallw: what problem->rank knows of it (plans/pairs.h); not equal on all ranks. */
	void (*cost)(const struct cs_problem *problem, struct cs_cost *cost);
	/* With build, where it matters who is on which node: the algorithm of the collective that
	 * sends the same messages where each node has one rank, as between nodes in a composed
	 * one. */
	const char *alone;
};

#ifndef CS_MOST_ROWS /* a unit test has few */
#define CS_MOST_ROWS 512
#endif

/* Row number i of the table, sorted by collective; composed ones, with `inner`, stand behind a
 * collective's others, which are sorted by name. NULL behind the last. */
const struct cs_algorithm *cs_algorithm_at(int i);

/* What is said of two needs, also by plans that refuse. */
#define CS_NOT_COMMUTATIVE "the operation is not commutative"
#define CS_NOT_IN_ORDER "order of a non-commutative operation, ranks of a node not consecutive"

/* A number below CS_MOST_ROWS for each row. */
int cs_algorithm_number(const struct cs_algorithm *row);

/* How many rows the table should have but has not, since there is no room for them, or not for
 * their names or parameters. Not 0: the library cannot be built (tools/compile_tuning.c). */
int cs_algorithms_left_out(void);

/* The algorithm of that name for the collective, or NULL. "host" is not among them: it stands for
 * no algorithm. */
const struct cs_algorithm *cs_algorithm_by_name(enum cs_coll coll, const char *name);
/* Of the algorithms whose name the text begins with, up to its end or to a colon, the one with the
 * longest name, and that length; or NULL. */
const struct cs_algorithm *cs_algorithm_by_prefix(enum cs_coll coll, const char *text,
						  size_t *length);
/* Which of the algorithm's parameters the first `length` bytes of a text name; -1: none. */
int cs_algorithm_param(const struct cs_algorithm *algorithm, const char *name, size_t length);

/* The number of the algorithm's parameter with this role; -1: it has none. */
int cs_algorithm_role(const struct cs_algorithm *algorithm, enum cs_role role);

/* NULL if the needs hold, else an English phrase that says which does not ("one rank per node").
 * Static storage. */
const char *cs_algorithm_unmet(const struct cs_algorithm *algorithm, const struct cs_facts *facts);

#endif
