/* What the device refuses or breaks: before two processes have settled their messages go over the
 * host, later the job ends with one line. Never is wrong data taken for right. */
#include "ib_traffic.h"

#include "ib/internal.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

static const size_t sizes[] = { 0, 5, 200, 232, 233, 1000, 9000 };

static int
set_up(void **state)
{
	fake_reset();
	world.random = first_seed();
	world.verbs = NULL;
	return 0;
}

/* --- opening ---------------------------------------------------------------------------------- */

static enum cs_status
try_to_open(struct cs_ib_options options, char *why, size_t room)
{
	options.world_size = 2;
	struct cs_ib *ib = NULL;
	enum cs_status status = cs_ib_open(&ib, world.verbs ? world.verbs : fake_verbs(), &options,
					   why, room);
	if (status == CS_OK)
		cs_ib_close(ib);
	else
		assert_null(ib);
	assert_int_equal(fake_leaks(stderr), 0);
	assert_int_equal(fake_counted()->misuses, 0);
	return status;
}

TEST(test_each_verb_of_opening_may_fail)
{
	static const char *const verbs[] = { "get_device_list", "open_device", "query_device",
					     "query_port", "query_gid_table",
					     "alloc_pd", "reg_mr", "create_cq" };
	for (size_t i = 0; i < COUNT(verbs); i++) {
		unsigned refusals = 0;
		for (unsigned nth = 0; nth < 4; nth++) {
			char why[256] = "";
			fake_reset();
			fake_roce(0);
			fake_fail(verbs[i], nth, EIO);
			enum cs_status status = try_to_open(world_options(), why, sizeof why);
			assert_true(status == CS_OK || status == CS_SYSTEM ||
				    status == CS_UNSUPPORTED);
			assert_true((status == CS_OK) == (why[0] == '\0'));
			refusals += status != CS_OK;
		}
		if (!refusals)
			fail_msg("%s was not missed", verbs[i]);
	}
}

static void
assert_refused(struct cs_ib_options options, enum cs_status expected, const char *phrase)
{
	char why[256] = "";
	assert_int_equal(try_to_open(options, why, sizeof why), expected);
	assert_contains(why, phrase);
}

static struct ibv_device **
get_iwarp_list(int *count)
{
	struct ibv_device **list = fake_verbs()->get_device_list(count);
	for (int i = 0; i < *count; i++) {
		list[i]->node_type = IBV_NODE_RNIC;
		list[i]->transport_type = IBV_TRANSPORT_IWARP;
	}
	return list;
}

TEST(test_opening_tells_what_is_missing)
{
	struct cs_ib_options options = world_options();
	options.device = "fake1";
	assert_refused(options, CS_UNSUPPORTED, "there is no device fake1");
	options.device = "fake0:2";
	assert_refused(options, CS_UNSUPPORTED, "there is no device fake0:2");
	options.device = NULL;
	fake_port(IBV_PORT_DOWN);
	assert_refused(options, CS_SYSTEM, "fake0: its port is not active");
	fake_reset();
	fake.device_count = 0;
	assert_refused(options, CS_UNSUPPORTED, "no RDMA device");
	fake_reset();
	fake.memlock = 2048;
	assert_refused(options, CS_SYSTEM, "ulimit -l");
	fake_reset();
	fake.devices[0].attributes.max_qp_wr = CS_SENDS - 1;
	assert_refused(options, CS_UNSUPPORTED, "queues are too short");
	fake_reset();
	options.memory = 1000;
	assert_refused(options, CS_SYSTEM, "memory for its buffers was refused");
	options = world_options();
	struct cs_verbs iwarp = *fake_verbs();
	iwarp.get_device_list = get_iwarp_list;
	world.verbs = &iwarp;
	assert_refused(options, CS_SYSTEM, "iWARP");
	world.verbs = NULL;
}

/* --- connecting ------------------------------------------------------------------------------- */

static unsigned hellos, damaged; /* seen; the one to be damaged, from 1 */

