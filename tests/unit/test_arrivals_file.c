/* What is recorded is read again, as far as a file goes; what is no such file, or a damaged one, is
 * told. */
#include "trace/arrivals_file.h"

#include "base/log.h"
#include "trace/arrivals_bytes.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static char folder[256], path[300];

static const struct cs_arrivals_head head = {
	.world = 5, .ranks = 8, .node = 1, .nodes = 2, .pid = 4711, .job = 0x1122334455667788,
	.clock = 0x99aabbccddeeff00, .start_ns = 1000000, .wall_ns = 1700000000000000000,
	.boot = "01234567-89ab-cdef-0123-456789abcdef", .host = "node-17",
};

static int
make_folder(void **state)
{
	if (!mkdtemp(temporary(folder)))
		return -1;
	snprintf(path, sizeof path, "%s/arrivals.5", folder);
	return 0;
}

static int
remove_folder(void **state)
{
	return rmdir(folder);
}

static struct cs_arrival
call_number(uint64_t number)
{
	return (struct cs_arrival){
		.comm = number % 3 + 1, .call = number / 3 + 1, .bytes = number * 8,
		.arrived_ns = 2000000 + number * 1000, .left_ns = 2000500 + number * 1000,
		.coll = number % 2 ? CS_BCAST : CS_ALLREDUCE, .root = number % 2 ? 1 : -1,
		.is_deferred = number % 5 == 0,
	};
}

/* Records so many calls on three communicators, and two synchronisations. */
static void
record(uint64_t calls, uint64_t limit)
{
	struct cs_arrivals_writer *writer = malloc(sizeof *writer);
	unsigned number = 0;
	assert_non_null(writer);
	assert_int_equal(cs_arrivals_create(writer, path, &head, limit, &number), CS_OK);
	assert_int_equal(number, 1);
	cs_arrivals_add_clock(writer, &(struct cs_arrivals_clock){ 1000000, -500, 20 });
	/* The highest first: they are found by number all the same. */
	for (unsigned comm = 3; comm > 0; comm--)
		cs_arrivals_add_comm(writer, &(struct cs_arrivals_comm){ comm, comm - 1, 4 });
	for (uint64_t i = 0; i < calls; i++) {
		struct cs_arrival call = call_number(i);
		cs_arrivals_add(writer, &call);
	}
	cs_arrivals_add_clock(writer, &(struct cs_arrivals_clock){ 1001000000, 500, 30 });
	cs_arrivals_close(writer);
	free(writer);
}

static char *
content(size_t *bytes)
{
	struct stat is;
	assert_int_equal(stat(path, &is), 0);
	char *text = malloc((size_t)is.st_size + 1);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	*bytes = fread(text, 1, (size_t)is.st_size + 1, file);
	assert_int_equal(*bytes, is.st_size);
	fclose(file);
	return text;
}

static void
assert_call(const struct cs_arrival *found, uint64_t number)
{
	struct cs_arrival call = call_number(number);
	assert_true(found->comm == call.comm && found->call == call.call &&
		    found->bytes == call.bytes && found->arrived_ns == call.arrived_ns &&
		    found->left_ns == call.left_ns && found->coll == call.coll &&
		    found->root == call.root && found->is_deferred == call.is_deferred);
}

