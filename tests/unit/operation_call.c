/* operation_call.c makes calls of virtual ranks, and looks at their results. */
#include "operation_call.h"

#include <stdlib.h>

#define GUARD 64 /* bytes behind each buffer */
#define UNTOUCHED 0x5a
#define OTHER_USE 0xc3

/* --- what is sent, and what has to come ------------------------------------------------------- */

/* Random bytes, of which each block is a piece; of vectors the ones at even places are odd. */
static const char *
random_bytes(const struct spec *spec, int from, int to, bool is_vector)
{
	enum { STARTS = 65536 };
	static char bytes[2][STARTS + CALL_ROOM];
	uint64_t state = 1;
	if (!bytes[1][0])
		for (size_t i = 0; i < sizeof bytes[0]; i++) {
			bytes[0][i] = (char)next_random(&state);
			/* No information is lost */
			bytes[1][i] = (char)(bytes[0][i] | (i % CALL_UNIT == 0));
		}
	uint64_t hash = (uint64_t)(spec->salt * 4099 + from * 31 + to * 7 + 1) *
			0x9e3779b97f4a7c15u;
	return &bytes[is_vector][hash >> 40 & (STARTS - CALL_UNIT)];
}

static bool
is_alltoall(enum cs_coll coll)
{
	return coll == CS_ALLTOALL || coll == CS_ALLTOALLV || coll == CS_ALLTOALLW;
}

static bool
is_scatter(enum cs_coll coll)
{
	return coll == CS_SCATTER || coll == CS_SCATTERV;
}

/* Bytes of the block from one rank to another: of allgathers and gathers it is the same for all, of
 * scatters the root's. */
static size_t
block_bytes(const struct spec *spec, int from, int to)
{
	if (!call_is_v(spec->coll))
		return spec->each;
	if (spec->coll == CS_ALLGATHERV || spec->coll == CS_GATHERV)
		return spec->sizes[from][0];
	return spec->coll == CS_SCATTERV ? spec->sizes[0][to] : spec->sizes[from][to];
}

static const char *
block_of(const struct spec *spec, int from, int to)
{
	return random_bytes(spec, from, is_alltoall(spec->coll) || is_scatter(spec->coll) ? to : 0,
			    false);
}

static void
fill_block(const struct spec *spec, char *to, int from, int receiver)
{
	memcpy(to, block_of(spec, from, receiver), block_bytes(spec, from, receiver));
}

static bool
is_block(const struct spec *spec, const char *block, int from, int receiver)
{
	return !memcmp(block, block_of(spec, from, receiver), block_bytes(spec, from, receiver));
}

static char *
buffer(size_t bytes)
{
	char *memory = malloc(bytes + GUARD);
	assert_non_null(memory);
	memset(memory, UNTOUCHED, bytes + GUARD);
	return memory;
}

static bool
is_untouched(const char *memory, size_t from, size_t to)
{
	for (size_t at = from; memory && at < to; at++)
		if (memory[at] != UNTOUCHED)
			return false;
	return true;
}

/* --- reductions: of elements of two bytes, which are maps x -> a x + b; their composition is no */

struct call_counted *call_counting;

static void
count_reduced(size_t count)
{
	if (call_counting && !call_counting->world->is_moving)
		call_counting->reduced += count * CALL_UNIT;
}

static void
compose(void *out, const void *left, const void *right, size_t count)
{
	const unsigned char *f = left, *g = right;
	unsigned char *to = out;
	count_reduced(count);
	for (size_t i = 0; i < CALL_UNIT * count; i += CALL_UNIT) {
		unsigned char a = (unsigned char)(f[i] * g[i]),
			      b = (unsigned char)(f[i] * g[i + 1] + f[i + 1]);
		to[i] = a;
		to[i + 1] = b;
	}
}

static void
add_up(void *out, const void *left, const void *right, size_t count)
{
	const unsigned char *f = left, *g = right;
	unsigned char *to = out;
	count_reduced(count);
	for (size_t i = 0; i < CALL_UNIT * count; i++)
		to[i] = (unsigned char)(f[i] + g[i]);
}

