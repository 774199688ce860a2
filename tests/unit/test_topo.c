/* Devices of a machine that hwloc is told of by a file: this process is bound to one core of it. */
#include "unit.h"

#include "topo/topo.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Two packages, the first of two NUMA domains; a device at each domain and one at the machine. `here` is our core, the other
 * cores have the two numbers behind it. */
static void
write_machine(const char *path, int here)
{
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	char all[64], both[64], cores[3][32];
	unsigned long long bit = 1ull << (here % 32);
	assert_true(here < 30); /* one word of hwloc's masks */
	snprintf(all, sizeof all, "0x%08llx", bit * 7);
	snprintf(both, sizeof both, "0x%08llx", bit * 3);
	for (int i = 0; i < 3; i++)
		snprintf(cores[i], sizeof cores[i], "0x%08llx", bit << i);
#define SETS(cpus, nodes)                                                                                              \
	"cpuset=\"%s\" complete_cpuset=\"%s\" nodeset=\"" nodes "\" complete_nodeset=\"" nodes "\"", cpus, cpus
	fprintf(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
		     "<topology version=\"2.0\">\n<object type=\"Machine\" os_index=\"0\" allowed_cpuset=\"%s\" "
		     "allowed_nodeset=\"0x00000007\" gp_index=\"1\" ", all);
	fprintf(out, SETS(all, "0x00000007"));
	fprintf(out, ">\n<object type=\"OSDev\" gp_index=\"2\" name=\"far0\" osdev_type=\"3\"/>\n"
		     "<object type=\"Package\" os_index=\"0\" gp_index=\"3\" ");
	fprintf(out, SETS(both, "0x00000003"));
	fputs(">\n", out);
	for (int i = 0; i < 3; i++) {
		static const char *const nodes[] = { "0x00000001", "0x00000002", "0x00000004" };
		const char *kind = i < 2 ? "type=\"Group\" kind=\"1000\" subkind=\"0\"" : "type=\"Package\" os_index=\"1\"";
		if (i == 2)
			fputs("</object>\n", out);
		for (int level = 0; level < 3; level++) {
			static const char *const types[] = { "", "type=\"NUMANode\"", "type=\"PU\"" };
			if (level)
				fprintf(out, "<object %s os_index=\"%d\"", types[level], level == 1 ? i : here + i);
			else
				fprintf(out, "<object %s", kind);
			fprintf(out, " gp_index=\"%d\" cpuset=\"%s\" complete_cpuset=\"%s\" nodeset=\"%s\" "
				     "complete_nodeset=\"%s\"%s>\n", 10 + 4 * i + level, cores[i], cores[i], nodes[i], nodes[i],
				level ? "/" : "");
		}
		fprintf(out, "<object type=\"OSDev\" gp_index=\"%d\" name=\"rdma%d\" osdev_type=\"3\"/>\n</object>\n",
			13 + 4 * i, i);
	}
	fputs("</object>\n</topology>\n", out);
	fclose(out);
}

static int
bind_to_a_core(void)
{
	cpu_set_t cpus;
	assert_int_equal(sched_getaffinity(0, sizeof cpus, &cpus), 0);
	int here = 0;
	while (!CPU_ISSET(here, &cpus))
		here++;
	CPU_ZERO(&cpus);
	CPU_SET(here, &cpus);
	assert_int_equal(sched_setaffinity(0, sizeof cpus, &cpus), 0);
	return here;
}

static void
devices_are_as_far_as_their_domain_and_package(void **state)
{
	char path[256];
	int file = mkstemp(temporary(path)), here = bind_to_a_core();
	assert_true(file >= 0);
	close(file);
	if (here >= 30) {
		unlink(path);
		leave_out("no core below 30 is allowed here");
	}
	write_machine(path, here);
	setenv("HWLOC_XMLFILE", path, 1);
	setenv("HWLOC_THISSYSTEM", "1", 1);
	struct cs_topo_counts counts;
	cs_topo_count(&counts);
	assert_int_equal(counts.threads, 3);
	assert_int_equal(counts.near_threads, 1);
	assert_int_equal(counts.domains, 3);
	assert_int_equal(counts.near_domains, 1);
	assert_int_equal(counts.packages, 2);
	assert_int_equal(counts.near_packages, 1);
	assert_int_equal(cs_topo_distance("rdma1"), 1);
	/* Asked once. */
	unsetenv("HWLOC_XMLFILE");
	unlink(path);
	assert_int_equal(cs_topo_distance("rdma0"), 0);
	assert_int_equal(cs_topo_distance("rdma2"), 2);
	assert_int_equal(cs_topo_distance("far0"), 0); /* as near to all */
	assert_int_equal(cs_topo_distance("unheard"), 0);
	assert_int_equal(cs_topo_distance("rdma"), 0);
}

