/* tests/verbs/probe.c — do reliable connections work between all nodes? With no library of ours in
 * the way.
 *
 *   probe NODES
 *
 * Every leader has a queue pair to each other leader. In each round all of them write to all others
 * at once, and check every byte that came, that nothing was written behind it, and what the
 * completions say:
 *   write       the data, then a flag by a second write of the same queue pair
 *   immediate   the data with an immediate value, whose completion is the signal
 *   inline      as write, and the source is overwritten as soon as the call is back
 * Sizes lie around the MTU, where a message falls apart into packets.
 *
 *   memory of a leader: | a flag from each, 64 bytes apart | an inbox from each | an outbox to
 *   each | */
#include "device.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { BIGGEST = 1 << 16, BOX = BIGGEST + 64, FLAG = 64, INLINE_WANTED = 128, UNTOUCHED = 0xee };

enum kind { WRITE, IMMEDIATE, INLINE, KINDS };
static const char *const kind_names[KINDS] = { "write", "immediate", "inline" };

/* What a leader tells another one about the queue pair between them. */
struct end {
	union ibv_gid gid;
	uint32_t qp, psn, rkey, mtu;
	uint64_t memory;
};

static MPI_Comm leaders;
static int nodes, me;
static struct device device;
static char *memory;
static struct ibv_mr *mr;
static struct ibv_cq *sends, *receives;
static struct ibv_qp **qps;
static struct end *peers;
static uint32_t inline_room = UINT32_MAX;
static int transfers;

static size_t
flag_of(int node)
{
	return (size_t)node * FLAG;
}

static size_t
inbox(int node)
{
	return (size_t)nodes * FLAG + (size_t)node * BOX;
}

static size_t
outbox(int node)
{
	return inbox(nodes) + (size_t)node * BOX;
}

static unsigned char
pattern(int from, int to, int round, size_t i)
{
	return (unsigned char)(i * 7 + (i >> 8) + (size_t)(from * 31 + to * 17 + round * 5));
}

/* --- connections --- */

