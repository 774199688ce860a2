/* select/explain.c — prints what a selector knows and why it chooses as it does, and checks a
 * tuning file. */
#include "select/table.h"

#include "base/installed.h"
#include "base/printable.h"
#include "base/trial.h"
#include "select/notes.h"
#include "select/predict.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static bool
says_range(FILE *out, const char *name, struct cs_range range, int low, int high)
{
	char text[CS_RANGE_TEXT];
	if (cs_range_contains(range, (size_t)low) && cs_range_contains(range, (size_t)high))
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
	static const char *const names[] = { [CS_PLACEMENT_BLOCK] = "block",
					     [CS_PLACEMENT_CYCLIC] = "cyclic" };
	if (placement == CS_PLACEMENT_EITHER || placement == here)
		return false;
	fprintf(out, "no: placement %s, here %s\n", names[placement], names[here]);
	return true;
}

static bool
says_form(FILE *out, enum cs_form form, enum cs_form here)
{
	if (form == CS_FORM_EITHER || form == here)
		return false;
	fprintf(out, "no: nonblocking %s, here %s\n", cs_form_word(form), cs_form_word(here));
	return true;
}

static bool
says_imbalance(FILE *out, unsigned set, enum cs_balance here)
{
	if (cs_balance_fits(set, here))
		return false;
	fputs("no: imbalance", out);
	for (enum cs_balance name = CS_BALANCED; name < CS_BALANCES; name++)
		if (set >> name & 1)
			fprintf(out, " %s", cs_balance_names[name]);
	fprintf(out, ", here %s\n", cs_balance_names[here]);
	return true;
}

/* Describes a row and its answer. False: the row does not fit this call. */
static bool
explain_row(FILE *out, const struct cs_selector *selector, const struct cs_table *table,
	    const struct cs_row *row, const struct cs_facts *facts, bool *is_decided)
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
		return false;
	}
	if (says_range(out, "ranks", row->ranks, facts->ranks, facts->ranks) ||
	    says_range(out, "nodes", row->nodes, facts->nodes, facts->nodes) ||
	    says_range(out, "ppn", row->ppn, facts->ppn_min, facts->ppn_max) ||
	    says_range(out, "skew", row->skew, facts->skew, facts->skew) ||
	    says_wire(out, row->wire, facts->wire) ||
	    says_placement(out, row->placement, cs_placement_of(facts)) ||
	    says_form(out, row->form, cs_form_of(facts)) ||
	    says_imbalance(out, row->imbalance, facts->imbalance))
		return false;
	if (!cs_row_fits_size(row, facts->bytes)) {
		cs_byte_range_text(range, row->bytes);
		if (facts->bytes == CS_BYTES_UNKNOWN)
			fprintf(out, "no: bytes %s, here not known to all ranks\n", range);
		else
			fprintf(out, "no: bytes %s, here %s\n", range,
				cs_bytes_text(number, facts->bytes));
		return false;
	}
	const char *bar = cs_row_barred(table, row, facts);
	if (*is_decided)
		fprintf(out, "fits, but what stands above decides\n");
	else if (!bar)
		fprintf(out, "yes: this decides\n");
	else if (row->why == CS_WHY_FORCED)
		fprintf(out, "cannot be done (%s): the MPI\n", bar);
	else
		fprintf(out, "no: %s\n", bar);
	*is_decided |= !bar || row->why == CS_WHY_FORCED;
	return true;
}

static void
explain_facts(FILE *out, const struct cs_selector *selector, const struct cs_facts *facts)
{
	const struct cs_coll_info *coll = &cs_colls[facts->coll];
	char number[CS_NUMBER_TEXT];
	fputs(facts->is_nonblocking ? coll->nonblocking : coll->name, out);
	if (facts->bytes == CS_BYTES_UNKNOWN)
		fputs(", any size", out);
	else
		fprintf(out, ", bytes %s (%s)", cs_bytes_text(number, facts->bytes),
			coll->bytes_meaning);
	fprintf(out, "; %d ranks on %d node%s, ", facts->ranks, facts->nodes,
		facts->nodes == 1 ? "" : "s");
	if (facts->ppn_min == facts->ppn_max)
		fprintf(out, "%d per node", facts->ppn_max);
	else
		fprintf(out, "%d to %d per node", facts->ppn_min, facts->ppn_max);
	fprintf(out, ", %s placement", facts->is_block_placed ? "block" : "cyclic or mixed");
	if (coll->reduces)
		fprintf(out, ", %scommutative", facts->is_commutative ? "" : "non-");
	if (facts->imbalance != CS_BALANCED)
		fprintf(out, ", %s imbalance", cs_balance_names[facts->imbalance]);
	if (facts->nodes > 1)
		fprintf(out, ", wire: %s", wire_name(facts->wire));
	fprintf(out, ", MPI: %s\n", selector->machine.mpi ? selector->machine.mpi : "any");
}

