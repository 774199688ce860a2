/* sim/serve.c — a server gives data to those that have asked for it, in groups that pass it on. */
#include "sim/actor.h"
#include "sim/room.h"

#define MEMBER_BYTES 4 /* of the list of those to whom data is to be passed on, each */

void
cs_sim_add_serve(struct cs_sim *sim, int server, uint32_t clients, uint64_t bytes, uint32_t group,
		 bool splits)
{
	if (sim->added != CS_OK)
		return;
	if (sim->serve || !group || !clients || clients >= (uint32_t)sim->ranks) {
		sim->added = CS_BAD_INPUT;
		return;
	}
	struct cs_serve *serve = calloc(1, sizeof *serve);
	sim->serve = serve;
	if (serve) {
		*serve = (struct cs_serve){ .server = server, .clients = clients, .bytes = bytes,
					    .group = group, .splits = splits };
		serve->asked = cs_room_take(clients, sizeof *serve->asked, &sim->left);
		serve->asked_at = cs_room_take(clients, sizeof *serve->asked_at, &sim->left);
	}
	if (!serve || !serve->asked || !serve->asked_at)
		sim->added = CS_NO_MEMORY;
	cs_sim_add_step(sim, server, CS_NODE_SERVE, 0, 0);
}

void
cs_serve_rewind(struct cs_serve *serve)
{
	serve->asked_count = serve->taken = 0;
	serve->is_idle = false;
}

void
cs_serve_fini(struct cs_sim *sim)
{
	if (!sim->serve)
		return;
	free(sim->serve->asked);
	free(sim->serve->asked_at);
	free(sim->serve);
}

/* Data to one that has asked, and the `count` behind `at` for it to pass it on to. */
static void
give(struct cs_sim *sim, struct cs_sim_actor *from, uint32_t to, uint32_t at, uint32_t count)
{
	struct cs_serve *serve = sim->serve;
	struct cs_sim_actor *client = &sim->actors[serve->asked[to]];
	client->group_at = at;
	client->group_count = count;
	cs_sim_post(sim, from, serve->asked[to], serve->bytes + MEMBER_BYTES * (uint64_t)count,
		    CS_MESSAGE_SERVES);
}

/* `count` that have asked, from `at` on: to each in turn, or half of them at a time. */
static void
pass_on(struct cs_sim *sim, struct cs_sim_actor *from, uint32_t at, uint32_t count)
{
	if (!sim->serve->splits) {
		for (uint32_t i = 0; i < count; i++)
			give(sim, from, at + i, 0, 0);
		return;
	}
	while (count) {
		uint32_t half = (count + 1) / 2, first = at + count - half;
		give(sim, from, first, first + 1, half - 1);
		count -= half;
	}
}

void
cs_serve_look(struct cs_sim *sim, struct cs_sim_actor *server)
{
	struct cs_serve *serve = sim->serve;
	uint32_t here = serve->asked_count - serve->taken, at = serve->taken;
	int self = (int)(server - sim->actors);
	if (!here) {
		serve->is_idle = true;
		return;
	}
	here = here < serve->group ? here : serve->group;
	serve->taken += here;
	server->now = cs_sim_later(server->now, serve->asked_at[at + here - 1]);
	for (uint32_t i = 0; i < here; i++)
		server->now += cs_sim_receive_time(sim, serve->asked[at + i], self);
	if (serve->splits)
		pass_on(sim, server, at, here);
	else
		give(sim, server, at, at + 1, here - 1);
	if (serve->taken == serve->clients)
		cs_sim_go_on_left(sim, server);
	else
		cs_sim_put_look(sim, server, CS_STAGE_SERVE);
}

void
cs_serve_asked(struct cs_sim *sim, const struct cs_event *event, int64_t last)
{
	struct cs_serve *serve = sim->serve;
	struct cs_sim_actor *server = &sim->actors[serve->server];
	if (serve->asked_count == serve->clients)
		return;
	serve->asked[serve->asked_count] = event->from;
	serve->asked_at[serve->asked_count++] = last;
	server->chain = event->chain > server->chain ? event->chain : server->chain;
	if (!serve->is_idle)
		return;
	serve->is_idle = false;
	server->now = cs_sim_later(server->now, last);
	cs_sim_put_look(sim, server, CS_STAGE_SERVE);
}

void
cs_serve_served(struct cs_sim *sim, const struct cs_event *event, int64_t last)
{
	struct cs_sim_actor *client = &sim->actors[event->to];
	int64_t start = client->now;
	client->now = cs_sim_later(client->now, last) +
		      cs_sim_receive_time(sim, event->from, event->to);
	client->chain = event->chain > client->chain ? event->chain : client->chain;
	cs_sim_go_on(sim, client, start);
}

void
cs_serve_forward(struct cs_sim *sim, struct cs_sim_actor *client)
{
	pass_on(sim, client, client->group_at, client->group_count);
	cs_sim_go_on_left(sim, client);
}
