/*
 * What a refusal by perf_event_open(2) means here, and what to do about it.
 *
 * Source: perf_event_open(2), ERRORS; Documentation/admin-guide/perf-security.rst;
 * perf_event_paranoid above 2 is Debian's and Ubuntu's.
 */
#include "perf_errors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_facts.h"
#include "read_file.h"
#include "sysfs_pmu.h"

#include "gnomon/gnomon.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	int number;
	int error;
	const char *reason;
	const char *remedy;
} plain[] = {
	{ESRCH, GN_ESYS, "the process to be counted does not exist (any more)",
	 "name a process or thread that runs: see `ps -eL`"},
	{E2BIG, GN_ESYS, "the kernel is older than what was asked of it (E2BIG)",
	 "leave out what is new, or use a newer kernel"},
	{ENFILE, GN_ECOUNT, "the whole system has reached its limit of open files",
	 "as root: raise `sysctl fs.file-max`"},
	{ENOSPC, GN_ECNFLCT, "no counter or breakpoint register is left",
	 "count fewer events at once"},
	{EOPNOTSUPP, GN_ENOSUPP,
	 "the PMU cannot do what was asked: sampling, precise sampling, branch stacks, or leaving "
	 "out a privilege level",
	 "count without sampling and without the modifiers u, k and h"},
	{ENOMEM, GN_ENOMEM, "the kernel is out of memory for events", "count fewer events at once"},
};

/* Writes both sentences and returns `error`. */
__attribute__((format(printf, 4, 5))) static int
explain(struct gn_refusal *refusal, int error, const char *remedy, const char *reason, ...)
{
	va_list arguments;

	va_start(arguments, reason);
	vsnprintf(refusal->reason, sizeof(refusal->reason), reason, arguments);
	va_end(arguments);
	snprintf(refusal->remedy, sizeof(refusal->remedy), "%s", remedy);
	return error;
}

static int paranoid(const struct gn_rights *rights, int is_tracepoint, int is_contained,
		    struct gn_refusal *refusal)
{
	const long long level = rights->paranoid;
	const char *what = level <= 0	? "this tracepoint may not be read"
			   : level == 1 ? "only one's own processes may be counted, no whole CPU"
			   : level == 2 ? "only user mode of one's own processes may be counted"
					: "nothing may be counted";
	const int wanted = level <= 0 ? -1 : level != 1;
	const char *more = "";
	char remedy[sizeof(refusal->remedy)];

	if (level <= 0 && !is_tracepoint)
		return explain(refusal, GN_EPERM, "run as root or as the owner of the process",
			       "the process belongs to another user or may not be watched");
	if (rights->is_in_user_namespace || is_contained)
		more = " on the host, or start the container with `--cap-add PERFMON`";
	else if (level <= 2)
		more = "; to count a process of another user, run as root";
	snprintf(remedy, sizeof(remedy), GN_LOWER_PARANOID "%d%s", wanted, more);
	return explain(refusal, GN_EPERM, remedy,
		       "kernel.perf_event_paranoid is %lld: without CAP_PERFMON %s", level, what);
}

static int forbidden(const char *root, int number, int is_tracepoint, struct gn_refusal *refusal)
{
	struct gn_container container;
	const int is_contained = gn_container(root, &container);
	struct gn_rights rights;

	gn_rights(root, &rights);
	if (rights.seccomp == GN_SECCOMP_FILTER && number == EPERM)
		return explain(
			refusal, GN_EPERM,
			"start the container with `--cap-add PERFMON` (Kubernetes: securityContext "
			"capabilities add PERFMON), or with `--security-opt seccomp=unconfined`",
			"a seccomp filter%s%s%s forbids perf_event_open",
			is_contained ? " of the " : "", is_contained ? container.engine : "",
			is_contained ? " container" : "");
	if (is_tracepoint &&
	    (rights.is_privileged || (rights.has_paranoid && rights.paranoid == -1)))
		return explain(refusal, GN_EPERM, "count another one: see `gnomon events`",
			       "this tracepoint cannot be counted");
	if (rights.is_privileged || !rights.has_paranoid)
		return explain(refusal, GN_EPERM,
			       "see `dmesg` and the audit log (SELinux, AppArmor, lockdown), or "
			       "run outside the sandbox",
			       "a security module or sandbox forbids it (%s)",
			       strerrordesc_np(number));
	return paranoid(&rights, is_tracepoint, is_contained, refusal);
}

