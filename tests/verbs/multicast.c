/* tests/verbs/multicast.c — does a datagram to a multicast group reach the leaders of all other
 * nodes?
 *
 *   multicast NODES [ROUNDS]
 *
 * In turn each leader sends ROUNDS numbered datagrams to the group, each only when all have
 * received the one before. One that is lost is sent again, as often as it takes: datagrams may get
 * lost, so that is no failure, but is told.
 *
 * The group's GID is its IPv4 address, mapped (::ffff:239.192.7.1). To attach a queue pair is not
 * enough: the host must also join the group on the interface, or the packets never get to the
 * device (soft RoCE) or past the switch (IGMP snooping). A socket does that, for as long as it is
 * open. */
#include "device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	GRH = 40, /* room for it is in front of each datagram received */
	BYTES = 1000,
	SLOT = 1088,
	SLOTS = 32,
	KEY = 0x11c0ffee, /* the same for all; its highest bit must be 0 */
	EVERYBODY = 0xffffff,
	POLLS_BEFORE_AGAIN = 20000,
};

static const char group_address[] = "239.192.7.1";

static MPI_Comm leaders;
static int nodes, me;
static struct device device;
static union ibv_gid group;
static char *memory;
static struct ibv_mr *mr;
static struct ibv_cq *sends, *receives;
static struct ibv_qp *qp;
static struct ibv_ah *way;
static int join_socket;
static int sent, own;

static unsigned char
pattern(int number, size_t i)
{
	return (unsigned char)(i * 3 + (size_t)number);
}

static void
post_receive(int slot)
{
	struct ibv_sge piece = { .addr = (uintptr_t)memory + (size_t)slot * SLOT,
				 .length = GRH + BYTES,
		.lkey = mr->lkey };
	struct ibv_recv_wr request = { .wr_id = (uint64_t)slot, .sg_list = &piece, .num_sge = 1 },
			   *bad;
	MUST_OK(ibv_post_recv(qp, &request, &bad));
}

