/* Recorded arrivals as a pattern of lateness: which calls are taken, on whose clock, and what files
 * do not fit together. */
#include "unit.h"

#include "trace/arrivals_file.h"
#include "trace/replay.h"

#define RANKS 3

/* A rank's file, and what is different about it. */
struct file {
	uint32_t world, ranks;
	uint64_t job, clock;
	int64_t offset; /* of its clock to rank 0's; not there where 0 */
	const uint64_t *arrived;
	size_t calls;
};

static char folder[256];

static void
write_file(const char *name, const struct file *file)
{
	static struct cs_arrivals_writer writer;
	char path[512];
	unsigned number;
	struct cs_arrivals_head head = { .world = file->world, .ranks = file->ranks,
					 .job = file->job, .clock = file->clock };
	snprintf(path, sizeof path, "%s/%s", folder, name);
	unlink(path);
	assert_int_equal(cs_arrivals_create(&writer, path, &head, 1000, &number), CS_OK);
	if (file->offset)
		cs_arrivals_add_clock(&writer, &(struct cs_arrivals_clock){
			.at_ns = 1, .offset_ns = file->offset });
	/* A pair has calls of its own in between. */
	cs_arrivals_add_comm(&writer, &(struct cs_arrivals_comm){ 7, file->world % 2, 2 });
	cs_arrivals_add_comm(&writer, &(struct cs_arrivals_comm){ 9, file->world, file->ranks });
	for (size_t i = 0; i < file->calls; i++) {
		cs_arrivals_add(&writer, &(struct cs_arrival){
			.comm = 7, .call = i + 1, .arrived_ns = 5, .left_ns = 6, .root = -1,
			.coll = CS_ALLREDUCE });
		cs_arrivals_add(&writer, &(struct cs_arrival){
			.comm = 9, .call = i + 1, .arrived_ns = file->arrived[i],
			.left_ns = file->arrived[i] + 1, .root = -1, .coll = CS_BARRIER });
	}
	cs_arrivals_close(&writer);
}

static const uint64_t arrived[RANKS][4] = { { 100, 500, 900, 1300 }, { 130, 520, 890 },
					    { 1100, 1540, 1895, 2300 } };

static void
write_job(const struct file *last)
{
	char name[16];
	for (uint32_t rank = 0; rank < RANKS; rank++) {
		struct file file = { rank, RANKS, 42, rank == 2 ? 2 : 1, rank == 2 ? -1000 : 0,
				     arrived[rank], rank == 1 ? 3 : 4 };
		snprintf(name, sizeof name, "a.%u", rank);
		write_file(name, rank == 2 && last ? last : &file);
	}
}

static enum cs_status
load(const char *name, struct cs_imbalance *imbalance, char complaint[400])
{
	static char text[512];
	snprintf(text, sizeof text, "file:%s/%s", folder, name);
	assert_int_equal(cs_imbalance_read(text, imbalance, complaint, 400), CS_OK);
	assert_int_equal(imbalance->kind, CS_IMBALANCE_FILE);
	return cs_replay_load(imbalance, RANKS, complaint, 400);
}

TEST(delays_are_behind_the_first_of_each_call)
{
	const int64_t expected[3][RANKS] = { { 0, 30, 0 }, { 0, 20, 40 }, { 10, 0, 5 } };
	const int nodes[RANKS] = { 0, 0, 1 };
	struct cs_imbalance_job job = { .ranks = RANKS, .nodes = 2, .node_of = nodes };
	struct cs_imbalance imbalance;
	char complaint[400] = "";
	(void)state;
	write_job(NULL);
	if (load("a", &imbalance, complaint) != CS_OK)
		fail_msg("%s", complaint);
	assert_int_equal(imbalance.calls, 3); /* rank 1 has no more */
	for (uint64_t call = 0; call < 7; call++)
		for (int rank = 0; rank < RANKS; rank++)
			assert_int_equal(cs_imbalance_delay(&imbalance, &job, call, rank),
					 expected[call % 3][rank]);
	free(imbalance.recorded);
	/* The rank may stand anywhere in the name. */
	assert_int_equal(load("%r.of", &imbalance, complaint), CS_BAD_INPUT);
	assert_contains(complaint, "/0.of: ");
	assert_null(imbalance.recorded);
}

static void
expect_refused(const struct file *last, const char *part)
{
	struct cs_imbalance imbalance;
	char complaint[400] = "";
	write_job(last);
	assert_int_equal(load("a", &imbalance, complaint), CS_BAD_INPUT);
	assert_contains(complaint, "/a.2: ");
	assert_contains(complaint, part);
	assert_null(imbalance.recorded);
}

TEST(files_that_do_not_fit_together_are_named)
{
	const uint64_t *some = arrived[2];
	char path[512];
	(void)state;
	expect_refused(&(struct file){ 2, 4, 42, 1, 0, some, 4 }, "of 4 ranks, expected 3");
	expect_refused(&(struct file){ 1, RANKS, 42, 1, 0, some, 4 }, "of rank 1, expected 2");
	expect_refused(&(struct file){ 2, RANKS, 43, 1, 0, some, 4 }, "another job than rank 0's");
	expect_refused(&(struct file){ 2, RANKS, 42, 2, 0, some, 4 },
		       "another clock than rank 0's");
	expect_refused(&(struct file){ 2, RANKS, 42, 1, 0, some, 0 }, "no call of a communicator");
	/* One that is missing, cut short, or none. */
	snprintf(path, sizeof path, "%s/a.2", folder);
	write_job(NULL);
	assert_int_equal(truncate(path, CS_ARRIVALS_HEAD + CS_ARRIVALS_RECORD + 7), 0);
	struct cs_imbalance imbalance;
	char complaint[400] = "";
	assert_int_equal(load("a", &imbalance, complaint), CS_BAD_INPUT);
	assert_contains(complaint, "/a.2: ");
	assert_int_equal(truncate(path, 7), 0);
	assert_int_equal(load("a", &imbalance, complaint), CS_BAD_INPUT);
	assert_contains(complaint, "too few for a file of arrivals");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(load("a", &imbalance, complaint), CS_BAD_INPUT);
	assert_contains(complaint, "/a.2: ");
}

static int
make_folder(void **state)
{
	(void)state;
	return mkdtemp(temporary(folder)) ? 0 : -1;
}

static int
remove_folder(void **state)
{
	char path[512];
	(void)state;
	for (int rank = 0; rank < RANKS; rank++) {
		snprintf(path, sizeof path, "%s/a.%d", folder, rank);
		unlink(path);
	}
	return rmdir(folder);
}

RUN_TESTS(make_folder, remove_folder)
