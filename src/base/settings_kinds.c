/* base/settings_kinds.c — reads, prints and digests the value of a variable of collshim, by its
 * kind. */
#include "base/settings_kinds.h"

#include "base/fake_levels.h"
#include "base/fake_nodes.h"
#include "base/hash.h"
#include "base/parse.h"
#include "base/printable.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- texts that live as long as the process --------------------------------------------------
 *
 * Settings are read once, but tests and tools read them again; equal texts are kept once, so that
 * nothing grows. */

struct kept {
	struct kept *next;
	char text[];
};

static const char *
keep(const char *text)
{
	static struct kept *all;
	for (const struct kept *kept = all; kept; kept = kept->next)
		if (!strcmp(kept->text, text))
			return kept->text;
	size_t bytes = strlen(text) + 1;
	struct kept *kept = malloc(sizeof *kept + bytes);
	if (!kept)
		return text; /* the environment's own text: right until the program changes it */
	memcpy(kept->text, text, bytes);
	kept->next = all;
	all = kept;
	return kept->text;
}

/* ---- kinds of values ------------------------------------------------------------------------- */

bool
cs_setting_read_flag(const struct cs_setting *row, const char *text, void *field)
{
	static const char *const words[][2] = {
		{ "0", "1" }, { "no", "yes" }, { "off", "on" }, { "false", "true" },
	};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		for (int value = 0; value < 2; value++)
			if (!strcasecmp(text, words[i][value])) {
				*(bool *)field = value;
				return true;
			}
	return false;
}

static void
write_flag(FILE *out, const struct cs_setting *row, const void *field)
{
	fputs(*(const bool *)field ? "1" : "0", out);
}

static uint64_t
hash_flag(uint64_t hash, const void *field)
{
	return cs_hash_number(hash, *(const bool *)field);
}

const struct cs_setting_kind cs_flag_kind = { cs_setting_read_flag, write_flag, hash_flag };

static bool
read_count(const struct cs_setting *row, const char *text, void *field)
{
	size_t value;
	if (cs_parse_bytes(text, &value) != CS_OK || value < row->low || value > row->high)
		return false;
	*(int *)field = (int)value;
	return true;
}

static void
write_count(FILE *out, const struct cs_setting *row, const void *field)
{
	if (*(const int *)field < 0)
		fputs("as tuned", out);
	else
		fprintf(out, "%d", *(const int *)field);
}

static uint64_t
hash_count(uint64_t hash, const void *field)
{
	return cs_hash_number(hash, (uint64_t)*(const int *)field);
}

const struct cs_setting_kind cs_count_kind = { read_count, write_count, hash_count };

static bool
read_size(const struct cs_setting *row, const char *text, void *field)
{
	size_t value;
	if (cs_parse_bytes(text, &value) != CS_OK || value < row->low || value > row->high)
		return false;
	*(size_t *)field = value;
	return true;
}

static void
write_size(FILE *out, const struct cs_setting *row, const void *field)
{
	char text[CS_NUMBER_TEXT];
	size_t value = *(const size_t *)field;
	fputs(value ? cs_bytes_text(text, value) : "as tuned", out);
}

static uint64_t
hash_size(uint64_t hash, const void *field)
{
	return cs_hash_number(hash, *(const size_t *)field);
}

const struct cs_setting_kind cs_size_kind = { read_size, write_size, hash_size };

/* "off", or a number of seconds, or of ms, s, m or h. */
static bool
read_time(const struct cs_setting *row, const char *text, void *field)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = { { "", 1 }, { "ms", 1e-3 }, { "s", 1 }, { "m", 60 }, { "h", 3600 } };
	char *end;
	double number = cs_parse_decimal(text, &end);
	if (!strcasecmp(text, "off")) {
		*(uint64_t *)field = 0;
		return true;
	}
	for (size_t i = 0; end != text && i < sizeof units / sizeof *units; i++) {
		double seconds = number * units[i].seconds;
		if (strcasecmp(end, units[i].name) || !(seconds >= 0.01 && seconds <= 3.6e6))
			continue;
		*(uint64_t *)field = (uint64_t)(seconds * 1e9);
		return true;
	}
	return false;
}

static void
write_time(FILE *out, const struct cs_setting *row, const void *field)
{
	uint64_t ns = *(const uint64_t *)field;
	if (ns)
		fprintf(out, "%gs", (double)ns * 1e-9);
	else
		fputs("off", out);
}

static uint64_t
hash_time(uint64_t hash, const void *field)
{
	return cs_hash_number(hash, *(const uint64_t *)field != 0);
}

const struct cs_setting_kind cs_time_kind = { read_time, write_time, hash_time };

/* For enums whose first word has the value 0, the next 1, and so on. */
static bool
read_word(const struct cs_setting *row, const char *text, void *field)
{
	for (unsigned i = (unsigned)row->low; row->words[i]; i++)
		if (!strcasecmp(text, row->words[i])) {
			*(unsigned *)field = i;
			return true;
		}
	return false;
}

static void
write_word(FILE *out, const struct cs_setting *row, const void *field)
{
	fputs(row->words[*(const unsigned *)field], out);
}

static uint64_t
hash_word(uint64_t hash, const void *field)
{
	return cs_hash_number(hash, *(const unsigned *)field);
}

const struct cs_setting_kind cs_word_kind = { read_word, write_word, hash_word };

bool
cs_setting_read_text(const struct cs_setting *row, const char *text, void *field)
{
	*(const char **)field = keep(text);
	return true;
}

void
cs_setting_write_text(FILE *out, const struct cs_setting *row, const void *field)
{
	const char *text = *(const char *const *)field;
	cs_printable_put(out, text ? text : "not set");
}

uint64_t
cs_setting_hash_text(uint64_t hash, const void *field)
{
	return cs_hash_text(hash, *(const char *const *)field);
}

const struct cs_setting_kind cs_text_kind = { cs_setting_read_text, cs_setting_write_text,
					      cs_setting_hash_text };

static bool
read_nodes(const struct cs_setting *row, const char *text, void *field)
{
	return cs_fake_nodes_are(text) && cs_setting_read_text(row, text, field);
}

const struct cs_setting_kind cs_nodes_kind =
	{ read_nodes, cs_setting_write_text, cs_setting_hash_text };

static bool
read_levels(const struct cs_setting *row, const char *text, void *field)
{
	return cs_fake_levels_are(text) && cs_setting_read_text(row, text, field);
}

const struct cs_setting_kind cs_levels_kind =
	{ read_levels, cs_setting_write_text, cs_setting_hash_text };

/* "DEVICE" or "DEVICE:PORT", with ports from 1 to 255 as verbs number them. */
static bool
read_device(const struct cs_setting *row, const char *text, void *field)
{
	size_t length = strcspn(text, ":"), port = 0;
	bool has_port = text[length];
	if (!length ||
	    (has_port && !cs_parse_digits(text + length + 1, strlen(text + length + 1), &port)))
		return false;
	return port <= 255 && cs_setting_read_text(row, text, field);
}

const struct cs_setting_kind cs_device_kind =
	{ read_device, cs_setting_write_text, cs_setting_hash_text };
