/* world_wire.c has the messages of a world. */
#include "world_parts.h"

#include "algorithms/late/posted_receives.h"

#include <stdlib.h>

/* A message that was sent, or a receive that was posted. The bytes that are sent stay the sender's
 * until its request is over; some messages are over for the sender when chance wants, the others
 * not before the receive is posted. */
struct message {
	struct message *next;
	bool is_sent, is_direct;
	bool is_any; /* its receiver does not know who sends it */
	bool is_word; /* and may never ask for it */
	bool is_eager;    /* of a send */
	bool is_moved;    /* and not over for whose request this is */
	unsigned told;
	int group, from, to;
	uint64_t tag;
	struct cs_request *request; /* NULL: of a send that is over for its sender */
	char *data;                 /* the program's */
	char *copy;                 /* of a send that is over for its sender */
	size_t bytes;
	_Atomic uint64_t *flag;
	uint64_t value;
};

static struct seat *
seat_of(struct cs_wire *wire)
{
	return (struct seat *)(void *)((char *)wire - offsetof(struct seat, wire));
}

static void
post(struct seat *seat, struct message message)
{
	struct message *new = malloc(sizeof *new), **end = &seat->world->messages;
	assert_non_null(new);
	*new = message;
	new->group = seat->group;
	while (*end)
		end = &(*end)->next;
	*end = new;
}

static void
post_send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag,
	  const void *from, size_t bytes, bool is_direct)
{
	struct seat *seat = seat_of(wire);
	post(seat, (struct message){ .is_sent = true, .is_direct = is_direct,
				     .is_eager = random_below(&seat->world->random, 2),
				     .from = seat->rank, .to = peer, .tag = tag, .request = request,
				     .data = (char *)(uintptr_t)from, .bytes = bytes });
}

static void
send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from,
     size_t bytes)
{
	post_send(wire, request, peer, tag, from, bytes, false);
}

static void
send_direct(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag,
	    const void *from, size_t bytes)
{
	post_send(wire, request, peer, tag, from, bytes, true);
}

/* Whoever reads what has not come, or sends what is still to come, finds something else. */
static void
post_receive(struct cs_wire *wire, struct message message)
{
	message.to = seat_of(wire)->rank;
	if (message.bytes)
		memset(message.data, 0xa5, message.bytes);
	post(seat_of(wire), message);
}

static void
receive(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	size_t bytes)
{
	post_receive(wire, (struct message){ .from = peer, .tag = tag, .request = request,
					     .data = to, .bytes = bytes });
}

static void
receive_direct(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	       size_t bytes, _Atomic uint64_t *flag, uint64_t value)
{
	post_receive(wire, (struct message){ .is_direct = true, .from = peer, .tag = tag,
					     .request = request, .data = to, .bytes = bytes,
					     .flag = flag, .value = value });
}

/* Some are over for their sender only when they are received. */
static void
send_to(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t number,
	const void *from, size_t bytes)
{
	struct seat *seat = seat_of(wire);
	bool is_synchronous = number % CS_NUMBERS < CS_NUMBER_KINDS;
	post(seat, (struct message){ .is_sent = true, .is_any = true,
				     .is_eager = !is_synchronous &&
						 random_below(&seat->world->random, 2),
				     .from = seat->rank, .to = peer, .tag = number,
				     .request = request, .data = (char *)(uintptr_t)from,
				     .bytes = bytes });
}

static void
receive_any(struct cs_wire *wire, struct cs_request *request, uint64_t number, void *to,
	    size_t bytes)
{
	post_receive(wire, (struct message){ .is_any = true, .from = -1, .tag = number,
					     .request = request, .data = to, .bytes = bytes });
}

static void
send_word(struct cs_wire *wire, int peer, uint64_t number, uint64_t word)
{
	struct seat *seat = seat_of(wire);
	char *copy = malloc(sizeof word);
	assert_non_null(copy);
	memcpy(copy, &word, sizeof word);
	post(seat, (struct message){ .is_sent = true, .is_any = true, .is_word = true,
				     .from = seat->rank, .to = peer, .tag = number, .copy = copy,
				     .bytes = sizeof word });
}

static bool
is_alike(const struct message *a, const struct message *b)
{
	return a->group == b->group && (a->is_any || a->from == b->from) && a->to == b->to &&
	       a->is_direct == b->is_direct && a->is_any == b->is_any && a->tag == b->tag;
}

/* Of the messages of that kind that wait for their other half, the one that was posted as the
 * k-th. */
static struct message **
find_alike(struct world *world, const struct message *like, bool is_sent, int k)
{
	struct message **at = &world->messages;
	for (; *at; at = &(*at)->next)
		if ((*at)->is_sent == is_sent && !(*at)->is_moved && is_alike(*at, like) &&
		    k-- == 0)
			break;
	return at;
}

