/* What a module learns of the MPI that it meets: which functions there are, what it does by its
 * name, and its handles. Built with each mpi.h, and needs no MPI. */
#include "coll/coll.h"
#include "comm/host/flavour.h"
#include "comm/host/pmpi.h"
#include "base/hash.h"
#include "base/log.h"

#include "unit.h"

#define BIT(coll) (1u << CS_##coll)
#define REDUCTIONS                                                                                 \
	(BIT(ALLREDUCE) | BIT(EXSCAN) | BIT(REDUCE) | BIT(REDUCE_SCATTER) |                        \
	 BIT(REDUCE_SCATTER_BLOCK) | BIT(SCAN))

enum use { EVERYTHING, OTHER, A_WAY, COLLS, NODES };

static const struct {
	const char *name;
	enum use use;
} functions[] = {
#define P(name) { "PMPI_" #name, EVERYTHING },
#define P_OR(name, other) { "PMPI_" #name, OTHER },
#define P_FOR(name, what) { "PMPI_" #name, A_WAY },
#define P_FOR_COLLS(name, colls) { "PMPI_" #name, COLLS },
#define P_FOR_NODES(name, colls) { "PMPI_" #name, NODES },
#include "comm/host/pmpi.def"
};

static const char *hidden;
static char places[512];

/* Any name has a place of its own that is never called. */
static void *
look_up(const char *name)
{
	size_t place = cs_hash_text(CS_HASH_START, name) % sizeof places;
	return hidden && !strcmp(name, hidden) ? NULL : &places[place];
}

TEST(an_mpi_that_has_all_serves_all)
{
	struct said said;
	hidden = NULL;
	cs_log_set_verbosity(1);
	said_begin(&said);
	bool is_loaded = cs_pmpi_load(look_up);
	cs_pmpi_tell(false);
	assert_string_equal(said_end(&said), "");
	cs_log_set_verbosity(0);
	assert_true(is_loaded);
	assert_int_equal(cs_pmpi_left(true), 0);
	assert_int_equal(cs_pmpi_digest(CS_HASH_START), CS_HASH_START);
}

TEST(what_is_needed_by_everything_is_asked_for)
{
	size_t needed = 0;
	for (size_t i = 0; i < COUNT(functions); i++) {
		hidden = functions[i].name;
		if (cs_pmpi_load(look_up) == (functions[i].use == EVERYTHING))
			fail_msg("%s", hidden);
		needed += functions[i].use == EVERYTHING;
		/* All the others are there, since a rank that cannot serve still says so to its
		 * peers. */
		assert_true(!cs_pmpi.Isend == !strcmp(hidden, "PMPI_Isend"));
		assert_true(!cs_pmpi.Sendrecv == !strcmp(hidden, "PMPI_Sendrecv"));
	}
	assert_in_range(needed, 30, COUNT(functions) - 10);
}

TEST(a_function_takes_away_the_collectives_that_need_it)
{
	static const struct {
		const char *name;
		uint32_t on_one, on_nodes;
	} cases[] = {
		{ "PMPI_Reduce_local", REDUCTIONS, REDUCTIONS },
		{ "PMPI_Exscan", 0, BIT(EXSCAN) | BIT(SCAN) },
		{ "PMPI_Gatherv", 0, BIT(GATHER) | BIT(GATHERV) },
		{ "PMPI_Barrier", 0, BIT(BARRIER) },
		{ "PMPI_Op_commutative", 0, 0 },
		{ "PMPI_Ibcast", 0, 0 },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		hidden = cases[i].name;
		assert_true(cs_pmpi_load(look_up));
		assert_int_equal(cs_pmpi_left(false), cases[i].on_one);
		assert_int_equal(cs_pmpi_left(true), cases[i].on_nodes);
	}
}

TEST(what_is_not_there_is_told_and_makes_ranks_differ)
{
	uint64_t last = CS_HASH_START;
	for (size_t i = 0; i < COUNT(functions); i++) {
		struct said said;
		if (functions[i].use == EVERYTHING || functions[i].use == OTHER)
			continue;
		hidden = functions[i].name;
		assert_true(cs_pmpi_load(look_up));
		said_begin(&said);
		cs_pmpi_tell(false);
		assert_string_equal(said_end(&said), "");
		cs_log_set_verbosity(1);
		said_begin(&said);
		cs_pmpi_tell(false);
		const char *text = said_end(&said);
		cs_log_set_verbosity(0);
		assert_int_equal(count_lines(text), 1);
		assert_contains(text, hidden);
		assert_contains(text, functions[i].use == A_WAY   ? " "
				      : functions[i].use == NODES ? "left to it on several nodes\n"
								  : "left to it\n");
		uint64_t digest = cs_pmpi_digest(CS_HASH_START);
		assert_true(digest != last && digest != CS_HASH_START);
		last = digest;
	}
}

TEST(the_successor_of_a_deprecated_function_stands_in_for_it)
{
	hidden = "PMPI_Type_size_x";
	assert_true(cs_pmpi_load(look_up));
	assert_ptr_equal((void *)cs_pmpi.Type_size_x, look_up("PMPI_Type_size_c"));
	assert_int_equal(cs_pmpi_digest(CS_HASH_START), CS_HASH_START);
}

