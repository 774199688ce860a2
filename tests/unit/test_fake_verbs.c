/* The fake fabric does what the specification promises, and not more. */
#include "fake_verbs.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>

static const struct cs_verbs *verbs;

/* A simulated process with one QP. */
struct side {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint16_t lid;
	union ibv_gid gid;
	unsigned max_inline;
	char memory[4096];
};

/* What makes an end; 0 is the usual. */
struct wish {
	enum ibv_qp_type type;
	unsigned sends, receives, entries, in_line;
	int access;
	uint8_t rnr_retry;
	bool signals_all;
};

static int
set_up(void **state)
{
	fake_reset();
	fake.poll_steps = 0;
	verbs = fake_verbs();
	return 0;
}

static struct ibv_context *
open_first(void)
{
	int count;
	struct ibv_device **list = verbs->get_device_list(&count);
	assert_non_null(list);
	assert_true(count > 0);
	struct ibv_context *context = verbs->open_device(list[0]);
	assert_non_null(context);
	verbs->free_device_list(list);
	return context;
}

static void
make_qp(struct side *side, struct wish wish)
{
	struct ibv_qp_init_attr asked = {
		.send_cq = side->cq, .recv_cq = side->cq,
			.qp_type = wish.type ? wish.type : IBV_QPT_RC,
		.sq_sig_all = wish.signals_all,
		.cap = { .max_send_wr = wish.sends ? wish.sends : 16,
			 .max_recv_wr = wish.receives ? wish.receives : 16, .max_send_sge = 2,
			 .max_recv_sge = 2, .max_inline_data = wish.in_line },
	};
	side->qp = verbs->create_qp(side->pd, &asked);
	assert_non_null(side->qp);
	side->max_inline = asked.cap.max_inline_data;
}

static struct side
open_side(struct wish wish)
{
	struct side side = { .context = open_first() };
	struct ibv_port_attr port;
	struct ibv_gid_entry gids[FAKE_GIDS];
	assert_int_equal(verbs->query_port(side.context, 1, &port), 0);
	assert_true(verbs->query_gid_table(side.context, gids, COUNT(gids)) > 0);
	side.lid = port.lid;
	side.gid = gids[0].gid;
	side.pd = verbs->alloc_pd(side.context);
	side.cq = verbs->create_cq(side.context, wish.entries ? (int)wish.entries : 256);
	make_qp(&side, wish);
	return side;
}

/* After the struct has found its place: its memory is registered. */
static void
register_side(struct side *side, struct wish wish)
{
	int access = wish.access ? wish.access : IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	side->mr = verbs->reg_mr(side->pd, side->memory, sizeof side->memory, access);
	assert_non_null(side->mr);
}

static int
to_init(struct side *side)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	return verbs->modify_qp(side->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       (side->qp->qp_type == IBV_QPT_UD
				? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

enum {
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	IBV_QP_SQ_PSN |
		 IBV_QP_MAX_QP_RD_ATOMIC,
};

static struct ibv_qp_attr
rtr_to(const struct side *peer)
{
	return (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = peer->qp->qp_num,
				     .rq_psn = peer->qp->qp_num & 0xffffff,
				     .ah_attr = { .dlid = peer->lid, .port_num = 1 } };
}

static struct ibv_qp_attr
rts_of(const struct side *side, uint8_t rnr_retry)
{
	return (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
				     .rnr_retry = rnr_retry,
				     .sq_psn = side->qp->qp_num & 0xffffff };
}

static void
connect_side(struct side *side, const struct side *peer, struct wish wish)
{
	struct ibv_qp_attr rtr = rtr_to(peer),
			   rts = rts_of(side, wish.rnr_retry ? wish.rnr_retry : 7);
	assert_int_equal(to_init(side), 0);
	assert_int_equal(verbs->modify_qp(side->qp, &rtr, TO_RTR), 0);
	assert_int_equal(verbs->modify_qp(side->qp, &rts, TO_RTS), 0);
}

static void
open_pair(struct side *a, struct side *b, struct wish wish)
{
	*a = open_side(wish);
	*b = open_side(wish);
	register_side(a, wish);
	register_side(b, wish);
	connect_side(a, b, wish);
	connect_side(b, a, wish);
}

static void
close_side(struct side *side)
{
	assert_int_equal(verbs->destroy_qp(side->qp), 0);
	assert_int_equal(verbs->dereg_mr(side->mr), 0);
	assert_int_equal(verbs->destroy_cq(side->cq), 0);
	assert_int_equal(verbs->dealloc_pd(side->pd), 0);
	assert_int_equal(verbs->close_device(side->context), 0);
}

static int
post(struct side *from, struct ibv_send_wr wr, const void *data, size_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)data, (uint32_t)bytes, from->mr->lkey };
	struct ibv_send_wr *bad = NULL;
	wr.sg_list = &sge;
	wr.num_sge = bytes > 0;
	int error = verbs->post_send(from->qp, &wr, &bad);
	assert_true(error ? bad == &wr : !bad);
	return error;
}

enum { SIGNALED = IBV_SEND_SIGNALED };

static int
post_write(struct side *from, struct side *to, size_t at, const void *data, size_t bytes,
	   unsigned flags)
{
	struct ibv_send_wr wr = { .wr_id = 100 + at, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = flags,
				  .wr.rdma = { (uintptr_t)to->memory + at, to->mr->rkey } };
	return post(from, wr, data, bytes);
}

static int
post_imm(struct side *from, struct side *to, size_t at, const void *data, size_t bytes,
	 uint32_t imm)
{
	struct ibv_send_wr wr = { .wr_id = 100 + at, .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .send_flags = SIGNALED, .imm_data = imm,
				  .wr.rdma = { (uintptr_t)to->memory + at, to->mr->rkey } };
	return post(from, wr, data, bytes);
}

static int
post_message(struct side *from, const void *data, size_t bytes)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = SIGNALED };
	return post(from, wr, data, bytes);
}

static int
post_receive(struct side *side, uint64_t wr_id, void *to, size_t bytes)
{
	struct ibv_sge sge = { (uintptr_t)to, (uint32_t)bytes, side->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = bytes > 0 },
			   *bad = NULL;
	int error = verbs->post_recv(side->qp, &wr, &bad);
	assert_true(error ? bad == &wr : !bad);
	return error;
}

static struct ibv_wc
next_completion(struct side *side)
{
	struct ibv_wc wc;
	assert_int_equal(verbs->poll_cq(side->cq, 1, &wc), 1);
	return wc;
}

static void
assert_nothing(struct side *side)
{
	struct ibv_wc wc;
	assert_int_equal(verbs->poll_cq(side->cq, 1, &wc), 0);
}

static void
assert_next(struct side *side, enum ibv_wc_status status)
{
	struct ibv_wc wc = next_completion(side);
	assert_int_equal(wc.status, status);
}

static void
run(void)
{
	fake_progress(SIZE_MAX);
}

/* The table, life and death. */

static void
every_pointer_is_there(void **state)
{
	void *pointers[sizeof *verbs / sizeof(void *)];
	memcpy(pointers, verbs, sizeof pointers);
	for (size_t i = 0; i < COUNT(pointers); i++)
		assert_non_null(pointers[i]);
}

static void
what_is_not_destroyed_is_told(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	assert_non_null(verbs->get_device_list(NULL));
	struct ibv_ah_attr to = { .dlid = b.lid, .port_num = 1 };
	struct ibv_ah *ah = verbs->create_ah(a.pd, &to);
	assert_non_null(ah);
	assert_int_equal(fake_leaks(NULL), 12);
	assert_true(fake_counted()->pinned >= sizeof a.memory + sizeof b.memory);
	FILE *file = tmpfile();
	char text[1024] = "";
	fake_leaks(file);
	rewind(file);
	assert_true(fread(text, 1, sizeof text - 1, file) > 0);
	fclose(file);
	assert_contains(text, "2 of kind context");
	assert_contains(text, "1 of kind device list");
	assert_contains(text, "still pinned: ");
	assert_int_equal(verbs->destroy_ah(ah), 0);
	close_side(&a);
	close_side(&b);
	assert_int_equal(fake_leaks(NULL), 1);
	assert_int_equal(fake_counted()->pinned, 0);
	assert_int_equal(fake_counted()->misuses, 0);
	fake_reset();
	assert_int_equal(fake_leaks(stderr), 0);
}

