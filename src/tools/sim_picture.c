/* tools/sim_picture.c — where the ranks' simulated time goes: how long each waits, and a picture of
 * all steps (seed 001, figures 7 and 8). */
#include "tools/sim_request.h"

#include "base/parse.h"
#include "plan/build.h"
#include "plan/draw.h"
#include "plan/walk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SAID 64 /* ranks; of more those that wait the least and the most */
#define MOST_STEPS 200000

/* --- waits ------------------------------------------------------------------------------------ */

enum { WAITS, MESSAGES, WORK, PARTS };

static void
see_parts(void *context, const struct cs_sim_seen *seen)
{
	int64_t *parts = (int64_t *)context + (size_t)seen->rank * PARTS;
	bool works = seen->kind == CS_STEP_COPY || seen->kind == CS_STEP_REDUCE;
	parts[WAITS] += seen->waited;
	parts[works ? WORK : MESSAGES] += seen->end - seen->start - seen->waited;
}

bool
cs_tool_watch_waits(struct cs_sim_watch *watch, int ranks)
{
	*watch = (struct cs_sim_watch){ see_parts, calloc((size_t)ranks * PARTS, sizeof(int64_t)) };
	return watch->context != NULL;
}

static void
say_rank(const struct cs_sim *sim, const char *model, int rank, const int64_t *parts)
{
	fprintf(stderr, "collshim-sim: %s: rank %d ends at %.3f us: waits %.3f, messages %.3f, "
			"copies and reductions %.3f\n", model, rank,
		(double)cs_sim_end_of(sim, rank) * 1e-6, (double)parts[WAITS] * 1e-6,
		(double)parts[MESSAGES] * 1e-6, (double)parts[WORK] * 1e-6);
}

void
cs_tool_say_waits(const struct cs_sim_watch *watch, const struct cs_sim *sim, int ranks,
		  const char *model)
{
	int64_t *parts = watch->context;
	double all[PARTS] = { 0 }, whole = 0;
	int least = 0, most = 0;
	for (int rank = 0; rank < ranks; rank++) {
		for (int part = 0; part < PARTS; part++)
			all[part] += (double)parts[rank * PARTS + part];
		whole += (double)cs_sim_end_of(sim, rank);
		least = parts[rank * PARTS] < parts[least * PARTS] ? rank : least;
		most = parts[rank * PARTS] > parts[most * PARTS] ? rank : most;
		if (ranks <= MOST_SAID)
			say_rank(sim, model, rank, parts + rank * PARTS);
	}
	if (ranks > MOST_SAID) {
		say_rank(sim, model, least, parts + least * PARTS);
		say_rank(sim, model, most, parts + most * PARTS);
	}
	fprintf(stderr, "collshim-sim: %s: of the ranks' time waits are %.1f %%, messages %.1f %%, "
			"copies and reductions %.1f %%\n", model, 100 * all[WAITS] / (whole + 1e-9),
		100 * all[MESSAGES] / (whole + 1e-9), 100 * all[WORK] / (whole + 1e-9));
	memset(parts, 0, (size_t)ranks * PARTS * sizeof *parts);
}

/* --- the picture ------------------------------------------------------------------------------ */

struct picture {
	const struct cs_sim_options *request;
	struct cs_sim_call *call;
	struct cs_plan *plans;
	struct cs_drawing drawing;
	struct cs_step_time **times; /* by rank, by step; us */
	double idle; /* us, of all ranks, until the last one's end */
	struct cs_sim_result result;
};

static void
see_times(void *context, const struct cs_sim_seen *seen)
{
	struct cs_step_time **times = context;
	times[seen->rank][seen->step] = (struct cs_step_time){ (double)seen->start * 1e-6,
							       (double)seen->end * 1e-6 };
}

/* The step that began what the wait is for: the last one of that request before, as loops use them
 * again. */
static size_t
begun_by(const struct cs_plan *plan, size_t wait)
{
	size_t at = wait;
	while (at-- > 0)
		if (plan->steps[at].request == plan->steps[wait].request &&
		    (plan->steps[at].kind == CS_STEP_SEND || plan->steps[at].kind == CS_STEP_RECV))
			break;
	return at;
}

/* A receive ends when its rank has taken the message, a wait when the message's sender begins it:
 * the rank is idle while no data is on its way. */
static void
find_idle(struct picture *picture, int rank)
{
	const struct cs_plan *plan = &picture->drawing.plans[rank];
	struct cs_step_time *times = picture->times[rank];
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->steps[i].kind != CS_STEP_WAIT)
			continue;
		size_t begun = begun_by(plan, i);
		double sent = 0;
		if (plan->steps[begun].kind == CS_STEP_RECV) {
			size_t send = picture->drawing.steps[rank][begun].peer_step;
			sent = picture->times[plan->steps[begun].peer][send].begin;
			times[begun].end = times[i].end;
		}
		times[i].end = sent < times[i].begin ? times[i].begin
			       : sent < times[i].end ? sent : times[i].end;
		picture->idle += times[i].end - times[i].begin;
	}
}

