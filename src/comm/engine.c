/* comm/engine.c — opens the library in this process, lets all ranks agree on it, and closes it at
 * MPI_Finalize. */
#include "comm/engine.h"

#include "base/agreement.h"
#include "base/clock.h"
#include "base/cpu.h"
#include "base/float_guard.h"
#include "base/hash.h"
#include "base/log.h"
#include "comm/calls/icall.h"
#include "comm/calls/stall.h"
#include "comm/teams/comm.h"
#include "comm/host/flavour.h"
#include "comm/host/pmpi.h"
#include "comm/teams/rdma.h"
#include "comm/teams/recording.h"
#include "comm/types/types.h"
#include "run/trial.h"
#include "select/learnt.h"
#include "shm/node_slots.h"
#include "shm/pool.h"
#include "trace/profile.h"
#include "trace/report.h"
#include "trace/report_ranks.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

struct cs_engine cs_engine;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int finalize_keyval = MPI_KEYVAL_INVALID;
static bool is_foreign; /* the MPI is not the one that it says it is: no handle of ours is one
			 * there */
static bool is_lacking; /* the MPI lacks what everything needs, which was said */

void
cs_engine_load(const struct cs_door *door)
{
	cs_engine.door = door;
	cs_flavour_learn(door->library);
}

static bool
is_initialized(void)
{
	int initialized = 0, finalized = 0;
	return cs_pmpi.Initialized && cs_pmpi.Finalized &&
	       cs_pmpi.Initialized(&initialized) == MPI_SUCCESS && initialized &&
	       cs_pmpi.Finalized(&finalized) == MPI_SUCCESS && !finalized;
}

/* Reports that slots are slower when they are first used, and why. */
static void
report_pages(void)
{
	char text[80];
	int error = cs_node_populate_error();
	if (!error)
		return;
	snprintf(text, sizeof text, "one by one: %s", strerror(error));
	cs_report_fact("pages of slots", text);
}

static void
write_learnt(void)
{
	struct cs_machine machine = { .mpi = cs_flavour.name };
	if (!cs_engine.settings.adapt_file || cs_engine.world_rank)
		return;
	cs_machine_read(&machine);
	cs_learnt_write(cs_engine.settings.adapt_file, &machine);
}

static void
close_engine(void)
{
	int expected = CS_ENGINE_OPEN;
	if (!atomic_compare_exchange_strong(&cs_engine.state, &expected, CS_ENGINE_CLOSED))
		return;
	/* From here on calls (there should be none) go past us. */
	cs_engine.door->restore(-1);
	cs_profile_end();
	cs_progress_thread_end();
	cs_stalls_close();
	if (cs_engine.is_reporting && !cs_engine.settings.is_disabled) {
		cs_report_number("teams made", cs_engine.teams_made);
		cs_report_number("teams in used memory", cs_engine.teams_again);
		cs_report_number("collectives to make teams", cs_engine.team_calls);
		cs_report_number("teams refused", cs_engine.teams_refused);
		if (cs_trials_sum.classes) {
			cs_report_number("classes of calls on trial", cs_trials_sum.classes);
			cs_report_number("windows of trials", cs_trials_sum.windows);
			cs_report_number("algorithms changed by trials", cs_trials_sum.changes);
			cs_report_number("trying took beyond serving, us",
					 cs_trials_sum.regret_ns / 1000);
		}
		cs_report_number("starting took, us", cs_engine.start_ns / 1000);
		if (cs_engine.first_team_ns)
			cs_report_number("making the first team took, us",
					 cs_engine.first_team_ns / 1000);
		cs_report_number("shared bytes, peak", cs_engine.shm_peak);
		cs_report_number("shared bytes, at the end", cs_engine.shm_bytes);
		report_pages();
		cs_rdma_report();
		cs_comms_tell();
		if (cs_engine.world_rank == 0)
			cs_report_write(cs_engine.settings.report);
	}
	write_learnt();
	cs_comms_close();
	cs_rdma_close();
	uint64_t charge;
	cs_pool_evict(SIZE_MAX, &charge);
	cs_pmpi.Group_free(&cs_engine.world);
	cs_host_close();
	if (cs_self != MPI_COMM_NULL)
		cs_pmpi.Comm_free(&cs_self);
	cs_selector_destroy(cs_engine.selector);
	cs_engine.selector = NULL;
}

