/* plan/draw.h — pictures of the plans of all ranks of one problem: as text, and as a time line in
 * SVG.
 *
 *   rank  round 1  round 2
 *   0     ->2 8                     sends, receives, copies and reductions, with peer and bytes
 *         ->1 8
 *   1     <-0 8                     (bcast:binomial, 4 ranks)
 *   2     <-0 8    ->3 8
 *   3              <-2 8
 *
 * A message's round is one more than the most messages that had to come one after another before
 * its sender began it, so that the last round is cs_verdict.rounds. Copies and reductions are in
 * the round of the last message before them; with none before them they are in the column "start".
 *
 * Draws what the plans say: whether they are right is for plan/verify.h. */
#ifndef CS_PLAN_DRAW_H
#define CS_PLAN_DRAW_H

#include "plan/plan.h"

#include <stdio.h>

struct cs_drawn_step {
	uint32_t round;   /* SEND, RECV: of the message; else of the rank when it came to this
			   * step */
	size_t peer_step; /* SEND, RECV: the other half in the peer's plan */
};

struct cs_drawing {
	struct cs_plan *plans; /* by rank; its own, without loops */
	int ranks;
	uint32_t rounds;
	uint64_t messages, bytes, most_bytes; /* as in cs_verdict */
	struct cs_drawn_step **steps;         /* by rank, by step, a loop's once for each time */
};

/* When a step began and ended, in any unit. A message is drawn from the begin of its SEND to the
 * end of its RECV; the time of a WAIT as idle. */
struct cs_step_time {
	double begin, end;
};

/* CS_BAD_INPUT: some message has no other half of its size, a rank waits for ever, or a loop cannot
 * be. */
CS_CHECKED enum cs_status cs_drawing_init(struct cs_drawing *drawing, const struct cs_plan *plans,
					  int ranks);
void cs_drawing_fini(struct cs_drawing *drawing);

/* Ranks are rows, rounds columns. */
CS_CHECKED enum cs_status cs_drawing_write_text(const struct cs_drawing *drawing, FILE *file);

/* Ranks are lines, messages arrows between them, coloured by cs_step.note, copies and reductions
 * boxes on them; a text under the mouse says what each is. Without times a round is 1 long:
 * messages, then what is done with them. `times` by rank, by step, in `unit` ("us"); NULL:
 * rounds. */
CS_CHECKED enum cs_status cs_drawing_write_svg(const struct cs_drawing *drawing, const char *title,
					       const struct cs_step_time *const *times,
					       const char *unit, FILE *file);

#endif
