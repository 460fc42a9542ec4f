/* Names of events for Python: taken apart, resolved, listed. */
#include "event_names.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libpfm.h"
#include "presets.h"
#include "sysfs_pmu.h"

#define EVENTS_FIRST 64
#define EVENTS_MAX (1 << 20)

PyObject *core_name_bytes(PyObject *name)
{
	PyObject *bytes;

	if (!PyUnicode_Check(name)) {
		PyErr_Format(PyExc_TypeError, "a name must be str, not %R", Py_TYPE(name));
		return NULL;
	}
	bytes = PyUnicode_AsEncodedString(name, "utf-8", "surrogateescape");
	if (!bytes) {
		if (PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
			PyErr_Clear();
		return NULL;
	}
	if (strlen(PyBytes_AsString(bytes)) != (size_t)PyBytes_Size(bytes))
		Py_CLEAR(bytes);
	return bytes;
}

static PyObject *text_of(const char *text, size_t length)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)length, "surrogateescape");
}

PyObject *core_text(const char *text)
{
	return text_of(text, strlen(text));
}

PyObject *core_readable(const char *text)
{
	return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

static PyObject *part_of(const struct gn_error_text *why, struct gn_error_part part)
{
	return text_of(why->text + part.begin, part.length);
}

/* The cause and, where nothing is suggested, the remedy behind it. */
static PyObject *reason_of(const struct gn_error_text *why)
{
	struct gn_error_part reason = why->cause;

	if (!reason.length)
		return core_text(why->text);
	if (why->remedy.length)
		reason.length = (uint16_t)(why->remedy.begin + why->remedy.length - reason.begin);
	return part_of(why, reason);
}

static PyObject *suggestions_of(const struct gn_error_text *why)
{
	PyObject *names = PyTuple_New(why->n_suggestions);

	for (int i = 0; names && i < why->n_suggestions; i++) {
		PyObject *name = part_of(why, why->suggestion[i]);

		if (!name || PyTuple_SetItem(names, i, name) < 0)
			Py_CLEAR(names);
	}
	return names;
}

PyObject *core_raise_event_error(PyObject *name, const struct gn_error_text *why)
{
	const char *kind = why->is_unavailable ? "EventUnavailableError" : "EventNameError";
	PyObject *errors, *type, *arguments, *error = NULL;

	if (why->code == GN_ENOMEM)
		return PyErr_NoMemory();
	if (why->is_unavailable)
		arguments = Py_BuildValue("(ONNi)", name, part_of(why, why->cause),
					  part_of(why, why->remedy), why->number);
	else
		arguments = Py_BuildValue("(ONN)", name, reason_of(why), suggestions_of(why));
	errors = arguments ? PyImport_ImportModule("gnomon.errors") : NULL;
	type = errors ? PyObject_GetAttrString(errors, kind) : NULL;
	if (type)
		error = PyObject_CallObject(type, arguments);
	if (error)
		PyErr_SetObject(type, error);
	Py_XDECREF(error);
	Py_XDECREF(type);
	Py_XDECREF(errors);
	Py_XDECREF(arguments);
	return NULL;
}

static PyObject *modifiers(PyObject *module, PyObject *name)
{
	PyObject *bytes = core_name_bytes(name), *result = NULL;
	struct gn_modifiers meaning;
	struct gn_error_text why;
	char base[GN_NAME_MAX];
	const char *text;

	(void)module;
	if (!bytes && PyErr_Occurred())
		return NULL;
	if (!bytes || PyBytes_Size(bytes) >= GN_NAME_MAX) {
		Py_XDECREF(bytes);
		return Py_BuildValue("(Oii)", name, 0, 0);
	}
	text = PyBytes_AsString(bytes);
	if (gn_modifiers(text, base, &meaning, &why))
		core_raise_event_error(name, &why);
	else if (!meaning.letters)
		result = Py_BuildValue("(Oii)", name, 0, 0);
	else
		result = Py_BuildValue("(NIi)", core_text(base), meaning.exclude, meaning.domain);
	Py_DECREF(bytes);
	return result;
}

static PyObject *pairs_of(const struct gn_terms *terms)
{
	PyObject *pairs = PyTuple_New(terms->n);

	for (int i = 0; pairs && i < terms->n; i++) {
		const char *value = terms->term[i].value;
		PyObject *pair =
			value ? Py_BuildValue("(NN)", core_text(terms->term[i].key),
					      core_text(value))
			      : Py_BuildValue("(NO)", core_text(terms->term[i].key), Py_None);

		if (!pair || PyTuple_SetItem(pairs, i, pair) < 0)
			Py_CLEAR(pairs);
	}
	return pairs;
}

static PyObject *terms(PyObject *module, PyObject *base)
{
	PyObject *bytes = core_name_bytes(base), *result = NULL;
	struct gn_error_text why;
	struct gn_terms parts;
	int is_terms;

	(void)module;
	if (!bytes) {
		if (PyErr_Occurred())
			return NULL;
		Py_RETURN_NONE;
	}
	is_terms = gn_terms(PyBytes_AsString(bytes), &parts, &why);
	if (is_terms < 0)
		core_raise_event_error(base, &why);
	else if (is_terms)
		result = Py_BuildValue("(NN)", core_text(parts.pmu), pairs_of(&parts));
	else
		result = Py_NewRef(Py_None);
	Py_DECREF(bytes);
	return result;
}

static PyObject *nearest_names(struct gn_nearest *nearest, PyObject *known)
{
	PyObject *iterator = PyObject_GetIter(known), *name, *names;

	if (!iterator)
		return NULL;
	while ((name = PyIter_Next(iterator))) {
		PyObject *bytes = core_name_bytes(name);

		if (bytes)
			gn_nearest_try(nearest, PyBytes_AsString(bytes));
		Py_XDECREF(bytes);
		Py_DECREF(name);
		if (!bytes && PyErr_Occurred())
			break;
	}
	Py_DECREF(iterator);
	if (PyErr_Occurred())
		return NULL;
	names = PyTuple_New(nearest->n);
	for (int i = 0; names && i < nearest->n; i++) {
		name = core_text(nearest->name[i]);
		if (!name || PyTuple_SetItem(names, i, name) < 0)
			Py_CLEAR(names);
	}
	return names;
}

static PyObject *nearest(PyObject *module, PyObject *args)
{
	PyObject *typed, *names, *bytes;
	struct gn_nearest near;

	(void)module;
	if (!PyArg_ParseTuple(args, "OO:nearest", &typed, &names))
		return NULL;
	bytes = core_name_bytes(typed);
	if (!bytes && PyErr_Occurred())
		return NULL;
	if (!bytes || PyBytes_Size(bytes) >= GN_NAME_MAX) {
		Py_XDECREF(bytes);
		return PyTuple_New(0);
	}
	gn_nearest_begin(&near, PyBytes_AsString(bytes));
	Py_DECREF(bytes);
	return nearest_names(&near, names);
}

/* --- PMUs ------------------------------------------------------------------------------------- */

static PyObject *pmus(PyObject *module, PyObject *path)
{
	PyObject *bytes = NULL, *all;
	struct gn_pmu *list;
	int n;

	(void)module;
	if (!PyUnicode_FSConverter(path, &bytes))
		return NULL;
	n = gn_pmus(PyBytes_AsString(bytes), &list);
	Py_DECREF(bytes);
	if (n < 0)
		return PyErr_NoMemory();
	all = PyTuple_New(n);
	for (int i = 0; all && i < n; i++) {
		PyObject *pmu = Py_BuildValue("(NIO)", core_text(list[i].name), list[i].type,
					      list[i].is_core ? Py_True : Py_False);

		if (!pmu || PyTuple_SetItem(all, i, pmu) < 0)
			Py_CLEAR(all);
	}
	free(list);
	return all;
}

static PyObject *names_of(const struct gn_names *names)
{
	PyObject *all = PyTuple_New((Py_ssize_t)names->n);

	for (size_t i = 0; all && i < names->n; i++) {
		PyObject *name = PyUnicode_DecodeFSDefault(names->name[i]);

		if (!name || PyTuple_SetItem(all, (Py_ssize_t)i, name) < 0)
			Py_CLEAR(all);
	}
	return all;
}

static PyObject *pmu_events(PyObject *module, PyObject *args)
{
	PyObject *sysfs, *pmu, *all = NULL;
	struct gn_names names;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&O&:pmu_events", PyUnicode_FSConverter, &sysfs,
			      PyUnicode_FSConverter, &pmu))
		return NULL;
	if (gn_pmu_events(PyBytes_AsString(sysfs), PyBytes_AsString(pmu), &names) == -ENOMEM)
		PyErr_NoMemory();
	else
		all = names_of(&names);
	gn_names_free(&names);
	Py_DECREF(sysfs);
	Py_DECREF(pmu);
	return all;
}

