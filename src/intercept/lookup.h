/* intercept/lookup.h — addresses of the MPI's functions, as the loader finds them for a caller. For
 * the door; libc only. */
#ifndef CS_INTERCEPT_LOOKUP_H
#define CS_INTERCEPT_LOOKUP_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>

/* Handle of the MPI's object; NULL before it is known, and constant from then on. Set by door.c. */
extern void *cs_door_mpi;

/* Is the address in this library? */
bool cs_lookup_is_ours(void *address);

/* Address for a value in an object's dynamic section, which the loader has relocated, or left an
 * offset. */
const void *cs_lookup_address(const struct dl_phdr_info *info, ElfW(Addr) value);

/* Handle of the object that holds this address; the caller closes it. */
void *cs_lookup_object(void *address);

/* These functions may leave a text in dlerror, which the caller clears; cs_lookup and cs_lookup_all
 * leave none. */

/* Address that an object finds by this name without us, in the loader's order: global objects
 * behind us, then the object and its dependencies. */
void *cs_lookup_in_scope(const char *name, void *scope);

/* The next function of that name in the link chain, or NULL, for a caller with this scope (NULL:
 * not known). `widely`: search also objects that are in no scope of ours; it takes long where there
 * are many, and most names are in none of them. */
void *cs_lookup_next(const char *name, void *scope, bool widely);

/* The address that tells one MPI from another: of the functions that ask its version, or of
 * MPI_Init of one that has none. */
void *cs_lookup_identity(void *scope);

/* The MPI's function of that name, else the next one in the link chain; NULL: none. */
void *cs_lookup(const char *name);

/* Puts all different definitions of `name` in the process that are not ours into found[], the
 * program's own first. */
size_t cs_lookup_all(const char *name, void **found, size_t room);

#endif
