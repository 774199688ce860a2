/* Virtual ranks step operations in random order, several of them under way at a time: the result of each is what the
 * collective's definition says, whoever comes first; and wrong interleavings are seen. */
#include "unit.h"
#include "world.h"

#include "algorithms/algorithm.h"
#include "coll/call.h"
#include "plan/build.h"
#include "run/flat.h"
#include "shm/put.h"
#include "sim/actor.h"
#include "sim/hier.h"

#include <stdlib.h>

#define MOST_CALLS 80 /* of a row */
#define MOST_UNDER_WAY 4
#define MOST_STEPS 4000000 /* a hang; the longest case takes some hundred thousand */
#define MOST_WRONG_STEPS 400000
#define GUARD 64 /* bytes behind each buffer */

/* What is done wrong on purpose. */
enum fault { NONE, DONE_TOO_EARLY, AREA_DONE_TOO_EARLY, WINDOW_OUT_OF_ORDER, TAG_REUSED, REFUSED_BY_ONE };

struct setting {
	uint64_t seed;
	int sizes[WORLD_MOST + 1];
	bool cyclic, has_cma, may_be_left, refuses;
	int lanes, calls, under_way;
	struct cs_node_shape shape;
	enum fault fault;
	long most_steps; /* 0: MOST_STEPS */
	/* Of all calls, from rank 0, with no parameter given; NULL, 0: as chance wants. */
	const struct cs_algorithm *algorithm;
	size_t each;
};

/* One call, the same on all ranks. */
struct plan {
	const struct cs_algorithm *algorithm;
	enum cs_coll coll;
	int root;
	bool in_place, is_commutative;
	size_t params[CS_MAX_PARAMS + 1]; /* the last one is for build_or_refuse */
	int inner;
	size_t each; /* bytes of a block, or of the vector */
	size_t sizes[WORLD_MOST][WORLD_MOST]; /* from, to: of v-calls */
};

/* One rank's part in it. */
struct part {
	struct cs_op op;
	char *send, *recv;
	size_t send_bytes, recv_bytes;
	size_t arrays[4][WORLD_MOST];
	bool is_begun, is_over;
	uint64_t digest; /* of both buffers when it began */
};

struct run {
	struct setting setting;
	struct world world;
	struct plan *plans;
	struct part (*parts)[MOST_CALLS]; /* by rank */
	int begun[WORLD_MOST];
	bool is_commutative; /* of the call that is made */
	char failure[2048];
};

static uint64_t
chance(struct run *run, uint32_t bound)
{
	return random_below(&run->world.random, bound);
}

/* --- what is sent, and what has to come ------------------------------------------------------------------------------- */

static char
byte_at(int call, int from, int to, size_t at)
{
	return (char)((uint64_t)(call * 131 + from * 31 + to * 7 + 1) * 0x9e3779b97f4a7c15u >> (8 + at % 5 * 7)) ^ (char)(at * 3);
}

static bool
is_v(enum cs_coll coll)
{
	return coll == CS_ALLGATHERV || coll == CS_GATHERV || coll == CS_SCATTERV || coll == CS_ALLTOALLV || coll == CS_ALLTOALLW;
}

static bool
is_alltoall(enum cs_coll coll)
{
	return coll == CS_ALLTOALL || coll == CS_ALLTOALLV || coll == CS_ALLTOALLW;
}

/* Bytes of the block from one rank to another: of allgathers and gathers it is the same for all, of scatters the root's. */
static size_t
block_bytes(const struct plan *plan, int from, int to)
{
	if (!is_v(plan->coll))
		return plan->each;
	if (plan->coll == CS_ALLGATHERV || plan->coll == CS_GATHERV)
		return plan->sizes[from][0];
	return plan->coll == CS_SCATTERV ? plan->sizes[0][to] : plan->sizes[from][to];
}

static int
block_to(const struct plan *plan, int to)
{
	return is_alltoall(plan->coll) || plan->coll == CS_SCATTER || plan->coll == CS_SCATTERV ? to : 0;
}

static void
fill_block(const struct plan *plan, int call, char *to, int from, int receiver)
{
	for (size_t at = 0; at < block_bytes(plan, from, receiver); at++)
		to[at] = byte_at(call, from, block_to(plan, receiver), at);
}

static bool
is_block(const struct plan *plan, int call, const char *block, int from, int receiver)
{
	for (size_t at = 0; at < block_bytes(plan, from, receiver); at++)
		if (block[at] != byte_at(call, from, block_to(plan, receiver), at))
			return false;
	return true;
}

static char *
buffer(size_t bytes)
{
	char *memory = malloc(bytes + GUARD);
	assert_non_null(memory);
	memset(memory, 0x5a, bytes + GUARD);
	return memory;
}

static bool
is_guard_whole(const char *memory, size_t bytes)
{
	for (size_t at = bytes; memory && at < bytes + GUARD; at++)
		if (memory[at] != 0x5a)
			return false;
	return true;
}

/* --- what is counted ---------------------------------------------------------------------------------------------------- */

