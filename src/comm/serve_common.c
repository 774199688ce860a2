#include "comm/serve_common.h"

#include "base/log.h"
#include "comm/pmpi.h"

#include <stdlib.h>

#define KEEP (4u << 20) /* packing memory above this is given back after the call */

/* More came than there was room for: an error of the program's. */
static __attribute__((noinline)) bool
say_truncated(struct cs_member *member)
{
	cs_pmpi.Comm_call_errhandler(member->comm, MPI_ERR_TRUNCATE);
	member->result = MPI_ERR_TRUNCATE;
	return true;
}

bool
cs_serve_run(struct cs_member *member, struct cs_call *call)
{
	call->truncated = 0;
	member->leaders.is_truncated = member->everyone.is_truncated = false;
	cs_runner_run(&member->runner, member->answer, call, member->bytes);
	if (__builtin_expect(call->truncated || member->leaders.is_truncated || member->everyone.is_truncated, 0))
		return say_truncated(member);
	member->result = MPI_SUCCESS;
	return true;
}

char *
cs_serve_packed(struct cs_member *member, int which, size_t bytes)
{
	struct cs_buffer *buffer = &member->packed[which];
	if (bytes > buffer->bytes || (buffer->bytes > KEEP && bytes <= KEEP)) {
		size_t size = ((bytes ? bytes : 1) + 4095) & ~(size_t)4095;
		free(buffer->base);
		buffer->base = aligned_alloc(64, size);
		buffer->bytes = size;
		if (!buffer->base) {
			cs_warn_local("no memory to pack %zu bytes; ending the job", bytes);
			cs_host_mpi.abort("out of memory");
		}
	}
	return buffer->base;
}

void
cs_serve_packing_failed(struct cs_member *member)
{
	cs_warn_local("the MPI refused to pack or unpack a datatype in mid-call; ending the job");
	cs_host_mpi.abort("packing");
}
