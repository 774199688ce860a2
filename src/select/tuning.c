#include "select/tuning.h"

#include "base/nearest.h"
#include "base/printable.h"
#include "select/document.h"
#include "shm/node.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT(member) #member, .offset = offsetof(struct cs_limits, member)
#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)

/* By enum cs_wire_kind. */
static const char *const wire_words[] = { "", "auto", "host", "ib", NULL };

const struct cs_limit_info cs_limit_infos[CS_LIMIT_COUNT] = {
	{ LIMIT(team_after), .low = 0, .high = 1000000, .multiple = 1,
	  .meaning = "a communicator is served from its N-th blocking collective on (MPI_COMM_WORLD: from its first)" },
	{ LIMIT(slot_bytes), .low = 4 * KIB, .high = 16 * MIB, .multiple = 64,
	  .meaning = "bytes of one slot of a rank's ring in the node's segment" },
	{ LIMIT(slots), .low = 2, .high = CS_MAX_SLOTS, .multiple = 1, .meaning = "slots in each rank's ring" },
	{ LIMIT(area_bytes), .low = 4 * KIB, .high = 1024 * MIB, .multiple = 64,
	  .meaning = "bytes of one slot of the node's area (teams on several nodes)" },
	{ LIMIT(area_slots), .low = 2, .high = 1024, .multiple = 1, .meaning = "slots of the node's area" },
	{ LIMIT(spin), .low = 0, .high = 1000000000, .multiple = 1,
	  .meaning = "polls of a flag before the first yield, when each rank has a core of its own" },
	{ LIMIT(yields), .low = 0, .high = 1000000000, .multiple = 1,
	  .meaning = "yields of a wait before it begins to sleep" },
	{ LIMIT(shm_budget), .low = 4 * KIB, .high = CS_INF, .multiple = 1,
	  .meaning = "most bytes of shared segments on one node and job" },
	{ LIMIT(wire), .low = CS_WIRE_AUTO, .high = CS_WIRE_IB, .multiple = 1, .words = wire_words,
	  .meaning = "what plans between nodes send by: auto (verbs where every rank can), host or ib" },
	{ LIMIT(ib_slots), .low = 2, .high = 256, .multiple = 1,
	  .meaning = "verbs: slots for small messages in each direction of a connection" },
	{ LIMIT(ib_slot_bytes), .low = 256, .high = 64 * KIB, .multiple = 64,
	  .meaning = "verbs: bytes of such a slot; 24 of them are not the message's" },
	{ LIMIT(ib_memory), .low = 64 * KIB, .high = CS_INF, .multiple = 1,
	  .meaning = "verbs: most bytes of the slots of all connections of a process" },
	{ LIMIT(ib_cache), .low = 0, .high = CS_INF, .multiple = 1,
	  .meaning = "verbs: most bytes of the program's memory that stay registered while nobody uses them" },
	{ LIMIT(ib_timeout), .low = 1, .high = 31, .multiple = 1,
	  .meaning = "verbs: an unanswered packet is sent again after 4.096 us * 2^this, six times" },
};

_Static_assert(CS_COLL_COUNT <= 32, "sets of collectives are bits of a uint32_t");

struct reader {
	struct cs_tuning *tuning;
	struct cs_tuning_errors *errors;
	bool is_out_of_memory;
};

/* ---- errors ------------------------------------------------------------------------------------------------- */

static void
complain_text(struct cs_tuning_errors *errors, const char *where, const char *what)
{
	if (!errors->count++) {
		*errors->first = '\0';
		cs_text_add(errors->first, sizeof errors->first, "%s: %s", where, what);
	}
	if (errors->out)
		fprintf(errors->out, "%s: %s\n", where, what);
}

static void
complain_at(struct cs_tuning_errors *errors, const char *label, unsigned line, unsigned column,
	    const char *what)
{
	char where[256];
	snprintf(where, sizeof where, "%.200s:%u:%u", label, line, column);
	complain_text(errors, where, what);
}

static void __attribute__((format(printf, 3, 4)))
complain(struct reader *reader, const struct cs_yaml *at, const char *format, ...)
{
	char what[1024];
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(what, sizeof what, format, arguments);
	va_end(arguments);
	complain_at(reader->errors, reader->tuning->label, at->line, at->column, what);
}

static const char *
found_text(char shown[CS_SHOWN_TEXT], const struct cs_yaml *node)
{
	if (node->kind != CS_YAML_SCALAR)
		return node->kind == CS_YAML_LIST ? "a list" : "a map";
	return *node->text ? cs_shown(shown, node->text) : "nothing";
}

static void
expect(struct reader *reader, const struct cs_yaml *at, const char *expected)
{
	char shown[CS_SHOWN_TEXT];
	complain(reader, at, "found %s, expected %s", found_text(shown, at), expected);
}

