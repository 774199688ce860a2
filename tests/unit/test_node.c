/* Two ranks of a node in one process, which make their steps in turn: when memory of one is free
 * again, what a wait leaves as it was, and how an exchange deals with slots and memory. */
#include "unit.h"

#include "algorithms/node/bcast.h"
#include "algorithms/node/rounds.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define RANKS 2
#define SLOT ((size_t)8 << 10)
#define LATER (UINT64_C(4711) << CS_STEP_BITS)

static struct cs_node *waiting; /* whose peer's done word is set after a while */
static struct cs_node_op *late; /* publishes its line after a while */
static int turns;
static struct cs_node_facts given; /* to the next nodes */
static size_t given_area_slots;
static struct cs_node_op ops[2]; /* of both ranks: what the tests take for the call under way */

/* The rank that is waited for goes on while the other one lets the MPI progress. */
static void
progress(void)
{
	errno = EBUSY;
	if (waiting && ++turns == 4)
		atomic_store(&cs_node_rank(waiting, 1)->done, LATER);
	if (late && ++turns == 4)
		cs_node_publish(late, cs_node_line(late), 1);
}

static jmp_buf *ending; /* where an end that a test expects leads */

static void __attribute__((noreturn))
end(const char *why)
{
	if (ending)
		longjmp(*ending, 1);
	fail_msg("the job ended: %s", why);
	abort();
}

static const struct cs_host host = { .progress = progress, .abort = end };

static void
make_with(struct cs_node *nodes, size_t slots, size_t slot_bytes)
{
	struct cs_node_shape shape = { .size = RANKS, .slots = slots, .slot_bytes = slot_bytes,
				       .area_slots = given_area_slots,
				       .area_bytes = given_area_slots * SLOT,
				       .spin = 1, .yields = 2, .facts = given };
	struct cs_segment segments[RANKS] = { { .fd = -1 }, { .fd = -1 } };
	size_t bytes = cs_node_bytes(&shape);
	assert_int_equal(cs_segment_create(&segments[0], bytes, CS_SHM_AUTO), CS_OK);
	assert_int_equal(cs_segment_attach(&segments[1], &segments[0].handle), CS_OK);
	assert_int_equal(cs_segment_commit(&segments[0], CS_SEGMENT_HEADER,
					   bytes - CS_SEGMENT_HEADER, SIZE_MAX), CS_OK);
	for (shape.local = 0; shape.local < RANKS; shape.local++) {
		cs_segment_seal(&segments[shape.local]);
		cs_node_init(&nodes[shape.local], &shape, &segments[shape.local], &host);
		cs_node_init_own(&nodes[shape.local]);
		cs_node_op_init(&ops[shape.local], &nodes[shape.local], 0);
	}
}

static void
make(struct cs_node *nodes, size_t slots)
{
	make_with(nodes, slots, SLOT);
}

static void
clear(struct cs_node *nodes)
{
	for (int local = 0; local < RANKS; local++)
		cs_segment_close(&nodes[local].segment);
}

static void
begin(struct cs_node *nodes)
{
	for (int local = 0; local < RANKS; local++)
		cs_node_begin(&ops[local]);
}

static void
end_both(struct cs_node *nodes)
{
	for (int local = 0; local < RANKS; local++)
		cs_node_end(&ops[local]);
}

/* The slot that a piece was cut from. */
static uint64_t
cut(struct cs_node_op *op)
{
	uint64_t number;
	assert_non_null(cs_node_cut(op, 1, 100, &number));
	return number % CS_PIECE_UNIT;
}

TEST(pieces_are_cut_from_a_slot_until_it_is_taken_whole)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	begin(nodes);
	assert_int_equal(cut(&ops[0]), 0);
	end_both(nodes);
	begin(nodes);
	assert_int_equal(cut(&ops[0]), 0);
	assert_non_null(cs_node_slot(&ops[0], 1, 0, false));
	end_both(nodes);
	begin(nodes);
	/* Slot 0, which the other rank still reads in the next call: */
	assert_non_null(cs_node_slot(&ops[0], 1, 0, false));
	cs_node_end(&ops[0]);
	cs_node_begin(&ops[0]);
	assert_int_equal(cut(&ops[0]), 1);
	clear(nodes);
}

TEST(a_slot_is_free_when_its_last_piece_is)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	begin(nodes);
	cut(&ops[0]);
	end_both(nodes);
	begin(nodes);
	cut(&ops[0]);
	cs_node_end(&ops[0]); /* the other rank reads on */
	cs_node_begin(&ops[0]);
	assert_non_null(cs_node_slot(&ops[0], 1, 0, false));
	assert_null(cs_node_slot(&ops[0], 2, 0, false));
	cs_node_end(&ops[1]);
	assert_non_null(cs_node_slot(&ops[0], 2, 0, false));
	clear(nodes);
}

/* A sleep ends by its time-out, and the MPI's progress may do what it likes: the program sees
 * nothing of it. */
