/* algorithms/slice.h — slices of a vector, one for each rank or lane that works on it. */
#ifndef CS_ALGORITHMS_SLICE_H
#define CS_ALGORITHMS_SLICE_H

#include "base/cpu.h"

#include <stddef.h>

/* Slice `part` of `parts` of `count` elements of `unit` bytes: [*first, *first + returned). Slices
 * begin with a cache line if elements fill one. */
static inline size_t
cs_slice(size_t count, size_t unit, int parts, int part, size_t *first)
{
	size_t step = (count + (size_t)parts - 1) / (size_t)parts;
	size_t align = unit < CS_CACHE_LINE && CS_CACHE_LINE % unit == 0 ? CS_CACHE_LINE / unit : 1;
	step = (step + align - 1) / align * align;
	size_t from = (size_t)part * step < count ? (size_t)part * step : count;
	size_t to = from + step < count ? from + step : count;
	*first = from;
	return to - from;
}

#endif
