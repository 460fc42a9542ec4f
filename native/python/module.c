/* gnomon._core: the face of the C core to Python. */
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

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "gnomon._core",
	.m_doc = "The C core: perf groups, lazy readings, clocks, processes and libpfm4.",
	.m_size = -1,
};

PyMODINIT_FUNC PyInit__core(void)
{
	PyObject *module = PyModule_Create(&definition);

	if (!module)
		return NULL;
	core_open_error = PyErr_NewExceptionWithDoc(
		"gnomon._core.OpenError",
		"The kernel refused an event; `index` is its place in the list of events.",
		PyExc_OSError, NULL);
	if (!core_open_error || PyModule_AddObjectRef(module, "OpenError", core_open_error) < 0)
		goto failed;
	if (core_add_reading(module) < 0 || core_add_group(module) < 0 ||
	    core_add_rotation(module) < 0 || core_add_ring(module) < 0 ||
	    core_add_process(module) < 0 || core_add_events(module) < 0 ||
	    core_add_timers(module) < 0 || core_add_cost(module) < 0 ||
	    core_add_cpuid(module) < 0 || core_add_checksum(module) < 0 ||
	    core_add_host(module) < 0 || core_add_event_names(module) < 0 ||
	    core_add_items(module) < 0 || core_add_output_names(module) < 0)
		goto failed;
	return module;
failed:
	Py_DECREF(module);
	return NULL;
}
