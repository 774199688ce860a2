/* comm/make_team.c — making a team: who is where, a segment per node, one word from everybody.
 *
 * Everything here is collective over the communicator and happens inside a collective call of the program's. A rank's
 * trouble (no memory, another setting) is agreed in one MPI_Allreduce; then all have the team or nobody has. */
#include "comm/member.h"

#include "base/clock.h"
#include "base/float_guard.h"
#include "base/log.h"
#include "base/parse.h"
#include "comm/engine.h"
#include "comm/pmpi.h"
#include "comm/polite.h"
#include "comm/rdma.h"
#include "shm/pool.h"
#include "topo/topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Why a rank cannot; the largest of all ranks' troubles is the communicator's. */
enum trouble {
	NONE,
	NO_SEGMENT, /* first: it is also what the others know when their leader has none */
	SHM_OFF,
	NO_BUDGET,
	NO_ROOM, /* and one for each limit: NO_ROOM + enum cs_limit */
	NO_COMMIT = NO_ROOM + CS_LIMITS,
	NO_ATTACH,
	NO_SHARE,
	NO_COMM,
	MIGHT_HANG,
	NO_MEMORY,
	DISABLED,
	NOT_ALIKE,
	TROUBLES,
};

static const char *const troubles[TROUBLES] = {
	[NO_SEGMENT] = "no shared memory could be made",
	[SHM_OFF] = "shared memory is switched off by COLLSHIM_SHM",
	[NO_BUDGET] = "the budget of shared memory is spent",
	[NO_ROOM + CS_LIMIT_MACHINE] = "the machine has too little memory left for shared memory (MemAvailable)",
	[NO_ROOM + CS_LIMIT_MAX] = "the control group has too little memory left for shared memory (memory.max)",
	[NO_ROOM + CS_LIMIT_HIGH] = "the control group has too little memory left for shared memory (memory.high)",
	[NO_ROOM + CS_LIMIT_V1] = "the control group has too little memory left for shared memory (memory.limit_in_bytes)",
	[NO_COMMIT] = "shared memory is full",
	[NO_ATTACH] = "shared memory of another process could not be attached",
	[NO_SHARE] = CS_GROUPS_ARE_MANY,
	[NO_COMM] = CS_GROUP_WAS_REFUSED,
	[MIGHT_HANG] = CS_GROUP_MIGHT_HANG,
	[NO_MEMORY] = "out of memory",
	[DISABLED] = "disabled by COLLSHIM_DISABLE",
	[NOT_ALIKE] = "the ranks differ in version, settings or tuning",
};

/* Which fake node a rank of MPI_COMM_WORLD is on (COLLSHIM_FAKE_NODES), or -1 if it says nothing useful. */
static int
fake_node(const char *spec, int world_rank, int world_size)
{
	char *end;
	if (!strncmp(spec, "cyclic:", 7)) {
		long nodes = strtol(spec + 7, &end, 10);
		return nodes > 0 && !*end ? (int)(world_rank % nodes) : -1;
	}
	long first = strtol(spec, &end, 10);
	if (first <= 0)
		return -1;
	if (!*end) { /* K nodes of equal size, the first ones larger by one if need be */
		long each = world_size / first, larger = world_size % first;
		if (each == 0)
			return world_rank;
		return (int)(world_rank < larger * (each + 1)
				     ? world_rank / (each + 1)
				     : larger + (world_rank - larger * (each + 1)) / each);
	}
	/* "3,2,1": ranks per node; what is left over goes to the last. */
	long node = 0, until = first;
	while (world_rank >= until && *end == ',') {
		long more = strtol(end + 1, &end, 10);
		if (more <= 0)
			return -1;
		until += more;
		node++;
	}
	return (int)node;
}

/* The communicator of the node's ranks; the team's own where all are on one: nothing is split then, which under MPICH takes many
 * time slices where ranks share cores, and may be made where a pending copy forbids to split. */
