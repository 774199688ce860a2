/* tests/mpi/hosts.h — legal calls that one of the hosts gets wrong; hosts.c says why for each. */
#ifndef HOSTS_H
#define HOSTS_H

#include "diff.h"

/* Bytes of a call (all blocks) up to which host_cuts_elements does no harm. */
#define HOST_FRAGMENT 4000

bool host_misplaces_gaps(enum coll coll);
bool host_misses_bottom(enum coll coll, long bytes);
bool host_loses_elements(enum coll coll, long bytes);
bool host_needs_equal_types(enum coll coll, long bytes);
bool host_needs_equal_layouts(const struct call *call);
/* Nothing to compare with. */
bool host_answers_wrong(const struct call *call);
bool host_ignores_displacement(int blocks);
bool host_wants_result(const struct call *call);
bool host_crashes_in_place(const struct call *call, long bytes);
bool host_cuts_elements(const struct unit *unit);
bool host_truncates_in_place(const struct call *call);
bool host_starts_wrongly(const struct call *call);
bool host_dies_of_extents(void);
bool host_misses_odd_strides(void);

#endif
