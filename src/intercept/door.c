/* intercept/door.c — libcollshim.so: the one thing that is preloaded.
 *
 * It must be harmless in any process (bash, mpirun, python), so it needs libc only (and of ours base/log.c, base/agreement.c,
 * absent.c and stand_in.c), exports the names of calls.def only, and does nothing until one of them is called, unless the program
 * has weak references to them (absent.h). An exported
 * function knows neither types nor MPI: all arguments are words, so it is compiled to a jump through slots[call]. A slot
 * holds, in this order of time:
 *
 *   bind stub  -> looks for the MPI at the first call, then continues where the slot says
 *   next       -> forwarded: the MPI (or a tool preloaded below us) is one jump away
 *   entry      -> intercepted: a function of the module that fits the MPI
 *
 * The first MPI that is called is the one that the slots are for. Another one in the same process (plug-ins, Python) is noticed at
 * its MPI_Init, which always goes by its stub. From then on all calls do: those of objects that have the other MPI go there. */
#include "base/agreement.h"
#include "base/log.h"
#include "intercept/absent.h"
#include "intercept/module_abi.h"
#include "intercept/stand_in.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
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

/* MPICH's MPI_MAX_LIBRARY_VERSION_STRING is 8192, the largest of the MPIs in use. */
#define LIBRARY_VERSION_BYTES 16384

static const char *const names[CS_CALL_COUNT] = {
#define CALL(name, arguments) [CS_CALL_##name] = "MPI_" #name,
#define LARGE(name, arguments) [CS_CALL_##name] = "MPI_" #name,
#define FCALL(symbol, arguments) [CS_CALL_##symbol] = #symbol,
#define FPLAIN(symbol, arguments) [CS_CALL_##symbol] = #symbol,
#include "intercept/calls.def"
};

/* For plain Fortran names the profiling name that must come from the same object; see is_stranger(). */
static const char *const plain_twins[CS_CALL_COUNT] = {
#define FPLAIN(symbol, arguments) [CS_CALL_##symbol] = "p" #symbol,
#include "intercept/calls.def"
};

/* --- exported names -------------------------------------------------------------------------------------------- */

#define PARAMS_1 long a1
#define PARAMS_2 PARAMS_1, long a2
#define PARAMS_3 PARAMS_2, long a3
#define PARAMS_4 PARAMS_3, long a4
#define PARAMS_5 PARAMS_4, long a5
#define PARAMS_6 PARAMS_5, long a6
#define PARAMS_7 PARAMS_6, long a7
#define PARAMS_8 PARAMS_7, long a8
#define PARAMS_9 PARAMS_8, long a9
#define PARAMS_10 PARAMS_9, long a10
#define WORDS_1 a1
#define WORDS_2 WORDS_1, a2
#define WORDS_3 WORDS_2, a3
#define WORDS_4 WORDS_3, a4
#define WORDS_5 WORDS_4, a5
#define WORDS_6 WORDS_5, a6
#define WORDS_7 WORDS_6, a7
#define WORDS_8 WORDS_7, a8
#define WORDS_9 WORDS_8, a9
#define WORDS_10 WORDS_9, a10

static void *bind_call(int call, void *caller);

/* Exported functions jump here, so the return address is the program's: it tells which object calls. */
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

/* A thread may find here what another one has bound a moment ago, where no MPI_Init has ordered the two: what the module and the
 * loader wrote before must be seen, too. On x86 every load is an acquire, and after it there is nothing but a jump that a compiler
 * could reorder; said to be relaxed, gcc makes one `jmp *slot` of it also where arguments lie on the stack, which an acquire would
 * make it copy. */
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

/* --- state, guarded by `lock` except where said ----------------------------------------------------------------- */

/* Taken as often as a thread likes: loading the module or asking the MPI for its version may come back through an exported name. (A
 * mutex that is so from the start is glibc's alone.) */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local __attribute__((tls_model("initial-exec"))) int held; /* times, by this thread */

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
static void *mpi; /* handle of the object that is the MPI; constant once is_decided */
static char library[LIBRARY_VERSION_BYTES];