TEST(an_mpi_is_known_by_what_it_says_of_itself)
{
	static const struct {
		const char *text, *name;
		bool splits_wrongly;
	} cases[] = {
		{ "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4", "openmpi", false },
		{ "Open MPI v6.0.0rc2, built beside an MPICH", "openmpi", false },
		{ "mpi_abi_wrapper 1.2.0\nwrapping:\nOpen MPI v5.0.7", "openmpi", false },
		{ "MPICH Version:\t4.0.2\nMPICH Configure: --prefix=/opt/Open MPI", "mpich",
		  false },
		{ "MPICH Version:      5.0.2\nMPICH Release date: ", "mpich", true },
		{ "MPICH Version:\t5.1.0\n", "mpich", false },
		{ "MVAPICH2 Version      :\t2.3.7\n", "mpich", false },
		{ "Intel(R) MPI Library 2021.9 for Linux* OS\n", "mpich", false },
		{ "", "mpich", false },
		{ NULL, "mpich", false },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		cs_flavour_learn(cases[i].text);
		bool is_open = !strcmp(cases[i].name, "openmpi");
		if (strcmp(cs_flavour.name, cases[i].name) != 0)
			fail_msg("%s is taken for %s", cases[i].text, cs_flavour.name);
		assert_int_equal(cs_flavour.splits_type_wrongly, cases[i].splits_wrongly);
		assert_int_equal(cs_flavour.yields_in_waits, is_open);
		assert_int_equal(cs_flavour.tells_of_less, !is_open);
		assert_true(cs_flavour.most_comms > 0);
	}
}

TEST(handles_are_told_from_what_is_none)
{
	static const struct {
		enum cs_handles kind;
		uintptr_t handle;
		bool is_comm, is_op;
	} cases[] = {
		{ CS_HANDLES_NUMBERS, 0, false, false },
		{ CS_HANDLES_NUMBERS, CS_MPICH_COMM_WORLD, true, false },
		{ CS_HANDLES_NUMBERS, CS_MPICH_COMM_SELF, true, false },
		{ CS_HANDLES_NUMBERS, 0x44000002, false, false },
		{ CS_HANDLES_NUMBERS, 0x04000000, false, false },
		{ CS_HANDLES_NUMBERS, (uintptr_t)(int)0x84000001, true, false },
		{ CS_HANDLES_NUMBERS, (uintptr_t)(int)0x98000000, false, true },
		{ CS_HANDLES_NUMBERS, 0x18000000, false, false },
		{ CS_HANDLES_NUMBERS, CS_MPICH_UINT64_T, false, false },
		{ CS_HANDLES_ADDRESSES, 0, false, false },
		{ CS_HANDLES_ADDRESSES, 0x7f0012345680, true, true },
		{ CS_HANDLES_STANDARD, 0, false, false },
		{ CS_HANDLES_STANDARD, CS_ABI_COMM_NULL, false, false },
		{ CS_HANDLES_STANDARD, CS_ABI_COMM_WORLD, true, false },
		{ CS_HANDLES_STANDARD, CS_ABI_COMM_SELF, true, false },
		{ CS_HANDLES_STANDARD, CS_ABI_UINT64_T, false, false },
		{ CS_HANDLES_STANDARD, CS_ABI_MOST, false, false },
		{ CS_HANDLES_STANDARD, CS_ABI_MOST + 1, true, true },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		if (cs_handle_is_comm(cases[i].kind, cases[i].handle) != cases[i].is_comm ||
		    cs_handle_is_op(cases[i].kind, cases[i].handle) != cases[i].is_op)
			fail_msg("kind %d: %jx", cases[i].kind, (uintmax_t)cases[i].handle);
	}
}

static uintptr_t parent, world;

static int
get_parent(uintptr_t *to)
{
	*to = parent;
	return 0;
}

static uintptr_t
from_fortran(int handle)
{
	return handle ? 0 : world;
}

static void *
look_up_handles(const char *name)
{
	return hidden && !strcmp(name, hidden)	      ? NULL
	       : !strcmp(name, "PMPI_Comm_f2c")	      ? (void *)from_fortran
	       : !strcmp(name, "PMPI_Comm_get_parent") ? (void *)get_parent
						       : NULL;
}

TEST(an_mpi_with_other_handles_is_found_out)
{
	static const struct {
		enum cs_handles kind;
		uintptr_t parent, world;
		bool fits;
		const char *hidden;
	} cases[] = {
		{ CS_HANDLES_NUMBERS, 0x04000000, 1, true, NULL },
		{ CS_HANDLES_NUMBERS, 0x84000001, 1, true, NULL },
		{ CS_HANDLES_NUMBERS, 0x7f0004000000, 1, false, NULL },
		{ CS_HANDLES_NUMBERS, CS_ABI_COMM_NULL, 1, false, NULL },
		{ CS_HANDLES_NUMBERS, 0x04000000, 1, false, "PMPI_Comm_get_parent" },
		{ CS_HANDLES_STANDARD, CS_ABI_COMM_NULL, 1, true, NULL },
		{ CS_HANDLES_STANDARD, 0x7f0004000000, 1, true, NULL },
		{ CS_HANDLES_STANDARD, 2, 1, false, NULL },
		{ CS_HANDLES_ADDRESSES, 0, 7, true, NULL },
		{ CS_HANDLES_ADDRESSES, 0, 8, false, NULL },
		{ CS_HANDLES_ADDRESSES, 0, 7, false, "PMPI_Comm_f2c" },
	};
	for (size_t i = 0; i < COUNT(cases); i++) {
		parent = cases[i].parent;
		world = cases[i].world;
		hidden = cases[i].hidden;
		if (cs_handles_fit(cases[i].kind, 7, look_up_handles) != cases[i].fits)
			fail_msg("case %zu", i);
	}
}

int
main(void)
{
	cs_log_set_speaker(true);
	return run_all(NULL, NULL);
}
