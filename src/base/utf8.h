/* base/utf8.h — length of a UTF-8 character. Header only: the bench uses it too. */
#ifndef CS_BASE_UTF8_H
#define CS_BASE_UTF8_H

#include <stddef.h>

/* Length of the well-formed UTF-8 sequence at `text` (RFC 3629: no overlong forms, no surrogates),
 * or 0: of a control character below a blank, and of the end, too. */
static inline size_t
cs_utf8_length(const unsigned char *text)
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

#endif
