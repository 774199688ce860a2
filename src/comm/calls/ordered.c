/* comm/calls/ordered.c — reduces in rank order: moves all contributions of a slice to one rank, and
 * reduces them there. */
#include "comm/calls/ordered.h"

#include "base/clock.h"
#include "base/log.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"
#include "comm/teams/recording.h"
#include "comm/calls/serve_common.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (1u << 20) /* bytes of a vector that are moved at once */

struct ordered {
	struct cs_comm *communicator;
	struct cs_serving moving; /* a call that moves data */
	const struct cs_call *call;
	size_t unit, ranks, self;
	char *got, *sent;
	char spare[8]; /* used if nothing is received */
	/* Arguments of an alltoallv, in bytes by rank: sent to it, and received from it. */
	int *give, *give_at, *take, *take_at;
	int result;
};

bool
cs_ordered_may(struct cs_comm *communicator, size_t unit)
{
	int saved = errno;
	if (!cs_pmpi.Alltoallv || !cs_pmpi.Allgatherv || !cs_pmpi.Gatherv)
		return false;
	if (!communicator->is_within_world || unit > INT_MAX / 2 / (size_t)communicator->size)
		return false;
	/* If MPI_Init was not seen, the ranks agree on their settings when the team is made:
	 * now. */
	if (communicator->state == CS_COMM_COUNTING && !cs_engine.is_init_seen)
		cs_comm_make_team(communicator);
	errno = saved;
	if (!cs_engine.is_init_seen && !communicator->is_alike)
		return false;
	if (communicator->state == CS_COMM_COUNTING)
		cs_comm_count(communicator);
	return true;
}

struct cs_ordered_time
cs_ordered_begin(struct cs_serving *serving)
{
	struct cs_comm *communicator = serving->communicator;
	struct cs_ordered_time time =
		{ .is_timed = communicator->seat->selection.is_timed };
	if (communicator->seat->selection.team) /* else the seat is cs_no_seat */
		communicator->seat->selection.is_timed = false;
	if (time.is_timed)
		time.start = cs_clock_ns();
	return time;
}

void
cs_ordered_end(struct cs_serving *serving, const struct cs_ordered_time *time, enum cs_coll coll,
	       size_t bytes)
{
	struct cs_comm *communicator = serving->communicator;
	if (communicator->seat->selection.team)
		communicator->seat->selection.is_timed = time->is_timed;
	if (!time->is_timed)
		return;
	uint64_t end = cs_clock_ns();
	if (communicator->seat->selection.is_reporting) {
		struct cs_report_row *row = cs_report_row((int)coll, bytes, false, "ordered",
							  "COLLSHIM_REPRODUCIBLE");
		cs_report_count(row, bytes, end - time->start);
		cs_report_site(cs_report_caller(NULL), row, time->start, end,
			       CS_REPORT_NOT_KNOWN);
	}
	if (communicator->seat->selection.is_recording)
		cs_recording_add(communicator, coll, serving->op.call.root, bytes, false,
				 time->start, end);
}

/* --- moving: by the team, else by the host ---------------------------------------------------- */

static void
note(struct ordered *ordered, int result)
{
	if (ordered->result == MPI_SUCCESS)
		ordered->result = result;
}

static struct cs_side
side(const void *buffer, size_t bytes)
{
	return (struct cs_side){ .buffer = (void *)buffer, .count = (MPI_Count)bytes,
				 .type = MPI_BYTE };
}

/* Without a team cs_serve_* is not called, since it would count the call once more. */
static bool
has_team(struct ordered *ordered)
{
	cs_serving_init(&ordered->moving, ordered->communicator);
	ordered->moving.cached = NULL;
	return ordered->communicator->seat->selection.team;
}

static bool
is_served(struct ordered *ordered, bool is_ours)
{
	if (is_ours)
		note(ordered, cs_serve_result(&ordered->moving));
	else
		cs_serving_fini(&ordered->moving);
	return is_ours;
}