static int
damage(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	char *data = request->num_sge ? (char *)(uintptr_t)request->sg_list[0].addr : NULL;
	if (data && request->sg_list[0].length == CS_HELLO_BYTES && ++hellos == damaged)
		data[CS_HELLO_BYTES / 2] ^= 1;
	return fake_verbs()->post_send(qp, request, bad);
}

/* All members of a group see the way to a peer as the peer does. */
static void
assert_ways_agree(const struct world_group *group)
{
	for (int a = 0; a < group->ranks; a++)
		for (int b = 0; b < group->ranks; b++)
			if (a != b)
				assert_int_equal(cs_ib_wire_way(group->wires[a], b),
						 cs_ib_wire_way(group->wires[b], a));
}

struct refusal {
	const char *verb; /* NULL: a completion */
	unsigned step, count; /* nth is `step` to `count` times that */
	int error;
	enum ibv_wc_status status;
};

static void
prepare(const struct refusal *refusal, unsigned nth)
{
	if (!refusal->verb)
		fake_complete_with(FAKE_ANY_QP, nth, refusal->status);
	else if (strcmp(refusal->verb, "damage"))
		fake_fail(refusal->verb, nth, refusal->error);
	else
		damaged = nth;
}

/* Three processes in two groups, so that two channels of a pair may settle at once. */
static unsigned
connect_in_spite(const struct refusal *refusal, unsigned nth)
{
	static struct traffic traffic;
	static const int all[] = { 0, 1, 2 }, two[] = { 1, 0 };
	struct world_group groups[2];
	struct cs_ib_options options = world_options();
	struct cs_ib_counters counters;
	unsigned refused = 0;
	world_open(3, &options, false);
	prepare(refusal, nth);
	world_group_open(&groups[0], all, 3);
	world_group_open(&groups[1], two, 2);
	traffic_draw(&traffic, groups, 2, 60, sizes, COUNT(sizes), 2);
	if (!traffic_run(&traffic))
		fail_msg("%s, number %u: message %d: %s",
			 refusal->verb ? refusal->verb : "a completion", nth, traffic.trouble_at,
			 traffic.trouble);
	for (int g = 0; g < 2; g++)
		assert_ways_agree(&groups[g]);
	for (int i = 0; i < 3; i++) {
		cs_ib_count(world.ibs[i], &counters);
		refused += (unsigned)counters.refused;
	}
	assert_int_equal(refused % 2, 0); /* both of a pair count it */
	assert_int_equal(world.lines, refused ? 1 : 0);
	if (refused)
		assert_contains(world.said, "of MPI_COMM_WORLD by fake0:");
	for (int g = 0; g < 2; g++)
		world_group_close(&groups[g]);
	world_close();
	return refused;
}

TEST(test_who_cannot_connect_goes_over_the_host)
{
	static const struct refusal refusals[] = {
		{ .verb = "create_qp", .step = 1, .count = 6, .error = ENOMEM },
		{ .verb = "modify_qp", .step = 1, .count = 18, .error = EINVAL },
		/* A later one may be of a pair that has settled. */
		{ .verb = "post_recv", .step = 4, .count = 3, .error = ENOMEM },
		{ .verb = "post_send", .step = 1, .count = 1, .error = EIO },
		{ .verb = "damage", .step = 1, .count = 6 },
		{ .step = 1, .count = 1, .status = IBV_WC_RETRY_EXC_ERR },
		{ .step = 1, .count = 1, .status = IBV_WC_REM_ACCESS_ERR },
		{ .step = 1, .count = 1, .status = IBV_WC_WR_FLUSH_ERR },
	};
	struct cs_verbs damaging = *fake_verbs();
	damaging.post_send = damage;
	for (size_t i = 0; i < COUNT(refusals); i++) {
		const struct refusal *refusal = &refusals[i];
		for (unsigned k = 0; k < 5 * refusal->count; k++) {
			unsigned nth = refusal->step * (1 + k % refusal->count);
			fake_reset();
			fake_seed(first_seed() + k);
			hellos = damaged = 0;
			world.verbs = &damaging;
			if (!connect_in_spite(refusal, nth))
				fail_msg("%s, number %u: it was not missed",
					 refusal->verb ? refusal->verb : "a completion", nth);
		}
	}
}

