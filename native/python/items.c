/* Items between the tuples of gnomon.measurement.items and bytes: item_codec.h for Python. */
#include "core.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "item_codec.h"

/* Places in the tuple of types that a reader gets. */
enum { RANK_FILE, ITEM, EVENT, SPREAD, TYPES };

/* --- to bytes --------------------------------------------------------------------------------- */

/* All of these return 0, or -1 with an exception set. What is filled in, hpm_items_release() frees.
 */

static int too_many(Py_ssize_t n, const char *what, long most)
{
	PyErr_Format(PyExc_ValueError, "%zd %s: at most %ld can be written", n, what, most);
	return -1;
}

static int put_int(PyObject *number, const char *what, int *value)
{
	int overflow;
	const long long wide = PyLong_AsLongLongAndOverflow(number, &overflow);

	if (wide == -1 && PyErr_Occurred())
		return -1;
	if (overflow || wide < INT32_MIN || wide > INT32_MAX) {
		PyErr_Format(PyExc_ValueError, "%s %S: it has 32 bits", what, number);
		return -1;
	}
	*value = (int)wide;
	return 0;
}

static int put_wide(PyObject *number, const char *what, long long *value)
{
	int overflow;

	*value = PyLong_AsLongLongAndOverflow(number, &overflow);
	if (*value == -1 && PyErr_Occurred())
		return -1;
	if (overflow) {
		PyErr_Format(PyExc_ValueError, "%s %S: it has 64 bits", what, number);
		return -1;
	}
	return 0;
}

static int put_flag(PyObject *object, int *value)
{
	*value = PyObject_IsTrue(object);
	return *value < 0 ? -1 : 0;
}

static int put_double(PyObject *number, double *value)
{
	*value = PyFloat_AsDouble(number);
	return *value == -1 && PyErr_Occurred() ? -1 : 0;
}

/* C ends texts at a zero byte; what is no UTF-8 came from the file system, and goes back as it was.
 */
static int put_text(PyObject *text, char **value)
{
	PyObject *visible =
		PyObject_CallMethod(text, "replace", "s#s", "\0", (Py_ssize_t)1, "\\x00");
	PyObject *bytes =
		visible ? PyUnicode_AsEncodedString(visible, "utf-8", "surrogateescape") : NULL;
	Py_ssize_t size = 0;
	int failed = -1;

	Py_XDECREF(visible);
	if (!bytes)
		return -1;
	size = PyBytes_Size(bytes);
	if (size > HPM_ITEMS_STRING_MAX)
		too_many(size, "bytes of a text", HPM_ITEMS_STRING_MAX);
	else if (!(*value = strdup(PyBytes_AsString(bytes))))
		PyErr_NoMemory();
	else
		failed = 0;
	Py_DECREF(bytes);
	return failed;
}

/* A tuple of so many members, borrowed; NULL with an exception set. */
static PyObject *members(PyObject *object, Py_ssize_t n, const char *what)
{
	if (PyTuple_Check(object) && PyTuple_Size(object) == n)
		return object;
	PyErr_Format(PyExc_TypeError, "no %s, but %R", what, Py_TYPE(object));
	return NULL;
}

/* The elements of a sequence as a new tuple of at most so many; NULL with an exception set. */
static PyObject *elements(PyObject *sequence, const char *what, long most)
{
	PyObject *tuple = PySequence_Tuple(sequence);

	if (tuple && PyTuple_Size(tuple) > most) {
		too_many(PyTuple_Size(tuple), what, most);
		Py_CLEAR(tuple);
	}
	return tuple;
}

static int put_bins(PyObject *sequence, hpm_spread *spread)
{
	PyObject *bins = elements(sequence, "bins", HPM_ITEMS_BINS_MAX);
	const Py_ssize_t n = bins ? PyTuple_Size(bins) : 0;
	long long *counts = bins ? calloc((size_t)n + 1, sizeof(*counts)) : NULL;
	int failed = bins ? 0 : -1;

	if (bins && !counts) {
		PyErr_NoMemory();
		failed = -1;
	}
	for (Py_ssize_t i = 0; !failed && i < n; i++)
		failed = put_wide(PyTuple_GetItem(bins, i), "a bin", &counts[i]);
	Py_XDECREF(bins);
	spread->bins = counts;
	spread->n_bins = failed ? 0 : (int)n;
	return failed;
}

