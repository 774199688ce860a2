/* plan/draw_text.c — draws the plans of all ranks as a table of text. */
#include "plan/drawn_run.h"

#include <stdlib.h>
#include <string.h>

size_t
cs_drawn_run(const struct cs_drawing *drawing, int rank, size_t first)
{
	const struct cs_step *steps = drawing->plans[rank].steps;
	const struct cs_drawn_step *drawn = drawing->steps[rank];
	size_t next = first + 1;
	while (cs_drawn_is_local(&steps[first]) && next < drawing->plans[rank].count &&
	       steps[next].kind == steps[first].kind && drawn[next].round == drawn[first].round)
		next++;
	return next - first;
}

void
cs_drawn_say(char text[CS_DRAWN_TEXT], const struct cs_step *steps, size_t count)
{
	size_t bytes = 0;
	for (size_t i = 0; i < count; i++)
		bytes += steps[i].bytes;
	const char *name = steps->kind == CS_STEP_COPY ? "copy" : "reduce";
	if (steps->kind == CS_STEP_SEND || steps->kind == CS_STEP_RECV)
		snprintf(text, CS_DRAWN_TEXT, "%s%d %zu", steps->kind == CS_STEP_SEND ? "->" : "<-",
			 steps->peer, bytes);
	else if (count == 1)
		snprintf(text, CS_DRAWN_TEXT, "%s %zu", name, bytes);
	else
		snprintf(text, CS_DRAWN_TEXT, "%s %zu in %zu", name, bytes, count);
}

/* Content of one cell: a line for each entry. */
struct cell {
	char (*entries)[CS_DRAWN_TEXT];
	size_t count, room;
};

/* Rows of cells: a rank, by a column for each round, "start" first. */
struct table {
	struct cell *cells;
	size_t *widths; /* by column */
	size_t columns;
};

static bool
put(struct table *table, size_t row, size_t column, const struct cs_step *steps, size_t count)
{
	struct cell *cell = &table->cells[row * table->columns + column];
	if (cell->count == cell->room) {
		size_t room = cell->room ? 2 * cell->room : 4;
		char(*entries)[CS_DRAWN_TEXT] = realloc(cell->entries, room * sizeof *entries);
		if (!entries)
			return false;
		cell->entries = entries;
		cell->room = room;
	}
	char *text = cell->entries[cell->count++];
	cs_drawn_say(text, steps, count);
	table->widths[column] = strlen(text) > table->widths[column]
				? strlen(text) : table->widths[column];
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
			count = cs_drawn_run(drawing, rank, i);
			if (place_of[plan->steps[i].kind] == place &&
			    !put(table, (size_t)rank, drawing->steps[rank][i].round,
				 &plan->steps[i], count))
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
head_of(char text[CS_DRAWN_TEXT], size_t column)
{
	if (column == 0)
		return (size_t)snprintf(text, CS_DRAWN_TEXT, "start");
	return (size_t)snprintf(text, CS_DRAWN_TEXT, "round %zu", column);
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
		char name[CS_DRAWN_TEXT] = "";
		size_t blanks = 0;
		if (line == 0)
			snprintf(name, sizeof name, "%d", rank);
		write_word(file, name, 4, &blanks);
		for (size_t column = 0; column < table->columns; column++)
			if (table->widths[column])
				write_word(file, line < cells[column].count
					   ? cells[column].entries[line] : "",
					   table->widths[column], &blanks);
		fputc('\n', file);
	}
}

static void
write_table(struct table *table, int ranks, FILE *file)
{
	char head[CS_DRAWN_TEXT];
	size_t blanks = 0;
	write_word(file, "rank", 4, &blanks);
	for (size_t column = 0; column < table->columns; column++) {
		size_t length = head_of(head, column);
		if (!table->widths[column])
			continue;
		table->widths[column] = length > table->widths[column]
					? length : table->widths[column];
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