static void *bound;  /* identity() of the MPI that the slots are for; constant once is_decided */
static bool has_two; /* another MPI than `mpi` was initialised, too */

static bool is_init(int call);

/* Where calls of this name go if they are for `mpi`. */
static void *
target(int call)
{
	return next[call] == NULL ? NULL : entries[call] != NULL && !strange[call] ? entries[call] : next[call];
}

static void
point(int call)
{
	void *to = target(call);
	if (to == NULL || has_two || is_init(call))
		to = stubs[call];
	__atomic_store_n(&slots[call], to, __ATOMIC_RELEASE);
}

/* --- lines on stderr ---------------------------------------------------------------------------------------- */

/* One process of a job speaks: the one that its launcher calls rank 0, or any that no launcher has numbered. */
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

/* The end of the line that says that every call is forwarded: whoever asked for a report should not look for it. */
static const char *
no_report(void)
{
	const char *wish = getenv("COLLSHIM_REPORT");
	static const char *const none[] = {"", "0", "no", "off", "false"}; /* as base/settings.c reads it */
	for (size_t i = 0; wish != NULL && i < sizeof none / sizeof *none; i++)
		if (strcasecmp(wish, none[i]) == 0)
			wish = NULL;
	return wish != NULL ? CS_NO_REPORT : "";
}

/* --- looking for symbols --------------------------------------------------------------------------------------- */

/* Where this library is mapped. */
static void *
own_base(void)
{
	Dl_info info;
	return dladdr((void *)point, &info) != 0 ? info.dli_fbase : NULL;
}

static bool
is_ours(void *address)
{
	Dl_info info;
	return dladdr(address, &info) != 0 && info.dli_fbase == own_base();
}

/* The one thing that is done before a name is called. */
__attribute__((constructor)) static void
begin(void)
{
	cs_absent_answer(is_ours);
}

/* A handle of the object that holds this address; never ours to close but by the caller. */
static void *
object_of(void *address)
{
	Dl_info info;
	if (dladdr(address, &info) == 0)
		return NULL;
	void *handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	return handle != NULL ? handle : dlopen(NULL, RTLD_LAZY); /* the program itself has no name */
}

struct objects {
	char **paths;
	size_t count, room;
};

/* dlopen inside dl_iterate_phdr's callback could deadlock, so the names are copied first. */
static int
note_object(struct dl_phdr_info *info, size_t size, void *data)
{
	struct objects *objects = data;
	if (info->dlpi_name == NULL || info->dlpi_name[0] == '\0')
		return 0;
	if (objects->count == objects->room) {
		size_t room = objects->room == 0 ? 64 : 2 * objects->room;
		char **paths = realloc(objects->paths, room * sizeof *paths);
		if (paths == NULL)
			return 1;
		objects->paths = paths;
		objects->room = room;
	}
	char *path = strdup(info->dlpi_name);
	if (path == NULL)
		return 1;
	objects->paths[objects->count++] = path;
	return 0;
}

/* Puts the different definitions of `name` in loaded objects into found[], in load order, whatever their scope (an
 * MPI that came by dlopen with RTLD_LOCAL is in nobody's). Objects in which something was found stay loaded. */
static size_t
search_objects(const char *name, void **found, size_t room)
{
	struct objects objects = {0};
	size_t count = 0;
	dl_iterate_phdr(note_object, &objects);
	for (size_t i = 0; i < objects.count; i++) {
		void *handle = count < room ? dlopen(objects.paths[i], RTLD_LAZY | RTLD_NOLOAD) : NULL;
		free(objects.paths[i]);
		if (handle == NULL)
			continue;
		void *symbol = dlsym(handle, name);
		bool is_new = symbol != NULL && !is_ours(symbol);
		for (size_t j = 0; j < count; j++)
			if (found[j] == symbol)
				is_new = false;
		if (is_new)
			found[count++] = symbol;
		else
			dlclose(handle);
	}
	free(objects.paths);
	return count;
}

