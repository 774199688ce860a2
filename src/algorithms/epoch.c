/* algorithms/epoch.c — turns of a team's epochs: lateness, and the ranks' agreement on it. */
#include "algorithms/epoch.h"

#include "algorithms/team.h"
#include "base/wait.h"

#include <string.h>

/* --- measurements, of leaders ----------------------------------------------------------------- */

/* Add the sample before this call's, to which all ranks of the node have mostly come by now. */
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

/* Sum up the node's samples since the last turn. Late ranks take time only if arrivals are apart
 * and others wait: a rank that is ahead need not wait, and a wait may be for data on its way. So
 * lateness is the lesser of both means. */
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

/* Lateness within nodes or between them. Nodes have no common clock, but a late node's ranks wait
 * less. */
static uint64_t
lateness_of(const struct cs_epoch *epoch)
{
	uint64_t between = epoch->exchanged[CS_EXCHANGED_WAITED] -
			   ~epoch->exchanged[CS_EXCHANGED_WAITED_LESS];
	uint64_t within = epoch->exchanged[CS_EXCHANGED_LATE];
	return within > between ? within : between;
}

/* --- verdicts --------------------------------------------------------------------------------- */

/* Number of the call of turn `turn`, from 1 on. */
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

/* Publish the verdict of the turn after the last published one to the node. Waits until all of the
 * node have read the former verdict of that word. */
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

/* Publish the exchange under way if it is over; false: not yet. */
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

/* Class of a verdict. A class is left downwards at half of its limit, so that noise does not change
 * it. */
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

/* Put the verdict of the turn before this one into force. */
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
