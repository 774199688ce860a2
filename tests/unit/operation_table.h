/* operation_table.h — walks the table of algorithms: each one, for 2 to 17 ranks, on each kind of
 * nodes that it serves. */
#ifndef CS_TESTS_OPERATION_TABLE_H
#define CS_TESTS_OPERATION_TABLE_H

#include "operation_run.h"

/* Runs them all by `run_case` (expect_right, or the like), so many in a case, and then fails the
 * test if one that serves any of these nodes was not proven there. */
void table_walk(bool is_blocking, int (*run_case)(const struct setting *setting));

#endif
