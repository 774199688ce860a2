/* What the hosts cannot do. The comparison needs the host's answer, and these calls, all legal, it
 * answers wrongly or not at all; so the test does not make them there. Each was found by this test
 * with no library loaded, most with --judge, --selfcheck or ASan. */
#include "hosts.h"

#include <stdio.h>
#include <string.h>

/* Open MPI 4.1.4's binomial gather mixes blocks up where a rank between root and leaf sends a type
 * with gaps, and where the root receives into MPI_BOTTOM: point-to-point messages say so. */
bool
host_misplaces_gaps(enum coll coll)
{
#ifdef OPEN_MPI
	return coll == GATHER;
#else
	return false;
#endif
}

/* The same with MPI_BOTTOM; and from about 1 KiB on Open MPI's copy of a rank's own block out of
 * MPI_BOTTOM goes astray at the end (seen in alltoallw: it reads behind the buffer). */
bool
host_misses_bottom(enum coll coll, long bytes)
{
#ifdef OPEN_MPI
	return coll == GATHER || (coll != BCAST && bytes > 512);
#else
	return false;
#endif
}

/* Open MPI 4.1.4 copies a rank's own block from one type to the other in pieces of 64 KiB, and
 * loses the last element where a piece ends within an element of a type with gaps (seen in
 * alltoall; point-to-point messages are right). */
#define HOST_PIECE 60000

bool
host_loses_elements(enum coll coll, long bytes)
{
#ifdef OPEN_MPI
	return coll != BCAST && bytes > HOST_PIECE;
#else
	return false;
#endif
}

/* Must every rank's type hold the same number of units? By the standard never. But both hosts cut
 * large messages into pieces of a whole number of the caller's elements (MPICH's ring allgatherv;
 * Open MPI 4.1.4's bcast, gather and scatter), and Open MPI's allgatherv takes its algorithm by the
 * size of the caller's type: they hang or truncate. */
#define HOST_SEGMENT 1000

bool
host_needs_equal_types(enum coll coll, long bytes)
{
#ifdef MPICH_VERSION
	return coll == ALLGATHERV && bytes > HOST_SEGMENT;
#else
	return coll == ALLGATHERV ||
		(bytes > HOST_SEGMENT && (coll == BCAST || coll == GATHER || coll == SCATTER));
#endif
}

/* MPICH's ring allgatherv even counts its pieces by the extent of the type. */
bool
host_needs_equal_layouts(const struct call *call)
{
#ifdef MPICH_VERSION
	return call->coll == ALLGATHERV && call->per;
#else
	return false;
#endif
}

/* MPICH 4.0.2 leaves out the displacement of the only block in a communicator of one rank
 * (allgatherv, alltoallv and alltoallw with MPI_COMM_SELF copy to and from the address itself). */
bool
host_ignores_displacement(int blocks)
{
#ifdef MPICH_VERSION
	return blocks == 1;
#else
	return false;
#endif
}
/* MPICH 4.0.2 crashes in MPI_Reduce with MPI_IN_PLACE at a root other than 0 from 2 KiB on (it
 * copies from the address MPI_IN_PLACE in its reduce-scatter-gather). */
bool
host_crashes_in_place(const struct call *call, long bytes)
{
#ifdef MPICH_VERSION
	return call->coll == REDUCE && call->root != 0 && bytes > 2048;
#else
	return false;
#endif
}

/* MPICH 4.0.2 refuses at the first rank of an exscan what it refuses at the others: no buffer, or
 * that of the input. */
bool
host_wants_result(const struct call *call)
{
#ifdef MPICH_VERSION
	return call->coll == EXSCAN;
#else
	return false;
#endif
}

/* Long messages are cut into pieces that end anywhere. Where a basic element does not have a power
 * of two as its size (pairs, mixed structs) or is larger than 8 bytes (long double, complex), MPICH
 * 4.0.2 over UCX then reports a truncation if the receiver's type has gaps; and Open MPI 4.1.4's
 * unpack overruns a stack buffer for a C long double complex in two pieces. So the host can answer
 * such calls only while they are short. */
