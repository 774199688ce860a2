/* world.h — virtual ranks in one process: nodes whose ranks share a piece of memory, and an MPI between them whose messages and
 * collectives take as many looks as chance wants, and whose multicast loses what it likes. Nothing waits: who holds the
 * operations steps them. */
#ifndef CS_TESTS_WORLD_H
#define CS_TESTS_WORLD_H

#include "unit.h"

#include "algorithms/op.h"
#include "wire/cast.h"
#include "wire/wire.h"

#include <setjmp.h>

#define WORLD_MOST 17 /* ranks */

struct world;

/* One rank's place in a group: all ranks, or those of a lane. */
struct seat {
	struct world *world;
	struct cs_wire wire;
	int group, rank;   /* group: 0 for all, 1 + lane */
	uint64_t meetings; /* collectives that it has begun */
	struct cs_cast cast;
	struct datagram *looked_at;
};

struct world {
	int ranks, nodes, lanes;
	bool is_block_placed;
	uint64_t random;
	int node_of[WORLD_MOST], local_of[WORLD_MOST], order[WORLD_MOST], position[WORLD_MOST], first[WORLD_MOST + 1];
	void *memory[WORLD_MOST]; /* by node */
	struct cs_team *teams;    /* by rank */
	struct cs_op_memory *idle[WORLD_MOST];
	struct seat everyone[WORLD_MOST], leaders[WORLD_MOST];
	struct message *messages;
	struct meeting *meetings_under_way;
	struct datagram *datagrams;
};

/* `sizes`: ranks of each node, the last one 0. cyclic: ranks are dealt to nodes in turn. */
void world_make(struct world *world, const int *sizes, bool cyclic, int lanes, const struct cs_node_shape *shape, uint64_t seed);
void world_clear(struct world *world);
/* The MPI reduces now, not a rank. */
extern bool world_is_moving;

/* Where a job that ends itself goes on; NULL: that is a failure. */
extern jmp_buf *world_after_end;

/* Messages that were sent and not received, or the other way round. */
void world_say(const struct world *world);
int world_left(const struct world *world);

#endif