static void
what_is_in_use_cannot_be_destroyed(void **state)
{
	struct side a = open_side((struct wish){ .type = IBV_QPT_UD });
	union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 1 } };
	assert_int_equal(verbs->dealloc_pd(a.pd), EBUSY);
	assert_int_equal(verbs->destroy_cq(a.cq), EBUSY);
	assert_int_equal(verbs->attach_mcast(a.qp, &group, 0xc001), 0);
	assert_int_equal(verbs->destroy_qp(a.qp), EBUSY);
	assert_int_equal(verbs->detach_mcast(a.qp, &group, 0xc001), 0);
	assert_int_equal(verbs->detach_mcast(a.qp, &group, 0xc001), EINVAL);
	register_side(&a, (struct wish){ 0 });
	close_side(&a);
	assert_int_equal(fake_leaks(stderr), 0);
}

static void
use_after_destruction_is_told(void **state)
{
	struct side a, b;
	struct said said;
	open_pair(&a, &b, (struct wish){ 0 });
	verbs->destroy_qp(a.qp);
	said_begin(&said);
	int error = post_write(&a, &b, 0, a.memory, 8, SIGNALED);
	int again = verbs->destroy_qp(a.qp);
	const char *text = said_end(&said);
	assert_int_equal(error, EINVAL);
	assert_int_equal(again, EINVAL);
	assert_contains(text, "post_send with a QP that is destroyed");
	assert_contains(text, "destroy_qp with a QP that is destroyed");
	assert_int_equal(fake_counted()->misuses, 2);
}

/* States. */

static void
a_connection_needs_each_attribute_of_each_step(void **state)
{
	const int init_mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	struct side a = open_side((struct wish){ 0 });
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 }, rtr = rtr_to(&a),
			   rts = rts_of(&a, 7);
	const struct {
		struct ibv_qp_attr *attributes;
		int mask;
	} steps[] = { { &init, init_mask }, { &rtr, TO_RTR }, { &rts, TO_RTS } };
	for (size_t i = 0; i < COUNT(steps); i++) {
		for (int bit = 1; bit <= IBV_QP_DEST_QPN; bit <<= 1) {
			int mask = steps[i].mask & ~bit;
			/* INIT to INIT, and so on, without the state; an attribute too many. */
			if (bit != IBV_QP_STATE && steps[i].mask & bit &&
			    verbs->modify_qp(a.qp, steps[i].attributes, mask) != EINVAL)
				fail_msg("step %zu went without attribute %#x", i, (unsigned)bit);
		}
		assert_int_equal(verbs->modify_qp(a.qp, steps[i].attributes,
						  steps[i].mask | IBV_QP_QKEY), EINVAL);
		for (size_t later = i + 1; later < COUNT(steps); later++)
			assert_int_equal(verbs->modify_qp(a.qp, steps[later].attributes,
							  steps[later].mask), EINVAL);
		assert_int_equal(verbs->modify_qp(a.qp, steps[i].attributes, steps[i].mask), 0);
		assert_int_equal(a.qp->state, steps[i].attributes->qp_state);
	}
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	assert_int_equal(verbs->modify_qp(a.qp, &init, init_mask), EINVAL);
	assert_int_equal(verbs->modify_qp(a.qp, &reset, IBV_QP_STATE), 0);
	assert_int_equal(verbs->modify_qp(a.qp, &init, init_mask), 0);
}

static void
attributes_out_of_range_are_refused(void **state)
{
	struct side a = open_side((struct wish){ 0 });
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 2 }, rtr = rtr_to(&a),
			   rts = rts_of(&a, 8);
	assert_int_equal(verbs->modify_qp(a.qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX |
					  IBV_QP_PORT |
					  IBV_QP_ACCESS_FLAGS), EINVAL);
	assert_int_equal(to_init(&a), 0);
	fake.devices[0].ports[0].attributes.active_mtu = IBV_MTU_512;
	assert_int_equal(verbs->modify_qp(a.qp, &rtr, TO_RTR), EINVAL);
	rtr.path_mtu = IBV_MTU_512;
	rtr.rq_psn = 1 << 24;
	assert_int_equal(verbs->modify_qp(a.qp, &rtr, TO_RTR), EINVAL);
	rtr.rq_psn = 0;
	assert_int_equal(verbs->modify_qp(a.qp, &rtr, TO_RTR), 0);
	assert_int_equal(verbs->modify_qp(a.qp, &rts, TO_RTS), EINVAL);
}

static void
posting_waits_for_its_state(void **state)
{
	struct side a = open_side((struct wish){ 0 });
	register_side(&a, (struct wish){ 0 });
	assert_int_equal(post_receive(&a, 1, a.memory, 8), EINVAL);
	assert_int_equal(to_init(&a), 0);
	assert_int_equal(post_receive(&a, 1, a.memory, 8), 0);
	assert_int_equal(post_message(&a, a.memory, 8), EINVAL);
	struct ibv_qp_attr rtr = rtr_to(&a), rts = rts_of(&a, 7);
	assert_int_equal(verbs->modify_qp(a.qp, &rtr, TO_RTR), 0);
	assert_int_equal(post_message(&a, a.memory, 8), EINVAL);
	assert_int_equal(verbs->modify_qp(a.qp, &rts, TO_RTS), 0);
	assert_int_equal(post_message(&a, a.memory, 8), 0);
}

static void
what_a_connection_cannot_do_is_refused_when_posted(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ .in_line = 64 });
	assert_int_equal(post(&a, (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_READ }, a.memory, 8),
			 EINVAL);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 97, IBV_SEND_INLINE), EINVAL);
	struct ibv_sge sges[3] = { 0 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .sg_list = sges, .num_sge = 3 }, *bad;
	struct ibv_recv_wr receive = { .sg_list = sges, .num_sge = 3 }, *bad_receive;
	assert_int_equal(verbs->post_send(a.qp, &wr, &bad), EINVAL);
	assert_int_equal(verbs->post_recv(a.qp, &receive, &bad_receive), EINVAL);
}

/* Carrying. */

static void
a_write_arrives_and_then_completes(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	strcpy(a.memory, "hello");
	assert_int_equal(post_write(&a, &b, 40, a.memory, 6, SIGNALED), 0);
	assert_nothing(&a);
	assert_string_equal(b.memory + 40, "");
	assert_int_equal(fake_progress(1), 1);
	assert_string_equal(b.memory + 40, "hello");
	assert_nothing(&a); /* the data was there before the completion */
	assert_int_equal(fake_progress(1), 1);
	struct ibv_wc wc = next_completion(&a);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RDMA_WRITE);
	assert_int_equal(wc.wr_id, 140);
	assert_int_equal(wc.qp_num, a.qp->qp_num);
	assert_nothing(&b);
	assert_int_equal(fake_progress(1), 0);
	close_side(&a);
	close_side(&b);
	assert_int_equal(fake_leaks(stderr), 0);
}

static void
an_immediate_consumes_a_receive_without_memory(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	strcpy(a.memory, "hello");
	assert_int_equal(post_receive(&b, 5, NULL, 0), 0);
	assert_int_equal(post_imm(&a, &b, 0, a.memory, 6, 77), 0);
	run();
	struct ibv_wc wc = next_completion(&b);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 77);
	assert_int_equal(wc.byte_len, 6);
	assert_int_equal(wc.wr_id, 5);
	assert_int_equal(wc.qp_num, b.qp->qp_num);
	assert_string_equal(b.memory, "hello");
	assert_next(&a, IBV_WC_SUCCESS);
}

static void
a_message_is_gathered_and_scattered(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	memcpy(a.memory, "abcdefgh", 8);
	struct ibv_sge from[2] = { { (uintptr_t)a.memory, 3, a.mr->lkey },
				   { (uintptr_t)a.memory + 3, 5, a.mr->lkey } };
	struct ibv_sge to[2] = { { (uintptr_t)b.memory, 6, b.mr->lkey },
				 { (uintptr_t)b.memory + 100, 9, b.mr->lkey } };
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND_WITH_IMM, .imm_data = 9, .sg_list = from,
				  .num_sge = 2 }, *bad;
	struct ibv_recv_wr receive = { .sg_list = to, .num_sge = 2 }, *bad_receive;
	assert_int_equal(verbs->post_recv(b.qp, &receive, &bad_receive), 0);
	assert_int_equal(verbs->post_send(a.qp, &wr, &bad), 0);
	run();
	struct ibv_wc wc = next_completion(&b);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 8);
	assert_int_equal(wc.imm_data, 9);
	assert_memory_equal(b.memory, "abcdef", 6);
	assert_memory_equal(b.memory + 100, "gh", 3);
	assert_nothing(&a); /* unsignaled */
}