static char *
copy(struct reader *reader, const char *text)
{
	char *made = strdup(text);
	if (!made)
		reader->is_out_of_memory = true;
	return made;
}

/* What is told of a file stands on one line: ends of lines become blanks, and go at the text's beginning and end. */
static char *
copy_line(struct reader *reader, const char *text)
{
	char *made = copy(reader, text + strspn(text, "\n"));
	size_t length = made ? strlen(made) : 0;
	while (length && made[length - 1] == '\n')
		made[--length] = '\0';
	for (size_t i = 0; i < length; i++)
		if (made[i] == '\n')
			made[i] = ' ';
	return made;
}

/* Room for one more behind `count` elements; NULL when memory is out. */
static void *
grow(struct reader *reader, void *array, size_t count, size_t element_bytes)
{
	/* Capacity is the next power of two, so it need not be kept. */
	if (count & (count - 1))
		return array;
	void *grown = realloc(array, (count ? count * 2 : 1) * element_bytes);
	if (!grown)
		reader->is_out_of_memory = true;
	return grown;
}

/* ---- maps by table ------------------------------------------------------------------------------------------ */

struct key {
	const char *name;
	bool is_required;
	size_t offset; /* of what the value goes to, in the object of the map */
	void (*take)(struct reader *reader, const struct cs_yaml *value, void *field);
};

#define MOST_KEYS 16

/* False if `map` is no map. Else every known key's value has been taken, and what was wrong has been said. */
static bool
take_map(struct reader *reader, const struct cs_yaml *map, const char *what, const struct key *keys,
	 size_t key_count, void *object)
{
	char message[128], shown[CS_SHOWN_TEXT];
	unsigned seen_on[MOST_KEYS] = { 0 };
	if (map->kind != CS_YAML_MAP) {
		snprintf(message, sizeof message, "a map, %s", what);
		expect(reader, map, message);
		return false;
	}
	for (const struct cs_yaml *key = map->first; key; key = key->next->next) {
		if (key->kind != CS_YAML_SCALAR) {
			expect(reader, key, "the name of a key");
			continue;
		}
		size_t i = 0;
		while (i < key_count && strcmp(keys[i].name, key->text))
			i++;
		if (i == key_count) {
			struct cs_nearest nearest = { .word = key->text };
			char known[192] = "";
			for (size_t k = 0; k < key_count; k++) {
				cs_nearest_try(&nearest, keys[k].name);
				cs_text_add(known, sizeof known, "%s%s", k ? ", " : "", keys[k].name);
			}
			complain(reader, key, "found the key %s, expected one of %s%s%s%s",
				 cs_shown(shown, key->text), known, nearest.best ? "; did you mean " : "",
				 nearest.best ? nearest.best : "", nearest.best ? "?" : "");
		} else if (seen_on[i]) {
			complain(reader, key, "found the key %s again, expected it once (first in line %u)",
				 keys[i].name, seen_on[i]);
		} else {
			seen_on[i] = key->line;
			keys[i].take(reader, key->next, (char *)object + keys[i].offset);
		}
	}
	for (size_t i = 0; i < key_count; i++)
		if (keys[i].is_required && !seen_on[i])
			complain(reader, map, "expected the key %s in %s", keys[i].name, what);
	return true;
}

#define TAKE_MAP(reader, map, what, keys, object)                                                  \
	take_map(reader, map, what, keys, sizeof(keys) / sizeof *(keys), object)

/* ---- values ------------------------------------------------------------------------------------------------- */

static void
take_text(struct reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR || !value->text[strspn(value->text, "\n")])
		expect(reader, value, "a text");
	else
		*(char **)field = copy_line(reader, value->text);
}

/* Of "2026-01-31". */
static bool
is_day(const char *text)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int year = atoi(text), month = atoi(text + 5), day = atoi(text + 8);
	bool is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return month >= 1 && month <= 12 && day >= 1 && day <= days[month - 1] + (month == 2 && is_leap);
}

static void
take_date(struct reader *reader, const struct cs_yaml *value, void *field)
{
	static const char pattern[] = "dddd-dd-dd";
	size_t i = 0;
	if (value->kind == CS_YAML_SCALAR)
		while (pattern[i] && (pattern[i] == 'd' ? isdigit((unsigned char)value->text[i])
							: value->text[i] == pattern[i]))
			i++;
	if (pattern[i] || value->text[i] || !is_day(value->text))
		expect(reader, value, "a date as 2026-01-31");
	else
		take_text(reader, value, field);
}

static void
take_mpi(struct reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR || (strcmp(value->text, "mpich") && strcmp(value->text, "openmpi")))
		expect(reader, value, "mpich or openmpi");
	else
		take_text(reader, value, field);
}

static void
take_bytes(struct reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR || cs_parse_byte_range(value->text, field) != CS_OK)
		expect(reader, value, "sizes A-B with A < B (from A up to, without, B), as 0-4K or 64K-inf");
}

