/* comm/engine.h — what a process has once: settings, selector, counts. */
#ifndef CS_COMM_ENGINE_H
#define CS_COMM_ENGINE_H

#include "base/settings.h"
#include "intercept/module_abi.h"
#include "select/select.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdbool.h>

enum cs_engine_state { CS_ENGINE_NEW, CS_ENGINE_OPEN, CS_ENGINE_CLOSED };

struct cs_engine {
	_Atomic int state;
	const struct cs_door *door;
	struct cs_settings settings;
	struct cs_selector *selector;
	uint64_t digest;      /* of all that must be equal on all ranks */
	bool is_reporting;
	bool is_init_seen;    /* and all of MPI_COMM_WORLD have agreed in MPI_Init, or try to */
	int world_rank, world_size;
	MPI_Group world;
	_Atomic uint64_t shm_bytes, shm_peak; /* of the segments that this process is attached to */
	_Atomic uint64_t teams_made, teams_alive, teams_refused;
	_Atomic uint64_t teams_again; /* made of a former team's memory */
	_Atomic uint64_t team_calls;  /* the host's collectives by which teams were made, or put
				       * off */
	uint64_t start_ns;                /* what opening the engine took, once MPI was there */
	_Atomic uint64_t first_team_ns;   /* and making the first team, with the waits for its other
					   * ranks; 0: none yet */
	_Atomic int single_copy;    /* of a team's node: 1 refused, 2 works; 0: not known yet */
	_Atomic int has_duplicated; /* by an MPI_Comm_idup that may hang us; ranks differ in it */
};

extern struct cs_engine cs_engine;

/* At module load: remembers the door; no MPI call. */
void cs_engine_load(const struct cs_door *door);
/* Opens the engine if MPI is initialised and not finalized; cheap when it is open. False: forward
 * the call. */
bool cs_engine_open(void);
/* Right after MPI was initialised: opens and lets all processes of MPI_COMM_WORLD agree that they
 * are alike; if not, the whole job stays with the host, with one line. Collective over
 * MPI_COMM_WORLD. */
void cs_engine_agree(void);

#endif
