#include "ib/cast.h"

#include "base/log.h"
#include "base/wait.h"
#include "ib/internal.h"
#include "ib/pages.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define REASON_NO_CAST 201 /* of a line; beside connect.c's */
#define RECEIVES (2 * CS_CAST_WINDOW)
#define SENDS 16
#define POLLED 16
#define GRH_BYTES 40
#define ANY_QP 0xffffff
#define HOPS 64
#define TRIALS 8           /* rounds of the trial before it is given up */
#define TRIAL_BROADCAST 0
#define TURNS_PER_TRIAL 4096

struct header {
	uint64_t nonce, total;
	uint32_t broadcast, piece;
};

struct cs_ib_cast {
	struct cs_cast cast;
	struct cs_ib *ib;
	uint64_t nonce;
	union ibv_gid group;
	int membership; /* socket; -1: none */
	bool is_attached, is_broken;
	struct ibv_cq *receive_cq, *send_cq;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	/* Receives, then sends; a slot each. */
	char *memory;
	size_t memory_bytes, slot_bytes;
	struct cs_registration *registration;
	uint64_t posted, completed;
	struct ibv_wc found[POLLED];
	int found_count, found_next;
	/* Received slots of later broadcasts. */
	uint32_t early[RECEIVES];
	int early_count;
	uint32_t early_for; /* the broadcast for which they were looked through */
	int looked_at; /* slot whose datagram the user has; -1: none */
};

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

/* --- datagrams --------------------------------------------------------------------------------------------------- */

/* What is lost is repaired by the user, so a queue pair that has failed loses all from then on. */
static void
break_off(struct cs_ib_cast *cast, const char *what)
{
	if (!cast->is_broken)
		cs_warn_local("ib: rank %d: multicast by %s failed (%s); what it would bring comes over connections",
			      cast->ib->options.world_rank, cast->ib->port.chosen.device, what);
	cast->is_broken = true;
}

static struct header *
header_at(const struct cs_ib_cast *cast, uint32_t slot)
{
	return (struct header *)(void *)(cast->memory + slot * cast->slot_bytes + GRH_BYTES);
}

static bool
post_receive(struct cs_ib_cast *cast, uint32_t slot)
{
	struct ibv_sge where = { .addr = (uintptr_t)(cast->memory + slot * cast->slot_bytes),
				 .length = (uint32_t)(GRH_BYTES + sizeof(struct header) + cast->cast.room),
				 .lkey = cast->registration->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &where, .num_sge = 1 }, *bad;
	return cast->ib->verbs->post_recv(cast->qp, &wr, &bad) == 0;
}

static void
give_back(struct cs_ib_cast *cast, uint32_t slot)
{
	if (!cast->is_broken && !post_receive(cast, slot))
		break_off(cast, "no receive can be posted");
}

static bool
has_room(struct cs_ib_cast *cast)
{
	struct ibv_wc wcs[SENDS];
	if (cast->posted - cast->completed < SENDS)
		return true;
	int found = cast->ib->verbs->poll_cq(cast->send_cq, SENDS, wcs);
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
	uint32_t slot = RECEIVES + (uint32_t)(cast->posted % SENDS);
	struct header *header = header_at(cast, slot);
	size_t bytes = bytes_of(base->room, piece, total);
	*header = (struct header){ .nonce = cast->nonce, .total = total, .broadcast = broadcast, .piece = piece };
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
	const struct header *header = header_at(cast, (uint32_t)wc->wr_id);
	if (wc->byte_len < GRH_BYTES + sizeof *header || header->nonce != cast->nonce)
		return false;
	return wc->byte_len - GRH_BYTES - sizeof *header == bytes_of(cast->cast.room, header->piece, header->total);
}

