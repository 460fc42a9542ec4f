/* Presets for Python: users' own are handed over, names are resolved. */
#include "event_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "preset_files.h"

/* More than one machine has kinds of cores. */
#define EVENTS_MAX 64

/* --- users' presets --------------------------------------------------------------------------- */

/* A text of a row, whose bytes are kept in a list for as long as the row is looked at. */
static const char *text_in(PyObject *row, Py_ssize_t at, PyObject *kept)
{
	PyObject *item = PyTuple_GetItem(row, at);
	PyObject *bytes = item ? core_name_bytes(item) : NULL;
	const char *text = NULL;

	if (!bytes && !PyErr_Occurred())
		PyErr_SetString(PyExc_ValueError, "a preset's text has a NUL");
	if (bytes && PyList_Append(kept, bytes) == 0)
		text = PyBytes_AsString(bytes);
	Py_XDECREF(bytes);
	return text;
}

/* Names one after the other; the caller's to free. NULL with an exception set. */
static char *names_in(PyObject *names, PyObject *kept)
{
	const Py_ssize_t n = PyTuple_Size(names), first = PyList_Size(kept);
	size_t size = 1;
	char *all, *end;

	if (n < 0 || first < 0)
		return NULL;
	for (Py_ssize_t i = 0; i < n; i++) {
		const char *name = text_in(names, i, kept);

		if (!name)
			return NULL;
		size += strlen(name) + 1;
	}
	all = end = malloc(size);
	if (!all) {
		PyErr_NoMemory();
		return NULL;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		end = stpcpy(end, PyBytes_AsString(PyList_GetItem(kept, first + i))) + 1;
	return all;
}

static const char **pmus_in(PyObject *names, PyObject *kept)
{
	const Py_ssize_t n = PyTuple_Size(names);
	const char **pmus = n < 0 ? NULL : malloc((size_t)(n + 1) * sizeof(*pmus));

	if (n >= 0 && !pmus)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; pmus && i < n; i++) {
		pmus[i] = text_in(names, i, kept);
		if (!pmus[i]) {
			free(pmus);
			return NULL;
		}
	}
	return pmus;
}

static const struct {
	const char *symbol;
	enum gn_op_kind kind;
} symbols[] = {
	{"N", GN_OP_NATIVE},	    {"number", GN_OP_CONSTANT}, {"+", GN_OP_ADD},
	{"-", GN_OP_SUBTRACT},	    {"*", GN_OP_MULTIPLY},	{"/", GN_OP_DIVIDE},
	{"seconds", GN_OP_SECONDS},
};

#define SYMBOLS ((int)(sizeof(symbols) / sizeof(symbols[0])))

static int step_in(PyObject *step, int natives, struct gn_op *op)
{
	const char *symbol;
	double value;
	int symbol_index = 0;

	if (!PyTuple_Check(step)) {
		PyErr_SetString(PyExc_TypeError, "a step must be a tuple");
		return -1;
	}
	if (!PyArg_ParseTuple(step, "sd", &symbol, &value))
		return -1;
	while (symbol_index < SYMBOLS && strcmp(symbol, symbols[symbol_index].symbol))
		symbol_index++;
	memset(op, 0, sizeof(*op));
	op->kind = symbol_index < SYMBOLS ? symbols[symbol_index].kind : GN_OP_SECONDS;
	if (op->kind == GN_OP_CONSTANT)
		op->constant = value;
	if (op->kind == GN_OP_NATIVE && value >= 0 && value < natives)
		op->native = (int)value;
	else if (op->kind == GN_OP_NATIVE || symbol_index == SYMBOLS) {
		PyErr_Format(PyExc_ValueError, "'%s' is no step of a formula here", symbol);
		return -1;
	}
	return 0;
}

static struct gn_op *steps_in(PyObject *steps, int natives, int *n)
{
	const Py_ssize_t size = PyTuple_Size(steps);
	struct gn_op *op = size < 0 ? NULL : malloc((size_t)(size + 1) * sizeof(*op));

	if (size >= 0 && !op)
		PyErr_NoMemory();
	for (Py_ssize_t i = 0; op && i < size; i++) {
		if (step_in(PyTuple_GetItem(steps, i), natives, &op[i])) {
			free(op);
			return NULL;
		}
	}
	*n = (int)size;
	return op;
}

