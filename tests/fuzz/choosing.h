/* choosing.h — selectors made of bytes, and what must be true of their choices, whatever the
 * bytes. */
#ifndef CS_TESTS_FUZZ_CHOOSING_H
#define CS_TESTS_FUZZ_CHOOSING_H

#include "select/select.h"

/* On a machine that is always the same, with a tuning file that says `tuning` (NULL: none) and
 * `force` for `coll` (NULL: nothing is forced), which outlives the selector. Says nothing on
 * stderr. */
struct cs_selector *fuzz_selector(const char *tuning, size_t tuning_bytes, enum cs_coll coll,
				  const char *force);

/* The path of a file in memory with these bytes; it is there until fuzz_close. */
int fuzz_open(const char *text, size_t bytes, char path[64]);
void fuzz_close(int file);

/* Calls of a collective that differ in everything that a choice may depend on. */
int fuzz_facts_count(void);
struct cs_facts fuzz_facts(enum cs_coll coll, size_t bytes, int number);

bool fuzz_is_same_choice(const struct cs_choice *a, const struct cs_choice *b);

/* The choice for these facts: the same when asked again and at both ends of its interval, and fit
 * to be asked for. */
void fuzz_check_choice(const struct cs_selector *selector, const struct cs_facts *facts);
/* It is told by the explanation in words that choose it again. */
void fuzz_check_explanation(const struct cs_selector *selector, const struct cs_facts *facts);

#endif
