#include "ib_world.h"

#include "base/log.h"

#include <sys/mman.h>
#include <sys/queue.h>
#include <sys/wait.h>

struct world world;
static struct world_group *groups; /* open */

/* --- lines ------------------------------------------------------------------------------------ */

void __wrap_cs_log_warn_local(_Atomic int *warned, const char *format,
			      ...) __attribute__((format(printf, 2, 3)));
bool __wrap_cs_log_is_first(unsigned reason);

static unsigned reasons_said[8], reason_count;

void
__wrap_cs_log_warn_local(_Atomic int *warned, const char *format, ...)
{
	size_t used = strlen(world.said);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(world.said + used, sizeof world.said - used, format, arguments);
	va_end(arguments);
	used = strlen(world.said);
	snprintf(world.said + used, sizeof world.said - used, "\n");
	world.lines++;
}

bool
__wrap_cs_log_is_first(unsigned reason)
{
	for (unsigned i = 0; i < reason_count; i++)
		if (reasons_said[i] == reason)
			return false;
	if (reason_count < COUNT(reasons_said))
		reasons_said[reason_count++] = reason;
	return true;
}

void
world_forget_lines(void)
{
	world.said[0] = '\0';
	world.lines = 0;
	reason_count = 0;
}

/* --- the host --------------------------------------------------------------------------------- */

static void
progress(void)
{
	world.progressed++;
	if (world.give_way)
		world.give_way();
}

static __attribute__((noreturn)) void
end_job(const char *why)
{
	world.aborts++;
	if (!world.may_abort)
		fail_msg("the job was ended: %s\n%s", why, world.said);
	longjmp(world.jump, 1);
}

static const struct cs_host host = { .progress = progress, .abort = end_job };

struct letter {
	STAILQ_ENTRY(letter) link;
	uint64_t tag;
	size_t bytes;
	char data[];
};

struct post {
	STAILQ_ENTRY(post) link;
	uint64_t tag;
	char *to;
	size_t bytes;
	bool is_done, is_send;
};

/* From one rank to another. */
struct lane {
	STAILQ_HEAD(, letter) letters;
	STAILQ_HEAD(, post) posts;
};

struct host_wire {
	struct cs_wire wire;
	struct world_mail *mail;
	int posts; /* under way */
};

struct world_mail {
	struct host_wire wires[WORLD_MOST];
	struct lane lanes[WORLD_MOST][WORLD_MOST];
};

static struct host_wire *
host_wire_of(struct cs_wire *wire)
{
	return (struct host_wire *)(void *)wire;
}

/* A request has the address of its post. */
static struct post *
post_of(struct cs_request *request)
{
	struct post *post;
	memcpy(&post, request->host, sizeof post);
	return post;
}

static struct post *
new_post(struct host_wire *wire, struct cs_request *request, uint64_t tag)
{
	struct post *post = calloc(1, sizeof *post);
	assert_non_null(post);
	post->tag = tag;
	memcpy(request->host, &post, sizeof post);
	request->told = 0;
	wire->posts++;
	return post;
}

static void
host_send(struct cs_wire *base, struct cs_request *request, int peer, uint64_t tag,
	  const void *from, size_t bytes)
{
	struct host_wire *wire = host_wire_of(base);
	struct post *post = new_post(wire, request, tag);
	struct letter *letter = malloc(sizeof *letter + bytes);
	assert_non_null(letter);
	post->is_send = post->is_done = true;
	letter->tag = tag;
	letter->bytes = bytes;
	if (bytes)
		memcpy(letter->data, from, bytes);
	world.by_host += bytes;
	STAILQ_INSERT_TAIL(&wire->mail->lanes[base->rank][peer].letters, letter, link);
}

static void
host_recv(struct cs_wire *base, struct cs_request *request, int peer, uint64_t tag, void *to,
	  size_t bytes)
{
	struct host_wire *wire = host_wire_of(base);
	struct post *post = new_post(wire, request, tag);
	post->to = to;
	post->bytes = bytes;
	STAILQ_INSERT_TAIL(&wire->mail->lanes[peer][base->rank].posts, post, link);
}

