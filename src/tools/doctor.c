/* tools/doctor.c — says what collshim would use on this node, and what prevents more. */
#include "tools/doctor.h"

#include "base/parse.h"
#include "base/printable.h"
#include "shm/headroom.h"
#include "trace/json.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* --- lines ------------------------------------------------------------------------------------ */

void
cs_doctor_group(struct cs_doctor *doctor, const char *name)
{
	doctor->group = name;
	if (!doctor->is_json)
		fprintf(doctor->out, "%s\n", name);
}

void
cs_doctor_say(struct cs_doctor *doctor, enum cs_doctor_verdict verdict, const char *format, ...)
{
	static const char *const words[] = { "ok", "note", "problem" };
	va_list arguments;
	char *text;
	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	if (doctor->is_json) {
		fprintf(doctor->out, "%s\n  {\"group\": \"%s\", \"verdict\": \"%s\", \"text\": ",
			doctor->findings ? "," : "", doctor->group, words[verdict]);
		cs_json_string(doctor->out, text ? text : "out of memory");
		fputc('}', doctor->out);
	} else {
		fprintf(doctor->out, "  %-8s ", words[verdict]);
		cs_printable_put(doctor->out, text ? text : "out of memory");
		fputc('\n', doctor->out);
	}
	free(text);
	doctor->findings++;
	doctor->problems += verdict == CS_VERDICT_PROBLEM;
}

size_t
cs_doctor_limit(rlim_t limit)
{
	return limit == RLIM_INFINITY || limit > CS_INF ? CS_INF : (size_t)limit;
}

const char *
cs_doctor_size(char text[CS_DOCTOR_SIZE], size_t bytes)
{
	static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0, scale = 1;
	if (bytes >= CS_INF)
		return "unlimited";
	while (unit < 4 && bytes / scale >= 1024) {
		scale *= 1024;
		unit++;
	}
	size_t tenths = bytes % scale * 10 / scale;
	if (tenths && bytes / scale < 100)
		snprintf(text, CS_DOCTOR_SIZE, "%zu.%zu %s", bytes / scale, tenths, units[unit]);
	else
		snprintf(text, CS_DOCTOR_SIZE, "%zu %s", bytes / scale, units[unit]);
	return text;
}

/* --- settings and modules --------------------------------------------------------------------- */

void
cs_doctor_settings(struct cs_doctor *doctor, const struct cs_settings *settings,
		   const char *complaints)
{
	if (!*complaints)
		cs_doctor_say(doctor, CS_VERDICT_OK, "variables and tuning file are understood");
	while (*complaints) {
		size_t length = strcspn(complaints, "\n");
		cs_doctor_say(doctor, CS_VERDICT_PROBLEM, "%.*s", (int)length, complaints);
		complaints += length + (complaints[length] == '\n');
	}
	if (settings->is_disabled)
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "COLLSHIM_DISABLE=1: every call goes to the "
						       "MPI");
	if (settings->fake_nodes)
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "COLLSHIM_FAKE_NODES=%s: for tests, ranks "
						       "of one node are taken for "
			      "ranks of several", settings->fake_nodes);
}

void
cs_doctor_modules(struct cs_doctor *doctor, const struct cs_module_facts *facts)
{
	const struct {
		const char *name, *mpi;
		bool is_there;
	} modules[] = { { "mpich", "MPICH", facts->has_mpich },
			{ "openmpi", "Open MPI", facts->has_openmpi },
			{ "abi", "MPI's standard ABI", facts->has_abi } };
	doctor->has_module = facts->has_mpich || facts->has_openmpi || facts->has_abi;
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (modules[i].is_there)
			cs_doctor_say(doctor, CS_VERDICT_OK, "for %s: %s/collshim-%s.so",
				      modules[i].mpi, facts->folder, modules[i].name);
		else if (doctor->has_module)
			cs_doctor_say(doctor, CS_VERDICT_NOTE, "for %s there is no module: its "
							       "programs' calls all go to it",
				      modules[i].mpi);
	if (!doctor->has_module)
		cs_doctor_say(doctor, CS_VERDICT_PROBLEM, "there is no module in %s, so every call "
							  "goes to the MPI: install "
			      "the library whole, or set COLLSHIM_MODULE_DIR", facts->folder);
	else if (!facts->has_library)
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "libcollshim.so is not beside that folder; "
						       "what LD_PRELOAD names "
			      "looks for its modules beside itself");
}

/* --- memory of a node ------------------------------------------------------------------------- */

