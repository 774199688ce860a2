/* ib_traffic.h — random messages between the processes of a world (ib_world.h), their bytes
 * checked.
 *
 * A message is filled when it is sent and spoilt as soon as its send is finished; its receive lies
 * between guards. */
#ifndef CS_TESTS_UNIT_IB_TRAFFIC_H
#define CS_TESTS_UNIT_IB_TRAFFIC_H

#include "ib_world.h"

enum { TRAFFIC_MOST = 400, TRAFFIC_TAGS = 3 };

struct traffic_message {
	int group, from, to; /* ranks of the group */
	uint64_t tag;        /* counted from first_tag */
	size_t bytes;
	bool is_direct, has_flag;
};

/* A message's sizes are of this list, which begins with 0. */
struct traffic {
	struct world_group *groups;
	int group_count;
	struct traffic_message messages[TRAFFIC_MOST];
	int count;
	uint64_t first_tag;
	unsigned eagerness; /* of 8 starts, how many are of sends */
	const char *trouble; /* the first that was found; NULL: none */
	int trouble_at;
};

/* Messages of drawn sizes and tags among all groups: those of one tag between two ranks are sent in
 * the order in which they are received, and no others are. `direct`: of 8, how many. */
void traffic_draw(struct traffic *traffic, struct world_group *groups, int group_count, int count,
		  const size_t *sizes, size_t size_count, unsigned direct);
/* Sends and receives all of them, in an order that is drawn; false with traffic->trouble: wrong
 * data, or no end. */
bool traffic_run(struct traffic *traffic);

#endif
