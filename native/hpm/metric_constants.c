/* What metrics may ask of the machine: gnomon.counters.hardware.metric_constants in C. */
#include "metric_constants.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "metric_table.h"
#include "number_text.h"
#include "presets.h"

#define MOST_HZ 1e12
#define MOST_CACHES 64

void hpm_constant_set(struct hpm_constants *constants, const char *name, double value, int how)
{
	struct hpm_constant *constant = constants->constant;

	if (strlen(name) >= sizeof(constant->name))
		return;
	for (; constant < constants->constant + constants->n; constant++)
		if (!strcmp(constant->name, name))
			break;
	if (constant == constants->constant + HPM_CONSTANTS_MAX)
		return;
	if (constant == constants->constant + constants->n)
		constants->n++;
	else if (constant->how == HPM_ESTIMATED && how != HPM_ESTIMATED)
		return;
	snprintf(constant->name, sizeof(constant->name), "%s", name);
	constant->value = value;
	constant->how = how;
}

/* The start of a small file, without blanks at its end; "" if it cannot be read. */
__attribute__((format(printf, 3, 4))) static void read_text(char *text, size_t size,
							    const char *format, ...)
{
	char path[PATH_MAX];
	va_list arguments;
	ssize_t n = -1;
	int fd = -1, length;

	va_start(arguments, format);
	length = vsnprintf(path, sizeof(path), format, arguments);
	va_end(arguments);
	if (length >= 0 && length < (int)sizeof(path))
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n < 0 ? 0 : n] = 0;
	for (size_t end = strlen(text); end && isspace((unsigned char)text[end - 1]);)
		text[--end] = 0;
}

/* A number of a file that has nothing else; NaN. */
static double whole(const char *text)
{
	size_t digits = strspn(text, "0123456789");

	return digits && digits < 16 && !text[digits] ? (double)atoll(text) : NAN;
}

static void read_lines(struct hpm_constants *constants, const char *root, int cpu)
{
	char text[64], type[32], name[32];

	/* In the order of Python, the last of a level counts: caches are alike on all sane CPUs. */
	for (int index = 0; index < MOST_CACHES; index++) {
		double level, line;

		read_text(text, sizeof(text), "%s/sys/devices/system/cpu/cpu%d/cache/index%d/level",
			  root, cpu, index);
		level = whole(text);
		if (isnan(level))
			return;
		read_text(type, sizeof(type), "%s/sys/devices/system/cpu/cpu%d/cache/index%d/type",
			  root, cpu, index);
		read_text(text, sizeof(text),
			  "%s/sys/devices/system/cpu/cpu%d/cache/index%d/coherency_line_size", root,
			  cpu, index);
		line = whole(text);
		if ((strcmp(type, "Data") != 0 && strcmp(type, "Unified") != 0) || !(line > 0) ||
		    !(level >= 1 && level <= 3))
			continue;
		snprintf(name, sizeof(name), "L%.0f_line_bytes", level);
		hpm_constant_set(constants, name, line, HPM_COUNTED);
	}
}

static double khz(const char *root, int cpu, const char *file)
{
	char text[64];
	double hz;

	read_text(text, sizeof(text), "%s/sys/devices/system/cpu/cpu%d/cpufreq/%s", root, cpu,
		  file);
	hz = whole(text) * 1e3;
	return hz > 0 && hz < MOST_HZ ? hz : NAN;
}

/* Megahertz that cpuid promises, and at most; NaN. */
static void cpuid_mhz(double *base, double *highest)
{
	*base = *highest = NAN;
#if defined(__x86_64__) || defined(__i386__)
	unsigned int eax, ebx, ecx, edx;

	if (!__get_cpuid_count(0x16, 0, &eax, &ebx, &ecx, &edx))
		return;
	if (eax & 0xffff)
		*base = eax & 0xffff;
	if (ebx & 0xffff)
		*highest = ebx & 0xffff;
#endif
}

/* The value of a key in /proc/cpuinfo's first block; "" if it has none. */
static void cpuinfo(const char *text, const char *key, char *value, size_t size)
{
	value[0] = 0;
	while (*text && *text != '\n') {
		size_t line = strcspn(text, "\n"), length = strlen(key);
		const char *after = text + length;

		if (!strncmp(text, key, length)) {
			after += strspn(after, " \t");
			if (*after == ':') {
				after++;
				after += strspn(after, " \t");
				snprintf(value, size, "%.*s", (int)(text + line - after), after);
				return;
			}
		}
		text += line + (text[line] == '\n');
	}
}