/* Bytes that an operation copies by shm/put, as it does those of some KiB, and that it reduces. */
struct counted {
	uint64_t copied, reduced;
};
static struct counted counted[WORLD_MOST], *counting;

void __real_cs_put_large(struct cs_put *put, void *to, const void *from, size_t bytes);
void __wrap_cs_put_large(struct cs_put *put, void *to, const void *from, size_t bytes);
void
__wrap_cs_put_large(struct cs_put *put, void *to, const void *from, size_t bytes)
{
	if (counting)
		counting->copied += bytes;
	__real_cs_put_large(put, to, from, bytes);
}

/* --- reductions: of elements of two bytes, which are maps x -> a x + b; their composition is not commutative ----------------- */

#define UNIT 2

static void
count_reduced(size_t count)
{
	if (counting && !world_is_moving)
		counting->reduced += count * UNIT;
}

static void
compose(void *out, const void *left, const void *right, size_t count)
{
	count_reduced(count);
	const unsigned char *f = left, *g = right;
	unsigned char *to = out;
	for (size_t i = 0; i < UNIT * count; i += UNIT) {
		unsigned char a = (unsigned char)(f[i] * g[i]), b = (unsigned char)(f[i] * g[i + 1] + f[i + 1]);
		to[i] = a;
		to[i + 1] = b;
	}
}

static void
add_up(void *out, const void *left, const void *right, size_t count)
{
	count_reduced(count);
	const unsigned char *f = left, *g = right;
	unsigned char *to = out;
	for (size_t i = 0; i < UNIT * count; i++)
		to[i] = (unsigned char)(f[i] + g[i]);
}

static void
fill_vector(int call, char *to, int rank, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++)
		to[at] = (char)(byte_at(call, rank, 0, at) | (at % UNIT == 0)); /* odd: no information is lost */
}

static size_t
count_of(const struct plan *plan, int rank)
{
	return plan->coll == CS_REDUCE_SCATTER ? plan->sizes[0][rank] / UNIT : plan->each / UNIT;
}

/* Elements of the whole vector. */
static size_t
total_of(const struct run *run, const struct plan *plan)
{
	size_t total = 0;
	if (!cs_coll_is_scattered(&cs_colls[plan->coll]))
		return plan->each / UNIT;
	for (int rank = 0; rank < run->world.ranks; rank++)
		total += count_of(plan, rank);
	return total;
}

static void
make_reduction(struct run *run, const struct plan *plan, int call, int rank, struct part *part)
{
	struct cs_call *made = &part->op.call;
	const struct cs_coll_info *info = &cs_colls[plan->coll];
	size_t total = total_of(run, plan), bytes = total * UNIT;
	bool receives = !info->rooted || rank == plan->root, is_scattered = cs_coll_is_scattered(info);
	made->count = total;
	made->bytes = bytes;
	made->is_commutative = plan->is_commutative;
	made->reduction = (struct cs_reduction){ .unit = UNIT, .kernel = plan->is_commutative ? add_up : compose };
	for (int other = 0; other < run->world.ranks; other++)
		part->arrays[0][other] = count_of(plan, other);
	if (plan->coll == CS_REDUCE_SCATTER)
		made->counts = part->arrays[0];
	bool is_in_place = plan->in_place && receives;
	part->recv_bytes = is_in_place || !is_scattered ? bytes : count_of(plan, rank) * UNIT;
	if (receives) {
		part->recv = buffer(part->recv_bytes);
		made->recv.base = part->recv;
	}
	if (!is_in_place) {
		part->send_bytes = bytes;
		part->send = buffer(bytes);
	}
	made->send.base = is_in_place ? part->recv : part->send;
	fill_vector(call, made->send.base, rank, bytes);
}

static bool
is_reduced(const struct run *run, const struct plan *plan, int call, int rank, const struct part *part)
{
	const struct cs_coll_info *info = &cs_colls[plan->coll];
	size_t bytes = total_of(run, plan) * UNIT, from = 0, count = bytes / UNIT;
	int last = run->world.ranks - 1;
	char *sum = malloc(bytes + 1), *other = malloc(bytes + 1);
	assert_non_null(sum);
	assert_non_null(other);
	if (cs_coll_is_scan(info))
		last = plan->coll == CS_SCAN ? rank : rank - 1;
	if (cs_coll_is_scattered(info)) {
		count = count_of(plan, rank);
		for (int before = 0; before < rank; before++)
			from += count_of(plan, before) * UNIT;
	}
	if (last >= 0)
		fill_vector(call, sum, last, bytes);
	for (int i = last - 1; i >= 0; i--) {
		fill_vector(call, other, i, bytes);
		part->op.call.reduction.kernel(sum, other, sum, bytes / UNIT);
	}
	bool is_same = last < 0 || !memcmp(part->recv, sum + from, count * UNIT);
	free(sum);
	free(other);
	return is_same;
}

/* --- one rank's call -------------------------------------------------------------------------------------------------- */

