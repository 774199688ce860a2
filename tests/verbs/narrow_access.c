/* An auditor of the dynamic loader (LD_AUDIT, rtld-audit(7)): from the NARROW_ACCESS_FROM-th
 * registration of memory on that peers may write to, the device is not told that they may. So it
 * refuses their writes, as a real one refuses a wrong key or address. What of libibverbs is found
 * by dlsym, as the library does it, is caught in no other way. */
#include <infiniband/verbs.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

/* <link.h> declares them for who writes an auditor, but not as exported. */
EXPORT unsigned la_version(unsigned version);
EXPORT unsigned la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie);
EXPORT uintptr_t la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to,
			      unsigned *flags, const char *name);

static struct ibv_mr *(*real)(struct ibv_pd *, void *, size_t, int);
static int first;
static atomic_int seen;

static struct ibv_mr *
narrow(struct ibv_pd *pd, void *base, size_t bytes, int access)
{
	if ((access & IBV_ACCESS_REMOTE_WRITE) && atomic_fetch_add(&seen, 1) + 1 >= first)
		access &= ~IBV_ACCESS_REMOTE_WRITE;
	return real(pd, base, bytes, access);
}

unsigned
la_version(unsigned version)
{
	const char *from = getenv("NARROW_ACCESS_FROM");
	first = from ? atoi(from) : 1;
	return version;
}

unsigned
la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
	(void)space;
	(void)cookie;
	return strstr(map->l_name, "libibverbs") ? LA_FLG_BINDTO : LA_FLG_BINDFROM;
}

uintptr_t
la_symbind64(Elf64_Sym *symbol, unsigned index, uintptr_t *from, uintptr_t *to, unsigned *flags,
	     const char *name)
{
	(void)index;
	(void)from;
	(void)to;
	if (strcmp(name, "ibv_reg_mr") || !(*flags & LA_SYMB_DLSYM))
		return symbol->st_value;
	real = (struct ibv_mr *(*)(struct ibv_pd *, void *, size_t, int))symbol->st_value;
	return (uintptr_t)narrow;
}
