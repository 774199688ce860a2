/* comm/teams/rma_window.h — a team's window (wire/rma_window.h): memory on each of its nodes that
 * ranks of other nodes write to, made when the first call asks for it. */
#ifndef CS_COMM_TEAMS_WINDOW_H
#define CS_COMM_TEAMS_WINDOW_H

#include "comm/teams/comm.h"

/* As wire/host.h's `window`; `everyone` is a seat's. */
struct cs_rma_window *cs_host_window(void *everyone);
/* Gives it back, before the team's wires are closed. */
void cs_rma_drop(struct cs_seat *seat);

#endif
