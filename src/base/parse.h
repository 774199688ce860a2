/* base/parse.h — numbers as users write them: 8K, 1M, 4G, inf, and ranges of them. */
#ifndef CS_BASE_PARSE_H
#define CS_BASE_PARSE_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CS_INF ((size_t)-2) /* "inf": larger than every real size, smaller than CS_BYTES_UNKNOWN */

/* "64", "8K", "1M", "2G" (powers of 1024, either case, optional "B"/"iB"), "inf". CS_BAD_INPUT on
 * anything else, overflow included; *bytes is then unchanged. */
CS_CHECKED enum cs_status cs_parse_bytes(const char *text, size_t *bytes);

struct cs_range {
	size_t low, high; /* low <= x < high; high CS_INF: no upper bound. */
};

#define CS_RANGE_ALL ((struct cs_range){ 0, CS_INF })

/* "A-B" means A <= x < B for bytes (so that 0-4K and 4K-inf share nothing), "A" alone means exactly
 * A. CS_BAD_INPUT if it does not parse or is empty (A >= B). */
CS_CHECKED enum cs_status cs_parse_byte_range(const char *text, struct cs_range *range);
/* Counts of ranks and nodes read inclusively: "2-8" is 2..8, "4" is 4, "2-inf". Same
 * representation. */
CS_CHECKED enum cs_status cs_parse_count_range(const char *text, struct cs_range *range);

/* A number from 1 to a million that is `length` digits and nothing else; false: it is none. */
bool cs_parse_digits(const char *text, size_t length, size_t *number);

/* strtod with a decimal point, whatever the program's locale has (it may have called setlocale
 * before MPI_Init). */
double cs_parse_decimal(const char *text, char **end);

#define CS_NUMBER_TEXT 24 /* bytes that a number's text may take, its end included */
#define CS_RANGE_TEXT 48

/* The shortest text that cs_parse_bytes reads as `bytes`: "64K", "1000", "inf". Returns `text`. */
const char *cs_bytes_text(char text[CS_NUMBER_TEXT], size_t bytes);
/* The text that cs_parse_byte_range, cs_parse_count_range reads as `range`. Returns `text`. */
const char *cs_byte_range_text(char text[CS_RANGE_TEXT], struct cs_range range);
const char *cs_count_range_text(char text[CS_RANGE_TEXT], struct cs_range range);

#endif
