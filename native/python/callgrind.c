/* Callgrind: the sums and arcs of a file of callgrind, as arrays. */
#include "core.h"

#include "callgrind.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct callgrind {
	PyObject_HEAD PyObject *data;
	struct gn_callgrind *scan;
};

static PyObject *callgrind_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"data", "lines_most", NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct callgrind *self;
	PyObject *data;
	unsigned int lines_most;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!I:Callgrind", names, &PyBytes_Type, &data,
					 &lines_most))
		return NULL;
	self = (struct callgrind *)allocate(type, 0);
	if (!self)
		return NULL;
	Py_INCREF(data);
	self->data = data;
	self->scan = malloc(sizeof(*self->scan));
	if (!self->scan || gn_callgrind_init(self->scan, PyBytes_AsString(data),
					     (size_t)PyBytes_Size(data), lines_most) < 0) {
		free(self->scan);
		self->scan = NULL;
		Py_DECREF(self);
		return PyErr_NoMemory();
	}
	return (PyObject *)self;
}

static void callgrind_dealloc(struct callgrind *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	if (self->scan)
		gn_callgrind_free(self->scan);
	free(self->scan);
	Py_XDECREF(self->data);
	release(self);
	Py_DECREF(type);
}

static PyObject *callgrind_scan(struct callgrind *self, PyObject *args)
{
	struct gn_callgrind *scan = self->scan;
	PyThreadState *others;
	unsigned int bytes;
	PyObject *told;
	int more;

	if (!PyArg_ParseTuple(args, "I:scan", &bytes))
		return NULL;
	others = PyEval_SaveThread();
	more = gn_callgrind_scan(scan, bytes);
	PyEval_RestoreThread(others);
	if (more >= 0)
		return PyBool_FromLong(more);
	if (more != -EBADMSG)
		return PyErr_NoMemory();
	/* Names that are told may be of any bytes. */
	told = PyUnicode_DecodeUTF8(scan->problem, (Py_ssize_t)strlen(scan->problem),
				    "backslashreplace");
	if (told) {
		PyObject *value = Py_BuildValue("(Nnn)", told, (Py_ssize_t)(scan->at - scan->data),
						(Py_ssize_t)scan->line_number);

		if (value)
			PyErr_SetObject(PyExc_ValueError, value);
		Py_XDECREF(value);
	}
	return NULL;
}

static PyObject *bytes_of(const void *array, size_t n, size_t element_bytes)
{
	return PyBytes_FromStringAndSize(n ? array : "", (Py_ssize_t)(n * element_bytes));
}

static PyObject *callgrind_samples(struct callgrind *self, PyObject *unused)
{
	(void)unused;
	return bytes_of(self->scan->samples, self->scan->n_samples, sizeof(*self->scan->samples));
}

static PyObject *tuple_of_texts(const struct gn_text *texts, uint32_t n)
{
	PyObject *tuple = PyTuple_New((Py_ssize_t)n);

	for (uint32_t i = 0; tuple && i < n; i++) {
		PyObject *text = bytes_of(texts[i].begin, texts[i].length, 1);

		if (!text || PyTuple_SetItem(tuple, (Py_ssize_t)i, text) < 0) {
			Py_DECREF(tuple);
			return NULL;
		}
	}
	return tuple;
}

static PyObject *callgrind_texts(struct callgrind *self, PyObject *unused)
{
	(void)unused;
	return tuple_of_texts(self->scan->texts.texts, self->scan->texts.slots.n);
}

static PyObject *callgrind_headers(struct callgrind *self, PyObject *unused)
{
	(void)unused;
	return tuple_of_texts(self->scan->headers, self->scan->n_headers);
}

static PyObject *callgrind_events(struct callgrind *self, PyObject *unused)
{
	(void)unused;
	return tuple_of_texts(self->scan->events, self->scan->n_events);
}

static PyObject *callgrind_negative(struct callgrind *self, PyObject *unused)
{
	(void)unused;
	return bytes_of(self->scan->is_negative, self->scan->n_events, sizeof(bool));
}

static PyObject *callgrind_places(struct callgrind *self, PyObject *unused)
{
	(void)unused;
	return bytes_of(self->scan->places.keys, self->scan->places.slots.n, sizeof(struct gn_key));
}

static PyObject *callgrind_functions(struct callgrind *self, PyObject *unused)
{
	(void)unused;
	return bytes_of(self->scan->functions.keys, self->scan->functions.slots.n,
			sizeof(struct gn_key));
}

static PyObject *callgrind_lines(struct callgrind *self, PyObject *unused)
{
	(void)unused;
	return bytes_of(self->scan->lines.keys, self->scan->lines.slots.n, sizeof(struct gn_key));
}

static PyObject *callgrind_parts(struct callgrind *self, PyObject *unused)
{
	(void)unused;
	return Py_BuildValue("II", self->scan->n_parts, self->scan->n_totals);
}

