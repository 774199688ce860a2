/* A module in place of the real ones: it intercepts every name, passes the call to next and marks
 * the result. So the door is tested without MPI. TEST_MODULE=decline|abi|version makes it behave as
 * the word says; with TEST_MODULE=two it asks for no symbol of all objects, among which there are
 * two MPIs. */
#include "fake_mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cs_door *door;
static void obey(long word);

#define ENTRY(symbol, call, n)                                                                     \
	static long entry_##symbol(PARAMS_##n)                                                     \
	{                                                                                          \
		if (call == CS_CALL_Barrier)                                                       \
			obey(a1);                                                                  \
		return ((long (*)(PARAMS_##n))door->next[call])(WORDS_##n) + INTERCEPTED;          \
	}
#define CALL(name, n) ENTRY(MPI_##name, CS_CALL_##name, n)
#define LARGE(name, n) ENTRY(MPI_##name, CS_CALL_##name, n)
#define FCALL(symbol, n) ENTRY(symbol, CS_CALL_##symbol, n)
#define FPLAIN(symbol, n) ENTRY(symbol, CS_CALL_##symbol, n)
#include "intercept/calls.def"

static struct cs_module module = {
	.abi = CS_MODULE_ABI,
	.version = CS_VERSION,
	.entries = {
#define CALL(name, n) [CS_CALL_##name] = (void *)entry_MPI_##name,
#define LARGE(name, n) [CS_CALL_##name] = (void *)entry_MPI_##name,
#define FCALL(symbol, n) [CS_CALL_##symbol] = (void *)entry_##symbol,
#define FPLAIN(symbol, n) [CS_CALL_##symbol] = (void *)entry_##symbol,
#include "intercept/calls.def"
	},
};

static void
obey(long word)
{
	if (word == ORDER_RESTORE_BCAST)
		door->restore(CS_CALL_Bcast);
	else if (word == ORDER_SET_BCAST)
		door->set(CS_CALL_Bcast, module.entries[CS_CALL_Bcast]);
	else if (word == ORDER_RESTORE_ALL)
		door->restore(-1);
}

static void
expect(int is_so, const char *claim)
{
	if (!is_so)
		fprintf(stderr, "FAILED test module: %s\n", claim);
}

static void
check_door(void)
{
	int (*answer)(void) = (int (*)(void))door->lookup("PMPI_Fake_answer");
	expect(answer != NULL && answer() == 42, "lookup finds a PMPI name of the MPI");
	expect(door->lookup("PMPI_No_such_name") == NULL, "lookup does not find what is not there");
	expect(door->lookup("MPI_Bcast") == door->next[CS_CALL_Bcast],
	       "lookup does not find the door itself");
	expect(strstr(door->library, "MPI") != NULL, "the door knows what the MPI says of itself");
	const char *mood = getenv("TEST_MODULE");
	if (mood != NULL && strcmp(mood, "two") == 0)
		return;
	void *found[4] = {0};
	expect(door->lookup_all("PMPI_Fake_answer", found, 4) == 1 && found[0] == (void *)answer,
	       "lookup_all finds one definition once");
	expect(door->lookup_all("PMPI_Fake_answer", found, 0) == 0, "lookup_all keeps to its room");
	/* A program's copy of a library's variable is a second definition; both the program and the
	 * library use the program's. */
	size_t copies = door->lookup_all("fake_seen", found, 4);
	expect(copies >= 1 && found[0] == (void *)&fake_seen,
	       "lookup_all begins with the definition in use");
}

__attribute__((visibility("default"))) const struct cs_module *cs_module_open(
	const struct cs_door *door);
const struct cs_module *
cs_module_open(const struct cs_door *the_door)
{
	door = the_door;
	const char *mood = getenv("TEST_MODULE");
	if (mood != NULL && strcmp(mood, "decline") == 0)
		return NULL;
	if (mood != NULL && strcmp(mood, "abi") == 0)
		module.abi = CS_MODULE_ABI + 1;
	if (mood != NULL && strcmp(mood, "version") == 0)
		module.version = "0.0.0-other";
	check_door();
	static int opened;
	expect(++opened == 1, "the module is opened once");
	return &module;
}
