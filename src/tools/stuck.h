/* tools/stuck.h — collshim-info --stuck. */
#ifndef CS_TOOLS_STUCK_H
#define CS_TOOLS_STUCK_H

/* Prints in which collectives processes of this user hang: argv[1] is one, which stands for those
 * that it has started, too, or the id of a job. Returns the exit status, 3 if none does. */
int cs_tools_stuck(int argc, char **argv);

#endif
