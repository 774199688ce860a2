/* tools/info_json.h — what collshim-info says, as one JSON object each. man/collshim-info.1
 * documents the form, which stays: keys may come, none goes or changes its meaning. */
#ifndef CS_TOOLS_INFO_JSON_H
#define CS_TOOLS_INFO_JSON_H

#include "algorithms/algorithm.h"
#include "coll/coll.h"
#include "select/select.h"
#include "tools/overrides.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* One need of an algorithm: the member of struct cs_needs, its name in JSON, and its text in lists
 * (NULL: none). */
struct cs_need {
	size_t offset;
	const char *name, *phrase;
};
extern const struct cs_need cs_need_names[]; /* ended by name == NULL */

static inline bool
cs_has_need(const struct cs_needs *needs, const struct cs_need *need)
{
	return *(const bool *)((const char *)needs + need->offset);
}

/* The collectives, and every algorithm of each, composed ones among them; not the host. */
void cs_info_json_algorithms(FILE *out);

/* Explains one call: its facts, the algorithms that can serve it, the choice; and reasons why it
 * goes to the MPI all the same. */
void cs_info_json_explain(FILE *out, const struct cs_selector *selector,
			  const struct cs_facts *facts, const char *mpi,
			  const struct cs_override *overrides, int override_count);

#endif
