#include "bench.h"

#include "base/hash.h"
#include "node.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LEAST_CALLS 3 /* timed in one block: a median needs three */
#define LEAST_SECONDS 1e-9 /* what a row takes that is over before the clock has moved on */
#define CLOCK_READINGS 1001
#define LINE_BALLS 20 /* there and back, in one trial */
#define LINE_LEAST_TRIALS 100
#define LINE_NANOSECONDS 300000000
#define LINE_MOST_SECONDS 1.5e-6 /* no line takes as long: a trial that does was disturbed */
#define LEAST_BATCH 4 /* calls in a row, below which a row tells nothing of throughput */

int64_t
bench_now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

/* --- the job ---------------------------------------------------------------------------------- */

/* One number for the clock behind CLOCK_MONOTONIC: the running kernel's boot, and the time
 * namespace. */
static uint64_t
clock_identity(void)
{
	char text[256] = "";
	size_t used = 0;
	int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t n = file < 0 ? -1 : read(file, text, 64);
	if (file >= 0)
		close(file);
	if (n <= 0)
		return 0; /* unknown */
	used = (size_t)n;
	n = readlink("/proc/self/ns/time", text + used, sizeof text - used);
	used += n > 0 ? (size_t)n : 0;
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (size_t i = 0; i < used; i++)
		hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return hash ? hash : 1;
}

/* Time between two readings of the clock with nothing between them: each row of calls contains this
 * much. */
static double
clock_reading_seconds(void)
{
	double readings[CLOCK_READINGS];
	for (int i = 0; i < CLOCK_READINGS; i++) {
		int64_t start = bench_now();
		readings[i] = (double)(bench_now() - start) * 1e-9;
	}
	return bench_median(readings, CLOCK_READINGS);
}

