/* hier/copy_out.c — ways of the copy-out. */
#include "algorithms/hier/copy_out.h"

#include "algorithms/hier/hier.h"
#include "algorithms/node/bcast.h"
#include "algorithms/node/chunks.h"
#include "algorithms/node/copies.h"
#include "algorithms/node/relay.h"

void
cs_copy_out_by_host(struct cs_op *op, int root, char *from, char *to, size_t bytes)
{
	struct cs_team *team = op->team;
	bool is_root = team->node.shape.local == root;
	cs_op_note(op, team->host->bcast(team->locals, is_root ? from : to, bytes, root, NULL));
	if (is_root && from != to)
		cs_copy_result(op, to, from, bytes);
}

/* --- hybrid ----------------------------------------------------------------------------------- */

/* Vectors that may come in the lines of a tree are never for it. */
static size_t
least_of(const struct cs_op *op, size_t out)
{
	const struct cs_levels *levels = &op->team->shape.levels;
	size_t least = out == CS_OUT_HYBRID ? 0
		       : out == CS_OUT_BY_SIZE ? levels->hybrid_from : SIZE_MAX;
	return least > CS_SMALL ? least : CS_SMALL + 1;
}

void
cs_copy_out_begin(struct cs_op *op, size_t out, size_t bytes, size_t limit, int home)
{
	struct cs_hier *hier = cs_hier_of(op);
	uint64_t pieces = cs_chunks_rounds(limit, cs_node_bcast_piece(&op->team->node));
	size_t least = least_of(op, out);
	if (least == SIZE_MAX || !cs_relay_is_of_use(&op->team->shape.levels) ||
	    op->node.extras & (CS_OP_NONBLOCKING | CS_OP_SENDERS) ||
	    hier->rounds > CS_MOST_STEPS / (3 + pieces))
		return;
	hier->pieces = (unsigned)pieces;
	hier->hybrid = cs_op_memory(op, CS_OP_HYBRID, sizeof *hier->hybrid);
	*hier->hybrid = (struct cs_hybrid){ .home = home, .least = least, .bytes = bytes };
}

/* Takes the rank's place in the tree of rings; false: it copies out as usual. */
static bool
take_place(struct cs_op *op)
{
	struct cs_hybrid *hybrid = cs_hier_of(op)->hybrid;
	const struct cs_node *node = &op->team->node;
	const struct cs_levels *levels = &op->team->shape.levels;
	int self = levels->place[node->shape.local], home = levels->place[hybrid->home];
	const int *first = levels->first[levels->large];
	int from = cs_relay_source(levels, self, home, levels->hybrid_fan, &hybrid->is_read);
	if (first[self] == first[home] || (from == hybrid->home && !hybrid->is_read))
		return false;
	size_t chunk = cs_node_bcast_piece(node);
	hybrid->from = from == hybrid->home ? -1 : from;
	hybrid->post = (struct cs_post){ .way = CS_POST_RING, .chunk = chunk,
					 .rounds = CS_USES_UNKNOWN, .bytes = hybrid->bytes,
					 .pieces = cs_post_pieces(node, chunk) };
	if (hybrid->is_read)
		cs_post_reserve(&op->node, &hybrid->post, false);
	return true;
}

enum cs_status
cs_copy_out_decide(struct cs_op *op, const struct cs_hier_round *round)
{
	struct cs_hier *hier = cs_hier_of(op);
	struct cs_hybrid *hybrid = hier->hybrid;
	bool by_tree = hier->by_tree & CS_HIER_HEAR;
	uint64_t step = round->arrived;
	hybrid->told = hybrid->bytes;
	if (by_tree) {
		hybrid->told = hier->tree->stride;
	} else if (hybrid->home != op->team->node.shape.local) {
		if (hier->kind->source)
			(void)hier->kind->source(op, round, hier->first_lane, &step);
		const struct cs_line *line = cs_node_look(&op->node, hybrid->home, step);
		if (!line)
			return CS_AGAIN;
		hybrid->told = cs_line_bytes(line);
	}
	hybrid->is_decided = true;
	if (hybrid->told < hybrid->least || !take_place(op))
		hier->hybrid = NULL;
	else if (by_tree && hier->kind->compare) /* else with the line, or by `take` */
		cs_node_bcast_compare(&op->node, &op->call, hybrid->told);
	return CS_OK;
}

/* A piece in the ring of the rank that is read, or `area`; NULL: not there yet. */
static const char *
find(struct cs_op *op, const struct cs_hybrid *hybrid, const char *area, uint64_t step)
{
	const struct cs_post *post = &hybrid->post;
	if (hybrid->from < 0)
		return area;
	const struct cs_line *line = cs_node_look(&op->node, hybrid->from, step);
	if (line && line->word[0] == CS_HIER_RING)
		return cs_post_find(&op->node, hybrid->from, line, hybrid->read, post->chunk,
				    post->pieces);
	return line ? area : NULL;
}

/* Passes on, and takes, the piece at hand. */
static enum cs_status
pass_on(struct cs_op *op, const struct cs_hier_round *round, uint64_t step)
{
	struct cs_hybrid *hybrid = cs_hier_of(op)->hybrid;
	struct cs_post *post = &hybrid->post;
	size_t at = hybrid->piece * post->chunk,
	       bytes = cs_chunks_bytes(round->count, post->chunk, hybrid->piece);
	const char *from = find(op, hybrid, round->area[0] + at, step);
	if (!from)
		return CS_AGAIN;
	if (hybrid->is_read) {
		char *room = cs_post_room_until(&op->node, post, step);
		if (!room)
			return CS_AGAIN;
		cs_copy_in(op, room, from, bytes);
		cs_post_publish_step(&op->node, post, step);
		from = room;
	}
	cs_hier_of(op)->kind->take_part(op, round, from, at, bytes);
	hybrid->read++;
	cs_node_done(&op->node, step);
	return CS_OK;
}

/* The line in which the ring's pieces are told: the tree's, if that has told of the round. */
static struct cs_line *
line_of(struct cs_op *op)
{
	struct cs_hier *hier = cs_hier_of(op);
	if (!hier->line && hier->by_tree)
		hier->line = hier->tree->line;
	if (!hier->line)
		hier->line = cs_node_try_line(&op->node);
	return hier->line;
}

enum cs_status
cs_copy_out_take(struct cs_op *op, const struct cs_hier_round *round)
{
	struct cs_hier *hier = cs_hier_of(op);
	struct cs_hybrid *hybrid = hier->hybrid;
	struct cs_post *post = &hybrid->post;
	uint64_t before = round->arrived + hier->kind->shares,
		 pieces = cs_chunks_rounds(round->count, post->chunk);
	/* Another size may be in another slot of the area: this rank's own look at that is its own
	 * matter. */
	bool passes = !hybrid->is_there && hybrid->told == hybrid->bytes;
	hybrid->has_come = true;
	if (hybrid->is_read) {
		if (!(post->line = line_of(op)))
			return CS_AGAIN;
		post->line->slot = post->number;
		post->line->word[0] = passes ? CS_HIER_RING : 0;
	}
	for (; passes && hybrid->piece < pieces; hybrid->piece++)
		if (pass_on(op, round, before + hybrid->piece + 1) == CS_AGAIN)
			return CS_AGAIN;
	if (!passes && !hybrid->is_there)
		hier->kind->take_part(op, round, round->area[0], 0, round->count);
	/* The round's last step: of no piece, and of those that a reader expects beyond. */
	if (hybrid->is_read)
		cs_node_publish(&op->node, post->line, before + hier->pieces);
	hybrid->has_come = false;
	hybrid->piece = 0;
	return CS_OK;
}
