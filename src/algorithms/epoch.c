/* algorithms/epoch.c turns a team's epochs: measures lateness, and has all ranks agree on it. */
#include "algorithms/epoch.h"

#include "algorithms/team.h"
#include "base/wait.h"

#include <string.h>

/* --- what a leader sees ----------------------------------------------------------------------- */

/* Adds the sample before this call's: all ranks of the node have come to that by now. */
static void
add_sample(struct cs_team *team, uint64_t number)
{
	struct cs_epoch *epoch = &team->epoch;
	struct cs_lateness seen;
	if (!cs_lateness_read(&team->node, number - CS_SAMPLE, &seen))
		return;
	epoch->samples++;
	epoch->apart_ns += seen.apart_ns;
	epoch->waited_ns = seen.waited_ns;
}

/* What the node has measured since the last turn. A rank that is ahead of others does not wait for
 * them, and one may wait for what is still on its way: it is late ranks that take time where both
 * are so, that they are apart and that others wait. */
static void
sum_up(struct cs_team *team)
{
	struct cs_epoch *epoch = &team->epoch;
	uint64_t apart = epoch->samples ? epoch->apart_ns / epoch->samples : 0;
	uint64_t waited = (epoch->waited_ns - epoch->waited_before) / epoch->limits.calls;
	epoch->exchanged[CS_EXCHANGED_LATE] = apart < waited ? apart : waited;
	epoch->exchanged[CS_EXCHANGED_WAITED] = waited;
	epoch->exchanged[CS_EXCHANGED_WAITED_LESS] = ~waited;
	epoch->exchanged[CS_EXCHANGED_SHARED] = team->node.is_oversubscribed;
	epoch->samples = epoch->apart_ns = 0;
	epoch->waited_before = epoch->waited_ns;
}

/* Nodes have clocks of their own, but all of a late node's ranks wait less than the others'. */
static uint64_t
lateness_of(const struct cs_epoch *epoch)
{
	uint64_t between = epoch->exchanged[CS_EXCHANGED_WAITED] -
			   ~epoch->exchanged[CS_EXCHANGED_WAITED_LESS];
	uint64_t within = epoch->exchanged[CS_EXCHANGED_LATE];
	return within > between ? within : between;
}

/* --- what all ranks of a node see ------------------------------------------------------------- */

/* The number of the call at which turn `turn` (from 1 on) was. */
static uint64_t
call_of_turn(const struct cs_epoch *epoch, uint64_t turn)
{
	return epoch->turn_at - (epoch->turns + 1 - turn) * epoch->limits.calls;
}

static _Atomic uint64_t *
verdict_of(struct cs_team *team, uint64_t turn)
{
	return &team->node.head->verdicts[turn % CS_VERDICTS_KEPT];
}

/* Tells the node the verdict of the turn after the one that was published last. The word has been
 * read by all of the node, or waits for that, which is an epoch or two ago. */
static void
publish(struct cs_team *team, struct cs_node_op *op)
{
	struct cs_epoch *epoch = &team->epoch;
	uint64_t turn = ++epoch->published;
	if (turn >= CS_VERDICTS_KEPT)
		cs_node_all_done_slow(op, cs_node_has_read(call_of_turn(epoch, turn + 1 -
									CS_VERDICTS_KEPT)));
	atomic_store_explicit(verdict_of(team, turn),
			      lateness_of(epoch) << 1 | epoch->exchanged[CS_EXCHANGED_SHARED],
			      memory_order_relaxed);
	cs_node_store(&team->node, &team->node.head->verdict_call, call_of_turn(epoch, turn));
}

/* Publishes what is under way as soon as it is over. */
static bool
go_on(struct cs_team *team, struct cs_node_op *op)
{
	struct cs_epoch *epoch = &team->epoch;
	if (epoch->published == epoch->turns)
		return true;
	if (team->shape.nodes > 1 && !team->host->test(&epoch->request))
		return false;
	publish(team, op);
	return true;
}

static void
wait_for_exchange(struct cs_team *team, struct cs_node_op *op)
{
	const struct cs_node_shape *shape = &team->node.shape;
	struct cs_wait wait = { .polls = shape->spin, .yields = CS_WAIT_AWAKE,
				.progress = team->host->progress };
	while (!go_on(team, op))
		cs_wait_turn(&wait);
}

/* A class is left downwards at half of what leads into it, so that noise does not change it. */
static enum cs_balance
class_of(const struct cs_epoch *epoch, uint64_t verdict)
{
	enum cs_balance now = epoch->imbalance;
	uint64_t moderate = epoch->limits.moderate_ns / (now >= CS_MODERATE ? 2 : 1);
	uint64_t strong = epoch->limits.strong_ns / (now == CS_STRONG ? 2 : 1);
	uint64_t lateness = verdict >> 1;
	bool are_cores_shared = verdict & 1;
	return lateness >= strong ? CS_STRONG
	       : lateness >= moderate && !are_cores_shared ? CS_MODERATE : CS_BALANCED;
}

/* The verdict of the turn before this one comes into force. */
static void
take_verdict(struct cs_team *team, struct cs_node_op *op)
{
	struct cs_epoch *epoch = &team->epoch;
	struct cs_node *node = &team->node;
	cs_node_wait(op, cs_team_leader(team), &node->head->verdict_call,
		     call_of_turn(epoch, epoch->turns));
	uint64_t verdict = atomic_load_explicit(verdict_of(team, epoch->turns),
						memory_order_relaxed);
	enum cs_balance imbalance = class_of(epoch, verdict);
	if (imbalance == epoch->imbalance)
		return;
	epoch->imbalance = imbalance;
	epoch->told(epoch->user, imbalance);
}

static void
turn(struct cs_team *team, struct cs_node_op *op)
{
	struct cs_epoch *epoch = &team->epoch;
	if (epoch->turns) {
		if (cs_team_is_leader(team))
			wait_for_exchange(team, op);
		take_verdict(team, op);
	}
	epoch->turns++;
	epoch->turn_at += epoch->limits.calls;
	if (!cs_team_is_leader(team))
		return;
	sum_up(team);
	if (team->shape.nodes > 1)
		team->host->max(team->leaders, epoch->exchanged, CS_EXCHANGED, &epoch->request);
	go_on(team, op);
}

static void
sample(void *user, struct cs_node_op *op)
{
	struct cs_team *team = user;
	struct cs_epoch *epoch = &team->epoch;
	cs_lateness_stamp(op);
	if (cs_team_is_leader(team)) {
		add_sample(team, op->number);
		go_on(team, op);
	}
	if (op->number == epoch->turn_at)
		turn(team, op);
}

void
cs_epoch_begin(struct cs_team *team, const struct cs_epoch_limits *limits,
	       void (*told)(void *user, enum cs_balance imbalance), void *user)
{
	team->epoch = (struct cs_epoch){ .limits = *limits, .told = told, .user = user };
	cs_lateness_sample(&team->node, sample, team);
	team->epoch.turn_at = team->node.sample.at - CS_SAMPLE + limits->calls;
}

void
cs_epoch_none(struct cs_team *team)
{
	memset(&team->epoch, 0, sizeof team->epoch);
	cs_lateness_sample(&team->node, NULL, NULL);
}

void
cs_epoch_end(struct cs_team *team)
{
	struct cs_epoch *epoch = &team->epoch;
	struct cs_wait wait = { .yields = CS_WAIT_AWAKE, .progress = team->host->progress };
	if (team->shape.nodes > 1 && cs_team_is_leader(team) && epoch->published < epoch->turns)
		while (!team->host->test(&epoch->request))
			cs_wait_turn(&wait);
	cs_epoch_none(team);
}
