#include "select/select.h"

#include "base/hash.h"
#include "base/log.h"
#include "base/printable.h"
#include "select/force.h"
#include "select/notes.h"
#include "select/predict.h"
#include "select/tuning.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef CS_TUNING_INSTALLED
#error "the build says where the site's tuning file is installed"
#endif

#define BUILTIN_LABEL "built-in tuning.yaml"
#define NO_FILE "builtin" /* COLLSHIM_TUNING=builtin */

_Static_assert(CS_COLL_COUNT <= sizeof((struct cs_settings *)0)->force / sizeof(const char *),
	       "one forcing variable per collective");

/* The table that is searched, for one collective: what is forced, then the site's rules, then the built-in ones. */
struct row {
	struct cs_range bytes, ranks, nodes, ppn, skew;
	int wire; /* 0: either */
	enum cs_placement placement;
	struct cs_use use;
	enum cs_why why;
	bool is_guarded_out; /* its block is for other machines */
	bool is_excluded;    /* COLLSHIM_<COLLECTIVE>=^name */
	char *reason;
	const struct cs_block *block; /* NULL if forced */
};

struct table {
	struct row *rows;
	size_t count;
	const struct cs_algorithm **excluded; /* ended by NULL */
	char *excluded_reason;
	char *force_error; /* of the variable's text, which was then ignored; NULL if right */
	const char *force_text;
};

struct cs_selector {
	struct cs_tuning *site, *builtin; /* NULL if there is none */
	bool is_site_asked;               /* by COLLSHIM_TUNING */
	char *site_error;                 /* why the site's file is not used, or NULL */
	struct cs_limits limits;
	const char *limit_origins[CS_LIMIT_COUNT];
	struct table tables[CS_COLL_COUNT];
	const struct cs_site_model *model; /* the first one of the site's file that is for this machine, or NULL */
	char *model_reason;
	struct cs_machine machine;
	char *texts[3]; /* what machine's pointers point to */
	uint64_t digest;
	/* Set from any thread, hence not in the selector itself, which choose() sees as constant. */
	_Atomic int *has_warned;
};

/* ---- making ------------------------------------------------------------------------------------------------- */

/* A text of printf's making; *failed is set, not cleared. */
static char *__attribute__((format(printf, 2, 3)))
make_text(bool *failed, const char *format, ...)
{
	char *text;
	va_list arguments;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (!text)
		*failed = true;
	return text;
}

static void
load_builtin(struct cs_selector *selector, bool *failed)
{
	struct cs_tuning_errors errors = { 0 };
	enum cs_status status = cs_tuning_load_builtin(&selector->builtin, BUILTIN_LABEL, &errors);
	if (status == CS_NO_MEMORY)
		*failed = true;
	else if (status != CS_OK) /* a unit test keeps this from being shipped */
		cs_warn_once("select: %s; only the tuning file's rules are used", errors.first);
}

bool
cs_selector_note(const struct cs_selector *selector, enum cs_note note, char *text, size_t bytes)
{
	const struct cs_tuning *site = selector->site;
	switch (note) {
	case CS_NOTE_MACHINE:
		/* An installed file stands on machines of all kinds; who names one means it. */
		if (!site || !selector->is_site_asked || !cs_note_machine(site, &selector->machine, text, bytes))
			return false;
		cs_text_add(text, bytes, "; the built-in rules are used");
		return true;
	case CS_NOTE_VERSION:
		if (!site || !cs_note_version(site, &selector->machine, text, bytes))
			return false;
		cs_text_add(text, bytes, "; it is used all the same");
		return true;
	case CS_NOTE_COUNT:
		break;
	}
	return false;
}

/* A file that is right, but of another machine or time, changes less or other things than was meant. */
static void
warn_of_notes(const struct cs_selector *selector)
{
	char text[512];
	for (enum cs_note note = 0; note < CS_NOTE_COUNT; note++) {
		_Atomic int said = 0; /* once per selector, of which a process makes one */
		if (cs_selector_note(selector, note, text, sizeof text))
			cs_log_warn(&said, "select: %s", text);
	}
}

