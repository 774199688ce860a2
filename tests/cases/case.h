/* cases/case.h — what the programs of this suite share: checks that count, data that tell who wrote
 * them, and an end that every rank reaches.
 *
 * A case is a program of somebody else's: it knows nothing of collshim, and is right on the MPI
 * alone. `run_case` starts it without and with the library; its first argument names the variant.
 * It prints "ok" from rank 0 and exits with 0, or says what was wrong on stderr and exits with
 * 3. */
#ifndef CASES_CASE_H
#define CASES_CASE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_TOLD 5 /* faults of a rank that are told; the others are only counted */

static int rank, size, faults;
static const char *variant = "";

#define CHECK(claim, ...)                                                                          \
	do {                                                                                       \
		if (!(claim) && faults++ < MOST_TOLD) {                                            \
			fprintf(stderr, "%s:%d: rank %d of %d: ", __FILE__, __LINE__, rank, size); \
			fprintf(stderr, __VA_ARGS__);                                              \
			fputc('\n', stderr);                                                       \
		}                                                                                  \
	} while (0)

static inline bool
is(const char *name)
{
	return !strcmp(variant, name);
}

/* Notes the variant; MPI need not be there yet. */
static inline void
take_variant(int argc, char **argv)
{
	if (argc > 1)
		variant = argv[1];
}

static inline void
learn_rank(void)
{
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
}

static inline void
begin(int *argc, char ***argv)
{
	take_variant(*argc, *argv);
	MPI_Init(argc, argv);
	learn_rank();
}

/* The byte at `at` of what rank `from` has. */
static inline unsigned char
byte_of(int from, size_t at)
{
	return (unsigned char)(29 * from + 3 + (int)(7 * at) + (int)(at >> 8));
}

static inline void
fill(void *to, int from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++)
		((unsigned char *)to)[at] = byte_of(from, at);
}

static inline bool
is_of(const void *data, int from, size_t bytes)
{
	for (size_t at = 0; at < bytes; at++)
		if (((const unsigned char *)data)[at] != byte_of(from, at))
			return false;
	return true;
}

static inline void *
room(size_t bytes)
{
	void *memory = calloc(1, bytes ? bytes : 1);
	if (!memory) {
		fprintf(stderr, "rank %d: no memory for %zu bytes\n", rank, bytes);
		MPI_Abort(MPI_COMM_WORLD, 9);
	}
	return memory;
}

/* Calls five collectives on `comm` and checks what comes: does the communicator still work? */
static inline void
use(MPI_Comm comm, int count)
{
	int me, ranks;
	MPI_Comm_rank(comm, &me);
	MPI_Comm_size(comm, &ranks);
	size_t bytes = (size_t)count * (size_t)ranks * sizeof(int);
	/* C++ reads this, too */
	int *in = (int *)room(bytes), *out = (int *)room(bytes), last = ranks - 1;
	for (int i = 0; i < count; i++)
		in[i] = 3 * me + i;
	MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
	for (int i = 0; i < count; i++)
		CHECK(out[i] == 3 * ranks * last / 2 + ranks * i, "allreduce of %d: %d at %d",
		      count, out[i], i);
	for (int i = 0; i < count; i++)
		out[i] = me == last ? 11 * i : -1;
	MPI_Bcast(out, count, MPI_INT, last, comm);
	for (int i = 0; i < count; i++)
		CHECK(out[i] == 11 * i, "bcast of %d: %d at %d", count, out[i], i);
	MPI_Allgather(in, count, MPI_INT, out, count, MPI_INT, comm);
	for (int i = 0; i < count * ranks; i++)
		CHECK(out[i] == i / count * 3 + i % count, "allgather of %d: %d at %d", count,
		      out[i], i);
	memset(out, 0, bytes);
	MPI_Gather(in, count, MPI_INT, out, count, MPI_INT, 0, comm);
	for (int i = 0; me == 0 && i < count * ranks; i++)
		CHECK(out[i] == i / count * 3 + i % count, "gather of %d: %d at %d", count, out[i],
		      i);
	MPI_Barrier(comm);
	free(in);
	free(out);
}

static inline int
end_quietly(void)
{
	int is_over = 0;
	MPI_Finalized(&is_over);
	if (!is_over)
		MPI_Finalize();
	return faults ? 3 : 0;
}

static inline int
end(void)
{
	int code = end_quietly();
	if (rank == 0 && !code)
		puts("ok");
	fflush(stdout);
	return code;
}

#endif
