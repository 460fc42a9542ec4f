/*
 * What clocks and the bare system calls of a group cost: the floor that anything above them can be
 * held against. Every sample is measured by gn_clock_ns(), and returned as uint64_t in bytes.
 */
#include "core.h"

#include <gnomon/clock.h>

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S 1000000000u
#define NS_PER_US 1000u
#define SAMPLES_MAX (1 << 24)

static uint64_t posix_ns(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t real_us(void)
{
	return gn_clock_ns() / NS_PER_US;
}

static uint64_t virtual_us(void)
{
	return gn_clock_virtual_ns() / NS_PER_US;
}

static uint64_t virtual_cycles(void)
{
	return (uint64_t)((double)gn_clock_virtual_ns() * (gn_clock_hz() / 1e9));
}

static uint64_t monotonic_raw(void)
{
	return posix_ns(CLOCK_MONOTONIC_RAW);
}

static uint64_t monotonic(void)
{
	return posix_ns(CLOCK_MONOTONIC);
}

static uint64_t realtime(void)
{
	return posix_ns(CLOCK_REALTIME);
}

static uint64_t monotonic_coarse(void)
{
	return posix_ns(CLOCK_MONOTONIC_COARSE);
}

/* No clock, but what every system call costs at least. */
static uint64_t system_call(void)
{
	return (uint64_t)syscall(SYS_getppid);
}

static const struct {
	const char *name;
	uint64_t (*read)(void);
} clocks[] = {
	{"real_cycles", gn_clock_ticks},
	{"real_ns", gn_clock_ns},
	{"real_us", real_us},
	{"virtual_cycles", virtual_cycles},
	{"virtual_ns", gn_clock_virtual_ns},
	{"virtual_us", virtual_us},
	{"virtual_process_ns", gn_clock_process_ns},
	{"monotonic_raw", monotonic_raw},
	{"monotonic", monotonic},
	{"realtime", realtime},
	{"monotonic_coarse", monotonic_coarse},
	{"system_call", system_call},
};

static uint64_t (*clock_of(const char *name))(void)
{
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++)
		if (!strcmp(name, clocks[i].name))
			return clocks[i].read;
	PyErr_Format(PyExc_ValueError, "there is no clock '%s'", name);
	return NULL;
}

/* Room for n samples, all pages of it touched; NULL with an exception set. */
static uint64_t *new_samples(Py_ssize_t n)
{
	uint64_t *sample;

	if (n < 1 || n > SAMPLES_MAX) {
		PyErr_Format(PyExc_ValueError, "1 to %d samples, not %zd", SAMPLES_MAX, n);
		return NULL;
	}
	sample = PyMem_Malloc((size_t)n * sizeof(*sample));
	if (!sample)
		return (uint64_t *)PyErr_NoMemory();
	memset(sample, 1, (size_t)n * sizeof(*sample));
	return sample;
}

static PyObject *returned(uint64_t *sample, Py_ssize_t n, int failed)
{
	PyObject *bytes = NULL;

	if (failed < 0)
		core_set_errno(failed);
	else
		bytes = PyBytes_FromStringAndSize((const char *)sample,
						  n * (Py_ssize_t)sizeof(*sample));
	PyMem_Free(sample);
	return bytes;
}

static PyObject *clock_samples(PyObject *module, PyObject *args)
{
	uint64_t (*read_clock)(void);
	uint64_t *sample;
	const char *name;
	Py_ssize_t n;

	(void)module;
	if (!PyArg_ParseTuple(args, "sn:clock_samples", &name, &n))
		return NULL;
	read_clock = clock_of(name);
	sample = read_clock ? new_samples(n) : NULL;
	if (!sample)
		return NULL;
	for (Py_ssize_t i = 0; i < n; i++)
		sample[i] = read_clock();
	return returned(sample, n, 0);
}

static PyObject *clock_costs(PyObject *module, PyObject *args)
{
	uint64_t (*read_clock)(void);
	Py_ssize_t batches, calls;
	uint64_t *sample;
	const char *name;

	(void)module;
	if (!PyArg_ParseTuple(args, "snn:clock_costs", &name, &batches, &calls))
		return NULL;
	read_clock = clock_of(name);
	sample = read_clock ? new_samples(batches) : NULL;
	if (!sample)
		return NULL;
	for (Py_ssize_t i = 0; i < batches; i++) {
		uint64_t begun = gn_clock_ns();

		for (Py_ssize_t call = 0; call < calls; call++)
			read_clock();
		sample[i] = gn_clock_ns() - begun;
	}
	return returned(sample, batches, 0);
}

struct raw_group {
	int leader;
	size_t size;
	char words[sizeof(struct gn_reading) + GN_EVENTS_MAX * sizeof(uint64_t)];
};

static int control(const struct raw_group *group, unsigned long request)
{
	return ioctl(group->leader, request, PERF_IOC_FLAG_GROUP) ? -errno : 0;
}

static int do_nothing(struct raw_group *group)
{
	(void)group;
	return 0;
}

static int do_read(struct raw_group *group)
{
	return read(group->leader, group->words, group->size) < 0 ? -errno : 0;
}

static int do_enable(struct raw_group *group)
{
	return control(group, PERF_EVENT_IOC_ENABLE);
}

