/* bench/node_model.c — measures a node model (topo/node_model.h) by all ranks of rank 0's node.
 *
 * Each part gives some ranks a role, then makes trials: writers make lines or data theirs, all
 * meet, readers read at once, the longest of their times counts; the median of the trials holds.
 * Values that the ranks' places do not show (one cache, two ranks) are unknown. */
#include "bench.h"
#include "node.h"

#include "base/fake_levels.h"
#include "select/select.h"
#include "shm/node_facts.h"
#include "topo/node_model.h"
#include "topo/topo.h"

#include <errno.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define MOST 1024         /* ranks */
#define APART 256         /* bytes; more than a cache line */
#define STEP (4096 + 192) /* from line to line, as between ranks: nothing is fetched in advance */
#define LINES 33
#define DATA (1 << 20)    /* bytes of each rank */
#define CACHED (256 << 10)
#define OWN (4 << 20)
#define PAGE 4096
#define TRIALS 101
#define PART_NS 100000000 /* of all trials of a part */
#define PAIRS 3
#define BATCHES 10        /* the fastest counts: others may have been disturbed */
#define TRIPS 200
#define BATCH_NS 5000000
#define MANY 4            /* ranks whose copies may keep a package's memory busy */

enum role { NONE, READS, WRITES };
enum what { LINES_READY, LINE_FRESH, DATA_SHARED, DATA_OWN, PAGES };

struct board {
	char before[APART]; /* the MPI's, maybe */
	_Atomic unsigned arrived, round, stops;
	_Atomic int64_t started;
	int64_t took[MOST];
	char lines[LINES][STEP];
	_Atomic uint32_t balls[2][APART / sizeof(uint32_t)];
};

struct job {
	MPI_Comm node;
	int local, locals;
	struct place {
		int cache, package, pid;
		char *data; /* in its own memory */
	} places[MOST];
	char *data[MOST];   /* in ours */
	struct board *board;
	unsigned rounds;
	char *own;
	enum role role[MOST];
	enum what what;
	int amount; /* lines, bytes or pages */
	double values[CS_NODE_VALUES]; /* as in text; 0: unknown */
};

static void
meet(struct job *job)
{
	struct board *board = job->board;
	unsigned round = ++job->rounds, polls = 0;
	if (atomic_fetch_add(&board->arrived, 1) + 1 == round * (unsigned)job->locals)
		atomic_store(&board->round, round);
	while (atomic_load(&board->round) != round)
		if (++polls % 1000 == 0)
			sched_yield();
}

/* The level between two ranks; CS_DISTANCES: not known, since a rank may run on several places. */
static int
level(const struct job *job, int a, int b)
{
	const struct place *at = &job->places[a], *other = &job->places[b];
	if (at->package < 0 || other->package < 0)
		return CS_DISTANCES;
	if (at->package != other->package)
		return CS_FAR;
	if (at->cache < 0 || other->cache < 0)
		return CS_DISTANCES;
	return at->cache == other->cache ? CS_SAME_LLC : CS_SAME_PACKAGE;
}

#define OUTSIDE (-1) /* as a level: in another group */

/* Number of ranks that get the role: at a level from `from`, one of each cache's group if
 * `is_leader`, at most `most`. The others keep theirs. */
static int
appoint(struct job *job, enum role role, int from, int at, bool is_leader, int most)
{
	int count = 0;
	for (int i = 0; i < job->locals && count < most; i++) {
		int between = level(job, from, i);
		bool is_first = true, is_out = between == CS_SAME_PACKAGE || between == CS_FAR;
		for (int k = 0; k < i && is_leader; k++)
			is_first &= level(job, k, i) != CS_SAME_LLC;
		if (i == from || !is_first || (at == OUTSIDE ? !is_out : between != at))
			continue;
		job->role[i] = role;
		count++;
	}
	return count;
}

static int64_t
read_pages(const struct job *job)
{
	int owner = 0;
	while (job->role[owner] != WRITES)
		owner++;
	size_t bytes = (size_t)job->amount * PAGE;
	struct iovec from = { job->places[owner].data, bytes }, to = { job->own, bytes };
	int64_t start = bench_now();
	ssize_t got = process_vm_readv(job->places[owner].pid, &to, 1, &from, 1, 0);
	return got == (ssize_t)bytes ? bench_now() - start : -1;
}

