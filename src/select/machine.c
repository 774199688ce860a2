/* select/machine.c — reads the machine's name, its processor's model and its number of cores. */
#include "select/select.h"

#include "base/hash.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The lines of the first processor, and maybe of others. read(2) and not stdio: one call, nothing
 * allocated in a guest. */
static void
read_lines(char *text, size_t room)
{
	int file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	ssize_t got = file < 0 ? 0 : read(file, text, room - 1);
	if (file >= 0)
		close(file);
	text[got > 0 ? got : 0] = '\0';
}

/* The value behind "KEY  : " in the lines, which ends with its line; NULL: there is none. */
static const char *
find_value(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	at = at ? strchr(at, ':') : NULL;
	return at ? at + 1 + strspn(at + 1, " \t") : NULL;
}

/* "" where other architectures have other words. */
static void
read_cpu(char *model, size_t model_bytes)
{
	char text[4096];
	*model = '\0';
	read_lines(text, sizeof text);
	const char *at = find_value(text, "model name");
	if (!at)
		return;
	size_t length = strcspn(at, "\n");
	if (length >= model_bytes)
		length = model_bytes - 1;
	memcpy(model, at, length);
	model[length] = '\0';
}

uint64_t
cs_machine_features(void)
{
	char text[4096];
	int saved = errno;
	read_lines(text, sizeof text);
	const char *at = find_value(text, "\nflags");
	at = at ? at : find_value(text, "\nFeatures"); /* of ARM */
	errno = saved;
	return at ? cs_hash_bytes(CS_HASH_START, at, strcspn(at, "\n")) | 1 : 0;
}

void
cs_machine_read(struct cs_machine *machine)
{
	static char cpu[128], host[256];
	int saved = errno;
	read_cpu(cpu, sizeof cpu);
	if (gethostname(host, sizeof host - 1))
		*host = '\0';
	long cores = sysconf(_SC_NPROCESSORS_CONF);
	machine->cpu = cpu;
	machine->host = host;
	machine->cores = cores > 0 ? (size_t)cores : 1;
	errno = saved;
}