/* --- in flight -------------------------------------------------------------------------------- */

enum harm { COMPLETION, VERB, DROP, EVENT };

struct accident {
	enum harm harm;
	enum ibv_wc_status status;
	const char *verb, *phrase; /* of the line */
	enum ibv_event_type event;
	bool polls_flags;
	unsigned nth_most;
};

static char trouble_text[1024];

static const char *
trouble_with(const struct accident *accident, unsigned nth, const char *what)
{
	snprintf(trouble_text, sizeof trouble_text, "harm %d, status %d, verb %s, nth %u: %s; "
						    "said: %.300s", accident->harm,
		 accident->status, accident->verb ? accident->verb : "-", nth, what, world.said);
	return trouble_text;
}

static void
do_harm(const struct accident *accident, unsigned nth)
{
	if (accident->harm == COMPLETION)
		fake_complete_with(FAKE_ANY_QP, nth, accident->status);
	else if (accident->harm == VERB)
		fake_fail(accident->verb, nth, EIO);
	else if (accident->harm == DROP)
		fake_drop_device();
	else
		fake_event(accident->event);
}

/* The fabric is left as it is when the job ends. */
static const char *
harm(const struct accident *accident, unsigned nth)
{
	static struct traffic first, second;
	static struct world_group group;
	static const int all[] = { 0, 1, 2 };
	struct cs_ib_options options = world_options();
	fake_reset();
	fake_seed(first_seed() + nth);
	world.random = first_seed() + nth;
	options.polls_flags = accident->polls_flags;
	world_open(3, &options, false);
	world_group_open(&group, all, 3);
	traffic_draw(&first, &group, 1, 60, sizes, COUNT(sizes), 2);
	if (!traffic_run(&first))
		return trouble_with(accident, nth, first.trouble);
	traffic_draw(&second, &group, 1, 60, sizes, COUNT(sizes), 2);
	world.may_abort = true;
	do_harm(accident, nth);
	if (!setjmp(world.jump)) {
		if (!traffic_run(&second))
			return trouble_with(accident, nth, second.trouble);
		return accident->harm == VERB || accident->harm == EVENT
		       ? NULL : trouble_with(accident, nth, "it went unseen");
	}
	if (second.trouble)
		return trouble_with(accident, nth, second.trouble);
	if (world.lines != 1 || !strstr(world.said, "ib: rank ") || !strstr(world.said, "fake0") ||
	    !strstr(world.said, "; ending the job") || !strstr(world.said, accident->phrase))
		return trouble_with(accident, nth, "another line was expected");
	return NULL;
}

static const char *
harm_often(const void *argument)
{
	const struct accident *accident = argument;
	const char *found = NULL;
	for (unsigned nth = 1; nth <= accident->nth_most && !found; nth++)
		found = harm(accident, nth);
	return found;
}

TEST(test_what_breaks_in_flight_ends_the_job_with_one_line)
{
	static const char failed[] = "of MPI_COMM_WORLD by fake0 failed: status ";
	static const struct accident accidents[] = {
		{ COMPLETION, IBV_WC_RETRY_EXC_ERR, .phrase = failed, .nth_most = 30 },
		{ COMPLETION, IBV_WC_REM_ACCESS_ERR, .phrase = failed, .nth_most = 30 },
		{ COMPLETION, IBV_WC_WR_FLUSH_ERR, .phrase = failed, .nth_most = 10 },
		{ COMPLETION, IBV_WC_LOC_PROT_ERR, .phrase = failed, .polls_flags = true,
		  .nth_most = 10 },
		{ VERB, .verb = "post_send", .phrase = "to rank ", .nth_most = 20 },
		{ VERB, .verb = "post_recv", .phrase = "no receive can be posted", .nth_most = 2 },
		{ VERB, .verb = "poll_cq", .phrase = "its completion queue is broken",
		  .nth_most = 20 },
		{ DROP, .phrase = "rank", .nth_most = 3 },
		{ DROP, .phrase = "rank", .polls_flags = true, .nth_most = 3 },
	};
	for (size_t i = 0; i < COUNT(accidents); i++)
		world_apart(harm_often, &accidents[i]);
}

