/* select/select.h — which algorithm serves a call, and why.
 *
 *   needs -> forced by the environment -> first matching rule of the file of COLLSHIM_TUNING -> of
 *   COLLSHIM_ADAPT_FILE -> of the installed tuning file -> the site's model -> built-in rules ->
 *   host
 *
 * A selector is built once per process from the settings and is read-only afterwards (any thread
 * may ask), but for cs_selector_forget. All ranks of a job must have equal digests; comm/ agrees on
 * that when a team is made. */
#ifndef CS_SELECT_SELECT_H
#define CS_SELECT_SELECT_H

#include "algorithms/algorithm.h"
#include "base/settings.h"
#include "base/status.h"
#include "coll/coll.h"
#include "topo/node_model.h"

#include <stdint.h>
#include <stdio.h>

enum cs_why {
	CS_WHY_FORCED,      /* a COLLSHIM_<COLLECTIVE> variable */
	CS_WHY_RULE,        /* a rule of the site's tuning file */
	CS_WHY_LEARNT,      /* a rule that a job has learnt (select/learnt.h), in the file of
			     * COLLSHIM_ADAPT_FILE or in the site's */
	CS_WHY_MODEL,       /* a model of the site's tuning file */
	CS_WHY_BUILTIN,     /* a rule of the built-in tuning (etc/tuning.yaml as built in) */
	CS_WHY_NO_RULE,     /* nothing matched: host */
	CS_WHY_NEEDS,       /* chosen (forced or by rule), but its needs do not hold: host */
	CS_WHY_EXCLUDED,    /* ^name took it away: host */
	CS_WHY_TRIED,       /* on trial in this run, or won there (run/trial.h) */
};

struct cs_choice {
	const struct cs_algorithm *algorithm; /* NULL: the host MPI */
	size_t params[CS_MAX_PARAMS];         /* values for algorithm->params, in order */
	enum cs_why why;
	const char *reason;  /* "rule tuning.yaml:42", "learnt my.yaml:17", "forced by
			      * COLLSHIM_BCAST", "one rank per node"; owned by the selector, valid
			      * as long as it */
	/* The answer is the same for low <= bytes < high, other facts unchanged; high is CS_INF if
	 * there is no end. With CS_BYTES_UNKNOWN there is one answer and nothing to compare: then 0
	 * and CS_BYTES_UNKNOWN. */
	size_t bytes_low, bytes_high;
	bool depends_on_skew; /* the answer is for calls of facts.skew only */
	bool is_belief; /* nobody asked for it, so a run may try others (cs_selector_candidates) */
};

/* Numbers that are not per collective: section `limits` of the tuning file. Names as there. The
 * site's file overrides single ones of the built-in file; COLLSHIM_TEAM_AFTER, COLLSHIM_SHM_BUDGET
 * and COLLSHIM_WIRE override both and are already in here. */
struct cs_limits {
	size_t team_after;       /* collectives on a communicator before its team is made
				  * (MPI_COMM_WORLD: 1st) */
	size_t slot_bytes;       /* payload of one slot of a rank's ring in the node segment */
	size_t slots;            /* slots per rank */
	size_t area_bytes;       /* payload of one slot of the node area (several nodes only) */
	size_t area_slots;       /* slots of the node area */
	size_t spin;             /* polls of a flag before the first yield, when each rank has a
				  * core */
	size_t yields;           /* yields before a wait begins to sleep */
	size_t shm_budget;       /* bytes of shared segments per node and job, unless
				  * COLLSHIM_SHM_BUDGET */
	size_t wire;             /* enum cs_wire_kind, never as tuned; COLLSHIM_WIRE applied */
	size_t ib_slots;         /* verbs: slots of a connection, in each direction */
	size_t ib_slot_bytes;    /* one of them: what fits travels by it */
	size_t ib_memory;        /* all slots of a process */
	size_t ib_cache;         /* the program's memory that stays registered while idle */
	size_t imbalance_epoch;  /* calls of a team from one agreement on its imbalance to the
				  * next */
	size_t imbalance_moderate; /* us that ranks wait for the last of their node, in the mean:
				    * from there on imbalance is moderate */
	size_t imbalance_strong;   /* and from there on it is strong */
	size_t copy_rate, line_ns, turn_ns, page_ns, call_ns; /* facts of a node: see
				  * shm/node_facts.h; 0: measured */
	size_t eager_bytes;      /* a rank does not wait for readers of less */
	size_t lanes_bytes;      /* several ranks of a node drive the wire with so many or more */
	size_t rooted_small;     /* most bytes of a rooted call in its small slot */
	size_t ib_timeout;       /* of a packet: 4.096 us * 2^ib_timeout, sent seven times in all */
};

struct cs_machine { /* what a block's machine guard is compared with */
	const char *mpi;   /* "mpich" or "openmpi"; NULL if not known (collshim-info): guards on it
			    * then match */
	const char *cpu;   /* /proc/cpuinfo's model name, "" if unreadable */
	const char *host;  /* host name */
	size_t cores;      /* cores of the machine, all of them */
};

