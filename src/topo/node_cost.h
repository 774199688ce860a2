/* topo/node_cost.h — collectives of one node, priced by a node model: flat, where each rank looks
 * at all others, and by levels (LLC group, package, node), where the ranks of a group meet first.
 *
 *   collect   up: a rank waits for k children, whose lines get ready together   o + t (1 + (k-1) g)
 *   tell      down: k children wait for one line                                o + t + (k-1) kappa
 *
 * Steps of fan-out k are taken within each level until one rank of it is left; k is enumerated.
 * Closed forms without noise, one rank a core: differences below 10 % mean nothing. Times are
 * ps. */
#ifndef CS_TOPO_NODE_COST_H
#define CS_TOPO_NODE_COST_H

#include "coll/coll.h"
#include "topo/node_model.h"

#define CS_NODE_FAN_MOST 47
#define CS_NODE_BYTES_MOST ((size_t)1 << 30) /* prices of more are this size's */
#define CS_NODE_NEVER INT64_MAX

/* A way of a collective on these ranks. */
struct cs_node_way {
	int64_t time;        /* CS_NODE_NEVER: there is none */
	const char *form;    /* its name, static */
	int up[CS_DISTANCES], down[CS_DISTANCES]; /* fan-ins and fan-outs by level; 0: none */
	size_t chunk;        /* bytes of a pipeline's piece; 0: no pipeline */
};

struct cs_node_price {
	struct cs_node_way flat, levels;
};

/* Is there a price of this collective? barrier, bcast, reduce, allreduce, allgather, alltoall,
 * gather, scatter; (ex)scan, by levels of short vectors; reduce_scatter(_block), of long ones. */
bool cs_node_has_price(enum cs_coll coll);
/* Prices a call of `ranks` ranks, at least 1, filled in order; more than the shape has are in more
 * packages. Bytes: of the vector, or of a rank's block. */
void cs_node_price(const struct cs_node_model *model, const struct cs_node_groups *shape, int ranks,
		   enum cs_coll coll, size_t bytes, struct cs_node_price *price);
/* Prices the copy of a vector, which one rank has written to memory of the node, to all results:
 * flat by all at once, `levels` along a tree of groups by chunks. */
void cs_node_price_copy_out(const struct cs_node_model *model, const struct cs_node_groups *shape,
			    int ranks, size_t bytes, struct cs_node_price *price);
/* The fewest bytes, of at least 8 KiB, from which on the tree is wanted for all, and its fan-out
 * there. SIZE_MAX: none, with up to 16 ranks, or groups of one rank. */
size_t cs_node_hybrid_from(const struct cs_node_model *model, const struct cs_node_groups *shape,
			   int ranks, size_t *fan);
/* "7/7/1 up, 7/7/1 down", the fan-ins and fan-outs by level, or "". Returns `text`. */
#define CS_NODE_FANS_TEXT 64
const char *cs_node_fans(char text[CS_NODE_FANS_TEXT], const struct cs_node_way *way);
/* Levels take less than 0.9 of the flat time. */
bool cs_node_wants_levels(const struct cs_node_price *price);
/* The least number of ranks, up to `most`, from which on levels are wanted; 0: never. */
int cs_node_border(const struct cs_node_model *model, const struct cs_node_groups *shape, int most,
		   enum cs_coll coll, size_t bytes);

/* One step by which k ranks of a level are collected, or told: up with a fold of each one's bytes
 * if `folds`. Bytes up to a line's payload cost nothing more. */
int64_t cs_node_collect(const struct cs_node_model *model, enum cs_distance level, int k,
			size_t bytes, bool folds);
int64_t cs_node_tell(const struct cs_node_model *model, enum cs_distance level, int k,
		     size_t bytes);
/* Single copy of one owner's bytes by `readers` ranks at once (process_vm_readv). */
int64_t cs_node_single_copy(const struct cs_node_model *model, size_t bytes, int readers);
/* Most ranks that read one owner at once: the crowd at its pages costs no more than the copy. */
int cs_node_readers(const struct cs_node_model *model);

#endif
