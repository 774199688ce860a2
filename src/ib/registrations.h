/* ib/registrations.h — memory that the device may reach: registered once, found again, within a
 * budget.
 *
 * A registration pins whole pages and names the physical memory that was there. The program may
 * unmap or move its memory and get other memory at the same address, so a cached registration is
 * good only as long as somebody watches the mapping: ib/watch.h does (munmap, mremap, brk,
 * madvise). If the kernel offers no watch, or none of that kind of memory, a registration of the
 * program's memory ends when it is given back. Memory that we map ourselves (slabs, node segments)
 * needs no watch.
 *
 * One thread at a time uses it (the caller has a lock); the watch's own thread only takes notes,
 * and each take and give heeds them first. A take that finds one costs a search and a system call
 * (0.2 us).
 *
 * After a fork, what the parent opened is dead in the child: take and pin refuse with EINVAL, the
 * rest does nothing. */
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
	uint64_t made, ended; /* calls of reg_mr that went well, of dereg_mr */
	uint64_t found;       /* takes that needed none */
	uint64_t evicted;     /* for the budget, for there being too many, or because the device
			       * refused another one */
	uint64_t invalidated; /* because the program changed its mappings, or forked where that is
			       * not safe */
	uint64_t bytes, peak; /* registered now, and the most ever; pinned ones among them */
};

/* `budget`: most bytes of the program's memory that stay registered when nobody uses them, the
 * least recently used go first; 0: none. `verbs` and `pd` must outlive it. CS_NO_MEMORY. */
CS_CHECKED enum cs_status cs_registrations_open(struct cs_registrations **registrations,
						const struct cs_verbs *verbs, struct ibv_pd *pd,
						size_t budget);
/* Ends all of them, also those that are still taken. NULL is fine. */
void cs_registrations_close(struct cs_registrations *registrations);

/* One that covers [base, base + bytes), bytes > 0, and stays valid until given back. `is_writable`:
 * data will be written to it (else only read: it may be read-only memory). NULL with errno when the
 * kernel or the device refuses, also after everything idle has been thrown out. */
struct cs_registration *cs_registrations_take(struct cs_registrations *registrations,
					      const void *base, size_t bytes, bool is_writable);
void cs_registrations_give(struct cs_registrations *registrations,
			   struct cs_registration *registration);

/* Memory that the library maps itself and will unpin before it unmaps it: registered until then,
 * outside the budget, and found by take. NULL with errno when refused. Unpin when nobody has it
 * taken. `more_access`: of enum ibv_access_flags, beside reading and writing. */
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
