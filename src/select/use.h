/* select/use.h — what a row asks for: an algorithm with the values of its parameters, or the host.
 *
 * Shared by the forcing variables and the tuning file, so that both know the same names, the same
 * limits and give the same hints. Private to select. */
#ifndef CS_SELECT_USE_H
#define CS_SELECT_USE_H

#include "algorithms/algorithm.h"
#include "base/parse.h"

#define CS_HOST "host"

struct cs_use {
	const struct cs_algorithm *algorithm; /* NULL: the host MPI */
	size_t params[CS_MAX_PARAMS];         /* in the order of algorithm->params; 0 behind the
					       * last */
};

/* The algorithm with its parameters' fallbacks; algorithm NULL is the host. */
void cs_use_init(struct cs_use *use, const struct cs_algorithm *algorithm);

/* Sets one parameter. CS_BAD_INPUT: *use is unchanged and `message` says what was found and what
 * was expected. */
CS_CHECKED enum cs_status cs_use_set(struct cs_use *use, const char *param, const char *value,
				     char *message, size_t message_bytes);

/* Fills `message` with: "wrong" is no algorithm of <coll>; known: host, ...; did you mean ...? */
void cs_use_unknown(enum cs_coll coll, const char *wrong, char *message, size_t message_bytes);

/* "hier:host:chunk=64K", as COLLSHIM_<COLLECTIVE> would have it. Returns `text`. */
const char *cs_use_text(char *text, size_t text_bytes, const struct cs_algorithm *algorithm,
			const size_t *params);

/* A user's text made fit for one line of a message: quoted, shortened, control characters as '?'.
 * Returns `shown`. */
#define CS_SHOWN_TEXT 56
const char *cs_shown(char shown[CS_SHOWN_TEXT], const char *text);

/* Appends to a text of `bytes` bytes, cutting off what does not fit. */
void cs_text_add(char *text, size_t bytes, const char *format,
		 ...) __attribute__((format(printf, 3, 4)));

#endif
