/* sim/model.c — reads the parameters of a model, and computes times from them in closed form. */
#include "sim/model.h"

#include "base/nearest.h"
#include "base/parse.h"
#include "base/printable.h"

#include <stdio.h>
#include <string.h>

/* The first two are assumed all, from the rates that such networks are sold by; the node's are
 * those of a server with 32 cores, of which one copies 10 GB/s and all together 150. */
#define NODE .copy = 100000, .reduce = 150000, .bus = 6667, .flag = 100000
#define INSIDE { .L = 300000, .o_send = 300000, .o_recv = 300000, .g = 100000, .G = 100000, .f = 1 }

const struct cs_model cs_models[] = {
	{ "hdr-like", "as 200 Gb/s InfiniBand (HDR); assumed, not measured",
	  { { .L = 1000000, .o_send = 300000, .o_recv = 300000, .g = 100000, .G = 40000, .f = 1 },
	    INSIDE },
	  .nic_g = 10000, .nic_G = 40000, NODE },
	{ "10gbe-like", "as TCP over 10 Gb/s Ethernet; assumed, not measured",
	  { { .L = 20000000, .o_send = 2000000, .o_recv = 2000000, .g = 1000000, .G = 800000,
	      .f = 1 }, INSIDE },
	  .nic_g = 500000, .nic_G = 800000, NODE },
	/* From here on published where a number could be found; docs/simulation.md says for each of
	 * them where. The rates of both cards of seed 004 and the latency of the first are those of
	 * Liu, Mamidala, Vishnu and Panda (HOT Interconnects 2004, IEEE Micro 25(1), 2005); o_s, L,
	 * o_r and g of the second are seed 000's (4.3.3 and 5.1.4). */
	{ "mt25204", "InfiniHost III Lx, PCI Express, two Opterons 2.4 GHz (2006): published; o g "
		     "intra bus reduce flag assumed",
	  { { .L = 3100000, .o_send = 500000, .o_recv = 500000, .g = 1000000, .G = 1033000,
	      .f = 1 },
	    { .L = 400000, .o_send = 300000, .o_recv = 300000, .g = 100000, .G = 2080000,
	      .f = 1 } },
	  .nic_g = 1000000, .nic_G = 1033000, .copy = 1040000, .reduce = 1560000, .bus = 520000,
	  .flag = 200000 },
	{ "mt23108", "InfiniHost, PCI-X, two Xeons 2.66 GHz (2003): published; intra copy bus "
		     "reduce flag assumed",
	  { { .L = 4500000, .o_send = 2400000, .o_recv = 1100000, .g = 3000000, .G = 1280000,
	      .f = 1 },
	    { .L = 400000, .o_send = 300000, .o_recv = 300000, .g = 100000, .G = 2000000,
	      .f = 1 } },
	  .nic_g = 3000000, .nic_G = 1280000, .copy = 1000000, .reduce = 1500000, .bus = 1000000,
	  .flag = 200000 },
	{ "cx6-hdr", "ConnectX-6, 200 Gb/s HDR, EPYC Milan (2021): published; o g intra copy "
		     "reduce flag assumed",
	  { { .L = 800000, .o_send = 200000, .o_recv = 200000, .g = 100000, .G = 41670, .f = 1 },
	    INSIDE },
	  .nic_g = 10000, .nic_G = 41670, .copy = 100000, .reduce = 150000, .bus = 8800,
	  .flag = 100000 },
	{ .name = "" },
};

enum unit { SECONDS, PER_BYTE, COUNT, BYTES, SWITCH };

static const struct {
	double scale, low, high; /* of what is written */
	const char *expected;
} units[] = {
	[SECONDS] = { 1e12, 0, 1, "seconds from 0 to 1, as 3e-7" },
	[PER_BYTE] = { 1e15, 0, 1e-6, "seconds per byte from 0 to 1e-6, as 4e-11" },
	[COUNT] = { 1, 1, 1e6, "a count from 1 to 1000000" },
	[BYTES] = { 1, 0, 1e12, "bytes from 0 to 1e12, as 8192" },
	[SWITCH] = { 1, 0, 1, "0 or 1" },
};

