/* ib/multicast_open.c — how a group comes to have a multicast, or not: all ranks open, rank 0
 * multicasts, and all tell whether it came. */
#include "ib/multicast_slots.h"

#include "base/log.h"
#include "base/wait.h"
#include "ib/pages.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define REASON_NO_MULTICAST 201 /* of a line; beside peer.c's */
#define HOPS 64
#define TRIALS 8 /* rounds of the trial before it is given up */
#define TRIAL_BROADCAST 0
#define TURNS_PER_TRIAL 4096

/* --- opening and closing ---------------------------------------------------------------------- */

/* Proposal of rank 0. */
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
		return "an InfiniBand group is joined at the subnet manager, which is not "
		       "supported";
	if (chosen->is_v1)
		return "it is RoCE v1";
	if (memcmp(chosen->gid.raw, mapped, sizeof mapped))
		return "its GID is no IPv4 address";
	return NULL;
}

static const char *
open_memory(struct cs_ib_multicast *multicast)
{
	struct cs_ib *ib = multicast->ib;
	multicast->slot_bytes = (CS_MULTICAST_GRH + sizeof(struct cs_multicast_header) +
				 multicast->multicast.room + 63) & ~(size_t)63;
	multicast->memory_bytes = cs_ib_pages_round((CS_MULTICAST_RECEIVES + CS_MULTICAST_SENDS) *
						    multicast->slot_bytes);
	multicast->memory = cs_ib_pages_get(multicast->memory_bytes);
	if (!multicast->memory)
		return "no memory";
	cs_ib_enter(ib);
	if (multicast->memory_bytes <= ib->options.memory &&
	    ib->slab_bytes <= ib->options.memory - multicast->memory_bytes)
		multicast->registration = cs_registrations_pin(ib->registrations, multicast->memory,
							       multicast->memory_bytes);
	if (multicast->registration)
		ib->slab_bytes += multicast->memory_bytes;
	cs_ib_leave(ib);
	return multicast->registration ? NULL : "memory for its slots was refused";
}

static const char *
open_queues(struct cs_ib_multicast *multicast)
{
	struct cs_ib *ib = multicast->ib;
	const struct cs_verbs *verbs = ib->verbs;
	multicast->receive_cq = verbs->create_cq(ib->port.context, CS_MULTICAST_RECEIVES);
	multicast->send_cq = verbs->create_cq(ib->port.context, CS_MULTICAST_SENDS);
	if (!multicast->receive_cq || !multicast->send_cq)
		return "a completion queue was refused";
	struct ibv_qp_init_attr attributes = {
		.send_cq = multicast->send_cq, .recv_cq = multicast->receive_cq,
			.qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = CS_MULTICAST_SENDS, .max_recv_wr = CS_MULTICAST_RECEIVES,
			 .max_send_sge = 1, .max_recv_sge = 1 },
	};
	multicast->qp = verbs->create_qp(ib->pd, &attributes);
	if (!multicast->qp)
		return "a queue pair was refused";
	/* A Q_Key with its upper bit set is a privileged one. */
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT,
				    .port_num = (uint8_t)ib->port.chosen.port,
				    .qkey = (uint32_t)multicast->nonce & INT32_MAX };
	struct ibv_qp_attr receive = { .qp_state = IBV_QPS_RTR },
			   send = { .qp_state = IBV_QPS_RTS };
	if (verbs->modify_qp(multicast->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_QKEY))
		return "its queue pair could not be made ready";
	for (uint32_t slot = 0; slot < CS_MULTICAST_RECEIVES; slot++)
		if (!cs_multicast_post_receive(multicast, slot))
			return "no receive can be posted";
	if (verbs->modify_qp(multicast->qp, &receive, IBV_QP_STATE) ||
	    verbs->modify_qp(multicast->qp, &send, IBV_QP_STATE | IBV_QP_SQ_PSN))
		return "its queue pair could not be made ready";
	return NULL;
}

/* The kernel finds the interface by its address. Nothing is ever received there: the socket has no
 * port. */
static bool
join(struct cs_ib_multicast *multicast)
{
	struct ip_mreq member;
	memcpy(&member.imr_multiaddr, multicast->group.raw + 12, 4);
	memcpy(&member.imr_interface, multicast->ib->port.chosen.gid.raw + 12, 4);
	multicast->membership = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	return multicast->membership >= 0 &&
	       !setsockopt(multicast->membership, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member,
			   sizeof member);
}

static const char *
open_group(struct cs_ib_multicast *multicast)
{
	struct cs_ib *ib = multicast->ib;
	const struct cs_ib_candidate *chosen = &ib->port.chosen;
	struct ibv_ah_attr address = { .is_global = 1, .port_num = (uint8_t)chosen->port,
				       .grh = { .dgid = multicast->group,
						.sgid_index = (uint8_t)chosen->gid_index,
						.hop_limit = HOPS } };
	if (!join(multicast))
		return "its network interface could not join the group";
	if (ib->verbs->attach_mcast(multicast->qp, &multicast->group, 0))
		return "the device did not attach to the group";
	multicast->is_attached = true;
	multicast->ah = ib->verbs->create_ah(ib->pd, &address);
	return multicast->ah ? NULL : "there is no way to the group";
}

/* NULL, or what was refused (errno). */
static const char *
open_multicast(struct cs_ib_multicast *multicast, const struct proposal *proposal)
{
	uint32_t address = htonl(proposal->address);
	multicast->nonce = proposal->nonce;
	/* The header, and a round number of bytes */
	multicast->multicast.room = ((size_t)128 << proposal->mtu) - 64;
	multicast->group.raw[10] = multicast->group.raw[11] = 0xff;
	memcpy(multicast->group.raw + 12, &address, sizeof address);
	const char *trouble = open_memory(multicast);
	if (!trouble)
		trouble = open_queues(multicast);
	return trouble ? trouble : open_group(multicast);
}
_Static_assert(sizeof(struct cs_multicast_header) <= 64, "open_cast leaves so much");

