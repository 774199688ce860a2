/* select/tuning.c — reads a tuning file, or takes what was made of it when the library was built,
 * and frees it. */
#include "select/read_map.h"

#include "base/file.h"
#include "base/printable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void
take_version(struct cs_reader *reader, const struct cs_yaml *value, void *field)
{
	if (value->kind != CS_YAML_SCALAR || strcmp(value->text, "1"))
		cs_reader_expect(reader, value, "1, the version of the format that this library "
						"reads");
}

static void
take_file(struct cs_reader *reader, const struct cs_yaml *root)
{
	static const struct cs_map_key keys[] = {
		{ "version", true, 0, take_version },
		{ "limits", false, 0, cs_take_limits },
		{ "blocks", false, 0, cs_take_blocks },
		{ "models", false, 0, cs_take_models },
		{ "node_models", false, 0, cs_take_nodes },
	};
	CS_TAKE_MAP(reader, root, "a tuning file", keys, reader->tuning);
}

enum cs_status
cs_tuning_parse(struct cs_tuning **tuning, const char *label, const char *text, size_t bytes,
		struct cs_tuning_errors *errors)
{
	struct cs_document document;
	struct cs_document_error error;
	size_t errors_before = errors->count;
	enum cs_status status = cs_document_init(&document, text, bytes, &error);
	if (status == CS_BAD_INPUT)
		cs_tuning_complain_at(errors, label, error.line, error.column, error.text);
	if (status != CS_OK)
		return status;
	struct cs_reader reader = { calloc(1, sizeof *reader.tuning), errors, false };
	if (reader.tuning)
		reader.tuning->label = cs_reader_copy(&reader, label);
	if (!reader.tuning || !reader.tuning->label)
		reader.is_out_of_memory = true;
	else
		take_file(&reader, document.root);
	cs_document_fini(&document);
	if (reader.is_out_of_memory || errors->count != errors_before) {
		cs_tuning_destroy(reader.tuning);
		return reader.is_out_of_memory ? CS_NO_MEMORY : CS_BAD_INPUT;
	}
	*tuning = reader.tuning;
	return CS_OK;
}

static enum cs_status
copy_compiled(struct cs_tuning **tuning, const char *label)
{
	const struct cs_tuning_compiled *from = cs_tuning_compiled;
	struct cs_tuning *made = calloc(1, sizeof *made);
	struct cs_rule *rules = malloc((from->rule_count + 1) * sizeof *rules);
	char *own_label = strdup(label);
	if (!made || !rules || !own_label) {
		free(made);
		free(rules);
		free(own_label);
		return CS_NO_MEMORY;
	}
	memcpy(rules, from->rules, from->rule_count * sizeof *rules);
	for (size_t i = 0; i < from->rule_count; i++)
		rules[i].use.algorithm = from->algorithm_of[i] < 0
					 ? NULL : cs_algorithm_at(from->algorithm_of[i]);
	*made = (struct cs_tuning){
		.label = own_label, .limits = from->limits,
			.blocks = (struct cs_block *)(uintptr_t)from->blocks,
		.block_count = from->block_count, .rules = rules, .rule_count = from->rule_count,
		.is_compiled = true,
	};
	memcpy(made->has_limit, from->has_limit, sizeof made->has_limit);
	*tuning = made;
	return CS_OK;
}

enum cs_status
cs_tuning_load_builtin(struct cs_tuning **tuning, const char *label,
		       struct cs_tuning_errors *errors)
{
	if (cs_tuning_compiled)
		return copy_compiled(tuning, label);
	return cs_tuning_parse(tuning, label, cs_tuning_builtin, cs_tuning_builtin_bytes, errors);
}

enum cs_status
cs_tuning_load_text(struct cs_tuning **tuning, const char *path, char **text, size_t *bytes,
		    struct cs_tuning_errors *errors)
{
	char what[256], limit[CS_NUMBER_TEXT];
	*text = NULL;
	enum cs_status status = cs_file_read(path, CS_TUNING_MAX_BYTES, text, bytes);
	int read_failure = errno;
	char *label = strdup(path); /* as it stands in complaints and reasons: on one line */
	if (!label) {
		free(*text);
		return CS_NO_MEMORY;
	}
	cs_printable_make(label, false);
	if (status == CS_SYSTEM) {
		int failure = read_failure;
		if (failure == EFBIG)
			snprintf(what, sizeof what, "expected at most %s bytes",
				 cs_bytes_text(limit, CS_TUNING_MAX_BYTES));
		else if (failure == EINVAL)
			snprintf(what, sizeof what, "expected a regular file");
		else
			snprintf(what, sizeof what, "cannot be read: %s", strerror(failure));
		cs_tuning_complain(errors, label, what);
		free(label);
		errno = failure;
		return status;
	}
	if (status == CS_OK && cs_tuning_compiled && *bytes == cs_tuning_builtin_bytes &&
	    !memcmp(*text, cs_tuning_builtin, *bytes))
		status = copy_compiled(tuning, label);
	else if (status == CS_OK)
		status = cs_tuning_parse(tuning, label, *text, *bytes, errors);
	if (status != CS_OK)
		free(*text);
	free(label);
	return status;
}

enum cs_status
cs_tuning_load(struct cs_tuning **tuning, const char *path, struct cs_tuning_errors *errors)
{
	char *text;
	size_t bytes;
	enum cs_status status = cs_tuning_load_text(tuning, path, &text, &bytes, errors);
	if (status == CS_OK)
		free(text);
	return status;
}

static void
free_block(struct cs_block *block)
{
	char *texts[] = { block->name, block->date, block->library, block->command,
			  block->measured_on, block->measured_mpi, block->note, block->mpi,
			  block->cpu, block->host };
	for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
		free(texts[k]);
}

void
cs_tuning_destroy(struct cs_tuning *tuning)
{
	if (!tuning)
		return;
	for (size_t i = 0; i < tuning->block_count && !tuning->is_compiled; i++)
		free_block(&tuning->blocks[i]);
	for (size_t i = 0; i < tuning->model_count; i++) {
		struct cs_site_model *model = &tuning->models[i];
		free_block(&model->about);
		free(model->parameters);
		for (size_t k = 0; k < model->host_count; k++)
			free(model->hosts[k].points);
		free(model->hosts);
	}
	for (size_t i = 0; i < tuning->node_count; i++)
		free_block(&tuning->nodes[i].about);
	free(tuning->nodes);
	free(tuning->models);
	if (!tuning->is_compiled)
		free(tuning->blocks);
	free(tuning->rules);
	free(tuning->label);
	free(tuning);
}