static void
take_counts(struct reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR || cs_parse_count_range(value->text, field) != CS_OK)
		expect(reader, value, "a number, or A-B with A <= B (B included), as 4, 2-8 or 2-inf");
}

/* Of a team, which has one or the other: so `auto` is none. */
static void
take_wire(struct reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind == CS_YAML_SCALAR && !strcmp(value->text, wire_words[CS_WIRE_HOST]))
		*(int *)field = CS_WIRE_HOST;
	else if (value->kind == CS_YAML_SCALAR && !strcmp(value->text, wire_words[CS_WIRE_IB]))
		*(int *)field = CS_WIRE_IB;
	else
		expect(reader, value, "host or ib");
}

static void
take_placement(struct reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind == CS_YAML_SCALAR && !strcmp(value->text, "block"))
		*(enum cs_placement *)field = CS_PLACEMENT_BLOCK;
	else if (value->kind == CS_YAML_SCALAR && !strcmp(value->text, "cyclic"))
		*(enum cs_placement *)field = CS_PLACEMENT_CYCLIC;
	else
		expect(reader, value, "block or cyclic");
}

/* Keeps the place: what it means depends on other keys, which may stand behind it. */
static void
take_node(struct reader *reader, const struct cs_yaml *value, void *field)
{
	*(const struct cs_yaml **)field = value;
}

