/* comm/teams/team_segment.c — shared memory for the processes of a node: a former team's, or a new
 * segment. */
#include "comm/teams/make_team.h"

#include "base/hash.h"
#include "base/log.h"
#include "comm/engine.h"
#include "comm/teams/ledger.h"
#include "comm/host/pmpi.h"
#include "comm/host/yielding.h"
#include "topo/topo.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
account(size_t bytes)
{
	uint64_t now = atomic_fetch_add(&cs_engine.shm_bytes, bytes) + bytes;
	if (now > atomic_load(&cs_engine.shm_peak))
		atomic_store(&cs_engine.shm_peak, now);
}

/* Message of the leader to the others of its node. */
struct offer {
	struct cs_segment_handle handle;
	struct cs_claim claim;
	enum cs_trouble trouble; /* CS_TROUBLE_NONE: there is a segment */
};

static enum cs_trouble
trouble_of(enum cs_refusal refusal, enum cs_limit by)
{
	if (refusal == CS_CLAIM_FITS)
		return CS_TROUBLE_NONE;
	return refusal == CS_CLAIM_BUDGET ? CS_TROUBLE_NO_BUDGET
					  : (enum cs_trouble)(CS_TROUBLE_NO_ROOM + by);
}

/* May there be such a segment? Asked by the leader. */
static enum cs_trouble
claim_bytes(size_t bytes, int sharers, struct cs_claim *claim)
{
	enum cs_limit by;
	if (cs_engine.settings.shm == CS_SHM_OFF)
		return CS_TROUBLE_SHM_OFF;
	enum cs_refusal refusal = cs_ledger_claim(claim, cs_segment_round(bytes), sharers, &by);
	enum cs_trouble trouble = trouble_of(refusal, by);
	if (trouble != CS_TROUBLE_NONE)
		cs_info("shm: %zu bytes more would be over the %llu that segments may have here "
			"(%s)", bytes, (unsigned long long)claim->most,
			by == CS_LIMIT_NONE ? "shm_budget" : cs_limit_name(by));
	return trouble;
}

/* Makes the segment, on the leader; *handle is for the others. */
static enum cs_trouble
create_segment(size_t bytes, struct cs_segment *segment, struct cs_segment_handle *handle)
{
	if (cs_segment_create(segment, bytes, cs_engine.settings.shm) != CS_OK) {
		bool is_full = errno == ENOSPC;
		cs_info("shm: a segment of %zu bytes was refused: %m", bytes);
		return is_full ? CS_TROUBLE_NO_COMMIT : CS_TROUBLE_NO_SEGMENT;
	}
	*handle = segment->handle;
	return CS_TROUBLE_NONE;
}

static enum cs_trouble
commit_share(const struct cs_node_shape *shape, struct cs_segment *segment)
{
	size_t from, share, least, common_from, common_share;
	cs_node_share(shape, shape->local, &from, &share, &least);
	cs_node_common_share(shape, shape->local, &common_from, &common_share);
	if (cs_segment_commit(segment, from, share, least) == CS_OK &&
	    (!common_share || cs_segment_commit(segment, common_from, common_share, 0) == CS_OK))
		return CS_TROUBLE_NONE;
	cs_info("shm: %zu bytes were refused: %m", share + common_share);
	return CS_TROUBLE_NO_COMMIT;
}

enum cs_trouble
cs_team_agree_on(MPI_Comm comm, enum cs_trouble trouble)
{
	int mine = (int)trouble, worst = CS_TROUBLE_NO_MEMORY;
	return cs_yielding_allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm)
	       ? CS_TROUBLE_NO_MEMORY : (enum cs_trouble)worst;
}

static void
close_segment(struct cs_segment *segment)
{
	if (!segment->base)
		return;
	atomic_fetch_sub(&cs_engine.shm_bytes, segment->bytes);
	cs_ledger_give_back(segment->charge);
	cs_pool_close(segment);
}

