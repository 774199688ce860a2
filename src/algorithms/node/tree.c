/* node/tree.c — collect and tell along the tree of a small call. */
#include "algorithms/node/tree.h"

#include "algorithms/node/alike.h"
#include "algorithms/node/rank_order.h"
#include "algorithms/node/small.h"

#include <string.h>

/* --- arithmetic ------------------------------------------------------------------------------- */

/* The lowest level at which the rank of this place does not lead its group; the number of levels:
 * it is the root. */
static int
level_of(const struct cs_levels *levels, int place, int root)
{
	int level = 0;
	while (level < levels->count && cs_levels_leader(levels, level, place, root) == place)
		level++;
	return level;
}

/* The places that a rank, with all below it, collects from. */
static void
subtree(const struct cs_levels *levels, int place, int root, int *first, int *end)
{
	int level = level_of(levels, place, root);
	*first = level ? levels->first[level - 1][place] : place;
	*end = level ? levels->end[level - 1][place] : place + 1;
}

void
cs_tree_begin(struct cs_tree *tree, const struct cs_levels *levels, enum cs_tree_sizes sizes,
	      int self, int root, size_t each)
{
	*tree = (struct cs_tree){ .levels = levels, .sizes = sizes, .most = each, .stride = each,
				  .root = levels->place[root],
				  .self = levels->place[self], .each = each, .parent = -1 };
	int level = level_of(levels, tree->self, tree->root);
	if (level < levels->count)
		tree->parent = cs_levels_leader(levels, level, tree->self, tree->root);
	subtree(levels, tree->self, tree->root, &tree->first, &tree->end);
	tree->next = levels->first[0][tree->self];
}

/* The place behind the member at `place` of a group of that level. */
static int
behind(const struct cs_levels *levels, int level, int place)
{
	return level ? levels->end[level - 1][place] : place + 1;
}

int
cs_tree_child(struct cs_tree *tree, int *first, int *end)
{
	const struct cs_levels *levels = tree->levels;
	int level;
	while ((level = tree->level) < levels->count &&
	       cs_levels_leader(levels, level, tree->self, tree->root) == tree->self) {
		int place = tree->next;
		if (place >= levels->end[level][tree->self]) {
			tree->level++;
			tree->next = level + 1 < levels->count
				     ? levels->first[level + 1][tree->self] : 0;
			continue;
		}
		int to = behind(levels, level, place);
		if (place > tree->self || tree->self >= to) {
			*first = place;
			*end = to;
			return level ? cs_levels_leader(levels, level - 1, place, tree->root)
				     : place;
		}
		tree->next = to;
	}
	return -1;
}

const struct cs_line *
cs_alike_note(struct cs_node_op *op, int local, const struct cs_line *line)
{
	uint64_t said = line->said, size = said & (CS_ALIKE_LONGER - 1),
		 own = op->signature & (CS_ALIKE_LONGER - 1);
	if (!(said & CS_ALIKE_STOPPED))
		return cs_node_unlike(op, local, line);
	op->outcome.bits |= (size == own ? said & CS_ALIKE_LONGER : size > own)
			    ? CS_OUTCOME_LONGER : CS_OUTCOME_MISMATCH;
	return line;
}

/* --- lines ------------------------------------------------------------------------------------ */

/* Takes the own line, unless it was taken. */
static bool
has_line(struct cs_op *op, struct cs_tree *tree)
{
	if (!tree->line)
		tree->line = cs_node_try_line(&op->node);
	return tree->line;
}

/* Memory for `bytes` that the own line is to tell of: in it, or its small slot. */
static char *
room_for(struct cs_op *op, struct cs_tree *tree, size_t bytes)
{
	if (bytes <= CS_INLINE)
		return (char *)tree->line->data;
	tree->line->word[0] = CS_POST_SMALL;
	tree->line->slot = cs_node_small_slot(&op->node, bytes);
	return cs_node_small(&op->node, tree->line->slot);
}

#define MOST_SHIFT 16 /* bits of a distance of blocks */
_Static_assert(CS_SMALL < 1 << MOST_SHIFT, "a line has room for two sizes");

static void
publish(struct cs_op *op, struct cs_tree *tree, uint64_t step)
{
	uint64_t bytes = tree->stride;
	if (tree->sizes == CS_TREE_BLOCKS)
		cs_line_say(&op->node, tree->line, tree->most << MOST_SHIFT | bytes);
	else if (tree->sizes == CS_TREE_VECTOR)
		cs_line_say(&op->node, tree->line, bytes);
	else
		cs_alike_say(&op->node, tree->line);
	cs_node_publish(&op->node, tree->line, step);
}

/* The line of the rank at a place, if it is there. */
static const struct cs_line *
look(struct cs_op *op, const struct cs_tree *tree, int place, uint64_t step)
{
	int local = tree->levels->order[place];
	return tree->sizes == CS_TREE_ALIKE ? cs_alike_look(&op->node, local, step)
					    : cs_node_look(&op->node, local, step);
}

/* --- collect ---------------------------------------------------------------------------------- */

/* Blocks that a rank collects for these places, and those before a place. */
static size_t
blocks_in(const struct cs_tree *tree, int first, int end)
{
	return tree->fold ? 1 : (size_t)(end - first);
}

static char *
room_of(const struct cs_tree *tree, int place)
{
	return tree->room + (tree->fold ? 0 : (size_t)(place - tree->first) * tree->each);
}

