#include "unit.h"

#include "base/fake_nodes.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/settings.h"
#include "coll/coll.h"

#include <errno.h>

extern char **environ;

static int
clear_environment(void **state)
{
	for (char **entry = environ; *entry;) {
		char name[128];
		if (strncmp(*entry, "COLLSHIM_", 9)) {
			entry++;
			continue;
		}
		snprintf(name, sizeof name, "%.*s", (int)strcspn(*entry, "="), *entry);
		unsetenv(name);
		entry = environ;
	}
	cs_log_set_speaker(true);
	return 0;
}

/* Reads the settings and gives back what was said on the way. */
static const char *
read_settings(struct cs_settings *settings)
{
	static struct said said;
	memset(settings, 0x5a, sizeof *settings);
	said_begin(&said);
	cs_settings_read(settings);
	return said_end(&said);
}

static const char *
fit_settings(struct cs_settings *settings, size_t ranks)
{
	static struct said said;
	said_begin(&said);
	cs_settings_fit(settings, ranks);
	return said_end(&said);
}

TEST(an_empty_environment_gives_the_defaults_in_silence)
{
	struct cs_settings settings;
	assert_string_equal(read_settings(&settings), "");
	assert_false(settings.is_disabled);
	assert_int_equal(settings.verbosity, 0);
	assert_null(settings.report);
	assert_null(settings.tuning);
	assert_null(settings.fake_nodes);
	assert_int_equal(settings.shm, CS_SHM_AUTO);
	assert_int_equal(settings.shm_budget, 0);
	assert_int_equal(settings.cma, CS_SWITCH_AUTO);
	assert_int_equal(settings.team_after, -1);
	assert_int_equal(settings.wire, CS_WIRE_AS_TUNED);
	assert_null(settings.ib_device);
	assert_int_equal(settings.ib_arrival, CS_ARRIVAL_COMPLETION);
	for (size_t i = 0; i < COUNT(settings.force); i++)
		assert_null(settings.force[i]);
}

TEST(every_variable_reaches_its_field)
{
	struct cs_settings settings;
	setenv("COLLSHIM_DISABLE", "1", 1);
	setenv("COLLSHIM_VERBOSE", "2", 1);
	setenv("COLLSHIM_REPORT", "out.json", 1);
	setenv("COLLSHIM_TUNING", "mine.yaml", 1);
	setenv("COLLSHIM_ADAPT_FILE", "/a/learnt.yaml", 1);
	setenv("COLLSHIM_FAKE_NODES", "cyclic:3", 1);
	setenv("COLLSHIM_FAKE_DOMAINS", "2", 1);
	setenv("COLLSHIM_SHM", "named", 1);
	setenv("COLLSHIM_SHM_BUDGET", "64M", 1);
	setenv("COLLSHIM_CMA", "off", 1);
	setenv("COLLSHIM_TEAM_AFTER", "0", 1);
	setenv("COLLSHIM_WIRE", "ib", 1);
	setenv("COLLSHIM_IB_DEVICE", "mlx5_0:1", 1);
	setenv("COLLSHIM_IB_ARRIVAL", "Flag", 1);
	setenv("COLLSHIM_MODULE_DIR", "somewhere", 1);
	assert_string_equal(read_settings(&settings), "");
	assert_true(settings.is_disabled);
	assert_int_equal(settings.verbosity, 2);
	assert_string_equal(settings.report, "out.json");
	assert_string_equal(settings.tuning, "mine.yaml");
	assert_string_equal(settings.adapt_file, "/a/learnt.yaml");
	assert_string_equal(settings.fake_nodes, "cyclic:3");
	assert_int_equal(settings.fake_domains, 2);
	assert_int_equal(settings.shm, CS_SHM_NAMED);
	assert_int_equal(settings.shm_budget, 64 << 20);
	assert_int_equal(settings.cma, CS_SWITCH_OFF);
	assert_int_equal(settings.team_after, 0);
	assert_int_equal(settings.wire, CS_WIRE_IB);
	assert_string_equal(settings.ib_device, "mlx5_0:1");
	assert_int_equal(settings.ib_arrival, CS_ARRIVAL_FLAG);
	cs_log_set_verbosity(0);
}