TEST(what_is_recorded_is_read_again)
{
	struct cs_arrivals arrivals;
	record(1000, 1000);
	assert_int_equal(cs_arrivals_read(path, &arrivals), CS_OK);
	assert_string_equal(arrivals.trouble, "");
	assert_true(arrivals.is_complete);
	assert_int_equal(arrivals.left_out, 0);
	assert_int_equal(arrivals.head.world, 5);
	assert_int_equal(arrivals.head.ranks, 8);
	assert_int_equal(arrivals.head.node, 1);
	assert_int_equal(arrivals.head.nodes, 2);
	assert_int_equal(arrivals.head.pid, 4711);
	assert_true(arrivals.head.job == head.job && arrivals.head.clock == head.clock);
	assert_true(arrivals.head.start_ns == head.start_ns);
	assert_true(arrivals.head.wall_ns == head.wall_ns);
	assert_string_equal(arrivals.head.boot, head.boot);
	assert_string_equal(arrivals.head.host, head.host);
	assert_int_equal(arrivals.call_count, 1000);
	for (uint64_t i = 0; i < 1000; i++)
		assert_call(&arrivals.calls[i], i);
	assert_int_equal(arrivals.comm_count, 3);
	for (unsigned comm = 1; comm <= 3; comm++) {
		assert_non_null(cs_arrivals_comm(&arrivals, comm));
		assert_int_equal(cs_arrivals_comm(&arrivals, comm)->rank, comm - 1);
		assert_int_equal(cs_arrivals_comm(&arrivals, comm)->size, 4);
	}
	assert_null(cs_arrivals_comm(&arrivals, 0));
	assert_null(cs_arrivals_comm(&arrivals, 4));
	assert_int_equal(arrivals.clock_count, 2);
	cs_arrivals_fini(&arrivals);
	unlink(path);
}

TEST(the_line_through_two_synchronisations_leads_to_rank_0s_clock)
{
	struct cs_arrivals arrivals;
	record(1, 1);
	assert_int_equal(cs_arrivals_read(path, &arrivals), CS_OK);
	/* -500 at 1 ms, 500 at 1001 ms: 1 us in a second. */
	assert_int_equal(cs_arrivals_at_rank_0(&arrivals, 1000000), 999500);
	assert_int_equal(cs_arrivals_at_rank_0(&arrivals, 501000000), 501000000);
	assert_int_equal(cs_arrivals_at_rank_0(&arrivals, 1001000000), 1001000500);
	assert_int_equal(cs_arrivals_at_rank_0(&arrivals, 2001000000), 2001001500);
	assert_int_equal(cs_arrivals_drift(&arrivals), 1000);
	arrivals.clock_count = 1;
	assert_int_equal(cs_arrivals_at_rank_0(&arrivals, 2001000000), 2000999500);
	assert_int_equal(cs_arrivals_drift(&arrivals), 0);
	arrivals.clock_count = 0;
	assert_int_equal(cs_arrivals_at_rank_0(&arrivals, 7), 7);
	cs_arrivals_fini(&arrivals);
	unlink(path);
}

TEST(more_calls_than_the_limit_are_counted_and_left_out)
{
	struct cs_arrivals arrivals;
	record(1000, 170);
	assert_int_equal(cs_arrivals_read(path, &arrivals), CS_OK);
	assert_string_equal(arrivals.trouble, "");
	assert_int_equal(arrivals.call_count, 170);
	assert_int_equal(arrivals.left_out, 830);
	cs_arrivals_fini(&arrivals);
	unlink(path);
}

/* As a job that was killed leaves it: at any byte. */
TEST(a_file_that_ends_early_is_read_as_far_as_it_goes)
{
	size_t bytes;
	record(40, 40);
	char *text = content(&bytes);
	assert_int_equal(bytes, CS_ARRIVALS_HEAD + 46 * CS_ARRIVALS_RECORD);
	for (size_t length = 0; length <= bytes; length++) {
		struct cs_arrivals arrivals;
		/* A block of its own, so that what reads behind it is seen. */
		char *part = malloc(length + !length);
		memcpy(part, text, length);
		enum cs_status status = cs_arrivals_parse(part, length, &arrivals);
		free(part);
		assert_int_equal(status, length < CS_ARRIVALS_HEAD ? CS_BAD_INPUT : CS_OK);
		if (status != CS_OK) {
			assert_contains(arrivals.trouble, "too few");
			continue;
		}
		size_t records = (length - CS_ARRIVALS_HEAD) / CS_ARRIVALS_RECORD;
		size_t calls = records < 4 ? 0 : records < 44 ? records - 4 : 40;
		assert_int_equal(arrivals.call_count, calls);
		for (size_t i = 0; i < calls; i++)
			assert_call(&arrivals.calls[i], i);
		assert_int_equal(arrivals.is_complete, length == bytes);
		if (length < bytes)
			assert_contains(arrivals.trouble, "ends before the job did");
		else
			assert_string_equal(arrivals.trouble, "");
		cs_arrivals_fini(&arrivals);
	}
	free(text);
	unlink(path);
}

