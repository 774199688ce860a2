/* tools/doctor_verbs.c — looks at RDMA devices for --doctor, and says which is used and why not. */
#include "tools/doctor.h"

#include "ib/doctor.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

static void
see(void *context, const struct cs_ib_candidate *candidate)
{
	static const char *const places[] = { "near", "in another NUMA domain of this package",
					      "in another package" };
	struct cs_doctor *doctor = context;
	char name[CS_IB_NAME + 16];
	snprintf(name, sizeof name, candidate->port ? "%s:%d" : "%s", candidate->device,
		 candidate->port);
	if (candidate->is_usable)
		cs_doctor_say(doctor, CS_VERDICT_OK, "%s: %s, active, %s", name, candidate->what,
			      places[candidate->distance < 2 ? candidate->distance : 2]);
	else
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "%s cannot be used: %s", name,
			      candidate->what);
}

static void
say_refused(struct cs_doctor *doctor, const char *name, const struct cs_ib_trial *trial)
{
	char bytes[CS_DOCTOR_SIZE];
	cs_doctor_say(doctor, CS_VERDICT_PROBLEM, "%s refused %s: %s; a connection needs that, and "
						  "%s registered%s", name,
		      trial->refused, strerror(trial->error), cs_doctor_size(bytes, trial->bytes),
		      trial->error == ENOMEM ? ": raise the limit of locked memory (ulimit -l)"
					     : "");
}

static bool
try_device(struct cs_doctor *doctor, const struct cs_verbs_facts *facts,
	   enum cs_doctor_verdict verdict)
{
	struct cs_ib_port port;
	struct cs_ib_trial trial;
	char why[256], name[CS_IB_NAME + 16], bytes[CS_DOCTOR_SIZE];
	if (cs_ib_port_open(&port, facts->verbs, facts->device, facts->distance, why, sizeof why) !=
	    CS_OK) {
		cs_doctor_say(doctor, verdict, "no device is used: %s%s", why,
			      facts->device ? " (COLLSHIM_IB_DEVICE)" : "");
		return false;
	}
	snprintf(name, sizeof name, "%s:%d", port.chosen.device, port.chosen.port);
	cs_ib_try(&port, facts->limits->ib_slots, facts->limits->ib_slot_bytes, &trial);
	cs_ib_port_close(&port);
	cs_doctor_say(doctor, CS_VERDICT_OK, "%s would be used (%s)", name,
		      facts->device ? "COLLSHIM_IB_DEVICE" : "the nearest that is active");
	if (trial.refused) {
		say_refused(doctor, name, &trial);
		return true;
	}
	cs_doctor_say(doctor, CS_VERDICT_OK, "%s granted %s of registered memory, a completion "
					     "queue and a queue pair", name,
		      cs_doctor_size(bytes, trial.bytes));
	snprintf(doctor->wire, sizeof doctor->wire, "verbs by %s", name);
	return true;
}

/* Why there is nothing to look at; NULL if there is. */
static const char *
nothing_there(const struct cs_verbs_facts *facts)
{
	static char why[160];
	if (!facts->verbs) {
		snprintf(why, sizeof why, "%s: a package rdma-core or libibverbs1 brings it",
			 facts->missing);
		return why;
	}
	int error = cs_ib_kernel_error(facts->verbs);
	if (error == ENOSYS)
		return "the kernel has no RDMA: its module ib_uverbs and the device's driver are "
		       "not loaded";
	if (error) {
		snprintf(why, sizeof why, "the list of devices was refused: %s", strerror(error));
		return why;
	}
	return NULL;
}

bool
cs_doctor_verbs(struct cs_doctor *doctor, const struct cs_verbs_facts *facts)
{
	enum cs_wire_kind wire = (enum cs_wire_kind)facts->limits->wire;
	bool is_wanted = wire == CS_WIRE_IB || (wire == CS_WIRE_AUTO && facts->device);
	enum cs_doctor_verdict verdict = is_wanted ? CS_VERDICT_PROBLEM : CS_VERDICT_NOTE;
	const char *nothing = nothing_there(facts);
	snprintf(doctor->wire, sizeof doctor->wire, "the MPI's messages");
	if (wire == CS_WIRE_HOST)
		cs_doctor_say(doctor, CS_VERDICT_NOTE, "the wire is host (COLLSHIM_WIRE, or the "
						       "limit wire): verbs are not used");
	if (nothing) {
		cs_doctor_say(doctor, verdict, "%s", nothing);
		return false;
	}
	int ports = cs_ib_port_list(facts->verbs, facts->distance, see, doctor);
	if (!ports)
		cs_doctor_say(doctor, verdict, "there is no RDMA device%s",
			      facts->device ? " (COLLSHIM_IB_DEVICE names one)" : "");
	return ports && wire != CS_WIRE_HOST && try_device(doctor, facts, verdict);
}

/* CAP_IPC_LOCK, of the effective capabilities. */
static bool
may_lock_all(void)
{
	char line[256];
	unsigned long long capabilities = 0;
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof line, file))
		if (sscanf(line, "CapEff: %llx", &capabilities) == 1)
			break;
	if (file)
		fclose(file);
	return capabilities >> 14 & 1;
}

void
cs_doctor_look_at_verbs(struct cs_doctor *doctor, const struct cs_settings *settings,
			const struct cs_limits *limits)
{
	struct cs_verbs_facts facts = { .distance = cs_topo_distance, .device = settings->ib_device,
					.limits = limits };
	struct rlimit lock = { 0, 0 };
	facts.verbs = cs_verbs_load(&facts.missing);
	getrlimit(RLIMIT_MEMLOCK, &lock);
	cs_doctor_group(doctor, "verbs");
	struct cs_lock_facts locking = {
		.soft = cs_doctor_limit(lock.rlim_cur),
		.hard = cs_doctor_limit(lock.rlim_max),
		.is_exempt = may_lock_all(),
		.has_device = cs_doctor_verbs(doctor, &facts),
		.memory = limits->ib_memory,
		.cache = limits->ib_cache,
	};
	cs_doctor_locking(doctor, &locking);
	errno = 0;
	cs_doctor_watch(doctor, cs_ib_try_watch() ? 0 : errno ? errno : ENOSYS, limits->ib_cache);
}
