/* node/radix.c — phases of a reduction by slices of levels, in rounds of half a slot.
 *
 * A slot of the ring has two halves: the own input, in which the sum of the lowest level's slice
 * replaces the input of that slice, which nobody else reads; and all other sums and results. Each
 * stage writes where it is in charge, so that nobody reads what is written: results of a slice are
 * gathered from those who have read the sums that they replace.
 *
 * An element of a round's result needs the input of all ranks, who have ended the round before: so
 * in an allreduce a rank that has a result knows that the slot of the round before is free, and
 * looks at no done words. */
#include "algorithms/node/radix.h"

#include "algorithms/node/alike.h"
#include "algorithms/node/chunks.h"
#include "algorithms/node/copies.h"
#include "algorithms/node/rank_order.h"
#include "algorithms/slice.h"

struct radix {
	const struct cs_levels *levels;
	struct cs_post post;
	int self, lowest, top; /* place; first and last level with slices */
	bool is_all;           /* allreduce */
	int root;              /* else: place; -1: all have their block */
	size_t block, block_end; /* with blocks: elements of the own one in the vector */
	size_t half;           /* bytes of a half of a slot */
	size_t per_round, total; /* elements of a round; of this one */
	uint64_t round, stage; /* stages of the round that are over: the step of the next one */
	size_t at;             /* element reached in the stage at hand */
};

bool
cs_radix_fits(const struct cs_team *team, size_t unit)
{
	const struct cs_levels *levels = &team->shape.levels;
	return team->shape.nodes == 1 && levels->count > 1 && levels->large >= 0 &&
	       unit <= team->node.shape.slot_bytes / 2 / CS_CACHE_LINE * CS_CACHE_LINE;
}

static struct radix *
radix_of(struct cs_op *op)
{
	return CS_OP_STATE(struct radix, op);
}

/* --- slices ----------------------------------------------------------------------------------- */

/* Levels of slices: caches, or packages, and those above. */
static uint64_t
heights(const struct radix *radix)
{
	return (uint64_t)(radix->top - radix->lowest + 1);
}

/* Steps of a round: the input, a sum of each level, and results of each but the node's. */
static uint64_t
steps(const struct radix *radix)
{
	return 2 * heights(radix);
}

/* Is a rank that gets results in the own group of a level? */
static bool
has_takers(const struct radix *radix, int level)
{
	return radix->is_all || (radix->levels->first[level][radix->self] <= radix->root &&
				 radix->root < radix->levels->end[level][radix->self]);
}

/* The place behind that member of a group of this level. */
static int
behind(const struct radix *radix, int level, int place)
{
	return level > radix->lowest ? radix->levels->end[level - 1][place] : place + 1;
}

static bool
has_blocks(const struct radix *radix)
{
	return !radix->is_all && radix->root < 0;
}

/* An element of the vector, counted in this round, or the nearest one in it. */
static size_t
in_round(const struct radix *radix, size_t element)
{
	size_t before = radix->round * radix->per_round,
	       at = element > before ? element - before : 0;
	return at < radix->total ? at : radix->total;
}

/* The slice of the rank at a place in its group of a level: [*first, returned). */
static size_t
slice(struct cs_op *op, int level, int place, size_t *first)
{
	const struct radix *radix = radix_of(op);
	int begin = radix->levels->first[level][place];
	if (level == radix->top && has_blocks(radix)) { /* the own place's */
		*first = in_round(radix, radix->block);
		return in_round(radix, radix->block_end);
	}
	size_t count = cs_slice(radix->total, op->call.reduction.unit,
				radix->levels->end[level][place] - begin, place - begin, first);
	return *first + count;
}

/* The rank that is in charge of an element in the group of that level of the rank at a place, and
 * the end of its slice. Below the lowest level each has its own input. */
static int
holder(struct cs_op *op, int level, int place, size_t element, size_t *end)
{
	const struct radix *radix = radix_of(op);
	size_t first;
	*end = radix->total;
	if (level < radix->lowest)
		return place;
	int begin = radix->levels->first[level][place];
	size_t step = slice(op, level, begin, &first);
	int found = begin + (int)(element / step);
	*end = slice(op, level, found, &first);
	return found;
}

/* An element in a rank's slot, of the input and the lowest level's sums, or of all others. */
static char *
in_slot(struct cs_op *op, char *slot, int level, size_t element)
{
	const struct radix *radix = radix_of(op);
	return slot + (level > radix->lowest ? radix->half : 0) +
	       element * op->call.reduction.unit;
}