static enum trouble
find_node(struct cs_member *member, MPI_Comm *node)
{
	const char *spec = cs_engine.settings.fake_nodes;
	int fake = spec ? fake_node(spec, cs_engine.world_rank, cs_engine.world_size) : -1;
	uint64_t word = fake < 0 ? cs_topo_node() : 0;
	uint64_t mine[3] = { word, ~word, !atomic_load(&cs_engine.has_duplicated) }, least[3] = { 0 };
	if (cs_polite_allreduce(mine, least, 3, MPI_UINT64_T, MPI_MIN, member->comm))
		return NO_COMM;
	*node = member->comm;
	if (least[0] && least[0] == ~least[1])
		return NONE;
	if (!least[2])
		return MIGHT_HANG;
	if (cs_pmpi.Comm_split_type(member->comm, MPI_COMM_TYPE_SHARED, member->rank, MPI_INFO_NULL, node))
		return NO_COMM;
	if (fake < 0)
		return NONE;
	MPI_Comm whole = *node;
	int result = cs_pmpi.Comm_split(whole, fake, member->rank, node);
	cs_pmpi.Comm_free(&whole);
	return result == MPI_SUCCESS ? NONE : NO_COMM;
}

/* The shape from each rank's "lowest rank of my node"; all arrays in one allocation, owned by shape->node_of. */
static bool
shape_make(struct cs_shape *shape, const int *leader_of, int rank, int ranks)
{
	size_t words = 4 * (size_t)ranks + (size_t)ranks + 1;
	int *memory = calloc(words, sizeof *memory);
	if (!memory) {
		cs_warn_local("no memory for the shape of a team of %d ranks; ending the job", ranks);
		cs_host_mpi.abort("out of memory");
	}
	*shape = (struct cs_shape){ .rank = rank, .ranks = ranks, .node_of = memory };
	shape->local_of = memory + ranks;
	shape->order = shape->local_of + ranks;
	shape->position = shape->order + ranks;
	shape->first = shape->position + ranks;
	/* Leaders come before their nodes' other ranks, so one pass numbers the nodes by lowest rank. */
	for (int r = 0; r < ranks; r++) {
		int leader = leader_of[r];
		if (leader < 0 || leader > r) {
			free(memory);
			return false;
		}
		shape->node_of[r] = leader == r ? shape->nodes++ : shape->node_of[leader];
		shape->local_of[r] = shape->first[shape->node_of[r]]++;
	}
	shape->ppn_min = shape->ppn_max = shape->first[0];
	for (int node = 0, at = 0; node <= shape->nodes; node++) {
		int size = node < shape->nodes ? shape->first[node] : 0;
		shape->first[node] = at;
		at += size;
		if (node < shape->nodes && size < shape->ppn_min)
			shape->ppn_min = size;
		if (size > shape->ppn_max)
			shape->ppn_max = size;
	}
	shape->is_block_placed = true;
	for (int r = 0; r < ranks; r++) {
		shape->position[r] = shape->first[shape->node_of[r]] + shape->local_of[r];
		shape->order[shape->position[r]] = r;
		if (shape->position[r] != r)
			shape->is_block_placed = false;
	}
	shape->node = shape->node_of[rank];
	shape->local = shape->local_of[rank];
	shape->locals = shape->first[shape->node + 1] - shape->first[shape->node];
	return true;
}

/* Which rank of the communicator is the first of the node. */
static bool
find_leader(struct cs_member *member, MPI_Comm node, int *leader)
{
	MPI_Group here, all;
	int zero = 0;
	if (cs_pmpi.Comm_group(node, &here))
		return false;
	if (cs_pmpi.Comm_group(member->comm, &all) == MPI_SUCCESS) {
		cs_pmpi.Group_translate_ranks(here, 1, &zero, all, leader);
		cs_pmpi.Group_free(&all);
	}
	cs_pmpi.Group_free(&here);
	return true;
}

static bool
learn_shape(struct cs_member *member, MPI_Comm node, struct cs_shape *shape)
{
	int leader = -1;
	if (node != member->comm && !find_leader(member, node, &leader))
		return false;
	int *leader_of = calloc((size_t)member->size, sizeof *leader_of);
	/* Without memory the allgather is still owed to the others; a process that cannot get these few bytes cannot
	 * go on anyway. */
	if (!leader_of) {
		cs_warn_local("no memory to learn where %d ranks are; ending the job", member->size);
		cs_host_mpi.abort("out of memory");
	}
	bool ok = (node == member->comm ||
		   cs_polite_allgather(&leader, 1, MPI_INT, leader_of, member->comm) == MPI_SUCCESS) &&
		  shape_make(shape, leader_of, member->rank, member->size);
	free(leader_of);
	return ok;
}

