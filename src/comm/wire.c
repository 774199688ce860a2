/* comm/wire.c — the host's point-to-point messages as a wire (wire/wire.h). */
#include "comm/host.h"

#include "base/log.h"
#include "comm/pmpi.h"

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
wait_for(struct cs_wire *wire, int request)
{
	struct cs_group *group = group_of(wire);
	finish(group, cs_pmpi.Wait(&group->requests[request], MPI_STATUS_IGNORE), "MPI_Wait");
}

static bool
test(struct cs_wire *wire, int request)
{
	struct cs_group *group = group_of(wire);
	int is_done = 0;
	finish(group, cs_pmpi.Test(&group->requests[request], &is_done, MPI_STATUS_IGNORE), "MPI_Test");
	return is_done;
}

static bool
reserve(struct cs_wire *wire, int count)
{
	struct cs_group *group = group_of(wire);
	if (count <= group->room)
		return true;
	MPI_Request *requests = realloc(group->requests, (size_t)count * sizeof(MPI_Request));
	if (!requests)
		return false;
	for (int i = group->room; i < count; i++)
		requests[i] = MPI_REQUEST_NULL;
	group->requests = requests;
	group->room = count;
	return true;
}

/* The communicator of all of a team's ranks is made when the first plan needs it; every rank of the team is in that call. */
static void
open_comm(struct cs_group *group)
{
	/* Not MPI_Comm_dup, which would copy the program's attributes. */
	cs_pmpi.Comm_rank(group->parent, &group->node);
	cs_pmpi.Comm_size(group->parent, &group->nodes);
	check(cs_pmpi.Comm_split(group->parent, 0, group->node, &group->comm), "MPI_Comm_split");
	cs_pmpi.Comm_set_errhandler(group->comm, MPI_ERRORS_RETURN);
	group->ints = calloc(4 * (size_t)group->nodes, sizeof(int));
	if (!group->ints) {
		cs_warn_local("no memory for %d ranks; ending the job", group->nodes);
		cs_host_mpi.abort("out of memory");
	}
}

struct cs_wire *
cs_host_wire(void *handle, int requests)
{
	struct cs_group *group = handle;
	if (!group->wire.send) {
		if (group->comm == MPI_COMM_NULL)
			open_comm(group);
		group->wire = (struct cs_wire){ .reserve = reserve, .send = send_message, .recv = recv_message,
						.wait = wait_for, .test = test };
		cs_pmpi.Comm_rank(group->comm, &group->wire.rank);
		cs_pmpi.Comm_size(group->comm, &group->wire.ranks);
	}
	if (!reserve(&group->wire, requests)) {
		cs_warn_local("no memory for %d requests; ending the job", requests);
		cs_host_mpi.abort("out of memory");
	}
	return &group->wire;
}

void
cs_group_close(struct cs_group *group)
{
	if (group->comm != MPI_COMM_NULL)
		cs_pmpi.Comm_free(&group->comm);
	free(group->requests);
	free(group->ints);
	*group = (struct cs_group){ .comm = MPI_COMM_NULL, .parent = MPI_COMM_NULL };
}
