/* Small collectives on a node of many ranks, by levels: up and down a tree of the ranks that share
 * a cache, a package and the node (node/tree.h).
 *
 *   barrier     collect nothing, tell nothing        bcast      tell the vector
 *   reduce      collect vectors, add them up         gather     collect blocks
 *   allreduce   the same, tell the sum               scatter    tell each subtree its blocks
 *   allgather   collect blocks, tell all of them     alltoall   fetched for groups (node/fetch.h)
 *   (ex)scan    collect vectors, the root makes all results, tell each subtree its own
 *   reduce_scatter(_block)                           long ones only
 *
 * Lines read: 2 (p - 1) for a barrier where flat has p (p - 1), and no rank reads, or is read by,
 * more than its group's members. Vectors are added up on their way where the order does not matter
 * (integers), else by the root, in rank order, with the bits of hier:host, of scans those of its
 * short ones. Costs two to four hops more in a row; hence for many ranks (docs/tuning.md). A long
 * broadcast goes from cache to cache (node/relay.h), and long vectors of integers are reduced by
 * slices of caches, packages and the node (node/radix.h). All else is done as by hier:host: other
 * long data, several nodes, nodes without levels. A non-blocking call's leaders owe the others
 * steps, which hier:host's do not.
 */
#include "algorithms/algorithm.h"
#include "algorithms/node/bcast.h"
#include "algorithms/node/copies.h"
#include "algorithms/node/fetch.h"
#include "algorithms/node/radix.h"
#include "algorithms/node/rank_order.h"
#include "algorithms/node/relay.h"
#include "algorithms/node/tree.h"

#include <pthread.h>

extern const struct cs_algorithm cs_algorithm_allgather_hier_host, cs_algorithm_allreduce_hier_host,
	cs_algorithm_alltoall_hier_host, cs_algorithm_barrier_hier_host,
	cs_algorithm_bcast_hier_host, cs_algorithm_gather_hier_host,
	cs_algorithm_reduce_hier_host, cs_algorithm_reduce_scatter_hier_host,
	cs_algorithm_scan_hier_host, cs_algorithm_scatter_hier_host;

/* By collective: algorithm of other calls. */
static const struct cs_algorithm *const flat[CS_COLL_COUNT] = {
	[CS_ALLGATHER] = &cs_algorithm_allgather_hier_host,
	[CS_ALLREDUCE] = &cs_algorithm_allreduce_hier_host,
	[CS_ALLTOALL] = &cs_algorithm_alltoall_hier_host,
	[CS_BARRIER] = &cs_algorithm_barrier_hier_host,
	[CS_BCAST] = &cs_algorithm_bcast_hier_host,
	[CS_EXSCAN] = &cs_algorithm_scan_hier_host,
	[CS_GATHER] = &cs_algorithm_gather_hier_host,
	[CS_REDUCE] = &cs_algorithm_reduce_hier_host,
	[CS_REDUCE_SCATTER] = &cs_algorithm_reduce_scatter_hier_host,
	[CS_REDUCE_SCATTER_BLOCK] = &cs_algorithm_reduce_scatter_hier_host,
	[CS_SCAN] = &cs_algorithm_scan_hier_host,
	[CS_SCATTER] = &cs_algorithm_scatter_hier_host,
};
static size_t flat_params[CS_COLL_COUNT][CS_MAX_PARAMS];

static void
fill_params(void)
{
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++)
		for (int i = 0; flat[coll] && i < CS_MAX_PARAMS; i++)
			flat_params[coll][i] = flat[coll]->params[i].fallback;
}

static const size_t *
flat_params_of(enum cs_coll coll)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	pthread_once(&once, fill_params);
	return flat_params[coll];
}

/* A detail of the signature that flat calls have not: ranks that disagree about the size of blocks,
 * and so about the way, find out as they do of another call. Reductions have the size in their
 * signature, and a flat reader of a broadcast compares sizes itself. */
#define BY_LEVELS ((uint64_t)1 << CS_SIGNATURE_SHIFT)

static bool
is_scan(const struct cs_call *call)
{
	return cs_coll_is_scan(&cs_colls[call->coll]);
}

/* Are vectors added up on their way? By the signature, so equal on all ranks: a kernel need not
 * be. */
static bool
folds(const struct cs_call *call)
{
	return cs_colls[call->coll].reduces && !is_scan(call) && call->reduction.is_exact;
}

/* Parameters. */
enum { BY_MODEL, RELAY_FROM, FAN };

