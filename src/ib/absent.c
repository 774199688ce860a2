/* ib/absent.c — a build without verbs (-Dverbs=disabled): no device is ever opened, so that of what
 * follows only cs_ib_open is called, and teams agree on the host's messages. */
#include "ib/ib.h"
#include "ib/rma_window.h"

#include <stdio.h>

enum cs_status
cs_ib_open(struct cs_ib **ib, const struct cs_verbs *verbs, const struct cs_ib_options *options,
	   char *why, size_t room)
{
	snprintf(why, room, "collshim was built without verbs (-Dverbs=disabled)");
	return CS_UNSUPPORTED;
}

void
cs_ib_close(struct cs_ib *ib)
{
}

const char *
cs_ib_name(const struct cs_ib *ib)
{
	return "none";
}

void
cs_ib_progress(struct cs_ib *ib)
{
}

void
cs_ib_count(struct cs_ib *ib, struct cs_ib_counters *counters)
{
	*counters = (struct cs_ib_counters){ 0 };
}

void
cs_ib_trial_begin(struct cs_ib *ib)
{
}

bool
cs_ib_trial_end(struct cs_ib *ib, char *text, size_t room)
{
	if (room)
		*text = '\0';
	return false;
}

void *
cs_ib_pin(struct cs_ib *ib, void *base, size_t bytes)
{
	return NULL;
}

void
cs_ib_unpin(struct cs_ib *ib, void *pin)
{
}

struct cs_wire *
cs_ib_wire_open(struct cs_ib *ib, const struct cs_ib_group *group)
{
	return NULL;
}

void
cs_ib_wire_close(struct cs_wire *wire)
{
}

enum cs_ib_way
cs_ib_wire_way(const struct cs_wire *wire, int peer)
{
	return CS_IB_BY_HOST;
}

struct cs_rma_window *
cs_ib_window_open(struct cs_wire *wire, uint64_t tag, const struct cs_ib_window_group *group,
		  const char **why)
{
	*why = "collshim was built without verbs";
	return NULL;
}

void
cs_ib_window_close(struct cs_rma_window *window, bool is_used)
{
}
