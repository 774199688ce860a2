#include "algorithms/team.h"

#include "base/log.h"

#include <stdlib.h>

#define KEEP (4u << 20) /* a buffer above this is given back after the call */

static void
drop(struct cs_buffer *buffer)
{
	free(buffer->base);
	buffer->base = NULL;
	buffer->bytes = 0;
}

static void *
grow(struct cs_team *team, struct cs_buffer *buffer, size_t bytes)
{
	if (bytes > buffer->bytes) {
		size_t size = (bytes + 4095) & ~(size_t)4095;
		drop(buffer);
		buffer->base = aligned_alloc(64, size);
		if (!buffer->base) {
			cs_warn_local("no memory for %zu bytes in mid-call; ending the job", size);
			team->host->abort("out of memory");
		}
		buffer->bytes = size;
		team->is_heavy = team->is_heavy || size > KEEP;
	}
	return buffer->base;
}

void *
cs_team_scratch(struct cs_team *team, size_t bytes)
{
	return grow(team, &team->scratch, bytes);
}

void *
cs_team_copy(struct cs_team *team, size_t bytes)
{
	return grow(team, &team->copy, bytes);
}

void *
cs_team_far(struct cs_team *team, size_t bytes)
{
	return grow(team, &team->far, bytes);
}

void *
cs_team_part(struct cs_team *team, size_t bytes)
{
	return grow(team, &team->part, bytes);
}

void *
cs_team_plan_memory(struct cs_team *team, size_t bytes)
{
	return grow(team, &team->plan, bytes);
}

void
cs_team_relax_slow(struct cs_team *team)
{
	if (team->scratch.bytes > KEEP)
		drop(&team->scratch);
	if (team->copy.bytes > KEEP)
		drop(&team->copy);
	if (team->far.bytes > KEEP)
		drop(&team->far);
	if (team->part.bytes > KEEP)
		drop(&team->part);
	if (team->plan.bytes > KEEP)
		drop(&team->plan);
	team->is_heavy = false;
}
