/* ib/pages.c — allocates memory in whole pages, for registration. */
#include "ib/pages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static size_t
page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

size_t
cs_ib_pages_round(size_t bytes)
{
	size_t page = page_bytes();
	return (bytes + page - 1) / page * page;
}

char *
cs_ib_pages_get(size_t bytes)
{
	char *pages = aligned_alloc(page_bytes(), bytes);
	if (!pages)
		return NULL;
	memset(pages, 0, bytes);
	if (madvise(pages, bytes, MADV_DONTFORK)) {
		int saved = errno;
		free(pages);
		errno = saved;
		return NULL;
	}
	return pages;
}

void
cs_ib_pages_put(char *pages, size_t bytes)
{
	int saved = errno;
	if (pages)
		madvise(pages, bytes, MADV_DOFORK);
	free(pages);
	errno = saved;
}