/* Time of a reader; -1: it cannot. */
static int64_t
work(struct job *job, unsigned trial)
{
	struct board *board = job->board;
	int64_t start = bench_now();
	int owner = 0;
	while (owner < job->locals - 1 && job->role[owner] != WRITES)
		owner++;
	if (job->what == PAGES)
		return read_pages(job);
	if (job->what == LINE_FRESH) {
		_Atomic unsigned *line = (_Atomic unsigned *)(void *)board->lines[LINES - 1];
		for (unsigned polls = 1; atomic_load(line) != trial; polls++)
			if (polls % 1000 == 0)
				sched_yield();
		return bench_now() - atomic_load(&board->started);
	}
	if (job->what == LINES_READY)
		for (int i = 0; i < job->amount; i++) {
			void *line = board->lines[i * 5 % job->amount];
			while (atomic_load_explicit((_Atomic unsigned *)line,
						    memory_order_acquire) != trial)
				sched_yield();
		}
	else if (job->what == DATA_OWN)
		memcpy(job->own + OWN, job->own, OWN);
	else
		memcpy(job->own, job->data[owner], (size_t)job->amount);
	__asm__ volatile("" ::"r"(job->own) : "memory");
	return bench_now() - start;
}

static void
write_before(struct job *job, unsigned trial)
{
	int writers = 0, turn = 0;
	for (int i = 0; i < job->locals; i++) {
		turn = i == job->local ? writers : turn;
		writers += job->role[i] == WRITES;
	}
	if (job->what == LINES_READY)
		for (int i = turn; i < job->amount; i += writers)
			atomic_store((_Atomic unsigned *)(void *)job->board->lines[i], trial);
	else if (job->what == DATA_SHARED)
		memset(job->data[job->local], (int)trial, (size_t)job->amount);
}

/* Median time in ns of the slowest reader, at local rank 0; 0: unknown. All ranks call it, with
 * equal roles. */
static double
measure(struct job *job, enum what what, int amount)
{
	static unsigned trial;
	double times[TRIALS];
	int count = 0;
	enum role mine = job->role[job->local];
	int64_t end = bench_now() + PART_NS;
	job->what = what;
	job->amount = amount;
	for (bool is_last = false; !is_last; count++) {
		trial++;
		if (mine == WRITES)
			write_before(job, trial);
		meet(job);
		if (mine == WRITES && what == LINE_FRESH) {
			atomic_store(&job->board->started, bench_now());
			atomic_store((_Atomic unsigned *)(void *)job->board->lines[LINES - 1],
				     trial);
		}
		job->board->took[job->local] = mine == READS ? work(job, trial) : 0;
		if (job->local == 0)
			atomic_store(&job->board->stops, count + 1 == TRIALS || bench_now() > end);
		meet(job);
		is_last = atomic_load(&job->board->stops);
		int64_t most = 0;
		for (int i = 0; i < job->locals && most >= 0; i++) {
			int64_t took = job->board->took[i];
			most = took < 0 || took > most ? took : most;
		}
		times[count] = (double)most;
		meet(job);
	}
	double median = bench_median(times, count);
	return median > 0 ? median : 0;
}

static void
clear(struct job *job, int writer)
{
	memset(job->role, 0, sizeof job->role);
	if (writer >= 0)
		job->role[writer] = WRITES;
}

/* The fastest mean of some trips; 0: unknown. */
static double
measure_pair(struct job *job, int a, int b)
{
	_Atomic uint32_t *const balls[2] = { job->board->balls[0], job->board->balls[1] };
	double best = 0;
	for (int batch = 0; batch < BATCHES; batch++) {
		if (job->local == a) {
			atomic_store(balls[0], 0);
			atomic_store(balls[1], 0);
		}
		meet(job);
		if (job->local == a || job->local == b)
			job->board->took[job->local] =
				cs_measure_hop(balls, job->local == b, false, TRIPS, BATCH_NS);
		meet(job);
		double ns = (double)job->board->took[a];
		best = ns > 0 && (ns < best || best <= 0) ? ns : best;
		meet(job);
	}
	return best;
}

static void
measure_lines(struct job *job)
{
	double least = 0;
	for (int at = 0; at < CS_DISTANCES; at++) {
		double found[PAIRS];
		int pairs = 0, tried = 0;
		for (int a = 0; a < job->locals; a++)
			for (int b = a + 1; b < job->locals && tried < PAIRS; b++) {
				if (level(job, a, b) != at)
					continue;
				found[pairs] = measure_pair(job, a, b);
				tried++;
				pairs += found[pairs] > 0;
			}
		if (!pairs)
			continue;
		least = fmax(least, bench_median(found, pairs));
		job->values[at] = least; /* farther is never nearer but by noise */
	}
}

