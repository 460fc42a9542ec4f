/*
 * gnomon.sections._libhpm: libhpm for Python, with the libhpm.so.0 that C code of the same process
 * uses.
 *
 * A start and a stop keep the GIL: they take less than to give it back would. libhpm never calls
 * Python, so whoever waits for one of its locks gets it without the GIL.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <gnomon/libhpm.h>

#include "python_stack.h"

/* More events than libhpm counts. */
#define COUNTS_MAX 1024

/* HPM_NUM_INST_PTS is at most that. */
#define NUMBER_MAX (1 << 24)

/* --- sections with labels --------------------------------------------------------------------- */

/* A section's state on a thread or, if it counts the whole process, in it. */
struct state {
	int number;	/* that libhpm gave, 0: none yet */
	int depth;	/* starts that were not stopped, */
	int inherited;	/* and those of the process that this one was forked from */
	int generation; /* for which they hold */
};

struct section {
	PyObject_HEAD PyObject *label; /* bytes, as is the file */
	PyObject *file;
	int line;
	int is_whole;
	int parent_mode;	/* HPM_AUTO_PARENT ..., where there is no `parent` */
	struct section *parent; /* owned, or NULL */
	struct section *root;	/* whose numbers it has: of its label and kind; owned or itself */
	int index;		/* of a thread's states */
	int first_number;	/* that of its first thread, 0: none yet */
	struct state whole;
};

/* Of the calling thread's sections by `index`. */
static __thread struct state *states;
static __thread int n_states;
static pthread_key_t thread_end;
static int indices_given;
static int generation; /* forks that led to this process */

static PyObject *by_label; /* what section() gave for labels alone */
static PyObject *make;	   /* what makes one where there is none */
static PyObject *prepare;  /* is called before a number is taken */
static int raises;

static void end_thread(void *made)
{
	free(made);
	states = NULL;
	n_states = 0;
}

/* NULL: it has no number yet. */
static inline struct state *state_of(struct section *root)
{
	struct state *state = &root->whole;

	if (!root->is_whole) {
		if (root->index >= n_states)
			return NULL;
		state = &states[root->index];
	}
	if (state->generation != generation) {
		state->inherited += state->depth;
		state->depth = 0;
		state->generation = generation;
	}
	return state->number ? state : NULL;
}

static int make_room(int index)
{
	const int room = 2 * index + 64;
	struct state *grown = realloc(states, (size_t)room * sizeof(*grown));

	if (!grown) {
		PyErr_NoMemory();
		return -1;
	}
	memset(grown + n_states, 0, (size_t)(room - n_states) * sizeof(*grown));
	states = grown;
	n_states = room;
	pthread_setspecific(thread_end, grown);
	return 0;
}

/* Gives a section a number, if libhpm has one; else *state is NULL. 0, or -1 if that raised. */
static int take_number(struct section *root, struct state **state)
{
	PyObject *done = PyObject_CallNoArgs(prepare);
	struct state *numbered;

	if (!done)
		return -1;
	Py_DECREF(done);
	if (!root->is_whole && root->index >= n_states && make_room(root->index))
		return -1;
	*state = state_of(root);
	if (*state)
		return 0;
	numbered = root->is_whole ? &root->whole : &states[root->index];
	numbered->number = hpmNewID(PyBytes_AsString(root->file), root->line);
	if (!root->first_number)
		root->first_number = numbered->number;
	*state = state_of(root);
	return 0;
}

static int raise_if_wrong(const struct section *section, int count_before)
{
	PyObject *errors, *kind;

	if (!raises || hpm_error_count == count_before)
		return 0;
	errors = PyImport_ImportModule("gnomon.errors");
	kind = errors ? PyObject_GetAttrString(errors, "SectionError") : NULL;
	if (kind)
		PyErr_Format(
			kind,
			"section '%s': libhpm found a mistake; the first line on stderr of its "
			"kind says which, and what to do",
			PyBytes_AsString(section->label));
	Py_XDECREF(kind);
	Py_XDECREF(errors);
	return -1;
}

static int parent_of(const struct section *section)
{
	const struct state *state;

	if (!section->parent)
		return section->parent_mode;
	state = state_of(section->parent->root);
	return state ? state->number : section->parent->root->first_number;
}

static void leave(struct section *section, struct state *state)
{
	state->depth -= state->depth > 0;
	if (section->is_whole)
		hpmStop(state->number);
	else
		hpmTstop(state->number);
}