/* Two processes, and a message from the first to the second. */
static bool
open_pair(struct world_group *group, const struct cs_ib_options *options)
{
	char word[8] = "";
	world_open(2, options, false);
	world_group_open(group, (int[]){ 0, 1 }, 2);
	group->wires[0]->send(group->wires[0], world_request(group->wires[0], 0), 1, 0, word, 8);
	group->wires[1]->recv(group->wires[1], world_request(group->wires[1], 0), 0, 0, word, 8);
	return world_finish(group->wires[0], world_request(group->wires[0], 0), group->wires[1],
			    world_request(group->wires[1], 0));
}

/* --- sizes that do not fit -------------------------------------------------------------------- */

static uint32_t wrong_bytes; /* what the next message says of itself; 0: the truth */

static int
exaggerate(struct ibv_qp *qp, struct ibv_send_wr *request, struct ibv_send_wr **bad)
{
	const struct ibv_sge *last = request->num_sge ? &request->sg_list[request->num_sge - 1]
						      : NULL;
	if (wrong_bytes && last && last->length >= sizeof(struct cs_trailer)) {
		((struct cs_trailer *)(uintptr_t)(last->addr + last->length) - 1)->bytes =
			wrong_bytes;
		wrong_bytes = 0;
	}
	return fake_verbs()->post_send(qp, request, bad);
}

struct exaggeration {
	bool polls_flags, is_posted; /* the receive, before the message comes */
	size_t room;                 /* of it */
	uint32_t bytes;
};

/* A message that says it is larger than a slot, whatever room there is for it. */
static const char *
receive_too_much(const void *argument)
{
	static struct world_group group;
	static char out[200], in[20000];
	const struct exaggeration *one = argument;
	struct cs_ib_options options = world_options();
	struct cs_verbs exaggerating = *fake_verbs();
	exaggerating.post_send = exaggerate;
	fake_reset();
	world.verbs = &exaggerating;
	options.polls_flags = one->polls_flags;
	if (!open_pair(&group, &options))
		return "the pair does not talk";
	world.may_abort = true;
	if (setjmp(world.jump))
		return strstr(world.said, "it is not what its completion says; ending the job")
		       ? NULL : world.said;
	if (one->is_posted)
		group.wires[1]->recv(group.wires[1], world_request(group.wires[1], 0), 0, 0, in,
				     one->room);
	wrong_bytes = one->bytes;
	group.wires[0]->send(group.wires[0], world_request(group.wires[0], 0), 1, 0, out,
			     sizeof out);
	for (int i = 0; i < 5000; i++)
		world_progress();
	return wrong_bytes ? "no message was sent" : "it was taken";
}

TEST(test_a_message_larger_than_its_slot_ends_the_job)
{
	const uint32_t payload = (uint32_t)(world_options().slot_bytes - sizeof(struct cs_trailer));
	for (int way = 0; way < 2; way++) {
		const struct exaggeration exaggerations[] = {
			{ .polls_flags = way, .is_posted = true, .room = payload,
			  .bytes = payload + 1 },
			{ .polls_flags = way, .is_posted = true, .room = 200, .bytes = 100000 },
			{ .polls_flags = way, .is_posted = true, .room = 20000,
			  .bytes = payload + 1 },
			{ .polls_flags = way, .is_posted = true, .room = 20000, .bytes = 19000 },
			{ .polls_flags = way, .bytes = payload + 1 },
		};
		for (size_t i = 0; i < COUNT(exaggerations); i++)
			world_apart(receive_too_much, &exaggerations[i]);
	}
}