static struct cs_blocks
blocks_of(const struct run *run, const struct plan *plan, char *base, size_t *bytes, size_t *at, int rank, bool is_sent)
{
	size_t sum = 0;
	for (int other = 0; other < run->world.ranks; other++) {
		bytes[other] = is_sent ? block_bytes(plan, rank, other) : block_bytes(plan, other, rank);
		at[other] = sum;
		sum += bytes[other];
	}
	if (is_v(plan->coll))
		return (struct cs_blocks){ .base = base, .bytes = bytes, .at = at };
	return (struct cs_blocks){ .base = base, .each = plan->each };
}

static size_t
sum_of(const struct run *run, const struct plan *plan, int rank, bool is_sent)
{
	size_t sum = 0;
	for (int other = 0; other < run->world.ranks; other++)
		sum += is_sent ? block_bytes(plan, rank, other) : block_bytes(plan, other, rank);
	return sum;
}

static void
make_gathered(struct run *run, const struct plan *plan, int call, int rank, struct part *part, bool receives)
{
	struct cs_call *made = &part->op.call;
	made->bytes = block_bytes(plan, rank, 0);
	part->send_bytes = made->bytes;
	bool is_in_place = plan->in_place && receives;
	if (receives) {
		part->recv_bytes = sum_of(run, plan, rank, false);
		part->recv = buffer(part->recv_bytes);
		made->recv = blocks_of(run, plan, part->recv, part->arrays[0], part->arrays[1], rank, false);
	}
	if (is_in_place) {
		fill_block(plan, call, cs_blocks_at(&made->recv, rank), rank, 0);
		return;
	}
	part->send = buffer(part->send_bytes);
	fill_block(plan, call, part->send, rank, 0);
	made->send.base = part->send;
}

static void
make_scattered(struct run *run, const struct plan *plan, int call, int rank, struct part *part)
{
	struct cs_call *made = &part->op.call;
	bool is_root = rank == plan->root;
	made->bytes = block_bytes(plan, plan->root, rank);
	if (is_root) {
		part->send_bytes = sum_of(run, plan, rank, true);
		part->send = buffer(part->send_bytes);
		made->send = blocks_of(run, plan, part->send, part->arrays[0], part->arrays[1], rank, true);
		for (int to = 0; to < run->world.ranks; to++)
			fill_block(plan, call, cs_blocks_at(&made->send, to), rank, to);
	}
	if (is_root && plan->in_place)
		return;
	part->recv_bytes = made->bytes;
	part->recv = buffer(part->recv_bytes);
	made->recv.base = part->recv;
}

static void
make_transposed(struct run *run, const struct plan *plan, int call, int rank, struct part *part)
{
	struct cs_call *made = &part->op.call;
	bool is_in_place = plan->in_place;
	made->bytes = plan->each;
	part->recv_bytes = sum_of(run, plan, rank, false);
	part->recv = buffer(part->recv_bytes);
	made->recv = blocks_of(run, plan, part->recv, part->arrays[0], part->arrays[1], rank, false);
	if (is_in_place) {
		made->send = made->recv;
	} else {
		part->send_bytes = sum_of(run, plan, rank, true);
		part->send = buffer(part->send_bytes);
		made->send = blocks_of(run, plan, part->send, part->arrays[2], part->arrays[3], rank, true);
	}
	for (int to = 0; to < run->world.ranks; to++)
		fill_block(plan, call, cs_blocks_at(&made->send, to), rank, to);
}

static void
make_call(struct run *run, int call, int rank)
{
	const struct plan *plan = &run->plans[call];
	struct part *part = &run->parts[rank][call];
	const struct cs_coll_info *info = &cs_colls[plan->coll];
	bool is_root = rank == plan->root;
	cs_call_init(&part->op.call, plan->coll, info->rooted ? plan->root : -1, plan->each);
	if (plan->coll == CS_BARRIER) {
		part->op.call.bytes = 0;
	} else if (info->reduces) {
		make_reduction(run, plan, call, rank, part);
	} else if (plan->coll == CS_BCAST) {
		part->recv_bytes = plan->each;
		part->recv = buffer(plan->each);
		part->op.call.recv.base = part->recv;
		if (is_root)
			fill_block(plan, call, part->recv, rank, 0);
	} else if (plan->coll == CS_SCATTER || plan->coll == CS_SCATTERV) {
		make_scattered(run, plan, call, rank, part);
	} else if (is_alltoall(plan->coll)) {
		make_transposed(run, plan, call, rank, part);
	} else {
		make_gathered(run, plan, call, rank, part, !info->rooted || is_root);
	}
}

static uint64_t
digest_of(const struct part *part)
{
	uint64_t digest = 1;
	for (size_t i = 0; part->send && i < part->send_bytes + GUARD; i++)
		digest = digest * 31 + (unsigned char)part->send[i];
	for (size_t i = 0; part->recv && i < part->recv_bytes + GUARD; i++)
		digest = digest * 37 + (unsigned char)part->recv[i];
	return digest;
}

