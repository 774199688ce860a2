/* hier/hier.c — phases of collectives over several nodes. */
#include "algorithms/hier/hier.h"

#include "algorithms/hier/between.h"
#include "base/log.h"

#include <unistd.h>

#define NAP_NS 1000000 /* while an older operation is not over */

void
cs_hier_set_lanes(struct cs_op *op, int first, int lanes)
{
	struct cs_hier *hier = cs_hier_of(op);
	hier->first_lane = first;
	hier->lanes = lanes;
	hier->drives = op->team->lane >= first && op->team->lane < first + lanes;
}

/* Waits until the rank's part in older operations is over: while it is in the MPI, which makes
 * lanes, maybe nobody steps them, and other ranks may wait for them before they come. */
static void
end_older(const struct cs_op *op)
{
	const struct cs_team *team = op->team;
	const struct cs_node_shape *shape = &team->node.shape;
	struct cs_wait wait = { .polls = shape->spin, .yields = shape->yields, .nap_ns = NAP_NS,
				.call = &op->node };
	bool has_begun = op->node.extras & CS_OP_GOES_ON;
	while (team->node.under_way > has_begun) {
		team->host->progress();
		cs_wait_turn(&wait);
	}
}

int
cs_hier_lanes(struct cs_op *op, size_t wanted)
{
	struct cs_team *team = op->team;
	int lanes = cs_team_lanes(team, wanted);
	if (lanes > team->lanes && team->host->make_lanes &&
	    !(op->node.extras & CS_OP_NONBLOCKING)) {
		const void *outer = cs_wait_call;
		end_older(op);
		cs_wait_call = &op->node; /* waits in the MPI are for this call */
		team->host->make_lanes(team->everyone, lanes);
		cs_wait_call = outer;
		op->node.extras |= CS_OP_MADE_LANES;
	}
	return lanes < team->lanes ? lanes : team->lanes;
}

/* --- senders ---------------------------------------------------------------------------------- */

#define ERRORS 0 /* word of a sender's line; the others are the kind's */

/* They are spread over the node's ranks; the first is the leader. */
static int
local_of_sender(const struct cs_team *team, int node, int sender, int senders)
{
	int locals = cs_team_node_size(team, node);
	return (cs_team_leader_of(team, node) + sender * locals / senders) % locals;
}

static int
rank_of_sender(const struct cs_senders *senders, int node, int sender)
{
	const struct cs_team *team = ((const struct cs_op *)senders->op)->team;
	int local = local_of_sender(team, node, sender, senders->count);
	return team->shape.order[team->shape.first[node] + local];
}

static void
tell(const struct cs_senders *senders, uint64_t times, unsigned errors)
{
	struct cs_op *op = senders->op;
	struct cs_hier *hier = cs_hier_of(op);
	hier->line->word[ERRORS] = errors;
	cs_node_publish(&op->node, hier->line, cs_hier_now(hier)->here + times);
}

static bool
has_told(const struct cs_senders *senders, int sender, uint64_t times, unsigned *errors,
	 bool may_wait)
{
	struct cs_op *op = senders->op;
	uint64_t step = cs_hier_now(cs_hier_of(op))->here + times;
	int local = local_of_sender(op->team, op->team->shape.node, sender, senders->count);
	const struct cs_line *line;
	while (!(line = cs_node_look(&op->node, local, step))) {
		if (!may_wait)
			return false;
		cs_node_wait_awaited(&op->node);
	}
	*errors |= (unsigned)line->word[ERRORS] & (CS_TOLD_MORE | CS_TOLD_LESS);
	return true;
}

static uint64_t
most_tells(const struct cs_op *op)
{
	return (uint64_t)op->team->shape.nodes + CS_SENDERS_MOST;
}

static bool
are_too_many(const struct cs_op *op, uint64_t rounds)
{
	return rounds > CS_MOST_STEPS / (most_tells(op) + 3);
}

int
cs_hier_most_senders(const struct cs_op *op, size_t wanted)
{
	size_t most = (size_t)op->team->shape.ppn_min;
	most = most < CS_SENDERS_MOST ? most : CS_SENDERS_MOST;
	return wanted < most ? (int)wanted : (int)most;
}

