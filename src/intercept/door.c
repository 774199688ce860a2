/* intercept/door.c — libcollshim.so: the one thing that is preloaded.
 *
 * It must be harmless in any process (bash, mpirun, python), so it needs libc only (and of ours the
 * few files that src/meson.build lists beside this one), exports the names of calls.def only, and
 * does nothing until one of them is called, unless the program has weak references to them
 * (absent.h). An exported function knows neither types nor MPI: all arguments are words, so it is
 * compiled to a jump through slots[call]. A slot holds, in this order of time:
 *
 *   bind stub  -> looks for the MPI at the first call, then continues where the slot says
 *   next       -> forwarded: the MPI (or a tool preloaded below us) is one jump away
 *   entry      -> intercepted: a function of the module that fits the MPI
 *
 * The first MPI that is called is the one that the slots are for. Another one in the same process
 * (plug-ins, Python) is noticed at its MPI_Init, which always goes by its stub. From then on all
 * calls do: those of objects that have the other MPI go there. */
#include "base/agreement.h"
#include "base/log.h"
#include "intercept/absent.h"
#include "intercept/lookup.h"
#include "intercept/module_abi.h"
#include "intercept/module_file.h"
#include "intercept/stand_in.h"
#include "intercept/word_lists.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#ifndef CS_VERSION
#error "the build defines CS_VERSION"
#endif

static const char *const names[CS_CALL_COUNT] = {
#define CALL(name, arguments) [CS_CALL_##name] = "MPI_" #name,
#define LARGE(name, arguments) [CS_CALL_##name] = "MPI_" #name,
#define FCALL(symbol, arguments) [CS_CALL_##symbol] = #symbol,
#define FPLAIN(symbol, arguments) [CS_CALL_##symbol] = #symbol,
#include "intercept/calls.def"
};

/* For plain Fortran names the profiling name that must come from the same object; see
 * is_stranger(). */
static const char *const plain_twins[CS_CALL_COUNT] = {
#define FPLAIN(symbol, arguments) [CS_CALL_##symbol] = "p" #symbol,
#include "intercept/calls.def"
};

/* --- exported names --------------------------------------------------------------------------- */

static void *bind_call(int call, void *caller);

/* Exported functions jump here, so the return address is the program's: it tells which object
 * calls. */