static size_t
lookup_all(const char *name, void **found, size_t room)
{
	int saved = errno;
	size_t count = 0;
	/* The program's own copy (a Fortran common block, a copy relocation) has no file name to be found by. */
	void *global = dlsym(RTLD_DEFAULT, name);
	if (global != NULL && !is_ours(global) && room > 0)
		found[count++] = global;
	void *more[16];
	size_t others = search_objects(name, more, sizeof more / sizeof *more);
	for (size_t i = 0; i < others && count < room; i++)
		if (more[i] != global)
			found[count++] = more[i];
	dlerror();
	errno = saved;
	return count;
}

/* What an object finds by this name without us, as the loader searches: what is global behind us, then the object and what
 * it is linked with. */
static void *
find_in_scope(const char *name, void *scope)
{
	void *symbol = dlsym(RTLD_NEXT, name);
	if (symbol == NULL && scope != NULL)
		symbol = dlsym(scope, name);
	return symbol != NULL && !is_ours(symbol) ? symbol : NULL;
}

/* The next function of that name in the link chain, or NULL, for a caller with this scope (NULL: not known). `widely`: search also
 * objects that are in no scope of ours; it takes long where there are many, and most names are in none of them. */
static void *
find_next(const char *name, void *scope, bool widely)
{
	void *symbol = find_in_scope(name, scope);
	if (symbol == NULL && mpi != NULL)
		symbol = find_in_scope(name, mpi);
	if (symbol != NULL)
		return symbol;
	return widely && search_objects(name, &symbol, 1) == 1 ? symbol : NULL;
}

/* The address that tells one MPI from another: of the functions that ask its version, or of MPI_Init of one that has none. */
static void *
identity(void *scope)
{
	static const char *const marks[] = {"PMPI_Get_library_version", "MPI_Get_library_version", "PMPI_Init", "MPI_Init"};
	void *mark = NULL;
	for (size_t i = 0; mark == NULL && i < sizeof marks / sizeof *marks; i++)
		mark = find_in_scope(marks[i], scope);
	return mark;
}

static void *
lookup(const char *name)
{
	int saved = errno;
	void *symbol = mpi != NULL ? dlsym(mpi, name) : NULL;
	if (symbol == NULL || is_ours(symbol))
		symbol = find_next(name, NULL, false);
	dlerror(); /* a failed search is not for the application to see */
	errno = saved;
	return symbol;
}

/* `mpi_init` may be anybody's function (a multi-precision library had one). It is MPI's if the object that defines it
 * also has pmpi_init; anything else is forwarded, never intercepted. */
static bool
is_stranger(int call)
{
	if (plain_twins[call] == NULL || next[call] == NULL)
		return false;
	void *object = object_of(next[call]);
	if (object == NULL)
		return true;
	Dl_info mine, twins;
	void *twin = dlsym(object, plain_twins[call]);
	bool is_same = twin != NULL && dladdr(next[call], &mine) != 0 && dladdr(twin, &twins) != 0 &&
		       mine.dli_fbase == twins.dli_fbase;
	dlclose(object);
	return !is_same;
}

static void
find_call(int call, void *scope, bool widely)
{
	next[call] = find_next(names[call], scope, widely);
	strange[call] = is_stranger(call);
}

/* --- the module ------------------------------------------------------------------------------------------------ */

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
	.library = library,
	.next = next,
	.lookup = lookup,
	.lookup_all = lookup_all,
	.set = set_entry,
	.restore = restore,
};

/* The folder of this library, as an absolute path. The loader may know us by a path relative to a working directory
 * that the application has left since; the kernel knows better. */