int
cs_hier_senders(const struct cs_op *op, size_t wanted, size_t memory, uint64_t rounds)
{
	bool can = op->between && op->between->has_ports &&
		   memory <= op->team->node.shape.area_bytes && !are_too_many(op, rounds);
	return can ? cs_hier_most_senders(op, wanted) : 1;
}

static void
set_senders(struct cs_op *op, const struct cs_hier_senders *senders)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_shape *shape = &op->team->shape;
	op->senders = (struct cs_senders){ .count = senders->count, .self = -1,
					   .rank_of = rank_of_sender, .tell = tell,
					   .has_told = has_told, .op = op, .room = senders->memory,
					   .most = senders->never_meet ? 0 : most_tells(op) };
	for (int sender = 0; sender < senders->count; sender++)
		if (local_of_sender(op->team, shape->node, sender, senders->count) == shape->local)
			op->senders.self = sender;
	op->node.extras |= CS_OP_SENDERS;
	hier->first_lane = 0;
	hier->lanes = senders->are_heard ? senders->count : 1;
	hier->drives = op->senders.self >= 0;
}

void
cs_hier_limit_senders(struct cs_op *op, uint64_t rounds)
{
	if (!cs_hier_has_senders(op) || !are_too_many(op, rounds))
		return;
	op->node.extras &= ~(unsigned)CS_OP_SENDERS;
	cs_hier_set_lanes(op, 0, 1);
}

int
cs_hier_driver(const struct cs_op *op, int lane)
{
	const struct cs_team *team = op->team;
	return cs_hier_has_senders(op)
	       ? local_of_sender(team, team->shape.node, lane, op->senders.count)
	       : team->lane_local[lane];
}

/* Steps of a round between `here` and `arrived`, which senders tell (plan/build.h). */
static uint64_t
tells_of(const struct cs_op *op)
{
	return cs_hier_has_senders(op) ? op->senders.most : 0;
}

/* Slots of a round. */
static int
areas_of(struct cs_op *op)
{
	return cs_hier_of(op)->kind->areas + (cs_hier_has_senders(op) && op->senders.room);
}

/* --- phases ----------------------------------------------------------------------------------- */

static void
start(struct cs_op *op, const struct cs_hier_kind *kind, cs_phase *const *script, int first)
{
	struct cs_hier *hier = cs_hier_of(op);
	hier->kind = kind;
	hier->line = NULL;
	hier->step = 0;
	hier->needs_line = true;
	hier->is_led = false;
	hier->cow = -1;
	hier->told = (struct cs_cow_told){ 0 };
	hier->place = (struct cs_shared_place){ 0 };
	hier->round = 0;
	hier->next = hier->area = 0;
	hier->is_laid_out = false;
	hier->by_tree = 0;
	hier->hybrid = NULL;
	hier->pieces = 0;
	op->under_way = CS_UNDER_WAY_NOTHING;
	hier->again = script + first;
	cs_op_start(op, script);
	int areas = areas_of(op) ? areas_of(op) : 1;
	if (op->node.extras & CS_OP_NONBLOCKING)
		cs_node_reserve_area(&op->node, (uint64_t)(areas * (1 + kind->lag)));
}

void
cs_hier_start(struct cs_op *op, const struct cs_hier_kind *kind, int lanes, cs_phase *const *script,
	      int first)
{
	cs_hier_set_lanes(op, 0, lanes);
	start(op, kind, script, first);
}

void
cs_hier_start_by_senders(struct cs_op *op, const struct cs_hier_kind *kind,
			 const struct cs_hier_senders *senders, cs_phase *const *script, int first)
{
	if (senders->count > 1)
		set_senders(op, senders);
	else
		cs_hier_set_lanes(op, 0, 1);
	start(op, kind, script, first);
}

void
cs_hier_start_by_lanes(struct cs_op *op, const struct cs_hier_kind *kind, size_t bytes,
		       size_t wanted)
{
	bool is_worth_lanes = bytes >= op->team->node.facts.of[CS_LANES_BYTES];
	cs_hier_start(op, kind, is_worth_lanes ? cs_hier_lanes(op, wanted) : 1,
		      cs_hier_script, CS_HIER_SCRIPT_ROUND);
}

