/* trace/arrivals_write.c — writes a file of arrivals, block by block, in a process that is not
 * ours. */
#include "trace/arrivals_file.h"

#include "base/file.h"
#include "base/log.h"
#include "trace/arrivals_bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define REASON_STOPPED 102 /* above those of base/agreement.c */

static void
put_head(unsigned char *at, const struct cs_arrivals_head *head)
{
	memset(at, 0, CS_ARRIVALS_HEAD);
	memcpy(at + CS_AT_MAGIC, CS_ARRIVALS_MAGIC, 8);
	cs_put_32(at + CS_AT_VERSION, CS_ARRIVALS_VERSION);
	cs_put_32(at + CS_AT_HEAD_BYTES, CS_ARRIVALS_HEAD);
	cs_put_32(at + CS_AT_RECORD_BYTES, CS_ARRIVALS_RECORD);
	cs_put_32(at + CS_AT_WORLD, head->world);
	cs_put_32(at + CS_AT_RANKS, head->ranks);
	cs_put_32(at + CS_AT_NODE, head->node);
	cs_put_32(at + CS_AT_NODES, head->nodes);
	cs_put_32(at + CS_AT_PID, head->pid);
	cs_put_64(at + CS_AT_JOB, head->job);
	cs_put_64(at + CS_AT_CLOCK, head->clock);
	cs_put_64(at + CS_AT_START, head->start_ns);
	cs_put_64(at + CS_AT_WALL, head->wall_ns);
	memcpy(at + CS_AT_BOOT, head->boot, strnlen(head->boot, sizeof head->boot - 1));
	memcpy(at + CS_AT_HOST, head->host, strnlen(head->host, sizeof head->host - 1));
}

/* A program may have closed our descriptor, with all that it does not know, and have a file of its
 * own by that number now. And a file above the process's limit would be a signal that ends it. */
static bool
may_write(const struct cs_arrivals_writer *writer)
{
	struct stat is;
	struct rlimit limit;
	if (fstat(writer->file, &is) != 0)
		return false;
	if (is.st_dev != writer->device || is.st_ino != writer->inode) {
		errno = EBADF;
		return false;
	}
	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
	    (rlim_t)is.st_size + writer->used > limit.rlim_cur) {
		errno = EFBIG;
		return false;
	}
	return true;
}

/* Not a descriptor that is the program's by now. */
static void
close_file(struct cs_arrivals_writer *writer, bool is_ours)
{
	if (is_ours)
		close(writer->file);
	writer->file = -1;
	free(writer->path);
	writer->path = NULL;
}

static void
flush(struct cs_arrivals_writer *writer)
{
	if (may_write(writer) &&
	    cs_file_write(writer->file, (const char *)writer->block, writer->used)) {
		writer->used = 0;
		return;
	}
	bool is_ours = errno != EBADF;
	if (cs_log_is_first(REASON_STOPPED))
		cs_warn_local("arrivals: %s cannot be written any more: %m; what is in it stays, "
			      "and nothing more is recorded", writer->path);
	writer->used = 0;
	close_file(writer, is_ours);
}

enum cs_status
cs_arrivals_create(struct cs_arrivals_writer *writer, const char *path,
		   const struct cs_arrivals_head *head, uint64_t limit, unsigned *number)
{
	struct stat is;
	*writer = (struct cs_arrivals_writer){ .file = -1, .limit = limit };
	writer->path = strdup(path);
	if (!writer->path)
		return CS_NO_MEMORY;
	writer->file = cs_file_create(path, number);
	if (writer->file >= 0 && fstat(writer->file, &is) == 0) {
		writer->device = is.st_dev;
		writer->inode = is.st_ino;
		put_head(writer->block, head);
		writer->used = CS_ARRIVALS_HEAD;
		if (may_write(writer) &&
		    cs_file_write(writer->file, (const char *)writer->block, writer->used)) {
			writer->used = 0;
			writer->flushed_ns = head->start_ns;
			return CS_OK;
		}
	}
	int error = errno;
	close_file(writer, writer->file >= 0);
	errno = error;
	return CS_SYSTEM;
}

/* The next record's place, which is 0 but for its kind; there is always room for one. */
static unsigned char *
next_record(struct cs_arrivals_writer *writer, enum cs_arrivals_kind kind)
{
	unsigned char *at = writer->block + writer->used;
	memset(at, 0, CS_ARRIVALS_RECORD);
	at[CS_AT_KIND] = (unsigned char)kind;
	writer->used += CS_ARRIVALS_RECORD;
	return at;
}

void
cs_arrivals_add(struct cs_arrivals_writer *writer, const struct cs_arrival *call)
{
	if (writer->file < 0)
		return;
	if (writer->recorded >= writer->limit) {
		writer->left_out++;
		return;
	}
	unsigned char *at = next_record(writer, CS_ARRIVALS_CALL);
	at[CS_AT_COLL] = call->coll;
	at[CS_AT_FLAGS] = call->is_deferred ? CS_ARRIVALS_DEFERRED : 0;
	cs_put_32(at + CS_AT_SMALL, (uint32_t)call->root);
	cs_put_64(at + CS_AT_COMM, call->comm);
	cs_put_64(at + CS_AT_COUNT, call->call);
	cs_put_64(at + CS_AT_BYTES, call->bytes);
	cs_put_64(at + CS_AT_ARRIVED, call->arrived_ns);
	cs_put_64(at + CS_AT_LEFT, call->left_ns);
	writer->recorded++;
	if (writer->used == CS_ARRIVALS_BLOCK ||
	    call->left_ns - writer->flushed_ns > CS_ARRIVALS_PATIENCE_NS) {
		writer->flushed_ns = call->left_ns;
		flush(writer);
	}
}

static void
flush_if_full(struct cs_arrivals_writer *writer)
{
	if (writer->used == CS_ARRIVALS_BLOCK)
		flush(writer);
}

void
cs_arrivals_add_comm(struct cs_arrivals_writer *writer, const struct cs_arrivals_comm *comm)
{
	/* Not needed for calls that are left out. */
	if (writer->file < 0 || writer->recorded >= writer->limit)
		return;
	unsigned char *at = next_record(writer, CS_ARRIVALS_COMM);
	cs_put_32(at + CS_AT_SMALL, comm->rank);
	cs_put_64(at + CS_AT_COMM, comm->comm);
	cs_put_64(at + CS_AT_COUNT, comm->size);
	flush_if_full(writer);
}

void
cs_arrivals_add_clock(struct cs_arrivals_writer *writer, const struct cs_arrivals_clock *clock)
{
	if (writer->file < 0)
		return;
	unsigned char *at = next_record(writer, CS_ARRIVALS_CLOCK);
	cs_put_64(at + CS_AT_ARRIVED, clock->at_ns);
	cs_put_64(at + CS_AT_COUNT, (uint64_t)clock->offset_ns);
	cs_put_64(at + CS_AT_BYTES, clock->residual_ns);
	flush(writer);
}

void
cs_arrivals_close(struct cs_arrivals_writer *writer)
{
	if (writer->file < 0)
		return;
	unsigned char *at = next_record(writer, CS_ARRIVALS_END);
	cs_put_64(at + CS_AT_COUNT, writer->recorded);
	cs_put_64(at + CS_AT_BYTES, writer->left_out);
	flush(writer);
	if (writer->file >= 0)
		close_file(writer, true);
}