static void
inline_data_is_read_when_posted_and_other_data_when_carried(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ .in_line = 64 });
	char outside[8] = "inline"; /* needs no key */
	strcpy(a.memory, "early");
	assert_int_equal(post_write(&a, &b, 0, outside, 7, IBV_SEND_INLINE), 0);
	assert_int_equal(post_write(&a, &b, 8, a.memory, 6, SIGNALED), 0);
	strcpy(outside, "XXXXXX");
	strcpy(a.memory, "late!");
	run();
	assert_string_equal(b.memory, "inline");
	assert_string_equal(b.memory + 8, "late!");
	assert_int_equal(fake_counted()->is_inline, 1);
}

static void
inline_room_is_rounded_up_and_limited(void **state)
{
	struct side a = open_side((struct wish){ .in_line = 64 });
	assert_int_equal(a.max_inline, 96);
	assert_int_equal(open_side((struct wish){ .in_line = 256 }).max_inline, 256);
	assert_int_equal(open_side((struct wish){ .in_line = 0 }).max_inline, 0);
	struct ibv_qp_init_attr asked = { .send_cq = a.cq, .recv_cq = a.cq, .qp_type = IBV_QPT_RC,
					  .cap = { .max_inline_data = 257 } };
	assert_null(verbs->create_qp(a.pd, &asked));
	assert_int_equal(errno, EINVAL);
}

/* Queues. */

static void
a_send_queue_is_freed_by_polled_completions_only(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ .sends = 4 });
	for (int i = 0; i < 3; i++)
		assert_int_equal(post_write(&a, &b, 0, a.memory, 8, 0), 0);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, 0), ENOMEM);
	run();
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, 0), ENOMEM);
	assert_next(&a, IBV_WC_SUCCESS);
	for (int i = 0; i < 4; i++) /* one completion covered all four */
		assert_int_equal(post_write(&a, &b, 0, a.memory, 8, 0), 0);
	run();
	assert_nothing(&a);
	/* For ever: none was signaled */
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), ENOMEM);
}

static void
a_chain_is_posted_up_to_the_bad_one(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ .sends = 2, .signals_all = true });
	struct ibv_send_wr wrs[3], *bad = NULL;
	for (int i = 0; i < 3; i++)
		wrs[i] = (struct ibv_send_wr){ .opcode = IBV_WR_RDMA_WRITE,
					       .next = i < 2 ? &wrs[i + 1] : NULL };
	assert_int_equal(verbs->post_send(a.qp, wrs, &bad), ENOMEM);
	assert_ptr_equal(bad, &wrs[2]);
	run();
	assert_next(&a, IBV_WC_SUCCESS);
	assert_next(&a, IBV_WC_SUCCESS);
	assert_nothing(&a);
}

static void
a_receive_queue_is_freed_by_polled_completions_only(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ .receives = 2 });
	assert_int_equal(post_receive(&b, 1, NULL, 0), 0);
	assert_int_equal(post_receive(&b, 2, NULL, 0), 0);
	assert_int_equal(post_receive(&b, 3, NULL, 0), ENOMEM);
	assert_int_equal(post_message(&a, NULL, 0), 0);
	run();
	assert_int_equal(post_receive(&b, 3, NULL, 0), ENOMEM);
	assert_next(&b, IBV_WC_SUCCESS);
	assert_int_equal(post_receive(&b, 3, NULL, 0), 0);
}