/* ---- limits ------------------------------------------------------------------------------------------------- */

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
expect_word(struct reader *reader, const struct cs_yaml *value, const struct cs_limit_info *info)
{
	char shown[CS_SHOWN_TEXT], known[128] = "";
	struct cs_nearest nearest = { .word = value->text };
	for (size_t i = info->low; i <= info->high; i++) {
		cs_text_add(known, sizeof known, "%s%s", i == info->low ? "" : i == info->high ? " or " : ", ",
			    info->words[i]);
		if (value->kind == CS_YAML_SCALAR)
			cs_nearest_try(&nearest, info->words[i]);
	}
	complain(reader, value, "found %s, expected %s%s%s%s", found_text(shown, value), known,
		 nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

static void
take_limit(struct reader *reader, const struct cs_yaml *value, size_t index)
{
	const struct cs_limit_info *info = &cs_limit_infos[index];
	size_t number;
	if (value->kind == CS_YAML_SCALAR && read_limit(info, value->text, &number) && number >= info->low &&
	    number <= info->high && number % info->multiple == 0) {
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
	expect(reader, value, expected);
}

static void
take_limits(struct reader *reader, const struct cs_yaml *value, void *field)
{
	struct key keys[CS_LIMIT_COUNT];
	const struct cs_yaml *values[CS_LIMIT_COUNT] = { NULL };
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		keys[i] = (struct key){ cs_limit_infos[i].name, false, i * sizeof *values, take_node };
	TAKE_MAP(reader, value, "the limits", keys, values);
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		if (values[i])
			take_limit(reader, values[i], i);
}

/* ---- rules -------------------------------------------------------------------------------------------------- */

/* A rule as written, before names are looked up. */
struct draft {
	const struct cs_yaml *collective, *bytes_node, *skew_node, *use, *with;
	struct cs_range bytes, ranks, nodes, ppn, skew;
	int wire;
	enum cs_placement placement;
	uint32_t colls; /* a bit for each */
	bool is_any;
};

static void
add_collective(struct reader *reader, const struct cs_yaml *node, struct draft *draft)
{
	char shown[CS_SHOWN_TEXT];
	struct cs_nearest nearest = { .word = node->text };
	if (node->kind != CS_YAML_SCALAR) {
		expect(reader, node, "the name of a collective");
		return;
	}
	enum cs_coll coll = cs_coll_by_name(node->text);
	if (coll == CS_COLL_COUNT) {
		for (int i = 0; i < CS_COLL_COUNT; i++)
			cs_nearest_try(&nearest, cs_colls[i].name);
		complain(reader, node, "found %s, expected the name of a collective as bcast%s%s%s%s",
			 found_text(shown, node),
			 node == draft->collective ? ", a list of them, or any" : "",
			 nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
			 nearest.best ? "?" : "");
	} else if (draft->colls & UINT32_C(1) << coll) {
		complain(reader, node, "found %s again, expected each collective once", node->text);
	}
	if (coll < CS_COLL_COUNT)
		draft->colls |= UINT32_C(1) << coll;
}

static void
read_collectives(struct reader *reader, struct draft *draft)
{
	const struct cs_yaml *node = draft->collective;
	if (node->kind == CS_YAML_SCALAR && !strcmp(node->text, "any")) {
		draft->is_any = true;
		draft->colls = (UINT32_C(1) << CS_COLL_COUNT) - 1;
	} else if (node->kind == CS_YAML_LIST && node->first) {
		for (const struct cs_yaml *name = node->first; name; name = name->next)
			add_collective(reader, name, draft);
	} else if (node->kind == CS_YAML_SCALAR && *node->text) {
		add_collective(reader, node, draft);
	} else {
		expect(reader, node, "the name of a collective, a list of them, or any");
	}
}

#define MOST_PARAMS (4 * CS_MAX_PARAMS) /* in one rule, wrong ones too */

/* `with` for one algorithm. False if something is wrong; the caller then asks no other collective of the rule, so that
 * the same trouble is not said for each of them. */
static bool
read_with(struct reader *reader, const struct cs_yaml *with, struct cs_use *use)
{
	char message[512], shown[CS_SHOWN_TEXT];
	bool is_right = true;
	size_t count = 0;
	if (with->kind != CS_YAML_MAP) {
		expect(reader, with, "a map of parameters, as {chunk: 64K}");
		return false;
	}
	for (const struct cs_yaml *key = with->first; key; key = key->next->next) {
		const struct cs_yaml *value = key->next;
		if (count++ == MOST_PARAMS) { /* each is compared with those before it */
			complain(reader, key, "expected at most %d parameters", MOST_PARAMS);
			return false;
		}
		if (key->kind != CS_YAML_SCALAR || value->kind != CS_YAML_SCALAR) {
			complain(reader, key, "found %s, expected parameter: value",
				 found_text(shown, key->kind != CS_YAML_SCALAR ? key : value));
			is_right = false;
			continue;
		}
		for (const struct cs_yaml *seen = with->first; seen != key; seen = seen->next->next)
			if (seen->kind == CS_YAML_SCALAR && !strcmp(seen->text, key->text)) {
				complain(reader, key, "found the parameter %s again, expected it once",
					 cs_shown(shown, key->text));
				is_right = false;
				break;
			}
		if (cs_use_set(use, key->text, value->text, message, sizeof message) != CS_OK) {
			complain(reader, key, "%s", message);
			is_right = false;
		}
	}
	return is_right;
}

static void
add_rule(struct reader *reader, const struct cs_yaml *at, const struct draft *draft, enum cs_coll coll,
	 const struct cs_use *use)
{
	struct cs_tuning *tuning = reader->tuning;
	struct cs_rule *rules = grow(reader, tuning->rules, tuning->rule_count, sizeof *rules);
	if (!rules)
		return;
	tuning->rules = rules;
	rules[tuning->rule_count++] = (struct cs_rule){
		.coll = coll, .bytes = draft->bytes, .ranks = draft->ranks, .nodes = draft->nodes, .ppn = draft->ppn,
		.skew = draft->skew, .wire = draft->wire, .placement = draft->placement, .use = *use,
		.block = tuning->block_count, .line = at->line,
	};
}

/* A rule for `any` leaves out the collectives that have no such algorithm, or whose sizes are not agreed when it asks
 * for a size; a rule that names a collective must fit it. False after an error. */
static bool
resolve(struct reader *reader, const struct cs_yaml *at, const struct draft *draft, enum cs_coll coll,
	size_t *resolved)
{
	char message[512];
	bool is_host = !strcmp(draft->use->text, CS_HOST);
	const struct cs_algorithm *algorithm =
		is_host ? NULL : cs_algorithm_by_name(coll, draft->use->text);
	if (!is_host && !algorithm) {
		if (draft->is_any)
			return true;
		cs_use_unknown(coll, draft->use->text, message, sizeof message);
		complain(reader, draft->use, "%s", message);
		return false;
	}
	if (draft->bytes_node && !cs_colls[coll].bytes_agreed) {
		if (draft->is_any)
			return true;
		complain(reader, draft->bytes_node,
			 "found a condition on bytes, expected none: not all ranks know the size of a call of %s",
			 cs_colls[coll].name);
		return false;
	}
	if (draft->skew_node && !cs_colls[coll].has_skew) {
		if (draft->is_any)
			return true;
		complain(reader, draft->skew_node, "found a condition on skew, expected it for allgatherv and reduce_scatter only");
		return false;
	}
	struct cs_use use;
	cs_use_init(&use, algorithm);
	if (draft->with && !read_with(reader, draft->with, &use))
		return false;
	(*resolved)++;
	add_rule(reader, at, draft, coll, &use);
	return true;
}

static void
complain_nowhere(struct reader *reader, const struct draft *draft)
{
	char shown[CS_SHOWN_TEXT], known[512] = CS_HOST;
	struct cs_nearest nearest = { .word = draft->use->text };
	const struct cs_algorithm *algorithm;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++) {
		bool is_new = !algorithm->inner; /* of the composed ones only the nearest is told: they are many */
		for (int before = 0; before < i; before++)
			is_new = is_new && strcmp(cs_algorithm_at(before)->name, algorithm->name);
		if (is_new)
			cs_text_add(known, sizeof known, ", %s", algorithm->name);
		cs_nearest_try(&nearest, algorithm->name);
	}
	complain(reader, draft->use, "%s is no algorithm of any collective%s; known: %s%s%s%s",
		 cs_shown(shown, draft->use->text), draft->bytes_node ? " whose size all ranks know" : "", known,
		 nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
		 nearest.best ? "?" : "");
}

static void
take_rule(struct reader *reader, const struct cs_yaml *node)
{
	static const struct key keys[] = {
		{ "collective", true, offsetof(struct draft, collective), take_node },
		{ "bytes", false, offsetof(struct draft, bytes_node), take_node },
		{ "ranks", false, offsetof(struct draft, ranks), take_counts },
		{ "nodes", false, offsetof(struct draft, nodes), take_counts },
		{ "ppn", false, offsetof(struct draft, ppn), take_counts },
		{ "skew", false, offsetof(struct draft, skew_node), take_node },
		{ "wire", false, offsetof(struct draft, wire), take_wire },
		{ "placement", false, offsetof(struct draft, placement), take_placement },
		{ "use", true, offsetof(struct draft, use), take_node },
		{ "with", false, offsetof(struct draft, with), take_node },
	};
	struct draft draft = {
		.bytes = CS_RANGE_ALL, .ranks = CS_RANGE_ALL, .nodes = CS_RANGE_ALL, .ppn = CS_RANGE_ALL,
		.skew = CS_RANGE_ALL,
	};
	if (!TAKE_MAP(reader, node, "a rule", keys, &draft))
		return;
	if (draft.collective)
		read_collectives(reader, &draft);
	if (draft.bytes_node)
		take_bytes(reader, draft.bytes_node, &draft.bytes);
	if (draft.skew_node)
		take_counts(reader, draft.skew_node, &draft.skew);
	if (draft.use && (draft.use->kind != CS_YAML_SCALAR || !*draft.use->text)) {
		expect(reader, draft.use, "the name of an algorithm, or host");
		return;
	}
	if (!draft.use)
		return;
	size_t resolved = 0;
	bool is_right = true;
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT && is_right; coll++)
		if (draft.colls & UINT32_C(1) << coll)
			is_right = resolve(reader, node, &draft, coll, &resolved);
	if (is_right && draft.is_any && !resolved)
		complain_nowhere(reader, &draft);
}

static void
take_rules(struct reader *reader, const struct cs_yaml *value, void *field)
{
	size_t *count = field; /* of the file, not of the block */
	if (value->kind != CS_YAML_LIST) {
		expect(reader, value, "a list of rules, each - {collective: ..., use: ...}");
		return;
	}
	for (const struct cs_yaml *rule = value->first; rule; rule = rule->next) {
		if ((*count)++ == CS_TUNING_MAX_RULES) {
			complain(reader, rule, "expected at most %d rules in one file", CS_TUNING_MAX_RULES);
			return;
		}
		if (*count <= CS_TUNING_MAX_RULES)
			take_rule(reader, rule);
	}
}

/* ---- blocks ------------------------------------------------------------------------------------------------- */

static void
take_provenance(struct reader *reader, const struct cs_yaml *value, void *field)
{
	static const struct key keys[] = {
		{ "date", true, offsetof(struct cs_block, date), take_date },
		{ "library", true, offsetof(struct cs_block, library), take_text },
		{ "mpi", false, offsetof(struct cs_block, measured_mpi), take_text },
		{ "machine", true, offsetof(struct cs_block, measured_on), take_text },
		{ "command", true, offsetof(struct cs_block, command), take_text },
		{ "note", false, offsetof(struct cs_block, note), take_text },
	};
	TAKE_MAP(reader, value, "where the rules come from", keys, field);
}

static void
take_guard(struct reader *reader, const struct cs_yaml *value, void *field)
{
	static const struct key keys[] = {
		{ "mpi", false, offsetof(struct cs_block, mpi), take_mpi },
		{ "cpu", false, offsetof(struct cs_block, cpu), take_text },
		{ "host", false, offsetof(struct cs_block, host), take_text },
		{ "cores", false, offsetof(struct cs_block, cores), take_counts },
	};
	TAKE_MAP(reader, value, "which machines the block is for", keys, field);
}

struct block_draft {
	struct cs_block *block;
	const struct cs_yaml *name, *provenance, *machine, *rules;
};

static void
take_block(struct reader *reader, const struct cs_yaml *node, size_t *rule_count)
{
	static const struct key keys[] = {
		{ "name", true, offsetof(struct block_draft, name), take_node },
		{ "provenance", true, offsetof(struct block_draft, provenance), take_node },
		{ "machine", false, offsetof(struct block_draft, machine), take_node },
		{ "rules", true, offsetof(struct block_draft, rules), take_node },
	};
	struct cs_tuning *tuning = reader->tuning;
	struct block_draft draft = { 0 };
	if (!TAKE_MAP(reader, node, "a block of rules", keys, &draft))
		return;
	struct cs_block *blocks = grow(reader, tuning->blocks, tuning->block_count, sizeof *blocks);
	if (!blocks)
		return;
	tuning->blocks = blocks;
	struct cs_block *block = &blocks[tuning->block_count];
	*block = (struct cs_block){ .line = node->line, .cores = CS_RANGE_ALL };
	if (draft.name)
		take_text(reader, draft.name, &block->name);
	if (draft.provenance)
		take_provenance(reader, draft.provenance, block);
	if (draft.machine)
		take_guard(reader, draft.machine, block);
	if (draft.rules)
		take_rules(reader, draft.rules, rule_count);
	tuning->block_count++;
}

static void
take_blocks(struct reader *reader, const struct cs_yaml *value, void *field)
{
	size_t rule_count = 0;
	if (value->kind != CS_YAML_LIST) {
		expect(reader, value, "a list of blocks, each beginning with - name:");
		return;
	}
	for (const struct cs_yaml *block = value->first; block; block = block->next)
		take_block(reader, block, &rule_count);
}

/* ---- models ------------------------------------------------------------------------------------------------- */

static void
take_parameters(struct reader *reader, const struct cs_yaml *value, void *field)
{
	struct cs_site_model *model = field;
	char complaint[256];
	take_text(reader, value, &model->parameters);
	if (model->parameters && cs_model_read(model->parameters, &model->model, complaint, sizeof complaint) != CS_OK)
		complain(reader, value, "%s", complaint);
}

/* A number with one of the units, scaled; false if it is none. */
static bool
read_scaled(const char *text, const char *const *units, const double *scales, double *number)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return false;
	double read = cs_parse_decimal(text, &end);
	for (int i = 0; units[i]; i++)
		if (!strcmp(end, units[i])) {
			*number = read * scales[i];
			return true;
		}
	return false;
}

