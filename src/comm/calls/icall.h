/* comm/calls/icall.h — non-blocking collectives (MPI 4.0, 6.12): a call as an object that outlives
 * its entry, from its start to the end of its request.
 *
 *   queued     its operation may not begin without a wait: 62 are under way, a local rank is 64
 *              calls behind, or the team's next epoch is not agreed on
 *   under way  its operation has a number and a tag, and is stepped by whoever has time
 *   over       its results are there; the program has not asked for its request yet
 *
 * The request is a generalized request of the MPI (MPI 4.0, 13.2), so that the program can use it
 * with every function of requests, mixed with others. It is completed when the call is over and not
 * before. Calls are stepped in every wait of this library, in the functions of requests
 * (intercept/requests.c), and where the MPI itself waits for such a request: MPICH asks a function
 * of ours (MPIX_Grequest_start), Open MPI has one called whenever it progresses anything.
 *
 * Starting a call waits for nobody. Operations of a team begin in the order of the calls: a call
 * for which an older one is queued is queued, too, and a blocking call waits first until none
 * is. */
#ifndef CS_COMM_CALLS_ICALL_H
#define CS_COMM_CALLS_ICALL_H

#include "base/wait.h"
#include "comm/calls/serving.h"

#include <mpi.h>
#include <stdatomic.h>

/* Calls of this process that are queued or under way. */
extern _Atomic unsigned cs_icalls_open;

/* Called before the first call is started; set by intercept/requests.c at the module's opening. */
extern void (*cs_icalls_first)(void);

/* Returns a new call on a communicator, for a cs_serve_ function; NULL: the call is the host's,
 * since the communicator has no team, or the MPI lacks what it takes. */
struct cs_serving *cs_icall_new(struct cs_comm *communicator);
/* Frees a call that is left to the host; returns why it is. */
const char *cs_icall_drop(struct cs_serving *serving);
/* The report's row of a call that is the host's; `serving`: as cs_icall_new returned it, not yet
 * dropped. NULL without memory. */
struct cs_report_row *cs_icall_host_row(const struct cs_comm *communicator,
					const struct cs_serving *serving, enum cs_coll coll,
					size_t bytes);
/* Starts or queues the operation (cs_serve_run). False: the call is dry, and would be served. */
bool cs_icall_run(struct cs_serving *serving, uint64_t signature);
/* Makes the request of a call that was started or queued. Returns MPI_SUCCESS, or the error of the
 * host's MPI_Grequest_start. */
int cs_icall_request(struct cs_serving *serving, MPI_Request *request);

/* Is it only to be found out whether the call would be served? */
bool cs_icall_is_dry(const struct cs_serving *serving);

/* Steps all calls as far as they go without a wait, and completes the requests of those that are
 * over. Returns at once if another thread does, or if called within it. */
void cs_icalls_step(void);
static inline void
cs_icalls_drive(void)
{
	if (__builtin_expect(atomic_load_explicit(&cs_icalls_open, memory_order_relaxed) != 0, 0))
		cs_icalls_step();
}

/* Ends the progress thread, if there is one; before the MPI is finalized. */
void cs_progress_thread_end(void);

/* Waits until the call of that request is over. Returns at once, false, if it is not one of
 * ours. */
bool cs_icall_wait(MPI_Request request);
/* The error of a call whose request is complete, after its communicator's error handler has
 * returned; MPI_SUCCESS if there is none. */
int cs_icall_error(MPI_Request request);
/* Is there a call that has ended with an error, whose request the program has? */
extern _Atomic unsigned cs_icalls_failed;

/* Before a blocking call: waits until no call of the communicator is queued, and keeps other
 * threads from stepping its calls until cs_icalls_release. False if it has no team. */
bool cs_icalls_begin_all(struct cs_serving *serving);
void cs_icalls_release(struct cs_serving *serving);
/* The same for an operation after a blocking call's end (a dry call), until cs_serving_fini. */
void cs_icalls_occupy(struct cs_serving *serving);
/* A wait for requests of the host, zero turns of which are over. */
struct cs_wait cs_icalls_patience(void);

#endif
