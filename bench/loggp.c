/* LogGP parameters of a message from PRTT(n, 0, s) and rows of messages (seed 000, 4.3.3) between
 * two ranks on different nodes and between two on one, over a wire as plans use it (wire/wire.h):
 * MPI_Isend, MPI_Irecv and MPI_Wait, or between nodes direct verbs.
 *
 *   caller      send send ... send, waits for all                         waits for the answer
 *   answerer    has n receives posted        waits for them, one by one | send, waits
 *
 * The other ranks sleep. */
#include "bench.h"
#include "node.h"
#include "wire.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define TAG 1
#define BURST 16           /* messages in a row from which gaps are read */
#define MOST_SAMPLES 2000
#define LEAST_SAMPLES 3
#define PART_OF_TIME 20    /* of --time, for one PRTT */
/* Copied and summed on a node: not in a core's own caches, as what others wrote is not */
#define NODE_BYTES 4194304
#define NODE_SECONDS 0.01  /* of copying, for one median's value */

static const size_t sizes[] = { 1, 64, 512, 2048, 8192, 32768, 131072, 524288 };
static const int bursts[] = { 2, 3, 4, 6, 8, 12 }; /* of the smallest size, for f */
static const int rows[BENCH_ROWS] = { 1, 2, 4, 8, BURST };

#define SIZES (sizeof sizes / sizeof *sizes)
#define BURSTS (sizeof bursts / sizeof *bursts)
#define POINTS (2 * SIZES + BURSTS)
_Static_assert(POINTS <= BENCH_MAX_PRTT, "room for all round trips");
_Static_assert(2 * NODE_BYTES <= BURST * 524288, "room for two blocks in the messages' memory");

struct pair {
	const struct bench_options *options;
	const struct bench_world *world;
	int caller, answerer; /* ranks */
	struct bench_wire wire;
	double sends;          /* of the caller's last row, seconds */
	unsigned char *memory; /* room for BURST messages of the largest size */
	double *values;        /* room for MOST_SAMPLES, and for the medians of the rounds */
	const char *name;
	int done, all;         /* round trips of all levels and rounds, for the progress */
};

static bool
is_caller(const struct pair *pair)
{
	return pair->world->rank == pair->caller;
}

static void
spin(double seconds)
{
	int64_t until = bench_now() + (int64_t)(seconds * 1e9);
	while (bench_now() < until)
		;
}

/* --- one round trip --------------------------------------------------------------------------- */

