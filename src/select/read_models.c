/* select/read_models.c — reads the models of a tuning file: parameters, and what the host's
 * collectives take. */
#include "select/read_map.h"

#include <ctype.h>
#include <string.h>

static void
take_parameters(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	struct cs_site_model *model = field;
	char complaint[256];
	cs_take_text(reader, value, &model->parameters);
	if (model->parameters &&
	    cs_model_read(model->parameters, &model->model, complaint, sizeof complaint) != CS_OK)
		cs_reader_complain(reader, value, "%s", complaint);
}

/* A number with one of the units, scaled; false if it is none. */
static bool
read_scaled(const char *text, const char *const *units, const double *scales, double *number)
{
	char *end;
	if (!isdigit((unsigned char)*text))
		return false;
	double read = cs_parse_decimal(text, &end);
	for (int i = 0; units[i]; i++)
		if (!strcmp(end, units[i])) {
			*number = read * scales[i];
			return true;
		}
	return false;
}

static void
take_fit_error(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	static const char *const units[] = { "", NULL };
	static const double scales[] = { 1000 };
	double thousandths;
	if (value->kind == CS_YAML_SCALAR &&
	    read_scaled(value->text, units, scales, &thousandths) && thousandths <= 10000)
		*(size_t *)field = (size_t)(thousandths + 0.5);
	else
		cs_reader_expect(reader, value, "a part from 0 to 10, as 0.06");
}

static bool
read_time(const struct cs_yaml *value, int64_t *ps)
{
	static const char *const units[] = { "ns", "us", "ms", "s", NULL };
	static const double scales[] = { 1e3, 1e6, 1e9, 1e12 };
	double time;
	if (value->kind != CS_YAML_SCALAR || !read_scaled(value->text, units, scales, &time) ||
	    time < 1 || time > 1e15)
		return false;
	*ps = (int64_t)time;
	return true;
}

static void
take_costs(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	struct cs_host_cost *cost = field;
	if (value->kind != CS_YAML_MAP || !value->first) {
		cs_reader_expect(reader, value, "a map from sizes to times, as {8: 35.2us, 1K: "
						"40us}");
		return;
	}
	for (const struct cs_yaml *key = value->first; key; key = key->next->next) {
		struct cs_point point;
		if (key->kind != CS_YAML_SCALAR ||
		    cs_parse_bytes(key->text, &point.bytes) != CS_OK || point.bytes >= CS_INF ||
		    (cost->count && point.bytes <= cost->points[cost->count - 1].bytes)) {
			cs_reader_expect(reader, key, "a size larger than the one before, as 8K");
			return;
		}
		if (!read_time(key->next, &point.ps)) {
			cs_reader_expect(reader, key->next, "a time with its unit (ns, us, ms, s), "
							    "as 35.2us");
			return;
		}
		struct cs_point *points = cs_reader_grow(reader, cost->points, cost->count,
							 sizeof *points);
		if (!points)
			return;
		cost->points = points;
		points[cost->count++] = point;
	}
}

static void
take_coll(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	enum cs_coll coll = value->kind == CS_YAML_SCALAR ? cs_coll_by_name(value->text)
							  : CS_COLL_COUNT;
	if (coll == CS_COLL_COUNT || !cs_colls[coll].bytes_agreed)
		cs_reader_expect(reader, value, "the name of a collective whose size all ranks "
						"know, as bcast");
	else
		*(enum cs_coll *)field = coll;
}

static void
take_count(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	size_t number;
	if (value->kind == CS_YAML_SCALAR && cs_parse_bytes(value->text, &number) == CS_OK &&
	    number > 0 && number <= 1 << 24)
		*(int *)field = (int)number;
	else
		cs_reader_expect(reader, value, "a number from 1 to 16M");
}

static void
take_host(struct cs_reader *reader, const struct cs_yaml *node, struct cs_site_model *model)
{
	static const struct cs_map_key keys[] = {
		{ "collective", true, offsetof(struct cs_host_cost, coll), take_coll },
		{ "ranks", true, offsetof(struct cs_host_cost, ranks), take_count },
		{ "nodes", true, offsetof(struct cs_host_cost, nodes), take_count },
		{ "cost", true, 0, take_costs },
	};
	struct cs_host_cost *hosts = cs_reader_grow(reader, model->hosts, model->host_count,
						    sizeof *hosts);
	if (!hosts)
		return;
	model->hosts = hosts;
	struct cs_host_cost *cost = &hosts[model->host_count++];
	*cost = (struct cs_host_cost){ .ranks = 1, .nodes = 1 };
	if (CS_TAKE_MAP(reader, node, "what the MPI takes", keys, cost) &&
	    cost->ranks % cost->nodes)
		cs_reader_complain(reader, node, "found %d ranks on %d nodes, expected equally "
						 "many on each", cost->ranks,
				   cost->nodes);
}

static void
take_hosts(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_LIST) {
		cs_reader_expect(reader, value, "a list, each - {collective: ..., ranks: ..., "
						"nodes: ..., cost: {...}}");
		return;
	}
	for (const struct cs_yaml *host = value->first; host; host = host->next)
		take_host(reader, host, field);
}

static void
take_about(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	cs_take_provenance(reader, value, field);
}

void
cs_take_models(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	static const struct cs_map_key keys[] = {
		{ "name", true, offsetof(struct cs_site_model, about.name), cs_take_text },
		{ "provenance", true, offsetof(struct cs_site_model, about), take_about },
		{ "machine", false, offsetof(struct cs_site_model, about), cs_take_guard },
		{ "wire", false, offsetof(struct cs_site_model, wire), cs_take_wire },
		{ "parameters", true, 0, take_parameters },
		{ "fit_error", true, offsetof(struct cs_site_model, fit_error), take_fit_error },
		{ "host", true, 0, take_hosts },
	};
	struct cs_tuning *tuning = reader->tuning;
	if (value->kind != CS_YAML_LIST) {
		cs_reader_expect(reader, value, "a list of models, each beginning with - name:");
		return;
	}
	for (const struct cs_yaml *node = value->first; node; node = node->next) {
		struct cs_site_model *models = cs_reader_grow(reader, tuning->models,
							      tuning->model_count, sizeof *models);
		if (!models)
			return;
		tuning->models = models;
		struct cs_site_model *model = &models[tuning->model_count++];
		*model =
			(struct cs_site_model){ .about = { .line = node->line,
							   .cores = CS_RANGE_ALL },
						.wire = CS_WIRE_HOST };
		CS_TAKE_MAP(reader, node, "a model", keys, model);
	}
}
