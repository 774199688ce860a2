/* Calls in which the last arriver of a node leads: virtual ranks come in every order (up to six of
 * them), and in random ones. Who is early has left before the others come; sums that depend on
 * where operands meet have the same bits each time; and what would spoil that is seen. */
#include "world.h"

#include "shm/arrive.h"

#include <math.h>

#define MOST 12288 /* elements */
#define LOOKS 60   /* of a rank at what it waits for: messages take some */

/* How leaders of nodes talk. */
enum way { MESSAGES, WINDOW, CONTROL, WAYS };

/* One call of all ranks. */
struct job {
	struct world world;
	const struct cs_algorithm *algorithm;
	size_t count, params[4]; /* segment, radix, control, window; some have not all */
	int root;
	enum way way;
	struct cs_op ops[WORLD_MOST];
	float *sends[WORLD_MOST], *recvs[WORLD_MOST];
	bool has_come[WORLD_MOST], is_over[WORLD_MOST];
};

/* Floating-point numbers that differ much: their sum depends on where they meet. */
static void
add_floats(void *out, const void *left, const void *right, size_t count)
{
	const float *a = left, *b = right;
	float *to = out;
	for (size_t i = 0; i < count; i++)
		to[i] = a[i] + b[i];
}

static void
make_job(struct job *job, const int *sizes, enum cs_coll coll, size_t count, int root, enum way way)
{
	const struct cs_node_shape shape = { .slots = 2, .slot_bytes = 8192, .area_slots = 4,
					     .area_bytes = 32 << 10, .spin = 1,
					     .yields = SIZE_MAX, .streams = CS_SWITCH_OFF };
	uint64_t random = 4711;
	*job = (struct job){ .algorithm = cs_algorithm_by_name(coll, "hier:dynamic"),
			     .count = count, .root = root };
	assert_non_null(job->algorithm);
	for (int i = 0; i < 4; i++)
		job->params[i] = job->algorithm->params[i].name
				 ? job->algorithm->params[i].fallback : 0;
	job->params[0] = 256; /* a part */
	if (coll == CS_REDUCE)
		job->params[2] = way == CONTROL;
	world_make(&job->world, sizes, false, 1, &shape, 1);
	job->way = way;
	job->world.has_windows = way == WINDOW;
	for (int rank = 0; rank < job->world.ranks; rank++) {
		job->sends[rank] = calloc(count + 1, sizeof(float));
		job->recvs[rank] = calloc(count + 1, sizeof(float));
		for (size_t i = 0; i < count; i++)
			job->sends[rank][i] = ldexpf((float)random_below(&random, 1 << 20),
						     (int)random_below(&random, 60) - 30);
	}
}

static void
clear_job(struct job *job)
{
	for (int rank = 0; rank < job->world.ranks; rank++) {
		free(job->sends[rank]);
		free(job->recvs[rank]);
	}
	world_clear(&job->world);
}

static void
come(struct job *job, int rank)
{
	struct cs_op *op = &job->ops[rank];
	enum cs_coll coll = job->algorithm->coll;
	size_t bytes = job->count * sizeof(float);
	*op = (struct cs_op){ 0 };
	cs_op_join(op, &job->world.teams[rank], cs_call_signature(coll, 0) | bytes);
	cs_call_init(&op->call, coll, job->root, bytes);
	op->call.count = job->count;
	op->call.is_commutative = true;
	op->call.reduction = (struct cs_reduction){ .unit = sizeof(float), .kernel = add_floats };
	op->call.send.base = (char *)job->sends[rank];
	op->call.recv.base = (char *)job->recvs[rank];
	op->node.extras |= CS_OP_NONBLOCKING;
	job->algorithm->run(op, job->params);
	job->has_come[rank] = true;
	job->is_over[rank] = false;
}

/* Goes on with it, as far as it goes by itself. */
static void
go_on(struct job *job, int rank, int looks)
{
	for (; looks && job->has_come[rank] && !job->is_over[rank]; looks--) {
		world_carry(&job->world);
		job->is_over[rank] = cs_op_step(&job->ops[rank]) == CS_OK;
		if (job->is_over[rank])
			cs_op_fini(&job->ops[rank]);
	}
}

static int
over(const struct job *job)
{
	int count = 0;
	for (int rank = 0; rank < job->world.ranks; rank++)
		count += job->has_come[rank] && job->is_over[rank];
	return count;
}

/* False: they do not come to an end. */
static bool
finish(struct job *job, uint64_t *random)
{
	for (int turn = 0; over(job) < job->world.ranks; turn++) {
		if (turn > 20000 * job->world.ranks)
			return false;
		go_on(job, (int)random_below(random, (uint32_t)job->world.ranks), 1);
	}
	memset(job->has_come, 0, sizeof job->has_come);
	assert_int_equal(world_left(&job->world), 0);
	assert_string_equal(job->world.failure, "");
	return true;
}

