/* sim/steps.c — executes the steps of ranks, and carries their messages, in simulated time. */
#include "sim/actor.h"

#include <stdarg.h>
#include <stdio.h>

#define LATEST (INT64_MAX / 4) /* sums of two never overflow */

#define later cs_sim_later

/* ---- time ------------------------------------------------------------------------------------ */

/* Picoseconds of so many bytes; with a time that is none LATEST. */
static int64_t
span(uint64_t bytes, int64_t femtoseconds)
{
	if (bytes >> 40 && femtoseconds && bytes / 1000 >= (uint64_t)(LATEST / femtoseconds))
		return LATEST;
	return (int64_t)(bytes / 1000) * femtoseconds +
	       ((int64_t)(bytes % 1000) * femtoseconds + 500) / 1000;
}

/* From the first byte to the last. */
static int64_t
tail(uint64_t bytes, int64_t femtoseconds)
{
	return bytes > 1 ? span(bytes - 1, femtoseconds) : 0;
}

void
cs_sim_fail(struct cs_sim *sim, enum cs_status status)
{
	if (sim->status == CS_OK)
		sim->status = status;
}

void
cs_sim_complain(struct cs_sim *sim, const char *format, ...)
{
	va_list arguments;
	struct cs_sim_result *result = sim->result;
	if (sim->status != CS_OK)
		return;
	result->is_unlike = sim->alike;
	int length = snprintf(result->text, sizeof result->text, "%s",
			      sim->alike ? "its nodes are not alike: " : "");
	va_start(arguments, format);
	vsnprintf(result->text + length, sizeof result->text - (size_t)length, format, arguments);
	va_end(arguments);
	sim->status = CS_BAD_INPUT;
}

void
cs_sim_put(struct cs_sim *sim, const struct cs_event *event)
{
	if (event->at > LATEST || event->last > LATEST)
		cs_sim_fail(sim, CS_UNSUPPORTED);
	else if (!cs_events_put(&sim->events, event, &sim->left))
		cs_sim_fail(sim, CS_NO_MEMORY);
}

void
cs_sim_put_half(struct cs_sim *sim, struct cs_match *match, int to, int from,
		const struct cs_half *half)
{
	if (!cs_match_put(match, to, from, half, &sim->left))
		cs_sim_fail(sim, CS_NO_MEMORY);
}

void
cs_sim_put_look(struct cs_sim *sim, struct cs_sim_actor *actor, enum cs_sim_stage stage)
{
	cs_sim_put(sim, &(struct cs_event){ .at = actor->now, .last = actor->now,
					    .stage = (int8_t)stage,
					    .from = (int)(actor - sim->actors),
					    .number = actor->events++ });
}

/* A message asks at `at`; when its first byte passes. f messages in a row need no gap, but bytes
 * follow each other. */
static int64_t
pass(struct cs_sim_port *port, const struct cs_loggp *cost, int64_t at, uint64_t bytes)
{
	int64_t length = tail(bytes, cost->G);
	int64_t first = later(later(at, port->free), port->turn - (cost->f - 1) * cost->g);
	port->free = first + length;
	port->turn = later(port->turn, first) + cost->g + length;
	return first;
}

/* Resource shared by a node's ranks, busy for `time` with each. */
static int64_t
serve(int64_t *free_at, int64_t at, int64_t time)
{
	int64_t first = later(*free_at, at);
	*free_at = first + time;
	return first;
}

/* ---- a rank's steps -------------------------------------------------------------------------- */

static enum cs_level
level_of(const struct cs_sim *sim, int from, int to)
{
	return sim->actors[from].node == sim->actors[to].node ? CS_INTRA : CS_INTER;
}

static void
tell(struct cs_sim *sim, const struct cs_sim_actor *actor, int64_t start)
{
	if (sim->watch)
		sim->watch->step(sim->watch->context, &(struct cs_sim_seen){
			(int)(actor - sim->actors), actor->steps[actor->next].kind, actor->next,
			start, actor->now, actor->waited });
}

/* The actor does nothing until `at`. */
static void
wait_until(struct cs_sim_actor *actor, int64_t at)
{
	actor->waited = later(at - actor->now, 0);
	actor->now += actor->waited;
}

static struct cs_sim_group *
group_of(const struct cs_sim *sim, int rank)
{
	return sim->group_nodes ? &sim->groups[(sim->actors[rank].node + sim->group_skipped) /
					       sim->group_nodes] : NULL;
}

/* A message has left its node, with the times of its bytes there: the next stage is the link of its
 * group, or the arrival L later. */
static void
depart(struct cs_sim *sim, struct cs_event *event)
{
	int64_t latency = sim->cost[level_of(sim, event->from, event->to)].L;
	bool is_global = group_of(sim, event->from) != group_of(sim, event->to);
	event->stage = is_global ? CS_STAGE_UP : CS_STAGE_ARRIVAL;
	event->at += is_global ? 0 : latency;
	event->last += is_global ? 0 : latency;
}

