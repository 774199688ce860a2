/* Where things lie in a node's memory, for cache lines of 64, 128 and 256 bytes (the build makes
 * one test of each): what different processes write shares none, nor do lines of two calls, or two
 * slots. */
#include "unit.h"

#include "shm/arrive.h"
#include "shm/node_slots.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#define RANKS 3
#define MOST 2048
#define NOBODY (-1) /* whoever wants to */

static struct {
	uintptr_t from, to;
	int writer, part; /* of the writer's */
} pieces[MOST];
static size_t count;
static int parts;

static void
add(int writer, const volatile void *at, size_t bytes)
{
	assert_true(count < MOST);
	pieces[count].from = (uintptr_t)at;
	pieces[count].to = (uintptr_t)at + bytes;
	pieces[count].writer = writer;
	pieces[count++].part = parts++;
}

static void
progress(void)
{
}

static void __attribute__((noreturn))
end(const char *why)
{
	fail_msg("the job ended: %s", why);
	abort();
}

static const struct cs_host host = { .progress = progress, .abort = end };

static void
add_rank(struct cs_node *node, int local)
{
	struct cs_rank_head *head = cs_node_rank(node, local);
	add(local, &head->done, offsetof(struct cs_rank_head, area_done) -
	    offsetof(struct cs_rank_head, done));
	add(local, &head->area_done, sizeof head->area_done);
	add(local, &head->pid, sizeof head->pid);
	add(local, &head->choice.ps_per_byte, sizeof head->choice.ps_per_byte);
	add(local, &head->choice.way, sizeof head->choice.way);
	add(local, &head->copy_request.asked, sizeof head->copy_request.asked);
	add(NOBODY, &head->copy_request.answered, sizeof head->copy_request.answered);
	for (int i = 0; i < CS_LINES; i++) {
		add(local, &head->lines[i], sizeof head->lines[i]);
		add(local, head->small[i], sizeof head->small[i]);
		add(local, head->tiny[i], sizeof head->tiny[i]);
	}
	for (int i = 0; i < CS_FEW; i++)
		add(local, head->few[i], sizeof head->few[i]);
	struct cs_node_op op;
	cs_node_op_init(&op, node, 0);
	op.number = 0;
	for (uint64_t slot = 0; slot < node->shape.slots; slot++)
		add(local, cs_node_slot_of(&op, local, slot, 0), node->shape.slot_bytes);
	add(NOBODY, (char *)head + node->rank_stride - CS_HELP, CS_HELP);
}

static void
add_areas(struct cs_node *node)
{
	struct cs_node_op op;
	cs_node_op_init(&op, node, 0);
	char *large = cs_node_area(&op, CS_AREA_SMALL + 1), *small = cs_node_area(&op, 1);
	add(NOBODY, large, node->shape.area_bytes);
	add(NOBODY, cs_node_area_flags(node, large), CS_AREA_FLAGS * sizeof(uint64_t));
	add(NOBODY, cs_node_area(&op, CS_AREA_SMALL + 1), node->shape.area_bytes);
	add(NOBODY, small, CS_AREA_SMALL);
	add(NOBODY, cs_node_area(&op, 1), CS_AREA_SMALL);
	add(NOBODY, node->table, CS_NODE_TABLE);
	add(NOBODY, node->arrivals, cs_arrive_bytes(RANKS));
}

static int
by_place(const void *one, const void *other)
{
	uintptr_t a = *(const uintptr_t *)one, b = *(const uintptr_t *)other;
	return a < b ? -1 : a > b;
}

static void
expect_apart(size_t slot_bytes, size_t area_bytes)
{
	struct cs_node_shape shape = { .size = RANKS, .slots = 3, .slot_bytes = slot_bytes,
				       .area_slots = 2, .area_bytes = area_bytes };
	struct cs_segment segment = { .fd = -1 };
	struct cs_node node;
	size_t bytes = cs_node_bytes(&shape);
	assert_int_equal(cs_segment_create(&segment, bytes, CS_SHM_AUTO), CS_OK);
	cs_node_init(&node, &shape, &segment, &host);
	count = 0;
	add(NOBODY, node.segment.base, sizeof(struct cs_segment_head));
	add(NOBODY, node.head, sizeof *node.head);
	for (int local = 0; local < RANKS; local++)
		add_rank(&node, local);
	add_areas(&node);
	qsort(pieces, count, sizeof *pieces, by_place);
	for (size_t i = 0; i < count; i++) {
		if (pieces[i].from % CS_CACHE_LINE && pieces[i].writer == NOBODY)
			fail_msg("part %d begins within a line", pieces[i].part);
		if (i + 1 < count && pieces[i + 1].from / CS_CACHE_LINE <= (pieces[i].to - 1) /
		    CS_CACHE_LINE)
			fail_msg("parts %d and %d, of %d and %d, share a line", pieces[i].part,
				 pieces[i + 1].part, pieces[i].writer, pieces[i + 1].writer);
	}
	assert_true(pieces[count - 1].to <= (uintptr_t)node.segment.base + bytes);
	cs_segment_close(&node.segment);
}

TEST(what_two_write_shares_no_cache_line)
{
	expect_apart(64 << 10, 256 << 10);
	expect_apart(8 << 10, 64 << 10);
	expect_apart(5000, 33333);
}

TEST(a_line_says_all_it_has_to_in_one_transfer)
{
	struct cs_line line;
	assert_int_equal(sizeof line % CS_CACHE_LINE, 0);
	assert_true(offsetof(struct cs_line, data) + sizeof line.data <= CS_CACHE_LINE);
}

TEST(pieces_of_a_slot_share_no_line_either)
{
	struct cs_node_shape shape = { .size = 1, .slots = 2, .slot_bytes = 64 << 10 };
	struct cs_segment segment = { .fd = -1 };
	struct cs_node node;
	uint64_t number;
	assert_int_equal(cs_segment_create(&segment, cs_node_bytes(&shape), CS_SHM_AUTO), CS_OK);
	cs_node_init(&node, &shape, &segment, &host);
	struct cs_node_op op;
	cs_node_op_init(&op, &node, 0);
	cs_node_begin(&op);
	uintptr_t one = (uintptr_t)cs_node_cut(&op, 1, 1, &number),
		  other = (uintptr_t)cs_node_cut(&op, 1, 1, &number);
	assert_true(one / CS_CACHE_LINE != other / CS_CACHE_LINE);
	cs_segment_close(&node.segment);
}

RUN_TESTS(NULL, NULL)
