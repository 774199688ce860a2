/* select/machine.c — reads the machine's name, its processor's model and its number of cores. */
#include "select/select.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The value behind "model name  : " within the first processor's lines, or "" (other architectures
 *                               have other words).
 * read(2) and not stdio: one call, nothing allocated in a guest. */
static void
read_cpu(char *model, size_t model_bytes)
{
	char text[4096];
	*model = '\0';
	int file = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	ssize_t got = read(file, text, sizeof text - 1);
	close(file);
	text[got > 0 ? got : 0] = '\0';
	char *at = strstr(text, "model name");
	at = at ? strchr(at, ':') : NULL;
	if (!at)
		return;
	at++;
	while (isblank((unsigned char)*at))
		at++;
	size_t length = strcspn(at, "\n");
	if (length >= model_bytes)
		length = model_bytes - 1;
	memcpy(model, at, length);
	model[length] = '\0';
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
