/* comm/teams/rma_window.c — makes a team's window, on all ranks or on none. */
#include "comm/teams/rma_window.h"

#include "base/log.h"
#include "comm/teams/make_team.h"
#include "comm/teams/rdma.h"
#include "comm/host/yielding.h"
#include "ib/rma_window.h"

#include <stddef.h>

/* Bytes of a node's window memory, and of a message in it, at most and at least. All other nodes
 * may be neighbours in some tree, so with many nodes messages are smaller. */
#define MEMORY ((size_t)4 << 20)
#define MOST_ROOM ((size_t)64 << 10)
#define LEAST_ROOM ((size_t)2 << 10) /* a small message must fit into one */
#define WINDOW_TAG 0 /* as in the trial: no operation of the wire is under way */

static size_t
room_for(int nodes)
{
	size_t room = MEMORY / CS_WINDOW_SLOTS / (size_t)nodes / 64 * 64;
	return room > MOST_ROOM ? MOST_ROOM : room < LEAST_ROOM ? 0 : room;
}

/* The minimum of all ranks' words; 0 if the MPI fails. */
static int
least(MPI_Comm comm, int word)
{
	int all = 0;
	return cs_yielding_allreduce(&word, &all, 1, MPI_INT, MPI_MIN, comm) ? 0 : all;
}

/* Opens the window. Returns NULL, or why this rank has none; others may have one. */
static const char *
open_window(struct cs_seat *seat, size_t room)
{
	const struct cs_shape *shape = &seat->team.shape;
	struct cs_ib_window_group group = {
		.nodes = shape->nodes, .node = shape->node, .local = shape->local,
		.first = shape->first, .order = shape->order, .room = room,
		.memory = (char *)seat->window_segment.base + CS_SEGMENT_HEADER,
	};
	const char *why = NULL;
	seat->window = cs_ib_window_open(cs_host_wire(&seat->everyone), WINDOW_TAG, &group, &why);
	if (seat->window && !seat->pin) {
		cs_ib_window_close(seat->window, false);
		seat->window = NULL;
		why = "the node's memory is not registered";
	}
	return why;
}

static void
make(struct cs_seat *seat)
{
	const struct cs_shape *shape = &seat->team.shape;
	const struct cs_meeting meeting = { .comm = seat->everyone.parent, .all = shape };
	size_t room = room_for(shape->nodes);
	if (seat->selection.facts.wire != CS_WIRE_IB || !room)
		return;
	enum cs_trouble trouble =
		cs_team_new_memory(&meeting, CS_SEGMENT_HEADER +
				   cs_rma_bytes(shape->nodes, room), &seat->window_segment);
	if (trouble != CS_TROUBLE_NONE) { /* the same on all ranks */
		if (shape->rank == 0)
			cs_info("no memory for the writes of other nodes; messages take their "
				"place");
		return;
	}
	const char *why = open_window(seat, room);
	if (why)
		cs_info("rank %d: no writes to other nodes' memory: %s; messages take their place",
			shape->rank, why);
	if (least(meeting.comm, seat->window != NULL))
		return;
	cs_ib_window_close(seat->window, false);
	seat->window = NULL;
	cs_team_free_memory(&seat->window_segment);
}

struct cs_rma_window *
cs_host_window(void *everyone)
{
	struct cs_seat *seat =
		(struct cs_seat *)(void *)((char *)everyone - offsetof(struct cs_seat, everyone));
	if (!seat->is_window_tried)
		make(seat);
	seat->is_window_tried = true;
	return seat->window;
}

void
cs_rma_drop(struct cs_seat *seat)
{
	if (!seat->window)
		return;
	cs_ib_window_close(seat->window, true);
	cs_team_free_memory(&seat->window_segment);
	seat->window = NULL;
}
