/* algorithms/hier/message.h — an operation's own messages, which it has begun on a wire: are they
 * over? */
#ifndef CS_ALGORITHMS_HIER_MESSAGE_H
#define CS_ALGORITHMS_HIER_MESSAGE_H

#include "algorithms/op.h"
#include "wire/wire.h"

/* Is it over? A blocking operation waits for it, as the wire does that best. */
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

/* The same of one whose size is known: notes what it told. */
static inline bool
cs_message_is_over(struct cs_op *op, struct cs_wire *wire, struct cs_request *request)
{
	if (!cs_message_has_come(op, wire, request))
		return false;
	cs_op_note(op, request->told);
	return true;
}

/* And, as a phase, of the first `count` requests, from number *next on. */
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
