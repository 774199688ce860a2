/* tools/terminal.h — what a tool prints is printable, wherever it came from (base/printable.h). */
#ifndef CS_TOOLS_TERMINAL_H
#define CS_TOOLS_TERMINAL_H

#include "base/printable.h"

#include <stdio.h>
#include <unistd.h>

/* Before anything is printed. */
static inline void
cs_tools_print_printably(void)
{
	FILE *out = cs_printable_stream(STDOUT_FILENO),
	     *errors = cs_printable_stream(STDERR_FILENO);
	stdout = out ? out : stdout;
	stderr = errors ? errors : stderr;
}

#endif
