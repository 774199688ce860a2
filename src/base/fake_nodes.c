/* base/fake_nodes.c — reads a value of COLLSHIM_FAKE_NODES, and places ranks on its nodes. */
#include "base/fake_nodes.h"

#include "base/parse.h"

#include <string.h>

#define CYCLIC "cyclic:"

static const char *
counts_of(const char *text, bool *is_cyclic)
{
	*is_cyclic = !strncmp(text, CYCLIC, strlen(CYCLIC));
	return *is_cyclic ? text + strlen(CYCLIC) : text;
}

/* Reads the count at *at, and moves *at to its end: a comma, or the text's. */
static bool
take_count(const char **at, size_t *count)
{
	size_t length = strcspn(*at, ",");
	if (!cs_parse_digits(*at, length, count))
		return false;
	*at += length;
	return true;
}

bool
cs_fake_nodes_are(const char *text)
{
	bool is_cyclic;
	size_t count;
	for (const char *at = counts_of(text, &is_cyclic);; at++) {
		if (!take_count(&at, &count) || (is_cyclic && *at))
			return false;
		if (!*at)
			return true;
	}
}

size_t
cs_fake_nodes_ranks(const char *text)
{
	bool is_cyclic;
	size_t count, ranks = 0;
	for (const char *at = counts_of(text, &is_cyclic); take_count(&at, &count); at++) {
		ranks += count;
		if (!*at)
			break;
	}
	return ranks;
}

int
cs_fake_nodes_of(const char *text, int rank, int ranks)
{
	bool is_cyclic;
	size_t first, more;
	const char *at = counts_of(text, &is_cyclic);
	if (!take_count(&at, &first))
		return -1;
	int nodes = (int)first, each = ranks / nodes, larger = ranks % nodes;
	if (is_cyclic)
		return rank % nodes;
	if (!*at && each == 0)
		return rank;
	if (!*at)
		return rank < larger * (each + 1) ? rank / (each + 1)
						  : larger + (rank - larger * (each + 1)) / each;
	int node = 0;
	for (size_t until = first; (size_t)rank >= until && *at; until += more, node++) {
		at++;
		if (!take_count(&at, &more))
			return -1;
	}
	return node;
}