static PyObject *pmu_unit(PyObject *module, PyObject *args)
{
	PyObject *sysfs, *pmu, *event;
	char unit[GN_FILE_MAX];
	double scale;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&O&O&:pmu_unit", PyUnicode_FSConverter, &sysfs,
			      PyUnicode_FSConverter, &pmu, PyUnicode_FSConverter, &event))
		return NULL;
	scale = gn_pmu_unit(PyBytes_AsString(sysfs), PyBytes_AsString(pmu), PyBytes_AsString(event),
			    unit, sizeof(unit));
	Py_DECREF(sysfs);
	Py_DECREF(pmu);
	Py_DECREF(event);
	return Py_BuildValue("(Nd)", core_readable(unit), scale);
}

PyObject *core_encoding(const struct gn_event_spec *spec)
{
	return Py_BuildValue("(IKKKKI)", spec->type, (unsigned long long)spec->config,
			     (unsigned long long)spec->config1, (unsigned long long)spec->config2,
			     (unsigned long long)spec->config3, spec->exclude);
}

/* The terms between the slashes; the name of the PMU, which can be any file's, is no matter. */
static int split_terms(const char *text, struct gn_terms *parts, struct gn_error_text *why)
{
	char whole[GN_NAME_MAX];

	if (snprintf(whole, sizeof(whole), "x/%s/", text) >= (int)sizeof(whole))
		return 0;
	return gn_terms(whole, parts, why);
}