/* Rings of a fat node take smaller slots, so that a team stays below RINGS bytes. By the largest node: slots are equal on
 * all, since rounds between nodes are counted in them. */
#define RINGS ((size_t)32 << 20)

static size_t
slot_bytes(const struct cs_limits *limits, const struct cs_shape *shape)
{
	size_t bytes = limits->slot_bytes;
	while (bytes > (64 << 10) && bytes * limits->slots * (size_t)shape->ppn_max > RINGS)
		bytes /= 2;
	/* A line of it for each rank of the node, in any case. */
	size_t least = 64 * (size_t)shape->ppn_max;
	return bytes > least ? bytes : least;
}

/* The area also carries tables: two sizes for each pair of a local rank and a rank (alltoallv). */
static size_t
area_bytes(const struct cs_limits *limits, const struct cs_shape *shape)
{
	size_t table = 2 * sizeof(size_t) * (size_t)shape->ppn_max * (size_t)shape->ranks;
	table = (table + 63) & ~(size_t)63;
	return table > limits->area_bytes ? table : limits->area_bytes;
}

static struct cs_node_shape
node_shape(const struct cs_shape *shape)
{
	const struct cs_limits *limits = cs_selector_limits(cs_engine.selector);
	return (struct cs_node_shape){
		.local = shape->local,
		.size = shape->locals,
		.slots = limits->slots < CS_MAX_SLOTS ? limits->slots : CS_MAX_SLOTS,
		.slot_bytes = slot_bytes(limits, shape),
		.area_slots = shape->nodes > 1 ? limits->area_slots : 0,
		.area_bytes = shape->nodes > 1 ? area_bytes(limits, shape) : 0,
		.spin = limits->spin,
		.yields = limits->yields,
		.streams = cs_engine.settings.streams,
	};
}

static void
account(size_t bytes)
{
	uint64_t now = atomic_fetch_add(&cs_engine.shm_bytes, bytes) + bytes;
	if (now > atomic_load(&cs_engine.shm_peak))
		atomic_store(&cs_engine.shm_peak, now);
}

/* What the leader tells the others of the node. */
struct offer {
	struct cs_segment_ticket ticket; /* bytes 0: it has none */
	struct cs_claim claim;
};

static enum trouble
trouble_of(enum cs_refusal refusal, enum cs_limit by)
{
	return refusal == CS_CLAIM_FITS ? NONE : refusal == CS_CLAIM_BUDGET ? NO_BUDGET : (enum trouble)(NO_ROOM + by);
}

/* The leader's: may there be such a segment? */
static enum trouble
claim_bytes(size_t bytes, int sharers, struct cs_claim *claim)
{
	enum cs_limit by;
	if (cs_engine.settings.shm == CS_SHM_OFF)
		return SHM_OFF;
	enum cs_refusal refusal = cs_ledger_claim(claim, cs_segment_round(bytes), sharers, &by);
	enum trouble trouble = trouble_of(refusal, by);
	if (trouble != NONE)
		cs_info("shm: %zu bytes more would be over the %llu that segments may have here (%s)", bytes,
			(unsigned long long)claim->most, by == CS_LIMIT_NONE ? "shm_budget" : cs_limit_name(by));
	return trouble;
}

/* The leader's part: makes the segment, *ticket tells the others. */
static enum trouble
create_segment(size_t bytes, struct cs_segment *segment, struct cs_segment_ticket *ticket)
{
	if (cs_segment_create(segment, bytes, cs_engine.settings.shm) != CS_OK) {
		cs_info("shm: a segment of %zu bytes was refused: %m", bytes);
		return NO_SEGMENT;
	}
	*ticket = segment->ticket;
	return NONE;
}

