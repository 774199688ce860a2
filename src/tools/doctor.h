/* tools/doctor.h — collshim-info --doctor: what would be used on this node, and why not more.
 *
 *   doctor_look.c   asks the system: facts        doctor.c   what they mean: findings, a line each
 *   doctor_verbs.c  both, of RDMA devices         doctor_without_verbs.c   in its place
 *
 * "ok" is as good as it can be; "note" is worth to know, and nothing is wrong; "problem" is
 * something that was asked for and cannot be, or that surely costs more than it need, with what to
 * do. */
#ifndef CS_TOOLS_DOCTOR_H
#define CS_TOOLS_DOCTOR_H

#include "base/settings.h"
#include "select/select.h"
#include "topo/count.h"
#include "topo/topo.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/resource.h>

enum cs_doctor_verdict { CS_VERDICT_OK, CS_VERDICT_NOTE, CS_VERDICT_PROBLEM };

struct cs_doctor {
	FILE *out;
	bool is_json;
	const char *group; /* of the findings that are said */
	int problems, findings;
	bool has_module;
	/* Ways that would be used, for the last line; texts that live as long as the process. */
	const char *segments, *copies;
	char wire[96];
};

void cs_doctor_group(struct cs_doctor *doctor, const char *name);
void cs_doctor_say(struct cs_doctor *doctor, enum cs_doctor_verdict verdict, const char *format,
		   ...) __attribute__((format(printf, 3, 4)));
#define CS_DOCTOR_SIZE 32
/* Writes "64 KiB", "1.5 GiB" or "unlimited", rounded down; returns that. */
const char *cs_doctor_size(char text[CS_DOCTOR_SIZE], size_t bytes);
/* A limit of the system's in bytes; CS_INF: unlimited. */
size_t cs_doctor_limit(rlim_t limit);
/* Every line of the text is a problem; and `fine` is said if there is none. */
void cs_doctor_settings(struct cs_doctor *doctor, const struct cs_settings *settings,
			const char *complaints);

struct cs_module_facts {
	const char *folder; /* where modules are looked for */
	bool has_library;   /* libcollshim.so is beside it */
	bool has_mpich, has_openmpi, has_abi;
};
void cs_doctor_modules(struct cs_doctor *doctor, const struct cs_module_facts *facts);

struct cs_segment_facts {
	enum cs_shm_kind kind;
	int memfd_error, named_error;   /* errno of a segment that was made, filled and attached; 0:
					 * it could be */
	size_t shm_total, shm_free;     /* /dev/shm; 0: there is none */
	size_t memory;                  /* that is free or can be made so; 0: unknown */
	const char *memory_limit;       /* by what */
	size_t file_limit;              /* RLIMIT_FSIZE */
	size_t budget;
	const char *huge;               /* the word chosen in transparent_hugepage/shmem_enabled, ""
					 * if none */
};
void cs_doctor_segments(struct cs_doctor *doctor, const struct cs_segment_facts *facts);

struct cs_copy_facts {
	enum cs_switch wish;
	int error;        /* of a read from another process that is no child of the reader; 0: it
			   * went well */
	int ptrace_scope; /* kernel.yama.ptrace_scope; -1: none */
};
void cs_doctor_copies(struct cs_doctor *doctor, const struct cs_copy_facts *facts);

void cs_doctor_cores(struct cs_doctor *doctor, const struct cs_topo_counts *counts);

struct cs_verbs;
struct cs_verbs_facts {
	const struct cs_verbs *verbs; /* NULL: `missing` says why */
	const char *missing;
	int (*distance)(const char *device); /* as in ib/port.h */
	const char *device; /* COLLSHIM_IB_DEVICE */
	const struct cs_limits *limits;
};
/* True if a device would be used. */
bool cs_doctor_verbs(struct cs_doctor *doctor, const struct cs_verbs_facts *facts);
/* All of the group "verbs". */
void cs_doctor_look_at_verbs(struct cs_doctor *doctor, const struct cs_settings *settings,
			     const struct cs_limits *limits);

struct cs_lock_facts {
	size_t soft, hard; /* RLIMIT_MEMLOCK; CS_INF: unlimited */
	bool is_exempt;    /* CAP_IPC_LOCK */
	bool has_device;   /* one that would be used */
	size_t memory, cache; /* the limits ib_memory and ib_cache */
};
void cs_doctor_locking(struct cs_doctor *doctor, const struct cs_lock_facts *facts);
/* `error`: 0 if a process may watch its mappings. */
void cs_doctor_watch(struct cs_doctor *doctor, int error, size_t cache);

/* The whole of it, as text or as a JSON object (man/collshim-info.1). Returns the number of
 * problems, -1 if memory is out. Says nothing on stderr. */
int cs_tools_doctor(FILE *out, bool is_json);

#endif
