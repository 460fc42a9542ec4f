/* gnomon.store.profile_files.gmon._gmon: gmon.out files of native/profiles for Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "gmon_functions.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct gmon {
	PyObject_HEAD struct gn_gmon file;
};

static PyTypeObject *gmon_type;

/* Units of samples are whatever a file says: each byte of a problem is a character. */
static PyObject *raise(int failed, const struct gn_gmon_problem *problem)
{
	PyObject *text, *value;

	if (failed == -ENOMEM)
		return PyErr_NoMemory();
	text = PyUnicode_DecodeLatin1(problem->text, (Py_ssize_t)strlen(problem->text), NULL);
	value = text ? Py_BuildValue("(Nn)", text, (Py_ssize_t)problem->offset) : NULL;
	if (value)
		PyErr_SetObject(PyExc_ValueError, value);
	Py_XDECREF(value);
	return NULL;
}

static PyObject *gmon_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, ":Gmon", names))
		return NULL;
	return (PyObject *)allocate(type, 0);
}

static void gmon_dealloc(struct gmon *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	gn_gmon_free(&self->file);
	release(self);
	Py_DECREF(type);
}

static PyObject *parse(PyObject *module, PyObject *args)
{
	PyObject *content, *of_layout, *object;
	struct gn_gmon_layout layout;
	struct gn_gmon_problem problem;
	struct gn_gmon *file;
	int is_wide, is_big, failed;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!O:parse", &PyBytes_Type, &content, &of_layout))
		return NULL;
	if (of_layout != Py_None) {
		if (!PyArg_ParseTuple(of_layout, "pp:layout", &is_wide, &is_big))
			return NULL;
		layout = (struct gn_gmon_layout){is_wide, is_big};
	}
	object = ((allocfunc)PyType_GetSlot(gmon_type, Py_tp_alloc))(gmon_type, 0);
	if (!object)
		return NULL;
	file = &((struct gmon *)object)->file;
	Py_BEGIN_ALLOW_THREADS failed =
		gn_gmon_read(file, PyBytes_AsString(content), (size_t)PyBytes_Size(content),
			     of_layout == Py_None ? NULL : &layout, &problem);
	Py_END_ALLOW_THREADS if (!failed) return object;
	Py_DECREF(object);
	return raise(failed, &problem);
}

static PyObject *gmon_add(struct gmon *self, PyObject *other)
{
	struct gn_gmon_problem problem;
	int failed;

	if (Py_TYPE(other) != gmon_type || (PyObject *)self == other) {
		PyErr_SetString(PyExc_TypeError, "another Gmon");
		return NULL;
	}
	failed = gn_gmon_add(&self->file, &((struct gmon *)other)->file, &problem);
	if (failed)
		return raise(failed, &problem);
	Py_RETURN_NONE;
}

static PyObject *gmon_layout(struct gmon *self, PyObject *unused)
{
	(void)unused;
	return Py_BuildValue("(NN)", PyBool_FromLong(self->file.layout.is_wide),
			     PyBool_FromLong(self->file.layout.is_big));
}

static PyObject *gmon_says_rate(struct gmon *self, PyObject *unused)
{
	(void)unused;
	return PyBool_FromLong(self->file.says_rate);
}

static PyObject *bytes_of(const void *array, size_t n, size_t element_bytes)
{
	return PyBytes_FromStringAndSize(n ? array : "", (Py_ssize_t)(n * element_bytes));
}

static PyObject *latin1(const char *text)
{
	return PyUnicode_DecodeLatin1(text, (Py_ssize_t)strlen(text), NULL);
}

