/* algorithms/algorithm.h — an algorithm's descriptor. A new one is a file and a line in
 * algorithms.def.
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

#define CS_MAX_PARAMS 12 /* of a composed algorithm; others have up to 5 */

/* Roles of parameters that others than their algorithm read. */
enum cs_role {
	CS_ROLE_OWN,      /* read by its algorithm only */
	CS_ROLE_READ_ALL, /* bytes up to which a vector is reduced uncut, also in the simulator */
	CS_ROLE_DOUBLING, /* 0: sums are in the order of ranks */
	CS_ROLE_SENDERS,  /* ranks of a node that drive the plan; above 1: between all ranks */
	CS_ROLE_COPY_OUT, /* enum cs_copy_out */
};

/* Ways from the node's area to the results, over several nodes (algorithms/hier/copy_out.h). */
enum cs_copy_out { CS_OUT_COPY, CS_OUT_HOST, CS_OUT_HYBRID, CS_OUT_BY_SIZE, CS_OUT_WAYS };

/* A parameter a user may set after the name ("hier:host:chunk=64K") or in a rule's `with`. Bytes or
 * a count. */
struct cs_param {
	const char *name;
	const char *meaning;
	size_t fallback, low, high; /* value used if not given; smallest and largest allowed */
	bool is_within_nodes; /* of a plan: counts ranks of a node; no effect if each node has one,
			       * as between nodes */
	enum cs_role role;
};

/* Conditions on cs_facts for an algorithm (cs_algorithm_unmet), but for the last three, which
 * callers serve. A new one needs its meaning among the leaders of nodes (algorithm.c:
 * add_needs). */
struct cs_needs {
	bool several_per_node;       /* some node has two ranks or more */
	bool block_if_not_commutative; /* a non-commutative op only with block placement; of a
					* scan's row: block_placed */
	bool block_placed;           /* block placement, whatever the operation */
	bool one_node;               /* serves a single node only */
	bool several_nodes;          /* two nodes or more */
	bool power_of_two;           /* of ranks */
	bool power_of_two_nodes;
	bool commutative;            /* the operation is */
	bool verbs;                  /* the wire is verbs */
	bool everyone;               /* with run: messages between all ranks (team->everyone is
				      * open, over several nodes) */
	bool all_sizes; /* of CS_SIZES_AT_ROOT: other ranks must know sizes, so all get them */
	bool largest;   /* of CS_SIZES_BY_PAIR: all must know the largest block, so they agree */
};

/* Cost of the plans of all ranks. */
struct cs_cost {
	uint64_t rounds; /* messages in the longest chain in which each waits for the one before */
	uint64_t bytes;  /* the most that one rank sends or receives, the larger of the two */
	/* Bytes reduced one after the other on the longest chain if more than any rank reduces,
	 * else 0. */
	uint64_t reduced;
};

/* No formula for this problem: the cost is to be counted. */
#define CS_PRICE_NONE ((struct cs_cost){ .rounds = UINT64_MAX, .bytes = UINT64_MAX })

struct cs_algorithm {
	uint32_t colls;      /* set of the collectives it serves */
	enum cs_coll coll;   /* this row's one of `colls`; the table fills it in */
	const char *name;    /* "hier:host" */
	const char *summary; /* one line for collshim-info */
	struct cs_needs needs;
	struct cs_param params[CS_MAX_PARAMS]; /* ended by name == NULL */
	/* Begin an operation and continue with a script (cs_op_start). `params`: this algorithm's
	 * values in order, valid as long as the operation. No soft failure: once run returns the
	 * call will be done (transport failures end the job through the host's abort). */
	void (*run)(struct cs_op *op, const size_t *params);
	/* With run: serve a small blocking call at once on the node's flags, while no other
	 * operation is under way on the team; may wait. False: another size, nothing has been
	 * begun. NULL: no such path. */
	bool (*fast)(struct cs_op *op, const size_t *params);
	/* With run: between nodes the host does cs_colls[coll].between. Each plan of that
	 * collective that can run among leaders may replace the host: "hier:host" also makes
	 * "hier:ring". */
	bool composes;
	const struct cs_algorithm *inner; /* of a composed row: the plan; its parameters come first,
					   * the outer ones after them */
	/* Instead of run, for algorithms between equal ranks: write the steps of
	 * builder->problem->rank, for any number of ranks, root and sizes; cs_build_refuse if the
	 * algorithm cannot: the host then serves. */
	void (*build)(struct cs_builder *builder);
	/* With build: between nodes several senders may share its steps (plan/senders.h). */
	bool has_ports;
	/* With build: if a rank's problem is rank 0's with ranks counted from itself (which needs
	 * blocks of one size), so is its plan, but for places and the number of copies in a row of
	 * them. The simulator builds one plan. */
	bool is_turned;
	/* With build: formula of the cost for all ranks together (problem->rank does not matter) if
	 * build does not refuse; or CS_PRICE_NONE. A test compares it with the plans. NULL: counted
	 * from the plans of all ranks (sim/count.h) if ranks are few; among many a model knows only
	 * algorithms with a formula. Alltoallv and alltoallw: as problem->rank knows it
	 * (plans/pairs.h), not equal on all ranks. */
	void (*cost)(const struct cs_problem *problem, struct cs_cost *cost);
	/* With build, if the plan depends on node_of: the collective's algorithm that sends the
	 * same messages if each node has one rank, as between nodes in a composed row. */
	const char *alone;
};

#ifndef CS_MOST_ROWS /* a unit test has few */
#define CS_MOST_ROWS 512
#endif

/* Row number i of the table, sorted by collective; composed rows, with `inner`, come after a
 * collective's others, which are sorted by name. NULL after the last. */
const struct cs_algorithm *cs_algorithm_at(int i);

/* Phrases for unmet needs, also for cs_build_refuse. */
#define CS_NOT_COMMUTATIVE "the operation is not commutative"
#define CS_NOT_WITH_MESSAGES "not blocking, on several nodes"
#define CS_NOT_BY_THREAD "not blocking, and the thread that steps it makes no call of the MPI"
#define CS_NOT_IN_ORDER "order of a non-commutative operation, ranks of a node not consecutive"

/* A number below CS_MOST_ROWS for each row. */
int cs_algorithm_number(const struct cs_algorithm *row);

/* Number of rows left out, since there is no room for them, their names or their parameters. Not 0:
 * the library cannot be built (tools/compile_tuning.c). */
int cs_algorithms_left_out(void);

/* The collective's algorithm of that name, or NULL. "host" is no algorithm. */
const struct cs_algorithm *cs_algorithm_by_name(enum cs_coll coll, const char *name);
/* The collective's algorithm with the longest name that `text` begins with, up to its end or a
 * colon, and the bytes of the name; or NULL. */
const struct cs_algorithm *cs_algorithm_by_prefix(enum cs_coll coll, const char *text,
						  size_t *length);
/* Index of the parameter that the first `length` bytes of `name` name; -1: none. */
int cs_algorithm_param(const struct cs_algorithm *algorithm, const char *name, size_t length);

/* Index of the parameter with this role; -1: none. */
int cs_algorithm_role(const struct cs_algorithm *algorithm, enum cs_role role);

/* Does it send messages between all ranks, if they are on so many nodes? `params`: NULL, or its
 * values. */
bool cs_algorithm_opens_wire(const struct cs_algorithm *algorithm, int nodes, const size_t *params);

/* NULL if the needs hold, else an English phrase for an unmet one ("one rank per node"). Static
 * storage. */
const char *cs_algorithm_unmet(const struct cs_algorithm *algorithm, const struct cs_facts *facts);

#endif
