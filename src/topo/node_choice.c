/* topo/node_choice.c — sizes and ranks from which on levels win by their prices. */
#include "topo/node_cost.h"

#include <stdio.h>

#define FEW 16 /* ranks up to which a copy-out is flat */
#define SHORTEST 8192 /* bytes of a hybrid copy-out */
#define LONGEST ((size_t)64 << 20)

bool
cs_node_wants_levels(const struct cs_node_price *price)
{
	return price->levels.time < price->flat.time / 10 * 9;
}

int
cs_node_border(const struct cs_node_model *model, const struct cs_node_groups *shape, int most,
	       enum cs_coll coll, size_t bytes)
{
	struct cs_node_price price;
	int border = most + 1;
	for (; border > 2; border--) {
		cs_node_price(model, shape, border - 1, coll, bytes, &price);
		if (!cs_node_wants_levels(&price))
			break;
	}
	return border > most ? 0 : border;
}

size_t
cs_node_hybrid_from(const struct cs_node_model *model, const struct cs_node_groups *shape,
		    int ranks, size_t *fan)
{
	struct cs_node_price price;
	size_t found = SIZE_MAX;
	if (ranks <= FEW || shape->ranks < 2)
		return SIZE_MAX;
	for (size_t bytes = LONGEST; bytes >= SHORTEST; bytes /= 2) {
		cs_node_price_copy_out(model, shape, ranks, bytes, &price);
		if (!cs_node_wants_levels(&price))
			break;
		found = bytes;
		*fan = (size_t)price.levels.down[CS_SAME_PACKAGE];
	}
	return found;
}

const char *
cs_node_fans(char text[CS_NODE_FANS_TEXT], const struct cs_node_way *way)
{
	const int *up = way->up, *down = way->down;
	bool has_up = up[0] || up[1] || up[2], has_down = down[0] || down[1] || down[2];
	size_t length = 0;
	*text = '\0';
	if (has_up)
		length = (size_t)snprintf(text, CS_NODE_FANS_TEXT, "%d/%d/%d up%s", up[0], up[1],
					  up[2], has_down ? ", " : "");
	if (has_down)
		snprintf(text + length, CS_NODE_FANS_TEXT - length, "%d/%d/%d down", down[0],
			 down[1], down[2]);
	return text;
}
