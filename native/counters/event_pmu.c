/* PMUs. Source: Documentation/ABI/testing/sysfs-bus-event_source-devices*. */
#include "event_pmu.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DEVICES "/sys/bus/event_source/devices"
#define CORES_MAX 16
#define NS_PER_MS 1000000u

static uint32_t cores[CORES_MAX];
static int n_cores;

static int read_number(const char *device, const char *file, uint64_t *number)
{
	char path[512], text[32], *end;
	ssize_t got;
	int fd;

	snprintf(path, sizeof(path), "%s/%s/%s", DEVICES, device, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	got = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (got <= 0)
		return 0;
	text[got] = '\0';
	*number = strtoull(text, &end, 10);
	return end != text;
}

/* The one PMU of the cores is called cpu on x86 and POWER; where there are several or another
 * name, they have a list of their CPUs. */
static int is_core(const char *device)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s/cpus", DEVICES, device);
	return !strcmp(device, "cpu") || !access(path, F_OK);
}

static void find_cores(void)
{
	DIR *folder = opendir(DEVICES);
	struct dirent *entry;

	if (!folder)
		return;
	while (n_cores < CORES_MAX && (entry = readdir(folder))) {
		uint64_t type;

		if (entry->d_name[0] != '.' && is_core(entry->d_name) &&
		    read_number(entry->d_name, "type", &type))
			cores[n_cores++] = (uint32_t)type;
	}
	closedir(folder);
}

/* How many PMUs the cores here have: 0 in most virtual machines, 2 and more on hybrid CPUs. */
static int core_count(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, find_cores);
	return n_cores;
}

uint32_t gn_pmu_of(const struct gn_event_spec *spec)
{
	const uint32_t extended = (uint32_t)(spec->config >> 32);

	switch (spec->type) {
	case PERF_TYPE_SOFTWARE:
	case PERF_TYPE_TRACEPOINT:
	case PERF_TYPE_BREAKPOINT:
		return 0;
	case PERF_TYPE_HARDWARE:
	case PERF_TYPE_HW_CACHE:
		if (extended)
			return extended;
		break;
	case PERF_TYPE_RAW:
		break;
	default:
		return spec->type;
	}
	return core_count() == 1 ? cores[0] : PERF_TYPE_RAW;
}

uint64_t gn_pmu_interval_ns(uint32_t pmu)
{
	DIR *folder = opendir(DEVICES);
	struct dirent *entry;
	uint64_t type, interval_ms = 0;

	if (!folder)
		return 0;
	while ((entry = readdir(folder))) {
		if (entry->d_name[0] != '.' && read_number(entry->d_name, "type", &type) &&
		    type == pmu) {
			read_number(entry->d_name, "perf_event_mux_interval_ms", &interval_ms);
			break;
		}
	}
	closedir(folder);
	return interval_ms * NS_PER_MS;
}
