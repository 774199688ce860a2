/* sim/progress.c — drives a rank's messages while it is in a call: by rendezvous, and of a
 * non-blocking call at the looks of a rank that computes.
 *
 *   receive: "ready" -------------> grant: at once if the sender is in the call, else when it looks
 *   send:    held ................. | o_s | data
 *
 * With model.rts a "ready" is held, too, until the sender's request has come. */
#include "sim/actor.h"

#define CONTROL_BYTES 8 /* a request to send, or a ready */
#define UNKNOWN INT64_MAX

/* ---- rendezvous ------------------------------------------------------------------------------ */

bool
cs_progress_meets(const struct cs_sim *sim, uint64_t bytes)
{
	return sim->model->rndv && bytes > (uint64_t)sim->model->rndv;
}

/* The other side has said what `request` of this actor is held for: it came at `at`. */
static void
put_grant(struct cs_sim *sim, struct cs_sim_actor *actor, int peer, int32_t request, int64_t at,
	  uint32_t chain)
{
	cs_sim_put(sim, &(struct cs_event){ .at = at, .last = at, .stage = CS_STAGE_GRANT,
					    .from = (int)(actor - sim->actors), .to = peer,
					    .request = request, .chain = chain,
					    .number = actor->events++ });
}

bool
cs_progress_hold(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_sim_step *step,
		 enum cs_sim_meeting of)
{
	int rank = (int)(actor - sim->actors);
	struct cs_sim_request *request = &actor->requests[step->request];
	struct cs_half mine = { .request = (int32_t)step->request }, word;
	bool has_come = cs_match_take(&sim->meetings[of], rank, step->peer, false, &word);
	/* Due ones came before. */
	if (has_come && word.at < actor->now && actor->due_first == CS_SIM_NOBODY) {
		actor->chain = word.chain > actor->chain ? word.chain : actor->chain;
		return false;
	}
	/* A held request's time and chain stand for its step, and for the next one that is due. */
	request->at = (int64_t)actor->next;
	request->is_receive = step->kind == CS_STEP_RECV;
	request->is_done = false;
	actor->held++;
	if (has_come)
		put_grant(sim, actor, step->peer, mine.request,
			  cs_sim_later(word.at, actor->now), word.chain);
	else
		cs_sim_put_half(sim, &sim->meetings[of], rank, step->peer, &mine);
	return true;
}

void
cs_progress_say(struct cs_sim *sim, struct cs_sim_actor *actor, int to, int what)
{
	cs_sim_post(sim, actor, to, CONTROL_BYTES, what);
}

void
cs_progress_told(struct cs_sim *sim, const struct cs_event *event, int64_t last,
		 enum cs_sim_meeting of)
{
	struct cs_half word = { .at = last, .chain = event->chain, .request = -1 }, held;
	if (cs_match_take(&sim->meetings[of], event->to, event->from, true, &held))
		put_grant(sim, &sim->actors[event->to], event->from, held.request, last,
			  event->chain);
	else
		cs_sim_put_half(sim, &sim->meetings[of], event->to, event->from, &word);
}

/* Does what a held request was held for, at the actor's time. */
static void
release(struct cs_sim *sim, struct cs_sim_actor *actor, int32_t at)
{
	struct cs_sim_request *request = &actor->requests[at];
	const struct cs_sim_step *step = &actor->steps[request->at];
	actor->held--;
	if (request->is_receive)
		cs_progress_say(sim, actor, step->peer, CS_MESSAGE_READY);
	else
		cs_sim_start(sim, actor, step);
}

static void
drive(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	while (actor->due_first != CS_SIM_NOBODY) {
		int32_t due = actor->due_first;
		actor->due_first = due == actor->due_last
				   ? CS_SIM_NOBODY : (int32_t)actor->requests[due].chain;
		release(sim, actor, due);
	}
}

