/* gnomon.sampling._perf_data: perf.data files of native/perf_data for Python. It works without the
 * GIL. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>

#include "file_reader.h"
#include "profile_reader.h"
#include "sample_file.h"

struct reader {
	PyObject_HEAD struct gn_perf_file file;
};

static PyObject *file_error;

static PyObject *raise(int failed, const struct gn_perf_problem *problem)
{
	PyObject *facts;

	if (failed == -ENOMEM)
		return PyErr_NoMemory();
	facts = Py_BuildValue("Ks", (unsigned long long)problem->offset, problem->text);
	if (facts)
		PyErr_SetObject(file_error, facts);
	Py_XDECREF(facts);
	return NULL;
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"descriptor", "unpacked", NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct reader *self;
	int descriptor, unpacked, failed;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ii:PerfFile", names, &descriptor,
					 &unpacked))
		return NULL;
	self = (struct reader *)allocate(type, 0);
	if (!self)
		return NULL;
	Py_BEGIN_ALLOW_THREADS failed = gn_perf_file_open(&self->file, descriptor, unpacked);
	Py_END_ALLOW_THREADS if (failed)
	{
		const struct gn_perf_problem problem = self->file.problem;

		Py_DECREF(self);
		return raise(failed, &problem);
	}
	return (PyObject *)self;
}

static void reader_dealloc(struct reader *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	gn_perf_file_close(&self->file);
	release(self);
	Py_DECREF(type);
}

/* --- what there is ---------------------------------------------------------------------------- */

static PyObject *reader_facts(struct reader *self, PyObject *unused)
{
	const struct gn_perf_file *file = &self->file;
	PyObject *counts = PyList_New(GN_RECORD_TYPES);

	(void)unused;
	for (Py_ssize_t i = 0; counts && i < GN_RECORD_TYPES; i++) {
		PyObject *count = PyLong_FromUnsignedLongLong(file->records[i]);

		if (!count || PyList_SetItem(counts, i, count))
			Py_CLEAR(counts);
	}
	if (!counts)
		return NULL;
	return Py_BuildValue(
		"{s:N,s:N,s:N,s:N,s:N,s:K,s:K,s:K,s:K,s:K,s:y}", "records", counts, "swaps",
		PyBool_FromLong(file->swaps), "is_pipe", PyBool_FromLong(file->is_pipe),
		"is_unfinished", PyBool_FromLong(file->is_unfinished), "is_cut",
		PyBool_FromLong(file->is_cut), "lost", (unsigned long long)file->lost,
		"lost_samples", (unsigned long long)file->lost_samples, "odd_records",
		(unsigned long long)file->odd_records, "unknown_ids",
		(unsigned long long)file->unknown_ids, "kernel_start",
		(unsigned long long)file->kernel_start, "kernel_symbol", file->kernel_symbol);
}

/* Appends, and lets go of what is appended. */
static int append(PyObject *list, PyObject *item)
{
	const int failed = !item || PyList_Append(list, item);

	Py_XDECREF(item);
	return failed ? -1 : 0;
}

