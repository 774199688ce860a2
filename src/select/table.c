/* select/table.c — makes a selector: reads the tuning files and the forcing variables, and puts
 * their rows in order. */
#include "select/table.h"

#include "base/hash.h"
#include "base/installed.h"
#include "base/log.h"
#include "select/force.h"
#include "select/learnt.h"
#include "select/notes.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define BUILTIN_LABEL "built-in tuning.yaml"
#define NO_FILE "builtin" /* COLLSHIM_TUNING=builtin */

_Static_assert(2 * CS_COLL_COUNT == sizeof((struct cs_settings *)0)->force / sizeof(const char *),
	       "a forcing variable for each collective and form");

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
		if (!site || !selector->is_site_asked ||
		    !cs_note_machine(site, &selector->machine, text, bytes))
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

/* A file that is right, but of another machine or time, changes less or other things than was
 * meant. */
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
	char installed[PATH_MAX];
	const char *path = settings->tuning ? settings->tuning : installed;
	if (!settings->tuning)
		cs_installed_tuning(installed, sizeof installed);
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
			    "only the built-in rules are used" CS_IGNORED,
			    errors.first, errors.count - 1, path, "tuning");
	else
		cs_log_warn(&said, "select: %s; only the built-in rules are used" CS_IGNORED,
			    errors.first, "tuning");
}

static void
load_learnt(struct cs_selector *selector, const struct cs_settings *settings, bool *failed)
{
	const char *path = settings->adapt_file;
	if (path && (!settings->tuning || strcmp(path, settings->tuning)))
		*failed |= cs_learnt_load(&selector->learnt, path) == CS_NO_MEMORY;
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
		if (offset == offsetof(struct cs_limits, wire) &&
		    settings->wire != CS_WIRE_AS_TUNED) {
			selector->limits.wire = settings->wire;
			selector->limit_origins[i] = "COLLSHIM_WIRE";
		}
	}
}

static void
read_forcing(struct cs_forcing *forcing, int coll, const char *text, struct cs_force *force,
	     bool *failed)
{
	bool is_nonblocking = coll >= CS_COLL_COUNT;
	enum cs_coll its = (enum cs_coll)(coll % CS_COLL_COUNT);
	const struct cs_coll_info *info = &cs_colls[its];
	char message[600];
	forcing->variable = is_nonblocking ? info->nonblocking_variable : info->variable;
	forcing->text = text; /* settings' texts live as long as the process */
	enum cs_status status = text ? cs_force_parse(force, its, text, message, sizeof message)
				     : CS_OK;
	*failed |= status == CS_NO_MEMORY;
	if (status == CS_BAD_INPUT) {
		_Atomic int said = 0; /* once per variable: a selector is made once per process */
		cs_log_warn(&said, "select: %s=%.100s: %s; it is ignored" CS_IGNORED,
			    forcing->variable, text, message,
			    is_nonblocking ? info->nonblocking : info->name);
		forcing->error = make_text(failed, "%s", message);
	}
	forcing->excluded = calloc(force->excluded_count + 1, sizeof *forcing->excluded);
	*failed |= !forcing->excluded;
	for (size_t i = 0; i < force->excluded_count && forcing->excluded; i++)
		forcing->excluded[i] = force->excluded[i];
	if (force->excluded_count)
		forcing->excluded_reason = make_text(failed, "excluded by %s=%s",
						     forcing->variable, text);
}

static void
add_forced(struct cs_table *table, const struct cs_forcing *forcing, enum cs_form form,
	   const struct cs_force *force, bool *failed)
{
	for (size_t i = 0; i < force->item_count; i++)
		table->rows[table->count++] = (struct cs_row){
			.bytes = force->items[i].bytes,
			.ranks = CS_RANGE_ALL, .nodes = CS_RANGE_ALL, .ppn = CS_RANGE_ALL,
			.skew = CS_RANGE_ALL, .form = form, .imbalance = force->items[i].imbalance,
			.use = force->items[i].use, .why = CS_WHY_FORCED,
			.reason = make_text(failed, "forced by %s", forcing->variable),
		};
}

