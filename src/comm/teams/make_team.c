/* comm/teams/make_team.c — makes a team: exchanges words of all ranks, finds nodes, makes a segment
 * per node.
 *
 * Everything here is collective over the communicator and happens inside a collective call of the
 * program's. The first exchange (team_say.c) decides most: on one node it may find a node of a
 * former team that all ranks have idle, and then nothing more is sent. Else a segment is made, and
 * troubles (no memory) are agreed on; all ranks have the team or none has. */
#include "comm/teams/make_team.h"

#include "algorithms/late/posted_receives.h"
#include "base/clock.h"
#include "base/float_guard.h"
#include "base/log.h"
#include "comm/engine.h"
#include "comm/host/pmpi.h"
#include "comm/teams/rdma.h"
#include "comm/teams/recording.h"
#include "comm/teams/rma_window.h"
#include "comm/host/yielding.h"
#include "topo/topo.h"

#include <stdlib.h>
#include <string.h>

static const char *const troubles[CS_TROUBLES] = {
	[CS_TROUBLE_NO_SEGMENT] = "no shared memory could be made",
	[CS_TROUBLE_SHM_OFF] = "shared memory is switched off by COLLSHIM_SHM",
	[CS_TROUBLE_NO_BUDGET] = "the budget of shared memory is spent",
	[CS_TROUBLE_NO_ROOM + CS_LIMIT_MACHINE] = "the machine has too little memory left for "
						  "shared memory (MemAvailable)",
	[CS_TROUBLE_NO_ROOM + CS_LIMIT_MAX] = "the control group has too little memory left for "
					      "shared memory (memory.max)",
	[CS_TROUBLE_NO_ROOM + CS_LIMIT_HIGH] = "the control group has too little memory left for "
					       "shared memory (memory.high)",
	[CS_TROUBLE_NO_ROOM + CS_LIMIT_V1] =
		"the control group has too little memory left for shared memory "
		"(memory.limit_in_bytes)",
	[CS_TROUBLE_NO_COMMIT] = "shared memory is full",
	[CS_TROUBLE_NO_ATTACH] = "shared memory of another process could not be attached",
	[CS_TROUBLE_NO_SHARE] = CS_GROUPS_ARE_MANY,
	[CS_TROUBLE_NO_COMM] = CS_GROUP_WAS_REFUSED,
	[CS_TROUBLE_NO_WIRE] = "a lane cannot be connected by verbs",
	[CS_TROUBLE_MIGHT_HANG] = CS_GROUP_MIGHT_HANG,
	[CS_TROUBLE_NO_MEMORY] = "out of memory",
	[CS_TROUBLE_DISABLED] = "disabled by COLLSHIM_DISABLE",
	[CS_TROUBLE_BARRED] = "a tool takes MPI_Wait, and the MPI waits without the library",
	[CS_TROUBLE_NOT_ALIKE] = "the ranks differ in version, settings or tuning",
};

static const enum cs_trouble splitting_troubles[] = {
	[CS_SPLIT_MIGHT_HANG] = CS_TROUBLE_MIGHT_HANG,
	[CS_SPLIT_NO_SHARE] = CS_TROUBLE_NO_SHARE,
	[CS_SPLIT_MAY] = CS_TROUBLE_NONE,
};

/* --- putting off ------------------------------------------------------------------------------ */

/* Cost of a new team in collectives of the host (pages are committed; nodes are split off). When
 * the team is dropped, the calls that it has served are subtracted from the debt. While the debt is
 * high, a communicator gets a team only after as many calls: then no more is spent than has been
 * already. Ranks differ in their debt; the largest number of calls is agreed on. */
#define PRICE 256
#define PATIENCE ((int64_t)4 * PRICE)

static _Atomic int64_t debt;

static void
owe(int64_t more)
{
	int64_t now = atomic_load(&debt), next;
	do {
		next = now + more < 0 ? 0 : now + more > 2 * PATIENCE ? 2 * PATIENCE : now + more;
	} while (!atomic_compare_exchange_weak(&debt, &now, next));
}

/* The number of calls that this communicator has to make before it gets a team. 0, no more than the
 * limits say: for MPI_COMM_WORLD, if COLLSHIM_TEAM_AFTER is set, and while the debt is low. */