static int put_spread(PyObject *object, hpm_spread *spread)
{
	PyObject *of = members(object, 7, "Spread");

	return !of || put_int(PyTuple_GetItem(of, 0), "n", &spread->n) ||
			       put_double(PyTuple_GetItem(of, 1), &spread->minimum) ||
			       put_double(PyTuple_GetItem(of, 2), &spread->maximum) ||
			       put_double(PyTuple_GetItem(of, 3), &spread->deviation) ||
			       put_int(PyTuple_GetItem(of, 4), "min_task", &spread->min_task) ||
			       put_int(PyTuple_GetItem(of, 5), "max_task", &spread->max_task) ||
			       put_bins(PyTuple_GetItem(of, 6), spread)
		       ? -1
		       : 0;
}

static int put_event(PyObject *object, hpm_event_info *event)
{
	PyObject *of = members(object, 12, "EventInfo"), *spread;

	if (!of || put_text(PyTuple_GetItem(of, 0), &event->name) ||
	    put_text(PyTuple_GetItem(of, 1), &event->component) ||
	    put_text(PyTuple_GetItem(of, 2), &event->unit) ||
	    put_text(PyTuple_GetItem(of, 3), &event->description) ||
	    put_text(PyTuple_GetItem(of, 4), &event->reason) ||
	    put_double(PyTuple_GetItem(of, 5), &event->value) ||
	    put_double(PyTuple_GetItem(of, 6), &event->enabled_s) ||
	    put_double(PyTuple_GetItem(of, 7), &event->running_s) ||
	    put_int(PyTuple_GetItem(of, 8), "how", &event->how) ||
	    put_int(PyTuple_GetItem(of, 9), "modes", &event->modes) ||
	    put_int(PyTuple_GetItem(of, 10), "flags", &event->flags))
		return -1;
	spread = PyTuple_GetItem(of, 11);
	if (spread == Py_None)
		return 0;
	event->spread = calloc(1, sizeof(*event->spread));
	if (!event->spread) {
		PyErr_NoMemory();
		return -1;
	}
	return put_spread(spread, event->spread);
}

static int put_events(PyObject *sequence, hpm_data_item *item)
{
	PyObject *events = elements(sequence, "events of an item", HPM_ITEMS_DATA_MAX);
	const Py_ssize_t n = events ? PyTuple_Size(events) : 0;
	int failed = events ? 0 : -1;

	item->data = calloc((size_t)n + 1, sizeof(*item->data));
	if (!item->data) {
		PyErr_NoMemory();
		failed = -1;
	}
	item->num_data = failed ? 0 : (int)n;
	for (Py_ssize_t i = 0; !failed && i < n; i++)
		failed = put_event(PyTuple_GetItem(events, i), &item->data[i]);
	Py_XDECREF(events);
	return failed;
}

static int put_times(PyObject *sequence, hpm_data_item *item)
{
	PyObject *times = PySequence_Tuple(sequence);
	int failed = times ? 0 : -1;

	if (times && PyTuple_Size(times) != HPM_NTIM) {
		PyErr_Format(PyExc_ValueError, "times: an item has %d of them, not %zd", HPM_NTIM,
			     PyTuple_Size(times));
		failed = -1;
	}
	for (int i = 0; !failed && i < HPM_NTIM; i++)
		failed = put_double(PyTuple_GetItem(times, i), &item->times[i]);
	Py_XDECREF(times);
	return failed;
}

/* None of them, or one for each time. */
static int put_time_spreads(PyObject *sequence, hpm_data_item *item)
{
	PyObject *spreads = PySequence_Tuple(sequence);
	int failed = spreads ? 0 : -1;

	if (spreads && PyTuple_Size(spreads) == 0) {
		Py_DECREF(spreads);
		return 0;
	}
	if (spreads && PyTuple_Size(spreads) != HPM_NTIM) {
		PyErr_Format(PyExc_ValueError, "times: an item has spreads of none or all %d",
			     HPM_NTIM);
		failed = -1;
	}
	if (!failed && !(item->times_spread = calloc(HPM_NTIM, sizeof(*item->times_spread)))) {
		PyErr_NoMemory();
		failed = -1;
	}
	for (int i = 0; !failed && i < HPM_NTIM; i++)
		failed = put_spread(PyTuple_GetItem(spreads, i), &item->times_spread[i]);
	Py_XDECREF(spreads);
	return failed;
}

