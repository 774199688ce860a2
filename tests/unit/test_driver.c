/* Who steps non-blocking calls while the program is in the MPI, by the names that the MPI has
 * (comm/calls/icall_request.c). */
#include "comm/calls/icall_parts.h"
#include "comm/engine.h"
#include "comm/host/host.h"
#include "comm/host/pmpi.h"
#include "run/run.h"

#include "unit.h"

#include <dlfcn.h>

/* What the room's other files have. */
struct cs_engine cs_engine;
struct cs_pmpi cs_pmpi;
const struct cs_host cs_host_mpi;
void (*_Atomic cs_host_drive)(void);
void (*cs_comm_end_calls)(struct cs_comm *communicator, bool may_wait);
_Atomic unsigned cs_icalls_open, cs_icalls_failed, cs_persistents_made;

void
cs_icalls_step(void)
{
}

void
cs_persistents_look(void)
{
}

bool
cs_progress_thread_start(bool has_spare)
{
	return true;
}

bool
cs_progress_thread_has_cores(int ranks)
{
	return false;
}

/* --- an MPI ----------------------------------------------------------------------------------- */

static const char *has[3];
static void *is[3];
static int (*registered)(void);
static bool is_deaf; /* calls nothing that is registered */

static void *
look_up(const char *name)
{
	for (int i = 0; i < 3; i++)
		if (has[i] && !strcmp(has[i], name))
			return is[i];
	return NULL;
}

static int
query_thread(int *level)
{
	*level = MPI_THREAD_MULTIPLE - 1;
	return MPI_SUCCESS;
}

static int
start(MPI_Grequest_query_function *query, MPI_Grequest_free_function *release,
      MPI_Grequest_cancel_function *cancel, void *extra, MPI_Request *request)
{
	memset(request, 0, sizeof *request);
	return MPI_SUCCESS;
}

static int
complete(MPI_Request request)
{
	return MPI_SUCCESS;
}

static int
test(MPI_Request *request, int *flag, MPI_Status *status)
{
	*flag = 0;
	if (registered && !is_deaf)
		registered();
	return MPI_SUCCESS;
}

static int
wait_for(MPI_Request *request, MPI_Status *status)
{
	return MPI_SUCCESS;
}

static int
add(int (*function)(void))
{
	registered = function;
	return 0;
}

static int
take_away(int (*function)(void))
{
	assert_true(registered == function);
	registered = NULL;
	return 0;
}

static void
polled(void)
{
}

static void
first(void)
{
}

/* May calls be served with these names and what they are? Sets cs_messages_progress. */
static bool
finds(const char *one, void *its, const char *other, void *others)
{
	static struct cs_door door = { .lookup = look_up };
	void *anything = (void *)polled;
	cs_engine.door = &door;
	cs_icalls_first = first;
	registered = NULL;
	cs_messages_progress = false;
	cs_pmpi = (struct cs_pmpi){ .Grequest_start = start, .Grequest_complete = complete,
				    .Test = test, .Wait = wait_for, .Query_thread = query_thread };
	memcpy(&cs_pmpi.Type_dup, &anything, sizeof anything);
	memcpy(&cs_pmpi.Status_set_elements, &anything, sizeof anything);
	memcpy(&cs_pmpi.Status_set_cancelled, &anything, sizeof anything);
	has[0] = one, has[1] = other;
	is[0] = its, is[1] = others;
	return cs_icalls_find_driver(2, NULL);
}

/* A library of the standard ABI over an MPI other than the Open MPI that is loaded, too. */
TEST(a_hook_that_the_mpi_does_not_call_is_none)
{
	is_deaf = true;
	assert_false(finds("opal_progress_register", (void *)add, "opal_progress_unregister",
			   (void *)take_away));
	assert_null(registered);
	is_deaf = false;
	assert_false(finds("opal_progress_register", (void *)add, "", NULL));
}

TEST(a_hook_that_the_mpi_calls_drives_messages_too)
{
	assert_true(finds("opal_progress_register", (void *)add, "opal_progress_unregister",
			  (void *)take_away));
	assert_non_null(registered);
	assert_true(cs_messages_progress && cs_icalls_is_hooked());
}

TEST(requests_are_polled_by_the_library_that_makes_the_others_only)
{
	assert_false(finds("PMPIX_Grequest_start", dlsym(RTLD_DEFAULT, "getpid"), "", NULL));
	assert_true(finds("PMPIX_Grequest_start", (void *)polled, "", NULL));
	assert_false(cs_messages_progress || cs_icalls_is_hooked());
	assert_true(finds("MPIX_Grequest_start", (void *)polled, "", NULL));
	assert_false(cs_icalls_is_hooked());
}

RUN_TESTS(NULL, NULL)
