/* wire/wire.h — messages between the ranks of one group. A transport fills it: the host MPI's
 * point-to-point messages (comm/host/wire.c), verbs (ib/).
 *
 *   rank 0   send tag 7 | send tag 7 | send tag 8   a tag is an operation's; those of one match
 *   rank 1   recv tag 8 | recv tag 7 | recv tag 7   in the order in which they are started
 *
 * So several operations may be under way on one wire, each taken up when somebody has time for it,
 * in another order on each rank. Nothing here fails softly: a transport that breaks ends the
 * job. */
#ifndef CS_WIRE_WIRE_H
#define CS_WIRE_WIRE_H

#include "wire/request.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_multicast;

/* Window of tags. A rank uses a wire's tags in order; all tags with messages under way at one time
 * lie less than CS_TAGS apart: a rank that uses tag t starts no message of tag t - CS_TAGS any
 * more. Only the lowest CS_TAG_BITS bits of a tag count. */
#define CS_TAGS 64
#define CS_TAG_BITS 36
#define CS_NUMBERS 4096 /* of messages from any source */
#define CS_NUMBER_KINDS 4 /* that divides it */

struct cs_wire {
	int rank, ranks;
	/* Start a message. Do not block. */
	void (*send)(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag,
		     const void *from, size_t bytes);
	void (*recv)(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag,
		     void *to, size_t bytes);
	/* The same for memory that is pinned (a node's segment; ib/ib.h, cs_ib_pin): never through
	 * another copy of the bytes, however few. A direct send matches a direct recv only. `flag`,
	 * if there is one, lies in pinned memory and becomes `value` when the message is there, by
	 * the receiver's device or by the receiver's next test or wait: so that other processes can
	 * wait for it. */
	void (*send_direct)(struct cs_wire *wire, struct cs_request *request, int peer,
			    uint64_t tag, const void *from, size_t bytes);
	void (*recv_direct)(struct cs_wire *wire, struct cs_request *request, int peer,
			    uint64_t tag, void *to, size_t bytes, _Atomic uint64_t *flag,
			    uint64_t value);
	/* Messages whose receiver does not know who will send them: any send to it of that number
	 * matches. The caller counts numbers for the group, alike on all ranks; under one number a
	 * rank sends and receives messages of one kind only. A sender that uses at least one of
	 * every CS_NUMBER_KINDS numbers waits now and then for its receiver, and so is at most
	 * CS_NUMBERS ahead of it. Only the wire that the host's `messages` gives has them; others:
	 * NULL. */
	void (*send_to)(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t number,
			const void *from, size_t bytes);
	void (*recv_any)(struct cs_wire *wire, struct cs_request *request, uint64_t number,
			 void *to, size_t bytes);
	/* Sends a word by such a message, without waiting: it may be received much later, or never.
	 * (If many words of earlier calls are not received yet, waits for them.) */
	void (*send_word)(struct cs_wire *wire, int peer, uint64_t number, uint64_t word);
	/* Ends a receive, whether its message has come or not. */
	void (*cancel)(struct cs_wire *wire, struct cs_request *request);
	/* Blocks until the request is over; progresses all else that the process has under way. */
	void (*wait)(struct cs_wire *wire, struct cs_request *request);
	/* Is the request over? Progresses. Not to be called again after true. */
	bool (*test)(struct cs_wire *wire, struct cs_request *request);
	/* The group's multicast (wire/multicast.h), or NULL, on all ranks alike. All ranks make the
	 * first call together, with no request under way, and agree by messages of that tag; it
	 * blocks. A wire without any has no such function. */
	struct cs_multicast *(*multicast)(struct cs_wire *wire, uint64_t tag);
	/* A plan copies so many bytes; true: it is to be done. NULL but for a simulated wire
	 * (sim/play.h). */
	bool (*copies)(struct cs_wire *wire, size_t bytes);
};

#endif
