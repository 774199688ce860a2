/* Blocks that a load or a store reaches and the kernel does not: pages that the program has
 * protected and gives free in a handler of SIGSEGV, as garbage collectors and incremental
 * checkpoints do; and processes that others may no longer look into. A call that reads them by
 * process_vm_readv is refused in the midst of it, and goes on all the same.
 *
 *   protected WAY    source      what is sent may not be touched between its ends
 *                    lazy        nor is it there before it is
 *                    result      where it is received may not be written
 *                    both        source and result
 *                    undumpable  no capabilities and PR_SET_DUMPABLE 0
 *
 * All collectives that read directly, with known results, each on a communicator of its own: a
 * first call as ever, then two that are refused. */
#include "check.h"

#include <linux/capability.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_RANKS 16
#define TURNS 3

/* Ints of a block: a few pages, several pieces of what is handed on at once, and several slots of a
 * ring. */
static const int counts[] = {9000, 100003};
#define MOST_INTS (MOST_RANKS * 100003)

static int rank, size;
static int *out, *in; /* MOST_INTS each */
static size_t page;
static int turn, root, is_lazy;
static volatile long faults;
static const char *called;

/* What rank `from` has at `i`. */
static int
value(int from, int i)
{
	return (from * 131071 + i * 31 + turn * 7919) & 0xffffff;
}

static void
make(int first, int behind)
{
	for (int i = first; i < behind; i++)
		out[i] = value(rank, i);
}

static void
on_fault(int number, siginfo_t *info, void *context)
{
	char *at = (char *)((uintptr_t)info->si_addr & ~(uintptr_t)(page - 1));
	int is_out = at >= (char *)out && at < (char *)(out + MOST_INTS);
	if (!is_out && !(at >= (char *)in && at < (char *)(in + MOST_INTS)))
		_exit(99);
	faults++;
	if (mprotect(at, page, PROT_READ | PROT_WRITE))
		_exit(98);
	int first = (int)((int *)(void *)at - out);
	if (is_out && is_lazy)
		make(first, first + (int)(page / sizeof *out));
}

/* Before a call that sends the first `sent` ints of `out`. */
static const char *way = "both";
static void
prepare(int sent)
{
	size_t bytes = (size_t)MOST_INTS * sizeof *out, room = (bytes + page - 1) / page * page;
	size_t last = ((size_t)sent * sizeof *out - 1) / page * page;
	mprotect(out, room, PROT_READ | PROT_WRITE);
	mprotect(in, room, PROT_READ | PROT_WRITE);
	memset(in, -1, (size_t)size * (size_t)sent * sizeof *in < bytes
	       ? (size_t)size * (size_t)sent * sizeof *in : bytes);
	is_lazy = 0;
	make(0, sent);
	if (turn == 0)
		return;
	if (strcmp(way, "lazy") == 0 && last > page) {
		memset((char *)out + page, 0, last - page);
		is_lazy = 1;
	}
	if (strcmp(way, "result") && strcmp(way, "undumpable") && last > page)
		mprotect((char *)out + page, last - page, PROT_NONE);
	if (strcmp(way, "result") == 0 || strcmp(way, "both") == 0)
		mprotect(in, room, PROT_READ);
}

/* `n` ints of `got`, those that `from` has from `first` on. */
static void
compare(int n, const int *got, int from, int first)
{
	for (int i = 0; i < n; i++)
		if (got[i] != value(from, first + i)) {
			CHECK(0, "%s of %d, turn %d: int %d from %d is %d and not %d", called, n,
			      turn, i, from, got[i], value(from, first + i));
			return;
		}
}

static void
compare_sum(int n, const int *got, int first)
{
	for (int i = 0; i < n; i++) {
		int sum = 0;
		for (int from = 0; from < size; from++)
			sum += value(from, first + i);
		if (got[i] != sum) {
			CHECK(0, "%s of %d, turn %d: int %d is %d and not %d", called, n, turn, i,
			      got[i], sum);
			return;
		}
	}
}

enum call { ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV, ALLTOALLW, BCAST, GATHER, GATHERV, SCATTER,
	    SCATTERV, ALLREDUCE, ALLREDUCE_IN_PLACE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, CALLS };
static const char *const names[] = { "allgather", "allgatherv", "alltoall", "alltoallv",
				     "alltoallw", "bcast", "gather", "gatherv",
				     "scatter", "scatterv", "allreduce", "allreduce in place",
				     "reduce_scatter",
				     "reduce_scatter_block" };