static enum trouble
commit_share(const struct cs_node_shape *shape, struct cs_segment *segment)
{
	size_t from, share, area_from, area_share = 0;
	cs_node_share(shape, shape->local, &from, &share);
	if (shape->local == 0)
		cs_node_area_share(shape, &area_from, &area_share);
	if (cs_segment_commit(segment, from, share) == CS_OK &&
	    (!area_share || cs_segment_commit(segment, area_from, area_share) == CS_OK))
		return NONE;
	cs_info("shm: %zu bytes were refused: %m", share + area_share);
	return NO_COMMIT;
}

/* What one of them has to say to the leader's segment; the least is all of theirs. */
enum { CANNOT_ATTACH, MAY_NOT_ATTACH, HAS_ATTACHED };

static int
attach_segment(const struct offer *offer, int sharers, struct cs_segment *segment, enum trouble *trouble)
{
	enum cs_limit by;
	if (cs_segment_attach(segment, &offer->ticket) != CS_OK) {
		cs_info("shm: attaching was refused: %m");
		return CANNOT_ATTACH;
	}
	uint64_t part = cs_ledger_part(segment->bytes, sharers);
	enum cs_refusal refusal = cs_ledger_take(&offer->claim, part, &by);
	*trouble = trouble_of(refusal, by);
	if (*trouble != NONE)
		return MAY_NOT_ATTACH;
	segment->charge = part;
	return HAS_ATTACHED;
}

/* The leader makes a segment and the others attach it: with NONE all of the node have. After NO_ATTACH the leader still
 * has it open, and cs_segment_create makes one with a name in its place. */
static enum trouble
hand_round(MPI_Comm node, size_t bytes, const struct cs_node_shape *shape, struct offer *offer, struct cs_segment *segment,
	   enum trouble trouble)
{
	bool is_leader = shape->local == 0;
	offer->ticket.bytes = 0;
	if (is_leader && trouble == NONE)
		trouble = create_segment(bytes, segment, &offer->ticket);
	cs_polite_bcast(offer, (int)sizeof *offer, MPI_BYTE, 0, node);
	if (offer->ticket.bytes == 0)
		return trouble != NONE ? trouble : NO_SEGMENT;
	int has = is_leader ? HAS_ATTACHED : attach_segment(offer, shape->size, segment, &trouble), all_have = 0;
	cs_polite_allreduce(&has, &all_have, 1, MPI_INT, MPI_MIN, node);
	if (all_have == HAS_ATTACHED)
		return NONE;
	if (!is_leader) {
		cs_ledger_give_back(segment->charge);
		cs_segment_close(segment);
		segment->charge = 0;
	}
	return all_have == CANNOT_ATTACH ? NO_ATTACH : trouble != NONE ? trouble : NO_SEGMENT;
}

static void
evict_idle(bool only_dropped)
{
	uint64_t charge;
	atomic_fetch_sub(&cs_engine.shm_bytes, cs_pool_evict(only_dropped, &charge));
	cs_ledger_give_back(charge);
}

/* A new segment for the node's processes. Collective over `node`. */
static enum trouble
new_segment(MPI_Comm node, const struct cs_node_shape *shape, struct cs_segment *segment)
{
	size_t bytes = cs_node_bytes(shape);
	struct offer offer = { 0 };
	enum trouble trouble = NONE;
	evict_idle(true);
	if (cs_pool_has_idle() && cs_ledger_is_short(bytes, shape->size))
		evict_idle(false);
	if (shape->local == 0)
		trouble = claim_bytes(bytes, shape->size, &offer.claim);
	trouble = hand_round(node, bytes, shape, &offer, segment, trouble);
	/* Whether by name is left to try is known to all from the leader's ticket. */
	if (trouble == NO_ATTACH && !offer.ticket.is_named &&
	    hand_round(node, bytes, shape, &offer, segment, NONE) == NONE)
		trouble = NONE;
	if (shape->local == 0) {
		segment->charge = trouble == NONE ? cs_ledger_part(segment->bytes, shape->size) : 0;
		cs_ledger_settle(&offer.claim, segment->charge);
	}
	if (trouble != NONE) {
		cs_segment_close(segment);
		return trouble;
	}
	account(segment->bytes);
	return commit_share(shape, segment);
}