static void
explain_model(FILE *out, const struct cs_selector *selector, const struct cs_facts *facts,
	      bool *is_decided)
{
	struct cs_prediction prediction;
	const struct cs_found_model *found = cs_selector_model(selector, facts);
	if (!found->model)
		return;
	fprintf(out, "  %s: ", found->reason);
	if (!cs_predict(found->model, facts,
			cs_table_forcing(&selector->tables[facts->coll], facts)->excluded,
			&prediction)) {
		fprintf(out, "says nothing\n    no: %s\n", cs_predict_not(found->model, facts));
		return;
	}
	fprintf(out, "%s %.2f us, the MPI %.2f us, model's error %zu.%zu %%\n    %s\n",
		prediction.best ? prediction.best->name : "no plan", (double)prediction.ps * 1e-6,
		(double)prediction.host_ps * 1e-6, found->model->fit_error / 10,
		found->model->fit_error % 10, *is_decided ? "fits, but what stands above decides"
							     : "yes: this decides");
	*is_decided = true;
}

void
cs_selector_explain(const struct cs_selector *selector, const struct cs_facts *facts, FILE *out)
{
	struct cs_choice choice;
	char use[256], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	explain_facts(out, selector, facts);
	cs_selector_choose(selector, facts, &choice);
	fprintf(out, "-> %s (%s)", cs_use_text(use, sizeof use, choice.algorithm, choice.params),
		choice.reason);
	if (facts->bytes == CS_BYTES_UNKNOWN)
		fputc('\n', out);
	else
		fprintf(out, "; the same for %s <= bytes < %s\n",
			cs_bytes_text(low, choice.bytes_low),
			cs_bytes_text(high, choice.bytes_high));
	const char *refused = choice.algorithm
			      ? cs_predict_refusal(choice.algorithm, facts, choice.params) : NULL;
	if (refused)
		fprintf(out, "   but its plan refuses this call (%s): the MPI serves it%s\n",
			refused, choice.algorithm->inner ? " between nodes" : "");
	cs_explain_node(selector, facts, out);
}

static void
explain_algorithms(FILE *out, const struct cs_facts *facts, bool has_all)
{
	const struct cs_algorithm *algorithm;
	int left = 0;
	fputs("algorithms:\n", out);
	for (int number = 0; (algorithm = cs_algorithm_at(number)); number++) {
		if (algorithm->coll != facts->coll)
			continue;
		const char *unmet = cs_algorithm_unmet(algorithm, facts);
		if (unmet && !has_all)
			left++;
		else
			fprintf(out, "  %s: %s%s\n", algorithm->name,
				unmet ? "no: " : "can serve this call", unmet ? unmet : "");
	}
	fputs("  " CS_HOST ": can serve every call\n", out);
	if (left)
		fprintf(out, "  %d more cannot serve it: --all\n", left);
}

static void
explain_rows(FILE *out, const struct cs_selector *selector, const struct cs_facts *facts,
	     bool has_all)
{
	const struct cs_table *table = &selector->tables[facts->coll];
	bool is_decided = false, is_model_told = false;
	int left = 0;
	fputs("rows, the first that fits decides:\n", out);
	for (size_t i = 0; i < table->count; i++) {
		if (table->rows[i].why == CS_WHY_BUILTIN && !is_model_told) {
			explain_model(out, selector, facts, &is_decided);
			is_model_told = true;
		}
		char *text = NULL;
		size_t bytes;
		FILE *row = has_all ? NULL : open_memstream(&text, &bytes);
		bool fits = explain_row(row ? row : out, selector, table, &table->rows[i], facts,
					&is_decided);
		if (!row)
			continue;
		left += !fits;
		if (!fclose(row) && fits)
			fputs(text, out);
		free(text);
	}
	if (!is_model_told)
		explain_model(out, selector, facts, &is_decided);
	if (!is_decided)
		fputs("  none fits: the MPI\n", out);
	if (left)
		fprintf(out, "  %d more do not fit: --all\n", left);
}