static size_t
count_of(const struct spec *spec, int rank)
{
	return spec->coll == CS_REDUCE_SCATTER ? spec->sizes[0][rank] / CALL_UNIT
					       : spec->each / CALL_UNIT;
}

/* Elements of the whole vector. */
static size_t
total_of(const struct world *world, const struct spec *spec)
{
	size_t total = 0;
	if (!cs_coll_is_scattered(&cs_colls[spec->coll]))
		return spec->each / CALL_UNIT;
	for (int rank = 0; rank < world->ranks; rank++)
		total += count_of(spec, rank);
	return total;
}

static void
make_reduction(const struct world *world, const struct spec *spec, int rank, struct part *part)
{
	struct cs_call *made = &part->op.call;
	const struct cs_coll_info *info = &cs_colls[spec->coll];
	size_t total = total_of(world, spec), bytes = total * CALL_UNIT;
	bool receives = !info->rooted || rank == spec->root,
	     is_scattered = cs_coll_is_scattered(info);
	made->count = total;
	made->bytes = bytes;
	made->is_commutative = spec->is_commutative;
	made->reduction = (struct cs_reduction){ .unit = CALL_UNIT,
						 .is_exact = spec->is_commutative,
						 .kernel = spec->is_commutative ? add_up
										: compose };
	for (int other = 0; other < world->ranks; other++)
		part->arrays[0][other] = count_of(spec, other);
	if (spec->coll == CS_REDUCE_SCATTER)
		made->counts = part->arrays[0];
	bool is_in_place = spec->in_place && receives;
	part->recv_bytes = is_in_place || !is_scattered ? bytes : count_of(spec, rank) * CALL_UNIT;
	if (receives) {
		part->recv = buffer(part->recv_bytes);
		made->recv.base = part->recv;
	}
	if (!is_in_place) {
		part->send_bytes = bytes;
		part->send = buffer(bytes);
	}
	made->send.base = is_in_place ? part->recv : part->send;
	memcpy(made->send.base, random_bytes(spec, rank, 0, true), bytes);
}

/* Elements [from, from + count) of the sum of ranks 0 to `last`. */
static bool
is_sum(const struct spec *spec, const struct part *part, int last, size_t from, size_t count)
{
	size_t bytes = count * CALL_UNIT;
	if (last < 0 || !count)
		return true;
	char *sum = malloc(bytes);
	assert_non_null(sum);
	memcpy(sum, random_bytes(spec, last, 0, true) + from * CALL_UNIT, bytes);
	for (int i = last - 1; i >= 0; i--)
		part->op.call.reduction.kernel(sum, random_bytes(spec, i, 0, true) + from *
					       CALL_UNIT, sum, count);
	bool is_same = !memcmp(part->recv, sum, bytes);
	free(sum);
	return is_same;
}

static bool
is_reduced(const struct world *world, const struct spec *spec, int rank, const struct part *part)
{
	const struct cs_coll_info *info = &cs_colls[spec->coll];
	size_t from = 0;
	if (cs_coll_is_scan(info))
		return is_sum(spec, part, spec->coll == CS_SCAN ? rank : rank - 1, 0,
			      total_of(world, spec));
	if (!cs_coll_is_scattered(info))
		return is_sum(spec, part, world->ranks - 1, 0, total_of(world, spec));
	for (int before = 0; before < rank; before++)
		from += count_of(spec, before);
	return is_sum(spec, part, world->ranks - 1, from, count_of(spec, rank));
}

/* --- blocks ----------------------------------------------------------------------------------- */

