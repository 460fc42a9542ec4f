/* Names of result files. Source: HPM Toolkit User's Guide 3.2.2, sections 2.2 and 3.9. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "host_name.h"
#include "launcher_rank.h"
#include "output_names.h"

long hpm_mpi_task(void)
{
	return gn_launcher_rank();
}

void hpm_instance_now(struct hpm_instance *instance, char host[256])
{
	const long task = hpm_mpi_task();
	time_t now = time(NULL);

	gn_host_name(host);
	*instance = (struct hpm_instance){.host = host, .task = task < 0 ? getpid() : task};
	if (!localtime_r(&now, &instance->moment))
		memset(&instance->moment, 0, sizeof(instance->moment));
}

int hpm_unique_name(const char *name, const struct hpm_instance *instance, char *out, size_t size)
{
	const struct tm *when = &instance->moment;
	const char *slash = strrchr(name, '/');
	const char *base = slash ? slash + 1 : name;
	const char *dot = strrchr(base, '.');
	int is_first = dot == base, length;
	char clock[64];

	if (!strftime(clock, sizeof(clock), instance->clock ? instance->clock : "%H.%M.%S", when))
		clock[0] = '\0';
	length = snprintf(out, size, "%.*s%s%.*s_%ld_%02d.%02d.%04d_%s%s",
			  !dot	     ? (int)strlen(name)
			  : is_first ? (int)(base - name)
				     : (int)(dot - name),
			  name, is_first ? "" : "_", (int)strcspn(instance->host, "."),
			  instance->host, instance->task, when->tm_mday, when->tm_mon + 1,
			  when->tm_year + 1900, clock, dot ? dot : "");
	return length < 0 || (size_t)length >= size ? -ENAMETOOLONG : 0;
}