static void
measure_readers(struct job *job)
{
	for (int at = 0; at < CS_DISTANCES && job->values[3] <= 0; at++) {
		clear(job, -1);
		if (job->values[at] <= 0 || !appoint(job, WRITES, 0, at, false, MOST))
			continue;
		job->role[0] = READS;
		double few = measure(job, LINES_READY, 8), many = measure(job, LINES_READY, 32);
		job->values[3] = fmax((many - few) / 24 / job->values[at], 0.01);
	}
	for (int is_out = 0; is_out < 2; is_out++) {
		clear(job, 0);
		int at = is_out ? OUTSIDE : CS_SAME_LLC;
		int readers = appoint(job, READS, 0, at, false, MOST);
		if (readers < 2)
			continue;
		double all = measure(job, LINE_FRESH, 1);
		clear(job, 0);
		appoint(job, READS, 0, at, false, 1);
		job->values[4 + is_out] = fmax((all - measure(job, LINE_FRESH, 1)) / (readers - 1),
					       0.1);
	}
}

static double
rate(double bytes, double ns)
{
	return ns > 0 ? bytes * 1000 / ns : 0;
}

static void
measure_copies(struct job *job)
{
	clear(job, 0);
	if (appoint(job, READS, 0, CS_SAME_LLC, false, 1))
		job->values[6] = rate(CACHED, measure(job, DATA_SHARED, CACHED));
	clear(job, 0);
	if (appoint(job, READS, 0, CS_SAME_PACKAGE, false, 1) ||
	    appoint(job, READS, 0, CS_FAR, false, 1))
		job->values[7] = rate(DATA, measure(job, DATA_SHARED, DATA));
	clear(job, 0);
	int leaders = appoint(job, READS, 0, OUTSIDE, true, MOST);
	if (leaders > 1)
		job->values[8] = rate((double)leaders * DATA, measure(job, DATA_SHARED, DATA));
	clear(job, -1);
	int mates = 1 + appoint(job, READS, 0, CS_SAME_LLC, false, MOST) +
		    appoint(job, READS, 0, CS_SAME_PACKAGE, false, MOST);
	job->role[0] = READS;
	if (mates >= MANY)
		job->values[9] = rate((double)mates * OWN, measure(job, DATA_OWN, 1));
	clear(job, 0);
	int far = appoint(job, READS, 0, CS_FAR, false, MOST);
	if (far >= MANY)
		job->values[10] = rate((double)far * DATA, measure(job, DATA_SHARED, DATA));
}

static void
measure_single_copy(struct job *job)
{
	clear(job, 0);
	job->role[1] = READS;
	double one = measure(job, PAGES, 1), all = measure(job, PAGES, DATA / PAGE),
	       bytes = job->values[7] > 0 ? job->values[7] : job->values[6],
	       copied = bytes > 0 ? PAGE * 1000 / bytes : 0;
	if (!(one > 0) || !(all > one))
		return;
	job->values[12] = fmax((all - one) / (DATA / PAGE - 1.0) - copied, 0.1);
	job->values[11] = fmax(one - job->values[12] - copied, 10);
	if (job->locals < 3)
		return;
	one = measure(job, PAGES, CACHED / PAGE);
	for (int i = 1; i < job->locals; i++)
		job->role[i] = READS;
	all = measure(job, PAGES, CACHED / PAGE);
	job->values[13] = fmax((all - one) / ((double)CACHED / PAGE) / (job->locals - 2), 0.1);
}

/* Places that a test pretends, or NULL. */
static const char *
fake_levels(void)
{
	const char *text = getenv("COLLSHIM_FAKE_LEVELS");
	return text && cs_fake_levels_are(text) ? text : NULL;
}

struct bench_place
bench_place(int local)
{
	struct bench_place own;
	uint64_t words[CS_TOPO_WORDS] = { 0 };
	CPU_ZERO(&own.cpus);
	sched_getaffinity(0, sizeof own.cpus, &own.cpus);
	for (size_t cpu = 0; cpu < CS_TOPO_CPUS && cpu < CPU_SETSIZE; cpu++)
		words[cpu / 64] |= (uint64_t)(CPU_ISSET(cpu, &own.cpus) != 0) << cpu % 64;
	const struct cs_topo_machine *machine = cs_topo_machine();
	struct cs_spot spot = cs_topo_spot(machine, words);
	/* A virtual machine may tell nothing. */
	own.cache = machine->count[CS_TOPO_CACHE] ? spot.at[CS_TOPO_CACHE] : 0;
	own.package = machine->count[CS_TOPO_PACKAGE] ? spot.at[CS_TOPO_PACKAGE] : 0;
	if (fake_levels())
		cs_fake_levels_of(fake_levels(), local, &own.package, &own.cache);
	return own;
}

