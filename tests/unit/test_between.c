/* Hierarchical algorithms with a plan between nodes, as one rank of a node runs them: what it
 * sends, and which plans stay. The other ranks of its node are memory in which all that they will
 * ever say stands already, and nodes a wire to nowhere. */
#include "unit.h"

#include "algorithms/algorithm.h"
#include "algorithms/op.h"
#include "coll/call.h"
#include "wire/wire.h"

#include <setjmp.h>

#define MOST_RANKS 64
#define BLOCK 64 /* bytes; also what each word says that comes by the wire */

/* --- nowhere ---------------------------------------------------------------------------------- */

static size_t sent_bytes;

static void
send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from,
     size_t bytes)
{
	sent_bytes += bytes;
}

static void
receive(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	size_t bytes)
{
	const uint64_t word = BLOCK;
	for (size_t at = 0; at + sizeof word <= bytes; at += sizeof word)
		memcpy((char *)to + at, &word, sizeof word);
}

static void
finish(struct cs_wire *wire, struct cs_request *request)
{
	request->told = 0;
}

static struct cs_wire *
wire_of(void *group)
{
	static struct cs_wire wire = { .send = send, .recv = receive, .wait = finish };
	return &wire;
}

static jmp_buf *expects_end;

static void __attribute__((noreturn))
end(const char *why)
{
	if (expects_end)
		longjmp(*expects_end, 1);
	fail_msg("the job ended: %s", why);
	abort();
}

/* Of rounds: at other nodes there is one. */
static unsigned
largest_of_all(void *leaders, uint64_t *values, size_t count, struct cs_request *request)
{
	for (size_t i = 0; i < count; i++)
		values[i] = values[i] ? values[i] : 1;
	return 0;
}

/* The root's node says that there is one. */
static unsigned
tell_rounds(void *leaders, void *buffer, size_t bytes, int root, struct cs_request *request)
{
	assert_int_equal(bytes, sizeof(uint64_t));
	return largest_of_all(leaders, buffer, 1, request);
}

static const struct cs_host host = { .wire = wire_of, .abort = end, .max = largest_of_all,
				     .bcast = tell_rounds };

/* --- a node of its own ------------------------------------------------------------------------ */

struct fixture {
	struct cs_team team;
	void *memory;
	struct cs_op_memory *idle;
	int node_of[MOST_RANKS], local_of[MOST_RANKS], order[MOST_RANKS], position[MOST_RANKS],
	    first[MOST_RANKS + 1];
};

static void
fill_shape(struct fixture *fixture, int nodes, int ppn, int node, int local)
{
	assert_true(nodes * ppn <= MOST_RANKS);
	fixture->team.shape = (struct cs_shape){
		.rank = node * ppn + local, .ranks = nodes * ppn, .nodes = nodes, .node = node,
			.local = local, .locals = ppn,
		.ppn_min = ppn, .ppn_max = ppn, .is_block_placed = true,
		.node_of = fixture->node_of, .local_of = fixture->local_of, .first = fixture->first,
		.order = fixture->order, .position = fixture->position,
	};
	for (int rank = 0; rank < nodes * ppn; rank++) {
		fixture->node_of[rank] = rank / ppn;
		fixture->local_of[rank] = rank % ppn;
		fixture->order[rank] = fixture->position[rank] = rank;
	}
	for (int n = 0; n <= nodes; n++)
		fixture->first[n] = n * ppn;
}

