/* trace/json.h — the two pieces of JSON that printf gets wrong: strings with anything in them, and
 * fractions that must have a point even where the application's locale has a comma. Header only:
 * the bench uses it too. */
#ifndef CS_TRACE_JSON_H
#define CS_TRACE_JSON_H

#include "base/utf8.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* "text" with its quotes. A byte that is not UTF-8 (a path in an old encoding) becomes U+FFFD; NULL
 * becomes null. */
static inline void
cs_json_string(FILE *out, const char *text)
{
	if (!text) {
		fputs("null", out);
		return;
	}
	putc('"', out);
	for (const unsigned char *at = (const unsigned char *)text; *at;) {
		size_t length = cs_utf8_length(at);
		if (*at == '"' || *at == '\\')
			fprintf(out, "\\%c", *at);
		else if (*at < 0x20 || *at == 0x7f)
			fprintf(out, "\\u%04x", *at);
		else if (*at == 0xc2 && length == 2 && at[1] < 0xa0) /* control characters, too */
			fprintf(out, "\\u%04x", at[1]);
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
