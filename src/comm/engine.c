#include "comm/engine.h"

#include "base/hash.h"
#include "base/log.h"
#include "comm/member.h"
#include "comm/pmpi.h"
#include "comm/types.h"
#include "shm/pool.h"
#include "trace/report.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
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
		cs_report_write(cs_engine.settings.report);
	}
	cs_members_close();
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
	cs_report_fact("tuning", cs_engine.settings.tuning ? cs_engine.settings.tuning : "installed or built in");
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

/* Who speaks for a job in which rank 0 has no collshim? Ranks 0 to 8 and 16, 32, 64, ... each say by a broadcast of a byte
 * that they are here; of them the lowest that is here speaks. A rank without the library takes part in none of it, and
 * sees nothing of it, as non-blocking collectives match only each other. Powers of two, because they are next to the root
 * in a binomial tree, so that few missing ranks keep the word from them. With MPICH it is a scatter, since its broadcast
 * leads every word to a node through the node's first rank; Open MPI's scatter is a loop over all ranks. */
#define HERALDS 20
#ifdef OPEN_MPI
#define HERALD PMPI_Ibcast
#else
#define HERALD PMPI_Iscatter
#endif
#define NAME(function) NAME_(function)
#define NAME_(function) #function

struct heralds {
	int count;
	int ranks[HERALDS];
	char bytes[HERALDS];
	MPI_Request requests[HERALDS];
	char *sent; /* a byte for each rank, for the scatter */
	bool is_silent; /* this rank: a lower one is here, or it is no herald */
};

static void
heralds_start(struct heralds *heralds)
{
	__typeof__(&HERALD) herald = (__typeof__(&HERALD))cs_engine.door->lookup(NAME(HERALD));
	bool is_herald = cs_engine.world_rank == 0;
	heralds->sent = calloc(1, (size_t)cs_engine.world_size + 1);
	if (!heralds->sent) {
		cs_warn_local("no memory for %d bytes in MPI_Init; ending the job", cs_engine.world_size);
		cs_host_mpi.abort("out of memory");
	}
	for (int rank = 0; herald && rank < cs_engine.world_size && heralds->count < HERALDS;
	     rank = rank < 8 ? rank + 1 : 2 * rank) {
		int i = heralds->count;
		heralds->ranks[i] = rank;
#ifdef OPEN_MPI
		if (herald(&heralds->bytes[i], 1, MPI_CHAR, rank, MPI_COMM_WORLD, &heralds->requests[i]))
			break;
#else
		if (herald(heralds->sent, 1, MPI_CHAR, &heralds->bytes[i], 1, MPI_CHAR, rank, MPI_COMM_WORLD,
			   &heralds->requests[i]))
			break;
#endif
		heralds->count++;
		is_herald = is_herald || rank == cs_engine.world_rank;
	}
	heralds->is_silent = !is_herald;
}

static void
heralds_hear(struct heralds *heralds)
{
	for (int i = 0; i < heralds->count && heralds->ranks[i] < cs_engine.world_rank; i++) {
		int is_here = 0;
		if (cs_pmpi.Test(&heralds->requests[i], &is_here, MPI_STATUS_IGNORE) == MPI_SUCCESS && is_here)
			heralds->is_silent = true;
	}
}

/* Waits for the agreement. A rank without the library never takes part in it: say so instead of hanging dumbly. */
static void
wait_for_all(MPI_Request *request, struct heralds *heralds)
{
	int done = 0;
	uint64_t start = cs_clock_ns();
	while (!done) {
		if (cs_pmpi.Test(request, &done, MPI_STATUS_IGNORE))
			return;
		if (done)
			break;
		if (!heralds->is_silent)
			heralds_hear(heralds);
		if (!heralds->is_silent && cs_clock_ns() - start > 10000000000u)
			cs_warn_local("waiting since 10 s in MPI_Init for the other ranks' collshim: "
				      "LD_PRELOAD must reach all ranks of a job, or none");
		sched_yield();
	}
	for (int i = 0; i < heralds->count; i++)
		cs_pmpi.Wait(&heralds->requests[i], MPI_STATUS_IGNORE);
	free(heralds->sent);
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
	if (!is_new || !cs_pmpi.Iallreduce || !is_initialized())
		return;

	/* Minimum and, by the complement, maximum of the digest; who can; who is not disabled. */
	uint64_t mine[5] = { cs_engine.digest, ~cs_engine.digest, is_open, !cs_engine.settings.is_disabled };
	uint64_t least[5] = { 0 };
	/* And a number of this job's own, as good as any process's of it. */
	mine[4] = cs_hash_number(cs_hash_number(CS_HASH_START, cs_clock_ns()), (uint64_t)getpid());
	MPI_Request request;
	struct heralds heralds = { .count = 0 };
	heralds_start(&heralds);
	if (cs_pmpi.Iallreduce(mine, least, 5, MPI_UINT64_T, MPI_MIN, MPI_COMM_WORLD, &request))
		return;
	wait_for_all(&request, &heralds);
	cs_log_set_job(least[4]);
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
