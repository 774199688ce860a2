/* ib/message.c — queues of messages, and the end of one. */
#include "ib/internal.h"

/* `before` is in front of it, or NULL. */
static void
unlink_request(struct cs_queue *queue, struct cs_message *before, struct cs_message *request)
{
	if (before)
		before->next = request->next;
	else
		queue->head = request->next;
	if (queue->tail == request)
		queue->tail = before;
}

void
cs_remove(struct cs_queue *queue, struct cs_message *wanted)
{
	struct cs_message *before = NULL;
	for (struct cs_message *request = queue->head; request; before = request,
	     request = request->next)
		if (request == wanted) {
			unlink_request(queue, before, request);
			return;
		}
}

struct cs_message *
cs_take_message(struct cs_queue *queue, uint64_t message)
{
	struct cs_message *before = NULL, *request = queue->head;
	if (__builtin_expect(request && request->message == message, 1))
		return cs_pop(queue);
	while (request && request->message != message) {
		before = request;
		request = request->next;
	}
	if (request)
		unlink_request(queue, before, request);
	return request;
}

void
cs_message_finish(struct cs_message *request)
{
	if (request->flag)
		atomic_store_explicit(request->flag, request->value, memory_order_release);
	cs_message_be(request, CS_DONE);
}
