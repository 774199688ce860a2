/* algorithms/late/posted_receives.h — words for a rank that may not need them: it hears each of
 * them when it comes, maybe calls later, and waits for none but those that it needs.
 *
 *   call 7   every rank of a node is told who leads above it; the node's own leader needs that,
 *            and the others have left:   | word of call 5 | of 6 | of 7 | ..    64 places, in turn
 *
 * A word that nobody receives would be taken for one of a later call, once numbers come round
 * (wire/wire.h). So each place has a receive that is open until its word has come, or the team
 * ends; who comes to the place again waits for it. */
#ifndef CS_ALGORITHMS_LATE_POSTED_RECEIVES_H
#define CS_ALGORITHMS_LATE_POSTED_RECEIVES_H

#include "algorithms/team.h"
#include "wire/request.h"

#include <stdbool.h>
#include <stdint.h>

struct cs_wire;

#define CS_POSTED_RECEIVES 64 /* more than the words that an operation needs at a time */

struct cs_posted_receives {
	struct cs_wire *wire;
	uint64_t next; /* place */
	struct cs_posted_receive {
		struct cs_request request;
		uint64_t word;
		bool is_open;
	} places[CS_POSTED_RECEIVES];
};

/* Takes places for so many words that an operation of this rank will be told; the first one of
 * them, the others follow. */
uint64_t cs_posted_receives_take(struct cs_team *team, struct cs_wire *wire, uint64_t count);
/* Begins to hear the word of that number. False: the last one of the place has not come yet. */
bool cs_posted_receives_post(struct cs_team *team, uint64_t place, uint64_t number);
/* Has it come? It is asked for until it has, and not any more. */
bool cs_posted_receives_test(struct cs_team *team, uint64_t place, uint64_t *word);
/* Hears no more, before the team's communicators are freed. */
void cs_posted_receives_end(struct cs_team *team);

#endif
