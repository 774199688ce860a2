/* sim/play_call.c — makes virtual ranks' calls, and looks at their results. */
#include "sim/play_parts.h"
#include "sim/room.h"

#include <stdlib.h>
#include <string.h>

static const struct cs_coll_info *
info_of(const struct cs_play *play)
{
	return &cs_colls[play->call->coll];
}

/* --- alltoallv: each rank's sizes ------------------------------------------------------------- */

static bool
has_pairs(const struct cs_play *play)
{
	return info_of(play)->sizes == CS_SIZES_BY_PAIR;
}

/* Rank r sends the dealt sizes from itself on, and so receives them backwards: both are a window of
 * all sizes written twice, from p - r on, and so are the places of the blocks in twice as much
 * memory. | sizes to others | their places | sizes from others | their places | */
static bool
make_pairs(struct cs_play *play)
{
	size_t ranks = (size_t)play->call->ranks, at[2] = { 0 };
	play->pairs = cs_room_take(8 * ranks, sizeof *play->pairs, &play->sim->left);
	for (size_t way = 0; play->pairs && way < 2; way++)
		for (size_t i = 0; i < 2 * ranks; i++) {
			size_t which = way ? (2 * ranks - i) % ranks : i % ranks;
			play->pairs[4 * way * ranks + i] = play->call->dealt[which];
			play->pairs[(4 * way + 2) * ranks + i] = at[way];
			at[way] += play->call->dealt[which];
		}
	return play->pairs;
}

static struct cs_blocks
pairs_of(const struct cs_play *play, int rank, size_t way)
{
	size_t ranks = (size_t)play->call->ranks;
	const size_t *sizes = play->pairs + 4 * way * ranks + ranks - (size_t)rank;
	return (struct cs_blocks){ .bytes = sizes, .at = sizes + 2 * ranks };
}

/* Bytes that a rank sends, or receives; the most of any rank. */
static size_t
bytes_of(const struct cs_play *play, struct cs_flow flow)
{
	const struct cs_sim_call *call = play->call;
	size_t most = 0;
	bool is_scattered = cs_coll_is_scattered(info_of(play));
	if (flow.what == CS_NO_DATA)
		return 0;
	if (flow.what == CS_VECTOR)
		return is_scattered ? call->total : call->bytes;
	if (flow.what == CS_ALL_BLOCKS)
		return (has_pairs(play) ? 2 : 1) * call->total;
	for (int rank = 0; rank < call->ranks; rank++)
		most = call->dealt[rank] > most ? call->dealt[rank] : most;
	return most;
}

enum cs_status
cs_play_make_buffers(struct cs_play *play)
{
	struct cs_sim *sim = play->sim;
	size_t send = bytes_of(play, info_of(play)->in), recv = bytes_of(play, info_of(play)->out);
	size_t ranks = (size_t)sim->ranks;
	if (play->call->coll == CS_BCAST)
		send = recv = play->call->bytes;
	if (cs_coll_is_scattered(info_of(play))) {
		play->counts_of = cs_room_take(ranks, sizeof *play->counts_of, &sim->left);
		for (size_t rank = 0; play->counts_of && rank < ranks; rank++)
			play->counts_of[rank] = play->call->dealt[rank] / CS_CALL_UNIT;
		if (!play->counts_of)
			return CS_NO_MEMORY;
	}
	if (has_pairs(play) && !make_pairs(play))
		return CS_NO_MEMORY;
	if (!play->options.moves) {
		/* In pages of zeros, as nobody fills them. */
		play->shared = cs_play_zeros(send + recv + 2 * CS_CACHE_LINE);
		for (int rank = 0; play->shared && rank < play->played; rank++) {
			play->ranks[rank].send = play->shared;
			play->ranks[rank].recv = play->shared + send + CS_CACHE_LINE;
		}
		return play->shared ? CS_OK : CS_NO_MEMORY;
	}
	for (int rank = 0; rank < play->played; rank++) {
		play->ranks[rank].send = cs_room_take(send + 1, 1, &sim->left);
		play->ranks[rank].recv = cs_room_take(recv + 1, 1, &sim->left);
		if (!play->ranks[rank].send || !play->ranks[rank].recv)
			return CS_NO_MEMORY;
	}
	return CS_OK;
}

