/* intercept/fortran.c — Fortran names that never arrive at a C name.
 *
 * Seen with Open MPI 4.1.4 and 6.0.0rc2 and MPICH 4.0.2, 4.2.1 and 5.0.2 (objdump of their Fortran libraries):
 *
 *   Open MPI  mpi_bcast_, mpi_bcast_f08_ -> ompi_bcast_f -> PMPI_Bcast    all of them are taken here
 *        6.0  mpi_bcast_f08ts_, mpi_bcast_c_f08ts_ -> PMPI_Bcast, PMPI_Bcast_c    and these
 *   MPICH     mpi_bcast_, mpi_bcast_f08ts_ -> MPI_Bcast                   the C entry sees it, with C's sentinels
 *             mpi_barrier_f08_ -> PMPI_Barrier, mpi_init_f08_ -> PMPI_Init  these are taken here
 *             (and mpi_comm_free_f08_, mpi_comm_disconnect_f08_)
 *
 * Here a call is what the host's Fortran layer would make of it: handles converted, MPI_IN_PLACE and MPI_BOTTOM
 * recognised by their address, the C function called, its result stored. */
#include "intercept/entry.h"

#include "base/clock.h"
#include "comm/member.h"
#include "comm/serve.h"
#include "intercept/descriptor.h"

#include <assert.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>

/* Counts and displacements are passed on without a copy. (-fdefault-integer-8 would break the host's C ABI too.) */
static_assert(sizeof(MPI_Fint) == sizeof(int), "Fortran integers are C ints");

static const struct cs_door *host;

static void
store(MPI_Fint *ierr, int result)
{
	if (ierr != NULL) /* optional in mpi_f08 */
		*ierr = result;
}

