/* comm/wire.c — the host's point-to-point messages as a wire (wire/wire.h). */
#include "comm/host.h"

#include "base/log.h"
#include "comm/engine.h"
#include "comm/flavour.h"
#include "comm/pmpi.h"
#include "ib/ib.h"

#include <limits.h>
#include <stdlib.h>

#define PLAN_TAG 1
#define LARGE_BLOCK (1 << 20)

static struct cs_group *
group_of(struct cs_wire *wire)
{
	return (struct cs_group *)(void *)((char *)wire - offsetof(struct cs_group, wire));
}

static void
check(int result, const char *what)
{
	if (result == MPI_SUCCESS)
		return;
	cs_warn_local("%s of a plan failed (MPI error code %d); ending the job", what, result);
	cs_host_mpi.abort(what);
}

/* More bytes than an int counts: whole blocks and the rest, as one datatype. */
static MPI_Datatype
large_type(size_t bytes)
{
	MPI_Datatype block, parts[2] = { MPI_DATATYPE_NULL, MPI_BYTE }, all;
	int lengths[2] = { 1, (int)(bytes % LARGE_BLOCK) };
	MPI_Aint at[2] = { 0, (MPI_Aint)(bytes - bytes % LARGE_BLOCK) };
	check(cs_pmpi.Type_contiguous(LARGE_BLOCK, MPI_BYTE, &block), "MPI_Type_contiguous");
	check(cs_pmpi.Type_contiguous((int)(bytes / LARGE_BLOCK), block, &parts[0]), "MPI_Type_contiguous");
	check(cs_pmpi.Type_create_struct(2, lengths, at, parts, &all), "MPI_Type_create_struct");
	check(cs_pmpi.Type_commit(&all), "MPI_Type_commit");
	cs_pmpi.Type_free(&parts[0]);
	cs_pmpi.Type_free(&block);
	return all;
}

static void
send_message(struct cs_wire *wire, int request, int peer, const void *from, size_t bytes)
{
	struct cs_group *group = group_of(wire);
	bool is_large = bytes > INT_MAX;
	MPI_Datatype type = is_large ? large_type(bytes) : MPI_BYTE;
	check(cs_pmpi.Isend(from, is_large ? 1 : (int)bytes, type, peer, PLAN_TAG, group->comm, &group->requests[request]),
	      "MPI_Isend");
	if (is_large)
		cs_pmpi.Type_free(&type);
}

static void
recv_message(struct cs_wire *wire, int request, int peer, void *to, size_t bytes)
{
	struct cs_group *group = group_of(wire);
	bool is_large = bytes > INT_MAX;
	MPI_Datatype type = is_large ? large_type(bytes) : MPI_BYTE;
	check(cs_pmpi.Irecv(to, is_large ? 1 : (int)bytes, type, peer, PLAN_TAG, group->comm, &group->requests[request]),
	      "MPI_Irecv");
	if (is_large)
		cs_pmpi.Type_free(&type);
}

static void
finish(struct cs_group *group, int result, const char *what)
{
	int class = MPI_SUCCESS;
	if (result != MPI_SUCCESS)
		cs_pmpi.Error_class(result, &class);
	/* The program's ranks disagree about a size: the call goes on, and reports it. */
	if (class == MPI_ERR_TRUNCATE)
		group->is_truncated = true;
	else
		check(result, what);
}

static void
raise_flag(struct cs_group *group, int request)
{
	struct cs_flag *flag = &group->flags[request];
	if (!flag->word)
		return;
	atomic_store_explicit(flag->word, flag->value, memory_order_release);
	flag->word = NULL;
}

static void
wait_for(struct cs_wire *wire, int request)
{
	struct cs_group *group = group_of(wire);
	finish(group, cs_pmpi.Wait(&group->requests[request], MPI_STATUS_IGNORE), "MPI_Wait");
	raise_flag(group, request);
}

static bool
test(struct cs_wire *wire, int request)
{
	struct cs_group *group = group_of(wire);
	int is_done = 0;
	finish(group, cs_pmpi.Test(&group->requests[request], &is_done, MPI_STATUS_IGNORE), "MPI_Test");
	if (is_done)
		raise_flag(group, request);
	return is_done;
}

static bool
reserve(struct cs_wire *wire, int count)
{
	struct cs_group *group = group_of(wire);
	if (count <= group->room)
		return true;
	MPI_Request *requests = realloc(group->requests, (size_t)count * sizeof(MPI_Request));
	if (requests)
		group->requests = requests;
	struct cs_flag *flags = realloc(group->flags, (size_t)count * sizeof *flags);
	if (flags)
		group->flags = flags;
	if (!requests || !flags)
		return false;
	for (int i = group->room; i < count; i++) {
		requests[i] = MPI_REQUEST_NULL;
		flags[i] = (struct cs_flag){ NULL, 0 };
	}
	group->room = count;
	return true;
}

static _Atomic int comms;

bool
cs_groups_are_many(void)
{
	return atomic_load(&comms) >= cs_flavour.most_comms;
}

void
cs_group_count(struct cs_group *group)
{
	if (group->comm != MPI_COMM_NULL)
		atomic_fetch_add(&comms, 1);
}

