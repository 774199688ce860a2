/* tools/arrivals_svg.c — draws arrivals as a heat map, rank by call (seed 002, figure 3.5). */
#include "tools/arrivals.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LEFT = 70, TOP = 48, MAP_WIDTH = 900, MAP_HEIGHT = 480, RIGHT = 110, BOTTOM = 44 };
enum { MOST_COLUMNS = 450, MOST_ROWS = 240 };

/* From early to late. */
static const char *const colors[] = {
	"#0d1b4c", "#1a2f7a", "#27489f", "#2f66b5", "#3385b8", "#40a3ad", "#5fbd97", "#8ad07c",
	"#b7de64", "#e0e45a", "#f6d54c", "#f9b53f", "#f48f36", "#e5652f", "#cc3a2b", "#a51626",
};
#define COLORS ((int)(sizeof colors / sizeof *colors))

/* The communicator with the most arrivals. */
struct search {
	uint64_t comm, calls, best_comm, best_calls;
	int size, best_size;
};

static void
search(void *user, const struct cs_arrival_call *call)
{
	struct search *at = user;
	if (call->comm != at->comm || !at->calls)
		*at = (struct search){ call->comm, 0, at->best_comm, at->best_calls, call->size,
				       at->best_size };
	at->calls++;
	if (at->calls * (uint64_t)at->size > at->best_calls * (uint64_t)at->best_size) {
		at->best_comm = at->comm;
		at->best_calls = at->calls;
		at->best_size = at->size;
	}
}

/* Means over the ranks and calls of a cell, by row and then by column. */
struct map {
	uint64_t comm, calls, done;
	int ranks, rows, columns;
	double *sum;
	uint64_t *count;
};

static void
fill(void *user, const struct cs_arrival_call *call)
{
	struct map *map = user;
	if (call->comm != map->comm)
		return;
	size_t column = (size_t)(map->done++ * (uint64_t)map->columns / map->calls);
	for (int rank = 0; rank < call->size; rank++) {
		size_t row = (size_t)rank * (size_t)map->rows / (size_t)map->ranks,
		       cell = row * (size_t)map->columns + column;
		map->sum[cell] += (double)call->arrived[rank];
		map->count[cell]++;
	}
}

static int
compare(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return a < b ? -1 : a > b;
}

/* The colours end where 1 in 100 cells is later; nanoseconds. *sorted is scratch. */
static double
scale_of(const struct map *map, double *sorted)
{
	size_t cells = (size_t)map->rows * (size_t)map->columns;
	memcpy(sorted, map->sum, cells * sizeof *sorted);
	qsort(sorted, cells, sizeof *sorted, compare);
	double most = sorted[cells - 1 - (cells - 1) / 100];
	return most > 1 ? most : 1;
}

static void
text(FILE *out, int x, int y, const char *anchor, const char *words)
{
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words);
}

static void
draw(FILE *out, const struct map *map, double most)
{
	char words[128];
	fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
		"font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		LEFT + MAP_WIDTH + RIGHT, TOP + MAP_HEIGHT + BOTTOM);
	snprintf(words, sizeof words, "arrivals after the first one of the call: %d ranks, %" PRIu64
		 " calls", map->ranks, map->calls);
	text(out, LEFT, TOP - 20, "start", words);
	for (int row = 0; row < map->rows; row++)
		for (int column = 0, end; column < map->columns; column = end) {
			const double *cells = map->sum + (size_t)row * (size_t)map->columns;
			int color = (int)(cells[column] / most * COLORS);
			color = color < COLORS ? color : COLORS - 1;
			for (end = column + 1; end < map->columns; end++) {
				int next = (int)(cells[end] / most * COLORS);
				if ((next < COLORS ? next : COLORS - 1) != color)
					break;
			}
			/* One pixel for another: cells meet. */
			int x = column * MAP_WIDTH / map->columns, y = row * MAP_HEIGHT / map->rows;
			fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
				"fill=\"%s\"/>\n", LEFT + x, TOP + y,
				end * MAP_WIDTH / map->columns - x,
				(row + 1) * MAP_HEIGHT / map->rows - y, colors[color]);
		}
	text(out, LEFT - 8, TOP + 12, "end", "rank 0");
	snprintf(words, sizeof words, "rank %d", map->ranks - 1);
	text(out, LEFT - 8, TOP + MAP_HEIGHT, "end", words);
	text(out, LEFT, TOP + MAP_HEIGHT + 20, "start", "call 1");
	snprintf(words, sizeof words, "call %" PRIu64, map->calls);
	text(out, LEFT + MAP_WIDTH, TOP + MAP_HEIGHT + 20, "end", words);
	for (int color = 0; color < COLORS; color++)
		fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"16\" height=\"%d\" fill=\"%s\"/>\n",
			LEFT + MAP_WIDTH + 16, TOP + MAP_HEIGHT - (color + 1) * MAP_HEIGHT / COLORS,
			MAP_HEIGHT / COLORS, colors[color]);
	text(out, LEFT + MAP_WIDTH + 38, TOP + MAP_HEIGHT, "start", "0");
	snprintf(words, sizeof words, "%" PRIu64 " us", (uint64_t)(most / 1000));
	text(out, LEFT + MAP_WIDTH + 38, TOP + 12, "start", words);
	fputs("</svg>\n", out);
}

enum cs_status
cs_arrivals_svg(const struct cs_arrival_files *files, FILE *out)
{
	struct search found = { .comm = 0 };
	struct cs_arrival_calls calls;
	enum cs_status status = cs_arrival_files_walk(files, search, &found, &calls);
	if (status != CS_OK)
		return status;
	if (!found.best_calls)
		return CS_BAD_INPUT;
	struct map map = {
		.comm = found.best_comm, .calls = found.best_calls, .ranks = found.best_size,
		.rows = found.best_size < MOST_ROWS ? found.best_size : MOST_ROWS,
		.columns = found.best_calls < MOST_COLUMNS ? (int)found.best_calls : MOST_COLUMNS,
	};
	size_t cells = (size_t)map.rows * (size_t)map.columns;
	map.sum = calloc(cells, sizeof *map.sum);
	map.count = calloc(cells, sizeof *map.count);
	double *sorted = malloc(cells * sizeof *sorted);
	status = map.sum && map.count && sorted ? cs_arrival_files_walk(files, fill, &map, &calls)
						: CS_NO_MEMORY;
	if (status == CS_OK) {
		for (size_t i = 0; i < cells; i++)
			map.sum[i] /= map.count[i] ? (double)map.count[i] : 1;
		draw(out, &map, scale_of(&map, sorted));
	}
	free(map.sum);
	free(map.count);
	free(sorted);
	return status;
}
