/* sim/play_wire.c — messages of virtual ranks, by the simulator's own. */
#include "sim/play_parts.h"

#include <stdlib.h>
#include <string.h>

#define LINE ((size_t)64)

static struct cs_play_seat *
seat_of(struct cs_wire *wire)
{
	return (struct cs_play_seat *)(void *)((char *)wire - offsetof(struct cs_play_seat, wire));
}

struct cs_wire *
cs_play_wire_of(void *group)
{
	return &((struct cs_play_seat *)group)->wire;
}

/* The rank of all ranks that is `peer` in the group. */
static int
number_of(const struct cs_play_seat *seat, int peer)
{
	const struct cs_play *play = seat->rank->play;
	if (seat->lane < 0)
		return peer;
	int turn = cs_lanes_turn(play->shape.ppn_min);
	return play->shape.order[play->shape.first[peer] + cs_lanes_local(seat->lane, peer, turn)];
}

/* --- what a message is ------------------------------------------------------------------------ */

static bool
is_zero(const char *from, size_t bytes)
{
	return !bytes || (!*from && !memcmp(from, from + 1, bytes - 1));
}

void
cs_play_write(char *to, const char *copy, size_t bytes)
{
	static const char zeros[LINE];
	for (size_t at = 0; at < bytes; at += LINE) {
		size_t part = bytes - at < LINE ? bytes - at : LINE;
		const char *from = copy ? copy + at : zeros;
		if (memcmp(to + at, from, part) != 0)
			memcpy(to + at, from, part);
	}
}

/* Room for more messages; the actor's requests grow with them. */
static void
grow(struct cs_play_rank *rank)
{
	struct cs_sim *sim = rank->play->sim;
	size_t count = rank->message_count, wanted = count ? 2 * count : 4;
	struct cs_play_message *all = realloc(rank->messages, wanted * sizeof *all);
	if (all)
		rank->messages = all;
	if (!all || !cs_sim_grow_requests(sim, cs_play_actor(rank), wanted)) {
		cs_sim_fail(sim, CS_NO_MEMORY);
		cs_play_give_up(rank, "no memory");
	}
	for (size_t i = count; i < wanted; i++) {
		all[i] = (struct cs_play_message){ .next = rank->unused };
		rank->unused = (int32_t)i;
	}
	rank->message_count = wanted;
}

int32_t
cs_play_new_message(struct cs_play_rank *rank, const void *from, size_t bytes)
{
	if (rank->unused < 0)
		grow(rank);
	int32_t number = rank->unused;
	struct cs_play_message *message = &rank->messages[number];
	rank->unused = message->next;
	*message = (struct cs_play_message){ .is_asked = true, .bytes = bytes };
	if (!from || is_zero(from, bytes))
		return number;
	message->copy = malloc(bytes);
	if (!message->copy) {
		cs_sim_fail(rank->play->sim, CS_NO_MEMORY);
		cs_play_give_up(rank, "no memory");
	}
	memcpy(message->copy, from, bytes);
	return number;
}

void
cs_play_forget(struct cs_play_rank *rank, int32_t number)
{
	struct cs_play_message *message = &rank->messages[number];
	if (message->is_asked || message->is_on_way)
		return;
	free(message->copy);
	*message = (struct cs_play_message){ .next = rank->unused };
	rank->unused = number;
}

/* Are the bytes of the seat's messages read? Plans and overlapped copies between nodes have data
 * alone, which nobody looks at unless it is moved; but sizes go that way where the root has
 * them. */
static bool
is_read(const struct cs_play_seat *seat)
{
	const struct cs_play *play = seat->rank->play;
	return seat->lane < 0 || seat->has_sizes || play->options.moves ||
	       cs_colls[play->call->coll].sizes == CS_SIZES_AT_ROOT;
}

/* --- starting --------------------------------------------------------------------------------- */

/* Adds a step of the plan kind; the rank goes on when it is over. */
static void
do_step(struct cs_play_rank *rank, enum cs_step_kind kind, int peer, size_t bytes, int32_t message,
	enum cs_sim_step_stream stream)
{
	struct cs_sim *sim = rank->play->sim;
	struct cs_sim_actor *actor = cs_play_actor(rank);
	cs_play_settle(rank);
	cs_play_drop_steps(rank);
	cs_sim_add_message(sim, cs_play_number(rank), kind, peer, bytes, message);
	if (sim->added != CS_OK)
		cs_sim_fail(sim, sim->added);
	else
		actor->steps[actor->count - 1].stream = stream & 3;
	cs_play_do_steps(rank);
}

void
cs_play_post(struct cs_play_rank *rank, int32_t message, int to, size_t bytes,
	     enum cs_sim_step_stream stream)
{
	const struct cs_sim_step step = { .bytes = bytes, .peer = to, .kind = CS_STEP_SEND,
					  .stream = stream & 3,
					  .request = (uint32_t)message &
						     (CS_SIM_MOST_REQUESTS - 1) };
	rank->noise++;
	cs_play_settle(rank);
	rank->messages[message].is_on_way = true;
	cs_sim_start(rank->play->sim, cs_play_actor(rank), &step);
	cs_play_catch_up(rank);
}