/* The first letter of its tag. */
static void
deliver(struct lane *lane, struct post *post)
{
	struct letter *letter = STAILQ_FIRST(&lane->letters);
	while (letter && letter->tag != post->tag)
		letter = STAILQ_NEXT(letter, link);
	if (!letter)
		return;
	assert_true(letter->bytes <= post->bytes);
	if (letter->bytes)
		memcpy(post->to, letter->data, letter->bytes);
	post->is_done = true;
	STAILQ_REMOVE(&lane->letters, letter, letter, link);
	free(letter);
}

static void
deliver_all(struct lane *lane)
{
	struct post *post, *next;
	for (post = STAILQ_FIRST(&lane->posts); post; post = next) {
		next = STAILQ_NEXT(post, link);
		deliver(lane, post);
		if (post->is_done)
			STAILQ_REMOVE(&lane->posts, post, post, link);
	}
}

static bool
host_test(struct cs_wire *base, struct cs_request *request)
{
	struct host_wire *wire = host_wire_of(base);
	struct post *post = post_of(request);
	assert_non_null(post); /* not asked again once it was finished */
	if (random_below(&world.random, 3) == 0)
		return false;
	for (int peer = 0; peer < base->ranks; peer++)
		deliver_all(&wire->mail->lanes[peer][base->rank]);
	if (!post->is_done)
		return false;
	free(post);
	memset(request->host, 0, sizeof post);
	wire->posts--;
	return true;
}

static struct world_mail *
open_mail(struct world_group *group)
{
	struct world_mail *mail = calloc(1, sizeof *mail);
	assert_non_null(mail);
	for (int rank = 0; rank < group->ranks; rank++) {
		mail->wires[rank].mail = mail;
		mail->wires[rank].wire = (struct cs_wire){ .rank = rank, .ranks = group->ranks,
							   .send = host_send, .recv = host_recv,
							   .test = host_test };
		group->hosts[rank] = &mail->wires[rank].wire;
		for (int peer = 0; peer < group->ranks; peer++) {
			STAILQ_INIT(&mail->lanes[rank][peer].letters);
			STAILQ_INIT(&mail->lanes[rank][peer].posts);
		}
	}
	return mail;
}

static void
close_mail(struct world_mail *mail)
{
	for (int rank = 0; rank < WORLD_MOST; rank++)
		assert_int_equal(mail->wires[rank].posts, 0);
	free(mail);
}

/* --- processes and groups --------------------------------------------------------------------- */

struct cs_ib_options
world_options(void)
{
	return (struct cs_ib_options){ .slots = 8, .slot_bytes = 256, .memory = 64 << 20,
				       .cache = 1 << 20, .timeout = 14, .spin = 16 };
}

enum cs_status
world_open_one(int number, int size, const struct cs_ib_options *options, char *why, size_t room)
{
	struct cs_ib_options filled = *options;
	filled.world_rank = number;
	filled.world_size = size;
	filled.host = &host;
	const struct cs_verbs *verbs = world.verbs ? world.verbs : fake_verbs();
	return cs_ib_open(&world.ibs[number], verbs, &filled, why, room);
}

