/* shm/copy_choice.h — choice between single copy and copy-in-copy-out of large blocks.
 *
 *   copy-in-copy-out   the owner copies it into its slots, the reader out of them: the first piece
 *                      arrives early
 *   single copy        the reader reads the owner's memory (process_vm_readv): the kernel looks up
 *                      each page, and the owner has to wait for its readers
 *
 * The faster way depends on the cores' caches, the kernel, the size, and shared cores (64K between
 * two cores of a Xeon: copy-in-copy-out 7.3 us, single copy 3.3; 1 MiB between two of an EPYC: 48
 * and 95). So it is measured in the program's calls, for each collective and size: the two ways are
 * on trial (base/trial.h).
 *
 *   by calls    all ranks publish the times of calls, and local rank 0 decides for all: if all wait
 *               for all
 *   by copies   readers publish the times of their copies, and each owner, which measures its own,
 *               decides for its own blocks: if an owner may return before a reader has read
 *               (gather, scatter, bcast)
 *
 * No agreement is necessary: an owner's line says where its block is. */
#ifndef CS_SHM_COPY_CHOICE_H
#define CS_SHM_COPY_CHOICE_H

#include "base/cpu.h"
#include "base/trial.h"
#include "shm/copy.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_COPY_CHOICE_SIZES 5 /* classes of blocks: below 32K, 128K, 512K, 2M, and all others */

enum cs_copy_protocol { CS_COPY_IN_COPY_OUT, CS_SINGLE_COPY, CS_COPY_CHOICES };

static inline int
cs_copy_choice_size(size_t bytes)
{
	int size = 0;
	for (size_t limit = 32 << 10; size + 1 < CS_COPY_CHOICE_SIZES && bytes >= limit; limit *= 4)
		size++;
	return size;
}

/* In a rank's head, written by that rank only. */
struct cs_copy_choice_words {
	/* Picoseconds per byte of its calls, or of its copies out of slots and of its single
	 * copies; 0: unknown. */
	_Atomic uint32_t ps_per_byte[CS_COPY_PATTERNS][CS_COPY_CHOICE_SIZES][CS_COPY_CHOICES];
	/* Local rank 0: the way of all in the call, and CS_COPY_CHOICE_TIMED if it is timed. */
	_Alignas(CS_APART) _Atomic uint8_t way[CS_COPY_PATTERNS][CS_COPY_CHOICE_SIZES];
};
#define CS_COPY_CHOICE_TIMED 2
/* Adds the time of `bytes` > 0 to the mean. */
void cs_copy_choice_note(_Atomic uint32_t *ps_per_byte, size_t bytes, uint64_t nanoseconds);

/* State of a choice, in the process that decides. Zeroed: copy-in-copy-out, with a trial of single
 * copy soon. If trial.is_over, cs_trial_judge is called before cs_copy_choice_next, with the times
 * of both ways. */
struct cs_copy_choice {
	struct cs_trial trial;
	uint64_t calls;
};

/* Returns the way of the next call. */
enum cs_copy_protocol cs_copy_choice_next(struct cs_copy_choice *choice);
/* Is that call timed? A way's first call is not: caches and slots are in the other way's state, and
 * a rank may begin it before it has seen local rank 0's decision; nor is its last. */
static inline bool
cs_copy_choice_is_timed(const struct cs_copy_choice *choice)
{
	const struct cs_trial *trial = &choice->trial;
	return trial->done && trial->nth > 0 && trial->nth + 1 < trial->plan[trial->way];
}

/* Blocks of the last calls, in this process's memory, that others can read. Zeroed: none is
 * known. */
#define CS_READABLE_KNOWN 16
struct cs_readable {
	struct {
		uintptr_t from, to;
	} known[CS_READABLE_KNOWN];
	unsigned next;
};
/* Can others read this memory? (The kernel does not read memory that a device has mapped.) Its two
 * ends are tried, unless it lies in a known block. */
bool cs_single_copy_may_read(struct cs_readable *readable, const void *memory, size_t bytes);

#endif
