/* comm/calls/stall.c — watches long waits in collectives, publishes them to the node's ranks, and
 * reports stalled calls. */
#include "comm/calls/stall.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "base/wait.h"
#include "comm/calls/serving.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"
#include "shm/stall.h"
#include "shm/stuck.h"

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

static const struct cs_serving *
serving_of(const struct cs_node_op *part)
{
	const char *op = (const char *)part - offsetof(struct cs_op, node);
	return (const struct cs_serving *)(const void *)(op - offsetof(struct cs_serving, op));
}

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

static struct cs_stall
describe(const struct cs_serving *serving, const struct cs_wait *wait, uint64_t now)
{
	const struct cs_comm *communicator = serving->communicator;
	const struct cs_op *op = &serving->op;
	int form = communicator->is_apart ? CS_PERSISTENT
		   : op->node.extras & CS_OP_NONBLOCKING ? CS_NONBLOCKING : 0;
	struct cs_stall stall = {
		.number = op->node.number, .seen_ns = now, .since_ns = wait->since_ns,
		.call = op->node.number - communicator->first_call, .bytes = op->call.bytes,
		.coll = form + (int)op->call.coll,
		.root = cs_colls[op->call.coll].rooted ? op->call.root : -1,
		.whom = wait->whom - 1, .size = communicator->size,
	};
	name_comm(communicator, stall.name);
	return stall;
}

/* Writes the report; NULL: no memory. The caller frees it. */
static char *
report(const struct cs_serving *serving, const struct cs_stall *stall)
{
	char *text = NULL, types[128];
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);
	if (!out)
		return NULL;
	name_types(&serving->op.call, types, sizeof types);
	cs_stall_write(out, serving->op.node.node, stall, types);
	if (fclose(out) == 0)
		return text;
	free(text);
	return NULL;
}

/* --- who wants to know ------------------------------------------------------------------------ */

static void
print(const struct cs_serving *serving, const struct cs_stall *stall)
{
	char *text = report(serving, stall);
	if (text)
		cs_log_lines(text);
	free(text);
}

/* Answers collshim-info --stuck if it asks for that process: its file is this user's, new, and
 * nothing else than a file. */
static void
answer(int64_t pid, const struct cs_serving *serving, const struct cs_stall *stall)
{
	char path[CS_STUCK_PATH];
	struct stat stat;
	snprintf(path, sizeof path, CS_STUCK_FILE, (long long)pid);
	int file = open(path, O_WRONLY | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (file < 0)
		return;
	if (!fstat(file, &stat) && S_ISREG(stat.st_mode) && stat.st_uid == geteuid() &&
	    !flock(file, LOCK_EX | LOCK_NB) && !fstat(file, &stat) && !stat.st_size) {
		char *text = report(serving, stall), *all = NULL;
		int bytes = text ? asprintf(&all, CS_STUCK_HEAD "%016llx\n%s" CS_STUCK_END,
					    (unsigned long long)cs_stall_key(
						    serving->op.node.node, stall->number), text)
				 : -1;
		if (bytes > 0)
			cs_file_write(file, all, (size_t)bytes);
		if (bytes >= 0)
			free(all);
		free(text);
	}
	close(file);
}

static void
answer_all(const struct cs_serving *serving, const struct cs_stall *stall)
{
	struct cs_node *node = serving->op.node.node;
	struct cs_stall other;
	answer(getpid(), serving, stall);
	/* A process that waits itself answers itself. */
	if (stall->whom >= 0 && stall->whom < node->shape.size &&
	    !cs_stall_look(node, stall->whom, stall->seen_ns, &other))
		answer(cs_node_rank(node, stall->whom)->pid, serving, stall);
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

/* cs_wait_long */
static void
look(const struct cs_wait *wait)
{
	const struct cs_node_op *part = wait->call;
	uint64_t limit = cs_engine.settings.stall_ns, now = cs_clock_ns();
	/* Without a signature it is no call of the program's. */
	if (!part || !part->signature || pthread_mutex_trylock(&lock))
		return;
	if (is_due(&looked_ns, now, cs_wait_long_ns < AGAIN_NS ? cs_wait_long_ns : AGAIN_NS)) {
		const struct cs_serving *serving = serving_of(part);
		struct cs_stall stall = describe(serving, wait, now), elsewhere = stall;
		elsewhere.number = 0;
		cs_stall_publish(part->node, &stall);
		if (is_due(&said_ns, now, SECOND / 2))
			cs_comms_say_elsewhere(part->node, &elsewhere);
		if (is_due(&asked_ns, now, SECOND))
			answer_all(serving, &stall);
		if (limit && now - stall.since_ns >= limit &&
		    cs_stall_is_mine(part->node, stall.number))
			print(serving, &stall);
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
