#include "comm/engine.h"

#include "base/hash.h"
#include "base/log.h"
#include "comm/member.h"
#include "comm/pmpi.h"
#include "comm/rdma.h"
#include "comm/types.h"
#include "shm/pool.h"
#include "trace/report.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

struct cs_engine cs_engine;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finalize_keyval = MPI_KEYVAL_INVALID;

void
cs_engine_load(const struct cs_door *door)
{
	cs_engine.door = door;
}

static bool
is_initialized(void)
{
	int initialized = 0, finalized = 0;
	return cs_pmpi.Initialized(&initialized) == MPI_SUCCESS && initialized &&
	       cs_pmpi.Finalized(&finalized) == MPI_SUCCESS && !finalized;
}

static void
close_engine(void)
{
	int expected = CS_ENGINE_OPEN;
	if (!atomic_compare_exchange_strong(&cs_engine.state, &expected, CS_ENGINE_CLOSED))
		return;
	/* From here on calls (there should be none) go past us. */
	cs_engine.door->restore(-1);
	if (cs_engine.is_reporting) {
		cs_report_number("teams made", cs_engine.teams_made);
		cs_report_number("teams refused", cs_engine.teams_refused);
		cs_report_number("shared bytes, peak", cs_engine.shm_peak);
		cs_report_number("shared bytes, at the end", cs_engine.shm_bytes);
		cs_rdma_report();
		cs_report_write(cs_engine.settings.report);
	}
	cs_members_close();
	cs_rdma_close();
	cs_pool_evict();
	cs_pmpi.Group_free(&cs_engine.world);
	cs_host_close();
	if (cs_self != MPI_COMM_NULL)
		cs_pmpi.Comm_free(&cs_self);
	cs_selector_destroy(cs_engine.selector);
	cs_engine.selector = NULL;
}

/* MPI_Finalize deletes MPI_COMM_SELF's attributes before anything else (MPI 4.0, 11.2.4), by whatever name it was
 * called: MPICH's mpi_f08 calls PMPI_Finalize. */
static int
at_finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
	close_engine();
	return MPI_SUCCESS;
}

static void
report_facts(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	struct utsname system;
	snprintf(text, sizeof text, "%s", cs_engine.door->library ? cs_engine.door->library : "unknown");
	text[strcspn(text, "\n,")] = 0;
	for (char *tab = text; (tab = strchr(tab, '\t'));) /* "MPICH Version:\t4.0.2" */
		*tab = ' ';
	cs_report_fact("mpi", text);
	if (uname(&system) == 0)
		cs_report_fact("host", system.nodename);
	cs_report_number("ranks", (uint64_t)cs_engine.world_size);
	cs_report_fact("tuning", cs_selector_source(cs_engine.selector));
}

static bool
open_engine(void)
{
	if (!cs_pmpi_load(cs_engine.door->lookup))
		return false;
	if (!is_initialized())
		return false;
	if (cs_pmpi.Comm_rank(MPI_COMM_WORLD, &cs_engine.world_rank) ||
	    cs_pmpi.Comm_size(MPI_COMM_WORLD, &cs_engine.world_size) ||
	    cs_pmpi.Comm_group(MPI_COMM_WORLD, &cs_engine.world))
		return false;
	cs_log_set_speaker(cs_engine.world_rank == 0);
	cs_settings_read(&cs_engine.settings);
	cs_log_set_verbosity(cs_engine.settings.verbosity);
	cs_settings_fit(&cs_engine.settings, (size_t)cs_engine.world_size);
	struct cs_machine machine;
	cs_machine_read(&machine);
#ifdef OPEN_MPI
	machine.mpi = "openmpi";
#else
	machine.mpi = "mpich";
#endif
	if (cs_selector_create(&cs_engine.selector, &cs_engine.settings, &machine) != CS_OK) {
		cs_info("no memory for the tuning");
		return false;
	}
	/* The door has made sure that its version is ours. */
	uint64_t digest = cs_hash_text(CS_HASH_START, cs_engine.door->version);
	digest = cs_hash_number(digest, cs_settings_digest(&cs_engine.settings));
	cs_engine.digest = cs_hash_number(digest, cs_selector_digest(cs_engine.selector));
	cs_engine.is_reporting = cs_engine.settings.report && cs_engine.world_rank == 0;
	/* A copy of MPI_COMM_SELF without its attributes' copy functions being called. */
	if (cs_pmpi.Comm_split(MPI_COMM_SELF, 0, 0, &cs_self) ||
	    cs_pmpi.Comm_set_errhandler(cs_self, MPI_ERRORS_RETURN))
		return false;
	cs_types_init();
	if (!cs_host_open() || !cs_members_open() ||
	    cs_pmpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &finalize_keyval, NULL) ||
	    cs_pmpi.Comm_set_attr(MPI_COMM_SELF, finalize_keyval, NULL))
		return false;
	if (cs_engine.is_reporting)
		report_facts();
	return true;
}

