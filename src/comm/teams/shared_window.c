/* comm/teams/shared_window.c — notes shared windows. An attribute of the window tells when it is
 * freed, by whatever name. */
#include "comm/teams/shared_window.h"

#ifndef CS_STANDARD_ABI
#include "comm/host/pmpi.h"
#include "shm/shared.h"

#include <pthread.h>
#include <stdlib.h>

static int keyval = MPI_KEYVAL_INVALID;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static int
on_delete(MPI_Win win, int key, void *owner, void *extra)
{
	(void)win;
	(void)key;
	(void)extra;
	cs_shared_remove(owner);
	free(owner);
	return MPI_SUCCESS;
}

static bool
has_key(void)
{
	pthread_mutex_lock(&lock);
	if (keyval == MPI_KEYVAL_INVALID &&
	    cs_pmpi.Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &keyval, NULL))
		keyval = MPI_KEYVAL_INVALID;
	pthread_mutex_unlock(&lock);
	return keyval != MPI_KEYVAL_INVALID;
}

void
cs_shared_window_add(MPI_Comm comm, MPI_Win win)
{
	struct cs_mapping mapping = { 0 };
	int ranks = 0, unit;
	MPI_Aint bytes;
	void *memory, *owner;
	if (!cs_pmpi.Win_shared_query || !cs_pmpi.Win_create_keyval || !cs_pmpi.Win_set_attr ||
	    cs_pmpi.Comm_size(comm, &ranks) || ranks < 2 || !has_key() || !(owner = malloc(1)))
		return;
	if (cs_pmpi.Win_set_attr(win, keyval, owner)) {
		free(owner);
		return;
	}
	for (int rank = 0; rank < ranks; rank++)
		if (!cs_pmpi.Win_shared_query(win, rank, &bytes, &unit, &memory) && bytes > 0)
			cs_shared_add(owner, memory, (size_t)bytes, &mapping);
}
#endif
