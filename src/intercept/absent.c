/* intercept/absent.c — makes weak references to our names null again where no MPI is there. */
#include "intercept/absent.h"

#include "intercept/lookup.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* The relocations that put a function's address into memory; a call's own is none, for it is not
 * what a program compares. */
#if defined(__x86_64__)
#define IS_ADDRESS(type) ((type) == R_X86_64_GLOB_DAT || (type) == R_X86_64_64)
#elif defined(__aarch64__)
#define IS_ADDRESS(type) ((type) == R_AARCH64_GLOB_DAT || (type) == R_AARCH64_ABS64)
#else
#define IS_ADDRESS(type) false
#endif

static const char *const names[] = {
#define CALL(name, arguments) "MPI_" #name,
#define LARGE(name, arguments) "MPI_" #name,
#define FCALL(symbol, arguments) #symbol,
#define FPLAIN(symbol, arguments) #symbol,
#include "intercept/calls.def"
};
#define COUNT(array) (sizeof(array) / sizeof *(array))

/* A reference that may be ours to take back, and what the loader has protected of its object. */
struct reference {
	const char *name;
	void **place;
	char *sealed, *sealed_end;
};

/* A program has a dozen of them; what is beyond stays as it is. */
static struct reference references[512];
static size_t reference_count;

static bool
is_name(const char *name)
{
	if (strncmp(name, "MPI_", 4) != 0 && strncmp(name, "mpi_", 4) != 0)
		return false;
	for (size_t i = 0; i < COUNT(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Tables of an object's dynamic section. The loader has made addresses of the offsets in it, but
 * not in all. */
struct tables {
	const ElfW(Sym) *symbols;
	const char *strings;
	const ElfW(Rela) *relocations;
	size_t relocation_count, relative_count; /* the latter, first and by far the most, have no
						  * symbol */
};

static bool
read_tables(struct tables *tables, const struct dl_phdr_info *info, const ElfW(Dyn) *entry)
{
	*tables = (struct tables){ .symbols = NULL };
	for (; entry->d_tag != DT_NULL; entry++) {
		const void *at = cs_lookup_address(info, entry->d_un.d_ptr);
		switch (entry->d_tag) {
		case DT_SYMTAB: tables->symbols = at; break;
		case DT_STRTAB: tables->strings = at; break;
		case DT_RELA: tables->relocations = at; break;
		case DT_RELASZ: tables->relocation_count = entry->d_un.d_val / sizeof(ElfW(Rela));
							   break;
		case DT_RELACOUNT: tables->relative_count = entry->d_un.d_val; break;
		default: break;
		}
	}
	return tables->symbols && tables->strings && tables->relocations;
}

static bool
is_weak(const struct tables *tables, size_t index)
{
	const ElfW(Sym) *symbol = &tables->symbols[index];
	return symbol->st_shndx == SHN_UNDEF && symbol->st_info >> 4 == STB_WEAK &&
	       is_name(tables->strings + symbol->st_name);
}

static int
look(struct dl_phdr_info *info, size_t size, void *data)
{
	struct reference reference = { .name = NULL };
	struct tables tables;
	const ElfW(Dyn) *dynamic = NULL;
	(void)size;
	(void)data;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		char *at = (char *)(info->dlpi_addr + part->p_vaddr);
		if (part->p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)at;
		if (part->p_type == PT_GNU_RELRO) {
			reference.sealed = at;
			reference.sealed_end = at + part->p_memsz;
		}
	}
	if (!dynamic || !read_tables(&tables, info, dynamic))
		return 0;
	for (size_t i = tables.relative_count; i < tables.relocation_count; i++) {
		const ElfW(Rela) *relocation = &tables.relocations[i];
		size_t symbol = ELF64_R_SYM(relocation->r_info);
		if (!IS_ADDRESS(ELF64_R_TYPE(relocation->r_info)) || relocation->r_addend ||
		    !is_weak(&tables, symbol))
			continue;
		if (reference_count == COUNT(references))
			return 1;
		reference.name = tables.strings + tables.symbols[symbol].st_name;
		reference.place = (void **)(info->dlpi_addr + relocation->r_offset);
		references[reference_count++] = reference;
	}
	return 0;
}

static void
take_back(const struct reference *reference)
{
	char *place = (char *)reference->place;
	if (place < reference->sealed || place >= reference->sealed_end) {
		*reference->place = NULL;
		return;
	}
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *start = (char *)((uintptr_t)place & ~(uintptr_t)(page - 1));
	if (mprotect(start, page, PROT_READ | PROT_WRITE))
		return;
	*reference->place = NULL;
	/* The last page of what is sealed may have other data behind it, and is not sealed then. */
	if (start + page <= reference->sealed_end)
		(void)mprotect(start, page, PROT_READ);
}

void
cs_absent_answer(bool (*is_ours)(void *address))
{
	int saved = errno;
	dl_iterate_phdr(look, NULL);
	for (size_t i = 0; i < reference_count; i++) {
		const struct reference *reference = &references[i];
		if (*reference->place && is_ours(*reference->place) &&
		    !dlsym(RTLD_NEXT, reference->name)) {
			dlerror();
			take_back(reference);
		}
	}
	errno = saved;
}
