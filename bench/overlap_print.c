#include "bench.h"

#include <math.h>
#include <string.h>

const char *const bench_work_names[BENCH_WORKS] = { "core", "memory" };

const char *
bench_interval_text(char text[CS_NUMBER_TEXT], size_t interval)
{
	if (interval && interval != BENCH_ONE_TEST)
		return cs_bytes_text(text, interval);
	snprintf(text, CS_NUMBER_TEXT, "%s", interval ? "one" : "none");
	return text;
}

void
bench_print_overlap_head(FILE *out, const struct bench_options *options,
			 const struct bench_world *world)
{
	bench_print_world(out, world);
	bench_print_in_force(out, world);
	fprintf(out, "# a call is started, computed over for %g times the host's blocking call, "
		     "and waited for; host and ours by turns in\n"
		     "# %d rounds; us, medians of the longest of the ranks' own times\n"
		     "# blk: the blocking call; init, tests, wait: in MPI_Ix, in the calls of "
		     "MPI_Test and in MPI_Wait; overhead: in all three\n"
		     "# avail: 1 - (all from start to end - computation alone) / blocking call\n"
		     "# interval: bytes between tests, the first at the start and the last at the "
		     "end; none is made of a request that is over\n"
		     "# ratio: of the overheads, host / ours, median [least-most] of the rounds\n",
		options->compute, options->rounds);
	fprintf(out, "%-20s %7s %6s %-11s %-6s %8s %8s %5s |%9s %8s %8s %8s %9s %6s |%9s %8s "
		     "%8s %8s %9s %6s | %6s %s\n",
		"collective", "bytes", "root", "distribution", "bound", "compute", "interval",
		"tests", "host:blk", "init", "tests", "wait", "overhead", "avail", "ours:blk",
		"init", "tests", "wait", "overhead", "avail", "ratio", "[least-most]");
	fflush(out);
}

void
bench_print_overlap(FILE *out, const struct bench_overlap *overlap)
{
	char text[CS_NUMBER_TEXT];
	if (*overlap->skipped) {
		bench_print_case(out, &overlap->what);
		fprintf(out, "%-6s left out: %s\n", bench_work_names[overlap->work],
			overlap->skipped);
	}
	for (int i = 0; i < overlap->row_count && !*overlap->skipped; i++) {
		const struct bench_overlap_row *row = &overlap->rows[i];
		bench_print_case(out, &overlap->what);
		fprintf(out, "%-6s %8.1f %8s %5d", bench_work_names[overlap->work],
			overlap->compute * 1e6, bench_interval_text(text, row->interval),
			row->tests);
		for (enum bench_side side = 0; side < BENCH_SIDES; side++) {
			const struct bench_overlap_times *of = &row->side[side];
			fprintf(out, " |%9.2f %8.2f %8.2f %8.2f %9.2f %6.2f",
				overlap->blocking[side] * 1e6, of->init * 1e6, of->tests * 1e6,
				of->wait * 1e6, of->overhead * 1e6, of->availability);
		}
		fprintf(out, " | %6.2f [%.2f-%.2f]\n", row->ratio, row->ratio_min, row->ratio_max);
	}
	fflush(out);
}

/* --- SVG: overhead by size, a picture for each collective and computation --------------------- */

enum { LEFT = 60, TOP = 40, WIDTH = 420, HEIGHT = 280, KEY = 150, BOTTOM = 50 };

/* Scales of a picture: powers of two of bytes and of microseconds. */
struct scale {
	double low_x, high_x, low_y, high_y;
	int top; /* of the picture */
};

static double
x_of(const struct scale *scale, size_t bytes)
{
	double at = bytes ? log2((double)bytes) : 0;
	return LEFT + WIDTH * (at - scale->low_x) / (scale->high_x - scale->low_x);
}

static double
y_of(const struct scale *scale, double seconds)
{
	double at = (log2(fmax(seconds * 1e6, 1e-3)) - scale->low_y) /
		    (scale->high_y - scale->low_y);
	return scale->top + HEIGHT * (1 - fmin(fmax(at, 0), 1));
}

/* The seconds of line k: 0 and 1 are the blocking calls, 2 + 2i and 3 + 2i those of interval i.
 * Below 0: there are none. */
static double
point(const struct bench_overlap *overlap, size_t interval, int k)
{
	int side = k % BENCH_SIDES;
	if (k < BENCH_SIDES)
		return overlap->blocking[side];
	for (int i = 0; i < overlap->row_count; i++)
		if (overlap->rows[i].interval == interval)
			return overlap->rows[i].side[side].overhead;
	return -1;
}

