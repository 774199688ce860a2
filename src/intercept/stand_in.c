#include "intercept/stand_in.h"

#include "base/agreement.h"
#include "base/log.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The MPI's handles and functions. Handles are words: an int under MPICH, a pointer under Open MPI and in the standard ABI. */
static struct {
	long world, byte;
	void *no_status;
	long request;
	int (*initialized)(int *);
	int (*comm_rank)(long, int *);
	int (*comm_size)(long, int *);
	int (*isend)(const void *, int, long, int, int, long, long *);
	int (*irecv)(void *, int, long, int, int, long, long *);
	int (*test)(long *, int *, void *);
	int (*abort)(long, int);
} host;

static bool
find_host(const char *flavour, void *(*lookup)(const char *name), void *(*lookup_data)(const char *name))
{
	if (!strcmp(flavour, "mpich")) {
		host.world = CS_MPICH_COMM_WORLD;
		host.byte = CS_MPICH_BYTE;
		host.no_status = (void *)CS_MPICH_STATUS_IGNORE;
	} else if (!strcmp(flavour, "abi")) {
		host.world = CS_ABI_COMM_WORLD;
		host.byte = CS_ABI_BYTE;
	} else {
		host.world = (long)lookup_data("ompi_mpi_comm_world");
		host.byte = (long)lookup_data("ompi_mpi_byte");
	}
	*(void **)&host.initialized = lookup("PMPI_Initialized");
	*(void **)&host.comm_rank = lookup("PMPI_Comm_rank");
	*(void **)&host.comm_size = lookup("PMPI_Comm_size");
	*(void **)&host.isend = lookup("PMPI_Isend");
	*(void **)&host.irecv = lookup("PMPI_Irecv");
	*(void **)&host.test = lookup("PMPI_Test");
	*(void **)&host.abort = lookup("PMPI_Abort");
	return host.world && host.byte && host.initialized && host.comm_rank && host.comm_size && host.isend && host.irecv &&
	       host.test && host.abort;
}

/* As comm/engine.c asks: a handle that the MPI does not know would end the program. */
static bool
has_our_handles(const char *flavour, void *(*lookup)(const char *name))
{
	if (!strcmp(flavour, "openmpi")) {
		long (*from_fortran)(int) = (long (*)(int))lookup("PMPI_Comm_f2c");
		return from_fortran && from_fortran(0) == host.world;
	}
	long parent = 0;
	int (*get_parent)(long *) = (int (*)(long *))lookup("PMPI_Comm_get_parent");
	if (!get_parent || get_parent(&parent))
		return false;
	if (!strcmp(flavour, "abi"))
		return parent == CS_ABI_COMM_NULL || parent >> 12;
	return !(parent >> 32) && (parent >> 26 & 15) == (CS_MPICH_COMM_WORLD >> 26 & 15);
}

static bool
send(const void *data, int bytes, int to)
{
	return !host.isend(data, bytes, host.byte, to, CS_AGREED_TAG, host.world, &host.request);
}

static bool
receive(void *data, int bytes, int from)
{
	return !host.irecv(data, bytes, host.byte, from, CS_AGREED_TAG, host.world, &host.request);
}

static bool
test(bool *is_done)
{
	int done = 0;
	bool is_good = !host.test(&host.request, &done, host.no_status);
	*is_done = done;
	return is_good;
}

/* 15 or 16 is "other error" of both. */
static void
end(void)
{
	host.abort(host.world, 16);
}

void
cs_stand_in(const char *flavour, void *(*lookup)(const char *name), void *(*lookup_data)(const char *name),
	    uint64_t troubles, int seconds)
{
	int is_initialized = 0;
	struct cs_agreement_wire wire = { .seconds = seconds, .send = send, .receive = receive, .test = test, .end = end };
	cs_agreement_name_job();
	if (!find_host(flavour, lookup, lookup_data) || host.initialized(&is_initialized) || !is_initialized ||
	    !has_our_handles(flavour, lookup) ||
	    host.comm_rank(host.world, &wire.rank) || host.comm_size(host.world, &wire.size)) {
		cs_agreement_tell_alone(troubles, "");
		return;
	}
	uint64_t words[CS_AGREED_WORDS] = {
		[CS_AGREED_DIGEST] = UINT64_MAX,
		[CS_AGREED_DIGEST_NOT] = UINT64_MAX,
		[CS_AGREED_CAN] = false,
		[CS_AGREED_ENABLED] = true,
		[CS_AGREED_CANNOT] = true,
		[CS_AGREED_TROUBLES] = troubles,
	};
	if (!cs_agreement_make(&wire, words)) {
		cs_agreement_tell_alone(troubles, "");
		return;
	}
	cs_agreement_tell(&wire, troubles, words);
	/* What rank 0's module says if it has one. */
	if (!wire.rank && !words[CS_AGREED_CANNOT])
		cs_warn_local("the ranks differ in whether collshim could be started; every call of this job goes to MPI");
}