/* The same of what a rank has from the stage before, at this level; NULL: not there yet. */
static char *
found(struct cs_op *op, int place, int level, size_t element)
{
	struct radix *radix = radix_of(op);
	if (place == radix->self && level < radix->lowest)
		return op->call.send.base +
		       (radix->round * radix->per_round + element) * op->call.reduction.unit;
	if (place == radix->self)
		return in_slot(op, radix->post.slot, level, element);
	int local = radix->levels->order[place];
	const struct cs_line *line =
		cs_alike_look(&op->node, local, radix->round * steps(radix) + radix->stage);
	return line ? in_slot(op, cs_node_slot_of(&op->node, local, line->slot, radix->round),
			      level, element) : NULL;
}

/* Notes what is read of others. */
static void
note(struct cs_op *op, int place, size_t count)
{
	const struct cs_node_watch *watch = op->node.node->watch;
	const struct radix *radix = radix_of(op);
	if (cs_node_is_watched(&op->node) && watch->read && place != radix->self)
		watch->read(&op->node, radix->levels->order[place], NULL, 0,
			    count * op->call.reduction.unit);
}

/* --- phases ----------------------------------------------------------------------------------- */

static enum cs_status
open_radix(struct cs_op *op)
{
	return cs_post_open(&op->node, &radix_of(op)->post) ? CS_OK : CS_AGAIN;
}

/* Publishes the end of a stage. */
static void
end_stage(struct cs_op *op)
{
	struct radix *radix = radix_of(op);
	cs_alike_say(&op->node, radix->post.line);
	cs_node_publish(&op->node, radix->post.line, radix->round * steps(radix) + ++radix->stage);
	radix->at = 0;
}

/* Posts the own input of a round, all but the slice that this rank reduces. */
static enum cs_status
post_input(struct cs_op *op)
{
	struct radix *radix = radix_of(op);
	uint64_t slots = op->team->node.shape.slots, until = CS_LAST_STEP; /* read here, too */
	if (radix->round + slots < radix->post.rounds)
		until = radix->is_all && slots > 1 ? 0 : (radix->round + 1) * steps(radix);
	size_t unit = op->call.reduction.unit, first;
	radix->total = cs_chunks_bytes(op->call.count, radix->per_round, radix->round);
	radix->stage = 0;
	char *slot = cs_post_room_until(&op->node, &radix->post, until);
	const char *send = op->call.send.base + radix->round * radix->per_round * unit;
	if (!slot)
		return CS_AGAIN;
	size_t end = slice(op, radix->lowest, radix->self, &first);
	cs_copy_in(op, slot, send, first * unit);
	cs_copy_in(op, slot + end * unit, send + end * unit, (radix->total - end) * unit);
	radix->post.posted++;
	end_stage(op);
	return CS_OK;
}

/* Reduces the own slice of a level, of all parts of the group; its own first, the others behind. */
static bool
reduce_level(struct cs_op *op, int level)
{
	struct radix *radix = radix_of(op);
	const struct cs_levels *levels = radix->levels;
	int begin = levels->first[level][radix->self], end = levels->end[level][radix->self],
	    own = level > radix->lowest ? levels->first[level - 1][radix->self] : radix->self;
	size_t first, last = slice(op, level, radix->self, &first);
	char *to_block = op->call.recv.base + (radix->round * radix->per_round - radix->block) *
			 op->call.reduction.unit;
	for (size_t at = first + radix->at; at < last; at = first + radix->at) {
		const void *from[levels->size];
		int places[levels->size], n = 0, part = own;
		size_t to = last, limit;
		do {
			places[n] = holder(op, level - 1, part, at, &limit);
			if (!(from[n] = found(op, places[n], level - 1, at)))
				return false;
			to = limit < to ? limit : to;
			n++;
			part = behind(radix, level, part);
			part = part < end ? part : begin;
		} while (part != own);
		for (int i = 0; i < n; i++)
			note(op, places[i], to - at);
		cs_rank_order_reduce(op, &op->call.reduction,
				     level == radix->top && has_blocks(radix)
				     ? to_block + at * op->call.reduction.unit
				     : in_slot(op, radix->post.slot, level, at), from, n, to - at);
		radix->at = to - first;
	}
	return true;
}

