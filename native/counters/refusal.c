/*
 * What a refusal by perf_event_open(2) means here, and what to do about it: the sentences are those
 * of src/gnomon/counters/refusal.py. Source: perf_event_open(2), ERRORS;
 * Documentation/admin-guide/perf-security.rst; perf_event_paranoid above 2 is Debian's and
 * Ubuntu's.
 */
#include "refusal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "machine.h"
#include "sysfs.h"

#include "gnomon/gnomon.h"

#define CPUS "/sys/devices/system/cpu"
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	int number;
	int error;
	const char *sentence;
} plain[] = {
	{ESRCH, GN_ESYS,
	 "the process to be counted does not exist (any more); name a process or thread that runs: "
	 "see `ps -eL`"},
	{E2BIG, GN_ESYS,
	 "the kernel is older than what was asked of it (E2BIG); leave out what is new, or use a "
	 "newer kernel"},
	{ENFILE, GN_ECOUNT,
	 "the whole system has reached its limit of open files; as root: raise `sysctl "
	 "fs.file-max`"},
	{ENOSPC, GN_ECNFLCT,
	 "no counter or breakpoint register is left; count fewer events at once"},
	{EOPNOTSUPP, GN_ENOSUPP,
	 "the PMU cannot do what was asked: sampling, precise sampling, branch stacks, or leaving "
	 "out a privilege level; count without sampling and without the modifiers u, k and h"},
	{ENOMEM, GN_ENOMEM, "the kernel is out of memory for events; count fewer events at once"},
};

static int paranoid(const struct gn_rights *rights, int is_tracepoint, int is_contained,
		    struct gn_message *why)
{
	const long long level = rights->paranoid;
	const char *what = level <= 0	? "this tracepoint may not be read"
			   : level == 1 ? "only one's own processes may be counted, no whole CPU"
			   : level == 2 ? "only user mode of one's own processes may be counted"
					: "nothing may be counted";
	const int wanted = level <= 0 ? -1 : level != 1;
	const char *more = "";

	if (level <= 0 && !is_tracepoint)
		return gn_say(why, GN_EPERM,
			      "the process belongs to another user or may not be watched; run as "
			      "root or as the owner of the process");
	if (rights->is_in_user_namespace || is_contained)
		more = " on the host, or start the container with `--cap-add PERFMON`";
	else if (level <= 2)
		more = "; to count a process of another user, run as root";
	return gn_say(why, GN_EPERM,
		      "kernel.perf_event_paranoid is %lld: without CAP_PERFMON %s; as root: sysctl "
		      "kernel.perf_event_paranoid=%d%s",
		      level, what, wanted, more);
}

static int forbidden(const char *root, int number, int is_tracepoint, struct gn_message *why)
{
	char engine[64];
	const int is_contained = gn_container(root, engine);
	struct gn_rights rights;

	gn_rights(root, &rights);
	if (rights.seccomp == GN_SECCOMP_FILTER && number == EPERM)
		return gn_say(why, GN_EPERM,
			      "a seccomp filter%s%s%s forbids perf_event_open; start the container "
			      "with `--cap-add PERFMON` (Kubernetes: securityContext capabilities "
			      "add PERFMON), or with `--security-opt seccomp=unconfined`",
			      is_contained ? " of the " : "", is_contained ? engine : "",
			      is_contained ? " container" : "");
	if (is_tracepoint &&
	    (rights.is_privileged || (rights.has_paranoid && rights.paranoid == -1)))
		return gn_say(why, GN_EPERM,
			      "this tracepoint cannot be counted; count another one: see `gnomon "
			      "events`");
	if (rights.is_privileged || !rights.has_paranoid)
		return gn_say(why, GN_EPERM,
			      "a security module or sandbox forbids it (%s); see `dmesg` and the "
			      "audit log (SELinux, AppArmor, lockdown), or run outside the sandbox",
			      strerrordesc_np(number));
	return paranoid(&rights, is_tracepoint, is_contained, why);
}

