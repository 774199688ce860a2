#include "plan/draw.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool
is_local(const struct cs_step *step)
{
	return step->kind == CS_STEP_COPY || step->kind == CS_STEP_REDUCE;
}

/* --- pairing sends and receives ----------------------------------------------------------------------------------- */

struct half {
	int from, to;
	size_t step; /* of its own rank: also the order between two ranks */
	size_t bytes;
};

static int
compare(const void *a, const void *b)
{
	const struct half *left = a, *right = b;
	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	if (left->to != right->to)
		return left->to < right->to ? -1 : 1;
	return (left->step > right->step) - (left->step < right->step);
}

static size_t
count_of(const struct cs_drawing *drawing, enum cs_step_kind kind)
{
	size_t count = 0;
	for (int rank = 0; rank < drawing->ranks; rank++)
		for (size_t i = 0; i < drawing->plans[rank].count; i++)
			count += drawing->plans[rank].steps[i].kind == kind;
	return count;
}

/* All steps of that kind, in the order in which they match the other kind's. */
static struct half *
halves_of(const struct cs_drawing *drawing, enum cs_step_kind kind, size_t count)
{
	struct half *halves = malloc((count + 1) * sizeof *halves), *next = halves;
	for (int rank = 0; halves && rank < drawing->ranks; rank++) {
		const struct cs_plan *plan = &drawing->plans[rank];
		for (size_t i = 0; i < plan->count; i++) {
			int peer = plan->steps[i].peer;
			if (plan->steps[i].kind == kind)
				*next++ = (struct half){ .from = kind == CS_STEP_SEND ? rank : peer,
							 .to = kind == CS_STEP_SEND ? peer : rank, .step = i,
							 .bytes = plan->steps[i].bytes };
		}
	}
	if (halves)
		qsort(halves, count, sizeof *halves, compare);
	return halves;
}

static enum cs_status
pair(struct cs_drawing *drawing)
{
	size_t count = count_of(drawing, CS_STEP_SEND);
	if (count != count_of(drawing, CS_STEP_RECV))
		return CS_BAD_INPUT;
	struct half *sends = halves_of(drawing, CS_STEP_SEND, count), *recvs = halves_of(drawing, CS_STEP_RECV, count);
	enum cs_status status = sends && recvs ? CS_OK : CS_NO_MEMORY;
	for (size_t i = 0; status == CS_OK && i < count; i++) {
		const struct half *send = &sends[i], *recv = &recvs[i];
		if (send->from != recv->from || send->to != recv->to || send->bytes != recv->bytes) {
			status = CS_BAD_INPUT;
			break;
		}
		drawing->steps[send->from][send->step].peer_step = recv->step;
		drawing->steps[send->to][recv->step].peer_step = send->step;
		drawing->bytes += send->bytes;
	}
	drawing->messages = count;
	free(sends);
	free(recvs);
	return status;
}

/* --- rounds ------------------------------------------------------------------------------------------------------- */

/* A rank on its way through its plan. */
struct walker {
	size_t next;
	uint32_t round;
	size_t *started; /* by request: the step that uses it, or NOT_STARTED */
};

#define NOT_STARTED SIZE_MAX

/* Has the other half of rank `peer` been started? */
static bool
is_reached(const struct walker *walkers, int peer, size_t step)
{
	return walkers[peer].next > step;
}

/* Ends what the request stands for; false: it has to wait. */
static bool
walk_wait(struct cs_drawing *drawing, struct walker *walkers, int rank, int32_t request)
{
	struct walker *walker = &walkers[rank];
	struct cs_drawn_step *drawn = drawing->steps[rank];
	size_t start = walker->started[request];
	if (start == NOT_STARTED)
		return false;
	const struct cs_step *step = &drawing->plans[rank].steps[start];
	if (!is_reached(walkers, step->peer, drawn[start].peer_step))
		return false;
	if (step->kind == CS_STEP_RECV) {
		drawn[start].round = drawing->steps[step->peer][drawn[start].peer_step].round;
		walker->round = drawn[start].round > walker->round ? drawn[start].round : walker->round;
	}
	walker->started[request] = NOT_STARTED;
	return true;
}

