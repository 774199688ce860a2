/* select/notes.c — compares a block's guards and provenance with this machine and this library. */
#include "select/notes.h"

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#ifndef CS_VERSION
#error "the build says which version this is"
#endif

#define NAME "%.60s" /* a block's, which may be of any length */

bool
cs_guard_fails(const struct cs_block *block, const struct cs_machine *machine, char *why,
	       size_t why_bytes)
{
	char range[CS_RANGE_TEXT];
	if (block->mpi && machine->mpi && strcmp(block->mpi, machine->mpi))
		snprintf(why, why_bytes, "mpi %s, here %s", block->mpi, machine->mpi);
	else if (block->cpu && machine->cpu && fnmatch(block->cpu, machine->cpu, 0))
		snprintf(why, why_bytes, "cpu \"%s\", here \"%s\"", block->cpu, machine->cpu);
	else if (block->host && machine->host && fnmatch(block->host, machine->host, 0))
		snprintf(why, why_bytes, "host \"%s\", here \"%s\"", block->host, machine->host);
	else if (machine->cores < block->cores.low || machine->cores >= block->cores.high)
		snprintf(why, why_bytes, "cores %s, here %zu",
			 cs_count_range_text(range, block->cores), machine->cores);
	else
		return false;
	return true;
}

/* Blocks first, then models, then node models. */
static const struct cs_block *
part(const struct cs_tuning *tuning, size_t i)
{
	if (i < tuning->block_count)
		return &tuning->blocks[i];
	i -= tuning->block_count;
	return i < tuning->model_count ? &tuning->models[i].about
				       : &tuning->nodes[i - tuning->model_count].about;
}

static size_t
part_count(const struct cs_tuning *tuning)
{
	return tuning->block_count + tuning->model_count + tuning->node_count;
}

bool
cs_note_machine(const struct cs_tuning *tuning, const struct cs_machine *machine, char *text,
		size_t bytes)
{
	char why[256];
	for (size_t i = 0; i < part_count(tuning); i++)
		if (!cs_guard_fails(part(tuning, i), machine, why, sizeof why))
			return false;
	if (!part_count(tuning))
		return false;
	const struct cs_block *first = part(tuning, 0);
	cs_guard_fails(first, machine, why, sizeof why);
	snprintf(text, bytes, "%.200s:%u: %s this machine: " NAME " is for %s", tuning->label,
		 first->line, part_count(tuning) == 1 ? "the only block is not for"
						      : "no block is for", first->name, why);
	return true;
}

/* Does it name a version, and another one than ours? "0.1.0-12-gabc" is of 0.1.0, and "0.1.01" is
 * not. */
static bool
is_other_version(const char *library)
{
	static const char name[] = "collshim ";
	size_t length = strlen(CS_VERSION);
	if (strncmp(library, name, strlen(name)))
		return false;
	library += strlen(name);
	if (!isdigit((unsigned char)*library))
		return false;
	return strncmp(library, CS_VERSION, length) || library[length] == '.' ||
	       isdigit((unsigned char)library[length]);
}

bool
cs_note_version(const struct cs_tuning *tuning, const struct cs_machine *machine, char *text,
		size_t bytes)
{
	char ignored[256];
	for (size_t i = 0; i < part_count(tuning); i++) {
		const struct cs_block *block = part(tuning, i);
		if (!is_other_version(block->library) ||
		    cs_guard_fails(block, machine, ignored, sizeof ignored))
			continue;
		snprintf(text, bytes, "%.200s:%u: " NAME " was measured with %.60s, and this is "
							 "collshim " CS_VERSION,
			 tuning->label, block->line, block->name, block->library);
		return true;
	}
	return false;
}
