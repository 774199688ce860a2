/* sim/play.h — plays one call of an algorithm with phases (algorithms/op.h) in simulated time: the
 * library's own code, rank by rank.
 *
 *   a fiber for each rank      node memory: a piece of this process's for each node
 *     algorithm->run           copy, reduction   time of the model, and the node's bus
 *     cs_op_step ..            line that came    model.flag after it was published, or asked for
 *     waits: the next event    message           LogGP (sim/model.h), as of plans
 *
 * A rank has its turn when the simulated time is its own, so ranks see each other's words in the
 * order of simulated time: who comes first or last is who would. Whatever a phase writes into the
 * node's memory is seen by ranks that wait for it model.flag later, and costs nothing else, nor do
 * up to 48 bytes in a line. Copies that take less than model.flag are put off until they do
 * together. Calls are blocking ones, by the script also where the library has a form without one
 * (`fast`). The MPI's collectives between nodes go by plans (play_host.c). Single copies
 * (shm/node.h, cs_node_read) are read where model.cma is not 0 and the parameter cma_min says from
 * how many bytes: times, by which it would be decided else, are not measured here. As many ranks
 * read one memory at a time as in the library (cs_node_readers). Multicast is not played.
 *
 * Messages whose receiver does not know the sender, and words, leave at once also with model.rndv.
 * Windows (wire/rma_window.h) have messages of CS_PLAY_ROOM bytes on any number of nodes; a message
 * that is written to a node passes the port of its local rank 0, and costs no processor there. */
#ifndef CS_SIM_PLAY_H
#define CS_SIM_PLAY_H

#include "algorithms/algorithm.h"
#include "sim/call.h"
#include "sim/sim.h"

#define CS_PLAY_ROOM ((size_t)64 << 10)

struct cs_play_options {
	const size_t *params; /* the algorithm's, valid as long as the simulator */
	/* Data is moved, and cs_play_wrong_rank looks at results; else only what ranks tell each
	 * other is, and memory for vectors is shared by all. */
	bool moves;
	/* Nodes are alike but for their numbers, and the calls are: the first ones, as many as
	 * leaders have turns (algorithms/lanes.h), stand for all
	 * (cs_sim_set_alike). Not with `moves`. */
	enum cs_sim_alike alike;
	/* A rank that must not see what it has waited for, to test the tests; -1: none. */
	int deaf;
};

/* Counts of all ranks in the last run. */
struct cs_play_counts {
	uint64_t copied, reduced;   /* bytes in nodes' memory, and of plans */
	uint64_t published, heard;  /* steps in lines; those of others that ranks found there */
};

/* Creates a simulator whose runs (cs_sim_run) are calls of one team, one after the other. `call`
 * belongs to the caller and stays. CS_UNSUPPORTED: *why has the reason; CS_NO_MEMORY: more than
 * `budget`. */
CS_CHECKED enum cs_status cs_play_create(struct cs_sim **sim, struct cs_sim_call *call,
					 const struct cs_algorithm *algorithm,
					 const struct cs_play_options *options, size_t budget,
					 const char **why);
/* NULL: such calls of the algorithm can be played; else why not. */
const char *cs_play_unmet(const struct cs_algorithm *algorithm);

struct cs_play_counts cs_play_counts(const struct cs_sim *sim);
/* A rank whose result is not what arithmetic says, with `moves`; -1: none. */
int cs_play_wrong_rank(struct cs_sim *sim);

#endif
