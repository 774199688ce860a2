/* plans/pipe.h — a vector down a tree in segments: a rank passes the first on while the next are on
 * their way.
 *
 *   window 2, one child:   recv 0, recv 1 | recv 0 over, send 0 | recv 2 | recv 1 over, send 1 | ..
 *                          recv 2 over, send 0 over, send 2 | ..
 *
 * With several senders (plan/senders.h) they take the segments in turn, each with a window of its
 * own (seed 002, 2.3.2), and never wait for each other. */
#ifndef CS_ALGORITHMS_PLANS_PIPE_H
#define CS_ALGORITHMS_PLANS_PIPE_H

#include "plan/build.h"

#define CS_PIPE_WINDOW 16
#define CS_PIPE_CHILDREN 32

struct cs_pipe {
	int parent; /* -1: the root */
	int count;  /* of children */
	int children[CS_PIPE_CHILDREN];
};

/* Bytes of a segment, with the algorithm's default; and segments under way between a rank and each
 * neighbour. */
enum { CS_PIPE_PARAM_SEGMENT, CS_PIPE_PARAM_WINDOW };
#define CS_PIPE_PARAMS(usual) \
	{ [CS_PIPE_PARAM_SEGMENT] = { "segment", "bytes of a message", usual, 64, 1 << 30 }, \
	  [CS_PIPE_PARAM_WINDOW] = { "window", "segments under way to a rank", 4, 1, \
				     CS_PIPE_WINDOW } }

void cs_pipe_build(struct cs_builder *builder, const struct cs_pipe *pipe);

#endif
