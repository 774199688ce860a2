/* tools/sim_node.c — prints the prices of collectives on one node with many cores: flat, by levels,
 * and whether half or double of an assumed value would decide otherwise. */
#include "tools/sim_request.h"

#include "base/parse.h"
#include "select/notes.h"
#include "topo/node_cost.h"
#include "trace/json.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS 5
#define MOST_RANKS 1024
#define NEVER (MOST_RANKS + 1)

static const enum cs_coll colls[] = { CS_BARRIER, CS_BCAST, CS_REDUCE, CS_ALLREDUCE,
				      CS_ALLGATHER, CS_ALLTOALL, CS_GATHER, CS_SCATTER, CS_SCAN };
static const size_t sizes[] = { 8, 1024, 65536, 1 << 20 };

struct table {
	const char *name, *origin;
	const struct cs_node_kind *kind;
	struct cs_node_model model;
	struct cs_node_groups groups;
	unsigned assumed; /* bit by value */
	int columns[COLUMNS], column_count, ranks;
	FILE *out;
};

bool
cs_tool_read_levels(const char *text, struct cs_node_groups *levels)
{
	int *const into[] = { &levels->packages, &levels->groups, &levels->ranks };
	long all = 1;
	for (int i = 0; i < 3; i++) {
		char *end;
		long number = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;
		if (number < 1 || number > MOST_RANKS || *end != (i < 2 ? 'x' : '\0'))
			return false;
		all *= number;
		*into[i] = (int)number;
		text = end + 1;
	}
	return all <= MOST_RANKS;
}

/* The model of a file that holds on this machine, else its first. */
static bool
load(struct table *table, const char *path, struct cs_tuning **tuning)
{
	struct cs_tuning_errors errors = { .out = stderr };
	struct cs_machine machine = { 0 };
	char ignored[512];
	if (cs_tuning_load(tuning, path, &errors) != CS_OK)
		return false;
	cs_machine_read(&machine);
	const struct cs_site_node *nodes = (*tuning)->nodes, *found = nodes;
	for (size_t i = 0; i < (*tuning)->node_count; i++)
		if (!cs_guard_fails(&nodes[i].about, &machine, ignored, sizeof ignored)) {
			found = &nodes[i];
			break;
		}
	if (!found) {
		fprintf(stderr, "%s: no section node_models; collshim-bench --node prints one\n",
			path);
		return false;
	}
	table->name = found->about.name;
	table->origin = "measured, or of a kind";
	table->kind = found->kind;
	table->model = found->model;
	table->assumed = ~found->measured;
	return true;
}

/* Powers of two and a half more in between, up to all ranks; and those of a group. */
static void
choose_columns(struct table *table)
{
	const int some[] = { table->groups.ranks, 32, 64, 128, 192, 256, 512 };
	int *columns = table->columns, *count = &table->column_count;
	for (size_t i = 0; i < sizeof some / sizeof *some && *count < COLUMNS - 1; i++)
		if (some[i] > 1 && some[i] < table->ranks &&
		    (!*count || some[i] > columns[*count - 1]))
			columns[(*count)++] = some[i];
	columns[(*count)++] = table->ranks;
}

/* The next model with half or double of an assumed value, and the value's name with /2 or *2. *at
 * is 0 before the first. */
static bool
vary(const struct table *table, int *at, struct cs_node_model *model, char what[48])
{
	while (*at < 2 * CS_NODE_VALUES && !(table->assumed >> *at / 2 & 1))
		*at += 2;
	if (*at >= 2 * CS_NODE_VALUES)
		return false;
	int index = *at / 2, is_double = (*at)++ % 2;
	*model = table->model;
	int64_t *value = cs_node_value_of(model, index);
	/* Rates are kept as times. */
	bool grows = is_double == (cs_node_values[index].unit != CS_NODE_RATE);
	*value = grows ? *value * 2 : *value / 2 + 1;
	cs_node_model_settle(model, ~(1u << index));
	snprintf(what, 48, "%s%s", cs_node_values[index].name, is_double ? "*2" : "/2");
	return true;
}

struct cell {
	enum cs_coll coll;
	size_t bytes;
	int ranks;
	struct cs_node_price price;
	char changes[512]; /* names that decide otherwise, with commas */
};

static struct cell
price_cell(const struct table *table, enum cs_coll coll, size_t bytes, int ranks)
{
	struct cell cell = { .coll = coll, .bytes = bytes, .ranks = ranks };
	struct cs_node_price price;
	struct cs_node_model model;
	char what[48];
	cs_node_price(&table->model, &table->groups, ranks, coll, bytes, &cell.price);
	for (int at = 0; vary(table, &at, &model, what);) {
		size_t used = strlen(cell.changes);
		cs_node_price(&model, &table->groups, ranks, coll, bytes, &price);
		if (cs_node_wants_levels(&price) != cs_node_wants_levels(&cell.price))
			snprintf(cell.changes + used, sizeof cell.changes - used, "%s%s",
				 used ? ", " : "", what);
	}
	return cell;
}