static void
load_site(struct cs_selector *selector, const struct cs_settings *settings, bool *failed)
{
	struct cs_tuning_errors errors = { 0 };
	const char *path = settings->tuning ? settings->tuning : CS_TUNING_INSTALLED;
	if (!strcmp(path, NO_FILE))
		return;
	errno = 0;
	enum cs_status status = cs_tuning_load(&selector->site, path, &errors);
	if (status == CS_OK) {
		selector->is_site_asked = settings->tuning;
		warn_of_notes(selector);
		return;
	}
	if (status == CS_NO_MEMORY) {
		*failed = true;
		return;
	}
	/* Nobody asked for the installed file, so it may well not be there. */
	if (status == CS_SYSTEM && !settings->tuning && (errno == ENOENT || errno == ENOTDIR))
		return;
	selector->site_error = make_text(failed, "%s", errors.first);
	_Atomic int said = 0; /* once per selector, of which a process makes one */
	if (errors.count > 1)
		cs_log_warn(&said, "select: %s (and %zu more; see collshim-info --check %s); "
			    "only the built-in rules are used",
			    errors.first, errors.count - 1, path);
	else
		cs_log_warn(&said, "select: %s; only the built-in rules are used", errors.first);
}

static void
set_limits(struct cs_selector *selector, const struct cs_settings *settings)
{
	const struct cs_tuning *sources[] = { selector->builtin, selector->site };
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++) {
		*cs_limit_of(&selector->limits, i) = cs_limit_infos[i].low;
		selector->limit_origins[i] = "smallest allowed";
		for (size_t k = 0; k < 2; k++) {
			if (!sources[k] || !sources[k]->has_limit[i])
				continue;
			struct cs_limits limits = sources[k]->limits;
			*cs_limit_of(&selector->limits, i) = *cs_limit_of(&limits, i);
			selector->limit_origins[i] = sources[k]->label;
		}
		size_t offset = cs_limit_infos[i].offset;
		if (offset == offsetof(struct cs_limits, team_after) && settings->team_after >= 0) {
			selector->limits.team_after = (size_t)settings->team_after;
			selector->limit_origins[i] = "COLLSHIM_TEAM_AFTER";
		}
		if (offset == offsetof(struct cs_limits, shm_budget) && settings->shm_budget) {
			selector->limits.shm_budget = settings->shm_budget;
			selector->limit_origins[i] = "COLLSHIM_SHM_BUDGET";
		}
		if (offset == offsetof(struct cs_limits, wire) && settings->wire != CS_WIRE_AS_TUNED) {
			selector->limits.wire = settings->wire;
			selector->limit_origins[i] = "COLLSHIM_WIRE";
		}
	}
}

static void
add_forced(struct table *table, enum cs_coll coll, const struct cs_force *force, bool *failed)
{
	for (size_t i = 0; i < force->item_count; i++)
		table->rows[table->count++] = (struct row){
			.bytes = force->items[i].bytes,
			.ranks = CS_RANGE_ALL, .nodes = CS_RANGE_ALL, .ppn = CS_RANGE_ALL, .skew = CS_RANGE_ALL,
			.use = force->items[i].use,
			.why = CS_WHY_FORCED,
			.reason = make_text(failed, "forced by %s", cs_colls[coll].variable),
		};
	table->excluded = calloc(force->excluded_count + 1, sizeof *table->excluded);
	if (!table->excluded)
		*failed = true;
	for (size_t i = 0; i < force->excluded_count && table->excluded; i++)
		table->excluded[i] = force->excluded[i];
	if (force->excluded_count)
		table->excluded_reason = make_text(failed, "excluded by %s=%s", cs_colls[coll].variable,
						   table->force_text);
}

