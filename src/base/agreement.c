#include "base/agreement.h"

#include "base/hash.h"
#include "base/log.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS 10
#define REASON_WAITING 100           /* above make_team.c's */
#define REASON_TROUBLES 0x80000000u /* and half of the troubles' digest */
#define BYTES ((int)(CS_AGREED_WORDS * sizeof(uint64_t)))

void
cs_agreement_name_job(void)
{
	cs_log_set_job(cs_hash_number(cs_hash_number(CS_HASH_START, (uint64_t)getppid()), (uint64_t)getuid()));
}

static double
seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Waits for a message. A rank without the library never takes part: say so instead of hanging dumbly. Rank 0 does, and two
 * seconds later the first process on each node where nobody has: rank 0 may be the one without. */
static bool
wait_for(const struct cs_agreement_wire *wire, double start)
{
	static bool is_said;
	bool is_done = false;
	double limit = WAIT_SECONDS + (wire->rank ? 2 : 0);
	while (wire->test(&is_done)) {
		if (is_done)
			return true;
		if (!is_said && seconds() - start > limit) {
			is_said = true;
			if (cs_log_is_first(REASON_WAITING))
				cs_warn_local("waiting since 10 s in MPI_Init for the other ranks' collshim: "
					      "LD_PRELOAD must reach all ranks of a job, or none");
		}
		sched_yield();
	}
	return false;
}

static bool
hear(const struct cs_agreement_wire *wire, uint64_t *words, int from, double start)
{
	return wire->receive(words, BYTES, from) && wait_for(wire, start);
}

static bool
tell(const struct cs_agreement_wire *wire, const uint64_t *words, int to, double start)
{
	return wire->send(words, BYTES, to) && wait_for(wire, start);
}

bool
cs_agreement_make(const struct cs_agreement_wire *wire, uint64_t words[CS_AGREED_WORDS])
{
	double start = seconds();
	uint64_t other[CS_AGREED_WORDS], troubles = words[CS_AGREED_TROUBLES];
	int rank = wire->rank, size = wire->size, bit = 1;
	for (; bit < size && !(rank & bit); bit <<= 1) {
		if (rank + bit >= size)
			continue;
		if (!hear(wire, other, rank + bit, start))
			return false;
		for (int i = 0; i < CS_AGREED_WORDS; i++)
			words[i] = other[i] < words[i] ? other[i] : words[i];
	}
	if (!rank)
		words[CS_AGREED_TROUBLES] = troubles;
	else if (!tell(wire, words, rank - bit, start) || !hear(wire, words, rank - bit, start))
		return false;
	while (bit >>= 1)
		if (rank + bit < size && !tell(wire, words, rank + bit, start))
			return false;
	return true;
}

void
cs_agreement_tell(const struct cs_agreement_wire *wire, uint64_t troubles, const uint64_t words[CS_AGREED_WORDS])
{
	char host[HOST_NAME_MAX + 1] = "?", who[HOST_NAME_MAX + 32];
	if (troubles && wire->rank && troubles != words[CS_AGREED_TROUBLES] &&
	    cs_log_is_first(REASON_TROUBLES | (unsigned)troubles)) {
		gethostname(host, sizeof host - 1);
		snprintf(who, sizeof who, "rank %d on %s: ", wire->rank, host);
		cs_log_tell(who, "");
	}
	cs_log_forget();
}

void
cs_agreement_tell_alone(uint64_t troubles, const char *after)
{
	if (troubles && cs_log_is_first(REASON_TROUBLES | (unsigned)troubles))
		cs_log_tell("", after);
	cs_log_forget();
}
