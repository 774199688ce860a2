/* ib/peer.c — what is posted to another process, and what becomes of the pair when that fails. */
#include "ib/internal.h"

#include "base/clock.h"
#include "base/log.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON 200 /* of a line; beside comm's */

static const char *const operations[] = {
	[CS_POSTED_RECEIVE] = "receiving",
	[CS_POSTED_SLOT] = "writing a message",
	[CS_POSTED_DATA] = "writing data",
	[CS_POSTED_CREDIT] = "giving slots back",
	[CS_POSTED_COUNT] = "counting a message",
};

void
cs_peer_close(struct cs_peer *peer)
{
	if (peer->qp)
		peer->ib->verbs->destroy_qp(peer->qp);
	peer->qp = NULL;
	free(peer->staged);
	peer->staged = NULL;
}

/* --- failures --------------------------------------------------------------------------------- */

void
cs_ib_no_memory(struct cs_ib *ib)
{
	cs_warn_local("ib: out of memory; ending the job");
	ib->options.host->abort("out of memory");
}

void
cs_ib_break(struct cs_ib *ib, const struct cs_peer *peer, const char *operation, const char *status)
{
	cs_warn_local("ib: rank %d: %s to rank %d of MPI_COMM_WORLD by %s failed: %s; ending the "
		      "job", ib->options.world_rank, operation, peer->world, ib->port.chosen.device,
		      status);
	ib->options.host->abort("verbs failed");
}

/* The process that refuses says why. */
void
cs_peer_give_up(struct cs_peer *peer)
{
	if (peer->state != CS_PEER_FAILED && !peer->is_settled)
		peer->ib->counters.refused++;
	peer->state = CS_PEER_FAILED;
}

static void
complain(struct cs_peer *peer, const char *what)
{
	static _Atomic int is_said;
	struct cs_ib *ib = peer->ib;
	char text[sizeof ib->trouble];
	snprintf(text, sizeof text, "no connection to rank %d of MPI_COMM_WORLD by %s: %s",
		 peer->world, ib->port.chosen.device, what);
	if (ib->is_trying && !ib->trouble[0])
		memcpy(ib->trouble, text, sizeof text);
	else if (ib->is_trying)
		return;
	else if (!atomic_load(&is_said) && cs_log_is_first(REASON))
		cs_log_warn_local(&is_said, "ib: rank %d: %s; their messages go over MPI",
				  ib->options.world_rank, text);
}

void
cs_peer_fail(struct cs_peer *peer, const char *what)
{
	if (peer->state == CS_PEER_FAILED)
		return;
	if (!peer->ib->is_closing)
		complain(peer, what);
	cs_peer_give_up(peer);
}

void
cs_ib_trial_begin(struct cs_ib *ib)
{
	cs_ib_enter(ib);
	ib->is_trying = true;
	ib->trouble[0] = '\0';
	cs_ib_leave(ib);
}

bool
cs_ib_trial_end(struct cs_ib *ib, char *text, size_t room)
{
	cs_ib_enter(ib); /* another thread may begin a trial of its own */
	ib->is_trying = false;
	snprintf(text, room, "%s", ib->trouble);
	cs_ib_leave(ib);
	return text[0];
}

/* A connection that ended by what the peer did: its own requests fail with the cause, ours are only
 * flushed. Later failures of this connection say no more. */
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

/* Until the pair has settled both still have another way, and at the end there is nothing left to
 * lose. */
void
cs_peer_broke(struct cs_peer *peer, uint64_t wr_id, const char *status, bool is_flushed)
{
	if (peer->is_settled && !peer->ib->is_closing && peer->state != CS_PEER_FAILED) {
		if (is_aftermath(peer, wr_id, is_flushed))
			return;
		cs_ib_break(peer->ib, peer, operations[wr_id % CS_POSTED_KINDS], status);
	}
	cs_peer_fail(peer, status);
}

void
cs_peer_end_flushed(struct cs_ib *ib)
{
	cs_ib_break(ib, ib->flushed, operations[ib->flushed_wr_id % CS_POSTED_KINDS],
		    ib->verbs->wc_status_str(IBV_WC_WR_FLUSH_ERR));
}

/* --- posting ---------------------------------------------------------------------------------- */

void
cs_peer_post_failed(struct cs_peer *peer, const struct ibv_send_wr *wr, int error)
{
	cs_peer_broke(peer, wr->wr_id, strerror(error), false);
}

bool
cs_peer_post_recv(struct cs_peer *peer, size_t count)
{
	struct ibv_recv_wr *bad;
	return peer->ib->verbs->post_recv(peer->qp, &peer->receives[CS_BATCH - count], &bad) == 0;
}

/* Gives slots back by a message of no bytes. */
void
cs_peer_pay_credit(struct cs_peer *peer)
{
	/* Nothing may follow the last word: they wait for no more. */
	if (peer->has_parted || peer->state == CS_PEER_FAILED)
		return;
	if (!cs_peer_has_room(peer)) {
		peer->owes_credit = true; /* asked again when there is */
		return;
	}
	struct ibv_send_wr wr;
	wr.wr_id = (uintptr_t)peer | CS_POSTED_CREDIT;
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

void
cs_peer_count(struct cs_peer *peer, const struct cs_counter *counter, struct cs_message *request)
{
	struct cs_ib *ib = peer->ib;
	const struct cs_rma_growth *growth = &counter->growth;
	bool is_written = ib->options.polls_flags && peer->inline_bytes >= sizeof growth->to;
	struct ibv_sge part = {
		.addr = is_written ? (uintptr_t)&growth->to : (uintptr_t)ib->counted,
		.length = sizeof growth->to,
		.lkey = is_written ? 0 : ib->counted_registration->lkey,
	};
	struct ibv_send_wr wr = { .wr_id = (uintptr_t)peer | CS_POSTED_COUNT, .sg_list = &part,
				  .num_sge = 1 };
	if (is_written) {
		wr.opcode = IBV_WR_RDMA_WRITE;
		wr.send_flags = IBV_SEND_INLINE;
		wr.wr.rdma.remote_addr = counter->address;
		wr.wr.rdma.rkey = counter->key;
	} else {
		wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
		wr.wr.atomic.remote_addr = counter->address;
		wr.wr.atomic.compare_add = growth->by;
		wr.wr.atomic.rkey = counter->key;
	}
	ib->counters.counts++;
	cs_peer_post(peer, &wr, request != NULL, request);
}
