/* comm/host/pmpi.c — looks up the host's functions, and reports those that it lacks. */
#include "comm/host/pmpi.h"

#include "base/hash.h"
#include "base/log.h"
#include "coll/coll.h"
#include "trace/report.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct cs_pmpi cs_pmpi;

enum use { EVERYTHING, A_WAY, COLLS, NODES };

struct row {
	const char *name, *other; /* tried in this order */
	size_t at;                /* in struct cs_pmpi */
	enum use use;
	uint32_t colls;   /* a bit for each that is left to the MPI without it */
	const char *what; /* the effect of its lack, for the report */
};

#define ONE(coll) (1u << CS_##coll)
#define REDUCTIONS                                                                                 \
	(ONE(ALLREDUCE) | ONE(EXSCAN) | ONE(REDUCE) | ONE(REDUCE_SCATTER) |                        \
	 ONE(REDUCE_SCATTER_BLOCK) | ONE(SCAN))
static const struct row rows[] = {
#define ROW(function) .name = "PMPI_" #function, .at = offsetof(struct cs_pmpi, function)
#define P(function) { ROW(function) },
#define P_OR(function, second) { ROW(function), .other = "PMPI_" #second },
#define P_FOR(function, it_is) { ROW(function), .use = A_WAY, .what = it_is },
#define P_FOR_COLLS(function, these) { ROW(function), .use = COLLS, .colls = these },
#define P_FOR_NODES(function, these) { ROW(function), .use = NODES, .colls = these },
#include "comm/host/pmpi.def"
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool
is_there(const struct row *row)
{
	void *function;
	memcpy(&function, (const char *)&cs_pmpi + row->at, sizeof function);
	return function;
}

bool
cs_pmpi_load(void *(*lookup)(const char *name))
{
	const struct row *missed = NULL;
	for (const struct row *row = rows; row < rows + ROWS; row++) {
		void *function = lookup(row->name);
		if (!function && row->other)
			function = lookup(row->other);
		memcpy((char *)&cs_pmpi + row->at, &function, sizeof function);
		if (!function && row->use == EVERYTHING && !missed)
			missed = row;
	}
	if (missed)
		cs_warn_once("the MPI has no %s; every call is forwarded to it" CS_UNSERVED_JOB,
			     missed->name);
	return !missed;
}

uint32_t
cs_pmpi_left(bool is_on_nodes)
{
	uint32_t colls = 0;
	for (const struct row *row = rows; row < rows + ROWS; row++)
		if (!is_there(row) && (row->use == COLLS || (row->use == NODES && is_on_nodes)))
			colls |= row->colls;
	return colls;
}

uint64_t
cs_pmpi_digest(uint64_t hash)
{
	for (const struct row *row = rows; row < rows + ROWS; row++)
		if (!is_there(row))
			hash = cs_hash_text(hash, row->name);
	return hash;
}

static void
name_colls(const struct row *row, char *text, size_t room)
{
	size_t at = 0;
	for (int coll = 0; coll < CS_COLL_COUNT && at < room; coll++)
		if (row->colls >> coll & 1)
			at += (size_t)snprintf(text + at, room - at, "%s%s", at ? ", " : "",
					       cs_coll_name(coll));
	if (at < room)
		snprintf(text + at, room - at, " left to it%s",
			 row->use == NODES ? " on several nodes" : "");
}

void
cs_pmpi_tell(bool is_reporting)
{
	for (const struct row *row = rows; row < rows + ROWS; row++) {
		char text[160], fact[64];
		if (is_there(row))
			continue;
		snprintf(text, sizeof text, "%s", row->what ? row->what : "");
		if (row->colls)
			name_colls(row, text, sizeof text);
		cs_info("the MPI has no %s: %s", row->name, text);
		snprintf(fact, sizeof fact, "no %s", row->name);
		if (is_reporting)
			cs_report_fact(fact, text);
	}
}