static bool
is_by_levels(const struct cs_op *op, const size_t *params)
{
	const struct cs_levels *levels = &op->team->shape.levels;
	const struct cs_call *call = &op->call;
	if (op->team->shape.nodes > 1 || levels->count < 2 ||
	    cs_coll_is_scattered(&cs_colls[call->coll]) ||
	    (params[BY_MODEL] && call->bytes >= levels->below[call->coll]))
		return false;
	if (call->coll == CS_ALLTOALL)
		return cs_fetch_fits(op->team, call->send.each);
	return call->coll == CS_BCAST || folds(call) ? call->bytes <= CS_SMALL
	       : call->coll == CS_BARRIER || cs_tree_fits(levels, call->bytes);
}

/* This rank's block in `blocks`, or where it is in place among `others`. */
static char *
own_block(const struct cs_op *op, const struct cs_blocks *blocks, const struct cs_blocks *others)
{
	return blocks->base ? blocks->base : cs_blocks_at(others, op->team->shape.rank);
}

/* Note that a block is longer than its room. */
static void
compare(struct cs_op *op, size_t sent)
{
	if (sent > CS_OP_STATE(struct cs_tree, op)->each)
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
}

/* Copies all blocks but the own one, which may be in place, from memory by place. */
static void
take_blocks(struct cs_op *op, const struct cs_tree *tree, const char *from, size_t stride)
{
	const struct cs_call *call = &op->call;
	int self = op->team->shape.rank;
	size_t bytes = stride < tree->each ? stride : tree->each;
	compare(op, tree->most);
	for (int rank = 0; rank < tree->levels->size; rank++)
		if (rank != self)
			cs_copy_own(op, cs_blocks_at(&call->recv, rank),
				    from + (size_t)tree->levels->place[rank] * stride, bytes);
	if (call->send.base)
		cs_copy_own(op, cs_blocks_at(&call->recv, self), call->send.base, tree->each);
}

/* Phase: blocks to the root. */
static enum cs_status
collect(struct cs_op *op)
{
	struct cs_tree *tree = CS_OP_STATE(struct cs_tree, op);
	const struct cs_call *call = &op->call;
	enum cs_coll coll = call->coll;
	if (!cs_tree_collect(op, tree, 1))
		return CS_AGAIN;
	bool is_root = tree->parent < 0;
	if (is_root && (coll == CS_REDUCE || coll == CS_ALLREDUCE) && !folds(call))
		cs_tree_reduce(op, tree, call->recv.base);
	if (is_root && is_scan(call))
		cs_tree_scan(op, tree);
	if (is_root && coll == CS_GATHER)
		take_blocks(op, tree, tree->all, tree->each);
	if (coll == CS_REDUCE || coll == CS_GATHER)
		cs_node_end(&op->node);
	return CS_OK;
}

/* Copies what was told into the result. */
static void
take(struct cs_op *op, const struct cs_tree *tree)
{
	const struct cs_call *call = &op->call;
	size_t bytes = tree->stride < tree->each ? tree->stride : tree->each,
	       at = call->coll == CS_SCATTER || is_scan(call)
		    ? (size_t)(tree->self - tree->first) * tree->stride : 0;
	if (call->coll == CS_BCAST)
		cs_node_bcast_compare(&op->node, call, tree->stride);
	else if (call->coll == CS_SCATTER)
		compare(op, tree->stride);
	if (tree->told)
		cs_copy_own(op, call->recv.base, tree->told + at, bytes);
}

