/* comm/calls/icall_parts.h — the object of a non-blocking call, for icall.c and icall_request.c. */
#ifndef CS_COMM_CALLS_ICALL_PARTS_H
#define CS_COMM_CALLS_ICALL_PARTS_H

#include "comm/calls/icall.h"
#include "comm/calls/persistent.h"

#include <pthread.h>

struct cs_icall {
	struct cs_serving serving; /* first: the entry has its address */
	struct cs_cached_choice choice; /* a copy: the cache may replace its own */
	uint64_t signature;
	size_t *sizes; /* the communicator's, which a blocking call uses */
	uint64_t begun_ns; /* the entry, if a report is wanted; else 0 */
	struct cs_report_row *row; /* of the report, once the entry has ended; NULL: none */
	struct cs_icall *next;  /* in the list that it is in */
	struct cs_icall *chain; /* of those of a bucket, by request; with the lock */
	MPI_Request request;
	bool has_request; /* `request` is set, and the entry has done its part: until then no other
			   * thread steps the call */
	bool is_over;
	bool is_persistent; /* of a struct cs_persistent (persistent.c) */
	bool is_dry, would_run; /* it is only to be found out whether the call would be served */
	_Atomic bool is_freed; /* the MPI has freed the request */
};

/* Calls of a communicator. */
struct cs_icalls {
	struct cs_icall *queue, **queue_end;
	unsigned open; /* queued or under way */
	/* A thread is in a collective of the communicator; only with several threads. */
	bool is_busy;
	pthread_t busy;
	struct cs_comm *communicator;
	struct cs_icalls *next; /* of those with a queue */
};

/* Guards lists, the table and the operations of all calls. Not held while the MPI is called about
 * requests, since the MPI may hold locks of its own when it frees one. */
extern pthread_mutex_t cs_icalls_lock;
extern bool cs_icalls_are_threaded; /* MPI_THREAD_MULTIPLE, or a progress thread */
extern bool cs_mpi_is_threaded;     /* MPI_THREAD_MULTIPLE */

/* Finds how calls are stepped while the program is in no call of ours, and asks for it: by the MPI
 * or a progress thread (COLLSHIM_PROGRESS; `ranks` are on this node); false: in no way.
 * The same on all ranks unless their MPIs differ, which the agreement at MPI_Init finds. `end`: for
 * cs_comm_end_calls. */
bool cs_icalls_find_driver(int ranks,
			   void (*end)(struct cs_comm *communicator, bool may_wait));

/* Begins a call anew, for a cs_serve_ function. */
struct cs_serving *cs_icall_prepare(struct cs_icall *icall, struct cs_comm *communicator);

/* Tells the MPI that a persistent call is over. */
void cs_persistent_complete(struct cs_icall *icall);
/* Does so for those that were over where the MPI could not be called. */
void cs_persistents_complete(void);
/* Notes that a communicator is gone. */
void cs_persistents_orphan(const struct cs_comm *communicator);
extern _Atomic unsigned cs_persistents_made;

/* Does the MPI let us step calls wherever it waits? */
bool cs_icalls_is_hooked(void);
/* Is this thread in a function of ours that the MPI calls with its locks held? */
bool cs_icalls_is_within(void);

int cs_icall_make_request(struct cs_icall *icall, MPI_Request *request);

/* Table of calls by their requests, with the lock: puts one in; finds one whose request is not
 * freed, or NULL; and moves those whose requests were freed to the list `unused`. */
void cs_icall_insert(struct cs_icall *icall);
void cs_icall_remove(struct cs_icall *icall);
struct cs_icall *cs_icall_find(MPI_Request request);
void cs_icalls_reap(struct cs_icall **unused);

/* Steps calls as cs_icalls_step does, but without the MPI, and only if the program has not stepped
 * them since this was called last. For the progress thread. */
enum cs_stepped {
	CS_STEPPED_NOTHING,    /* there is no call to step */
	CS_STEPPED_BY_PROGRAM, /* which steps them itself */
	CS_STEPPED_IN_VAIN,    /* none could go on */
	CS_STEPPED_ON
};
enum cs_stepped cs_icalls_step_aside(void);

/* The progress thread: starts, once; `has_spare`: it may take a core's time. False: there is none,
 * which was said. */
bool cs_progress_thread_start(bool has_spare);
/* After a call was started or queued. */
void cs_progress_thread_wake(void);
/* May this process's threads run on two cores for each of so many ranks? */
bool cs_progress_thread_has_cores(int ranks);

#endif
