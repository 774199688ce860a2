#include "ib_traffic.h"

#include "ib/internal.h"

enum { GUARD = 16, LANES = WORLD_GROUPS * WORLD_MOST * WORLD_MOST * TRAFFIC_TAGS };
#define MOST_TURNS 4000000

/* One end of a message. */
struct end {
	int message;
	bool is_recv;
	char *memory; /* between guards, unless direct */
	_Atomic uint64_t *flag;
};

struct run {
	struct traffic *traffic;
	struct lane {
		int messages[TRAFFIC_MOST];
		int count, sent, received;
	} lanes[LANES];
	struct end open[2 * TRAFFIC_MOST];
	int open_count, started;
	size_t arena_used[WORLD_MOST];
};

static unsigned char
byte_of(int message, size_t at)
{
	return (unsigned char)(at * 7 + at / 251 + (size_t)message * 13 + 1);
}

static int
lane_of(const struct traffic_message *message)
{
	return ((message->group * WORLD_MOST + message->from) * WORLD_MOST + message->to) *
	       TRAFFIC_TAGS + (int)message->tag;
}

void
traffic_draw(struct traffic *traffic, struct world_group *groups, int group_count, int count,
	     const size_t *sizes, size_t size_count, unsigned direct)
{
	assert_in_range(count, 1, TRAFFIC_MOST);
	*traffic = (struct traffic){ .groups = groups, .group_count = group_count, .count = count,
				     .eagerness = 1 + random_below(&world.random, 7) };
	for (int i = 0; i < count; i++) {
		struct traffic_message *message = &traffic->messages[i];
		message->group = (int)random_below(&world.random, (uint32_t)group_count);
		int ranks = groups[message->group].ranks;
		message->from = (int)random_below(&world.random, (uint32_t)ranks);
		message->to = (message->from + 1 +
			       (int)random_below(&world.random, (uint32_t)ranks - 1)) % ranks;
		message->tag = (uint64_t)i % TRAFFIC_TAGS;
		message->bytes = sizes[random_below(&world.random, (uint32_t)size_count)];
		message->is_direct = random_below(&world.random, 8) < direct;
		message->has_flag = message->is_direct && random_below(&world.random, 4);
	}
}

static bool
trouble(struct traffic *traffic, int message, const char *what)
{
	if (!traffic->trouble) {
		traffic->trouble = what;
		traffic->trouble_at = message;
	}
	return false;
}

static void
take_memory(struct run *run, struct end *end)
{
	const struct traffic_message *message = &run->traffic->messages[end->message];
	const struct world_group *group = &run->traffic->groups[message->group];
	int process = group->members[end->is_recv ? message->to : message->from];
	if (!message->is_direct) {
		end->memory = malloc(message->bytes + 2 * GUARD);
		assert_non_null(end->memory);
		memset(end->memory, 0xee, message->bytes + 2 * GUARD);
		end->memory += GUARD;
		return;
	}
	size_t needed = GUARD + ((message->bytes + 7) & ~(size_t)7) + GUARD;
	assert_true(run->arena_used[process] + needed <= WORLD_ARENA);
	char *start = world.arenas[process] + run->arena_used[process];
	run->arena_used[process] += needed;
	memset(start, 0xee, needed);
	end->memory = start + GUARD;
	if (end->is_recv && message->has_flag) {
		end->flag = (_Atomic uint64_t *)(void *)start;
		*end->flag = 0;
	}
}

static void
start(struct run *run, int number, bool is_recv)
{
	const struct traffic_message *message = &run->traffic->messages[number];
	const struct world_group *group = &run->traffic->groups[message->group];
	struct end *end = &run->open[run->open_count++];
	*end = (struct end){ .message = number, .is_recv = is_recv };
	take_memory(run, end);
	run->started++;
	struct cs_wire *wire = group->wires[is_recv ? message->to : message->from];
	int peer = is_recv ? message->from : message->to;
	uint64_t tag = run->traffic->first_tag + message->tag;
	struct cs_request *request = world_request(wire, 2 * number + is_recv);
	for (size_t i = 0; i < message->bytes && !is_recv; i++)
		end->memory[i] = (char)byte_of(number, i);
	if (is_recv && message->is_direct)
		wire->recv_direct(wire, request, peer, tag, end->memory, message->bytes, end->flag,
				  (uint64_t)number + 1);
	else if (is_recv)
		wire->recv(wire, request, peer, tag, end->memory, message->bytes);
	else if (message->is_direct)
		wire->send_direct(wire, request, peer, tag, end->memory, message->bytes);
	else
		wire->send(wire, request, peer, tag, end->memory, message->bytes);
}