struct key {
	const char *name;
	size_t at, also_at; /* also_at: a second field that it sets, or the same */
	enum unit unit;
	bool is_short;    /* sets what others print */
	bool is_optional; /* not printed while 0 */
};

#define KEY(name, type, field, unit) \
	{ name, offsetof(struct type, field), offsetof(struct type, field), unit, false, false }
#define LEVEL(name, field, unit) KEY(name, cs_loggp, field, unit)
#define WHOLE(name, field, unit) KEY(name, cs_model, field, unit)
#define OPTIONAL(name, field, unit) \
	{ name, offsetof(struct cs_model, field), offsetof(struct cs_model, field), unit, false, \
	  true }

static const struct key level_keys[] = {
	LEVEL("L", L, SECONDS),
	{ "o", offsetof(struct cs_loggp, o_send), offsetof(struct cs_loggp, o_recv), SECONDS,
	  true, false },
	LEVEL("os", o_send, SECONDS),
	LEVEL("or", o_recv, SECONDS),
	{ "osmin", offsetof(struct cs_loggp, o_send_min), offsetof(struct cs_loggp, o_send_min),
	  SECONDS, false, true },
	{ "ormin", offsetof(struct cs_loggp, o_recv_min), offsetof(struct cs_loggp, o_recv_min),
	  SECONDS, false, true },
	LEVEL("g", g, SECONDS),
	LEVEL("G", G, PER_BYTE),
	LEVEL("f", f, COUNT),
	{ .name = NULL },
};

static const struct key whole_keys[] = {
	WHOLE("copy", copy, PER_BYTE),
	WHOLE("reduce", reduce, PER_BYTE),
	WHOLE("nic.g", nic_g, SECONDS),
	WHOLE("nic.G", nic_G, PER_BYTE),
	WHOLE("bus", bus, PER_BYTE),
	WHOLE("flag", flag, SECONDS),
	OPTIONAL("look", look, SECONDS),
	OPTIONAL("rndv", rndv, BYTES),
	OPTIONAL("rts", rts, SWITCH),
	OPTIONAL("cma", cma, SECONDS),
	OPTIONAL("cma.page", cma_page, SECONDS),
	OPTIONAL("cma.crowd", cma_crowd, SECONDS),
	{ .name = NULL },
};

static const char intra[] = "intra.";

static const struct key *
find(const struct key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (!strcmp(keys->name, name))
			return keys;
	return NULL;
}

/* The field of that name; *base is what its offsets count from. */
static const struct key *
find_field(struct cs_model *model, const char *name, char **base)
{
	bool is_intra = !strncmp(name, intra, sizeof intra - 1);
	const struct key *key = find(level_keys, is_intra ? name + sizeof intra - 1 : name);
	*base = (char *)&model->level[is_intra ? CS_INTRA : CS_INTER];
	if (key || is_intra)
		return key;
	*base = (char *)model;
	return find(whole_keys, name);
}

static bool
is_in(double number, enum unit unit)
{
	if (!(number >= units[unit].low && number <= units[unit].high))
		return false;
	return unit <= PER_BYTE || number == (double)(int64_t)number;
}