static bool
is_left_by_all(const struct run *run, int call)
{
	for (int rank = 0; rank < run->world.ranks; rank++)
		if (!(run->parts[rank][call].op.node.extras & CS_OP_LEFT) ||
		    run->parts[rank][call].digest != digest_of(&run->parts[rank][call]))
			return false;
	return true;
}

static bool
is_right(const struct run *run, int call, int rank)
{
	const struct plan *plan = &run->plans[call];
	const struct part *part = &run->parts[rank][call];
	const struct cs_call *made = &part->op.call;
	if (!is_guard_whole(part->send, part->send_bytes) || !is_guard_whole(part->recv, part->recv_bytes))
		return false;
	if (made->truncated || part->op.node.wrong || part->op.node.extras & (CS_OP_MORE | CS_OP_LESS))
		return false;
	if (part->op.node.extras & CS_OP_LEFT)
		return is_left_by_all(run, call);
	if (!part->recv)
		return true;
	if (cs_colls[plan->coll].reduces)
		return is_reduced(run, plan, call, rank, part);
	if (plan->coll == CS_BCAST || plan->coll == CS_SCATTER || plan->coll == CS_SCATTERV)
		return is_block(plan, call, part->recv, plan->root, rank);
	for (int from = 0; from < run->world.ranks; from++)
		if (!is_block(plan, call, cs_blocks_at(&made->recv, from), from, rank))
			return false;
	return true;
}

/* --- running ---------------------------------------------------------------------------------------------------------- */

static void
begin(struct run *run, int rank)
{
	int call = run->begun[rank]++;
	const struct plan *plan = &run->plans[call];
	struct part *part = &run->parts[rank][call];
	struct cs_team *team = &run->world.teams[rank];
	make_call(run, call, rank);
	bool reduces = cs_colls[plan->coll].reduces;
	cs_op_init(&part->op, team, cs_call_sign(plan->coll, (unsigned)part->op.call.root) | (reduces ? part->op.call.bytes : 0));
	bool sends = !plan->algorithm->run || plan->algorithm->needs.verbs;
	if (run->setting.may_be_left || sends) /* messages would be waited for */
		part->op.node.extras |= CS_OP_NONBLOCKING;
	part->op.between = plan->algorithm->inner;
	part->op.between_params = plan->params;
	part->is_begun = true;
	part->digest = digest_of(part);
	if (run->setting.fault == TAG_REUSED)
		part->op.tag = 0;
	if (run->setting.fault == WINDOW_OUT_OF_ORDER && rank == 1 && call % 2) {
		team->node.areas[CS_AREA_SMALL_SLOTS].slots.next++;
		team->node.areas[CS_AREA_LARGE_SLOTS].slots.next++;
	}
	counting = &counted[rank];
	if (plan->algorithm->run)
		plan->algorithm->run(&part->op, plan->params + plan->inner);
	else
		cs_flat_start(&part->op, plan->algorithm, plan->params);
	counting = NULL;
	part->is_over = !(part->op.node.extras & CS_OP_GOES_ON);
}

static void
do_wrong(struct run *run, int rank, const struct part *part)
{
	struct cs_rank_head *self = run->world.teams[rank].node.self;
	uint64_t number = part->op.node.number;
	if (run->setting.fault == DONE_TOO_EARLY && rank == 1)
		atomic_store(&self->done, (number + 1) << CS_STEP_BITS);
	for (int kind = 0; run->setting.fault == AREA_DONE_TOO_EARLY && kind < 2; kind++)
		atomic_store(&self->area_done[kind], (number + 1) << CS_STEP_BITS);
}

/* Steps one of the rank's operations; begins one, if it may. */
static void
turn(struct run *run, int rank)
{
	int begun = run->begun[rank], under_way = 0, which[MOST_CALLS];
	for (int call = 0; call < begun; call++)
		if (!run->parts[rank][call].is_over)
			which[under_way++] = call;
	bool may_begin = begun < run->setting.calls && under_way < run->setting.under_way;
	if (may_begin && (!under_way || chance(run, 3) == 0)) {
		begin(run, rank);
		return;
	}
	if (!under_way)
		return;
	struct part *part = &run->parts[rank][which[chance(run, (uint32_t)under_way)]];
	counting = &counted[rank];
	part->is_over = cs_op_step(&part->op) == CS_OK;
	counting = NULL;
	do_wrong(run, rank, part);
	if (part->is_over) {
		cs_node_op_fini(&part->op.node);
		cs_op_fini(&part->op);
	}
}

static bool
is_all_over(const struct run *run)
{
	for (int rank = 0; rank < run->world.ranks; rank++) {
		if (run->begun[rank] < run->setting.calls)
			return false;
		for (int call = 0; call < run->setting.calls; call++)
			if (!run->parts[rank][call].is_over)
				return false;
	}
	return true;
}