static uint64_t
put_off_until(const struct cs_comm *communicator)
{
	bool is_late = !communicator->is_apart && cs_engine.settings.team_after < 0 &&
		       communicator->comm != MPI_COMM_WORLD && atomic_load(&debt) >= PATIENCE;
	return is_late ? PRICE : 0;
}

/* --- what all know alike ---------------------------------------------------------------------- */

static void
drop_groups(struct cs_comm *communicator)
{
	cs_group_close(&communicator->seat->leaders);
	cs_group_close(&communicator->seat->everyone);
	cs_group_close(&communicator->seat->locals);
}

/* Words of a rank about what it and its node can do, of which the least counts. */
enum { NO_TROUBLE, READABLE, DOMAINS, DOMAINS_NOT, RATE, HOP, RDMA, WORDS = RDMA + CS_RDMA_WORDS };

static int
domains_of(const struct cs_team *team)
{
	int domains = team->shape.numa_domains < CS_LANES ? team->shape.numa_domains : CS_LANES;
	return domains < 1 ? 1 : domains;
}

/* Notes what all processes and nodes of the communicator can do: single copy, and one lane for each
 * NUMA domain. All do what the least able one can, which keeps the algorithms simple. */
static void
take_least(struct cs_team *team, const int *least)
{
	struct cs_node_facts *facts = &team->node.facts;
	team->has_cma = least[READABLE];
	if (team->shape.nodes > 1) {
		facts->of[CS_COPY_RATE] = (uint32_t)least[RATE];
		facts->of[CS_LINE_NS] = facts->of[CS_TURN_NS] = (uint32_t)least[HOP];
	}
	team->domains = least[DOMAINS];
	if (!team->has_cma && cs_engine.settings.cma == CS_SWITCH_ON)
		cs_warn_once("COLLSHIM_CMA=on, but the kernel refuses process_vm_readv between "
			     "ranks; "
			     "data is copied twice");
}

/* The same on one node, whose ranks have agreed. */
static void
take_own(struct cs_team *team)
{
	take_least(team, (const int[WORDS]){ [READABLE] = team->node.is_readable,
					     [DOMAINS] = domains_of(team) });
}

/* Agrees, on several nodes, on what all can do, and at the same time on the largest trouble, the
 * words for verbs, and the facts that decide how data is cut between nodes. */
static enum cs_trouble
agree_on_least(struct cs_comm *communicator, enum cs_trouble trouble, int *least)
{
	struct cs_team *team = &communicator->seat->team;
	struct cs_rdma_said *said = &communicator->seat->rdma;
	struct cs_node_facts *facts = &team->node.facts;
	int domains = domains_of(team);
	int mine[WORDS] = {
		[NO_TROUBLE] = CS_TROUBLES - (int)trouble, [READABLE] = team->node.is_readable,
		[DOMAINS] = domains, [DOMAINS_NOT] = -domains,
		[RATE] = (int)facts->of[CS_COPY_RATE], [HOP] = (int)cs_facts_hop_ns(facts),
	};
	cs_rdma_say(communicator->rank, mine + RDMA);
	if (cs_yielding_allreduce(mine, least, WORDS, MPI_INT, MPI_MIN, communicator->comm))
		return CS_TROUBLE_NO_MEMORY;
	memcpy(said->least, least + RDMA, sizeof said->least);
	said->is_agreed = true;
	return (enum cs_trouble)(CS_TROUBLES - least[NO_TROUBLE]);
}

static enum cs_trouble
split_leaders(struct cs_comm *communicator)
{
	struct cs_team *team = &communicator->seat->team;
	cs_team_place_lanes(team);
	team->lanes = cs_lanes_turn(team->shape.ppn_min); /* one split makes them all */
	return cs_team_split_lanes(communicator->comm, team, 0, team->lanes,
				   &communicator->seat->leaders);
}

/* Makes the first lanes, and agrees. If a node has one NUMA domain, and another one several, all
 * do as with one: leaders may then be other ranks than the nodes thought. */
static enum cs_trouble
make_leaders(struct cs_comm *communicator, enum cs_trouble trouble)
{
	struct cs_team *team = &communicator->seat->team;
	int least[WORDS] = { 0 };
	team->domains = domains_of(team);
	enum cs_trouble refused = split_leaders(communicator);
	trouble = agree_on_least(communicator, trouble > refused ? trouble : refused, least);
	if (trouble != CS_TROUBLE_NONE)
		return trouble;
	take_least(team, least);
	if ((least[DOMAINS] > 1) == (-least[DOMAINS_NOT] > 1))
		return CS_TROUBLE_NONE;
	cs_group_close(&communicator->seat->leaders);
	return cs_team_agree_on(communicator->comm, split_leaders(communicator));
}

