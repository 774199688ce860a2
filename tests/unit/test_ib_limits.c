/* What src/ib holds on to, counts and gives back: memory, slots, requests, registrations; and how
 * it ends. */
#include "ib_traffic.h"

#include "ib/internal.h"
#include "ib/watch.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/mman.h>

static struct world_group group, second_group;

static int
set_up(void **state)
{
	fake_reset();
	fake_seed(first_seed());
	world.random = first_seed();
	return 0;
}

static void
open_pair(bool polls_flags)
{
	struct cs_ib_options options = world_options();
	options.polls_flags = polls_flags;
	world_open(2, &options, false);
	world_group_open(&group, (int[]){ 0, 1 }, 2);
}

static void
close_pair(void)
{
	world_group_close(&group);
	world_close();
	assert_int_equal(world.lines, 0);
}

/* From rank `from` to the other, to the end. */
static uint64_t tag; /* of the next ones */

static void
send_one(struct world_group *of, int from, const void *out, void *in, size_t bytes)
{
	struct cs_wire *sender = of->wires[from], *receiver = of->wires[1 - from];
	sender->send(sender, world_request(sender, 0), 1 - from, tag, out, bytes);
	receiver->recv(receiver, world_request(receiver, 1), from, tag, in, bytes);
	assert_true(world_finish(sender, world_request(sender, 0), receiver,
				 world_request(receiver, 1)));
}

static struct cs_peer *
peer_of(int process, int other)
{
	return world.ibs[process]->peers[other];
}

static void
come_to_rest(void)
{
	for (int i = 0; i < 2000; i++)
		world_progress();
}

/* --- threads ---------------------------------------------------------------------------------- */

static void *
talk_aside(void *sum)
{
	char out[300] = "aside", in[300] = "";
	cs_ib_leave_host();
	for (int i = 0; i < 100; i++) {
		tag++;
		send_one(&group, i % 2, out, in, sizeof out - (size_t)i);
		*(int *)sum += !memcmp(out, in, sizeof out - (size_t)i);
	}
	return NULL;
}

/* A pair that is being connected waits for a thread that may call the host; those that are
 * connected talk meanwhile. */
