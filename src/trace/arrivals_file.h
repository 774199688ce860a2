/* trace/arrivals_file.h — the file in which a rank's arrivals at its collectives, and its leavings,
 * are recorded (docs/arrivals.md has its bytes).
 *
 *   | head, 256 bytes | record | record | ...      48 bytes each: a call, a communicator, what is
 *                                                  known of the clock, the end
 *
 * It is only ever added to, in whole records, so that what a job that was killed has left can be
 * read as far as it goes. All numbers are little-endian. Times are nanoseconds of CLOCK_MONOTONIC
 * on the rank's own node; a line through the clock's records leads to rank 0's. */
#ifndef CS_TRACE_ARRIVALS_FILE_H
#define CS_TRACE_ARRIVALS_FILE_H

#include "base/status.h"
#include "coll/coll.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CS_ARRIVALS_VERSION 1
#define CS_ARRIVALS_HEAD 256  /* bytes of the head */
#define CS_ARRIVALS_RECORD 48 /* and of a record */

/* Head of a file: the rank that recorded, its node, the time. */
struct cs_arrivals_head {
	uint32_t world, ranks; /* rank in MPI_COMM_WORLD, and how many there are */
	uint32_t node, nodes;  /* number of its node, by lowest rank; how many there are; 0 and 0:
				* not known */
	uint32_t pid;
	uint64_t job;      /* the same in all files of one job; 0: not known */
	uint64_t clock;    /* the same on processes that have one clock (boot and time namespace) */
	uint64_t start_ns; /* that clock when the recording began */
	uint64_t wall_ns;  /* and the time of day, since 1970 */
	char boot[40];     /* the kernel's boot id, as text */
	char host[64];     /* the host's name */
};

/* A call: its arrival and its end on this rank. */
struct cs_arrival {
	uint64_t comm;  /* number of the communicator, the same on all of its ranks */
	uint64_t call;  /* number of the call on it, from 1 */
	uint64_t bytes; /* by cs_colls[coll].bytes_meaning, or CS_ARRIVAL_BYTES_UNKNOWN */
	uint64_t arrived_ns, left_ns;
	int32_t root; /* rank in the communicator; -1: the collective has none */
	uint8_t coll; /* enum cs_coll */
	bool is_deferred; /* the host MPI did it */
};
#define CS_ARRIVAL_BYTES_UNKNOWN UINT64_MAX

/* A communicator, recorded before its first call. */
struct cs_arrivals_comm {
	uint64_t comm;
	uint32_t rank, size; /* this process's rank in it; how many it has */
};

/* Result of one synchronisation of clocks. */
struct cs_arrivals_clock {
	uint64_t at_ns;       /* own clock */
	int64_t offset_ns;    /* to be added to it for rank 0's */
	uint64_t residual_ns; /* by which that may be wrong: half of the round trips up to rank 0 */
};

/* --- reading ---------------------------------------------------------------------------------- */

struct cs_arrivals {
	struct cs_arrivals_head head;
	struct cs_arrival *calls; /* in their order */
	size_t call_count;
	struct cs_arrivals_comm *comms; /* by number */
	size_t comm_count;
	struct cs_arrivals_clock *clocks;
	size_t clock_count;
	uint64_t left_out; /* calls that were more than the limit */
	bool is_complete;  /* it goes to MPI_Finalize */
	char trouble[120]; /* why the file ends where it does, if not there; "": it does */
};

/* Reads a file's bytes. CS_BAD_INPUT: they are no such file, `trouble` says why and nothing else is
 * set; CS_NO_MEMORY. With CS_OK what is readable has been read, and `trouble` says what is wrong
 * with the rest, if anything is. The caller's: cs_arrivals_fini, after CS_OK. */
CS_CHECKED enum cs_status cs_arrivals_parse(const void *bytes, size_t length,
					    struct cs_arrivals *arrivals);
/* The same of a path; also CS_SYSTEM, with errno in `trouble`'s words. */
CS_CHECKED enum cs_status cs_arrivals_read(const char *path, struct cs_arrivals *arrivals);
void cs_arrivals_fini(struct cs_arrivals *arrivals);

/* The communicator of that number, or NULL. */
const struct cs_arrivals_comm *cs_arrivals_comm(const struct cs_arrivals *arrivals, uint64_t comm);

/* `at_ns` of the file's own clock as nanoseconds of rank 0's: by the line through the first and the
 * last synchronisation, or the offset of the only one, or as it is where there is none (then all
 * that may be compared are ranks of one head.clock). */
int64_t cs_arrivals_at_rank_0(const struct cs_arrivals *arrivals, uint64_t at_ns);
/* Drift: how much faster rank 0's clock goes, in nanoseconds per second (1e-9); 0: not known. */
int64_t cs_arrivals_drift(const struct cs_arrivals *arrivals);

/* --- writing ---------------------------------------------------------------------------------- */

/* So many whole records go into the file at once. */
#define CS_ARRIVALS_BLOCK (85 * CS_ARRIVALS_RECORD)
/* A call that leaves so long after the last block went out takes its own with it. */
#define CS_ARRIVALS_PATIENCE_NS 100000000

/* One thread at a time. All of it is the functions' own. */
struct cs_arrivals_writer {
	int file; /* -1: none, or one that could not be written any more */
	dev_t device; /* what `file` was when it was opened */
	ino_t inode;
	char *path;
	uint64_t limit, recorded, left_out; /* calls */
	uint64_t flushed_ns;
	size_t used; /* bytes of block */
	unsigned char block[CS_ARRIVALS_BLOCK];
};

/* Makes the file, or path.2 and so on if there is one already, with its head; up to `limit` calls
 * will be recorded. CS_SYSTEM with errno, CS_NO_MEMORY: nothing is open then, and the other
 * functions do nothing. *number: 1, or that of path.2 and so on. */
CS_CHECKED enum cs_status cs_arrivals_create(struct cs_arrivals_writer *writer, const char *path,
					     const struct cs_arrivals_head *head, uint64_t limit,
					     unsigned *number);

/* Each adds a record, and writes what there is when a block is full (a call's also when the last
 * block went out long ago). A file that cannot be written any more is closed, after one line; what
 * is in it stays. */
void cs_arrivals_add(struct cs_arrivals_writer *writer, const struct cs_arrival *call);
void cs_arrivals_add_comm(struct cs_arrivals_writer *writer, const struct cs_arrivals_comm *comm);
void cs_arrivals_add_clock(struct cs_arrivals_writer *writer,
			   const struct cs_arrivals_clock *clock);
/* Adds the end, and closes the file. */
void cs_arrivals_close(struct cs_arrivals_writer *writer);

#endif