static int put_item(PyObject *object, hpm_data_item *item)
{
	PyObject *of = members(object, 22, "Item");

	return !of || put_events(PyTuple_GetItem(of, 0), item) ||
			       put_times(PyTuple_GetItem(of, 1), item) ||
			       put_flag(PyTuple_GetItem(of, 2), &item->is_mplex_cont) ||
			       put_flag(PyTuple_GetItem(of, 3), &item->is_rusage) ||
			       put_int(PyTuple_GetItem(of, 4), "mpi_task_id", &item->mpi_task_id) ||
			       put_int(PyTuple_GetItem(of, 5), "instr_id", &item->instr_id) ||
			       put_int(PyTuple_GetItem(of, 6), "count", &item->count) ||
			       put_flag(PyTuple_GetItem(of, 7), &item->is_exclusive) ||
			       put_int(PyTuple_GetItem(of, 8), "xml_element_id",
				       &item->xml_element_id) ||
			       put_text(PyTuple_GetItem(of, 9), &item->description) ||
			       put_text(PyTuple_GetItem(of, 10), &item->xml_descr) ||
			       put_text(PyTuple_GetItem(of, 11), &item->label) ||
			       put_text(PyTuple_GetItem(of, 12), &item->group) ||
			       put_text(PyTuple_GetItem(of, 13), &item->file) ||
			       put_text(PyTuple_GetItem(of, 14), &item->parent_label) ||
			       put_int(PyTuple_GetItem(of, 15), "line", &item->line) ||
			       put_int(PyTuple_GetItem(of, 16), "parent_id", &item->parent_id) ||
			       put_int(PyTuple_GetItem(of, 17), "thread_id", &item->thread_id) ||
			       put_int(PyTuple_GetItem(of, 18), "process_id", &item->process_id) ||
			       put_int(PyTuple_GetItem(of, 19), "n_tasks", &item->n_tasks) ||
			       put_text(PyTuple_GetItem(of, 20), &item->tasks) ||
			       put_time_spreads(PyTuple_GetItem(of, 21), item)
		       ? -1
		       : 0;
}

static int put_items(PyObject *sequence, struct hpm_items *items)
{
	PyObject *tuple = elements(sequence, "items", HPM_ITEMS_MAX);
	const Py_ssize_t n = tuple ? PyTuple_Size(tuple) : 0;
	int failed = tuple ? 0 : -1;

	items->item = calloc((size_t)n + 1, sizeof(*items->item));
	if (!items->item) {
		PyErr_NoMemory();
		failed = -1;
	}
	items->n = failed ? 0 : (int)n;
	for (Py_ssize_t i = 0; !failed && i < n; i++)
		failed = put_item(PyTuple_GetItem(tuple, i), &items->item[i]);
	Py_XDECREF(tuple);
	return failed;
}

static int put_file(PyObject *object, struct hpm_items *items)
{
	PyObject *of = members(object, 14, "RankFile");
	long long process = 0;

	if (!of || put_items(PyTuple_GetItem(of, 0), items) ||
	    put_text(PyTuple_GetItem(of, 1), &items->program) ||
	    put_text(PyTuple_GetItem(of, 2), &items->command) ||
	    put_text(PyTuple_GetItem(of, 3), &items->host) ||
	    put_text(PyTuple_GetItem(of, 4), &items->notes) ||
	    put_text(PyTuple_GetItem(of, 5), &items->events) ||
	    put_int(PyTuple_GetItem(of, 6), "task", &items->task) ||
	    put_int(PyTuple_GetItem(of, 7), "size", &items->tasks) ||
	    put_wide(PyTuple_GetItem(of, 8), "process", &process) ||
	    put_int(PyTuple_GetItem(of, 9), "exit_status", &items->exit_status) ||
	    put_int(PyTuple_GetItem(of, 10), "signal", &items->signal) ||
	    put_double(PyTuple_GetItem(of, 11), &items->started) ||
	    put_double(PyTuple_GetItem(of, 12), &items->stopped) ||
	    put_double(PyTuple_GetItem(of, 13), &items->wall_s))
		return -1;
	items->process = process;
	return 0;
}

