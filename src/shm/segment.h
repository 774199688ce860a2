/* shm/segment.h — memory shared by the processes of a node, private to the job.
 *
 * Created by one process (the owner), attached by the others with a handle that the host MPI sends:
 *
 *   owner: cs_segment_create -> handle --broadcast--> others: cs_segment_attach
 *   all:   cs_segment_commit(own share)  -> agree -> cs_segment_seal
 *
 * By default a memfd, which has no name and so cannot be left behind, and is not limited by
 * /dev/shm's size; if it is refused, or for CS_SHM_NAMED, an O_TMPFILE file in /dev/shm, without a
 * name, too. The others open both through /proc/<pid>/fd. If that is refused: shm_open with O_EXCL,
 * mode 0600 and an unpredictable name, which is removed at the owner's first commit. A 128-bit
 * nonce in the first page proves that the right memory was attached (a pid of another PID namespace
 * would give another file). Pages are committed by posix_fallocate, each process its own share, so
 * that a full file system is an error here and not a SIGBUS later, and so that the pages are near
 * their writer. A memfd is in no file system that could be full: unless vm.overcommit_memory is 2,
 * most of its pages may be allocated when they are first touched, as those of malloc are. */
#ifndef CS_SHM_SEGMENT_H
#define CS_SHM_SEGMENT_H

#include "base/settings.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct cs_segment_handle {
	uint64_t nonce[2];
	uint64_t bytes;
	int64_t pid;
	int32_t fd;
	int32_t is_named;
	int32_t may_come_late; /* pages may be allocated when first touched */
	char name[48]; /* if is_named: "/collshim-<random>" */
};

struct cs_segment {
	void *base; /* NULL: not open */
	size_t bytes;
	int fd; /* -1 after seal */
	struct cs_segment_handle handle;
	int is_owner;
	uint64_t charge; /* this process's, in bytes (comm/teams/ledger.h); the caller's */
};

#define CS_SEGMENT_HEADER 4096 /* bytes at the front for the following */
struct cs_segment_head {
	uint64_t nonce[2];
	_Atomic uint32_t is_dropped; /* closed by one of its processes: no team may reuse it */
};

/* `bytes`, rounded up to whole pages. */
size_t cs_segment_round(size_t bytes);

/* Creates a segment of `bytes` (header included, rounded up to pages); sparse until committed. An
 * open *segment is closed and replaced by one with a name. CS_SYSTEM with errno. */
CS_CHECKED enum cs_status cs_segment_create(struct cs_segment *segment, size_t bytes,
					    enum cs_shm_kind kind);
CS_CHECKED enum cs_status cs_segment_attach(struct cs_segment *segment,
					    const struct cs_segment_handle *handle);
/* Commits [from, from + bytes) now, or, if pages may be allocated late, its first `least` bytes.
 * CS_NO_MEMORY, with errno, if the file system or memory is full. */
CS_CHECKED enum cs_status cs_segment_commit(struct cs_segment *segment, size_t from, size_t bytes,
					    size_t least);
/* Removes the name and closes the descriptor, after all have attached (or failed to); the mapping
 * stays. */
void cs_segment_seal(struct cs_segment *segment);
/* Seals and unmaps. A closed segment is fine. */
void cs_segment_close(struct cs_segment *segment);

/* Makes a file in memory of `bytes`, without a name and with all of its pages: to be sealed, and
 * closed by the caller. -1 with errno. */
int cs_segment_file(const char *name, size_t bytes);
/* Opens another process's file, by handle->pid, fd and bytes, which must be its size. -1 with
 * errno. */
int cs_segment_open_of(const struct cs_segment_handle *handle);

/* Draws random words, different in each process. */
void cs_segment_draw(uint64_t words[2]);

/* Single copy: reads `bytes` at `remote` of process `pid` (process_vm_readv). Returns the number of
 * bytes read; if fewer, errno says why. */
size_t cs_cma_get(pid_t pid, void *local, uintptr_t remote, size_t bytes);
static inline bool
cs_cma_read(pid_t pid, void *local, uintptr_t remote, size_t bytes)
{
	return cs_cma_get(pid, local, remote, bytes) == bytes;
}

#endif
