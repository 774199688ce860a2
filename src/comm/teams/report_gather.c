/* comm/teams/report_gather.c — moves the counts of all ranks to rank 0, one rank after another, so
 * that rank 0 holds those of one at a time. */
#include "comm/teams/report_gather.h"

#include "base/log.h"
#include "base/wait.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"
#include "comm/host/yielding.h"
#include "comm/teams/make_team.h"
#include "trace/report_ranks.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define TAG 2

/* Words of a rank: kept calls, bytes and rows of its counts. */
struct said {
	uint64_t kept, bytes, rows;
};

bool
cs_gather_finish(int result, MPI_Request *request)
{
	struct cs_wait wait = { .yields = CS_WAIT_AWAKE };
	for (int is_done = 0; result == MPI_SUCCESS && !is_done;) {
		result = cs_pmpi.Test(request, &is_done, MPI_STATUS_IGNORE);
		if (!is_done)
			cs_wait_turn(&wait);
	}
	return result == MPI_SUCCESS;
}

bool
cs_gather_words(const void *own, size_t bytes, void *all, MPI_Comm comm)
{
	int result = cs_yielding_allgather(own, (int)bytes, MPI_BYTE, all, comm);
	atomic_fetch_sub(&cs_engine.team_calls, 1); /* it makes no team */
	return result == MPI_SUCCESS;
}

static bool
send(MPI_Comm comm, const void *data, size_t bytes)
{
	MPI_Request request = MPI_REQUEST_NULL;
	return !bytes || cs_gather_finish(cs_pmpi.Isend(data, (int)bytes, MPI_BYTE, 0, TAG, comm,
							&request), &request);
}

static bool
receive(MPI_Comm comm, void *data, size_t bytes, int from)
{
	MPI_Request request = MPI_REQUEST_NULL;
	return !bytes || cs_gather_finish(cs_pmpi.Irecv(data, (int)bytes, MPI_BYTE, from, TAG, comm,
							&request), &request);
}

/* --- rank 0 ----------------------------------------------------------------------------------- */

/* Sums over the kept calls, by rank and by its rows. */
struct known {
	struct cs_report_known *sums;
	size_t *first; /* of a rank's sums */
};

static void
add_known(void *user, uint64_t row, uint64_t took_ns, uint64_t waited_ns)
{
	const struct known *known = user;
	struct cs_report_known *sum = &known->sums[known->first[row >> 32] + (uint32_t)row - 1];
	sum->calls++;
	sum->nanoseconds += took_ns;
	sum->waiting += waited_ns < took_ns ? waited_ns : took_ns;
}

/* Receives all kept calls behind rank 0's own, and marks each with its rank. False if one failed;
 * all others are received nevertheless. */
static bool
receive_kept(const struct cs_gathering *gathering, const struct said *said,
	     struct cs_sampled_call *all, size_t *count)
{
	bool is_good = true;
	*count = 0;
	for (int rank = 0; rank < cs_engine.world_size; rank++) {
		struct cs_sampled_call *own = all + *count;
		size_t calls = (size_t)said[rank].kept;
		if (rank)
			is_good &= receive(gathering->comm, own, calls * sizeof *own, rank);
		else if (calls)
			memcpy(own, gathering->kept, calls * sizeof *own);
		for (size_t i = 0; i < calls; i++) {
			if (own[i].row > said[rank].rows)
				own[i].row = 0;
			own[i].row |= (uint64_t)rank << 32;
		}
		*count += calls;
	}
	return is_good;
}

/* Merges the counts of all ranks; `own`: rank 0's. All are received, whatever fails. */
static bool
receive_counts(const struct cs_gathering *gathering, const struct said *said, char *own, char *room,
	       const struct known *known)
{
	bool is_good = true;
	for (int rank = 0; rank < cs_engine.world_size; rank++) {
		char *bytes = rank ? room : own;
		size_t length = (size_t)said[rank].bytes;
		if (rank && !receive(gathering->comm, room, length, rank))
			is_good = false;
		else if (length)
			is_good &= cs_report_take(rank, bytes, length,
						  known->sums + known->first[rank]);
	}
	return is_good;
}

