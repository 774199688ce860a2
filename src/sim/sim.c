#include "sim/sim.h"

#include "sim/events.h"
#include "sim/match.h"
#include "sim/room.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LATEST (INT64_MAX / 4) /* sums of two never overflow */

enum { OUT, IN, DIRECTIONS };
enum { NOTHING = -1, BUS = -2, FLAG = -3 }; /* actor.awaits, else a request */

#define FLAGS_AT_ONCE 4
#define NOBODY (-1)

/* Where an event's first byte asks for a turn. */
enum stage {
	STAGE_COPY,    /* the bus, for a rank's copy or reduction */
	STAGE_BUS,     /* the bus, for a message inside a node */
	STAGE_NIC,     /* the sender's card */
	STAGE_ARRIVAL, /* the receiver's card and port */
};

struct step {
	uint64_t bytes; /* AWAIT: how often the peer must have published */
	int32_t peer;
	uint32_t kind : 3, request : 29;
};

struct request {
	int64_t at; /* when it is finished, once that is known */
	uint32_t chain;
	bool is_done, is_receive;
	uint8_t level;
};

/* One direction of a rank's way out or in. */
struct port {
	int64_t free; /* the last byte has passed */
	int64_t turn; /* as if every message had kept its gap: may be ahead by f - 1 gaps */
};

struct flag {
	int64_t at;
	uint32_t chain;
};

struct actor {
	struct step *steps;
	size_t count, room, next;
	struct request *requests;
	size_t request_count;
	int64_t now;
	int32_t node, awaits;
	uint32_t chain, events;
	struct port ports[CS_LEVELS][DIRECTIONS];
	struct flag *flags; /* each time that it published */
	uint32_t publishes; /* so often in all */
	int32_t published;
	int32_t first_waiter; /* for its flag */
	int32_t next_waiter;  /* of those that wait for the same flag as this one */
};

/* When each of the three is free again. */
struct node {
	int64_t card[DIRECTIONS], bus;
};

struct cs_sim {
	int ranks, node_count;
	size_t left; /* of the budget */
	enum cs_status added;
	bool joins;
	uint64_t eager; /* messages up to this size are copied; 0: none */
	struct actor *actors;
	struct node *nodes;
	/* a run */
	const struct cs_model *model;
	struct cs_loggp cost[CS_LEVELS]; /* of messages, without what copies stand for */
	const struct cs_sim_watch *watch;
	struct cs_sim_result *result;
	enum cs_status status;
	struct cs_events events;
	struct cs_match match;
};

/* ---- plans -------------------------------------------------------------------------------------------------- */

enum cs_status
cs_sim_create(struct cs_sim **made, int ranks, const int *node_of, size_t budget)
{
	struct cs_sim *sim = calloc(1, sizeof *sim);
	*made = NULL;
	if (!sim)
		return CS_NO_MEMORY;
	sim->ranks = ranks;
	sim->left = budget ? budget : SIZE_MAX / 2;
	sim->actors = cs_room_take((size_t)ranks, sizeof *sim->actors, &sim->left);
	enum cs_status status = sim->actors ? CS_OK : CS_NO_MEMORY;
	for (int rank = 0; status == CS_OK && rank < ranks; rank++) {
		int node = node_of ? node_of[rank] : rank;
		if (node < 0 || node >= ranks)
			status = CS_BAD_INPUT;
		sim->actors[rank].node = node;
		sim->node_count = node >= sim->node_count ? node + 1 : sim->node_count;
	}
	if (status == CS_OK) {
		sim->nodes = cs_room_take((size_t)sim->node_count, sizeof *sim->nodes, &sim->left);
		status = sim->nodes ? CS_OK : CS_NO_MEMORY;
	}
	if (status != CS_OK)
		cs_sim_destroy(sim);
	else
		*made = sim;
	return status;
}

void
cs_sim_destroy(struct cs_sim *sim)
{
	if (!sim)
		return;
	for (int rank = 0; sim->actors && rank < sim->ranks; rank++) {
		free(sim->actors[rank].steps);
		free(sim->actors[rank].requests);
		free(sim->actors[rank].flags);
	}
	cs_events_fini(&sim->events);
	cs_match_fini(&sim->match);
	free(sim->actors);
	free(sim->nodes);
	free(sim);
}

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

