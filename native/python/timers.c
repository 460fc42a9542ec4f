/* The core's clocks. */
#include "core.h"

#include <gnomon/clock.h>

static PyObject *clock_ns(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromUnsignedLongLong(gn_clock_ns());
}

static PyObject *clock_ticks(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromUnsignedLongLong(gn_clock_ticks());
}

static PyObject *virtual_ns(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromUnsignedLongLong(gn_clock_virtual_ns());
}

static PyObject *virtual_process_ns(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromUnsignedLongLong(gn_clock_process_ns());
}

static PyObject *clock_info(PyObject *module, PyObject *unused)
{
	int failed = gn_clock_init();

	(void)module;
	(void)unused;
	if (failed < 0)
		return core_set_errno(failed);
	return Py_BuildValue("(sd)", gn_clock_source_name(gn_clock_source()), gn_clock_hz());
}

static PyMethodDef functions[] = {
	{"clock_ns", clock_ns, METH_NOARGS,
	 "clock_ns() -> int\n\nNanoseconds in CLOCK_MONOTONIC_RAW's time base."},
	{"clock_ticks", clock_ticks, METH_NOARGS,
	 "clock_ticks() -> int\n\nThe processor's own time counter (real cycles of a fixed rate)."},
	{"virtual_ns", virtual_ns, METH_NOARGS,
	 "virtual_ns() -> int\n\nCPU time of the calling thread in nanoseconds."},
	{"virtual_process_ns", virtual_process_ns, METH_NOARGS,
	 "virtual_process_ns() -> int\n\nCPU time of the process in nanoseconds."},
	{"clock_info", clock_info, METH_NOARGS,
	 "clock_info() -> (source, hertz)\n\nWhat clock_ns and clock_ticks read."},
	{NULL, NULL, 0, NULL},
};

int core_add_timers(PyObject *module)
{
	return PyModule_AddFunctions(module, functions);
}
