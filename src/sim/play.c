/* sim/play.c — gives virtual ranks their turns in simulated time. */
#include "sim/play_parts.h"
#include "sim/room.h"
#include "topo/node_cost.h"

#include <stdlib.h>
#include <string.h>

#define PAGE ((size_t)4096)

static _Thread_local struct cs_play_rank *current;

struct cs_play_rank *
cs_play_current(void)
{
	return current;
}

/* --- turns ------------------------------------------------------------------------------------ */

static void
give_turn(struct cs_play_rank *rank, int64_t at)
{
	struct cs_sim *sim = rank->play->sim;
	struct cs_sim_actor *actor = cs_play_actor(rank);
	rank->turn = actor->events++;
	rank->turn_at = cs_sim_later(at, sim->time);
	cs_sim_put(sim, &(struct cs_event){ .at = rank->turn_at, .last = rank->turn_at,
					    .stage = CS_STAGE_PLAY, .from = cs_play_number(rank),
					    .number = rank->turn });
}

void
cs_play_wake(struct cs_play_rank *rank, int64_t at)
{
	rank->is_behind = rank->is_behind || rank->state == CS_PLAY_STEPS;
	if (rank->state == CS_PLAY_WAITS && at < rank->turn_at)
		give_turn(rank, at);
}

/* All steps that the actor has are over. */
static void
is_idle(struct cs_sim *sim, struct cs_sim_actor *actor)
{
	struct cs_play_rank *rank = &cs_play_of(sim)->ranks[actor - sim->actors];
	if (rank->state != CS_PLAY_STEPS)
		return;
	if (rank == current && actor->now <= sim->time)
		rank->state = CS_PLAY_RUNS;
	else
		give_turn(rank, actor->now);
}

static void
stay(struct cs_play_rank *rank, enum cs_play_state state)
{
	while (rank->state == state || rank->play->sim->status != CS_OK)
		cs_fiber_yield();
}

void
cs_play_do_steps(struct cs_play_rank *rank)
{
	rank->does = true;
	rank->state = CS_PLAY_STEPS;
	cs_sim_advance(rank->play->sim, cs_play_actor(rank));
	stay(rank, CS_PLAY_STEPS);
}

void
cs_play_catch_up(struct cs_play_rank *rank)
{
	struct cs_sim_actor *actor = cs_play_actor(rank);
	rank->does = true;
	if (actor->now <= rank->play->sim->time)
		return;
	rank->state = CS_PLAY_STEPS;
	give_turn(rank, actor->now);
	stay(rank, CS_PLAY_STEPS);
}

void
cs_play_give_up(struct cs_play_rank *rank, const char *why)
{
	cs_sim_complain(rank->play->sim, "rank %d: %s", cs_play_number(rank), why);
	for (;;)
		cs_fiber_yield();
}

void
cs_play_drop_steps(struct cs_play_rank *rank)
{
	struct cs_sim_actor *actor = cs_play_actor(rank);
	/* Requests that are held need theirs. */
	if (!actor->held && actor->next == actor->count)
		actor->next = actor->count = 0;
}

void
cs_play_settle(struct cs_play_rank *rank)
{
	struct cs_sim *sim = rank->play->sim;
	for (int reduces = 0; reduces < 2; reduces++) {
		size_t bytes = rank->owed[reduces];
		if (!bytes)
			continue;
		rank->owed[reduces] = 0;
		rank->owed_time = 0;
		cs_play_drop_steps(rank);
		cs_sim_add_step(sim, cs_play_number(rank),
				reduces ? CS_NODE_REDUCE : CS_NODE_COPY, 0, bytes);
		if (sim->added != CS_OK)
			cs_sim_fail(sim, sim->added);
		cs_play_do_steps(rank);
	}
	if (rank->owes_plan && sim->nodes[cs_play_actor(rank)->node].has_messages)
		cs_sim_note_inter(sim, cs_play_actor(rank), sim->time, cs_play_actor(rank)->now);
	rank->owes_plan = false;
}

/* Puts work off until it takes as long as a flag, and as a small part of what was done in a row, or
 * something else takes time: thousands of copies in a row are few events. */
#define ROW_PART 8

