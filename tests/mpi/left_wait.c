/* comm/host/host.c lets the MPI progress in one thread at a time. A program that jumps out of that,
 * from a handler of a signal, may not do so (MPI need not be signal safe: MPI 4.0, 2.9.2), but then
 * waits as before. Without an MPI: its functions are this test's. */
#include "comm/host/host.h"
#include "comm/host/pmpi.h"
#include "comm/teams/rdma.h"
#include "comm/teams/rma_window.h"
#include "comm/types/types.h"
#include "ib/ib.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

struct cs_pmpi cs_pmpi;
MPI_Comm cs_self;

struct cs_rma_window *
cs_host_window(void *everyone)
{
	(void)everyone;
	return NULL;
}

struct cs_ib *
cs_rdma_here(void)
{
	return NULL;
}

void
cs_host_make_lanes(void *everyone, int lanes)
{
	(void)everyone, (void)lanes;
}

const char *
cs_group_open(void *group)
{
	return group;
}

struct cs_wire *
cs_host_wire(void *group)
{
	return group;
}

struct cs_wire *
cs_host_messages(void *group)
{
	return group;
}

static int tests; /* made so far */
static jmp_buf *out; /* where the next one leads */
static bool is_nested; /* the next one progresses itself, as a callback of the program's may */
static pthread_barrier_t *meeting; /* met twice in the next one */
static int failures;

static void
expect(bool is_true, const char *what)
{
	if (!is_true)
		fprintf(stderr, "FAILED: %s\n", what);
	failures += !is_true;
}

static int
fake_irecv(void *to, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
	   MPI_Request *request)
{
	memset(request, 1, sizeof *request);
	return MPI_SUCCESS;
}

static int
fake_test(MPI_Request *request, int *flag, MPI_Status *status)
{
	jmp_buf *to = out;
	bool is_deeper = is_nested;
	pthread_barrier_t *barrier = meeting;
	out = NULL;
	is_nested = false;
	meeting = NULL;
	tests++;
	if (is_deeper)
		cs_host_mpi.progress();
	if (barrier) {
		pthread_barrier_wait(barrier);
		pthread_barrier_wait(barrier);
	}
	if (to)
		longjmp(*to, 1);
	return MPI_SUCCESS;
}

static __attribute__((noinline)) void
progress_from_below(int depth)
{
	char room[512];
	if (depth)
		progress_from_below(depth - 1);
	else
		cs_host_mpi.progress();
	__asm__ volatile("" : : "r"(room) : "memory"); /* no tail call, and a frame */
}

static void
jump_out_of_a_test(int depth)
{
	jmp_buf back;
	out = &back;
	if (!setjmp(back))
		progress_from_below(depth);
}

static void *
progress_in_a_thread(void *barrier)
{
	meeting = barrier;
	cs_host_mpi.progress();
	return NULL;
}

int
main(void)
{
	cs_pmpi.Irecv = fake_irecv;
	cs_pmpi.Test = fake_test;
	expect(cs_host_open(), "the receive that nothing matches");
	cs_host_mpi.progress();
	expect(tests == 1, "one test");

	pthread_t other;
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&other, NULL, progress_in_a_thread, &barrier);
	pthread_barrier_wait(&barrier);
	cs_host_mpi.progress();
	expect(tests == 2, "two threads do not test at once");
	pthread_barrier_wait(&barrier);
	pthread_join(other, NULL);
	/* The flag is the outer one's still when the inner one is over. */
	is_nested = true;
	pthread_create(&other, NULL, progress_in_a_thread, &barrier);
	pthread_barrier_wait(&barrier);
	expect(tests == 4, "a test within a test");
	cs_host_mpi.progress();
	expect(tests == 4, "two threads do not test at once, one of them within another test");
	pthread_barrier_wait(&barrier);
	pthread_join(other, NULL);

	for (int depth = 0; depth < 3; depth++) {
		int before = tests;
		jump_out_of_a_test(depth);
		expect(tests == before + 1, "a test to be left");
		progress_from_below(depth);
		expect(tests == before + 2, "a test after one was left, from where that was made");
		jump_out_of_a_test(depth + 5);
		cs_host_mpi.progress();
		expect(tests == before + 4, "a test after one was left further down");
		jump_out_of_a_test(depth);
		progress_from_below(depth + 5);
		expect(tests == before + 6, "a test after one was left further up");
		cs_host_mpi.progress();
		expect(tests == before + 7, "the next test");
	}
	/* And the flag is free again. */
	pthread_create(&other, NULL, progress_in_a_thread, &barrier);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	pthread_join(other, NULL);
	return failures != 0;
}