static void
add_rules(struct table *table, enum cs_coll coll, const struct cs_tuning *tuning, const struct cs_force *force,
	  const struct cs_machine *machine, enum cs_why why, bool *failed)
{
	char ignored[512];
	const char *slash = strrchr(tuning->label, '/');
	const char *label = slash ? slash + 1 : tuning->label;
	const struct cs_block *asked = NULL;
	bool fails = false;
	for (size_t i = 0; i < tuning->rule_count; i++) {
		const struct cs_rule *rule = &tuning->rules[i];
		if (rule->coll != coll)
			continue;
		const struct cs_block *block = &tuning->blocks[rule->block];
		struct row *row = &table->rows[table->count++];
		if (block != asked)
			fails = cs_guard_fails(block, machine, ignored, sizeof ignored);
		asked = block;
		*row = (struct row){
			.bytes = rule->bytes, .ranks = rule->ranks, .nodes = rule->nodes, .ppn = rule->ppn,
			.skew = rule->skew, .wire = rule->wire, .placement = rule->placement,
			.use = rule->use,
			.why = why,
			.is_guarded_out = fails,
			.reason = make_text(failed, why == CS_WHY_RULE ? "rule %s:%u" : "%s:%u", label,
					    rule->line),
			.block = block,
		};
		for (size_t k = 0; k < force->excluded_count; k++)
			row->is_excluded |= force->excluded[k] == rule->use.algorithm;
	}
}

static size_t
count_rules(const struct cs_tuning *tuning, enum cs_coll coll)
{
	size_t count = 0;
	for (size_t i = 0; tuning && i < tuning->rule_count; i++)
		count += tuning->rules[i].coll == coll;
	return count;
}

static void
make_table(struct cs_selector *selector, enum cs_coll coll, const char *text, bool *failed)
{
	struct table *table = &selector->tables[coll];
	struct cs_force force = { 0 };
	char message[600];
	if (text) {
		table->force_text = text; /* settings' texts live as long as the process */
		enum cs_status status = cs_force_parse(&force, coll, text, message, sizeof message);
		*failed |= status == CS_NO_MEMORY;
		if (status == CS_BAD_INPUT) {
			_Atomic int said = 0; /* once per variable: a selector is made once per process */
			cs_log_warn(&said, "select: %s=%.100s: %s; it is ignored", cs_colls[coll].variable,
				    text, message);
			table->force_error = make_text(failed, "%s", message);
		}
	}
	size_t most = force.item_count + count_rules(selector->site, coll) + count_rules(selector->builtin, coll);
	table->rows = calloc(most + 1, sizeof *table->rows);
	if (!table->rows) {
		*failed = true;
	} else {
		add_forced(table, coll, &force, failed);
		if (selector->site)
			add_rules(table, coll, selector->site, &force, &selector->machine, CS_WHY_RULE, failed);
		if (selector->builtin)
			add_rules(table, coll, selector->builtin, &force, &selector->machine, CS_WHY_BUILTIN,
				  failed);
	}
	cs_force_fini(&force);
}

static uint64_t
hash_range(uint64_t hash, struct cs_range range)
{
	return cs_hash_number(cs_hash_number(hash, range.low), range.high);
}

static void
find_model(struct cs_selector *selector, bool *failed)
{
	char ignored[512];
	for (size_t i = 0; selector->site && i < selector->site->model_count && !selector->model; i++)
		if (!cs_guard_fails(&selector->site->models[i].about, &selector->machine, ignored, sizeof ignored))
			selector->model = &selector->site->models[i];
	if (selector->model)
		selector->model_reason = make_text(failed, "model %s", selector->model->about.name);
}

static uint64_t
hash_model(uint64_t hash, const struct cs_site_model *model)
{
	hash = cs_hash_text(hash, model ? model->parameters : NULL);
	hash = cs_hash_number(hash, model ? model->fit_error : 0);
	hash = cs_hash_number(hash, model ? (uint64_t)model->wire : 0);
	for (size_t i = 0; model && i < model->host_count; i++) {
		const struct cs_host_cost *cost = &model->hosts[i];
		hash = cs_hash_number(hash, (uint64_t)cost->coll << 48 | (uint64_t)cost->ranks << 24 | (uint64_t)cost->nodes);
		for (size_t k = 0; k < cost->count; k++)
			hash = cs_hash_number(cs_hash_number(hash, cost->points[k].bytes), (uint64_t)cost->points[k].ps);
	}
	return hash;
}

