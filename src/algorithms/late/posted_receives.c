/* algorithms/late/posted_receives.c — receives of words that may come late. */
#include "algorithms/late/posted_receives.h"

#include "base/log.h"
#include "wire/wire.h"

#include <stdlib.h>

uint64_t
cs_posted_receives_take(struct cs_team *team, struct cs_wire *wire, uint64_t count)
{
	if (!team->posted_receives)
		team->posted_receives = calloc(1, sizeof *team->posted_receives);
	if (!team->posted_receives) {
		cs_warn_local("no memory for the words of leaders; ending the job");
		team->host->abort("out of memory");
	}
	team->posted_receives->wire = wire;
	uint64_t first = team->posted_receives->next;
	team->posted_receives->next += count;
	return first;
}

static struct cs_posted_receive *
place_of(struct cs_team *team, uint64_t place)
{
	return &team->posted_receives->places[place % CS_POSTED_RECEIVES];
}

bool
cs_posted_receives_post(struct cs_team *team, uint64_t place, uint64_t number)
{
	struct cs_wire *wire = team->posted_receives->wire;
	struct cs_posted_receive *posted = place_of(team, place);
	if (posted->is_open && !wire->test(wire, &posted->request))
		return false;
	posted->is_open = true;
	wire->recv_any(wire, &posted->request, number, &posted->word, sizeof posted->word);
	return true;
}

bool
cs_posted_receives_test(struct cs_team *team, uint64_t place, uint64_t *word)
{
	struct cs_wire *wire = team->posted_receives->wire;
	struct cs_posted_receive *posted = place_of(team, place);
	if (!wire->test(wire, &posted->request))
		return false;
	posted->is_open = false;
	*word = posted->word;
	return true;
}

void
cs_posted_receives_end(struct cs_team *team)
{
	struct cs_posted_receives *posted = team->posted_receives;
	for (int i = 0; posted && i < CS_POSTED_RECEIVES; i++)
		if (posted->places[i].is_open)
			posted->wire->cancel(posted->wire, &posted->places[i].request);
	free(posted);
	team->posted_receives = NULL;
}