static void
judge_making(struct cs_doctor *doctor, const struct cs_segment_facts *facts)
{
	bool has_memfd = !facts->memfd_error && facts->kind != CS_SHM_NAMED;
	bool has_named = !facts->named_error && facts->kind != CS_SHM_MEMFD;
	bool is_open = facts->kind == CS_SHM_AUTO;
	doctor->segments = has_memfd ? "segments of anonymous memory (memfd)"
				     : has_named ? "segments in /dev/shm" : NULL;
	if (has_memfd)
		cs_doctor_say(doctor, CS_VERDICT_OK, "segments are anonymous memory (memfd); the "
						     "size of /dev/shm does not "
			      "matter to them");
	else if (facts->kind != CS_SHM_NAMED)
		cs_doctor_say(doctor, is_open && has_named ? CS_VERDICT_NOTE : CS_VERDICT_PROBLEM,
			      "anonymous memory (memfd) cannot be shared: %s%s",
			      strerror(facts->memfd_error),
			      is_open ? "; /dev/shm is used" : ": try COLLSHIM_SHM=auto");
	if (has_memfd)
		return;
	if (has_named)
		cs_doctor_say(doctor, CS_VERDICT_OK, "segments lie in /dev/shm");
	else if (facts->kind != CS_SHM_MEMFD)
		cs_doctor_say(doctor, CS_VERDICT_PROBLEM, "a segment in /dev/shm cannot be made "
							  "and shared: %s; without one "
			      "every call goes to the MPI: mount a tmpfs of mode 1777 there",
			      strerror(facts->named_error));
}

static void
judge_room(struct cs_doctor *doctor, const struct cs_segment_facts *facts)
{
	char budget[CS_DOCTOR_SIZE], total[CS_DOCTOR_SIZE], free[CS_DOCTOR_SIZE];
	bool is_in_shm = doctor->segments && (facts->kind == CS_SHM_NAMED || facts->memfd_error);
	cs_doctor_size(budget, facts->budget);
	cs_doctor_size(total, facts->shm_total);
	cs_doctor_size(free, facts->shm_free);
	const char *limit = facts->budget >= CS_INF ? "unlimited" : budget;
	/* With an unlimited budget too little room is only a note. */
	enum cs_doctor_verdict verdict =
		facts->budget >= CS_INF ? CS_VERDICT_NOTE : CS_VERDICT_PROBLEM;
	if (is_in_shm && facts->shm_free < facts->budget)
		cs_doctor_say(doctor, verdict, "/dev/shm has %s free of %s, less than the budget "
					       "of a job "
			      "(shm_budget: %s): make it larger (mount -o remount,size=..., docker "
			      "--shm-size), or lower "
			      "COLLSHIM_SHM_BUDGET", free, total, limit);
	else if (facts->shm_total)
		cs_doctor_say(doctor, is_in_shm ? CS_VERDICT_OK : CS_VERDICT_NOTE,
			      "/dev/shm has %s free of %s; a job may take %s (shm_budget)", free,
			      total, limit);
	if (facts->memory && facts->memory / CS_HEADROOM_PARTS < facts->budget && doctor->segments)
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "%s of memory are free (%s), of which "
						       "segments have a quarter at most: less "
			      "than a job may take (shm_budget: %s)",
			      cs_doctor_size(free, facts->memory), facts->memory_limit, limit);
	if (facts->file_limit < facts->budget && facts->file_limit < CS_INF)
		cs_doctor_say(doctor, verdict, "files may have %s (ulimit -f), segments too; a job "
					       "may take %s: "
			      "raise fsize in /etc/security/limits.conf",
			      cs_doctor_size(free, facts->file_limit), limit);
}

void
cs_doctor_segments(struct cs_doctor *doctor, const struct cs_segment_facts *facts)
{
	doctor->segments = NULL;
	if (facts->kind == CS_SHM_OFF) {
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "COLLSHIM_SHM=off: every call goes to the "
						       "MPI");
		return;
	}
	judge_making(doctor, facts);
	judge_room(doctor, facts);
	if (!strcmp(facts->huge, "always") || !strcmp(facts->huge, "within_size") ||
	    !strcmp(facts->huge, "force"))
		cs_doctor_say(doctor, CS_VERDICT_OK, "the kernel may give segments huge pages "
						     "(shmem_enabled: %s)", facts->huge);
	else if (*facts->huge)
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "segments have small pages (shmem_enabled: "
						       "%s); within_size in "
			      "/sys/kernel/mm/transparent_hugepage/shmem_enabled lets the kernel "
			      "give them huge ones", facts->huge);
	else
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "the kernel has no huge pages for segments");
}

