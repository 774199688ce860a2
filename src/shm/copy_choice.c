/* shm/copy_choice.c — tries single copy and copy-in-copy-out by turns and keeps the faster one. */
#include "shm/copy_choice.h"

#include "shm/segment.h"

#include <errno.h>
#include <unistd.h>

#define FIRST_TRY 2 /* calls before the first window */
#define LEAST_TRIED 3 /* calls; a way's first and last are not timed */
#define OUTLIER 4 /* times the mean */

void
cs_copy_choice_note(_Atomic uint32_t *ps_per_byte, size_t bytes, uint64_t nanoseconds)
{
	uint64_t now = nanoseconds * 1000 / bytes + 1,
		 mean = atomic_load_explicit(ps_per_byte, memory_order_relaxed);
	/* Disturbances only make times longer: so follow shorter ones fast, longer ones slowly. */
	if (!mean)
		mean = now;
	else if (now < mean)
		mean = (mean + 3 * now) / 4;
	else
		mean = (3 * mean + (now < OUTLIER * mean ? now : OUTLIER * mean)) / 4;
	atomic_store_explicit(ps_per_byte, mean > UINT32_MAX ? UINT32_MAX : (uint32_t)mean,
			      memory_order_relaxed);
}

enum cs_copy_protocol
cs_copy_choice_next(struct cs_copy_choice *choice)
{
	struct cs_trial *trial = &choice->trial;
	if (!trial->ways)
		cs_trial_init(trial, CS_COPY_CHOICES, CS_COPY_IN_COPY_OUT, FIRST_TRY, LEAST_TRIED);
	uint64_t call = choice->calls++;
	return (enum cs_copy_protocol)(call < trial->at ? trial->serving
							: cs_trial_next(trial, call));
}

bool
cs_single_copy_may_read(struct cs_readable *readable, const void *memory, size_t bytes)
{
	uintptr_t from = (uintptr_t)memory, to = from + bytes;
	if (!bytes)
		return false;
	for (int i = 0; i < CS_READABLE_KNOWN; i++)
		if (readable->known[i].from <= from && to <= readable->known[i].to)
			return true;
	char byte;
	int saved = errno;
	if (!cs_cma_read(getpid(), &byte, from, 1) || !cs_cma_read(getpid(), &byte, to - 1, 1)) {
		errno = saved;
		return false;
	}
	unsigned next = readable->next++ % CS_READABLE_KNOWN;
	readable->known[next].from = from;
	readable->known[next].to = to;
	return true;
}
