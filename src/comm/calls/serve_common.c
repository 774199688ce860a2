/* comm/calls/serve_common.c — runs a translated call, packs and unpacks, and reports its errors. */
#include "comm/calls/serve_common.h"

#include "base/clock.h"
#include "base/log.h"
#include "comm/host/pmpi.h"
#include "comm/calls/dry.h"
#include "comm/teams/recording.h"
#include "run/trial.h"
#include "shm/arrived.h"
#include "trace/samples.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Tells the recording and the report of a timed call. */
static __attribute__((noinline, cold)) void
tell(const struct cs_serving *serving, const void *caller)
{
	const struct cs_op *op = &serving->op;
	const struct cs_selection *selection = &serving->communicator->seat->selection;
	if (selection->is_recording)
		cs_recording_add(serving->communicator, op->call.coll, op->call.root,
				 serving->bytes, false, op->arrived_ns, op->left_ns);
	if (!selection->is_reporting)
		return;
	if (op->row)
		cs_report_site(cs_report_caller(caller), op->row, op->arrived_ns, op->left_ns,
			       op->waited_ns);
	if (selection->is_sampling && cs_samples_want(op->tag))
		cs_recording_keep(serving->communicator, op->tag, op, false);
}

int
cs_serve_end(struct cs_serving *serving, const void *caller)
{
	bool is_timed = serving->op.node.extras & CS_OP_TIMED;
	const struct cs_selection *selection = &serving->communicator->seat->selection;
	if (is_timed && (selection->is_timed & CS_TIMED_ALL))
		tell(serving, caller);
	cs_serving_fini(serving);
	if (is_timed)
		cs_serve_tried(serving, serving->op.arrived_ns, serving->op.left_ns, true);
	if (!(serving->op.node.outcome.bits & CS_OUTCOME_ERROR))
		return MPI_SUCCESS;
	cs_pmpi.Comm_call_errhandler(serving->communicator->comm, serving->result);
	return serving->result;
}

/* Error of this rank in a truncated call: MPI_SUCCESS if the truncation is a gather root's, which
 * other ranks of its node see, too. */
static int
truncated(const struct cs_serving *serving)
{
	const struct cs_call *call = &serving->op.call;
	const struct cs_comm *communicator = serving->communicator;
	const struct cs_seat *seat = communicator->seat;
	const int *node_of = seat->team.shape.node_of;
	bool gathers = call->coll == CS_GATHER || call->coll == CS_GATHERV;
	bool is_of_root = !(serving->op.node.outcome.bits & CS_OUTCOME_TRUNCATED) &&
			  gathers &&
			  communicator->rank != call->root &&
			  node_of[communicator->rank] == node_of[call->root];
	return is_of_root ? MPI_SUCCESS : MPI_ERR_TRUNCATE;
}

/* Notes the error of the call. A broadcast of less than is expected is MPI_ERR_OTHER in MPICH, and
 * no error in Open MPI (4.0.2, 4.1.4); less is no error in other collectives of either. */
void
cs_serve_note_wrong(struct cs_serving *serving)
{
	struct cs_op *op = &serving->op;
	struct cs_outcome *outcome = &op->node.outcome;
	if (outcome->bits & CS_OUTCOME_MISMATCH)
		serving->result = MPI_ERR_OTHER;
	else if (outcome->bits & CS_OUTCOME_LONGER)
		serving->result = MPI_ERR_TRUNCATE;
	else if (outcome->bits & (CS_OUTCOME_TRUNCATED | CS_OUTCOME_MORE))
		serving->result = truncated(serving);
	else if ((outcome->bits & CS_OUTCOME_LESS) && cs_flavour.tells_of_less)
		serving->result = MPI_ERR_OTHER;
	else
		return;
	if (serving->result != MPI_SUCCESS)
		outcome->bits |= CS_OUTCOME_ERROR;
}

/* Do all ranks of the node make this call? In a call of the host's that is on trial, since the host
 * may wait for ever for ranks that make another one. */
static bool
is_common(struct cs_node_op *op)
{
	cs_node_publish(op, cs_node_line(op), 1);
	for (int local = 0; local < op->node->shape.size; local++)
		if (local != op->node->shape.local)
			cs_node_await(op, local, 1);
	return !(op->outcome.bits & CS_OUTCOME_STOPPED);
}

/* Give the host's call its number on the node. If it is on trial its time begins when all have
 * come, or, where the wait for late ranks is compared, now. */
