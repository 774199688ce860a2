/* comm/teams/recording.c — numbers communicators and calls, and synchronises the clocks of the
 * job's nodes. */
#include "comm/teams/recording.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "comm/engine.h"
#include "comm/teams/make_team.h"
#include "comm/teams/report_gather.h"
#include "comm/host/pmpi.h"
#include "topo/topo.h"
#include "trace/arrivals_file.h"
#include "trace/clocks.h"
#include "trace/report.h"
#include "trace/samples.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define REASON_NO_FILE 103 /* above trace/arrivals_write.c's */
#define TAG 1

/* Words of a rank: its clock, a number for the job (rank 0's is used), and whether it wants a
 * report. */
struct self {
	uint64_t clock, job, reports;
};

/* Communicators of one group are numbered in the order in which they are first used. */
struct group {
	uint64_t members; /* digest; 0: unused */
	uint64_t used;    /* communicators so far */
};

static struct {
	pthread_mutex_t lock; /* for the writer and all below */
	struct cs_arrivals_writer writer;
	struct group *groups;
	size_t group_count, group_room; /* a power of two */
	/* For the clocks; NULL without them. */
	bool has_comm;
	MPI_Comm comm;
	struct self *selves; /* by rank */
	int *leaders;        /* the first rank of each node */
	struct cs_arrivals_clock *clocks; /* by rank */
	int nodes, node; /* 0 and 0: not known */
	/* For the report. */
	bool keeps;
	struct cs_arrivals_clock began; /* the own node's clock at MPI_Init */
	struct cs_sampled_call *kept;
	size_t kept_count, kept_room, kept_most;
	_Atomic bool is_full;
} recording = { .lock = PTHREAD_MUTEX_INITIALIZER, .writer.file = -1 };

/* --- which clock ------------------------------------------------------------------------------ */

static void
read_boot(char boot[40])
{
	int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t bytes = file < 0 ? 0 : read(file, boot, 39);
	if (file >= 0)
		close(file);
	boot[bytes > 0 ? bytes : 0] = '\0';
	boot[strcspn(boot, "\n")] = '\0';
}

/* Digest of the clock: the same on processes of one node, or pretended node, and of one time
 * namespace, which may have a clock of its own. */
static uint64_t
clock_here(const char *boot)
{
	char host[256] = "";
	struct stat namespace = { .st_ino = 0 };
	uint64_t host_word, node = cs_team_node_word(&host_word);
	gethostname(host, sizeof host - 1);
	if (stat("/proc/self/ns/time", &namespace) != 0)
		namespace.st_ino = 0;
	uint64_t clock = cs_hash_text(cs_hash_text(CS_HASH_START, boot), host);
	clock = cs_hash_number(clock, node ? node : (uint64_t)getpid());
	return cs_hash_number(clock, namespace.st_ino);
}

/* Orders by clock, then by rank: the first of a node is its leader. */
static int
compare_ranks(const void *left, const void *right)
{
	const int a = *(const int *)left, b = *(const int *)right;
	const struct self *selves = recording.selves;
	if (selves[a].clock != selves[b].clock)
		return selves[a].clock < selves[b].clock ? -1 : 1;
	return a < b ? -1 : a > b;
}

static int
compare_numbers(const void *left, const void *right)
{
	const int a = *(const int *)left, b = *(const int *)right;
	return a < b ? -1 : a > b;
}

/* Numbers nodes by their lowest rank, and finds this rank's. */
static void
find_nodes(uint64_t clock)
{
	int *leaders = recording.leaders, nodes = 0, own = 0;
	for (int rank = 0; rank < cs_engine.world_size; rank++)
		leaders[rank] = rank;
	qsort(leaders, (size_t)cs_engine.world_size, sizeof *leaders, compare_ranks);
	for (int i = 0; i < cs_engine.world_size; i++) {
		const struct self *self = &recording.selves[leaders[i]];
		if (i && self->clock == recording.selves[leaders[nodes - 1]].clock)
			continue;
		if (self->clock == clock)
			own = leaders[i];
		leaders[nodes++] = leaders[i];
	}
	qsort(leaders, (size_t)nodes, sizeof *leaders, compare_numbers);
	recording.nodes = nodes;
	recording.node = 0;
	while (leaders[recording.node] != own)
		recording.node++;
}

/* --- the clocks of all nodes ------------------------------------------------------------------ */

static bool
send(void *context, const void *data, size_t bytes, int to)
{
	MPI_Request request = MPI_REQUEST_NULL;
	return cs_gather_finish(cs_pmpi.Isend(data, (int)bytes, MPI_BYTE,
					      recording.leaders[to], TAG, recording.comm,
					      &request), &request);
}