static bool
is_shown(const struct bench_overlap *overlap, const struct bench_overlap *with)
{
	return overlap->what.coll == with->what.coll && overlap->work == with->work &&
	       overlap->what.root == with->what.root &&
	       overlap->what.distribution == with->what.distribution && !*overlap->skipped;
}

/* The picture of all that go with overlaps[first]. */
static void
draw(FILE *out, const struct bench_overlap *overlaps, int first, int count, int top,
     const struct bench_options *options)
{
	static const char *const colors[] = { "#444444", "#cc3a2b", "#f48f36", "#2f66b5", "#40a3ad",
					      "#8a4fb5", "#3a9a4c" };
	const struct bench_overlap *with = &overlaps[first];
	struct scale scale = { INFINITY, -INFINITY, -1, 1, top };
	char text[CS_NUMBER_TEXT];
	for (int i = first; i < count; i++) {
		if (!is_shown(&overlaps[i], with))
			continue;
		double at = overlaps[i].bytes ? log2((double)overlaps[i].bytes) : 0,
		       most = fmax(overlaps[i].blocking[BENCH_HOST],
				   overlaps[i].blocking[BENCH_OURS]);
		scale.low_x = fmin(scale.low_x, at);
		scale.high_x = fmax(scale.high_x, at + 0.1);
		scale.high_y = fmax(scale.high_y, ceil(log2(most * 1e6 + 1e-3)) + 1);
	}
	fprintf(out, "<text x=\"%d\" y=\"%d\" font-weight=\"bold\">%s, computation bound by %s: "
		     "overhead in us by bytes</text>\n<rect x=\"%d\" y=\"%d\" width=\"%d\" "
		     "height=\"%d\" fill=\"none\" stroke=\"#999999\"/>\n", LEFT, top - 12,
		cs_colls[with->what.coll].name, bench_work_names[with->work], LEFT, top, WIDTH,
		HEIGHT);
	for (double at = scale.low_y; at <= scale.high_y; at += ceil((scale.high_y + 1) / 10))
		fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 6,
			y_of(&scale, exp2(at) * 1e-6) + 4, exp2(at));
	for (int k = 0; k < BENCH_SIDES * (1 + options->interval_count); k++) {
		int kind = k / BENCH_SIDES, drawn = 0;
		size_t interval = kind ? options->intervals[kind - 1] : 0;
		const char *color = colors[(size_t)kind % (sizeof colors / sizeof *colors)],
			   *dash = k % BENCH_SIDES == BENCH_HOST ? "5,4" : "none";
		fputs("<polyline points=\"", out);
		for (int i = first; i < count; i++) {
			double seconds = is_shown(&overlaps[i], with)
					 ? point(&overlaps[i], interval, k) : -1;
			if (seconds >= 0 && ++drawn)
				fprintf(out, "%.1f,%.1f ", x_of(&scale, overlaps[i].bytes),
					y_of(&scale, seconds));
		}
		fprintf(out, "\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
			     "stroke-dasharray=\"%s\"/>\n", color, dash);
		if (drawn)
			fprintf(out, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s %s %s</text>\n",
				LEFT + WIDTH + 10, top + 12 + 16 * k, color,
				k % BENCH_SIDES == BENCH_HOST ? "- - host," : "\xe2\x80\x94 ours,",
				kind ? "tests" : "blocking",
				kind ? bench_interval_text(text, interval) : "");
	}
	for (int i = first; i < count; i++)
		if (is_shown(&overlaps[i], with))
			fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
				x_of(&scale, overlaps[i].bytes), top + HEIGHT + 16,
				cs_bytes_text(text, overlaps[i].what.size));
}

void
bench_draw_overlaps(FILE *out, const struct bench_overlap *overlaps, int count,
		    const struct bench_options *options)
{
	int pictures = 0, first, i;
	for (int pass = 0; pass < 2; pass++) {
		if (pass == 1)
			fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
				     "height=\"%d\" font-family=\"sans-serif\" font-size=\"12\">\n"
				     "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
				LEFT + WIDTH + KEY, pictures * (TOP + HEIGHT + BOTTOM));
		pictures = 0;
		for (i = 0; i < count; i++) {
			for (first = 0; first < i && !is_shown(&overlaps[first], &overlaps[i]);)
				first++;
			if (first < i || *overlaps[i].skipped)
				continue;
			if (pass == 1)
				draw(out, overlaps, i, count,
				     pictures * (TOP + HEIGHT + BOTTOM) + TOP, options);
			pictures++;
		}
	}
	fputs("</svg>\n", out);
}