static void
a_completion_queue_that_overflows_is_dead(void **state)
{
	struct side a, b;
	struct said said;
	open_pair(&a, &b, (struct wish){ .entries = 2 });
	for (int i = 0; i < 3; i++)
		assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
	said_begin(&said);
	run();
	const char *text = said_end(&said);
	struct ibv_wc wc;
	struct ibv_async_event event;
	assert_contains(text, "completion queue of 2 overflowed");
	assert_int_equal(fake_counted()->overflows, 1);
	assert_int_equal(verbs->poll_cq(a.cq, 1, &wc), -1);
	assert_int_equal(verbs->get_async_event(a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, a.cq);
	verbs->ack_async_event(&event);
	assert_nothing(&b);
	assert_int_equal(post_write(&b, &a, 0, b.memory, 8, SIGNALED), 0);
	run();
	assert_next(&b, IBV_WC_RETRY_EXC_ERR); /* its queue pair has ended */
}

static void
a_destroyed_queue_pair_leaves_no_completion(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
	run();
	assert_int_equal(verbs->destroy_qp(a.qp), 0);
	assert_nothing(&a);
}

static void
each_direction_has_its_completion_queue(void **state)
{
	struct side a = open_side((struct wish){ 0 }), b = open_side((struct wish){ 0 });
	struct ibv_cq *other = verbs->create_cq(a.context, 4);
	struct ibv_qp_init_attr asked = { .send_cq = other, .recv_cq = a.cq, .qp_type = IBV_QPT_RC,
					  .cap = { 4, 4, 1, 1, 0 } };
	register_side(&a, (struct wish){ 0 });
	assert_int_equal(verbs->destroy_qp(a.qp), 0);
	a.qp = verbs->create_qp(a.pd, &asked);
	connect_side(&a, &a, (struct wish){ 0 }); /* to itself */
	assert_int_equal(post_receive(&a, 3, a.memory, 8), 0);
	assert_int_equal(post_message(&a, a.memory + 8, 8), 0);
	assert_int_equal(post_receive(&a, 4, a.memory, 8), 0);
	assert_int_equal(post_message(&a, a.memory + 8, 8), 0);
	run();
	struct ibv_wc wc;
	assert_int_equal(next_completion(&a).opcode, IBV_WC_RECV);
	assert_int_equal(verbs->poll_cq(other, 1, &wc), 1);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(verbs->destroy_qp(a.qp), 0);
	assert_nothing(&a);
	assert_int_equal(verbs->poll_cq(other, 1, &wc), 0);
	asked.send_cq = b.cq; /* of another context */
	errno = 0;
	assert_null(verbs->create_qp(a.pd, &asked));
	assert_int_equal(errno, EINVAL);
}

static void
closing_a_device_stops_what_it_was_sending(void **state)
{
	struct side a, b;
	struct said said;
	open_pair(&a, &b, (struct wish){ 0 });
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
	assert_int_equal(verbs->close_device(a.context), 0);
	assert_int_equal(fake_progress(1), 0);
	assert_int_equal(fake_leaks(NULL), 9);
	said_begin(&said);
	int error = verbs->destroy_qp(a.qp);
	assert_contains(said_end(&said), "of a context that is closed");
	assert_int_equal(error, EINVAL);
}

/* Refusals on the way. */

static void
an_error_flushes_what_follows(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	assert_int_equal(post_receive(&a, 50, NULL, 0), 0);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, 0), 0);
	assert_int_equal(post_write(&a, &b, 8, a.memory, 8, SIGNALED), 0);
	b.mr->rkey ^= 1;
	assert_int_equal(post_write(&a, &b, 16, a.memory, 8, 0), 0);
	b.mr->rkey ^= 1;
	strcpy(a.memory, "flushed");
	assert_int_equal(post_write(&a, &b, 24, a.memory, 8, 0), 0);
	assert_int_equal(post_receive(&b, 60, NULL, 0), 0);
	run();
	const struct {
		uint64_t wr_id;
		enum ibv_wc_status status;
	} expected[] = { { 108, IBV_WC_SUCCESS }, { 116, IBV_WC_REM_ACCESS_ERR },
			 { 124, IBV_WC_WR_FLUSH_ERR },
			 { 50, IBV_WC_WR_FLUSH_ERR } };
	for (size_t i = 0; i < COUNT(expected); i++) {
		struct ibv_wc wc = next_completion(&a);
		assert_int_equal(wc.wr_id, expected[i].wr_id);
		assert_int_equal(wc.status, expected[i].status);
	}
	assert_int_equal(b.memory[24], 0);
	assert_next(&b, IBV_WC_WR_FLUSH_ERR); /* the refused one's peer has ended too */
	assert_int_equal(post_write(&a, &b, 32, a.memory, 8, 0), 0);
	assert_next(&a, IBV_WC_WR_FLUSH_ERR);
	struct ibv_async_event event;
	assert_int_equal(verbs->get_async_event(b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_int_equal(a.qp->state, IBV_QPS_RTS); /* the library's view: only modify_qp changes
						     * it */
}

/* What a write to the last bytes of b's memory gets, after `spoil`. */
static enum ibv_wc_status
status_of_write(size_t at, size_t bytes, struct wish wish,
		void (*spoil)(struct side *, struct side *))
{
	struct side a, b;
	open_pair(&a, &b, wish);
	if (spoil)
		spoil(&a, &b);
	assert_int_equal(post_write(&a, &b, at, a.memory, bytes, SIGNALED), 0);
	run();
	return next_completion(&a).status;
}

static void
swap_keys(struct side *a, struct side *b)
{
	b->mr->rkey = b->mr->lkey;
}

static void
use_wrong_domain(struct side *a, struct side *b)
{
	b->mr = verbs->reg_mr(a->pd, b->memory, sizeof b->memory,
			      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

static void
end_source(struct side *a, struct side *b)
{
	verbs->dereg_mr(a->mr);
}

static void
end_target(struct side *a, struct side *b)
{
	verbs->dereg_mr(b->mr);
}

static void
end_peer(struct side *a, struct side *b)
{
	verbs->destroy_qp(b->qp);
}

static void
forbid_writes(struct side *a, struct side *b)
{
	struct ibv_qp_attr none = { .qp_access_flags = 0 };
	assert_int_equal(verbs->modify_qp(b->qp, &none, IBV_QP_ACCESS_FLAGS), 0);
}

static void
shut_port(struct side *a, struct side *b)
{
	fake_port(IBV_PORT_DOWN);
}

static void
shrink_messages(struct side *a, struct side *b)
{
	fake.devices[0].ports[0].attributes.max_msg_sz = 7;
}

static void
keys_bounds_and_rights_are_checked(void **state)
{
	const size_t room = sizeof((struct side *)0)->memory;
	const struct {
		const char *what;
		size_t at, bytes;
		struct wish wish;
		void (*spoil)(struct side *, struct side *);
		enum ibv_wc_status status;
	} cases[] = {
		{ "last bytes", room - 8, 8, { 0 }, NULL, IBV_WC_SUCCESS },
		{ "behind the end", room - 7, 8, { 0 }, NULL, IBV_WC_REM_ACCESS_ERR },
		{ "before the start", (size_t)-1, 8, { 0 }, NULL, IBV_WC_REM_ACCESS_ERR },
		{ "nothing, behind the end", room + 50, 0, { 0 }, NULL, IBV_WC_SUCCESS },
		{ "lkey for rkey", 0, 8, { 0 }, swap_keys, IBV_WC_REM_ACCESS_ERR },
		{ "another's key", 0, 8, { 0 }, use_wrong_domain, IBV_WC_REM_ACCESS_ERR },
		{ "only local", 0, 8, { .access = IBV_ACCESS_LOCAL_WRITE }, NULL,
		  IBV_WC_REM_ACCESS_ERR },
		{ "QP without right", 0, 8, { 0 }, forbid_writes, IBV_WC_REM_ACCESS_ERR },
		{ "source ended", 0, 8, { 0 }, end_source, IBV_WC_LOC_PROT_ERR },
		{ "source too long", 0, room + 1, { 0 }, NULL, IBV_WC_LOC_PROT_ERR },
		{ "target ended", 0, 8, { 0 }, end_target, IBV_WC_REM_ACCESS_ERR },
		{ "peer ended", 0, 8, { 0 }, end_peer, IBV_WC_RETRY_EXC_ERR },
		{ "port down", 0, 8, { 0 }, shut_port, IBV_WC_RETRY_EXC_ERR },
		{ "max_msg_sz", 0, 8, { 0 }, shrink_messages, IBV_WC_LOC_LEN_ERR },
	};
	for (int torn = 0; torn < 2; torn++)
		for (size_t i = 0; i < COUNT(cases); i++) {
			set_up(NULL);
			fake.is_torn = torn;
			enum ibv_wc_status got =
				status_of_write(cases[i].at, cases[i].bytes, cases[i].wish,
						cases[i].spoil);
			if (got != cases[i].status)
				fail_msg("%s: status %d, not %d", cases[i].what, got,
					 cases[i].status);
		}
}

static void
receives_are_checked_too(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	assert_int_equal(post_receive(&b, 1, b.memory, 7), 0);
	assert_int_equal(post_message(&a, a.memory, 8), 0);
	run();
	assert_next(&b, IBV_WC_LOC_LEN_ERR);
	assert_next(&a, IBV_WC_REM_INV_REQ_ERR);
	struct side c, d;
	open_pair(&c, &d, (struct wish){ .access = IBV_ACCESS_REMOTE_READ });
	assert_int_equal(post_receive(&d, 1, d.memory, 8), 0);
	assert_int_equal(post_message(&c, c.memory, 8), 0);
	run();
	assert_next(&d, IBV_WC_LOC_PROT_ERR);
	assert_next(&c, IBV_WC_REM_OP_ERR);
}

static void
what_finds_no_receive_waits_or_gives_up(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	assert_int_equal(post_imm(&a, &b, 0, a.memory, 8, 1), 0);
	assert_int_equal(fake_progress(100), 0);
	assert_int_equal(post_receive(&b, 1, NULL, 0), 0);
	run();
	assert_next(&b, IBV_WC_SUCCESS);
	assert_next(&a, IBV_WC_SUCCESS);

	struct side c, d;
	open_pair(&c, &d, (struct wish){ .rnr_retry = 2 });
	assert_int_equal(post_imm(&c, &d, 0, c.memory, 8, 1), 0);
	assert_int_equal(fake_progress(2), 2);
	assert_nothing(&c);
	assert_int_equal(fake_progress(1), 1);
	assert_next(&c, IBV_WC_RNR_RETRY_EXC_ERR);
	assert_nothing(&d);
}

static void
each_message_has_all_its_tries(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ .rnr_retry = 2 });
	fake_complete_with(FAKE_ANY_QP, 3, IBV_WC_GENERAL_ERR); /* a try is not a send */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(post_imm(&a, &b, 0, a.memory, 8, 1), 0);
		assert_int_equal(fake_progress(2), 2);
		assert_nothing(&a);
		assert_int_equal(post_receive(&b, 1, NULL, 0), 0);
		run();
		assert_next(&b, IBV_WC_SUCCESS);
		assert_next(&a, IBV_WC_SUCCESS);
	}
	assert_int_equal(post_imm(&a, &b, 0, a.memory, 8, 1), 0);
	run();
	assert_next(&a, IBV_WC_GENERAL_ERR);
}

static void
a_send_without_timeout_waits_for_its_peer(void **state)
{
	struct side a = open_side((struct wish){ 0 }), b = open_side((struct wish){ 0 });
	register_side(&a, (struct wish){ 0 });
	register_side(&b, (struct wish){ 0 });
	struct ibv_qp_attr rtr = rtr_to(&b), rts = rts_of(&a, 7);
	rts.timeout = 0;
	assert_int_equal(to_init(&a), 0);
	assert_int_equal(verbs->modify_qp(a.qp, &rtr, TO_RTR), 0);
	assert_int_equal(verbs->modify_qp(a.qp, &rts, TO_RTS), 0);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
	assert_int_equal(fake_progress(9), 0);
	connect_side(&b, &a, (struct wish){ 0 });
	run();
	assert_next(&a, IBV_WC_SUCCESS);
}

static void
both_ends_must_agree_on_the_connection(void **state)
{
	for (int wrong = 0; wrong < 5; wrong++) {
		set_up(NULL);
		struct side a = open_side((struct wish){ 0 }), b = open_side((struct wish){ 0 });
		register_side(&a, (struct wish){ 0 });
		register_side(&b, (struct wish){ 0 });
		assert_true(a.lid != b.lid);
		connect_side(&a, &b, (struct wish){ 0 });
		struct ibv_qp_attr rtr = rtr_to(&a);
		rtr.rq_psn ^= wrong == 1;
		rtr.dest_qp_num += wrong == 2;
		rtr.path_mtu -= wrong == 3;
		assert_int_equal(to_init(&b), 0);
		if (wrong < 4)
			assert_int_equal(verbs->modify_qp(b.qp, &rtr, TO_RTR), 0);
		assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
		run();
		struct ibv_wc wc = next_completion(&a);
		if (wc.status != (wrong ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS))
			fail_msg("case %d: status %d", wrong, wc.status);
	}
}

/* Order. */

enum { PEERS = 4, WRITES = 24 };

