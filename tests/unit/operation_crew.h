/* operation_crew.h — processes that are ranks of one team or of several.
 *
 * Blocking calls: all make those of the teams that they are in, in one order. Each process has a
 * stack of its own; where a call waits, the others go on. */
#ifndef CS_TESTS_OPERATION_CREW_H
#define CS_TESTS_OPERATION_CREW_H

#include "operation_run.h"

#define CREW_TEAMS 3

/* Which processes are the ranks of a team. */
struct crew_team {
	struct run run;
	int process_of[WORLD_MOST];
};

struct crew {
	struct crew_team teams[CREW_TEAMS];
	int count, processes;
	int now; /* the process whose turn it is */
	struct cs_op_memory *idle[WORLD_MOST]; /* what a process's operations have left, for all its
						* teams */
	uint64_t random;
};

/* Teams of these settings over some processes, which most of them have in common; with one team its
 * ranks are the processes. */
void crew_make(struct crew *crew, const struct setting *settings, int count);
void crew_clear(struct crew *crew);
/* The first team with a failure, or NULL. */
const struct run *crew_failure(const struct crew *crew);

/* The teams' operations, of each several under way, all in random order. */
void crew_step(struct crew *crew);
/* Each process runs `body` on a stack of its own; where it waits, others go on. Ends when all have
 * returned, or with the first failure. */
void crew_run(struct crew *crew, void (*body)(struct crew *crew, int process));
/* The process's rank in a team; -1: none. */
int crew_rank(const struct crew_team *team, int process);
/* The calls as blocking ones. */
void crew_block(struct crew *crew);
/* A case of one team, as expect_right. */
int expect_right_blocking(const struct setting *setting);

#endif
