/* COUNT messages over verbs from one process to another, inside counted(), for callgrind
 * (tests/plans/step_cost). What the device's own functions do is not counted. Prints how many
 * messages that were.
 *
 *   ib_cost sender|receiver:BYTES[:BURST] COUNT
 *
 * BURST (1) messages are under way at once: what a turn costs is then shared by as many. Built with
 * UNCOPIED: without what memcpy does, which is the C library's and grows with the bytes. */
#include "ib_world.h"

int uncounted_post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad);
int uncounted_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad);
int uncounted_poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *completions);
__attribute__((noinline)) void counted(void (*part)(void));

static struct world_group group;
static char out[4096], in[4096];
static struct cs_request sends[8], receives[8];
static size_t bytes;
static int burst = 1;

static bool is_counting;

#ifdef UNCOPIED
void *uncounted_memcpy(void *to, const void *from, size_t length);
/* The linker puts it in the place of memcpy */
void *__wrap_memcpy(void *to, const void *from, size_t length);
void *__real_memcpy(void *to, const void *from, size_t length);

__attribute__((noinline)) void *
uncounted_memcpy(void *to, const void *from, size_t length)
{
	return __real_memcpy(to, from, length);
}

void *
__wrap_memcpy(void *to, const void *from, size_t length)
{
	return (is_counting ? uncounted_memcpy : __real_memcpy)(to, from, length);
}
#endif

__attribute__((noinline)) int
uncounted_post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	is_counting = false; /* nor is what the device calls */
	int result = fake_verbs()->post_send(qp, request, bad);
	is_counting = true;
	return result;
}

__attribute__((noinline)) int
uncounted_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	is_counting = false; /* nor is what the device calls */
	int result = fake_verbs()->post_recv(qp, request, bad);
	is_counting = true;
	return result;
}

__attribute__((noinline)) int
uncounted_poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *completions)
{
	is_counting = false; /* nor is what the device calls */
	int result = fake_verbs()->poll_cq(cq, room, completions);
	is_counting = true;
	return result;
}

/* The same, where nothing is counted anyway: callgrind would begin to. */
static int
post_send(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	return (is_counting ? uncounted_post_send : fake_verbs()->post_send)(qp, request, bad);
}

static int
post_recv(struct ibv_qp *qp, struct ibv_recv_wr *request, struct ibv_recv_wr **bad)
{
	return (is_counting ? uncounted_post_recv : fake_verbs()->post_recv)(qp, request, bad);
}

static int
poll_cq(struct ibv_cq *cq, int room, struct ibv_wc *completions)
{
	return (is_counting ? uncounted_poll_cq : fake_verbs()->poll_cq)(cq, room, completions);
}

void
counted(void (*part)(void))
{
	is_counting = true;
	part();
	is_counting = false;
}

static void
start_send(void)
{
	for (int i = 0; i < burst; i++)
		group.wires[0]->send(group.wires[0], &sends[i], 1, 0, out, bytes);
}

static void
end_send(void)
{
	for (int i = 0; i < burst; i++)
		while (!group.wires[0]->test(group.wires[0], &sends[i]))
			;
}

static void
start_recv(void)
{
	for (int i = 0; i < burst; i++)
		group.wires[1]->recv(group.wires[1], &receives[i], 0, 0, in, bytes);
}

static void
end_recv(void)
{
	for (int i = 0; i < burst; i++)
		while (!group.wires[1]->test(group.wires[1], &receives[i]))
			;
}

static void
not_counted(void (*part)(void))
{
	part();
}

int
main(int argc, char **argv)
{
	char side[16] = "";
	int most = 0;
	if (argc != 3 || sscanf(argv[1], "%15[a-z]:%zu:%d", side, &bytes, &most) < 2 ||
	    bytes > sizeof out || most > 8)
		return 2;
	bool is_sender = !strcmp(side, "sender");
	void (*of_sender)(void (*)(void)) = is_sender ? counted : not_counted;
	void (*of_receiver)(void (*)(void)) = is_sender ? not_counted : counted;
	struct cs_verbs verbs = *fake_verbs();
	verbs.post_send = post_send;
	verbs.post_recv = post_recv;
	verbs.poll_cq = poll_cq;
	world.verbs = &verbs;
	struct cs_ib_options options = world_options();
	options.slots = 16;
	options.slot_bytes = 2048;
	world_open(2, &options, false);
	world_group_open(&group, (int[]){ 0, 1 }, 2);
	start_send();
	start_recv();
	if (!world_finish(group.wires[0], &sends[0], group.wires[1], &receives[0]))
		return 1;
	fake.poll_steps = 0;
	int count = atoi(argv[2]);
	burst = most ? most : 1;
	for (int i = 0; i < count; i += burst) {
		of_receiver(start_recv);
		of_sender(start_send);
		of_sender(end_send);
		fake_progress(1000);
		of_receiver(end_recv);
		fake_progress(1000);
	}
	printf("%d\n", (count + burst - 1) / burst * burst);
	fake.poll_steps = 4;
	world_group_close(&group);
	world_close();
	return 0;
}
