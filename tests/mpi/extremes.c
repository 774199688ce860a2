/* MPI_MIN and MPI_MAX of every integer type, of values on both sides of the sign bit: some hosts
 * compare unsigned types as if they were signed, or the other way round, and ours must say what
 * they say. Each by MPI_X and by PMPI_X, in place too. */
#include "check.h"

#include <string.h>

#define COUNT 24
#define ROOM (COUNT * 8)

static const struct {
	MPI_Datatype type;
	const char *name;
} types[] = {
#define T(type) { type, #type }
	T(MPI_SIGNED_CHAR), T(MPI_UNSIGNED_CHAR), T(MPI_SHORT), T(MPI_UNSIGNED_SHORT), T(MPI_INT),
		T(MPI_UNSIGNED),
	T(MPI_LONG), T(MPI_UNSIGNED_LONG), T(MPI_LONG_LONG), T(MPI_UNSIGNED_LONG_LONG),
	T(MPI_INT8_T), T(MPI_UINT8_T), T(MPI_INT16_T), T(MPI_UINT16_T), T(MPI_INT32_T),
	T(MPI_UINT32_T), T(MPI_INT64_T), T(MPI_UINT64_T), T(MPI_AINT), T(MPI_OFFSET), T(MPI_COUNT),
};

static int rank, size;

static void
fill(unsigned char *bytes)
{
	for (int i = 0; i < ROOM; i++)
		bytes[i] =
			(unsigned char)((i * 37 + rank * 101) ^ (i % 8 == 7 && (i / 8 + rank) % 2
								 ? 0x80 : 0));
}

enum form { ALLREDUCE, ALLREDUCE_IN_PLACE, REDUCE, REDUCE_SCATTER_IN_PLACE, FORMS };

static void
reduce(enum form form, int is_ours, MPI_Datatype type, MPI_Op op, unsigned char *out)
{
	unsigned char in[ROOM];
	int counts[64] = { 0 };
	fill(in);
	fill(out);
	for (int i = 0; i < size; i++)
		counts[i] = COUNT / size;
	switch (form) {
	case ALLREDUCE:
		(is_ours ? MPI_Allreduce : PMPI_Allreduce)(in, out, COUNT, type, op,
							   MPI_COMM_WORLD);
		break;
	case ALLREDUCE_IN_PLACE:
		(is_ours ? MPI_Allreduce : PMPI_Allreduce)(MPI_IN_PLACE, out, COUNT, type, op,
							   MPI_COMM_WORLD);
		break;
	case REDUCE:
		(is_ours ? MPI_Reduce : PMPI_Reduce)(in, out, COUNT, type, op, size - 1,
						     MPI_COMM_WORLD);
		break;
	case REDUCE_SCATTER_IN_PLACE:
		(is_ours ? MPI_Reduce_scatter : PMPI_Reduce_scatter)(MPI_IN_PLACE, out, counts,
								     type, op, MPI_COMM_WORLD);
		/* Not defined; a type has one byte or more */
		memset(out + COUNT / size, 0, (size_t)(ROOM - COUNT / size));
		break;
	case FORMS: break;
	}
}

int
main(int argc, char **argv)
{
	check_begin(&argc, &argv, &rank, &size);
	unsigned char host[ROOM], ours[ROOM];
	for (size_t t = 0; size <= COUNT && t < sizeof types / sizeof *types; t++)
		for (int is_max = 0; is_max < 2; is_max++)
			for (enum form form = 0; form < FORMS; form++) {
				reduce(form, 0, types[t].type, is_max ? MPI_MAX : MPI_MIN, host);
				reduce(form, 1, types[t].type, is_max ? MPI_MAX : MPI_MIN, ours);
				CHECK(memcmp(host, ours, ROOM) == 0,
				      "%s of %s, form %d: not the host's result",
				      is_max ? "MPI_MAX" : "MPI_MIN", types[t].name, (int)form);
			}
	return check_finish("extremes");
}
