/* What a set counts. Source of the files read here: proc(5), cputopology in the kernel's docs. */
#include "targets.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ONLINE "/sys/devices/system/cpu/online"
#define CPUS_MAX 65536

struct list {
	struct gn_target *target;
	int n;
	int room;
};

static int invalid(const char *what, const char *cause, const char *remedy)
{
	return gn_fail(GN_EINVAL, "%s: %s; %s", what, cause, remedy);
}

static int out_of_memory(void)
{
	return gn_fail(GN_ENOMEM, "event set: out of memory; count fewer threads or events");
}

static int check_place(const struct gn_options *options)
{
	switch (options->granularity) {
	case GN_GRANULARITY_CPU:
		if (options->pid != 0 && options->pid != -1)
			return invalid("granularity CPU", "it counts whatever runs there",
				       "leave out the pid");
		if (options->cpu < 0)
			return invalid("granularity CPU", "no CPU is given",
				       "give its number in `cpu`");
		break;
	case GN_GRANULARITY_SYSTEM:
		if ((options->pid != 0 && options->pid != -1) || options->cpu != -1)
			return invalid("granularity system", "it counts whatever runs on all CPUs",
				       "leave out pid and CPU");
		break;
	default:
		if (options->pid == -1 && options->cpu < 0)
			return invalid("pid -1", "it stands for all that runs on a CPU",
				       "give the CPU's number, or a pid");
		break;
	}
	return GN_OK;
}

static int check_multiplexing(struct gn_options *options)
{
	if (!options->slice_ns)
		options->slice_ns = GN_SLICE_DEFAULT_NS;
	if (options->slice_ns < GN_SLICE_MIN_NS || options->slice_ns > GN_SLICE_MAX_NS)
		return gn_fail(GN_EINVAL,
			       "slice of %llu ns: too short or too long; take 10 ms to 30 s",
			       (unsigned long long)options->slice_ns);
	if (options->limit < 0 || options->limit > GN_EVENTS_MAX)
		return gn_fail(GN_EINVAL, "limit of %d events: out of range; take 0 to %d",
			       options->limit, GN_EVENTS_MAX);
	if (options->multiplex && options->exclusive)
		return invalid("exclusive", "events that take turns are not alone on the PMU",
			       "choose one of exclusive and multiplex");
	if (options->multiplex && options->pinned)
		return invalid("pinned", "events that take turns are not always on the counters",
			       "choose one of pinned and multiplex");
	return GN_OK;
}

int gn_options_check(struct gn_options *options)
{
	int error;

	if (options->domain & ~GN_DOMAIN_ALL)
		return gn_fail(GN_EINVAL_DOM,
			       "domain %d: no such domain; add up GN_DOMAIN_USER, _KERNEL and "
			       "_HYPERVISOR",
			       options->domain);
	if (options->granularity < GN_GRANULARITY_THREAD ||
	    options->granularity > GN_GRANULARITY_SYSTEM)
		return gn_fail(GN_EINVAL,
			       "granularity %d: no such granularity; take one of gn_granularity",
			       options->granularity);
	if (options->pid < -1 || options->cpu < -1)
		return gn_fail(GN_EINVAL, "pid %d, CPU %d: below -1; 0 is the caller, -1 is any",
			       options->pid, options->cpu);
	error = check_place(options);
	return error ? error : check_multiplexing(options);
}

int gn_options_attach(struct gn_options *options, int pid, int cpu)
{
	struct gn_options attached = *options;
	int error;

	attached.pid = pid;
	attached.cpu = cpu;
	if (pid == -1 && attached.granularity == GN_GRANULARITY_THREAD)
		attached.granularity = GN_GRANULARITY_CPU;
	error = gn_options_check(&attached);
	if (!error)
		*options = attached;
	return error;
}