TEST(a_wait_keeps_errno)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	waiting = &nodes[0];
	turns = 0;
	errno = ENOTTY;
	cs_node_wait(&ops[0], 1, &cs_node_rank(&nodes[0], 1)->done, LATER);
	int left = errno;
	waiting = NULL;
	assert_int_equal(left, ENOTTY);
	assert_int_equal(turns, 4);
	clear(nodes);
}

/* All ranks have made so many calls. */
static void
age(struct cs_node *nodes, uint64_t calls)
{
	for (int local = 0; local < RANKS; local++) {
		nodes[local].calls = calls;
		nodes[local].done_floor = (calls + 1) << CS_STEP_BITS;
		atomic_store(&nodes[local].self->done, (calls + 1) << CS_STEP_BITS);
	}
}

/* The other rank has been through a call that has begun here. */
static void
follow(struct cs_node_op *op)
{
	cs_node_begin(op);
	assert_true(atomic_load(&cs_node_await(op, 0, 1)->seq) == cs_node_tag(op, 1));
	cs_node_end(op);
}

/* At one call in a microsecond it comes to the middle of them in 25 days. */
TEST(calls_are_numbered_to_the_end)
{
	const uint64_t middle = UINT64_C(1) << 41;
	const uint64_t from[] = { 0, middle - 100, CS_MOST_CALLS - 300 };
	for (size_t i = 0; i < COUNT(from); i++) {
		struct cs_node nodes[RANKS];
		make(nodes, 2);
		if (from[i])
			age(nodes, from[i]);
		for (int call = 0; call < 299; call++) {
			cs_node_begin(&ops[0]);
			struct cs_line *line = cs_node_line(&ops[0]);
			/* free, and taken for that */
			assert_non_null(cs_node_slot(&ops[0], 1, 0, false));
			cs_node_publish(&ops[0], line, 1);
			assert_false(cs_node_is_done(&ops[0], cs_node_tag(&ops[0], 1)));
			cs_node_end(&ops[0]);
			assert_null(cs_node_look(&ops[0], 1, 1)); /* it publishes nothing */
			follow(&ops[1]);
			assert_true(cs_node_is_done(&ops[0], (ops[0].number + 1) << CS_STEP_BITS));
		}
		clear(nodes);
	}
}

/* The next team's numbers are those that are left. */
TEST(a_node_is_of_no_use_to_another_team_with_less_than_half_of_its_numbers)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	age(nodes, CS_MOST_CALLS / 2 - 1);
	assert_true(cs_node_may_go_on(&nodes[0]));
	begin(nodes);
	assert_false(cs_node_may_go_on(&nodes[0]));
	clear(nodes);
}

/* Numbers that begin again would be taken for old ones. */
TEST(a_job_ends_before_numbers_do)
{
	struct cs_node nodes[RANKS];
	jmp_buf back;
	volatile int calls = 0;
	make(nodes, 2);
	age(nodes, CS_MOST_CALLS - 1);
	if (setjmp(back) == 0) {
		for (ending = &back; calls < 3 * CS_LINES; calls++) {
			begin(nodes);
			cs_node_publish(&ops[0], cs_node_line(&ops[0]), 1);
			end_both(nodes);
		}
	}
	ending = NULL;
	assert_in_range(calls, 1, 3 * CS_LINES - 1);
	clear(nodes);
}

/* --- memory that is read where it is ---------------------------------------------------------- */

#define PAGES 64
static char *guarded; /* PAGES of them, whose protection a fault takes off */
static size_t page;
static _Atomic int faults;

static void
unguard(int number, siginfo_t *info, void *context)
{
	char *at = (char *)info->si_addr;
	if (at < guarded || at >= guarded + PAGES * page)
		_exit(99);
	faults++;
	if (mprotect(guarded + (size_t)(at - guarded) / page * page, page, PROT_READ | PROT_WRITE))
		_exit(98);
}

static void
fill_pages(char *memory)
{
	for (size_t i = 0; i < PAGES * page; i++)
		memory[i] = (char)(i % 251);
}

/* The pages of `guarded`, with what is in them, and a handler. */
static struct sigaction
guard(void)
{
	const struct sigaction action = { .sa_sigaction = unguard, .sa_flags = SA_SIGINFO };
	struct sigaction before;
	page = (size_t)sysconf(_SC_PAGESIZE);
	guarded = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	assert_ptr_not_equal(guarded, MAP_FAILED);
	fill_pages(guarded);
	faults = 0;
	assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
	return before;
}

static void
unguard_all(const struct sigaction *before)
{
	sigaction(SIGSEGV, before, NULL);
	munmap(guarded, PAGES * page);
}

struct reading {
	struct cs_node_op *op;
	char *to;
	uint64_t from;
	size_t bytes;
};

/* A call of the rank that reads. */
static void *
read_in_a_call(void *argument)
{
	const struct reading *reading = argument;
	cs_node_begin(reading->op);
	cs_node_read(reading->op, 0, reading->to, reading->from, reading->bytes);
	cs_node_end(reading->op);
	return NULL;
}

/* A call in which rank 0 offers memory that is then protected, and rank 1 reads it. False: it was
 * not offered. */
