/* comm/teams/rdma.c — opens the device once in a process, and lets all ranks of a team agree on it
 * and try it. */
#include "comm/teams/rdma.h"

#include "base/log.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"
#include "topo/topo.h"
#include "trace/report.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define REASON_NO_VERBS 101 /* of log lines; not engine.c's */
#define REASON_TRIAL 102
#define FLUSH_GRACE 2000 /* ms */
#define TRIAL_TAG 0 /* before the first operation's */
#define SMALL 40
#define LARGE 12345
#define MOST_CONNECTED 128 /* nodes whose leaders are all connected */

static struct {
	pthread_mutex_t lock;
	bool is_tried;
	_Atomic(struct cs_ib *) ib;
	enum cs_status status;
	char why[256];
} here = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct cs_ib *
cs_rdma_here(void)
{
	return atomic_load_explicit(&here.ib, memory_order_acquire);
}

static void
open_here(void)
{
	const struct cs_limits *limits = cs_selector_limits(cs_engine.selector);
	struct cs_ib_options options = {
		.device = cs_engine.settings.ib_device,
		.distance = cs_topo_distance,
		.slots = limits->ib_slots,
		.slot_bytes = limits->ib_slot_bytes,
		.memory = limits->ib_memory,
		.cache = limits->ib_cache,
		.timeout = (int)limits->ib_timeout,
		.flush_grace = FLUSH_GRACE,
		.polls_flags = cs_engine.settings.ib_arrival == CS_ARRIVAL_FLAG,
		.spin = limits->spin,
		.world_rank = cs_engine.world_rank,
		.world_size = cs_engine.world_size,
		.host = &cs_host_mpi,
	};
	struct cs_ib *ib = NULL;
	pthread_mutex_lock(&here.lock);
	if (!here.is_tried) {
		here.is_tried = true;
		here.status = cs_ib_open(&ib, NULL, &options, here.why, sizeof here.why);
		if (here.status == CS_OK)
			cs_info("ib: rank %d uses %s", cs_engine.world_rank, cs_ib_name(ib));
		else
			cs_info("ib: rank %d has no verbs: %s", cs_engine.world_rank, here.why);
		atomic_store(&here.ib, ib);
	}
	pthread_mutex_unlock(&here.lock);
}

void
cs_rdma_report(void)
{
	static const struct {
		const char *name;
		size_t offset;
	} lines[] = {
#define LINE(name, communicator) { name, offsetof(struct cs_ib_counters, communicator) }
		LINE("verbs: connections", connections),
		LINE("verbs: pairs over MPI", refused),
		LINE("verbs: small messages", small),
		LINE("verbs: data writes", data),
		LINE("verbs: ready messages", ready),
		LINE("verbs: window counters", counts),
		LINE("verbs: fragments", fragments),
		LINE("verbs: credit messages", credits),
		LINE("verbs: requests", requests),
		LINE("verbs: completions", completions),
		LINE("verbs: bytes", bytes),
		LINE("verbs: bytes copied", copied),
		LINE("verbs: bytes registered", registered),
		LINE("verbs: registrations", registrations),
		LINE("verbs: datagrams sent", multicast),
		LINE("verbs: datagrams received", heard),
		LINE("verbs: datagrams dropped", strange),
		LINE("verbs: pieces resent", resent),
#undef LINE
	};
	struct cs_ib *ib = cs_rdma_here();
	struct cs_ib_counters counters;
	if (!ib)
		return;
	cs_report_fact("verbs", cs_ib_name(ib));
	cs_ib_count(ib, &counters);
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
		cs_report_number(lines[i].name,
				 *(const uint64_t *)(const void *)(
					 (const char *)&counters + lines[i].offset));
}

void
cs_rdma_close(void)
{
	cs_ib_close(atomic_exchange(&here.ib, NULL));
}

/* --- the exchange ----------------------------------------------------------------------------- */

/* The leader of the node `distance` after the own one; -1 if that is the own node. */
static int
leader_of(const struct cs_team *team, int distance)
{
	const struct cs_shape *shape = &team->shape;
	int node = (shape->node + distance + shape->nodes) % shape->nodes;
	return node == shape->node
	       ? -1 : shape->order[shape->first[node] + cs_team_leader_of(team, node)];
}

static void
fill(unsigned char *bytes, size_t count, int from, int to)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (unsigned char)(i * 31 + (size_t)from * 7 + (size_t)to);
}

struct trial {
	int peer;
	struct cs_request requests[4];
	unsigned char out[SMALL + LARGE], in[SMALL + LARGE];
};

