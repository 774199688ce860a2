/* Text goes to files whole or not at all, and to pipes as far as somebody reads them. */
#include "unit.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define LARGE (1 << 20) /* more than a pipe holds */

static char folder[] = "/tmp/test_file.XXXXXX";
static char path[sizeof folder + 16];
static char *large;

/* A reader that takes nothing, without two seconds of waiting for it. */
static bool is_out_of_patience;
static int asked_to_wait;

int __real_poll(struct pollfd *files, nfds_t count, int milliseconds);
int __wrap_poll(struct pollfd *files, nfds_t count, int milliseconds);

int
__wrap_poll(struct pollfd *files, nfds_t count, int milliseconds)
{
	if (!is_out_of_patience)
		return __real_poll(files, count, milliseconds);
	asked_to_wait = milliseconds;
	return 0;
}

static int
make_folder(void **state)
{
	large = malloc(LARGE);
	if (!large || !mkdtemp(folder))
		return -1;
	for (size_t i = 0; i < LARGE; i++)
		large[i] = (char)('a' + i % 23);
	snprintf(path, sizeof path, "%s/file", folder);
	return 0;
}

static int
remove_folder(void **state)
{
	free(large);
	return rmdir(folder);
}

static void
assert_content(const char *of, const char *text, size_t bytes)
{
	FILE *file = fopen(of, "r");
	assert_non_null(file);
	char *found = malloc(bytes + 1);
	assert_int_equal(fread(found, 1, bytes + 1, file), bytes);
	assert_memory_equal(found, text, bytes);
	free(found);
	fclose(file);
}

static void
assert_alone(void)
{
	char pattern[sizeof folder + 8];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s/*", folder);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	assert_int_equal(found.gl_pathc, 1);
	globfree(&found);
}

TEST(a_file_is_replaced_by_another_and_nothing_stays_beside_it)
{
	struct stat before, after;
	assert_true(cs_file_replace(path, "first", 5));
	assert_content(path, "first", 5);
	int held = open(path, O_RDONLY); /* its number is not given to the next file as long as it
					  * is open */
	assert_int_equal(fstat(held, &before), 0);
	assert_true(cs_file_replace(path, "2nd", 3));
	assert_content(path, "2nd", 3);
	assert_int_equal(stat(path, &after), 0);
	assert_int_not_equal(before.st_ino, after.st_ino);
	close(held);
	assert_alone();
	unlink(path);
}

TEST(what_cannot_be_written_whole_leaves_the_old_file)
{
	struct rlimit before, small;
	assert_true(cs_file_replace(path, "old", 3));
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 4096;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	bool is_written = cs_file_replace(path, large, LARGE);
	int error = errno;
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, handler);
	assert_false(is_written);
	assert_int_equal(error, EFBIG);
	assert_content(path, "old", 3);
	assert_alone();
	unlink(path);
}

TEST(a_folder_is_no_file)
{
	errno = 0;
	assert_false(cs_file_replace(folder, "x", 1));
	assert_int_equal(errno, EISDIR);
}

TEST(a_link_stays_one)
{
	char link[sizeof path + 8];
	struct stat now;
	snprintf(link, sizeof link, "%s.link", path);
	assert_true(cs_file_replace(path, "something long", 14));
	assert_int_equal(symlink(path, link), 0);
	assert_true(cs_file_replace(link, "short", 5));
	assert_int_equal(lstat(link, &now), 0);
	assert_true(S_ISLNK(now.st_mode));
	assert_content(path, "short", 5);
	unlink(link);
	unlink(path);
}

/* A folder in which all may write, without the sticky bit, for which alone the kernel looks who
 * made a link (if it is set to). */
TEST(a_link_that_another_user_could_have_put_there_is_not_followed)
{
	char link[sizeof path + 8], other[sizeof path + 8];
	struct stat now;
	snprintf(link, sizeof link, "%s.link", path);
	snprintf(other, sizeof other, "%s.other", path);
	assert_true(cs_file_replace(path, "mine", 4));
	assert_int_equal(chmod(folder, 0777), 0);

	/* Who is not root cannot make another user's link, but a second name of one. */
	assert_int_equal(symlink(path, link), 0);
	if (geteuid() == 0)
		assert_int_equal(lchown(link, 65534, 65534), 0);
	else
		assert_int_equal(linkat(AT_FDCWD, link, AT_FDCWD, other, 0), 0);
	assert_int_equal(cs_file_add(link, "report", 6), 2);
	assert_true(cs_file_replace(link, "report", 6));
	assert_int_equal(lstat(link, &now), 0);
	assert_true(S_ISREG(now.st_mode));
	assert_content(link, "report", 6);
	assert_content(path, "mine", 4);
	unlink(link);
	unlink(other);
	snprintf(other, sizeof other, "%s.link.2", path);
	assert_content(other, "report", 6);
	unlink(other);

	/* One that leads nowhere would make a file wherever it likes. */
	snprintf(other, sizeof other, "%s.other", path);
	assert_int_equal(symlink(other, link), 0);
	if (geteuid() == 0) {
		assert_int_equal(lchown(link, 65534, 65534), 0);
		assert_int_equal(cs_file_add(link, "report", 6), 2);
		assert_int_equal(access(other, F_OK), -1);
		snprintf(other, sizeof other, "%s.link.2", path);
	} else {
		assert_int_equal(cs_file_add(link, "report", 6), 1);
	}
	unlink(other);
	unlink(link);
	assert_int_equal(chmod(folder, 0700), 0);
	unlink(path);
}

