/* fuzz.h — what the targets share. A target is one function that takes any bytes and claims
 * something of the answer.
 *
 * It is built twice: with replay.c, by the project's compiler, as a unit test that takes the seeds;
 * and by clang with its fuzzer, which makes up new bytes (scripts/fuzz). A claim that does not hold
 * ends the process, with a line. */
#ifndef CS_TESTS_FUZZ_H
#define CS_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Then printf's format and what belongs to it: what was seen. */
#define CLAIM(holds, ...) \
	do { \
		if (!(holds)) \
			fuzz_fail(__FILE__, __LINE__, #holds, __VA_ARGS__); \
	} while (0)

void fuzz_fail(const char *file, int line, const char *claim, const char *format, ...)
	__attribute__((format(printf, 4, 5), noreturn));

/* The bytes as a text of their own block, up to the first NUL and without one LF at the end, which
 * an editor puts there. To be freed. */
char *fuzz_text(const uint8_t *data, size_t bytes);

/* Not empty, no control character; and if `input` is UTF-8, so is it: what a message must be to
 * stand on one line. */
bool fuzz_is_line(const char *text, const char *input);

/* Both NULL, or the same text. */
bool fuzz_is_same(const char *a, const char *b);

#endif
