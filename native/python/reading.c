/*
 * Reading: what a read of an event set returns.
 *
 * A read costs one allocation and one system call; the typed values of the events are made only
 * for those that somebody looks at, by calling factory(descriptor, raw, enabled_ns, running_ns).
 */
#include "core.h"

#include <string.h>

struct reading {
	PyObject_VAR_HEAD PyObject *shape;
	uint32_t n;
	uint32_t layout;
	uint64_t word[];
};

PyTypeObject *core_reading_type;

PyObject *core_reading_new(PyObject *shape, int n, enum core_layout layout)
{
	const Py_ssize_t words = layout == CORE_WHOLE ? 3 + n : 3 * (Py_ssize_t)n;
	struct reading *self = PyObject_NewVar(struct reading, core_reading_type, words);

	if (!self)
		return NULL;
	self->shape = Py_NewRef(shape);
	self->n = (uint32_t)n;
	self->layout = layout;
	return (PyObject *)self;
}

uint64_t *core_reading_words(PyObject *reading)
{
	return ((struct reading *)reading)->word;
}

static void reading_dealloc(struct reading *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);

	Py_DECREF(self->shape);
	PyObject_Free(self);
	Py_DECREF(type);
}

static struct gn_count count_at(const struct reading *self, Py_ssize_t i)
{
	struct gn_count count;

	if (self->layout == CORE_EACH) {
		memcpy(&count, &self->word[3 * i], sizeof(count));
	} else {
		count.enabled = self->word[1];
		count.running = self->word[2];
		count.value = self->word[3 + i];
	}
	return count;
}

static Py_ssize_t reading_length(struct reading *self)
{
	return self->n;
}

static int in_range(struct reading *self, Py_ssize_t i)
{
	if (i >= 0 && i < (Py_ssize_t)self->n)
		return 1;
	PyErr_Format(PyExc_IndexError, "event %zd of a reading of %u events", i, self->n);
	return 0;
}

static PyObject *reading_item(struct reading *self, Py_ssize_t i)
{
	struct gn_count count;

	if (!in_range(self, i))
		return NULL;
	count = count_at(self, i);
	return PyObject_CallFunction(PyTuple_GetItem(self->shape, 1), "OLKK",
				     PyTuple_GetItem(PyTuple_GetItem(self->shape, 0), i),
				     (long long)count.value, (unsigned long long)count.enabled,
				     (unsigned long long)count.running);
}

static PyObject *reading_raw(struct reading *self, PyObject *arg)
{
	Py_ssize_t i = PyNumber_AsSsize_t(arg, PyExc_IndexError);

	if (i == -1 && PyErr_Occurred())
		return NULL;
	if (i < 0)
		i += self->n;
	if (!in_range(self, i))
		return NULL;
	return PyLong_FromLongLong((long long)count_at(self, i).value);
}

static PyObject *reading_counts(struct reading *self, PyObject *unused)
{
	PyObject *all = PyTuple_New(self->n);

	(void)unused;
	for (Py_ssize_t i = 0; all && i < (Py_ssize_t)self->n; i++) {
		struct gn_count count = count_at(self, i);
		PyObject *row = Py_BuildValue("(LKK)", (long long)count.value,
					      (unsigned long long)count.enabled,
					      (unsigned long long)count.running);

		if (!row || PyTuple_SetItem(all, i, row) < 0)
			Py_CLEAR(all);
	}
	return all;
}

/* The values as text, so that who prints a reading sees what it holds. */
static PyObject *reading_repr(struct reading *self)
{
	PyObject *words = PyList_New(0), *comma = PyUnicode_FromString(", "), *all = NULL;
	PyObject *text = NULL;
	int failed = !words || !comma;

	for (Py_ssize_t i = 0; !failed && i < (Py_ssize_t)self->n; i++) {
		PyObject *value = reading_item(self, i);
		PyObject *word = value ? PyObject_Str(value) : NULL;

		failed = !word || PyList_Append(words, word) < 0;
		Py_XDECREF(value);
		Py_XDECREF(word);
	}
	if (!failed)
		all = PyUnicode_Join(comma, words);
	if (all)
		text = PyUnicode_FromFormat("Reading(%U)", all);
	Py_XDECREF(words);
	Py_XDECREF(comma);
	Py_XDECREF(all);
	return text;
}

