/* hier/copy_out.c — ways of the copy-out. */
#include "algorithms/hier/copy_out.h"

#include "algorithms/node/copies.h"

void
cs_copy_out_by_host(struct cs_op *op, int root, char *from, char *to, size_t bytes)
{
	struct cs_team *team = op->team;
	bool is_root = team->node.shape.local == root;
	cs_op_note(op, team->host->bcast(team->locals, is_root ? from : to, bytes, root, NULL));
	if (is_root && from != to)
		cs_copy_result(op, to, from, bytes);
}
