/* base/nearest.h — "did you mean ...?": of the known names, the one that a mistyped word is nearest
 * to.
 *
 * 	struct cs_nearest nearest = { .word = text };
 * 	for each known name: cs_nearest_try(&nearest, name);
 * 	nearest.best is the name to offer, or NULL if none is near enough to be meant */
#ifndef CS_BASE_NEAREST_H
#define CS_BASE_NEAREST_H

#include <stddef.h>

struct cs_nearest {
	const char *word;
	const char *best; /* the caller's string, or NULL */
	size_t distance;  /* of best */
};

/* Keeps `name` if it is nearer than the best so far, and near enough: letters changed, left out,
 * put in or swapped with their neighbour, at most one in three of the longer word (and one is
 * always allowed). */
void cs_nearest_try(struct cs_nearest *nearest, const char *name);

#endif
