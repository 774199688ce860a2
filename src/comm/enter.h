/* comm/enter.h — the entry of a collective call: its communicator's cs_comm. */
#ifndef CS_COMM_ENTER_H
#define CS_COMM_ENTER_H

#include "comm/teams/comm.h"

struct cs_comm *cs_comm_enter_slow(MPI_Comm comm);

/* The cs_comm for a collective call on `comm`; NULL if the call is the host's (no communicator, one
 * that is being freed, MPI not initialised, library closed). seat->selection.team serves. */
static inline struct cs_comm *
cs_comm_enter(MPI_Comm comm)
{
	struct cs_comm *communicator =
	      atomic_load_explicit(&cs_comm_cache[cs_comm_index(comm)], memory_order_acquire);
	if (__builtin_expect(communicator && communicator->comm == comm, 1))
	      return communicator;
	return cs_comm_enter_slow(comm);
}

#endif