static uint64_t
digest(const struct cs_selector *selector)
{
	uint64_t hash = hash_model(CS_HASH_START, selector->model);
	struct cs_limits limits = selector->limits;
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		hash = cs_hash_number(hash, *cs_limit_of(&limits, i));
	for (int coll = 0; coll < CS_COLL_COUNT; coll++) {
		const struct table *table = &selector->tables[coll];
		hash = cs_hash_text(hash, table->force_text);
		hash = cs_hash_number(hash, table->count);
		for (size_t i = 0; i < table->count; i++) {
			const struct row *row = &table->rows[i];
			hash = cs_hash_number(hash, row->why);
			hash = cs_hash_number(hash, (uint64_t)row->is_guarded_out | (uint64_t)row->is_excluded << 1);
			hash = hash_range(hash, row->bytes);
			hash = hash_range(hash, row->ranks);
			hash = hash_range(hash, row->nodes);
			hash = hash_range(hash, row->ppn);
			hash = hash_range(hash, row->skew);
			hash = cs_hash_number(hash, (uint64_t)row->wire);
			hash = cs_hash_number(hash, row->placement);
			hash = cs_hash_text(hash, row->use.algorithm ? row->use.algorithm->name : NULL);
			for (int k = 0; k < CS_MAX_PARAMS; k++)
				hash = cs_hash_number(hash, row->use.params[k]);
		}
	}
	return hash;
}

static void
copy_machine(struct cs_selector *selector, const struct cs_machine *machine, bool *failed)
{
	const char *from[] = { machine->mpi, machine->cpu, machine->host };
	for (int i = 0; i < 3; i++)
		selector->texts[i] = from[i] ? make_text(failed, "%s", from[i]) : NULL;
	selector->machine = (struct cs_machine){ selector->texts[0], selector->texts[1], selector->texts[2],
						 machine->cores };
}

enum cs_status
cs_selector_create(struct cs_selector **selector, const struct cs_settings *settings,
		   const struct cs_machine *machine)
{
	int saved = errno;
	bool failed = false;
	struct cs_selector *made = calloc(1, sizeof *made);
	if (!made)
		return CS_NO_MEMORY;
	made->has_warned = calloc(CS_COLL_COUNT, sizeof *made->has_warned);
	failed = !made->has_warned;
	copy_machine(made, machine, &failed);
	load_builtin(made, &failed);
	load_site(made, settings, &failed);
	find_model(made, &failed);
	set_limits(made, settings);
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		make_table(made, coll, settings->force[coll], &failed);
	errno = saved;
	if (failed) {
		cs_selector_destroy(made);
		return CS_NO_MEMORY;
	}
	made->digest = digest(made);
	*selector = made;
	return CS_OK;
}

void
cs_selector_destroy(struct cs_selector *selector)
{
	if (!selector)
		return;
	for (int coll = 0; coll < CS_COLL_COUNT; coll++) {
		struct table *table = &selector->tables[coll];
		for (size_t i = 0; i < table->count; i++)
			free(table->rows[i].reason);
		free(table->rows);
		free(table->excluded);
		free(table->excluded_reason);
		free(table->force_error);
	}
	for (int i = 0; i < 3; i++)
		free(selector->texts[i]);
	cs_tuning_destroy(selector->site);
	cs_tuning_destroy(selector->builtin);
	free(selector->site_error);
	free(selector->model_reason);
	free(selector->has_warned);
	free(selector);
}

const struct cs_limits *
cs_selector_limits(const struct cs_selector *selector)
{
	return &selector->limits;
}

uint64_t
cs_selector_digest(const struct cs_selector *selector)
{
	return selector->digest;
}

/* ---- choosing ----------------------------------------------------------------------------------------------- */

static bool
contains(struct cs_range range, size_t number)
{
	return number >= range.low && number < range.high;
}

static bool
fits_sizes(const struct row *row, size_t bytes)
{
	if (bytes == CS_BYTES_UNKNOWN)
		return row->bytes.low == 0 && row->bytes.high == CS_INF;
	return contains(row->bytes, bytes);
}