TEST(test_a_thread_leaves_the_host_alone)
{
	char out[40] = "later", in[40] = "";
	pthread_t thread;
	int sum = 0;
	open_pair(false);
	send_one(&group, 0, out, in, sizeof out);
	world_group_open(&second_group, (int[]){ 0, 1 }, 2);
	struct cs_wire *one = second_group.wires[0], *other = second_group.wires[1];
	one->send(one, world_request(one, 0), 1, tag, out, sizeof out);
	other->recv(other, world_request(other, 1), 0, tag, in, sizeof in);
	assert_int_equal(pthread_create(&thread, NULL, talk_aside, &sum), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(sum, 100);
	assert_int_equal(cs_ib_wire_way(one, 1), CS_IB_UNSETTLED);
	assert_true(world_finish(one, world_request(one, 0), other, world_request(other, 1)));
	assert_int_equal(cs_ib_wire_way(one, 1), CS_IB_BY_VERBS);
	world_group_close(&second_group);
	close_pair();
}

/* --- memory ----------------------------------------------------------------------------------- */

static void
use_a_group(int number)
{
	char out[300], in[300] = "";
	world_group_open(&second_group, number % 2 ? (int[]){ 0, 1 } : (int[]){ 1, 0 }, 2);
	snprintf(out, sizeof out, "group %d", number);
	/* Of slots only: what the fake has registered it remembers. */
	send_one(&second_group, number / 2 % 2, out, in, (size_t)number % 200);
	assert_memory_equal(out, in, (size_t)number % 200);
	world_group_close(&second_group);
}

TEST(test_ten_thousand_groups_leave_nothing)
{
	open_pair(false);
	for (int i = 0; i < 1000; i++)
		use_a_group(i);
	size_t before = mallinfo2().uordblks;
	for (int i = 0; i < 9000; i++)
		use_a_group(i);
	assert_true(mallinfo2().uordblks <= before);
	assert_true(world.ibs[0]->channel_count <= 4);
	assert_true(world.ibs[0]->token_room <= 64);
	assert_int_equal(fake_calls("create_qp"), 2);
	close_pair();
}

/* What was sent to a group that is closed is not taken for the next one's, though that has its
 * place in the table. */
TEST(test_late_messages_of_a_closed_group_meet_nobody)
{
	char word[8] = "";
	open_pair(false);
	world_group_open(&second_group, (int[]){ 0, 1 }, 2);
	send_one(&second_group, 0, word, word, 8);
	world_group_close(&second_group);
	send_one(&group, 0, word, word, 8);
	/* Late, one asks there about its second message. */
	struct cs_ib_wire stale_wire = { .ib = world.ibs[0] };
	struct cs_message stale_send = { .stage = CS_SEND, .message = 1 };
	struct cs_channel stale = { .wire = &stale_wire, .peer = peer_of(0, 1), .theirs = 0,
				    .waiting.head = &stale_send };
	stale_send.channel = &stale;
	cs_large_ask(&stale);
	struct cs_wire *receiver = group.wires[1];
	receiver->recv(receiver, world_request(receiver, 1), 0, 0, word, 8);
	for (int i = 0; i < 2000; i++)
		assert_false(receiver->test(receiver, world_request(receiver, 1)));
	group.wires[0]->send(group.wires[0], world_request(group.wires[0], 0), 1, 0, word, 8);
	assert_true(world_finish(group.wires[0], world_request(group.wires[0], 0), receiver,
				 world_request(receiver, 1)));
	assert_int_equal(world.ibs[1]->channel_count, 1);
	close_pair();
}

TEST(test_early_messages_are_held_back)
{
	enum { MANY = 500, KEPT = 64 };
	static char out[MANY][8], in[MANY][8];
	char word[8] = "here";
	open_pair(false);
	world_group_open(&second_group, (int[]){ 0, 1 }, 2);
	struct cs_wire *sender = group.wires[0], *receiver = group.wires[1];
	send_one(&group, 0, word, in[0], 8);
	send_one(&second_group, 0, word, in[0], 8);
	for (int i = 0; i < MANY; i++) {
		snprintf(out[i], 8, "%d", i);
		sender->send(sender, world_request(sender, i), 1, 0, out[i], 8);
	}
	struct cs_wire *other_sender = second_group.wires[0],
		       *other_receiver = second_group.wires[1];
	other_sender->send(other_sender, world_request(other_sender, 0), 1, 0, word, 8);
	come_to_rest();
	const struct cs_channel *channel = ((struct cs_ib_wire *)(void *)receiver)->channels[0];
	assert_int_equal(channel->early_count, KEPT);
	/* A large one behind them, and a small one of another group: who waits gets his. */
	other_receiver->recv(other_receiver, world_request(other_receiver, 1), 0, 0, in[0], 8);
	assert_true(world_finish(other_sender, world_request(other_sender, 0), other_receiver,
				 world_request(other_receiver, 1)));
	assert_string_equal(in[0], "here");
	for (int i = 0; i < MANY; i++)
		receiver->recv(receiver, world_request(receiver, i), 0, 0, in[i], 8);
	for (int i = 0; i < MANY; i++)
		assert_true(world_finish(sender, world_request(sender, i), receiver,
					 world_request(receiver, i)));
	assert_memory_equal(in, out, sizeof in);
	assert_int_equal(channel->early_count, 0);
	world_group_close(&second_group);
	close_pair();
}

/* --- direct messages -------------------------------------------------------------------------- */

static void
send_direct(uint64_t number, size_t bytes)
{
	struct cs_wire *sender = group.wires[0], *receiver = group.wires[1];
	_Atomic uint64_t *flag = (_Atomic uint64_t *)(void *)world.arenas[1];
	sender->send_direct(sender, world_request(sender, 0), 1, 0, world.arenas[0] + 4096, bytes);
	receiver->recv_direct(receiver, world_request(receiver, 1), 0, 0, world.arenas[1] + 4096,
			      bytes, flag, number);
	assert_true(world_finish(sender, world_request(sender, 0), receiver,
				 world_request(receiver, 1)));
	assert_int_equal(*flag, number);
	assert_memory_equal(world.arenas[0] + 4096, world.arenas[1] + 4096, bytes);
}

static void
count_direct(bool polls_flags, size_t bytes)
{
	enum { TIMES = 50 };
	struct cs_ib_counters before[2], after[2];
	set_up(NULL);
	open_pair(polls_flags);
	memset(world.arenas[0] + 4096, 7, bytes);
	send_direct(1, bytes);
	come_to_rest();
	for (int i = 0; i < 2; i++)
		cs_ib_count(world.ibs[i], &before[i]);
	for (uint64_t i = 0; i < TIMES; i++)
		send_direct(2 + i, bytes);
	for (int i = 0; i < 2; i++)
		cs_ib_count(world.ibs[i], &after[i]);
	assert_int_equal(after[0].data - before[0].data, TIMES);
	assert_int_equal(after[1].ready - before[1].ready, TIMES);
	/* Data, and the flag behind it if the device sets it; credits now and then. */
	assert_int_equal(after[0].requests - before[0].requests -
			 (after[0].credits - before[0].credits), polls_flags ? 2 * TIMES : TIMES);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(after[i].copied, before[i].copied);
		assert_int_equal(after[i].registrations, before[i].registrations);
		assert_int_equal(after[i].fragments + after[i].small, 0);
	}
	close_pair();
}