static void
assert_report(const char *text, const char *expected)
{
	struct cs_settings settings;
	setenv("COLLSHIM_REPORT", text, 1);
	assert_string_equal(read_settings(&settings), "");
	assert_string_equal(settings.report, expected);
	unsetenv("COLLSHIM_REPORT");
}

TEST(a_reports_path_names_the_job_its_task_process_and_host)
{
	static const char *const batch[] = { "SLURM_JOB_ID", "SLURM_JOBID", "SLURM_ARRAY_TASK_ID",
					     "PBS_JOBID", "LSB_JOBID",
					     "PBS_ARRAY_INDEX", "PBS_ARRAYID", "LSB_JOBINDEX",
					     "OAR_JOB_ID", "OAR_ARRAY_INDEX",
					     "FLUX_JOB_ID", "COBALT_JOBID", "PJM_JOBID",
					     "PJM_BULKNUM", "LOADL_STEP_ID", "JOB_ID",
					     "SGE_TASK_ID" };
	char host[128], expected[512];
	for (size_t i = 0; i < COUNT(batch); i++)
		unsetenv(batch[i]);
	unsetenv("PMIX_NAMESPACE");
	assert_int_equal(gethostname(host, sizeof host), 0);
	snprintf(expected, sizeof expected, "r.%ld.%s.json", (long)getpid(), host);
	assert_report("r.%p.%h.json", expected);

	/* Without a batch system the process stands for the job, so that two jobs have two
	 * names. */
	snprintf(expected, sizeof expected, "r_%ld_0", (long)getpid());
	assert_report("r_%j_%a", expected);
	setenv("SLURM_JOB_ID", "4711", 1);
	assert_report("r_%j_%a", "r_4711_0");
	setenv("SLURM_ARRAY_TASK_ID", "5", 1);
	assert_report("r_%j_%a", "r_4711_5");
	unsetenv("SLURM_JOB_ID");
	unsetenv("SLURM_ARRAY_TASK_ID");

	/* No folder of that name, nor one above. */
	setenv("PBS_JOBID", "12[3].server/../x", 1);
	assert_report("/tmp/%j.json", "/tmp/12[3].server_.._x.json");
	unsetenv("PBS_JOBID");

	setenv("JOB_ID", "8", 1);
	snprintf(expected, sizeof expected, "%ld", (long)getpid());
	assert_report("%j", expected);
	setenv("SGE_TASK_ID", "undefined", 1);
	assert_report("%j.%a", "8.0");
	unsetenv("JOB_ID");
	unsetenv("SGE_TASK_ID");

	/* PMIx's name of the job, unless a batch system has one; and reports without a name. */
	setenv("PMIX_NAMESPACE", "prterun-x@1", 1);
	assert_report("%j", "prterun-x@1");
	assert_report("json", "collshim-prterun-x@1.json");
	setenv("SLURM_JOB_ID", "4711", 1);
	assert_report("out/", "out/collshim-4711.json");
	unsetenv("PMIX_NAMESPACE");
	unsetenv("SLURM_JOB_ID");

	/* What stands for nothing stays. */
	assert_report("100%%j%z%", "100%j%z%");
}

/* The table of base/settings cannot see enum cs_coll, so its order is checked here. */
TEST(each_collectives_variable_reaches_the_place_of_that_collective)
{
	for (int i = 0; i < 2 * CS_COLL_COUNT; i++) {
		struct cs_settings settings;
		const struct cs_coll_info *coll = &cs_colls[i % CS_COLL_COUNT];
		const char *variable = i < CS_COLL_COUNT ? coll->variable
							 : coll->nonblocking_variable;
		setenv(variable, coll->name, 1);
		assert_string_equal(read_settings(&settings), "");
		for (int other = 0; other < 2 * CS_COLL_COUNT; other++)
			if (other == i)
				assert_string_equal(settings.force[other], coll->name);
			else
				assert_null(settings.force[other]);
		unsetenv(variable);
	}
}