/* Rank 0's memory, made before anything is sent. */
struct hall {
	struct cs_sampled_call *kept;
	struct known known;
	char *room;
};

static bool
open_hall(struct hall *hall, const struct said *said)
{
	size_t ranks = (size_t)cs_engine.world_size, kept = 0, rows = 0, most = 0;
	hall->known.first = calloc(ranks, sizeof *hall->known.first);
	for (size_t rank = 0; hall->known.first && rank < ranks; rank++) {
		hall->known.first[rank] = rows;
		rows += (size_t)said[rank].rows;
		kept += (size_t)said[rank].kept;
		most = said[rank].bytes > most ? (size_t)said[rank].bytes : most;
	}
	hall->kept = malloc((kept + 1) * sizeof *hall->kept);
	hall->known.sums = calloc(rows + 1, sizeof *hall->known.sums);
	hall->room = malloc(most + 1);
	return hall->known.first && hall->kept && hall->known.sums && hall->room;
}

static void
close_hall(struct hall *hall)
{
	free(hall->kept);
	free(hall->known.first);
	free(hall->known.sums);
	free(hall->room);
}

static bool
receive_all(const struct cs_gathering *gathering, const struct said *said, char *own,
	    struct hall *hall)
{
	size_t count;
	if (receive_kept(gathering, said, hall->kept, &count)) {
		cs_samples_tell(hall->kept, count, add_known, &hall->known);
		cs_report_keep_late(hall->kept, count);
	}
	return receive_counts(gathering, said, own, hall->room, &hall->known);
}

/* --- all ranks -------------------------------------------------------------------------------- */

/* Says what each rank has, and then whether rank 0 has memory for all of it. */
static bool
agree(const struct cs_gathering *gathering, struct said *own, struct said *all, struct hall *hall)
{
	if (!cs_gather_words(own, sizeof *own, all, gathering->comm))
		return false;
	bool is_root = cs_engine.world_rank == 0;
	uint64_t can = is_root && open_hall(hall, all) && cs_report_expect(cs_engine.world_size);
	int result = cs_yielding_bcast(&can, 1, MPI_UINT64_T, 0, gathering->comm);
	atomic_fetch_sub(&cs_engine.team_calls, 1);
	return result == MPI_SUCCESS && can;
}

void
cs_report_gather(const struct cs_gathering *gathering)
{
	const struct cs_report_self self = {
		.node = gathering->node, .is_first = gathering->is_first,
		.shm_peak = atomic_load(&cs_engine.shm_peak),
		.shm_budget = cs_selector_limits(cs_engine.selector)->shm_budget,
		.has_cma = atomic_load(&cs_engine.single_copy) - 1,
	};
	struct said own = { .kept = gathering->kept_count }, *all;
	struct hall hall = { .kept = NULL };
	size_t length = 0;
	uint32_t rows = 0;
	all = calloc((size_t)cs_engine.world_size, sizeof *all);
	if (!all)
		cs_team_out_of_memory("the report", cs_engine.world_size);
	char *bytes = cs_report_pack(&self, &length, &rows);
	own.bytes = bytes && length < INT_MAX ? length : 0;
	own.rows = own.bytes ? rows : 0;
	/* From here on a row is known by its number among the packed ones. */
	for (size_t i = 0; i < gathering->kept_count; i++) {
		struct cs_sampled_call *call = &gathering->kept[i];
		bool is_known = gathering->is_one_node && !call->is_deferred;
		call->row = !own.bytes || is_known ? 0 : cs_report_packed(
				(const struct cs_report_row *)(uintptr_t)call->row);
	}
	bool is_agreed = agree(gathering, &own, all, &hall);
	if (is_agreed && cs_engine.world_rank == 0) {
		if (!receive_all(gathering, all, bytes, &hall))
			cs_warn_once("report: the counts of some ranks did not arrive, and are "
				     "missing in it");
	} else if (is_agreed) {
		send(gathering->comm, gathering->kept, own.kept * sizeof *gathering->kept);
		send(gathering->comm, bytes, own.bytes);
	} else if (cs_engine.world_rank == 0) {
		cs_report_alone(cs_engine.world_size, "no memory for the counts of all ranks");
	}
	close_hall(&hall);
	free(bytes);
	free(all);
}
