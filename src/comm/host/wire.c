/* comm/host/wire.c — the host's point-to-point messages as a wire (wire/wire.h). */
#include "comm/host/host.h"

#include "base/log.h"
#include "comm/engine.h"
#include "comm/host/flavour.h"
#include "comm/host/pmpi.h"
#include "ib/ib.h"

#include <limits.h>
#include <stdlib.h>

#define LARGE_BLOCK (1 << 20)
/* Number of MPI tags used: every MPI has as many, and messages with one tag match in order. */
#define MPI_TAGS (1 << 14)
_Static_assert(MPI_TAGS % CS_TAGS == 0 && MPI_TAGS <= 32767 /* MPI 4.0, 9.1.2 */,
	       "tags that are in use at one time differ");

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

/* Datatype of more bytes than an int counts: whole blocks and the rest. */
static MPI_Datatype
large_type(size_t bytes)
{
	MPI_Datatype block, parts[2] = { MPI_DATATYPE_NULL, MPI_BYTE }, all;
	int lengths[2] = { 1, (int)(bytes % LARGE_BLOCK) };
	MPI_Aint at[2] = { 0, (MPI_Aint)(bytes - bytes % LARGE_BLOCK) };
	check(cs_pmpi.Type_contiguous(LARGE_BLOCK, MPI_BYTE, &block), "MPI_Type_contiguous");
	check(cs_pmpi.Type_contiguous((int)(bytes / LARGE_BLOCK), block, &parts[0]),
	      "MPI_Type_contiguous");
	check(cs_pmpi.Type_create_struct(2, lengths, at, parts, &all), "MPI_Type_create_struct");
	check(cs_pmpi.Type_commit(&all), "MPI_Type_commit");
	cs_pmpi.Type_free(&parts[0]);
	cs_pmpi.Type_free(&block);
	return all;
}

/* State of a message, in its struct cs_request. */
struct message {
	MPI_Request mpi;
	_Atomic uint64_t *flag; /* of a direct receive; NULL: none */
	uint64_t value;
};
_Static_assert(sizeof(struct message) <= sizeof((struct cs_request *)0)->host,
	       "a request has room for it");

static struct message *
message_of(struct cs_request *request)
{
	return (struct message *)(void *)request->host;
}

static MPI_Request *
begin(struct cs_request *request, _Atomic uint64_t *flag, uint64_t value)
{
	struct message *message = message_of(request);
	*message = (struct message){ .mpi = MPI_REQUEST_NULL, .flag = flag, .value = value };
	request->told = 0;
	return &message->mpi;
}

static void
send_with(struct cs_wire *wire, struct cs_request *request, int peer, int mpi_tag, const void *from,
	  size_t bytes, bool is_synchronous)
{
	MPI_Comm comm = group_of(wire)->comm;
	bool is_large = bytes > INT_MAX;
	MPI_Datatype type = is_large ? large_type(bytes) : MPI_BYTE;
	check((is_synchronous ? cs_pmpi.Issend : cs_pmpi.Isend)(
		      from, is_large ? 1 : (int)bytes, type, peer, mpi_tag, comm,
		      begin(request, NULL, 0)),
	      "MPI_Isend");
	if (is_large)
		cs_pmpi.Type_free(&type);
}

static void
send_message(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag,
	     const void *from, size_t bytes)
{
	send_with(wire, request, peer, (int)(tag % MPI_TAGS), from, bytes, false);
}

/* Tag for receives from any source, above all others, so that they match no other message. */
static int
any_tag(uint64_t number)
{
	return MPI_TAGS + (int)(number % MPI_TAGS);
}
_Static_assert(2 * MPI_TAGS - 1 <= 32767 && MPI_TAGS >= 2 * CS_NUMBERS,
	       "numbers in use at one time differ");

/* Sends to a receive from any source. Messages of several senders have no order, so no tag may be
 * in use twice: once in CS_NUMBERS numbers of a kind the send is synchronous, and ends when it is
 * received. */
static void
send_to(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t number,
	const void *from, size_t bytes)
{
	send_with(wire, request, peer, any_tag(number), from, bytes,
		  number % CS_NUMBERS < CS_NUMBER_KINDS);
}