static int no_perf_events(const char *root, struct gn_refusal *refusal)
{
	if (gn_file_exists("%s/proc/sys/kernel/perf_event_paranoid", root))
		return explain(refusal, GN_ESYS,
			       "run outside the sandbox, or allow perf_event_open in its seccomp "
			       "profile",
			       "a filter or sandbox answers perf_event_open with ENOSYS");
	return explain(refusal, GN_ESYS, "use a kernel built with CONFIG_PERF_EVENTS",
		       "this kernel has no perf events");
}

static int has_core_pmu(const char *root)
{
	char sysfs[GN_PATH_MAX];
	struct gn_pmu *pmus;
	int n;

	snprintf(sysfs, sizeof(sysfs), "%s/sys", root);
	n = gn_core_pmus(sysfs, &pmus);
	free(pmus);
	return n > 0;
}

void gn_no_pmu(const char *root, struct gn_refusal *refusal)
{
	struct gn_hypervisor host;
	char remedy[sizeof(refusal->remedy)];

	if (gn_hypervisor(root, &host)) {
		snprintf(remedy, sizeof(remedy), "%s%s", host.pmu_remedy, GN_ON_EMULATED);
		explain(refusal, 0, remedy,
			"no core PMU: the hypervisor (%s) does not give this virtual machine one",
			host.name);
	} else if (!gn_is_folder("%s/sys/bus/event_source/devices", root)) {
		explain(refusal, 0,
			"mount sysfs on /sys, or use a kernel built with "
			"CONFIG_PERF_EVENTS" GN_ON_EMULATED,
			"no core PMU: the kernel shows no PMU at all (/sys/bus/event_source is not "
			"there)");
	} else {
		explain(refusal, 0,
			"see `dmesg | grep -i -e pmu -e 'performance events'`; switch performance "
			"counters on in the firmware's setup, or use a newer kernel" GN_ON_EMULATED,
			"no core PMU: the kernel has no driver for it, or the firmware hides it");
	}
}

static int no_such_event(int number, unsigned int flags, int error, struct gn_refusal *refusal)
{
	if (flags & GN_EVENT_TRACEPOINT)
		return explain(
			refusal, error,
			"load the module that brings it; `gnomon events` lists those there are",
			"the kernel has no such tracepoint (any more)");
	if (flags & GN_EVENT_HARDWARE && number == ENODEV)
		return explain(refusal, error,
			       "count it on another CPU, or where the program happens to run",
			       "the PMU does not count this on the CPU it was asked to");
	if (flags & GN_EVENT_HARDWARE)
		return explain(refusal, error, "`gnomon events` lists those it has",
			       "this CPU's PMU has no such event");
	return explain(refusal, error, "use a newer kernel; `gnomon events` lists what is here",
		       "this kernel has no such event");
}

static int invalid(unsigned int flags, struct gn_refusal *refusal)
{
	if (flags & GN_EVENT_CPU_WIDE)
		return explain(refusal, GN_ECMP,
			       "count with granularity CPU on a CPU of its `cpumask`",
			       "its PMU counts for a whole CPU or more, never for a thread");
	if (flags & GN_EVENT_TRACEPOINT)
		return explain(refusal, GN_ESYS, "`gnomon events` lists those there are",
			       "the kernel does not take this tracepoint");
	if (flags & GN_EVENT_HARDWARE)
		return explain(
			refusal, GN_ESYS,
			"check its parameters and modifiers, and count fewer events together",
			"the PMU does not take this combination of event, parameters and "
			"modifiers, or has no counter for it");
	return explain(refusal, GN_ESYS, "check the CPU's number and leave out the modifiers",
		       "the kernel does not take this combination of event, CPU and modifiers");
}

