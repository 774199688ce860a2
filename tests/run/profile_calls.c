/* The counts and times of collshim-profile.so, by a clock that goes on by 20 ns at each look and by
 * what calls of profile_mpi.c take. */
#include "trace/profile.h"

#include <dlfcn.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LOOK 20

long profile_test_mpi(void);
long MPI_Ibarrier(long comm, long request);
long MPI_Isend(long a, long b, long c, long d, long e, long f, long request);
long MPI_Wait(long request, long status);
long MPI_Waitall(long count, long requests, long statuses);
long MPI_Iprobe(long a, long b, long c, long d, long e);
long MPI_Send(long a, long b, long c, long d, long e, long f);
long MPI_Sendrecv(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,
		  long k, long l);
long MPI_Recv(long a, long b, long c, long d, long e, long f, long g);
long mpi_send_(long a, long b, long c, long d, long e, long f, long g);
long mpi_file_open_(long a, long b, long c, long d, long e, long f, long length);
cs_profile_attach_fn collshim_profile_attach;
cs_profile_cost_fn collshim_profile_cost;

static uint64_t now = 1000000000, calls[CS_REPORT_MPI_KINDS], times[CS_REPORT_MPI_KINDS];
static jmp_buf back;

#define VISIBLE __attribute__((visibility("default")))

/* In the place of libc's, for the library. */
VISIBLE int
clock_gettime(clockid_t clock, struct timespec *time)
{
	now += LOOK;
	*time = (struct timespec){ .tv_sec = (time_t)(now / 1000000000),
				   .tv_nsec = (long)(now % 1000000000) };
	return 0;
}

VISIBLE long profile_test_take(long nanoseconds);
VISIBLE long profile_test_jump(void);

long
profile_test_take(long nanoseconds)
{
	now += (uint64_t)nanoseconds;
	return nanoseconds;
}

long
profile_test_jump(void)
{
	longjmp(back, 1);
}

static void
hear(enum cs_report_mpi_kind kind, uint64_t count, uint64_t nanoseconds)
{
	calls[kind] += count;
	times[kind] += nanoseconds;
}

