/* world_window.c has the windows of a world: what is put arrives when chance wants, in two parts,
 * then its counter grows; what is sent is read as late as that. Who writes into a slot that was not
 * given back, or gives back what has not come, is found out. */
#include "world_parts.h"

#include <stdlib.h>

#define ROOM ((size_t)2 << 10)

/* A write or a counter, or both, on its way. Those of a rank to a node arrive in order. */
struct delivery {
	struct delivery *next;
	int from, node; /* rank; the node that it is for */
	struct cs_request *request;
	const char *data;
	size_t bytes, done;
	uint64_t number;
	enum cs_rma_row row;
	struct cs_rma_growth growth;
	size_t at;
};

static struct world_window *
window_of(struct cs_rma_window *base)
{
	return (struct world_window *)(void *)base;
}

static void
deliver_later(struct world_window *window, struct delivery delivery)
{
	struct delivery *new = malloc(sizeof *new), **end = &window->world->deliveries;
	assert_non_null(new);
	*new = delivery;
	new->from = window->rank;
	while (*end)
		end = &(*end)->next;
	*end = new;
}

static void
put(struct cs_rma_window *base, struct cs_request *request, int node, uint64_t number,
    const struct cs_rma_part *part, const void *from, size_t bytes)
{
	struct world_window *window = window_of(base);
	size_t at = part ? part->at : 0;
	if (!cs_rma_may_put(base, node, number) || at > ROOM || bytes > ROOM - at ||
	    number >= base->sent[node])
		world_fail(window->world, "message %llu from node %d to %d may not be sent",
			   (unsigned long long)number, base->node, node);
	window->world->parts_put += part && !part->is_last;
	deliver_later(window, (struct delivery){ .node = node, .request = request, .data = from,
						 .bytes = bytes, .number = number, .at = at,
						 .row = CS_WINDOW_ARRIVED,
						 .growth = cs_rma_growth(number, part) });
}

static bool
give_back(struct cs_rma_window *base, int node, uint64_t number)
{
	struct world_window *window = window_of(base);
	if (random_below(&window->world->random, 4) == 0)
		return false;
	if (!cs_rma_has_come(base, node, number) || number >= base->received[node])
		world_fail(window->world, "message %llu from node %d has not come to %d, which "
					  "gives it back",
			   (unsigned long long)number, node, base->node);
	/* Whoever reads it now, finds something else. */
	memset(base->memory + cs_rma_slot_at(base, node, number), 0xa5, ROOM);
	deliver_later(window, (struct delivery){ .node = node, .number = number,
						 .row = CS_WINDOW_FREED,
						 .growth = cs_rma_growth(number, NULL) });
	return true;
}

static bool
is_under_way(const struct world *world, const struct cs_request *request)
{
	const struct delivery *at = world->deliveries;
	while (at && at->request != request)
		at = at->next;
	return at;
}

static bool
test(struct cs_rma_window *base, struct cs_request *request)
{
	struct world *world = window_of(base)->world;
	world_carry(world);
	request->told = 0;
	if (is_under_way(world, request) || random_below(&world->random, 3) == 0)
		return false;
	world->moves++;
	return true;
}

/* All ranks make windows together; here each does so when it comes. */
static char *
memory_of(struct world *world, int node)
{
	if (!world->window_memory[node])
		world->window_memory[node] = calloc(1, cs_rma_bytes(world->nodes, ROOM));
	assert_non_null(world->window_memory[node]);
	return world->window_memory[node];
}

static void
count(struct world *world, const struct delivery *delivery)
{
	const struct cs_rma_window *like = &world->windows[delivery->from]->window;
	char *at = memory_of(world, delivery->node) +
		   cs_rma_counter_at(like, like->node, delivery->row, delivery->number);
	const struct cs_rma_growth *growth = &delivery->growth;
	uint64_t is = atomic_fetch_add((_Atomic uint64_t *)(void *)at, growth->by) + growth->by;
	if (is != growth->to)
		world_fail(world, "a counter of node %d is %#llx and not %#llx", delivery->node,
			   (unsigned long long)is, (unsigned long long)growth->to);
}

/* A part of it arrives, or, behind the last one, its counter; true: that was all. */
static bool
carry_one(struct world *world, struct delivery *delivery)
{
	const struct cs_rma_window *like = &world->windows[delivery->from]->window;
	size_t left = delivery->bytes - delivery->done, part = left < 64 ? left : (left + 1) / 2;
	char *to = memory_of(world, delivery->node) +
		   cs_rma_slot_at(like, like->node, delivery->number) + delivery->at +
		   delivery->done;
	bool counts_first = world->counts_first && delivery->bytes > 1;
	if (counts_first && !delivery->done)
		count(world, delivery);
	if (part)
		memcpy(to, delivery->data + delivery->done, part);
	delivery->done += part;
	if (part && delivery->done < delivery->bytes)
		return false;
	if (!counts_first)
		count(world, delivery);
	return true;
}

static bool
is_behind(const struct world *world, const struct delivery *delivery)
{
	for (const struct delivery *at = world->deliveries; at != delivery; at = at->next)
		if (at->from == delivery->from && at->node == delivery->node)
			return true;
	return false;
}

void
world_carry(struct world *world)
{
	for (struct delivery **at = &world->deliveries, *one; (one = *at);) {
		if (random_below(&world->random, 2) || is_behind(world, one) ||
		    !carry_one(world, one)) {
			at = &one->next;
			continue;
		}
		*at = one->next;
		free(one);
		world->moves++;
	}
}

struct cs_rma_window *
world_window_of(void *everyone)
{
	struct seat *seat = everyone;
	struct world *world = seat->world;
	if (!world->has_windows)
		return NULL;
	struct world_window *window = world->windows[seat->rank];
	if (window)
		return &window->window;
	int node = world->node_of[seat->rank];
	size_t nodes = (size_t)world->nodes;
	window = world->windows[seat->rank] = calloc(1, sizeof *window);
	assert_non_null(window);
	*window = (struct world_window){
		.window = { .room = ROOM, .nodes = world->nodes, .node = node,
			    .memory = memory_of(world, node), .put = put, .test = test,
			    .give_back = give_back, .sent = calloc(2 * nodes, sizeof(uint64_t)) },
		.world = world, .rank = seat->rank };
	assert_non_null(window->window.sent);
	window->window.received = window->window.sent + nodes;
	return &window->window;
}

/* Deliveries under way arrive at last. */
int
world_window_messages(struct world *world)
{
	int left = 0;
	while (world->deliveries)
		world_carry(world);
	for (int rank = 0; rank < world->ranks; rank++)
		left += world->windows[rank] && !cs_rma_is_quiet(&world->windows[rank]->window);
	return left;
}

void
world_drop_windows(struct world *world)
{
	while (world->deliveries) {
		struct delivery *gone = world->deliveries;
		world->deliveries = gone->next;
		free(gone);
	}
	for (int rank = 0; rank < world->ranks; rank++) {
		if (world->windows[rank])
			free(world->windows[rank]->window.sent);
		free(world->windows[rank]);
	}
	for (int node = 0; node < world->nodes; node++)
		free(world->window_memory[node]);
}