static int append(struct list *list, int pid, int cpu)
{
	if (list->n == list->room) {
		const int room = list->room ? 2 * list->room : 8;
		struct gn_target *grown =
			realloc(list->target, (size_t)room * sizeof(*list->target));

		if (!grown)
			return out_of_memory();
		list->target = grown;
		list->room = room;
	}
	list->target[list->n++] = (struct gn_target){pid, cpu, NULL};
	return GN_OK;
}

/* A name that is a number, as processes have in /proc; 0 for others. */
static int number_of(const char *name)
{
	char *end;
	const long number = strtol(name, &end, 10);

	return *end || number <= 0 || number > INT_MAX ? 0 : (int)number;
}

static int append_threads(struct list *list, int pid, int cpu)
{
	char path[64];
	struct dirent *entry;
	DIR *folder;
	int error = GN_OK;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	folder = opendir(path);
	/* A process that is not there, or not to be seen, is refused when it is opened. */
	if (!folder)
		return append(list, pid, cpu);
	while (!error && (entry = readdir(folder))) {
		if (number_of(entry->d_name))
			error = append(list, number_of(entry->d_name), cpu);
	}
	closedir(folder);
	return error;
}

static int append_process_group(struct list *list, int pid, int cpu)
{
	const pid_t group = getpgid(pid);
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	int error = GN_OK;

	if (!folder || group < 0) {
		if (folder)
			closedir(folder);
		return gn_fail(GN_ESYS, "process group of %d: %s; name a process that runs", pid,
			       group < 0 ? strerror(errno) : "/proc cannot be read");
	}
	while (!error && (entry = readdir(folder))) {
		const int member = number_of(entry->d_name);

		if (member && getpgid(member) == group)
			error = append_threads(list, member, cpu);
	}
	closedir(folder);
	return error;
}

/* "0-3,8,10-11" */
static int append_cpus(struct list *list, const char *text)
{
	int error = GN_OK;

	while (!error && *text >= '0' && *text <= '9') {
		char *end;
		long first = strtol(text, &end, 10), last = first;

		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		if (last < first || last >= CPUS_MAX)
			break;
		while (!error && first <= last)
			error = append(list, -1, (int)first++);
		text = end + (*end == ',');
	}
	if (!error && *text && *text != '\n')
		return gn_fail(GN_ESYS, "list of CPUs: %s is not understood; count one CPU",
			       ONLINE);
	return error;
}

static int append_system(struct list *list)
{
	static const size_t size = 64 * 1024;
	const int fd = open(ONLINE, O_RDONLY | O_CLOEXEC);
	char *text = malloc(size);
	ssize_t got = fd >= 0 && text ? read(fd, text, size - 1) : -1;
	int error;

	if (fd >= 0)
		close(fd);
	if (got > 0) {
		text[got] = '\0';
		error = append_cpus(list, text);
	} else {
		error = gn_fail(GN_ESYS, "list of CPUs: %s cannot be read; count one CPU", ONLINE);
	}
	free(text);
	return error;
}

int gn_targets_find(const struct gn_options *options, int tid, struct gn_target **targets)
{
	const int pid = options->pid > 0 ? options->pid : getpid();
	struct list list = {0};
	int error;

	switch (options->granularity) {
	case GN_GRANULARITY_PROCESS:
		error = append_threads(&list, pid, options->cpu);
		break;
	case GN_GRANULARITY_PROCESS_GROUP:
		error = append_process_group(&list, pid, options->cpu);
		break;
	case GN_GRANULARITY_CPU:
		error = append(&list, -1, options->cpu);
		break;
	case GN_GRANULARITY_SYSTEM:
		error = append_system(&list);
		break;
	default:
		error = append(&list, options->pid ? options->pid : tid, options->cpu);
		break;
	}
	if (!error && !list.n)
		error = gn_fail(GN_ESYS,
				"event set: no thread or CPU to count was found; name one");
	if (error) {
		free(list.target);
		return error;
	}
	*targets = list.target;
	return list.n;
}
