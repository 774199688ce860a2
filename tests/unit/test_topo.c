/* The table of a machine, of files that the test writes; and which files are opened for it. */
#include "unit.h"

#include "topo/count.h"
#include "topo/topo.h"

#include <fcntl.h>
#include <ftw.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* --- what is opened --------------------------------------------------------------------------- */

#define MOST_OPENED 1024

static char opened[MOST_OPENED][160];
static int openings;

/* The name that it has with meson's 64 bits for offsets. */
int __real_open64(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

int
__wrap_open64(const char *path, int flags, ...)
{
	if (openings < MOST_OPENED)
		snprintf(opened[openings], sizeof *opened, "%s", path);
	openings++;
	return __real_open64(path, flags);
}

/* Reads the table, each file at most once and at most so many. */
static void
read_machine(const char *root, struct cs_topo_machine *machine, int most)
{
	openings = 0;
	cs_topo_read(root, machine);
	assert_int_equal(machine->files, openings);
	if (openings > most)
		fail_msg("%d files are opened, the last one is %s", openings, opened[most]);
	for (int i = 0; i < openings; i++)
		for (int k = 0; k < i; k++)
			if (!strcmp(opened[i], opened[k]))
				fail_msg("%s is opened twice", opened[i]);
}

/* --- files of /sys ---------------------------------------------------------------------------- */

/* A file below sys/ whose name printf makes. */
static void __attribute__((format(printf, 2, 4)))
put(const char *root, const char *name, const char *text, ...)
{
	char path[512], *slash;
	va_list arguments;
	int length = snprintf(path, sizeof path, "%s/sys/", root);
	va_start(arguments, text);
	vsnprintf(path + length, sizeof path - (size_t)length, name, arguments);
	va_end(arguments);
	for (slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		*slash = '\0';
		mkdir(path, 0700);
	}
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static int
remove_one(const char *path, const struct stat *status, int kind, struct FTW *where)
{
	return remove(path);
}

static void
clear(const char *path)
{
	nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void
make_root(char root[256])
{
	assert_non_null(mkdtemp(temporary(root)));
}

/* Two packages of four NUMA domains, each of two caches of eight cores with two hardware threads,
 * which are 128 apart: 256 in all. Cores 5 (5, 133) and 64 (64, 192) are offline. Domains are nodes
 * 0 to 3 and 8 to 11; node 16 has memory alone. */
#define CORES 128
#define IS_OFFLINE(core) ((core) == 5 || (core) == 64)

/* "0-4,6-15,128-132,134-143": the threads of `count` cores from `first` on, as the kernel writes
 * them. */
static char *
list(char *text, int first, int count)
{
	char *at = text;
	for (int from = first; from <= first + CORES; from += CORES)
		for (int core = 0, end; core < count; core = end + 1) {
			for (end = core; end < count && !IS_OFFLINE(first + end); end++)
				;
			if (end > core)
				at += sprintf(at, "%s%d-%d", at == text ? "" : ",", from + core,
					      from + end - 1);
		}
	strcpy(at, "\n");
	return text;
}

#define CACHE_LIST "devices/system/cpu/cpu%d/cache/index%d/shared_cpu_list"

static void
write_machine(const char *root, const char *package_file, int cache_index)
{
	char text[512];
	put(root, "devices/system/node/has_cpu", "0-3,8-11\n");
	put(root, "devices/system/node/online", "0-3,8-11,16\n");
	put(root, "devices/system/node/node16/cpulist", "\n");
	for (int domain = 0; domain < 8; domain++)
		put(root, "devices/system/node/node%d/cpulist", list(text, 16 * domain, 16),
		    domain < 4 ? domain : domain + 4);
	put(root, "devices/system/cpu/possible", "0-511\n");
	put(root, "devices/system/cpu/online", list(text, 0, CORES));
	for (int cpu = 0; cpu < 2 * CORES; cpu++) {
		int core = cpu % CORES;
		if (IS_OFFLINE(core))
			continue;
		if (package_file)
			put(root, "devices/system/cpu/cpu%d/topology/%s",
			    list(text, core / 64 * 64, 64), cpu, package_file);
		if (!cache_index)
			continue;
		put(root, CACHE_LIST, list(text, core / 8 * 8, 8), cpu, cache_index);
		put(root, CACHE_LIST, list(text, core, 1), cpu, cache_index - 1);
	}
}

static int
expected(enum cs_topo_kind kind, int cpu)
{
	int core = cpu % CORES;
	if (cpu >= 2 * CORES || IS_OFFLINE(core))
		return CS_TOPO_UNKNOWN;
	return kind == CS_TOPO_PACKAGE ? core / 64 : kind == CS_TOPO_DOMAIN ? core / 16 : core / 8;
}

static void
expect_table(const struct cs_topo_machine *machine, bool has_packages, bool has_domains,
	     bool has_caches)
{
	const bool has[] = { [CS_TOPO_PACKAGE] = has_packages, [CS_TOPO_DOMAIN] = has_domains,
			     [CS_TOPO_CACHE] = has_caches };
	const int counts[] = { [CS_TOPO_PACKAGE] = 2, [CS_TOPO_DOMAIN] = 8, [CS_TOPO_CACHE] = 16 };
	for (int kind = 0; kind < CS_TOPO_KINDS; kind++) {
		assert_int_equal(machine->count[kind], has[kind] ? counts[kind] : 0);
		for (int cpu = 0; cpu < CS_TOPO_CPUS; cpu++)
			if (machine->of[kind][cpu] !=
			    (has[kind] ? expected(kind, cpu) : CS_TOPO_UNKNOWN))
				fail_msg("kind %d: CPU %d is in %d", kind, cpu,
					 machine->of[kind][cpu]);
	}
}

TEST(a_machine_of_256_threads_takes_a_file_for_each_thing)
{
	char root[256];
	struct cs_topo_machine machine;
	make_root(root);
	write_machine(root, "package_cpus_list", 3);
	/* One cache is looked for above the last level */
	read_machine(root, &machine, 1 + 8 + 1 + 2 + 1 + 16);
	expect_table(&machine, true, true, true);
	clear(root);
}

TEST(other_kernels_have_other_files)
{
	char root[256], path[512];
	struct cs_topo_machine machine;
	make_root(root);
	write_machine(root, "core_siblings_list", 2);
	snprintf(path, sizeof path, "%s/sys/devices/system/node/has_cpu", root);
	remove(path);
	snprintf(path, sizeof path, "%s/sys/devices/system/cpu/online", root);
	remove(path);
	put(root, "devices/system/cpu/possible", "0-4,6-63,65-132,134-191,193-255\n");
	read_machine(root, &machine, 2 + 9 + 2 + 2 * 2 + 2 * 16 + 1);
	expect_table(&machine, true, true, true);
	clear(root);
}

TEST(what_is_not_to_be_read_is_unknown)
{
	char root[256], path[512];
	struct cs_topo_machine machine;
	make_root(root);
	read_machine(root, &machine, 4);
	expect_table(&machine, false, false, false);
	write_machine(root, NULL, 0);
	read_machine(root, &machine, 40);
	expect_table(&machine, false, true, false);
	snprintf(path, sizeof path, "%s/sys/devices/system/node", root);
	clear(path);
	write_machine(root, "package_cpus_list", 0);
	clear(path);
	read_machine(root, &machine, 40);
	expect_table(&machine, true, false, false);
	snprintf(path, sizeof path, "%s/sys/devices/system/cpu", root);
	clear(path);
	write_machine(root, "package_cpus_list", 3);
	clear(path);
	read_machine(root, &machine, 40);
	expect_table(&machine, false, true, false);
	clear(root);
}

/* Where the files of some CPUs are masked, and a list does not hold the CPU that it is of. */
TEST(lists_that_cannot_be_are_not_believed)
{
	static const char *const wrong[] = { "", "\n", "x", "-1", "7-3", "0-", "0;1", "0-3:1/2",
					     "0x3", "1,-2" };
	char root[256], text[8192] = "";
	struct cs_topo_machine machine;
	make_root(root);
	for (size_t i = 0; i < COUNT(wrong); i++) {
		put(root, "devices/system/node/has_cpu", "0\n");
		put(root, "devices/system/node/node0/cpulist", wrong[i]);
		put(root, "devices/system/cpu/online", "0-3\n");
		put(root, "devices/system/cpu/cpu0/topology/package_cpus_list", wrong[i]);
		put(root, "devices/system/cpu/cpu1/topology/package_cpus_list", "2-3\n");
		read_machine(root, &machine, 30);
		expect_table(&machine, false, false, false);
	}
	for (int cpu = 0; cpu < 2000; cpu += 2)
		sprintf(text + strlen(text), "%s%d", cpu ? "," : "", cpu);
	put(root, "devices/system/node/node0/cpulist", text);
	read_machine(root, &machine, 30);
	expect_table(&machine, false, false, false);
	clear(root);
}

TEST(cpus_beyond_the_table_are_left_out)
{
	char root[256];
	struct cs_topo_machine machine;
	make_root(root);
	put(root, "devices/system/node/has_cpu", "0-1\n");
	put(root, "devices/system/node/node0/cpulist", "0-1022,1024-99999999999999999999\n");
	put(root, "devices/system/node/node1/cpulist", "1023,3000-4095\n");
	read_machine(root, &machine, 30);
	assert_int_equal(machine.of[CS_TOPO_DOMAIN][1022], 0);
	assert_int_equal(machine.of[CS_TOPO_DOMAIN][1023], 1);
	assert_int_equal(machine.count[CS_TOPO_DOMAIN], 2);
	clear(root);
}

/* Each core has its last cache to itself: they are not all asked for. */
TEST(caches_of_single_cores_are_not_all_read)
{
	char root[256], one[16];
	struct cs_topo_machine machine;
	make_root(root);
	put(root, "devices/system/cpu/online", "0-999\n");
	for (int cpu = 0; cpu < 1000; cpu++) {
		sprintf(one, "%d\n", cpu);
		put(root, "devices/system/cpu/cpu%d/cache/index3/shared_cpu_list", one, cpu);
	}
	read_machine(root, &machine, 300);
	clear(root);
}

/* --- places ----------------------------------------------------------------------------------- */

static void
expect_spot(const struct cs_topo_machine *machine, int first, int last, int package, int domain,
	    int cache)
{
	uint64_t cpus[CS_TOPO_WORDS] = { 0 };
	for (int cpu = first; cpu <= last; cpu++)
		cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	struct cs_spot spot = cs_topo_spot(machine, cpus);
	assert_int_equal(spot.at[CS_TOPO_PACKAGE], package);
	assert_int_equal(spot.at[CS_TOPO_DOMAIN], domain);
	assert_int_equal(spot.at[CS_TOPO_CACHE], cache);
}

TEST(a_process_is_where_all_of_its_cpus_are)
{
	char root[256];
	struct cs_topo_machine machine;
	make_root(root);
	write_machine(root, "package_cpus_list", 3);
	read_machine(root, &machine, 30);
	clear(root);
	expect_spot(&machine, 0, 0, 0, 0, 0);
	expect_spot(&machine, 255, 255, 1, 7, 15);
	expect_spot(&machine, 16, 23, 0, 1, 2);
	expect_spot(&machine, 16, 24, 0, 1, -1);
	expect_spot(&machine, 15, 16, 0, -1, -1);
	expect_spot(&machine, 127, 128, -1, -1, -1);
	expect_spot(&machine, 4, 5, -1, -1, -1); /* one of them is offline */
	expect_spot(&machine, 300, 300, -1, -1, -1);
	expect_spot(&machine, 1, 0, -1, -1, -1); /* none */
}

static void
put_device(const char *root, const char *name, const char *local_cpulist, const char *numa_node)
{
	if (local_cpulist)
		put(root, "class/infiniband/%s/device/local_cpulist", local_cpulist, name);
	if (numa_node)
		put(root, "class/infiniband/%s/device/numa_node", numa_node, name);
}

TEST(devices_are_as_far_as_their_domain_and_package)
{
	char root[256], text[512];
	struct cs_topo_machine machine;
	uint64_t cpus[CS_TOPO_WORDS] = { [0] = UINT64_C(3) << 14 }; /* 14 and 15, of domain 0 */
	make_root(root);
	write_machine(root, "package_cpus_list", 3);
	put_device(root, "near0", list(text, 0, 16), "0\n");
	put_device(root, "near1", "\n", "0\n");
	put_device(root, "near2", "143\n", NULL); /* a domain's other core */
	put_device(root, "next0", list(text, 16, 16), NULL);
	put_device(root, "next1", NULL, "3\n");
	put_device(root, "far0", list(text, 64, 64), NULL);
	put_device(root, "far1", NULL, "11\n");
	put_device(root, "any0", list(text, 0, CORES), NULL);
	put_device(root, "any1", NULL, "-1\n");
	put_device(root, "any2", NULL, "16\n"); /* of memory alone */
	put_device(root, "any3", "what?\n", "99\n");
	static const struct {
		const char *name;
		int distance;
	} devices[] = {
		{ "near0", 0 }, { "near1", 0 }, { "near2", 0 }, { "next0", 1 }, { "next1", 1 },
			{ "far0", 2 }, { "far1", 2 },
		{ "any0", 0 }, { "any1", 0 }, { "any2", 0 }, { "any3", 0 }, { "unheard", 0 },
			{ "../infiniband/far0", 0 },
	};
	read_machine(root, &machine, 30);
	for (size_t i = 0; i < COUNT(devices); i++) {
		openings = 0;
		int distance = cs_topo_distance_from(root, &machine, cpus, devices[i].name);
		if (distance != devices[i].distance)
			fail_msg("%s is %d away", devices[i].name, distance);
		assert_in_range(openings, 0, 3);
	}
	cpus[1] = UINT64_C(1) << 63; /* and 127 */
	assert_int_equal(cs_topo_distance_from(root, &machine, cpus, "far1"), 0);
	assert_int_equal(cs_topo_distance_from(root, &machine, cpus, "next0"), 1);
	/* Nothing is far where nothing is known. */
	memset(cpus, 0, sizeof cpus);
	assert_int_equal(cs_topo_distance_from(root, &machine, cpus, "far0"), 0);
	cpus[0] = 1;
	memset(&machine, 0, sizeof machine);
	memset(machine.of, 0xff, sizeof machine.of);
	assert_int_equal(cs_topo_distance_from(root, &machine, cpus, "far0"), 0);
	clear(root);
}

/* --- this machine ----------------------------------------------------------------------------- */

/* Runs in a process of its own, since a process reads the machine once. */
static void
in_child(void (*body)(void))
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		body();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void
read_once(void)
{
	openings = 0;
	const struct cs_topo_machine *machine = cs_topo_machine();
	int first = openings;
	struct cs_topo_machine other = { .count = { 7 } };
	cs_topo_learn(&other);
	if (first != machine->files || cs_topo_machine() != machine || openings != first ||
	    machine->count[0] == 7)
		_exit(1);
}

static void
read_nothing(void)
{
	struct cs_topo_machine told = { .count = { 7, 8, 9 } };
	openings = 0;
	cs_topo_learn(&told);
	if (openings || memcmp(cs_topo_machine(), &told, sizeof told))
		_exit(1);
	if (cs_topo_distance("unheard") || openings > 2) /* the device's files, which are not
							  * there */
		_exit(2);
}

TEST(a_process_reads_once_and_not_what_it_is_told)
{
	in_child(read_once);
	in_child(read_nothing);
}

TEST(hwloc_counts_the_same_here)
{
	struct cs_topo_counts counts;
	struct cs_topo_machine machine;
	cs_topo_count(&counts);
	assert_true(counts.near_threads >= 1 && counts.near_threads <= counts.threads);
	assert_true(counts.near_domains >= 1 && counts.near_domains <= counts.domains);
	cs_topo_read("", &machine);
	if (!machine.count[CS_TOPO_PACKAGE] || !machine.count[CS_TOPO_DOMAIN])
		leave_out("this kernel does not tell packages and NUMA domains");
	if (machine.count[CS_TOPO_PACKAGE] < counts.packages ||
	    machine.count[CS_TOPO_DOMAIN] < counts.near_domains)
		fail_msg("packages %d and %d, domains %d and %d", machine.count[CS_TOPO_PACKAGE],
			 counts.packages, machine.count[CS_TOPO_DOMAIN], counts.near_domains);
}

static int bindings;

/* In place of libc's for hwloc too; the test's own calls of it go on. */
__attribute__((visibility("default"))) int
sched_setaffinity(pid_t pid, size_t size, const cpu_set_t *cpus)
{
	bindings++;
	return (int)syscall(SYS_sched_setaffinity, pid, size, cpus);
}

static void
count_unbound(void)
{
	struct cs_topo_counts counts;
	bindings = 0;
	cs_topo_count(&counts);
	_exit(bindings);
}

TEST(nothing_is_bound_elsewhere_to_count)
{
	in_child(count_unbound);
}

/* By what hwloc says of itself, where its plugins are installed. */
TEST(no_other_devices_are_looked_for)
{
	char path[256], line[1024] = "";
	int file = mkstemp(temporary(path)), status = -1;
	assert_true(file >= 0);
	pid_t child = fork();
	if (child == 0) {
		struct cs_topo_counts counts;
		setenv("HWLOC_COMPONENTS_VERBOSE", "1", 1);
		dup2(file, STDERR_FILENO);
		cs_topo_count(&counts);
		_exit(0);
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
	static const char *const others[] = { "x86", "cuda", "gl", "levelzero", "nvml", "opencl",
					      "rsmi" };
	for (size_t i = 0; i < COUNT(others); i++)
		if (strstr(line, others[i]))
			fail_msg("%s", line);
}

enum { SAME, OTHER_NAME, OTHER_MEMORY, OTHER_PIDS };

/* What a child has for the node, the host and its memory, after it was moved out of one of the
 * things that make a node; 0: it may not move. */
static uint64_t
word_of_child(int what, uint64_t *host, uint64_t *memory)
{
	int ends[2], status;
	uint64_t words[3] = { 0 };
	assert_int_equal(pipe(ends), 0);
	pid_t child = fork();
	if (child == 0) {
		bool may = what == SAME ||
			   (what == OTHER_NAME && unshare(CLONE_NEWUTS) == 0 &&
			    sethostname("elsewhere", 9) == 0) ||
			   (what == OTHER_MEMORY && unshare(CLONE_NEWNS) == 0 &&
			    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
			    mount("none", "/dev/shm", "tmpfs", 0, NULL) == 0) ||
			   (what == OTHER_PIDS && unshare(CLONE_NEWPID) == 0);
		pid_t grandchild = may && what == OTHER_PIDS ? fork() : 0;
		if (grandchild)
			_exit(waitpid(grandchild, NULL, 0) != grandchild);
		words[0] = may ? cs_topo_node(&words[1]) : 0;
		words[2] = cs_topo_memory(words[1]);
		_exit(write(ends[1], words, sizeof words) != sizeof words);
	}
	close(ends[1]);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], words, sizeof words), sizeof words);
	close(ends[0]);
	*host = words[1];
	*memory = words[2];
	return words[0];
}

TEST(a_node_is_kernel_name_memory_and_pids)
{
	uint64_t host, other, memory, own = cs_topo_node(&host);
	assert_true(own != 0);
	assert_true(own == cs_topo_node(&other) && host == other);
	assert_true(own == word_of_child(SAME, &other, &memory) && host == other);
	assert_true(memory == cs_topo_memory(host));
	int moved = 0;
	for (int what = OTHER_NAME; what <= OTHER_PIDS; what++) {
		uint64_t word = word_of_child(what, &other, &memory);
		assert_true(word != own);
		assert_true(!word || (memory == cs_topo_memory(host)) == (what == OTHER_PIDS));
		assert_true(!word || (host != other) == (what == OTHER_NAME));
		moved += word != 0;
	}
	if (!moved)
		leave_out("this process may make no namespaces");
}

RUN_TESTS(NULL, NULL)