static PyObject *pmu_encode(PyObject *module, PyObject *args)
{
	PyObject *sysfs, *pmu_name, *text, *name, *text_bytes, *name_bytes, *result = NULL;
	struct gn_event_spec spec;
	struct gn_error_text why;
	struct gn_pmu pmu = {.is_core = 0};
	struct gn_terms parts;
	int code = 0;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&O&IUU:pmu_encode", PyUnicode_FSConverter, &sysfs,
			      PyUnicode_FSConverter, &pmu_name, &pmu.type, &text, &name))
		return NULL;
	text_bytes = core_name_bytes(text);
	name_bytes = core_name_bytes(name);
	snprintf(pmu.name, sizeof(pmu.name), "%s", PyBytes_AsString(pmu_name));
	if (text_bytes && name_bytes)
		code = split_terms(PyBytes_AsString(text_bytes), &parts, &why);
	if (!PyErr_Occurred() && code == 0)
		gn_error_event(&why, GN_ENOEVNT, "", "no event of the unit between the slashes");
	else if (code > 0)
		code = gn_pmu_encode(PyBytes_AsString(sysfs), &pmu, PyBytes_AsString(name_bytes),
				     &parts, &spec, &why)
			       ? -1
			       : 1;
	if (!PyErr_Occurred())
		result = code > 0 ? core_encoding(&spec) : core_raise_event_error(name, &why);
	Py_XDECREF(text_bytes);
	Py_XDECREF(name_bytes);
	Py_DECREF(sysfs);
	Py_DECREF(pmu_name);
	return result;
}

/* --- resolution ------------------------------------------------------------------------------- */