static PyObject *gmon_histograms(struct gmon *self, PyObject *unused)
{
	PyObject *list = PyList_New((Py_ssize_t)self->file.n_histograms);

	(void)unused;
	for (uint32_t i = 0; list && i < self->file.n_histograms; i++) {
		const struct gn_histogram *histogram = &self->file.histograms[i];
		PyObject *facts =
			Py_BuildValue("(KKINNI)", (unsigned long long)histogram->low,
				      (unsigned long long)histogram->high,
				      (unsigned int)histogram->rate, latin1(histogram->unit),
				      latin1(histogram->letter), (unsigned int)histogram->n_bins);

		if (!facts || PyList_SetItem(list, (Py_ssize_t)i, facts) < 0)
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *gmon_bins(struct gmon *self, PyObject *args)
{
	unsigned int number;

	if (!PyArg_ParseTuple(args, "I:bins", &number))
		return NULL;
	if (number >= self->file.n_histograms) {
		PyErr_SetString(PyExc_IndexError, "there is no such histogram");
		return NULL;
	}
	return bytes_of(self->file.histograms[number].bins, self->file.histograms[number].n_bins,
			sizeof(uint32_t));
}

static PyObject *gmon_samples(struct gmon *self, PyObject *unused)
{
	uint64_t samples = 0;

	(void)unused;
	for (uint32_t i = 0; i < self->file.n_histograms; i++)
		samples += gn_samples_of(&self->file.histograms[i]);
	return PyLong_FromUnsignedLongLong(samples);
}

static PyObject *counts_of(const struct gn_counts *counts, bool has_callees)
{
	if (!has_callees)
		return Py_BuildValue("(NN)", bytes_of(counts->callers, counts->n, 8),
				     bytes_of(counts->counts, counts->n, 8));
	return Py_BuildValue("(NNN)", bytes_of(counts->callers, counts->n, 8),
			     bytes_of(counts->callees, counts->n, 8),
			     bytes_of(counts->counts, counts->n, 8));
}

static PyObject *gmon_arcs(struct gmon *self, PyObject *unused)
{
	(void)unused;
	return counts_of(&self->file.arcs, true);
}

static PyObject *gmon_blocks(struct gmon *self, PyObject *unused)
{
	(void)unused;
	return counts_of(&self->file.blocks, false);
}

/* The functions in a buffer, which is to be released; -1 with an exception set. */
static int take_program(PyObject *object, Py_buffer *buffer, struct gn_program *program)
{
	if (PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE) < 0)
		return -1;
	program->functions = buffer->buf;
	program->n = (uint32_t)((size_t)buffer->len / sizeof(*program->functions));
	if (buffer->len && !(buffer->len % (Py_ssize_t)sizeof(*program->functions)) &&
	    !((uintptr_t)buffer->buf % sizeof(uint64_t)))
		return 0;
	PyErr_SetString(PyExc_ValueError, "functions of a program, one at least");
	PyBuffer_Release(buffer);
	return -1;
}

static PyObject *gmon_shift(struct gmon *self, PyObject *functions)
{
	struct gn_program program;
	Py_buffer buffer;
	uint64_t shift;

	if (take_program(functions, &buffer, &program) < 0)
		return NULL;
	shift = gn_gmon_shift(&program, &self->file);
	PyBuffer_Release(&buffer);
	return PyLong_FromUnsignedLongLong(shift);
}

static PyObject *gmon_function_times(struct gmon *self, PyObject *args)
{
	PyObject *functions, *bytes = NULL;
	struct gn_program program;
	unsigned long long shift;
	Py_buffer buffer;
	double *times;

	if (!PyArg_ParseTuple(args, "OK:function_times", &functions, &shift) ||
	    take_program(functions, &buffer, &program) < 0)
		return NULL;
	times = calloc(program.n, sizeof(*times));
	if (times && !gn_function_times(times, &program, &self->file, shift))
		bytes = bytes_of(times, program.n, sizeof(*times));
	else
		PyErr_NoMemory();
	free(times);
	PyBuffer_Release(&buffer);
	return bytes;
}

static PyObject *gmon_function_arcs(struct gmon *self, PyObject *args)
{
	PyObject *functions, *columns = NULL;
	struct gn_function_arcs arcs;
	struct gn_program program;
	unsigned long long shift;
	Py_buffer buffer;

	if (!PyArg_ParseTuple(args, "OK:function_arcs", &functions, &shift) ||
	    take_program(functions, &buffer, &program) < 0)
		return NULL;
	if (gn_function_arcs_make(&arcs, &program, &self->file, shift) < 0)
		PyErr_NoMemory();
	else
		columns = Py_BuildValue("(NNN)", bytes_of(arcs.caller, arcs.n, sizeof(int32_t)),
					bytes_of(arcs.callee, arcs.n, sizeof(int32_t)),
					bytes_of(arcs.counts, arcs.n, sizeof(int64_t)));
	gn_function_arcs_free(&arcs);
	PyBuffer_Release(&buffer);
	return columns;
}

static PyObject *gmon_misfit(struct gmon *self, PyObject *args)
{
	unsigned long long shift;
	struct gn_gmon_misfit misfit;
	struct gn_program program;
	PyObject *functions;
	Py_buffer buffer;
	int failed;

	if (!PyArg_ParseTuple(args, "OK:misfit", &functions, &shift) ||
	    take_program(functions, &buffer, &program) < 0)
		return NULL;
	failed = gn_gmon_misfit(&misfit, &program, &self->file, shift);
	PyBuffer_Release(&buffer);
	if (failed)
		return PyErr_NoMemory();
	return Py_BuildValue("(KKKK)", (unsigned long long)misfit.arcs,
			     (unsigned long long)misfit.misplaced_arcs,
			     (unsigned long long)misfit.samples,
			     (unsigned long long)misfit.misplaced_samples);
}

static PyObject *bin_parts(PyObject *module, PyObject *args)
{
	PyObject *functions, *of_bins, *bytes = NULL;
	unsigned long long low, high, shift;
	struct gn_histogram histogram = {0};
	Py_buffer of_program, bins;
	struct gn_program program;
	struct gn_bin_parts parts;

	(void)module;
	if (!PyArg_ParseTuple(args, "OKKOK:bin_parts", &functions, &low, &high, &of_bins, &shift) ||
	    take_program(functions, &of_program, &program) < 0)
		return NULL;
	if (PyObject_GetBuffer(of_bins, &bins, PyBUF_SIMPLE) < 0) {
		PyBuffer_Release(&of_program);
		return NULL;
	}
	histogram.low = low;
	histogram.high = high;
	histogram.bins = bins.buf;
	histogram.n_bins = (uint32_t)((size_t)bins.len / sizeof(*histogram.bins));
	if (gn_bin_parts_make(&parts, &program, &histogram, shift) < 0)
		PyErr_NoMemory();
	else
		bytes = bytes_of(parts.of, parts.n, sizeof(*parts.of));
	free(parts.of);
	PyBuffer_Release(&bins);
	PyBuffer_Release(&of_program);
	return bytes;
}

static PyObject *is_gmon(PyObject *module, PyObject *start)
{
	(void)module;
	if (!PyBytes_Check(start)) {
		PyErr_SetString(PyExc_TypeError, "bytes");
		return NULL;
	}
	return PyBool_FromLong(gn_is_gmon(PyBytes_AsString(start), (size_t)PyBytes_Size(start)));
}

static PyMethodDef methods[] = {
	{"add", (PyCFunction)gmon_add, METH_O,
	 "add(other)\n\nAdd a file to a sum. Raises ValueError(problem, 0)."},
	{"layout", (PyCFunction)gmon_layout, METH_NOARGS, "layout() -> (is_wide, is_big)"},
	{"says_rate", (PyCFunction)gmon_says_rate, METH_NOARGS, "says_rate() -> bool"},
	{"histograms", (PyCFunction)gmon_histograms, METH_NOARGS,
	 "histograms() -> list\n\nOf each: low, high, rate, unit, letter, number of bins."},
	{"bins", (PyCFunction)gmon_bins, METH_VARARGS, "bins(histogram) -> bytes"},
	{"samples", (PyCFunction)gmon_samples, METH_NOARGS, "samples() -> int"},
	{"arcs", (PyCFunction)gmon_arcs, METH_NOARGS, "arcs() -> (callers, callees, counts)"},
	{"blocks", (PyCFunction)gmon_blocks, METH_NOARGS, "blocks() -> (addresses, counts)"},
	{"shift", (PyCFunction)gmon_shift, METH_O, "shift(functions) -> int"},
	{"function_times", (PyCFunction)gmon_function_times, METH_VARARGS,
	 "function_times(functions, shift) -> bytes"},
	{"function_arcs", (PyCFunction)gmon_function_arcs, METH_VARARGS,
	 "function_arcs(functions, shift) -> (caller, callee, counts)"},
	{"misfit", (PyCFunction)gmon_misfit, METH_VARARGS,
	 "misfit(functions, shift) -> (arcs, misplaced arcs, samples, misplaced samples)"},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "Gmon()\n\nA file that was read, or a sum, of nothing at first."},
	{Py_tp_new, gmon_new},
	{Py_tp_dealloc, gmon_dealloc},
	{Py_tp_methods, methods},
	{0, NULL},
};

static PyType_Spec spec_of_type = {
	.name = "gnomon.store.profile_files.gmon._gmon.Gmon",
	.basicsize = sizeof(struct gmon),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static PyMethodDef functions[] = {
	{"parse", parse, METH_VARARGS,
	 "parse(content, layout) -> Gmon\n\nRaises ValueError(problem, byte)."},
	{"bin_parts", bin_parts, METH_VARARGS,
	 "bin_parts(functions, low, high, bins, shift) -> bytes"},
	{"is_gmon", is_gmon, METH_O, "is_gmon(start) -> bool"},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "gnomon.store.profile_files.gmon._gmon",
	.m_doc = "gmon.out files, their sums, and what they say of functions.",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit__gmon(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (!module)
		return NULL;
	gmon_type = (PyTypeObject *)PyType_FromSpec(&spec_of_type);
	if (!gmon_type || PyModule_AddObjectRef(module, "Gmon", (PyObject *)gmon_type) < 0 ||
	    PyModule_AddIntConstant(module, "BSD44_VERSION", GN_BSD44_VERSION) < 0)
		Py_CLEAR(module);
	return module;
}
