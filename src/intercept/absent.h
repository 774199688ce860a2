/* intercept/absent.h — a program that asks by weak references whether MPI is there gets the answer
 * that it gets without us.
 *
 *     extern int MPI_Init(int *, char ***) __attribute__((weak));
 *     if (MPI_Init) ...
 *
 * The loader binds such a reference to our function, whoever else has one. So where nobody has, it
 * is made null again when our library is initialised, before the program and what it calls begin.
 * Not reached by this: references of libraries that come by dlopen, the constructors of libraries
 * before us, and dlsym. (An IFUNC symbol, whose resolver says null, would be asked each time. But
 * dlsym then returns null without an error for dlerror, of which Python's ctypes dies; and the
 * loader complains on stderr of every library that is bound at once and before us.) */
#ifndef CS_INTERCEPT_ABSENT_H
#define CS_INTERCEPT_ABSENT_H

#include <stdbool.h>

/* `is_ours`: whether an address is in our library. Leaves errno and dlerror alone. */
void cs_absent_answer(bool (*is_ours)(void *address));

#endif
