/* base/settings.h — what the environment says. The only place that calls getenv.
 *
 * Read once per process; every COLLSHIM_* variable is a row of one table (settings.c), which is
 * also what collshim-info prints. An unknown COLLSHIM_* variable or a value that does not parse
 * gives one line that names the variable, the value and what was expected, and then the default is
 * used. An empty value counts as unset.
 *
 * Read cs_selector_limits() for team_after, shm_budget and wire: there these variables have already
 * been applied. */
#ifndef CS_BASE_SETTINGS_H
#define CS_BASE_SETTINGS_H

#include "base/wire_kind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum cs_shm_kind { CS_SHM_AUTO, CS_SHM_MEMFD, CS_SHM_NAMED, CS_SHM_OFF };
enum cs_ib_arrival { CS_ARRIVAL_COMPLETION, CS_ARRIVAL_FLAG };
enum cs_balance_kind {
	CS_BALANCE_MEASURED, /* behind it enum cs_balance in its order */
	CS_BALANCE_BALANCED,
	CS_BALANCE_MODERATE,
	CS_BALANCE_STRONG
};
enum cs_progress_kind { CS_PROGRESS_AUTO, CS_PROGRESS_CALLS, CS_PROGRESS_THREAD };
enum cs_switch { CS_SWITCH_AUTO, CS_SWITCH_ON, CS_SWITCH_OFF };

struct cs_settings {
	bool is_disabled;       /* COLLSHIM_DISABLE=1 */
	int verbosity;          /* COLLSHIM_VERBOSE=0|1|2 */
	const char *report;     /* COLLSHIM_REPORT: NULL off, "1" table on stderr, else the JSON
				 * file's path, in which %j, %a, %p, %h and %% have been replaced */
	bool is_profile;        /* COLLSHIM_PROFILE=1: the MPI does everything, and
				 * forcing, learning and non-blocking calls are off */
	const char *arrivals;   /* COLLSHIM_ARRIVALS: NULL off, else the path of the ranks' files,
				 * in which %j, %a, %p and %h have been replaced: see
				 * cs_settings_rank_path */
	int arrivals_limit;     /* COLLSHIM_ARRIVALS_LIMIT: calls that a rank records at most */
	const char *tuning;     /* COLLSHIM_TUNING: path, "builtin" (no file), or NULL (the
				 * installed one) */
	const char *adapt_file; /* COLLSHIM_ADAPT_FILE: absolute path of the tuning file that jobs
				 * read what they learnt from and add it to; NULL: none */
	const char *fake_nodes; /* COLLSHIM_FAKE_NODES: NULL, "K" (K equal nodes, block placed),
				 * "cyclic:K", or ranks per node "3,2,1" */
	int fake_domains;       /* COLLSHIM_FAKE_DOMAINS: take each node for so many NUMA domains;
				 * 0: what the machine has */
	const char *fake_levels; /* COLLSHIM_FAKE_LEVELS: base/fake_levels.h; NULL: what the
				  * machine has */
	enum cs_shm_kind shm;   /* COLLSHIM_SHM=auto|memfd|named|off */
	size_t shm_budget;      /* COLLSHIM_SHM_BUDGET: bytes of shared segments on one node and
				 * job; 0 = as the tuning file says */
	enum cs_switch cma;     /* COLLSHIM_CMA=auto|on|off: process_vm_readv */
	enum cs_switch streams; /* COLLSHIM_STREAM=auto|on|off: large copies past the cache
				 * (shm/copy.h) */
	size_t cow;             /* COLLSHIM_COW: bytes from which results are mapped copy-on-write;
				 * CS_INF: none are */
	int team_after;         /* COLLSHIM_TEAM_AFTER: -1 = as the tuning file says */
	int init_timeout;       /* COLLSHIM_INIT_TIMEOUT: seconds to wait for the other ranks at
				 * MPI_Init; 0 = for ever */
	uint64_t stall_ns;      /* COLLSHIM_STALL: age of a wait that is reported; 0: off */
	bool is_reproducible;   /* COLLSHIM_REPRODUCIBLE=1 */
	bool is_nonblocking;    /* COLLSHIM_NONBLOCKING */
	enum cs_progress_kind progress; /* COLLSHIM_PROGRESS=auto|calls|thread */
	bool is_adaptive;       /* COLLSHIM_ADAPT=on: algorithms are tried (run/trial.h) */
	enum cs_balance_kind imbalance; /* COLLSHIM_IMBALANCE=measured|balanced|moderate|strong */
	enum cs_wire_kind wire; /* COLLSHIM_WIRE=auto|host|ib: what plans between nodes send their
				 * messages by */
	const char *ib_device;  /* COLLSHIM_IB_DEVICE: "mlx5_0" or "mlx5_0:1"; NULL: the nearest */
	enum cs_ib_arrival ib_arrival; /* COLLSHIM_IB_ARRIVAL=completion|flag */
	const char *force[34];  /* COLLSHIM_<COLLECTIVE>, indexed by enum cs_coll, then
				 * COLLSHIM_I<COLLECTIVE>; NULL if unset. The grammar is select's
				 * business; digest() covers the text. */
};

/* Fills *settings from the environment. Never fails: a wrong value gives one line and is replaced
 * by the default. Strings point into a copy of the environment made here (owned by the process for
 * its life). Sets the log's verbosity. Call cs_log_set_speaker first: processes that do not speak
 * for the job print nothing here. */
void cs_settings_read(struct cs_settings *settings);

/* Prints the complaints of cs_settings_read about the environment, a line each, on `out` instead of
 * stderr. Returns their number. */
size_t cs_settings_check(FILE *out);

/* Drops fake_nodes and fake_domains if a job of `ranks` ranks cannot have them, with a line, as for
 * any wrong value. */
void cs_settings_fit(struct cs_settings *settings, size_t ranks);

/* The path of a rank's file: `path` with its number for %r (behind it, where there is none) and %
 * for %%. The caller frees it; NULL without memory. */
char *cs_settings_rank_path(const char *path, int rank);

/* COLLSHIM_REPRODUCIBLE alone, before cs_settings_read, which says what is wrong with it. */
bool cs_settings_is_reproducible(void);
/* Is COLLSHIM_REPORT set? */
bool cs_settings_wants_report(void);

/* Number or name of the job, as the batch system or PMIx gives it; NULL: neither does. The
 * environment's own text. */
const char *cs_settings_job(void);

/* COLLSHIM_MODULE_DIR, which the door reads for itself; NULL if unset. The environment's own
 * text. */
const char *cs_settings_module_dir(void);

/* Variables in which batch systems name a job; the last is NULL. */
extern const char *const cs_settings_jobs[];

/* Number of the job's ranks on this node, as its launcher says; 0: unknown. */
int cs_settings_local_ranks(void);

/* 64-bit digest of the settings that must be equal on all ranks (rows with is_agreed in
 * settings.c). The path of the tuning file may differ: cs_selector_digest covers its content. */
uint64_t cs_settings_digest(const struct cs_settings *settings);

/* Prints every variable with its meaning, default and present value (for collshim-info). */
void cs_settings_print(FILE *out, const struct cs_settings *settings);
/* Prints the variables that are set, with their value as understood. False: none is. */
bool cs_settings_print_set(FILE *out, const struct cs_settings *settings);

#endif
