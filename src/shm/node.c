/* shm/node.c — layout of a node's segment, and its initialisation for a team. */
#include "shm/node_parts.h"

#include "base/log.h"
#include "shm/arrive.h"

#include <sched.h>
#include <string.h>
#include <unistd.h>

/* Bytes of results before cached copies are judged: more than a core's own cache and its share of
 * the last one. */
#define RESULTS_SETTLE ((size_t)8 << 20)
#define HEADS (CS_SEGMENT_HEADER + 4096)
_Static_assert(sizeof(struct cs_node_head) <= 4096, "the node's head has its room");

const struct cs_node_facts cs_node_facts_usual = {
	.of = { [CS_COPY_RATE] = 10000, [CS_LINE_NS] = 100, [CS_TURN_NS] = 3000,
		[CS_PAGE_NS] = 400, [CS_CALL_NS] = 700, [CS_EAGER_BYTES] = 64 << 10,
		[CS_LANES_BYTES] = 64 << 10, [CS_ROOTED_SMALL] = 511 }
};
/* Facts that this process has measured; 0: not yet. */
static _Atomic uint32_t measured[CS_FACTS_MEASURED];

/* Bytes from one slot to the next: an odd number of lines, so that the fronts of all slots are not
 * in the same cache set. */
static size_t
slot_stride(const struct cs_node_shape *shape)
{
	return cs_round_up(shape->slot_bytes, CS_APART) + LINE;
}

/* Bytes of a rank's part: head, ring, and the room for help. */
static size_t
rank_stride(const struct cs_node_shape *shape)
{
	return cs_round_up(sizeof(struct cs_rank_head) + shape->slots * slot_stride(shape), 4096) +
	       CS_HELP;
}

static size_t
area_stride(const struct cs_node_shape *shape)
{
	return cs_round_up(shape->area_bytes, CS_APART) + LINE + CS_AREA_FLAGS * sizeof(uint64_t);
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
	return cs_round_up(shape->area_slots * area_stride(shape) + small_slots(shape) *
			   SMALL_STRIDE, 4096) +
	       (shape->area_slots || shape->has_table ? CS_NODE_TABLE : 0);
}

size_t
cs_node_bytes(const struct cs_node_shape *shape)
{
	return HEADS + (size_t)shape->size * rank_stride(shape) + areas_bytes(shape) +
	       cs_arrive_bytes(shape->size);
}

void
cs_node_share(const struct cs_node_shape *shape, int local, size_t *from, size_t *bytes,
	      size_t *least)
{
	*from = HEADS + (size_t)local * rank_stride(shape);
	*bytes = rank_stride(shape);
	*least = offsetof(struct cs_rank_head, small);
	if (local == 0) { /* the node's head as well */
		*bytes += *from - CS_SEGMENT_HEADER;
		*least += *from - CS_SEGMENT_HEADER;
		*from = CS_SEGMENT_HEADER;
	}
}

void
cs_node_common_share(const struct cs_node_shape *shape, int local, size_t *from, size_t *bytes)
{
	size_t all = areas_bytes(shape) + cs_arrive_bytes(shape->size),
	       part = cs_round_up(all / (size_t)shape->size + 1, 4096), at = (size_t)local * part;
	at = at < all ? at : all;
	*from = HEADS + (size_t)shape->size * rank_stride(shape) + at;
	*bytes = part < all - at ? part : all - at;
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
		(struct cs_area){ .base = area, .slots.count = shape->area_slots,
				  .stride = area_stride(shape) };
	node->areas[CS_AREA_SMALL_SLOTS] =
		(struct cs_area){ .base = area + shape->area_slots * area_stride(shape),
							     .slots.count = small_slots(shape),
							     .stride = SMALL_STRIDE };
	node->ring.count = shape->slots;
	for (int fact = 0; fact < CS_NODE_FACTS; fact++)
		node->facts.of[fact] = shape->facts.of[fact] ? shape->facts.of[fact]
							     : cs_node_facts_usual.of[fact];
	if (shape->area_slots || shape->has_table)
		node->table = area + areas_bytes(shape) - CS_NODE_TABLE;
	node->arrivals = area + areas_bytes(shape);
	node->self = cs_node_rank(node, shape->local);
	node->calls = CS_LINES;
	node->sample.at = UINT64_MAX;
	node->done_floor = (node->calls + 1) << CS_STEP_BITS;
	node->shared_slot = CS_SLOT_SMALL;
	for (int pattern = 0; pattern < CS_COPY_PATTERNS; pattern++) {
		for (enum cs_copy_kind kind = 0; kind < CS_COPY_RESULTS; kind++)
			cs_copy_policy_init(&node->copies_in[kind][pattern], shape->streams, kind,
					    shape->slots * shape->slot_bytes);
		for (int size = 0; size < CS_COPY_CHOICE_SIZES; size++)
			cs_copy_policy_init(&node->results[pattern][size], shape->streams,
					    CS_COPY_RESULTS, RESULTS_SETTLE);
	}
}

