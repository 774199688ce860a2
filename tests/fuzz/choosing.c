#include "choosing.h"
#include "fuzz.h"

#include "base/log.h"
#include "base/parse.h"
#include "select/force.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int
fuzz_open(const char *text, size_t bytes, char path[64])
{
	int file = memfd_create("fuzz", MFD_CLOEXEC);
	CLAIM(file >= 0, "no file in memory");
	for (size_t done = 0; done < bytes;) {
		ssize_t more = write(file, text + done, bytes - done);
		CLAIM(more > 0, "the file in memory is full at %zu of %zu bytes", done, bytes);
		done += (size_t)more;
	}
	snprintf(path, 64, "/proc/self/fd/%d", file);
	return file;
}

void
fuzz_close(int file)
{
	close(file);
}

struct cs_selector *
fuzz_selector(const char *tuning, size_t tuning_bytes, enum cs_coll coll, const char *force)
{
	static const struct cs_machine machine = { "mpich", "AMD EPYC 7763", "node1", 8 };
	struct cs_settings settings = { .tuning = "builtin", .team_after = -1 };
	struct cs_selector *selector = NULL;
	char path[64];
	int file = tuning ? fuzz_open(tuning, tuning_bytes, path) : -1;
	if (tuning)
		settings.tuning = path;
	settings.force[coll] = force;
	cs_log_set_speaker(false);
	CLAIM(cs_selector_create(&selector, &settings, &machine) == CS_OK, "no memory");
	if (tuning)
		fuzz_close(file);
	return selector;
}

static const struct {
	int ranks, nodes, ppn_min, ppn_max;
	bool is_block_placed, is_commutative, is_nonblocking;
} shapes[] = {
	{ 4, 1, 4, 4, true, true },    { 4, 4, 1, 1, true, true },    { 64, 4, 16, 16, true, true },
	{ 7, 3, 1, 3, true, true },    { 6, 2, 3, 3, false, true },   { 6, 2, 3, 3, false, false },
	{ 8, 2, 4, 4, true, false },   { 1000000, 8000, 125, 125, true, true },
	{ 4, 1, 4, 4, true, true, true },
	{ 64, 4, 16, 16, true, true, true },
};

int
fuzz_facts_count(void)
{
	return (int)(sizeof shapes / sizeof *shapes);
}

struct cs_facts
fuzz_facts(enum cs_coll coll, size_t bytes, int number)
{
	if (coll == CS_BARRIER)
		bytes = 0;
	return (struct cs_facts){ .coll = coll, .bytes = cs_colls[coll].bytes_agreed
				  ? bytes : CS_BYTES_UNKNOWN, .ranks = shapes[number].ranks,
				  .nodes = shapes[number].nodes, .ppn_min = shapes[number].ppn_min,
				  .ppn_max = shapes[number].ppn_max,
				  .is_block_placed = shapes[number].is_block_placed,
				  .is_commutative = shapes[number].is_commutative ||
				  !cs_colls[coll].reduces, .wire = number % 2
				  ? CS_WIRE_IB : CS_WIRE_HOST,
				  .is_nonblocking = shapes[number].is_nonblocking,
				  .has_progress = true };
}

bool
fuzz_is_same_choice(const struct cs_choice *a, const struct cs_choice *b)
{
	return a->algorithm == b->algorithm && !memcmp(a->params, b->params, sizeof a->params) &&
	       a->why == b->why && a->bytes_low == b->bytes_low && a->bytes_high == b->bytes_high;
}

/* Between its ends the answer is the same; the reason may be another row's. */
static void
check_interval(const struct cs_selector *selector, const struct cs_facts *facts,
	       const struct cs_choice *choice)
{
	if (facts->bytes == CS_BYTES_UNKNOWN)
		return;
	CLAIM(choice->bytes_low <= facts->bytes && facts->bytes < choice->bytes_high,
	      "%zu is not in %zu to %zu", facts->bytes, choice->bytes_low, choice->bytes_high);
	const size_t ends[] = { choice->bytes_low, choice->bytes_high - 1 };
	for (int i = 0; i < 2; i++) {
		struct cs_facts at = *facts;
		struct cs_choice there;
		at.bytes = ends[i];
		cs_selector_choose(selector, &at, &there);
		CLAIM(there.algorithm == choice->algorithm &&
			      !memcmp(there.params, choice->params, sizeof there.params),
		      "%s of %zu and of %zu bytes are told to be alike", cs_colls[facts->coll].name,
		      facts->bytes, ends[i]);
	}
}

/* The last line is "-> NAME:PARAMETER=VALUE (why)...", and NAME:PARAMETER=VALUE is what a variable
 * could say. */
void
fuzz_check_explanation(const struct cs_selector *selector, const struct cs_facts *facts)
{
	char *text = NULL, message[600] = "";
	size_t length = 0;
	struct cs_choice choice;
	FILE *out = open_memstream(&text, &length);
	CLAIM(out, "no memory");
	cs_selector_choose(selector, facts, &choice);
	cs_selector_explain(selector, facts, out);
	fflush(out);
	size_t answered = length;
	cs_selector_explain_why(selector, facts, facts->ranks & 1, out);
	fclose(out);
	char *use = strstr(text, "\n-> ");
	CLAIM(use && strchr(use + 1, '\n') == text + answered - 1, "the answer does not end the "
								   "first lines:\n%s", text);
	use += strlen("\n-> ");
	use[strcspn(use, " ")] = '\0';
	struct cs_force force;
	CLAIM(cs_force_parse(&force, facts->coll, use, message, sizeof message) == CS_OK,
	      "\"%s\": %s", use, message);
	CLAIM(force.item_count == 1 && force.items[0].use.algorithm == choice.algorithm &&
		      !memcmp(force.items[0].use.params, choice.params, sizeof choice.params),
	      "\"%s\" is not what was chosen", use);
	cs_force_fini(&force);
	free(text);
}

void
fuzz_check_choice(const struct cs_selector *selector, const struct cs_facts *facts)
{
	struct cs_choice choice, again;
	cs_selector_choose(selector, facts, &choice);
	cs_selector_choose(selector, facts, &again);
	CLAIM(fuzz_is_same_choice(&choice, &again), "%s of %zu bytes: two answers",
	      cs_colls[facts->coll].name, facts->bytes);
	CLAIM(!choice.algorithm || (choice.algorithm->coll == facts->coll &&
				    !cs_algorithm_unmet(choice.algorithm, facts)),
	      "%s cannot serve %s", choice.algorithm->name, cs_colls[facts->coll].name);
	CLAIM(choice.reason && *choice.reason, "no reason for %s", cs_colls[facts->coll].name);
	check_interval(selector, facts, &choice);
}
