/* gnomon.callgraph._call_graph: call graphs of native/callgraph for Python. It works without the
 * GIL. */
#include "labels.h"

#include "flat_profile.h"
#include "function_index.h"
#include "graph_profile.h"

#include <stdlib.h>
#include <string.h>

/* What is that large at a time stays in the processor's cache, and needs no new memory. */
enum { PIECE_BYTES = 1 << 16 };

enum { OWN, CALLER, CALLEE, CALLS, ARC_TOTAL, ARC_OWN, CALLS_OF, CHOICE, N_BUFFERS };

struct call_graph {
	PyObject_HEAD Py_buffer buffers[N_BUFFERS];
	struct labels names, titles;
	struct gn_call_profile profile;
	struct gn_call_graph graph;
	struct gn_node_names node_names; /* when somebody asks for some */
};

/*
 * Take the buffer of an object; NULL for None. `n` is how many elements there are to be, below 0
 * where that is not known yet. -1 with an exception set.
 */
static int take(struct call_graph *self, int which, PyObject *object, Py_ssize_t element_bytes,
		Py_ssize_t *n, const void **to)
{
	Py_buffer *buffer = &self->buffers[which];

	*to = NULL;
	if (object == Py_None)
		return 0;
	if (PyObject_GetBuffer(object, buffer, PyBUF_SIMPLE) < 0)
		return -1;
	if (*n < 0)
		*n = buffer->len / element_bytes;
	if (buffer->len != *n * element_bytes ||
	    (uintptr_t)buffer->buf % (uintptr_t)element_bytes) {
		PyErr_SetString(PyExc_ValueError, "columns of a profile do not fit together");
		return -1;
	}
	*to = buffer->buf ? buffer->buf : "";
	return 0;
}

static int check_arcs(const struct gn_call_profile *profile)
{
	const uint32_t n = profile->n_functions;

	for (uint32_t arc = 0; arc < profile->n_arcs; arc++)
		if ((uint32_t)profile->caller[arc] >= n || (uint32_t)profile->callee[arc] >= n) {
			PyErr_SetString(PyExc_ValueError,
					"an arc is of a function that is not there");
			return -1;
		}
	return 0;
}

static int fill(struct call_graph *self, PyObject **columns, PyObject *names, PyObject *titles)
{
	struct gn_call_profile *profile = &self->profile;
	const void *of[N_BUFFERS];
	Py_ssize_t n, n_arcs = -1;

	if (labels_make(&self->names, names) < 0 || labels_make(&self->titles, titles) < 0)
		return -1;
	n = self->names.n;
	if (take(self, OWN, columns[OWN], 8, &n, &of[OWN]) < 0 ||
	    take(self, CALLER, columns[CALLER], 4, &n_arcs, &of[CALLER]) < 0 ||
	    take(self, CALLEE, columns[CALLEE], 4, &n_arcs, &of[CALLEE]) < 0 ||
	    take(self, CALLS, columns[CALLS], 8, &n_arcs, &of[CALLS]) < 0 ||
	    take(self, ARC_TOTAL, columns[ARC_TOTAL], 8, &n_arcs, &of[ARC_TOTAL]) < 0 ||
	    take(self, ARC_OWN, columns[ARC_OWN], 8, &n_arcs, &of[ARC_OWN]) < 0 ||
	    take(self, CALLS_OF, columns[CALLS_OF], 8, &n, &of[CALLS_OF]) < 0 ||
	    take(self, CHOICE, columns[CHOICE], 1, &n, &of[CHOICE]) < 0)
		return -1;
	*profile = (struct gn_call_profile){
		.n_functions = (uint32_t)n,
		.n_arcs = (uint32_t)n_arcs,
		.own = of[OWN],
		.names = self->names.of,
		.caller = of[CALLER],
		.callee = of[CALLEE],
		.calls = of[CALLS],
		.arc_total = of[ARC_TOTAL],
		.arc_own = of[ARC_OWN],
		.calls_of = of[CALLS_OF],
	};
	if (self->titles.n != n || n >= INT32_MAX || n_arcs >= INT32_MAX || !of[OWN] ||
	    !of[CALLER] || !of[CALLEE] || !of[CALLS] || !of[CHOICE]) {
		PyErr_SetString(PyExc_ValueError, "columns of a profile do not fit together");
		return -1;
	}
	return check_arcs(profile);
}

