/* comm/make_team.c — making a team: one word from everybody, who is where, a segment per node.
 *
 * Everything here is collective over the communicator and happens inside a collective call of the program's. What all ranks say
 * first (struct said) decides most: on one node it may show a node of a former team that they all have idle, and then nothing
 * more is said. Else a segment is made, and a rank's trouble (no memory) is agreed; all have the team or nobody has. */
#include "comm/member.h"

#include "base/clock.h"
#include "base/fake_nodes.h"
#include "base/float_guard.h"
#include "base/hash.h"
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
	PUT_OFF = TROUBLES, /* none; and never said to others */
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

/* --- what all ranks say before anything is made ---------------------------------------------------------------- */

/* Up to FEW ranks tell each other all of it. More find out first whether they are on one node; only then it is worth the bytes. */
#define FEW 64

struct said {
	uint64_t node;       /* cs_topo_node; 0: not one node with others */
	uint64_t digest;     /* of what must be equal */
	uint64_t until;      /* the team is not to be made before that many calls */
	uint32_t trouble;
	uint32_t may_split;
	uint64_t idle[CS_POOL_IDLE]; /* names of nodes in this rank's pool that all ranks had, if all are on one node */
};

struct heard {
	bool is_one_node, is_alike, may_split;
	enum trouble trouble;
	uint64_t until;
	uint64_t name; /* of a node that is idle in all pools, or 0 */
};

__attribute__((noreturn)) static void
out_of_memory(const char *what, int ranks)
{
	cs_warn_local("no memory for %s of %d ranks; ending the job", what, ranks);
	cs_host_mpi.abort("out of memory");
}

static bool
has_name(const uint64_t *names, uint64_t name)
{
	for (int i = 0; i < CS_POOL_IDLE && names[i]; i++)
		if (names[i] == name)
			return true;
	return false;
}

/* The first of rank 0's names that all have. Of rank r they begin at names + r * stride. */
static uint64_t
common_name(const uint64_t *names, size_t stride, int ranks)
{
	for (int i = 0; i < CS_POOL_IDLE && names[i]; i++) {
		int rank = 1;
		while (rank < ranks && has_name(names + (size_t)rank * stride, names[i]))
			rank++;
		if (rank == ranks)
			return names[i];
	}
	return 0;
}

/* All hear the same, and so come to the same. */
static void
hear(struct heard *heard, const struct said *all, int ranks)
{
	*heard = (struct heard){ .is_one_node = all->node, .is_alike = true, .may_split = true };
	for (int rank = 0; rank < ranks; rank++) {
		const struct said *said = &all[rank];
		heard->is_one_node &= said->node == all->node;
		heard->is_alike &= said->digest == all->digest;
		heard->may_split &= said->may_split != 0;
		if (said->trouble > heard->trouble)
			heard->trouble = said->trouble;
		if (said->until > heard->until)
			heard->until = said->until;
	}
	_Static_assert(sizeof *all % sizeof *all->idle == 0, "names are words apart");
	if (heard->is_one_node)
		heard->name = common_name(all->idle, sizeof *all / sizeof *all->idle, ranks);
}

static bool
exchange_all(struct cs_member *member, const struct said *mine, struct heard *heard)
{
	struct said *all = malloc((size_t)member->size * sizeof *all);
	if (!all)
		out_of_memory("the word", member->size);
	bool ok = !cs_polite_allgather(mine, (int)sizeof *mine, MPI_BYTE, all, member->comm);
	if (ok)
		hear(heard, all, member->size);
	free(all);
	return ok;
}

