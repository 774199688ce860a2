/* tools/words.h — an algorithm and its parameters as forcing variables have them,
 * "bcast:chain:segment=8K:window=2". */
#ifndef CS_TOOLS_WORDS_H
#define CS_TOOLS_WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Beginning of the first parameter: the colon before it; NULL if there is none. */
static inline char *
cs_tools_params(char *text)
{
	char *equals = strchr(text, '=');
	while (equals && equals > text && *equals != ':')
		equals--;
	return equals && *equals == ':' ? equals : NULL;
}

/* The most words that cs_tools_cut makes of it. */
static inline size_t
cs_tools_most_words(const char *text)
{
	size_t colons = 0;
	for (; *text; text++)
		colons += *text == ':';
	return colons;
}

/* Leaves the name in `text` and puts "segment=8K" and so on to `words`; returns how many. */
static inline int
cs_tools_cut(char *text, char **words)
{
	int count = 0;
	for (char *colon = cs_tools_params(text); colon; colon = strchr(colon, ':')) {
		*colon++ = '\0';
		words[count++] = colon;
	}
	return count;
}

/* Does one of the words before it give the same parameter? */
static inline bool
cs_tools_is_again(char *const *words, int at)
{
	size_t length = strcspn(words[at], "=");
	for (int i = 0; i < at; i++)
		if (!strncmp(words[i], words[at], length + 1)) /* with the sign */
			return true;
	return false;
}

#endif