/* From how many ranks on levels gain at the smallest size; NEVER if they do not. */
static int
border_of(const struct table *table, const struct cs_node_model *model, enum cs_coll coll)
{
	int ranks = cs_node_border(model, &table->groups, table->ranks, coll, sizes[0]);
	return ranks ? ranks : NEVER;
}

/* --- text ------------------------------------------------------------------------------------- */

static void
put_us(char text[16], int64_t ps)
{
	double us = (double)ps * 1e-6;
	snprintf(text, 16, us < 10 ? "%.2f" : us < 100 ? "%.1f" : "%.0f", us);
}

static const char *
border_text(char text[16], int ranks)
{
	snprintf(text, 16, ranks == NEVER ? "never" : "%d", ranks);
	return text;
}

static void
print_values(const struct table *table)
{
	char text[CS_NODE_VALUE_TEXT];
	struct cs_node_model model = table->model;
	fprintf(table->out, "node model %s (%s): %s\n", table->name, table->origin,
		table->kind->machines);
	for (int i = 0; i < CS_NODE_VALUES; i++)
		fprintf(table->out, "  %-15s%9s  %s%s\n", cs_node_values[i].name,
			cs_node_value_text(text, i, *cs_node_value_of(&model, i)),
			cs_node_values[i].meaning,
			table->assumed >> i & 1 ? " (assumed)" : "");
	fprintf(table->out, "%d package%s x %d group%s x %d ranks, filled in order; microseconds, "
			    "flat/levels\n"
			    "=: no gain of 10 %%; !: half or double of one assumed value decides "
			    "otherwise\n",
		table->groups.packages, table->groups.packages == 1 ? "" : "s",
		table->groups.groups, table->groups.groups == 1 ? "" : "s", table->groups.ranks);
}

static void
print_row(const struct table *table, enum cs_coll coll, size_t bytes)
{
	char number[CS_NUMBER_TEXT], fans[CS_NODE_FANS_TEXT], flat[16], levels[16], shown[40];
	struct cell cell;
	fprintf(table->out, "%-10s%5s", cs_colls[coll].name,
		coll == CS_BARRIER ? "" : cs_bytes_text(number, bytes));
	for (int i = 0; i < table->column_count; i++) {
		cell = price_cell(table, coll, bytes, table->columns[i]);
		put_us(flat, cell.price.flat.time);
		put_us(levels, cell.price.levels.time);
		snprintf(shown, sizeof shown, "%s/%s%s", flat,
			 cs_node_wants_levels(&cell.price) ? levels : "=",
			 *cell.changes ? "!" : "");
		fprintf(table->out, " %15s", shown);
	}
	if (!cs_node_wants_levels(&cell.price)) {
		fputs("  flat\n", table->out);
		return;
	}
	cs_node_fans(fans, &cell.price.levels);
	fprintf(table->out, "  %s%s%s", cell.price.levels.form, *fans ? "; " : "", fans);
	if (cell.price.levels.chunk)
		fprintf(table->out, "; chunk %s", cs_bytes_text(number, cell.price.levels.chunk));
	fputc('\n', table->out);
}

static void
print_border(const struct table *table, enum cs_coll coll)
{
	int ranks = border_of(table, &table->model, coll), low = ranks, high = ranks;
	char what[48], low_by[48] = "as it is", high_by[48] = "as it is", texts[3][16];
	struct cs_node_model model;
	for (int at = 0; vary(table, &at, &model, what);) {
		int found = border_of(table, &model, coll);
		if (found < low)
			memcpy(low_by, what, sizeof what);
		if (found > high)
			memcpy(high_by, what, sizeof what);
		low = found < low ? found : low;
		high = found > high ? found : high;
	}
	fprintf(table->out, "  %-10s%5s; %s to %s (%s, %s)\n", cs_colls[coll].name,
		border_text(texts[0], ranks), border_text(texts[1], low),
		border_text(texts[2], high), low_by, high_by);
}

/* Prints the prices of a result over several nodes (algorithms/hier/copy_out.h). */
static void
print_copy_out(const struct table *table)
{
	char number[CS_NUMBER_TEXT];
	struct cs_node_price price;
	int ranks = table->ranks;
	size_t fan, from = cs_node_hybrid_from(&table->model, &table->groups, ranks, &fan);
	cs_node_price_copy_out(&table->model, &table->groups, ranks, (size_t)1 << 20, &price);
	fprintf(table->out, "copy-out over several nodes, %d ranks, 1M: copies %.1f us", ranks,
		(double)price.flat.time * 1e-6);
	if (price.levels.time < CS_NODE_NEVER && table->groups.ranks > 1)
		fprintf(table->out, ", hybrid %.1f", (double)price.levels.time * 1e-6);
	fprintf(table->out, "; hybrid %s%s\n", from < SIZE_MAX ? "from " : "never",
		from < SIZE_MAX ? cs_bytes_text(number, from) : "");
}

