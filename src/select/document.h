/* select/document.h — a YAML text as a tree of nodes, each of which knows its place. Private to
 * select.
 *
 * Features that a tuning file does not need are refused, and with them the traps of YAML: aliases,
 * anchors, tags, a second document, deep nesting, control characters (by escapes, too), ends of
 * lines that are neither LF nor CR LF. So lines are an editor's lines; columns are characters. A
 * place is in the text or right behind its last character. */
#ifndef CS_SELECT_DOCUMENT_H
#define CS_SELECT_DOCUMENT_H

#include "base/status.h"

#include <stddef.h>

#define CS_DOCUMENT_MAX_DEPTH 8
#define CS_DOCUMENT_MAX_NODES 200000

enum cs_yaml_kind { CS_YAML_SCALAR, CS_YAML_LIST, CS_YAML_MAP };

struct cs_yaml {
	struct cs_yaml *next;          /* the next element of the list or map that this one is in */
	struct cs_yaml *first, *last;  /* elements of a list; of a map key, value, key, value,
					* ... */
	struct cs_yaml *made_before;
	unsigned line, column;         /* from 1 */
	enum cs_yaml_kind kind;
	char text[];                   /* of a scalar; no control character inside but LF and tab */
};

struct cs_document {
	struct cs_yaml *root;
	struct cs_yaml *newest; /* all nodes, by made_before */
	size_t node_count;
};

struct cs_document_error {
	unsigned line, column; /* from 1 */
	char text[256];
};

/* CS_BAD_INPUT: *error is filled (the first error ends the reading). CS_NO_MEMORY. *document is
 * then empty. */
CS_CHECKED enum cs_status cs_document_init(struct cs_document *document, const char *text,
					   size_t bytes, struct cs_document_error *error);
void cs_document_fini(struct cs_document *document);

#endif
