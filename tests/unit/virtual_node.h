/* virtual_node.h — up to 192 virtual ranks of one node with levels, whose calls are watched: they
 * run their phases in memory that they share, and move nothing. */
#ifndef CS_TESTS_VIRTUAL_NODE_H
#define CS_TESTS_VIRTUAL_NODE_H

#include "algorithms/algorithm.h"
#include "algorithms/op.h"

#define VIRTUAL_MOST 192

struct virtual_node {
	int ranks;
	struct cs_team *teams;
	struct cs_op *ops;
	struct cs_op_memory *idle;
	char *memory;
	int order[VIRTUAL_MOST], first[2];
	int package[VIRTUAL_MOST], cache[VIRTUAL_MOST]; /* of each rank */
};

/* Levels as COLLSHIM_FAKE_LEVELS has them, and the places of which they are made. */
void virtual_levels(struct cs_levels *levels, const char *text, int ranks, int *package,
		    int *cache);
/* slot_bytes: of a ring of two slots. */
void virtual_make(struct virtual_node *node, const char *levels, int ranks, size_t slot_bytes,
		  const struct cs_node_watch *watch);
void virtual_drop(struct virtual_node *node);

/* Parameters of an algorithm as they are without any given. */
void virtual_params(size_t params[CS_MAX_PARAMS], const struct cs_algorithm *algorithm);
/* Begins a rank's call; cs_op_step goes on with it, and virtual_end ends it. */
void virtual_begin(struct virtual_node *node, int rank, const struct cs_algorithm *algorithm,
		   const size_t *params, const struct cs_call *call);
void virtual_end(struct virtual_node *node, int rank);

#endif