static PyMethodDef reading_methods[] = {
	{"raw", (PyCFunction)reading_raw, METH_O,
	 "raw(index) -> int\n\nThe unscaled count of one event, without making a value of it."},
	{"counts", (PyCFunction)reading_counts, METH_NOARGS,
	 "counts() -> tuple\n\nEvery event's (raw, enabled_ns, running_ns)."},
	{"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, "For annotations."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot reading_slots[] = {
	{Py_tp_doc, "Counts of an event set at one moment; reading[i] is the value of event i."},
	{Py_tp_dealloc, reading_dealloc},
	{Py_tp_repr, reading_repr},
	{Py_tp_iter, PySeqIter_New},
	{Py_sq_length, reading_length},
	{Py_sq_item, reading_item},
	{Py_tp_methods, reading_methods},
	{0, NULL},
};

static PyType_Spec reading_spec = {
	.name = "gnomon._core.Reading",
	.basicsize = offsetof(struct reading, word),
	.itemsize = sizeof(uint64_t),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.slots = reading_slots,
};

/*
 * A count is one of the kernel's 64 bits, which a Group shows signed too. What does not fit is no
 * count: wrapped around it would be a number that nobody counted.
 */
static int count_of(PyObject *row, Py_ssize_t index, struct gn_count *count)
{
	PyObject *raw, *enabled, *running;

	if (!PyTuple_Check(row) || PyTuple_Size(row) != 3) {
		PyErr_SetString(PyExc_TypeError, "a count is a tuple of 3 integers");
		return -1;
	}
	raw = PyTuple_GetItem(row, 0);
	enabled = PyTuple_GetItem(row, 1);
	running = PyTuple_GetItem(row, 2);
	count->value = (uint64_t)PyLong_AsLongLong(raw);
	if (!PyErr_Occurred())
		count->enabled = PyLong_AsUnsignedLongLong(enabled);
	if (!PyErr_Occurred())
		count->running = PyLong_AsUnsignedLongLong(running);
	if (!PyErr_Occurred())
		return 0;
	if (PyErr_ExceptionMatches(PyExc_OverflowError))
		PyErr_Format(PyExc_OverflowError,
			     "event %zd: raw %R, enabled_ns %R, running_ns %R: a raw count has 64 "
			     "bits with a sign, a time 64 without",
			     index, raw, enabled, running);
	return -1;
}

static PyObject *make_reading(PyObject *module, PyObject *args)
{
	PyObject *descriptors, *factory, *counts, *shape, *reading = NULL;
	Py_ssize_t n;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!OO!:reading", &PyTuple_Type, &descriptors, &factory,
			      &PyTuple_Type, &counts))
		return NULL;
	n = PyTuple_Size(counts);
	if (n != PyTuple_Size(descriptors))
		return PyErr_Format(PyExc_ValueError, "%zd counts for %zd descriptors", n,
				    PyTuple_Size(descriptors));
	shape = PyTuple_Pack(2, descriptors, factory);
	if (shape)
		reading = core_reading_new(shape, (int)n, CORE_EACH);
	Py_XDECREF(shape);
	for (Py_ssize_t i = 0; reading && i < n; i++) {
		struct gn_count count;

		if (count_of(PyTuple_GetItem(counts, i), i, &count) < 0)
			Py_CLEAR(reading);
		else
			memcpy(core_reading_words(reading) + 3 * i, &count, sizeof(count));
	}
	return reading;
}

static PyMethodDef functions[] = {
	{"reading", make_reading, METH_VARARGS,
	 "reading(descriptors, factory, counts) -> Reading\n\n"
	 "A reading of counts that did not come from one perf group. Raises OverflowError for a\n"
	 "raw count beyond 64 bits with a sign, or a time beyond 64 bits without."},
	{NULL, NULL, 0, NULL},
};

int core_add_reading(PyObject *module)
{
	core_reading_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &reading_spec, NULL);
	if (!core_reading_type || PyModule_AddType(module, core_reading_type) < 0)
		return -1;
	return PyModule_AddFunctions(module, functions);
}