static void
fill_node(struct fixture *fixture)
{
	const struct cs_shape *shape = &fixture->team.shape;
	const struct cs_node_shape own = { .local = shape->local, .size = shape->locals, .slots = 2,
					   .slot_bytes = 64 << 10, .area_slots = 2,
					   .area_bytes = 1 << 20, .streams = CS_SWITCH_OFF };
	size_t bytes = cs_node_bytes(&own);
	struct cs_segment segment = { .bytes = bytes, .fd = -1 };
	segment.base = fixture->memory = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
	assert_non_null(fixture->memory);
	memset(fixture->memory, 0, bytes);
	cs_node_init(&fixture->team.node, &own, &segment, &host);
	for (int local = 0; local < shape->locals; local++) {
		struct cs_rank_head *head = cs_node_rank(&fixture->team.node, local);
		for (int line = 0; local != shape->local && line < CS_LINES; line++) {
			head->lines[line].seq = INT64_MAX;
			head->lines[line].said = BLOCK;
		}
		if (local != shape->local)
			head->done = head->area_done[0] = head->area_done[1] = INT64_MAX;
	}
}

/* Lane `lane`'s rank of a node. */
static void
make(struct fixture *fixture, int nodes, int ppn, int node, int lanes, int lane)
{
	*fixture = (struct fixture){ .team = { .host = &host, .lanes = lanes, .most_lanes = lanes,
					       .lane = lane, .domains = 1 } };
	for (int i = 0; i < lanes; i++)
		fixture->team.lane_local[i] = cs_lanes_local(i, node, lanes);
	fill_shape(fixture, nodes, ppn, node, fixture->team.lane_local[lane]);
	fill_node(fixture);
	fixture->team.leaders = fixture;
	fixture->team.idle = &fixture->idle;
	sent_bytes = 0;
}

static void
clear(struct fixture *fixture)
{
	cs_plans_fini(&fixture->team.lane_plans);
	cs_op_memory_free(&fixture->idle);
	free(fixture->memory);
}

/* As run/run.h does it, with the fallbacks of all parameters but `lanes`. */
static void
run(struct fixture *fixture, struct cs_call *call, const char *name, size_t lanes)
{
	const struct cs_algorithm *algorithm = cs_algorithm_by_name(call->coll, name);
	size_t params[CS_MAX_PARAMS] = { 0 };
	int inner = 0;
	assert_non_null(algorithm);
	while (algorithm->inner->params[inner].name)
		inner++;
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		params[i] = strcmp(algorithm->params[i].name, "lanes") != 0
			    ? algorithm->params[i].fallback : lanes;
	struct cs_op op = { .team = &fixture->team, .call = *call, .between = algorithm->inner,
			    .between_params = params };
	cs_node_op_init(&op.node, &fixture->team.node, 0);
	algorithm->run(&op, params + inner);
	if (op.node.extras & CS_OP_GOES_ON)
		cs_op_finish(&op);
	cs_op_fini(&op);
}

/* --- what is sent ----------------------------------------------------------------------------- */

/* By all lanes of a node in one call of alltoall. */
static size_t
sent_by(int nodes, int ppn, int lanes, size_t bytes)
{
	static char send[1 << 20], recv[1 << 20];
	size_t sum = 0;
	assert_true((size_t)(nodes * ppn) * bytes <= sizeof send);
	for (int lane = 0; lane < lanes; lane++) {
		struct fixture fixture;
		struct cs_call call;
		make(&fixture, nodes, ppn, nodes - 1, lanes, lane);
		cs_call_init(&call, CS_ALLTOALL, -1, bytes);
		call.send = (struct cs_blocks){ .base = send, .each = bytes };
		call.recv = (struct cs_blocks){ .base = recv, .each = bytes };
		run(&fixture, &call, "hier:bruck", (size_t)lanes);
		sum += sent_bytes;
		clear(&fixture);
	}
	return sum;
}

/* Lanes that each carry a part of one message make it no longer. */
TEST(lanes_send_as_much_as_one)
{
	assert_int_equal(sent_by(2, 8, 1, 4096), 8 * 8 * 4096);
	for (int lanes = 2; lanes <= 4; lanes++) /* parts begin at multiples of 64 bytes */
		assert_in_range(sent_by(2, 8, lanes, 4096), 8 * 8 * 4096,
				8 * 8 * 4096 + lanes * (CS_CACHE_LINE - 1));
	assert_int_equal(sent_by(2, 8, 4, 8), 8 * 8 * 8); /* not worth cutting */
}