/* Each mangling has its own next: the host's, or that of a tool below us. */
#define INIT(symbol)                                                                               \
	static void take_##symbol(MPI_Fint *ierr)                                                  \
	{                                                                                          \
		((void (*)(MPI_Fint *))host->next[CS_CALL_##symbol])(ierr);                        \
		cs_entry_after_init();                                                             \
	}
#define INIT_THREAD(symbol)                                                                        \
	static void take_##symbol(MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierr)          \
	{                                                                                          \
		((void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *))host->next[CS_CALL_##symbol])(      \
			required, provided, ierr);                                                 \
		cs_entry_after_init();                                                             \
	}

/* MPI_Comm_free and MPI_Comm_disconnect; `f2c` makes C's handle. */
#define FREE(symbol, f2c)                                                                          \
	static void take_##symbol(MPI_Fint *comm, MPI_Fint *ierr)                                  \
	{                                                                                          \
		struct cs_freeing *freeing = cs_member_freeing(f2c(*comm));                        \
		((void (*)(MPI_Fint *, MPI_Fint *))host->next[CS_CALL_##symbol])(comm, ierr);      \
		cs_member_freed(freeing, f2c(*comm) == MPI_COMM_NULL);                             \
	}

#ifndef OPEN_MPI

INIT(mpi_init_f08_)
INIT_THREAD(mpi_init_thread_f08_)
/* Under MPICH a handle is the same number in C and in Fortran. (MPI_Comm_f2c is a function since 4.2, and modules are not
 * linked with the MPI.) */
#define SAME(handle) (handle)

FREE(mpi_comm_free_f08_, SAME)
FREE(mpi_comm_disconnect_f08_, SAME)

static void
take_barrier(MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Barrier(SAME(*comm)));
}

void
cs_fortran_entries(const struct cs_door *door, void **entries, bool is_ordered)
{
	host = door;
	entries[CS_CALL_mpi_init_f08_] = (void *)take_mpi_init_f08_;
	entries[CS_CALL_mpi_init_thread_f08_] = (void *)take_mpi_init_thread_f08_;
	entries[CS_CALL_mpi_barrier_f08_] = (void *)take_barrier;
	entries[CS_CALL_mpi_comm_free_f08_] = (void *)take_mpi_comm_free_f08_;
	entries[CS_CALL_mpi_comm_disconnect_f08_] = (void *)take_mpi_comm_disconnect_f08_;
}

/* The Fortran layer calls the C names. */
void
cs_fortran_count(void **entries)
{
}

#else

/* What compilers make of a name, and mpi_f08's own. */
#define MANGLED(TAKE, lower, UPPER)                                                                \
	TAKE(mpi_##lower##_)                                                                       \
	TAKE(mpi_##lower##__)                                                                      \
	TAKE(mpi_##lower)                                                                          \
	TAKE(MPI_##UPPER)                                                                          \
	TAKE(mpi_##lower##_f08_)

MANGLED(INIT, init, INIT)
MANGLED(INIT_THREAD, init_thread, INIT_THREAD)

static MPI_Comm (*comm_f2c)(MPI_Fint);
static MPI_Datatype (*type_f2c)(MPI_Fint);
static MPI_Op (*op_f2c)(MPI_Fint);
static int (*comm_rank)(MPI_Comm, int *);
static int (*comm_size)(MPI_Comm, int *);
static int (*comm_remote_size)(MPI_Comm, int *);
static int (*comm_test_inter)(MPI_Comm, int *);
static int (*comm_call_errhandler)(MPI_Comm, int);
static int (*type_create_hvector)(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *);
static int (*type_commit)(MPI_Datatype *);
static int (*type_free)(MPI_Datatype *);

/* --- communicators --------------------------------------------------------------------------------------------- */

#define IDUP(symbol)                                                                               \
	static void take_##symbol(MPI_Fint *comm, MPI_Fint *copy, MPI_Fint *request, MPI_Fint *ierr) \
	{                                                                                          \
		cs_member_duplicating();                                                           \
		((void (*)(MPI_Fint *, MPI_Fint *, MPI_Fint *, MPI_Fint *))host->next[CS_CALL_##symbol])( \
			comm, copy, request, ierr);                                                \
	}
#define FREE_HERE(symbol) FREE(symbol, comm_f2c)
MANGLED(FREE_HERE, comm_free, COMM_FREE)
MANGLED(FREE_HERE, comm_disconnect, COMM_DISCONNECT)
MANGLED(IDUP, comm_idup, COMM_IDUP)

/* --- sentinels ------------------------------------------------------------------------------------------------- */

/* The addresses that mean MPI_IN_PLACE or MPI_BOTTOM. The loader usually makes one of the definitions in the
 * program, libmpi and libmpi_usempif08, but scopes can keep them apart; none of them is ever a buffer. */
struct sentinel {
	void *places[8];
	size_t count;
};
static struct sentinel in_place, bottom;
static _Atomic int sentinels_state; /* 0 unknown, 1 being found, 2 known */

static void
find_sentinel(struct sentinel *sentinel, const char *const *names, size_t count)
{
	size_t room = sizeof sentinel->places / sizeof *sentinel->places;
	for (size_t i = 0; i < count; i++)
		sentinel->count += host->lookup_all(names[i], sentinel->places + sentinel->count,
						    room - sentinel->count);
}

/* At the first Fortran collective and not before: most processes have no Fortran, and the search is slow. */
static void
find_sentinels(void)
{
	static const char *const in_place_names[] = {"mpi_fortran_in_place_", "mpi_fortran_in_place__",
						     "mpi_fortran_in_place", "MPI_FORTRAN_IN_PLACE"};
	static const char *const bottom_names[] = {"mpi_fortran_bottom_", "mpi_fortran_bottom__",
						   "mpi_fortran_bottom", "MPI_FORTRAN_BOTTOM"};
	int unknown = 0;
	if (atomic_compare_exchange_strong(&sentinels_state, &unknown, 1)) {
		find_sentinel(&in_place, in_place_names, 4);
		find_sentinel(&bottom, bottom_names, 4);
		atomic_store_explicit(&sentinels_state, 2, memory_order_release);
	}
	while (atomic_load_explicit(&sentinels_state, memory_order_acquire) != 2)
		; /* another thread is at it, for less than a millisecond */
}

static void *
buffer(void *place)
{
	if (atomic_load_explicit(&sentinels_state, memory_order_acquire) != 2)
		find_sentinels();
	for (size_t i = 0; i < in_place.count; i++)
		if (place == in_place.places[i])
			return MPI_IN_PLACE;
	for (size_t i = 0; i < bottom.count; i++)
		if (place == bottom.places[i])
			return MPI_BOTTOM;
	return place;
}

/* --- collectives ----------------------------------------------------------------------------------------------- */

static void
take_allgather(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
	       MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Allgather(buffer(sendbuf), *sendcount, type_f2c(*sendtype), buffer(recvbuf),
				       *recvcount, type_f2c(*recvtype), comm_f2c(*comm)));
}

static void
take_allgatherv(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcounts,
		MPI_Fint *displs, MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Allgatherv(buffer(sendbuf), *sendcount, type_f2c(*sendtype), buffer(recvbuf),
					recvcounts, displs, type_f2c(*recvtype), comm_f2c(*comm)));
}

static void
take_alltoall(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
	      MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Alltoall(buffer(sendbuf), *sendcount, type_f2c(*sendtype), buffer(recvbuf),
				      *recvcount, type_f2c(*recvtype), comm_f2c(*comm)));
}

static void
take_alltoallv(void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtype, void *recvbuf,
	       MPI_Fint *recvcounts, MPI_Fint *rdispls, MPI_Fint *recvtype, MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Alltoallv(buffer(sendbuf), sendcounts, sdispls, type_f2c(*sendtype),
				       buffer(recvbuf), recvcounts, rdispls, type_f2c(*recvtype),
				       comm_f2c(*comm)));
}

/* How many datatypes each array of an alltoallw holds; 0 where the communicator is none, for the host to refuse. */
static size_t
partners(MPI_Comm comm)
{
	int is_inter = 0, size = 0;
	if (comm == NULL || comm == MPI_COMM_NULL || comm_test_inter(comm, &is_inter) != MPI_SUCCESS ||
	    (is_inter ? comm_remote_size : comm_size)(comm, &size) != MPI_SUCCESS)
		return 0;
	return (size_t)size;
}

/* The datatypes of an alltoallw, for C. */
struct types {
	MPI_Datatype few[2 * 64], *send, *recv;
};

/* With MPI_IN_PLACE the send arguments mean nothing and need not be there: NULL. False after the error handler had it. */
static bool
open_types(struct types *types, MPI_Comm comm, const MPI_Fint *sendtypes, const MPI_Fint *recvtypes, MPI_Fint *ierr)
{
	size_t count = partners(comm);
	types->send = types->few;
	if (count > 64) {
		types->send = malloc(2 * count * sizeof *types->send);
		if (types->send == NULL) {
			comm_call_errhandler(comm, MPI_ERR_NO_MEM);
			store(ierr, MPI_ERR_NO_MEM);
			return false;
		}
	}
	types->recv = types->send + count;
	for (size_t i = 0; i < count; i++) {
		types->send[i] = sendtypes == NULL ? MPI_DATATYPE_NULL : type_f2c(sendtypes[i]);
		types->recv[i] = type_f2c(recvtypes[i]);
	}
	return true;
}

static void
close_types(struct types *types)
{
	if (types->send != types->few)
		free(types->send);
}

static void
take_alltoallw(void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *sdispls, MPI_Fint *sendtypes, void *recvbuf,
	       MPI_Fint *recvcounts, MPI_Fint *rdispls, MPI_Fint *recvtypes, MPI_Fint *comm, MPI_Fint *ierr)
{
	struct types types;
	void *c_sendbuf = buffer(sendbuf);
	if (!open_types(&types, comm_f2c(*comm), c_sendbuf == MPI_IN_PLACE ? NULL : sendtypes, recvtypes, ierr))
		return;
	store(ierr, cs_entry_Alltoallw(c_sendbuf, sendcounts, sdispls, types.send, buffer(recvbuf), recvcounts, rdispls,
				       types.recv, comm_f2c(*comm)));
	close_types(&types);
}

static void
take_barrier(MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Barrier(comm_f2c(*comm)));
}

static void
take_bcast(void *place, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Bcast(buffer(place), *count, type_f2c(*datatype), *root, comm_f2c(*comm)));
}

static void
take_gather(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
	    MPI_Fint *recvtype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Gather(buffer(sendbuf), *sendcount, type_f2c(*sendtype), buffer(recvbuf),
				    *recvcount, type_f2c(*recvtype), *root, comm_f2c(*comm)));
}

static void
take_gatherv(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcounts,
	     MPI_Fint *displs, MPI_Fint *recvtype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Gatherv(buffer(sendbuf), *sendcount, type_f2c(*sendtype), buffer(recvbuf),
				     recvcounts, displs, type_f2c(*recvtype), *root, comm_f2c(*comm)));
}

/* `way`: nothing, or ordered_. */
#define REDUCTIONS(way)                                                                            \
	static void take_##way##allreduce(void *sendbuf, void *recvbuf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *op, \
					  MPI_Fint *comm, MPI_Fint *ierr)                          \
	{                                                                                          \
		store(ierr, cs_entry_##way##Allreduce(buffer(sendbuf), buffer(recvbuf), *count, type_f2c(*datatype), \
						      op_f2c(*op), comm_f2c(*comm)));              \
	}                                                                                          \
	static void take_##way##reduce(void *sendbuf, void *recvbuf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *op, \
				       MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)             \
	{                                                                                          \
		store(ierr, cs_entry_##way##Reduce(buffer(sendbuf), buffer(recvbuf), *count, type_f2c(*datatype), \
						   op_f2c(*op), *root, comm_f2c(*comm)));          \
	}                                                                                          \
	static void take_##way##reduce_scatter(void *sendbuf, void *recvbuf, MPI_Fint *recvcounts, MPI_Fint *datatype, \
					       MPI_Fint *op, MPI_Fint *comm, MPI_Fint *ierr)       \
	{                                                                                          \
		store(ierr, cs_entry_##way##Reduce_scatter(buffer(sendbuf), buffer(recvbuf), recvcounts, \
							   type_f2c(*datatype), op_f2c(*op), comm_f2c(*comm))); \
	}                                                                                          \
	static void take_##way##reduce_scatter_block(void *sendbuf, void *recvbuf, MPI_Fint *recvcount, MPI_Fint *datatype, \
						     MPI_Fint *op, MPI_Fint *comm, MPI_Fint *ierr) \
	{                                                                                          \
		store(ierr, cs_entry_##way##Reduce_scatter_block(buffer(sendbuf), buffer(recvbuf), *recvcount, \
								 type_f2c(*datatype), op_f2c(*op), comm_f2c(*comm))); \
	}                                                                                          \
	static void take_##way##scan(void *sendbuf, void *recvbuf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *op, \
				     MPI_Fint *comm, MPI_Fint *ierr)                               \
	{                                                                                          \
		store(ierr, cs_entry_##way##Scan(buffer(sendbuf), buffer(recvbuf), *count, type_f2c(*datatype), \
						 op_f2c(*op), comm_f2c(*comm)));                   \
	}                                                                                          \
	static void take_##way##exscan(void *sendbuf, void *recvbuf, MPI_Fint *count, MPI_Fint *datatype, MPI_Fint *op, \
				       MPI_Fint *comm, MPI_Fint *ierr)                             \
	{                                                                                          \
		store(ierr, cs_entry_##way##Exscan(buffer(sendbuf), buffer(recvbuf), *count, type_f2c(*datatype), \
						   op_f2c(*op), comm_f2c(*comm)));                 \
	}
