/* node/fetch.c — phases of an alltoall whose ranks fetch for their group. */
#include "algorithms/node/fetch.h"

#include "algorithms/node/copies.h"

struct fetch {
	const struct cs_levels *levels;
	struct cs_post post;
	int self, first, end; /* place; places of the own group */
	int outside;          /* ranks outside of the group */
	int next;             /* source, or mate, at hand, counted from the own one */
	size_t each, most;    /* bytes of a block; of the largest block read, for any rank */
	char *own, *rows;     /* step 1: blocks for ranks outside; step 2: a row for each mate */
};

/* Word of the line with `most`, written before step 2. */
#define MOST 3

bool
cs_fetch_fits(const struct cs_team *team, size_t bytes)
{
	/* Both steps' blocks of a rank are fewer than two for each rank. */
	return bytes <= CS_FETCH_MOST &&
	       2 * bytes * (size_t)team->shape.locals <= team->node.shape.slot_bytes;
}

static int
mates(const struct fetch *fetch)
{
	return fetch->end - fetch->first;
}

/* Sources that the member at that place of the own group reads: those with its number modulo the
 * group's size, of the ranks outside, counted by place. */
static int
sources(const struct fetch *fetch, int member)
{
	return (fetch->outside - (member - fetch->first) + mates(fetch) - 1) / mates(fetch);
}

static int
source(const struct fetch *fetch, int member, int turn)
{
	int number = member - fetch->first + turn * mates(fetch);
	return number < fetch->first ? number : number + mates(fetch);
}

/* Bytes from one row to the next of that member's: its own block, and one of each source. */
static size_t
row(const struct fetch *fetch, int member, size_t each)
{
	return (size_t)(1 + sources(fetch, member)) * each;
}

static char *
block_of(const struct fetch *fetch, const struct cs_blocks *blocks, int place)
{
	return cs_blocks_at(blocks, fetch->levels->order[place]);
}

/* Bytes of each block behind a rank's line, in which are `stride`; others than this rank's are of
 * a wrong program. 0: no data. */
static size_t
stride_of(struct cs_op *op, const struct cs_line *line)
{
	size_t stride = cs_line_bytes(line);
	if (op->node.outcome.bits & CS_OUTCOME_STOPPED || !cs_fetch_fits(op->team, stride))
		return 0;
	return stride;
}

static size_t
lesser(const struct fetch *fetch, size_t stride)
{
	return stride < fetch->each ? stride : fetch->each;
}

static void
compare(struct cs_op *op, const struct fetch *fetch)
{
	if (fetch->most > fetch->each)
		op->node.outcome.bits |= CS_OUTCOME_TRUNCATED;
}

/* Phase: publishes the blocks for other groups. */
static enum cs_status
post_blocks(struct cs_op *op)
{
	struct fetch *fetch = CS_OP_STATE(struct fetch, op);
	if (!cs_post_open(&op->node, &fetch->post) ||
	    !(fetch->own = cs_post_room_until(&op->node, &fetch->post, 2)))
		return CS_AGAIN;
	size_t each = fetch->each;
	char *to = fetch->own;
	for (int place = 0; place < fetch->levels->size; place++) {
		if (place >= fetch->first && place < fetch->end)
			continue;
		cs_copy_own(op, to, block_of(fetch, &op->call.send, place), each);
		to += each;
	}
	fetch->rows = to;
	cs_post_publish_step(&op->node, &fetch->post, 1);
	return CS_OK;
}

/* Copies a source's blocks for the group: the own one to the result, the others into the rows. */
static void
fetch_from(struct cs_op *op, struct fetch *fetch, int from, int turn, const struct cs_line *line)
{
	int local = fetch->levels->order[from], group = fetch->levels->first[0][from];
	int before = group < fetch->first ? fetch->levels->end[0][from] - group : 0;
	size_t stride = stride_of(op, line), bytes = lesser(fetch, stride), each = fetch->each;
	const char *blocks = cs_node_slot_of(&op->node, local, line->slot, 0) +
			     (size_t)(fetch->first - before) * stride;
	fetch->most = stride > fetch->most ? stride : fetch->most;
	for (int place = fetch->first; place < fetch->end; place++, blocks += stride) {
		size_t at = (size_t)(place - fetch->first) * row(fetch, fetch->self, each) +
			    (size_t)(1 + turn) * each;
		cs_copy_own(op, place == fetch->self
				? block_of(fetch, &op->call.recv, from) : fetch->rows + at,
			    blocks, bytes);
	}
}

