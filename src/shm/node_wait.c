/* shm/node_wait.c waits for other ranks of the node, and finds ranks that make different calls. */
#include "shm/node_parts.h"

#include "base/log.h"
#include "base/wait.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* Yields to ranks with the same core, before waiting for a rank on another core only */
#define NEAR_TURNS 4
#define POLLS_AT_ONCE 20 /* polls without a pause, for a line that arrives soon */
#define NAP_NS 1000000

static struct cs_line *
line_of(struct cs_node_op *op, int local)
{
	struct cs_node *node = op->node;
	return &cs_node_rank(node, local)->lines[op->number % CS_LINES];
}

/* Is `word` in the line of a rank that will not publish `target` in this call, because it makes
 * another call, or has left? *signature is the other call's, or 0 if it is not known. `seq` is read
 * last, so a line published before the rank left is seen. */
static bool
is_in_vain(struct cs_node_op *op, int local, const _Atomic uint64_t *word, uint64_t target,
	   uint64_t *signature)
{
	struct cs_node *node = op->node;
	const struct cs_rank_head *head = cs_node_rank(node, local);
	const struct cs_line *line = line_of(op, local);
	*signature = 0;
	if (word != &line->seq)
		return false;
	uint64_t waits = atomic_load_explicit(&head->waits, memory_order_acquire);
	uint64_t done = atomic_load_explicit(&head->done, memory_order_acquire);
	uint64_t seq = atomic_load_explicit(&line->seq, memory_order_acquire);
	if (seq >= target)
		return false;
	if (seq >> CS_STEP_BITS == op->number)
		*signature = line->said >> CS_SIGNATURE_SHIFT;
	else if (waits >> 16 == op->number)
		*signature = waits & 0xffff;
	if (*signature && *signature != op->signature >> CS_SIGNATURE_SHIFT)
		return true;
	*signature = 0;
	return waits >> 16 > op->number || done >= (op->number + 1) << CS_STEP_BITS;
}

/* State of a wait for a word of local rank `local`. */
struct awaited {
	struct cs_node_op *op;
	int local;
	bool is_told; /* this rank's `waits` word is set */
};

/* Work at each turn of a long wait. */
static enum cs_drive
drive(struct cs_wait *wait)
{
	struct awaited *awaited = wait->context;
	struct cs_node_op *op = awaited->op;
	struct cs_node *node = op->node;
	uint64_t signature;
	/* A rank that waits in a call has left all former ones: unless such a one is under way. */
	bool is_oldest = !node->under_way || op->number == node->oldest;
	if (!awaited->is_told && is_oldest)
		atomic_store_explicit(&node->self->waits, op->number << 16 | op->signature >>
				      CS_SIGNATURE_SHIFT, memory_order_release);
	awaited->is_told = is_oldest;
	/* A rank that asks for one piece will soon ask for the next one. */
	if (atomic_load_explicit(&node->head->copy_requests, memory_order_acquire) &&
	    cs_node_help(node))
		return CS_DRIVE_BUSY;
	bool looks = (wait->turn - wait->polls) % 8 == 0;
	return looks && is_in_vain(op, awaited->local, wait->word, wait->target, &signature)
	       ? CS_DRIVE_GIVE_UP
	       : CS_DRIVE_IDLE;
}

static void
wait_with(struct cs_node_op *op, int local, _Atomic uint64_t *word, uint64_t target, size_t polls)
{
	struct cs_node *node = op->node;
	if (cs_node_is_watched(op) && node->watch->wait) {
		while (atomic_load(word) < target)
			node->watch->wait(op, word, target,
					  local >= 0 && word == &line_of(op, local)->seq);
		return;
	}
	struct awaited awaited = { .op = op, .local = local };
	struct cs_wait wait = {
		.eager = POLLS_AT_ONCE, .polls = polls, .yields = node->shape.yields,
			.nap_ns = NAP_NS,
		.progress = node->host->progress, .drive = drive, .context = &awaited,
		.word = word, .target = target, .sleepers = &node->head->sleepers,
		.call = op, .whom = local + 1,
	};
	cs_wait_word(&wait);
	if (node->sample.tell)
		node->sample.waited_ns += cs_wait_ns(&wait);
}

