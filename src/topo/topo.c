/* topo/topo.c — reads from /sys which package, domain and cache each CPU is in. */
#include "topo/topo.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint64_t
cs_topo_node(uint64_t *host)
{
	char boot[64], name[256];
	struct stat pids, memory = { 0 };
	int saved = errno, file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? -1 : read(file, boot, sizeof boot);
	if (file >= 0)
		close(file);
	*host = 0;
	if (got <= 0 || gethostname(name, sizeof name) || stat("/proc/self/ns/pid", &pids)) {
		errno = saved;
		return 0;
	}
	name[sizeof name - 1] = '\0';
	stat("/dev/shm", &memory); /* may be absent, then for all of them */
	errno = saved;
	uint64_t word = cs_hash_text(cs_hash_bytes(CS_HASH_START, boot, (size_t)got), name);
	*host = word;
	word = cs_hash_number(cs_hash_number(word, pids.st_dev), pids.st_ino);
	word = cs_hash_number(cs_hash_number(word, memory.st_dev), memory.st_ino);
	return word ? word : 1;
}

uint64_t
cs_topo_memory(uint64_t host)
{
	struct stat memory;
	int saved = errno;
	bool is_there = !stat("/dev/shm", &memory);
	errno = saved;
	return is_there ? cs_hash_number(cs_hash_number(host, memory.st_dev), memory.st_ino) | 1
			: 0;
}

/* --- files of /sys ---------------------------------------------------------------------------- */

/* Bytes of a file, more than a list of every other CPU has; the stack may be small */
#define LONGEST 4096

/* CPUs, or NUMA nodes by number. */
struct set {
	uint64_t words[CS_TOPO_WORDS];
};

static bool
holds(const uint64_t *words, unsigned number)
{
	return words[number / 64] >> number % 64 & 1;
}

struct reader {
	const char *root;
	unsigned files;
};

/* The whole file as a text; false if it is not there, empty or too long. */
static bool
read_text(struct reader *reader, char text[LONGEST], const char *format, va_list arguments)
{
	char name[128], path[512];
	int length = vsnprintf(name, sizeof name, format, arguments);
	if (length < 0 || length >= (int)sizeof name ||
	    snprintf(path, sizeof path, "%s/sys/%s", reader->root, name) >= (int)sizeof path)
		return false;
	reader->files++;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (file < 0)
		return false;
	size_t used = 0;
	ssize_t got;
	while (used < LONGEST && (got = read(file, text + used, LONGEST - used)) > 0)
		used += (size_t)got;
	close(file);
	if (!used || used == LONGEST)
		return false;
	text[used] = '\0';
	return true;
}

/* "0-63,128-191"; what is above the table's end is left out. False if it is no such list. */
static bool
parse_list(const char *text, struct set *set)
{
	*set = (struct set){ 0 };
	text += strspn(text, " \n");
	while (*text) {
		char *end;
		if (*text < '0' || *text > '9')
			return false;
		unsigned long first = strtoul(text, &end, 10), last = first;
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			last = strtoul(end + 1, &end, 10);
		if (last < first)
			return false;
		for (unsigned long number = first; number <= last && number < CS_TOPO_CPUS;
		     number++)
			set->words[number / 64] |= UINT64_C(1) << number % 64;
		text = end + (*end == ',');
		if (end == text)
			return !text[strspn(text, " \n")];
	}
	return true;
}

static bool __attribute__((format(printf, 3, 4)))
read_list(struct reader *reader, struct set *set, const char *format, ...)
{
	char text[LONGEST];
	va_list arguments;
	va_start(arguments, format);
	bool is_read = read_text(reader, text, format, arguments);
	va_end(arguments);
	return is_read && parse_list(text, set);
}

static bool __attribute__((format(printf, 3, 4)))
read_number(struct reader *reader, long *number, const char *format, ...)
{
	char text[LONGEST], *end;
	va_list arguments;
	va_start(arguments, format);
	bool is_read = read_text(reader, text, format, arguments);
	va_end(arguments);
	if (!is_read)
		return false;
	*number = strtol(text, &end, 10);
	return end != text;
}