/* The answerer has its receives posted when the caller begins. */
static void
wait_for_receives(const struct pair *pair)
{
	PMPI_Recv(NULL, 0, MPI_BYTE, pair->answerer, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* `all` messages from one end to the other, whose ends are 0 and 1 in the wire. */
static void
start_all(struct pair *pair, struct cs_request *requests, int count, size_t bytes, bool is_send)
{
	struct cs_wire *wire = pair->wire.used;
	for (int i = 0; i < count; i++)
		if (is_send)
			wire->send(wire, &requests[i], !wire->rank, TAG, pair->memory, bytes);
		else
			wire->recv(wire, &requests[i], !wire->rank, TAG,
				   pair->memory + (size_t)i * bytes, bytes);
}

static void
wait_all(struct pair *pair, struct cs_request *requests, int count)
{
	for (int i = 0; i < count; i++)
		pair->wire.used->wait(pair->wire.used, &requests[i]);
}

static double
ask_once(struct pair *pair, const struct bench_prtt *what)
{
	struct cs_wire *wire = pair->wire.used;
	struct cs_request answer, sends[BURST];
	wire->recv(wire, &answer, 1, TAG, pair->memory + sizes[SIZES - 1], what->bytes);
	wait_for_receives(pair);
	int64_t start = bench_now();
	start_all(pair, sends, what->n, what->bytes, true);
	pair->sends = (double)(bench_now() - start) * 1e-9;
	wait_all(pair, sends, what->n);
	wait_all(pair, &answer, 1);
	return (double)(bench_now() - start) * 1e-9;
}

static void
answer_once(struct pair *pair, int receives, int sends, size_t bytes)
{
	struct cs_request requests[BURST];
	start_all(pair, requests, receives, bytes, false);
	PMPI_Send(NULL, 0, MPI_BYTE, pair->caller, TAG + 1, MPI_COMM_WORLD);
	wait_all(pair, requests, receives);
	start_all(pair, requests, sends, bytes, true);
	wait_all(pair, requests, sends);
}

/* One sample; 0 at the answerer. */
static double
prtt(struct pair *pair, const struct bench_prtt *what)
{
	if (is_caller(pair))
		return ask_once(pair, what);
	answer_once(pair, what->n, 1, what->bytes);
	return 0;
}

static double
row_of_sends(struct pair *pair, const struct bench_prtt *what)
{
	prtt(pair, what);
	return pair->sends;
}

/* Receive overheads, of messages that have long arrived: the receives are posted, nothing is done
 * for longer than a round trip of so many, which is what->seconds, then the answers are taken. */
static double
row_of_receives(struct pair *pair, const struct bench_prtt *what)
{
	struct cs_request receives[BURST], send;
	if (!is_caller(pair)) {
		answer_once(pair, 1, what->n, what->bytes);
		return 0;
	}
	wait_for_receives(pair);
	start_all(pair, &send, 1, what->bytes, true);
	wait_all(pair, &send, 1);
	int64_t start = bench_now();
	start_all(pair, receives, what->n, what->bytes, false);
	int64_t posted = bench_now();
	spin(2 * what->seconds + 5e-6);
	int64_t waits = bench_now();
	wait_all(pair, receives, what->n);
	return (double)(bench_now() - waits + posted - start) * 1e-9;
}

/* --- medians ---------------------------------------------------------------------------------- */

typedef double sample_function(struct pair *pair, const struct bench_prtt *what);

/* The caller knows how long one takes, and says how many there will be. */
static int
agree_on_samples(const struct pair *pair, double seconds)
{
	double part = pair->options->seconds / PART_OF_TIME / pair->options->rounds;
	int samples = seconds * MOST_SAMPLES > part ? (int)(part / seconds) : MOST_SAMPLES;
	samples = samples < LEAST_SAMPLES ? LEAST_SAMPLES : samples;
	if (is_caller(pair))
		PMPI_Send(&samples, 1, MPI_INT, pair->answerer, TAG, MPI_COMM_WORLD);
	else
		PMPI_Recv(&samples, 1, MPI_INT, pair->caller, TAG, MPI_COMM_WORLD,
			  MPI_STATUS_IGNORE);
	return samples;
}

static double
median_of(struct pair *pair, sample_function *take, const struct bench_prtt *what)
{
	double seconds = 1;
	for (int i = 0; i < 2; i++) { /* the first may have to make a connection */
		int64_t start = bench_now();
		take(pair, what);
		seconds = (double)(bench_now() - start) * 1e-9;
	}
	int samples = agree_on_samples(pair, seconds);
	for (int i = 0; i < samples; i++)
		pair->values[i] = take(pair, what);
	return bench_median(pair->values, samples);
}

static void
tell_progress(struct pair *pair, const struct bench_prtt *what)
{
	char text[96];
	snprintf(text, sizeof text, "%s: %d messages of %zu bytes", pair->name, what->n,
		 what->bytes);
	if (is_caller(pair) && pair->caller == 0 && !pair->options->is_quiet)
		bench_progress(text, pair->done, pair->all);
	pair->done++;
}

/* The points in turn, and that once for each round: what disturbs for a while disturbs one value of
 * each. At the caller, times[] and rows[]. */
static void
take_rounds(struct pair *pair, struct bench_level_costs *level)
{
	double medians[POINTS][BENCH_MAX_ROUNDS], row_medians[2 * BENCH_ROWS][BENCH_MAX_ROUNDS];
	int rounds = pair->options->rounds;
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < level->time_count; i++) {
			struct bench_prtt *time = &level->times[i];
			tell_progress(pair, time);
			medians[i][round] = median_of(pair, prtt, time);
			time->seconds = round ? time->seconds : medians[i][0];
		}
		for (int i = 0; i < BENCH_ROWS; i++) {
			struct bench_prtt row = { .n = rows[i], .bytes = sizes[0],
						  .seconds = level->times[1].seconds };
			row_medians[2 * i][round] = median_of(pair, row_of_sends, &row);
			row_medians[2 * i + 1][round] = median_of(pair, row_of_receives, &row);
		}
	}
	for (int i = 0; i < level->time_count; i++)
		level->times[i].seconds = bench_median(medians[i], rounds);
	for (int i = 0; i < BENCH_ROWS; i++)
		level->rows[i] = (struct bench_row){
			.n = rows[i],
			.sends = bench_median(row_medians[2 * i], rounds),
			.receives = bench_median(row_medians[2 * i + 1], rounds),
		};
}

