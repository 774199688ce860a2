/* topo/node_model.h — performance of a node with many cores: how long cache lines and copies take
 * inside a last-level cache (LLC) group, inside a package, and between packages.
 *
 * Times are whole picoseconds, rates whole femtoseconds per byte (as in sim/model.h), so that equal
 * models price equally everywhere. Built-in values are published or assumed, never measured here;
 * `collshim-bench --node` measures them, and section `node_models` of a tuning file holds them
 * (docs/fat-nodes.md). topo/node_cost.h prices collectives by them. */
#ifndef CS_TOPO_NODE_MODEL_H
#define CS_TOPO_NODE_MODEL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_distance { CS_SAME_LLC, CS_SAME_PACKAGE, CS_FAR, CS_DISTANCES };

/* Ranks of a node, filled in order: group by group, package by package. */
struct cs_node_groups {
	int packages, groups, ranks; /* of the node; LLC groups of a package; ranks of a group */
	int64_t cache;               /* bytes of an LLC */
};

struct cs_node_model {
	int64_t t[CS_DISTANCES]; /* ps from the publication of a line until another rank has seen
				  * it */
	int64_t gap;             /* thousandths of t: a further line that is ready */
	int64_t kappa[2];        /* ps of a further reader of one line: in its LLC group, outside */
	int64_t b_core;    /* fs a byte of a copy by one core, inside its LLC */
	int64_t b_mem;     /* the same of what another group wrote */
	int64_t b_out;     /* all that leaves one group */
	int64_t b_package; /* all copies of a package together */
	int64_t b_link;    /* all between packages */
	int64_t cma_call, cma_page; /* ps of process_vm_readv, and of each page in it */
	int64_t cma_crowd;          /* ps more a page for each further reader of the same pages */
};

enum { CS_NODE_VALUES = sizeof(struct cs_node_model) / sizeof(int64_t) };

static inline int64_t *
cs_node_value_of(struct cs_node_model *model, int value)
{
	return (int64_t *)(void *)model + value;
}

/* A value in text: nanoseconds, a part, or bytes per microsecond (MB/s), with at most three
 * decimals. In the order of the members. */
extern const struct cs_node_value {
	const char *name, *meaning;
	enum { CS_NODE_NS, CS_NODE_PART, CS_NODE_RATE } unit;
	double low, high; /* of the text; both allowed */
} cs_node_values[CS_NODE_VALUES];

/* CS_BAD_INPUT: *value is unchanged, the text is no number within the bounds. */
CS_CHECKED enum cs_status cs_node_value_read(int index, const char *text, int64_t *value);
#define CS_NODE_VALUE_TEXT 32
const char *cs_node_value_text(char text[CS_NODE_VALUE_TEXT], int index, int64_t value);

/* A machine that is built in. */
struct cs_node_kind {
	const char *name, *machines;
	struct cs_node_model model;
	struct cs_node_groups shape; /* a usual one */
	unsigned published;         /* bit by value: measured by somebody; all others are assumed */
};

/* "epyc", "xeon", "arm", "a64fx". Ended by a name that is NULL. */
extern const struct cs_node_kind cs_node_kinds[];

/* NULL: there is none of that name. */
const struct cs_node_kind *cs_node_kind_by_name(const char *name);
/* Kind of a machine with this /proc/cpuinfo; xeon if it is unknown or virtual. */
const struct cs_node_kind *cs_node_kind_of(const char *cpuinfo);
/* Kind of this machine. Reads a file: for one rank of a node, or a tool. */
const struct cs_node_kind *cs_node_kind_here(void);

/* Makes t rise with the distance: a value of `unknown` (bit by value), taken from a kind, is at
 * least the one before it. False: two known ones fall. */
bool cs_node_model_settle(struct cs_node_model *model, unsigned unknown);

/* Is the level between groups (CS_SAME_PACKAGE) or packages (CS_FAR) worth a step of its own? A
 * line across it takes at least 1.3 times as long as below it. Virtual machines and containers show
 * borders that are none. */
bool cs_node_model_separates(const struct cs_node_model *model, enum cs_distance level);

#endif
