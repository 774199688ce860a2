/* ib/progress.c — what arrives and completes, and what is to be looked after meanwhile. */
#include "ib/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <endian.h>
#include <sched.h>
#include <string.h>

#define POLLED 16
#define TURNS_PER_EVENT 256
#define TURNS_PER_ASK (1 << 14) /* a multiple of that */
#define NS_PER_LOOK 100000000 /* whether the device is still there */
#define TIME_OUTS_OF_A_PORT 16

/* --- completions ------------------------------------------------------------------------------ */

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

/* Slots are looked at no more often than this: if half of them were not taken yet at one look, some
 * are still free at the next, as a batch is half of them at most. */
static __attribute__((noinline)) void
end_batch(struct cs_peer *peer)
{
	peer->until_batch = peer->batch;
	if (!cs_peer_post_recv(peer, peer->batch))
		cs_peer_broke(peer, CS_POSTED_RECEIVE, "no receive can be posted", false);
	else if (peer->taken - peer->told >= cs_peer_half(peer))
		cs_peer_pay_credit(peer);
}

/* Completion of a send, or a failure. */
static __attribute__((noinline)) void
complete_other(struct cs_ib *ib, const struct ibv_wc *wc)
{
	struct cs_peer *peer =
		(struct cs_peer *)(uintptr_t)(wc->wr_id - wc->wr_id % CS_POSTED_KINDS);
	if (wc->status != IBV_WC_SUCCESS)
		cs_peer_broke(peer, wc->wr_id, ib->verbs->wc_status_str(wc->status),
			      wc->status == IBV_WC_WR_FLUSH_ERR);
	else
		sent(peer);
}

static inline void
complete(struct cs_ib *ib, const struct ibv_wc *wc)
{
	if (wc->wr_id % CS_POSTED_KINDS != CS_POSTED_RECEIVE || wc->status != IBV_WC_SUCCESS) {
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
	cs_warn_local("ib: rank %d: device %s: %s; ending the job", ib->options.world_rank,
		      ib->port.chosen.device, what);
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

/* --- what is to be done ----------------------------------------------------------------------- */

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
			cs_peer_pay_credit(peer);
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

/* --- what can break --------------------------------------------------------------------------- */

static bool
is_port_active(const struct cs_ib *ib)
{
	struct ibv_port_attr attributes;
	memset(&attributes, 0, sizeof attributes);
	return ib->verbs->query_port(ib->port.context, (uint8_t)ib->port.chosen.port,
				     &attributes) == 0 &&
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

/* A port that comes back in time is no trouble: packets are sent again. One that does not fails
 * requests, in time that others take: soft RoCE (Linux 6.1) never gives up what it cannot hand to
 * its own port. */
static void
mind_port(struct cs_ib *ib)
{
	uint64_t patience = (UINT64_C(4096) << ib->options.timeout) * TIME_OUTS_OF_A_PORT;
	if (!ib->port_lost_ns || ib->is_closing || cs_clock_ns() - ib->port_lost_ns < patience ||
	    !is_waiting(ib))
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
	if (!ib->flushed || ib->is_closing ||
	    cs_clock_ns() - ib->flushed_ns < (uint64_t)ib->options.flush_grace * 1000000)
		return;
	cs_peer_end_flushed(ib);
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

/* --- a turn ----------------------------------------------------------------------------------- */

/* Large sends that nobody gets ready for: their receivers may take them for small ones. */
static void
ask_all(struct cs_ib *ib)
{
	for (uint32_t i = 0; i < ib->channel_count; i++)
		if (ib->channels[i] && ib->channels[i]->waiting.head)
			cs_large_ask(ib->channels[i]);
}

/* Work that can wait until there is nothing else to do. */
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

static _Thread_local bool leaves_host;

void
cs_ib_leave_host(void)
{
	leaves_host = true;
}

static _Thread_local bool is_held;

bool
cs_ib_is_held(void)
{
	return is_held;
}

void
cs_ib_host_send(struct cs_wire *host, struct cs_request *request, int peer, uint64_t tag,
		const void *from, size_t bytes)
{
	is_held = true;
	host->send(host, request, peer, tag, from, bytes);
	is_held = false;
}

void
cs_ib_host_recv(struct cs_wire *host, struct cs_request *request, int peer, uint64_t tag, void *to,
		size_t bytes)
{
	is_held = true;
	host->recv(host, request, peer, tag, to, bytes);
	is_held = false;
}

bool
cs_ib_host_test(struct cs_wire *host, struct cs_request *request)
{
	is_held = true;
	bool is_over = host->test(host, request);
	is_held = false;
	return is_over;
}

/* Rare work of a turn. */
static __attribute__((noinline)) bool
do_more(struct cs_ib *ib)
{
	bool has_any = false;
	for (int i = 0; ib->options.polls_flags && i < ib->known_count; i++)
		has_any |= cs_ring_look(ib->known[i]);
	if (ib->unsettled && !leaves_host)
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
