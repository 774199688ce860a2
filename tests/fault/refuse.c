/* Preloaded into the ranks by the fault tests: some calls that collshim's module makes fail. Those
 * of the MPI, of the program and of every other library are left alone: who calls is told by the
 * return address.
 *
 *   REFUSE=CALL:RANK:N:ERRNO   the N-th call of CALL on rank RANK fails with that error number RANK
 *                              "*": on every rank, "23": on 2 and 3; N "N+": the N-th and all later
 *                              ones; N 0: none; ERRNO -9: the process is killed there by signal 9
 *   REFUSE_LOG=FILE            a line "refused CALL N" for each failure, and "counted CALL N" at
 *                              the end of a process, so that a test sees whether it tested anything
 *   REFUSE_IN_KERNEL=1         process_vm_readv and process_vm_writev fail with EPERM for the whole
 *                              process, as in a container: the MPI's own calls as well. By a
 *                              seccomp filter; needs no privilege
 *
 * CALL is one of the names in the list below; `memory` stands for malloc, calloc, realloc and
 * aligned_alloc, `peers_memory` for process_vm_readv of another process. */
/* The module is built for large files, so its calls are named open64 and so on; defined here by the
 * same rule. */
#define _FILE_OFFSET_BITS 64
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define CALLS(X)                                                                                   \
	X(memfd_create) X(shm_open) X(ftruncate) X(posix_fallocate) X(mmap) X(open) X(fstat)       \
	X(madvise) X(getrandom) X(sched_getaffinity) X(process_vm_readv) X(peers_memory) X(memory)

enum call {
#define X(name) CALL_##name,
	CALLS(X)
#undef X
	CALL_COUNT,
};

static const char *const names[CALL_COUNT] = {
#define X(name) [CALL_##name] = #name,
	CALLS(X)
#undef X
};

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *block, size_t bytes);
extern void *__libc_memalign(size_t alignment, size_t bytes);

static int which = CALL_COUNT; /* none */
static long first_refused;
static bool is_persistent;
static int error;
static atomic_long count;

static void
record(const char *what, long number)
{
	char line[64];
	const char *path = getenv("REFUSE_LOG");
	int file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT,
				       0600) : -1;
	if (file < 0)
		return;
	int length = snprintf(line, sizeof line, "%s %s %ld\n", what, names[which], number);
	if (write(file, line, (size_t)length) != length)
		abort();
	close(file);
}

static void
refuse_in_kernel(void)
{
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof rules / sizeof *rules, rules };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		fprintf(stderr, "refuse: this kernel has no seccomp filter\n");
}

__attribute__((constructor)) static void
read_request(void)
{
	char name[32], who[8], number[16];
	const char *text = getenv("REFUSE"), *rank = getenv("PMI_RANK");
	if (!rank)
		rank = getenv("OMPI_COMM_WORLD_RANK");
	if (rank && getenv("REFUSE_IN_KERNEL"))
		refuse_in_kernel();
	if (!text || !rank)
		return;
	if (sscanf(text, "%31[^:]:%7[^:]:%15[^:]:%d", name, who, number, &error) != 4) {
		fprintf(stderr, "REFUSE=%s is not CALL:RANK:N:ERRNO\n", text);
		abort();
	}
	if (strcmp(who, "*") != 0 && (strlen(rank) != 1 || !strchr(who, *rank)))
		return;
	first_refused = atol(number);
	is_persistent = number[strlen(number) - 1] == '+';
	for (int call = 0; call < CALL_COUNT; call++)
		if (strcmp(name, names[call]) == 0)
			which = call;
}

__attribute__((destructor)) static void
record_count(void)
{
	if (which < CALL_COUNT && atomic_load(&count) > 0)
		record("counted", atomic_load(&count));
}

/* Takes no lock and no memory, so that it may be asked inside malloc. */
static bool
is_from_collshim(void *caller)
{
	struct dl_find_object object;
	return _dl_find_object(caller, &object) == 0 && object.dlfo_link_map->l_name &&
	       strstr(object.dlfo_link_map->l_name, "/collshim-");
}

static bool
is_refused(enum call call, void *caller)
{
	if ((int)call != which || !is_from_collshim(caller))
		return false;
	long number = atomic_fetch_add(&count, 1) + 1;
	if (first_refused == 0 ||
	    (is_persistent ? number < first_refused : number != first_refused))
		return false;
	record("refused", number);
	if (error < 0)
		kill(getpid(), -error);
	errno = error;
	return true;
}

#define REFUSED(call) is_refused(CALL_##call, __builtin_return_address(0))
#define NEXT(name, symbol) ((__typeof__(&name))dlsym(RTLD_NEXT, symbol))

EXPORT int
memfd_create(const char *name, unsigned flags)
{
	return REFUSED(memfd_create) ? -1 : NEXT(memfd_create, "memfd_create")(name, flags);
}

EXPORT int
shm_open(const char *name, int flags, mode_t mode)
{
	return REFUSED(shm_open) ? -1 : NEXT(shm_open, "shm_open")(name, flags, mode);
}

EXPORT int
ftruncate(int file, off_t bytes)
{
	return REFUSED(ftruncate) ? -1 : NEXT(ftruncate, "ftruncate64")(file, bytes);
}

/* The one that returns its error and leaves errno alone. */
EXPORT int
posix_fallocate(int file, off_t from, off_t bytes)
{
	int saved = errno;
	if (!REFUSED(posix_fallocate))
		return NEXT(posix_fallocate, "posix_fallocate64")(file, from, bytes);
	errno = saved;
	return error;
}

EXPORT void *
mmap(void *at, size_t bytes, int protection, int flags, int file, off_t offset)
{
	if (REFUSED(mmap))
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
}

EXPORT int
madvise(void *at, size_t bytes, int advice)
{
	return REFUSED(madvise) ? -1 : (int)syscall(SYS_madvise, at, bytes, advice);
}

EXPORT int
open(const char *path, int flags, ...)
{
	va_list arguments;
	va_start(arguments, flags);
	mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return REFUSED(open) ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

EXPORT int
fstat(int file, struct stat *status)
{
	return REFUSED(fstat) ? -1 : NEXT(fstat, "fstat64")(file, status);
}

EXPORT ssize_t
getrandom(void *bytes, size_t room, unsigned flags)
{
	return REFUSED(getrandom) ? -1 : NEXT(getrandom, "getrandom")(bytes, room, flags);
}

EXPORT int
sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *cpus)
{
	if (REFUSED(sched_getaffinity))
		return -1;
	return NEXT(sched_getaffinity, "sched_getaffinity")(process, bytes, cpus);
}

EXPORT ssize_t
process_vm_readv(pid_t process, const struct iovec *to, unsigned long to_count,
		 const struct iovec *from, unsigned long from_count, unsigned long flags)
{
	if (REFUSED(process_vm_readv) || (process != getpid() && REFUSED(peers_memory)))
		return -1;
	return syscall(SYS_process_vm_readv, process, to, to_count, from, from_count, flags);
}

EXPORT void *
malloc(size_t bytes)
{
	return REFUSED(memory) ? NULL : __libc_malloc(bytes);
}

EXPORT void *
calloc(size_t items, size_t bytes)
{
	return REFUSED(memory) ? NULL : __libc_calloc(items, bytes);
}

EXPORT void *
realloc(void *block, size_t bytes)
{
	return REFUSED(memory) ? NULL : __libc_realloc(block, bytes);
}

EXPORT void *
aligned_alloc(size_t alignment, size_t bytes)
{
	return REFUSED(memory) ? NULL : __libc_memalign(alignment, bytes);
}