static enum cs_status
set(struct cs_model *model, char *name, char *complaint, size_t room)
{
	char *value = strchr(name, '='), *base, *end;
	if (!value) {
		snprintf(complaint, room, "\"%s\": expected a built-in model first, then KEY=VALUE",
			 name);
		return CS_BAD_INPUT;
	}
	*value++ = '\0';
	const struct key *key = find_field(model, name, &base);
	if (!key) {
		snprintf(complaint, room,
			 "\"%s\" is no key; expected one of L, o, os, or, osmin, ormin, g, G, "
			 "f, each also with intra., copy, reduce, nic.g, nic.G, bus, flag, look, "
			 "rndv, rts, cma, cma.page, cma.crowd", name);
		return CS_BAD_INPUT;
	}
	double number = cs_parse_decimal(value, &end);
	if (end == value || *end || !is_in(number, key->unit)) {
		snprintf(complaint, room, "%s=%s: expected %s", name, value,
			 units[key->unit].expected);
		return CS_BAD_INPUT;
	}
	int64_t whole = (int64_t)(number * units[key->unit].scale + 0.5);
	memcpy(base + key->at, &whole, sizeof whole);
	memcpy(base + key->also_at, &whole, sizeof whole);
	return CS_OK;
}

static const struct cs_model *
built_in(const char *name)
{
	const struct cs_model *model = cs_models;
	while (*model->name && strcmp(model->name, name) != 0)
		model++;
	return *model->name ? model : NULL;
}

static enum cs_status
complain_of_name(const char *name, char *complaint, size_t room)
{
	struct cs_nearest nearest = { .word = name };
	int length = snprintf(complaint, room, "\"%s\" is no model; expected KEY=VALUE or one of",
			      name);
	for (const struct cs_model *model = cs_models; *model->name; model++) {
		cs_nearest_try(&nearest, model->name);
		if (length >= 0 && (size_t)length < room)
			length += snprintf(complaint + length, room - (size_t)length, " %s",
					   model->name);
	}
	if (nearest.best && length >= 0 && (size_t)length < room)
		snprintf(complaint + length, room - (size_t)length, " (did you mean %s?)",
			 nearest.best);
	return CS_BAD_INPUT;
}

enum cs_status
cs_model_read(const char *text, struct cs_model *model, char *complaint, size_t room)
{
	struct cs_model made = { .name = "given", .level = { { .f = 1 }, { .f = 1 } } };
	char words[CS_MODEL_TEXT], *rest = words;
	enum cs_status status = CS_OK;
	bool has_intra = strstr(text, intra) != NULL;
	if (snprintf(words, sizeof words, "%s", text) >= (int)sizeof words || !*text) {
		snprintf(complaint, room,
			 *text ? "the text is too long" : "expected a model or KEY=VALUE, found "
							  "nothing");
		return CS_BAD_INPUT;
	}
	cs_printable_make(words, false); /* complaints are one line */
	char *word = strsep(&rest, ",");
	if (!strchr(word, '=')) {
		if (!built_in(word))
			return complain_of_name(word, complaint, room);
		made = *built_in(word);
		has_intra = true;
		word = strsep(&rest, ",");
		if (word) {
			strcpy(made.name, "given");
			made.origin = NULL;
		}
	}
	for (; word && status == CS_OK; word = strsep(&rest, ","))
		status = set(&made, word, complaint, room);
	if (status != CS_OK)
		return status;
	if (!has_intra)
		made.level[CS_INTRA] = made.level[CS_INTER];
	*model = made;
	return CS_OK;
}

static size_t
print(char *text, size_t length, const struct key *keys, const char *prefix, const void *base)
{
	for (; keys->name; keys++) {
		int64_t whole;
		memcpy(&whole, (const char *)base + keys->at, sizeof whole);
		if (keys->is_short || (keys->is_optional && !whole))
			continue;
		length += (size_t)snprintf(text + length, CS_MODEL_TEXT - length, "%s%s%s=%.12g",
					   length ? "," : "", prefix, keys->name,
					   (double)whole / units[keys->unit].scale);
	}
	return length;
}

const char *
cs_model_text(char text[CS_MODEL_TEXT], const struct cs_model *model)
{
	size_t length = print(text, 0, level_keys, "", &model->level[CS_INTER]);
	length = print(text, length, level_keys, intra, &model->level[CS_INTRA]);
	print(text, length, whole_keys, "", model);
	return text;
}

/* --- closed form ------------------------------------------------------------------------------ */

