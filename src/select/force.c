/* select/force.c — reads the text of a COLLSHIM_<COLLECTIVE> variable. */
#include "select/force.h"

#include <ctype.h>
#include <stdint.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A cursor over a copy of the text in which separators are overwritten by ends. */
struct scan {
	enum cs_coll coll;
	char *copy;
	char *message;
	size_t message_bytes;
};

static enum cs_status __attribute__((format(printf, 3, 4)))
refuse(const struct scan *scan, const char *at, const char *format, ...)
{
	snprintf(scan->message, scan->message_bytes, "column %zu: ", (size_t)(at - scan->copy) + 1);
	size_t used = strnlen(scan->message, scan->message_bytes);
	va_list arguments;
	va_start(arguments, format);
	if (used < scan->message_bytes)
		vsnprintf(scan->message + used, scan->message_bytes - used, format, arguments);
	va_end(arguments);
	return CS_BAD_INPUT;
}

static char *
trim(char *text)
{
	while (isblank((unsigned char)*text))
		text++;
	char *end = text + strlen(text);
	while (end > text && isblank((unsigned char)end[-1]))
		*--end = '\0';
	return text;
}

static bool
is_given(const struct cs_use *use, const char *param, uint32_t *given)
{
	int i = use->algorithm ? cs_algorithm_param(use->algorithm, param, strlen(param)) : -1;
	if (i < 0)
		return false;
	bool is_again = *given & UINT32_C(1) << i;
	*given |= UINT32_C(1) << i;
	return is_again;
}

/* ":chunk=64K:depth=4" behind a name. */
static enum cs_status
read_params(const struct scan *scan, char *at, struct cs_use *use)
{
	char message[256];
	uint32_t given = 0;
	while (*at) {
		char *param = at + 1; /* behind the colon */
		size_t length = strcspn(param, ":");
		at = param + length;
		char *next = *at ? at : NULL;
		char saved = *at;
		*at = '\0';
		char *equals = strchr(param, '=');
		if (!equals || equals == param)
			return refuse(scan, param, "expected parameter=value behind the algorithm "
						   "%s",
				      use->algorithm ? use->algorithm->name : CS_HOST);
		*equals = '\0';
		enum cs_status status = cs_use_set(use, param, equals + 1, message, sizeof message);
		if (status != CS_OK)
			return refuse(scan, param, "%s", message);
		if (is_given(use, param, &given))
			return refuse(scan, param, "found %s again, expected each parameter once",
				      param);
		if (!next)
			break;
		*next = saved;
	}
	return CS_OK;
}

/* Names contain colons themselves, so the longest known name that the text begins with is meant. */
static enum cs_status
read_use(const struct scan *scan, char *text, struct cs_use *use)
{
	size_t best_length;
	const struct cs_algorithm *best = cs_algorithm_by_prefix(scan->coll, text, &best_length);
	size_t host_length = strlen(CS_HOST);
	bool is_host = !strncmp(text, CS_HOST, host_length) &&
		       (!text[host_length] || text[host_length] == ':');
	if (!best && !is_host) {
		char message[512];
		if (!*text)
			return refuse(scan, text, "expected the name of an algorithm");
		/* A parameter is no part of the name that was meant. */
		char *equals = strchr(text, '=');
		if (equals) {
			while (equals > text && *equals != ':')
				equals--;
			if (*equals == ':')
				*equals = '\0';
		}
		cs_use_unknown(scan->coll, text, message, sizeof message);
		return refuse(scan, text, "%s", message);
	}
	cs_use_init(use, best);
	return read_params(scan, text + (best ? best_length : host_length), use);
}

/* "moderate+strong=" before a name; *use is what stands behind it. */
static enum cs_status
read_imbalance(const struct scan *scan, char *text, unsigned *set, char **use)
{
	*use = text;
	char *equals = text + strcspn(text, ":=");
	if (*equals != '=')
		return CS_OK;
	*equals = '\0';
	*use = trim(equals + 1);
	for (char *word = text, *next; word; word = next) {
		char *plus = strchr(word, '+');
		if (plus)
			*plus = '\0';
		next = plus ? plus + 1 : NULL;
		char *name = trim(word), shown[CS_SHOWN_TEXT];
		enum cs_balance imbalance = cs_balance_by_name(name);
		if (imbalance == CS_BALANCES || *set >> imbalance & 1)
			return refuse(scan, name,
				      "found %s, expected balanced, moderate or strong, each once, "
				      "then = and an algorithm, as moderate+strong=host",
				      cs_shown(shown, name));
		*set |= 1u << imbalance;
	}
	return CS_OK;
}