static struct cs_blocks
blocks_of(const struct world *world, const struct spec *spec, char *base, size_t *bytes, size_t *at,
	  int rank, bool is_sent)
{
	size_t sum = 0;
	for (int other = 0; other < world->ranks; other++) {
		bytes[other] = is_sent ? block_bytes(spec, rank, other)
				       : block_bytes(spec, other, rank);
		at[other] = sum;
		sum += bytes[other] + spec->gap;
	}
	if (call_is_v(spec->coll))
		return (struct cs_blocks){ .base = base, .bytes = bytes, .at = at };
	return (struct cs_blocks){ .base = base, .each = spec->each };
}

static size_t
sum_of(const struct world *world, const struct spec *spec, int rank, bool is_sent)
{
	size_t sum = 0;
	for (int other = 0; other < world->ranks; other++)
		sum += spec->gap +
		       (is_sent ? block_bytes(spec, rank, other) : block_bytes(spec, other, rank));
	return sum;
}

static void
make_gathered(const struct world *world, const struct spec *spec, int rank, struct part *part,
	      bool receives)
{
	struct cs_call *made = &part->op.call;
	made->bytes = block_bytes(spec, rank, 0);
	part->send_bytes = made->bytes;
	bool is_in_place = spec->in_place && receives;
	if (receives) {
		part->recv_bytes = sum_of(world, spec, rank, false);
		part->recv = buffer(part->recv_bytes);
		made->recv = blocks_of(world, spec, part->recv, part->arrays[0], part->arrays[1],
				       rank, false);
	}
	if (is_in_place) {
		fill_block(spec, cs_blocks_at(&made->recv, rank), rank, 0);
		return;
	}
	part->send = buffer(part->send_bytes);
	fill_block(spec, part->send, rank, 0);
	made->send.base = part->send;
}

static void
make_scattered(const struct world *world, const struct spec *spec, int rank, struct part *part)
{
	struct cs_call *made = &part->op.call;
	bool is_root = rank == spec->root;
	made->bytes = block_bytes(spec, spec->root, rank);
	if (is_root) {
		part->send_bytes = sum_of(world, spec, rank, true);
		part->send = buffer(part->send_bytes);
		made->send = blocks_of(world, spec, part->send, part->arrays[0], part->arrays[1],
				       rank, true);
		for (int to = 0; to < world->ranks; to++)
			fill_block(spec, cs_blocks_at(&made->send, to), rank, to);
	}
	/* As in comm/calls/serve_move.c */
	if ((is_root && spec->in_place) || (call_is_v(spec->coll) && !made->bytes))
		return;
	part->recv_bytes = made->bytes;
	part->recv = buffer(part->recv_bytes);
	made->recv.base = part->recv;
}

static void
make_transposed(const struct world *world, const struct spec *spec, int rank, struct part *part)
{
	struct cs_call *made = &part->op.call;
	made->bytes = spec->coll == CS_ALLTOALL ? spec->each : 0;
	part->recv_bytes = sum_of(world, spec, rank, false);
	part->recv = buffer(part->recv_bytes);
	made->recv = blocks_of(world, spec, part->recv, part->arrays[0], part->arrays[1], rank,
			       false);
	if (spec->in_place) {
		made->send = made->recv;
	} else {
		part->send_bytes = sum_of(world, spec, rank, true);
		part->send = buffer(part->send_bytes);
		made->send = blocks_of(world, spec, part->send, part->arrays[2], part->arrays[3],
				       rank, true);
	}
	for (int to = 0; to < world->ranks; to++)
		fill_block(spec, cs_blocks_at(&made->send, to), rank, to);
}

static bool
are_blocks(const struct world *world, const struct spec *spec, int rank, const struct part *part)
{
	const struct cs_blocks *blocks = &part->op.call.recv;
	for (int from = 0; from < world->ranks; from++) {
		if (!is_block(spec, cs_blocks_at(blocks, from), from, rank))
			return false;
		size_t end = (size_t)(cs_blocks_at(blocks, from) - part->recv) +
			     cs_blocks_bytes(blocks, from);
		if (!is_untouched(part->recv, end, end + spec->gap))
			return false;
	}
	return true;
}

/* --- a call ----------------------------------------------------------------------------------- */

