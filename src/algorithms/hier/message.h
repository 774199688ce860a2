/* algorithms/hier/message.h — completion of an operation's own messages on a wire. */
#ifndef CS_ALGORITHMS_HIER_MESSAGE_H
#define CS_ALGORITHMS_HIER_MESSAGE_H

#include "algorithms/op.h"
#include "wire/wire.h"

/* Is a message over? A blocking operation waits for it, by the wire's own wait. */
static inline bool
cs_message_has_come(struct cs_op *op, struct cs_wire *wire, struct cs_request *request)
{
	if (!(op->node.extras & CS_OP_NONBLOCKING)) {
		wire->wait(wire, request);
	} else if (!wire->test(wire, request)) {
		op->node.awaited.local = CS_AWAITS_MESSAGE;
		return false;
	}
	return true;
}

/* Is a message of known size over? Notes what its request told. */
static inline bool
cs_message_is_over(struct cs_op *op, struct cs_wire *wire, struct cs_request *request)
{
	if (!cs_message_has_come(op, wire, request))
		return false;
	cs_op_note(op, request->told);
	return true;
}

/* Waits, as a phase, for requests *next to count - 1. */
static inline enum cs_status
cs_messages_are_over(struct cs_op *op, struct cs_wire *wire, struct cs_request *requests, int count,
		     int *next)
{
	for (; *next < count; ++*next)
		if (!cs_message_is_over(op, wire, &requests[*next]))
			return CS_AGAIN;
	return CS_OK;
}

#endif
