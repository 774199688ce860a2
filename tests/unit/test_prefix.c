/* Scans through the memory of nodes (hier/prefix.h), with a thread for each rank and leaders
 * that meet in this process: each way of making one, on nodes of every shape, with an operation
 * that is not commutative. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "algorithms/hier/prefix.h"
#include "algorithms/team.h"
#include "coll/call.h"

#include <pthread.h>

#define MOST_RANKS 17
#define MOST_COUNT 20000
#define LANES 2
#define UNTOUCHED 0xa7 /* bytes of a result before the call */

/* x -> a x + b, modulo 2^32. */
struct element {
	uint32_t a, b;
};

static struct element
compose(struct element left, struct element right)
{
	return (struct element){ left.a * right.a, left.a * right.b + left.b };
}

static struct element
element_of(int rank, size_t i)
{
	return (struct element){ (uint32_t)rank * 2654435761u + (uint32_t)i * 40503u + 1,
				 (uint32_t)(rank * 7919) ^ (uint32_t)i };
}

static void
kernel(void *out, const void *a, const void *b, size_t count)
{
	struct element *to = out;
	const struct element *left = a, *right = b;
	for (size_t i = 0; i < count; i++)
		to[i] = compose(left[i], right[i]);
}

static void
reduce_local(const struct cs_reduction *reduction, const void *in, void *inout, size_t count)
{
	kernel(inout, in, inout, count);
}

/* --- leaders ---------------------------------------------------------------------------------- */

/* Of a lane: its ranks of all nodes. */
struct lane {
	pthread_barrier_t barrier;
	struct element *sums[MOST_RANKS]; /* by node */
};

struct seat {
	struct lane *lane;
	int node;
};

static unsigned
exscan(void *leaders, void *buffer, size_t count, const struct cs_reduction *reduction,
       struct cs_request *request)
{
	struct seat *seat = leaders;
	struct element *own = malloc(count * sizeof *own);
	memcpy(own, buffer, count * sizeof *own);
	seat->lane->sums[seat->node] = own;
	pthread_barrier_wait(&seat->lane->barrier);
	if (seat->node)
		memcpy(buffer, seat->lane->sums[0], count * sizeof *own);
	for (int node = 1; node < seat->node; node++)
		kernel(buffer, buffer, seat->lane->sums[node], count);
	pthread_barrier_wait(&seat->lane->barrier);
	free(own);
	return 0;
}

static void
progress(void)
{
}

static void __attribute__((noreturn))
end(const char *why)
{
	printf("the job ended: %s\n", why);
	abort();
}

static const struct cs_host host = { .progress = progress, .abort = end,
				     .reduce_local = reduce_local, .exscan = exscan };

/* --- ranks ------------------------------------------------------------------------------------ */

struct world {
	int nodes, ranks, least, most; /* ranks of the emptiest and of the fullest node */
	int first[MOST_RANKS + 1], node_of[MOST_RANKS], local_of[MOST_RANKS], order[MOST_RANKS];
	struct lane lanes[LANES];
	void *memory[MOST_RANKS]; /* by node */
};

struct rank {
	struct world *world;
	struct cs_team team;
	struct cs_op_memory *idle;
	struct seat seat;
	int rank;
	pthread_t thread;
	struct element *in, *out;
	char wrong[200];
};

/* All ranks make the same ones, one after the other. */
static const struct {
	const char *name;
	size_t params[5];
} ways[] = {
	{ "as shipped", { 16 << 10, 12, 32 << 10, 4 << 20, 2 } },
	{ "doubling", { 0, 2, 4 << 10, 4 << 20, 1 } },
	{ "chain, short rounds", { 0, 0, 4 << 10, 4 << 10, 2 } },
	{ "all read, or a chain", { 64 << 20, 0, 64 << 10, 64 << 20, 0 } },
};
static const size_t counts[] = { 1, 5, 60, 1000, MOST_COUNT };

