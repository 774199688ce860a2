/* sim/fragments.c — an alltoall between nodes whose senders choose, of what their node's ranks have
 * brought, what goes next (seed 002, 3.7.3). */
#include "sim/actor.h"
#include "sim/room.h"

#define MOST_LOCALS 64

/* State of one rank, as receiver and as sender. */
struct part {
	int64_t free;           /* the receiver has taken the last message that it was given */
	uint32_t queued, queued_segments; /* came before it had */
	bool is_ready, is_idle, has_sent, is_complete;
};

struct cs_sketch_exchange {
	struct cs_exchange_shape shape;
	int *rank_of;
	int32_t *place; /* by rank: node * ppn + local */
	/* a run */
	uint64_t *arrived;  /* by node: which locals have come */
	uint64_t *sent;     /* by node and other node: whose segments have left */
	uint64_t *received; /* by node: segments */
	int64_t *done_at;   /* by node: when its last segment was taken, or its last rank came */
	struct part *parts; /* by place */
};

static uint64_t
all_locals(const struct cs_sketch_exchange *exchange)
{
	return ~UINT64_C(0) >> (MOST_LOCALS - exchange->shape.ppn);
}

static bool
take_memory(struct cs_sim *sim, struct cs_sketch_exchange *exchange)
{
	size_t nodes = (size_t)exchange->shape.nodes, *left = &sim->left;
	size_t places = nodes * (size_t)exchange->shape.ppn, ranks = (size_t)sim->ranks;
	exchange->rank_of = cs_room_take(places, sizeof *exchange->rank_of, left);
	exchange->place = cs_room_take(ranks, sizeof *exchange->place, left);
	exchange->arrived = cs_room_take(nodes, sizeof *exchange->arrived, left);
	exchange->sent = cs_room_take(nodes * nodes, sizeof *exchange->sent, left);
	exchange->received = cs_room_take(nodes, sizeof *exchange->received, left);
	exchange->done_at = cs_room_take(nodes, sizeof *exchange->done_at, left);
	exchange->parts = cs_room_take(places, sizeof *exchange->parts, left);
	return exchange->rank_of && exchange->place && exchange->arrived && exchange->sent &&
	       exchange->received && exchange->done_at && exchange->parts;
}

void
cs_sim_add_exchange(struct cs_sim *sim, const struct cs_exchange_shape *shape)
{
	bool is_bad = shape->ppn < 1 || shape->ppn > MOST_LOCALS || !shape->least ||
		      !shape->segment || (int64_t)shape->nodes * shape->ppn > sim->ranks;
	if (sim->added != CS_OK)
		return;
	if (sim->exchange || is_bad) {
		sim->added = CS_BAD_INPUT;
		return;
	}
	struct cs_sketch_exchange *exchange = sim->exchange = calloc(1, sizeof *exchange);
	if (exchange)
		exchange->shape = *shape;
	if (!exchange || !take_memory(sim, exchange)) {
		sim->added = CS_NO_MEMORY;
		return;
	}
	for (int at = 0; at < shape->nodes * shape->ppn; at++) {
		exchange->rank_of[at] = shape->rank_of[at];
		exchange->place[shape->rank_of[at]] = at;
	}
	exchange->shape.rank_of = exchange->rank_of;
}

void
cs_exchange_rewind(struct cs_sim *sim)
{
	struct cs_sketch_exchange *exchange = sim->exchange;
	size_t nodes = (size_t)exchange->shape.nodes;
	for (size_t node = 0; node < nodes; node++) {
		exchange->arrived[node] = exchange->received[node] = 0;
		exchange->done_at[node] = 0;
	}
	for (size_t i = 0; i < nodes * nodes; i++)
		exchange->sent[i] = 0;
	for (size_t i = 0; i < nodes * (size_t)exchange->shape.ppn; i++)
		exchange->parts[i] = (struct part){ 0 };
}

void
cs_exchange_fini(struct cs_sim *sim)
{
	struct cs_sketch_exchange *exchange = sim->exchange;
	if (!exchange)
		return;
	free(exchange->rank_of);
	free(exchange->place);
	free(exchange->arrived);
	free(exchange->sent);
	free(exchange->received);
	free(exchange->done_at);
	free(exchange->parts);
	free(exchange);
}

