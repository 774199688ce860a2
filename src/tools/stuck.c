/* tools/stuck.c — asks processes in which collectives they hang, and prints what they answer
 * (shm/stuck.h). */
#include "tools/stuck.h"

#include "base/printable.h"
#include "base/process.h"
#include "base/settings.h"
#include "shm/stuck.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { HANG = 0, FAILED = 1, WRONG_USE = 2, HANG_NOWHERE = 3 };

#define LOOKS 250
#define LOOK_NS 20000000 /* so five seconds */
#define ANSWER (64 << 10)
#define ENVIRONMENT (256 << 10)

struct process {
	char pid[24];
	long number, parent;
	bool is_meant;
	int file;     /* -1: none */
	char *answer; /* NULL: none yet */
};

struct processes {
	struct process *all;
	size_t count;
};

/* --- which ------------------------------------------------------------------------------------ */

/* Lists this user's processes. False: no memory, or no /proc. */
static bool
list(struct processes *processes)
{
	DIR *folder = opendir("/proc");
	bool is_whole = folder;
	for (struct dirent *entry; is_whole && (entry = readdir(folder));) {
		struct stat stat;
		if (entry->d_name[0] < '1' || entry->d_name[0] > '9' ||
		    fstatat(dirfd(folder), entry->d_name, &stat, 0) || stat.st_uid != geteuid())
			continue;
		struct process *more = realloc(processes->all,
					       (processes->count + 1) * sizeof *more);
		is_whole = more;
		if (!more)
			break;
		processes->all = more;
		struct process *process = &more[processes->count++];
		*process = (struct process){ .file = -1 };
		snprintf(process->pid, sizeof process->pid, "%.20s", entry->d_name);
		process->number = atol(process->pid);
		process->parent = cs_process_parent(process->pid);
	}
	if (folder)
		closedir(folder);
	return is_whole;
}

/* Takes the process of that number, if there is one, and all that it has started. */
static bool
take_tree(struct processes *processes, const char *number)
{
	bool is_any = false, is_more = true;
	for (struct process *one = processes->all; one < processes->all + processes->count; one++)
		is_any |= one->is_meant = !strcmp(one->pid, number);
	while (is_any && is_more) {
		is_more = false;
		for (size_t i = 0; i < processes->count; i++)
			for (size_t j = 0; j < processes->count && !processes->all[i].is_meant; j++)
				if (processes->all[j].is_meant &&
				    processes->all[j].number == processes->all[i].parent)
					is_more = processes->all[i].is_meant = true;
	}
	return is_any;
}

static bool
is_of_job(const char *pid, const char *job, char *room)
{
	static const char *const others[] = { "PMIX_NAMESPACE", "JOB_ID", NULL };
	size_t bytes = cs_process_read(pid, "environ", room, ENVIRONMENT);
	for (const char *at = room; at < room + bytes; at += strlen(at) + 1) {
		const char *value = strchr(at, '=');
		if (!value || strcmp(value + 1, job))
			continue;
		for (const char *const *list = cs_settings_jobs; list;
		     list = list == others ? NULL : others)
			for (const char *const *name = list; *name; name++)
				if (strlen(*name) == (size_t)(value - at) &&
				    !strncmp(*name, at, (size_t)(value - at)))
					return true;
	}
	return false;
}

static bool
take_job(struct processes *processes, const char *job)
{
	char *room = malloc(ENVIRONMENT);
	bool is_any = false;
	for (size_t i = 0; room && i < processes->count; i++) {
		struct process *one = &processes->all[i];
		one->is_meant = is_of_job(one->pid, job, room);
		is_any |= one->is_meant;
	}
	free(room);
	return is_any;
}

/* Leaves out launchers, shells and this program. Is any process left? */
static bool
leave_ranks(struct processes *processes)
{
	bool is_any = false;
	for (size_t i = 0; i < processes->count; i++) {
		struct process *one = &processes->all[i];
		one->is_meant = one->is_meant && cs_process_has_mapped(one->pid, "/collshim-");
		is_any |= one->is_meant;
	}
	return is_any;
}

/* --- questions and answers -------------------------------------------------------------------- */

static const char *
path_of(const struct process *process, char path[CS_STUCK_PATH])
{
	snprintf(path, CS_STUCK_PATH, CS_STUCK_FILE, (long long)process->number);
	return path;
}

/* Makes the file of a process, in the place of one that was left behind. */
static bool
ask(struct process *process)
{
	char path[CS_STUCK_PATH];
	int flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	process->file = open(path_of(process, path), flags, 0600);
	if (process->file < 0 && errno == EEXIST && !unlink(path))
		process->file = open(path, flags, 0600);
	if (process->file < 0)
		fprintf(stderr, "collshim-info: %s: %s\n", path, strerror(errno));
	return process->file >= 0;
}