void
cs_sim_note_inter(struct cs_sim *sim, const struct cs_sim_actor *actor, int64_t begin, int64_t end)
{
	struct cs_sim_node *node = &sim->nodes[actor->node];
	node->first = node->has_messages && node->first < begin ? node->first : begin;
	node->last = later(node->last, end);
	node->has_messages = true;
}

/* A message on its way, `request` or what it is; `*last`: when its last byte leaves. True: a queue
 * that its node's ranks share will say when. */
static bool
launch(struct cs_sim *sim, struct cs_sim_actor *actor, int to, uint64_t bytes, int request,
       int stream, int64_t *last)
{
	const struct cs_model *model = sim->model;
	int rank = (int)(actor - sim->actors);
	enum cs_level level = level_of(sim, rank, to);
	const struct cs_loggp *cost = &sim->cost[level];
	bool is_shared = level == CS_INTRA ? model->bus && !sim->eager : model->nic_g ||
			 model->nic_G;
	if (level == CS_INTER)
		cs_sim_note_inter(sim, actor, actor->now, actor->now + cost->o_send);
	actor->now += actor->now == actor->sends_until
		      ? cs_loggp_further(cost->o_send, cost->o_send_min) : cost->o_send;
	actor->sends_until = actor->now;
	struct cs_event event = { .bytes = bytes, .from = rank, .to = to,
				  .number = actor->events++, .chain = actor->chain + 1,
				  .request = request, .stream = stream & 3 };
	event.at = pass(&actor->ports[level][CS_SIM_OUT], cost, actor->now, bytes);
	event.last = *last = event.at + tail(bytes, cost->G);
	event.stage = level == CS_INTRA ? CS_STAGE_BUS : CS_STAGE_NIC;
	if (!is_shared)
		depart(sim, &event);
	cs_sim_put(sim, &event);
	sim->result->messages++;
	sim->result->bytes += bytes;
	sim->result->inter_messages += level == CS_INTER;
	sim->result->inter_bytes += level == CS_INTER ? bytes : 0;
	bool is_global = group_of(sim, rank) != group_of(sim, to);
	sim->result->global_messages += is_global;
	sim->result->global_bytes += is_global ? bytes : 0;
	return is_shared;
}

void
cs_sim_start(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_sim_step *step)
{
	int64_t last;
	enum cs_level level = level_of(sim, (int)(actor - sim->actors), step->peer);
	bool is_shared = launch(sim, actor, step->peer, step->bytes, (int)step->request,
				(int)step->stream, &last);
	actor->requests[step->request] = (struct cs_sim_request){ .at = last,
								  .is_done = !is_shared,
								  .level = (uint8_t)level };
}

/* False: not yet. */
static bool
send(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_sim_step *step)
{
	bool is_met = cs_progress_meets(sim, step->bytes);
	if (is_met && !cs_progress_catch_up(sim, actor))
		return false;
	if (is_met && sim->model->rts)
		cs_progress_say(sim, actor, step->peer, CS_MESSAGE_RTS);
	if (!is_met || !cs_progress_hold(sim, actor, step, CS_MEETING_READY))
		cs_sim_start(sim, actor, step);
	return true;
}

void
cs_sim_post(struct cs_sim *sim, struct cs_sim_actor *actor, int to, uint64_t bytes, int what)
{
	int64_t last;
	launch(sim, actor, to, bytes, what, CS_STREAM_FIRST, &last);
}

static struct cs_match *
match_of(struct cs_sim *sim, uint64_t bytes)
{
	return cs_progress_meets(sim, bytes) ? &sim->meetings[CS_MEETING_DATA] : &sim->match;
}

/* A receive and its message have met. */
static void
meet(struct cs_sim *sim, int to, int from, const struct cs_half *receive,
     const struct cs_half *message)
{
	struct cs_sim_request *request = &sim->actors[to].requests[receive->request];
	/* A player's receive may have more room. */
	if (sim->player ? message->bytes > receive->bytes : message->bytes != receive->bytes)
		cs_sim_complain(sim, "rank %d sends %llu bytes to rank %d, which expects %llu",
				from, (unsigned long long)message->bytes, to,
				(unsigned long long)receive->bytes);
	request->at = message->at;
	request->chain = message->chain;
	request->is_done = true;
	if (sim->player)
		sim->player->met(sim, to, receive->request, from, -2 - message->request);
}

/* Key of the sender in matches: messages of other streams do not match. */
static int
key_of(int from, uint32_t stream)
{
	return (int)((uint32_t)from | stream << CS_STREAM_SHIFT);
}

