/* gnomon._core: the face of the C core to Python. */
#include "core.h"

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
	if (core_add_exceptions(module) < 0 || core_add_reading(module) < 0 ||
	    core_add_group(module) < 0 || core_add_rotation(module) < 0 ||
	    core_add_ring(module) < 0 || core_add_process(module) < 0 ||
	    core_add_events(module) < 0 || core_add_timers(module) < 0 ||
	    core_add_cost(module) < 0 || core_add_cpuid(module) < 0 ||
	    core_add_checksum(module) < 0 || core_add_host(module) < 0 ||
	    core_add_event_names(module) < 0 || core_add_items(module) < 0 ||
	    core_add_named_tuple(module) < 0 || core_add_output_names(module) < 0 ||
	    core_add_preset_names(module) < 0 || core_add_overflow(module) < 0 ||
	    core_add_callgrind(module) < 0) {
		Py_DECREF(module);
		return NULL;
	}
	return module;
}