/* Names that could be guessed: that of before, and what O_EXCL refuses. */
TEST(what_is_unfinished_is_not_written_into_what_is_there)
{
	char guessed[sizeof path + 32];
	struct stat now;
	assert_true(cs_file_replace(path, "mine", 4));
	snprintf(guessed, sizeof guessed, "%s.2.tmp.%ld", path, (long)getpid());
	assert_int_equal(link(path, guessed), 0);
	char second[sizeof path + 8];
	snprintf(second, sizeof second, "%s.2", path);
	assert_true(cs_file_replace(second, "report", 6));
	assert_content(path, "mine", 4);
	assert_int_equal(stat(second, &now), 0);
	assert_int_equal(now.st_mode & 0777, 0600);
	unlink(guessed);
	unlink(second);
	unlink(path);
}

TEST(the_mode_is_that_of_the_old_file_or_for_the_owner_alone)
{
	struct stat now;
	mode_t before = umask(0);
	assert_true(cs_file_replace(path, "one", 3));
	assert_int_equal(stat(path, &now), 0);
	assert_int_equal(now.st_mode & 0777, 0600);
	assert_int_equal(chmod(path, 0644), 0);
	assert_true(cs_file_replace(path, "two", 3));
	assert_int_equal(stat(path, &now), 0);
	assert_int_equal(now.st_mode & 0777, 0644);
	unlink(path);
	umask(0477);
	assert_true(cs_file_replace(path, "three", 5));
	umask(before);
	assert_int_equal(stat(path, &now), 0);
	assert_int_equal(now.st_mode & 0777, 0200);
	unlink(path);
}

TEST(what_is_there_stays_and_the_next_gets_a_number)
{
	char second[sizeof path + 8], third[sizeof path + 8];
	snprintf(second, sizeof second, "%s.2", path);
	snprintf(third, sizeof third, "%s.3", path);
	assert_int_equal(cs_file_add(path, "first", 5), 1);
	assert_int_equal(cs_file_add(path, "second", 6), 2);
	assert_int_equal(cs_file_add(path, "third", 5), 3);
	assert_content(path, "first", 5);
	assert_content(second, "second", 6);
	assert_content(third, "third", 5);
	unlink(second);
	assert_int_equal(cs_file_add(path, "again", 5), 2);
	unlink(second);
	unlink(third);

	/* mktemp's. */
	assert_int_equal(truncate(path, 0), 0);
	assert_int_equal(cs_file_add(path, "fourth", 6), 1);
	assert_content(path, "fourth", 6);
	assert_alone();
	unlink(path);
}

static void *
read_all(void *pipe)
{
	static char found[LARGE];
	size_t bytes = 0;
	ssize_t n;
	while ((n = read(*(int *)pipe, found + bytes, sizeof found - bytes)) > 0)
		bytes += (size_t)n;
	return bytes == LARGE && !memcmp(found, large, LARGE) ? found : NULL;
}

TEST(a_slow_reader_gets_all)
{
	pthread_t reader;
	void *result;
	assert_int_equal(mkfifo(path, 0600), 0);
	int file = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(file >= 0);
	fcntl(file, F_SETFL, 0);
	/* A writer of its own, so that the reader does not find the end before the beginning. */
	int held = open(path, O_WRONLY);
	assert_int_equal(pthread_create(&reader, NULL, read_all, &file), 0);
	bool is_written = cs_file_replace(path, large, LARGE);
	close(held);
	pthread_join(reader, &result);
	assert_true(is_written);
	assert_non_null(result);
	close(file);
	unlink(path);
}

TEST(a_reader_that_takes_nothing_is_not_waited_for_without_end)
{
	assert_int_equal(mkfifo(path, 0600), 0);
	int file = open(path, O_RDONLY | O_NONBLOCK);
	assert_true(file >= 0);
	is_out_of_patience = true;
	errno = 0;
	bool is_written = cs_file_replace(path, large, LARGE);
	int error = errno;
	is_out_of_patience = false;
	close(file);
	assert_false(is_written);
	assert_int_equal(error, EAGAIN);
	assert_int_equal(asked_to_wait, 2000);

	/* Nobody reads at all. */
	assert_false(cs_file_replace(path, "x", 1));
	assert_int_equal(errno, ENXIO);
	unlink(path);
}

RUN_TESTS(make_folder, remove_folder)