/* Bruck passes blocks on whoever they are for, so those that another lane carries take their place,
 * too: two blocks of three other nodes' go in each of two rounds. Where lanes outnumber the other
 * nodes all are parts. */
TEST(blocks_of_other_lanes_are_padded)
{
	const size_t message = 4 * 4 * 4096;
	assert_int_equal(sent_by(4, 4, 1, 4096), 4 * message);
	assert_int_equal(sent_by(4, 4, 3, 4096), 3 * 4 * message);
	assert_int_equal(sent_by(3, 4, 1, 4096), 2 * message);
	assert_int_equal(sent_by(3, 4, 4, 4096), 4 * 2 * message / 2);
}

/* --- which plans stay ------------------------------------------------------------------------- */

#define CALLS 20

/* Allgathers leave as many plans as they have counts; what they leave in the leader's arrays makes
 * no others. */
TEST(arrays_of_other_calls_make_no_plans)
{
	static const struct {
		enum cs_coll coll;
		int plans;
	} cases[] = { { CS_GATHER, 1 },
		      { CS_GATHERV, 1 },
		      { CS_SCATTER, 1 },
		      { CS_SCATTERV, 2 } /* the sizes, too */ };
	static char block[CALLS * BLOCK], blocks[6 * CALLS * BLOCK];
	for (size_t i = 0; i < COUNT(cases); i++) {
		bool is_scatter = cases[i].coll == CS_SCATTER || cases[i].coll == CS_SCATTERV;
		struct fixture fixture;
		make(&fixture, 3, 2, 1, 1, 0);
		for (size_t n = 1; n <= CALLS; n++) {
			struct cs_call call;
			cs_call_init(&call, CS_ALLGATHER, -1, n * BLOCK);
			call.send.base = block;
			call.recv = (struct cs_blocks){ .base = blocks, .each = n * BLOCK };
			run(&fixture, &call, "hier:ring", 1);
			cs_call_init(&call, cases[i].coll, 0, BLOCK);
			(is_scatter ? &call.recv : &call.send)->base = block;
			run(&fixture, &call, "hier:linear", 1);
			if (fixture.team.lane_plans.count != (int)n + cases[i].plans)
				fail_msg("%s: %d plans after %zu calls",
					 cs_colls[cases[i].coll].name,
					 fixture.team.lane_plans.count, n);
		}
		clear(&fixture);
	}
}

static bool
ends_with(struct cs_node_op *node, uint64_t rounds, uint64_t each)
{
	static jmp_buf here;
	expects_end = &here;
	bool has_ended = setjmp(here) != 0;
	if (!has_ended)
		cs_node_expect(node, rounds, each);
	expects_end = NULL;
	return has_ended;
}

/* A step is never taken for one of another call: so many of them end the job first. */
TEST(steps_stay_within_their_call)
{
	struct fixture fixture;
	make(&fixture, 2, 2, 0, 1, 0);
	struct cs_node_op on_node = { .node = &fixture.team.node }, *node = &on_node;
	for (node->number = 1; node->number <= 2; node->number++) {
		uint64_t last = cs_node_tag(node, CS_MOST_STEPS);
		assert_true(last > cs_node_tag(node, CS_MOST_STEPS - 1));
		node->number++;
		assert_true(last < cs_node_tag(node, 0));
		node->number--;
	}
	assert_false(ends_with(node, CS_MOST_STEPS, 1));
	assert_true(ends_with(node, CS_MOST_STEPS + 1, 1));
	assert_false(ends_with(node, CS_MOST_STEPS / 3, 3));
	assert_true(ends_with(node, CS_MOST_STEPS / 3 + 1, 3));
	clear(&fixture);
}

RUN_TESTS(NULL, NULL)
