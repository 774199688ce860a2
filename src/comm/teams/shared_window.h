/* comm/teams/shared_window.h — windows of MPI_Win_allocate_shared, as memory that ranks of a node
 * have in common (shm/shared.h). */
#ifndef CS_COMM_TEAMS_SHARED_WINDOW_H
#define CS_COMM_TEAMS_SHARED_WINDOW_H

#include <mpi.h>

#ifndef CS_STANDARD_ABI
/* Notes the memory of a window of all ranks of `comm`, until the window is freed. */
void cs_shared_window_add(MPI_Comm comm, MPI_Win win);
#endif

#endif