static PyObject *section_enter(PyObject *self, PyObject *nothing)
{
	struct section *section = (struct section *)self;
	const int count_before = hpm_error_count;
	struct state *state = state_of(section->root);

	(void)nothing;
	if (!state && take_number(section->root, &state))
		return NULL;
	if (state) {
		const int number = state->number, parent = parent_of(section);
		const char *label = PyBytes_AsString(section->label);

		state->depth++;
		if (hpmKeepsPlaces())
			gn_python_stack_tell();
		if (section->is_whole)
			hpmStartx(number, parent, label);
		else
			hpmTstartx(number, parent, label);
	}
	if (!raise_if_wrong(section, count_before))
		return Py_NewRef(self);
	/* Its block is not entered, so nobody will leave it. */
	if (state)
		leave(section, state);
	return NULL;
}

static PyObject *section_exit(PyObject *self, PyObject *const *arguments, Py_ssize_t n)
{
	struct section *section = (struct section *)self;
	const int count_before = hpm_error_count;
	struct state *state = state_of(section->root);

	if (!state && take_number(section->root, &state))
		return NULL;
	/* What was entered before a fork is the parent's; the child only leaves the block. */
	if (state && !state->depth && state->inherited)
		state->inherited--;
	else if (state)
		leave(section, state);
	/* An exception of the program goes before ours. */
	if ((!n || arguments[0] == Py_None) && raise_if_wrong(section, count_before))
		return NULL;
	Py_RETURN_NONE;
}

static PyObject *section_new(PyTypeObject *type, PyObject *arguments, PyObject *named)
{
	allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
	PyObject *label, *file, *parent, *root;
	struct section *section;
	long parent_mode = HPM_AUTO_PARENT;
	int line, is_whole;

	if (named && PyDict_Size(named)) {
		PyErr_SetString(PyExc_TypeError, "Section takes no named arguments");
		return NULL;
	}
	if (!PyArg_ParseTuple(arguments, "SSipOO", &label, &file, &line, &is_whole, &parent, &root))
		return NULL;
	if (root != Py_None && !PyObject_TypeCheck(root, type)) {
		PyErr_SetString(PyExc_TypeError, "the root is no Section");
		return NULL;
	}
	if (!PyObject_TypeCheck(parent, type))
		parent_mode = PyLong_AsLong(parent);
	if (PyErr_Occurred())
		return NULL;
	section = (struct section *)allocate(type, 0);
	if (!section)
		return NULL;
	section->label = Py_NewRef(label);
	section->file = Py_NewRef(file);
	section->line = line;
	section->is_whole = is_whole;
	section->parent_mode = (int)parent_mode;
	if (PyObject_TypeCheck(parent, type))
		section->parent = (struct section *)Py_NewRef(parent);
	section->root = root == Py_None ? section : (struct section *)Py_NewRef(root);
	if (root == Py_None && !is_whole)
		section->index = indices_given++;
	return (PyObject *)section;
}

static void section_dealloc(PyObject *self)
{
	struct section *section = (struct section *)self;
	PyTypeObject *type = Py_TYPE(self);
	freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);

	Py_XDECREF(section->label);
	Py_XDECREF(section->file);
	Py_XDECREF((PyObject *)section->parent);
	if (section->root != section)
		Py_XDECREF((PyObject *)section->root);
	release(self);
	Py_DECREF(type);
}

#define FAST(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef section_methods[] = {
	{"__enter__", section_enter, METH_NOARGS, "Start the section."},
	{"__exit__", FAST(section_exit), METH_FASTCALL, "Stop the section."},
	{NULL, NULL, 0, NULL},
};

static PyType_Slot section_slots[] = {
	{Py_tp_doc, "A section by its label: Section(label, file, line, is_whole, parent, root)."},
	{Py_tp_new, section_new},
	{Py_tp_dealloc, section_dealloc},
	{Py_tp_methods, section_methods},
	{0, NULL},
};

static PyType_Spec section_spec = {
	.name = "gnomon.sections._libhpm.Section",
	.basicsize = sizeof(struct section),
	.flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
	.slots = section_slots,
};

