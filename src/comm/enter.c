/* comm/enter.c — a communicator that is not in the cache: opens the engine if need be. */
#include "comm/enter.h"

#include "comm/engine.h"
#include "comm/host/flavour.h"

#include <errno.h>

/* Saves errno, which is the program's, since files may be read and memory allocated here. If the
 * handle is certainly no communicator, the host reports the error. */
struct cs_comm *
cs_comm_enter_slow(MPI_Comm comm)
{
	int saved = errno;
	bool is_plausible = comm != MPI_COMM_NULL &&
			    cs_handle_is_comm(cs_flavour.handles, (uintptr_t)comm);
	struct cs_comm *communicator = is_plausible && cs_engine_open() ? cs_comm_find(comm) : NULL;
	errno = saved;
	return communicator;
}
