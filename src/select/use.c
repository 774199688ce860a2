/* select/use.c — sets an algorithm's parameters from text, and writes them as text. */
#include "select/use.h"

#include "base/nearest.h"
#include "base/printable.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void
cs_text_add(char *text, size_t bytes, const char *format, ...)
{
	size_t used = strnlen(text, bytes);
	if (used + 1 >= bytes)
		return;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text + used, bytes - used, format, arguments);
	va_end(arguments);
}

const char *
cs_shown(char shown[CS_SHOWN_TEXT], const char *text)
{
	size_t room = CS_SHOWN_TEXT - 6; /* two quotes, three dots, the end */
	size_t used = 0;
	shown[used++] = '"';
	for (size_t length; *text && used + ((length = cs_printable_length(text)) ? length : 1) <=
	     room + 1;) {
		if (length)
			memcpy(shown + used, text, length);
		else
			shown[used++] = '?';
		used += length;
		text += length ? length : 1;
	}
	strcpy(shown + used, *text ? "...\"" : "\"");
	return shown;
}

void
cs_use_init(struct cs_use *use, const struct cs_algorithm *algorithm)
{
	*use = (struct cs_use){ .algorithm = algorithm };
	for (int i = 0; algorithm && i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		use->params[i] = algorithm->params[i].fallback;
}

static void
unknown_param(const struct cs_use *use, const char *param, char *message, size_t bytes)
{
	char shown[CS_SHOWN_TEXT];
	struct cs_nearest nearest = { .word = param };
	const struct cs_algorithm *algorithm = use->algorithm;
	const char *name = algorithm ? algorithm->name : CS_HOST;
	snprintf(message, bytes, "%s is no parameter of %s", cs_shown(shown, param), name);
	if (!algorithm || !algorithm->params[0].name) {
		cs_text_add(message, bytes, ", which has none");
		return;
	}
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
		cs_text_add(message, bytes, "%s%s", i ? ", " : "; known: ",
			    algorithm->params[i].name);
		cs_nearest_try(&nearest, algorithm->params[i].name);
	}
	if (nearest.best)
		cs_text_add(message, bytes, "; did you mean %s?", nearest.best);
}

enum cs_status
cs_use_set(struct cs_use *use, const char *param, const char *value, char *message,
	   size_t message_bytes)
{
	int i = use->algorithm ? cs_algorithm_param(use->algorithm, param, strlen(param)) : -1;
	if (i < 0) {
		unknown_param(use, param, message, message_bytes);
		return CS_BAD_INPUT;
	}
	const struct cs_param *known = &use->algorithm->params[i];
	size_t number;
	if (cs_parse_bytes(value, &number) == CS_OK && number >= known->low &&
	    number <= known->high) {
		use->params[i] = number;
		return CS_OK;
	}
	char shown[CS_SHOWN_TEXT], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	snprintf(message, message_bytes, "found %s, expected a number from %s to %s for %s",
		 cs_shown(shown, value), cs_bytes_text(low, known->low),
		 cs_bytes_text(high, known->high), param);
	return CS_BAD_INPUT;
}

void
cs_use_unknown(enum cs_coll coll, const char *wrong, char *message, size_t message_bytes)
{
	char shown[CS_SHOWN_TEXT];
	struct cs_nearest nearest = { .word = wrong };
	snprintf(message, message_bytes, "%s is no algorithm of %s; known: " CS_HOST,
		 cs_shown(shown, wrong), cs_colls[coll].name);
	cs_nearest_try(&nearest, CS_HOST);
	const struct cs_algorithm *algorithm;
	for (int number = 0; (algorithm = cs_algorithm_at(number)); number++) {
		if (algorithm->coll != coll)
			continue;
		cs_text_add(message, message_bytes, ", %s", algorithm->name);
		cs_nearest_try(&nearest, algorithm->name);
	}
	if (nearest.best)
		cs_text_add(message, message_bytes, "; did you mean %s?", nearest.best);
}

const char *
cs_use_text(char *text, size_t text_bytes, const struct cs_algorithm *algorithm,
	    const size_t *params)
{
	snprintf(text, text_bytes, "%s", algorithm ? algorithm->name : CS_HOST);
	for (int i = 0; algorithm && i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
		char number[CS_NUMBER_TEXT];
		cs_text_add(text, text_bytes, ":%s=%s", algorithm->params[i].name,
			    cs_bytes_text(number, params[i]));
	}
	return text;
}