static bool
read_protected(struct cs_node *nodes, const char *memory, size_t bytes, struct reading *reading)
{
	pthread_t reader;
	bool is_offered = cs_node_offer(&ops[0], memory, bytes);
	cs_node_begin(&ops[0]);
	assert_int_equal(mprotect(guarded + page, (PAGES - 2) * page, PROT_NONE), 0);
	if (!is_offered)
		reading->bytes = 0;
	assert_int_equal(pthread_create(&reader, NULL, read_in_a_call, reading), 0);
	cs_node_end(&ops[0]);
	cs_node_all_done(&ops[0]);
	pthread_join(reader, NULL);
	cs_node_op_fini(&ops[0]);
	return is_offered;
}

TEST(what_the_owner_s_kernel_refuses_the_owner_gives)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	struct sigaction before = guard();
	char *to = calloc(PAGES, page), *expected = calloc(PAGES, page);
	size_t bytes = PAGES * page - 200;
	fill_pages(expected);
	if (!cs_node_offer(&ops[0], guarded, page))
		leave_out("process_vm_readv is refused here");
	errno = ENOTTY;
	struct reading reading = { &ops[1], to, (uint64_t)(uintptr_t)guarded + 100, bytes };
	assert_true(read_protected(nodes, guarded + 100, bytes, &reading));
	assert_memory_equal(to, expected + 100, bytes);
	assert_true(faults > 0);
	assert_int_equal(atomic_load(&nodes[0].head->copy_requests), 0);
	/* It offers nothing for some time, then does, and is asked, again. */
	for (int round = 0; round < 3; round++) {
		int calls = 0;
		do {
			memset(to, 0, bytes);
			reading.bytes = bytes;
			calls++;
		} while (!read_protected(nodes, guarded + 100, bytes, &reading));
		assert_int_equal(calls, (64 << round) + 1);
		assert_memory_equal(to, expected + 100, bytes);
	}
	free(to);
	free(expected);
	unguard_all(&before);
	clear(nodes);
}

/* By the reader alone. */
TEST(what_the_reader_s_kernel_does_not_write_the_reader_does)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	struct sigaction before = guard();
	char *from = calloc(PAGES, page);
	fill_pages(from);
	if (!cs_node_offer(&ops[0], from, PAGES * page))
		leave_out("process_vm_readv is refused here");
	memset(guarded, 0, PAGES * page);
	assert_int_equal(mprotect(guarded, PAGES * page, PROT_READ), 0);
	errno = ENOTTY;
	struct reading reading = { &ops[1], guarded, (uint64_t)(uintptr_t)from, PAGES * page };
	begin(nodes);
	nodes[1].calls--;
	read_in_a_call(&reading);
	assert_int_equal(errno, ENOTTY);
	assert_memory_equal(guarded, from, PAGES * page);
	assert_int_equal(faults, PAGES);
	assert_int_equal(nodes[0].backoff_until, 0);
	free(from);
	unguard_all(&before);
	clear(nodes);
}

/* What the owner has not offered in this call it does not touch. */
TEST(no_other_memory_is_given)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	struct sigaction before = guard();
	char *to = calloc(PAGES, page);
	if (!cs_node_offer(&ops[0], guarded, page))
		leave_out("process_vm_readv is refused here");
	struct reading reading = { &ops[1], to, (uint64_t)(uintptr_t)guarded + page,
				   PAGES * page / 2 };
	assert_true(read_protected(nodes, guarded, page, &reading));
	assert_int_equal(faults, 0);
	free(to);
	unguard_all(&before);
	clear(nodes);
}

/* What a handler fills in is there before others are told of it. */
TEST(memory_that_is_offered_has_been_touched)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	struct sigaction before = guard();
	assert_int_equal(mprotect(guarded + page, (PAGES - 2) * page, PROT_NONE), 0);
	if (!cs_node_offer(&ops[0], guarded + 1, PAGES * page - 2))
		leave_out("process_vm_readv is refused here");
	assert_int_equal(faults, PAGES - 2);
	unguard_all(&before);
	clear(nodes);
}

/* --- exchanges -------------------------------------------------------------------------------- */

TEST(a_slot_of_several_rounds_is_free_when_the_last_of_them_is_read)
{
	static struct cs_team team; /* it is large */
	struct cs_node nodes[RANKS];
	struct cs_call call = { .coll = CS_BCAST };
	make(nodes, 4);
	team.node = nodes[0];
	struct cs_op op = { .team = &team, .call = call };
	cs_node_op_init(&op.node, &team.node, 0);
	static char block[5 * SLOT / 2];
	for (size_t round = 0; round < 5; round++)
		memset(block + round * SLOT / 2, (int)round + 1, SLOT / 2);
	cs_rounds_init(&op, SLOT / 2, NULL);
	cs_rounds_put_block(&op, block, sizeof block, false, false, true);
	cs_rounds_start(&op, cs_rounds_post_only, 0);
	assert_int_equal(cs_op_step(&op), CS_OK);
	assert_int_equal(team.node.ring.next, 3);
	for (uint64_t slot = 0; slot < 3; slot++)
		assert_int_equal(team.node.ring.until[slot],
				 cs_node_tag(&op.node, slot < 2 ? 2 * slot + 2 : 5));
	for (uint64_t round = 0; round < 5; round++) {
		const char *piece = cs_node_slot_of(&ops[1], 0, round / 2, 0) + round % 2 * SLOT /
				    2;
		assert_int_equal(piece[0], round + 1);
		assert_int_equal(piece[SLOT / 2 - 1], round + 1);
	}
	clear(nodes);
}