/* All that a row asks for but the size, and, if `any_skew`, how uneven the blocks are. */
static bool
fits_but_size(const struct row *row, const struct cs_facts *facts, bool any_skew)
{
	return !row->is_guarded_out && contains(row->ranks, (size_t)facts->ranks) &&
	       contains(row->nodes, (size_t)facts->nodes) && contains(row->ppn, (size_t)facts->ppn_min) &&
	       contains(row->ppn, (size_t)facts->ppn_max) && (!row->wire || row->wire == facts->wire) &&
	       (row->placement == CS_PLACEMENT_EITHER || row->placement == cs_placement_of(facts)) &&
	       (any_skew || contains(row->skew, (size_t)facts->skew));
}

/* Why the row's algorithm may not serve, NULL if it may. */
static const char *
barred(const struct table *table, const struct row *row, const struct cs_facts *facts)
{
	if (row->is_excluded)
		return table->excluded_reason;
	return row->use.algorithm ? cs_algorithm_unmet(row->use.algorithm, facts) : NULL;
}

/* The first row that fits the call, among those that may decide (is_barred false) or those that would if their
 * algorithm were allowed (true). A forced row always decides: what the user asked for is not replaced by a rule.
 * What is barred does not depend on the size. So a row that fits but for the size, passed on the way, cuts the
 * interval around `bytes` in which the answer stays the same, and any other row passed does not. */
static const struct row *
first_row(const struct table *table, const struct cs_facts *facts, bool is_barred, size_t *low, size_t *high)
{
	for (const struct row *row = table->rows; row < table->rows + table->count; row++) {
		if (!fits_but_size(row, facts, false))
			continue;
		if ((row->why != CS_WHY_FORCED && barred(table, row, facts)) != is_barred)
			continue;
		bool fits = fits_sizes(row, facts->bytes);
		if (facts->bytes != CS_BYTES_UNKNOWN && (fits || facts->bytes >= row->bytes.high)) {
			size_t bound = fits ? row->bytes.low : row->bytes.high;
			*low = bound > *low ? bound : *low;
		}
		if (facts->bytes != CS_BYTES_UNKNOWN && (fits || facts->bytes < row->bytes.low)) {
			size_t bound = fits ? row->bytes.high : row->bytes.low;
			*high = bound < *high ? bound : *high;
		}
		if (fits)
			return row;
	}
	return NULL;
}

/* What the model says, where neither the user nor the site's rules have said anything. */
static bool
choose_by_model(const struct cs_selector *selector, const struct cs_facts *facts, struct cs_choice *choice, size_t *low,
		size_t *high)
{
	struct cs_prediction prediction;
	const struct table *table = &selector->tables[facts->coll];
	if (!selector->model || !cs_predict(selector->model, facts, table->excluded, &prediction))
		return false;
	choice->algorithm = prediction.use.algorithm;
	memcpy(choice->params, prediction.use.params, sizeof choice->params);
	choice->why = CS_WHY_MODEL;
	choice->reason = selector->model_reason;
	*low = prediction.low > *low ? prediction.low : *low;
	*high = prediction.high < *high ? prediction.high : *high;
	return true;
}

void
cs_selector_choose(const struct cs_selector *selector, const struct cs_facts *facts, struct cs_choice *choice)
{
	const struct table *table = &selector->tables[facts->coll];
	size_t low = 0, high = facts->bytes == CS_BYTES_UNKNOWN ? CS_BYTES_UNKNOWN : CS_INF;
	*choice = (struct cs_choice){ .why = CS_WHY_NO_RULE, .reason = "no rule" };
	const struct row *row = first_row(table, facts, false, &low, &high);
	const char *bar = row ? barred(table, row, facts) : NULL;
	bool is_open = !row || row->why == CS_WHY_BUILTIN;
	if (is_open && choose_by_model(selector, facts, choice, &low, &high)) {
		/* done */
	} else if (row && !bar) {
		choice->algorithm = row->use.algorithm;
		memcpy(choice->params, row->use.params, sizeof choice->params);
		choice->why = row->why;
		choice->reason = row->reason;
	} else if (row) {
		choice->why = CS_WHY_NEEDS;
		choice->reason = bar;
		cs_log_warn(&selector->has_warned[facts->coll],
			    "select: %s asks for %s, which does not serve this call (%s); such calls go to the "
			    "MPI underneath",
			    cs_colls[facts->coll].variable, row->use.algorithm->name, bar);
	} else {
		row = first_row(table, facts, true, &low, &high);
		if (row) {
			choice->why = row->is_excluded ? CS_WHY_EXCLUDED : CS_WHY_NEEDS;
			choice->reason = barred(table, row, facts);
		}
	}
	choice->bytes_low = low;
	choice->bytes_high = high;
	/* The model is silent where blocks are uneven. */
	choice->depends_on_skew = is_open && selector->model && cs_colls[facts->coll].has_skew;
	for (row = table->rows; row < table->rows + table->count; row++)
		choice->depends_on_skew |= fits_but_size(row, facts, true) &&
					   (row->skew.low > 1 || row->skew.high < CS_INF);
}

