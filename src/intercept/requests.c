/* intercept/requests.c — MPI_Wait, MPI_Test and their kin (MPI 4.1, 3.7.3 to 3.7.6) drive the
 * non-blocking collectives that are served here.
 *
 * Requests of these are the host's own, completed when their calls are over, so the host answers
 * every question about them. A wait for other requests is a row of tests, with our steps between
 * them, while there is anything to step. */
#include "intercept/entry.h"

#include "comm/calls/icall.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"

#include <stdlib.h>
#include <string.h>

#define NEXT(name) ((__typeof__(&cs_entry_##name))cs_engine.door->next[CS_CALL_##name])

/* Is there nothing to step, and no error to report? */
static inline bool
is_idle(void)
{
	return __builtin_expect(!atomic_load_explicit(&cs_icalls_open, memory_order_acquire) &&
				!atomic_load_explicit(&cs_icalls_failed, memory_order_relaxed), 1);
}

/* Acquires the results of calls that other threads have finished. MPIs order these, too, which
 * ThreadSanitizer cannot see. */
static inline bool
is_open(void)
{
	return atomic_load_explicit(&cs_icalls_open, memory_order_acquire);
}

#define REQUEST_CALLS(ROW) \
	ROW(Request_get_status) ROW(Request_get_status_all) ROW(Request_get_status_any) \
	ROW(Request_get_status_some) ROW(Test) ROW(Testall) ROW(Testany) ROW(Testsome) \
	ROW(Wait) ROW(Waitall) ROW(Waitany) ROW(Waitsome)

static void
take_requests(void)
{
#define TAKE(name) cs_engine.door->set(CS_CALL_##name, (void *)cs_entry_##name);
	REQUEST_CALLS(TAKE)
#undef TAKE
}

void
cs_requests_leave(void **entries)
{
#define LEAVE(name) entries[CS_CALL_##name] = NULL;
	REQUEST_CALLS(LEAVE)
#undef LEAVE
	cs_icalls_first = take_requests;
}

/* --- one request ------------------------------------------------------------------------------ */

static int
result_of(int result, int is_complete, MPI_Request before, MPI_Status *status)
{
	is_open();
	if (result != MPI_SUCCESS || !is_complete ||
	    !atomic_load_explicit(&cs_icalls_failed, memory_order_relaxed))
		return result;
	return cs_icall_error(before);
}

int
cs_entry_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
	if (is_idle() || !request || !flag)
		return NEXT(Test)(request, flag, status);
	MPI_Request before = *request;
	cs_icalls_drive();
	int result = NEXT(Test)(request, flag, status);
	return result_of(result, *flag, before, status);
}

int
cs_entry_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
	cs_icalls_drive();
	return NEXT(Request_get_status)(request, flag, status);
}

int
cs_entry_Request_get_status_all(int count, const MPI_Request requests[], int *flag,
				MPI_Status statuses[])
{
	cs_icalls_drive();
	return NEXT(Request_get_status_all)(count, requests, flag, statuses);
}

int
cs_entry_Request_get_status_any(int count, const MPI_Request requests[], int *index, int *flag,
				MPI_Status *status)
{
	cs_icalls_drive();
	return NEXT(Request_get_status_any)(count, requests, index, flag, status);
}

int
cs_entry_Request_get_status_some(int count, const MPI_Request requests[], int *done, int indices[],
				 MPI_Status statuses[])
{
	cs_icalls_drive();
	return NEXT(Request_get_status_some)(count, requests, done, indices, statuses);
}

int
cs_entry_Wait(MPI_Request *request, MPI_Status *status)
{
	if (is_idle() || !request)
		return NEXT(Wait)(request, status);
	MPI_Request before = *request;
	struct cs_wait wait = cs_icalls_patience();
	int is_complete = cs_icall_wait(before), result = MPI_SUCCESS;
	while (!is_complete && is_open() && result == MPI_SUCCESS) {
		cs_icalls_drive();
		result = NEXT(Test)(request, &is_complete, status);
		if (is_complete || result != MPI_SUCCESS)
			return result_of(result, is_complete, before, status);
		cs_wait_turn(&wait);
	}
	result = NEXT(Wait)(request, status);
	return result_of(result, true, before, status);
}

/* --- several ---------------------------------------------------------------------------------- */

/* Handles as they were, since the host makes null of those that are complete. */
struct before {
	MPI_Request few[32], *all;
};