static bool
receive(void *context, void *data, size_t bytes, int from)
{
	MPI_Request request = MPI_REQUEST_NULL;
	return cs_gather_finish(cs_pmpi.Irecv(data, (int)bytes, MPI_BYTE,
					      recording.leaders[from], TAG, recording.comm,
					      &request), &request);
}

static uint64_t
now(void *context)
{
	return cs_clock_ns();
}

/* Leaders measure their clocks against each other, and all ranks get their leader's result. */
static void
synchronise(void)
{
	struct cs_arrivals_clock own = { .offset_ns = 0 };
	const struct cs_clocks_wire wire = { .rank = recording.node, .size = recording.nodes,
					     .now = now, .send = send, .receive = receive };
	int leader = recording.leaders[recording.node];
	bool is_good = leader != cs_engine.world_rank || cs_clocks_synchronise(&wire, &own);
	if (!is_good)
		own.at_ns = 0; /* marks the clock as not known */
	if (!cs_gather_words(&own, sizeof own, recording.clocks, recording.comm) ||
	    !recording.clocks[leader].at_ns)
		return;
	cs_arrivals_add_clock(&recording.writer, &recording.clocks[leader]);
	if (leader == cs_engine.world_rank && (recording.nodes > 1 || cs_engine.settings.arrivals))
		cs_info("arrivals: node %d of %d: its clock is %lld ns from rank 0's, to within "
			"%llu ns", recording.node, recording.nodes, (long long)own.offset_ns,
			(unsigned long long)own.residual_ns);
}

/* Finds the nodes; false: the MPI refused. */
static bool
meet(uint64_t clock, uint64_t *job)
{
	struct self self = { .clock = clock, .reports = cs_engine.settings.report != NULL };
	MPI_Errhandler handler;
	if (getrandom(&self.job, sizeof self.job, GRND_NONBLOCK) != sizeof self.job)
		self.job = cs_hash_number(cs_clock_ns(), (uint64_t)getpid());
	self.job += !self.job;
	if (cs_team_quiet(MPI_COMM_WORLD, &handler))
		return false;
	int result = cs_pmpi.Comm_split(MPI_COMM_WORLD, 0, cs_engine.world_rank, &recording.comm);
	cs_team_unquiet(MPI_COMM_WORLD, &handler);
	recording.has_comm = result == MPI_SUCCESS;
	if (!recording.has_comm)
		return false;
	cs_pmpi.Comm_set_errhandler(recording.comm, MPI_ERRORS_RETURN);
	if (!cs_gather_words(&self, sizeof self, recording.selves, recording.comm))
		return false;
	find_nodes(clock);
	*job = recording.selves[0].job;
	return true;
}

static void
leave(void)
{
	if (recording.has_comm)
		cs_pmpi.Comm_free(&recording.comm);
	recording.has_comm = false;
}

/* --- what is kept for the report -------------------------------------------------------------- */

bool
cs_recording_keeps(void)
{
	return recording.keeps;
}

bool
cs_recording_has_room(void)
{
	return recording.keeps && !atomic_load_explicit(&recording.is_full, memory_order_relaxed);
}

/* Begins to keep calls if all ranks want a report: the same on all, who have met at MPI_Init. */
static void
begin_keeping(void)
{
	size_t room = CS_SAMPLES_BYTES / sizeof *recording.kept / (size_t)cs_engine.world_size;
	if (!recording.keeps)
		return;
	recording.began = recording.clocks[recording.leaders[recording.node]];
	recording.kept_most = room < CS_SAMPLES_MOST ? room : CS_SAMPLES_MOST;
}

static bool
do_all_report(void)
{
	for (int rank = 0; rank < cs_engine.world_size; rank++)
		if (!recording.selves[rank].reports)
			return false;
	return true;
}

/* Converts the kept calls to rank 0's clock. Returns their number, 0 if a clock is not known. */
static size_t
bring_together(void)
{
	const struct cs_arrivals_clock *ended =
		&recording.clocks[recording.leaders[recording.node]];
	struct cs_arrivals_clock clocks[] = { recording.began, *ended };
	const struct cs_arrivals line = { .clocks = clocks, .clock_count = 2 };
	if (!recording.began.at_ns || !ended->at_ns)
		return 0;
	for (size_t i = 0; i < recording.kept_count; i++) {
		struct cs_sampled_call *call = &recording.kept[i];
		call->arrived_ns = cs_arrivals_at_rank_0(&line, (uint64_t)call->arrived_ns);
		call->left_ns = cs_arrivals_at_rank_0(&line, (uint64_t)call->left_ns);
	}
	return recording.kept_count;
}