/* ---- explaining --------------------------------------------------------------------------------------------- */

static bool
says_range(FILE *out, const char *name, struct cs_range range, int low, int high)
{
	char text[CS_RANGE_TEXT];
	if (contains(range, (size_t)low) && contains(range, (size_t)high))
		return false;
	cs_count_range_text(text, range);
	if (low == high)
		fprintf(out, "no: %s %s, here %d\n", name, text, low);
	else
		fprintf(out, "no: %s %s, here %d to %d\n", name, text, low, high);
	return true;
}

static const char *
wire_name(int wire)
{
	return wire == CS_WIRE_IB ? "ib" : "host";
}

static bool
says_wire(FILE *out, int wire, int here)
{
	if (!wire || wire == here)
		return false;
	fprintf(out, "no: wire %s, here %s\n", wire_name(wire), wire_name(here));
	return true;
}

static bool
says_placement(FILE *out, enum cs_placement placement, enum cs_placement here)
{
	static const char *const names[] = { [CS_PLACEMENT_BLOCK] = "block", [CS_PLACEMENT_CYCLIC] = "cyclic" };
	if (placement == CS_PLACEMENT_EITHER || placement == here)
		return false;
	fprintf(out, "no: placement %s, here %s\n", names[placement], names[here]);
	return true;
}

static void
explain_row(FILE *out, const struct cs_selector *selector, const struct table *table, const struct row *row,
	    const struct cs_facts *facts, bool *is_decided)
{
	char use[256], why[512], range[CS_RANGE_TEXT], number[CS_NUMBER_TEXT];
	fprintf(out, "  %s", row->reason);
	if (row->block)
		fprintf(out, " (block %s)", row->block->name);
	fprintf(out, ": use %s\n    ",
		cs_use_text(use, sizeof use, row->use.algorithm, row->use.params));
	if (row->is_guarded_out) {
		cs_guard_fails(row->block, &selector->machine, why, sizeof why);
		fprintf(out, "no: for other machines (%s)\n", why);
		return;
	}
	if (says_range(out, "ranks", row->ranks, facts->ranks, facts->ranks) ||
	    says_range(out, "nodes", row->nodes, facts->nodes, facts->nodes) ||
	    says_range(out, "ppn", row->ppn, facts->ppn_min, facts->ppn_max) ||
	    says_range(out, "skew", row->skew, facts->skew, facts->skew) ||
	    says_wire(out, row->wire, facts->wire) ||
	    says_placement(out, row->placement, cs_placement_of(facts)))
		return;
	if (!fits_sizes(row, facts->bytes)) {
		cs_byte_range_text(range, row->bytes);
		if (facts->bytes == CS_BYTES_UNKNOWN)
			fprintf(out, "no: bytes %s, here not known to all ranks\n", range);
		else
			fprintf(out, "no: bytes %s, here %s\n", range, cs_bytes_text(number, facts->bytes));
		return;
	}
	const char *bar = barred(table, row, facts);
	if (*is_decided)
		fprintf(out, "fits, but what stands above decides\n");
	else if (!bar)
		fprintf(out, "yes: this decides\n");
	else if (row->why == CS_WHY_FORCED)
		fprintf(out, "cannot be done (%s): the host\n", bar);
	else
		fprintf(out, "no: %s\n", bar);
	*is_decided |= !bar || row->why == CS_WHY_FORCED;
}