/* --- a ring grows ----------------------------------------------------------------------------- */

static size_t
touched(const struct cs_node *node)
{
	size_t bytes = 0;
	for (size_t slot = 0; slot < node->shape.slots; slot++)
		bytes += node->slot_populated[slot];
	return bytes;
}

/* A call of rank 0 that puts `bytes` into the ring, as one piece or as a block of its own. */
static void
put_any_way(size_t bytes, bool is_left)
{
	struct cs_post post = { .way = cs_node_is_cut(&ops[0], bytes) ? CS_POST_PIECE
								      : CS_POST_RING,
				.rounds = 1, .bytes = bytes, .chunk = bytes, .span = bytes };
	cs_node_begin(&ops[0]);
	if (is_left)
		cs_node_go_on(&ops[0]);
	cs_post_reserve(&ops[0], &post, is_left);
	assert_true(cs_post_open(&ops[0], &post));
	char *room = cs_post_room(&ops[0], &post);
	assert_non_null(room);
	memset(room, 1, bytes);
	cs_post_publish(&ops[0], &post);
	cs_node_end(&ops[0]);
	if (is_left)
		cs_node_over(&ops[0]);
}

static void
read_all(void)
{
	while (ops[1].node->calls < ops[0].node->calls) {
		cs_node_begin(&ops[1]);
		cs_node_end(&ops[1]);
	}
}

TEST(a_ring_never_grows_when_readers_keep_up)
{
	struct cs_node nodes[RANKS];
	uint64_t seed = first_seed();
	make_with(nodes, 8, 16 * SLOT);
	put_any_way(16 * SLOT, false);
	read_all();
	for (int call = 0; call < 1000; call++) {
		put_any_way(1 + random_below(&seed, 16 * SLOT), random_below(&seed, 2));
		read_all();
		assert_int_equal(touched(&nodes[0]), 16 * SLOT);
	}
	clear(nodes);
}

/* The ring's front is in use whenever more of it is touched. */
TEST(a_ring_grows_only_when_its_owner_would_wait)
{
	struct cs_node nodes[RANKS];
	uint64_t seed = first_seed(), grown = 0;
	make_with(nodes, 8, 16 * SLOT);
	put_any_way(16 * SLOT, false);
	for (int call = 0; call < 1000; call++) {
		struct cs_slots *ring = &nodes[0].ring;
		size_t before = touched(&nodes[0]);
		uint64_t done = atomic_load(&cs_node_rank(&nodes[0], 1)->done);
		if (ring->until[ring->next % ring->count] > done || random_below(&seed, 3) == 0)
			read_all();
		bool is_front_read = ring->until[0] <=
				     atomic_load(&cs_node_rank(&nodes[0], 1)->done);
		put_any_way(1 + random_below(&seed, 16 * SLOT), random_below(&seed, 2));
		if (touched(&nodes[0]) == before)
			continue;
		assert_false(is_front_read);
		grown++;
	}
	assert_in_range(grown, 1, 1000);
	clear(nodes);
}

/* As long as the reader keeps up, calls go round in the first few; a call that the reader has not
 * begun has its data still. */
TEST(small_slots_are_few_unless_a_reader_is_behind)
{
	struct cs_node nodes[RANKS];
	uint64_t seed = first_seed(), behind = 0;
	make(nodes, 2);
	for (int call = 0; call < 2000; call++) {
		uint64_t apart = call < 500 ? CS_FEW : CS_LINES;
		cs_node_begin(&ops[0]);
		struct cs_line *line = cs_node_line(&ops[0]);
		line->slot = cs_node_small_slot(&ops[0], CS_SMALL);
		memset(cs_node_small(&ops[0], line->slot), (int)(ops[0].number % 251), CS_SMALL);
		cs_node_publish(&ops[0], line, 1);
		cs_node_end(&ops[0]);
		assert_true(call >= 500 || line->slot == CS_SLOT_FEW);
		behind += line->slot == CS_SLOT_SMALL;
		for (uint64_t keep = random_below(&seed, (uint32_t)apart);
		     nodes[1].calls + keep < nodes[0].calls;) {
			cs_node_begin(&ops[1]);
			const struct cs_line *read = cs_node_await(&ops[1], 0, 1);
			const char *data = cs_node_slot_of(&ops[1], 0, read->slot, 0);
			assert_int_equal((unsigned char)data[0], ops[1].number % 251);
			assert_int_equal((unsigned char)data[CS_SMALL - 1], ops[1].number % 251);
			cs_node_end(&ops[1]);
		}
	}
	assert_int_equal(nodes[0].small_mapped, CS_FEW_BIT | (CS_TINY_BIT - 1));
	assert_in_range(behind, 1, 1500);
	clear(nodes);
}