static void
take_fit_error(struct reader *reader, const struct cs_yaml *value, void *field)
{
	static const char *const units[] = { "", NULL };
	static const double scales[] = { 1000 };
	double thousandths;
	if (value->kind == CS_YAML_SCALAR && read_scaled(value->text, units, scales, &thousandths) &&
	    thousandths <= 10000)
		*(size_t *)field = (size_t)(thousandths + 0.5);
	else
		expect(reader, value, "a part from 0 to 10, as 0.06");
}

static bool
read_time(const struct cs_yaml *value, int64_t *ps)
{
	static const char *const units[] = { "ns", "us", "ms", "s", NULL };
	static const double scales[] = { 1e3, 1e6, 1e9, 1e12 };
	double time;
	if (value->kind != CS_YAML_SCALAR || !read_scaled(value->text, units, scales, &time) || time < 1 || time > 1e15)
		return false;
	*ps = (int64_t)time;
	return true;
}

static void
take_costs(struct reader *reader, const struct cs_yaml *value, void *field)
{
	struct cs_host_cost *cost = field;
	if (value->kind != CS_YAML_MAP || !value->first) {
		expect(reader, value, "a map from sizes to times, as {8: 35.2us, 1K: 40us}");
		return;
	}
	for (const struct cs_yaml *key = value->first; key; key = key->next->next) {
		struct cs_point point;
		if (key->kind != CS_YAML_SCALAR || cs_parse_bytes(key->text, &point.bytes) != CS_OK ||
		    point.bytes >= CS_INF || (cost->count && point.bytes <= cost->points[cost->count - 1].bytes)) {
			expect(reader, key, "a size larger than the one before, as 8K");
			return;
		}
		if (!read_time(key->next, &point.ps)) {
			expect(reader, key->next, "a time with its unit (ns, us, ms, s), as 35.2us");
			return;
		}
		struct cs_point *points = grow(reader, cost->points, cost->count, sizeof *points);
		if (!points)
			return;
		cost->points = points;
		points[cost->count++] = point;
	}
}