static void
order_holds_within_a_queue_pair_only(void **state)
{
	uint64_t seed = first_seed();
	bool has_overtaken = false;
	for (int turn = 0; turn < 20; turn++) {
		set_up(NULL);
		fake_seed(seed + (uint64_t)turn);
		struct side from[PEERS], to[PEERS];
		for (int i = 0; i < PEERS; i++)
			open_pair(&from[i], &to[i],
				  (struct wish){ .sends = WRITES, .receives = WRITES });
		for (int n = 0; n < WRITES; n++)
			for (int i = 0; i < PEERS; i++) {
				assert_int_equal(post_receive(&to[i], (uint64_t)n, NULL, 0), 0);
				assert_int_equal(post_imm(&from[i], &to[i], 0, NULL, 0,
							  (uint32_t)n), 0);
			}
		uint32_t next[PEERS] = { 0 };
		while (fake_progress(1))
			for (int i = 0; i < PEERS; i++) {
				struct ibv_wc wc;
				if (!verbs->poll_cq(to[i].cq, 1, &wc))
					continue;
				if (wc.imm_data != next[i] || wc.wr_id != next[i])
					fail_msg("seed %ju: %u after %u", (uintmax_t)seed,
						 wc.imm_data, next[i]);
				next[i]++;
				/* Round i+1 here before round i there. */
				has_overtaken |= i > 0 && next[i] > next[0];
			}
		for (int i = 0; i < PEERS; i++)
			assert_int_equal(next[i], WRITES);
	}
	assert_true(has_overtaken);
}

static void
one_seed_gives_one_order(void **state)
{
	char order[2][64];
	for (int turn = 0; turn < 2; turn++) {
		set_up(NULL);
		fake_seed(1);
		struct side a, b, c, d;
		size_t n = 0;
		open_pair(&a, &b, (struct wish){ 0 });
		open_pair(&c, &d, (struct wish){ 0 });
		for (int i = 0; i < 8; i++) {
			post_write(&a, &b, 0, a.memory, 8, SIGNALED);
			post_write(&c, &d, 0, c.memory, 8, SIGNALED);
		}
		while (fake_progress(1)) {
			struct ibv_wc wc;
			int first = verbs->poll_cq(a.cq, 1, &wc),
			    second = verbs->poll_cq(c.cq, 1, &wc);
			order[turn][n++] = (char)('0' + first + 2 * second);
		}
		assert_int_equal(n, 32);
		order[turn][n] = '\0';
	}
	assert_string_equal(order[0], order[1]);
}

static void
polling_alone_moves_things(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	fake.poll_steps = 2;
	assert_int_equal(post_receive(&b, 1, NULL, 0), 0);
	assert_int_equal(post_imm(&a, &b, 0, a.memory, 8, 1), 0);
	struct ibv_wc wc;
	int polls = 0;
	while (!verbs->poll_cq(b.cq, 1, &wc) && polls < 1000)
		polls++;
	while (!verbs->poll_cq(a.cq, 1, &wc) && polls < 1000)
		polls++;
	assert_true(polls < 1000);
}

/* A write of 8 bytes: which of the states old, new, front only, back only does somebody see who
 * looks at memory? */
static unsigned
states_seen(bool is_torn, bool has_imm)
{
	unsigned seen = 0;
	for (uint64_t seed = 0; seed < 100; seed++) {
		set_up(NULL);
		fake_seed(seed);
		fake.is_torn = is_torn;
		struct side a, b;
		open_pair(&a, &b, (struct wish){ 0 });
		memset(a.memory, 'n', 8);
		memset(b.memory, 'o', 8);
		assert_int_equal(post_receive(&b, 1, NULL, 0), 0);
		if (has_imm)
			assert_int_equal(post_imm(&a, &b, 0, a.memory, 8, 1), 0);
		else
			assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
		for (size_t steps = 1; steps;) {
			struct ibv_wc wc;
			unsigned now = (b.memory[0] == 'n') + 2u * (b.memory[7] == 'n');
			seen |= 1U << now;
			if (verbs->poll_cq(a.cq, 1, &wc) || verbs->poll_cq(b.cq, 1, &wc))
				assert_memory_equal(b.memory, a.memory, 8);
			steps = fake_progress(1);
		}
		assert_memory_equal(b.memory, a.memory, 8);
	}
	return seen;
}

static void
torn_writes_are_whole_when_they_complete(void **state)
{
	for (int has_imm = 0; has_imm < 2; has_imm++) {
		assert_int_equal(states_seen(false, has_imm), 1 | 8);
		assert_int_equal(states_seen(true, has_imm), 1 | 2 | 4 | 8);
	}
}

/* A flag in a write of its own, polled in memory: right on every vendor's device, and promised by
 * none. */
static void
torn_writes_overtake_each_other_until_a_receive_completes(void **state)
{
	bool has_overtaken = false;
	for (uint64_t seed = 0; seed < 200; seed++) {
		set_up(NULL);
		fake_seed(seed);
		fake.is_torn = true;
		struct side a, b;
		open_pair(&a, &b, (struct wish){ 0 });
		memset(a.memory, 'n', 16);
		assert_int_equal(post_receive(&b, 1, NULL, 0), 0);
		assert_int_equal(post_write(&a, &b, 0, a.memory, 8, 0), 0);
		assert_int_equal(post_write(&a, &b, 8, a.memory, 8, 0), 0);
		assert_int_equal(post_imm(&a, &b, 0, NULL, 0, 1), 0);
		struct ibv_wc wc;
		while (!verbs->poll_cq(b.cq, 1, &wc)) {
			bool is_second_whole = !memcmp(b.memory + 8, a.memory, 8);
			has_overtaken |= is_second_whole && memcmp(b.memory, a.memory, 8);
			assert_int_equal(fake_progress(1), 1);
		}
		assert_memory_equal(b.memory, a.memory, 16);
	}
	assert_true(has_overtaken);
}

/* A torn immediate that waits for its receive does not hold up the completion of what was before
 * it. */
static void
torn_writes_complete_while_a_later_one_waits(void **state)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		set_up(NULL);
		fake_seed(seed);
		fake.is_torn = true;
		struct side a, b;
		open_pair(&a, &b, (struct wish){ 0 });
		assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
		assert_int_equal(post_imm(&a, &b, 8, a.memory, 8, 1), 0);
		run();
		assert_next(&a, IBV_WC_SUCCESS);
		assert_nothing(&a);
		assert_int_equal(post_receive(&b, 1, NULL, 0), 0);
		run();
		assert_next(&b, IBV_WC_SUCCESS);
		assert_next(&a, IBV_WC_SUCCESS);
	}
}

/* Everybody to everybody, through slots: data in an inline write, the word in an immediate. */

enum { RANKS = 5, SLOTS = 4, MESSAGES = 60 };

struct crowd {
	struct side ends[RANKS][RANKS]; /* of the first, towards the second */
	unsigned sent[RANKS][RANKS], received[RANKS][RANKS];
};

static void
gather_crowd(struct crowd *crowd)
{
	const struct wish wish = { .sends = 4 * SLOTS, .receives = SLOTS,
				   .entries = RANKS * 5 * SLOTS, .in_line = 16 };
	for (int i = 0; i < RANKS; i++)
		for (int j = 0; j < RANKS; j++) {
			struct side *end = &crowd->ends[i][j];
			if (j == 0) {
				*end = open_side(wish);
			} else {
				*end = crowd->ends[i][0];
				make_qp(end, wish);
			}
			register_side(end, wish);
		}
	for (int i = 0; i < RANKS; i++)
		for (int j = 0; j < RANKS; j++) {
			connect_side(&crowd->ends[i][j], &crowd->ends[j][i], wish);
			for (unsigned n = 0; n < SLOTS; n++)
				assert_int_equal(post_receive(&crowd->ends[i][j], n, NULL, 0), 0);
		}
}

/* The next message, if its slot is free and the queue has room for both parts. */
static void
send_in_crowd(struct crowd *crowd, int from, int to)
{
	unsigned n = crowd->sent[from][to];
	struct side *end = &crowd->ends[from][to], *peer = &crowd->ends[to][from];
	if (n == MESSAGES || n == crowd->received[to][from] + SLOTS)
		return;
	uint64_t data[2] = { n, n * 3 };
	if (post_write(end, peer, n % SLOTS * 16, data, sizeof data, IBV_SEND_INLINE) == ENOMEM)
		return;
	if (post_imm(end, peer, 0, NULL, 0, n) == 0)
		crowd->sent[from][to]++; /* else the data is written again: the same */
}

static void
hear_in_crowd(struct crowd *crowd, int rank)
{
	struct ibv_wc wcs[3];
	int count = verbs->poll_cq(crowd->ends[rank][0].cq, 3, wcs);
	assert_true(count >= 0);
	for (int i = 0; i < count; i++) {
		assert_int_equal(wcs[i].status, IBV_WC_SUCCESS);
		if (wcs[i].opcode != IBV_WC_RECV_RDMA_WITH_IMM)
			continue;
		int from = 0;
		while (crowd->ends[rank][from].qp->qp_num != wcs[i].qp_num)
			from++;
		unsigned n = crowd->received[rank][from]++;
		struct side *end = &crowd->ends[rank][from];
		uint64_t data[2];
		memcpy(data, end->memory + n % SLOTS * 16, sizeof data);
		assert_int_equal(wcs[i].imm_data, n);
		assert_int_equal(data[0], n);
		assert_int_equal(data[1], n * 3);
		assert_int_equal(post_receive(end, n, NULL, 0), 0);
	}
}