static void
start_trial(struct cs_wire *wire, struct trial *trial)
{
	struct cs_request *requests = trial->requests;
	fill(trial->out, sizeof trial->out, wire->rank, trial->peer);
	wire->recv(wire, &requests[0], trial->peer, TRIAL_TAG, trial->in, SMALL);
	wire->recv(wire, &requests[1], trial->peer, TRIAL_TAG, trial->in + SMALL, LARGE);
	wire->send(wire, &requests[2], trial->peer, TRIAL_TAG, trial->out, SMALL);
	wire->send(wire, &requests[3], trial->peer, TRIAL_TAG, trial->out + SMALL, LARGE);
}

static bool
end_trial(struct cs_wire *wire, struct trial *trial)
{
	for (int i = 0; i < 4; i++)
		wire->wait(wire, &trial->requests[i]);
	fill(trial->out, sizeof trial->out, trial->peer, wire->rank);
	return !memcmp(trial->in, trial->out, sizeof trial->in) &&
	       cs_ib_wire_way(wire, trial->peer) == CS_IB_BY_VERBS;
}

/* Exchanges a small and a large message with the leaders of the next and of the previous node.
 * Other ranks do nothing. */
static bool
is_tried_well(struct cs_comm *communicator)
{
	const struct cs_team *team = &communicator->seat->team;
	struct cs_wire *wire = cs_host_wire(&communicator->seat->everyone);
	int peers[2] = { leader_of(team, 1), leader_of(team, -1) };
	if (!communicator->seat->everyone.verbs)
		return false;
	if (!cs_team_is_leader(team))
		return true;
	struct trial *trials = calloc(2, sizeof *trials);
	if (!trials) {
		cs_warn_local("no memory for a trial of verbs; ending the job");
		cs_host_mpi.abort("out of memory");
	}
	int count = peers[0] == peers[1] ? 1 : 2;
	bool is_well = true;
	for (int i = 0; i < count; i++) {
		trials[i].peer = peers[i];
		start_trial(wire, &trials[i]);
	}
	for (int i = 0; i < count; i++)
		is_well &= end_trial(wire, &trials[i]);
	free(trials);
	return is_well;
}

/* --- agreeing --------------------------------------------------------------------------------- */

/* The minimum of each word over all ranks; zeros if the MPI fails. */
static void
least(struct cs_comm *communicator, int *words, int count)
{
	int all[CS_RDMA_WORDS] = { 0 };
	if (cs_pmpi.Allreduce(words, all, count, MPI_INT, MPI_MIN, communicator->comm))
		memset(all, 0, sizeof all);
	memcpy(words, all, (size_t)count * sizeof *words);
}

/* Is this rank to log the reason? The speaker logs for all ranks, unless its process has met the
 * reason on another communicator. */
static bool
is_to_say(const struct cs_comm *communicator, int speaker, unsigned reason)
{
	static atomic_bool is_known[2];
	if (speaker == INT_MAX || atomic_exchange(&is_known[reason - REASON_NO_VERBS], true))
		return false;
	return speaker == communicator->seat->team.shape.rank && cs_log_is_first(reason);
}

/* Words of the agreement: can all; the negated "can", whose minimum shows whether any rank can; the
 * first rank that has cause to complain; the first that cannot. A machine without RDMA is no
 * trouble unless verbs or a device were asked for; one rank without it among others is, and a
 * device that fails. */
enum { CAN, CAN_ANY, COMPLAINS, CANNOT };
_Static_assert(CANNOT + 1 == CS_RDMA_WORDS, "as many words");

void
cs_rdma_say(int rank, int words[CS_RDMA_WORDS])
{
	bool is_off = cs_selector_limits(cs_engine.selector)->wire == CS_WIRE_HOST;
	if (!is_off)
		open_here();
	bool can = cs_rdma_here() != NULL;
	bool is_asked = cs_selector_limits(cs_engine.selector)->wire == CS_WIRE_IB ||
			cs_engine.settings.ib_device;
	bool has_cause = !can && !is_off && (is_asked || here.status != CS_UNSUPPORTED);
	words[CAN] = can;
	words[CAN_ANY] = -can;
	words[COMPLAINS] = has_cause ? rank : INT_MAX;
	words[CANNOT] = can ? INT_MAX : rank;
}

static bool
can_all(struct cs_comm *communicator)
{
	struct cs_rdma_said *said = &communicator->seat->rdma;
	if (!said->is_agreed) {
		cs_rdma_say(communicator->seat->team.shape.rank, said->least);
		least(communicator, said->least, CS_RDMA_WORDS);
	}
	const int *words = said->least;
	if (!words[CAN] && is_to_say(communicator, words[CAN_ANY] < 0 ? words[CANNOT]
								   : words[COMPLAINS],
				     REASON_NO_VERBS))
		cs_warn_local("rank %d has no verbs (%s); plans of its communicators send by MPI",
			      cs_engine.world_rank, here.why);
	return words[CAN];
}

static void
use_verbs(struct cs_comm *communicator, struct cs_ib *ib)
{
	communicator->seat->everyone.ib = ib;
	communicator->seat->everyone.node_of = communicator->seat->team.shape.node_of;
}