/* Does step i go into the one before it? */
static bool
is_joined(const struct cs_sim *sim, const struct cs_plan *plan, size_t i)
{
	int kind = plan->steps[i].kind;
	return sim->joins && i && (kind == CS_STEP_COPY || kind == CS_STEP_REDUCE) && plan->steps[i - 1].kind == kind;
}

static size_t
kept_steps(const struct cs_sim *sim, const struct cs_plan *plan)
{
	size_t count = 0;
	for (size_t i = 0; i < plan->count; i++)
		count += (size_t)!is_joined(sim, plan, i) + (sim->eager && is_message(&plan->steps[i]));
	return count;
}

size_t
cs_sim_plan_memory(const struct cs_sim *sim, const struct cs_plan *plan)
{
	return kept_steps(sim, plan) * sizeof(struct step) + (size_t)plan->requests * sizeof(struct request);
}

/* Room for `more` steps; no more than that where it is a plan. */
static bool
grow(struct cs_sim *sim, struct actor *actor, size_t more)
{
	size_t bytes = more * sizeof *actor->steps;
	if (actor->count + more <= actor->room)
		return true;
	struct step *steps = bytes <= sim->left ? realloc(actor->steps, actor->room * sizeof *steps + bytes) : NULL;
	if (!steps)
		return false;
	sim->left -= bytes;
	actor->steps = steps;
	actor->room += more;
	return true;
}

static bool
grow_requests(struct cs_sim *sim, struct actor *actor, size_t wanted)
{
	if (wanted <= actor->request_count)
		return true;
	size_t bytes = (wanted - actor->request_count) * sizeof *actor->requests;
	struct request *requests = bytes <= sim->left ? realloc(actor->requests, wanted * sizeof *requests) : NULL;
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
	if (is_message(step) && (step->peer < 0 || step->peer >= plan->ranks || step->peer == plan->rank))
		return false;
	if (is_message(step) || step->kind == CS_STEP_WAIT)
		return step->request >= 0 && step->request < plan->requests;
	return step->kind < CS_STEP_KINDS;
}

static bool
all_can_be(const struct cs_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++)
		if (!can_be(plan, &plan->steps[i]))
			return false;
	return plan->requests < 1 << 29;
}

static void
append(struct actor *actor, int kind, uint64_t bytes, int peer, int request)
{
	actor->steps[actor->count++] = (struct step){
		.bytes = bytes, .kind = (uint32_t)kind & 7, .request = (uint32_t)request & 0x1fffffff, .peer = peer };
}

/* Bytes that are copied for a message, on either side. */
static uint64_t
copied(const struct cs_sim *sim, const struct actor *actor, int peer, uint64_t bytes)
{
	bool is_intra = actor->node == sim->actors[peer].node;
	return sim->eager && (is_intra || bytes <= sim->eager) ? bytes : 0;
}

/* One step of a plan, with its copies. `received`: for each request what is to be copied when it has been awaited. */
static void
append_message(struct cs_sim *sim, struct actor *actor, const struct cs_step *step, int peer, uint64_t *received)
{
	uint64_t bytes = received && is_message(step) ? copied(sim, actor, peer, step->bytes) : 0;
	if (bytes && step->kind == CS_STEP_SEND)
		append(actor, CS_STEP_COPY, bytes, NOBODY, 0);
	append(actor, step->kind, step->bytes, peer, step->request);
	if (received && is_message(step))
		received[step->request] = step->kind == CS_STEP_RECV ? bytes : 0;
	if (received && step->kind == CS_STEP_WAIT && received[step->request])
		append(actor, CS_STEP_COPY, received[step->request], NOBODY, 0);
}