#define MOST (INT64_MAX / 16) /* all sums below stay in range */

static uint64_t
smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t
less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int64_t
times(uint64_t count, int64_t ps)
{
	return (double)count * (double)ps > (double)MOST ? MOST : (int64_t)count * ps;
}

static int64_t
span(uint64_t bytes, int64_t fs)
{
	if ((double)bytes / 1000 * (double)fs > (double)MOST)
		return MOST;
	return (int64_t)(bytes / 1000) * fs + ((int64_t)(bytes % 1000) * fs + 500) / 1000;
}

/* bytes * part / whole, part <= whole. */
static uint64_t
share(uint64_t bytes, uint64_t part, uint64_t whole)
{
	if (!whole || part == whole)
		return whole ? bytes : 0;
	if (whole >> 32) /* nobody sends so many */
		return bytes;
	return bytes / whole * part + bytes % whole * part / whole;
}

/* Messages of one direction. */
struct way {
	uint64_t messages, bytes;
};

/* Bytes of a chain that has more messages than the rank's `most`: those of both ways, and then more
 * of the same size. */
static uint64_t
stretch(uint64_t rounds, struct way most, struct way other)
{
	uint64_t both = smaller(less(rounds, most.messages), other.messages),
		 beyond = less(rounds, most.messages + both);
	uint64_t bytes = most.bytes + share(other.bytes, both, other.messages);
	uint64_t size = most.messages ? most.bytes / most.messages : 0;
	return (double)size * (double)beyond > (double)MOST ? UINT64_MAX / 2 : bytes + size *
	       beyond;
}

/* ps that the busiest rank's messages beyond one in each round take on top of the rounds. */
static int64_t
further_time(const struct cs_loggp *cost, const struct cs_load *load, struct way most)
{
	uint64_t further = less(most.messages, load->rounds),
		 bytes = share(most.bytes, further, most.messages), gaps = further;
	if (cost->f > 1)
		gaps = (double)load->rounds * (double)(cost->f - 1) < (double)further
			       ? further - load->rounds * (uint64_t)(cost->f - 1) : 0;
	int64_t busy = times(less(load->sent, load->rounds),
			     cs_loggp_further(cost->o_send, cost->o_send_min)) +
		       times(less(load->received, load->rounds),
			     cs_loggp_further(cost->o_recv, cost->o_recv_min));
	int64_t port = times(gaps, cost->g) + span(less(bytes, further), cost->G);
	return busy > port ? busy : port;
}

static int64_t
chain_time(const struct cs_loggp *cost, uint64_t rounds, struct way most, struct way other)
{
	uint64_t further = less(most.messages, rounds);
	uint64_t bytes = further ? most.bytes - share(most.bytes, further, most.messages)
				 : stretch(rounds, most, other);
	return times(rounds, cost->o_send + cost->L + cost->o_recv) +
	       span(less(bytes, rounds), cost->G);
}

int64_t
cs_model_cost(const struct cs_model *model, const struct cs_load *load)
{
	const struct cs_loggp *cost = &model->level[CS_INTER];
	struct way out = { load->sent, smaller(load->sent_bytes, MOST) };
	struct way in = { load->received, smaller(load->received_bytes, MOST) };
	bool is_out = out.messages > in.messages ||
		      (out.messages == in.messages && out.bytes >= in.bytes);
	int64_t copy = model->copy > model->bus ? model->copy : model->bus,
		hidden = span(load->hidden, copy);
	int64_t reduce = model->reduce > model->bus ? model->reduce : model->bus;
	int64_t time = chain_time(cost, load->rounds, is_out ? out : in, is_out ? in : out) +
		       further_time(cost, load, is_out ? out : in);
	time = time > hidden ? time : hidden;
	time += span(less(load->copied, load->hidden), copy) + span(load->reduced, reduce);
	return time < INT64_MAX / 4 ? time : INT64_MAX / 4;
}