static void
say_where(struct run *run)
{
	size_t end = 0;
	for (int rank = 0; rank < run->world.ranks && end + 40 < sizeof run->failure; rank++)
		for (int call = 0; call < run->begun[rank] && end + 40 < sizeof run->failure; call++) {
			const struct part *part = &run->parts[rank][call];
			if (!part->is_over)
				end += (size_t)snprintf(run->failure + end, sizeof run->failure - end,
							"; rank %d call %d waits for %d: %llu.%llu", rank, call,
							part->op.node.awaited.local,
							(unsigned long long)part->op.node.awaited.tag >> CS_STEP_BITS,
							(unsigned long long)part->op.node.awaited.tag % (1 << CS_STEP_BITS));
		}
}

static void
check_results(struct run *run)
{
	for (int rank = 0; rank < run->world.ranks && !*run->failure; rank++)
		for (int call = 0; call < run->setting.calls && !*run->failure; call++)
			if (!is_right(run, call, rank))
				snprintf(run->failure, sizeof run->failure, "; rank %d has a wrong result of call %d", rank, call);
	if (!*run->failure && world_left(&run->world))
		snprintf(run->failure, sizeof run->failure, "; %d messages are left", world_left(&run->world));
}

static void
make_plan(struct run *run, struct plan *plan, const struct cs_algorithm *algorithm)
{
	static const size_t sizes[] = { 1, 2, 8, 31, 47, 48, 49, 64, 100, 500, 511, 512, 1000, 2040, 2048, 2049, 4095, 4096, 5000,
					8192, 8193, 20000, 70000 };
	const struct world *world = &run->world;
	*plan = (struct plan){ .algorithm = algorithm, .coll = algorithm->coll };
	plan->root = (int)chance(run, (uint32_t)world->ranks);
	plan->is_commutative = run->is_commutative;
	plan->in_place = chance(run, 3) == 0 && plan->coll != CS_ALLTOALLV && plan->coll != CS_ALLTOALLW;
	uint32_t kinds = COUNT(sizes) - (world->ranks > 6 ? 2 : 0);
	plan->each = sizes[chance(run, kinds)];
	for (int from = 0; from < world->ranks; from++)
		for (int to = 0; to < world->ranks; to++)
			plan->sizes[from][to] = chance(run, 4) ? sizes[chance(run, kinds - 2)] : 0;
	plan->sizes[0][0] += plan->sizes[0][0] ? 0 : UNIT; /* something is moved */
	if (cs_colls[plan->coll].reduces)
		plan->each += plan->each % UNIT;
	while (algorithm->inner && algorithm->inner->params[plan->inner].name)
		plan->inner++;
	if (run->setting.each) {
		plan->root = 0;
		plan->in_place = false;
		plan->each = run->setting.each;
		for (int from = 0; from < world->ranks; from++)
			for (int to = 0; to < world->ranks; to++)
				plan->sizes[from][to] = plan->each;
	}
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
		const struct cs_param *param = &algorithm->params[i];
		plan->params[i] = param->fallback;
		if (run->setting.each)
			continue;
		if (!strcmp(param->name, "chunk") || !strcmp(param->name, "wire_chunk"))
			plan->params[i] = (size_t)4096 << chance(run, 4);
		if (!strcmp(param->name, "aggregate"))
			plan->params[i] = chance(run, 3) ? (size_t)300 << chance(run, 6) : 0;
		if (!strcmp(param->name, "patience"))
			plan->params[i] = chance(run, 100);
		if (!strcmp(param->name, "lanes"))
			plan->params[i] = chance(run, 4);
		if (!strcmp(param->name, "cma_min"))
			plan->params[i] = run->setting.has_cma ? 64 : 0;
	}
}

/* --- which algorithms ------------------------------------------------------------------------------------------------- */

static const struct cs_algorithm *
any_algorithm(struct run *run)
{
	const struct world *world = &run->world;
	const struct cs_algorithm *found[CS_MOST_ROWS];
	int count = 0;
	struct cs_facts facts = { .ranks = world->ranks, .nodes = world->nodes, .is_block_placed = world->is_block_placed,
				  .wire = CS_WIRE_IB };
	bool is_commutative = chance(run, 2);
	for (int node = 0; node < world->nodes; node++) {
		int size = world->first[node + 1] - world->first[node];
		facts.ppn_max = size > facts.ppn_max ? size : facts.ppn_max;
	}
	for (int i = 0; cs_algorithm_at(i); i++) {
		const struct cs_algorithm *algorithm = cs_algorithm_at(i);
		facts.coll = algorithm->coll;
		facts.is_commutative = !cs_colls[algorithm->coll].reduces || is_commutative;
		if ((world->nodes > 1 || !algorithm->inner) && !cs_algorithm_unmet(algorithm, &facts))
			found[count++] = algorithm;
	}
	const struct cs_algorithm *algorithm = count ? found[chance(run, (uint32_t)count)] : NULL;
	run->is_commutative = is_commutative || (algorithm && algorithm->needs.commutative);
	return algorithm;
}

/* --- plans that are refused ------------------------------------------------------------------------------------------- */

static int built, refused;
static bool is_refused_by_one;

