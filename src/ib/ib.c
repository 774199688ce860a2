/* ib/ib.c — a process's verbs: opening, and parting from its peers. */
#include "ib/internal.h"

#include "base/log.h"
#include "base/wait.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTING_YIELDS 1000
#define PARTING_NAP_NS 100000
#define PARTING_NS UINT64_C(60000000000)

static const struct cs_kind_ops *const kinds[CS_KINDS] = {
	[CS_KIND_HELLO] = &cs_kind_hello,
	[CS_KIND_SMALL] = &cs_kind_small,
	[CS_KIND_READY] = &cs_kind_ready,
	[CS_KIND_FRAGMENT] = &cs_kind_fragment,
	[CS_KIND_ASK] = &cs_kind_ask,
};

/* --- opening and closing ---------------------------------------------------------------------- */

static void
name_it(struct cs_ib *ib)
{
	const struct cs_ib_candidate *chosen = &ib->port.chosen;
	snprintf(ib->name, sizeof ib->name, "%s:%d, %s", chosen->device, chosen->port,
		 chosen->what);
}

/* Slots are a power of two, in whole lines of the cache, and no more than the device's queues and
 * requests can hold; false if not even two. */
static bool
fit_slots(struct cs_ib *ib)
{
	struct cs_ib_options *options = &ib->options;
	const struct cs_ib_port *port = &ib->port;
	int queue = port->max_wr - CS_SPARE, entries = port->max_cqe - CS_SENDS - CS_SPARE;
	int most = queue < entries ? queue : entries;
	size_t count = 1;
	while (2 * count <= options->slots && count < CS_MOST_SLOTS)
		count *= 2;
	while (most > 0 && count > (size_t)most)
		count /= 2;
	options->slots = count;
	options->slot_bytes = (options->slot_bytes + 63) & ~(size_t)63;
	if (options->slot_bytes > port->max_message)
		options->slot_bytes = port->max_message & ~(size_t)63;
	if (options->slot_bytes < CS_LEAST_SLOT)
		options->slot_bytes = CS_LEAST_SLOT;
	return most > 0 && port->max_wr >= CS_SENDS && options->slot_bytes <= port->max_message;
}

static enum cs_status
open_all(struct cs_ib *ib, char *why, size_t room)
{
	const struct cs_ib_options *options = &ib->options;
	enum cs_status status = cs_ib_port_open(&ib->port, ib->verbs, options->device,
						options->distance, why, room);
	if (status != CS_OK)
		return status;
	name_it(ib);
	if (!fit_slots(ib)) {
		snprintf(why, room, "%s: its queues are too short", ib->port.chosen.device);
		return CS_UNSUPPORTED;
	}
	ib->pd = ib->verbs->alloc_pd(ib->port.context);
	if (!ib->pd) {
		snprintf(why, room, "%s: no protection domain: %s", ib->port.chosen.device,
			 strerror(errno));
		return CS_SYSTEM;
	}
	status = cs_registrations_open(&ib->registrations, ib->verbs, ib->pd, options->cache);
	ib->peers = calloc((size_t)options->world_size, sizeof *ib->peers);
	ib->known = calloc((size_t)options->world_size, sizeof *ib->known);
	if (status != CS_OK || !ib->peers || !ib->known) {
		snprintf(why, room, "out of memory");
		return CS_NO_MEMORY;
	}
	/* Tried now and not at the first message: too little lockable memory is the commonest
	 * trouble. */
	struct cs_peer probe = { .ib = ib };
	if (!cs_slab_take(ib, &probe) || !cs_cq_take(ib)) {
		snprintf(why, room, "%s: memory for its buffers was refused: %s (ulimit -l tells "
				    "how much may be locked)",
			 ib->port.chosen.device, strerror(errno));
		return CS_SYSTEM;
	}
	ib->slabs->used = 0;
	ib->cq_used = 0;
	return CS_OK;
}