/* What stands in front of an ending, as a number; NaN. */
static double before(const char *text, const char *ending)
{
	char number[32];
	const char *end = strstr(text, ending);
	double value;

	if (!end || end - text >= (ptrdiff_t)sizeof(number))
		return NAN;
	snprintf(number, sizeof(number), "%.*s", (int)(end - text), text);
	number[strcspn(number, " ")] = 0;
	return hpm_real(number, &value) ? NAN : value;
}

/* "... CPU @ 2.20GHz"; on POWER the clock that it was set to. */
static double cpuinfo_hz(const char *root)
{
	char text[4096], value[256];
	const char *frequency;

	read_text(text, sizeof(text), "%s/proc/cpuinfo", root);
	cpuinfo(text, "model name", value, sizeof(value));
	frequency = strchr(value, '@');
	if (frequency)
		return before(frequency + 1 + strspn(frequency + 1, " "), "GHz") * 1e9;
	cpuinfo(text, "clock", value, sizeof(value));
	return before(value, "MHz") * 1e6;
}

static double hertz(const char *root, int cpu)
{
	double base = khz(root, cpu, "base_frequency");
	double highest = khz(root, cpu, "cpuinfo_max_freq");

	if (!root[0] && (isnan(base) || isnan(highest))) {
		double base_mhz, highest_mhz;

		cpuid_mhz(&base_mhz, &highest_mhz);
		base = isnan(base) ? base_mhz * 1e6 : base;
		highest = isnan(highest) ? highest_mhz * 1e6 : highest;
	}
	if (isnan(base))
		base = highest;
	return isnan(base) ? cpuinfo_hz(root) : base;
}

/* Whether the kernel shows several PMUs of cores: then cores differ. */
static int is_hybrid(const char *root)
{
	char path[PATH_MAX], cpus[64];
	struct dirent *entry;
	DIR *folder;
	int n = 0;

	snprintf(path, sizeof(path), "%s/sys/bus/event_source/devices", root);
	folder = opendir(path);
	while (folder && (entry = readdir(folder))) {
		if (entry->d_name[0] == '.')
			continue;
		read_text(cpus, sizeof(cpus), "%s/%s/cpus", path, entry->d_name);
		n += cpus[0] != 0;
	}
	if (folder)
		closedir(folder);
	return n > 1;
}

void hpm_machine_read(struct hpm_constants *constants, const char *root)
{
	char online[256];
	double hz;
	int cpu;

	hpm_constant_set(constants, "cpus", (double)sysconf(_SC_NPROCESSORS_ONLN), HPM_COUNTED);
	read_text(online, sizeof(online), "%s/sys/devices/system/cpu/online", root);
	cpu = atoi(online);
	read_lines(constants, root, cpu);
	hz = is_hybrid(root) ? NAN : hertz(root, cpu);
	if (hz > 0 && hz < MOST_HZ)
		hpm_constant_set(constants, "cycle_seconds", 1 / hz, HPM_COUNTED);
}

double hpm_peak(const struct hpm_constants *constants)
{
	double peak = NAN;

	for (int i = 0; i < hpm_peak_count; i++) {
		for (int at = 0; at < constants->n_cpus; at++) {
			if (strcmp(hpm_texts + hpm_peaks[i].cpu, constants->cpu[at]) != 0)
				continue;
			/* Of cores that differ nothing can be said. */
			if (!isnan(peak) && peak != hpm_peaks[i].flops)
				return NAN;
			peak = hpm_peaks[i].flops;
		}
	}
	return peak;
}

void hpm_constants_name_cpu(struct hpm_constants *constants)
{
	struct gn_core *cores;
	double peak;
	int n;

	if (constants->is_named)
		return;
	constants->is_named = 1;
	cores = calloc(GN_CORES_MAX, sizeof(*cores));
	n = cores ? gn_cores(&gn_this_machine, cores) : 0;
	for (int i = 0; i < n; i++)
		for (int model = 0; model < cores[i].n_models; model++)
			if (constants->n_cpus < HPM_CPUS_MAX &&
			    strlen(cores[i].model[model]) < sizeof(constants->cpu[0]))
				strcpy(constants->cpu[constants->n_cpus++], cores[i].model[model]);
	free(cores);
	peak = hpm_peak(constants);
	if (!isnan(peak))
		hpm_constant_set(constants, "peak_flops_per_cycle", peak, HPM_COUNTED);
}