static void
make_qp(void)
{
	struct ibv_qp_init_attr wanted = { .qp_type = IBV_QPT_UD, .send_cq = sends,
					   .recv_cq = receives,
		.cap = { .max_send_wr = 4, .max_recv_wr = SLOTS, .max_send_sge = 1,
			 .max_recv_sge = 1 } };
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = KEY };
	struct ibv_qp_attr to_receive = { .qp_state = IBV_QPS_RTR };
	struct ibv_qp_attr to_send = { .qp_state = IBV_QPS_RTS, .sq_psn = 1 };
	MUST(qp = ibv_create_qp(device.pd, &wanted));
	MUST_OK(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			      IBV_QP_QKEY));
	MUST_OK(ibv_modify_qp(qp, &to_receive, IBV_QP_STATE));
	MUST_OK(ibv_modify_qp(qp, &to_send, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static void
join(void)
{
	struct ip_mreqn request = { .imr_ifindex = (int)device.interface };
	MUST(inet_pton(AF_INET, group_address, &request.imr_multiaddr) == 1);
	group = (union ibv_gid){ .raw = { [10] = 0xff, [11] = 0xff } };
	memcpy(group.raw + 12, &request.imr_multiaddr, 4);
	MUST((join_socket = socket(AF_INET, SOCK_DGRAM, 0)) >= 0);
	MUST(setsockopt(join_socket, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request) == 0);
	MUST_OK(ibv_attach_mcast(qp, &group, 0));
	struct ibv_ah_attr attributes = { .is_global = 1, .port_num = 1,
		.grh = { .dgid = group, .sgid_index = (uint8_t)device.gid_index, .hop_limit = 1 } };
	MUST(way = ibv_create_ah(device.pd, &attributes));
}

static void
leave(void)
{
	MUST_OK(ibv_destroy_ah(way));
	MUST_OK(ibv_detach_mcast(qp, &group, 0));
	MUST(close(join_socket) == 0);
	MUST_OK(ibv_destroy_qp(qp));
	MUST_OK(ibv_destroy_cq(sends));
	MUST_OK(ibv_destroy_cq(receives));
	MUST_OK(ibv_dereg_mr(mr));
}

static void
send_to_group(int number)
{
	char *data = memory + (size_t)SLOTS * SLOT;
	memcpy(data, &number, sizeof number);
	for (size_t i = sizeof number; i < BYTES; i++)
		data[i] = (char)pattern(number, i);
	struct ibv_sge piece = { .addr = (uintptr_t)data, .length = BYTES, .lkey = mr->lkey };
	struct ibv_send_wr request = { .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.ud = { .ah = way, .remote_qpn = EVERYBODY, .remote_qkey = KEY } }, *bad;
	MUST_OK(ibv_post_send(qp, &request, &bad));
	next_completion(sends);
	sent++;
}

/* Whether the datagram with this number is the one that came. Earlier ones may come again, and
 * whether a device hears itself is left open. */
static bool
is_expected(const struct ibv_wc *completion, int number)
{
	const unsigned char *data = (const unsigned char *)memory + completion->wr_id * SLOT + GRH;
	int came;
	memcpy(&came, data, sizeof came);
	MUST(completion->byte_len == GRH + BYTES && (completion->wc_flags & IBV_WC_GRH));
	MUST(came <= number);
	for (size_t i = sizeof came; i < BYTES; i++)
		MUST(data[i] == pattern(came, i));
	if (came % nodes == me)
		own++;
	return came == number;
}

static bool
take_one(int number)
{
	struct ibv_wc completion;
	int count = ibv_poll_cq(receives, 1, &completion);
	MUST(count >= 0 && (count == 0 || completion.status == IBV_WC_SUCCESS));
	if (count == 0)
		return false;
	bool is_it = is_expected(&completion, number);
	post_receive((int)completion.wr_id);
	return is_it;
}

static void
run_round(int sender, int number)
{
	MPI_Request all_have_it;
	int is_over = 0;
	bool has_come = sender == me;
	if (sender == me) {
		send_to_group(number);
		MPI_Ibarrier(leaders, &all_have_it);
	}
	for (int polls = 1; !is_over; polls++) {
		/* Who has it takes no more: the next leader may be sending already. */
		if (!has_come && take_one(number)) {
			has_come = true;
			MPI_Ibarrier(leaders, &all_have_it);
		}
		if (has_come)
			MPI_Test(&all_have_it, &is_over, MPI_STATUS_IGNORE);
		if (sender == me && !is_over && polls % POLLS_BEFORE_AGAIN == 0)
			send_to_group(number);
		sched_yield();
	}
}

static void
lead(int rounds)
{
	int totals[2];
	size_t bytes = (size_t)(SLOTS + 1) * SLOT;
	MPI_Comm_rank(leaders, &me);
	device_open(&device, leaders);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	MUST(memory != MAP_FAILED);
	MUST(mr = ibv_reg_mr(device.pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE));
	MUST(sends = ibv_create_cq(device.context, 8, NULL, NULL, 0));
	MUST(receives = ibv_create_cq(device.context, 2 * SLOTS, NULL, NULL, 0));
	make_qp();
	join();
	for (int slot = 0; slot < SLOTS; slot++)
		post_receive(slot);
	MPI_Barrier(leaders);
	for (int i = 0; i < rounds; i++) {
		for (int sender = 0; sender < nodes; sender++)
			run_round(sender, i * nodes + sender);
	}
	MPI_Reduce((int[]){ sent, own }, totals, 2, MPI_INT, MPI_SUM, 0, leaders);
	if (me == 0)
		printf("%d nodes, %d datagrams to group %s, sent %d times, heard by their senders "
		       "%d times: "
		       "all received\n", nodes, nodes * rounds, group_address, totals[0],
		       totals[1]);
	leave();
	device_close(&device);
	MPI_Comm_free(&leaders);
}

int
main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	nodes = argc > 1 ? atoi(argv[1]) : 0;
	MUST(nodes >= 2);
	leaders = leaders_of_nodes(nodes);
	if (leaders != MPI_COMM_NULL)
		lead(argc > 2 ? atoi(argv[2]) : 10);
	MPI_Finalize();
	return 0;
}
