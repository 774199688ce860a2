/* The measures of seed 002, 3.3, of calls whose arrivals are known; and calls are brought together
 * from the files of ranks. */
#include "tools/arrivals.h"

#include "unit.h"

#include <math.h>

#define assert_close(value, expected) assert_true(fabs((value) - (expected)) < 1e-6)

static char folder[256];

static int
make_folder(void **state)
{
	return mkdtemp(temporary(folder)) ? 0 : -1;
}

static int
remove_folder(void **state)
{
	return rmdir(folder);
}

/* Four ranks on two nodes. */
static const int node_of[] = { 0, 0, 1, 1 }, file_of[] = { 0, 1, 2, 3 };
static const struct cs_arrival_files four = { .node = (int *)node_of, .count = 4, .nodes = 2 };

static struct cs_arrival_measures *
measure(enum cs_coll coll, int root, const int64_t arrived[4], const int64_t left[4])
{
	struct cs_arrival_measures *measures = malloc(sizeof *measures);
	struct cs_arrival_call call = { .coll = coll, .root = root, .size = 4, .bytes = 8,
					.arrived = arrived, .left = left, .file = file_of };
	assert_int_equal(cs_arrival_measures_init(measures, &four), CS_OK);
	cs_arrival_measures_add(measures, &call);
	return measures;
}

static void
release(struct cs_arrival_measures *measures)
{
	cs_arrival_measures_fini(measures);
	free(measures);
}

TEST(imbalance_is_of_all_and_of_the_first_and_last_of_nodes)
{
	static const int64_t arrived[] = { 0, 1000, 3000, 8000 };
	static const int64_t left[] = { 9000, 9000, 9000, 9000 };
	struct cs_arrival_measures *measures = measure(CS_ALLREDUCE, -1, arrived, left);
	const struct cs_arrival_sums *sums = &measures->sums[CS_ALLREDUCE][cs_report_bin(8)];
	assert_int_equal(sums->calls, 1);
	assert_close(sums->ranks, 4);
	/* The mean is 3000. */
	assert_close(sums->delta, (3000 + 2000 + 0 + 5000) / 4.0);
	assert_close(sums->omega, 8000);
	assert_int_equal(sums->worst, 8000);
	assert_close(sums->iota, (9000 + 8000 + 6000 + 1000) / 4.0);
	/* All wait for the last. */
	assert_close(sums->waiting, (8000 + 7000 + 5000 + 0) / 4.0);
	/* The nodes' first ones come at 0 and 3000, their last ones at 1000 and 8000. */
	assert_close(sums->first_omega, 3000);
	assert_close(sums->first_delta, 1500);
	assert_close(sums->last_omega, 7000);
	assert_close(sums->last_delta, 3500);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(measures->first[i], i == 0);
		assert_int_equal(measures->last[i], i == 3);
		assert_int_equal(measures->node_first[i], i == 0 || i == 2);
		assert_int_equal(measures->node_last[i], i == 1 || i == 3);
	}
	/* At 500 about the mean of node 0 (500), and at 2500 about that of node 1 (5500). */
	assert_int_equal(measures->histogram[CS_ARRIVAL_BINS], 2);
	assert_int_equal(measures->histogram[CS_ARRIVAL_BINS - 3], 1);
	assert_int_equal(measures->histogram[CS_ARRIVAL_BINS + 3], 1);
	release(measures);
}

static void
assert_waiting(enum cs_coll coll, int root, const double expected[4])
{
	static const int64_t arrived[] = { 2000, 0, 5000, 1000 };
	static const int64_t left[] = { 6000, 6000, 6000, 1500 };
	struct cs_arrival_measures *measures = measure(coll, root, arrived, left);
	const struct cs_arrival_sums *sums = &measures->sums[coll][cs_report_bin(8)];
	double sum = expected[0] + expected[1] + expected[2] + expected[3];
	if (fabs(sums->waiting - sum / 4) > 1e-6)
		fail_msg("%s, root %d: %g ns of waiting, not %g", cs_coll_name((int)coll), root,
			 sums->waiting, sum / 4);
	release(measures);
}

/* Nobody has waited longer than it was in the call: the last rank left after 500 ns. */
TEST(waiting_follows_what_a_rank_depends_on)
{
	assert_waiting(CS_BARRIER, -1, (const double[]){ 3000, 5000, 0, 500 });
	assert_waiting(CS_ALLTOALLV, -1, (const double[]){ 3000, 5000, 0, 500 });
	assert_waiting(CS_REDUCE_SCATTER, -1, (const double[]){ 3000, 5000, 0, 500 });
	assert_waiting(CS_BCAST, 2, (const double[]){ 3000, 5000, 0, 500 });
	assert_waiting(CS_BCAST, 0, (const double[]){ 0, 2000, 0, 500 });
	assert_waiting(CS_SCATTERV, 1, (const double[]){ 0, 0, 0, 0 });
	assert_waiting(CS_REDUCE, 0, (const double[]){ 3000, 0, 0, 0 });
	assert_waiting(CS_GATHER, 1, (const double[]){ 0, 5000, 0, 0 });
	assert_waiting(CS_GATHERV, 2, (const double[]){ 0, 0, 0, 0 });
	assert_waiting(CS_SCAN, -1, (const double[]){ 0, 2000, 0, 500 });
	assert_waiting(CS_EXSCAN, -1, (const double[]){ 0, 2000, 0, 500 });
}