/* section("label") where there is one of that label; else what `make` says. */
static PyObject *find_section(PyObject *module, PyObject *const *arguments, Py_ssize_t n,
			      PyObject *names)
{
	const Py_ssize_t n_named = names ? PyTuple_Size(names) : 0;
	PyObject *given, *named, *section = NULL;

	(void)module;
	if (n == 1 && !n_named && PyUnicode_CheckExact(arguments[0])) {
		PyObject *known_section = PyDict_GetItemWithError(by_label, arguments[0]);

		if (known_section)
			return Py_NewRef(known_section);
		if (PyErr_Occurred())
			return NULL;
	}
	given = PyTuple_New(n);
	named = PyDict_New();
	if (!given || !named)
		goto out;
	for (Py_ssize_t i = 0; i < n; i++)
		PyTuple_SetItem(given, i, Py_NewRef(arguments[i]));
	for (Py_ssize_t i = 0; i < n_named; i++) {
		if (PyDict_SetItem(named, PyTuple_GetItem(names, i), arguments[n + i]))
			goto out;
	}
	section = PyObject_Call(make, given, named);
out:
	Py_XDECREF(given);
	Py_XDECREF(named);
	return section;
}

static PyObject *connect(PyObject *module, PyObject *arguments)
{
	PyObject *before[] = {make, prepare};

	(void)module;
	if (!PyArg_ParseTuple(arguments, "OO", &make, &prepare))
		return NULL;
	Py_INCREF(make);
	Py_INCREF(prepare);
	Py_XDECREF(before[0]);
	Py_XDECREF(before[1]);
	Py_RETURN_NONE;
}

static PyObject *forked(PyObject *module, PyObject *nothing)
{
	(void)module;
	(void)nothing;
	generation++;
	Py_RETURN_NONE;
}

static PyObject *set_raising(PyObject *module, PyObject *is_on)
{
	const int truth = PyObject_IsTrue(is_on);

	(void)module;
	if (truth < 0)
		return NULL;
	raises = truth;
	Py_RETURN_NONE;
}

/* --- the guide's functions -------------------------------------------------------------------- */

/* A number beyond an int's is beyond a section's, too: libhpm says so. */
static int to_number(PyObject *object, int *number)
{
	int overflow;
	const long value = PyLong_AsLongAndOverflow(object, &overflow);

	if (value == -1 && !overflow && PyErr_Occurred())
		return -1;
	*number = overflow || value > INT_MAX || value < INT_MIN ? INT_MAX : (int)value;
	return 0;
}

