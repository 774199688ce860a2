/* topo/node_model.c — node models that are built in, and their values in text. */
#include "topo/node_model.h"

#include "base/parse.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LINE CS_NODE_NS, 1, 100000
#define SLOPE CS_NODE_NS, 0.1, 100000
#define RATE CS_NODE_RATE, 100, 10000000

const struct cs_node_value cs_node_values[CS_NODE_VALUES] = {
	{ "llc_ns", "a line between cores of one last-level cache", LINE },
	{ "package_ns", "a line between such caches of one package", LINE },
	{ "far_ns", "a line between packages", LINE },
	{ "gap", "a further line that is ready, as a part of the first", CS_NODE_PART, 0.01, 2 },
	{ "reader_near_ns", "a further reader of a line in its cache's group", SLOPE },
	{ "reader_out_ns", "a further reader of a line in another group", SLOPE },
	{ "core_rate", "one core's copy inside its last-level cache", RATE },
	{ "between_rate", "one core's copy of what another group wrote", RATE },
	{ "out_rate", "all that leaves one group", RATE },
	{ "package_rate", "all copies of a package together", RATE },
	{ "link_rate", "all copies between packages", RATE },
	{ "cma_call_ns", "a call of process_vm_readv", CS_NODE_NS, 10, 1000000 },
	{ "cma_page_ns", "a page in it", SLOPE },
	{ "cma_crowd_ns", "a page more for each further reader of it", SLOPE },
};

#define NS(number) ((int64_t)((number) * 1000))
#define GBS(number) ((int64_t)(1e6 / (number))) /* fs a byte */
#define KNOWN(from, to) ((2u << (to)) - (1u << (from)))
#define MIB ((int64_t)1 << 20)

/* Lines of x86 and of Neoverse: medians of core-to-core-latency (github.com/nviennot, README and
 * issues 125 and 132): EPYC 7R13 and 9274F, Xeon Gold 6242 and Platinum 8375C, Graviton 2 and 3.
 * `assumed`: no measurement was found; from data sheets, or like the neighbours'. */
const struct cs_node_kind cs_node_kinds[] = {
	{ "epyc", "AMD EPYC, Zen 3 and 4",
	  { .t = { NS(23), NS(105), NS(197) },                 /* published */
	    .gap = 250, .kappa = { NS(4), NS(12) },            /* assumed */
	    .b_core = GBS(42), .b_mem = GBS(20),               /* measured: docs/performance.md */
	    .b_out = GBS(28),                                  /* assumed: 16 B a clock */
	    .b_package = GBS(300), .b_link = GBS(100),         /* assumed: 80 % of 12 x DDR5 */
	    .cma_call = NS(700), .cma_page = NS(60), .cma_crowd = NS(100) }, /* assumed */
	  { 2, 8, 8, 32 * MIB }, KNOWN(0, 2) | KNOWN(6, 7) },
	{ "xeon", "Intel Xeon with a mesh; all that is unknown, or virtual",
	  { .t = { NS(60), NS(60), NS(120) },                  /* published: 48 to 80, 108 to 150 */
	    .gap = 250, .kappa = { NS(5), NS(8) },             /* assumed */
	    .b_core = GBS(20), .b_mem = GBS(11),               /* assumed */
	    .b_out = GBS(230), .b_package = GBS(230), .b_link = GBS(120), /* assumed */
	    .cma_call = NS(700), .cma_page = NS(60), .cma_crowd = NS(60) }, /* assumed */
	  { 2, 1, 48, 96 * MIB }, KNOWN(0, 2) },
	{ "arm", "Arm Neoverse with a mesh: Graviton, Grace, Kunpeng",
	  { .t = { NS(50), NS(50), NS(200) },                  /* published; far: assumed */
	    .gap = 250, .kappa = { NS(5), NS(10) },            /* assumed */
	    .b_core = GBS(30), .b_mem = GBS(25),               /* assumed */
	    .b_out = GBS(400), .b_package = GBS(400), .b_link = GBS(300), /* assumed */
	    .cma_call = NS(700), .cma_page = NS(60), .cma_crowd = NS(60) }, /* assumed */
	  { 2, 1, 72, 114 * MIB }, KNOWN(0, 1) },
	{ "a64fx", "Fujitsu A64FX: four groups of 12",
	  { .t = { NS(60), NS(150), NS(150) },                 /* assumed; one package */
	    .gap = 400, .kappa = { NS(10), NS(20) },           /* assumed */
	    .b_core = GBS(30), .b_mem = GBS(15),               /* assumed */
	    .b_out = GBS(100), .b_package = GBS(800), .b_link = GBS(100), /* assumed */
	    .cma_call = NS(6000),                              /* UCX, scopy_iface.c */
	    .cma_page = NS(60), .cma_crowd = NS(150) },        /* assumed */
	  { 1, 4, 12, 8 * MIB }, KNOWN(11, 11) },
	{ .name = NULL },
};

