/* sim/events.h — queue of future events, soonest first; at one time by rank, then in the order in
 * which they began. */
#ifndef CS_SIM_EVENTS_H
#define CS_SIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_event {
	int64_t at;      /* the first byte asks for what comes next on its way */
	int64_t last;    /* the last byte could */
	uint64_t bytes;
	int32_t from, to;
	uint32_t number; /* of events that rank `from` began */
	uint32_t chain;  /* messages on the longest way to this one, itself included */
	int32_t request; /* of the sender */
	int32_t stage : 8, stream : 8;
};

/* A heap; all zero: empty. */
struct cs_events {
	struct cs_event *heap;
	size_t count, room;
	int row; /* ranks in a row: at one time by place in the row first; 0: there are no rows */
};

/* Adds an event. False: no memory, or none left of *left. */
bool cs_events_put(struct cs_events *events, const struct cs_event *event, size_t *left);
/* Takes the first event; false: there is none. */
bool cs_events_take(struct cs_events *events, struct cs_event *event);
void cs_events_fini(struct cs_events *events);

#endif
