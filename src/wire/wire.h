/* wire/wire.h — messages between the ranks of one group. A transport fills it: the host MPI's point-to-point messages
 * (comm/wire.c), verbs (ib/).
 *
 * Requests are numbers that the caller gives, below the capacity it has asked for. Messages between two ranks match in
 * the order in which they are started. Nothing here fails softly: a transport that breaks ends the job. */
#ifndef CS_WIRE_WIRE_H
#define CS_WIRE_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_cast;

struct cs_wire {
	int rank, ranks;
	/* Room for requests 0 to count - 1; false without memory. May be called again with a larger count, between plans. */
	bool (*reserve)(struct cs_wire *wire, int count);
	/* Start a message under a number that is not in use. Do not block. */
	void (*send)(struct cs_wire *wire, int request, int peer, const void *from, size_t bytes);
	void (*recv)(struct cs_wire *wire, int request, int peer, void *to, size_t bytes);
	/* The same for memory that is pinned (a node's segment; ib/ib.h, cs_ib_pin): never through another copy of the bytes,
	 * however few. A direct send matches a direct recv only. `flag`, if there is one, lies in pinned memory and becomes
	 * `value` when the message is there, by the receiver's device or by the receiver's next test or wait: so that other
	 * processes can wait for it. */
	void (*send_direct)(struct cs_wire *wire, int request, int peer, const void *from, size_t bytes);
	void (*recv_direct)(struct cs_wire *wire, int request, int peer, void *to, size_t bytes, _Atomic uint64_t *flag,
			    uint64_t value);
	/* Blocks until it is finished; what else the process has under way is progressed. */
	void (*wait)(struct cs_wire *wire, int request);
	/* Is it finished? Progresses. Not asked again once it was. */
	bool (*test)(struct cs_wire *wire, int request);
	/* The group's multicast (wire/cast.h), or NULL, on all ranks alike. All ranks make the first call together, with no
	 * request under way and room for one; it blocks. A wire without any has no such function. */
	struct cs_cast *(*cast)(struct cs_wire *wire);
};

#endif
