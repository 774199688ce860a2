/* plans/cyclic_sum.h — the sum of vectors that come in falling order round a circle, added as they
 * come and yet in rank order.
 *
 *   count 5, self 2      round     1     2     3     4      end
 *                        comes     1     0     4     3
 *                        low     1+2 0+1+2 0+1+2 0+1+2    0+1+2+3+4
 *                        high                4   3+4
 *
 * With a commutative operation all go to `low`, and the memory for `high` is not taken. */
#ifndef CS_ALGORITHMS_PLANS_CYCLIC_SUM_H
#define CS_ALGORITHMS_PLANS_CYCLIC_SUM_H

#include "plan/build.h"

struct cs_cyclic_sum {
	struct cs_builder *builder;
	int self, count;
	size_t bytes;
	struct cs_place low; /* own at first, then `into` */
	struct cs_place into, high, spares; /* `rooms` of them, `stride` bytes apart */
	int rooms;
	size_t stride;
};

/* Begin a sum of vectors of `bytes`, and take CS_TMP for `rooms` of them (2: one comes while
 * another is added) and one. `own` is read only unless it is `into`, the result. */
void cs_cyclic_sum_begin(struct cs_cyclic_sum *sum, struct cs_builder *builder, int self, int count,
			 struct cs_place own, struct cs_place into, size_t bytes, int rooms);
/* Place for the vector of round 1 .. count - 1, whose receive may begin when that of `rooms`
 * rounds before has been added. */
struct cs_place cs_cyclic_sum_room(const struct cs_cyclic_sum *sum, int round);
/* Add the round's vector, which has come. */
void cs_cyclic_sum_add(struct cs_cyclic_sum *sum, int round);
/* Make the result, after the last round. */
void cs_cyclic_sum_end(struct cs_cyclic_sum *sum);

#endif