enum cs_status
cs_sim_add_among(struct cs_sim *sim, int rank, const struct cs_plan *plan, const int *rank_of)
{
	struct actor *actor = &sim->actors[rank];
	uint64_t *received = NULL;
	if (sim->added == CS_OK && !all_can_be(plan))
		sim->added = CS_BAD_INPUT;
	if (sim->added == CS_OK &&
	    (!grow(sim, actor, kept_steps(sim, plan)) || !grow_requests(sim, actor, (size_t)plan->requests)))
		sim->added = CS_NO_MEMORY;
	if (sim->added == CS_OK && sim->eager && !(received = calloc((size_t)plan->requests + 1, sizeof *received)))
		sim->added = CS_NO_MEMORY;
	for (size_t i = 0; sim->added == CS_OK && i < plan->count; i++) {
		const struct cs_step *step = &plan->steps[i];
		int peer = rank_of && step->peer >= 0 ? rank_of[step->peer] : step->peer;
		if (is_joined(sim, plan, i))
			actor->steps[actor->count - 1].bytes += step->bytes;
		else
			append_message(sim, actor, step, peer, received);
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
	return peer >= 0 && peer < sim->ranks && peer != rank && amount >= 1 && amount <= INT32_MAX &&
	       sim->actors[peer].node == sim->actors[rank].node;
}

/* Room for one more flag of the rank. */
static bool
grow_flags(struct cs_sim *sim, struct actor *actor)
{
	size_t wanted = actor->publishes + FLAGS_AT_ONCE, bytes = FLAGS_AT_ONCE * sizeof *actor->flags;
	if (actor->publishes++ % FLAGS_AT_ONCE)
		return true;
	struct flag *flags = bytes <= sim->left ? realloc(actor->flags, wanted * sizeof *flags) : NULL;
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
	struct actor *actor = &sim->actors[rank];
	bool is_work = kind == CS_NODE_COPY || kind == CS_NODE_REDUCE;
	if (sim->added != CS_OK || (is_work && !amount))
		return;
	if (kind == CS_NODE_AWAIT && !can_await(sim, rank, peer, amount))
		sim->added = CS_BAD_INPUT;
	else if ((actor->count == actor->room && !grow(sim, actor, AT_ONCE)) ||
		 (kind == CS_NODE_PUBLISH && !grow_flags(sim, actor)))
		sim->added = CS_NO_MEMORY;
	else
		append(actor, (int)kind, amount, peer, 0);
}

enum cs_status
cs_sim_added(const struct cs_sim *sim)
{
	return sim->added;
}

/* ---- time --------------------------------------------------------------------------------------------------- */

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Picoseconds of so many bytes; with a time that is none LATEST. */
static int64_t
span(uint64_t bytes, int64_t femtoseconds)
{
	if (bytes >> 40 && femtoseconds && bytes / 1000 >= (uint64_t)(LATEST / femtoseconds))
		return LATEST;
	return (int64_t)(bytes / 1000) * femtoseconds + ((int64_t)(bytes % 1000) * femtoseconds + 500) / 1000;
}

/* From the first byte to the last. */
static int64_t
tail(uint64_t bytes, int64_t femtoseconds)
{
	return bytes > 1 ? span(bytes - 1, femtoseconds) : 0;
}

static void
fail(struct cs_sim *sim, enum cs_status status)
{
	if (sim->status == CS_OK)
		sim->status = status;
}

__attribute__((format(printf, 2, 3))) static void
complain(struct cs_sim *sim, const char *format, ...)
{
	va_list arguments;
	if (sim->status != CS_OK)
		return;
	va_start(arguments, format);
	vsnprintf(sim->result->text, sizeof sim->result->text, format, arguments);
	va_end(arguments);
	sim->status = CS_BAD_INPUT;
}

static void
put(struct cs_sim *sim, const struct cs_event *event)
{
	if (event->at > LATEST || event->last > LATEST)
		fail(sim, CS_UNSUPPORTED);
	else if (!cs_events_put(&sim->events, event, &sim->left))
		fail(sim, CS_NO_MEMORY);
}

/* A message asks at `at`; when its first byte passes. f messages in a row need no gap, but bytes follow each other. */
static int64_t
pass(struct port *port, const struct cs_loggp *cost, int64_t at, uint64_t bytes)
{
	int64_t length = tail(bytes, cost->G);
	int64_t first = later(later(at, port->free), port->turn - (cost->f - 1) * cost->g);
	port->free = first + length;
	port->turn = later(port->turn, first) + cost->g + length;
	return first;
}

/* What a node's ranks share, busy for `time` with each. */
static int64_t
serve(int64_t *free_at, int64_t at, int64_t time)
{
	int64_t first = later(*free_at, at);
	*free_at = first + time;
	return first;
}

/* ---- a rank's steps ----------------------------------------------------------------------------------------- */

static enum cs_level
level_of(const struct cs_sim *sim, int from, int to)
{
	return sim->actors[from].node == sim->actors[to].node ? CS_INTRA : CS_INTER;
}

static void
tell(struct cs_sim *sim, const struct actor *actor, int64_t start)
{
	if (sim->watch)
		sim->watch->step(sim->watch->context, (int)(actor - sim->actors), actor->next, start, actor->now);
}

static void
send(struct cs_sim *sim, struct actor *actor, const struct step *step)
{
	const struct cs_model *model = sim->model;
	int rank = (int)(actor - sim->actors);
	enum cs_level level = level_of(sim, rank, step->peer);
	const struct cs_loggp *cost = &sim->cost[level];
	bool is_shared = level == CS_INTRA ? model->bus && !sim->eager : model->nic_g || model->nic_G;
	actor->now += cost->o_send;
	struct cs_event event = { .bytes = step->bytes, .from = rank, .to = step->peer, .number = actor->events++,
				  .chain = actor->chain + 1, .request = (int32_t)step->request };
	event.at = pass(&actor->ports[level][OUT], cost, actor->now, step->bytes);
	event.last = event.at + tail(step->bytes, cost->G);
	event.stage = level == CS_INTRA ? STAGE_BUS : STAGE_NIC;
	actor->requests[step->request] =
		(struct request){ .at = event.last, .is_done = !is_shared, .level = (uint8_t)level };
	if (!is_shared) {
		event.at += cost->L;
		event.last += cost->L;
		event.stage = STAGE_ARRIVAL;
	}
	put(sim, &event);
	sim->result->messages++;
	sim->result->bytes += step->bytes;
	sim->result->inter_messages += level == CS_INTER;
	sim->result->inter_bytes += level == CS_INTER ? step->bytes : 0;
}

/* A receive and its message have met. */
static void
meet(struct cs_sim *sim, int to, int from, const struct cs_half *receive, const struct cs_half *message)
{
	struct request *request = &sim->actors[to].requests[receive->request];
	if (receive->bytes != message->bytes)
		complain(sim, "rank %d sends %llu bytes to rank %d, which expects %llu", from,
			 (unsigned long long)message->bytes, to, (unsigned long long)receive->bytes);
	request->at = message->at;
	request->chain = message->chain;
	request->is_done = true;
}

static void
receive(struct cs_sim *sim, struct actor *actor, const struct step *step)
{
	int rank = (int)(actor - sim->actors);
	struct cs_half mine = { .bytes = step->bytes, .request = (int32_t)step->request }, message;
	actor->requests[step->request] = (struct request){ .is_receive = true,
							   .level = (uint8_t)level_of(sim, rank, step->peer) };
	if (cs_match_take(&sim->match, rank, step->peer, false, &message))
		meet(sim, rank, step->peer, &mine, &message);
	else if (!cs_match_put(&sim->match, rank, step->peer, &mine, &sim->left))
		fail(sim, CS_NO_MEMORY);
}

/* False: not yet. */
static bool
wait_for(struct cs_sim *sim, struct actor *actor, const struct step *step)
{
	const struct request *request = &actor->requests[step->request];
	if (!request->is_done) {
		actor->awaits = (int32_t)step->request;
		return false;
	}
	actor->now = later(actor->now, request->at);
	if (request->is_receive) {
		actor->now += sim->model->level[request->level].o_recv;
		actor->chain = request->chain > actor->chain ? request->chain : actor->chain;
	}
	return true;
}

/* False: the bus has to say when it ends. */
static bool
work(struct cs_sim *sim, struct actor *actor, const struct step *step)
{
	const struct cs_model *model = sim->model;
	int64_t end = actor->now + span(step->bytes, step->kind == CS_STEP_COPY ? model->copy : model->reduce);
	if (!model->bus) {
		actor->now = end;
		return true;
	}
	actor->awaits = BUS;
	put(sim, &(struct cs_event){ .at = actor->now, .last = end, .bytes = step->bytes, .stage = STAGE_COPY,
				     .from = (int)(actor - sim->actors), .number = actor->events++ });
	return false;
}

static void advance(struct cs_sim *sim, struct actor *actor);

/* Those that wait for it go on, or wait for its next one. */
static void
publish(struct cs_sim *sim, struct actor *actor)
{
	int32_t waiter = actor->first_waiter;
	actor->flags[actor->published++] = (struct flag){ actor->now, actor->chain };
	actor->first_waiter = NOBODY;
	while (waiter != NOBODY) {
		struct actor *other = &sim->actors[waiter];
		waiter = other->next_waiter;
		advance(sim, other);
	}
}

/* False: not yet. */
static bool
await(struct cs_sim *sim, struct actor *actor, const struct step *step)
{
	struct actor *peer = &sim->actors[step->peer];
	if (peer->published < (int32_t)step->bytes) {
		actor->awaits = FLAG;
		actor->next_waiter = peer->first_waiter;
		peer->first_waiter = (int32_t)(actor - sim->actors);
		return false;
	}
	const struct flag *flag = &peer->flags[step->bytes - 1];
	actor->now = later(actor->now, flag->at) + sim->model->flag;
	actor->chain = flag->chain > actor->chain ? flag->chain : actor->chain;
	return true;
}

/* As far as the rank goes without news. */
static void
advance(struct cs_sim *sim, struct actor *actor)
{
	actor->awaits = NOTHING;
	for (; actor->next < actor->count && sim->status == CS_OK; actor->next++) {
		const struct step *step = &actor->steps[actor->next];
		int64_t start = actor->now;
		bool is_done = true;
		switch (step->kind) {
		case CS_STEP_SEND: send(sim, actor, step); break;
		case CS_STEP_RECV: receive(sim, actor, step); break;
		case CS_STEP_WAIT: is_done = wait_for(sim, actor, step); break;
		case CS_NODE_PUBLISH: publish(sim, actor); break;
		case CS_NODE_AWAIT: is_done = await(sim, actor, step); break;
		default: is_done = work(sim, actor, step); break;
		}
		if (!is_done)
			return;
		if (actor->now > LATEST)
			fail(sim, CS_UNSUPPORTED);
		tell(sim, actor, start);
	}
}

/* ---- a message's way ---------------------------------------------------------------------------------------- */

static void
end_work(struct cs_sim *sim, const struct cs_event *event)
{
	struct actor *actor = &sim->actors[event->from];
	int64_t start = actor->now, time = span(event->bytes, sim->model->bus);
	actor->now = later(event->last, serve(&sim->nodes[actor->node].bus, event->at, time) + time);
	tell(sim, actor, start);
	actor->next++;
	advance(sim, actor);
}

/* Past the first queue of its node: the sender may use its memory again, and L later it arrives. */
static void
leave(struct cs_sim *sim, struct cs_event *event)
{
	const struct cs_model *model = sim->model;
	struct actor *actor = &sim->actors[event->from];
	struct node *node = &sim->nodes[actor->node];
	struct request *request = &actor->requests[event->request];
	bool is_inter = event->stage == STAGE_NIC;
	int64_t time = is_inter ? tail(event->bytes, model->nic_G) : span(event->bytes, model->bus);
	int64_t first = is_inter ? serve(&node->card[OUT], event->at, time + model->nic_g)
				 : serve(&node->bus, event->at, time);
	/* The last byte passes as it comes, or when the queue has had time for all. */
	int64_t last = later(event->last, first + time);
	request->at = last;
	request->is_done = true;
	event->at = first + model->level[is_inter ? CS_INTER : CS_INTRA].L;
	event->last = last + model->level[is_inter ? CS_INTER : CS_INTRA].L;
	event->stage = STAGE_ARRIVAL;
	put(sim, event);
	if (actor->awaits == event->request)
		advance(sim, actor);
}

static void
arrive(struct cs_sim *sim, const struct cs_event *event)
{
	const struct cs_model *model = sim->model;
	struct actor *actor = &sim->actors[event->to];
	enum cs_level level = level_of(sim, event->from, event->to);
	int64_t first = event->at, last = event->last;
	if (level == CS_INTER) {
		int64_t time = tail(event->bytes, model->nic_G);
		first = serve(&sim->nodes[actor->node].card[IN], first, time + model->nic_g);
		last = later(last, first + time);
	}
	first = pass(&actor->ports[level][IN], &sim->cost[level], first, event->bytes);
	last = later(last, first + tail(event->bytes, sim->cost[level].G));
	struct cs_half message = { .bytes = event->bytes, .at = last, .chain = event->chain, .request = -1 }, mine;
	if (!cs_match_take(&sim->match, event->to, event->from, true, &mine)) {
		if (!cs_match_put(&sim->match, event->to, event->from, &message, &sim->left))
			fail(sim, CS_NO_MEMORY);
		return;
	}
	meet(sim, event->to, event->from, &mine, &message);
	if (actor->awaits == mine.request)
		advance(sim, actor);
}

static void
happen(struct cs_sim *sim, struct cs_event *event)
{
	switch (event->stage) {
	case STAGE_COPY: end_work(sim, event); break;
	case STAGE_BUS:
	case STAGE_NIC: leave(sim, event); break;
	default: arrive(sim, event); break;
	}
}

/* ---- a run -------------------------------------------------------------------------------------------------- */

static void
rewind_all(struct cs_sim *sim, const int64_t *starts)
{
	for (int rank = 0; rank < sim->ranks; rank++) {
		struct actor *actor = &sim->actors[rank];
		actor->now = starts ? starts[rank] : 0;
		actor->next = 0;
		actor->chain = actor->events = 0;
		actor->published = 0;
		actor->first_waiter = NOBODY;
		memset(actor->ports, 0, sizeof actor->ports);
	}
	memset(sim->nodes, 0, (size_t)sim->node_count * sizeof *sim->nodes);
	sim->left += sim->events.room * sizeof *sim->events.heap + sim->match.pair_room * sizeof *sim->match.pairs +
		     sim->match.node_room * sizeof *sim->match.nodes;
	cs_events_fini(&sim->events);
	cs_match_fini(&sim->match);
}

static void
judge(struct cs_sim *sim)
{
	static const char *const kinds[] = { "send", "recv", "wait", "copy", "reduce", "publish", "await" };
	for (int rank = 0; rank < sim->ranks && sim->status == CS_OK; rank++) {
		const struct actor *actor = &sim->actors[rank];
		if (actor->next < actor->count)
			complain(sim, "rank %d waits for ever in step %zu (%s, request %u)", rank, actor->next,
				 kinds[actor->steps[actor->next].kind], actor->steps[actor->next].request);
		sim->result->time = later(sim->result->time, actor->now);
		if (actor->chain > sim->result->rounds)
			sim->result->rounds = actor->chain;
	}
	const struct cs_match_pair *pair = cs_match_left_over(&sim->match);
	if (pair)
		complain(sim, "rank %d sends to rank %d what that never receives", pair->from, pair->to);
}

enum cs_status
cs_sim_run(struct cs_sim *sim, const struct cs_model *model, const int64_t *starts, const struct cs_sim_watch *watch,
	   struct cs_sim_result *result)
{
	struct cs_event event;
	memset(result, 0, sizeof *result);
	sim->model = model;
	memcpy(sim->cost, model->level, sizeof sim->cost);
	if (sim->eager)
		sim->cost[CS_INTRA].G = 0;
	sim->watch = watch;
	sim->result = result;
	sim->status = CS_OK;
	rewind_all(sim, starts);
	for (int rank = 0; rank < sim->ranks; rank++)
		advance(sim, &sim->actors[rank]);
	while (sim->status == CS_OK && cs_events_take(&sim->events, &event))
		happen(sim, &event);
	if (sim->status == CS_OK)
		judge(sim);
	return sim->status;
}

int64_t
cs_sim_end_of(const struct cs_sim *sim, int rank)
{
	return sim->actors[rank].now;
}