static void
add_rules(struct cs_table *table, enum cs_coll coll, const struct cs_tuning *tuning,
	  const struct cs_machine *machine, bool is_builtin, bool *failed)
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
		struct cs_row *row = &table->rows[table->count++];
		bool is_learnt = cs_block_is_learnt(block);
		if (block != asked)
			fails = cs_guard_fails(block, machine, ignored, sizeof ignored);
		asked = block;
		*row = (struct cs_row){
			.bytes = rule->bytes, .ranks = rule->ranks, .nodes = rule->nodes,
				.ppn = rule->ppn,
			.skew = rule->skew, .wire = rule->wire, .placement = rule->placement,
			.form = rule->form, .imbalance = rule->imbalance, .use = rule->use,
			.why = is_builtin ? CS_WHY_BUILTIN
			       : is_learnt ? CS_WHY_LEARNT : CS_WHY_RULE,
			.is_guarded_out = fails,
			.reason = make_text(failed, "%s%s:%u", is_builtin  ? ""
					    : is_learnt ? "learnt " : "rule ", label, rule->line),
			.block = block,
		};
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
make_table(struct cs_selector *selector, enum cs_coll coll, const struct cs_settings *settings,
	   bool *failed)
{
	struct cs_table *table = &selector->tables[coll];
	struct cs_forcing *forcings = table->forcings;
	struct cs_force forces[2] = { 0 };
	for (int i = 0; i < 2; i++) {
		int number = (int)coll + i * CS_COLL_COUNT;
		read_forcing(&forcings[i], number, settings->force[number], &forces[i], failed);
	}
	bool has_own = forcings[1].text && !forcings[1].error;
	bool is_asked = selector->is_site_asked;
	const struct cs_tuning *order[] = { is_asked ? selector->site : selector->learnt,
					    is_asked ? selector->learnt : selector->site,
					    selector->builtin };
	size_t most = forces[0].item_count + forces[1].item_count;
	for (int i = 0; i < 3; i++)
		most += count_rules(order[i], coll);
	table->rows = calloc(most + 1, sizeof *table->rows);
	if (!table->rows) {
		*failed = true;
	} else {
		add_forced(table, &forcings[1], CS_FORM_NONBLOCKING, &forces[1], failed);
		add_forced(table, &forcings[0], has_own ? CS_FORM_BLOCKING : CS_FORM_EITHER,
			   &forces[0], failed);
		for (int i = 0; i < 3; i++)
			if (order[i])
				add_rules(table, coll, order[i], &selector->machine, i == 2,
					  failed);
	}
	cs_force_fini(&forces[0]);
	cs_force_fini(&forces[1]);
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
	for (size_t i = 0; selector->site && i < selector->site->model_count; i++) {
		const struct cs_site_model *model = &selector->site->models[i];
		struct cs_found_model *found = &selector->models[model->wire == CS_WIRE_IB];
		if (found->model || cs_guard_fails(&model->about, &selector->machine, ignored,
						   sizeof ignored))
			continue;
		found->model = model;
		found->reason = make_text(failed, "model %s", model->about.name);
	}
	for (size_t i = 0; selector->site && i < selector->site->node_count && !selector->node;
	     i++)
		if (!cs_guard_fails(&selector->site->nodes[i].about, &selector->machine, ignored,
				    sizeof ignored))
			selector->node = &selector->site->nodes[i];
}

static uint64_t
hash_model(uint64_t hash, const struct cs_site_model *model)
{
	hash = cs_hash_text(hash, model ? model->parameters : NULL);
	hash = cs_hash_number(hash, model ? model->fit_error : 0);
	hash = cs_hash_number(hash, model ? (uint64_t)model->wire : 0);
	for (size_t i = 0; model && i < model->host_count; i++) {
		const struct cs_host_cost *cost = &model->hosts[i];
		hash = cs_hash_number(hash, (uint64_t)cost->coll << 48 | (uint64_t)cost->ranks <<
				      24 | (uint64_t)cost->nodes);
		for (size_t k = 0; k < cost->count; k++)
			hash = cs_hash_number(cs_hash_number(hash, cost->points[k].bytes),
					      (uint64_t)cost->points[k].ps);
	}
	return hash;
}