static void
take_coll(struct reader *reader, const struct cs_yaml *value, void *field)
{
	enum cs_coll coll = value->kind == CS_YAML_SCALAR ? cs_coll_by_name(value->text) : CS_COLL_COUNT;
	if (coll == CS_COLL_COUNT || !cs_colls[coll].bytes_agreed)
		expect(reader, value, "the name of a collective whose size all ranks know, as bcast");
	else
		*(enum cs_coll *)field = coll;
}

static void
take_count(struct reader *reader, const struct cs_yaml *value, void *field)
{
	size_t number;
	if (value->kind == CS_YAML_SCALAR && cs_parse_bytes(value->text, &number) == CS_OK && number > 0 &&
	    number <= 1 << 24)
		*(int *)field = (int)number;
	else
		expect(reader, value, "a number from 1 to 16M");
}

static void
take_host(struct reader *reader, const struct cs_yaml *node, struct cs_site_model *model)
{
	static const struct key keys[] = {
		{ "collective", true, offsetof(struct cs_host_cost, coll), take_coll },
		{ "ranks", true, offsetof(struct cs_host_cost, ranks), take_count },
		{ "nodes", true, offsetof(struct cs_host_cost, nodes), take_count },
		{ "cost", true, 0, take_costs },
	};
	struct cs_host_cost *hosts = grow(reader, model->hosts, model->host_count, sizeof *hosts);
	if (!hosts)
		return;
	model->hosts = hosts;
	struct cs_host_cost *cost = &hosts[model->host_count++];
	*cost = (struct cs_host_cost){ .ranks = 1, .nodes = 1 };
	if (TAKE_MAP(reader, node, "what the host takes", keys, cost) && cost->ranks % cost->nodes)
		complain(reader, node, "found %d ranks on %d nodes, expected equally many on each", cost->ranks,
			 cost->nodes);
}

