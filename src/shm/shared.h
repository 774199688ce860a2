/* shm/shared.h — memory of the program that several ranks of a node have in common: windows of
 * MPI_Win_allocate_shared, and how ranks find that their results are the same memory, which one of
 * them then writes (seed 002, 2.3.3, "shared memory").
 *
 * A place is told by the file that is mapped there and the offset in it, which are the same in all
 * processes of a node, and of no other memory. So two ranks compare words of a line, and nothing is
 * agreed: who does not know a window copies. */
#ifndef CS_SHM_SHARED_H
#define CS_SHM_SHARED_H

#include "shm/mapping.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_shared_place {
	uint64_t file; /* 0: not shared, as far as is known */
	uint64_t at;
};

extern _Atomic unsigned cs_shared_known; /* mappings */

struct cs_shared_place cs_shared_find_slow(const void *memory, size_t bytes);

/* The place of `bytes` at `memory`, if all of it is in one known mapping. */
static inline struct cs_shared_place
cs_shared_find(const void *memory, size_t bytes)
{
	if (__builtin_expect(!atomic_load_explicit(&cs_shared_known, memory_order_acquire), 1))
		return (struct cs_shared_place){ 0 };
	return cs_shared_find_slow(memory, bytes);
}

/* Is `own`, which this rank need not write then, the place that another rank of the node has
 * told? */
static inline bool
cs_shared_is_same(struct cs_shared_place own, uint64_t file, uint64_t at)
{
	return own.file && own.file == file && own.at == at;
}
/* Counts a result that was not written for that, for the report. */
void cs_shared_count(void);

/* Notes `bytes` at `memory`, until cs_shared_remove(owner), if a file is mapped there for several
 * processes to write. *mapping: the one found by the last call, first of zeros. */
void cs_shared_add(const void *owner, const void *memory, size_t bytes,
		   struct cs_mapping *mapping);
/* The same of memory that is known to be `place`. */
void cs_shared_add_as(const void *owner, const void *memory, size_t bytes,
		      struct cs_shared_place place);
void cs_shared_remove(const void *owner);

#endif