REDUCTIONS()
REDUCTIONS(ordered_)

static void
take_scatter(void *sendbuf, MPI_Fint *sendcount, MPI_Fint *sendtype, void *recvbuf, MPI_Fint *recvcount,
	     MPI_Fint *recvtype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Scatter(buffer(sendbuf), *sendcount, type_f2c(*sendtype), buffer(recvbuf),
				     *recvcount, type_f2c(*recvtype), *root, comm_f2c(*comm)));
}

static void
take_scatterv(void *sendbuf, MPI_Fint *sendcounts, MPI_Fint *displs, MPI_Fint *sendtype, void *recvbuf,
	      MPI_Fint *recvcount, MPI_Fint *recvtype, MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierr)
{
	store(ierr, cs_entry_Scatterv(buffer(sendbuf), sendcounts, displs, type_f2c(*sendtype), buffer(recvbuf),
				      *recvcount, type_f2c(*recvtype), *root, comm_f2c(*comm)));
}

/* --- buffers by descriptors ------------------------------------------------------------------------------------ */

static _Atomic int descriptors_state; /* 0 unknown, 1 they can be read, 2 not */

/* Of the job's processes that use mpi_f08 all have the same, as a rule: an executable has one compiler's MPI. */
static __attribute__((noinline)) bool
find_descriptors(void)
{
	bool is_known = cs_descriptor_is_known(host);
	atomic_store_explicit(&descriptors_state, is_known ? 1 : 2, memory_order_release);
	return is_known;
}

