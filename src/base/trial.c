/* base/trial.c — windows of a trial, their judgement, and its account of regret. */
#include "base/trial.h"

#include <string.h>

#define SERVING_USES 4 /* of a window, the first of which is not timed */

void
cs_trial_init(struct cs_trial *trial, int ways, int serving, uint64_t first, int least)
{
	*trial = (struct cs_trial){ .ways = (signed char)ways,
				    .serving = (signed char)serving,
				    .least = (signed char)least, .at = first,
				    .apart = CS_TRIAL_APART };
	for (int way = 0; way < ways && way < CS_TRIAL_WAYS; way++)
		trial->plan[way] = (unsigned char)least;
	trial->plan[serving] = SERVING_USES;
	if (ways < 2)
		trial->at = UINT64_MAX;
}

/* The way of the window's use number `done`: the serving one first. */
static int
way_of_use(struct cs_trial *trial, int done)
{
	int before = 0;
	for (int i = -1; i < trial->ways; i++) {
		int way = i < 0 ? trial->serving : i;
		if (i == trial->serving)
			continue;
		if (done < before + trial->plan[way]) {
			trial->nth = (signed char)(done - before);
			return way;
		}
		before += trial->plan[way];
	}
	return -1;
}

void
cs_trial_stop(struct cs_trial *trial)
{
	trial->is_over = true;
	trial->at = UINT64_MAX;
}

int
cs_trial_next(struct cs_trial *trial, uint64_t use)
{
	trial->way = (signed char)way_of_use(trial, trial->done++);
	signed char nth = trial->nth;
	if (way_of_use(trial, trial->done) < 0)
		cs_trial_stop(trial);
	else
		trial->at = use + 1;
	trial->nth = nth;
	return trial->way;
}

bool
cs_trial_is_timed(const struct cs_trial *trial)
{
	return trial->nth > 0 || trial->plan[trial->way] == 1;
}

/* Time that a tried use takes beyond the serving way's. */
static uint64_t
beyond_serving(const struct cs_trial *trial, uint64_t tried, uint64_t serving)
{
	return trial->is_extra ? tried : tried > serving ? tried - serving : 0;
}

/* Uses of a way that the account allows when `uses` are over: as many as a window has, or fewer,
 * and none if there were too few to judge. */
static int
allowed(const struct cs_trial *trial, int way, uint64_t uses)
{
	uint64_t serving = trial->way_of[trial->serving].time, tried = trial->way_of[way].time;
	uint64_t time = trial->time + (uses - trial->accounted) * serving,
		 most = time / CS_TRIAL_SHARE + CS_TRIAL_FREE * serving;
	uint64_t beyond = beyond_serving(trial, tried, serving);
	if (!beyond)
		return CS_TRIAL_USES;
	uint64_t count = trial->regret < most ? (most - trial->regret) / beyond : 0;
	return count >= CS_TRIAL_USES ? CS_TRIAL_USES : count >= 3 ? (int)count : 0;
}

/* Plan a window that begins with use `at`: the least uses of each way that is to be tried for the
 * first time or again after a pause, or several of the most promising other one (`any`: of the
 * fastest other one). Returns false if there is nothing to try. */
static bool
plan(struct cs_trial *trial, uint64_t at, bool any)
{
	bool has_first = false;
	int best = -1;
	memset(trial->plan, 0, sizeof trial->plan);
	for (int way = 0; way < trial->ways; way++) {
		const struct cs_trial_way *one = &trial->way_of[way];
		if (way == trial->serving || one->again_at > at)
			continue;
		if (one->state == CS_TRIAL_UNTRIED) {
			trial->plan[way] = (unsigned char)trial->least;
			has_first = true;
		} else if ((any || one->state == CS_TRIAL_PROMISING) &&
			   (best < 0 || one->time < trial->way_of[best].time)) {
			best = way;
		}
	}
	int count = has_first || best < 0 ? 0 : allowed(trial, best, at);
	if (count)
		trial->plan[best] = (unsigned char)count;
	trial->plan[trial->serving] = SERVING_USES;
	trial->at = at;
	return has_first || count;
}

