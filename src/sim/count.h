/* sim/count.h — rounds and bytes of the plans of all ranks of a problem, counted while build()
 * runs. */
#ifndef CS_SIM_COUNT_H
#define CS_SIM_COUNT_H

#include "base/status.h"
#include "coll/problem.h"

#include <stdint.h>

struct cs_builder;

struct cs_count {
	uint64_t rounds;  /* messages in the longest chain in which each waits for the one before */
	uint64_t bytes;   /* the most that one rank sends or receives, the larger of the two */
	uint64_t reduced; /* bytes that are reduced one after the other on the longest chain */
};

/* `problem` is that of all ranks, but for its rank. CS_UNSUPPORTED: build() refuses it, or all
 * ranks together do more than `most` steps, which is told before there is much to do. Depends on
 * nothing but its arguments. */
CS_CHECKED enum cs_status cs_count_plans(void (*build)(struct cs_builder *builder),
					 const struct cs_problem *problem, size_t most,
					 struct cs_count *count);

#endif
