/* Preloaded behind the library for tests: under an MPI that packs rightly, an MPI_Pack and
 * MPI_Unpack that are wrong for types such as Open MPI 5.0.7's are wrong for: complex numbers that
 * are apart by no whole number of them. The library asks the MPI itself for its functions, so what
 * stands in the way is dlsym. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* The size of the complex numbers in the type, 0 if there are none. *is_odd: some displacement,
 * stride or extent in it is no whole number of them. */
static int
complex_in(MPI_Datatype type, int *is_odd)
{
	int integers, addresses, types, combiner, size = 0;
	if (type == MPI_C_FLOAT_COMPLEX || type == MPI_C_DOUBLE_COMPLEX ||
	    type == MPI_C_LONG_DOUBLE_COMPLEX) {
		PMPI_Type_size(type, &size);
		return size;
	}
	PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
	if (combiner == MPI_COMBINER_NAMED)
		return 0;
	int *i = malloc((size_t)(integers + 1) * sizeof *i);
	MPI_Aint *a = malloc((size_t)(addresses + 1) * sizeof *a);
	MPI_Datatype *t = malloc((size_t)(types + 1) * sizeof(MPI_Datatype));
	PMPI_Type_get_contents(type, integers, addresses, types, i, a, t);
	for (int k = 0; k < types; k++) {
		int inner, n, m, l, here = complex_in(t[k], is_odd);
		size = here ? here : size;
		PMPI_Type_get_envelope(t[k], &n, &m, &l, &inner);
		if (inner != MPI_COMBINER_NAMED)
			PMPI_Type_free(&t[k]);
	}
	for (int k = 0; k < addresses && size; k++)
		*is_odd = *is_odd || a[k] % size;
	free(i);
	free(a);
	free(t);
	return size;
}

static int
is_odd(MPI_Datatype type)
{
	int odd = 0;
	return complex_in(type, &odd) && odd;
}

/* Moves the numbers behind the first, as if they lay elsewhere. */
static void
spoil(void *data, size_t bytes, int is_back)
{
	char *at = data, end;
	if (bytes < 3)
		return;
	end = is_back ? at[1] : at[bytes - 1];
	memmove(is_back ? at + 1 : at + 2, is_back ? at + 2 : at + 1, bytes - 2);
	at[is_back ? bytes - 1 : 1] = end;
}

static int
pack(const void *from, int count, MPI_Datatype type, void *to, int room, int *position,
     MPI_Comm comm)
{
	int before = *position, result = PMPI_Pack(from, count, type, to, room, position, comm);
	if (!result && count > 0 && is_odd(type))
		spoil((char *)to + before, (size_t)(*position - before), 0);
	return result;
}

static int
unpack(const void *from, int room, int *position, void *to, int count, MPI_Datatype type,
       MPI_Comm comm)
{
	int size, at = 0;
	if (count <= 0 || !is_odd(type))
		return PMPI_Unpack(from, room, position, to, count, type, comm);
	PMPI_Type_size(type, &size);
	size_t bytes = (size_t)size * (size_t)count;
	char *copy = malloc(bytes);
	memcpy(copy, (const char *)from + *position, bytes);
	spoil(copy, bytes, 1);
	int result = PMPI_Unpack(copy, (int)bytes, &at, to, count, type, comm);
	*position += at;
	free(copy);
	return result;
}

static void *
find(void *handle, const char *name)
{
	static void *(*next)(void *, const char *);
	static const char *const versions[] = { "GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5" };
	for (size_t i = 0; !next && i < sizeof versions / sizeof *versions; i++)
		next = (void *(*)(void *, const char *))dlvsym(RTLD_NEXT, "dlsym", versions[i]);
	return next(handle, name);
}

EXPORT void *
dlsym(void *restrict handle, const char *restrict name)
{
	if (strcmp(name, "PMPI_Pack") == 0)
		return (void *)pack;
	if (strcmp(name, "PMPI_Unpack") == 0)
		return (void *)unpack;
	return find(handle, name);
}
