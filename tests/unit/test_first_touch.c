/* First touch of the memory of a node's ranks, who are in pretended NUMA domains: the kernel gives
 * a page to the domain of the rank that touches it first. All ranks come at the same time, each on
 * a stack of its own: where one maps pages, the others go on. */
#include "unit.h"
#include "virtual_node.h"

#include "operation_fiber.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define AREA ((size_t)1 << 20)
#define SLOT ((size_t)64 << 10)
#define PAGES 2048 /* of the node, at most */

static struct {
	struct cs_node nodes[VIRTUAL_MOST];
	struct fiber *fibers[VIRTUAL_MOST];
	int ranks, now;
	char *memory;
	size_t bytes, page;
	int toucher[PAGES]; /* rank, of each page; -1: none */
} node;

static void
take_nothing(void)
{
}

static const struct cs_host quiet = { .progress = take_nothing };

int __wrap_madvise(void *address, size_t bytes, int advice);
int
__wrap_madvise(void *address, size_t bytes, int advice)
{
	(void)advice;
	size_t at = (size_t)((char *)address - node.memory), from = at / node.page,
	       to = (at + bytes + node.page - 1) / node.page;
	assert_in_range(to, from + 1, PAGES);
	for (size_t page = from; page < to; page++)
		if (node.toucher[page] < 0)
			node.toucher[page] = node.now;
	if (fiber_is_inside())
		fiber_yield();
	return 0;
}

static void
make(int ranks)
{
	struct cs_node_shape shape = { .size = ranks, .slots = 2, .slot_bytes = SLOT,
				       .area_slots = 2, .area_bytes = AREA, .spin = 1,
				       .yields = SIZE_MAX };
	node.ranks = ranks;
	node.page = (size_t)sysconf(_SC_PAGESIZE);
	node.bytes = cs_node_bytes(&shape) / CS_SEGMENT_HEADER * CS_SEGMENT_HEADER +
		     CS_SEGMENT_HEADER;
	node.memory = aligned_alloc(CS_SEGMENT_HEADER > node.page ? CS_SEGMENT_HEADER : node.page,
				    node.bytes);
	memset(node.memory, 0, node.bytes);
	for (int rank = 0; rank < ranks; rank++) {
		struct cs_segment segment = { .bytes = node.bytes, .fd = -1, .base = node.memory };
		shape.local = rank;
		cs_node_init(&node.nodes[rank], &shape, &segment, &quiet);
		cs_node_init_own(&node.nodes[rank]);
	}
	memset(node.toucher, 0xff, sizeof node.toucher);
}

/* Takes an area slot, and one of the own ring. */
static void
take_slots(void *context)
{
	struct cs_node_op op;
	cs_node_op_init(&op, context, 0);
	cs_node_begin(&op);
	cs_node_area(&op, AREA);
	cs_node_slot(&op, 1, SLOT, true);
}

static void
touch_all(int ranks)
{
	bool is_over[VIRTUAL_MOST] = { false };
	make(ranks);
	for (int rank = 0; rank < ranks; rank++)
		node.fibers[rank] = fiber_make(take_slots, &node.nodes[rank]);
	for (int left = ranks; left;)
		for (node.now = 0; node.now < ranks; node.now++) {
			int rank = node.now;
			if (is_over[rank] || fiber_resume(node.fibers[rank]))
				continue;
			is_over[rank] = true;
			left--;
		}
	for (int rank = 0; rank < ranks; rank++)
		fiber_drop(node.fibers[rank]);
}

/* Pages of [from, from + bytes) that ranks of each of so many pretended domains have touched. */
static void
count(const char *from, size_t bytes, int domains, size_t pages[])
{
	size_t first = (size_t)(from - node.memory + (ptrdiff_t)node.page - 1) / node.page;
	for (int domain = 0; domain < domains; domain++)
		pages[domain] = 0;
	for (size_t page = first; page < first + bytes / node.page - 1; page++) {
		assert_in_range(node.toucher[page], 0, node.ranks - 1);
		pages[node.toucher[page] * domains / node.ranks]++;
	}
}

TEST(an_area_is_in_the_memory_of_all_domains)
{
	for (int ranks = 2; ranks <= 16; ranks += 2)
		for (int domains = 1; domains <= ranks; domains *= 2) {
			size_t pages[16], rest = (size_t)ranks; /* one rank's */
			if (ranks % domains)
				continue;
			touch_all(ranks);
			count(node.nodes[0].areas[CS_AREA_LARGE_SLOTS].base, AREA, domains, pages);
			size_t each = AREA / node.page / (size_t)domains;
			for (int domain = 0; domain < domains; domain++)
				assert_in_range(pages[domain] + rest, each, each + 2 * rest);
			free(node.memory);
		}
}

TEST(a_ring_is_in_the_memory_of_its_owner)
{
	touch_all(8);
	for (int rank = 0; rank < 8; rank++) {
		size_t pages[8];
		count((char *)node.nodes[rank].self + sizeof(struct cs_rank_head), SLOT, 8, pages);
		assert_int_equal(pages[rank], SLOT / node.page - 1);
	}
	free(node.memory);
}

TEST(shares_of_the_common_memory_are_apart_and_all_of_it)
{
	for (int ranks = 1; ranks <= VIRTUAL_MOST; ranks++) {
		struct cs_node_shape shape = { .size = ranks, .slots = 2, .slot_bytes = SLOT,
					       .area_slots = 4, .area_bytes = AREA };
		size_t from, bytes, next, least;
		cs_node_share(&shape, ranks - 1, &from, &bytes, &least);
		next = from + bytes;
		for (int local = 0; local < ranks; local++) {
			cs_node_common_share(&shape, local, &from, &bytes);
			assert_int_equal(from, next);
			next = from + bytes;
		}
		assert_int_equal(next, cs_node_bytes(&shape));
	}
}

RUN_TESTS(NULL, NULL)