static PyObject *items_write(PyObject *module, PyObject *file)
{
	struct hpm_items items = {0};
	unsigned char *bytes = NULL;
	PyObject *content = NULL;
	size_t size;
	int failed = put_file(file, &items);

	(void)module;
	if (!failed) {
		failed = hpm_items_write(&items, &bytes, &size);
		if (failed == EOVERFLOW)
			PyErr_Format(PyExc_ValueError,
				     "more than %llu bytes: no rank file has that",
				     (unsigned long long)HPM_ITEMS_BYTES_MAX);
		else if (failed)
			PyErr_NoMemory();
		else
			content = PyBytes_FromStringAndSize((const char *)bytes, (Py_ssize_t)size);
	}
	free(bytes);
	hpm_items_release(&items);
	return content;
}

/* --- from bytes ------------------------------------------------------------------------------- */

/* All of these return a new reference, or NULL with an exception set. */

static PyObject *text_of(const char *text)
{
	return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "surrogateescape")
		    : PyUnicode_FromStringAndSize("", 0);
}

/* A named tuple of these members, which it takes. */
static PyObject *named(PyObject *types, int type, PyObject *fields)
{
	static newfunc make;
	PyObject *whole = fields ? PyTuple_Pack(1, fields) : NULL;
	PyObject *tuple = NULL;

	/* What the class itself has for it is written in Python, and takes as long as the rest. */
	if (!make)
		make = (newfunc)PyType_GetSlot(&PyTuple_Type, Py_tp_new);
	if (whole)
		tuple = make((PyTypeObject *)PyTuple_GetItem(types, type), whole, NULL);
	Py_XDECREF(whole);
	Py_XDECREF(fields);
	return tuple;
}

/* A tuple of n members, each made by its place. */
static PyObject *tuple_of(PyObject *types, int n, const void *from,
			  PyObject *(*make)(PyObject *types, const void *from, int at))
{
	PyObject *tuple = PyTuple_New(n);

	for (int i = 0; tuple && i < n; i++) {
		PyObject *member = make(types, from, i);

		if (!member || PyTuple_SetItem(tuple, i, member))
			Py_CLEAR(tuple);
	}
	return tuple;
}

static PyObject *bin_of(PyObject *types, const void *bins, int index)
{
	(void)types;
	return PyLong_FromLongLong(((const long long *)bins)[index]);
}

static PyObject *double_of(PyObject *types, const void *numbers, int index)
{
	(void)types;
	return PyFloat_FromDouble(((const double *)numbers)[index]);
}

static PyObject *spread_of(PyObject *types, const void *spreads, int at)
{
	const hpm_spread *spread = (const hpm_spread *)spreads + at;

	return named(types, SPREAD,
		     Py_BuildValue("(idddiiN)", spread->n, spread->minimum, spread->maximum,
				   spread->deviation, spread->min_task, spread->max_task,
				   tuple_of(types, spread->n_bins, spread->bins, bin_of)));
}

static PyObject *event_of(PyObject *types, const void *events, int at)
{
	const hpm_event_info *event = (const hpm_event_info *)events + at;
	PyObject *spread = event->spread ? spread_of(types, event->spread, 0) : Py_NewRef(Py_None);

	return named(types, EVENT,
		     Py_BuildValue("(NNNNNdddiiiN)", text_of(event->name),
				   text_of(event->component), text_of(event->unit),
				   text_of(event->description), text_of(event->reason),
				   event->value, event->enabled_s, event->running_s, event->how,
				   event->modes, event->flags, spread));
}

static PyObject *item_of(PyObject *types, const void *items, int at)
{
	const hpm_data_item *item = (const hpm_data_item *)items + at;

	return named(types, ITEM,
		     Py_BuildValue(
			     "(NNNNiiiNiNNNNNNiiiiiNN)",
			     tuple_of(types, item->num_data, item->data, event_of),
			     tuple_of(types, HPM_NTIM, item->times, double_of),
			     PyBool_FromLong(item->is_mplex_cont), PyBool_FromLong(item->is_rusage),
			     item->mpi_task_id, item->instr_id, item->count,
			     PyBool_FromLong(item->is_exclusive), item->xml_element_id,
			     text_of(item->description), text_of(item->xml_descr),
			     text_of(item->label), text_of(item->group), text_of(item->file),
			     text_of(item->parent_label), item->line, item->parent_id,
			     item->thread_id, item->process_id, item->n_tasks, text_of(item->tasks),
			     tuple_of(types, item->times_spread ? HPM_NTIM : 0, item->times_spread,
				      spread_of)));
}

