/* plan/rounds.c — finds the other half of each message in the plans of all ranks, and the round in
 * which it is sent. */
#include "plan/drawn_run.h"
#include "plan/walk.h"

#include <stdlib.h>
#include <string.h>

/* --- pairing sends and receives --------------------------------------------------------------- */

struct half {
	int from, to;
	size_t step; /* of its own rank: also the order between two ranks */
	size_t bytes;
};

static int
compare(const void *a, const void *b)
{
	const struct half *left = a, *right = b;
	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	if (left->to != right->to)
		return left->to < right->to ? -1 : 1;
	return (left->step > right->step) - (left->step < right->step);
}

static size_t
count_of(const struct cs_drawing *drawing, enum cs_step_kind kind)
{
	size_t count = 0;
	for (int rank = 0; rank < drawing->ranks; rank++)
		for (size_t i = 0; i < drawing->plans[rank].count; i++)
			count += drawing->plans[rank].steps[i].kind == kind;
	return count;
}

/* All steps of that kind, in the order in which they match the other kind's. */
static struct half *
halves_of(const struct cs_drawing *drawing, enum cs_step_kind kind, size_t count)
{
	struct half *halves = malloc((count + 1) * sizeof *halves), *next = halves;
	for (int rank = 0; halves && rank < drawing->ranks; rank++) {
		const struct cs_plan *plan = &drawing->plans[rank];
		for (size_t i = 0; i < plan->count; i++) {
			int peer = plan->steps[i].peer;
			if (plan->steps[i].kind == kind)
				*next++ = (struct half){ .from = kind == CS_STEP_SEND ? rank : peer,
							 .to = kind == CS_STEP_SEND ? peer : rank,
							 .step = i, .bytes = plan->steps[i].bytes };
		}
	}
	if (halves)
		qsort(halves, count, sizeof *halves, compare);
	return halves;
}

static enum cs_status
pair(struct cs_drawing *drawing)
{
	size_t count = count_of(drawing, CS_STEP_SEND);
	if (count != count_of(drawing, CS_STEP_RECV))
		return CS_BAD_INPUT;
	struct half *sends = halves_of(drawing, CS_STEP_SEND, count),
		    *recvs = halves_of(drawing, CS_STEP_RECV, count);
	enum cs_status status = sends && recvs ? CS_OK : CS_NO_MEMORY;
	for (size_t i = 0; status == CS_OK && i < count; i++) {
		const struct half *send = &sends[i], *recv = &recvs[i];
		if (send->from != recv->from || send->to != recv->to ||
		    send->bytes != recv->bytes) {
			status = CS_BAD_INPUT;
			break;
		}
		drawing->steps[send->from][send->step].peer_step = recv->step;
		drawing->steps[send->to][recv->step].peer_step = send->step;
		drawing->bytes += send->bytes;
	}
	drawing->messages = count;
	free(sends);
	free(recvs);
	return status;
}

/* --- rounds ----------------------------------------------------------------------------------- */

/* A rank on its way through its plan. */
struct walker {
	size_t next;
	uint32_t round;
	size_t *started; /* by request: the step that uses it, or NOT_STARTED */
};

#define NOT_STARTED SIZE_MAX

/* Has the other half of rank `peer` been started? */
static bool
is_single_copy(const struct walker *walkers, int peer, size_t step)
{
	return walkers[peer].next > step;
}

/* Ends what the request stands for; false: it has to wait. */
static bool
walk_wait(struct cs_drawing *drawing, struct walker *walkers, int rank, int32_t request)
{
	struct walker *walker = &walkers[rank];
	struct cs_drawn_step *drawn = drawing->steps[rank];
	size_t start = walker->started[request];
	if (start == NOT_STARTED)
		return false;
	const struct cs_step *step = &drawing->plans[rank].steps[start];
	if (!is_single_copy(walkers, step->peer, drawn[start].peer_step))
		return false;
	if (step->kind == CS_STEP_RECV) {
		drawn[start].round = drawing->steps[step->peer][drawn[start].peer_step].round;
		walker->round = drawn[start].round > walker->round
				? drawn[start].round : walker->round;
	}
	walker->started[request] = NOT_STARTED;
	return true;
}

