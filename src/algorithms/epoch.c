/* algorithms/epoch.c — a team's epochs: lateness, the words of ranks, and the agreement on them. */
#include "algorithms/epoch.h"

#include "algorithms/team.h"
#include "base/wait.h"

#include <string.h>

/* Calls from a sample to the next, while epochs are shorter than SHORT. */
#define SHORT 256
#define SHORT_APART 8
_Static_assert(CS_EPOCH_FIRST % SHORT_APART == 0 && SHORT % CS_SAMPLE == 0,
	       "a cut is a sample");

/* --- measurements, of leaders ----------------------------------------------------------------- */

/* Add the sample before this call's, to which all ranks of the node have mostly come by now. */
static void
add_sample(struct cs_team *team)
{
	struct cs_epoch *epoch = &team->epoch;
	struct cs_lateness seen;
	if (!epoch->sample ||
	    !cs_lateness_read(&team->node, epoch->sample, epoch->sampled_at, &seen))
		return;
	epoch->samples++;
	epoch->apart_ns += seen.apart_ns;
	epoch->waited_ns = seen.waited_ns;
}

/* Sum up the node's samples since the last exchange. Late ranks take time only if arrivals are
 * apart and others wait: a rank that is ahead need not wait, and a wait may be for data on its way.
 * So lateness is the lesser of both means. */
static void
sum_up(struct cs_team *team, uint64_t number)
{
	struct cs_epoch *epoch = &team->epoch;
	uint64_t apart = epoch->samples ? epoch->apart_ns / epoch->samples : 0;
	uint64_t waited = (epoch->waited_ns - epoch->waited_before) / (number - epoch->summed_at);
	epoch->exchanged[CS_EXCHANGED_LATE] = apart < waited ? apart : waited;
	epoch->exchanged[CS_EXCHANGED_WAITED] = waited;
	epoch->exchanged[CS_EXCHANGED_WAITED_LESS] = ~waited;
	epoch->exchanged[CS_EXCHANGED_SHARED] = team->node.facts.shares_cores;
	epoch->samples = epoch->apart_ns = 0;
	epoch->waited_before = epoch->waited_ns;
	epoch->summed_at = number;
}

/* Lateness within nodes or between them. Nodes have no common clock, but a late node's ranks wait
 * less. */
static uint64_t
lateness_of(const uint64_t *exchanged)
{
	uint64_t between = exchanged[CS_EXCHANGED_WAITED] - ~exchanged[CS_EXCHANGED_WAITED_LESS];
	uint64_t within = exchanged[CS_EXCHANGED_LATE];
	return within > between ? within : between;
}

/* --- words ------------------------------------------------------------------------------------ */

static void
say_words(struct cs_team *team)
{
	struct cs_epoch *epoch = &team->epoch;
	uint64_t words[CS_EPOCH_WORDS] = { 0 };
	if (!epoch->user.say)
		return;
	epoch->user.say(epoch->user.user, words);
	struct cs_rank_head *self = team->node.self;
	for (int i = 0; i < CS_EPOCH_WORDS; i++)
		atomic_store_explicit(&self->said[i], words[i], memory_order_relaxed);
	atomic_store_explicit(&self->said_call, epoch->cut, memory_order_release);
}

/* A word of the node: the mean of its ranks' words, if they are to be averaged, else the largest. A
 * rank writes its next words only when it has read the verdict on these. */
static uint64_t
hear_word(struct cs_team *team, int i)
{
	uint64_t most = 0, sum = 0, count = 0;
	for (int local = 0; local < team->shape.locals; local++) {
		struct cs_rank_head *head = cs_node_rank(&team->node, local);
		bool is_there = atomic_load_explicit(&head->said_call, memory_order_acquire) ==
				team->epoch.cut;
		uint64_t word = is_there ? atomic_load_explicit(&head->said[i],
								memory_order_relaxed)
				: CS_EPOCH_UNKNOWN;
		most = word > most ? word : most;
		sum += word & ~CS_EPOCH_MEAN;
		count += word != 0;
	}
	bool is_mean = most & CS_EPOCH_MEAN && most != CS_EPOCH_UNKNOWN;
	return is_mean ? sum / count | CS_EPOCH_MEAN : most;
}