static void
find_places(struct job *job, cpu_set_t *cpus)
{
	struct bench_place at = bench_place(job->local);
	struct place own = { at.cache, at.package, getpid(), job->data[job->local] };
	PMPI_Allgather(&own, (int)sizeof own, MPI_BYTE, job->places, (int)sizeof own, MPI_BYTE,
		       job->node);
	PMPI_Allreduce(&at.cpus, cpus, (int)sizeof at.cpus, MPI_BYTE, MPI_BOR, job->node);
}

static void
put_quoted(const char *text)
{
	putchar('\'');
	for (; *text; text++) /* a pattern, in quotes */
		putchar(strchr("'[]*\\", *text) ? '?' : *text);
	putchar('\'');
}

static void
print(const struct job *job, const char *note)
{
	struct cs_machine machine = { 0 };
	const struct cs_node_kind *kind = cs_node_kind_here();
	char date[16], where[384];
	time_t now = time(NULL);
	strftime(date, sizeof date, "%Y-%m-%d", localtime(&now));
	cs_machine_read(&machine);
	printf("node_models: # by collshim-bench --node; unknown: as of the kind%s\n"
	       "  - name: node\n    provenance: {date: %s, library: collshim " CS_VERSION
	       ", command: collshim-bench --node,\n      machine: ", note, date);
	snprintf(where, sizeof where, "%d ranks of a node, %s", job->locals, machine.host);
	put_quoted(where);
	printf("}\n    machine: {");
	if (*machine.cpu) {
		printf("cpu: ");
		put_quoted(machine.cpu);
		printf(", ");
	}
	printf("cores: %zu}\n    kind: %s\n    values:\n", machine.cores, kind->name);
	for (int i = 0; i < CS_NODE_VALUES; i++) {
		const struct cs_node_value *info = &cs_node_values[i];
		double value = job->values[i];
		if (value >= info->low && value <= info->high)
			printf("      %s: %.*f", info->name, value < 100 ? 2 : 0, value);
		else
			printf("      %s: unknown", info->name);
		printf(" # %s\n", info->meaning);
	}
}

/* The memory of all ranks, shared; false without. */
static bool
share(struct job *job, MPI_Win *window)
{
	void *memory;
	size_t bytes = DATA + (job->local ? 0 : sizeof(struct board) + APART);
	int has = PMPI_Win_allocate_shared((MPI_Aint)bytes, 1, MPI_INFO_NULL, job->node, &memory,
					   window) == MPI_SUCCESS, all;
	job->own = has ? malloc((size_t)2 * OWN) : NULL;
	int is_ready = job->own != NULL;
	PMPI_Allreduce(&is_ready, &all, 1, MPI_INT, MPI_MIN, job->node);
	for (int i = 0; i < job->locals && has; i++) {
		MPI_Aint size;
		int unit;
		PMPI_Win_shared_query(*window, i, &size, &unit, (void **)&job->data[i]);
	}
	if (all) {
		size_t above = APART - (uintptr_t)(job->data[0] + DATA) % APART;
		job->board = (struct board *)(void *)(job->data[0] + DATA + above);
		memset(job->own, 1, (size_t)2 * OWN);
		memset(memory, 0, bytes);
		PMPI_Barrier(job->node);
	} else if (has) {
		PMPI_Win_free(window);
	}
	return all;
}

void
bench_node_model_print(const struct bench_world *world)
{
	static struct job job;
	MPI_Win window;
	cpu_set_t cpus;
	const char *note = "";
	int first = world->rank;
	bench_node(&job.node);
	PMPI_Comm_set_errhandler(job.node, MPI_ERRORS_RETURN);
	PMPI_Bcast(&first, 1, MPI_INT, 0, job.node);
	PMPI_Comm_rank(job.node, &job.local);
	PMPI_Comm_size(job.node, &job.locals);
	bool plays = first == 0 && job.locals > 1 && job.locals <= MOST;
	if (plays && share(&job, &window)) {
		find_places(&job, &cpus);
		if (job.locals > CPU_COUNT(&cpus) && !fake_levels()) {
			note = "; ranks share cores: nothing was measured";
		} else {
			measure_lines(&job);
			measure_readers(&job);
			measure_copies(&job);
			measure_single_copy(&job);
			note = level(&job, 0, 1) == CS_DISTANCES
				? "; bind the ranks, one a core, to know their places" : "";
		}
		PMPI_Win_free(&window);
	} else if (plays) {
		note = "; no shared memory: nothing was measured";
	}
	if (world->rank == 0)
		print(&job, note);
	free(job.own);
	PMPI_Comm_free(&job.node);
	bench_gather_quietly();
}