/* Random word that other ranks read to test single copy. The pid is no test: a pid of another
 * namespace may be the reader's own, and the reader has the word at the same address if addresses
 * are not random. */
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
cs_node_init_own(struct cs_node *node)
{
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	/* Reused memory may have old numbers. Small slots are not read before a line says so, and
	 * their pages are to be mapped at their first use. */
	memset(node->self, 0, offsetof(struct cs_rank_head, small));
	memset(&node->self->choice, 0, sizeof *node->self - offsetof(struct cs_rank_head, choice));
	atomic_store(&node->self->done, node->done_floor);
	if (node->shape.local == 0) {
		atomic_store(&node->head->has_told, 0);
		atomic_store(&node->head->stall_told, 0);
		memset(node->head->choices, 0, sizeof node->head->choices);
	}
	for (size_t slot = 0; node->shape.local == 0 && slot < node->shape.area_slots; slot++)
		memset(cs_node_area_flags(node, node->areas[CS_AREA_LARGE_SLOTS].base + slot *
					  area_stride(&node->shape)), 0,
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
		    (!cs_cma_read((pid_t)head->pid, &word, head->probe, sizeof word) ||
		     word != head->probe_holds))
			return false;
	}
	return true;
}

bool
cs_node_agree(struct cs_node *node, uint64_t word)
{
	struct cs_node_op op;
	bool is_same = true;
	cs_node_op_init(&op, node, 0); /* no call of the program's */
	cs_node_begin(&op);
	struct cs_line *line = cs_node_line(&op);
	cs_line_say(&op, line, word);
	cs_node_publish(&op, line, 1);
	for (int local = 0; local < node->shape.size; local++)
		if (local != node->shape.local &&
		    cs_line_bytes(cs_node_await(&op, local, 1)) != word)
			is_same = false;
	cs_node_end(&op);
	return is_same;
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
	cs_warn_local("a block of this call would take %llu rounds of pieces, more than can be "
		      "told apart; ending the job. "
		      "Larger slots (slot_bytes, area_bytes) or the MPI's own collective serve it",
		      (unsigned long long)rounds);
	node->host->abort("too many rounds");
}

void
cs_node_init_others(struct cs_node *node)
{
	uint64_t all[16] = { 0 };
	int cores = 0;
	for (int local = 0; local < node->shape.size; local++)
		for (int word = 0; word < 16; word++)
			all[word] |= cs_node_rank(node, local)->cpus[word];
	for (int word = 0; word < 16; word++)
		cores += __builtin_popcountll(all[word]);
	node->facts.shares_cores = cores && cores < node->shape.size;
	for (int local = 0; local < node->shape.size; local++)
		if (local != node->shape.local && cs_node_is_same_core(node, local) &&
		    node->same_core_count < CS_MAX_SAME_CORE)
			node->same_core[node->same_core_count++] = local;
}

void
cs_node_measure_alone(struct cs_node *node)
{
	for (enum cs_node_fact fact = 0; !node->shape.local && fact < CS_FACTS_MEASURED; fact++) {
		uint32_t value = node->shape.facts.of[fact];
		value = value ? value : atomic_load(&measured[fact]);
		if (!value && fact != CS_LINE_NS && fact != CS_TURN_NS)
			atomic_store(&measured[fact], value = cs_measure(fact, fact == CS_PAGE_NS
									 ? 2 : 8));
		node->head->facts[fact] = value;
	}
}

void
cs_node_measure_hop(struct cs_node *node)
{
	struct cs_node_head *head = node->head;
	_Atomic uint32_t *const balls[2] = { &head->hop[0].ball, &head->hop[1].ball };
	int fact = node->facts.shares_cores ? CS_TURN_NS : CS_LINE_NS, local = node->shape.local;
	if (local > 1 || node->shape.size < 2 || head->facts[fact])
		return;
	uint32_t ns = cs_measure_hop(balls, local == 1, node->facts.shares_cores, 128, 1000000);
	if (local == 0)
		atomic_store(&measured[fact], head->facts[fact] = ns);
}

void
cs_node_take_facts(struct cs_node *node)
{
	for (int fact = 0; fact < CS_FACTS_MEASURED; fact++)
		if (node->head->facts[fact])
			node->facts.of[fact] = node->head->facts[fact];
}