static bool
own_folder(char *folder)
{
	Dl_info info;
	if (dladdr((void *)point, &info) == 0 || info.dli_fname == NULL)
		return false;
	char path[PATH_MAX] = "";
	if (info.dli_fname[0] == '/') {
		if (strlen(info.dli_fname) >= sizeof path)
			return false;
		strcpy(path, info.dli_fname);
	} else {
		FILE *maps = fopen("/proc/self/maps", "re");
		if (maps == NULL)
			return false;
		char line[PATH_MAX + 128];
		while (path[0] == '\0' && fgets(line, sizeof line, maps) != NULL) {
			unsigned long low, high;
			int at = 0;
			if (sscanf(line, "%lx-%lx %*s %*s %*s %*s %n", &low, &high, &at) != 2 || at == 0)
				continue;
			line[strcspn(line, "\n")] = '\0';
			unsigned long here = (unsigned long)info.dli_fbase;
			if (here >= low && here < high && strlen(line + at) < sizeof path)
				strcpy(path, line + at);
		}
		fclose(maps);
	}
	/* A link to the library may lie elsewhere than the library and its modules. */
	if (realpath(path, folder) == NULL)
		return false;
	char *slash = strrchr(folder, '/');
	if (slash == NULL)
		return false;
	*slash = '\0';
	return true;
}

/* The module for an MPI that calls itself `version`, or NULL. Those with MPICH's ABI have had it since 2014. The name must begin
 * the text: wrappers with handles of their own (MPItrampoline, mpi_abi_wrapper) name the MPI inside them further down. */
static const char *
module_for(const char *version)
{
	static const char openmpi[] = "Open MPI v";
	if (!strncmp(version, openmpi, strlen(openmpi))) {
		int major = atoi(version + strlen(openmpi));
		return major >= 3 && major <= 6 ? "openmpi" : NULL;
	}
	static const char *const kin[] = {"MPICH", "MVAPICH", "Intel(R) MPI", "ParaStation MPI"};
	for (size_t i = 0; i < sizeof kin / sizeof *kin; i++)
		if (!strncmp(version, kin[i], strlen(kin[i])))
			return "mpich";
	/* "MPI VERSION    : CRAY MPICH version 8.1.25.17 (ANL base 3.4a2)" */
	static const char cray[] = "MPI VERSION";
	if (!strncmp(version, cray, strlen(cray))) {
		version += strlen(cray);
		version += strspn(version, " \t:");
		if (!strncmp(version, "CRAY MPICH", strlen("CRAY MPICH")))
			return "mpich";
	}
	return NULL;
}

#define ABI_LIBRARY "libmpi_abi" /* MPI 5.0, 21.2.1: what the standard ABI's library is called */
#define ABI_VERSION 1            /* the one that is known here */

/* The major version of the standard ABI that the MPI says it has; -1: none. MPI_Abi_get_version may be called at any time, and an
 * MPI's own library, with handles of its own, must not say that it has that ABI. */
static int
abi_version(void)
{
	int major = -1, minor = -1;
	int (*get_version)(int *, int *) =
		mpi != NULL ? (int (*)(int *, int *))dlsym(mpi, "PMPI_Abi_get_version") : NULL;
	return get_version != NULL && !get_version(&major, &minor) ? major : -1;
}

/* Does the object that the MPI is in call itself the standard ABI's library? It may lie in a file of another name. */
static bool
is_abi_library(void)
{
	Dl_info info;
	struct link_map *map = NULL;
	void *init = mpi != NULL ? dlsym(mpi, "PMPI_Init") : NULL;
	if (init == NULL || !dladdr1(init, &info, (void **)&map, RTLD_DL_LINKMAP) || map == NULL)
		return false;
	const char *slash = strrchr(map->l_name, '/');
	const char *file = slash != NULL ? slash + 1 : map->l_name, *strings = NULL;
	size_t name = 0; /* no name begins at 0, where the empty one is */
	for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
		if (entry->d_tag == DT_STRTAB) /* most loaders have made it an address */
			strings = (const char *)(entry->d_un.d_ptr + (entry->d_un.d_ptr < map->l_addr ? map->l_addr : 0));
		else if (entry->d_tag == DT_SONAME)
			name = entry->d_un.d_val;
	}
	return !strncmp(file, ABI_LIBRARY, strlen(ABI_LIBRARY)) ||
	       (strings != NULL && name != 0 && !strncmp(strings + name, ABI_LIBRARY, strlen(ABI_LIBRARY)));
}

