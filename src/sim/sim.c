/* sim/sim.c — runs all ranks against a model: a discrete-event simulation. */
#include "sim/actor.h"

#include "sim/room.h"

#include <stdlib.h>
#include <string.h>

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

static void
forget(struct cs_sim *sim, struct cs_match *match)
{
	sim->left += match->pair_room * sizeof *match->pairs + match->node_room * sizeof
		     *match->nodes;
	cs_match_fini(match);
}

void
cs_sim_destroy(struct cs_sim *sim)
{
	if (!sim)
		return;
	if (sim->player)
		sim->player->destroy(sim);
	for (int rank = 0; sim->actors && rank < sim->ranks; rank++) {
		free(sim->actors[rank].steps);
		free(sim->actors[rank].requests);
		free(sim->actors[rank].flags);
	}
	cs_events_fini(&sim->events);
	forget(sim, &sim->match);
	for (int i = 0; i < CS_MEETINGS; i++)
		forget(sim, &sim->meetings[i]);
	free(sim->actors);
	free(sim->nodes);
	free(sim->groups);
	free(sim);
}

/* ---- a run ----------------------------------------------------------------------------------- */

void
cs_sim_set_alike(struct cs_sim *sim, enum cs_sim_alike alike, int ranks)
{
	sim->alike = alike;
	sim->alike_ranks = ranks;
}

/* A message to another row of nodes, as one that comes from another row to this one. */
static void
turn_back(const struct cs_sim *sim, struct cs_event *event)
{
	int rows = sim->ranks / sim->alike_ranks, row = event->to / sim->alike_ranks;
	event->to -= row * sim->alike_ranks;
	event->from += (sim->alike == CS_ALIKE_XOR ? row : (rows - row) % rows) * sim->alike_ranks;
}

/* A message has arrived: a request's, or a word. */
static void
arrive(struct cs_sim *sim, struct cs_event *event)
{
	if (sim->alike)
		turn_back(sim, event);
	int64_t last = cs_sim_arrive(sim, event);
	switch (event->request) {
	case CS_MESSAGE_READY: cs_progress_told(sim, event, last, CS_MEETING_READY); break;
	case CS_MESSAGE_RTS: cs_progress_told(sim, event, last, CS_MEETING_RTS); break;
	default:
		if (event->stream >= CS_STREAM_ANY)
			sim->player->deliver(sim, event, last);
		else
			cs_sim_deliver(sim, event, last);
		break;
	}
}

static void
happen(struct cs_sim *sim, struct cs_event *event)
{
	sim->time = event->at;
	switch (event->stage) {
	case CS_STAGE_COPY: cs_sim_end_work(sim, event); break;
	case CS_STAGE_BUS:
	case CS_STAGE_NIC: cs_sim_leave(sim, event); break;
	case CS_STAGE_UP:
	case CS_STAGE_DOWN: cs_sim_cross(sim, event); break;
	case CS_STAGE_ARRIVAL: arrive(sim, event); break;
	case CS_STAGE_GRANT: cs_progress_granted(sim, event); break;
	case CS_STAGE_LOOK: cs_progress_look(sim, event); break;
	case CS_STAGE_PLAY: sim->player->resume(sim, event); break;
	case CS_STAGE_LAND: sim->player->land(sim, event); break;
	default: break;
	}
}

static size_t
group_count(const struct cs_sim *sim)
{
	return ((size_t)sim->node_count + (size_t)sim->group_skipped - 1) /
	       (size_t)sim->group_nodes + 1;
}

enum cs_status
cs_sim_set_groups(struct cs_sim *sim, int nodes, int first, int64_t taper)
{
	if (sim->group_nodes)
		sim->left += group_count(sim) * sizeof *sim->groups;
	free(sim->groups);
	sim->groups = NULL;
	sim->group_nodes = nodes;
	sim->group_skipped = nodes - first;
	sim->taper = taper;
	if (nodes)
		sim->groups = cs_room_take(group_count(sim), sizeof *sim->groups, &sim->left);
	sim->group_nodes = sim->groups ? nodes : 0;
	return nodes && !sim->groups ? CS_NO_MEMORY : CS_OK;
}

