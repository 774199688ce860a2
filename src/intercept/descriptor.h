/* intercept/descriptor.h — what arrives where mpi_f08 declares a buffer as type(*), dimension(..).
 *
 * MPI's names are Fortran procedures, so it is the compiler's own descriptor; only what a compiler
 * hands to C is laid out as ISO_Fortran_binding.h says. gfortran's is read here, since
 * libgfortran.so.5 (gcc 8) it is
 *
 *   base | offset | bytes of an element | version, rank, type, attribute | span |
 *   stride, lower, upper of each dimension
 *
 * Strides count spans. A scalar, MPI_IN_PLACE and MPI_BOTTOM have the rank 0. */
#ifndef CS_INTERCEPT_DESCRIPTOR_H
#define CS_INTERCEPT_DESCRIPTOR_H

#include "intercept/module_abi.h"

#include <stdbool.h>
#include <stddef.h>

#define CS_DESCRIPTOR_RANKS 15

struct cs_descriptor {
	void *base;
	size_t offset;
	size_t element;
	int version;
	signed char rank, type;
	short attribute;
	ptrdiff_t span;
	struct {
		ptrdiff_t stride, lower, upper;
	} dimensions[CS_DESCRIPTOR_RANKS];
};

/* Is it gfortran's that the MPI's mpi_f08 takes, and is it as above? Slow; the answer does not
 * change. */
bool cs_descriptor_is_known(const struct cs_door *door);

static inline ptrdiff_t
cs_descriptor_extent(const struct cs_descriptor *array, int dimension)
{
	return array->dimensions[dimension].upper - array->dimensions[dimension].lower + 1;
}

/* Bytes from one element to the next in this dimension. */
static inline ptrdiff_t
cs_descriptor_step(const struct cs_descriptor *array, int dimension)
{
	return array->dimensions[dimension].stride * array->span;
}

/* Are the elements in memory as in the array, without gaps? An assumed size, the last extent, does
 * not matter. */
static inline bool
cs_descriptor_is_whole(const struct cs_descriptor *array)
{
	ptrdiff_t step = (ptrdiff_t)array->element;
	for (int i = 0; i < array->rank; i++) {
		if (cs_descriptor_step(array, i) != step)
			return false;
		step *= cs_descriptor_extent(array, i);
	}
	return true;
}

#endif