/* Costs of the next chains, and the number of the chain that comes then. */
static PyObject *costs(struct callgrind *self, PyObject *args,
		       uint32_t (*take)(const struct gn_callgrind *scan, uint32_t *chain,
					struct gn_callgrind_cost *costs, uint32_t most))
{
	struct gn_callgrind_cost *taken;
	unsigned int chain, most;
	PyObject *bytes;
	uint32_t n;

	if (!PyArg_ParseTuple(args, "II:costs", &chain, &most))
		return NULL;
	if (most < self->scan->n_events) {
		PyErr_SetString(PyExc_ValueError,
				"costs are taken a chain of all events at a time");
		return NULL;
	}
	taken = malloc(most * sizeof(*taken));
	if (!taken)
		return PyErr_NoMemory();
	n = take(self->scan, &chain, taken, most);
	bytes = bytes_of(taken, n, sizeof(*taken));
	free(taken);
	return bytes ? Py_BuildValue("NI", bytes, chain) : NULL;
}

static PyObject *callgrind_costs(struct callgrind *self, PyObject *args)
{
	return costs(self, args, gn_callgrind_self);
}

static PyObject *callgrind_inclusive(struct callgrind *self, PyObject *args)
{
	return costs(self, args, gn_callgrind_inclusive);
}

static PyObject *callgrind_arcs(struct callgrind *self, PyObject *args)
{
	unsigned int begin, end;
	struct gn_callgrind_arc *arcs;
	PyObject *bytes;

	if (!PyArg_ParseTuple(args, "II:arcs", &begin, &end))
		return NULL;
	if (end > self->scan->arc_heads.n)
		end = self->scan->arc_heads.n;
	if (begin > end)
		begin = end;
	arcs = malloc((end - begin + 1) * sizeof(*arcs));
	if (!arcs)
		return PyErr_NoMemory();
	for (uint32_t i = begin; i < end; i++)
		arcs[i - begin] = gn_callgrind_arc_of(self->scan, i);
	bytes = bytes_of(arcs, end - begin, sizeof(*arcs));
	free(arcs);
	return bytes;
}

static PyMethodDef methods[] = {
	{"scan", (PyCFunction)callgrind_scan, METH_VARARGS,
	 "scan(bytes, /) -> bool\n\nRead about so many bytes more; whether there is more. Raises "
	 "ValueError(problem, byte, line) where the file makes no sense."},
	{"samples", (PyCFunction)callgrind_samples, METH_NOARGS,
	 "samples() -> bytes\n\nCosts of instructions in what the last scan() has read."},
	{"texts", (PyCFunction)callgrind_texts, METH_NOARGS, "texts() -> tuple of bytes"},
	{"headers", (PyCFunction)callgrind_headers, METH_NOARGS, "headers() -> tuple of bytes"},
	{"events", (PyCFunction)callgrind_events, METH_NOARGS, "events() -> tuple of bytes"},
	{"negative", (PyCFunction)callgrind_negative, METH_NOARGS,
	 "negative() -> bytes\n\n1 for each event of which some cost is below 0."},
	{"places", (PyCFunction)callgrind_places, METH_NOARGS,
	 "places() -> bytes\n\nProcess and thread of each, and one: 0 is none; a third number is "
	 "0."},
	{"functions", (PyCFunction)callgrind_functions, METH_NOARGS,
	 "functions() -> bytes\n\nName, file and object of each: numbers of texts."},
	{"lines", (PyCFunction)callgrind_lines, METH_NOARGS,
	 "lines() -> bytes\n\nFunction, file (the number of a text) and line of each."},
	{"parts", (PyCFunction)callgrind_parts, METH_NOARGS,
	 "parts() -> (int, int)\n\nHow many parts there are, and how many of them have totals."},
	{"costs", (PyCFunction)callgrind_costs, METH_VARARGS,
	 "costs(chain, most, /) -> (bytes, int)\n\nSelf costs from a chain on, and where to go "
	 "on."},
	{"inclusive", (PyCFunction)callgrind_inclusive, METH_VARARGS,
	 "inclusive(arc, most, /) -> (bytes, int)\n\nCosts of calls from an arc on, likewise."},
	{"arcs", (PyCFunction)callgrind_arcs, METH_VARARGS,
	 "arcs(begin, end, /) -> bytes\n\nArcs from one number up to before another."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_new, callgrind_new},
	{Py_tp_dealloc, callgrind_dealloc},
	{Py_tp_methods, methods},
	{Py_tp_doc, "Callgrind(data, lines_most)\n\nA file of callgrind that is read."},
	{0, NULL},
};

static PyType_Spec spec_of_type = {
	.name = "gnomon._core.Callgrind",
	.basicsize = sizeof(struct callgrind),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

int core_add_callgrind(PyObject *module)
{
	PyObject *type = PyType_FromModuleAndSpec(module, &spec_of_type, NULL);
	int failed = !type || PyModule_AddType(module, (PyTypeObject *)type) < 0;

	Py_XDECREF(type);
	return failed ? -1 : 0;
}