/* MPI_Finalize deletes MPI_COMM_SELF's attributes before anything else (MPI 4.0, 11.2.4), by
 * whatever name it was called: MPICH's mpi_f08 calls PMPI_Finalize. */
static int
at_finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
	struct cs_float_state floats;
	cs_float_hold(&floats);
	/* Its calls went past us, but the report that was asked for comes at the end as ever. */
	if (cs_engine.is_reporting && cs_engine.settings.is_disabled &&
	    cs_engine.world_rank == 0) {
		cs_report_uncounted("disabled by COLLSHIM_DISABLE; calls were not counted");
		cs_report_alone(cs_engine.world_size, "the library was disabled");
		cs_report_write(cs_engine.settings.report);
	}
	cs_recording_close();
	close_engine();
	cs_float_release(&floats);
	return MPI_SUCCESS;
}

static void
report_facts(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	struct utsname system;
	snprintf(text, sizeof text, "%s", cs_engine.door->library ? cs_engine.door->library
								  : "unknown");
	text[strcspn(text, "\n,")] = 0;
	for (char *tab = text; (tab = strchr(tab, '\t'));) /* "MPICH Version:\t4.0.2" */
		*tab = ' ';
	cs_report_fact("mpi", text);
	if (uname(&system) == 0)
		cs_report_fact("host", system.nodename);
	cs_report_number("ranks", (uint64_t)cs_engine.world_size);
	cs_report_fact("tuning", cs_selector_source(cs_engine.selector));
}

/* The door has made sure that its version is ours. Builds for other cache lines lay out shared
 * memory otherwise. */
static void
set_digest(void)
{
	uint64_t digest = cs_hash_number(cs_hash_text(CS_HASH_START, cs_engine.door->version),
					 CS_CACHE_LINE);
	digest = cs_hash_number(digest, cs_settings_digest(&cs_engine.settings));
	digest = cs_hash_number(digest, cs_selector_digest(cs_engine.selector));
	cs_engine.digest = cs_pmpi_digest(digest);
}

static bool
start(void)
{
	bool is_whole = cs_pmpi_load(cs_engine.door->lookup);
	if (!is_initialized())
		return false;
	/* The MPI is known by its name so far. */
	if (!cs_handles_fit(cs_flavour.handles, (uintptr_t)MPI_COMM_WORLD,
			    cs_engine.door->lookup)) {
		cs_warn_once("the MPI has not the handles that its name stands for; every call is "
			     "forwarded to "
			     "it" CS_UNSERVED_JOB);
		is_foreign = true;
		return false;
	}
	is_lacking = !is_whole;
	/* A rank says who it is, and who is to speak, also where it cannot go on. */
	if (!cs_pmpi.Comm_rank || cs_pmpi.Comm_rank(MPI_COMM_WORLD, &cs_engine.world_rank) ||
	    !cs_pmpi.Comm_size || cs_pmpi.Comm_size(MPI_COMM_WORLD, &cs_engine.world_size))
		return false;
	cs_log_set_speaker(cs_engine.world_rank == 0);
	if (is_lacking || cs_pmpi.Comm_group(MPI_COMM_WORLD, &cs_engine.world))
		return false;
	cs_settings_read(&cs_engine.settings);
	cs_log_set_verbosity(cs_engine.settings.verbosity);
	cs_settings_fit(&cs_engine.settings, (size_t)cs_engine.world_size);
	struct cs_machine machine;
	cs_machine_read(&machine);
	machine.mpi = cs_flavour.name;
	if (cs_selector_create(&cs_engine.selector, &cs_engine.settings, &machine) != CS_OK) {
		cs_info("no memory for the tuning");
		return false;
	}
	set_digest();
	cs_engine.is_reporting = cs_engine.settings.report != NULL;
	if (cs_engine.is_reporting) {
		cs_report_from_here();
		cs_report_begin();
		cs_report_alone(cs_engine.world_size,
				"MPI_Init was not seen, or not all ranks want a report");
	}
	/* A copy of MPI_COMM_SELF without its attributes' copy functions being called. */
	if (cs_pmpi.Comm_split(MPI_COMM_SELF, 0, 0, &cs_self) ||
	    cs_pmpi.Comm_set_errhandler(cs_self, MPI_ERRORS_RETURN))
		return false;
	cs_types_init();
	if (!cs_host_open() || !cs_comms_open() ||
	    cs_pmpi.Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_finalize, &finalize_keyval,
				       NULL) ||
	    cs_pmpi.Comm_set_attr(MPI_COMM_SELF, finalize_keyval, NULL))
		return false;
	cs_stalls_open();
	if (cs_engine.is_reporting)
		report_facts();
	if (cs_engine.settings.is_profile)
		cs_profile_begin(cs_engine.door->lookup, sizeof(MPI_Request));
	if (!cs_engine.world_rank)
		cs_pmpi_tell(cs_engine.is_reporting);
	return true;
}