/* Packs a child's blocks, which may have other sizes. */
static void
pack(struct cs_op *op, struct cs_tree *tree, int child, const struct cs_line *line, int first,
     int end)
{
	size_t each = tree->each, stride = each, blocks = blocks_in(tree, first, end);
	char *to = room_of(tree, first);
	if (tree->sizes == CS_TREE_BLOCKS) {
		size_t most = cs_line_bytes(line) >> MOST_SHIFT;
		tree->most = most > tree->most ? most : tree->most;
		stride = cs_line_bytes(line) % (1 << MOST_SHIFT);
	}
	if (stride * blocks > CS_SMALL)
		return; /* another call's */
	const char *from = cs_small_find(op, tree->levels->order[child], line, stride * blocks);
	if (tree->fold)
		cs_rank_order_reduce(op, tree->fold, to, (const void *[]){ to, from }, 2,
				     each / tree->fold->unit);
	else if (stride == each)
		cs_copy_own(op, to, from, each * blocks);
	else
		for (size_t i = 0; i < blocks; i++)
			cs_copy_own(op, to + i * each, from + i * stride,
				    stride < each ? stride : each);
}

bool
cs_tree_collect(struct cs_op *op, struct cs_tree *tree, uint64_t step)
{
	bool is_root = tree->parent < 0;
	int first, end, child;
	if (!is_root && !has_line(op, tree))
		return false;
	if (!tree->room) {
		tree->room = is_root ? tree->all
			     : room_for(op, tree, tree->each * blocks_in(tree, tree->first,
									 tree->end));
		char *to = room_of(tree, tree->self);
		if (to != tree->own) /* in place */
			cs_copy_own(op, to, tree->own, tree->each);
	}
	while ((child = cs_tree_child(tree, &first, &end)) >= 0) {
		const struct cs_line *line = look(op, tree, child, step);
		if (!line)
			return false;
		pack(op, tree, child, line, first, end);
		tree->next = end;
	}
	if (!is_root)
		publish(op, tree, step);
	return true;
}

/* A local rank's block of those that the root has collected. */
static char *
collected(const struct cs_tree *tree, int local)
{
	return tree->all + (size_t)tree->levels->place[local] * tree->each;
}

void
cs_tree_reduce(struct cs_op *op, const struct cs_tree *tree, char *out)
{
	int size = tree->levels->size;
	const void *from[size];
	for (int local = 0; local < size; local++)
		from[local] = collected(tree, local);
	cs_rank_order_reduce(op, &op->call.reduction, out, from, size, op->call.count);
}

void
cs_tree_scan(struct cs_op *op, const struct cs_tree *tree)
{
	const struct cs_call *call = &op->call;
	bool is_exclusive = call->coll == CS_EXSCAN;
	int size = tree->levels->size;
	for (int local = 1; local < size - is_exclusive; local++) {
		char *own = collected(tree, local);
		const void *from[] = { collected(tree, local - 1), own };
		cs_rank_order_reduce(op, &call->reduction, own, from, 2, call->count);
	}
	for (int local = size - 1; is_exclusive && local; local--)
		cs_copy_own(op, collected(tree, local), collected(tree, local - 1), tree->each);
}

/* --- tell ------------------------------------------------------------------------------------- */

static size_t
blocks_of(const struct cs_tree *tree, enum cs_tree_part part, int place, int *first)
{
	int end;
	*first = 0;
	if (part == CS_TREE_SUBTREE) {
		subtree(tree->levels, place, tree->root, first, &end);
		return (size_t)(end - *first);
	}
	return part == CS_TREE_ALL ? (size_t)tree->levels->size : 1;
}

/* The told data of the parent's line, from the own part on; NULL: none. */
static const char *
told_by_parent(struct cs_op *op, struct cs_tree *tree, enum cs_tree_part part,
	       const struct cs_line *line)
{
	int first;
	size_t blocks = blocks_of(tree, part, tree->parent, &first), said = cs_line_bytes(line);
	if (tree->sizes == CS_TREE_BLOCKS) {
		tree->most = said >> MOST_SHIFT;
		tree->stride = said % (1 << MOST_SHIFT);
	} else if (tree->sizes == CS_TREE_VECTOR) {
		tree->stride = said;
	}
	if (op->node.outcome.bits & CS_OUTCOME_STOPPED || tree->stride > CS_SMALL ||
	    tree->stride * blocks > CS_SMALL)
		return NULL;
	const char *from = cs_small_find(op, tree->levels->order[tree->parent], line,
					 tree->stride * blocks);
	return part == CS_TREE_SUBTREE ? from + (size_t)(tree->first - first) * tree->stride : from;
}

bool
cs_tree_tell(struct cs_op *op, struct cs_tree *tree, uint64_t step, enum cs_tree_part part,
	     const char *from)
{
	int first;
	if (tree->parent >= 0) {
		const struct cs_line *line = look(op, tree, tree->parent, step);
		if (!line)
			return false;
		from = told_by_parent(op, tree, part, line);
	}
	tree->told = from;
	if (tree->end - tree->first == 1)
		return true;
	if (!has_line(op, tree))
		return false;
	size_t bytes = tree->stride * blocks_of(tree, part, tree->self, &first);
	if (from && bytes) {
		char *room = room_for(op, tree, bytes);
		cs_copy_own(op, room, from, bytes);
		tree->told = room;
	}
	publish(op, tree, step);
	return true;
}