static PyObject *file_of(PyObject *types, const struct hpm_items *items)
{
	return named(types, RANK_FILE,
		     Py_BuildValue(
			     "(NNNNNNiiLiiddd)", tuple_of(types, items->n, items->item, item_of),
			     text_of(items->program), text_of(items->command), text_of(items->host),
			     text_of(items->notes), text_of(items->events), items->task,
			     items->tasks, (long long)items->process, items->exit_status,
			     items->signal, items->started, items->stopped, items->wall_s));
}

/* A FormatError of what hpm_items_read() says: "byte 57: ...". */
static void raise_format_error(PyObject *name, size_t offset, const char *why)
{
	const char *problem = strstr(why, ": ");
	PyObject *errors = PyImport_ImportModule("gnomon.errors");
	PyObject *kind = errors ? PyObject_GetAttrString(errors, "FormatError") : NULL;
	PyObject *arguments =
		kind ? Py_BuildValue("(Ons)", name, (Py_ssize_t)offset, problem ? problem + 2 : why)
		     : NULL;

	if (arguments)
		PyErr_SetObject(kind, arguments);
	Py_XDECREF(arguments);
	Py_XDECREF(kind);
	Py_XDECREF(errors);
}

static int is_types(PyObject *types)
{
	for (Py_ssize_t i = 0; i < PyTuple_Size(types); i++)
		if (!PyType_Check(PyTuple_GetItem(types, i)) ||
		    !PyType_IsSubtype((PyTypeObject *)PyTuple_GetItem(types, i), &PyTuple_Type))
			return 0;
	return PyTuple_Size(types) == TYPES;
}

static int failed_to_read(int failed, PyObject *name, size_t offset, const char *why)
{
	if (failed == ENOMEM)
		PyErr_NoMemory();
	else if (failed)
		raise_format_error(name, offset, why);
	return failed;
}

static PyObject *items_read(PyObject *module, PyObject *args)
{
	struct hpm_items items = {0};
	PyObject *types, *name, *file = NULL;
	Py_buffer content;
	Py_ssize_t offset;
	size_t used;
	char why[256];
	int failed;

	(void)module;
	if (!PyArg_ParseTuple(args, "O!y*On:items_read", &PyTuple_Type, &types, &content, &name,
			      &offset))
		return NULL;
	if (offset < 0 || offset > content.len || !is_types(types)) {
		PyErr_SetString(PyExc_ValueError, "items_read: no such place, or no such types");
		PyBuffer_Release(&content);
		return NULL;
	}
	failed = hpm_items_read((const unsigned char *)content.buf + offset,
				(size_t)(content.len - offset), &items, &used, why);
	PyBuffer_Release(&content);
	if (!failed_to_read(failed, name, (size_t)offset + used, why))
		file = file_of(types, &items);
	hpm_items_release(&items);
	return file ? Py_BuildValue("(Nn)", file, offset + (Py_ssize_t)used) : NULL;
}

static PyObject *items_owner(PyObject *module, PyObject *args)
{
	struct hpm_items items = {0};
	PyObject *name, *owner = NULL;
	Py_buffer content;
	size_t used;
	char why[256];
	int failed;

	(void)module;
	if (!PyArg_ParseTuple(args, "y*O:items_owner", &content, &name))
		return NULL;
	failed = hpm_items_read_head(content.buf, (size_t)content.len, &items, &used, why);
	PyBuffer_Release(&content);
	if (!failed_to_read(failed, name, used, why))
		owner = Py_BuildValue("(iLd)", items.task, (long long)items.process, items.started);
	hpm_items_release(&items);
	return owner;
}

static PyMethodDef functions[] = {
	{"items_write", items_write, METH_O,
	 "items_write(file, /) -> bytes\n\nA RankFile in the layout of HPMITEMS."},
	{"items_read", items_read, METH_VARARGS,
	 "items_read(types, content, name, at, /) -> (file, end)\n\n"
	 "The RankFile that begins at `at`, made of `types`: RankFile, Item, EventInfo, Spread."},
	{"items_owner", items_owner, METH_VARARGS,
	 "items_owner(content, name, /) -> (task, process, started)\n\n"
	 "Whose items begin there, without them."},
	{NULL, NULL, 0, NULL},
};

int core_add_items(PyObject *module)
{
	if (PyModule_AddIntConstant(module, "ITEMS_BYTES_MAX", (long)HPM_ITEMS_BYTES_MAX) < 0 ||
	    PyModule_AddStringConstant(module, "ITEMS_MAGIC", HPM_ITEMS_MAGIC) < 0)
		return -1;
	return PyModule_AddFunctions(module, functions);
}
