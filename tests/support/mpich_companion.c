/* tests/support/mpich_companion.c — what MPICH 4.0.2 over UCX needs to be tested with on few cores.
 *
 * Preloaded into the ranks by tests/launch and scripts/cluster, never shipped. It changes no
 * collective.
 *
 * 1. MPI_Finalize. A rank that has closed its UCX end points waits for the process manager in a
 *    blocking read() and no longer moves UCX, while another rank's close still wants an answer from
 *    it: over several nodes (UCX's TCP transport) the job hangs more often than not. So once
 *    closing has begun, a read() that would block keeps the worker moving until there is something
 *    to read.
 * 2. Polling. MPICH polls and never yields, so with more ranks than cores every hop waits for the
 *    end of a time slice. Here a run of MPICH_COMPANION_POLLS (default 20; negative: never) empty
 *    polls ends in sched_yield().
 * 3. Uneven cyclic placement. Hydra takes a host that is named again later for one more node, so
 *    the ranks of one host would not share memory. MPICH_COMPANION_MAPPING, e.g.
 *    "(vector,(0,3,1),(1,2,1),(2,1,1))", replaces the value that the process manager gives for
 *    PMI_process_mapping. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

EXPORT unsigned ucp_worker_progress(void *worker);
EXPORT void ucp_worker_destroy(void *worker);
EXPORT void *ucp_ep_close_nbx(void *ep, const void *param);
EXPORT void *ucp_ep_close_nb(void *ep, unsigned mode);

static unsigned (*next_progress)(void *worker);
static void (*next_destroy)(void *worker);
static void *(*next_close_nbx)(void *ep, const void *param);
static void *(*next_close_nb)(void *ep, unsigned mode);

static void *_Atomic last_worker;
static atomic_bool is_closing;
static int polls_before_yield = 20;
static const char *mapping;
static _Thread_local int empty_polls;

/* Each name is looked for at its first use: MPI may arrive late, by dlopen, and then UCX is not in
 * the chain that RTLD_NEXT walks, but loaded it is, for its caller is calling. */
static void
find_next(void *function_pointer, const char *name)
{
	void **slot = function_pointer;
	if (*slot == NULL)
		*slot = dlsym(RTLD_NEXT, name);
	if (*slot == NULL) {
		void *ucp = dlopen("libucp.so.0", RTLD_LAZY | RTLD_NOLOAD);
		if (ucp != NULL)
			*slot = dlsym(ucp, name);
	}
}

__attribute__((constructor)) static void
read_environment(void)
{
	const char *text = getenv("MPICH_COMPANION_POLLS");
	if (text != NULL)
		polls_before_yield = atoi(text);
	mapping = getenv("MPICH_COMPANION_MAPPING");
}

unsigned
ucp_worker_progress(void *worker)
{
	find_next(&next_progress, "ucp_worker_progress");
	atomic_store_explicit(&last_worker, worker, memory_order_relaxed);
	unsigned events = next_progress(worker);
	if (events != 0) {
		empty_polls = 0;
	} else if (polls_before_yield >= 0 && ++empty_polls > polls_before_yield) {
		/* Not reset: a rank that has found nothing for so long yields at each further
		 * poll. */
		sched_yield();
	}
	return events;
}

void
ucp_worker_destroy(void *worker)
{
	find_next(&next_destroy, "ucp_worker_destroy");
	void *expected = worker;
	atomic_compare_exchange_strong(&last_worker, &expected, NULL);
	next_destroy(worker);
}

void *
ucp_ep_close_nbx(void *ep, const void *param)
{
	find_next(&next_close_nbx, "ucp_ep_close_nbx");
	atomic_store(&is_closing, true);
	return next_close_nbx(ep, param);
}

void *
ucp_ep_close_nb(void *ep, unsigned mode)
{
	find_next(&next_close_nb, "ucp_ep_close_nb");
	atomic_store(&is_closing, true);
	return next_close_nb(ep, mode);
}

static bool
is_blocking(int fd)
{
	int saved = errno;
	int flags = fcntl(fd, F_GETFL);
	errno = saved;
	return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

static void
progress_until_readable(int fd)
{
	struct pollfd wanted = { .fd = fd, .events = POLLIN };
	int saved = errno;
	void *worker;
	while (poll(&wanted, 1, 0) == 0 && (worker = atomic_load(&last_worker)) != NULL) {
		for (int i = 0; i < 64; i++)
			next_progress(worker);
		sched_yield();
	}
	errno = saved;
}

/* The process manager answers in one line, "cmd=get_result rc=0 msg=success
 * value=(vector,(0,4,1))". */
static ssize_t
replace_mapping(char *buffer, ssize_t got, size_t room)
{
	static const char answer[] = "value=(vector,(";
	char *value = memmem(buffer, (size_t)got, answer, strlen(answer));
	if (value == NULL || strncmp(buffer, "cmd=", 4) != 0 || buffer[got - 1] != '\n')
		return got;
	value += strlen("value=");
	size_t before = (size_t)(value - buffer);
	size_t length = strlen(mapping);
	if (before + length + 1 > room)
		return got;
	memcpy(value, mapping, length);
	value[length] = '\n';
	return (ssize_t)(before + length + 1);
}

EXPORT ssize_t
read(int fd, void *buffer, size_t bytes)
{
	if (atomic_load_explicit(&is_closing, memory_order_relaxed) && next_progress != NULL &&
	    atomic_load(&last_worker) != NULL && is_blocking(fd))
		progress_until_readable(fd);
	ssize_t got = syscall(SYS_read, fd, buffer, bytes);
	return mapping != NULL && got > 0 ? replace_mapping(buffer, got, bytes) : got;
}