static void
take_hosts(struct reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_LIST) {
		expect(reader, value, "a list, each - {collective: ..., ranks: ..., nodes: ..., cost: {...}}");
		return;
	}
	for (const struct cs_yaml *host = value->first; host; host = host->next)
		take_host(reader, host, field);
}

static void
take_about(struct reader *reader, const struct cs_yaml *value, void *field)
{
	take_provenance(reader, value, field);
}

static void
take_models(struct reader *reader, const struct cs_yaml *value, void *field)
{
	static const struct key keys[] = {
		{ "name", true, offsetof(struct cs_site_model, about.name), take_text },
		{ "provenance", true, offsetof(struct cs_site_model, about), take_about },
		{ "machine", false, offsetof(struct cs_site_model, about), take_guard },
		{ "wire", false, offsetof(struct cs_site_model, wire), take_wire },
		{ "parameters", true, 0, take_parameters },
		{ "fit_error", true, offsetof(struct cs_site_model, fit_error), take_fit_error },
		{ "host", true, 0, take_hosts },
	};
	struct cs_tuning *tuning = reader->tuning;
	if (value->kind != CS_YAML_LIST) {
		expect(reader, value, "a list of models, each beginning with - name:");
		return;
	}
	for (const struct cs_yaml *node = value->first; node; node = node->next) {
		struct cs_site_model *models = grow(reader, tuning->models, tuning->model_count, sizeof *models);
		if (!models)
			return;
		tuning->models = models;
		struct cs_site_model *model = &models[tuning->model_count++];
		*model = (struct cs_site_model){ .about = { .line = node->line, .cores = CS_RANGE_ALL }, .wire = CS_WIRE_HOST };
		TAKE_MAP(reader, node, "a model", keys, model);
	}
}

/* ---- the file ----------------------------------------------------------------------------------------------- */

static void
take_version(struct reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR || strcmp(value->text, "1"))
		expect(reader, value, "1, the version of the format that this library reads");
}

static void
take_file(struct reader *reader, const struct cs_yaml *root)
{
	static const struct key keys[] = {
		{ "version", true, 0, take_version },
		{ "limits", false, 0, take_limits },
		{ "blocks", false, 0, take_blocks },
		{ "models", false, 0, take_models },
	};
	TAKE_MAP(reader, root, "a tuning file", keys, reader->tuning);
}

enum cs_status
cs_tuning_parse(struct cs_tuning **tuning, const char *label, const char *text, size_t bytes,
		struct cs_tuning_errors *errors)
{
	struct cs_document document;
	struct cs_document_error error;
	size_t errors_before = errors->count;
	enum cs_status status = cs_document_init(&document, text, bytes, &error);
	if (status == CS_BAD_INPUT)
		complain_at(errors, label, error.line, error.column, error.text);
	if (status != CS_OK)
		return status;
	struct reader reader = { calloc(1, sizeof *reader.tuning), errors, false };
	if (reader.tuning)
		reader.tuning->label = copy(&reader, label);
	if (!reader.tuning || !reader.tuning->label)
		reader.is_out_of_memory = true;
	else
		take_file(&reader, document.root);
	cs_document_fini(&document);
	if (reader.is_out_of_memory || errors->count != errors_before) {
		cs_tuning_destroy(reader.tuning);
		return reader.is_out_of_memory ? CS_NO_MEMORY : CS_BAD_INPUT;
	}
	*tuning = reader.tuning;
	return CS_OK;
}

