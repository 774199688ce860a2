/* trace/report_late.c — the picture of arrivals in the report: of sampled calls. */
#include "trace/report_state.h"

#include <stdlib.h>

#define MOST_CALLS 200
#define MOST_CELLS 400000

/* Calls each(user, call, ranks) for each call of which all ranks' samples are there. */
static void
each_call(const struct cs_sampled_call *samples, size_t count, int32_t size,
	  void (*each)(void *user, const struct cs_sampled_call *call), void *user)
{
	for (size_t first = 0, end; first < count; first = end) {
		const struct cs_sampled_call *call = &samples[first];
		for (end = first; end < count && samples[end].comm == call->comm &&
				  samples[end].call == call->call; end++)
			;
		if (call->size == size && end - first == (size_t)size)
			each(user, call);
	}
}

static void
count_call(void *user, const struct cs_sampled_call *call)
{
	++*(size_t *)user;
}

struct picture {
	struct cs_report_late *late;
	size_t seen, of, begin_ns;
};

/* Keeps every so manieth of them. */
static void
keep_call(void *user, const struct cs_sampled_call *call)
{
	struct picture *picture = user;
	struct cs_report_late *late = picture->late;
	size_t at = picture->seen * (size_t)late->calls / picture->of,
	       next = ++picture->seen * (size_t)late->calls / picture->of;
	if (at == next)
		return;
	int64_t first = call->arrived_ns, last = first;
	for (int rank = 0; rank < late->ranks; rank++) {
		first = call[rank].arrived_ns < first ? call[rank].arrived_ns : first;
		last = call[rank].arrived_ns > last ? call[rank].arrived_ns : last;
	}
	int64_t since = first - (int64_t)picture->begin_ns;
	late->call[at] = (struct cs_report_late_call){
		.coll = call->coll, .is_deferred = call->is_deferred,
		.at = since > 0 ? (uint64_t)since : 0, .last = (uint64_t)(last - first) };
	for (int rank = 0; rank < late->ranks; rank++) {
		int64_t after = call[rank].arrived_ns - first;
		late->world[rank] = (int)(call[rank].row >> 32);
		late->after[(size_t)rank * (size_t)late->calls + at] =
			after < UINT32_MAX ? (uint32_t)after : UINT32_MAX;
	}
}

static int
compare_calls(const void *left, const void *right)
{
	const struct cs_report_late_call *a = *(const struct cs_report_late_call *const *)left,
					 *b = *(const struct cs_report_late_call *const *)right;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Orders them by time: they came by communicator. */
static bool
sort(struct cs_report_late *late)
{
	size_t calls = (size_t)late->calls;
	const struct cs_report_late_call **order = malloc(calls * sizeof *order);
	struct cs_report_late_call *sorted = malloc(calls * sizeof *sorted);
	uint32_t *row = malloc(calls * sizeof *row);
	bool is_good = order && sorted && row;
	for (size_t i = 0; is_good && i < calls; i++)
		order[i] = &late->call[i];
	if (is_good)
		qsort(order, calls, sizeof *order, compare_calls);
	for (int rank = 0; is_good && rank < late->ranks; rank++) {
		uint32_t *own = &late->after[(size_t)rank * calls];
		for (size_t i = 0; i < calls; i++)
			row[i] = own[order[i] - late->call];
		for (size_t i = 0; i < calls; i++)
			own[i] = row[i];
	}
	for (size_t i = 0; is_good && i < calls; i++)
		sorted[i] = *order[i];
	free(order);
	free(row);
	if (is_good) {
		free(late->call);
		late->call = sorted;
	} else {
		free(sorted);
	}
	return is_good;
}

void
cs_report_keep_late(const struct cs_sampled_call *samples, size_t count)
{
	struct cs_report_late *late = &cs_report_all.late;
	int32_t size = 0;
	size_t calls = 0;
	/* Only the largest communicators: the world's, and its copies'. */
	for (size_t i = 0; i < count; i++)
		size = samples[i].size > size ? samples[i].size : size;
	each_call(samples, count, size, count_call, &calls);
	if (!calls)
		return;
	size_t fit = MOST_CELLS / (size_t)size, most = fit < MOST_CALLS ? fit : MOST_CALLS;
	late->ranks = size;
	late->calls = (int)(calls < most ? calls : most ? most : 1);
	size_t cells = (size_t)late->ranks * (size_t)late->calls;
	late->call = calloc((size_t)late->calls, sizeof *late->call);
	late->world = calloc((size_t)size, sizeof *late->world);
	late->after = calloc(cells, sizeof *late->after);
	struct picture picture = { .late = late, .of = calls,
				   .begin_ns = cs_report_spots.time.start };
	if (late->call && late->world && late->after) {
		each_call(samples, count, size, keep_call, &picture);
		if (sort(late))
			return;
	}
	free(late->call);
	free(late->world);
	free(late->after);
	*late = (struct cs_report_late){ 0 };
}