static void
close_segment(struct cs_segment *segment)
{
	if (!segment->base)
		return;
	atomic_fetch_sub(&cs_engine.shm_bytes, segment->bytes);
	cs_ledger_give_back(segment->charge);
	cs_pool_forget(segment);
	cs_segment_close(segment);
}

/* The segment that a former team of just these processes left in everybody's pool. Collective over `node`. */
static bool
pooled_segment(MPI_Comm node, const struct cs_node_shape *shape, const int64_t *pids, struct cs_segment *segment)
{
	struct cs_segment_ticket ticket = { .bytes = 0 };
	if (shape->local == 0)
		cs_pool_offer(pids, shape->size, cs_node_bytes(shape), &ticket);
	cs_polite_bcast(&ticket, (int)sizeof ticket, MPI_BYTE, 0, node);
	if (ticket.bytes == 0)
		return false;
	int have = cs_pool_take(&ticket, segment), all_have = 0;
	cs_polite_allreduce(&have, &all_have, 1, MPI_INT, MPI_MIN, node);
	if (!all_have) /* nobody can use what one of them has dropped, and it would be offered again and again */
		close_segment(segment);
	return all_have;
}

static enum trouble
open_segment(MPI_Comm node, const struct cs_node_shape *shape, struct cs_segment *segment)
{
	int64_t pid = getpid();
	int64_t *pids = malloc((size_t)shape->size * sizeof *pids);
	enum trouble trouble = NONE;
	if (!pids) {
		cs_warn_local("no memory for a list of %d processes; ending the job", shape->size);
		cs_host_mpi.abort("out of memory");
	}
	cs_polite_allgather(&pid, 1, MPI_INT64_T, pids, node);
	if (!pooled_segment(node, shape, pids, segment)) {
		trouble = new_segment(node, shape, segment);
		if (trouble == NONE)
			cs_pool_remember(segment, pids, shape->size);
	}
	free(pids);
	return trouble;
}

/* The worst of all ranks' troubles; different digests are one. */
static enum trouble
agree(struct cs_member *member, enum trouble mine)
{
	uint64_t words[3] = { TROUBLES - mine, cs_engine.digest, ~cs_engine.digest }, least[3] = { 0 };
	if (cs_polite_allreduce(words, least, 3, MPI_UINT64_T, MPI_MIN, member->comm))
		return NO_MEMORY;
	if (least[1] != ~least[2])
		return NOT_ALIKE;
	return TROUBLES - least[0];
}

#define MOST_LANES 4 /* or one for each NUMA domain, if that is more */

static void
choose_lanes(struct cs_team *team)
{
	const struct cs_shape *shape = &team->shape;
	int most = team->domains > MOST_LANES ? team->domains : MOST_LANES;
	team->lanes = shape->nodes == 1 ? 0 : shape->ppn_min < most ? shape->ppn_min : most;
	team->lane = CS_LANES;
	for (int lane = 0; lane < team->lanes; lane++) {
		if (team->domains == 1)
			team->lane_local[lane] = cs_lanes_local(lane, shape->node, team->lanes);
		if (team->lane_local[lane] == shape->local)
			team->lane = lane;
	}
}

static enum trouble
make_leaders(struct cs_member *member, struct cs_team *team)
{
	const struct cs_shape *shape = &team->shape;
	struct cs_group *leaders = &member->seat->leaders;
	choose_lanes(team);
	bool is_in_lane = team->lane < team->lanes;
	leaders->comm = MPI_COMM_NULL;
	if (shape->nodes == 1)
		return NONE;
	/* Ordered by rank is ordered by node only for the leaders; so ask for the nodes' order. */
	if (cs_pmpi.Comm_split(member->comm, is_in_lane ? team->lane : MPI_UNDEFINED, shape->node, &leaders->comm)) {
		leaders->comm = MPI_COMM_NULL;
		return NO_COMM;
	}
	cs_group_count(leaders);
	leaders->nodes = shape->nodes;
	leaders->node = shape->node;
	leaders->ints = is_in_lane ? calloc(4 * (size_t)shape->nodes, sizeof(int)) : NULL;
	if (is_in_lane)
		cs_pmpi.Comm_set_errhandler(leaders->comm, MPI_ERRORS_RETURN);
	return !is_in_lane || leaders->ints ? NONE : NO_MEMORY;
}

