/* An ordinary MPI program for the fault tests: all 17 collectives with known results, on
 * MPI_COMM_WORLD, on a duplicate of it and on its halves (even and odd ranks), in a loop. A wrong
 * result is told and ends the job with exit code 1.
 *
 *   workload [rounds=N] [tell=FILE] [dups=N] [die=RANK:MICROSECONDS] [die_early=RANK:MICROSECONDS]
 *   [undumpable] [lose_proc] [begun]
 *
 *   rounds      how often; default 3, one for each block size
 *   tell        rank 0 writes a line to this file after each round: launchers may hold back what it
 *               prints
 *   dups        so many further duplicates, alive together and each used by every collective
 *   die         the kernel kills that rank (SIGKILL) so long after its first round, wherever it is
 *               then
 *   die_early   the same, counted from the end of MPI_Init: teams are being made
 *   undumpable  no capabilities and PR_SET_DUMPABLE 0: other processes of the same user may not
 *               look into this one
 *   lose_proc   after MPI_Init /proc is unmounted, in a mount namespace of the process's own; needs
 *               root
 *   begun       non-blocking and persistent calls instead, many of them under way at once */
#include <mpi.h>
#if defined(OPEN_MPI) && MPI_VERSION < 4 && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_RANKS 16

static const int block_sizes[] = { 1, 12000, 700 }; /* ints; 12000 for four ranks is more than one
						     * slot takes */
#define SIZE_COUNT ((int)(sizeof block_sizes / sizeof *block_sizes))
#define MOST_INTS ((12000 + 2 * MOST_RANKS) * MOST_RANKS)

struct where {
	MPI_Comm comm;
	const char *name;
	int rank, size, round, block;
};

static int *out, *in; /* MOST_INTS each */

/* What rank `from` has for rank `to`: any formula will do whose values differ and whose sums
 * fit. */
static int
value(const struct where *at, int from, int to, int i)
{
	return (at->round * 7919 + from * 131071 + to * 8191 + i * 31 + at->size) & 0xfffff;
}