static struct cs_node_shape
node_shape(const struct world *world, int node, int local)
{
	bool has_area = world->nodes > 1;
	return (struct cs_node_shape){ .local = local, .size = world->first[node + 1] -
				       world->first[node], .slots = 2, .slot_bytes = 16 << 10,
				       .area_slots = has_area ? 2 : 0, .area_bytes = has_area
				       ? 64 << 10 : 0, .spin = 1, .yields = 2,
				       .streams = CS_SWITCH_OFF };
}

static void
make_team(struct rank *self)
{
	struct world *world = self->world;
	int node = world->node_of[self->rank], local = world->local_of[self->rank], locals;
	struct cs_node_shape shape = node_shape(world, node, local);
	struct cs_segment segment = { .base = world->memory[node], .bytes = cs_node_bytes(&shape),
				      .fd = -1 };
	struct cs_team *team = &self->team;
	locals = shape.size;
	*team = (struct cs_team){
		.host = &host, .idle = &self->idle, .domains = 1, .lane = CS_LANES,
		.lanes = world->least < LANES ? world->least : LANES,
		.most_lanes = world->least < LANES ? world->least : LANES,
		.shape = { .rank = self->rank, .ranks = world->ranks, .nodes = world->nodes,
			   .node = node, .local = local, .locals = locals, .ppn_min = world->least,
			   .ppn_max = world->most, .is_block_placed = true,
			   .node_of = world->node_of, .local_of = world->local_of,
			   .first = world->first, .order = world->order, .position = world->order },
	};
	team->turn = team->lanes;
	for (int lane = 0; lane < team->lanes; lane++) {
		team->lane_local[lane] = cs_lanes_local(lane, node, team->lanes);
		if (team->lane_local[lane] != local)
			continue;
		team->lane = lane;
		self->seat = (struct seat){ &world->lanes[lane], node };
		team->leaders = &self->seat;
	}
	cs_node_init(&team->node, &shape, &segment, &host);
}

/* Is the result right, and the input as it was? */
static void
check(struct rank *self, const struct cs_call *call, const char *way, size_t count, bool in_place)
{
	bool is_exclusive = call->coll == CS_EXSCAN;
	for (size_t i = 0; i < count && !*self->wrong; i++) {
		struct element wanted = element_of(0, i), left;
		for (int rank = 1; rank < self->rank + !is_exclusive; rank++)
			wanted = compose(wanted, element_of(rank, i));
		memset(&left, UNTOUCHED, sizeof left);
		if (is_exclusive && !self->rank)
			wanted = in_place ? element_of(0, i) : left;
		left = element_of(self->rank, i);
		bool is_right = memcmp(&self->out[i], &wanted, sizeof wanted) == 0;
		if (!is_right || (!in_place && memcmp(&self->in[i], &left, sizeof left) != 0))
			snprintf(self->wrong, sizeof self->wrong,
				 "%s, %s, %zu elements%s%s, rank %d of %d on %d nodes: element %zu",
				 cs_colls[call->coll].name, way, count,
				 in_place ? ", in place" : "", call->reduction.kernel
				 ? "" : ", by the host", self->rank, self->world->ranks,
				 self->world->nodes, i);
	}
}

static void
make_call(struct rank *self, enum cs_coll coll, size_t way, size_t count, bool in_place,
	  bool has_kernel)
{
	struct cs_call call;
	size_t bytes = count * sizeof(struct element);
	bool has_result = coll == CS_SCAN || self->rank;
	for (size_t i = 0; i < count; i++)
		self->in[i] = element_of(self->rank, i);
	memset(self->out, UNTOUCHED, bytes);
	if (in_place)
		memcpy(self->out, self->in, bytes);
	cs_call_init(&call, coll, -1, bytes);
	call.count = count;
	call.send.base = (char *)(in_place ? self->out : self->in);
	call.recv.base = has_result ? (char *)self->out : NULL;
	call.reduction = (struct cs_reduction){ .unit = sizeof(struct element),
						.kernel = has_kernel ? kernel : NULL };
	struct cs_op op = { .team = &self->team, .call = call };
	cs_node_op_init(&op.node, &self->team.node, cs_call_signature(coll, 1) | bytes);
	cs_prefix(&op, ways[way].params);
	cs_op_finish(&op);
	cs_node_op_fini(&op.node);
	cs_op_fini(&op);
	check(self, &call, ways[way].name, count, in_place);
	if (op.node.outcome.bits & CS_OUTCOME_STOPPED && !*self->wrong)
		snprintf(self->wrong, sizeof self->wrong, "%s, %s: other ranks are in another call",
			 cs_colls[coll].name, ways[way].name);
}

