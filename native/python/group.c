/* Group: perf events that are opened, started, read and stopped together. */
#include "core.h"

#include <pthread.h>
#include <string.h>

struct group {
	PyObject_HEAD struct gn_group perf;
	PyObject *shape;
	/*
	 * What the kernel had counted when counting last began. A reset of the kernel's counters
	 * leaves their times as they are, and leaves the counts of children that have exited.
	 */
	struct gn_count base[GN_EVENTS_MAX];
	/* How many forks this process is away from the first one when the group was opened. */
	unsigned int forks;
	/* Times of a whole group at its last stop; they stand still while it is disabled. */
	uint64_t stopped_enabled;
	uint64_t stopped_running;
};

/* Forks between the process that loaded the extension and this one. */
static unsigned int forks;

static void count_fork(void)
{
	forks++;
}

int core_parse_specs(PyObject *list, struct gn_event_spec *spec)
{
	Py_ssize_t n = PySequence_Size(list);

	if (n < 0)
		return -1;
	if (n < 1 || n > GN_EVENTS_MAX) {
		PyErr_Format(PyExc_ValueError, "a group has 1 to %d events, not %zd", GN_EVENTS_MAX,
			     n);
		return -1;
	}
	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *item = PySequence_GetItem(list, i);
		unsigned long long config, config1, config2, config3;
		unsigned int type, exclude;
		int leader, parsed;

		if (!item)
			return -1;
		parsed = PyTuple_Check(item) &&
			 PyArg_ParseTuple(item, "IKKKKIi", &type, &config, &config1, &config2,
					  &config3, &exclude, &leader);
		Py_DECREF(item);
		if (!parsed) {
			if (!PyErr_Occurred())
				PyErr_SetString(PyExc_TypeError,
						"an event is a tuple of 7 integers");
			return -1;
		}
		spec[i] = (struct gn_event_spec){
			.type = type,
			.exclude = exclude,
			.leader = leader,
			.config = config,
			.config1 = config1,
			.config2 = config2,
			.config3 = config3,
		};
	}
	return (int)n;
}

static PyObject *raise_open_error(int failed_errno, int index)
{
	PyObject *error = PyObject_CallFunction(core_open_error, "is", -failed_errno,
						strerror(-failed_errno));
	PyObject *place = error ? PyLong_FromLong(index) : NULL;

	if (place && PyObject_SetAttrString(error, "index", place) == 0)
		PyErr_SetObject(core_open_error, error);
	Py_XDECREF(place);
	Py_XDECREF(error);
	return NULL;
}

static PyObject *group_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"specs", "pid", "cpu", "flags", "descriptors", "factory", NULL};
	struct gn_event_spec spec[GN_EVENTS_MAX];
	PyObject *list, *descriptors, *factory;
	int pid, cpu, n, result, failed;
	struct group *self;
	unsigned int flags;
	allocfunc allocate;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OiiIO!O:Group", names, &list, &pid, &cpu,
					 &flags, &PyTuple_Type, &descriptors, &factory))
		return NULL;
	n = core_parse_specs(list, spec);
	if (n < 0)
		return NULL;
	if (PyTuple_Size(descriptors) != n)
		return PyErr_Format(PyExc_ValueError, "%zd descriptors for %d events",
				    PyTuple_Size(descriptors), n);
	allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	self = (struct group *)allocate(type, 0);
	if (!self)
		return NULL;
	self->shape = PyTuple_Pack(2, descriptors, factory);
	if (!self->shape) {
		Py_DECREF(self);
		return NULL;
	}
	self->forks = forks;
	result = gn_group_open(&self->perf, spec, n, pid, cpu, flags, &failed);
	if (result < 0) {
		Py_DECREF(self);
		return raise_open_error(result, failed);
	}
	return (PyObject *)self;
}

static void close_group(struct group *self)
{
	/* What was mapped in the parent is not here, and something else may be in its place. */
	for (int i = 0; self->forks != forks && i < self->perf.n; i++)
		self->perf.page[i] = NULL;
	gn_group_close(&self->perf);
}

