/* sim/add.c — gives the plans of ranks and the steps inside nodes to a simulator. */
#include "sim/actor.h"

#include "plan/walk.h"
#include "sim/room.h"

#include <stdlib.h>

#define FLAGS_AT_ONCE 4
/* steps: more than any budget has room for, and no number that overflows */
#define MOST_KEPT (SIZE_MAX / 256)

void
cs_sim_join_work(struct cs_sim *sim)
{
	sim->joins = true;
}

void
cs_sim_copy_messages(struct cs_sim *sim, uint64_t most)
{
	sim->eager = most;
}

static bool
is_message(const struct cs_step *step)
{
	return step->kind == CS_STEP_SEND || step->kind == CS_STEP_RECV;
}

/* Does a step go into the one before it, of that kind? */
static bool
is_joined(const struct cs_sim *sim, int before, const struct cs_step *step)
{
	return sim->joins && (step->kind == CS_STEP_COPY || step->kind == CS_STEP_REDUCE) &&
	       step->kind == before;
}

static size_t
kept_of(const struct cs_sim *sim, int before, const struct cs_step *step)
{
	return (size_t)!is_joined(sim, before, step) + (sim->eager && is_message(step));
}

/* Number of steps kept for the further turns of the loop that ends with this step. */
static size_t
kept_by_loop(const struct cs_sim *sim, const struct cs_step *repeat)
{
	size_t each = 0, all;
	int before = repeat[-1].kind;
	for (const struct cs_step *step = repeat - repeat->length; step < repeat;
	     before = step++->kind)
		each += kept_of(sim, before, step);
	return __builtin_mul_overflow(each, repeat->times - 1, &all) ||
	       all > MOST_KEPT ? MOST_KEPT : all;
}

/* Number of steps kept of a sound plan; at most MOST_KEPT. */
static size_t
kept_steps(const struct cs_sim *sim, const struct cs_plan *plan)
{
	size_t count = 0;
	int before = CS_STEP_KINDS;
	for (const struct cs_step *step = plan->steps; step < plan->steps + plan->count; step++) {
		if (step->kind == CS_STEP_REPEAT) {
			count += kept_by_loop(sim, step);
		} else {
			count += kept_of(sim, before, step);
			before = step->kind;
		}
		count = count < MOST_KEPT ? count : MOST_KEPT;
	}
	return count;
}

size_t
cs_sim_plan_memory(const struct cs_sim *sim, const struct cs_plan *plan)
{
	return kept_steps(sim, plan) * sizeof(struct cs_sim_step) + (size_t)plan->requests *
	       sizeof(struct cs_sim_request);
}

/* Room for `more` steps; no more than that where it is a plan. */
static bool
grow(struct cs_sim *sim, struct cs_sim_actor *actor, size_t more)
{
	size_t bytes = more * sizeof *actor->steps;
	if (actor->count + more <= actor->room)
		return true;
	struct cs_sim_step *steps = bytes <= sim->left
				    ? realloc(actor->steps, actor->room * sizeof *steps + bytes)
				    : NULL;
	if (!steps)
		return false;
	sim->left -= bytes;
	actor->steps = steps;
	actor->room += more;
	return true;
}

bool
cs_sim_grow_requests(struct cs_sim *sim, struct cs_sim_actor *actor, size_t wanted)
{
	if (wanted <= actor->request_count)
		return true;
	size_t bytes = (wanted - actor->request_count) * sizeof *actor->requests;
	struct cs_sim_request *requests = bytes <= sim->left
					  ? realloc(actor->requests, wanted * sizeof *requests)
					  : NULL;
	if (!requests)
		return false;
	sim->left -= bytes;
	actor->requests = requests;
	actor->request_count = wanted;
	return true;
}

static bool
can_be(const struct cs_plan *plan, const struct cs_step *step)
{
	if (is_message(step) &&
	    (step->peer < 0 || step->peer >= plan->ranks || step->peer == plan->rank))
		return false;
	if (is_message(step) || step->kind == CS_STEP_WAIT)
		return step->request >= 0 && step->request < plan->requests;
	return step->kind < CS_STEP_KINDS; /* loops are looked at as a whole */
}

static bool
all_can_be(const struct cs_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (!can_be(plan, &plan->steps[i]))
			return false;
	return plan->requests < CS_SIM_MOST_REQUESTS && cs_plan_is_sound(plan);
}

static void
append(struct cs_sim_actor *actor, int kind, uint64_t bytes, int peer, int request)
{
	actor->steps[actor->count++] = (struct cs_sim_step){
		.bytes = bytes, .kind = (uint32_t)kind & 15,
			.request = (uint32_t)request & (CS_SIM_MOST_REQUESTS - 1), .peer = peer };
}

/* Bytes that are copied for a message, on either side. */
static uint64_t
copied(const struct cs_sim *sim, const struct cs_sim_actor *actor, int peer, uint64_t bytes)
{
	bool is_intra = actor->node == sim->actors[peer].node;
	return sim->eager && (is_intra || bytes <= sim->eager) ? bytes : 0;
}

/* One step of a plan, with its copies. `received`: for each request what is to be copied when it
 * has been awaited. */
