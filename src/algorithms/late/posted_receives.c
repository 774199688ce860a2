/* algorithms/late/hearings.c hears words that may come late. */
#include "algorithms/late/hearings.h"

#include "base/log.h"
#include "wire/wire.h"

#include <stdlib.h>

uint64_t
cs_hearings_take(struct cs_team *team, struct cs_wire *wire, uint64_t count)
{
	if (!team->hearings)
		team->hearings = calloc(1, sizeof *team->hearings);
	if (!team->hearings) {
		cs_warn_local("no memory for the words of leaders; ending the job");
		team->host->abort("out of memory");
	}
	team->hearings->wire = wire;
	uint64_t first = team->hearings->next;
	team->hearings->next += count;
	return first;
}

static struct cs_hearing *
place_of(struct cs_team *team, uint64_t place)
{
	return &team->hearings->places[place % CS_HEARINGS];
}

bool
cs_hearing_begin(struct cs_team *team, uint64_t place, uint64_t number)
{
	struct cs_wire *wire = team->hearings->wire;
	struct cs_hearing *hearing = place_of(team, place);
	if (hearing->is_open && !wire->test(wire, &hearing->request))
		return false;
	hearing->is_open = true;
	wire->recv_any(wire, &hearing->request, number, &hearing->word, sizeof hearing->word);
	return true;
}

bool
cs_hearing_has_come(struct cs_team *team, uint64_t place, uint64_t *word)
{
	struct cs_wire *wire = team->hearings->wire;
	struct cs_hearing *hearing = place_of(team, place);
	if (!wire->test(wire, &hearing->request))
		return false;
	hearing->is_open = false;
	*word = hearing->word;
	return true;
}

void
cs_hearings_end(struct cs_team *team)
{
	struct cs_hearings *hearings = team->hearings;
	for (int i = 0; hearings && i < CS_HEARINGS; i++)
		if (hearings->places[i].is_open)
			hearings->wire->cancel(hearings->wire, &hearings->places[i].request);
	free(hearings);
	team->hearings = NULL;
}