static void
make_memory(void)
{
	size_t bytes = outbox(nodes);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(memory != MAP_FAILED);
	MUST(mr = ibv_reg_mr(device.pd, memory, bytes,
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
}

static struct ibv_qp *
make_qp(void)
{
	struct ibv_qp_init_attr wanted = { .qp_type = IBV_QPT_RC, .send_cq = sends,
					   .recv_cq = receives,
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1,
			.max_inline_data = INLINE_WANTED } };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	struct ibv_qp *qp = ibv_create_qp(device.pd, &wanted);
	MUST(qp);
	if (wanted.cap.max_inline_data < inline_room)
		inline_room = wanted.cap.max_inline_data;
	MUST(inline_room >= sizeof(uint64_t));
	MUST_OK(ibv_modify_qp(qp, &init,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      IBV_QP_ACCESS_FLAGS));
	return qp;
}

static void
connect_qp(struct ibv_qp *qp, const struct end *mine, const struct end *peer)
{
	struct ibv_qp_attr to_receive = { .qp_state = IBV_QPS_RTR, .dest_qp_num = peer->qp,
					  .rq_psn = peer->psn,
		.path_mtu = mine->mtu < peer->mtu ? mine->mtu : peer->mtu, .min_rnr_timer = 12,
		.ah_attr = { .is_global = 1, .port_num = 1,
			.grh = { .dgid = peer->gid, .sgid_index = (uint8_t)device.gid_index,
				 .hop_limit = 64 } } };
	struct ibv_qp_attr to_send = { .qp_state = IBV_QPS_RTS, .sq_psn = mine->psn, .timeout = 17,
				       .retry_cnt = 7,
		.rnr_retry = 7 };
	MUST_OK(ibv_modify_qp(qp, &to_receive,
			      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			      IBV_QP_RQ_PSN |
				      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
	MUST_OK(ibv_modify_qp(qp, &to_send,
			      IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			      IBV_QP_SQ_PSN |
				      IBV_QP_MAX_QP_RD_ATOMIC));
}

static void
post_receive(int peer)
{
	/* A write with immediate takes a receive, but puts nothing into it. */
	struct ibv_recv_wr request = { .wr_id = (uint64_t)peer }, *bad;
	MUST_OK(ibv_post_recv(qps[peer], &request, &bad));
}

static void
connect_all(void)
{
	struct end *mine = calloc((size_t)nodes, sizeof *mine);
	peers = calloc((size_t)nodes, sizeof *peers);
	qps = calloc((size_t)nodes, sizeof *qps);
	MUST(mine && peers && qps);
	/* Two queues: a peer's write may arrive before one's own has completed. */
	MUST(sends = ibv_create_cq(device.context, 8 * nodes, NULL, NULL, 0));
	MUST(receives = ibv_create_cq(device.context, 8 * nodes, NULL, NULL, 0));
	for (int peer = 0; peer < nodes; peer++) {
		if (peer == me)
			continue;
		qps[peer] = make_qp();
		mine[peer] = (struct end){ .gid = device.gid, .qp = qps[peer]->qp_num,
			.psn = 1000 + (uint32_t)(me * 100 + peer), .rkey = mr->rkey,
			.mtu = device.mtu, .memory = (uintptr_t)memory };
	}
	MPI_Alltoall(mine, sizeof *mine, MPI_BYTE, peers, sizeof *peers, MPI_BYTE, leaders);
	for (int peer = 0; peer < nodes; peer++) {
		if (peer != me) {
			connect_qp(qps[peer], &mine[peer], &peers[peer]);
			post_receive(peer);
		}
	}
	free(mine);
}

static void
disconnect_all(void)
{
	for (int peer = 0; peer < nodes; peer++) {
		if (qps[peer])
			MUST_OK(ibv_destroy_qp(qps[peer]));
	}
	MUST_OK(ibv_destroy_cq(sends));
	MUST_OK(ibv_destroy_cq(receives));
	MUST_OK(ibv_dereg_mr(mr));
	free(peers);
	free(qps);
}

/* --- rounds --- */

static void
post_write(int peer, enum ibv_wr_opcode opcode, size_t from, size_t to, size_t bytes, int round,
	   unsigned flags)
{
	struct ibv_sge piece = { .addr = (uintptr_t)memory + from, .length = (uint32_t)bytes,
				 .lkey = mr->lkey };
	struct ibv_send_wr request = { .wr_id = (uint64_t)peer, .sg_list = &piece, .num_sge = 1,
				       .opcode = opcode,
		.send_flags = flags, .imm_data = htobe32((uint32_t)round),
		.wr.rdma = { .remote_addr = peers[peer].memory + to, .rkey = peers[peer].rkey } },
	*bad;
	MUST_OK(ibv_post_send(qps[peer], &request, &bad));
}

static void
send_to(int peer, enum kind kind, size_t bytes, int round)
{
	char *box = memory + outbox(peer);
	uint64_t *flag = (uint64_t *)(box + BIGGEST);
	for (size_t i = 0; i < bytes; i++)
		box[i] = (char)pattern(me, peer, round, i);
	*flag = (uint64_t)round;
	if (kind == IMMEDIATE) {
		post_write(peer, IBV_WR_RDMA_WRITE_WITH_IMM, outbox(peer), inbox(me), bytes, round,
			   IBV_SEND_SIGNALED);
		return;
	}
	post_write(peer, IBV_WR_RDMA_WRITE, outbox(peer), inbox(me), bytes, round,
		   kind == INLINE ? IBV_SEND_INLINE : 0);
	if (kind == INLINE)
		memset(box, UNTOUCHED, bytes);
	post_write(peer, IBV_WR_RDMA_WRITE, outbox(peer) + BIGGEST, flag_of(me), sizeof *flag,
		   round, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
}

static void
wait_for_flags(int round)
{
	for (int peer = 0; peer < nodes; peer++) {
		const _Atomic uint64_t *flag = (const _Atomic uint64_t *)(memory + flag_of(peer));
		while (peer != me && atomic_load_explicit(flag, memory_order_acquire) !=
		       (uint64_t)round)
			sched_yield();
	}
}

static void
wait_for_immediates(size_t bytes, int round)
{
	for (int i = 0; i < nodes - 1; i++) {
		struct ibv_wc completion = next_completion(receives);
		MUST(completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
		     (completion.wc_flags & IBV_WC_WITH_IMM));
		MUST(be32toh(completion.imm_data) == (uint32_t)round &&
		     completion.byte_len == bytes);
		post_receive((int)completion.wr_id);
	}
}

static void
check_inbox(int peer, enum kind kind, size_t bytes, int round)
{
	const unsigned char *box = (const unsigned char *)memory + inbox(peer);
	for (size_t i = 0; i < BOX; i++) {
		unsigned char wanted = i < bytes ? pattern(peer, me, round, i) : UNTOUCHED;
		if (box[i] != wanted) {
			fprintf(stderr, "%s of %zu bytes from node %d to %d: byte %zu is %d, not "
					"%d\n",
				kind_names[kind], bytes, peer, me, i, box[i], wanted);
			errno = 0;
			MUST(box[i] == wanted);
		}
	}
	transfers++;
}

static void
run_round(enum kind kind, size_t bytes, int round)
{
	memset(memory + inbox(0), UNTOUCHED, inbox(nodes) - inbox(0));
	/* Nobody may write before all have cleared. */
	MPI_Barrier(leaders);
	for (int peer = 0; peer < nodes; peer++) {
		if (peer != me)
			send_to(peer, kind, bytes, round);
	}
	for (int i = 0; i < nodes - 1; i++)
		next_completion(sends);
	if (kind == IMMEDIATE)
		wait_for_immediates(bytes, round);
	else
		wait_for_flags(round);
	for (int peer = 0; peer < nodes; peer++) {
		if (peer != me)
			check_inbox(peer, kind, bytes, round);
	}
	MPI_Barrier(leaders);
}

static void
run_rounds(void)
{
	const size_t mtu = (size_t)128 << device.mtu;
	const size_t sizes[] = { 1, 8, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu + 5, BIGGEST };
	const size_t small[] = { 1, 8, 64, inline_room - 1, inline_room };
	int round = 0;
	for (enum kind kind = WRITE; kind < INLINE; kind++) {
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			run_round(kind, sizes[i], ++round);
	}
	for (size_t i = 0; i < sizeof small / sizeof *small; i++)
		run_round(INLINE, small[i], ++round);
}

static void
lead(void)
{
	int all;
	MPI_Comm_rank(leaders, &me);
	device_open(&device, leaders);
	make_memory();
	connect_all();
	/* One must not write to a peer that is not ready to receive. */
	MPI_Barrier(leaders);
	MPI_Allreduce(MPI_IN_PLACE, &inline_room, 1, MPI_UINT32_T, MPI_MIN, leaders);
	run_rounds();
	MPI_Reduce(&transfers, &all, 1, MPI_INT, MPI_SUM, 0, leaders);
	if (me == 0)
		printf("%d nodes, %d writes, inline up to %u bytes: every byte right\n", nodes, all,
		       inline_room);
	disconnect_all();
	device_close(&device);
	MPI_Comm_free(&leaders);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	nodes = argc == 2 ? atoi(argv[1]) : 0;
	MUST(nodes >= 1);
	leaders = leaders_of_nodes(nodes);
	if (leaders != MPI_COMM_NULL)
		lead();
	MPI_Finalize();
	return 0;
}