/* As the algorithm of which params[CS_MAX_PARAMS] / 2 is the number, but half of the shapes are refused: by what all ranks know
 * alike. */
static void
build_or_refuse(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	size_t planted = problem->params[CS_MAX_PARAMS], shape = problem->sizes ? 0 : problem->bytes / problem->unit;
	if ((shape + (size_t)problem->root + planted) % 2 && (!is_refused_by_one || problem->rank == 1)) {
		refused++;
		cs_build_refuse(builder, "planted");
	} else {
		built++;
		cs_algorithm_at((int)(planted / 2))->build(builder);
	}
}

static int
number_of(const struct cs_algorithm *algorithm)
{
	int number = 0;
	while (cs_algorithm_at(number) != algorithm)
		number++;
	return number;
}

static const struct cs_algorithm *
planted_of(const struct cs_algorithm *algorithm)
{
	static struct cs_algorithm planted[CS_MOST_ROWS];
	struct cs_algorithm *its = &planted[number_of(algorithm)];
	*its = *algorithm;
	if (its->build)
		its->build = build_or_refuse;
	if (its->inner)
		its->inner = planted_of(its->inner);
	return its;
}

static void
plant(struct run *run, struct plan *plan)
{
	const struct cs_algorithm *plans = plan->algorithm->inner ? plan->algorithm->inner : plan->algorithm;
	plan->params[CS_MAX_PARAMS] = 2 * (size_t)number_of(plans) + chance(run, 2);
	plan->algorithm = planted_of(plan->algorithm);
}

static void
clear(struct run *run)
{
	for (int rank = 0; rank < run->world.ranks; rank++)
		for (int call = 0; call < run->begun[rank]; call++) {
			struct part *part = &run->parts[rank][call];
			if (part->is_begun && !part->is_over)
				cs_op_fini(&part->op);
			free(part->send);
			free(part->recv);
		}
	world_clear(&run->world);
	free(run->plans);
	free(run->parts);
}

/* Runs it all; what went wrong is in run->failure. */
static void
run_setting(struct run *run, const struct setting *setting)
{
	memset(run, 0, sizeof *run);
	run->setting = *setting;
	world_make(&run->world, setting->sizes, setting->cyclic, setting->lanes, &setting->shape, setting->seed);
	run->plans = calloc((size_t)setting->calls, sizeof *run->plans);
	run->parts = calloc((size_t)run->world.ranks, sizeof *run->parts);
	assert_non_null(run->plans);
	assert_non_null(run->parts);
	for (int rank = 0; rank < run->world.ranks; rank++)
		run->world.teams[rank].has_cma = setting->has_cma;
	for (int call = 0; call < setting->calls; call++) {
		const struct cs_algorithm *algorithm = setting->algorithm ? setting->algorithm : any_algorithm(run);
		assert_non_null(algorithm);
		make_plan(run, &run->plans[call], algorithm);
		if (setting->refuses)
			plant(run, &run->plans[call]);
	}
	long steps = 0, most = setting->most_steps ? setting->most_steps : MOST_STEPS;
	for (; !is_all_over(run) && steps < most && !*run->world.failure; steps++)
		turn(run, (int)chance(run, (uint32_t)run->world.ranks));
	if (*run->world.failure)
		snprintf(run->failure, sizeof run->failure, "; %s", run->world.failure);
	else if (steps == most)
		say_where(run);
	else
		check_results(run);
}

static void
expect_right(const struct setting *setting)
{
	struct run *run = malloc(sizeof *run);
	assert_non_null(run);
	run_setting(run, setting);
	if (*run->failure) {
		world_say(&run->world);
		char calls[512] = "";
		for (int call = 0; call < setting->calls && call < 6; call++)
			snprintf(calls + strlen(calls), sizeof calls - strlen(calls), " %s %s root %d %zu bytes%s,",
				 cs_colls[run->plans[call].coll].name, run->plans[call].algorithm->name, run->plans[call].root,
				 run->plans[call].each, run->plans[call].in_place ? " in place" : "");
		fail_msg("seed %llu, %d ranks on %d nodes, %d under way, %zu slots of %zu%s%s:%s%s",
			 (unsigned long long)setting->seed, run->world.ranks, run->world.nodes, setting->under_way,
			 setting->shape.slots, setting->shape.slot_bytes, setting->has_cma ? ", single copy" : "",
			 setting->may_be_left ? ", may be left" : "", calls, run->failure);
	}
	clear(run);
	free(run);
}

/* --- tests ------------------------------------------------------------------------------------------------------------ */

