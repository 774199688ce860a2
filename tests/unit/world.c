/* world.c makes the nodes and teams of virtual ranks. */
#include "world_parts.h"

#include "base/fake_levels.h"

#include "algorithms/late/posted_receives.h"

#include <stdlib.h>
#include <sys/mman.h>

#define TURN 2 /* of lanes, so that some are behind it */

static void
take_seat(struct world *world, struct seat *seat, int group, int rank)
{
	*seat = (struct seat){ .world = world, .group = group, .rank = rank };
	world_open_wire(seat);
	world_open_cast(seat);
}

static void
place_ranks(struct world *world, const int *sizes, bool cyclic)
{
	int left[WORLD_MOST] = { 0 }, used[WORLD_MOST] = { 0 };
	world->nodes = world->ranks = 0;
	for (; sizes[world->nodes]; world->nodes++)
		world->ranks += left[world->nodes] = sizes[world->nodes];
	assert_in_range(world->ranks, 1, WORLD_MOST);
	for (int rank = 0, node = 0; rank < world->ranks; rank++) {
		while (!left[node])
			node = (node + 1) % world->nodes;
		world->node_of[rank] = node;
		world->local_of[rank] = used[node]++;
		left[node]--;
		node = cyclic ? (node + 1) % world->nodes : node;
	}
	world->is_block_placed = true;
	int next = 0;
	for (int node = 0; node < world->nodes; node++) {
		world->first[node] = next;
		for (int rank = 0; rank < world->ranks; rank++)
			if (world->node_of[rank] == node) {
				world->order[next] = rank;
				world->position[rank] = next++;
			}
	}
	world->first[world->nodes] = next;
	for (int rank = 0; rank < world->ranks; rank++)
		world->is_block_placed = world->is_block_placed && world->order[rank] == rank;
}

static struct cs_shape
shape_of(struct world *world, const int *sizes, int rank)
{
	struct cs_shape shape = { .rank = rank, .ranks = world->ranks, .nodes = world->nodes,
				  .node = world->node_of[rank], .local = world->local_of[rank],
				  .locals = sizes[world->node_of[rank]], .ppn_min = WORLD_MOST,
				  .is_block_placed = world->is_block_placed,
				  .node_of = world->node_of, .local_of = world->local_of,
				  .first = world->first, .order = world->order,
				  .position = world->position };
	for (int node = 0; node < world->nodes; node++) {
		shape.ppn_min = sizes[node] < shape.ppn_min ? sizes[node] : shape.ppn_min;
		shape.ppn_max = sizes[node] > shape.ppn_max ? sizes[node] : shape.ppn_max;
	}
	return shape;
}

/* The part of the node's memory that is this rank's. */
static void
take_memory(struct world *world, const int *sizes, int rank, const struct cs_node_shape *like)
{
	struct cs_team *team = &world->teams[rank];
	int node = world->node_of[rank];
	struct cs_node_shape own = *like;
	own.local = world->local_of[rank];
	own.size = sizes[node];
	own.area_slots = world->nodes > 1 ? own.area_slots : 0;
	size_t bytes = cs_node_bytes(&own);
	if (!world->memory[node]) { /* mapped, since a case touches little of it */
		world->bytes[node] = bytes;
		world->memory[node] = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(world->memory[node], MAP_FAILED);
	}
	struct cs_segment segment = { .bytes = bytes, .fd = -1, .base = world->memory[node] };
	cs_node_init(&team->node, &own, &segment, &world_host);
	cs_node_init_own(&team->node);
	team->node.nodes = world->nodes;
}

static void
take_lane(struct world *world, int rank)
{
	struct cs_team *team = &world->teams[rank];
	int node = world->node_of[rank];
	team->lanes = team->most_lanes = world->lanes;
	team->turn = world->lanes < TURN ? world->lanes : TURN;
	team->domains = 1;
	team->lane = CS_LANES;
	for (int lane = 0; lane < world->lanes; lane++) {
		team->lane_local[lane] = cs_lanes_local(lane, node, team->turn);
		if (team->lane_local[lane] == world->local_of[rank])
			team->lane = lane;
	}
	if (world->nodes > 1 && team->lane < CS_LANES) {
		take_seat(world, &world->leaders[rank], 1 + team->lane, node);
		team->leaders = &world->leaders[rank];
	}
}

