/* shm/lateness.h — how far apart the ranks of a node come to its calls, by samples.
 *
 * In every CS_SAMPLE-th call of a team each rank writes down when it came (seed 002, 3.3: the
 * arrival), and how long it had waited for others by then. Ranks of a node have one clock, and are
 * seldom further apart than lines (CS_LINES); where they are, a sample is lost. */
#ifndef CS_SHM_LATENESS_H
#define CS_SHM_LATENESS_H

#include "shm/node.h"

/* What one sample of all ranks of a node tells. */
struct cs_lateness {
	uint64_t apart_ns;  /* from a rank's arrival to the last one's, in the mean over ranks */
	uint64_t waited_ns; /* of a rank since its team began, in the mean over ranks */
};

/* Writes the own stamp of the call that has just begun. */
void cs_lateness_stamp(struct cs_node_op *op);

/* Reads all local ranks' stamps of that call. False: not all of them are there, or any more. */
bool cs_lateness_read(struct cs_node *node, uint64_t number, struct cs_lateness *lateness);

/* Has tell(user, op) called in every CS_SAMPLE-th call from here on, as it begins; never, where
 * `tell` is NULL. All local ranks say the same, between the same calls. */
void cs_lateness_sample(struct cs_node *node, void (*tell)(void *user, struct cs_node_op *op),
			void *user);

#endif
