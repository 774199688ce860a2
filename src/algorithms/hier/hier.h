/* hier/hier.h — a collective over several nodes: node memory, one message between every two
 * nodes, node memory.
 *
 *   bring    each rank copies its data of the round into the node's area, and publishes step `here`
 *   meet     a driver of the wire (a lane's rank) waits for the ranks of its node
 *   between  each driver moves its part between nodes, by a plan or the host's collective, and
 *            publishes step `arrived`
 *   take     each rank waits for the lanes, and copies its own part out
 *
 * On a node of 32 ranks and more one driver meets the ranks, and tells them, along a tree of caches
 * and packages.
 *
 * Rounds follow each other; with `lag` 1 a round is taken while the next one is between nodes (seed
 * 004's overlap). A collective fills in a struct cs_hier_kind. */
#ifndef CS_ALGORITHMS_HIER_HIER_H
#define CS_ALGORITHMS_HIER_HIER_H

#include "algorithms/hier/copy_out.h"
#include "algorithms/node/tree.h"
#include "algorithms/op.h"
#include "shm/cow.h"
#include "shm/post.h"

#define CS_HIER_SENDERS \
	{ "senders", "ranks of a node that drive the plan between nodes, a port each; above 1 " \
		     "`lanes` has no effect", 1, 1, CS_SENDERS_MOST, .role = CS_ROLE_SENDERS }
#define CS_HIER_AREAS 2 /* most slots of the area in a round */
#define CS_HIER_LAG 1   /* most rounds that wait to be taken while another one is brought */

struct cs_hier_round {
	uint64_t index;
	uint64_t here, arrived; /* steps */
	char *area[CS_HIER_AREAS];
	uint64_t turn; /* a flag of the last area is up from this value on (shm/node_slots.h) */
	size_t room; /* bytes of each slot of the area: the same on all local ranks, or more than
		      * CS_AREA_SMALL on all */
	size_t at, count; /* the round's part of the call, in the kind's units */
};

struct cs_hier_kind {
	int areas; /* slots of a round: 0 to CS_HIER_AREAS; with `memory` of senders one more */
	int lag;   /* 0 or CS_HIER_LAG */
	/* Fills in room, at and count of the round before its areas are taken. NULL: nothing to
	 * fill in. */
	void (*lay_out)(struct cs_op *op, struct cs_hier_round *round);
	/* Phase: copies this rank's data in, and publishes `here` if it is waited for
	 * (cs_hier_is_here). */
	cs_phase *bring;
	/* Does the driver wait for `here` of `local`, another rank? NULL: for all. */
	bool (*waits_for)(struct cs_op *op, int local);
	/* With one driver on a node of many ranks, which has levels: do its ranks meet, and hear of
	 * `arrived`, along a tree of which it is the root (CS_HIER_ bits)? Fills in the vector that
	 * travels along it, of `each` bytes, down the first of the area. NULL: no. */
	unsigned (*grow)(struct cs_op *op, struct cs_tree *tree);
	/* Moves the driver's part between nodes: cs_between_* (algorithms/hier/between.h). */
	void (*between)(struct cs_op *op, struct cs_hier_round *round);
	/* Writes the driver's words to its line before step `arrived`. NULL: none. */
	void (*tell)(struct cs_op *op, struct cs_line *line);
	/* Local rank, and its step, that this rank waits for before it takes a lane's part; itself:
	 * no wait. NULL: the lane's rank, step `arrived`. */
	int (*source)(struct cs_op *op, const struct cs_hier_round *round, int lane,
		      uint64_t *step);
	/* Does this rank take anything? NULL: yes. */
	bool (*takes)(struct cs_op *op);
	/* Takes a lane's part; `line`: of the source. NULL: `take` takes all. */
	void (*take_lane)(struct cs_op *op, const struct cs_hier_round *round, int lane,
			  const struct cs_line *line);
	/* Takes the round, when all lanes' parts are there. NULL: take_lane has taken it. */
	void (*take)(struct cs_op *op, const struct cs_hier_round *round);
	/* Takes bytes [at, at + bytes) of the round's `count`, which are at `from`, where the
	 * copy-out may be the hybrid (hier/copy_out.h); take_lane then takes nothing, and `take` is
	 * not called. */
	void (*take_part)(struct cs_op *op, const struct cs_hier_round *round, const char *from,
			  size_t at, size_t bytes);
	/* With cs_hier_share; a round then has a third step, arrived + 1. `compare`: looks at the
	 * line of the leader that has taken it for this rank, too; NULL: nothing is to be seen. */
	bool shares;
	void (*compare)(struct cs_op *op, const struct cs_line *line);
	/* With `shares`: writes the round to the file of the results instead of taking it
	 * (cs_hier_write). */
	void (*write)(struct cs_op *op, const struct cs_hier_round *round);
};

