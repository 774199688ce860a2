/* select/limits.c — knows the limits of a tuning file: names, meanings and bounds; and reads
 * them. */
#include "select/read_map.h"

#include "base/nearest.h"
#include "shm/node.h"

#include <string.h>

#define LIMIT(member) #member, .offset = offsetof(struct cs_limits, member)
#define FACT(member, text) \
	{ LIMIT(member), .high = CS_FACT_MOST, .multiple = 1, .meaning = text "; 0: measured" }
#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* By enum cs_wire_kind. */
const char *const cs_wire_words[] = { "", "auto", "host", "ib", NULL };

const struct cs_limit_info cs_limit_infos[CS_LIMIT_COUNT] = {
	{ LIMIT(team_after), .low = 0, .high = 1000000, .multiple = 1,
	  .meaning = "a communicator is served from its N-th blocking collective on "
		     "(MPI_COMM_WORLD: from its first)" },
	{ LIMIT(slot_bytes), .low = 4 * KIB, .high = 16 * MIB, .multiple = 64,
	  .meaning = "bytes of one slot of a rank's ring in the node's segment" },
	{ LIMIT(slots), .low = 2, .high = CS_MAX_SLOTS, .multiple = 1,
	  .meaning = "slots in each rank's ring" },
	{ LIMIT(area_bytes), .low = 4 * KIB, .high = 1024 * MIB, .multiple = 64,
	  .meaning = "bytes of one slot of the node's area (teams on several nodes)" },
	{ LIMIT(area_slots), .low = 2, .high = CS_MAX_SLOTS, .multiple = 1,
	  .meaning = "slots of the node's area" },
	{ LIMIT(spin), .low = 0, .high = 1000000000, .multiple = 1,
	  .meaning = "polls of a flag before the first yield, when each rank has a core of its "
		     "own" },
	{ LIMIT(yields), .low = 0, .high = 1000000000, .multiple = 1,
	  .meaning = "yields of a wait before it begins to sleep" },
	{ LIMIT(shm_budget), .low = 4 * KIB, .high = CS_INF, .multiple = 1,
	  .meaning = "most bytes of shared segments on one node and job" },
	{ LIMIT(wire), .low = CS_WIRE_AUTO, .high = CS_WIRE_IB, .multiple = 1,
	  .words = cs_wire_words, .meaning = "what plans between nodes send by: auto (verbs where "
					     "every rank can), host or ib" },
	{ LIMIT(ib_slots), .low = 2, .high = 256, .multiple = 1,
	  .meaning = "verbs: slots for small messages in each direction of a connection" },
	{ LIMIT(ib_slot_bytes), .low = 256, .high = 64 * KIB, .multiple = 64,
	  .meaning = "verbs: bytes of such a slot; 24 of them are not the message's" },
	{ LIMIT(ib_memory), .low = 64 * KIB, .high = CS_INF, .multiple = 1,
	  .meaning = "verbs: most bytes of the slots of all connections of a process" },
	{ LIMIT(ib_cache), .low = 0, .high = CS_INF, .multiple = 1,
	  .meaning = "verbs: most bytes of the program's memory that stay registered while nobody "
		     "uses them" },
	{ LIMIT(imbalance_epoch), .low = 128, .high = 1000000, .multiple = 32,
	  .meaning = "calls of a communicator from one agreement on its imbalance to the next" },
	{ LIMIT(imbalance_moderate), .low = 1, .high = 1000000, .multiple = 1,
	  .meaning = "us that ranks wait for the last one in the mean: imbalance is moderate" },
	{ LIMIT(imbalance_strong), .low = 1, .high = 1000000, .multiple = 1,
	  .meaning = "us that ranks wait for the last one in the mean: imbalance is strong" },
	FACT(copy_rate, "bytes per us that a core copies in its caches"),
	FACT(line_ns, "ns from a publication until a rank on another core sees it"),
	FACT(turn_ns, "ns of the same if ranks share cores"),
	FACT(page_ns, "ns of the first store to a page of shared memory"),
	FACT(call_ns, "ns of reading a word of another process (process_vm_readv)"),
	{ LIMIT(eager_bytes), .low = 1, .high = 1024 * MIB, .multiple = 1,
	  .meaning = "bytes below which a rank that only sends does not wait for its readers" },
	{ LIMIT(lanes_bytes), .low = 1, .high = 1024 * MIB, .multiple = 1,
	  .meaning = "bytes from which on several ranks of a node drive the wire" },
	{ LIMIT(rooted_small), .low = 1, .high = CS_SMALL, .multiple = 1,
	  .meaning = "most bytes of a rooted call that lie in the call's small slot" },
	{ LIMIT(ib_timeout), .low = 1, .high = 31, .multiple = 1,
	  .meaning = "verbs: an unanswered packet is sent again after 4.096 us * 2^this, six "
		     "times" },
};

const char *
cs_limit_text(const struct cs_limit_info *info, size_t value, char *text)
{
	if (!info->words)
		return cs_bytes_text(text, value);
	snprintf(text, CS_NUMBER_TEXT, "%s", info->words[value]);
	return text;
}

static bool
read_limit(const struct cs_limit_info *info, const char *text, size_t *number)
{
	if (!info->words)
		return cs_parse_bytes(text, number) == CS_OK;
	for (*number = info->low; info->words[*number]; ++*number)
		if (!strcmp(info->words[*number], text))
			return true;
	return false;
}

static void
expect_word(struct cs_reader *reader, const struct cs_yaml *value, const struct cs_limit_info *info)
{
	char shown[CS_SHOWN_TEXT], known[128] = "";
	struct cs_nearest nearest = { .word = value->text };
	for (size_t i = info->low; i <= info->high; i++) {
		cs_text_add(known, sizeof known, "%s%s", i == info->low ? "" : i == info->high
			    ? " or " : ", ", info->words[i]);
		if (value->kind == CS_YAML_SCALAR)
			cs_nearest_try(&nearest, info->words[i]);
	}
	cs_reader_complain(reader, value, "found %s, expected %s%s%s%s",
			   cs_reader_found(shown, value), known,
			   nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
			   nearest.best ? "?" : "");
}

static void
take_limit(struct cs_reader *reader, const struct cs_yaml *value, size_t index)
{
	const struct cs_limit_info *info = &cs_limit_infos[index];
	size_t number;
	if (value->kind == CS_YAML_SCALAR && read_limit(info, value->text, &number) &&
	    number >= info->low && number <= info->high && number % info->multiple == 0) {
		*cs_limit_of(&reader->tuning->limits, index) = number;
		reader->tuning->has_limit[index] = true;
		return;
	}
	char expected[128], low[CS_NUMBER_TEXT], high[CS_NUMBER_TEXT];
	if (info->words) {
		expect_word(reader, value, info);
		return;
	}
	snprintf(expected, sizeof expected, "a number from %s to %s", cs_bytes_text(low, info->low),
		 cs_bytes_text(high, info->high));
	if (info->multiple > 1)
		cs_text_add(expected, sizeof expected, ", a multiple of %zu", info->multiple);
	cs_reader_expect(reader, value, expected);
}

void
cs_take_limits(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	struct cs_map_key keys[CS_LIMIT_COUNT];
	const struct cs_yaml *values[CS_LIMIT_COUNT] = { NULL };
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		keys[i] = (struct cs_map_key){ cs_limit_infos[i].name, false, i * sizeof *values,
					       cs_take_node };
	CS_TAKE_MAP(reader, value, "the limits", keys, values);
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		if (values[i])
			take_limit(reader, values[i], i);
}
