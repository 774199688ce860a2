#include "select/document.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

static enum cs_status __attribute__((format(printf, 3, 4)))
refuse(struct cs_document_error *error, const yaml_mark_t *mark, const char *format, ...)
{
	error->line = (unsigned)mark->line + 1;
	error->column = (unsigned)mark->column + 1;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof error->text, format, arguments);
	va_end(arguments);
	return CS_BAD_INPUT;
}

/* The reader of libyaml tells only the byte at which it stopped. */
static yaml_mark_t
mark_of_byte(const char *text, size_t bytes, size_t byte)
{
	yaml_mark_t mark = { 0 };
	for (size_t i = 0; i < byte && i < bytes; i++) {
		mark.column++;
		if (text[i] == '\n') {
			mark.line++;
			mark.column = 0;
		}
	}
	return mark;
}

static enum cs_status
refuse_syntax(struct cs_document_error *error, const yaml_parser_t *parser, const char *text, size_t bytes)
{
	const char *problem = parser->problem ? parser->problem : "unreadable";
	if (parser->error == YAML_MEMORY_ERROR)
		return CS_NO_MEMORY;
	if (parser->error == YAML_READER_ERROR) {
		yaml_mark_t mark = mark_of_byte(text, bytes, parser->problem_offset);
		return refuse(error, &mark, "not YAML: %s", problem);
	}
	if (parser->context)
		return refuse(error, &parser->problem_mark, "not YAML: %s (line %zu), %s", parser->context,
			      parser->context_mark.line + 1, problem);
	return refuse(error, &parser->problem_mark, "not YAML: %s", problem);
}

struct builder {
	struct cs_document *document;
	struct cs_document_error *error;
	struct cs_yaml *open[CS_DOCUMENT_MAX_DEPTH];
	size_t depth;
	size_t documents;
};

static enum cs_status
add_node(struct builder *builder, const yaml_event_t *event, enum cs_yaml_kind kind, const char *text,
	 size_t length)
{
	struct cs_document *document = builder->document;
	if (document->node_count == CS_DOCUMENT_MAX_NODES)
		return refuse(builder->error, &event->start_mark, "more than %d values in one file",
			      CS_DOCUMENT_MAX_NODES);
	if (kind != CS_YAML_SCALAR && builder->depth == CS_DOCUMENT_MAX_DEPTH)
		return refuse(builder->error, &event->start_mark, "lists and maps nested deeper than %d",
			      CS_DOCUMENT_MAX_DEPTH);
	if (length && memchr(text, '\0', length))
		return refuse(builder->error, &event->start_mark, "a NUL character inside a value");
	struct cs_yaml *node = malloc(sizeof *node + length + 1);
	if (!node)
		return CS_NO_MEMORY;
	*node = (struct cs_yaml){
		.made_before = document->newest,
		.line = (unsigned)event->start_mark.line + 1,
		.column = (unsigned)event->start_mark.column + 1,
		.kind = kind,
	};
	if (length)
		memcpy(node->text, text, length);
	node->text[length] = '\0';
	document->newest = node;
	document->node_count++;
	if (!builder->depth) {
		document->root = node;
	} else {
		struct cs_yaml *parent = builder->open[builder->depth - 1];
		if (parent->last)
			parent->last->next = node;
		else
			parent->first = node;
		parent->last = node;
	}
	if (kind != CS_YAML_SCALAR)
		builder->open[builder->depth++] = node;
	return CS_OK;
}

static enum cs_status
take_event(struct builder *builder, const yaml_event_t *event)
{
	const yaml_char_t *anchor = NULL, *tag = NULL;
	switch (event->type) {
	case YAML_DOCUMENT_START_EVENT:
		if (builder->documents++)
			return refuse(builder->error, &event->start_mark,
				      "found a second document, expected one per file");
		return CS_OK;
	case YAML_ALIAS_EVENT:
		return refuse(builder->error, &event->start_mark,
			      "found an alias (*name), expected the value itself: aliases are not allowed here");
	case YAML_SCALAR_EVENT:
		anchor = event->data.scalar.anchor;
		tag = event->data.scalar.tag;
		break;
	case YAML_SEQUENCE_START_EVENT:
		anchor = event->data.sequence_start.anchor;
		tag = event->data.sequence_start.tag;
		break;
	case YAML_MAPPING_START_EVENT:
		anchor = event->data.mapping_start.anchor;
		tag = event->data.mapping_start.tag;
		break;
	case YAML_SEQUENCE_END_EVENT:
	case YAML_MAPPING_END_EVENT:
		builder->depth--;
		return CS_OK;
	default:
		return CS_OK;
	}
	if (anchor || tag)
		return refuse(builder->error, &event->start_mark, "found %s, expected a plain value: %s",
			      anchor ? "an anchor (&name)" : "a tag (!name)",
			      anchor ? "anchors are not allowed here" : "tags are not allowed here");
	if (event->type == YAML_SCALAR_EVENT)
		return add_node(builder, event, CS_YAML_SCALAR, (const char *)event->data.scalar.value,
				event->data.scalar.length);
	return add_node(builder, event,
			event->type == YAML_SEQUENCE_START_EVENT ? CS_YAML_LIST : CS_YAML_MAP, NULL, 0);
}

enum cs_status
cs_document_init(struct cs_document *document, const char *text, size_t bytes,
		 struct cs_document_error *error)
{
	*document = (struct cs_document){ 0 };
	yaml_parser_t parser;
	if (!yaml_parser_initialize(&parser))
		return CS_NO_MEMORY;
	/* Else libyaml would guess UTF-16 from the first bytes. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
	struct builder builder = { .document = document, .error = error };
	enum cs_status status = CS_OK;
	bool is_over = false;
	while (status == CS_OK && !is_over) {
		yaml_event_t event;
		if (!yaml_parser_parse(&parser, &event)) {
			status = refuse_syntax(error, &parser, text, bytes);
			break;
		}
		is_over = event.type == YAML_STREAM_END_EVENT;
		status = take_event(&builder, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	if (status == CS_OK && !document->root) {
		yaml_mark_t start = { 0 };
		status = refuse(error, &start, "found an empty file, expected a map that begins with version: 1");
	}
	if (status != CS_OK)
		cs_document_fini(document);
	return status;
}

void
cs_document_fini(struct cs_document *document)
{
	struct cs_yaml *node = document->newest;
	while (node) {
		struct cs_yaml *older = node->made_before;
		free(node);
		node = older;
	}
	*document = (struct cs_document){ 0 };
}
