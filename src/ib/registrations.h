/* ib/registrations.h — cache of memory registrations for the device, within a budget.
 *
 * A registration pins whole pages of physical memory. The program may unmap or move its memory and
 * get other memory at the same address, so a cached registration is valid only while ib/watch.h
 * watches the mapping (munmap, mremap, brk, madvise). If the kernel has no watch, or none for that
 * kind of memory, a registration of the program's memory ends when it is given back. Memory that we
 * map ourselves (slabs, node segments) needs no watch.
 *
 * One thread at a time may use it (the caller has a lock); the watch's own thread only notes
 * events, which each take and give handles first. A take that finds a registration costs a search
 * and a system call (0.2 us).
 *
 * After a fork it is unusable in the child: take and pin fail with EINVAL, all others do
 * nothing. */
#ifndef CS_IB_REGISTRATIONS_H
#define CS_IB_REGISTRATIONS_H

#include "base/status.h"
#include "ib/verbs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_registrations;

struct cs_registration {
	char *base; /* whole pages */
	size_t bytes;
	uint32_t lkey, rkey;
	bool is_writable; /* by a peer, and by our device */
};

struct cs_registration_counters {
	uint64_t made, ended; /* successful calls of reg_mr, and of dereg_mr */
	uint64_t found;       /* takes that needed none */
	uint64_t evicted;     /* for the budget, for their number, or as the device refused another
			       * one */
	uint64_t invalidated; /* as the program changed its mappings, or forked where that is not
			       * safe */
	uint64_t bytes, peak; /* registered now, and the most; with pinned ones */
};

/* Opens the cache. `budget`: most bytes of the program's memory that stay registered while unused,
 * evicted by least recent use; 0: none. `verbs` and `pd` must outlive it. CS_NO_MEMORY. */
CS_CHECKED enum cs_status cs_registrations_open(struct cs_registrations **registrations,
						const struct cs_verbs *verbs, struct ibv_pd *pd,
						size_t budget);
/* Ends all registrations, also those that are still taken. NULL is fine. */
void cs_registrations_close(struct cs_registrations *registrations);

/* Finds or makes a registration of [base, base + bytes), bytes > 0, valid until given back.
 * `is_writable`: the memory is to be written (else it may be read-only). NULL with errno if the
 * kernel or the device refuses, even after all idle ones were evicted. */
struct cs_registration *cs_registrations_take(struct cs_registrations *registrations,
					      const void *base, size_t bytes, bool is_writable);
void cs_registrations_give(struct cs_registrations *registrations,
			   struct cs_registration *registration);

/* Registers memory that the library maps itself, until it is unpinned: outside the budget, and
 * found by take. To be unpinned before it is unmapped, and while it is not taken. NULL with errno
 * if refused. `more_access`: of enum ibv_access_flags, beside reading and writing. */
struct cs_registration *cs_registrations_pin_for(struct cs_registrations *registrations,
						 void *base, size_t bytes, int more_access);
static inline struct cs_registration *
cs_registrations_pin(struct cs_registrations *registrations, void *base, size_t bytes)
{
	return cs_registrations_pin_for(registrations, base, bytes, 0);
}
void cs_registrations_unpin(struct cs_registrations *registrations,
			    struct cs_registration *registration);

const struct cs_registration_counters *cs_registrations_counters(
	const struct cs_registrations *registrations);

#endif
