/* shm/single_copy.c — reads other ranks' memory, offers its own, and chooses between single copy
 * and copy-in-copy-out (shm/copy_choice.h). */
#include "shm/node_parts.h"

#include "base/clock.h"
#include "base/log.h"
#include "trace/report.h"

#include <errno.h>
#include <string.h>

#define PAGE 4096 /* bytes, at least */

/* --- help -------------------------------------------------------------------------------------
 *
 * A single copy may fail in mid-run. The program may have protected memory, which its SIGSEGV
 * handler unprotects for its own loads and stores, but not for the kernel's (garbage collectors,
 * checkpoints). An owner has touched the memory that it offers, but the reader's buffer may be
 * protected, or another thread may protect the owner's memory again. Or the process may not be
 * readable any more (seteuid, PR_SET_DUMPABLE).
 *
 *   the reader's memory is at fault   it reads into its room for help, and copies from there
 *   the owner's memory is             it asks the owner, which copies into that room
 *
 * The owner waits until all are done with the call, and waits answer requests; so does a reader's
 * wait for an answer, so that two ranks may ask each other. The owner is always in such a wait:
 * memory is offered on one node only, where no rank of the call is in the host's collectives. */

/* Calls for which an owner offers nothing after a request, doubled each time, and the most */
#define BACKOFF_AT_FIRST 64
#define BACKOFF_AT_MOST 16384

static char *
room_for_help(struct cs_node *node, int local)
{
	return node->ranks + (size_t)(local + 1) * node->rank_stride - CS_HELP;
}

static void
ask(struct cs_node_op *op, int local, uint64_t address, size_t bytes)
{
	struct cs_node *node = op->node;
	struct cs_copy_request *request = &node->self->copy_request;
	uint64_t last =
		atomic_load_explicit(&request->asked, memory_order_relaxed) >> CS_COPY_REQUEST_BITS;
	uint64_t number = (last + 1) << CS_COPY_REQUEST_BITS | (uint64_t)local;
	atomic_store_explicit(&request->address, address, memory_order_relaxed);
	atomic_store_explicit(&request->bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&request->asked, number, memory_order_release);
	atomic_fetch_add(&node->head->copy_requests, 1);
	cs_node_wait(op, local, &request->answered, number);
	atomic_fetch_sub(&node->head->copy_requests, 1);
}

/* Reads the rest piece by piece, in one of the other ways. After each piece a direct read is tried:
 * a handler may have unprotected all of the memory. */
static __attribute__((noinline)) void
read_otherwise(struct cs_node_op *op, int local, char *to, uint64_t remote, size_t bytes)
{
	struct cs_node *node = op->node;
	pid_t pid = (pid_t)cs_node_rank(node, local)->pid;
	char *room = room_for_help(node, node->shape.local);
	bool is_fault = errno == EFAULT; /* else a retry is useless */
	if (!cs_report_more(CS_SUM_REFUSED))
		cs_info("reading %zu bytes of process %d was refused (%m); they are copied through "
			"shared memory", bytes, (int)pid);
	while (bytes) {
		size_t piece = bytes < CS_HELP ? bytes : CS_HELP;
		size_t got = is_fault ? cs_cma_get(pid, room, remote, piece) : 0;
		if (!got) {
			ask(op, local, remote, piece);
			got = piece;
		}
		memcpy(to, room, got);
		got += is_fault ? cs_cma_get(pid, to + got, remote + got, bytes - got) : 0;
		to += got;
		remote += got;
		bytes -= got;
	}
}

static void
get(struct cs_node_op *op, int local, char *to, uint64_t remote, size_t bytes)
{
	struct cs_node *node = op->node;
	int saved = errno;
	size_t got = 0;
	if (cs_node_is_watched(op))
		node->watch->read(op, local, to, remote, bytes);
	else if ((got = cs_cma_get((pid_t)cs_node_rank(node, local)->pid, to, remote, bytes)) <
		 bytes)
		read_otherwise(op, local, to + got, remote + got, bytes - got);
	errno = saved;
}

static bool
has_turns(const struct cs_node *node)
{
	return node->readers && node->shape.size - 1 > node->readers;
}

bool
cs_node_is_crowded(struct cs_node_op *op, int local)
{
	struct cs_rank_head *owner = cs_node_rank(op->node, local);
	if (!has_turns(op->node))
		return false;
	uint64_t over = atomic_load(&owner->turns_over);
	op->awaited = (struct cs_awaited){ .local = CS_AWAITS_FLAG, .of = local, .tag = over + 1,
					   .flag = &owner->turns_over };
	return atomic_load(&owner->turns) - over >= (uint64_t)op->node->readers;
}

/* Readers come in turns, first come, first served: each reader more makes each page cost all of
 * them more, and from some on more than its copy (topo/node_cost.h: cs_node_readers). */
