/* tools/info_json.c — writes what collshim-info knows as JSON. */
#include "tools/info_json.h"

#include "base/parse.h"
#include "base/trial.h"
#include "select/use.h"
#include "trace/json.h"

#define NEED(member, phrase) { offsetof(struct cs_needs, member), #member, phrase }

const struct cs_need cs_need_names[] = {
	NEED(several_per_node, "a node with two ranks or more"),
	NEED(one_node, "a single node"),
	NEED(several_nodes, "several nodes"),
	NEED(power_of_two, "a power of two of ranks"),
	NEED(power_of_two_nodes, "a power of two of nodes"),
	NEED(verbs, "verbs"),
	NEED(commutative, "a commutative operation"),
	NEED(block_placed, "ranks of a node that follow each other"),
	NEED(block_if_not_commutative,
	     "for non-commutative operations, ranks of a node that follow each other"),
	NEED(everyone, NULL),
	NEED(all_sizes, NULL),
	NEED(largest, NULL),
	{ 0 },
};

static void
put_string(FILE *out, const char *before, const char *text)
{
	fputs(before, out);
	cs_json_string(out, text);
}

static void
put_bool(FILE *out, const char *before, bool is_true)
{
	fprintf(out, "%s%s", before, is_true ? "true" : "false");
}

/* Null: without end, or not known. */
static void
put_number(FILE *out, const char *before, size_t number)
{
	if (number == CS_INF || number == CS_BYTES_UNKNOWN)
		fprintf(out, "%snull", before);
	else
		fprintf(out, "%s%zu", before, number);
}

/* ---- algorithms --------------------------------------------------------------------------- */

static void
put_algorithm(FILE *out, const struct cs_algorithm *algorithm)
{
	const struct cs_algorithm *inner = algorithm->inner;
	const char *comma = "";
	put_string(out, "    {\"name\": ", algorithm->name);
	put_string(out, ", \"between\": ",
		   inner ? inner->name : algorithm->composes ? CS_HOST : NULL);
	put_bool(out, ", \"is_plan\": ", algorithm->build);
	put_string(out, ",\n     \"summary\": ", algorithm->summary);
	fputs(",\n     \"needs\": [", out);
	for (const struct cs_need *need = cs_need_names; need->name; need++) {
		if (!cs_has_need(&algorithm->needs, need))
			continue;
		put_string(out, comma, need->name);
		comma = ", ";
	}
	fputs("],\n     \"parameters\": [", out);
	for (int i = 0; i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
		const struct cs_param *param = &algorithm->params[i];
		put_string(out, i ? ",\n      {\"name\": " : "\n      {\"name\": ", param->name);
		put_number(out, ", \"default\": ", param->fallback);
		put_number(out, ", \"low\": ", param->low);
		put_number(out, ", \"high\": ", param->high);
		put_string(out, ", \"meaning\": ", param->meaning);
		fputc('}', out);
	}
	fputs("]}", out);
}

void
cs_info_json_algorithms(FILE *out)
{
	put_string(out, "{\"collshim\": ", CS_VERSION);
	fputs(",\n \"collectives\": [", out);
	for (int coll = 0; coll < CS_COLL_COUNT; coll++) {
		const struct cs_coll_info *info = &cs_colls[coll];
		const struct cs_algorithm *algorithm;
		const char *comma = "\n";
		put_string(out, coll ? ",\n  {\"name\": " : "\n  {\"name\": ", info->name);
		put_string(out, ", \"variable\": ", info->variable);
		put_string(out, ", \"bytes\": ", info->bytes_meaning);
		put_bool(out, ",\n   \"size_known\": ", info->bytes_agreed);
		put_bool(out, ", \"rooted\": ", info->rooted);
		put_bool(out, ", \"reduces\": ", info->reduces);
		put_bool(out, ", \"has_skew\": ", info->has_skew);
		fputs(",\n   \"algorithms\": [", out);
		for (int number = 0; (algorithm = cs_algorithm_at(number)); number++) {
			if ((int)algorithm->coll != coll)
				continue;
			fputs(comma, out);
			put_algorithm(out, algorithm);
			comma = ",\n";
		}
		fputs("]}", out);
	}
	fputs("]}\n", out);
}

/* ---- explain ------------------------------------------------------------------------------ */