TEST(a_rank_depends_on_what_its_collective_says)
{
	for (int rank = 0; rank < 4; rank++)
		for (int other = 0; other < 4; other++) {
			assert_true(cs_coll_depends_on(&cs_colls[CS_ALLGATHER], rank, -1, other));
			assert_int_equal(cs_coll_depends_on(&cs_colls[CS_SCATTER], rank, 2, other),
					 other == 2);
			assert_int_equal(cs_coll_depends_on(&cs_colls[CS_GATHER], rank, 2, other),
					 rank == 2);
			assert_int_equal(cs_coll_depends_on(&cs_colls[CS_EXSCAN], rank, -1, other),
					 other < rank);
		}
}

/* --- files ------------------------------------------------------------------------------------ */

struct seen {
	int calls;
	int64_t omega;
};

static void
see(void *user, const struct cs_arrival_call *call)
{
	struct seen *seen = user;
	seen->calls++;
	assert_int_equal(call->size, 2);
	assert_int_equal(call->comm, 77);
	seen->omega = call->arrived[0] > call->arrived[1] ? call->arrived[0] : call->arrived[1];
}

/* The clock of rank 1, whose file this is, is a day ahead of rank 0's. */
static char *
record(int world, int ranks, uint64_t job, uint64_t calls, enum cs_coll coll)
{
	const uint64_t day = UINT64_C(86400000000000), ahead = world ? day : 0;
	struct cs_arrivals_writer *writer = malloc(sizeof *writer);
	struct cs_arrivals_head head = { .world = (uint32_t)world, .ranks = (uint32_t)ranks,
					 .node = (uint32_t)world % 2, .nodes = 2, .job = job,
					 .clock = (uint64_t)world + 1, .host = "somewhere" };
	char *path;
	unsigned number;
	assert_true(asprintf(&path, "%s/%d-%d-%d", folder, world, (int)job, (int)calls) > 0);
	assert_int_equal(cs_arrivals_create(writer, path, &head, 100, &number), CS_OK);
	cs_arrivals_add_clock(writer, &(struct cs_arrivals_clock){ ahead, -(int64_t)ahead,
								   world ? 250 : 0 });
	cs_arrivals_add_comm(writer, &(struct cs_arrivals_comm){ 77, (uint32_t)world, 2 });
	for (uint64_t i = 1; i <= calls; i++)
		cs_arrivals_add(writer, &(struct cs_arrival){
			.comm = 77, .call = i, .coll = (uint8_t)coll, .bytes = 8, .root = -1,
			.arrived_ns = ahead + i * 10000 + (world ? 3000 : 0),
			.left_ns = ahead + i * 10000 + 4000 });
	cs_arrivals_close(writer);
	free(writer);
	return path;
}

TEST(calls_of_all_ranks_are_brought_together_by_rank_0s_clock)
{
	char *paths[] = { record(1, 2, 5, 12, CS_BARRIER), record(0, 2, 5, 10, CS_BARRIER) };
	struct cs_arrival_files files;
	struct cs_arrival_calls calls;
	struct seen seen = { 0 };
	int unusable;
	assert_int_equal(cs_arrival_files_open(&files, paths, 2, stderr, &unusable), CS_OK);
	assert_int_equal(unusable, 0);
	assert_int_equal(files.nodes, 2);
	assert_true(files.is_one_clock);
	assert_int_equal(files.residual_ns, 250);
	assert_int_equal(files.least_ns, 250);
	assert_int_equal(files.files[0].head.world, 0);
	assert_int_equal(cs_arrival_files_walk(&files, see, &seen, &calls), CS_OK);
	assert_int_equal(seen.calls, 10);
	assert_int_equal(seen.omega, 3000);
	assert_int_equal(calls.whole, 10);
	assert_int_equal(calls.partial, 2);
	assert_int_equal(calls.differ, 0);

	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	assert_int_equal(cs_arrivals_svg(&files, out), CS_OK);
	fclose(out);
	assert_contains(text, "2 ranks, 10 calls");
	assert_contains(text, "</svg>");
	free(text);
	cs_arrival_files_close(&files);
	for (int i = 0; i < 2; i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
}

TEST(calls_that_differ_are_counted_and_left_out)
{
	char *paths[] = { record(0, 2, 5, 3, CS_BARRIER), record(1, 2, 5, 3, CS_ALLREDUCE) };
	struct cs_arrival_files files;
	struct cs_arrival_calls calls;
	struct seen seen = { 0 };
	int unusable;
	assert_int_equal(cs_arrival_files_open(&files, paths, 2, stderr, &unusable), CS_OK);
	assert_int_equal(cs_arrival_files_walk(&files, see, &seen, &calls), CS_OK);
	assert_int_equal(seen.calls, 0);
	assert_int_equal(calls.differ, 3);
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	assert_int_equal(cs_arrivals_svg(&files, out), CS_BAD_INPUT);
	fclose(out);
	free(text);
	cs_arrival_files_close(&files);
	for (int i = 0; i < 2; i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
}

TEST(files_that_cannot_be_used_are_told_by_name_and_reason)
{
	char *paths[] = { record(0, 2, 5, 3, CS_BARRIER), record(1, 2, 6, 3, CS_BARRIER),
			  record(0, 2, 5, 4, CS_BARRIER), strdup("/nonexistent/file") };
	struct cs_arrival_files files;
	int unusable;
	char *text;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	assert_int_equal(cs_arrival_files_open(&files, paths, 4, out, &unusable), CS_OK);
	fclose(out);
	assert_int_equal(files.count, 1);
	assert_int_equal(unusable, 3);
	assert_int_equal(count_lines(text), 3);
	assert_contains(text, "1-6-3: it is of another job");
	assert_contains(text, "0-5-4: its rank has a file already");
	assert_contains(text, "/nonexistent/file: it cannot be read: No such file");
	free(text);
	cs_arrival_files_close(&files);
	for (int i = 0; i < 4; i++) {
		unlink(paths[i]);
		free(paths[i]);
	}
}

RUN_TESTS(make_folder, remove_folder)
