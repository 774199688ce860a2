/* trace/arrivals_bytes.h — where each number of a file of arrivals stands. Private to
 * arrivals_file.c and arrivals_write.c; docs/arrivals.md says the same in words. */
#ifndef CS_TRACE_ARRIVALS_BYTES_H
#define CS_TRACE_ARRIVALS_BYTES_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CS_ARRIVALS_MAGIC "CSARRIVE"

enum cs_arrivals_kind {
	CS_ARRIVALS_CALL = 1,
	CS_ARRIVALS_COMM = 2,
	CS_ARRIVALS_CLOCK = 3,
	CS_ARRIVALS_END = 4,
};
#define CS_ARRIVALS_DEFERRED 1 /* a flag of a call */

/* Offsets in the head. */
enum {
	CS_AT_MAGIC = 0, CS_AT_VERSION = 8, CS_AT_HEAD_BYTES = 12, CS_AT_RECORD_BYTES = 16,
	CS_AT_WORLD = 20, CS_AT_RANKS = 24, CS_AT_NODE = 28, CS_AT_NODES = 32, CS_AT_PID = 36,
	CS_AT_JOB = 40, CS_AT_CLOCK = 48, CS_AT_START = 56, CS_AT_WALL = 64, CS_AT_BOOT = 72,
	CS_AT_HOST = 112,
};

/* And in a record. */
enum {
	CS_AT_KIND = 0, CS_AT_COLL = 1, CS_AT_FLAGS = 2,
	CS_AT_SMALL = 4, /* a call's root; own rank in a communicator */
	CS_AT_COMM = 8,
	CS_AT_COUNT = 16, /* a call's number; ranks of a communicator; a clock's offset; calls */
	CS_AT_BYTES = 24, /* a clock's residual; calls left out */
	CS_AT_ARRIVED = 32, /* a clock's own time */
	CS_AT_LEFT = 40,
};

static inline void
cs_put_32(unsigned char *at, uint32_t value)
{
	value = htole32(value);
	memcpy(at, &value, sizeof value);
}

static inline void
cs_put_64(unsigned char *at, uint64_t value)
{
	value = htole64(value);
	memcpy(at, &value, sizeof value);
}

static inline uint32_t
cs_get_32(const unsigned char *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof value);
	return le32toh(value);
}

static inline uint64_t
cs_get_64(const unsigned char *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof value);
	return le64toh(value);
}

#endif