/* --- who does what ---------------------------------------------------------------------------- */

static int
senders(const struct cs_sketch_exchange *exchange)
{
	return exchange->shape.ppn > 1 ? exchange->shape.ppn / 2 : 1;
}

/* The rank that takes what comes from a node so many nodes (from 1 on) below. */
static int
receiver(const struct cs_sketch_exchange *exchange, int node, int away)
{
	int ppn = exchange->shape.ppn;
	int receivers = ppn > 1 ? ppn - senders(exchange) : 1;
	return exchange->rank_of[node * ppn + ppn - 1 - (away - 1) % receivers];
}

/* --- what goes next --------------------------------------------------------------------------- */

struct run {
	int node, away;
	uint64_t mask;
	uint32_t rating; /* 0: there is none */
};

static uint64_t
run_from(uint64_t bits, int at)
{
	uint64_t rest = bits >> at;
	int length = ~rest ? __builtin_ctzll(~rest) : MOST_LOCALS;
	return (length < MOST_LOCALS ? (UINT64_C(1) << length) - 1 : ~UINT64_C(0)) << at;
}

/* Runs that cannot grow are above all others; then the length counts, and of two that are alike
 * what leaves less in pieces. */
static uint32_t
rate(const struct cs_sketch_exchange *exchange, uint64_t run, uint64_t gap)
{
	uint32_t length = (uint32_t)__builtin_popcountll(run);
	bool touches = (run & -run) == (gap & -gap) ||
		       __builtin_clzll(run) == __builtin_clzll(gap);
	if (run == gap)
		return 1024 + 2 * length;
	return length < exchange->shape.least ? 0 : 2 * length + touches;
}

/* The best run of what is ready for one node. */
static void
look_at_node(const struct cs_sketch_exchange *exchange, uint64_t unsent, uint64_t ready,
	     const struct run *where, struct run *best)
{
	while (unsent) {
		uint64_t gap = run_from(unsent, __builtin_ctzll(unsent)), left = ready & gap;
		unsent &= ~gap;
		while (left) {
			uint64_t run = run_from(left, __builtin_ctzll(left));
			uint32_t rating = rate(exchange, run, gap);
			left &= ~run;
			if (rating > best->rating)
				*best = (struct run){ where->node, where->away, run, rating };
		}
	}
}

/* False: nothing is left that this sender would ever send. */
static bool
choose(const struct cs_sketch_exchange *exchange, int node, int local, struct run *best)
{
	int nodes = exchange->shape.nodes, others = nodes - 1;
	uint64_t all = all_locals(exchange), here = exchange->arrived[node];
	bool has_more = false;
	*best = (struct run){ .rating = 0 };
	if (exchange->shape.waits && here != all)
		here = 0;
	for (int away = local + 1; away <= others; away += senders(exchange)) {
		struct run where = { .node = (node + away) % nodes, .away = away };
		uint64_t sent = exchange->sent[(size_t)node * (size_t)nodes + (size_t)where.node];
		has_more |= sent != all;
		look_at_node(exchange, all & ~sent, here & ~sent, &where, best);
		if (best->rating == 1024 + 2 * (uint32_t)exchange->shape.ppn)
			break; /* an entire buffer */
	}
	return has_more;
}

/* --- time ------------------------------------------------------------------------------------- */

/* If the node has received all messages, lets its ranks go on that have sent all of theirs. */
static void
go_on(struct cs_sim *sim, int node)
{
	struct cs_sketch_exchange *exchange = sim->exchange;
	int ppn = exchange->shape.ppn;
	uint64_t expected = (uint64_t)(exchange->shape.nodes - 1) * (uint64_t)ppn;
	if (exchange->received[node] < expected || exchange->arrived[node] != all_locals(exchange))
		return;
	for (int local = 0; local < ppn; local++) {
		struct part *part = &exchange->parts[node * ppn + local];
		struct cs_sim_actor *actor = &sim->actors[exchange->rank_of[node * ppn + local]];
		if (!part->has_sent || part->is_complete)
			continue;
		part->is_complete = true;
		actor->now = cs_sim_later(actor->now, exchange->done_at[node]) + sim->model->flag;
		cs_sim_put_look(sim, actor, CS_STAGE_EXCHANGED);
	}
}