static void
plan_next(struct cs_trial *trial, uint64_t uses, bool is_known)
{
	trial->done = 0;
	trial->is_over = false;
	if (trial->ways < 2 || (is_known && plan(trial, uses, false)))
		return;
	/* Without another way the window shows whether the serving one's time has changed. */
	plan(trial, uses + trial->apart, true);
	trial->apart = trial->apart < CS_TRIAL_MOST_APART ? 2 * trial->apart : trial->apart;
}

static uint64_t
apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Note a tried way's time, and what it cost. Returns true if the way is to serve. */
static bool
is_better(struct cs_trial *trial, int way, uint64_t uses, const struct cs_trial_times *times)
{
	struct cs_trial_way *one = &trial->way_of[way];
	uint64_t serving = times->way[trial->serving], tried = times->way[way];
	bool is_first = one->state == CS_TRIAL_UNTRIED;
	one->time = tried;
	trial->regret += trial->plan[way] * beyond_serving(trial, tried, serving);
	if (tried > CS_TRIAL_HOPELESS * serving) {
		one->again_at = CS_TRIAL_PAUSE * uses & (UINT64_MAX >> 2);
		one->state = CS_TRIAL_UNTRIED;
		return false;
	}
	one->state = is_first ? CS_TRIAL_PROMISING : CS_TRIAL_JUDGED;
	if (is_first)
		return CS_TRIAL_HOPELESS * tried < serving;
	return 10 * tried < 9 * serving && tried + times->spread < serving;
}

bool
cs_trial_judge(struct cs_trial *trial, uint64_t uses, const struct cs_trial_times *times)
{
	struct cs_trial_way *serving = &trial->way_of[trial->serving];
	uint64_t now = times->way[trial->serving];
	int best = -1;
	bool is_known = true;
	if (!now) { /* nothing to compare with */
		plan_next(trial, uses, false);
		return false;
	}
	bool has_changed = serving->time && 4 * apart(now, serving->time) > serving->time;
	serving->time = now;
	serving->state = CS_TRIAL_JUDGED;
	trial->time += (uses - trial->accounted) * now;
	trial->accounted = uses;
	for (int way = 0; way < trial->ways; way++) {
		if (way == trial->serving || !trial->plan[way])
			continue;
		if (!times->way[way])
			is_known = false;
		else if (is_better(trial, way, uses, times) &&
			 (best < 0 || times->way[way] < times->way[best]))
			best = way;
	}
	if (best >= 0) {
		trial->serving = (signed char)best;
		trial->way_of[best].state = CS_TRIAL_JUDGED;
		trial->changes++;
		trial->apart = CS_TRIAL_APART;
	} else if (has_changed) {
		trial->apart = CS_TRIAL_APART;
		for (int way = 0; way < trial->ways; way++)
			if (way != trial->serving && trial->way_of[way].state == CS_TRIAL_JUDGED)
				trial->way_of[way].state = CS_TRIAL_PROMISING;
	}
	plan_next(trial, uses, is_known);
	return best >= 0;
}

bool
cs_trial_is_settled(const struct cs_trial *trial)
{
	for (int way = 0; way < trial->ways; way++) {
		const struct cs_trial_way *one = &trial->way_of[way];
		if (way != trial->serving && one->state != CS_TRIAL_JUDGED && !one->again_at)
			return false;
	}
	return true;
}

void
cs_trial_sample(struct cs_trial_samples *samples, int way, uint64_t time)
{
	int at = samples->count[way];
	if (at == CS_TRIAL_USES)
		return;
	/* In order. */
	for (; at > 0 && samples->of[way][at - 1] > time; at--)
		samples->of[way][at] = samples->of[way][at - 1];
	samples->of[way][at] = time;
	samples->count[way]++;
}

void
cs_trial_sum_up(const struct cs_trial_samples *samples, int serving, struct cs_trial_times *times)
{
	*times = (struct cs_trial_times){ 0 };
	for (int way = 0; way < CS_TRIAL_WAYS; way++) {
		int count = samples->count[way];
		uint64_t middle = count ? samples->of[way][count / 2] : 0;
		times->way[way] = count && !middle ? 1 : middle;
		if (way == serving && count > 1)
			times->spread = middle - samples->of[way][0];
	}
}