static PyObject *call_graph_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"names",     "titles",	"own",	    "caller", "callee", "calls",
				"arc_total", "arc_own", "calls_of", "choice", NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *columns[N_BUFFERS], *of_names, *titles;
	struct call_graph *self;
	int failed;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOOOOOOOOO:CallGraph", names, &of_names,
					 &titles, &columns[OWN], &columns[CALLER], &columns[CALLEE],
					 &columns[CALLS], &columns[ARC_TOTAL], &columns[ARC_OWN],
					 &columns[CALLS_OF], &columns[CHOICE]))
		return NULL;
	self = (struct call_graph *)allocate(type, 0);
	if (!self)
		return NULL;
	if (fill(self, columns, of_names, titles) < 0) {
		Py_DECREF(self);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS failed =
		gn_call_graph_make(&self->graph, &self->profile, self->buffers[CHOICE].buf);
	Py_END_ALLOW_THREADS if (failed)
	{
		Py_DECREF(self);
		return PyErr_NoMemory();
	}
	return (PyObject *)self;
}

static void call_graph_dealloc(struct call_graph *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	gn_node_names_free(&self->node_names);
	gn_call_graph_free(&self->graph);
	labels_clear(&self->names);
	labels_clear(&self->titles);
	for (int i = 0; i < N_BUFFERS; i++)
		PyBuffer_Release(&self->buffers[i]);
	release(self);
	Py_DECREF(type);
}

static PyObject *bytes_of(const void *array, size_t n, size_t element_bytes)
{
	return PyBytes_FromStringAndSize(array, (Py_ssize_t)(n * element_bytes));
}

static PyObject *call_graph_column(struct call_graph *self, PyObject *args)
{
	const struct gn_call_graph *graph = &self->graph;
	const size_t n = self->profile.n_functions, n_arcs = self->profile.n_arcs;
	const size_t n_nodes = graph->n_nodes, n_cycles = graph->order.n_cycles;
	const struct {
		const char *name;
		const void *array;
		size_t n, element_bytes;
	} columns[] = {
		{"cycle", graph->shares.cycle, n, sizeof(int32_t)},
		{"calls", graph->shares.calls, n_nodes, sizeof(int64_t)},
		{"self_calls", graph->shares.self_calls, n_nodes, sizeof(int64_t)},
		{"children_time", graph->children_time, n_nodes, sizeof(double)},
		{"own", graph->own, n_nodes, sizeof(double)},
		{"children", graph->children, n_nodes, sizeof(double)},
		{"is_shown", graph->is_shown, n_nodes, sizeof(bool)},
		{"index", graph->index, n_nodes, sizeof(int32_t)},
		{"order", graph->by_index, n_nodes, sizeof(int32_t)},
		{"arc_own", graph->arc_own, n_arcs, sizeof(double)},
		{"arc_children", graph->arc_children, n_arcs, sizeof(double)},
		{"first_member", graph->order.first_member, n_cycles + 1, sizeof(uint32_t)},
		{"members", graph->order.members, graph->order.first_member[n_cycles],
		 sizeof(uint32_t)},
	};
	const char *name;

	if (!PyArg_ParseTuple(args, "s:column", &name))
		return NULL;
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++)
		if (!strcmp(columns[i].name, name))
			return bytes_of(columns[i].array, columns[i].n, columns[i].element_bytes);
	PyErr_SetString(PyExc_KeyError, name);
	return NULL;
}

/* A list of int; the numbers are freed. */
static PyObject *list_of(int failed, struct gn_listed *listed)
{
	PyObject *list = failed ? PyErr_NoMemory() : PyList_New((Py_ssize_t)listed->n);

	for (uint32_t i = 0; list && i < listed->n; i++) {
		PyObject *number = PyLong_FromUnsignedLong(listed->numbers[i]);

		if (!number || PyList_SetItem(list, (Py_ssize_t)i, number) < 0)
			Py_CLEAR(list);
	}
	gn_listed_free(listed);
	return list;
}

static PyObject *call_graph_flat_rows(struct call_graph *self, PyObject *args)
{
	struct gn_listed listed = {0};
	int with_unused;

	if (!PyArg_ParseTuple(args, "p:flat_rows", &with_unused))
		return NULL;
	return list_of(gn_list_flat(&listed, &self->graph, with_unused), &listed);
}

static PyObject *call_graph_entries(struct call_graph *self, PyObject *args)
{
	struct gn_listed listed = {0};
	int with_unused;

	if (!PyArg_ParseTuple(args, "p:entries", &with_unused))
		return NULL;
	return list_of(gn_list_entries(&listed, &self->graph, with_unused), &listed);
}

static PyObject *call_graph_index_nodes(struct call_graph *self, PyObject *args)
{
	struct gn_listed listed = {0};
	int with_unused, has_paths;

	if (!PyArg_ParseTuple(args, "pp:index_nodes", &with_unused, &has_paths))
		return NULL;
	return list_of(gn_list_index(&listed, &self->graph, with_unused, has_paths), &listed);
}

