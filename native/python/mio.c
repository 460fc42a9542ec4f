/* gnomon.io._mio: specifications of Modular I/O (native/mio) for Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "mio_files.h"

/* A text that makes no sense is described in three lines. */
enum { PROBLEM_BYTES = 640 };

static const char place;

struct specification {
	struct gn_mio_registry registry;
	struct gn_mio_defaults defaults;
	struct gn_mio_files files;
};

static void end(struct specification *specification)
{
	gn_mio_files_free(&specification->files);
	gn_mio_defaults_free(&specification->defaults);
}

/* Libraries of modules find in this one what mio_module.h declares. */
static void show_interface(void)
{
	Dl_info own;

	if (dladdr(&place, &own) && own.dli_fname)
		dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
}

/* "" or what is wrong with one of the texts; NULL: there is no memory. */
static PyObject *begin(struct specification *specification, const char *files, const char *defaults,
		       const char *libraries)
{
	struct gn_mio_error error = {0, ""};
	const char *name = "GNOMON_MIO_MODULES", *text = libraries;
	char problem[PROBLEM_BYTES] = "";
	int result = 0;

	memset(specification, 0, sizeof(*specification));
	gn_mio_registry_begin(&specification->registry);
	if (*libraries) {
		show_interface();
		result = gn_mio_registry_load(&specification->registry, libraries, &error);
	}
	if (!result) {
		name = "MIO_DEFAULTS";
		text = defaults;
		result = gn_mio_defaults_read(&specification->defaults, &specification->registry,
					      defaults, &error);
	}
	if (!result) {
		name = "MIO_FILES";
		text = files;
		result = gn_mio_files_read(&specification->files, &specification->defaults, files,
					   &error);
	}
	if (result == -ENOMEM)
		return PyErr_NoMemory();
	if (result)
		gn_mio_error_text(&error, name, text, problem, sizeof(problem));
	return PyUnicode_DecodeUTF8(problem, (Py_ssize_t)strlen(problem), "replace");
}

static PyObject *problem(PyObject *module, PyObject *args)
{
	struct specification specification;
	const char *files, *defaults, *libraries;
	PyObject *text;

	(void)module;
	if (!PyArg_ParseTuple(args, "sss:problem", &files, &defaults, &libraries))
		return NULL;
	text = begin(&specification, files, *defaults ? defaults : NULL, libraries);
	end(&specification);
	return text;
}

static PyObject *rule_of(PyObject *module, PyObject *args)
{
	struct specification specification;
	const char *files, *path, *name_template;
	const struct gn_mio_rule *rule;
	PyObject *text, *result = NULL;

	(void)module;
	if (!PyArg_ParseTuple(args, "ss:rule_of", &files, &path))
		return NULL;
	text = begin(&specification, files, NULL, "");
	if (text && PyUnicode_GetLength(text)) {
		PyErr_SetObject(PyExc_ValueError, text);
	} else if (text) {
		rule = gn_mio_files_match(&specification.files, path, &name_template);
		result =
			rule ? Py_BuildValue("(ss)", name_template, rule->text) : Py_BuildValue("");
	}
	Py_XDECREF(text);
	end(&specification);
	return result;
}

static PyMethodDef functions[] = {
	{"problem", problem, METH_VARARGS,
	 "problem(files, defaults, libraries, /) -> str\n\n"
	 "What is wrong with MIO_FILES, MIO_DEFAULTS or GNOMON_MIO_MODULES, with a caret below the "
	 "place; \"\": "
	 "nothing."},
	{"rule_of", rule_of, METH_VARARGS,
	 "rule_of(files, path, /) -> (template, modules) | None\n\n"
	 "The first rule of MIO_FILES for a path. ValueError: the text makes no sense."},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "gnomon.io._mio",
	.m_doc = "Specifications of Modular I/O: which modules a file gets.",
	.m_size = -1,
	.m_methods = functions,
};

PyMODINIT_FUNC PyInit__mio(void)
{
	return PyModule_Create(&definition);
}
