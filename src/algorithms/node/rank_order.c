#include "algorithms/node/rank_order.h"

#include "algorithms/counted.h"
#include "algorithms/node/copies.h"

#include <string.h>

/* Bytes are read from other ranks' memory at once whose copy takes so many times as long as the
 * calls: they stay in a core's cache */
#define CALLS_AT_ONCE 16
/* bytes: the accumulator stays in the first-level cache while the sources stream by */
#define PIECE 8192

/* Reduce three sources or more. */
static __attribute__((noinline)) void
reduce_kernel(const struct cs_reduction *reduction, char *out, const void *const *from, int n,
	      size_t count)
{
	/* A division is expensive */
	size_t unit = reduction->unit, piece = count * unit <= PIECE ? count : PIECE / unit;
	_Alignas(64) char sum[PIECE];
	for (size_t first = 0; first < count; first += piece) {
		size_t now = count - first < piece ? count - first : piece;
		size_t at = first * unit;
		/* Through `sum`, so that `out` may be one of the sources. */
		reduction->kernel(sum, (const char *)from[n - 2] + at,
				  (const char *)from[n - 1] + at, now);
		for (int i = n - 3; i > 0; i--)
			reduction->kernel(sum, (const char *)from[i] + at, sum, now);
		reduction->kernel(out + at, (const char *)from[0] + at, sum, now);
	}
}

/* Note the work: one operand is copied unless it is in place, others are added to it. True: do it,
 * too. */
static __attribute__((noinline)) bool
count_work(struct cs_op *op, const struct cs_reduction *reduction, const void *out,
	   const void *const *from, int n, size_t count)
{
	size_t bytes = count * reduction->unit;
	if (n > 1)
		return cs_counted_work(op, CS_COUNTED_REDUCE, (size_t)(n - 1) * bytes);
	return out == from[0] || cs_counted_work(op, CS_COUNTED_COPY, bytes);
}

void
cs_rank_order_reduce(struct cs_op *op, const struct cs_reduction *reduction, void *out,
		   const void *const *from, int n, size_t count)
{
	struct cs_team *team = op->team;
	if (cs_node_is_watched(&op->node) && !count_work(op, reduction, out, from, n, count))
		return;
	if (n == 2 && reduction->kernel) {
		reduction->kernel(out, from[0], from[1], count);
		return;
	}
	size_t bytes = count * reduction->unit;
	if (count == 0)
		return;
	if (n == 1) {
		if (out != from[0])
			memcpy(out, from[0], bytes);
		return;
	}
	if (reduction->kernel) {
		reduce_kernel(reduction, out, from, n, count);
		return;
	}
	void *to = out;
	for (int i = 0; i < n - 1; i++)
		if (from[i] == out)
			to = cs_op_memory(op, CS_OP_SCRATCH, bytes);
	if (to != from[n - 1])
		memcpy(to, from[n - 1], bytes);
	for (int i = n - 2; i >= 0; i--)
		team->host->reduce_local(reduction, from[i], to, count);
	if (to != out)
		memcpy(out, to, bytes);
}

/* Reduce three sources or more. */
static __attribute__((noinline)) void
reduce_left_kernel(const struct cs_reduction *reduction, char *out, const void *const *from, int n,
		   size_t count)
{
	size_t unit = reduction->unit, piece = count * unit <= PIECE ? count : PIECE / unit;
	_Alignas(64) char sum[PIECE];
	for (size_t first = 0; first < count; first += piece) {
		size_t now = count - first < piece ? count - first : piece;
		size_t at = first * unit;
		reduction->kernel(sum, (const char *)from[0] + at, (const char *)from[1] + at, now);
		for (int i = 2; i < n - 1; i++)
			reduction->kernel(sum, sum, (const char *)from[i] + at, now);
		reduction->kernel(out + at, sum, (const char *)from[n - 1] + at, now);
	}
}

/* Reduce by MPI_Reduce_local, whose result replaces the right operand: each source but the first is
 * copied, the last one unless it is `out`. */
static void
reduce_left_local(struct cs_op *op, const struct cs_reduction *reduction, char *out,
		  const void *const *from, int n, size_t count)
{
	struct cs_team *team = op->team;
	size_t bytes = count * reduction->unit, apart = (bytes + 63) & ~(size_t)63;
	char *rooms = cs_op_memory(op, CS_OP_SCRATCH, 2 * apart);
	const void *sum = from[0];
	for (int i = 1; i < n; i++) {
		char *to = i == n - 1 ? out : rooms + (size_t)(i % 2) * apart;
		if (to != from[i])
			memcpy(to, from[i], bytes);
		team->host->reduce_local(reduction, sum, to, count);
		sum = to;
	}
}

void
cs_rank_order_scan(struct cs_op *op, const struct cs_reduction *reduction, void *out,
		    const void *const *from, int n, size_t count)
{
	if (n < 3 || cs_node_is_watched(&op->node))
		cs_rank_order_reduce(op, reduction, out, from, n, count);
	else if (count && reduction->kernel)
		reduce_left_kernel(reduction, out, from, n, count);
	else if (count)
		reduce_left_local(op, reduction, out, from, n, count);
}

/* Read operands in other ranks' memory piece by piece, each rank the next one's first. */
static __attribute__((noinline)) void
reduce_remote(struct cs_op *op, const struct cs_reduction *reduction, char *out,
	      const struct cs_operand *parts, size_t remotes, size_t count)
{
	struct cs_team *team = op->team;
	int locals = team->node.shape.size, self = team->node.shape.local;
	size_t unit = reduction->unit,
	       bytes = cs_facts_single_copy(&team->node.facts, CALLS_AT_ONCE),
	       slot = team->node.shape.slot_bytes;
	size_t at_once = (bytes < slot ? bytes : slot) / remotes / unit;
	at_once = at_once ? at_once : 1;
	char *room = cs_op_memory(op, CS_OP_REMOTE, remotes * at_once * unit);
	for (size_t done = 0; done < count; done += at_once) {
		size_t now = count - done < at_once ? count - done : at_once;
		char *next = room;
		const void *from[locals];
		for (int i = 1; i <= locals; i++) {
			int local = (self + i) % locals;
			if (parts[local].mapped) {
				from[local] = parts[local].mapped + done * unit;
				continue;
			}
			cs_node_read(&op->node, local, next, parts[local].remote + done * unit,
				     now * unit);
			from[local] = next;
			next += at_once * unit;
		}
		cs_rank_order_reduce(op, reduction, out + done * unit, from, locals, now);
	}
}

void
cs_rank_order_operands(struct cs_op *op, const struct cs_reduction *reduction, char *out,
		   const struct cs_operand *parts, size_t count)
{
	struct cs_team *team = op->team;
	int locals = team->node.shape.size;
	const void *from[locals];
	size_t remotes = 0;
	for (int local = 0; local < locals; local++) {
		from[local] = parts[local].mapped;
		remotes += !parts[local].mapped;
	}
	if (remotes && count)
		reduce_remote(op, reduction, out, parts, remotes, count);
	else
		cs_rank_order_reduce(op, reduction, out, from, locals, count);
}

bool
cs_rank_order_is_single_copy(struct cs_op *op, size_t from)
{
	/* Parts of each other rank's vector, and of its result, are read. */
	size_t calls = 2 * ((size_t)op->team->node.shape.size - 1);
	return op->call.reduction.kernel && op->call.bytes > CS_INLINE &&
	       cs_single_copy_by_calls(op, from, op->call.bytes, calls);
}