static inline bool
is_readable(void)
{
	int state = atomic_load_explicit(&descriptors_state, memory_order_acquire);
	return state ? state == 1 : find_descriptors();
}

/* One side of a call, for C. */
struct part {
	void *memory;
	MPI_Count count;
	MPI_Datatype type;
	bool is_made; /* the type, for this call */
};

/* False in all of these: for the host. */
static bool
open_whole(struct part *part, const struct cs_descriptor *array, MPI_Count count, MPI_Fint type)
{
	if (!is_readable() || !cs_descriptor_is_whole(array))
		return false;
	*part = (struct part){ .memory = buffer(array->base), .count = count, .type = type_f2c(type) };
	return true;
}

/* Does what lies on the root alone matter here? Elsewhere it may be anything. */
static bool
is_root(MPI_Fint root, MPI_Fint comm)
{
	MPI_Comm c_comm = comm_f2c(comm);
	int is_inter = 0, rank = root;
	if (c_comm == NULL || c_comm == MPI_COMM_NULL || comm_test_inter(c_comm, &is_inter) != MPI_SUCCESS)
		return true;
	if (is_inter)
		return root == MPI_ROOT;
	return comm_rank(c_comm, &rank) != MPI_SUCCESS || rank == root;
}

static bool
open_on_root(struct part *part, const struct cs_descriptor *array, MPI_Count count, MPI_Fint type, MPI_Fint root,
	     MPI_Fint comm)
{
	if (open_whole(part, array, count, type))
		return true;
	*part = (struct part){ .memory = array->base, .count = count, .type = type_f2c(type) };
	return is_readable() && !is_root(root, comm);
}