static enum cs_status
go_up(struct cs_op *op)
{
	struct radix *radix = radix_of(op);
	while (radix->stage <= heights(radix)) {
		if (!reduce_level(op, radix->lowest + (int)radix->stage - 1))
			return CS_AGAIN;
		end_stage(op);
	}
	return CS_OK;
}

/* Gets `count` results, from the `first` on and round the end, from their holders in the group of a
 * level: to the own slot, or to the program's result. */
static bool
gather(struct cs_op *op, int level, size_t first, size_t count, bool is_result)
{
	struct radix *radix = radix_of(op);
	size_t unit = op->call.reduction.unit;
	char *recv = op->call.recv.base + radix->round * radix->per_round * unit;
	while (radix->at < count) {
		size_t at = (first + radix->at) % radix->total, rest = count - radix->at, to;
		int place = holder(op, level, radix->self, at, &to);
		const char *from = found(op, place, radix->top, at);
		if (!from)
			return false;
		size_t now = to - at < rest ? to - at : rest;
		note(op, place, now);
		if (is_result)
			cs_copy_result(op, recv + at * unit, from, now * unit);
		else if (place != radix->self)
			cs_copy_in(op, in_slot(op, radix->post.slot, radix->top, at), from,
				   now * unit);
		radix->at += now;
	}
	return true;
}

static enum cs_status
go_down(struct cs_op *op)
{
	struct radix *radix = radix_of(op);
	while (radix->stage < steps(radix)) {
		int level = radix->top - (int)(radix->stage - heights(radix));
		size_t first, last = slice(op, level, radix->self, &first);
		if (!has_takers(radix, level))
			return CS_OK;
		if (!gather(op, level + 1, first, last - first, false))
			return CS_AGAIN;
		end_stage(op);
	}
	return CS_OK;
}

/* Takes the result of a round, from the own slice on. */
static enum cs_status
take(struct cs_op *op)
{
	struct radix *radix = radix_of(op);
	bool takes = radix->is_all || radix->root == radix->self;
	size_t first;
	slice(op, radix->lowest, radix->self, &first);
	return !takes || gather(op, radix->lowest, first, radix->total, true) ? CS_OK : CS_AGAIN;
}

static enum cs_status next_round(struct cs_op *op);

static cs_phase *const script[] = { open_radix, post_input, go_up, go_down, take, next_round,
				    NULL };

static enum cs_status
next_round(struct cs_op *op)
{
	struct radix *radix = radix_of(op);
	if (++radix->round == radix->post.rounds) {
		cs_node_end(&op->node);
		return CS_OK;
	}
	cs_node_done(&op->node, radix->round * steps(radix));
	op->phase = script + 1;
	return CS_OK;
}

/* Finds the own block, in the order of ranks. */
static void
find_block(struct cs_op *op, struct radix *radix)
{
	const struct cs_call *call = &op->call;
	size_t each = call->count / (size_t)op->team->shape.ranks;
	int self = op->team->shape.rank;
	radix->block = call->counts ? 0 : (size_t)self * each;
	for (int rank = 0; call->counts && rank < self; rank++)
		radix->block += call->counts[rank];
	radix->block_end = radix->block + (call->counts ? call->counts[self] : each);
}

void
cs_radix_start(struct cs_op *op)
{
	struct radix *radix = radix_of(op);
	const struct cs_call *call = &op->call;
	const struct cs_levels *levels = &op->team->shape.levels;
	size_t half = op->team->node.shape.slot_bytes / 2 / CS_CACHE_LINE * CS_CACHE_LINE,
	       most = half / call->reduction.unit * call->reduction.unit;
	*radix = (struct radix){ .levels = levels, .self = levels->place[op->team->shape.local],
				 .lowest = levels->large, .top = levels->count - 1,
				 .is_all = call->coll == CS_ALLREDUCE, .half = half,
				 .root = call->coll == CS_REDUCE ? levels->place[call->root] : -1,
				 .per_round = half / call->reduction.unit };
	radix->post = (struct cs_post){ .way = CS_POST_RING,
					.rounds = cs_chunks_rounds(call->count, radix->per_round),
					.chunk = half + (call->bytes < most ? call->bytes : most) };
	if (has_blocks(radix))
		find_block(op, radix);
	cs_node_expect(&op->node, radix->post.rounds, steps(radix));
	cs_op_start(op, script);
	cs_post_reserve(&op->node, &radix->post, op->node.extras & CS_OP_NONBLOCKING);
}
