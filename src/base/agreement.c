/* base/agreement.c — compares digests over all processes of a job, by an allreduce on
 * a communicator of our own. */
#include "base/agreement.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/process.h"
#include "base/wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WAIT_SECONDS 10
/* Part of the time after which a rank on whose node every process has the library gives up, too:
 * first comes the line of one that sees which process has not. */
#define PATIENCE_PARTS 20
#define REASON_WAITING 100           /* above make_team.c's */
#define REASON_ENDING 101
#define REASON_TROUBLES 0x80000000u /* and half of the troubles' digest */
#define MARK (CS_AGREED_MOST - 0x636f6c6c)

void
cs_agreement_name_job(void)
{
	cs_log_set_job(cs_hash_number(cs_hash_number(CS_HASH_START, (uint64_t)getppid()),
				      (uint64_t)getuid()));
}

static bool
is_over(const struct cs_wait *wait, int seconds)
{
	return cs_wait_ns(wait) > (uint64_t)seconds * 1000000000;
}

/* Rank of a process of this job, by the launcher's number, or -1; the launcher has started that
 * process and this one. */
static int
rank_of(const char *pid)
{
	static const char *const names[] = { "PMIX_RANK=", "PMI_RANK=", "OMPI_COMM_WORLD_RANK=",
					     "MV2_COMM_WORLD_RANK=",
					     "PALS_RANKID=", "ALPS_APP_PE=", "SLURM_PROCID=" };
	static char text[128 * 1024];
	if (cs_process_parent(pid) != getppid())
		return -1;
	size_t bytes = cs_process_read(pid, "environ", text, sizeof text);
	for (char *at = text; at < text + bytes; at += strlen(at) + 1)
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (!strncmp(at, names[i], strlen(names[i])))
				return atoi(at + strlen(names[i]));
	return -1;
}

/* Process and rank of this job, on this node, that has no library; 0: there is none. */
static long
find_missing(int *rank)
{
	long found = 0;
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; processes && !found && (entry = readdir(processes));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    (*rank = rank_of(entry->d_name)) >= 0 &&
		    !cs_process_has_mapped(entry->d_name, "/libcollshim"))
			found = atol(entry->d_name);
	if (processes)
		closedir(processes);
	return found;
}

#define REACH "LD_PRELOAD must reach all ranks of a job, or none"

/* Ends the job if a process without the library is on this node, or has waited long enough for one
 * that is elsewhere. One process of a node looks, and reports. */
static void
give_up(const struct cs_agreement_wire *wire, bool is_late)
{
	static bool is_asked, is_first, is_reported;
	static long process;
	int rank = -1;
	if (!is_asked) {
		is_asked = true;
		is_first = cs_log_is_first(REASON_ENDING);
		process = is_first ? find_missing(&rank) : 0;
	}
	if (!process && !is_late)
		return;
	if (is_first && !is_reported) {
		char host[HOST_NAME_MAX + 1] = "?", whom[HOST_NAME_MAX + 96];
		gethostname(host, sizeof host - 1);
		if (process)
			snprintf(whom, sizeof whom, "rank %d (process %ld on %s), which has no "
				 "collshim", rank, process, host);
		else
			snprintf(whom, sizeof whom, "a rank that is stuck or has no collshim (not "
				 "seen on %s)", host);
		cs_warn_local("rank %d has waited %d s in MPI_Init for %s: " REACH
			      "; ending the job", wire->rank, wire->seconds, whom);
		cs_log_drain();
		is_reported = true;
	}
	wire->end();
}

/* Waits for the collective that was begun last. Rank 0 reports after ten seconds that it waits, and
 * two seconds later the first process of each node where nobody has: rank 0 may be the one without
 * the library. */
static bool
wait_for(const struct cs_agreement_wire *wire, uint64_t start)
{
	static bool is_said;
	bool is_done = false;
	struct cs_wait wait = { .yields = CS_WAIT_AWAKE, .since_ns = start };
	int limit = WAIT_SECONDS + (wire->rank ? 2 : 0);
	while (wire->test(&is_done)) {
		if (is_done)
			return true;
		if (!is_said && is_over(&wait, limit)) {
			is_said = true;
			if (cs_log_is_first(REASON_WAITING))
				cs_warn_local("waiting since 10 s in MPI_Init for the other ranks' "
					      "collshim: " REACH);
		}
		if (wire->seconds && is_over(&wait, wire->seconds))
			give_up(wire, is_over(&wait, wire->seconds + 1 +
						     wire->seconds / PATIENCE_PARTS));
		cs_wait_turn(&wait);
	}
	return false;
}

bool
cs_agreement_make(const struct cs_agreement_wire *wire, uint64_t words[CS_AGREED_WORDS])
{
	uint64_t start = cs_clock_ns(), own[CS_AGREED_WORDS];
	for (int i = 0; i < CS_AGREED_WORDS; i++)
		own[i] = words[i] &= CS_AGREED_MOST;
	if (wire->size == 1)
		return true;
	own[CS_AGREED_MARK] = MARK;
	if (wire->rank)
		own[CS_AGREED_TROUBLES] = CS_AGREED_MOST; /* so that the least is rank 0's */
	if (!wire->duplicate() || !wait_for(wire, start))
		return false;
	if (!wire->allreduce(own, words) || !wait_for(wire, start))
		return false;
	if (words[CS_AGREED_MARK] != MARK && cs_log_is_first(REASON_ENDING)) {
		cs_warn_local("the agreement at MPI_Init met a collective of a rank that has no "
			      "collshim: " REACH "; ending the job");
		cs_log_drain();
	}
	while (words[CS_AGREED_MARK] != MARK)
		wire->end();
	wire->free();
	return true;
}

void
cs_agreement_tell(const struct cs_agreement_wire *wire, uint64_t troubles,
		  const uint64_t words[CS_AGREED_WORDS])
{
	char host[HOST_NAME_MAX + 1] = "?", who[HOST_NAME_MAX + 32];
	if (troubles && wire->rank && (troubles & CS_AGREED_MOST) != words[CS_AGREED_TROUBLES] &&
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
