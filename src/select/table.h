/* select/table.h — the parts of a selector: for each collective, a table of the rows that may
 * decide. Private to select.
 *
 *   table.c makes the tables, select.c searches them for a call, explain.c prints them and why a
 *   row decides or not */
#ifndef CS_SELECT_TABLE_H
#define CS_SELECT_TABLE_H

#include "base/parse.h"
#include "select/select.h"
#include "select/tuning.h"
#include "select/use.h"

#include <stdatomic.h>

/* Row of one collective's table, which is searched in order: forced rows, the rules of the file
 * that COLLSHIM_TUNING names, those of COLLSHIM_ADAPT_FILE, those of the installed file, the
 * built-in ones. */
struct cs_row {
	struct cs_range bytes, ranks, nodes, ppn, skew;
	int wire; /* 0: either */
	enum cs_placement placement;
	enum cs_form form;
	unsigned imbalance; /* a set of enum cs_balance; 0: any */
	struct cs_use use;
	enum cs_why why;
	bool is_guarded_out; /* its block's guard excludes this machine */
	char *reason;
	const struct cs_block *block; /* NULL if forced */
};

/* Forcing variable. */
struct cs_forcing {
	const char *variable, *text; /* text NULL: not set */
	char *error; /* of the text, which is then ignored; or NULL */
	const struct cs_algorithm **excluded; /* ended by NULL */
	char *excluded_reason;
};

struct cs_table {
	struct cs_row *rows;
	size_t count;
	struct cs_forcing forcings[2]; /* COLLSHIM_<COLLECTIVE>, COLLSHIM_I<COLLECTIVE> */
};

struct cs_selector {
	struct cs_tuning *site, *learnt, *builtin; /* NULL if there is none */
	bool is_site_asked;               /* by COLLSHIM_TUNING */
	char *site_error;                 /* why the site's file is not used, or NULL */
	struct cs_limits limits;
	const char *limit_origins[CS_LIMIT_COUNT];
	struct cs_table tables[CS_COLL_COUNT];
	/* The site's file's first one for this machine, of messages by the MPI and by verbs. */
	struct cs_found_model {
		const struct cs_site_model *model; /* NULL: there is none */
		char *reason;
	} models[2];
	const struct cs_site_node *node;   /* the same of its node models */
	struct cs_machine machine;
	char *texts[3]; /* texts of `machine` */
	uint64_t digest;
	/* Set from any thread, so not in the selector itself, which is constant in choose(). */
	_Atomic int *has_warned;
};

/* The model of the call's wire; if there is none the other one, which says nothing of the call. */
static inline const struct cs_found_model *
cs_selector_model(const struct cs_selector *selector, const struct cs_facts *facts)
{
	bool is_ib = facts->wire == CS_WIRE_IB;
	return &selector->models[selector->models[is_ib].model ? is_ib : !is_ib];
}

/* Sets a parameter `startup` that is 0 to what the model of the call's wire says: so many bytes
 * take as long as the rest of a message (seed 001, 2.4, alpha / beta). */
void cs_selector_set_startup(const struct cs_selector *selector, const struct cs_facts *facts,
			     const struct cs_algorithm *algorithm, size_t params[CS_MAX_PARAMS]);

/* The variable that is for the call. */
static inline const struct cs_forcing *
cs_table_forcing(const struct cs_table *table, const struct cs_facts *facts)
{
	const struct cs_forcing *own = &table->forcings[facts->is_nonblocking];
	return own->text && !own->error ? own : &table->forcings[0];
}

/* Is the algorithm taken away from such calls (^name)? */
bool cs_table_excludes(const struct cs_table *table, const struct cs_facts *facts,
		       const struct cs_algorithm *algorithm);

static inline bool
cs_range_contains(struct cs_range range, size_t number)
{
	return number >= range.low && number < range.high;
}

/* Is `bytes` in the row's range of sizes? CS_BYTES_UNKNOWN is only in the range of all sizes. */
bool cs_row_fits_size(const struct cs_row *row, size_t bytes);

/* Prints what the node model says of a call of many ranks on one node (explain_node.c). */
void cs_explain_node(const struct cs_selector *selector, const struct cs_facts *facts, FILE *out);

/* Does the row fit the call? */
bool cs_row_fits(const struct cs_row *row, const struct cs_facts *facts);

/* Returns why the row's algorithm may not serve, NULL if it may. */
const char *cs_row_barred(const struct cs_table *table, const struct cs_row *row,
			  const struct cs_facts *facts);

#endif