static int no_perf_events(const char *root, struct gn_message *why)
{
	if (gn_file_exists("%s/proc/sys/kernel/perf_event_paranoid", root))
		return gn_say(
			why, GN_ESYS,
			"a filter or sandbox answers perf_event_open with ENOSYS; run outside "
			"the sandbox, or allow perf_event_open in its seccomp profile");
	return gn_say(why, GN_ESYS,
		      "this kernel has no perf events; use a kernel built with CONFIG_PERF_EVENTS");
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

static int no_pmu(const char *root, int error, struct gn_message *why)
{
	static const char emulated[] = "or count on an emulated one: gnomon count --pmu emulated";
	struct gn_hypervisor host;

	if (gn_hypervisor(root, &host))
		return gn_say(why, error,
			      "no core PMU: the hypervisor (%s) does not give this virtual machine "
			      "one; %s; %s",
			      host.name, host.pmu_remedy, emulated);
	if (!gn_is_folder("%s/sys/bus/event_source/devices", root))
		return gn_say(
			why, error,
			"no core PMU: the kernel shows no PMU at all (/sys/bus/event_source is "
			"not there); mount sysfs on /sys, or use a kernel built with "
			"CONFIG_PERF_EVENTS; %s",
			emulated);
	return gn_say(
		why, error,
		"no core PMU: the kernel has no driver for it, or the firmware hides it; see "
		"`dmesg | grep -i -e pmu -e 'performance events'`; switch performance counters "
		"on in the firmware's setup, or use a newer kernel; %s",
		emulated);
}

static int no_such_event(int number, unsigned int flags, int error, struct gn_message *why)
{
	if (flags & GN_EVENT_TRACEPOINT)
		return gn_say(why, error,
			      "the kernel has no such tracepoint (any more); load the module that "
			      "brings it; `gnomon events` lists those there are");
	if (flags & GN_EVENT_HARDWARE && number == ENODEV)
		return gn_say(why, error,
			      "the PMU does not count this on the CPU it was asked to; count it on "
			      "another CPU, or where the program happens to run");
	if (flags & GN_EVENT_HARDWARE)
		return gn_say(
			why, error,
			"this CPU's PMU has no such event; `gnomon events` lists those it has");
	return gn_say(
		why, error,
		"this kernel has no such event; use a newer kernel; `gnomon events` lists what "
		"is here");
}

static int invalid(unsigned int flags, struct gn_message *why)
{
	if (flags & GN_EVENT_CPU_WIDE)
		return gn_say(why, GN_ECMP,
			      "its PMU counts for a whole CPU or more, never for a thread; count "
			      "with granularity CPU on a CPU of its `cpumask`");
	if (flags & GN_EVENT_TRACEPOINT)
		return gn_say(
			why, GN_ESYS,
			"the kernel does not take this tracepoint; `gnomon events` lists those "
			"there are");
	if (flags & GN_EVENT_HARDWARE)
		return gn_say(why, GN_ESYS,
			      "the PMU does not take this combination of event, parameters and "
			      "modifiers, or has no counter for it; check its parameters and "
			      "modifiers, and count fewer events together");
	return gn_say(
		why, GN_ESYS,
		"the kernel does not take this combination of event, CPU and modifiers; check "
		"the CPU's number and leave out the modifiers");
}

static int too_many_files(const char *root, struct gn_message *why)
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
	return gn_say(
		why, GN_ECOUNT,
		"the limit of open files%s is reached: every event of every thread takes one; "
		"%s",
		limit, remedy);
}

static int busy(const char *root, struct gn_message *why)
{
	if (gn_number_in(root, "proc/sys/kernel/nmi_watchdog") > 0)
		return gn_say(why, GN_ECNFLCT,
			      "the counters are taken, one of them by the NMI watchdog; as root: "
			      "sysctl kernel.nmi_watchdog=0; and end other profilers");
	return gn_say(
		why, GN_ECNFLCT,
		"another user of the PMU has it to himself; end other profilers (perf, VTune, "
		"oprofile, a BPF collector) and try again");
}

int gn_refusal_at(const char *root, int error, unsigned int flags, struct gn_message *why)
{
	const int number = -error;
	const int is_missing = number == ENOENT || number == ENODEV || number == ENXIO;
	const int code = number == ENOENT ? GN_ENOEVNT : GN_ENOSUPP;
	const char *name = strerrorname_np(number), *text = strerrordesc_np(number);

	if (number == EACCES || number == EPERM)
		return forbidden(root, number, (flags & GN_EVENT_TRACEPOINT) != 0, why);
	if (number == ENOSYS)
		return no_perf_events(root, why);
	if (flags & GN_EVENT_HARDWARE && (is_missing || number == EOPNOTSUPP) &&
	    !has_core_pmu(root))
		return no_pmu(root, code, why);
	if (is_missing)
		return no_such_event(number, flags, code, why);
	if (number == EINVAL)
		return invalid(flags, why);
	if (number == EMFILE)
		return too_many_files(root, why);
	if (number == EBUSY)
		return busy(root, why);
	for (size_t i = 0; i < COUNT(plain); i++)
		if (plain[i].number == number)
			return gn_say(why, plain[i].error, "%s", plain[i].sentence);
	if (!name || !text)
		return gn_say(
			why, GN_ESYS,
			"the kernel refused it: Unknown error %d (%d); see perf_event_open(2)",
			number, number);
	return gn_say(why, GN_ESYS, "the kernel refused it: %s (%s); see perf_event_open(2)", text,
		      name);
}

int gn_refusal(int error, unsigned int flags, struct gn_message *why)
{
	return gn_refusal_at("", error, flags, why);
}

int gn_refusal_on(int cpu, int error, unsigned int flags, struct gn_message *why)
{
	char is_online[8], online[128];

	if (cpu < 0 || (error != -EINVAL && error != -ENODEV))
		return gn_refusal(error, flags, why);
	/* The first CPU may have no such file: it is always on. */
	gn_file_start(is_online, sizeof(is_online), CPUS "/cpu%d/online", cpu);
	if (gn_is_folder(CPUS "/cpu%d", cpu) && strcmp(is_online, "0"))
		return gn_refusal(error, flags, why);
	gn_file_start(online, sizeof(online), CPUS "/online");
	return gn_say(why, GN_ESYS, "CPU %d is not there, or offline; take one of %s", cpu, online);
}
