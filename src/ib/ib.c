#include "ib/internal.h"

#include "base/log.h"
#include "base/wait.h"
#include "ib/pages.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* All that can be in a connection's two queues at once: what fails completes, even if nobody has asked for that. */
#define PER_CONNECTION(ib) (CS_SENDS + CS_SPARE + (int)(ib)->options.slots)
#define POLLED 16
#define TURNS_PER_EVENT 256
#define TURNS_PER_ASK (1 << 14) /* a multiple of that */
#define PARTING_YIELDS 1000
#define PARTING_NAP_NS 100000
#define PARTING_NS UINT64_C(60000000000)
#define NS_PER_LOOK 100000000 /* whether the device is still there */
#define TIME_OUTS_OF_A_PORT 16

/* What a completion's wr_id says beside the peer, in the bits that its alignment leaves free. */
enum operation { RECEIVE, SLOT_WRITE, DATA_WRITE, CREDIT_WRITE };
_Static_assert(RECEIVE == 0, "a receive's wr_id is the peer's address alone");
static const char *const operations[] = { "receiving", "writing a message", "writing data", "giving slots back" };

/* --- opening and closing ----------------------------------------------------------------------------------------- */

static void
name_it(struct cs_ib *ib)
{
	const struct cs_ib_candidate *chosen = &ib->port.chosen;
	snprintf(ib->name, sizeof ib->name, "%s:%d, %s", chosen->device, chosen->port, chosen->what);
}

/* Slots are a power of two, in whole lines of the cache, and no more than the device's queues and requests can hold; false
 * if not even two. */
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
	enum cs_status status = cs_ib_port_open(&ib->port, ib->verbs, options->device, options->distance, why, room);
	if (status != CS_OK)
		return status;
	name_it(ib);
	if (!fit_slots(ib)) {
		snprintf(why, room, "%s: its queues are too short", ib->port.chosen.device);
		return CS_UNSUPPORTED;
	}
	ib->pd = ib->verbs->alloc_pd(ib->port.context);
	if (!ib->pd) {
		snprintf(why, room, "%s: no protection domain: %s", ib->port.chosen.device, strerror(errno));
		return CS_SYSTEM;
	}
	status = cs_registrations_open(&ib->registrations, ib->verbs, ib->pd, options->cache);
	ib->peers = calloc((size_t)options->world_size, sizeof *ib->peers);
	ib->known = calloc((size_t)options->world_size, sizeof *ib->known);
	if (status != CS_OK || !ib->peers || !ib->known) {
		snprintf(why, room, "out of memory");
		return CS_NO_MEMORY;
	}
	/* Tried now and not at the first message: too little lockable memory is the commonest trouble. */
	struct cs_peer probe = { .ib = ib };
	if (!cs_slab_take(ib, &probe) || !cs_cq_take(ib)) {
		snprintf(why, room, "%s: memory for its buffers was refused: %s (ulimit -l tells how much may be locked)",
			 ib->port.chosen.device, strerror(errno));
		return CS_SYSTEM;
	}
	ib->slabs->used = 0;
	ib->cq_used = 0;
	return CS_OK;
}

enum cs_status
cs_ib_open(struct cs_ib **to, const struct cs_verbs *verbs, const struct cs_ib_options *options, char *why, size_t room)
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
	struct ibv_send_wr last = { .wr_id = (uintptr_t)peer | CREDIT_WRITE, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
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
		bool is_over = peer->has_parted && peer->is_parted && peer->posted == peer->completed;
		if (peer->state == CS_PEER_READY && !is_over)
			return false;
	}
	return true;
}

/* Without this the answer to somebody's last message might be lost, and he would send it again for seconds. */
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

