/* comm/calls/stall.c — watches long waits in collectives, publishes them to the node's ranks, and
 * reports stalled calls. */
#include "comm/calls/stall.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/wait.h"
#include "comm/calls/serving.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"
#include "shm/stall.h"
#include "shm/stuck.h"

#include <dlfcn.h>
#if __has_include(<execinfo.h>)
#include <execinfo.h>
#endif
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define SECOND UINT64_C(1000000000)
#define LONG_NS SECOND          /* a wait is long, unless COLLSHIM_STALL is shorter */
#define AGAIN_NS (SECOND / 10)  /* between two looks */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t looked_ns, said_ns, asked_ns; /* with the lock */

/* A long wait of this rank: in a call of a team, or, without one, for the other ranks of a
 * communicator that make theirs. */
struct here {
	const struct cs_comm *communicator;
	const struct cs_op *op; /* NULL: a team is made */
	struct cs_node *node;   /* NULL, too */
	struct cs_stall stall;
};

/* --- what is known of it ---------------------------------------------------------------------- */

/* Copies the communicator's name. That of a persistent call may have been freed since. */
static void
name_comm(const struct cs_comm *communicator, char name[CS_STALL_NAME])
{
	char all[1024] = "";
	int length;
	if (!communicator->is_apart && cs_pmpi.Comm_get_name &&
	    cs_pmpi.Comm_get_name(communicator->comm, all, &length) == MPI_SUCCESS)
		snprintf(name, CS_STALL_NAME, "%.*s", CS_STALL_NAME - 1, all);
}

/* Type and operation of a reduction. Types other than predefined ones may have been freed. */
static void
name_types(const struct cs_call *call, char *text, size_t room)
{
	char type[1024] = "";
	int length;
	MPI_Datatype handle = (MPI_Datatype)call->reduction.type;
	const char *operation = cs_reduction_operation(&call->reduction);
	*text = '\0';
	if (!cs_colls[call->coll].reduces)
		return;
	if (!cs_type_find(handle) || !cs_pmpi.Type_get_name ||
	    cs_pmpi.Type_get_name(handle, type, &length) != MPI_SUCCESS)
		snprintf(type, sizeof type, "a derived type");
	snprintf(text, room, ", %.60s, %s", type,
		 operation ? operation : "an operation of the program's");
}

/* Copies where the program made the call, as "app+0x12d1": the first return address of this thread
 * that is not ours, in its object. Looked for once in a wait. */
static void
name_site(uint64_t since_ns, char site[CS_STALL_SITE])
{
	static char last[CS_STALL_SITE];
	static uint64_t last_ns; /* the wait's begin; both with the lock */
#if __has_include(<execinfo.h>)
	void *frames[64];
	Dl_info info, own;
	bool is_new = last_ns != since_ns && dladdr((void *)name_site, &own);
	int count = is_new ? backtrace(frames, 64) : 0;
	last[0] = is_new ? '\0' : last[0];
	for (int i = 0; i < count && !*last; i++) {
		if (!dladdr(frames[i], &info) || info.dli_fbase == own.dli_fbase || !info.dli_fname)
			continue;
		const char *name = strrchr(info.dli_fname, '/');
		snprintf(last, sizeof last, "%.30s+0x%zx", name ? name + 1 : info.dli_fname,
			 (size_t)((char *)frames[i] - (char *)info.dli_fbase));
	}
#endif
	last_ns = since_ns;
	memcpy(site, last, sizeof last);
}

/* Fills in the call of an operation, which is a struct cs_serving's. */
static void
describe_call(struct here *here, const struct cs_node_op *part)
{
	const char *at = (const char *)part - offsetof(struct cs_op, node);
	const struct cs_op *op = (const struct cs_op *)(const void *)at;
	const struct cs_serving *serving =
		(const struct cs_serving *)(const void *)(at - offsetof(struct cs_serving, op));
	const struct cs_comm *communicator = serving->communicator;
	int form = communicator->is_apart ? CS_PERSISTENT
		   : part->extras & CS_OP_NONBLOCKING ? CS_NONBLOCKING : 0;
	here->op = op;
	here->node = part->node;
	here->communicator = communicator;
	here->stall.number = part->number;
	here->stall.call = part->number - communicator->first_call;
	here->stall.bytes = op->call.bytes;
	here->stall.coll = form + (int)op->call.coll;
	here->stall.root = cs_colls[op->call.coll].rooted ? op->call.root : -1;
}

