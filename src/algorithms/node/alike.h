/* node/alike.h — lines of calls in which a rank looks at few others, and hears of the rest through
 * them: one that finds another size stops, and says so in its lines, and then so do all that read
 * these. */
#ifndef CS_ALGORITHMS_NODE_ALIKE_H
#define CS_ALGORITHMS_NODE_ALIKE_H

#include "shm/node.h"

/* In the size of a line: the rank has stopped, since another one's size, or that of one whose lines
 * it has read, is another; and that is a longer one. */
#define CS_ALIKE_STOPPED ((uint64_t)1 << (CS_SIGNATURE_SHIFT - 1))
#define CS_ALIKE_LONGER ((uint64_t)1 << (CS_SIGNATURE_SHIFT - 2))

/* To be called before each publication of the own line, which has the size in its signature. */
static inline void
cs_alike_say(const struct cs_node_op *op, struct cs_line *line)
{
	if (__builtin_expect(op->outcome.bits & CS_OUTCOME_STOPPED, 0))
		line->said |= CS_ALIKE_STOPPED |
			      (op->outcome.bits & CS_OUTCOME_LONGER ? CS_ALIKE_LONGER : 0);
}

/* cs_node_look; notes another size, with a word to the program's user where the first rank finds
 * it. */
const struct cs_line *cs_alike_note(struct cs_node_op *op, int local, const struct cs_line *line);
static inline const struct cs_line *
cs_alike_look(struct cs_node_op *op, int local, uint64_t step)
{
	const struct cs_line *line = cs_node_look(op, local, step);
	return !line || __builtin_expect(line->said == op->signature, 1)
	       ? line : cs_alike_note(op, local, line);
}

#endif
