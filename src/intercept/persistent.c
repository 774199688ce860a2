/* intercept/persistent.c — MPI_Start, MPI_Startall and MPI_Request_free (MPI 4.0, 3.9), which start
 * and free the persistent collectives that are served here. */
#include "intercept/entry.h"

#include "comm/calls/persistent.h"
#include "comm/engine.h"

#include <stdlib.h>
#include <string.h>

#define NEXT(name) ((__typeof__(&cs_entry_##name))cs_engine.door->next[CS_CALL_##name])

#define PERSISTENT_CALLS(ROW) ROW(Request_free) ROW(Start) ROW(Startall)

static void
take_persistent(void)
{
#define TAKE(name) cs_engine.door->set(CS_CALL_##name, (void *)cs_entry_##name);
	PERSISTENT_CALLS(TAKE)
#undef TAKE
}

void
cs_persistent_leave(void **entries)
{
#define LEAVE(name) entries[CS_CALL_##name] = NULL;
	PERSISTENT_CALLS(LEAVE)
#undef LEAVE
	cs_persistents_first = take_persistent;
}

int
cs_entry_Start(MPI_Request *request)
{
	MPI_Request before = request ? *request : MPI_REQUEST_NULL;
	int result = NEXT(Start)(request);
	if (result == MPI_SUCCESS)
		cs_persistents_start(1, &before, request);
	return result;
}

int
cs_entry_Startall(int count, MPI_Request requests[])
{
	MPI_Request few[32], *before = few;
	if (count <= 0 || !requests)
		return NEXT(Startall)(count, requests);
	if (count > 32)
		before = malloc((size_t)count * sizeof *before);
	if (before)
		memcpy(before, requests, (size_t)count * sizeof *before);
	int result = NEXT(Startall)(count, requests);
	if (result == MPI_SUCCESS)
		cs_persistents_start(count, before ? before : requests, requests);
	if (before != few)
		free(before);
	return result;
}

int
cs_entry_Request_free(MPI_Request *request)
{
	MPI_Request before = request ? *request : MPI_REQUEST_NULL;
	int result = NEXT(Request_free)(request);
	if (result == MPI_SUCCESS)
		cs_persistent_free(before);
	return result;
}