/* The same but for the names, by a number of bytes that does not grow with the ranks. */
static bool
exchange_least(struct cs_member *member, const struct said *mine, struct heard *heard)
{
	enum { NODE, NODE_NOT, DIGEST, DIGEST_NOT, UNTIL_NOT, TROUBLE_NOT, MAY_SPLIT, WORDS };
	uint64_t words[WORDS] = {
		[NODE] = mine->node, [NODE_NOT] = ~mine->node, [DIGEST] = mine->digest, [DIGEST_NOT] = ~mine->digest,
		[UNTIL_NOT] = ~mine->until, [TROUBLE_NOT] = TROUBLES - mine->trouble, [MAY_SPLIT] = mine->may_split,
	};
	uint64_t least[WORDS] = { 0 };
	if (cs_polite_allreduce(words, least, WORDS, MPI_UINT64_T, MPI_MIN, member->comm))
		return false;
	*heard = (struct heard){
		.is_one_node = least[NODE] && least[NODE] == ~least[NODE_NOT],
		.is_alike = least[DIGEST] == ~least[DIGEST_NOT],
		.may_split = least[MAY_SPLIT],
		.trouble = (enum trouble)(TROUBLES - least[TROUBLE_NOT]),
		.until = ~least[UNTIL_NOT],
	};
	return true;
}

static bool
exchange(struct cs_member *member, const struct said *mine, struct heard *heard)
{
	bool is_heard = member->size <= FEW || exchange_least(member, mine, heard);
	bool is_over = member->size > FEW && (!heard->is_one_node || heard->trouble != NONE);
	return is_heard && (is_over || exchange_all(member, mine, heard));
}

/* --- putting off ------------------------------------------------------------------------------------------------ */

/* A new team costs about as much as that many of the host's collectives (its pages are committed; nodes are split off), and is
 * paid for when it goes, by the calls that it has served. Where some are not paid for, a communicator has to have made as many
 * calls itself before it gets one: then no more is spent than has been already. Ranks differ in it; the latest is agreed. */
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

/* Who says when teams are made gets them then. */
static uint64_t
put_off_until(const struct cs_member *member)
{
	bool is_late = cs_engine.settings.team_after < 0 && member->comm != MPI_COMM_WORLD && atomic_load(&debt) >= PATIENCE;
	return is_late ? PRICE : 0;
}

/* --- who is where ----------------------------------------------------------------------------------------------- */

/* A host that runs out of communicators must tell us and not the program. Other threads see it, too, if errors of theirs on this
 * communicator come just now; so it is done around nothing else. */
