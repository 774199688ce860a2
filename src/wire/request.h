/* wire/request.h — something that a rank has begun and does not wait for yet: a message
 * (wire/wire.h), or a collective between leaders (wire/host.h).
 *
 * The memory is the caller's. It need not be initialised, and stays where it is until a wait or a
 * test has said that the request is over; then it may be used for another one. */
#ifndef CS_WIRE_REQUEST_H
#define CS_WIRE_REQUEST_H

#include <stdint.h>

/* Errors found by the size of a message that came. The program's ranks disagree about a size, which
 * is the program's error (MPI 4.0, 6.4); this process reports it. */
enum cs_told {
	CS_TOLD_MORE = 1, /* more came than there was room for */
	CS_TOLD_LESS = 2, /* less came than was expected; some hosts say nothing of that */
};

struct cs_request {
	unsigned told; /* bits of enum cs_told, once it is over */
	/* State of the wire that carries it out. A wire above the host's uses the host's part, too,
	 * for messages that it hands down. */
	uint64_t host[6], own[16];
};

#endif