/* --- calls that a thread steps without the MPI ------------------------------------------------ */

/* Is it asked for, and of use? An MPI that has us called whenever it waits needs no thread. */
static bool
is_thread_wanted(const struct cs_shape *shape)
{
#ifdef CS_STANDARD_ABI
	return false; /* MPICH's has its extensions by other names; not tried */
#endif
	return cs_engine.settings.progress == CS_PROGRESS_THREAD &&
	       cs_engine.settings.is_nonblocking && shape->nodes <= MOST_CONNECTED &&
	       cs_engine.door->lookup("PMPIX_Grequest_start");
}

/* False: some talk by the MPI. */
static bool
are_connected(struct cs_group *lane)
{
	struct cs_wire *wire = cs_host_wire(lane);
	bool are_all = true;
	for (int distance = 1; distance < wire->ranks; distance++) {
		int to = (wire->rank + distance) % wire->ranks,
		    from = (wire->rank - distance + wire->ranks) % wire->ranks;
		char out = 0, in;
		struct cs_request requests[2];
		wire->recv(wire, &requests[0], from, TRIAL_TAG, &in, sizeof in);
		wire->send(wire, &requests[1], to, TRIAL_TAG, &out, sizeof out);
		wire->wait(wire, &requests[0]);
		wire->wait(wire, &requests[1]);
		are_all &= cs_ib_wire_way(wire, to) == CS_IB_BY_VERBS;
	}
	return are_all;
}

bool
cs_rdma_connect_lane(struct cs_group *lane)
{
	char trouble[256];
	if (lane->comm == MPI_COMM_NULL)
		return true;
	cs_ib_trial_begin(cs_rdma_here());
	bool is_connected = are_connected(lane);
	cs_ib_trial_end(cs_rdma_here(), trouble, sizeof trouble);
	if (!is_connected)
		cs_info("ib: rank %d: a lane is not all by verbs: %s", cs_engine.world_rank,
			trouble);
	return is_connected;
}

/* May a thread step non-blocking calls without the MPI? All leaders talk by verbs (so
 * do the ranks of later lanes, or these are not made), and all processors have the same features,
 * so that the same reductions have kernels. */
static bool
agree_on_thread(struct cs_comm *communicator)
{
	if (!is_thread_wanted(&communicator->seat->team.shape))
		return false;
	int digest = (int)(cs_machine_features() >> 33);
	bool is_connected = cs_rdma_connect_lane(&communicator->seat->leaders);
	int words[3] = { is_connected && digest, digest, -digest };
	least(communicator, words, 3);
	return words[0] && words[1] == -words[2];
}

void
cs_rdma_agree(struct cs_comm *communicator)
{
	const struct cs_shape *shape = &communicator->seat->team.shape;
	struct cs_segment *segment = &communicator->seat->team.node.segment;
	communicator->seat->selection.facts.wire = CS_WIRE_HOST;
	if (shape->nodes == 1 || cs_selector_limits(cs_engine.selector)->wire == CS_WIRE_HOST ||
	    !can_all(communicator) || cs_group_open(&communicator->seat->everyone))
		return;
	struct cs_ib *ib = cs_rdma_here();
	use_verbs(communicator, ib);
	/* If refused, direct messages are sent in fragments. */
	if (segment->base)
		communicator->seat->pin = cs_ib_pin(ib, segment->base, segment->bytes);
	cs_ib_trial_begin(ib);
	bool is_well = is_tried_well(communicator);
	char trouble[256];
	bool has_trouble = cs_ib_trial_end(ib, trouble, sizeof trouble);
	int words[2] = { is_well, has_trouble ? shape->rank : INT_MAX };
	least(communicator, words, 2);
	if (!words[0]) {
		cs_group_close(&communicator->seat->everyone);
		communicator->seat->everyone.parent = communicator->comm;
		if (is_to_say(communicator, words[1] == INT_MAX ? 0 : words[1], REASON_TRIAL))
			cs_warn_local("rank %d: verbs failed in the trial between nodes%s%s; plans "
				      "of this communicator "
				      "(%d ranks) send by MPI",
				      cs_engine.world_rank, has_trouble ? ": " : "", trouble,
				      shape->ranks);
		cs_rdma_drop(communicator);
		return;
	}
	communicator->seat->leaders.ib = ib;
	communicator->seat->selection.facts.wire = CS_WIRE_IB;
	communicator->seat->selection.facts.by_thread = agree_on_thread(communicator);
}

void
cs_rdma_drop(struct cs_comm *communicator)
{
	struct cs_ib *ib = cs_rdma_here();
	if (ib && communicator->seat->pin)
		cs_ib_unpin(ib, communicator->seat->pin);
	communicator->seat->pin = NULL;
}