/* A process that only waits learns of it too. */
static const char *
wait_for_event(const void *argument)
{
	static struct world_group group;
	const struct accident *accident = argument;
	struct cs_ib_options options = world_options();
	fake_reset();
	world_open(2, &options, false);
	world_group_open(&group, (int[]){ 0, 1 }, 2);
	world.may_abort = true;
	do_harm(accident, 1);
	if (setjmp(world.jump))
		return world.lines == 1 && strstr(world.said, "device fake0: ")
		       ? NULL : trouble_with(accident, 1, "its line");
	for (int i = 0; i < 5000; i++)
		cs_ib_progress(world.ibs[0]);
	return trouble_with(accident, 1, "it went unseen");
}

static const char *
go_on_after_event(const void *argument)
{
	return wait_for_event(argument) && !world.lines ? NULL : "a port's event ended the job";
}

static void
progress_for(long milliseconds)
{
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < 5000; i++)
			cs_ib_progress(world.ibs[1]);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 <
		 milliseconds);
}

/* The port of both goes down while one waits for the other, and comes back or does not. */
static const char *
lose_port(const void *argument)
{
	static struct world_group group;
	const bool *is_back = argument;
	char word[8] = "";
	struct cs_ib_options options = world_options();
	fake_reset();
	options.timeout = 1; /* 8 us: the port is waited for some 100 us */
	if (!open_pair(&group, &options))
		return "the pair does not talk";
	group.wires[1]->recv(group.wires[1], world_request(group.wires[1], 0), 0, 0, word, 8);
	world.may_abort = true;
	if (*is_back)
		fake_event(IBV_EVENT_PORT_ERR); /* the port itself is well when it is looked at */
	else
		fake_port(IBV_PORT_DOWN);
	if (setjmp(world.jump))
		return *is_back ? "a port that is back ended the job"
		       : strstr(world.said, "device fake0: its port is down and does not come back")
			       ? NULL : world.said;
	progress_for(*is_back ? 2000 : 20000); /* twenty seconds only where nothing comes: that is
						* the failure */
	return *is_back ? NULL : "a lost port went unseen";
}

/* No event and no failed request: soft RoCE's way of going. */
static const char *
remove_device(const void *argument)
{
	static struct world_group group;
	char word[8] = "";
	struct cs_ib_options options = world_options();
	(void)argument;
	fake_reset();
	if (!open_pair(&group, &options))
		return "the pair does not talk";
	fake.is_removed = true;
	progress_for(300); /* nobody waits for anybody */
	world.may_abort = true;
	if (setjmp(world.jump))
		return strstr(world.said, "device fake0: it was removed") ? NULL : world.said;
	group.wires[1]->recv(group.wires[1], world_request(group.wires[1], 0), 0, 0, word, 8);
	progress_for(20000); /* only where nothing comes: that is the failure */
	return "a removed device went unseen";
}

/* One process writes where it may not: it is told why, the other one's requests are only
 * flushed. */
static const char *
flush(const void *argument)
{
	static struct world_group group;
	const bool *is_known = argument; /* the first process ends the job in time */
	char word[8] = "";
	struct cs_ib_options options = world_options();
	fake_reset();
	options.flush_grace = *is_known ? 20000 : 100;
	if (!open_pair(&group, &options))
		return "the pair does not talk";
	group.wires[1]->recv(group.wires[1], world_request(group.wires[1], 0), 0, 0, word, 8);
	world.may_abort = true;
	fake_complete_with(FAKE_ANY_QP, 1, IBV_WC_REM_ACCESS_ERR);
	if (setjmp(world.jump))
		return world.lines == 1 &&
		       strstr(world.said, *is_known ? "ib: rank 0: " : "ib: rank 1: receiving to "
								       "rank 0 ")
			       ? NULL : world.said;
	group.wires[0]->send(group.wires[0], world_request(group.wires[0], 0), 1, 0, word, 8);
	progress_for(*is_known ? 200 : 20000); /* twenty seconds only where nothing comes: that is
						* the failure */
	for (int i = 0; i < 5000; i++)
		cs_ib_progress(world.ibs[0]);
	return "it went unseen";
}