/* Fills cpu, host and cores for the machine we are on, and leaves mpi alone. Texts are static; not
 * thread safe. */
void cs_machine_read(struct cs_machine *machine);
/* Digest of the features of the machine's processors; 0: not known. */
uint64_t cs_machine_features(void);

struct cs_selector;

/* Reads the built-in tuning, the site's file (settings->tuning, or the installed one if there is
 * one), that of settings->adapt_file if there is one, and the forcing variables. Faulty entries are
 * reported in one line each (cs_warn_once: file:line:column and what was expected) and left out;
 * the selector then works with the rest. Fails only with CS_NO_MEMORY. *machine is copied. */
CS_CHECKED enum cs_status cs_selector_create(struct cs_selector **selector,
					     const struct cs_settings *settings,
					     const struct cs_machine *machine);
void cs_selector_destroy(struct cs_selector *selector);

const struct cs_limits *cs_selector_limits(const struct cs_selector *selector);
/* Node model of the site's file for this machine; NULL: there is none, cs_node_kind_here() has what
 * is built in. */
const struct cs_node_model *cs_selector_node_model(const struct cs_selector *selector);
/* Does any row that holds on this machine, and for a team of these facts, ask for an imbalance? If
 * not, it need not be measured. Ignores collective, sizes and operation. */
bool cs_selector_asks_imbalance(const struct cs_selector *selector, const struct cs_facts *facts);
/* Writes, for a choice's reason that a rule gave, the rule in words: "built-in rule: one node, any
 * size". `reason`: the choice's own pointer. Returns where the rule stands, the part
 * "tuning.yaml:4" of the reason; NULL: no rule gave it. */
const char *cs_selector_rule_words(const struct cs_selector *selector, enum cs_coll coll,
				   const char *reason, char *words, size_t bytes);
/* Removes the rules that jobs have learnt, for a job of which not all ranks have read the same
 * ones, and the file of settings->adapt_file; the digest changes. Before the first choice. */
void cs_selector_forget(struct cs_selector *selector);
/* Digest of all that can change a choice: rules and whether their guards hold here, limits, forcing
 * texts. The machine itself is not in it, so machines that differ agree unless a guard tells them
 * apart; where one does, the ranks would choose differently, and the digests must keep them from
 * it. */
uint64_t cs_selector_digest(const struct cs_selector *selector);

/* Chooses for one call. Never fails: if no algorithm serves it, *choice is the host, with the
 * reason. A forced algorithm whose needs do not hold gives one warning line (per collective) and
 * the host. */
void cs_selector_choose(const struct cs_selector *selector, const struct cs_facts *facts,
			struct cs_choice *choice);

/* Appends to choices[0], which cs_selector_choose made for the call, other algorithms that a run
 * may try in its place: the host, `hier:host`, the model's best, and the first other row that fits,
 * as far as their needs hold. `most`: room. Returns the number of choices, 1 if none may replace
 * it: forced, excluded, or by a rule of the site's that is no hypothesis. */
int cs_selector_candidates(const struct cs_selector *selector, const struct cs_facts *facts,
			   struct cs_choice *choices, int most);

/* For collshim-info: every limit with its meaning, value and origin; every source of rules with its
 * blocks. */
void cs_selector_print_limits(const struct cs_selector *selector, FILE *out);
void cs_selector_print_sources(const struct cs_selector *selector, FILE *out);

/* The tuning file that is used, or "built in" where there is none. */
const char *cs_selector_source(const struct cs_selector *selector);

/* Prints the errors of the tuning file and the forcing variables, a line each. Returns their
 * number. */
int cs_selector_print_errors(const struct cs_selector *selector, FILE *out);

/* Note about a tuning file without an error, on one line; also printed when the selector is made.
 * False: nothing. */
enum cs_note {
	CS_NOTE_MACHINE, /* COLLSHIM_TUNING names a file of which no block is for this machine */
	CS_NOTE_VERSION, /* a block of the site's file that holds here was measured with another
			  * version of the library */
	CS_NOTE_COUNT,
};
bool cs_selector_note(const struct cs_selector *selector, enum cs_note note, char *text,
		      size_t bytes);

/* Prints the facts of one call and the choice for it, one line each. */
void cs_selector_explain(const struct cs_selector *selector, const struct cs_facts *facts,
			 FILE *out);
/* Prints the rows that fit the call, and the algorithms that can serve it; with has_all also those
 * that do not, and why. */
void cs_selector_explain_why(const struct cs_selector *selector, const struct cs_facts *facts,
			     bool has_all, FILE *out);

/* Checks one tuning file: every error as "file:line:column: what was expected", on `out`; and the
 * notes above, with any MPI. Returns the number of errors, -1 if the file cannot be read (said
 * too). */
int cs_tuning_check(const char *path, FILE *out);

#endif
