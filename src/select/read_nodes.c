/* select/read_nodes.c — reads the node models of a tuning file. */
#include "select/read_map.h"

#include <string.h>

static void
take_kind(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	const struct cs_node_kind *kind =
		value->kind == CS_YAML_SCALAR ? cs_node_kind_by_name(value->text) : NULL;
	char known[64] = "";
	for (const struct cs_node_kind *one = cs_node_kinds; one->name; one++)
		cs_text_add(known, sizeof known, "%s%s", one == cs_node_kinds ? "" : one[1].name
			    ? ", " : " or ", one->name);
	if (kind)
		*(const struct cs_node_kind **)field = kind;
	else
		cs_reader_expect(reader, value, known);
}

static void
take_value(struct cs_reader *reader, const struct cs_yaml *value, struct cs_site_node *node,
	   int index)
{
	static const char *const units[] = { "nanoseconds", "a part", "bytes per microsecond" };
	const struct cs_node_value *info = &cs_node_values[index];
	char expected[160];
	int64_t *number = cs_node_value_of(&node->model, index);
	bool is_text = value->kind == CS_YAML_SCALAR;
	if (is_text && !strcmp(value->text, "unknown"))
		return;
	if (is_text && cs_node_value_read(index, value->text, number) == CS_OK) {
		node->measured |= 1u << index;
		return;
	}
	snprintf(expected, sizeof expected, "%s from %.10g to %.10g, or unknown, for the kind's "
					    "(collshim-bench --node measures it)",
		 units[info->unit], info->low, info->high);
	cs_reader_expect(reader, value, expected);
}

static void
take_values(struct cs_reader *reader, const struct cs_yaml *map, struct cs_site_node *node)
{
	struct cs_map_key keys[CS_NODE_VALUES];
	const struct cs_yaml *values[CS_NODE_VALUES] = { NULL };
	char message[96];
	for (int i = 0; i < CS_NODE_VALUES; i++)
		keys[i] = (struct cs_map_key){ cs_node_values[i].name, false,
					       (size_t)i * sizeof *values, cs_take_node };
	node->model = node->kind->model;
	if (!CS_TAKE_MAP(reader, map, "values of a node model", keys, values))
		return;
	for (int i = 0; i < CS_NODE_VALUES; i++)
		if (values[i])
			take_value(reader, values[i], node, i);
	if (cs_node_model_settle(&node->model, ~node->measured))
		return;
	int at = node->model.t[CS_SAME_PACKAGE] < node->model.t[CS_SAME_LLC] ? 1 : 2;
	snprintf(message, sizeof message, "at least the %s above; measure again on an idle node",
		 cs_node_values[at - 1].name);
	cs_reader_expect(reader, values[at] ? values[at] : map, message);
}

/* Its values are read when the kind is known. */
struct found {
	struct cs_site_node node;
	const struct cs_yaml *values;
};

void
cs_take_nodes(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	static const struct cs_map_key keys[] = {
		{ "name", true, offsetof(struct found, node.about.name), cs_take_text },
		{ "provenance", true, offsetof(struct found, node.about), cs_take_provenance },
		{ "machine", false, offsetof(struct found, node.about), cs_take_guard },
		{ "kind", true, offsetof(struct found, node.kind), take_kind },
		{ "values", true, offsetof(struct found, values), cs_take_node },
	};
	struct cs_tuning *tuning = reader->tuning;
	if (value->kind != CS_YAML_LIST) {
		cs_reader_expect(reader, value, "a list of node models, each beginning with - "
						"name:");
		return;
	}
	for (const struct cs_yaml *at = value->first; at; at = at->next) {
		struct found made = { { .about = { .line = at->line, .cores = CS_RANGE_ALL },
					.kind = cs_node_kinds }, NULL };
		struct cs_site_node *nodes = cs_reader_grow(reader, tuning->nodes,
							    tuning->node_count, sizeof *nodes);
		if (!nodes)
			return;
		tuning->nodes = nodes;
		CS_TAKE_MAP(reader, at, "a node model", keys, &made);
		if (made.values)
			take_values(reader, made.values, &made.node);
		nodes[tuning->node_count++] = made.node;
	}
}