static void
compare(const struct where *at, const char *collective, int index, int got, int wanted)
{
	if (got == wanted)
		return;
	printf("FAILED %s on %s: rank %d of %d, round %d, blocks of %d ints: int %d is %d and not "
	       "%d\n", collective, at->name, at->rank, at->size, at->round, at->block, index, got,
	       wanted);
	fflush(stdout);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void
compare_block(const struct where *at, const char *collective, int offset, int count, int from,
	      int to)
{
	for (int i = 0; i < count; i++)
		compare(at, collective, offset + i, in[offset + i], value(at, from, to, i));
}

/* Of the first `ranks` ranks. */
static void
compare_first(const struct where *at, const char *collective, int ranks, int offset, int count,
	      int to)
{
	for (int i = 0; i < count; i++) {
		int sum = 0;
		for (int rank = 0; rank < ranks; rank++)
			sum += value(at, rank, to, i);
		compare(at, collective, offset + i, in[offset + i], sum);
	}
}

static void
compare_sum(const struct where *at, const char *collective, int offset, int count, int to)
{
	compare_first(at, collective, at->size, offset, count, to);
}

/* Blocks for all ranks, one behind the other, of the given sizes. */
static void
fill(const struct where *at, const int *counts, const int *offsets)
{
	for (int to = 0; to < at->size; to++)
		for (int i = 0; i < counts[to]; i++)
			out[offsets[to] + i] = value(at, at->rank, to, i);
	memset(in, -1, MOST_INTS * sizeof *in);
}

static void
all_equal(const struct where *at, int *counts, int *offsets)
{
	for (int rank = 0; rank < at->size; rank++) {
		counts[rank] = at->block;
		offsets[rank] = rank * at->block;
	}
}

static void
all_different(const struct where *at, int *counts, int *offsets)
{
	for (int rank = 0, offset = 0; rank < at->size; offset += counts[rank++]) {
		counts[rank] = at->block + rank;
		offsets[rank] = offset;
	}
}

static void
move(const struct where *at, int root)
{
	int counts[MOST_RANKS], offsets[MOST_RANKS];
	int n = at->block, p = at->size, me = at->rank;
	MPI_Comm comm = at->comm;

	all_equal(at, counts, offsets);
	fill(at, counts, offsets);
	if (me == root)
		memcpy(in, out, (size_t)n * sizeof *in);
	MPI_Bcast(in, n, MPI_INT, root, comm);
	compare_block(at, "bcast", 0, n, root, 0);

	fill(at, counts, offsets);
	MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, comm);
	for (int rank = 0; rank < p; rank++)
		compare_block(at, "allgather", offsets[rank], n, rank, 0);

	fill(at, counts, offsets);
	MPI_Gather(out, n, MPI_INT, in, n, MPI_INT, root, comm);
	for (int rank = 0; rank < p && me == root; rank++)
		compare_block(at, "gather", offsets[rank], n, rank, 0);

	fill(at, counts, offsets);
	MPI_Scatter(out, n, MPI_INT, in, n, MPI_INT, root, comm);
	compare_block(at, "scatter", 0, n, root, me);

	fill(at, counts, offsets);
	MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, comm);
	for (int rank = 0; rank < p; rank++)
		compare_block(at, "alltoall", offsets[rank], n, rank, me);

	all_different(at, counts, offsets);
	fill(at, counts, offsets);
	MPI_Allgatherv(out + offsets[me], counts[me], MPI_INT, in, counts, offsets, MPI_INT, comm);
	for (int rank = 0; rank < p; rank++)
		compare_block(at, "allgatherv", offsets[rank], counts[rank], rank, rank);

	fill(at, counts, offsets);
	MPI_Gatherv(out + offsets[me], counts[me], MPI_INT, in, counts, offsets, MPI_INT, root,
		    comm);
	for (int rank = 0; rank < p && me == root; rank++)
		compare_block(at, "gatherv", offsets[rank], counts[rank], rank, rank);

	fill(at, counts, offsets);
	MPI_Scatterv(out, counts, offsets, MPI_INT, in, counts[me], MPI_INT, root, comm);
	compare_block(at, "scatterv", 0, counts[me], root, me);
}

static void
exchange(const struct where *at)
{
	int sent[MOST_RANKS], received[MOST_RANKS], from[MOST_RANKS], to[MOST_RANKS];
	MPI_Datatype types[MOST_RANKS];
	for (int rank = 0; rank < at->size; rank++) {
		/* Between a and b go block + (a + 2b) % 5 ints: uneven, and not the same both
		 * ways. */
		sent[rank] = at->block + (at->rank + 2 * rank) % 5;
		received[rank] = at->block + (rank + 2 * at->rank) % 5;
		from[rank] = to[rank] = rank * (at->block + 5);
		types[rank] = MPI_INT;
	}
	fill(at, sent, from);
	MPI_Alltoallv(out, sent, from, MPI_INT, in, received, to, MPI_INT, at->comm);
	for (int rank = 0; rank < at->size; rank++)
		compare_block(at, "alltoallv", to[rank], received[rank], rank, at->rank);

	int bytes[MOST_RANKS];
	for (int rank = 0; rank < at->size; rank++)
		bytes[rank] = to[rank] * (int)sizeof(int);
	fill(at, sent, from);
	MPI_Alltoallw(out, sent, bytes, types, in, received, bytes, types, at->comm);
	for (int rank = 0; rank < at->size; rank++)
		compare_block(at, "alltoallw", to[rank], received[rank], rank, at->rank);
}

