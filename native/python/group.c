/* Group: perf events that are opened, started, read and stopped together. */
#include "core.h"

#include <errno.h>
#include <gnomon/clock.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct group {
	PyObject_HEAD struct gn_group perf;
	PyObject *shape;
	/* What more events are opened on. */
	int pid;
	int cpu;
	int is_running;
	/*
	 * Readings in the layout of core_reading_words(): what the kernel had counted when counting
	 * last began, and when it last stopped, since when it stands still. The kernel's own reset
	 * would leave times, and what children that have exited counted, as they are.
	 */
	uint64_t *base;
	uint64_t *stopped;
	/* How many forks this process is away from the first one when the group was opened. */
	unsigned int forks;
};

static PyTypeObject *group_type;

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

static int words_of(const struct group *self)
{
	return self->perf.whole ? 3 + self->perf.n : 3 * self->perf.n;
}

/* Make room for n events, those that are new with counts of 0. */
static int make_room(uint64_t **words, const struct group *self, int n)
{
	const size_t had = *words ? (size_t)words_of(self) : 0;
	const size_t want = 3 + 3 * (size_t)n;
	uint64_t *more = PyMem_Realloc(*words, want * sizeof(uint64_t));

	if (!more) {
		PyErr_NoMemory();
		return -1;
	}
	memset(more + had, 0, (want - had) * sizeof(uint64_t));
	*words = more;
	return 0;
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
	if (!self->shape || make_room(&self->base, self, n) < 0 ||
	    make_room(&self->stopped, self, n) < 0) {
		Py_DECREF(self);
		return NULL;
	}
	self->forks = forks;
	self->pid = pid;
	self->cpu = cpu;
	/* What an execve starts, or the opening, runs without our start(). */
	self->is_running = !!(flags & (GN_STARTED | GN_ENABLE_ON_EXEC));
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
	PyMem_Free(self->base);
	PyMem_Free(self->stopped);
	Py_XDECREF(self->shape);
	release(self);
	Py_DECREF(type);
}

/*
 * A child has neither the mapped counters of its parent's groups nor a right to their
 * descriptors: reading would crash it or give the parent's counts, starting and stopping would
 * change them.
 */
static int is_open(struct group *self)
{
	if (self->forks != forks) {
		core_raise("ForkedError", "the event set was opened before a fork and belongs to "
					  "the parent process: open one of its own in the child");
		return 0;
	}
	if (self->perf.n > 0)
		return 1;
	PyErr_SetString(PyExc_ValueError, "the group is closed");
	return 0;
}

static PyObject *raise_refused(int failed)
{
	char text[160];

	if (failed == -EBUSY)
		return core_raise("CountersLostError",
				  "the event set is pinned, but the counters that it needs are "
				  "not free (EBUSY): count fewer events, end other users of the "
				  "PMU, or leave `pinned` out");
	snprintf(text, sizeof(text),
		 "the event set: the kernel refused to go on counting: %s (errno %d); close it and "
		 "open a new one",
		 strerror(-failed), -failed);
	return core_raise("KernelError", text);
}

/* What the kernel has counted since the group was opened. */
static int read_words(struct group *self, uint64_t *word)
{
	if (self->perf.whole)
		return gn_group_read(&self->perf, (struct gn_reading *)word);
	return gn_group_read_each(&self->perf, (struct gn_count *)word);
}

static PyObject *new_reading(struct group *self)
{
	return core_reading_new(self->shape, self->perf.n,
				self->perf.whole ? CORE_WHOLE : CORE_EACH);
}

static PyObject *group_read(struct group *self, PyObject *unused)
{
	const uint64_t *base = self->base;
	PyObject *reading;
	uint64_t *word;
	int failed;

	(void)unused;
	if (!is_open(self))
		return NULL;
	reading = new_reading(self);
	if (!reading)
		return NULL;
	word = core_reading_words(reading);
	failed = read_words(self, word);
	if (failed) {
		Py_DECREF(reading);
		return raise_refused(failed);
	}
	for (int i = 0, n = words_of(self); i < n; i++)
		word[i] -= base[i];
	return reading;
}

static PyObject *group_read_at(struct group *self, PyObject *unused)
{
	PyObject *reading = group_read(self, unused);
	const uint64_t ns = gn_clock_ns();

	return reading ? Py_BuildValue("(NK)", reading, (unsigned long long)ns) : NULL;
}

