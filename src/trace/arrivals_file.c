/* trace/arrivals_file.c — reads a file of arrivals, as far as it can be read. */
#include "trace/arrivals_file.h"

#include "base/file.h"
#include "trace/arrivals_bytes.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define TROUBLE(arrivals, ...)                                                                     \
	snprintf((arrivals)->trouble, sizeof(arrivals)->trouble, __VA_ARGS__)

/* A text of the head, which ends with it at the latest. */
static void
get_text(char *to, size_t room, const unsigned char *at)
{
	memcpy(to, at, room);
	to[room - 1] = '\0';
}

/* False, with `trouble`: this is no file of arrivals, or none that we can read. */
static bool
read_head(const unsigned char *bytes, size_t length, struct cs_arrivals *arrivals)
{
	struct cs_arrivals_head *head = &arrivals->head;
	uint32_t version, head_bytes, record_bytes;
	if (length < CS_ARRIVALS_HEAD) {
		TROUBLE(arrivals, "%zu bytes are too few for a file of arrivals", length);
		return false;
	}
	if (memcmp(bytes + CS_AT_MAGIC, CS_ARRIVALS_MAGIC, 8)) {
		TROUBLE(arrivals, "it is no file of arrivals");
		return false;
	}
	version = cs_get_32(bytes + CS_AT_VERSION);
	head_bytes = cs_get_32(bytes + CS_AT_HEAD_BYTES);
	record_bytes = cs_get_32(bytes + CS_AT_RECORD_BYTES);
	if (version != CS_ARRIVALS_VERSION || head_bytes != CS_ARRIVALS_HEAD ||
	    record_bytes != CS_ARRIVALS_RECORD) {
		TROUBLE(arrivals, "it has version %" PRIu32 " of the format, with records of %"
			PRIu32 " bytes; known is %d, with %d", version, record_bytes,
			CS_ARRIVALS_VERSION, CS_ARRIVALS_RECORD);
		return false;
	}
	head->world = cs_get_32(bytes + CS_AT_WORLD);
	head->ranks = cs_get_32(bytes + CS_AT_RANKS);
	head->node = cs_get_32(bytes + CS_AT_NODE);
	head->nodes = cs_get_32(bytes + CS_AT_NODES);
	head->pid = cs_get_32(bytes + CS_AT_PID);
	head->job = cs_get_64(bytes + CS_AT_JOB);
	head->clock = cs_get_64(bytes + CS_AT_CLOCK);
	head->start_ns = cs_get_64(bytes + CS_AT_START);
	head->wall_ns = cs_get_64(bytes + CS_AT_WALL);
	get_text(head->boot, sizeof head->boot, bytes + CS_AT_BOOT);
	get_text(head->host, sizeof head->host, bytes + CS_AT_HOST);
	if (head->world >= head->ranks || head->ranks > INT32_MAX ||
	    (head->nodes ? head->node >= head->nodes : head->node != 0) ||
	    head->nodes > head->ranks) {
		TROUBLE(arrivals, "its head is damaged: rank %" PRIu32 " of %" PRIu32
			", node %" PRIu32 " of %" PRIu32, head->world, head->ranks, head->node,
			head->nodes);
		return false;
	}
	return true;
}

/* Reads a call's record. Returns the fault, or NULL. */
static const char *
call_of(const unsigned char *at, const struct cs_arrivals *arrivals, struct cs_arrival *call)
{
	*call = (struct cs_arrival){
		.comm = cs_get_64(at + CS_AT_COMM),
		.call = cs_get_64(at + CS_AT_COUNT),
		.bytes = cs_get_64(at + CS_AT_BYTES),
		.arrived_ns = cs_get_64(at + CS_AT_ARRIVED),
		.left_ns = cs_get_64(at + CS_AT_LEFT),
		.root = (int32_t)cs_get_32(at + CS_AT_SMALL),
		.coll = at[CS_AT_COLL],
		.is_deferred = at[CS_AT_FLAGS] & CS_ARRIVALS_DEFERRED,
	};
	const struct cs_arrivals_comm *comm = cs_arrivals_comm(arrivals, call->comm);
	if (at[CS_AT_FLAGS] & ~CS_ARRIVALS_DEFERRED)
		return "unknown flags";
	if (call->coll >= CS_COLL_COUNT)
		return "no such collective";
	if (!comm)
		return "a call on a communicator that was not recorded";
	if (call->root < -1 || (call->root >= 0 && (uint32_t)call->root >= comm->size) ||
	    (call->root < 0) == cs_colls[call->coll].rooted)
		return "no such root";
	if (!call->call)
		return "a call without a number";
	if (call->left_ns < call->arrived_ns || call->left_ns > INT64_MAX)
		return "a call that ends before it begins";
	return NULL;
}