static int failures;
#define CHECK(claim, ...)                                                                          \
	do {                                                                                       \
		if (!(claim)) {                                                                    \
			printf("FAILED  line %d: %s: ", __LINE__, #claim);                         \
			printf(__VA_ARGS__);                                                       \
			puts("");                                                                  \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

static void
clear(void)
{
	memset(calls, 0, sizeof calls);
	memset(times, 0, sizeof times);
}

static void
calls_that_take_long_are_all_timed(void)
{
	clear();
	for (int i = 0; i < 1000; i++)
		MPI_Send(10000, 0, 0, 0, 0, 0);
	CHECK(calls[CS_REPORT_POINT_TO_POINT] == 1000, "%llu",
	      (unsigned long long)calls[CS_REPORT_POINT_TO_POINT]);
	CHECK(times[CS_REPORT_POINT_TO_POINT] == 1000 * (10000 + LOOK), "%llu",
	      (unsigned long long)times[CS_REPORT_POINT_TO_POINT]);
	CHECK(calls[CS_REPORT_OTHER_MPI] == 0, "other calls");
}

static void
short_calls_in_a_loop_are_sampled_at_2_percent_at_most(void)
{
	enum { FLOOD = 1000000, AMONG = 100 };
	clear();
	uint64_t before = collshim_profile_cost(), start = now;
	for (int i = 0; i < FLOOD; i++) {
		MPI_Iprobe(0, 0, 0, 0, 0);
		if (i % (FLOOD / AMONG) == 0)
			MPI_Send(10000, 0, 0, 0, 0, 0);
	}
	uint64_t taken = now - start, cost = collshim_profile_cost() - before;
	/* Counted calls cost nothing by this clock, but are estimated. */
	CHECK(cost >= 2 * FLOOD + 1000 * 2 * LOOK && cost - 2 * FLOOD < taken / 50, "%llu of %llu",
	      (unsigned long long)cost, (unsigned long long)taken);
	double floods = (double)calls[CS_REPORT_POINT_TO_POINT] - AMONG;
	CHECK(floods > 0.98 * FLOOD && floods < 1.02 * FLOOD, "%.0f calls", floods);
	double time = (double)times[CS_REPORT_POINT_TO_POINT] - AMONG * (10000 + LOOK);
	CHECK(time > 0.98 * FLOOD * (30 + LOOK) && time < 1.02 * FLOOD * (30 + LOOK), "%.0f ns",
	      time);
}

static void
a_call_within_a_call_is_part_of_it(void)
{
	clear();
	for (int i = 0; i < 10; i++)
		MPI_Sendrecv(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 50000);
	CHECK(calls[CS_REPORT_POINT_TO_POINT] == 10 &&
	      times[CS_REPORT_POINT_TO_POINT] == 10 * (51000 + LOOK), "%llu calls, %llu ns",
	      (unsigned long long)calls[CS_REPORT_POINT_TO_POINT],
	      (unsigned long long)times[CS_REPORT_POINT_TO_POINT]);
}

static void
a_call_that_never_returns_ends_no_counting(void)
{
	clear();
	if (setjmp(back) == 0)
		MPI_Recv(0, 0, 0, 0, 0, 0, 0);
	for (int i = 0; i < 10; i++)
		MPI_Send(10000, 0, 0, 0, 0, 0);
	CHECK(calls[CS_REPORT_POINT_TO_POINT] == 10, "%llu",
	      (unsigned long long)calls[CS_REPORT_POINT_TO_POINT]);
}

static void
waits_for_nonblocking_collectives_are_a_kind_of_their_own(void)
{
	int requests[4];
	clear();
	for (int i = 0; i < 20; i++) {
		MPI_Ibarrier(0, (long)&requests[0]);
		MPI_Isend(0, 0, 0, 0, 0, 0, (long)&requests[1]);
		MPI_Wait((long)&requests[1], 0); /* p2p, beside an outstanding barrier */
		MPI_Wait((long)&requests[0], 0);
		for (int k = 0; k < 3; k++)
			MPI_Isend(0, 0, 0, 0, 0, 0, (long)&requests[k]);
		MPI_Ibarrier(0, (long)&requests[3]);
		MPI_Waitall(4, (long)requests, 0);
		MPI_Isend(0, 0, 0, 0, 0, 0, (long)&requests[2]);
		MPI_Waitall(1, (long)&requests[2], 0);
	}
	/* Starts of collectives are the report's to count. */
	CHECK(calls[CS_REPORT_NONBLOCKING] == 20 * 2 &&
	      times[CS_REPORT_NONBLOCKING] == 20 * (7000 + 9000 + 2 * LOOK), "%llu calls, %llu ns",
	      (unsigned long long)calls[CS_REPORT_NONBLOCKING],
	      (unsigned long long)times[CS_REPORT_NONBLOCKING]);
	CHECK(calls[CS_REPORT_POINT_TO_POINT] == 20 * 7 && calls[CS_REPORT_OTHER_MPI] == 0, "%llu",
	      (unsigned long long)calls[CS_REPORT_POINT_TO_POINT]);
}

static void
fortran_names_arrive_with_all_their_words(void)
{
	clear();
	CHECK(mpi_file_open_(1, 2, 3, 4, 5, 6, 77) == 77, "the length of a file's name");
	CHECK(calls[CS_REPORT_OTHER_MPI] == 1, "not counted");
	/* No such function in the process. */
	CHECK(mpi_send_(1, 2, 3, 4, 5, 6, 7) == 16, "a name that nobody has");
}

static void
nothing_is_counted_when_nobody_hears(void)
{
	collshim_profile_attach(NULL, 0);
	clear();
	CHECK(MPI_Send(1, 2, 3, 4, 5, 6) == 21, "the words");
	CHECK(calls[CS_REPORT_POINT_TO_POINT] == 0, "counted");
}

int
main(void)
{
	CHECK(profile_test_mpi() == 0, "no MPI");
	collshim_profile_attach(hear, sizeof(int));
	calls_that_take_long_are_all_timed();
	short_calls_in_a_loop_are_sampled_at_2_percent_at_most();
	a_call_within_a_call_is_part_of_it();
	a_call_that_never_returns_ends_no_counting();
	waits_for_nonblocking_collectives_are_a_kind_of_their_own();
	fortran_names_arrive_with_all_their_words();
	nothing_is_counted_when_nobody_hears();
	if (!failures)
		puts("ok");
	return failures != 0;
}
