/* picture.c — the curves of --svg, drawn by the program collshim-report (Python), which gets the
 * JSON on its standard input. Spawned, not forked: memory that is registered with a device stays
 * the parent's. */
#include "bench.h"

#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define EACH_SECONDS 10

/* The program beside this one, as installed, or in the build folder; else one of the PATH. */
static void
find_program(char path[PATH_MAX])
{
	static const char *const places[] = { "", "../src/" };
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
	char *slash = length > 0 ? memrchr(self, '/', (size_t)length) : NULL;
	for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++) {
		int used = snprintf(path, PATH_MAX, "%.*s/%scollshim-report", (int)(slash - self),
				    self, places[i]);
		if (used < PATH_MAX && access(path, X_OK) == 0)
			return;
	}
	strcpy(path, "collshim-report");
}

/* Runs it with that descriptor as its standard input. Its exit code, or -1 with errno set. */
static int
run(const char *svg, int input)
{
	char program[PATH_MAX];
	find_program(program);
	char *const words[] = { program, (char []){ "--svg" }, (char []){ "-" },
				(char []){ "-o" }, (char *)svg, NULL };
	posix_spawn_file_actions_t actions;
	pid_t child;
	int status, error = posix_spawn_file_actions_init(&actions);
	if (!error)
		error = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
	if (!error)
		error = posix_spawnp(&child, program, &actions, NULL, words, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (error) {
		errno = error;
		return -1;
	}
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool
draw(const char *svg, const char *text, size_t bytes)
{
	int file = memfd_create("collshim-bench", MFD_CLOEXEC), code = -1;
	if (file >= 0 && cs_file_write(file, text, bytes) && lseek(file, 0, SEEK_SET) == 0)
		code = run(svg, file);
	if (code < 0)
		fprintf(stderr, "collshim-bench: --svg: collshim-report cannot be run: %m; --json "
				"FILE, and then collshim-report FILE where it is installed\n");
	else if (code > 0)
		fprintf(stderr, "collshim-bench: --svg: collshim-report ended with code %d (it "
				"needs python3)\n", code);
	if (file >= 0)
		close(file);
	return code == 0;
}

bool
bench_write_svg(const struct bench_options *options, const struct bench_world *world,
		const struct bench_findings *findings)
{
	static int64_t last;
	int64_t now = bench_now();
	if (!findings->is_complete && last && now - last < EACH_SECONDS * INT64_C(1000000000))
		return true;
	size_t bytes;
	char *text = bench_json_text(options, world, findings, &bytes);
	bool is_drawn = text && draw(options->svg, text, bytes);
	if (!text)
		fprintf(stderr, "collshim-bench: --svg: %m\n");
	free(text);
	last = bench_now();
	return is_drawn;
}