static PyObject *reader_events(struct reader *self, PyObject *unused)
{
	const struct gn_event_attrs *attrs = &self->file.attrs;
	PyObject *list = PyList_New(0);

	(void)unused;
	for (uint32_t i = 0; list && i < attrs->attr.n; i++) {
		const struct gn_event_attr *attr = gn_event_attr(attrs, i);

		if (append(list,
			   Py_BuildValue("IKKKKKK", attr->type, (unsigned long long)attr->config,
					 (unsigned long long)attr->sample_period,
					 (unsigned long long)attr->sample_type,
					 (unsigned long long)attr->flags,
					 (unsigned long long)attr->branch_type,
					 (unsigned long long)attr->first_id)))
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *reader_notes(struct reader *self, PyObject *unused)
{
	const struct gn_perf_note *note = self->file.note.row;
	PyObject *list = PyList_New(0);

	(void)unused;
	for (size_t i = 0; list && i < self->file.note.n; i++)
		if (append(list,
			   Py_BuildValue("IKK", note[i].kind, (unsigned long long)note[i].offset,
					 (unsigned long long)note[i].bytes)))
			Py_CLEAR(list);
	return list;
}

static PyObject *reader_modules(struct reader *self, PyObject *unused)
{
	const struct gn_mapped_files *files = &self->file.mapped;
	PyObject *list = PyList_New(0);

	(void)unused;
	for (uint32_t i = 0; list && i < files->module.n; i++) {
		const struct gn_mapped_module *module = gn_module(files, i);

		if (append(list, Py_BuildValue("Iyy#Ki", module->kind, module->path,
					       (const char *)module->build_id,
					       (Py_ssize_t)module->build_id_bytes,
					       (unsigned long long)module->inode, module->pid)))
			Py_CLEAR(list);
	}
	return list;
}

static PyObject *reader_symbols(struct reader *self, PyObject *unused)
{
	const struct gn_kernel_symbol *symbol = self->file.symbol.row;
	PyObject *list = PyList_New(0);

	(void)unused;
	for (size_t i = 0; list && i < self->file.symbol.n; i++)
		if (append(list,
			   Py_BuildValue("KKy", (unsigned long long)symbol[i].address,
					 (unsigned long long)symbol[i].bytes, symbol[i].name)))
			Py_CLEAR(list);
	return list;
}

static PyObject *reader_place(struct reader *self, PyObject *args)
{
	const char *path, *segments;
	struct gn_segment *copy;
	unsigned int module;
	Py_ssize_t bytes;
	size_t n;
	int failed;

	if (!PyArg_ParseTuple(args, "Iyy#:place", &module, &path, &segments, &bytes))
		return NULL;
	n = (size_t)bytes / sizeof(*copy);
	if (module >= self->file.mapped.module.n) {
		PyErr_SetString(PyExc_IndexError, "there is no such module");
		return NULL;
	}
	/* Bytes of Python need not be aligned. */
	copy = malloc((n ? n : 1) * sizeof(*copy));
	if (!copy)
		return PyErr_NoMemory();
	memcpy(copy, segments, n * sizeof(*copy));
	failed = gn_module_place(gn_module(&self->file.mapped, module), path, copy, (uint32_t)n);
	free(copy);
	if (failed)
		return PyErr_NoMemory();
	Py_RETURN_NONE;
}

/* --- samples ---------------------------------------------------------------------------------- */

/* Gives rows away as bytes. */
static int give(PyObject *columns, const char *name, struct gn_rows *rows, size_t row_bytes)
{
	PyObject *bytes = PyBytes_FromStringAndSize(rows->row, (Py_ssize_t)(rows->n * row_bytes));
	const int failed = !bytes || PyDict_SetItemString(columns, name, bytes);

	Py_XDECREF(bytes);
	gn_rows_free(rows);
	return failed;
}

static int give_tree(PyObject *columns, struct gn_path_tree *tree)
{
	struct gn_rows places = {tree->place, tree->n_places, tree->places_room};
	struct gn_rows nodes = {tree->node, tree->n_nodes, tree->nodes_room};

	tree->place = NULL;
	tree->node = NULL;
	gn_path_tree_end(tree);
	return give(columns, "place", &places, sizeof(struct gn_place)) |
	       give(columns, "node", &nodes, sizeof(struct gn_path_node));
}

static PyObject *as_columns(struct gn_profile *profile)
{
	PyObject *columns = Py_BuildValue(
		"{s:K,s:K,s:K}", "refused_nodes", (unsigned long long)profile->tree.refused,
		"without_user", (unsigned long long)profile->without_user, "left_out_maps",
		(unsigned long long)profile->left_out_maps);

	if (columns &&
	    (give_tree(columns, &profile->tree) ||
	     give(columns, "process", &profile->process, sizeof(struct gn_profile_process)) ||
	     give(columns, "thread", &profile->thread, sizeof(struct gn_profile_thread)) ||
	     give(columns, "sample", &profile->sample, sizeof(struct gn_sample_sample)) ||
	     give(columns, "value", &profile->value, sizeof(struct gn_sample_value)) ||
	     give(columns, "data", &profile->data, sizeof(struct gn_sample_data)) ||
	     give(columns, "jump", &profile->jump, sizeof(struct gn_sample_jump))))
		Py_CLEAR(columns);
	return columns;
}

static PyObject *reader_read(struct reader *self, PyObject *args)
{
	struct gn_profile profile;
	PyObject *columns = NULL;
	int machine, failed;

	if (!PyArg_ParseTuple(args, "i:read", &machine))
		return NULL;
	if (machine > GN_UNWIND_AARCH64)
		machine = -1;
	Py_BEGIN_ALLOW_THREADS failed = gn_profile_read(&profile, &self->file, machine);
	Py_END_ALLOW_THREADS columns =
		failed ? raise(failed, &self->file.problem) : as_columns(&profile);
	gn_profile_free(&profile);
	return columns;
}

static PyMethodDef methods[] = {
	{"facts", (PyCFunction)reader_facts, METH_NOARGS, "facts() -> dict\n\nWhat there is."},
	{"events", (PyCFunction)reader_events, METH_NOARGS,
	 "events() -> list\n\nOf each: type, config, period, sample type, flags, branch type, id."},
	{"notes", (PyCFunction)reader_notes, METH_NOARGS,
	 "notes() -> list\n\nOf each of perf's own: kind, offset, bytes."},
	{"modules", (PyCFunction)reader_modules, METH_NOARGS,
	 "modules() -> list\n\nOf each: kind, path, build id, inode, pid."},
	{"symbols", (PyCFunction)reader_symbols, METH_NOARGS,
	 "symbols() -> list\n\nOf each function made in the kernel: address, bytes, name."},
	{"place", (PyCFunction)reader_place, METH_VARARGS,
	 "place(module, path, segments)\n\nSay where a module's file is here."},
	{"read", (PyCFunction)reader_read, METH_VARARGS,
	 "read(machine) -> dict\n\nThe samples, as bytes of rows."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "PerfFile(descriptor, unpacked)\n\nA perf.data file. Raises FileError."},
	{Py_tp_new, reader_new},
	{Py_tp_dealloc, reader_dealloc},
	{Py_tp_methods, methods},
	{0, NULL},
};

static PyType_Spec spec_of_type = {
	.name = "gnomon.sampling._perf_data.PerfFile",
	.basicsize = sizeof(struct reader),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "gnomon.sampling._perf_data",
	.m_doc = "perf.data files: their records, and samples as the sampler has them.",
	.m_size = -1,
};

PyMODINIT_FUNC PyInit__perf_data(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *type = NULL;

	if (!module)
		return NULL;
	type = PyType_FromSpec(&spec_of_type);
	file_error =
		PyErr_NewExceptionWithDoc("gnomon.sampling._perf_data.FileError",
					  "Its args: offset, what is wrong there.", NULL, NULL);
	if (!type || !file_error || PyModule_AddObjectRef(module, "PerfFile", type) < 0 ||
	    PyModule_AddObjectRef(module, "FileError", file_error) < 0)
		Py_CLEAR(module);
	Py_XDECREF(type);
	return module;
}