static void
append_message(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_step *step, int peer,
	       uint64_t *received)
{
	uint64_t bytes = received && is_message(step) ? copied(sim, actor, peer, step->bytes) : 0;
	if (bytes && step->kind == CS_STEP_SEND)
		append(actor, CS_STEP_COPY, bytes, CS_SIM_NOBODY, 0);
	append(actor, step->kind, step->bytes, peer, step->request);
	if (received && is_message(step))
		received[step->request] = step->kind == CS_STEP_RECV ? bytes : 0;
	if (received && step->kind == CS_STEP_WAIT && received[step->request])
		append(actor, CS_STEP_COPY, received[step->request], CS_SIM_NOBODY, 0);
}

enum cs_status
cs_sim_add_among(struct cs_sim *sim, int rank, const struct cs_plan *plan, const int *rank_of)
{
	struct cs_sim_actor *actor = &sim->actors[rank];
	uint64_t *received = NULL;
	if (sim->added == CS_OK && !all_can_be(plan))
		sim->added = CS_BAD_INPUT;
	if (sim->added == CS_OK &&
	    (!grow(sim, actor, kept_steps(sim, plan)) ||
	     !cs_sim_grow_requests(sim, actor, (size_t)plan->requests)))
		sim->added = CS_NO_MEMORY;
	if (sim->added == CS_OK && sim->eager &&
	    !(received = calloc((size_t)plan->requests + 1, sizeof *received)))
		sim->added = CS_NO_MEMORY;
	struct cs_walk walk = { .plan = plan };
	struct cs_step step;
	for (int before = CS_STEP_KINDS; sim->added == CS_OK && cs_walk_next(&walk, &step);
	     before = step.kind) {
		int peer = rank_of && step.peer >= 0 ? rank_of[step.peer] : step.peer;
		if (is_joined(sim, before, &step))
			actor->steps[actor->count - 1].bytes += step.bytes;
		else
			append_message(sim, actor, &step, peer, received);
	}
	free(received);
	return sim->added;
}

enum cs_status
cs_sim_add(struct cs_sim *sim, const struct cs_plan *plan)
{
	if (plan->rank < 0 || plan->rank >= sim->ranks || plan->ranks != sim->ranks)
		return sim->added = sim->added == CS_OK ? CS_BAD_INPUT : sim->added;
	return cs_sim_add_among(sim, plan->rank, plan, NULL);
}

static bool
can_await(const struct cs_sim *sim, int rank, int peer, uint64_t amount)
{
	return peer >= 0 && peer < sim->ranks && peer != rank && amount >= 1 &&
	       amount <= INT32_MAX && sim->actors[peer].node == sim->actors[rank].node;
}

/* Room for one more flag of the rank. */
static bool
grow_flags(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	size_t wanted = actor->publishes + FLAGS_AT_ONCE,
	       bytes = FLAGS_AT_ONCE * sizeof *actor->flags;
	if (actor->publishes++ % FLAGS_AT_ONCE)
		return true;
	struct cs_sim_flag *flags = bytes <= sim->left
				    ? realloc(actor->flags, wanted * sizeof *flags) : NULL;
	if (!flags)
		return false;
	sim->left -= bytes;
	actor->flags = flags;
	return true;
}

void
cs_sim_add_step(struct cs_sim *sim, int rank, enum cs_node_step kind, int peer, uint64_t amount)
{
	enum { AT_ONCE = 8 };
	struct cs_sim_actor *actor = &sim->actors[rank];
	bool is_work = kind == CS_NODE_COPY || kind == CS_NODE_REDUCE;
	if (sim->added != CS_OK || (is_work && !amount))
		return;
	bool is_bad = kind == CS_NODE_AWAIT && !can_await(sim, rank, peer, amount);
	if (is_bad)
		sim->added = CS_BAD_INPUT;
	else if ((actor->count == actor->room && !grow(sim, actor, AT_ONCE)) ||
		 (kind == CS_NODE_PUBLISH && !grow_flags(sim, actor)))
		sim->added = CS_NO_MEMORY;
	else
		append(actor, (int)kind, amount, peer, 0);
}

void
cs_sim_add_message(struct cs_sim *sim, int rank, enum cs_step_kind kind, int peer, uint64_t bytes,
		   int request)
{
	enum { AT_ONCE = 8 };
	struct cs_sim_actor *actor = &sim->actors[rank];
	if (sim->added != CS_OK)
		return;
	if (request < 0 || request >= CS_SIM_MOST_REQUESTS || kind > CS_STEP_WAIT ||
	    (kind != CS_STEP_WAIT && (peer < 0 || peer >= sim->ranks || peer == rank)))
		sim->added = CS_BAD_INPUT;
	else if ((actor->count == actor->room && !grow(sim, actor, AT_ONCE)) ||
		 !cs_sim_grow_requests(sim, actor, (size_t)request + 1))
		sim->added = CS_NO_MEMORY;
	else
		append(actor, (int)kind, bytes, peer, request);
}

enum cs_status
cs_sim_added(const struct cs_sim *sim)
{
	return sim->added;
}
