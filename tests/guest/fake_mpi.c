/* A library that has every name of calls.def and notes the words that arrive. What it says of
 * itself comes from the build (FAKE_VERSION); with FAKE_IS_OLD it is too old to say anything and
 * lacks most Fortran names. With FAKE_ABI it says that it has version 1 of the standard ABI, or
 * $FAKE_ABI. It shows what the door does, without an MPI. */
#include "fake_mpi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_seen fake_seen;

static long
note(enum cs_call_id call, int count, const long *words)
{
	fake_seen.call = call;
	fake_seen.count = count;
	fake_seen.times++;
	memcpy(fake_seen.words, words, (size_t)count * sizeof *words);
	fake_seen.errno_then = errno;
	return 1000 + call;
}

#define FAKE(symbol, call, n)                                                                      \
	__attribute__((visibility("default"))) long symbol(PARAMS_##n);                            \
	long symbol(PARAMS_##n)                                                                    \
	{                                                                                          \
		return note(call, n, (const long[]){WORDS_##n});                                   \
	}
#define CALL(name, n) FAKE(MPI_##name, CS_CALL_##name, n)
#define LARGE(name, n) FAKE(MPI_##name, CS_CALL_##name, n)
#ifndef FAKE_IS_OLD
#define FCALL(symbol, n) FAKE(symbol, CS_CALL_##symbol, n)
#endif
#define FPLAIN(symbol, n) FAKE(symbol, CS_CALL_##symbol, n) FAKE(p##symbol, CS_CALL_##symbol, n)
#include "intercept/calls.def"

#ifndef FAKE_IS_OLD
__attribute__((visibility("default"))) int MPI_Get_library_version(char *version, int *length);
int
MPI_Get_library_version(char *version, int *length)
{
	*length = sprintf(version, "%s\nmade of rubber\n", FAKE_VERSION);
	errno = ENOTTY; /* the door must hide what its questions leave behind */
	return 0;
}
#endif

#ifdef FAKE_ABI
__attribute__((visibility("default"))) int PMPI_Abi_get_version(int *major, int *minor);
int
PMPI_Abi_get_version(int *major, int *minor)
{
	const char *version = getenv("FAKE_ABI");
	*major = version != NULL ? atoi(version) : 1;
	*minor = 7;
	return 0;
}

/* The door looks for the object that has it. */
__attribute__((visibility("default"))) int PMPI_Init(void);
int
PMPI_Init(void)
{
	return 0;
}
#endif

/* Not in calls.def: reached by the test module's lookup only. */
__attribute__((visibility("default"))) int PMPI_Fake_answer(void);
int
PMPI_Fake_answer(void)
{
	return 42;
}
