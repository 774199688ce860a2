/* tools/arrivals.c — brings the ranks' files together, call by call, and measures them. */
#include "tools/arrivals.h"

#include "base/printable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- files ------------------------------------------------------------------------------------ */

static void
complain(FILE *out, const char *path, const char *what)
{
	cs_printable_put(out, path);
	fprintf(out, ": %s\n", what);
}

/* Why a file that can be read is not taken, or NULL. */
static const char *
refuse(const struct cs_arrival_files *files, const struct cs_arrivals *more)
{
	if (!files->count)
		return NULL;
	const struct cs_arrivals_head *first = &files->files[0].head;
	if (more->head.job != first->job || more->head.ranks != first->ranks)
		return "it is of another job than the first file, and left out";
	for (int i = 0; i < files->count; i++)
		if (files->files[i].head.world == more->head.world)
			return "its rank has a file already, and it is left out";
	return NULL;
}

static int
compare_files(const void *left, const void *right)
{
	uint32_t a = ((const struct cs_arrivals *)left)->head.world,
		 b = ((const struct cs_arrivals *)right)->head.world;
	return a < b ? -1 : a > b;
}

static bool
is_same_node(const struct cs_arrivals_head *a, const struct cs_arrivals_head *b)
{
	return a->nodes && b->nodes ? a->node == b->node : a->clock == b->clock;
}

/* Numbers the nodes, and finds out what is known of their clocks. */
static void
look_at_nodes(struct cs_arrival_files *files)
{
	bool is_one = true, is_set = true;
	for (int i = 0; i < files->count; i++) {
		const struct cs_arrivals *file = &files->files[i];
		int other = 0;
		while (!is_same_node(&files->files[other].head, &file->head))
			other++;
		files->node[i] = other < i ? files->node[other] : files->nodes++;
		is_one = is_one && file->head.clock == files->files[0].head.clock;
		is_set = is_set && file->clock_count;
		files->left_out += file->left_out;
		for (size_t k = 0; k < file->clock_count; k++) {
			uint64_t residual = file->clocks[k].residual_ns;
			if (residual > files->residual_ns)
				files->residual_ns = residual;
			if (residual && (!files->least_ns || residual < files->least_ns))
				files->least_ns = residual;
		}
	}
	files->is_one_clock = is_one || is_set;
}

enum cs_status
cs_arrival_files_open(struct cs_arrival_files *files, char *const *paths, int count,
		      FILE *complaints, int *unusable)
{
	*files = (struct cs_arrival_files){ .count = 0 };
	*unusable = 0;
	files->files = calloc((size_t)count + !count, sizeof *files->files);
	files->node = calloc((size_t)count + !count, sizeof *files->node);
	if (!files->files || !files->node)
		goto no_memory;
	for (int i = 0; i < count; i++) {
		struct cs_arrivals file;
		enum cs_status status = cs_arrivals_read(paths[i], &file);
		if (status == CS_OK && *file.trouble)
			complain(complaints, paths[i], file.trouble);
		const char *why = status != CS_OK ? file.trouble : refuse(files, &file);
		if (why) {
			complain(complaints, paths[i], why);
			++*unusable;
			if (status == CS_OK)
				cs_arrivals_fini(&file);
			continue;
		}
		files->files[files->count++] = file;
		files->ranks = file.head.ranks;
	}
	qsort(files->files, (size_t)files->count, sizeof *files->files, compare_files);
	look_at_nodes(files);
	return CS_OK;

no_memory:
	cs_arrival_files_close(files);
	return CS_NO_MEMORY;
}

void
cs_arrival_files_close(struct cs_arrival_files *files)
{
	for (int i = 0; i < files->count; i++)
		cs_arrivals_fini(&files->files[i]);
	free(files->files);
	free(files->node);
	*files = (struct cs_arrival_files){ .count = 0 };
}

/* --- calls ------------------------------------------------------------------------------------ */

/* A rank's record of a call. */
struct event {
	uint64_t comm, call;
	uint32_t file, rank; /* in the communicator */
	size_t index;
};

static int
compare_events(const void *left, const void *right)
{
	const struct event *a = left, *b = right;
	if (a->comm != b->comm)
		return a->comm < b->comm ? -1 : 1;
	if (a->call != b->call)
		return a->call < b->call ? -1 : 1;
	return a->rank < b->rank ? -1 : a->rank > b->rank;
}