/* times[0] and [1]: of one and of most messages of the smallest size. */
static int
list_points(struct bench_prtt *times)
{
	int count = 0;
	for (size_t i = 0; i < SIZES; i++) {
		times[count++] = (struct bench_prtt){ .n = 1, .bytes = sizes[i] };
		times[count++] = (struct bench_prtt){ .n = BURST, .bytes = sizes[i] };
	}
	for (size_t i = 0; i < BURSTS; i++)
		times[count++] = (struct bench_prtt){ .n = bursts[i], .bytes = sizes[0] };
	return count;
}

static void
measure_pair(struct pair *pair, struct bench_level_costs *level)
{
	level->time_count = list_points(level->times);
	take_rounds(pair, level);
	if (is_caller(pair))
		bench_loggp_fit(&level->loggp, level->times, level->time_count, level->rows);
}

/* --- between nodes, and within one ------------------------------------------------------------ */

/* Lists each rank's node, known by its lowest rank. */
static bool
list_nodes(int **node_of, const struct bench_world *world)
{
	MPI_Comm node;
	int first = world->rank;
	bench_node(&node);
	PMPI_Bcast(&first, 1, MPI_INT, 0, node); /* its ranks are in the order of the world's */
	PMPI_Comm_free(&node);
	*node_of = malloc((size_t)world->ranks * sizeof **node_of);
	int has_memory = *node_of != NULL, all_have;
	PMPI_Allreduce(&has_memory, &all_have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (all_have)
		PMPI_Allgather(&first, 1, MPI_INT, *node_of, 1, MPI_INT, MPI_COMM_WORLD);
	return all_have;
}

/* The first rank of the first node that fits and the last rank that is with it (or not). */
static bool
find_pair(int ranks[2], enum bench_level level, const int *node_of, int count)
{
	for (ranks[0] = 0; ranks[0] < count; ranks[0]++)
		for (ranks[1] = count - 1; ranks[1] > ranks[0]; ranks[1]--)
			if ((node_of[ranks[0]] == node_of[ranks[1]]) == (level == BENCH_INTRA))
				return true;
	return false;
}

/* From the caller to rank 0, which tells. */
static void
send_home(struct bench_level_costs *level, int rank)
{
	if (level->ranks[0] == 0)
		return;
	if (rank == level->ranks[0])
		PMPI_Send(level, (int)sizeof *level, MPI_BYTE, 0, TAG, MPI_COMM_WORLD);
	else if (rank == 0)
		PMPI_Recv(level, (int)sizeof *level, MPI_BYTE, level->ranks[0], TAG, MPI_COMM_WORLD,
			  MPI_STATUS_IGNORE);
}

/* False: there are no verbs, though they were asked for. */
static bool
measure_level(struct bench_network *network, enum bench_level level, struct pair *pair)
{
	static const char *const names[BENCH_LEVELS] = { "between nodes", "within a node" };
	struct bench_level_costs *costs = &network->level[level];
	int rank = pair->world->rank;
	if (!costs->is_there)
		return true;
	pair->name = names[level];
	pair->caller = costs->ranks[0];
	pair->answerer = costs->ranks[1];
	bench_wire_open(&pair->wire, costs->ranks, rank);
	bool is_there = !pair->options->wants_verbs || level != BENCH_INTER ||
			bench_wire_use_verbs(&pair->wire, rank, pair->world->ranks);
	if (is_there && (rank == pair->caller || rank == pair->answerer))
		measure_pair(pair, costs);
	snprintf(costs->device, sizeof costs->device, "%s", pair->wire.name);
	bench_wire_close(&pair->wire);
	bench_gather_quietly();
	send_home(costs, rank);
	return is_there;
}

/* --- on a node -------------------------------------------------------------------------------- */

static void
copy_block(unsigned char *memory)
{
	memcpy(memory, memory + NODE_BYTES, NODE_BYTES);
	__asm__ volatile("" ::: "memory");
}

static void
sum_block(unsigned char *memory)
{
	int *restrict to = (int *)(void *)memory,
	    *restrict from = (int *)(void *)(memory + NODE_BYTES);
	for (size_t i = 0; i < NODE_BYTES / sizeof(int); i++)
		to[i] += from[i];
	__asm__ volatile("" ::: "memory");
}

/* Seconds per byte of the result. */
static double
rate_of(void (*work)(unsigned char *memory), unsigned char *memory)
{
	int64_t start = bench_now(), end = start;
	int blocks = 0;
	for (; end - start < (int64_t)(NODE_SECONDS * 1e9); end = bench_now(), blocks++)
		work(memory);
	return (double)(end - start) * 1e-9 / ((double)blocks * NODE_BYTES);
}

/* The bytes that all ranks of the node together copy in a second, as seconds per byte. */
static double
shared_rate(unsigned char *memory, MPI_Comm node)
{
	PMPI_Barrier(node);
	double bytes_a_second = 1 / rate_of(copy_block, memory), all;
	PMPI_Allreduce(&bytes_a_second, &all, 1, MPI_DOUBLE, MPI_SUM, node);
	return 1 / all;
}

/* On rank 0's node, or on the first one with two ranks: by its first rank alone, then by all its
 * ranks. */
static void
measure_node(struct bench_network *network, const struct pair *as, const int *node_of)
{
	double copies[BENCH_MAX_ROUNDS], sums[BENCH_MAX_ROUNDS], shared[BENCH_MAX_ROUNDS];
	int pair[2], first = find_pair(pair, BENCH_INTRA, node_of, as->world->ranks) ? pair[0] : 0,
	    local, locals;
	int rounds = as->options->rounds;
	bool is_here = node_of[as->world->rank] == node_of[first];
	MPI_Comm node;
	PMPI_Comm_split(MPI_COMM_WORLD, is_here ? 0 : MPI_UNDEFINED, as->world->rank, &node);
	memset(as->memory, 1, 2 * NODE_BYTES);
	for (int i = 0; i < rounds && as->world->rank == first; i++) {
		copies[i] = rate_of(copy_block, as->memory);
		sums[i] = rate_of(sum_block, as->memory);
	}
	bench_gather_quietly();
	double found[4] = { 0 };
	if (is_here) {
		PMPI_Comm_rank(node, &local);
		PMPI_Comm_size(node, &locals);
		for (int i = 0; i < rounds && locals > 1; i++)
			shared[i] = shared_rate(as->memory, node);
		PMPI_Comm_free(&node);
		if (local == 0) {
			found[0] = bench_median(copies, rounds);
			found[1] = bench_median(sums, rounds);
			found[2] = locals > 1 ? bench_median(shared, rounds) : 0;
		}
	}
	bench_gather_quietly();
	/* Not measured if all ranks share one core: there a flag waits for a turn of the core. */
	found[3] = as->world->cores > 1 ? bench_line_seconds(is_here) : 0;
	PMPI_Reduce(as->world->rank == 0 ? MPI_IN_PLACE : found, found, 4, MPI_DOUBLE, MPI_MAX, 0,
		    MPI_COMM_WORLD);
	network->copy = found[0];
	network->reduce = found[1];
	network->bus = found[2];
	network->flag = found[3];
}

int
bench_network_measure(struct bench_network *network, const struct bench_options *options,
		      const struct bench_world *world)
{
	size_t bytes = BURST * sizes[SIZES - 1];
	struct pair pair = { .options = options, .world = world };
	int *node_of = NULL, all_have = 0;
	bool is_there = true;
	pair.memory = calloc(1, bytes);
	pair.values = calloc(MOST_SAMPLES, sizeof *pair.values);
	int has_memory = pair.memory && pair.values;
	PMPI_Allreduce(&has_memory, &all_have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	all_have = all_have && list_nodes(&node_of, world);
	if (!all_have && world->rank == 0)
		fputs("collshim-bench: no memory for the messages\n", stderr);
	for (enum bench_level level = 0; all_have && level < BENCH_LEVELS; level++) {
		struct bench_level_costs *costs = &network->level[level];
		costs->is_there = find_pair(costs->ranks, level, node_of, world->ranks);
		pair.all += costs->is_there ? (int)POINTS * options->rounds : 0;
	}
	if (all_have && options->wants_verbs && !network->level[BENCH_INTER].is_there) {
		is_there = false;
		if (world->rank == 0)
			fputs("collshim-bench: --wire ib: all ranks are on one node\n", stderr);
	}
	for (enum bench_level level = 0; all_have && is_there && level < BENCH_LEVELS; level++)
		is_there = measure_level(network, level, &pair);
	if (all_have && is_there)
		measure_node(network, &pair, node_of);
	free(node_of);
	free(pair.memory);
	free(pair.values);
	return !all_have ? 1 : is_there ? 0 : BENCH_NO_VERBS;
}
