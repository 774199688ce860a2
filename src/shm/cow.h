/* shm/cow.h — results that are mapped copy-on-write (COLLSHIM_COW; seed 002, 2.3.3): one rank
 * writes a result to a fresh file in memory, all ranks of the node map it over pages of their own.
 *
 *   file      |    | result, from the offset in its page where the writer's own begins |
 *   a result  | malloc's | edge | whole pages: mapped, private | edge |
 *                          edges are read from the file
 *
 * A write to a mapped page gives that rank a copy of it. The file belongs to one call and is
 * sealed, so nobody else's write is ever seen. A result is mapped only if all of this is so, since
 * the program might notice it else; others are read from the file:
 *
 *   glibc has mapped the block by itself (its head says so), and the result is its begin: free()
 *   then unmaps it, and realloc() copies; a heap or another allocator may expect zeros after
 *   madvise(), and a mapping of the program's own may be moved or given away in other ways
 *   all of it is private anonymous memory, or was mapped here before
 *   the process has no locked pages, none that a device may write to (VmPin), no huge ones
 *   begin and writer's begin are at the same offset in their pages */
#ifndef CS_SHM_COW_H
#define CS_SHM_COW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_cow_told {
	uint64_t file; /* 0: none; descriptor + 1, and above it the result's offset in a page */
	uint64_t inode;
};

/* Makes a file for the writer's own result, with all of its memory. -1: none, since that result
 * would not be mapped, or memory is short. Does not change errno; nor do the others. */
int cs_cow_open(const void *result, size_t bytes, struct cs_cow_told *told);

/* Writes `bytes` of the result from byte `at` on; `own`: the writer's. False: not all. */
bool cs_cow_write(int file, const void *own, size_t at, const void *from, size_t bytes);
void cs_cow_seal(int file);

/* Opens the file of process `pid`, for a result of `bytes`; -1: cannot, or another one. */
int cs_cow_attach(int64_t pid, struct cs_cow_told told, size_t bytes);

/* Fills the result of `bytes`, whose first byte is at `offset` in the file: maps what can be
 * mapped, reads the rest. False, with errno: neither is possible. */
bool cs_cow_take(int file, size_t offset, void *result, size_t bytes);

/* Byte of a page where `result` begins, which is where the writer's is in the file. */
size_t cs_cow_offset(const void *result);
static inline size_t
cs_cow_told_offset(struct cs_cow_told told)
{
	return told.file >> 32;
}

#endif