static struct event *
collect_events(const struct cs_arrival_files *files, size_t *count)
{
	size_t all = 0;
	for (int i = 0; i < files->count; i++)
		all += files->files[i].call_count;
	struct event *events = malloc((all + !all) * sizeof *events), *at = events;
	for (int i = 0; events && i < files->count; i++) {
		const struct cs_arrivals *file = &files->files[i];
		for (size_t k = 0; k < file->call_count; k++)
			*at++ = (struct event){
				.comm = file->calls[k].comm, .call = file->calls[k].call,
				.file = (uint32_t)i, .index = k,
				.rank = cs_arrivals_comm(file, file->calls[k].comm)->rank,
			};
	}
	if (events)
		qsort(events, all, sizeof *events, compare_events);
	*count = all;
	return events;
}

/* Room for one call of all ranks. */
struct room {
	int64_t *arrived, *left;
	int *file;
};

/* Fills in the call that so many events are of. CS_UNSUPPORTED: not all ranks are there;
 * CS_BAD_INPUT: they differ. */
static enum cs_status
put_together(const struct cs_arrival_files *files, const struct event *events, size_t count,
	     struct room *room, struct cs_arrival_call *call)
{
	const struct cs_arrivals *file = &files->files[events->file];
	const struct cs_arrival *first = &file->calls[events->index];
	size_t size = cs_arrivals_comm(file, events->comm)->size;
	int64_t start = INT64_MAX;
	bool is_alike = true;
	for (size_t i = 0; i < count && count <= size; i++) {
		file = &files->files[events[i].file];
		const struct cs_arrival *own = &file->calls[events[i].index];
		is_alike = is_alike && own->coll == first->coll && own->root == first->root &&
			   cs_arrivals_comm(file, events->comm)->size == size;
		is_alike = is_alike && (!i || events[i].rank != events[i - 1].rank);
		room->arrived[i] = cs_arrivals_at_rank_0(file, own->arrived_ns);
		room->left[i] = room->arrived[i] + (int64_t)(own->left_ns - own->arrived_ns);
		room->file[i] = (int)events[i].file;
		start = room->arrived[i] < start ? room->arrived[i] : start;
	}
	if (count > size || !is_alike)
		return CS_BAD_INPUT;
	if (count < size)
		return CS_UNSUPPORTED;
	for (size_t i = 0; i < count; i++) {
		room->arrived[i] -= start;
		room->left[i] -= start;
	}
	*call = (struct cs_arrival_call){
		.comm = first->comm, .call = first->call, .bytes = first->bytes,
		.coll = first->coll, .is_deferred = first->is_deferred, .root = first->root,
		.size = (int)size, .arrived = room->arrived, .left = room->left,
		.file = room->file,
	};
	return CS_OK;
}

enum cs_status
cs_arrival_files_walk(const struct cs_arrival_files *files,
		      void (*each)(void *user, const struct cs_arrival_call *call), void *user,
		      struct cs_arrival_calls *calls)
{
	size_t count, most = files->ranks + 1;
	struct event *events = collect_events(files, &count);
	struct room room = { .arrived = malloc(most * sizeof *room.arrived),
			     .left = malloc(most * sizeof *room.left),
			     .file = malloc(most * sizeof *room.file) };
	bool has_memory = events && room.arrived && room.left && room.file;
	*calls = (struct cs_arrival_calls){ .whole = 0 };
	for (size_t at = 0, end; has_memory && at < count; at = end) {
		struct cs_arrival_call call;
		for (end = at + 1; end < count && events[end].comm == events[at].comm &&
				   events[end].call == events[at].call;)
			end++;
		enum cs_status status = put_together(files, events + at, end - at, &room, &call);
		calls->whole += status == CS_OK;
		calls->partial += status == CS_UNSUPPORTED;
		calls->differ += status == CS_BAD_INPUT;
		if (status == CS_OK)
			each(user, &call);
	}
	free(events);
	free(room.arrived);
	free(room.left);
	free(room.file);
	return has_memory ? CS_OK : CS_NO_MEMORY;
}

/* --- measures --------------------------------------------------------------------------------- */

enum cs_status
cs_arrival_measures_init(struct cs_arrival_measures *measures, const struct cs_arrival_files *files)
{
	size_t count = (size_t)files->count + !files->count;
	*measures = (struct cs_arrival_measures){ .count = files->count, .nodes = files->nodes,
						  .node = files->node };
	measures->first = calloc(4 * count, sizeof *measures->first);
	measures->node_of_call = calloc(4 * count, sizeof *measures->node_of_call);
	if (!measures->first || !measures->node_of_call) {
		cs_arrival_measures_fini(measures);
		return CS_NO_MEMORY;
	}
	measures->last = measures->first + count;
	measures->node_first = measures->last + count;
	measures->node_last = measures->node_first + count;
	return CS_OK;
}

void
cs_arrival_measures_fini(struct cs_arrival_measures *measures)
{
	free(measures->first);
	free(measures->node_of_call);
	measures->first = NULL;
	measures->node_of_call = NULL;
}

