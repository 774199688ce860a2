/* Several operations of a rank under way, begun and waited for as a program may: in any order of
 * teams, tested in any order, with blocking calls between them and epochs that turn meanwhile.
 *
 * A rank waits for an operation, makes a blocking call, or begins one that reads a verdict, only
 * when it has begun all calls before it, in one order of all teams' calls: so no wait depends on a
 * later call. While it waits, in the begin of a call too, its other operations are stepped, as
 * MPI's rule of progress asks for. */
#include "operation_crew.h"
#include "operation_fiber.h"

#include "run/run.h"

#include <stdlib.h>

#define MOST_UNDER_WAY 8 /* of a team */

static struct overlap {
	bool has_epochs;
	int under_way;
	bool is_stepping[WORLD_MOST]; /* by process */
	struct crew *crew;
	unsigned verdicts[CREW_TEAMS][WORLD_MOST];
	unsigned fast, slow, together, most_together;
	/* Rows of the table that were under way together. */
	bool pairs[CS_MOST_ROWS][CS_MOST_ROWS];
} overlap;

/* --- epochs ----------------------------------------------------------------------------------- */

/* Each rank has another word, of which the largest is agreed on. */
struct voter {
	struct run *run;
	int team, rank;
};
static struct voter voters[CREW_TEAMS][WORLD_MOST];

static void
say(void *user, uint64_t *words)
{
	const struct voter *voter = user;
	words[CS_EPOCH_WORDS - 1] = 100 + (uint64_t)voter->rank;
}

static void
hear(void *user, const uint64_t *words)
{
	const struct voter *voter = user;
	uint64_t most = 99 + (uint64_t)voter->run->world.ranks, word = words[CS_EPOCH_WORDS - 1];
	overlap.verdicts[voter->team][voter->rank]++;
	if (word != most && word != CS_EPOCH_UNKNOWN)
		run_fail(voter->run, "; rank %d reads %llu in a verdict, not %llu", voter->rank,
			 (unsigned long long)word, (unsigned long long)most);
}

static void
begin_epochs(struct crew *crew)
{
	static const struct cs_epoch_limits limits = { .calls = CS_SAMPLE };
	for (int i = 0; i < crew->count; i++)
		for (int rank = 0; rank < crew->teams[i].run.world.ranks; rank++) {
			struct cs_team *team = &crew->teams[i].run.world.teams[rank];
			struct voter *voter = &voters[i][rank];
			const struct cs_epoch_user user = { .say = say, .hear = hear,
							    .user = voter };
			*voter = (struct voter){ &crew->teams[i].run, i, rank };
			overlap.verdicts[i][rank] = 0;
			if (team->node.self && overlap.has_epochs)
				cs_epoch_begin(team, &limits, &user);
			else
				cs_epoch_none(team);
		}
}

/* All ranks have read as many verdicts. */
static void
check_verdicts(struct crew *crew)
{
	for (int i = 0; i < crew->count; i++)
		for (int rank = 1; rank < crew->teams[i].run.world.ranks; rank++)
			if (overlap.verdicts[i][rank] != overlap.verdicts[i][0])
				run_fail(&crew->teams[i].run, "; rank %d has read %u verdicts, "
							      "rank 0 %u", rank,
					 overlap.verdicts[i][rank], overlap.verdicts[i][0]);
}

/* --- a process -------------------------------------------------------------------------------- */

static uint32_t
any(uint32_t bound)
{
	return random_below(&overlap.crew->random, bound);
}

/* Its rank, if it is in the team and has calls that are not over. */
static int
busy_rank(int team, int process)
{
	const struct run *run = &overlap.crew->teams[team].run;
	int rank = crew_rank(&overlap.crew->teams[team], process);
	return rank >= 0 && run->over[rank] < run->setting.calls ? rank : -1;
}

static void
step_all(int process)
{
	if (overlap.is_stepping[process])
		return;
	overlap.is_stepping[process] = true;
	for (int i = 0; i < overlap.crew->count; i++) {
		struct run *run = &overlap.crew->teams[i].run;
		int rank = busy_rank(i, process);
		if (rank < 0)
			continue;
		for (int call = run->over[rank]; call < run->begun[rank]; call++)
			run_step(run, rank, call);
	}
	overlap.is_stepping[process] = false;
}

static void
progress(void)
{
	step_all(overlap.crew->now);
}

/* Has the process begun all calls before that one? */
static bool
has_begun_before(int process, int team, int call)
{
	for (int i = 0; i < overlap.crew->count; i++) {
		const struct run *run = &overlap.crew->teams[i].run;
		int rank = crew_rank(&overlap.crew->teams[i], process);
		int least = call + (i < team);
		least = least < run->setting.calls ? least : run->setting.calls;
		if (rank >= 0 && run->begun[rank] < least)
			return false;
	}
	return true;
}

/* Calls of the rank that are under way. */
static int
under_way(const struct run *run, int rank)
{
	int count = 0;
	for (int call = run->over[rank]; call < run->begun[rank]; call++)
		count += !run->parts[rank][call].is_over;
	return count;
}

