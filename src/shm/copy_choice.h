/* shm/copy_choice.h — is a large block better read where it is?
 *
 *   copy-in-copy-out   its owner copies it into its slots, the reader out of them: the first piece
 *                      comes early
 *   single copy        the reader reads it in the owner's memory (process_vm_readv): the kernel
 *                      looks up each page, and the owner has to wait for its readers
 *
 * Which takes less depends on the cores' caches, the kernel, the size, and who shares cores (64K
 * between two cores of a Xeon: copy-in-copy-out 7.3 us, single copy 3.3; 1 MiB between two of an
 * EPYC: 48 and 95). So it is measured in calls as they come, for each collective and size: now and
 * then some calls are made the other way.
 *
 *   by calls    all say in their heads what calls take, and local rank 0 what all are to do: where
 *               all wait for all
 *   by copies   readers say what getting and reading takes, and each owner, which knows what
 *               putting takes, decides for its own blocks: where an owner may be back before
 *               anybody has read (gather, scatter), and where ranks that share cores wait for their
 *               turn more than for copies
 *
 * Nobody has to agree: an owner's line says where its block is. */
#ifndef CS_SHM_COPY_CHOICE_H
#define CS_SHM_COPY_CHOICE_H

#include "base/cpu.h"
#include "shm/copy.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of a block below which it is copied in and out, and nothing is measured */
#define CS_COPY_CHOICE_LEAST (8 << 10)
#define CS_COPY_CHOICE_SIZES 5 /* classes of blocks: below 32K, 128K, 512K, 2M, and all others */
/* Calls of either way in a trial, first as before. */
#define CS_COPY_CHOICE_CALLS 6 /* where calls are timed: all but the first and the last */
#define CS_COPY_CHOICE_COPIES 2 /* where copies are, all of them */

enum cs_copy_protocol { CS_COPY_IN_COPY_OUT, CS_SINGLE_COPY, CS_COPY_CHOICES };

static inline int
cs_copy_choice_size(size_t bytes)
{
	int size = 0;
	for (size_t limit = 32 << 10; size + 1 < CS_COPY_CHOICE_SIZES && bytes >= limit; limit *= 4)
		size++;
	return size;
}

/* In a rank's head. Only it writes. */
struct cs_copy_choice_words {
	/* Picoseconds a byte of its calls, or of its copies out of slots and of its single copies;
	 * 0: none yet. */
	_Atomic uint32_t ps_per_byte[CS_COPY_PATTERNS][CS_COPY_CHOICE_SIZES][CS_COPY_CHOICES];
	/* Local rank 0: the way that all are to go, and CS_COPY_CHOICE_TIMED if the call counts. */
	_Alignas(CS_APART) _Atomic uint8_t way[CS_COPY_PATTERNS][CS_COPY_CHOICE_SIZES];
};
#define CS_COPY_CHOICE_TIMED 2
/* So many bytes took so long. */
void cs_copy_choice_note(_Atomic uint32_t *ps_per_byte, size_t bytes, uint64_t nanoseconds);

/* Who decides: what of, and when it is tried. Zeroed but for `trial`: copy-in-copy-out, and single
 * copy is tried soon. */
struct cs_copy_choice {
	enum cs_copy_protocol way;
	uint64_t calls, try_at, apart; /* a trial begins in call try_at, the next `apart` calls
					* after it */
	int trial;                     /* calls of either way in a trial */
	int tried;                     /* calls of the trial that is on; 0: none is */
};

static inline bool
cs_copy_choice_is_on_trial(const struct cs_copy_choice *choice)
{
	return choice->tried != 0;
}
/* The way of the next call. */
enum cs_copy_protocol cs_copy_choice_next(struct cs_copy_choice *choice);
/* Does the time of that call count? It does not for the first call of a way, which finds caches and
 * slots as the other way left them, and which a rank may begin before it has seen what local rank 0
 * decided. */
static inline bool
cs_copy_choice_is_timed(const struct cs_copy_choice *choice)
{
	return cs_copy_choice_is_on_trial(choice) && choice->tried % choice->trial > 1;
}
/* Before cs_copy_choice_next, in a trial: what blocks cost each way, in any unit; 0: not known. */
void cs_copy_choice_judge(struct cs_copy_choice *choice, uint64_t copied_in, uint64_t single_copy);

/* Memory of this process that others can read: of the last calls' blocks. Zeroed: nothing is
 * known. */
#define CS_READABLE_KNOWN 16
struct cs_readable {
	struct {
		uintptr_t from, to;
	} known[CS_READABLE_KNOWN];
	unsigned next;
};
/* Can others read it? (The kernel reads no memory for them that a device has mapped.) Its two ends
 * are tried, unless it lies in what was tried lately. */
bool cs_single_copy_may_read(struct cs_readable *readable, const void *memory, size_t bytes);

#endif