int core_to_path(PyObject *object, void *result)
{
	PyObject **bytes = result;

	if (!object) { /* the arguments behind it are wrong */
		Py_CLEAR(*bytes);
		return 1;
	}
	if (object == Py_None) {
		*bytes = NULL;
		return Py_CLEANUP_SUPPORTED;
	}
	return PyUnicode_FSConverter(object, bytes);
}

static const char *path_of(PyObject *bytes, const char *otherwise)
{
	return bytes ? PyBytes_AsString(bytes) : otherwise;
}

void core_set_places(struct core_machine *machine)
{
	machine->places.sysfs = path_of(machine->sysfs, gn_this_machine.sysfs);
	machine->places.tracefs = path_of(machine->tracefs, NULL);
	machine->places.models = path_of(machine->models, NULL);
}

void core_drop_places(struct core_machine *machine)
{
	Py_XDECREF(machine->sysfs);
	Py_XDECREF(machine->tracefs);
	Py_XDECREF(machine->models);
}

static PyObject *generic_encoding(PyObject *module, PyObject *base)
{
	PyObject *bytes = core_name_bytes(base);
	struct gn_core core = {.is_alone = 1};
	struct gn_event_spec spec;
	int is_generic;

	(void)module;
	if (!bytes && PyErr_Occurred())
		return NULL;
	is_generic = bytes && gn_core_generic(&core, PyBytes_AsString(bytes), &spec);
	Py_XDECREF(bytes);
	if (!is_generic)
		Py_RETURN_NONE;
	return core_encoding(&spec);
}

static PyObject *row_of_event(const struct gn_event *event)
{
	return Py_BuildValue("(NNNNIidN)", core_text(event->name), core_text(event->native[0]),
			     core_readable(event->description), core_readable(event->unit),
			     event->flags, event->domain, event->scale, core_encoding(event->spec));
}

static PyObject *take_events(struct gn_event **events, int n)
{
	PyObject *rows = PyTuple_New(n);

	for (int i = 0; i < n; i++) {
		PyObject *row = rows ? row_of_event(events[i]) : NULL;

		if (rows && (!row || PyTuple_SetItem(rows, i, row) < 0))
			Py_CLEAR(rows);
		gn_event_free(events[i]);
	}
	return rows;
}

static PyObject *resolve_bytes(const struct gn_places *places, gn_source *source, PyObject *name,
			       const char *text)
{
	struct gn_event **events = NULL;
	struct gn_error_text why;
	PyObject *rows = NULL;
	int n = 0, code = GN_ECOUNT;

	for (int room = EVENTS_FIRST; code == GN_ECOUNT && room <= EVENTS_MAX; room *= 8) {
		free(events);
		events = calloc((size_t)room, sizeof(*events));
		code = events ? gn_query_answer(places, text, source, events, room, &n, &why)
			      : gn_error_set(&why, GN_ENOMEM, "out of memory");
	}
	rows = code ? core_raise_event_error(name, &why) : take_events(events, n);
	free(events);
	return rows;
}

static PyObject *resolve_event(PyObject *module, PyObject *args)
{
	struct core_machine machine = {.sysfs = NULL};
	PyObject *name, *bytes, *rows = NULL;
	gn_source *source;
	int component;

	(void)module;
	if (!PyArg_ParseTuple(args, "iUO&O&O&:resolve_event", &component, &name, core_to_path,
			      &machine.sysfs, core_to_path, &machine.tracefs, core_to_path,
			      &machine.models))
		return NULL;
	core_set_places(&machine);
	source = gn_source_of(component);
	bytes = core_name_bytes(name);
	if (bytes && source)
		rows = resolve_bytes(&machine.places, source, name, PyBytes_AsString(bytes));
	else if (!PyErr_Occurred())
		rows = PyTuple_New(0);
	Py_XDECREF(bytes);
	core_drop_places(&machine);
	return rows;
}

static int list_event(void *context, const char *name, const char *unit, const char *description)
{
	PyObject *row = Py_BuildValue("(NNN)", core_text(name), core_readable(unit),
				      core_readable(description));
	const int failed = !row || PyList_Append(context, row) < 0;

	Py_XDECREF(row);
	return failed;
}