static void
explain_facts(FILE *out, const struct cs_selector *selector, const struct cs_facts *facts)
{
	const struct cs_coll_info *coll = &cs_colls[facts->coll];
	char number[CS_NUMBER_TEXT];
	fputs(coll->name, out);
	if (facts->bytes == CS_BYTES_UNKNOWN)
		fputs(", any size", out);
	else
		fprintf(out, ", bytes %s (%s)", cs_bytes_text(number, facts->bytes), coll->bytes_meaning);
	fprintf(out, "; %d ranks on %d node%s, ", facts->ranks, facts->nodes, facts->nodes == 1 ? "" : "s");
	if (facts->ppn_min == facts->ppn_max)
		fprintf(out, "%d per node", facts->ppn_max);
	else
		fprintf(out, "%d to %d per node", facts->ppn_min, facts->ppn_max);
	fprintf(out, ", %s placement", facts->is_block_placed ? "block" : "cyclic or mixed");
	if (coll->reduces)
		fprintf(out, ", %scommutative", facts->is_commutative ? "" : "non-");
	if (facts->nodes > 1)
		fprintf(out, ", wire: %s", wire_name(facts->wire));
	fprintf(out, ", MPI: %s\n", selector->machine.mpi ? selector->machine.mpi : "any");
}

static void
explain_model(FILE *out, const struct cs_selector *selector, const struct cs_facts *facts, bool *is_decided)
{
	struct cs_prediction prediction;
	if (!selector->model)
		return;
	fprintf(out, "  %s: ", selector->model_reason);
	if (!cs_predict(selector->model, facts, selector->tables[facts->coll].excluded, &prediction)) {
		fprintf(out, "says nothing\n    no: %s\n", cs_predict_not(selector->model, facts));
		return;
	}
	fprintf(out, "%s %.2f us, host %.2f us, model's error %zu.%zu %%\n    %s\n",
		prediction.best ? prediction.best->name : "no plan", (double)prediction.ps * 1e-6,
		(double)prediction.host_ps * 1e-6, selector->model->fit_error / 10, selector->model->fit_error % 10,
		*is_decided ? "fits, but what stands above decides" : "yes: this decides");
	*is_decided = true;
}

void
cs_selector_explain(const struct cs_selector *selector, const struct cs_facts *facts, FILE *out)
{
	const struct table *table = &selector->tables[facts->coll];
	explain_facts(out, selector, facts);
	fputs("algorithms:\n", out);
	const struct cs_algorithm *algorithm;
	for (int number = 0; (algorithm = cs_algorithm_at(number)); number++) {
		if (algorithm->coll != facts->coll)
			continue;
		const char *unmet = cs_algorithm_unmet(algorithm, facts);
		fprintf(out, "  %s: %s%s\n", algorithm->name, unmet ? "no: " : "can serve this call",
			unmet ? unmet : "");
	}
	fprintf(out, "  " CS_HOST ": can serve every call\n%s: ", cs_colls[facts->coll].variable);
	cs_printable_put(out, table->force_text ? table->force_text : "not set");
	if (table->force_error)
		fprintf(out, ": ignored, %s\n", table->force_error);
	else
		putc('\n', out);
	if (selector->site_error)
		fprintf(out, "tuning file not used: %s\n", selector->site_error);
	fputs("rows, the first that fits decides:\n", out);
	bool is_decided = false;
	bool is_model_told = false;
	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].why == CS_WHY_BUILTIN && !is_model_told) {
			explain_model(out, selector, facts, &is_decided);
			is_model_told = true;
		}
		explain_row(out, selector, table, &table->rows[i], facts, &is_decided);
	}
	if (!is_model_told)
		explain_model(out, selector, facts, &is_decided);
	if (!is_decided)
		fputs("  none fits: the host\n", out);
	struct cs_choice choice;
	char use[256], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	cs_selector_choose(selector, facts, &choice);
	fprintf(out, "-> %s (%s)", cs_use_text(use, sizeof use, choice.algorithm, choice.params), choice.reason);
	if (facts->bytes == CS_BYTES_UNKNOWN)
		fputc('\n', out);
	else
		fprintf(out, "; the same for %s <= bytes < %s\n", cs_bytes_text(low, choice.bytes_low),
			cs_bytes_text(high, choice.bytes_high));
}

