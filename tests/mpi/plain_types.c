/* Derived types whose bytes lie in order without gaps, in the ways in which programs make them, and
 * one that only looks so: the first are sent as they are, without a packed copy, and all arrive
 * right. */
#include "check.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#define MIB ((size_t)1 << 20)
#define BYTES (64 * MIB)
#define MOST_GROWTH (16 * MIB) /* the segment's pages, the host's buffers */

struct pair {
	double value;
	long place;
};

static size_t
most_resident(void)
{
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	return (size_t)usage.ru_maxrss << 10;
}

static MPI_Datatype
row(void)
{
	MPI_Datatype type;
	MPI_Type_contiguous(1024, MPI_DOUBLE, &type);
	return type;
}

static MPI_Datatype
struct_type(void)
{
	int lengths[2] = { 1, 1 };
	MPI_Aint at[2] = { offsetof(struct pair, value), offsetof(struct pair, place) };
	MPI_Datatype parts[2] = { MPI_DOUBLE, MPI_LONG }, bare, type;
	MPI_Type_create_struct(2, lengths, at, parts, &bare);
	MPI_Type_create_resized(bare, 0, sizeof(struct pair), &type);
	MPI_Type_free(&bare);
	return type;
}

static MPI_Datatype
of_rows(char how)
{
	MPI_Datatype inner = row(), type;
	if (how == 'v')
		MPI_Type_vector(4, 2, 2, inner, &type);
	else if (how == 'h')
		MPI_Type_create_hvector(4, 2, 2 * 8192, inner, &type);
	else
		MPI_Type_dup(inner, &type);
	MPI_Type_free(&inner);
	return type;
}

/* Two halves, the second first: as large as it reaches, and not in order. */
static MPI_Datatype
swapped(void)
{
	int at[2] = { 1, 0 };
	MPI_Datatype type;
	MPI_Type_create_indexed_block(2, 1, at, MPI_DOUBLE, &type);
	return type;
}

static double
value(int kind, size_t i)
{
	return (double)(kind + 1) * 1e9 + (double)i;
}

/* All of the memory, by that type. */
static void
send(const char *name, int kind, MPI_Datatype type, double *memory)
{
	size_t count = BYTES / sizeof *memory, wrong = 0;
	int size;
	MPI_Type_commit(&type);
	MPI_Type_size(type, &size);
	for (size_t i = 0; i < count; i++)
		memory[i] = check_rank == 0 ? value(kind, i) : -1;
	MPI_Bcast(memory, (int)(BYTES / (size_t)size), type, 0, MPI_COMM_WORLD);
	for (size_t i = 0; i < count; i++)
		wrong += memory[i] != value(kind, i);
	CHECK(wrong == 0, "%s: %zu wrong", name, wrong);
	MPI_Type_free(&type);
}

/* The root's displacements are addresses: the others must not take another way than it does. */
static void
gather_from_bottom(MPI_Comm comm)
{
#if MPI_VERSION >= 4
	enum { MOST = 64 };
	int all[MOST], size, mine = 1000 + check_rank;
	MPI_Count counts[MOST];
	MPI_Aint displs[MOST];
	MPI_Datatype byte;
	MPI_Type_contiguous(1, MPI_BYTE, &byte);
	MPI_Type_commit(&byte);
	MPI_Comm_size(comm, &size);
	for (int r = 0; r < size && r < MOST; r++) {
		counts[r] = sizeof all[r];
		MPI_Get_address(&all[r], &displs[r]);
		all[r] = -1;
	}
	for (int i = 0; i < 8; i++) {
		MPI_Gatherv_c(&mine, 1, MPI_INT, MPI_BOTTOM, counts, displs, byte, 0, comm);
		MPI_Barrier(comm);
		MPI_Barrier(comm);
	}
	for (int r = 0; check_rank == 0 && r < size && r < MOST; r++)
		CHECK(all[r] == 1000 + r, "gatherv into MPI_BOTTOM: %d from rank %d", all[r], r);
	MPI_Type_free(&byte);
#else
	(void)comm;
#endif
}

int
main(int argc, char **argv)
{
	int rank;
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	check_rank = rank;
	double *memory = malloc(BYTES);
	memset(memory, 0, BYTES);
	MPI_Bcast(memory, (int)(BYTES / sizeof *memory), MPI_DOUBLE, 0, MPI_COMM_WORLD);
	size_t before = most_resident();
	send("contiguous", 0, row(), memory);
	send("struct", 1, struct_type(), memory);
	send("vector", 2, of_rows('v'), memory);
	send("hvector", 3, of_rows('h'), memory);
	send("dup", 4, of_rows('d'), memory);
	size_t grown = most_resident() - before;
	CHECK(grown < MOST_GROWTH, "%zu MiB more than before", grown / MIB);
	send("swapped", 5, swapped(), memory);
	free(memory);
	MPI_Comm copy;
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	gather_from_bottom(copy);
	MPI_Comm_free(&copy);
	return check_finish("plain_types");
}
