/* plan/draw_svg.c — draws the plans of all ranks as a time line in SVG. */
#include "plan/drawn_run.h"

#include <stdlib.h>
#include <string.h>

/* Pixels. */
enum {
	LEFT = 70, TOP = 74, ROW = 40, RIGHT = 24, BOTTOM = 52, LEGEND_WIDTH = 600,
	ROUND_WIDTH = 150, TIMES_WIDTH = 1000, BOX_HEIGHT = 12, BOX_LEAST = 2, LETTER = 7,
	TITLE_LETTER = 9,
};

/* A round without times: messages first, then what is done with them. */
#define MESSAGE_PART 0.7
/* Several messages to the same rank are apart by that part of it, all together. */
#define SEGMENTS_PART 0.4

static const char *const colors[] = { "#1f5fa8", "#b2541a", "#2b7d3b", "#8a3a9c", "#a8222f",
				      "#57606a" };

#define COLORS (sizeof colors / sizeof *colors)

struct canvas {
	const struct cs_drawing *drawing;
	const struct cs_step_time *const *times;
	FILE *file;
	double from, to; /* of all times */
	double scale;    /* pixels per unit */
	bool has_rounds; /* for times: a round is one unit */
};

static double
x_of(const struct canvas *canvas, double time)
{
	return LEFT + (time - canvas->from) * canvas->scale;
}

static int
y_of(int rank)
{
	return TOP + ROW / 2 + rank * ROW;
}

/* Steps of one round share the time between its messages and the next ones. */
static void
share_round(const struct cs_plan *plan, const struct cs_drawn_step *drawn, size_t first, size_t end,
	    size_t count, struct cs_step_time *times)
{
	double each = (1 - MESSAGE_PART) / (double)count,
	       begin = drawn[first].round - (double)count * each;
	for (size_t i = first, done = 0; i < end; i++) {
		if (!cs_drawn_is_local(&plan->steps[i]))
			continue;
		times[i] = (struct cs_step_time){ begin + (double)done * each,
						  begin + (double)(done + 1) * each };
		done++;
	}
}

/* Rounds as times, for one rank. */
static void
time_rounds(const struct cs_plan *plan, const struct cs_drawn_step *drawn,
	    struct cs_step_time *times)
{
	size_t first = 0, count = 0;
	for (size_t i = 0; i < plan->count; i++) {
		times[i] = (struct cs_step_time){ drawn[i].round - 1.0,
						  drawn[i].round - 1.0 + MESSAGE_PART };
		if (!cs_drawn_is_local(&plan->steps[i]))
			continue;
		if (count && drawn[i].round != drawn[first].round) {
			share_round(plan, drawn, first, i, count, times);
			count = 0;
		}
		first = count ? first : i;
		count++;
	}
	if (count)
		share_round(plan, drawn, first, plan->count, count, times);
}

static void
free_times(struct cs_step_time **times, int ranks)
{
	for (int rank = 0; times && rank < ranks; rank++)
		free(times[rank]);
	free(times);
}

/* By rank, by step; NULL: no memory. */
static struct cs_step_time **
make_times(const struct cs_drawing *drawing)
{
	struct cs_step_time **times = calloc((size_t)drawing->ranks, sizeof *times);
	for (int rank = 0; times && rank < drawing->ranks; rank++) {
		times[rank] = calloc(drawing->plans[rank].count + 1, sizeof **times);
		if (!times[rank]) {
			free_times(times, drawing->ranks);
			return NULL;
		}
		time_rounds(&drawing->plans[rank], drawing->steps[rank], times[rank]);
	}
	return times;
}

static void
find_span(struct canvas *canvas)
{
	bool is_first = true;
	canvas->from = canvas->to = 0;
	for (int rank = 0; rank < canvas->drawing->ranks; rank++)
		for (size_t i = 0; i < canvas->drawing->plans[rank].count; i++) {
			const struct cs_step_time *time = &canvas->times[rank][i];
			if (canvas->drawing->plans[rank].steps[i].kind == CS_STEP_WAIT)
				continue;
			canvas->from = is_first || time->begin < canvas->from
				       ? time->begin : canvas->from;
			canvas->to = is_first || time->end > canvas->to ? time->end : canvas->to;
			is_first = false;
		}
}

static void
write_escaped(FILE *file, const char *text, size_t length)
{
	for (; length--; text++)
		switch (*text) {
		case '&': fputs("&amp;", file); break;
		case '<': fputs("&lt;", file); break;
		case '>': fputs("&gt;", file); break;
		default: fputc(*text, file);
		}
}

