/* select/document and select/tuning: a tuning file, from memory and as a file. */
#include "choosing.h"
#include "fuzz.h"

#include "select/tuning.h"

#include <stdlib.h>
#include <string.h>

#define LABEL "t"
#define RULES 12 /* of a file, that calls are made to fit */

/* --- complaints ------------------------------------------------------------------------------- */

/* For each line of a text the characters in it; and an empty line behind the last LF. */
struct lines {
	unsigned *columns;
	size_t count;
};

static void
lines_init(struct lines *lines, const char *text, size_t bytes)
{
	lines->count = 1;
	for (size_t i = 0; i < bytes; i++)
		lines->count += text[i] == '\n';
	lines->columns = calloc(lines->count, sizeof *lines->columns);
	CLAIM(lines->columns, "no memory for %zu lines", lines->count);
	for (size_t i = 0, line = 0; i < bytes; i++) {
		line += text[i] == '\n';
		lines->columns[line] += text[i] != '\n' && (text[i] & 0xc0) != 0x80;
	}
}

/* "t:LINE:COLUMN: what", with a place in the text or right behind its end. Returns the next
 * line. */
static char *
check_complaint(char *complaint, const struct lines *lines)
{
	char *end = strchr(complaint, '\n'), *rest = NULL;
	CLAIM(end, "no whole line: %s", complaint);
	*end = '\0';
	CLAIM(!strncmp(complaint, LABEL ":", sizeof LABEL), "%s", complaint);
	unsigned long line = strtoul(complaint + sizeof LABEL, &rest, 10);
	unsigned long column = *rest == ':' ? strtoul(rest + 1, &rest, 10) : 0;
	CLAIM(line >= 1 && line <= lines->count, "of %zu lines: %s", lines->count, complaint);
	CLAIM(column >= 1 && column <= lines->columns[line - 1] + 1, "of %u characters: %s",
	      lines->columns[line - 1], complaint);
	CLAIM(!strncmp(rest, ": ", 2) && fuzz_is_line(rest + 2, ""), "%s", complaint);
	return end + 1;
}

static void
check_refused(const char *text, size_t bytes, char *complaints,
	      const struct cs_tuning_errors *errors)
{
	struct lines lines;
	size_t count = 0;
	CLAIM(errors->count > 0 && *errors->first, "refused without a complaint");
	CLAIM(!strncmp(errors->first, complaints, strlen(errors->first)),
	      "%s is not the first of\n%s", errors->first, complaints);
	lines_init(&lines, text, bytes);
	for (char *at = complaints; *at; count++)
		at = check_complaint(at, &lines);
	CLAIM(count == errors->count, "%zu complaints, said to be %zu", count, errors->count);
	free(lines.columns);
}

/* The file is answered as the text was. */
static void
check_file(const char *text, size_t bytes, size_t errors)
{
	char path[64], *said = NULL;
	size_t length;
	FILE *out = open_memstream(&said, &length);
	int file = fuzz_open(text, bytes, path);
	int found = out ? cs_tuning_check(path, out) : -1;
	CLAIM(found == (int)errors, "%d errors in the file, %zu in the text", found, errors);
	fuzz_close(file);
	fclose(out);
	free(said);
}

/* --- a tuning written again ------------------------------------------------------------------- */

static uint32_t
next_character(const char **text)
{
	const unsigned char *at = (const unsigned char *)*text;
	int more = *at < 0x80 ? 0 : *at >= 0xf0 ? 3 : *at >= 0xe0 ? 2 : 1;
	uint32_t character = more ? *at & (0x3fu >> more) : *at;
	for (int i = 1; i <= more; i++)
		character = character << 6 | (at[i] & 0x3fu);
	*text += more + 1;
	return character;
}

/* Nothing at all for NULL. */
static void
write_text(FILE *out, const char *before, const char *text)
{
	if (!text)
		return;
	fprintf(out, "%s\"", before);
	while (*text) {
		uint32_t character = next_character(&text);
		if (character < ' ' || character > '~' || character == '"' || character == '\\')
			fprintf(out, "\\U%08x", (unsigned)character);
		else
			fputc((int)character, out);
	}
	fputc('"', out);
}

