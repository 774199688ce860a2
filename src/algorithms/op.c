/* algorithms/op.c — steps of operations, and their memory, which the team keeps from one to the
 * next. */
#include "algorithms/op.h"

#include "base/cpu.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

/* Bytes above which a buffer is freed when its operation ends. Packed data comes in rows of calls
 * of one size, and malloc, too, gets larger blocks from the kernel each time; but a large buffer is
 * not kept for small packed data. */
#define KEEP ((size_t)4 << 20)
#define KEEP_PACKED ((size_t)32 << 20)
#define PAGE ((size_t)4096)
#define NAP_NS 1000000 /* while a message has not come */

void
cs_op_finish(struct cs_op *op)
{
	const struct cs_node_shape *shape = &op->team->node.shape;
	struct cs_wait wait = { .polls = shape->spin, .yields = shape->yields, .nap_ns = NAP_NS,
				.progress = op->team->host->progress, .call = &op->node };
	const void *outer = cs_wait_call;
	cs_wait_call = &op->node;
	while (cs_op_step(op) == CS_AGAIN) {
		int local = op->node.awaited.local;
		/* It may wait for slots of an older operation, which other work of this rank has to
		 * end. */
		if (op->team->node.under_way > 1)
			op->team->host->progress();
		wait.yields = local == CS_AWAITS_PIECE ? CS_WAIT_AWAKE : shape->yields;
		if (local == CS_AWAITS_MESSAGE || local == CS_AWAITS_PIECE)
			cs_wait_turn(&wait);
		else
			cs_node_wait_awaited(&op->node);
	}
	cs_wait_call = outer;
}

enum cs_status
cs_op_step_then(struct cs_op *op)
{
	op->node.extras &= ~(unsigned)CS_OP_THEN;
	op->phase = op->then;
	return cs_op_step(op);
}

struct cs_op_memory {
	struct cs_op_memory *next; /* idle one */
	struct cs_op_buffer {
		char *base;
		size_t bytes;
	} buffers[CS_OP_USES];
	bool is_heavy; /* a buffer is too large to keep */
};

static bool
is_packed(enum cs_op_use use)
{
	return use == CS_OP_INPUT || use == CS_OP_OUTPUT;
}

static void
drop(struct cs_op_buffer *buffer)
{
	free(buffer->base);
	*buffer = (struct cs_op_buffer){ 0 };
}

static bool
take(struct cs_op *op, struct cs_op_memory **idle)
{
	op->memory = *idle;
	if (op->memory)
		*idle = op->memory->next;
	else
		op->memory = calloc(1, sizeof *op->memory);
	if (!op->memory)
		return false;
	op->node.extras |= CS_OP_MEMORY;
	return true;
}

void *
cs_op_memory_of(struct cs_op *op, struct cs_op_memory **idle, enum cs_op_use use, size_t bytes)
{
	if (!(op->node.extras & CS_OP_MEMORY) && !take(op, idle))
		return NULL;
	struct cs_op_buffer *buffer = &op->memory->buffers[use];
	bool is_too_large = is_packed(use) && buffer->bytes > KEEP && bytes <= KEEP;
	if (bytes > buffer->bytes || is_too_large || !buffer->base) {
		size_t unit = bytes < PAGE ? CS_CACHE_LINE : PAGE,
		       size = (bytes + !bytes + unit - 1) / unit * unit;
		drop(buffer);
		buffer->base = aligned_alloc(CS_CACHE_LINE, size);
		buffer->bytes = buffer->base ? size : 0;
		op->memory->is_heavy = op->memory->is_heavy ||
				       size > (is_packed(use) ? KEEP_PACKED : KEEP);
	}
	return buffer->base;
}

void
cs_op_no_memory(const struct cs_op *op, size_t bytes)
{
	cs_warn_local("no memory for %zu bytes in mid-call; ending the job", bytes);
	op->team->host->abort("out of memory");
}

const void *
cs_op_keep(struct cs_op *op, const void *from, size_t bytes)
{
	const struct cs_node_watch *watch = op->team->node.watch;
	if (cs_node_is_watched(&op->node) && watch->keep)
		return watch->keep(&op->node, from, bytes);
	return memcpy(cs_op_memory(op, CS_OP_COPY, bytes), from, bytes);
}

void
cs_op_give_back(struct cs_op *op, struct cs_op_memory **idle)
{
	struct cs_op_memory *memory = op->memory;
	for (enum cs_op_use use = 0; memory->is_heavy && use < CS_OP_USES; use++)
		if (memory->buffers[use].bytes > (is_packed(use) ? KEEP_PACKED : KEEP))
			drop(&memory->buffers[use]);
	memory->is_heavy = false;
	memory->next = *idle;
	*idle = memory;
	op->node.extras &= ~(unsigned)CS_OP_MEMORY;
}

void
cs_op_memory_free(struct cs_op_memory **idle)
{
	while (*idle) {
		struct cs_op_memory *memory = *idle;
		*idle = memory->next;
		for (enum cs_op_use use = 0; use < CS_OP_USES; use++)
			drop(&memory->buffers[use]);
		free(memory);
	}
}
