/* wire/multicast.h — one to all of a wire's ranks at once, by the network's multicast: fast, and
 * nothing is promised.
 *
 *   one rank   send(broadcast, piece) ----> every other rank   take(broadcast) -> piece, or never
 *
 * A piece may be lost, come twice or in another order; what comes is whole, of this group, and of
 * the broadcast asked for. Its user repairs losses by the wire (algorithms/bcast/multicast.c).
 * Broadcasts are numbered from 1; all ranks make the same ones in the same order. One thread at a
 * time uses a multicast. */
#ifndef CS_WIRE_MULTICAST_H
#define CS_WIRE_MULTICAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Pieces that may be under way at once: every rank has room for two broadcasts' windows. */
#define CS_MULTICAST_WINDOW 64

struct cs_multicast_piece {
	uint32_t piece;   /* its number, from 0 */
	uint64_t total;   /* bytes of the whole broadcast, as its root has them */
	const char *data; /* valid until the next take */
	size_t bytes;     /* `room` of the multicast, or what is left for the last piece */
};

struct cs_multicast {
	size_t room;         /* bytes of a piece */
	uint32_t broadcasts, over; /* begun so far, and over; its user counts */
	/* Sends piece number `piece` of a broadcast of `total` bytes from `data`, the broadcast's
	 * first byte. Does not block; `data` is free afterwards. False: no room now, ask again. */
	bool (*send)(struct cs_multicast *multicast, uint32_t broadcast, uint32_t piece,
		     const char *data, uint64_t total);
	/* Takes a piece of that broadcast, if one is there; drops pieces of earlier ones, keeps
	 * those of later ones as long as there is room. Does not block. Own pieces may come back or
	 * not. */
	bool (*take)(struct cs_multicast *multicast, uint32_t broadcast,
		     struct cs_multicast_piece *piece);
	/* Counts, for the report, pieces that were sent again by the wire. */
	void (*resent)(struct cs_multicast *multicast, uint32_t pieces);
};

#endif
