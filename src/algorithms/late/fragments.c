/* late/fragments.c — choice of the run that a node sends next. */
#include "algorithms/late/fragments.h"

static bool
is_better(const struct cs_fragment *run, const struct cs_fragment *best)
{
	if (run->kind != best->kind)
		return run->kind > best->kind;
	if (run->bytes != best->bytes)
		return run->bytes > best->bytes;
	return run->is_adjacent && !best->is_adjacent;
}

/* The run of segments [first, end), which are here; their neighbours are not. */
static struct cs_fragment
describe(const struct cs_region_segment *segments, int count, int first, int end)
{
	struct cs_fragment run = { .first = first, .count = end - first };
	bool is_left_closed = first == 0 || segments[first - 1].state == CS_SEGMENT_SENT,
	     is_right_closed = end == count || segments[end].state == CS_SEGMENT_SENT;
	for (int i = first; i < end; i++)
		run.bytes += segments[i].bytes;
	run.is_adjacent = is_left_closed || is_right_closed;
	run.kind = CS_FRAGMENT_OPEN;
	if (run.count == count)
		run.kind = CS_FRAGMENT_WHOLE;
	else if (is_left_closed && is_right_closed)
		run.kind = CS_FRAGMENT_CLOSED;
	return run;
}

void
cs_fragment_consider(struct cs_fragment *best, int region, const struct cs_region_segment *segments,
		     int count, size_t least)
{
	for (int first = 0, end; first < count; first = end) {
		end = first + 1;
		if (segments[first].state != CS_SEGMENT_HERE)
			continue;
		while (end < count && segments[end].state == CS_SEGMENT_HERE)
			end++;
		struct cs_fragment run = describe(segments, count, first, end);
		run.region = region;
		if ((run.kind > CS_FRAGMENT_OPEN || run.bytes >= least) && is_better(&run, best))
			*best = run;
	}
}
