/* tools/sim_sketches.c — sketches of algorithms (sim/sketch.h), as collshim-sim lists and names
 * them. */
#include "tools/sim_request.h"

#include <string.h>

#define DEGREE \
	{ .name = "k", .meaning = "messages of a node in each step of the tree", .fallback = 1, \
	  .low = 1, .high = CS_SKETCH_MOST_DEGREE }
#define CONTROL \
	{ .name = "control", .meaning = "1: leaders tell by messages who they are", .high = 1 }
#define GROUP \
	{ .name = "group", .meaning = "most that are served by one message of the root's", \
	  .fallback = 16, .low = 1, .high = 1 << 20 }, \
	{ .name = "splits", .meaning = "1: halves of those that are here, not one after another", \
	  .high = 1 }
#define SKETCH(collective, label, text, ...) \
	{ .colls = CS_SET(collective), .coll = collective, .name = "sketch:" label, \
	  .summary = text, .params = { __VA_ARGS__ } }

static const struct sketch {
	struct cs_algorithm algorithm;
	enum cs_sketch_kind kind;
} sketches[] = {
	{ SKETCH(CS_ALLTOALL, "fragments",
		 "a sender for each pair of nodes takes what is ready of its node's blocks",
		 { .name = "least", .meaning = "ranks whose blocks are worth a message",
		   .fallback = 1, .low = 1, .high = 64 },
		 { .name = "waits", .meaning = "1: nothing leaves before all of a node have come",
		   .high = 1 }), CS_SKETCH_FRAGMENTS },
	{ SKETCH(CS_BCAST, "barriers", "tree of leaders, between barriers of their nodes", DEGREE),
	  CS_SKETCH_BARRIERS },
	{ SKETCH(CS_BCAST, "static", "tree of nodes; the lowest rank of each leads", DEGREE),
	  CS_SKETCH_STATIC },
	{ SKETCH(CS_BCAST, "dynamic", "tree of nodes; the first rank to come leads", DEGREE,
		 CONTROL), CS_SKETCH_DYNAMIC },
	{ SKETCH(CS_BCAST, "patarasuk", "the root serves all ranks as they ask", GROUP),
	  CS_SKETCH_PATARASUK },
	{ SKETCH(CS_BCAST, "patarasuk-barriers",
		 "the root serves leaders, between barriers of their nodes", GROUP),
	  CS_SKETCH_PATARASUK_BARRIERS },
	{ SKETCH(CS_BCAST, "patarasuk-static", "the root serves the lowest rank of each node",
		 GROUP), CS_SKETCH_PATARASUK_STATIC },
	{ SKETCH(CS_BCAST, "patarasuk-dynamic", "the root serves the first rank of each node",
		 GROUP), CS_SKETCH_PATARASUK_DYNAMIC },
	{ SKETCH(CS_REDUCE, "barriers", "tree of leaders, between barriers of their nodes", DEGREE),
	  CS_SKETCH_BARRIERS },
	{ SKETCH(CS_REDUCE, "static", "tree of nodes; the lowest rank of each leads", DEGREE),
	  CS_SKETCH_STATIC },
	{ SKETCH(CS_REDUCE, "dynamic", "tree of nodes; the last rank to come leads", DEGREE,
		 CONTROL), CS_SKETCH_DYNAMIC },
	{ SKETCH(CS_REDUCE, "half-dynamic",
		 "tree of nodes; the last rank to come sends to the parent's lowest rank", DEGREE),
	  CS_SKETCH_HALF_DYNAMIC },
};

#define SKETCHES (sizeof sketches / sizeof *sketches)

const struct cs_algorithm *
cs_tool_sketch_at(size_t i)
{
	return i < SKETCHES ? &sketches[i].algorithm : NULL;
}

const struct cs_algorithm *
cs_tool_sketch_by_name(enum cs_coll coll, const char *name)
{
	for (size_t i = 0; i < SKETCHES; i++)
		if (sketches[i].algorithm.coll == coll && !strcmp(sketches[i].algorithm.name, name))
			return &sketches[i].algorithm;
	return NULL;
}

bool
cs_tool_is_sketch(const struct cs_algorithm *algorithm, const size_t *params,
		  struct cs_sketch *sketch)
{
	size_t i = 0;
	while (i < SKETCHES && &sketches[i].algorithm != algorithm)
		i++;
	if (i == SKETCHES)
		return false;
	*sketch = (struct cs_sketch){ .kind = sketches[i].kind, .degree = 1, .group = 1,
				      .least = 1 };
	if (sketch->kind == CS_SKETCH_FRAGMENTS) {
		sketch->least = params[0];
		sketch->waits = params[1];
	} else if (sketch->kind >= CS_SKETCH_PATARASUK) {
		sketch->group = params[0];
		sketch->splits = params[1];
	} else {
		sketch->degree = params[0];
		sketch->control = params[1];
	}
	return true;
}