void
cs_play_do_work(struct cs_play_rank *rank, bool reduces, size_t bytes)
{
	const struct cs_model *model = rank->play->sim->model;
	struct cs_play_counts *counts = &rank->play->counts;
	*(reduces ? &counts->reduced : &counts->copied) += bytes;
	rank->owed[reduces] += bytes;
	rank->owed_time += (double)bytes * (double)(reduces ? model->reduce : model->copy);
	if (rank->owed_time < 1e3 * (double)model->flag ||
	    rank->owed_time * ROW_PART < rank->row)
		return;
	rank->row += rank->owed_time;
	cs_play_settle(rank);
}

void
cs_play_do_plan_work(struct cs_play_rank *rank, bool reduces, size_t bytes)
{
	rank->owes_plan = true;
	cs_play_do_work(rank, reduces, bytes);
}

/* --- what a rank awaits ----------------------------------------------------------------------- */

/* Is it there? *delay: from when it is, if the rank does not look for it itself. If there is no
 * word of which to tell, whatever others do may be it. */
static bool
is_there(struct cs_play_rank *rank, bool is_active, int64_t *delay)
{
	struct cs_node_op *op = &rank->op.node;
	const struct cs_awaited *awaited = &op->awaited;
	*delay = rank->play->sim->model->flag;
	if (rank->word) {
		*delay = rank->is_line ? 0 : *delay;
		return atomic_load(rank->word) >= rank->target;
	}
	if (rank->waits_for_any)
		return is_active;
	if (awaited->local >= 0) {
		const struct cs_line *line = &cs_node_rank(op->node, awaited->local)
			->lines[op->number % CS_LINES];
		*delay = 0;
		return atomic_load(&line->seq) >= cs_node_tag(op, awaited->tag);
	}
	if (awaited->local == CS_AWAITS_FLAG)
		return atomic_load(awaited->flag) >= awaited->tag;
	return awaited->local == CS_AWAITS_ALL ? cs_node_is_done(op, awaited->tag) : is_active;
}

void
cs_play_wake_node(struct cs_play *play, int node, bool is_active)
{
	const struct cs_shape *shape = &play->shape;
	for (int at = shape->first[node]; at < shape->first[node + 1]; at++) {
		struct cs_play_rank *rank = &play->ranks[shape->order[at]];
		int64_t delay;
		bool is_deaf = cs_play_number(rank) == play->options.deaf;
		rank->is_behind = rank->is_behind || is_active;
		if (rank->state == CS_PLAY_WAITS && !is_deaf && is_there(rank, is_active, &delay))
			cs_play_wake(rank, play->sim->time + delay);
	}
}

/* A wait drives the rank's messages. It is none if something has come since the rank looked for it,
 * in a turn before. */
static void
wait(struct cs_play_rank *rank, bool for_any)
{
	struct cs_sim_actor *actor = cs_play_actor(rank);
	int64_t delay;
	rank->noise++;
	cs_play_settle(rank);
	rank->row = 0;
	bool is_here = !for_any && (rank->is_behind || is_there(rank, false, &delay)) &&
		       cs_play_number(rank) != rank->play->options.deaf;
	if (is_here && (rank->does || !rank->has_stayed)) {
		rank->has_stayed = !rank->does;
		return;
	}
	rank->waits_for_any = for_any;
	rank->turn_at = INT64_MAX;
	rank->state = CS_PLAY_WAITS;
	actor->awaits = CS_SIM_FLAG;
	cs_progress_enter(rank->play->sim, actor);
	if (is_here) /* and it was not that */
		cs_play_wake(rank, rank->play->sim->time + rank->play->sim->model->flag + 1);
	if (rank->known_at != INT64_MAX)
		cs_play_wake(rank, rank->known_at);
	stay(rank, CS_PLAY_WAITS);
	rank->waits_for_any = rank->has_stayed = false;
}

/* The host's progress, within a phase that waits: whatever comes next. */
void
cs_play_progress(void)
{
	wait(current, true);
}

static struct cs_play_rank *
rank_of(struct cs_node_op *op)
{
	const struct cs_op *whole =
		(struct cs_op *)(void *)((char *)op - offsetof(struct cs_op, node));
	return (struct cs_play_rank *)(void *)whole->team;
}

static void
wait_for_word(struct cs_node_op *op, const _Atomic uint64_t *word, uint64_t target, bool is_line)
{
	struct cs_play_rank *rank = rank_of(op);
	cs_play_settle(rank);
	if (atomic_load(word) >= target && cs_play_number(rank) != rank->play->options.deaf)
		return;
	rank->word = word;
	rank->target = target;
	rank->is_line = is_line;
	wait(rank, true);
	rank->word = NULL;
}