TEST(a_time_is_a_number_with_a_unit_or_off)
{
	static const struct {
		const char *text;
		uint64_t ns; /* 1: refused */
	} cases[] = { { "off", 0 }, { "OFF", 0 }, { "60", UINT64_C(60000000000) },
		      { "60s", UINT64_C(60000000000) }, { "2m", UINT64_C(120000000000) },
		      { "0.5s", 500000000 }, { "10ms", 10000000 },
		      { "1000h", UINT64_C(3600000000000000) }, { "5ms", 1 }, { "0", 1 },
		      { "-1s", 1 }, { "1001h", 1 }, { "s", 1 }, { "1 s", 1 }, { "nan", 1 },
		      { "inf", 1 }, { "1sec", 1 } };
	struct cs_settings settings, other;
	for (size_t i = 0; i < COUNT(cases); i++) {
		setenv("COLLSHIM_STALL", cases[i].text, 1);
		const char *said = read_settings(&settings);
		assert_int_equal(settings.stall_ns, cases[i].ns == 1 ? 0 : cases[i].ns);
		if (cases[i].ns == 1)
			assert_contains(said, "expected off, or a time from 10ms");
		else
			assert_string_equal(said, "");
	}
	/* Ranks have to agree on whether there is one. */
	setenv("COLLSHIM_STALL", "1m", 1);
	read_settings(&settings);
	setenv("COLLSHIM_STALL", "2m", 1);
	read_settings(&other);
	assert_true(cs_settings_digest(&settings) == cs_settings_digest(&other));
	setenv("COLLSHIM_STALL", "off", 1);
	read_settings(&other);
	assert_false(cs_settings_digest(&settings) == cs_settings_digest(&other));
}

TEST(texts_outlive_the_environment_they_came_from)
{
	struct cs_settings settings;
	setenv("COLLSHIM_BCAST", "hier:host", 1);
	read_settings(&settings);
	setenv("COLLSHIM_BCAST", "overwritten", 1);
	unsetenv("COLLSHIM_BCAST");
	assert_string_equal(settings.force[CS_BCAST], "hier:host");
}

TEST(an_empty_value_is_an_unset_one)
{
	struct cs_settings settings;
	setenv("COLLSHIM_DISABLE", "", 1);
	setenv("COLLSHIM_SHM", "", 1);
	setenv("COLLSHIM_BCAST", "", 1);
	setenv("COLLSHIM_TUNING", "", 1);
	assert_string_equal(read_settings(&settings), "");
	assert_false(settings.is_disabled);
	assert_null(settings.force[CS_BCAST]);
	assert_null(settings.tuning);
}

static void
assert_rank_path(const char *text, int rank, const char *expected)
{
	struct cs_settings settings;
	setenv("COLLSHIM_ARRIVALS", text, 1);
	assert_string_equal(read_settings(&settings), "");
	unsetenv("COLLSHIM_ARRIVALS");
	char *path = cs_settings_rank_path(settings.arrivals, rank);
	assert_string_equal(path, expected);
	free(path);
}

TEST(a_path_of_arrivals_has_the_rank_where_it_says_or_behind_it)
{
	char pid[64];
	assert_rank_path("out", 0, "out.0");
	assert_rank_path("out/%r.bin", 1234, "out/1234.bin");
	assert_rank_path("%r-%r", 7, "7-7");
	assert_rank_path("100%%", 7, "100%.7");
	assert_rank_path("%%r", 7, "%r.7");
	assert_rank_path("%%%r", 7, "%7");
	assert_rank_path("%x%", 7, "%x%.7");
	snprintf(pid, sizeof pid, "a.%ld.3", (long)getpid());
	assert_rank_path("a.%p", 3, pid);
}

TEST(arrivals_are_limited)
{
	struct cs_settings settings;
	assert_string_equal(read_settings(&settings), "");
	assert_null(settings.arrivals);
	assert_int_equal(settings.arrivals_limit, 262144);
	setenv("COLLSHIM_ARRIVALS_LIMIT", "4K", 1);
	assert_string_equal(read_settings(&settings), "");
	assert_int_equal(settings.arrivals_limit, 4096);
	setenv("COLLSHIM_ARRIVALS_LIMIT", "0", 1);
	assert_contains(read_settings(&settings), "expected a number from 1");
	unsetenv("COLLSHIM_ARRIVALS_LIMIT");
	assert_int_equal(settings.arrivals_limit, 262144);
}

