/*
 * OverflowSet: an event set of libgnomon's whose events overflow. In a signal handler nothing of
 * Python can run: an overflow is noted, and the interpreter told that a signal has come, so that
 * its handler runs in the main thread as soon as it can.
 */
#include "core.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "error_text.h"
#include "event_names.h"
#include "gnomon/gnomon.h"
#include "overflow.h"

#define NOTES 1024 /* a power of two */
#define REGIONS_MAX 65536

struct note {
	uint64_t number, address, data_address, weight;
};

/* Those between tail and head are there. */
struct notes {
	_Atomic uint64_t head, tail, dropped;
	struct note note[NOTES];
};

/* An event of the set: a handler's data, or the buckets that a histogram is written to. */
struct part {
	struct part *next;
	struct overflow_set *set;
	PyObject *name;
	uint64_t number;
	int signal;
	int n_buffers;
	Py_buffer *buffer;
};

struct overflow_set {
	PyObject_HEAD gn_set set;
	struct part *first;
	struct notes *notes;
};

/* --- errors ----------------------------------------------------------------------------------- */

/* Words of C in its sentences, and what they are in Python. */
static const struct {
	const char *c, *python;
} words[] = {
	{"set GN_OVERFLOW_SOFTWARE", "pass software=True"},
	{"GN_OVERFLOW_SOFTWARE", "software=True"},
	{"GN_OVERFLOW_DATA", "data=True"},
};

static PyObject *in_python(void)
{
	PyObject *text = core_text(gn_message());

	for (size_t i = 0; text && i < sizeof(words) / sizeof(words[0]); i++) {
		PyObject *from = core_text(words[i].c), *to = core_text(words[i].python);
		PyObject *replaced = from && to ? PyUnicode_Replace(text, from, to, -1) : NULL;

		Py_XDECREF(from);
		Py_XDECREF(to);
		Py_DECREF(text);
		text = replaced;
	}
	return text;
}

/* Raises what a GN_E* of a set is; always NULL. */
static PyObject *raise_set_error(int code)
{
	const char *kind = "KernelError";
	PyObject *text, *bytes;

	switch (code) {
	case GN_ENOMEM:
		return PyErr_NoMemory();
	case GN_EINVAL:
	case GN_ENOEVNT:
		kind = "OptionError";
		break;
	case GN_ECNFLCT:
		kind = "MixedOverflowError";
		break;
	case GN_ECMP:
	case GN_ENOSUPP:
		kind = "FeatureError";
		break;
	case GN_EISRUN:
		kind = "RunningError";
		break;
	case GN_ENOTRUN:
		kind = "NotRunningError";
		break;
	case GN_ENOEVST:
		kind = "ForkedError";
		break;
	}
	text = in_python();
	bytes = text ? PyUnicode_AsUTF8String(text) : NULL;
	if (bytes)
		core_raise(kind, PyBytes_AsString(bytes));
	Py_XDECREF(bytes);
	Py_XDECREF(text);
	return NULL;
}

static PyObject *done(int code)
{
	return code ? raise_set_error(code) : Py_NewRef(Py_None);
}

/* --- notes: the first function runs in a signal handler ----------------------------------------
 */

static void note_overflow(const struct gn_overflow *overflow, void *data)
{
	const struct part *part = data;
	struct notes *notes = part->set->notes;
	const uint64_t head = atomic_load_explicit(&notes->head, memory_order_relaxed);

	if (head - atomic_load_explicit(&notes->tail, memory_order_acquire) == NOTES) {
		atomic_fetch_add_explicit(&notes->dropped, 1, memory_order_relaxed);
	} else {
		notes->note[head % NOTES] = (struct note){part->number, overflow->address,
							  overflow->data_address, overflow->weight};
		atomic_store_explicit(&notes->head, head + 1, memory_order_release);
	}
	PyErr_SetInterruptEx(part->signal);
}

static PyObject *take_notes(struct overflow_set *self, PyObject *unused)
{
	struct notes *notes = self->notes;
	uint64_t tail = atomic_load_explicit(&notes->tail, memory_order_relaxed);
	const uint64_t head = atomic_load_explicit(&notes->head, memory_order_acquire);
	PyObject *list = PyList_New(0);

	(void)unused;
	while (list && tail != head) {
		const struct note *note = &notes->note[tail % NOTES];
		PyObject *row = Py_BuildValue("KKKK", note->number, note->address,
					      note->data_address, note->weight);

		if (!row || PyList_Append(list, row) < 0)
			Py_CLEAR(list);
		Py_XDECREF(row);
		tail++;
	}
	atomic_store_explicit(&notes->tail, tail, memory_order_release);
	return list;
}