static void
write_head(const struct canvas *canvas, const char *title)
{
	/* Behind the colon in a line of its own. */
	FILE *file = canvas->file;
	const char *colon = strstr(title, ": "), *rest = colon ? colon + 2 : "";
	size_t first = colon ? (size_t)(colon - title) : strlen(title);
	double widths[] = { x_of(canvas, canvas->to), LEFT / 4 + TITLE_LETTER * (double)first,
			    LEFT / 4 + LETTER * (double)strlen(rest), LEGEND_WIDTH };
	double width = 0;
	for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
		width = widths[i] + RIGHT > width ? widths[i] + RIGHT : width;
	int height = y_of(canvas->drawing->ranks) + BOTTOM - ROW / 2;
	fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" "
		      "width=\"%.0f\" height=\"%d\" "
		      "font-family=\"sans-serif\" font-size=\"12\">\n<title>", width, height, width,
		      height);
	write_escaped(file, title, strlen(title));
	fputs("</title>\n<defs>\n", file);
	for (size_t i = 0; i < COLORS; i++)
		fprintf(file, "<marker id=\"head%zu\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" "
			      "markerWidth=\"7\" "
			      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" "
			      "fill=\"%s\"/></marker>\n",
			i, colors[i]);
	fputs("</defs>\n<style>\n.rank,.grid{stroke:#c9ced4}.grid{stroke-dasharray:3 4}"
	      ".copy{fill:#c9ced4;stroke:#57606a}.reduce{fill:#f0c23c;stroke:#7a5b00}"
	      ".wait{fill:#f7d9d3}\n", file);
	for (size_t i = 0; i < COLORS; i++)
		fprintf(file, ".m%zu{stroke:%s;stroke-width:1.4;marker-end:url(#head%zu)}\n", i,
			colors[i], i);
	fputs("</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", file);
	fprintf(file, "<text x=\"%d\" y=\"22\" font-size=\"14\">", LEFT / 4);
	write_escaped(file, title, first);
	fprintf(file, "</text>\n<text x=\"%d\" y=\"40\">", LEFT / 4);
	write_escaped(file, rest, strlen(rest));
	fputs("</text>\n", file);
}

static void
write_legend(const struct canvas *canvas)
{
	int y = y_of(canvas->drawing->ranks) - ROW / 2 + BOTTOM - 16;
	fprintf(canvas->file, "<line class=\"m0\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>"
			      "<text x=\"%d\" y=\"%d\">message, a colour for each round of the "
			      "algorithm</text>\n", LEFT / 4, y - 4, LEFT / 4 + 28, y - 4,
		LEFT / 4 + 34, y);
	fprintf(canvas->file, "<path class=\"copy\" d=\"M%d %dh20v%dh-20z\"/><text x=\"%d\" "
			      "y=\"%d\">copy</text>\n"
			      "<path class=\"reduce\" d=\"M%d %dh20v%dh-20z\"/><text x=\"%d\" "
			      "y=\"%d\">reduction</text>\n", 385, y - BOX_HEIGHT + 1, BOX_HEIGHT,
		410, y, 452, y - BOX_HEIGHT + 1, BOX_HEIGHT, 477, y);
	if (!canvas->has_rounds)
		fprintf(canvas->file, "<path class=\"wait\" d=\"M%d %dh20v%dh-20z\"/>"
				      "<text x=\"%d\" y=\"%d\">idle</text>\n", 545,
			y - BOX_HEIGHT + 1, BOX_HEIGHT, 570, y);
}

static void
write_mark(const struct canvas *canvas, double time, double label_time, const char *label)
{
	int top = TOP - 4, bottom = y_of(canvas->drawing->ranks) - ROW / 2;
	double x = x_of(canvas, time);
	fprintf(canvas->file, "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n"
			      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
		x, top, x, bottom, x_of(canvas, label_time), TOP - 10);
	write_escaped(canvas->file, label, strlen(label));
	fputs("</text>\n", canvas->file);
}

static void
write_rounds(const struct canvas *canvas)
{
	char label[32];
	for (uint32_t round = 1; round <= canvas->drawing->rounds; round++) {
		snprintf(label, sizeof label, "round %u", (unsigned)round);
		write_mark(canvas, round - 1.0, round - 0.5, label);
	}
}

/* 1, 2 or 5 times a power of ten: some five to ten of them in the range. */
static double
tick_of(double range)
{
	double tick = 1;
	while (range / tick > 10)
		tick *= 10;
	while (range > 0 && range / tick <= 1)
		tick /= 10;
	return range / tick <= 2 ? tick / 5 : range / tick <= 5 ? tick / 2 : tick;
}

static void
write_ticks(const struct canvas *canvas, const char *unit)
{
	double range = canvas->to - canvas->from, tick = tick_of(range);
	char label[64];
	for (int i = 0; i * tick <= range; i++) {
		snprintf(label, sizeof label, "%g %s", i * tick, unit);
		write_mark(canvas, canvas->from + i * tick, canvas->from + i * tick, label);
	}
}

static void
write_box(const struct canvas *canvas, int rank, size_t first, size_t count)
{
	const struct cs_step *step = &canvas->drawing->plans[rank].steps[first];
	const struct cs_step_time *times = canvas->times[rank];
	double from = x_of(canvas, times[first].begin),
	       width = x_of(canvas, times[first + count - 1].end) - from;
	char text[CS_DRAWN_TEXT];
	if (step->kind == CS_STEP_WAIT)
		strcpy(text, "idle");
	else
		cs_drawn_say(text, step, count);
	fprintf(canvas->file, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
			      "height=\"%d\"><title>rank %d: %s"
			      "</title></rect>\n", step->kind == CS_STEP_COPY ? "copy"
			      : step->kind == CS_STEP_WAIT ? "wait" : "reduce", from,
		y_of(rank) - BOX_HEIGHT / 2, width > BOX_LEAST ? width : BOX_LEAST, BOX_HEIGHT,
		rank, text);
}