static int add_row(struct gn_preset_file *file, PyObject *row, PyObject *kept)
{
	PyObject *name, *description, *unit, *events, *formula, *steps, *reason, *source, *pmus;
	struct gn_preset preset = {.is_users = 1, .differs = ""};
	const char **models = NULL;
	char *natives = NULL;
	int line, failed = -1;

	if (!PyTuple_Check(row)) {
		PyErr_SetString(PyExc_TypeError, "a preset must be a tuple");
		return -1;
	}
	if (!PyArg_ParseTuple(row, "UUUO!UO!UUO!i", &name, &description, &unit, &PyTuple_Type,
			      &events, &formula, &PyTuple_Type, &steps, &reason, &source,
			      &PyTuple_Type, &pmus, &line))
		return -1;
	preset.name = text_in(row, 0, kept);
	preset.description = text_in(row, 1, kept);
	preset.unit = text_in(row, 2, kept);
	preset.formula = text_in(row, 4, kept);
	preset.reason = text_in(row, 6, kept);
	preset.source = text_in(row, 7, kept);
	preset.line = line;
	if (PyErr_Occurred())
		return -1;
	natives = names_in(events, kept);
	models = natives ? pmus_in(pmus, kept) : NULL;
	preset.events = natives;
	preset.n = (int)PyTuple_Size(events);
	preset.pmus = models;
	preset.n_pmus = (int)PyTuple_Size(pmus);
	preset.program.op = models ? steps_in(steps, preset.n, &preset.program.n) : NULL;
	if (preset.program.op && preset.n <= GN_NATIVES_MAX) {
		failed = gn_preset_file_copy(file, &preset);
		if (failed)
			PyErr_NoMemory();
	} else if (!PyErr_Occurred()) {
		PyErr_SetString(PyExc_ValueError, "a preset of too many native events");
	}
	free(preset.program.op);
	free(models);
	free(natives);
	return failed;
}

static struct gn_preset_file *file_of(PyObject *item)
{
	PyObject *rows = NULL, *kept = PyList_New(0);
	struct gn_preset_file *file = NULL;
	PyObject *path = NULL;
	int failed;

	if (!kept)
		return NULL;
	if (!PyTuple_Check(item)) {
		PyErr_SetString(PyExc_TypeError, "a file of presets must be a tuple");
		Py_DECREF(kept);
		return NULL;
	}
	failed =
		!PyArg_ParseTuple(item, "O&O!", PyUnicode_FSConverter, &path, &PyTuple_Type, &rows);
	if (!failed) {
		file = gn_preset_file_new(PyBytes_AsString(path));
		Py_DECREF(path);
		if (!file)
			PyErr_NoMemory();
		failed = !file;
	}
	for (Py_ssize_t i = 0; !failed && i < PyTuple_Size(rows); i++) {
		PyObject *row = PyTuple_GetItem(rows, i);

		failed = add_row(file, row, kept);
	}
	Py_DECREF(kept);
	if (failed && file)
		gn_preset_file_free(file);
	return failed ? NULL : file;
}

static PyObject *use_presets(PyObject *module, PyObject *files)
{
	struct gn_preset_file *first = NULL, **last = &first;
	Py_ssize_t n;

	(void)module;
	if (!PyTuple_Check(files)) {
		PyErr_SetString(PyExc_TypeError, "files of presets must be a tuple");
		return NULL;
	}
	n = PyTuple_Size(files);
	for (Py_ssize_t i = 0; i < n; i++) {
		*last = file_of(PyTuple_GetItem(files, i));
		if (!*last)
			break;
		last = &(*last)->next;
	}
	if (!PyErr_Occurred()) {
		gn_user_presets_replace(first);
		Py_RETURN_NONE;
	}
	while (first) {
		struct gn_preset_file *next = first->next;

		gn_preset_file_free(first);
		first = next;
	}
	return NULL;
}

/* --- resolution ------------------------------------------------------------------------------- */

static PyObject *terms_of(const struct gn_event *event)
{
	PyObject *terms = PyTuple_New(event->n);

	for (int i = 0; terms && i < event->n; i++) {
		PyObject *term = Py_BuildValue("(LN)", (long long)event->factor[i],
					       core_encoding(&event->spec[i]));

		if (!term || PyTuple_SetItem(terms, i, term) < 0)
			Py_CLEAR(terms);
	}
	return terms;
}

static PyObject *step_of(const struct gn_op *op)
{
	int index = 0;

	while (symbols[index].kind != op->kind)
		index++;
	if (op->kind == GN_OP_CONSTANT)
		return Py_BuildValue("(sd)", symbols[index].symbol, op->constant);
	return Py_BuildValue("(si)", symbols[index].symbol, op->native);
}