static void
number_host(struct cs_serving *serving, const struct cs_class_trial *on_trial, enum cs_coll coll,
	    int root)
{
	struct cs_op *op = &serving->op;
	uint64_t now = on_trial ? cs_clock_ns() : 0;
	cs_node_begin(&op->node);
	cs_node_go_on(&op->node); /* older ones may be under way */
	if (on_trial) { /* for who tells of a long wait; the reduction stays */
		op->call.coll = coll;
		op->call.root = root;
		op->call.bytes = serving->bytes;
	}
	bool is_wrong = on_trial && !is_common(&op->node);
	cs_node_end(&op->node);
	cs_node_over(&op->node);
	if (is_wrong) {
		op->node.extras &= ~(unsigned)CS_OP_ON_TRIAL;
		cs_serve_note_wrong(serving);
	} else if (on_trial) {
		cs_op_arrive(op, on_trial->imbalance == CS_BALANCED ? cs_clock_ns() : now);
		cs_arrived_say(op->node.node, op->tag, op->arrived_ns);
	}
}

bool
cs_serve_try(struct cs_serving *serving, enum cs_coll coll, int root)
{
	struct cs_selection *selection = &serving->communicator->seat->selection;
	struct cs_op *op = &serving->op;
	serving->cached = cs_selection_try(selection, serving->cached, root);
	if (selection->on_trial)
		op->node.extras |= CS_OP_ON_TRIAL;
	if (serving->cached->choice.algorithm || serving->cached->goes_to_host)
		return serving->cached->choice.algorithm != NULL;
	/* A reduction's is not that of one by an algorithm, as on a rank that has another size. */
	unsigned detail = cs_colls[coll].reduces
			  ? ~cs_call_detail(op->call.reduction.kind, root)
			  : root < 0 ? 0 : (unsigned)root;
	cs_op_join(op, selection->team, cs_call_signature(coll, detail));
	number_host(serving, selection->on_trial, coll, root);
	return false;
}

/* Rare work after a call: the rest of its script, its end on the node, and its errors. False: as
 * cs_serve_run. */
static __attribute__((noinline)) bool
attend(struct cs_serving *serving)
{
	struct cs_op *op = &serving->op;
	if (op->node.extras & CS_OP_GOES_ON)
		cs_op_finish(op);
	cs_node_op_fini(&op->node);
	cs_serve_note_wrong(serving);
	return !(op->node.outcome.bits & CS_OUTCOME_LEFT) ||
	       cs_serve_not(serving, op->node.outcome.refused);
}

/* A call that reads the clock, or does not block. */
static __attribute__((noinline)) bool
run_otherwise(struct cs_serving *serving, uint64_t signature)
{
	struct cs_seat *seat = serving->communicator->seat;
	struct cs_op *op = &serving->op;
	if (op->node.extras & CS_OP_NONBLOCKING)
		return cs_icall_run(serving, signature);
	cs_op_join(op, seat->selection.team, signature);
	cs_selection_run_timed(&seat->selection, serving->cached, op, serving->bytes);
	return attend(serving);
}

bool
cs_serve_run(struct cs_serving *serving, uint64_t signature)
{
	struct cs_selection *selection = &serving->communicator->seat->selection;
	struct cs_op *op = &serving->op;
	if (__builtin_expect(selection->is_timed, 0))
		return run_otherwise(serving, signature);
	cs_op_join(op, selection->team, signature);
	cs_selection_run_quietly(serving->cached, op);
	/* One test for all rare work. */
	if (__builtin_expect((op->node.outcome.bits | op->node.extras) != 0, 0))
		return attend(serving);
	return true;
}

bool
cs_serve_choose_nonblocking(struct cs_serving *serving, enum cs_coll coll, size_t bytes, int skew,
			    enum cs_order order)
{
	struct cs_selection *selection = &serving->communicator->seat->selection;
	if (!selection->team)
		return cs_serve_not(serving, "not blocking, and no team yet");
	if (bytes == 0 && coll != CS_BARRIER)
		return cs_serve_not(serving, "nothing to move");
	serving->bytes = bytes;
	serving->cached = cs_selection_choose_nonblocking(selection, coll, bytes, skew, order);
	if (!serving->cached) {
		cs_warn_local("no memory for the choices of a communicator; ending the job");
		cs_host_mpi.abort("out of memory");
	}
	return !serving->cached->goes_to_host;
}

bool
cs_serve_postpone(struct cs_serving *serving,
		  void (*finish)(struct cs_serving *serving, void *results), const void *results,
		  size_t bytes)
{
	if (!cs_serving_goes_on(serving))
		return false;
	serving->results = malloc(bytes);
	if (!serving->results) {
		cs_warn_local("no memory for a non-blocking call; ending the job");
		cs_host_mpi.abort("out of memory");
	}
	memcpy(serving->results, results, bytes);
	serving->finish = finish;
	return true;
}

void
cs_serve_keep_type(struct cs_type *type)
{
	MPI_Datatype copy;
	if (type->is_predefined)
		return;
	if (!cs_pmpi.Type_dup || cs_pmpi.Type_dup(type->handle, &copy) != MPI_SUCCESS) {
		cs_warn_local("the MPI refused to duplicate a datatype in mid-call; ending the "
			      "job");
		cs_host_mpi.abort("MPI_Type_dup");
	}
	type->handle = copy;
}

