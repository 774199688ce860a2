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

/* Has the node levels, and the call no more pieces than there are steps? */
static bool
is_hybrid(struct cs_op *op, size_t out, size_t bytes, uint64_t pieces)
{
	const struct cs_levels *levels = &op->team->shape.levels;
	bool is_wanted = out == CS_OUT_HYBRID ||
			 (out == CS_OUT_BY_SIZE && bytes >= levels->hybrid_from);
	return cs_relay_is_of_use(levels) && is_wanted && bytes &&
	       !(op->node.extras & (CS_OP_NONBLOCKING | CS_OP_SENDERS)) &&
	       cs_hier_of(op)->rounds <= CS_MOST_STEPS / (3 + pieces);
}

void
cs_copy_out_begin(struct cs_op *op, size_t out, size_t bytes, size_t limit, int home)
{
	struct cs_hier *hier = cs_hier_of(op);
	const struct cs_node *node = &op->team->node;
	const struct cs_levels *levels = &op->team->shape.levels;
	size_t chunk = cs_node_bcast_piece(node);
	uint64_t pieces = cs_chunks_rounds(limit, chunk);
	if (!is_hybrid(op, out, bytes, pieces))
		return;
	int self = levels->place[node->shape.local], large = levels->large;
	bool is_read;
	int from = cs_relay_source(levels, self, levels->place[home], levels->hybrid_fan, &is_read);
	bool is_home = levels->first[large][self] == levels->first[large][levels->place[home]];
	hier->pieces = (unsigned)pieces;
	if (is_home || (from == home && !is_read))
		return; /* as usual */
	hier->hybrid = cs_op_memory(op, CS_OP_HYBRID, sizeof *hier->hybrid);
	*hier->hybrid = (struct cs_hybrid){
		.from = from == home ? -1 : from, .is_read = is_read,
		.post = { .way = CS_POST_RING, .chunk = chunk, .rounds = CS_USES_UNKNOWN,
			  .bytes = bytes, .pieces = cs_post_pieces(node, chunk) } };
	if (is_read)
		cs_post_reserve(&op->node, &hier->hybrid->post, false);
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

enum cs_status
cs_copy_out_take(struct cs_op *op, const struct cs_hier_round *round)
{
	struct cs_hier *hier = cs_hier_of(op);
	struct cs_hybrid *hybrid = hier->hybrid;
	struct cs_post *post = &hybrid->post;
	uint64_t before = round->arrived + hier->kind->shares,
		 pieces = cs_chunks_rounds(round->count, post->chunk);
	hybrid->has_come = true;
	if (hybrid->is_read) {
		post->line = hier->line;
		post->line->slot = post->number;
		post->line->word[0] = hybrid->is_there ? 0 : CS_HIER_RING;
	}
	for (; !hybrid->is_there && hybrid->piece < pieces; hybrid->piece++)
		if (pass_on(op, round, before + hybrid->piece + 1) == CS_AGAIN)
			return CS_AGAIN;
	/* The round's last step: of no piece, and of those that a reader expects beyond. */
	if (hybrid->is_read)
		cs_node_publish(&op->node, post->line, before + hier->pieces);
	hybrid->has_come = false;
	hybrid->piece = 0;
	return CS_OK;
}