static PyObject *dropped(struct overflow_set *self, PyObject *unused)
{
	(void)unused;
	return PyLong_FromUnsignedLongLong(
		atomic_load_explicit(&self->notes->dropped, memory_order_relaxed));
}

/* --- parts ------------------------------------------------------------------------------------ */

static void free_part(struct part *part)
{
	for (int i = 0; i < part->n_buffers; i++)
		PyBuffer_Release(&part->buffer[i]);
	free(part->buffer);
	Py_XDECREF(part->name);
	free(part);
}

static struct part *new_part(struct overflow_set *self, PyObject *name)
{
	struct part *part = calloc(1, sizeof(*part));

	if (!part) {
		PyErr_NoMemory();
		return NULL;
	}
	part->set = self;
	part->name = Py_NewRef(name);
	return part;
}

/* Takes the part of that name out of the list, to be freed once no signal can reach it. */
static struct part *take_part(struct overflow_set *self, PyObject *name)
{
	for (struct part **link = &self->first; *link; link = &(*link)->next) {
		struct part *part = *link;

		if (PyUnicode_Compare(part->name, name))
			continue;
		*link = part->next;
		return part;
	}
	return NULL;
}

static void put_part(struct overflow_set *self, struct part *part)
{
	struct part *before = take_part(self, part->name);

	if (before)
		free_part(before);
	part->next = self->first;
	self->first = part;
}

/* --- the set ---------------------------------------------------------------------------------- */

static PyObject *set_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
	static char *names[] = {"domain", NULL};
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	struct gn_options options = GN_OPTIONS_INIT;
	struct overflow_set *self;
	int code;

	if (!PyArg_ParseTupleAndKeywords(args, kwargs, "i:OverflowSet", names, &options.domain))
		return NULL;
	self = (struct overflow_set *)allocate(type, 0);
	if (!self)
		return NULL;
	self->set = GN_SET_NULL;
	self->notes = calloc(1, sizeof(*self->notes));
	code = self->notes ? gn_set_create(&self->set, &options) : GN_ENOMEM;
	if (!code)
		return (PyObject *)self;
	Py_DECREF(self);
	return raise_set_error(code);
}

static PyObject *set_close(struct overflow_set *self, PyObject *unused)
{
	(void)unused;
	if (self->set != GN_SET_NULL) {
		gn_set_stop(self->set, NULL);
		gn_set_clear(self->set);
		gn_set_destroy(&self->set);
	}
	while (self->first) {
		struct part *part = self->first;

		self->first = part->next;
		free_part(part);
	}
	Py_RETURN_NONE;
}