/* --- the table -------------------------------------------------------------------------------- */

/* CPUs about which nothing is told, until it is taken for granted that nothing is of the others */
#define MOST_MISSES 4
/* CPUs: one for each package or cache. More are caches of a core alone, which tell nothing. */
#define MOST_ASKED 256

/* All CPUs of the set that are in none yet are in one more. */
static void
add(struct cs_topo_machine *machine, enum cs_topo_kind kind, const struct set *set)
{
	bool is_new = false;
	for (unsigned cpu = 0; cpu < CS_TOPO_CPUS; cpu++)
		if (holds(set->words, cpu) && machine->of[kind][cpu] == CS_TOPO_UNKNOWN) {
			machine->of[kind][cpu] = machine->count[kind];
			is_new = true;
		}
	machine->count[kind] += is_new;
}

/* A node may have memory alone, and a kernel may know of no nodes. */
static void
read_domains(struct reader *reader, struct cs_topo_machine *machine)
{
	struct set nodes, cpus;
	if (!read_list(reader, &nodes, "devices/system/node/has_cpu") &&
	    !read_list(reader, &nodes, "devices/system/node/online"))
		return;
	for (unsigned node = 0; node < CS_TOPO_CPUS; node++)
		if (holds(nodes.words, node) &&
		    read_list(reader, &cpus, "devices/system/node/node%u/cpulist", node))
			add(machine, CS_TOPO_DOMAIN, &cpus);
}

static bool
read_package(struct reader *reader, unsigned cpu, struct set *cpus)
{
	return read_list(reader, cpus, "devices/system/cpu/cpu%u/topology/package_cpus_list",
			 cpu) ||
	       /* Linux before 5.3 */
	       read_list(reader, cpus, "devices/system/cpu/cpu%u/topology/core_siblings_list", cpu);
}

#define HIGHEST_INDEX 4
#define USUAL_INDEX 3 /* of the last level: two of the first, and the second come before */
#define LOWEST_INDEX 2

/* The cache of the highest index that there is. Not all cores have as many levels. */
static bool
read_cache(struct reader *reader, unsigned cpu, struct set *cpus, int *top)
{
	for (int index = *top; index >= LOWEST_INDEX; index--)
		if (read_list(reader, cpus,
			      "devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", cpu,
			      index)) {
			*top = index > USUAL_INDEX ? index : USUAL_INDEX;
			return true;
		}
	return false;
}

/* Asks the first CPU of which nothing is known yet for all that share the thing with it, and so
 * on. */
static void
read_shared(struct reader *reader, struct cs_topo_machine *machine, enum cs_topo_kind kind,
	    const struct set *online)
{
	int misses = 0, asked = 0, top = HIGHEST_INDEX;
	for (unsigned cpu = 0; cpu < CS_TOPO_CPUS && misses < MOST_MISSES && asked < MOST_ASKED;
	     cpu++) {
		struct set cpus;
		if (!holds(online->words, cpu) || machine->of[kind][cpu] != CS_TOPO_UNKNOWN)
			continue;
		asked++;
		bool is_told = kind == CS_TOPO_PACKAGE ? read_package(reader, cpu, &cpus)
						       : read_cache(reader, cpu, &cpus, &top);
		if (is_told && holds(cpus.words, cpu))
			add(machine, kind, &cpus);
		else
			misses++;
	}
}