bool
cs_team_is_spokesman(MPI_Comm comm, int rank)
{
	MPI_Group group;
	int zero = 0, of_world = MPI_UNDEFINED;
	if (cs_pmpi.Comm_group(comm, &group))
		return cs_log_is_speaker();
	cs_pmpi.Group_translate_ranks(cs_engine.world, 1, &zero, group, &of_world);
	cs_pmpi.Group_free(&group);
	return rank == (of_world == MPI_UNDEFINED ? 0 : of_world);
}

const char *
cs_team_words(enum cs_trouble trouble)
{
	return troubles[trouble];
}

static void
refuse(struct cs_comm *communicator, enum cs_trouble trouble)
{
	static _Atomic int is_known[CS_TROUBLES], is_said[CS_TROUBLES];
	communicator->state = CS_COMM_HOST;
	communicator->reason = troubles[trouble];
	if (communicator->is_apart)
		return;
	atomic_fetch_add(&cs_engine.teams_refused, 1);
	/* Only an info: these are wanted, or cannot be changed by the user. */
	if (trouble == CS_TROUBLE_MIGHT_HANG || trouble == CS_TROUBLE_DISABLED ||
	    trouble == CS_TROUBLE_SHM_OFF) {
		if (communicator->rank == 0)
			cs_info("%s; this communicator (%d ranks) stays with MPI" CS_UNSERVED_COMM,
				troubles[trouble], communicator->size);
		return;
	}
	/* Once in each process; if several communicators have the trouble at once, one of them
	 * warns. */
	if (atomic_exchange(&is_known[trouble], 1) ||
	    !cs_team_is_spokesman(communicator->comm, communicator->rank) ||
	    !cs_log_is_first(trouble))
		return;
	cs_log_warn_local(&is_said[trouble],
			  "%s; this communicator (%d ranks) stays with MPI" CS_UNSERVED_COMM,
			  troubles[trouble], communicator->size);
}

/* Agrees, before anything is made, on whether all processes are enabled and alike, if MPI_Init was
 * not seen. Some may be of another version, so this agreement is separate from
 * cs_team_exchange's. */
static enum cs_trouble
agree_late(struct cs_comm *communicator)
{
	if (cs_engine.is_init_seen)
		return CS_TROUBLE_NONE;
	enum cs_trouble mine = cs_engine.settings.is_disabled ? CS_TROUBLE_DISABLED
							      : CS_TROUBLE_NONE;
	uint64_t words[3] = { CS_TROUBLES - mine, cs_engine.digest, ~cs_engine.digest },
		 least[3] = { 0 };
	if (cs_yielding_allreduce(words, least, 3, MPI_UINT64_T, MPI_MIN, communicator->comm))
		return CS_TROUBLE_NO_MEMORY;
	if (least[1] != ~least[2])
		return CS_TROUBLE_NOT_ALIKE;
	return (enum cs_trouble)(CS_TROUBLES - least[0]);
}

/* Makes a team of one node without MPI_Comm_split, which under MPICH takes many time slices if
 * ranks share cores, and may hang while an MPI_Comm_idup is pending. `name`: of an idle node, or
 * 0. */
static enum cs_trouble
make_on_one(struct cs_comm *communicator, uint64_t key, uint64_t name)
{
	struct cs_team *team = &communicator->seat->team;
	struct cs_node_shape shape = cs_team_node_shape(communicator);
	const struct cs_meeting meeting = { .comm = communicator->comm };
	enum cs_trouble trouble = CS_TROUBLE_NONE;
	cs_team_take_idle(name, communicator->seat);
	if (!name)
		trouble = cs_team_new_node(&meeting, communicator->seat, &shape);
	team->node.key = key;
	communicator->is_new = !name;
	if (trouble != CS_TROUBLE_NONE)
		return trouble;
	cs_team_learn_levels(team);
	take_own(team);
	return CS_TROUBLE_NONE;
}

/* Makes a team of one rank per node: without shared memory, but plans between all ranks may serve.
 * The words of its node, for epochs, are in memory of the process. */