static enum cs_trouble
attach_segment(const struct offer *offer, int sharers, struct cs_segment *segment)
{
	enum cs_limit by;
	if (cs_segment_attach(segment, &offer->handle) != CS_OK) {
		cs_info("shm: attaching was refused: %m");
		return CS_TROUBLE_NO_ATTACH;
	}
	account(segment->bytes);
	segment->charge = 0;
	uint64_t part = cs_ledger_part(segment->bytes, sharers);
	enum cs_trouble trouble = trouble_of(cs_ledger_take(&offer->claim, part, &by), by);
	if (trouble == CS_TROUBLE_NONE)
		segment->charge = part;
	return trouble;
}

_Static_assert(sizeof(struct cs_team_table) <= CS_NODE_TABLE, "the segment has room for the "
							      "machine");
_Static_assert(sizeof((struct cs_rank_head *)0)->cpus == CS_TOPO_CPUS / 8,
	       "a rank tells of the CPUs that the machine is told of");

/* Writes this rank's words that others read before the first call. With several nodes, or many
 * ranks, local rank 0 also writes the machine's table, for NUMA domains and levels; later teams use
 * it, too. */
static void
furnish(struct cs_seat *seat, const struct cs_node_shape *shape, struct cs_segment *segment)
{
	struct cs_node *node = &seat->team.node;
	cs_node_init(node, shape, segment, &cs_host_mpi);
	cs_node_init_own(node);
	cs_node_measure_alone(node);
	if (seat->team.shape.ranks == cs_engine.world_size)
		cs_ledger_open_page(&seat->page, node);
	if (node->table && shape->local == 0)
		*(struct cs_team_table *)node->table = (struct cs_team_table){
			.machine = *cs_topo_machine(),
			.kind = (int)(cs_node_kind_here() - cs_node_kinds) };
}

/* Exchanges the offers of all nodes: each rank gets its leader's, with the largest trouble of all
 * nodes, and is_named if any node's segment has a name. */
static bool
tell_all(const struct cs_meeting *meeting, struct offer *offer)
{
	const struct cs_shape *all = meeting->all;
	struct offer *offers = malloc((size_t)all->ranks * sizeof *offers);
	if (!offers)
		cs_team_out_of_memory("the segments", all->ranks);
	bool is_told = cs_yielding_allgather(offer, (int)sizeof *offer, MPI_BYTE, offers,
					     meeting->comm) == MPI_SUCCESS;
	for (int node = 0; is_told && node < all->nodes; node++) {
		const struct offer *other = &offers[all->order[all->first[node]]];
		if (node == 0)
			*offer = offers[all->order[all->first[all->node]]];
		if (other->trouble > offer->trouble)
			offer->trouble = other->trouble;
		offer->handle.is_named |= other->trouble == CS_TROUBLE_NONE &&
					  other->handle.is_named;
	}
	free(offers);
	return is_told;
}

/* Makes a segment on the leader, attaches it on the others, and has each commit its share and
 * furnish its part; with CS_TROUBLE_NONE all of the meeting have. After CS_TROUBLE_NO_ATTACH the
 * leader still has the segment open, and cs_segment_create replaces it by one with a name. The
 * first commit removes the name, so all must have attached before. */
