/* node/chunks.h — cuts of blocks into rounds. */
#ifndef CS_ALGORITHMS_NODE_CHUNKS_H
#define CS_ALGORITHMS_NODE_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

static inline uint64_t
cs_chunks_rounds(size_t bytes, size_t chunk)
{
	/* A division is expensive in a small call */
	return bytes <= chunk ? bytes != 0 : (bytes + chunk - 1) / chunk;
}

/* Bytes of round r of a block. */
static inline size_t
cs_chunks_bytes(size_t bytes, size_t chunk, uint64_t round)
{
	size_t from = round * chunk;
	return from >= bytes ? 0 : bytes - from < chunk ? bytes - from : chunk;
}

/* Chunk that lets `parts` pieces share one slot of `bytes`; a multiple of 64 if it is 64 or
 * more. */
static inline size_t
cs_chunks_per_part(size_t bytes, size_t parts)
{
	size_t chunk = bytes / parts;
	return chunk >= 64 ? chunk & ~(size_t)63 : chunk;
}

/* A round's part of every block if sizes differ: up to `most` (bytes, elements) from `at` on. */
struct cs_chunks_part {
	size_t at, most;
};

static inline size_t
cs_chunks_part_bytes(size_t size, struct cs_chunks_part window)
{
	size_t rest = size > window.at ? size - window.at : 0;
	return rest < window.most ? rest : window.most;
}

/* Most of a block, from `at` on, in a round in which all pieces together have at most `room`: at
 * least an equal share, and more if smaller blocks leave room. `sizes`: by rank; NULL: all are
 * alike. */
size_t cs_chunks_fair(const size_t *sizes, int ranks, size_t at, size_t room);

#endif
