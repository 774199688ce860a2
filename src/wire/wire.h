/* wire/wire.h — messages between the ranks of one group. A transport fills it: the host MPI's point-to-point messages
 * (comm/wire.c), later verbs.
 *
 * Requests are numbers that the caller gives, below the capacity it has asked for. Messages between two ranks match in
 * the order in which they are started. Nothing here fails softly: a transport that breaks ends the job. */
#ifndef CS_WIRE_WIRE_H
#define CS_WIRE_WIRE_H

#include <stdbool.h>
#include <stddef.h>

struct cs_wire {
	int rank, ranks;
	/* Room for requests 0 to count - 1; false without memory. May be called again with a larger count, between plans. */
	bool (*reserve)(struct cs_wire *wire, int count);
	/* Start a message under a number that is not in use. Do not block. */
	void (*send)(struct cs_wire *wire, int request, int peer, const void *from, size_t bytes);
	void (*recv)(struct cs_wire *wire, int request, int peer, void *to, size_t bytes);
	/* Blocks until it is finished; what else the process has under way is progressed. */
	void (*wait)(struct cs_wire *wire, int request);
	/* Is it finished? Progresses. */
	bool (*test)(struct cs_wire *wire, int request);
};

#endif
