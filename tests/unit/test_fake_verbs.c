/* The fake fabric does what src/ib relies on, and promises no more: when data and completions are
 * there, how sends fail, what keys and limits allow. */
#include "fake_verbs.h"
#include "unit.h"

#include <errno.h>
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
	char memory[4096];
};

/* What makes an end; 0 is the usual. */
struct wish {
	unsigned sends, receives, entries, in_line;
	int access;
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

static struct side
open_side(struct wish wish)
{
	struct side side = { .context = open_first() };
	struct ibv_port_attr port;
	assert_int_equal(verbs->query_port(side.context, 1, &port), 0);
	side.lid = port.lid;
	side.pd = verbs->alloc_pd(side.context);
	side.cq = verbs->create_cq(side.context, wish.entries ? (int)wish.entries : 256);
	struct ibv_qp_init_attr asked = {
		.send_cq = side.cq, .recv_cq = side.cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = wish.sends ? wish.sends : 16,
			 .max_recv_wr = wish.receives ? wish.receives : 16, .max_send_sge = 2,
			 .max_recv_sge = 1, .max_inline_data = wish.in_line },
	};
	side.qp = verbs->create_qp(side.pd, &asked);
	assert_non_null(side.qp);
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
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };
	return verbs->modify_qp(side->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			       IBV_QP_ACCESS_FLAGS);
}

enum {
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
};

static struct ibv_qp_attr
rtr_to(const struct side *peer)
{
	return (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_1024,
				     .dest_qp_num = peer->qp->qp_num,
				     .rq_psn = peer->qp->qp_num & 0xffffff,
				     .ah_attr = { .dlid = peer->lid, .port_num = 1 } };
}

static void
connect_side(struct side *side, const struct side *peer)
{
	struct ibv_qp_attr rtr = rtr_to(peer),
			   rts = { .qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7,
				   .rnr_retry = 7, .sq_psn = side->qp->qp_num & 0xffffff };
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
	connect_side(a, b);
	connect_side(b, a);
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
post_receive(struct side *side, uint64_t wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id }, *bad = NULL;
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

/* Carrying. */

TEST(a_write_arrives_and_then_completes)
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

TEST(an_immediate_consumes_a_receive_without_memory)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	strcpy(a.memory, "hello");
	assert_int_equal(post_receive(&b, 5), 0);
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

TEST(inline_data_is_read_when_posted_and_other_data_when_carried)
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
}

/* Queues. */

TEST(a_send_queue_is_freed_by_polled_completions_only)
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

TEST(a_completion_queue_that_overflows_is_dead)
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

/* Refusals on the way. */

TEST(an_error_flushes_what_follows)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	assert_int_equal(post_receive(&a, 50), 0);
	assert_int_equal(post_write(&a, &b, 0, a.memory, 8, 0), 0);
	assert_int_equal(post_write(&a, &b, 8, a.memory, 8, SIGNALED), 0);
	b.mr->rkey ^= 1;
	assert_int_equal(post_write(&a, &b, 16, a.memory, 8, 0), 0);
	b.mr->rkey ^= 1;
	strcpy(a.memory, "flushed");
	assert_int_equal(post_write(&a, &b, 24, a.memory, 8, 0), 0);
	assert_int_equal(post_receive(&b, 60), 0);
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

TEST(keys_bounds_and_rights_are_checked)
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
	for (size_t i = 0; i < COUNT(cases); i++) {
		set_up(NULL);
		enum ibv_wc_status got = status_of_write(cases[i].at, cases[i].bytes,
							 cases[i].wish, cases[i].spoil);
		if (got != cases[i].status)
			fail_msg("%s: status %d, not %d", cases[i].what, got, cases[i].status);
	}
}

TEST(what_finds_no_receive_waits)
{
	struct side a, b;
	open_pair(&a, &b, (struct wish){ 0 });
	assert_int_equal(post_imm(&a, &b, 0, a.memory, 8, 1), 0);
	assert_int_equal(fake_progress(100), 0);
	assert_int_equal(post_receive(&b, 1), 0);
	run();
	assert_next(&b, IBV_WC_SUCCESS);
	assert_next(&a, IBV_WC_SUCCESS);
}

TEST(both_ends_must_agree_on_the_connection)
{
	for (int wrong = 0; wrong < 5; wrong++) {
		set_up(NULL);
		struct side a = open_side((struct wish){ 0 }), b = open_side((struct wish){ 0 });
		register_side(&a, (struct wish){ 0 });
		register_side(&b, (struct wish){ 0 });
		assert_true(a.lid != b.lid);
		connect_side(&a, &b);
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

TEST(order_holds_within_a_queue_pair_only)
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
				assert_int_equal(post_receive(&to[i], (uint64_t)n), 0);
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

/* A flag in a write of its own, polled in memory: right on every vendor's device, and promised by
 * none. */
TEST(torn_writes_overtake_each_other_until_a_receive_completes)
{
	bool has_overtaken = false;
	for (uint64_t seed = 0; seed < 200; seed++) {
		set_up(NULL);
		fake_seed(seed);
		fake.is_torn = true;
		struct side a, b;
		open_pair(&a, &b, (struct wish){ 0 });
		memset(a.memory, 'n', 16);
		assert_int_equal(post_receive(&b, 1), 0);
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

/* The machine. */

TEST(limits_are_kept)
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

TEST(registration_is_refused_where_the_kernel_would)
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

RUN_EACH_TEST(set_up, NULL)
