/* Rotation: groups that take turns, by the core's own thread. */
#include "core.h"

#include <gnomon/rotate.h>

struct rotation {
	PyObject_HEAD struct gn_rotation *core;
	/* The groups that the thread uses stay alive for as long as it may. */
	PyObject *groups;
};

static PyObject *rotation_prepare(struct rotation *self, PyObject *unused)
{
	int failed = 0;

	(void)unused;
	if (!self->core)
		failed = gn_rotation_prepare(&self->core);
	if (failed)
		return core_set_errno(failed);
	Py_RETURN_NONE;
}

/* Put every group of every turn into `all`; how many, or -1 with an exception set. */
static int collect(PyObject *turns, struct gn_group **all, int *width)
{
	const Py_ssize_t n = PyTuple_Size(turns);
	int collected = 0;

	for (Py_ssize_t i = 0; i < n; i++) {
		PyObject *turn = PyTuple_GetItem(turns, i);
		Py_ssize_t size = PyTuple_Check(turn) ? PyTuple_Size(turn) : 0;

		if (size < 1 || (i > 0 && size != *width) ||
		    size > GN_ROTATION_GROUPS_MAX - collected) {
			PyErr_Format(PyExc_ValueError,
				     "turns are tuples of equally many groups, %d in all at most",
				     GN_ROTATION_GROUPS_MAX);
			return -1;
		}
		*width = (int)size;
		for (Py_ssize_t j = 0; j < size; j++) {
			all[collected] = core_group_to_rotate(PyTuple_GetItem(turn, j));
			if (!all[collected++])
				return -1;
		}
	}
	return collected;
}

static PyObject *rotation_start(struct rotation *self, PyObject *args)
{
	struct gn_group *all[GN_ROTATION_GROUPS_MAX];
	unsigned long long slice_ns;
	PyObject *turns;
	int width = 1, n, failed;

	if (!PyArg_ParseTuple(args, "O!K:start", &PyTuple_Type, &turns, &slice_ns))
		return NULL;
	n = collect(turns, all, &width);
	if (n < 0)
		return NULL;
	failed = gn_rotation_start_wide(&self->core, all, n / width, width, slice_ns);
	if (failed)
		return core_set_errno(failed);
	Py_XDECREF(self->groups);
	self->groups = Py_NewRef(turns);
	Py_RETURN_NONE;
}

static PyObject *rotation_pause(struct rotation *self, PyObject *unused)
{
	const int failed = gn_rotation_pause(self->core);

	(void)unused;
	if (failed)
		return core_set_errno(failed);
	Py_RETURN_NONE;
}

static void stop(struct rotation *self)
{
	struct gn_rotation *core = self->core;

	self->core = NULL;
	gn_rotation_stop(core);
	Py_CLEAR(self->groups);
}

static PyObject *rotation_close(struct rotation *self, PyObject *unused)
{
	(void)unused;
	stop(self);
	Py_RETURN_NONE;
}

static PyObject *rotation_turns(struct rotation *self, void *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(gn_rotation_turns(self->core));
}

static void rotation_dealloc(struct rotation *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	stop(self);
	release(self);
	Py_DECREF(type);
}

static PyMethodDef methods[] = {
	{"prepare", (PyCFunction)rotation_prepare, METH_NOARGS,
	 "prepare()\n\nMake the thread now, so that events opened later do not inherit to it."},
	{"start", (PyCFunction)rotation_start, METH_VARARGS,
	 "start(turns, slice_ns)\n\nEnable the groups of the first turn, then those of the next."},
	{"pause", (PyCFunction)rotation_pause, METH_NOARGS,
	 "pause()\n\nDisable the groups whose turn it is; start() begins again."},
	{"close", (PyCFunction)rotation_close, METH_NOARGS, "close()\n\nPause and end the thread."},
	{NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
	{"turns", (getter)rotation_turns, NULL, "How many slices have begun since the start.",
	 NULL},
	{NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "Rotation()\n\nGroups that are enabled one turn after the other."},
	{Py_tp_dealloc, rotation_dealloc},
	{Py_tp_methods, methods},
	{Py_tp_getset, attributes},
	{0, NULL},
};

static PyType_Spec spec_of_type = {
	.name = "gnomon._core.Rotation",
	.basicsize = sizeof(struct rotation),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int core_add_rotation(PyObject *module)
{
	PyObject *type = PyType_FromModuleAndSpec(module, &spec_of_type, NULL);
	int failed = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;

	Py_XDECREF(type);
	return failed;
}
