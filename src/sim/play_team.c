/* sim/play_team.c — makes nodes and teams of virtual ranks. */
#include "sim/play_parts.h"
#include "sim/room.h"

#include "algorithms/late/posted_receives.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PAGE ((uintptr_t)4096)
#define TOUCHED ((size_t)40 << 10) /* of a rank, its part of its node and its stack, about */

/* Bytes that malloc always maps, whatever its threshold. */
#define MAPPED ((size_t)33 << 20)

/* As a team's memory is with the limits of etc/tuning.yaml (comm/teams/shape.c). */
#define SLOTS 4
#define SLOT_BYTES ((size_t)512 << 10)
#define AREA_BYTES ((size_t)4 << 20)
#define RINGS ((size_t)32 << 20)

void *
cs_play_zeros(size_t bytes)
{
	return calloc(1, bytes > MAPPED ? bytes : MAPPED);
}

static struct cs_node_shape
memory_shape(const struct cs_play *play)
{
	const struct cs_shape *shape = &play->shape;
	size_t ppn = (size_t)shape->ppn_max, slot = SLOT_BYTES,
	       table = 2 * sizeof(size_t) * ppn * (size_t)shape->ranks;
	while (slot > (64 << 10) && slot * SLOTS * ppn > RINGS)
		slot /= 2;
	table = (table + 63) & ~(size_t)63;
	return (struct cs_node_shape){ .size = shape->ppn_max, .slots = SLOTS, .slot_bytes = slot,
				       .area_slots = shape->nodes > 1 ? SLOTS : 0,
				       .area_bytes = shape->nodes > 1 && table > AREA_BYTES ? table
					     : shape->nodes > 1 ? AREA_BYTES : 0,
				       .yields = CS_WAIT_AWAKE, .streams = CS_SWITCH_OFF };
}

/* An element of each block fits, else the library leaves a call to the MPI
 * (comm/calls/serve_reduce.c). */
static bool
has_room(const struct cs_play *play, const struct cs_node_shape *like)
{
	enum cs_coll coll = play->call->coll;
	size_t room = like->slot_bytes;
	if (play->shape.nodes > 1 && like->area_bytes < room)
		room = like->area_bytes;
	return (coll != CS_REDUCE_SCATTER && coll != CS_REDUCE_SCATTER_BLOCK) ||
	       room / (size_t)play->shape.ranks >= CS_CALL_UNIT;
}

static enum cs_status
place_ranks(struct cs_play *play)
{
	const struct cs_sim_call *call = play->call;
	struct cs_shape *shape = &play->shape;
	int *arrays = cs_room_take(4 * (size_t)call->ranks + 1, sizeof *arrays, &play->sim->left);
	*shape = (struct cs_shape){ .ranks = call->ranks, .nodes = call->nodes,
				    .locals = call->ppn, .ppn_min = call->ppn,
				    .ppn_max = call->ppn, .is_block_placed = true,
				    .node_of = call->node_of, .local_of = arrays };
	if (!arrays)
		return CS_NO_MEMORY;
	shape->order = arrays + call->ranks;
	shape->position = arrays + 2 * call->ranks;
	shape->first = arrays + 3 * call->ranks;
	for (int node = 0; node <= call->nodes; node++)
		shape->first[node] = node * call->ppn;
	for (int rank = 0; rank < call->ranks; rank++) {
		int node = call->node_of[rank];
		int local = call->is_cyclic ? rank / call->nodes : rank % call->ppn;
		int position = shape->first[node] + local;
		shape->local_of[rank] = local;
		shape->position[rank] = position;
		shape->order[position] = rank;
		shape->is_block_placed = shape->is_block_placed && position == rank;
	}
	return CS_OK;
}

/* As cs_node_init. Without `moves` nothing is copied, and the three quarters of it in which copies
 * are judged stay untouched pages of zeros. */
static void
init_node(struct cs_play_rank *rank, const struct cs_node_shape *shape, struct cs_segment *segment)
{
	static _Thread_local struct cs_node made;
	size_t before = offsetof(struct cs_node, copies_in),
	       behind = offsetof(struct cs_node, readable);
	cs_node_init(&made, shape, segment, &cs_play_host);
	if (rank->play->options.moves)
		behind = before;
	memcpy(&rank->team.node, &made, before);
	memcpy((char *)&rank->team.node + behind, (char *)&made + behind, sizeof made - behind);
}

static void
take_memory(struct cs_play_rank *rank, const struct cs_node_shape *like, size_t bytes)
{
	struct cs_node *node = &rank->team.node;
	struct cs_node_shape shape = *like;
	uintptr_t base = (uintptr_t)rank->play->nodes[rank->team.shape.node];
	struct cs_segment segment = { .bytes = bytes, .fd = -1,
				      .base = (void *)((base + PAGE - 1) / PAGE * PAGE) };
	shape.local = rank->team.shape.local;
	init_node(rank, &shape, &segment);
	atomic_store(&node->self->done, node->done_floor);
	node->only_cpu = -1;
	node->nodes = rank->team.shape.nodes;
	node->all_ranks = rank->team.shape.ranks;
	node->watch = &cs_play_watch;
	/* No pages are mapped in advance. */
	node->small_mapped = UINT_MAX;
	for (size_t slot = 0; slot < CS_MAX_SLOTS; slot++)
		node->slot_populated[slot] = node->areas[CS_AREA_LARGE_SLOTS].populated[slot] =
			node->areas[CS_AREA_SMALL_SLOTS].populated[slot] = SIZE_MAX;
}

