#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
fuzz_fail(const char *file, int line, const char *claim, const char *format, ...)
{
	const char *slash = strrchr(file, '/');
	va_list arguments;
	fprintf(stderr, "FAILED  %s:%d: %s\n        ", slash ? slash + 1 : file, line, claim);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fputc('\n', stderr);
	abort();
}

char *
fuzz_text(const uint8_t *data, size_t bytes)
{
	if (bytes && data[bytes - 1] == '\n')
		bytes--;
	char *text = bytes ? strndup((const char *)data, bytes) : strdup("");
	CLAIM(text, "no memory for %zu bytes", bytes);
	return text;
}

/* The bytes of the character at `text`, 0 if there is none. */
static size_t
character(const char *text)
{
	unsigned char first = (unsigned char)*text;
	size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
	if ((first >= 0x80 && first < 0xc2) || first > 0xf4)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

static bool
is_utf8(const char *text)
{
	size_t length = 1;
	for (; *text && length; text += length)
		length = character(text);
	return length > 0;
}

bool
fuzz_is_line(const char *text, const char *input)
{
	for (const char *at = text; *at; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			return false;
	return *text && (is_utf8(text) || !is_utf8(input));
}

bool
fuzz_is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}