enum cs_status
cs_node_value_read(int index, const char *text, int64_t *value)
{
	const struct cs_node_value *info = &cs_node_values[index];
	char *end;
	if (*text < '0' || *text > '9')
		return CS_BAD_INPUT;
	double number = cs_parse_decimal(text, &end);
	if (*end || !(number >= info->low && number <= info->high))
		return CS_BAD_INPUT;
	*value = (int64_t)((info->unit == CS_NODE_RATE ? 1e9 / number : number * 1000) + 0.5);
	return CS_OK;
}

const char *
cs_node_value_text(char text[CS_NODE_VALUE_TEXT], int index, int64_t value)
{
	double rate = 1e9 / (double)value, step = rate < 1e4 ? 1 : rate < 1e5 ? 10 : 100;
	if (cs_node_values[index].unit == CS_NODE_RATE) /* as good as it is kept */
		snprintf(text, CS_NODE_VALUE_TEXT, "%.0f", (double)(int64_t)(rate / step + 0.5) *
			 step);
	else
		snprintf(text, CS_NODE_VALUE_TEXT, "%.6g", (double)value / 1000);
	return text;
}

const struct cs_node_kind *
cs_node_kind_by_name(const char *name)
{
	const struct cs_node_kind *kind = cs_node_kinds;
	while (kind->name && strcmp(kind->name, name) != 0)
		kind++;
	return kind->name ? kind : NULL;
}

const struct cs_node_kind *
cs_node_kind_of(const char *cpuinfo)
{
	static const struct {
		const char *text, *kind;
	} signs[] = {
		{ " hypervisor", "xeon" }, { "AMD EPYC", "epyc" },
		{ "CPU implementer\t: 0x46", "a64fx" },
		/* Arm, HiSilicon, NVIDIA, Ampere */
		{ "CPU implementer\t: 0x41", "arm" }, { "CPU implementer\t: 0x48", "arm" },
		{ "CPU implementer\t: 0x4e", "arm" }, { "CPU implementer\t: 0xc0", "arm" },
	};
	for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
		if (strstr(cpuinfo, signs[i].text))
			return cs_node_kind_by_name(signs[i].kind);
	return cs_node_kind_by_name("xeon");
}

const struct cs_node_kind *
cs_node_kind_here(void)
{
	char text[4096]; /* the first processor, at least */
	int saved = errno, file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? 0 : read(file, text, sizeof text - 1);
	if (file >= 0)
		close(file);
	errno = saved;
	text[got > 0 ? got : 0] = '\0';
	return cs_node_kind_of(text);
}

bool
cs_node_model_settle(struct cs_node_model *model, unsigned unknown)
{
	for (int i = 1; i < CS_DISTANCES; i++) {
		if (model->t[i] >= model->t[i - 1])
			continue;
		if (unknown >> i & 1)
			model->t[i] = model->t[i - 1];
		else if (unknown >> (i - 1) & 1)
			model->t[i - 1] = model->t[i];
	}
	return model->t[0] <= model->t[1] && model->t[1] <= model->t[2];
}

bool
cs_node_model_separates(const struct cs_node_model *model, enum cs_distance level)
{
	return 10 * model->t[level] >= 13 * model->t[level - 1];
}
