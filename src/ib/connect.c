/* ib/connect.c — how two processes come to talk by verbs, once for each group that they meet in.
 *
 *   over the host's wire of the group           state of the channel
 *   A <- words ->  B   queue pair, ring, key    ASKED      -> queue pairs connected
 *   A <- joined -> B   "mine is connected"      JOINING    -> each writes a hello to the other
 *   A <- greeted-> B   "yours came, mine went"  GREETING, SETTLING -> verbs, or the host
 *
 * The words of a later group only carry the channels' numbers: the pair has settled already. Both
 * sides see the same words and so settle alike. The hello is the set-up test: a real exchange,
 * checked, before anything depends on it. While one waits for it one listens for the other's last
 * word too: who could not send a hello says so there. */
#include "ib/internal.h"

#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

/* On the host's wire; what else goes there to that rank is started behind them */
#define WORDS_TAG 0
#define PSN_MASK 0xffffff
#define MIN_RNR_TIMER 12 /* 0.64 ms */
#define RETRIES 6 /* seven, which the specification allows, soft RoCE takes for "for ever" */

/* --- a connection ----------------------------------------------------------------------------- */

static bool
to_init(struct cs_peer *peer)
{
	struct ibv_qp_attr attributes =
		{ .qp_state = IBV_QPS_INIT, .port_num = (uint8_t)peer->ib->port.chosen.port,
					  .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	if (peer->ib->port.has_atomics)
		attributes.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
	return peer->ib->verbs->modify_qp(peer->qp, &attributes,
					  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					  IBV_QP_ACCESS_FLAGS) == 0;
}

static bool
post_receives(struct cs_peer *peer)
{
	size_t left = peer->ib->options.slots + CS_SPARE;
	for (int i = 0; i < CS_BATCH; i++)
		/* CS_POSTED_RECEIVE is 0 */
		peer->receives[i] = (struct ibv_recv_wr){ .wr_id = (uintptr_t)peer,
							  .next = i + 1 < CS_BATCH
							  ? &peer->receives[i + 1] : NULL };
	while (left) {
		size_t count = left < CS_BATCH ? left : CS_BATCH;
		if (!cs_peer_post_recv(peer, count))
			return false;
		left -= count;
	}
	return true;
}

/* Devices round the inline bytes up; those that cannot have as many refuse the whole. */
static bool
make_queues(struct cs_peer *peer, uint32_t inline_bytes)
{
	struct cs_ib *ib = peer->ib;
	struct ibv_qp_init_attr attributes = {
		.send_cq = peer->cq,
		.recv_cq = peer->cq,
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = CS_SENDS, .max_recv_wr = (uint32_t)ib->options.slots +
			 CS_SPARE, .max_send_sge = 2, .max_recv_sge = 1,
			 .max_inline_data = inline_bytes },
	};
	peer->qp = ib->verbs->create_qp(ib->pd, &attributes);
	peer->inline_bytes = attributes.cap.max_inline_data;
	return peer->qp != NULL;
}

/* The number of the first packet. Drawn, as who guesses it and the queue pair's could slip in a
 * packet. */
static uint32_t
any_psn(void)
{
	uint32_t psn;
	if (getrandom(&psn, sizeof psn, GRND_NONBLOCK) != sizeof psn) {
		struct timespec now;
		clock_gettime(CLOCK_REALTIME, &now);
		psn = ((uint32_t)now.tv_nsec ^ (uint32_t)now.tv_sec) * 2654435761u >> 8;
	}
	return psn & PSN_MASK;
}

/* A queue pair and its slots; NULL, or what was refused. */
static const char *
make_able(struct cs_peer *peer)
{
	struct cs_ib *ib = peer->ib;
	peer->staged = calloc(ib->options.slots, sizeof *peer->staged);
	if (!peer->staged || !cs_slab_take(ib, peer))
		return "memory for its slots was refused";
	peer->cq = cs_cq_take(ib);
	if (!peer->cq)
		return "a completion queue was refused";
	if (!make_queues(peer, CS_INLINE_WANTED) && !(errno == EINVAL && make_queues(peer, 0)))
		return "a queue pair was refused";
	peer->psn = any_psn();
	if (!to_init(peer) || !post_receives(peer))
		return "its queue pair could not be made ready";
	return NULL;
}