/* May the rounds have trees? The same on all ranks of the node. If a leader may take for others,
 * they are for short calls. */
static bool
may_grow(struct cs_op *op)
{
	const struct cs_hier *hier = cs_hier_of(op);
	return hier->kind->grow && hier->lanes == 1 && !cs_hier_has_senders(op) &&
	       op->team->shape.levels.count > 1 && !(hier->kind->shares && hier->rounds > 1);
}

void
cs_hier_share(struct cs_op *op, char *result, size_t bytes, bool is_led)
{
	struct cs_hier *hier = cs_hier_of(op);
	size_t cow = op->team->node.shape.cow;
	bool may_map = cow && bytes >= cow && is_led && !cs_node_is_watched(&op->node);
	if (may_grow(op) && bytes <= CS_SMALL) /* may come in the tree's lines */
		return;
	hier->place = cs_shared_find(result, bytes);
	hier->is_led = is_led && (hier->place.file || may_map);
	hier->result = result;
	hier->bytes = bytes;
	if (may_map && cs_team_is_leader(op->team))
		hier->cow = cs_cow_open(result, bytes, &hier->told);
}

static void
check(struct cs_op *op, bool is_done)
{
	if (is_done)
		return;
	cs_warn_local("a result's file in memory cannot be used (%m); ending the job");
	op->team->host->abort("no memory for a result");
}

void
cs_hier_write(struct cs_op *op, size_t at, const char *from, size_t bytes)
{
	struct cs_hier *hier = cs_hier_of(op);
	check(op, cs_cow_write(hier->cow, hier->result, at, from, bytes));
}

enum cs_status
cs_hier_open(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (hier->needs_line && !(hier->line = cs_node_try_line(&op->node)))
		return CS_AGAIN;
	if (hier->line && hier->kind->shares) {
		hier->line->word[1] = hier->told.file;
		hier->line->word[2] = hier->told.inode;
		cs_post_say_place(hier->line, hier->place);
	}
	return CS_OK;
}

unsigned
cs_hier_grow(struct cs_op *op, struct cs_tree *tree)
{
	(void)op, (void)tree;
	return CS_HIER_MEET | CS_HIER_HEAR;
}

/* Plants the tree of a round, if the node has levels. */
static void
plant(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_shape *shape = &op->team->shape;
	if (!may_grow(op))
		return;
	hier->tree = cs_op_memory(op, CS_OP_TREE, sizeof *hier->tree);
	cs_tree_begin(hier->tree, &shape->levels, CS_TREE_ALIKE, shape->local,
		      op->team->lane_local[hier->first_lane], 0);
	hier->by_tree = hier->kind->grow(op, hier->tree);
}

/* Lays the round out, and takes its slots of the area. */
enum cs_status
cs_hier_begin_round(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_hier_kind *kind = hier->kind;
	struct cs_hier_round *round = cs_hier_now(hier);
	int areas = areas_of(op);
	if (!cs_hier_is_brought(hier))
		return CS_OK;
	if (!hier->is_laid_out) {
		round->index = hier->round;
		round->here = hier->step + 1;
		round->arrived = hier->step + 2;
		if (kind->lay_out)
			kind->lay_out(op, round);
		round->arrived += tells_of(op);
		hier->is_laid_out = true;
	}
	for (; hier->area < areas; hier->area++)
		if (!(round->area[hier->area] = cs_node_try_area(&op->node, round->room)))
			return CS_AGAIN;
	round->turn = cs_node_area_turn(&op->node);
	if (cs_hier_has_senders(op) && areas)
		op->senders.memory = round->area[areas - 1];
	plant(op);
	hier->area = 0;
	hier->is_laid_out = false;
	return CS_OK;
}

enum cs_status
cs_hier_bring(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	return cs_hier_is_brought(hier) ? hier->kind->bring(op) : CS_OK;
}

