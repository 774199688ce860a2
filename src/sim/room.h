/* sim/room.h — memory that is counted: the simulator says that a problem is too large before the
 * machine swaps. */
#ifndef CS_SIM_ROOM_H
#define CS_SIM_ROOM_H

#include <stddef.h>
#include <stdlib.h>

/* Grows an array of `*room` elements of `size` bytes to twice as many, and takes the bytes from
 * *left. NULL: no memory, or none left; the array stays. */
static inline void *
cs_room_double(void *array, size_t *room, size_t size, size_t *left)
{
	size_t wanted = *room ? 2 * *room : 64, more = (wanted - *room) * size;
	void *grown = more <= *left ? realloc(array, wanted * size) : NULL;
	if (!grown)
		return NULL;
	*left -= more;
	*room = wanted;
	return grown;
}

/* Allocates `count` cleared elements; NULL as above. */
static inline void *
cs_room_take(size_t count, size_t size, size_t *left)
{
	void *array = count * size <= *left ? calloc(count ? count : 1, size) : NULL;
	if (array)
		*left -= count * size;
	return array;
}

#endif