void
cs_play_drop_buffers(struct cs_play *play)
{
	for (int rank = 0; play->ranks && play->options.moves && rank < play->played; rank++) {
		free(play->ranks[rank].send);
		free(play->ranks[rank].recv);
	}
	free(play->shared);
	free(play->counts_of);
	free(play->pairs);
}

/* --- data ------------------------------------------------------------------------------------- */

static unsigned char
byte_of(const struct cs_play *play, int from, int to, size_t i)
{
	bool is_alltoall = info_of(play)->in.what == CS_ALL_BLOCKS &&
			   info_of(play)->out.what == CS_ALL_BLOCKS;
	bool is_scatter = info_of(play)->in.what == CS_ALL_BLOCKS;
	unsigned salt = (unsigned)from * 31 + (is_alltoall || is_scatter ? (unsigned)to * 7 : 0) +
			(unsigned)play->runs * 101;
	return (unsigned char)(salt + (unsigned)i * 13 + 5);
}

static uint64_t
element_of(const struct cs_play *play, int rank, size_t i)
{
	return ((uint64_t)rank + 1) * ((uint64_t)i + play->runs);
}

/* Reduces, or is told that it has been paid for and need not. */
static void
add_up(void *out, const void *left, const void *right, size_t count)
{
	struct cs_play_rank *rank = cs_play_current();
	const uint64_t *a = left, *b = right;
	uint64_t *to = out;
	size_t bytes = count * CS_CALL_UNIT;
	if (rank->paid >= bytes)
		rank->paid -= bytes;
	else
		cs_play_do_plan_work(rank, true, bytes);
	for (size_t i = 0; rank->play->options.moves && i < count; i++)
		to[i] = a[i] + b[i];
}

static void
fill(struct cs_play_rank *rank)
{
	const struct cs_play *play = rank->play;
	const struct cs_coll_info *info = info_of(play);
	int self = cs_play_number(rank);
	struct cs_call *call = &rank->op.call;
	if (info->reduces) {
		uint64_t *elements = (uint64_t *)(void *)rank->send;
		for (size_t i = 0; i < call->count; i++)
			elements[i] = element_of(play, self, i);
	} else if (call->coll == CS_BCAST) {
		for (size_t i = 0; self == call->root && i < call->bytes; i++)
			rank->recv[i] = (char)byte_of(play, self, 0, i);
	} else if (info->in.what == CS_OWN_BLOCK) {
		for (size_t i = 0; i < call->bytes; i++)
			rank->send[i] = (char)byte_of(play, self, 0, i);
	} else if (call->send.base) {
		for (int to = 0; to < play->call->ranks; to++)
			for (size_t i = 0; i < cs_blocks_bytes(&call->send, to); i++)
				cs_blocks_at(&call->send, to)[i] =
					(char)byte_of(play, self, to, i);
	}
}

/* --- the call --------------------------------------------------------------------------------- */