TEST(switches_take_the_usual_words)
{
	static const struct {
		const char *text;
		bool is_on;
	} cases[] = { { "0", false }, { "no", false }, { "OFF", false }, { "false", false },
		      { "1", true }, { "yes", true }, { "On", true }, { "TRUE", true } };
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_settings settings;
		setenv("COLLSHIM_DISABLE", cases[i].text, 1);
		setenv("COLLSHIM_REPORT", cases[i].text, 1);
		assert_string_equal(read_settings(&settings), "");
		assert_int_equal(settings.is_disabled, cases[i].is_on);
		if (cases[i].is_on)
			assert_string_equal(settings.report, "1");
		else
			assert_null(settings.report);
	}
}

TEST(a_value_of_several_lines_is_told_on_one)
{
	struct cs_settings settings;
	setenv("COLLSHIM_SHM", "a\nb\x1b[31m", 1);
	const char *line = read_settings(&settings);
	unsetenv("COLLSHIM_SHM");
	assert_contains(line, "COLLSHIM_SHM=a?b?[31m is not understood");
	assert_int_equal(count_lines(line), 1);
}

TEST(a_wrong_value_gives_one_line_and_the_default)
{
	static const struct {
		const char *name, *value, *expected;
	} cases[] = {
		{ "COLLSHIM_DISABLE", "2", "expected 0 or 1" },
		{ "COLLSHIM_DISABLE", "maybe", "expected 0 or 1" },
		{ "COLLSHIM_VERBOSE", "3", "expected 0, 1 or 2" },
		{ "COLLSHIM_VERBOSE", "-1", "expected 0, 1 or 2" },
		{ "COLLSHIM_FAKE_NODES", "0", "expected K, cyclic:K" },
		{ "COLLSHIM_FAKE_NODES", "2,,1", "expected K, cyclic:K" },
		{ "COLLSHIM_FAKE_NODES", "2,", "expected K, cyclic:K" },
		{ "COLLSHIM_FAKE_NODES", "cyclic:", "expected K, cyclic:K" },
		{ "COLLSHIM_FAKE_NODES", "cyclic:2,2", "expected K, cyclic:K" },
		{ "COLLSHIM_FAKE_NODES", "block:2", "expected K, cyclic:K" },
		{ "COLLSHIM_FAKE_NODES", "99999999999999999999", "expected K, cyclic:K" },
		{ "COLLSHIM_FAKE_DOMAINS", "-1", "expected a number from 0 to 1024" },
		{ "COLLSHIM_FAKE_DOMAINS", "2,2", "expected a number from 0 to 1024" },
		{ "COLLSHIM_IB_DEVICE", ":1", "expected a device, or device:port with a port from "
					      "1 to 255" },
		{ "COLLSHIM_IB_DEVICE", "a:b", "expected a device, or device:port" },
		{ "COLLSHIM_IB_DEVICE", "a:", "expected a device, or device:port" },
		{ "COLLSHIM_IB_DEVICE", "a:0", "expected a device, or device:port" },
		{ "COLLSHIM_IB_DEVICE", "a:256", "expected a device, or device:port" },
		{ "COLLSHIM_IB_DEVICE", "a:99999999999", "expected a device, or device:port" },
		{ "COLLSHIM_IB_DEVICE", "a:1:1", "expected a device, or device:port" },
		{ "COLLSHIM_SHM", "sysv", "expected auto, memfd, named or off" },
		{ "COLLSHIM_SHM_BUDGET", "lots", "expected a size from 4K to inf" },
		{ "COLLSHIM_SHM_BUDGET", "0", "expected a size from 4K to inf" },
		{ "COLLSHIM_SHM_BUDGET", "-1", "expected a size from 4K to inf" },
		{ "COLLSHIM_CMA", "1", "expected auto, on or off" },
		{ "COLLSHIM_STREAM", "1", "expected auto, on or off" },
		{ "COLLSHIM_TEAM_AFTER", "inf", "expected a number from 0 to 1000000" },
		{ "COLLSHIM_INIT_TIMEOUT", "1000001", "expected a number of seconds from 0 to "
						      "1000000" },
		{ "COLLSHIM_TEAM_AFTER", "-2", "expected a number from 0 to 1000000" },
		{ "COLLSHIM_TEAM_AFTER", "5000000000", "expected a number from 0 to 1000000" },
		{ "COLLSHIM_WIRE", "verbs", "expected auto, host or ib" },
		{ "COLLSHIM_WIRE", "1", "expected auto, host or ib" },
		/* What is shown where it is not set */
		{ "COLLSHIM_WIRE", "as tuned", "expected auto, host or ib" },
		{ "COLLSHIM_IB_ARRIVAL", "poll", "expected completion or flag" },
	};
	struct cs_settings defaults;
	read_settings(&defaults);
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_settings settings;
		char start[128];
		setenv(cases[i].name, cases[i].value, 1);
		const char *said = read_settings(&settings);
		snprintf(start, sizeof start, "collshim: settings: %s=%s is not understood",
			 cases[i].name, cases[i].value);
		assert_contains(said, start);
		assert_contains(said, cases[i].expected);
		assert_int_equal(count_lines(said), 1);
		assert_memory_equal(&settings, &defaults, sizeof settings);
		unsetenv(cases[i].name);
	}
}