static enum cs_trouble
make_without_memory(struct cs_comm *communicator)
{
	struct cs_seat *seat = communicator->seat;
	struct cs_team *team = &seat->team;
	const struct cs_limits *limits = cs_selector_limits(cs_engine.selector);
	const struct cs_node_shape shape = { .size = 1, .spin = limits->spin,
					     .yields = limits->yields };
	size_t bytes = cs_segment_round(cs_node_bytes(&shape));
	struct cs_segment own = { .base = aligned_alloc(CS_SEGMENT_HEADER, bytes), .fd = -1 };
	if (!own.base)
		cs_team_out_of_memory("the node", 1);
	seat->own_node = own.base;
	/* Only what is read before it is written, so that few pages are touched. */
	memset(own.base, 0, CS_SEGMENT_HEADER + sizeof(struct cs_node_head));
	cs_node_init(&team->node, &shape, &own, &cs_host_mpi);
	team->node.segment.base = NULL;
	cs_node_init_own(&team->node);
	/* no element is too large */
	team->node.shape.slot_bytes = team->node.shape.area_bytes = SIZE_MAX;
	communicator->is_new = false; /* it costs nothing, so it owes nothing */
	return CS_TROUBLE_NONE;
}

static enum cs_trouble
make_on_several(struct cs_comm *communicator, const struct cs_meeting *meeting, bool has_idle)
{
	struct cs_team *team = &communicator->seat->team;
	struct cs_node_shape shape = cs_team_node_shape(communicator);
	enum cs_trouble trouble = cs_team_take_node(meeting, has_idle, communicator->seat, &shape);
	communicator->is_new = true; /* even if idle: nodes were split off */
	if (trouble == CS_TROUBLE_NONE)
		cs_team_learn_domains(team);
	if (trouble == CS_TROUBLE_NONE &&
	    (team->shape.ppn_max >= CS_LEVELS_LEAST || cs_engine.settings.fake_levels))
		cs_team_learn_levels(team);
	if (team->shape.nodes > 1 && !(meeting->all && trouble != CS_TROUBLE_NONE))
		return make_leaders(communicator, trouble);
	if (trouble == CS_TROUBLE_NONE)
		take_own(team);
	return trouble;
}

static enum cs_trouble
make_nodes(struct cs_comm *communicator)
{
	struct cs_team *team = &communicator->seat->team;
	MPI_Comm node = MPI_COMM_NULL;
	enum cs_trouble trouble = cs_team_split_nodes(communicator, &node);
	if (trouble != CS_TROUBLE_NONE) /* the same on all ranks */
		return trouble;
	if (!cs_team_learn_shape(communicator, node, &team->shape))
		trouble = CS_TROUBLE_NO_MEMORY;
	const struct cs_meeting meeting = { .comm = node };
	if (trouble == CS_TROUBLE_NONE)
		trouble = team->shape.ppn_max > 1 ? make_on_several(communicator, &meeting, true)
						  : make_without_memory(communicator);
	cs_pmpi.Comm_free(&node);
	return trouble;
}

/* Makes the nodes together, without a split, as all node words are known. */
static enum cs_trouble
make_known_nodes(struct cs_comm *communicator, const struct cs_heard *heard)
{
	struct cs_team *team = &communicator->seat->team;
	const struct cs_meeting meeting = { .comm = communicator->comm, .all = &team->shape };
	if (!cs_team_shape_by_words(communicator, heard->nodes, &team->shape))
		return CS_TROUBLE_NO_MEMORY;
	return team->shape.ppn_max > 1
	       ? make_on_several(communicator, &meeting, heard->has_idle)
	       : make_without_memory(communicator);
}

/* Sets the team up as if on one node, as far as is known before the first exchange. */
static enum cs_trouble
prepare(struct cs_comm *communicator)
{
	struct cs_team *team = &communicator->seat->team;
	team->lane = CS_LANES;
	team->domains = 1;
	team->idle = &communicator->idle;
	return cs_team_learn_shape(communicator, communicator->comm, &team->shape)
		       ? CS_TROUBLE_NONE
		       : CS_TROUBLE_NO_MEMORY;
}

static void
forget_shape(struct cs_team *team)
{
	cs_levels_fini(&team->shape.levels);
	free(team->shape.node_of);
	team->shape = (struct cs_shape){ 0 };
}