static void
free_slabs(struct cs_ib *ib)
{
	while (ib->slabs) {
		struct cs_slab *slab = ib->slabs;
		ib->slabs = slab->next;
		cs_registrations_unpin(ib->registrations, slab->registration);
		cs_ib_pages_put(slab->base, slab->bytes);
		free(slab);
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
	if (ib->registrations)
		free_slabs(ib);
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
cs_ib_no_memory(struct cs_ib *ib)
{
	cs_warn_local("ib: out of memory; ending the job");
	ib->options.host->abort("out of memory");
}

void
cs_ib_break(struct cs_ib *ib, const struct cs_peer *peer, const char *operation, const char *status)
{
	cs_warn_local("ib: rank %d: %s to rank %d of MPI_COMM_WORLD by %s failed: %s; ending the job",
		      ib->options.world_rank, operation, peer->world, ib->port.chosen.device, status);
	ib->options.host->abort("verbs failed");
}

/* --- memory ------------------------------------------------------------------------------------------------------ */

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

/* --- posting ----------------------------------------------------------------------------------------------------- */

/* A connection that ended by what the peer did: its own requests fail with the cause, ours are only flushed. What follows on
 * this one says no more. */
static bool
is_aftermath(struct cs_peer *peer, uint64_t wr_id, bool is_flushed)
{
	struct cs_ib *ib = peer->ib;
	if (!is_flushed || peer->is_flushed || ib->options.flush_grace == 0)
		return peer->is_flushed;
	peer->is_flushed = true;
	if (!ib->flushed) {
		ib->flushed = peer;
		ib->flushed_wr_id = wr_id;
		ib->flushed_ns = cs_clock_ns();
	}
	return true;
}

/* Until the pair has settled both still have another way, and at the end there is nothing left to lose. */
static void
failed(struct cs_peer *peer, uint64_t wr_id, const char *status, bool is_flushed)
{
	if (peer->is_settled && !peer->ib->is_closing && peer->state != CS_PEER_FAILED) {
		if (is_aftermath(peer, wr_id, is_flushed))
			return;
		cs_ib_break(peer->ib, peer, operations[wr_id & 3], status);
	}
	cs_peer_fail(peer, status);
}

void
cs_peer_post_failed(struct cs_peer *peer, const struct ibv_send_wr *wr, int error)
{
	failed(peer, wr->wr_id, strerror(error), false);
}

bool
cs_peer_post_recv(struct cs_peer *peer, size_t count)
{
	struct ibv_recv_wr *bad;
	return peer->ib->verbs->post_recv(peer->qp, &peer->receives[CS_BATCH - count], &bad) == 0;
}

/* Gives slots back by a message of no bytes. */
static void
pay_credit(struct cs_peer *peer)
{
	/* Nothing may follow the last word: they wait for no more. */
	if (peer->has_parted || peer->state == CS_PEER_FAILED)
		return;
	if (!cs_peer_has_room(peer)) {
		peer->owes_credit = true; /* asked again when there is */
		return;
	}
	struct ibv_send_wr wr;
	wr.wr_id = (uintptr_t)peer | CREDIT_WRITE;
	wr.next = NULL;
	wr.sg_list = NULL;
	wr.num_sge = 0;
	wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	wr.send_flags = 0;
	wr.imm_data = htobe32((uint32_t)CS_WORD_CREDIT << CS_WORD_BITS | (peer->taken & 0xffff));
	wr.wr.rdma.remote_addr = 0; /* of no bytes */
	wr.wr.rdma.rkey = 0;
	peer->told = peer->taken;
	peer->owes_credit = false;
	peer->ib->counters.credits++;
	cs_peer_post(peer, &wr, false, NULL);
}

/* --- progress ---------------------------------------------------------------------------------------------------- */

/* Anything but a slot. */
static __attribute__((noinline)) void
other_arrived(struct cs_peer *peer, uint32_t word)
{
	uint32_t value = word & CS_WORD_MASK;
	switch ((enum cs_word)(word >> CS_WORD_BITS)) {
	case CS_WORD_SLOT:
	case CS_WORD_CREDIT:
		cs_ring_freed(peer, (uint16_t)value);
		break;
	case CS_WORD_DATA:
		cs_large_arrived(peer, value);
		break;
	case CS_WORD_BYE:
		peer->is_parted = true;
		break;
	}
}

static __attribute__((noinline)) void
sent(struct cs_peer *peer)
{
	struct cs_signal *signal = &peer->signals[peer->signals_first++ % CS_SENDS];
	peer->completed = signal->index;
	if (signal->request)
		cs_large_sent(signal->request);
	if (peer->slots.head || peer->writes.head || peer->owes_credit)
		cs_peer_is_busy(peer);
}

/* Slots are looked at no more often than this: if half of them were not taken yet at one look, some are still free at the
 * next, as a batch is half of them at most. */
static __attribute__((noinline)) void
end_batch(struct cs_peer *peer)
{
	peer->until_batch = peer->batch;
	if (!cs_peer_post_recv(peer, peer->batch))
		failed(peer, RECEIVE, "no receive can be posted", false);
	else if (peer->taken - peer->told >= cs_peer_half(peer))
		pay_credit(peer);
}

/* Of a send, or a failure. */
static __attribute__((noinline)) void
complete_other(struct cs_ib *ib, const struct ibv_wc *wc)
{
	struct cs_peer *peer = (struct cs_peer *)(uintptr_t)(wc->wr_id & ~UINT64_C(3));
	if (wc->status != IBV_WC_SUCCESS)
		failed(peer, wc->wr_id, ib->verbs->wc_status_str(wc->status), wc->status == IBV_WC_WR_FLUSH_ERR);
	else
		sent(peer);
}

static inline void
complete(struct cs_ib *ib, const struct ibv_wc *wc)
{
	if ((wc->wr_id & 3) != RECEIVE || wc->status != IBV_WC_SUCCESS) {
		complete_other(ib, wc);
		return;
	}
	struct cs_peer *peer = (struct cs_peer *)(uintptr_t)wc->wr_id;
	uint32_t word = be32toh(wc->imm_data);
	if (__builtin_expect(word >> CS_WORD_BITS == CS_WORD_SLOT, 1))
		cs_ring_arrived(peer);
	else
		other_arrived(peer, word);
	if (--peer->until_batch == 0)
		end_batch(peer);
}

/* Trouble of the whole device. */
_Noreturn static void
end_job(struct cs_ib *ib, const char *what)
{
	cs_warn_local("ib: rank %d: device %s: %s; ending the job", ib->options.world_rank, ib->port.chosen.device, what);
	ib->options.host->abort("verbs failed");
}

static inline __attribute__((always_inline)) bool
poll_all(struct cs_ib *ib)
{
	struct ibv_wc wcs[POLLED];
	bool has_any = false;
	int i = 0;
	do { /* there is one at least: the one tried when the device was opened */
		int count = ib->verbs->poll_cq(ib->cqs[i], POLLED, wcs);
		if (__builtin_expect(count < 0, 0) && !ib->is_closing)
			end_job(ib, "its completion queue is broken");
		if (count <= 0)
			continue;
		has_any = true;
		ib->idle = 0;
		ib->counters.completions += (uint64_t)count;
		for (const struct ibv_wc *wc = wcs; count; wc++, count--)
			complete(ib, wc);
	} while (++i < ib->cq_count);
	return has_any;
}

static __attribute__((noinline)) bool
pump_all(struct cs_ib *ib)
{
	struct cs_peer *list = ib->busy_peers;
	bool has_any = false;
	ib->busy_peers = NULL;
	while (list) {
		struct cs_peer *peer = list;
		list = peer->next_busy;
		peer->is_busy = false;
		if (peer->state != CS_PEER_READY && peer->state != CS_PEER_GREETING)
			continue;
		has_any |= cs_ring_take(peer);
		has_any |= cs_large_pump(peer);
		has_any |= cs_ring_pump(peer);
		if (peer->owes_credit)
			pay_credit(peer);
	}
	return has_any;
}

static __attribute__((noinline)) bool
settle_all(struct cs_ib *ib)
{
	bool has_any = false;
	struct cs_channel **link = &ib->unsettled;
	while (*link) {
		struct cs_channel *channel = *link;
		has_any |= cs_channel_advance(channel);
		if (channel->state == CS_VERBS || channel->state == CS_BY_HOST) {
			/* Others may have been put in front meanwhile. */
			for (link = &ib->unsettled; *link != channel;)
				link = &(*link)->next;
			*link = channel->next;
			cs_channel_release(channel);
			has_any = true;
		} else {
			link = &channel->next;
		}
	}
	return has_any;
}

static bool
is_port_active(const struct cs_ib *ib)
{
	struct ibv_port_attr attributes;
	memset(&attributes, 0, sizeof attributes);
	return ib->verbs->query_port(ib->port.context, (uint8_t)ib->port.chosen.port, &attributes) == 0 &&
	       attributes.state == IBV_PORT_ACTIVE;
}

static bool
is_waiting(const struct cs_ib *ib)
{
	for (int i = 0; i < ib->known_count; i++)
		if (ib->known[i]->state == CS_PEER_READY &&
		    (ib->known[i]->waits || ib->known[i]->posted != ib->known[i]->completed))
			return true;
	return false;
}

/* A port that comes back in time is no trouble: packets are sent again. One that does not fails requests, in time that others
 * take: soft RoCE (Linux 6.1) never gives up what it cannot hand to its own port. */
static void
mind_port(struct cs_ib *ib)
{
	uint64_t patience = (UINT64_C(4096) << ib->options.timeout) * TIME_OUTS_OF_A_PORT;
	if (!ib->port_lost_ns || ib->is_closing || cs_clock_ns() - ib->port_lost_ns < patience || !is_waiting(ib))
		return;
	ib->port_lost_ns = 0;
	if (!is_port_active(ib))
		end_job(ib, "its port is down and does not come back");
}

static void
mind_device(struct cs_ib *ib)
{
	uint64_t now = cs_clock_ns();
	if (ib->is_closing || now - ib->device_seen_ns < NS_PER_LOOK || !is_waiting(ib))
		return;
	ib->device_seen_ns = now;
	if (cs_ib_port_is_removed(&ib->port))
		end_job(ib, "it was removed");
}

static void
mind_flushed(struct cs_ib *ib)
{
	if (!ib->flushed || ib->is_closing || cs_clock_ns() - ib->flushed_ns < (uint64_t)ib->options.flush_grace * 1000000)
		return;
	cs_ib_break(ib, ib->flushed, operations[ib->flushed_wr_id & 3], ib->verbs->wc_status_str(IBV_WC_WR_FLUSH_ERR));
}

static void
take_event(struct cs_ib *ib)
{
	struct ibv_async_event event;
	if (ib->verbs->get_async_event(ib->port.context, &event))
		return;
	const char *what = ib->verbs->event_type_str(event.event_type);
	enum ibv_event_type type = event.event_type;
	ib->verbs->ack_async_event(&event);
	if ((type == IBV_EVENT_DEVICE_FATAL || type == IBV_EVENT_CQ_ERR) && !ib->is_closing)
		end_job(ib, what);
	if (type == IBV_EVENT_PORT_ERR && !ib->port_lost_ns)
		ib->port_lost_ns = cs_clock_ns();
	else if (type == IBV_EVENT_PORT_ACTIVE)
		ib->port_lost_ns = 0;
	cs_info("ib: %s reports: %s", ib->port.chosen.device, what);
}

/* Large sends that nobody gets ready for: their receivers may take them for small ones. */
static void
ask_all(struct cs_ib *ib)
{
	for (uint32_t i = 0; i < ib->channel_count; i++)
		if (ib->channels[i] && ib->channels[i]->waiting.head)
			cs_ring_ask(ib->channels[i]);
}

/* What can wait until there is nothing else to do. */
static __attribute__((noinline)) void
look_around(struct cs_ib *ib)
{
	take_event(ib);
	mind_port(ib);
	mind_device(ib);
	mind_flushed(ib);
	if (ib->idle % TURNS_PER_ASK == 0)
		ask_all(ib);
}

/* What few turns have to do. */
static __attribute__((noinline)) bool
do_more(struct cs_ib *ib)
{
	bool has_any = false;
	for (int i = 0; ib->options.polls_flags && i < ib->known_count; i++)
		has_any |= cs_ring_look(ib->known[i]);
	if (ib->unsettled)
		has_any |= settle_all(ib);
	if (ib->busy_peers)
		has_any |= pump_all(ib);
	if (has_any)
		ib->idle = 0;
	return has_any;
}

bool
cs_ib_turn(struct cs_ib *ib)
{
	bool has_any = poll_all(ib);
	if (__builtin_expect(ib->busy_peers || ib->unsettled || ib->options.polls_flags, 0))
		has_any |= do_more(ib);
	if (!has_any && ++ib->idle % TURNS_PER_EVENT == 0)
		look_around(ib);
	return has_any;
}

void
cs_ib_enter_later(struct cs_ib *ib)
{
	do
		sched_yield();
	while (atomic_flag_test_and_set_explicit(&ib->busy, memory_order_acquire));
}

void
cs_ib_progress(struct cs_ib *ib)
{
	/* Somebody else is at it: that will do. */
	if (atomic_flag_test_and_set_explicit(&ib->busy, memory_order_acquire))
		return;
	cs_ib_turn(ib);
	cs_ib_leave(ib);
}

void
cs_ib_count(struct cs_ib *ib, struct cs_ib_counters *counters)
{
	cs_ib_enter(ib);
	const struct cs_registration_counters *registrations = cs_registrations_counters(ib->registrations);
	*counters = ib->counters;
	counters->registered = registrations->bytes;
	counters->registrations = registrations->made;
	cs_ib_leave(ib);
}