bool
cs_engine_open(void)
{
	int state = atomic_load_explicit(&cs_engine.state, memory_order_acquire);
	if (__builtin_expect(state == CS_ENGINE_OPEN, 1))
		return true;
	if (state == CS_ENGINE_CLOSED)
		return false;
	pthread_mutex_lock(&lock);
	state = atomic_load(&cs_engine.state);
	if (state == CS_ENGINE_NEW) {
		bool early = cs_pmpi.Initialized && !is_initialized();
		if (!early && open_engine()) {
			atomic_store(&cs_engine.state, CS_ENGINE_OPEN);
			state = CS_ENGINE_OPEN;
		} else if (!early && cs_pmpi.Initialized && is_initialized()) {
			/* MPI is there and we still failed: for good. */
			cs_warn_once("collshim could not be started; every call goes to MPI");
			atomic_store(&cs_engine.state, CS_ENGINE_CLOSED);
			cs_engine.door->restore(-1);
			state = CS_ENGINE_CLOSED;
		}
	}
	pthread_mutex_unlock(&lock);
	if (state == CS_ENGINE_OPEN && cs_engine.settings.is_disabled) {
		close_engine();
		return false;
	}
	return state == CS_ENGINE_OPEN;
}

#define WAIT_SECONDS 10
#define REASON_WAITING 100 /* above make_team.c's */
#define TAG 31415
#define WORDS 4

/* Waits for a message of the agreement. A rank without the library never takes part in it: say so instead of hanging dumbly.
 * Rank 0 does, and two seconds later the first process on each node where nobody has: rank 0 may be the one without. */
static bool
wait_for(MPI_Request *request, uint64_t start)
{
	static bool is_said;
	uint64_t limit = (WAIT_SECONDS + (cs_engine.world_rank ? 2 : 0)) * UINT64_C(1000000000);
	int done = 0;
	for (;;) {
		if (cs_pmpi.Test(request, &done, MPI_STATUS_IGNORE))
			return false;
		if (done)
			return true;
		if (!is_said && cs_clock_ns() - start > limit) {
			is_said = true;
			if (cs_log_is_first(REASON_WAITING))
				cs_warn_local("waiting since 10 s in MPI_Init for the other ranks' collshim: "
					      "LD_PRELOAD must reach all ranks of a job, or none");
		}
		sched_yield();
	}
}

static bool
hear(uint64_t *words, int from, uint64_t start)
{
	MPI_Request request;
	return !cs_pmpi.Irecv(words, WORDS, MPI_UINT64_T, from, TAG, MPI_COMM_WORLD, &request) && wait_for(&request, start);
}

static bool
tell(const uint64_t *words, int to, uint64_t start)
{
	MPI_Request request;
	return !cs_pmpi.Isend(words, WORDS, MPI_UINT64_T, to, TAG, MPI_COMM_WORLD, &request) && wait_for(&request, start);
}

/* The least of each word over all ranks, up and down a binomial tree. It is made of messages, not of a collective: in a job
 * of which some ranks have no collshim, their first non-blocking collective would be taken for it (with Open MPI there is
 * one in MPI_Comm_dup). */
static bool
find_least(uint64_t *words)
{
	uint64_t start = cs_clock_ns(), other[WORDS];
	int rank = cs_engine.world_rank, size = cs_engine.world_size, bit = 1;
	for (; bit < size && !(rank & bit); bit <<= 1) {
		if (rank + bit >= size)
			continue;
		if (!hear(other, rank + bit, start))
			return false;
		for (int i = 0; i < WORDS; i++)
			words[i] = other[i] < words[i] ? other[i] : words[i];
	}
	if (rank && (!tell(words, rank - bit, start) || !hear(words, rank - bit, start)))
		return false;
	while (bit >>= 1)
		if (rank + bit < size && !tell(words, rank + bit, start))
			return false;
	return true;
}

void
cs_engine_agree(void)
{
	/* Disabled processes take part as well: the others must know. */
	pthread_mutex_lock(&lock);
	bool is_new = atomic_load(&cs_engine.state) == CS_ENGINE_NEW;
	bool is_open = is_new && open_engine();
	if (is_new)
		atomic_store(&cs_engine.state, is_open ? CS_ENGINE_OPEN : CS_ENGINE_CLOSED);
	pthread_mutex_unlock(&lock);
	if (!is_new || !cs_pmpi.Isend || !cs_pmpi.Irecv || !cs_pmpi.Test || !is_initialized())
		return;

	/* Minimum and, by the complement, maximum of the digest; who can; who is not disabled. */
	uint64_t least[WORDS] = { cs_engine.digest, ~cs_engine.digest, is_open, !cs_engine.settings.is_disabled };
	/* The ranks of a job on a node are children of one process, and no others are. */
	cs_log_set_job(cs_hash_number(cs_hash_number(CS_HASH_START, (uint64_t)getppid()), (uint64_t)getuid()));
	if (!find_least(least))
		return;
	if (cs_engine.settings.is_disabled && least[0] == ~least[1]) {
		close_engine(); /* all of them: as wished, without a word */
	} else if (!least[3] || !least[2] || least[0] != ~least[1]) {
		cs_warn_once("the ranks differ in %s; every call of this job goes to MPI",
			     !least[3]   ? "COLLSHIM_DISABLE"
			     : !least[2] ? "whether collshim could be started"
					 : "collshim's version, settings or tuning file");
		cs_engine.is_reporting = false;
		close_engine();
	}
	if (!is_open)
		cs_engine.door->restore(-1);
}