static void
describe(struct cs_play_rank *rank)
{
	const struct cs_play *play = rank->play;
	const struct cs_sim_call *sim_call = play->call;
	const struct cs_coll_info *info = info_of(play);
	int self = cs_play_number(rank), root = sim_call->root;
	const struct cs_problem *problem = &sim_call->problem;
	struct cs_call *call = &rank->op.call;
	bool is_scattered = cs_coll_is_scattered(info), has_sizes = problem->sizes;
	cs_call_init(call, sim_call->coll, info->rooted ? root : 0,
		     is_scattered ? sim_call->total : has_pairs(play) ? 0
		     : cs_coll_has_blocks(info) ? sim_call->dealt[self] : sim_call->bytes);
	call->count = info->reduces ? call->bytes / CS_CALL_UNIT : 0;
	call->reduction = (struct cs_reduction){ .unit = CS_CALL_UNIT, .kernel = add_up };
	call->is_commutative = sim_call->is_commutative;
	call->counts = is_scattered && has_sizes ? play->counts_of : NULL;
	struct cs_blocks all = { .each = problem->bytes, .bytes = has_sizes ? problem->sizes : NULL,
				 .at = has_sizes ? sim_call->at : NULL };
	if (cs_flow_reaches(info->in, self, root)) {
		call->send = info->in.what != CS_ALL_BLOCKS ? (struct cs_blocks){ 0 }
			     : has_pairs(play) ? pairs_of(play, self, 0) : all;
		call->send.base = rank->send;
	}
	if (cs_flow_reaches(info->out, self, root)) {
		call->recv = info->out.what != CS_ALL_BLOCKS ? (struct cs_blocks){ 0 }
			     : has_pairs(play) ? pairs_of(play, self, 1) : all;
		call->recv.base = rank->recv;
	}
	if (call->coll == CS_BCAST)
		call->send.base = call->recv.base = rank->recv;
}

void
cs_play_make_call(struct cs_play_rank *rank)
{
	struct cs_op *op = &rank->op;
	const struct cs_play *play = rank->play;
	memset(op, 0, sizeof *op);
	describe(rank);
	if (play->options.moves)
		fill(rank);
	cs_op_join(op, &rank->team,
		   cs_call_signature(op->call.coll, (unsigned)op->call.root) |
			   (info_of(play)->reduces ? op->call.bytes : 0));
	op->node.extras |= CS_NODE_WATCHED;
	op->between = play->algorithm->inner;
	op->between_params = play->options.params;
}

/* --- its result ------------------------------------------------------------------------------- */

static bool
is_sum(const struct cs_play *play, const char *at, int ranks, size_t first, size_t count)
{
	const uint64_t *sum = (const uint64_t *)(const void *)at;
	uint64_t all = (uint64_t)ranks * ((uint64_t)ranks + 1) / 2;
	for (size_t i = 0; ranks && i < count; i++)
		if (sum[i] != all * ((uint64_t)(first + i) + play->runs))
			return false;
	return true;
}

static bool
is_reduced(const struct cs_play_rank *rank)
{
	const struct cs_play *play = rank->play;
	const struct cs_call *call = &rank->op.call;
	int self = cs_play_number(rank), ranks = play->call->ranks;
	if (cs_coll_is_scan(info_of(play)))
		return is_sum(play, rank->recv, call->coll == CS_SCAN ? self + 1 : self, 0,
			      call->count);
	if (!cs_coll_is_scattered(info_of(play)))
		return !call->recv.base || is_sum(play, rank->recv, ranks, 0, call->count);
	return is_sum(play, rank->recv, ranks, play->call->at[self] / CS_CALL_UNIT,
		      play->call->dealt[self] / CS_CALL_UNIT);
}

static bool
is_block(const struct cs_play *play, const char *at, int from, int to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if ((unsigned char)at[i] != byte_of(play, from, to, i))
			return false;
	return true;
}

bool
cs_play_is_right(struct cs_play_rank *rank)
{
	const struct cs_play *play = rank->play;
	const struct cs_coll_info *info = info_of(play);
	const struct cs_call *call = &rank->op.call;
	int self = cs_play_number(rank);
	if (rank->state != CS_PLAY_OVER || rank->op.node.outcome.bits & CS_OUTCOME_STOPPED)
		return false;
	if (info->reduces)
		return is_reduced(rank);
	if (!call->recv.base)
		return true;
	if (info->out.what != CS_ALL_BLOCKS)
		return is_block(play, rank->recv, call->root, self, call->bytes);
	for (int from = 0; from < play->call->ranks; from++)
		if (!is_block(play, cs_blocks_at(&call->recv, from), from, self,
			      cs_blocks_bytes(&call->recv, from)))
			return false;
	return true;
}