/* Sends the kept calls and the counts of the report to rank 0. */
static void
hand_over(void)
{
	cs_report_gather(&(struct cs_gathering){
		.comm = recording.comm, .kept = recording.kept, .kept_count = bring_together(),
		.kept_most = recording.kept_most, .node = recording.node,
		.is_first = recording.leaders[recording.node] == cs_engine.world_rank,
		.is_one_node = recording.nodes == 1,
	});
	free(recording.kept);
	recording.kept = NULL;
	recording.kept_count = recording.kept_room = 0;
	recording.keeps = false;
}

/* --- open and close --------------------------------------------------------------------------- */

static void
forget_clocks(void)
{
	free(recording.selves);
	free(recording.leaders);
	free(recording.clocks);
	recording.selves = NULL;
	recording.leaders = NULL;
	recording.clocks = NULL;
	recording.nodes = recording.node = 0;
}

bool
cs_recording_prepare(void)
{
	size_t ranks = (size_t)cs_engine.world_size;
	if (!cs_engine.settings.arrivals && !cs_engine.settings.report)
		return false;
	recording.selves = calloc(ranks, sizeof *recording.selves);
	recording.leaders = calloc(ranks, sizeof *recording.leaders);
	recording.clocks = calloc(ranks, sizeof *recording.clocks);
	bool is_ready = recording.selves && recording.leaders && recording.clocks;
	if (!is_ready)
		forget_clocks();
	return is_ready;
}

static uint64_t
time_of_day(void)
{
	struct timespec wall;
	clock_gettime(CLOCK_REALTIME, &wall);
	return (uint64_t)wall.tv_sec * 1000000000 + (uint64_t)wall.tv_nsec;
}

static void
make_file(const struct cs_arrivals_head *head)
{
	unsigned number = 0;
	char *path = cs_settings_rank_path(cs_engine.settings.arrivals, cs_engine.world_rank);
	enum cs_status status = path ? cs_arrivals_create(&recording.writer, path, head,
							  (uint64_t)cs_engine.settings
								  .arrivals_limit,
							  &number) : CS_NO_MEMORY;
	if (status == CS_NO_MEMORY)
		errno = ENOMEM;
	if (status != CS_OK && cs_log_is_first(REASON_NO_FILE))
		cs_warn_local("arrivals: %s cannot be made: %m; this rank's arrivals are not "
			      "recorded", path ? path : cs_engine.settings.arrivals);
	else if (number > 1)
		cs_warn_once("arrivals: %s is there already and stays as it is; those of this run "
			     "are in %s.%u", path, path, number);
	free(path);
}

void
cs_recording_open(bool is_agreed)
{
	struct cs_arrivals_head head = {
		.world = (uint32_t)cs_engine.world_rank, .ranks = (uint32_t)cs_engine.world_size,
		.pid = (uint32_t)getpid(), .start_ns = cs_clock_ns(), .wall_ns = time_of_day(),
	};
	bool has_file = cs_engine.settings.arrivals;
	if ((!has_file && !is_agreed) || cs_engine.settings.is_disabled)
		return;
	gethostname(head.host, sizeof head.host - 1);
	read_boot(head.boot);
	head.clock = clock_here(head.boot);
	bool is_met = is_agreed && meet(head.clock, &head.job);
	recording.keeps = is_met && do_all_report();
	if (!is_met || !(has_file || recording.keeps))
		forget_clocks();
	if (!is_met && has_file)
		cs_warn_once("arrivals: not all ranks record theirs, or MPI_Init was not seen: the "
			     "clocks of several nodes are not brought together");
	head.node = (uint32_t)recording.node;
	head.nodes = (uint32_t)recording.nodes;
	if (has_file)
		make_file(&head);
	if (recording.nodes)
		synchronise();
	else if (is_met)
		leave();
	begin_keeping();
}

void
cs_recording_close(void)
{
	pthread_mutex_lock(&recording.lock);
	if (recording.nodes)
		synchronise();
	if (recording.keeps)
		hand_over();
	leave();
	forget_clocks();
	if (recording.writer.left_out)
		cs_warn_once("arrivals: of %llu calls the first %llu are recorded "
			     "(COLLSHIM_ARRIVALS_LIMIT)",
			     (unsigned long long)(recording.writer.recorded +
						  recording.writer.left_out),
			     (unsigned long long)recording.writer.recorded);
	cs_arrivals_close(&recording.writer);
	free(recording.groups);
	recording.groups = NULL;
	recording.group_count = recording.group_room = 0;
	pthread_mutex_unlock(&recording.lock);
}

/* --- numbers ---------------------------------------------------------------------------------- */