/* Whatever is in a file, what was read of it is possible. */
static void
assert_possible(const struct cs_arrivals *arrivals)
{
	assert_true(arrivals->head.world < arrivals->head.ranks);
	assert_true(arrivals->head.node < arrivals->head.nodes ||
		    (!arrivals->head.node && !arrivals->head.nodes));
	for (size_t i = 0; i < arrivals->call_count; i++) {
		const struct cs_arrival *call = &arrivals->calls[i];
		const struct cs_arrivals_comm *comm = cs_arrivals_comm(arrivals, call->comm);
		assert_non_null(comm);
		assert_true(comm->rank < comm->size && comm->size <= arrivals->head.ranks);
		assert_true(call->coll < CS_COLL_COUNT && call->call > 0);
		assert_true(call->arrived_ns <= call->left_ns);
		assert_true(call->root < (int64_t)comm->size);
		assert_true((call->root >= 0) == cs_colls[call->coll].rooted);
	}
	for (size_t i = 1; i < arrivals->comm_count; i++)
		assert_true(arrivals->comms[i - 1].comm < arrivals->comms[i].comm);
	for (size_t i = 1; i < arrivals->clock_count; i++)
		assert_true(arrivals->clocks[i - 1].at_ns <= arrivals->clocks[i].at_ns);
	assert_true(memchr(arrivals->trouble, '\0', sizeof arrivals->trouble));
	(void)cs_arrivals_at_rank_0(arrivals, UINT64_MAX);
	(void)cs_arrivals_drift(arrivals);
}

TEST(damaged_files_are_told_or_read_as_far_as_they_are_possible)
{
	uint64_t seed = first_seed(), random = seed;
	size_t bytes, told = 0, refused = 0;
	record(40, 40);
	char *text = content(&bytes), *damaged = malloc(bytes);
	printf("# TEST_SEED=%llu\n", (unsigned long long)seed);
	for (int times = 0; times < 20000; times++) {
		struct cs_arrivals arrivals;
		memcpy(damaged, text, bytes);
		for (uint32_t many = random_below(&random, 4) + 1; many; many--)
			damaged[random_below(&random, (uint32_t)bytes)] ^=
				(char)(1 + random_below(&random, 255));
		if (cs_arrivals_parse(damaged, bytes, &arrivals) != CS_OK) {
			assert_true(*arrivals.trouble);
			refused++;
			continue;
		}
		told += *arrivals.trouble != '\0';
		assert_possible(&arrivals);
		cs_arrivals_fini(&arrivals);
	}
	/* Most bytes are those of times and sizes, which may be anything. */
	assert_true(refused > 100 && told > 1000);
	free(damaged);
	free(text);
	unlink(path);
}

/* Sets a byte of a record, of which that is told of the record `told`. */
static void
assert_damage_told(size_t record, size_t at, unsigned char value, size_t told, const char *what)
{
	struct cs_arrivals arrivals;
	size_t bytes;
	char *text = content(&bytes);
	text[CS_ARRIVALS_HEAD + record * CS_ARRIVALS_RECORD + at] = (char)value;
	assert_int_equal(cs_arrivals_parse(text, bytes, &arrivals), CS_OK);
	char begin[32];
	snprintf(begin, sizeof begin, "record %zu is damaged: ", told + 1);
	assert_contains(arrivals.trouble, begin);
	assert_contains(arrivals.trouble, what);
	assert_false(arrivals.is_complete);
	cs_arrivals_fini(&arrivals);
	free(text);
}