static PyObject *steps_of(const struct gn_event *event)
{
	PyObject *steps = PyTuple_New(event->ops);

	for (int i = 0; steps && i < event->ops; i++) {
		PyObject *step = step_of(&event->op[i]);

		if (!step || PyTuple_SetItem(steps, i, step) < 0)
			Py_CLEAR(steps);
	}
	return steps;
}

static PyObject *row_of(const struct gn_event *event)
{
	const char *unit = *event->preset_unit ? event->preset_unit : event->unit;

	return Py_BuildValue("(NNNNiIiNN)", core_text(event->name), core_text(event->preset),
			     core_readable(event->description), core_readable(unit),
			     event->component, event->flags, event->domain, terms_of(event),
			     steps_of(event));
}

static PyObject *rows_of(struct gn_event **events, int n)
{
	PyObject *rows = PyTuple_New(n);

	for (int i = 0; rows && i < n; i++) {
		PyObject *row = row_of(events[i]);

		if (!row || PyTuple_SetItem(rows, i, row) < 0)
			Py_CLEAR(rows);
	}
	return rows;
}

static void note_lack(void *context, const char *label, const struct gn_error_text *why)
{
	PyObject *cause = PyUnicode_DecodeUTF8(why->text + why->cause.begin, why->cause.length,
					       "surrogateescape");
	PyObject *remedy = PyUnicode_DecodeUTF8(why->text + why->remedy.begin, why->remedy.length,
						"surrogateescape");
	PyObject *row = Py_BuildValue("(NNNi)", core_text(label), cause, remedy, why->number);

	if (row)
		PyList_Append(context, row);
	Py_XDECREF(row);
}

static PyObject *resolve_bytes(const struct gn_places *places, PyObject *name, const char *text)
{
	struct gn_event *events[EVENTS_MAX];
	struct gn_error_text why;
	struct gn_query query = {.places = places,
				 .name = text,
				 .out = events,
				 .max = EVENTS_MAX,
				 .why = &why,
				 .lacks = note_lack};
	PyObject *result = NULL;
	int failed;

	query.context = PyList_New(0);
	if (!query.context)
		return NULL;
	failed = gn_preset_resolve(&query);
	if (!failed && !PyErr_Occurred())
		result = Py_BuildValue("(NO)", rows_of(events, query.n), query.context);
	else if (failed && !PyErr_Occurred())
		core_raise_event_error(name, &why);
	gn_query_drop(&query);
	Py_DECREF((PyObject *)query.context);
	return result;
}

static PyObject *resolve_preset(PyObject *module, PyObject *args)
{
	struct core_machine machine = {.sysfs = NULL};
	PyObject *name, *bytes, *result = NULL;

	(void)module;
	if (!PyArg_ParseTuple(args, "UO&O&:resolve_preset", &name, core_to_path, &machine.sysfs,
			      core_to_path, &machine.models))
		return NULL;
	core_set_places(&machine);
	bytes = core_name_bytes(name);
	if (bytes && PyBytes_Size(bytes) < GN_NAME_MAX)
		result = resolve_bytes(&machine.places, name, PyBytes_AsString(bytes));
	else if (!PyErr_Occurred())
		result = Py_BuildValue("(()[])");
	Py_XDECREF(bytes);
	core_drop_places(&machine);
	return result;
}

/* --- what there is ---------------------------------------------------------------------------- */

static PyObject *models_of(const struct gn_core *core)
{
	PyObject *models = PyTuple_New(core->n_models);

	for (int i = 0; models && i < core->n_models; i++) {
		PyObject *model = core_text(core->model[i]);

		if (!model || PyTuple_SetItem(models, i, model) < 0)
			Py_CLEAR(models);
	}
	return models;
}

static PyObject *cores(PyObject *module, PyObject *args)
{
	struct core_machine machine = {.sysfs = NULL};
	PyObject *rows = NULL;
	struct gn_core *list;
	int n;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&O&:cores", core_to_path, &machine.sysfs, core_to_path,
			      &machine.models))
		return NULL;
	core_set_places(&machine);
	list = calloc(GN_CORES_MAX, sizeof(*list));
	n = list ? gn_cores(&machine.places, list) : -ENOMEM;
	if (n < 0)
		PyErr_NoMemory();
	else
		rows = PyTuple_New(n);
	for (int i = 0; rows && i < n; i++) {
		PyObject *row =
			Py_BuildValue("(NINO)", core_text(list[i].pmu.name), list[i].pmu.type,
				      models_of(&list[i]), list[i].is_alone ? Py_True : Py_False);

		if (!row || PyTuple_SetItem(rows, i, row) < 0)
			Py_CLEAR(rows);
	}
	free(list);
	core_drop_places(&machine);
	return rows;
}