static PyObject *list_events(PyObject *module, PyObject *args)
{
	struct core_machine machine = {.sysfs = NULL};
	PyObject *rows;
	int component;

	(void)module;
	if (!PyArg_ParseTuple(args, "iO&O&:list_events", &component, core_to_path, &machine.sysfs,
			      core_to_path, &machine.tracefs))
		return NULL;
	core_set_places(&machine);
	rows = PyList_New(0);
	if (rows &&
	    gn_component_each(&machine.places, (enum gn_component)component, list_event, rows))
		Py_CLEAR(rows);
	core_drop_places(&machine);
	if (!rows && !PyErr_Occurred())
		PyErr_NoMemory();
	return rows;
}

static PyMethodDef functions[] = {
	{"modifiers", modifiers, METH_O,
	 "modifiers(name, /) -> (base, exclude, domain)\n\n"
	 "A name without its modifiers; EXCLUDE_* bits, and the privilege levels counted, as bits\n"
	 "(1 user, 2 kernel, 4 hypervisor; 0 if no letter says). Raises EventNameError."},
	{"terms", terms, METH_O,
	 "terms(base, /) -> (pmu, ((term, value | None), ...)) | None\n\n"
	 "`pmu/term,term=value/` taken apart. Raises EventNameError."},
	{"nearest", nearest, METH_VARARGS,
	 "nearest(name, known, /) -> names\n\n"
	 "Up to three known names that look like the one typed, best first."},
	{"pmus", pmus, METH_O, "pmus(sysfs, /) -> ((name, type, is_core), ...)"},
	{"pmu_events", pmu_events, METH_VARARGS, "pmu_events(sysfs, pmu, /) -> names"},
	{"pmu_unit", pmu_unit, METH_VARARGS, "pmu_unit(sysfs, pmu, event, /) -> (unit, factor)"},
	{"pmu_encode", pmu_encode, METH_VARARGS,
	 "pmu_encode(sysfs, pmu, type, terms, name, /)\n"
	 "    -> (type, config, config1, config2, config3, exclude)\n\n"
	 "What perf_event_open(2) wants for `terms`; `name` is for errors. Raises EventNameError."},
	{"generic_encoding", generic_encoding, METH_O,
	 "generic_encoding(base, /) -> encoding | None\n\nOf a generic name or a raw code."},
	{"resolve_event", resolve_event, METH_VARARGS,
	 "resolve_event(component, name, sysfs, tracefs, models, /)\n"
	 "    -> ((name, native, description, unit, flags, domain, factor, encoding), ...)\n\n"
	 "The events of a name that one of the COMPONENT_* has, () if it is not its own. The "
	 "other\n"
	 "arguments are None for this machine. Raises EventNameError, EventUnavailableError."},
	{"list_events", list_events, METH_VARARGS,
	 "list_events(component, sysfs, tracefs, /) -> [(name, unit, description)]\n\n"
	 "Every event of a component."},
	{NULL, NULL, 0, NULL},
};

static const struct {
	const char *name;
	long number;
} constants[] = {
	{"COMPONENT_CPU", GN_COMPONENT_CPU},	   {"COMPONENT_KERNEL", GN_COMPONENT_KERNEL},
	{"COMPONENT_TSC", GN_COMPONENT_TSC},	   {"EVENT_HARDWARE", GN_EVENT_HARDWARE},
	{"EVENT_TRACEPOINT", GN_EVENT_TRACEPOINT}, {"EVENT_KERNEL_ONLY", GN_EVENT_KERNEL_ONLY},
	{"EVENT_EVERY_MODE", GN_EVENT_EVERY_MODE},
};

int core_add_event_names(PyObject *module)
{
	gn_pfm_encode_inactive();
	for (size_t i = 0; i < sizeof(constants) / sizeof(constants[0]); i++)
		if (PyModule_AddIntConstant(module, constants[i].name, constants[i].number) < 0)
			return -1;
	return PyModule_AddFunctions(module, functions);
}
