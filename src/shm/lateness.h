/* shm/lateness.h — samples of how far apart a node's ranks arrive at its calls.
 *
 * In sampled calls of a team each rank writes a stamp: its arrival time (seed 002, 3.3: the
 * arrival), and its time of waiting for others so far. Ranks of a node have one clock. If a stamp
 * is not written yet, or is overwritten, the sample is lost. */
#ifndef CS_SHM_LATENESS_H
#define CS_SHM_LATENESS_H

#include "shm/node.h"

/* Result of one sample of all ranks of a node. */
struct cs_lateness {
	uint64_t apart_ns;  /* from a rank's arrival to the last one's, mean over ranks */
	uint64_t waited_ns; /* of a rank since sampling began, mean over ranks */
};

/* Writes the own stamp of the call that has just begun. `sample`: number of the sample. */
void cs_lateness_stamp(struct cs_node_op *op, uint64_t sample);

/* Evaluates all local ranks' stamps of that sample, in the call of that number. False: one is not
 * written, or is overwritten. */
bool cs_lateness_read(struct cs_node *node, uint64_t sample, uint64_t number,
		      struct cs_lateness *lateness);

/* Has tell(user, op) called as call number node->sample.at begins, CS_SAMPLE calls from now; `tell`
 * sets the next such number. Never, if `tell` is NULL. All local ranks must do the same, between
 * the same calls. */
void cs_lateness_sample(struct cs_node *node, void (*tell)(void *user, struct cs_node_op *op),
			void *user);

#endif