/* Segments: messages of a round to the same rank lie side by side, in the order in which they are
 * sent. Returns the number of that one, and how many there are in *count. */
static size_t
segment_of(const struct canvas *canvas, int rank, size_t number, size_t *count)
{
	const struct cs_plan *plan = &canvas->drawing->plans[rank];
	const struct cs_drawn_step *drawn = canvas->drawing->steps[rank];
	size_t before = 0;
	*count = 0;
	for (size_t i = 0; i < plan->count; i++) {
		if (plan->steps[i].kind != CS_STEP_SEND ||
		    plan->steps[i].peer != plan->steps[number].peer ||
		    drawn[i].round != drawn[number].round)
			continue;
		before += i < number;
		++*count;
	}
	return before;
}

static void
write_arrow(const struct canvas *canvas, int rank, size_t number)
{
	const struct cs_step *step = &canvas->drawing->plans[rank].steps[number];
	const struct cs_drawn_step *drawn = &canvas->drawing->steps[rank][number];
	double begin = canvas->times[rank][number].begin,
	       end = canvas->times[step->peer][drawn->peer_step].end;
	size_t count, before = canvas->has_rounds ? segment_of(canvas, rank, number, &count) : 0;
	if (canvas->has_rounds && count > 1) {
		double part = SEGMENTS_PART / (double)(count - 1);
		begin += part * (double)before;
		end -= part * (double)(count - 1 - before);
	}
	fprintf(canvas->file, "<line class=\"m%zu\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\">"
			      "<title>%d -&gt; %d, %zu bytes, round %u</title></line>\n",
			      (size_t)step->note % COLORS,
		x_of(canvas, begin), y_of(rank), x_of(canvas, end), y_of(step->peer), rank,
		step->peer, step->bytes, (unsigned)drawn->round);
}

static void
write_rank(const struct canvas *canvas, int rank)
{
	const struct cs_plan *plan = &canvas->drawing->plans[rank];
	size_t count;
	for (size_t i = 0; i < plan->count; i += count) {
		count = cs_drawn_run(canvas->drawing, rank, i);
		if (cs_drawn_is_local(&plan->steps[i]))
			write_box(canvas, rank, i, count);
		else if (plan->steps[i].kind == CS_STEP_SEND)
			write_arrow(canvas, rank, i);
	}
}

/* Below the messages. */
static void
write_waits(const struct canvas *canvas, int rank)
{
	const struct cs_plan *plan = &canvas->drawing->plans[rank];
	for (size_t i = 0; i < plan->count; i++)
		if (plan->steps[i].kind == CS_STEP_WAIT &&
		    canvas->times[rank][i].end > canvas->times[rank][i].begin)
			write_box(canvas, rank, i, 1);
}

static void
write_lines(const struct canvas *canvas)
{
	for (int rank = 0; rank < canvas->drawing->ranks; rank++)
		fprintf(canvas->file, "<text x=\"%d\" y=\"%d\">rank %d</text><line class=\"rank\" "
				      "x1=\"%d\" y1=\"%d\" "
				      "x2=\"%.1f\" y2=\"%d\"/>\n", LEFT / 4, y_of(rank) + 4, rank,
				      LEFT, y_of(rank),
			x_of(canvas, canvas->to), y_of(rank));
}

enum cs_status
cs_drawing_write_svg(const struct cs_drawing *drawing, const char *title,
		     const struct cs_step_time *const *times, const char *unit, FILE *file)
{
	struct cs_step_time **own = times ? NULL : make_times(drawing);
	if (!times && !own)
		return CS_NO_MEMORY;
	struct canvas canvas = { .drawing = drawing, .file = file,
				 .times = times ? times : (const struct cs_step_time *const *)own };
	find_span(&canvas);
	if (!times) { /* whole rounds */
		canvas.from = canvas.from < 0 ? canvas.from : 0;
		canvas.to = drawing->rounds;
	}
	canvas.has_rounds = !times;
	canvas.scale = !times ? ROUND_WIDTH : canvas.to > canvas.from
		       ? TIMES_WIDTH / (canvas.to - canvas.from) : 1;
	write_head(&canvas, title);
	if (times)
		write_ticks(&canvas, unit);
	else
		write_rounds(&canvas);
	write_lines(&canvas);
	for (int rank = 0; times && rank < drawing->ranks; rank++)
		write_waits(&canvas, rank);
	for (int rank = 0; rank < drawing->ranks; rank++)
		write_rank(&canvas, rank);
	write_legend(&canvas);
	fputs("</svg>\n", file);
	free_times(own, drawing->ranks);
	return CS_OK;
}
