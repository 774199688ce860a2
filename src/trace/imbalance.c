/* trace/imbalance.c — reads patterns of lateness, deals delays out by them, and finds what data
 * dependencies allow. */
#include "trace/imbalance.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/parse.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_LATE INT64_C(100000000000) /* ns; complaints say it, too */
#define NODE_LATE INT64_C(2000000)
#define WAKE_EARLY 100000 /* ns: what a sleep may take longer than asked for, and a little more */

static const struct kind {
	const char *name;
	bool takes_rank, takes_time, needs_time;
} kinds[CS_IMBALANCE_KINDS] = {
	[CS_IMBALANCE_NONE] = { "none", false, false, false },
	[CS_IMBALANCE_UNIFORM] = { "uniform", false, true, true },
	[CS_IMBALANCE_LATE] = { "late", true, true, true },
	[CS_IMBALANCE_TURNING] = { "turning", false, true, true },
	[CS_IMBALANCE_EXPONENTIAL] = { "exponential", false, true, true },
	[CS_IMBALANCE_FIRST_NODE] = { "first-node", false, true, false },
	[CS_IMBALANCE_LAST_NODE] = { "last-node", false, true, false },
	[CS_IMBALANCE_FILE] = { "file", false, false, false },
};

/* --- patterns --------------------------------------------------------------------------------- */

bool
cs_imbalance_read_time(const char *text, int64_t *ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 } };
	char *unit;
	double number = cs_parse_decimal(text, &unit);
	if (unit == text || *text < '0' || *text > '9')
		return false;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(unit, units[i].name)) {
			double all = number * units[i].ns;
			if (!(all >= 0 && all <= (double)MOST_LATE))
				return false;
			*ns = (int64_t)(all + 0.5);
			return true;
		}
	return false;
}

static bool
read_rank(const char *text, int *rank)
{
	char *end;
	long number = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : -1;
	if (number < 0 || number >= INT32_MAX || *end)
		return false;
	*rank = (int)number;
	return true;
}

/* Reads the parameters behind the kind's name. */
static bool
read_words(char *words, struct cs_imbalance *imbalance)
{
	const struct kind *kind = &kinds[imbalance->kind];
	const char *word = strsep(&words, ":");
	if (kind->takes_rank) {
		if (!word || !read_rank(word, &imbalance->rank))
			return false;
		word = strsep(&words, ":");
	}
	if (!word)
		return !kind->needs_time;
	return kind->takes_time && !words && cs_imbalance_read_time(word, &imbalance->late);
}

enum cs_status
cs_imbalance_read(const char *text, struct cs_imbalance *imbalance, char *complaint, size_t room)
{
	char copy[80], *words = copy;
	struct cs_imbalance read = { .late = NODE_LATE, .seed = CS_IMBALANCE_SEED };
	if (!strncmp(text, "file:", 5) && text[5]) {
		read.kind = CS_IMBALANCE_FILE;
		read.path = text + 5;
		*imbalance = read;
		return CS_OK;
	}
	snprintf(copy, sizeof copy, "%s", text);
	const char *name = strsep(&words, ":");
	while (read.kind < CS_IMBALANCE_KINDS && strcmp(name, kinds[read.kind].name) != 0)
		read.kind++;
	if (strlen(text) >= sizeof copy || read.kind == CS_IMBALANCE_KINDS ||
	    read.kind == CS_IMBALANCE_FILE || !read_words(words, &read)) {
		snprintf(complaint, room,
			 "'%s' is not none, uniform:500us, late:RANK:2ms, turning:2ms, "
			 "exponential:300us, first-node, last-node:2ms or file:PATH, with times up "
			 "to 100s", text);
		return CS_BAD_INPUT;
	}
	*imbalance = read;
	return CS_OK;
}

enum cs_status
cs_imbalance_fits(const struct cs_imbalance *imbalance, int ranks, char *complaint, size_t room)
{
	if (imbalance->kind != CS_IMBALANCE_LATE || imbalance->rank < ranks)
		return CS_OK;
	snprintf(complaint, room, "late:%d: expected a rank from 0 to %d", imbalance->rank,
		 ranks - 1);
	return CS_BAD_INPUT;
}

/* --- delays ----------------------------------------------------------------------------------- */

static uint64_t
random_word(const struct cs_imbalance *imbalance, uint64_t call, int rank)
{
	return cs_hash_mix(cs_hash_mix(cs_hash_mix(imbalance->seed) ^ call) ^ (uint64_t)rank);
}

/* late * -ln(word / 2^64), by the logarithm's binary digits: in whole numbers, since mathematical
 * libraries differ in the last bit. */
static int64_t
exponential(int64_t late, uint64_t word)
{
	const uint64_t ln2 = 2977044472; /* times 2^32 */
	word |= 1;
	uint64_t log = (uint64_t)(63 - __builtin_clzll(word));
	word <<= __builtin_clzll(word);
	for (int digit = 0; digit < 32; digit++) {
		unsigned __int128 square = (unsigned __int128)word * word;
		bool is_set = square >> 127;
		log = log << 1 | is_set;
		word = (uint64_t)(square >> (is_set ? 64 : 63));
	}
	uint64_t negative = (UINT64_C(64) << 32) - log;
	return (int64_t)((unsigned __int128)(uint64_t)late * negative * ln2 >> 64);
}