static bool
is_right(const struct run *run, const struct end *end)
{
	const struct traffic_message *message = &run->traffic->messages[end->message];
	for (size_t i = 0; i < message->bytes; i++)
		if ((unsigned char)end->memory[i] != byte_of(end->message, i))
			return false;
	for (size_t i = 0; i < GUARD; i++)
		if ((unsigned char)end->memory[message->bytes + i] != 0xee ||
		    (!end->flag && (unsigned char)end->memory[(ptrdiff_t)i - GUARD] != 0xee))
			return false;
	return true;
}

static bool
finish(struct run *run, int at)
{
	struct end end = run->open[at];
	const struct traffic_message *message = &run->traffic->messages[end.message];
	bool is_well = true;
	if (end.is_recv && !is_right(run, &end))
		is_well = trouble(run->traffic, end.message, "wrong data");
	if (end.flag && *end.flag != (uint64_t)end.message + 1)
		is_well = trouble(run->traffic, end.message, "its flag is not set");
	if (!end.is_recv)
		memset(end.memory, 0x5a, message->bytes);
	if (!message->is_direct)
		free(end.memory - GUARD);
	run->open[at] = run->open[--run->open_count];
	return is_well;
}

/* Nobody writes to a slot that has not been given back. */
static bool
are_slots_kept(const struct cs_ib *ib)
{
	for (int i = 0; i < ib->known_count; i++) {
		const struct cs_peer *peer = ib->known[i];
		if (peer->filled - peer->freed > peer->slot_count ||
		    peer->arrived - peer->taken > peer->slot_count)
			return false;
	}
	return true;
}

/* Tests one that is open. */
static bool
try_one(struct run *run)
{
	int at = (int)random_below(&world.random, (uint32_t)run->open_count);
	const struct end *end = &run->open[at];
	const struct traffic_message *message = &run->traffic->messages[end->message];
	struct cs_wire *wire =
		run->traffic->groups[message->group].wires[end->is_recv
							   ? message->to : message->from];
	/* Another process may look at the flag at any time. */
	if (end->flag && *end->flag && !is_right(run, end))
		return trouble(run->traffic, end->message, "its flag was set before its data was "
							   "there");
	int request = 2 * end->message + end->is_recv;
	int process = run->traffic->groups[message->group].members[end->is_recv
								   ? message->to : message->from];
	bool is_well = !wire->test(wire, world_request(wire, request)) || finish(run, at);
	return are_slots_kept(world.ibs[process])
	       ? is_well : trouble(run->traffic, request / 2, "a slot is not there");
}

static void
start_one(struct run *run)
{
	struct lane *lane = &run->lanes[random_below(&world.random, LANES)];
	bool is_recv = random_below(&world.random, 8) >= run->traffic->eagerness;
	int *next = is_recv ? &lane->received : &lane->sent;
	if (*next < lane->count)
		start(run, lane->messages[(*next)++], is_recv);
}

bool
traffic_run(struct traffic *traffic)
{
	struct run *run = calloc(1, sizeof *run);
	assert_non_null(run);
	run->traffic = traffic;
	for (int i = 0; i < traffic->count; i++) {
		struct lane *lane = &run->lanes[lane_of(&traffic->messages[i])];
		lane->messages[lane->count++] = i;
	}
	bool is_well = true;
	long turns = 0;
	while (is_well && (run->open_count || run->started < 2 * traffic->count)) {
		if (run->started < 2 * traffic->count && random_below(&world.random, 2))
			start_one(run);
		if (run->open_count)
			is_well = try_one(run);
		if (++turns == MOST_TURNS)
			is_well = trouble(traffic, run->open_count ? run->open[0].message : 0,
					  "no end");
	}
	free(run);
	return is_well;
}