TEST(test_direct_messages_are_one_write_and_no_copy)
{
	count_direct(false, 8);
	count_direct(false, 100000);
	count_direct(true, 8);
	count_direct(true, 100000);
}

TEST(test_a_repeated_buffer_is_registered_once)
{
	struct cs_watch *watch = NULL;
	if (cs_watch_open(&watch) != CS_OK)
		leave_out("the kernel allows no userfaultfd, so no registration may be kept");
	cs_watch_close(watch);
	enum { BYTES = 20000 };
	char *memory = mmap(NULL, (size_t)16 * BYTES, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	struct cs_ib_counters before[2], after[2];
	open_pair(false);
	send_one(&group, 0, memory, memory + 8 * BYTES, BYTES);
	for (int i = 0; i < 2; i++)
		cs_ib_count(world.ibs[i], &before[i]);
	for (int i = 0; i < 20; i++)
		send_one(&group, 0, memory, memory + 8 * BYTES, BYTES);
	for (int i = 0; i < 2; i++) {
		cs_ib_count(world.ibs[i], &after[i]);
		assert_int_equal(after[i].registrations, before[i].registrations);
	}
	close_pair();
	munmap(memory, (size_t)16 * BYTES);
}

/* A flag that is not in the data's registered memory is set by the receiver, not by a write that
 * the device refuses. */
TEST(test_a_flag_elsewhere_is_set_by_the_receiver)
{
	_Atomic uint64_t flag = 0;
	open_pair(true);
	struct cs_wire *sender = group.wires[0], *receiver = group.wires[1];
	sender->send_direct(sender, world_request(sender, 0), 1, 0, world.arenas[0], 100);
	receiver->recv_direct(receiver, world_request(receiver, 1), 0, 0, world.arenas[1], 100,
			      &flag, 5);
	assert_true(world_finish(sender, world_request(sender, 0), receiver,
				 world_request(receiver, 1)));
	assert_int_equal(flag, 5);
	close_pair();
}

/* The flag's write is part of the message: when the receive is finished nothing more comes, and the
 * memory may go. */
TEST(test_pinned_memory_may_go_when_its_messages_are_there)
{
	for (uint64_t seed = 0; seed < 200; seed++) {
		set_up(NULL);
		fake_seed(first_seed() + seed);
		open_pair(true);
		struct cs_wire *sender = group.wires[0], *receiver = group.wires[1];
		_Atomic uint64_t *flag = (_Atomic uint64_t *)(void *)world.arenas[1];
		sender->send_direct(sender, world_request(sender, 0), 1, 0, world.arenas[0], 100);
		receiver->recv_direct(receiver, world_request(receiver, 1), 0, 0,
				      world.arenas[1] + 64, 100, flag, 5);
		while (!receiver->test(receiver, world_request(receiver, 1)))
			sender->test(sender, world_request(sender, 0));
		cs_ib_unpin(world.ibs[1], world.pins[1]);
		world.pins[1] = NULL;
		come_to_rest();
		send_one(&group, 0, "after", world.arenas[1], 6);
		close_pair();
	}
}

/* --- sizes that disagree ---------------------------------------------------------------------- */

static void
disagree(size_t sent, size_t room, bool is_send_first)
{
	static char out[6000], in[6000];
	struct cs_wire *sender = group.wires[0], *receiver = group.wires[1];
	for (size_t i = 0; i < sizeof out; i++)
		out[i] = (char)(i * 11 + sent);
	memset(in, 0xee, sizeof in);
	if (is_send_first)
		sender->send(sender, world_request(sender, 0), 1, 0, out, sent);
	if (is_send_first && random_below(&world.random, 2))
		come_to_rest();
	receiver->recv(receiver, world_request(receiver, 1), 0, 0, in, room);
	if (!is_send_first && random_below(&world.random, 2))
		come_to_rest();
	if (!is_send_first)
		sender->send(sender, world_request(sender, 0), 1, 0, out, sent);
	if (!world_finish(sender, world_request(sender, 0), receiver, world_request(receiver, 1)))
		fail_msg("%zu bytes to room for %zu: no end", sent, room);
	size_t came = sent < room ? sent : room;
	assert_memory_equal(in, out, came);
	for (size_t i = room; i < sizeof in; i++)
		assert_int_equal((unsigned char)in[i], 0xee);
	unsigned told = world_request(receiver, 1)->told;
	if (told != (sent > room ? CS_TOLD_MORE : 0) || world_request(sender, 0)->told)
		fail_msg("%zu bytes to room for %zu: told %u", sent, room, told);
}

TEST(test_sizes_that_disagree_are_told)
{
	static const size_t sizes[] = { 0, 8, 100, 232, 233, 1000, 5000 };
	open_pair(false);
	for (int turn = 0; turn < 4; turn++)
		for (size_t i = 0; i < COUNT(sizes); i++)
			for (size_t k = 0; k < COUNT(sizes); k++)
				disagree(sizes[i], sizes[k], turn % 2);
	close_pair();
}

/* As in hier:aggregated, whose receiver does not know how much comes. */
TEST(test_room_for_more_than_comes_leaves_nothing)
{
	static char out[8], in[5000];
	open_pair(false);
	struct cs_wire *sender = group.wires[0], *receiver = group.wires[1];
	for (int turn = 0; turn < 20; turn++) {
		receiver->recv(receiver, world_request(receiver, 1), 0, 0, in, sizeof in);
		come_to_rest(); /* the sender knows where to by then */
		sender->send(sender, world_request(sender, 0), 1, 0, out, sizeof out);
		assert_true(world_finish(sender, world_request(sender, 0), receiver,
					 world_request(receiver, 1)));
	}
	const struct cs_channel *channel = ((struct cs_ib_wire *)(void *)sender)->channels[1];
	int left = 0;
	for (const struct cs_early_message *ready = channel->ready; ready; ready = ready->next)
		left++;
	assert_in_range(left, 0, 1);
	close_pair();
}

/* --- counts that wrap ------------------------------------------------------------------------- */

/* As if almost 2^32 slots had been filled by one at the other. */
static void
age(int from)
{
	struct cs_peer *sender = peer_of(from, 1 - from), *receiver = peer_of(1 - from, from);
	assert_int_equal(sender->filled, receiver->arrived);
	uint32_t more = 0 - ((sender->filled + 64) & ~(uint32_t)(sender->slot_count - 1));
	sender->filled += more;
	sender->freed += more;
	receiver->arrived += more;
	receiver->taken += more;
	receiver->told += more;
}

static void
wrap(bool polls_flags)
{
	static const size_t sizes[] = { 0, 8, 200, 232, 233, 3000 };
	static struct traffic traffic;
	char word[8] = "";
	for (uint64_t seed = 0; seed < 20; seed++) {
		set_up(NULL);
		fake_seed(first_seed() + seed);
		world.random = first_seed() + seed;
		open_pair(polls_flags);
		tag = (UINT64_C(1) << CS_TAG_BITS) - 3;
		for (int from = 0; from < 2; from++)
			send_one(&group, from, word, word, 8);
		come_to_rest();
		for (int from = 0; from < 2; from++)
			age(from);
		traffic_draw(&traffic, &group, 1, TRAFFIC_MOST, sizes, COUNT(sizes), 1);
		traffic.first_tag = tag + 1;
		tag = 0;
		if (!traffic_run(&traffic))
			fail_msg("seed %llu: message %d: %s", (unsigned long long)seed,
				 traffic.trouble_at, traffic.trouble);
		for (int from = 0; from < 2; from++)
			assert_true(peer_of(from, 1 - from)->filled < 10000);
		close_pair();
	}
}

TEST(test_counts_may_wrap)
{
	wrap(false);
	wrap(true);
}

/* --- the end ---------------------------------------------------------------------------------- */

/* With requests unsignaled, credits not yet polled, and nobody progressing but who closes. */
TEST(test_closing_waits_for_nothing_that_does_not_come)
{
	for (unsigned seed = 0; seed < 300; seed++) {
		char words[32][8];
		set_up(NULL);
		fake_seed(first_seed() + seed);
		world.random = first_seed() + seed;
		open_pair(seed % 2);
		int count = 1 + (int)(seed % 23);
		for (int i = 0; i < count; i++)
			send_one(&group, seed % 3 == 0 ? 0 : i % 2, "a word", words[i], 7);
		fake.poll_steps = 1 + seed % 8;
		if (seed % 5 == 0) /* the last word is lost: who said it does not wait, and the
				    * other sees that */
			fake_complete_with(FAKE_ANY_QP, 1, IBV_WC_RETRY_EXC_ERR);
		world_group_close(&group);
		world.progressed = 0;
		world_close();
		assert_true(world.progressed < 1000);
		if (seed % 5) /* nothing is sent to who has closed */
			assert_int_equal(fake_counted()->errors, 0);
		assert_int_equal(world.lines, 0);
	}
}

/* Drawn, so not those that the same two processes had in another job, nor one side's the
 * other's. */
TEST(test_nobody_can_tell_the_first_packets_number)
{
	enum { JOBS = 4 };
	uint32_t seen[2 * JOBS];
	char word[8] = "", room[8];
	for (int i = 0; i < 2 * JOBS; i += 2) {
		set_up(NULL);
		open_pair(false);
		send_one(&group, 0, word, room, sizeof word);
		seen[i] = peer_of(0, 1)->psn;
		seen[i + 1] = peer_of(1, 0)->psn;
		close_pair();
	}
	int same = 0;
	for (int i = 0; i < 2 * JOBS; i++)
		for (int k = 0; k < i; k++)
			same += seen[i] == seen[k];
	assert_true(same < 2); /* by chance two are equal in one of 600000 runs */
}

RUN_EACH_TEST(set_up, NULL)
