/* Rules that jobs have learnt: merged into a tuning file, which no crash, no other writer and no
 * wrong file spoils. */
#include "unit.h"

#include "base/file.h"
#include "select/learnt.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

static char directory[256];
static char file[280], lock[290];

/* ---- system calls, at each of which a process may end ---------------------------------------- */

static int dies_at, step; /* the step-th call from now on; 0: none */

static bool
ends_here(void)
{
	return dies_at && ++step == dies_at;
}

int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
ssize_t __real_write(int fd, const void *data, size_t bytes);
ssize_t __wrap_write(int fd, const void *data, size_t bytes);
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new);

int
__wrap_flock(int fd, int operation)
{
	if (ends_here())
		_exit(9);
	return __real_flock(fd, operation);
}

/* A write may be cut anywhere. */
ssize_t
__wrap_write(int fd, const void *data, size_t bytes)
{
	if (ends_here())
		_exit(__real_write(fd, data, bytes / 2) < 0 ? 8 : 9);
	return __real_write(fd, data, bytes);
}

int
__wrap_fsync(int fd)
{
	if (ends_here())
		_exit(9);
	return __real_fsync(fd);
}

int
__wrap_renameat(int from, const char *old, int to, const char *new)
{
	if (ends_here())
		_exit(9);
	int result = __real_renameat(from, old, to, new);
	if (ends_here())
		_exit(9);
	return result;
}

/* ---- files and jobs -------------------------------------------------------------------------- */

static const struct cs_machine here = { "mpich", "Xeon(R) [E5] *\"2\"", "node7", 8 };
static const struct cs_machine there = { "openmpi", "Xeon(R) [E5] *\"2\"", "node7", 8 };

static int
make_directory(void **state)
{
	if (!mkdtemp(temporary(directory)))
		return -1;
	snprintf(file, sizeof file, "%s/site.yaml", directory);
	snprintf(lock, sizeof lock, "%s.lock", file);
	return 0;
}

/* Unfinished files too, whose names begin with a dot. */
static int
clear(void **state)
{
	char pattern[300];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s/.??*", directory);
	if (!glob(pattern, 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc; i++)
			unlink(found.gl_pathv[i]);
		globfree(&found);
	}
	chmod(directory, 0700);
	unlink(lock);
	unlink(file);
	return 0;
}

static int
remove_directory(void **state)
{
	clear(state);
	return rmdir(directory);
}