TEST(test_who_is_only_flushed_leaves_it_to_the_other_to_say_why)
{
	world_apart(flush, &(bool){ true });
	world_apart(flush, &(bool){ false });
}

TEST(test_a_removed_device_ends_the_job_of_who_waits)
{
	world_apart(remove_device, NULL);
}

TEST(test_a_port_that_stays_down_ends_the_job_of_who_waits)
{
	world_apart(lose_port, &(bool){ false });
	world_apart(lose_port, &(bool){ true });
}

TEST(test_events_of_the_device_are_heard)
{
	world_apart(wait_for_event, &(struct accident){ EVENT, .event = IBV_EVENT_DEVICE_FATAL });
	world_apart(go_on_after_event, &(struct accident){ EVENT, .event = IBV_EVENT_PORT_ERR });
}

/* A device with the shortest completion queue that holds a connection: all that is flushed fits. */
static const char *
fill_queues(const void *argument)
{
	static struct world_group group;
	struct cs_ib_options options = world_options();
	fake_reset();
	options.slots = 64;
	fake.poll_steps = 0;
	fake.devices[0].attributes.max_cqe = CS_SENDS + CS_SPARE + 64;
	world_open(2, &options, false);
	world_group_open(&group, (int[]){ 0, 1 }, 2);
	struct cs_wire *from = group.wires[0], *to = group.wires[1];
	char word[8] = "";
	for (int turn = 0; turn < 2; turn++) {
		from->send(from, world_request(from, 0), 1, 0, word, 8);
		to->recv(to, world_request(to, 0), 0, 0, word, 8);
		bool is_sent = false, is_received = false;
		while (!(is_sent && is_received)) {
			is_sent = is_sent || from->test(from, world_request(from, 0));
			is_received = is_received || to->test(to, world_request(to, 0));
			fake_progress(4);
		}
	}
	for (int i = 0; i < 200; i++)
		from->send(from, world_request(from, i), 1, 0, word, 8);
	world.may_abort = true;
	fake_complete_with(FAKE_ANY_QP, 1, IBV_WC_RETRY_EXC_ERR);
	fake_progress(1000);
	if (!setjmp(world.jump))
		for (int i = 0; i < 1000; i++)
			cs_ib_progress(world.ibs[0]);
	return !world.aborts ? "it went unseen" : fake_counted()->overflows
	       ? "a completion queue overflowed" : NULL;
}

TEST(test_completion_queues_hold_all_that_is_flushed)
{
	world_apart(fill_queues, NULL);
}

/* --- torn writes ------------------------------------------------------------------------------ */

/* In a child: what half a message leads to is not defined. */
static bool
is_broken(uint64_t seed)
{
	static struct traffic traffic;
	static struct world_group group;
	int status;
	pid_t child = fork();
	assert_true(child >= 0);
	if (child > 0) {
		assert_int_equal(waitpid(child, &status, 0), child);
		return status != 0;
	}
	signal(SIGSEGV, SIG_DFL);
	struct cs_ib_options options = world_options();
	options.polls_flags = true;
	fake_reset();
	fake_seed(seed);
	fake.is_torn = true;
	world.random = seed;
	world_open(3, &options, false);
	world_group_open(&group, (int[]){ 0, 1, 2 }, 3);
	traffic_draw(&traffic, &group, 1, 100, sizes, COUNT(sizes), 4);
	world.may_abort = true;
	if (setjmp(world.jump))
		_exit(1);
	_exit(!traffic_run(&traffic));
}

/* By flags one relies on writes that arrive in order. The fake tears them, which the specification
 * allows. That they do well where writes arrive whole and in order, and completions do anyway,
 * test_ib shows. */
TEST(test_flags_rely_on_writes_in_order)
{
	unsigned broken = 0;
	for (uint64_t i = 0; i < 10; i++)
		broken += is_broken(first_seed() + i);
	assert_true(broken > 0);
}

RUN_EACH_TEST(set_up, NULL)