static void
reduce(const struct where *at, int root)
{
	int counts[MOST_RANKS], offsets[MOST_RANKS], n = at->block;

	all_equal(at, counts, offsets);
	fill(at, counts, offsets);
	MPI_Reduce(out, in, n, MPI_INT, MPI_SUM, root, at->comm);
	if (at->rank == root)
		compare_sum(at, "reduce", 0, n, 0);

	fill(at, counts, offsets);
	MPI_Allreduce(out, in, n * at->size, MPI_INT, MPI_SUM, at->comm);
	for (int rank = 0; rank < at->size; rank++)
		compare_sum(at, "allreduce", offsets[rank], n, rank);

	fill(at, counts, offsets);
	MPI_Scan(out, in, n * at->size, MPI_INT, MPI_SUM, at->comm);
	for (int rank = 0; rank < at->size; rank++)
		compare_first(at, "scan", at->rank + 1, offsets[rank], n, rank);

	fill(at, counts, offsets);
	MPI_Exscan(out, in, n * at->size, MPI_INT, MPI_SUM, at->comm);
	for (int rank = 0; at->rank && rank < at->size; rank++)
		compare_first(at, "exscan", at->rank, offsets[rank], n, rank);

	fill(at, counts, offsets);
	MPI_Reduce_scatter_block(out, in, n, MPI_INT, MPI_SUM, at->comm);
	compare_sum(at, "reduce_scatter_block", 0, n, at->rank);

	all_different(at, counts, offsets);
	fill(at, counts, offsets);
	MPI_Reduce_scatter(out, in, counts, MPI_INT, MPI_SUM, at->comm);
	compare_sum(at, "reduce_scatter", 0, counts[at->rank], at->rank);
}

static void
use(MPI_Comm comm, const char *name, int round, int block)
{
	struct where at = { .comm = comm, .name = name, .round = round, .block = block };
	MPI_Comm_rank(comm, &at.rank);
	MPI_Comm_size(comm, &at.size);
	int root = round % at.size;
	move(&at, root);
	exchange(&at);
	reduce(&at, root);
	MPI_Barrier(comm);
}

/* Calls that are under way when the first of them is waited for: more than may be at once, some
 * longer than a slot, and a persistent one. */
static void
use_begun(MPI_Comm comm, const char *name, MPI_Request *persistent, int round, int block)
{
	enum { CALLS = 72 };
	struct where at = { .comm = comm, .name = name, .round = round, .block = block };
	static int sums[CALLS], sum, own;
	MPI_Request requests[CALLS];
	MPI_Status statuses[CALLS];
	MPI_Comm_rank(comm, &at.rank);
	MPI_Comm_size(comm, &at.size);
	int counts[MOST_RANKS], offsets[MOST_RANKS];
	if (*persistent == MPI_REQUEST_NULL)
		MPI_Allreduce_init(&own, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL,
				   persistent);
	all_equal(&at, counts, offsets);
	fill(&at, counts, offsets);
	own = at.rank + round;
	MPI_Start(persistent);
	for (int i = 0; i < CALLS - 2; i++)
		MPI_Iallreduce(out, &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[i]);
	MPI_Ialltoall(out, block, MPI_INT, in, block, MPI_INT, comm, &requests[CALLS - 2]);
	MPI_Ibarrier(comm, &requests[CALLS - 1]);
	for (volatile int i = 0; i < 20000; i++) /* computes */
		;
	MPI_Waitall(CALLS, requests, statuses);
	MPI_Wait(persistent, MPI_STATUS_IGNORE);
	int all = 0;
	for (int rank = 0; rank < at.size; rank++) {
		compare_block(&at, "ialltoall", offsets[rank], block, rank, at.rank);
		all += value(&at, rank, 0, 0);
	}
	for (int i = 0; i < CALLS - 2; i++)
		compare(&at, "iallreduce", i, sums[i], all);
	compare(&at, "allreduce_init", 0, sum, at.size * (at.size - 1) / 2 + at.size * round);
}

/* A timer whose signal is SIGKILL: the end comes at any instruction, and nothing in the process
 * knows. */