/* Writes the report; NULL: no memory. The caller frees it. */
static char *
report(const struct here *here)
{
	char *text = NULL, types[128] = "";
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	if (here->op)
		name_types(&here->op->call, types, sizeof types);
	cs_stall_write(out, here->node, &here->stall, types);
	if (!here->op)
		fprintf(out, "  waiting in it: rank %d (process %ld); others are known once all "
			"have come\n", here->communicator->rank, (long)getpid());
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* --- who wants to know ------------------------------------------------------------------------ */

/* Is this rank the one of its node to report the call? */
static bool
is_mine(const struct here *here)
{
	if (here->node)
		return cs_stall_is_mine(here->node, here->stall.number);
	static uint64_t last; /* the call's begin, with the lock */
	bool is_new = last != here->stall.since_ns;
	last = here->stall.since_ns;
	return is_new && cs_log_is_first((unsigned)cs_hash_number(
		cs_hash_text(CS_HASH_START, here->stall.name), (uint64_t)here->stall.size));
}

static void
print(const struct here *here)
{
	char *text = report(here);
	if (text)
		cs_log_lines(text);
	free(text);
}

/* Answers collshim-info --stuck if it asks for that process: its file is this user's, new, and
 * nothing else than a file. */
static void
answer(int64_t pid, const struct here *here)
{
	char path[CS_STUCK_PATH];
	struct stat stat;
	snprintf(path, sizeof path, CS_STUCK_FILE, (long long)pid);
	int file = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file < 0)
		return;
	if (!fstat(file, &stat) && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
	    stat.st_nlink == 1 && !flock(file, LOCK_EX | LOCK_NB) && !fstat(file, &stat) &&
	    !stat.st_size) {
		uint64_t key = here->node ? cs_stall_key(here->node, here->stall.number)
					  : cs_hash_number(CS_HASH_START, (uint64_t)getpid());
		struct here asked = *here;
		name_site(asked.stall.since_ns, asked.stall.site);
		char *text = report(&asked), *all = NULL;
		int bytes = text ? asprintf(&all, CS_STUCK_HEAD "%016llx\n%s" CS_STUCK_END,
					    (unsigned long long)key, text) : -1;
		if (bytes > 0)
			cs_file_write(file, all, (size_t)bytes);
		if (bytes >= 0)
			free(all);
		free(text);
	}
	close(file);
}

static void
answer_all(const struct here *here)
{
	const struct cs_stall *stall = &here->stall;
	struct cs_stall other;
	answer(getpid(), here);
	/* A process that waits itself answers itself. */
	if (here->node && stall->whom >= 0 && stall->whom < here->node->shape.size &&
	    !cs_stall_look(here->node, stall->whom, stall->seen_ns, &other))
		answer(cs_node_rank(here->node, stall->whom)->pid, here);
}

/* --- the watch -------------------------------------------------------------------------------- */

static bool
is_due(uint64_t *last_ns, uint64_t now, uint64_t each_ns)
{
	if (*last_ns + each_ns > now)
		return false;
	*last_ns = now;
	return true;
}

static void
tell(struct here *here)
{
	uint64_t limit = cs_engine.settings.stall_ns, now = here->stall.seen_ns;
	struct cs_stall elsewhere = here->stall;
	elsewhere.number = 0;
	if (here->node)
		cs_stall_publish(here->node, &here->stall);
	if (is_due(&said_ns, now, SECOND / 2))
		cs_comms_say_elsewhere(here->node, &elsewhere);
	if (is_due(&asked_ns, now, SECOND))
		answer_all(here);
	if (limit && now - here->stall.since_ns >= limit && is_mine(here))
		print(here);
}

/* cs_wait_long */
static void
look(const struct cs_wait *wait)
{
	const struct cs_node_op *part = wait->call;
	uint64_t now = cs_clock_ns();
	/* Without a signature it is none of the program's. */
	bool is_call = part && part->signature;
	if ((!is_call && !cs_comm_in_making) || pthread_mutex_trylock(&lock))
		return;
	if (is_due(&looked_ns, now, cs_wait_long_ns < AGAIN_NS ? cs_wait_long_ns : AGAIN_NS)) {
		struct here here = { .communicator = cs_comm_in_making,
				     .stall = { .coll = -1, .root = -1, .seen_ns = now,
						.since_ns = wait->since_ns,
						.whom = wait->whom - 1 } };
		if (is_call)
			describe_call(&here, part);
		here.stall.size = here.communicator->size;
		name_comm(here.communicator, here.stall.name);
		/* Not for those who did not ask: libc opens a library for it. */
		if (cs_engine.settings.stall_ns)
			name_site(wait->since_ns, here.stall.site);
		tell(&here);
	}
	pthread_mutex_unlock(&lock);
}

void
cs_stalls_open(void)
{
	uint64_t limit = cs_engine.settings.stall_ns;
	cs_wait_long_ns = limit && limit / 2 < LONG_NS ? limit / 2 : LONG_NS;
	cs_host_waits = limit;
	cs_wait_long = look;
}

void
cs_stalls_close(void)
{
	cs_wait_long = NULL;
}
