/* ib/multicast.c — datagrams of a group's multicast: sent, received, told apart. */
#include "ib/multicast_slots.h"

#include "base/log.h"

#include <string.h>

#define ANY_QP 0xffffff

static struct cs_ib_multicast *
multicast_of(struct cs_multicast *multicast)
{
	return (struct cs_ib_multicast *)(void *)multicast;
}

static void
count(struct cs_ib_multicast *multicast, uint64_t *counter, uint64_t more)
{
	cs_ib_enter(multicast->ib);
	*counter += more;
	cs_ib_leave(multicast->ib);
}

/* Stops the multicast after a failure: a failed queue pair loses all from then on, and the caller
 * repairs losses. */
static void
break_off(struct cs_ib_multicast *multicast, const char *what)
{
	if (!multicast->is_broken)
		cs_warn_local("ib: rank %d: multicast by %s failed (%s); what it would bring comes "
			      "over connections", multicast->ib->options.world_rank,
			      multicast->ib->port.chosen.device, what);
	multicast->is_broken = true;
}

static struct cs_multicast_header *
header_at(const struct cs_ib_multicast *multicast, uint32_t slot)
{
	return (struct cs_multicast_header *)(void *)(multicast->memory + slot *
						      multicast->slot_bytes + CS_MULTICAST_GRH);
}

bool
cs_multicast_post_receive(struct cs_ib_multicast *multicast, uint32_t slot)
{
	struct ibv_sge where =
		{ .addr = (uintptr_t)(multicast->memory + slot * multicast->slot_bytes),
				 .length =
					 (uint32_t)(CS_MULTICAST_GRH +
						    sizeof(struct cs_multicast_header) +
						    multicast->multicast.room),
				 .lkey = multicast->registration->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &where, .num_sge = 1 }, *bad;
	return multicast->ib->verbs->post_recv(multicast->qp, &wr, &bad) == 0;
}

static void
give_back(struct cs_ib_multicast *multicast, uint32_t slot)
{
	if (!multicast->is_broken && !cs_multicast_post_receive(multicast, slot))
		break_off(multicast, "no receive can be posted");
}

static bool
has_room(struct cs_ib_multicast *multicast)
{
	struct ibv_wc wcs[CS_MULTICAST_SENDS];
	if (multicast->posted - multicast->completed < CS_MULTICAST_SENDS)
		return true;
	int found = multicast->ib->verbs->poll_cq(multicast->send_cq, CS_MULTICAST_SENDS, wcs);
	for (int i = 0; i < found; i++)
		if (wcs[i].status != IBV_WC_SUCCESS)
			break_off(multicast, multicast->ib->verbs->wc_status_str(wcs[i].status));
	if (found < 0)
		break_off(multicast, "its completion queue is broken");
	else
		multicast->completed += (uint64_t)found;
	return found != 0;
}

static size_t
bytes_of(size_t room, uint32_t piece, uint64_t total)
{
	uint64_t at = (uint64_t)piece * room;
	return at >= total ? 0 : total - at < room ? (size_t)(total - at) : room;
}

static bool
send_piece(struct cs_multicast *base, uint32_t broadcast, uint32_t piece, const char *data,
	   uint64_t total)
{
	struct cs_ib_multicast *multicast = multicast_of(base);
	if (!multicast->is_broken && !has_room(multicast))
		return false;
	if (multicast->is_broken)
		return true;
	uint32_t slot = CS_MULTICAST_RECEIVES + (uint32_t)(multicast->posted % CS_MULTICAST_SENDS);
	struct cs_multicast_header *header = header_at(multicast, slot);
	size_t bytes = bytes_of(base->room, piece, total);
	*header = (struct cs_multicast_header){ .nonce = multicast->nonce, .total = total,
						.broadcast = broadcast, .piece = piece };
	memcpy(header + 1, data + (size_t)piece * base->room, bytes);
	struct ibv_sge where = { .addr = (uintptr_t)header,
				 .length = (uint32_t)(sizeof *header + bytes),
				 .lkey = multicast->registration->lkey };
	struct ibv_send_wr wr = { .wr_id = slot, .sg_list = &where, .num_sge = 1,
				  .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { .ah = multicast->ah, .remote_qpn = ANY_QP,
					     .remote_qkey = (uint32_t)multicast->nonce &
					     INT32_MAX } }, *bad;
	int result = multicast->ib->verbs->post_send(multicast->qp, &wr, &bad);
	if (result)
		break_off(multicast, strerror(result));
	multicast->posted++;
	count(multicast, &multicast->ib->counters.multicast, 1);
	return true;
}