void
cs_play_end(const char *why)
{
	cs_play_give_up(current, why);
}

/* --- what phases tell ------------------------------------------------------------------------- */

static void
told(struct cs_node_op *op, int local, uint64_t step)
{
	struct cs_play_rank *rank = rank_of(op);
	struct cs_play_counts *counts = &rank->play->counts;
	uint64_t tag = cs_node_tag(op, step);
	if (tag <= rank->heard[local])
		return;
	rank->heard[local] = tag;
	rank->noise++;
	if (local == op->node->shape.local) {
		if (rank->row > 0)
			cs_play_settle(rank);
		rank->row = 0;
		rank->is_active = true;
		counts->published++;
		return;
	}
	counts->heard++;
	cs_play_settle(rank);
	rank->row = 0;
	cs_play_actor(rank)->now += rank->play->sim->model->flag;
	cs_play_catch_up(rank);
}

static bool
work(struct cs_node_op *op, bool reduces, size_t bytes)
{
	struct cs_play_rank *rank = rank_of(op);
	rank->noise++;
	cs_play_do_work(rank, reduces, bytes);
	rank->paid += reduces && rank->play->options.moves ? bytes : 0;
	return rank->play->options.moves;
}

/* Readers of one owner at a time wait for each other's locks on its pages. */
static void
read_memory(struct cs_node_op *op, int local, void *to, uint64_t remote, size_t bytes)
{
	struct cs_play_rank *rank = rank_of(op);
	struct cs_play *play = rank->play;
	const struct cs_model *model = play->sim->model;
	const struct cs_shape *shape = &rank->team.shape;
	struct cs_sim_actor *actor = cs_play_actor(rank);
	int64_t pages = (int64_t)((bytes + PAGE - 1) / PAGE), others = 0;
	if (!to)
		return; /* of a slot: its work is noted */
	cs_play_settle(rank);
	for (int at = shape->first[shape->node]; at < shape->first[shape->node + 1]; at++) {
		const struct cs_play_rank *other = &play->ranks[shape->order[at]];
		others += other->reads_of == local && other->reads_until > actor->now;
	}
	actor->now += model->cma + pages * (model->cma_page + others * model->cma_crowd);
	rank->reads_of = local;
	rank->reads_until = actor->now + (int64_t)((double)bytes * (double)model->copy / 1e3);
	rank->noise++; /* its turn is over then */
	cs_play_catch_up(rank);
	cs_play_do_work(rank, false, bytes);
	cs_play_settle(rank);
	if (play->options.moves)
		memcpy(to, (const void *)(uintptr_t)remote, bytes);
}

static const void *
keep(struct cs_node_op *op, const void *from, size_t bytes)
{
	return cs_play_keep(rank_of(op), from, bytes);
}

const struct cs_node_watch cs_play_watch = { .told = told, .work = work,
					     .wait = wait_for_word, .read = read_memory,
					     .keep = keep };

/* --- a rank's call ---------------------------------------------------------------------------- */

static void
finish(struct cs_play_rank *rank)
{
	for (;;) {
		rank->known_at = INT64_MAX;
		rank->does = rank->is_behind = false;
		if (cs_op_step(&rank->op) == CS_OK)
			return;
		/* A look that has found nothing wakes nobody. */
		rank->is_active = rank->is_active || rank->does;
		wait(rank, false);
	}
}

static void
body(void *context)
{
	struct cs_play_rank *rank = context;
	struct cs_op *op = &rank->op;
	cs_play_make_call(rank);
	rank->play->algorithm->run(op, rank->play->params);
	if (op->node.extras & CS_OP_GOES_ON)
		finish(rank);
	cs_play_settle(rank);
	cs_node_op_fini(&op->node);
	cs_op_fini(op);
	rank->is_active = true;
	rank->state = CS_PLAY_OVER;
}

/* Has the rank come further in its turn, which others of its node may see? */
static bool
has_moved(struct cs_play_rank *rank)
{
	bool is_same = rank->op.phase == rank->phase;
	rank->phase = rank->op.phase;
	return !is_same || rank->is_active;
}