static void
put_facts(FILE *out, const struct cs_facts *facts, const char *mpi)
{
	put_string(out, ",\n \"call\": {\"collective\": ", cs_colls[facts->coll].name);
	put_bool(out, ", \"nonblocking\": ", facts->is_nonblocking);
	put_number(out, ", \"bytes\": ", facts->bytes);
	fprintf(out, ", \"ranks\": %d, \"nodes\": %d", facts->ranks, facts->nodes);
	fprintf(out, ", \"ppn_min\": %d, \"ppn_max\": %d", facts->ppn_min, facts->ppn_max);
	put_string(out, ",\n  \"placement\": ", facts->is_block_placed ? "block" : "cyclic");
	put_bool(out, ", \"commutative\": ", facts->is_commutative);
	fprintf(out, ", \"skew\": %d", facts->skew);
	put_string(out, ", \"imbalance\": ", cs_balance_names[facts->imbalance]);
	put_string(out, ", \"wire\": ", facts->wire == CS_WIRE_IB ? "ib" : "host");
	put_string(out, ", \"mpi\": ", mpi);
	fputc('}', out);
}

static void
put_choice(FILE *out, const char *before, const struct cs_choice *choice)
{
	static const char *const why[] = {
		[CS_WHY_FORCED] = "forced",     [CS_WHY_RULE] = "rule",
		[CS_WHY_LEARNT] = "learnt",     [CS_WHY_MODEL] = "model",
		[CS_WHY_BUILTIN] = "builtin",   [CS_WHY_NO_RULE] = "none",
		[CS_WHY_NEEDS] = "needs",       [CS_WHY_EXCLUDED] = "excluded",
		[CS_WHY_TRIED] = "tried",
	};
	const struct cs_algorithm *algorithm = choice->algorithm;
	char use[256];
	cs_use_text(use, sizeof use, algorithm, choice->params);
	fputs(before, out);
	put_string(out, "{\"use\": ", use);
	put_string(out, ", \"algorithm\": ", algorithm ? algorithm->name : CS_HOST);
	fputs(", \"parameters\": {", out);
	for (int i = 0; algorithm && i < CS_MAX_PARAMS && algorithm->params[i].name; i++) {
		put_string(out, i ? ", " : "", algorithm->params[i].name);
		put_number(out, ": ", choice->params[i]);
	}
	put_string(out, "},\n  \"why\": ", why[choice->why]);
	put_string(out, ", \"reason\": ", choice->reason);
	put_number(out, ", \"bytes_low\": ", choice->bytes_low);
	put_number(out, ", \"bytes_high\": ", choice->bytes_high);
	fputc('}', out);
}

void
cs_info_json_explain(FILE *out, const struct cs_selector *selector, const struct cs_facts *facts,
		     const char *mpi, const struct cs_override *overrides, int override_count)
{
	const struct cs_algorithm *algorithm;
	const char *comma = "\n";
	struct cs_choice choices[CS_TRIAL_WAYS];
	cs_selector_choose(selector, facts, &choices[0]);
	int count = cs_selector_candidates(selector, facts, choices, CS_TRIAL_WAYS);
	put_string(out, "{\"collshim\": ", CS_VERSION);
	put_facts(out, facts, mpi);
	fputs(",\n \"algorithms\": [", out);
	for (int number = 0; (algorithm = cs_algorithm_at(number)); number++) {
		if (algorithm->coll != facts->coll)
			continue;
		const char *unmet = cs_algorithm_unmet(algorithm, facts);
		fputs(comma, out);
		put_string(out, "  {\"name\": ", algorithm->name);
		put_bool(out, ", \"serves\": ", !unmet);
		put_string(out, ", \"why_not\": ", unmet);
		fputc('}', out);
		comma = ",\n";
	}
	fputc(']', out);
	put_choice(out, ",\n \"chosen\": ", &choices[0]);
	fputs(",\n \"candidates\": [", out);
	for (int i = choices[0].is_belief ? 0 : count; i < count; i++)
		put_choice(out, i ? ",\n  " : "\n  ", &choices[i]);
	fputs("],\n \"imbalanced\": {", out);
	for (enum cs_balance name = CS_MODERATE; name < CS_BALANCES; name++) {
		struct cs_facts late = *facts;
		char use[256];
		late.imbalance = name;
		cs_selector_choose(selector, &late, &choices[0]);
		fprintf(out, "%s\"%s\": ", name > CS_MODERATE ? ", " : "", cs_balance_names[name]);
		put_string(out, "", cs_use_text(use, sizeof use, choices[0].algorithm,
						choices[0].params));
	}
	fputs("},\n \"overrides\": [", out);
	for (int i = 0; i < override_count; i++)
		put_string(out, i ? ", " : "", overrides[i].name);
	fputs("]}\n", out);
}