/* Digest of its members' ranks in MPI_COMM_WORLD, in order; 0: the MPI failed. */
static uint64_t
members_of(const struct cs_comm *communicator)
{
	enum { PIECE = 64 };
	MPI_Group group;
	uint64_t members = cs_hash_number(CS_HASH_START, (uint64_t)communicator->size);
	if (cs_pmpi.Comm_group(communicator->comm, &group))
		return 0;
	for (int first = 0; members && first < communicator->size; first += PIECE) {
		int left = communicator->size - first, count = left < PIECE ? left : PIECE;
		int from[PIECE], to[PIECE];
		for (int i = 0; i < count; i++)
			from[i] = first + i;
		if (cs_pmpi.Group_translate_ranks(group, count, from, cs_engine.world, to))
			members = 0;
		for (int i = 0; members && i < count; i++)
			members = cs_hash_number(members, (uint64_t)to[i]);
	}
	cs_pmpi.Group_free(&group);
	return members;
}

static struct group *
place_of(struct group *groups, size_t room, uint64_t members)
{
	size_t at = (members ^ members >> 32) & (room - 1);
	while (groups[at].members && groups[at].members != members)
		at = (at + 1) & (room - 1);
	return &groups[at];
}

/* The group's entry, new if necessary; NULL without memory. */
static struct group *
group_of(uint64_t members)
{
	if (2 * (recording.group_count + 1) > recording.group_room) {
		size_t room = recording.group_room ? 2 * recording.group_room : 64;
		struct group *more = calloc(room, sizeof *more);
		if (!more)
			return NULL;
		for (size_t i = 0; i < recording.group_room; i++)
			if (recording.groups[i].members)
				*place_of(more, room, recording.groups[i].members) =
					recording.groups[i];
		free(recording.groups);
		recording.groups = more;
		recording.group_room = room;
	}
	struct group *group = place_of(recording.groups, recording.group_room, members);
	recording.group_count += !group->members;
	group->members = members;
	return group;
}

/* Numbers the communicator, the same on all of its ranks, without communication: by its members,
 * and how many communicators of the same ones were used before. */
static bool
number_it(struct cs_comm *communicator)
{
	uint64_t members = members_of(communicator);
	struct group *group = members ? group_of(members) : NULL;
	if (!group)
		return false;
	uint64_t number = cs_hash_number(members, group->used++);
	communicator->number = number + !number;
	cs_arrivals_add_comm(&recording.writer, &(struct cs_arrivals_comm){
		.comm = communicator->number, .rank = (uint32_t)communicator->rank,
		.size = (uint32_t)communicator->size,
	});
	return true;
}

void
cs_recording_keep(struct cs_comm *communicator, uint64_t call, const struct cs_op *op,
		  bool is_deferred)
{
	enum { FIRST = 256 };
	int saved = errno;
	pthread_mutex_lock(&recording.lock);
	size_t room = recording.kept_room ? 2 * recording.kept_room : FIRST;
	room = room < recording.kept_most ? room : recording.kept_most;
	if (recording.keeps && recording.kept_count == recording.kept_room &&
	    room > recording.kept_room) {
		struct cs_sampled_call *more = realloc(recording.kept, room * sizeof *more);
		recording.kept = more ? more : recording.kept;
		recording.kept_room = more ? room : recording.kept_room;
	}
	if (recording.keeps && recording.kept_count < recording.kept_room &&
	    communicator->is_within_world && (communicator->number || number_it(communicator)))
		recording.kept[recording.kept_count++] = (struct cs_sampled_call){
			.comm = communicator->number, .call = call, .is_deferred = is_deferred,
			.arrived_ns = (int64_t)op->arrived_ns, .left_ns = (int64_t)op->left_ns,
			.row = (uintptr_t)op->row, .rank = communicator->rank,
			.size = communicator->size, .root = op->call.root,
			.coll = (int32_t)op->call.coll,
		};
	if (recording.kept_count == recording.kept_most)
		atomic_store_explicit(&recording.is_full, true, memory_order_relaxed);
	pthread_mutex_unlock(&recording.lock);
	errno = saved;
}

void
cs_recording_add(struct cs_comm *communicator, enum cs_coll coll, int root, size_t bytes,
		 bool is_deferred, uint64_t arrived_ns, uint64_t left_ns)
{
	if (!communicator->is_within_world)
		return;
	int saved = errno;
	pthread_mutex_lock(&recording.lock);
	if (recording.writer.file >= 0 && (communicator->number || number_it(communicator)))
		cs_arrivals_add(&recording.writer, &(struct cs_arrival){
			.comm = communicator->number, .call = ++communicator->numbered,
			.bytes = bytes == CS_BYTES_UNKNOWN ? CS_ARRIVAL_BYTES_UNKNOWN : bytes,
			.arrived_ns = arrived_ns, .left_ns = left_ns,
			.root = cs_colls[coll].rooted ? root : -1, .coll = (uint8_t)coll,
			.is_deferred = is_deferred,
		});
	pthread_mutex_unlock(&recording.lock);
	errno = saved;
}