static void
write_range(FILE *out, const char *key, struct cs_range range, bool is_bytes)
{
	char text[CS_RANGE_TEXT];
	if (range.low || range.high != CS_INF)
		fprintf(out, ", %s: %s", key,
			is_bytes ? cs_byte_range_text(text, range)
				 : cs_count_range_text(text, range));
}

static void
write_rule(FILE *out, const struct cs_rule *rule)
{
	const struct cs_algorithm *algorithm = rule->use.algorithm;
	char number[CS_NUMBER_TEXT];
	fprintf(out, "      {collective: %s", cs_colls[rule->coll].name);
	write_range(out, "bytes", rule->bytes, true);
	write_range(out, "ranks", rule->ranks, false);
	write_range(out, "nodes", rule->nodes, false);
	write_range(out, "ppn", rule->ppn, false);
	write_range(out, "skew", rule->skew, false);
	if (rule->wire)
		fprintf(out, ", wire: %s", rule->wire == CS_WIRE_IB ? "ib" : "host");
	if (rule->placement)
		fprintf(out, ", placement: %s", rule->placement == CS_PLACEMENT_BLOCK
			? "block" : "cyclic");
	if (rule->form)
		fprintf(out, ", nonblocking: %s", cs_form_word(rule->form));
	const char *comma = ", imbalance: [";
	for (enum cs_balance name = CS_BALANCED; name < CS_BALANCES; name++)
		if (rule->imbalance >> name & 1) {
			fprintf(out, "%s%s", comma, cs_balance_names[name]);
			comma = ", ";
		}
	fputs(rule->imbalance ? "]" : "", out);
	fprintf(out, ", use: \"%s\", with: {", algorithm ? algorithm->name : CS_HOST);
	for (int i = 0; algorithm && i < CS_MAX_PARAMS && algorithm->params[i].name; i++)
		fprintf(out, "%s: %s, ", algorithm->params[i].name,
			cs_bytes_text(number, rule->use.params[i]));
	fputs("}},\n", out);
}

static void
write_block(FILE *out, const struct cs_tuning *tuning, size_t index)
{
	const struct cs_block *block = &tuning->blocks[index];
	write_text(out, "  - name: ", block->name);
	write_text(out, "\n    provenance: {date: ", block->date);
	write_text(out, ", library: ", block->library);
	write_text(out, ", machine: ", block->measured_on);
	write_text(out, ", command: ", block->command);
	write_text(out, ", mpi: ", block->measured_mpi);
	write_text(out, ", note: ", block->note);
	fputs("}\n    machine: {", out);
	write_text(out, "host: ", block->host ? block->host : "*");
	write_text(out, ", mpi: ", block->mpi);
	write_text(out, ", cpu: ", block->cpu);
	write_range(out, "cores", block->cores, false);
	fputs("}\n    rules: [\n", out);
	for (size_t i = 0; i < tuning->rule_count; i++)
		if (tuning->rules[i].block == index)
			write_rule(out, &tuning->rules[i]);
	fputs("    ]\n", out);
}

/* To be freed. */
static char *
written(const struct cs_tuning *tuning, size_t *bytes)
{
	char *text = NULL, number[CS_NUMBER_TEXT];
	struct cs_limits limits = tuning->limits;
	FILE *out = open_memstream(&text, bytes);
	CLAIM(out, "no memory");
	fputs("version: 1\nlimits: {", out);
	for (size_t i = 0; i < CS_LIMIT_COUNT; i++)
		if (tuning->has_limit[i])
			fprintf(out, "%s: %s, ", cs_limit_infos[i].name,
				cs_limit_text(&cs_limit_infos[i], *cs_limit_of(&limits, i),
					      number));
	fputs(tuning->block_count ? "}\nblocks:\n" : "}\nblocks: []\n", out);
	for (size_t i = 0; i < tuning->block_count; i++)
		write_block(out, tuning, i);
	fclose(out);
	return text;
}

