/* shm/node_watch.h — functions of virtual ranks, whose operations are watched (CS_NODE_WATCHED):
 * their steps and work are noted, for counts (algorithms/counted.h) and in simulated time
 * (sim/play.h). */
#ifndef CS_SHM_NODE_WATCH_H
#define CS_SHM_NODE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_node_op;
struct cs_problem;

struct cs_node_watch {
	/* A step that an operation publishes (`local` is the own one), or finds published. */
	void (*told)(struct cs_node_op *op, int local, uint64_t step);
	/* A copy or a reduction of so many bytes. True: it is to be done, too. */
	bool (*work)(struct cs_node_op *op, bool reduces, size_t bytes);
	/* Bytes that an operation reads of the rank `local`: by single copy, in its place, or, with
	 * `to` NULL, by slices of levels. NULL: not noted, and there is no single copy. */
	void (*read)(struct cs_node_op *op, int local, void *to, uint64_t remote, size_t bytes);
	/* An exchange between nodes is noted instead of done. NULL: it is done. */
	void (*between)(struct cs_node_op *op, const struct cs_problem *problem);
	/* A wait within a phase for a word, the step of a line if `is_line`: returns when something
	 * may have changed it. NULL: by looks. */
	void (*wait)(struct cs_node_op *op, const _Atomic uint64_t *word, uint64_t target,
		     bool is_line);
	/* One copy of memory of the node's for all its ranks, until their calls are over. NULL:
	 * each has its own. */
	const void *(*keep)(struct cs_node_op *op, const void *from, size_t bytes);
};

#endif