/* One step; false: it has to wait, perhaps for ever. */
static bool
walk_step(struct cs_drawing *drawing, struct walker *walkers, int rank)
{
	struct walker *walker = &walkers[rank];
	const struct cs_plan *plan = &drawing->plans[rank];
	const struct cs_step *step = &plan->steps[walker->next];
	if (!is_local(step) && (step->request < 0 || step->request >= plan->requests))
		return false;
	if (step->kind == CS_STEP_WAIT && !walk_wait(drawing, walkers, rank, step->request))
		return false;
	if (step->kind == CS_STEP_SEND || step->kind == CS_STEP_RECV)
		walker->started[step->request] = walker->next;
	drawing->steps[rank][walker->next].round = walker->round + (step->kind == CS_STEP_SEND);
	walker->next++;
	return true;
}

static enum cs_status
walk_all(struct cs_drawing *drawing, struct walker *walkers)
{
	for (bool has_moved = true; has_moved;) {
		has_moved = false;
		for (int rank = 0; rank < drawing->ranks; rank++)
			while (walkers[rank].next < drawing->plans[rank].count && walk_step(drawing, walkers, rank))
				has_moved = true;
	}
	for (int rank = 0; rank < drawing->ranks; rank++) {
		if (walkers[rank].next < drawing->plans[rank].count)
			return CS_BAD_INPUT;
		drawing->rounds = walkers[rank].round > drawing->rounds ? walkers[rank].round : drawing->rounds;
	}
	return CS_OK;
}

static enum cs_status
number_rounds(struct cs_drawing *drawing)
{
	struct walker *walkers = calloc((size_t)drawing->ranks, sizeof *walkers);
	enum cs_status status = walkers ? CS_OK : CS_NO_MEMORY;
	for (int rank = 0; status == CS_OK && rank < drawing->ranks; rank++) {
		size_t bytes = ((size_t)drawing->plans[rank].requests + 1) * sizeof *walkers[rank].started;
		walkers[rank].started = malloc(bytes);
		if (walkers[rank].started)
			memset(walkers[rank].started, 0xff, bytes); /* NOT_STARTED */
		else
			status = CS_NO_MEMORY;
	}
	if (status == CS_OK)
		status = walk_all(drawing, walkers);
	for (int rank = 0; walkers && rank < drawing->ranks; rank++)
		free(walkers[rank].started);
	free(walkers);
	return status;
}

static void
find_most_bytes(struct cs_drawing *drawing)
{
	for (int rank = 0; rank < drawing->ranks; rank++) {
		uint64_t bytes[CS_STEP_KINDS] = { 0 };
		for (size_t i = 0; i < drawing->plans[rank].count; i++)
			bytes[drawing->plans[rank].steps[i].kind] += drawing->plans[rank].steps[i].bytes;
		uint64_t sent = bytes[CS_STEP_SEND], received = bytes[CS_STEP_RECV];
		uint64_t most = sent > received ? sent : received;
		drawing->most_bytes = most > drawing->most_bytes ? most : drawing->most_bytes;
	}
}

enum cs_status
cs_drawing_init(struct cs_drawing *drawing, const struct cs_plan *plans, int ranks)
{
	*drawing = (struct cs_drawing){ .plans = plans, .ranks = ranks };
	drawing->steps = calloc((size_t)ranks, sizeof *drawing->steps);
	enum cs_status status = drawing->steps ? CS_OK : CS_NO_MEMORY;
	for (int rank = 0; status == CS_OK && rank < ranks; rank++) {
		drawing->steps[rank] = calloc(plans[rank].count + 1, sizeof **drawing->steps);
		status = drawing->steps[rank] ? CS_OK : CS_NO_MEMORY;
	}
	if (status == CS_OK)
		status = pair(drawing);
	if (status == CS_OK)
		status = number_rounds(drawing);
	find_most_bytes(drawing);
	if (status != CS_OK)
		cs_drawing_fini(drawing);
	return status;
}

void
cs_drawing_fini(struct cs_drawing *drawing)
{
	for (int rank = 0; drawing->steps && rank < drawing->ranks; rank++)
		free(drawing->steps[rank]);
	free(drawing->steps);
	drawing->steps = NULL;
}

/* --- text --------------------------------------------------------------------------------------------------------- */

#define ENTRY_ROOM 80

/* What stands in one cell: a line for each entry. */
struct cell {
	char (*entries)[ENTRY_ROOM];
	size_t count, room;
};