/* Is it a datagram of this group, as long as it says? */
static bool
is_ours(const struct cs_ib_multicast *multicast, const struct ibv_wc *wc)
{
	const struct cs_multicast_header *header = header_at(multicast, (uint32_t)wc->wr_id);
	if (wc->byte_len < CS_MULTICAST_GRH + sizeof *header || header->nonce != multicast->nonce)
		return false;
	return wc->byte_len - CS_MULTICAST_GRH - sizeof *header ==
	       bytes_of(multicast->multicast.room, header->piece, header->total);
}

/* The next slot that something of ours came into; -1: none. */
static int
next_slot(struct cs_ib_multicast *multicast)
{
	for (;;) {
		if (multicast->found_next == multicast->found_count) {
			multicast->found_next = multicast->found_count = 0;
			int found = multicast->is_broken
				    ? 0
				    : multicast->ib->verbs->poll_cq(multicast->receive_cq,
								    CS_MULTICAST_POLLED,
								    multicast->found);
			if (found < 0)
				break_off(multicast, "its completion queue is broken");
			if (found <= 0)
				return -1;
			multicast->found_count = found;
		}
		const struct ibv_wc *wc = &multicast->found[multicast->found_next++];
		if (wc->status != IBV_WC_SUCCESS) {
			break_off(multicast, multicast->ib->verbs->wc_status_str(wc->status));
		} else if (is_ours(multicast, wc)) {
			return (int)wc->wr_id;
		} else {
			count(multicast, &multicast->ib->counters.strange, 1);
			give_back(multicast, (uint32_t)wc->wr_id);
		}
	}
}

/* True if the slot belongs to this broadcast. A slot of an earlier one is given back, of a later
 * one left to the caller. */
static bool
sort(struct cs_ib_multicast *multicast, uint32_t slot, uint32_t broadcast, bool *is_later)
{
	int32_t ahead = (int32_t)(header_at(multicast, slot)->broadcast - broadcast);
	*is_later = ahead > 0;
	if (ahead < 0) {
		count(multicast, &multicast->ib->counters.strange, 1);
		give_back(multicast, slot);
	}
	return ahead == 0;
}

static int
early_slot(struct cs_ib_multicast *multicast, uint32_t broadcast)
{
	bool is_later;
	for (int i = 0; multicast->early_for != broadcast && i < multicast->early_count;) {
		uint32_t slot = multicast->early[i];
		bool is_wanted = sort(multicast, slot, broadcast, &is_later);
		if (is_later) {
			i++;
			continue;
		}
		multicast->early[i] = multicast->early[--multicast->early_count];
		if (is_wanted)
			return (int)slot;
	}
	multicast->early_for = broadcast; /* what is put there from now on is later */
	return -1;
}

static int
wanted_slot(struct cs_ib_multicast *multicast, uint32_t broadcast)
{
	bool is_later;
	int slot = early_slot(multicast, broadcast);
	while (slot < 0) {
		slot = next_slot(multicast);
		if (slot < 0 || sort(multicast, (uint32_t)slot, broadcast, &is_later))
			break;
		if (is_later)
			multicast->early[multicast->early_count++] = (uint32_t)slot;
		slot = -1;
	}
	return slot;
}

static bool
take_piece(struct cs_multicast *base, uint32_t broadcast, struct cs_multicast_piece *piece)
{
	struct cs_ib_multicast *multicast = multicast_of(base);
	if (multicast->looked_at >= 0)
		give_back(multicast, (uint32_t)multicast->looked_at);
	multicast->looked_at = wanted_slot(multicast, broadcast);
	if (multicast->looked_at < 0)
		return false;
	const struct cs_multicast_header *header =
		header_at(multicast, (uint32_t)multicast->looked_at);
	*piece = (struct cs_multicast_piece){ .piece = header->piece, .total = header->total,
					      .data = (const char *)(header + 1),
					      .bytes = bytes_of(base->room, header->piece,
								header->total) };
	count(multicast, &multicast->ib->counters.heard, 1);
	return true;
}

static void
resent(struct cs_multicast *base, uint32_t pieces)
{
	count(multicast_of(base), &multicast_of(base)->ib->counters.resent, pieces);
}

void
cs_multicast_init(struct cs_ib_multicast *multicast)
{
	multicast->multicast = (struct cs_multicast){ .send = send_piece, .take = take_piece,
						      .resent = resent };
}