static int
begin_quiet(MPI_Comm comm, MPI_Errhandler *handler)
{
	int result = cs_pmpi.Comm_get_errhandler(comm, handler);
	return result ? result : cs_pmpi.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

static void
end_quiet(MPI_Comm comm, MPI_Errhandler *handler)
{
	cs_pmpi.Comm_set_errhandler(comm, *handler);
	cs_pmpi.Errhandler_free(handler);
}

/* Which node COLLSHIM_FAKE_NODES has this process on; -1: it says nothing. */
static int
fake_node_here(void)
{
	const char *spec = cs_engine.settings.fake_nodes;
	return spec ? cs_fake_nodes_of(spec, cs_engine.world_rank, cs_engine.world_size) : -1;
}

/* MPICH 5.0 by UCX says in MPI_Comm_split_type of each rank that it shares memory with none (seen with 5.0.2; its issue 7814). The
 * ranks of a job have one MPI, so all know it alike. */
static bool
is_split_type_wrong(void)
{
	static const char name[] = "MPICH Version:";
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int length;
	if (cs_pmpi.Get_library_version(text, &length) || strncmp(text, name, strlen(name)) != 0)
		return false;
	const char *version = text + strlen(name);
	return strncmp(version + strspn(version, " \t"), "5.0.", 4) == 0;
}

/* By what processes of one node have in common, which is what tells of all ranks that they are on one. It takes as many of the
 * host's collectives as the other way with pretended nodes. */
static enum trouble
split_by_word(struct cs_member *member, int fake, MPI_Comm *node)
{
	uint64_t word = cs_topo_node(), *words = malloc((size_t)member->size * sizeof *words);
	if (!words)
		out_of_memory("the nodes", member->size);
	if (word && fake >= 0)
		word = cs_hash_number(word, (uint64_t)fake);
	int colour = 0, result = cs_polite_allgather(&word, (int)sizeof word, MPI_BYTE, words, member->comm);
	while (word && words[colour] != word && colour < member->rank)
		colour++;
	if (!word)
		colour = member->rank;
	free(words);
	if (result == MPI_SUCCESS)
		result = cs_pmpi.Comm_split(member->comm, colour, member->rank, node);
	return result == MPI_SUCCESS ? NONE : NO_COMM;
}

/* The communicator of the node's ranks, where they are on several. */
static enum trouble
split_nodes(struct cs_member *member, MPI_Comm *node)
{
	int fake = fake_node_here();
	MPI_Errhandler handler;
	if (begin_quiet(member->comm, &handler))
		return NO_COMM;
	if (is_split_type_wrong()) {
		enum trouble trouble = split_by_word(member, fake, node);
		end_quiet(member->comm, &handler);
		atomic_fetch_add(&cs_engine.team_calls, 1);
		if (trouble == NONE)
			cs_pmpi.Comm_set_errhandler(*node, MPI_ERRORS_RETURN);
		return trouble;
	}
	int result = cs_pmpi.Comm_split_type(member->comm, MPI_COMM_TYPE_SHARED, member->rank, MPI_INFO_NULL, node);
	end_quiet(member->comm, &handler);
	atomic_fetch_add(&cs_engine.team_calls, 1);
	if (result != MPI_SUCCESS)
		return NO_COMM;
	cs_pmpi.Comm_set_errhandler(*node, MPI_ERRORS_RETURN);
	if (fake < 0)
		return NONE;
	MPI_Comm whole = *node;
	result = cs_pmpi.Comm_split(whole, fake, member->rank, node);
	atomic_fetch_add(&cs_engine.team_calls, 1);
	cs_pmpi.Comm_free(&whole);
	if (result != MPI_SUCCESS)
		return NO_COMM;
	cs_pmpi.Comm_set_errhandler(*node, MPI_ERRORS_RETURN);
	return NONE;
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

/* `node`: the member's own communicator, if all are on one. */
static bool
learn_shape(struct cs_member *member, MPI_Comm node, struct cs_shape *shape)
{
	int leader = -1;
	if (node != member->comm && !find_leader(member, node, &leader))
		return false;
	int *leader_of = calloc((size_t)member->size, sizeof *leader_of);
	/* Without memory the allgather is still owed to the others; a process that cannot get these few bytes cannot
	 * go on anyway. */
	if (!leader_of)
		out_of_memory("the places", member->size);
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
	struct cs_segment_ticket ticket;
	struct cs_claim claim;
	enum trouble trouble; /* NONE: there is a segment */
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

/* The worst of all ranks' troubles. */
static enum trouble
agree_on(MPI_Comm comm, enum trouble trouble)
{
	int mine = (int)trouble, worst = NO_MEMORY;
	return cs_polite_allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, comm) ? NO_MEMORY : (enum trouble)worst;
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

static enum trouble
attach_segment(const struct offer *offer, int sharers, struct cs_segment *segment)
{
	enum cs_limit by;
	if (cs_segment_attach(segment, &offer->ticket) != CS_OK) {
		cs_info("shm: attaching was refused: %m");
		return NO_ATTACH;
	}
	account(segment->bytes);
	segment->charge = 0;
	uint64_t part = cs_ledger_part(segment->bytes, sharers);
	enum trouble trouble = trouble_of(cs_ledger_take(&offer->claim, part, &by), by);
	if (trouble == NONE)
		segment->charge = part;
	return trouble;
}

_Static_assert(sizeof(struct cs_topo_machine) <= CS_NODE_TABLE, "the segment has room for the machine");
_Static_assert(sizeof((struct cs_rank_head *)0)->cpus == CS_TOPO_CPUS / 8, "a rank tells of the CPUs that the machine is told of");

/* This rank's part of a node that is made: what others read there before the first call. Of one node's ranks nobody asks in
 * which domains they are; else one of them looks for all, and others in later teams need not. */
static void
furnish(struct cs_seat *seat, const struct cs_node_shape *shape, struct cs_segment *segment)
{
	struct cs_node *node = &seat->team.node;
	cs_node_init(node, shape, segment, &cs_host_mpi);
	cs_node_arm(node);
	if (seat->team.shape.ranks == cs_engine.world_size)
		cs_ledger_open_page(&seat->page, node);
	if (node->table && shape->local == 0)
		memcpy(node->table, cs_topo_machine(), sizeof(struct cs_topo_machine));
}

/* The leader makes a segment, the others attach it, and each commits its share and furnishes its part: with NONE all of the node
 * have. After NO_ATTACH the leader still has it open, and cs_segment_create makes one with a name in its place. A name goes with
 * the first commit; so all must have opened that one before. */
static enum trouble
hand_round(MPI_Comm comm, struct cs_seat *seat, const struct cs_node_shape *shape, struct offer *offer, struct cs_segment *segment)
{
	bool is_leader = shape->local == 0;
	if (is_leader && offer->trouble == NONE) {
		offer->trouble = create_segment(cs_node_bytes(shape), segment, &offer->ticket);
		if (offer->trouble == NONE)
			account(segment->bytes);
	}
	if (cs_polite_bcast(offer, (int)sizeof *offer, MPI_BYTE, 0, comm))
		offer->trouble = NO_SEGMENT;
	if (offer->trouble != NONE)
		return offer->trouble;
	enum trouble trouble = is_leader ? NONE : attach_segment(offer, shape->size, segment);
	if (offer->ticket.is_named && (trouble = agree_on(comm, trouble)) != NONE)
		return trouble;
	if (trouble == NONE)
		trouble = commit_share(shape, segment);
	if (trouble == NONE)
		furnish(seat, shape, segment);
	trouble = agree_on(comm, trouble);
	if (trouble != NONE && seat->team.node.segment.base) {
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

/* Closes idle nodes: those that another process has closed, and, for a segment of so many bytes, as many as it takes. Has it closed
 * any? */
static bool
make_room(size_t bytes, int sharers)
{
	uint64_t charge;
	size_t closed = cs_pool_evict_dropped(&charge);
	bool has_closed = closed > 0;
	give_back_idle(closed, charge);
	while (cs_pool_has_idle() && cs_ledger_is_short(bytes, sharers) && (closed = cs_pool_evict(1, &charge))) {
		give_back_idle(closed, charge);
		has_closed = true;
	}
	return has_closed;
}

/* Of the processes of `comm`, which have no room for a segment: has one of them closed idle nodes now, or, `has_made_room`, before
 * it could know, but maybe after the leader had added up? */
static bool
give_way(MPI_Comm comm, bool has_made_room)
{
	uint64_t charge;
	size_t closed = cs_pool_evict(SIZE_MAX, &charge);
	int mine = has_made_room || closed > 0, any = 0;
	give_back_idle(closed, charge);
	return cs_polite_allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm) == MPI_SUCCESS && any;
}

static enum trouble
try_new_node(MPI_Comm comm, struct cs_seat *seat, const struct cs_node_shape *shape)
{
	struct cs_node *node = &seat->team.node;
	struct cs_segment segment = { .fd = -1 };
	struct offer offer = { .trouble = NONE };
	if (shape->local == 0)
		offer.trouble = claim_bytes(cs_node_bytes(shape), shape->size, &offer.claim);
	enum trouble trouble = hand_round(comm, seat, shape, &offer, &segment);
	/* Whether by name is left to try is known to all from the leader's ticket. */
	if (trouble == NO_ATTACH && !offer.ticket.is_named) {
		if (shape->local != 0)
			close_segment(&segment);
		else
			atomic_fetch_sub(&cs_engine.shm_bytes, segment.bytes);
		enum trouble by_name = hand_round(comm, seat, shape, &offer, &segment);
		if (by_name == NONE || by_name == NO_COMMIT)
			trouble = by_name;
	}
	if (shape->local == 0) {
		uint64_t part = trouble == NONE ? cs_ledger_part(node->segment.bytes, shape->size) : 0;
		cs_ledger_settle(&offer.claim, part);
		node->segment.charge = part;
	}
	if (trouble != NONE)
		close_segment(&segment);
	return trouble;
}

/* A new node for the processes of `comm`; all of them have it, or none has. */
static enum trouble
new_node(MPI_Comm comm, struct cs_seat *seat, const struct cs_node_shape *shape)
{
	struct cs_node *node = &seat->team.node;
	bool has_made_room = make_room(cs_node_bytes(shape), shape->size);
	enum trouble trouble = try_new_node(comm, seat, shape);
	/* Each has made room as far as it could tell; others may have idle nodes that it is not charged for. */
	if (trouble >= NO_BUDGET && trouble < NO_COMMIT && give_way(comm, has_made_room))
		trouble = try_new_node(comm, seat, shape);
	if (trouble != NONE)
		return trouble;
	cs_ledger_ready_page(&seat->page);
	cs_segment_seal(&node->segment);
	cs_node_meet(node);
	node->is_readable =
		cs_node_agree(node, cs_engine.settings.cma != CS_SWITCH_OFF && cs_node_probe_cma(node));
	return NONE;
}

/* A node of a former team, of that name, which all of its processes have idle; they need not meet. 0: none. */
static void
take_idle(uint64_t name, struct cs_seat *seat)
{
	cs_pool_take(name, &seat->team.node);
	if (!name || seat->team.shape.ranks != cs_engine.world_size)
		return;
	cs_ledger_open_page(&seat->page, &seat->team.node);
	cs_ledger_ready_page(&seat->page);
}

/* What a node of a former team must have in common with the next: processes, in their order, and shape. */
static uint64_t
key_of(MPI_Comm comm, const struct cs_node_shape *shape)
{
	enum { PIECE = 64 };
	const size_t numbers[] = { (size_t)shape->local, (size_t)shape->size, shape->slots, shape->slot_bytes,
				   shape->area_slots, shape->area_bytes };
	uint64_t key = CS_HASH_START;
	MPI_Group group;
	for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
		key = cs_hash_number(key, numbers[i]);
	if (cs_pmpi.Comm_group(comm, &group))
		return 0;
	for (int first = 0; key && first < shape->size; first += PIECE) {
		int from[PIECE], to[PIECE], count = shape->size - first < PIECE ? shape->size - first : PIECE;
		for (int i = 0; i < count; i++)
			from[i] = first + i;
		bool is_known = cs_pmpi.Group_translate_ranks(group, count, from, cs_engine.world, to) == MPI_SUCCESS;
		key = is_known ? cs_hash_bytes(key, to, (size_t)count * sizeof *to) | 1 : 0;
	}
	cs_pmpi.Group_free(&group);
	return key;
}

/* One of several nodes: a node that all of its processes have idle, or a new one. */
static enum trouble
take_node(MPI_Comm comm, struct cs_seat *seat, const struct cs_node_shape *shape)
{
	uint64_t key = key_of(comm, shape), mine[CS_POOL_IDLE], name = 0;
	uint64_t *all = malloc((size_t)shape->size * sizeof mine);
	if (!all)
		out_of_memory("the names", shape->size);
	cs_pool_offer(key, mine);
	if (cs_polite_allgather(mine, CS_POOL_IDLE, MPI_UINT64_T, all, comm) == MPI_SUCCESS)
		name = common_name(all, CS_POOL_IDLE, shape->size);
	free(all);
	take_idle(name, seat);
	enum trouble trouble = name ? NONE : new_node(comm, seat, shape);
	seat->team.node.key = key;
	return trouble;
}

/* Others may still be reading what we wrote: the memory goes when the last of us unmaps it, or waits in the pool for a next
 * team of the same processes, which all of them join only after they have left this one. */
static void
drop_node(struct cs_seat *seat)
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
	MPI_Errhandler handler;
	int result = begin_quiet(member->comm, &handler);
	if (!result) {
		result = cs_pmpi.Comm_split(member->comm, is_in_lane ? team->lane : MPI_UNDEFINED, shape->node,
					    &leaders->comm);
		atomic_fetch_add(&cs_engine.team_calls, 1);
		end_quiet(member->comm, &handler);
	}
	if (result) {
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
	mine[0] = team->node.is_readable;
	if (team->shape.nodes == 1)
		memcpy(least, mine, sizeof least);
	if (team->shape.nodes == 1 ||
	    cs_polite_allreduce(mine, least, 2, MPI_INT, MPI_MIN, member->comm) == MPI_SUCCESS) {
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

/* Before anything is made, where MPI_Init was not seen: some processes, or all, may be disabled. They may also be of another
 * version, so it is said in a way of its own. */
static enum trouble
agree_late(struct cs_member *member)
{
	if (cs_engine.is_init_seen)
		return NONE;
	enum trouble mine = cs_engine.settings.is_disabled ? DISABLED : NONE;
	uint64_t words[3] = { TROUBLES - mine, cs_engine.digest, ~cs_engine.digest }, least[3] = { 0 };
	if (cs_polite_allreduce(words, least, 3, MPI_UINT64_T, MPI_MIN, member->comm))
		return NO_MEMORY;
	if (least[1] != ~least[2])
		return NOT_ALIKE;
	return (enum trouble)(TROUBLES - least[0]);
}

/* All on one node: nothing is split, which under MPICH takes many time slices where ranks share cores, and may be made where a
 * pending copy forbids to split. `name`: of an idle node. */
static enum trouble
make_on_one(struct cs_member *member, uint64_t key, uint64_t name)
{
	struct cs_team *team = &member->seat->team;
	struct cs_node_shape shape = node_shape(&team->shape);
	enum trouble trouble = NONE;
	take_idle(name, member->seat);
	if (!name)
		trouble = new_node(member->comm, member->seat, &shape);
	team->node.key = key;
	member->is_new = !name;
	if (trouble == NONE)
		learn_least(member, team);
	return trouble;
}

/* One rank on each node: nothing to share, but plans between all ranks may serve. */
static enum trouble
make_without_memory(struct cs_member *member)
{
	struct cs_team *team = &member->seat->team;
	team->node.shape.slot_bytes = team->node.shape.area_bytes = SIZE_MAX; /* no element is too large */
	member->is_new = false; /* what it serves is not counted */
	return agree_on(member->comm, team->work ? NONE : NO_MEMORY);
}

static enum trouble
make_on_several(struct cs_member *member, MPI_Comm node)
{
	struct cs_team *team = &member->seat->team;
	struct cs_node_shape shape = node_shape(&team->shape);
	enum trouble trouble = take_node(node, member->seat, &shape);
	member->is_new = true; /* nodes are split off in any case */
	if (trouble == NONE && cs_groups_are_many())
		trouble = NO_SHARE;
	trouble = agree_on(member->comm, team->work ? trouble : NO_MEMORY);
	if (trouble != NONE)
		return trouble;
	learn_domains(team);
	learn_least(member, team);
	return agree_on(member->comm, make_leaders(member, team));
}

static enum trouble
make_nodes(struct cs_member *member)
{
	struct cs_team *team = &member->seat->team;
	MPI_Comm node = MPI_COMM_NULL;
	enum trouble trouble = split_nodes(member, &node);
	if (trouble != NONE) /* the same on all ranks */
		return trouble;
	if (!learn_shape(member, node, &team->shape))
		trouble = NO_MEMORY;
	else
		team->work = calloc(4 * (size_t)team->shape.nodes, sizeof *team->work);
	if (trouble == NONE)
		trouble = team->shape.ppn_max > 1 ? make_on_several(member, node) : make_without_memory(member);
	cs_pmpi.Comm_free(&node);
	return trouble;
}

/* Memory that a team on one node needs, and its shape; that it is on one is not known yet. */
static enum trouble
prepare(struct cs_member *member)
{
	struct cs_team *team = &member->seat->team;
	team->lane = CS_LANES;
	team->domains = 1;
	team->work = calloc(4, sizeof *team->work);
	if (!member->sizes)
		member->sizes = malloc(4 * (size_t)member->size * sizeof *member->sizes);
	return learn_shape(member, member->comm, &team->shape) && team->work && member->sizes ? NONE : NO_MEMORY;
}

static void
forget_shape(struct cs_team *team)
{
	free(team->work);
	free(team->shape.node_of);
	team->work = NULL;
	team->shape = (struct cs_shape){ 0 };
}

/* NONE, and a team; PUT_OFF, or why there is none: the same on all ranks. */
static enum trouble
find_way(struct cs_member *member)
{
	struct cs_team *team = &member->seat->team;
	struct said mine = {
		.node = fake_node_here() < 0 ? cs_topo_node() : 0,
		.digest = cs_engine.digest,
		.until = put_off_until(member),
		.may_split = !atomic_load(&cs_engine.has_duplicated),
	};
	struct heard heard = { .trouble = NONE };
	uint64_t key = 0;
	enum trouble trouble = agree_late(member);
	member->is_alike = trouble == NONE;
	if (trouble != NONE)
		return trouble;
	mine.trouble = prepare(member);
	if (mine.trouble == NONE && mine.node) {
		struct cs_node_shape shape = node_shape(&team->shape);
		key = key_of(member->comm, &shape);
	}
	cs_pool_offer(key, mine.idle);
	if (!exchange(member, &mine, &heard))
		heard.trouble = NO_COMM;
	else if (!heard.is_alike)
		heard.trouble = NOT_ALIKE;
	else if (heard.trouble == NONE && !heard.is_one_node && !heard.may_split)
		heard.trouble = MIGHT_HANG;
	else if (heard.trouble == NONE && !heard.name && member->calls < heard.until)
		heard.trouble = PUT_OFF;
	if (heard.trouble == NONE && heard.is_one_node)
		return make_on_one(member, key, heard.name);
	cs_pool_take(0, NULL);
	if (heard.trouble == PUT_OFF)
		member->try_at = heard.until;
	if (heard.trouble != NONE)
		return heard.trouble;
	forget_shape(team);
	return make_nodes(member);
}

static void
make(struct cs_member *member)
{
	struct cs_team *team = &member->seat->team;
	member->seat->leaders = (struct cs_group){ .comm = MPI_COMM_NULL, .parent = MPI_COMM_NULL };
	member->seat->everyone = (struct cs_group){ .comm = MPI_COMM_NULL, .parent = member->comm };
	enum trouble trouble = find_way(member);
	if (trouble != NONE) {
		drop_groups(member);
		drop_node(member->seat);
		forget_shape(team);
		if (trouble != PUT_OFF)
			refuse(member, trouble);
		return;
	}
	team->host = &cs_host_mpi;
	team->node.rank_of = &team->shape.order[team->shape.first[team->shape.node]];
	team->node.all_ranks = team->shape.ranks;
	team->node.nodes = team->shape.nodes;
	team->leaders = member->seat->leaders.comm != MPI_COMM_NULL ? &member->seat->leaders : NULL;
	team->everyone = &member->seat->everyone;
	member->first_call = team->node.call;
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
	if (member->is_new)
		owe(PRICE);
	else
		atomic_fetch_add(&cs_engine.teams_again, 1);
	atomic_fetch_add(&cs_engine.teams_made, 1);
	atomic_fetch_add(&cs_engine.teams_alive, 1);
	if (member->rank == 0)
		cs_info("team of %d ranks on %d node%s (%d to %d ranks each, %s), %zu bytes shared per node%s%s%s%s",
			team->shape.ranks, team->shape.nodes, team->shape.nodes == 1 ? "" : "s",
			team->shape.ppn_min, team->shape.ppn_max,
			team->shape.is_block_placed ? "block placed" : "scattered", team->node.segment.bytes,
			member->is_new ? "" : ", of a former team",
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
	struct cs_float_state floats;
	uint64_t before = cs_clock_ns(), none = 0;
	take_seat(member);
	cs_float_hold(&floats);
	make(member);
	cs_float_release(&floats);
	if (member->state == CS_MEMBER_TEAM)
		atomic_compare_exchange_strong(&cs_engine.first_team_ns, &none, cs_clock_ns() - before);
	else
		leave_seat(member);
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
	if (member->is_new)
		owe(-(int64_t)(team->node.call - member->first_call));
	drop_node(member->seat);
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