static void
die_later(const char *spec, int rank)
{
	int who;
	long microseconds;
	timer_t timer;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL };
	if (spec == NULL || sscanf(spec, "%d:%ld", &who, &microseconds) != 2 || who != rank)
		return;
	struct itimerspec when =
		{ .it_value = { microseconds / 1000000, microseconds % 1000000 * 1000 + 1 } };
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
	    timer_settime(timer, 0, &when, NULL) != 0) {
		perror("timer");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
}

static void
hide(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };
	if (syscall(SYS_capset, &header, none) != 0 || prctl(PR_SET_DUMPABLE, 0) != 0) {
		perror("capset or prctl");
		exit(2);
	}
}

static void
lose_proc(void)
{
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    umount2("/proc", MNT_DETACH) != 0 || access("/proc/self", F_OK) == 0) {
		perror("/proc");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
}

static const char *
option(int argc, char **argv, const char *name)
{
	size_t length = strlen(name);
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], name, length) == 0 &&
		    (argv[i][length] == '=' || argv[i][length] == 0))
			return argv[i] + length + (argv[i][length] == '=');
	return NULL;
}

int
main(int argc, char **argv)
{
	const char *rounds_text = option(argc, argv, "rounds"),
		   *dups_text = option(argc, argv, "dups");
	int rounds = rounds_text != NULL ? atoi(rounds_text) : SIZE_COUNT;
	int dups = dups_text != NULL ? atoi(dups_text) : 0, rank, size;
	if (option(argc, argv, "undumpable") != NULL)
		hide();
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	out = malloc(MOST_INTS * sizeof *out);
	in = malloc(MOST_INTS * sizeof *in);
	MPI_Comm *more = malloc((size_t)(dups + 1) * sizeof *more);
	if (out == NULL || in == NULL || more == NULL || size > MOST_RANKS) {
		fprintf(stderr, "workload: no memory, or more than %d ranks\n", MOST_RANKS);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	if (option(argc, argv, "lose_proc") != NULL)
		lose_proc();
	die_later(option(argc, argv, "die_early"), rank);
	FILE *told = rank == 0 && option(argc, argv, "tell") != NULL
		     ? fopen(option(argc, argv, "tell"), "w") : NULL;

	static const char *const names[] = { "MPI_COMM_WORLD", "the duplicate", "the half" };
	bool is_begun = option(argc, argv, "begun") != NULL;
	MPI_Request persistent[] = { MPI_REQUEST_NULL, MPI_REQUEST_NULL, MPI_REQUEST_NULL };
	MPI_Comm copy, half;
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	MPI_Comm comms[] = { MPI_COMM_WORLD, copy, half };
	for (int i = 0; i < 3 && is_begun; i++)
		MPI_Barrier(comms[i]);
	for (int round = 0; round < rounds; round++) {
		int block = block_sizes[round % SIZE_COUNT];
		for (int i = 0; i < 3; i++)
			if (is_begun)
				use_begun(comms[i], names[i], &persistent[i], round, block);
			else
				use(comms[i], names[i], round, block);
		if (round == 0)
			die_later(option(argc, argv, "die"), rank);
		if (told != NULL &&
		    (fprintf(told, "round %d\n", round + 1) < 0 || fflush(told) != 0))
			perror("tell");
	}
	for (int i = 0; i < dups; i++) {
		MPI_Comm_dup(MPI_COMM_WORLD, &more[i]);
		use(more[i], "a further duplicate", i, block_sizes[0]);
	}
	for (int i = 0; i < dups; i++) {
		use(more[i], "a further duplicate, again", i, block_sizes[0]);
		MPI_Comm_free(&more[i]);
	}
	for (int i = 0; i < 3 && is_begun; i++)
		MPI_Request_free(&persistent[i]);
	MPI_Comm_free(&copy);
	MPI_Comm_free(&half);
	if (told != NULL)
		fclose(told);
	MPI_Finalize();
	if (rank == 0)
		printf("workload: ok with %d ranks\n", size);
	free(more);
	free(in);
	free(out);
	return 0;
}
