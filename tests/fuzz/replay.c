/* Gives each file to the target that it is linked with, and each beginning of a short file; a
 * folder's files in the order of their names.
 *
 *   replay_TARGET FILE|FOLDER...
 *
 * Each file is a process of its own, so that all are tried, and a leak is that file's. Exit status
 * 1 if one failed. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SHORT 512       /* bytes of a file whose beginnings are tried too */
#define MOST_SECONDS 30 /* of processor time for one input, under any sanitizer */

/* Shared with the process that tries a file. */
static struct {
	unsigned inputs;
	size_t bytes; /* of the input under way */
} *shared;

static unsigned files, failures;

static void __attribute__((format(printf, 1, 0), noreturn))
stop(const char *format, const char *name)
{
	fprintf(stderr, format, name);
	exit(2);
}

/* In a block of just that many bytes, so that a sanitizer sees one too far. */
static void
take(const char *data, size_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	struct timespec begin, end;
	CLAIM(copy, "no memory for %zu bytes", bytes);
	memcpy(copy, data, bytes);
	shared->bytes = bytes;
	shared->inputs++;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	LLVMFuzzerTestOneInput(copy, bytes);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	CLAIM(end.tv_sec - begin.tv_sec <= MOST_SECONDS, "it took %ld s",
	      (long)(end.tv_sec - begin.tv_sec));
	free(copy);
}

static void
take_file(const char *path, size_t bytes)
{
	char *data = malloc(bytes + 1);
	FILE *file = fopen(path, "rb");
	if (!data || !file || fread(data, 1, bytes, file) != bytes)
		stop("replay: %s cannot be read\n", path);
	fclose(file);
	for (size_t cut = 0; bytes <= SHORT && cut < bytes; cut++)
		take(data, cut);
	take(data, bytes);
	free(data);
}

static void
try_file(const char *path, size_t bytes)
{
	int status = -1;
	fflush(NULL);
	pid_t child = fork();
	if (child < 0)
		stop("replay: no process for %s\n", path);
	if (!child) {
		take_file(path, bytes);
		exit(0); /* the sanitizer looks for leaks */
	}
	waitpid(child, &status, 0);
	files++;
	failures += status != 0;
	if (status)
		fprintf(stderr, "FAILED  %s, its first %zu of %zu bytes\n", path, shared->bytes,
			bytes);
}

static int
is_seed(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void
try_path(const char *path)
{
	struct stat found;
	struct dirent **entries;
	char inside[4096];
	if (stat(path, &found))
		stop("replay: there is no %s\n", path);
	if (!S_ISDIR(found.st_mode)) {
		try_file(path, (size_t)found.st_size);
		return;
	}
	int count = scandir(path, &entries, is_seed, alphasort);
	for (int i = 0; i < count; i++) {
		snprintf(inside, sizeof inside, "%s/%s", path, entries[i]->d_name);
		try_path(inside);
		free(entries[i]);
	}
	if (count >= 0)
		free(entries);
}

int
main(int argc, char **argv)
{
	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (shared == MAP_FAILED)
		stop("replay: no memory%s\n", "");
	for (int i = 1; i < argc; i++)
		try_path(argv[i]);
	if (!files)
		stop("replay: expected %s\n", argc > 1 ? "files in the folder" : "FILE|FOLDER...");
	printf("%u files, %u inputs, %u files failed\n", files, shared->inputs, failures);
	return failures ? 1 : 0;
}