static enum cs_trouble
hand_round(const struct cs_meeting *meeting, struct cs_seat *seat,
	   const struct cs_node_shape *shape, struct offer *offer, struct cs_segment *segment)
{
	MPI_Comm comm = meeting->comm;
	bool is_leader = shape->local == 0;
	if (is_leader && offer->trouble == CS_TROUBLE_NONE) {
		offer->trouble = create_segment(cs_node_bytes(shape), segment, &offer->handle);
		if (offer->trouble == CS_TROUBLE_NONE)
			account(segment->bytes);
	}
	bool is_told = meeting->all ? tell_all(meeting, offer)
				    : !cs_yielding_bcast(offer, (int)sizeof *offer, MPI_BYTE, 0,
							 comm);
	if (!is_told)
		offer->trouble = CS_TROUBLE_NO_SEGMENT;
	if (offer->trouble != CS_TROUBLE_NONE)
		return offer->trouble;
	enum cs_trouble trouble = is_leader ? CS_TROUBLE_NONE
					    : attach_segment(offer, shape->size, segment);
	if (offer->handle.is_named && (trouble = cs_team_agree_on(comm, trouble)) !=
	    CS_TROUBLE_NONE)
		return trouble;
	if (trouble == CS_TROUBLE_NONE)
		trouble = commit_share(shape, segment);
	if (trouble == CS_TROUBLE_NONE)
		furnish(seat, shape, segment);
	trouble = cs_team_agree_on(comm, trouble);
	if (trouble != CS_TROUBLE_NONE && seat->team.node.segment.base) {
		cs_ledger_close_page(&seat->page);
		*segment = seat->team.node.segment;
		seat->team.node.segment.base = NULL;
	}
	return trouble;
}

static void
give_back_idle(size_t bytes, uint64_t charge)
{
	atomic_fetch_sub(&cs_engine.shm_bytes, bytes);
	cs_ledger_give_back(charge);
}

/* Closes idle nodes: all that another process has closed, and as many more as a segment of so many
 * bytes needs; frees pages of idle teams if much of the budget is in use. Has it closed any? */
static bool
make_room(size_t bytes, int sharers)
{
	uint64_t charge;
	size_t closed = cs_pool_evict_dropped(&charge);
	bool has_closed = closed > 0;
	give_back_idle(closed, charge);
	if (cs_ledger_is_tight())
		cs_comms_give_back(false);
	while (cs_pool_has_idle() && cs_ledger_is_short(bytes, sharers) &&
	       (closed = cs_pool_evict(1, &charge))) {
		give_back_idle(closed, charge);
		has_closed = true;
	}
	return has_closed;
}

/* Closes all idle nodes and frees pages of idle teams, after a segment found no room. Has any
 * process of `comm` done so, now or earlier (`has_made_room`), perhaps after the leader had added
 * up the charges? */
static bool
give_way(MPI_Comm comm, bool has_made_room)
{
	uint64_t charge;
	size_t closed = cs_pool_evict(SIZE_MAX, &charge);
	bool has_freed = cs_comms_give_back(true) > 0;
	int mine = has_made_room || closed > 0 || has_freed, any = 0;
	give_back_idle(closed, charge);
	return cs_yielding_allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS && any;
}

static enum cs_trouble
try_new_node(const struct cs_meeting *meeting, struct cs_seat *seat,
	     const struct cs_node_shape *shape)
{
	struct cs_node *node = &seat->team.node;
	struct cs_segment segment = { .fd = -1 };
	struct offer offer = { .trouble = CS_TROUBLE_NONE };
	if (shape->local == 0)
		offer.trouble = claim_bytes(cs_node_bytes(shape), shape->size, &offer.claim);
	enum cs_trouble trouble = hand_round(meeting, seat, shape, &offer, &segment);
	/* Try a named segment, unless this one was: all know from the leader's handle. */
	if (trouble == CS_TROUBLE_NO_ATTACH && !offer.handle.is_named) {
		if (shape->local != 0)
			close_segment(&segment);
		else
			atomic_fetch_sub(&cs_engine.shm_bytes, segment.bytes);
		enum cs_trouble by_name = hand_round(meeting, seat, shape, &offer, &segment);
		if (by_name == CS_TROUBLE_NONE || by_name == CS_TROUBLE_NO_COMMIT)
			trouble = by_name;
	}
	if (shape->local == 0) {
		uint64_t part = trouble == CS_TROUBLE_NONE
				? cs_ledger_part(node->segment.bytes, shape->size) : 0;
		cs_ledger_settle(&offer.claim, part);
		node->segment.charge = part;
	}
	if (trouble != CS_TROUBLE_NONE)
		close_segment(&segment);
	return trouble;
}

