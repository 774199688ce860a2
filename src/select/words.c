/* select/words.c — a rule in words, for the report. */
#include "select/table.h"

#include <stdio.h>
#include <string.h>

static const char *
count_words(char *text, size_t bytes, struct cs_range range, const char *one, const char *many)
{
	char numbers[CS_RANGE_TEXT];
	if (range.low <= 1 && range.high == 2)
		snprintf(text, bytes, "one %s", one);
	else if (range.low == 2 && range.high == CS_INF)
		snprintf(text, bytes, "several %s", many);
	else
		snprintf(text, bytes, "%s %s", cs_count_range_text(numbers, range), many);
	return text;
}

static bool
is_all(struct cs_range range)
{
	return range.low == 0 && range.high == CS_INF;
}

static void
add_counts(const struct cs_row *row, char *words, size_t bytes)
{
	char text[CS_RANGE_TEXT + 40];
	if (!is_all(row->nodes))
		cs_text_add(words, bytes, "%s, ", count_words(text, sizeof text, row->nodes, "node",
							      "nodes"));
	if (!is_all(row->ppn))
		cs_text_add(words, bytes, "%s on each, ",
			    count_words(text, sizeof text, row->ppn, "rank", "ranks"));
	if (!is_all(row->ranks))
		cs_text_add(words, bytes, "%s in all, ",
			    count_words(text, sizeof text, row->ranks, "rank", "ranks"));
}

/* Without the words before the label of the file. */
static const char *
place_of(const char *reason)
{
	static const char *const begins[] = { "built-in ", "rule ", "learnt " };
	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (!strncmp(reason, begins[i], strlen(begins[i])))
			return reason + strlen(begins[i]);
	return reason;
}

const char *
cs_selector_rule_words(const struct cs_selector *selector, enum cs_coll coll, const char *reason,
		       char *words, size_t bytes)
{
	static const char *const begins[] = { [CS_WHY_RULE] = "rule of the site",
					      [CS_WHY_LEARNT] = "learnt in earlier runs",
					      [CS_WHY_BUILTIN] = "built-in rule" };
	char range[CS_RANGE_TEXT];
	if (!selector)
		return NULL;
	const struct cs_table *table = &selector->tables[coll];
	const struct cs_row *row = table->rows, *end = row + table->count;
	while (row < end && row->reason != reason)
		row++;
	if (row == end || !row->block)
		return NULL;
	snprintf(words, bytes, "%s: ", begins[row->why]);
	add_counts(row, words, bytes);
	if (row->wire)
		cs_text_add(words, bytes, "messages by %s, ",
			    row->wire == CS_WIRE_IB ? "verbs" : "the MPI");
	if (row->placement)
		cs_text_add(words, bytes, "%s, ", row->placement == CS_PLACEMENT_BLOCK
						  ? "ranks of a node consecutive"
						  : "ranks of a node scattered");
	if (row->imbalance)
		cs_text_add(words, bytes, "by how late ranks come, ");
	if (!is_all(row->skew))
		cs_text_add(words, bytes, "by how unequal blocks are, ");
	if (is_all(row->bytes))
		cs_text_add(words, bytes, "any size");
	else
		cs_text_add(words, bytes, "%s bytes", cs_byte_range_text(range, row->bytes));
	return place_of(reason);
}
