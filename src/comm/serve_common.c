#include "comm/serve_common.h"

#include "base/clock.h"
#include "base/log.h"
#include "comm/pmpi.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define KEEP (4u << 20) /* packing memory above this is given back when a call needs no more than this, */
#define KEEP_MOST (32u << 20) /* and above this after the call: malloc, too, gets what is larger from the kernel each time */

int
cs_serve_say_wrong(struct cs_member *member)
{
	int result = member->result;
	member->result = MPI_SUCCESS;
	cs_pmpi.Comm_call_errhandler(member->comm, result);
	return result;
}

/* Is it this rank that said less than came? The leader that a gather's root is told by hears of it, too. */
static int
truncated(const struct cs_member *member, const struct cs_call *call)
{
	const struct cs_seat *seat = member->seat;
	const int *node_of = seat->team.shape.node_of;
	bool gathers = call->coll == CS_GATHER || call->coll == CS_GATHERV;
	bool is_of_root = !call->truncated && !seat->everyone.is_truncated && gathers && member->rank != call->root &&
			  node_of[member->rank] == node_of[call->root];
	return is_of_root ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

/* A broadcast of less than is expected: MPICH says so, as MPI_ERR_OTHER, and Open MPI takes it (4.0.2, 4.1.4). No other collective
 * minds in either. */
static __attribute__((noinline)) int
wrong(struct cs_member *member, const struct cs_op *op)
{
	const struct cs_call *call = op->call;
	struct cs_group *leaders = &member->seat->leaders, *everyone = &member->seat->everyone;
	enum cs_wrong reason = op->node.wrong;
	bool is_more = call->truncated || leaders->is_truncated || everyone->is_truncated;
	bool is_less = reason == CS_WRONG_LESS || leaders->is_short || everyone->is_short;
	int result = reason == CS_WRONG_CALL		? MPI_ERR_OTHER
		     : reason == CS_WRONG_MORE		? MPI_ERR_TRUNCATE
		     : is_more				? truncated(member, call)
		     : is_less && !cs_under_open_mpi()	? MPI_ERR_OTHER
							: MPI_SUCCESS;
	leaders->is_truncated = everyone->is_truncated = leaders->is_short = everyone->is_short = false;
	return result;
}

/* Both at once: each call asks. */
static inline unsigned
told(const struct cs_group *group)
{
	uint16_t both;
	_Static_assert(sizeof(bool) == 1 && offsetof(struct cs_group, is_short) == offsetof(struct cs_group, is_truncated) + 1,
		       "one behind the other");
	memcpy(&both, &group->is_truncated, sizeof both);
	return both;
}

bool
cs_serve_run(struct cs_member *member, struct cs_call *call, uint64_t sign)
{
	struct cs_seat *seat = member->seat;
	struct cs_op op;
	cs_runner_run(&seat->runner, member->answer, &op, call, sign, member->bytes);
	bool is_wrong = call->truncated | op.node.wrong | told(&seat->leaders) | told(&seat->everyone);
	if (__builtin_expect(is_wrong, 0))
		member->result = wrong(member, &op);
	return true;
}

size_t *
cs_serve_sizes_slow(struct cs_member *member)
{
	member->sizes = malloc(4 * (size_t)member->size * sizeof *member->sizes);
	if (!member->sizes) {
		cs_warn_local("no memory for the sizes of %d ranks; ending the job", member->size);
		cs_host_mpi.abort("out of memory");
	}
	return member->sizes;
}

char *
cs_serve_packed(struct cs_member *member, int which, size_t bytes)
{
	struct cs_buffer *buffer = &member->seat->packed[which];
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
	member->seat->is_heavy = member->seat->is_heavy || buffer->bytes > KEEP_MOST;
	return buffer->base;
}

void
cs_serve_relax_slow(struct cs_member *member)
{
	for (int which = 0; which < 2; which++) {
		struct cs_buffer *buffer = &member->seat->packed[which];
		if (buffer->bytes > KEEP_MOST) {
			free(buffer->base);
			*buffer = (struct cs_buffer){ 0 };
		}
	}
	member->seat->is_heavy = false;
}

/* What became of packing or unpacking that began at `start`, on this clock while a report is wanted. */
static void
close_packing(struct cs_member *member, bool is_done, uint64_t start)
{
	if (!is_done) {
		cs_warn_local("the MPI refused to pack or unpack a datatype in mid-call; ending the job");
		cs_host_mpi.abort("packing");
	}
	if (member->seat->runner.is_reporting)
		cs_runner_spend(member->answer, member->bytes, cs_clock_ns() - start);
}

void
cs_serve_pack(struct cs_member *member, const struct cs_type *type, const void *user, MPI_Count count, char *packed)
{
	uint64_t start = member->seat->runner.is_reporting ? cs_clock_ns() : 0;
	close_packing(member, cs_type_pack(type, user, count, packed), start);
}

void
cs_serve_unpack(struct cs_member *member, const struct cs_type *type, void *user, MPI_Count count, const char *packed)
{
	uint64_t start = member->seat->runner.is_reporting ? cs_clock_ns() : 0;
	close_packing(member, cs_type_unpack(type, user, count, packed), start);
}

size_t
cs_serve_size(struct cs_member *member, MPI_Count count, MPI_Datatype type, int times)
{
	/* Between two groups some arguments of some ranks mean nothing, so they are not looked at. */
	const struct cs_type *known = member->is_inter ? NULL : cs_member_type(member, type, CS_INPUT);
	size_t bytes;
	if (!known || !cs_serve_bytes(known, count, &bytes) || __builtin_mul_overflow(bytes, (size_t)times, &bytes))
		return CS_BYTES_UNKNOWN;
	return bytes;
}

size_t
cs_serve_size_of_all(struct cs_member *member, const struct cs_vector *vector, MPI_Datatype type, int ranks)
{
	MPI_Count total = 0;
	if (member->is_inter || !vector->counts)
		return CS_BYTES_UNKNOWN;
	for (int rank = 0; rank < member->size; rank++) {
		MPI_Count count = cs_serve_count_at(vector, rank);
		if (count < 0 || __builtin_add_overflow(total, count, &total))
			return CS_BYTES_UNKNOWN;
	}
	size_t bytes = cs_serve_size(member, total, type, 1);
	return bytes == CS_BYTES_UNKNOWN ? bytes : bytes / (size_t)ranks + (bytes % (size_t)ranks != 0);
}
