/* select/notes.h — is a block of a tuning file for this machine, and what is to be said of a file
 * that is right, but of another machine or another version of the library. Private to select. */
#ifndef CS_SELECT_NOTES_H
#define CS_SELECT_NOTES_H

#include "select/tuning.h"

/* Says which guard of the block does not hold on the machine; false if all hold. */
bool cs_guard_fails(const struct cs_block *block, const struct cs_machine *machine, char *why,
		    size_t why_bytes);

/* One line "label:line: ..." each; false if there is nothing to say.
 *
 * Blocks and models, and none of them for this machine: then the file was made for another. That
 * some are is the usual way of a file for several machines. */
bool cs_note_machine(const struct cs_tuning *tuning, const struct cs_machine *machine, char *text,
		     size_t bytes);
/* A block or model for this machine that was measured with another version. Only a provenance that
 * says "collshim VERSION" can tell. */
bool cs_note_version(const struct cs_tuning *tuning, const struct cs_machine *machine, char *text,
		     size_t bytes);

#endif