static enum cs_status
copy_compiled(struct cs_tuning **tuning, const char *label)
{
	const struct cs_tuning_compiled *from = cs_tuning_compiled;
	struct cs_tuning *made = calloc(1, sizeof *made);
	struct cs_rule *rules = malloc((from->rule_count + 1) * sizeof *rules);
	char *own_label = strdup(label);
	if (!made || !rules || !own_label) {
		free(made);
		free(rules);
		free(own_label);
		return CS_NO_MEMORY;
	}
	memcpy(rules, from->rules, from->rule_count * sizeof *rules);
	for (size_t i = 0; i < from->rule_count; i++)
		rules[i].use.algorithm = from->algorithm_of[i] < 0 ? NULL : cs_algorithm_at(from->algorithm_of[i]);
	*made = (struct cs_tuning){
		.label = own_label, .limits = from->limits, .blocks = (struct cs_block *)(uintptr_t)from->blocks,
		.block_count = from->block_count, .rules = rules, .rule_count = from->rule_count, .is_compiled = true,
	};
	memcpy(made->has_limit, from->has_limit, sizeof made->has_limit);
	*tuning = made;
	return CS_OK;
}

enum cs_status
cs_tuning_load_builtin(struct cs_tuning **tuning, const char *label, struct cs_tuning_errors *errors)
{
	if (cs_tuning_compiled)
		return copy_compiled(tuning, label);
	return cs_tuning_parse(tuning, label, cs_tuning_builtin, cs_tuning_builtin_bytes, errors);
}

/* Reads up to `most` bytes. errno tells why on failure; EFBIG if there are more. */
static enum cs_status
read_file(const char *path, size_t most, char **text, size_t *bytes)
{
	/* Non-blocking, so that a named pipe put there by mistake cannot hang a job. */
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (file < 0)
		return CS_SYSTEM;
	struct stat stat;
	char *made = malloc(most + 1);
	size_t used = 0;
	int failure = made ? 0 : ENOMEM;
	if (!failure && fstat(file, &stat))
		failure = errno;
	else if (!failure && !S_ISREG(stat.st_mode))
		failure = S_ISDIR(stat.st_mode) ? EISDIR : EINVAL;
	while (!failure) {
		ssize_t got = read(file, made + used, most + 1 - used);
		if (got == 0)
			break;
		if (got < 0 && errno != EINTR)
			failure = errno;
		if (got > 0)
			used += (size_t)got;
		if (used > most)
			failure = EFBIG;
	}
	close(file);
	if (failure) {
		free(made);
		errno = failure;
		return failure == ENOMEM ? CS_NO_MEMORY : CS_SYSTEM;
	}
	*text = made;
	*bytes = used;
	return CS_OK;
}

enum cs_status
cs_tuning_load(struct cs_tuning **tuning, const char *path, struct cs_tuning_errors *errors)
{
	char *text = NULL, what[256], limit[CS_NUMBER_TEXT];
	size_t bytes = 0;
	enum cs_status status = read_file(path, CS_TUNING_MAX_BYTES, &text, &bytes);
	int read_failure = errno;
	char *label = strdup(path); /* as it stands in complaints and reasons: on one line */
	if (!label) {
		free(text);
		return CS_NO_MEMORY;
	}
	cs_printable_make(label, false);
	if (status == CS_SYSTEM) {
		int failure = read_failure;
		if (failure == EFBIG)
			snprintf(what, sizeof what, "expected at most %s bytes",
				 cs_bytes_text(limit, CS_TUNING_MAX_BYTES));
		else if (failure == EINVAL)
			snprintf(what, sizeof what, "expected a regular file");
		else
			snprintf(what, sizeof what, "cannot be read: %s", strerror(failure));
		complain_text(errors, label, what);
		free(label);
		errno = failure;
		return status;
	}
	if (status == CS_OK && cs_tuning_compiled && bytes == cs_tuning_builtin_bytes && !memcmp(text, cs_tuning_builtin, bytes))
		status = copy_compiled(tuning, label);
	else if (status == CS_OK)
		status = cs_tuning_parse(tuning, label, text, bytes, errors);
	free(label);
	free(text);
	return status;
}

static void
free_block(struct cs_block *block)
{
	char *texts[] = { block->name, block->date, block->library, block->command, block->measured_on,
			  block->measured_mpi, block->note, block->mpi, block->cpu, block->host };
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
		free(texts[k]);
}

void
cs_tuning_destroy(struct cs_tuning *tuning)
{
	if (!tuning)
		return;
	for (size_t i = 0; i < tuning->block_count && !tuning->is_compiled; i++)
		free_block(&tuning->blocks[i]);
	for (size_t i = 0; i < tuning->model_count; i++) {
		struct cs_site_model *model = &tuning->models[i];
		free_block(&model->about);
		free(model->parameters);
		for (size_t k = 0; k < model->host_count; k++)
			free(model->hosts[k].points);
		free(model->hosts);
	}
	free(tuning->models);
	if (!tuning->is_compiled)
		free(tuning->blocks);
	free(tuning->rules);
	free(tuning->label);
	free(tuning);
}
