/* select/tuning.h — a tuning file as read. Private to select (and its tests and tools), but for
 * struct cs_rule (select/learnt.h); docs/tuning.md has the schema.
 *
 *   file -> libyaml's events -> tree of nodes with their places (document.c) -> this (read_map.c)
 *
 * Every error is one line "label:line:column: what was found, what was expected". Reading continues
 * after an error if possible, so that one --check shows all of them; a file with errors gives no
 * tuning. */
#ifndef CS_SELECT_TUNING_H
#define CS_SELECT_TUNING_H

#include "select/select.h"
#include "select/use.h"
#include "sim/model.h"
#include "topo/node_model.h"

#include <stdbool.h>
#include <stdio.h>

#define CS_TUNING_MAX_BYTES ((size_t)1 << 20)
#define CS_TUNING_MAX_RULES 4096

/* Row of the table of limits: a member of struct cs_limits, by name. */
struct cs_limit_info {
	const char *name;
	const char *meaning;
	size_t offset;    /* in struct cs_limits; every member is a size_t */
	size_t low, high; /* both allowed; low is the value if no tuning has one */
	size_t multiple;  /* must divide the value */
	const char *const *words; /* of an enumeration, by value, ended by NULL; or NULL */
};

#define CS_LIMIT_COUNT (sizeof(struct cs_limits) / sizeof(size_t))
extern const struct cs_limit_info cs_limit_infos[CS_LIMIT_COUNT];

static inline size_t *
cs_limit_of(struct cs_limits *limits, size_t index)
{
	return (size_t *)(void *)((char *)limits + cs_limit_infos[index].offset);
}

/* Writes the value as text to `text`, which has CS_NUMBER_TEXT bytes; returns it. */
const char *cs_limit_text(const struct cs_limit_info *info, size_t value, char *text);

struct cs_block {
	char *name;
	unsigned line;
	/* Provenance; the optional ones may be NULL. */
	char *date, *library, *command, *measured_on, *measured_mpi, *note;
	/* Guard: machines for which the rules are. NULL, or all numbers, if not restricted. */
	char *mpi, *cpu, *host;
	struct cs_range cores;
	bool is_hypothesis; /* its rules are believed, not measured here: a run may try others */
};

/* A rule of the file, for one collective; a rule for several is several of these, one after
 * another. */
struct cs_rule {
	enum cs_coll coll;
	struct cs_range bytes, ranks, nodes, ppn, skew;
	int wire; /* enum cs_wire_kind: HOST or IB; 0: either */
	enum cs_placement placement;
	enum cs_form form;
	unsigned imbalance; /* a set of enum cs_balance; 0: any */
	struct cs_use use;
	size_t block; /* index */
	unsigned line;
};

/* Measured times of a collective of the host, on so many nodes with equally many ranks each, by
 * rising size. */
struct cs_host_cost {
	enum cs_coll coll;
	int ranks, nodes;
	struct cs_point {
		size_t bytes; /* as in cs_facts */
		int64_t ps;
	} *points;
	size_t count; /* at least 1 */
};

/* Measured model of a site (select/predict.h). */
struct cs_site_model {
	struct cs_block about; /* name, provenance, guard */
	struct cs_model model;
	int wire;              /* enum cs_wire_kind of the measurement: HOST or IB */
	char *parameters;      /* its text */
	size_t fit_error;      /* of the measurement, in thousandths */
	struct cs_host_cost *hosts;
	size_t host_count;
};

/* Section `node_models`: what `collshim-bench --node` found. */
struct cs_site_node {
	struct cs_block about; /* name, provenance, guard */
	const struct cs_node_kind *kind;
	struct cs_node_model model;
	unsigned measured; /* bit by value; all others are the kind's */
};

struct cs_tuning {
	char *label; /* name of the file in messages */
	struct cs_limits limits;
	bool has_limit[CS_LIMIT_COUNT];
	struct cs_block *blocks;
	size_t block_count;
	struct cs_rule *rules; /* in the order of the file */
	size_t rule_count;
	struct cs_site_model *models;
	size_t model_count;
	struct cs_site_node *nodes;
	size_t node_count;
	bool is_compiled; /* blocks and their texts are constants, not owned */
};

/* Errors of a file. */
struct cs_tuning_errors {
	FILE *out;    /* each is printed there; NULL: only counted */
	size_t count;
	char first[512];
};

/* Parses a text; the caller destroys *tuning. CS_BAD_INPUT: errors->count is at least 1. */
CS_CHECKED enum cs_status cs_tuning_parse(struct cs_tuning **tuning, const char *label,
					  const char *text, size_t bytes,
					  struct cs_tuning_errors *errors);
/* Reads and parses a file, whose label is its path. CS_SYSTEM: it cannot be read, with errno, which
 * counts as one error. */
CS_CHECKED enum cs_status cs_tuning_load(struct cs_tuning **tuning, const char *path,
					 struct cs_tuning_errors *errors);
/* The same; *text is the file's text, of *bytes bytes and a 0, and the caller's. */
CS_CHECKED enum cs_status cs_tuning_load_text(struct cs_tuning **tuning, const char *path,
					      char **text, size_t *bytes,
					      struct cs_tuning_errors *errors);
void cs_tuning_destroy(struct cs_tuning *tuning);

/* Text of etc/tuning.yaml when the library was built. */
extern const char cs_tuning_builtin[];
extern const size_t cs_tuning_builtin_bytes;

/* Result of cs_tuning_parse for that text, computed when the library was built
 * (tools/compile_tuning.c): parsing takes each process of a job most of a millisecond. A file with
 * the same bytes, as the installed one until it is edited, is not parsed either. It has no
 * models of either kind. */
struct cs_tuning_compiled {
	struct cs_limits limits;
	bool has_limit[CS_LIMIT_COUNT];
	const struct cs_block *blocks;
	size_t block_count;
	const struct cs_rule *rules;     /* without use.algorithm: */
	const short *algorithm_of;       /* by rule: number in the order of cs_algorithm_at; -1: the
					  * host */
	size_t rule_count;
};
/* NULL: the text is to be parsed. */
extern const struct cs_tuning_compiled *const cs_tuning_compiled;

CS_CHECKED enum cs_status cs_tuning_load_builtin(struct cs_tuning **tuning, const char *label,
						 struct cs_tuning_errors *errors);

#endif
