#include "shm/node.h"

#include "base/clock.h"
#include "base/log.h"
#include "trace/report.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif
#define LINE CS_CACHE_LINE
#define PAGE 4096 /* bytes, at least */
#define NEAR_TURNS 4 /* yields to the ranks with the same core, before all that one waits for is a rank elsewhere */
#define POLLS_AT_ONCE 20 /* without a pause between them: a line that is about to come */
#define SHORT_GET (32 << 10) /* bytes of a copy below which one in so many is measured: */
#define SHORT_MEASURED 7
#define RESULTS_SETTLE ((size_t)8 << 20) /* bytes that a rank gets; more than a core's own cache and its share of the last one */
#define POPULATED_AT_ONCE ((size_t)64 << 10) /* bytes of a slot */
#define HEADS (CS_SEGMENT_HEADER + 4096)

static size_t
round_up(size_t value, size_t unit)
{
	return (value + unit - 1) / unit * unit;
}

/* Odd numbers of lines between slots, so that the fronts of all slots do not fall into the same cache set. */
static size_t
slot_stride(const struct cs_node_shape *shape)
{
	return round_up(shape->slot_bytes, CS_APART) + LINE;
}

/* Head, ring, and the room for help. */
static size_t
rank_stride(const struct cs_node_shape *shape)
{
	return round_up(sizeof(struct cs_rank_head) + shape->slots * slot_stride(shape), 4096) + CS_HELP;
}

static size_t
area_stride(const struct cs_node_shape *shape)
{
	return round_up(shape->area_bytes, CS_APART) + LINE + CS_AREA_FLAGS * sizeof(uint64_t);
}

#define SMALL_STRIDE (CS_AREA_SMALL + LINE)

static size_t
small_slots(const struct cs_node_shape *shape)
{
	return shape->area_slots ? CS_LINES : 0;
}

static size_t
areas_bytes(const struct cs_node_shape *shape)
{
	return round_up(shape->area_slots * area_stride(shape) + small_slots(shape) * SMALL_STRIDE, 4096) +
	       (shape->area_slots ? CS_NODE_TABLE : 0);
}

size_t
cs_node_bytes(const struct cs_node_shape *shape)
{
	return HEADS + (size_t)shape->size * rank_stride(shape) + areas_bytes(shape);
}

void
cs_node_share(const struct cs_node_shape *shape, int local, size_t *from, size_t *bytes)
{
	*from = HEADS + (size_t)local * rank_stride(shape);
	*bytes = rank_stride(shape);
	if (local == 0) { /* the node's head as well */
		*bytes += *from - CS_SEGMENT_HEADER;
		*from = CS_SEGMENT_HEADER;
	}
}

void
cs_node_area_share(const struct cs_node_shape *shape, size_t *from, size_t *bytes)
{
	*from = HEADS + (size_t)shape->size * rank_stride(shape);
	*bytes = areas_bytes(shape);
}

void
cs_node_init(struct cs_node *node, const struct cs_node_shape *shape, struct cs_segment *segment,
	     const struct cs_host *host)
{
	memset(node, 0, sizeof *node);
	node->shape = *shape;
	node->segment = *segment;
	segment->base = NULL;
	segment->fd = -1;
	node->host = host;
	node->head = (struct cs_node_head *)((char *)node->segment.base + CS_SEGMENT_HEADER);
	node->ranks = (char *)node->segment.base + HEADS;
	node->rank_stride = rank_stride(shape);
	node->slot_stride = slot_stride(shape);
	char *area = node->ranks + (size_t)shape->size * node->rank_stride;
	node->areas[CS_AREA_LARGE_SLOTS] =
		(struct cs_area){ .base = area, .slots = shape->area_slots, .stride = area_stride(shape) };
	node->areas[CS_AREA_SMALL_SLOTS] = (struct cs_area){ .base = area + shape->area_slots * area_stride(shape),
							     .slots = small_slots(shape), .stride = SMALL_STRIDE };
	if (shape->area_slots)
		node->table = area + areas_bytes(shape) - CS_NODE_TABLE;
	node->self = cs_node_rank(node, shape->local);
	node->calls = CS_LINES;
	node->done_floor = (node->calls + 1) << CS_STEP_BITS;
	node->shared_slot = CS_SLOT_SMALL;
	for (int pattern = 0; pattern < CS_PUT_PATTERNS; pattern++) {
		for (enum cs_put_kind kind = 0; kind < CS_PUT_RESULTS; kind++)
			cs_put_init(&node->puts[kind][pattern], shape->streams, kind, shape->slots * shape->slot_bytes);
		for (int size = 0; size < CS_REACH_SIZES; size++)
			cs_put_init(&node->results[pattern][size], shape->streams, CS_PUT_RESULTS, RESULTS_SETTLE);
	}
}

