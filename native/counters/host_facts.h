/*
 * Facts about the machine that explain which counters it has, each found by looking. `root` is what
 * /proc and /sys lie under: "" but for recorded trees.
 */
#ifndef GNOMON_COUNTERS_HOST_FACTS_H
#define GNOMON_COUNTERS_HOST_FACTS_H

#include <stddef.h>
#include <stdint.h>

#define GN_SECCOMP_FILTER 2

/* What this process may do; -1 where that is unlimited or cannot be found out. */
struct gn_rights {
	int has_paranoid; /* the kernel has perf events */
	long long paranoid;
	uint64_t capabilities; /* bits of the effective ones */
	int is_privileged;     /* kernel.perf_event_paranoid does not bind it */
	int is_in_user_namespace;
	long long seccomp; /* mode of its system call filter */
	long long open_files;
	long long open_files_hard;
};

void gn_rights(const char *root, struct gn_rights *rights);

/* The hypervisor that the machine runs under: 1, or 0 on bare metal. */
struct gn_hypervisor {
	char kind[64];	    /* product, "" if only its presence is known */
	const char *cloud;  /* provider, "" if unknown or none */
	char name[128];	    /* both, as people say it */
	char evidence[320]; /* what gave it away */
	const char *pmu_remedy;
};

int gn_hypervisor(const char *root, struct gn_hypervisor *hypervisor);

/* The container that the process runs in: 1, or 0 outside of one. */
struct gn_container {
	char engine[64];
	char evidence[128];
};

int gn_container(const char *root, struct gn_container *container);

/* The first line of a file, without the blanks around it; "" if it cannot be read. */
void gn_line_in(char *line, size_t size, const char *root, const char *path);

/* The number, zero or more, in the first line of a file; -1 if there is none. */
long long gn_number_in(const char *root, const char *path);

/* A number of 1 to 18 decimal digits, -1 for other text. */
long long gn_whole_number(const char *text);

/* The value of the first line `key: value` of a text, "" if there is none. */
void gn_keyed_value(const char *text, const char *key, char *value, size_t size);

#endif