static bool
is_same_range(struct cs_range a, struct cs_range b)
{
	return a.low == b.low && a.high == b.high;
}

static bool
is_told_in_a_line(const char *text)
{
	return !text || !strchr(text, '\n');
}

static void
check_same(const struct cs_tuning *a, const struct cs_tuning *b)
{
	CLAIM(!memcmp(a->has_limit, b->has_limit, sizeof a->has_limit) &&
		      !memcmp(&a->limits, &b->limits, sizeof a->limits),
	      "other limits");
	CLAIM(a->block_count == b->block_count && a->rule_count == b->rule_count,
	      "%zu rules, then %zu", a->rule_count, b->rule_count);
	for (size_t i = 0; i < a->block_count; i++) {
		const struct cs_block *p = &a->blocks[i], *q = &b->blocks[i];
		CLAIM(fuzz_is_same(p->name, q->name) && fuzz_is_same(p->date, q->date) &&
			      fuzz_is_same(p->library, q->library) &&
			      fuzz_is_same(p->command, q->command) &&
			      fuzz_is_same(p->measured_on, q->measured_on) &&
			      fuzz_is_same(p->measured_mpi, q->measured_mpi) &&
			      fuzz_is_same(p->note, q->note) && fuzz_is_same(p->mpi, q->mpi) &&
			      fuzz_is_same(p->cpu, q->cpu) &&
			      fuzz_is_same(p->host ? p->host : "*", q->host) &&
			      is_same_range(p->cores, q->cores),
		      "block %zu", i);
		CLAIM(is_told_in_a_line(p->name) && is_told_in_a_line(p->command) &&
		      is_told_in_a_line(p->note) &&
			      is_told_in_a_line(p->host),
		      "block %zu has a text of several lines", i);
	}
	for (size_t i = 0; i < a->rule_count; i++) {
		const struct cs_rule *p = &a->rules[i], *q = &b->rules[i];
		CLAIM(p->coll == q->coll && p->block == q->block &&
		      is_same_range(p->bytes, q->bytes) &&
			      is_same_range(p->ranks, q->ranks) &&
			      is_same_range(p->nodes, q->nodes) && is_same_range(p->ppn, q->ppn) &&
			      is_same_range(p->skew, q->skew) && p->wire == q->wire &&
			      p->placement == q->placement && p->form == q->form &&
			      p->imbalance == q->imbalance &&
			      p->use.algorithm == q->use.algorithm &&
			      !memcmp(p->use.params, q->use.params, sizeof p->use.params),
		      "rule %zu, of line %u", i, p->line);
	}
}

/* --- choices ---------------------------------------------------------------------------------- */

/* What collshim-info prints of it is made of lines that are indented. */
static void
check_printed(const struct cs_selector *selector,
	      void (*print)(const struct cs_selector *selector, FILE *out))
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);
	CLAIM(out, "no memory");
	print(selector, out);
	fclose(out);
	for (const char *line = text; *line; line = strchr(line, '\n') + 1)
		CLAIM(!strncmp(line, "  ", 2) && strchr(line, '\n'), "%s", line);
	free(text);
}

static int
between(size_t number, int low, int high)
{
	return number < (size_t)low ? low : number > (size_t)high ? high : (int)number;
}

/* A call that the rule was made for, or nearly. */
static struct cs_facts
facts_for(const struct cs_rule *rule, size_t bytes)
{
	struct cs_facts facts = fuzz_facts(rule->coll, bytes, 0);
	facts.nodes = between(rule->nodes.low, 1, 1 << 14);
	facts.ppn_min = facts.ppn_max = between(rule->ppn.low, 1, 1 << 14);
	facts.ranks = facts.nodes * facts.ppn_max;
	facts.wire = rule->wire ? rule->wire : facts.wire;
	facts.is_block_placed = rule->placement != CS_PLACEMENT_CYCLIC;
	facts.is_nonblocking = rule->form == CS_FORM_NONBLOCKING;
	while (!cs_balance_fits(rule->imbalance, facts.imbalance))
		facts.imbalance++;
	return facts;
}

