/* sim/model.h — cost of a message: LogGP, and LogfP's f (seed 000, 4.3.1 and 4.3.2), for two ranks
 * on different nodes and for two on one.
 *
 *   sender    |o_s|                     the processor is busy, then the port takes the first byte
 *   port          |- (k-1) G -|- g -|   k bytes; the next message's first byte follows g later
 *   network       |--- L ---|
 *   port                    |- (k-1) G -|- g -|
 *   receiver                            |o_r|   once it waits for the message
 *
 * Beyond LogGP, each off while it is 0: ranks of a node share a network card (one queue each way)
 * and the memory's bus (one queue); copies and reductions take their rank's time, flags that it
 * awaits too.
 *
 * Times are whole picoseconds and rates whole femtoseconds per byte, so that equal times are equal
 * everywhere. */
#ifndef CS_SIM_MODEL_H
#define CS_SIM_MODEL_H

#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cs_loggp {
	int64_t L, o_send, o_recv, g; /* ps */
	int64_t o_send_min, o_recv_min; /* ps, of each message that follows another in a row
					 * (seed 000, 5.1.4): n of them take n o_s(n), o_s(n) = min
					 * + (o_send - min) / n; 0: as the first */
	int64_t G;                    /* fs per byte */
	int64_t f;                    /* so many messages in a row need no gap; LogGP: 1 */
};

/* Overhead of a message behind another one in a row. */
static inline int64_t
cs_loggp_further(int64_t first, int64_t further)
{
	return further ? further : first;
}

enum cs_level { CS_INTER, CS_INTRA, CS_LEVELS }; /* between nodes, inside one */

#define CS_MODEL_NAME 16

struct cs_model {
	char name[CS_MODEL_NAME]; /* "hdr-like"; "given" if it differs from the built-in one */
	const char *origin;       /* where its numbers come from; NULL: from the user */
	struct cs_loggp level[CS_LEVELS];
	int64_t copy, reduce; /* fs per byte of the result */
	int64_t nic_g, nic_G; /* the card that a node's ranks share: ps per message, fs per byte */
	int64_t bus;          /* the memory that they share: fs per byte of a copy, reduction or
			       * message inside */
	int64_t flag;         /* ps from a flag in a node's memory to the rank that awaits it */
	int64_t rndv;         /* messages of more bytes leave when their receiver is there; 0: none
			       * has to; rts: 1: and when it has been asked (sim/sim.h) */
	int64_t rts, look;    /* ps of a look at a call that is under way */
	/* ps, of a player's single copies (process_vm_readv), besides their bytes: a call, a page
	 * in it, and a page for each other rank that reads of the same owner meanwhile. cma 0: the
	 * ranks cannot read each other's memory. */
	int64_t cma, cma_page, cma_crowd;
};

/* Built in: "hdr-like", "10gbe-like", "mt25204", "mt23108", "cx6-hdr". Ended by an empty name. */
extern const struct cs_model cs_models[];

/* "hdr-like", "hdr-like,L=2e-6", "L=1e-6,o=3e-7,G=4e-11": a built-in model or nothing, then keys
 * with seconds, or seconds per byte:
 *
 *   L os or o g G f     between nodes (o: os and or; f: a count); intra.L ... inside a node
 *   osmin ormin         os and or of the further messages of a row
 *   copy reduce nic.g nic.G bus flag look rndv (bytes) rts (0 or 1) cma cma.page
 *   cma.crowd
 *
 * Without a built-in model missing keys are 0 (f: 1); inside a node the keys between nodes hold if
 * no intra key is given. CS_BAD_INPUT: `complaint` says what is wrong and what was expected, *model
 * is unchanged. */
CS_CHECKED enum cs_status cs_model_read(const char *text, struct cs_model *model, char *complaint,
					size_t room);

/* Load of a plan: its longest chain of messages, and the work of its busiest rank. */
struct cs_load {
	uint64_t rounds;                 /* messages that wait for one another */
	uint64_t sent, received;         /* messages of that rank */
	uint64_t sent_bytes, received_bytes;
	uint64_t copied, hidden, reduced; /* bytes; hidden: those copied while messages are under
					   * way */
};

/* Cost of a load between nodes, in closed form, ps. The chain pays `rounds` times o_s + L + o_r,
 * and G for its bytes. Messages of the busiest rank beyond one in each round (linear: all but one)
 * come on top: the processor's o_s and o_r (min) for each, or the port's gaps and bytes,
 * whichever takes longer; f - 1 of a round need no gap.
 *
 *   linear scatter     o_s + L + o_r + (k-1) G + (p-2) max(o_s, g + (k-1) G)
 *   modified ring      the same with o_s + o_r in the brackets
 *   ring, trees with one child at a time (k bytes in all)  rounds (o_s + L + o_r) + (k - rounds) G
 *
 * These are seed 000's (5.1 to 5.3) and what the simulator finds; where it is told roughly
 * (pipelines, trees that are not full) a test says how far off it may be. Copies and reductions are
 * that rank's; hidden copies take time only where they take longer than the messages. There is no
 * rendezvous. Whole numbers: equal on all ranks for equal models. */
int64_t cs_model_cost(const struct cs_model *model, const struct cs_load *load);

#define CS_MODEL_TEXT 640
/* All keys, as cs_model_read reads them, optional ones if they are not 0. Returns `text`. */
const char *cs_model_text(char text[CS_MODEL_TEXT], const struct cs_model *model);

#endif