enum cs_trouble
cs_team_new_node(const struct cs_meeting *meeting, struct cs_seat *seat,
		 const struct cs_node_shape *shape)
{
	struct cs_node *node = &seat->team.node;
	bool has_made_room = make_room(cs_node_bytes(shape), shape->size);
	enum cs_trouble trouble = try_new_node(meeting, seat, shape);
	/* Other processes may have idle nodes that this one is not charged for. */
	if (trouble >= CS_TROUBLE_NO_BUDGET && trouble < CS_TROUBLE_NO_COMMIT &&
	    give_way(meeting->comm, has_made_room))
		trouble = try_new_node(meeting, seat, shape);
	if (trouble != CS_TROUBLE_NONE)
		return trouble;
	cs_ledger_ready_page(&seat->page);
	cs_segment_seal(&node->segment);
	cs_node_init_others(node);
	cs_node_measure_hop(node);
	bool reads = cs_engine.settings.cma != CS_SWITCH_OFF && cs_node_probe_cma(node);
	node->is_readable = cs_node_agree(node, reads) && reads;
	cs_node_take_facts(node);
	return CS_TROUBLE_NONE;
}

/* Without a descriptor of the maker there is no memory: named segments are for nodes only. */
enum cs_trouble
cs_team_new_memory(const struct cs_meeting *meeting, size_t bytes, struct cs_segment *segment)
{
	const struct cs_shape *shape = meeting->all;
	struct offer offer = { .trouble = CS_TROUBLE_NONE };
	bool is_maker = shape->local == 0;
	*segment = (struct cs_segment){ .fd = -1 };
	if (is_maker)
		offer.trouble = claim_bytes(bytes, shape->locals, &offer.claim);
	bool is_claimed = is_maker && offer.trouble == CS_TROUBLE_NONE;
	if (is_claimed)
		offer.trouble = create_segment(bytes, segment, &offer.handle);
	if (is_claimed && offer.trouble == CS_TROUBLE_NONE)
		account(segment->bytes);
	enum cs_trouble trouble = tell_all(meeting, &offer) ? offer.trouble
							    : CS_TROUBLE_NO_SEGMENT;
	if (trouble == CS_TROUBLE_NONE) {
		trouble = is_maker ? CS_TROUBLE_NONE
				   : attach_segment(&offer, shape->locals, segment);
		trouble = cs_team_agree_on(meeting->comm, trouble);
	}
	if (trouble == CS_TROUBLE_NONE) {
		if (is_maker && cs_segment_commit(segment, 0, segment->bytes, 0) != CS_OK)
			trouble = CS_TROUBLE_NO_COMMIT;
		trouble = cs_team_agree_on(meeting->comm, trouble);
	}
	if (is_claimed) {
		segment->charge = trouble == CS_TROUBLE_NONE
				  ? cs_ledger_part(segment->bytes, shape->locals) : 0;
		cs_ledger_settle(&offer.claim, segment->charge);
	}
	if (trouble != CS_TROUBLE_NONE)
		close_segment(segment);
	else
		cs_segment_seal(segment);
	return trouble;
}

void
cs_team_free_memory(struct cs_segment *segment)
{
	close_segment(segment);
}

void
cs_team_take_idle(uint64_t name, struct cs_seat *seat)
{
	cs_pool_take(name, &seat->team.node);
	if (name)
		cs_node_take_facts(&seat->team.node);
	if (!name || seat->team.shape.ranks != cs_engine.world_size)
		return;
	cs_ledger_open_page(&seat->page, &seat->team.node);
	cs_ledger_ready_page(&seat->page);
}

