/* Every algorithm of the table, listed or composed, is right for each number of ranks from 2 to 17
 * and each kind of nodes that it serves, when its operations are stepped in random order. */
#include "operation_table.h"

TEST(each_algorithm_for_each_number_of_ranks)
{
	table_walk(false, expect_right);
}

RUN_TESTS(NULL, NULL)
