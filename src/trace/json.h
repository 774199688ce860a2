/* trace/json.h — the two pieces of JSON that printf gets wrong: strings with anything in them, and fractions that
 * must have a point even where the application's locale has a comma. Header only: the bench uses it too. */
#ifndef CS_TRACE_JSON_H
#define CS_TRACE_JSON_H

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Length of the well-formed UTF-8 sequence at `text` (RFC 3629: no overlong forms, no surrogates), or 0. */
static inline size_t
cs_json_utf8_length(const unsigned char *text)
{
	static const struct {
		unsigned char low, high;   /* of the first byte */
		unsigned char low2, high2; /* of the second */
		size_t length;
	} forms[] = {
		{ 0x20, 0x7f, 0, 0, 1 },
		{ 0xc2, 0xdf, 0x80, 0xbf, 2 },
		{ 0xe0, 0xe0, 0xa0, 0xbf, 3 },
		{ 0xe1, 0xec, 0x80, 0xbf, 3 },
		{ 0xed, 0xed, 0x80, 0x9f, 3 },
		{ 0xee, 0xef, 0x80, 0xbf, 3 },
		{ 0xf0, 0xf0, 0x90, 0xbf, 4 },
		{ 0xf1, 0xf3, 0x80, 0xbf, 4 },
		{ 0xf4, 0xf4, 0x80, 0x8f, 4 },
	};
	for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
		if (text[0] < forms[k].low || text[0] > forms[k].high)
			continue;
		if (forms[k].length > 1 && (text[1] < forms[k].low2 || text[1] > forms[k].high2))
			return 0;
		for (size_t i = 2; i < forms[k].length; i++)
			if ((text[i] & 0xc0) != 0x80)
				return 0;
		return forms[k].length;
	}
	return 0;
}

/* "text" with its quotes. A byte that is not UTF-8 (a path in an old encoding) becomes U+FFFD; NULL becomes null. */
static inline void
cs_json_string(FILE *out, const char *text)
{
	if (!text) {
		fputs("null", out);
		return;
	}
	putc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t length = cs_json_utf8_length(at);
		if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20)
			fprintf(out, "\\u%04x", *at);
		else if (length == 0)
			fputs("\\ufffd", out);
		else
			fwrite(at, 1, length, out);
		at += length ? length : 1;
	}
	putc('"', out);
}

/* `nanoseconds` as seconds with nine decimals, with a point in every locale. */
static inline void
cs_json_seconds(FILE *out, uint64_t nanoseconds)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64, nanoseconds / 1000000000, nanoseconds % 1000000000);
}

#endif
