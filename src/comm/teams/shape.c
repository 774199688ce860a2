/* comm/teams/shape.c — finds the nodes of a communicator's ranks, and the layout of a node's
 * memory. */
#include "comm/teams/make_team.h"

#include "base/fake_nodes.h"
#include "base/hash.h"
#include "base/log.h"
#include "comm/engine.h"
#include "comm/host/flavour.h"
#include "comm/host/pmpi.h"
#include "comm/host/yielding.h"
#include "topo/topo.h"

#include <pthread.h>
#include <stdlib.h>

int
cs_team_quiet(MPI_Comm comm, MPI_Errhandler *handler)
{
	int result = cs_pmpi.Comm_get_errhandler(comm, handler);
	return result ? result : cs_pmpi.Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
}

void
cs_team_unquiet(MPI_Comm comm, MPI_Errhandler *handler)
{
	cs_pmpi.Comm_set_errhandler(comm, *handler);
	cs_pmpi.Errhandler_free(handler);
}

/* This process's pretended node (COLLSHIM_FAKE_NODES); -1: the variable is not set. */
static int
fake_node(void)
{
	const char *spec = cs_engine.settings.fake_nodes;
	return spec ? cs_fake_nodes_of(spec, cs_engine.world_rank, cs_engine.world_size) : -1;
}

static struct {
	pthread_once_t once;
	uint64_t word, host;
} self = { .once = PTHREAD_ONCE_INIT };

static void
find_self(void)
{
	self.word = cs_topo_node(&self.host);
}

uint64_t
cs_team_node_word(uint64_t *host)
{
	pthread_once(&self.once, find_self);
	uint64_t word = self.word;
	*host = self.host;
	int fake = fake_node();
	if (!word || fake < 0)
		return word;
	*host = cs_hash_number(*host, (uint64_t)fake);
	return cs_hash_number(word, (uint64_t)fake) | 1;
}

/* Splits by the node word, or by that of shared memory if there is one. Takes two collectives of
 * the host, as MPI_Comm_split_type does with pretended nodes. */
static enum cs_trouble
split_by_word(struct cs_comm *communicator, MPI_Comm *node)
{
	uint64_t host, word = cs_team_node_word(&host), memory = word ? cs_topo_memory(host) : 0,
		       *words = malloc((size_t)communicator->size * sizeof *words);
	if (!words)
		cs_team_out_of_memory("the nodes", communicator->size);
	if (memory)
		word = memory;
	int colour = 0, result = cs_yielding_allgather(&word, (int)sizeof word, MPI_BYTE, words,
						       communicator->comm);
	while (word && words[colour] != word && colour < communicator->rank)
		colour++;
	if (!word)
		colour = communicator->rank;
	free(words);
	if (result == MPI_SUCCESS)
		result = cs_pmpi.Comm_split(communicator->comm, colour, communicator->rank, node);
	return result == MPI_SUCCESS ? CS_TROUBLE_NONE : CS_TROUBLE_NO_COMM;
}

enum cs_trouble
cs_team_split_nodes(struct cs_comm *communicator, MPI_Comm *node)
{
	int fake = fake_node();
	MPI_Errhandler handler;
	if (cs_team_quiet(communicator->comm, &handler))
		return CS_TROUBLE_NO_COMM;
	if (cs_flavour.splits_type_wrongly || !cs_pmpi.Comm_split_type) {
		enum cs_trouble trouble = split_by_word(communicator, node);
		cs_team_unquiet(communicator->comm, &handler);
		atomic_fetch_add(&cs_engine.team_calls, 1);
		if (trouble == CS_TROUBLE_NONE)
			cs_pmpi.Comm_set_errhandler(*node, MPI_ERRORS_RETURN);
		return trouble;
	}
	int result = cs_pmpi.Comm_split_type(communicator->comm, MPI_COMM_TYPE_SHARED,
					     communicator->rank, MPI_INFO_NULL, node);
	cs_team_unquiet(communicator->comm, &handler);
	atomic_fetch_add(&cs_engine.team_calls, 1);
	if (result != MPI_SUCCESS)
		return CS_TROUBLE_NO_COMM;
	cs_pmpi.Comm_set_errhandler(*node, MPI_ERRORS_RETURN);
	if (fake < 0)
		return CS_TROUBLE_NONE;
	MPI_Comm whole = *node;
	result = cs_pmpi.Comm_split(whole, fake, communicator->rank, node);
	atomic_fetch_add(&cs_engine.team_calls, 1);
	cs_pmpi.Comm_free(&whole);
	if (result != MPI_SUCCESS)
		return CS_TROUBLE_NO_COMM;
	cs_pmpi.Comm_set_errhandler(*node, MPI_ERRORS_RETURN);
	return CS_TROUBLE_NONE;
}

/* Fills in the shape from the lowest rank of each rank's node; all arrays are in one allocation,
 * owned by shape->node_of. False: the leaders make no sense. */
