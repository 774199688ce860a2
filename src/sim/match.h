/* sim/match.h — halves of messages that wait for the other half: receives that were started,
 * messages that arrived.
 *
 * Between two ranks messages match in order, so only receives or only messages of a pair wait at a
 * time: a queue for each pair that has any, found by a hash. */
#ifndef CS_SIM_MATCH_H
#define CS_SIM_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_half {
	uint64_t bytes;
	int64_t at;      /* of a message: its last byte is there */
	uint32_t chain;  /* of a message */
	int32_t request; /* of a receive; negative: a message */
};

struct cs_match_pair {
	int32_t to, from;      /* to < 0: unused */
	uint32_t first, last;  /* of its queue */
};

/* All zero: empty. */
struct cs_match {
	struct cs_match_pair *pairs;
	size_t pair_count, pair_room;
	struct cs_match_node {
		struct cs_half half;
		uint32_t next;
	} *nodes;
	size_t node_count, node_room;
	uint32_t free_nodes; /* a list; 0: empty (node 0 is not used) */
};

/* Takes the pair's first half if it is a receive (`is_receive`), or a message. */
bool cs_match_take(struct cs_match *match, int to, int from, bool is_receive, struct cs_half *half);
/* Appends a half to the pair's queue. False: no memory, or none left of *left. */
bool cs_match_put(struct cs_match *match, int to, int from, const struct cs_half *half,
		  size_t *left);
/* Some pair that has a message nobody received, or NULL. */
const struct cs_match_pair *cs_match_left_over(const struct cs_match *match);
void cs_match_fini(struct cs_match *match);

#endif