/* Pages of rank 0's ring that there are, as rank 1 has it mapped. */
static size_t
pages_there(struct cs_node *nodes)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE), there = 0;
	uintptr_t from = ((uintptr_t)cs_node_slot_of(&ops[1], 0, 0, 0) + size - 1) / size * size;
	unsigned char is_there[8 * 16 * SLOT / 4096];
	size_t pages = nodes[0].ring.count * nodes[0].shape.slot_bytes / size;
	assert_in_range(pages, 1, sizeof is_there);
	assert_int_equal(mincore((void *)from, pages * size, is_there), 0);
	for (size_t p = 0; p < pages; p++)
		there += is_there[p] & 1;
	return there;
}

/* Whether advice to give shared pages back reaches the kernel: it does not under an emulator. */
static bool
is_advice_taken(void)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	*memory = 1;
	madvise(memory, size, MADV_REMOVE);
	bool is_taken = *memory == 0;
	munmap(memory, size);
	return is_taken;
}

TEST(what_all_have_read_of_a_ring_is_given_back)
{
	if (!is_advice_taken())
		leave_out("advice does not reach the kernel here");
	struct cs_node nodes[RANKS];
	make_with(nodes, 8, 16 * SLOT);
	put_any_way(16 * SLOT, false);
	const char *slot = cs_node_slot_of(&ops[1], 0, 0, 0);
	size_t all = pages_there(nodes);
	assert_in_range(all, 1, SIZE_MAX);
	cs_node_give_back(&nodes[0]);
	assert_int_equal(pages_there(nodes), all); /* rank 1 may still read */
	assert_int_equal(slot[8 * SLOT], 1);
	read_all();
	errno = EBUSY;
	cs_node_give_back(&nodes[0]);
	assert_int_equal(errno, EBUSY);
	assert_int_equal(pages_there(nodes), 0);
	assert_int_equal(touched(&nodes[0]), 0);
	put_any_way(16 * SLOT, false); /* as at first */
	assert_int_equal(touched(&nodes[0]), 16 * SLOT);
	assert_int_equal(slot[8 * SLOT], 1);
	clear(nodes);
}

TEST(small_slots_are_given_back_when_no_call_is_under_way)
{
	if (!is_advice_taken() || sysconf(_SC_PAGESIZE) > 4096)
		leave_out("advice does not reach the kernel here, or no slot fills a page");
	struct cs_node nodes[RANKS];
	make_with(nodes, 8, 16 * SLOT);
	cs_node_begin(&ops[0]);
	char *small = cs_node_small(&ops[0], CS_SLOT_SMALL);
	memset(small, 1, CS_SMALL);
	struct cs_line *line = cs_node_line(&ops[0]);
	cs_node_publish(&ops[0], line, 1);
	read_all();
	assert_int_equal(cs_node_give_back(&nodes[0]), 0); /* this rank is in the call */
	assert_int_equal(small[CS_SMALL - 1], 1);
	cs_node_end(&ops[0]);
	assert_in_range(cs_node_give_back(&nodes[0]), CS_SMALL, SIZE_MAX);
	assert_int_equal(small[CS_SMALL - 1], 0);
	assert_int_equal(cs_node_give_back(&nodes[0]), 0);
	assert_true(line->seq == cs_node_tag(&ops[0], 1)); /* heads stay */
	clear(nodes);
}

/* --- an area grows ---------------------------------------------------------------------------- */

/* Two ranks make the same calls, so many apart at most, with a slot of the area each, whose numbers
 * are alike; none is taken while a rank is not done with it, and none for the first time while half
 * of those before it are free. */
static void
take_areas(uint64_t most_apart, uint64_t *seed)
{
	enum { CALLS = 5000 };
	static uint64_t slot_of[CALLS]; /* plus 1; 0: not taken yet */
	struct cs_node nodes[RANKS];
	uint64_t left[RANKS] = { 0 }, until[CS_MAX_SLOTS] = { 0 }, touched = 0;
	char *slots[RANKS] = { NULL };
	memset(slot_of, 0, sizeof slot_of);
	given_area_slots = 4;
	make(nodes, 2);
	given_area_slots = 0;
	begin(nodes);
	while (left[0] < CALLS - 1 && left[1] < CALLS - 1) {
		int local = (int)random_below(seed, RANKS);
		struct cs_area *area = &nodes[local].areas[CS_AREA_SMALL_SLOTS];
		uint64_t call = left[local], unread = 0,
			 both = left[0] < left[1] ? left[0] : left[1];
		if (call - both >= most_apart)
			continue;
		if (slots[local]) {
			cs_node_area_done(&ops[local], 100, 1);
			cs_node_end(&ops[local]);
			cs_node_begin(&ops[local]);
			slots[local] = NULL;
			left[local]++;
			continue;
		}
		if (!(slots[local] = cs_node_try_area(&ops[local], 100)))
			continue;
		uint64_t number = (uint64_t)(slots[local] - area->base) / area->stride;
		if (slot_of[call]) {
			assert_int_equal(slot_of[call], number + 1);
			continue;
		}
		slot_of[call] = number + 1;
		assert_true(until[number] <= both);
		for (uint64_t k = 0; k < (touched + 1) / 2; k++)
			unread += until[k] > both;
		assert_true(number < touched || !touched || unread);
		touched = number < touched ? touched : number + 1;
		until[number] = call + 1;
	}
	assert_in_range(touched, 1, 2 * most_apart);
	clear(nodes);
}

