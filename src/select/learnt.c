/* select/learnt.c — keeps what a job has learnt of its calls, and merges it into a tuning file. */
#include "select/learnt.h"

#include "base/file.h"
#include "base/log.h"
#include "base/printable.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct cs_learnt_entry *entries;
static size_t entry_count;

static bool
is_same(struct cs_range a, struct cs_range b)
{
	return a.low == b.low && a.high == b.high;
}

/* Are they for the same calls? */
static bool
has_key(const struct cs_rule *a, const struct cs_rule *b)
{
	return a->coll == b->coll && is_same(a->bytes, b->bytes) && is_same(a->ranks, b->ranks) &&
	       is_same(a->nodes, b->nodes) && is_same(a->ppn, b->ppn) &&
	       is_same(a->skew, b->skew) && a->wire == b->wire && a->placement == b->placement &&
	       a->form == b->form && a->imbalance == b->imbalance;
}

static struct cs_learnt_entry *
find(const struct cs_rule *rule)
{
	for (size_t i = 0; i < entry_count; i++)
		if (has_key(&entries[i].rule, rule))
			return &entries[i];
	return NULL;
}

void
cs_learnt_add(const struct cs_learnt_entry *entry)
{
	int saved = errno;
	pthread_mutex_lock(&lock);
	struct cs_learnt_entry *place = find(&entry->rule);
	if (!place && entry_count < CS_LEARNT_MOST) {
		struct cs_learnt_entry *grown =
			realloc(entries, (entry_count + 1) * sizeof *grown);
		entries = grown ? grown : entries;
		place = grown ? &grown[entry_count++] : NULL;
	}
	if (place)
		*place = *entry;
	pthread_mutex_unlock(&lock);
	errno = saved;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* CS_OK and no text: there is no such file. One place for the line, since a job reads the file at
 * its begin and at its end. */
static enum cs_status
load(const char *path, struct cs_tuning **tuning, char **text, size_t *bytes)
{
	struct cs_tuning_errors errors = { 0 };
	*tuning = NULL;
	*text = NULL;
	*bytes = 0;
	enum cs_status status = cs_tuning_load_text(tuning, path, text, bytes, &errors);
	if (status == CS_SYSTEM && errno == ENOENT)
		return CS_OK;
	if (status != CS_OK && status != CS_NO_MEMORY)
		cs_warn_once("select: %s; nothing that was learnt is read from it, and it stays as "
			     "it is" CS_IGNORED, errors.first, "tuning");
	return status;
}

enum cs_status
cs_learnt_load(struct cs_tuning **tuning, const char *path)
{
	char *text;
	size_t bytes;
	enum cs_status status = load(path, tuning, &text, &bytes);
	if (status == CS_OK)
		free(text);
	return status;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void
put_count(FILE *out, const char *name, struct cs_range range)
{
	char text[CS_RANGE_TEXT];
	if (range.low > 0 || range.high < CS_INF)
		fprintf(out, ", %s: %s", name, cs_count_range_text(text, range));
}

static void
put_use(FILE *out, const struct cs_use *use)
{
	char number[CS_NUMBER_TEXT];
	const struct cs_param *params = use->algorithm ? use->algorithm->params : NULL;
	fprintf(out, ", use: \"%s\"", use->algorithm ? use->algorithm->name : CS_HOST);
	for (int i = 0; params && i < CS_MAX_PARAMS && params[i].name; i++)
		fprintf(out, "%s%s: %s", i ? ", " : ", with: {", params[i].name,
			cs_bytes_text(number, use->params[i]));
	fputs(params && params[0].name ? "}}" : "}", out);
}

static void
put_entry(FILE *out, int indent, const struct cs_learnt_entry *entry, const char *date)
{
	const struct cs_rule *rule = &entry->rule;
	char text[CS_RANGE_TEXT];
	fprintf(out, "%*s    - {collective: %s", indent, "", cs_colls[rule->coll].name);
	if (rule->bytes.low > 0 || rule->bytes.high < CS_INF)
		fprintf(out, ", bytes: %s", cs_byte_range_text(text, rule->bytes));
	put_count(out, "ranks", rule->ranks);
	put_count(out, "nodes", rule->nodes);
	put_count(out, "ppn", rule->ppn);
	put_count(out, "skew", rule->skew);
	if (rule->wire)
		fprintf(out, ", wire: %s", rule->wire == CS_WIRE_IB ? "ib" : "host");
	if (rule->placement != CS_PLACEMENT_EITHER)
		fprintf(out, ", placement: %s",
			rule->placement == CS_PLACEMENT_BLOCK ? "block" : "cyclic");
	if (rule->form != CS_FORM_EITHER)
		fprintf(out, ", nonblocking: %s", cs_form_word(rule->form));
	const char *before = ", imbalance: [";
	for (int name = 0; name < CS_BALANCES; name++)
		if (rule->imbalance >> name & 1) {
			fprintf(out, "%s%s", before, cs_balance_names[name]);
			before = ", ";
		}
	if (rule->imbalance)
		putc(']', out);
	put_use(out, &rule->use);
	fprintf(out, " # %llu ns, host %llu ns, %llu calls, %s, collshim " CS_VERSION "\n",
		(unsigned long long)entry->ns, (unsigned long long)entry->host_ns,
		(unsigned long long)entry->calls, date);
}

/* A text for double quotes, which as a pattern of fnmatch matches itself. */
static void
make_pattern(char *pattern, size_t bytes, const char *text)
{
	snprintf(pattern, bytes, "%s", text ? text : "");
	cs_printable_make(pattern, false);
	for (; *(pattern += strcspn(pattern, "*[]\\\"")); pattern++)
		*pattern = '?';
}

/* No guard by the host's name, in which the nodes of a job would differ. */
static void
put_head(FILE *out, int indent, const struct cs_machine *machine, const char *cpu, const char *date)
{
	char host[128];
	make_pattern(host, sizeof host, machine->host);
	fprintf(out, "%*s- name: learnt\n%*s  provenance:\n", indent, "", indent, "");
	fprintf(out, "%*s    date: %s\n%*s    library: \"collshim " CS_VERSION "\"\n", indent, "",
		date, indent, "");
	fprintf(out, "%*s    machine: \"%s, %zu cores, %s\"\n", indent, "", host, machine->cores,
		cpu);
	fprintf(out, "%*s    command: " CS_LEARNT_COMMAND "\n", indent, "");
	fprintf(out, "%*s  machine: {cores: %zu", indent, "", machine->cores);
	if (machine->mpi)
		fprintf(out, ", mpi: %s", machine->mpi);
	if (*cpu)
		fprintf(out, ", cpu: \"%s\"", cpu);
	fprintf(out, "}\n%*s  rules:\n", indent, "");
}

static bool
is_text(const char *a, const char *b)
{
	return !strcmp(a ? a : "", b ? b : "");
}

/* The file's block for that machine, with rules; else block_count. */
static size_t
find_block(const struct cs_tuning *tuning, const struct cs_machine *machine, const char *cpu)
{
	struct cs_range cores = { machine->cores, machine->cores + 1 };
	for (size_t i = 0; i < tuning->rule_count; i++) {
		const struct cs_block *block = &tuning->blocks[tuning->rules[i].block];
		if (cs_block_is_learnt(block) && is_text(block->mpi, machine->mpi) &&
		    is_text(block->cpu, cpu) && !block->host && is_same(block->cores, cores))
			return tuning->rules[i].block;
	}
	return tuning->block_count;
}

/* The begin of a line, counted from 1, or the end of the text. */
static const char *
line_at(const char *text, unsigned line)
{
	for (; line > 1 && *text; line--) {
		text += strcspn(text, "\n");
		text += *text == '\n';
	}
	return text;
}

/* End of the list's element that begins in the line at `text`: the next line that is not indented
 * deeper than `indent`. */
static const char *
end_of(const char *text, size_t indent)
{
	do
		text = line_at(text, 2);
	while (*text && (strspn(text, " ") > indent || strchr("\r\n", text[strspn(text, " ")])));
	return text;
}

struct merge {
	FILE *out;
	const char *text; /* of the old file */
	const struct cs_machine *machine;
	char cpu[128], date[16];
	size_t blocks, rules; /* that the new file has to have */
};

static void
put_new(struct merge *merge, size_t indent)
{
	put_head(merge->out, (int)indent, merge->machine, merge->cpu, merge->date);
	for (size_t i = 0; i < entry_count; i++)
		put_entry(merge->out, (int)indent, &entries[i], merge->date);
	merge->rules += entry_count;
}

static void
put_part(struct merge *merge, const char *from, const char *to)
{
	fwrite(from, 1, (size_t)(to - from), merge->out);
}

/* The old block's rules, but for those of an entry's key, and of the oldest, which are last, those
 * that are too many. Returns where they end in the old text. */
static const char *
put_kept(struct merge *merge, const struct cs_tuning *old, size_t block, size_t indent)
{
	size_t kept = entry_count;
	const char *end = merge->text;
	for (size_t i = 0; i < old->rule_count; i++) {
		const struct cs_rule *rule = &old->rules[i], *next = rule + 1;
		if (rule->block != block)
			continue;
		bool is_last = i + 1 == old->rule_count || next->block != block;
		/* By hand: of several collectives. */
		bool is_shared = (i && rule[-1].line == rule->line) ||
				 (!is_last && next->line == rule->line);
		const char *begin = line_at(merge->text, rule->line);
		end = is_last ? end_of(begin, indent) : line_at(merge->text, next->line);
		if (!is_shared && (find(rule) || kept++ >= CS_LEARNT_MOST))
			merge->rules--;
		else
			put_part(merge, begin, end);
	}
	return end;
}

static void
put_merged(struct merge *merge, const struct cs_tuning *old)
{
	size_t count = old ? old->block_count : 0;
	size_t own = old ? find_block(old, merge->machine, merge->cpu) : 0;
	const char *begin = merge->text, *end = begin + strlen(begin);
	size_t indent = 2;
	merge->blocks = own < count ? count : count + 1;
	merge->rules = old ? old->rule_count : 0;
	if (count) {
		begin = line_at(begin, old->blocks[own < count ? own : count - 1].line);
		indent = strspn(begin, " ");
		begin = own < count ? begin : end_of(begin, indent);
	} else {
		begin = end;
	}
	put_part(merge, merge->text, begin);
	if (begin > merge->text && begin[-1] != '\n')
		putc('\n', merge->out);
	if (!old)
		fputs("# Learnt by jobs with COLLSHIM_ADAPT_FILE; docs/tuning.md has the format.\n"
		      "version: 1\n\n", merge->out);
	if (!count)
		fputs("blocks:\n", merge->out);
	put_new(merge, indent);
	if (own < count)
		begin = put_kept(merge, old, own, indent);
	put_part(merge, begin, end);
}

/* Is the text a tuning file of as many blocks and rules as were meant to be in it? */
static bool
is_right(const struct merge *merge, const char *path, const char *text, size_t bytes)
{
	struct cs_tuning *made;
	struct cs_tuning_errors errors = { .first = "its blocks are not one below the other" };
	enum cs_status status = cs_tuning_parse(&made, path, text, bytes, &errors);
	bool is_meant = status == CS_OK && made->block_count == merge->blocks &&
			made->rule_count == merge->rules && bytes <= CS_TUNING_MAX_BYTES;
	if (status == CS_OK)
		cs_tuning_destroy(made);
	if (!is_meant)
		cs_warn_once("select: %s stays as it is, since what this job has learnt cannot be "
			     "added to it (%s)", path, errors.first);
	return is_meant;
}

static void
merge_into(const char *path, const struct cs_machine *machine)
{
	struct merge merge = { .machine = machine };
	struct cs_tuning *old;
	struct tm tm;
	time_t now = time(NULL);
	char *old_text, *text = NULL;
	size_t bytes;
	if (load(path, &old, &old_text, &bytes) != CS_OK)
		return;
	merge.text = old_text ? old_text : "";
	make_pattern(merge.cpu, sizeof merge.cpu, machine->cpu);
	strftime(merge.date, sizeof merge.date, "%Y-%m-%d", gmtime_r(&now, &tm));
	merge.out = open_memstream(&text, &bytes);
	if (merge.out) {
		put_merged(&merge, old);
		bool is_whole = !ferror(merge.out);
		is_whole &= !fclose(merge.out);
		if (is_whole && is_right(&merge, path, text, bytes) &&
		    !cs_file_renew(path, text, bytes))
			cs_warn_once("select: %s cannot be written: %m; what this job has learnt "
				     "is lost", path);
	}
	cs_tuning_destroy(old);
	free(old_text);
	free(text);
}

void
cs_learnt_write(const char *path, const struct cs_machine *machine)
{
	int saved = errno;
	pthread_mutex_lock(&lock);
	int file = entry_count ? cs_file_lock(path) : -1;
	if (file >= 0) {
		merge_into(path, machine);
		close(file);
	} else if (entry_count) {
		cs_warn_once("select: %s.lock cannot be locked: %m; what this job has learnt is "
			     "lost", path);
	}
	free(entries);
	entries = NULL;
	entry_count = 0;
	pthread_mutex_unlock(&lock);
	errno = saved;
}