/* Polls before yielding: if ranks share cores, polls use the core of the rank that is waited
 * for. */
static size_t
polls_of(struct cs_node *node, int local)
{
	if (cs_node_is_same_core(node, local))
		return 0;
	return node->facts.shares_cores ? node->shape.spin / 4 : node->shape.spin;
}

void
cs_node_wait_slow(struct cs_node_op *op, int local, _Atomic uint64_t *word, uint64_t target)
{
	wait_with(op, local, word, target, polls_of(op->node, local));
}

static bool
has_published(struct cs_node_op *op, int local, uint64_t target)
{
	return atomic_load_explicit(&line_of(op, local)->seq, memory_order_acquire) >= target;
}

/* Have all other ranks with this core published `target`? */
static bool
are_near_there(struct cs_node_op *op, uint64_t target)
{
	struct cs_node *node = op->node;
	for (int i = 0; i < node->same_core_count; i++)
		if (!has_published(op, node->same_core[i], target))
			return false;
	return true;
}

static void
await_line(struct cs_node_op *op, int local, uint64_t target)
{
	struct cs_node *node = op->node;
	_Atomic uint64_t *word = &line_of(op, local)->seq;
	bool all_come = node->shape.area_slots == 0 && has_published(op, node->shape.local, target);
	if (!node->same_core_count || !all_come || cs_node_is_same_core(node, local)) {
		cs_node_wait_slow(op, local, word, target);
		return;
	}
	/* Yield to the ranks that share the core until they have published this step, too; then
	 * none needs it. (Not with several nodes, where one of them may progress the wire.) */
	for (int turn = 0; turn < NEAR_TURNS && !are_near_there(op, target); turn++) {
		sched_yield();
		if (atomic_load_explicit(word, memory_order_acquire) >= target)
			return;
	}
	wait_with(op, local, word, target, node->shape.spin / 2);
}

static int
rank_of(const struct cs_node *node, int local)
{
	return node->rank_of ? node->rank_of[local] : local;
}

/* Names a call as "MPI_Bcast with root 1". The detail of a reduction's signature is not meant for
 * users. */
static void
name_call(char *to, size_t room, uint64_t signature)
{
	enum cs_coll coll = cs_call_coll(signature);
	if (coll >= CS_COLL_COUNT) {
		snprintf(to, room, "another call");
		return;
	}
	const struct cs_coll_info *info = &cs_colls[coll];
	int end = snprintf(to, room, "MPI_%c%s", info->name[0] - 'a' + 'A', info->name + 1);
	if (info->rooted && !info->reduces)
		snprintf(to + end, room - (size_t)end, " with root %d",
			 (int)(signature & CS_SIGNATURE_DETAIL));
}

static void
say_wrong(struct cs_node_op *op, int local, uint64_t signature, uint64_t theirs, uint64_t ours)
{
	struct cs_node *node = op->node;
	char other[64], own[64];
	const char *end = node->nodes > 1 ? "; ending the job" : "";
	int all = node->all_ranks, they = rank_of(node, local),
	    we = rank_of(node, node->shape.local);
	name_call(other, sizeof other, signature);
	name_call(own, sizeof own, op->signature >> CS_SIGNATURE_SHIFT);
	if (!signature)
		cs_warn_local("collectives do not match (communicator of %d ranks): rank %d has "
			      "left a call in which rank %d is in "
			      "%s and waits for it%s", all, they, we, own, end);
	else if (theirs != ours)
		cs_warn_local("collectives do not match (communicator of %d ranks): rank %d has "
			      "%llu bytes in %s, rank %d "
			      "has %llu%s", all, they, (unsigned long long)theirs, other, we,
			      (unsigned long long)ours, end);
	else if (!strcmp(other, own))
		cs_warn_local("collectives do not match (communicator of %d ranks): rank %d and "
			      "rank %d are in %s with different "
			      "operations, roots or sizes of elements%s", all, they, we, own, end);
	else
		cs_warn_local("collectives do not match (communicator of %d ranks): rank %d is in "
			      "%s, rank %d in %s%s", all, they, other, we, own, end);
}

