/* ib/rma_window.h — windows (wire/rma_window.h) by verbs: RDMA writes into the memory of another
 * node, and behind each a counter.
 *
 *   a rank of node A, local i -> the connection of rank i % ranks of node B -> memory of all of B
 *
 * The counter is an atomic fetch-and-add, which the responder carries out behind the writes before
 * it on the same queue pair (InfiniBand Architecture Specification, vol. 1, 9.5) and, as it reads
 * memory, behind them on its way there. Nobody of the other node has a completion to wait for. With
 * `polls_flags` (ib.h) it is a write of its own, inline: fewer round trips, on the same trust. */
#ifndef CS_IB_WINDOW_H
#define CS_IB_WINDOW_H

#include "ib/ib.h"
#include "wire/rma_window.h"

struct cs_ib_window_group {
	int nodes, node, local;
	const int *first, *order; /* as in struct cs_shape (algorithms/team.h) */
	void *memory; /* cs_rma_bytes of it, zeros; the same memory for all of the node, whole
		       * pages, mapped until the window is closed */
	size_t room;  /* of a message */
};

/* Opens a window on a wire of cs_ib_wire_open. All ranks of the wire make the call together, with
 * no request under way that they need for it; it blocks and uses that tag. NULL: this rank cannot,
 * *why (static storage) says what was in the way; then all have to close theirs. The caller frees
 * nothing else. */
struct cs_rma_window *cs_ib_window_open(struct cs_wire *wire, uint64_t tag,
				    const struct cs_ib_window_group *group, const char **why);
/* Waits, if `is_used`, until all messages that were counted have come, or were given back: so long
 * others write here, also for calls that this rank has left. NULL is fine. */
void cs_ib_window_close(struct cs_rma_window *window, bool is_used);

#endif
