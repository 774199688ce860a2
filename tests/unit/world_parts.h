/* world_parts.h — what the files of a world share. */
#ifndef CS_TESTS_WORLD_PARTS_H
#define CS_TESTS_WORLD_PARTS_H

#include "world.h"

static inline int
members_of(const struct world *world, int group)
{
	return group < 0 ? world->first[-group] - world->first[-group - 1]
	       : group ? world->nodes : world->ranks;
}

/* Lets others go on, for a call that blocks. */
void world_wait(struct world *world);

/* Messages (world_wire.c). */
void world_open_wire(struct seat *seat);
int world_messages(const struct world *world, bool says);
void world_drop_messages(struct world *world);

/* Collectives (world_host.c). */
extern const struct cs_host world_host;
int world_meetings(const struct world *world, bool says);
void world_drop_meetings(struct world *world);

/* Windows (world_window.c). */
struct cs_rma_window *world_window_of(void *everyone);
int world_window_messages(struct world *world);
void world_drop_windows(struct world *world);

/* Multicast (world_cast.c). */
void world_open_cast(struct seat *seat);
void world_drop_datagrams(struct world *world);

#endif