static void
hear_words(struct cs_team *team)
{
	struct cs_epoch *epoch = &team->epoch;
	for (int i = 0; epoch->user.say && i < CS_EPOCH_WORDS; i++)
		epoch->exchanged[CS_EXCHANGED_WORDS + i] = hear_word(team, i);
}

/* --- verdicts --------------------------------------------------------------------------------- */

/* Publish the verdict of the exchange that is over. Waits until all of the node have read the
 * former verdict in the same place. */
static void
publish(struct cs_team *team, struct cs_node_op *op)
{
	struct cs_epoch *epoch = &team->epoch;
	uint64_t place = epoch->published++ % CS_VERDICTS_KEPT;
	if (epoch->forces[place])
		cs_node_all_done_slow(op, cs_node_has_read(epoch->forces[place]));
	epoch->forces[place] = epoch->force;
	for (int i = 0; i < CS_EXCHANGED; i++)
		atomic_store_explicit(&team->node.head->verdicts[place][i], epoch->exchanged[i],
				      memory_order_relaxed);
	cs_node_store(&team->node, &team->node.head->verdict_call, epoch->force);
}

void
cs_epoch_exchange(struct cs_team *team)
{
	struct cs_epoch *epoch = &team->epoch;
	const struct cs_node *node = &team->node;
	if (!epoch->due || (node->under_way && node->oldest < epoch->due))
		return;
	epoch->due = 0;
	epoch->is_exchanging = true;
	team->host->max(team->leaders, epoch->exchanged, CS_EXCHANGED, &epoch->request);
}

/* Publish the exchange under way if it is over; false: not yet. */
static bool
go_on(struct cs_team *team, struct cs_node_op *op)
{
	struct cs_epoch *epoch = &team->epoch;
	if (epoch->published == epoch->exchanges)
		return true;
	cs_epoch_exchange(team);
	if (epoch->due || (epoch->is_exchanging && !team->host->test(&epoch->request)))
		return false;
	epoch->is_exchanging = false;
	publish(team, op);
	return true;
}

static void
wait_for_exchange(struct cs_team *team, struct cs_node_op *op)
{
	const struct cs_node_shape *shape = &team->node.shape;
	struct cs_wait wait = { .polls = shape->spin, .yields = CS_WAIT_AWAKE,
				.progress = team->host->progress, .call = op };
	while (!go_on(team, op))
		cs_wait_turn(&wait);
}

/* Class of a verdict. A class is left downwards at half of its limit, so that noise does not change
 * it. */
static enum cs_balance
class_of(const struct cs_epoch *epoch, const uint64_t *exchanged)
{
	enum cs_balance now = epoch->imbalance;
	uint64_t moderate = epoch->limits.moderate_ns / (now >= CS_MODERATE ? 2 : 1);
	uint64_t strong = epoch->limits.strong_ns / (now == CS_STRONG ? 2 : 1);
	uint64_t lateness = lateness_of(exchanged);
	return lateness >= strong ? CS_STRONG
	       : lateness >= moderate && !exchanged[CS_EXCHANGED_SHARED] ? CS_MODERATE
	       : CS_BALANCED;
}

