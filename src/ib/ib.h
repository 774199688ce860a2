/* ib/ib.h — direct verbs as a wire (wire/wire.h).
 *
 * A process has one `struct cs_ib`: device, protection domain, completion queues, and one reliable
 * connection to each process that it talks to, made when they first talk and shared by all
 * communicators (seed 000, 6.2; lazily here, which was its known issue). Each group of ranks has a
 * wire on top of it.
 *
 *   small   | payload | trailer |   written by RDMA into the receiver's slot, which it gives back
 *                                   by a count in each message of its own, or by a message of no
 *                                   bytes
 *   large   receiver -> sender      "ready": number, address, key (seed 000, 6.4: receiver-driven)
 *           sender -> receiver      the data, memory to memory, the last write with immediate: of a
 *                                   flag behind the data if the device sets one
 *
 * Guarantee: a receiver looks at memory only after the completion of a write with immediate behind
 * it, which is what the InfiniBand Architecture Specification (vol. 1, 9.5 and 10.8.3.3) promises.
 * With `polls_flags` it looks at the last word of a slot instead, and all processes of a node at a
 * flag that is written behind the data: that one write's bytes, and two writes of one queue pair,
 * are placed in order is true of the known hardware and is promised by nobody.
 *
 * If verbs cannot serve a pair of processes (no memory, a queue pair refused, the first exchange
 * failed), both learn it and their messages go over the host's wire. A transport that breaks later
 * ends the job, with one line.
 *
 * Every function may be called by several threads at once, but for cs_ib_part and cs_ib_close. */
#ifndef CS_IB_IB_H
#define CS_IB_IB_H

#include "base/status.h"
#include "wire/host.h"
#include "wire/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_ib;
struct cs_verbs;

struct cs_ib_options {
	const char *device;                  /* "mlx5_0" or "mlx5_0:1"; NULL: the nearest */
	int (*distance)(const char *device); /* how far that is from this process; NULL: all are
					      * equally near */
	/* Slots of a connection, in each direction, at most: made a power of two; the device may
	 * have shorter queues, and the smaller number of both processes counts. A message of
	 * slot_bytes - 24 still fits. */
	size_t slots, slot_bytes;
	size_t memory;            /* most bytes of all slots of this process */
	size_t cache;             /* most bytes of the program's memory that stay registered while
				   * idle */
	int timeout;              /* of a packet: 4.096 us * 2^timeout, sent seven times in all */
	int flush_grace;          /* ms that pass, once a request was flushed, for who knows the
				   * cause to end the job first */
	bool polls_flags;         /* see above; equal on all processes */
	size_t spin;              /* polls before a wait yields */
	int world_rank, world_size;
	const struct cs_host *host;
};

struct cs_ib_counters {
	uint64_t connections, refused; /* pairs of processes: over verbs, over the host after an
					* attempt */
	uint64_t small, ready, fragments, data, credits; /* messages sent, by kind; data: requests
							  * that wrote */
	uint64_t counts; /* counters that were let grow: of windows (ib/rma_window.h) */
	uint64_t requests, completions; /* posted sends; polled */
	uint64_t bytes;                 /* posted, headers among them */
	uint64_t copied;                /* bytes copied into or out of slots by the CPU */
	uint64_t registered, registrations; /* bytes now; calls of reg_mr ever */
	uint64_t multicast, heard, strange, resent; /* datagrams sent, received; of others; pieces
						     * sent again, over connections */
};

/* Opens the device. `verbs` NULL: the machine's libibverbs. Errors, with a phrase in `why`:
 * CS_UNSUPPORTED if there is no device to use, CS_SYSTEM if a device refuses, CS_NO_MEMORY. */
CS_CHECKED enum cs_status cs_ib_open(struct cs_ib **ib, const struct cs_verbs *verbs,
				     const struct cs_ib_options *options, char *why, size_t room);
/* Tells all peers that nothing more will come. All wires are closed by then. */
void cs_ib_part(struct cs_ib *ib);
/* Like cs_ib_part, then waits until all peers have parted too, a minute at most, and closes all
 * connections. All data sent has arrived then, and nobody writes to memory that is not there any
 * more. NULL is fine. */
void cs_ib_close(struct cs_ib *ib);
/* "rxe0:1, RoCE v2, GID 1 ::ffff:10.9.0.1, MTU 4096"; valid until close. */
const char *cs_ib_name(const struct cs_ib *ib);

/* Tells that the calling thread may not call the host, from now on: pairs that are being connected
 * are left to other threads. It starts and tests messages of pairs that talk by verbs only. */
void cs_ib_leave_host(void);

/* True while the calling thread is in a function of the host that it called with the engine held: a
 * progress hook of the host (Open MPI's) must not start or test messages then. */
bool cs_ib_is_held(void);

/* Progresses arriving messages, without blocking; for waits elsewhere. */
void cs_ib_progress(struct cs_ib *ib);
void cs_ib_count(struct cs_ib *ib, struct cs_ib_counters *counters);

/* Between begin and end, pairs that cannot be connected give no line on stderr: cs_ib_trial_end
 * copies the first such line ("no connection to rank 2 ...") and returns true, or returns false and
 * "". */
void cs_ib_trial_begin(struct cs_ib *ib);
bool cs_ib_trial_end(struct cs_ib *ib, char *text, size_t room);

/* Registers memory that stays mapped until unpinned (a node's segment), so that direct messages
 * find it registered. Returns an opaque word for cs_ib_unpin, or NULL with errno if the device or
 * the kernel refuses. */
void *cs_ib_pin(struct cs_ib *ib, void *base, size_t bytes);
void cs_ib_unpin(struct cs_ib *ib, void *pin);

struct cs_ib_group {
	int rank, ranks;
	const int *world;         /* by rank: in MPI_COMM_WORLD; copied */
	const bool *is_same_node; /* by rank: always over `host` (on the own node); NULL: none;
				   * copied */
	struct cs_wire *host;     /* of the same group; stays the caller's; used for the first words
				   * of each pair */
};

/* Opens the wire of a group over verbs. NULL if memory is out. */
struct cs_wire *cs_ib_wire_open(struct cs_ib *ib, const struct cs_ib_group *group);
/* Closes the wire; no request may be under way. NULL is fine. */
void cs_ib_wire_close(struct cs_wire *wire);

enum cs_ib_way { CS_IB_UNSETTLED, CS_IB_BY_VERBS, CS_IB_BY_HOST };
/* Transport of messages to this peer; unsettled before the first one. */
enum cs_ib_way cs_ib_wire_way(const struct cs_wire *wire, int peer);

#endif