static struct message **
find_request(struct world *world, const struct cs_request *request)
{
	struct message **at = &world->messages;
	while (*at && (*at)->request != request)
		at = &(*at)->next;
	return at;
}

static void
unlink_message(struct message **at)
{
	struct message *gone = *at;
	*at = gone->next;
	free(gone->copy);
	free(gone);
}

/* Its other half, if that is posted: the k-th message of a kind is for the k-th receive, whichever
 * is asked for first. */
static struct message *
partner_of(struct world *world, const struct message *own)
{
	int before = 0, others = 0;
	/* Of any source, whichever chance wants. */
	while (own->is_any && *find_alike(world, own, !own->is_sent, others))
		others++;
	if (own->is_any)
		return others ? *find_alike(world, own, !own->is_sent,
					    (int)random_below(&world->random, (uint32_t)others))
			      : NULL;
	while (*find_alike(world, own, own->is_sent, before) != own)
		before++;
	return *find_alike(world, own, !own->is_sent, before);
}

static void
move(struct message *sent, struct message *receiver)
{
	size_t bytes = sent->bytes < receiver->bytes ? sent->bytes : receiver->bytes;
	if (bytes)
		memcpy(receiver->data, sent->copy ? sent->copy : sent->data, bytes);
	/* Of less no wire tells */
	receiver->told = sent->bytes > receiver->bytes ? CS_TOLD_MORE : 0;
	if (receiver->flag)
		atomic_store(receiver->flag, receiver->value);
	sent->is_moved = receiver->is_moved = true;
}

/* The bytes of a message that is over for its sender are the program's again. */
static void
buffer_message(struct message *message)
{
	message->copy = malloc(message->bytes + 1);
	assert_non_null(message->copy);
	if (message->bytes)
		memcpy(message->copy, message->data, message->bytes);
	message->request->told = 0;
	message->request = NULL;
}

static void
end_request(struct message *own)
{
	own->request->told = own->told;
	own->request = NULL;
}

/* A receive is over, whatever has become of it. */
static void
cancel(struct cs_wire *wire, struct cs_request *request)
{
	struct message **at = find_request(seat_of(wire)->world, request);
	if (*at)
		unlink_message(at);
}

static void
unlink_moved(struct world *world)
{
	for (struct message **at = &world->messages; *at;)
		if ((*at)->is_moved && !(*at)->request)
			unlink_message(at);
		else
			at = &(*at)->next;
}

static bool
test(struct cs_wire *wire, struct cs_request *request)
{
	struct world *world = seat_of(wire)->world;
	if (random_below(&world->random, 3) == 0)
		return false;
	struct message **at = find_request(world, request);
	if (!*at) {
		world_fail(world, "a request is asked for that is over");
		return true;
	}
	struct message *own = *at, *partner = own->is_moved ? NULL : partner_of(world, own);
	if (partner)
		move(own->is_sent ? own : partner, own->is_sent ? partner : own);
	if (own->is_moved)
		end_request(own);
	else if (own->is_sent && own->is_eager)
		buffer_message(own);
	else
		return false;
	unlink_moved(world);
	world->moves++;
	return true;
}

static void
wait(struct cs_wire *wire, struct cs_request *request)
{
	while (!test(wire, request))
		world_wait(seat_of(wire)->world);
}

static struct cs_multicast *
multicast_of(struct cs_wire *wire, uint64_t tag)
{
	(void)tag;
	return &seat_of(wire)->multicast;
}

void
world_open_wire(struct seat *seat)
{
	seat->wire = (struct cs_wire){ .rank = seat->rank,
				       .ranks = members_of(seat->world, seat->group), .send = send,
				       .recv = receive, .send_direct = send_direct,
				       .recv_direct = receive_direct, .send_to = send_to,
				       .recv_any = receive_any, .send_word = send_word,
				       .cancel = cancel, .wait = wait, .test = test,
				       .multicast = multicast_of };
}

/* Is it a receive for a word that nobody waits for? */
static bool
is_posted_receive(const struct world *world, const struct cs_request *request)
{
	for (int rank = 0; rank < world->ranks; rank++) {
		const struct cs_posted_receives *posted = world->teams[rank].posted_receives;
		for (int i = 0; posted && i < CS_POSTED_RECEIVES; i++)
			if (request == &posted->places[i].request)
				return true;
	}
	return false;
}

int
world_messages(const struct world *world, bool says)
{
	int count = 0;
	for (const struct message *m = world->messages; m; m = m->next) {
		if (m->is_word || is_posted_receive(world, m->request))
			continue;
		count++;
		if (says)
			print_error("group %d: %s from %d to %d, tag %llu, %zu bytes\n", m->group,
				    m->is_sent ? "sent" : "awaited", m->from, m->to,
				    (unsigned long long)m->tag, m->bytes);
	}
	return count;
}

void
world_drop_messages(struct world *world)
{
	while (world->messages)
		unlink_message(&world->messages);
}
