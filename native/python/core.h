/* What the files of the extension share. Limited API of Python 3.11: one build for all. */
#ifndef GNOMON_PYTHON_CORE_H
#define GNOMON_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <gnomon/perf.h>

extern PyObject *core_open_error;
extern PyTypeObject *core_reading_type;

/* Each adds its types and functions to the module; 0, or -1 with an exception set. */
int core_add_exceptions(PyObject *module);
int core_add_reading(PyObject *module);
int core_add_group(PyObject *module);
int core_add_rotation(PyObject *module);
int core_add_ring(PyObject *module);
int core_add_process(PyObject *module);
int core_add_events(PyObject *module);
int core_add_timers(PyObject *module);
int core_add_cost(PyObject *module);
int core_add_cpuid(PyObject *module);
int core_add_checksum(PyObject *module);
int core_add_host(PyObject *module);
int core_add_items(PyObject *module);
int core_add_event_names(PyObject *module);
int core_add_named_tuple(PyObject *module);
int core_add_output_names(PyObject *module);
int core_add_preset_names(PyObject *module);
int core_add_overflow(PyObject *module);
int core_add_callgrind(PyObject *module);

/* How the words of a reading are laid out. */
enum core_layout {
	CORE_WHOLE, /* struct gn_reading */
	CORE_EACH,  /* struct gn_count[n] */
};

/*
 * A new reading for n events with room for their words, which the caller fills in. `shape` is
 * the tuple (descriptors, factory) that turns words into values when somebody asks for them.
 */
PyObject *core_reading_new(PyObject *shape, int n, enum core_layout layout);
uint64_t *core_reading_words(PyObject *reading);

/* The core's group of a Group that somebody else starts and stops; NULL with an exception set. */
struct gn_group *core_group_to_rotate(PyObject *object);

PyObject *core_set_errno(int negative_errno);

/* Raise the exception of that name in gnomon.errors; always NULL. */
PyObject *core_raise(const char *name, const char *message);

/* Fill in 1 to GN_EVENTS_MAX events from tuples; how many, or -1 with an exception set. */
int core_parse_specs(PyObject *list, struct gn_event_spec *spec);

#endif