static enum cs_status
build_all(struct picture *picture, const size_t *params)
{
	struct cs_sim_call *call = picture->call;
	size_t steps = 0;
	enum cs_status status = CS_OK;
	call->problem.params = params;
	picture->plans = calloc((size_t)call->ranks, sizeof *picture->plans);
	for (int rank = 0; picture->plans && status == CS_OK && rank < call->ranks; rank++) {
		struct cs_builder builder;
		cs_builder_init(&builder, cs_sim_call_seen_by(call, rank), &picture->plans[rank]);
		builder.most = MOST_STEPS;
		picture->request->algorithm->build(&builder);
		status = cs_builder_finish(&builder);
		steps += cs_plan_length(&picture->plans[rank]);
		status = status == CS_OK && steps > MOST_STEPS ? CS_NO_MEMORY : status;
	}
	if (status == CS_OK)
		status = picture->plans ? cs_drawing_init(&picture->drawing, picture->plans,
							  call->ranks) : CS_NO_MEMORY;
	return status;
}

static enum cs_status
time_all(struct picture *picture)
{
	const struct cs_sim_options *request = picture->request;
	const struct cs_drawing *drawing = &picture->drawing;
	struct cs_sim *sim;
	const struct cs_sim_watch watch = { see_times,
		picture->times = calloc((size_t)drawing->ranks, sizeof *picture->times) };
	enum cs_status status = cs_sim_create(&sim, drawing->ranks, picture->call->node_of,
					      request->memory);
	if (status == CS_OK)
		status = picture->times ? cs_sim_set_groups(sim, request->group_nodes,
							    request->group_first, request->taper)
					: CS_NO_MEMORY;
	for (int rank = 0; status == CS_OK && rank < drawing->ranks; rank++) {
		picture->times[rank] = calloc(drawing->plans[rank].count + 1,
					      sizeof **picture->times);
		status = picture->times[rank] ? cs_sim_add(sim, &drawing->plans[rank])
					      : CS_NO_MEMORY;
	}
	if (status == CS_OK)
		status = cs_sim_run(sim, &request->models[0], NULL, &watch, &picture->result);
	for (int rank = 0; status == CS_OK && rank < drawing->ranks; rank++) {
		find_idle(picture, rank);
		picture->idle += (double)(picture->result.time - cs_sim_end_of(sim, rank)) * 1e-6;
	}
	cs_sim_destroy(sim);
	return status;
}

static int
write_file(const struct picture *picture)
{
	char title[400], bytes[CS_NUMBER_TEXT], time[CS_TIME_TEXT];
	const struct cs_sim_options *request = picture->request;
	const struct cs_sim_call *call = picture->call;
	double whole = (double)picture->result.time * 1e-6 * call->ranks;
	snprintf(title, sizeof title, "%.100s, %d nodes, %d on each, %s bytes%s%s: simulated with "
		 "%s, %s; idle %.0f %%", request->what, call->nodes, call->ppn,
		 cs_bytes_text(bytes, call->bytes), call->distribution ? " " : "",
		 call->distribution ? cs_distribution_names[call->distribution] : "",
		 request->models[0].name,
		 cs_tool_time_text(time, (double)picture->result.time),
		 whole > 0 ? 100 * picture->idle / whole : 0);
	FILE *file = fopen(request->svg, "w");
	enum cs_status status = CS_OK;
	if (file)
		status = cs_drawing_write_svg(&picture->drawing, title,
			(const struct cs_step_time *const *)picture->times, "us", file);
	bool is_bad = !file || ferror(file);
	if ((file && fclose(file)) || is_bad || status != CS_OK) {
		fprintf(stderr, "collshim-sim: --svg %s: %s\n", request->svg,
			status == CS_OK ? strerror(errno) : "out of memory");
		return CS_TOOL_CANNOT;
	}
	return CS_TOOL_DONE;
}

int
cs_tool_draw(const struct cs_sim_options *request, struct cs_sim_call *call, const size_t *params)
{
	struct picture picture = { .request = request, .call = call };
	enum cs_status status = build_all(&picture, params);
	if (status == CS_OK)
		status = time_all(&picture);
	int wrong = status == CS_OK ? write_file(&picture)
		    : cs_tool_wrong_use("--svg: %s", status == CS_NO_MEMORY
					? "too large to be drawn; try fewer ranks, bytes or "
					  "segments" : *picture.result.text
					? picture.result.text : "the algorithm refuses this call");
	for (int rank = 0; rank < call->ranks; rank++) {
		if (picture.plans)
			cs_plan_fini(&picture.plans[rank]);
		if (picture.times)
			free(picture.times[rank]);
	}
	free(picture.plans);
	free(picture.times);
	cs_drawing_fini(&picture.drawing);
	return wrong;
}
