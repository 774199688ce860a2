/* Floating-point traps and flags are the program's: what is ours alone neither springs a trap nor
 * leaves a flag.
 *
 *   traps init           from before MPI_Init on all traps but the one for inexact results, as a
 *                        debug build has them
 *   traps after [MOST]   from after it on all of them
 *   traps flags [MOST]   no traps; flags are as they were, whatever they were, after all calls
 *
 * Numbers are such that no result is rounded. With up to MOST elements the MPI alone springs no
 * trap and raises no flag with these; with more MPICH 4.0.2 does, in UCX, which rounds numbers when
 * it connects for a long message, and in MPI_Finalize; and both MPIs do so in MPI_Init. MPICH 4.2.1
 * over UCX 1.18 and 5.0.2 round with one element, too, in jobs of four ranks with nothing
 * preloaded, so there nobody looks at inexact results. */
#include "check.h"

#include <fenv.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 60000 /* doubles */

static int size, looked_at = FE_ALL_EXCEPT;
static double *in, *out;
static int *counts, *places, *ones;
static MPI_Datatype *types;
static MPI_Comm copy;

/* A count that is the same on all ranks; with several blocks no more than fit. */
static int
clip(int count)
{
	return count * size <= MOST ? count : MOST / size;
}

static void
move(MPI_Comm comm, int count, int root)
{
	int each = clip(count);
	for (int rank = 0; rank < size; rank++) {
		counts[rank] = each;
		places[rank] = rank * each;
		ones[rank] = rank * each * (int)sizeof(double);
		types[rank] = MPI_DOUBLE;
	}
	MPI_Barrier(comm);
	MPI_Bcast(out, count, MPI_DOUBLE, root, comm);
	MPI_Allgather(in, each, MPI_DOUBLE, out, each, MPI_DOUBLE, comm);
	MPI_Allgatherv(in, each, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, comm);
	MPI_Gather(in, each, MPI_DOUBLE, out, each, MPI_DOUBLE, root, comm);
	MPI_Gatherv(in, each, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, root, comm);
	MPI_Scatter(in, each, MPI_DOUBLE, out, each, MPI_DOUBLE, root, comm);
	MPI_Scatterv(in, counts, places, MPI_DOUBLE, out, each, MPI_DOUBLE, root, comm);
	MPI_Alltoall(in, each, MPI_DOUBLE, out, each, MPI_DOUBLE, comm);
	MPI_Alltoallv(in, counts, places, MPI_DOUBLE, out, counts, places, MPI_DOUBLE, comm);
	MPI_Alltoallw(in, counts, ones, types, out, counts, ones, types, comm);
	/* Uneven: how uneven is what rules may ask. */
	counts[0] += each;
	for (int rank = 1; rank < size; rank++)
		places[rank] += each;
	MPI_Allgatherv(in, counts[check_rank], MPI_DOUBLE, out, counts, places, MPI_DOUBLE, comm);
}

/* Signalling NaNs, in a type that is packed, by whomever: nobody computes with them. */
static void
move_spread(MPI_Comm comm, int count, int root)
{
	static const uint32_t signalling = 0x7fa00000;
	MPI_Datatype spread;
	for (int i = 0; i < 2 * MOST; i++)
		memcpy((char *)in + (size_t)i * 4, &signalling, 4);
	MPI_Type_create_hvector(2, 1, 12, MPI_C_FLOAT_COMPLEX, &spread);
	MPI_Type_commit(&spread);
	MPI_Bcast(in, count / 4 + 1, spread, root, comm);
	MPI_Alltoall(in, clip(count) / 4 + 1, spread, out, clip(count) / 4 + 1, spread, comm);
	MPI_Type_free(&spread);
}

static void
reduce(MPI_Comm comm, int count, MPI_Datatype type, MPI_Op op, int root)
{
	int each = clip(count);
	for (int rank = 0; rank < size; rank++)
		counts[rank] = each;
	MPI_Allreduce(in, out, count, type, op, comm);
	MPI_Reduce(in, out, count, type, op, root, comm);
	MPI_Reduce_scatter_block(in, out, each, type, op, comm);
	counts[size - 1] += 1;
	MPI_Reduce_scatter(in, out, counts, type, op, comm);
}

