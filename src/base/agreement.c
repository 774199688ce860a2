/* base/agreement.c — compares digests over all processes of a job, by a tree of messages. */
#include "base/agreement.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
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
/* Parts of the time, one for a level of the tree; ranks leave the MPI's own MPI_Init so much apart
 * at most */
#define PATIENCE_PARTS 20
#define REASON_WAITING 100           /* above make_team.c's */
#define REASON_ENDING 101
#define REASON_TROUBLES 0x80000000u /* and half of the troubles' digest */
#define BYTES ((int)(CS_AGREED_WORDS * sizeof(uint64_t)))

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

/* The first bytes of /proc/PID/NAME, ended by 0; returns how many. */
static size_t
read_process(const char *pid, const char *name, char *text, size_t room)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%.20s/%s", pid, name);
	int file = open(path, O_RDONLY | O_CLOEXEC);
	size_t bytes = 0;
	ssize_t more = 0;
	while (file >= 0 && bytes < room - 1 &&
	       (more = read(file, text + bytes, room - 1 - bytes)) > 0)
		bytes += (size_t)more;
	if (file >= 0)
		close(file);
	text[bytes] = 0;
	return bytes;
}

/* Is this process that rank of our job? Its launcher has numbered it, and started us, too. */
static bool
is_rank(const char *pid, int rank)
{
	static const char *const names[] = { "PMIX_RANK=", "PMI_RANK=", "OMPI_COMM_WORLD_RANK=",
					     "MV2_COMM_WORLD_RANK=",
					     "PALS_RANKID=", "ALPS_APP_PE=", "SLURM_PROCID=" };
	static char text[128 * 1024];
	char wanted[16];
	int parent = 0;
	read_process(pid, "stat", text, sizeof text);
	const char *after_name = strrchr(text, ')');
	if (!after_name || sscanf(after_name, ") %*c %d", &parent) != 1 || parent != getppid())
		return false;
	snprintf(wanted, sizeof wanted, "%d", rank);
	size_t bytes = read_process(pid, "environ", text, sizeof text);
	for (char *at = text; at < text + bytes; at += strlen(at) + 1)
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (!strncmp(at, names[i], strlen(names[i])) &&
			    !strcmp(at + strlen(names[i]), wanted))
				return true;
	return false;
}

/* Its number if it is on this machine, else 0. */
static long
find_process(int rank)
{
	long found = 0;
	DIR *processes = opendir("/proc");
	for (struct dirent *entry; processes && !found && (entry = readdir(processes));)
		if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9' &&
		    is_rank(entry->d_name, rank))
			found = atol(entry->d_name);
	if (processes)
		closedir(processes);
	return found;
}

/* One process of a node says who is missing; another one that would say so a moment later ends the
 * job without a word. */
static void
give_up(const struct cs_agreement_wire *wire, int peer)
{
	static bool is_said;
	if (!is_said && cs_log_is_first(REASON_ENDING)) {
		char host[HOST_NAME_MAX + 1] = "?", where[HOST_NAME_MAX + 64];
		gethostname(host, sizeof host - 1);
		long process = find_process(peer);
		if (process)
			snprintf(where, sizeof where, "process %ld on %s", process, host);
		else
			snprintf(where, sizeof where, "not seen on %s", host);
		cs_warn_local("rank %d has waited %d s in MPI_Init for rank %d (%s), which has no "
			      "collshim or is stuck: LD_PRELOAD "
			      "must reach all ranks of a job, or none; ending the job", wire->rank,
			      wire->seconds, peer, where);
		cs_log_drain();
	}
	is_said = true;
	wire->end();
}

/* Waits for a message. A rank without the library never takes part: say so instead of hanging
 * dumbly. Rank 0 does, and two seconds later the first process on each node where nobody has: rank
 * 0 may be the one without. `patience`: levels beyond the time, more where the `peer` may itself
 * wait for another one, so that who waits for the missing one gives up first. */
static bool
wait_for(const struct cs_agreement_wire *wire, uint64_t start, int peer, int patience)
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
					      "collshim: "
					      "LD_PRELOAD must reach all ranks of a job, or none");
		}
		if (wire->seconds &&
		    is_over(&wait, wire->seconds + patience * (1 + wire->seconds / PATIENCE_PARTS)))
			give_up(wire, peer);
		cs_wait_turn(&wait);
	}
	return false;
}

static bool
hear(const struct cs_agreement_wire *wire, uint64_t *words, int from, uint64_t start, int patience)
{
	return wire->receive(words, BYTES, from) && wait_for(wire, start, from, patience);
}

static bool
tell(const struct cs_agreement_wire *wire, const uint64_t *words, int to, uint64_t start,
     int patience)
{
	return wire->send(words, BYTES, to) && wait_for(wire, start, to, patience);
}

bool
cs_agreement_make(const struct cs_agreement_wire *wire, uint64_t words[CS_AGREED_WORDS])
{
	uint64_t start = cs_clock_ns();
	uint64_t other[CS_AGREED_WORDS], troubles = words[CS_AGREED_TROUBLES];
	int rank = wire->rank, size = wire->size, bit = 1;
	/* Patience grows with the depth of the tree below the child that a rank waits for; it is
	 * longest for a parent, which has all of the tree. */
	int patience = 0, above = __builtin_popcount((unsigned)rank);
	for (int ranks = 1; ranks < size && ranks > 0; ranks <<= 1)
		above++;
	for (; bit < size && !(rank & bit); bit <<= 1, patience++) {
		if (rank + bit >= size)
			continue;
		if (!hear(wire, other, rank + bit, start, patience))
			return false;
		for (int i = 0; i < CS_AGREED_WORDS; i++)
			words[i] = other[i] < words[i] ? other[i] : words[i];
	}
	if (!rank)
		words[CS_AGREED_TROUBLES] = troubles;
	else if (!tell(wire, words, rank - bit, start, above) ||
		 !hear(wire, words, rank - bit, start, above))
		return false;
	while (bit >>= 1)
		if (rank + bit < size && !tell(wire, words, rank + bit, start, above))
			return false;
	return true;
}

void
cs_agreement_tell(const struct cs_agreement_wire *wire, uint64_t troubles,
		  const uint64_t words[CS_AGREED_WORDS])
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
