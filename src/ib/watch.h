/* ib/watch.h — learns that the program changed its mappings: munmap, mmap over something, mremap,
 * brk, madvise.
 *
 * The kernel tells a userfaultfd. We may neither export munmap nor patch code, and this needs no
 * privilege since Linux 5.11.
 *
 *   a thread of the program            the watch's thread         the owner, one thread at a time
 *   munmap: the pages go,
 *     the kernel waits for a reader -> lock, read, note, unlock
 *   munmap returns                                               settled? lock, copy, unlock
 *
 * Reading and noting are one step under the lock, so an owner that collects after a munmap has
 * returned sees its change. Another thread may be given the same addresses while munmap still waits
 * for the reader; until then the watch is not settled, so the owner asks for the state first.
 *
 * RULE: nobody calls what may map or unmap memory (malloc, free, a verb) while holding the lock,
 * and the watch's thread never does: it would wait for itself.
 *
 * Watched are private anonymous memory (5.7), shared memory and whole huge pages (5.19), but not
 * mapped files and not System V segments: for shmdt there is no event, which is why WP_ASYNC, which
 * would take every kind, is not asked for. Nor are there events for shmat with SHM_REMAP over
 * watched memory, for remap_file_pages, and for shared memory that is cut or punched through its
 * descriptor: a program that does these to a buffer and uses it again is not helped. */
#ifndef CS_IB_WATCH_H
#define CS_IB_WATCH_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_watch;

struct cs_watch_change {
	uintptr_t low, high; /* what is there now is not what was there */
	bool is_gone;        /* no longer watched; false: madvise emptied pages that are still
			      * watched */
	uintptr_t moved_to;  /* where mremap put it, still watched there; 0: nowhere */
};

struct cs_watch_changes {
	size_t count;
	bool is_lost; /* there were more than there is room for: anything may have changed, close
		       * the watch */
	struct cs_watch_change list[256];
};

enum cs_watch_state {
	CS_WATCH_SETTLED,  /* what happened before the question will be collected */
	CS_WATCH_CHANGING, /* somebody's change has happened and may not have been noted yet */
	CS_WATCH_LOST,     /* the descriptor does not answer: somebody closed it */
};

struct cs_watch_forks {
	unsigned made;  /* by this process, failed ones too */
	unsigned depth; /* how often this process is a child since the first open: what an ancestor
			 * opened is dead here */
};

/* Opens a watch. CS_UNSUPPORTED with errno if this kernel, or its administrator, allows none,
 * CS_NO_MEMORY, CS_SYSTEM. Forks are counted from the first call on, however it ends. */
CS_CHECKED enum cs_status cs_watch_open(struct cs_watch **watch);
/* Ends all watches and closes. NULL is fine. Not to be called in a child. */
void cs_watch_close(struct cs_watch *watch);

/* Watches whole pages, all of them mapped and touched: pages that the kernel brings in while they
 * are watched are small ones. Watching what is watched already is fine, and one remove ends it.
 * CS_UNSUPPORTED for a kind of memory that cannot be watched, CS_NO_MEMORY (then a part may be
 * watched), CS_SYSTEM when the thread could not be started. Not in a child. */
CS_CHECKED enum cs_status cs_watch_add(struct cs_watch *watch, uintptr_t low, uintptr_t high);
/* Ends watching. Only for memory that is still mapped and was never reported gone: the addresses
 * could be somebody else's by now. */
void cs_watch_remove(struct cs_watch *watch, uintptr_t low, uintptr_t high);

/* State of the watch; a system call, 0.2 us. */
enum cs_watch_state cs_watch_state(struct cs_watch *watch);
/* Takes all changes noted since the last call, oldest first. */
void cs_watch_collect(struct cs_watch *watch, struct cs_watch_changes *changes);

struct cs_watch_forks cs_watch_forks(void);

#endif
