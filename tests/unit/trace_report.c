/* The report counts what was done and says it, as a table and as JSON, whatever the names
 * contain. */
#include "unit.h"

#include "base/file.h"
#include "base/log.h"
#include "trace/report.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>

/* The ledger is the process's, so each test uses a collective or a reason of its own. */

static void
count(struct cs_report_row *row, uint64_t calls, uint64_t bytes, uint64_t nanoseconds)
{
	atomic_fetch_add(&row->calls, calls);
	atomic_fetch_add(&row->bytes, bytes);
	atomic_fetch_add(&row->nanoseconds, nanoseconds);
}

static char *
rendered(void (*print)(FILE *out))
{
	static char *text; /* the stream keeps the address */
	static size_t length;
	FILE *out = open_memstream(&text, &length);
	assert_non_null(out);
	print(out);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* The line of `text` that contains `part`, without its newline; static storage. Fails if there is
 * none. */
static const char *
line_with(const char *text, const char *part)
{
	static char line[1024];
	const char *at = strstr(text, part);
	if (!at)
		fail_msg("no line with \"%s\" in:\n%s", part, text);
	const char *start = at, *end = strchr(at, '\n');
	while (start > text && start[-1] != '\n')
		start--;
	assert_non_null(end);
	snprintf(line, sizeof line, "%.*s", (int)(end - start), start);
	return line;
}

TEST(without_calls_it_says_so_and_the_json_has_no_rows)
{
	/* Runs first. A row that was made and never called is not a row of the report. */
	(void)cs_report_row(CS_BARRIER, 0, false, "never-called", "nobody");
	char *text = rendered(cs_report_print);
	assert_non_null(strstr(text, "no collective was called"));
	assert_null(strstr(text, "never-called"));
	free(text);
	char *json = rendered(cs_report_json);
	assert_contains(json, "{\"collshim\": \"" CS_VERSION "\", \"version\": 2, ");
	assert_contains(json, "\"facts\": {}");
	assert_contains(json, "\"rows\": []");
	assert_null(strstr(json, "never-called"));
	free(json);
}

TEST(without_counting_it_says_so_and_not_that_there_were_no_calls)
{
	cs_report_uncounted("nobody counted");
	char *text = rendered(cs_report_print);
	assert_non_null(strstr(text, "  nobody counted\n"));
	assert_null(strstr(text, "no collective was called"));
	free(text);
	char *json = rendered(cs_report_json);
	assert_contains(json, "\"uncounted\": \"nobody counted\"");
	assert_contains(json, "\"rows\": []");
	free(json);
	cs_report_uncounted(NULL);
}

TEST(sizes_between_two_powers_of_two_share_a_row)
{
	struct cs_report_row *row = cs_report_row(CS_ALLGATHER, 4096, false, "hier:host",
						  "rule t.yaml:3");
	assert_ptr_equal(row,
			 cs_report_row(CS_ALLGATHER, 8191, false, "hier:host", "rule t.yaml:3"));
	assert_int_equal(row->bin, 13);
	const struct {
		size_t bytes;
		int bin;
	} cases[] = { { 0, 0 }, { CS_BYTES_UNKNOWN, CS_REPORT_UNKNOWN }, { 1, 1 }, { 2, 2 },
		      { 3, 2 }, { 4, 3 },
		      { 4095, 12 }, { 8192, 14 }, { SIZE_MAX - 1, 64 } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(cs_report_row(CS_ALLGATHER, cases[i].bytes, false, "a", "b")->bin,
				 cases[i].bin);
}

TEST(any_part_of_the_key_makes_another_row)
{
	struct cs_report_row *row = cs_report_row(CS_SCATTER, 64, false, "x", "y");
	assert_ptr_not_equal(row, cs_report_row(CS_SCATTERV, 64, false, "x", "y"));
	assert_ptr_not_equal(row, cs_report_row(CS_SCATTER, 128, false, "x", "y"));
	assert_ptr_not_equal(row, cs_report_row(CS_SCATTER, 64, true, "x", "y"));
	assert_ptr_not_equal(row, cs_report_row(CS_SCATTER, 64, false, "xy", ""));
	assert_ptr_not_equal(row, cs_report_row(CS_SCATTER, 64, false, "x", "z"));
	assert_ptr_equal(row, cs_report_row(CS_SCATTER, 64, false, "x", "y"));
}

TEST(names_are_copied)
{
	char algorithm[] = "copied-algorithm", why[] = "copied why", value[] = "copied value";
	struct cs_report_row *row = cs_report_row(CS_REDUCE, 64, false, algorithm, why);
	cs_report_fact("copied", value);
	memset(algorithm, 'X', sizeof algorithm - 1);
	memset(why, 'X', sizeof why - 1);
	memset(value, 'X', sizeof value - 1);
	assert_string_equal(row->algorithm, "copied-algorithm");
	assert_string_equal(row->why, "copied why");
	char *text = rendered(cs_report_print);
	assert_non_null(strstr(text, "copied value"));
	free(text);
}

TEST(the_table_shows_a_call_in_human_units)
{
	count(cs_report_row(CS_BCAST, 5000, false, "flat", "forced by COLLSHIM_BCAST"), 12, 60000,
	      3456789);
	char *text = rendered(cs_report_print);
	const char *line = line_with(text, "forced by COLLSHIM_BCAST");
	char name[32], bytes[32], algorithm[32], unit[8];
	unsigned long calls;
	double time;
	assert_int_equal(sscanf(line, " %31s %31s %31s forced by COLLSHIM_BCAST %lu %lf %7s", name,
				bytes, algorithm, &calls, &time, unit), 6);
	assert_string_equal(name, "bcast");
	assert_string_equal(bytes, "4K-8K");
	assert_string_equal(algorithm, "flat");
	assert_int_equal(calls, 12);
	assert_true(time > 3.449 && time < 3.451);
	assert_string_equal(unit, "ms");
	free(text);
}

TEST(a_size_that_is_not_known_is_not_said_to_be_0)
{
	cs_report_count(cs_report_row(CS_GATHERV, CS_BYTES_UNKNOWN, true, "host", "size unknown"),
			CS_BYTES_UNKNOWN, 5);
	cs_report_count(cs_report_row(CS_GATHER, 0, true, "host", "size nothing"), 0, 5);
	cs_report_count(cs_report_row(CS_BARRIER, 0, true, "host", "size never"), 0, 5);
	const struct {
		const char *why, *size;
	} cases[] = { { "size unknown", "-" }, { "size nothing", "0" }, { "size never", "-" } };
	char *text = rendered(cs_report_print), size[32];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		assert_int_equal(sscanf(line_with(text, cases[i].why), " %*s %31s", size), 1);
		assert_string_equal(size, cases[i].size);
	}
	free(text);
	char *json = rendered(cs_report_json);
	assert_non_null(strstr(line_with(json, "size unknown"), "\"bin_low\": null, \"bin_high\": "
								"null, "));
	assert_contains(line_with(json, "size unknown"), "\"calls\": 1, ");
	assert_contains(line_with(json, "size unknown"), "\"bytes\": null, ");
	assert_non_null(strstr(line_with(json, "size nothing"), "\"bin_low\": 0, \"bin_high\": "
								"0, "));
	assert_contains(line_with(json, "size nothing"), "\"bytes\": 0, ");
	free(json);
}

TEST(columns_stand_under_each_other)
{
	count(cs_report_row(CS_GATHER, 64, false, "short", "aligned one"), 1, 64, 5);
	count(cs_report_row(CS_GATHER, 1 << 20, false, "a-much-longer-name", "aligned two"), 123456,
	      64, 5000000000);
	char *text = rendered(cs_report_print);
	const char *one = line_with(text, "aligned one");
	size_t column = (size_t)(strstr(one, "aligned one") - one), length = strlen(one);
	const char *two = line_with(text, "aligned two");
	assert_int_equal(strstr(two, "aligned two") - two, column);
	assert_int_equal(strlen(two), length);
	const char *head = line_with(text, "why");
	assert_int_equal(strstr(head, "why") - head, column);
	free(text);
}

/* Waiting is never more than the time in the call. */
TEST(waiting_and_moving_are_told_apart_where_they_are_known)
{
	char *text = rendered(cs_report_print);
	assert_null(strstr(text, "waiting/call"));
	free(text);
	struct cs_report_row *row = cs_report_row(CS_BCAST, 32, false, "known", "kept apart");
	count(row, 3, 32, 4000);
	cs_report_wait(row, 4000, 1000);
	cs_report_wait(row, 4000, 9000);
	text = rendered(cs_report_print);
	const char *line = line_with(text, "kept apart");
	assert_non_null(strstr(line, " 2.50 us"));
	assert_non_null(strstr(line, " 1.50 us"));
	assert_non_null(strstr(line_with(text, "waiting/call"), "moving/call"));
	free(text);
	text = rendered(cs_report_json);
	line = line_with(text, "kept apart");
	assert_contains(line, "\"known_calls\": 2, \"waiting_seconds\": 0.000005000, "
			      "\"moving_seconds\": 0.000003000, \"waiting\": {\"least\": ");
	free(text);
}

TEST(deferred_rows_follow_served_ones_and_the_share_is_told)
{
	count(cs_report_row(CS_ALLTOALLW, 0, false, "served-last", "z"), 1, 0, 0);
	count(cs_report_row(CS_ALLGATHER, 16, true, "host", "an intercommunicator"), 1, 16, 0);
	char *text = rendered(cs_report_print);
	const char *served = strstr(text, "served-last"),
		   *deferred = strstr(text, "an intercommunicator");
	assert_non_null(served);
	assert_non_null(deferred);
	assert_true(served < deferred);

	unsigned long part, whole;
	double share;
	assert_int_equal(sscanf(line_with(text, "  served "), " served %lu of %lu calls (%lf",
				&part, &whole, &share), 3);
	assert_true(part < whole);
	double expected = 100.0 * (double)part / (double)whole;
	assert_true(share <= expected && share > expected - 0.11);
	free(text);
}

TEST(rows_are_sorted_by_collective_then_size)
{
	count(cs_report_row(CS_ALLTOALL, 1 << 20, false, "sorted", "s3"), 1, 0, 0);
	count(cs_report_row(CS_ALLTOALL, 8, false, "sorted", "s2"), 1, 0, 0);
	count(cs_report_row(CS_ALLREDUCE, 1 << 20, false, "sorted", "s1"), 1, 0, 0);
	char *text = rendered(cs_report_print);
	const char *one = strstr(text, "s1"), *two = strstr(text, "s2"),
		   *three = strstr(text, "s3");
	assert_true(one && two && three && one < two && two < three);
	free(text);
}

TEST(trials_are_shown_by_class)
{
	struct cs_report_trial trial = {
		.coll = CS_BCAST, .low = 64, .last = 511, .ranks = 4, .nodes = 1,
		.ways = { { "chain", 5100 }, { "host", 9000 }, { "hier:host", 520 },
			  { "tree", 0 } },
		.count = 4, .serving = 2, .judged_at = 85, .changed_at = 21, .regret_ns = 3200,
		.calls = 121,
	};
	int first = cs_report_trial(-1, &trial);
	trial.coll = CS_GATHERV;
	trial.low = 0;
	trial.last = SIZE_MAX;
	trial.changed_at = 0;
	assert_int_equal(cs_report_trial(-1, &trial), first + 1);
	trial.nodes = 2;
	assert_int_equal(cs_report_trial(first + 1, &trial), first + 1);
	char *text = rendered(cs_report_print);
	assert_string_equal(line_with(text, "  bcast 64-512, "),
			    "  bcast 64-512, 4 ranks, 1 node: hier:host 520 ns serves since call "
			    "21, chain 5.10 us, host 9.00 us, tree not known, judged at call 85, "
			    "trying took 3.20 us");
	assert_non_null(strstr(text, "  gatherv, 4 ranks, 2 nodes: hier:host 520 ns serves, "));
	free(text);
	char *json = rendered(cs_report_json);
	assert_string_equal(
		line_with(json, "\"changed_at\": 21"),
		"  {\"collective\": \"bcast\", \"bytes_low\": 64, \"bytes_high\": 512, "
		"\"ranks\": 4, \"nodes\": 1, \"serving\": \"hier:host\", \"changed_at\": 21, "
		"\"judged_at\": 85, \"calls\": 121, \"regret_seconds\": 0.000003200, "
		"\"gain_seconds\": 0.000844800, \"ways\": ["
		"{\"algorithm\": \"chain\", \"seconds\": 0.000005100}, "
		"{\"algorithm\": \"host\", \"seconds\": 0.000009000}, "
		"{\"algorithm\": \"hier:host\", \"seconds\": 0.000000520}, "
		"{\"algorithm\": \"tree\", \"seconds\": null}]},");
	assert_non_null(strstr(line_with(json, "gatherv\", \"bytes_low\": null"),
			       "\"bytes_high\": null, \"ranks\": 4, \"nodes\": 2, "));
	free(json);
	/* Calls that took 130 ns in the run, a quarter of the trials', can have won a quarter. */
	for (int size = 64; size < 512; size *= 2)
		count(cs_report_row(CS_BCAST, (size_t)size, false, "hier:host", "gain"), 10, 0,
		      1300);
	count(cs_report_row(CS_BCAST, 512, false, "hier:host", "gain"), 10, 0, 99999);
	count(cs_report_row(CS_BCAST, 64, true, "host", "gain"), 10, 0, 99999);
	json = rendered(cs_report_json);
	assert_non_null(strstr(line_with(json, "\"changed_at\": 21"),
			       "\"gain_seconds\": 0.000208800, "));
	free(json);
	/* Nor more than by the means of the run: 1,000 ns of a call by the MPI less 130. */
	count(cs_report_row(CS_BCAST, 64, true, "host", "tried"), 10, 0, 10000);
	json = rendered(cs_report_json);
	assert_non_null(strstr(line_with(json, "\"changed_at\": 21"),
			       "\"gain_seconds\": 0.000083800, "));
	free(json);
	while (cs_report_trial(-1, &trial) >= 0)
		continue;
	assert_int_equal(cs_report_trial(first, &trial), first);
}

TEST(json_escapes_whatever_a_name_contains)
{
	count(cs_report_row(CS_REDUCE_SCATTER, 1024, true, "host", "a \"q\" \\ \n\t\x01 \xc3\xa9 "
								   "\xff \xe2\x82 \xed\xa0\x80"),
	      3, 3072, 1000000002);
	char *json = rendered(cs_report_json);
	assert_contains(json, "{\"collective\": \"reduce_scatter\", \"bin_low\": 1024, "
			      "\"bin_high\": 2048, \"algorithm\": \"host\", \"why\": \"a \\\"q\\\" "
			      "\\\\ \\u000a\\u0009\\u0001 \xc3\xa9 \\ufffd \\ufffd\\ufffd "
			      "\\ufffd\\ufffd\\ufffd\", \"place\": null, \"deferred\": true, "
			      "\"remedy\": null, \"calls\": 3, \"calls_all\": 3, \"ranks\": 1, "
			      "\"bytes\": 3072, \"seconds\": 1.000000002, \"time\": {\"least\": "
			      "1.000000002, \"mean\": 1.000000002, \"most\": 1.000000002, "
			      "\"rank\": 0}, \"known_calls\": 0, \"waiting_seconds\": null, "
			      "\"moving_seconds\": null, \"waiting\": null, \"moving\": null, ");
	free(json);
}

TEST(a_repeated_fact_replaces_and_a_number_is_a_number)
{
	cs_report_fact("replaced", "old");
	cs_report_fact("replaced", "new");
	cs_report_number("teams made", 1);
	cs_report_number("teams made", 18446744073709551615u);
	char *json = rendered(cs_report_json);
	assert_null(strstr(json, "old"));
	assert_non_null(strstr(json, "\"replaced\": \"new\""));
	assert_non_null(strstr(json, "\"teams made\": 18446744073709551615"));
	free(json);
}

/* --- files ------------------------------------------------------------------------------------ */

static char folder[] = "/tmp/collshim-report-XXXXXX";

static int
make_folder(void **state)
{
	return mkdtemp(folder) ? 0 : -1;
}

static int
remove_folder(void **state)
{
	return rmdir(folder); /* fails if a test left a file behind */
}

static char *
in_folder(const char *name)
{
	static char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static char *
file_text(const char *path)
{
	static char text[1 << 20];
	FILE *in = fopen(path, "r");
	assert_non_null(in);
	size_t length = fread(text, 1, sizeof text - 1, in);
	fclose(in);
	text[length] = 0;
	return text;
}

/* A report without its date and what it says of the machine. */
static const char *
counts_of(const char *json)
{
	const char *counts = strstr(json, "\"trials\": [");
	assert_non_null(counts);
	return counts;
}

/* What cs_report_write puts on stderr. */
static char *
stderr_of_write(const char *destination)
{
	static char text[1 << 20];
	char *path = in_folder("stderr");
	int real = dup(STDERR_FILENO), file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	assert_true(real >= 0 && file >= 0);
	dup2(file, STDERR_FILENO);
	errno = EDOM;
	cs_report_write(destination);
	int error = errno;
	dup2(real, STDERR_FILENO);
	ssize_t length = pread(file, text, sizeof text - 1, 0);
	close(real);
	close(file);
	unlink(path);
	assert_int_equal(error, EDOM);
	assert_true(length >= 0);
	text[length] = 0;
	return text;
}

TEST(a_report_goes_to_the_file_and_nothing_else_stays)
{
	char path[256];
	snprintf(path, sizeof path, "%s", in_folder("report.json"));
	fclose(fopen(path, "w")); /* as mktemp makes it */
	assert_string_equal(stderr_of_write(path), "");
	char *json = rendered(cs_report_json);
	assert_string_equal(counts_of(file_text(path)), counts_of(json));
	free(json);
	assert_int_equal(unlink(path), 0); /* and remove_folder() then finds the folder empty */
}

TEST(another_jobs_report_stays_and_one_line_says_where_this_one_is)
{
	char path[256], second[256], expected[1024];
	snprintf(path, sizeof path, "%s", in_folder("report.json"));
	snprintf(second, sizeof second, "%s", in_folder("report.json.2"));
	FILE *old = fopen(path, "w");
	assert_non_null(old);
	fputs("old", old);
	fclose(old);
	cs_log_set_speaker(true);
	snprintf(expected, sizeof expected,
		 "collshim: report: %s is there already and stays as it is; the report of this run "
		 "is %s\n", path, second);
	assert_string_equal(stderr_of_write(path), expected);
	assert_string_equal(file_text(path), "old");
	char *json = rendered(cs_report_json);
	assert_string_equal(counts_of(file_text(second)), counts_of(json));
	free(json);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(second), 0);
}

TEST(a_relative_path_is_meant_from_where_the_program_began)
{
	char path[256], before[4096];
	snprintf(path, sizeof path, "%s", in_folder("report.json"));
	assert_non_null(getcwd(before, sizeof before));
	assert_int_equal(chdir(folder), 0);
	cs_report_from_here();
	assert_int_equal(chdir("/"), 0);
	assert_string_equal(stderr_of_write("report.json"), "");
	assert_int_equal(chdir(before), 0);
	assert_int_equal(unlink(path), 0);
}

TEST(a_report_to_1_is_the_table_on_stderr)
{
	char *table = rendered(cs_report_print);
	assert_string_equal(stderr_of_write("1"), table);
	free(table);
}

TEST(a_file_that_cannot_be_written_gives_one_line_and_the_table)
{
	char path[256];
	snprintf(path, sizeof path, "%s", in_folder("no/such/folder.json"));
	cs_log_set_speaker(true);
	char *text = stderr_of_write(path);
	char *table = rendered(cs_report_print);
	char expected[512];
	snprintf(expected, sizeof expected, "collshim: report: %s cannot be written: %s; ", path,
		 strerror(ENOENT));
	assert_int_equal(strncmp(text, expected, strlen(expected)), 0);
	const char *rest = strchr(text, '\n');
	assert_non_null(rest);
	assert_string_equal(rest + 1, table);
	free(table);
}

/* There is no room for another name, or no right to make one: of which root has too many to be
 * tested. */
TEST(a_file_beside_which_none_can_be_made_is_written_to)
{
	char path[512], name[NAME_MAX + 1];
	memset(name, 'r', sizeof name - 1);
	name[sizeof name - 1] = '\0';
	snprintf(path, sizeof path, "%s/%s", folder, name);
	assert_string_equal(stderr_of_write(path), "");
	char *json = rendered(cs_report_json);
	assert_string_equal(counts_of(file_text(path)), counts_of(json));
	free(json);
	assert_int_equal(unlink(path), 0);
}

TEST(a_device_or_a_link_is_written_to_and_not_replaced)
{
	char target[256], link[256];
	snprintf(target, sizeof target, "%s", in_folder("target"));
	snprintf(link, sizeof link, "%s", in_folder("link"));
	fclose(fopen(target, "w"));
	assert_int_equal(symlink(target, link), 0);
	assert_string_equal(stderr_of_write(link), "");
	struct stat now;
	assert_int_equal(lstat(link, &now), 0);
	assert_true(S_ISLNK(now.st_mode));
	char *json = rendered(cs_report_json);
	assert_string_equal(counts_of(file_text(target)), counts_of(json));
	free(json);
	unlink(link);
	unlink(target);

	/* That somebody reads a pipe is not waited for. */
	assert_int_equal(mkfifo(link, 0600), 0);
	char *table = rendered(cs_report_print);
	assert_non_null(strstr(stderr_of_write(link), table));
	free(table);
	unlink(link);

	assert_string_equal(stderr_of_write("/dev/null"), "");
	assert_int_equal(lstat("/dev/null", &now), 0);
	assert_true(S_ISCHR(now.st_mode));
}

/* The program has not asked for SIGPIPE, and must not die of what we have to say. */
TEST(a_pipe_that_nobody_reads_does_not_end_the_program)
{
	static _Atomic int warned;
	int ends[2], real = dup(STDERR_FILENO);
	sigset_t broken, before, waiting;
	assert_true(real >= 0 && !pipe(ends));
	close(ends[0]);
	dup2(ends[1], STDERR_FILENO);
	cs_log_set_speaker(true);
	cs_log_warn(&warned, "nobody hears this");
	cs_report_write("1");
	cs_report_write("/dev/stderr");
	dup2(real, STDERR_FILENO);
	assert_true(!sigpending(&waiting) && !sigismember(&waiting, SIGPIPE));

	/* One that the program has raised itself still waits for it afterwards. */
	sigemptyset(&broken);
	sigaddset(&broken, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &broken, &before);
	raise(SIGPIPE);
	errno = 0;
	assert_false(cs_file_write(ends[1], "x", 1));
	assert_int_equal(errno, EPIPE);
	assert_true(!sigpending(&waiting) && sigismember(&waiting, SIGPIPE));
	assert_int_equal(sigtimedwait(&broken, NULL, &(struct timespec){ 0 }), SIGPIPE);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	close(real);
}

/* --- threads, and a full table (last: it fills the table) ------------------------------------- */

#define THREADS 8
#define KEYS 200

static void *
count_from_a_thread(void *rows)
{
	struct cs_report_row **found = rows;
	for (int k = 0; k < KEYS; k++) {
		char why[32];
		snprintf(why, sizeof why, "thread key %d", k);
		found[k] = cs_report_row(CS_ALLTOALLV, CS_BYTES_UNKNOWN, false, "threads", why);
		count(found[k], 1, 10, 100);
		cs_report_number("threads", (uint64_t)k);
	}
	return NULL;
}

TEST(threads_find_the_same_rows_and_lose_no_call)
{
	static struct cs_report_row *found[THREADS][KEYS];
	pthread_t threads[THREADS];
	for (int t = 0; t < THREADS; t++)
		assert_int_equal(pthread_create(&threads[t], NULL, count_from_a_thread, found[t]),
				 0);
	for (int t = 0; t < THREADS; t++)
		pthread_join(threads[t], NULL);
	for (int k = 0; k < KEYS; k++) {
		for (int t = 1; t < THREADS; t++)
			assert_ptr_equal(found[t][k], found[0][k]);
		assert_int_equal(found[0][k]->calls, THREADS);
		assert_int_equal(found[0][k]->bytes, THREADS * 10);
	}
}

/* What the table's last line says. */
static void
read_total(unsigned long *served, unsigned long *calls)
{
	char *table = rendered(cs_report_print);
	const char *line = strstr(table, "\n  served ");
	assert_non_null(line);
	assert_int_equal(sscanf(line, " served %lu of %lu calls", served, calls), 2);
	free(table);
}

TEST(a_full_table_counts_on_in_one_row_named_other)
{
	unsigned long served[2], calls[2];
	struct cs_report_row *row = NULL, *first = NULL;
	for (int k = 0; k < 4096 + 10; k++) {
		char why[32];
		snprintf(why, sizeof why, "full %d", k);
		row = cs_report_row(CS_SCATTERV, 0, true, "host", why);
		assert_non_null(row);
		count(row, 1, 0, 0);
		first = first ? first : row;
	}
	assert_ptr_equal(row, cs_report_row(CS_BCAST, 12345, false, "new", "when full"));
	assert_ptr_equal(first, cs_report_row(CS_SCATTERV, 0, true, "host", "full 0"));
	char *json = rendered(cs_report_json);
	const char *line = line_with(json, "\"algorithm\": \"other\"");
	assert_non_null(strstr(line, "\"collective\": \"other\""));
	free(json);
	/* Nobody knows any more who served these. */
	read_total(&served[0], &calls[0]);
	count(row, 3, 0, 0);
	read_total(&served[1], &calls[1]);
	assert_int_equal(served[1], served[0]);
	assert_int_equal(calls[1], calls[0] + 3);
}

RUN_TESTS(make_folder, remove_folder)