static void
resume(struct cs_sim *sim, const struct cs_event *event)
{
	struct cs_play_rank *rank = &cs_play_of(sim)->ranks[event->from];
	struct cs_sim_actor *actor = cs_play_actor(rank);
	if (event->number != rank->turn || rank->state == CS_PLAY_OVER)
		return;
	actor->now = cs_sim_later(actor->now, event->at);
	actor->awaits = CS_SIM_NOTHING;
	rank->state = CS_PLAY_RUNS;
	rank->is_active = false;
	uint32_t noise = rank->noise;
	current = rank;
	cs_fiber_resume(rank->fiber);
	current = NULL;
	bool moves = has_moved(rank);
	/* A plan's messages change nothing on the node. */
	if (sim->status == CS_OK && (moves || noise != rank->noise))
		cs_play_wake_node(rank->play, rank->team.shape.node, moves);
}

/* --- a run ------------------------------------------------------------------------------------ */

#ifdef __SANITIZE_ADDRESS__
#define STACK ((size_t)256 << 10)
#else
#define STACK ((size_t)64 << 10)
#endif

/* By measured times an algorithm would choose otherwise each time: cma_min has to say. */
static bool
may_single_copy(const struct cs_play *play)
{
	const struct cs_param *params = play->algorithm->params;
	for (int i = 0; i < CS_MAX_PARAMS && params[i].name; i++)
		if (!strcmp(params[i].name, "cma_min"))
			return play->options.params[i] && play->sim->model->cma;
	return false;
}

/* As comm/teams/ sets it where a node is looked at, by this model. */
static int
readers_of(const struct cs_play *play)
{
	const struct cs_model *model = play->sim->model;
	const struct cs_node_model node = { .b_mem = model->copy, .cma_crowd = model->cma_crowd };
	int least = play->shape.nodes == 1 ? CS_LEVEL_MOST + 1 : CS_LEVELS_LEAST;
	return play->shape.ppn_max >= least && node.cma_crowd ? cs_node_readers(&node) : 0;
}

static void
begin(struct cs_sim *sim, const int64_t *starts)
{
	struct cs_play *play = cs_play_of(sim);
	play->counts = (struct cs_play_counts){ 0 };
	cs_play_keep_words(play);
	/* So what comes at the same time comes in one order to all nodes that are alike. */
	sim->events.row = cs_lanes_turn(play->call->ppn) * play->call->ppn;
	for (int number = 0; number < play->played; number++) {
		struct cs_play_rank *rank = &play->ranks[number];
		struct cs_sim_actor *actor = cs_play_actor(rank);
		actor->count = actor->next = 0;
		actor->now = starts ? starts[number] : 0;
		rank->state = CS_PLAY_STEPS;
		rank->paid = rank->owed[0] = rank->owed[1] = 0;
		rank->owed_time = rank->row = 0;
		rank->owes_plan = false;
		rank->reads_until = 0;
		rank->team.has_cma = may_single_copy(play);
		rank->team.node.readers = readers_of(play);
		cs_fiber_drop(rank->fiber);
		rank->fiber = cs_fiber_make(body, rank, play->stacks + STACK * (size_t)number,
					    STACK);
		if (!rank->fiber)
			cs_sim_fail(sim, CS_NO_MEMORY);
		give_turn(rank, actor->now);
	}
	play->runs++;
}

static void
judge(struct cs_sim *sim)
{
	struct cs_play *play = cs_play_of(sim);
	for (int number = 0; number < play->played; number++) {
		const struct cs_play_rank *rank = &play->ranks[number];
		const struct cs_awaited *awaited = &rank->op.node.awaited;
		if (rank->state == CS_PLAY_WAITS)
			cs_sim_complain(sim, "rank %d waits for ever for %s", number,
					awaited->local >= 0 ? "a line of its node"
					: awaited->local == CS_AWAITS_MESSAGE
						? "a message" : "a word of its node");
	}
}

static void
left(struct cs_sim *sim, struct cs_sim_actor *actor, int64_t at)
{
	cs_play_wake(&cs_play_of(sim)->ranks[actor - sim->actors], at);
}

static void
destroy(struct cs_sim *sim)
{
	struct cs_play *play = cs_play_of(sim);
	for (int number = 0; play->ranks && number < play->played; number++)
		cs_fiber_drop(play->ranks[number].fiber);
	cs_play_drop_buffers(play);
	cs_play_drop_teams(play);
	free(play->stacks);
	free(play);
}