/* A label's UTF-8, which *kept keeps; what is none is "?". */
static const char *to_text(PyObject *label, PyObject **kept)
{
	const char *text;

	*kept = NULL;
	if (!PyUnicode_Check(label)) {
		PyErr_SetString(PyExc_TypeError, "a label is a str");
		return NULL;
	}
	text = PyUnicode_AsUTF8AndSize(label, NULL);
	if (text || !PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
		return text;
	PyErr_Clear();
	*kept = PyUnicode_AsEncodedString(label, "utf-8", "replace");
	return *kept ? PyBytes_AsString(*kept) : NULL;
}

/* The numbers whose place was told. */
static unsigned char *placed;
static int n_placed;

/* Says which line of Python starts a section first. Whatever fails, the section has no place. */
__attribute__((cold, noinline)) static void tell_place(int number)
{
	PyFrameObject *frame = PyEval_GetFrame();
	PyObject *code = frame ? (PyObject *)PyFrame_GetCode(frame) : NULL;
	PyObject *name = code ? PyObject_GetAttrString(code, "co_filename") : NULL;
	PyObject *file = name ? PyUnicode_EncodeFSDefault(name) : NULL;

	if (number >= n_placed && number <= NUMBER_MAX) {
		const int room = number + 1024;
		unsigned char *grown = realloc(placed, (size_t)room);

		if (grown) {
			memset(grown + n_placed, 0, (size_t)(room - n_placed));
			placed = grown;
			n_placed = room;
		}
	}
	if (file && hpmPlace(number, PyBytes_AsString(file), PyFrame_GetLineNumber(frame)) &&
	    number < n_placed)
		placed[number] = 1;
	PyErr_Clear();
	Py_XDECREF(file);
	Py_XDECREF(name);
	Py_XDECREF(code);
}

static inline void tell_place_once(int number)
{
	if (number > 0 && (number >= n_placed || !placed[number]))
		tell_place(number);
}

/* instID, par_ID where there is one, label. A label that is kept is for Py_DECREF(). */
static const char *parse_start(PyObject *const *arguments, Py_ssize_t n, int *number, int *parent,
			       PyObject **kept)
{
	const Py_ssize_t wanted = parent ? 3 : 2;

	if (n != wanted) {
		PyErr_Format(PyExc_TypeError, "%zd arguments are wanted: %s", wanted,
			     parent ? "instID, par_ID, label" : "instID, label");
		return NULL;
	}
	if (to_number(arguments[0], number) || (parent && to_number(arguments[1], parent)))
		return NULL;
	return to_text(arguments[wanted - 1], kept);
}

static PyObject *call_start(PyObject *const *arguments, Py_ssize_t n,
			    void (*start)(int, const char *))
{
	PyObject *kept;
	int number;
	const char *label = parse_start(arguments, n, &number, NULL, &kept);

	if (!label)
		return NULL;
	tell_place_once(number);
	if (hpmKeepsPlaces())
		gn_python_stack_tell();
	start(number, label);
	Py_XDECREF(kept);
	Py_RETURN_NONE;
}

static PyObject *call_start_of(PyObject *const *arguments, Py_ssize_t n,
			       void (*start)(int, int, const char *))
{
	PyObject *kept;
	int number, parent;
	const char *label = parse_start(arguments, n, &number, &parent, &kept);

	if (!label)
		return NULL;
	tell_place_once(number);
	if (hpmKeepsPlaces())
		gn_python_stack_tell();
	start(number, parent, label);
	Py_XDECREF(kept);
	Py_RETURN_NONE;
}

static PyObject *start_process(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
	(void)module;
	return call_start(arguments, n, hpmStart);
}

static PyObject *start_process_of(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
	(void)module;
	return call_start_of(arguments, n, hpmStartx);
}

static PyObject *start_thread(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
	(void)module;
	return call_start(arguments, n, hpmTstart);
}

static PyObject *start_thread_of(PyObject *module, PyObject *const *arguments, Py_ssize_t n)
{
	(void)module;
	return call_start_of(arguments, n, hpmTstartx);
}

static PyObject *stop_process(PyObject *module, PyObject *number_object)
{
	int number;

	(void)module;
	if (to_number(number_object, &number))
		return NULL;
	hpmStop(number);
	Py_RETURN_NONE;
}

static PyObject *stop_thread(PyObject *module, PyObject *number_object)
{
	int number;

	(void)module;
	if (to_number(number_object, &number))
		return NULL;
	hpmTstop(number);
	Py_RETURN_NONE;
}

/* Plug-ins may take their time, and may be Python: these give back the GIL. */
static PyObject *init(PyObject *module, PyObject *arguments)
{
	const char *name;
	int task;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "is", &task, &name))
		return NULL;
	Py_BEGIN_ALLOW_THREADS hpmInit(task, name);
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *init_once(PyObject *module, PyObject *arguments)
{
	const char *name;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "y", &name))
		return NULL;
	Py_BEGIN_ALLOW_THREADS hpmInitOnce(name);
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *terminate(PyObject *module, PyObject *arguments)
{
	int task;

	(void)module;
	if (!PyArg_ParseTuple(arguments, "i", &task))
		return NULL;
	Py_BEGIN_ALLOW_THREADS hpmTerminate(task);
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *terminate_once(PyObject *module, PyObject *nothing)
{
	(void)module;
	(void)nothing;
	Py_BEGIN_ALLOW_THREADS hpmTerminateOnce();
	Py_END_ALLOW_THREADS Py_RETURN_NONE;
}

static PyObject *tuple_of(const long long *values, Py_ssize_t n)
{
	PyObject *tuple = PyTuple_New(n);

	for (Py_ssize_t i = 0; tuple && i < n; i++) {
		PyObject *value = PyLong_FromLongLong(values[i]);

		if (!value || PyTuple_SetItem(tuple, i, value) < 0)
			Py_CLEAR(tuple);
	}
	return tuple;
}

static PyObject *get_time_and_counters(PyObject *module, PyObject *wanted)
{
	long long values[COUNTS_MAX];
	double seconds = NAN;
	PyObject *counts;
	int n;

	(void)module;
	if (to_number(wanted, &n))
		return NULL;
	n = n < 0 ? 0 : n > COUNTS_MAX ? COUNTS_MAX : n;
	for (int i = 0; i < n; i++)
		values[i] = -1;
	hpmGetTimeAndCounters(n, &seconds, values);
	counts = tuple_of(values, n);
	return counts ? Py_BuildValue("dN", seconds, counts) : NULL;
}

static PyObject *get_counters(PyObject *module, PyObject *nothing)
{
	long long values[COUNTS_MAX];
	int n = 0;

	(void)module;
	(void)nothing;
	for (int i = 0; i < COUNTS_MAX; i++)
		values[i] = LLONG_MIN;
	hpmGetCounters(values);
	while (n < COUNTS_MAX && values[n] != LLONG_MIN)
		n++;
	return tuple_of(values, n);
}

static PyObject *error_count(PyObject *module, PyObject *nothing)
{
	(void)module;
	(void)nothing;
	return PyLong_FromLong(hpm_error_count);
}

/* --- the module ------------------------------------------------------------------------------- */

static PyMethodDef methods[] = {
	{"section", FAST(find_section), METH_FASTCALL | METH_KEYWORDS,
	 "section(label, *, whole_process=False, parent=None, exclusive=False)\n--\n\n"
	 "Return the section of this label, for `with` or as a decorator; the same each time.\n\n"
	 "Args:\n"
	 "    label: its name in the output; without it @section takes the function's.\n"
	 "    whole_process: count all threads and processes, not the calling thread.\n"
	 "    parent: the section, or its label, whose exclusive values are to be without this "
	 "one;\n"
	 "        HPM_NO_PARENT for none; without it the last one that this thread entered.\n"
	 "    exclusive: write exclusive values of this one.\n\n"
	 "Raises:\n"
	 "    SectionError: a label or parent that is none."},
	{"connect", connect, METH_VARARGS, "Says who makes sections, and who prepares."},
	{"forked", forked, METH_NOARGS, "Says that this process was forked."},
	{"set_raising", set_raising, METH_O, "Whether mistakes raise SectionError."},
	{"hpmInit", init, METH_VARARGS, "hpmInit(taskID, progName)"},
	{"hpmInitOnce", init_once, METH_VARARGS,
	 "hpmInit, unless it was called; the name is bytes."},
	{"hpmTerminate", terminate, METH_VARARGS, "hpmTerminate(taskID)"},
	{"hpmTerminateOnce", terminate_once, METH_NOARGS, "hpmTerminate where that makes sense."},
	{"hpmStart", FAST(start_process), METH_FASTCALL,
	 "hpmStart(instID, label)\n\nStart a section that counts all threads and processes."},
	{"hpmStartx", FAST(start_process_of), METH_FASTCALL,
	 "hpmStartx(instID, par_ID, label)\n\nhpmStart with a parent."},
	{"hpmStop", stop_process, METH_O, "hpmStop(instID)\n\nStop what hpmStart started."},
	{"hpmTstart", FAST(start_thread), METH_FASTCALL,
	 "hpmTstart(instID, label)\n\nStart a section that counts the calling thread."},
	{"hpmTstartx", FAST(start_thread_of), METH_FASTCALL,
	 "hpmTstartx(instID, par_ID, label)\n\nhpmTstart with a parent."},
	{"hpmTstop", stop_thread, METH_O, "hpmTstop(instID)\n\nStop what hpmTstart started."},
	{"hpmGetTimeAndCounters", get_time_and_counters, METH_O,
	 "hpmGetTimeAndCounters(numCounters)\n\n"
	 "Return seconds since hpmInit, and the calling thread's first counts; -1: not counted."},
	{"hpmGetCounters", get_counters, METH_NOARGS,
	 "hpmGetCounters()\n\nReturn all counts of the calling thread; -1: not counted."},
	{"error_count", error_count, METH_NOARGS, "Return how many calls of libhpm went wrong."},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "gnomon.sections._libhpm",
	.m_doc = "libhpm's functions, and sections by their labels.",
	.m_size = -1,
	.m_methods = methods,
};

PyMODINIT_FUNC PyInit__libhpm(void)
{
	PyObject *module = PyModule_Create(&definition);
	PyObject *type = NULL;

	if (!module)
		return NULL;
	by_label = PyDict_New();
	type = PyType_FromSpec(&section_spec);
	if (!by_label || !type || pthread_key_create(&thread_end, end_thread) ||
	    PyModule_AddObjectRef(module, "by_label", by_label) < 0 ||
	    PyModule_AddObjectRef(module, "Section", type) < 0 ||
	    PyModule_AddIntMacro(module, HPM_AUTO_PARENT) < 0 ||
	    PyModule_AddIntMacro(module, HPM_ONLY_EXCLUSIVE) < 0 ||
	    PyModule_AddIntMacro(module, HPM_NO_PARENT) < 0)
		Py_CLEAR(module);
	Py_XDECREF(type);
	return module;
}
