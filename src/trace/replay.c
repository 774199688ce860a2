/* trace/replay.c — makes delays of recorded arrivals. */
#include "trace/replay.h"

#include "trace/arrivals_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPLAIN(replay, ...) \
	(snprintf((replay)->complaint, (replay)->room, __VA_ARGS__), CS_BAD_INPUT)

struct replay {
	const char *path;
	int ranks;
	char *complaint;
	size_t room;
	uint64_t job, clock, comm;
	size_t calls;  /* that all ranks have so far */
	size_t allotted;
	int64_t *at;   /* [call][rank] */
};

static void
name_of(const struct replay *replay, int rank, char *name, size_t room)
{
	const char *mark = strstr(replay->path, "%r");
	if (mark)
		snprintf(name, room, "%.*s%d%s", (int)(mark - replay->path), replay->path, rank,
			 mark + 2);
	else
		snprintf(name, room, "%s.%d", replay->path, rank);
}

/* The number of the first communicator of all ranks, 0: there is none. */
static uint64_t
find_comm(const struct cs_arrivals *arrivals, int ranks)
{
	for (size_t i = 0; i < arrivals->call_count; i++) {
		const struct cs_arrivals_comm *comm =
			cs_arrivals_comm(arrivals, arrivals->calls[i].comm);
		if (comm && comm->size == (uint32_t)ranks)
			return comm->comm;
	}
	return 0;
}

static size_t
count_calls(const struct cs_arrivals *arrivals, uint64_t comm)
{
	size_t count = 0;
	for (size_t i = 0; i < arrivals->call_count; i++)
		count += arrivals->calls[i].comm == comm;
	return count;
}

/* Is the file of the rank, of the job that the others are of, and of clocks that can be compared
 * with theirs? */
static enum cs_status
check(struct replay *replay, const struct cs_arrivals *arrivals, int rank, const char *name)
{
	const struct cs_arrivals_head *head = &arrivals->head;
	if (head->ranks != (uint32_t)replay->ranks)
		return COMPLAIN(replay, "%s: it is of a job of %" PRIu32 " ranks, expected %d",
				name, head->ranks, replay->ranks);
	if (head->world != (uint32_t)rank)
		return COMPLAIN(replay, "%s: it is of rank %" PRIu32 ", expected %d", name,
				head->world, rank);
	if (rank && head->job != replay->job)
		return COMPLAIN(replay, "%s: it is of another job than rank 0's", name);
	if (rank && head->clock != replay->clock && !arrivals->clock_count)
		return COMPLAIN(replay, "%s: it has another clock than rank 0's, and nothing "
					"brings them together", name);
	if (*arrivals->trouble)
		return COMPLAIN(replay, "%s: %s", name, arrivals->trouble);
	return CS_OK;
}

static enum cs_status
take(struct replay *replay, const struct cs_arrivals *arrivals, int rank, const char *name)
{
	if (!rank) {
		replay->job = arrivals->head.job;
		replay->clock = arrivals->head.clock;
		replay->comm = find_comm(arrivals, replay->ranks);
		replay->allotted = count_calls(arrivals, replay->comm);
		replay->calls = replay->allotted;
		replay->at = calloc(replay->allotted * (size_t)replay->ranks + 1,
				    sizeof *replay->at);
		if (!replay->at) {
			(void)COMPLAIN(replay, "no memory for %zu calls of %d ranks",
				       replay->allotted, replay->ranks);
			return CS_NO_MEMORY;
		}
	}
	size_t call = 0;
	for (size_t i = 0; i < arrivals->call_count && call < replay->calls; i++)
		if (arrivals->calls[i].comm == replay->comm)
			replay->at[call++ * (size_t)replay->ranks + (size_t)rank] =
				cs_arrivals_at_rank_0(arrivals, arrivals->calls[i].arrived_ns);
	replay->calls = call;
	if (!call)
		return COMPLAIN(replay, "%s: it has no call of a communicator of all %d ranks",
				name, replay->ranks);
	return CS_OK;
}

static enum cs_status
load(struct replay *replay, int rank)
{
	char name[4096];
	struct cs_arrivals arrivals = { .trouble = "" };
	name_of(replay, rank, name, sizeof name);
	enum cs_status status = cs_arrivals_read(name, &arrivals);
	if (status != CS_OK) {
		(void)COMPLAIN(replay, "%s: %s", name,
			       *arrivals.trouble ? arrivals.trouble : "no memory for it");
		return status == CS_NO_MEMORY ? CS_NO_MEMORY : CS_BAD_INPUT;
	}
	status = check(replay, &arrivals, rank, name);
	if (status == CS_OK)
		status = take(replay, &arrivals, rank, name);
	cs_arrivals_fini(&arrivals);
	return status;
}

enum cs_status
cs_replay_load(struct cs_imbalance *imbalance, int ranks, char *complaint, size_t room)
{
	struct replay replay = { .path = imbalance->path, .ranks = ranks, .complaint = complaint,
				 .room = room };
	enum cs_status status = CS_OK;
	for (int rank = 0; status == CS_OK && rank < ranks; rank++)
		status = load(&replay, rank);
	if (status != CS_OK) {
		free(replay.at);
		return status;
	}
	for (size_t call = 0; call < replay.calls; call++) {
		int64_t *at = replay.at + call * (size_t)ranks, first = at[0];
		for (int rank = 1; rank < ranks; rank++)
			first = at[rank] < first ? at[rank] : first;
		for (int rank = 0; rank < ranks; rank++)
			at[rank] -= first;
	}
	imbalance->recorded = replay.at;
	imbalance->calls = replay.calls;
	return CS_OK;
}