void
cs_progress_granted(struct cs_sim *sim, const struct cs_event *event)
{
	struct cs_sim_actor *actor = &sim->actors[event->from];
	bool is_inside = actor->awaits >= 0 || actor->awaits == CS_SIM_FLAG ||
			 actor->awaits == CS_SIM_LOOK;
	actor->chain = event->chain > actor->chain ? event->chain : actor->chain;
	if (!is_inside) {
		if (actor->due_first == CS_SIM_NOBODY)
			actor->due_first = event->request;
		else
			actor->requests[actor->due_last].chain = (uint32_t)event->request;
		actor->due_last = event->request;
		return;
	}
	actor->now = cs_sim_later(actor->now, event->at);
	release(sim, actor, event->request);
	/* Its wait may be over; who polls for what it holds goes on when it holds nothing more. */
	if (actor->awaits == event->request || (actor->awaits == CS_SIM_LOOK && !actor->held))
		cs_sim_advance(sim, actor);
}

/* ---- computation ----------------------------------------------------------------------------- */

/* Time of the computation before so many looks are over: the first at its begin, the last at its
 * end; a single one half-way. */
static int64_t
computed(const struct cs_sim_compute *compute, uint32_t looks)
{
	if (looks == 0)
		return 0;
	if (compute->looks == 1)
		return compute->time / 2;
	/* Without an overflow. */
	int64_t gaps = compute->looks - 1, part = looks - 1;
	return compute->time / gaps * part + compute->time % gaps * part / gaps;
}

static void
look_at(struct cs_sim *sim, struct cs_sim_actor *actor, int64_t at, int32_t awaits)
{
	int64_t now = actor->now;
	actor->awaits = awaits;
	actor->look = actor->events;
	actor->now = at;
	cs_sim_put_look(sim, actor, CS_STAGE_LOOK);
	actor->now = now;
}

bool
cs_progress_catch_up(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	if (actor->now <= sim->time)
		return true;
	look_at(sim, actor, actor->now, CS_SIM_CAUGHT_UP);
	return false;
}

/* Leaves the call, until the next look or the wait. */
static void
compute(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	const struct cs_sim_compute *asked = &sim->compute;
	int64_t before = computed(asked, actor->looks);
	actor->polls_until = 0;
	if (actor->looks < asked->looks) {
		actor->now += computed(asked, ++actor->looks) - before + sim->model->look;
	} else {
		actor->now += asked->time - before;
		actor->computes = false;
	}
	look_at(sim, actor, actor->now, CS_SIM_COMPUTES);
}

void
cs_progress_look(struct cs_sim *sim, const struct cs_event *event)
{
	struct cs_sim_actor *actor = &sim->actors[event->from];
	if (event->number != actor->look || actor->awaits > CS_SIM_LOOK)
		return;
	actor->now = cs_sim_later(actor->now, event->at);
	if (actor->awaits == CS_SIM_COMPUTES)
		drive(sim, actor);
	cs_sim_advance(sim, actor);
}

void
cs_progress_enter(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	if (!actor->computes)
		drive(sim, actor);
}

bool
cs_progress_may_pass(struct cs_sim *sim, struct cs_sim_actor *actor, bool is_known, int64_t at,
		     int32_t awaits)
{
	at = is_known ? cs_sim_later(actor->now, at) : UNKNOWN;
	if (at == actor->now)
		return true;
	if (!actor->computes) {
		/* An actor that holds something stays to drive it. */
		if (is_known && actor->held && at > sim->time)
			look_at(sim, actor, at, CS_SIM_LOOK);
		else if (!is_known)
			actor->awaits = awaits;
		else
			return true;
		return false;
	}
	if (!cs_progress_catch_up(sim, actor))
		return false;
	if (!actor->polls_until) {
		actor->polls_until = actor->now + sim->compute.poll;
		if (sim->compute.poll)
			drive(sim, actor);
	}
	if (actor->held && actor->now < actor->polls_until)
		look_at(sim, actor, actor->polls_until, CS_SIM_LOOK);
	else
		compute(sim, actor);
	return false;
}

void
cs_progress_end(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	if (actor->computes)
		actor->now += sim->compute.time - computed(&sim->compute, actor->looks);
	actor->computes = false;
}