static void
look_at_clock(struct bench_world *world)
{
	uint64_t mine = clock_identity(), ends[2] = { mine, ~mine }, least[2];
	PMPI_Allreduce(ends, least, 2, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD);
	world->has_one_clock = least[0] != 0 && least[0] == ~least[1];
	double reading = clock_reading_seconds();
	PMPI_Allreduce(&reading, &world->clock_seconds, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
}

static void
look_at_nodes(struct bench_world *world)
{
	MPI_Comm node;
	int local, ppn;
	bench_node(&node);
	PMPI_Comm_rank(node, &local);
	PMPI_Comm_size(node, &ppn);
	int ends[2] = { world->rank, -world->rank }, most[2];
	PMPI_Allreduce(ends, most, 2, MPI_INT, MPI_MAX, node);
	PMPI_Comm_free(&node);
	int is_first = local == 0, is_row = most[0] + most[1] == ppn - 1, all_rows;
	PMPI_Allreduce(&is_row, &all_rows, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
	world->is_block_placed = all_rows;
	PMPI_Allreduce(&is_first, &world->nodes, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	PMPI_Allreduce(&ppn, &world->ppn_min, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	PMPI_Allreduce(&ppn, &world->ppn_max, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);

	cpu_set_t mine, all;
	CPU_ZERO(&mine);
	sched_getaffinity(0, sizeof mine, &mine);
	PMPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
	world->cores = CPU_COUNT(&all) < world->ranks ? CPU_COUNT(&all) : world->ranks;
	world->cores = world->cores > 0 ? world->cores : 1;
}

/* One cache line's way from core to core: half of the fastest of some ping-pongs between ranks 0
 * and 1 in shared memory. Both poll and rarely yield, for others may have to run on these cores. On
 * a busy machine most trials are disturbed: one that is not is short enough to lie within a moment
 * in which both run, and is tried for until the time is up, as rank 0 says in the line behind. */
static double
ping_pong(char *lines, int rank)
{
	_Atomic unsigned *line = (_Atomic unsigned *)(void *)lines, *is_last = line + 16;
	double best = 1;
	unsigned ball = 0;
	int64_t end = bench_now() + LINE_NANOSECONDS;
	for (int trial = 1, last = 0; !last; trial++) {
		last = trial >= LINE_LEAST_TRIALS &&
		       (best < LINE_MOST_SECONDS || bench_now() > end);
		if (rank == 0)
			atomic_store_explicit(is_last, (unsigned)last, memory_order_relaxed);
		int64_t start = bench_now();
		for (int i = 0; i < LINE_BALLS; i++) {
			for (int turn = 0; turn < 2; turn++, ball++) {
				if (turn == rank) {
					atomic_store_explicit(line, ball + 1, memory_order_release);
					continue;
				}
				for (int polls = 1;
				     atomic_load_explicit(line, memory_order_acquire) != ball + 1;
				     polls++)
					if (polls % 5000 == 0)
						sched_yield();
				if (i == 0) /* rank 0 says it anew only when this ball is back */
					last = (int)atomic_load_explicit(is_last,
									 memory_order_relaxed);
			}
		}
		double one_way = (double)(bench_now() - start) * 1e-9 / (2 * LINE_BALLS);
		best = one_way < best ? one_way : best;
	}
	return best < LINE_MOST_SECONDS ? best : 0;
}

void
bench_gather_quietly(void)
{
	MPI_Request request;
	int is_over = 0;
	PMPI_Ibarrier(MPI_COMM_WORLD, &request);
	PMPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
	while (!is_over) {
		usleep(2000);
		PMPI_Test(&request, &is_over, MPI_STATUS_IGNORE);
	}
}

double
bench_on_lines(bool is_here, double (*play)(char *lines, int local))
{
	MPI_Comm node;
	MPI_Win window;
	void *memory, *line = NULL;
	int local, locals;
	double seconds = 0, known;
	bench_node(&node);
	PMPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
	PMPI_Comm_rank(node, &local);
	PMPI_Comm_size(node, &locals);
	int has_window = PMPI_Win_allocate_shared(local == 0 ? 1024 : 0, 1, MPI_INFO_NULL, node,
						  &memory, &window) ==
			 MPI_SUCCESS;
	int all_have;
	PMPI_Allreduce(&has_window, &all_have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (all_have) {
		MPI_Aint bytes;
		int unit;
		PMPI_Win_shared_query(window, 0, &bytes, &unit, &line);
		if (local == 0)
			memset(line, 0, (size_t)bytes);
		PMPI_Barrier(MPI_COMM_WORLD);
		if (is_here && locals > 1 && local < 2) /* 64: a line without a byte of what the MPI
							 * may keep before */
			seconds = play((char *)line + 64, local);
		bench_gather_quietly();
		PMPI_Win_free(&window);
	}
	PMPI_Comm_free(&node);
	PMPI_Allreduce(&seconds, &known, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return known;
}

double
bench_line_seconds(bool is_here)
{
	return bench_on_lines(is_here, ping_pong);
}

/* The file whose function a call to `name` reaches, "" if that cannot be found out. */
static void
file_of(const char *name, char *file, size_t room)
{
	Dl_info info;
	void *function = dlsym(RTLD_DEFAULT, name);
	bool is_known = function && dladdr(function, &info) && info.dli_fname;
	snprintf(file, room, "%s", is_known ? info.dli_fname : "");
}

void
bench_world_look(struct bench_world *world)
{
	char version[MPI_MAX_LIBRARY_VERSION_STRING], host[sizeof world->library];
	int length;
	memset(world, 0, sizeof *world);
	PMPI_Comm_rank(MPI_COMM_WORLD, &world->rank);
	PMPI_Comm_size(MPI_COMM_WORLD, &world->ranks);
	PMPI_Get_library_version(version, &length);
	version[strcspn(version, ",\n")] = 0;
	char *word = strstr(version, " Version:\t"); /* "MPICH Version:<tab>4.0.2" */
	if (word)
		memmove(word + 1, word + strlen(" Version:\t"),
			strlen(word + strlen(" Version:\t")) + 1);
	snprintf(world->mpi, sizeof world->mpi, "%.*s", (int)sizeof world->mpi - 1, version);
	file_of("MPI_Allgather", world->library, sizeof world->library);
	file_of("PMPI_Allgather", host, sizeof host);
	world->is_interposed = strcmp(world->library, host) != 0;
	world->comm_rank = world->rank;
	look_at_clock(world);
	look_at_nodes(world);
	/* Only where ranks 0 and 1 have two cores to be on. */
	world->line_seconds = world->nodes == 1 && world->cores > 1 ? bench_line_seconds(true) : 0;
}

void
bench_world_permute(struct bench_world *world, uint64_t seed)
{
	static MPI_Comm permuted;
	uint64_t hash = cs_hash_mix(cs_hash_mix(seed) ^ (uint64_t)world->rank);
	PMPI_Comm_split(MPI_COMM_WORLD, 0, world->rank ? 1 + (int)(hash >> 34) : 0, &permuted);
	PMPI_Comm_rank(permuted, &world->comm_rank);
	world->comm = &permuted;
	world->comm_ranks = malloc((size_t)world->ranks * sizeof *world->comm_ranks);
	if (!world->comm_ranks)
		PMPI_Abort(MPI_COMM_WORLD, 1);
	PMPI_Allgather(&world->comm_rank, 1, MPI_INT, world->comm_ranks, 1, MPI_INT,
		       MPI_COMM_WORLD);
}

/* --- memcpy of one core, for the bound -------------------------------------------------------- */

/* Bytes a second for copies of that size, warm: the fastest of some runs, those at earlier cases
 * among them. Measured at rank 0 while the others wait. */
static double
copy_bandwidth(size_t size)
{
	static struct {
		size_t size;
		double bandwidth;
	} known[BENCH_MAX_SIZES];
	size_t k = 0;
	while (k < BENCH_MAX_SIZES && known[k].size && known[k].size != size)
		k++;
	char *from = malloc(size), *to = malloc(size);
	int64_t best = INT64_MAX;
	int copies = size < 65536 ? (int)(65536 / size) : 1;
	if (from && to) {
		memset(from, 1, size);
		memset(to, 2, size);
		for (int trial = 0; trial < 30; trial++) {
			int64_t start = bench_now();
			for (int i = 0; i < copies; i++) {
				memcpy(to, from, size);
				__asm__ volatile("" ::: "memory");
			}
			int64_t taken = bench_now() - start;
			best = taken < best ? taken : best;
		}
	}
	free(from);
	free(to);
	double bandwidth = best < INT64_MAX ? (double)size * copies /
			   ((double)(best > 0 ? best : 1) * 1e-9) : 0;
	if (k < BENCH_MAX_SIZES) {
		known[k].size = size;
		bandwidth = bandwidth > known[k].bandwidth ? bandwidth : known[k].bandwidth;
		known[k].bandwidth = bandwidth;
	}
	return bandwidth;
}

/* Lower bound for any algorithm on one node: the bytes that must move, shared by all cores, and one
 * line from core to core; in a row of rooted calls the lines may all be on their way at once. 0 if
 * there is no bound, and if a round was faster: then the copies or the line were measured while the
 * machine did other things. */
static double
bound_of(const struct bench_result *result, const struct bench_operation *op,
	 const struct bench_options *options, const struct bench_world *world)
{
	if (world->nodes != 1 || world->ranks == 1)
		return 0;
	double bytes = bench_operation_least_bytes(op);
	double seconds = options->line_seconds >= 0 ? options->line_seconds : world->line_seconds;
	if (cs_colls[op->what.coll].rooted)
		seconds /= result->batch;
	if (bytes > 0) {
		double bandwidth = options->bandwidth > 0 ? options->bandwidth
							  : copy_bandwidth(op->bytes);
		if (bandwidth <= 0)
			return 0;
		seconds += bytes / (bandwidth * world->cores);
	}
	for (enum bench_side side = 0; side < BENCH_SIDES; side++)
		for (int round = 0; round < result->rounds; round++)
			if (result->seconds[side][round] < seconds)
				return 0;
	return seconds;
}

/* --- right before fast ------------------------------------------------------------------------ */

/* Every rank's view; the lowest rank with a fault tells it. */
static bool
agree_on_fault(bool is_right, const struct bench_operation *op, enum bench_side side, int n,
	       bool is_nonblocking, const struct bench_fault *fault)
{
	int mine = is_right ? op->ranks : op->rank, first, wrong = !is_right, all_wrong;
	PMPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (first == op->ranks)
		return true;
	PMPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (op->rank == first) {
		const struct cs_coll_info *coll = &cs_colls[op->what.coll];
		char root[32] = "";
		if (coll->rooted)
			snprintf(root, sizeof root, ", root %d", bench_operation_root(op, n));
		fprintf(stderr,
			"collshim-bench: WRONG RESULT of %s%s, %zu bytes%s, %d ranks, distribution "
			"%s, by %s: rank %d: %s "
			"(%d of the ranks have a wrong result)\n",
			is_nonblocking ? "non-blocking " : "", coll->name, op->what.size, root,
			op->ranks,
			bench_distribution_names[op->what.distribution], side == BENCH_HOST
			? "the MPI (PMPI)" : "ours (MPI)", op->rank, fault->text, all_wrong);
	}
	return false;
}

bool
bench_check(const struct bench_operation *op, enum bench_side side, int first_call,
	    bool is_nonblocking)
{
	int calls[3] = { first_call, first_call + op->ranks / 2, first_call + op->ranks - 1 };
	bool is_rotating = cs_colls[op->what.coll].rooted && op->what.root == BENCH_ROOT_ROTATE;
	for (int k = 0; k < (is_rotating ? 3 : 1); k++) {
		struct bench_fault fault = { "" };
		bool is_right = bench_operation_check(op, side, calls[k], is_nonblocking, &fault);
		if (!agree_on_fault(is_right, op, side, calls[k], is_nonblocking, &fault))
			return false;
	}
	return true;
}

bool
bench_check_both(const struct bench_operation *op, int first_call, bool is_nonblocking)
{
	return bench_check(op, BENCH_HOST, first_call, is_nonblocking) &&
	       bench_check(op, BENCH_OURS, first_call, is_nonblocking);
}

/* --- times ------------------------------------------------------------------------------------ */

struct plan {
	int rounds, calls, batch;
	int turns; /* of the core, given up after each row */
	bool is_own_time; /* the longest of the ranks' own times */
	double clock_seconds;
};

struct stamps {
	int64_t *in, *out; /* [round][side][call] */
};

static size_t
stamp_at(const struct plan *plan, int round, enum bench_side side)
{
	return ((size_t)round * BENCH_SIDES + side) * (size_t)plan->calls;
}

/* One block: `calls` times a barrier and a row of calls. The first row is for the caches and is not
 * timed. If ranks share cores, a rank that is done yields its core before it enters the barrier:
 * polling there would count as time of the ranks that have yet to run. */
static void
run_block(const struct bench_operation *op, enum bench_side side, const struct plan *plan,
	  int64_t *in, int64_t *out)
{
	int n = 0;
	for (int i = -1; i < plan->calls; i++) {
		PMPI_Barrier(MPI_COMM_WORLD);
		int64_t start = bench_now();
		for (int k = 0; k < (i < 0 ? 1 : plan->batch); k++)
			bench_operation_call(op, side, n++);
		int64_t end = bench_now();
		for (int turn = 0; turn < plan->turns; turn++)
			sched_yield();
		if (i >= 0) {
			in[i] = start;
			out[i] = end;
		}
	}
}

/* Seconds that one call with its barrier takes, the longest of the ranks; from `calls` calls. */
static double
estimate(const struct bench_operation *op, enum bench_side side, int calls)
{
	PMPI_Barrier(MPI_COMM_WORLD);
	int64_t start = bench_now();
	for (int n = 0; n < calls; n++) {
		bench_operation_call(op, side, n);
		PMPI_Barrier(MPI_COMM_WORLD);
	}
	double mine = (double)(bench_now() - start) * 1e-9 / calls, longest;
	PMPI_Allreduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return longest;
}

/* From what a call takes to how many are made. False, with the reason, if the least would take too
 * long. The same on all ranks, as the estimates are. */
static bool
make_plan(struct plan *plan, const struct bench_operation *op, const struct bench_options *options,
	  const struct bench_world *world, char skipped[160])
{
	double both = 0;
	for (enum bench_side side = 0; side < BENCH_SIDES; side++)
		both += estimate(op, side, 1); /* also the first warm-up: maps pages, makes
						* connections */
	plan->rounds = options->rounds;
	plan->batch = op->what.row;
	plan->is_own_time = options->is_per_rank_max || !world->has_one_clock ||
			    bench_looks_free(&op->what, world);
	plan->clock_seconds = world->clock_seconds;
	plan->turns = world->cores < world->ranks ? 2 : 0;
	int least_batch = plan->batch < LEAST_BATCH ? plan->batch : LEAST_BATCH;
	if (both * plan->rounds * LEAST_CALLS * least_batch > 2 * options->limit) {
		/* The first call may have been slow for once: ask again before the case is given
		 * up. */
		both = estimate(op, BENCH_HOST, 1) + estimate(op, BENCH_OURS, 1);
		double needed = both * plan->rounds * LEAST_CALLS * least_batch;
		if (needed > options->limit) {
			snprintf(skipped, 160, "a call takes about %.3g s, the case %.0f s: more "
					       "than the limit of %g s",
				 both / 2, needed, options->limit);
			return false;
		}
	}
	both = 0;
	for (enum bench_side side = 0; side < BENCH_SIDES; side++) {
		estimate(op, side, 2);
		both += estimate(op, side, 3);
	}
	double blocks = options->seconds / plan->rounds;
	if (plan->batch > least_batch && both * plan->batch * LEAST_CALLS > blocks) {
		int batch = (int)(blocks / (both * LEAST_CALLS));
		plan->batch = batch < least_batch ? least_batch : batch;
	}
	double calls = blocks / (both * plan->batch);
	plan->calls = calls < LEAST_CALLS ? LEAST_CALLS : calls > BENCH_MAX_CALLS
		      ? BENCH_MAX_CALLS : (int)calls;
	return true;
}

bool
bench_looks_free(const struct bench_case *what, const struct bench_world *world)
{
	return what->row == 1 && cs_colls[what->coll].rooted && world->cores < world->ranks;
}

/* Median over the calls of one block, at rank 0. A call's time is from the moment the last rank
 * entered to the moment the last one left, or the longest of the ranks' own times, without the
 * reading of the clock. A row of calls begins with the first rank's entry: where ranks take turns
 * on a core, the last to enter may find all but its own part of the whole row done (seen: a bcast
 * of 0.06 us). */
static double
block_seconds(const struct stamps *stamps, const struct plan *plan, int round, enum bench_side side,
	      double *scratch)
{
	size_t at = stamp_at(plan, round, side);
	for (int i = 0; i < plan->calls; i++) {
		int64_t taken = plan->is_own_time ? stamps->out[at + (size_t)i] :
						    stamps->out[at + (size_t)i] -
						    stamps->in[at + (size_t)i];
		double seconds = (double)taken * 1e-9 - plan->clock_seconds;
		scratch[i] = (seconds > LEAST_SECONDS ? seconds : LEAST_SECONDS) / plan->batch;
	}
	return bench_median(scratch, plan->calls);
}

static void
evaluate(struct bench_result *result, const struct stamps *stamps, const struct plan *plan,
	 double *scratch)
{
	double ratios[BENCH_MAX_ROUNDS], sorted[BENCH_MAX_ROUNDS];
	for (enum bench_side side = 0; side < BENCH_SIDES; side++) {
		for (int round = 0; round < plan->rounds; round++)
			sorted[round] = result->seconds[side][round] =
				block_seconds(stamps, plan, round, side, scratch);
		result->median[side] = bench_median(sorted, plan->rounds);
	}
	for (int round = 0; round < plan->rounds; round++) {
		double ours = result->seconds[BENCH_OURS][round];
		ratios[round] = ours > 0 ? result->seconds[BENCH_HOST][round] / ours : 0;
	}
	result->ratio = bench_median(ratios, plan->rounds); /* and sorts them */
	result->ratio_min = ratios[0];
	result->ratio_max = ratios[plan->rounds - 1];
}

/* The rounds, and the times out of them. False without memory (agreed by all). */
static bool
run_rounds(struct bench_result *result, const struct bench_operation *op, const struct plan *plan)
{
	size_t all = (size_t)plan->rounds * BENCH_SIDES * (size_t)plan->calls;
	int64_t *memory = malloc(4 * all * sizeof *memory);
	double *scratch = malloc((size_t)plan->calls * sizeof *scratch);
	int has_memory = memory && scratch, have_all;
	PMPI_Allreduce(&has_memory, &have_all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (have_all) {
		struct stamps mine = { memory, memory + all },
			      last = { memory + 2 * all, memory + 3 * all };
		memset(memory, 0, 4 * all * sizeof *memory);
		for (int round = 0; round < plan->rounds; round++) {
			for (int turn = 0; turn < BENCH_SIDES; turn++) {
				/* A B, B A, A B, ... */
				enum bench_side side = (enum bench_side)(turn + round) %
						       BENCH_SIDES;
				size_t at = stamp_at(plan, round, side);
				run_block(op, side, plan, mine.in + at, mine.out + at);
			}
		}
		if (plan->is_own_time)
			for (size_t i = 0; i < all; i++)
				mine.out[i] -= mine.in[i];
		PMPI_Reduce(mine.in, last.in, (int)all, MPI_INT64_T,
			    plan->batch > 1 ? MPI_MIN : MPI_MAX, 0, MPI_COMM_WORLD);
		PMPI_Reduce(mine.out, last.out, (int)all, MPI_INT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
		if (op->rank == 0)
			evaluate(result, &last, plan, scratch);
	}
	free(memory);
	free(scratch);
	return have_all;
}

struct bench_operation *
bench_prepare(const struct bench_case *what, const struct bench_options *options, int rank,
	      int ranks, char skipped[160])
{
	struct bench_operation *op = NULL;
	size_t memory = bench_operation_memory(what, ranks);
	if (memory == SIZE_MAX) {
		snprintf(skipped, 160, "more than 2^31 bytes in one buffer");
		return NULL;
	}
	if (memory > options->memory / (size_t)options->buffers) {
		snprintf(skipped, 160, "%d sets of buffers of %zu bytes are more than --memory %zu",
			 options->buffers, memory, options->memory);
		return NULL;
	}
	int is_ready = bench_operation_create(&op, what, rank, ranks, options->buffers) == CS_OK;
	int all_ready;
	PMPI_Allreduce(&is_ready, &all_ready, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (!all_ready) {
		snprintf(skipped, 160, "no memory for the buffers");
		if (is_ready)
			bench_operation_destroy(op);
		return NULL;
	}
	return op;
}

bool
bench_measure(struct bench_result *result, const struct bench_case *what,
	      const struct bench_options *options, const struct bench_world *world)
{
	memset(result, 0, sizeof *result);
	result->what = *what;
	struct bench_operation *op = bench_prepare(what, options, world->comm_rank, world->ranks,
						   result->skipped);
	if (!op)
		return true;
	op->comm = world->comm;
	result->bytes = op->bytes;
	struct plan plan;
	bool is_right = bench_check_both(op, 0, false);
	if (is_right && make_plan(&plan, op, options, world, result->skipped)) {
		if (!run_rounds(result, op, &plan))
			snprintf(result->skipped, sizeof result->skipped,
				 "no memory for the times");
		result->rounds = plan.rounds;
		result->calls = plan.calls;
		result->batch = plan.batch;
		/* Once more: what was right when all was quiet may not be after thousands of calls
		 * in a row. */
		is_right = bench_check_both(op, 1, false);
		if (world->rank == 0)
			result->bound = bound_of(result, op, options, world);
	}
	bench_operation_destroy(op);
	return is_right;
}
