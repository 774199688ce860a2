/* base/parse.c — reads sizes, counts and ranges, and writes them. */
#include "base/parse.h"

#include <ctype.h>
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
	char letter;
	int shift;
} units[] = { { 'K', 10 }, { 'M', 20 }, { 'G', 30 } };

/* Reads a number at *text and moves *text behind it. Digits are read here and not by strtoull,
 * which would let signs, blanks and 0x through. */
static bool
read_number(const char **text, bool is_bytes, size_t *number)
{
	const char *at = *text;
	if (!strncasecmp(at, "inf", 3)) {
		*number = CS_INF;
		*text = at + 3;
		return true;
	}
	if (!isdigit((unsigned char)*at))
		return false;
	size_t value = 0;
	for (; isdigit((unsigned char)*at); at++)
		if (__builtin_mul_overflow(value, (size_t)10, &value) ||
		    __builtin_add_overflow(value, (size_t)(*at - '0'), &value))
			return false;
	bool has_unit = false;
	for (size_t i = 0; i < sizeof units / sizeof *units && !has_unit; i++) {
		if (toupper((unsigned char)*at) != units[i].letter)
			continue;
		if (value > SIZE_MAX >> units[i].shift)
			return false;
		value <<= units[i].shift;
		has_unit = true;
		at++;
	}
	if (is_bytes && has_unit && !strncasecmp(at, "iB", 2))
		at += 2;
	else if (is_bytes && toupper((unsigned char)*at) == 'B')
		at++;
	if (value >= CS_INF)
		return false;
	*number = value;
	*text = at;
	return true;
}

enum cs_status
cs_parse_bytes(const char *text, size_t *bytes)
{
	size_t value;
	if (!read_number(&text, true, &value) || *text)
		return CS_BAD_INPUT;
	*bytes = value;
	return CS_OK;
}

/* `beyond` is added to a finite upper end as written, to make it the first number that is no longer
 * meant. */
static enum cs_status
read_range(const char *text, bool is_bytes, size_t beyond, struct cs_range *range)
{
	struct cs_range read;
	if (!read_number(&text, is_bytes, &read.low) || read.low == CS_INF)
		return CS_BAD_INPUT;
	if (*text == '-') {
		text++;
		if (!read_number(&text, is_bytes, &read.high))
			return CS_BAD_INPUT;
		if (read.high != CS_INF)
			read.high += beyond;
	} else {
		read.high = read.low + 1;
	}
	if (*text || read.low >= read.high)
		return CS_BAD_INPUT;
	*range = read;
	return CS_OK;
}

enum cs_status
cs_parse_byte_range(const char *text, struct cs_range *range)
{
	return read_range(text, true, 0, range);
}

enum cs_status
cs_parse_count_range(const char *text, struct cs_range *range)
{
	return read_range(text, false, 1, range);
}

const char *
cs_bytes_text(char text[CS_NUMBER_TEXT], size_t bytes)
{
	if (bytes >= CS_INF)
		return strcpy(text, "inf");
	size_t unit = sizeof units / sizeof *units;
	while (unit > 0 && (!bytes || bytes & (((size_t)1 << units[unit - 1].shift) - 1)))
		unit--;
	if (unit)
		snprintf(text, CS_NUMBER_TEXT, "%zu%c", bytes >> units[unit - 1].shift,
			 units[unit - 1].letter);
	else
		snprintf(text, CS_NUMBER_TEXT, "%zu", bytes);
	return text;
}

const char *
cs_byte_range_text(char text[CS_RANGE_TEXT], struct cs_range range)
{
	char low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	if (range.high == range.low + 1)
		return cs_bytes_text(text, range.low);
	snprintf(text, CS_RANGE_TEXT, "%s-%s", cs_bytes_text(low, range.low),
		 cs_bytes_text(high, range.high));
	return text;
}

const char *
cs_count_range_text(char text[CS_RANGE_TEXT], struct cs_range range)
{
	if (range.high >= CS_INF)
		snprintf(text, CS_RANGE_TEXT, "%zu-inf", range.low);
	else if (range.high == range.low + 1)
		snprintf(text, CS_RANGE_TEXT, "%zu", range.low);
	else
		snprintf(text, CS_RANGE_TEXT, "%zu-%zu", range.low, range.high - 1);
	return text;
}

bool
cs_parse_digits(const char *text, size_t length, size_t *number)
{
	size_t value = 0;
	for (size_t i = 0; i < length; i++) {
		if (!isdigit((unsigned char)text[i]))
			return false;
		value = value * 10 + (size_t)(text[i] - '0');
		if (value > 1000000)
			return false;
	}
	if (!value)
		return false;
	*number = value;
	return true;
}

double
cs_parse_decimal(const char *text, char **end)
{
	locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	if (!plain)
		return strtod(text, end);
	double number = strtod_l(text, end, plain);
	freelocale(plain);
	return number;
}