static void
post_send(struct cs_wire *wire, struct cs_request *request, int peer, const void *from,
	  size_t bytes, enum cs_sim_step_stream stream)
{
	struct cs_play_seat *seat = seat_of(wire);
	int32_t message = cs_play_new_message(seat->rank, is_read(seat) ? from : NULL, bytes);
	request->own[0] = (uint64_t)message;
	seat->rank->messages[message].is_on_way = true;
	do_step(seat->rank, CS_STEP_SEND, number_of(seat, peer), bytes, message, stream);
}

static void
send_direct(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag,
	    const void *from, size_t bytes)
{
	(void)tag;
	post_send(wire, request, peer, from, bytes, CS_STREAM_DIRECT);
}

static int32_t
expect(const struct cs_play_seat *seat, struct cs_request *request, void *to, size_t bytes)
{
	struct cs_play_rank *rank = seat->rank;
	int32_t message = cs_play_new_message(rank, NULL, bytes);
	rank->messages[message].to = is_read(seat) ? to : NULL;
	request->own[0] = (uint64_t)message;
	return message;
}

static void
receive_direct(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	       size_t bytes, _Atomic uint64_t *flag, uint64_t value)
{
	struct cs_play_seat *seat = seat_of(wire);
	int32_t message = expect(seat, request, to, bytes);
	(void)tag;
	seat->rank->messages[message].flag = flag;
	seat->rank->messages[message].value = value;
	do_step(seat->rank, CS_STEP_RECV, number_of(seat, peer), bytes, message, CS_STREAM_DIRECT);
}

/* --- messages from any source ----------------------------------------------------------------- */

/* Halves of them have the sender in the upper bits of their bytes. */
#define FROM_SHIFT 40
#define FROM_PEER UINT64_MAX /* number of a message whose receiver knows its sender */

static int
key_of(uint64_t number, int from)
{
	return number == FROM_PEER ? from : -2 - (int)(number & ((1u << 30) - 1));
}

static void
move(struct cs_play *play, int to, int receive, int from, int message)
{
	struct cs_play_message *there = &play->ranks[to].messages[receive],
			       *sent = &cs_play_twin(play, from)->messages[message];
	size_t bytes = sent->bytes < there->bytes ? sent->bytes : there->bytes;
	if (there->to)
		cs_play_write(there->to, sent->copy, bytes);
	sent->is_on_way = false;
	cs_play_forget(cs_play_twin(play, from), message);
	cs_play_wake(&play->ranks[to], play->sim->actors[to].requests[receive].at);
}

void
cs_play_met(struct cs_sim *sim, int to, int receive, int from, int message)
{
	move(cs_play_of(sim), to, receive, from & ((1 << CS_STREAM_SHIFT) - 1), message);
}

static void
meet_any(struct cs_play *play, int to, int receive, int from, int message,
	 const struct cs_half *half)
{
	struct cs_sim *sim = play->sim;
	struct cs_sim_actor *actor = &sim->actors[to];
	actor->requests[receive] = (struct cs_sim_request){
		.at = half->at, .chain = half->chain, .is_done = true, .is_receive = true,
		.level = actor->node == sim->actors[from].node };
	move(play, to, receive, from, message);
	if (actor->awaits == receive)
		cs_sim_advance(sim, actor);
}

void
cs_play_deliver(struct cs_sim *sim, const struct cs_event *event, int64_t last)
{
	struct cs_play *play = cs_play_of(sim);
	int message = event->request;
	struct cs_half half = { .at = last, .chain = event->chain, .request = -2 - message,
				.bytes = (uint64_t)event->from << FROM_SHIFT }, mine;
	if (event->stream == CS_STREAM_PUT) {
		struct cs_event landing = *event;
		landing.at = landing.last = last;
		landing.stage = CS_STAGE_LAND;
		cs_sim_put(sim, &landing);
		return;
	}
	int key = key_of(cs_play_twin(play, event->from)->messages[message].number, event->from);
	if (cs_match_take(&play->any, event->to, key, true, &mine))
		meet_any(play, event->to, mine.request, event->from, message, &half);
	else
		cs_sim_put_half(sim, &play->any, event->to, key, &half);
}

static void
send_any(struct cs_play_rank *rank, int32_t message, int to, uint64_t number, size_t bytes)
{
	rank->messages[message].number = number;
	cs_play_post(rank, message, to, bytes, CS_STREAM_ANY);
}

static void
send_to(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t number,
	const void *from, size_t bytes)
{
	struct cs_play_seat *seat = seat_of(wire);
	int32_t message = cs_play_new_message(seat->rank, from, bytes);
	request->own[0] = (uint64_t)message;
	send_any(seat->rank, message, number_of(seat, peer), number, bytes);
}