/* Warns about a mismatch of calls: one rank does, for all of the node; the others wait until it
 * has, since an error handler may end the job. */
static void
tell(struct cs_node_op *op, int local, uint64_t signature, uint64_t theirs, uint64_t ours)
{
	struct cs_node *node = op->node;
	enum { TELLING = 1, TOLD = 2, TURNS = 10000 };
	_Atomic uint32_t *told = &node->head->has_told;
	uint32_t none = 0;
	int saved = errno;
	if (node->nodes > 1 || atomic_compare_exchange_strong(told, &none, TELLING)) {
		say_wrong(op, local, signature, theirs, ours);
		cs_log_drain();
		atomic_store(told, TOLD);
	}
	for (int turn = 0; turn < TURNS && atomic_load(told) != TOLD; turn++)
		sched_yield();
	errno = saved;
}

/* Makes the call wrong, so that it waits for nothing any more. The call's signature, also in the
 * own line, is changed to match none, so that ranks that use results of this one find the mismatch,
 * too; but not if only sizes differ, since all ranks find that, and whose is larger. */
static const struct cs_line *
go_wrong(struct cs_node_op *op, int local, uint64_t signature, uint64_t theirs, uint64_t ours)
{
	struct cs_node *node = op->node;
	static const struct cs_line nothing;
	struct cs_line *own = line_of(op, node->shape.local);
	if (op->outcome.bits & CS_OUTCOME_STOPPED)
		return &nothing;
	op->outcome.bits |= theirs > ours ? CS_OUTCOME_LONGER : CS_OUTCOME_MISMATCH;
	tell(op, local, signature, theirs, ours);
	if (node->nodes > 1)
		node->host->abort("collectives do not match");
	if (theirs != ours)
		return &nothing;
	op->signature |= (uint64_t)CS_SIGNATURE_DETAIL << CS_SIGNATURE_SHIFT;
	if (atomic_load_explicit(&own->seq, memory_order_relaxed) >> CS_STEP_BITS == op->number)
		own->said = op->signature;
	return &nothing;
}

/* A rank whose line of this number is of another call; else `local`. */
static int
find_other(struct cs_node_op *op, int local, uint64_t *signature)
{
	struct cs_node *node = op->node;
	for (int other = 0; other < node->shape.size; other++) {
		const struct cs_line *line = line_of(op, other);
		if (atomic_load_explicit(&line->seq, memory_order_acquire) >> CS_STEP_BITS !=
		    op->number || !((line->said ^ op->signature) >> CS_SIGNATURE_SHIFT))
			continue;
		*signature = line->said >> CS_SIGNATURE_SHIFT;
		return other;
	}
	return local;
}

const struct cs_line *
cs_node_await_slow(struct cs_node_op *op, int local, uint64_t step)
{
	const struct cs_line *line = line_of(op, local);
	uint64_t target = cs_node_tag(op, step), signature;
	if (!(op->outcome.bits & CS_OUTCOME_STOPPED) && !has_published(op, local, target))
		await_line(op, local, target);
	if (!(op->outcome.bits & CS_OUTCOME_STOPPED) && has_published(op, local, target)) {
		signature = line->said >> CS_SIGNATURE_SHIFT;
		if (signature == op->signature >> CS_SIGNATURE_SHIFT)
			return line;
	} else if (is_in_vain(op, local, &line->seq, target, &signature) && !signature) {
		local = find_other(op, local, &signature);
	}
	return go_wrong(op, local, signature, 0, 0);
}

const struct cs_line *
cs_node_unlike(struct cs_node_op *op, int local, const struct cs_line *line)
{
	return go_wrong(op, local, line->said >> CS_SIGNATURE_SHIFT, cs_line_bytes(line),
			op->signature & (((uint64_t)1 << CS_SIGNATURE_SHIFT) - 1));
}