static void
take(struct cs_sim *sim, int place, uint32_t messages, uint32_t segments, int64_t at)
{
	struct cs_sketch_exchange *exchange = sim->exchange;
	struct part *part = &exchange->parts[place];
	int node = place / exchange->shape.ppn;
	part->free = cs_sim_later(part->free, at) +
		     messages * sim->model->level[CS_INTER].o_recv;
	exchange->received[node] += segments;
	exchange->done_at[node] = cs_sim_later(exchange->done_at[node], part->free);
}

static void
pick(struct cs_sim *sim, struct cs_sim_actor *actor, int place)
{
	struct cs_sketch_exchange *exchange = sim->exchange;
	struct part *part = &exchange->parts[place];
	int node = place / exchange->shape.ppn, local = place % exchange->shape.ppn;
	struct run best = { .rating = 0 };
	bool has_more = local < senders(exchange) && choose(exchange, node, local, &best);
	if (has_more && !best.rating) {
		part->is_idle = true;
	} else if (has_more) {
		uint64_t bytes = (uint64_t)__builtin_popcountll(best.mask) *
				 exchange->shape.segment;
		exchange->sent[(size_t)node * (size_t)exchange->shape.nodes +
			       (size_t)best.node] |= best.mask;
		cs_sim_post(sim, actor, receiver(exchange, best.node, best.away), bytes,
			    CS_MESSAGE_FRAGMENT);
		cs_sim_put_look(sim, actor, CS_STAGE_PICK);
	} else {
		part->has_sent = true;
		go_on(sim, node);
	}
}

static void
be_ready(struct cs_sim *sim, struct cs_sim_actor *actor, int place)
{
	struct cs_sketch_exchange *exchange = sim->exchange;
	struct part *part = &exchange->parts[place];
	int ppn = exchange->shape.ppn, node = place / ppn;
	int64_t now = actor->now;
	part->is_ready = true;
	exchange->arrived[node] |= UINT64_C(1) << place % ppn;
	exchange->done_at[node] = cs_sim_later(exchange->done_at[node], now);
	if (part->queued)
		take(sim, place, part->queued, part->queued_segments, now);
	for (int local = 0; local < senders(exchange); local++) {
		struct part *sender = &exchange->parts[node * ppn + local];
		struct cs_sim_actor *other = &sim->actors[exchange->rank_of[node * ppn + local]];
		if (!sender->is_idle)
			continue;
		sender->is_idle = false;
		other->now = cs_sim_later(other->now, now + sim->model->flag);
		cs_sim_put_look(sim, other, CS_STAGE_PICK);
	}
	actor->now += sim->model->flag; /* a look at the others' */
	cs_sim_put_look(sim, actor, CS_STAGE_PICK);
}

void
cs_exchange_look(struct cs_sim *sim, const struct cs_event *event)
{
	struct cs_sim_actor *actor = &sim->actors[event->from];
	int place = sim->exchange->place[event->from];
	if (event->stage == CS_STAGE_READY)
		be_ready(sim, actor, place);
	else if (event->stage == CS_STAGE_PICK)
		pick(sim, actor, place);
	else
		cs_sim_go_on_left(sim, actor);
}

void
cs_exchange_arrived(struct cs_sim *sim, const struct cs_event *event, int64_t last)
{
	struct cs_sketch_exchange *exchange = sim->exchange;
	int place = exchange->place[event->to];
	struct part *part = &exchange->parts[place];
	uint32_t segments = (uint32_t)(event->bytes / exchange->shape.segment);
	if (!part->is_ready) {
		part->queued++;
		part->queued_segments += segments;
		return;
	}
	take(sim, place, 1, segments, last);
	go_on(sim, place / exchange->shape.ppn);
}