/* Ranks meet along the tree, and cs_hier_is_here does nothing; all of them take, and hear along it
 * that they can, instead of take_lane. */
enum { CS_HIER_MEET = 1, CS_HIER_HEAR = 2 };

/* The first word of a line in the copy-out's steps: pieces are in its rank's ring. */
#define CS_HIER_RING 1

/* The state of the script, and the first member of an algorithm's own. */
struct cs_hier {
	const struct cs_hier_kind *kind;
	struct cs_line *line; /* own; NULL: not taken */
	uint64_t rounds;      /* of the call: equal on all ranks */
	uint64_t step;        /* the last one of the rounds so far */
	int first_lane, lanes; /* lanes that carry this call; senders that takers wait for */
	bool drives;          /* this rank's lane is one of these, or it is a sender */
	bool needs_line;      /* this rank publishes something */
	bool is_led;          /* the leader takes for those whose result is the same memory */
	bool is_laid_out;     /* the round at hand */
	int cow;              /* file of all results (shm/cow.h); -1: none */
	struct cs_cow_told told; /* of it */
	char *result;
	size_t bytes;         /* of it */
	struct cs_shared_place place; /* of the own result */
	uint64_t round;       /* the one at hand; the one `lag` before it is taken */
	int next;             /* lane or local rank that is looked at next */
	int area;             /* areas taken of the round at hand */
	unsigned by_tree;     /* CS_HIER_ bits of the round at hand */
	unsigned pieces;      /* steps of the copy-out behind those of a round, where it may be the
			       * hybrid; 0: it may not */
	struct cs_tree *tree; /* with one of them */
	struct cs_hybrid *hybrid; /* this rank's part, once that is decided; NULL: it copies out as
				   * usual */
	cs_phase *const *again; /* the first phase of each round */
	struct cs_hier_round last[1 + CS_HIER_LAG];
};

static inline struct cs_hier *
cs_hier_of(struct cs_op *op)
{
	return CS_OP_STATE(struct cs_hier, op);
}
static inline struct cs_hier_round *
cs_hier_round_at(struct cs_hier *hier, uint64_t index)
{
	return &hier->last[index % (1 + CS_HIER_LAG)];
}
/* The round at hand, which is brought. */
static inline struct cs_hier_round *
cs_hier_now(struct cs_hier *hier)
{
	return cs_hier_round_at(hier, hier->round);
}

/* The round that is taken now; NULL: none is. */
static inline struct cs_hier_round *
cs_hier_taken(struct cs_hier *hier)
{
	uint64_t lag = (uint64_t)hier->kind->lag;
	return hier->round < lag || hier->round - lag >= hier->rounds
	       ? NULL : cs_hier_round_at(hier, hier->round - lag);
}
static inline bool
cs_hier_is_brought(const struct cs_hier *hier)
{
	return hier->round < hier->rounds;
}

/* Fills in all but `rounds`, begins the call on the node, and goes on with the script; its phase
 * number `first` begins each round. */
void cs_hier_start(struct cs_op *op, const struct cs_hier_kind *kind, int lanes,
		   cs_phase *const *script, int first);

/* Starts cs_hier_script for a call that moves `bytes`: if these are worth it, up to `wanted` lanes
 * drive the wire, each with its part (0: one per NUMA domain). */
void cs_hier_start_by_lanes(struct cs_op *op, const struct cs_hier_kind *kind, size_t bytes,
			    size_t wanted);

static inline bool
cs_hier_has_senders(const struct cs_op *op)
{
	return op->node.extras & CS_OP_SENDERS;
}
/* Ranks of each node that drive the ports of a call's plan, from and into the area. */
struct cs_hier_senders {
	int count;       /* 1: the leader drives all */
	size_t memory;   /* of a slot, of round->room, for the plan beside the data; 0: none */
	bool are_heard;  /* data comes with any of them; else all is there when the leader's steps
			  * are over */
	bool never_meet; /* none waits for another */
};

