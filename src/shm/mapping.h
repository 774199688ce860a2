/* shm/mapping.h — mappings of this process, by /proc/self/maps. */
#ifndef CS_SHM_MAPPING_H
#define CS_SHM_MAPPING_H

#include <stdbool.h>
#include <stdint.h>

struct cs_mapping {
	uintptr_t from, to;
	uint64_t offset;  /* of `from` in the file */
	uint64_t file;    /* digest of device and inode; 0: anonymous memory */
	bool is_shared, is_writable;
	bool is_plain;    /* private anonymous memory that mmap made: no heap, no stack */
	char name[48];    /* as far as there is room; "": none */
};

/* Finds the mapping that `address` is in. False: none, or the file cannot be read. Takes some
 * microseconds, and 0.1 more for each mapping before it. Does not change errno. */
bool cs_mapping_find(const void *address, struct cs_mapping *mapping);

#endif
