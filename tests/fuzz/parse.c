/* base/parse and base/nearest: sizes and ranges as users write them, and the name that a mistyped
 * one is nearest to. */
#include "fuzz.h"

#include "base/nearest.h"
#include "base/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef enum cs_status read_range(const char *text, struct cs_range *range);
typedef const char *range_text(char text[CS_RANGE_TEXT], struct cs_range range);

/* The same grammar, read another way: digits, then a unit; CS_BYTES_UNKNOWN's value for what is no
 * number. */
static size_t
number_of(const char *text)
{
	static const char *const units[] = { "", "B", "K", "KB", "KiB", "M", "MB", "MiB", "G", "GB",
					     "GiB" };
	static const int shifts[] = { 0, 0, 10, 10, 10, 20, 20, 20, 30, 30, 30 };
	unsigned __int128 number = 0;
	size_t digits = strspn(text, "0123456789");
	if (!strcasecmp(text, "inf"))
		return CS_INF;
	for (size_t i = 0; i < digits; i++)
		number = number > UINT64_MAX ? number : number * 10 + (unsigned)(text[i] - '0');
	for (size_t i = 0; digits && i < sizeof units / sizeof *units; i++)
		if (!strcasecmp(text + digits, units[i]) && number << shifts[i] < CS_INF)
			return (size_t)(number << shifts[i]);
	return SIZE_MAX;
}

static void
check_number(const char *text)
{
	char written[CS_NUMBER_TEXT];
	size_t number = 77, again = 0, expected = number_of(text);
	enum cs_status status = cs_parse_bytes(text, &number);
	CLAIM(status == (expected == SIZE_MAX ? CS_BAD_INPUT : CS_OK), "\"%s\": %s", text,
	      cs_status_name(status));
	CLAIM(number == (expected == SIZE_MAX ? 77 : expected), "\"%s\" is %zu", text, number);
	if (status != CS_OK)
		return;
	CLAIM(cs_parse_bytes(cs_bytes_text(written, number), &again) == CS_OK && again == number,
	      "\"%s\" is %zu, written %s, read %zu", text, number, written, again);
}

static void
check_range(const char *text, read_range *read, range_text *write)
{
	char written[CS_RANGE_TEXT];
	struct cs_range range = { 77, 78 }, again = { 0, 0 };
	enum cs_status status = read(text, &range);
	CLAIM(status == CS_OK || status == CS_BAD_INPUT, "\"%s\": %s", text,
	      cs_status_name(status));
	if (status != CS_OK) {
		CLAIM(range.low == 77 && range.high == 78, "\"%s\" left %zu to %zu", text,
		      range.low, range.high);
		return;
	}
	CLAIM(range.low < range.high && range.high <= CS_INF, "\"%s\" is %zu to %zu", text,
	      range.low, range.high);
	CLAIM(read(write(written, range), &again) == CS_OK && again.low == range.low &&
	      again.high == range.high,
	      "\"%s\" is %zu to %zu, written %s, read %zu to %zu", text, range.low, range.high,
	      written, again.low, again.high);
}

/* The text's first line is the word, the others are the names. */
static void
check_nearest(char *text)
{
	char *names = strchr(text, '\n');
	if (!names)
		return;
	*names++ = '\0';
	struct cs_nearest nearest = { .word = text };
	for (char *name; (name = strsep(&names, "\n"));) {
		const char *before = nearest.best;
		cs_nearest_try(&nearest, name);
		CLAIM(nearest.best == before || nearest.best == name, "\"%s\" for \"%s\"",
		      nearest.best, text);
		bool is_same = *text && strlen(text) < 60 && !strcasecmp(name, text);
		CLAIM(!is_same || nearest.distance == 0, "\"%s\" is %zu from itself", text,
		      nearest.distance);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = fuzz_text(data, bytes);
	check_number(text);
	check_range(text, cs_parse_byte_range, cs_byte_range_text);
	check_range(text, cs_parse_count_range, cs_count_range_text);
	check_nearest(text);
	free(text);
	return 0;
}