static void group_dealloc(struct group *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	close_group(self);
	Py_XDECREF(self->shape);
	release(self);
	Py_DECREF(type);
}

/*
 * A child has neither the mapped counters of its parent's groups nor a right to their
 * descriptors: reading would crash it or give the parent's counts, starting and stopping would
 * change them.
 */
static int raise_forked(void)
{
	PyObject *errors = PyImport_ImportModule("gnomon.errors");
	PyObject *kind = errors ? PyObject_GetAttrString(errors, "ForkedError") : NULL;

	if (kind)
		PyErr_SetString(kind, "the event set was opened before a fork and belongs to the "
				      "parent process: open one of its own in the child");
	Py_XDECREF(kind);
	Py_XDECREF(errors);
	return 0;
}

static int is_open(struct group *self)
{
	if (self->forks != forks)
		return raise_forked();
	if (self->perf.n > 0)
		return 1;
	PyErr_SetString(PyExc_ValueError, "the group is closed");
	return 0;
}

static PyObject *group_read(struct group *self, PyObject *unused)
{
	PyObject *reading;
	uint64_t *word;
	int failed;

	(void)unused;
	if (!is_open(self))
		return NULL;
	reading = core_reading_new(self->shape, self->perf.n,
				   self->perf.whole ? CORE_WHOLE : CORE_EACH);
	if (!reading)
		return NULL;
	word = core_reading_words(reading);
	if (self->perf.whole) {
		failed = gn_group_read(&self->perf, (struct gn_reading *)word);
		word[1] -= self->base[0].enabled;
		word[2] -= self->base[0].running;
	} else {
		struct gn_count *count = (struct gn_count *)word;

		failed = gn_group_read_each(&self->perf, count);
		for (int i = 0; i < self->perf.n; i++) {
			count[i].value -= self->base[i].value;
			count[i].enabled -= self->base[i].enabled;
			count[i].running -= self->base[i].running;
		}
	}
	if (failed) {
		Py_DECREF(reading);
		return core_set_errno(failed);
	}
	return reading;
}

/* Make now the zero of every count and time. */
static int rebase(struct group *self, int running)
{
	int failed;

	if (!self->perf.whole)
		return gn_group_read_each(&self->perf, self->base);
	failed = gn_group_reset(&self->perf);
	if (!failed && running) {
		struct gn_count now[GN_EVENTS_MAX];

		failed = gn_group_read_each(&self->perf, now);
		self->stopped_enabled = now[0].enabled;
		self->stopped_running = now[0].running;
	}
	self->base[0].enabled = self->stopped_enabled;
	self->base[0].running = self->stopped_running;
	return failed;
}

static PyObject *finish(int failed)
{
	if (failed)
		return core_set_errno(failed);
	Py_RETURN_NONE;
}

static PyObject *group_start(struct group *self, PyObject *unused)
{
	int failed;

	(void)unused;
	if (!is_open(self))
		return NULL;
	failed = rebase(self, 0);
	if (!failed)
		failed = gn_group_enable(&self->perf);
	return finish(failed);
}

static PyObject *group_reset(struct group *self, PyObject *unused)
{
	(void)unused;
	return is_open(self) ? finish(rebase(self, 1)) : NULL;
}

static PyObject *group_stop(struct group *self, PyObject *unused)
{
	PyObject *reading;
	int failed;

	(void)unused;
	if (!is_open(self))
		return NULL;
	failed = gn_group_disable(&self->perf);
	if (failed)
		return core_set_errno(failed);
	reading = group_read(self, NULL);
	if (reading && self->perf.whole) {
		const uint64_t *word = core_reading_words(reading);

		self->stopped_enabled = word[1] + self->base[0].enabled;
		self->stopped_running = word[2] + self->base[0].running;
	}
	return reading;
}

