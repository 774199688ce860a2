/* comm/teams/rma_window.h — a team's window (wire/rma_window.h): memory on each of its nodes that
 * ranks of other nodes write to, made when the first call asks for it. */
#ifndef CS_COMM_TEAMS_WINDOW_H
#define CS_COMM_TEAMS_WINDOW_H

#include "comm/teams/comm.h"

/* wire/host.h's `window`; `everyone`: of a seat. The window is the seat's; NULL: there is none. */
struct cs_rma_window *cs_host_window(void *everyone);
/* Closes the window and frees its memory, before the team's wires are closed. */
void cs_rma_drop(struct cs_seat *seat);

#endif