static void
take_lanes(struct cs_play_rank *rank)
{
	struct cs_team *team = &rank->team;
	team->lanes = team->most_lanes = rank->play->lanes;
	team->turn = cs_lanes_turn(team->shape.ppn_min);
	team->domains = 1;
	team->lane = CS_LANES;
	for (int lane = 0; lane < team->lanes; lane++) {
		team->lane_local[lane] = cs_lanes_local(lane, team->shape.node, team->turn);
		if (team->lane_local[lane] == team->shape.local)
			team->lane = lane;
	}
	if (team->shape.nodes < 2 || team->lane == CS_LANES)
		return;
	cs_play_open_wire(&rank->leaders, rank, team->lane);
	team->leaders = &rank->leaders;
}

static void
make_team(struct cs_play *play, int number, const struct cs_node_shape *like, size_t bytes)
{
	struct cs_play_rank *rank = &play->ranks[number];
	struct cs_team *team = &rank->team;
	rank->play = play;
	rank->state = CS_PLAY_OVER;
	rank->unused = -1;
	rank->heard = play->heard + (size_t)number * (size_t)play->shape.ppn_max;
	team->shape = play->shape;
	team->shape.rank = number;
	team->shape.node = play->shape.node_of[number];
	team->shape.local = play->shape.local_of[number];
	team->host = &cs_play_host;
	team->idle = &rank->idle;
	take_memory(rank, like, bytes);
	take_lanes(rank);
	cs_play_open_wire(&rank->everyone, rank, -1);
	team->everyone = &rank->everyone;
}

enum cs_status
cs_play_make_teams(struct cs_play *play)
{
	struct cs_sim *sim = play->sim;
	enum cs_status status = place_ranks(play);
	if (status != CS_OK)
		return status;
	size_t ranks = (size_t)play->played, nodes = (size_t)play->played_nodes;
	struct cs_node_shape like = memory_shape(play);
	if (!has_room(play, &like))
		return CS_UNSUPPORTED;
	size_t bytes = cs_node_bytes(&like);
	play->nodes = cs_room_take(nodes, sizeof *play->nodes, &sim->left);
	play->windows = cs_room_take(nodes, sizeof *play->windows, &sim->left);
	play->kept = cs_room_take(nodes, sizeof *play->kept, &sim->left);
	play->heard = cs_room_take(ranks * (size_t)play->shape.ppn_max, sizeof *play->heard,
				   &sim->left);
	size_t touched = TOUCHED * ranks;
	if (cs_colls[play->call->coll].sizes == CS_SIZES_BY_PAIR && play->shape.nodes > 1)
		/* A row and a column of each rank, and the copy of both. */
		touched += 4 * sizeof(size_t) * ranks * (size_t)sim->ranks;
	if (!play->nodes || !play->windows || !play->kept || !play->heard || touched > sim->left)
		return CS_NO_MEMORY;
	sim->left -= touched;
	for (size_t node = 0; node < nodes; node++) /* pages come as they are touched */
		if (!(play->nodes[node] = cs_play_zeros(bytes + PAGE)))
			return CS_NO_MEMORY;
	for (int rank = 0; rank < play->played; rank++)
		make_team(play, rank, &like, bytes);
	return CS_OK;
}

const void *
cs_play_keep(struct cs_play_rank *rank, const void *from, size_t bytes)
{
	struct cs_play *play = rank->play;
	struct cs_play_kept *kept = &play->kept[rank->team.shape.node];
	if (kept->run == play->runs)
		return kept->copy;
	char *copy = bytes > kept->bytes ? realloc(kept->copy, bytes) : kept->copy;
	if (!copy) {
		cs_sim_fail(play->sim, CS_NO_MEMORY);
		cs_play_give_up(rank, "no memory");
	}
	*kept = (struct cs_play_kept){ .copy = memcpy(copy, from, bytes), .run = play->runs,
				       .bytes = bytes > kept->bytes ? bytes : kept->bytes };
	return copy;
}

static void
drop_team(struct cs_play_rank *rank)
{
	cs_posted_receives_end(&rank->team);
	cs_plans_fini(&rank->team.lane_plans);
	cs_plans_fini(&rank->team.flat_plans);
	if (rank->op.node.extras & CS_OP_MEMORY)
		cs_op_give_back(&rank->op, &rank->idle);
	cs_op_memory_free(&rank->idle);
	cs_play_drop_window(rank);
	for (size_t i = 0; i < rank->message_count; i++)
		free(rank->messages[i].copy);
	free(rank->messages);
}

void
cs_play_drop_teams(struct cs_play *play)
{
	for (int rank = 0; play->ranks && rank < play->played; rank++)
		if (play->ranks[rank].play)
			drop_team(&play->ranks[rank]);
	for (int node = 0; node < play->played_nodes; node++) {
		free(play->nodes ? play->nodes[node] : NULL);
		free(play->windows ? play->windows[node] : NULL);
		free(play->kept ? play->kept[node].copy : NULL);
	}
	cs_match_fini(&play->any);
	free(play->nodes);
	free(play->windows);
	free(play->kept);
	free(play->heard);
	free(play->shape.local_of);
	free(play->ranks);
}
