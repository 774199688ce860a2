/* select/force: the texts of COLLSHIM_<COLLECTIVE>. An input is COLLECTIVE=TEXT, as
 * bcast=0-4K=host; where no collective stands there, the first byte chooses one. */
#include "choosing.h"
#include "fuzz.h"

#include "base/parse.h"
#include "select/force.h"

#include <stdlib.h>
#include <string.h>

#define ROOM 600

static const char *
split(char *input, enum cs_coll *coll)
{
	char *equals = strchr(input, '=');
	if (equals)
		*equals = '\0';
	*coll = cs_coll_by_name(input);
	if (equals && *coll < CS_COLL_COUNT)
		return equals + 1;
	if (equals)
		*equals = '=';
	*coll = (enum cs_coll)((unsigned char)*input % CS_COLL_COUNT);
	return *input ? input + 1 : input;
}

static bool
is_same_item(const struct cs_force_item *a, const struct cs_force_item *b)
{
	return a->bytes.low == b->bytes.low && a->bytes.high == b->bytes.high &&
	       a->imbalance == b->imbalance && a->use.algorithm == b->use.algorithm &&
	       !memcmp(a->use.params, b->use.params, sizeof a->use.params);
}

static bool
is_same(const struct cs_force *a, const struct cs_force *b)
{
	bool same = a->item_count == b->item_count && a->excluded_count == b->excluded_count;
	for (size_t i = 0; same && i < a->item_count; i++)
		same = is_same_item(&a->items[i], &b->items[i]);
	for (size_t i = 0; same && i < a->excluded_count; i++)
		same = a->excluded[i] == b->excluded[i];
	return same;
}

/* As a user could write it. To be freed. */
static char *
written(const struct cs_force *force, enum cs_coll coll)
{
	char *text = NULL, use[512], range[CS_RANGE_TEXT];
	size_t length;
	FILE *out = open_memstream(&text, &length);
	CLAIM(out, "no memory");
	for (size_t i = 0; i < force->item_count; i++) {
		const struct cs_force_item *item = &force->items[i];
		cs_use_text(use, sizeof use, item->use.algorithm, item->use.params);
		cs_byte_range_text(range, item->bytes);
		fprintf(out, "%s%s%s", i ? "," : "", cs_colls[coll].bytes_agreed ? range : "",
			cs_colls[coll].bytes_agreed ? "=" : "");
		const char *plus = "";
		for (enum cs_balance name = CS_BALANCED; name < CS_BALANCES; name++)
			if (item->imbalance >> name & 1) {
				fprintf(out, "%s%s", plus, cs_balance_names[name]);
				plus = "+";
			}
		fprintf(out, "%s%s", item->imbalance ? "=" : "", use);
	}
	for (size_t i = 0; i < force->excluded_count; i++)
		fprintf(out, "%s^%s", i ? "," : "", force->excluded[i]->name);
	fclose(out);
	return text;
}

static void
check_refused(enum cs_coll coll, const char *text, const char *message,
	      const struct cs_force *force)
{
	struct cs_force other;
	char *end;
	CLAIM(!strncmp(message, "column ", 7), "\"%s\": %s", text, message);
	unsigned long column = strtoul(message + 7, &end, 10);
	CLAIM(column >= 1 && column <= strlen(text) + 1 && !strncmp(end, ": ", 2), "\"%s\": %s",
	      text, message);
	CLAIM(fuzz_is_line(message, text) && strlen(message) < ROOM - 1, "\"%s\": %s", text,
	      message);
	CLAIM(!force->items && !force->excluded, "\"%s\" left something", text);
	size_t room = 1 + strlen(text) % 40;
	char *little = malloc(room);
	CLAIM(little && cs_force_parse(&other, coll, text, little, room) == CS_BAD_INPUT &&
	      strlen(little) < room, "%s", text);
	free(little);
}

