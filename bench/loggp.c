/* LogGP parameters of a message from PRTT(n, d, s) (seed 000, 4.3.3) between two ranks on different
 * nodes and between two on one, over MPI_Isend, MPI_Irecv and MPI_Wait, as plans use them
 * (src/comm/host/wire.c).
 *
 *   caller      Isend d Isend d ... Isend, waits for all                  waits for the answer
 *   answerer    has n receives posted        waits for them, one by one | Isend, waits
 *
 * The other ranks sleep. */
#include "bench.h"
#include "node.h"

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

#define SIZES (sizeof sizes / sizeof *sizes)
#define BURSTS (sizeof bursts / sizeof *bursts)
#define POINTS (2 * SIZES + BURSTS + 1)
_Static_assert(POINTS <= BENCH_MAX_PRTT, "room for all round trips");
_Static_assert(2 * NODE_BYTES <= BURST * 524288, "room for two blocks in the messages' memory");

struct pair {
	const struct bench_options *options;
	const struct bench_world *world;
	int caller, answerer; /* ranks */
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

/* Both: the answerer has its receives posted when the caller begins. */
static double
ask_once(const struct pair *pair, const struct bench_prtt *what)
{
	MPI_Request answer, sends[BURST];
	int bytes = (int)what->bytes;
	unsigned char *to = pair->memory + sizes[SIZES - 1];
	PMPI_Irecv(to, bytes, MPI_BYTE, pair->answerer, TAG, MPI_COMM_WORLD, &answer);
	PMPI_Recv(NULL, 0, MPI_BYTE, pair->answerer, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	int64_t start = bench_now();
	for (int i = 0; i < what->n; i++) {
		PMPI_Isend(pair->memory, bytes, MPI_BYTE, pair->answerer, TAG, MPI_COMM_WORLD,
			   &sends[i]);
		if (what->delay > 0 && i < what->n - 1)
			spin(what->delay);
	}
	for (int i = 0; i < what->n; i++)
		PMPI_Wait(&sends[i], MPI_STATUS_IGNORE);
	PMPI_Wait(&answer, MPI_STATUS_IGNORE);
	return (double)(bench_now() - start) * 1e-9;
}

static void
choose_once(const struct pair *pair, const struct bench_prtt *what)
{
	MPI_Request receives[BURST], answer;
	int bytes = (int)what->bytes;
	for (int i = 0; i < what->n; i++)
		PMPI_Irecv(pair->memory + (size_t)i * what->bytes, bytes, MPI_BYTE, pair->caller,
			   TAG, MPI_COMM_WORLD, &receives[i]);
	PMPI_Send(NULL, 0, MPI_BYTE, pair->caller, TAG + 1, MPI_COMM_WORLD);
	for (int i = 0; i < what->n; i++)
		PMPI_Wait(&receives[i], MPI_STATUS_IGNORE);
	PMPI_Isend(pair->memory, bytes, MPI_BYTE, pair->caller, TAG, MPI_COMM_WORLD, &answer);
	PMPI_Wait(&answer, MPI_STATUS_IGNORE);
}

/* One sample; 0 at the answerer. */
static double
prtt(const struct pair *pair, const struct bench_prtt *what)
{
	if (is_caller(pair))
		return ask_once(pair, what);
	choose_once(pair, what);
	return 0;
}

/* Receive overhead o_r, measured on a message that has long arrived: the receive is posted, nothing
 * is done for longer than a round trip, then the answer is taken. `what` is a round trip of one
 * message. */
static double
recv_overhead(const struct pair *pair, const struct bench_prtt *what)
{
	MPI_Request answer, send;
	if (!is_caller(pair)) {
		choose_once(pair, what);
		return 0;
	}
	PMPI_Recv(NULL, 0, MPI_BYTE, pair->answerer, TAG + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	PMPI_Isend(pair->memory, (int)what->bytes, MPI_BYTE, pair->answerer, TAG, MPI_COMM_WORLD,
		   &send);
	PMPI_Wait(&send, MPI_STATUS_IGNORE);
	int64_t start = bench_now();
	PMPI_Irecv(pair->memory + sizes[SIZES - 1], (int)what->bytes, MPI_BYTE, pair->answerer, TAG,
		   MPI_COMM_WORLD, &answer);
	int64_t posted = bench_now();
	spin(2 * what->seconds + 5e-6);
	int64_t waits = bench_now();
	PMPI_Wait(&answer, MPI_STATUS_IGNORE);
	return (double)(bench_now() - waits + posted - start) * 1e-9;
}

/* --- medians ---------------------------------------------------------------------------------- */

typedef double sample_function(const struct pair *pair, const struct bench_prtt *what);

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
median_of(const struct pair *pair, sample_function *take, const struct bench_prtt *what)
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
 * each. At the caller, times[] and *o_recv. */
static void
take_rounds(struct pair *pair, struct bench_prtt *times, int count, double *o_recv)
{
	double medians[BENCH_MAX_PRTT + 1][BENCH_MAX_ROUNDS];
	int rounds = pair->options->rounds;
	for (int round = 0; round < rounds; round++) {
		for (int i = 0; i < count; i++) {
			tell_progress(pair, &times[i]);
			medians[i][round] = median_of(pair, prtt, &times[i]);
			if (round == 0)
				times[i].seconds = medians[i][0];
		}
		medians[count][round] = median_of(pair, recv_overhead, &times[0]);
	}
	for (int i = 0; i < count; i++)
		times[i].seconds = bench_median(medians[i], rounds);
	*o_recv = bench_median(medians[count], rounds);
}

/* A delay that is longer than the gap of the smallest messages. */
static double
find_delay(const struct pair *pair)
{
	struct bench_prtt first = { .n = 1, .bytes = sizes[0] },
			  burst = { .n = BURST, .bytes = sizes[0] };
	double gap = median_of(pair, prtt, &burst) - median_of(pair, prtt, &first);
	return (gap > 0 ? 2 * gap / (BURST - 1) : 0) + 5e-6;
}

static int
list_points(struct bench_prtt *times, double delay)
{
	int count = 0;
	for (size_t i = 0; i < SIZES; i++) {
		times[count++] = (struct bench_prtt){ .n = 1, .bytes = sizes[i] };
		times[count++] = (struct bench_prtt){ .n = BURST, .bytes = sizes[i] };
	}
	for (size_t i = 0; i < BURSTS; i++)
		times[count++] = (struct bench_prtt){ .n = bursts[i], .bytes = sizes[0] };
	times[count++] = (struct bench_prtt){ .n = BURST, .delay = delay, .bytes = sizes[0] };
	return count;
}

static void
measure_pair(struct pair *pair, struct bench_level_costs *level)
{
	double o_recv;
	level->time_count = list_points(level->times, find_delay(pair));
	take_rounds(pair, level->times, level->time_count, &o_recv);
	if (is_caller(pair))
		bench_loggp_fit(&level->loggp, level->times, level->time_count, o_recv);
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

static void
measure_level(struct bench_network *network, enum bench_level level, struct pair *pair)
{
	static const char *const names[BENCH_LEVELS] = { "between nodes", "within a node" };
	struct bench_level_costs *costs = &network->level[level];
	int rank = pair->world->rank;
	if (!costs->is_there)
		return;
	pair->name = names[level];
	pair->caller = costs->ranks[0];
	pair->answerer = costs->ranks[1];
	if (rank == pair->caller || rank == pair->answerer)
		measure_pair(pair, costs);
	bench_gather_quietly();
	send_home(costs, rank);
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

bool
bench_network_measure(struct bench_network *network, const struct bench_options *options,
		      const struct bench_world *world)
{
	size_t bytes = BURST * sizes[SIZES - 1];
	struct pair pair = { .options = options, .world = world };
	int *node_of = NULL, all_have = 0;
	pair.memory = calloc(1, bytes);
	pair.values = calloc(MOST_SAMPLES, sizeof *pair.values);
	int has_memory = pair.memory && pair.values;
	PMPI_Allreduce(&has_memory, &all_have, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (all_have && list_nodes(&node_of, world)) {
		for (enum bench_level level = 0; level < BENCH_LEVELS; level++) {
			struct bench_level_costs *costs = &network->level[level];
			costs->is_there = find_pair(costs->ranks, level, node_of, world->ranks);
			pair.all += costs->is_there ? (int)POINTS * options->rounds : 0;
		}
		for (enum bench_level level = 0; level < BENCH_LEVELS; level++)
			measure_level(network, level, &pair);
		measure_node(network, &pair, node_of);
	} else {
		all_have = 0;
	}
	free(node_of);
	free(pair.memory);
	free(pair.values);
	return all_have;
}