void
world_open(int size, const struct cs_ib_options *options, bool is_each)
{
	char why[256] = "";
	groups = NULL;
	world = (struct world){ .size = size, .random = world.random, .verbs = world.verbs,
				.give_way = world.give_way };
	world_forget_lines();
	for (int i = 0; i < size; i++) {
		if (world_open_one(i, size, &options[is_each ? i : 0], why, sizeof why) != CS_OK)
			fail_msg("process %d: %s", i, why);
		world.arenas[i] = mmap(NULL, WORLD_ARENA, PROT_READ | PROT_WRITE,
				       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_ptr_not_equal(world.arenas[i], MAP_FAILED);
		world.pins[i] = cs_ib_pin(world.ibs[i], world.arenas[i], WORLD_ARENA);
		assert_non_null(world.pins[i]);
	}
}

void
world_close(void)
{
	int first = (int)random_below(&world.random, (uint32_t)world.size);
	for (int i = 0; i < world.size; i++)
		cs_ib_unpin(world.ibs[i], world.pins[i]);
	for (int i = 0; i < world.size; i++)
		cs_ib_part(world.ibs[(first + i) % world.size]);
	for (int i = world.size; i-- > 0;)
		cs_ib_close(world.ibs[(first + i) % world.size]);
	for (int i = 0; i < world.size; i++)
		munmap(world.arenas[i], WORLD_ARENA);
	assert_int_equal(fake_leaks(stderr), 0);
	assert_int_equal(fake_counted()->pinned, 0);
	assert_int_equal(fake_counted()->misuses, 0);
}

void
world_group_open(struct world_group *group, const int *members, int ranks)
{
	*group = (struct world_group){ .ranks = ranks };
	memcpy(group->members, members, (size_t)ranks * sizeof *members);
	group->mail = open_mail(group);
	for (int rank = 0; rank < ranks; rank++) {
		struct cs_ib_group described = { .rank = rank, .ranks = ranks, .world = members,
						 .host = group->hosts[rank] };
		group->wires[rank] = cs_ib_wire_open(world.ibs[members[rank]], &described);
		assert_non_null(group->wires[rank]);
		group->requests[rank] = calloc(WORLD_REQUESTS, sizeof(struct cs_request));
		assert_non_null(group->requests[rank]);
	}
	group->next = groups;
	groups = group;
}

struct cs_request *
world_request(const struct cs_wire *wire, int number)
{
	assert_in_range(number, 0, WORLD_REQUESTS - 1);
	for (const struct world_group *group = groups; group; group = group->next)
		for (int rank = 0; rank < group->ranks; rank++)
			if (group->wires[rank] == wire)
				return &group->requests[rank][number];
	fail_msg("the wire is of no open group");
	return NULL;
}

void
world_group_close(struct world_group *group)
{
	struct world_group **link = &groups;
	while (*link != group)
		link = &(*link)->next;
	*link = group->next;
	for (int rank = 0; rank < group->ranks; rank++) {
		cs_ib_wire_close(group->wires[rank]);
		free(group->requests[rank]);
	}
	close_mail(group->mail);
}

void
world_progress(void)
{
	cs_ib_progress(world.ibs[random_below(&world.random, (uint32_t)world.size)]);
}

bool
world_finish(struct cs_wire *one, struct cs_request *request, struct cs_wire *other,
	     struct cs_request *other_request)
{
	bool is_done = false, is_other_done = false;
	for (int turn = 0; turn < 300000 && !(is_done && is_other_done); turn++) {
		is_done = is_done || one->test(one, request);
		is_other_done = is_other_done || other->test(other, other_request);
		world_progress();
	}
	return is_done && is_other_done;
}

/* Runs the body in a child, and returns its answer in memory that the caller unmaps. A child with
 * planted faults is silent: its failures are no failures of the test. */
static char *
run_apart(const char *(*body)(const void *argument), const void *argument, bool is_planted)
{
	static const char begun[] = "it did not come to an end";
	char *trouble = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(trouble, MAP_FAILED);
	memcpy(trouble, begun, sizeof begun);
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		if (is_planted && (!freopen("/dev/null", "w", stdout) ||
				   !freopen("/dev/null", "w", stderr)))
			_exit(1);
		const char *found = body(argument);
		snprintf(trouble, 4096, "%s", found ? found : "");
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	return trouble;
}

void
world_apart(const char *(*body)(const void *argument), const void *argument)
{
	char *trouble = run_apart(body, argument, false);
	if (trouble[0])
		fail_msg("%s", trouble);
	munmap(trouble, 4096);
}

bool
world_apart_is_well(const char *(*body)(const void *argument), const void *argument)
{
	char *trouble = run_apart(body, argument, true);
	bool is_well = !trouble[0];
	munmap(trouble, 4096);
	return is_well;
}
