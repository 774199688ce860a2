/* ib/cast.c — datagrams of a group's multicast: sent, received, told apart. */
#include "ib/cast_slots.h"

#include "base/log.h"

#include <string.h>

#define ANY_QP 0xffffff

static struct cs_ib_cast *
cast_of(struct cs_cast *cast)
{
	return (struct cs_ib_cast *)(void *)cast;
}

static void
count(struct cs_ib_cast *cast, uint64_t *counter, uint64_t more)
{
	cs_ib_enter(cast->ib);
	*counter += more;
	cs_ib_leave(cast->ib);
}

/* What is lost is repaired by the user, so a queue pair that has failed loses all from then on. */
static void
break_off(struct cs_ib_cast *cast, const char *what)
{
	if (!cast->is_broken)
		cs_warn_local("ib: rank %d: multicast by %s failed (%s); what it would bring comes over connections",
			      cast->ib->options.world_rank, cast->ib->port.chosen.device, what);
	cast->is_broken = true;
}

static struct cs_cast_header *
header_at(const struct cs_ib_cast *cast, uint32_t slot)
{
	return (struct cs_cast_header *)(void *)(cast->memory + slot * cast->slot_bytes + CS_CAST_GRH);
}

bool
cs_cast_post_receive(struct cs_ib_cast *cast, uint32_t slot)
{
	struct ibv_sge where = { .addr = (uintptr_t)(cast->memory + slot * cast->slot_bytes),
				 .length = (uint32_t)(CS_CAST_GRH + sizeof(struct cs_cast_header) + cast->cast.room),
				 .lkey = cast->registration->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &where, .num_sge = 1 }, *bad;
	return cast->ib->verbs->post_recv(cast->qp, &wr, &bad) == 0;
}

static void
give_back(struct cs_ib_cast *cast, uint32_t slot)
{
	if (!cast->is_broken && !cs_cast_post_receive(cast, slot))
		break_off(cast, "no receive can be posted");
}

static bool
has_room(struct cs_ib_cast *cast)
{
	struct ibv_wc wcs[CS_CAST_SENDS];
	if (cast->posted - cast->completed < CS_CAST_SENDS)
		return true;
	int found = cast->ib->verbs->poll_cq(cast->send_cq, CS_CAST_SENDS, wcs);
	for (int i = 0; i < found; i++)
		if (wcs[i].status != IBV_WC_SUCCESS)
			break_off(cast, cast->ib->verbs->wc_status_str(wcs[i].status));
	if (found < 0)
		break_off(cast, "its completion queue is broken");
	else
		cast->completed += (uint64_t)found;
	return found != 0;
}

static size_t
bytes_of(size_t room, uint32_t piece, uint64_t total)
{
	uint64_t at = (uint64_t)piece * room;
	return at >= total ? 0 : total - at < room ? (size_t)(total - at) : room;
}

static bool
send_piece(struct cs_cast *base, uint32_t broadcast, uint32_t piece, const char *data, uint64_t total)
{
	struct cs_ib_cast *cast = cast_of(base);
	if (!cast->is_broken && !has_room(cast))
		return false;
	if (cast->is_broken)
		return true;
	uint32_t slot = CS_CAST_RECEIVES + (uint32_t)(cast->posted % CS_CAST_SENDS);
	struct cs_cast_header *header = header_at(cast, slot);
	size_t bytes = bytes_of(base->room, piece, total);
	*header = (struct cs_cast_header){ .nonce = cast->nonce, .total = total, .broadcast = broadcast, .piece = piece };
	memcpy(header + 1, data + (size_t)piece * base->room, bytes);
	struct ibv_sge where = { .addr = (uintptr_t)header, .length = (uint32_t)(sizeof *header + bytes),
				 .lkey = cast->registration->lkey };
	struct ibv_send_wr wr = { .wr_id = slot, .sg_list = &where, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { .ah = cast->ah, .remote_qpn = ANY_QP,
					     .remote_qkey = (uint32_t)cast->nonce & INT32_MAX } }, *bad;
	int result = cast->ib->verbs->post_send(cast->qp, &wr, &bad);
	if (result)
		break_off(cast, strerror(result));
	cast->posted++;
	count(cast, &cast->ib->counters.cast, 1);
	return true;
}

