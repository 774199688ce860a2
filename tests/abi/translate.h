/* tests/abi/translate.h — a library of MPI's standard ABI over an installed MPI that has none, for
 * tests.
 *
 *     program, collshim-abi.so          tests/abi/include/mpi.h: the ABI's types and values
 *     libmpi_abi.so.1                   tests/abi/translate makes its functions of that header's
 *                                       prototypes; each calls by
 *     MPICH 4 | Open MPI 4              what is here the MPI's PMPI function, and gives back what
 *                                       the ABI says
 *
 * So collshim-abi.so is proven where no MPI has the ABI yet. It is complete for what programs of
 * tests/ call, and slow.
 *
 * Handles: the ABI's constants by a table; what the MPI makes has the same word in both, since
 * neither MPI has a handle below 4096 but its null pointers. */
#include <mpi.h>

#include <alloca.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void *abi_handle;
struct abi_status {
	int source, tag, error, internal[5];
};

#ifdef OPEN_MPI
#define NATIVE "libmpi.so.40"
#else
#define NATIVE "libmpich.so.12"
#endif
#define MPI(name) MPI_##name
#define P_MPI "PMPI_"
#if defined(OPEN_MPI) && OMPI_MAJOR_VERSION < 5
#include <mpi-ext.h>
#define INIT(name) MPIX_##name
#define P_INIT "PMPIX_"
#else
#define INIT(name) MPI_##name
#define P_INIT P_MPI
#endif
_Static_assert(MPI_UNDEFINED == -32766, "a color and a rank are the same in the ABI");

/* --- handles ---------------------------------------------------------------------------------- */

static uintptr_t natives[4096]; /* by the ABI's value; 0: there is none */

static void
fill_handles(void)
{
#define SAME(value, name) natives[value] = (uintptr_t)(name)
	SAME(0x100, MPI_COMM_NULL), SAME(0x101, MPI_COMM_WORLD), SAME(0x102, MPI_COMM_SELF);
	SAME(0x108, MPI_GROUP_NULL), SAME(0x109, MPI_GROUP_EMPTY), SAME(0x130, MPI_INFO_NULL);
	SAME(0x140, MPI_ERRHANDLER_NULL), SAME(0x141, MPI_ERRORS_ARE_FATAL),
		SAME(0x143, MPI_ERRORS_RETURN);
	SAME(0x180, MPI_REQUEST_NULL);
	SAME(0x20, MPI_OP_NULL), SAME(0x21, MPI_SUM), SAME(0x22, MPI_MIN), SAME(0x23, MPI_MAX),
		SAME(0x24, MPI_PROD);
	SAME(0x28, MPI_BAND), SAME(0x29, MPI_BOR), SAME(0x2a, MPI_BXOR), SAME(0x30, MPI_LAND),
		SAME(0x31, MPI_LOR);
	SAME(0x32, MPI_LXOR), SAME(0x38, MPI_MINLOC), SAME(0x39, MPI_MAXLOC),
		SAME(0x3c, MPI_REPLACE), SAME(0x3d, MPI_NO_OP);
	SAME(0x200, MPI_DATATYPE_NULL), SAME(0x201, MPI_AINT), SAME(0x202, MPI_COUNT),
		SAME(0x203, MPI_OFFSET);
	SAME(0x207, MPI_PACKED), SAME(0x208, MPI_SHORT), SAME(0x209, MPI_INT),
		SAME(0x20a, MPI_LONG), SAME(0x20b, MPI_LONG_LONG);
	SAME(0x20c, MPI_UNSIGNED_SHORT), SAME(0x20d, MPI_UNSIGNED), SAME(0x20e, MPI_UNSIGNED_LONG);
	SAME(0x20f, MPI_UNSIGNED_LONG_LONG), SAME(0x210, MPI_FLOAT),
		SAME(0x212, MPI_C_FLOAT_COMPLEX), SAME(0x214, MPI_DOUBLE);
	SAME(0x216, MPI_C_DOUBLE_COMPLEX), SAME(0x220, MPI_LONG_DOUBLE),
		SAME(0x224, MPI_C_LONG_DOUBLE_COMPLEX);
	SAME(0x228, MPI_FLOAT_INT), SAME(0x229, MPI_DOUBLE_INT), SAME(0x22a, MPI_LONG_INT),
		SAME(0x22b, MPI_2INT);
	SAME(0x22c, MPI_SHORT_INT), SAME(0x22d, MPI_LONG_DOUBLE_INT), SAME(0x238, MPI_C_BOOL),
		SAME(0x23c, MPI_WCHAR);
	SAME(0x240, MPI_INT8_T), SAME(0x241, MPI_UINT8_T), SAME(0x243, MPI_CHAR),
		SAME(0x244, MPI_SIGNED_CHAR);
	SAME(0x245, MPI_UNSIGNED_CHAR), SAME(0x247, MPI_BYTE), SAME(0x248, MPI_INT16_T),
		SAME(0x249, MPI_UINT16_T);
	SAME(0x250, MPI_INT32_T), SAME(0x251, MPI_UINT32_T), SAME(0x258, MPI_INT64_T),
		SAME(0x259, MPI_UINT64_T);
	/* As an MPI that was built without Fortran. */
	if (getenv("TRANSLATE_NO_FORTRAN"))
		return;
	SAME(0x218, MPI_LOGICAL), SAME(0x219, MPI_INTEGER), SAME(0x21a, MPI_REAL),
		SAME(0x21b, MPI_COMPLEX);
	SAME(0x21c, MPI_DOUBLE_PRECISION), SAME(0x21d, MPI_DOUBLE_COMPLEX),
		SAME(0x21e, MPI_CHARACTER);
	SAME(0x230, MPI_2REAL), SAME(0x231, MPI_2DOUBLE_PRECISION), SAME(0x232, MPI_2INTEGER);
	SAME(0x2c1, MPI_INTEGER1), SAME(0x2c9, MPI_INTEGER2), SAME(0x2d1, MPI_INTEGER4),
		SAME(0x2d9, MPI_INTEGER8);
	SAME(0x2d2, MPI_REAL4), SAME(0x2da, MPI_REAL8), SAME(0x2db, MPI_COMPLEX8),
		SAME(0x2e3, MPI_COMPLEX16);
#undef SAME
}