TEST(an_area_grows_only_when_a_rank_would_wait)
{
	uint64_t seed = first_seed();
	for (uint64_t most_apart = 1; most_apart <= 64; most_apart *= 2)
		take_areas(most_apart, &seed);
}

/* All pieces of a round fit, and no block has less than its share. */
TEST(a_fair_window_fits)
{
	uint64_t seed = first_seed(), random = seed;
	for (int turn = 0; turn < 20000; turn++) {
		size_t sizes[8], room = 8 * 64 + 64 * random_below(&random, 40);
		int ranks = 1 + (int)random_below(&random, 8);
		for (int rank = 0; rank < ranks; rank++)
			sizes[rank] = 64 * random_below(&random, 30);
		size_t at = 64 * random_below(&random, 4),
		       most = cs_chunks_fair(sizes, ranks, at, room), sum = 0;
		for (int rank = 0; rank < ranks; rank++)
			sum += cs_chunks_part_bytes(sizes[rank],
						    (struct cs_chunks_part){ at, most });
		if (sum > room || most < cs_chunks_per_part(room, (size_t)ranks))
			fail_msg("seed %llu, turn %d: %d ranks, %zu bytes of %zu, at most %zu",
				 (unsigned long long)seed, turn, ranks, sum, room, most);
	}
}

/* Blocks may lie in any order. */
TEST(each_block_is_tried_where_one_lies_before_another)
{
	static struct cs_team team;
	page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	assert_ptr_not_equal(memory, MAP_FAILED);
	const size_t sizes[] = { page, page + 1 }, at[] = { 3 * page, page };
	const struct cs_blocks blocks = { .base = memory, .bytes = sizes, .at = at };
	team.shape.ranks = 2;
	struct cs_op op = { .team = &team };
	cs_node_op_init(&op.node, &team.node, 0);
	if (!cs_copies_offer(&op, &blocks))
		leave_out("process_vm_readv is refused here");
	memset(&team.node.readable, 0, sizeof team.node.readable);
	assert_int_equal(mprotect(memory + page, page, PROT_NONE), 0);
	cs_node_op_fini(&op.node);
	assert_false(cs_copies_offer(&op, &blocks));
	munmap(memory, 4 * page);
}

/* --- a team's memory -------------------------------------------------------------------------- */

TEST(large_memory_is_given_back_after_the_call)
{
	static struct cs_team team;
	struct cs_op_memory *idle = NULL;
	struct cs_op op = { 0 };
	team.idle = &idle;
	for (enum cs_op_use large = 0; large < CS_OP_USES; large++) {
		void *before[CS_OP_USES];
		cs_op_join(&op, &team, 0);
		for (enum cs_op_use use = 0; use < CS_OP_USES; use++)
			before[use] = cs_op_memory(&op, use, (use == large ? 40 : 1) << 20);
		struct cs_op_memory *memory = op.memory;
		cs_op_fini(&op);
		assert_int_equal(op.node.extras, 0);
		/* The next operation has the rest of it. */
		for (enum cs_op_use use = 0; use < CS_OP_USES; use++) {
			void *again = cs_op_memory(&op, use, 1);
			assert_true(use == large || again == before[use]);
		}
		assert_ptr_equal(op.memory, memory);
		cs_op_fini(&op);
	}
	cs_op_memory_free(&idle);
}

/* Two that are under way share none. */
TEST(each_operation_has_memory_of_its_own)
{
	static struct cs_team team;
	struct cs_op_memory *idle = NULL;
	struct cs_op first = { 0 }, second = { 0 };
	team.idle = &idle;
	cs_op_join(&first, &team, 0);
	cs_op_join(&second, &team, 0);
	char *one = cs_op_memory(&first, CS_OP_COPY, 100),
	     *other = cs_op_memory(&second, CS_OP_COPY, 100);
	assert_ptr_not_equal(one, other);
	cs_op_fini(&first);
	assert_ptr_equal(cs_op_memory(&second, CS_OP_COPY, 90), other);
	cs_op_join(&first, &team, 0);
	assert_ptr_equal(cs_op_memory(&first, CS_OP_COPY, 100), one);
	cs_op_fini(&second);
	cs_op_fini(&first);
	cs_op_memory_free(&idle);
}

/* --- ranks that make different calls ---------------------------------------------------------- */