static void
a_crowd_gets_every_message_in_order(void **state)
{
	static struct crowd crowd;
	for (uint64_t seed = 0; seed < 8; seed++) {
		set_up(NULL);
		fake_seed(first_seed() + seed);
		fake.is_torn = seed % 2;
		fake.poll_steps = 3;
		crowd = (struct crowd){ 0 };
		gather_crowd(&crowd);
		for (unsigned rounds = 0, missing = 1; missing > 0; rounds++) {
			assert_true(rounds < 100000);
			missing = 0;
			for (int i = 0; i < RANKS; i++) {
				hear_in_crowd(&crowd, i);
				for (int j = 0; j < RANKS; j++) {
					send_in_crowd(&crowd, i, j);
					missing += crowd.received[i][j] < MESSAGES;
				}
			}
		}
		assert_int_equal(fake_counted()->posted[IBV_WR_RDMA_WRITE_WITH_IMM],
				 RANKS * RANKS * MESSAGES);
		assert_int_equal(fake_counted()->misuses, 0);
	}
}

/* Datagrams. */

static void
open_datagram_side(struct side *side)
{
	*side = open_side((struct wish){ .type = IBV_QPT_UD });
	register_side(side, (struct wish){ 0 });
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR }, rts = { .qp_state = IBV_QPS_RTS };
	assert_int_equal(to_init(side), 0);
	assert_int_equal(verbs->modify_qp(side->qp, &rtr, IBV_QP_STATE), 0);
	assert_int_equal(verbs->modify_qp(side->qp, &rts, IBV_QP_STATE), EINVAL);
	assert_int_equal(verbs->modify_qp(side->qp, &rts, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

static int
post_datagram(struct side *from, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey, const char *text)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND, .send_flags = SIGNALED,
				  .wr.ud = { .ah = ah, .remote_qpn = qpn, .remote_qkey = qkey } };
	strcpy(from->memory + 2048, text);
	return post(from, wr, from->memory + 2048, strlen(text) + 1);
}

static void
a_datagram_follows_forty_bytes(void **state)
{
	struct side a, b;
	open_datagram_side(&a);
	open_datagram_side(&b);
	for (int is_global = 0; is_global < 2; is_global++) {
		struct ibv_ah_attr to = { .dlid = b.lid, .port_num = 1,
					  .is_global = (uint8_t)is_global,
					  .grh = { .dgid = b.gid, .hop_limit = 3 } };
		struct ibv_ah *ah = verbs->create_ah(a.pd, &to);
		assert_non_null(ah);
		assert_int_equal(post_receive(&b, 1, b.memory, 46), 0);
		assert_int_equal(post_datagram(&a, ah, b.qp->qp_num, 7, "hello"), 0);
		run();
		struct ibv_wc wc = next_completion(&b);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.byte_len, 46);
		assert_int_equal(wc.src_qp, a.qp->qp_num);
		assert_int_equal(wc.slid, a.lid);
		assert_int_equal(wc.wc_flags, is_global ? IBV_WC_GRH : 0);
		assert_string_equal(b.memory + 40, "hello");
		struct ibv_grh grh;
		memcpy(&grh, b.memory, sizeof grh);
		assert_int_equal(!memcmp(&grh.sgid, &a.gid, sizeof a.gid), is_global);
		assert_int_equal(!memcmp(&grh.dgid, &b.gid, sizeof b.gid), is_global);
		assert_next(&a, IBV_WC_SUCCESS);
	}
}

static void
datagrams_are_lost_without_a_word(void **state)
{
	struct side a, b;
	open_datagram_side(&a);
	open_datagram_side(&b);
	struct ibv_ah_attr to = { .dlid = b.lid, .port_num = 1 };
	struct ibv_ah *ah = verbs->create_ah(a.pd, &to);
	to.dlid = a.lid;
	struct ibv_ah *wrong = verbs->create_ah(a.pd, &to);
	const struct {
		const char *what;
		struct ibv_ah *ah;
		uint32_t qpn, qkey;
		size_t room;
		unsigned loss;
		bool arrives;
	} cases[] = {
		{ "good", ah, b.qp->qp_num, 7, 46, 0, true },
		{ "no receive", ah, b.qp->qp_num, 7, 0, 0, false },
		{ "short receive", ah, b.qp->qp_num, 7, 45, 0, false },
		{ "qkey", ah, b.qp->qp_num, 8, 46, 0, false },
		{ "sender's qkey", ah, b.qp->qp_num, 0x80000000, 46, 0, true },
		{ "address", wrong, b.qp->qp_num, 7, 46, 0, false },
		{ "no such QP", ah, 12345, 7, 46, 0, false },
		{ "loss", ah, b.qp->qp_num, 7, 46, 100, false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		uint64_t before = fake_counted()->dropped;
		struct ibv_wc wc;
		struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
		fake.loss = cases[i].loss;
		if (cases[i].room > 0)
			assert_int_equal(post_receive(&b, i, b.memory, cases[i].room), 0);
		assert_int_equal(post_datagram(&a, cases[i].ah, cases[i].qpn, cases[i].qkey,
					       "hello"), 0);
		run();
		assert_next(&a, IBV_WC_SUCCESS);
		if (verbs->poll_cq(b.cq, 1, &wc) != cases[i].arrives ||
		    fake_counted()->dropped - before != !cases[i].arrives)
			fail_msg("%s: arrived or not, against the rule", cases[i].what);
		struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR };
		assert_int_equal(verbs->modify_qp(b.qp, &reset, IBV_QP_STATE), 0);
		assert_int_equal(to_init(&b), 0);
		assert_int_equal(verbs->modify_qp(b.qp, &rtr, IBV_QP_STATE), 0);
	}
}

static void
a_datagram_is_no_longer_than_the_mtu_and_its_address_lives(void **state)
{
	struct side a, b;
	struct said said;
	fake.devices[0].ports[0].attributes.active_mtu = IBV_MTU_256;
	open_datagram_side(&a);
	open_datagram_side(&b);
	struct ibv_ah_attr to = { .dlid = a.lid, .port_num = 1 };
	struct ibv_ah *own = verbs->create_ah(a.pd, &to), *gone = verbs->create_ah(b.pd, &to);
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND,
				  .wr.ud = { .ah = own, .remote_qpn = a.qp->qp_num } };
	assert_int_equal(post(&a, wr, a.memory, 256), 0);
	assert_int_equal(post(&a, wr, a.memory, 257), 0);
	run();
	assert_next(&a, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(post_datagram(&b, gone, a.qp->qp_num, 7, "x"), 0);
	verbs->destroy_ah(gone);
	said_begin(&said);
	run();
	assert_contains(said_end(&said), "AH that is destroyed");
	assert_next(&b, IBV_WC_LOC_QP_OP_ERR);
	struct side c;
	open_datagram_side(&c);
	assert_int_equal(post_datagram(&c, own, c.qp->qp_num, 7, "x"), 0); /* of another's domain */
	run();
	assert_next(&c, IBV_WC_LOC_QP_OP_ERR);
}

static void
a_multicast_reaches_all_that_are_attached(void **state)
{
	struct side sides[3];
	const union ibv_gid group = { .raw = { 0xff, 0x12, [15] = 9 } };
	for (int i = 0; i < 3; i++) {
		open_datagram_side(&sides[i]);
		assert_int_equal(post_receive(&sides[i], 1, sides[i].memory, 64), 0);
		assert_int_equal(post_receive(&sides[i], 2, sides[i].memory, 64), 0);
		assert_int_equal(verbs->attach_mcast(sides[i].qp, &group, 0xc001), 0);
		/* One copy all the same */
		assert_int_equal(verbs->attach_mcast(sides[i].qp, &group, 0xc001), 0);
	}
	assert_int_equal(verbs->detach_mcast(sides[2].qp, &group, 0xc001), 0);
	struct ibv_ah_attr to = { .dlid = 0xc001, .port_num = 1, .is_global = 1,
				  .grh.dgid = group };
	struct ibv_ah *ah = verbs->create_ah(sides[0].pd, &to);
	for (int hears_itself = 0; hears_itself < 2; hears_itself++) {
		fake.hears_itself = hears_itself;
		assert_int_equal(post_datagram(&sides[0], ah, 0xffffff, 7, "all"), 0);
		run();
		assert_int_equal(next_completion(&sides[1]).opcode, IBV_WC_RECV);
		assert_string_equal(sides[1].memory + 40, "all");
		assert_nothing(&sides[1]);
		assert_nothing(&sides[2]);
		if (hears_itself)
			assert_int_equal(next_completion(&sides[0]).opcode, IBV_WC_RECV);
		assert_int_equal(next_completion(&sides[0]).opcode, IBV_WC_SEND);
		assert_nothing(&sides[0]);
	}
	union ibv_gid unicast = sides[0].gid;
	assert_int_equal(verbs->attach_mcast(sides[0].qp, &unicast, 0xc001), EINVAL);
	struct side connected = open_side((struct wish){ 0 });
	assert_int_equal(verbs->attach_mcast(connected.qp, &group, 0xc001), EINVAL);
}

