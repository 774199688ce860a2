/* plan/build.c — writes a plan's steps, or only counts them. */
#include "plan/build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void
cs_builder_init(struct cs_builder *builder, const struct cs_problem *problem, struct cs_plan *plan)
{
	memset(builder, 0, sizeof *builder);
	memset(plan, 0, sizeof *plan);
	plan->rank = problem->rank;
	plan->ranks = problem->ranks;
	builder->problem = problem;
	builder->plan = plan;
}

static void
fail(struct cs_builder *builder, enum cs_status status)
{
	if (builder->status == CS_OK)
		builder->status = status;
}

void
cs_build_refuse(struct cs_builder *builder, const char *why)
{
	if (builder->status == CS_OK)
		builder->refused = why;
	fail(builder, CS_UNSUPPORTED);
}

void
cs_build_no_memory(struct cs_builder *builder)
{
	fail(builder, CS_NO_MEMORY);
}

static void
count(const struct cs_builder *builder, enum cs_step_kind kind, size_t bytes)
{
	struct cs_step_counts *counts = builder->counts;
	bool is_idle = builder->plan->requests == builder->free_count;
	uint64_t times = builder->loop.times ? builder->loop.times : 1;
	bytes *= times;
	switch (kind) {
	case CS_STEP_SEND:
		counts->sent += times;
		counts->sent_bytes += bytes;
		break;
	case CS_STEP_RECV:
		counts->received += times;
		counts->received_bytes += bytes;
		break;
	case CS_STEP_COPY:
		counts->copied += bytes;
		counts->hidden += is_idle ? 0 : bytes;
		break;
	case CS_STEP_REDUCE: counts->reduced += bytes; break;
	default: break;
	}
}

/* Memory for the plan's next step. If the part is full within a loop, the part ends before the
 * loop. */
static struct cs_step *
add_to_part(struct cs_builder *builder)
{
	struct cs_part *part = builder->part;
	size_t number = builder->plan->count++;
	if (number >= part->first && !part->is_full && part->count < part->room)
		return &part->steps[part->count++];
	if (number >= part->first && !part->is_full && builder->loop.times > 1)
		part->count = builder->loop_start - part->first;
	part->is_full = number >= part->first;
	if (part->is_full && !part->count)
		fail(builder, CS_NO_MEMORY);
	return &builder->counted;
}

/* Memory for a plan of which all steps are kept. NULL: there is none. */
static struct cs_step *
add_to_all(struct cs_builder *builder)
{
	struct cs_plan *plan = builder->plan;
	if (plan->count == builder->room) {
		size_t room = builder->room ? 2 * builder->room : 16;
		struct cs_step *steps = realloc(plan->steps, room * sizeof *steps);
		if (!steps) {
			fail(builder, CS_NO_MEMORY);
			return NULL;
		}
		plan->steps = steps;
		builder->room = room;
	}
	return &plan->steps[plan->count++];
}

/* Does this process do the steps of the builder's port? */
static bool
is_own(const struct cs_builder *builder, int sender)
{
	const struct cs_senders *senders = builder->problem->senders;
	return !senders || sender % senders->count == senders->self;
}

/* The next step, or NULL after a failure. */
static struct cs_step *
add_for_all(struct cs_builder *builder, enum cs_step_kind kind, size_t bytes)
{
	struct cs_plan *plan = builder->plan;
	if (builder->status != CS_OK)
		return NULL;
	if (builder->most && plan->count == builder->most) {
		fail(builder, CS_NO_MEMORY);
		return NULL;
	}
	if (builder->counts) {
		count(builder, kind, bytes);
		builder->counted = (struct cs_step){ 0 };
		return &builder->counted;
	}
	struct cs_step *step = builder->part ? add_to_part(builder) : add_to_all(builder);
	if (!step)
		return NULL;
	*step = (struct cs_step){ .kind = (uint8_t)kind, .request = CS_NO_REQUEST, .peer = -1,
				  .note = builder->note, .bytes = bytes };
	return step;
}

/* The same of the builder's port: NULL also if another sender does it. */
static struct cs_step *
add(struct cs_builder *builder, enum cs_step_kind kind, size_t bytes)
{
	return is_own(builder, builder->port) ? add_for_all(builder, kind, bytes) : NULL;
}

static int
take_request(struct cs_builder *builder)
{
	if (builder->free_count)
		return builder->free_requests[--builder->free_count];
	return builder->plan->requests++;
}

static void
give_request(struct cs_builder *builder, int request)
{
	if (builder->free_count == builder->free_room) {
		int room = builder->free_room ? 2 * builder->free_room : 16;
		int *numbers = realloc(builder->free_requests, (size_t)room * sizeof *numbers);
		if (!numbers) {
			fail(builder, CS_NO_MEMORY);
			return;
		}
		builder->free_requests = numbers;
		builder->free_room = room;
	}
	builder->free_requests[builder->free_count++] = request;
}

