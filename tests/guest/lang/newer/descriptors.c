/* The Fortran procedures that Open MPI has for mpi_f08 since 6.0, made of what this MPI has. As
 * there, what one rank sends or receives may be a section of an array where the MPI knows its size,
 * and has to be whole elsewhere. */
#include "newer.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#pragma GCC visibility push(default)

/* What gfortran passes for type(*), dimension(..). */
struct descriptor {
	char *base;
	size_t offset, element;
	int version;
	signed char rank, type;
	short attribute;
	ptrdiff_t span;
	struct {
		ptrdiff_t stride, lower, upper;
	} dimension[15];
};

extern int mpi_fortran_in_place_, mpi_fortran_bottom_;

static ptrdiff_t
extent(const struct descriptor *array, int i)
{
	return array->dimension[i].upper - array->dimension[i].lower + 1;
}

static int
is_whole(const struct descriptor *array)
{
	ptrdiff_t next = (ptrdiff_t)array->element;
	for (int i = 0; i < array->rank; i++) {
		if (array->dimension[i].stride * array->span != next)
			return 0;
		next *= extent(array, i);
	}
	return 1;
}

/* The first `bytes` of an array's elements to or from memory; what is left of them. */
static size_t
copy(const struct descriptor *array, int dimensions, char *from, char **memory, size_t bytes,
     int is_back)
{
	if (dimensions == 0) {
		size_t some = bytes < array->element ? bytes : array->element;
		memcpy(is_back ? from : *memory, is_back ? *memory : from, some);
		*memory += some;
		return bytes - some;
	}
	for (ptrdiff_t i = 0; i < extent(array, dimensions - 1) && bytes > 0; i++)
		bytes = copy(array, dimensions - 1, from + i *
			     array->dimension[dimensions - 1].stride * array->span, memory, bytes,
			     is_back);
	return bytes;
}

/* One side of a call. */
struct side {
	const struct descriptor *array;
	void *memory;
	size_t bytes;
	int wrong; /* or why the call is */
};

static struct side
whole(const struct descriptor *array)
{
	void *memory = (void *)array->base == (void *)&mpi_fortran_in_place_ ? MPI_IN_PLACE
		       : (void *)array->base == (void *)&mpi_fortran_bottom_ ? MPI_BOTTOM
									     : array->base;
	return (struct side){.memory = memory, .wrong = is_whole(array)
			     ? MPI_SUCCESS : MPI_ERR_INTERN};
}

static struct side
section(const struct descriptor *array, MPI_Count count, MPI_Fint type)
{
	struct side side = whole(array);
	if (side.wrong == MPI_SUCCESS)
		return side;
	int size;
	PMPI_Type_size(PMPI_Type_f2c(type), &size);
	side = (struct side){.array = array, .bytes = (size_t)count * (size_t)size};
	char *next = side.memory = malloc(side.bytes + 1);
	if (copy(array, array->rank, array->base, &next, side.bytes, 0) > 0)
		side.wrong = MPI_ERR_ARG;
	return side;
}

static void
leave(struct side *side, int is_received)
{
	char *next = side->memory;
	if (side->array == NULL)
		return;
	if (is_received && side->wrong == MPI_SUCCESS)
		copy(side->array, side->array->rank, side->array->base, &next, side->bytes, 1);
	free(side->memory);
}

/* What lies on the root alone, elsewhere anything. */
static struct side
on_root(const struct descriptor *array, MPI_Fint root, MPI_Fint comm)
{
	int rank;
	PMPI_Comm_rank(PMPI_Comm_f2c(comm), &rank);
	return rank == root ? whole(array) : (struct side){.memory = array->base};
}

/* The call, unless a side is wrong. */
#define FINISH(send, recv, call)                                                                   \
	do {                                                                                       \
		int code = (send).wrong != MPI_SUCCESS ? (send).wrong : (recv).wrong;              \
		code = code != MPI_SUCCESS ? PMPI_Comm_call_errhandler(COMM, code), code : (call); \
		leave(&(send), 0);                                                                 \
		leave(&(recv), 1);                                                                 \
		if (ierror)                                                                        \
			*ierror = code;                                                            \
	} while (0)
#define COMM PMPI_Comm_f2c(*comm)
#define TYPE(type) PMPI_Type_f2c(*type)
#define OP PMPI_Op_f2c(*op)

static MPI_Datatype type_room[2][64];

static const MPI_Datatype *
types(int which, const MPI_Fint *handles, MPI_Comm comm, const void *memory)
{
	int size;
	PMPI_Comm_size(comm, &size);
	for (int i = 0; i < size && memory != MPI_IN_PLACE; i++)
		type_room[which][i] = PMPI_Type_f2c(handles[i]);
	return type_room[which];
}

#define COUNT MPI_Fint
#define DISPL MPI_Fint
#define SYMBOL(name) mpi_##name##_f08ts_
#define TO(name) PMPI_##name
#include "procedures.inc"
#undef COUNT
#undef DISPL
#undef SYMBOL
#undef TO
#define COUNT MPI_Count
#define DISPL MPI_Aint
#define SYMBOL(name) mpi_##name##_c_f08ts_
#define TO(name) PMPI_##name##_c
#include "procedures.inc"

/* As an MPI has them, for all. */
void pmpi_bcast_f08ts_(const struct descriptor *data, MPI_Fint *count, MPI_Fint *type,
		       MPI_Fint *root, MPI_Fint *comm, MPI_Fint *ierror);
void
pmpi_bcast_f08ts_(const struct descriptor *data, MPI_Fint *count, MPI_Fint *type, MPI_Fint *root,
		  MPI_Fint *comm, MPI_Fint *ierror)
{
	mpi_bcast_f08ts_(data, count, type, root, comm, ierror);
}

#ifdef IS_OTHER_COMPILER
/* By this the library asks how descriptors look: not as it knows them. */
void _gfortran_gfc_desc_to_cfi_desc(void **standard, const void *own);
void
_gfortran_gfc_desc_to_cfi_desc(void **standard, const void *own)
{
	memcpy(*standard, own, 2 * sizeof(void *));
}
#endif
