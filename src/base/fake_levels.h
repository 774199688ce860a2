/* base/fake_levels.h — the packages and caches that a test takes a node's ranks to run on, as
 * COLLSHIM_FAKE_LEVELS has them:
 *
 *   "2x4x8"      two packages, each with four caches that eight ranks share
 *   "3,5,1|8,8"  so many ranks at each cache, of two packages
 *   "cyclic:.."  ranks are dealt out to the caches in turn, whatever their numbers
 *   "..!3"       local rank 3 sees all ranks one place further on: a fault to be found
 *
 * Ranks beyond the last place begin again at the first. */
#ifndef CS_BASE_FAKE_LEVELS_H
#define CS_BASE_FAKE_LEVELS_H

#include <stdbool.h>

/* Is the text one of these, with numbers from 1 to 1024 and at most 1024 caches? */
bool cs_fake_levels_are(const char *text);

/* Package and cache (numbered over all packages) of a local rank; the text is one of these. */
void cs_fake_levels_of(const char *text, int local, int *package, int *cache);

/* The local rank that sees others; -1: none. */
int cs_fake_levels_fault(const char *text);

#endif