/* Has it the handles of this flavour, as far as it can be told before MPI is initialised? The module asks again then. */
static bool
has_handles_of(const char *flavour)
{
	return mpi != NULL && (strcmp(flavour, "openmpi") != 0 ||
			       (dlsym(mpi, "ompi_mpi_comm_world") != NULL && dlsym(mpi, "ompi_mpi_byte") != NULL));
}

/* The module for the MPI that was found, or NULL and the reason, for a line that names it by `%s`. Both MPIs have a library of the
 * standard ABI, which names itself as their own does, and there are wrappers of it that do not: so what has that ABI is not
 * judged by its name. What claims it by halves has no handles that we know: the first libraries of the ABI had no
 * MPI_Abi_get_version. */
static const char *
flavour_of(const char **reason)
{
	const char *flavour = module_for(library);
	int abi = abi_version();
	bool is_abi = is_abi_library();
	if (is_abi && abi == ABI_VERSION)
		return "abi";
	if (is_abi && abi > ABI_VERSION)
		*reason = "this MPI (\"%s\") has a later version of the standard ABI than is known here";
	else if (flavour == NULL)
		*reason = "this MPI is neither MPICH nor Open MPI 3 to 6 nor a relative of MPICH (its version string is "
			  "\"%s\")";
	else if (is_abi || abi > 0 || !has_handles_of(flavour))
		*reason = "this MPI is called \"%s\", but has another ABI";
	return *reason == NULL ? flavour : NULL;
}

/* The entries of the module, or NULL. Keeps the line that says why there is none, unless the module itself declined. */
static const struct cs_module *
open_module(const char *flavour)
{
	char folder[PATH_MAX], path[2 * PATH_MAX];
	const char *elsewhere = secure_getenv("COLLSHIM_MODULE_DIR"); /* for tests */
	if (elsewhere != NULL && elsewhere[0] != '\0')
		snprintf(path, sizeof path, "%s/collshim-%s.so", elsewhere, flavour);
	else if (own_folder(folder))
		snprintf(path, sizeof path, "%s/collshim/collshim-%s.so", folder, flavour);
	else {
		cs_warn_once("cannot tell where libcollshim.so lies, so its modules cannot be found; every call is "
			     "forwarded to the MPI");
		return NULL;
	}
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		cs_warn_once("%s; every call is forwarded to the MPI", dlerror());
		return NULL;
	}
	cs_module_open_fn *open = (cs_module_open_fn *)dlsym(handle, CS_MODULE_OPEN);
	if (open == NULL) {
		cs_warn_once("%s is not a module of collshim; every call is forwarded to the MPI", path);
		return NULL;
	}
	const struct cs_module *module = open(&door);
	if (module == NULL)
		return NULL;
	if (module->abi != CS_MODULE_ABI || strcmp(module->version, CS_VERSION) != 0) {
		cs_warn_once("%s is version %s (interface %u), libcollshim.so is version %s (interface %u); every call is "
			     "forwarded to the MPI", path, module->version, module->abi, CS_VERSION, CS_MODULE_ABI);
		return NULL;
	}
	return module;
}

/* --- without a module: the others must know, when MPI is initialised ---------------------------------------------- */

static const char *missing_flavour; /* of the module that could not be opened */
static uint64_t troubles;           /* digest of the line that says why */

/* Data as the program sees it: it may have a copy of its own (a copy relocation). */
static void *
lookup_data(const char *name)
{
	void *symbol = dlsym(RTLD_DEFAULT, name);
	if (symbol == NULL)
		symbol = lookup(name);
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
	return end == NULL || end == text || *end != '\0' || seconds < 0 || seconds > 1000000 ? CS_AGREED_SECONDS
											   : (int)seconds;
}

