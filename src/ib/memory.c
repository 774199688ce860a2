/* ib/memory.c — registered memory for slots, completion queues, and memory that its owner pins. */
#include "ib/internal.h"

#include "ib/pages.h"

#include <errno.h>
#include <stdlib.h>

/* All that can be in a connection's two queues at once: what fails completes, even if nobody has
 * asked for that. */
#define PER_CONNECTION(ib) (CS_SENDS + CS_SPARE + (int)(ib)->options.slots)

static bool
add_slab(struct cs_ib *ib, size_t bytes)
{
	struct cs_slab *slab = calloc(1, sizeof *slab);
	if (!slab)
		return false;
	slab->bytes = bytes;
	slab->base = cs_ib_pages_get(bytes);
	if (slab->base)
		slab->registration = cs_registrations_pin(ib->registrations, slab->base, bytes);
	if (!slab->registration) {
		int saved = errno;
		cs_ib_pages_put(slab->base, bytes);
		free(slab);
		errno = saved;
		return false;
	}
	slab->next = ib->slabs;
	ib->slabs = slab;
	ib->slab_bytes += bytes;
	return true;
}

/* A large one for many connections; where that is too much, one for this connection. */
static bool
find_slab(struct cs_ib *ib, size_t needed)
{
	size_t left = ib->options.memory > ib->slab_bytes ? ib->options.memory - ib->slab_bytes : 0;
	size_t least = cs_ib_pages_round(needed);
	if (least < CS_SLAB && CS_SLAB <= left && add_slab(ib, CS_SLAB))
		return true;
	errno = ENOBUFS;
	return least <= left && add_slab(ib, least);
}

bool
cs_slab_take(struct cs_ib *ib, struct cs_peer *peer)
{
	size_t ring = ib->options.slots * ib->options.slot_bytes, needed = 2 * ring;
	if ((!ib->slabs || ib->slabs->bytes - ib->slabs->used < needed) && !find_slab(ib, needed))
		return false;
	struct cs_slab *slab = ib->slabs;
	peer->ring = slab->base + slab->used;
	peer->staging = peer->ring + ring;
	peer->ring_key = slab->registration->rkey;
	peer->staging_key = slab->registration->lkey;
	slab->used += needed;
	return true;
}

void
cs_slabs_free(struct cs_ib *ib)
{
	while (ib->slabs) {
		struct cs_slab *slab = ib->slabs;
		ib->slabs = slab->next;
		cs_registrations_unpin(ib->registrations, slab->registration);
		cs_ib_pages_put(slab->base, slab->bytes);
		free(slab);
	}
}

bool
cs_counted_take(struct cs_ib *ib)
{
	size_t bytes = cs_ib_pages_round(1);
	if (ib->counted_registration)
		return true;
	ib->counted = cs_ib_pages_get(bytes);
	if (ib->counted)
		ib->counted_registration = cs_registrations_pin(ib->registrations, ib->counted,
								bytes);
	if (!ib->counted_registration) {
		cs_ib_pages_put(ib->counted, bytes);
		ib->counted = NULL;
	}
	return ib->counted_registration;
}

void
cs_counted_free(struct cs_ib *ib)
{
	if (!ib->counted)
		return;
	cs_registrations_unpin(ib->registrations, ib->counted_registration);
	cs_ib_pages_put(ib->counted, cs_ib_pages_round(1));
}

struct ibv_cq *
cs_cq_take(struct cs_ib *ib)
{
	int needed = PER_CONNECTION(ib);
	if (!ib->cq_count || ib->cq_used + needed > ib->cq_room) {
		int room = ib->port.max_cqe < CS_MOST_CQES ? ib->port.max_cqe : CS_MOST_CQES;
		room = room > needed ? room : needed;
		struct ibv_cq **cqs = realloc(ib->cqs, (size_t)(ib->cq_count + 1) * sizeof *cqs);
		if (!cqs)
			return NULL;
		ib->cqs = cqs;
		cqs[ib->cq_count] = ib->verbs->create_cq(ib->port.context, room);
		if (!cqs[ib->cq_count])
			return NULL;
		ib->cq_count++;
		ib->cq_room = room;
		ib->cq_used = 0;
	}
	ib->cq_used += needed;
	return ib->cqs[ib->cq_count - 1];
}

void *
cs_ib_pin(struct cs_ib *ib, void *base, size_t bytes)
{
	cs_ib_enter(ib);
	void *pin = cs_registrations_pin(ib->registrations, base, bytes);
	cs_ib_leave(ib);
	return pin;
}

void
cs_ib_unpin(struct cs_ib *ib, void *pin)
{
	if (!pin)
		return;
	cs_ib_enter(ib);
	cs_registrations_unpin(ib->registrations, pin);
	cs_ib_leave(ib);
}