static void set_dealloc(struct overflow_set *self)
{
	PyTypeObject *type = Py_TYPE((PyObject *)self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_XDECREF(set_close(self, NULL));
	free(self->notes);
	release(self);
	Py_DECREF(type);
}

static PyObject *set_add(struct overflow_set *self, PyObject *name)
{
	PyObject *bytes = core_name_bytes(name);
	PyObject *result = NULL;

	if (bytes && !gn_set_add(self->set, PyBytes_AsString(bytes)))
		result = Py_NewRef(Py_None);
	else if (!PyErr_Occurred())
		core_raise_event_error(name, gn_last_error());
	Py_XDECREF(bytes);
	return result;
}

static PyObject *set_remove(struct overflow_set *self, PyObject *name)
{
	PyObject *bytes = core_name_bytes(name);
	PyObject *result = bytes ? done(gn_set_remove(self->set, PyBytes_AsString(bytes))) : NULL;
	struct part *part = result ? take_part(self, name) : NULL;

	if (part)
		free_part(part);
	Py_XDECREF(bytes);
	return result;
}

/* The number of the signal that overflows of an event take. */
static int signal_of(gn_set set, const char *event)
{
	struct gn_overflow_info info = {.size = sizeof(info)};

	return gn_set_overflow_info(set, event, &info) ? 0 : info.signal;
}

static PyObject *set_overflow(struct overflow_set *self, PyObject *args)
{
	PyObject *name, *bytes;
	unsigned long long number;
	long long threshold;
	struct part *part;
	const char *event;
	int flags, code;

	if (!PyArg_ParseTuple(args, "UOLiK:overflow", &name, &bytes, &threshold, &flags, &number))
		return NULL;
	bytes = core_name_bytes(bytes);
	part = bytes ? new_part(self, name) : NULL;
	if (!part) {
		Py_XDECREF(bytes);
		return NULL;
	}
	event = PyBytes_AsString(bytes);
	part->number = number;
	code = gn_set_overflow(self->set, event, threshold, flags, note_overflow, part);
	if (code)
		free_part(part);
	else
		put_part(self, part);
	if (!code)
		part->signal = signal_of(self->set, event);
	Py_DECREF(bytes);
	return code ? raise_set_error(code) : PyLong_FromLong(part->signal);
}

/* The buckets of a region, and their flag; 0, or -1 with an exception set. */
static int take_region(PyObject *row, struct gn_profil *region, Py_buffer *buffer, int *flag)
{
	unsigned long long offset;
	unsigned int scale;
	PyObject *buckets;

	if (!PyArg_ParseTuple(row, "OKI:region", &buckets, &offset, &scale) ||
	    PyObject_GetBuffer(buckets, buffer, PyBUF_CONTIG))
		return -1;
	*flag = buffer->itemsize == 2	? GN_PROFIL_BUCKET_16
		: buffer->itemsize == 4 ? GN_PROFIL_BUCKET_32
		: buffer->itemsize == 8 ? GN_PROFIL_BUCKET_64
					: 0;
	*region = (struct gn_profil){buffer->buf, (size_t)buffer->len, offset, scale};
	return 0;
}

static PyObject *set_sprofil(struct overflow_set *self, PyObject *args)
{
	PyObject *name, *bytes, *rows;
	struct gn_profil *region = NULL;
	struct part *part = NULL;
	long long threshold;
	int flags, code = GN_EINVAL;
	Py_ssize_t n;

	if (!PyArg_ParseTuple(args, "UOO!Li:sprofil", &name, &bytes, &PyTuple_Type, &rows,
			      &threshold, &flags))
		return NULL;
	n = PyTuple_Size(rows);
	bytes = core_name_bytes(bytes);
	if (!bytes || n > REGIONS_MAX)
		goto out;
	part = new_part(self, name);
	region = calloc((size_t)n + 1, sizeof(*region));
	if (part)
		part->buffer = calloc((size_t)n + 1, sizeof(*part->buffer));
	if (!part || !region || !part->buffer)
		goto out;
	for (Py_ssize_t i = 0; i < n; i++) {
		int flag;

		if (take_region(PyTuple_GetItem(rows, i), &region[i], &part->buffer[i], &flag))
			goto out;
		part->n_buffers++;
		flags |= flag;
	}
	code = gn_set_sprofil(self->set, PyBytes_AsString(bytes), region, (int)n, threshold, flags);
	if (!code) {
		put_part(self, part);
		part = NULL;
	}
out:
	if (part)
		free_part(part);
	if (code && !PyErr_Occurred()) {
		if (!region || n > REGIONS_MAX)
			PyErr_NoMemory();
		else
			raise_set_error(code);
	}
	free(region);
	Py_XDECREF(bytes);
	return code ? NULL : Py_NewRef(Py_None);
}

static PyObject *set_start(struct overflow_set *self, PyObject *unused)
{
	(void)unused;
	atomic_store(&self->notes->dropped, 0);
	return done(gn_set_start(self->set));
}

static PyObject *set_stop(struct overflow_set *self, PyObject *unused)
{
	(void)unused;
	return done(gn_set_stop(self->set, NULL));
}

static PyObject *set_info(struct overflow_set *self, PyObject *name)
{
	struct gn_overflow_info info = {.size = sizeof(info)};
	PyObject *bytes = core_name_bytes(name);
	int code;

	if (!bytes)
		return NULL;
	code = gn_set_overflow_info(self->set, PyBytes_AsString(bytes), &info);
	Py_DECREF(bytes);
	if (code)
		return raise_set_error(code);
	return Py_BuildValue("LiiiiiKLK", (long long)info.threshold, info.flags, info.kind,
			     info.precise, info.precise_wanted, info.signal, info.overflows,
			     (long long)info.lost, info.outside);
}

static PyObject *set_estimate(struct overflow_set *self, PyObject *name)
{
	PyObject *bytes = core_name_bytes(name);
	struct gn_estimate total;
	int code;

	if (!bytes)
		return NULL;
	code = gn_set_estimate(self->set, PyBytes_AsString(bytes), &total);
	Py_DECREF(bytes);
	if (code)
		return raise_set_error(code);
	return Py_BuildValue("dddK", total.value, total.error, total.weight, total.samples);
}

static PyObject *precise_name(PyObject *module, PyObject *name)
{
	char bare[GN_NAME_MAX] = "";
	PyObject *bytes = core_name_bytes(name), *text;
	int precise;

	(void)module;
	if (!bytes)
		return PyErr_Occurred() ? NULL : Py_BuildValue("Oi", name, 0);
	precise = gn_take_precise(PyBytes_AsString(bytes), bare, sizeof(bare));
	Py_DECREF(bytes);
	text = precise ? core_text(bare) : Py_NewRef(name);
	return text ? Py_BuildValue("Ni", text, precise) : NULL;
}

static PyObject *estimate_part(PyObject *module, PyObject *args)
{
	struct gn_estimate total, part;
	unsigned long long samples;

	(void)module;
	if (!PyArg_ParseTuple(args, "(dddK)K:estimate_part", &total.value, &total.error,
			      &total.weight, &total.samples, &samples))
		return NULL;
	if (gn_estimate_part(&total, samples, &part))
		return raise_set_error(GN_EINVAL);
	return Py_BuildValue("dddK", part.value, part.error, part.weight, part.samples);
}

static PyObject *component_overflow(PyObject *module, PyObject *number)
{
	const int component = (int)PyLong_AsLong(number);
	int kind;

	(void)module;
	if (PyErr_Occurred())
		return NULL;
	kind = gn_component_overflow(component);
	return kind < 0 ? raise_set_error(kind) : PyLong_FromLong(kind);
}

static PyMethodDef set_methods[] = {
	{"add", (PyCFunction)set_add, METH_O, "Add an event by name."},
	{"remove", (PyCFunction)set_remove, METH_O, "Take an event out."},
	{"overflow", (PyCFunction)set_overflow, METH_VARARGS,
	 "overflow(name, precise, threshold, flags, number) -> int\n\n"
	 "Note overflows under a number; the signal that they take."},
	{"sprofil", (PyCFunction)set_sprofil, METH_VARARGS,
	 "sprofil(name, precise, regions, threshold, flags)\n\nCount addresses in buckets."},
	{"start", (PyCFunction)set_start, METH_NOARGS, "Begin at zero."},
	{"stop", (PyCFunction)set_stop, METH_NOARGS, "Stop."},
	{"notes", (PyCFunction)take_notes, METH_NOARGS,
	 "Take the notes: (number, address, data address, weight) of each."},
	{"dropped", (PyCFunction)dropped, METH_NOARGS,
	 "Return how many notes found no room in this run."},
	{"info", (PyCFunction)set_info, METH_O, "Return the fields of struct gn_overflow_info."},
	{"estimate", (PyCFunction)set_estimate, METH_O, "Return the fields of struct gn_estimate."},
	{"close", (PyCFunction)set_close, METH_NOARGS, "Give everything back."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
	{Py_tp_doc, "OverflowSet(domain)\n\nEvents of the calling thread that overflow."},
	{Py_tp_new, set_new},
	{Py_tp_dealloc, set_dealloc},
	{Py_tp_methods, set_methods},
	{0, NULL},
};

static PyType_Spec spec = {
	.name = "gnomon._core.OverflowSet",
	.basicsize = sizeof(struct overflow_set),
	.flags = Py_TPFLAGS_DEFAULT,
	.slots = slots,
};

static PyMethodDef functions[] = {
	{"component_overflow", component_overflow, METH_O,
	 "component_overflow(number) -> int\n\nHow events of a component overflow here."},
	{"precise_name", precise_name, METH_O,
	 "precise_name(name) -> tuple\n\nA name without the modifier p, and how often it is "
	 "there."},
	{"estimate_part", estimate_part, METH_VARARGS,
	 "estimate_part(total, samples) -> tuple\n\nThe part of an estimate that samples are."},
	{NULL, NULL, 0, NULL},
};

int core_add_overflow(PyObject *module)
{
	PyObject *type = PyType_FromSpec(&spec);
	int result = type ? PyModule_AddObjectRef(module, "OverflowSet", type) : -1;

	Py_XDECREF(type);
	return result < 0 ? result : PyModule_AddFunctions(module, functions);
}