/* Takes an answer that is whole. */
static void
look(struct process *process)
{
	static char text[ANSWER];
	size_t end = strlen(CS_STUCK_END), head = strlen(CS_STUCK_HEAD) + CS_STUCK_KEY + 1;
	ssize_t bytes = pread(process->file, text, sizeof text - 1, 0);
	if (bytes < (ssize_t)(head + end) || memcmp(text, CS_STUCK_HEAD, strlen(CS_STUCK_HEAD)) ||
	    memcmp(text + (size_t)bytes - end, CS_STUCK_END, end))
		return;
	text[(size_t)bytes - end] = '\0';
	process->answer = strdup(text + strlen(CS_STUCK_HEAD));
}

/* Asks and waits for answers, until SIGINT and the like. */
static bool
ask_all(struct processes *processes)
{
	const struct timespec nap = { .tv_nsec = LOOK_NS };
	char path[CS_STUCK_PATH];
	sigset_t ends;
	bool is_good = true, is_open = true;
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	for (size_t i = 0; i < processes->count && is_good; i++)
		is_good = !processes->all[i].is_meant || ask(&processes->all[i]);
	for (int looks = 0; is_good && is_open && looks < LOOKS; looks++) {
		is_open = false;
		for (size_t i = 0; i < processes->count; i++) {
			struct process *one = &processes->all[i];
			if (one->is_meant && !one->answer)
				look(one);
			is_open |= one->is_meant && !one->answer;
		}
		if (is_open && sigtimedwait(&ends, NULL, &nap) > 0)
			break;
	}
	for (size_t i = 0; i < processes->count; i++)
		if (processes->all[i].file >= 0) {
			unlink(path_of(&processes->all[i], path));
			close(processes->all[i].file);
		}
	sigprocmask(SIG_UNBLOCK, &ends, NULL);
	return is_good;
}

/* --- in words --------------------------------------------------------------------------------- */

/* Prints each call once. Does any process hang? */
static bool
print_answers(const struct processes *processes)
{
	bool is_any = false;
	for (size_t i = 0; i < processes->count; i++) {
		const char *answer = processes->all[i].answer;
		bool is_new = answer;
		for (size_t j = 0; j < i && is_new; j++)
			is_new = !processes->all[j].answer ||
				 memcmp(processes->all[j].answer, answer, CS_STUCK_KEY);
		if (is_new)
			fputs(answer + CS_STUCK_KEY + 1, stdout);
		is_any |= is_new;
	}
	return is_any;
}

static void
print_others(const struct processes *processes)
{
	size_t count = 0, at = 0;
	for (size_t i = 0; i < processes->count; i++)
		count += processes->all[i].is_meant && !processes->all[i].answer;
	if (!count)
		return;
	fputs(count == 1 ? "process " : "processes ", stdout);
	for (size_t i = 0; i < processes->count; i++)
		if (processes->all[i].is_meant && !processes->all[i].answer)
			printf("%s%s", at++ ? ", " : "", processes->all[i].pid);
	puts(count == 1 ? " waits in no call of collshim (or has no collshim)"
			: " wait in no call of collshim (or have no collshim)");
}

/* The exit code. */
static int
look_for(struct processes *processes, const char *what)
{
	if (!list(processes)) {
		perror("collshim-info: /proc");
		return FAILED;
	}
	if (!take_tree(processes, what) && !take_job(processes, what)) {
		fputs("no process of this user on this machine is ", stdout);
		cs_printable_put(stdout, what);
		puts(", or of a job of that id");
		return HANG_NOWHERE;
	}
	if (!leave_ranks(processes)) {
		fputs("process ", stdout);
		cs_printable_put(stdout, what);
		puts(" waits in no call of collshim (or has no collshim)");
		return HANG_NOWHERE;
	}
	bool is_good = ask_all(processes), is_any = print_answers(processes);
	print_others(processes);
	return !is_good ? FAILED : is_any ? HANG : HANG_NOWHERE;
}

int
cs_tools_stuck(int argc, char **argv)
{
	struct processes processes = { 0 };
	if (argc != 2 || !*argv[1]) {
		fputs("collshim-info: --stuck expects a process, or the id of a job\n"
		      "Try: collshim-info --help\n", stderr);
		return WRONG_USE;
	}
	int code = look_for(&processes, argv[1]);
	for (size_t i = 0; i < processes.count; i++)
		free(processes.all[i].answer);
	free(processes.all);
	return code;
}