/* A node's number below some limit; -1 with an exception set. */
static int64_t number_below(PyObject *object, uint32_t end)
{
	const long number = PyLong_AsLong(object);

	if (number == -1 && PyErr_Occurred())
		return -1;
	if (number < 0 || number >= (long)end) {
		PyErr_SetString(PyExc_IndexError, "there is no such function");
		return -1;
	}
	return number;
}

static PyObject *call_graph_callers(struct call_graph *self, PyObject *object)
{
	const int64_t function = number_below(object, self->profile.n_functions);
	struct gn_listed listed = {0};

	if (function < 0)
		return NULL;
	return list_of(gn_list_callers(&listed, &self->graph, (uint32_t)function), &listed);
}

static PyObject *call_graph_callees(struct call_graph *self, PyObject *object)
{
	const int64_t function = number_below(object, self->profile.n_functions);
	struct gn_listed listed = {0};

	if (function < 0)
		return NULL;
	return list_of(gn_list_callees(&listed, &self->graph, (uint32_t)function), &listed);
}

/* A str; the text is freed. */
static PyObject *text_of(int failed, struct gn_report_text *text)
{
	PyObject *object =
		failed || text->has_failed
			? PyErr_NoMemory()
			: PyUnicode_DecodeUTF8(text->bytes ? text->bytes : "",
					       (Py_ssize_t)text->size, "surrogateescape");

	free(text->bytes);
	return object;
}

/* -1 with an exception set. */
static int name_nodes(struct call_graph *self)
{
	if (self->node_names.ends ||
	    gn_node_names_make(&self->node_names, &self->graph, self->titles.of) == 0)
		return 0;
	gn_node_names_free(&self->node_names);
	PyErr_NoMemory();
	return -1;
}

static PyObject *call_graph_node_name(struct call_graph *self, PyObject *object)
{
	const int64_t node = number_below(object, self->graph.n_nodes);
	struct gn_label name;

	if (node < 0 || name_nodes(self) < 0)
		return NULL;
	name = gn_node_name(&self->node_names, (uint32_t)node);
	return PyUnicode_DecodeUTF8(name.bytes, (Py_ssize_t)name.size, "surrogateescape");
}

static PyObject *call_graph_flat_text(struct call_graph *self, PyObject *args)
{
	struct gn_report_text text = {0};
	struct gn_flat_units units;
	int with_unused, failed;

	if (!PyArg_ParseTuple(args, "ddddp:flat_text", &units.whole, &units.divisor,
			      &units.per_unit, &units.per_call, &with_unused))
		return NULL;
	Py_BEGIN_ALLOW_THREADS failed =
		gn_put_flat_profile(&text, &self->graph, self->titles.of, &units, with_unused);
	Py_END_ALLOW_THREADS return text_of(failed, &text);
}

static PyObject *call_graph_graph_text(struct call_graph *self, PyObject *args)
{
	struct gn_report_text text = {0};
	int with_unused, failed;
	double counted, divisor;
	unsigned int begin;
	uint32_t next;

	if (!PyArg_ParseTuple(args, "Iddp:graph_text", &begin, &counted, &divisor, &with_unused))
		return NULL;
	if (name_nodes(self) < 0)
		return NULL;
	next = begin;
	Py_BEGIN_ALLOW_THREADS failed =
		gn_put_graph_profile(&text, &self->graph, &self->node_names, counted, divisor,
				     with_unused, &next, PIECE_BYTES);
	Py_END_ALLOW_THREADS return Py_BuildValue("(NI)", text_of(failed, &text),
						  (unsigned int)next);
}

static PyObject *call_graph_index_text(struct call_graph *self, PyObject *args)
{
	struct gn_report_text text = {0};
	int with_unused, has_paths, failed = -1;
	struct labels files;
	PyObject *of_files, *object = NULL;

	if (!PyArg_ParseTuple(args, "Opp:index_text", &of_files, &with_unused, &has_paths))
		return NULL;
	if (labels_make(&files, of_files) < 0)
		goto end;
	if (files.n != self->titles.n) {
		PyErr_SetString(PyExc_ValueError, "a file of each function");
		goto end;
	}
	Py_BEGIN_ALLOW_THREADS failed = gn_put_function_index(&text, &self->graph, self->titles.of,
							      files.of, with_unused, has_paths);
	Py_END_ALLOW_THREADS object = text_of(failed, &text);
end:
	labels_clear(&files);
	return object;
}

static PyObject *call_graph_most_per_call(struct call_graph *self, PyObject *unused)
{
	(void)unused;
	return PyFloat_FromDouble(gn_most_per_call(&self->graph));
}