/* Of all bytes of both buffers. */
static uint64_t
digest_of(const struct part *part)
{
	const char *const buffers[] = { part->send, part->recv };
	const size_t bytes[] = { part->send_bytes + GUARD, part->recv_bytes + GUARD };
	uint64_t digest = 1, word;
	for (size_t i = 0; i < COUNT(buffers); i++)
		for (size_t at = 0; buffers[i] && at < bytes[i]; at += sizeof word) {
			size_t left = bytes[i] - at;
			word = 0;
			memcpy(&word, buffers[i] + at, left < sizeof word ? left : sizeof word);
			digest = (digest ^ word) * 0x9e3779b97f4a7c15u;
			digest ^= digest >> 29;
		}
	return digest;
}

void
call_make(const struct world *world, const struct spec *spec, int rank, struct part *part)
{
	const struct cs_coll_info *info = &cs_colls[spec->coll];
	bool is_root = rank == spec->root;
	assert_true(spec->each <= CALL_ROOM && total_of(world, spec) * CALL_UNIT <= CALL_ROOM);
	bool is_wrong = spec->wrong_each && rank == spec->wrong;
	size_t each = is_wrong ? spec->wrong_each : spec->each;
	cs_call_init(&part->op.call, spec->coll, info->rooted ? spec->root : 0, each);
	if (spec->coll == CS_BARRIER) {
		part->op.call.bytes = 0;
	} else if (info->reduces) {
		make_reduction(world, spec, rank, part);
	} else if (spec->coll == CS_BCAST) {
		part->recv_bytes = each;
		part->recv = buffer(each);
		part->op.call.recv.base = part->recv;
		if (is_root)
			fill_block(spec, part->recv, rank, 0);
	} else if (is_scatter(spec->coll)) {
		make_scattered(world, spec, rank, part);
	} else if (is_alltoall(spec->coll)) {
		make_transposed(world, spec, rank, part);
	} else {
		make_gathered(world, spec, rank, part, !info->rooted || is_root);
	}
	part->digest = digest_of(part);
}

static bool
is_result(const struct world *world, const struct spec *spec, int rank, const struct part *part)
{
	if (!part->recv)
		return true;
	if (cs_colls[spec->coll].reduces)
		return is_reduced(world, spec, rank, part);
	if (spec->coll == CS_BCAST || is_scatter(spec->coll))
		return is_block(spec, part->recv, spec->root, rank);
	return are_blocks(world, spec, rank, part);
}

const char *
call_wrong(const struct world *world, const struct spec *spec, int rank, const struct part *part)
{
	if (!is_untouched(part->send, part->send_bytes, part->send_bytes + GUARD) ||
	    !is_untouched(part->recv, part->recv_bytes, part->recv_bytes + GUARD))
		return "writes behind a buffer";
	if (spec->wrong_each && rank == spec->wrong)
		return NULL;
	if (part->op.node.outcome.bits & CS_OUTCOME_TRUNCATED)
		return "is told of a truncation";
	if (part->op.node.outcome.bits & CS_OUTCOME_STOPPED)
		return "takes others' calls for different ones";
	if (part->op.node.outcome.bits & (CS_OUTCOME_MORE | CS_OUTCOME_LESS))
		return "is told of a message of another size";
	if (part->op.node.outcome.bits & CS_OUTCOME_LEFT) /* to the host */
		return part->digest == digest_of(part) ? NULL : "has changed what it leaves to the "
								"host";
	return is_result(world, spec, rank, part) ? NULL : "has a wrong result";
}

void
call_spoil(struct part *part)
{
	if (part->send)
		memset(part->send, OTHER_USE, part->send_bytes);
	if (part->recv)
		memset(part->recv, OTHER_USE, part->recv_bytes);
#ifdef __SANITIZE_ADDRESS__ /* which sees who touches it still */
	call_free(part);
#endif
}

void
call_free(struct part *part)
{
	free(part->send);
	free(part->recv);
	part->send = part->recv = NULL;
}
