/* Every algorithm of the table, listed or composed, is right for each number of ranks from 2 to 17
 * and each kind of nodes that it serves, when its operations are stepped in random order. */
#include "operation_table.h"

static void
each_algorithm_for_each_number_of_ranks(void **state)
{
	table_walk(false, expect_right);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_algorithm_for_each_number_of_ranks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