/* The communicator of all of a team's ranks. Not MPI_Comm_dup, which would copy the program's attributes. A host that has none
 * left says so on all ranks alike. */
static const char *
make_comm(struct cs_group *group)
{
	int mine[2] = { cs_groups_are_many(), atomic_load(&cs_engine.has_duplicated) }, any[2] = { 0, 0 };
	cs_pmpi.Comm_rank(group->parent, &group->node);
	cs_pmpi.Comm_size(group->parent, &group->nodes);
	check(cs_pmpi.Allreduce(mine, any, 2, MPI_INT, MPI_MAX, group->parent), "MPI_Allreduce");
	if (any[0] || any[1])
		return any[1] ? CS_GROUP_MIGHT_HANG : CS_GROUPS_ARE_MANY;
	if (cs_pmpi.Comm_split(group->parent, 0, group->node, &group->comm)) {
		group->comm = MPI_COMM_NULL;
		return CS_GROUP_WAS_REFUSED;
	}
	cs_group_count(group);
	cs_pmpi.Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
	group->ints = calloc(4 * (size_t)group->nodes, sizeof(int));
	if (!group->ints) {
		cs_warn_local("no memory for %d ranks; ending the job", group->nodes);
		cs_host_mpi.abort("out of memory");
	}
	return NULL;
}

const char *
cs_group_open(void *handle)
{
	struct cs_group *group = handle;
	MPI_Errhandler handler;
	if (group->comm != MPI_COMM_NULL || group->refused)
		return group->refused;
	/* A refusal is ours to hear, not the program's. */
	check(cs_pmpi.Comm_get_errhandler(group->parent, &handler), "MPI_Comm_get_errhandler");
	cs_pmpi.Comm_set_errhandler(group->parent, MPI_ERRORS_RETURN);
	group->refused = make_comm(group);
	cs_pmpi.Comm_set_errhandler(group->parent, handler);
	cs_pmpi.Errhandler_free(&handler);
	return group->refused;
}

/* Direct messages are a promise of the memory's kind only; here every message is alike. */
static void
recv_direct(struct cs_wire *wire, int request, int peer, void *to, size_t bytes, _Atomic uint64_t *flag, uint64_t value)
{
	struct cs_group *group = group_of(wire);
	group->flags[request] = (struct cs_flag){ flag, value };
	recv_message(wire, request, peer, to, bytes);
}

__attribute__((noreturn)) static void
out_of_memory(const char *what, int count)
{
	cs_warn_local("no memory for %d %s; ending the job", count, what);
	cs_host_mpi.abort("out of memory");
}

/* By rank of the group: its rank in MPI_COMM_WORLD, and whether it is on the own node. */
static void
open_verbs(struct cs_group *group)
{
	int ranks = group->wire.ranks;
	int *world = malloc(2 * (size_t)ranks * sizeof *world), *own = world + ranks;
	bool *is_near = calloc((size_t)ranks, sizeof *is_near);
	MPI_Group members;
	if (!world || !is_near)
		out_of_memory("ranks", ranks);
	for (int rank = 0; rank < ranks; rank++) {
		own[rank] = rank;
		is_near[rank] = group->node_of ? group->node_of[rank] == group->node_of[group->wire.rank]
					       : rank == group->wire.rank;
	}
	check(cs_pmpi.Comm_group(group->comm, &members), "MPI_Comm_group");
	check(cs_pmpi.Group_translate_ranks(members, ranks, own, cs_engine.world, world), "MPI_Group_translate_ranks");
	cs_pmpi.Group_free(&members);
	struct cs_ib_group described = { .rank = group->wire.rank, .ranks = ranks, .world = world, .is_near = is_near,
					 .host = &group->wire, .is_truncated = &group->is_truncated };
	group->verbs = cs_ib_wire_open(group->ib, &described);
	if (!group->verbs)
		out_of_memory("ranks", ranks);
	free(world);
	free(is_near);
}

static void
open_wire(struct cs_group *group)
{
	group->wire = (struct cs_wire){ .reserve = reserve, .send = send_message, .recv = recv_message,
					.send_direct = send_message, .recv_direct = recv_direct,
					.wait = wait_for, .test = test };
	cs_pmpi.Comm_rank(group->comm, &group->wire.rank);
	cs_pmpi.Comm_size(group->comm, &group->wire.ranks);
}

struct cs_wire *
cs_host_wire(void *handle, int requests)
{
	struct cs_group *group = handle;
	if (!group->wire.send)
		open_wire(group);
	if (group->ib && !group->verbs)
		open_verbs(group);
	struct cs_wire *wire = group->verbs ? group->verbs : &group->wire;
	if (!wire->reserve(wire, requests))
		out_of_memory("requests", requests);
	return wire;
}

void
cs_group_close(struct cs_group *group)
{
	if (group->comm != MPI_COMM_NULL) {
		cs_pmpi.Comm_free(&group->comm);
		atomic_fetch_sub(&comms, 1);
	}
	cs_ib_wire_close(group->verbs);
	free(group->requests);
	free(group->flags);
	free(group->ints);
	*group = (struct cs_group){ .comm = MPI_COMM_NULL, .parent = MPI_COMM_NULL };
}
