/* A clock on which a microsecond passes whenever one of the library's modules looks: what they say
 * of time is then how often they looked, whatever else the machine does. Everybody else reads the
 * kernel's. */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__attribute__((visibility("default"))) int
clock_gettime(clockid_t clock, struct timespec *now)
{
	static _Atomic long looks;
	Dl_info reader;
	if (clock != CLOCK_MONOTONIC || !dladdr(__builtin_return_address(0), &reader) ||
	    !reader.dli_fname || !strstr(reader.dli_fname, "/collshim/"))
		return (int)syscall(SYS_clock_gettime, clock, now);
	long microseconds = atomic_fetch_add(&looks, 1);
	*now = (struct timespec){ microseconds / 1000000, microseconds % 1000000 * 1000 };
	return 0;
}