void
cs_hier_is_here(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (!(hier->by_tree & CS_HIER_MEET) &&
	    (hier->lanes > 1 || !hier->drives || cs_hier_has_senders(op)))
		cs_node_publish(&op->node, hier->line, cs_hier_now(hier)->here);
}

enum cs_status
cs_hier_look_all(struct cs_op *op, uint64_t step, bool (*waits_for)(struct cs_op *op, int local))
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_node_shape *shape = &op->team->node.shape;
	for (; hier->next < shape->size; hier->next++)
		if (hier->next != shape->local && (!waits_for || waits_for(op, hier->next)) &&
		    !cs_node_look(&op->node, hier->next, step))
			return CS_AGAIN;
	hier->next = 0;
	return CS_OK;
}

enum cs_status
cs_hier_meet(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (!cs_hier_is_brought(hier))
		return CS_OK;
	bool by_tree = hier->by_tree & CS_HIER_MEET;
	if (by_tree && !cs_tree_collect(op, hier->tree, cs_hier_now(hier)->here))
		return CS_AGAIN;
	if (!hier->drives)
		return CS_OK;
	if (!by_tree &&
	    cs_hier_look_all(op, cs_hier_now(hier)->here, hier->kind->waits_for) == CS_AGAIN)
		return CS_AGAIN;
	if (!op->between && !cs_between_is_turn(op))
		return CS_AGAIN;
	op->under_way = CS_UNDER_WAY_NOTHING; /* if there is nothing to move */
	hier->kind->between(op, cs_hier_now(hier));
	return cs_plans_have_begun(op);
}

enum cs_status
cs_hier_between(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	return cs_hier_is_brought(hier) && hier->drives ? cs_between_go(op) : CS_OK;
}

enum cs_status
cs_hier_tell(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (!cs_hier_is_brought(hier))
		return CS_OK;
	if (hier->drives && hier->line) {
		if (hier->kind->tell)
			hier->kind->tell(op, hier->line);
		if (!(hier->by_tree & CS_HIER_HEAR))
			cs_node_publish(&op->node, hier->line, cs_hier_now(hier)->arrived);
	}
	return CS_OK;
}

/* Takes the lanes' parts of the round, in order. */
static enum cs_status
take_lanes(struct cs_op *op, const struct cs_hier_round *round)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_hier_kind *kind = hier->kind;
	for (; hier->next < hier->lanes; hier->next++) {
		uint64_t step = round->arrived;
		int lane = hier->first_lane + hier->next;
		int local = kind->source ? kind->source(op, round, lane, &step)
					 : cs_hier_driver(op, lane);
		const struct cs_line *line = hier->line;
		if (local != op->team->node.shape.local &&
		    !(line = cs_node_look(&op->node, local, step)))
			return CS_AGAIN;
		if (kind->take_lane)
			kind->take_lane(op, round, hier->next, line);
	}
	hier->next = 0;
	return CS_OK;
}

/* Hears along the tree, with a small vector. */
static bool
hear(struct cs_op *op, const struct cs_hier_round *round)
{
	struct cs_tree *tree = cs_hier_of(op)->tree;
	bool has_data = tree->stride && tree->stride <= CS_SMALL;
	return cs_tree_tell(op, tree, round->arrived, CS_TREE_ONE,
			    has_data ? round->area[0] : NULL);
}

static bool
is_last(const struct cs_hier *hier, const struct cs_hier_round *round)
{
	return round->index + 1 == hier->rounds;
}

static void
take_file(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	check(op, cs_cow_take(hier->cow, cs_cow_told_offset(hier->told), hier->result,
			      hier->bytes));
}

/* Waits until the leader has taken the round, if its result is this rank's, too, or that of all is
 * in a file. A rank that cannot open the file takes as usual. */