/* Is the result the sum, as far as floats tell? */
static void
expect_sum(const struct job *job, const float *result)
{
	for (size_t i = 0; i < job->count; i++) {
		double sum = 0;
		for (int rank = 0; rank < job->world.ranks; rank++)
			sum += job->sends[rank][i];
		if (fabs(sum - result[i]) > 1e-5 * sum)
			fail_msg("element %zu is %g and not %g", i, result[i], sum);
	}
}

/* --- every order ------------------------------------------------------------------------------ */

/* Must this rank wait for nobody? Of a reduce those who neither get the result nor take what other
 * nodes send, which with `control` and by a window is a node's last one, and nobody before; but who
 * sends waits for the MPI. */
static bool
leaves_at_once(const struct job *job, int rank, bool is_last_of_node)
{
	const struct world *world = &job->world;
	int node = world->node_of[rank];
	bool is_taker = world->nodes > 1 && job->way == MESSAGES &&
			rank == world->order[world->first[node + 1] - 1];
	return job->algorithm->coll == CS_REDUCE && rank != job->root && !is_taker &&
	       (world->nodes == 1 || !is_last_of_node);
}

static void
come_in_order(struct job *job, const int *order)
{
	int here[WORLD_MOST] = { 0 };
	uint64_t random = 1;
	const struct world *world = &job->world;
	for (int i = 0; i < world->ranks; i++) {
		int rank = order[i], node = world->node_of[rank];
		bool is_last = ++here[node] == world->first[node + 1] - world->first[node];
		come(job, rank);
		go_on(job, rank, LOOKS);
		if (leaves_at_once(job, rank, is_last) && !job->is_over[rank])
			fail_msg("rank %d, which comes as number %d, waits", rank, i);
		if (job->algorithm->coll != CS_REDUCE && i + 1 < world->ranks && over(job))
			fail_msg("a rank is over before rank %d has come", order[i + 1]);
	}
	assert_true(finish(job, &random));
}

static int
permute(struct job *job, int *order, int from, float *first)
{
	int ranks = job->world.ranks, count = 0;
	if (from == ranks) {
		come_in_order(job, order);
		const float *result = job->recvs[job->algorithm->coll == CS_REDUCE ? job->root : 0];
		if (!first[MOST])
			memcpy(first, result, job->count * sizeof *first);
		first[MOST] = 1;
		assert_memory_equal(first, result, job->count * sizeof *first);
		return 1;
	}
	for (int i = from; i < ranks; i++) {
		int swapped = order[from];
		order[from] = order[i];
		order[i] = swapped;
		count += permute(job, order, from + 1, first);
		order[i] = order[from];
		order[from] = swapped;
	}
	return count;
}

static void
each_order(const int *sizes, enum cs_coll coll, size_t count, enum way way)
{
	static float first[MOST + 1];
	static const int orders[] = { 1, 1, 2, 6, 24, 120, 720 };
	int order[] = { 0, 1, 2, 3, 4, 5 };
	struct job job;
	make_job(&job, sizes, coll, count, 0, way);
	first[MOST] = 0;
	assert_int_equal(permute(&job, order, 0, first), orders[job.world.ranks]);
	expect_sum(&job, first);
	clear_job(&job);
}

/* Short vectors, and such as take two slots in parts. */
TEST(who_is_early_leaves_in_every_order)
{
	static const int nodes[][4] = { { 2 }, { 3 }, { 4 }, { 5 }, { 6 }, { 2, 2 }, { 2, 3 },
					{ 3, 3 }, { 2, 2, 2 }, { 1, 3, 2 }, { 4, 1, 1 } };
	for (size_t i = 0; i < COUNT(nodes); i++) {
		for (enum way way = 0; way < WAYS; way++) {
			each_order(nodes[i], CS_REDUCE, 5, way);
			each_order(nodes[i], CS_REDUCE, 3000, way);
			if (way == CONTROL)
				continue;
			each_order(nodes[i], CS_ALLREDUCE, 5, way);
			each_order(nodes[i], CS_ALLREDUCE, 700, way);
		}
	}
}

/* --- random ones ------------------------------------------------------------------------------ */

static void
step_at_random(struct job *job, uint64_t *random)
{
	int left = job->world.ranks;
	while (left) {
		int rank = (int)random_below(random, (uint32_t)job->world.ranks);
		if (!job->has_come[rank] && random_below(random, 8) == 0) {
			come(job, rank);
			left--;
		}
		go_on(job, rank, 1);
	}
	assert_true(finish(job, random));
}

