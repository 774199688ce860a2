/* select/document.c — makes a tree of libyaml's events, and refuses what a tuning file does not
 * need. */
#include "select/document.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

struct builder {
	struct cs_document *document;
	struct cs_document_error *error;
	yaml_mark_t end; /* of the text */
	struct cs_yaml *open[CS_DOCUMENT_MAX_DEPTH];
	size_t depth;
	size_t documents;
};

/* libyaml ends the last line if nobody else has, and then stands behind the text. */
static const yaml_mark_t *
inside(const struct builder *builder, const yaml_mark_t *mark)
{
	return mark->line > builder->end.line ? &builder->end : mark;
}

static enum cs_status __attribute__((format(printf, 3, 4)))
refuse(const struct builder *builder, const yaml_mark_t *mark, const char *format, ...)
{
	struct cs_document_error *error = builder->error;
	error->line = (unsigned)inside(builder, mark)->line + 1;
	error->column = (unsigned)inside(builder, mark)->column + 1;
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(error->text, sizeof error->text, format, arguments);
	va_end(arguments);
	return CS_BAD_INPUT;
}

/* Lines and columns as libyaml and editors count them: columns are characters. */
static yaml_mark_t
mark_of_byte(const char *text, size_t bytes, size_t byte)
{
	yaml_mark_t mark = { 0 };
	for (size_t i = 0; i < byte && i < bytes; i++) {
		mark.column += (text[i] & 0xc0) != 0x80;
		if (text[i] == '\n') {
			mark.line++;
			mark.column = 0;
		}
	}
	return mark;
}

static enum cs_status
refuse_syntax(const struct builder *builder, const yaml_parser_t *parser, const char *text,
	      size_t bytes)
{
	const char *problem = parser->problem ? parser->problem : "unreadable";
	if (parser->error == YAML_MEMORY_ERROR)
		return CS_NO_MEMORY;
	if (parser->error == YAML_READER_ERROR) { /* it tells only the byte at which it stopped */
		yaml_mark_t mark = mark_of_byte(text, bytes, parser->problem_offset);
		return refuse(builder, &mark, "not YAML: %s", problem);
	}
	if (parser->context)
		return refuse(builder, &parser->problem_mark, "not YAML: %s (line %zu), %s",
			      parser->context, inside(builder, &parser->context_mark)->line + 1,
			      problem);
	return refuse(builder, &parser->problem_mark, "not YAML: %s", problem);
}

/* Name of a line break at `text` that YAML knows and editors do not, so that they would show other
 * lines than a complaint names; else NULL. */
static const char *
odd_break(const char *text, size_t bytes)
{
	static const struct {
		const char *bytes;
		size_t length;
		const char *name;
	} breaks[] = {
		{ "\r", 1, "a carriage return alone" },
		{ "\xc2\x85", 2, "U+0085 (next line)" },
		{ "\xe2\x80\xa8", 3, "U+2028 (line separator)" },
		{ "\xe2\x80\xa9", 3, "U+2029 (paragraph separator)" },
	};
	if (bytes > 1 && text[0] == '\r' && text[1] == '\n')
		return NULL;
	for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
		if (breaks[i].length <= bytes && !memcmp(text, breaks[i].bytes, breaks[i].length))
			return breaks[i].name;
	return NULL;
}

/* Refuses input that libyaml would accept silently. A tag cannot be used, and libyaml compares each
 * %TAG with all before it: a megabyte of them takes it eight seconds (AMD EPYC, one core). */
static enum cs_status
refuse_traps(const struct builder *builder, const char *text, size_t bytes)
{
	static const char directive[] = "%TAG";
	for (size_t i = 0; i < bytes; i++) {
		const char *name = odd_break(text + i, bytes - i);
		bool is_tag = (!i || text[i - 1] == '\n') && bytes - i >= strlen(directive) &&
			      !memcmp(text + i, directive, strlen(directive));
		if (!name && !is_tag)
			continue;
		yaml_mark_t mark = mark_of_byte(text, bytes, i);
		if (is_tag)
			return refuse(builder, &mark, "found %s, expected none: tags are not "
						      "allowed here", directive);
		return refuse(builder, &mark, "found %s, expected lines that end with LF or CR LF",
			      name);
	}
	return CS_OK;
}