/* Rows of cells: a rank, by a column for each round, "start" first. */
struct table {
	struct cell *cells;
	size_t *widths; /* by column */
	size_t columns;
};

/* Steps of one kind in a row that one entry tells: copies, reductions. */
static size_t
run_of(const struct cs_drawing *drawing, int rank, size_t first)
{
	const struct cs_step *steps = drawing->plans[rank].steps;
	const struct cs_drawn_step *drawn = drawing->steps[rank];
	size_t next = first + 1;
	while (is_local(&steps[first]) && next < drawing->plans[rank].count && steps[next].kind == steps[first].kind &&
	       drawn[next].round == drawn[first].round)
		next++;
	return next - first;
}

static void
say_run(char text[ENTRY_ROOM], const struct cs_step *steps, size_t count)
{
	size_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += steps[i].bytes;
	const char *name = steps->kind == CS_STEP_COPY ? "copy" : "reduce";
	if (steps->kind == CS_STEP_SEND || steps->kind == CS_STEP_RECV)
		snprintf(text, ENTRY_ROOM, "%s%d %zu", steps->kind == CS_STEP_SEND ? "->" : "<-", steps->peer, bytes);
	else if (count == 1)
		snprintf(text, ENTRY_ROOM, "%s %zu", name, bytes);
	else
		snprintf(text, ENTRY_ROOM, "%s %zu in %zu", name, bytes, count);
}

static bool
put(struct table *table, size_t row, size_t column, const struct cs_step *steps, size_t count)
{
	struct cell *cell = &table->cells[row * table->columns + column];
	if (cell->count == cell->room) {
		size_t room = cell->room ? 2 * cell->room : 4;
		char(*entries)[ENTRY_ROOM] = realloc(cell->entries, room * sizeof *entries);
		if (!entries)
			return false;
		cell->entries = entries;
		cell->room = room;
	}
	char *text = cell->entries[cell->count++];
	say_run(text, steps, count);
	table->widths[column] = strlen(text) > table->widths[column] ? strlen(text) : table->widths[column];
	return true;
}

/* In a cell: what goes out, what comes in, and what is done with it. */
static bool
fill_row(struct table *table, const struct cs_drawing *drawing, int rank)
{
	enum { OUT, IN, LOCAL, UNSEEN };
	static const unsigned char place_of[CS_STEP_KINDS] = { OUT, IN, UNSEEN, LOCAL, LOCAL };
	const struct cs_plan *plan = &drawing->plans[rank];
	for (int place = OUT; place < UNSEEN; place++) {
		size_t count;
		for (size_t i = 0; i < plan->count; i += count) {
			count = run_of(drawing, rank, i);
			if (place_of[plan->steps[i].kind] == place &&
			    !put(table, (size_t)rank, drawing->steps[rank][i].round, &plan->steps[i], count))
				return false;
		}
	}
	return true;
}

static bool
fill_table(struct table *table, const struct cs_drawing *drawing)
{
	for (int rank = 0; rank < drawing->ranks; rank++)
		if (!fill_row(table, drawing, rank))
			return false;
	return true;
}

static size_t
head_of(char text[ENTRY_ROOM], size_t column)
{
	if (column == 0)
		return (size_t)snprintf(text, ENTRY_ROOM, "start");
	return (size_t)snprintf(text, ENTRY_ROOM, "round %zu", column);
}

/* A line without blanks at its end: what is due is written before the next text. */
static void
write_word(FILE *file, const char *text, size_t width, size_t *blanks)
{
	size_t length = strlen(text);
	if (length)
		fprintf(file, "%*s%s", (int)*blanks, "", text);
	*blanks = (length ? 0 : *blanks) + width - length + 2;
}

static void
write_row(const struct table *table, int rank, FILE *file)
{
	const struct cell *cells = &table->cells[(size_t)rank * table->columns];
	size_t lines = 1;
	for (size_t column = 0; column < table->columns; column++)
		lines = cells[column].count > lines ? cells[column].count : lines;
	for (size_t line = 0; line < lines; line++) {
		char name[ENTRY_ROOM] = "";
		size_t blanks = 0;
		if (line == 0)
			snprintf(name, sizeof name, "%d", rank);
		write_word(file, name, 4, &blanks);
		for (size_t column = 0; column < table->columns; column++)
			if (table->widths[column])
				write_word(file, line < cells[column].count ? cells[column].entries[line] : "",
					   table->widths[column], &blanks);
		fputc('\n', file);
	}
}