TEST(right_fake_nodes_are_kept_as_written)
{
	static const char *const cases[] = { "1", "16", "cyclic:2", "3,2,1", "1,1,1,1", "1000000" };
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_settings settings;
		setenv("COLLSHIM_FAKE_NODES", cases[i], 1);
		assert_string_equal(read_settings(&settings), "");
		assert_string_equal(settings.fake_nodes, cases[i]);
	}
}

/* "Node of rank 0, of rank 1, ...", a digit each; '-': none. */
TEST(ranks_are_on_the_fake_nodes_that_the_text_gives_them)
{
	static const struct {
		const char *text, *nodes;
	} cases[] = {
		{ "1", "0000" }, { "2", "0011" }, { "2", "00011" }, { "3", "0001122" },
			{ "4", "01" },
		{ "cyclic:2", "01010" }, { "cyclic:3", "0120120" }, { "3,2,1", "000112" },
			{ "3,2,1", "00011222" },
		{ "1,1", "0" }, { "1,3,1", "01112" }, { "02", "01" },
		{ "", "--" }, { "0", "--" }, { "x", "--" }, { "cyclic:", "--" }, { "1,x", "0-" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		int ranks = (int)strlen(cases[i].nodes);
		for (int rank = 0; rank < ranks; rank++) {
			char node = cases[i].nodes[rank];
			assert_int_equal(cs_fake_nodes_of(cases[i].text, rank, ranks),
					 node == '-' ? -1 : node - '0');
		}
	}
}

TEST(nodes_that_a_job_of_so_many_ranks_cannot_have_give_one_line_and_are_forgotten)
{
	static const struct {
		const char *value;
		size_t ranks;
		bool fits;
	} cases[] = {
		{ "7", 2, false }, { "2", 2, true }, { "2", 5, true }, { "cyclic:3", 2, false },
			{ "cyclic:3", 3, true },
		{ "3,2,1", 4, false }, { "3,2,1", 6, true }, { "3,2,1", 9, true },
			{ "1,1", 1, false }, { "2", 1, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_settings settings;
		char start[128];
		setenv("COLLSHIM_FAKE_NODES", cases[i].value, 1);
		read_settings(&settings);
		const char *said = fit_settings(&settings, cases[i].ranks);
		snprintf(start, sizeof start, "collshim: settings: COLLSHIM_FAKE_NODES=%s takes",
			 cases[i].value);
		assert_int_equal(count_lines(said), cases[i].fits ? 0 : 1);
		if (!cases[i].fits)
			assert_contains(said, start);
		assert_int_equal(settings.fake_nodes != NULL, cases[i].fits);
	}
}

TEST(domains_that_a_job_of_so_many_ranks_cannot_have_give_one_line_and_are_forgotten)
{
	struct cs_settings settings;
	setenv("COLLSHIM_FAKE_DOMAINS", "4", 1);
	read_settings(&settings);
	assert_string_equal(fit_settings(&settings, 4), "");
	assert_int_equal(settings.fake_domains, 4);
	const char *said = fit_settings(&settings, 3);
	assert_contains(said, "collshim: settings: COLLSHIM_FAKE_DOMAINS=4 takes 4 ranks or more, "
			      "and the job has 3; it is");
	assert_int_equal(count_lines(said), 1);
	assert_int_equal(settings.fake_domains, 0);
}

TEST(an_unknown_variable_gives_one_line_with_the_nearest_name)
{
	struct cs_settings settings;
	setenv("COLLSHIM_ALGATHER", "host", 1);
	const char *said = read_settings(&settings);
	assert_contains(said, "COLLSHIM_ALGATHER is not a variable of collshim and is ignored");
	assert_contains(said, "did you mean COLLSHIM_ALLGATHER?");
	assert_int_equal(count_lines(said), 1);
	unsetenv("COLLSHIM_ALGATHER");
	setenv("COLLSHIM_ZZZZZZ", "host", 1);
	said = read_settings(&settings);
	assert_contains(said, "COLLSHIM_ZZZZZZ is not a variable");
	assert_null(strstr(said, "did you mean"));
	/* A name that only begins like a known one, or is only the beginning of one. */
	unsetenv("COLLSHIM_ZZZZZZ");
	setenv("COLLSHIM_SHMX", "1", 1);
	setenv("COLLSHIM_", "1", 1);
	assert_int_equal(count_lines(read_settings(&settings)), 2);
}

TEST(many_unknown_variables_give_few_lines)
{
	struct cs_settings settings;
	for (int i = 0; i < 40; i++) {
		char name[32];
		snprintf(name, sizeof name, "COLLSHIM_XX%d", i);
		setenv(name, "1", 1);
	}
	const char *said = read_settings(&settings);
	assert_int_equal(count_lines(said), 6);
	assert_contains(said, "35 more unknown COLLSHIM_* variables");
}

TEST(a_process_that_does_not_speak_for_the_job_says_nothing)
{
	struct cs_settings settings;
	setenv("COLLSHIM_SHM", "wrong", 1);
	setenv("COLLSHIM_NOTHING", "1", 1);
	cs_log_set_speaker(false);
	assert_string_equal(read_settings(&settings), "");
	assert_int_equal(settings.shm, CS_SHM_AUTO);
	cs_log_set_speaker(true);
	assert_int_equal(count_lines(read_settings(&settings)), 2);
}

TEST(the_file_of_what_is_learnt_is_that_of_this_directory)
{
	struct cs_settings settings;
	char here[4096], path[4200];
	assert_non_null(getcwd(here, sizeof here));
	snprintf(path, sizeof path, "%s/learnt.yaml", here);
	setenv("COLLSHIM_ADAPT_FILE", "learnt.yaml", 1);
	assert_string_equal(read_settings(&settings), "");
	assert_string_equal(settings.adapt_file, path);
	unsetenv("COLLSHIM_ADAPT_FILE");
}

TEST(the_digest_covers_what_ranks_must_share_and_nothing_else)
{
	static const struct {
		const char *name, *value;
		bool is_shared;
	} cases[] = {
		{ "COLLSHIM_DISABLE", "1", true }, { "COLLSHIM_FAKE_NODES", "2", true },
		{ "COLLSHIM_FAKE_DOMAINS", "2", true },
		{ "COLLSHIM_SHM", "memfd", true }, { "COLLSHIM_SHM_BUDGET", "1M", true },
		{ "COLLSHIM_CMA", "on", true }, { "COLLSHIM_TEAM_AFTER", "1", true },
		{ "COLLSHIM_REPRODUCIBLE", "1", true },
		{ "COLLSHIM_WIRE", "host", true }, { "COLLSHIM_IB_ARRIVAL", "flag", true },
		{ "COLLSHIM_INIT_TIMEOUT", "1", false },
		{ "COLLSHIM_IB_DEVICE", "mlx5_1", false }, { "COLLSHIM_STREAM", "on", false },
		{ "COLLSHIM_BCAST", "host", true }, { "COLLSHIM_SCATTERV", "host", true },
		{ "COLLSHIM_VERBOSE", "1", false }, { "COLLSHIM_REPORT", "1", false },
		{ "COLLSHIM_TUNING", "x.yaml", false },
		{ "COLLSHIM_ADAPT_FILE", "x.yaml", false }, { "COLLSHIM_MODULE_DIR", "x", false },
	};
	struct cs_settings settings;
	read_settings(&settings);
	uint64_t usual = cs_settings_digest(&settings), seen[COUNT(cases)];
	for (size_t i = 0; i < COUNT(cases); i++) {
		setenv(cases[i].name, cases[i].value, 1);
		read_settings(&settings);
		cs_log_set_verbosity(0);
		seen[i] = cs_settings_digest(&settings);
		if ((seen[i] != usual) != cases[i].is_shared)
			fail_msg("%s=%s: digest %s", cases[i].name, cases[i].value,
				 cases[i].is_shared ? "unchanged" : "changed");
		for (size_t k = 0; k < i; k++)
			assert_true(!cases[i].is_shared || seen[k] != seen[i]);
		unsetenv(cases[i].name);
	}
}

TEST(the_printed_table_has_every_variable_with_its_value)
{
	struct cs_settings settings;
	char text[16384];
	setenv("COLLSHIM_SHM", "memfd", 1);
	setenv("COLLSHIM_SHM_BUDGET", "64M", 1);
	setenv("COLLSHIM_BCAST", "0-4K=host", 1);
	setenv("COLLSHIM_MODULE_DIR", "elsewhere", 1);
	read_settings(&settings);
	FILE *out = fmemopen(text, sizeof text, "w");
	cs_settings_print(out, &settings);
	fclose(out);
	assert_contains(text, "COLLSHIM_SHM = memfd\n");
	assert_contains(text, "COLLSHIM_SHM_BUDGET = 64M\n");
	assert_contains(text, "COLLSHIM_BCAST = 0-4K=host\n");
	assert_contains(text, "COLLSHIM_MODULE_DIR = elsewhere\n");
	assert_contains(text, "COLLSHIM_TEAM_AFTER = as tuned\n");
	assert_contains(text, "COLLSHIM_WIRE = as tuned\n");
	assert_contains(text, "COLLSHIM_INIT_TIMEOUT = 300\n");
	assert_contains(text, "COLLSHIM_IB_DEVICE = not set\n");
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		assert_contains(text, cs_colls[coll].variable);
}

TEST(reading_keeps_errno)
{
	struct cs_settings settings;
	setenv("COLLSHIM_SHM", "wrong", 1);
	errno = 4242;
	read_settings(&settings);
	/* read_settings itself makes a file; so call again directly. */
	cs_log_set_speaker(false);
	errno = 4242;
	cs_settings_read(&settings);
	assert_int_equal(errno, 4242);
}


/* By the words of launchers: how many ranks of the job are on this node. */
TEST(local_ranks_are_as_the_launcher_says)
{
	static const struct {
		const char *name, *text;
		int ranks;
	} cases[] = {
		{ "MPI_LOCALNRANKS", "4", 4 },
		{ "OMPI_COMM_WORLD_LOCAL_SIZE", "128", 128 },
		{ "SLURM_STEP_TASKS_PER_NODE", "8(x3),7", 8 },
		{ "SLURM_STEP_TASKS_PER_NODE", "1,64(x2)", 64 },
		{ "SLURM_STEP_TASKS_PER_NODE", "x", 0 },
		{ "MPI_LOCALNRANKS", "-3", 0 },
		{ "MPI_LOCALNRANKS", "99999999999999999999", 0 },
		{ "MPI_LOCALNRANKS", "", 0 },
	};
	unsetenv("MPI_LOCALNRANKS");
	unsetenv("OMPI_COMM_WORLD_LOCAL_SIZE");
	unsetenv("SLURM_STEP_TASKS_PER_NODE");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		setenv(cases[i].name, cases[i].text, 1);
		assert_int_equal(cs_settings_local_ranks(), cases[i].ranks);
		unsetenv(cases[i].name);
	}
}

RUN_EACH_TEST(clear_environment, NULL)
