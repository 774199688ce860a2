/* base/printable.h — text from elsewhere (a variable, a path, a file, another program) on its way
 * to a terminal, which would obey what is in it: control characters become '?', those above ASCII
 * too, and bytes that are no UTF-8. All text from elsewhere that we print goes through here.
 *
 * The bench and the door use it too: what they need is in this header. */
#ifndef CS_BASE_PRINTABLE_H
#define CS_BASE_PRINTABLE_H

#include "base/utf8.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Bytes of the character at `text` if it may be printed, else 0. */
static inline size_t
cs_printable_length(const char *text)
{
	const unsigned char *at = (const unsigned char *)text;
	size_t length = cs_utf8_length(at);
	bool is_control = *at < ' ' || *at == 0x7f || (*at == 0xc2 && length == 2 && at[1] < 0xa0);
	return is_control ? 0 : length;
}

/* Replaces unprintable characters in place, up to the end of the text. If `has_lines`, ends of
 * lines and tabulators stay. */
static inline void
cs_printable_make(char *text, bool has_lines)
{
	while (*text) {
		size_t length = cs_printable_length(text);
		if (!length && !(has_lines && (*text == '\n' || *text == '\t')))
			*text = '?';
		text += length ? length : 1;
	}
}

/* On one line. */
static inline void
cs_printable_put(FILE *out, const char *text)
{
	while (*text) {
		size_t length = cs_printable_length(text);
		if (length)
			fwrite(text, 1, length, out);
		else
			putc('?', out);
		text += length ? length : 1;
	}
}

/* A stream of lines to standard output or error, for a tool to print to in the place of its own,
 * once each; NULL without memory. */
FILE *cs_printable_stream(int file);

#endif
