/* intercept/stand_in.c — takes part in the agreement at MPI_Init where there is no module. */
#include "intercept/stand_in.h"

#include "base/agreement.h"
#include "base/log.h"
#include "comm/host/handles.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* The MPI's handles, which are words, and its functions. */
static struct {
	enum cs_handles kind;
	long world, uint64, min;
	void *no_status;
	long duplicate, request;
	int (*initialized)(int *);
	int (*comm_rank)(long, int *);
	int (*comm_size)(long, int *);
	int (*comm_idup)(long, long *, long *);
	int (*comm_free)(long *);
	int (*iallreduce)(const void *, void *, int, long, long, long, long *);
	int (*test)(long *, int *, void *);
	int (*abort)(long, int);
} host;

static bool
find_host(const char *flavour, void *(*lookup)(const char *name),
	  void *(*lookup_data)(const char *name))
{
	if (!strcmp(flavour, "mpich")) {
		host.kind = CS_HANDLES_NUMBERS;
		host.world = CS_MPICH_COMM_WORLD;
		host.uint64 = CS_MPICH_UINT64_T;
		host.min = CS_MPICH_MIN;
		host.no_status = (void *)CS_MPICH_STATUS_IGNORE;
	} else if (!strcmp(flavour, "abi")) {
		host.kind = CS_HANDLES_STANDARD;
		host.world = CS_ABI_COMM_WORLD;
		host.uint64 = CS_ABI_UINT64_T;
		host.min = CS_ABI_MIN;
		host.no_status = (void *)CS_ABI_STATUS_IGNORE;
	} else {
		host.kind = CS_HANDLES_ADDRESSES;
		host.world = (long)lookup_data("ompi_mpi_comm_world");
		host.uint64 = (long)lookup_data("ompi_mpi_uint64_t");
		host.min = (long)lookup_data("ompi_mpi_op_min");
	}
	*(void **)&host.initialized = lookup("PMPI_Initialized");
	*(void **)&host.comm_rank = lookup("PMPI_Comm_rank");
	*(void **)&host.comm_size = lookup("PMPI_Comm_size");
	*(void **)&host.comm_idup = lookup("PMPI_Comm_idup");
	*(void **)&host.comm_free = lookup("PMPI_Comm_free");
	*(void **)&host.iallreduce = lookup("PMPI_Iallreduce");
	*(void **)&host.test = lookup("PMPI_Test");
	*(void **)&host.abort = lookup("PMPI_Abort");
	return host.world && host.uint64 && host.min && host.initialized && host.comm_rank &&
	       host.comm_size && host.comm_idup && host.comm_free && host.iallreduce &&
	       host.test && host.abort;
}

static bool
duplicate(void)
{
	return !host.comm_idup(host.world, &host.duplicate, &host.request);
}

static bool
allreduce(const uint64_t *words, uint64_t *least)
{
	return !host.iallreduce(words, least, CS_AGREED_WORDS, host.uint64, host.min,
				host.duplicate, &host.request);
}

static void
free_duplicate(void)
{
	host.comm_free(&host.duplicate);
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
cs_stand_in(const char *flavour, void *(*lookup)(const char *name),
	    void *(*lookup_data)(const char *name), uint64_t troubles, int seconds)
{
	int is_initialized = 0;
	struct cs_agreement_wire wire = { .seconds = seconds, .duplicate = duplicate,
					  .allreduce = allreduce, .test = test,
					  .free = free_duplicate, .end = end };
	cs_agreement_name_job();
	if (!find_host(flavour, lookup, lookup_data) || host.initialized(&is_initialized) ||
	    !is_initialized || !cs_handles_fit(host.kind, (uintptr_t)host.world, lookup) ||
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
	/* The same message as from rank 0's module, if it has one. */
	if (!wire.rank && !words[CS_AGREED_CANNOT])
		cs_warn_local("the ranks differ in whether collshim could be started; every call "
			      "of this "
			      "job goes to MPI" CS_UNSERVED_JOB);
}