/* What others try to read here. Not the pid: of another namespace it may be the reader's own, which has the word at the same
 * address if addresses are not random. */
static _Atomic uint64_t *
word_to_read(void)
{
	static _Atomic uint64_t word; /* threads make teams at the same time */
	uint64_t none = 0, drawn[2];
	if (!atomic_load(&word)) {
		cs_segment_draw(drawn);
		atomic_compare_exchange_strong(&word, &none, drawn[0] | 1);
	}
	return &word;
}

void
cs_node_arm(struct cs_node *node)
{
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	/* A former team may have left its numbers. What small slots hold means nothing before a line says so, and their pages come
	 * when they are first used. */
	memset(node->self, 0, offsetof(struct cs_rank_head, small));
	memset(&node->self->reach, 0, sizeof *node->self - offsetof(struct cs_rank_head, reach));
	atomic_store(&node->self->done, node->done_floor);
	if (node->shape.local == 0)
		atomic_store(&node->head->has_told, 0);
	for (size_t slot = 0; node->shape.local == 0 && slot < node->shape.area_slots; slot++)
		memset(cs_node_area_flags(node, node->areas[CS_AREA_LARGE_SLOTS].base + slot * area_stride(&node->shape)), 0,
		       CS_AREA_FLAGS * sizeof(uint64_t));
	if (sched_getaffinity(0, sizeof cpus, &cpus) == 0)
		for (size_t cpu = 0; cpu < 1024 && cpu < CPU_SETSIZE; cpu++)
			if (CPU_ISSET(cpu, &cpus))
				node->self->cpus[cpu / 64] |= 1ull << (cpu % 64);
	node->only_cpu = -1;
	for (size_t cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&cpus) == 1; cpu++)
		if (CPU_ISSET(cpu, &cpus))
			node->only_cpu = (int64_t)cpu;
	node->self->only_cpu = node->only_cpu;
	node->self->pid = getpid();
	node->self->probe = (uint64_t)(uintptr_t)word_to_read();
	node->self->probe_holds = atomic_load(word_to_read());
}

bool
cs_node_probe_cma(struct cs_node *node)
{
	for (int local = 0; local < node->shape.size; local++) {
		const struct cs_rank_head *head = cs_node_rank(node, local);
		uint64_t word = 0;
		if (local != node->shape.local &&
		    (!cs_cma_read((pid_t)head->pid, &word, head->probe, sizeof word) || word != head->probe_holds))
			return false;
	}
	return true;
}

bool
cs_node_agree(struct cs_node *node, bool is_so)
{
	struct cs_node_op op;
	cs_node_op_init(&op, node, 0); /* no call of the program's */
	cs_node_begin(&op);
	struct cs_line *line = cs_node_line(&op);
	cs_line_say(&op, line, is_so);
	cs_node_publish(&op, line, 1);
	for (int local = 0; local < node->shape.size; local++)
		if (local != node->shape.local && !cs_line_bytes(cs_node_await(&op, local, 1)))
			is_so = false;
	cs_node_end(&op);
	return is_so;
}

bool
cs_node_may_go_on(const struct cs_node *node)
{
	return node->calls < CS_MOST_CALLS / 2 && !atomic_load(&node->head->has_told);
}

void
cs_node_too_many(struct cs_node_op *op, uint64_t rounds)
{
	struct cs_node *node = op->node;
	cs_warn_local("a block of this call would take %llu rounds of pieces, more than can be told apart; ending the job. "
		      "Larger slots (slot_bytes, area_bytes) or the MPI's own collective serve it",
		      (unsigned long long)rounds);
	node->host->abort("too many rounds");
}

/* --- help ----------------------------------------------------------------------------------------------------------
 *
 * A single copy may be refused in mid-run. Loads and stores of the program's own would be served where the kernel's are not: by
 * its handler of SIGSEGV, which takes the protection off (garbage collectors, checkpoints). An owner has touched what it offers,
 * but the reader's result may be protected, or another thread protect the owner's memory again. Or a process may no longer be
 * looked into (seteuid, PR_SET_DUMPABLE).
 *
 *   the reader's own memory is at fault   it reads into its room for help, and copies from there
 *   the owner's is                        it asks the owner, which copies into that room
 *
 * The owner waits until all are done with the call, in one of the waits below, and these look for pleas; so does a reader's own
 * wait for an answer, so that two may ask each other. Nobody waits for an owner that is elsewhere: what is read directly is
 * offered on one node only, where no rank of the call is in the host's collectives. */

#define SHY_AT_FIRST 64 /* calls for which an owner offers nothing once it was asked, doubled each time, up to: */
#define SHY_AT_MOST 16384

