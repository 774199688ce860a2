/* shm/post.c — table of the ways of publishing data on the node. */
#include "shm/post.h"

/* Functions of a way; NULL: nothing to do. */
struct way {
	bool is_only; /* one round, in memory of its own */
	void (*reserve)(struct cs_node_op *op, struct cs_post *post, bool is_left);
	char *(*only)(struct cs_node_op *op, struct cs_post *post); /* NULL: not yet */
};

/* Bytes of a slot that will be written, as far as is known: to be mapped at once. */
static size_t
used_bytes(const struct cs_node *node, const struct cs_post *post)
{
	if (post->rounds == 1 && post->span)
		return post->span;
	return post->stride ? node->shape.slot_bytes : post->pieces > 1 ? post->bytes : post->chunk;
}

static void
reserve_ring(struct cs_node_op *op, struct cs_post *post, bool is_left)
{
	uint64_t pieces = post->pieces > 1 ? post->pieces : 1;
	cs_node_stay_warm(op, used_bytes(op->node, post));
	if (is_left)
		cs_node_reserve(op, post->rounds == CS_USES_UNKNOWN
				? post->rounds : (post->rounds + pieces - 1) / pieces);
	post->number = cs_node_slot_number(op);
}

static void
reserve_piece(struct cs_node_op *op, struct cs_post *post, bool is_left)
{
	(void)is_left;
	post->number = cs_node_reserve_cut(op, post->last ? post->last : 1, post->span);
}

static void
reserve_small(struct cs_node_op *op, struct cs_post *post, bool is_left)
{
	(void)is_left;
	post->number = cs_node_small_slot(op, post->address ? 0 : post->span);
}

/* If each reader has its own block, their addresses are in the small slot, or in one of the
 * ring. */
static void
reserve_single_copy(struct cs_node_op *op, struct cs_post *post, bool is_left)
{
	if (post->address || post->span <= CS_SMALL)
		reserve_small(op, post, is_left);
	else
		reserve_ring(op, post, is_left);
}

static char *
only_in_line(struct cs_node_op *op, struct cs_post *post)
{
	(void)op;
	return (char *)post->line->data;
}

static char *
only_in_small(struct cs_node_op *op, struct cs_post *post)
{
	return cs_node_small(op, post->number);
}

static char *
only_in_piece(struct cs_node_op *op, struct cs_post *post)
{
	return cs_node_try_cut(op, post->number);
}

static const struct way ways[CS_POST_WAYS] = {
	[CS_POST_INLINE] = { .is_only = true, .only = only_in_line },
	[CS_POST_SMALL] = { .is_only = true, .reserve = reserve_small, .only = only_in_small },
	[CS_POST_PIECE] = { .is_only = true, .reserve = reserve_piece, .only = only_in_piece },
	[CS_POST_RING] = { .reserve = reserve_ring },
	[CS_POST_SINGLE_COPY] = { .reserve = reserve_single_copy },
};

void
cs_post_reserve(struct cs_node_op *op, struct cs_post *post, bool is_left)
{
	post->posted = 0;
	post->only = post->slot = NULL;
	post->line = NULL;
	/* Without rounds no way was chosen. */
	if (post->rounds && ways[post->way].reserve)
		ways[post->way].reserve(op, post, is_left);
}

bool
cs_post_open(struct cs_node_op *op, struct cs_post *post)
{
	const struct way *way = &ways[post->way];
	if (!(post->line = cs_node_try_line(op)))
		return false;
	cs_line_say(op, post->line, post->bytes);
	if (way->is_only && !(post->only = way->only(op, post)))
		return false;
	if (post->way == CS_POST_SINGLE_COPY && post->number >= CS_SLOT_FEW)
		post->only = cs_node_small(op, post->number);
	if (post->way == CS_POST_INLINE)
		return true;
	post->line->slot = post->number;
	post->line->word[0] = post->way;
	post->line->word[1] = post->address;
	post->line->word[2] = post->stride;
	if (post->way == CS_POST_SINGLE_COPY)
		cs_post_say_place(post->line, post->address
				  ? cs_shared_find((const void *)(uintptr_t)post->address,
						   post->bytes) : (struct cs_shared_place){ 0 });
	return true;
}

char *
cs_post_room_until(struct cs_node_op *op, struct cs_post *post, uint64_t step)
{
	if (post->only)
		return post->only;
	if (post->pieces <= 1 || post->posted % post->pieces == 0)
		return post->slot = cs_node_slot(op, step, used_bytes(op->node, post), false);
	cs_node_slot_until(op, step);
	return post->slot += cs_piece_room(post->chunk);
}

char *
cs_post_room(struct cs_node_op *op, struct cs_post *post)
{
	/* The slot is in use until all are done with the last of its pieces. */
	uint64_t pieces = post->pieces > 1 ? post->pieces : 1, end = (post->posted / pieces + 1) *
								     pieces;
	return cs_post_room_until(op, post, end < post->rounds ? end : post->rounds);
}
