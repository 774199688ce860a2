/* shm/reach.h — is a large block better read where it is?
 *
 *   staged   its owner puts it into its slots, the reader gets it from there: two copies, the first piece early
 *   direct   the reader reads it in the owner's memory (process_vm_readv): one copy, but the kernel looks up each page, and
 *            the owner has to wait for its readers
 *
 * Which takes less depends on the cores' caches, the kernel, the size, and who shares cores (64K between two cores of a Xeon:
 * staged 7.3 us, direct 3.3; 1 MiB between two of an EPYC: 48 and 95). So it is measured in calls as they come, for each
 * collective and size: now and then some calls are made the other way.
 *
 *   by calls    all say in their heads what calls take, and local rank 0 what all are to do: where all wait for all
 *   by copies   readers say what getting and reading takes, and each owner, which knows what putting takes, decides for its own
 *               blocks: where an owner may be back before anybody has read (gather, scatter), and where ranks that share
 *               cores wait for their turn more than for copies
 *
 * Nobody has to agree: an owner's line says where its block is. */
#ifndef CS_SHM_REACH_H
#define CS_SHM_REACH_H

#include "base/cpu.h"
#include "shm/put.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_REACH_LEAST (8 << 10) /* bytes of a block below which it is staged, and nothing is measured */
#define CS_REACH_SIZES 5 /* classes of blocks: below 32K, 128K, 512K, 2M, and all others */
/* Calls of either way in a trial, first as before. */
#define CS_REACH_CALLS 6 /* where calls are timed: all but the first and the last */
#define CS_REACH_COPIES 2 /* where copies are, all of them */

enum cs_reach_way { CS_REACH_STAGED, CS_REACH_DIRECT, CS_REACH_WAYS };

static inline int
cs_reach_size(size_t bytes)
{
	int size = 0;
	for (size_t limit = 32 << 10; size + 1 < CS_REACH_SIZES && bytes >= limit; limit *= 4)
		size++;
	return size;
}

/* In a rank's head. Only it writes. */
struct cs_reach_words {
	/* Picoseconds a byte of its calls, or of its copies out of slots and of its direct reads; 0: none yet. */
	_Atomic uint32_t pace[CS_PUT_PATTERNS][CS_REACH_SIZES][CS_REACH_WAYS];
	/* Local rank 0: the way that all are to go, and CS_REACH_TIMED if the call counts. */
	_Alignas(CS_APART) _Atomic uint8_t way[CS_PUT_PATTERNS][CS_REACH_SIZES];
};
#define CS_REACH_TIMED 2
/* So many bytes took so long. */
void cs_reach_note(_Atomic uint32_t *pace, size_t bytes, uint64_t nanoseconds);

/* Who decides: what of, and when it is tried. Zeroed but for `trial`: staged, and direct is tried soon. */
struct cs_reach {
	enum cs_reach_way way;
	uint64_t calls, try_at, apart; /* a trial begins in call try_at, the next `apart` calls after it */
	int trial;                     /* calls of either way in a trial */
	int tried;                     /* calls of the trial that is on; 0: none is */
};

static inline bool
cs_reach_is_on_trial(const struct cs_reach *reach)
{
	return reach->tried != 0;
}
/* The way of the next call. */
enum cs_reach_way cs_reach_next(struct cs_reach *reach);
/* Does the time of that call count? It does not for the first call of a way, which finds caches and slots as the other way
 * left them, and which a rank may begin before it has seen what local rank 0 decided. */
static inline bool
cs_reach_is_timed(const struct cs_reach *reach)
{
	return cs_reach_is_on_trial(reach) && reach->tried % reach->trial > 1;
}
/* Before cs_reach_next, in a trial: what blocks cost each way, in any unit; 0: not known. */
void cs_reach_judge(struct cs_reach *reach, uint64_t staged, uint64_t direct);

/* Memory of this process that others can read: of the last calls' blocks. Zeroed: nothing is known. */
#define CS_READABLE_KNOWN 16
struct cs_readable {
	struct {
		uintptr_t from, to;
	} known[CS_READABLE_KNOWN];
	unsigned next;
};
/* Can others read it? (The kernel reads no memory for them that a device has mapped.) Its two ends are tried, unless it lies in
 * what was tried lately. */
bool cs_reach_may_read(struct cs_readable *readable, const void *memory, size_t bytes);

#endif