static void
assert_damage(size_t record, size_t at, unsigned char value, const char *what)
{
	assert_damage_told(record, at, value, record, what);
}

TEST(each_damage_has_its_name)
{
	record(4, 4); /* a clock, three communicators, four calls, a clock, the end */
	assert_damage(0, CS_AT_KIND, 9, "no such kind");
	assert_damage(0, CS_AT_BYTES + 7, 0x70, "too far away");
	assert_damage(1, CS_AT_COUNT, 0, "no possible size");
	assert_damage(1, CS_AT_SMALL, 4, "no possible size");
	assert_damage(2, CS_AT_COMM, 3, "recorded before");
	assert_damage(4, CS_AT_COLL, CS_COLL_COUNT, "no such collective");
	assert_damage(4, CS_AT_FLAGS, 2, "unknown flags");
	assert_damage(4, CS_AT_SMALL, 0, "no such root");
	assert_damage(5, CS_AT_SMALL, 4, "no such root");
	assert_damage(4, CS_AT_COMM, 77, "not recorded");
	assert_damage(4, CS_AT_COUNT, 0, "without a number");
	assert_damage(4, CS_AT_ARRIVED + 7, 1, "ends before it begins");
	assert_damage_told(0, CS_AT_ARRIVED + 4, 1, 8, "goes back");
	assert_damage(9, CS_AT_COUNT, 5, "calls are missing");
	unlink(path);
}

TEST(what_is_no_file_of_arrivals_is_told)
{
	struct cs_arrivals arrivals;
	size_t bytes;
	assert_int_equal(cs_arrivals_read(path, &arrivals), CS_SYSTEM);
	assert_contains(arrivals.trouble, "No such file");
	assert_int_equal(cs_arrivals_read(folder, &arrivals), CS_SYSTEM);
	record(1, 1);
	char *text = content(&bytes);
	text[0] = 'X';
	assert_int_equal(cs_arrivals_parse(text, bytes, &arrivals), CS_BAD_INPUT);
	assert_contains(arrivals.trouble, "no file of arrivals");
	text[0] = 'C';
	text[CS_AT_VERSION] = 2;
	assert_int_equal(cs_arrivals_parse(text, bytes, &arrivals), CS_BAD_INPUT);
	assert_contains(arrivals.trouble, "version 2");
	text[CS_AT_VERSION] = 1;
	text[CS_AT_WORLD] = 8;
	assert_int_equal(cs_arrivals_parse(text, bytes, &arrivals), CS_BAD_INPUT);
	assert_contains(arrivals.trouble, "rank 8 of 8");
	free(text);
	unlink(path);
}

TEST(a_file_that_is_there_stays_as_it_is)
{
	char next[320];
	struct cs_arrivals_writer *writer = malloc(sizeof *writer);
	unsigned number;
	size_t bytes;
	record(2, 2);
	assert_int_equal(cs_arrivals_create(writer, path, &head, 10, &number), CS_OK);
	assert_int_equal(number, 2);
	cs_arrivals_close(writer);
	free(content(&bytes));
	assert_int_equal(bytes, CS_ARRIVALS_HEAD + 8 * CS_ARRIVALS_RECORD);
	snprintf(next, sizeof next, "%s.2", path);
	assert_int_equal(unlink(next), 0);
	unlink(path);
	free(writer);
}

TEST(a_folder_that_is_not_there_is_an_error_and_nothing_is_open)
{
	char wrong[320];
	struct cs_arrivals_writer *writer = malloc(sizeof *writer);
	unsigned number;
	struct cs_arrival call = call_number(0);
	snprintf(wrong, sizeof wrong, "%s/none/file", folder);
	assert_int_equal(cs_arrivals_create(writer, wrong, &head, 10, &number), CS_SYSTEM);
	assert_int_equal(errno, ENOENT);
	cs_arrivals_add(writer, &call);
	cs_arrivals_close(writer);
	free(writer);
}