/* `troubles`: the digest of what there is to say, which is kept until it is known whether all ranks
 * say the same. */
static bool
open_engine(uint64_t *troubles)
{
	struct cs_float_state floats;
	cs_float_hold(&floats);
	cs_agreement_name_job();
	cs_log_keep();
	uint64_t before = cs_clock_ns();
	bool is_open = start();
	cs_engine.start_ns = cs_clock_ns() - before;
	*troubles = cs_log_kept();
	cs_float_release(&floats);
	return is_open;
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
		uint64_t troubles = 0;
		bool is_open = !early && open_engine(&troubles);
		if (!early) /* MPI_Init was not seen, so there was no agreement */
			cs_agreement_tell_alone(troubles, "");
		if (is_open) {
			cs_recording_open(false);
			atomic_store(&cs_engine.state, CS_ENGINE_OPEN);
			state = CS_ENGINE_OPEN;
		} else if (!early && cs_pmpi.Initialized && is_initialized()) {
			/* MPI is there and we still failed: for good. */
			if (!is_foreign && !is_lacking)
				cs_warn_once("collshim could not be started; every call goes to "
					     "MPI" CS_UNSERVED_JOB);
			atomic_store(&cs_engine.state, CS_ENGINE_CLOSED);
			cs_engine.door->restore(-1);
			state = CS_ENGINE_CLOSED;
		}
	}
	pthread_mutex_unlock(&lock);
	/* Disabled processes, too, take part in making teams: the others must know, and MPI_Init
	 * was not seen. */
	return state == CS_ENGINE_OPEN;
}

/* --- the agreement of base/agreement.h, on a duplicate of MPI_COMM_WORLD ---------------------- */

static MPI_Comm duplicate;
static MPI_Request request;

static bool
begin_duplicate(void)
{
	return !cs_pmpi.Comm_idup(MPI_COMM_WORLD, &duplicate, &request);
}

static bool
begin_allreduce(const uint64_t *words, uint64_t *least)
{
	return !cs_pmpi.Iallreduce(words, least, CS_AGREED_WORDS, MPI_UINT64_T, MPI_MIN, duplicate,
				   &request);
}

static void
free_duplicate(void)
{
	cs_pmpi.Comm_free(&duplicate);
}

static bool
test(bool *is_done)
{
	int done = 0;
	bool is_good = !cs_pmpi.Test(&request, &done, MPI_STATUS_IGNORE);
	*is_done = done;
	return is_good;
}

static void
end(void)
{
	cs_pmpi.Abort(MPI_COMM_WORLD, MPI_ERR_OTHER);
}

static bool
is_equal(const uint64_t *agreed)
{
	return agreed[CS_AGREED_DIGEST] == (~agreed[CS_AGREED_DIGEST_NOT] & CS_AGREED_MOST);
}

#define CAN_ADAPT 2 /* CS_AGREED_CAN of a process with a COLLSHIM_ADAPT_FILE */

/* The agreement; if ranks differ and all have a COLLSHIM_ADAPT_FILE, another one without the rules
 * of that file, which a job that ends may have replaced while the ranks of this one read it. */
static bool
make_agreement(const struct cs_agreement_wire *wire, uint64_t words[CS_AGREED_WORDS])
{
	uint64_t again[CS_AGREED_WORDS];
	memcpy(again, words, sizeof again);
	if (!cs_agreement_make(wire, words))
		return false;
	if (is_equal(words) || words[CS_AGREED_CAN] != CAN_ADAPT)
		return true;
	cs_selector_forget(cs_engine.selector);
	set_digest();
	again[CS_AGREED_DIGEST] = cs_engine.digest;
	again[CS_AGREED_DIGEST_NOT] = ~cs_engine.digest;
	memcpy(words, again, sizeof again);
	if (!cs_agreement_make(wire, words))
		return false;
	if (is_equal(words) && words[CS_AGREED_ENABLED])
		cs_warn_once("the ranks have read different files by COLLSHIM_ADAPT_FILE; nothing "
			     "learnt is used in this job" CS_IGNORED, "tuning");
	return true;
}

