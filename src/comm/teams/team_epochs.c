/* comm/teams/team_epochs.c — what a team agrees on while it is used: imbalance, and the verdicts of
 * trials (algorithms/epoch.h). */
#include "comm/teams/make_team.h"

#include "base/log.h"
#include "comm/engine.h"
#include "comm/host/host.h"
#include "run/trial.h"

static void
hear_imbalance(void *user, enum cs_balance imbalance)
{
	struct cs_comm *communicator = user;
	cs_selection_take_imbalance(&communicator->seat->selection, imbalance);
	if (communicator->rank == 0)
		cs_info("imbalance of a communicator of %d ranks: %s from its call %llu on",
			communicator->size, cs_balance_names[imbalance],
			(unsigned long long)(communicator->seat->team.node.calls -
					     communicator->first_call + 1));
}

static void
say_trials(void *user, uint64_t *words)
{
	struct cs_comm *communicator = user;
	cs_trials_say(&communicator->seat->selection, words);
}

static void
hear_trials(void *user, const uint64_t *words)
{
	struct cs_comm *communicator = user;
	cs_trials_hear(&communicator->seat->selection, words);
}

void
cs_team_begin_epochs(struct cs_comm *communicator)
{
	struct cs_selection *selection = &communicator->seat->selection;
	const struct cs_limits *limits = cs_selector_limits(selection->selector);
	const struct cs_epoch_limits epoch = {
		.calls = limits->imbalance_epoch,
		.moderate_ns = limits->imbalance_moderate * 1000,
		.strong_ns = limits->imbalance_strong * 1000,
	};
	enum cs_balance_kind kind = cs_engine.settings.imbalance;
	if (kind != CS_BALANCE_MEASURED)
		selection->facts.imbalance = (enum cs_balance)(kind - CS_BALANCE_BALANCED);
	selection->measured = selection->facts.imbalance;
	/* Leaders exchange by a collective of the MPI, which a thread cannot end. */
	if (selection->facts.by_thread) {
		cs_epoch_none(&communicator->seat->team);
		return;
	}
	struct cs_epoch_user user = { .user = communicator };
	/* Ranks that are alone on their nodes stamp no wait, since they wait for messages only. */
	bool has_others = selection->facts.ppn_max > 1;
	if (has_others && kind == CS_BALANCE_MEASURED && !communicator->is_apart &&
	    cs_selector_asks_imbalance(selection->selector, &selection->facts))
		user.told = hear_imbalance;
	if (cs_engine.settings.is_adaptive && !cs_engine.settings.is_reproducible &&
	    !communicator->is_apart) {
		selection->trials = cs_trials_new();
		if (!selection->trials) {
			cs_warn_local("no memory for a team of %d ranks; ending the job",
				      communicator->size);
			cs_host_mpi.abort("out of memory");
		}
		selection->is_learning = cs_engine.settings.adapt_file && !cs_engine.world_rank;
		user.say = say_trials;
		user.hear = hear_trials;
	}
	if (user.told || user.say)
		cs_epoch_begin(&communicator->seat->team, &epoch, &user);
	else
		cs_epoch_none(&communicator->seat->team);
}