enum cs_status
cs_ib_open(struct cs_ib **to, const struct cs_verbs *verbs, const struct cs_ib_options *options,
	   char *why, size_t room)
{
	const char *missing = NULL;
	if (!verbs && !cs_verbs_may_find()) {
		cs_ib_port_say_none(options->device, false, why, room);
		return CS_UNSUPPORTED;
	}
	if (!verbs)
		verbs = cs_verbs_load(&missing);
	if (!verbs) {
		snprintf(why, room, "%s", missing);
		return CS_UNSUPPORTED;
	}
	struct cs_ib *ib = calloc(1, sizeof *ib);
	if (!ib) {
		snprintf(why, room, "out of memory");
		return CS_NO_MEMORY;
	}
	ib->verbs = verbs;
	ib->kinds = kinds;
	ib->options = *options;
	enum cs_status status = open_all(ib, why, room);
	if (status != CS_OK)
		cs_ib_close(ib);
	else
		*to = ib;
	return status;
}

static void
say_bye(struct cs_peer *peer)
{
	struct ibv_send_wr last = { .wr_id = (uintptr_t)peer | CS_POSTED_CREDIT,
				    .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				    .imm_data = htobe32((uint32_t)CS_WORD_BYE << CS_WORD_BITS) };
	if (peer->is_flushed)
		cs_peer_fail(peer, "its requests were flushed");
	if (peer->state != CS_PEER_READY || peer->has_parted || !cs_peer_has_room(peer))
		return;
	peer->has_parted = true;
	cs_peer_post(peer, &last, true, NULL);
}

void
cs_ib_part(struct cs_ib *ib)
{
	ib->is_closing = true; /* a peer that is gone is no trouble any more */
	for (int i = 0; i < ib->known_count; i++)
		say_bye(ib->known[i]);
}

static bool
has_parted(const struct cs_ib *ib)
{
	for (int i = 0; i < ib->known_count; i++) {
		const struct cs_peer *peer = ib->known[i];
		bool is_over = peer->has_parted && peer->is_parted &&
			       peer->posted == peer->completed;
		if (peer->state == CS_PEER_READY && !is_over)
			return false;
	}
	return true;
}

/* Without this the answer to somebody's last message might be lost, and he would send it again for
 * seconds. */
static void
wait_for_parting(struct cs_ib *ib)
{
	struct cs_wait wait = { .yields = PARTING_YIELDS, .nap_ns = PARTING_NAP_NS };
	while (!has_parted(ib)) {
		wait.progress = ib->options.host->progress;
		if (cs_ib_turn(ib)) {
			cs_ib_part(ib); /* there may be room now */
			continue;
		}
		cs_wait_turn(&wait);
		if (cs_wait_ns(&wait) > PARTING_NS) {
			cs_info("ib: not all peers have come to an end; not waiting any longer");
			return;
		}
	}
}

void
cs_ib_close(struct cs_ib *ib)
{
	if (!ib)
		return;
	cs_ib_part(ib);
	wait_for_parting(ib);
	for (int i = 0; i < ib->known_count; i++) {
		cs_peer_close(ib->known[i]);
		free(ib->known[i]);
	}
	if (ib->registrations) {
		cs_slabs_free(ib);
		cs_counted_free(ib);
	}
	cs_registrations_close(ib->registrations);
	for (int i = 0; i < ib->cq_count; i++)
		ib->verbs->destroy_cq(ib->cqs[i]);
	if (ib->pd)
		ib->verbs->dealloc_pd(ib->pd);
	cs_ib_port_close(&ib->port);
	free(ib->cqs);
	free(ib->peers);
	free(ib->known);
	free(ib->channels);
	free(ib->tokens);
	free(ib);
}

const char *
cs_ib_name(const struct cs_ib *ib)
{
	return ib->name;
}

void
cs_ib_count(struct cs_ib *ib, struct cs_ib_counters *counters)
{
	cs_ib_enter(ib);
	const struct cs_registration_counters *registrations =
		cs_registrations_counters(ib->registrations);
	*counters = ib->counters;
	counters->registered = registrations->bytes;
	counters->registrations = registrations->made;
	cs_ib_leave(ib);
}
