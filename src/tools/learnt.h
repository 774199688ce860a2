/* tools/learnt.h — collshim-info --learnt. */
#ifndef CS_TOOLS_LEARNT_H
#define CS_TOOLS_LEARNT_H

/* Prints a table of the learnt rules in the file argv[1], by default that of COLLSHIM_ADAPT_FILE.
 * Returns the exit status. */
int cs_tools_learnt(int argc, char **argv);

#endif