static PyObject *group_close(struct group *self, PyObject *unused)
{
	(void)unused;
	close_group(self);
	Py_RETURN_NONE;
}

static PyObject *group_fds(struct group *self, void *unused)
{
	PyObject *all = PyTuple_New(self->perf.n);

	(void)unused;
	for (int i = 0; all && i < self->perf.n; i++) {
		PyObject *fd = PyLong_FromLong(self->perf.fd[i]);

		if (!fd || PyTuple_SetItem(all, i, fd) < 0)
			Py_CLEAR(all);
	}
	return all;
}

static PyObject *group_user_readable(struct group *self, void *unused)
{
	struct gn_count count;
	int readable = self->perf.mapped && self->perf.n > 0 && self->forks == forks;

	(void)unused;
	for (int i = 0; readable && i < self->perf.n; i++)
		readable = gn_user_read(self->perf.page[i], &count);
	return PyBool_FromLong(readable);
}

static PyMethodDef methods[] = {
	{"start", (PyCFunction)group_start, METH_NOARGS, "start()\n\nCount from zero."},
	{"read", (PyCFunction)group_read, METH_NOARGS,
	 "read() -> Reading\n\nThe counts since the start, one system call at most for a group."},
	{"reset", (PyCFunction)group_reset, METH_NOARGS,
	 "reset()\n\nBack to zero, still counting."},
	{"stop", (PyCFunction)group_stop, METH_NOARGS, "stop() -> Reading\n\nThe final counts."},
	{"close", (PyCFunction)group_close, METH_NOARGS, "close()\n\nGive the descriptors back."},
	{"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, "For annotations."},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
	{"fds", (getter)group_fds, NULL, "The events' file descriptors.", NULL},
	{"user_readable", (getter)group_user_readable, NULL,
	 "Whether a read by this thread takes no system call at this moment.", NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "Group(specs, pid, cpu, flags, descriptors, factory)\n\n"
		    "Perf events opened together. An event is (type, config, config1, config2, "
		    "config3, exclude, leader). Raises OpenError."},
	{Py_tp_new, group_new},
	{Py_tp_dealloc, group_dealloc},
	{Py_tp_methods, methods},
	{Py_tp_getset, attributes},
	{0, NULL},
};

static PyType_Spec spec_of_type = {
	.name = "gnomon._core.Group",
	.basicsize = sizeof(struct group),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int core_add_group(PyObject *module)
{
	static const struct {
		const char *name;
		long value;
	} constants[] = {
		{"INHERIT", GN_INHERIT},
		{"ENABLE_ON_EXEC", GN_ENABLE_ON_EXEC},
		{"PINNED", GN_PINNED},
		{"EXCLUSIVE", GN_EXCLUSIVE},
		{"INHERIT_STAT", GN_INHERIT_STAT},
		{"TASK_RECORDS", GN_TASK_RECORDS},
		{"USER_READ", GN_USER_READ},
		{"STARTED", GN_STARTED},
		{"EXCLUDE_USER", GN_EXCLUDE_USER},
		{"EXCLUDE_KERNEL", GN_EXCLUDE_KERNEL},
		{"EXCLUDE_HYPERVISOR", GN_EXCLUDE_HYPERVISOR},
		{"EXCLUDE_HOST", GN_EXCLUDE_HOST},
		{"EXCLUDE_GUEST", GN_EXCLUDE_GUEST},
		{"EXCLUDE_IDLE", GN_EXCLUDE_IDLE},
		{"EVENTS_MAX", GN_EVENTS_MAX},
	};
	PyObject *type;

	if (pthread_atfork(NULL, NULL, count_fork) != 0) {
		PyErr_NoMemory();
		return -1;
	}
	type = PyType_FromModuleAndSpec(module, &spec_of_type, NULL);
	if (!type)
		return -1;
	if (PyModule_AddType(module, (PyTypeObject *)type) < 0) {
		Py_DECREF(type);
		return -1;
	}
	Py_DECREF(type);
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
			return -1;
	}
	return 0;
}
