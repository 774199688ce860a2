/* select/select.c — chooses the algorithm for a call: the first row of the table that fits, or what
 * the model says. */
#include "select/table.h"

#include "base/log.h"
#include "select/predict.h"

#include <string.h>

bool
cs_row_fits_size(const struct cs_row *row, size_t bytes)
{
	if (bytes == CS_BYTES_UNKNOWN)
		return row->bytes.low == 0 && row->bytes.high == CS_INF;
	return cs_range_contains(row->bytes, bytes);
}

/* Does the team meet the row's conditions? */
static bool
fits_team(const struct cs_row *row, const struct cs_facts *facts)
{
	return !row->is_guarded_out && cs_range_contains(row->ranks, (size_t)facts->ranks) &&
	       cs_range_contains(row->nodes, (size_t)facts->nodes) &&
	       cs_range_contains(row->ppn, (size_t)facts->ppn_min) &&
	       cs_range_contains(row->ppn, (size_t)facts->ppn_max) &&
	       (!row->wire || row->wire == facts->wire) &&
	       (row->form == CS_FORM_EITHER || row->form == cs_form_of(facts)) &&
	       (row->placement == CS_PLACEMENT_EITHER ||
		row->placement == cs_placement_of(facts));
}

bool
cs_selector_asks_imbalance(const struct cs_selector *selector, const struct cs_facts *facts)
{
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		for (size_t i = 0; i < selector->tables[coll].count; i++) {
			const struct cs_row *row = &selector->tables[coll].rows[i];
			if (row->imbalance && fits_team(row, facts))
				return true;
		}
	return false;
}

/* All that a row asks for but the size, and, if `any_skew`, how uneven the blocks are. */
static bool
fits_but_size(const struct cs_row *row, const struct cs_facts *facts, bool any_skew)
{
	return fits_team(row, facts) && cs_balance_fits(row->imbalance, facts->imbalance) &&
	       (any_skew || cs_range_contains(row->skew, (size_t)facts->skew));
}

bool
cs_row_fits(const struct cs_row *row, const struct cs_facts *facts)
{
	return fits_but_size(row, facts, false) && cs_row_fits_size(row, facts->bytes);
}

bool
cs_table_excludes(const struct cs_table *table, const struct cs_facts *facts,
		  const struct cs_algorithm *algorithm)
{
	const struct cs_algorithm **one = cs_table_forcing(table, facts)->excluded;
	while (*one && *one != algorithm)
		one++;
	return *one;
}

const char *
cs_row_barred(const struct cs_table *table, const struct cs_row *row, const struct cs_facts *facts)
{
	if (cs_table_excludes(table, facts, row->use.algorithm))
		return cs_table_forcing(table, facts)->excluded_reason;
	return row->use.algorithm ? cs_algorithm_unmet(row->use.algorithm, facts) : NULL;
}

/* The first row that fits the call, among those that may decide (is_barred false) or those that
 * would if their algorithm were allowed (true). A forced row always decides: what the user asked
 * for is not replaced by a rule. Barring does not depend on the size. So a row that fits but for
 * the size, passed on the way, cuts the interval around `bytes` in which the answer stays the same,
 * and any other row passed does not. */
static const struct cs_row *
first_row(const struct cs_table *table, const struct cs_facts *facts, bool is_barred, size_t *low,
	  size_t *high)
{
	for (const struct cs_row *row = table->rows; row < table->rows + table->count; row++) {
		if (!fits_but_size(row, facts, false))
			continue;
		if ((row->why != CS_WHY_FORCED && cs_row_barred(table, row, facts)) != is_barred)
			continue;
		bool fits = cs_row_fits_size(row, facts->bytes);
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

void
cs_selector_set_startup(const struct cs_selector *selector, const struct cs_facts *facts,
			const struct cs_algorithm *algorithm, size_t params[CS_MAX_PARAMS])
{
	static const char name[] = "startup";
	const struct cs_site_model *site = cs_selector_model(selector, facts)->model;
	int at = algorithm ? cs_algorithm_param(algorithm, name, sizeof name - 1) : -1;
	if (at < 0 || params[at] || !site || site->wire != facts->wire)
		return;
	const struct cs_loggp *cost = &site->model.level[CS_INTER];
	size_t most = algorithm->params[at].high;
	double bytes = (double)(cost->o_send + cost->L + cost->o_recv) * 1000 / (double)cost->G;
	params[at] = !cost->G || bytes > (double)most ? most : bytes < 1 ? 1 : (size_t)bytes;
}

/* Chooses by the model, if neither the user nor the site's rules decide. */
static bool
choose_by_model(const struct cs_selector *selector, const struct cs_facts *facts,
		struct cs_choice *choice, size_t *low, size_t *high)
{
	struct cs_prediction prediction;
	const struct cs_table *table = &selector->tables[facts->coll];
	const struct cs_found_model *found = cs_selector_model(selector, facts);
	if (!found->model || !cs_predict(found->model, facts,
					 cs_table_forcing(table, facts)->excluded, &prediction))
		return false;
	choice->algorithm = prediction.use.algorithm;
	memcpy(choice->params, prediction.use.params, sizeof choice->params);
	choice->why = CS_WHY_MODEL;
	choice->reason = found->reason;
	*low = prediction.low > *low ? prediction.low : *low;
	*high = prediction.high < *high ? prediction.high : *high;
	return true;
}

void
cs_selector_choose(const struct cs_selector *selector, const struct cs_facts *facts,
		   struct cs_choice *choice)
{
	const struct cs_table *table = &selector->tables[facts->coll];
	const struct cs_forcing *forcing = cs_table_forcing(table, facts);
	size_t low = 0, high = facts->bytes == CS_BYTES_UNKNOWN ? CS_BYTES_UNKNOWN : CS_INF;
	*choice = (struct cs_choice){ .why = CS_WHY_NO_RULE, .reason = "no rule" };
	const struct cs_row *row = first_row(table, facts, false, &low, &high);
	const char *bar = row ? cs_row_barred(table, row, facts) : NULL;
	bool is_open = !row || row->why == CS_WHY_BUILTIN;
	choice->is_belief = !facts->is_nonblocking &&
			    (is_open || (row->block && row->block->is_hypothesis));
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
		choice->is_belief = false;
		/* A variable for both forms may be meant for the other one. */
		bool is_own = facts->is_nonblocking && forcing != table->forcings;
		if (is_own || !facts->is_nonblocking)
			cs_log_warn(&selector->has_warned[facts->coll + is_own * CS_COLL_COUNT],
				    "select: %s asks for %s, which does not serve this call (%s); "
				    "such calls go to the MPI" CS_UNMET,
				    forcing->variable, row->use.algorithm->name, bar,
				    cs_coll_name((int)facts->coll + is_own * CS_NONBLOCKING));
	} else {
		row = first_row(table, facts, true, &low, &high);
		if (row) {
			choice->reason = cs_row_barred(table, row, facts);
			choice->why = choice->reason == forcing->excluded_reason ? CS_WHY_EXCLUDED
										 : CS_WHY_NEEDS;
			choice->is_belief = false;
		}
	}
	cs_selector_set_startup(selector, facts, choice->algorithm, choice->params);
	choice->bytes_low = low;
	choice->bytes_high = high;
	/* The model is silent where blocks are uneven. */
	choice->depends_on_skew = is_open && cs_selector_model(selector, facts)->model &&
				  cs_colls[facts->coll].has_skew;
	for (row = table->rows; row < table->rows + table->count; row++)
		choice->depends_on_skew |= fits_but_size(row, facts, true) &&
					   (row->skew.low > 1 || row->skew.high < CS_INF);
}