/* Make now the zero of every count and time, and give what was counted until now to `taken`. */
static int rebase(struct group *self, uint64_t *taken)
{
	uint64_t room[3 + 3 * GN_EVENTS_MAX];
	uint64_t *now = self->stopped;
	const int n = words_of(self);

	if (self->is_running) {
		const int failed = read_words(self, room);

		if (failed)
			return failed;
		now = room;
	}
	for (int i = 0; taken && i < n; i++)
		taken[i] = now[i] - self->base[i];
	memcpy(self->base, now, (size_t)n * sizeof(uint64_t));
	/* The first word of a whole group is how many events it has, no count. */
	if (self->perf.whole)
		self->base[0] = 0;
	return 0;
}

static PyObject *finish(int failed)
{
	if (failed)
		return raise_refused(failed);
	Py_RETURN_NONE;
}

static PyObject *group_start(struct group *self, PyObject *unused)
{
	int failed;

	(void)unused;
	if (!is_open(self))
		return NULL;
	failed = rebase(self, NULL);
	if (!failed)
		failed = gn_group_enable(&self->perf);
	if (!failed)
		self->is_running = 1;
	return finish(failed);
}

static PyObject *group_reset(struct group *self, PyObject *unused)
{
	(void)unused;
	return is_open(self) ? finish(rebase(self, NULL)) : NULL;
}

static PyObject *group_take(struct group *self, PyObject *unused)
{
	PyObject *reading;
	int failed;

	(void)unused;
	if (!is_open(self))
		return NULL;
	reading = new_reading(self);
	if (!reading)
		return NULL;
	failed = rebase(self, core_reading_words(reading));
	if (failed) {
		Py_DECREF(reading);
		return raise_refused(failed);
	}
	return reading;
}

static PyObject *group_stop(struct group *self, PyObject *unused)
{
	PyObject *reading;
	uint64_t *word;
	int failed;

	(void)unused;
	if (!is_open(self))
		return NULL;
	failed = gn_group_disable(&self->perf);
	if (!failed)
		failed = read_words(self, self->stopped);
	if (failed)
		return raise_refused(failed);
	self->is_running = 0;
	reading = new_reading(self);
	if (!reading)
		return NULL;
	word = core_reading_words(reading);
	for (int i = 0, n = words_of(self); i < n; i++)
		word[i] = self->stopped[i] - self->base[i];
	return reading;
}

static PyObject *group_close(struct group *self, PyObject *unused)
{
	(void)unused;
	close_group(self);
	Py_RETURN_NONE;
}

static int set_shape(struct group *self, PyObject *descriptors)
{
	PyObject *shape =
		descriptors ? PyTuple_Pack(2, descriptors, PyTuple_GetItem(self->shape, 1)) : NULL;

	Py_XDECREF(descriptors);
	if (!shape)
		return -1;
	Py_DECREF(self->shape);
	self->shape = shape;
	return 0;
}

static PyObject *group_add(struct group *self, PyObject *args)
{
	struct gn_event_spec spec[GN_EVENTS_MAX];
	PyObject *list, *descriptors;
	int n, result, failed;

	if (!PyArg_ParseTuple(args, "OO!:add", &list, &PyTuple_Type, &descriptors) ||
	    !is_open(self))
		return NULL;
	n = core_parse_specs(list, spec);
	if (n < 0)
		return NULL;
	if (PyTuple_Size(descriptors) != n)
		return PyErr_Format(PyExc_ValueError, "%zd descriptors for %d events",
				    PyTuple_Size(descriptors), n);
	if (make_room(&self->base, self, self->perf.n + n) < 0 ||
	    make_room(&self->stopped, self, self->perf.n + n) < 0)
		return NULL;
	result = gn_group_add_led(&self->perf, spec, n, self->pid, self->cpu, &failed);
	if (result < 0)
		return raise_open_error(result, failed);
	if (set_shape(self, PySequence_Concat(PyTuple_GetItem(self->shape, 0), descriptors)) < 0) {
		for (int i = 0; i < n; i++)
			gn_group_remove(&self->perf, self->perf.n - 1);
		return NULL;
	}
	Py_RETURN_NONE;
}

