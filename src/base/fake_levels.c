/* base/fake_levels.c — reads a value of COLLSHIM_FAKE_LEVELS, and places ranks. */
#include "base/fake_levels.h"

#include "base/parse.h"

#include <string.h>

#define CYCLIC "cyclic:"
#define FAULT '!'
#define MOST 1024 /* of each number, and of all caches */

/* One cache after the other. */
struct caches {
	const char *at;        /* the next number of a list; or NULL */
	size_t packages, each; /* of the form 2x4x8: caches of a package */
	size_t ranks;          /* at the cache at hand */
	int package, cache;    /* the cache at hand */
};

static bool
take_number(const char **at, const char *behind, size_t *number)
{
	size_t length = strcspn(*at, behind);
	if (!cs_parse_digits(*at, length, number) || *number < 1 || *number > MOST)
		return false;
	*at += length;
	return true;
}

static bool
first(const char *text, struct caches *caches)
{
	const char *at = text;
	*caches = (struct caches){ .at = text };
	if (strchr(text, 'x')) {
		caches->at = NULL;
		return take_number(&at, "x", &caches->packages) && *at++ == 'x' &&
		       take_number(&at, "x", &caches->each) && *at++ == 'x' &&
		       take_number(&at, "x!", &caches->ranks) && (!*at || *at == FAULT) &&
		       caches->packages * caches->each <= MOST;
	}
	return take_number(&caches->at, ",|!", &caches->ranks);
}

/* False: there is no next cache; *is_wrong: nor an end of the text. */
static bool
next(struct caches *caches, bool *is_wrong)
{
	*is_wrong = false;
	caches->cache++;
	if (!caches->at) {
		caches->package = caches->cache / (int)caches->each;
		return caches->package < (int)caches->packages;
	}
	if (!*caches->at || *caches->at == FAULT)
		return false;
	caches->package += *caches->at++ == '|';
	*is_wrong = !take_number(&caches->at, ",|!", &caches->ranks) || caches->cache >= MOST;
	return !*is_wrong;
}

static const char *
numbers_of(const char *text, bool *is_cyclic)
{
	*is_cyclic = !strncmp(text, CYCLIC, strlen(CYCLIC));
	return *is_cyclic ? text + strlen(CYCLIC) : text;
}

bool
cs_fake_levels_are(const char *text)
{
	struct caches caches;
	bool is_wrong;
	const char *fault = strchr(text, FAULT);
	size_t rank;
	if (fault && !cs_parse_digits(fault + 1, strlen(fault + 1), &rank))
		return false;
	if (!first(numbers_of(text, &is_wrong), &caches))
		return false;
	while (next(&caches, &is_wrong))
		;
	return !is_wrong;
}

void
cs_fake_levels_of(const char *text, int local, int *package, int *cache)
{
	struct caches caches;
	bool is_cyclic, is_wrong, is_more = true;
	const char *numbers = numbers_of(text, &is_cyclic);
	size_t all = 0;
	first(numbers, &caches);
	for (; is_more; is_more = next(&caches, &is_wrong))
		all += is_cyclic ? 1 : caches.ranks;
	size_t left = (size_t)local % all;
	first(numbers, &caches);
	for (size_t here; left >= (here = is_cyclic ? 1 : caches.ranks); left -= here)
		next(&caches, &is_wrong);
	*package = caches.package;
	*cache = caches.cache;
}

int
cs_fake_levels_fault(const char *text)
{
	const char *fault = strchr(text, FAULT);
	size_t rank;
	return fault && cs_parse_digits(fault + 1, strlen(fault + 1), &rank) && rank < MOST
	       ? (int)rank : -1;
}
