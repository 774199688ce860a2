/* sim/events.c — keeps the events of the simulator in a heap. */
#include "sim/events.h"

#include "sim/room.h"

#define CHILDREN 4

static bool
is_before(const struct cs_events *events, const struct cs_event *a, const struct cs_event *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	if (events->row && a->from % events->row != b->from % events->row)
		return a->from % events->row < b->from % events->row;
	if (a->from != b->from)
		return a->from < b->from;
	return a->number < b->number;
}

bool
cs_events_put(struct cs_events *events, const struct cs_event *event, size_t *left)
{
	if (events->count == events->room) {
		struct cs_event *heap = cs_room_double(events->heap, &events->room, sizeof *heap,
						       left);
		if (!heap)
			return false;
		events->heap = heap;
	}
	size_t at = events->count++;
	while (at && is_before(events, event, &events->heap[(at - 1) / CHILDREN])) {
		events->heap[at] = events->heap[(at - 1) / CHILDREN];
		at = (at - 1) / CHILDREN;
	}
	events->heap[at] = *event;
	return true;
}

bool
cs_events_take(struct cs_events *events, struct cs_event *event)
{
	if (!events->count)
		return false;
	struct cs_event *heap = events->heap, *moved = &heap[--events->count];
	*event = heap[0];
	for (size_t at = 0;;) {
		size_t first = CHILDREN * at + 1, best = first;
		for (size_t child = first + 1; child < first + CHILDREN && child < events->count;
		     child++)
			if (is_before(events, &heap[child], &heap[best]))
				best = child;
		if (best >= events->count || !is_before(events, &heap[best], moved)) {
			heap[at] = *moved;
			return true;
		}
		heap[at] = heap[best];
		at = best;
	}
}

void
cs_events_fini(struct cs_events *events)
{
	free(events->heap);
	*events = (struct cs_events){ 0 };
}