struct cs_place
cs_build_tmp(struct cs_builder *builder, size_t bytes)
{
	struct cs_place place = cs_tmp(builder->plan->tmp_bytes);
	size_t most = SIZE_MAX / 4; /* of both, so that their sum is a number */
	if (bytes > most || place.at > most)
		cs_build_refuse(builder, "its plan needs more memory than there can be");
	else
		builder->plan->tmp_bytes += (bytes + 63) & ~(size_t)63;
	return place;
}

static int
message(struct cs_builder *builder, enum cs_step_kind kind, int peer, struct cs_place place,
	size_t bytes)
{
	struct cs_step *step = add(builder, kind, bytes);
	if (!step)
		return CS_NO_REQUEST;
	const struct cs_senders *senders = builder->problem->senders;
	step->peer = senders ? senders->rank_of(senders, peer, builder->port % senders->count)
			     : peer;
	step->request = take_request(builder);
	if (kind == CS_STEP_SEND) {
		step->from = (uint8_t)place.memory;
		step->from_at = place.at;
	} else {
		step->to = (uint8_t)place.memory;
		step->to_at = place.at;
	}
	return step->request;
}

int
cs_build_send(struct cs_builder *builder, int peer, struct cs_place from, size_t bytes)
{
	return bytes ? message(builder, CS_STEP_SEND, peer, from, bytes) : CS_NO_REQUEST;
}

int
cs_build_recv(struct cs_builder *builder, int peer, struct cs_place to, size_t bytes)
{
	return bytes ? message(builder, CS_STEP_RECV, peer, to, bytes) : CS_NO_REQUEST;
}

int
cs_build_signal(struct cs_builder *builder, int peer)
{
	return message(builder, CS_STEP_SEND, peer, cs_tmp(0), 0);
}

int
cs_build_hear(struct cs_builder *builder, int peer)
{
	return message(builder, CS_STEP_RECV, peer, cs_tmp(0), 0);
}

void
cs_build_wait(struct cs_builder *builder, int request)
{
	if (request == CS_NO_REQUEST)
		return;
	struct cs_step *step = add_for_all(builder, CS_STEP_WAIT, 0);
	if (!step)
		return;
	step->request = request;
	give_request(builder, request);
}

void
cs_build_wait_all(struct cs_builder *builder)
{
	int requests = builder->plan->requests;
	if (builder->status != CS_OK || requests == builder->free_count)
		return;
	unsigned char *is_free = calloc((size_t)requests, 1);
	if (!is_free) {
		fail(builder, CS_NO_MEMORY);
		return;
	}
	for (int i = 0; i < builder->free_count; i++)
		is_free[builder->free_requests[i]] = 1;
	for (int request = 0; request < requests; request++)
		if (!is_free[request])
			cs_build_wait(builder, request);
	free(is_free);
}

void
cs_build_copy(struct cs_builder *builder, struct cs_place to, struct cs_place from, size_t bytes)
{
	bool is_same = to.memory == from.memory && to.at == from.at;
	struct cs_step *step = bytes && !is_same ? add(builder, CS_STEP_COPY, bytes) : NULL;
	if (!step)
		return;
	step->to = (uint8_t)to.memory;
	step->to_at = to.at;
	step->from = (uint8_t)from.memory;
	step->from_at = from.at;
}

void
cs_build_reduce(struct cs_builder *builder, struct cs_place to, struct cs_place left,
		struct cs_place right, size_t bytes)
{
	struct cs_step *step = bytes ? add(builder, CS_STEP_REDUCE, bytes) : NULL;
	if (!step)
		return;
	if (builder->part && bytes > builder->part->spare)
		builder->part->spare = bytes;
	step->to = (uint8_t)to.memory;
	step->to_at = to.at;
	step->from = (uint8_t)left.memory;
	step->from_at = left.at;
	step->with = (uint8_t)right.memory;
	step->with_at = right.at;
}

void
cs_build_sendrecv(struct cs_builder *builder, int to_peer, struct cs_place from, size_t send_bytes,
		  int from_peer, struct cs_place to, size_t recv_bytes)
{
	int recv = cs_build_recv(builder, from_peer, to, recv_bytes);
	int send = cs_build_send(builder, to_peer, from, send_bytes);
	cs_build_wait(builder, recv);
	cs_build_wait(builder, send);
}

struct cs_ticket
cs_build_tell(struct cs_builder *builder, int port)
{
	const struct cs_senders *senders = builder->problem->senders;
	struct cs_ticket told = { .sender = senders ? port % senders->count : 0 };
	if (!senders)
		return told;
	assert(!builder->loop.times);
	told.times = ++builder->told[told.sender];
	assert(told.times <= senders->most);
	if (is_own(builder, told.sender))
		add_for_all(builder, CS_STEP_TELL, told.times);
	return told;
}

void
cs_build_hear_of(struct cs_builder *builder, int port, struct cs_ticket told)
{
	const struct cs_senders *senders = builder->problem->senders;
	if (!senders || !is_own(builder, port) || told.sender == senders->self)
		return;
	struct cs_step *step = add_for_all(builder, CS_STEP_HEAR, told.times);
	if (step)
		step->peer = told.sender;
}

