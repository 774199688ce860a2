/* comm/calls/stall.h — reports collectives that hang: on stderr with COLLSHIM_STALL, and to
 * collshim-info --stuck (shm/stuck.h). */
#ifndef CS_COMM_CALLS_STALL_H
#define CS_COMM_CALLS_STALL_H

/* Watch long waits of this process from here on, and no more. */
void cs_stalls_open(void);
void cs_stalls_close(void);

#endif
