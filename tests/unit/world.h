/* world.h — virtual ranks in one process: nodes whose ranks share a piece of memory, and an MPI
 * between them whose messages and collectives take as many looks as chance wants. Who holds the
 * operations steps them; a call that blocks lets others go on.
 *
 *   world.c        nodes and teams
 *   world_wire.c   messages: what is sent is read as late as the standard allows, what is received
 *                  is spoilt at first
 *   world_cast.c   multicast, which loses what it likes
 *   world_window.c memory that other nodes write to
 *   world_host.c   collectives between leaders: none waits for more ranks than the standard asks
 *                  for; all ranks must agree
 */
#ifndef CS_TESTS_WORLD_H
#define CS_TESTS_WORLD_H

#include "unit.h"

#include "algorithms/op.h"
#include "wire/multicast.h"
#include "wire/rma_window.h"
#include "wire/wire.h"

#include <setjmp.h>

#define WORLD_MOST 17 /* ranks */

struct world;

/* One rank's place in a group: all ranks, or those of a lane. */
struct seat {
	struct world *world;
	struct cs_wire wire;
	int group, rank;   /* group: 0 for all, 1 + lane, -1 - node */
	uint64_t meetings; /* collectives that it has begun */
	struct cs_multicast multicast;
	struct datagram *looked_at;
};

/* A rank's. */
struct world_window {
	struct cs_rma_window window;
	struct world *world;
	int rank;
};

struct world {
	int ranks, nodes, lanes;
	bool is_block_placed;
	uint64_t random;
	uint64_t moves; /* messages and collectives that are over, and datagrams */
	int node_of[WORLD_MOST], local_of[WORLD_MOST], order[WORLD_MOST], position[WORLD_MOST],
	    first[WORLD_MOST + 1];
	void *memory[WORLD_MOST]; /* by node; of none where each has one rank */
	size_t bytes[WORLD_MOST]; /* of it */
	struct cs_team *teams;    /* by rank */
	struct cs_op_memory *idle[WORLD_MOST];
	struct seat everyone[WORLD_MOST], leaders[WORLD_MOST], locals[WORLD_MOST];
	struct message *messages;
	struct meeting *meetings_under_way;
	struct datagram *datagrams;
	bool refuses_lanes; /* beside the leaders' */
	int lanes_made;     /* how often by a rank */
	bool has_windows, counts_first; /* a counter grows before its data has come, which is
					 * wrong */
	int parts_put;           /* in windows, of messages that more followed of */
	struct world_window *windows[WORLD_MOST]; /* by rank */
	char *window_memory[WORLD_MOST];          /* by node */
	struct delivery *deliveries;
	void (*wait)(void); /* lets others go on; NULL: nothing may block */
	bool is_moving;     /* it reduces now, not a rank */
	char failure[512];  /* the first thing that the program would have done wrong; "":
			     * nothing */
};

/* `sizes`: ranks of each node, the last one 0. cyclic: ranks are dealt to nodes in turn. */
void world_make(struct world *world, const int *sizes, bool cyclic, int lanes,
		const struct cs_node_shape *shape, uint64_t seed);
void world_clear(struct world *world);
/* Leaves the leaders' lane alone: blocking calls make more. */
void world_unmake_lanes(struct world *world);
/* What a rank that waits does now and then: progress of its other operations. NULL: nothing. */
extern void (*world_progress)(void);
/* Where a job that ends itself goes on; NULL: that is a failure. */
extern jmp_buf *world_after_end;
/* Notes a failure, if it is the first. */
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Messages that were sent and not received, or the other way round, and collectives that are not
 * over. */
void world_say(const struct world *world);
int world_left(struct world *world);
/* Lets some of what is on its way to windows arrive. */
void world_carry(struct world *world);

#endif
