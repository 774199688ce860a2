/* Reduce_scatter(_block), several senders per node and a rank that adds (seed 002, 2.3.2): the
 * ranks of a node share the exchanges with other nodes, so that several drive the network at once
 * (plans/reduce_scatter_senders.h).
 *
 *   a0 adds, others send:  copy-in | a1: nodes +1 -1, a2: +2 -2 | a1: +3 -3, a2: +4 -4 | copy-out
 *
 * Cost, with n nodes and s senders on each: ceil((n - 1) / s) exchanges and three rounds in the
 * node, in which the whole vector goes from rank to rank. For large vectors on networks that one
 * rank does not fill. Operations that are not commutative need consecutive ranks on each node. */
#include "algorithms/plans/reduce_scatter_senders.h"

const struct cs_algorithm cs_algorithm_reduce_scatter_multi_sender = {
	.colls = CS_SET(CS_REDUCE_SCATTER) | CS_SET(CS_REDUCE_SCATTER_BLOCK),
	.name = "multi-sender",
	.summary = "the ranks of a node share its exchanges with other nodes, one adds",
	.needs = { .several_nodes = true, .block_if_not_commutative = true },
	.params = CS_REDUCE_SCATTER_SENDERS_PARAMS,
	.build = cs_reduce_scatter_senders_build,
	.has_ports = true,
	.alone = "pairwise",
};
