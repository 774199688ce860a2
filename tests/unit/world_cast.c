/* world_cast.c has the multicast of a world: of a piece for each rank chance says whether it is
 * lost, comes once or twice, and when. */
#include "world_parts.h"

#include <stdlib.h>

#define PIECE 96 /* bytes: long calls have several windows */

struct datagram {
	struct datagram *next;
	int to;
	uint32_t broadcast, piece;
	uint64_t total;
	size_t bytes;
	char data[PIECE];
};

static struct seat *
seat_with(struct cs_multicast *multicast)
{
	return (struct seat *)(void *)((char *)multicast - offsetof(struct seat, multicast));
}

static bool
cast_piece(struct cs_multicast *multicast, uint32_t broadcast, uint32_t piece, const char *data,
	   uint64_t total)
{
	struct seat *seat = seat_with(multicast);
	struct world *world = seat->world;
	if (random_below(&world->random, 4) == 0)
		return false;
	world->moves++;
	for (int to = 0; to < world->ranks; to++)
		for (uint64_t times = random_below(&world->random, 4) % 3; to != seat->rank &&
		     times; times--) {
			struct datagram *new = malloc(sizeof *new), **end = &world->datagrams;
			size_t at = (size_t)piece * PIECE, left = (size_t)total - at;
			assert_non_null(new);
			*new = (struct datagram){ .to = to, .broadcast = broadcast, .piece = piece,
						  .total = total, .bytes = left < PIECE
						  ? left : PIECE };
			memcpy(new->data, data + at, new->bytes);
			while (*end)
				end = &(*end)->next;
			*end = new;
		}
	return true;
}

static bool
take_piece(struct cs_multicast *multicast, uint32_t broadcast, struct cs_multicast_piece *piece)
{
	struct seat *seat = seat_with(multicast);
	struct world *world = seat->world;
	free(seat->looked_at);
	seat->looked_at = NULL;
	for (struct datagram **at = &world->datagrams, *found; (found = *at);) {
		if (found->to != seat->rank || found->broadcast > broadcast ||
		    random_below(&world->random, 3) == 0) {
			at = &found->next;
			continue;
		}
		*at = found->next;
		seat->looked_at = found;
		world->moves++;
		if (found->broadcast == broadcast)
			break;
		free(found);
		seat->looked_at = NULL;
	}
	if (seat->looked_at)
		*piece = (struct cs_multicast_piece){ .piece = seat->looked_at->piece,
						      .total = seat->looked_at->total,
						      .data = seat->looked_at->data,
						      .bytes = seat->looked_at->bytes };
	return seat->looked_at != NULL;
}

static void
count_resent(struct cs_multicast *multicast, uint32_t pieces)
{
	(void)multicast, (void)pieces;
}

void
world_open_cast(struct seat *seat)
{
	seat->multicast = (struct cs_multicast){ .room = PIECE, .send = cast_piece,
						 .take = take_piece, .resent = count_resent };
}

void
world_drop_datagrams(struct world *world)
{
	while (world->datagrams) {
		struct datagram *gone = world->datagrams;
		world->datagrams = gone->next;
		free(gone);
	}
	for (int rank = 0; rank < world->ranks; rank++)
		free(world->everyone[rank].looked_at);
}