void
cs_node_read(struct cs_node_op *op, int local, void *to, uint64_t remote, size_t bytes)
{
	struct cs_node *node = op->node;
	struct cs_rank_head *owner = cs_node_rank(node, local);
	uint64_t most = (uint64_t)node->readers;
	if (has_turns(node)) {
		uint64_t turn = atomic_fetch_add(&owner->turns, 1);
		cs_node_wait(op, local, &owner->turns_over, turn < most ? 0 : turn + 1 - most);
	}
	get(op, local, to, remote, bytes);
	if (has_turns(node)) {
		atomic_fetch_add(&owner->turns_over, 1);
		if (atomic_load_explicit(&node->head->sleepers, memory_order_relaxed))
			cs_wait_wake(&owner->turns_over);
	}
}

/* Loads a byte of each page, so that the program's handler unprotects protected pages, and has
 * filled them before others read: a handler may unprotect a page first and fill it then, and others
 * would read it half filled. Not the same byte of each page: these share a set of the cache. */
static __attribute__((no_sanitize_address)) void
touch(uintptr_t from, uintptr_t to)
{
	for (uintptr_t page = from / PAGE * PAGE; page < to; page += PAGE) {
		uintptr_t at = page + page / PAGE % (PAGE / LINE) * LINE;
		at = at < from ? from : at < to ? at : to - 1;
		(void)*(const volatile char *)at;
	}
}

bool
cs_node_offer(struct cs_node_op *op, const void *memory, size_t bytes)
{
	struct cs_node *node = op->node;
	uintptr_t from = (uintptr_t)memory, to = from + bytes;
	struct cs_offer *offer = &op->offer;
	if (node->calls + 1 < node->backoff_until)
		return false;
	if (cs_node_is_watched(op) && node->watch->read)
		return true;
	if (!cs_single_copy_may_read(&node->readable, memory, bytes))
		return false;
	touch(from, to);
	if (!(op->extras & CS_NODE_OFFERS)) {
		op->extras |= CS_NODE_OFFERS;
		*offer = (struct cs_offer){ from, to };
		op->next_offering = node->offering;
		node->offering = op;
	}
	offer->from = from < offer->from ? from : offer->from;
	offer->to = to > offer->to ? to : offer->to;
	return true;
}

static void
withdraw(struct cs_node_op *op)
{
	struct cs_node_op **at = &op->node->offering;
	while (*at != op)
		at = &(*at)->next_offering;
	*at = op->next_offering;
}

void
cs_node_op_fini_slow(struct cs_node_op *op)
{
	if (op->extras & CS_NODE_OFFERS)
		withdraw(op);
	if (op->extras & CS_NODE_TIMED)
		cs_copy_choice_note(op->timed.ps_per_byte, op->timed.bytes,
				    cs_clock_ns() - op->timed.start);
	op->extras &= ~(unsigned)CS_NODE_EXTRAS;
}

/* Offers nothing for some calls, since others cannot read our memory, and forgets known blocks. */
static void
back_off(struct cs_node *node)
{
	if (node->backoff_until > node->calls)
		return;
	node->backoff_for = !node->backoff_for			  ? BACKOFF_AT_FIRST
			    : node->backoff_for < BACKOFF_AT_MOST ? 2 * node->backoff_for
								  : BACKOFF_AT_MOST;
	node->backoff_until = node->calls + 1 + node->backoff_for;
	memset(&node->readable, 0, sizeof node->readable);
}

static bool
is_offered(const struct cs_node *node, uint64_t address, uint64_t bytes)
{
	for (const struct cs_node_op *op = node->offering; op; op = op->next_offering)
		if (address >= op->offer.from && address <= op->offer.to &&
		    bytes <= op->offer.to - address)
			return true;
	return false;
}

/* Copies a piece for another rank, by loads of our own; but only of offered memory. Ranks differ in
 * it only in a wrong program. */
static void
give(struct cs_node *node, int local, const struct cs_copy_request *request)
{
	uint64_t address = atomic_load_explicit(&request->address, memory_order_relaxed);
	uint64_t bytes = atomic_load_explicit(&request->bytes, memory_order_relaxed);
	if (bytes <= CS_HELP && is_offered(node, address, bytes))
		memcpy(room_for_help(node, local), (const void *)(uintptr_t)address, bytes);
	back_off(node);
}

bool
cs_node_help(struct cs_node *node)
{
	bool has_helped = false;
	for (int local = 0; local < node->shape.size; local++) {
		struct cs_copy_request *request = &cs_node_rank(node, local)->copy_request;
		uint64_t asked = atomic_load_explicit(&request->asked, memory_order_acquire);
		bool is_ours = local != node->shape.local &&
			       asked % (1 << CS_COPY_REQUEST_BITS) == (uint64_t)node->shape.local;
		if (!is_ours ||
		    asked == atomic_load_explicit(&request->answered, memory_order_relaxed))
			continue;
		give(node, local, request);
		cs_node_store(node, &request->answered, asked);
		has_helped = true;
	}
	return has_helped;
}

/* Mean of the words of local ranks `first` to `last`; 0: all are unknown. */
static uint64_t
ps_per_byte_of(struct cs_node *node, unsigned pattern, int size, enum cs_copy_protocol way,
	       int first, int last)
{
	       uint64_t sum = 0, count = 0;
	       for (int local = first; local <= last; local++) {
		uint64_t ps_per_byte =
			atomic_load_explicit(
				&cs_node_rank(node, local)->choice.ps_per_byte[pattern][size][way],
				memory_order_relaxed);
		sum += ps_per_byte;
		count += ps_per_byte != 0;
	       }
	       return count ? sum / count : 0;
}