static void *
make_calls(void *argument)
{
	struct rank *self = argument;
	for (size_t i = 0; i < 2 * COUNT(ways) * COUNT(counts) * 4; i++)
		make_call(self, i % 2 ? CS_EXSCAN : CS_SCAN, i / 8 / COUNT(counts),
			  counts[i / 8 % COUNT(counts)], i / 2 % 2, i / 4 % 2);
	return NULL;
}

static void
make_world(struct world *world, const int *ppn)
{
	*world = (struct world){ .least = MOST_RANKS };
	for (; ppn[world->nodes]; world->nodes++) {
		int here = ppn[world->nodes];
		for (int local = 0; local < here; local++, world->ranks++) {
			world->node_of[world->ranks] = world->nodes;
			world->local_of[world->ranks] = local;
			world->order[world->ranks] = world->ranks;
		}
		world->first[world->nodes + 1] = world->ranks;
		world->least = here < world->least ? here : world->least;
		world->most = here > world->most ? here : world->most;
	}
	for (int lane = 0; lane < LANES; lane++)
		pthread_barrier_init(&world->lanes[lane].barrier, NULL, (unsigned)world->nodes);
	for (int node = 0; node < world->nodes; node++) {
		struct cs_node_shape shape = node_shape(world, node, 0);
		size_t bytes = (cs_node_bytes(&shape) + 4095) / 4096 * 4096;
		world->memory[node] = aligned_alloc(4096, bytes);
		assert_non_null(world->memory[node]);
		memset(world->memory[node], 0, bytes);
	}
}

static void
scan_on(const int *ppn)
{
	static struct world world;
	static struct rank ranks[MOST_RANKS];
	make_world(&world, ppn);
	for (int rank = 0; rank < world.ranks; rank++) {
		ranks[rank] = (struct rank){ .world = &world, .rank = rank,
					     .in = malloc(MOST_COUNT * sizeof(struct element)),
					     .out = malloc(MOST_COUNT * sizeof(struct element)) };
		assert_non_null(ranks[rank].in);
		assert_non_null(ranks[rank].out);
		make_team(&ranks[rank]);
	}
	for (int rank = 0; rank < world.ranks; rank++)
		assert_int_equal(pthread_create(&ranks[rank].thread, NULL, make_calls,
						&ranks[rank]), 0);
	for (int rank = 0; rank < world.ranks; rank++)
		pthread_join(ranks[rank].thread, NULL);
	for (int rank = 0; rank < world.ranks; rank++) {
		if (*ranks[rank].wrong)
			fail_msg("%s", ranks[rank].wrong);
		free(ranks[rank].in);
		free(ranks[rank].out);
		cs_op_memory_free(&ranks[rank].idle);
	}
	for (int lane = 0; lane < LANES; lane++)
		pthread_barrier_destroy(&world.lanes[lane].barrier);
	for (int node = 0; node < world.nodes; node++)
		free(world.memory[node]);
}

TEST(each_way_is_right_on_one_node)
{
	for (int ranks = 2; ranks <= MOST_RANKS; ranks += ranks < 9 ? 1 : 4)
		scan_on((const int[]){ ranks, 0 });
}

TEST(each_way_is_right_on_several)
{
	static const int shapes[][6] = { { 2, 2 }, { 1, 2 }, { 3, 2, 1 }, { 1, 4, 1 }, { 4, 4, 4 },
					 { 2, 5, 3, 2 } };
	for (size_t i = 0; i < COUNT(shapes); i++)
		scan_on(shapes[i]);
}

RUN_TESTS(NULL, NULL)