static void
drop_groups(struct cs_member *member)
{
	cs_group_close(&member->seat->leaders);
	cs_group_close(&member->seat->everyone);
}

_Static_assert(sizeof(struct cs_topo_machine) <= CS_NODE_TABLE, "the segment has room for the machine");
_Static_assert(sizeof((struct cs_rank_head *)0)->cpus == CS_TOPO_CPUS / 8, "a rank tells of the CPUs that the machine is told of");

/* Of one node's ranks nobody asks in which domains they are. Else one of them looks, and others in later teams need not. */
static void
tell_machine(struct cs_team *team)
{
	if (team->node.table && team->shape.local == 0)
		memcpy(team->node.table, cs_topo_machine(), sizeof(struct cs_topo_machine));
}

/* By what the process is bound to, or, for tests, by its place among the node's: consecutive parts of them. */
static int
domain_of(struct cs_team *team, int local)
{
	int fake = cs_engine.settings.fake_domains;
	if (fake)
		return (int)((int64_t)local * fake / team->shape.locals);
	return cs_topo_spot(team->node.table, cs_node_rank(&team->node, local)->cpus).at[CS_TOPO_DOMAIN];
}

/* Domains that the node's ranks span, and which ranks would be in its lanes for that: by the same table and the same masks on
 * all of them, once they have met. */
static void
learn_domains(struct cs_team *team)
{
	struct cs_shape *shape = &team->shape;
	int locals = shape->locals;
	if (!team->node.table)
		return;
	cs_topo_learn(team->node.table);
	int *numa = malloc((size_t)locals * sizeof *numa);
	if (!numa) {
		cs_warn_local("no memory for the places of %d ranks; ending the job", locals);
		cs_host_mpi.abort("out of memory");
	}
	for (int local = 0; local < locals; local++)
		numa[local] = domain_of(team, local);
	shape->numa_domains = cs_lanes_domains(numa, locals);
	if (shape->numa_domains > 1)
		cs_lanes_order(numa, locals, locals < CS_LANES ? locals : CS_LANES, team->lane_local);
	free(numa);
}

/* What the least able process or node of the communicator can is what all do: one answer keeps the algorithms simple.
 * That is single copy, and one lane for each NUMA domain. */
static void
learn_least(struct cs_member *member, struct cs_team *team)
{
	int mine[2] = { 0, team->shape.numa_domains }, least[2] = { 0, 0 };
	mine[0] = cs_engine.settings.cma != CS_SWITCH_OFF && cs_node_probe_cma(&team->node);
	if (cs_polite_allreduce(mine, least, 2, MPI_INT, MPI_MIN, member->comm) == MPI_SUCCESS) {
		team->has_cma = least[0];
		team->domains = least[1] < CS_LANES ? least[1] : CS_LANES;
	}
	if (team->domains < 1)
		team->domains = 1;
	if (!team->has_cma && cs_engine.settings.cma == CS_SWITCH_ON)
		cs_warn_once("COLLSHIM_CMA=on, but the kernel refuses process_vm_readv between ranks; "
			     "data is copied twice");
}

/* Rank 0 of MPI_COMM_WORLD speaks for each communicator that it is in, and rank 0 of another one for that. */
static bool
is_spokesman(const struct cs_member *member)
{
	MPI_Group group;
	int zero = 0, of_world = MPI_UNDEFINED;
	if (cs_pmpi.Comm_group(member->comm, &group))
		return cs_log_is_speaker();
	cs_pmpi.Group_translate_ranks(cs_engine.world, 1, &zero, group, &of_world);
	cs_pmpi.Group_free(&group);
	return member->rank == (of_world == MPI_UNDEFINED ? 0 : of_world);
}