static bool (*real_fast)(struct cs_op *op, const size_t *params);

/* No older operation may be under way where a call is served at once. */
static bool
lonely_fast(struct cs_op *op, const size_t *params)
{
	for (int i = 0; i < overlap.crew->count; i++) {
		struct run *run = &overlap.crew->teams[i].run;
		int rank = busy_rank(i, overlap.crew->now);
		if (rank >= 0 && op->team == &run->world.teams[rank] && under_way(run, rank) > 1)
			run_fail(run, "; rank %d makes a call at once while another is under way",
				 rank);
	}
	bool is_done = real_fast(op, params);
	overlap.fast += is_done;
	return is_done;
}

static void
note_pairs(const struct run *run, int rank, int call)
{
	int own = cs_algorithm_number(run->specs[call].algorithm);
	unsigned count = (unsigned)under_way(run, rank);
	overlap.most_together = count > overlap.most_together ? count : overlap.most_together;
	for (int older = run->over[rank]; older < call; older++)
		if (!run->parts[rank][older].is_over) {
			int other = cs_algorithm_number(run->specs[older].algorithm);
			overlap.pairs[own][other] = overlap.pairs[other][own] = true;
			overlap.together++;
		}
}

static void
call_blocking(struct run *run, int rank, int process)
{
	int call = run->begun[rank];
	const struct spec *spec = &run->specs[call];
	struct cs_algorithm spied = *spec->runs;
	struct cs_cached_choice choice = { .choice.algorithm = &spied,
					   .inner_params = spec->inner };
	memcpy(choice.choice.params, spec->params, sizeof choice.choice.params);
	real_fast = spied.fast;
	spied.fast = spied.fast ? lonely_fast : NULL;
	overlap.slow++;
	run_begin(run, rank, &choice);
	while (!run->parts[rank][call].is_over) {
		step_all(process);
		fiber_yield();
	}
}

/* Does the begin of the rank's next call wait for a verdict, and so for its node's leader? */
static bool
reads_verdict(const struct run *run, int rank)
{
	const struct cs_team *team = &run->world.teams[rank];
	return overlap.has_epochs && team->node.calls + 1 == team->epoch.force;
}

/* Begins the next call of some team, if there is one that may begin. */
static bool
begin_some(int process)
{
	int team = (int)any((uint32_t)overlap.crew->count), rank = busy_rank(team, process);
	struct run *run = &overlap.crew->teams[team].run;
	int call = rank < 0 ? 0 : run->begun[rank];
	if (rank < 0 || call == run->setting.calls ||
	    under_way(run, rank) >= overlap.under_way ||
	    !cs_node_may_begin(&run->world.teams[rank].node) ||
	    ((run->specs[call].is_blocking || reads_verdict(run, rank)) &&
	     !has_begun_before(process, team, call)))
		return false;
	if (run->specs[call].is_blocking) {
		call_blocking(run, rank, process);
	} else {
		run_begin(run, rank, NULL);
		note_pairs(run, rank, call);
	}
	return true;
}

/* MPI_Wait or MPI_Test of one that is under way. */
static void
wait_or_test(int process)
{
	int team = (int)any((uint32_t)overlap.crew->count), rank = busy_rank(team, process);
	struct run *run = &overlap.crew->teams[team].run;
	if (rank < 0 || run->over[rank] == run->begun[rank])
		return;
	int call = run->over[rank] + (int)any((uint32_t)(run->begun[rank] - run->over[rank]));
	run_step(run, rank, call);
	if (any(4) || !has_begun_before(process, team, call))
		return;
	while (!run->parts[rank][call].is_over) {
		step_all(process);
		fiber_yield();
	}
}

static void
run_process(struct crew *crew, int process)
{
	bool is_over = false;
	while (!is_over) {
		if (any(2) == 0 || !begin_some(process))
			wait_or_test(process);
		is_over = true;
		for (int i = 0; i < crew->count; i++)
			is_over = is_over && busy_rank(i, process) < 0;
		if (!is_over && any(2))
			fiber_yield();
	}
}

/* --- cases ------------------------------------------------------------------------------------ */

static void
run_overlap(const struct setting *settings, int count, bool has_epochs, int most)
{
	struct crew *crew = malloc(sizeof *crew);
	assert_non_null(crew);
	overlap.crew = crew;
	overlap.has_epochs = has_epochs;
	overlap.under_way = most;
	memset(overlap.is_stepping, 0, sizeof overlap.is_stepping);
	crew_make(crew, settings, count);
	begin_epochs(crew);
	world_progress = progress;
	crew_run(crew, run_process);
	world_progress = NULL;
	check_verdicts(crew);
	for (int i = 0; i < count; i++)
		for (int rank = 0; rank < crew->teams[i].run.world.ranks; rank++)
			cs_epoch_none(&crew->teams[i].run.world.teams[rank]);
	if (crew_failure(crew)) {
		print_error("%d teams, %sepochs, at most %d of a team under way:\n", count,
			    has_epochs ? "" : "no ", most);
		run_say_failure(crew_failure(crew));
	}
	crew_clear(crew);
	free(crew);
}

