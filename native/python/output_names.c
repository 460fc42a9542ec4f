/* Names of result files by the guide's rules, for Python. */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#include "output_names.h"

/* More than the text that is put in. */
enum { TEXT_BYTES = 512 };

static PyObject *unique_name(PyObject *module, PyObject *args)
{
	struct hpm_instance instance = {0};
	PyObject *name, *host, *unique = NULL;
	struct tm *when = &instance.moment;
	size_t size;
	char *out;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&O&l(iiiiii)s:unique_name", PyUnicode_FSConverter, &name,
			      PyUnicode_FSConverter, &host, &instance.task, &when->tm_year,
			      &when->tm_mon, &when->tm_mday, &when->tm_hour, &when->tm_min,
			      &when->tm_sec, &instance.clock))
		return NULL;
	when->tm_year -= 1900;
	when->tm_mon--;
	instance.host = PyBytes_AsString(host);
	size = (size_t)PyBytes_Size(name) + TEXT_BYTES;
	out = malloc(size);
	if (!out)
		PyErr_NoMemory();
	else if (hpm_unique_name(PyBytes_AsString(name), &instance, out, size))
		PyErr_SetString(PyExc_ValueError, "unique_name: the host's name is too long");
	else
		unique = PyUnicode_DecodeFSDefault(out);
	free(out);
	Py_DECREF(name);
	Py_DECREF(host);
	return unique;
}

static PyMethodDef functions[] = {
	{"unique_name", unique_name, METH_VARARGS,
	 "unique_name(name, host, task, (year, month, day, hour, minute, second), clock, /) -> "
	 "str\n\n"
	 "The name with _host_task_date_time before its last dot; clock: for strftime(3)."},
	{NULL, NULL, 0, NULL},
};

int core_add_output_names(PyObject *module)
{
	return PyModule_AddFunctions(module, functions);
}