static void
rewind_all(struct cs_sim *sim, const int64_t *starts)
{
	for (int rank = 0; rank < sim->ranks; rank++) {
		struct cs_sim_actor *actor = &sim->actors[rank];
		actor->now = starts ? starts[rank] : 0;
		actor->sends_until = actor->receives_until = -1;
		actor->next = 0;
		actor->chain = actor->events = 0;
		actor->published = 0;
		actor->first_waiter = CS_SIM_NOBODY;
		actor->polls_until = 0;
		actor->held = actor->looks = 0;
		actor->due_first = CS_SIM_NOBODY;
		actor->computes = sim->compute.time && sim->compute.looks != CS_SIM_ALWAYS;
		memset(actor->ports, 0, sizeof actor->ports);
	}
	memset(sim->nodes, 0, (size_t)sim->node_count * sizeof *sim->nodes);
	if (sim->group_nodes)
		memset(sim->groups, 0, group_count(sim) * sizeof *sim->groups);
	sim->time = 0;
	sim->left += sim->events.room * sizeof *sim->events.heap;
	cs_events_fini(&sim->events);
	forget(sim, &sim->match);
	for (int i = 0; i < CS_MEETINGS; i++)
		forget(sim, &sim->meetings[i]);
}

static void
judge(struct cs_sim *sim, const int64_t *starts)
{
	static const char *const kinds[] = { "send", "recv", "wait", "copy", "reduce", "repeat",
					     "tell", "hear", "publish", "await" };
	if (sim->player)
		sim->player->judge(sim);
	for (int rank = 0; rank < sim->ranks && sim->status == CS_OK; rank++) {
		struct cs_sim_actor *actor = &sim->actors[rank];
		if (actor->next < actor->count)
			cs_sim_complain(sim, "rank %d waits for ever in step %zu (%s, request %u)",
					rank, actor->next, kinds[actor->steps[actor->next].kind],
					actor->steps[actor->next].request);
		if (sim->compute.looks == CS_SIM_ALWAYS)
			actor->now = cs_sim_later(actor->now, (starts ? starts[rank] : 0) +
						  sim->compute.time);
		sim->result->time = cs_sim_later(sim->result->time, actor->now);
		if (actor->chain > sim->result->rounds)
			sim->result->rounds = actor->chain;
	}
	double apart = 0;
	for (int node = 0; node < sim->node_count; node++)
		apart += (double)(sim->nodes[node].last - sim->nodes[node].first);
	uint64_t stands_for = sim->alike ? (uint64_t)(sim->ranks / sim->alike_ranks) : 1;
	sim->result->inter_time = (int64_t)(apart * (double)stands_for / sim->node_count + 0.5);
	sim->result->messages *= stands_for;
	sim->result->bytes *= stands_for;
	sim->result->inter_messages *= stands_for;
	sim->result->inter_bytes *= stands_for;
	const struct cs_match_pair *pair = cs_match_left_over(&sim->match);
	if (pair)
		cs_sim_complain(sim, "rank %d sends to rank %d what that never receives",
				pair->from & ((1 << CS_STREAM_SHIFT) - 1), pair->to);
}

void
cs_sim_set_compute(struct cs_sim *sim, const struct cs_sim_compute *compute)
{
	sim->compute = *compute;
}

enum cs_status
cs_sim_run(struct cs_sim *sim, const struct cs_model *model, const int64_t *starts,
	   const struct cs_sim_watch *watch, struct cs_sim_result *result)
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
	if (sim->player)
		sim->player->begin(sim, starts);
	for (int rank = 0; rank < sim->ranks && !sim->player; rank++)
		cs_sim_advance(sim, &sim->actors[rank]);
	while (sim->status == CS_OK && cs_events_take(&sim->events, &event))
		happen(sim, &event);
	if (sim->status == CS_OK)
		judge(sim, starts);
	return sim->status;
}

int64_t
cs_sim_end_of(const struct cs_sim *sim, int rank)
{
	return sim->actors[rank].now;
}
