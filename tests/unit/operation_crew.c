/* operation_crew.c runs blocking calls of several processes, each on a stack of its own. */
#include "operation_crew.h"

#include "operation_fiber.h"

#include <stdlib.h>

#define MOST_RESUMES 2000000

/* What a process would do while it waits: others go on. (Linked in the place of the C
 * library's.) */
int __wrap_sched_yield(void);
int
__wrap_sched_yield(void)
{
	if (!fiber_is_inside())
		fail_msg("a wait outside of a rank");
	fiber_yield();
	return 0;
}

static void
choose_processes(struct crew *crew, struct crew_team *team)
{
	bool is_taken[WORLD_MOST] = { false };
	for (int rank = 0; rank < team->run.world.ranks; rank++) {
		int process = rank;
		while (crew->count > 1 &&
		       is_taken[process = (int)random_below(&crew->random,
							    (uint32_t)crew->processes)])
			;
		is_taken[process] = true;
		team->process_of[rank] = process;
		team->run.world.teams[rank].idle = &crew->idle[process];
	}
}

void
crew_make(struct crew *crew, const struct setting *settings, int count)
{
	*crew = (struct crew){ .count = count, .random = settings->seed };
	for (int i = 0; i < count; i++) {
		run_make(&crew->teams[i].run, &settings[i]);
		int ranks = crew->teams[i].run.world.ranks;
		crew->processes = ranks > crew->processes ? ranks : crew->processes;
	}
	crew->processes += count > 1 && crew->processes < WORLD_MOST;
	for (int i = 0; i < count; i++)
		choose_processes(crew, &crew->teams[i]);
}

void
crew_clear(struct crew *crew)
{
	for (int i = 0; i < crew->count; i++)
		run_clear(&crew->teams[i].run);
	for (int process = 0; process < WORLD_MOST; process++)
		cs_op_memory_free(&crew->idle[process]);
}

const struct run *
crew_failure(const struct crew *crew)
{
	for (int i = 0; i < crew->count; i++)
		if (*crew->teams[i].run.failure)
			return &crew->teams[i].run;
	return NULL;
}

/* --- blocking calls --------------------------------------------------------------------------- */

struct process {
	struct crew *crew;
	int number;
	void (*body)(struct crew *crew, int process);
	struct fiber *fiber;
};

static void
run_body(void *context)
{
	struct process *process = context;
	process->body(process->crew, process->number);
}

int
crew_rank(const struct crew_team *team, int process)
{
	int rank = team->run.world.ranks - 1;
	while (rank >= 0 && team->process_of[rank] != process)
		rank--;
	return rank;
}

/* In turn of each team that it is in. */
static void
make_calls(struct crew *crew, int process)
{
	for (int call = 0; call < RUN_MOST_CALLS; call++)
		for (int i = 0; i < crew->count; i++) {
			struct crew_team *team = &crew->teams[i];
			int rank = crew_rank(team, process);
			if (rank < 0 || call >= team->run.setting.calls)
				continue;
			run_blocking(&team->run, rank, call);
			if (random_below(&crew->random, 2))
				fiber_yield();
		}
}

/* Has a team gone further since the last time? */
static bool
has_moved(const struct crew *crew, uint64_t *before)
{
	uint64_t now = 0;
	for (int i = 0; i < crew->count; i++) {
		now += crew->teams[i].run.world.moves;
		for (int rank = 0; rank < crew->teams[i].run.world.ranks; rank++)
			now += (uint64_t)crew->teams[i].run.begun[rank] +
			       (uint64_t)crew->teams[i].run.over[rank];
	}
	bool has = now != *before;
	*before = now;
	return has;
}

/* With one team its ranks are starved as in run_turn. */
static int
pick(struct crew *crew)
{
	struct run *run = &crew->teams[0].run;
	return crew->count > 1 ? (int)random_below(&crew->random, (uint32_t)crew->processes)
			       : run_pick(run);
}

static void
note_failures(struct crew *crew, bool is_late)
{
	for (int i = 0; i < crew->count; i++) {
		struct run *run = &crew->teams[i].run;
		if (*run->world.failure)
			run_fail(run, "; %s", run->world.failure);
		if (is_late && !run_is_over(run)) {
			run_fail(run, "; no end");
			run_say_where(run);
		}
	}
}

void
crew_step(struct crew *crew)
{
	for (long turn = 0; !crew_failure(crew); turn++) {
		int over = 0;
		for (int i = 0; i < crew->count; i++)
			over += run_is_over(&crew->teams[i].run);
		if (over == crew->count)
			break;
		struct run *run =
			&crew->teams[random_below(&crew->random, (uint32_t)crew->count)].run;
		if (!run_is_over(run))
			run_turn(run);
		note_failures(crew, turn == RUN_MOST_STEPS);
	}
	for (int i = 0; i < crew->count; i++)
		run_end(&crew->teams[i].run);
}

void
crew_run(struct crew *crew, void (*body)(struct crew *crew, int process))
{
	struct process processes[WORLD_MOST];
	int left = crew->processes;
	uint64_t before = 0;
	for (int i = 0; i < crew->count; i++)
		crew->teams[i].run.world.wait = fiber_yield;
	for (int i = 0; i < crew->processes; i++) {
		processes[i] = (struct process){ .crew = crew, .number = i, .body = body };
		processes[i].fiber = fiber_make(run_body, &processes[i]);
	}
	for (long turn = 0; left && !crew_failure(crew); turn++) {
		for (int i = 0; i < crew->count; i++)
			world_carry(&crew->teams[i].run.world);
		crew->now = pick(crew);
		struct process *process = &processes[crew->now];
		if (process->fiber && !fiber_resume(process->fiber)) {
			fiber_drop(process->fiber);
			process->fiber = NULL;
			left--;
		}
		crew->teams[0].run.quiet = has_moved(crew, &before) ? 0 : crew->teams[0].run.quiet +
					   1;
		note_failures(crew, turn == MOST_RESUMES);
	}
	for (int i = 0; i < crew->processes; i++)
		if (processes[i].fiber)
			fiber_drop(processes[i].fiber);
}

void
crew_block(struct crew *crew)
{
	crew_run(crew, make_calls);
	for (int i = 0; i < crew->count; i++)
		run_end(&crew->teams[i].run);
}

int
expect_right_blocking(const struct setting *setting)
{
	struct crew *crew = calloc(1, sizeof *crew);
	assert_non_null(crew);
	crew_make(crew, setting, 1);
	crew_block(crew);
	if (crew_failure(crew))
		run_say_failure(crew_failure(crew));
	crew_clear(crew);
	free(crew);
	return 0;
}