static bool
connect_pair(struct cs_peer *peer)
{
	struct cs_ib *ib = peer->ib;
	const struct cs_ib_candidate *chosen = &ib->port.chosen;
	const struct cs_ib_words *other = &peer->other;
	struct ibv_qp_attr attributes = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = other->mtu < chosen->mtu ? other->mtu : chosen->mtu,
		.dest_qp_num = other->qpn,
		.rq_psn = other->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = MIN_RNR_TIMER,
		.ah_attr = { .port_num = (uint8_t)chosen->port, .dlid = (uint16_t)other->lid },
	};
	/* Between subnets, and always with RoCE, the address is the GID. */
	if (chosen->is_roce || memcmp(other->gid.raw, chosen->gid.raw, 8)) {
		attributes.ah_attr.is_global = 1;
		attributes.ah_attr.grh = (struct ibv_global_route){ .dgid = other->gid,
								    .sgid_index =
							    (uint8_t)chosen->gid_index,
								    .hop_limit = 64 };
	}
	if (ib->verbs->modify_qp(peer->qp, &attributes,
				 IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				 IBV_QP_RQ_PSN |
					 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER))
		return false;
	attributes = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
					   .timeout = (uint8_t)ib->options.timeout,
					   .retry_cnt = RETRIES, .rnr_retry = 7 /* for ever */,
					   .sq_psn = peer->psn,
					   .max_rd_atomic = 1 };
	return ib->verbs->modify_qp(peer->qp, &attributes,
				    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					    IBV_QP_MAX_QP_RD_ATOMIC) == 0;
}

/* --- hello ------------------------------------------------------------------------------------ */

static void
send_hello(struct cs_peer *peer)
{
	unsigned char pattern[CS_HELLO_BYTES];
	for (int i = 0; i < CS_HELLO_BYTES; i++)
		pattern[i] = (unsigned char)(i * 7 + peer->ib->options.world_rank);
	cs_ring_fill(peer, (struct cs_label){ .kind = CS_KIND_HELLO }, NULL, 0, pattern,
		     sizeof pattern);
}

static bool
is_hello(const struct cs_peer *peer, const char *data, size_t bytes)
{
	for (int i = 0; i < CS_HELLO_BYTES && bytes == CS_HELLO_BYTES; i++)
		if ((unsigned char)data[i] != (unsigned char)(i * 7 + peer->world))
			return false;
	return bytes == CS_HELLO_BYTES;
}

static bool
take_hello(struct cs_peer *peer, struct cs_channel *channel, uint64_t message, const char *data,
	   size_t bytes)
{
	(void)channel;
	(void)message;
	if (is_hello(peer, data, bytes))
		peer->is_greeted = true;
	else
		cs_peer_fail(peer, "the first message came damaged");
	return true;
}

const struct cs_kind_ops cs_kind_hello = { .take = take_hello };

/* --- a channel -------------------------------------------------------------------------------- */

static void
listen(struct cs_channel *channel, void *in, size_t bytes)
{
	struct cs_wire *host = channel->wire->host;
	cs_ib_host_recv(host, &channel->words_in, channel->rank, WORDS_TAG, in, bytes);
	channel->is_heard = false;
}

static void
tell(struct cs_channel *channel, const void *out, size_t bytes)
{
	struct cs_wire *host = channel->wire->host;
	cs_ib_host_send(host, &channel->words_out, channel->rank, WORDS_TAG, out, bytes);
	channel->is_told = false;
}

static bool
is_heard(struct cs_channel *channel)
{
	struct cs_wire *host = channel->wire->host;
	channel->is_heard = channel->is_heard || cs_ib_host_test(host, &channel->words_in);
	return channel->is_heard;
}

static bool
is_exchanged(struct cs_channel *channel)
{
	struct cs_wire *host = channel->wire->host;
	channel->is_told = channel->is_told || cs_ib_host_test(host, &channel->words_out);
	return is_heard(channel) && channel->is_told;
}

void
cs_channel_open(struct cs_channel *channel)
{
	struct cs_peer *peer = channel->peer;
	struct cs_ib *ib = peer->ib;
	const struct cs_ib_candidate *chosen = &ib->port.chosen;
	if (peer->state == CS_PEER_NEW) {
		const char *trouble = make_able(peer);
		if (trouble)
			cs_peer_fail(peer, trouble);
		else
			peer->state = CS_PEER_ABLE;
	}
	channel->mine = (struct cs_ib_words){
		.is_able = peer->state != CS_PEER_FAILED,
		.is_joined = peer->is_settled,
		.psn = peer->psn,
		.lid = chosen->lid,
		.mtu = chosen->mtu,
		.gid = chosen->gid,
		.ring = (uintptr_t)peer->ring,
		.key = peer->ring_key,
		.slots = (uint32_t)ib->options.slots,
		.slot_bytes = (uint32_t)ib->options.slot_bytes,
		.channel = channel->number,
	};
	if (peer->qp)
		channel->mine.qpn = peer->qp->qp_num;
	listen(channel, &channel->other, sizeof channel->other);
	tell(channel, &channel->mine, sizeof channel->mine);
	channel->state = CS_ASKED;
	channel->next = ib->unsettled;
	ib->unsettled = channel;
}