static void
make_call(enum call call, MPI_Comm comm, int n)
{
	int sizes[MOST_RANKS], at[MOST_RANKS], bytes_at[MOST_RANKS];
	MPI_Datatype types[MOST_RANKS];
	for (int i = 0; i < size; i++) {
		sizes[i] = n;
		at[i] = i * n;
		bytes_at[i] = at[i] * (int)sizeof *out;
		types[i] = MPI_INT;
	}
	switch (call) {
	case ALLGATHER:
		MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, comm);
		break;
	case ALLGATHERV:
		MPI_Allgatherv(out, n, MPI_INT, in, sizes, at, MPI_INT, comm);
		break;
	case ALLTOALL:
		MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, comm);
		break;
	case ALLTOALLV:
		MPI_Alltoallv(out, sizes, at, MPI_INT, in, sizes, at, MPI_INT, comm);
		break;
	case ALLTOALLW:
		MPI_Alltoallw(out, sizes, bytes_at, types, in, sizes, bytes_at, types, comm);
		break;
	case BCAST:
		MPI_Bcast(rank == root ? out : in, n, MPI_INT, root, comm);
		break;
	case GATHER:
		MPI_Gather(out, n, MPI_INT, in, n, MPI_INT, root, comm);
		break;
	case GATHERV:
		MPI_Gatherv(out, n, MPI_INT, in, sizes, at, MPI_INT, root, comm);
		break;
	case SCATTER:
		MPI_Scatter(out, n, MPI_INT, in, n, MPI_INT, root, comm);
		break;
	case SCATTERV:
		MPI_Scatterv(out, sizes, at, MPI_INT, in, n, MPI_INT, root, comm);
		break;
	case ALLREDUCE:
		MPI_Allreduce(out, in, n, MPI_INT, MPI_SUM, comm);
		break;
	case ALLREDUCE_IN_PLACE:
		MPI_Allreduce(MPI_IN_PLACE, out, n, MPI_INT, MPI_SUM, comm);
		break;
	case REDUCE_SCATTER:
		MPI_Reduce_scatter(out, in, sizes, MPI_INT, MPI_SUM, comm);
		break;
	case REDUCE_SCATTER_BLOCK:
		MPI_Reduce_scatter_block(out, in, n, MPI_INT, MPI_SUM, comm);
		break;
	case CALLS:
		break;
	}
	is_lazy = 0; /* what is read from here on may be a result */
}

static void
check_call(enum call call, int n)
{
	if (call >= ALLREDUCE) {
		compare_sum(n, call == ALLREDUCE_IN_PLACE ? out : in,
			    call >= REDUCE_SCATTER ? rank * n : 0);
	} else if (call == BCAST) {
		compare(n, rank == root ? out : in, root, 0);
	} else if (call == SCATTER || call == SCATTERV) {
		compare(n, in, root, rank * n);
	} else if (rank == root || (call != GATHER && call != GATHERV)) {
		for (int from = 0; from < size; from++)
			compare(n, in + from * n, from, call >= ALLTOALL &&
				call <= ALLTOALLW ? rank * n : 0);
	}
}

/* Others may look into this process, or not. */
static void
show(int is_shown)
{
	CHECK(prctl(PR_SET_DUMPABLE, is_shown) == 0, "dumpable is still not %d", is_shown);
	PMPI_Barrier(MPI_COMM_WORLD);
}

static void
drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 } };
	CHECK(syscall(SYS_capset, &header, none) == 0, "still privileged%s", "");
}

static void
make_calls(enum call call, int n)
{
	int is_spread = (call >= ALLTOALL && call <= ALLTOALLW) || call == SCATTER ||
			call == SCATTERV || call >= REDUCE_SCATTER;
	MPI_Comm comm;
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	called = names[call];
	root = ((int)call + n) % size;
	for (turn = 0; turn < TURNS; turn++) {
		if (strcmp(way, "undumpable") == 0)
			show(turn == 0);
		prepare(is_spread ? n * size : n);
		make_call(call, comm, n);
		check_call(call, n);
	}
	if (strcmp(way, "undumpable") == 0)
		show(1);
	MPI_Comm_free(&comm);
}

static void *
map(void)
{
	return mmap(NULL, (size_t)MOST_INTS * sizeof(int) + page, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int
main(int argc, char **argv)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER };
	way = argc > 1 ? argv[1] : way;
	check_begin(&argc, &argv, &rank, &size);
	page = (size_t)sysconf(_SC_PAGESIZE);
	out = map();
	in = map();
	sigaction(SIGSEGV, &action, NULL);
	if (strcmp(way, "undumpable") == 0)
		drop_capabilities();
	for (size_t c = 0; c < sizeof counts / sizeof *counts && size <= MOST_RANKS; c++)
		for (int call = 0; call < CALLS; call++)
			make_calls((enum call)call, counts[c]);
	CHECK(faults || strcmp(way, "undumpable") == 0, "nothing was protected%s", "");
	return check_finish("protected");
}
