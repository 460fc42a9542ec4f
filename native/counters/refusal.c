/*
 * What a refusal by perf_event_open(2) means here, and what to do about it. Source: its ERRORS;
 * Documentation/admin-guide/perf-security.rst; perf_event_paranoid above 2 is Debian's and
 * Ubuntu's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pmu.h"

#include "gnomon/gnomon.h"

#define CAP_SYS_ADMIN 21
#define CAP_PERFMON 38
#define SECCOMP_FILTER 2
#define NOT_KNOWN 1000

/* Text of a file in /proc or /sys, "" where it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t got = fd < 0 ? -1 : read(fd, text, size - 1);

	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = '\0';
}

static long paranoid_level(void)
{
	char text[32], *end;
	long level;

	read_text("/proc/sys/kernel/perf_event_paranoid", text, sizeof(text));
	level = strtol(text, &end, 10);
	return end == text ? NOT_KNOWN : level;
}

static int is_privileged(void)
{
	char text[4096];
	const char *line;
	unsigned long long capabilities;

	read_text("/proc/self/status", text, sizeof(text));
	line = strstr(text, "CapEff:");
	capabilities = line ? strtoull(line + strlen("CapEff:"), NULL, 16) : 0;
	return (capabilities >> CAP_SYS_ADMIN | capabilities >> CAP_PERFMON) & 1;
}

static int forbidden(int number, unsigned int flags, struct gn_message *why)
{
	const long paranoid = paranoid_level();

	if (number == EPERM && prctl(PR_GET_SECCOMP) == SECCOMP_FILTER)
		return gn_say(why, GN_EPERM,
			      "a seccomp filter forbids perf_event_open; start the container with "
			      "`--cap-add PERFMON` or `--security-opt seccomp=unconfined`");
	if (is_privileged() || paranoid == NOT_KNOWN)
		return gn_say(why, GN_EPERM,
			      "a security module or sandbox forbids it (%s); see `dmesg` and the "
			      "audit log, or run outside the sandbox",
			      strerror(number));
	if (paranoid <= 0 && !(flags & GN_EVENT_TRACEPOINT))
		return gn_say(why, GN_EPERM,
			      "the process belongs to another user or may not be watched; run as "
			      "root or as its owner");
	return gn_say(why, GN_EPERM,
		      "kernel.perf_event_paranoid is %ld: without CAP_PERFMON %s; as root: sysctl "
		      "kernel.perf_event_paranoid=%d",
		      paranoid,
		      paranoid <= 0   ? "this tracepoint may not be read"
		      : paranoid == 1 ? "only one's own processes may be counted, no whole CPU"
		      : paranoid == 2 ? "only user mode of one's own processes may be counted"
				      : "nothing may be counted",
		      paranoid <= 0   ? -1
		      : paranoid == 1 ? 0
				      : 1);
}

static int invalid(unsigned int flags, struct gn_message *why)
{
	if (flags & GN_EVENT_CPU_WIDE)
		return gn_say(why, GN_EINVAL,
			      "its PMU counts for a whole CPU or more, never for a thread; count "
			      "with granularity CPU on a CPU of its `cpumask`");
	if (flags & GN_EVENT_HARDWARE)
		return gn_say(why, GN_EINVAL,
			      "the PMU does not take this combination of event, parameters and "
			      "modifiers, or has no counter for it; check its parameters");
	return gn_say(
		why, GN_EINVAL,
		"the kernel does not take this combination of event, CPU and modifiers; check "
		"the CPU's number and leave out the modifiers");
}

static int too_many_files(struct gn_message *why)
{
	struct rlimit limit = {0};

	getrlimit(RLIMIT_NOFILE, &limit);
	return gn_say(
		why, GN_ECOUNT,
		"the limit of open files (%llu) is reached: every event of every thread takes "
		"one; raise it (`ulimit -n`), or count fewer events",
		(unsigned long long)limit.rlim_cur);
}

static int no_such_event(int number, unsigned int flags, struct gn_message *why)
{
	const int error = number == ENOENT ? GN_ENOEVNT : GN_ENOSUPP;

	if (flags & GN_EVENT_TRACEPOINT)
		return gn_say(why, error,
			      "the kernel has no such tracepoint (any more); load the module that "
			      "brings it");
	if (flags & GN_EVENT_HARDWARE && !gn_pmu_core_count())
		return gn_say(why, error,
			      "no core PMU: the virtual machine or the kernel gives none; "
			      "`gnomon doctor` says how to get one");
	if (flags & GN_EVENT_HARDWARE && number == EOPNOTSUPP)
		return gn_say(why, error,
			      "the PMU cannot do what was asked, such as leaving out a privilege "
			      "level; count without a domain and without the modifiers u, k and h");
	if (flags & GN_EVENT_HARDWARE)
		return gn_say(why, error,
			      "the PMU has no such event on the CPU that it was asked for; "
			      "`gnomon events` lists those it has");
	return gn_say(why, error,
		      "this kernel has no such event; `gnomon events` lists its events");
}

int gn_refusal(int error, unsigned int flags, struct gn_message *why)
{
	const int number = -error;

	switch (number) {
	case EACCES:
	case EPERM:
		return forbidden(number, flags, why);
	case ENOENT:
	case ENODEV:
	case EOPNOTSUPP:
	case ENXIO:
		return no_such_event(number, flags, why);
	case EINVAL:
		return invalid(flags, why);
	case EMFILE:
		return too_many_files(why);
	case ENFILE:
		return gn_say(
			why, GN_ECOUNT,
			"the whole system has reached its limit of open files; as root: raise "
			"`sysctl fs.file-max`");
	case ENOSPC:
		return gn_say(
			why, GN_ECNFLCT,
			"no counter or breakpoint register is left; count fewer events at once");
	case ENOMEM:
		return gn_say(why, GN_ENOMEM,
			      "out of memory for events; count fewer events at once");
	case ESRCH:
		return gn_say(why, GN_ESYS,
			      "the process to be counted does not exist (any more); name one that "
			      "runs: see `ps -eL`");
	case EBUSY:
		return gn_say(why, GN_ECNFLCT,
			      "another user of the PMU has it to himself; end other profilers, and "
			      "as root: sysctl kernel.nmi_watchdog=0");
	case ENOSYS:
		return gn_say(
			why, GN_ESYS,
			"this kernel has no perf events, or a sandbox hides them; use a kernel "
			"built with CONFIG_PERF_EVENTS, or run outside the sandbox");
	case E2BIG:
		return gn_say(why, GN_ESYS,
			      "the kernel is older than what was asked of it; use a newer kernel");
	default:
		return gn_say(why, GN_ESYS, "the kernel refused it: %s; see perf_event_open(2)",
			      strerror(number));
	}
}
