/* comm/calls/progress_thread.c — progress thread: steps non-blocking calls while the program
 * computes, or waits in the MPI for something else (MPI 4.0, 2.4.2).
 *
 * Calls of a team on one node, or of nodes that talk by verbs alone, are stepped without the MPI;
 * the end of a call, which needs the MPI, is left to the program's next call. The thread leaves
 * everything alone while the program steps its calls itself. */
#include "comm/calls/icall_parts.h"

#include "base/log.h"
#include "base/wait.h"
#include "ib/ib.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#define SPARE_NAP_NS 50000   /* with cores to spare */
#define NAP_NS 1000000       /* a look costs a core of the program some 10 us */
#define LONG_NAP_NS 32000000 /* at most, while the program steps its calls itself */
#define DEEP_NAP_NS 900000000 /* until a call is started */
#define IDLE_NAPS 50          /* before that one */

static pthread_t thread;
static bool is_running;
static _Atomic bool is_ending;
static _Atomic uint64_t starts; /* of calls; the thread sleeps on it if none is under way */
static _Atomic uint32_t sleepers;

static void *
run(void *has_spare)
{
	const uint32_t shortest = has_spare ? SPARE_NAP_NS : NAP_NS,
		       longest = has_spare ? SPARE_NAP_NS : LONG_NAP_NS;
	struct cs_wait nap = { .nap_ns = shortest };
	unsigned idle = 0;
	if (!cs_mpi_is_threaded)
		cs_ib_leave_host();
	while (!atomic_load(&is_ending)) {
		uint64_t seen = atomic_load(&starts);
		enum cs_stepped stepped = cs_icalls_step_aside();
		idle = stepped == CS_STEPPED_NOTHING ? idle + 1 : 0;
		if (idle > IDLE_NAPS) {
			struct cs_wait wait = { .nap_ns = DEEP_NAP_NS, .word = &starts,
						.target = seen + 1, .sleepers = &sleepers };
			cs_wait_word(&wait);
			continue;
		}
		if (stepped == CS_STEPPED_IN_VAIN || stepped == CS_STEPPED_ON)
			nap.nap_ns = shortest;
		else if (stepped == CS_STEPPED_BY_PROGRAM && nap.nap_ns < longest)
			nap.nap_ns *= 2;
		if (stepped != CS_STEPPED_ON)
			cs_wait_turn_slow(&nap);
	}
	return NULL;
}

void
cs_progress_thread_wake(void)
{
	if (!is_running)
		return;
	atomic_fetch_add(&starts, 1);
	if (atomic_load(&sleepers))
		cs_wait_wake(&starts);
}

bool
cs_progress_thread_has_cores(int ranks)
{
	cpu_set_t cores;
	return !sched_getaffinity(0, sizeof cores, &cores) && CPU_COUNT(&cores) >= 2 * ranks;
}

bool
cs_progress_thread_start(bool has_spare)
{
	sigset_t all, before;
	sigfillset(&all);
	/* Signals are the program's: its own threads handle them. */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int error = pthread_create(&thread, NULL, run, has_spare ? &thread : NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error)
		cs_warn_local("no progress thread (%s): non-blocking collectives progress in calls "
			      "of MPI only", strerror(error));
	is_running = !error;
	return is_running;
}

void
cs_progress_thread_end(void)
{
	if (!is_running)
		return;
	atomic_store(&is_ending, true);
	atomic_fetch_add(&starts, 1);
	cs_wait_wake(&starts);
	pthread_join(thread, NULL);
	is_running = false;
}