TEST(blocking_calls_between_others_of_several_teams)
{
	uint64_t first = first_seed();
	(void)state;
	for (uint64_t seed = first; seed < first + (uint64_t)cases_wanted(40); seed++) {
		struct setting settings[CREW_TEAMS];
		int count = 1 + (int)(seed % CREW_TEAMS);
		for (int i = 0; i < count; i++) {
			uint64_t own = seed * CREW_TEAMS + (uint64_t)i;
			settings[i] = setting_of(own, own % 5 < 3, 1);
			settings[i].calls = 42 + (int)(own % 8);
			settings[i].are_mixed = settings[i].may_be_left = true;
			settings[i].is_starving = count == 1 && seed % 2;
			settings[i].most_bytes = own % 4 ? 600 : 5000;
		}
		run_overlap(settings, count, seed % 2, 2 + (int)(seed % 7));
	}
	print_message("%u pairs under way, at most %u; %u blocking calls, %u at once\n",
		      overlap.together, overlap.most_together, overlap.slow, overlap.fast);
	assert_true(cases_share() > 1 ||
		    (overlap.fast > 100 && overlap.slow > overlap.fast + 100 &&
		     overlap.most_together == MOST_UNDER_WAY));
}

/* Does the algorithm serve calls of these ranks? */
static bool
serves(const struct cs_algorithm *algorithm, const int *sizes)
{
	const struct cs_node_shape shape = { .slots = 2, .slot_bytes = 4096, .area_slots = 2,
					     .area_bytes = 4096 };
	struct world world;
	world_make(&world, sizes, false, 1, &shape, 1);
	struct cs_facts facts = run_facts(&world, algorithm->coll, true);
	bool is = !cs_algorithm_unmet(algorithm, &facts);
	world_clear(&world);
	return is;
}

/* Each two scripts of different collectives, in turn. */
TEST(each_pair_of_scripts)
{
	enum { CALLS = 44 };
	static const int sizes[][WORLD_MOST + 1] = { { 4 }, { 2, 2 } };
	const struct cs_algorithm *rows[CS_MOST_ROWS], *calls[CALLS];
	bool can[CS_MOST_ROWS][COUNT(sizes)];
	uint64_t seed = first_seed();
	int count = 0, pairs = 0, unseen = 0;
	(void)state;
	for (int i = 0; cs_algorithm_at(i); i++) {
		if (!cs_algorithm_at(i)->run || cs_algorithm_at(i)->inner)
			continue;
		for (size_t k = 0; k < COUNT(sizes); k++)
			can[count][k] = serves(cs_algorithm_at(i), sizes[k]);
		rows[count++] = cs_algorithm_at(i);
	}
	memset(overlap.pairs, 0, sizeof overlap.pairs);
	for (int i = 0; i < count; i++)
		for (int k = 0; k < i; k++, seed++) {
			size_t which = can[i][1] && can[k][1] && (seed % 2 || !can[i][0] ||
								  !can[k][0]);
			if (rows[i]->coll == rows[k]->coll || !can[i][which] || !can[k][which] ||
			    seed % (uint64_t)cases_share())
				continue;
			struct setting setting = setting_of(seed, which, 1);
			memcpy(setting.sizes, sizes[which], sizeof sizes[which]);
			setting.cyclic = false;
			setting.may_be_left = true;
			for (int call = 0; call < CALLS; call++)
				calls[call] = rows[call % 2 ? i : k];
			setting.algorithms = calls;
			setting.calls = CALLS;
			setting.most_bytes = seed % 3 ? 600 : 5000;
			run_overlap(&setting, 1, true, MOST_UNDER_WAY);
			pairs++;
			unseen += !overlap.pairs[cs_algorithm_number(rows[i])]
						[cs_algorithm_number(rows[k])];
		}
	print_message("%d pairs of %d scripts, %d of them never under way together\n", pairs, count,
		      unseen);
	assert_int_equal(unseen, 0);
}

/* On the leaders' communicator, where an exchange that is begun with its call comes before the
 * collectives of older operations on some nodes, and behind them on others. */
TEST(exchanges_among_collectives_of_leaders)
{
	enum { CALLS = 44, CASES = 10 };
	const struct cs_algorithm *calls[CALLS];
	(void)state;
	for (int call = 0; call < CALLS; call++)
		calls[call] = cs_algorithm_by_name(call % 2 ? CS_ALLGATHER : CS_ALLREDUCE,
						   "hier:host");
	for (uint64_t seed = 1; seed <= CASES; seed++) {
		struct setting setting = setting_of(seed, true, 1);
		memcpy(setting.sizes, (int[]){ 2, 2, 0 }, 3 * sizeof(int));
		setting.algorithms = calls;
		setting.calls = CALLS;
		setting.most_bytes = 600;
		run_overlap(&setting, 1, true, MOST_UNDER_WAY);
	}
}

RUN_TESTS(NULL, NULL)