void
cs_serve_drop_type(struct cs_type *type)
{
	if (!type->is_predefined)
		cs_pmpi.Type_free(&type->handle);
}

/* Memory of the call, until its end. Ends the job if there is none. */
static void *
need(struct cs_serving *serving, enum cs_op_use use, size_t bytes)
{
	void *memory = cs_op_memory_of(&serving->op, &serving->communicator->idle, use, bytes);
	if (!memory) {
		cs_warn_local("no memory for %zu bytes of a call's data; ending the job", bytes);
		cs_host_mpi.abort("out of memory");
	}
	return memory;
}

size_t *
cs_serve_sizes_slow(struct cs_serving *serving)
{
	struct cs_comm *communicator = serving->communicator;
	size_t bytes = 4 * (size_t)communicator->size * sizeof *communicator->sizes;
	if (serving->op.node.extras & CS_OP_NONBLOCKING)
		return need(serving, CS_OP_SIZES, bytes);
	communicator->sizes = malloc(bytes);
	if (!communicator->sizes) {
		cs_warn_local("no memory for the sizes of %d ranks; ending the job",
			      communicator->size);
		cs_host_mpi.abort("out of memory");
	}
	return communicator->sizes;
}

char *
cs_serve_packed(struct cs_serving *serving, int which, size_t bytes)
{
	return need(serving, which == CS_INPUT ? CS_OP_INPUT : CS_OP_OUTPUT, bytes);
}

/* Ends the job if packing or unpacking failed; if calls are timed, adds its time since `start`
 * (cs_clock_ns). */
static void
close_packing(struct cs_serving *serving, bool is_done, uint64_t start)
{
	struct cs_comm *communicator = serving->communicator;
	if (!is_done) {
		cs_warn_local("the MPI refused to pack or unpack a datatype in mid-call; ending "
			      "the job");
		cs_host_mpi.abort("packing");
	}
	if (!communicator->seat->selection.is_timed ||
	    serving->op.node.extras & CS_OP_NONBLOCKING)
		return;
	uint64_t end = cs_clock_ns();
	cs_op_arrive(&serving->op, start);
	serving->op.left_ns = end;
	if (communicator->seat->selection.is_reporting)
		cs_selection_spend(&communicator->seat->selection, serving->cached,
				   serving->bytes, end - start);
}

void
cs_serve_pack(struct cs_serving *serving, const struct cs_type *type, const void *user,
	      MPI_Count count, char *packed)
{
	struct cs_comm *communicator = serving->communicator;
	if (serving->op.node.extras & CS_OP_NONBLOCKING && cs_icall_is_dry(serving))
		return;
	uint64_t start = communicator->seat->selection.is_timed ? cs_clock_ns() : 0;
	close_packing(serving, cs_type_pack(type, user, count, packed), start);
}

void
cs_serve_unpack(struct cs_serving *serving, const struct cs_type *type, void *user, MPI_Count count,
		const char *packed)
{
	struct cs_comm *communicator = serving->communicator;
	uint64_t start = communicator->seat->selection.is_timed ? cs_clock_ns() : 0;
	close_packing(serving, cs_type_unpack(type, user, count, packed), start);
}

size_t
cs_serve_size(struct cs_comm *communicator, MPI_Count count, MPI_Datatype type, int times)
{
	/* On an intercommunicator some arguments of some ranks are not significant, so none are
	 * read. */
	struct cs_type other;
	const struct cs_type *known = communicator->is_inter
				      ? NULL : cs_comm_known_type(communicator, type);
	if (!known && !communicator->is_inter)
		known = cs_type_look_slow(type, &other);
	size_t bytes;
	if (!known || !cs_serve_bytes(known, count, &bytes) ||
	    __builtin_mul_overflow(bytes, (size_t)times, &bytes))
		return CS_BYTES_UNKNOWN;
	return bytes;
}

size_t
cs_serve_size_of_all(struct cs_comm *communicator, const struct cs_vector_args *vector,
		     MPI_Datatype type, int ranks)
{
	MPI_Count total = 0;
	if (communicator->is_inter || !vector->counts)
		return CS_BYTES_UNKNOWN;
	for (int rank = 0; rank < communicator->size; rank++) {
		MPI_Count count = cs_serve_count_at(vector, rank);
		if (count < 0 || __builtin_add_overflow(total, count, &total))
			return CS_BYTES_UNKNOWN;
	}
	size_t bytes = cs_serve_size(communicator, total, type, 1);
	return bytes == CS_BYTES_UNKNOWN ? bytes : bytes / (size_t)ranks +
	       (bytes % (size_t)ranks != 0);
}
