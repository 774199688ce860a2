/* shm/reach.c — tries single copy and copy-in-copy-out by turns and keeps what takes less. */
#include "shm/reach.h"

#include "shm/segment.h"

#include <errno.h>
#include <unistd.h>

#define FIRST_TRY 3 /* calls */
#define LEAST_APART 64 /* calls from one trial to the next, doubled with each that changes nothing, up to: */
#define MOST_APART 16384
#define HOPELESS_AFTER 4 /* calls of the other way, if there are more */
#define OUTLIER 4 /* times the others */

void
cs_reach_note(_Atomic uint32_t *pace, size_t bytes, uint64_t nanoseconds)
{
	uint64_t now = nanoseconds * 1000 / bytes + 1, mean = atomic_load_explicit(pace, memory_order_relaxed);
	/* What disturbs only ever takes time: so down fast, and up slowly. */
	if (!mean)
		mean = now;
	else if (now < mean)
		mean = (mean + 3 * now) / 4;
	else
		mean = (3 * mean + (now < OUTLIER * mean ? now : OUTLIER * mean)) / 4;
	atomic_store_explicit(pace, mean > UINT32_MAX ? UINT32_MAX : (uint32_t)mean, memory_order_relaxed);
}

static enum cs_reach_way
other_than(enum cs_reach_way way)
{
	return way == CS_REACH_STAGED ? CS_REACH_DIRECT : CS_REACH_STAGED;
}

static void
end_trial(struct cs_reach *reach)
{
	reach->tried = 0;
	reach->try_at = reach->calls + reach->apart;
	reach->apart = reach->apart < MOST_APART ? 2 * reach->apart : MOST_APART;
}

enum cs_reach_way
cs_reach_next(struct cs_reach *reach)
{
	if (!reach->apart) {
		reach->apart = LEAST_APART;
		reach->try_at = FIRST_TRY;
	}
	/* Nothing could be judged: nobody says what it takes. */
	if (reach->tried == 2 * reach->trial)
		end_trial(reach);
	reach->calls++;
	if (reach->tried || reach->calls >= reach->try_at)
		reach->tried++;
	return reach->tried > reach->trial ? other_than(reach->way) : reach->way;
}

void
cs_reach_judge(struct cs_reach *reach, uint64_t staged, uint64_t direct)
{
	bool is_over = reach->tried == 2 * reach->trial;
	uint64_t own = reach->way == CS_REACH_STAGED ? staged : direct, other = staged + direct - own;
	if (reach->tried <= reach->trial || !own || !other)
		return;
	/* A tenth at least, so that the way does not change to and fro. */
	if (is_over && 10 * other < 9 * own) {
		reach->way = other_than(reach->way);
		reach->apart = LEAST_APART;
		end_trial(reach);
	} else if (is_over || (reach->tried - reach->trial >= HOPELESS_AFTER && other > 3 * own)) {
		end_trial(reach);
	}
}

bool
cs_reach_may_read(struct cs_readable *readable, const void *memory, size_t bytes)
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