static void
write_table(struct table *table, int ranks, FILE *file)
{
	char head[ENTRY_ROOM];
	size_t blanks = 0;
	write_word(file, "rank", 4, &blanks);
	for (size_t column = 0; column < table->columns; column++) {
		size_t length = head_of(head, column);
		if (!table->widths[column])
			continue;
		table->widths[column] = length > table->widths[column] ? length : table->widths[column];
		write_word(file, head, table->widths[column], &blanks);
	}
	fputc('\n', file);
	for (int rank = 0; rank < ranks; rank++)
		write_row(table, rank, file);
}

enum cs_status
cs_drawing_write_text(const struct cs_drawing *drawing, FILE *file)
{
	struct table table = { .columns = (size_t)drawing->rounds + 1 };
	size_t cells = (size_t)drawing->ranks * table.columns;
	table.cells = calloc(cells, sizeof *table.cells);
	table.widths = calloc(table.columns, sizeof *table.widths);
	bool is_good = table.cells && table.widths && fill_table(&table, drawing);
	if (is_good)
		write_table(&table, drawing->ranks, file);
	for (size_t i = 0; table.cells && i < cells; i++)
		free(table.cells[i].entries);
	free(table.cells);
	free(table.widths);
	return is_good ? CS_OK : CS_NO_MEMORY;
}

/* --- SVG ---------------------------------------------------------------------------------------------------------- */

/* Pixels. */
enum {
	LEFT = 70, TOP = 56, ROW = 40, RIGHT = 24, BOTTOM = 40,
	ROUND_WIDTH = 150, TIMES_WIDTH = 1000, BOX_HEIGHT = 12, BOX_LEAST = 2, LETTER = 7,
};

/* A round without times: messages first, then what is done with them. */
#define MESSAGE_PART 0.7

static const char *const colors[] = { "#1f5fa8", "#b2541a", "#2b7d3b", "#8a3a9c", "#a8222f", "#57606a" };

#define COLORS (sizeof colors / sizeof *colors)

struct canvas {
	const struct cs_drawing *drawing;
	const struct cs_step_time *const *times;
	FILE *file;
	double from, to; /* of all times */
	double scale;    /* pixels per unit */
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

/* What is done in one round shares the time between its messages and the next ones. */
static void
share_round(const struct cs_plan *plan, const struct cs_drawn_step *drawn, size_t first, size_t end, size_t count,
	    struct cs_step_time *times)
{
	double each = (1 - MESSAGE_PART) / (double)count, begin = drawn[first].round - (double)count * each;
	for (size_t i = first, done = 0; i < end; i++) {
		if (!is_local(&plan->steps[i]))
			continue;
		times[i] = (struct cs_step_time){ begin + (double)done * each, begin + (double)(done + 1) * each };
		done++;
	}
}

/* Rounds as times, for one rank. */
static void
time_rounds(const struct cs_plan *plan, const struct cs_drawn_step *drawn, struct cs_step_time *times)
{
	size_t first = 0, count = 0;
	for (size_t i = 0; i < plan->count; i++) {
		times[i] = (struct cs_step_time){ drawn[i].round - 1.0, drawn[i].round - 1.0 + MESSAGE_PART };
		if (!is_local(&plan->steps[i]))
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
			canvas->from = is_first || time->begin < canvas->from ? time->begin : canvas->from;
			canvas->to = is_first || time->end > canvas->to ? time->end : canvas->to;
			is_first = false;
		}
}

static void
write_escaped(FILE *file, const char *text)
{
	for (; *text; text++)
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
	FILE *file = canvas->file;
	double drawn = x_of(canvas, canvas->to), written = LEFT / 4 + LETTER * (double)strlen(title);
	double width = (drawn > written ? drawn : written) + RIGHT;
	int height = y_of(canvas->drawing->ranks) + BOTTOM - ROW / 2;
	fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %d\" width=\"%.0f\" height=\"%d\" "
		      "font-family=\"sans-serif\" font-size=\"12\">\n<title>", width, height, width, height);
	write_escaped(file, title);
	fputs("</title>\n<defs>\n", file);
	for (size_t i = 0; i < COLORS; i++)
		fprintf(file, "<marker id=\"head%zu\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"7\" "
			      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"%s\"/></marker>\n",
			i, colors[i]);
	fputs("</defs>\n<style>\n.rank,.grid{stroke:#c9ced4}.grid{stroke-dasharray:3 4}"
	      ".copy{fill:#c9ced4;stroke:#57606a}.reduce{fill:#f0c23c;stroke:#7a5b00}\n", file);
	for (size_t i = 0; i < COLORS; i++)
		fprintf(file, ".m%zu{stroke:%s;stroke-width:1.4;marker-end:url(#head%zu)}\n", i, colors[i], i);
	fputs("</style>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n", file);
	fprintf(file, "<text x=\"%d\" y=\"22\" font-size=\"14\">", LEFT / 4);
	write_escaped(file, title);
	fputs("</text>\n", file);
}

