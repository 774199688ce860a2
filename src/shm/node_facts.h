/* shm/node_facts.h — facts of a node from which thresholds between ways of moving data follow. They
 * are the same on all ranks of a team's node. Without a tuning file's limits of these names and
 * without a measurement they are cs_node_facts_usual. */
#ifndef CS_SHM_NODE_FACTS_H
#define CS_SHM_NODE_FACTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cs_node_fact {
	CS_COPY_RATE, /* bytes per us that a core copies in its caches */
	CS_LINE_NS,   /* from the publication of a line until a rank on another core has seen it */
	CS_TURN_NS,   /* the same if ranks share cores, and the reader has to get one first */
	CS_PAGE_NS,   /* first store to a page of shared memory */
	CS_CALL_NS,   /* process_vm_readv of a word */
	CS_FACTS_MEASURED,
	/* Limits, which are never measured: */
	CS_EAGER_BYTES = CS_FACTS_MEASURED,
	CS_LANES_BYTES,
	CS_ROOTED_SMALL,
	CS_NODE_FACTS
};

struct cs_node_facts {
	uint32_t of[CS_NODE_FACTS];
	bool shares_cores; /* more local ranks than cores they may use */
};

extern const struct cs_node_facts cs_node_facts_usual;

struct cs_node;

/* Measure the facts that are neither given nor known to the process of local rank 0: by that rank
 * alone, after its cs_node_init_own, in about a millisecond; then, after cs_node_init_others, with
 * local rank 1, both for at most a millisecond. When local rank 0 has published a line after that,
 * all take the facts. */
void cs_node_measure_alone(struct cs_node *node);
void cs_node_measure_hop(struct cs_node *node);
void cs_node_take_facts(struct cs_node *node);

/* Measures CS_COPY_RATE, CS_PAGE_NS or CS_CALL_NS: the best of so many attempts, of some us each.
 * 0: not known. */
#define CS_FACT_MOST 1000000
uint32_t cs_measure(enum cs_node_fact fact, unsigned attempts);
/* Measures CS_TURN_NS or CS_LINE_NS between two ranks, which call it together (`is_second` on one):
 * the mean of so many round trips. *ball[0] and *ball[1], in cache lines of their own, are 0
 * before. Each returns after `most_ns` in any case, the second one always 0. */
uint32_t cs_measure_hop(_Atomic uint32_t *const ball[2], bool is_second, bool shares_cores,
			uint32_t trips, uint64_t most_ns);

/* Time of a hop: from a publication until another rank of the node has seen it. */
static inline uint64_t
cs_facts_hop_ns(const struct cs_node_facts *facts)
{
	return facts->of[facts->shares_cores ? CS_TURN_NS : CS_LINE_NS];
}

/* Bytes that a core copies in that time. */
static inline size_t
cs_facts_copied(const struct cs_node_facts *facts, uint64_t ns)
{
	return (size_t)(ns * facts->of[CS_COPY_RATE] / 1000);
}

/* Bytes of a piece of a pipeline, in units of 4 KiB: its copy takes `hops` times as long as a hop,
 * so that publishing it takes a small part of the time. */
static inline size_t
cs_facts_piece(const struct cs_node_facts *facts, unsigned hops)
{
	size_t bytes = cs_facts_copied(facts, hops * cs_facts_hop_ns(facts)), unit = 4096;
	return bytes < unit ? unit : (bytes + unit - 1) / unit * unit;
}

/* Least bytes for which single copy, in so many calls of process_vm_readv, may take less time than
 * the copy that it saves. */
static inline size_t
cs_facts_single_copy(const struct cs_node_facts *facts, size_t calls)
{
	return cs_facts_copied(facts, calls * facts->of[CS_CALL_NS]);
}

/* Most bytes of a vector for which reading those of all `ranks` ranks of a node as a whole takes
 * less time than reducing a slice each and reading the results: the latter has a hop more, the
 * former reads (n-1)(n-2)/n vectors more. If cores are shared, and only a root reads, that is no
 * more work for all ranks together. */
static inline size_t
cs_facts_read_whole(const struct cs_node_facts *facts, size_t ranks, bool is_rooted)
{
	if (ranks <= 2 || (is_rooted && facts->shares_cores))
		return SIZE_MAX;
	return cs_facts_copied(facts, cs_facts_hop_ns(facts)) * ranks / ((ranks - 1) * (ranks - 2));
}

/* Bytes of a slot to be mapped at once, in pages of `page` bytes: their first stores take twice as
 * long as a system call. */
static inline size_t
cs_facts_mapped(const struct cs_node_facts *facts, size_t page)
{
	return (2 * facts->of[CS_CALL_NS] / (size_t)(facts->of[CS_PAGE_NS] + 1) + 1) * page;
}

#endif