uint64_t
cs_team_key(const struct cs_meeting *meeting, const struct cs_node_shape *shape)
{
	enum { PIECE = 64 };
	const size_t numbers[] = { (size_t)shape->local, (size_t)shape->size, shape->slots,
				   shape->slot_bytes, shape->area_slots, shape->area_bytes };
	const struct cs_shape *all = meeting->all;
	uint64_t key = CS_HASH_START;
	MPI_Group group;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		key = cs_hash_number(key, numbers[i]);
	if (cs_pmpi.Comm_group(meeting->comm, &group))
		return 0;
	for (int first = 0; key && first < shape->size; first += PIECE) {
		int from[PIECE], to[PIECE], count = shape->size - first < PIECE
						    ? shape->size - first : PIECE;
		for (int i = 0; i < count; i++)
			from[i] = all ? all->order[all->first[all->node] + first + i] : first + i;
		bool is_known = cs_pmpi.Group_translate_ranks(group, count, from, cs_engine.world,
							      to) == MPI_SUCCESS;
		key = is_known ? cs_hash_bytes(key, to, (size_t)count * sizeof *to) | 1 : 0;
	}
	cs_pmpi.Group_free(&group);
	return key;
}

/* Chooses, from the names of all processes of a meeting, one that all of this node have; 0 if any
 * node of the meeting has none. */
static uint64_t
choose_name(const struct cs_meeting *meeting, const uint64_t (*told)[CS_POOL_IDLE], int locals)
{
	const struct cs_shape *all = meeting->all;
	uint64_t own = 0, (*of_node)[CS_POOL_IDLE];
	if (!all)
		return cs_team_common_name(told[0], CS_POOL_IDLE, locals);
	of_node = malloc((size_t)all->ppn_max * sizeof *of_node);
	if (!of_node)
		cs_team_out_of_memory("the names", all->ppn_max);
	for (int node = 0; node < all->nodes; node++) {
		int first = all->first[node], count = all->first[node + 1] - first;
		for (int i = 0; i < count; i++)
			memcpy(of_node[i], told[all->order[first + i]], sizeof *of_node);
		uint64_t name = cs_team_common_name(of_node[0], CS_POOL_IDLE, count);
		if (node == all->node)
			own = name;
		if (!name) {
			own = 0;
			break;
		}
	}
	free(of_node);
	return own;
}

enum cs_trouble
cs_team_take_node(const struct cs_meeting *meeting, bool has_idle, struct cs_seat *seat,
		  const struct cs_node_shape *shape)
{
	uint64_t key = cs_team_key(meeting, shape), mine[CS_POOL_IDLE], name = 0;
	int ranks = meeting->all ? meeting->all->ranks : shape->size;
	uint64_t (*all)[CS_POOL_IDLE] = has_idle ? malloc((size_t)ranks * sizeof *all) : NULL;
	if (has_idle && !all)
		cs_team_out_of_memory("the names", ranks);
	cs_pool_offer(key, mine);
	if (has_idle && cs_yielding_allgather(mine, CS_POOL_IDLE, MPI_UINT64_T, all,
					      meeting->comm) == MPI_SUCCESS)
		name = choose_name(meeting, (const uint64_t (*)[CS_POOL_IDLE])all, shape->size);
	free(all);
	cs_team_take_idle(name, seat);
	enum cs_trouble trouble = name ? CS_TROUBLE_NONE : cs_team_new_node(meeting, seat, shape);
	seat->team.node.key = key;
	return trouble;
}

void
cs_team_drop_node(struct cs_seat *seat)
{
	uint64_t charge;
	size_t closed = cs_pool_evict_dropped(&charge);
	cs_ledger_close_page(&seat->page);
	give_back_idle(closed, charge);
	if (!seat->team.node.segment.base)
		return;
	bool may_keep = cs_node_may_go_on(&seat->team.node) && !cs_ledger_is_tight();
	closed = cs_pool_put(&seat->team.node, may_keep, &charge);
	give_back_idle(closed, charge);
}