/* Is it a datagram of this group, as long as it says? */
static bool
is_ours(const struct cs_ib_cast *cast, const struct ibv_wc *wc)
{
	const struct cs_cast_header *header = header_at(cast, (uint32_t)wc->wr_id);
	if (wc->byte_len < CS_CAST_GRH + sizeof *header || header->nonce != cast->nonce)
		return false;
	return wc->byte_len - CS_CAST_GRH - sizeof *header == bytes_of(cast->cast.room, header->piece, header->total);
}

/* The next slot that something of ours came into; -1: none. */
static int
next_slot(struct cs_ib_cast *cast)
{
	for (;;) {
		if (cast->found_next == cast->found_count) {
			cast->found_next = cast->found_count = 0;
			int found = cast->is_broken ? 0 : cast->ib->verbs->poll_cq(cast->receive_cq, CS_CAST_POLLED, cast->found);
			if (found < 0)
				break_off(cast, "its completion queue is broken");
			if (found <= 0)
				return -1;
			cast->found_count = found;
		}
		const struct ibv_wc *wc = &cast->found[cast->found_next++];
		if (wc->status != IBV_WC_SUCCESS) {
			break_off(cast, cast->ib->verbs->wc_status_str(wc->status));
		} else if (is_ours(cast, wc)) {
			return (int)wc->wr_id;
		} else {
			count(cast, &cast->ib->counters.strange, 1);
			give_back(cast, (uint32_t)wc->wr_id);
		}
	}
}

/* Of this broadcast: true. Of an earlier one: given back. Of a later one: left to the caller. */
static bool
sort(struct cs_ib_cast *cast, uint32_t slot, uint32_t broadcast, bool *is_later)
{
	int32_t ahead = (int32_t)(header_at(cast, slot)->broadcast - broadcast);
	*is_later = ahead > 0;
	if (ahead < 0) {
		count(cast, &cast->ib->counters.strange, 1);
		give_back(cast, slot);
	}
	return ahead == 0;
}

static int
early_slot(struct cs_ib_cast *cast, uint32_t broadcast)
{
	bool is_later;
	for (int i = 0; cast->early_for != broadcast && i < cast->early_count;) {
		uint32_t slot = cast->early[i];
		bool is_wanted = sort(cast, slot, broadcast, &is_later);
		if (is_later) {
			i++;
			continue;
		}
		cast->early[i] = cast->early[--cast->early_count];
		if (is_wanted)
			return (int)slot;
	}
	cast->early_for = broadcast; /* what is put there from now on is later */
	return -1;
}

static int
wanted_slot(struct cs_ib_cast *cast, uint32_t broadcast)
{
	bool is_later;
	int slot = early_slot(cast, broadcast);
	while (slot < 0) {
		slot = next_slot(cast);
		if (slot < 0 || sort(cast, (uint32_t)slot, broadcast, &is_later))
			break;
		if (is_later)
			cast->early[cast->early_count++] = (uint32_t)slot;
		slot = -1;
	}
	return slot;
}

static bool
take_piece(struct cs_cast *base, uint32_t broadcast, struct cs_cast_piece *piece)
{
	struct cs_ib_cast *cast = cast_of(base);
	if (cast->looked_at >= 0)
		give_back(cast, (uint32_t)cast->looked_at);
	cast->looked_at = wanted_slot(cast, broadcast);
	if (cast->looked_at < 0)
		return false;
	const struct cs_cast_header *header = header_at(cast, (uint32_t)cast->looked_at);
	*piece = (struct cs_cast_piece){ .piece = header->piece, .total = header->total, .data = (const char *)(header + 1),
					 .bytes = bytes_of(base->room, header->piece, header->total) };
	count(cast, &cast->ib->counters.heard, 1);
	return true;
}

static void
resent(struct cs_cast *base, uint32_t pieces)
{
	count(cast_of(base), &cast_of(base)->ib->counters.resent, pieces);
}

void
cs_cast_init(struct cs_ib_cast *cast)
{
	cast->cast = (struct cs_cast){ .send = send_piece, .take = take_piece, .resent = resent };
}
