/* shm/arrive.c — tickets and combining trees in the words of shm/arrive.h. */
#include "shm/arrive.h"

#include "shm/node_parts.h"

/* Fields of a word other than a top: number of the call << CS_STEP_BITS | round's turn << WHO_BITS
 * | a local rank, or the number of ranks that have arrived. Before a set is used again all are done
 * with its previous round, so only successive turns have to differ. */
#define WHO_BITS 16
#define TURNS (1 << (CS_STEP_BITS - WHO_BITS))
#define WHO ((UINT64_C(1) << WHO_BITS) - 1)

struct set {
	_Alignas(CS_CACHE_LINE) _Atomic uint64_t came;
	/* The call's number << CS_STEP_BITS | round + 1, when the holder is valid. */
	_Alignas(CS_CACHE_LINE) _Atomic uint64_t tops[CS_ARRIVE_PARTS];
	_Alignas(CS_CACHE_LINE) int holders[CS_ARRIVE_PARTS];
	struct inner {
		_Alignas(CS_CACHE_LINE) _Atomic uint64_t words[CS_ARRIVE_PARTS];
	} inners[]; /* by name - 1 */
};

static size_t
set_bytes(int locals)
{
	return sizeof(struct set) + (size_t)(locals - 1) * sizeof(struct inner);
}

size_t
cs_arrive_bytes(int locals)
{
	return cs_round_up(CS_ARRIVE_ROUNDS * CS_LINES * set_bytes(locals), 4096);
}

static struct set *
set_of(struct cs_node_op *op, uint64_t round)
{
	struct cs_node *node = op->node;
	uint64_t number = round % CS_ARRIVE_ROUNDS * CS_LINES + op->number % CS_LINES;
	return (struct set *)(void *)(node->arrivals + number * set_bytes(node->shape.size));
}

static uint64_t
stamp_of(const struct cs_node_op *op, uint64_t round)
{
	return cs_node_tag(op, round / CS_ARRIVE_ROUNDS % TURNS << WHO_BITS);
}

bool
cs_arrive_is_open(struct cs_node_op *op, uint64_t round)
{
	return round < CS_ARRIVE_ROUNDS ||
	       cs_node_are_done(op, cs_node_tag(op, round - CS_ARRIVE_ROUNDS + 1));
}

int
cs_arrive_ticket(struct cs_node_op *op, uint64_t round)
{
	_Atomic uint64_t *came = &set_of(op, round)->came;
	uint64_t stamp = stamp_of(op, round),
		 seen = atomic_load_explicit(came, memory_order_relaxed), count;
	do
		count = (seen ^ stamp) & ~WHO ? 0 : seen & WHO;
	while (!atomic_compare_exchange_weak_explicit(came, &seen, stamp | (count + 1),
						      memory_order_acq_rel, memory_order_relaxed));
	return (int)count;
}

static _Atomic uint64_t *
word_of(struct cs_node_op *op, uint64_t round, int part,
	int inner)
{
	return &set_of(op, round)->inners[inner - 1].words[part];
}

int
cs_arrive_meet(struct cs_node_op *op, uint64_t round, int part,
	       int inner, int holder)
{
	uint64_t stamp = stamp_of(op, round),
		 other = atomic_exchange_explicit(word_of(op, round, part, inner),
						  stamp | (uint64_t)holder, memory_order_acq_rel);
	int who = (int)(other & WHO);
	/* A rank that does not exist is never returned. */
	return (other ^ stamp) & ~WHO ? -1 : who < op->node->shape.size ? who : holder;
}

bool
cs_arrive_is_second(struct cs_node_op *op, uint64_t round,
		    int part, int inner)
{
	uint64_t other = atomic_load_explicit(word_of(op, round, part, inner),
					      memory_order_relaxed);
	return !((other ^ stamp_of(op, round)) & ~WHO);
}

/* Word of a chain, a top: the call's number << CS_STEP_BITS | links << 1 | whether it is held. */
static uint64_t
chain_of(const struct cs_node_op *op, int links)
{
	return cs_node_tag(op, (uint64_t)links << 1);
}

int
cs_arrive_hold(struct cs_node_op *op, uint64_t round, int part, int wanted)
{
	_Atomic uint64_t *word = &set_of(op, round)->tops[part];
	uint64_t seen = atomic_load_explicit(word, memory_order_acquire);
	bool is_begun = seen >= chain_of(op, 0), is_held = is_begun && seen & 1;
	int links = is_begun ? (int)(seen - chain_of(op, 0)) >> 1 : 0;
	if (links >= wanted)
		return wanted;
	if (!is_held && atomic_compare_exchange_strong_explicit(word, &seen,
								chain_of(op, links) | 1,
								memory_order_acquire,
								memory_order_relaxed))
		return links;
	const struct cs_node_shape *shape = &op->node->shape;
	op->awaited = (struct cs_awaited){ .local = CS_AWAITS_FLAG, .flag = word,
					   .of = (shape->local + 1) % shape->size,
					   .tag = chain_of(op, links + 1) };
	return -1;
}

void
cs_arrive_link(struct cs_node_op *op, uint64_t round, int part, int links)
{
	cs_node_store(op->node, &set_of(op, round)->tops[part], chain_of(op, links));
}

void
cs_arrive_tell(struct cs_node_op *op, uint64_t round, int part,
	       int holder)
{
	struct set *set = set_of(op, round);
	set->holders[part] = holder;
	cs_node_store(op->node, &set->tops[part], cs_node_tag(op, round + 1));
}

int
cs_arrive_holder(struct cs_node_op *op, uint64_t round, int part)
{
	struct set *set = set_of(op, round);
	const struct cs_node_shape *shape = &op->node->shape;
	uint64_t tag = cs_node_tag(op, round + 1);
	/* The rank that will raise it is not known: wait as for any other. */
	if (!cs_node_is_flag_up(op, (shape->local + 1) % shape->size, &set->tops[part], tag))
		return -1;
	int holder = set->holders[part];
	return holder >= 0 && holder < shape->size ? holder : shape->local;
}
