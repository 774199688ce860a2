/* sim/match.c — finds the other half of a message in a hash of queues. */
#include "sim/match.h"

#include "sim/room.h"

static size_t
home(const struct cs_match *match, int to, int from)
{
	uint64_t x = ((uint64_t)(uint32_t)to << 32 | (uint32_t)from) * 0x9e3779b97f4a7c15u;
	return (size_t)(x ^ x >> 32) & (match->pair_room - 1);
}

/* The pair's place, or the free one where it belongs. */
static size_t
look(const struct cs_match *match, int to, int from)
{
	size_t at = home(match, to, from);
	while (match->pairs[at].to >= 0 &&
	       (match->pairs[at].to != to || match->pairs[at].from != from))
		at = (at + 1) & (match->pair_room - 1);
	return at;
}

static bool
grow_pairs(struct cs_match *match, size_t *left)
{
	struct cs_match old = *match;
	size_t room = old.pair_room ? 2 * old.pair_room : 64;
	struct cs_match_pair *pairs = cs_room_take(room, sizeof *pairs, left);
	if (!pairs)
		return false;
	for (size_t i = 0; i < room; i++)
		pairs[i].to = -1;
	match->pairs = pairs;
	match->pair_room = room;
	for (size_t i = 0; i < old.pair_room; i++)
		if (old.pairs[i].to >= 0)
			pairs[look(match, old.pairs[i].to, old.pairs[i].from)] = old.pairs[i];
	free(old.pairs);
	*left += old.pair_room * sizeof *pairs;
	return true;
}

/* Moves up the entries that had to go past the hole, so that look finds them. */
static void
remove_pair(struct cs_match *match, size_t hole)
{
	size_t mask = match->pair_room - 1;
	for (size_t at = (hole + 1) & mask; match->pairs[at].to >= 0; at = (at + 1) & mask) {
		size_t wanted = home(match, match->pairs[at].to, match->pairs[at].from);
		if (((at - wanted) & mask) >= ((at - hole) & mask)) {
			match->pairs[hole] = match->pairs[at];
			hole = at;
		}
	}
	match->pairs[hole].to = -1;
	match->pair_count--;
}

static uint32_t
new_node(struct cs_match *match, size_t *left)
{
	uint32_t node = match->free_nodes;
	if (node) {
		match->free_nodes = match->nodes[node].next;
		return node;
	}
	if (match->node_count + 1 >= match->node_room) {
		struct cs_match_node *nodes = match->node_room <= UINT32_MAX / 2
			? cs_room_double(match->nodes, &match->node_room, sizeof *nodes, left)
			: NULL;
		if (!nodes)
			return 0;
		match->nodes = nodes;
	}
	return (uint32_t)++match->node_count;
}

bool
cs_match_take(struct cs_match *match, int to, int from, bool is_receive, struct cs_half *half)
{
	if (!match->pair_count)
		return false;
	size_t at = look(match, to, from);
	struct cs_match_pair *pair = &match->pairs[at];
	if (pair->to < 0 || (match->nodes[pair->first].half.request >= 0) != is_receive)
		return false;
	uint32_t node = pair->first;
	*half = match->nodes[node].half;
	pair->first = match->nodes[node].next;
	match->nodes[node].next = match->free_nodes;
	match->free_nodes = node;
	if (!pair->first)
		remove_pair(match, at);
	return true;
}

bool
cs_match_put(struct cs_match *match, int to, int from, const struct cs_half *half, size_t *left)
{
	if (2 * (match->pair_count + 1) > match->pair_room && !grow_pairs(match, left))
		return false;
	uint32_t node = new_node(match, left);
	if (!node)
		return false;
	match->nodes[node] = (struct cs_match_node){ .half = *half };
	struct cs_match_pair *pair = &match->pairs[look(match, to, from)];
	if (pair->to < 0) {
		*pair = (struct cs_match_pair){ to, from, node, node };
		match->pair_count++;
	} else {
		match->nodes[pair->last].next = node;
		pair->last = node;
	}
	return true;
}

const struct cs_match_pair *
cs_match_left_over(const struct cs_match *match)
{
	for (size_t i = 0; i < match->pair_room; i++)
		if (match->pairs[i].to >= 0 && match->nodes[match->pairs[i].first].half.request < 0)
			return &match->pairs[i];
	return NULL;
}

void
cs_match_fini(struct cs_match *match)
{
	free(match->pairs);
	free(match->nodes);
	*match = (struct cs_match){ 0 };
}
