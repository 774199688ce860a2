/* select/read_rules.c — reads the blocks of a tuning file with their rules. */
#include "select/read_map.h"

#include "base/nearest.h"

#include <string.h>

_Static_assert(CS_COLL_COUNT <= 32, "sets of collectives are bits of a uint32_t");

/* A rule as written, before names are looked up. */
struct draft {
	const struct cs_yaml *collective, *bytes_node, *skew_node, *use, *with;
	struct cs_range bytes, ranks, nodes, ppn, skew;
	int wire;
	enum cs_placement placement;
	enum cs_form form;
	unsigned imbalance;
	uint32_t colls; /* a bit for each */
	bool is_any;
};

static void
add_collective(struct cs_reader *reader, const struct cs_yaml *node, struct draft *draft)
{
	char shown[CS_SHOWN_TEXT];
	struct cs_nearest nearest = { .word = node->text };
	if (node->kind != CS_YAML_SCALAR) {
		cs_reader_expect(reader, node, "the name of a collective");
		return;
	}
	enum cs_coll coll = cs_coll_by_name(node->text);
	if (coll == CS_COLL_COUNT) {
		for (int i = 0; i < CS_COLL_COUNT; i++)
			cs_nearest_try(&nearest, cs_colls[i].name);
		cs_reader_complain(reader, node, "found %s, expected the name of a collective as "
						 "bcast%s%s%s%s",
				   cs_reader_found(shown, node),
				   node == draft->collective ? ", a list of them, or any" : "",
				   nearest.best ? "; did you mean " : "",
				   nearest.best ? nearest.best : "", nearest.best ? "?" : "");
	} else if (draft->colls & UINT32_C(1) << coll) {
		cs_reader_complain(reader, node, "found %s again, expected each collective once",
				   node->text);
	}
	if (coll < CS_COLL_COUNT)
		draft->colls |= UINT32_C(1) << coll;
}

static void
read_collectives(struct cs_reader *reader, struct draft *draft)
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
		cs_reader_expect(reader, node, "the name of a collective, a list of them, or any");
	}
}

#define MOST_PARAMS (4 * CS_MAX_PARAMS) /* in one rule, wrong ones too */

/* `with` for one algorithm. False if something is wrong; the caller then asks no other collective
 * of the rule, so that the same trouble is not said for each of them. */
static bool
read_with(struct cs_reader *reader, const struct cs_yaml *with, struct cs_use *use)
{
	char message[512], shown[CS_SHOWN_TEXT];
	bool is_right = true;
	size_t count = 0;
	if (with->kind != CS_YAML_MAP) {
		cs_reader_expect(reader, with, "a map of parameters, as {chunk: 64K}");
		return false;
	}
	for (const struct cs_yaml *key = with->first; key; key = key->next->next) {
		const struct cs_yaml *value = key->next;
		if (count++ == MOST_PARAMS) { /* each is compared with those before it */
			cs_reader_complain(reader, key, "expected at most %d parameters",
					   MOST_PARAMS);
			return false;
		}
		if (key->kind != CS_YAML_SCALAR || value->kind != CS_YAML_SCALAR) {
			cs_reader_complain(reader, key, "found %s, expected parameter: value",
					   cs_reader_found(shown, key->kind != CS_YAML_SCALAR
							   ? key : value));
			is_right = false;
			continue;
		}
		for (const struct cs_yaml *seen = with->first; seen != key; seen = seen->next->next)
			if (seen->kind == CS_YAML_SCALAR && !strcmp(seen->text, key->text)) {
				cs_reader_complain(reader, key, "found the parameter %s again, "
								"expected it once",
						   cs_shown(shown, key->text));
				is_right = false;
				break;
			}
		if (cs_use_set(use, key->text, value->text, message, sizeof message) != CS_OK) {
			cs_reader_complain(reader, key, "%s", message);
			is_right = false;
		}
	}
	return is_right;
}