/* The next slot that something of ours came into; -1: none. */
static int
next_slot(struct cs_ib_cast *cast)
{
	for (;;) {
		if (cast->found_next == cast->found_count) {
			cast->found_next = cast->found_count = 0;
			int found = cast->is_broken ? 0 : cast->ib->verbs->poll_cq(cast->receive_cq, POLLED, cast->found);
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
	const struct header *header = header_at(cast, (uint32_t)cast->looked_at);
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

/* --- opening and closing ------------------------------------------------------------------------------------------ */

/* What rank 0 proposes. */
struct proposal {
	uint64_t nonce;
	uint32_t address, mtu, is_able;
};

/* NULL, or why this process cannot have any. */
static const char *
obstacle(const struct cs_ib_candidate *chosen)
{
	static const unsigned char mapped[12] = { [10] = 0xff, [11] = 0xff };
	if (!chosen->is_roce)
		return "an InfiniBand group is joined at the subnet manager, which is not supported";
	if (chosen->is_v1)
		return "it is RoCE v1";
	if (memcmp(chosen->gid.raw, mapped, sizeof mapped))
		return "its GID is no IPv4 address";
	return NULL;
}

static const char *
open_memory(struct cs_ib_cast *cast)
{
	struct cs_ib *ib = cast->ib;
	cast->slot_bytes = (GRH_BYTES + sizeof(struct header) + cast->cast.room + 63) & ~(size_t)63;
	cast->memory_bytes = cs_ib_pages_round((RECEIVES + SENDS) * cast->slot_bytes);
	cast->memory = cs_ib_pages_get(cast->memory_bytes);
	if (!cast->memory)
		return "no memory";
	cs_ib_enter(ib);
	if (cast->memory_bytes <= ib->options.memory && ib->slab_bytes <= ib->options.memory - cast->memory_bytes)
		cast->registration = cs_registrations_pin(ib->registrations, cast->memory, cast->memory_bytes);
	if (cast->registration)
		ib->slab_bytes += cast->memory_bytes;
	cs_ib_leave(ib);
	return cast->registration ? NULL : "memory for its slots was refused";
}

static const char *
open_queues(struct cs_ib_cast *cast)
{
	struct cs_ib *ib = cast->ib;
	const struct cs_verbs *verbs = ib->verbs;
	cast->receive_cq = verbs->create_cq(ib->port.context, RECEIVES);
	cast->send_cq = verbs->create_cq(ib->port.context, SENDS);
	if (!cast->receive_cq || !cast->send_cq)
		return "a completion queue was refused";
	struct ibv_qp_init_attr attributes = {
		.send_cq = cast->send_cq, .recv_cq = cast->receive_cq, .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = SENDS, .max_recv_wr = RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 },
	};
	cast->qp = verbs->create_qp(ib->pd, &attributes);
	if (!cast->qp)
		return "a queue pair was refused";
	/* A Q_Key with its upper bit set is a privileged one. */
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)ib->port.chosen.port,
				    .qkey = (uint32_t)cast->nonce & INT32_MAX };
	struct ibv_qp_attr receive = { .qp_state = IBV_QPS_RTR }, send = { .qp_state = IBV_QPS_RTS };
	if (verbs->modify_qp(cast->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY))
		return "its queue pair could not be made ready";
	for (uint32_t slot = 0; slot < RECEIVES; slot++)
		if (!post_receive(cast, slot))
			return "no receive can be posted";
	if (verbs->modify_qp(cast->qp, &receive, IBV_QP_STATE) ||
	    verbs->modify_qp(cast->qp, &send, IBV_QP_STATE | IBV_QP_SQ_PSN))
		return "its queue pair could not be made ready";
	return NULL;
}

/* The kernel finds the interface by its address. Nothing is ever received there: the socket has no port. */
static bool
join(struct cs_ib_cast *cast)
{
	struct ip_mreq member;
	memcpy(&member.imr_multiaddr, cast->group.raw + 12, 4);
	memcpy(&member.imr_interface, cast->ib->port.chosen.gid.raw + 12, 4);
	cast->membership = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return cast->membership >= 0 &&
	       !setsockopt(cast->membership, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member);
}

