/* select/read_map.c — reads the maps of a tuning file by tables of their keys, and says what is
 * wrong with them. */
#include "select/read_map.h"

#include "base/nearest.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void
cs_tuning_complain(struct cs_tuning_errors *errors, const char *where, const char *what)
{
	if (!errors->count++) {
		*errors->first = '\0';
		cs_text_add(errors->first, sizeof errors->first, "%s: %s", where, what);
	}
	if (errors->out)
		fprintf(errors->out, "%s: %s\n", where, what);
}

void
cs_tuning_complain_at(struct cs_tuning_errors *errors, const char *label, unsigned line,
		      unsigned column, const char *what)
{
	char where[256];
	snprintf(where, sizeof where, "%.200s:%u:%u", label, line, column);
	cs_tuning_complain(errors, where, what);
}

void
cs_reader_complain(struct cs_reader *reader, const struct cs_yaml *at, const char *format, ...)
{
	char what[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	cs_tuning_complain_at(reader->errors, reader->tuning->label, at->line, at->column, what);
}

const char *
cs_reader_found(char shown[CS_SHOWN_TEXT], const struct cs_yaml *node)
{
	if (node->kind != CS_YAML_SCALAR)
		return node->kind == CS_YAML_LIST ? "a list" : "a map";
	return *node->text ? cs_shown(shown, node->text) : "nothing";
}

void
cs_reader_expect(struct cs_reader *reader, const struct cs_yaml *at, const char *expected)
{
	char shown[CS_SHOWN_TEXT];
	cs_reader_complain(reader, at, "found %s, expected %s", cs_reader_found(shown, at),
			   expected);
}

char *
cs_reader_copy(struct cs_reader *reader, const char *text)
{
	char *made = strdup(text);
	if (!made)
		reader->is_out_of_memory = true;
	return made;
}

/* Copies a text to one line: ends of lines become blanks, and are dropped at the text's beginning
 * and end. */
static char *
copy_line(struct cs_reader *reader, const char *text)
{
	char *made = cs_reader_copy(reader, text + strspn(text, "\n"));
	size_t length = made ? strlen(made) : 0;
	while (length && made[length - 1] == '\n')
		made[--length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (made[i] == '\n')
			made[i] = ' ';
	return made;
}

void *
cs_reader_grow(struct cs_reader *reader, void *array, size_t count, size_t element_bytes)
{
	/* Capacity is the next power of two, so it need not be kept. */
	if (count & (count - 1))
		return array;
	void *grown = realloc(array, (count ? count * 2 : 1) * element_bytes);
	if (!grown)
		reader->is_out_of_memory = true;
	return grown;
}

bool
cs_reader_take_map(struct cs_reader *reader, const struct cs_yaml *map, const char *what,
		   const struct cs_map_key *keys, size_t key_count, void *object)
{
	char message[128], shown[CS_SHOWN_TEXT];
	unsigned seen_on[CS_MOST_KEYS] = { 0 };
	if (map->kind != CS_YAML_MAP) {
		snprintf(message, sizeof message, "a map, %s", what);
		cs_reader_expect(reader, map, message);
		return false;
	}
	for (const struct cs_yaml *key = map->first; key; key = key->next->next) {
		if (key->kind != CS_YAML_SCALAR) {
			cs_reader_expect(reader, key, "the name of a key");
			continue;
		}
		size_t i = 0;
		while (i < key_count && strcmp(keys[i].name, key->text))
			i++;
		if (i == key_count) {
			struct cs_nearest nearest = { .word = key->text };
			char known[384] = "";
			for (size_t k = 0; k < key_count; k++) {
				cs_nearest_try(&nearest, keys[k].name);
				cs_text_add(known, sizeof known, "%s%s", k ? ", " : "",
					    keys[k].name);
			}
			cs_reader_complain(reader, key, "found the key %s, expected one of "
							"%s%s%s%s",
					   cs_shown(shown, key->text), known,
					   nearest.best ? "; did you mean " : "", nearest.best
					   ? nearest.best : "", nearest.best ? "?" : "");
		} else if (seen_on[i]) {
			cs_reader_complain(reader, key, "found the key %s again, expected it once "
							"(first in line %u)",
					   keys[i].name, seen_on[i]);
		} else {
			seen_on[i] = key->line;
			keys[i].take(reader, key->next, (char *)object + keys[i].offset);
		}
	}
	for (size_t i = 0; i < key_count; i++)
		if (keys[i].is_required && !seen_on[i])
			cs_reader_complain(reader, map, "expected the key %s in %s", keys[i].name,
					   what);
	return true;
}

void
cs_take_text(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR || !value->text[strspn(value->text, "\n")])
		cs_reader_expect(reader, value, "a text");
	else
		*(char **)field = copy_line(reader, value->text);
}

/* Reads a date as "2026-01-31". */
static bool
is_day(const char *text)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int year = atoi(text), month = atoi(text + 5), day = atoi(text + 8);
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return month >= 1 && month <= 12 && day >= 1 &&
	       day <= days[month - 1] + (month == 2 && is_leap);
}

