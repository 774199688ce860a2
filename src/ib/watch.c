/* ib/watch.c — learns that the program has changed its mappings. */
#include "ib/watch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1 /* headers before 5.11 */
#endif

struct cs_watch {
	pthread_mutex_t lock; /* of what follows up to the thread, and of reading; see the RULE */
	bool is_closing;
	struct cs_watch_changes noted;
	pthread_t thread;
	bool has_thread;
	int uffd, wake;
	struct cs_watch *next; /* all watches, for the child's side of a fork */
};

static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cs_watch *all;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static int fork_error;
static _Atomic(unsigned) forks_made, forks_depth;

/* ---- forks */

static void
before_fork(void)
{
	pthread_mutex_lock(&all_lock);
	atomic_fetch_add_explicit(&forks_made, 1, memory_order_relaxed);
}

static void
after_fork_in_parent(void)
{
	pthread_mutex_unlock(&all_lock);
}

/* The child's memory is not watched, but a descriptor that it kept would keep the parent's memory
 * watched when the parent has closed its own, and nobody would read: the parent's next munmap would
 * never return. */
static void
after_fork_in_child(void)
{
	for (struct cs_watch *watch = all; watch; watch = watch->next) {
		close(watch->uffd);
		close(watch->wake);
		watch->uffd = watch->wake = -1;
	}
	all = NULL;
	atomic_fetch_add_explicit(&forks_depth, 1, memory_order_relaxed);
	pthread_mutex_unlock(&all_lock);
}

