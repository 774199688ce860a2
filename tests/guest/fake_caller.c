/* Calls the fake MPI by every name, as a linked program does. What it is to see comes by argument:
 *
 *   names           print every name of calls.def, one a line
 *   forwarded       each call arrives with its words, its result comes back, errno is kept
 *   intercepted     the same through the test module, which adds INTERCEPTED to each result; then
 *                   with all entries taken back, and with one set again
 *   threads         first calls by many threads at once arrive all, each through the test module
 *   loop N          MPI_Bcast N times inside loop(), for counting instructions
 *   chdir           change to / before the first call, then as intercepted
 *
 * As a plug-in (late.c), linked with one of several fake MPIs, its plugin_calls() does the same as
 * `forwarded`. */
#include "fake_mpi.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DECLARE(symbol, n) long symbol(PARAMS_##n);
#define CALL(name, n) DECLARE(MPI_##name, n)
#define LARGE(name, n) DECLARE(MPI_##name, n)
#ifndef FAKE_IS_OLD
#define FCALL(symbol, n) DECLARE(symbol, n)
#endif
#define FPLAIN(symbol, n) DECLARE(symbol, n)
#include "intercept/calls.def"

static int failures;
static long expected_extra; /* what the test module adds to a result */

static void
check(const char *name, enum cs_call_id call, int count, long base, long result)
{
	int kept = errno;
	if (dlerror() != NULL) {
		printf("FAILED %s: dlerror has something to say to the application\n", name);
		failures++;
	}
	if (fake_seen.call != call || fake_seen.count != count ||
	    result != 1000 + call + expected_extra || kept != EXDEV) {
		printf("FAILED %s: arrived at call %d (of %d) with %d words (of %d), result %ld, "
		       "errno %d\n", name, (int)fake_seen.call, (int)call, fake_seen.count, count,
		       result, kept);
		failures++;
	}
	for (int i = 0; i < count; i++)
		if (fake_seen.words[i] != base + i) {
			printf("FAILED %s: word %d is %ld, not %ld\n", name, i, fake_seen.words[i],
			       base + i);
			failures++;
		}
}

/* Words that would not survive a cut to 32 bits. */
#define BASE(call) (0x123456789000L + 100 * (call))
#define ARGS_1(b) b
#define ARGS_2(b) ARGS_1(b), b + 1
#define ARGS_3(b) ARGS_2(b), b + 2
#define ARGS_4(b) ARGS_3(b), b + 3
#define ARGS_5(b) ARGS_4(b), b + 4
#define ARGS_6(b) ARGS_5(b), b + 5
#define ARGS_7(b) ARGS_6(b), b + 6
#define ARGS_8(b) ARGS_7(b), b + 7
#define ARGS_9(b) ARGS_8(b), b + 8
#define ARGS_10(b) ARGS_9(b), b + 9
#define ARGS_11(b) ARGS_10(b), b + 10
#define ARGS_12(b) ARGS_11(b), b + 11

#define CHECK(symbol, id, n)                                                                       \
	memset(&fake_seen, 0, sizeof fake_seen);                                                   \
	errno = EXDEV;                                                                             \
	check(#symbol, id, n, BASE(id), symbol(ARGS_##n(BASE(id))));

static void
call_all(void)
{
#define CALL(name, n) CHECK(MPI_##name, CS_CALL_##name, n)
#define LARGE(name, n) CHECK(MPI_##name, CS_CALL_##name, n)
#ifndef FAKE_IS_OLD
#define FCALL(symbol, n) CHECK(symbol, CS_CALL_##symbol, n)
#endif
#define FPLAIN(symbol, n) CHECK(symbol, CS_CALL_##symbol, n)
#include "intercept/calls.def"
}

/* `served`: the test module takes the calls of this MPI, which is initialised before anything
 * else. */
__attribute__((visibility("default"))) int plugin_calls(int served);
int
plugin_calls(int served)
{
	expected_extra = served ? INTERCEPTED : 0;
	CHECK(MPI_Init, CS_CALL_Init, 2)
	call_all();
	return failures;
}

static void
print_names(void)
{
#define CALL(name, n) puts("MPI_" #name);
#define LARGE(name, n) puts("MPI_" #name);
#define FCALL(symbol, n) puts(#symbol);
#define FPLAIN(symbol, n) puts(#symbol);
#include "intercept/calls.def"
}

/* MPI_Barrier with one of the orders as its word is for the test module itself. */
static void
call_intercepted(void)
{
	expected_extra = INTERCEPTED;
	call_all();
	if (MPI_Barrier(ORDER_RESTORE_BCAST) != 1000 + CS_CALL_Barrier + INTERCEPTED ||
	    MPI_Bcast(1, 2, 3, 4, 5) != 1000 + CS_CALL_Bcast ||
	    mpi_bcast(1, 2, 3, 4, 5, 6) != 1000 + CS_CALL_mpi_bcast + INTERCEPTED) {
		printf("FAILED restore of one call\n");
		failures++;
	}
	if (MPI_Barrier(ORDER_SET_BCAST) != 1000 + CS_CALL_Barrier + INTERCEPTED ||
	    MPI_Bcast(1, 2, 3, 4, 5) != 1000 + CS_CALL_Bcast + INTERCEPTED) {
		printf("FAILED set of one call\n");
		failures++;
	}
	MPI_Barrier(ORDER_RESTORE_ALL);
	expected_extra = 0;
	call_all();
}

static pthread_barrier_t together;

static void *
call_first(void *data)
{
	pthread_barrier_wait(&together);
	for (int i = 0; i < 100; i++)
		if (MPI_Barrier((long)data) != 1000 + CS_CALL_Barrier + INTERCEPTED ||
		    mpi_barrier((long)data, 0) != 1000 + CS_CALL_mpi_barrier + INTERCEPTED)
			return data;
	return NULL;
}

static void
call_from_threads(void)
{
	pthread_t threads[16];
	pthread_barrier_init(&together, NULL, 16);
	for (long i = 0; i < 16; i++)
		if (pthread_create(&threads[i], NULL, call_first, (void *)(i + 1)) != 0)
			exit(99);
	for (int i = 0; i < 16; i++) {
		void *result;
		pthread_join(threads[i], &result);
		if (result != NULL) {
			printf("FAILED thread %d: a call did not arrive\n", i);
			failures++;
		}
	}
}

__attribute__((noinline)) static void
loop(long count)
{
	for (long i = 0; i < count; i++)
		MPI_Bcast(i, 2, 3, 4, 5);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	if (strcmp(what, "names") == 0)
		print_names();
	else if (strcmp(what, "forwarded") == 0)
		call_all();
	else if (strcmp(what, "intercepted") == 0)
		call_intercepted();
	else if (strcmp(what, "threads") == 0)
		call_from_threads();
	else if (strcmp(what, "loop") == 0 && argc > 2) {
		MPI_Bcast(0, 2, 3, 4, 5); /* the first call binds */
		loop(atol(argv[2]));
	} else if (strcmp(what, "chdir") == 0)
		failures += chdir("/") != 0 || MPI_Barrier(7) != 1000 + CS_CALL_Barrier;
	else
		return 98;
	return failures != 0;
}