void
cs_take_date(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	static const char pattern[] = "dddd-dd-dd";
	size_t i = 0;
	if (value->kind == CS_YAML_SCALAR)
		while (pattern[i] && (pattern[i] == 'd' ? isdigit((unsigned char)value->text[i])
							: value->text[i] == pattern[i]))
			i++;
	if (pattern[i] || value->text[i] || !is_day(value->text))
		cs_reader_expect(reader, value, "a date as 2026-01-31");
	else
		cs_take_text(reader, value, field);
}

void
cs_take_mpi(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR ||
	    (strcmp(value->text, "mpich") && strcmp(value->text, "openmpi")))
		cs_reader_expect(reader, value, "mpich or openmpi");
	else
		cs_take_text(reader, value, field);
}

void
cs_take_bytes(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR || cs_parse_byte_range(value->text, field) != CS_OK)
		cs_reader_expect(reader, value, "sizes A-B with A < B (from A up to, without, B), "
						"as 0-4K or 64K-inf");
}

void
cs_take_counts(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR || cs_parse_count_range(value->text, field) != CS_OK)
		cs_reader_expect(reader, value, "a number, or A-B with A <= B (B included), as 4, "
						"2-8 or 2-inf");
}

void
cs_take_wire(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind == CS_YAML_SCALAR && !strcmp(value->text, cs_wire_words[CS_WIRE_HOST]))
		*(int *)field = CS_WIRE_HOST;
	else if (value->kind == CS_YAML_SCALAR && !strcmp(value->text, cs_wire_words[CS_WIRE_IB]))
		*(int *)field = CS_WIRE_IB;
	else
		cs_reader_expect(reader, value, "host or ib");
}

void
cs_take_placement(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind == CS_YAML_SCALAR && !strcmp(value->text, "block"))
		*(enum cs_placement *)field = CS_PLACEMENT_BLOCK;
	else if (value->kind == CS_YAML_SCALAR && !strcmp(value->text, "cyclic"))
		*(enum cs_placement *)field = CS_PLACEMENT_CYCLIC;
	else
		cs_reader_expect(reader, value, "block or cyclic");
}

/* False: it is no name, or again one of the set. */
static bool
add_imbalance(const struct cs_yaml *value, unsigned *set)
{
	enum cs_balance imbalance =
		value->kind == CS_YAML_SCALAR ? cs_balance_by_name(value->text) : CS_BALANCES;
	bool is_new = imbalance < CS_BALANCES && !(*set >> imbalance & 1);
	*set |= is_new ? 1u << imbalance : 0;
	return is_new;
}

void
cs_take_imbalance(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	unsigned *set = field;
	bool is_right = value->kind != CS_YAML_LIST || value->first;
	if (value->kind != CS_YAML_LIST)
		is_right = add_imbalance(value, set);
	for (const struct cs_yaml *name = value->kind == CS_YAML_LIST ? value->first : NULL;
	     name && is_right; name = name->next)
		is_right = add_imbalance(name, set);
	if (!is_right)
		cs_reader_expect(reader, value, "balanced, moderate or strong, or a list of them");
}

void
cs_take_flag(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	bool is_yes = value->kind == CS_YAML_SCALAR && !strcmp(value->text, "yes");
	if (!is_yes && (value->kind != CS_YAML_SCALAR || strcmp(value->text, "no")))
		cs_reader_expect(reader, value, "yes or no");
	*(bool *)field = is_yes;
}

void
cs_take_form(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	bool is_nonblocking;
	cs_take_flag(reader, value, &is_nonblocking);
	*(enum cs_form *)field = is_nonblocking ? CS_FORM_NONBLOCKING : CS_FORM_BLOCKING;
}

void
cs_take_node(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	*(const struct cs_yaml **)field = value;
}