static void
print_text(const struct table *table)
{
	print_values(table);
	fprintf(table->out, "%-15s", "");
	for (int i = 0; i < table->column_count; i++)
		fprintf(table->out, " %9d ranks", table->columns[i]);
	fputs("  with all\n", table->out);
	for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			if (colls[i] != CS_BARRIER || k == 0)
				print_row(table, colls[i], sizes[k]);
	fputs("ranks from which on levels gain 10 % at 8 bytes; and with half or double\n",
	      table->out);
	for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
		print_border(table, colls[i]);
	print_copy_out(table);
	fprintf(table->out, "single copy: at most %d readers of one owner at once\n",
		cs_node_readers(&table->model));
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void
json_fans(FILE *out, const char *name, const int fans[CS_DISTANCES])
{
	fprintf(out, ", \"%s\": [%d, %d, %d]", name, fans[0], fans[1], fans[2]);
}

static void
json_cell(const struct table *table, const struct cell *cell, bool is_first)
{
	const struct cs_node_way *levels = &cell->price.levels;
	FILE *out = table->out;
	fprintf(out, "%s\n    {\"collective\": \"%s\", \"bytes\": %zu, \"ranks\": %d, "
		     "\"flat_ps\": %" PRId64 ", \"levels_ps\": ", is_first ? "" : ",",
		cs_colls[cell->coll].name, cell->coll == CS_BARRIER ? 0 : cell->bytes, cell->ranks,
		cell->price.flat.time);
	if (levels->time < CS_NODE_NEVER) {
		fprintf(out, "%" PRId64 ", \"form\": ", levels->time);
		cs_json_string(out, levels->form);
		json_fans(out, "up", levels->up);
		json_fans(out, "down", levels->down);
		fprintf(out, ", \"chunk\": %zu", levels->chunk);
	} else {
		fputs("null", out);
	}
	fprintf(out, ", \"best\": \"%s\", \"changes\": ",
		cs_node_wants_levels(&cell->price) ? "levels" : "flat");
	cs_json_string(out, cell->changes);
	putc('}', out);
}

static void
print_json(const struct table *table)
{
	FILE *out = table->out;
	struct cs_node_model model = table->model;
	bool is_first = true;
	size_t fan, from = cs_node_hybrid_from(&model, &table->groups, table->ranks, &fan);
	fputs("{\"model\": ", out);
	cs_json_string(out, table->name);
	fprintf(out, ", \"kind\": \"%s\", \"levels\": [%d, %d, %d], \"readers\": %d,\n"
		     "  \"hybrid_from\": %" PRId64 ",\n  \"values\": {",
		table->kind->name, table->groups.packages, table->groups.groups,
		table->groups.ranks, cs_node_readers(&model),
		from < SIZE_MAX ? (int64_t)from : -1);
	for (int i = 0; i < CS_NODE_VALUES; i++) {
		char text[CS_NODE_VALUE_TEXT];
		fprintf(out, "%s\"%s\": {\"value\": %s, \"assumed\": %s}", i ? ", " : "",
			cs_node_values[i].name,
			cs_node_value_text(text, i, *cs_node_value_of(&model, i)),
			table->assumed >> i & 1 ? "true" : "false");
	}
	fputs("},\n  \"prices\": [", out);
	for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
			for (int c = 0; c < table->column_count &&
			     (colls[i] != CS_BARRIER || k == 0); c++, is_first = false) {
				struct cell cell = price_cell(table, colls[i], sizes[k],
							      table->columns[c]);
				json_cell(table, &cell, is_first);
			}
	fputs("],\n  \"borders\": {", out);
	for (size_t i = 0; i < sizeof colls / sizeof *colls; i++)
		fprintf(out, "%s\"%s\": %d", i ? ", " : "", cs_colls[colls[i]].name,
			cs_node_border(&model, &table->groups, table->ranks, colls[i], sizes[0]));
	fputs("}}\n", out);
}

int
cs_tool_node(const struct cs_sim_options *request)
{
	struct cs_tuning *tuning = NULL;
	struct table table = { .out = stdout, .kind = cs_node_kind_by_name(request->node_model) };
	if (table.kind) {
		table.name = table.kind->name;
		table.origin = "built in";
		table.model = table.kind->model;
		table.assumed = ~table.kind->published;
	} else if (!load(&table, request->node_model, &tuning)) {
		cs_tuning_destroy(tuning);
		fputs("collshim-sim: --node-model: expected epyc, xeon, arm, a64fx, or such a "
		      "tuning file\n", stderr);
		return CS_TOOL_WRONG_USE;
	}
	table.groups = table.kind->shape;
	if (request->levels.packages) {
		int64_t cache = table.groups.cache;
		table.groups = request->levels;
		table.groups.cache = cache;
	}
	table.ranks = table.groups.packages * table.groups.groups * table.groups.ranks;
	choose_columns(&table);
	if (request->is_json)
		print_json(&table);
	else
		print_text(&table);
	cs_tuning_destroy(tuning);
	return CS_TOOL_DONE;
}
