/* select/candidates.c — other algorithms that a call may be tried with (run/trial.h). */
#include "select/table.h"

#include "select/predict.h"

#include <string.h>

struct list {
	struct cs_choice *choices;
	int count, most;
};

/* Add a candidate, unless it is one already. */
static void
add(struct list *list, const struct cs_use *use, enum cs_why why, const char *reason)
{
	for (int i = 0; i < list->count; i++)
		if (list->choices[i].algorithm == use->algorithm)
			return;
	if (list->count == list->most)
		return;
	struct cs_choice *choice = &list->choices[list->count++];
	*choice = (struct cs_choice){ .algorithm = use->algorithm, .why = why, .reason = reason,
				      .bytes_high = CS_INF };
	memcpy(choice->params, use->params, sizeof choice->params);
}

int
cs_selector_candidates(const struct cs_selector *selector, const struct cs_facts *facts,
		       struct cs_choice *choices, int most)
{
	const struct cs_table *table = &selector->tables[facts->coll];
	struct list list = { choices, 1, most };
	struct cs_prediction prediction;
	struct cs_use use;
	if (!choices[0].is_belief)
		return 1;
	cs_use_init(&use, NULL);
	add(&list, &use, CS_WHY_TRIED, "tried");
	const struct cs_algorithm *hier = cs_algorithm_by_name(facts->coll, "hier:host");
	if (hier && !cs_algorithm_unmet(hier, facts) && !cs_table_excludes(table, facts, hier)) {
		cs_use_init(&use, hier);
		add(&list, &use, CS_WHY_TRIED, "tried");
	}
	const struct cs_site_model *model = cs_selector_model(selector, facts)->model;
	if (model &&
	    cs_predict(model, facts, cs_table_forcing(table, facts)->excluded,
		       &prediction) &&
	    prediction.best == prediction.use.algorithm)
		add(&list, &prediction.use, CS_WHY_TRIED, "tried");
	/* The first row of another algorithm. */
	for (const struct cs_row *row = table->rows; row < table->rows + table->count; row++) {
		if (!cs_row_fits(row, facts) || cs_row_barred(table, row, facts))
			continue;
		int count = list.count;
		add(&list, &row->use, CS_WHY_TRIED, "tried");
		if (list.count > count)
			break;
	}
	for (int i = 1; i < list.count; i++)
		cs_selector_set_startup(selector, facts, choices[i].algorithm, choices[i].params);
	return list.count;
}