static void
refuse(struct cs_member *member, enum trouble trouble)
{
	static _Atomic int is_known[TROUBLES], is_said[TROUBLES];
	member->state = CS_MEMBER_HOST;
	member->reason = troubles[trouble];
	atomic_fetch_add(&cs_engine.teams_refused, 1);
	if (trouble == MIGHT_HANG || trouble == DISABLED || trouble == SHM_OFF) { /* nothing that anybody can mend, or is to */
		if (member->rank == 0)
			cs_info("%s; this communicator (%d ranks) stays with MPI", troubles[trouble], member->size);
		return;
	}
	/* Once in each process, and where several communicators have the trouble at once, by one of their spokesmen. */
	if (atomic_exchange(&is_known[trouble], 1) || !is_spokesman(member) || !cs_log_is_first(trouble))
		return;
	cs_log_warn_local(&is_said[trouble], "%s; this communicator (%d ranks) stays with MPI", troubles[trouble],
			  member->size);
}

/* Before anything is made, where MPI_Init was not seen: some processes, or all, may be disabled. */
static enum trouble
agree_late(struct cs_member *member)
{
	if (cs_engine.is_init_seen)
		return NONE;
	return agree(member, cs_engine.settings.is_disabled ? DISABLED : NONE);
}

static void
make(struct cs_member *member)
{
	struct cs_team *team = &member->seat->team;
	struct cs_segment segment = { .fd = -1 };
	MPI_Comm node = MPI_COMM_NULL;
	member->seat->leaders = (struct cs_group){ .comm = MPI_COMM_NULL, .parent = MPI_COMM_NULL };
	member->seat->everyone = (struct cs_group){ .comm = MPI_COMM_NULL, .parent = member->comm };
	enum trouble trouble = agree_late(member);
	member->is_alike = trouble == NONE;
	if (trouble == NONE)
		trouble = find_node(member, &node);
	if (trouble != NONE) { /* the same on all ranks */
		refuse(member, trouble);
		return;
	}
	bool has_shape = learn_shape(member, node, &team->shape);
	trouble = has_shape ? NONE : NO_MEMORY;
	/* One rank on each node: nothing to share, but plans between all ranks may serve. */
	bool has_node = has_shape && team->shape.ppn_max > 1;
	struct cs_node_shape shape = { 0 };
	if (has_shape) {
		if (has_node) {
			shape = node_shape(&team->shape);
			trouble = open_segment(node, &shape, &segment);
		}
		team->work = calloc(4 * (size_t)team->shape.nodes, sizeof *team->work);
		if (!member->sizes)
			member->sizes = malloc(4 * (size_t)member->size * sizeof *member->sizes);
		if (has_node && team->shape.nodes > 1 && trouble == NONE && cs_groups_are_many())
			trouble = NO_SHARE;
		if (!team->work || !member->sizes)
			trouble = NO_MEMORY;
	}
	trouble = agree(member, trouble);
	if (segment.base)
		cs_segment_seal(&segment);
	team->lane = CS_LANES;
	team->domains = 1;
	if (trouble == NONE && !has_node)
		team->node.shape.slot_bytes = team->node.shape.area_bytes = SIZE_MAX; /* no element is too large */
	if (trouble == NONE && has_node) {
		cs_node_init(&team->node, &shape, &segment, &cs_host_mpi);
		team->node.rank_of = &team->shape.order[team->shape.first[team->shape.node]];
		team->node.all_ranks = team->shape.ranks;
		team->node.nodes = team->shape.nodes;
		cs_node_arm(&team->node);
		if (team->shape.ranks == cs_engine.world_size)
			cs_ledger_open_page(&member->seat->page, &team->node);
		tell_machine(team);
		cs_polite_barrier(node);
		cs_ledger_ready_page(&member->seat->page);
		cs_node_meet(&team->node);
		learn_domains(team);
		learn_least(member, team);
		trouble = agree(member, make_leaders(member, team));
	}
	if (node != member->comm)
		cs_pmpi.Comm_free(&node);
	if (trouble != NONE) {
		drop_groups(member);
		cs_ledger_close_page(&member->seat->page);
		close_segment(team->node.segment.base ? &team->node.segment : &segment);
		free(team->work);
		free(team->shape.node_of);
		refuse(member, trouble);
		return;
	}
	team->host = &cs_host_mpi;
	team->leaders = member->seat->leaders.comm != MPI_COMM_NULL ? &member->seat->leaders : NULL;
	team->everyone = &member->seat->everyone;
	member->seat->runner.team = team;
	member->seat->runner.facts = (struct cs_facts){
		.ranks = team->shape.ranks,
		.nodes = team->shape.nodes,
		.ppn_min = team->shape.ppn_min,
		.ppn_max = team->shape.ppn_max,
		.is_block_placed = team->shape.is_block_placed,
		.wire = CS_WIRE_HOST,
	};
	cs_rdma_agree(member);
	member->seat->leaders.is_truncated = member->seat->everyone.is_truncated = false;
	member->state = CS_MEMBER_TEAM;
	atomic_fetch_add(&cs_engine.teams_made, 1);
	atomic_fetch_add(&cs_engine.teams_alive, 1);
	if (member->rank == 0)
		cs_info("team of %d ranks on %d node%s (%d to %d ranks each, %s), %zu bytes shared per node%s%s%s",
			team->shape.ranks, team->shape.nodes, team->shape.nodes == 1 ? "" : "s",
			team->shape.ppn_min, team->shape.ppn_max,
			team->shape.is_block_placed ? "block placed" : "scattered", team->node.segment.bytes,
			team->lanes > 1 && team->domains > 1 ? ", lanes by NUMA domain" : "",
			team->node.is_crowded ? ", more ranks than cores" : "",
			member->seat->runner.facts.wire == CS_WIRE_IB ? ", verbs" : "");
}