bool
host_cuts_elements(const struct unit *unit)
{
#ifdef MPICH_VERSION
	for (int i = 0; i < unit->elements; i++)
		if (unit->basic[i]->size > 8)
			return true;
	return unit->is_mixed || unit->basic[0]->kind == K_PAIR;
#else
	for (int i = 0; i < unit->elements; i++)
		if (unit->basic[i]->size > 16)
			return true;
	return false;
#endif
}

/* MPICH 4.0.2's alltoalls in place (sendrecv_replace inside) report a truncation for types of
 * several basic types, pairs among them. */
bool
host_truncates_in_place(const struct call *call)
{
#ifdef MPICH_VERSION
	return (call->unit.is_mixed || call->unit.basic[0]->kind == K_PAIR) &&
		(call->coll == ALLTOALL || call->coll == ALLTOALLV || call->coll == ALLTOALLW);
#else
	return false;
#endif
}

/* Open MPI 4.1.4's alltoallw in a communicator of one rank loses elements between types with gaps;
 * the library hands such communicators to the host, so both sides of the comparison are the host's.
 * MPICH 4.0.2's reduce leaves contributions out above 2 KiB where rank 0 is alone on its node and
 * others are not; its allreduce over an intercommunicator reduces so within each group. */
bool
host_answers_wrong(const struct call *call)
{
#ifdef OPEN_MPI
	return call->coll == ALLTOALLW && call->comm->size == 1;
#else
	const struct side *side = call->send.reduce_count > call->recv.reduce_count
				  ? &call->send : &call->recv;
	return (call->coll == REDUCE || (call->coll == ALLREDUCE && call->comm->remote)) &&
		call->comm->is_first_alone &&
		side->reduce_count * (long)call->reduction.layout.extent > 2048;
#endif
}

/* MPICH 4.0.2 waits for ever in MPI_Waitany for inactive persistent collectives of its own, such as
 * the library leaves to it; Open MPI 4.1.4 counts no alltoallv_init or alltoallw_init in place on
 * ranks where it moves nothing, and the communicator's next non-blocking call waits for ever. */
bool
host_starts_wrongly(const struct call *call)
{
#ifdef OPEN_MPI
	return call->send.is_in_place && (call->coll == ALLTOALLV || call->coll == ALLTOALLW);
#else
	return call->is_empty || (call->has_reduction && !reduction_has_kernel(&call->reduction));
#endif
}

/* MPICH 4.2.1 and 5.0.2 divide by the blocks of data that a received message's type has, and die of
 * SIGFPE where the type has an extent but no data (a struct of nothing, resized); 4.0.2 does
 * not. */
bool
host_dies_of_extents(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length, major = 0, minor = 0;
	PMPI_Get_library_version(text, &length);
	return sscanf(text, "MPICH Version: %d.%d", &major, &minor) == 2 &&
	       (major > 4 || (major == 4 && minor > 0));
}

/* Open MPI 5.0.7 packs complex numbers as if they were apart by whole numbers of them, and receives
 * so, too: what its collectives do with strides that are not whole is no answer to compare with
 * (tests/mpi/odd_strides.c knows the right one). */
bool
host_misses_odd_strides(void)
{
	float from[12], to[8] = {0};
	int position = 0;
	MPI_Datatype type;
	for (int i = 0; i < 12; i++)
		from[i] = (float)i;
	PMPI_Type_create_hvector(4, 1, 12, MPI_C_FLOAT_COMPLEX, &type);
	PMPI_Type_commit(&type);
	PMPI_Pack(from, 1, type, to, sizeof to, &position, MPI_COMM_SELF);
	PMPI_Type_free(&type);
	for (int i = 0; i < 4; i++)
		if (memcmp(&to[2 * i], &from[3 * i], 2 * sizeof *from) != 0)
			return true;
	return false;
}
