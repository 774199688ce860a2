/* shm/headroom.h over made-up trees: which control groups a process is in, and the least that is
 * free in them. */
#include "unit.h"

#include "shm/headroom.h"

#include <sys/stat.h>

#define MIB ((uint64_t)1 << 20)
#define V1_NONE "9223372036854771712\n"

static char root[256];

/* With the folders before it. */
static void
put(const char *path, const char *text)
{
	char whole[512];
	snprintf(whole, sizeof whole, "%s%s", root, path);
	for (char *slash = whole + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(whole, 0700);
		*slash = '/';
	}
	FILE *file = fopen(whole, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static int
make(void **state)
{
	assert_non_null(mkdtemp(temporary(root)));
	put("/proc/meminfo", "MemTotal: 8388608 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB\n");
	return 0;
}

static int
remove_all(void **state)
{
	char command[300];
	snprintf(command, sizeof command, "rm -rf '%s'", root);
	return system(command);
}

static void
expect(enum cs_limit by, uint64_t free, int count)
{
	struct cs_cgroups groups;
	struct cs_headroom headroom;
	cs_cgroups_find(&groups, root);
	cs_headroom_look(&headroom, &groups, root);
	assert_string_equal(cs_limit_name(headroom.by), cs_limit_name(by));
	assert_true(headroom.free == free);
	assert_int_equal(groups.count, count);
	cs_cgroups_fini(&groups);
}

#define V2 "31 23 0:28 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define NO_MEMORY_V1 "30 23 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"

TEST(without_groups_the_machine_is_the_limit)
{
	expect(CS_LIMIT_MACHINE, 4096 * MIB, 0);
	put("/proc/self/cgroup", "");
	put("/proc/self/mountinfo", "not a line of it\n1 2 3\n\n36 35 98:0 - cgroup2\n - cgroup "
				    "cgroup memory\n");
	expect(CS_LIMIT_MACHINE, 4096 * MIB, 0);
	put("/proc/meminfo", "MemTotal: 1 kB\n");
	expect(CS_LIMIT_NONE, UINT64_MAX, 0);
}

TEST(the_tightest_of_all_enclosing_groups_decides)
{
	put("/proc/self/cgroup", "0::/slice/job/step\n");
	put("/proc/self/mountinfo", NO_MEMORY_V1 V2);
	put("/sys/fs/cgroup/slice/job/step/memory.max", "max\n");
	put("/sys/fs/cgroup/slice/job/step/memory.high", "max\n");
	put("/sys/fs/cgroup/slice/job/step/memory.current", "50000000\n");
	expect(CS_LIMIT_MACHINE, 4096 * MIB, 4);
	put("/sys/fs/cgroup/slice/job/memory.max", "104857600\n"); /* 100 MiB */
	put("/sys/fs/cgroup/slice/job/memory.current", "62914560\n");
	expect(CS_LIMIT_MAX, 40 * MIB, 4);
	put("/sys/fs/cgroup/slice/memory.high", "209715200\n");
	put("/sys/fs/cgroup/slice/memory.current", "178257920\n");
	expect(CS_LIMIT_HIGH, 30 * MIB, 4);
	put("/sys/fs/cgroup/slice/job/step/memory.max", "52428800\n");
	expect(CS_LIMIT_MAX, 52428800 - 50000000, 4);
	/* The limit was lowered */
	put("/sys/fs/cgroup/slice/job/step/memory.current", "60000000\n");
	expect(CS_LIMIT_MAX, 0, 4);
}

TEST(idle_pages_of_files_are_free)
{
	put("/proc/self/cgroup", "0::/job\n");
	put("/proc/self/mountinfo", V2);
	put("/sys/fs/cgroup/job/memory.max", "104857600\n");
	put("/sys/fs/cgroup/job/memory.current", "94371840\n");
	put("/sys/fs/cgroup/job/memory.stat", "anon 1\nfile 2\nactive_file 7\ninactive_file "
					      "20971520\nslab 3\n");
	expect(CS_LIMIT_MAX, 30 * MIB, 2);
}

TEST(version_1_has_other_names)
{
	put("/proc/self/cgroup", "9:cpu,cpuacct:/other\n4:memory:/docker/abc\n0::/\n");
	put("/proc/self/mountinfo",
	    NO_MEMORY_V1 "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 master:2 - "
			 "cgroup cgroup rw,memory\n"
			 "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/unified/cgroup.procs", "");
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", V1_NONE);
	put("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "419430400\n");
	put("/sys/fs/cgroup/memory/docker/memory.usage_in_bytes", "104857600\n");
	put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", V1_NONE);
	put("/sys/fs/cgroup/memory/docker/abc/memory.usage_in_bytes", "52428800\n");
	expect(CS_LIMIT_V1, 300 * MIB, 4);
	put("/sys/fs/cgroup/memory/docker/memory.stat", "inactive_file 1\ntotal_inactive_file "
							"52428800\n");
	expect(CS_LIMIT_V1, 350 * MIB, 4);
	/* What a group that is not to be seen leaves. */
	put("/sys/fs/cgroup/memory/docker/abc/memory.stat",
	    "hierarchical_memory_limit 104857600\n");
	expect(CS_LIMIT_V1, 50 * MIB, 4);
	/* No limit around a group means that those groups need not be looked at. */
	put("/sys/fs/cgroup/memory/docker/abc/memory.stat", "hierarchical_memory_limit " V1_NONE);
	expect(CS_LIMIT_MACHINE, 4096 * MIB, 4);
}

TEST(a_container_sees_its_group_at_the_top)
{
	/* Of version 1, mounted from the own group on; of version 2, in a namespace of groups, and
	 * joined from outside. */
	static const char *const own[] = { "0::/\n", "0::/../../other\n", "0::/kubepods/pod/box\n",
					   "0::/nowhere\n", "0::/..\n" };
	put("/sys/fs/cgroup/memory.max", "104857600\n");
	put("/sys/fs/cgroup/memory.current", "0\n");
	for (size_t i = 0; i < COUNT(own); i++) {
		put("/proc/self/cgroup", own[i]);
		put("/proc/self/mountinfo", i == 2 ? "31 23 0:28 /kubepods/pod/box /sys/fs/cgroup "
						     "ro - cgroup2 cgroup rw\n" : V2);
		expect(CS_LIMIT_MAX, 100 * MIB, 1);
	}
	put("/proc/self/cgroup", "4:memory:/docker/abc\n0::/\n");
	put("/proc/self/mountinfo", "35 31 0:32 /docker/abc /sys/fs/cgroup/me\\040m ro - cgroup "
				    "cgroup rw,memory\n");
	put("/sys/fs/cgroup/me m/memory.limit_in_bytes", "52428800\n");
	put("/sys/fs/cgroup/me m/memory.usage_in_bytes", "10485760\n");
	expect(CS_LIMIT_V1, 40 * MIB, 1);
	/* Another group's name is no beginning of this one's. */
	put("/proc/self/cgroup", "4:memory:/docker/abcd\n");
	expect(CS_LIMIT_V1, 40 * MIB, 1);
}

TEST(what_is_no_number_is_no_limit)
{
	static const char *const texts[] =
		{ "", "\n", "max\n", "none\n", "99999999999999999999999\n" };
	put("/proc/self/cgroup", "0::/job\n");
	put("/proc/self/mountinfo", V2);
	for (size_t i = 0; i < COUNT(texts); i++) {
		put("/sys/fs/cgroup/job/memory.max", texts[i]);
		put("/sys/fs/cgroup/job/memory.current", texts[i]);
		expect(CS_LIMIT_MACHINE, 4096 * MIB, 2);
	}
}

TEST(processes_of_the_same_groups_have_the_same_digest)
{
	struct cs_cgroups one, other;
	put("/proc/self/cgroup", "0::/job/task_0\n");
	put("/proc/self/mountinfo", V2);
	cs_cgroups_find(&one, root);
	cs_cgroups_find(&other, root);
	assert_true(one.digest == other.digest);
	cs_cgroups_fini(&other);
	put("/proc/self/cgroup", "0::/job/task_1\n");
	cs_cgroups_find(&other, root);
	assert_true(one.digest != other.digest);
	cs_cgroups_fini(&one);
	cs_cgroups_fini(&other);
}

RUN_EACH_TEST(make, remove_all)