/* False: not yet. */
static bool
receive(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_sim_step *step)
{
	int rank = (int)(actor - sim->actors);
	bool is_met = cs_progress_meets(sim, step->bytes);
	if (is_met && !cs_progress_catch_up(sim, actor))
		return false;
	struct cs_half mine = { .bytes = step->bytes, .request = (int32_t)step->request }, message;
	actor->requests[step->request] = (struct cs_sim_request){ .is_receive = true,
							   .level = (uint8_t)level_of(sim, rank,
										      step->peer) };
	struct cs_match *match = match_of(sim, step->bytes);
	int key = key_of(step->peer, step->stream);
	if (level_of(sim, rank, step->peer) == CS_INTER)
		cs_sim_note_inter(sim, actor, actor->now, actor->now);
	if (cs_match_take(match, rank, key, false, &message))
		meet(sim, rank, step->peer, &mine, &message);
	else
		cs_sim_put_half(sim, match, rank, key, &mine);
	if (is_met && (!sim->model->rts || !cs_progress_hold(sim, actor, step, CS_MEETING_RTS)))
		cs_progress_say(sim, actor, step->peer, CS_MESSAGE_READY);
	return true;
}

/* False: not yet. */
static bool
wait_for(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_sim_step *step)
{
	const struct cs_sim_request *request = &actor->requests[step->request];
	cs_progress_enter(sim, actor);
	if (!cs_progress_may_pass(sim, actor, request->is_done, request->at,
				  (int32_t)step->request))
		return false;
	wait_until(actor, request->at);
	if (request->is_receive) {
		const struct cs_loggp *cost = &sim->model->level[request->level];
		actor->now += actor->now == actor->receives_until
			      ? cs_loggp_further(cost->o_recv, cost->o_recv_min) : cost->o_recv;
		actor->receives_until = actor->now;
		actor->chain = request->chain > actor->chain ? request->chain : actor->chain;
	}
	if (request->level == CS_INTER)
		cs_sim_note_inter(sim, actor, actor->now, actor->now);
	return true;
}

/* False: the bus has to say when it ends. */
static bool
work(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_sim_step *step)
{
	const struct cs_model *model = sim->model;
	int64_t end = actor->now +
		      span(step->bytes, step->kind == CS_STEP_COPY ? model->copy : model->reduce);
	if (!model->bus) {
		actor->now = end;
		return true;
	}
	actor->awaits = CS_SIM_BUS;
	cs_sim_put(sim, &(struct cs_event){ .at = actor->now, .last = end, .bytes = step->bytes,
					    .stage = CS_STAGE_COPY,
					    .from = (int)(actor - sim->actors),
					    .number = actor->events++ });
	return false;
}

/* Publishes the actor's next flag: actors that wait for it go on, others wait for a later one. */
static void
publish(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	int32_t waiter = actor->first_waiter;
	actor->flags[actor->published++] = (struct cs_sim_flag){ actor->now, actor->chain };
	actor->first_waiter = CS_SIM_NOBODY;
	while (waiter != CS_SIM_NOBODY) {
		struct cs_sim_actor *other = &sim->actors[waiter];
		waiter = other->next_waiter;
		cs_sim_advance(sim, other);
	}
}

/* False: not yet. */
static bool
await(struct cs_sim *sim, struct cs_sim_actor *actor, const struct cs_sim_step *step)
{
	struct cs_sim_actor *peer = &sim->actors[step->peer];
	cs_progress_enter(sim, actor);
	bool is_set = peer->published >= (int32_t)step->bytes;
	const struct cs_sim_flag *flag = is_set ? &peer->flags[step->bytes - 1] : NULL;
	if (!cs_progress_may_pass(sim, actor, is_set, flag ? flag->at : 0, CS_SIM_FLAG)) {
		if (actor->awaits == CS_SIM_FLAG) {
			actor->next_waiter = peer->first_waiter;
			peer->first_waiter = (int32_t)(actor - sim->actors);
		}
		return false;
	}
	wait_until(actor, flag->at);
	actor->now += sim->model->flag;
	actor->chain = flag->chain > actor->chain ? flag->chain : actor->chain;
	return true;
}

void
cs_sim_advance(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	actor->awaits = CS_SIM_NOTHING;
	for (; actor->next < actor->count && sim->status == CS_OK; actor->next++) {
		const struct cs_sim_step *step = &actor->steps[actor->next];
		int64_t start = actor->now;
		bool is_done = true;
		actor->waited = 0;
		switch (step->kind) {
		case CS_STEP_SEND: is_done = send(sim, actor, step); break;
		case CS_STEP_RECV: is_done = receive(sim, actor, step); break;
		case CS_STEP_WAIT: is_done = wait_for(sim, actor, step); break;
		case CS_NODE_PUBLISH: publish(sim, actor); break;
		case CS_NODE_AWAIT: is_done = await(sim, actor, step); break;
		case CS_STEP_COPY:
		case CS_STEP_REDUCE: is_done = work(sim, actor, step); break;
		default: break;
		}
		if (!is_done)
			return;
		if (actor->now > LATEST)
			cs_sim_fail(sim, CS_UNSUPPORTED);
		tell(sim, actor, start);
	}
	if (sim->player && sim->status == CS_OK) {
		sim->player->is_idle(sim, actor);
		return;
	}
	cs_progress_end(sim, actor);
}