static const char *
comm_of(const unsigned char *at, const struct cs_arrivals *arrivals, struct cs_arrivals_comm *comm)
{
	uint64_t size = cs_get_64(at + CS_AT_COUNT);
	*comm = (struct cs_arrivals_comm){ .comm = cs_get_64(at + CS_AT_COMM),
					   .rank = cs_get_32(at + CS_AT_SMALL),
					   .size = (uint32_t)size };
	if (size == 0 || size > arrivals->head.ranks || comm->rank >= size)
		return "a communicator of no possible size";
	if (cs_arrivals_comm(arrivals, comm->comm))
		return "a communicator that was recorded before";
	return NULL;
}

static const char *
clock_of(const unsigned char *at, const struct cs_arrivals *arrivals,
	 struct cs_arrivals_clock *clock)
{
	*clock = (struct cs_arrivals_clock){ .at_ns = cs_get_64(at + CS_AT_ARRIVED),
					     .offset_ns = (int64_t)cs_get_64(at + CS_AT_COUNT),
					     .residual_ns = cs_get_64(at + CS_AT_BYTES) };
	size_t count = arrivals->clock_count;
	/* 146 years, so that sums of two do not overflow. */
	const int64_t most = INT64_MAX / 2;
	if (clock->at_ns > (uint64_t)most || clock->offset_ns > most || clock->offset_ns < -most ||
	    clock->residual_ns > (uint64_t)most)
		return "a clock that is too far away";
	if (count && clock->at_ns < arrivals->clocks[count - 1].at_ns)
		return "a clock that goes back";
	return NULL;
}

/* Makes room for one more at the end; false without memory. */
static bool
grow(void **array, size_t count, size_t each)
{
	if (count & (count + 1))
		return true;
	/* At 0, 1, 3, 7, ... of them: room for 1, 3, 7, 15. */
	void *more = realloc(*array, (2 * count + 1) * each);
	if (more)
		*array = more;
	return more;
}

/* Keeps them sorted by number: there is room for one more. */
static void
insert(struct cs_arrivals *arrivals, const struct cs_arrivals_comm *comm)
{
	size_t at = arrivals->comm_count++;
	for (; at > 0 && arrivals->comms[at - 1].comm > comm->comm; at--)
		arrivals->comms[at] = arrivals->comms[at - 1];
	arrivals->comms[at] = *comm;
}

/* Adds a record to what has been read. CS_BAD_INPUT: *wrong says what is, and nothing is added. */
static enum cs_status
read_record(const unsigned char *at, struct cs_arrivals *arrivals, const char **wrong)
{
	struct cs_arrival call;
	struct cs_arrivals_comm comm;
	struct cs_arrivals_clock clock;
	*wrong = NULL;
	switch (at[CS_AT_KIND]) {
	case CS_ARRIVALS_CALL:
		*wrong = call_of(at, arrivals, &call);
		if (*wrong)
			break;
		if (!grow((void **)&arrivals->calls, arrivals->call_count, sizeof call))
			return CS_NO_MEMORY;
		arrivals->calls[arrivals->call_count++] = call;
		break;
	case CS_ARRIVALS_COMM:
		*wrong = comm_of(at, arrivals, &comm);
		if (*wrong)
			break;
		if (!grow((void **)&arrivals->comms, arrivals->comm_count, sizeof comm))
			return CS_NO_MEMORY;
		insert(arrivals, &comm);
		break;
	case CS_ARRIVALS_CLOCK:
		*wrong = clock_of(at, arrivals, &clock);
		if (*wrong)
			break;
		if (!grow((void **)&arrivals->clocks, arrivals->clock_count, sizeof clock))
			return CS_NO_MEMORY;
		arrivals->clocks[arrivals->clock_count++] = clock;
		break;
	case CS_ARRIVALS_END:
		if (cs_get_64(at + CS_AT_COUNT) != arrivals->call_count) {
			*wrong = "calls are missing before its end";
			break;
		}
		arrivals->left_out = cs_get_64(at + CS_AT_BYTES);
		arrivals->is_complete = true;
		break;
	default:
		*wrong = "no such kind of record";
	}
	return *wrong ? CS_BAD_INPUT : CS_OK;
}