static char *
room_for_help(struct cs_node *node, int local)
{
	return node->ranks + (size_t)(local + 1) * node->rank_stride - CS_HELP;
}

static void
ask(struct cs_node_op *op, int local, uint64_t address, size_t bytes)
{
	struct cs_node *node = op->node;
	struct cs_plea *plea = &node->self->plea;
	uint64_t last = atomic_load_explicit(&plea->asked, memory_order_relaxed) >> CS_PLEA_BITS;
	uint64_t number = (last + 1) << CS_PLEA_BITS | (uint64_t)local;
	atomic_store_explicit(&plea->address, address, memory_order_relaxed);
	atomic_store_explicit(&plea->bytes, bytes, memory_order_relaxed);
	atomic_store_explicit(&plea->asked, number, memory_order_release);
	atomic_fetch_add(&node->head->pleas, 1);
	cs_node_wait(op, local, &plea->answered, number);
	atomic_fetch_sub(&node->head->pleas, 1);
}

/* Piece by piece, in one of the other ways. What comes directly in between does so: a handler may have taken the protection off all
 * of the memory. */
static __attribute__((noinline)) void
read_otherwise(struct cs_node_op *op, int local, char *to, uint64_t remote, size_t bytes)
{
	struct cs_node *node = op->node;
	static _Atomic uint64_t refused;
	pid_t pid = (pid_t)cs_node_rank(node, local)->pid;
	char *room = room_for_help(node, node->shape.local);
	bool is_fault = errno == EFAULT; /* else no try is worth it */
	if (!atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed))
		cs_info("reading %zu bytes of process %d was refused (%m); they are copied through shared memory", bytes, (int)pid);
	cs_report_number("single copies refused", atomic_load_explicit(&refused, memory_order_relaxed));
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

void
cs_node_read(struct cs_node_op *op, int local, void *to, uint64_t remote, size_t bytes)
{
	struct cs_node *node = op->node;
	int saved = errno;
	size_t got = cs_cma_get((pid_t)cs_node_rank(node, local)->pid, to, remote, bytes);
	if (got < bytes)
		read_otherwise(op, local, (char *)to + got, remote + got, bytes - got);
	errno = saved;
}

/* Loads a byte of each page. What the program has protected is free then, and what its handler fills on the way (taking the
 * protection off first, as one may who has no other thread) is all there before others read it; they would get a page half made,
 * and not be refused. Not the same byte of each page: these share a set of the cache. */
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
	if (node->calls + 1 < node->shy_until || !cs_reach_may_read(&node->readable, memory, bytes))
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
		cs_reach_note(op->timed.pace, op->timed.bytes, cs_clock_ns() - op->timed.start);
	op->extras &= ~(unsigned)CS_NODE_EXTRAS;
}

/* Others cannot read our memory: it goes through shared memory for some time. What is known of it need not hold. */
static void
be_shy(struct cs_node *node)
{
	if (node->shy_until > node->calls)
		return;
	node->shy_for = !node->shy_for ? SHY_AT_FIRST : node->shy_for < SHY_AT_MOST ? 2 * node->shy_for : SHY_AT_MOST;
	node->shy_until = node->calls + 1 + node->shy_for;
	memset(&node->readable, 0, sizeof node->readable);
}

static bool
is_offered(const struct cs_node *node, uint64_t address, uint64_t bytes)
{
	for (const struct cs_node_op *op = node->offering; op; op = op->next_offering)
		if (address >= op->offer.from && address <= op->offer.to && bytes <= op->offer.to - address)
			return true;
	return false;
}

/* By loads of our own. What we have not offered nobody gets; only a wrong program's ranks differ in it. */
static void
give(struct cs_node *node, int local, const struct cs_plea *plea)
{
	uint64_t address = atomic_load_explicit(&plea->address, memory_order_relaxed);
	uint64_t bytes = atomic_load_explicit(&plea->bytes, memory_order_relaxed);
	if (bytes <= CS_HELP && is_offered(node, address, bytes))
		memcpy(room_for_help(node, local), (const void *)(uintptr_t)address, bytes);
	be_shy(node);
}

/* Whatever others ask of us just now; returns whether anybody did. */
static __attribute__((noinline)) bool
help(struct cs_node *node)
{
	bool has_helped = false;
	for (int local = 0; local < node->shape.size; local++) {
		struct cs_plea *plea = &cs_node_rank(node, local)->plea;
		uint64_t asked = atomic_load_explicit(&plea->asked, memory_order_acquire);
		bool is_ours = local != node->shape.local &&
			       asked % (1 << CS_PLEA_BITS) == (uint64_t)node->shape.local;
		if (!is_ours || asked == atomic_load_explicit(&plea->answered, memory_order_relaxed))
			continue;
		give(node, local, plea);
		cs_node_store(node, &plea->answered, asked);
		has_helped = true;
	}
	return has_helped;
}