static void
fill_doubles(void)
{
	for (int i = 0; i < 2 * MOST; i++)
		in[i] = (i % 7) + check_rank;
}

static void
fill_floats(void)
{
	for (int i = 0; i < 2 * MOST; i++)
		((float *)in)[i] = (float)((i % 7) + check_rank);
}

static void
fill_integers(void)
{
	for (int i = 0; i < 2 * MOST; i++)
		((uint64_t *)in)[i] = (uint64_t)(i % 7) * 0x100000001u + (uint64_t)check_rank;
}

static void
make_calls(MPI_Comm comm, int count)
{
	int root = count % size;
	fill_doubles();
	move(comm, count, root);
	move_spread(comm, count, root);
	fill_doubles();
	reduce(comm, count, MPI_DOUBLE, MPI_SUM, root);
	reduce(comm, count, MPI_DOUBLE, MPI_MAX, root);
	fill_floats();
	reduce(comm, count, MPI_FLOAT, MPI_SUM, root);
	reduce(comm, count, MPI_FLOAT, MPI_MIN, root);
	fill_integers();
	reduce(comm, count, MPI_INT, MPI_SUM, root);
	reduce(comm, count, MPI_INT64_T, MPI_MAX, root);
	reduce(comm, count, MPI_UNSIGNED, MPI_BXOR, root);
}

static void
make_all_calls(bool must_keep, int most)
{
	static const int sizes[] = { 1, 100, 2000, MOST };
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes && sizes[i] <= most; i++)
		for (int call = 0; call < 2; call++) {
			/* Alternately none, and all of them: what was raised stays raised. */
			int before = call % 2 ? FE_ALL_EXCEPT : 0;
			if (must_keep) {
				feclearexcept(FE_ALL_EXCEPT);
				fesetexceptflag(&(fexcept_t){ (fexcept_t)before }, FE_ALL_EXCEPT);
			}
			make_calls(i % 2 ? copy : MPI_COMM_WORLD, sizes[i]);
			int after = fetestexcept(looked_at);
			before &= looked_at;
			CHECK(!must_keep || after == before, "%d elements, call %d: flags %#x, and "
							     "they were %#x", sizes[i],
			      call, (unsigned)after, (unsigned)before);
		}
}

int
main(int argc, char **argv)
{
	const char *when = argc > 1 ? argv[1] : "after";
	int most = argc > 2 ? atoi(argv[2]) : MOST;
	feclearexcept(FE_ALL_EXCEPT);
	if (!strcmp(when, "init"))
		feenableexcept(FE_ALL_EXCEPT & ~FE_INEXACT);
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length, major, minor;
	MPI_Get_library_version(text, &length);
	if (sscanf(text, "MPICH Version: %d.%d", &major, &minor) == 2 && (major > 4 || minor > 0))
		looked_at &= ~FE_INEXACT;
	in = calloc(2 * MOST, sizeof *in);
	out = calloc(2 * MOST, sizeof *out);
	counts = malloc(3 * (size_t)size * sizeof *counts);
	types = malloc((size_t)size * sizeof(MPI_Datatype));
	if (!in || !out || !counts || !types)
		MPI_Abort(MPI_COMM_WORLD, 1);
	places = counts + size;
	ones = places + size;
	/* The MPI's connections are there, by its own calls. */
	MPI_Comm_dup(MPI_COMM_WORLD, &copy);
	PMPI_Alltoall(in, 1, MPI_DOUBLE, out, 1, MPI_DOUBLE, copy);
	PMPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	feclearexcept(FE_ALL_EXCEPT);
	if (!strcmp(when, "after"))
		feenableexcept(looked_at);
	int traps = fegetexcept();
	make_all_calls(!strcmp(when, "flags"), most);
	CHECK(fegetexcept() == traps, "traps %#x, and they were %#x", (unsigned)fegetexcept(),
	      (unsigned)traps);
#ifdef MPICH_VERSION
	fedisableexcept(FE_INEXACT);
#endif
	MPI_Comm_free(&copy);
	free(in);
	free(out);
	free(counts);
	free(types);
	return check_finish("traps");
}