void
cs_selector_print_limits(const struct cs_selector *selector, FILE *out)
{
	struct cs_limits limits = selector->limits;
	char number[CS_NUMBER_TEXT], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++) {
		const struct cs_limit_info *info = &cs_limit_infos[i];
		fprintf(out, "  %s = %s (%s)\n      %s", info->name,
			cs_limit_text(info, *cs_limit_of(&limits, i), number), selector->limit_origins[i], info->meaning);
		if (!info->words)
			fprintf(out, "; %s to %s", cs_bytes_text(low, info->low), cs_bytes_text(high, info->high));
		if (info->multiple > 1)
			fprintf(out, ", a multiple of %zu", info->multiple);
		fputc('\n', out);
	}
}

static void
print_block(const struct cs_selector *selector, const char *kind, const struct cs_block *block, FILE *out)
{
	char why[512];
	fprintf(out, "    %s %s (line %u): ", kind, block->name, block->line);
	if (cs_guard_fails(block, &selector->machine, why, sizeof why))
		fprintf(out, "for other machines (%s)\n", why);
	else
		fputs("holds here\n", out);
	fprintf(out, "      %s, %s%s%s, on %s, by: %s\n", block->date, block->library,
		block->measured_mpi ? " with " : "", block->measured_mpi ? block->measured_mpi : "",
		block->measured_on, block->command);
	if (block->note)
		fprintf(out, "      %s\n", block->note);
}

static void
print_source(const struct cs_selector *selector, const struct cs_tuning *tuning, FILE *out)
{
	fprintf(out, "  %s\n", tuning->label);
	for (size_t i = 0; i < tuning->block_count; i++)
		print_block(selector, "block", &tuning->blocks[i], out);
	for (size_t i = 0; i < tuning->model_count; i++) {
		print_block(selector, "model", &tuning->models[i].about, out);
		fprintf(out, "      %s\n", tuning->models[i].parameters);
	}
}

void
cs_selector_print_sources(const struct cs_selector *selector, FILE *out)
{
	if (selector->site)
		print_source(selector, selector->site, out);
	else if (selector->site_error)
		fprintf(out, "  not used: %s\n", selector->site_error);
	else
		fputs("  no tuning file (would be " CS_TUNING_INSTALLED ")\n", out);
	if (selector->builtin)
		print_source(selector, selector->builtin, out);
}

const char *
cs_selector_source(const struct cs_selector *selector)
{
	return selector->site ? selector->site->label : "built in";
}

int
cs_selector_print_errors(const struct cs_selector *selector, FILE *out)
{
	int count = 0;
	if (selector->site_error && ++count)
		fprintf(out, "%s; only the built-in rules are used\n", selector->site_error);
	for (int coll = 0; coll < CS_COLL_COUNT; coll++) {
		const struct table *table = &selector->tables[coll];
		if (table->force_error && ++count)
			fprintf(out, "%s: %s; it is ignored\n", cs_colls[coll].variable, table->force_error);
	}
	return count;
}

int
cs_tuning_check(const char *path, FILE *out)
{
	struct cs_tuning *tuning = NULL;
	struct cs_tuning_errors errors = { .out = out };
	struct cs_machine machine = { 0 };
	char text[512];
	switch (cs_tuning_load(&tuning, path, &errors)) {
	case CS_OK:
		cs_machine_read(&machine);
		if (cs_note_machine(tuning, &machine, text, sizeof text))
			fprintf(out, "%s (a note, no error)\n", text);
		if (cs_note_version(tuning, &machine, text, sizeof text))
			fprintf(out, "%s (a note, no error)\n", text);
		cs_tuning_destroy(tuning);
		return 0;
	case CS_BAD_INPUT:
		return (int)errors.count;
	case CS_NO_MEMORY:
		fprintf(out, "%s: out of memory\n", path);
		return -1;
	default:
		return -1;
	}
}