/* Plays one step; false: it has to wait, perhaps for ever. */
static bool
walk_step(struct cs_drawing *drawing, struct walker *walkers, int rank)
{
	struct walker *walker = &walkers[rank];
	const struct cs_plan *plan = &drawing->plans[rank];
	const struct cs_step *step = &plan->steps[walker->next];
	if (!cs_drawn_is_local(step) && (step->request < 0 || step->request >= plan->requests))
		return false;
	if (step->kind == CS_STEP_WAIT && !walk_wait(drawing, walkers, rank, step->request))
		return false;
	if (step->kind == CS_STEP_SEND || step->kind == CS_STEP_RECV)
		walker->started[step->request] = walker->next;
	drawing->steps[rank][walker->next].round = walker->round + (step->kind == CS_STEP_SEND);
	walker->next++;
	return true;
}

static enum cs_status
walk_all(struct cs_drawing *drawing, struct walker *walkers)
{
	for (bool has_moved = true; has_moved;) {
		has_moved = false;
		for (int rank = 0; rank < drawing->ranks; rank++)
			while (walkers[rank].next < drawing->plans[rank].count &&
			       walk_step(drawing, walkers, rank))
				has_moved = true;
	}
	for (int rank = 0; rank < drawing->ranks; rank++) {
		if (walkers[rank].next < drawing->plans[rank].count)
			return CS_BAD_INPUT;
		drawing->rounds = walkers[rank].round > drawing->rounds
				  ? walkers[rank].round : drawing->rounds;
	}
	return CS_OK;
}

static enum cs_status
number_rounds(struct cs_drawing *drawing)
{
	struct walker *walkers = calloc((size_t)drawing->ranks, sizeof *walkers);
	enum cs_status status = walkers ? CS_OK : CS_NO_MEMORY;
	for (int rank = 0; status == CS_OK && rank < drawing->ranks; rank++) {
		size_t bytes = ((size_t)drawing->plans[rank].requests + 1) *
			       sizeof *walkers[rank].started;
		walkers[rank].started = malloc(bytes);
		if (walkers[rank].started)
			memset(walkers[rank].started, 0xff, bytes); /* NOT_STARTED */
		else
			status = CS_NO_MEMORY;
	}
	if (status == CS_OK)
		status = walk_all(drawing, walkers);
	for (int rank = 0; walkers && rank < drawing->ranks; rank++)
		free(walkers[rank].started);
	free(walkers);
	return status;
}

static void
find_most_bytes(struct cs_drawing *drawing)
{
	for (int rank = 0; rank < drawing->ranks; rank++) {
		uint64_t bytes[CS_STEP_KINDS] = { 0 };
		for (size_t i = 0; i < drawing->plans[rank].count; i++)
			bytes[drawing->plans[rank].steps[i].kind] +=
				drawing->plans[rank].steps[i].bytes;
		uint64_t sent = bytes[CS_STEP_SEND], received = bytes[CS_STEP_RECV];
		uint64_t most = sent > received ? sent : received;
		drawing->most_bytes = most > drawing->most_bytes ? most : drawing->most_bytes;
	}
}

enum cs_status
cs_drawing_init(struct cs_drawing *drawing, const struct cs_plan *plans, int ranks)
{
	*drawing = (struct cs_drawing){ .ranks = ranks };
	drawing->steps = calloc((size_t)ranks, sizeof *drawing->steps);
	drawing->plans = calloc((size_t)ranks, sizeof *drawing->plans);
	enum cs_status status = drawing->steps && drawing->plans ? CS_OK : CS_NO_MEMORY;
	for (int rank = 0; status == CS_OK && rank < ranks; rank++) {
		status = cs_plan_unroll(&plans[rank], &drawing->plans[rank]);
		drawing->steps[rank] = calloc(drawing->plans[rank].count + 1,
					      sizeof **drawing->steps);
		status = status == CS_OK && !drawing->steps[rank] ? CS_NO_MEMORY : status;
	}
	if (status == CS_OK)
		status = pair(drawing);
	if (status == CS_OK)
		status = number_rounds(drawing);
	if (status == CS_OK)
		find_most_bytes(drawing);
	else
		cs_drawing_fini(drawing);
	return status;
}

void
cs_drawing_fini(struct cs_drawing *drawing)
{
	for (int rank = 0; drawing->steps && rank < drawing->ranks; rank++)
		free(drawing->steps[rank]);
	for (int rank = 0; drawing->plans && rank < drawing->ranks; rank++)
		free(drawing->plans[rank].steps);
	free(drawing->steps);
	free(drawing->plans);
	drawing->steps = NULL;
	drawing->plans = NULL;
}