/* `count` elements of part->type in the array's order as one element of another type. The others may have theirs whole, and are
 * served: this must not be left to the host. */
static __attribute__((noinline)) bool
make_type(struct part *part, const struct cs_descriptor *array)
{
	MPI_Datatype type = part->type, next;
	MPI_Count below = 1; /* elements in one of `type` */
	bool is_done = false, is_good = part->count > 0;
	for (int i = 0; is_good && !is_done && i < array->rank; i++) {
		MPI_Count extent = cs_descriptor_extent(array, i), wanted = part->count / below;
		is_done = wanted <= extent;
		is_good = part->count % below == 0 && extent > 0 && extent <= INT_MAX &&
			  type_create_hvector((int)(is_done ? wanted : extent), 1, cs_descriptor_step(array, i), type,
					      &next) == MPI_SUCCESS;
		if (!is_good)
			break;
		if (type != part->type)
			type_free(&type);
		type = next;
		below *= extent;
	}
	if (is_good && is_done && type_commit(&type) == MPI_SUCCESS) {
		*part = (struct part){ .memory = part->memory, .count = 1, .type = type, .is_made = true };
		return true;
	}
	if (type != part->type)
		type_free(&type);
	return false;
}

static bool
open_section(struct part *part, const struct cs_descriptor *array, MPI_Count count, MPI_Fint type)
{
	if (!is_readable())
		return false;
	*part = (struct part){ .memory = buffer(array->base), .count = count, .type = type_f2c(type) };
	return cs_descriptor_is_whole(array) || count == 0 || make_type(part, array);
}