static PyObject *encoding_on(PyObject *module, PyObject *args)
{
	struct gn_core core = {.is_alone = 1};
	PyObject *event, *models, *bytes, *kept;
	struct gn_event_spec spec;
	int is_known = 0;

	(void)module;
	if (!PyArg_ParseTuple(args, "UO!:core_encoding", &event, &PyTuple_Type, &models))
		return NULL;
	kept = PyList_New(0);
	for (Py_ssize_t i = 0; kept && i < PyTuple_Size(models) && i < GN_MODELS_MAX; i++) {
		const char *model = text_in(models, i, kept);

		if (model && strlen(model) < sizeof(core.model[0]))
			strcpy(core.model[core.n_models++], model);
	}
	bytes = PyErr_Occurred() ? NULL : core_name_bytes(event);
	if (bytes)
		is_known = gn_core_encode(&core, PyBytes_AsString(bytes), &spec);
	Py_XDECREF(bytes);
	Py_XDECREF(kept);
	if (is_known)
		return core_encoding(&spec);
	return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

static PyObject *pmus_of(const struct gn_preset_family *family)
{
	PyObject *pmus = PyTuple_New(family->n_pmus);
	const char *name = gn_preset_texts + family->pmus;

	for (int i = 0; pmus && i < family->n_pmus; i++) {
		PyObject *pmu = core_text(name);

		if (!pmu || PyTuple_SetItem(pmus, i, pmu) < 0)
			Py_CLEAR(pmus);
		name += strlen(name) + 1;
	}
	return pmus;
}

static PyObject *preset_families(PyObject *module, PyObject *unused)
{
	PyObject *rows = PyTuple_New(gn_preset_family_count);

	(void)module;
	(void)unused;
	for (int i = 0; rows && i < gn_preset_family_count; i++) {
		const struct gn_preset_family *family = &gn_preset_families[i];
		PyObject *row = Py_BuildValue("(NN)", core_text(gn_preset_texts + family->name),
					      pmus_of(family));

		if (!row || PyTuple_SetItem(rows, i, row) < 0)
			Py_CLEAR(rows);
	}
	return rows;
}

static PyObject *preset_meanings(PyObject *module, PyObject *unused)
{
	PyObject *rows = PyTuple_New(gn_preset_meaning_count);

	(void)module;
	(void)unused;
	for (int i = 0; rows && i < gn_preset_meaning_count; i++) {
		const struct gn_preset_meaning *meaning = &gn_preset_meanings[i];
		PyObject *row = Py_BuildValue("(NNN)", core_text(gn_preset_texts + meaning->name),
					      core_text(gn_preset_texts + meaning->description),
					      core_text(gn_preset_texts + meaning->unit));

		if (!row || PyTuple_SetItem(rows, i, row) < 0)
			Py_CLEAR(rows);
	}
	return rows;
}

static PyMethodDef functions[] = {
	{"use_presets", use_presets, METH_O,
	 "use_presets(((path, ((name, description, unit, events, formula, steps, reason, source,\n"
	 "                      pmus, line), ...)), ...), /)\n\n"
	 "Make users' presets known in place of all others; the first file is asked first."},
	{"resolve_preset", resolve_preset, METH_VARARGS,
	 "resolve_preset(name, sysfs, models, /)\n"
	 "    -> (((name, preset, description, unit, component, flags, domain, terms, steps), "
	 "...),\n"
	 "        [(name, reason, remedy, errno)])\n\n"
	 "The events of a preset, and the kinds of cores that have none; ((), []) for a name that "
	 "is\n"
	 "none. Raises EventNameError, EventUnavailableError."},
	{"cores", cores, METH_VARARGS,
	 "cores(sysfs, models, /) -> ((pmu, type, models, is_alone), ...)\n\n"
	 "The kinds of cores, at least one; its PMU is \"\" where the kernel shows none."},
	{"core_encoding", encoding_on, METH_VARARGS,
	 "core_encoding(event, models, /) -> encoding | None\n\n"
	 "What libpfm4 makes of an event on the only kind of core, of one of these models."},
	{"preset_families", preset_families, METH_NOARGS,
	 "preset_families() -> ((name, pmus), ...)\n\nThe last one is for any PMU."},
	{"preset_meanings", preset_meanings, METH_NOARGS,
	 "preset_meanings() -> ((name, description, unit), ...)"},
	{NULL, NULL, 0, NULL},
};

int core_add_preset_names(PyObject *module)
{
	return PyModule_AddFunctions(module, functions);
}
