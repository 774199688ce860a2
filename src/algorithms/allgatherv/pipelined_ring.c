/* Allgatherv, pipelined ring (seed 001, 2.2): blocks travel the ring in segments of at most B
 * bytes, several under way.
 *
 *   p = 4, rank 1 has four segments a b c d, the others nothing:
 *   round     0         1         2         3         4         5
 *   1 -> 2    a         b         c         d
 *   2 -> 3              a         b         c         d
 *   3 -> 0                        a         b         c         d
 *
 * Sending whole blocks these are 3 rounds of 4 segments each; here 6 of one. A rank waits only for
 * the segment that it passes on, and for its send `window` before.
 *
 * Cost: p - 1 messages in the longest chain, whatever the sizes; a rank sends and receives every
 * block but one. For large blocks of different sizes.
 *
 * Equation 1 counts something else: rounds in which a rank sends one message and receives one. It
 * is b - min b_i there, with b_i = max(1, ceil(m_i / B)) and b their sum: a bound. No order of the
 * ring gets below max(n - n_i), with n_i = ceil(m_i / B) and n their sum, as so many messages come
 * in at rank i. See equidistant_ring.c. */
#include "algorithms/plans/ring.h"

static void
build(struct cs_builder *builder)
{
	cs_ring_build_by(builder, NULL);
}

const struct cs_algorithm cs_algorithm_allgatherv_pipelined_ring = {
	.colls = CS_SET(CS_ALLGATHERV),
	.name = "pipelined-ring",
	.summary = "blocks travel the ring in segments, several under way",
	.params = CS_RING_PARAMS,
	.build = build,
	.cost = cs_ring_cost,
};