static void
say(struct cs_channel *channel, bool is_well, enum cs_channel_state next)
{
	channel->my_word = is_well;
	tell(channel, &channel->my_word, sizeof channel->my_word);
	channel->state = next;
}

static void
by_host(struct cs_channel *channel)
{
	cs_peer_give_up(channel->peer);
	channel->state = CS_BY_HOST;
}

/* In each direction as many slots, and as large ones, as both have. */
static void
agree(struct cs_peer *peer, const struct cs_ib_words *mine, const struct cs_ib_words *other)
{
	peer->other = *other;
	peer->slot_count = mine->slots < other->slots ? mine->slots : other->slots;
	peer->slot_bytes = mine->slot_bytes < other->slot_bytes
			   ? mine->slot_bytes : other->slot_bytes;
	/* Often enough that neither the send queue nor the copies of slots run out unseen. */
	uint32_t half = cs_peer_half(peer);
	peer->batch = peer->until_batch = half < CS_BATCH ? half : CS_BATCH;
	peer->signal_mask = (half < CS_SENDS / 4 ? half : CS_SENDS / 4) - 1;
	cs_ring_open(peer);
}

static void
have_words(struct cs_channel *channel)
{
	struct cs_peer *peer = channel->peer;
	channel->theirs = channel->other.channel;
	if (!channel->mine.is_able || !channel->other.is_able) {
		by_host(channel);
	} else if (channel->mine.is_joined && channel->other.is_joined) {
		channel->state = CS_VERBS;
	} else {
		if (peer->state == CS_PEER_ABLE) {
			agree(peer, &channel->mine, &channel->other);
			if (connect_pair(peer))
				peer->state = CS_PEER_JOINED;
			else
				cs_peer_fail(peer, "the queue pairs could not be connected");
		}
		listen(channel, &channel->other_word, sizeof channel->other_word);
		say(channel, peer->state != CS_PEER_FAILED, CS_JOINING);
	}
}

static void
have_joined(struct cs_channel *channel)
{
	struct cs_peer *peer = channel->peer;
	if (!channel->my_word || !channel->other_word) {
		by_host(channel);
		return;
	}
	if (peer->state == CS_PEER_JOINED) {
		peer->state = CS_PEER_GREETING;
		send_hello(peer);
	}
	listen(channel, &channel->other_word, sizeof channel->other_word);
	channel->state = CS_GREETING;
}

/* Ours has arrived when its request is complete; theirs has come when it is in the slot. */
static void
wait_for_greeting(struct cs_channel *channel)
{
	struct cs_peer *peer = channel->peer;
	if (peer->state == CS_PEER_GREETING && peer->is_greeted && peer->completed == peer->posted)
		peer->state = CS_PEER_READY;
	if (is_heard(channel) && !channel->other_word)
		cs_peer_give_up(peer);
	if (peer->state == CS_PEER_READY || peer->state == CS_PEER_FAILED)
		say(channel, peer->state == CS_PEER_READY, CS_SETTLING);
}

static void
settle(struct cs_channel *channel)
{
	struct cs_peer *peer = channel->peer;
	struct cs_ib *ib = peer->ib;
	if (!channel->my_word || !channel->other_word) {
		by_host(channel);
		return;
	}
	/* The other side sends by verbs from now on. */
	if (peer->state != CS_PEER_READY)
		cs_ib_break(ib, peer, "connecting", "it broke when both had agreed to use it");
	if (!peer->is_settled) {
		ib->counters.connections++;
		cs_info("ib: rank %d and rank %d of MPI_COMM_WORLD are connected",
			ib->options.world_rank, peer->world);
	}
	peer->is_settled = true;
	channel->state = CS_VERBS;
}

bool
cs_channel_advance(struct cs_channel *channel)
{
	enum cs_channel_state before = channel->state;
	if (before == CS_GREETING)
		wait_for_greeting(channel);
	else if (!is_exchanged(channel))
		return false;
	else if (before == CS_ASKED)
		have_words(channel);
	else if (before == CS_JOINING)
		have_joined(channel);
	else
		settle(channel);
	return channel->state != before;
}
