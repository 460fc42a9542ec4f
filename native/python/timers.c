/* The core's clocks, real and virtual, in nanoseconds, microseconds and cycles. */
#include "core.h"

#include <gnomon/clock.h>

#include "cpu_time.h"

#define NS_PER_US 1000u

/* As measured when cycles were first asked for: were it refined, virtual time could run back. */
static double cycles_per_ns;

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

static PyObject *real_us(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromUnsignedLongLong(gn_clock_ns() / NS_PER_US);
}

static PyObject *virtual_us(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromUnsignedLongLong(gn_clock_virtual_ns() / NS_PER_US);
}

static PyObject *raise_no_cycles(void)
{
	return core_raise("TimerError",
			  "cycles: no time counter that runs at one rate can be used here; take "
			  "nanoseconds (gnomon clockres says why)");
}

static PyObject *real_cycles(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (gn_clock_source() == GN_CLOCK_VDSO)
		return raise_no_cycles();
	return PyLong_FromUnsignedLongLong(gn_clock_ticks());
}

static PyObject *virtual_cycles(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (gn_clock_source() == GN_CLOCK_VDSO)
		return raise_no_cycles();
	if (cycles_per_ns == 0)
		cycles_per_ns = gn_clock_hz() / 1e9;
	return PyLong_FromUnsignedLongLong(
		(unsigned long long)((double)gn_clock_virtual_ns() * cycles_per_ns));
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
	{"real_us", real_us, METH_NOARGS,
	 "real_us() -> int\n\nMicroseconds in CLOCK_MONOTONIC_RAW's time base."},
	{"real_cycles", real_cycles, METH_NOARGS,
	 "real_cycles() -> int\n\nThe processor's time counter. Raises TimerError where there is\n"
	 "none of constant rate."},
	{"virtual_us", virtual_us, METH_NOARGS,
	 "virtual_us() -> int\n\nCPU time of the calling thread in microseconds."},
	{"virtual_cycles", virtual_cycles, METH_NOARGS,
	 "virtual_cycles() -> int\n\nCPU time of the calling thread in ticks of the time counter.\n"
	 "Raises TimerError where there is none of constant rate."},
	{"clock_info", clock_info, METH_NOARGS,
	 "clock_info() -> (source, hertz)\n\nWhat clock_ns and clock_ticks read."},
	{NULL, NULL, 0, NULL},
};

int core_add_timers(PyObject *module)
{
	enum gn_clock_source counter = gn_clock_counter();
	const char *name = counter == GN_CLOCK_VDSO ? "" : gn_clock_source_name(counter);

	if (PyModule_AddStringConstant(module, "CLOCK_COUNTER", name) < 0 ||
	    PyModule_AddIntConstant(module, "LEAST_CPU_NS", GN_LEAST_CPU_NS) < 0)
		return -1;
	return PyModule_AddFunctions(module, functions);
}