enum cs_status
cs_arrivals_parse(const void *bytes, size_t length, struct cs_arrivals *arrivals)
{
	const unsigned char *at = bytes, *end = at + length;
	*arrivals = (struct cs_arrivals){ .is_complete = false };
	if (!read_head(at, length, arrivals))
		return CS_BAD_INPUT;
	at += CS_ARRIVALS_HEAD;
	for (size_t number = 1; end - at >= CS_ARRIVALS_RECORD && !arrivals->is_complete;
	     number++, at += CS_ARRIVALS_RECORD) {
		const char *wrong;
		enum cs_status status = read_record(at, arrivals, &wrong);
		if (status == CS_NO_MEMORY) {
			cs_arrivals_fini(arrivals);
			return status;
		}
		if (status != CS_OK) {
			TROUBLE(arrivals, "record %zu is damaged: %s", number, wrong);
			return CS_OK;
		}
	}
	if (!arrivals->is_complete)
		TROUBLE(arrivals, "it ends before the job did%s",
			end > at ? ", in the midst of a record" : "");
	else if (end > at)
		TROUBLE(arrivals, "%zu bytes stand behind its end", (size_t)(end - at));
	return CS_OK;
}

enum cs_status
cs_arrivals_read(const char *path, struct cs_arrivals *arrivals)
{
	/* A job that goes on may add to it meanwhile. */
	enum { MORE = 64 << 20 };
	struct stat is;
	char *bytes;
	size_t length;
	*arrivals = (struct cs_arrivals){ .is_complete = false };
	enum cs_status status = stat(path, &is) == 0
				? cs_file_read(path, (size_t)is.st_size + MORE, &bytes, &length)
				: CS_SYSTEM;
	if (status == CS_SYSTEM)
		TROUBLE(arrivals, "it cannot be read: %s", errno == EINVAL ? "it is no file"
									   : strerror(errno));
	else if (status != CS_OK)
		TROUBLE(arrivals, "there is no memory for its %zu bytes", (size_t)is.st_size);
	if (status != CS_OK)
		return status;
	status = cs_arrivals_parse(bytes, length, arrivals);
	if (status == CS_NO_MEMORY)
		TROUBLE(arrivals, "there is no memory for its %zu bytes", length);
	free(bytes);
	return status;
}

void
cs_arrivals_fini(struct cs_arrivals *arrivals)
{
	free(arrivals->calls);
	free(arrivals->comms);
	free(arrivals->clocks);
	*arrivals = (struct cs_arrivals){ .is_complete = false };
}

const struct cs_arrivals_comm *
cs_arrivals_comm(const struct cs_arrivals *arrivals, uint64_t comm)
{
	size_t low = 0, high = arrivals->comm_count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (arrivals->comms[middle].comm == comm)
			return &arrivals->comms[middle];
		if (arrivals->comms[middle].comm < comm)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

int64_t
cs_arrivals_at_rank_0(const struct cs_arrivals *arrivals, uint64_t at_ns)
{
	if (!arrivals->clock_count)
		return (int64_t)at_ns;
	const struct cs_arrivals_clock *first = arrivals->clocks,
				       *last = first + arrivals->clock_count - 1;
	__int128 offset = first->offset_ns;
	if (last->at_ns > first->at_ns)
		offset += ((__int128)last->offset_ns - first->offset_ns) *
			  ((__int128)at_ns - first->at_ns) /
			  (__int128)(last->at_ns - first->at_ns);
	__int128 there = at_ns + offset;
	return there > INT64_MAX ? INT64_MAX : there < INT64_MIN ? INT64_MIN : (int64_t)there;
}

int64_t
cs_arrivals_drift(const struct cs_arrivals *arrivals)
{
	if (arrivals->clock_count < 2)
		return 0;
	const struct cs_arrivals_clock *first = arrivals->clocks,
				       *last = first + arrivals->clock_count - 1;
	if (last->at_ns == first->at_ns)
		return 0;
	__int128 drift = ((__int128)last->offset_ns - first->offset_ns) * 1000000000 /
			 (__int128)(last->at_ns - first->at_ns);
	return drift > INT64_MAX ? INT64_MAX : drift < INT64_MIN ? INT64_MIN : (int64_t)drift;
}