static enum cs_status
read_use_if(const struct scan *scan, char *text, struct cs_force_item *item)
{
	char *use;
	enum cs_status status = read_imbalance(scan, text, &item->imbalance, &use);
	return status == CS_OK ? read_use(scan, use, &item->use) : status;
}

static enum cs_status
read_item(const struct scan *scan, char *text, struct cs_force_item *item)
{
	item->bytes = CS_RANGE_ALL;
	if (!isdigit((unsigned char)*text))
		return read_use_if(scan, text, item);
	char *equals = strchr(text, '=');
	if (equals)
		*equals = '\0';
	if (!equals || cs_parse_byte_range(trim(text), &item->bytes) != CS_OK) {
		char shown[CS_SHOWN_TEXT];
		return refuse(scan, text, "found %s, expected sizes A-B with A < B, then = and an "
					  "algorithm, as "
			      "0-4K=host", cs_shown(shown, text));
	}
	if (!cs_colls[scan->coll].bytes_agreed)
		return refuse(scan, text, "not all ranks know the size of a call of %s, so one "
					  "algorithm must "
			      "serve all sizes", cs_colls[scan->coll].name);
	return read_use_if(scan, trim(equals + 1), item);
}

static enum cs_status
read_exclusion(const struct scan *scan, char *text, const struct cs_algorithm **excluded)
{
	char message[512];
	char *name = trim(text + 1);
	if (!strcmp(name, CS_HOST))
		return refuse(scan, name, CS_HOST " cannot be excluded: it serves what nothing "
						  "else does");
	*excluded = cs_algorithm_by_name(scan->coll, name);
	if (*excluded)
		return CS_OK;
	if (!*name)
		return refuse(scan, name, "expected the name of an algorithm behind ^");
	cs_use_unknown(scan->coll, name, message, sizeof message);
	return refuse(scan, name, "%s", message);
}

static enum cs_status
read_all(const struct scan *scan, struct cs_force *force)
{
	bool excludes = false;
	for (char *at = scan->copy, *next; at; at = next) {
		char *comma = strchr(at, ',');
		if (comma)
			*comma = '\0';
		next = comma ? comma + 1 : NULL;
		char *text = trim(at);
		if (!*text)
			return refuse(scan, text, "expected an algorithm, sizes=algorithm, or "
						  "^algorithm");
		bool is_exclusion = *text == '^';
		if (at == scan->copy)
			excludes = is_exclusion;
		if (is_exclusion != excludes)
			return refuse(scan, text, "^name and names to use cannot stand together");
		enum cs_status status =
			is_exclusion
			? read_exclusion(scan, text, &force->excluded[force->excluded_count])
			: read_item(scan, text, &force->items[force->item_count]);
		if (status != CS_OK)
			return status;
		if (is_exclusion) {
			force->excluded_count++;
			continue;
		}
		const struct cs_range *bytes = &force->items[force->item_count++].bytes;
		bool is_any = !force->items[force->item_count - 1].imbalance;
		if (next && bytes->low == 0 && bytes->high == CS_INF && is_any)
			return refuse(scan, next, "never reached: what stands before it serves all "
						  "sizes");
	}
	return CS_OK;
}

enum cs_status
cs_force_parse(struct cs_force *force, enum cs_coll coll, const char *text, char *message,
	       size_t message_bytes)
{
	size_t most = 1;
	for (const char *at = text; *at; at++)
		most += *at == ',';
	*force = (struct cs_force){
		.items = calloc(most, sizeof *force->items),
		.excluded = calloc(most, sizeof *force->excluded),
	};
	struct scan scan = { coll, strdup(text), message, message_bytes };
	enum cs_status status = CS_NO_MEMORY;
	if (force->items && force->excluded && scan.copy)
		status = read_all(&scan, force);
	free(scan.copy);
	if (status != CS_OK)
		cs_force_fini(force);
	return status;
}

void
cs_force_fini(struct cs_force *force)
{
	free(force->items);
	free(force->excluded);
	*force = (struct cs_force){ 0 };
}