static void
add_rule(struct cs_reader *reader, const struct cs_yaml *at, const struct draft *draft,
	 enum cs_coll coll, const struct cs_use *use)
{
	struct cs_tuning *tuning = reader->tuning;
	struct cs_rule *rules = cs_reader_grow(reader, tuning->rules, tuning->rule_count,
					       sizeof *rules);
	if (!rules)
		return;
	tuning->rules = rules;
	rules[tuning->rule_count++] = (struct cs_rule){
		.coll = coll, .bytes = draft->bytes, .ranks = draft->ranks, .nodes = draft->nodes,
			.ppn = draft->ppn,
		.skew = draft->skew, .wire = draft->wire, .placement = draft->placement,
		.form = draft->form, .imbalance = draft->imbalance,
		.use = *use, .block = tuning->block_count, .line = at->line,
	};
}

/* A rule for `any` leaves out the collectives that have no such algorithm, or whose sizes are not
 * agreed when it asks for a size; a rule that names a collective must fit it. False after an
 * error. */
static bool
resolve(struct cs_reader *reader, const struct cs_yaml *at, const struct draft *draft,
	enum cs_coll coll, size_t *resolved)
{
	char message[512];
	bool is_host = !strcmp(draft->use->text, CS_HOST);
	const struct cs_algorithm *algorithm =
		is_host ? NULL : cs_algorithm_by_name(coll, draft->use->text);
	if (!is_host && !algorithm) {
		if (draft->is_any)
			return true;
		cs_use_unknown(coll, draft->use->text, message, sizeof message);
		cs_reader_complain(reader, draft->use, "%s", message);
		return false;
	}
	if (draft->bytes_node && !cs_colls[coll].bytes_agreed) {
		if (draft->is_any)
			return true;
		cs_reader_complain(reader, draft->bytes_node,
				   "found a condition on bytes, expected none: not all ranks know "
				   "the size of a call of %s", cs_colls[coll].name);
		return false;
	}
	if (draft->skew_node && !cs_colls[coll].has_skew) {
		if (draft->is_any)
			return true;
		cs_reader_complain(reader, draft->skew_node,
				   "found a condition on skew, expected it for allgatherv and "
				   "reduce_scatter only");
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
complain_nowhere(struct cs_reader *reader, const struct draft *draft)
{
	char shown[CS_SHOWN_TEXT], known[512] = CS_HOST;
	struct cs_nearest nearest = { .word = draft->use->text };
	const struct cs_algorithm *algorithm;
	for (int i = 0; (algorithm = cs_algorithm_at(i)); i++) {
		bool is_new = !algorithm->inner; /* of the composed ones only the nearest is told:
						  * they are many */
		for (int before = 0; before < i; before++)
			is_new = is_new && strcmp(cs_algorithm_at(before)->name, algorithm->name);
		if (is_new)
			cs_text_add(known, sizeof known, ", %s", algorithm->name);
		cs_nearest_try(&nearest, algorithm->name);
	}
	cs_reader_complain(reader, draft->use, "%s is no algorithm of any collective%s; known: "
					       "%s%s%s%s",
			   cs_shown(shown, draft->use->text),
			   draft->bytes_node ? " whose size all ranks know" : "", known,
			   nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "",
			   nearest.best ? "?" : "");
}

static void
take_rule(struct cs_reader *reader, const struct cs_yaml *node)
{
	static const struct cs_map_key keys[] = {
		{ "collective", true, offsetof(struct draft, collective), cs_take_node },
		{ "bytes", false, offsetof(struct draft, bytes_node), cs_take_node },
		{ "ranks", false, offsetof(struct draft, ranks), cs_take_counts },
		{ "nodes", false, offsetof(struct draft, nodes), cs_take_counts },
		{ "ppn", false, offsetof(struct draft, ppn), cs_take_counts },
		{ "skew", false, offsetof(struct draft, skew_node), cs_take_node },
		{ "wire", false, offsetof(struct draft, wire), cs_take_wire },
		{ "placement", false, offsetof(struct draft, placement), cs_take_placement },
		{ "imbalance", false, offsetof(struct draft, imbalance), cs_take_imbalance },
		{ "nonblocking", false, offsetof(struct draft, form), cs_take_form },
		{ "use", true, offsetof(struct draft, use), cs_take_node },
		{ "with", false, offsetof(struct draft, with), cs_take_node },
	};
	struct draft draft = {
		.bytes = CS_RANGE_ALL, .ranks = CS_RANGE_ALL, .nodes = CS_RANGE_ALL,
			.ppn = CS_RANGE_ALL,
		.skew = CS_RANGE_ALL,
	};
	if (!CS_TAKE_MAP(reader, node, "a rule", keys, &draft))
		return;
	if (draft.collective)
		read_collectives(reader, &draft);
	if (draft.bytes_node)
		cs_take_bytes(reader, draft.bytes_node, &draft.bytes);
	if (draft.skew_node)
		cs_take_counts(reader, draft.skew_node, &draft.skew);
	if (draft.use && (draft.use->kind != CS_YAML_SCALAR || !*draft.use->text)) {
		cs_reader_expect(reader, draft.use, "the name of an algorithm, or host");
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
take_rules(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	size_t *count = field; /* of the file, not of the block */
	if (value->kind != CS_YAML_LIST) {
		cs_reader_expect(reader, value, "a list of rules, each - {collective: ..., use: "
						"...}");
		return;
	}
	for (const struct cs_yaml *rule = value->first; rule; rule = rule->next) {
		if ((*count)++ == CS_TUNING_MAX_RULES) {
			cs_reader_complain(reader, rule, "expected at most %d rules in one file",
					   CS_TUNING_MAX_RULES);
			return;
		}
		if (*count <= CS_TUNING_MAX_RULES)
			take_rule(reader, rule);
	}
}

void
cs_take_provenance(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	static const struct cs_map_key keys[] = {
		{ "date", true, offsetof(struct cs_block, date), cs_take_date },
		{ "library", true, offsetof(struct cs_block, library), cs_take_text },
		{ "mpi", false, offsetof(struct cs_block, measured_mpi), cs_take_text },
		{ "machine", true, offsetof(struct cs_block, measured_on), cs_take_text },
		{ "command", true, offsetof(struct cs_block, command), cs_take_text },
		{ "note", false, offsetof(struct cs_block, note), cs_take_text },
	};
	CS_TAKE_MAP(reader, value, "where the rules come from", keys, field);
}

void
cs_take_guard(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	static const struct cs_map_key keys[] = {
		{ "mpi", false, offsetof(struct cs_block, mpi), cs_take_mpi },
		{ "cpu", false, offsetof(struct cs_block, cpu), cs_take_text },
		{ "host", false, offsetof(struct cs_block, host), cs_take_text },
		{ "cores", false, offsetof(struct cs_block, cores), cs_take_counts },
	};
	CS_TAKE_MAP(reader, value, "which machines the block is for", keys, field);
}

struct block_draft {
	struct cs_block *block;
	const struct cs_yaml *name, *provenance, *machine, *rules;
	bool is_hypothesis;
};

static void
take_block(struct cs_reader *reader, const struct cs_yaml *node, size_t *rule_count)
{
	static const struct cs_map_key keys[] = {
		{ "name", true, offsetof(struct block_draft, name), cs_take_node },
		{ "provenance", true, offsetof(struct block_draft, provenance), cs_take_node },
		{ "machine", false, offsetof(struct block_draft, machine), cs_take_node },
		{ "hypothesis", false, offsetof(struct block_draft, is_hypothesis), cs_take_flag },
		{ "rules", true, offsetof(struct block_draft, rules), cs_take_node },
	};
	struct cs_tuning *tuning = reader->tuning;
	struct block_draft draft = { 0 };
	if (!CS_TAKE_MAP(reader, node, "a block of rules", keys, &draft))
		return;
	struct cs_block *blocks = cs_reader_grow(reader, tuning->blocks, tuning->block_count,
						 sizeof *blocks);
	if (!blocks)
		return;
	tuning->blocks = blocks;
	struct cs_block *block = &blocks[tuning->block_count];
	*block = (struct cs_block){ .line = node->line, .cores = CS_RANGE_ALL,
				    .is_hypothesis = draft.is_hypothesis };
	if (draft.name)
		cs_take_text(reader, draft.name, &block->name);
	if (draft.provenance)
		cs_take_provenance(reader, draft.provenance, block);
	if (draft.machine)
		cs_take_guard(reader, draft.machine, block);
	if (draft.rules)
		take_rules(reader, draft.rules, rule_count);
	tuning->block_count++;
}

void
cs_take_blocks(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	size_t rule_count = 0;
	if (value->kind != CS_YAML_LIST) {
		cs_reader_expect(reader, value, "a list of blocks, each beginning with - name:");
		return;
	}
	for (const struct cs_yaml *block = value->first; block; block = block->next)
		take_block(reader, block, &rule_count);
}