void
cs_build_ports_hear_of(struct cs_builder *builder, int ports, struct cs_ticket told)
{
	int senders = cs_build_senders(builder);
	for (int port = 0; port < ports && port < senders; port++)
		cs_build_hear_of(builder, port, told);
}

void
cs_build_meet(struct cs_builder *builder)
{
	int count = cs_build_senders(builder);
	struct cs_ticket told[CS_SENDERS_MOST];
	for (int sender = 0; count > 1 && sender < count; sender++)
		told[sender] = cs_build_tell(builder, sender);
	for (int sender = 0; count > 1 && sender < count; sender++)
		cs_build_ports_hear_of(builder, count, told[sender]);
}

void
cs_build_repeat(struct cs_builder *builder, size_t times, size_t stride, uint32_t rounds)
{
	assert(!builder->loop.times && times);
	builder->loop = (struct cs_step){ .bytes = stride, .times = times, .note = rounds };
	builder->loop_start = builder->plan->count;
	builder->loop_requests = builder->plan->requests - builder->free_count;
}

void
cs_build_repeated(struct cs_builder *builder)
{
	struct cs_step loop = builder->loop;
	size_t length = builder->plan->count - builder->loop_start;
	assert(builder->status != CS_OK || builder->loop_requests == builder->plan->requests -
	       builder->free_count);
	struct cs_step *step = length && loop.times > 1
			       ? add_for_all(builder, CS_STEP_REPEAT, loop.bytes) : NULL;
	builder->loop.times = 0; /* up to its last step, which is in its part */
	if (!step)
		return;
	step->times = loop.times;
	step->length = length;
	step->note = loop.note;
}

static void
write_segments(struct cs_builder *builder, const struct cs_segments *segments, size_t from,
	       size_t to)
{
	for (size_t index = from; index < to; index++) {
		builder->note = (uint32_t)index;
		segments->write(segments->context, index);
	}
}

void
cs_build_segments(struct cs_builder *builder, const struct cs_segments *segments)
{
	size_t window = segments->window, whole = segments->total / segments->each;
	size_t count = whole + (segments->total % segments->each > 0), next = 0;
	size_t turns = whole / window > 2 ? whole / window - 2 : 0;
	if (turns > 1) {
		write_segments(builder, segments, 0, window);
		cs_build_repeat(builder, turns, window * segments->each, (uint32_t)window);
		write_segments(builder, segments, window, 2 * window);
		cs_build_repeated(builder);
		next = (turns + 1) * window;
	}
	write_segments(builder, segments, next, count);
}

struct cs_place
cs_build_block(const struct cs_builder *builder, int rank)
{
	return cs_out(cs_problem_at(builder->problem, rank));
}

struct cs_place
cs_build_own(const struct cs_builder *builder)
{
	return builder->problem->is_in_place ? cs_build_block(builder, builder->problem->rank)
					     : cs_in(0);
}

void
cs_build_keep_own(struct cs_builder *builder)
{
	const struct cs_problem *problem = builder->problem;
	cs_build_copy(builder, cs_build_block(builder, problem->rank), cs_build_own(builder),
		      cs_problem_size(problem, problem->rank));
}

bool
cs_build_is_run(const struct cs_builder *builder, int first, int count)
{
	const struct cs_problem *problem = builder->problem;
	if (first + count > problem->ranks)
		return false;
	for (int rank = first; problem->at && rank + 1 < first + count; rank++)
		if (problem->at[rank] + cs_problem_size(problem, rank) != problem->at[rank + 1])
			return false;
	return true;
}

size_t
cs_build_run_bytes(const struct cs_builder *builder, int first, int count)
{
	const struct cs_problem *problem = builder->problem;
	if (!problem->sizes)
		return (size_t)count * problem->bytes;
	size_t bytes = 0;
	for (int i = 0; i < count; i++)
		bytes += problem->sizes[(first + i) % problem->ranks];
	return bytes;
}

enum cs_status
cs_builder_finish(struct cs_builder *builder)
{
	struct cs_plan *plan = builder->plan;
	cs_build_wait_all(builder);
	assert(!builder->problem->senders ||
	       plan->tmp_bytes <= builder->problem->senders->room);
	free(builder->free_requests);
	builder->free_requests = NULL;
	if (builder->status != CS_OK) {
		cs_plan_fini(plan);
		return builder->status;
	}
	if (builder->part) {
		builder->part->all = plan->count;
		plan->steps = builder->part->steps;
		plan->count = builder->part->count;
	} else if (plan->count) { /* as long as it is, not as there was room for */
		struct cs_step *steps = realloc(plan->steps, plan->count * sizeof *steps);
		plan->steps = steps ? steps : plan->steps;
	}
	return CS_OK;
}

void
cs_plan_fini(struct cs_plan *plan)
{
	free(plan->steps);
	plan->steps = NULL;
	plan->count = 0;
	plan->requests = 0;
	plan->tmp_bytes = 0;
}