static void
expect_same_bits(const int *sizes, enum cs_coll coll, size_t count, int root, enum way way,
		 int times, uint64_t seed)
{
	static float first[MOST];
	struct job job;
	uint64_t random = seed;
	make_job(&job, sizes, coll, count, root, way);
	for (int i = 0; i < times; i++) {
		step_at_random(&job, &random);
		for (int rank = 0; rank < job.world.ranks; rank++) {
			if (coll == CS_REDUCE && rank != root)
				continue;
			if (!i && (coll == CS_REDUCE || !rank))
				memcpy(first, job.recvs[rank], count * sizeof *first);
			if (memcmp(first, job.recvs[rank], count * sizeof *first))
				fail_msg("rank %d has other bits in run %d, seed %llu", rank, i,
					 (unsigned long long)seed);
			memset(job.recvs[rank], 0, count * sizeof *first);
		}
	}
	expect_sum(&job, first);
	clear_job(&job);
}

TEST(sums_have_the_same_bits_a_thousand_times)
{
	static const int nodes[][6] = { { 7 }, { 3, 4 }, { 2, 1, 3, 2, 2 } };
	uint64_t seed = first_seed();
	for (size_t i = 0; i < COUNT(nodes); i++) {
		for (enum way way = 0; way < WAYS; way++) {
			expect_same_bits(nodes[i], CS_REDUCE, 40, 2, way, 1000, seed);
			expect_same_bits(nodes[i], CS_REDUCE, MOST, 1, way, 10, seed);
			if (way == CONTROL)
				continue;
			expect_same_bits(nodes[i], CS_ALLREDUCE, 40, 0, way, 1000, seed);
			expect_same_bits(nodes[i], CS_ALLREDUCE, MOST, 0, way, 10, seed);
		}
	}
}

/* --- what is done wrong ----------------------------------------------------------------------- */

/* Somebody is at an inner node in the name of local rank `local`, whose call has that number. */
static void
forge(struct job *job, uint64_t ahead, int inner, int local)
{
	struct cs_node_op op = job->ops[0].node;
	op.number += ahead;
	cs_arrive_meet(&op, 0, 0, inner, local);
}

TEST(a_word_of_the_wrong_call_is_seen)
{
	struct job job;
	uint64_t random = 1;
	make_job(&job, (const int[]){ 4, 0 }, CS_REDUCE, 5, 0, MESSAGES);
	come(&job, 0);
	go_on(&job, 0, LOOKS);
	forge(&job, CS_LINES, 1, 0);
	for (int rank = 1; rank < 4; rank++)
		come(&job, rank);
	assert_false(finish(&job, &random));
	clear_job(&job);
}

TEST(a_fold_before_the_second_has_come_is_seen)
{
	struct job job;
	uint64_t random = 1;
	make_job(&job, (const int[]){ 4, 0 }, CS_REDUCE, 5, 0, MESSAGES);
	come(&job, 0);
	forge(&job, 0, 1, 0);
	for (int rank = 0; rank < 4; rank++) {
		if (rank)
			come(&job, rank);
		go_on(&job, rank, LOOKS);
	}
	bool is_right = finish(&job, &random);
	for (size_t i = 0; is_right && i < job.count; i++) {
		double sum = 0;
		for (int rank = 0; rank < 4; rank++)
			sum += job.sends[rank][i];
		is_right = fabs(sum - job.recvs[0][i]) <= 1e-5 * sum;
	}
	assert_false(is_right);
	clear_job(&job);
}

/* Rank 1 makes another call than rank 0. */
static void
broadcast(struct job *job)
{
	struct cs_op *op = &job->ops[1];
	static char block[8];
	size_t params[CS_MAX_PARAMS];
	job->algorithm = cs_algorithm_by_name(CS_BCAST, "hier:dynamic");
	for (int i = 0; i < CS_MAX_PARAMS; i++)
		params[i] = job->algorithm->params[i].fallback;
	*op = (struct cs_op){ 0 };
	cs_op_join(op, &job->world.teams[1], cs_call_signature(CS_BCAST, 0));
	cs_call_init(&op->call, CS_BCAST, 0, sizeof block);
	op->call.recv.base = block;
	op->node.extras |= CS_OP_NONBLOCKING;
	job->algorithm->run(op, params);
	for (int looks = LOOKS; looks; looks--)
		cs_op_step(op);
}

/* By windows ranks of a node read nothing of each other's, but see what calls they make. */
TEST(another_call_of_the_own_node_ends_the_job)
{
	static struct job job;
	jmp_buf after_end;
	make_job(&job, (const int[]){ 2, 2, 0 }, CS_ALLREDUCE, 5, 0, WINDOW);
	come(&job, 0);
	go_on(&job, 0, LOOKS);
	world_after_end = &after_end;
	if (!setjmp(after_end)) {
		broadcast(&job);
		fail_msg("nobody has seen it");
	}
	world_after_end = NULL;
	cs_op_fini(&job.ops[1]);
	cs_op_fini(&job.ops[0]);
	clear_job(&job);
}

RUN_TESTS(NULL, NULL)
