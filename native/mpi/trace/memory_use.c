#include "memory_use.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MPT_NO_HOOKS
#include <gnomon/mpt.h>

double gn_trace_heap_bytes(void)
{
	FILE *status = fopen("/proc/self/status", "re");
	unsigned long long kib;
	double bytes = NAN;
	char line[256];

	while (status && isnan(bytes) && fgets(line, sizeof(line), status))
		if (sscanf(line, "VmData: %llu kB", &kib) == 1)
			bytes = (double)kib * 1024;
	if (status)
		fclose(status);
	return bytes;
}

int MT_get_memoryinfo(struct MT_memorystruct *info)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long begin, end;
	char line[512];

	memset(info, 0, sizeof(*info));
	if (!maps)
		return -1;
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx", &begin, &end) != 2)
			continue;
		if (strstr(line, "[stack]")) {
			info->min_stack_address = begin;
			info->max_stack_address = end;
		} else if (strstr(line, "[heap]")) {
			info->max_heap_address = end;
		}
	}
	fclose(maps);
	return info->max_stack_address ? 0 : -1;
}