static void
close_part(struct part *part)
{
	if (part->is_made)
		type_free(&part->type);
}

#define COUNT MPI_Fint
#define DISPL MPI_Fint
#define TAKE(name) take_ts_##name
#define ENTRY(name) cs_entry_##name
#define CALL_OF(name) CS_CALL_mpi_##name##_f08ts_
#include "intercept/fortran_ts_calls.h"

#define COUNT MPI_Count
#define DISPL MPI_Aint
#define TAKE(name) take_ts_c_##name
#define ENTRY(name) cs_entry_##name##_c
#define CALL_OF(name) CS_CALL_mpi_##name##_c_f08ts_
#include "intercept/fortran_ts_calls.h"

/* --- what is only counted ---------------------------------------------------------------------------------------- */

/* Handed on as it came. */
struct left {
	size_t bytes;
	uint64_t start; /* 0: nobody wants to know */
};

/* `count` and `type`: of what this rank sends to each neighbour. Without a type there are several of them. */
static struct left
begin_left(MPI_Count count, const MPI_Fint *type, const MPI_Fint *comm)
{
	struct left left = { .bytes = CS_BYTES_UNKNOWN };
	struct cs_member *member = cs_member_enter(comm_f2c(*comm));
	if (!member || !member->seat->runner.is_reporting)
		return left;
	if (type)
		left.bytes = cs_serve_size(member, count, type_f2c(*type), 1);
	left.start = cs_clock_ns();
	return left;
}

static void
end_left(const struct left *left, enum cs_left coll)
{
	if (left->start)
		cs_member_count_left(coll, left->bytes, cs_clock_ns() - left->start);
}

typedef MPI_Fint F; /* for the lists below */