/* The calls that went out before the trouble are in the file. */
static void
assert_stopped(struct cs_arrivals_writer *writer, const char *why, size_t calls)
{
	struct cs_arrivals arrivals;
	struct said said;
	said_begin(&said);
	for (uint64_t i = 0; i < 1000; i++) {
		struct cs_arrival call = call_number(i);
		cs_arrivals_add(writer, &call);
	}
	cs_arrivals_close(writer);
	const char *text = said_end(&said);
	assert_int_equal(writer->file, -1);
	if (why) {
		assert_int_equal(count_lines(text), 1);
		assert_contains(text, why);
		assert_contains(text, "nothing more is recorded");
	}
	assert_int_equal(cs_arrivals_read(path, &arrivals), CS_OK);
	assert_int_equal(arrivals.call_count, calls);
	assert_false(arrivals.is_complete);
	cs_arrivals_fini(&arrivals);
}

static struct cs_arrivals_writer *
begin_recording(void)
{
	struct cs_arrivals_writer *writer = malloc(sizeof *writer);
	unsigned number;
	assert_int_equal(cs_arrivals_create(writer, path, &head, 100000, &number), CS_OK);
	for (unsigned comm = 1; comm <= 3; comm++)
		cs_arrivals_add_comm(writer, &(struct cs_arrivals_comm){ comm, 0, 4 });
	return writer;
}

/* Without a signal, which would end the program. (The line comes once in a process: here.) */
TEST(a_file_that_may_not_grow_ends_the_recording_and_nothing_else)
{
	struct rlimit limit, less;
	struct cs_arrivals_writer *writer = begin_recording();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
	less = limit;
	less.rlim_cur = CS_ARRIVALS_HEAD + 2 * CS_ARRIVALS_BLOCK + 100;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
	assert_stopped(writer, "File too large", 2 * 85 - 3);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	free(writer);
	unlink(path);
}

/* As a daemon does, which then opens files of its own. */
TEST(a_descriptor_that_the_program_has_closed_and_taken_is_left_alone)
{
	char others[320];
	struct stat is;
	struct cs_arrivals_writer *writer = begin_recording();
	int taken = writer->file;
	snprintf(others, sizeof others, "%s/others", folder);
	assert_int_equal(close(taken), 0);
	assert_int_equal(open(others, O_WRONLY | O_CREAT | O_EXCL, 0600), taken);
	assert_stopped(writer, NULL, 0);
	assert_int_equal(fstat(taken, &is), 0);
	assert_int_equal(is.st_size, 0);
	assert_int_equal(close(taken), 0);
	unlink(others);
	free(writer);
	unlink(path);

	writer = begin_recording();
	assert_int_equal(close(writer->file), 0);
	assert_stopped(writer, NULL, 0);
	free(writer);
	unlink(path);
}

/* A call that leaves long after the last block went out does not stay in memory. */
TEST(a_late_call_goes_out_with_what_was_before_it)
{
	struct cs_arrivals arrivals;
	struct cs_arrivals_writer *writer = begin_recording();
	struct cs_arrival call = call_number(0);
	cs_arrivals_add(writer, &call);
	assert_int_equal(cs_arrivals_read(path, &arrivals), CS_OK);
	assert_int_equal(arrivals.call_count, 0);
	cs_arrivals_fini(&arrivals);
	call = call_number(1);
	call.left_ns = head.start_ns + CS_ARRIVALS_PATIENCE_NS + 1;
	cs_arrivals_add(writer, &call);
	assert_int_equal(cs_arrivals_read(path, &arrivals), CS_OK);
	assert_int_equal(arrivals.call_count, 2);
	cs_arrivals_fini(&arrivals);
	cs_arrivals_close(writer);
	free(writer);
	unlink(path);
}

int
main(void)
{
	cs_log_set_speaker(true);
	return run_all(make_folder, remove_folder);
}