void
cs_topo_read(const char *root, struct cs_topo_machine *machine)
{
	int saved = errno;
	struct reader reader = { .root = root };
	struct set online;
	*machine = (struct cs_topo_machine){ 0 };
	memset(machine->of, 0xff, sizeof machine->of);
	read_domains(&reader, machine);
	if (read_list(&reader, &online, "devices/system/cpu/online") ||
	    read_list(&reader, &online, "devices/system/cpu/possible")) {
		read_shared(&reader, machine, CS_TOPO_PACKAGE, &online);
		read_shared(&reader, machine, CS_TOPO_CACHE, &online);
	}
	machine->files = (uint16_t)reader.files;
	errno = saved;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cs_topo_machine known;
static bool is_known;

const struct cs_topo_machine *
cs_topo_machine(void)
{
	pthread_mutex_lock(&lock);
	if (!is_known)
		cs_topo_read("", &known);
	is_known = true;
	pthread_mutex_unlock(&lock);
	return &known;
}

void
cs_topo_learn(const struct cs_topo_machine *told)
{
	pthread_mutex_lock(&lock);
	if (!is_known)
		known = *told;
	is_known = true;
	pthread_mutex_unlock(&lock);
}

/* --- places ----------------------------------------------------------------------------------- */

struct cs_spot
cs_topo_spot(const struct cs_topo_machine *machine, const uint64_t cpus[CS_TOPO_WORDS])
{
	struct cs_spot spot;
	for (int kind = 0; kind < CS_TOPO_KINDS; kind++) {
		int found = -1;
		bool is_one = true;
		for (unsigned cpu = 0; cpu < CS_TOPO_CPUS && is_one; cpu++) {
			if (!holds(cpus, cpu))
				continue;
			int at = machine->of[kind][cpu];
			is_one = at != CS_TOPO_UNKNOWN && (found < 0 || found == at);
			found = at;
		}
		spot.at[kind] = is_one ? found : -1;
	}
	return spot;
}

/* Is one of the others in the same thing as one of the CPUs? */
static bool
is_shared(const struct cs_topo_machine *machine, enum cs_topo_kind kind, const uint64_t *cpus,
	  const struct set *others)
{
	uint64_t touched[CS_TOPO_WORDS] = { 0 };
	for (unsigned cpu = 0; cpu < CS_TOPO_CPUS; cpu++) {
		unsigned at = machine->of[kind][cpu];
		if (holds(cpus, cpu) && at < CS_TOPO_CPUS)
			touched[at / 64] |= UINT64_C(1) << at % 64;
	}
	for (unsigned cpu = 0; cpu < CS_TOPO_CPUS; cpu++) {
		unsigned at = machine->of[kind][cpu];
		if (holds(others->words, cpu) &&
		    (holds(cpus, cpu) || (at < CS_TOPO_CPUS && holds(touched, at))))
			return true;
	}
	return false;
}

static bool
is_empty(const struct set *set)
{
	static const struct set none;
	return !memcmp(set, &none, sizeof none);
}

/* The CPUs that are nearest to the device: as the kernel says it, or those of its node. */
static bool
read_device(struct reader *reader, const char *device, struct set *cpus)
{
	long node;
	if (strlen(device) > 64 || strchr(device, '/'))
		return false;
	if (read_list(reader, cpus, "class/infiniband/%s/device/local_cpulist", device) &&
	    !is_empty(cpus))
		return true;
	return read_number(reader, &node, "class/infiniband/%s/device/numa_node", device) &&
	       node >= 0 && read_list(reader, cpus, "devices/system/node/node%ld/cpulist", node) &&
	       !is_empty(cpus);
}

int
cs_topo_distance_from(const char *root, const struct cs_topo_machine *machine,
		      const uint64_t cpus[CS_TOPO_WORDS], const char *device)
{
	int saved = errno;
	struct reader reader = { .root = root };
	struct set near;
	bool is_told = read_device(&reader, device, &near);
	errno = saved;
	static const struct set none;
	bool is_known_here = memcmp(cpus, &none, sizeof none) &&
			     (machine->count[CS_TOPO_DOMAIN] || machine->count[CS_TOPO_PACKAGE]);
	if (!is_told || !is_known_here || is_shared(machine, CS_TOPO_DOMAIN, cpus, &near))
		return 0;
	return is_shared(machine, CS_TOPO_PACKAGE, cpus, &near) ? 1 : 2;
}

int
cs_topo_distance(const char *device)
{
	int saved = errno;
	uint64_t cpus[CS_TOPO_WORDS] = { 0 };
	cpu_set_t allowed;
	if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
		for (unsigned cpu = 0; cpu < CS_TOPO_CPUS && cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &allowed))
				cpus[cpu / 64] |= UINT64_C(1) << cpu % 64;
	errno = saved;
	return cs_topo_distance_from("", cs_topo_machine(), cpus, device);
}
