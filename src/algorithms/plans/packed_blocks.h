/* plans/packed_blocks.h — several blocks of OUT, indices modulo ranks, in one message.
 *
 *   blocks 2 3 4 one after another in OUT     sent from there, received there
 *   holes between them, another order, 7 0 1  copied through CS_TMP
 *
 * Each rank decides by its own places; the message has the same bytes, in the order of the
 * blocks. */
#ifndef CS_ALGORITHMS_PLANS_PACKED_BLOCKS_H
#define CS_ALGORITHMS_PLANS_PACKED_BLOCKS_H

#include "plan/build.h"

/* Blocks of a message. Zeroed before its first use; may be laid again after the wait for its
 * message, and keeps its CS_TMP. */
struct cs_packed_blocks {
	int first, count;       /* blocks */
	size_t bytes;           /* of them */
	struct cs_place place;  /* of the blocks together */
	struct cs_place room;   /* CS_TMP, if ever needed */
	size_t room_bytes;
};

/* Set the blocks, [first, first + count), and their place. */
void cs_packed_lay(struct cs_builder *builder, struct cs_packed_blocks *packed, int first,
		   int count);
/* Start to send the blocks, which are in OUT, or to receive them. */
int cs_packed_send(struct cs_builder *builder, struct cs_packed_blocks *packed, int peer);
int cs_packed_recv(struct cs_builder *builder, struct cs_packed_blocks *packed, int peer);
/* Put the blocks into OUT, after the wait for the receive. */
void cs_packed_open(struct cs_builder *builder, const struct cs_packed_blocks *packed);

/* Copy blocks from `from`, where they are one after another, to their places in OUT. */
void cs_packed_unpack(struct cs_builder *builder, struct cs_place from, int first, int count);

#endif