static int do_disable(struct raw_group *group)
{
	return control(group, PERF_EVENT_IOC_DISABLE);
}

static int do_reset(struct raw_group *group)
{
	return control(group, PERF_EVENT_IOC_RESET);
}

static int do_start(struct raw_group *group)
{
	int failed = do_reset(group);

	return failed ? failed : do_enable(group);
}

static int do_stop(struct raw_group *group)
{
	int failed = do_read(group);

	return failed ? failed : do_disable(group);
}

static int do_accumulate(struct raw_group *group)
{
	int failed = do_read(group);

	return failed ? failed : do_reset(group);
}

/*
 * `before` is not measured: it brings the group to where the operation begins. What counts costs
 * more to read and reset than what stands still.
 */
static const struct {
	const char *name;
	int (*before)(struct raw_group *);
	int (*measured)(struct raw_group *);
} operations[] = {
	{"nothing", do_nothing, do_nothing}, {"start", do_disable, do_start},
	{"stop", do_enable, do_stop},	     {"read", do_enable, do_read},
	{"reset", do_enable, do_reset},	     {"accumulate", do_enable, do_accumulate},
};

static int measure(struct raw_group *group, size_t kind, Py_ssize_t n, uint64_t *sample)
{
	int failed = 0;

	for (Py_ssize_t i = 0; i < n && !failed; i++) {
		uint64_t begun;

		failed = operations[kind].before(group);
		begun = gn_clock_ns();
		if (!failed)
			failed = operations[kind].measured(group);
		sample[i] = gn_clock_ns() - begun;
	}
	if (kind)
		control(group, PERF_EVENT_IOC_DISABLE);
	return failed;
}

static PyObject *raw_costs(PyObject *module, PyObject *args)
{
	struct raw_group group;
	const char *operation;
	uint64_t *sample;
	PyObject *fds;
	Py_ssize_t n;
	size_t kind = 0, kinds = sizeof(operations) / sizeof(operations[0]);

	(void)module;
	if (!PyArg_ParseTuple(args, "O!sn:raw_costs", &PyTuple_Type, &fds, &operation, &n))
		return NULL;
	while (kind < kinds && strcmp(operation, operations[kind].name))
		kind++;
	if (kind == kinds)
		return PyErr_Format(PyExc_ValueError, "there is no operation '%s'", operation);
	if (PyTuple_Size(fds) < 1 || PyTuple_Size(fds) > GN_EVENTS_MAX)
		return PyErr_Format(PyExc_ValueError, "a group has 1 to %d events", GN_EVENTS_MAX);
	group.leader = (int)PyLong_AsLong(PyTuple_GetItem(fds, 0));
	if (PyErr_Occurred())
		return NULL;
	group.size = gn_reading_size((int)PyTuple_Size(fds));
	sample = new_samples(n);
	if (!sample)
		return NULL;
	return returned(sample, n, measure(&group, kind, n, sample));
}

static PyObject *raw_open_costs(PyObject *module, PyObject *args)
{
	struct gn_event_spec spec[GN_EVENTS_MAX];
	struct perf_event_attr attr[GN_EVENTS_MAX];
	int fd[GN_EVENTS_MAX];
	int n, failed = 0;
	Py_ssize_t samples;
	uint64_t *sample;
	PyObject *list;

	(void)module;
	if (!PyArg_ParseTuple(args, "On:raw_open_costs", &list, &samples))
		return NULL;
	n = core_parse_specs(list, spec);
	sample = n > 0 ? new_samples(samples) : NULL;
	if (!sample)
		return NULL;
	for (int i = 0; i < n; i++)
		gn_attr_init(&attr[i], &spec[i], 0);
	for (Py_ssize_t sample_number = 0; sample_number < samples && !failed; sample_number++) {
		uint64_t begun = gn_clock_ns();
		int opened = 0;

		while (opened < n && !failed) {
			int leader = opened ? fd[0] : -1;

			fd[opened] = gn_perf_open(&attr[opened], 0, -1, leader);
			if (fd[opened] < 0)
				failed = fd[opened];
			else
				opened++;
		}
		while (opened)
			close(fd[--opened]);
		sample[sample_number] = gn_clock_ns() - begun;
	}
	return returned(sample, samples, failed);
}

static PyMethodDef functions[] = {
	{"clock_samples", clock_samples, METH_VARARGS,
	 "clock_samples(name, samples) -> bytes\n\nConsecutive readings of a clock."},
	{"clock_costs", clock_costs, METH_VARARGS,
	 "clock_costs(name, batches, calls) -> bytes\n\n"
	 "Nanoseconds that each batch of that many calls of a clock took."},
	{"raw_costs", raw_costs, METH_VARARGS,
	 "raw_costs(fds, operation, samples) -> bytes\n\n"
	 "Nanoseconds that the bare system calls on the descriptors of one kernel group took:\n"
	 "start (reset, enable), stop (read, disable), read, reset, accumulate (read, reset),\n"
	 "nothing. Raises OSError."},
	{"raw_open_costs", raw_open_costs, METH_VARARGS,
	 "raw_open_costs(specs, samples) -> bytes\n\n"
	 "Nanoseconds to open events as one kernel group and close them. Raises OSError."},
	{NULL, NULL, 0, NULL},
};

int core_add_cost(PyObject *module)
{
	return PyModule_AddFunctions(module, functions);
}