/* Phase: fetches for the group, from the source behind the group on; then hands over. */
static enum cs_status
fetch_all(struct cs_op *op)
{
	struct fetch *fetch = CS_OP_STATE(struct fetch, op);
	int count = sources(fetch, fetch->self), first = fetch->first / mates(fetch);
	size_t each = fetch->each;
	for (; fetch->next < count; fetch->next++) {
		int turn = (first + fetch->next) % count,
		    from = source(fetch, fetch->self, turn);
		const struct cs_line *line = cs_node_look(&op->node, fetch->levels->order[from], 1);
		if (!line)
			return CS_AGAIN;
		fetch_from(op, fetch, from, turn, line);
	}
	fetch->next = 1;
	compare(op, fetch);
	for (int place = fetch->first; place < fetch->end; place++)
		if (place != fetch->self)
			cs_copy_own(op, fetch->rows + (size_t)(place - fetch->first) *
						      row(fetch, fetch->self, each),
				    block_of(fetch, &op->call.send, place), each);
	fetch->post.line->word[MOST] = fetch->most;
	if (mates(fetch) > 1)
		cs_post_publish_step(&op->node, &fetch->post, 2);
	return CS_OK;
}

/* Copies what a mate has for this rank. */
static void
take_from(struct cs_op *op, struct fetch *fetch, int mate, const struct cs_line *line)
{
	size_t stride = stride_of(op, line), bytes = lesser(fetch, stride);
	const char *blocks = cs_node_slot_of(&op->node, fetch->levels->order[mate], line->slot, 0) +
			     (size_t)fetch->outside * stride +
			     (size_t)(fetch->self - fetch->first) * row(fetch, mate, stride);
	fetch->most = line->word[MOST] > fetch->most ? line->word[MOST] : fetch->most;
	for (int i = 0; i <= sources(fetch, mate); i++)
		cs_copy_own(op, block_of(fetch, &op->call.recv,
					 i ? source(fetch, mate, i - 1) : mate),
			    blocks + (size_t)i * stride, bytes);
}

/* Phase: takes what the mates have fetched. */
static enum cs_status
take_all(struct cs_op *op)
{
	struct fetch *fetch = CS_OP_STATE(struct fetch, op);
	int count = mates(fetch), self = op->team->shape.rank;
	for (; fetch->next < count; fetch->next++) {
		int mate = fetch->first + (fetch->self - fetch->first + fetch->next) % count;
		const struct cs_line *line = cs_node_look(&op->node, fetch->levels->order[mate], 2);
		if (!line)
			return CS_AGAIN;
		take_from(op, fetch, mate, line);
	}
	compare(op, fetch);
	if (!cs_call_is_in_place(&op->call))
		cs_copy_own(op, cs_blocks_at(&op->call.recv, self),
			    cs_blocks_at(&op->call.send, self), fetch->each);
	cs_node_end(&op->node);
	return CS_OK;
}

static cs_phase *const script[] = { post_blocks, fetch_all, take_all, NULL };

cs_phase *const *
cs_fetch_prepare(struct cs_op *op)
{
	struct fetch *fetch = CS_OP_STATE(struct fetch, op);
	const struct cs_levels *levels = &op->team->shape.levels;
	int self = levels->place[op->team->shape.local];
	*fetch = (struct fetch){ .levels = levels, .self = self, .first = levels->first[0][self],
				 .end = levels->end[0][self], .each = op->call.send.each };
	fetch->outside = levels->size - mates(fetch);
	fetch->most = fetch->each;
	size_t span = (size_t)fetch->outside * fetch->each +
		      (size_t)mates(fetch) * row(fetch, self, fetch->each);
	fetch->post = (struct cs_post){ .rounds = 1, .last = 2, .bytes = fetch->each, .span = span,
					.way = cs_post_choose(&op->node, span, 1, false, false,
							      span <= CS_SMALL) };
	return script;
}

void
cs_fetch_reserve(struct cs_op *op)
{
	cs_post_reserve(&op->node, &CS_OP_STATE(struct fetch, op)->post,
			op->node.extras & CS_OP_NONBLOCKING);
}
