/*
 * Facts about the machine that explain a refusal, each found by looking. `root` is what /proc and
 * /sys lie under: "" but in tests. See src/gnomon/counters/machine.py and virtualization.py.
 */
#ifndef GNOMON_COUNTERS_MACHINE_H
#define GNOMON_COUNTERS_MACHINE_H

#include <stdint.h>

#define GN_SECCOMP_FILTER 2

/* What this process may do; -1 where that is unlimited or cannot be found out. */
struct gn_rights {
	int has_paranoid; /* the kernel has perf events */
	long long paranoid;
	int is_privileged; /* kernel.perf_event_paranoid does not bind it */
	int is_in_user_namespace;
	long long seccomp; /* mode of its system call filter */
	long long open_files;
	long long open_files_hard;
};

void gn_rights(const char *root, struct gn_rights *rights);

/* The hypervisor that the machine runs under: 1, or 0 on bare metal. */
struct gn_hypervisor {
	char name[128]; /* product and provider, as people say it */
	const char *pmu_remedy;
};

int gn_hypervisor(const char *root, struct gn_hypervisor *hypervisor);

/* The engine of the container that the process runs in: 1, or 0 outside of one. */
int gn_container(const char *root, char engine[64]);

/* The number, zero or more, in the first line of a file; -1 if there is none. */
long long gn_number_in(const char *root, const char *path);

#endif