void
cs_sim_go_on(struct cs_sim *sim, struct cs_sim_actor *actor, int64_t start)
{
	tell(sim, actor, start);
	actor->next++;
	cs_sim_advance(sim, actor);
}

/* ---- a message's way ------------------------------------------------------------------------- */

void
cs_sim_end_work(struct cs_sim *sim, const struct cs_event *event)
{
	struct cs_sim_actor *actor = &sim->actors[event->from];
	int64_t start = actor->now, time = span(event->bytes, sim->model->bus);
	actor->now = later(event->last, serve(&sim->nodes[actor->node].bus, event->at, time) +
			   time);
	cs_sim_go_on(sim, actor, start);
}

void
cs_sim_leave(struct cs_sim *sim, struct cs_event *event)
{
	const struct cs_model *model = sim->model;
	struct cs_sim_actor *actor = &sim->actors[event->from];
	struct cs_sim_node *node = &sim->nodes[actor->node];
	bool is_inter = event->stage == CS_STAGE_NIC;
	int64_t time = is_inter ? tail(event->bytes, model->nic_G) : span(event->bytes, model->bus);
	int64_t first = is_inter ? serve(&node->card[CS_SIM_OUT], event->at, time + model->nic_g)
				 : serve(&node->bus, event->at, time);
	/* The last byte passes as it comes, or when the queue has had time for all. */
	int64_t last = later(event->last, first + time);
	if (event->request >= 0) {
		actor->requests[event->request].at = last;
		actor->requests[event->request].is_done = true;
	}
	event->at = first;
	event->last = last;
	depart(sim, event);
	cs_sim_put(sim, event);
	if (event->request >= 0 && actor->awaits == event->request)
		cs_sim_advance(sim, actor);
	else if (sim->player && event->request >= 0)
		sim->player->left(sim, actor, last);
}

void
cs_sim_cross(struct cs_sim *sim, struct cs_event *event)
{
	const struct cs_model *model = sim->model;
	bool is_up = event->stage == CS_STAGE_UP;
	int64_t node_G = model->nic_G ? model->nic_G : model->level[CS_INTER].G;
	int64_t link_G = node_G * sim->taper / (CS_SIM_TAPER * (int64_t)sim->group_nodes);
	int64_t time = span(event->bytes, link_G);
	struct cs_sim_group *group = group_of(sim, is_up ? event->from : event->to);
	event->at = serve(&group->link[is_up ? CS_SIM_OUT : CS_SIM_IN], event->at, time);
	event->last = later(event->last, event->at + time);
	event->stage = is_up ? CS_STAGE_DOWN : CS_STAGE_ARRIVAL;
	event->at += is_up ? 0 : model->level[CS_INTER].L;
	event->last += is_up ? 0 : model->level[CS_INTER].L;
	cs_sim_put(sim, event);
}

int64_t
cs_sim_arrive(struct cs_sim *sim, const struct cs_event *event)
{
	const struct cs_model *model = sim->model;
	struct cs_sim_actor *actor = &sim->actors[event->to];
	enum cs_level level = level_of(sim, event->from, event->to);
	int64_t first = event->at, last = event->last;
	if (level == CS_INTER) {
		int64_t time = tail(event->bytes, model->nic_G);
		first = serve(&sim->nodes[actor->node].card[CS_SIM_IN], first, time + model->nic_g);
		last = later(last, first + time);
	}
	first = pass(&actor->ports[level][CS_SIM_IN], &sim->cost[level], first, event->bytes);
	return later(last, first + tail(event->bytes, sim->cost[level].G));
}

void
cs_sim_deliver(struct cs_sim *sim, const struct cs_event *event, int64_t last)
{
	struct cs_sim_actor *actor = &sim->actors[event->to];
	struct cs_half message = { .bytes = event->bytes, .at = last, .chain = event->chain,
				   .request = -2 - event->request }, mine;
	struct cs_match *match = match_of(sim, event->bytes);
	int key = key_of(event->from, (uint32_t)event->stream);
	if (!cs_match_take(match, event->to, key, true, &mine)) {
		cs_sim_put_half(sim, match, event->to, key, &message);
		return;
	}
	meet(sim, event->to, event->from, &mine, &message);
	if (actor->awaits == mine.request)
		cs_sim_advance(sim, actor);
}