static void
remember(struct before *before, int count, const MPI_Request *requests)
{
	before->all = NULL;
	if (count <= 0 || !requests)
		return;
	before->all = count <= 32 ? before->few : malloc((size_t)count * sizeof *requests);
	if (before->all)
		memcpy(before->all, requests, (size_t)count * sizeof *requests);
}

static void
forget(struct before *before)
{
	if (before->all != before->few)
		free(before->all);
}

/* The result of a call that has completed `done` requests: those of these indices, or all. */
static int
result_of_all(int result, struct before *before, int done, const int *indices, MPI_Status *statuses)
{
	bool is_bad = false;
	is_open();
	bool is_looked_at = result == MPI_SUCCESS && before->all &&
			    atomic_load_explicit(&cs_icalls_failed, memory_order_relaxed);
	for (int i = 0; is_looked_at && i < done; i++) {
		int error = cs_icall_error(before->all[indices ? indices[i] : i]);
		is_bad = is_bad || error != MPI_SUCCESS;
		if (statuses != MPI_STATUSES_IGNORE)
			statuses[i].MPI_ERROR = error;
	}
	forget(before);
	return is_bad ? MPI_ERR_IN_STATUS : result;
}

int
cs_entry_Testall(int count, MPI_Request requests[], int *flag, MPI_Status statuses[])
{
	if (is_idle() || !flag)
		return NEXT(Testall)(count, requests, flag, statuses);
	struct before before;
	remember(&before, count, requests);
	cs_icalls_drive();
	int result = NEXT(Testall)(count, requests, flag, statuses);
	return result_of_all(result, &before, *flag ? count : 0, NULL, statuses);
}

int
cs_entry_Testany(int count, MPI_Request requests[], int *index, int *flag, MPI_Status *status)
{
	if (is_idle() || !flag || !index)
		return NEXT(Testany)(count, requests, index, flag, status);
	struct before before;
	remember(&before, count, requests);
	cs_icalls_drive();
	int result = NEXT(Testany)(count, requests, index, flag, status);
	bool is_one = *flag && *index != MPI_UNDEFINED && before.all;
	MPI_Request one = is_one ? before.all[*index] : MPI_REQUEST_NULL;
	forget(&before);
	return is_one ? result_of(result, true, one, status) : result;
}

int
cs_entry_Testsome(int count, MPI_Request requests[], int *done, int indices[],
		  MPI_Status statuses[])
{
	if (is_idle() || !done)
		return NEXT(Testsome)(count, requests, done, indices, statuses);
	struct before before;
	remember(&before, count, requests);
	cs_icalls_drive();
	int result = NEXT(Testsome)(count, requests, done, indices, statuses);
	return result_of_all(result, &before, *done == MPI_UNDEFINED ? 0 : *done, indices,
			     statuses);
}

int
cs_entry_Waitall(int count, MPI_Request requests[], MPI_Status statuses[])
{
	if (is_idle() || count <= 0 || !requests)
		return NEXT(Waitall)(count, requests, statuses);
	struct cs_wait wait = cs_icalls_patience();
	int is_complete = false, result = MPI_SUCCESS;
	for (int i = 0; i < count; i++)
		cs_icall_wait(requests[i]);
	while (is_open()) {
		result = cs_entry_Testall(count, requests, &is_complete, statuses);
		if (is_complete || result != MPI_SUCCESS)
			return result;
		cs_wait_turn(&wait);
	}
	struct before before;
	remember(&before, count, requests);
	result = NEXT(Waitall)(count, requests, statuses);
	return result_of_all(result, &before, count, NULL, statuses);
}

int
cs_entry_Waitany(int count, MPI_Request requests[], int *index, MPI_Status *status)
{
	struct cs_wait wait = cs_icalls_patience();
	int is_complete = false;
	while (!is_idle() && index) {
		int result = cs_entry_Testany(count, requests, index, &is_complete, status);
		if (is_complete || result != MPI_SUCCESS)
			return result;
		cs_wait_turn(&wait);
	}
	return NEXT(Waitany)(count, requests, index, status);
}

int
cs_entry_Waitsome(int count, MPI_Request requests[], int *done, int indices[],
		  MPI_Status statuses[])
{
	struct cs_wait wait = cs_icalls_patience();
	while (!is_idle() && done) {
		int result = cs_entry_Testsome(count, requests, done, indices, statuses);
		if (*done || result != MPI_SUCCESS)
			return result;
		cs_wait_turn(&wait);
	}
	return NEXT(Waitsome)(count, requests, done, indices, statuses);
}
