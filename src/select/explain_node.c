/* select/explain_node.c — prints what the node model says of a call: flat, or by levels. */
#include "select/table.h"

#include "base/parse.h"
#include "topo/node_cost.h"
#include "topo/topo.h"

#define FEW 16 /* ranks, up to which calls are flat in any case */

/* The machine's own groups, or the kind's where there are more ranks than processors. */
static struct cs_node_groups
shape_for(const struct cs_node_kind *kind, const struct cs_machine *machine, int ranks)
{
	const struct cs_topo_machine *topo = cs_topo_machine();
	struct cs_node_groups shape = kind->shape;
	int packages = topo->count[CS_TOPO_PACKAGE], caches = topo->count[CS_TOPO_CACHE];
	if ((size_t)ranks > machine->cores || !packages || caches < packages)
		return shape;
	shape.packages = packages;
	shape.groups = caches / packages;
	shape.ranks = (int)machine->cores / (packages * shape.groups);
	return shape;
}

/* Prints the prices of a result over several nodes, on the largest of them. */
static void
explain_copy_out(const struct cs_node_kind *kind, const struct cs_node_model *model,
		 const struct cs_node_groups *shape, const struct cs_facts *facts, FILE *out)
{
	struct cs_node_price price;
	char number[CS_NUMBER_TEXT];
	size_t fan, from = cs_node_hybrid_from(model, shape, facts->ppn_max, &fan),
	       bytes = facts->bytes * (facts->coll == CS_BCAST ? 1 : (size_t)facts->ranks);
	cs_node_price_copy_out(model, shape, facts->ppn_max, bytes, &price);
	fprintf(out, "   node model %s: copy-out by copies %.2f us", kind->name,
		(double)price.flat.time * 1e-6);
	if (price.levels.time < CS_NODE_NEVER)
		fprintf(out, ", hybrid %.2f us", (double)price.levels.time * 1e-6);
	fprintf(out, "; with out=3 the hybrid %s%s\n", from < SIZE_MAX ? "from " : "never",
		from < SIZE_MAX ? cs_bytes_text(number, from) : "");
}

void
cs_explain_node(const struct cs_selector *selector, const struct cs_facts *facts, FILE *out)
{
	const struct cs_node_model *model = cs_selector_node_model(selector);
	struct cs_node_price price;
	char fans[CS_NODE_FANS_TEXT];
	bool is_out = facts->nodes > 1 && (facts->coll == CS_BCAST || facts->coll == CS_ALLGATHER);
	if (facts->ppn_max <= FEW || facts->bytes == CS_BYTES_UNKNOWN ||
	    !(is_out || (facts->nodes == 1 && cs_node_has_price(facts->coll))))
		return;
	const struct cs_node_kind *kind = model ? selector->node->kind : cs_node_kind_here();
	struct cs_node_groups shape = shape_for(kind, &selector->machine, facts->ppn_max);
	if (is_out) {
		explain_copy_out(kind, model ? model : &kind->model, &shape, facts, out);
		return;
	}
	cs_node_price(model ? model : &kind->model, &shape, facts->ranks, facts->coll,
		      facts->bytes, &price);
	fprintf(out, "   node model %s%s: flat %.2f us", kind->name,
		model ? " with the site's values" : ", built in", (double)price.flat.time * 1e-6);
	if (price.levels.time < CS_NODE_NEVER)
		fprintf(out, ", levels %.2f us (%s%s%s)", (double)price.levels.time * 1e-6,
			price.levels.form, *cs_node_fans(fans, &price.levels) ? "; " : "", fans);
	fprintf(out, ": %s\n", cs_node_wants_levels(&price) ? "levels" : "flat");
}