/* Phase: results from the root. */
static enum cs_status
tell(struct cs_op *op)
{
	struct cs_tree *tree = CS_OP_STATE(struct cs_tree, op);
	const struct cs_call *call = &op->call;
	enum cs_coll coll = call->coll;
	bool is_root = tree->parent < 0, is_first = coll == CS_BCAST || coll == CS_SCATTER,
	     has_parts = coll == CS_SCATTER || is_scan(call);
	if (!cs_tree_tell(op, tree, is_first ? 1 : 2,
			  coll == CS_ALLGATHER ? CS_TREE_ALL
			  : has_parts ? CS_TREE_SUBTREE : CS_TREE_ONE,
			  coll == CS_ALLREDUCE || coll == CS_BCAST ? call->recv.base : tree->all))
		return CS_AGAIN;
	if (coll == CS_ALLGATHER && tree->told)
		take_blocks(op, tree, tree->told, tree->stride);
	else if (has_parts ? call->recv.base != NULL
		 : !is_root && (coll == CS_ALLREDUCE || coll == CS_BCAST))
		take(op, tree);
	cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const up[] = { collect, NULL };
static cs_phase *const down[] = { tell, NULL };
static cs_phase *const up_and_down[] = { collect, tell, NULL };

/* Fills in the state, and returns the script. */
static cs_phase *const *
prepare(struct cs_op *op)
{
	struct cs_tree *tree = CS_OP_STATE(struct cs_tree, op);
	const struct cs_call *call = &op->call;
	const struct cs_shape *shape = &op->team->shape;
	enum cs_coll coll = call->coll;
	bool is_rooted = coll == CS_BCAST || coll == CS_REDUCE || coll == CS_GATHER ||
			 coll == CS_SCATTER;
	size_t each = coll == CS_BARRIER ? 0 : call->bytes;
	enum cs_tree_sizes sizes = coll == CS_BCAST ? CS_TREE_VECTOR
				   : coll == CS_BARRIER || cs_colls[coll].reduces
				   ? CS_TREE_ALIKE : CS_TREE_BLOCKS;
	if (sizes == CS_TREE_BLOCKS)
		op->node.signature ^= BY_LEVELS;
	if (coll == CS_ALLTOALL)
		return cs_fetch_prepare(op);
	cs_tree_begin(tree, &shape->levels, sizes, shape->local,
		      is_rooted ? call->root : shape->levels.order[0], each);
	tree->own = coll == CS_BARRIER ? NULL : own_block(op, &call->send, &call->recv);
	if (folds(call)) {
		tree->fold = &call->reduction;
		tree->all = call->recv.base;
	} else if (tree->parent < 0 && coll != CS_BCAST && each) {
		tree->all = cs_op_memory(op, CS_OP_COPY, each * (size_t)shape->locals);
	}
	for (int rank = 0; tree->parent < 0 && coll == CS_SCATTER && rank < shape->locals; rank++)
		cs_copy_own(op, tree->all + (size_t)shape->levels.place[rank] * each,
			    cs_blocks_at(&call->send, rank), each);
	return coll == CS_BCAST || coll == CS_SCATTER ? down
	       : coll == CS_REDUCE || coll == CS_GATHER ? up : up_and_down;
}

/* Does a broadcast go from cache to cache? */
static bool
is_relayed(const struct cs_op *op, const size_t *params)
{
	return op->call.coll == CS_BCAST && op->call.bytes >= params[RELAY_FROM] &&
	       op->team->shape.nodes == 1 && cs_relay_is_of_use(&op->team->shape.levels);
}

/* Is a long vector reduced by slices of levels? */
static bool
is_by_slices(const struct cs_op *op, const size_t *params)
{
	const struct cs_call *call = &op->call;
	return folds(call) && call->bytes > CS_SMALL &&
	       (!params[BY_MODEL] || call->bytes >= op->team->shape.levels.from[call->coll]) &&
	       cs_radix_fits(op->team, call->reduction.unit);
}

static void
run(struct cs_op *op, const size_t *params)
{
	if (is_by_slices(op, params)) {
		cs_radix_start(op);
	} else if (is_by_levels(op, params)) {
		cs_op_start(op, prepare(op));
		if (op->call.coll == CS_ALLTOALL)
			cs_fetch_reserve(op);
	} else if (is_relayed(op, params)) {
		cs_relay_start(op, cs_node_bcast_piece(&op->team->node), params[FAN]);
	} else {
		flat[op->call.coll]->run(op, flat_params_of(op->call.coll));
	}
}

static bool
fast(struct cs_op *op, const size_t *params)
{
	const struct cs_algorithm *other = flat[op->call.coll];
	if (!is_by_levels(op, params))
		return other->fast && other->fast(op, flat_params_of(op->call.coll));
	cs_phase *const *phase = prepare(op);
	cs_node_begin(&op->node);
	if (op->call.coll == CS_ALLTOALL)
		cs_fetch_reserve(op);
	for (; *phase; phase++)
		cs_op_wait_in(op, *phase);
	return true;
}

const struct cs_algorithm cs_algorithm_allreduce_hier_levels = {
	.colls = CS_SET(CS_ALLGATHER) | CS_SET(CS_ALLREDUCE) | CS_SET(CS_ALLTOALL) |
		 CS_SET(CS_BARRIER) | CS_SET(CS_BCAST) | CS_SET(CS_EXSCAN) |
		 CS_SET(CS_GATHER) | CS_SET(CS_REDUCE) | CS_SET(CS_REDUCE_SCATTER) |
		 CS_SET(CS_REDUCE_SCATTER_BLOCK) | CS_SET(CS_SCAN) | CS_SET(CS_SCATTER),
	.name = "hier:levels",
	.summary = "many ranks: trees and slices of caches and packages; or as hier:host",
	.needs = { .several_per_node = true, .block_if_not_commutative = true },
	.params = { [BY_MODEL] = { "by_model", "1: calls that by the node model gain nothing by "
					       "levels go as by hier:host; all do up to 16 ranks",
				   0, 0, 1 },
		    [RELAY_FROM] = { "relay_from",
				     "bytes from which broadcasts go from cache to cache", 64 << 10,
				     CS_SMALL + 1, CS_INF },
		    [FAN] = { "fan", "caches that one cache passes a long broadcast to", 2, 1,
			      64 } },
	.fast = fast,
	.run = run,
};