static void drop_words(const struct group *self, uint64_t *word, int index)
{
	const int width = self->perf.whole ? 1 : 3;
	const int offset = self->perf.whole ? 3 + index : 3 * index;

	/* The group has one event less by now. */
	memmove(word + offset, word + offset + width,
		(size_t)(words_of(self) - offset) * sizeof(uint64_t));
}

static PyObject *group_remove(struct group *self, PyObject *arg)
{
	const Py_ssize_t index = PyNumber_AsSsize_t(arg, PyExc_IndexError);
	PyObject *all, *before, *after;
	int failed;

	if ((index == -1 && PyErr_Occurred()) || !is_open(self))
		return NULL;
	if (index < 0 || index >= self->perf.n || self->perf.n == 1)
		return PyErr_Format(PyExc_IndexError, "event %zd of a group of %d", index,
				    self->perf.n);
	all = PyTuple_GetItem(self->shape, 0);
	before = PyTuple_GetSlice(all, 0, index);
	after = PyTuple_GetSlice(all, index + 1, PyTuple_Size(all));
	all = before && after ? PySequence_Concat(before, after) : NULL;
	Py_XDECREF(before);
	Py_XDECREF(after);
	failed = all ? gn_group_remove(&self->perf, (int)index) : 0;
	if (failed) {
		Py_DECREF(all);
		return core_set_errno(failed);
	}
	if (set_shape(self, all) < 0)
		return NULL;
	drop_words(self, self->base, (int)index);
	drop_words(self, self->stopped, (int)index);
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

struct gn_group *core_group_to_rotate(PyObject *object)
{
	struct group *self = (struct group *)object;

	if (!PyObject_TypeCheck(object, group_type)) {
		PyErr_SetString(PyExc_TypeError, "only a Group can be rotated");
		return NULL;
	}
	if (!is_open(self))
		return NULL;
	/* From now on what it has counted must be asked for. */
	self->is_running = 1;
	return &self->perf;
}

static PyMethodDef methods[] = {
	{"start", (PyCFunction)group_start, METH_NOARGS, "start()\n\nCount from zero."},
	{"read", (PyCFunction)group_read, METH_NOARGS,
	 "read() -> Reading\n\nThe counts since the start, one system call at most for a group."},
	{"read_at", (PyCFunction)group_read_at, METH_NOARGS,
	 "read_at() -> (Reading, ns)\n\nThe same, and the time of clock_ns() right after it."},
	{"reset", (PyCFunction)group_reset, METH_NOARGS,
	 "reset()\n\nBack to zero, still counting."},
	{"take", (PyCFunction)group_take, METH_NOARGS,
	 "take() -> Reading\n\nread() and reset() at one moment: nothing is lost between them."},
	{"add", (PyCFunction)group_add, METH_VARARGS,
	 "add(specs, descriptors)\n\nOpen more events beside those there. Raises OpenError."},
	{"remove", (PyCFunction)group_remove, METH_O,
	 "remove(index)\n\nClose one event, which must not be the last nor lead others."},
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
		{"ADDRESS_RECORDS", GN_ADDRESS_RECORDS},
		{"USER_READ", GN_USER_READ},
		{"INHERIT_THREADS", GN_INHERIT_THREADS},
		{"INDEPENDENT", GN_INDEPENDENT},
		{"CGROUP", GN_CGROUP},
		{"STARTED", GN_STARTED},
		{"EXCLUDE_USER", GN_EXCLUDE_USER},
		{"EXCLUDE_KERNEL", GN_EXCLUDE_KERNEL},
		{"EXCLUDE_HYPERVISOR", GN_EXCLUDE_HYPERVISOR},
		{"EXCLUDE_HOST", GN_EXCLUDE_HOST},
		{"EXCLUDE_GUEST", GN_EXCLUDE_GUEST},
		{"EXCLUDE_IDLE", GN_EXCLUDE_IDLE},
		{"EVENTS_MAX", GN_EVENTS_MAX},
	};
	if (pthread_atfork(NULL, NULL, count_fork) != 0) {
		PyErr_NoMemory();
		return -1;
	}
	group_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec_of_type, NULL);
	if (!group_type || PyModule_AddType(module, group_type) < 0)
		return -1;
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++) {
		if (PyModule_AddIntConstant(module, constants[i].name, constants[i].value) < 0)
			return -1;
	}
	return 0;
}