static bool
shape_make(struct cs_shape *shape, const int *leader_of, int rank, int ranks)
{
	size_t words = 4 * (size_t)ranks + (size_t)ranks + 1;
	int *memory = calloc(words, sizeof *memory);
	if (!memory) {
		cs_warn_local("no memory for the shape of a team of %d ranks; ending the job",
			      ranks);
		cs_host_mpi.abort("out of memory");
	}
	*shape = (struct cs_shape){ .rank = rank, .ranks = ranks, .node_of = memory };
	shape->local_of = memory + ranks;
	shape->order = shape->local_of + ranks;
	shape->position = shape->order + ranks;
	shape->first = shape->position + ranks;
	/* Leaders come before their nodes' other ranks, so one pass numbers the nodes by lowest
	 * rank. */
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

/* Finds the communicator's rank of the node's first process. */
static bool
find_leader(struct cs_comm *communicator, MPI_Comm node, int *leader)
{
	MPI_Group here, all;
	int zero = 0;
	if (cs_pmpi.Comm_group(node, &here))
		return false;
	if (cs_pmpi.Comm_group(communicator->comm, &all) == MPI_SUCCESS) {
		cs_pmpi.Group_translate_ranks(here, 1, &zero, all, leader);
		cs_pmpi.Group_free(&all);
	}
	cs_pmpi.Group_free(&here);
	return true;
}

bool
cs_team_learn_shape(struct cs_comm *communicator, MPI_Comm node, struct cs_shape *shape)
{
	int leader = -1;
	if (node != communicator->comm && !find_leader(communicator, node, &leader))
		return false;
	int *leader_of = calloc((size_t)communicator->size, sizeof *leader_of);
	/* End the job: the others wait in the allgather. */
	if (!leader_of)
		cs_team_out_of_memory("the places", communicator->size);
	bool ok = (node == communicator->comm ||
		   cs_yielding_allgather(&leader, 1, MPI_INT, leader_of, communicator->comm) ==
		   MPI_SUCCESS) &&
		  shape_make(shape, leader_of, communicator->rank, communicator->size);
	free(leader_of);
	return ok;
}

bool
cs_team_shape_by_words(const struct cs_comm *communicator, const uint64_t *words,
		       struct cs_shape *shape)
{
	int leader_of[CS_TEAM_FEW];
	for (int rank = 0; rank < communicator->size; rank++) {
		leader_of[rank] = 0;
		while (words[leader_of[rank]] != words[rank])
			leader_of[rank]++;
	}
	return shape_make(shape, leader_of, communicator->rank, communicator->size);
}

/* Most bytes of a node's rings: with many ranks on the largest node, slots are smaller. They are
 * equal on all nodes, since rounds between nodes are counted in slots. */
#define RINGS ((size_t)32 << 20)

#define LEAST_SLOT ((size_t)8 << 10) /* for calls of few bytes */

static size_t
slot_bytes(const struct cs_limits *limits, const struct cs_shape *shape, size_t call_bytes)
{
	size_t bytes = limits->slot_bytes;
	while (bytes > (64 << 10) && bytes * limits->slots * (size_t)shape->ppn_max > RINGS)
		bytes /= 2;
	while (bytes > LEAST_SLOT && bytes / 2 >= call_bytes)
		bytes /= 2;
	/* At least a line for each rank of the node. */
	size_t least = 64 * (size_t)shape->ppn_max;
	return bytes > least ? bytes : least;
}

/* Bytes of an area slot, which also carries tables of two sizes for each pair of a local rank and a
 * rank (alltoallv). */
static size_t
area_bytes(const struct cs_limits *limits, const struct cs_shape *shape)
{
	size_t table = 2 * sizeof(size_t) * (size_t)shape->ppn_max * (size_t)shape->ranks;
	table = (table + 63) & ~(size_t)63;
	return table > limits->area_bytes ? table : limits->area_bytes;
}

struct cs_node_shape
cs_team_node_shape(const struct cs_comm *communicator)
{
	const struct cs_shape *shape = &communicator->seat->team.shape;
	size_t call_bytes = communicator->is_apart ? communicator->call_bytes : SIZE_MAX;
	const struct cs_limits *limits = cs_selector_limits(cs_engine.selector);
	return (struct cs_node_shape){
		.local = shape->local,
		.size = shape->locals,
		.slots = limits->slots < CS_MAX_SLOTS ? limits->slots : CS_MAX_SLOTS,
		.slot_bytes = slot_bytes(limits, shape, call_bytes),
		.has_table = shape->nodes == 1 && shape->locals > CS_LEVEL_MOST,
		.area_slots = shape->nodes > 1 ? limits->area_slots : 0,
		.area_bytes = shape->nodes > 1 ? area_bytes(limits, shape) : 0,
		.spin = limits->spin,
		.yields = limits->yields,
		.streams = cs_engine.settings.streams,
		.cow = cs_engine.settings.cow,
		.facts.of = { [CS_COPY_RATE] = (uint32_t)limits->copy_rate,
			      [CS_LINE_NS] = (uint32_t)limits->line_ns,
			      [CS_TURN_NS] = (uint32_t)limits->turn_ns,
			      [CS_PAGE_NS] = (uint32_t)limits->page_ns,
			      [CS_CALL_NS] = (uint32_t)limits->call_ns,
			      [CS_EAGER_BYTES] = (uint32_t)limits->eager_bytes,
			      [CS_LANES_BYTES] = (uint32_t)limits->lanes_bytes,
			      [CS_ROOTED_SMALL] = (uint32_t)limits->rooted_small },
	};
}
