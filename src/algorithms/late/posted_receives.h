/* algorithms/late/posted_receives.h — receives of words that a rank may not need: each stays posted
 * until its word comes, maybe calls later, and the rank waits only for words that it needs.
 *
 *   call 7   every rank of a node is sent the rank of the leader above; its own leader needs that,
 *            and the others have left:   | word of call 5 | of 6 | of 7 | ..    64 places, in turn
 *
 * A word that nobody receives would be matched by a later call, once numbers come round
 * (wire/wire.h). So each place has a receive that is open until its word has come, or the team
 * ends; the place's next use waits for it. */
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
	uint64_t next; /* place, not reduced modulo CS_POSTED_RECEIVES */
	struct cs_posted_receive {
		struct cs_request request;
		uint64_t word;
		bool is_open;
	} places[CS_POSTED_RECEIVES];
};

/* Takes `count` consecutive places for words; returns the first. No memory: ends the job. */
uint64_t cs_posted_receives_take(struct cs_team *team, struct cs_wire *wire, uint64_t count);
/* Posts the receive of the word with that number. False: the place's last word has not come. */
bool cs_posted_receives_post(struct cs_team *team, uint64_t place, uint64_t number);
/* Has the word come? Not to be called again after true. */
bool cs_posted_receives_test(struct cs_team *team, uint64_t place, uint64_t *word);
/* Cancels all open receives, before the team's communicators are freed; frees their memory. */
void cs_posted_receives_end(struct cs_team *team);

#endif