/* Decides, on local rank 0, the way of all ranks in this call. */
static unsigned
decide_for_all(struct cs_node *node, unsigned pattern, int size)
{
	struct cs_copy_choice *choice = &node->choice[pattern][size];
	int last = node->shape.size - 1;
	if (choice->trial.is_over) {
		struct cs_trial_times times = { .spread = 0 };
		for (enum cs_copy_protocol way = 0; way < CS_COPY_CHOICES; way++)
			times.way[way] = ps_per_byte_of(node, pattern, size, way, 0, last);
		cs_trial_judge(&choice->trial, choice->calls, &times);
	}
	unsigned way = cs_copy_choice_next(choice);
	return cs_copy_choice_is_timed(choice) ? way | CS_COPY_CHOICE_TIMED : way;
}

bool
cs_node_single_copy_by_calls(struct cs_node_op *op, unsigned pattern, size_t bytes)
{
	struct cs_node *node = op->node;
	int size = cs_copy_choice_size(bytes);
	_Atomic uint8_t *said = &cs_node_rank(node, 0)->choice.way[pattern][size];
	unsigned way = atomic_load_explicit(said, memory_order_relaxed);
	if (node->shape.local == 0) {
		unsigned before = way;
		way = decide_for_all(node, pattern, size);
		if (way != before)
			atomic_store_explicit(said, (uint8_t)way, memory_order_relaxed);
	}
	bool is_single_copy = way & CS_SINGLE_COPY;
	if (way & CS_COPY_CHOICE_TIMED) {
		op->extras |= CS_NODE_TIMED;
		op->timed =
			(struct cs_timed){
				&node->self->choice.ps_per_byte[pattern][size][is_single_copy],
				bytes, cs_clock_ns() };
	}
	return is_single_copy;
}

bool
cs_node_single_copy_by_copies(struct cs_node_op *op, unsigned pattern, size_t bytes,
			      const struct cs_copy_cost *cost)
{
	struct cs_node *node = op->node;
	int size = cs_copy_choice_size(bytes);
	struct cs_copy_choice *choice = &node->choice[pattern][size];
	int first = cost->reader < 0 ? 0 : cost->reader,
	    last = cost->reader < 0 ? node->shape.size - 1 : cost->reader;
	if (choice->trial.is_over) {
		const struct cs_copy_policy *policy = &node->copies_in[CS_COPY_LONG_ONES][pattern];
		bool is_in_turn = node->facts.shares_cores;
		uint64_t out = is_in_turn ? cost->readers : cost->copies_out;
		uint64_t copies_in = (is_in_turn ? 1 : cost->copies_in) *
				     policy->ps_per_byte[policy->trial.serving];
		uint64_t copies_out = out * ps_per_byte_of(node, pattern, size, CS_COPY_IN_COPY_OUT,
						     first, last);
		uint64_t gets = is_in_turn || !cost->turns ? out : cost->turns;
		uint64_t reads = gets * ps_per_byte_of(node, pattern, size, CS_SINGLE_COPY, first,
						      last);
		uint64_t larger = copies_in > copies_out ? copies_in : copies_out;
		uint64_t waits = gets * cs_facts_hop_ns(&node->facts) * 1000 / bytes;
		const struct cs_trial_times times = {
			.way = { [CS_COPY_IN_COPY_OUT] = !copies_out ? 0 : is_in_turn
				 ? copies_in + copies_out : larger,
				 [CS_SINGLE_COPY] = reads ? reads + waits : 0 } };
		cs_trial_judge(&choice->trial, choice->calls, &times);
	}
	return cs_copy_choice_next(choice) == CS_SINGLE_COPY;
}

void
cs_node_get_single_copy(struct cs_node_op *op, unsigned pattern, int local, void *to,
			uint64_t remote, size_t bytes)
{
	struct cs_node *node = op->node;
	uint64_t start = cs_clock_ns();
	cs_node_read(op, local, to, remote, bytes);
	if (bytes)
		cs_copy_choice_note(
			&node->self->choice.ps_per_byte[pattern][cs_copy_choice_size(
				bytes)][CS_SINGLE_COPY], bytes,
				    cs_clock_ns() - start);
}

void
cs_node_get_copied_in(struct cs_node_op *op, unsigned pattern, size_t block, void *to,
		      const void *from, size_t bytes)
{
	struct cs_node *node = op->node;
	if (!cs_copy_is_measured(bytes, &node->short_gets)) {
		memcpy(to, from, bytes);
		return;
	}
	uint64_t start = cs_clock_ns();
	if (bytes < CS_COPY_LONG)
		memcpy(to, from, bytes);
	else
		cs_copy_large(&node->results[pattern][cs_copy_choice_size(block)], to, from, bytes);
	cs_copy_choice_note(
		&node->self->choice.ps_per_byte[pattern][cs_copy_choice_size(
			block)][CS_COPY_IN_COPY_OUT], bytes, cs_clock_ns() - start);
}