/* Serves a call that moves data by the team. False: for the host. */
#define SERVED(ordered, name, ...)                                                                 \
	(has_team(ordered) && is_served(ordered, cs_serve_##name(&(ordered)->moving, __VA_ARGS__)))

static void
exchange(struct ordered *ordered, const char *send, char *recv)
{
	struct cs_vector_args give = { ordered->give, ordered->give_at, false },
			 take = { ordered->take, ordered->take_at, false };
	struct cs_side from = side(send, 0), to = side(recv, 0);
	if (!SERVED(ordered, alltoallv, &from, &give, &to, &take))
		note(ordered, cs_pmpi.Alltoallv(send, ordered->give, ordered->give_at, MPI_BYTE,
						recv, ordered->take, ordered->take_at, MPI_BYTE,
						ordered->communicator->comm));
}

static void
allgather(struct ordered *ordered, const char *send, size_t bytes)
{
	struct cs_side from = side(send, bytes), to = side(ordered->got, bytes);
	if (!SERVED(ordered, allgather, &from, &to))
		note(ordered, cs_pmpi.Allgather(send, (int)bytes, MPI_BYTE, ordered->got,
						(int)bytes, MPI_BYTE, ordered->communicator->comm));
}

/* Sends the own bytes to all (root < 0) or to the root, where rank r's are give[r] bytes at
 * give_at[r]. */
static void
collect(struct ordered *ordered, const char *send, char *recv, int root)
{
	struct cs_vector_args give = { ordered->give, ordered->give_at, false };
	int own = ordered->give[ordered->self];
	struct cs_side from = side(send, (size_t)own), to = side(recv, 0);
	MPI_Comm comm = ordered->communicator->comm;
	if (root < 0 && !SERVED(ordered, allgatherv, &from, &to, &give))
		note(ordered, cs_pmpi.Allgatherv(send, own, MPI_BYTE, recv, ordered->give,
						 ordered->give_at, MPI_BYTE, comm));
	if (root >= 0 && !SERVED(ordered, gatherv, &from, &to, &give, root))
		note(ordered, cs_pmpi.Gatherv(send, own, MPI_BYTE, recv, ordered->give,
					      ordered->give_at, MPI_BYTE, root, comm));
}

/* --- folding ---------------------------------------------------------------------------------- */

/* Reduces the contributions of all ranks in `got`, `count` elements each, as cs_rank_order_reduce
 * does. Returns the result. */
static char *
reduce_in_order(const struct ordered *ordered, size_t count)
{
	const struct cs_reduction *reduction = &ordered->call->reduction;
	size_t bytes = count * ordered->unit;
	char *sum = ordered->got + (ordered->ranks - 1) * bytes;
	for (size_t rank = ordered->ranks - 1; count && rank-- > 0;) {
		const char *from = ordered->got + rank * bytes;
		if (reduction->kernel)
			reduction->kernel(sum, from, sum, count);
		else
			cs_host_mpi.reduce_local(reduction, from, sum, count);
	}
	return sum;
}

/* Replaces each of the first `ranks` contributions by the sum of it and all before it. */
static void
add_up(const struct ordered *ordered, size_t ranks, size_t count)
{
	const struct cs_reduction *reduction = &ordered->call->reduction;
	size_t bytes = count * ordered->unit;
	for (size_t rank = 1; count && rank < ranks; rank++) {
		char *sum = ordered->got + rank * bytes;
		if (reduction->kernel)
			reduction->kernel(sum, sum - bytes, sum, count);
		else
			cs_host_mpi.reduce_local(reduction, sum - bytes, sum, count);
	}
}

/* Sets the receive arguments: `count` elements of each rank, one contribution after another. */
static void
take_each(struct ordered *ordered, size_t count)
{
	for (size_t rank = 0; rank < ordered->ranks; rank++) {
		ordered->take[rank] = (int)(count * ordered->unit);
		ordered->take_at[rank] = (int)(rank * count * ordered->unit);
	}
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* The first element of rank's slice of `count` elements. */
static size_t
slice_at(const struct ordered *ordered, size_t count, size_t rank)
{
	return count / ordered->ranks * rank + least(rank, count % ordered->ranks);
}

/* Reduces a short vector: each rank, or the root, receives all contributions and reduces them. */
static void
reduce_short(struct ordered *ordered)
{
	const struct cs_call *call = ordered->call;
	if (call->root < 0) {
		allgather(ordered, call->send.base, call->bytes);
	} else {
		for (size_t rank = 0; rank < ordered->ranks; rank++) {
			ordered->give[rank] = (int)call->bytes;
			ordered->give_at[rank] = (int)(rank * call->bytes);
		}
		collect(ordered, call->send.base, ordered->got, call->root);
	}
	if (call->recv.base)
		memcpy(call->recv.base, reduce_in_order(ordered, call->count), call->bytes);
}

/* Reduces `count` elements from `first` on: each rank reduces a slice. */
static void
reduce_piece(struct ordered *ordered, size_t first, size_t count)
{
	const struct cs_call *call = ordered->call;
	size_t unit = ordered->unit;
	for (size_t rank = 0; rank < ordered->ranks; rank++) {
		size_t at = slice_at(ordered, count, rank);
		ordered->give[rank] = (int)((slice_at(ordered, count, rank + 1) - at) * unit);
		ordered->give_at[rank] = (int)(at * unit);
	}
	size_t mine = (size_t)ordered->give[ordered->self] / unit;
	take_each(ordered, mine);
	exchange(ordered, call->send.base + first * unit, ordered->got);
	collect(ordered, reduce_in_order(ordered, mine),
		call->recv.base ? call->recv.base + first * unit : NULL, call->root);
}

/* Number of first ranks without a result. */
static size_t
left_out(const struct ordered *ordered)
{
	return ordered->call->coll == CS_EXSCAN;
}

static void
scan_short(struct ordered *ordered)
{
	const struct cs_call *call = ordered->call;
	size_t ranks = ordered->self + 1 - left_out(ordered);
	allgather(ordered, call->send.base, call->bytes);
	add_up(ordered, ranks, call->count);
	if (ranks)
		memcpy(call->recv.base, ordered->got + (ranks - 1) * call->bytes, call->bytes);
}

/* Scans `count` elements from `first` on: each rank adds up a slice and sends each rank its sum. */
static void
scan_piece(struct ordered *ordered, size_t first, size_t count)
{
	const struct cs_call *call = ordered->call;
	size_t unit = ordered->unit, out = left_out(ordered);
	for (size_t rank = 0; rank < ordered->ranks; rank++) {
		size_t at = slice_at(ordered, count, rank);
		ordered->give[rank] = (int)((slice_at(ordered, count, rank + 1) - at) * unit);
		ordered->give_at[rank] = (int)(at * unit);
	}
	size_t mine = (size_t)ordered->give[ordered->self] / unit;
	take_each(ordered, mine);
	exchange(ordered, call->send.base + first * unit, ordered->got);
	add_up(ordered, ordered->ranks, mine);
	for (size_t rank = 0; rank < ordered->ranks; rank++) {
		size_t at = slice_at(ordered, count, rank),
		       bytes = (slice_at(ordered, count, rank + 1) - at) * unit;
		ordered->give[rank] = rank < out ? 0 : (int)(mine * unit);
		ordered->give_at[rank] = rank < out ? 0 : (int)((rank - out) * mine * unit);
		ordered->take[rank] = ordered->self < out ? 0 : (int)bytes;
		ordered->take_at[rank] = (int)(at * unit);
	}
	exchange(ordered, ordered->got, call->recv.base ? call->recv.base + first * unit
							: ordered->spare);
}

/* Reduces up to `most` elements of each rank's block, from its `first` on. `result`: of the own
 * block. */
static void
scatter_round(struct ordered *ordered, const size_t *counts, size_t first, size_t most,
	      char *result)
{
	size_t unit = ordered->unit, before = 0, done = 0;
	for (size_t rank = 0; rank < ordered->ranks; rank++) {
		size_t count = counts[rank] > first ? least(counts[rank] - first, most) : 0;
		ordered->give[rank] = (int)(count * unit);
		ordered->give_at[rank] = (int)done;
		memcpy(ordered->sent + done, ordered->call->send.base + (before + first) * unit,
		       count * unit);
		done += count * unit;
		before += counts[rank];
	}
	size_t mine = (size_t)ordered->give[ordered->self] / unit;
	take_each(ordered, mine);
	exchange(ordered, ordered->sent, ordered->got);
	if (mine)
		memcpy(result + first * unit, reduce_in_order(ordered, mine), mine * unit);
}

/* --- a call ----------------------------------------------------------------------------------- */

void *
cs_ordered_need(size_t bytes)
{
	void *memory = aligned_alloc(64, (bytes + 64) & ~(size_t)63);
	if (!memory) {
		cs_warn_local("no memory for %zu bytes in mid-call; ending the job", bytes);
		cs_host_mpi.abort("out of memory");
	}
	return memory;
}

static void
reduce(struct ordered *ordered)
{
	const struct cs_call *call = ordered->call;
	/* Does each rank, or the root, reduce all vectors? */
	bool is_short = call->bytes <=
			cs_selector_limits(cs_engine.selector)->eager_bytes / ordered->ranks;
	size_t piece = PIECE / ordered->unit ? PIECE / ordered->unit : 1,
	       count = least(piece, call->count);
	size_t room = is_short ? call->bytes : (count / ordered->ranks + 1) * ordered->unit;
	ordered->got = cs_ordered_need(ordered->ranks * room);
	bool is_scan = cs_coll_is_scan(&cs_colls[call->coll]);
	if (is_short)
		(is_scan ? scan_short : reduce_short)(ordered);
	for (size_t first = 0; !is_short && first < call->count; first += piece)
		(is_scan ? scan_piece : reduce_piece)(ordered, first,
						      least(piece, call->count - first));
	free(ordered->got);
}

static void
reduce_scatter(struct ordered *ordered)
{
	const struct cs_call *call = ordered->call;
	size_t unit = ordered->unit, most = 0, self = ordered->self;
	/* A copy, since the calls that move data use the array of sizes that call->counts may
	 * be. */
	size_t *counts = cs_ordered_need(ordered->ranks * sizeof *counts);
	for (size_t rank = 0; rank < ordered->ranks; rank++) {
		counts[rank] = call->counts ? call->counts[rank] : call->count / ordered->ranks;
		most = counts[rank] > most ? counts[rank] : most;
	}
	size_t per_round = PIECE / unit / ordered->ranks ? PIECE / unit / ordered->ranks : 1;
	per_round = least(per_round, most);
	ordered->got = cs_ordered_need(2 * ordered->ranks * per_round * unit);
	ordered->sent = ordered->got + ordered->ranks * per_round * unit;
	/* In place, a result would overwrite other blocks that later rounds read. */
	bool is_apart = call->send.base == call->recv.base && most > per_round && counts[self];
	char *result = is_apart ? cs_ordered_need(counts[self] * unit) : call->recv.base;
	for (size_t first = 0; first < most; first += per_round)
		scatter_round(ordered, counts, first, per_round, result);
	if (is_apart) {
		memcpy(call->recv.base, result, counts[self] * unit);
		free(result);
	}
	free(ordered->got);
	free(counts);
}

/* The algorithm that reduces in rank order on one node; NULL if there is no team, ranks are on
 * several nodes, or an element does not fit into a slot. */
static const struct cs_algorithm *
of_one_node(const struct cs_comm *communicator, const struct cs_call *call)
{
	const struct cs_team *team = communicator->seat->selection.team;
	bool is_scattered = cs_coll_is_scattered(&cs_colls[call->coll]);
	if (!team || team->shape.nodes > 1 || team->shape.locals < 2 ||
	    call->reduction.unit > team->node.shape.slot_bytes /
	    (is_scattered ? (size_t)communicator->size : 1))
		return NULL;
	return cs_algorithm_by_name(call->coll, "hier:host");
}

static int
run_on_one_node(struct cs_serving *serving, const struct cs_algorithm *algorithm)
{
	struct cs_cached_choice cached = { .choice = { .algorithm = algorithm } };
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		cached.choice.params[i] = algorithm->params[i].role == CS_ROLE_DOUBLING
					  ? 0 : algorithm->params[i].fallback;
	serving->cached = &cached;
	cs_serve_run(serving, cs_serve_reduction_signature(&serving->op.call));
	serving->cached = NULL;
	return cs_serve_result(serving);
}

int
cs_ordered_run(struct cs_serving *serving)
{
	struct cs_call *call = &serving->op.call;
	struct cs_comm *communicator = serving->communicator;
	const struct cs_algorithm *algorithm = of_one_node(communicator, call);
	if (algorithm)
		return run_on_one_node(serving, algorithm);
	size_t ranks = (size_t)communicator->size;
	int *ints = cs_ordered_need(4 * ranks * sizeof *ints);
	struct ordered ordered = {
		.communicator = communicator, .call = call, .unit = call->reduction.unit,
			.ranks = ranks, .self = (size_t)communicator->rank,
		.give = ints, .give_at = ints + ranks, .take = ints + 2 * ranks,
		.take_at = ints + 3 * ranks, .result = MPI_SUCCESS,
	};
	if (cs_coll_is_scattered(&cs_colls[call->coll]))
		reduce_scatter(&ordered);
	else
		reduce(&ordered);
	free(ints);
	serving->cached = NULL;
	return ordered.result;
}
