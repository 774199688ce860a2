/* ib/pages.h — whole pages of private memory for what a device writes to or reads from. */
#ifndef CS_IB_PAGES_H
#define CS_IB_PAGES_H

#include <stddef.h>

size_t cs_ib_pages_round(size_t bytes);

/* Zeroed, and of no part in a forked child: where the kernel does not copy pinned pages on a fork,
 * the first write after one would part us from the device. `bytes` are whole pages, so that nobody
 * else's memory is missing there. NULL with errno. */
char *cs_ib_pages_get(size_t bytes);
/* NULL is fine. */
void cs_ib_pages_put(char *pages, size_t bytes);

#endif
