/* The machine's own libibverbs behind the table: all of it, or none and a reason. */
#include "unit.h"

#include "ib/verbs.h"

TEST(the_table_is_whole_or_there_is_a_reason)
{
	const char *why = NULL;
	const struct cs_verbs *verbs = cs_verbs_load(&why);
	if (!verbs) {
		assert_non_null(why);
		assert_contains(why, "libibverbs");
		return;
	}
	assert_null(why);
	void *pointers[sizeof *verbs / sizeof(void *)];
	assert_int_equal(sizeof pointers, sizeof *verbs);
	memcpy(pointers, verbs, sizeof pointers);
	for (size_t i = 0; i < COUNT(pointers); i++)
		if (!pointers[i])
			fail_msg("pointer %zu of %zu is NULL", i, COUNT(pointers));
}

TEST(a_second_load_gives_the_same_answer)
{
	const char *why = NULL, *again = NULL;
	const struct cs_verbs *verbs = cs_verbs_load(&why);
	assert_ptr_equal(verbs, cs_verbs_load(&again));
	assert_int_equal(!why, !again);
	if (why)
		assert_string_equal(why, again);
}

/* With no device the list is empty or refused (ENOSYS where the kernel has no RDMA); either way it
 * is answered. */
TEST(what_was_loaded_can_be_called)
{
	const char *why;
	const struct cs_verbs *verbs = cs_verbs_load(&why);
	if (!verbs)
		leave_out(why);
	int count = -1;
	struct ibv_device **list = verbs->get_device_list(&count);
	if (list) {
		assert_true(count >= 0);
		for (int i = 0; i < count; i++)
			assert_true(strlen(verbs->get_device_name(list[i])) > 0);
		assert_null(list[count]);
		verbs->free_device_list(list);
	}
	assert_string_equal(verbs->wc_status_str(IBV_WC_SUCCESS), "success");
	assert_true(strlen(verbs->event_type_str(IBV_EVENT_PORT_ERR)) > 0);
	int is_safe = verbs->is_fork_safe();
	assert_true(is_safe == 0 || is_safe == 1);
}

RUN_TESTS(NULL, NULL)