/* Explaining takes longer than the rest, so only some calls are explained. */
static void
check_choice(const struct cs_selector *a, const struct cs_selector *b, const struct cs_facts *facts,
	     bool is_explained)
{
	struct cs_choice choice, other;
	cs_selector_choose(a, facts, &choice);
	cs_selector_choose(b, facts, &other);
	CLAIM(fuzz_is_same_choice(&choice, &other), "%s of %zu bytes: %s, then %s",
	      cs_colls[facts->coll].name, facts->bytes, choice.reason, other.reason);
	fuzz_check_choice(a, facts);
	if (is_explained)
		fuzz_check_explanation(a, facts);
}

static void
check_choices(const struct cs_tuning *tuning, const struct cs_selector *a,
	      const struct cs_selector *b)
{
	for (enum cs_coll coll = 0; coll < CS_COLL_COUNT; coll++) {
		struct cs_facts facts = fuzz_facts(coll, 8192, (int)coll % fuzz_facts_count());
		check_choice(a, b, &facts, coll == tuning->rule_count % CS_COLL_COUNT);
	}
	for (size_t i = 0; i < tuning->rule_count && i < RULES; i++) {
		const struct cs_rule *rule = &tuning->rules[i];
		const size_t sizes[] = { rule->bytes.low, rule->bytes.high - 1 };
		for (int k = 0; k < 2; k++) {
			struct cs_facts facts = facts_for(rule, sizes[k]);
			check_choice(a, b, &facts, k == 0 && i % 6 == 0);
		}
	}
}

/* A tuning that was taken is the same when it is written and read again, and chooses the same. */
static void
check_taken(const char *text, size_t bytes, const struct cs_tuning *tuning)
{
	struct cs_tuning *again = NULL;
	struct cs_tuning_errors errors = { 0 };
	size_t length;
	char *rewritten = written(tuning, &length);
	/* A rule for several collectives is written as several, and a file has so many at most. */
	bool fits = tuning->rule_count <= CS_TUNING_MAX_RULES && length <= CS_TUNING_MAX_BYTES &&
		    bytes <= CS_TUNING_MAX_BYTES;
	if (fits) {
		CLAIM(cs_tuning_parse(&again, LABEL, rewritten, length, &errors) == CS_OK, "%s\n%s",
		      errors.first, rewritten);
		check_same(tuning, again);
		struct cs_selector *first = fuzz_selector(text, bytes, 0, NULL);
		struct cs_selector *second = fuzz_selector(rewritten, length, 0, NULL);
		CLAIM(cs_selector_digest(first) == cs_selector_digest(second), "two digests:\n%s",
		      rewritten);
		check_choices(tuning, first, second);
		check_printed(first, cs_selector_print_sources);
		check_printed(first, cs_selector_print_limits);
		cs_selector_destroy(second);
		cs_selector_destroy(first);
		cs_tuning_destroy(again);
	}
	free(rewritten);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const char *text = (const char *)data;
	struct cs_tuning *tuning = NULL;
	char *complaints = NULL;
	size_t length = 0;
	struct cs_tuning_errors errors = { .out = open_memstream(&complaints, &length) };
	CLAIM(errors.out, "no memory");
	enum cs_status status = cs_tuning_parse(&tuning, LABEL, text, bytes, &errors);
	fclose(errors.out);
	CLAIM(status == (errors.count ? CS_BAD_INPUT : CS_OK), "%zu errors: %s", errors.count,
	      cs_status_name(status));
	CLAIM((status == CS_OK) == (tuning != NULL), "%s", cs_status_name(status));
	if (status == CS_OK)
		check_taken(text, bytes, tuning);
	else
		check_refused(text, bytes, complaints, &errors);
	if (bytes <= CS_TUNING_MAX_BYTES)
		check_file(text, bytes, errors.count);
	cs_tuning_destroy(tuning);
	free(complaints);
	return 0;
}
