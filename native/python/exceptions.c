/* What the extension raises. */
#include "core.h"

#include <errno.h>

PyObject *core_open_error;

PyObject *core_set_errno(int negative_errno)
{
	errno = -negative_errno;
	return PyErr_SetFromErrno(PyExc_OSError);
}

PyObject *core_raise(const char *name, const char *message)
{
	PyObject *errors = PyImport_ImportModule("gnomon.errors");
	PyObject *kind = errors ? PyObject_GetAttrString(errors, name) : NULL;

	if (kind)
		PyErr_SetString(kind, message);
	Py_XDECREF(kind);
	Py_XDECREF(errors);
	return NULL;
}

int core_add_exceptions(PyObject *module)
{
	core_open_error = PyErr_NewExceptionWithDoc(
		"gnomon._core.OpenError",
		"The kernel refused an event; `index` is its place in the list of events.",
		PyExc_OSError, NULL);
	return core_open_error ? PyModule_AddObjectRef(module, "OpenError", core_open_error) : -1;
}