/* Outcome of the agreement: whether this job is served. */
static void
heed(const uint64_t *agreed)
{
	bool are_equal = is_equal(agreed);
	bool is_enabled = agreed[CS_AGREED_ENABLED], can_all = agreed[CS_AGREED_CAN];
	if (agreed[CS_AGREED_CANNOT]) {
		if (!is_lacking)
			cs_warn_once("collshim could not be started; every call goes to "
				     "MPI" CS_UNSERVED_JOB);
		close_engine();
	} else if (cs_engine.settings.is_disabled && are_equal) {
		close_engine(); /* all of them: as wished, without a word */
	} else if (!is_enabled || !can_all || !are_equal) {
		cs_warn_once("the ranks differ in %s; every call of this job goes to "
			     "MPI%s" CS_UNSERVED_JOB,
			     !is_enabled ? "COLLSHIM_DISABLE"
			     : !can_all  ? "whether collshim could be started"
					 : "collshim's version, settings or tuning file",
			     cs_engine.settings.report ? CS_NO_REPORT : "");
		cs_engine.is_reporting = false;
		close_engine();
	}
}

static void
agree(void)
{
	/* Disabled processes take part as well: the others must know. */
	pthread_mutex_lock(&lock);
	bool is_new = atomic_load(&cs_engine.state) == CS_ENGINE_NEW;
	uint64_t troubles = 0;
	bool is_open = is_new && open_engine(&troubles);
	if (is_new)
		atomic_store(&cs_engine.state, is_open ? CS_ENGINE_OPEN : CS_ENGINE_CLOSED);
	pthread_mutex_unlock(&lock);
	if (!is_new)
		return;
	bool can_agree = cs_pmpi.Comm_idup && cs_pmpi.Iallreduce;
	cs_engine.is_init_seen = can_agree;
	if (!cs_engine.world_size || !can_agree || !cs_pmpi.Comm_free || !cs_pmpi.Test ||
	    !cs_pmpi.Abort || is_foreign || !is_initialized()) {
		cs_agreement_tell_alone(troubles, "");
		if (!is_open)
			cs_engine.door->restore(-1);
		return;
	}
	if (!cs_engine.world_rank)
		cs_log_tell("", "");

	uint64_t words[CS_AGREED_WORDS] = {
		[CS_AGREED_DIGEST] = is_open ? cs_engine.digest : UINT64_MAX,
		[CS_AGREED_DIGEST_NOT] = is_open ? ~cs_engine.digest : UINT64_MAX,
		[CS_AGREED_CAN] = !is_open ? 0 : cs_engine.settings.adapt_file ? CAN_ADAPT : 1,
		[CS_AGREED_ENABLED] = !cs_engine.settings.is_disabled,
		[CS_AGREED_CANNOT] = !is_open,
		[CS_AGREED_TROUBLES] = troubles,
		[CS_AGREED_RECORDS] = is_open && !cs_engine.settings.is_disabled &&
				      cs_recording_prepare(),
	};
	const struct cs_agreement_wire wire = {
		.rank = cs_engine.world_rank, .size = cs_engine.world_size,
		.seconds = cs_engine.settings.init_timeout,
		.duplicate = begin_duplicate, .allreduce = begin_allreduce, .test = test,
		.free = free_duplicate, .end = end,
	};
	if (make_agreement(&wire, words)) {
		cs_agreement_tell(&wire, troubles, words);
		heed(words);
		if (atomic_load(&cs_engine.state) == CS_ENGINE_OPEN)
			cs_recording_open(words[CS_AGREED_RECORDS]);
	}
	if (!is_open)
		cs_engine.door->restore(-1);
}

void
cs_engine_agree(void)
{
	struct cs_float_state floats;
	int saved = errno;
	cs_float_hold(&floats);
	agree();
	cs_float_release(&floats);
	errno = saved;
}