static const char *
open_group(struct cs_ib_cast *cast)
{
	struct cs_ib *ib = cast->ib;
	const struct cs_ib_candidate *chosen = &ib->port.chosen;
	struct ibv_ah_attr address = { .is_global = 1, .port_num = (uint8_t)chosen->port,
				       .grh = { .dgid = cast->group, .sgid_index = (uint8_t)chosen->gid_index,
						.hop_limit = HOPS } };
	if (!join(cast))
		return "its network interface could not join the group";
	if (ib->verbs->attach_mcast(cast->qp, &cast->group, 0))
		return "the device did not attach to the group";
	cast->is_attached = true;
	cast->ah = ib->verbs->create_ah(ib->pd, &address);
	return cast->ah ? NULL : "there is no way to the group";
}

/* NULL, or what was refused (errno). */
static const char *
open_cast(struct cs_ib_cast *cast, const struct proposal *proposal)
{
	uint32_t address = htonl(proposal->address);
	cast->nonce = proposal->nonce;
	cast->cast.room = ((size_t)128 << proposal->mtu) - 64; /* the header, and a round number of bytes */
	cast->group.raw[10] = cast->group.raw[11] = 0xff;
	memcpy(cast->group.raw + 12, &address, sizeof address);
	const char *trouble = open_memory(cast);
	if (!trouble)
		trouble = open_queues(cast);
	return trouble ? trouble : open_group(cast);
}
_Static_assert(sizeof(struct header) <= 64, "open_cast leaves so much");

void
cs_ib_cast_close(struct cs_ib_cast *cast)
{
	if (!cast)
		return;
	struct cs_ib *ib = cast->ib;
	if (cast->is_attached)
		ib->verbs->detach_mcast(cast->qp, &cast->group, 0);
	if (cast->qp)
		ib->verbs->destroy_qp(cast->qp);
	if (cast->ah)
		ib->verbs->destroy_ah(cast->ah);
	if (cast->receive_cq)
		ib->verbs->destroy_cq(cast->receive_cq);
	if (cast->send_cq)
		ib->verbs->destroy_cq(cast->send_cq);
	if (cast->membership >= 0)
		close(cast->membership);
	if (cast->registration) {
		cs_ib_enter(ib);
		cs_registrations_unpin(ib->registrations, cast->registration);
		ib->slab_bytes -= cast->memory_bytes;
		cs_ib_leave(ib);
	}
	cs_ib_pages_put(cast->memory, cast->memory_bytes);
	free(cast);
}

/* --- agreeing ----------------------------------------------------------------------------------------------------- */

static void
say(struct cs_wire *wire, uint64_t tag, int peer, const void *words, size_t bytes)
{
	struct cs_request request;
	wire->send(wire, &request, peer, tag, words, bytes);
	wire->wait(wire, &request);
}

static void
hear(struct cs_wire *wire, uint64_t tag, int peer, void *words, size_t bytes)
{
	struct cs_request request;
	wire->recv(wire, &request, peer, tag, words, bytes);
	wire->wait(wire, &request);
}

/* The least of each of two words over all ranks, at rank 0. Binomial tree, as below. */
static void
least(struct cs_wire *wire, uint64_t tag, uint32_t words[2])
{
	for (int mask = 1; mask < wire->ranks; mask *= 2) {
		uint32_t other[2];
		if (wire->rank & mask) {
			say(wire, tag, wire->rank - mask, words, sizeof other);
			return;
		}
		if (wire->rank + mask >= wire->ranks)
			continue;
		hear(wire, tag, wire->rank + mask, other, sizeof other);
		words[0] = other[0] < words[0] ? other[0] : words[0];
		words[1] = other[1] < words[1] ? other[1] : words[1];
	}
}

/* Rank 0's words to all. */
static void
tell_all(struct cs_wire *wire, uint64_t tag, void *words, size_t bytes)
{
	int mask = 1;
	while (mask < wire->ranks && !(wire->rank & mask))
		mask *= 2;
	if (wire->rank)
		hear(wire, tag, wire->rank - mask, words, bytes);
	for (mask /= 2; mask; mask /= 2)
		if (wire->rank + mask < wire->ranks)
			say(wire, tag, wire->rank + mask, words, bytes);
}

/* Has rank 0's datagram come? It was sent before rank 0 said so by the wire. */
static bool
is_heard(struct cs_ib_cast *cast)
{
	struct cs_cast_piece piece;
	struct cs_wait wait = { .yields = CS_WAIT_AWAKE, .progress = cast->ib->options.host->progress };
	for (; wait.turn < TURNS_PER_TRIAL; cs_wait_turn(&wait))
		if (take_piece(&cast->cast, TRIAL_BROADCAST, &piece))
			return true;
	return false;
}