static void
write_mark(const struct canvas *canvas, double time, double label_time, const char *label)
{
	int top = TOP - 4, bottom = y_of(canvas->drawing->ranks) - ROW / 2;
	double x = x_of(canvas, time);
	fprintf(canvas->file, "<line class=\"grid\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n"
			      "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">",
		x, top, x, bottom, x_of(canvas, label_time), TOP - 10);
	write_escaped(canvas->file, label);
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
	double from = x_of(canvas, times[first].begin), width = x_of(canvas, times[first + count - 1].end) - from;
	char text[ENTRY_ROOM];
	say_run(text, step, count);
	fprintf(canvas->file, "<rect class=\"%s\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"><title>rank %d: %s"
			      "</title></rect>\n", step->kind == CS_STEP_COPY ? "copy" : "reduce", from,
		y_of(rank) - BOX_HEIGHT / 2, width > BOX_LEAST ? width : BOX_LEAST, BOX_HEIGHT, rank, text);
}

static void
write_arrow(const struct canvas *canvas, int rank, size_t number)
{
	const struct cs_step *step = &canvas->drawing->plans[rank].steps[number];
	const struct cs_drawn_step *drawn = &canvas->drawing->steps[rank][number];
	double begin = canvas->times[rank][number].begin, end = canvas->times[step->peer][drawn->peer_step].end;
	fprintf(canvas->file, "<line class=\"m%zu\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\">"
			      "<title>%d -&gt; %d, %zu bytes, round %u</title></line>\n", (size_t)step->note % COLORS,
		x_of(canvas, begin), y_of(rank), x_of(canvas, end), y_of(step->peer), rank, step->peer,
		step->bytes, (unsigned)drawn->round);
}

static void
write_rank(const struct canvas *canvas, int rank)
{
	const struct cs_plan *plan = &canvas->drawing->plans[rank];
	size_t count;
	for (size_t i = 0; i < plan->count; i += count) {
		count = run_of(canvas->drawing, rank, i);
		if (is_local(&plan->steps[i]))
			write_box(canvas, rank, i, count);
		else if (plan->steps[i].kind == CS_STEP_SEND)
			write_arrow(canvas, rank, i);
	}
}

static void
write_lines(const struct canvas *canvas)
{
	for (int rank = 0; rank < canvas->drawing->ranks; rank++)
		fprintf(canvas->file, "<text x=\"%d\" y=\"%d\">rank %d</text><line class=\"rank\" x1=\"%d\" y1=\"%d\" "
				      "x2=\"%.1f\" y2=\"%d\"/>\n", LEFT / 4, y_of(rank) + 4, rank, LEFT, y_of(rank),
			x_of(canvas, canvas->to), y_of(rank));
}

enum cs_status
cs_drawing_write_svg(const struct cs_drawing *drawing, const char *title, const struct cs_step_time *const *times,
		     const char *unit, FILE *file)
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
	canvas.scale = !times ? ROUND_WIDTH : canvas.to > canvas.from ? TIMES_WIDTH / (canvas.to - canvas.from) : 1;
	write_head(&canvas, title);
	if (times)
		write_ticks(&canvas, unit);
	else
		write_rounds(&canvas);
	write_lines(&canvas);
	for (int rank = 0; rank < drawing->ranks; rank++)
		write_rank(&canvas, rank);
	fputs("</svg>\n", file);
	free_times(own, drawing->ranks);
	return CS_OK;
}