/* What rank 0 gets of rank 1's line, as far as it goes wrong. */
static unsigned
await(struct cs_node *nodes, const struct cs_line *line)
{
	const char *small = cs_node_rank(&nodes[0], 1)->small[0];
	bool has_line = line == &cs_node_rank(&nodes[0], 1)->lines[ops[0].number % CS_LINES];
	assert_true(has_line == !ops[0].outcome.bits);
	if (!has_line) {
		assert_int_equal(cs_line_bytes(line), 0);
		assert_int_equal(line->word[0], CS_POST_RING);
		assert_true(cs_node_slot_of(&ops[0], 1, line->slot, 3) > small);
	}
	return ops[0].outcome.bits;
}

TEST(a_line_of_another_call_has_no_data_and_ends_all_waiting_in_this_one)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	begin(nodes);
	ops[0].signature = cs_call_signature(CS_BCAST, 1);
	ops[1].signature = cs_call_signature(CS_BCAST, 0);
	struct cs_line *line = cs_node_line(&ops[1]);
	cs_line_say(&ops[1], line, 100);
	cs_node_publish(&ops[1], line, 1);
	assert_true(cs_node_may_go_on(&nodes[0]));
	assert_int_equal(await(nodes, cs_node_await(&ops[0], 1, 1)), CS_OUTCOME_MISMATCH);
	assert_false(cs_node_may_go_on(&nodes[0])); /* another team has mistakes of its own */
	assert_int_equal(await(nodes, cs_node_await(&ops[0], 1, 100)), CS_OUTCOME_MISMATCH);
	assert_non_null(cs_node_look(&ops[0], 1, 1));
	/* Slots of this call are free at once, those of others are not. */
	assert_non_null(cs_node_slot(&ops[0], 1, 0, true));
	assert_non_null(cs_node_slot(&ops[0], 2, 0, true));
	assert_non_null(cs_node_slot(&ops[0], 3, 0, true));
	end_both(nodes);

	cs_node_op_init(&ops[0], &nodes[0], ops[1].signature);
	begin(nodes);
	cs_node_publish(&ops[1], cs_node_line(&ops[1]), 1);
	assert_int_equal(await(nodes, cs_node_await(&ops[0], 1, 1)), 0);
	clear(nodes);
}

TEST(nobody_waits_for_a_rank_that_has_left_the_call)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	begin(nodes);
	cs_node_end(&ops[1]);
	assert_int_equal(await(nodes, cs_node_await(&ops[0], 1, 1)), CS_OUTCOME_MISMATCH);
	clear(nodes);
}

TEST(nor_for_one_that_waits_in_another_call)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	begin(nodes);
	ops[0].signature = cs_call_signature(CS_BCAST, 1);
	ops[1].signature = cs_call_signature(CS_BARRIER, 0);
	atomic_store(&nodes[1].self->waits,
		     ops[1].number << 16 | ops[1].signature >> CS_SIGNATURE_SHIFT);
	assert_int_equal(await(nodes, cs_node_await(&ops[0], 1, 1)), CS_OUTCOME_MISMATCH);
	clear(nodes);
}

TEST(who_only_reads_no_more_is_waited_for)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	begin(nodes);
	cs_node_end_reading(&ops[1]);
	turns = 0;
	late = &ops[1];
	assert_int_equal(await(nodes, cs_node_await(&ops[0], 1, 1)), 0);
	late = NULL;
	clear(nodes);
}

/* More is the reader's truncation. */
TEST(a_reduction_of_another_size_is_another_call)
{
	struct cs_node nodes[RANKS];
	for (uint64_t ours = 8; ours <= 32; ours *= 2) {
		make(nodes, 2);
		begin(nodes);
		ops[0].signature = cs_call_signature(CS_ALLREDUCE, 7) | ours;
		ops[1].signature = cs_call_signature(CS_ALLREDUCE, 7) | 16;
		cs_node_publish(&ops[1], cs_node_line(&ops[1]), 1);
		unsigned wrong = await(nodes, cs_node_await_alike(&ops[0], 1, 1));
		assert_int_equal(wrong, ours < 16 ? CS_OUTCOME_LONGER : ours > 16
				 ? CS_OUTCOME_MISMATCH : 0);
		clear(nodes);
	}
}

/* --- facts ------------------------------------------------------------------------------------ */

TEST(facts_are_the_usual_ones_unless_they_are_given_or_measured)
{
	struct cs_node nodes[RANKS];
	given.of[CS_CALL_NS] = 5;
	make(nodes, 2);
	for (int fact = 0; fact < CS_NODE_FACTS; fact++)
		assert_int_equal(nodes[1].facts.of[fact], fact == CS_CALL_NS
				 ? 5 : cs_node_facts_usual.of[fact]);
	memset(&given, 0, sizeof given);
	clear(nodes);
}

TEST(given_facts_win_and_nothing_is_measured)
{
	struct cs_node nodes[RANKS];
	for (int fact = 0; fact < CS_NODE_FACTS; fact++)
		given.of[fact] = 1000 + (uint32_t)fact;
	make(nodes, 2);
	cs_node_measure_alone(&nodes[0]);
	for (int local = 0; local < RANKS; local++) {
		cs_node_measure_hop(&nodes[local]); /* or it would wait for the other rank */
		cs_node_take_facts(&nodes[local]);
		assert_memory_equal(nodes[local].facts.of, given.of, sizeof given.of);
	}
	memset(&given, 0, sizeof given);
	clear(nodes);
}