/* Origin of a candidate (select/candidates.c). */
static const char *
origin_of(const struct cs_selector *selector, const struct cs_facts *facts,
	  const struct cs_choice *choice)
{
	const struct cs_table *table = &selector->tables[facts->coll];
	struct cs_prediction prediction;
	if (choice->why != CS_WHY_TRIED)
		return choice->reason;
	if (!choice->algorithm)
		return "the MPI";
	if (!strcmp(choice->algorithm->name, "hier:host"))
		return "node memory, the MPI between nodes";
	const struct cs_found_model *found = cs_selector_model(selector, facts);
	if (found->model &&
	    cs_predict(found->model, facts, cs_table_forcing(table, facts)->excluded,
		       &prediction) &&
	    prediction.best == choice->algorithm)
		return found->reason;
	for (const struct cs_row *row = table->rows; row < table->rows + table->count; row++)
		if (row->use.algorithm == choice->algorithm && cs_row_fits(row, facts) &&
		    !cs_row_barred(table, row, facts))
			return row->reason;
	return choice->reason;
}

static void
explain_candidates(FILE *out, const struct cs_selector *selector, const struct cs_facts *facts)
{
	struct cs_choice choices[CS_TRIAL_WAYS];
	char use[256];
	cs_selector_choose(selector, facts, &choices[0]);
	int count = cs_selector_candidates(selector, facts, choices, CS_TRIAL_WAYS);
	if (!choices[0].is_belief) {
		fprintf(out, "candidates of live choice: none, since the %s\n",
			facts->is_nonblocking ? "call is not blocking" : "answer is no hypothesis");
		return;
	}
	fputs("candidates of live choice, in this order:\n", out);
	for (int i = 0; i < count; i++)
		fprintf(out, "  %s (%s)\n",
			cs_use_text(use, sizeof use, choices[i].algorithm, choices[i].params),
			origin_of(selector, facts, &choices[i]));
}

void
cs_selector_explain_why(const struct cs_selector *selector, const struct cs_facts *facts,
			bool has_all, FILE *out)
{
	for (int i = facts->is_nonblocking; i >= 0; i--) {
		const struct cs_forcing *forcing = &selector->tables[facts->coll].forcings[i];
		fprintf(out, "%s: ", forcing->variable);
		cs_printable_put(out, forcing->text ? forcing->text : "not set");
		if (forcing->error)
			fprintf(out, ": ignored, %s", forcing->error);
		putc('\n', out);
	}
	if (selector->site_error)
		fprintf(out, "tuning file not used: %s\n", selector->site_error);
	explain_rows(out, selector, facts, has_all);
	explain_candidates(out, selector, facts);
	explain_algorithms(out, facts, has_all);
}

void
cs_selector_print_limits(const struct cs_selector *selector, FILE *out)
{
	struct cs_limits limits = selector->limits;
	char number[CS_NUMBER_TEXT], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++) {
		const struct cs_limit_info *info = &cs_limit_infos[i];
		fprintf(out, "  %s = %s (%s)\n      %s", info->name,
			cs_limit_text(info, *cs_limit_of(&limits, i), number),
			selector->limit_origins[i], info->meaning);
		if (!info->words)
			fprintf(out, "; %s to %s", cs_bytes_text(low, info->low),
				cs_bytes_text(high, info->high));
		if (info->multiple > 1)
			fprintf(out, ", a multiple of %zu", info->multiple);
		fputc('\n', out);
	}
}

static void
print_block(const struct cs_selector *selector, const char *kind, const struct cs_block *block,
	    FILE *out)
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
	for (size_t i = 0; i < tuning->node_count; i++)
		print_block(selector, "node model", &tuning->nodes[i].about, out);
}

void
cs_selector_print_sources(const struct cs_selector *selector, FILE *out)
{
	char installed[PATH_MAX];
	cs_installed_tuning(installed, sizeof installed);
	if (selector->site)
		print_source(selector, selector->site, out);
	else if (selector->site_error)
		fprintf(out, "  not used: %s\n", selector->site_error);
	else
		fprintf(out, "  no tuning file (would be %s)\n", installed);
	if (selector->learnt)
		print_source(selector, selector->learnt, out);
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
	for (int i = 0; i < 2 * CS_COLL_COUNT; i++) {
		const struct cs_forcing *forcing =
			&selector->tables[i % CS_COLL_COUNT].forcings[i / CS_COLL_COUNT];
		if (forcing->error && ++count)
			fprintf(out, "%s: %s; it is ignored\n", forcing->variable, forcing->error);
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