void
cs_ib_multicast_close(struct cs_ib_multicast *multicast)
{
	if (!multicast)
		return;
	struct cs_ib *ib = multicast->ib;
	if (multicast->is_attached)
		ib->verbs->detach_mcast(multicast->qp, &multicast->group, 0);
	if (multicast->qp)
		ib->verbs->destroy_qp(multicast->qp);
	if (multicast->ah)
		ib->verbs->destroy_ah(multicast->ah);
	if (multicast->receive_cq)
		ib->verbs->destroy_cq(multicast->receive_cq);
	if (multicast->send_cq)
		ib->verbs->destroy_cq(multicast->send_cq);
	if (multicast->membership >= 0)
		close(multicast->membership);
	if (multicast->registration) {
		cs_ib_enter(ib);
		cs_registrations_unpin(ib->registrations, multicast->registration);
		ib->slab_bytes -= multicast->memory_bytes;
		cs_ib_leave(ib);
	}
	cs_ib_pages_put(multicast->memory, multicast->memory_bytes);
	free(multicast);
}

/* --- agreeing --------------------------------------------------------------------------------- */

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
is_heard(struct cs_ib_multicast *multicast)
{
	struct cs_multicast_piece piece;
	struct cs_wait wait = { .yields = CS_WAIT_AWAKE,
				.progress = multicast->ib->options.host->progress };
	for (; wait.turn < TURNS_PER_TRIAL; cs_wait_turn(&wait))
		if (multicast->multicast.take(&multicast->multicast, TRIAL_BROADCAST, &piece))
			return true;
	return false;
}

enum verdict { TRY, READY, GIVE_UP };

/* Rank 0 multicasts until all have heard it, or TRIALS times; `is_open`: at this rank. All ranks
 * return alike. */
static bool
is_tried_well(struct cs_wire *wire, uint64_t tag, struct cs_ib_multicast *multicast, bool is_open)
{
	static const char nothing[1] = "";
	uint32_t words[2] = { is_open, wire->ranks == 1 };
	bool has_heard = wire->rank == 0;
	for (int trial = 0;; trial++) {
		least(wire, tag, words);
		uint32_t verdict = !words[0] || trial == TRIALS ? GIVE_UP : words[1] ? READY : TRY;
		for (int i = 0; wire->rank == 0 && verdict == TRY && i < 2; i++)
			multicast->multicast.send(&multicast->multicast, TRIAL_BROADCAST, 0,
						  nothing, sizeof nothing);
		tell_all(wire, tag, &verdict, sizeof verdict);
		if (verdict == GIVE_UP && wire->rank == 0 && words[0] &&
		    cs_log_is_first(REASON_NO_MULTICAST))
			cs_warn_local("ib: multicast by %s does not reach all %d ranks; their "
				      "broadcasts go over connections",
				      multicast->ib->port.chosen.device, wire->ranks);
		if (verdict != TRY)
			return verdict == READY;
		has_heard = has_heard || is_heard(multicast);
		words[0] = is_open;
		words[1] = has_heard;
	}
}

static void
say_why(const struct cs_ib_wire *wire, const char *trouble)
{
	if (cs_log_is_first(REASON_NO_MULTICAST))
		cs_warn_local("ib: rank %d: no multicast by %s for %d ranks: %s; their broadcasts "
			      "go over connections", wire->ib->options.world_rank,
			      wire->ib->port.chosen.device, wire->wire.ranks, trouble);
}

/* Rank 0's, for all. 239.0.0.0/8 is an organisation's own (RFC 2365). */
static struct proposal
propose(struct cs_wire *wire, uint64_t tag, bool is_able, uint32_t mtu)
{
	uint32_t words[2] = { is_able, mtu };
	struct proposal proposal = { .nonce = 0 };
	least(wire, tag, words);
	if (wire->rank == 0) {
		bool has_random = getrandom(&proposal, sizeof proposal, 0) ==
				  (ssize_t)sizeof proposal;
		proposal.address = UINT32_C(239) << 24 | (proposal.address & 0xffffff);
		proposal.is_able = words[0] && has_random;
		proposal.mtu = words[1];
	}
	tell_all(wire, tag, &proposal, sizeof proposal);
	return proposal;
}

static struct cs_ib_multicast *
make(struct cs_ib *ib)
{
	struct cs_ib_multicast *multicast = calloc(1, sizeof *multicast);
	if (!multicast)
		return NULL;
	cs_multicast_init(multicast);
	multicast->ib = ib;
	multicast->membership = multicast->looked_at = -1;
	return multicast;
}

struct cs_multicast *
cs_ib_multicast(struct cs_wire *base, uint64_t tag)
{
	struct cs_ib_wire *wire = (struct cs_ib_wire *)(void *)base;
	const struct cs_ib_candidate *chosen = &wire->ib->port.chosen;
	if (wire->is_multicast_tried)
		return wire->multicast ? &wire->multicast->multicast : NULL;
	wire->is_multicast_tried = true;
	struct cs_ib_multicast *multicast = make(wire->ib);
	const char *trouble = multicast ? obstacle(chosen) : "no memory";
	struct proposal proposal = propose(base, tag, !trouble, chosen->mtu);
	if (proposal.is_able) {
		trouble = open_multicast(multicast, &proposal);
		if (is_tried_well(base, tag, multicast, !trouble))
			wire->multicast = multicast;
	}
	if (trouble)
		say_why(wire, trouble);
	if (!wire->multicast)
		cs_ib_multicast_close(multicast);
	return wire->multicast ? &multicast->multicast : NULL;
}