/* Finds or makes the team's nodes. CS_TROUBLE_NONE if there is a team, CS_TROUBLE_PUT_OFF, or the
 * trouble: the same on all ranks. */
static enum cs_trouble
find_way(struct cs_comm *communicator)
{
	struct cs_team *team = &communicator->seat->team;
	struct cs_said mine = {
		.digest = cs_engine.digest,
		.until = put_off_until(communicator),
		.split = atomic_load(&cs_engine.has_duplicated) ? CS_SPLIT_MIGHT_HANG
			 : cs_groups_are_many() ? CS_SPLIT_NO_SHARE : CS_SPLIT_MAY,
		.has_idle = cs_pool_has_idle(),
	};
	struct cs_heard heard = { .trouble = CS_TROUBLE_NONE };
	uint64_t key = 0;
	mine.node = cs_team_node_word(&mine.host);
	enum cs_trouble trouble = agree_late(communicator);
	communicator->is_alike = trouble == CS_TROUBLE_NONE;
	if (trouble != CS_TROUBLE_NONE)
		return trouble;
	mine.trouble = prepare(communicator);
	if (communicator->is_barred)
		mine.trouble = CS_TROUBLE_BARRED;
	if (mine.trouble == CS_TROUBLE_NONE && mine.node) {
		struct cs_node_shape shape = cs_team_node_shape(communicator);
		const struct cs_meeting meeting = { .comm = communicator->comm };
		key = cs_team_key(&meeting, &shape);
	}
	cs_pool_offer(key, mine.idle);
	if (!cs_team_exchange(communicator, &mine, &heard))
		heard.trouble = CS_TROUBLE_NO_COMM;
	else if (!heard.is_alike)
		heard.trouble = CS_TROUBLE_NOT_ALIKE;
	else if (heard.trouble == CS_TROUBLE_NONE && !heard.is_one_node &&
		 heard.split != CS_SPLIT_MAY)
		heard.trouble = splitting_troubles[heard.split];
	else if (heard.trouble == CS_TROUBLE_NONE && !heard.name &&
		 communicator->calls < heard.until)
		heard.trouble = CS_TROUBLE_PUT_OFF;
	if (heard.trouble == CS_TROUBLE_NONE && heard.is_one_node)
		return make_on_one(communicator, key, heard.name);
	cs_pool_take(0, NULL);
	if (heard.trouble == CS_TROUBLE_PUT_OFF)
		communicator->try_at = heard.until;
	if (heard.trouble != CS_TROUBLE_NONE)
		return heard.trouble;
	forget_shape(team);
	return heard.are_nodes_known ? make_known_nodes(communicator, &heard)
				     : make_nodes(communicator);
}