static void
take_seat(struct cs_member *member)
{
	struct cs_seat *seat = calloc(1, sizeof *seat);
	if (!seat) {
		cs_warn_local("no memory for a team of %d ranks; ending the job", member->size);
		cs_host_mpi.abort("out of memory");
	}
	seat->runner.selector = cs_engine.selector;
	seat->runner.is_reporting = cs_no_seat.runner.is_reporting;
	member->seat = seat;
}

static void
leave_seat(struct cs_member *member)
{
	struct cs_seat *seat = member->seat;
	member->seat = &cs_no_seat;
	/* An answer that was looked up is the runner's. */
	member->answer = NULL;
	cs_runner_fini(&seat->runner);
	free(seat->packed[0].base);
	free(seat->packed[1].base);
	free(seat);
}

void
cs_member_make_team(struct cs_member *member)
{
	/* A host that runs out of context ids must tell us and not the program. */
	MPI_Errhandler handler;
	struct cs_float_state floats;
	if (cs_pmpi.Comm_get_errhandler(member->comm, &handler))
		return;
	cs_pmpi.Comm_set_errhandler(member->comm, MPI_ERRORS_RETURN);
	uint64_t before = cs_clock_ns(), none = 0;
	take_seat(member);
	cs_float_hold(&floats);
	make(member);
	cs_float_release(&floats);
	if (member->state == CS_MEMBER_TEAM)
		atomic_compare_exchange_strong(&cs_engine.first_team_ns, &none, cs_clock_ns() - before);
	else
		leave_seat(member);
	cs_pmpi.Comm_set_errhandler(member->comm, handler);
	cs_pmpi.Errhandler_free(&handler);
}

void
cs_member_drop_team(struct cs_member *member)
{
	struct cs_team *team = &member->seat->team;
	struct cs_float_state floats;
	if (member->state != CS_MEMBER_TEAM)
		return;
	cs_float_hold(&floats);
	drop_groups(member);
	cs_rdma_drop(member);
	cs_float_release(&floats);
	/* Others may still be reading what we wrote: the memory goes when the last of us unmaps it, or waits in the pool
	 * for a next team of the same processes, which all of them join only after they have left this one. */
	cs_ledger_close_page(&member->seat->page);
	evict_idle(true);
	if (team->node.segment.base && (cs_ledger_is_tight() || !cs_pool_put(&team->node.segment)))
		close_segment(&team->node.segment);
	free(team->work);
	free(team->shape.node_of);
	free(team->scratch.base);
	free(team->copy.base);
	free(team->plan.base);
	free(team->far.base);
	free(team->part.base);
	cs_plans_fini(&team->lane_plans);
	cs_plans_fini(&team->flat_plans);
	leave_seat(member);
	member->state = CS_MEMBER_HOST;
	atomic_fetch_sub(&cs_engine.teams_alive, 1);
}
