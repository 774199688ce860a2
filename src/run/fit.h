/* run/fit.h — choices whose plans would be too large to keep. */
#ifndef CS_RUN_FIT_H
#define CS_RUN_FIT_H

#include "coll/problem.h"
#include "select/select.h"

#include <stdbool.h>

/* A plan that is not kept (algorithms/plans.h) would be made anew in each call. So a choice holds up to where its plans begin to
 * be too large, and from there on calls stay with the host. Narrows choice->bytes_low and bytes_high to the side on which
 * facts->bytes is; false: it is the side of the host, and *least is the smallest problem that does not fit. From facts and
 * parameters only, which all ranks have alike. */
bool cs_fit_choice(const struct cs_facts *facts, struct cs_choice *choice, struct cs_problem *least);

#endif