static PyObject *call_graph_n_nodes(struct call_graph *self, PyObject *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLong(self->graph.n_nodes);
}

static PyObject *call_graph_counted(struct call_graph *self, PyObject *unused)
{
	(void)unused;
	return PyFloat_FromDouble(self->graph.counted);
}

static PyMethodDef methods[] = {
	{"column", (PyCFunction)call_graph_column, METH_VARARGS,
	 "column(name) -> bytes\n\nA column of functions, nodes or arcs."},
	{"n_nodes", (PyCFunction)call_graph_n_nodes, METH_NOARGS, "n_nodes() -> int"},
	{"counted", (PyCFunction)call_graph_counted, METH_NOARGS, "counted() -> float"},
	{"most_per_call", (PyCFunction)call_graph_most_per_call, METH_NOARGS,
	 "most_per_call() -> float\n\n-1 if nothing is called."},
	{"flat_rows", (PyCFunction)call_graph_flat_rows, METH_VARARGS,
	 "flat_rows(with_unused) -> list"},
	{"entries", (PyCFunction)call_graph_entries, METH_VARARGS, "entries(with_unused) -> list"},
	{"index_nodes", (PyCFunction)call_graph_index_nodes, METH_VARARGS,
	 "index_nodes(with_unused, has_paths) -> list"},
	{"callers", (PyCFunction)call_graph_callers, METH_O, "callers(function) -> list of arcs"},
	{"callees", (PyCFunction)call_graph_callees, METH_O, "callees(function) -> list of arcs"},
	{"node_name", (PyCFunction)call_graph_node_name, METH_O, "node_name(node) -> str"},
	{"flat_text", (PyCFunction)call_graph_flat_text, METH_VARARGS,
	 "flat_text(whole, divisor, per_unit, per_call, with_unused) -> str"},
	{"graph_text", (PyCFunction)call_graph_graph_text, METH_VARARGS,
	 "graph_text(begin, counted, divisor, with_unused) -> (str, int)\n\nEntries from an index "
	 "on, and where to go on."},
	{"index_text", (PyCFunction)call_graph_index_text, METH_VARARGS,
	 "index_text(files, with_unused, has_paths) -> str"},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "CallGraph(names, titles, own, caller, callee, calls, arc_total, arc_own, "
		    "calls_of, choice)\n\nWhat follows from a profile."},
	{Py_tp_new, call_graph_new},
	{Py_tp_dealloc, call_graph_dealloc},
	{Py_tp_methods, methods},
	{0, NULL},
};

static PyType_Spec spec_of_type = {
	.name = "gnomon.callgraph._call_graph.CallGraph",
	.basicsize = sizeof(struct call_graph),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static PyObject *of_profiling(PyObject *module, PyObject *names)
{
	struct labels labels;
	PyObject *list = NULL;

	(void)module;
	if (labels_make(&labels, names) == 0)
		list = PyList_New(0);
	for (Py_ssize_t i = 0; list && i < labels.n; i++) {
		PyObject *number;

		if (!gn_is_of_profiling(&labels.of[i]))
			continue;
		number = PyLong_FromSsize_t(i);
		if (!number || PyList_Append(list, number) < 0)
			Py_CLEAR(list);
		Py_XDECREF(number);
	}
	labels_clear(&labels);
	return list;
}

static PyMethodDef functions[] = {
	{"of_profiling", of_profiling, METH_O, "of_profiling(names) -> list of positions"},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "gnomon.callgraph._call_graph",
	.m_doc = "Call graphs: cycles, times that pass to callers, and gprof's reports.",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit__call_graph(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *type = NULL;

	if (!module)
		return NULL;
	type = PyType_FromSpec(&spec_of_type);
	if (!type || PyModule_AddObjectRef(module, "CallGraph", type) < 0 ||
	    PyModule_AddIntConstant(module, "WITHOUT_ENTRY", GN_WITHOUT_ENTRY) < 0 ||
	    PyModule_AddIntConstant(module, "WITH_ENTRY", GN_WITH_ENTRY) < 0 ||
	    PyModule_AddIntConstant(module, "WITHOUT_TIME", GN_WITHOUT_TIME) < 0 ||
	    PyModule_AddIntConstant(module, "WITH_TIME", GN_WITH_TIME) < 0 ||
	    PyModule_AddIntConstant(module, "IS_SHOWN", GN_IS_SHOWN) < 0 ||
	    PyModule_AddIntConstant(module, "IS_COUNTED", GN_IS_COUNTED) < 0 ||
	    PyModule_AddIntConstant(module, "IS_DECIDED", GN_IS_DECIDED) < 0)
		Py_CLEAR(module);
	Py_XDECREF(type);
	return module;
}