/* As many of `wanted` as each node has ranks. */
int cs_hier_most_senders(const struct cs_op *op, size_t wanted);

/* The number of senders of a call of so many rounds for which `wanted` are asked, if the area has
 * room for `memory`. The same on all ranks. */
int cs_hier_senders(const struct cs_op *op, size_t wanted, size_t memory, uint64_t rounds);

/* One sender from here on, if so many rounds would have too many steps. All ranks of the node call
 * it alike, between rounds. */
void cs_hier_limit_senders(struct cs_op *op, uint64_t rounds);

/* cs_hier_start with senders, where there are several; else by one lane. */
void cs_hier_start_by_senders(struct cs_op *op, const struct cs_hier_kind *kind,
			      const struct cs_hier_senders *senders, cs_phase *const *script,
			      int first);

/* Local rank of a lane that carries the call or, where senders are heard, of a sender. */
int cs_hier_driver(const struct cs_op *op, int lane);
/* Finds whether the result of `bytes` is in memory that ranks have in common (shm/shared.h), or is
 * to be mapped copy-on-write (shm/cow.h). Right after the start. is_led: the leader then writes it
 * for others, too, which wait until it has. */
void cs_hier_share(struct cs_op *op, char *result, size_t bytes, bool is_led);
/* Writes a part of the result to the file of the results. */
void cs_hier_write(struct cs_op *op, size_t at, const char *from, size_t bytes);
/* Does this rank, the leader, write a file of the results? */
static inline bool
cs_hier_writes(struct cs_op *op)
{
	return cs_hier_of(op)->cow >= 0 && cs_team_is_leader(op->team);
}
/* Is the result that the line's rank has told of the own one? */
static inline bool
cs_hier_is_shared(struct cs_op *op, const struct cs_line *line)
{
	return cs_shared_is_same(cs_hier_of(op)->place, line->word[3], line->word[4]);
}

/* Number of lanes for a call with parameter `lanes`. A blocking call makes those that there are not
 * yet: all ranks of the team ask at the same place of the same call, for the same number. A call
 * that may not wait takes those that there are, and asks as it begins, in its turn among the
 * team's, as others may make more before its end. */
int cs_hier_lanes(struct cs_op *op, size_t wanted);
/* Sets the lanes that carry the call: `lanes` from `first` on. */
void cs_hier_set_lanes(struct cs_op *op, int first, int lanes);

/* Publishes step `here`, unless this rank is the only driver, which nobody waits for. */
void cs_hier_is_here(struct cs_op *op);

/* Function of a kind: ranks meet and hear along a tree of flags alone. */
unsigned cs_hier_grow(struct cs_op *op, struct cs_tree *tree);

/* Waits, as a phase, for a step of all other local ranks that `waits_for` selects; NULL: all. */
enum cs_status cs_hier_look_all(struct cs_op *op, uint64_t step,
				bool (*waits_for)(struct cs_op *op, int local));

/* Phases. */
enum cs_status cs_hier_open(struct cs_op *op); /* takes the own line */
enum cs_status cs_hier_begin_round(struct cs_op *op);
enum cs_status cs_hier_bring(struct cs_op *op);
enum cs_status cs_hier_meet(struct cs_op *op);
enum cs_status cs_hier_between(struct cs_op *op);
enum cs_status cs_hier_tell(struct cs_op *op);
enum cs_status cs_hier_take(struct cs_op *op);
enum cs_status cs_hier_next(struct cs_op *op); /* gives back the areas of the taken round */
enum cs_status cs_hier_close(struct cs_op *op); /* after the last round, with `shares` */

/* Script of a collective whose rounds are known from the start. */
extern cs_phase *const cs_hier_script[];
#define CS_HIER_SCRIPT_ROUND 1 /* its first phase of a round */
#define CS_HIER_ROUND_PHASES \
	cs_hier_begin_round, cs_hier_bring, cs_hier_meet, cs_hier_between, cs_hier_tell, \
		cs_hier_take, cs_hier_next

#endif