static struct setting
setting_of(uint64_t seed, bool several_nodes, int under_way)
{
	uint64_t random = seed;
	struct setting setting = { .seed = seed, .under_way = under_way, .may_be_left = true,
				   .calls = 1 + (int)random_below(&random, 6), .lanes = 1 + (int)random_below(&random, 3) };
	int ranks = 2 + (int)random_below(&random, WORLD_MOST - 1), node = 0;
	if (!several_nodes) {
		setting.sizes[0] = ranks;
		setting.may_be_left = under_way > 1 || random_below(&random, 2);
	}
	for (int left = ranks; several_nodes && left; node++) {
		setting.sizes[node] = 1 + (int)random_below(&random, (uint32_t)(left < 6 ? left : 6));
		left -= setting.sizes[node];
	}
	if (several_nodes && node == 1) { /* all on one: two more are on another */
		setting.sizes[0] = ranks > WORLD_MOST - 2 ? WORLD_MOST - 2 : ranks;
		setting.sizes[1] = 2;
	}
	bool is_several_per_node = false;
	for (int i = 0; setting.sizes[i]; i++)
		is_several_per_node = is_several_per_node || setting.sizes[i] > 1;
	if (!is_several_per_node)
		setting.sizes[0] = 2, setting.sizes[WORLD_MOST - 1] = 0;
	setting.cyclic = random_below(&random, 2);
	setting.has_cma = random_below(&random, 3) == 0;
	setting.shape = (struct cs_node_shape){ .slots = 2 + random_below(&random, 3),
						.slot_bytes = (size_t)4096 << random_below(&random, 3),
						.area_slots = 4 + random_below(&random, 3), .area_bytes = (size_t)32 << 10,
						.spin = 1, .yields = 1, .streams = CS_SWITCH_OFF };
	return setting;
}

static int
cases_wanted(int usual)
{
	const char *more = getenv("TEST_TIMES");
	return usual * (more && atoi(more) > 0 ? atoi(more) : 1);
}

static void
ranks_of_a_node_in_any_order(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(600); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, false, 1);
		expect_right(&setting);
	}
}

/* Lines are used again, and those who need not wait are far ahead. */
static void
rows_of_calls_longer_than_there_are_lines(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(12); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, false, 1);
		setting.calls = MOST_CALLS;
		setting.sizes[0] = 2 + setting.sizes[0] % 4;
		expect_right(&setting);
	}
}

/* Operations under way at a time: of the seed, which is what a failure prints. */
static int
several(uint64_t seed)
{
	return 2 + (int)(seed % (MOST_UNDER_WAY - 1));
}

static void
several_operations_of_a_node_at_once(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(600); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, false, several(seed + (uint64_t)i));
		setting.calls += 2;
		expect_right(&setting);
	}
}

static void
ranks_of_several_nodes_in_any_order(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(400); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, true, 1);
		expect_right(&setting);
	}
}

static void
several_operations_of_several_nodes_at_once(void **state)
{
	uint64_t seed = first_seed();
	for (int i = 0; i < cases_wanted(400); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, true, several(seed + (uint64_t)i));
		setting.calls += 2;
		expect_right(&setting);
	}
}

/* On all ranks, whoever comes first: between nodes the host serves in the place of the plan, also in the midst of an
 * operation; between all ranks the call is left to the host as it came. */
static void
what_is_refused_goes_to_the_host(void **state)
{
	uint64_t seed = first_seed();
	built = refused = 0;
	for (int i = 0; i < cases_wanted(600); i++) {
		struct setting setting = setting_of(seed + (uint64_t)i, i % 3, i % 2 ? 1 : several(seed + (uint64_t)i));
		setting.refuses = true;
		expect_right(&setting);
	}
	assert_true(built > 1000 && refused > 1000);
}

/* What a fault brings may also be a size for which the job ends: of rounds, or of memory that no machine has, which
 * AddressSanitizer is to refuse as malloc does. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static bool
goes_wrong(struct run *run, const struct setting *setting)
{
	jmp_buf after_end;
	if (setjmp(after_end)) {
		world_after_end = NULL;
		return true;
	}
	world_after_end = setting->fault != NONE ? &after_end : NULL;
	run_setting(run, setting);
	world_after_end = NULL;
	return *run->failure != 0;
}

/* How many of the cases of the first seeds go wrong. */
static int
wrong_cases(enum fault fault, bool several_nodes, int under_way, uint64_t cases)
{
	int wrong = 0;
	struct run *run = malloc(sizeof *run);
	assert_non_null(run);
	for (uint64_t seed = 1; seed <= cases; seed++) {
		struct setting setting = setting_of(seed, several_nodes, under_way);
		setting.calls += 3;
		setting.fault = fault;
		setting.refuses = is_refused_by_one = fault == REFUSED_BY_ONE;
		setting.most_steps = MOST_WRONG_STEPS;
		wrong += goes_wrong(run, &setting);
		clear(run);
	}
	is_refused_by_one = false;
	free(run);
	return wrong;
}