void
cs_doctor_copies(struct cs_doctor *doctor, const struct cs_copy_facts *facts)
{
	doctor->copies = NULL;
	if (facts->wish == CS_SWITCH_OFF) {
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "COLLSHIM_CMA=off: large messages are "
						       "copied twice, through segments");
		return;
	}
	if (!facts->error) {
		doctor->copies = "single copies between its ranks (process_vm_readv)";
		cs_doctor_say(doctor, CS_VERDICT_OK, "a process may read another's memory "
						     "(process_vm_readv)");
		return;
	}
	enum cs_doctor_verdict verdict = facts->wish == CS_SWITCH_ON ? CS_VERDICT_PROBLEM
							      : CS_VERDICT_NOTE;
	if (facts->ptrace_scope > 0)
		cs_doctor_say(doctor, verdict, "a process may not read another's memory "
					       "(process_vm_readv: %s), so large "
			      "messages are copied twice: kernel.yama.ptrace_scope is %d; 0 would "
			      "allow it", strerror(facts->error), facts->ptrace_scope);
	else
		cs_doctor_say(doctor, verdict, "a process may not read another's memory "
					       "(process_vm_readv: %s), so large "
			      "messages are copied twice: in a container, allow the call or the "
			      "capability SYS_PTRACE", strerror(facts->error));
}

/* --- cores ------------------------------------------------------------------------------------ */

void
cs_doctor_cores(struct cs_doctor *doctor, const struct cs_topo_counts *counts)
{
	if (!counts->threads) {
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "hwloc cannot tell cores and NUMA domains");
		return;
	}
	bool is_bound = counts->near_threads < counts->threads;
	cs_doctor_say(doctor, is_bound ? CS_VERDICT_NOTE : CS_VERDICT_OK,
		      "%s may use %d of %d hardware threads, on %d of %d cores, in %d of %d NUMA "
		      "domains, in %d of %d packages", is_bound ? "this process is bound, it"
								: "this process",
								counts->near_threads,
								counts->threads,
		      counts->near_cores, counts->cores, counts->near_domains, counts->domains,
		      counts->near_packages, counts->packages);
	if (counts->near_cores && counts->near_threads > counts->near_cores)
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "cores have several hardware threads: with "
						       "more than %d ranks here, some "
			      "share a core", counts->near_cores);
}

/* --- locked memory -------------------------------------------------------------------------- */

void
cs_doctor_locking(struct cs_doctor *doctor, const struct cs_lock_facts *facts)
{
	char soft[CS_DOCTOR_SIZE], memory[CS_DOCTOR_SIZE], cache[CS_DOCTOR_SIZE];
	const char *limit = cs_doctor_size(soft, facts->soft),
		   *needed = cs_doctor_size(memory, facts->memory);
	size_t both = facts->memory < CS_INF - facts->cache ? facts->memory + facts->cache : CS_INF;
	if (facts->is_exempt)
		cs_doctor_say(doctor, CS_VERDICT_OK, "this process may lock all memory "
						     "(CAP_IPC_LOCK)");
	else if (facts->soft < facts->memory)
		cs_doctor_say(doctor, facts->has_device ? CS_VERDICT_PROBLEM : CS_VERDICT_NOTE,
			      "%s of memory may be locked (ulimit -l); verbs need %s (ib_memory): "
			      "%s", limit, needed, facts->hard >= facts->memory
			      ? "ulimit -l unlimited where the job starts"
							   : "raise memlock in "
							     "/etc/security/limits.conf");
	else if (facts->soft < both)
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "%s of memory may be locked (ulimit -l), "
						       "enough for %s of slots "
			      "(ib_memory), but not for %s of the program's memory besides "
			      "(ib_cache)", limit, needed, cs_doctor_size(cache, facts->cache));
	else
		cs_doctor_say(doctor, CS_VERDICT_OK, "%s%s memory may be locked (ulimit -l); verbs "
						     "take up to %s (ib_memory) and "
			      "keep %s of the program's (ib_cache)", limit,
			      facts->soft < CS_INF ? " of" : "", needed,
			      cs_doctor_size(cache, facts->cache));
}

void
cs_doctor_watch(struct cs_doctor *doctor, int error, size_t cache)
{
	if (!cache)
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "ib_cache is 0: the program's memory is "
						       "registered anew for each message");
	else if (!error)
		cs_doctor_say(doctor, CS_VERDICT_OK, "changes of the program's memory can be "
						     "watched (userfaultfd), so "
			      "registrations are kept");
	else
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "changes of the program's memory cannot be "
						       "watched (userfaultfd: %s), so "
			      "verbs register it anew for each message%s", strerror(error),
			      error == EPERM ? ": in a container, allow the call userfaultfd" : "");
}
