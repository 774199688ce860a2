/* tools/doctor_look.c — looks at what --doctor reports: the loader, the modules, the settings. */
#include "tools/doctor.h"

#include "base/log.h"
#include "base/parse.h"
#include "shm/headroom.h"
#include "shm/segment.h"
#include "trace/json.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CS_MODULES_INSTALLED
#error "the build says where the modules are installed"
#endif

#define TRIED ((size_t)1 << 20) /* bytes of a segment that is made and given back */

/* The first line of a small file, "" if it cannot be read. Returns `text`. */
static char *
first_line(const char *path, char *text, int room)
{
	FILE *file = fopen(path, "re");
	if (!file || !fgets(text, room, file))
		*text = '\0';
	if (file)
		fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return text;
}

/* --- modules ---------------------------------------------------------------------------------- */

static bool
is_there(const char *folder, const char *name)
{
	char path[2 * PATH_MAX];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return access(path, R_OK) == 0;
}

/* Finds the folder of the modules: as the variable says; beside this program, as in a build;
 * relative to an installed program, wherever the installation has been moved; else as installed. */
static void
find_modules(char folder[PATH_MAX])
{
	char self[PATH_MAX] = "";
	const char *told = cs_settings_module_dir();
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash = length > 0 ? strrchr(self, '/') : NULL;
	if (slash)
		*slash = '\0';
	if (told)
		snprintf(folder, PATH_MAX, "%s", told);
	else if (slash && slash - self < PATH_MAX - 16 && is_there(self, "libcollshim.so"))
		snprintf(folder, PATH_MAX, "%.*s/collshim", PATH_MAX - 16, self);
	else if (slash && is_there(self, CS_MODULES_FROM_PROGRAMS))
		snprintf(folder, PATH_MAX, "%.*s/%s",
			 PATH_MAX - (int)sizeof CS_MODULES_FROM_PROGRAMS - 1, self,
			 CS_MODULES_FROM_PROGRAMS);
	else
		snprintf(folder, PATH_MAX, "%s", CS_MODULES_INSTALLED);
}

static void
look_at_modules(struct cs_doctor *doctor)
{
	char folder[PATH_MAX];
	find_modules(folder);
	struct cs_module_facts facts = {
		.folder = folder,
		.has_library = is_there(folder, "../libcollshim.so"),
		.has_mpich = is_there(folder, "collshim-mpich.so"),
		.has_openmpi = is_there(folder, "collshim-openmpi.so"),
		.has_abi = is_there(folder, "collshim-abi.so"),
	};
	cs_doctor_group(doctor, "modules");
	cs_doctor_modules(doctor, &facts);
}

/* --- trials with other processes -------------------------------------------------------------- */

/* Runs the trial in a process of its own. Returns its result: 0 or an errno. Ranks are no children
 * of each other, so the memory to reach lies in this process or in another child of it. */
static int
in_another_process(int (*trial)(void *context), void *context)
{
	int status;
	pid_t child = fork();
	if (child < 0)
		return errno;
	if (child == 0)
		_exit(trial(context));
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return errno;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EINTR;
}

static int
attach(void *context)
{
	struct cs_segment segment;
	errno = 0;
	if (cs_segment_attach(&segment, context) != CS_OK)
		return errno ? errno : EACCES;
	cs_segment_close(&segment);
	return 0;
}

/* A segment of that kind is made, filled and attached by another process. 0 or an errno. */
static int
try_segment(enum cs_shm_kind kind)
{
	struct cs_segment segment = { .fd = -1 };
	errno = 0;
	if (cs_segment_create(&segment, TRIED, kind) != CS_OK)
		return errno ? errno : ENOMEM;
	int error = in_another_process(attach, &segment.handle);
	if (!error && cs_segment_commit(&segment, 0, TRIED, TRIED) != CS_OK)
		error = errno;
	cs_segment_close(&segment);
	return error;
}

struct target {
	pid_t pid;
	volatile pid_t value; /* in the target's memory: its own number */
};

static int
read_target(void *context)
{
	struct target *target = context;
	pid_t read = 0;
	errno = 0;
	if (!cs_cma_read(target->pid, &read, (uintptr_t)&target->value, sizeof read))
		return errno ? errno : EIO;
	return read == target->pid ? 0 : EFAULT;
}

/* In the child that is read from: until the parent closes its end. */
static void
be_read(struct target *target, int ready, int until)
{
	char byte = 0;
	target->value = getpid();
	if (write(ready, &byte, 1) == 1)
		while (read(until, &byte, 1) < 0 && errno == EINTR)
			;
	_exit(0);
}

static int
try_copy(void)
{
	static struct target target;
	int ready[2], until[2], status, error;
	char byte;
	if (pipe(ready))
		return errno;
	if (pipe(until)) {
		error = errno;
		close(ready[0]);
		close(ready[1]);
		return error;
	}
	target.pid = fork();
	if (target.pid == 0) {
		close(until[1]);
		be_read(&target, ready[1], until[0]);
	}
	error = target.pid < 0 ? errno : 0;
	close(ready[1]);
	if (!error)
		error = read(ready[0], &byte, 1) == 1 ? in_another_process(read_target, &target)
						      : EIO;
	close(ready[0]);
	close(until[0]);
	close(until[1]);
	if (target.pid > 0)
		while (waitpid(target.pid, &status, 0) < 0 && errno == EINTR)
			;
	return error;
}

