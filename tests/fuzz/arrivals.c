/* trace/arrivals_file: what ranks have recorded, or whatever else is in such a file. */
#include "fuzz.h"

#include "trace/arrivals_file.h"

#include <stdlib.h>

static void
check_calls(const struct cs_arrivals *arrivals)
{
	for (size_t i = 0; i < arrivals->call_count; i++) {
		const struct cs_arrival *call = &arrivals->calls[i];
		const struct cs_arrivals_comm *comm = cs_arrivals_comm(arrivals, call->comm);
		CLAIM(comm && comm->rank < comm->size && comm->size <= arrivals->head.ranks,
		      "call %zu is on no communicator", i);
		CLAIM(call->coll < CS_COLL_COUNT && call->call > 0, "call %zu", i);
		CLAIM(call->arrived_ns <= call->left_ns, "call %zu", i);
		CLAIM(cs_colls[call->coll].rooted
		      ? call->root >= 0 && (uint32_t)call->root < comm->size
		      : call->root == -1, "call %zu has root %d", i, (int)call->root);
		(void)cs_arrivals_at_rank_0(arrivals, call->arrived_ns);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct cs_arrivals arrivals;
	enum cs_status status = cs_arrivals_parse(data, bytes, &arrivals);
	CLAIM(status == CS_OK || status == CS_BAD_INPUT, "%s", cs_status_name(status));
	if (*arrivals.trouble)
		CLAIM(fuzz_is_line(arrivals.trouble, arrivals.trouble), "%s", arrivals.trouble);
	if (status == CS_BAD_INPUT) {
		CLAIM(*arrivals.trouble && !arrivals.calls, "refused without a reason");
		return 0;
	}
	CLAIM(arrivals.is_complete || *arrivals.trouble, "it ends early, and nothing says so");
	CLAIM(arrivals.head.world < arrivals.head.ranks, "rank %u", arrivals.head.world);
	check_calls(&arrivals);
	for (size_t i = 1; i < arrivals.comm_count; i++)
		CLAIM(arrivals.comms[i - 1].comm < arrivals.comms[i].comm, "communicator %zu", i);
	(void)cs_arrivals_at_rank_0(&arrivals, UINT64_MAX);
	(void)cs_arrivals_drift(&arrivals);
	/* The same of a beginning. */
	struct cs_arrivals part;
	if (cs_arrivals_parse(data, bytes - 1, &part) == CS_OK) {
		CLAIM(part.call_count <= arrivals.call_count, "%zu calls of less, %zu of all",
		      part.call_count, arrivals.call_count);
		cs_arrivals_fini(&part);
	}
	cs_arrivals_fini(&arrivals);
	return 0;
}