/* As the local ranks from `first` to `last` say it, in the mean; 0: none has yet. */
static uint64_t
pace_of(struct cs_node *node, unsigned pattern, int size, enum cs_reach_way way, int first, int last)
{
	uint64_t sum = 0, count = 0;
	for (int local = first; local <= last; local++) {
		uint64_t pace = atomic_load_explicit(&cs_node_rank(node, local)->reach.pace[pattern][size][way],
						     memory_order_relaxed);
		sum += pace;
		count += pace != 0;
	}
	return count ? sum / count : 0;
}

/* Local rank 0: what all are to do in this call. */
static unsigned
decide_for_all(struct cs_node *node, unsigned pattern, int size)
{
	struct cs_reach *reach = &node->reach[pattern][size];
	int last = node->shape.size - 1;
	reach->trial = CS_REACH_CALLS;
	if (cs_reach_is_on_trial(reach))
		cs_reach_judge(reach, pace_of(node, pattern, size, CS_REACH_STAGED, 0, last),
			       pace_of(node, pattern, size, CS_REACH_DIRECT, 0, last));
	unsigned way = cs_reach_next(reach);
	return cs_reach_is_timed(reach) ? way | CS_REACH_TIMED : way;
}

bool
cs_node_reach_by_calls(struct cs_node_op *op, unsigned pattern, size_t bytes)
{
	struct cs_node *node = op->node;
	int size = cs_reach_size(bytes);
	_Atomic uint8_t *said = &cs_node_rank(node, 0)->reach.way[pattern][size];
	unsigned way = atomic_load_explicit(said, memory_order_relaxed);
	if (node->shape.local == 0) {
		unsigned before = way;
		way = decide_for_all(node, pattern, size);
		if (way != before)
			atomic_store_explicit(said, (uint8_t)way, memory_order_relaxed);
	}
	bool is_direct = way & CS_REACH_DIRECT;
	if (way & CS_REACH_TIMED) {
		op->extras |= CS_NODE_TIMED;
		op->timed = (struct cs_timed){ &node->self->reach.pace[pattern][size][is_direct], bytes, cs_clock_ns() };
	}
	return is_direct;
}

bool
cs_node_reach_by_copies(struct cs_node_op *op, unsigned pattern, size_t bytes, const struct cs_reach_cost *cost)
{
	struct cs_node *node = op->node;
	int size = cs_reach_size(bytes);
	struct cs_reach *reach = &node->reach[pattern][size];
	reach->trial = CS_REACH_COPIES;
	int first = cost->reader < 0 ? 0 : cost->reader, last = cost->reader < 0 ? node->shape.size - 1 : cost->reader;
	if (cs_reach_is_on_trial(reach)) {
		const struct cs_put *put = &node->puts[CS_PUT_LONG_ONES][pattern];
		uint64_t puts = cost->puts * put->pace[put->way];
		uint64_t gets = cost->gets * pace_of(node, pattern, size, CS_REACH_STAGED, first, last);
		uint64_t reads = cost->gets * pace_of(node, pattern, size, CS_REACH_DIRECT, first, last);
		uint64_t larger = puts > gets ? puts : gets;
		cs_reach_judge(reach, !gets ? 0 : cost->is_side_by_side ? larger : puts + gets, reads);
	}
	return cs_reach_next(reach) == CS_REACH_DIRECT;
}

void
cs_node_get_direct(struct cs_node_op *op, unsigned pattern, int local, void *to, uint64_t remote, size_t bytes)
{
	struct cs_node *node = op->node;
	uint64_t start = cs_clock_ns();
	cs_node_read(op, local, to, remote, bytes);
	if (bytes >= CS_REACH_LEAST)
		cs_reach_note(&node->self->reach.pace[pattern][cs_reach_size(bytes)][CS_REACH_DIRECT], bytes,
			      cs_clock_ns() - start);
}

void
cs_node_get_staged(struct cs_node_op *op, unsigned pattern, size_t block, void *to, const void *from, size_t bytes)
{
	struct cs_node *node = op->node;
	if (!bytes)
		return;
	if (bytes < CS_REACH_LEAST || (bytes < SHORT_GET && ++node->short_gets < SHORT_MEASURED)) {
		memcpy(to, from, bytes);
		return;
	}
	node->short_gets = bytes < SHORT_GET ? 0 : node->short_gets;
	uint64_t start = cs_clock_ns();
	if (bytes < CS_PUT_LONG)
		memcpy(to, from, bytes);
	else
		cs_put_large(&node->results[pattern][cs_reach_size(block)], to, from, bytes);
	cs_reach_note(&node->self->reach.pace[pattern][cs_reach_size(block)][CS_REACH_STAGED], bytes, cs_clock_ns() - start);
}

