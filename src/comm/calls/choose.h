/* comm/calls/choose.h — selection for one call: the host or an algorithm. The entry asks first, by
 * facts at hand (cs_choose_host), so that a call of the host costs a jump; a cached choice of an
 * algorithm stays in serving->cached, where cs_serve_choose finds it when all sizes are known. */
#ifndef CS_COMM_CALLS_CHOOSE_H
#define CS_COMM_CALLS_CHOOSE_H

#include "comm/calls/icall.h"
#include "comm/calls/serving.h"
#include "comm/types/types.h"

#include <limits.h>

/* --- in the entry ----------------------------------------------------------------------------- */

/* Is there a team, or may there be one in this call, so that it may be served? */
static inline bool
cs_choose_may_serve(struct cs_serving *serving)
{
	struct cs_comm *communicator = serving->communicator;
	return communicator &&
	       (__builtin_expect(communicator->state < CS_COMM_HOST, 1) ||
		(communicator->state == CS_COMM_QUEUED && cs_icalls_begin_all(serving)));
}

/* The order of operands of a reduction like the communicator's last one; else CS_ORDER_UNKNOWN. */
static inline enum cs_order
cs_choose_order(const struct cs_serving *serving, MPI_Datatype type, MPI_Op op)
{
	const struct cs_comm *communicator = serving->communicator;
	const struct cs_reduction *known = &communicator->known_pair;
	return known->type == (uintptr_t)type && known->op == (uintptr_t)op && known->unit
	       ? communicator->known_order : CS_ORDER_UNKNOWN;
}

/* Is the call left to the host by a choice that is cached already? Asked before anything else, so
 * that such a call costs little. `times`: blocks in the size that select counts. `order`: a
 * reduction's (cs_choose_order). Only predefined types are quick to find; calls with others are
 * chosen for by cs_serve_choose. */
static inline bool
cs_choose_host(struct cs_serving *serving, enum cs_coll coll, MPI_Count count, MPI_Datatype type,
	       int times, enum cs_order order)
{
	struct cs_comm *communicator = serving->communicator;
	if (communicator->seat->selection.host_only >> coll & 1) {
		serving->cached = &communicator->seat->selection.cached_choices[coll].cached[0];
		return true;
	}
	serving->cached = NULL;
	const struct cs_type *known = cs_comm_known_type(communicator, type);
	if (!known || count <= 0 || count > INT_MAX)
		return false;
	serving->bytes = (size_t)count * known->size * (size_t)times;
	serving->cached = cs_selection_find(&communicator->seat->selection, coll, serving->bytes,
					    order);
	return serving->cached && serving->cached->goes_to_host;
}

/* Is the call left to the host whatever its size? Used if sizes are not at hand, or not agreed. */
static inline bool
cs_choose_always_host(struct cs_serving *serving, enum cs_coll coll)
{
	struct cs_comm *communicator = serving->communicator;
	serving->cached = NULL;
	if (!(communicator->seat->selection.host_only >> coll & 1))
		return false;
	serving->cached = &communicator->seat->selection.cached_choices[coll].cached[0];
	return true;
}

/* --- in comm/calls ---------------------------------------------------------------------------- */

/* Notes why select is not asked. Always false. */
static inline bool
cs_serve_not(struct cs_serving *serving, const char *why)
{
	serving->cached = NULL;
	serving->unasked = why;
	return false;
}

/* Is there a team? Counts the call if not. Asked only after all checks by which the host would
 * refuse the call on this rank alone. */
static inline bool
cs_serve_has_team(struct cs_serving *serving)
{
	struct cs_comm *communicator = serving->communicator;
	return __builtin_expect(communicator->seat->selection.team != NULL, 1) ||
	       (!(serving->op.node.extras & CS_OP_NONBLOCKING) && cs_comm_count(communicator));
}

/* As cs_serve_choose if the class of the call is on trial; gives a call of the host its number.
 * `root`: -1 if the collective has none. With CS_OUTCOME_ERROR ranks make different calls, and the
 * host is not to make this one. */
bool cs_serve_try(struct cs_serving *serving, enum cs_coll coll, int root);

/* The same for a non-blocking call. */
bool cs_serve_choose_nonblocking(struct cs_serving *serving, enum cs_coll coll, size_t bytes,
				 int skew, enum cs_order order);

/* Asks select, unless the entry has; true if an algorithm is to run. `bytes` and `skew` as in
 * cs_facts, `root` as in cs_serve_try. To be called when cs_serve_has_team may be. */
static inline bool
cs_serve_choose_as(struct cs_serving *serving, enum cs_coll coll, size_t bytes, int skew,
		   enum cs_order order, int root)
{
	struct cs_comm *communicator = serving->communicator;
	/* The entry notes no choice of an algorithm without the size. */
	bool is_unsized = __builtin_constant_p(bytes) && bytes == CS_BYTES_UNKNOWN;
	bool is_chosen = !is_unsized && serving->cached && serving->bytes == bytes &&
			 (order == CS_ORDER_NONE || serving->cached->order == order);
	if (!is_chosen) {
		if (__builtin_expect(serving->op.node.extras & CS_OP_NONBLOCKING, 0))
			return cs_serve_choose_nonblocking(serving, coll, bytes, skew, order);
		if (!cs_serve_has_team(serving))
			return false;
		if (bytes == 0 && coll != CS_BARRIER)
			return cs_serve_not(serving, "nothing to move");
		serving->bytes = bytes;
		serving->cached = cs_selection_choose(&communicator->seat->selection, coll, bytes,
						      skew, order);
		if (serving->cached->goes_to_host)
			return false;
	}
	/* The host's calls while it is on trial, too. */
	if (__builtin_expect(--serving->cached->left < 0, 0))
		return cs_serve_try(serving, coll, root);
	return true;
}

static inline bool
cs_serve_choose(struct cs_serving *serving, enum cs_coll coll, size_t bytes)
{
	return cs_serve_choose_as(serving, coll, bytes, 1, CS_ORDER_NONE, -1);
}

static inline bool
cs_serve_choose_rooted(struct cs_serving *serving, enum cs_coll coll, size_t bytes, int root)
{
	return cs_serve_choose_as(serving, coll, bytes, 1, CS_ORDER_NONE, root);
}

#endif