static uint64_t
digest(const struct cs_selector *selector)
{
	uint64_t hash = hash_model(hash_model(CS_HASH_START, selector->models[0].model),
				   selector->models[1].model);
	if (selector->node)
		hash = cs_hash_bytes(hash, &selector->node->model, sizeof selector->node->model);
	struct cs_limits limits = selector->limits;
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		hash = cs_hash_number(hash, *cs_limit_of(&limits, i));
	for (int coll = 0; coll < CS_COLL_COUNT; coll++) {
		const struct cs_table *table = &selector->tables[coll];
		hash = cs_hash_text(hash, table->forcings[0].text);
		hash = cs_hash_text(hash, table->forcings[1].text);
		hash = cs_hash_number(hash, table->count);
		for (size_t i = 0; i < table->count; i++) {
			const struct cs_row *row = &table->rows[i];
			hash = cs_hash_number(hash, row->why);
			hash = cs_hash_number(hash, (uint64_t)row->is_guarded_out |
					      (uint64_t)(row->block && row->block->is_hypothesis)
					      << 1);
			hash = hash_range(hash, row->bytes);
			hash = hash_range(hash, row->ranks);
			hash = hash_range(hash, row->nodes);
			hash = hash_range(hash, row->ppn);
			hash = hash_range(hash, row->skew);
			hash = cs_hash_number(hash, (uint64_t)row->wire);
			hash = cs_hash_number(hash, row->placement);
			hash = cs_hash_number(hash, row->form);
			hash = cs_hash_number(hash, row->imbalance);
			hash = cs_hash_text(hash, row->use.algorithm
					    ? row->use.algorithm->name : NULL);
			for (int k = 0; k < CS_MAX_PARAMS; k++)
				hash = cs_hash_number(hash, row->use.params[k]);
		}
	}
	return hash;
}

void
cs_selector_forget(struct cs_selector *selector)
{
	const struct cs_tuning *learnt = selector->learnt;
	for (int coll = 0; coll < CS_COLL_COUNT; coll++) {
		struct cs_table *table = &selector->tables[coll];
		size_t count = table->count;
		table->count = 0;
		for (size_t i = 0; i < count; i++) {
			const struct cs_row row = table->rows[i];
			if (row.why == CS_WHY_LEARNT ||
			    (learnt && row.block >= learnt->blocks &&
			     row.block < learnt->blocks + learnt->block_count))
				free(row.reason);
			else
				table->rows[table->count++] = row;
		}
	}
	cs_tuning_destroy(selector->learnt);
	selector->learnt = NULL;
	selector->digest = digest(selector);
}

static void
copy_machine(struct cs_selector *selector, const struct cs_machine *machine, bool *failed)
{
	const char *from[] = { machine->mpi, machine->cpu, machine->host };
	for (int i = 0; i < 3; i++)
		selector->texts[i] = from[i] ? make_text(failed, "%s", from[i]) : NULL;
	selector->machine = (struct cs_machine){ selector->texts[0], selector->texts[1],
						 selector->texts[2], machine->cores };
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
	made->has_warned = calloc(2 * CS_COLL_COUNT, sizeof *made->has_warned);
	failed = !made->has_warned;
	copy_machine(made, machine, &failed);
	load_builtin(made, &failed);
	load_site(made, settings, &failed);
	load_learnt(made, settings, &failed);
	find_model(made, &failed);
	set_limits(made, settings);
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		make_table(made, coll, settings, &failed);
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
		struct cs_table *table = &selector->tables[coll];
		for (size_t i = 0; i < table->count; i++)
			free(table->rows[i].reason);
		free(table->rows);
		for (int i = 0; i < 2; i++) {
			free(table->forcings[i].excluded);
			free(table->forcings[i].excluded_reason);
			free(table->forcings[i].error);
		}
	}
	for (int i = 0; i < 3; i++)
		free(selector->texts[i]);
	cs_tuning_destroy(selector->site);
	cs_tuning_destroy(selector->learnt);
	cs_tuning_destroy(selector->builtin);
	free(selector->site_error);
	free(selector->models[0].reason);
	free(selector->models[1].reason);
	free(selector->has_warned);
	free(selector);
}

const struct cs_node_model *
cs_selector_node_model(const struct cs_selector *selector)
{
	return selector->node ? &selector->node->model : NULL;
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
