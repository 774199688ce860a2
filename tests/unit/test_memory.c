/* Every allocation of select is made to fail once. The linker sends them through here (--wrap);
 * those inside libyaml and libc are not reached. */
#include "unit.h"

#include "select/select.h"
#include "select/tuning.h"

#include <stdbool.h>

static bool is_counting;
static size_t made, failing; /* the failing-th from now on gets NULL, 0: none does */
static long alive;           /* made and not yet freed */

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
char *__real_strdup(const char *text);
int __real_vasprintf(char **text, const char *format, va_list arguments);
void __real_free(void *memory);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *text);
int __wrap_vasprintf(char **text, const char *format, va_list arguments);
void __wrap_free(void *memory);

static bool
fails(void)
{
	return is_counting && ++made == failing;
}

static void *
counted(void *memory)
{
	alive += is_counting && memory;
	return memory;
}

void *
__wrap_malloc(size_t bytes)
{
	return fails() ? NULL : counted(__real_malloc(bytes));
}

void *
__wrap_calloc(size_t count, size_t bytes)
{
	return fails() ? NULL : counted(__real_calloc(count, bytes));
}

void *
__wrap_realloc(void *old, size_t bytes)
{
	if (fails())
		return NULL;
	void *memory = __real_realloc(old, bytes);
	alive += is_counting && memory && !old;
	return memory;
}

char *
__wrap_strdup(const char *text)
{
	return fails() ? NULL : counted(__real_strdup(text));
}

int
__wrap_vasprintf(char **text, const char *format, va_list arguments)
{
	if (fails())
		return -1;
	int length = __real_vasprintf(text, format, arguments);
	counted(length < 0 ? NULL : *text);
	return length;
}

void
__wrap_free(void *memory)
{
	alive -= is_counting && memory;
	__real_free(memory);
}

/* Creates and destroys a selector with the failing-th allocation refused. */
static enum cs_status
create(const struct cs_settings *settings, size_t which)
{
	static const struct cs_machine machine = { "mpich", "cpu", "host", 4 };
	struct cs_selector *selector = NULL;
	struct said said;
	said_begin(&said);
	made = 0;
	alive = 0;
	failing = which;
	is_counting = true;
	enum cs_status status = cs_selector_create(&selector, settings, &machine);
	if (status == CS_OK)
		cs_selector_destroy(selector);
	is_counting = false;
	said_end(&said);
	return status;
}

static void
try_every_allocation(const char *site, const char *forcing)
{
	char path[256];
	int file = mkstemp(temporary(path));
	assert_true(file >= 0);
	assert_int_equal(write(file, site, strlen(site)), strlen(site));
	close(file);
	struct cs_settings settings = { .team_after = -1, .tuning = path };
	settings.force[CS_BCAST] = forcing;
	assert_int_equal(create(&settings, 0), CS_OK);
	size_t all = made;
	long leaked = alive;
	size_t refused = 0, wrong = 0;
	for (size_t which = 1; which <= all && !wrong; which++) {
		enum cs_status status = create(&settings, which);
		/* Shrinking an array may fail without harm. */
		refused += status == CS_NO_MEMORY;
		if ((status != CS_NO_MEMORY && status != CS_OK) || alive)
			wrong = which;
	}
	unlink(path);
	assert_int_equal(leaked, 0);
	if (wrong)
		fail_msg("allocation %zu of %zu refused: %ld blocks leaked", wrong, all, alive);
	assert_true(all > 20 && refused + CS_COLL_COUNT >= all);
}

TEST(a_selector_with_rules_and_forcing_fails_cleanly_at_every_allocation)
{
	try_every_allocation("version: 1\n"
			     "limits: {slots: 4}\n"
			     "blocks:\n"
			     "  - name: b\n"
			     "    provenance: {date: 2026-11-21, library: l, machine: m, command: "
			     "c, note: n, mpi: m}\n"
			     "    machine: {mpi: mpich, cpu: \"*\", host: \"*\"}\n"
			     "    rules:\n"
			     "      - {collective: any, use: \"hier:host\"}\n"
			     "      - {collective: bcast, bytes: 0-4K, use: ring}\n",
			     "0-4K=ring,4K-inf=hier:host:chunk=4K");
}

TEST(a_selector_with_wrong_input_fails_cleanly_at_every_allocation)
{
	try_every_allocation("version: 2\nblocks:\n  - name: b\n    rules: [{collective: bcast, "
			     "use: none}]\n",
			     "0-4K=heir:host");
}

RUN_TESTS(NULL, NULL)