static uintptr_t
native_word(abi_handle handle)
{
	uintptr_t word = (uintptr_t)handle;
	return word >= 4096 || word == 0 ? word : natives[word] ? natives[word] : natives[0x200];
}

/* The lowest value: a type that the MPI has not is MPI_DATATYPE_NULL there. */
static abi_handle
abi_word(uintptr_t word)
{
	word = sizeof(MPI_Comm) == 4 ? (uint32_t)word : word;
	for (uintptr_t value = 0; value < 0x300; value++)
		if (word != 0 && natives[value] &&
		    (sizeof(MPI_Comm) == 4 ? (uint32_t)natives[value] : natives[value]) == word)
			return (abi_handle)value;
	return (abi_handle)word;
}

#define IN(type, handle) ((type)native_word(handle))
#define OUT(handle) abi_word((uintptr_t)(handle))

/* --- other constants -------------------------------------------------------------------------- */

struct pair {
	int abi, native;
};

static int
look(const struct pair *pairs, int count, int value, int is_in)
{
	for (int i = 0; i < count; i++)
		if ((is_in ? pairs[i].abi : pairs[i].native) == value)
			return is_in ? pairs[i].native : pairs[i].abi;
	return value;
}
#define MAP(name, ...)                                                                             \
	static const struct pair name##_pairs[] = {__VA_ARGS__};                                   \
	__attribute__((unused)) static int name##_in(int value)                                    \
	{                                                                                          \
		return look(name##_pairs, sizeof name##_pairs / sizeof *name##_pairs, value, 1);   \
	}                                                                                          \
	__attribute__((unused)) static int name##_out(int value)                                   \
	{                                                                                          \
		return look(name##_pairs, sizeof name##_pairs / sizeof *name##_pairs, value, 0);   \
	}

MAP(rank, {-1, MPI_ANY_SOURCE}, {-3, MPI_PROC_NULL}, {-4, MPI_ROOT})
MAP(tag, {-2, MPI_ANY_TAG})
MAP(keyval, {0, MPI_KEYVAL_INVALID})
MAP(thread, {0, MPI_THREAD_SINGLE}, {1024, MPI_THREAD_FUNNELED}, {2048, MPI_THREAD_SERIALIZED},
    {4096, MPI_THREAD_MULTIPLE})
MAP(order, {12, MPI_ORDER_C}, {15, MPI_ORDER_FORTRAN})
MAP(distribution, {16, MPI_DISTRIBUTE_NONE}, {17, MPI_DISTRIBUTE_BLOCK},
    {18, MPI_DISTRIBUTE_CYCLIC})
MAP(argument, {19, MPI_DISTRIBUTE_DFLT_DARG})
MAP(split_type, {221, MPI_COMM_TYPE_SHARED})
MAP(relation, {201, MPI_IDENT}, {202, MPI_CONGRUENT}, {203, MPI_SIMILAR}, {204, MPI_UNEQUAL})
MAP(combiner, {101, MPI_COMBINER_NAMED}, {102, MPI_COMBINER_DUP}, {103, MPI_COMBINER_CONTIGUOUS},
    {104, MPI_COMBINER_VECTOR},
    {105, MPI_COMBINER_HVECTOR}, {106, MPI_COMBINER_INDEXED}, {107, MPI_COMBINER_HINDEXED},
    {108, MPI_COMBINER_INDEXED_BLOCK},
    {109, MPI_COMBINER_HINDEXED_BLOCK}, {110, MPI_COMBINER_STRUCT}, {111, MPI_COMBINER_SUBARRAY},
    {112, MPI_COMBINER_DARRAY},
    {113, MPI_COMBINER_F90_REAL}, {114, MPI_COMBINER_F90_COMPLEX}, {115, MPI_COMBINER_F90_INTEGER},
    {116, MPI_COMBINER_RESIZED})
/* Both MPIs' codes are classes, or large numbers. */
MAP(code, {0, MPI_SUCCESS}, {1, MPI_ERR_BUFFER}, {2, MPI_ERR_COUNT}, {3, MPI_ERR_TYPE},
    {4, MPI_ERR_TAG}, {5, MPI_ERR_COMM},
    {6, MPI_ERR_RANK}, {7, MPI_ERR_REQUEST}, {8, MPI_ERR_ROOT}, {9, MPI_ERR_GROUP},
    {10, MPI_ERR_OP}, {11, MPI_ERR_TOPOLOGY},
    {12, MPI_ERR_DIMS}, {13, MPI_ERR_ARG}, {14, MPI_ERR_UNKNOWN}, {15, MPI_ERR_TRUNCATE},
    {16, MPI_ERR_OTHER},
    {17, MPI_ERR_INTERN}, {18, MPI_ERR_PENDING}, {19, MPI_ERR_IN_STATUS}, {36, MPI_ERR_KEYVAL},
    {39, MPI_ERR_NO_MEM})

/* Of MPI_Type_get_contents, what is no number. */
static void
translate_contents(int combiner, int *integers)
{
	if (combiner == MPI_COMBINER_SUBARRAY) {
		int *order = integers + 1 + 3 * integers[0];
		*order = order_out(*order);
	} else if (combiner == MPI_COMBINER_DARRAY) {
		int n = integers[2], *distributions = integers + 3 + n,
		    *arguments = distributions + n, *order = arguments + 2 * n;
		for (int i = 0; i < n; i++) {
			distributions[i] = distribution_out(distributions[i]);
			arguments[i] = argument_out(arguments[i]);
		}
		*order = order_out(*order);
	}
}

static void *
place(const void *buffer)
{
	return buffer == (void *)1 ? MPI_IN_PLACE : (void *)buffer;
}

static void
give_status(struct abi_status *to, const MPI_Status *from)
{
	if (to)
		*to = (struct abi_status){rank_out(from->MPI_SOURCE), tag_out(from->MPI_TAG),
					  code_out(from->MPI_ERROR), {0}};
}

/* An array for a function that counts in int. */
__attribute__((unused)) static int *
narrow(int *to, const int64_t *from, int count)
{
	for (int i = 0; i < count && from; i++)
		to[i] = (int)from[i];
	return from ? to : NULL;
}

/* --- callbacks -------------------------------------------------------------------------------- */

/* They have no word of their own by which they could find the program's function: so each of these
 * has one. */
#define EACH_8(X, i) X(i##0) X(i##1) X(i##2) X(i##3) X(i##4) X(i##5) X(i##6) X(i##7)
#define EACH(X) \
	EACH_8(X, 0) EACH_8(X, 1) EACH_8(X, 2) EACH_8(X, 3) \
	EACH_8(X, 4) EACH_8(X, 5) EACH_8(X, 6) EACH_8(X, 7)
enum { CALLBACKS = 64 };

typedef void abi_operation(void *in, void *inout, int *count, abi_handle *type);
typedef void abi_handler(abi_handle *comm, int *code, ...);
static abi_operation *operations[CALLBACKS];
static abi_handler *handlers[CALLBACKS];

#define OPERATION(i)                                                                               \
	static void operation_##i(void *in, void *inout, int *count, MPI_Datatype *type)           \
	{                                                                                          \
		abi_handle handle = OUT(*type);                                                    \
		operations[0##i](in, inout, count, &handle);                                       \
	}
#define HANDLER(i)                                                                                 \
	static void handler_##i(MPI_Comm *comm, int *code, ...)                                    \
	{                                                                                          \
		abi_handle handle = OUT(*comm);                                                    \
		int mine = code_out(*code);                                                        \
		handlers[0##i](&handle, &mine);                                                    \
	}
EACH(OPERATION)
EACH(HANDLER)
#define NAME_OPERATION(i) operation_##i,
#define NAME_HANDLER(i) handler_##i,
static MPI_User_function *const native_operations[CALLBACKS] = {EACH(NAME_OPERATION)};
static MPI_Comm_errhandler_function *const native_handlers[CALLBACKS] = {EACH(NAME_HANDLER)};

/* The place of the function, in an array of CALLBACKS words. */
static int
callback(void *array, void *function)
{
	void **places = array;
	int i = 0;
	while (i < CALLBACKS - 1 && places[i] && places[i] != function)
		i++;
	if (places[i] && places[i] != function)
		fprintf(stderr, "translate: too many callbacks\n"), abort();
	places[i] = function;
	return i;
}

struct attribute {
	int (*copy)(abi_handle comm, int keyval, void *extra, void *in, void *out, int *flag);
	int (*remove)(abi_handle comm, int keyval, void *value, void *extra);
	void *extra;
};

static int
copy_attribute(MPI_Comm comm, int keyval, void *word, void *in, void *out, int *flag)
{
	struct attribute *attribute = word;
	*flag = 0;
	if ((uintptr_t)attribute->copy == 1) {
		*(void **)out = in;
		*flag = 1;
	}
	return (uintptr_t)attribute->copy <= 1 ? 0
					       : code_in(attribute->copy(OUT(comm), keyval,
									 attribute->extra, in, out,
									 flag));
}

static int
remove_attribute(MPI_Comm comm, int keyval, void *value, void *word)
{
	struct attribute *attribute = word;
	return attribute->remove
	       ? code_in(attribute->remove(OUT(comm), keyval, value, attribute->extra)) : 0;
}

/* --- names ------------------------------------------------------------------------------------ */

#define EXPORT(type, name, parameters)                                                             \
	__attribute__((visibility("default"))) type abi_##name parameters __asm__("PMPI_" #name);  \
	__attribute__((visibility("default"), weak, \
		       alias("PMPI_" #name))) type weak_##name parameters __asm__("MPI_" #name); \
	type abi_##name parameters

static void *native_library;

static void *
native_function(const char *name)
{
	void *function = dlsym(native_library, name);
	if (!function)
		fprintf(stderr, "translate: " NATIVE " has no %s\n", name), abort();
	return function;
}

static void find_functions(void);

__attribute__((constructor)) static void
begin(void)
{
	native_library = dlopen(NATIVE, RTLD_LAZY | RTLD_NOLOAD);
	if (!native_library)
		fprintf(stderr, "translate: %s\n", dlerror()), abort();
	fill_handles();
	find_functions();
}

#define THEIR(name) ((__typeof__(&MPI_##name))native_function("PMPI_" #name))

/* Blocks that a collective of neighbours sends, or receives. */
static int
neighbours(MPI_Comm comm, int is_sent)
{
	int kind = MPI_UNDEFINED, in = 0, out = 0, weighted, rank;
	if (comm == MPI_COMM_NULL || THEIR(Topo_test)(comm, &kind))
		return 0;
	if (kind == MPI_DIST_GRAPH &&
	    !THEIR(Dist_graph_neighbors_count)(comm, &in, &out, &weighted))
		return is_sent ? out : in;
	if (kind == MPI_CART && !THEIR(Cartdim_get)(comm, &in))
		return 2 * in;
	return kind == MPI_GRAPH && !THEIR(Comm_rank)(comm, &rank) &&
	       !THEIR(Graph_neighbors_count)(comm, rank, &in) ? in : 0;
}

/* Ranks whose blocks an alltoallw has. */
static int
peers(MPI_Comm comm, int (*test_inter)(MPI_Comm, int *), int (*remote_size)(MPI_Comm, int *),
      int (*size)(MPI_Comm, int *))
{
	int is_inter = 0, ranks = 0;
	if (comm == MPI_COMM_NULL || test_inter(comm, &is_inter))
		return 0;
	if (is_inter ? remote_size(comm, &ranks) : size(comm, &ranks))
		return 0;
	return ranks;
}

/* --- generalized requests --------------------------------------------------------------------- */

/* MPICH's libmpi_abi polls, too (MPIX_Grequest_start, without PMPIX). */
struct grequest {
	int (*query)(void *extra, struct abi_status *status);
	int (*release)(void *extra);
	int (*cancel)(void *extra, int is_complete);
	void *extra;
	int (*poll)(void *extra, struct abi_status *status);
	int (*wait)(int count, void **extras, double timeout, struct abi_status *status);
};

static int
query_grequest(void *word, MPI_Status *status)
{
	struct grequest *grequest = word;
	struct abi_status mine = {0};
	int result = grequest->query(grequest->extra, &mine);
	status->MPI_SOURCE = rank_in(mine.source);
	status->MPI_TAG = tag_in(mine.tag);
	THEIR(Status_set_elements)(status, MPI_BYTE, 0);
	THEIR(Status_set_cancelled)(status, 0);
	return code_in(result);
}

static int
free_grequest(void *word)
{
	struct grequest *grequest = word;
	int result = grequest->release(grequest->extra);
	free(grequest);
	return code_in(result);
}

static int
cancel_grequest(void *word, int is_complete)
{
	struct grequest *grequest = word;
	return code_in(grequest->cancel(grequest->extra, is_complete));
}

#ifndef OPEN_MPI
static int
poll_grequest(void *word, MPI_Status *status)
{
	struct grequest *grequest = word;
	struct abi_status mine;
	(void)status;
	return code_in(grequest->poll(grequest->extra, &mine));
}

static int
wait_for_grequests(int count, void **words, double timeout, MPI_Status *status)
{
	struct abi_status mine;
	(void)status;
	void **extras = alloca((size_t)count * sizeof *extras);
	for (int i = 0; i < count; i++)
		extras[i] = ((struct grequest *)words[i])->extra;
	return code_in(((struct grequest *)words[0])->wait(count, extras, timeout, &mine));
}

__attribute__((visibility("default"))) int
abi_polled(int (*query)(void *, struct abi_status *), MPI_Grequest_free_function *release,
	   MPI_Grequest_cancel_function *cancel, int (*poll)(void *, struct abi_status *),
	   int (*wait)(int, void **, double, struct abi_status *), void *extra,
	   abi_handle *request) __asm__("MPIX_Grequest_start");
int
abi_polled(int (*query)(void *, struct abi_status *), MPI_Grequest_free_function *release,
	   MPI_Grequest_cancel_function *cancel, int (*poll)(void *, struct abi_status *),
	   int (*wait)(int, void **, double, struct abi_status *), void *extra,
	   abi_handle *request)
{
	struct grequest *grequest = malloc(sizeof *grequest);
	*grequest = (struct grequest){query, release, cancel, extra, poll, wait};
	MPI_Request made = MPI_REQUEST_NULL;
	int result = ((__typeof__(&MPIX_Grequest_start))native_function("PMPIX_Grequest_start"))(
		query_grequest, free_grequest, cancel_grequest, poll_grequest, wait_for_grequests,
		grequest, &made);
	*request = OUT(made);
	return code_out(result);
}
#endif