/* Mean distance from the mean, and from the first to the last. */
static double
spread(const int64_t *times, int count, double *omega)
{
	double sum = 0, delta = 0;
	int64_t first = times[0], last = times[0];
	for (int i = 0; i < count; i++) {
		sum += (double)times[i];
		first = times[i] < first ? times[i] : first;
		last = times[i] > last ? times[i] : last;
	}
	for (int i = 0; i < count; i++) {
		double away = (double)times[i] - sum / count;
		delta += away < 0 ? -away : away;
	}
	*omega = (double)(last - first);
	return delta / count;
}

/* The mean over ranks of what each waits for others. */
static double
waiting(const struct cs_arrival_call *call)
{
	enum cs_depends depends = cs_coll_depends(&cs_colls[call->coll]);
	int64_t last = 0, below = 0;
	double sum = 0;
	for (int i = 0; i < call->size; i++)
		last = call->arrived[i] > last ? call->arrived[i] : last;
	for (int i = 0; i < call->size; i++) {
		int64_t until = depends == CS_DEPENDS_ALL		? last
				: depends == CS_DEPENDS_ROOT		? call->arrived[call->root]
				: depends == CS_DEPENDS_UP_TO		? below
				: i == call->root		? last
								: call->arrived[i];
		int64_t waited = until - call->arrived[i], iota = call->left[i] - call->arrived[i];
		waited = waited < 0 ? 0 : waited < iota ? waited : iota;
		sum += (double)waited;
		below = call->arrived[i] > below ? call->arrived[i] : below;
	}
	return sum / call->size;
}

/* Bin of the histogram for a time, in nanoseconds about the mean of its node. */
static int
bin_of(double away)
{
	double size = away < 0 ? -away : away, end = 500;
	int bin = 0;
	for (; size > end && bin < CS_ARRIVAL_BINS; end = bin ? 2 * end : 1000)
		bin++;
	return away < 0 ? -bin : bin;
}

/* Adds the measures that are taken node by node. */
static void
add_nodes(struct cs_arrival_measures *measures, const struct cs_arrival_call *call,
	  struct cs_arrival_sums *sums)
{
	int nodes = measures->nodes, first = 0, last = 0;
	int64_t *firsts = measures->node_of_call, *lasts = firsts + nodes, *total = lasts + nodes,
		*ranks = total + nodes;
	memset(firsts, 0, 4 * (size_t)nodes * sizeof *firsts);
	/* First ranks as numbers of a member, one more. */
	for (int i = 0; i < call->size; i++) {
		int node = measures->node[call->file[i]];
		int64_t at = call->arrived[i];
		if (!firsts[node] || at < call->arrived[firsts[node] - 1])
			firsts[node] = i + 1;
		if (!lasts[node] || at > call->arrived[lasts[node] - 1])
			lasts[node] = i + 1;
		first = at < call->arrived[first] ? i : first;
		last = at > call->arrived[last] ? i : last;
		total[node] += at;
		ranks[node]++;
	}
	for (int i = 0; i < call->size; i++) {
		int node = measures->node[call->file[i]];
		double mean = (double)total[node] / (double)ranks[node];
		measures->histogram[CS_ARRIVAL_BINS + bin_of((double)call->arrived[i] - mean)]++;
	}
	measures->first[call->file[first]]++;
	measures->last[call->file[last]]++;
	int used = 0;
	for (int node = 0; node < nodes; node++) {
		if (!firsts[node])
			continue;
		int64_t early = firsts[node] - 1, late = lasts[node] - 1;
		measures->node_first[call->file[early]]++;
		measures->node_last[call->file[late]]++;
		firsts[used] = call->arrived[early];
		lasts[used++] = call->arrived[late];
	}
	double omega;
	sums->first_delta += spread(firsts, used, &omega);
	sums->first_omega += omega;
	sums->last_delta += spread(lasts, used, &omega);
	sums->last_omega += omega;
}

void
cs_arrival_measures_add(void *user, const struct cs_arrival_call *call)
{
	struct cs_arrival_measures *measures = user;
	size_t bytes = call->bytes == CS_ARRIVAL_BYTES_UNKNOWN ? CS_BYTES_UNKNOWN
							       : (size_t)call->bytes;
	struct cs_arrival_sums *sums = &measures->sums[call->coll][cs_report_bin(bytes)];
	double omega, iota = 0;
	sums->calls++;
	sums->deferred += call->is_deferred;
	sums->ranks += call->size;
	sums->delta += spread(call->arrived, call->size, &omega);
	sums->omega += omega;
	sums->worst = (int64_t)omega > sums->worst ? (int64_t)omega : sums->worst;
	for (int i = 0; i < call->size; i++)
		iota += (double)(call->left[i] - call->arrived[i]);
	sums->iota += iota / call->size;
	sums->waiting += waiting(call);
	add_nodes(measures, call, sums);
}
