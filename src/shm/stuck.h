/* shm/stuck.h — the file by which collshim-info --stuck asks a process in which call it hangs:
 *
 *   collshim-info                      a rank in a long wait, once a second
 *   CS_STUCK_FILE, new, 0600   ------> is there one for this process, or for the one waited for?
 *   reads and removes it       <------ CS_STUCK_HEAD, key, lines of cs_stall_write, CS_STUCK_END
 *
 * Equal keys, of 16 digits, are of one call, and from ranks of one node. */
#ifndef CS_SHM_STUCK_H
#define CS_SHM_STUCK_H

#define CS_STUCK_FOLDER "/dev/shm"
#define CS_STUCK_FILE CS_STUCK_FOLDER "/collshim-stuck.%lld" /* the process */
#define CS_STUCK_PATH 64
#define CS_STUCK_HEAD "collshim-stuck 1 "
#define CS_STUCK_KEY 16
#define CS_STUCK_END "end\n"

#endif