static enum cs_status
take_by_leader(struct cs_op *op, const struct cs_hier_round *round, bool *is_taken)
{
	struct cs_hier *hier = cs_hier_of(op);
	int leader = cs_team_leader(op->team);
	const struct cs_line *line = cs_node_look(&op->node, leader, round->arrived);
	if (!line)
		return CS_AGAIN;
	bool is_shared = cs_hier_is_shared(op, line);
	if (!is_shared && !round->index && !hier->told.file && line->word[1]) {
		hier->told = (struct cs_cow_told){ line->word[1], line->word[2] };
		hier->cow = cs_cow_attach(cs_node_rank(&op->team->node, leader)->pid, hier->told,
					  hier->bytes);
	}
	*is_taken = is_shared || hier->cow >= 0;
	if (!*is_taken || (!is_shared && !is_last(hier, round)))
		return CS_OK; /* a file: all at the end */
	if (!cs_node_look(&op->node, leader, round->arrived + 1))
		return CS_AGAIN;
	if (hier->kind->compare) {
		int first = hier->first_lane;
		for (int lane = first; lane < first + hier->lanes; lane++)
			hier->kind->compare(op, cs_node_look(&op->node, cs_hier_driver(op, lane),
							     round->arrived));
	}
	if (!is_shared)
		take_file(op);
	else if (is_last(hier, round))
		cs_shared_count();
	return CS_OK;
}

/* Leader: after its own part. */
static void
lead(struct cs_op *op, const struct cs_hier_round *round)
{
	struct cs_hier *hier = cs_hier_of(op);
	bool is_complete = hier->cow >= 0 && is_last(hier, round);
	if (hier->cow >= 0)
		hier->kind->write(op, round);
	if (is_complete)
		cs_cow_seal(hier->cow);
	cs_node_publish(&op->node, hier->line, round->arrived + 1);
	if (is_complete)
		take_file(op);
}

enum cs_status
cs_hier_take(struct cs_op *op)
{
	bool is_leader = cs_team_is_leader(op->team), is_taken = false;
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_hier_kind *kind = hier->kind;
	const struct cs_hier_round *round = cs_hier_taken(hier);
	if (!round || (kind->takes && !kind->takes(op)))
		return CS_OK;
	struct cs_hybrid *hybrid = hier->hybrid;
	if (hybrid && hybrid->has_come)
		return cs_copy_out_take(op, round);
	bool by_tree = hier->by_tree & CS_HIER_HEAR;
	if (by_tree && !hear(op, round))
		return CS_AGAIN;
	if (hybrid && !hybrid->is_decided && cs_copy_out_decide(op, round) == CS_AGAIN)
		return CS_AGAIN;
	hybrid = hier->hybrid;
	if (hier->is_led && !is_leader && take_by_leader(op, round, &is_taken) == CS_AGAIN)
		return CS_AGAIN;
	if (hybrid && is_taken)
		hybrid->is_there = true;
	else if (is_taken)
		return CS_OK;
	else if (!by_tree && take_lanes(op, round) == CS_AGAIN)
		return CS_AGAIN;
	if (hybrid)
		return cs_copy_out_take(op, round);
	if (kind->take && !cs_hier_writes(op))
		kind->take(op, round);
	if (hier->is_led && is_leader)
		lead(op, round);
	return CS_OK;
}

enum cs_status
cs_hier_next(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_hier_round *taken = cs_hier_taken(hier);
	if (cs_hier_is_brought(hier))
		hier->step = cs_hier_now(hier)->arrived + hier->kind->shares + hier->pieces;
	if (taken && areas_of(op))
		cs_node_area_done(&op->node, taken->room, (uint64_t)areas_of(op));
	if (++hier->round < hier->rounds + (uint64_t)hier->kind->lag) {
		op->phase = hier->again;
		if (hier->pieces)
			cs_node_done(&op->node, hier->step); /* for the rings of others */
	} else {
		cs_node_end(&op->node);
	}
	return CS_OK;
}

/* The leader keeps its file open until all have opened it. */
enum cs_status
cs_hier_close(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (hier->cow < 0)
		return CS_OK;
	if (cs_hier_writes(op) &&
	    !cs_node_are_done(&op->node, cs_node_has_read(op->node.number)))
		return CS_AGAIN;
	close(hier->cow);
	hier->cow = -1;
	return CS_OK;
}

cs_phase *const cs_hier_script[] = { cs_hier_open, CS_HIER_ROUND_PHASES, cs_hier_close, NULL };