static void
mind_forks(void)
{
	fork_error = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

struct cs_watch_forks
cs_watch_forks(void)
{
	return (struct cs_watch_forks){
		.made = atomic_load_explicit(&forks_made, memory_order_relaxed),
		.depth = atomic_load_explicit(&forks_depth, memory_order_relaxed),
	};
}

/* ---- the thread */

static void
note(struct cs_watch_changes *noted, struct cs_watch_change change)
{
	struct cs_watch_change *last = noted->count ? &noted->list[noted->count - 1] : NULL;
	/* Joins neighbours, so that freeing many of them in a row fills no list. */
	if (last && !last->moved_to && !change.moved_to && last->is_gone == change.is_gone &&
	    change.low <= last->high && last->low <= change.high) {
		last->low = change.low < last->low ? change.low : last->low;
		last->high = change.high > last->high ? change.high : last->high;
	} else if (noted->count < sizeof noted->list / sizeof *noted->list) {
		noted->list[noted->count++] = change;
	} else {
		noted->is_lost = true;
	}
}

static void
note_message(struct cs_watch_changes *noted, const struct uffd_msg *message)
{
	if (message->event == UFFD_EVENT_REMAP)
		note(noted, (struct cs_watch_change){
			.low = message->arg.remap.from,
			.high = message->arg.remap.from + message->arg.remap.len,
			.is_gone = true,
			.moved_to = message->arg.remap.to,
		});
	else if (message->event == UFFD_EVENT_UNMAP || message->event == UFFD_EVENT_REMOVE)
		note(noted, (struct cs_watch_change){
			.low = message->arg.remove.start,
			.high = message->arg.remove.end,
			.is_gone = message->event == UFFD_EVENT_UNMAP,
		});
}

/* False: the thread is to end. */
static bool
read_changes(struct cs_watch *watch)
{
	struct uffd_msg messages[16];
	pthread_mutex_lock(&watch->lock);
	bool goes_on = !watch->is_closing;
	ssize_t got = goes_on ? read(watch->uffd, messages, sizeof messages) : 0;
	for (ssize_t i = 0; i < got / (ssize_t)sizeof *messages; i++)
		note_message(&watch->noted, &messages[i]);
	pthread_mutex_unlock(&watch->lock);
	return goes_on;
}

/* Allocates nothing, and nothing of it is bound late to anything but libc. */
static void *
serve(void *argument)
{
	struct cs_watch *watch = argument;
	struct pollfd waiting[] = { { .fd = watch->uffd, .events = POLLIN },
				    { .fd = watch->wake, .events = POLLIN } };
	while (read_changes(watch) && poll(waiting, 2, -1) >= 0) {
		/* Somebody closed our descriptors under us, and so ended the watch: nobody waits
		 * for a reader any more. */
		if (waiting[0].revents & (POLLNVAL | POLLERR))
			waiting[0].fd = -1;
		if (waiting[0].fd < 0 && waiting[1].revents & POLLNVAL)
			break;
	}
	return NULL;
}

static int
create_thread(struct cs_watch *watch, size_t stack_bytes)
{
	pthread_attr_t attributes;
	int error = pthread_attr_init(&attributes);
	if (error)
		return error;
	if (stack_bytes)
		pthread_attr_setstacksize(&attributes, stack_bytes);
	error = pthread_create(&watch->thread, &attributes, serve, watch);
	pthread_attr_destroy(&attributes);
	return error;
}

static int
start_thread(struct cs_watch *watch)
{
	sigset_t every, before;
	sigfillset(&every);
	int error = pthread_sigmask(SIG_SETMASK, &every, &before);
	if (error)
		return error;
	error = create_thread(watch, 64 * 1024);
	/* The libraries' thread-local variables lie in the stack, and may need more. */
	if (error == EINVAL)
		error = create_thread(watch, 0);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	watch->has_thread = error == 0;
	return error;
}

/* ---- the owner's side */

static int
open_userfaultfd(void)
{
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
	if (fd < 0)
		return -1;
	struct uffdio_api api = {
		.api = UFFD_API,
		.features = UFFD_FEATURE_EVENT_UNMAP | UFFD_FEATURE_EVENT_REMAP |
		UFFD_FEATURE_EVENT_REMOVE |
			UFFD_FEATURE_PAGEFAULT_FLAG_WP,
	};
	if (ioctl(fd, UFFDIO_API, &api) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static void
enlist(struct cs_watch *watch)
{
	pthread_mutex_lock(&all_lock);
	watch->next = all;
	all = watch;
	pthread_mutex_unlock(&all_lock);
}

static void
delist(const struct cs_watch *watch)
{
	pthread_mutex_lock(&all_lock);
	struct cs_watch **link = &all;
	while (*link != watch)
		link = &(*link)->next;
	*link = watch->next;
	pthread_mutex_unlock(&all_lock);
}

/* Keeps errno. */
static enum cs_status
give_up(struct cs_watch *watch, enum cs_status status)
{
	int error = errno;
	if (watch->uffd >= 0)
		close(watch->uffd);
	free(watch);
	errno = error;
	return status;
}

enum cs_status
cs_watch_open(struct cs_watch **watch)
{
	pthread_once(&fork_once, mind_forks);
	if (fork_error) {
		errno = fork_error;
		return CS_SYSTEM;
	}
	struct cs_watch *new = calloc(1, sizeof *new);
	if (!new)
		return CS_NO_MEMORY;
	new->uffd = open_userfaultfd();
	if (new->uffd < 0)
		return give_up(new, CS_UNSUPPORTED);
	new->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (new->wake < 0)
		return give_up(new, CS_SYSTEM);
	pthread_mutex_init(&new->lock, NULL);
	enlist(new);
	*watch = new;
	return CS_OK;
}

void
cs_watch_close(struct cs_watch *watch)
{
	if (!watch)
		return;
	delist(watch);
	/* The descriptor goes first: its end lets go everyone who waits, while from the thread's
	 * end on nobody would read. */
	pthread_mutex_lock(&watch->lock);
	watch->is_closing = true;
	if (cs_watch_state(watch) != CS_WATCH_LOST) /* else the number may be somebody else's by
						     * now */
		close(watch->uffd);
	pthread_mutex_unlock(&watch->lock);
	if (watch->has_thread) {
		/* Somebody has closed this one as well: the thread ends when it sees that, which
		 * may be never. */
		if (eventfd_write(watch->wake, 1)) {
			pthread_detach(watch->thread);
			return;
		}
		pthread_join(watch->thread, NULL);
	}
	close(watch->wake);
	pthread_mutex_destroy(&watch->lock);
	free(watch);
}

enum cs_status
cs_watch_add(struct cs_watch *watch, uintptr_t low, uintptr_t high)
{
	if (!watch->has_thread) {
		int error = start_thread(watch);
		if (error) {
			errno = error;
			return CS_SYSTEM;
		}
	}
	/* Nothing is ever write-protected, so no page fault ever comes to us. */
	struct uffdio_register range = {
		.range = { .start = low, .len = high - low },
		.mode = UFFDIO_REGISTER_MODE_WP,
	};
	if (ioctl(watch->uffd, UFFDIO_REGISTER, &range) == 0)
		return CS_OK;
	return errno == ENOMEM ? CS_NO_MEMORY : CS_UNSUPPORTED;
}

void
cs_watch_remove(struct cs_watch *watch, uintptr_t low, uintptr_t high)
{
	struct uffdio_range range = { .start = low, .len = high - low };
	ioctl(watch->uffd, UFFDIO_UNREGISTER, &range);
}

/* An impossible request. The kernel refuses every one with EAGAIN between a change and the end of
 * its event, before it looks at what is wrong with it. */
enum cs_watch_state
cs_watch_state(struct cs_watch *watch)
{
	struct uffdio_writeprotect nothing = { .range = { .start = 0, .len = 0 } };
	int error = ioctl(watch->uffd, UFFDIO_WRITEPROTECT, &nothing) ? errno : 0;
	return error == EAGAIN ? CS_WATCH_CHANGING : error == EINVAL
	       ? CS_WATCH_SETTLED : CS_WATCH_LOST;
}

void
cs_watch_collect(struct cs_watch *watch, struct cs_watch_changes *changes)
{
	pthread_mutex_lock(&watch->lock);
	changes->count = watch->noted.count;
	changes->is_lost = watch->noted.is_lost;
	memcpy(changes->list, watch->noted.list, watch->noted.count * sizeof *changes->list);
	watch->noted.count = 0;
	watch->noted.is_lost = false;
	pthread_mutex_unlock(&watch->lock);
}