#define STUB(symbol, call, n)                                                                      \
	static long bind_##symbol(PARAMS_##n)                                                      \
	{                                                                                          \
		void *to = bind_call(call, __builtin_return_address(0));                           \
		return ((long (*)(PARAMS_##n))to)(WORDS_##n);                                      \
	}

#define CALL(name, n) STUB(MPI_##name, CS_CALL_##name, n)
#define LARGE(name, n) STUB(MPI_##name, CS_CALL_##name, n)
#define FCALL(symbol, n) STUB(symbol, CS_CALL_##symbol, n)
#define FPLAIN(symbol, n) STUB(symbol, CS_CALL_##symbol, n)
#include "intercept/calls.def"

static void *const stubs[CS_CALL_COUNT] = {
#define CALL(name, n) [CS_CALL_##name] = (void *)bind_MPI_##name,
#define LARGE(name, n) [CS_CALL_##name] = (void *)bind_MPI_##name,
#define FCALL(symbol, n) [CS_CALL_##symbol] = (void *)bind_##symbol,
#define FPLAIN(symbol, n) [CS_CALL_##symbol] = (void *)bind_##symbol,
#include "intercept/calls.def"
};

static void *slots[CS_CALL_COUNT] = {
#define CALL(name, n) [CS_CALL_##name] = (void *)bind_MPI_##name,
#define LARGE(name, n) [CS_CALL_##name] = (void *)bind_MPI_##name,
#define FCALL(symbol, n) [CS_CALL_##symbol] = (void *)bind_##symbol,
#define FPLAIN(symbol, n) [CS_CALL_##symbol] = (void *)bind_##symbol,
#include "intercept/calls.def"
};

/* A thread may find here what another one has bound a moment ago, where no MPI_Init has ordered the
 * two: what the module and the loader wrote before must be seen, too. On x86 every load is an
 * acquire, and after it there is nothing but a jump that a compiler could reorder; said to be
 * relaxed, gcc makes one `jmp *slot` of it also where arguments lie on the stack, which an acquire
 * would make it copy. */
#if defined(__x86_64__) || defined(__i386__)
#define SLOT_ORDER __ATOMIC_RELAXED
#else
#define SLOT_ORDER __ATOMIC_ACQUIRE
#endif
#define FORWARD(symbol, call, n)                                                                   \
	__attribute__((visibility("default"))) long symbol(PARAMS_##n);                            \
	long symbol(PARAMS_##n)                                                                    \
	{                                                                                          \
		void *to = __atomic_load_n(&slots[call], SLOT_ORDER);                        \
		return ((long (*)(PARAMS_##n))to)(WORDS_##n);                                      \
	}

#define CALL(name, n) FORWARD(MPI_##name, CS_CALL_##name, n)
#define LARGE(name, n) FORWARD(MPI_##name, CS_CALL_##name, n)
#define FCALL(symbol, n) FORWARD(symbol, CS_CALL_##symbol, n)
#define FPLAIN(symbol, n) FORWARD(symbol, CS_CALL_##symbol, n)
#include "intercept/calls.def"

/* --- state, guarded by `lock` except where said ----------------------------------------------- */

/* Taken as often as a thread likes: loading the module or asking the MPI for its version may come
 * back through an exported name. (A mutex that is so from the start is glibc's alone.) */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* times, by this thread */
static _Thread_local __attribute__((tls_model("initial-exec"))) int held;

static void
lock(void)
{
	if (held++ == 0)
		pthread_mutex_lock(&mutex);
}

static void
unlock(void)
{
	if (--held == 0)
		pthread_mutex_unlock(&mutex);
}

static bool is_deciding; /* this thread is inside decide() */
static bool is_decided;  /* which MPI, and with which module or none */
static bool has_missed;  /* a call of a name that nobody has was told */

static void *next[CS_CALL_COUNT];
static void *entries[CS_CALL_COUNT];
static bool strange[CS_CALL_COUNT]; /* next is not MPI's: forward, whatever the module has */
void *cs_door_mpi;
char cs_door_library[CS_LIBRARY_VERSION_BYTES];

static void *bound;  /* cs_lookup_identity() of the MPI that the slots are for; constant once
		      * is_decided */
static bool has_two; /* another MPI than `mpi` was initialised, too */

static bool is_init(int call);

/* Target of calls of this name if they are for `mpi`. */
static void *
target(int call)
{
	return next[call] == NULL ? NULL : entries[call] != NULL &&
	       !strange[call] ? entries[call] : next[call];
}

static void
point(int call)
{
	void *to = target(call);
	if (to == NULL || has_two || is_init(call))
		to = stubs[call];
	__atomic_store_n(&slots[call], to, __ATOMIC_RELEASE);
}

/* --- lines on stderr -------------------------------------------------------------------------- */

/* One process of a job speaks: the one that its launcher calls rank 0, or any that no launcher has
 * numbered. */
static bool
is_speaker(void)
{
	static const char *const ranks[] = {
		"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK",
		"PALS_RANKID", "ALPS_APP_PE", "SLURM_PROCID",
	};
	for (size_t i = 0; i < sizeof ranks / sizeof *ranks; i++) {
		const char *rank = getenv(ranks[i]);
		if (rank != NULL)
			return strcmp(rank, "0") == 0;
	}
	return true;
}

/* The end of the line that says that every call is forwarded: whoever asked for a report should not
 * look for it. */
static const char *
no_report(void)
{
	const char *wish = getenv("COLLSHIM_REPORT");
	/* As base/settings.c reads it */
	static const char *const none[] = {"", "0", "no", "off", "false"};
	for (size_t i = 0; wish != NULL && i < sizeof none / sizeof *none; i++)
		if (strcasecmp(wish, none[i]) == 0)
			wish = NULL;
	return wish != NULL ? CS_NO_REPORT : "";
}

/* --- what a name is to call ------------------------------------------------------------------- */

/* The one thing that is done before a name is called. */
__attribute__((constructor)) static void
begin(void)
{
	cs_absent_answer(cs_lookup_is_ours);
}

/* `mpi_init` may be anybody's function (a multi-precision library had one). It is MPI's if the
 * object that defines it also has pmpi_init; anything else is forwarded, never intercepted. */
static bool
is_stranger(int call)
{
	if (plain_twins[call] == NULL || next[call] == NULL)
		return false;
	void *object = cs_lookup_object(next[call]);
	if (object == NULL)
		return true;
	Dl_info mine, twins;
	void *twin = dlsym(object, plain_twins[call]);
	bool is_same = twin != NULL && dladdr(next[call], &mine) != 0 &&
		       dladdr(twin, &twins) != 0 && mine.dli_fbase == twins.dli_fbase;
	dlclose(object);
	return !is_same;
}

static void
find_call(int call, void *scope, bool widely)
{
	next[call] = cs_lookup_next(names[call], scope, widely);
	strange[call] = is_stranger(call);
}

static void
set_entry(int call, void *entry)
{
	if (call < 0 || call >= CS_CALL_COUNT)
		return;
	lock();
	entries[call] = entry;
	point(call);
	unlock();
}

static void
restore(int call)
{
	lock();
	for (int i = 0; i < CS_CALL_COUNT; i++) {
		if (call >= 0 && call < CS_CALL_COUNT && call != i)
			continue;
		entries[i] = NULL;
		point(i);
	}
	unlock();
}

static const struct cs_door door = {
	.abi = CS_MODULE_ABI,
	.version = CS_VERSION,
	.library = cs_door_library,
	.next = next,
	.lookup = cs_lookup,
	.lookup_all = cs_lookup_all,
	.set = set_entry,
	.restore = restore,
};

/* --- without a module: the others must know, when MPI is initialised -------------------------- */

static const char *missing_flavour; /* of the module that could not be opened */
static uint64_t troubles;           /* digest of the line that says why */

/* Data as the program sees it: it may have a copy of its own (a copy relocation). */
static void *
lookup_data(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);
	if (symbol == NULL)
		symbol = cs_lookup(name);
	dlerror();
	return symbol;
}

/* As base/settings.c reads it, but for its K, M and G. */
static int
init_timeout(void)
{
	const char *text = getenv("COLLSHIM_INIT_TIMEOUT");
	char *end = NULL;
	long seconds = text != NULL ? strtol(text, &end, 10) : 0;
	return end == NULL || end == text || *end != '\0' || seconds < 0 ||
	       seconds > 1000000 ? CS_AGREED_SECONDS
				 : (int)seconds;
}

static void
after_init(void)
{
	static _Atomic int is_done;
	int saved = errno;
	if (!atomic_exchange(&is_done, 1))
		cs_stand_in(missing_flavour, cs_lookup, lookup_data, troubles, init_timeout());
	errno = saved;
}

/* The next one, whatever it returns; whether MPI is initialised then is asked of it. */
#define INIT(symbol, call, n)                                                                      \
	static long init_##symbol(PARAMS_##n)                                                      \
	{                                                                                          \
		long result = ((long (*)(PARAMS_##n))next[call])(WORDS_##n);                       \
		after_init();                                                                      \
		return result;                                                                     \
	}
#define INIT_FORTRAN(symbol, n) INIT(symbol, CS_CALL_##symbol, n)
#define MANGLED(TAKE, lower, UPPER, n)                                                             \
	TAKE(mpi_##lower##_, n)                                                                    \
	TAKE(mpi_##lower##__, n)                                                                   \
	TAKE(mpi_##lower, n)                                                                       \
	TAKE(MPI_##UPPER, n)                                                                       \
	TAKE(mpi_##lower##_f08_, n)

INIT(MPI_Init, CS_CALL_Init, 2)
INIT(MPI_Init_thread, CS_CALL_Init_thread, 4)
MANGLED(INIT_FORTRAN, init, INIT, 1)
MANGLED(INIT_FORTRAN, init_thread, INIT_THREAD, 3)

static void *const inits[CS_CALL_COUNT] = {
	[CS_CALL_Init] = (void *)init_MPI_Init,
	[CS_CALL_Init_thread] = (void *)init_MPI_Init_thread,
#define OWN(symbol, n) [CS_CALL_##symbol] = (void *)init_##symbol,
	MANGLED(OWN, init, INIT, 1)
	MANGLED(OWN, init_thread, INIT_THREAD, 3)
};

static bool
is_init(int call)
{
	return inits[call] != NULL;
}

/* Rank 0 says at once what there is to say. The others wait for the agreement: it may be the same.
 * If the first call that is seen does not initialise MPI, there will be none. */
static const struct cs_module *
open_module_or_stand_in(const char *flavour, int call)
{
	cs_log_keep();
	const struct cs_module *module = cs_module_file_open(flavour, &door);
	troubles = cs_log_kept();
	if (module == NULL)
		missing_flavour = flavour;
	if (inits[call] == NULL) {
		cs_agreement_name_job();
		cs_agreement_tell_alone(troubles, no_report());
	} else if (is_speaker()) {
		cs_log_tell("", no_report());
	}
	return module;
}

/* --- binding ---------------------------------------------------------------------------------- */

/* With the first line of what the MPI says of itself. */
static void
tell_why_not(const char *reason)
{
	char line[256], text[512];
	size_t length = strcspn(cs_door_library, "\r\n");
	snprintf(line, sizeof line, "%.*s", length < sizeof line ? (int)length : (int)sizeof line -
		 1, cs_door_library);
	snprintf(text, sizeof text, reason, line);
	cs_warn_local("%s; every call is forwarded to it%s" CS_UNSERVED_JOB, text, no_report());
}

/* Finds the MPI of this process and the module for it, on the `first` call, from an object with
 * this scope. */
static void
decide(int first, void *scope)
{
	/* If the scope's MPI is so old that it has no MPI_Get_library_version, no MPI outside the
	 * scope is asked. */
	bool widely = cs_lookup_in_scope(names[first], scope) == NULL;
	int (*get_version)(char *, int *) =
		(int (*)(char *, int *))cs_lookup_next("MPI_Get_library_version", scope, widely);
	if (get_version != NULL) {
		int length = 0;
		void *profiled = cs_lookup_next("PMPI_Get_library_version", scope, widely);
		cs_door_mpi = cs_lookup_object(profiled != NULL ? profiled : (void *)get_version);
		get_version(cs_door_library, &length);
		cs_door_library[sizeof cs_door_library - 1] = '\0';
	}
	for (int call = 0; call < CS_CALL_COUNT; call++)
		find_call(call, scope, false);

	const char *reason = NULL, *flavour = cs_module_file_flavour(&reason);
	const struct cs_module *module = NULL;
	if (flavour != NULL)
		module = open_module_or_stand_in(flavour, first);
	else if (is_speaker())
		tell_why_not(reason);
	for (int call = 0; call < CS_CALL_COUNT; call++) {
		entries[call] = module != NULL ? module->entries[call] : missing_flavour != NULL
				? inits[call] : NULL;
		point(call);
	}
}

/* No such function in the process: without us the program would not have linked. 16 is "other
 * error" or near it in every MPI, and not success. */
static long
missing(void)
{
	return 16;
}

/* The other MPI's function, if the caller's scope has another one, else NULL. Asked of the loader
 * each time: what is remembered of an object would outlive it. */
static void *
find_other(int call, void *scope)
{
	void *caller_has = cs_lookup_identity(scope);
	if (caller_has == NULL || caller_has == bound)
		return NULL;
	return cs_lookup_in_scope(names[call], scope);
}

/* Target of a call for the first MPI, or the only one; binds all slots that can be bound now. */
static void *
bind_here(int call, void *scope)
{
	if (next[call] == NULL)
		find_call(call, scope, true);
	/* A name that begins with MPI_ is MPI's, be it one so old that it has no
	 * MPI_Get_library_version. A Fortran name may be somebody else's: alone it decides
	 * nothing. */
	if (next[call] != NULL && !is_decided && !is_deciding &&
	    (strncmp(names[call], "MPI_", 4) == 0 ||
	     cs_lookup_next("MPI_Get_library_version", scope, true) != NULL)) {
		is_deciding = true;
		decide(call, scope);
		bound = cs_lookup_identity(cs_door_mpi != NULL ? cs_door_mpi : scope);
		is_deciding = false;
		is_decided = true;
		if (next[call] == NULL) /* it is in no scope of ours, and decide() searches those
					 * only */
			find_call(call, scope, true);
	}
	if (next[call] != NULL) {
		point(call);
		return target(call);
	}
	if (!has_missed) {
		has_missed = true;
		if (is_speaker())
			cs_warn_local("%s was called, but no loaded library has it", names[call]);
	}
	return (void *)missing;
}

/* From now on each call is asked whose it is. */
static void
divide(void)
{
	if (has_two)
		return;
	has_two = true;
	for (int i = 0; i < CS_CALL_COUNT; i++)
		point(i);
}

/* Says where this call is to continue. */
static void *
bind_call(int call, void *caller)
{
	int saved = errno;
	lock();
	bool asks = is_decided && (has_two || is_init(call));
	unlock();
	/* Not under the lock: another thread may be in the loader, and call us from a
	 * constructor. */
	void *scope = cs_lookup_object(caller);
	void *to = asks ? find_other(call, scope) : NULL;
	lock();
	if (to != NULL)
		divide();
	else
		to = bind_here(call, scope);
	unlock();
	if (scope != NULL)
		dlclose(scope);
	dlerror(); /* a failed search is not for the application to see */
	errno = saved;
	return to;
}