/* Receives a message, direct or not: direct ones only differ in the kind of memory. */
static void
recv_with(struct cs_wire *wire, struct cs_request *request, int peer, int mpi_tag, void *to,
	  size_t bytes, _Atomic uint64_t *flag, uint64_t value)
{
	MPI_Comm comm = group_of(wire)->comm;
	bool is_large = bytes > INT_MAX;
	MPI_Datatype type = is_large ? large_type(bytes) : MPI_BYTE;
	check(cs_pmpi.Irecv(to, is_large ? 1 : (int)bytes, type, peer, mpi_tag, comm,
			    begin(request, flag, value)),
	      "MPI_Irecv");
	if (is_large)
		cs_pmpi.Type_free(&type);
}

static void
recv_direct(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	    size_t bytes, _Atomic uint64_t *flag, uint64_t value)
{
	recv_with(wire, request, peer, (int)(tag % MPI_TAGS), to, bytes, flag, value);
}

static void
recv_message(struct cs_wire *wire, struct cs_request *request, int peer, uint64_t tag, void *to,
	     size_t bytes)
{
	recv_direct(wire, request, peer, tag, to, bytes, NULL, 0);
}

static void
recv_any(struct cs_wire *wire, struct cs_request *request, uint64_t number, void *to, size_t bytes)
{
	recv_with(wire, request, MPI_ANY_SOURCE, any_tag(number), to, bytes, NULL, 0);
}

static void
finish(struct cs_request *request, int result, const char *what)
{
	struct message *message = message_of(request);
	int class = MPI_SUCCESS;
	if (result != MPI_SUCCESS)
		cs_pmpi.Error_class(result, &class);
	/* The program's ranks disagree about a size: the call continues, and reports it. */
	if (class == MPI_ERR_TRUNCATE)
		request->told = CS_TOLD_MORE;
	else
		check(result, what);
	if (message->flag)
		atomic_store_explicit(message->flag, message->value, memory_order_release);
}

static void
wait_for(struct cs_wire *wire, struct cs_request *request)
{
	MPI_Request *mpi = &message_of(request)->mpi;
	(void)wire;
	finish(request, cs_host_waits ? cs_host_wait(mpi, CS_HOST_POLLS)
				      : cs_pmpi.Wait(mpi, MPI_STATUS_IGNORE), "MPI_Wait");
}