/* The same cases are right without the fault, with as many steps. */
static void
wrong_interleavings_are_seen(void **state)
{
	static const struct {
		enum fault fault;
		bool several_nodes;
		int under_way;
		uint64_t cases; /* on one node many calls are plans, which ask for no done word */
	} faults[] = { { DONE_TOO_EARLY, false, 1, 60 },
		       { AREA_DONE_TOO_EARLY, true, 1, 20 },
		       { WINDOW_OUT_OF_ORDER, true, 1, 20 },
		       { TAG_REUSED, true, 3, 20 },
		       { REFUSED_BY_ONE, true, 1, 20 } };
	for (size_t i = 0; i < COUNT(faults); i++) {
		bool several_nodes = faults[i].several_nodes;
		int under_way = faults[i].under_way;
		assert_int_equal(wrong_cases(NONE, several_nodes, under_way, faults[i].cases), 0);
		int wrong = wrong_cases(faults[i].fault, several_nodes, under_way, faults[i].cases);
		if (wrong < 2)
			fail_msg("fault %d is seen in %d of %d cases", (int)faults[i].fault, wrong, (int)faults[i].cases);
	}
}

/* --- the simulator's telling ------------------------------------------------------------------------------------------------ */

static void
no_steps(struct cs_builder *builder)
{
	(void)builder;
}

/* What the simulator has each rank do on its node, without what its own core alone has to do with. */
static void
count_simulated(enum cs_coll coll, int nodes, int ppn, size_t each, struct counted told[WORLD_MOST])
{
	bool is_scattered = cs_coll_is_scattered(&cs_colls[coll]);
	struct cs_sim_call call = { .coll = coll, .nodes = nodes, .ppn = ppn, .is_commutative = true,
				    .bytes = is_scattered ? each * (size_t)(nodes * ppn) : each };
	const struct cs_hier hier = { .inner = coll, .build = no_steps };
	struct cs_sim *sim;
	assert_int_equal(cs_sim_call_init(&call), CS_OK);
	assert_int_equal(cs_sim_create(&sim, call.ranks, call.node_of, 0), CS_OK);
	assert_int_equal(cs_hier_add(sim, &call, &hier), CS_OK);
	for (int rank = 0; rank < call.ranks; rank++) {
		told[rank] = (struct counted){ 0, 0 };
		for (size_t i = 0; i < sim->actors[rank].count; i++) {
			const struct cs_sim_step *step = &sim->actors[rank].steps[i];
			told[rank].copied += step->kind == CS_NODE_COPY ? step->bytes : 0;
			told[rank].reduced += step->kind == CS_NODE_REDUCE ? step->bytes : 0;
		}
		/* A sum's own block, which is put into the own slot by memcpy. */
		told[rank].copied -= is_scattered ? each : 0;
	}
	cs_sim_destroy(sim);
	cs_sim_call_fini(&call);
}

static void
expect_as_simulated(struct run *run, enum cs_coll coll, int nodes, int ppn)
{
	/* Pieces of a chain are not too short to be counted. */
	struct setting setting = { .seed = 1, .may_be_left = true, .lanes = 1, .calls = 1, .under_way = 1, .each = 192 << 10,
				   .algorithm = cs_algorithm_by_name(coll, "hier:host"),
				   .shape = { .slots = 4, .slot_bytes = 2 << 20, .area_slots = 4, .area_bytes = 8 << 20, .spin = 1,
					      .yields = 1, .streams = CS_SWITCH_OFF } };
	struct counted told[WORLD_MOST];
	for (int node = 0; node < nodes; node++)
		setting.sizes[node] = ppn;
	memset(counted, 0, sizeof counted);
	run_setting(run, &setting);
	if (*run->failure)
		fail_msg("%s: %s", cs_colls[coll].name, run->failure);
	count_simulated(coll, nodes, ppn, setting.each, told);
	for (int rank = 0; rank < nodes * ppn; rank++)
		if (counted[rank].copied != told[rank].copied || counted[rank].reduced != told[rank].reduced)
			fail_msg("%s, %d nodes of %d, rank %d: %llu bytes copied, %llu reduced, and not %llu, %llu",
				 cs_colls[coll].name, nodes, ppn, rank, (unsigned long long)counted[rank].copied,
				 (unsigned long long)counted[rank].reduced, (unsigned long long)told[rank].copied,
				 (unsigned long long)told[rank].reduced);
	clear(run);
}

/* Long calls, in which each copy can be counted. */
static void
nodes_do_what_the_simulator_says(void **state)
{
	struct run *run = malloc(sizeof *run);
	assert_non_null(run);
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int ppn = 2; ppn <= 4; ppn += 2) /* which divide all pieces evenly */
			if (coll != CS_BARRIER)
				expect_as_simulated(run, coll, 2, ppn);
	expect_as_simulated(run, CS_ALLGATHER, 3, 3);
	expect_as_simulated(run, CS_SCAN, 3, 2);
	free(run);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_of_a_node_in_any_order),
		cmocka_unit_test(rows_of_calls_longer_than_there_are_lines),
		cmocka_unit_test(several_operations_of_a_node_at_once),
		cmocka_unit_test(ranks_of_several_nodes_in_any_order),
		cmocka_unit_test(several_operations_of_several_nodes_at_once),
		cmocka_unit_test(what_is_refused_goes_to_the_host),
		cmocka_unit_test(wrong_interleavings_are_seen),
		cmocka_unit_test(nodes_do_what_the_simulator_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