TEST(all_ranks_take_what_local_rank_0_has_measured)
{
	struct cs_node nodes[RANKS];
	make(nodes, 2);
	cs_node_measure_alone(&nodes[0]);
	cs_node_measure_alone(&nodes[1]); /* nothing */
	nodes[0].head->facts[CS_LINE_NS] = 4711;
	for (int local = 0; local < RANKS; local++)
		cs_node_take_facts(&nodes[local]);
	assert_memory_equal(&nodes[0].facts, &nodes[1].facts, sizeof nodes[0].facts);
	assert_int_equal(nodes[1].facts.of[CS_LINE_NS], 4711);
	assert_true(nodes[1].facts.of[CS_COPY_RATE] > 0);
	clear(nodes);
}

TEST(a_rank_measures_no_hop_if_the_other_one_does_not_come)
{
	for (int who = 0; who < 2; who++) {
		static _Atomic uint32_t ball[2];
		_Atomic uint32_t *const balls[2] = { &ball[0], &ball[1] };
		ball[0] = ball[1] = 0;
		assert_int_equal(cs_measure_hop(balls, !who, who, 16, 0), 0);
		assert_int_equal(cs_measure_hop(balls, who, who, 16, UINT32_MAX), 0);
	}
}

static void *
answer(void *balls)
{
	cs_measure_hop(balls, true, true, 4, UINT64_C(60000000000));
	return NULL;
}

TEST(two_ranks_measure_a_hop)
{
	static _Atomic uint32_t ball[2];
	_Atomic uint32_t *const balls[2] = { &ball[0], &ball[1] };
	pthread_t thread;
	assert_int_equal(pthread_create(&thread, NULL, answer, (void *)balls), 0);
	assert_true(cs_measure_hop(balls, false, true, 4, UINT64_C(60000000000)) > 0);
	pthread_join(thread, NULL);
}

TEST(usual_facts_give_usual_sizes)
{
	struct cs_node_facts facts = cs_node_facts_usual;
	struct cs_node node = { .shape = { .slots = 4, .slot_bytes = 512 << 10 }, .facts = facts };
	assert_int_equal(cs_node_bcast_piece(&node), 64 << 10);
	node.facts.shares_cores = true;
	assert_int_equal(cs_node_bcast_piece(&node), 512 << 10);
	assert_int_equal(cs_facts_piece(&facts, 16), 16 << 10);
	assert_int_equal(cs_facts_piece(&facts, 4), 4 << 10);
	assert_int_equal(cs_facts_mapped(&facts, 4096), 16 << 10);
	assert_int_equal(cs_facts_single_copy(&facts, 1), 7000);
	assert_int_equal(cs_facts_read_whole(&facts, 4, false), 666);
	facts.shares_cores = true;
	assert_int_equal(cs_facts_read_whole(&facts, 4, false), 20000);
	assert_true(cs_facts_read_whole(&facts, 4, true) == SIZE_MAX);
	assert_true(cs_facts_read_whole(&facts, 2, false) == SIZE_MAX);
}

/* Thresholds by a fact's value, none of which may fall, or rise, as the fact grows. */
TEST(thresholds_are_monotone_in_the_facts)
{
	static const struct {
		enum cs_node_fact fact;
		bool piece, single_copy, whole, mapped; /* do they change? */
		bool falls;
	} cases[] = {
		{ CS_COPY_RATE, .piece = true, .single_copy = true, .whole = true },
		{ CS_LINE_NS, .piece = true, .whole = true },
		{ CS_CALL_NS, .single_copy = true, .mapped = true },
		{ CS_PAGE_NS, .mapped = true, .falls = true },
		{ CS_TURN_NS }, /* each rank has a core */
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		struct cs_node_facts facts = cs_node_facts_usual;
		size_t before[4] = { 0 };
		for (uint32_t value = 1; value <= 1000000; value *= 10) {
			facts.of[cases[i].fact] = value;
			struct cs_node node = { .shape = { .slots = 4, .slot_bytes = 512 << 10 },
						.facts = facts };
			const size_t now[4] = { cs_facts_piece(&facts, 16) +
						cs_node_bcast_piece(&node),
						cs_facts_single_copy(&facts, 2),
						cs_facts_read_whole(&facts, 8, false),
						cs_facts_mapped(&facts, 4096) };
			const bool changes[4] = { cases[i].piece, cases[i].single_copy,
						  cases[i].whole, cases[i].mapped };
			for (int k = 0; k < 4 && value > 1; k++)
				assert_true(!changes[k] ? now[k] == before[k]
					    : cases[i].falls ? now[k] <= before[k]
					    : now[k] >= before[k]);
			memcpy(before, now, sizeof now);
		}
	}
}

RUN_TESTS(NULL, NULL)
