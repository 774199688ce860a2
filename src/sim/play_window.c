/* sim/play_window.c — memory of virtual nodes that ranks of other nodes write to. */
#include "sim/play_parts.h"

#include <stdlib.h>

static struct cs_play_rank *
rank_of(struct cs_rma_window *window)
{
	return ((struct cs_play_window *)(void *)window)->rank;
}

/* A message to a node goes to its first rank. */
static int
first_of(const struct cs_play *play, int node)
{
	return play->shape.order[play->shape.first[node]];
}

static void
put(struct cs_rma_window *window, struct cs_request *request, int node, uint64_t number,
    const struct cs_rma_part *part, const void *from, size_t bytes)
{
	struct cs_play_rank *rank = rank_of(window);
	int32_t message = cs_play_new_message(rank, from, bytes);
	struct cs_play_message *its = &rank->messages[message];
	its->number = number;
	its->at = part ? part->at : 0;
	its->row = CS_WINDOW_ARRIVED;
	its->growth = cs_rma_growth(number, part);
	request->own[0] = (uint64_t)message;
	cs_play_post(rank, message, first_of(rank->play, node), bytes, CS_STREAM_PUT);
}

static bool
test(struct cs_rma_window *window, struct cs_request *request)
{
	request->told = 0;
	return cs_play_test(rank_of(window), (int32_t)request->own[0]);
}

static bool
give_back(struct cs_rma_window *window, int node, uint64_t number)
{
	struct cs_play_rank *rank = rank_of(window);
	int32_t message = cs_play_new_message(rank, NULL, 0);
	struct cs_play_message *its = &rank->messages[message];
	its->number = number;
	its->row = CS_WINDOW_FREED;
	its->growth = cs_rma_growth(number, NULL);
	its->is_asked = false;
	cs_play_post(rank, message, first_of(rank->play, node), sizeof number, CS_STREAM_PUT);
	return true;
}

static char *
memory_of(struct cs_play *play, int node)
{
	if (!play->windows[node])
		play->windows[node] = cs_play_zeros(cs_rma_bytes(play->shape.nodes, CS_PLAY_ROOM));
	if (!play->windows[node])
		cs_sim_fail(play->sim, CS_NO_MEMORY);
	return play->windows[node];
}

void
cs_play_land(struct cs_sim *sim, const struct cs_event *event)
{
	struct cs_play *play = cs_play_of(sim);
	struct cs_play_rank *rank = cs_play_twin(play, event->from);
	struct cs_play_message *message = &rank->messages[event->request];
	int node = play->shape.node_of[event->to];
	const struct cs_rma_window *like = &rank->window->window;
	char *memory = memory_of(play, node);
	if (!memory)
		return;
	if (message->bytes)
		cs_play_write(memory + cs_rma_slot_at(like, like->node, message->number) +
				      message->at, message->copy, message->bytes);
	char *counter = memory + cs_rma_counter_at(like, like->node, message->row, message->number);
	atomic_fetch_add((_Atomic uint64_t *)(void *)counter, message->growth.by);
	message->is_on_way = false;
	cs_sim_note_inter(sim, &sim->actors[event->to], event->last, event->last);
	cs_play_forget(rank, event->request);
	cs_play_wake_node(play, node, true);
}

struct cs_rma_window *
cs_play_window_of(void *everyone)
{
	struct cs_play_rank *rank = ((struct cs_play_seat *)everyone)->rank;
	struct cs_play *play = rank->play;
	size_t nodes = (size_t)play->shape.nodes;
	if (rank->window)
		return &rank->window->window;
	struct cs_play_window *window = calloc(1, sizeof *window);
	uint64_t *sent = calloc(2 * nodes, sizeof *sent);
	char *memory = memory_of(play, rank->team.shape.node);
	if (!window || !sent || !memory) {
		free(window);
		free(sent);
		cs_sim_fail(play->sim, CS_NO_MEMORY);
		cs_play_give_up(rank, "no memory");
	}
	*window = (struct cs_play_window){
		.rank = rank,
		.window = { .room = CS_PLAY_ROOM, .nodes = play->shape.nodes,
			    .node = rank->team.shape.node, .memory = memory, .put = put,
			    .test = test, .give_back = give_back, .sent = sent,
			    .received = sent + nodes } };
	rank->window = window;
	return &window->window;
}

void
cs_play_drop_window(struct cs_play_rank *rank)
{
	if (rank->window)
		free(rank->window->window.sent);
	free(rank->window);
}