static void
after_init(void)
{
	static _Atomic int is_done;
	int saved = errno;
	if (!atomic_exchange(&is_done, 1))
		cs_stand_in(missing_flavour, lookup, lookup_data, troubles, init_timeout());
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

/* Rank 0 says at once what there is to say. The others wait for the agreement: it may be the same. If the first call that is
 * seen does not initialise MPI, there will be none. */
static const struct cs_module *
open_module_or_stand_in(const char *flavour, int call)
{
	cs_log_keep();
	const struct cs_module *module = open_module(flavour);
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

/* --- binding --------------------------------------------------------------------------------------------------- */

/* With the first line of what the MPI says of itself. */
static void
tell_why_not(const char *reason)
{
	char line[256], text[512];
	size_t length = strcspn(library, "\r\n");
	snprintf(line, sizeof line, "%.*s", length < sizeof line ? (int)length : (int)sizeof line - 1, library);
	snprintf(text, sizeof text, reason, line);
	cs_warn_local("%s; every call is forwarded to it%s", text, no_report());
}

/* Which MPI is in this process, and who serves its calls; asked by the `first` one, of an object with this scope. */
static void
decide(int first, void *scope)
{
	/* Where the scope has an MPI, but one so old that it has no version, another one that it has not is not asked. */
	bool widely = find_in_scope(names[first], scope) == NULL;
	int (*get_version)(char *, int *) =
		(int (*)(char *, int *))find_next("MPI_Get_library_version", scope, widely);
	if (get_version != NULL) {
		int length = 0;
		void *profiled = find_next("PMPI_Get_library_version", scope, widely);
		mpi = object_of(profiled != NULL ? profiled : (void *)get_version);
		get_version(library, &length);
		library[sizeof library - 1] = '\0';
	}
	for (int call = 0; call < CS_CALL_COUNT; call++)
		find_call(call, scope, false);

	const char *reason = NULL, *flavour = flavour_of(&reason);
	const struct cs_module *module = NULL;
	if (flavour != NULL)
		module = open_module_or_stand_in(flavour, first);
	else if (is_speaker())
		tell_why_not(reason);
	for (int call = 0; call < CS_CALL_COUNT; call++) {
		entries[call] = module != NULL ? module->entries[call] : missing_flavour != NULL ? inits[call] : NULL;
		point(call);
	}
}

/* No such function in the process: without us the program would not have linked. 16 is "other error" or near it in
 * every MPI, and not success. */
static long
missing(void)
{
	return 16;
}

/* The other MPI's function, if the caller's scope has another one, else NULL. Asked of the loader each time: what is remembered of
 * an object would outlive it. */
static void *
find_other(int call, void *scope)
{
	void *caller_has = identity(scope);
	if (caller_has == NULL || caller_has == bound)
		return NULL;
	return find_in_scope(names[call], scope);
}

/* Where a call for the first MPI, or the only one, is to go; binds what can be bound now. */
static void *
bind_here(int call, void *scope)
{
	if (next[call] == NULL)
		find_call(call, scope, true);
	/* A name that begins with MPI_ is MPI's, be it one so old that it has no MPI_Get_library_version. A Fortran
	 * name may be somebody else's: alone it decides nothing. */
	if (next[call] != NULL && !is_decided && !is_deciding &&
	    (strncmp(names[call], "MPI_", 4) == 0 || find_next("MPI_Get_library_version", scope, true) != NULL)) {
		is_deciding = true;
		decide(call, scope);
		bound = identity(mpi != NULL ? mpi : scope);
		is_deciding = false;
		is_decided = true;
		if (next[call] == NULL) /* it is in no scope of ours, and decide() searches those only */
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
	/* Not under the lock: another thread may be in the loader, and call us from a constructor. */
	void *scope = object_of(caller);
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
