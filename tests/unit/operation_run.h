/* operation_run.h — one case: virtual ranks that make the same calls, and are stepped in an order
 * that chance wants. */
#ifndef CS_TESTS_OPERATION_RUN_H
#define CS_TESTS_OPERATION_RUN_H

#include "operation_call.h"

#define RUN_MOST_CALLS 400 /* of a row */
#define RUN_MOST_UNDER_WAY 4
/* A hang; most cases take some thousand, with small chunks and starving ranks some million */
#define RUN_MOST_STEPS 40000000

struct cs_cached_choice;

/* What is done wrong on purpose (operation_fault.c). */
enum fault {
	NONE,
	DONE_TOO_EARLY,
	AREA_DONE_TOO_EARLY,
	WINDOW_OUT_OF_ORDER,
	TAG_REUSED,
	OLD_LINE,
	PENDING_LOST,
	SLOT_TOO_EARLY,
	REFUSED_BY_ONE,
	TICKET_LOST,
	COUNTER_TOO_EARLY,
	SENDER_DEAF,
	FAULTS
};

struct setting {
	uint64_t seed;
	int sizes[WORLD_MOST + 1];
	bool cyclic, has_cma, may_be_left;
	bool refuses; /* some plans are (operation_refuse.c) */
	int lanes, calls, under_way;
	struct cs_node_shape shape;
	bool is_starving; /* some ranks have their turn only when no other can go on */
	size_t most_bytes; /* of a block or vector; 0: not limited but by what all ranks have
			    * together */
	bool is_blocking; /* each rank waits in each call */
	bool are_mixed;   /* on one node: some of the calls are as blocking ones, youngest of their
			   * team */
	/* The calls' algorithms; NULL: any that can, of this set of collectives. */
	const struct cs_algorithm *const *algorithms;
	uint32_t colls; /* 0: all */
	bool are_scripts; /* on the node's memory: multicast is none of them, whose root waits for
			   * all */
	bool has_one_root;
	size_t senders; /* of plans between nodes, where their ports may have several; 0: as chance
			 * wants */
	size_t each; /* bytes of each block or vector, from rank 0, no parameter given and not in
		      * place; 0: as chance wants */
	/* Ranks begin in this order, each when those before it can do nothing more; NULL: as chance
	 * wants. */
	const int *order;
	enum fault fault;
	long most_steps; /* 0: RUN_MOST_STEPS */
};

struct run {
	struct setting setting;
	struct world world;
	struct spec *specs;
	struct part *parts[WORLD_MOST]; /* by rank, and call */
	int begun[WORLD_MOST], over[WORLD_MOST];
	int beginning[WORLD_MOST]; /* the call that begins now, and 1; 0: none */
	bool is_starved[WORLD_MOST];
	int quiet; /* turns since something has moved */
	int arrived; /* with an order: so many of it may have their turn */
	int lead;  /* most calls by which a rank was ahead of another */
	struct call_counted *counted; /* by rank; NULL: nothing is counted */
	char failure[1024];
};

/* Where ranks are, for what has been proven there. */
enum placement { ON_ONE_NODE, ON_NODES_BY_BLOCK, ON_NODES_MIXED, ON_NODES_OF_ONE, PLACEMENTS };
enum placement run_placement(const struct world *world);

/* How often an algorithm was right, on all ranks, and no plan was refused: by row of the table,
 * ranks, and placement. */
extern unsigned run_proven[CS_MOST_ROWS][WORLD_MOST + 1][PLACEMENTS];
/* How often it has served a small call at once on a rank: by row, and ranks. */
extern unsigned run_at_once[CS_MOST_ROWS][WORLD_MOST + 1];
/* How often ranks made lanes in a call. */
extern int run_lanes_made;
/* How often several ranks of a node were its plan's senders, and none was refused: by row, over
 * ranks. */
extern unsigned run_by_senders[CS_MOST_ROWS];

/* Makes the ranks and their calls. */
void run_make(struct run *run, const struct setting *setting);
/* Whose turn it is: by chance, and where some ranks are starved theirs when nothing else moves
 * (run->quiet). */
int run_pick(struct run *run);
/* One rank's turn: it steps one of its operations, or begins one. Afterwards run->failure says what
 * went wrong, if anything. */
void run_turn(struct run *run);
bool run_is_over(const struct run *run);
/* Begins the rank's next call; `quiet`: as a blocking one, by cs_selection_run_quietly. It lives
 * until the call is over. */
void run_begin(struct run *run, int rank, struct cs_cached_choice *quiet);
/* Steps a call once, unless it is over or is beginning. */
void run_step(struct run *run, int rank, int call);
/* Makes one call, from its begin to its end. */
void run_blocking(struct run *run, int rank, int call);
/* All are over: nothing may be left. */
void run_end(struct run *run);
void run_fail(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds where each rank stands to the failure. */
void run_say_where(struct run *run);
void run_clear(struct run *run);

/* All of it; what went wrong is in run->failure. */
void run_setting(struct run *run, const struct setting *setting);
/* The same, and the test fails where anything went wrong. Returns by how many calls a rank was
 * ahead of another. */
int expect_right(const struct setting *setting);
/* Fails the test, and says what is needed to see it again. */
void run_say_failure(const struct run *run);

/* What all ranks of a world know, for what an algorithm needs. */
struct cs_facts run_facts(const struct world *world, enum cs_coll coll, bool is_commutative);

/* Does it wait for messages, whether ranks share a node or not? */
static inline bool
run_sends(const struct cs_algorithm *algorithm)
{
	return !algorithm->run || algorithm->needs.verbs;
}

/* Settings by chance. */
struct setting setting_of(uint64_t seed, bool several_nodes, int under_way);
/* Operations under way at a time: of the seed, which is what a failure prints. */
int several(uint64_t seed);
/* Random cases of a test: TEST_TIMES as many as usual (1), or one in TEST_SHARE, where a processor
 * is emulated. */
int cases_wanted(int usual);
int cases_share(void);

/* operation_fault.c: what is done wrong before a rank begins its call, while it begins, and when it
 * has had a turn with one. */
void fault_before(struct run *run, int rank, int call);
void fault_at_begin(struct run *run, int rank, int call);
void fault_after(struct run *run, int rank, struct part *part);

/* operation_refuse.c: half of the plans of this call's algorithm are refused. Counts plans of all
 * calls. */
void refuse_some(const struct run *run, struct spec *spec);
extern unsigned refuse_built, refuse_refused;

static inline uint64_t
chance(struct run *run, uint32_t bound)
{
	return random_below(&run->world.random, bound);
}

#endif