/* The machine. */

static void
devices_ports_and_gids_are_as_set(void **state)
{
	fake.device_count = 2;
	strcpy(fake.devices[1].name, "mlx5_7");
	fake.devices[0].attributes.phys_port_cnt = 2;
	fake.devices[0].ports[1].attributes.state = IBV_PORT_INIT;
	fake_roce(1);
	int count;
	struct ibv_device **list = verbs->get_device_list(&count);
	assert_int_equal(count, 2);
	assert_null(list[2]);
	assert_string_equal(verbs->get_device_name(list[1]), "mlx5_7");
	struct ibv_context *two = verbs->open_device(list[0]), *roce = verbs->open_device(list[1]);
	struct ibv_port_attr port;
	struct ibv_device_attr device;
	struct ibv_gid_entry gids[4];
	memset(&port, 0x5a, sizeof port);
	assert_int_equal(verbs->query_port(two, 2, &port), 0);
	assert_int_equal(port.state, IBV_PORT_INIT);
	assert_int_equal(port.flags, 0x5a); /* as libibverbs: not written */
	assert_int_equal(verbs->query_port(two, 3, &port), EINVAL);
	assert_int_equal(verbs->query_device(two, &device), 0);
	assert_int_equal(device.phys_port_cnt, 2);
	assert_int_equal(verbs->query_gid_table(two, gids, 4), 2);
	assert_int_equal(gids[1].port_num, 2);
	assert_int_equal(gids[1].gid_type, IBV_GID_TYPE_IB);
	assert_int_equal(verbs->query_port(roce, 1, &port), 0);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port.lid, 0);
	assert_int_equal(verbs->query_gid_table(roce, gids, 3), -EINVAL); /* too little room */
	assert_int_equal(verbs->query_gid_table(roce, gids, 4), 4);
	assert_int_equal(gids[3].gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(gids[3].gid.raw[10], 0xff);
}

static void
roce_needs_a_gid_of_the_right_type(void **state)
{
	for (int wrong = 0; wrong < 3; wrong++) {
		set_up(NULL);
		fake_roce(0);
		struct side a = open_side((struct wish){ 0 }), b = open_side((struct wish){ 0 });
		register_side(&a, (struct wish){ 0 });
		register_side(&b, (struct wish){ 0 });
		struct ibv_qp_attr rtr = rtr_to(&b), rts = rts_of(&a, 7), back = rtr_to(&a);
		assert_int_equal(to_init(&a), 0);
		assert_int_equal(to_init(&b), 0);
		assert_int_equal(verbs->modify_qp(a.qp, &rtr, TO_RTR), EINVAL); /* no GID */
		rtr.ah_attr.is_global = back.ah_attr.is_global = 1;
		rtr.ah_attr.grh.sgid_index = 4;
		assert_int_equal(verbs->modify_qp(a.qp, &rtr, TO_RTR), EINVAL);
		/* v1 and v2 of one address are both at b, v2 of IPv4 too; a's own address is
		 * not. */
		rtr.ah_attr.grh = (struct ibv_global_route){ .dgid = wrong == 1 ? a.gid : b.gid,
							     .sgid_index = 3 };
		back.ah_attr.grh = (struct ibv_global_route){ .dgid = a.gid };
		struct ibv_gid_entry *last = &fake.devices[0].ports[0].gids[3];
		last->gid_index = 9; /* the table has holes */
		assert_int_equal(verbs->modify_qp(a.qp, &rtr, TO_RTR), EINVAL);
		rtr.ah_attr.grh.sgid_index = 9;
		if (wrong == 2)
			last->gid_type = IBV_GID_TYPE_IB;
		assert_int_equal(verbs->modify_qp(a.qp, &rtr, TO_RTR), 0);
		assert_int_equal(verbs->modify_qp(a.qp, &rts, TO_RTS), 0);
		assert_int_equal(verbs->modify_qp(b.qp, &back, TO_RTR), 0);
		assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
		run();
		assert_next(&a, wrong ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS);
	}
}

static void
limits_are_kept(void **state)
{
	struct ibv_device_attr *most = &fake.devices[0].attributes;
	most->max_qp = most->max_mr = 1;
	most->max_cq = 2;
	most->max_pd = 1;
	most->max_cqe = 256;
	struct side a = open_side((struct wish){ 0 });
	struct ibv_qp_init_attr asked = { .send_cq = a.cq, .recv_cq = a.cq, .qp_type = IBV_QPT_RC };
	register_side(&a, (struct wish){ 0 });
	errno = 0;
	assert_null(verbs->create_qp(a.pd, &asked));
	assert_int_equal(errno, ENOMEM);
	assert_null(verbs->reg_mr(a.pd, a.memory, 8, 0));
	assert_int_equal(errno, ENOMEM);
	assert_null(verbs->alloc_pd(a.context));
	assert_null(verbs->create_cq(a.context, 257));
	assert_int_equal(errno, EINVAL);
	assert_non_null(verbs->create_cq(a.context, 256));
	assert_null(verbs->create_cq(a.context, 1));
	assert_int_equal(errno, ENOMEM);
	asked.cap.max_send_wr = (uint32_t)most->max_qp_wr + 1;
	assert_null(verbs->create_qp(a.pd, &asked));
	assert_int_equal(errno, EINVAL);
	open_side((struct wish){ 0 }); /* another machine has its own */
}

static void
registration_is_refused_where_the_kernel_would(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct ibv_context *context = open_first();
	struct ibv_pd *pd = verbs->alloc_pd(context);
	char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	fake.memlock = 2 * page;
	/* Needs the local right */
	assert_null(verbs->reg_mr(pd, memory, 8, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(verbs->reg_mr(pd, memory, 2 * page + 1, 0));
	assert_int_equal(errno, ENOMEM);
	struct ibv_mr *mr = verbs->reg_mr(pd, memory + page - 1, 2, 0); /* two pages */
	assert_non_null(mr);
	assert_int_equal(fake_counted()->pinned, 2 * page);
	assert_null(verbs->reg_mr(pd, memory, 1, 0));
	assert_int_equal(verbs->dereg_mr(mr), 0);
	assert_int_equal(mprotect(memory, page, PROT_READ), 0);
	if (!madvise(memory, page, MADV_POPULATE_WRITE))
		leave_out("advice does not reach the kernel here"); /* as under an emulator */
	assert_null(verbs->reg_mr(pd, memory, 1, IBV_ACCESS_LOCAL_WRITE));
	assert_int_equal(errno, EFAULT);
	mr = verbs->reg_mr(pd, memory, 1, 0);
	assert_non_null(mr);
	assert_int_equal(verbs->dereg_mr(mr), 0);
	munmap(memory, 4 * page);
	assert_null(verbs->reg_mr(pd, memory, 1, 0));
	assert_int_equal(errno, EFAULT);
}

/* Faults. */

static void
the_nth_call_fails_in_the_way_of_its_verb(void **state)
{
	struct ibv_context *context = open_first();
	struct ibv_pd *pd = verbs->alloc_pd(context);
	struct ibv_gid_entry gids[FAKE_GIDS];
	struct ibv_cq *cq = verbs->create_cq(context, 4);
	struct ibv_wc wc;
	fake_fail("create_cq", 2, EAGAIN);
	assert_non_null(verbs->create_cq(context, 4));
	errno = 0;
	assert_null(verbs->create_cq(context, 4));
	assert_int_equal(errno, EAGAIN);
	assert_non_null(verbs->create_cq(context, 4));
	fake_fail("query_gid_table", 1, EPERM);
	assert_int_equal(verbs->query_gid_table(context, gids, COUNT(gids)), -EPERM);
	fake_fail("poll_cq", 1, EIO);
	assert_int_equal(verbs->poll_cq(cq, 1, &wc), -1);
	assert_int_equal(verbs->poll_cq(cq, 1, &wc), 0);
	fake_fail("dealloc_pd", 0, EBUSY);
	for (int i = 0; i < 3; i++)
		assert_int_equal(verbs->dealloc_pd(pd), EBUSY);
	fake_fail("get_device_list", 1, ENOSYS);
	assert_null(verbs->get_device_list(NULL));
	assert_int_equal(errno, ENOSYS);
	assert_int_equal(fake_calls("create_cq"), 4);
	assert_int_equal(fake_calls("dealloc_pd"), 3);
}

static void
a_failing_post_names_the_request(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	fake_fail("post_send", 1, EIO);
	assert_int_equal(post_message(&a, a.memory, 8), EIO); /* post() looks at bad */
	fake_fail("post_recv", 1, EIO);
	assert_int_equal(post_receive(&a, 1, NULL, 0), EIO);
	assert_int_equal(fake_counted()->posted[IBV_WR_SEND], 0);
}

static void
the_nth_send_completes_as_wished(void **state)
{
	struct side a, b, c, d;
	open_pair(&a, &b, (struct wish){ 0 });
	open_pair(&c, &d, (struct wish){ 0 });
	fake_complete_with(c.qp->qp_num, 2, IBV_WC_RETRY_EXC_ERR);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
		assert_int_equal(post_write(&c, &d, 0, c.memory, 8, 0), 0);
	}
	run();
	for (int i = 0; i < 3; i++)
		assert_next(&a, IBV_WC_SUCCESS);
	assert_next(&c, IBV_WC_RETRY_EXC_ERR);
	assert_next(&c, IBV_WC_WR_FLUSH_ERR);
	assert_nothing(&c);
	fake_complete_with(FAKE_ANY_QP, 1, IBV_WC_FATAL_ERR);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, 0), 0);
	run();
	assert_next(&a, IBV_WC_FATAL_ERR);
}

