/* RUNS runs of a plan on a wire that does nothing, inside counted(), for callgrind
 * --toggle-collect=counted. Prints how many steps that were. The messages have 8 bytes, so that
 * copies count little.
 *
 *   steps COLL:NAME RUNS */
#include "algorithms/algorithm.h"
#include "plan/build.h"
#include "plan/execute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RANKS 32
#define BYTES 8

static void
start(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from,
      size_t bytes)
{
}

static void
start_in(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	 size_t bytes)
{
}

static void
finish(struct cs_wire *wire, struct cs_request *request)
{
}

__attribute__((noinline)) void counted(struct cs_run *run, int runs);

void
counted(struct cs_run *run, int runs)
{
	for (int i = 0; i < runs; i++) {
		run->next = 0;
		cs_run_finish(run);
	}
}

static const struct cs_algorithm *
algorithm_of(const char *wanted)
{
	char name[100];
	const struct cs_algorithm *algorithm;
	for (int row = 0; (algorithm = cs_algorithm_at(row)); row++) {
		snprintf(name, sizeof name, "%s:%s", cs_colls[algorithm->coll].name,
			 algorithm->name);
		if (algorithm->build && !strcmp(name, wanted))
			return algorithm;
	}
	return NULL;
}

int
main(int argc, char **argv)
{
	const struct cs_algorithm *algorithm = argc == 3 ? algorithm_of(argv[1]) : NULL;
	if (!algorithm)
		return 2;
	size_t params[CS_MAX_PARAMS] = { 0 };
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		params[i] = algorithm->params[i].fallback;
	static char in[RANKS * BYTES], out[RANKS * BYTES];
	struct cs_problem problem = { .coll = algorithm->coll, .ranks = RANKS, .unit = 1,
				      .bytes = BYTES, .params = params, .is_commutative = true };
	struct cs_plan plan;
	struct cs_builder builder;
	cs_builder_init(&builder, &problem, &plan);
	algorithm->build(&builder);
	if (cs_builder_finish(&builder) != CS_OK)
		return 1;
	struct cs_wire wire = { .ranks = RANKS, .send = start, .recv = start_in, .wait = finish };
	char *tmp = malloc(plan.tmp_bytes + 1);
	struct cs_request *requests = calloc((size_t)plan.requests + 1, sizeof *requests);
	struct cs_run run = { .plan = &plan, .wire = &wire, .requests = requests,
			      .memory = { in, out, tmp } };
	if (!tmp || !requests)
		return 1;
	counted(&run, atoi(argv[2]));
	printf("%zu\n", plan.count * (size_t)atoi(argv[2]));
	free(tmp);
	free(requests);
	cs_plan_fini(&plan);
	return 0;
}