static const struct cs_sim_player player = {
	.begin = begin, .resume = resume, .is_idle = is_idle, .deliver = cs_play_deliver,
	.land = cs_play_land, .met = cs_play_met, .left = left, .judge = judge,
	.destroy = destroy,
};

/* --- creating --------------------------------------------------------------------------------- */

const char *
cs_play_unmet(const struct cs_algorithm *algorithm)
{
	if (!algorithm->run)
		return "is no algorithm with phases";
	if (algorithm->needs.verbs)
		return "needs multicast, which is not simulated";
	return NULL;
}

/* Why some nodes cannot stand for all; NULL: they can. A receive names its sender's node, so that
 * of an exchange that is not alike something is never received. */
static const char *
unlike(const struct cs_sim_call *call, const struct cs_algorithm *algorithm,
       const struct cs_play_options *options)
{
	const struct cs_coll_info *info = &cs_colls[call->coll];
	if (!options->alike)
		return NULL;
	if (!algorithm->inner || options->moves)
		return "has no plan between nodes, as are alike";
	if (info->rooted || cs_coll_is_scan(info) || call->is_cyclic ||
	    call->distribution != CS_REGULAR)
		return "its nodes are not alike";
	int row = cs_lanes_turn(call->ppn);
	return call->nodes > row && call->nodes % row
	       ? "leaders of nodes take turns: nodes are alike only in whole rows of them" : NULL;
}

static enum cs_status
make(struct cs_play *play)
{
	size_t ranks = (size_t)play->played;
	play->ranks = cs_play_zeros(ranks * sizeof *play->ranks);
	play->stacks = cs_play_zeros(ranks * STACK);
	if (!play->ranks || !play->stacks)
		return CS_NO_MEMORY;
	enum cs_status status = cs_play_make_teams(play);
	return status == CS_OK ? cs_play_make_buffers(play) : status;
}

enum cs_status
cs_play_create(struct cs_sim **made, struct cs_sim_call *call, const struct cs_algorithm *algorithm,
	       const struct cs_play_options *options, size_t budget, const char **why)
{
	struct cs_sim *sim = NULL;
	int inner = 0;
	*made = NULL;
	if ((*why = cs_play_unmet(algorithm)) || (*why = unlike(call, algorithm, options)))
		return CS_UNSUPPORTED;
	enum cs_status status = cs_sim_create(&sim, call->ranks, call->node_of, budget);
	if (status != CS_OK)
		return status;
	struct cs_play *play = calloc(1, sizeof *play);
	if (!play) {
		cs_sim_destroy(sim);
		return CS_NO_MEMORY;
	}
	while (algorithm->inner && algorithm->inner->params[inner].name)
		inner++;
	int row = cs_lanes_turn(call->ppn),
	    nodes = options->alike && call->nodes > row ? row : call->nodes;
	*play = (struct cs_play){ .sim = sim, .call = call, .algorithm = algorithm,
				  .options = *options, .params = options->params + inner,
				  .lanes = call->ppn < CS_LANES ? call->ppn : CS_LANES,
				  .played = nodes * call->ppn,
				  .played_nodes = nodes };
	if (nodes < call->nodes)
		cs_sim_set_alike(sim, options->alike, play->played);
	sim->play = play;
	sim->player = &player;
	status = make(play);
	if (status == CS_UNSUPPORTED)
		*why = "too large: a slot has no room for an element of each rank";
	if (status != CS_OK)
		cs_sim_destroy(sim);
	else
		*made = sim;
	return status;
}

struct cs_play_counts
cs_play_counts(const struct cs_sim *sim)
{
	const struct cs_play *play = cs_play_of(sim);
	uint64_t rows = (uint64_t)(sim->ranks / play->played);
	return (struct cs_play_counts){ .copied = rows * play->counts.copied,
					.reduced = rows * play->counts.reduced,
					.published = rows * play->counts.published,
					.heard = rows * play->counts.heard };
}

int
cs_play_wrong_rank(struct cs_sim *sim)
{
	struct cs_play *play = cs_play_of(sim);
	for (int rank = 0; play->options.moves && rank < play->played; rank++)
		if (!cs_play_is_right(&play->ranks[rank]))
			return rank;
	return -1;
}
