/* shm/copy_choice.c — tries single copy and copy-in-copy-out by turns and keeps the faster one. */
#include "shm/copy_choice.h"

#include "shm/segment.h"

#include <errno.h>
#include <unistd.h>

#define FIRST_TRY 3 /* calls */
/* Calls from one trial to the next, doubled by each that changes nothing, and the most */
#define LEAST_APART 64
#define MOST_APART 16384
#define HOPELESS_AFTER 4 /* calls of the other way */
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

static enum cs_copy_protocol
other_than(enum cs_copy_protocol way)
{
	return way == CS_COPY_IN_COPY_OUT ? CS_SINGLE_COPY : CS_COPY_IN_COPY_OUT;
}

static void
end_trial(struct cs_copy_choice *choice)
{
	choice->tried = 0;
	choice->try_at = choice->calls + choice->apart;
	choice->apart = choice->apart < MOST_APART ? 2 * choice->apart : MOST_APART;
}

enum cs_copy_protocol
cs_copy_choice_next(struct cs_copy_choice *choice)
{
	if (!choice->apart) {
		choice->apart = LEAST_APART;
		choice->try_at = FIRST_TRY;
	}
	/* Nothing could be judged, without times of both ways. */
	if (choice->tried == 2 * choice->trial)
		end_trial(choice);
	choice->calls++;
	if (choice->tried || choice->calls >= choice->try_at)
		choice->tried++;
	return choice->tried > choice->trial ? other_than(choice->way) : choice->way;
}

void
cs_copy_choice_judge(struct cs_copy_choice *choice, uint64_t copied_in, uint64_t single_copy)
{
	bool is_over = choice->tried == 2 * choice->trial;
	uint64_t own = choice->way == CS_COPY_IN_COPY_OUT ? copied_in : single_copy,
		 other = copied_in + single_copy - own;
	if (choice->tried <= choice->trial || !own || !other)
		return;
	/* Change only if a tenth faster, so that the way does not alternate. */
	if (is_over && 10 * other < 9 * own) {
		choice->way = other_than(choice->way);
		choice->apart = LEAST_APART;
		end_trial(choice);
	} else if (is_over || (choice->tried - choice->trial >= HOPELESS_AFTER &&
			       other > 3 * own)) {
		end_trial(choice);
	}
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