/* Put the verdict into force. */
static void
take_verdict(struct cs_team *team, struct cs_node_op *op)
{
	struct cs_epoch *epoch = &team->epoch;
	struct cs_node *node = &team->node;
	uint64_t exchanged[CS_EXCHANGED];
	if (cs_team_is_leader(team))
		wait_for_exchange(team, op);
	uint64_t place = (epoch->exchanges - 1) % CS_VERDICTS_KEPT;
	cs_node_wait(op, cs_team_leader(team), &node->head->verdict_call, epoch->force);
	for (int i = 0; i < CS_EXCHANGED; i++)
		exchanged[i] = atomic_load_explicit(&node->head->verdicts[place][i],
						    memory_order_relaxed);
	if (epoch->user.hear)
		epoch->user.hear(epoch->user.user, &exchanged[CS_EXCHANGED_WORDS]);
	enum cs_balance imbalance = class_of(epoch, exchanged);
	if (imbalance == epoch->imbalance || !epoch->user.told)
		return;
	epoch->imbalance = imbalance;
	epoch->user.told(epoch->user.user, imbalance);
}

/* --- turns ------------------------------------------------------------------------------------ */

/* The epoch that begins with call number `number`. */
static void
plan(struct cs_epoch *epoch, uint64_t number)
{
	uint64_t length = epoch->length ? 2 * epoch->length : CS_EPOCH_FIRST;
	epoch->length = length < epoch->limits.calls ? length : epoch->limits.calls;
	epoch->apart = epoch->length < SHORT ? SHORT_APART : CS_SAMPLE;
	epoch->cut = number + epoch->length;
	epoch->exchange = epoch->cut + epoch->apart;
	epoch->force = epoch->exchange + 2 * epoch->apart;
}

static void
exchange(struct cs_team *team, uint64_t number)
{
	struct cs_epoch *epoch = &team->epoch;
	if (cs_team_is_leader(team)) {
		sum_up(team, number);
		hear_words(team);
		/* Without leaders nothing is on trial, and no rank has words. */
		epoch->due = team->shape.nodes > 1 && team->leaders ? number : 0;
		cs_epoch_exchange(team);
	}
	epoch->exchanges++;
}

static void
sample(void *user, struct cs_node_op *op)
{
	struct cs_team *team = user;
	struct cs_epoch *epoch = &team->epoch;
	uint64_t number = op->number;
	bool is_leader = cs_team_is_leader(team);
	if (is_leader) {
		go_on(team, op);
		add_sample(team);
	}
	cs_lateness_stamp(op, ++epoch->sample);
	epoch->sampled_at = number;
	if (number == epoch->cut)
		say_words(team);
	if (number == epoch->exchange) {
		exchange(team, number);
		if (is_leader)
			go_on(team, op);
	}
	if (number == epoch->force) {
		take_verdict(team, op);
		plan(epoch, number);
	}
	team->node.sample.at = number + epoch->apart;
}

bool
cs_epoch_may_begin_now(struct cs_team *team)
{
	struct cs_epoch *epoch = &team->epoch;
	struct cs_node *node = &team->node;
	uint64_t number = node->calls + 1;
	if (number != node->sample.at)
		return true;
	if (!cs_team_is_leader(team))
		return number != epoch->force ||
		       atomic_load_explicit(&node->head->verdict_call, memory_order_acquire) >=
		       epoch->force;
	/* The verdict under way, or the next one, is published in this call. */
	uint64_t place = epoch->published % CS_VERDICTS_KEPT;
	struct cs_node_op any = { .node = node };
	return (!epoch->forces[place] ||
		cs_node_is_done(&any, cs_node_has_read(epoch->forces[place]))) &&
	       go_on(team, &any);
}

void
cs_epoch_begin(struct cs_team *team, const struct cs_epoch_limits *limits,
	       const struct cs_epoch_user *user)
{
	struct cs_epoch *epoch = &team->epoch;
	*epoch = (struct cs_epoch){ .limits = *limits, .user = *user,
				    .summed_at = team->node.calls };
	plan(epoch, team->node.calls);
	cs_lateness_sample(&team->node, sample, team);
	team->node.sample.at = team->node.calls + epoch->apart;
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
	cs_epoch_exchange(team);
	if (epoch->is_exchanging)
		while (!team->host->test(&epoch->request))
			cs_wait_turn(&wait);
	cs_epoch_none(team);
}
