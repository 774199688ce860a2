/* plan/drawn_run.h — steps that a drawing shows as one: in text a line, in SVG a box with the same
 * words. Private to plan. */
#ifndef CS_PLAN_DRAWN_RUN_H
#define CS_PLAN_DRAWN_RUN_H

#include "plan/draw.h"

#include <stdbool.h>

#define CS_DRAWN_TEXT 80

/* A copy or a reduction: a step that no other rank has a part in. */
static inline bool
cs_drawn_is_local(const struct cs_step *step)
{
	return step->kind == CS_STEP_COPY || step->kind == CS_STEP_REDUCE;
}

/* Number of consecutive copies, or reductions, from `first` on that one entry shows; 1 for other
 * steps. */
size_t cs_drawn_run(const struct cs_drawing *drawing, int rank, size_t first);
/* Writes a description of these `count` steps: "->2 8", "copy 64 in 3". */
void cs_drawn_say(char text[CS_DRAWN_TEXT], const struct cs_step *steps, size_t count);

#endif