enum verdict { TRY, READY, GIVE_UP };

/* Rank 0 casts until all have heard it, or TRIALS times; `is_open`: at this rank. All ranks return alike. */
static bool
is_tried_well(struct cs_wire *wire, uint64_t tag, struct cs_ib_cast *cast, bool is_open)
{
	static const char nothing[1] = "";
	uint32_t words[2] = { is_open, wire->ranks == 1 };
	bool has_heard = wire->rank == 0;
	for (int trial = 0;; trial++) {
		least(wire, tag, words);
		uint32_t verdict = !words[0] || trial == TRIALS ? GIVE_UP : words[1] ? READY : TRY;
		for (int i = 0; wire->rank == 0 && verdict == TRY && i < 2; i++)
			send_piece(&cast->cast, TRIAL_BROADCAST, 0, nothing, sizeof nothing);
		tell_all(wire, tag, &verdict, sizeof verdict);
		if (verdict == GIVE_UP && wire->rank == 0 && words[0] && cs_log_is_first(REASON_NO_CAST))
			cs_warn_local("ib: multicast by %s does not reach all %d ranks; their broadcasts go over connections",
				      cast->ib->port.chosen.device, wire->ranks);
		if (verdict != TRY)
			return verdict == READY;
		has_heard = has_heard || is_heard(cast);
		words[0] = is_open;
		words[1] = has_heard;
	}
}

static void
say_why(const struct cs_ib_wire *wire, const char *trouble)
{
	if (cs_log_is_first(REASON_NO_CAST))
		cs_warn_local("ib: rank %d: no multicast by %s for %d ranks: %s; their broadcasts go over connections",
			      wire->ib->options.world_rank, wire->ib->port.chosen.device, wire->wire.ranks, trouble);
}

/* Rank 0's, for all. 239.0.0.0/8 is an organisation's own (RFC 2365). */
static struct proposal
propose(struct cs_wire *wire, uint64_t tag, bool is_able, uint32_t mtu)
{
	uint32_t words[2] = { is_able, mtu };
	struct proposal proposal = { .nonce = 0 };
	least(wire, tag, words);
	if (wire->rank == 0) {
		bool has_random = getrandom(&proposal, sizeof proposal, 0) == (ssize_t)sizeof proposal;
		proposal.address = UINT32_C(239) << 24 | (proposal.address & 0xffffff);
		proposal.is_able = words[0] && has_random;
		proposal.mtu = words[1];
	}
	tell_all(wire, tag, &proposal, sizeof proposal);
	return proposal;
}

static struct cs_ib_cast *
make(struct cs_ib *ib)
{
	struct cs_ib_cast *cast = calloc(1, sizeof *cast);
	if (!cast)
		return NULL;
	cast->cast = (struct cs_cast){ .send = send_piece, .take = take_piece, .resent = resent };
	cast->ib = ib;
	cast->membership = cast->looked_at = -1;
	return cast;
}

struct cs_cast *
cs_ib_cast(struct cs_wire *base, uint64_t tag)
{
	struct cs_ib_wire *wire = (struct cs_ib_wire *)(void *)base;
	const struct cs_ib_candidate *chosen = &wire->ib->port.chosen;
	if (wire->is_cast_tried)
		return wire->cast ? &wire->cast->cast : NULL;
	wire->is_cast_tried = true;
	struct cs_ib_cast *cast = make(wire->ib);
	const char *trouble = cast ? obstacle(chosen) : "no memory";
	struct proposal proposal = propose(base, tag, !trouble, chosen->mtu);
	if (proposal.is_able) {
		trouble = open_cast(cast, &proposal);
		if (is_tried_well(base, tag, cast, !trouble))
			wire->cast = cast;
	}
	if (trouble)
		say_why(wire, trouble);
	if (!wire->cast)
		cs_ib_cast_close(cast);
	return wire->cast ? &cast->cast : NULL;
}