static void
events_are_told_once_and_must_be_acknowledged(void **state)
{
	struct side a, b;
	struct said said;
	struct ibv_async_event event;
	open_pair(&a, &b, (struct wish){ 0 });
	said_begin(&said);
	int got = verbs->get_async_event(a.context, &event);
	int error = errno;
	assert_contains(said_end(&said), "would block");
	assert_int_equal(got, -1);
	assert_int_equal(error, EAGAIN);
	assert_int_equal(fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(verbs->get_async_event(a.context, &event), -1);
	assert_int_equal(fake_counted()->misuses, 1);

	struct pollfd fd = { .fd = a.context->async_fd, .events = POLLIN };
	assert_int_equal(poll(&fd, 1, 0), 0);
	fake_port(IBV_PORT_DOWN);
	fake_event(IBV_EVENT_QP_FATAL);
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_int_equal(verbs->get_async_event(a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
	assert_int_equal(event.element.port_num, 1);
	verbs->ack_async_event(&event);
	struct ibv_port_attr port;
	assert_int_equal(verbs->query_port(a.context, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_DOWN);
	assert_int_equal(verbs->get_async_event(a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
	assert_ptr_equal(event.element.qp, a.qp);
	assert_int_equal(poll(&fd, 1, 0), 0);
	said_begin(&said);
	verbs->destroy_qp(a.qp);
	assert_contains(said_end(&said), "would wait for 1 events");
	assert_int_equal(verbs->destroy_qp(b.qp), 0); /* its event was never got, nor will be */
	assert_int_equal(fake_counted()->misuses, 2);
	fd.fd = b.context->async_fd;
	assert_int_equal(verbs->get_async_event(b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_PORT_ERR);
	assert_int_equal(poll(&fd, 1, 0), 0);
}

static void
a_device_that_is_gone_flushes_and_lets_go(void **state)
{
	struct side a, b;
	struct ibv_async_event event;
	open_pair(&a, &b, (struct wish){ 0 });
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, SIGNALED), 0);
	fake_drop_device();
	assert_next(&a, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(verbs->get_async_event(a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, 0), 0);
	assert_next(&a, IBV_WC_WR_FLUSH_ERR);
	errno = 0;
	assert_null(verbs->reg_mr(a.pd, a.memory, 8, 0));
	assert_int_equal(errno, EIO);
	int count;
	struct ibv_device **list = verbs->get_device_list(&count);
	assert_int_equal(count, 0);
	verbs->free_device_list(list);
	close_side(&a);
	close_side(&b);
	assert_int_equal(fake_leaks(stderr), 0);
}

static void
counters_count(void **state)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ .in_line = 64 });
	assert_int_equal(post_receive(&b, 1, NULL, 0), 0);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 100, 0), 0);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 20, IBV_SEND_INLINE), 0);
	assert_int_equal(post_imm(&a, &b, 0, NULL, 0, 1), 0);
	run();
	assert_next(&a, IBV_WC_SUCCESS);
	assert_next(&b, IBV_WC_SUCCESS);
	const struct fake_counters *got = fake_counted();
	assert_int_equal(got->posted[IBV_WR_RDMA_WRITE], 2);
	assert_int_equal(got->posted[IBV_WR_RDMA_WRITE_WITH_IMM], 1);
	assert_int_equal(got->is_inline, 1);
	assert_int_equal(got->is_signaled, 1);
	assert_int_equal(got->receives, 1);
	assert_int_equal(got->bytes, 120);
	assert_int_equal(got->completions, 2);
	assert_int_equal(got->errors, 0);
	assert_int_equal(fake_calls("post_send"), 3);
	assert_int_equal(fake_calls("modify_qp"), 6);
	fake.is_fork_safe = true;
	assert_int_equal(verbs->is_fork_safe(), 1);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup(name, set_up)
	const struct CMUnitTest tests[] = {
		TEST(every_pointer_is_there),
		TEST(what_is_not_destroyed_is_told),
		TEST(what_is_in_use_cannot_be_destroyed),
		TEST(use_after_destruction_is_told),
		TEST(a_connection_needs_each_attribute_of_each_step),
		TEST(attributes_out_of_range_are_refused),
		TEST(posting_waits_for_its_state),
		TEST(what_a_connection_cannot_do_is_refused_when_posted),
		TEST(a_write_arrives_and_then_completes),
		TEST(an_immediate_consumes_a_receive_without_memory),
		TEST(a_message_is_gathered_and_scattered),
		TEST(inline_data_is_read_when_posted_and_other_data_when_carried),
		TEST(inline_room_is_rounded_up_and_limited),
		TEST(a_send_queue_is_freed_by_polled_completions_only),
		TEST(a_chain_is_posted_up_to_the_bad_one),
		TEST(a_receive_queue_is_freed_by_polled_completions_only),
		TEST(a_completion_queue_that_overflows_is_dead),
		TEST(a_destroyed_queue_pair_leaves_no_completion),
		TEST(each_direction_has_its_completion_queue),
		TEST(closing_a_device_stops_what_it_was_sending),
		TEST(an_error_flushes_what_follows),
		TEST(keys_bounds_and_rights_are_checked),
		TEST(receives_are_checked_too),
		TEST(what_finds_no_receive_waits_or_gives_up),
		TEST(each_message_has_all_its_tries),
		TEST(a_send_without_timeout_waits_for_its_peer),
		TEST(both_ends_must_agree_on_the_connection),
		TEST(order_holds_within_a_queue_pair_only),
		TEST(one_seed_gives_one_order),
		TEST(polling_alone_moves_things),
		TEST(torn_writes_are_whole_when_they_complete),
		TEST(torn_writes_overtake_each_other_until_a_receive_completes),
		TEST(torn_writes_complete_while_a_later_one_waits),
		TEST(a_crowd_gets_every_message_in_order),
		TEST(a_datagram_follows_forty_bytes),
		TEST(datagrams_are_lost_without_a_word),
		TEST(a_datagram_is_no_longer_than_the_mtu_and_its_address_lives),
		TEST(a_multicast_reaches_all_that_are_attached),
		TEST(devices_ports_and_gids_are_as_set),
		TEST(roce_needs_a_gid_of_the_right_type),
		TEST(limits_are_kept),
		TEST(registration_is_refused_where_the_kernel_would),
		TEST(the_nth_call_fails_in_the_way_of_its_verb),
		TEST(a_failing_post_names_the_request),
		TEST(the_nth_send_completes_as_wished),
		TEST(events_are_told_once_and_must_be_acknowledged),
		TEST(a_device_that_is_gone_flushes_and_lets_go),
		TEST(counters_count),
	};
#undef TEST
	return cmocka_run_group_tests(tests, NULL, NULL);
}