static int too_many_files(const char *root, struct gn_refusal *refusal)
{
	char limit[32] = "", remedy[128];
	struct gn_rights rights;

	gn_rights(root, &rights);
	if (rights.open_files >= 0)
		snprintf(limit, sizeof(limit), " (%lld)", rights.open_files);
	if (rights.open_files >= 0 && rights.open_files_hard > rights.open_files)
		snprintf(remedy, sizeof(remedy), "ulimit -n %lld", rights.open_files_hard);
	else
		snprintf(remedy, sizeof(remedy),
			 "as root: raise `nofile` in /etc/security/limits.conf; or count fewer "
			 "events");
	return explain(refusal, GN_ECOUNT, remedy,
		       "the limit of open files%s is reached: every event of every thread takes "
		       "one",
		       limit);
}

static int busy(const char *root, struct gn_refusal *refusal)
{
	if (gn_number_in(root, "proc/sys/kernel/nmi_watchdog") > 0)
		return explain(refusal, GN_ECNFLCT,
			       "as root: sysctl kernel.nmi_watchdog=0; and end other profilers",
			       "the counters are taken, one of them by the NMI watchdog");
	return explain(refusal, GN_ECNFLCT,
		       "end other profilers (perf, VTune, oprofile, a BPF collector) and try again",
		       "another user of the PMU has it to himself");
}

/* Whether a list such as "0-3,8" has a CPU; one that cannot be read is taken to have it. */
static int has_cpu(const char *list, int cpu)
{
	for (const char *range = list; *range; range += *range == ',') {
		char *end;
		const long first = strtol(range, &end, 10);
		const long last = *end == '-' ? strtol(end + 1, &end, 10) : first;

		if (cpu >= first && cpu <= last)
			return 1;
		range = end + strcspn(end, ",");
	}
	return !*list;
}

int gn_refusal_at(const char *root, int cpu, int error, unsigned int flags,
		  struct gn_refusal *refusal)
{
	const int number = -error;
	const int is_missing = number == ENOENT || number == ENODEV || number == ENXIO;
	const int code = number == ENOENT ? GN_ENOEVNT : GN_ENOSUPP;
	const char *name = strerrorname_np(number), *text = strerrordesc_np(number);
	char online[128] = "";

	if (number == EACCES || number == EPERM)
		return forbidden(root, number, (flags & GN_EVENT_TRACEPOINT) != 0, refusal);
	if (number == ENOSYS)
		return no_perf_events(root, refusal);
	if (cpu >= 0 && (number == EINVAL || number == ENODEV))
		gn_file_start(online, sizeof(online), "%s/sys/devices/system/cpu/online", root);
	if (!has_cpu(online, cpu)) {
		char remedy[160];

		snprintf(remedy, sizeof(remedy), "take one of %s", online);
		return explain(refusal, GN_ESYS, remedy, "CPU %d is not there, or offline", cpu);
	}
	if (flags & GN_EVENT_HARDWARE && (is_missing || number == EOPNOTSUPP) &&
	    !has_core_pmu(root)) {
		gn_no_pmu(root, refusal);
		return code;
	}
	if (is_missing)
		return no_such_event(number, flags, code, refusal);
	if (number == EINVAL)
		return invalid(flags, refusal);
	if (number == EMFILE)
		return too_many_files(root, refusal);
	if (number == EBUSY)
		return busy(root, refusal);
	for (size_t i = 0; i < COUNT(plain); i++)
		if (plain[i].number == number)
			return explain(refusal, plain[i].error, plain[i].remedy, "%s",
				       plain[i].reason);
	if (!name || !text)
		return explain(refusal, GN_ESYS, "see perf_event_open(2)",
			       "the kernel refused it: Unknown error %d (%d)", number, number);
	return explain(refusal, GN_ESYS, "see perf_event_open(2)", "the kernel refused it: %s (%s)",
		       text, name);
}

int gn_refusal_on(int cpu, int error, unsigned int flags, struct gn_error_text *why)
{
	struct gn_refusal refusal;
	const int code = gn_refusal_at("", cpu, error, flags, &refusal);

	return gn_error_set(why, code, "%s; %s", refusal.reason, refusal.remedy);
}

int gn_refusal(int error, unsigned int flags, struct gn_error_text *why)
{
	return gn_refusal_on(-1, error, flags, why);
}