/* By what hwloc says of itself, where its plugins are installed; in a process of its own, since devices are asked for once. */
static void
no_other_devices_are_looked_for(void **state)
{
	char path[256], line[1024] = "";
	int file = mkstemp(temporary(path)), status = -1;
	assert_true(file >= 0);
	pid_t child = fork();
	if (child == 0) {
		setenv("HWLOC_COMPONENTS_VERBOSE", "1", 1);
		dup2(file, STDERR_FILENO);
		_exit(cs_topo_distance("unheard"));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	FILE *said = fdopen(file, "r");
	assert_non_null(said);
	rewind(said);
	while (!strstr(line, "Final list of enabled") && fgets(line, sizeof line, said))
		;
	fclose(said);
	unlink(path);
	assert_non_null(strstr(line, "Final list of enabled"));
	static const char *const others[] = { "x86", "cuda", "gl", "levelzero", "nvml", "opencl", "rsmi" };
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		if (strstr(line, others[i]))
			fail_msg("%s", line);
}

static void
this_machine_has_cores(void **state)
{
	struct cs_topo_counts counts;
	unsetenv("HWLOC_XMLFILE");
	cs_topo_count(&counts);
	assert_true(counts.near_threads >= 1 && counts.near_threads <= counts.threads);
	assert_true(counts.near_domains >= 1 && counts.near_domains <= counts.domains);
}

static int bindings;

/* In place of libc's for hwloc too; the test's own calls of it go on. */
__attribute__((visibility("default"))) int
sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
	bindings++;
	return (int)syscall(SYS_sched_setaffinity, pid, size, cpus);
}

/* In processes of their own: each is looked for once. */
static void
nothing_is_bound_elsewhere_to_look(void **state)
{
	for (int i = 0; i < 3; i++) {
		struct cs_topo_counts counts;
		int status = -1;
		pid_t child = fork();
		if (child == 0) {
			bindings = 0;
			if (i == 0)
				cs_topo_place();
			else if (i == 1)
				cs_topo_count(&counts);
			else
				cs_topo_distance("unheard");
			_exit(bindings);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
	}
}

enum { SAME, OTHER_NAME, OTHER_MEMORY, OTHER_PIDS };

/* What a child has for the node, after it was moved out of one of the things that make it; 0: it may not move. */
static uint64_t
word_of_child(int what)
{
	int ends[2], status;
	uint64_t word = 0;
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		bool may = what == SAME ||
			   (what == OTHER_NAME && unshare(CLONE_NEWUTS) == 0 && sethostname("elsewhere", 9) == 0) ||
			   (what == OTHER_MEMORY && unshare(CLONE_NEWNS) == 0 &&
			    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			    mount("none", "/dev/shm", "tmpfs", 0, NULL) == 0) ||
			   (what == OTHER_PIDS && unshare(CLONE_NEWPID) == 0);
		pid_t grandchild = may && what == OTHER_PIDS ? fork() : 0;
		if (grandchild)
			_exit(waitpid(grandchild, NULL, 0) != grandchild);
		word = may ? cs_topo_node() : 0;
		_exit(write(ends[1], &word, sizeof word) != sizeof word);
	}
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], &word, sizeof word), sizeof word);
	close(ends[0]);
	return word;
}

static void
a_node_is_kernel_name_memory_and_pids(void **state)
{
	uint64_t own = cs_topo_node();
	assert_true(own != 0);
	assert_true(own == cs_topo_node());
	assert_true(own == word_of_child(SAME));
	int moved = 0;
	for (int what = OTHER_NAME; what <= OTHER_PIDS; what++) {
		uint64_t word = word_of_child(what);
		assert_true(word != own);
		moved += word != 0;
	}
	if (!moved)
		leave_out("this process may make no namespaces");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_other_devices_are_looked_for),
		cmocka_unit_test(nothing_is_bound_elsewhere_to_look),
		cmocka_unit_test(a_node_is_kernel_name_memory_and_pids),
		cmocka_unit_test(this_machine_has_cores),
		cmocka_unit_test(devices_are_as_far_as_their_domain_and_package),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