static bool
test(struct cs_wire *wire, struct cs_request *request)
{
	(void)wire;
	int is_over = 0,
	    result = cs_pmpi.Test(&message_of(request)->mpi, &is_over, MPI_STATUS_IGNORE);
	if (!is_over && result == MPI_SUCCESS)
		return false;
	finish(request, result, "MPI_Test");
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

/* Makes the communicator of the group, ranks of the parent with the same part; not by MPI_Comm_dup,
 * which would copy the program's attributes. Returns NULL, or why there is none; the same on all
 * ranks, also if the host has no communicator left. */
static const char *
make_comm(struct cs_group *group)
{
	int mine[2] = { cs_groups_are_many(), atomic_load(&cs_engine.has_duplicated) },
	    any[2] = { 0, 0 };
	check(cs_pmpi.Allreduce(mine, any, 2, MPI_INT, MPI_MAX, group->parent), "MPI_Allreduce");
	if (any[0] || any[1])
		return any[1] ? CS_GROUP_MIGHT_HANG : CS_GROUPS_ARE_MANY;
	if (cs_pmpi.Comm_split(group->parent, group->part, 0, &group->comm)) {
		group->comm = MPI_COMM_NULL;
		return CS_GROUP_WAS_REFUSED;
	}
	cs_pmpi.Comm_rank(group->comm, &group->node);
	cs_pmpi.Comm_size(group->comm, &group->nodes);
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
	/* Errors must be returned to us, not raised in the program. */
	check(cs_pmpi.Comm_get_errhandler(group->parent, &handler), "MPI_Comm_get_errhandler");
	cs_pmpi.Comm_set_errhandler(group->parent, MPI_ERRORS_RETURN);
	group->refused = make_comm(group);
	cs_pmpi.Comm_set_errhandler(group->parent, handler);
	cs_pmpi.Errhandler_free(&handler);
	return group->refused;
}

__attribute__((noreturn)) static void
out_of_memory(const char *what, int count)
{
	cs_warn_local("no memory for %d %s; ending the job", count, what);
	cs_host_mpi.abort("out of memory");
}

/* Opens the wire by verbs, with each rank's rank in MPI_COMM_WORLD, and whether it is on the own
 * node. */
static void
open_verbs(struct cs_group *group)
{
	int ranks = group->wire.ranks;
	int *world = malloc(2 * (size_t)ranks * sizeof *world), *own = world + ranks;
	bool *is_same_node = calloc((size_t)ranks, sizeof *is_same_node);
	MPI_Group members;
	if (!world || !is_same_node)
		out_of_memory("ranks", ranks);
	for (int rank = 0; rank < ranks; rank++) {
		own[rank] = rank;
		is_same_node[rank] = group->node_of ? group->node_of[rank] ==
				     group->node_of[group->wire.rank]
						    : rank == group->wire.rank;
	}
	check(cs_pmpi.Comm_group(group->comm, &members), "MPI_Comm_group");
	check(cs_pmpi.Group_translate_ranks(members, ranks, own, cs_engine.world, world),
	      "MPI_Group_translate_ranks");
	cs_pmpi.Group_free(&members);
	struct cs_ib_group described = { .rank = group->wire.rank, .ranks = ranks, .world = world,
					 .is_same_node = is_same_node, .host = &group->wire };
	group->verbs = cs_ib_wire_open(group->ib, &described);
	if (!group->verbs)
		out_of_memory("ranks", ranks);
	free(world);
	free(is_same_node);
}

/* Ring of sent words and their requests. Such short sends are usually over at once; if not, the
 * next user of the place waits. */
struct cs_words {
	uint64_t sent;
	int room;
	struct word {
		struct cs_request request;
		uint64_t word;
		bool is_open;
	} places[];
};

static void
send_word(struct cs_wire *wire, int peer, uint64_t number, uint64_t word)
{
	struct cs_group *group = group_of(wire);
	int room = 64 + 4 * wire->ranks;
	if (!group->words) {
		group->words = calloc(1, sizeof *group->words +
					 (size_t)room * sizeof *group->words->places);
		if (!group->words)
			out_of_memory("words", room);
		group->words->room = room;
	}
	struct word *place = &group->words->places[group->words->sent++ %
						   (uint64_t)group->words->room];
	if (place->is_open)
		wait_for(wire, &place->request);
	place->is_open = true;
	place->word = word;
	send_to(wire, &place->request, peer, number, &place->word, sizeof place->word);
}

static void
cancel(struct cs_wire *wire, struct cs_request *request)
{
	MPI_Request *mpi = &message_of(request)->mpi;
	(void)wire;
	check(cs_pmpi.Cancel(mpi), "MPI_Cancel");
	check(cs_pmpi.Wait(mpi, MPI_STATUS_IGNORE), "MPI_Wait");
}

/* Frees the ring, unless the MPI still uses a word of it. */
static void
forget_words(struct cs_group *group)
{
	bool is_over = true;
	for (int i = 0; group->words && i < group->words->room; i++)
		if (group->words->places[i].is_open)
			is_over &= test(&group->wire, &group->words->places[i].request);
	if (is_over)
		free(group->words);
}

static void
open_wire(struct cs_group *group)
{
	group->wire = (struct cs_wire){ .send = send_message, .recv = recv_message,
					.send_direct = send_message, .recv_direct = recv_direct,
					.send_to = send_to, .recv_any = recv_any,
					.send_word = send_word, .cancel = cancel,
					.wait = wait_for, .test = test };
	cs_pmpi.Comm_rank(group->comm, &group->wire.rank);
	cs_pmpi.Comm_size(group->comm, &group->wire.ranks);
}

struct cs_wire *
cs_host_messages(void *handle)
{
	struct cs_group *group = handle;
	if (!group->wire.send)
		open_wire(group);
	return &group->wire;
}

struct cs_wire *
cs_host_wire(void *handle)
{
	struct cs_group *group = handle;
	cs_host_messages(group);
	if (group->ib && !group->verbs)
		open_verbs(group);
	return group->verbs ? group->verbs : &group->wire;
}

void
cs_group_close(struct cs_group *group)
{
	forget_words(group);
	if (group->comm != MPI_COMM_NULL) {
		cs_pmpi.Comm_free(&group->comm);
		atomic_fetch_sub(&comms, 1);
	}
	cs_ib_wire_close(group->verbs);
	free(group->ints);
	*group = (struct cs_group){ .comm = MPI_COMM_NULL, .parent = MPI_COMM_NULL };
}