/* Has `local` the same one core? */
static bool
is_near(struct cs_node *node, int local)
{
	return node->only_cpu >= 0 && node->only_cpu == cs_node_rank(node, local)->only_cpu;
}

void
cs_node_meet(struct cs_node *node)
{
	uint64_t all[16] = { 0 };
	int cores = 0;
	for (int local = 0; local < node->shape.size; local++)
		for (int word = 0; word < 16; word++)
			all[word] |= cs_node_rank(node, local)->cpus[word];
	for (int word = 0; word < 16; word++)
		cores += __builtin_popcountll(all[word]);
	node->is_crowded = cores && cores < node->shape.size;
	for (int local = 0; local < node->shape.size; local++)
		if (local != node->shape.local && is_near(node, local) && node->nears < CS_MAX_NEAR)
			node->near[node->nears++] = local;
}

/* The low half, which changes with every publication, is all that a futex looks at. */
static uint32_t *
futex_of(_Atomic uint64_t *word)
{
	return (uint32_t *)word + (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static void
sleep_on(struct cs_node_op *op, _Atomic uint64_t *word, uint64_t target)
{
	struct cs_node *node = op->node;
	uint64_t seen = atomic_load_explicit(word, memory_order_acquire);
	if (seen >= target)
		return;
	const struct timespec limit = { .tv_nsec = 1000000 };
	atomic_fetch_add(&node->head->sleepers, 1);
	syscall(SYS_futex, futex_of(word), FUTEX_WAIT, (uint32_t)seen, &limit, NULL, 0);
	atomic_fetch_sub(&node->head->sleepers, 1);
}

void
cs_node_wake(_Atomic uint64_t *word)
{
	syscall(SYS_futex, futex_of(word), FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool
poll_for(size_t polls, _Atomic uint64_t *word, uint64_t target)
{
	for (size_t poll = 0; poll < polls; poll++) {
		if (atomic_load_explicit(word, memory_order_acquire) >= target)
			return true;
		if (poll >= POLLS_AT_ONCE)
			cs_cpu_pause();
	}
	return atomic_load_explicit(word, memory_order_acquire) >= target;
}

static struct cs_line *
line_of(struct cs_node_op *op, int local)
{
	struct cs_node *node = op->node;
	return &cs_node_rank(node, local)->lines[op->number % CS_LINES];
}

/* Is `word` the line of a rank that will not publish step `target` of this call: because it makes another one, or has left? Of the
 * other call *sign is the sign, or 0 where nothing tells. What it has published before it left is seen once that is. */
static bool
is_in_vain(struct cs_node_op *op, int local, const _Atomic uint64_t *word, uint64_t target, uint64_t *sign)
{
	struct cs_node *node = op->node;
	const struct cs_rank_head *head = cs_node_rank(node, local);
	const struct cs_line *line = line_of(op, local);
	*sign = 0;
	if (word != &line->seq)
		return false;
	uint64_t waits = atomic_load_explicit(&head->waits, memory_order_acquire);
	uint64_t done = atomic_load_explicit(&head->done, memory_order_acquire);
	uint64_t seq = atomic_load_explicit(&line->seq, memory_order_acquire);
	if (seq >= target)
		return false;
	if (seq >> CS_STEP_BITS == op->number)
		*sign = line->said >> CS_SIGN_SHIFT;
	else if (waits >> 16 == op->number)
		*sign = waits & 0xffff;
	if (*sign && *sign != op->sign >> CS_SIGN_SHIFT)
		return true;
	*sign = 0;
	return waits >> 16 > op->number || done >= (op->number + 1) << CS_STEP_BITS;
}

/* Yields, and sleeps in the end. Keeps errno: a sleep may end as ETIMEDOUT, and the program sees nothing of it. */
static void
yield_for(struct cs_node_op *op, int local, _Atomic uint64_t *word, uint64_t target)
{
	struct cs_node *node = op->node;
	int saved = errno;
	uint64_t sign;
	atomic_store_explicit(&node->self->waits, op->number << 16 | op->sign >> CS_SIGN_SHIFT, memory_order_release);
	for (size_t turn = 0; atomic_load_explicit(word, memory_order_acquire) < target; turn++) {
		/* Who asks for one piece will ask for the next one soon. */
		if (atomic_load_explicit(&node->head->pleas, memory_order_acquire) && help(node))
			turn = 0;
		if (turn % 8 == 0 && is_in_vain(op, local, word, target, &sign))
			break;
		/* The rank we wait for may itself need a message that our MPI still holds (seed 000, 6.6). */
		if (turn % 16 == 15 || turn >= node->shape.yields)
			node->host->progress();
		if (turn < node->shape.yields)
			sched_yield();
		else
			sleep_on(op, word, target);
	}
	errno = saved;
}

/* Each poll on a crowded node steals the time of the rank that is waited for. */
static size_t
polls_of(struct cs_node *node, int local)
{
	if (is_near(node, local))
		return 0;
	return node->is_crowded ? node->shape.spin / 4 : node->shape.spin;
}

void
cs_node_wait_slow(struct cs_node_op *op, int local, _Atomic uint64_t *word, uint64_t target)
{
	struct cs_node *node = op->node;
	if (!poll_for(polls_of(node, local), word, target))
		yield_for(op, local, word, target);
}

static bool
has_published(struct cs_node_op *op, int local, uint64_t target)
{
	return atomic_load_explicit(&line_of(op, local)->seq, memory_order_acquire) >= target;
}

/* Have all with this core published the step, too? */
static bool
are_near_there(struct cs_node_op *op, uint64_t target)
{
	struct cs_node *node = op->node;
	for (int i = 0; i < node->nears; i++)
		if (!has_published(op, node->near[i], target))
			return false;
	return true;
}

static void
await_line(struct cs_node_op *op, int local, uint64_t target)
{
	struct cs_node *node = op->node;
	_Atomic uint64_t *word = &line_of(op, local)->seq;
	bool all_come = node->shape.area_slots == 0 && has_published(op, node->shape.local, target);
	if (!node->nears || !all_come || is_near(node, local)) {
		cs_node_wait_slow(op, local, word, target);
		return;
	}
	/* The core is the near ones' until they have come to this step, too; then nobody wants it. (With several nodes one of
	 * them may drive the wire.) */
	for (int turn = 0; turn < NEAR_TURNS && !are_near_there(op, target); turn++) {
		sched_yield();
		if (atomic_load_explicit(word, memory_order_acquire) >= target)
			return;
	}
	if (!poll_for(node->shape.spin / 2, word, target))
		yield_for(op, local, word, target);
}

static int
rank_of(const struct cs_node *node, int local)
{
	return node->rank_of ? node->rank_of[local] : local;
}

/* "MPI_Bcast with root 1"; of a reduction the number behind the collective tells nobody anything. */
static void
name_call(char *to, size_t room, uint64_t sign)
{
	enum cs_coll coll = cs_call_coll(sign);
	if (coll >= CS_COLL_COUNT) {
		snprintf(to, room, "another call");
		return;
	}
	const struct cs_coll_info *info = &cs_colls[coll];
	int end = snprintf(to, room, "MPI_%c%s", info->name[0] - 'a' + 'A', info->name + 1);
	if (info->rooted && !info->reduces)
		snprintf(to + end, room - (size_t)end, " with root %d", (int)(sign & CS_SIGN_DETAIL));
}

static void
say_wrong(struct cs_node_op *op, int local, uint64_t sign, uint64_t theirs, uint64_t ours)
{
	struct cs_node *node = op->node;
	char other[64], own[64];
	const char *end = node->nodes > 1 ? "; ending the job" : "";
	int all = node->all_ranks, they = rank_of(node, local), we = rank_of(node, node->shape.local);
	name_call(other, sizeof other, sign);
	name_call(own, sizeof own, op->sign >> CS_SIGN_SHIFT);
	if (!sign)
		cs_warn_local("collectives do not match (communicator of %d ranks): rank %d has left a call in which rank %d is in "
			      "%s and waits for it%s", all, they, we, own, end);
	else if (theirs != ours)
		cs_warn_local("collectives do not match (communicator of %d ranks): rank %d has %llu bytes in %s, rank %d "
			      "has %llu%s", all, they, (unsigned long long)theirs, other, we, (unsigned long long)ours, end);
	else if (!strcmp(other, own))
		cs_warn_local("collectives do not match (communicator of %d ranks): rank %d and rank %d are in %s with different "
			      "operations, roots or sizes of elements%s", all, they, we, own, end);
	else
		cs_warn_local("collectives do not match (communicator of %d ranks): rank %d is in %s, rank %d in %s%s", all, they,
			      other, we, own, end);
}

/* One rank says it for all of the node; the others go on when it is said, since an error handler may end the job. */
static void
tell(struct cs_node_op *op, int local, uint64_t sign, uint64_t theirs, uint64_t ours)
{
	struct cs_node *node = op->node;
	enum { TELLING = 1, TOLD = 2, TURNS = 10000 };
	_Atomic uint32_t *told = &node->head->has_told;
	uint32_t none = 0;
	int saved = errno;
	if (node->nodes > 1 || atomic_compare_exchange_strong(told, &none, TELLING)) {
		say_wrong(op, local, sign, theirs, ours);
		cs_log_drain();
		atomic_store(told, TOLD);
	}
	for (int turn = 0; turn < TURNS && atomic_load(told) != TOLD; turn++)
		sched_yield();
	errno = saved;
}

/* From here on this call waits for nothing. No sign is the call's any more, the own lines' neither, so that who goes by what this
 * rank makes of lines without data hears of it; but where sizes differ: all see that for themselves, and whose is larger. */
static const struct cs_line *
go_wrong(struct cs_node_op *op, int local, uint64_t sign, uint64_t theirs, uint64_t ours)
{
	struct cs_node *node = op->node;
	static const struct cs_line nothing;
	struct cs_line *own = line_of(op, node->shape.local);
	if (op->wrong >= CS_WRONG_CALL)
		return &nothing;
	op->wrong = theirs > ours ? CS_WRONG_MORE : CS_WRONG_CALL;
	tell(op, local, sign, theirs, ours);
	if (node->nodes > 1)
		node->host->abort("collectives do not match");
	if (theirs != ours)
		return &nothing;
	op->sign |= (uint64_t)CS_SIGN_DETAIL << CS_SIGN_SHIFT;
	if (atomic_load_explicit(&own->seq, memory_order_relaxed) >> CS_STEP_BITS == op->number)
		own->said = op->sign;
	return &nothing;
}

/* Somebody whose line of this call is another one's; else `local`. */
static int
find_other(struct cs_node_op *op, int local, uint64_t *sign)
{
	struct cs_node *node = op->node;
	for (int other = 0; other < node->shape.size; other++) {
		const struct cs_line *line = line_of(op, other);
		if (atomic_load_explicit(&line->seq, memory_order_acquire) >> CS_STEP_BITS != op->number ||
		    !((line->said ^ op->sign) >> CS_SIGN_SHIFT))
			continue;
		*sign = line->said >> CS_SIGN_SHIFT;
		return other;
	}
	return local;
}

const struct cs_line *
cs_node_await_slow(struct cs_node_op *op, int local, uint64_t step)
{
	const struct cs_line *line = line_of(op, local);
	uint64_t target = cs_node_tag(op, step), sign;
	if (op->wrong < CS_WRONG_CALL && !has_published(op, local, target))
		await_line(op, local, target);
	if (op->wrong < CS_WRONG_CALL && has_published(op, local, target)) {
		sign = line->said >> CS_SIGN_SHIFT;
		if (sign == op->sign >> CS_SIGN_SHIFT)
			return line;
	} else if (is_in_vain(op, local, &line->seq, target, &sign) && !sign) {
		local = find_other(op, local, &sign);
	}
	return go_wrong(op, local, sign, 0, 0);
}

const struct cs_line *
cs_node_unlike(struct cs_node_op *op, int local, const struct cs_line *line)
{
	return go_wrong(op, local, line->said >> CS_SIGN_SHIFT, cs_line_bytes(line),
			op->sign & (((uint64_t)1 << CS_SIGN_SHIFT) - 1));
}

static _Noreturn void
end_of_calls(struct cs_node_op *op)
{
	struct cs_node *node = op->node;
	cs_warn_local("a communicator has made %llu collective calls, and more cannot be told apart; ending the job",
		      (unsigned long long)(op->number - CS_LINES));
	node->host->abort("too many calls");
}

void
cs_node_all_done_slow(struct cs_node_op *op, uint64_t tag)
{
	struct cs_node *node = op->node;
	if (__builtin_expect(op->number >= CS_MOST_CALLS, 0))
		end_of_calls(op);
	uint64_t floor = UINT64_MAX;
	/* What this call has put into slots is worth nothing any more. */
	if (op->wrong >= CS_WRONG_CALL && tag >> CS_STEP_BITS == op->number && tag != cs_node_has_read(op->number))
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

bool
cs_node_is_done(struct cs_node_op *op, uint64_t tag)
{
	struct cs_node *node = op->node;
	if (node->done_floor >= tag)
		return true;
	uint64_t floor = UINT64_MAX;
	for (int local = 0; local < node->shape.size; local++) {
		if (local == node->shape.local)
			continue;
		uint64_t value = atomic_load_explicit(&cs_node_rank(node, local)->done, memory_order_acquire);
		if (value < floor)
			floor = value;
	}
	node->done_floor = floor;
	return floor >= tag;
}

/* Before the first `bytes` of a slot of ours are used for the first time: maps their pages and has them zeroed, all at once. One
 * by one, as they are written and read, each takes 2 us of every rank; and a kernel maps pages around one that is read only if
 * they have been written. Where it cannot, they come one by one. */
static void
populate(struct cs_node_op *op, uint64_t number, size_t bytes)
{
	struct cs_node *node = op->node;
	size_t done = node->slot_populated[number];
	if (done >= bytes)
		return;
	bytes = round_up(bytes, POPULATED_AT_ONCE);
	bytes = bytes < node->shape.slot_bytes ? bytes : node->shape.slot_bytes;
	uintptr_t slot = (uintptr_t)cs_node_slot_of(op, node->shape.local, number, 0);
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), from = (slot + done) / page * page;
	int saved = errno;
	madvise((void *)from, slot + bytes - from, MADV_POPULATE_WRITE);
	errno = saved;
	node->slot_populated[number] = bytes;
}

/* Takes the next slot, `bytes` of which will be used. False: it is in use, and that was not to be waited for. */
static bool
take_slot(struct cs_node_op *op, uint64_t step, bool may_wait, size_t bytes)
{
	struct cs_node *node = op->node;
	uint64_t number = node->slot_next % node->shape.slots;
	uint64_t tag = node->slot_until[number];
	if (number == node->shared_slot)
		node->shared_slot = CS_SLOT_SMALL; /* taken whole now: no more pieces from it */
	if (node->done_floor < tag) {
		if (!may_wait && !cs_node_is_done(op, tag))
			return false;
		if (may_wait)
			cs_node_all_done_slow(op, tag);
	}
	populate(op, number, bytes);
	node->slot_until[number] = cs_node_tag(op, step);
	node->slot_next++;
	return true;
}

void *
cs_node_slot(struct cs_node_op *op, uint64_t step, bool may_wait)
{
	struct cs_node *node = op->node;
	uint64_t number = cs_node_slot_number(op);
	if (!take_slot(op, step, may_wait, node->shape.slot_bytes))
		return NULL;
	return cs_node_slot_of(op, node->shape.local, number, 0);
}

char *
cs_node_cut(struct cs_node_op *op, uint64_t step, size_t bytes, uint64_t *number)
{
	struct cs_node *node = op->node;
	size_t size = round_up(bytes, LINE);
	if (node->shared_slot == CS_SLOT_SMALL || node->shared_used + size > node->shape.slot_bytes) {
		uint64_t slot = cs_node_slot_number(op);
		take_slot(op, step, true, size);
		node->shared_slot = slot;
		node->shared_used = 0;
	}
	populate(op, node->shared_slot, node->shared_used + size);
	/* A slot is free again when its last piece is. */
	node->slot_until[node->shared_slot] = cs_node_tag(op, step);
	*number = node->shared_used * CS_PIECE_UNIT + node->shared_slot;
	char *piece = cs_node_slot_of(op, node->shape.local, *number, 0);
	node->shared_used += size;
	return piece;
}

static enum cs_area_kind
kind_of(size_t bytes)
{
	return bytes <= CS_AREA_SMALL ? CS_AREA_SMALL_SLOTS : CS_AREA_LARGE_SLOTS;
}

static void
wait_for_area(struct cs_node_op *op, enum cs_area_kind kind, uint64_t target)
{
	struct cs_node *node = op->node;
	uint64_t floor = UINT64_MAX;
	for (int local = 0; local < node->shape.size; local++) {
		_Atomic uint64_t *done = &cs_node_rank(node, local)->area_done[kind];
		cs_node_wait(op, local, done, target);
		uint64_t value = atomic_load_explicit(done, memory_order_acquire);
		if (value < floor)
			floor = value;
	}
	node->areas[kind].floor = floor;
}

char *
cs_node_area(struct cs_node_op *op, size_t bytes)
{
	struct cs_node *node = op->node;
	enum cs_area_kind kind = kind_of(bytes);
	struct cs_area *area = &node->areas[kind];
	uint64_t number = area->next++;
	if (number >= area->floor + area->slots)
		wait_for_area(op, kind, number - area->slots + 1);
	return area->base + number % area->slots * area->stride;
}

_Atomic uint64_t *
cs_node_area_flags(const struct cs_node *node, char *area)
{
	return (_Atomic uint64_t *)(void *)(area + round_up(node->shape.area_bytes, CS_APART) + LINE);
}

void
cs_node_area_done(struct cs_node_op *op, size_t bytes, uint64_t count)
{
	struct cs_node *node = op->node;
	_Atomic uint64_t *word = &node->self->area_done[kind_of(bytes)];
	uint64_t done = atomic_load_explicit(word, memory_order_relaxed);
	cs_node_store(node, word, done + count);
}
