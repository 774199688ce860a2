/* ib/pages.h — whole pages of private memory that a device writes to or reads from. */
#ifndef CS_IB_PAGES_H
#define CS_IB_PAGES_H

#include <stddef.h>

size_t cs_ib_pages_round(size_t bytes);

/* Maps zeroed pages that a forked child does not get (MADV_DONTFORK): if the kernel does not copy
 * pinned pages on a fork, the first write after a fork would part us from the device. `bytes` are
 * whole pages, so that a child misses no other memory. NULL with errno. */
char *cs_ib_pages_get(size_t bytes);
/* NULL is fine. */
void cs_ib_pages_put(char *pages, size_t bytes);

#endif