static _Noreturn void
end_of_calls(struct cs_node_op *op)
{
	struct cs_node *node = op->node;
	cs_warn_local("a communicator has made %llu collective calls, and more cannot be told "
		      "apart; ending the job", (unsigned long long)(op->number - CS_LINES));
	node->host->abort("too many calls");
}

void
cs_node_all_done_slow(struct cs_node_op *op, uint64_t tag)
{
	struct cs_node *node = op->node;
	if (__builtin_expect(op->number >= CS_MOST_CALLS, 0))
		end_of_calls(op);
	uint64_t floor = UINT64_MAX;
	/* A wrong call's data in slots may be overwritten. */
	if ((op->outcome.bits & CS_OUTCOME_STOPPED) && tag >> CS_STEP_BITS == op->number &&
	    tag != cs_node_has_read(op->number))
		return;
	for (int local = 0; local < node->shape.size; local++) {
		_Atomic uint64_t *done = &cs_node_rank(node, local)->done;
		if (local == node->shape.local)
			continue;
		cs_node_wait(op, local, done, tag);
		uint64_t value = atomic_load_explicit(done, memory_order_acquire);
		if (value < floor)
			floor = value;
	}
	node->done_floor = floor;
}

const struct cs_line *
cs_node_look_slow(struct cs_node_op *op, int local, uint64_t step)
{
	/* Neither of these waits. */
	if ((op->outcome.bits & CS_OUTCOME_STOPPED) ||
	    has_published(op, local, cs_node_tag(op, step)))
		return cs_node_await_slow(op, local, step);
	op->awaited = (struct cs_awaited){ .local = local, .tag = step };
	return NULL;
}

void
cs_node_notice(struct cs_node_op *op, int local, uint64_t step)
{
	uint64_t signature;
	if (!(op->outcome.bits & CS_OUTCOME_STOPPED) &&
	    is_in_vain(op, local, &line_of(op, local)->seq, cs_node_tag(op, step), &signature))
		cs_node_await_slow(op, local, step);
}

bool
cs_node_are_done_slow(struct cs_node_op *op, uint64_t tag)
{
	if (__builtin_expect(op->number >= CS_MOST_CALLS, 0))
		end_of_calls(op);
	bool is_for_nothing =
		(op->outcome.bits & CS_OUTCOME_STOPPED) && tag >> CS_STEP_BITS == op->number &&
		tag != cs_node_has_read(op->number);
	if (is_for_nothing || cs_node_is_done(op, tag))
		return true;
	op->awaited = (struct cs_awaited){ .local = CS_AWAITS_ALL, .tag = tag };
	return false;
}

void
cs_node_wait_awaited(struct cs_node_op *op)
{
	const struct cs_awaited *awaited = &op->awaited;
	if (awaited->local == CS_AWAITS_AREA)
		cs_node_area_wait(op, (enum cs_area_kind)awaited->of, awaited->tag);
	else if (awaited->local == CS_AWAITS_FLAG)
		cs_node_wait(op, awaited->of, awaited->flag, awaited->tag);
	else if (awaited->local == CS_AWAITS_ALL)
		cs_node_all_done_slow(op, awaited->tag);
	else
		cs_node_await_slow(op, awaited->local, awaited->tag);
}

static bool
is_done(struct cs_node *node, uint64_t tag)
{
	if (node->done_floor >= tag)
		return true;
	uint64_t floor = UINT64_MAX;
	for (int local = 0; local < node->shape.size; local++) {
		if (local == node->shape.local)
			continue;
		uint64_t value = atomic_load_explicit(&cs_node_rank(node, local)->done,
						      memory_order_acquire);
		if (value < floor)
			floor = value;
	}
	node->done_floor = floor;
	return floor >= tag;
}

bool
cs_node_is_done(struct cs_node_op *op, uint64_t tag)
{
	return is_done(op->node, tag);
}

bool
cs_node_may_begin_now(struct cs_node *node)
{
	uint64_t number = node->calls + 1;
	return node->under_way < CS_LINES - 2 && number < CS_MOST_CALLS &&
	       is_done(node, ((number - CS_LINES + 1) << CS_STEP_BITS) - 1);
}