/* --- the node --------------------------------------------------------------------------------- */

/* The word in brackets of "always within_size advise [never] deny force". */
static void
chosen_word(char *line)
{
	char *open = strchr(line, '[');
	size_t length = open ? strcspn(open + 1, "]") : 0;
	if (open)
		memmove(line, open + 1, length);
	line[length] = '\0';
}

static void
look_at_node(struct cs_doctor *doctor, const struct cs_settings *settings,
	     const struct cs_limits *limits)
{
	char huge[128], scope[16];
	struct statvfs shm;
	struct rlimit file = { RLIM_INFINITY, RLIM_INFINITY };
	chosen_word(first_line("/sys/kernel/mm/transparent_hugepage/shmem_enabled", huge,
			       sizeof huge));
	getrlimit(RLIMIT_FSIZE, &file);
	struct cs_cgroups groups;
	struct cs_headroom headroom;
	cs_cgroups_find(&groups, "");
	cs_headroom_look(&headroom, &groups, "");
	cs_cgroups_fini(&groups);
	bool has_shm = statvfs("/dev/shm", &shm) == 0;
	struct cs_segment_facts facts = {
		.kind = settings->shm,
		.memfd_error = try_segment(CS_SHM_MEMFD),
		.named_error = try_segment(CS_SHM_NAMED),
		.shm_total = has_shm ? shm.f_blocks * shm.f_frsize : 0,
		.shm_free = has_shm ? shm.f_bavail * shm.f_frsize : 0,
		.memory = headroom.by == CS_LIMIT_NONE ? 0 : headroom.free ? headroom.free : 1,
		.memory_limit = cs_limit_name(headroom.by),
		.file_limit = cs_doctor_limit(file.rlim_cur),
		.budget = limits->shm_budget,
		.huge = huge,
	};
	cs_doctor_group(doctor, "shared memory");
	cs_doctor_segments(doctor, &facts);
	first_line("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope);
	struct cs_copy_facts copies = { settings->cma, try_copy(), *scope ? atoi(scope) : -1 };
	cs_doctor_group(doctor, "single copies");
	cs_doctor_copies(doctor, &copies);
	struct cs_topo_counts counts;
	cs_topo_count(&counts);
	cs_doctor_group(doctor, "cores");
	cs_doctor_cores(doctor, &counts);
}

/* --- the whole -------------------------------------------------------------------------------- */

static void
conclude(struct cs_doctor *doctor, const struct cs_settings *settings)
{
	bool is_served = !settings->is_disabled && doctor->has_module && doctor->segments;
	if (doctor->is_json) {
		fprintf(doctor->out, "],\n \"serves\": %s, \"problems\": %d}\n",
			is_served ? "true" : "false", doctor->problems);
		return;
	}
	if (!is_served)
		fputs("-> every call goes to the MPI", doctor->out);
	else
		fprintf(doctor->out, "-> on a node %s%s%s; between nodes %s", doctor->segments,
			doctor->copies ? ", " : "", doctor->copies ? doctor->copies : "",
			doctor->wire);
	fprintf(doctor->out, doctor->problems ? "; problems: %d\n" : "; no problems\n",
		doctor->problems);
}

static void
say_notes(struct cs_doctor *doctor, const struct cs_selector *selector)
{
	char text[512];
	for (enum cs_note note = 0; note < CS_NOTE_COUNT; note++)
		if (cs_selector_note(selector, note, text, sizeof text))
			cs_doctor_say(doctor, CS_VERDICT_NOTE, "%s", text);
}

int
cs_tools_doctor(FILE *out, bool is_json)
{
	struct cs_doctor doctor = { .out = out, .is_json = is_json };
	struct cs_settings settings;
	struct cs_machine machine = { 0 };
	struct cs_selector *selector;
	char *complaints = NULL;
	size_t bytes;
	FILE *text = open_memstream(&complaints, &bytes);
	if (!text)
		return -1;
	/* Complaints for stderr are findings here. */
	cs_log_set_speaker(false);
	cs_settings_read(&settings);
	cs_machine_read(&machine);
	if (cs_selector_create(&selector, &settings, &machine) != CS_OK) {
		fclose(text);
		free(complaints);
		return -1;
	}
	cs_settings_check(text);
	cs_selector_print_errors(selector, text);
	fclose(text);
	if (is_json) {
		fputs("{\"collshim\": ", out);
		cs_json_string(out, CS_VERSION);
		fputs(", \"host\": ", out);
		cs_json_string(out, machine.host);
		fputs(",\n \"findings\": [", out);
	} else {
		fprintf(out, "collshim %s, host %s\n", CS_VERSION, machine.host);
	}
	cs_doctor_group(&doctor, "settings");
	cs_doctor_settings(&doctor, &settings, complaints);
	say_notes(&doctor, selector);
	look_at_modules(&doctor);
	look_at_node(&doctor, &settings, cs_selector_limits(selector));
	cs_doctor_look_at_verbs(&doctor, &settings, cs_selector_limits(selector));
	conclude(&doctor, &settings);
	cs_selector_destroy(selector);
	free(complaints);
	return doctor.problems;
}