/* `C`: what counts are. Buffers are passed on, whether as addresses or as descriptors. */
#define LEFT(symbol, coll, count, type, parameters, ...)                                           \
	static void take_##symbol parameters                                                       \
	{                                                                                          \
		struct left left = begin_left(count, type, comm);                                  \
		((void(*) parameters)host->next[CS_CALL_##symbol])(__VA_ARGS__);                   \
		end_left(&left, coll);                                                             \
	}
#define LEFT_ALLGATHER_OF(C, symbol)                                                               \
	LEFT(symbol, CS_NEIGHBOR_ALLGATHER, *n, type, (void *a, C *n, F *type, void *b, C *m, F *type_b, F *comm, F *ierr), \
	     a, n, type, b, m, type_b, comm, ierr)
#define LEFT_ALLTOALL_OF(C, symbol)                                                                \
	LEFT(symbol, CS_NEIGHBOR_ALLTOALL, *n, type, (void *a, C *n, F *type, void *b, C *m, F *type_b, F *comm, F *ierr), \
	     a, n, type, b, m, type_b, comm, ierr)
#define LEFT_ALLGATHERV_OF(C, symbol)                                                              \
	LEFT(symbol, CS_NEIGHBOR_ALLGATHERV, *n, type,                                             \
	     (void *a, C *n, F *type, void *b, C *m, void *at, F *type_b, F *comm, F *ierr),        \
	     a, n, type, b, m, at, type_b, comm, ierr)
#define LEFT_ALLTOALLV_OF(C, symbol)                                                               \
	LEFT(symbol, CS_NEIGHBOR_ALLTOALLV, 0, NULL,                                               \
	     (void *a, C *n, void *at, F *type, void *b, C *m, void *at_b, F *type_b, F *comm, F *ierr), \
	     a, n, at, type, b, m, at_b, type_b, comm, ierr)
#define LEFT_ALLTOALLW_OF(C, symbol)                                                               \
	LEFT(symbol, CS_NEIGHBOR_ALLTOALLW, 0, NULL,                                               \
	     (void *a, C *n, void *at, F *type, void *b, C *m, void *at_b, F *type_b, F *comm, F *ierr), \
	     a, n, at, type, b, m, at_b, type_b, comm, ierr)
#define LEFT_ALLGATHER(symbol) LEFT_ALLGATHER_OF(F, symbol)
#define LEFT_ALLGATHERV(symbol) LEFT_ALLGATHERV_OF(F, symbol)
#define LEFT_ALLTOALL(symbol) LEFT_ALLTOALL_OF(F, symbol)
#define LEFT_ALLTOALLV(symbol) LEFT_ALLTOALLV_OF(F, symbol)
#define LEFT_ALLTOALLW(symbol) LEFT_ALLTOALLW_OF(F, symbol)
#define LEFT_ALL(TAKE, lower, UPPER)                                                               \
	MANGLED(TAKE, lower, UPPER)                                                                \
	TAKE(mpi_##lower##_f08ts_)                                                                 \
	TAKE##_OF(MPI_Count, mpi_##lower##_c_f08ts_)
LEFT_ALL(LEFT_ALLGATHER, neighbor_allgather, NEIGHBOR_ALLGATHER)
LEFT_ALL(LEFT_ALLGATHERV, neighbor_allgatherv, NEIGHBOR_ALLGATHERV)
LEFT_ALL(LEFT_ALLTOALL, neighbor_alltoall, NEIGHBOR_ALLTOALL)
LEFT_ALL(LEFT_ALLTOALLV, neighbor_alltoallv, NEIGHBOR_ALLTOALLV)
LEFT_ALL(LEFT_ALLTOALLW, neighbor_alltoallw, NEIGHBOR_ALLTOALLW)

void
cs_fortran_count(void **entries)
{
	if (comm_f2c == NULL || type_f2c == NULL)
		return;
#define SET(symbol) entries[CS_CALL_##symbol] = (void *)take_##symbol;
#define SET_OF(C, symbol) SET(symbol)
	LEFT_ALL(SET, neighbor_allgather, NEIGHBOR_ALLGATHER)
	LEFT_ALL(SET, neighbor_allgatherv, NEIGHBOR_ALLGATHERV)
	LEFT_ALL(SET, neighbor_alltoall, NEIGHBOR_ALLTOALL)
	LEFT_ALL(SET, neighbor_alltoallv, NEIGHBOR_ALLTOALLV)
	LEFT_ALL(SET, neighbor_alltoallw, NEIGHBOR_ALLTOALLW)
#undef SET
#undef SET_OF
}

void
cs_fortran_entries(const struct cs_door *door, void **entries, bool is_ordered)
{
	host = door;
	comm_f2c = (MPI_Comm(*)(MPI_Fint))door->lookup("PMPI_Comm_f2c");
	type_f2c = (MPI_Datatype(*)(MPI_Fint))door->lookup("PMPI_Type_f2c");
	op_f2c = (MPI_Op(*)(MPI_Fint))door->lookup("PMPI_Op_f2c");
	comm_rank = (int (*)(MPI_Comm, int *))door->lookup("PMPI_Comm_rank");
	comm_size = (int (*)(MPI_Comm, int *))door->lookup("PMPI_Comm_size");
	comm_remote_size = (int (*)(MPI_Comm, int *))door->lookup("PMPI_Comm_remote_size");
	comm_test_inter = (int (*)(MPI_Comm, int *))door->lookup("PMPI_Comm_test_inter");
	comm_call_errhandler = (int (*)(MPI_Comm, int))door->lookup("PMPI_Comm_call_errhandler");
	type_create_hvector = (int (*)(int, int, MPI_Aint, MPI_Datatype, MPI_Datatype *))
		door->lookup("PMPI_Type_create_hvector");
	type_commit = (int (*)(MPI_Datatype *))door->lookup("PMPI_Type_commit");
	type_free = (int (*)(MPI_Datatype *))door->lookup("PMPI_Type_free");
	if (comm_f2c == NULL || type_f2c == NULL || op_f2c == NULL || comm_rank == NULL || comm_size == NULL ||
	    comm_remote_size == NULL || comm_test_inter == NULL || comm_call_errhandler == NULL ||
	    type_create_hvector == NULL || type_commit == NULL || type_free == NULL)
		return; /* forwarded: the host's own layer needs them as well and will say more */

#define ENTRY(lower, UPPER, way)                                                                        \
	entries[CS_CALL_mpi_##lower##_] = entries[CS_CALL_mpi_##lower##__] =                       \
		entries[CS_CALL_mpi_##lower] = entries[CS_CALL_MPI_##UPPER] =                      \
			entries[CS_CALL_mpi_##lower##_f08_] = (void *)take_##way##lower
#define WITH_BUFFERS(lower, UPPER, way)                                                             \
	ENTRY(lower, UPPER, way);                                                                  \
	entries[CS_CALL_mpi_##lower##_f08ts_] = (void *)take_ts_##way##lower;                      \
	entries[CS_CALL_mpi_##lower##_c_f08ts_] = (void *)take_ts_c_##way##lower
	WITH_BUFFERS(allgather, ALLGATHER, );
	WITH_BUFFERS(allgatherv, ALLGATHERV, );
	WITH_BUFFERS(allreduce, ALLREDUCE, );
	WITH_BUFFERS(alltoall, ALLTOALL, );
	WITH_BUFFERS(alltoallv, ALLTOALLV, );
	WITH_BUFFERS(alltoallw, ALLTOALLW, );
	ENTRY(barrier, BARRIER, );
	WITH_BUFFERS(bcast, BCAST, );
	WITH_BUFFERS(exscan, EXSCAN, );
	WITH_BUFFERS(gather, GATHER, );
	WITH_BUFFERS(gatherv, GATHERV, );
	WITH_BUFFERS(reduce, REDUCE, );
	WITH_BUFFERS(reduce_scatter, REDUCE_SCATTER, );
	WITH_BUFFERS(reduce_scatter_block, REDUCE_SCATTER_BLOCK, );
	WITH_BUFFERS(scan, SCAN, );
	WITH_BUFFERS(scatter, SCATTER, );
	WITH_BUFFERS(scatterv, SCATTERV, );
	if (is_ordered) {
		WITH_BUFFERS(allreduce, ALLREDUCE, ordered_);
		WITH_BUFFERS(exscan, EXSCAN, ordered_);
		WITH_BUFFERS(reduce, REDUCE, ordered_);
		WITH_BUFFERS(reduce_scatter, REDUCE_SCATTER, ordered_);
		WITH_BUFFERS(reduce_scatter_block, REDUCE_SCATTER_BLOCK, ordered_);
		WITH_BUFFERS(scan, SCAN, ordered_);
	}
#undef ENTRY
#undef WITH_BUFFERS
#define OWN(symbol) entries[CS_CALL_##symbol] = (void *)take_##symbol;
	MANGLED(OWN, init, INIT)
	MANGLED(OWN, init_thread, INIT_THREAD)
	MANGLED(OWN, comm_free, COMM_FREE)
	MANGLED(OWN, comm_disconnect, COMM_DISCONNECT)
	MANGLED(OWN, comm_idup, COMM_IDUP)
#undef OWN
}

#endif