static void
send_word(struct cs_wire *wire, int peer, uint64_t number, uint64_t word)
{
	struct cs_play_seat *seat = seat_of(wire);
	int32_t message = cs_play_new_message(seat->rank, &word, sizeof word);
	seat->rank->messages[message].is_asked = false;
	send_any(seat->rank, message, number_of(seat, peer), number, sizeof word);
}

static void
receive_keyed(const struct cs_play_seat *seat, struct cs_request *request, int key, void *to,
	      size_t bytes)
{
	struct cs_play_rank *rank = seat->rank;
	struct cs_play *play = rank->play;
	int32_t message = expect(seat, request, to, bytes);
	rank->noise++;
	struct cs_half mine = { .bytes = bytes, .request = message }, half;
	int self = cs_play_number(rank);
	struct cs_sim_actor *actor = &play->sim->actors[self];
	if (key >= 0 && actor->node != play->sim->actors[key].node)
		cs_sim_note_inter(play->sim, actor, actor->now, actor->now);
	actor->requests[message] =
		(struct cs_sim_request){ .is_receive = true };
	if (cs_match_take(&play->any, self, key, false, &half))
		meet_any(play, self, message, (int)(half.bytes >> FROM_SHIFT), -2 - half.request,
			 &half);
	else
		cs_sim_put_half(play->sim, &play->any, self, key, &mine);
}

static void
receive_any(struct cs_wire *wire, struct cs_request *request, uint64_t number, void *to,
	    size_t bytes)
{
	receive_keyed(seat_of(wire), request, key_of(number, 0), to, bytes);
}

/* Between all ranks a receive may have more room than its message has bytes, and is no rendezvous
 * then: so none of them is. */
static void
send(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, const void *from,
     size_t bytes)
{
	(void)tag;
	if (seat_of(wire)->lane < 0)
		send_to(wire, request, peer, FROM_PEER, from, bytes);
	else
		post_send(wire, request, peer, from, bytes, CS_STREAM_FIRST);
}

static void
receive(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	size_t bytes)
{
	struct cs_play_seat *seat = seat_of(wire);
	(void)tag;
	if (seat->lane < 0) {
		receive_keyed(seat, request, peer, to, bytes);
		return;
	}
	int32_t message = expect(seat, request, to, bytes);
	do_step(seat->rank, CS_STEP_RECV, number_of(seat, peer), bytes, message, CS_STREAM_FIRST);
}

void
cs_play_keep_words(struct cs_play *play)
{
	for (size_t i = 1; i <= play->any.node_count; i++)
		play->any.nodes[i].half.at = 0;
}

/* --- ending ----------------------------------------------------------------------------------- */

static void
end_message(struct cs_play_rank *rank, int32_t number)
{
	struct cs_play_message *message = &rank->messages[number];
	do_step(rank, CS_STEP_WAIT, 0, 0, number, CS_STREAM_FIRST);
	message = &rank->messages[number];
	rank->noise += message->flag != NULL;
	if (message->flag)
		atomic_store(message->flag, message->value);
	message->is_asked = false;
	cs_play_forget(rank, number);
}

bool
cs_play_test(struct cs_play_rank *rank, int32_t number)
{
	const struct cs_sim_actor *actor = cs_play_actor(rank);
	const struct cs_sim_request *request = &actor->requests[number];
	if (!request->is_done)
		return false;
	if (request->at > actor->now) {
		rank->known_at = request->at < rank->known_at ? request->at : rank->known_at;
		return false;
	}
	end_message(rank, number);
	return true;
}

static bool
test(struct cs_wire *wire, struct cs_request *request)
{
	request->told = 0;
	return cs_play_test(seat_of(wire)->rank, (int32_t)request->own[0]);
}

static void
wait(struct cs_wire *wire, struct cs_request *request)
{
	request->told = 0;
	end_message(seat_of(wire)->rank, (int32_t)request->own[0]);
}

/* Receives are cancelled when a team ends, and the simulation with it. */
static void
cancel(struct cs_wire *wire, struct cs_request *request)
{
	(void)wire, (void)request;
}

static bool
copies(struct cs_wire *wire, size_t bytes)
{
	const struct cs_play_seat *seat = seat_of(wire);
	cs_play_do_plan_work(seat->rank, false, bytes);
	return is_read(seat);
}

void
cs_play_open_wire(struct cs_play_seat *seat, struct cs_play_rank *rank, int lane)
{
	const struct cs_shape *shape = &rank->team.shape;
	*seat = (struct cs_play_seat){
		.rank = rank, .lane = lane,
		.wire = { .rank = lane < 0 ? shape->rank : shape->node,
			  .ranks = lane < 0 ? shape->ranks : shape->nodes,
			  .send = send, .recv = receive, .send_direct = send_direct,
			  .recv_direct = receive_direct, .send_to = send_to,
			  .recv_any = receive_any, .send_word = send_word, .cancel = cancel,
			  .wait = wait, .test = test, .copies = copies } };
}