static void
put_file(const char *text)
{
	FILE *out = fopen(file, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static const char *
get_file(void)
{
	static char text[1 << 20];
	FILE *in = fopen(file, "r");
	size_t got = in ? fread(text, 1, sizeof text - 1, in) : 0;
	text[got] = '\0';
	if (in)
		fclose(in);
	return text;
}

static struct cs_learnt_entry
entry_of(size_t low, size_t high, const char *algorithm, uint64_t ns)
{
	struct cs_learnt_entry entry = {
		.rule = { .coll = CS_BCAST, .bytes = { low, high }, .ranks = { 16, 17 },
			  .nodes = { 4, 5 }, .ppn = { 4, 5 }, .skew = CS_RANGE_ALL,
			  .placement = CS_PLACEMENT_BLOCK },
		.ns = ns, .host_ns = 3000, .calls = 64,
	};
	cs_use_init(&entry.rule.use, cs_algorithm_by_name(CS_BCAST, algorithm));
	return entry;
}

static void
learn(size_t low, size_t high, const char *algorithm, uint64_t ns)
{
	struct cs_learnt_entry entry = entry_of(low, high, algorithm, ns);
	cs_learnt_add(&entry);
}

/* A job of its own: a line is written once in a process. Returns what it wrote on stderr. */
static const char *
job(const struct cs_machine *machine, void (*learns)(void))
{
	static struct said said;
	int status = -1;
	said_begin(&said);
	pid_t child = fork();
	if (!child) {
		learns();
		errno = 77;
		cs_learnt_write(file, machine);
		_exit(errno == 77 ? 0 : 7);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	said_end(&said);
	if (!WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != 9))
		fail_msg("status %x: %s", status, said.text);
	step = WEXITSTATUS(status);
	return said.text;
}

static void learns_nothing(void) { }
static void learns_ring(void) { learn(4096, 65536, "ring", 2000); }
static void learns_chunks(void) { learn(4096, 65536, "hier:host", 1500); }
static void learns_host(void) { learn(0, 4096, "host", 3000); }
static void
learns_two(void)
{
	learns_host();
	learns_chunks();
	learns_ring();
}

static void
assert_right(size_t errors)
{
	char text[4096] = "";
	FILE *out = fmemopen(text, sizeof text, "w");
	int found = cs_tuning_check(file, out);
	fclose(out);
	if ((size_t)found != errors)
		fail_msg("%d errors: %s\n%s", found, text, get_file());
}

static size_t
count_of(const char *part)
{
	size_t count = 0;
	for (const char *at = get_file(); (at = strstr(at, part)); at += strlen(part))
		count++;
	return count;
}

/* ---- what is in the file --------------------------------------------------------------------- */

TEST(a_job_that_learns_nothing_makes_no_file)
{
	assert_string_equal(job(&here, learns_nothing), "");
	assert_int_equal(access(file, F_OK), -1);
	assert_int_equal(access(lock, F_OK), -1);
}

TEST(the_first_job_makes_a_file_that_is_right)
{
	assert_string_equal(job(&here, learns_two), "");
	assert_right(0);
	assert_contains(get_file(),
			"  machine: {cores: 8, mpi: mpich, cpu: \"Xeon(R) ?E5? ??2?\"}\n");
	assert_contains(get_file(), "      - {collective: bcast, bytes: 0-4K, ranks: 16, nodes: 4, "
				    "ppn: 4, placement: block, use: \"host\"} # 3000 ns, host 3000 "
				    "ns, 64 calls, 20");
	/* The later of two entries of one key. */
	assert_int_equal(count_of("bytes: 4K-64K"), 1);
	assert_contains(get_file(), "use: \"ring\"} # 2000 ns");
	assert_contains(get_file(), ", collshim unit\n");
}

TEST(an_entry_replaces_that_of_its_key_and_others_stay)
{
	job(&here, learns_two);
	assert_string_equal(job(&here, learns_chunks), "");
	assert_right(0);
	assert_int_equal(count_of("- {collective"), 2);
	assert_int_equal(count_of("- name: learnt"), 1);
	assert_contains(get_file(), "use: \"hier:host\", with: {chunk: 64K}} # 1500 ns");
	assert_contains(get_file(), "use: \"host\"");
	assert_string_equal(job(&there, learns_ring), "");
	assert_right(0);
	assert_int_equal(count_of("- name: learnt"), 2);
	assert_int_equal(count_of("- {collective"), 3);
	job(&here, learns_ring);
	assert_int_equal(count_of("use: \"ring\""), 2);
	assert_int_equal(count_of("- {collective"), 3);
}

static void
learns_each_condition(void)
{
	for (int i = 0; i < 9; i++) {
		struct cs_learnt_entry entry = entry_of(64, 65, "ring", 1);
		struct cs_rule *rule = &entry.rule;
		rule->ranks.high += i == 1;
		rule->nodes.high = i == 2 ? CS_INF : rule->nodes.high;
		rule->ppn.low -= i == 3;
		rule->wire = i == 4 ? CS_WIRE_IB : 0;
		rule->placement = i == 5 ? CS_PLACEMENT_CYCLIC : rule->placement;
		rule->imbalance = i == 6 ? 1u << CS_MODERATE | 1u << CS_STRONG : 0;
		rule->form = i == 7 ? CS_FORM_BLOCKING : i == 8 ? CS_FORM_NONBLOCKING : 0;
		cs_learnt_add(&entry);
	}
}

TEST(each_condition_is_part_of_the_key_and_is_read_again)
{
	for (int times = 0; times < 2; times++) {
		assert_string_equal(job(&here, learns_each_condition), "");
		assert_right(0);
		assert_int_equal(count_of("- {collective"), 9);
	}
	assert_contains(get_file(), "nonblocking: no, use");
	assert_contains(get_file(), "nonblocking: yes, use");
	assert_contains(get_file(), "wire: ib, placement: block, use");
	assert_contains(get_file(), "imbalance: [moderate, strong]");
}

static void
learns_too_much(void)
{
	for (size_t i = 0; i < 1000; i++)
		learn(i, i + 1, "ring", 1);
}

static void
learns_more(void)
{
	for (size_t i = 2000; i < 3100; i++)
		learn(i, i + 1, "ring", 1);
}

TEST(the_oldest_go_if_there_are_too_many)
{
	job(&here, learns_host);
	job(&here, learns_too_much);
	assert_int_equal(count_of("- {collective"), 1001);
	assert_string_equal(job(&here, learns_more), "");
	assert_right(0);
	assert_int_equal(count_of("- {collective"), CS_LEARNT_MOST);
	assert_int_equal(count_of("use: \"host\""), 0);
}

#define HEAD "# mine\nversion: 1 # one\n\nlimits: {slots: 8}\n"
#define PROVENANCE "{date: 2026-01-31, library: l, machine: m, command: c}"
#define FOREIGN(dash)                                                                              \
	dash "# before\n" dash "- name: mine   # a comment\n" dash "  provenance: " PROVENANCE     \
	"\n" dash "  rules:\n" dash "  - {collective: bcast, bytes: 0-64,\n" dash                  \
	"     use: host}  # why\n" dash "    # the last\n"

TEST(what_others_wrote_stays_byte_for_byte)
{
	static const char *const befores[] = {
		HEAD, HEAD "blocks:\n" FOREIGN("  "), HEAD "blocks:\n" FOREIGN(""),
		HEAD "blocks:\n" FOREIGN("      ") "\n",
	};
	static const char *const afters[] = { "", "# behind\n" };
	char text[4096], learnt[4096];
	for (size_t i = 0; i < COUNT(befores); i++)
		for (size_t k = 0; k < (i ? COUNT(afters) : 1); k++) {
			const char *after = afters[k];
			snprintf(text, sizeof text, "%s%s", befores[i], after);
			put_file(text);
			assert_string_equal(job(&here, learns_host), "");
			assert_string_equal(job(&here, learns_ring), "");
			assert_string_equal(job(&there, learns_ring), "");
			assert_right(0);
			snprintf(learnt, sizeof learnt, "%s", get_file());
			/* Without our lines it is the old text. */
			if (strncmp(learnt, befores[i], strlen(befores[i])))
				fail_msg("%s", learnt);
			assert_string_equal(learnt + strlen(learnt) - strlen(after), after);
			assert_int_equal(count_of("- {collective"), i ? 4 : 3);
		}
}

TEST(comments_and_rules_by_hand_within_our_block_stay)
{
	job(&here, learns_host);
	char text[4096];
	snprintf(text, sizeof text, "%s      # by hand\n      - {collective: [scan, exscan], use: "
				    "host}\n", get_file());
	put_file(text);
	assert_string_equal(job(&here, learns_ring), "");
	assert_right(0);
	assert_contains(get_file(), "      # by hand\n      - {collective: [scan, exscan], use: "
				    "host}\n");
	assert_int_equal(count_of("- {collective"), 3);
}

TEST(a_file_without_an_end_of_line_gets_one)
{
	put_file("version: 1");
	assert_string_equal(job(&here, learns_ring), "");
	assert_right(0);
	assert_int_equal(count_of("version: 1\nblocks:\n"), 1);
}

/* ---- files that stay as they are ------------------------------------------------------------- */

static void
assert_left(const char *said, const char *why, const char *text)
{
	assert_contains(said, why);
	assert_int_equal(count_lines(said), 1);
	assert_string_equal(get_file(), text);
}

TEST(wrong_files_stay_as_they_are_with_one_line)
{
	static const struct {
		const char *text, *why;
	} cases[] = {
		{ "version: 2\nnews: 1\n", "expected 1, the version of the format" },
		{ "version: 1\nblocks: [\n", "not YAML" },
		{ "", "empty file" },
		{ "version: 1\nblocks: []\n", "stays as it is, since" },
		{ "version: 1\nblocks: [{name: n, provenance: " PROVENANCE ", rules: []}]\n",
		  "stays as it is, since" },
		{ "version: 1\n...\n", "stays as it is, since" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		put_file(cases[i].text);
		assert_left(job(&here, learns_ring), cases[i].why, cases[i].text);
	}
}

static void
learns_a_wrong_rule(void)
{
	struct cs_learnt_entry entry = entry_of(0, 64, "ring", 1);
	entry.rule.skew = (struct cs_range){ 2, 3 };
	cs_learnt_add(&entry);
}

TEST(a_rule_that_would_make_the_file_wrong_is_not_written)
{
	job(&here, learns_host);
	char text[4096];
	snprintf(text, sizeof text, "%s", get_file());
	assert_left(job(&here, learns_a_wrong_rule), "found a condition on skew", text);
}

/* Root may write anywhere. */
static void
learns_without_rights(void)
{
	if (!geteuid() && seteuid(65534))
		_exit(8);
	learns_ring();
}

TEST(what_may_not_be_written_stays)
{
	job(&here, learns_host);
	char text[4096];
	snprintf(text, sizeof text, "%s", get_file());
	chmod(file, 0444);
	assert_left(job(&here, learns_ring), "Permission denied", text);
	chmod(file, 0644);
	chmod(lock, 0666);
	chmod(directory, 0555);
	assert_left(job(&here, learns_without_rights), "site.yaml cannot be written: Permission",
		    text);
	chmod(directory, 0755);
	unlink(lock);
	chmod(directory, 0555);
	assert_left(job(&here, learns_without_rights), "site.yaml.lock cannot be locked: Perm",
		    text);
}

TEST(a_folder_that_is_not_there_is_one_line)
{
	char kept[sizeof file];
	strcpy(kept, file);
	snprintf(file, sizeof file, "%s/none/site.yaml", directory);
	const char *said = job(&here, learns_ring);
	strcpy(file, kept);
	assert_contains(said, "No such file or directory; what this job has learnt is lost\n");
}

static void
learns_beyond_the_limit(void)
{
	learns_too_much();
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 4096, RLIM_INFINITY });
}

/* RLIMIT_FSIZE fails as a full disk does, and sends a signal besides. */
TEST(a_full_disk_leaves_the_old_file)
{
	job(&here, learns_host);
	char text[4096];
	snprintf(text, sizeof text, "%s", get_file());
	assert_left(job(&here, learns_beyond_the_limit), "File too large", text);
	unlink(file);
	assert_int_equal(symlink("/dev/full", file), 0);
	const char *said = job(&here, learns_ring);
	assert_contains(said, "expected a regular file");
	assert_int_equal(count_lines(said), 1);
}

/* ---- crashes and other jobs ------------------------------------------------------------------ */

TEST(a_crash_at_any_system_call_leaves_the_old_file_or_the_new_one)
{
	char old[4096], new[4096];
	int crashes = 0;
	job(&here, learns_host);
	snprintf(old, sizeof old, "%s", get_file());
	job(&here, learns_ring);
	snprintf(new, sizeof new, "%s", get_file());
	for (dies_at = 1, step = 9; step == 9; dies_at++) {
		put_file(old);
		step = 0;
		job(&here, learns_ring);
		if (strcmp(get_file(), old) && strcmp(get_file(), new))
			fail_msg("call %d: %s", dies_at, get_file());
		crashes += step == 9;
	}
	dies_at = 0;
	assert_string_equal(get_file(), new);
	assert_in_range(crashes, 5, 50);
	put_file(old);
	assert_string_equal(job(&here, learns_ring), "");
	assert_string_equal(get_file(), new);
}

TEST(jobs_that_end_together_lose_nothing)
{
	enum { JOBS = 8 };
	pid_t children[JOBS];
	for (int i = 0; i < JOBS; i++) {
		children[i] = fork();
		if (children[i])
			continue;
		for (size_t k = 0; k < 4; k++) {
			learn((size_t)i * 100 + k, (size_t)i * 100 + k + 1, "ring", 1);
			cs_learnt_write(file, i % 2 ? &here : &there);
		}
		_exit(0);
	}
	for (int i = 0; i < JOBS; i++)
		assert_int_equal(waitpid(children[i], NULL, 0), children[i]);
	assert_right(0);
	assert_int_equal(count_of("- {collective"), JOBS * 4);
	assert_int_equal(count_of("- name: learnt"), 2);
}

TEST(a_lock_that_another_process_keeps_is_not_waited_for_for_ever)
{
	job(&here, learns_host);
	char text[4096];
	snprintf(text, sizeof text, "%s", get_file());
	int held = open(lock, O_RDWR);
	assert_int_equal(__real_flock(held, LOCK_EX), 0);
	assert_left(job(&here, learns_ring), "site.yaml.lock cannot be locked: Resource", text);
	close(held);
}

static void *
add_many(void *first)
{
	for (size_t i = 0; i < 100; i++)
		learn(*(size_t *)first + i, *(size_t *)first + i + 1, "ring", i);
	return NULL;
}

static void
learns_in_threads(void)
{
	pthread_t threads[4];
	size_t firsts[4] = { 0, 50, 100, 150 };
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, add_many, &firsts[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
}

TEST(any_thread_may_add)
{
	assert_string_equal(job(&here, learns_in_threads), "");
	assert_int_equal(count_of("- {collective"), 250);
}

/* ---- the next job ---------------------------------------------------------------------------- */

static struct cs_selector *
make(const char *tuning, const char *adapt_file)
{
	struct cs_settings settings = { .team_after = -1, .tuning = tuning,
					.adapt_file = adapt_file };
	struct cs_selector *selector;
	assert_int_equal(cs_selector_create(&selector, &settings, &here), CS_OK);
	return selector;
}

static struct cs_choice
choose(const struct cs_selector *selector, size_t bytes)
{
	const struct cs_facts facts = { CS_BCAST, bytes, 16, 4, 4, 4, true, true, 1,
					CS_WIRE_HOST };
	struct cs_choice choice;
	cs_selector_choose(selector, &facts, &choice);
	return choice;
}

TEST(the_next_job_begins_with_what_was_learnt)
{
	struct cs_selector *plain = make("builtin", NULL), *none = make("builtin", file);
	assert_true(cs_selector_digest(plain) == cs_selector_digest(none));
	job(&here, learns_two);
	struct cs_selector *selector = make("builtin", file), *again = make("builtin", file);
	struct cs_choice choice = choose(selector, 8192);
	assert_string_equal(choice.algorithm->name, "ring");
	assert_int_equal(choice.why, CS_WHY_LEARNT);
	assert_int_equal(strncmp(choice.reason, "learnt site.yaml:", 17), 0);
	assert_int_equal(choice.bytes_low, 4096);
	assert_null(choose(selector, 8).algorithm);
	assert_int_equal(choose(selector, 1 << 20).why, choose(plain, 1 << 20).why);
	/* All ranks of a job have to have read it. */
	assert_true(cs_selector_digest(selector) == cs_selector_digest(again));
	assert_true(cs_selector_digest(selector) != cs_selector_digest(plain));
	cs_selector_forget(again);
	assert_true(cs_selector_digest(again) == cs_selector_digest(plain));
	assert_int_equal(choose(again, 8192).why, choose(plain, 8192).why);
	cs_selector_destroy(again);
	job(&there, learns_chunks);
	assert_string_equal(choose(selector, 8192).algorithm->name, "ring");
	cs_selector_destroy(selector);
	cs_selector_destroy(none);
	cs_selector_destroy(plain);
}

TEST(a_file_that_is_named_for_tuning_decides_before)
{
	char other[300];
	job(&here, learns_ring);
	snprintf(other, sizeof other, "%s/.other.yaml", directory);
	FILE *out = fopen(other, "w");
	fputs("version: 1\nblocks:\n" FOREIGN("  "), out);
	fputs("    - {collective: bcast, use: \"hier:host\"}\n", out);
	fclose(out);
	struct cs_selector *selector = make(other, file);
	assert_int_equal(choose(selector, 8192).why, CS_WHY_RULE);
	cs_selector_destroy(selector);
	/* Learnt rules are known in any file. */
	selector = make(file, file);
	assert_int_equal(choose(selector, 8192).why, CS_WHY_LEARNT);
	cs_selector_destroy(selector);
}

TEST(a_wrong_file_changes_nothing_but_for_one_line)
{
	struct cs_selector *plain = make("builtin", NULL);
	struct said said;
	put_file("version: 7\n");
	said_begin(&said);
	struct cs_selector *selector = make("builtin", file);
	struct cs_learnt_entry entry = entry_of(0, 64, "ring", 1);
	cs_learnt_add(&entry);
	cs_learnt_write(file, &here);
	said_end(&said);
	assert_left(said.text, "nothing that was learnt is read from it, and it stays as it is "
			       "[ignored:tuning]\n", "version: 7\n");
	assert_true(cs_selector_digest(selector) == cs_selector_digest(plain));
	cs_selector_destroy(selector);
	cs_selector_destroy(plain);
}

int
main(void)
{
	for (size_t i = 0; i < unit_test_count; i++)
		unit_tests[i].teardown_func = clear;
	return run_all(make_directory, remove_directory);
}