/* Has the text a control character? libyaml lets them in by escapes, as "\e". LF and tab are
 * allowed; NUL would end the text. */
static bool
has_control(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		unsigned char byte = (unsigned char)text[i],
			      before = i ? (unsigned char)text[i - 1] : 0;
		bool is_c1 = before == 0xc2 && byte < 0xa0; /* U+0080 to U+009F */
		if ((byte < ' ' && byte != '\n' && byte != '\t') || byte == 0x7f || is_c1)
			return true;
	}
	return false;
}

static enum cs_status
add_node(struct builder *builder, const yaml_event_t *event, enum cs_yaml_kind kind,
	 const char *text, size_t length)
{
	struct cs_document *document = builder->document;
	if (document->node_count == CS_DOCUMENT_MAX_NODES)
		return refuse(builder, &event->start_mark, "more than %d values in one file",
			      CS_DOCUMENT_MAX_NODES);
	if (kind != CS_YAML_SCALAR && builder->depth == CS_DOCUMENT_MAX_DEPTH)
		return refuse(builder, &event->start_mark, "lists and maps nested deeper than %d",
			      CS_DOCUMENT_MAX_DEPTH);
	if (has_control(text, length))
		return refuse(builder, &event->start_mark, "a control character inside a value");
	const yaml_mark_t *start = inside(builder, &event->start_mark);
	struct cs_yaml *node = malloc(sizeof *node + length + 1);
	if (!node)
		return CS_NO_MEMORY;
	*node = (struct cs_yaml){
		.made_before = document->newest,
		.line = (unsigned)start->line + 1,
		.column = (unsigned)start->column + 1,
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
			return refuse(builder, &event->start_mark,
				      "found a second document, expected one per file");
		return CS_OK;
	case YAML_ALIAS_EVENT:
		return refuse(builder, &event->start_mark,
			      "found an alias (*name), expected the value itself: aliases are not "
			      "allowed here");
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
		return refuse(builder, &event->start_mark, "found %s, expected a plain value: %s",
			      anchor ? "an anchor (&name)" : "a tag (!name)",
			      anchor ? "anchors are not allowed here"
				     : "tags are not allowed here");
	if (event->type == YAML_SCALAR_EVENT)
		return add_node(builder, event, CS_YAML_SCALAR,
				(const char *)event->data.scalar.value, event->data.scalar.length);
	return add_node(builder, event,
			event->type == YAML_SEQUENCE_START_EVENT ? CS_YAML_LIST : CS_YAML_MAP, NULL,
			0);
}

enum cs_status
cs_document_init(struct cs_document *document, const char *text, size_t bytes,
		 struct cs_document_error *error)
{
	/* libyaml would count it as a column, so that the first line's keys were not those of the
	 * others' map. */
	static const char byte_order_mark[] = "\xef\xbb\xbf";
	size_t mark_bytes = strlen(byte_order_mark);
	if (bytes >= mark_bytes && !memcmp(text, byte_order_mark, mark_bytes)) {
		text += mark_bytes;
		bytes -= mark_bytes;
	}
	*document = (struct cs_document){ 0 };
	struct builder builder = { .document = document, .error = error,
				   .end = mark_of_byte(text, bytes, bytes) };
	enum cs_status status = refuse_traps(&builder, text, bytes);
	yaml_parser_t parser;
	if (status != CS_OK)
		return status;
	if (!yaml_parser_initialize(&parser))
		return CS_NO_MEMORY;
	/* Else libyaml would guess UTF-16 from the first bytes. */
	yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, bytes);
	bool is_over = false;
	while (status == CS_OK && !is_over) {
		yaml_event_t event;
		if (!yaml_parser_parse(&parser, &event)) {
			status = refuse_syntax(&builder, &parser, text, bytes);
			break;
		}
		is_over = event.type == YAML_STREAM_END_EVENT;
		status = take_event(&builder, &event);
		yaml_event_delete(&event);
	}
	yaml_parser_delete(&parser);
	if (status == CS_OK && !document->root) {
		yaml_mark_t start = { 0 };
		status = refuse(&builder, &start, "found an empty file, expected a map that begins "
						  "with version: 1");
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