int64_t
cs_imbalance_delay(const struct cs_imbalance *imbalance, const struct cs_imbalance_job *job,
		   uint64_t call, int rank)
{
	uint64_t ranks = (uint64_t)job->ranks;
	int64_t late = imbalance->late;
	switch (imbalance->kind) {
	case CS_IMBALANCE_UNIFORM:
		return (int64_t)((unsigned __int128)random_word(imbalance, call, rank) *
				 ((uint64_t)late + 1) >> 64);
	case CS_IMBALANCE_EXPONENTIAL:
		return exponential(late, random_word(imbalance, call, rank));
	case CS_IMBALANCE_LATE:
		return rank == imbalance->rank ? late : 0;
	case CS_IMBALANCE_TURNING:
		return (uint64_t)rank == (call + call / ranks + 1) % ranks ? late : 0;
	case CS_IMBALANCE_FIRST_NODE:
		return job->node_of[rank] == 0 ? late : 0;
	case CS_IMBALANCE_LAST_NODE:
		return job->node_of[rank] == job->nodes - 1 ? late : 0;
	case CS_IMBALANCE_FILE:
		return imbalance->recorded[call % imbalance->calls * ranks + (uint64_t)rank];
	case CS_IMBALANCE_NONE:
	case CS_IMBALANCE_KINDS: break;
	}
	return 0;
}

void
cs_imbalance_come_at(uint64_t ns)
{
	for (uint64_t now = cs_clock_ns(); now < ns; now = cs_clock_ns()) {
		uint64_t left = ns - now;
		if (left <= WAKE_EARLY) {
			sched_yield();
			continue;
		}
		left -= WAKE_EARLY;
		struct timespec sleep = { .tv_sec = (time_t)(left / 1000000000),
					  .tv_nsec = (long)(left % 1000000000) };
		nanosleep(&sleep, NULL);
	}
}

/* --- what data dependencies allow ------------------------------------------------------------- */

static bool
has_block(const struct cs_dependence *dependence, int rank)
{
	return !dependence->sizes || dependence->sizes[rank];
}

static int64_t
later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void
wait_for_pairs(const struct cs_dependence *dependence, const int64_t *arrivals, int64_t *earliest)
{
	for (int to = 0; to < dependence->ranks; to++)
		for (int from = 0; from < dependence->ranks; from++)
			if (dependence->has_pair(dependence->context, from, to))
				earliest[to] = later(earliest[to], arrivals[from]);
}

void
cs_imbalance_earliest(const struct cs_dependence *dependence, const int64_t *arrivals,
		      int64_t *earliest)
{
	const struct cs_coll_info *info = &cs_colls[dependence->coll];
	bool gives_block = info->in.what == CS_OWN_BLOCK, takes_block = info->out.what ==
							  CS_OWN_BLOCK;
	int ranks = dependence->ranks, root = dependence->root;
	int64_t last = INT64_MIN;
	memcpy(earliest, arrivals, (size_t)ranks * sizeof *earliest);
	if (dependence->is_empty && dependence->coll != CS_BARRIER)
		return;
	if (info->sizes == CS_SIZES_BY_PAIR && dependence->has_pair) {
		wait_for_pairs(dependence, arrivals, earliest);
		return;
	}
	for (int rank = 0; rank < ranks; rank++) {
		bool brings = dependence->coll == CS_BARRIER ||
			      cs_flow_reaches(info->in, rank, root);
		if (cs_coll_is_scan(info) && rank)
			earliest[rank] = later(earliest[rank], earliest[rank - 1]);
		if (brings && (!gives_block || has_block(dependence, rank)))
			last = later(last, arrivals[rank]);
	}
	if (cs_coll_is_scan(info))
		return;
	for (int rank = 0; rank < ranks; rank++) {
		bool takes = dependence->coll == CS_BARRIER ||
			     cs_flow_reaches(info->out, rank, root);
		if (takes && (!takes_block || has_block(dependence, rank)))
			earliest[rank] = later(earliest[rank], last);
	}
}

void
cs_imbalance_measure(const struct cs_dependence *dependence, const int64_t *arrivals,
		     const int64_t *exits, int64_t *earliest, struct cs_imbalance_times *times)
{
	int64_t first = INT64_MAX, last = INT64_MIN, last_exit = INT64_MIN;
	double mean = 0, bound = 0;
	cs_imbalance_earliest(dependence, arrivals, earliest);
	for (int rank = 0; rank < dependence->ranks; rank++) {
		mean += (double)(exits[rank] - arrivals[rank]);
		bound += (double)(earliest[rank] - arrivals[rank]);
		first = arrivals[rank] < first ? arrivals[rank] : first;
		last = later(last, arrivals[rank]);
		last_exit = later(last_exit, exits[rank]);
	}
	*times = (struct cs_imbalance_times){ .mean = mean / dependence->ranks,
					      .bound = bound / dependence->ranks,
					      .after_last = (double)(last_exit - last),
					      .last_exit = (double)last_exit,
					      .spread = (double)(last - first) };
}