static void
make(struct cs_comm *communicator)
{
	struct cs_team *team = &communicator->seat->team;
	communicator->seat->leaders = communicator->seat->locals =
		(struct cs_group){ .comm = MPI_COMM_NULL, .parent = MPI_COMM_NULL };
	communicator->seat->everyone = (struct cs_group){ .comm = MPI_COMM_NULL,
							  .parent = communicator->comm };
	enum cs_trouble trouble = find_way(communicator);
	if (trouble != CS_TROUBLE_NONE) {
		drop_groups(communicator);
		cs_team_drop_node(communicator->seat);
		forget_shape(team);
		if (trouble != CS_TROUBLE_PUT_OFF)
			refuse(communicator, trouble);
		return;
	}
	team->host = &cs_host_mpi;
	team->node.rank_of = &team->shape.order[team->shape.first[team->shape.node]];
	team->node.all_ranks = team->shape.ranks;
	team->node.nodes = team->shape.nodes;
	team->leaders = communicator->seat->leaders.comm != MPI_COMM_NULL
			? &communicator->seat->leaders : NULL;
	team->everyone = &communicator->seat->everyone;
	communicator->seat->locals.parent = communicator->comm;
	communicator->seat->locals.part = team->shape.node;
	team->locals = &communicator->seat->locals;
	communicator->first_call = team->node.calls;
	communicator->seat->selection.team = team;
	communicator->seat->selection.facts = (struct cs_facts){
		      .ranks = team->shape.ranks,
		      .nodes = team->shape.nodes,
		      .ppn_min = team->shape.ppn_min,
		      .ppn_max = team->shape.ppn_max,
		      .is_block_placed = team->shape.is_block_placed,
		      .wire = CS_WIRE_HOST,
	};
	uint32_t left = cs_pmpi_left(team->shape.nodes > 1);
	for (int coll = 0; coll < CS_COLL_COUNT; coll++)
		if (left >> coll & 1)
			cs_selection_leave(&communicator->seat->selection, (enum cs_coll)coll,
					   CS_PMPI_LACKS);
	cs_rdma_agree(communicator);
	cs_team_begin_epochs(communicator);
	communicator->seat->selection.is_telling = cs_no_seat.selection.is_telling;
	communicator->seat->selection.is_sampling = cs_recording_keeps();
	communicator->state = CS_COMM_TEAM;
	if (team->shape.ppn_max > 1)
		atomic_store(&cs_engine.single_copy, 1 + team->has_cma);
	if (!communicator->is_new)
		atomic_fetch_add(&cs_engine.teams_again, 1);
	else if (!communicator->is_apart)
		owe(PRICE);
	atomic_fetch_add(&cs_engine.teams_made, 1);
	atomic_fetch_add(&cs_engine.teams_alive, 1);
	if (communicator->rank == 0)
		cs_info("team of %d ranks on %d node%s (%d to %d ranks each, %s), %zu bytes shared "
			"per node%s%s%s%s", team->shape.ranks, team->shape.nodes,
			team->shape.nodes == 1 ? "" : "s", team->shape.ppn_min, team->shape.ppn_max,
			team->shape.is_block_placed ? "block placed" : "scattered",
			team->node.segment.bytes, communicator->is_new ? "" : ", of a former team",
			team->domains > 1 ? ", lanes by NUMA domain" : "",
			team->node.facts.shares_cores ? ", more ranks than cores" : "",
			communicator->seat->selection.facts.wire == CS_WIRE_IB ? ", verbs" : "");
}

static void
take_seat(struct cs_comm *communicator)
{
	struct cs_seat *seat = calloc(1, sizeof *seat);
	if (!seat) {
		cs_warn_local("no memory for a team of %d ranks; ending the job",
			      communicator->size);
		cs_host_mpi.abort("out of memory");
	}
	seat->selection.selector = cs_engine.selector;
	seat->selection.is_reporting = cs_no_seat.selection.is_reporting;
	seat->selection.is_recording = cs_no_seat.selection.is_recording;
	seat->selection.is_timed = cs_no_seat.selection.is_timed;
	communicator->seat = seat;
}

static void
leave_seat(struct cs_comm *communicator)
{
	struct cs_seat *seat = communicator->seat;
	communicator->seat = &cs_no_seat;
	cs_selection_fini(&seat->selection);
	free(seat->own_node);
	free(seat);
}

_Thread_local const struct cs_comm *cs_comm_in_making;

void
cs_comm_make_team(struct cs_comm *communicator)
{
	struct cs_float_state floats;
	uint64_t before = cs_clock_ns(), none = 0;
	take_seat(communicator);
	cs_float_hold(&floats);
	cs_comm_in_making = communicator;
	make(communicator);
	cs_comm_in_making = NULL;
	cs_float_release(&floats);
	if (communicator->state == CS_COMM_TEAM)
		atomic_compare_exchange_strong(&cs_engine.first_team_ns, &none,
					       cs_clock_ns() - before);
	else
		leave_seat(communicator);
}

void
cs_comm_drop_team(struct cs_comm *communicator)
{
	struct cs_team *team = &communicator->seat->team;
	struct cs_float_state floats;
	if (!communicator->seat->selection.team)
		return;
	cs_float_hold(&floats);
	cs_epoch_end(team);
	cs_posted_receives_end(team);
	cs_rma_drop(communicator->seat);
	drop_groups(communicator);
	cs_rdma_drop(communicator);
	cs_float_release(&floats);
	if (communicator->is_new && !communicator->is_apart)
		owe(-(int64_t)(team->node.calls - communicator->first_call));
	cs_team_drop_node(communicator->seat);
	cs_levels_fini(&team->shape.levels);
	free(team->shape.node_of);
	cs_plans_fini(&team->lane_plans);
	cs_plans_fini(&team->flat_plans);
	leave_seat(communicator);
	communicator->state = CS_COMM_HOST;
	atomic_fetch_sub(&cs_engine.teams_alive, 1);
}