/* Levels of any kind, by the seed, the same on all ranks of a node. */
static void
take_levels(const struct world *world, int ranks, struct cs_levels *levels)
{
	static const char *const texts[] = { "1x1x1024", "2x2x2", "1x4x3", "3,1|2,5",
					     "cyclic:2x2x4",
					     "1,1,1,1|1,1,1,1", "cyclic:3x1x1", "17|9" };
	const char *text = texts[world->random % (sizeof texts / sizeof *texts)];
	int package[WORLD_MOST], cache[WORLD_MOST];
	for (int local = 0; local < ranks; local++)
		cs_fake_levels_of(text, local, &package[local], &cache[local]);
	assert_true(cs_levels_init(levels, ranks, package, cache));
}

/* Where each node has one rank there is no memory (comm/teams/make_team.c). */
static void
make_team(struct world *world, const int *sizes, int rank, const struct cs_node_shape *like)
{
	struct cs_team *team = &world->teams[rank];
	team->shape = shape_of(world, sizes, rank);
	team->host = &world_host;
	if (world->nodes < world->ranks)
		take_memory(world, sizes, rank, like);
	else
		team->node.shape = (struct cs_node_shape){ .slot_bytes = SIZE_MAX,
							   .area_bytes = SIZE_MAX,
							   .spin = like->spin,
							   .yields = like->yields };
	take_lane(world, rank);
	if (world->nodes < world->ranks && (world->nodes == 1 || world->random % 3))
		take_levels(world, team->shape.locals, &team->shape.levels);
	take_seat(world, &world->everyone[rank], 0, rank);
	team->everyone = &world->everyone[rank];
	take_seat(world, &world->locals[rank], -1 - world->node_of[rank], world->local_of[rank]);
	team->locals = &world->locals[rank];
	team->has_locals = true;
	team->idle = &world->idle[rank];
}

void
world_make(struct world *world, const int *sizes, bool cyclic, int lanes,
	   const struct cs_node_shape *shape, uint64_t seed)
{
	memset(world, 0, sizeof *world);
	world->random = seed;
	place_ranks(world, sizes, cyclic);
	world->lanes = lanes;
	for (int node = 0; node < world->nodes; node++)
		world->lanes = sizes[node] < world->lanes ? sizes[node] : world->lanes;
	world->teams = calloc((size_t)world->ranks, sizeof *world->teams);
	assert_non_null(world->teams);
	for (int rank = 0; rank < world->ranks; rank++)
		make_team(world, sizes, rank, shape);
}

void
world_unmake_lanes(struct world *world)
{
	for (int rank = 0; rank < world->ranks && world->lanes > 1; rank++) {
		struct cs_team *team = &world->teams[rank];
		team->lanes = 1;
		if (team->lane > 0)
			team->leaders = NULL;
	}
}

void
world_fail(struct world *world, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	if (!*world->failure)
		vsnprintf(world->failure, sizeof world->failure, format, arguments);
	va_end(arguments);
}

void
world_wait(struct world *world)
{
	if (!world->wait)
		fail_msg("a call between ranks would wait");
	world->wait();
}

void
world_say(const struct world *world)
{
	for (int rank = 0; rank < world->ranks; rank++)
		if (world->windows[rank] && !cs_rma_is_quiet(&world->windows[rank]->window))
			print_error("rank %d: not all that its node has put was given back\n",
				    rank);
	world_messages(world, true);
	world_meetings(world, true);
}

int
world_left(struct world *world)
{
	return world_messages(world, false) + world_meetings(world, false) +
	       world_window_messages(world);
}

void
world_clear(struct world *world)
{
	for (int rank = 0; rank < world->ranks; rank++)
		cs_posted_receives_end(&world->teams[rank]);
	world_drop_messages(world);
	world_drop_meetings(world);
	world_drop_datagrams(world);
	world_drop_windows(world);
	for (int rank = 0; rank < world->ranks; rank++) {
		cs_plans_fini(&world->teams[rank].lane_plans);
		cs_plans_fini(&world->teams[rank].flat_plans);
		cs_levels_fini(&world->teams[rank].shape.levels);
		cs_op_memory_free(&world->idle[rank]);
	}
	for (int node = 0; node < world->nodes; node++)
		if (world->memory[node])
			munmap(world->memory[node], world->bytes[node]);
	free(world->teams);
}
