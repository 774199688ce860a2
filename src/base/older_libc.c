/* base/older_libc.c — what newer headers of glibc make of functions that every glibc has.
 *
 * glibc 2.38's <stdlib.h> turns strtol into __isoc23_strtol (which takes "0b1" too), and a library
 * that needs a name that the process's own glibc lacks ends that process, /usr/bin/nice included,
 * when it is preloaded. So we bring these names ourselves, hidden, for all that we link in (an
 * archive of the system's as well), and lead them to the old functions. A build on an older system
 * takes nothing from here. `scripts/check glibc` tells of a name that is missing.
 *
 * No header of libc is included, since it would turn the names that we mean into those that we
 * define. */
#include <stdarg.h>

#ifdef __gnu_linux__

long cs_old_strtol(const char *text, char **end, int base) __asm__("strtol");
long long cs_old_strtoll(const char *text, char **end, int base) __asm__("strtoll");
unsigned long cs_old_strtoul(const char *text, char **end, int base) __asm__("strtoul");
unsigned long long cs_old_strtoull(const char *text, char **end, int base) __asm__("strtoull");
int cs_old_vsscanf(const char *text, const char *format, va_list list) __asm__("__isoc99_vsscanf");

long __isoc23_strtol(const char *text, char **end, int base);
long long __isoc23_strtoll(const char *text, char **end, int base);
unsigned long __isoc23_strtoul(const char *text, char **end, int base);
unsigned long long __isoc23_strtoull(const char *text, char **end, int base);
int __isoc23_sscanf(const char *text, const char *format, ...) __attribute__((format(scanf, 2, 3)));

long
__isoc23_strtol(const char *text, char **end, int base)
{
	return cs_old_strtol(text, end, base);
}

long long
__isoc23_strtoll(const char *text, char **end, int base)
{
	return cs_old_strtoll(text, end, base);
}

unsigned long
__isoc23_strtoul(const char *text, char **end, int base)
{
	return cs_old_strtoul(text, end, base);
}

unsigned long long
__isoc23_strtoull(const char *text, char **end, int base)
{
	return cs_old_strtoull(text, end, base);
}

int
__isoc23_sscanf(const char *text, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	int read = cs_old_vsscanf(text, format, list);
	va_end(list);
	return read;
}

#endif