static const struct cs_force_item *
item_for(const struct cs_force *force, size_t bytes, enum cs_balance imbalance)
{
	for (size_t i = 0; i < force->item_count; i++) {
		const struct cs_range *range = &force->items[i].bytes;
		bool is_all = range->low == 0 && range->high == CS_INF;
		if (!cs_balance_fits(force->items[i].imbalance, imbalance))
			continue;
		if (is_all ||
		    (bytes != CS_BYTES_UNKNOWN && bytes >= range->low && bytes < range->high))
			return &force->items[i];
	}
	return NULL;
}

/* What the selector makes of the text is what the text says. */
static void
check_obeyed(const struct cs_selector *selector, const struct cs_force *force,
	     const struct cs_facts *facts)
{
	struct cs_choice choice;
	const struct cs_force_item *item = item_for(force, facts->bytes, facts->imbalance);
	cs_selector_choose(selector, facts, &choice);
	const char *unmet = item && item->use.algorithm
			    ? cs_algorithm_unmet(item->use.algorithm, facts) : NULL;
	if (unmet)
		CLAIM(choice.why == CS_WHY_NEEDS && !choice.algorithm, "%s", choice.reason);
	else if (item)
		CLAIM(choice.why == CS_WHY_FORCED && choice.algorithm == item->use.algorithm &&
			      !memcmp(choice.params, item->use.params, sizeof choice.params), "%s",
			      choice.reason);
	else
		CLAIM(choice.why != CS_WHY_FORCED, "%s", choice.reason);
	for (size_t i = 0; i < force->excluded_count; i++)
		CLAIM(choice.algorithm != force->excluded[i], "%s", choice.reason);
}

static void
check_chosen(enum cs_coll coll, const char *text, const struct cs_force *force)
{
	struct cs_selector *selector = fuzz_selector(NULL, 0, coll, text);
	struct cs_selector *again = fuzz_selector(NULL, 0, coll, text);
	CLAIM(cs_selector_digest(selector) == cs_selector_digest(again), "\"%s\": two digests",
	      text);
	cs_selector_destroy(again);
	for (size_t i = 0; i <= force->item_count && i < 4; i++) {
		const size_t sizes[] = { 0, 8192, i < force->item_count
					 ? force->items[i].bytes.low : 1, i < force->item_count
					 ? force->items[i].bytes.high - 1 : CS_INF - 1 };
		for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
			struct cs_facts facts =
				fuzz_facts(coll, sizes[k], (int)(i + k) % fuzz_facts_count());
			facts.imbalance = (enum cs_balance)((i + k) % CS_BALANCES);
			check_obeyed(selector, force, &facts);
			fuzz_check_choice(selector, &facts);
			if (k == 1)
				fuzz_check_explanation(selector, &facts);
		}
	}
	cs_selector_destroy(selector);
}

static void
check_taken(enum cs_coll coll, const char *text, const struct cs_force *force)
{
	struct cs_force again;
	char message[ROOM] = "", *rewritten = written(force, coll);
	CLAIM(force->item_count + force->excluded_count > 0, "\"%s\" says nothing", text);
	CLAIM(cs_force_parse(&again, coll, rewritten, message, sizeof message) == CS_OK &&
	      is_same(force, &again),
	      "\"%s\", written %s: %s", text, rewritten, message);
	cs_force_fini(&again);
	free(rewritten);
	check_chosen(coll, text, force);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *input = fuzz_text(data, bytes), message[ROOM] = "", other_message[ROOM] = "";
	enum cs_coll coll;
	const char *text = split(input, &coll);
	struct cs_force force, other;
	enum cs_status status = cs_force_parse(&force, coll, text, message, sizeof message);
	CLAIM(status == CS_OK || status == CS_BAD_INPUT, "\"%s\": %s", text,
	      cs_status_name(status));
	CLAIM(cs_force_parse(&other, coll, text, other_message, sizeof other_message) == status,
	      "\"%s\"", text);
	CLAIM(is_same(&force, &other) && !strcmp(message, other_message), "\"%s\": two answers",
	      text);
	if (status == CS_OK)
		check_taken(coll, text, &force);
	else
		check_refused(coll, text, message, &force);
	cs_force_fini(&other);
	cs_force_fini(&force);
	free(input);
	return 0;
}
